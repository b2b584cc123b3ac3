"""--warmup, --for and --precision of delta: which hits count, against the board's truth, and when a run ends."""
import re
import statistics

import pytest

from harness import ARTICLE_NOP, WORK_BY_DATA, Place, passages, returned, run_tool, unfolded
from test_verdicts import Program

WORK = "work_by_data"


def truth_of(place):
    return [passage.cycles for passage in passages(place.board.log(), place.symbol(WORK), returned)]


@pytest.mark.any_row(1)
@pytest.mark.parametrize("chip", ["m4/swd", "a9/swd", "rp2040"])
def test_the_warmup_is_measured_and_not_counted(chip):
    with Place(chip, "free", WORK_BY_DATA) as place:
        result = place.delta(WORK, "-r", 40, "--warmup", 15)
        assert [hit["hit"] for hit in result.hits] == list(range(1, 56))
        assert [hit.get("warmup", False) for hit in result.hits] == [True] * 15 + [False] * 40
        assert result.cycles == truth_of(place)[:55]
        column, counted = result.summary["columns"]["CPU_CYCLES"], result.cycles[15:]
        assert result.summary["warmup"] == 15 and result.summary["hits"] == column["count"] == 40
        assert column["mean"] == pytest.approx(statistics.mean(counted)) and column["max"] == max(counted) and column["min"] == min(counted)
        text = place.run("delta", WORK, "-r", 20, "--warmup", 1)
        assert text.code == 0 and "20 hits in" in unfolded(text.out) and "1 hit for warm-up, not counted" in unfolded(text.out)


def test_the_warmup_comes_once_before_all_passes():
    with Place("m4/swd", "free", WORK_BY_DATA) as place:
        events = "{CPICNT,EXCCNT,SLEEPCNT},{LSUCNT,FOLDCNT}"
        result = place.delta(WORK, "-r", 20, "--warmup", 7, "-e", events)
        assert [hit.get("warmup", False) for hit in result.hits] == [True] * 7 + [False] * (len(result.hits) - 7)
        assert result.summary["hits"] == len(result.hits) - 7 == 20 * result.summary.get("passes", 1)


def test_another_warmup_than_the_baselines_is_told(tmp_path):
    with Program("free", tmp_path) as program:
        program.run("delta", "nop_more", "-r", 20, "-j", "-o", tmp_path / "main.jsonl")
        result = program.run("delta", "nop_more", "-r", 20, "--warmup", 5, "--baseline", tmp_path / "main.jsonl")
        assert result.code == 0 and "note: warm-up differs: 0 -> 5 hits" in unfolded(result.out), result.out


@pytest.mark.any_row(1)
@pytest.mark.parametrize("chip", ["m4/swd", "rp2040"])
def test_it_ends_when_the_mean_is_that_precise(chip):
    """The cycles of this function vary by half of their mean: 100 hits know it to some 10 %."""
    with Place(chip, "free", WORK_BY_DATA) as place:
        result = place.delta(WORK, "--precision", "8%")
        column, precision = result.summary["columns"]["CPU_CYCLES"], result.summary["precision"]
        assert precision["wanted"] == 0.08 and precision["reached"] and precision["mean"] <= 0.08
        assert result.summary["hits"] in (100, 125, 156, 195, 243, 303, 378, 472) and "wanted" not in result.summary
        assert result.cycles == truth_of(place)[:len(result.cycles)]
        # df is a few less than the hits where neighbours are alike: Student's t is near 2
        assert 1.9 < precision["mean"] * column["mean"] / column["mean_error"] < 3
        text = unfolded(place.run("delta", WORK, "--precision", "0.5").out)
        assert "100 hits in" in text and re.search(r"mean ±[\d.]+ % \(95 %\): --precision 50 % reached", text), text


def test_equal_hits_are_known_after_a_hundred():
    with Place("m4/swd", "free", ARTICLE_NOP) as place:
        result = place.delta("article_nop", "--precision", "0.01%")
        assert result.summary["hits"] == 100 and result.summary["precision"] == {"wanted": 0.0001, "reached": True, "mean": 0.0}


@pytest.mark.parametrize("limit", [["-r", 120], ["--for", "300ms"]], ids=["hits", "time"])
def test_a_limit_ends_it_first_and_that_is_told(limit):
    with Place("m4/swd", "free", WORK_BY_DATA) as place:
        result = place.delta(WORK, "--precision", "0.0001%", *limit)
        assert not result.summary["precision"]["reached"] and result.summary["hits"] > 0
        assert limit[0] == "--for" or result.summary["hits"] == 120
        text = unfolded(place.run("delta", WORK, "--precision", "0.0001%", *limit).out)
        assert re.search(r"mean ±[\d.]+ % \(95 %\): --precision 0.0001 % not reached", text), text
        out = place.run("delta", WORK, "--precision", "0.0001%", "--format", "markdown", "--warmup", 3, *limit).out
        assert "not reached\n" in out and "\n* 3 hits for warm-up, not counted\n" in out


def test_for_a_time_what_came_in_it_counts():
    with Place("m4/swd", "free", WORK_BY_DATA) as place:
        result = place.delta(WORK, "--for", "200ms", "--warmup", 5)
        assert result.summary["hits"] == len(result.hits) - 5 > 0 and result.cycles == truth_of(place)[:len(result.cycles)]


@pytest.mark.parametrize("words, fact", [
    (["--precision", "5"], "above 0 and below 1, such as 1%"), (["--precision", "0%"], "above 0 and below 1"),
    (["--precision", "100%"], "above 0 and below 1"), (["--precision", "-1%"], "above 0 and below 1"),
    (["--precision", "x"], "above 0 and below 1"), (["--precision"], "--precision 1%"), (["--warmup", "0"], "from 1 up"),
    (["--warmup", "-3"], "from 1 up"), (["--warmup", "1.5"], "from 1 up"), (["--warmup", "3", "--reset"], "first after a reset")])
def test_bad_values_are_refused(words, fact):
    result = run_tool("delta", "main", *words)
    assert result.code == 2 and result.out == "" and words[0] in result.err and fact in unfolded(result.err), result.err


def test_other_commands_say_what_they_do_instead():
    for words, fact in ((["stat", "--warmup", "3"], "not for stat, which counts no hits"), (["watch", "--precision", "1%"], "not for watch, which ends after --for TIME")):
        result = run_tool(*words)
        assert result.code == 2 and fact in unfolded(result.err), result.err

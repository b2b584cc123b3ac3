"""`delta --outliers N`: the N slowest hits of the run, each with the place, the callers and the registers of its end as the board had
them. Afterwards the target is as it was."""
import signal

import pytest

from gdb_place import GdbPlace
from harness import INTERRUPTED, CALLED_TWICE, PREEMPTED, SOAK, WORK_BY_DATA, Place, finish_tool, passages, returned, run_tool, unfolded
from test_guard import function_of, program_of
from test_restore import assert_runs, snapshot

WAYS = ["rp2040/swd", "m4/swd", "a9/swd", "m55/swd", "a53/swd", "m7/swd", "m33/swd", "rp2350/swd", "r5/swd", "r52/swd", "rp2040", "m4", "a9"]
WORDS = {"rp2040": "r0,r4,sp,lr,pc,psp,xpsr", "m4": "r0,r4,sp,lr,pc,psp,xpsr"}


def place_at(way, mode="free", **options):
    return (GdbPlace if way.startswith("gdb:") else Place)(way.removeprefix("gdb:"), mode, **options)


def outliers_of(result):
    return [line for line in result.lines if line["type"] == "outlier"]


def slowest(result, n):
    """Of the hits that the statistics count, as the tool wrote them; of equals the earlier one."""
    counted = [hit for hit in result.hits if not hit["tainted"] and not hit.get("warmup")]
    return sorted(counted, key=lambda hit: (-hit["values"]["CPU_CYCLES"], hit["hit"]))[:n]


def check(place, result, n, function):
    """They are the slowest, in that order, and each was examined in the stop at its end."""
    truth, outliers = passages(place.board.log(), place.symbol(function), returned), outliers_of(result)
    assert [line["hit"] for line in outliers] == [hit["hit"] for hit in slowest(result, n)]
    assert [line["outlier"] for line in outliers] == list(range(1, len(outliers) + 1))
    for line in outliers:
        hit, end = result.hits[line["hit"] - 1], truth[line["hit"] - 1].end
        assert (line["counted"], line["seconds"]) == (hit["values"]["CPU_CYCLES"], hit["seconds"])
        assert line["counted"] == truth[line["hit"] - 1].cycles
        registers = {name: int(value, 16) for name, value in line["registers"].items()}
        link = "lr" if "lr" in registers else "x30"
        assert (registers["pc"], registers["sp"], registers[link]) == (end.pc, end.sp, end.lr), (line, end)
        assert int(line["address"], 16) == end.pc - 1  # inside the call that has returned
        assert function_of(line["callers"][-1]) in ("Reset_Handler", "start") and "cut" not in line, line
        for name, value in line.get("words", {}).items():
            if name in registers:  # read by another list, with the counters
                assert registers[name] == value, (name, line)
    return outliers


@pytest.mark.any_row(2)
@pytest.mark.parametrize("way", WAYS)
def test_they_are_the_slowest(way):
    with place_at(way, scenario=WORK_BY_DATA) as place:
        place.run("info")
        before = snapshot(place)
        words = ["--show", WORDS[place.chip]] if place.chip in WORDS else []
        result = place.delta("work_by_data", "-r", 400 if SOAK else 40, "--outliers", 5, "--warmup", 3, *words)
        assert_runs(place)
        assert snapshot(place) == before and place.board.state()["altered"] == 0
        outliers = check(place, result, 5, "work_by_data")
        assert len(outliers) == 5 and outliers[0]["counted"] == result.summary["columns"]["CPU_CYCLES"]["max"]
        assert not words or all(set(line["words"]) == set(words[1].split(",")) for line in outliers)


@pytest.mark.any_row(1)
@pytest.mark.parametrize("way", ["rp2040/swd", "m4/swd", "a9/swd", "gdb:m4", "gdb:a9"])
def test_the_slow_call_among_quick_ones_and_its_callers(way):
    with place_at(way) as place:
        program_of(place, each=7)
        result = place.delta("deadline", "-r", 16, "--outliers", 2)
        for line in check(place, result, 2, "deadline"):
            assert line["counted"] > 4 * result.summary["columns"]["CPU_CYCLES"]["median"]
            assert "main" in [function_of(frame) for frame in [line, *line["callers"]]]
        place.set_scenario(CALLED_TWICE)
        place.board.write_word("shares", 0)
        result = place.delta("called_twice", "-r", 12, "--outliers", 12)
        outliers = check(place, result, 12, "called_twice")
        assert [function_of(line) for line in outliers] == ["caller_two"] * 6 + ["caller_one"] * 6
        assert all(function_of(line["callers"][0]) == "main" for line in outliers)


@pytest.mark.parametrize("way, event, key", [("m4/swd", "EXCCNT", "exception_cycles"), ("m55/swd", "EXC_TAKEN", "exceptions")])
def test_exceptions_inside_as_far_as_the_core_counts_them(way, event, key):
    """A tick falls inside some of these calls, which then take longest."""
    with place_at(way, mode="tick", scenario=PREEMPTED) as place:
        result = place.delta("preempted", "-r", 250, "-e", event, "--outliers", 2)
        log = place.board.log()
        for line in check(place, result, 2, "preempted"):
            hit, passage = result.hits[line["hit"] - 1], passages(log, place.symbol("preempted"), returned)[line["hit"] - 1]
            taken = sum(event.kind == "enter" and passage.begin.index < event.index < passage.end.index for event in log)
            assert line[key] == hit["values"][event] > 0 and taken > 0
            assert key != "exceptions" or line[key] == taken
            assert line.get("exceptions_at_least", False) == (event in hit.get("at_least", []))


@pytest.mark.any_row(1)
@pytest.mark.parametrize("way, event", [("m4/swd", "EXCCNT"), ("a9/swd", "EXC_TAKEN"), ("a53/swd", "EXC_TAKEN"), ("rp2040/swd", None)])
def test_what_tells_of_exceptions_is_named(way, event):
    with place_at(way, scenario=WORK_BY_DATA) as place:
        text = unfolded(place.run("delta", "work_by_data", "-r", 4, "--outliers", 1).out)
        assert (f"these counters do not show which exceptions ran inside: -e {event} counts" if event else "these counters do not show") in text, text
        if event == "EXC_TAKEN":
            assert "no exception inside" in unfolded(place.run("delta", "work_by_data", "-r", 4, "--outliers", 1, "-e", event).out)


def test_the_text_says_what_the_lines_say():
    """Both of the same run cannot be had, but each overrun of this program takes the same."""
    with place_at("m4/swd") as place:
        program_of(place, each=5)
        result = place.run("delta", "deadline", "-r", 12, "--outliers", 2, "--show", "overrun_length")
        assert result.code == 0, result.err
        table, _, slow = result.out.partition("\nthe slowest hits, and where they ended\n")
        assert "CPU_CYCLES" in table and slow.count("\nhit ") == 1 and slow.startswith("hit ")
        assert slow.count("overrun_length=0x5DC") == 2 and slow.count("  returned to ") == 2
        assert slow.count("  called by ") >= 2 and slow.count(" psp 0x") == 2
        lines = outliers_of(place.delta("deadline", "-r", 12, "--outliers", 2))
        for line in lines:
            assert f"returned to {line['source']} ({line['function']})" in slow
            assert f"pc {line['registers']['pc'].upper().replace('0X', '0x')}" in slow


@pytest.mark.any_row(3)
@pytest.mark.parametrize("way", ["m4/swd", "a9/swd", "m4", "gdb:m4"])
@pytest.mark.parametrize("how", ["interrupted", "round", "start to end", "reset"])
def test_it_is_put_back_in_each_ending_and_for_each_region(way, how):
    if how == "reset" and (way.startswith("gdb") or way == "a9/swd"):
        pytest.skip("delta --reset is for others")
    with place_at(way, scenario=WORK_BY_DATA) as place:
        place.run("info")
        before = snapshot(place)
        if how == "interrupted":
            tool = place.start("delta", "work_by_data", "-r", 100000000, "--outliers", 3, "-j")
            place.wait_for_stops(40)
            result = finish_tool(tool, signal.SIGINT)
            assert result.code == INTERRUPTED and len(result.hits) > 0 and all("registers" in line for line in outliers_of(result))
            assert [line["hit"] for line in outliers_of(result)] == [hit["hit"] for hit in slowest(result, 3)]
        else:
            words = {"round": ["work_by_data", "work_by_data"], "start to end": ["work_by_data", "hidden_step"],
                     "reset": ["work_by_data", "--reset"]}[how]
            result = place.run("delta", *words, "-j", "-r", 3 if how == "reset" else 12, "--outliers", 2)
            assert result.code == 0, result.err
            assert [line["hit"] for line in outliers_of(result)] == [hit["hit"] for hit in slowest(result, 2)]
            for line in outliers_of(result):
                at = place.symbol(words[1]) if how != "reset" else None
                assert at is None or int(line["address"], 16) == int(line["registers"]["pc"], 16) == at & ~1
        assert_runs(place)
        if how != "reset" and not way.startswith("gdb"):  # a GDB server leaves its own marks
            assert snapshot(place) == before


def test_who_refuses_it():
    with place_at("m4/swd") as place:
        for words, says in [(["--outliers", 65], "1 to 64"), (["--outliers", 2, "--format", "csv"], "prints text, json or html"),
                            (["--outliers", 2, "--format", "markdown"], "prints text, json or html")]:
            result = place.run("delta", "deadline", "-r", 2, *words)
            assert result.code == 2 and says in unfolded(result.err), result.err
        start = hex(place.symbol("deadline") & ~1)
        result = place.run("delta", f"*{start}", "-r", 2, "--outliers", 2, elf=False)
        assert result.code in (2, 3) and "ELF" in result.err, result.err
        assert run_tool("survey", "--outliers", 2).code == 2
        assert_runs(place)

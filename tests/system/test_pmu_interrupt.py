"""The PMU's overflow that is to stop the core is an interrupt of the program's, too: stops in its handler are named for what they are."""
import pytest

from harness import WORK_BY_DATA, Place, unfolded
from test_guard import BUDGET, at, program_of

WAYS = ["a53/swd", "a9/swd", "a7/swd", "r5/swd", "r52/swd", "a53in32/swd", "r52hyp/swd", "a53el2/swd", "a53"]
RECORD = ["record", "-e", "cycles", "--every", 5000, "--for", "1s", "-o"]
EARLY = 2  # instructions: it stops before a short handler is over


@pytest.mark.parametrize("way", WAYS)
def test_an_interrupt_comes_first(way, tmp_path):
    with Place(way, "free", WORK_BY_DATA, core_state="pmu-interrupt", stop_skid=EARLY) as place:
        result = place.run(*RECORD, tmp_path / "profile.jsonl")
        assert result.code == 0 and "stops are at the beginning of an interrupt's handler" in unfolded(result.err), result.err


@pytest.mark.parametrize("way", WAYS)
def test_stops_where_no_interrupt_is_enabled(way, tmp_path):
    with Place(way, "free", WORK_BY_DATA, stop_skid=EARLY) as place:
        result = place.run(*RECORD, tmp_path / "profile.jsonl")
        assert result.code == 0 and "handler" not in result.err, result.err


@pytest.mark.parametrize("way", WAYS)
def test_its_handler_clears_the_overflow(way, tmp_path):
    with Place(way, "free", WORK_BY_DATA, core_state="pmu-handler") as place:
        result = place.run(*RECORD, tmp_path / "profile.jsonl")
        assert result.code == 3 and "the program's handler of the PMU's interrupt cleared the overflow" in unfolded(result.err), result.err
        assert "another debugger" not in result.err and place.board.state()["run"] != "halted"


@pytest.mark.parametrize("way", ["a53/swd", "a9/swd", "r52/swd", "r52hyp/swd"])
def test_a_guard_whose_overflow_is_cleared(way):
    with at(way) as place:
        program_of(place)
        place.board.command("core-state pmu-handler on")
        result = place.run("guard", "deadline", "--budget", BUDGET, "--for", "20s")
        assert result.code == 3 and "the program's handler of the PMU's interrupt cleared the overflow" in unfolded(result.err), result.err + result.out
        assert place.board.state()["run"] != "halted"

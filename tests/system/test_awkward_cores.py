"""Cortex-A and Cortex-R cores as chips make them: locks that lie, breakpoints that an operating system clears, memory that
a cache is ahead of, cores that idle without power."""
import pytest

from harness import NOWHERE, SLEEPER, WORK_BY_DATA, Place, finish_tool, passages, returned, unfolded
from test_application_cores import exact, lasting

pytestmark = pytest.mark.each_value

WAYS = ["a9/swd", "a7/swd", "a53/swd", "a53/jtag", "r5/swd"]


def put(place, state, on=True):
    place.board.command(f"core-state {state} {'on' if on else 'off'}")


@pytest.mark.parametrize("way", WAYS)
def test_a_lock_that_says_it_is_open_is_opened_and_closed_again(way):
    with Place(way, "free", WORK_BY_DATA) as place:
        place.run("info")
        put(place, "lying-lock")
        before = lasting(place)
        assert before["locked"] and before["pmu_locked"]
        exact(place, ("work_by_data",), returned, 50)
        assert lasting(place) == before
        counted = place.run("stat", "--for", "50ms")
        assert counted.code == 0, counted.err
        assert lasting(place) == before and place.board.state()["run"] == "running"


def wake_until_done(place, tool):
    """A board for A-class cores has no timer that interrupts."""
    other = place.board.core(0)
    while tool.poll() is None:
        if other.state()["run"] == "asleep":
            other.command("irq 3")
    return finish_tool(tool)


@pytest.mark.parametrize("way", ["a53/swd", "a9/swd", "a7/swd", "a53"])
def test_a_core_that_idles_without_power_is_kept_up(way):
    with Place(way, "free", WORK_BY_DATA | SLEEPER) as place:
        place.run("info")
        put(place, "idles-off")
        before = place.board.state()["edprcr" if "edprcr" in place.board.state() else "prcr"]
        assert before & 1 == 0
        place.board.watch(NOWHERE)
        result = wake_until_done(place, place.start("delta", "-j", "work_by_data", "-r", 20, "--timeout", 60))
        assert result.code == 0 and len(result.hits) == 20, result.err
        log = place.board.log()
        assert sum(event.kind == "sleep" for event in log) >= 15
        truth = passages(log, place.symbol("work_by_data"), returned)
        assert result.cycles == [passage.cycles for passage in truth[:20]]
        place.board.command("irq 3")
        assert place.board.state().get("edprcr", place.board.state().get("prcr")) == before

"""Cortex-A and Cortex-R cores as chips make them: locks that lie, breakpoints that an operating system clears, memory that
a cache is ahead of, cores that idle without power."""
import pytest

from harness import LOOP_ROUND, NOWHERE, SLEEPER, WORK_BY_DATA, Place, elf_of, finish_tool, passages, returned, unfolded, wait_for
from test_application_cores import exact, lasting

pytestmark = [pytest.mark.each_value, pytest.mark.any_fifth]

WAYS = ["a9/swd", "a7/swd", "a53/swd", "a53/jtag", "r5/swd", "r52/swd"]


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
    """The boards with A-class cores have no timer that interrupts."""
    other = place.board.core(0)
    while tool.poll() is None:
        if other.state()["run"] == "asleep":
            other.command("irq 3")
    return finish_tool(tool)


@pytest.mark.parametrize("way", ["a53/swd", "a9/swd", "a7/swd", "a53/jtag", "r52/swd"])
def test_a_core_that_idles_without_power_is_kept_up(way):
    with Place(way, "free", WORK_BY_DATA | SLEEPER) as place:
        place.run("info")
        put(place, "idles-off")
        name = "edprcr" if place.chip in ("a53", "r52") else "prcr"
        before = place.board.state()[name]
        assert before & 1 == 0
        place.board.watch(NOWHERE)
        result = wake_until_done(place, place.start("delta", "-j", "work_by_data", "-r", 20))
        assert result.code == 0 and len(result.hits) == 20, result.err
        log = place.board.log()
        assert sum(event.kind == "sleep" for event in log) >= 15
        truth = passages(log, place.symbol("work_by_data"), returned)
        assert result.cycles == [passage.cycles for passage in truth[:20]]
        assert place.board.state()[name] == before


def stands_at(state, address):
    return state["run"] == "running" and any(control & 1 and value == address & ~3
                                             for value, control in zip(state["bvr"], state["bcr"]))


@pytest.mark.parametrize("way", ["a53/swd", "a53", "a9/swd", "a7/jtag", "r5/swd"])
@pytest.mark.parametrize("waiting", ["start", "end"])
def test_a_breakpoint_that_somebody_clears_is_told_as_that(way, waiting):
    """At once, and not as a timeout later."""
    with Place(way, "free", WORK_BY_DATA) as place:
        region = ("work_by_data", "sleeper") if waiting == "end" else ("work_by_data",)
        tool = place.start("delta", "-j", *region, "-r", 100000000, "--timeout", "1h")
        if waiting == "start":
            place.wait_for_stops(20)
            place.board.write_word("scenario", 0)  # it is not called any more
        last = place.symbol(region[-1])
        wait_for(lambda: stands_at(place.board.state(), last), "the tool to wait")
        put(place, "breakpoints-cleared")
        result = finish_tool(tool)
        assert result.code == 3 and "something else cleared our breakpoint" in result.err, result.err
        assert "cpuidle.off=1" in unfolded(result.err)
        assert waiting == "end" or result.summary["hits"] >= 1, result.out[-500:]
        state = place.board.state()
        assert state["run"] == "running" and not any(word & 1 for word in state["bcr"])


@pytest.mark.parametrize("way", ["a53/swd", "a53/jtag", "a9/swd", "a7/swd", "r5/swd"])
@pytest.mark.parametrize("low", [False, True])
def test_doctor_tells_that_secure_code_does_not_stop(way, low):
    with Place(way, "free", WORK_BY_DATA) as place:
        if place.chip in ("a53", "a7") and place.wires:
            assert place.run("doctor", "--mend").code == 0  # the OS lock
        put(place, "secure-low", low)
        result = place.run("doctor")
        assert result.code == 0, result.out + result.err
        halting = next(line for line in result.out.splitlines() if line.startswith("  halting"))
        low = low and place.chip != "r5"  # which has no Secure state
        assert halting.split()[1] == ("not" if low else "ok"), result.out
        assert ("for SPIDEN is low" in unfolded(result.out)) == low
        missed = place.run("delta", "sleeper", "--timeout", 1)
        assert missed.code == 3 and ("Secure code would not stop there" in unfolded(missed.err)) == low, missed.err
        assert len(place.delta("work_by_data", "-r", 5).hits) == 5  # is Non-secure


@pytest.mark.parametrize("way", ["a53/swd", "a53", "a9/swd", "a9", "a7/jtag", "r5/swd"])
def test_code_in_a_cache_is_compared_through_the_core(way):
    with Place(way, "free", WORK_BY_DATA) as place:
        place.run("info")
        before = lasting(place)
        put(place, "dirty-lines")
        looked = place.run("info")  # changes nothing, and so does not stop the core
        assert looked.code == 3 and "delta reads through the core" in unfolded(looked.err), looked.err
        exact(place, ("work_by_data",), returned, 20)
        proved = place.run("doctor", "--prove", "work_by_data")
        assert proved.code == 0 and "registers are as before" in unfolded(proved.out), proved.err
        place.elf = elf_of(place.chip, "parked")
        proved = place.run("doctor", "--prove", "start")
        assert proved.code == 3 and "does not run this ELF" in unfolded(proved.err) and "delta reads" not in proved.err, proved.err
        other = place.run("delta", "start", "-r", 1)
        assert other.code == 3 and "the target does not run this ELF" in unfolded(other.err), other.err
        assert "delta looks" not in other.err
        assert lasting(place) == before and place.board.state()["run"] == "running"


@pytest.mark.parametrize("way", ["a7/swd", "a7/jtag", "a7/v2"])
def test_a_program_in_hyp_mode(way):
    """Comparators match there only with DBGBCR.HMC, and so do those that step; counters count there only with NSH."""
    with Place(way, "free", WORK_BY_DATA | LOOP_ROUND) as place:
        place.run("info")
        put(place, "hyp-mode")
        assert place.board.state()["cpsr"] & 0x1F == 0x1A
        before = lasting(place)
        exact(place, ("work_by_data",), returned, 50, ("-e", "INST_RETIRED"))
        assert len(place.delta("loop_head", "loop_head", "-r", 20).hits) == 20
        lines = place.run("lines", "-j", "work_by_data", "-r", 5)
        assert lines.code == 0, lines.err
        assert lasting(place) == before and place.board.state()["run"] == "running"

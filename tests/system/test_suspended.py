"""A tool that asks OpenOCD for nothing for longer than 10 s while the core is halted at its breakpoint: suspended by Ctrl-Z or by the lid
of a laptop, or on a network that stalls. OpenOCD must not poll the core meanwhile: it reads the registers of an A or R core by
R0 or X0, and gives them back only when it resumes the core itself."""
import contextlib
import signal
import time

import pytest

from harness import NOWHERE, WAIT, finish_tool, wait_for
from trouble import TOOL, Strike
from troubled_place import TroubledPlace, differences

pytestmark = pytest.mark.any_fifth
CHIPS = ["a9", "a7", "r5", "a53"]
LONG = 13  # seconds: OpenOCD checks whether its holder is silent for 10 s, every 2 s
HITS = 20
EDSCR_MA = 1 << 20


@contextlib.contextmanager
def prepared(chip):
    with TroubledPlace(chip) as place:
        assert place.delta().code == 0  # what OpenOCD sets up at its first breakpoint is its own
        place.calm()
        place.before = place.snapshot()
        place.board.watch(NOWHERE)
        yield place


def is_halted(state):
    return state["run"] == "halted"


def has_just_stopped(state):
    """Not in the middle of anything."""
    return is_halted(state) and not state["borrowed"] and not state.get("edscr", 0) & EDSCR_MA


def suspend(place, process, when=is_halted):
    """While the core is halted for it."""
    wait_for(lambda: sum(event.kind == "halt" for event in place.board.log()) >= HITS, "some hits")
    end = time.monotonic() + WAIT
    while time.monotonic() < end:
        process.send_signal(signal.SIGSTOP)
        place.server("version")  # it has carried out what it was sent
        if when(place.board.state()):
            time.sleep(0.1)
            if when(place.board.state()):
                return
        process.send_signal(signal.SIGCONT)
        time.sleep(0.01)
    raise AssertionError("the core is never halted")


def look_at_holder(place):
    """As OpenOCD does every two seconds. The holder's connection is closed, and it has asked for nothing for 10 s."""
    place.server("set ::pmu_sockets {0}; set ::pmu_seen 1; pmu_look_at_holder")


def let_openocd_look(place):
    """As if the core had stopped at the breakpoint only after that."""
    place.server("set ::pmu_halted {}")
    look_at_holder(place)
    wait_for(lambda: place.server(f"{place.server.target} curstate") == "halted", "OpenOCD to see the halt")


def assert_as_before(place, *but):
    place.calm()
    assert [name for name in differences(place.before, place.snapshot()) if name not in but] == []
    cycles = place.board.state()["cycles"]
    place.board.wait_for(lambda state: state["run"] == "running" and state["cycles"] > cycles)
    assert place.polls()


COMMANDS = {"delta": ["delta", "-j", "work_by_data", "-r", 120], "survey": ["survey", "work_by_data", "called_twice", "--for", "3s"]}


@pytest.mark.waits
@pytest.mark.parametrize("chip,command", [*((chip, "delta") for chip in CHIPS), ("a9", "survey")])
def test_suspended_while_the_core_is_halted(chip, command):
    with prepared(chip) as place:
        process = place.start(*COMMANDS[command])
        suspend(place, process)
        time.sleep(LONG)
        assert place.server(f"{place.server.target} curstate") == "running"  # it has not polled
        process.send_signal(signal.SIGCONT)
        result = finish_tool(process)
        assert result.code == 0, result.err
        if command == "delta":
            truth = place.truth()
            assert len(result.hits) == 120 and all(cycles in truth for cycles in result.cycles)
        assert_as_before(place)


@pytest.mark.waits
@pytest.mark.parametrize("chip", CHIPS)
def test_a_network_that_stalls(chip):
    """The answer arrives late, and is taken; what gave up waiting for it leaves the target to `restore`."""
    with prepared(chip) as place:
        place.proxy.plan(Strike("stall", TOOL, seconds=LONG, when=lambda: place.proxy.counted[TOOL] > 60 and
                                place.board.state()["run"] == "halted"))
        result = place.run("delta", "-j", "work_by_data", "-r", 120)
        assert place.proxy.struck and result.code == 0, result.err
        assert_as_before(place)


@pytest.mark.parametrize("chip", CHIPS)
def test_openocd_took_the_core(chip):
    """The connection of a suspended tool is closed, as by a router that has forgotten it: OpenOCD takes the tool for dead, and the
    core's registers are in OpenOCD then. The run ends with that, and `restore` lets OpenOCD give them back."""
    with prepared(chip) as place:
        process = place.start("delta", "-j", "work_by_data", "-r", 100000)
        suspend(place, process, has_just_stopped)
        place.proxy.plan(Strike("cut", TOOL))
        let_openocd_look(place)
        process.send_signal(signal.SIGCONT)
        result = finish_tool(process)
        place.proxy.plan(None)
        assert result.code == 3 and "has taken over a core that pmu-probe had halted" in result.err, result.err
        assert "pmu-probe restore" in result.err
        result = place.run("restore")
        assert result.code == 0, result.out + result.err
        assert_as_before(place, "cti_gate")  # OpenOCD's own, from when it resumes an Armv8-A


@pytest.mark.parametrize("chip", CHIPS)
def test_openocd_looks_after_a_kill(chip):
    """The core stopped after the kill, so that nothing was borrowed. A core that is halted at the kill is the next test's."""
    with prepared(chip) as place:
        process = place.start("delta", "-j", "work_by_data", "-r", 100000)
        suspend(place, process, has_just_stopped)
        process.kill()
        process.communicate()
        place.proxy.quiet()
        let_openocd_look(place)
        result = place.run("restore")
        assert result.code == 0, result.out + result.err
        assert_as_before(place, "cti_gate")


@pytest.mark.parametrize("chip", CHIPS)
def test_a_core_that_a_killed_run_has_halted_is_left_to_restore(chip):
    """What OpenOCD would read may be borrowed, and the core in a mode in which OpenOCD 0.12 reads until it crashes."""
    with prepared(chip) as place:
        process = place.start("delta", "-j", "work_by_data", "-r", 100000)
        suspend(place, process)
        process.kill()
        process.communicate()
        place.proxy.quiet()
        look_at_holder(place)
        assert place.server("set ::pmu_lapsed") == "0" and place.server(f"{place.server.target} curstate") == "running"
        result = place.run("restore")
        assert result.code == 0, result.out + result.err
        assert_as_before(place)

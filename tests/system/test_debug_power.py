"""Debug power: chips answer the request in different ways. The tool leaves it as it was, which the board's registers prove."""
import signal

import pytest

from cmsis_dap import ABORT, CLEAR_STICKY, CTRL_STAT, DP, SELECT, Dap, write
from harness import INTERRUPTED, WORK_BY_DATA, Place, finish_tool, forget_journal, passages, returned

DEBUG, SYSTEM, OVERRUN = 1 << 28, 1 << 30, 1
BOTH = DEBUG | SYSTEM
WAYS = ["m4/swd", "m4/jtag", "rp2040/swd", "rp2350/swd", "a9/swd", "r5/jtag", "a53/swd", "m4/v2"]


def controls(place):
    """The writable bits of CTRL/STAT, of every debug port."""
    numbers = range(2) if place.chip == "rp2040" else range(1)
    return [place.board.core(number).state()["control"] for number in numbers]


def power(place, value):
    """Debug power as an earlier debugger left it."""
    with Dap(place.board.dap_port) as dap:
        dap.swd()
        dap.clock(10000000)
        dap.configure()
        dap.transfer(write(DP, ABORT, CLEAR_STICKY), write(DP, SELECT, 0), write(DP, CTRL_STAT, value))
    assert controls(place) == [value]


def exact(place, hits=10, *options):
    result = place.delta("work_by_data", "-r", hits, *options)
    truth = passages(place.board.log(), place.symbol("work_by_data"), returned)
    assert result.cycles == [passage.cycles for passage in truth[:hits]]
    return result


@pytest.mark.parametrize("way", ["m4/swd", "m4/jtag", "rp2040/swd", "a9/swd", "m4/v2"])
def test_system_power_that_is_never_acknowledged(way):
    with Place(way, "free", WORK_BY_DATA, port_quirks="no-system-power") as place:
        exact(place)


@pytest.mark.each_value
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("how", ["info", "delta", "refused", "interrupted"])
def test_power_is_taken_down(way, how):
    """However a run ends, and on each debug port."""
    with Place(way, "free", WORK_BY_DATA) as place:
        if how == "info":
            assert place.run("info").code == 0
        elif how == "delta":
            exact(place)
        elif how == "refused":
            assert place.run("-C", 7, "delta", "work_by_data").code == 3
        else:
            tool = place.start("delta", "work_by_data", "-r", 100000000)
            place.wait_for_stops(10)
            assert all(value & BOTH == BOTH for value in controls(place))
            finish_tool(tool, signal.SIGINT)
        assert not any(controls(place))


@pytest.mark.parametrize("value", [BOTH, DEBUG, BOTH | OVERRUN])
def test_power_that_a_debugger_has_is_left(value):
    with Place("m4/swd", "free", WORK_BY_DATA) as place:
        power(place, value)
        exact(place)
        assert controls(place) == [value]


def test_power_stays_where_a_core_is_left_halted():
    with Place("m4/swd", "free", WORK_BY_DATA) as place:
        result = place.run("reset", "--halt")
        assert result.code == 0, result.err
        assert place.board.state()["run"] == "halted" and controls(place) == [BOTH]


@pytest.mark.parametrize("command", [("restore",), ("restore", "--force")])
@pytest.mark.parametrize("way", ["m4/swd", "rp2040/swd"])
def test_the_way_back_takes_down_what_a_killed_run_has_left(way, command):
    with Place(way, "free", WORK_BY_DATA) as place:
        tool = place.start("delta", "work_by_data", "-r", 100000000)
        place.wait_for_stops(10)
        tool.kill()
        tool.communicate()
        assert all(controls(place))
        if "--force" in command:
            forget_journal()
        assert place.run(*command).code == 0
        assert not any(controls(place))


def test_power_is_taken_down_after_the_probe_was_away():
    """A run goes on if what failed meanwhile was something that it can do without, such as how long its halts are."""
    with Place("m4/v2", "free", WORK_BY_DATA) as place:
        tool = place.start("delta", "work_by_data", "-r", 100000000)
        place.wait_for_stops(10)
        place.board.unplug()
        place.board.plug()
        assert finish_tool(tool, signal.SIGINT).code in (3, INTERRUPTED)
        assert not any(controls(place))

"""Foreign stops and unsuitable targets: the message names each for what it is, and none becomes a number."""
import contextlib
import signal
import time

import pytest

from harness import (INTERRUPTED, DAP_WAYS, LOCKING, LONG_REGION, PREEMPTED, RESETTING, WAIT, WORK_BY_DATA, Place, finish_tool, unfolded, wait_for)

CHIPS = ["rp2040", "m4", "m55"]
WAYS = CHIPS + DAP_WAYS + ["m55/swd"]


@pytest.mark.parametrize("chip", WAYS)
def test_reset_inside_a_region(chip):
    with Place(chip, "free", WORK_BY_DATA) as place:
        process = place.start("delta", "-j", "resetting", "-r", 3)
        place.wait_until_armed()
        place.board.write_word("scenario", RESETTING)  # forgotten by the reset
        result = finish_tool(process)
        assert result.code == 3 and "was reset" in result.err
        assert result.hits == [] and result.summary is None
        place.board.wait_for(lambda state: state["run"] == "running")
        assert place.board.state()["demcr"] & 1 == 0


@pytest.mark.parametrize("chip", WAYS)
def test_reset_between_hits(chip):
    with Place(chip, "free", PREEMPTED) as place:
        process = place.start("delta", "-j", "preempted", "-r", 1000000)
        place.wait_for_stops(20)
        place.board.command("reset")
        result = finish_tool(process)
        assert result.code == 3 and "was reset" in result.err
        assert result.summary is None or "the target was reset" in result.summary["ended"]


@pytest.mark.parametrize("chip", CHIPS)
def test_halted_on_arrival(chip):
    with Place(chip, "free", WORK_BY_DATA) as place:
        place.server.run_to(place.symbol("work_by_data"))
        before = place.board.state()
        result = place.run("delta", "work_by_data")
        assert result.code == 3
        assert "halted at scenarios.c:" in result.err and "work_by_data" in result.err
        assert "--resume" in result.err
        after = place.board.state()
        assert after["run"] == "halted" and after["pc"] == before["pc"] and after["fp_comp"] == before["fp_comp"]


@pytest.mark.parametrize("chip", CHIPS)
def test_foreign_breakpoint(chip):
    """The core stays halted there, the message names the place, and the hits so far are kept."""
    with Place(chip, "free", WORK_BY_DATA) as place:
        process = place.start("delta", "work_by_data", "-r", 1000000)
        place.wait_for_stops(60)
        here = place.symbol("random_number")
        value = here | 1 if chip == "m55" else here & 0x1FFFFFFC | (0x80000001 if here & 2 else 0x40000001)
        place.server.set_word(0xE0002008, value)
        result = finish_tool(process)
        assert result.code == 3
        assert "stopped by someone else's breakpoint at scenarios.c:" in result.err and "random_number" in result.err
        assert "of 1,000,000 hits" in unfolded(result.out)
        state = place.board.state()
        assert state["run"] == "halted" and state["pc"] == here
        assert [v for v in state["fp_comp"] if v & 1] == [value]
        wait_for(lambda: place.server(f"{place.server.target} curstate") == "halted", "OpenOCD to see it")
        assert place.server.register("pc") == here


def test_foreign_halt_request():
    with Place("m4", "free", LONG_REGION) as place:
        process = place.start("delta", "long_begin", "never_called", "--timeout", WAIT)
        place.wait_for_stops(1)
        end = time.monotonic() + WAIT
        while process.poll() is None and time.monotonic() < end:  # one while the core is halted by us stops nothing
            with contextlib.suppress(RuntimeError):  # as it is when the tool lets the core go meanwhile
                place.server("poll; halt")  # once it has seen a halt of ours, it would take the core for halted
            time.sleep(0.1)
        result = finish_tool(process)
        assert result.code == 3 and "stopped by someone else at measured.S:" in result.err
        assert place.board.state()["run"] == "halted"


@pytest.mark.parametrize("chip", WAYS)
def test_lockup(chip):
    with Place(chip, "free", WORK_BY_DATA) as place:
        process = place.start("delta", "never_called", "--timeout", 60)
        place.wait_until_armed()
        place.board.write_word("scenario", LOCKING)
        result = finish_tool(process)
        assert result.code == 3 and "locked up" in result.err
        assert not any(value & 1 for value in place.board.state()["fp_comp"])
        again = place.run("delta", "work_by_data")
        # OpenOCD halts a core that it finds locked up
        assert again.code == 3 and ("locked up" in again.err or "halted at 0xfffffffe" in again.err.lower())


def test_all_comparators_taken():
    with Place("rp2040", "free", WORK_BY_DATA) as place:
        for n in range(4):
            place.server(f"bp {place.symbol('never_called') + 2 * n:#x} 2 hw")
        result = place.run("delta", "work_by_data")
        assert result.code == 3 and "all 4 breakpoint comparators are taken" in result.err
        assert f"0x{place.symbol('never_called'):08X}" in result.err
        assert place.board.state()["run"] == "running"


def test_ctrl_c_ends_with_the_hits_so_far():
    with Place("rp2040", "free", WORK_BY_DATA) as place:
        process = place.start("delta", "work_by_data", "-r", 10000000)
        place.wait_for_stops(60)
        result = finish_tool(process, signal.SIGINT)
        assert result.code == INTERRUPTED and result.err == ""
        assert "Ctrl-C" in result.out and "of 10,000,000 hits" in result.out and "CPU_CYCLES" in result.out

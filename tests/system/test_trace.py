"""No trace is left: however a run ends, the board is as before."""
import contextlib
import fcntl
import os
import signal
import subprocess
import time

import pytest

from harness import DAP_WAYS, INTERRUPTED, IN_RAM, SLEEPER, WAIT, WORK_BY_DATA, Place, finish_tool, start_tool, wait_for

CHIPS = ["rp2040", "m4"]
WAYS = CHIPS + DAP_WAYS
KEPT = ["dhcsr", "demcr", "dfsr", "fp_ctrl", "fp_comp", "dwt_ctrl", "dwt_comp", "dwt_function", "syst_csr",
        "syst_rvr", "code_hash"]
CODE_IN_RAM = 10
COUNTFLAG = 1 << 16


def snapshot(place):
    place.wait_for_start()
    state = place.board.state()
    kept = {name: state[name] for name in KEPT}
    kept["syst_csr"] &= ~COUNTFLAG
    kept["in_ram"] = place.board.read("in_ram", CODE_IN_RAM)
    return kept


def run_state(place):
    return place.board.state()["run"]


def openocd_agrees(place, running):
    """OpenOCD's own idea of the core, and of its registers, is true."""
    if not place.server:
        return
    state = place.server("virtual.cpu curstate")
    assert state == ("running" if running else "halted")
    if not running:
        assert place.server.register("pc") == place.board.state()["pc"]
        return
    place.server("halt")
    place.server.wait_halt()
    assert place.server.register("pc") == place.board.state()["pc"]
    place.server("resume")


# what is measured, how it is ended, the exit code
def finished(place, function, *more):
    return place.run("delta", function, "-r", 5, *more), 0


def interrupted(number):
    def end(place, function, *more):
        process = place.start("delta", "-j", function, "-r", 10000000, *more)
        place.wait_for_stops(60)
        return finish_tool(process, number), INTERRUPTED
    return end


def interrupted_while_waiting(place, function, *more):
    process = place.start("delta", "never_called", *more)
    place.wait_until_armed()
    return finish_tool(process, signal.SIGINT), 3


def start_never_reached(place, function, *more):
    return place.run("delta", "never_called", "--timeout", "0.3", *more), 3


def end_never_reached(place, function, *more):
    return place.run("delta", function, "never_called", "--timeout", "0.3", *more), 3


ENDS = {"finished": finished, "SIGINT": interrupted(signal.SIGINT), "SIGTERM": interrupted(signal.SIGTERM),
        "SIGINT while waiting": interrupted_while_waiting, "no start": start_never_reached,
        "no end": end_never_reached}


@pytest.mark.parametrize("chip", WAYS)
@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("function, bits", [("work_by_data", WORK_BY_DATA), ("in_ram", IN_RAM)])
def test_running(chip, end, function, bits):
    with Place(chip, "free", bits) as place:
        before = snapshot(place)
        result, code = ENDS[end](place, function)
        assert result.code == code, result.err
        assert snapshot(place) == before
        assert run_state(place) == "running"
        openocd_agrees(place, True)


def fill(pipe):
    """From our side, so that not even a byte fits."""
    end = os.open(f"/proc/self/fd/{pipe.fileno()}", os.O_WRONLY | os.O_NONBLOCK)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(end, b"\n")
    os.close(end)


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("command", [("delta", "work_by_data", "-r", 10000000), ("watch", "-I", "1ms")])
def test_output_that_nobody_reads(command, times):
    """The tool goes on. After a signal it puts the target back, then waits for the reader, and loses nothing. After a second one it
    does not wait."""
    with Place("m4/swd", "free", WORK_BY_DATA) as place:
        before = snapshot(place)
        process = place.start(*command, "-j")
        fcntl.fcntl(process.stdout, fcntl.F_SETPIPE_SZ, 4096)
        if times > 1:
            fill(process.stdout)
        wait_for(lambda: snapshot(place) != before, "the run to begin")
        if command[0] == "delta":
            place.wait_for_stops(200)
        else:
            time.sleep(1)  # for some lines, of which the pipe takes one
        process.send_signal(signal.SIGTERM)
        wait_for(lambda: run_state(place) == "running" and snapshot(place) == before, "the target to be as it was")
        if times > 1:
            time.sleep(0.3)  # one that follows at once is the same
            assert process.poll() is None
            process.send_signal(signal.SIGTERM)
            process.wait(WAIT)
        result = finish_tool(process)
        assert (result.code, "could not be written" in result.err) == ((0, False) if times == 1 else (3, True)), result.err
        assert times > 1 or command[0] == "watch" or (result.lines[-1]["type"] == "summary" and result.lines[-1]["hits"] == len(result.hits))
        assert snapshot(place) == before
        assert run_state(place) == "running"


def test_a_log_that_nobody_reads():
    """`-vv 2>&1 | less`: the log of an access is not waited for while the core is halted."""
    with Place("m4/swd", "free", WORK_BY_DATA) as place:
        before = snapshot(place)
        process = start_tool(place.words("delta", "work_by_data", "-r", 10000000, "-vv"), stderr=subprocess.STDOUT)
        fcntl.fcntl(process.stdout, fcntl.F_SETPIPE_SZ, 4096)
        wait_for(lambda: snapshot(place) != before, "the run to begin")
        place.wait_for_stops(60)
        process.send_signal(signal.SIGTERM)
        wait_for(lambda: run_state(place) == "running" and snapshot(place) == before, "the target to be as it was")
        out = process.communicate(timeout=WAIT)[0]
        assert process.returncode == INTERRUPTED and "hits" in out and len(out) > 4096, out[-3000:]


@pytest.mark.any_row(2)
@pytest.mark.parametrize("chip", WAYS)
@pytest.mark.parametrize("end", ["finished", "SIGTERM", "no end"])
def test_asleep(chip, end):
    with Place(chip, "tick", SLEEPER) as place:
        before = snapshot(place)
        place.board.wait_for(lambda state: state["run"] == "asleep")
        result, code = ENDS[end](place, "sleeper")
        assert result.code == code, result.err
        assert snapshot(place) == before
        place.board.wait_for(lambda state: state["run"] == "asleep")
        openocd_agrees(place, True)


@pytest.mark.parametrize("chip", WAYS)
@pytest.mark.parametrize("end", ENDS)
def test_halted_with_resume(chip, end):
    with Place(chip, "free", WORK_BY_DATA) as place:
        place.halt()
        before = snapshot(place)
        result, code = ENDS[end](place, "work_by_data", "--resume")
        assert result.code == code, result.err
        assert run_state(place) == "halted"
        assert snapshot(place) == before
        openocd_agrees(place, False)


@pytest.mark.parametrize("chip", CHIPS)
def test_debug_is_switched_off_again(chip):
    """A core on which nobody debugs: C_DEBUGEN, TRCENA and the breakpoint unit were off."""
    with Place(chip, "free", WORK_BY_DATA) as place:
        place.server.set_word(0xE0002000, 2)
        place.server.set_word(0xE000EDFC, 0)
        place.server("poll off")
        place.server.set_word(0xE000EDF0, 0xA05F0000)
        before = snapshot(place)
        assert before["dhcsr"] & 1 == 0 and before["fp_ctrl"] & 1 == 0
        result = place.run("delta", "work_by_data", "-r", 5)
        assert result.code == 0, result.err
        assert snapshot(place) == before


def test_breakpoints_left_in_a_unit_that_is_off_do_not_wake_up():
    with Place("m4", "free", WORK_BY_DATA) as place:
        here = place.symbol("random_number") & 0x1FFFFFFC | 0xC0000001
        place.server.set_word(0xE0002000, 2)
        for n in range(6):
            place.server.set_word(0xE0002008 + 4 * n, here)
        before = snapshot(place)
        result = place.run("delta", "work_by_data", "-r", 20)
        assert result.code == 0, result.err
        assert snapshot(place) == before
        assert run_state(place) == "running"


def test_idle_systick_is_borrowed_and_given_back():
    with Place("rp2040", "free", WORK_BY_DATA) as place:
        place.server.set_word(0xE000E010, 0)
        place.server.set_word(0xE000E014, 1234)
        before = snapshot(place)
        result = place.delta("work_by_data", "-r", 50)
        assert "SysTick was unused" in result.header["note"]
        assert len(result.hits) == 50 and min(result.cycles) > 10
        assert snapshot(place) == before


def test_polling_goes_on_as_it_was():
    with Place("rp2040", "free", WORK_BY_DATA) as place:
        place.run("delta", "work_by_data", "-r", 2)
        assert place.server.polls()
        place.server("poll off")
        place.run("delta", "work_by_data", "-r", 2)
        assert not place.server.polls()

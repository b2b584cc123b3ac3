"""An end reads before it writes: what something else has written since is left alone, and a counter with which the program
counts by now is left on. A line says so."""
import os
import re

import pytest

from gdb_place import GdbPlace
from harness import WORK_BY_DATA, Place, finish_tool, wait_for
from own_program import FIRMWARE, own_place
from test_trace import CODE_IN_RAM

LATE = os.path.join(FIRMWARE, "late.c")
NAMES = {"m4": "DWT_CTRL(, DEMCR)?", "m7": "DWT_CTRL, DEMCR", "rp2350": "DWT_CTRL, DEMCR", "rp2040": "SYST_CSR", "m55": "PMCR, PMCNTENSET, DEMCR",
         "a9": "PMCR, PMCNTENSET", "r5": "PMCR, PMCNTENSET", "a53": "PMCR, PMCNTENSET", "r52": "PMCR, PMCNTENSET"}
WAYS = ["m4/swd", "m4", "rp2040/swd", "rp2350/swd", "m55/swd", "a9/swd", "r5/swd", "a53/swd", "r52/swd", "a9", "m7/swd"]
TRCENA = 1 << 24
COMMANDS = {"delta": ["delta", "filter", "-r", 100000, "--for", "20s"], "stat": ["stat", "--for", "60s"],
            "record": ["record", "--for", "20s"]}


def start_in(place, run):
    """The program starts the counter that the run has switched on by now."""
    before = place.board.read_word("round_count")
    wait_for(lambda: place.board.read_word("round_count") > before + 3 or run.poll() is not None, "the run")
    place.board.write_word("start_now", 1)
    wait_for(lambda: place.board.read_word("waits") > 2, "the program's own waits")


def assert_it_counts_on(place):
    waits = place.board.read_word("waits")
    wait_for(lambda: place.board.read_word("waits") > waits + 3, "the program, which waits with its counter")


def is_on(place):
    state = place.board.state()
    switch = {"rp2040": "syst_csr", "m4": "dwt_ctrl", "m7": "dwt_ctrl", "rp2350": "dwt_ctrl", "m55": "pmu_ctrl"}.get(place.chip, "pmcr")
    return state[switch] & 1


@pytest.mark.each_value(2)
@pytest.mark.parametrize("command", ["delta", "stat"])
@pytest.mark.parametrize("way", WAYS)
def test_a_counter_that_the_program_started_meanwhile(way, command, tmp_path):
    with own_place(tmp_path, way, LATE) as place:
        run = place.start(*COMMANDS[command])
        wait_for(lambda: is_on(place), "the run")
        start_in(place, run)
        run.send_signal(2)
        result = finish_tool(run)
        assert re.search(rf"pmu-probe: left on: {NAMES[place.chip]}, the program may use (it|them) by now\n", result.err), result.err
        assert_it_counts_on(place)


def test_a_profile(tmp_path):
    with own_place(tmp_path, "m4/swd", LATE) as place:
        run = place.start(*COMMANDS["record"], "-o", tmp_path / "profile.jsonl")
        wait_for(lambda: place.board.state()["demcr"] & TRCENA, "the run")
        start_in(place, run)
        run.send_signal(2)
        assert "left on: DEMCR, the program may use it by now" in finish_tool(run).err
        assert_it_counts_on(place)


def test_through_a_gdb_server(tmp_path):
    with own_place(tmp_path, "m4", LATE, kind=GdbPlace) as place:
        run = place.start("delta", "filter", "-r", 100000, "--for", "20s")
        wait_for(lambda: is_on(place), "the run")
        start_in(place, run)
        run.send_signal(2)
        assert "left on: DWT_CTRL" in finish_tool(run).err  # OpenOCD has set TRCENA
        assert_it_counts_on(place)


def test_restore_says_the_same(tmp_path, state_folder):
    with own_place(tmp_path, "m4/swd", LATE) as place:
        run = place.start(*COMMANDS["delta"])
        wait_for(lambda: is_on(place), "the run")
        start_in(place, run)
        run.kill()
        run.communicate()
        result = place.run("restore")
        assert result.code == 0 and "left on: DWT_CTRL, DEMCR, the program may use them by now" in result.err, result.err
        assert_it_counts_on(place)
        assert "nothing to restore" in place.run("restore").out


# --- what something else has written --------------------------------------------------------------------------------

def test_a_register_that_another_debugger_has_written(tmp_path):
    with own_place(tmp_path, "rp2040", LATE) as place:
        run = place.start("stat", "--for", "20s")
        wait_for(lambda: place.board.state()["syst_csr"] & 1, "the run")
        place.server("mww 0xE000E014 0x1234")
        run.send_signal(2)
        result = finish_tool(run)
        assert "left alone: SYST_RVR, something else has written it since" in result.err, result.err
        state = place.board.state()
        assert state["syst_rvr"] == 0x1234 and state["syst_csr"] & 1


def test_a_comparator_that_another_debugger_has_set():
    with Place("m4", "free", WORK_BY_DATA) as place:
        run = place.start("delta", "Default_Handler", "--for", "20s")
        place.wait_until_armed()
        n = next(i for i, value in enumerate(place.board.state()["fp_comp"]) if value & 1)
        foreign = (place.symbol("Default_Handler") + 2 & ~3) | 0x80000001
        place.server(f"mww {0xE0002008 + 4 * n:#x} {foreign:#x}")
        run.send_signal(2)
        result = finish_tool(run)
        assert f"left alone: FP_COMP{n}, something else has written it since" in result.err, result.err
        assert place.board.state()["fp_comp"][n] == foreign


def test_code_in_ram_that_the_program_has_replaced():
    with Place("m4/swd", "free", 0) as place:
        code = place.board.read("in_ram", CODE_IN_RAM)
        run = place.start("delta", "in_ram", "--for", "20s")
        wait_for(lambda: place.board.read("in_ram", CODE_IN_RAM) != code, "the breakpoint")
        now = place.board.read("in_ram", CODE_IN_RAM)
        at = next(i for i in range(len(code)) if code[i] != now[i]) & ~1
        place.board.command(f"write {place.symbol('in_ram') + at:x} 00bf")
        run.send_signal(2)
        result = finish_tool(run)
        assert "something else has written it since" in result.err, result.err
        assert place.board.read("in_ram", CODE_IN_RAM)[at:at + 2] == b"\x00\xbf"


def test_a_single_step_that_a_debugger_did_not_end_ends_with_the_run():
    """As OpenOCD leaves one in whose middle the core was reset: the core would halt after each instruction, without interrupts."""
    with GdbPlace("a53", "free", WORK_BY_DATA) as place:
        run = place.start("delta", "never_called", "--for", "20s")
        wait_for(lambda: any(value & 1 for value in place.board.state()["bcr"]) and place.board.state()["run"] != "halted", "the breakpoint")
        place.server("a53.apb mww 0x80410024 4; a53.apb mww 0x80410088 0xC04000")
        run.send_signal(2)
        result = finish_tool(run)
        state = place.board.state()
        assert "left alone" not in result.err and state["edecr"] == 0 and state["edscr"] & 3 << 22 == 0, (result.err, state)
        place.board.wait_for(lambda state: state["run"] != "halted")

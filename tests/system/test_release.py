"""The way back after pmu-probe was killed, and its journal is gone: `restore --force` removes what it left on the target, and of
others too; then the target can be measured as before."""
import contextlib
import os
import random
import re
import subprocess
import time

import pytest

from armv8 import Bus
from cmsis_dap import Dap
from harness import IN_RAM, LOCKING, NOWHERE, SOAK, WORK_BY_DATA, Place, forget_journal, passages, returned, run_tool, wait_for
from test_trace import CODE_IN_RAM

CORTEX_M = ["m4", "rp2040"]
WAYS = [chip + wires for chip in CORTEX_M + ["a9", "a53"] for wires in ("", "/swd")]
KILLS = 10 if SOAK else 1
CATCHES = 0x7F1  # DEMCR
LATEST = 0.8  # seconds, for a kill
BKPT = bytes.fromhex("00be")
BESIDE_CODE = "above_rounds"  # a variable that has the section of in_ram, and another scenario


def is_caught(way):
    """Whether resets are caught: nothing else shows one."""
    return way.split("/")[0] in ("rp2040", "r5")


def stops(place):
    """All that would stop the core, by name."""
    state = place.board.state()
    if "fp_comp" in state:
        found = {"breakpoint": any(word & 1 for word in state["fp_comp"]), "catch": state["demcr"] & CATCHES,
                 "watchpoint": any(word & 15 for word in state["dwt_function"])}
    else:
        found = {"breakpoint": any(word & 1 for word in state["bcr"]), "watchpoint": any(word & 1 for word in state["wcr"]),
                 "catch": state["vcr"] if "vcr" in state else state["edecr"]}
    return {name for name, there in found.items() if there}


def is_as_untouched(place):
    """Nothing stops it, and it runs."""
    assert stops(place) == set()
    assert place.board.state()["run"] == "running"
    before = place.board.state()["cycles"]
    place.board.wait_for(lambda state: state["cycles"] > before)
    if place.server:
        assert place.server.polls()


def measures(place, function="work_by_data"):
    result = place.delta(function, "-r", 3)
    truth = [passage.cycles for passage in passages(place.board.log(), place.symbol(function), returned)]
    assert len(result.cycles) == 3 and all(cycles in truth for cycles in result.cycles)


def killed(place, *args, after=None):
    """Kills it at the given moment, or after that many hits."""
    process = place.start("delta", "-j", *args, "-r", 10000000)
    if after is None:
        time.sleep(random.uniform(0, LATEST))
    else:
        place.board.watch(NOWHERE)
        wait_for(lambda: process.poll() is not None or
                 sum(event.kind == "halt" for event in place.board.log()) >= after, "some hits")
        assert process.poll() is None, process.communicate()
    process.kill()
    process.communicate()
    forget_journal()
    # What the other side had been sent, it carries out
    if place.server:
        time.sleep(0.3)
        place.server("version")
    else:
        with Dap(place.board.dap_port) as dap:  # one host at a time
            dap.info(0xFF)


def released(place, *args, code=0, **kwargs):
    result = place.run("restore", "--force", *args, **kwargs)
    assert result.code == code, result.out + result.err
    return result


@pytest.mark.parametrize("way", WAYS)
def test_after_a_kill(way):
    with Place(way, "free", WORK_BY_DATA) as place:
        random.seed(f"{os.environ['PMU_SEED']} kill {way}")
        for after in [30] + [None] * KILLS:
            killed(place, "work_by_data", after=after)
            result = released(place)
            assert after is None or "removed     breakpoint at " in result.out
            assert after is None or ("removed     catch of a reset" in result.out) == is_caught(way)
            is_as_untouched(place)
            if way.startswith("a53") and 0 <= place.board.state()["pc"] - place.symbol("Sync_Handler") < 0x100:
                break  # killed while the program had lent its X0, which only the forgotten journal has: the program is lost
            measures(place)


def test_a_catch_of_secure_faults_is_removed():
    with Place("m33/swd", "free", WORK_BY_DATA) as place:
        place.run("info")
        with contextlib.closing(Bus(place.board)) as bus:
            bus.set_word(0xE000EDFC, bus.word(0xE000EDFC, 0) | 0x800, 0)  # DEMCR.VC_SFERR
        assert place.board.state()["demcr"] & 0x800
        assert "removed     catch of faults (DEMCR)" in released(place).out
        assert not place.board.state()["demcr"] & 0x800


@pytest.mark.parametrize("way", ["m4/swd", "a9/swd"])
def test_what_was_left_is_told_by_name(way):
    """delta names the command, also after a reset: the program boots, and reaches the breakpoint that was left."""
    with Place(way, "free", WORK_BY_DATA) as place:
        killed(place, "work_by_data", after=30)
        place.board.command("reset")
        place.board.wait_for(lambda state: state["run"] == "halted")
        refused = place.run("delta", "work_by_data", "-r", 3)
        assert refused.code == 3 and "the core is halted at" in refused.err and "pmu-probe restore --force" in refused.err
        released(place)
        is_as_untouched(place)
        measures(place)


@pytest.mark.parametrize("wires", ["", "/swd"])
@pytest.mark.parametrize("chip", ["m4", "m55", "a9", "a53", "r5", "rp2040", "r52", "a53in32"])
def test_the_program_boots_after_a_kill_and_a_reset(chip, wires):
    """Where a reset is caught, only after `release`."""
    with Place(chip + wires, "free", WORK_BY_DATA) as place:
        killed(place, "work_by_data", after=30)
        boots = place.board.read_word("boot_count")
        place.board.command("reset")
        place.board.wait_for(lambda state: state["run"] == "halted")  # at the latest at the breakpoint that was left
        assert place.board.read_word("boot_count") == (boots if is_caught(chip) else boots + 1)
        released(place)
        place.board.command("reset")
        wait_for(lambda: place.board.read_word("boot_count") > boots, "the program to boot")
        is_as_untouched(place)


@pytest.mark.parametrize("way", ["m4/swd", "rp2040"])
def test_breakpoint_instruction_in_ram(way):
    with Place(way, "free", IN_RAM) as place:
        code = place.board.read("in_ram", CODE_IN_RAM)
        while place.board.read("in_ram", CODE_IN_RAM) == code:
            killed(place, "in_ram", after=30)
            if place.board.read("in_ram", CODE_IN_RAM) == code:
                released(place)
        place.board.wait_for(lambda state: state["run"] == "halted")
        kept = released(place, elf=False, code=3)
        # The core was halted there, or elsewhere in that hit: then it gets there when it is let go
        at = f"{place.symbol('in_ram'):#010x}"
        assert (f"a breakpoint instruction at {at}" in kept.err or
                f"the core stops again at a breakpoint instruction at {at}" in kept.err)
        assert "--elf FILE helps" in kept.err
        assert place.board.state()["run"] == "halted"
        result = released(place)
        assert "removed     breakpoint instruction at " in result.out
        assert place.board.read("in_ram", CODE_IN_RAM) == code
        is_as_untouched(place)
        measures(place, "in_ram")


def test_another_debuggers_too():
    """OpenOCD's own breakpoints and watchpoints: it forgets them, and lets the core go itself."""
    with Place("m4", "free", WORK_BY_DATA) as place:
        place.server("halt")
        place.server.wait_halt()
        place.server(f"bp {place.symbol('work_by_data'):#x} 2 hw")
        place.server(f"wp {place.symbol('round_count'):#x} 4 w")
        place.server("cortex_m vector_catch hard_err")
        place.server("resume")
        place.server.wait_halt()
        assert stops(place) == {"breakpoint", "watchpoint", "catch"}
        result = released(place)
        for what in ("breakpoint at scenarios.c", "watchpoint at 0x2000", "catch of faults"):
            assert f"removed     {what}" in result.out
        is_as_untouched(place)
        wait_for(lambda: place.server("virtual.cpu curstate") == "running", "OpenOCD to see it run")
        assert place.server("capture bp").strip() == ""


def stop_at_entry(place):
    """By a breakpoint instruction of another debugger, which goes away."""
    server = place.server or place.start_server()
    server("halt")
    server.wait_halt()
    place.board.write("in_ram", BKPT)
    server("resume")
    server.wait_halt()
    assert place.board.state()["pc"] == place.symbol("in_ram")
    if not place.server:
        server.kill()


@pytest.mark.parametrize("way", ["m4/swd", "rp2040"])
def test_the_core_stops_again_at_a_breakpoint_instruction(way):
    """Without the ELF, restore --force knows only the instruction at the PC. It names the way out."""
    with Place(way, "free", IN_RAM) as place:
        code = place.board.read("in_ram", CODE_IN_RAM)
        second = place.symbol("in_ram_step")
        stop_at_entry(place)
        place.board.write("in_ram", code[:2])
        place.board.write(second, BKPT)
        again = released(place, elf=False, code=3)
        assert f"stops again at a breakpoint instruction at {second:#010x}" in again.err
        assert "--elf FILE helps" in again.err
        assert place.board.state()["run"] == "halted"
        result = released(place)
        assert "removed     breakpoint instruction at " in result.out
        assert place.board.read("in_ram", CODE_IN_RAM) == code
        is_as_untouched(place)


def look_like_bkpt(place, name):
    """Each half of a variable next to code that the program leaves alone, as word of memory."""
    word = place.board.read_word(name)
    return [word & 0xFFFF0000 | 0xBE00, word & 0xFFFF | 0xBEAB0000]


@pytest.mark.parametrize("way", ["m4/swd", "rp2040"])
def test_a_variable_beside_code_is_no_breakpoint_instruction(way):
    with Place(way, "free", WORK_BY_DATA) as place:
        for value in look_like_bkpt(place, BESIDE_CODE):
            place.board.write_word(BESIDE_CODE, value)
            result = released(place)
            assert "nothing to remove; running" in result.out and "left alone" not in result.out
            assert place.board.read_word(BESIDE_CODE) == value


def test_without_mapping_symbols_code_is_left_alone(tmp_path):
    """Nothing shows which is the variable and which is code. restore --force writes neither, and names both."""
    with Place("m4/swd", "free", IN_RAM) as place:
        bare, whole = tmp_path / "bare.elf", place.elf
        subprocess.run(["arm-none-eabi-objcopy", "--wildcard", "--strip-symbol=$[atd]*",
                        f"--strip-symbol={BESIDE_CODE}", whole, bare], check=True)
        value = look_like_bkpt(place, BESIDE_CODE)[0]
        place.board.write_word(BESIDE_CODE, value)
        stop_at_entry(place)
        place.elf = bare
        result = released(place, code=3)
        assert "removed " not in result.out
        assert result.out.count("left alone  a possible breakpoint instruction at ") == 2
        assert "no mapping symbol" in result.out
        assert "a breakpoint instruction at" in result.err and "--elf" not in result.err
        assert place.board.read("in_ram", 2) == BKPT and place.board.read_word(BESIDE_CODE) == value
        place.elf = whole
        assert "removed     breakpoint instruction at " in released(place).out
        assert place.board.read("in_ram", 2) != BKPT and place.board.read_word(BESIDE_CODE) == value
        is_as_untouched(place)


@pytest.mark.parametrize("way", ["m4/swd", "a53/swd"])
def test_nothing_to_release(way):
    with Place(way, "free", WORK_BY_DATA) as place:
        place.board.watch(NOWHERE)
        result = released(place)
        assert "nothing to remove; running" in result.out and "removed " not in result.out
        is_as_untouched(place)
        assert not any(event.kind == "halt" for event in place.board.log())


def test_a_locked_up_core_is_told():
    with Place("m4/swd", "free", LOCKING) as place:
        place.board.wait_for(lambda state: state["run"] == "lockup")
        result = released(place, code=3)
        assert "locked up" in result.err and "pmu-probe reset" in result.err


def test_through_a_gdb_server():
    """It has a reset, which is its debugger's."""
    with Place("m4", "free", WORK_BY_DATA, commands=["gdb_port 0"]) as place:
        found = re.search(r"Listening on port (\d+) for gdb connections", place.server.output)
        result = run_tool("-p", f"gdb:127.0.0.1:{found.group(1)}", "reset")
        assert result.code == 2 and "OpenOCD's Tcl port or a CMSIS-DAP probe" in result.err

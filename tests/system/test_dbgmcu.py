"""What OpenOCD's files for an STM32 set in its DBGMCU: an OpenOCD that the tool starts puts it back, another one does not."""
import os

import pytest

from harness import ROOT, WORK_BY_DATA, Place, run_tool

# As stm32f4x.cfg and, through another access port, stm32h7x.cfg have them
FILES = {
    "stm32f4x": "virtual.cpu configure -event examine-end { mmw 0xE0042004 0x00000007 0; mmw 0xE0042008 0x00001800 0 }",
    "stm32h7x": "proc stm32h7x_mmw {t r s c} { set old [$t read_memory $r 32 1]; $t mww $r [expr {($old & ~$c) | $s}] }; "
                "proc stm32h7x_dbgmcu_mmw {r s c} { stm32h7x_mmw [target current] [expr {0xE0042000 + $r}] $s $c }; "
                "virtual.cpu configure -event examine-end { stm32h7x_dbgmcu_mmw 0x004 0x00600000 0; stm32h7x_dbgmcu_mmw 0x004 0x00000007 0; "
                "stm32h7x_dbgmcu_mmw 0x008 0x00000040 0 }",
}
SET = {"stm32f4x": [7, 0x1800, 0], "stm32h7x": [0x600007, 0x40, 0]}


def words(place, file, *more):
    return ["-c", f"set BOARD_PORT {place.board.jtag_port}", "-f", os.path.join(ROOT, "openocd-cfg/boards/virtual.cfg"),
            "-c", f"source [find mem_helper.tcl]; {FILES[file]}", *more]


@pytest.fixture(name="place")
def _place():
    with Place("m4", "free", WORK_BY_DATA) as place:
        place.server.kill()
        yield place


@pytest.mark.parametrize("file", FILES)
def test_an_own_openocd_puts_it_back(place, file):
    seen = run_tool(*words(place, file), "--elf", place.elf, "delta", "work_by_data", "-r", 3, "--show", "*0xE0042004")
    assert seen.code == 0 and f"*0xE0042004={SET[file][0]:#x}" in seen.out, seen  # while it measures
    assert place.board.state()["dbgmcu"] == [0, 0, 0]
    # A file with its own `init`; what the program had set stays
    own = run_tool(*words(place, file, "-c", "init; mww 0xE0042008 0x55"), "info")
    assert own.code == 0 and place.board.state()["dbgmcu"] == [0, 0x55, 0]
    failed = run_tool(*words(place, file), "--elf", place.elf, "delta", "never_called", "--for", "50ms", "--timeout", "100ms")
    assert failed.code == 3 and place.board.state()["dbgmcu"] == [0, 0x55, 0]


def test_another_openocd_leaves_it():
    with Place("m4", "free", WORK_BY_DATA, commands=[f"source [find mem_helper.tcl]; {FILES['stm32f4x']}"]) as place:
        assert place.delta("work_by_data", "-r", 3).cycles
        place.server.kill()
        assert place.board.state()["dbgmcu"] == SET["stm32f4x"]

"""The virtual board's Armv7-A/R chips through a real OpenOCD, which examines, halts, steps and reads them as it would the
real ones, and GDB through that."""

import random
import re
import subprocess

import pytest

from armv7 import (CCNTR, PMCR, BREAKPOINTS, RAM_BASE, COUNTED, WORK, MOE_REQUEST, MOE_BREAKPOINT, MOE_BKPT, ALL_CHIPS, MAPPED,
                   DEBUG, Core, between, attach)
from board import Board, OpenOcd, ROOT, WAIT

PARTS = {"a9": ["Cortex-A9 ROM", "Cortex-A9 Debug", "0x9a0, CoreSight PMU", "CoreSight CTI", "Cortex-A9 PTM"],
         "a7": ["Cortex-A7 Debug", "Cortex-A7 PMU", "CoreSight CTI", "Component not present"],
         "r5": ["Cortex-R5 Debug", "Cortex-R5 ETM"]}


@ALL_CHIPS
def test_openocd_names_what_it_finds(attach, chip):
    _, ocd = attach(chip)
    info = ocd("dap info 1")
    for name in PARTS[chip]:
        assert name in info
    assert ("PMU" in info) == (chip != "r5")
    assert "No ROM table" in ocd("dap info 0")
    assert f"{chip}.cpu0: hardware has {BREAKPOINTS[chip]} breakpoints" in ocd.output


@ALL_CHIPS
def test_openocd_finds_the_core_by_the_rom_table(chip, tmp_path):
    config = (ROOT / "openocd-cfg" / "boards" / f"virtual-{chip}.cfg").read_text()
    without = tmp_path / "no-dbgbase.cfg"
    without.write_text("\n".join(line.split(" -dbgbase")[0] for line in config.splitlines()))
    with Board.start(chip) as board, OpenOcd(board, config=without) as ocd:
        ocd("halt")
        assert int(ocd(f"{chip}.cpu0 get_reg pc").split()[-1], 0) == board.state()["pc"]


@ALL_CHIPS
def test_halt_registers_step_and_resume(attach, chip):
    board, ocd = attach(chip)
    board.scenario(WORK, COUNTED)
    ocd("halt")
    state = board.state()
    assert state["run"] == "halted" and state["moe"] == MOE_REQUEST
    register = lambda name: int(ocd(f"{chip}.cpu0 get_reg {name}").split()[-1], 0)
    assert (register("pc"), register("sp_svc"), register("lr_svc"), register("cpsr")) == (
        state["pc"], state["sp"], state["lr"], state["cpsr"])
    ocd("reg r7 0x12345678")
    ocd("reg sp_irq 0x11111110")  # by way of another mode
    assert register("sp_irq") == 0x11111110
    executed, stays = board.state()["instructions"], 0
    for _ in range(60):  # over ARM and Thumb code; a branch to itself would not count
        ocd("step")
        now = board.state()["instructions"]
        assert now > executed
        stays += now == executed + 1
        executed = now
    assert stays > 50  # the rest waited in a loop for the PC to change
    assert register("pc") == board.state()["pc"]
    ocd("resume")
    board.wait_for(lambda s: s["instructions"] > executed + 1000)


@ALL_CHIPS
@pytest.mark.parametrize("place, length, t", [("counted_arm", 4, 0), ("counted_thumb", 2, 1), ("in_ram", 4, 0),
                                              ("counted_thumb_end", 2, 1)])
def test_hardware_breakpoints_in_either_instruction_set(attach, chip, place, length, t):
    board, ocd = attach(chip)
    ocd("halt")
    ocd(f"bp {board.symbol(place):#x} {length} hw")
    board.watch(place)
    for n in range(3):
        ocd("resume")
        ocd.wait_halt()
        state = board.state()
        assert state["pc"] == board.symbol(place) and state["moe"] == MOE_BREAKPOINT
        assert state["cpsr"] >> 5 & 1 == t
        assert len(between(board.log(), "reach")) == n
        ocd("step")  # a resume would stop at once again
    ocd(f"rbp {board.symbol(place):#x}")
    assert not any(value & 1 for value in board.state()["bcr"])


@ALL_CHIPS
def test_memory_through_the_core_and_around_it(attach, chip):
    board, ocd = attach(chip)
    ocd("halt")
    place, values = RAM_BASE[chip] + 0x4000, [random.Random(1).getrandbits(32) for _ in range(700)]
    ocd(f"{chip}.cpu0 write_memory {place:#x} 32 {{{' '.join(map(hex, values))}}}")
    data = b"".join(v.to_bytes(4, "little") for v in values)
    assert board.read(place, len(data)) == data
    for target in ("cpu0", "ahb"):
        assert [int(v, 0) for v in ocd(f"{chip}.{target} read_memory {place:#x} 32 700").split()] == values
    for target in ("cpu0", "ahb"):
        octets = [random.Random(target).getrandbits(8) for _ in range(103)]
        ocd(f"{chip}.{target} write_memory {place + 1:#x} 8 {{{' '.join(map(hex, octets))}}}")
        assert board.read(place + 1, 103) == bytes(octets)
    for target in ("cpu0", "ahb"):
        with pytest.raises(RuntimeError):
            ocd(f"{chip}.{target} read_memory 0x50000000 32 1")
        with pytest.raises(RuntimeError):
            ocd(f"{chip}.ahb write_memory 0x100 32 0")  # flash
        assert int(ocd(f"{chip}.{target} read_memory {place + 200:#x} 32 1"), 0) == values[50]


@ALL_CHIPS
def test_a_debugger_rewrites_code(attach, chip):
    board, ocd = attach(chip)
    ocd("halt")
    place = board.symbol("in_ram_step")
    ocd(f"bp {place:#x} 4")  # a BKPT instruction in RAM
    assert board.read_word(place) & 0xFFF000F0 == 0xE1200070
    for _ in range(3):
        ocd("resume")
        ocd.wait_halt()
        assert board.state()["pc"] == place and board.state()["moe"] == MOE_BKPT
    ocd(f"rbp {place:#x}")
    rounds = board.read_word("round_count")
    ocd("resume")
    board.wait_for(lambda s: board.read_word("round_count") > rounds + 2)


def test_gdb_through_openocd():
    with Board.start("a9") as board:
        config = ROOT / "openocd-cfg" / "boards" / "virtual-a9.cfg"
        with OpenOcd(board, config=config, config_first="gdb_port 0") as ocd:
            names = re.findall(r"gdb server for (\S+) on", ocd.output)
            listening = re.findall(r"Listening on port (\d+) for gdb connections", ocd.output)
            port = dict(zip(names, listening))["a9.cpu0"]
            script = [f"target extended-remote :{port}", "hbreak counted_thumb", "continue", "delete", "thbreak recurse",
                      "continue", "finish", "thbreak in_ram", "continue", "stepi", "info symbol $pc", "detach"]
            arguments = [a for line in script for a in ("-ex", line)]
            done = subprocess.run(["gdb-multiarch", "-batch", "-nx", str(board.elf), *arguments], capture_output=True,
                                  text=True, timeout=WAIT)
    for what in ("counted_thumb () at", "recurse (depth=", "Value returned is", "in_ram () at"):
        assert what in done.stdout, done
    assert "in_ram_step in section" in done.stdout or "in_ram + 4 in section" in done.stdout, done


def test_both_cores_of_the_a9(attach):
    board, ocd = attach("a9")
    other = board.core(1)
    ocd("a9.cpu1 arp_halt")
    ocd("a9.cpu1 arp_waitstate halted 5000")
    frozen = other.state()
    assert frozen["run"] == "halted" and board.state()["run"] == "running"
    board.run_for(10000)
    assert other.state()["cycles"] == frozen["cycles"]
    assert int(ocd("a9.cpu1 get_reg pc").split()[-1], 0) == frozen["pc"]
    ocd("targets a9.cpu1")
    assert int(ocd("arm mrc 15 0 0 0 5")) & 0xFFFFFFFF == 0x80000001
    for _ in range(3):
        ocd(f"bp {board.symbol('core1_work'):#x} 4 hw")
        ocd("resume")
        ocd.wait_halt()
        assert other.state()["pc"] == board.symbol("core1_work")
        ocd(f"rbp {board.symbol('core1_work'):#x}")
    assert not any(board.state()["bcr"])  # the first core's comparators are its own
    ocd("targets a9.cpu0")
    ocd("halt")
    assert int(ocd("arm mrc 15 0 0 0 5")) & 0xFFFFFFFF == 0x80000000
    assert board.state()["run"] == other.state()["run"] == "halted"
    ocd("resume")
    board.run_for(1000)
    assert other.state()["run"] == "halted"
    # Code that both execute: the comparator of one stops it alone
    first, second = Core(board, ocd, 0), Core(board, ocd, 1)
    ocd("poll off")
    second.resume()
    first.run_to(board.symbol("recurse"))
    other.run_for(1000)


def test_without_its_symbol_the_second_core_stays_in_reset(tmp_path):
    source = Board.start("a9")
    elf, _ = source.elf, source.close()
    stripped = tmp_path / "one.elf"
    subprocess.run(["arm-none-eabi-objcopy", "--strip-symbol=core1_start", str(elf), str(stripped)], check=True)
    with Board.start("a9", firmware=stripped) as board:
        board.run_for(20000)
        assert board.core(1).state()["instructions"] == 0


@ALL_CHIPS
def test_the_monitor_by_coprocessor_instructions(attach, chip):
    board, ocd = attach(chip)
    ocd("halt")
    mrc = lambda crm, op2: int(ocd(f"arm mrc 15 0 9 {crm} {op2}")) & 0xFFFFFFFF
    assert mrc(12, 0) == {"a9": 0x41093000, "a7": 0x41072000, "r5": 0x41151800}[chip]
    ocd("arm mcr 15 0 9 12 5 2")           # PMSELR
    ocd("arm mcr 15 0 9 13 1 6")           # PMXEVTYPER: loads
    ocd("arm mcr 15 0 9 12 1 0x80000004")  # PMCNTENSET
    ocd("arm mcr 15 0 9 12 0 7")           # PMCR
    begin = board.state()
    board.watch("counted_arm")
    for _ in range(2):
        ocd(f"bp {board.symbol('counted_arm'):#x} 4 hw")
        ocd("resume")
        ocd.wait_halt()
        ocd("step")
        ocd(f"rbp {board.symbol('counted_arm'):#x}")
    end = board.state()
    assert mrc(13, 0) == end["counted"] - begin["counted"] == end["instructions"] - begin["instructions"]
    first, last = between(board.log(), "run")[0], between(board.log(), "halt")[-1]
    assert mrc(13, 2) == last.counts[0x06] - first.counts[0x06] > 0


@MAPPED
def test_the_monitor_by_its_page_while_the_core_runs(attach, chip):
    board, ocd = attach(chip)
    page = DEBUG[chip] + 0x1000
    ocd(f"targets {chip}.apb")
    ocd(f"mww {page + 0xC00:#x} 0x80000000")
    ocd(f"mww {page + PMCR:#x} 5")
    board.run_for(10000)
    ocd(f"mww {page + PMCR:#x} 0")
    first, second = (int(ocd(f"mdw {page + CCNTR:#x}").split(":")[1], 16) for _ in range(2))
    assert first == second == board.state()["pmccntr"] >= 10000
    assert board.state()["run"] == "running" and board.state()["halts"] == 0

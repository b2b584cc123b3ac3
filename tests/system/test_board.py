"""The virtual board behaves as a board: OpenOCD and GDB recognise the chip, and the control socket works."""

import random
import re
import subprocess

import pytest

from board import BUILD, WAIT, Board, BoardError, OpenOcd
from cortex_m import (ICSR, DHCSR, DEMCR, BP_CTRL, BP_COMP0, DWT_CTRL, DWT_CYCCNT, DWT_CPICNT, KEY, DEBUGEN, HALT,
                      STEP, MASKINTS, S_SLEEP, S_LOCKUP, S_RESET_ST, WORK, SLEEPER, RESETTING, LOCKING, WIDE,
                      BOTH_CHIPS, comparator, wait_halted, between, attach)


@BOTH_CHIPS
def test_openocd_names_what_it_finds(attach, chip):
    _, ocd = attach(chip)
    info = ocd("dap info")
    names = {"rp2040": ["Cortex-M0+ ROM", "Cortex-M0 SCS", "Cortex-M0 DWT", "Cortex-M0 BPU"],
             "m4": ["Cortex-M4 ROM", "Cortex-M4 SCS", "Cortex-M3 DWT", "Cortex-M3 FPB"]}[chip]
    for name in names:
        assert name in info
    assert {"rp2040": "Cortex-M0+ r0p1", "m4": "Cortex-M4 r0p1"}[chip] in ocd.output
    assert {"rp2040": "4 breakpoints, 2 watchpoints", "m4": "6 breakpoints, 4 watchpoints"}[chip] in ocd.output


@BOTH_CHIPS
def test_halt_registers_step_and_resume(attach, chip):
    board, ocd = attach(chip)
    ocd("halt")
    state = board.state()
    assert state["run"] == "halted"
    assert (ocd.register("pc"), ocd.register("sp"), ocd.register("lr")) == (state["pc"], state["sp"], state["lr"])
    ocd("reg r7 0x12345678")
    before = board.state()["instructions"]
    for n in range(1, 20):
        ocd("step")
        assert board.state()["instructions"] == before + n
    assert ocd.register("pc") == board.state()["pc"]
    ocd("resume")
    board.wait_for(lambda s: s["instructions"] > before + 1000)


@BOTH_CHIPS
def test_breakpoint_at_a_function(attach, chip):
    board, ocd = attach(chip)
    ocd("halt")
    for _ in range(5):
        ocd.run_to(board.symbol("recurse"))
        assert ocd.register("pc") == board.symbol("recurse")


@BOTH_CHIPS
def test_memory_comes_back_as_written(attach, chip):
    board, ocd = attach(chip)
    ocd("halt")
    place, values = 0x20004000, [random.Random(1).getrandbits(32) for _ in range(4096)]
    ocd(f"virtual.cpu write_memory {place:#x} 32 {{{' '.join(map(hex, values))}}}")
    assert ocd.words(place, len(values)) == values
    assert board.read(place, 16384) == b"".join(v.to_bytes(4, "little") for v in values)
    octets = [random.Random(2).getrandbits(8) for _ in range(1023)]  # narrow: packed increments, odd ends
    ocd(f"virtual.cpu write_memory {place + 1:#x} 8 {{{' '.join(map(hex, octets))}}}")
    assert board.read(place + 1, len(octets)) == bytes(octets)
    assert ocd(f"virtual.cpu read_memory {place + 1:#x} 8 {len(octets)}").split() == [hex(o) for o in octets]
    halves = [int(h, 0) for h in ocd(f"virtual.cpu read_memory {place + 2:#x} 16 301").split()]
    assert b"".join(h.to_bytes(2, "little") for h in halves) == board.read(place + 2, 602)


@BOTH_CHIPS
def test_unmapped_address_is_a_fault_and_no_more(attach, chip):
    board, ocd = attach(chip)
    with pytest.raises(RuntimeError):
        ocd.word(0x60000000)
    with pytest.raises(RuntimeError):
        ocd.set_word(board.symbol("recurse") & ~3, 0)  # flash
    assert ocd.word(BP_CTRL) & 0xF0


@BOTH_CHIPS
def test_reset_halt_and_reset_run(attach, chip):
    board, ocd = attach(chip)
    boots = board.read_word("boot_count")
    board.watch("main")
    ocd("reset halt")
    state = board.state()
    assert state["run"] == "halted" and state["pc"] == board.symbol("Reset_Handler")
    assert between(board.log(), "halt")[-1].extra == Board.VCATCH  # OpenOCD has cleared DFSR since
    ocd("reset run")
    board.wait_for(lambda s: board.read_word("boot_count") > boots)
    assert between(board.log(), "reset")


def test_reset_is_seen_and_debugging_survives_it(attach):
    board, ocd = attach("rp2040")
    ocd("halt")
    ocd("poll off")
    ocd.set_word(BP_CTRL, 3)
    ocd.set_word(BP_COMP0, comparator(board.symbol("recurse")))
    ocd.word(DHCSR)
    board.command("reset")
    dhcsr = ocd.word(DHCSR)
    assert dhcsr & S_RESET_ST and dhcsr & DEBUGEN
    assert not ocd.word(DHCSR) & S_RESET_ST
    wait_halted(ocd)
    assert board.state()["pc"] == board.symbol("recurse")


def test_core_resets_itself(attach):
    board, ocd = attach("rp2040")
    ocd("poll off")
    board.watch("resetting")
    boots = board.read_word("boot_count")
    board.scenario(RESETTING)
    board.wait_for(lambda s: board.read_word("boot_count") > boots)
    assert [e.kind for e in board.log()][:2] == ["reach", "reset"]
    ocd.set_word(DEMCR, 1)
    board.scenario(RESETTING)
    wait_halted(ocd)
    state = board.state()
    assert state["pc"] == board.symbol("Reset_Handler") and state["dfsr"] & Board.VCATCH


@BOTH_CHIPS
def test_gdb_through_openocd(chip):
    with Board.start(chip) as board, OpenOcd(board, config_first="gdb_port 0") as ocd:
        port = re.search(r"Listening on port (\d+) for gdb connections", ocd.output).group(1)
        script = [f"target extended-remote :{port}", "tbreak recurse", "continue", "finish", "tbreak in_ram_step",
                  "continue", "stepi", "info symbol $pc", "detach"]
        arguments = [a for line in script for a in ("-ex", line)]
        done = subprocess.run(["gdb-multiarch", "-batch", "-nx", str(board.elf), *arguments], capture_output=True,
                              text=True, timeout=WAIT)
        assert "in_ram_step + 2 in section .data" in done.stdout.replace("in_ram + 4", "in_ram_step + 2"), done
        assert "Value returned is" in done.stdout


def test_sleep_goes_on_after_a_halt(attach):
    board, ocd = attach("rp2040", "free")  # no tick: nothing wakes it
    board.scenario(SLEEPER)
    board.wait_for(lambda s: s["run"] == "asleep")
    assert ocd.word(DHCSR) & S_SLEEP
    cycles = board.state()["cycles"]
    board.wait_for(lambda s: s["cycles"] > cycles)
    board.watch("sleeper")
    ocd("halt")
    pc = ocd.register("pc")
    frozen = board.state()["cycles"]
    assert board.state()["cycles"] == frozen
    ocd("resume")
    board.wait_for(lambda s: s["cycles"] > frozen + 1000)
    state = board.state()
    assert state["run"] == "asleep" and state["pc"] == pc and not between(board.log(), "wake")
    board.command("irq 3")
    board.wait_for(lambda s: board.read_word("irq3_count") == 1)


@BOTH_CHIPS
def test_lockup(attach, chip):
    board, ocd = attach(chip)
    board.watch("locking")
    ocd("poll off")
    board.scenario(LOCKING)
    board.wait_for(lambda s: s["run"] == "lockup")
    assert ocd.word(DHCSR) & S_LOCKUP
    state = board.state()
    assert state["pc"] == 0xFFFFFFFE
    board.wait_for(lambda s: s["cycles"] > state["cycles"])
    assert board.state()["instructions"] == state["instructions"]
    kinds = [e.kind for e in board.log()]
    assert kinds[:1] == ["reach"] and "enter" in kinds and kinds[-1] == "lockup"
    ocd("reset halt")
    assert board.state()["run"] == "halted"


def test_vector_catch_of_a_hardfault(attach):
    board, ocd = attach("rp2040")
    ocd("poll off")
    ocd.set_word(DEMCR, 1 << 10)
    board.scenario(LOCKING)
    wait_halted(ocd)
    state = board.state()
    assert state["pc"] == board.symbol("HardFault_Handler") and state["dfsr"] & Board.VCATCH


def test_software_breakpoint_in_ram(attach):
    board, ocd = attach("rp2040")
    ocd("halt")
    place = board.symbol("in_ram_step")
    ocd(f"bp {place:#x} 2")
    for _ in range(3):
        ocd("resume")
        ocd.wait_halt()
        assert ocd.register("pc") == place
    ocd(f"rbp {place:#x}")
    assert board.read(place, 2) != b"\x00\xbe"
    before = board.state()["instructions"]
    ocd("resume")
    board.wait_for(lambda s: s["instructions"] > before + 100000)


def test_step_passes_a_comparator_and_may_enter_an_exception(attach):
    board, ocd = attach("rp2040", "tick")
    ocd("halt")
    ocd("poll off")
    place = board.symbol("preempted")
    ocd.set_word(BP_CTRL, 3)
    ocd.set_word(BP_COMP0, comparator(place))
    ocd.set_word(DHCSR, KEY | DEBUGEN)
    wait_halted(ocd)
    ocd.set_word(ICSR, 1 << 26)
    ocd.set_word(DHCSR, KEY | DEBUGEN | HALT | MASKINTS)
    ocd.set_word(DHCSR, KEY | DEBUGEN | STEP | MASKINTS)
    assert board.state()["pc"] == place + 2
    ocd.set_word(DHCSR, KEY | DEBUGEN | HALT)
    ocd.set_word(DHCSR, KEY | DEBUGEN | STEP)
    assert board.state()["pc"] == board.symbol("SysTick_Handler")


def test_wide_instruction_matches_on_its_first_halfword(attach):
    board, ocd = attach("m4")
    ocd("halt")
    place = board.symbol("wide_entry")
    ocd.run_to(place)
    assert ocd.register("pc") == place
    ocd("step")
    assert ocd.register("pc") == place + 4


def test_profiling_counters_add_up(attach):
    board, ocd = attach("m4")
    ocd("halt")
    ocd("poll off")
    start, end = board.symbol("wide_entry"), None
    ocd.set_word(DEMCR, 1 << 24)
    ocd.set_word(DWT_CTRL, 0x1F << 17 | 1)
    ocd.set_word(BP_CTRL, 3)

    def go(place):
        ocd.set_word(BP_COMP0, comparator(place))
        ocd.set_word(DHCSR, KEY | DEBUGEN)
        wait_halted(ocd)
        cyccnt, *rest = ocd.words(DWT_CYCCNT, 6)
        return cyccnt, rest, board.state()["instructions"]

    board.scenario(WORK, WIDE)
    for _ in range(5):
        c0, r0, i0 = go(start)
        ocd.set_word(BP_COMP0, 0)
        for _ in range(9):  # over most of it
            ocd.set_word(DHCSR, KEY | DEBUGEN | STEP | MASKINTS)
        cyccnt, *rest = ocd.words(DWT_CYCCNT, 6)
        cpi, exc, sleep, lsu, fold = [(b - a) % 256 for a, b in zip(r0, rest)]
        assert board.state()["instructions"] - i0 == cyccnt - c0 - cpi - exc - sleep - lsu + fold
        assert cpi and lsu and fold
    # Enabling starts them at zero
    ocd.set_word(DWT_CTRL, 1)
    ocd.set_word(DWT_CTRL, 0x1F << 17 | 1)
    assert ocd.words(DWT_CPICNT, 5) == [0] * 5
    assert end is None


def test_dwt_of_the_m0plus_counts_nothing(attach):
    _, ocd = attach("rp2040")
    assert ocd.word(DWT_CTRL) == 0x2F000000
    assert ocd.word(DWT_CYCCNT) == 0


def test_trouble_on_order(attach):
    board, ocd = attach("rp2040")
    ocd("poll off")
    board.command("fault wait 30")
    assert ocd.word(BP_CTRL) == 0x40
    board.command("fault fault 1 2")
    with pytest.raises(RuntimeError):
        for _ in range(3):
            ocd.word(BP_CTRL)
    assert ocd.word(BP_CTRL) == 0x40


def test_control_socket_refuses_nonsense():
    with Board.start("rp2040") as board:
        for line in ["", "nothing", "read zz 4", "read 20000000", "read 30000000 4", "write 20000000 abc", "irq 99",
                     "set clock 0", "set halt-cost 5..1", "set halt-cost -1", "fault maybe 1", "log x",
                     "watch " + "1 " * 200, "watch hello"]:
            with pytest.raises(BoardError):
                board.command(line)
        assert board.state()["run"] == "running"
        board.command("quit")
        assert board.process.wait(WAIT) == 0


@pytest.mark.parametrize("arguments", [[], ["--chip", "z80"], ["--chip", "m4"], ["--wat"],
                                       ["--chip", "m4", "--firmware", "x", "--halt-cost", "9..1"],
                                       ["--chip", "m4", "--firmware", "x", "--jtag", "70000"]])
def test_bad_usage(arguments):
    done = subprocess.run([str(BUILD / "board"), *arguments], capture_output=True, text=True, timeout=WAIT)
    assert done.returncode == 2 and done.stderr and not done.stdout


def test_firmware_that_is_none(tmp_path):
    nonsense = tmp_path / "x.elf"
    nonsense.write_bytes(b"\x7fELF nonsense")
    done = subprocess.run([str(BUILD / "board"), "--chip", "m4", "--firmware", str(nonsense)], capture_output=True,
                          text=True, timeout=WAIT)
    assert done.returncode == 1 and "Arm ELF" in done.stderr

"""The board's Cortex-A53: real OpenOCD's aarch64 target debugs both cores; its debug registers and exceptions by a raw
host."""

import pytest

from armv8 import *
from board import Board, OpenOcd


def openocd(a53, board, number=0):
    ocd = a53.also(OpenOcd(board, config=CONFIG, target=f"a53.cpu{number}"))
    ocd(f"targets a53.cpu{number}")
    return ocd


# --- OpenOCD

def test_openocd_examines(a53):
    ocd = openocd(a53, a53())
    assert ocd.output.count("hardware has 6 breakpoints, 4 watchpoints") == 2
    info = ocd("dap info 1")
    assert "MEM-AP APB" in info and "Cortex-A53 Debug" in info and "Cortex-A53 PMU" in info and "Cortex-A53 CTI" in info
    assert info.count("Performance Monitor, Processor") == 2 and "ROMTABLE[0x3c] = 0x00340002" in info
    assert "Type is MEM-AP AXI" in ocd("dap info 0")


@pytest.mark.parametrize("number, places", [(0, ["caller_one", "in_ram_step", "recurse"]), (1, ["core1_work"])])
def test_openocd_debugs(a53, number, places):
    board = a53()
    ocd, mine = openocd(a53, board, number), board.core(number) if number else board
    ocd("halt")
    ocd.wait_halt()
    assert mine.state()["run"] == "halted" and ocd.register("pc") == mine.state()["pc"]
    for name in places * 2:
        ocd(f"bp {board.symbol(name):#x} 4 hw")
        ocd("resume")
        ocd.wait_halt()
        assert ocd.register("pc") == mine.state()["pc"] == board.symbol(name)
        ocd(f"rbp {board.symbol(name):#x}")
        ocd.step()
        assert ocd.register("pc") == board.symbol(name) + 4
    ocd("reg x20 0x1122334455667788")
    ocd.step()
    assert ocd.register("x20") == 0x1122334455667788
    for name, key in (("sp", "sp"), ("x30", "lr")):  # other registers than these are only read if forced
        assert int(ocd(f"a53.cpu{number} get_reg -force {name}").split()[-1], 0) == mine.state()[key] != 0
    place = board.symbol("counted_data")
    for size, value in ((32, 0x89ABCDEF), (16, 0x1234), (8, 0x56)):
        ocd(f"a53.cpu{number} write_memory {place:#x} {size} {value:#x}")
        assert int(ocd(f"a53.cpu{number} read_memory {place:#x} {size} 1"), 0) == value
    assert board.read_word("counted_data") == 0x89AB1256
    ocd(f"a53.cpu{number} write_memory {place:#x} 32 {{1 2 3 4 5}}")
    assert ocd.words(place, 5) == [1, 2, 3, 4, 5]
    assert int(ocd(f"a53.axi read_memory {place + 8:#x} 32 1"), 0) == 3
    ocd("resume")
    before = mine.state()["instructions"]
    assert mine.wait_for(lambda s: s["instructions"] > before + 1000)["run"] == "running"
    other = board.core(1 - number)
    assert other.state()["halts"] == 0


def test_openocd_sets_a_breakpoint_in_ram_by_an_instruction(a53):
    board = a53()
    ocd = openocd(a53, board)
    ocd("halt")
    place = board.symbol("in_ram_step")
    ocd(f"bp {place:#x} 4")
    ocd("resume")
    ocd.wait_halt()
    assert board.state()["pc"] == place and board.read_word(place) == 0xD4400160
    ocd(f"rbp {place:#x}")
    assert board.read_word(place) != 0xD4400160


def test_openocd_reads_a_bad_address(a53):
    ocd = openocd(a53, a53())
    ocd("halt")
    pc = ocd.register("pc")
    with pytest.raises(RuntimeError):
        ocd("a53.cpu0 read_memory 0x90000000 32 1")
    assert ocd.register("pc") == pc and ocd.word(0) == ocd.words(0, 2)[0]
    ocd("resume")


# --- debug registers

def test_identification(core):
    c = core()
    assert c[MIDR] == 0x410FD034 and c[DEVARCH] == 0x47706A15 and c[DEVTYPE] == 0x15
    assert c.trigger(DEVARCH) == 0x47701A14 and c.count(DEVARCH) == 0x47702A16 and c.count(DEVTYPE) == 0x16
    for read_one in (c.__getitem__, c.trigger, c.count):
        assert [read_one(0xFF0 + 4 * i) for i in range(4)] == [0x0D, 0x90, 0x05, 0xB1]
        assert read_one(0xFA8) == 0x80000000 and read_one(LSR) == 0
    assert c[0xD28] == 0x10305106 and c[AUTHSTATUS] == 0xFF and c.count(AUTHSTATUS) == 0xCC
    rom = [c.bus.word(0x80400000 + 4 * i) for i in range(17)]
    assert rom[:3] == [0x10003, 0x20003, 0x30003] and rom[8] & 3 == 2 and rom[16] == 0
    assert Core(c.board, 1, c.bus).bus.word(0x80510FA8) == 0x80000001


def test_request_restart_and_the_own_breakpoint(core):
    c = core()
    assert c.halt() == REQUEST
    place = c.board.symbol("in_ram_step")
    c.run_to(place)
    c.board.watch(place)
    c.break_at(place)
    for _ in range(3):
        c.restart()
        assert c.wait_halted() == BREAKPOINT and c[EDPRSR] & SDR == 0
    events = c.board.log()
    assert [e.extra for e in events if e.kind == "run"][1:] == [Board.NOTHING_DONE] * 2
    assert {e.extra for e in events if e.kind == "halt"} == {BREAKPOINT}
    assert not [e for e in events if e.kind == "reach"]
    c[BCR0] = 0
    c.restart()
    assert c[EDPRSR] & (SDR | HALTED) == SDR and c[EDPRSR] & SDR == 0
    assert c[EDSCR] & 0x3F == 2


def test_a_request_holds_until_it_is_acknowledged(core):
    c = core()
    c.set_trigger(APPPULSE, 1)
    c.wait_halted()
    assert c.trigger(TROUTSTATUS) == 1
    c.board.watch("main")
    c.set_trigger(APPPULSE, 2)
    assert c.wait_halted() == REQUEST
    assert [e.extra for e in c.board.log() if e.kind == "run"] != [] and c.last().pc == c.last("run").pc
    c.set_trigger(INTACK, 1)
    assert c.trigger(TROUTSTATUS) == 0
    c.set_trigger(APPPULSE, 2)
    assert not c[EDPRSR] & HALTED
    c.set_trigger(APPSET, 1)  # as a level, which no acknowledge ends
    c.wait_halted()
    c.set_trigger(INTACK, 1)
    assert c.trigger(TROUTSTATUS) == 1
    c.set_trigger(APPCLEAR, 1)
    c.set_trigger(INTACK, 1)
    assert c.trigger(TROUTSTATUS) == 0


def test_one_core_halts_the_other_through_the_matrix(core):
    c = core()
    other = Core(c.board, 1, c.bus).open()
    c.set_trigger(APPPULSE, 1)  # the gates are shut
    c.wait_halted()
    assert not other[EDPRSR] & HALTED
    c.restart()
    for one in (c, other):
        one.set_trigger(GATE, 0xF)
        one.set_trigger(INEN0, 4)
    other.set_trigger(OUTEN0, 4)  # by channel 2, from the first core's trigger input
    c.halt()
    assert other.wait_halted() == REQUEST
    other.set_trigger(INTACK, 1)
    c.set_trigger(APPPULSE, 2)
    assert not other[EDPRSR] & HALTED and not c[EDPRSR] & HALTED


def test_stepping(core):
    c = core()
    c.halt()
    c.run_to(c.board.symbol("counted_a64"))
    c.board.watch("main")
    c[EDECR] = 4
    for n in range(6):
        c.restart()
        assert c.wait_halted() == STEP
        assert c.last().cycles - c.last("run").cycles == 1
        if n < 5:  # then the CBZ jumps over the NOP
            assert c.pc() == c.board.symbol("counted_a64") + 4 * (n + 1)
    assert c.pc() == c.board.symbol("counted_a64") + 4 * 7
    c[EDECR] = 0


def test_data_transfer(core):
    c = core()
    c.halt()
    assert c.x(5, 0x0123456789ABCDEF) == c.x(5)
    c[DTRRX] = 0x55
    c[DTRRX] = 0x66  # it is full
    assert c[EDSCR] & (RXO | ERR | RXFULL) == RXO | ERR | RXFULL
    c[EDITR] = 0xD2800005  # MOV X5, #0: ignored after an error
    c[EDRCR] = 4
    assert c[EDSCR] & (RXO | ERR) == 0
    c.stuff(0xD5330502)  # MRS X2, DBGDTRRX_EL0
    assert c.x(2) == 0x55 and c.x(5) == 0x0123456789ABCDEF
    assert not c[EDSCR] & (TXFULL | RXFULL)
    c[DTRTX]
    assert c[EDSCR] & (TXU | ERR) == TXU | ERR
    c[EDRCR] = 4
    # Memory access mode: X0 steps on
    place = c.board.symbol("counted_data")
    c.x(0, place)
    c[EDSCR] = HDE | MA
    for value in (7, 8, 9):
        c[DTRRX] = value
    c[EDITR] = 0xD503201F  # not in this mode
    assert c[EDSCR] & (ITO | ERR) == ITO | ERR
    c[EDRCR] = 4
    c[EDSCR] = HDE
    assert c.x(0) == place + 12
    assert [c.board.read_word(place + 4 * i) for i in range(3)] == [7, 8, 9]


def test_what_may_not_be_stuffed(core):
    c = core()
    c.halt()
    pc, level = c.pc(), c[EDSCR] >> 8 & 3
    for op in (0x14000004, 0xD65F03C0, 0x00000000, 0xD538FFE0):  # B, RET, UDF, a register that there is not
        c[EDITR] = op
        assert c[EDSCR] & ERR, hex(op)
        c[EDRCR] = 4
    c.x(0, 0x90000000)
    c[EDITR] = 0xF9400001  # LDR X1, [X0] of nothing
    assert c[EDSCR] & ERR
    c[EDRCR] = 4
    assert c.system(0xD5385200) >> 26 == 0x25 and c.system(0xD5386000) == 0x90000000  # ESR, FAR
    assert c.pc() == pc and c[EDSCR] >> 8 & 3 == level == 1


def test_levels_in_debug_state(core):
    c = core()
    c.halt()
    assert c[EDSCR] >> 18 & 1 and c.pstate() & 0xF == 5
    c.stuff(0xD4A00003)  # DCPS3
    assert c[EDSCR] >> 8 & 3 == 3 and not c[EDSCR] >> 18 & 1
    assert c.system(0xD53E1100) == 0x431  # SCR_EL3
    c.system(0xD53E4000, 0x3C5)           # SPSR_EL3
    c.stuff(0xD6BF03E0)                   # DRPS
    assert c[EDSCR] >> 8 & 3 == 1
    c[EDITR] = 0xD53E1100
    assert c[EDSCR] & ERR
    c[EDRCR] = 4


def test_pc_sample_claims_and_catches(core):
    c = core()
    assert 0 < c[PCSR] < 0x140000 and c[0x0AC] == 0
    c[CLAIMSET] = 0x15
    c[CLAIMCLR] = 0x11
    assert c[CLAIMCLR] == 4 and c[CLAIMSET] == 0xFF
    c.halt()
    assert c[PCSR] == 0xFFFFFFFF
    c.restart()
    c[EDECR] = 2
    c.board.command("reset")
    assert c.wait_halted() == RESET_CATCH and c.board.state()["pc"] == 0
    assert c.pstate() & 0xF == 0xD and not c[EDPRSR] & SR  # wait_halted() has read it
    c[EDECR] = 1
    c.restart()
    c[OSLAR] = 1
    c[OSLAR] = 0
    assert c.wait_halted() == UNLOCK_CATCH
    c[EDECR] = 0


def test_catches_with_dopd(core):
    """They are the cross trigger's then."""
    c = core()
    revision = c.trigger(DEVARCH) >> 16 & 0xF
    c.board.command("core-state dopd on")
    assert (revision, c.trigger(DEVARCH) >> 16 & 0xF) == (0, 1)
    c[EDECR] = 3
    assert c[EDECR] == 0
    c.set_trigger(CTIDEVCTL, 2)
    c.board.command("reset")
    assert c.wait_halted() == RESET_CATCH
    c.set_trigger(CTIDEVCTL, 1)
    c.restart()
    c[OSLAR] = 1
    c[OSLAR] = 0
    assert c.wait_halted() == UNLOCK_CATCH
    c.set_trigger(CTIDEVCTL, 0)


def test_breakpoints_by_level(core):
    c = core()
    c.halt()
    place = c.board.symbol("work_by_data")
    c.break_at(place)
    c[BCR0] = 0xF << 5 | 2 << 1 | 1  # EL0 only: passed over
    c.break_at(c.board.symbol("caller_one"), 1)
    c.restart()
    c.wait_halted()
    assert c.pc() == c.board.symbol("caller_one")
    c[BCR0 + 16] = 0
    c[BCR0] = 0xF << 5 | 1 << 1 | 1  # EL1
    c.restart()
    c.wait_halted()
    assert c.pc() == place
    c[BCR0] = 0xF << 5 | 3 << 1 | 1 << 13 | 2 << 14 | 1  # Secure only
    c.break_at(c.board.symbol("caller_one"), 1)
    c.restart()
    c.wait_halted()
    assert c.pc() == c.board.symbol("caller_one")


# --- exceptions

def test_interrupts(bench):
    b = bench("""
        start: hlt #0
        begin: msr daifclr, #2
               nop
        after: msr daifset, #2
               hlt #1
        handler: mrs x3, daif
               mrs x4, elr_el1
               mrs x5, spsr_el1
               eret
    """)
    c = b.core
    b.run()
    c.board.command("irq 7")
    assert c.system(0xD538C100) == 0x80  # ISR_EL1
    b.go("begin")
    events = [(e.kind, e.pc, e.extra) for e in c.board.log() if e.kind in ("enter", "return")]
    assert events == [("enter", VECTORS + 0x280, 16 + 7), ("return", b.symbols["begin"] + 4, 16 + 7)]
    assert c.x(3) == 0x3C0 and c.x(4) == b.symbols["begin"] + 4 and c.x(5) & 0x3FF == 0x345


def test_undefined_aborts_and_smc(bench):
    b = bench("""
        start: hlt #0
        one:   udf #0
        two:   ldr x1, [x0]
        three: str x1, [x0, #8]
        four:  br x0
        five:  mrs x1, scr_el3
        six:   brk #7
        seven: wfi
               hlt #3
        handler: hlt #1
    """)
    c = b.core
    b.run()
    for place, exception, far in (("one", 0x00, None), ("two", 0x25, 0x90000000), ("three", 0x25, 0x90000008),
                                  ("four", 0x21, 0x90000000), ("five", 0x00, None), ("six", 0x3C, None)):
        assert b.go(place, 0x90000000) == HLT and c.pc() == b.symbols["handler"], place
        esr = c.system(0xD5385200)
        assert esr >> 26 == exception, place
        assert c.system(0xD5384020) == (0x90000000 if place == "four" else b.symbols[place]), place
        if far:
            assert c.system(0xD5386000) == far
            assert bool(esr & 1 << 6) == (place == "three")
    c.pc(b.symbols["seven"])
    c.restart()
    c.board.wait_for(lambda s: s["run"] == "asleep")
    c.board.command("irq 1")
    assert c.wait_halted() == HLT

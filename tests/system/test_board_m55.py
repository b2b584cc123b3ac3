"""The board's Cortex-M55: what differs from the m4. Its performance monitor counts what the ground truth says, alone
and in chains, freezes and halts at an overflow; its breakpoint unit reaches RAM; exceptions return as Armv8-M's do."""

import pytest

from board import ROOT, Board, OpenOcd
from cmsis_dap import Dap
from cortex_m import (DFSR, DHCSR, DEMCR, BP_CTRL, BP_COMP0, DWT_CTRL, DWT_CYCCNT, KEY, DEBUGEN, HALT, S_HALT,
                      SYST_CSR, SYST_RVR, SYST_CVR, between, bench, wait_halted)

CONFIG = ROOT / "openocd-cfg" / "boards" / "virtual-m55.cfg"
PMU = 0xE0003000
EVCNTR0, CCNTR, EVTYPER0 = PMU, PMU + 0x07C, PMU + 0x400
CNTENSET, CNTENCLR, INTENSET, INTENCLR = PMU + 0xC00, PMU + 0xC20, PMU + 0xC40, PMU + 0xC60
OVSCLR, SWINC, OVSSET, TYPE, CTRL = PMU + 0xC80, PMU + 0xCA0, PMU + 0xCC0, PMU + 0xE00, PMU + 0xE04
E, P, C, FRZ_ON_OV = 1, 2, 4, 1 << 9
CYCLE = 1 << 31
SW_INCR, L1D_REFILL, L1D, LD, ST, INST, EXC, EXC_RETURN, PC_WRITE, BR_IMMED, BR_RETURN, CYCLES, CHAIN = (
    0x00, 0x03, 0x04, 0x06, 0x07, 0x08, 0x09, 0x0A, 0x0C, 0x0D, 0x0E, 0x11, 0x1E)
TRCENA, PMOV, S_RESTART_ST, DFSR_PMU = 1 << 24, 1 << 6, 1 << 26, 1 << 5


@pytest.fixture
def m55():
    """m55(**options) gives a board and an OpenOCD on it, halted, which does not poll."""
    opened = []

    def start(mode="free", **options):
        opened.append(Board.start("m55", mode, **options))
        opened.append(OpenOcd(opened[0], config=CONFIG, target="m55.cpu0"))
        opened[1]("halt")
        opened[1]("poll off")
        return opened[0], opened[1]

    yield start
    for thing in reversed(opened):
        thing.close()


def count(ocd, *events):
    """These events on the counters from 0 on, and cycles, all from zero, counting."""
    ocd.set_word(DEMCR, TRCENA)
    ocd.set_word(CTRL, 0)
    ocd.set_word(CNTENCLR, 0xFFFFFFFF)
    for n, event in enumerate(events):
        ocd.set_word(EVTYPER0 + 4 * n, event)
    ocd.set_word(OVSCLR, 0xFFFFFFFF)
    ocd.set_word(CNTENSET, CYCLE | (1 << len(events)) - 1)
    ocd.set_word(CTRL, E | P | C)


def run_to(ocd, address):
    ocd.set_word(BP_CTRL, 3)
    ocd.set_word(BP_COMP0, address | 1)
    ocd.set_word(DHCSR, KEY | DEBUGEN)
    wait_halted(ocd)


def test_openocd_examines_and_debugs(m55):
    board, ocd = m55()
    assert "Cortex-M55 r1p1 processor detected" in ocd.output and "8 breakpoints, 4 watchpoints" in ocd.output
    info = ocd("dap info 0")
    assert "Type is MEM-AP AHB5" in info and "Type is ROM table" in info and "ARMv8-M" in info
    assert "Performance Monitor, Processor" in info and "Dev Arch is 0x47700a06" in info
    ocd("poll on")
    for name in ("article_plain", "in_ram_step", "work_by_data"):  # flash, RAM, flash
        ocd.run_to(board.symbol(name))
        state = board.state()
        assert state["pc"] == ocd.register("pc") == board.symbol(name)
    ocd("step")
    assert ocd.register("pc") == board.symbol("work_by_data") + 2
    ocd("reg r5 0x12345678")
    ocd("step")
    assert ocd.register("r5") == 0x12345678
    ocd("resume")
    assert board.wait_for(lambda s: s["run"] == "running")


def test_breakpoint_at_the_own_address_hits_again(m55):
    board, ocd = m55()
    place = board.symbol("in_ram_step")
    run_to(ocd, place)
    count(ocd, INST)
    board.watch(place)
    for _ in range(3):
        ocd.word(DHCSR)
        ocd.set_word(DHCSR, KEY | DEBUGEN)
        assert ocd.word(DHCSR) & (S_HALT | S_RESTART_ST) == S_HALT | S_RESTART_ST
        assert not ocd.word(DHCSR) & S_RESTART_ST  # reading clears it
    assert [e.extra for e in between(board.log(), "run")][1:] == [Board.NOTHING_DONE] * 2
    assert ocd.word(EVCNTR0) == 0 and not between(board.log(), "reach")


def test_counts_are_the_truth(m55):
    board, ocd = m55(halt_cost="3..40")
    events = [L1D_REFILL, L1D, LD, ST, INST, PC_WRITE, BR_IMMED, BR_RETURN]
    places = [board.symbol(n) for n in ("work_by_data", "caller_one", "in_ram", "recurse", "ping", "loop_round")]
    run_to(ocd, places[0])
    board.watch(places[0])
    count(ocd, *events)
    run_to(ocd, places[0])
    origin = between(board.log(), "halt")[-1]
    first = [ocd.word(EVCNTR0 + 4 * n) for n in range(8)]
    cycles = ocd.word(CCNTR)
    seen = set()
    for place in places[1:] + places:
        run_to(ocd, place)
        now = between(board.log(), "halt")[-1]
        assert now.pc == place
        for n, event in enumerate(events):
            true = now.counts[event] - origin.counts[event]
            assert ocd.word(EVCNTR0 + 4 * n) == (first[n] + true) & 0xFFFF, hex(event)
            seen.add((event, true > 0))
        assert (ocd.word(CCNTR) - cycles) & 0xFFFFFFFF == now.counted - origin.counted
    # Every one of them moved but refills: what these touch fits the cache
    assert {e for e, more in seen if more} >= set(events) - {L1D_REFILL}


def test_events_of_a_known_program(bench):
    b = bench("m55", """
        start: bkpt #0
        begin: ldr r1, =0x20008000
               ldrd r2, r3, [r1]
               str r2, [r1, #64]
               stm r1, {r2, r3}
               ldrb r4, [r1, #64]
               cmp r0, r0
               it ne
               ldrne r5, [r1]
               movs r2, #0
               cbz r2, skip
               nop
        skip:  bl callee
               b over
               nop
        over:  svc #1
               bne over
        end:   bkpt #1
        callee: push {r4, lr}
               pop {r4, pc}
        SVC_Handler: bx lr
        .pool
    """)
    b.run()
    b.register(15, b.symbols["begin"])
    start = between(b.board.log(), "halt")[-1]
    b.run()
    end = between(b.board.log(), "halt")[-1]
    assert end.pc == b.symbols["end"]
    passed = {event: end.counts[event] - start.counts[event] for event in end.counts}
    assert passed[INST] == 17 and passed[EXC] == passed[EXC_RETURN] == 1
    assert passed[LD] == 4    # literal, LDRD, LDRB, POP; the LDR of the IT block was not executed
    assert passed[ST] == 3    # STR, STM, PUSH
    assert passed[BR_IMMED] == 4 and passed[BR_RETURN] == 2  # CBZ, BL, B, BNE; POP {pc}, BX lr
    assert passed[PC_WRITE] == 5  # CBZ, BL, B, POP, BX
    assert passed[L1D] == 1 + 2 + 1 + 2 + 1 + 2 + 2
    assert 1 <= passed[L1D_REFILL] <= passed[L1D]


def test_cache_of_32_lines(bench):
    b = bench("m55", """
        start: bkpt #0
        begin: ldr r1, =0x20008000
        again: ldr r2, [r1], #32
               subs r0, #1
               bne again
        end:   bkpt #1
        .pool
    """)
    b.run()
    refills = []
    for rounds in (32, 32, 64, 64, 1):
        b.register(15, b.symbols["begin"])
        b.register(0, rounds)
        before = between(b.board.log(), "halt")[-1].counts
        b.run()
        after = between(b.board.log(), "halt")[-1].counts
        assert after[L1D] - before[L1D] == rounds + 1
        refills.append(after[L1D_REFILL] - before[L1D_REFILL])
    # The first load fetches the address, of a line that one of the others throws out
    assert refills[0] in (32, 33) and refills[1] <= 3 and refills[4] <= 2
    assert refills[2] in (33, 34, 35) and refills[3] >= 64


def test_exception_return_values_of_armv8m(bench):
    b = bench("m55", """
        start: svc #0
               mrs r0, psp
               mov r1, #2
               msr control, r1
               isb
               svc #1
               mov r6, sp
        end:   bkpt #0
        SVC_Handler: mov r4, r5
               mov r5, lr
               bx lr
    """)
    state = b.run()
    assert state["pc"] == b.symbols["end"]
    assert (b.register(4), b.register(5)) == (0xFFFFFFB8, 0xFFFFFFBC)
    assert b.register(6) == b.register(18)  # back on the process stack
    assert b.events("enter", "return") == [("enter", 11), ("return", 11)] * 2


def test_sixteen_bits_and_a_chain(bench):
    b = bench("m55", """
        start: bkpt #0
        begin: subs r0, #1
               bne begin
        end:   bkpt #1
    """)
    b.run()
    rounds = 100000
    for chained in (False, True):
        count(b.ocd, INST, CHAIN if chained else CYCLES, SW_INCR, INST)
        b.register(15, b.symbols["begin"])
        b.register(0, rounds)
        start = between(b.board.log(), "halt")[-1]
        b.run()
        end = between(b.board.log(), "halt")[-1]
        passed = end.counts[INST] - start.counts[INST]
        assert passed == 2 * rounds
        assert b.ocd.word(EVCNTR0) == b.ocd.word(EVCNTR0 + 12) == passed & 0xFFFF
        high = passed >> 16 if chained else end.counted - start.counted & 0xFFFF
        assert b.ocd.word(EVCNTR0 + 4) == high
        assert b.ocd.word(OVSSET) == (0b1001 if chained else 0b1011)
        b.ocd.set_word(OVSCLR, 0b1000)
        assert b.ocd.word(OVSCLR) == b.ocd.word(OVSSET) == (0b0001 if chained else 0b0011)


def test_registers(m55):
    board, ocd = m55()
    assert ocd.word(TYPE) == 0x00A05F08 and ocd.word(PMU + 0xFBC) == 0x47700A06 and ocd.word(PMU + 0xFCC) == 0x16
    ocd.set_word(DEMCR, 0)  # without TRCENA it takes no writes
    ocd.set_word(CNTENSET, 0xFF)
    assert ocd.word(CNTENSET) == 0
    ocd.set_word(DEMCR, TRCENA)
    ocd.set_word(CNTENSET, 0xFFFFFFFF)
    assert ocd.word(CNTENSET) == ocd.word(CNTENCLR) == 0x800000FF
    ocd.set_word(CNTENCLR, 0x0000000F)
    assert ocd.word(CNTENSET) == 0x800000F0
    ocd.set_word(INTENSET, 3)
    ocd.set_word(INTENCLR, 1)
    assert ocd.word(INTENSET) == 2
    ocd.set_word(CTRL, 0xFFFFFFFF)
    assert ocd.word(CTRL) == 0xA21
    ocd.set_word(EVTYPER0 + 4, 0x12345)
    ocd.set_word(EVCNTR0 + 4, 0x12345)
    assert ocd.words(EVTYPER0, 2)[1] == 0x2345 and ocd.words(EVCNTR0, 2)[1] == 0x2345
    ocd.set_word(EVTYPER0 + 4 * 4, SW_INCR)
    ocd.set_word(EVCNTR0 + 4 * 4, 0)
    ocd.set_word(CTRL, E)
    ocd.set_word(SWINC, 0xFF)
    assert ocd.word(EVCNTR0 + 4 * 4) == 1 and ocd.word(EVCNTR0 + 4) == 0x2345
    ocd.set_word(CTRL, E | P)
    assert ocd.words(EVCNTR0, 8) == [0] * 8
    state = board.state()
    assert state["pmu_ctrl"] == E and state["pmu_cntenset"] == 0x800000F0 and state["pmu_evtyper"][1] == 0x2345
    # The monitor outlives a reset of the system, not one of its power
    board.command("reset")
    assert board.state()["pmu_evtyper"][1] == 0x2345
    board.command("power on")
    assert board.state()["pmu_evtyper"] == [0] * 8 and board.state()["pmu_cntenset"] == 0


def test_frozen_at_an_overflow(bench):
    b = bench("m55", """
        start: bkpt #0
        begin: nop
               subs r0, #1
               bne begin
        end:   bkpt #1
    """)
    b.run()
    count(b.ocd, INST, BR_IMMED)
    b.ocd.set_word(EVCNTR0 + 4, 0x10000 - 50)
    b.ocd.set_word(CTRL, E | FRZ_ON_OV)
    b.register(15, b.symbols["begin"])
    b.register(0, 1000)
    b.run()
    assert b.ocd.words(EVCNTR0, 2) == [150, 0] and b.ocd.word(OVSSET) == 2
    frozen = b.ocd.word(CCNTR)
    b.register(15, b.symbols["begin"])
    b.register(0, 10)
    b.run()
    assert b.ocd.words(EVCNTR0, 2) == [150, 0] and b.ocd.word(CCNTR) == frozen
    b.ocd.set_word(OVSCLR, 2)
    b.register(15, b.symbols["begin"])
    b.register(0, 10)
    b.run()
    assert b.ocd.words(EVCNTR0, 2) == [180, 10]


def test_halt_at_an_overflow(bench):
    b = bench("m55", """
        start: bkpt #0
        begin: subs r0, #1
               bne begin
        end:   bkpt #1
    """, stop_skid=0)
    b.run()
    count(b.ocd, BR_IMMED)
    b.ocd.set_word(EVCNTR0, 0x10000 - 70)
    b.ocd.set_word(INTENSET, 1)
    b.ocd.set_word(DFSR, 0xFFFFFFFF)
    b.register(15, b.symbols["begin"])
    b.register(0, 100)
    b.resume(PMOV)
    b.board.wait_for(lambda s: s["run"] == "halted")
    assert b.ocd.word(DFSR) == DFSR_PMU and b.ocd.word(OVSSET) == 1
    assert b.register(0) == 30 and b.register(15) == b.symbols["begin"]
    b.resume(PMOV)  # it has halted for that overflow
    assert b.board.wait_for(lambda s: s["run"] == "halted")["pc"] == b.symbols["end"]


def test_dwt_has_cycles_and_no_profile(m55):
    board, ocd = m55()
    ocd.set_word(DEMCR, TRCENA)
    ocd.set_word(DWT_CTRL, 0xFFFFFFFF)
    assert ocd.word(DWT_CTRL) >> 28 == 4 and ocd.word(DWT_CTRL) & (1 << 24 | 1) == 1 << 24 | 1
    assert ocd.word(DWT_CTRL) & 0x7E0000 == 0x400000 and ocd.words(DWT_CTRL + 8, 5) == [0] * 5
    assert not ocd.word(DWT_CTRL) & 1 << 25
    ocd.set_word(DWT_CTRL + 0x28, 0xFFFFFFFF)
    assert ocd.word(DWT_CTRL + 0x28) == 0x0B << 27 | 0xC3F
    place = board.symbol("work_by_data")
    run_to(ocd, place)
    board.watch(place)
    before = ocd.word(DWT_CYCCNT)
    ocd.set_word(DHCSR, KEY | DEBUGEN | HALT)
    run_to(ocd, board.symbol("caller_one"))
    run_to(ocd, place)
    halts = between(board.log(), "halt")
    start = between(board.log(), "run")[0]
    assert (ocd.word(DWT_CYCCNT) - before) & 0xFFFFFFFF == halts[-1].counted - start.counted


def test_over_swd(m55):
    with Board.start("m55") as board, Dap(board.dap_port) as dap:
        assert dap.swd() == 0x2BA01477
        dap.power_up()
        dap.set_word(DHCSR, KEY | DEBUGEN | HALT)
        assert dap.word(DHCSR) & S_HALT and dap.word(PMU + 0xFBC) == 0x47700A06
        dap.set_word(DEMCR, TRCENA)
        dap.set_word(CNTENSET, CYCLE)
        dap.set_word(CTRL, E | C)
        dap.set_word(DHCSR, KEY | DEBUGEN)
        board.run_for(1000)
        dap.set_word(DHCSR, KEY | DEBUGEN | HALT)
        assert dap.word(CCNTR) >= 1000 and dap.word(CCNTR) == board.state()["pmu_ccntr"]


def test_systick_is_as_on_the_m4(m55):
    board, ocd = m55()
    start, end = board.symbol("plain_first"), board.symbol("plain_second")
    run_to(ocd, start)
    board.watch(start)
    before = ocd.word(SYST_CVR)
    origin = between(board.log(), "halt")
    assert not origin and ocd.word(SYST_CSR) & 1 and ocd.word(SYST_RVR) == 0xFFFFFF
    run_to(ocd, end)
    events = board.log()
    passed = between(events, "halt")[-1].counted - between(events, "run")[0].counted
    assert before - ocd.word(SYST_CVR) == passed

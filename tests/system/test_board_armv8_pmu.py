"""The performance monitor of the board's Cortex-A53 against the ground truth, from outside and from the program."""

import pytest

from armv8 import *

PLACES = ["work_by_data", "caller_one", "called_twice", "recurse", "in_ram", "loop_round", "counted_a64", "ping"]


def count(c, *events):
    """These events on the counters from 0 on, and cycles, all from zero, counting."""
    c.set_count(PMCR, 0)
    c.set_count(PMCNTENCLR, 0xFFFFFFFF)
    c.set_count(PMCCFILTR, 0)
    for n, event in enumerate(events):
        c.set_count(PMEVTYPER0 + 4 * n, event)
    c.set_count(PMOVSCLR, 0xFFFFFFFF)
    c.set_count(PMCNTENSET, CYCLE | (1 << len(events)) - 1)
    c.set_count(PMCR, E | P | C | LC)


def cycles_of(c):
    return c.count(PMCCNTR) | c.count(PMCCNTR_HIGH) << 32


@pytest.mark.parametrize("events", [[INST, LD, ST, L1D, L1D_REFILL, PC_WRITE], [BR_IMMED, EXC, EXC_RETURN, MEM, CYCLES, IRQ]])
def test_counts_are_the_truth(core, events):
    c = core(halt_cost="3..50")
    c.halt()
    c.board.command("irq 5")
    c.run_to(c.board.symbol("work_by_data"))
    c.board.watch("main")
    count(c, *events)
    c.run_to(c.board.symbol("work_by_data"))
    origin, moved = c.last(), set()
    base = [c.count(PMEVCNTR0 + 8 * n) for n in range(6)]
    cycles = cycles_of(c)
    for round_ in range(2):
        for name in PLACES:
            if name == "caller_one":
                c.board.command(f"irq {round_}")
            c.run_to(c.board.symbol(name))
            now = c.last()
            for n, event in enumerate(events):
                if event == CYCLES:
                    true = now.counted - origin.counted
                else:
                    true = now.counts[event] - origin.counts[event]
                assert c.count(PMEVCNTR0 + 8 * n) == base[n] + true, (name, hex(event))
                moved |= {event} if true else set()
            assert cycles_of(c) - cycles == now.counted - origin.counted
    assert moved >= set(events) - {L1D_REFILL}  # what these touch fits the cache


def test_events_of_a_known_function(core):
    c = core(1)
    board = c.board
    other = Core(board, 0, c.bus).open()
    other.halt()
    for _ in range(3):
        other.run_to(board.symbol("counted_a64"))
        rounds = other.x(0)
        board.watch("main")
        count(other, INST, LD, ST, BR_IMMED, PC_WRITE, MEM)
        other.run_to(board.symbol("counted_a64_end") + 4)  # after the LDP, before RET
        assert [other.count(8 * n) for n in range(6)] == [
            9 * rounds + 2, 3 * rounds + 1, rounds + 1, 2 * rounds, 2 * rounds - 1, 5 * rounds + 4]
        assert cycles_of(other) == 9 * rounds + 2
    assert c.board.state()["halts"] == 0


def test_cache_of_32_lines(bench):
    b = bench("""
        start: hlt #0
        begin: ldr x2, [x1], #32
               subs x0, x0, #1
               b.ne begin
        end:   hlt #1
    """)
    assert b.run() == HLT
    refills = []
    for rounds in (32, 32, 64, 64, 1):
        before = b.core.last().counts
        b.go("begin", rounds, 0x100000)
        after = b.core.last().counts
        assert after[L1D] - before[L1D] == rounds
        refills.append(after[L1D_REFILL] - before[L1D_REFILL])
    assert refills[0] <= 32 and refills[1:] == [0, 32, 64, 1]


def test_registers(core):
    c = core()
    assert c.count(PMCFGR) == 0x1FF06 and c.count(PMCEID0) == 0x67FFBFFF
    c.set_count(PMCR, 0xFFFFFFFF)
    assert c.count(PMCR) == 0x79  # neither N nor the implementer here
    c.set_count(PMCR, 0)
    for enable, disable in ((PMCNTENSET, PMCNTENCLR), (PMINTENSET, PMINTENCLR), (PMOVSSET, PMOVSCLR)):
        c.set_count(disable, 0xFFFFFFFF)
        c.set_count(enable, 0xFFFFFFFF)
        assert c.count(enable) == c.count(disable) == 0x8000003F
        c.set_count(disable, 0x8000000F)
        assert c.count(enable) == 0x30
    c.set_count(PMEVTYPER0 + 4, 0xFFFFFFFF)
    assert c.count(PMEVTYPER0 + 4) == 0xFC0003FF
    c.set_count(PMEVCNTR0 + 8, 0x12345678)
    assert c.count(PMEVCNTR0 + 8) == 0x12345678 and c.count(PMEVCNTR0 + 12) == 0 and c.count(PMEVCNTR0 + 4) == 0
    c.set_count(PMCCNTR, 0x89ABCDEF)
    c.set_count(PMCCNTR_HIGH, 0x1234)
    assert cycles_of(c) == 0x123489ABCDEF and c.count(0x07C) == 0
    c.set_count(PMEVTYPER0, SW_INCR)
    c.set_count(PMCNTENSET, 3)
    c.set_count(PMEVCNTR0, 41)
    c.set_count(PMCR, E)
    c.set_count(PMSWINC, 3)
    assert c.count(PMEVCNTR0) == 42 and c.count(PMEVCNTR0 + 8) == 0x12345678
    state = c.board.state()
    assert state["pmcr"] == E and state["pmevcntr"][0] == 42 and state["pmccntr"] == 0x123489ABCDEF
    c.board.command("reset")
    assert c.board.state()["pmcr"] == 0


def test_wide_cycles_overflow_divider_and_chain(bench):
    b = bench("""
        start: hlt #0
        begin: subs x0, x0, #1
               b.ne begin
        end:   hlt #1
    """)
    c = b.core
    b.run()
    count(c, INST, CHAIN)
    c.set_count(PMCCNTR, 0xFFFFFFF0)
    c.set_count(PMEVCNTR0, 0xFFFFFFF0)
    b.go("begin", 100)
    assert cycles_of(c) == 0xFFFFFFF0 + 200 and c.count(PMOVSSET) == 1  # with LC, only beyond 64 bits
    assert c.count(PMEVCNTR0) == 200 - 16 and c.count(PMEVCNTR0 + 8) == 1
    count(c)
    c.set_count(PMCR, E)
    c.set_count(PMCCNTR, 0xFFFFFFF0)
    b.go("begin", 100)
    assert c.count(PMOVSSET) == CYCLE
    c.set_count(PMCR, E | C | D)
    b.go("begin", 640)
    assert cycles_of(c) == 20
    c.set_count(PMCR, E | C | D | LC)  # LC: D has no effect
    b.go("begin", 640)
    assert cycles_of(c) == 1280


def test_filters_by_level(bench):
    b = bench("""
        start: hlt #0
        begin: mov x1, #0x3C0
               msr spsr_el1, x1
               adr x1, user
               msr elr_el1, x1
               eret
        user:  nop
               nop
               svc #1
        handler: hlt #1
    """)
    c = b.core
    b.run()
    # P leaves EL1 out and U EL0, unless NSK and NSU say the opposite: this is Non-secure
    filters = [INST, INST | 1 << 31, INST | 1 << 30, INST | 3 << 30, INST | 1 << 31 | 1 << 29, INST | 1 << 28]
    count(c, *filters)
    assert b.go("begin") == HLT
    assert [c.count(8 * n) for n in range(6)] == [9, 3, 6, 0, 9, 6]  # one of EL1's is the vector's
    assert c.pc() == b.symbols["handler"] and c.system(0xD5385200) == 0x15 << 26 | 1 << 25 | 1
    assert c.system(0xD5384020) == b.symbols["handler"]  # ELR_EL1: after the SVC


def test_the_programs_own_access_and_pmuserenr(bench):
    b = bench("""
        start: hlt #0
        el1:   mrs x2, pmcr_el0
               mov x3, #31
               msr pmselr_el0, x3
               isb
               mov x3, #0x40000000
               msr pmxevtyper_el0, x3
               mrs x4, pmccfiltr_el0
               msr pmccfiltr_el0, xzr
               mov x3, #0x11
               msr pmevtyper2_el0, x3
               mrs x5, pmccntr_el0
               mrs x6, pmccntr_el0
               mrs x7, pmevcntr2_el0
               hlt #2
        user:  mov x1, #0x3C0
               msr spsr_el1, x1
               adr x1, 1f
               msr elr_el1, x1
               eret
        1:     mrs x8, pmccntr_el0
               mrs x9, pmuserenr_el0
               msr pmswinc_el0, x9
        handler: hlt #1
    """)
    c = b.core
    b.run()
    count(c, SW_INCR, INST, INST)
    assert b.go("el1") == HLT
    assert c.x(2) == 0x41033000 | E | LC and c.x(4) == 0x40000000
    assert c.x(6) - c.x(5) == 1 and c.count(PMEVTYPER0 + 8) == CYCLES
    for allowed, stops in ((0, 0), (4, 2), (2, 0), (6, 3), (1, 3)):
        c.system(0xD53B9E00, allowed)  # PMUSERENR_EL0
        c.set_count(PMEVCNTR0, 0)
        assert b.go("user") == HLT
        assert c[EDSCR] >> 8 & 3 == (0 if stops == 3 else 1), allowed  # it passed, or into a handler
        assert c.x(9) == allowed or stops == 0
        if stops == 3:
            c.stuff(0xD4A00001)  # DCPS1: back to where a debugger may do anything
            c.pstate(0x3C5)
            continue
        esr, elr = c.system(0xD5385200), c.system(0xD5384020)
        assert elr == b.symbols["user"] + 4 * (5 + stops) and esr >> 26 == 0x18, allowed
        if stops == 0:
            assert esr & 0x3FFFFFF == 1 << 25 | 3 << 20 | 3 << 14 | 9 << 10 | 8 << 5 | 13 << 1 | 1

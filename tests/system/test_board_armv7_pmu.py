"""The performance monitors of the virtual board's Armv7-A/R chips: what they count is what really happened."""

import pytest

from armv7 import (EVCNTR, CCNTR, EVTYPER, CCFILTR, ENSET, ENCLR, INTENSET, INTENCLR, OVSR, SWINC, OVSSET, CFGR, PMCR, USERENR,
                   CEID0, CYCLES, COUNTERS, INSTRUCTIONS, COUNTED, WORK, SUPERVISOR, RECURSE, ALL_CHIPS, MAPPED, Core, between,
                   attach, bench, core)

WRAP = 1 << 32
STOPS = 4


@ALL_CHIPS
def test_every_event_is_what_the_truth_says(core, chip):
    c = core(chip)
    c.halt()
    c.board.scenario(COUNTED, WORK, SUPERVISOR, RECURSE)
    places = [c.board.symbol("counted_arm"), c.board.symbol("recurse")]
    c.run_to(places[1], thumb=chip == "a7")
    c.board.watch(places[0])
    c.run_to(places[0])
    codes = sorted(c.board.log()[0].counts)
    seen = set()
    for first in range(0, len(codes), COUNTERS[chip]):
        some = codes[first:first + COUNTERS[chip]]
        c.count(*some)
        c.board.watch(places[0])
        begin = c.board.state()
        readings = [c.counts(len(some))]
        for n in range(STOPS):
            c.run_to(places[(n + 1) % 2], thumb=chip == "a7" and n % 2 == 0)
            readings.append(c.counts(len(some)))
        halts = between(c.board.log(), "halt")
        assert len(halts) == STOPS
        for before, after, (cycles, *counts), (cycles2, *counts2) in zip(halts, halts[1:], readings[1:], readings[2:]):
            assert cycles2 - cycles == after.counted - before.counted == after.cycles - before.cycles
            for code, one, two in zip(some, counts, counts2):
                assert two - one == after.counts[code] - before.counts[code], hex(code)
                seen |= {code} if two != one else set()
        assert readings[-1][0] == c.board.state()["counted"] - begin["counted"]
    # Those are tested below; what these functions touch may fit the cache, 0x03
    assert seen >= set(codes) - {0x03, 0x0F, 0x86, 0x90, 0x91, 0x92, 0x93}


@ALL_CHIPS
@pytest.mark.parametrize("place, more", [("counted_arm", 0), ("counted_thumb", 2)])
def test_a_function_of_known_counts(core, chip, place, more):
    c = core(chip)
    c.halt()
    c.board.scenario(COUNTED)
    thumb = "thumb" in place
    for _ in range(3):
        c.run_to(c.board.symbol(place), thumb)
        rounds = c.take()  # the argument, in r0
        codes = [INSTRUCTIONS[chip], 0x06, 0x07, 0x0D][:COUNTERS[chip]]
        c.count(*codes)
        c.run_to(c.board.symbol(place + "_end"), thumb)
        cycles, instructions, loads, stores, *branches = c.counts(len(codes))
        assert 1 <= rounds <= 8
        assert instructions == cycles == (7 + more) * rounds + 1
        assert (loads, stores) == (3 * rounds, rounds + 1)
        assert branches in ([], [rounds])


@ALL_CHIPS
def test_counts_of_a_program_of_every_kind(bench, chip):
    b = bench(chip, """
        start: ldr r0, =there
               ldr r1, [r0, #1]         // unaligned
               strh r1, [r0, #3]        // and so is this
               cmp r0, r0
               ldrne r2, [r0]           // not done
               strne r2, [r0]
               beq 1f
        1:     bne 2f                   // not taken, and counted as a branch
        2:     bl of_arm
               blx of_thumb
               ldmia r0!, {r2-r5}       // one instruction, four accesses
               push {r4, lr}
               pop {r4, lr}
               nop
               isb
               dsb
               dmb
               bkpt #0
        of_arm: bx lr
               .thumb_func
               .thumb
        of_thumb: push {lr}
               cmp r0, r0
               ite ne
               ldrne r3, [r0]
               ldreq r3, [r0, #4]
               itt ne
               strne r3, [r0]
               addne r3, r3
               cbz r0, 3f
               b 3f
        3:     pop {pc}
               .arm
               .align 5
        there: .word 1, 2, 3, 4, 5, 6, 7, 8
               .pool
    """)
    b.run()
    begin, end = between(b.core.board.log(), "reach")[0], between(b.core.board.log(), "halt")[-1]
    got = {code: end.counts[code] - begin.counts[code] for code in end.counts}
    # ARM: 17 before the BKPT and 1; Thumb: 11, two of them in each IT block's place not done
    assert got[INSTRUCTIONS[chip]] == 29 == end.cycles - begin.cycles == end.counted - begin.counted
    assert got[0x06] == 1 + 1 + 1 + 1 + 1 + 1  # two LDRs, LDM, POP; LDREQ, POP in Thumb
    assert got[0x07] == 1 + 1 + 1               # STRH, PUSH; PUSH in Thumb
    assert got[0x04] == (1 + 1 + 4 + 2 + 1 + 1) + (1 + 2 + 1)
    assert got[0x0F] == 2
    assert got[0x0D] == 6 and got[0x0C] == 6  # BEQ, BNE, BL, BLX, CBZ, B; all but BNE and CBZ, and the returns
    assert got[{"a9": 0x6E}.get(chip, 0x0E)] == 2
    if chip == "a9":
        assert (got[0x90], got[0x91], got[0x92], got[0x72]) == (1, 1, 1, 9)
    if chip == "a7":
        assert got[0x13] == got[0x04]


@ALL_CHIPS
def test_cache_refills(bench, chip):
    b = bench(chip, """
        start: mov r0, #0x8000          // 32 lines of 32 bytes, from flash
               mov r1, #64
        1:     ldr r2, [r0], #16        // two in each line
               subs r1, #1
               bne 1b
        filled: mov r1, #64
        2:     ldr r2, [r0, #-16]!      // all are there
               subs r1, #1
               bne 2b
        again: ldr r2, [r0, #0x400]     // takes the first one's place
               ldr r2, [r0]
               bkpt #0
    """)
    places = [b.symbols[name] for name in ("start", "filled", "again")]
    b.core.board.watch(*places)
    b.run()
    log = [e for e in b.core.board.log() if e.kind in ("reach", "halt")]
    refills = [e.counts[0x03] for e in log]
    accesses = [e.counts[0x04] for e in log]
    assert [n - m for m, n in zip(refills, refills[1:])] == [32, 0, 2]
    assert [n - m for m, n in zip(accesses, accesses[1:])] == [64, 64, 2]


def test_events_that_the_core_lacks_stay_0(core):
    c = core("a9")
    c.count(0x08, 0x0E, 0x13, 0x21, 0x3F, 0x68)
    c.board.run_for(50000)
    c.halt()
    cycles, *counts = c.counts(6)
    assert counts[:5] == [0] * 5 and counts[5] == cycles > 50000


@MAPPED
def test_cycles_as_an_event_and_divided(core, chip):
    c = core(chip)
    c.halt()
    c.count(0x11)
    c.pmu(PMCR, 7 | 8)
    begin = c.board.state()["counted"]
    for _ in range(5):
        c.run_to(c.board.symbol("counted_arm"))
        passed = c.board.state()["counted"] - begin
        cycles, event = c.counts(1)
        assert event == passed and cycles == passed // 64
    c.pmu(PMCR, 1 | 8 | 4)
    assert c.counts(1) == [0, passed]  # C takes the cycles alone
    c.pmu(PMCR, 1 | 2)
    assert c.counts(1) == [0, 0]
    assert c.pmu(PMCR) & 0x3F == 1  # P and C read as 0
    c.pmu(PMCR, 0)
    c.run_to(c.board.symbol("recurse"), chip == "a7")
    assert c.counts(1) == [0, 0]


@ALL_CHIPS
def test_overflow_flags_and_wraps(core, chip):
    c = core(chip)
    c.halt()
    place = c.board.symbol("counted_arm")
    c.run_to(place)
    c.count(INSTRUCTIONS[chip], 0x06)
    c.pmu(CCNTR, WRAP - 2)
    c.pmu(EVCNTR, WRAP - 5)
    c.pmu(EVCNTR + 4, 10)
    assert c.pmu(OVSR) == 0
    before = c.board.state()
    c.run_to(c.board.symbol("counted_arm_end"))
    passed = c.board.state()["instructions"] - before["instructions"]
    cycles, instructions, loads = c.counts(2)
    assert cycles == (WRAP - 2 + passed) % WRAP and instructions == (WRAP - 5 + passed) % WRAP and 10 < loads < 100
    assert c.pmu(OVSR) == CYCLES | 1
    c.pmu(OVSR, 1)
    assert c.pmu(OVSR) == CYCLES
    c.pmu(OVSR, CYCLES)
    assert c.pmu(OVSR) == 0
    if chip == "a7":
        c.pmu(OVSSET, 0x80000009)
        assert c.pmu(OVSR) == 0x80000009
    # Enables are sets and clears, and bits of counters that are not there stay 0
    present = CYCLES | (1 << COUNTERS[chip]) - 1
    for on, off in [(ENSET, ENCLR), (INTENSET, INTENCLR)]:
        c.pmu(off, 0xFFFFFFFF)
        c.pmu(on, 0xFFFFFFFF)
        assert c.pmu(on) == present == c.pmu(off)
        c.pmu(off, 2)
        assert c.pmu(on) == present & ~2


@ALL_CHIPS
def test_counters_stand_still_in_debug_state_and_halts_cost_cycles_only(core, chip):
    c = core(chip, halt_cost=100)
    c.halt()
    place = c.board.symbol("counted_arm")
    c.run_to(place)
    c.count(INSTRUCTIONS[chip], 0x06, 0x07)
    first = c.counts(3)
    assert c.counts(3) == first
    for _ in range(20):
        c.stuff(0xE1A01001)  # MOV r1, r1
    assert c.counts(3) == first
    c.board.watch(place)
    c.arm(0, place)
    for n in range(1, 6):
        c.resume()
        c.wait_halted()
        assert c.counts(3) == [first[0] + 100 * n, *first[1:]]
    c.disarm(0)
    last = between(c.board.log(), "halt")[-1]
    c.run_to(c.board.symbol("counted_arm_end"))
    end = between(c.board.log(), "halt")[-1]
    got = c.counts(3)
    assert got[0] - first[0] - 500 == end.counted - last.counted == end.cycles - last.cycles + 100
    assert got[1] - first[1] == end.cycles - last.cycles


def test_each_core_of_the_a9_has_its_own(attach):
    board, ocd = attach("a9")
    ocd("poll off")
    first, second = Core(board, ocd, 0), Core(board, ocd, 1)
    for c in (first, second):
        c.halt()
        c.count(0x68, 0x0C)
    frozen = first.counts(2)
    second.run_to(board.symbol("core1_work"))
    begin = second.counts(2), second.board.state()
    second.run_to(board.symbol("core1_work") + 4)
    second.run_to(board.symbol("core1_work"))
    assert first.counts(2) == frozen
    got = [b - a for a, b in zip(begin[0], second.counts(2))]
    executed = second.board.state()["instructions"] - begin[1]["instructions"]
    assert got[0] == got[1] == executed > 20 and 0 < got[2] < executed


@ALL_CHIPS
def test_software_increments(bench, chip):
    b = bench(chip, """
        start: mov r0, #2
               mov r1, #10
        1:     mcr p15, 0, r0, c9, c12, 4
               subs r1, #1
               bne 1b
               bkpt #0
    """)
    c = b.core
    c.count(0x00, 0x00, 0x00)
    b.run()
    assert c.counts(3)[1:] == [0, 10, 0]
    c.pmu(SWINC, 0x80000005)
    assert c.counts(3)[1:] == [1, 10, 1]
    c.pmu(PMCR, 0)
    c.pmu(SWINC, 7)
    assert c.counts(3)[1:] == [1, 10, 1]


@ALL_CHIPS
def test_the_program_sees_the_same_registers(bench, chip):
    b = bench(chip, f"""
        start: mov r0, #0
               mcr p15, 0, r0, c9, c12, 5       // PMSELR
               isb
               mov r1, #{INSTRUCTIONS[chip]:#x}
               mcr p15, 0, r1, c9, c13, 1       // PMXEVTYPER
               mov r2, #0x80000001
               mcr p15, 0, r2, c9, c12, 1       // PMCNTENSET
               mov r3, #7
               mcr p15, 0, r3, c9, c12, 0       // PMCR
               mrc p15, 0, r4, c9, c13, 0       // PMCCNTR
               nop
               nop
               mrc p15, 0, r5, c9, c13, 0
               mrc p15, 0, r6, c9, c13, 2       // PMXEVCNTR
               mrc p15, 0, r7, c9, c12, 0
               mrc p15, 0, r8, c0, c0, 0
               cmp r0, r0
               mrcne p15, 0, r9, c9, c12, 0     // not done
               bkpt #0
    """)
    b.core.stuff(0xE3A09000)  # MOV r9, #0
    b.run()
    # An access sees what was retired before it, itself not
    assert [b.register(n) for n in (4, 5, 6)] == [1, 4, 5]
    assert b.register(7) & ~0x3F == b.core.board.state()["pmcr"] & ~0x3F and b.register(7) & 0x3F == 1
    assert b.register(7) >> 11 & 0x1F == COUNTERS[chip]
    assert b.register(8) & 0xFFF0 == {"a9": 0xC090, "a7": 0xC070, "r5": 0xC150}[chip]
    assert b.register(9) == 0
    state = b.core.board.state()
    assert state["pmcntenset"] == 0x80000001 and state["pmxevtyper"][0] == INSTRUCTIONS[chip]


@ALL_CHIPS
@pytest.mark.parametrize("open_to_user", [False, True])
def test_user_mode_needs_leave(bench, chip, open_to_user):
    # Undefined instructions are counted by the firmware's handler, and passed over
    b = bench(chip, f"""
        start: mov r0, #{int(open_to_user)}
               mcr p15, 0, r0, c9, c14, 0       // PMUSERENR
               cps #0x10
               mrc p15, 0, r1, c9, c14, 0       // may be read
               mov r2, #5
               mcr p15, 0, r2, c9, c13, 0       // PMCCNTR
               mov r2, #0
               mrc p15, 0, r2, c9, c13, 0
               mcr p15, 0, r2, c9, c14, 0       // PMUSERENR itself never
               mcr p15, 0, r2, c9, c14, 1       // nor the interrupt enables
               mrc p15, 0, r3, c0, c0, 0        // nor MIDR
               bkpt #0
    """)
    board = b.core.board
    before = board.read_word("undefined_count")
    b.run()
    assert board.read_word("undefined_count") - before == 3 + (0 if open_to_user else 2)
    assert board.state()["cpsr"] & 0x1F == 0x10
    assert b.register(1) == open_to_user and b.register(2) == (5 if open_to_user else 0)
    assert board.state()["pmuserenr"] == open_to_user and board.state()["pmccntr"] == (5 if open_to_user else 0)


def test_version_2_leaves_out_modes(bench):
    b = bench("a7", """
        start: cps #0x10
               nop
               nop
               nop
               svc #0                           // the firmware's handler, which leaves for Supervisor mode
               nop
               bkpt #0
    """)
    c = b.core
    c.count(0x08, 0x08, 0x08)
    c.pmu(EVTYPER, 0x80000008)
    c.pmu(EVTYPER + 4, 0x40000008)
    c.pmu(CCFILTR, 1 << 31)
    b.run()
    cycles, user, privileged, all_of_it = c.counts(3)
    assert user == 4 and privileged == all_of_it - user > 4 and cycles in (4, 5)
    assert c.pmu(EVTYPER) == 0x80000008 and c.pmu(CCFILTR) == 0x80000000
    assert c.pmu(CFGR) & 0xFF == 4 and c.pmu(CFGR) >> 8 & 0x3F == 0x1F and c.pmu(CEID0) >> 8 & 1


def test_version_1_has_no_filters(core):
    c = core("a9")
    c.pmu(EVTYPER, 0xFFFFFF68)
    assert c.pmu(EVTYPER) == 0x68 and c.pmu(CFGR) == 0 and c.pmu(CEID0) == 0
    c.pmu(CCFILTR, 0xFFFFFFFF)
    assert c.pmu(CCFILTR) == 0


@ALL_CHIPS
def test_interrupts_and_resets(core, chip):
    c = core(chip)
    c.halt()
    c.count(0x09, 0x0A, {"a9": 0x93, "a7": 0x86, "r5": 0x09}[chip])
    c.board.scenario(WORK)
    c.resume()
    served = c.board.read_word("irq3_count")
    for n in range(1, 6):
        c.board.command(f"irq {n}")
        c.board.wait_for(lambda s: c.board.read_word("irq3_count") == served + n and s["pending"] == 0)
    c.board.run_for(1000)
    c.halt()
    assert c.counts(3)[1:] == [5, 5, 5]
    c.board.command("reset")
    state = c.board.state()
    assert state["pmcr"] & 0x3F == 0 and state["pmcntenset"] == 0 and state["pmccntr"] == 0

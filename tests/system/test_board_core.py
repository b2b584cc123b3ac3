"""The board's core against the architecture, by little programs written into its RAM: exceptions, stacks, sleep, faults,
SysTick's rules, resets, the debug registers."""

import pytest

from board import BUILD, Board, OpenOcd
from cortex_m import (SYST_CSR, SYST_RVR, SYST_CVR, SYST_CALIB, NVIC_ISPR, NVIC_IPR, ICSR, AIRCR, SHPR3, DFSR, DHCSR, DCRSR,
                      DEMCR, BP_CTRL, BP_COMP0, DWT_CTRL, DWT_CYCCNT, DWT_PCSR, KEY, DEBUGEN, HALT, S_HALT, STACK,
                      PROCESS_STACK, BOTH_CHIPS, bench)

ENTRY = {"rp2040": 15, "m4": 12}
TAIL = 6


@BOTH_CHIPS
def test_svc_on_the_process_stack(bench, chip):
    b = bench(chip, """
        start: mrs r0, psp
               subs r0, #4      // makes the frame need a padding word
               msr psp, r0
               movs r0, #2
               msr control, r0
               isb
               movs r1, #17
               svc #5
        after: mrs r3, control
               bkpt #0
        SVC_Handler: mov r4, lr
               mrs r5, ipsr
               mrs r6, psp
               bx lr
    """)
    state = b.run()
    assert state["pc"] == b.symbols["after"] + 4
    assert b.register(4) == 0xFFFFFFFD and b.register(5) == 11
    assert b.register(6) == PROCESS_STACK - 4 - 4 - 32
    assert b.register(18) == PROCESS_STACK - 4 and b.register(17) == STACK and b.register(3) == 2
    assert b.events("enter", "return") == [("enter", 11), ("return", 11)]
    log = b.board.log()
    enter = next(e for e in log if e.kind == "enter")
    assert b.board.read_word(PROCESS_STACK - 4 - 4 - 32 + 24) == b.symbols["after"]
    assert b.board.read_word(PROCESS_STACK - 4 - 4 - 32 + 28) & (1 << 9)
    assert enter.sp == STACK  # handlers run on the main stack


@BOTH_CHIPS
def test_tail_chaining_and_priorities(bench, chip):
    b = bench(chip, """
        start: nop
               bkpt #0
        SysTick_Handler: bx lr
        IRQ3_Handler: bx lr
        PendSV_Handler: bx lr
    """)
    b.ocd.set_word(SHPR3, 0x40 << 24 | 0x80 << 16)  # SysTick before PendSV
    b.ocd.set_word(NVIC_IPR, 0xC0 << 24)            # IRQ 3 last
    b.ocd.set_word(0xE000E100, 1 << 3)
    b.ocd.set_word(NVIC_ISPR, 1 << 3)
    b.ocd.set_word(ICSR, 1 << 28 | 1 << 26)
    assert b.ocd.word(ICSR) >> 12 & 0x1FF == 15
    b.run()
    assert b.events("enter", "return") == [("enter", 15), ("return", 15), ("enter", 14), ("return", 14),
                                           ("enter", 19), ("return", 19)]
    log = [e for e in b.board.log() if e.kind in ("run", "enter", "return")]
    assert log[1].cycles - log[0].cycles == ENTRY[chip]
    chained = [b_.cycles - a.cycles for a, b_ in zip(log, log[1:]) if (a.kind, b_.kind) == ("return", "enter")]
    assert chained == [TAIL, TAIL]


@BOTH_CHIPS
def test_nesting_and_icsr_inside(bench, chip):
    b = bench(chip, """
        start: nop
               bkpt #0
        PendSV_Handler: bkpt #1
               bx lr
        SysTick_Handler: bkpt #2
               bx lr
    """)
    b.ocd.set_word(SHPR3, 0x40 << 24 | 0x80 << 16)
    b.ocd.set_word(ICSR, 1 << 28)
    assert b.run()["pc"] == b.symbols["PendSV_Handler"]
    b.ocd.set_word(ICSR, 1 << 26)
    icsr = b.ocd.word(ICSR)
    assert icsr & 0x1FF == 14 and icsr >> 12 & 0x1FF == 15 and icsr & (1 << 23) and icsr & (1 << 26)
    assert bool(icsr & (1 << 11)) == (chip == "m4")  # RETTOBASE
    assert b.run()["pc"] == b.symbols["SysTick_Handler"]
    assert b.register(14) == 0xFFFFFFF1
    assert not b.ocd.word(ICSR) & (1 << 11)
    for name in ("SysTick_Handler", "PendSV_Handler"):
        assert b.register(15) == b.symbols[name]
        b.register(15, b.symbols[name] + 2)
        b.run()
    assert b.events("return") == [("return", 15), ("return", 14)]
    assert b.register(16) & 0x1FF == 0


@BOTH_CHIPS
def test_primask_holds_back_and_cps_lets_go(bench, chip):
    b = bench(chip, """
        start: cpsid i
               nop
        held:  bkpt #0
               cpsie i
        gone:  nop
               bkpt #1
        PendSV_Handler: bx lr
    """)
    b.run()
    b.ocd.set_word(ICSR, 1 << 28)
    icsr = b.ocd.word(ICSR)
    assert icsr & (1 << 28) and not icsr & (1 << 23)
    b.register(15, b.symbols["held"] + 2)
    b.run()
    log = b.board.log()
    assert not [e for e in log if e.kind == "run"][1].extra & Board.PREEMPTED
    assert ("enter", 14) in b.events()
    assert b.board.read_word(STACK - 32 + 24) == b.symbols["gone"]


def test_basepri_and_faultmask(bench):
    b = bench("m4", """
        start: movs r0, #0x40
               msr basepri, r0
               bkpt #0
               movs r0, #0
               msr basepri, r0
               cpsid f
               nop
               bkpt #1
               cpsie f
               nop
               bkpt #2
        PendSV_Handler: bx lr
        SysTick_Handler: bx lr
    """)
    b.ocd.set_word(SHPR3, 0x20 << 24 | 0x40 << 16)
    b.run()
    assert b.register(20) == 0x4000
    b.ocd.set_word(ICSR, 1 << 28)
    assert not b.ocd.word(ICSR) & (1 << 23)
    b.ocd.set_word(ICSR, 1 << 26)
    assert b.ocd.word(ICSR) & (1 << 23)
    b.ocd.set_word(ICSR, 1 << 25)
    b.register(15, b.symbols["start"] + 8)  # past the first BKPT
    b.run()
    assert b.events("enter") == [("enter", 14)]
    assert b.register(20) & 1 << 16
    b.ocd.set_word(ICSR, 1 << 26)
    b.register(15, b.register(15) + 2)
    b.run()
    assert b.events("enter") == [("enter", 14), ("enter", 15)]


@BOTH_CHIPS
def test_wfe_and_sev(bench, chip):
    b = bench(chip, """
        start: sev
               wfe              // the event is there: does not sleep
               wfe              // sleeps
               bkpt #0
        IRQ3_Handler: bx lr
    """)
    b.ocd.set_word(0xE000E100, 1 << 3)
    b.resume()
    b.board.wait_for(lambda s: s["run"] == "asleep")
    b.board.command("irq 3")
    b.board.wait_for(lambda s: s["run"] == "halted")
    assert b.events("sleep", "wake", "enter") == [("sleep", 0), ("wake", 0), ("enter", 19)]


@BOTH_CHIPS
def test_wfi_wakes_for_what_primask_masks(bench, chip):
    b = bench(chip, """
        start: cpsid i
               wfi
               bkpt #0
        IRQ3_Handler: bx lr
    """)
    b.ocd.set_word(0xE000E100, 1 << 3)
    b.resume()
    b.board.wait_for(lambda s: s["run"] == "asleep")
    b.board.command("irq 3")
    b.board.wait_for(lambda s: s["run"] == "halted")
    assert b.events("sleep", "wake", "enter") == [("sleep", 0), ("wake", 0)]


@BOTH_CHIPS
@pytest.mark.parametrize("cause", [
    "ldr r0, =0x60000000\n ldr r0, [r0]",
    "ldr r0, =0x60000000\n str r0, [r0]",
    "udf #3",
    "ldr r0, =0x50000001\n bx r0",
    "movs r0, #0\n mov lr, r0\n bx lr",
])
def test_faults(bench, chip, cause):
    b = bench(chip, f"""
        start: {cause}
               bkpt #0
        HardFault_Handler: mrs r7, ipsr
               bkpt #1
               .pool
    """)
    assert b.run()["pc"] == b.symbols["HardFault_Handler"] + 4
    assert b.register(7) == 3


def test_unaligned_access_faults_on_the_m0plus_only(bench):
    source = """
        start: ldr r0, =0x20008001
               ldr r1, [r0]
        done:  bkpt #0
        HardFault_Handler: bkpt #1
               .pool
    """
    b = bench("rp2040", source)
    assert b.run()["pc"] == b.symbols["HardFault_Handler"]
    b = bench("m4", source)
    assert b.run()["pc"] == b.symbols["done"]


@BOTH_CHIPS
def test_bkpt_without_debugging_is_a_hardfault(bench, chip):
    b = bench(chip, """
        start: bkpt #0
        HardFault_Handler: b .
    """)
    b.ocd.set_word(DHCSR, KEY)
    b.board.wait_for(lambda s: s["pc"] == b.symbols["HardFault_Handler"] and s["run"] == "running")
    assert b.events("enter") == [("enter", 3)]


@BOTH_CHIPS
def test_bad_vector_locks_up_and_nmi_gets_out(bench, chip):
    b = bench(chip, """
        start: udf #0
        NMI_Handler: bkpt #7
    """)
    b.resume()
    b.board.wait_for(lambda s: s["run"] == "lockup")
    b.ocd.set_word(ICSR, 1 << 31)
    state = b.board.wait_for(lambda s: s["run"] == "halted")
    assert state["pc"] == b.symbols["NMI_Handler"]


@BOTH_CHIPS
def test_systick_rules(bench, chip):
    b = bench(chip, """
        start: nop
               nop
               nop
               nop
               nop
               nop
               bkpt #0
    """)
    ocd = b.ocd
    ocd.set_word(SYST_RVR, 3)
    ocd.set_word(SYST_CVR, 0x55)  # any value clears it
    ocd.set_word(SYST_CSR, 5)
    assert ocd.word(SYST_CVR) == 0
    seen = []
    for _ in range(6):
        b.step()
        seen.append(ocd.word(SYST_CVR))
    assert seen == [3, 2, 1, 0, 3, 2]  # the tick after 0 loads RVR: a round takes RVR+1
    assert ocd.word(SYST_CSR) & 1 << 16
    # Read by a debugger it is cleared on the one chip and stays on the other
    assert bool(ocd.word(SYST_CSR) & 1 << 16) == (chip == "m4")
    ocd.set_word(SYST_CVR, 0)
    assert not ocd.word(SYST_CSR) & 1 << 16
    assert not ocd.word(ICSR) & 1 << 26  # without TICKINT nothing pends
    assert ocd.word(SYST_CVR) == 0      # halted it does not move


@pytest.mark.parametrize("chip, cycles, calibration", [("rp2040", 12, 0), ("m4", 8, 0x4000493E), ("m55", 1, 1 << 31)])
def test_systick_of_the_reference_clock(bench, chip, cycles, calibration):
    """DDI 0403E B3.3.3: CLKSOURCE = 0 counts the reference clock; where SYST_CALIB.NOREF says that there is none the bit reads as 1."""
    b = bench(chip, "start: b start\nSysTick_Handler: bkpt #0")
    ocd = b.ocd
    assert ocd.word(SYST_CALIB) == calibration
    ocd.set_word(SYST_RVR, 0xFFFFFF)
    ocd.set_word(SYST_CVR, 0)

    def counted(source, steps=100):
        ocd.set_word(SYST_CSR, 1 | source)
        assert ocd.word(SYST_CSR) & 7 == (1 | source if cycles > 1 else 5)
        before, ticks = b.board.state()["counted"], ocd.word(SYST_CVR)
        for _ in range(steps):
            b.step()
        return b.board.state()["counted"], before, -(ocd.word(SYST_CVR) - ticks) & 0xFFFFFF

    b.step()  # from 0, which the next tick loads RVR for
    for source in (4, 0, 4, 0):
        after, before, ticks = counted(source)
        rate = 1 if source else cycles
        assert abs(ticks - (after // rate - before // rate)) <= (before // rate == 0), (source, ticks, after, before)
    ocd.set_word(SYST_RVR, 3)
    ocd.set_word(SYST_CVR, 0)
    ocd.set_word(SYST_CSR, 3)
    at = b.board.state()["counted"]
    b.run()
    entered = next(e for e in b.board.log() if e.kind == "enter" and e.extra == 15)
    assert 4 * cycles - cycles < entered.counted - ENTRY.get(chip, 12) - at <= 4 * cycles + 3, "the tick of a round of RVR+1"
    assert ocd.word(SYST_CSR) & 1 << 16


@BOTH_CHIPS
def test_a_wrap_inside_a_halt_pends_the_tick(bench, chip):
    b = bench(chip, """
        start: nop
               nop
               bkpt #0
        SysTick_Handler: bx lr
    """, halt_cost=100)
    b.ocd.set_word(SYST_RVR, 120)
    b.ocd.set_word(SYST_CVR, 0)
    b.ocd.set_word(SYST_CSR, 7)
    b.step()  # 50 out, 1, 50 in: no wrap yet
    assert not b.ocd.word(ICSR) & 1 << 26
    b.step()  # 50 out wraps: SysTick is pending, but masked
    assert b.ocd.word(ICSR) & 1 << 26
    b.ocd.set_word(DHCSR, KEY | DEBUGEN | HALT)
    assert b.ocd.word(ICSR) & 1 << 23
    b.run()
    runs = [e for e in b.board.log() if e.kind == "run"]
    assert runs[-1].extra & Board.PREEMPTED
    assert b.events("enter") == [("enter", 15)]


def test_profiling_identity_over_everything():
    # The counters are 8 bits wide, but the identity between them holds modulo 256 over any time
    with Board.start("m4", "tick") as board, OpenOcd(board) as ocd:
        ocd("halt")
        ocd("poll off")
        ocd.set_word(DEMCR, 1 << 24)
        ocd.set_word(DWT_CTRL, 0x1F << 17 | 1)
        board.write_word("scenario", 0xE3FF)
        looks = []
        for _ in range(8):
            looks.append((ocd.words(DWT_CYCCNT, 6), board.state()))
            ocd.set_word(DHCSR, KEY | DEBUGEN)
            board.run_for(300000)
            ocd.set_word(DHCSR, KEY | DEBUGEN | HALT)
        for ((c0, *r0), s0), ((c1, *r1), s1) in zip(looks, looks[1:]):
            cpi, exc, sleep, lsu, fold = [b - a for a, b in zip(r0, r1)]
            assert (s1["instructions"] - s0["instructions"] - (c1 - c0 - cpi - exc - sleep - lsu + fold)) % 256 == 0
            assert (c1 - c0) % (1 << 32) == s1["cycles"] - s0["cycles"]
        assert any(r != looks[0][0][1:] for (_, *r), _ in looks)


def test_what_a_pop_with_the_pc_and_a_jump_to_the_next_instruction_take(bench):
    """POP of N registers, the PC one of them, takes 3+N; BX and MOV to the PC 2, wherever they lead."""
    b = bench("rp2040", """
        start: ldr r0, =popped + 1
               movs r1, #1
               push {r0}
               push {r1}
               push {r1}
               pop {r1, r2, pc}
        popped: ldr r0, =second + 1
               bx r0
        second: ldr r0, =third + 1
               mov pc, r0
        third: b fourth
        fourth: bkpt #0
    """)
    taken = []
    for _ in range(11):
        before = b.board.state()["cycles"]
        b.step()
        taken.append(b.board.state()["cycles"] - before)
    assert b.board.state()["pc"] == b.symbols["fourth"]
    assert taken == [2, 1, 2, 2, 2, 6, 2, 2, 2, 2, 2]


def test_vectreset_and_what_survives(bench):
    b = bench("m4", "start: b .")
    b.ocd.set_word(DEMCR, 1 << 24 | 1)
    b.ocd.set_word(DWT_CTRL, 1)
    b.ocd.set_word(BP_CTRL, 3)
    b.ocd.set_word(AIRCR, 0x05FA0001)
    state = b.board.state()
    assert state["run"] == "halted" and state["pc"] == b.board.symbol("Reset_Handler")
    assert state["demcr"] == 1 << 24 | 1 and state["fp_ctrl"] & 1 and not state["dwt_ctrl"] & 1
    assert state["syst_csr"] & 3 == 0


def test_floating_point_registers(bench):
    b = bench("m4", """
        start: ldr r0, =0xE000ED88
               ldr r1, =0x00F00000
               str r1, [r0]
               dsb
               isb
               vmov s3, r1
               bkpt #0
               .pool
    """.replace("start:", ".fpu fpv4-sp-d16\nstart:"))
    b.run()
    assert b.register(67) == 0x00F00000
    b.register(70, 0x3F800000)
    assert b.register(70) == 0x3F800000


@BOTH_CHIPS
def test_halted_registers_and_pc_sample(bench, chip):
    b = bench(chip, "start: b .")
    assert b.ocd.word(DWT_PCSR) == 0xFFFFFFFF
    b.resume()
    assert b.ocd.word(DWT_PCSR) == b.symbols["start"]
    b.ocd.set_word(DCRSR, 15)  # running: nothing happens
    b.ocd.set_word(DHCSR, KEY | DEBUGEN | HALT)
    assert b.ocd.word(DFSR) & 1
    b.ocd.set_word(DFSR, 1)
    assert not b.ocd.word(DFSR) & 1
    b.ocd.set_word(DHCSR, DEBUGEN)  # without the key
    assert b.ocd.word(DHCSR) & S_HALT


@BOTH_CHIPS
def test_code_above_0x20000000_is_out_of_the_comparators_reach(bench, chip):
    b = bench(chip, """
        start: nop
        place: nop
               bkpt #0
    """)
    b.ocd.set_word(BP_CTRL, 3)
    b.ocd.set_word(BP_COMP0, 3 << 30 | (b.symbols["place"] & 0x1FFFFFFC) | 1)
    assert b.run()["pc"] == b.symbols["place"] + 2


def test_sigterm_ends_it_cleanly():
    board = Board.start("m4", "tick")
    assert board.close() == 0


def test_nothing_of_the_tool_is_in_the_board():
    lists = list(BUILD.glob("obj-board/**/*.d"))
    assert lists and not [p.name for p in lists if "probe/" in p.read_text()]

"""The DebugMonitor exception of the board's cores, and debug registers that their software does not see."""
import pytest

from cortex_m import DEMCR, DFSR, DHCSR, KEY, BP_CTRL, DWT_CTRL, bench

CHIPS = pytest.mark.parametrize("chip", ["m4", "m55"])
BKPT, DWTTRAP, DEBUGEVT = 1 << 1, 1 << 2, 1 << 31
FLAG = 0x20008000
WRITES = {"m4": 6, "m55": 0x15 | 2 << 10}  # DWT_FUNCTION: stores of a word
# What the program does before; R0 is 0xE000E000, R1 the DWT, R7 the flag of the end
PROLOGUE = f"""
        start: ldr r0, =0xE000E000
               ldr r1, =0xE0001000
               ldr r7, ={FLAG}
               ldr r2, [r0, #0xDFC]
               ldr r3, =0x01010000      // TRCENA, MON_EN
               orr r2, r3
               str r2, [r0, #0xDFC]
"""
END = """
        end:   movs r2, #1
               str r2, [r7]
               b .
               .pool
        DebugMon_Handler: ldr r4, [r0, #0xD30]
               str r4, [r0, #0xD30]
               mrs r6, ipsr
               add r5, #1
               ldr r3, [sp, #24]
               ldrb r2, [r3, #1]
               cmp r2, #0xBE
               it eq
               addeq r3, #2
               str r3, [sp, #24]
               bx lr
        HardFault_Handler: ldr r8, [r0, #0xD2C]
               b end
"""


def go(b):
    """Without halting debug, to the program's end."""
    b.board.write_word(FLAG, 0)
    b.register(5, 0)
    b.ocd.set_word(DFSR, 0x1F)
    b.ocd.set_word(DHCSR, KEY)
    b.board.wait_for(lambda _: b.board.read_word(FLAG), "the end of the program")
    b.ocd.set_word(DHCSR, KEY | 3)
    return b


@CHIPS
def test_bkpt_raises_it(bench, chip):
    b = go(bench(chip, PROLOGUE + "bkpt #1\n" + END))
    assert b.register(5) == 1 and b.register(6) == 12 and b.register(4) == BKPT and b.events("enter") == [("enter", 12)]
    assert b.ocd.word(DFSR) & BKPT == 0, "the program has cleared it"


@CHIPS
def test_bkpt_is_a_hardfault_above_its_priority(bench, chip):
    """DDI 0403E B3.2.16, HFSR.DEBUGEVT."""
    b = go(bench(chip, PROLOGUE + "cpsid i\n bkpt #1\n" + END))
    assert b.register(5) == 0 and b.register(8) & DEBUGEVT and b.events("enter") == [("enter", 3)]


@CHIPS
def test_bkpt_without_mon_en_is_a_hardfault(bench, chip):
    b = go(bench(chip, PROLOGUE + "bic r2, #0x10000\n str r2, [r0, #0xDFC]\n bkpt #1\n" + END))
    assert b.register(5) == 0 and b.register(8) & DEBUGEVT


def watch(chip):
    return f"ldr r2, ={FLAG + 16}\n str r2, [r1, #0x20]\n ldr r2, ={WRITES[chip]}\n str r2, [r1, #0x28]\n"


@CHIPS
@pytest.mark.parametrize("masked", [False, True])
def test_a_watchpoint_raises_it_when_the_priority_lets_it(bench, chip, masked):
    mask, unmask = ("cpsid i\n", "ldr r9, [r0, #0xDFC]\n mov r10, r5\n cpsie i\n isb\n") if masked else ("", "")
    b = go(bench(chip, PROLOGUE + watch(chip) + mask + "str r2, [r7, #16]\n nop\n nop\n nop\n nop\n" + unmask + END))
    assert b.register(5) == 1 and b.register(6) == 12 and b.register(4) == DWTTRAP
    if masked:
        assert b.register(10) == 0 and b.register(9) & 1 << 17, "pending: DEMCR.MON_PEND"


@CHIPS
def test_with_halting_debug_it_is_a_halt(bench, chip):
    """DDI 0403E C1.6.5: MON_EN counts only while C_DEBUGEN is 0."""
    b = bench(chip, PROLOGUE + watch(chip) + "str r2, [r7, #16]\n nop\n nop\n nop\n nop\n" + END)
    state = b.run()
    assert state["dfsr"] & DWTTRAP and state["run"] == "halted" and not b.events("enter")


@CHIPS
def test_mon_pend_raises_it_without_mon_en(bench, chip):
    b = go(bench(chip, PROLOGUE + "bic r2, #0x10000\n orr r2, #0x20000\n str r2, [r0, #0xDFC]\n isb\n" + END))
    assert b.register(5) == 1 and b.register(6) == 12 and b.register(4) == 0


def test_a_breakpoint_comparator_raises_it(bench):
    b = bench("m55", PROLOGUE + """
               ldr r3, =0xE0002000
               ldr r2, =there
               orr r2, #1
               str r2, [r3, #8]
               movs r2, #3
               str r2, [r3]
        there: nop
    """ + END.replace("add r5, #1", "add r5, #1\n ldr r2, =0xE0002000\n movs r3, #0\n str r3, [r2, #8]\n").replace(
        "HardFault_Handler", ".pool\n HardFault_Handler"))
    go(b)
    assert b.register(5) == 1 and b.register(4) == BKPT and b.events("enter") == [("enter", 12)]


@pytest.mark.parametrize("chip, sees", [("rp2040", False), ("m4", True), ("m55", True)])
def test_what_software_sees_of_the_debug_registers(bench, chip, sees):
    """On a Cortex-M0+ nothing: they are the debugger's alone (DDI 0419C C1.2: IMPLEMENTATION DEFINED; core_cm0plus.h of CMSIS)."""
    b = bench(chip, """
        start: ldr r0, =0xE000EDF0
               ldr r1, [r0]
               ldr r2, [r0, #12]
               movs r3, #1
               lsls r3, #24
               str r3, [r0, #12]
               ldr r0, =0xE0001000
               ldr r4, [r0]
               ldr r0, =0xE0002000
               ldr r5, [r0]
               bkpt #0
               .pool
    """)
    b.ocd.set_word(DEMCR, 1 << 10)
    b.run()
    assert [bool(b.register(1) & 1), b.register(2) == 1 << 10, bool(b.register(4)), bool(b.register(5))] == [sees] * 4
    assert b.ocd.word(DEMCR) == (1 << 24 if sees else 1 << 10)
    assert b.ocd.word(DHCSR) & 1 and b.ocd.word(DWT_CTRL) and b.ocd.word(BP_CTRL)

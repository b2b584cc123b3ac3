"""The board's data watchpoints: stores that a comparator of the DWT waits for halt the core, on time or a little late."""
import pytest

from cortex_m import DEMCR, DFSR, DHCSR, KEY, SYST_CVR, bench

TRCENA, DWTTRAP, MATCHED = 1 << 24, 1 << 2, 1 << 24
COMP, MASK, FUNCTION, STRIDE = 0xE0001020, 0xE0001024, 0xE0001028, 16
CHIPS = ["rp2040", "m4", "m55"]
LAST = {"rp2040": 1, "m4": 3, "m55": 3}
BEHIND = {"rp2040": (0, 0), "m4": (1, 2), "m55": (1, 2)}  # instructions that execute after the store, in turn
WORD = 0x20008000
EVERY_CHIP = pytest.mark.parametrize("chip", CHIPS)

STORES = f"""
        start: ldr r1, =place
               ldr r1, [r1]
               movs r0, #7
               nop
        first: str r0, [r1]
               nop
               nop
               nop
               nop
        again: str r0, [r1]
               nop
               nop
               nop
               bkpt #0
               .pool
               .align 2
        place: .word {WORD}
"""


def watch(b, address, n=None, size=2, kind="write"):
    """Comparator `n`, the last one unless given, at accesses to 2^size bytes."""
    n = LAST[b.board.chip] if n is None else n
    b.ocd.set_word(DEMCR, TRCENA)
    b.ocd.set_word(COMP + STRIDE * n, address)
    if b.board.chip == "m55":
        b.ocd.set_word(FUNCTION + STRIDE * n, {"write": 0x15, "access": 0x14, "read": 0x16, "traced": 0x25}[kind] | size << 10)
    else:
        b.ocd.set_word(MASK + STRIDE * n, size)
        b.ocd.set_word(FUNCTION + STRIDE * n, {"write": 6, "access": 7, "read": 5, "traced": 13}[kind])
    return n


def function(b, n):
    return b.ocd.word(FUNCTION + STRIDE * n)


@EVERY_CHIP
@pytest.mark.parametrize("kind", ["write", "access"])
def test_stores_halt_the_core_on_time_or_a_little_late(bench, chip, kind):
    b = bench(chip, STORES)
    n = watch(b, WORD, kind=kind)
    for name, behind in zip(("first", "again"), BEHIND[chip]):
        state = b.run()
        assert state["pc"] == b.symbols[name] + 2 + 2 * behind
        assert state["dfsr"] & DWTTRAP and b.events("halt")[-1] == ("halt", DWTTRAP)
        assert function(b, n) & MATCHED and not function(b, n) & MATCHED  # reading clears it
        assert b.board.read_word(WORD) == 7  # it was done
        b.ocd.set_word(DFSR, 0x1F)
    assert b.run()["dfsr"] == 2  # no third one: the BKPT


@EVERY_CHIP
@pytest.mark.parametrize("kind", ["read", "traced"])
def test_other_functions_do_not_halt_at_stores(bench, chip, kind):
    b = bench(chip, STORES)
    n = watch(b, WORD, kind=kind)
    assert b.run()["dfsr"] & 0x1E == 2
    assert bool(function(b, n) & MATCHED) == (kind == "traced" and chip != "rp2040")


@EVERY_CHIP
def test_stores_to_the_private_peripheral_bus_are_seen(bench, chip):
    b = bench(chip, STORES.replace(f"{WORD}", f"{SYST_CVR}"))
    watch(b, SYST_CVR)
    assert b.run()["pc"] == b.symbols["first"] + 2 + 2 * BEHIND[chip][0]


@EVERY_CHIP
def test_neighbours_do_not_match_unless_the_range_has_them(bench, chip):
    b = bench(chip, STORES)
    watch(b, WORD + 4)
    assert b.run()["dfsr"] & 0x1E == 2
    b.ocd.set_word(DFSR, 0x1F)
    b.load(STORES.replace("str r0", "strb r0"))
    watch(b, WORD if chip == "m55" else WORD + 0xF & ~0xF, size=0 if chip == "m55" else 4)
    assert b.run()["dfsr"] & DWTTRAP


@EVERY_CHIP
def test_nothing_halts_without_trace_or_debug(bench, chip):
    b = bench(chip, STORES.replace("bkpt #0", "b ."))
    watch(b, WORD)
    b.ocd.set_word(DEMCR, 0)
    b.resume()
    b.board.run_for(1000)
    assert b.board.state()["run"] == "running"
    b = bench(chip, STORES.replace("bkpt #0", "b ."))
    watch(b, WORD)
    b.ocd.set_word(DHCSR, KEY)  # runs, and debugging is off
    b.board.run_for(1000)
    assert b.board.state()["run"] == "running" and not b.board.state()["dfsr"] & DWTTRAP


@EVERY_CHIP
def test_a_debuggers_writes_do_not_match(bench, chip):
    b = bench(chip, "start: b .")
    n = watch(b, WORD)
    b.resume()
    b.ocd.set_word(WORD, 5)
    b.board.run_for(1000)
    assert b.board.state()["run"] == "running" and not function(b, n) & MATCHED


@EVERY_CHIP
def test_a_breakpoint_before_the_late_stop_shows_both(bench, chip):
    b = bench(chip, STORES.replace("first: str r0, [r1]", "first: str r0, [r1]\nbkpt #1"))
    watch(b, WORD)
    state = b.run()
    assert state["pc"] == b.symbols["first"] + 2
    assert state["dfsr"] & 0x1E == (DWTTRAP if chip == "rp2040" else DWTTRAP | 2)


@EVERY_CHIP
def test_a_comparator_that_is_switched_off_lets_the_core_run(bench, chip):
    b = bench(chip, STORES.replace("bkpt #0", "b start"))
    n = watch(b, WORD)
    b.run()
    b.ocd.set_word(FUNCTION + STRIDE * n, 0)
    b.resume()
    b.board.run_for(2000)
    assert b.board.state()["run"] == "running"

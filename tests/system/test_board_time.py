"""Long regions, kept ticks, profiling counters and the RP2040's timer: that the board and its firmware give what tests of
64-bit totals rely on."""

import subprocess
import time

import pytest

from board import BUILD, Board
from cortex_m import (ABOVE_TICK, BOTH_CHIPS, BP_COMP0, BP_CTRL, DEBUGEN, DEMCR, DHCSR, DWT_CPI, DWT_CTRL, DWT_CYCCNT,
                      DWT_EXC, DWT_FOLD, DWT_LSU, DWT_SLEEP, ICSR, KEY, NOP_MORE, SPAN_10, SPAN_100M, SPAN_1K,
                      SPAN_1M, SUSPENDED, SYST_CVR, SYST_RVR, TICK_EDGE, attach, between, comparator, wait_halted)

PERIOD = 12000  # of the build with a tick of 1 ms
PENDSTSET = 1 << 26
PLAIN, HAL, RTOS = range(3)
SPANS = [("span_10", SPAN_10, 10), ("span_1k", SPAN_1K, 1000), ("span_1m", SPAN_1M, 10 ** 6),
         ("span_100m", SPAN_100M, 10 ** 8)]
FASTEST = {"clock": 1000000000}


def begun(board, *bits):
    """The firmware is through with its start-up and runs these scenarios only."""
    board.wait_for(lambda s: board.read_word("round_count") > 0, "the first round")
    if board.chip == "rp2040":
        board.write_word("core1_rest", 1)
    board.scenario(*bits)
    return board


def passages(board, start, end, count):
    """That many pairs of reach events, in the order of time."""
    board.watch(start, end)
    pairs, begin = [], None
    while len(pairs) < count:
        pairs, begin = [], None
        for event in between(board.log(), "reach"):
            if event.pc == board.address(start):
                begin = event
            elif begin:
                pairs.append((begin, event))
                begin = None
        time.sleep(0.001)
    return pairs[:count]


# Regions of a known length

@BOTH_CHIPS
@pytest.mark.parametrize("name, bit, cycles", SPANS)
def test_spans_have_their_length(chip, name, bit, cycles):
    with Board.start(chip, **FASTEST) as board:
        begun(board, bit)
        for begin, end in passages(board, f"{name}_start", f"{name}_end", 3):
            assert end.cycles - begin.cycles == end.counted - begin.counted == cycles


def test_cycle_counter_over_its_wrap(attach):
    board, ocd = attach("m4", **FASTEST)
    begun(board, SPAN_100M)
    ocd("halt")
    start, end = board.symbol("span_100m_start"), board.symbol("span_100m_end")
    ocd.run_to(start)
    ocd.set_word(DEMCR, 1 << 24)
    ocd.set_word(DWT_CTRL, 1)
    ocd.set_word(DWT_CYCCNT, 0xFFFFFFFF - 50000000)
    first, before = ocd.word(DWT_CYCCNT), board.state()
    ocd.run_to(end)
    second, after = ocd.word(DWT_CYCCNT), board.state()
    assert after["counted"] - before["counted"] == 10 ** 8 == (second - first) % 2 ** 32
    assert second < first


def test_cycle_counter_all_the_way_round(attach):
    board, ocd = attach("m4", **FASTEST)
    begun(board, SPAN_100M)
    ocd.set_word(DEMCR, 1 << 24)
    ocd.set_word(DWT_CTRL, 1)
    ocd("halt")
    first, before = ocd.word(DWT_CYCCNT), board.state()
    ocd("resume")
    board.run_for(2 ** 32)
    ocd("halt")
    second, after = ocd.word(DWT_CYCCNT), board.state()
    assert after["counted"] - before["counted"] > 2 ** 32
    assert (after["counted"] - before["counted"]) % 2 ** 32 == (second - first) % 2 ** 32


def nop_more_lengths(board, count):
    board.watch("nop_more")
    board.run_for(100000)
    back = between(board.log(), "reach")[0].lr & ~1
    return [end.cycles - begin.cycles for begin, end in passages(board, "nop_more", back, count)]


@BOTH_CHIPS
def test_the_slower_build_has_one_nop_more(chip):
    run = lambda *words: subprocess.run(words, check=True, capture_output=True, text=True).stdout.splitlines()
    files = [str(BUILD / "firmware" / f"{chip}-{mode}.elf") for mode in ("free", "slower")]
    symbols = [run("arm-none-eabi-nm", "-n", name) for name in files]
    assert symbols[0] == symbols[1]
    code = [run("arm-none-eabi-objdump", "-d", name)[2:] for name in files]
    differ = [(a.split("\t")[2].strip(), b.split("\t")[2].strip()) for a, b in zip(*code) if a != b]
    assert len(code[0]) == len(code[1]) and differ == [("bx", "nop"), ("nop", "bx")]
    lengths = []
    for mode in ("free", "slower"):
        with Board.start(chip, mode) as board:
            begun(board, NOP_MORE)
            lengths += nop_more_lengths(board, 1)
    assert lengths[1] == lengths[0] + 1


@BOTH_CHIPS
def test_nop_more_varies_as_asked(chip):
    with Board.start(chip, "slower") as board:
        begun(board, NOP_MORE)
        board.write_word("nop_more_spread", 15)
        assert len(set(nop_more_lengths(board, 200))) == 16


# How ticks are kept

@BOTH_CHIPS
@pytest.mark.parametrize("style, step", [(PLAIN, 1), (HAL, 1), (HAL, 10), (RTOS, 1)])
def test_tick_of_a_millisecond(attach, chip, style, step):
    board, ocd = attach(chip, "ms")
    begun(board)
    clock = int.from_bytes(board.read("SystemCoreClock", 4), "little")
    board.write_word("tick_style", style)
    board.write("uwTickFreq", bytes([step]))
    board.run_for(50000)
    ocd("halt")
    assert ocd.word(SYST_RVR) == clock // 1000 * step - 1
    names = ("tick_count", "uwTick", "xTickCount", "xPendedTicks")
    before = [board.read_word(name) for name in names]
    board.watch("main")
    ocd("resume")
    board.run_for(1000000)
    ocd("halt")
    moved = [board.read_word(name) - then for name, then in zip(names, before)]
    taken = between(board.log(), "return", extra=15)
    assert len(taken) >= 8
    kept = {PLAIN: [len(taken), 0, 0, 0], HAL: [0, step * len(taken), 0, 0], RTOS: [0, 0, len(taken), 0]}[style]
    # Halted inside the handler, it may have counted already
    assert moved == kept or board.state()["xpsr"] & 0x1FF == 15 and sum(moved) == sum(kept) + step
    entered = between(board.log(), "enter", extra=15)
    assert all(abs(b.cycles - a.cycles - PERIOD * step) < 100 for a, b in zip(entered, entered[1:]))


@BOTH_CHIPS
def test_ticks_that_are_put_by(attach, chip):
    board, ocd = attach(chip, "ms")
    begun(board, SUSPENDED)
    board.write_word("tick_style", RTOS)
    board.run_for(200000)
    ocd("halt")
    start = board.symbol("suspended_span")
    ocd.run_to(start)
    kept, put_by, before = board.read_word("xTickCount"), board.read_word("xPendedTicks"), board.state()["cycles"]
    assert board.read_word("uxSchedulerSuspended") == 1 and put_by <= 1
    board.watch("main")
    ocd.run_to(board.state()["lr"] & ~1)
    taken = len(between(board.log(), "return", extra=15))
    assert taken >= 2 and abs(taken - (board.state()["cycles"] - before) / PERIOD) <= 1
    assert (board.read_word("xTickCount"), board.read_word("xPendedTicks")) == (kept, put_by + taken)
    ocd.run_to(start)
    taken = len(between(board.log(), "return", extra=15))
    assert board.read_word("xTickCount") + board.read_word("xPendedTicks") == kept + put_by + taken
    assert board.read_word("xPendedTicks") <= 1


# Regions whose ends are at the reload

def at_phase(phase):
    """CVR, and whether the tick waits, where `phase` cycles have passed since CVR was 16."""
    return (16 - phase) % PERIOD, phase >= 16


@BOTH_CHIPS
@pytest.mark.parametrize("start, end", [(0, 31), (15, 16), (16, 16), (16, 15), (17, 17), (31, 0)])
def test_both_ends_at_the_reload(attach, chip, start, end):
    board, ocd = attach(chip, "ms")
    begun(board, TICK_EDGE)
    for name, value in (("edge_sweep", 0), ("edge_start", start), ("edge_end", end)):
        board.write_word(name, value)
    board.run_for(100000)
    ocd("halt")
    for _ in range(2):
        ocd.run_to(board.symbol("tick_edge_start"))
        assert (ocd.word(SYST_CVR), bool(ocd.word(ICSR) & PENDSTSET)) == at_phase(start)
        count, before = board.read_word("tick_count"), board.state()["counted"]
        ocd.run_to(board.symbol("tick_edge_end"))
        assert (ocd.word(SYST_CVR), bool(ocd.word(ICSR) & PENDSTSET)) == at_phase(end)
        # A whole period, and the tick of its beginning was taken inside
        assert board.read_word("tick_count") == count + 1
        assert board.state()["counted"] - before == PERIOD + end - start


@BOTH_CHIPS
def test_edges_go_through_all_phases(chip):
    with Board.start(chip, "ms", **FASTEST) as board:
        begun(board, TICK_EDGE)
        pairs = passages(board, "tick_edge_start", "tick_edge_end", 200)
        lengths = {end.counted - begin.counted - PERIOD for begin, end in pairs}
        assert min(lengths) >= -31 and max(lengths) <= 31 and len(lengths) > 50


@BOTH_CHIPS
def test_ends_at_the_reload_without_a_tick_between(attach, chip):
    board, ocd = attach(chip, "ms")
    begun(board, TICK_EDGE)
    for name, value in (("edge_sweep", 0), ("edge_start", 17), ("edge_end", 15), ("edge_open", 0)):
        board.write_word(name, value)
    board.run_for(100000)
    ocd("halt")
    ocd.run_to(board.symbol("tick_edge_start"))
    count = board.read_word("tick_count")
    board.watch("main")
    ocd.run_to(board.symbol("tick_edge_end"))
    assert ocd.word(ICSR) & PENDSTSET and board.read_word("tick_count") == count
    assert not between(board.log(), "enter")


@BOTH_CHIPS
def test_region_in_a_handler_above_the_tick(attach, chip):
    board, ocd = attach(chip, "ms")
    begun(board, ABOVE_TICK)
    board.write_word("edge_sweep", 0)
    board.write_word("edge_start", 5)
    board.run_for(100000)
    ocd("halt")
    ocd.run_to(board.symbol("above_tick_start"))
    assert board.state()["xpsr"] & 0x1FF == 16 + 4
    assert (ocd.word(SYST_CVR), bool(ocd.word(ICSR) & PENDSTSET)) == (11, False)
    board.watch("main")
    ocd.run_to(board.symbol("above_tick_end"))
    assert ocd.word(ICSR) & PENDSTSET and not between(board.log(), "enter")
    ocd.run_to(board.symbol("SysTick_Handler"))
    assert between(board.log(), "enter", extra=15)


# The DWT's profiling counters

DWT_REGIONS = [("dwt_cpi", DWT_CPI, [27, 0, 0, 0, 0]), ("dwt_exc", DWT_EXC, [4, 44, 0, 0, 0]),
               ("dwt_sleep", DWT_SLEEP, [0, 0, 99, 0, 0]), ("dwt_lsu", DWT_LSU, [0, 0, 0, 15, 0]),
               ("dwt_fold", DWT_FOLD, [0, 0, 0, 0, 5]), ("span_1k", SPAN_1K, [498, 0, 0, 1, 0])]


@pytest.mark.parametrize("name, bit, wanted", DWT_REGIONS)
def test_profiling_counters_tell_what_happened(attach, name, bit, wanted):
    board, ocd = attach("m4", "ms")
    begun(board, bit)
    ocd("halt")
    ocd("poll off")
    ocd.set_word(DEMCR, 1 << 24)
    ocd.set_word(DWT_CTRL, 0x1F << 17 | 1)
    ocd.set_word(BP_CTRL, 3)
    board.watch("main")
    readings = []
    for _ in range(30):
        for place in (f"{name}_start", f"{name}_end"):
            ocd.set_word(BP_COMP0, comparator(board.symbol(place)))
            ocd.set_word(DHCSR, KEY | DEBUGEN)
            wait_halted(ocd)
            readings.append(ocd.words(DWT_CYCCNT, 6))
    events = board.log()
    halts = between(events, "halt")
    quiet = 0
    for n in range(0, len(readings), 2):
        shown = [(b - a) % 256 for a, b in zip(readings[n][1:], readings[n + 1][1:])]
        counts = [list(halts[n + i].counts.values()) for i in (0, 1)]
        happened = [b - a for a, b in zip(*counts)]
        assert shown == [value % 256 for value in happened]
        assert (readings[n + 1][0] - readings[n][0]) % 2 ** 32 == halts[n + 1].counted - halts[n].counted
        inside = events[events.index(halts[n]):events.index(halts[n + 1])]
        if not between(inside, "enter", extra=15):
            assert happened == wanted
            quiet += 1
    assert quiet > 10


def test_writing_one_counter_leaves_the_others(attach):
    board, ocd = attach("m4", "ms")
    ocd("halt")
    ocd.set_word(DEMCR, 1 << 24)
    ocd.set_word(DWT_CTRL, 0x1F << 17 | 1)
    ocd("resume")
    board.run_for(20000)
    ocd("halt")
    before = ocd.words(DWT_CYCCNT, 6)
    assert any(before[1:])
    for value in (5, 6):
        ocd.set_word(DWT_CYCCNT, value)
        assert ocd.words(DWT_CYCCNT, 6) == [value] + before[1:]


def test_profile_of_the_truth_adds_up():
    """Instructions are cycles but for those of the profile, in any stretch (DDI 0403E C1.8.5)."""
    with Board.start("m4", "ms") as board:
        board.scenario(*range(11), 13, 14, 15, *range(20, 29))
        state = board.state()
        for _ in range(20):
            before = state
            board.run_for(50000)
            state = board.state()
            cpi, exc, sleep, lsu, fold = (b - a for a, b in zip(before["profile"], state["profile"]))
            cycles = state["cycles"] - before["cycles"]
            assert state["instructions"] - before["instructions"] == cycles - cpi - exc - sleep - lsu + fold
        board.watch("main")
        board.run_for(50000)
        assert set(board.log()[0].counts) == {0x08, 0x0C, 0x10, 0x14, 0x18}

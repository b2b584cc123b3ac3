"""The board's ground truth, its halt costs and its time: what is counted, what is not, and that debugging changes neither."""

import random

import pytest

from board import Board, OpenOcd
from cortex_m import (SYST_CVR, ICSR, DHCSR, BP_CTRL, BP_COMP0, KEY, DEBUGEN, HALT, STEP, MASKINTS, WORK, TWICE,
                      RECURSE, SLEEPER, LOOP, MASKED, BOTH_CHIPS, comparator, wait_halted, between, attach)

PLACES = ["main", "recurse", "called_twice", "loop_head", "in_ram_step", "work_by_data", "ping", "masked_work"]


@pytest.mark.parametrize("first, second, cycles", [("plain_first", "plain_second", 2), ("nop_first", "nop_second", 3)])
def test_published_systick_deltas(attach, first, second, cycles):
    board, ocd = attach("rp2040")
    ocd("halt")
    for _ in range(3):
        ocd.run_to(board.symbol(first))
        start = ocd.word(SYST_CVR)
        ocd.run_to(board.symbol(second))
        assert (start - ocd.word(SYST_CVR)) % (1 << 24) == cycles
    assert board.read_word("plain_result") == 2 and board.read_word("nop_result") == 3


@BOTH_CHIPS
def test_truth_is_what_the_counter_shows(attach, chip):
    board, ocd = attach(chip)
    ocd("halt")
    ocd("poll off")
    start, end = board.symbol("work_by_data"), board.symbol("caller_one")
    board.watch(start, end)
    ocd.set_word(BP_CTRL, 3)
    seen = []
    for n in range(20):
        ocd.set_word(BP_COMP0, comparator([start, end][n % 2]))
        ocd.set_word(DHCSR, KEY | DEBUGEN)
        wait_halted(ocd)
        seen.append(ocd.word(SYST_CVR))
    halts = between(board.log(), "halt")
    assert [h.pc for h in halts] == [start, end] * 10
    assert all(h.extra == Board.BKPT for h in halts)
    for i in range(19):
        passed = (seen[i] - seen[i + 1]) % (1 << 24)
        assert passed == halts[i + 1].counted - halts[i].counted == halts[i + 1].cycles - halts[i].cycles


def test_halt_cost_moves_the_counters_and_not_the_program(attach):
    board, ocd = attach("rp2040", halt_cost="20..60", seed=7)
    ocd("halt")
    ocd("poll off")
    place = board.symbol("work_by_data")
    ocd.set_word(BP_CTRL, 3)
    ocd.set_word(BP_COMP0, comparator(place))
    ocd.set_word(DHCSR, KEY | DEBUGEN)
    wait_halted(ocd)
    board.watch(place)
    costs = []
    for _ in range(40):
        before = ocd.word(SYST_CVR)
        ocd.set_word(DHCSR, KEY | DEBUGEN)  # the comparator is still there: nothing executes
        wait_halted(ocd)
        costs.append((before - ocd.word(SYST_CVR)) % (1 << 24))
    events = board.log()
    halts, runs = between(events, "halt"), between(events, "run")
    assert len({h.cycles for h in halts}) == 1 and all(h.pc == place for h in halts)
    assert not between(events, "reach")
    assert all(r.extra == Board.NOTHING_DONE for r in runs[1:])
    assert min(costs) >= 20 and max(costs) <= 60 and len(set(costs)) > 5
    assert sum(costs[1:]) == halts[-1].counted - halts[0].counted
    board.set("halt-cost", 11)
    before = ocd.word(SYST_CVR)
    for _ in range(4):
        ocd.set_word(DHCSR, KEY | DEBUGEN)
        wait_halted(ocd)
    # The exit of the first was still owed by a halt under the old range, if that is drawn at its entry: it is not
    assert (before - ocd.word(SYST_CVR)) % (1 << 24) == 4 * 11


def reached_since_reset(board, count):
    """(address, cycles since the reset, stack) of the first passages, as many as given, after the last reset."""
    events = board.log()
    first = max(i for i, e in enumerate(events) if e.kind == "reset")
    origin = events[first].cycles
    passages = [(e.pc, e.cycles - origin, e.sp) for e in events[first:] if e.kind == "reach"]
    assert len(passages) >= count
    return passages[:count]


@BOTH_CHIPS
def test_debugging_does_not_change_what_the_program_does(attach, chip):
    """Without interrupts the same passages happen at the same program cycles, however often it is halted."""
    with Board.start(chip) as board:
        board.watch(*PLACES)
        board.command("reset")
        board.run_for(300000)
        undisturbed = reached_since_reset(board, 150)
    board, ocd = attach(chip, halt_cost="3..90")
    chance = random.Random(5)
    ocd("poll off")
    board.watch(*PLACES)
    ocd.set_word(BP_CTRL, 3)
    board.command("reset")
    start = board.state()["cycles"]
    while board.state()["cycles"] < start + 250000:
        place = board.symbol(chance.choice(PLACES[1:]))  # main is passed only once
        ocd.set_word(BP_COMP0, comparator(place) if place < 0x20000000 else 0)
        ocd.set_word(DHCSR, KEY | DEBUGEN)
        if chance.random() < 0.3 or place >= 0x20000000:
            ocd.set_word(DHCSR, KEY | DEBUGEN | HALT)
        wait_halted(ocd)
        for _ in range(chance.randrange(5)):
            ocd.set_word(DHCSR, KEY | DEBUGEN | STEP | MASKINTS)
    assert reached_since_reset(board, 150) == undisturbed


def test_share_of_halts_that_pend_an_interrupt(attach):
    board, ocd = attach("rp2040", halt_irq=300)
    ocd("poll off")
    board.scenario(WORK)
    pended = 0
    for _ in range(200):
        ocd.set_word(DHCSR, KEY | DEBUGEN | HALT)
        pended += bool(ocd.word(0xE000E200) & (1 << 3))
        ocd.set_word(0xE000E280, 1 << 3)
        ocd.set_word(DHCSR, KEY | DEBUGEN)
    assert 30 <= pended <= 90


def test_same_seed_same_costs():
    def costs():
        with Board.start("rp2040", "free", halt_cost="0..1000", seed=42) as board, OpenOcd(board) as ocd:
            ocd("halt")
            ocd("poll off")
            board.watch("main")
            for _ in range(5):
                ocd.set_word(DHCSR, KEY | DEBUGEN | HALT)
                ocd.set_word(DHCSR, KEY | DEBUGEN | STEP | MASKINTS)
            events = board.log()
            return [b.counted - b.cycles - a.counted + a.cycles for a, b in zip(events, events[1:])]

    assert costs() == costs()


@BOTH_CHIPS
def test_a_tick_that_waits_preempts_at_resume(attach, chip):
    board, ocd = attach(chip, "tick")
    ocd("halt")
    ocd("poll off")
    place = board.symbol("preempted")
    ocd.set_word(BP_CTRL, 3)
    ocd.set_word(BP_COMP0, comparator(place))
    ocd.set_word(DHCSR, KEY | DEBUGEN)
    wait_halted(ocd)
    assert not ocd.word(ICSR) & (1 << 23)
    board.watch(place)
    ocd.set_word(ICSR, 1 << 26)  # PENDSTSET
    assert ocd.word(ICSR) & (1 << 23)
    ocd.set_word(DHCSR, KEY | DEBUGEN)
    wait_halted(ocd)
    kinds = [(e.kind, e.extra) for e in board.log()]
    assert kinds[0] == ("run", Board.PREEMPTED | Board.PENDED_WHILE_HALTED)
    assert kinds[1:] == [("enter", 15), ("return", 15), ("halt", Board.BKPT)]
    assert board.state()["pc"] == place


def test_halt_irq_pends_while_halted(attach):
    board, ocd = attach("rp2040", halt_irq=1000)
    board.scenario(WORK)  # nothing that masks interrupts
    board.run_for(100000)
    ocd("halt")
    icsr = ocd.word(ICSR)
    assert icsr & (1 << 22) and icsr & (1 << 23) and icsr >> 12 & 0x1FF == 19
    board.watch("main")
    before = board.read_word("irq3_count")
    ocd("resume")
    board.wait_for(lambda s: board.read_word("irq3_count") == before + 1)
    events = board.log()
    assert events[0].extra & (Board.PREEMPTED | Board.PENDED_WHILE_HALTED) == 5
    assert (events[1].kind, events[1].extra) == ("enter", 19)
    board.command("irq 3")
    board.wait_for(lambda s: board.read_word("irq3_count") == before + 2)


@BOTH_CHIPS
def test_ticks_come_at_their_period(chip):
    with Board.start(chip, "tick") as board:
        board.watch("main")
        board.run_for(3000000)
        board.scenario(SLEEPER, MASKED, RECURSE)
        board.run_for(3000000)
        events = board.log()
        entries = between(events, "enter", extra=15)
        assert len(entries) >= 8
        # The tick is taken within what the longest instruction and the masked section hold it back
        late = [(b.cycles - a.cycles) - 600000 for a, b in zip(entries, entries[1:])]
        assert all(abs(x) < 1500 for x in late)
        assert len(between(events, "return", extra=15)) in (len(entries), len(entries) - 1)
        assert between(events, "sleep") and between(events, "wake")


def test_recursion_and_frames():
    with Board.start("rp2040") as board:
        board.watch("recurse")
        board.run_for(1000000)
        sps = [e.sp for e in board.log()]
        assert 2 < len(set(sps)) <= 6


def test_log_is_paged_and_cleared():
    with Board.start("rp2040") as board:
        board.scenario(LOOP, TWICE)
        board.watch("loop_head", "called_twice")
        board.run_for(3000000)
        events = board.log()
        assert len(events) > 20000 and [e.index for e in events] == list(range(len(events)))
        board.watch()
        assert board.command("log")["events"] == []

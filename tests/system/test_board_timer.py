"""The RP2040's timer on the virtual board: the cores' time in microseconds, and what halts do to it."""

import time

import pytest

from board import Board
from cortex_m import (BP_COMP0, BP_CTRL, DCRDR, DCRSR, DEBUGEN, DHCSR, HALT, KEY, STEP, attach, bench, comparator,
                      wait_halted)
from swd_client import CORE0, CORE1, Swd

TIMER = 0x40054000
TIMEHW, TIMELW, TIMEHR, TIMELR, RAWH, RAWL, DBGPAUSE, PAUSE = (TIMER + offset for offset in
                                                             (0x0, 0x4, 0x8, 0xC, 0x24, 0x28, 0x2C, 0x30))
XOR, SET, CLEAR = 0x1000, 0x2000, 0x3000
CYCLES = 12  # a microsecond, at 12 MHz


def raw(ocd):
    return ocd.word(RAWH) << 32 | ocd.word(RAWL)


def stop(ocd):
    ocd.set_word(DHCSR, KEY | DEBUGEN | HALT)
    wait_halted(ocd)


def go(ocd, bits=0):
    ocd.set_word(DHCSR, KEY | DEBUGEN | bits)


@pytest.fixture
def halted(attach):
    def start(**options):
        board, ocd = attach("rp2040", **options)
        ocd("poll off")
        stop(ocd)
        return board, ocd

    return start


@pytest.mark.parametrize("cost", ["0", "20..60"])
def test_timer_is_what_the_core_counts(halted, cost):
    """To the cycle, costs of halts and steps included, and not a moment of the halts themselves."""
    board, ocd = halted(halt_cost=cost)
    looks = []
    for n in range(30):
        looks.append((board.state()["counted"], raw(ocd)))
        time.sleep(0.002)
        assert raw(ocd) == looks[-1][1]
        for _ in range(n % 3):
            go(ocd, HALT | STEP)
            go(ocd, STEP)
        go(ocd)
        board.run_for(5000 + 997 * n)
        stop(ocd)
    assert looks[-1][1] > looks[0][1] + 100
    # The timer's start, in cycles, is not known; one must fit all
    assert any(len({us - (counted + phase) // CYCLES for counted, us in looks}) == 1 for phase in range(CYCLES))


def test_core_and_debugger_see_the_same(bench):
    b = bench("rp2040", """
start:  ldr r3, =0x40054000
        ldr r0, [r3, #0x28]
        ldr r1, [r3, #0x0c]
        ldr r2, [r3, #0x08]
        ldr r4, [r3, #0x2c]
done:   bkpt
        .pool
""")
    before = raw(b.ocd)
    b.run()
    assert before <= b.register(0) <= b.register(1) <= raw(b.ocd) <= before + 2
    assert b.register(2) == 0 and b.register(4) == 7


def test_low_word_latches_the_high_one(halted):
    board, ocd = halted()
    ocd.set_word(TIMELW, 0xFFFFFFF0)
    ocd.set_word(TIMEHW, 0x12)
    assert ocd.word(TIMELR) == 0xFFFFFFF0
    go(ocd)
    board.run_for(CYCLES * 100)
    stop(ocd)
    assert ocd.word(RAWH) == 0x13 and ocd.word(RAWL) < 0x10000000
    assert ocd.word(TIMEHR) == 0x12  # as of the last read of the low word
    ocd.word(TIMELR)
    assert ocd.word(TIMEHR) == 0x13


def test_written_low_word_waits_for_the_high_one(halted):
    board, ocd = halted()
    before = raw(ocd)
    ocd.set_word(TIMELW, 0x80000000)
    assert raw(ocd) == before
    ocd.set_word(TIMEHW, 5)
    assert raw(ocd) == 0x580000000


def test_goes_on_while_halted_if_it_is_told_to(halted):
    board, ocd = halted()
    before = raw(ocd)
    assert ocd.word(DBGPAUSE) == 7
    ocd.set_word(DBGPAUSE + CLEAR, 6)
    assert ocd.word(DBGPAUSE) == 1
    cycles = board.state()["cycles"]
    board.wait_for(lambda s: raw(ocd) > before + 3000)
    assert board.state()["cycles"] == cycles
    ocd.set_word(DBGPAUSE + SET, 2)
    stands = raw(ocd)
    time.sleep(0.02)
    assert raw(ocd) == stands
    ocd.set_word(DBGPAUSE + XOR, 6)
    assert ocd.word(DBGPAUSE) == 5
    board.wait_for(lambda s: raw(ocd) > stands + 3000)  # the other core runs


def test_paused(halted):
    board, ocd = halted()
    ocd.set_word(PAUSE, 1)
    stands = raw(ocd)
    go(ocd)
    board.run_for(100000)
    stop(ocd)
    assert raw(ocd) == stands
    ocd.set_word(PAUSE, 0)
    assert raw(ocd) == stands
    go(ocd)
    board.wait_for(lambda s: raw(ocd) > stands + 5000)


def test_each_core_stops_it_for_all():
    with Board.start("rp2040") as board, Swd(board) as swd:
        def control(core, value):
            swd.connect(core)
            swd.set_words(DHCSR, [KEY | value])

        def stands():
            low = swd.word(RAWL)
            time.sleep(0.02)
            return swd.word(RAWL) == low

        def moves():
            low = swd.word(RAWL)
            board.wait_for(lambda s: swd.word(RAWL) != low, "the timer to move")
            return True

        for core in (CORE0, CORE1):
            control(core, DEBUGEN | HALT)
            assert stands()
            swd.connect(CORE0 if core == CORE1 else CORE1)
            assert stands()
            control(core, DEBUGEN)
            assert moves()
        # Not even steps of one make it go on while the other is halted
        control(CORE1, DEBUGEN | HALT)
        control(CORE0, DEBUGEN | HALT)
        low = swd.word(RAWL)
        for _ in range(50):
            swd.set_words(DHCSR, [KEY | DEBUGEN | STEP])
        assert swd.word(RAWL) == low
        control(CORE1, DEBUGEN)
        swd.connect(CORE0)
        low = swd.word(RAWL)
        for _ in range(50):
            swd.set_words(DHCSR, [KEY | DEBUGEN | STEP])
        assert swd.word(RAWL) > low
        control(CORE0, DEBUGEN)
        # Core 0 may halt, core 1 may not
        control(CORE0, DEBUGEN | HALT)
        swd.set_words(DBGPAUSE, [4])
        assert moves()
        control(CORE1, DEBUGEN | HALT)
        assert stands()
        swd.set_words(DBGPAUSE, [2])
        assert stands()
        swd.set_words(DBGPAUSE, [0])
        assert moves()


def test_never_goes_back_for_a_program():
    """Core 0 reads it all the time, while core 1 stops it in the middle of slices that core 0 has had already."""
    with Board.start("rp2040") as board, Swd(board) as swd:
        place = 0x20006000
        # loop: ldr r1, [r3]; cmp r1, r0; blo back; mov r0, r1; b loop; back: bkpt
        for n, halfword in enumerate((0x6819, 0x4281, 0xD301, 0x4608, 0xE7FA, 0xBE00)):
            board.write(place + 2 * n, halfword.to_bytes(2, "little"))
        swd.connect(CORE0)
        swd.set_words(DHCSR, [KEY | DEBUGEN | HALT])
        for register, value in ((0, 0), (3, RAWL), (15, place), (16, 0x01000000)):
            swd.set_words(DCRDR, [value])
            swd.set_words(DCRSR, [1 << 16 | register])
        swd.set_words(DHCSR, [KEY | DEBUGEN])
        swd.connect(CORE1)
        swd.set_words(BP_CTRL, [3])
        swd.set_words(BP_COMP0, [comparator(board.symbol("core1_work"))])
        other = board.core(1)
        for _ in range(50):
            stops = other.state()["halts"]
            swd.set_words(DHCSR, [KEY | DEBUGEN])
            other.wait_for(lambda s: s["halts"] > stops)
        assert board.state()["run"] == "running"


def test_never_goes_back():
    with Board.start("rp2040", halt_cost="5..50") as board, Swd(board) as swd:
        latest = 0
        for n in range(60):
            core = (CORE0, CORE1)[n % 2]
            swd.connect(core)
            swd.set_words(DHCSR, [KEY | DEBUGEN | HALT])
            for _ in range(3):
                now = swd.word(RAWL)
                assert now >= latest
                latest = now
            swd.set_words(DHCSR, [KEY | DEBUGEN])
            now = swd.word(RAWL)
            assert now >= latest
            latest = now


def test_a_reset_of_the_cores_leaves_it(halted):
    board, ocd = halted()
    ocd.set_word(TIMELW, 0)
    ocd.set_word(TIMEHW, 7)
    board.command("reset")
    assert ocd.word(RAWH) == 7


def test_power_resets_it():
    with Board.start("rp2040") as board, Swd(board) as swd:
        swd.connect(CORE0)
        swd.set_words(DBGPAUSE, [0])
        swd.set_words(TIMELW, [0])
        swd.set_words(TIMEHW, [7])
        assert swd.word(RAWH) == 7
        board.command("power off")
        board.command("power on")
        swd.connect(CORE0)
        assert swd.word(RAWH) == 0 and swd.word(DBGPAUSE) == 7


def test_m4_has_no_timer(attach):
    board, ocd = attach("m4")
    with pytest.raises(RuntimeError):
        ocd.word(RAWL)


def test_second_core_rests_when_told():
    with Board.start("rp2040") as board:
        board.wait_for(lambda s: board.read_word("round_count") > 0)
        other = board.core(1)
        other.run_for(1000)
        board.write_word("core1_rest", 1)
        other.wait_for(lambda s: s["run"] == "asleep")
        cycles = other.state()["cycles"]
        other.wait_for(lambda s: s["cycles"] > cycles + 1000)
        rounds = board.read_word("core1_rounds")
        board.write_word("core1_rest", 0)
        other.command("irq 3")
        other.wait_for(lambda s: board.read_word("core1_rounds") > rounds)

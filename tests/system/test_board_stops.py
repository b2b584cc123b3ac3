"""The board's stops by counters: the cycle counter that matches a comparator, overflows of the Armv8.1-M monitor, and those
of A and R cores over the cross trigger. Where the core stops is what the counters and the board's own log say."""
import pytest

import armv7
import armv8
from armv7 import core as core_v7, attach  # noqa: F401: fixtures
from armv8 import a53  # noqa: F401: a fixture
from board import Board
from cortex_m import DEBUGEN, DEMCR, DFSR, DHCSR, DWT_CTRL, DWT_CYCCNT, KEY, bench as bench_m, between

TRCENA, DWTTRAP, MATCHED, DFSR_PMU = 1 << 24, 1 << 2, 1 << 24, 1 << 5
COMP0, MASK0, FUNCTION0 = 0xE0001020, 0xE0001024, 0xE0001028
AT_CYCLES = {"m4": 0x84, "m7": 0x84, "m33": 0x11, "m55": 0x11, "rp2040": 0x84}

LOOP = """
        start: movs r0, #0
        again: adds r0, #1
               adds r1, #1
               adds r2, #1
               b again
"""
ROUND, INSTRUCTIONS = {"m4": 6, "m55": 6}, 4  # cycles: the jump takes three
DELAY = """
        start: ldr r0, =100000000
        again: subs r0, #1
               bne again
               bkpt #0
               .pool
"""
NAP = """
        start: wfi
               bkpt #0
"""


def match_at(b, cycles):
    """The core stops that many cycles after it is let go."""
    b.ocd.set_word(DEMCR, TRCENA)
    b.ocd.set_word(DWT_CTRL, 1)
    b.ocd.set_word(DWT_CYCCNT, 0)
    b.ocd.set_word(COMP0, cycles)
    b.ocd.set_word(FUNCTION0, AT_CYCLES[b.board.chip])
    b.ocd.set_word(DFSR, 0x1F)


def stop(b):
    """Runs to a halt: the events of the log from there on."""
    first = len(b.board.log())
    state = b.run()
    return state, b.board.log(first)


@pytest.mark.parametrize("chip", ["m4", "m55"])
@pytest.mark.parametrize("skid", [None, 0, 5])
def test_a_match_of_cycles_halts(bench_m, chip, skid):
    b = bench_m(chip, LOOP, **({} if skid is None else {"stop_skid": skid}))
    expected = 2 if skid is None else skid
    for cycles in (1000, 1001, 777, 100_000):
        match_at(b, cycles)
        before = b.board.state()
        state, log = stop(b)
        matched, halted = between(log, "match")[-1], between(log, "halt")[-1]
        assert state["dfsr"] == halted.extra == DWTTRAP and matched.extra == cycles
        assert 0 <= matched.cycles - before["cycles"] - cycles < 3  # the instruction in which it matched is done
        assert halted.pc == state["pc"]
        places = [b.symbols["again"] + 2 * n for n in range(INSTRUCTIONS)]
        assert (places.index(halted.pc) - places.index(matched.pc)) % INSTRUCTIONS == expected % INSTRUCTIONS
        assert halted.cycles - matched.cycles <= 3 * expected and (halted.cycles > matched.cycles) == (expected > 0)
        assert b.ocd.word(DWT_CYCCNT) == halted.cycles - before["cycles"]
        assert b.ocd.word(FUNCTION0) & MATCHED and not b.ocd.word(FUNCTION0) & MATCHED


@pytest.mark.parametrize("chip", ["m4", "m55"])
def test_a_delay_that_is_worked_out_stops_as_well(bench_m, chip):
    b = bench_m(chip, DELAY, stop_skid=0)
    b.board.set("clock", 1_000_000_000)
    match_at(b, 40_000_000)
    before = b.board.state()
    state, log = stop(b)
    assert state["dfsr"] == DWTTRAP and 0 <= state["cycles"] - before["cycles"] - 40_000_000 < 3
    rounds = (state["cycles"] - before["cycles"]) // 4
    assert 0 <= 100_000_000 - b.register(0) - rounds <= 1


def test_the_program_may_move_the_counter(bench_m):
    b = bench_m("m4", """
        start: ldr r1, =0xE0001004
               movs r0, #0
               nop
        again: str r0, [r1]
               nop
               nop
               b again
               .pool
    """, stop_skid=0)
    match_at(b, 50)
    b.resume()
    b.board.run_for(100_000)
    assert b.board.state()["run"] == "running"  # it never gets so far
    b.ocd.set_word(COMP0, 4)
    assert b.board.wait_for(lambda s: s["run"] == "halted")["dfsr"] == DWTTRAP


@pytest.mark.parametrize("what", ["no TRCENA", "no CYCCNTENA", "a mask", "another comparator", "no debug", "no match"])
def test_what_does_not_halt(bench_m, what):
    b = bench_m("m4", LOOP)
    match_at(b, 1000)
    if what == "a mask":
        b.ocd.set_word(MASK0, 2)
    elif what == "another comparator":
        b.ocd.set_word(FUNCTION0, 0)
        b.ocd.set_word(COMP0 + 16, 1000)
        b.ocd.set_word(FUNCTION0 + 16, 0x84)
    elif what == "no match":
        b.ocd.set_word(FUNCTION0, 0x04)
    elif what == "no CYCCNTENA":
        b.ocd.set_word(DWT_CTRL, 0)
    elif what == "no TRCENA":
        b.ocd.set_word(DEMCR, 0)
    if what == "no debug":
        b.ocd.set_word(DHCSR, KEY)
    else:
        b.resume()
    b.board.run_for(50_000)
    assert b.board.state()["run"] == "running" and not b.board.state()["dfsr"] & DWTTRAP
    assert not between(b.board.log(), "match")
    if what == "no debug":
        assert b.ocd.word(FUNCTION0) & MATCHED


def test_an_m0plus_has_none(bench_m):
    b = bench_m("rp2040", LOOP)
    match_at(b, 1000)
    b.resume()
    b.board.run_for(50_000)
    assert b.board.state()["run"] == "running"


def test_what_halts_cost_matches_on_the_way_out_only(bench_m):
    """The counter passes the value while the core enters Debug state: no stop follows. While it leaves: one does."""
    b = bench_m("m4", LOOP, stop_skid=0, halt_cost="100")
    match_at(b, 1020)
    state, log = stop(b)  # 50 on the way out, 50 on the way in
    assert between(log, "match")[-1].counted - between(log, "run")[-1].counted in range(970, 973)
    match_at(b, 1000)
    b.ocd.set_word(DWT_CYCCNT, 1000 - 20)
    state, log = stop(b)
    assert state["pc"] == between(log, "run")[-1].pc and between(log, "halt")[-1].extra == DWTTRAP


@pytest.mark.parametrize("skid", [0, 3])
def test_a_match_finds_the_core_asleep(bench_m, skid):
    b = bench_m("m4", NAP, stop_skid=skid)
    match_at(b, 30_000)
    before = b.board.state()
    state, log = stop(b)
    assert state["dfsr"] == DWTTRAP and state["pc"] == b.symbols["start"] + 2
    assert state["cycles"] - before["cycles"] == 30_000 and log[-1].kind == "halt"
    b.ocd.set_word(FUNCTION0, 0)
    b.resume()
    assert b.board.state()["run"] == "asleep"


def test_a_step_over_a_match_tells_both(bench_m):
    b = bench_m("m4", LOOP, stop_skid=0)
    b.step()
    match_at(b, 1)
    b.step()
    assert b.board.state()["dfsr"] == DWTTRAP | 1


# The Armv8.1-M monitor

CHAIN, INST, BR_IMMED, CYCLES = 0x1E, 0x08, 0x0D, 0x11
EVCNTR, EVTYPER, CNTENSET, INTENSET, OVSSET, CTRL = (0xE0003000 + n for n in (0, 0x400, 0xC00, 0xC40, 0xCC0, 0xE04))
FREEZE, PMOV = 1 << 9, 1 << 6


def overflow_m55(b, *types, first=(), interrupts, control=1):
    b.ocd.set_word(DEMCR, TRCENA)
    for n, code in enumerate(types):
        b.ocd.set_word(EVTYPER + 4 * n, code)
        b.ocd.set_word(EVCNTR + 4 * n, first[n])
    b.ocd.set_word(CNTENSET, (1 << len(types)) - 1)
    b.ocd.set_word(INTENSET, interrupts)
    b.ocd.set_word(DFSR, 0x3F)
    b.ocd.set_word(CTRL, control)
    b.ocd.set_word(DHCSR, KEY | DEBUGEN | PMOV)
    return b.board.wait_for(lambda s: s["run"] == "halted"), b.board.log()


@pytest.mark.parametrize("skid", [0, 3])
def test_any_counter_with_an_interrupt_halts_an_m55(bench_m, skid):
    """The second of them here; frozen there, the counters do not see the skid."""
    b = bench_m("m55", LOOP, stop_skid=skid)
    before = b.board.state()
    state, log = overflow_m55(b, INST, BR_IMMED, first=(0, 0x10000 - 50), interrupts=2, control=1 | FREEZE)
    over, halted = between(log, "overflow")[-1], between(log, "halt")[-1]
    assert (over.extra, halted.extra, state["dfsr"]) == (2, DFSR_PMU, DFSR_PMU)
    assert over.pc == b.symbols["again"] and halted.pc == over.pc + 2 * skid and halted.cycles - over.cycles == skid
    assert b.ocd.words(EVCNTR, 2) == [1 + 50 * INSTRUCTIONS, 0] and b.ocd.word(OVSSET) == 2
    assert state["instructions"] - before["instructions"] == 1 + 50 * INSTRUCTIONS + skid


def test_a_chain_halts_an_m55_beyond_16_bits(bench_m):
    """The low counter overflows without an interrupt, and with the next time the high one."""
    b = bench_m("m55", LOOP, stop_skid=0)
    before = b.board.state()
    state, log = overflow_m55(b, INST, CHAIN, first=(0x10000 - 1000, 0xFFFE), interrupts=2)
    assert state["instructions"] - before["instructions"] == 1000 + 0x10000
    assert [e.extra for e in between(log, "overflow")] == [2] and b.ocd.word(OVSSET) == 3


def test_an_overflow_finds_an_m55_asleep(bench_m):
    b = bench_m("m55", NAP, stop_skid=3)
    before = b.board.state()
    state, _ = overflow_m55(b, CYCLES, first=(0x10000 - 30_000,), interrupts=1)
    assert state["dfsr"] == DFSR_PMU and state["cycles"] - before["cycles"] == 30_000


# A and R cores: the monitor's interrupt is input 1 of the cross trigger interface, output 0 halts

CTI = {"a9": 0x80098000, "a7": 0x80038000, "r5": 0x80005000}
GLBEN, CONTROL, INTACK, APPPULSE, INEN1, OUTEN0, OUTEN7, TRIGINSTATUS, TROUTSTATUS, GATE = (
    1, 0x000, 0x010, 0x01C, 0x024, 0x0A0, 0x0BC, 0x130, 0x134, 0x140)
EXTERNAL = 4  # DBGDSCR.MOE
E = 1  # PMCR


class V7:
    """An a9, a7 or r5 by the board's debug bus."""

    intenset, intenclr, enset, ovsclr, pmcr, cause = armv7.INTENSET, armv7.INTENCLR, armv7.ENSET, armv7.OVSR, armv7.PMCR, EXTERNAL

    def __init__(self, core):
        self.core, self.board = core, core.board
        self.event = {"a9": 0x68}.get(core.chip, 0x08)

    def cti(self, offset, value=None, number=None):
        number = self.core.number if number is None else number
        address = CTI[self.core.chip] + 0x1000 * number + offset
        return self.core.apb(address)[0] if value is None else self.core.set_apb(address, value)

    def pmu(self, offset, value=None):
        return self.core.pmu(offset, value)

    def counter(self, value=None):
        return self.pmu(armv7.EVCNTR, value)

    def choose(self):
        self.pmu(armv7.EVTYPER, self.event)

    halt = property(lambda self: self.core.halt)
    resume = property(lambda self: self.core.resume)
    wait_halted = property(lambda self: self.core.wait_halted)


class V8:
    intenset, intenclr, enset, ovsclr, pmcr, cause = (
        armv8.PMINTENSET, armv8.PMINTENCLR, armv8.PMCNTENSET, armv8.PMOVSCLR, armv8.PMCR, armv8.REQUEST)

    def __init__(self, core):
        self.core, self.board = core, core.board

    def cti(self, offset, value=None, number=0):
        address = 0x80420000 + 0x100000 * number + offset
        return self.core.bus.word(address) if value is None else self.core.bus.set_word(address, value)

    def pmu(self, offset, value=None):
        return self.core.count(offset) if value is None else self.core.set_count(offset, value)

    def counter(self, value=None):
        return self.pmu(armv8.PMEVCNTR0, value)

    def choose(self):
        self.pmu(armv8.PMEVTYPER0, armv8.INST)

    def resume(self):  # by its channel 1, whatever is not acknowledged yet
        self.cti(APPPULSE, 2)

    halt = property(lambda self: self.core.halt)
    wait_halted = property(lambda self: self.core.wait_halted)


@pytest.fixture
def sampled(core_v7, a53):
    """sampled(chip, **options): its core 0, halted; an overflow of counter 0 goes by channel 2 to the core alone."""
    def start(chip, **options):
        if chip == "a53":
            board = a53(**options)
            one = armv8.Core(board)
            a53.also(one.bus)
            s = V8(one.open())
        else:
            s = V7(core_v7(chip, **options))
        s.halt()
        s.cti(CONTROL, GLBEN)
        s.cti(INTACK, 0xFF)
        s.cti(GATE, 0)
        s.cti(INEN1, 4)
        s.cti(OUTEN0, s.cti(OUTEN0) | 4)
        s.pmu(s.pmcr, 0)
        s.choose()
        s.pmu(s.enset, 1)
        s.pmu(s.intenset, 1)
        s.pmu(s.ovsclr, 0xFFFFFFFF)
        s.board.watch(s.board.symbol("main"))
        return s

    return start


def rearm(s, count):
    """In the order that works: the counter, the overflow, the acknowledge."""
    s.counter(0x100000000 - count)
    s.pmu(s.pmcr, E)
    s.pmu(s.ovsclr, 1)
    s.cti(INTACK, 1)
    assert not s.cti(TROUTSTATUS) & 1 and not s.cti(TRIGINSTATUS) & 2


EVERY = pytest.mark.parametrize("chip", ["a9", "a7", "r5", "a53"])


def to_stop(s):
    first = len(s.board.log())
    s.resume()
    s.wait_halted()
    log = s.board.log(first)
    return between(log, "run")[-1], between(log, "overflow"), between(log, "halt")[-1]


@EVERY
@pytest.mark.parametrize("skid", [0, None])
def test_an_overflow_halts_over_the_cross_trigger(sampled, chip, skid):
    s = sampled(chip, **({} if skid is None else {"stop_skid": skid}))
    expected = 16 if skid is None else skid
    for count in (1000, 1, 20_011):
        rearm(s, count)
        stuffed = 0xFFFFFFFF + 1 - count - s.counter()  # an r5's counters are read by instructions, which do not count
        assert stuffed == 0
        before = s.board.state()["instructions"]
        run, overflows, halted = to_stop(s)
        assert [e.extra for e in overflows] == [1] and halted.extra == s.cause
        assert s.board.state()["instructions"] - before == count + expected
        # An exception would cost a cycle, and there is none: one cycle an instruction
        assert (overflows[0].cycles - run.cycles, halted.cycles - run.cycles) == (count, count + expected)
        assert s.counter() == expected
        assert s.cti(TROUTSTATUS) & 1 and s.cti(TRIGINSTATUS) & 2


@EVERY
def test_what_is_not_cleared_halts_again(sampled, chip):
    s = sampled(chip, stop_skid=0)
    rearm(s, 500)
    to_stop(s)
    before = s.board.state()["instructions"]
    s.cti(INTACK, 1)  # the overflow stays, so the request does
    assert s.cti(TROUTSTATUS) & 1
    run, overflows, halted = to_stop(s)
    assert not overflows and halted.pc == run.pc and s.board.state()["instructions"] == before
    s.pmu(s.ovsclr, 1)  # now the request waits for its acknowledge alone
    assert s.cti(TROUTSTATUS) & 1 and not s.cti(TRIGINSTATUS) & 2
    run, overflows, halted = to_stop(s)
    assert not overflows and halted.pc == run.pc and s.board.state()["instructions"] == before
    rearm(s, 500)
    assert to_stop(s)[2].cycles - halted.cycles == 500


@EVERY
@pytest.mark.parametrize("what", ["no interrupt", "no input", "no output", "no global enable", "no PMCR.E"])
def test_what_an_overflow_needs(sampled, chip, what):
    s = sampled(chip, stop_skid=0)
    rearm(s, 500)
    if what == "no interrupt":
        s.pmu(s.intenclr, 1)
    elif what == "no input":
        s.cti(INEN1, 0)
    elif what == "no output":
        s.cti(OUTEN0, 0)
    elif what == "no PMCR.E":
        s.pmu(s.pmcr, 0)
    if what == "no global enable":
        s.cti(CONTROL, 0)
    if chip == "a53" and what == "no global enable":
        return  # nothing else restarts it
    s.resume()
    s.board.run_for(20_000)
    assert s.board.state()["run"] == "running"


@pytest.mark.parametrize("chip", ["a9", "a53"])
@pytest.mark.parametrize("gate", [0, 4])
def test_an_open_channel_stops_the_other_core(sampled, chip, gate):
    s = sampled(chip, stop_skid=0)
    other = s.board.core(1)
    s.cti(CONTROL, GLBEN, 1)
    s.cti(GATE, 4, 1)
    s.cti(OUTEN0, 4, 1)
    s.cti(GATE, gate)
    rearm(s, 5000)
    to_stop(s)
    if gate:
        assert other.wait_for(lambda state: state["run"] == "halted")
        assert s.cti(TROUTSTATUS, None, 1) & 1
    else:
        now = other.state()["cycles"]
        assert other.wait_for(lambda state: state["cycles"] > now + 1000)["run"] == "running"


@pytest.mark.parametrize("chip", ["a9", "a7", "r5"])
def test_the_interface_of_an_armv7_core(sampled, chip):
    s = sampled(chip)
    assert s.cti(0xFC8) == 0x00040800 and s.cti(0xFCC) == 0x14 and s.cti(0xFE0) == 0x06
    s.cti(OUTEN0, 8)
    s.cti(OUTEN7, 2)
    s.cti(APPPULSE, 2)  # output 7 restarts
    assert s.board.state()["run"] == "running"
    s.cti(APPPULSE, 8)
    assert s.core.wait_halted()["moe"] == EXTERNAL


def test_how_long_it_stood(bench_m):
    b = bench_m("m4", "start: b .", no_catch_up=True)
    first = b.board.command("stood")
    b.resume()
    b.board.run_for(100_000)
    b.ocd.set_word(DHCSR, KEY | DEBUGEN | 2)
    then = b.board.command("stood")
    last = b.board.command("stood")
    stood = [s["cores"][0]["stood_ns"] for s in (first, then, last)]
    assert last["cores"][0]["halts"] == first["cores"][0]["halts"] + 1
    assert 0 < stood[1] - stood[0] < then["now_ns"] - first["now_ns"]
    assert stood[2] - stood[1] <= last["now_ns"] - then["now_ns"] + 1_000_000
    ran = (then["now_ns"] - first["now_ns"]) - (stood[1] - stood[0])
    assert 0 < then["cores"][0]["cycles"] - first["cores"][0]["cycles"] <= ran * 12e6 / 1e9 + 24_000


# The programs for it

def passages(board, names, which):
    """What `which` counts in each of these functions, which follow one another in each round, as shares."""
    starts = [board.symbol(name) for name in names]
    board.watch(*starts)
    board.wait_for(lambda s: len(board.log()) > 60 * len(names))
    spent = dict.fromkeys(starts, 0)
    reached = [e for e in board.log() if e.kind == "reach"]
    for one, after in zip(reached, reached[1:]):
        spent[one.pc] += which(after) - which(one)
    return [spent[s] / sum(spent.values()) for s in starts]


@pytest.mark.parametrize("chip, kind, shares, code", [
    ("m4", "cycles", 1, None), ("m55", "misses", 2, 0x03), ("a9", "misses", 2, 0x03), ("a53", "misses", 2, 0x03)])
def test_the_shares_of_the_firmware(chip, kind, shares, code):
    with Board.start(chip) as board:
        board.write_word("shares", shares)
        board.scenario()
        board.run_for(50_000)
        names = [f"{kind}_{share}" for share in (10, 30, 60)]
        found = passages(board, names, (lambda e: e.counts[code]) if code else (lambda e: e.cycles))
        assert found == pytest.approx([0.1, 0.3, 0.6], abs=0.015)
        if code:  # the cycles do not show it
            assert passages(board, names, lambda e: e.cycles)[0] > 0.4


@pytest.mark.parametrize("chip", ["rp2040", "m4", "a9"])
def test_one_call_in_so_many_overruns(chip):
    with Board.start(chip) as board:
        board.scenario()
        board.write_word("overrun_each", 10)
        board.write_word("shares", 4)
        board.watch("deadline", "slow_path")
        board.wait_for(lambda s: board.read_word("overrun_count") > 5)
        log = [e for e in board.log() if e.kind == "reach"]
        slow = [n for n, e in enumerate(log) if e.pc == board.symbol("slow_path")]
        assert {later - one for one, later in zip(slow, slow[1:])} == {11}
        took = [after.cycles - one.cycles for one, after in zip(log, log[1:]) if one.pc == board.symbol("slow_path")]
        usual = [after.cycles - one.cycles for one, after in zip(log, log[1:]) if one.pc != board.symbol("slow_path")]
        assert min(took) > 5 * max(usual)


@pytest.mark.parametrize("chip", ["rp2040", "m4"])
def test_tasks_in_nested_calls(chip):
    with Board.start(chip, "leaves", clock=12_000_000) as board:
        board.write_word("what", 8)
        board.write_word("tasks_wanted", 1)
        board.watch("nest_inner", "SysTick_Handler", "PendSV_Handler")
        board.wait_for(lambda s: len(board.log()) > 500)
        log = board.log()
        inner = {e.sp for e in log if e.pc == board.symbol("nest_inner") and e.kind == "reach"}
        entered = {e.extra for e in log if e.kind == "enter"}
        assert len(inner) >= 4  # two tasks, called from nest_middle or from nest_outer
        assert entered == {14, 15}

"""`delta` against the board's ground truth: exact, for every hit."""
import pytest

from harness import (CALLED_TWICE, DAP_WAYS, IN_RAM, LONG_REGION, LOOP_ROUND, MASKED_WORK, PREEMPTED, RECURSE, RELOAD_INSIDE,
                     SLEEPER, SOAK, WIDE_ENTRY, WORK_BY_DATA, ARTICLE_NOP, ARTICLE_PLAIN, Place, at, hits_of, left_handler,
                     passages, returned)

CHIPS = ["rp2040", "m4", "m55", "rp2350", "m55/swd", "rp2350/swd"] + DAP_WAYS
OFTEN = [chip for chip in CHIPS if "/" in chip]  # where a thousand hits of what happens each millisecond take no minute
TICKS = 100 if SOAK else 20  # hits, where each waits for one


def compare(place, result, start, is_end, tainted=False):
    """Every hit that is printed as exact is exact. The hits are in order and complete, with none invented."""
    truth = passages(place.board.log(), place.symbol(start), is_end)
    hits = result.hits
    assert len(truth) in (len(hits), len(hits) + 1), f"{len(truth)} passages, {len(hits)} hits"
    decided = 0
    for hit, passage in zip(hits, truth):
        cycles = hit["values"]["CPU_CYCLES"]
        if "CPU_CYCLES" in hit.get("at_least", []):
            assert cycles <= passage.cycles
            continue
        decided += 1
        assert cycles == passage.cycles, f"hit {hit['hit']}: {cycles}, truth {passage.cycles}"
        if tainted:
            assert hit["tainted"] == passage.tainted, f"hit {hit['hit']}"
    return decided


def exact(place, operands, is_end, hits, **kwargs):
    result = place.delta(*operands, "-r", hits)
    decided = compare(place, result, operands[0], is_end, **kwargs)
    assert decided >= hits
    assert result.summary["ended"] if "ended" in result.summary else True
    return result


@pytest.mark.parametrize("chip", CHIPS)
def test_two_reads_and_a_nop_between(chip):
    """The published RP2040 figures: 2 cycles between two adjacent reads of SysTick, 3 with a NOP."""
    with Place(chip, "free", ARTICLE_PLAIN | ARTICLE_NOP) as place:
        plain = exact(place, ("plain_first", "plain_second"), at(place.symbol("plain_second")), 100)
        nop = exact(place, ("nop_first", "nop_second"), at(place.symbol("nop_second")), 100)
        if place.chip == "rp2040":
            assert set(plain.cycles) == {2} and set(nop.cycles) == {3}


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("function, bits", [("work_by_data", WORK_BY_DATA), ("called_twice", CALLED_TWICE),
                                            ("recurse", RECURSE), ("in_ram", IN_RAM)])
def test_function(chip, function, bits):
    with Place(chip, "free", bits) as place:
        code = place.board.read("in_ram", 16)
        often = SOAK and function == "work_by_data"
        result = exact(place, (function,), returned, hits_of(place, openocd=1000 if often else 200))
        assert len(set(result.cycles)) > 1
        assert place.board.read("in_ram", 16) == code


def test_called_from_two_places():
    with Place("m4", "free", CALLED_TWICE) as place:
        place.delta("called_twice", "-r", 20)
        callers = {event.lr for event in place.board.log() if event.pc == place.symbol("called_twice")}
        assert len(callers) == 2


def test_recursion_counts_from_the_outermost_entry():
    with Place("rp2040", "free", RECURSE) as place:
        place.delta("recurse", "-r", 200)
        log = place.board.log()
        low = place.symbol("recurse")
        for passage in passages(log, low, returned):
            assert not low < passage.begin.lr < low + 64, "began inside itself"


def test_wide_first_instruction():
    with Place("m4", "free", WIDE_ENTRY) as place:
        exact(place, ("wide_entry",), returned, 100)


@pytest.mark.any_row(2)
@pytest.mark.parametrize("chip", OFTEN)
def test_handler_as_function(chip):
    with Place(chip, "tick", WORK_BY_DATA) as place:
        # a tick is 50 ms
        exact(place, ("SysTick_Handler",), left_handler, TICKS)


@pytest.mark.any_row(3)
@pytest.mark.parametrize("mode, hits", [("free", 3 if SOAK else 1), ("tick", TICKS)])
@pytest.mark.parametrize("chip", OFTEN)
def test_reload_inside(chip, mode, hits):
    """A period of SysTick passes between two of them: 1.4 s at full reload, 50 ms with a tick, whose handler then runs
    inside the region as well."""
    with Place(chip, mode, RELOAD_INSIDE, clock=12_000_000) as place:
        counter = () if place.chip == "rp2040" else ("--counter", "systick")
        exact(place, ("reload_begin", "reload_end", *counter), at(place.symbol("reload_end")), hits)


@pytest.mark.any_row(2)
@pytest.mark.parametrize("chip", CHIPS)
def test_preempted_by_the_tick(chip):
    """The tick's handler is part of what it preempts, and such a hit is not tainted."""
    with Place(chip, "tick", PREEMPTED) as place:
        hits = hits_of(place)
        result = place.delta("preempted", "-r", hits)
        assert compare(place, result, "preempted", returned, tainted=True) >= hits
        assert len(set(result.cycles)) > 1


def test_sleep_inside():
    with Place("m4", "tick", SLEEPER) as place:
        exact(place, ("sleeper",), returned, 20)


@pytest.mark.parametrize("chip", CHIPS)
def test_round_of_a_loop(chip):
    """Start and end at the same place: the core is stepped past it."""
    with Place(chip, "free", LOOP_ROUND) as place:
        result = place.delta("loop_head", "loop_head", "-r", hits_of(place))
        here = place.symbol("loop_head")
        stops = [event for event in place.board.log() if event.kind == "halt" and event.pc == here]
        rounds = [b.cycles - a.cycles for a, b in zip(stops, stops[1:]) if b.cycles != a.cycles]
        assert result.cycles == rounds[:len(result.cycles)]


def test_longer_than_the_period():
    """The region outlasts the period of SysTick, and no slower clock bounds the count."""
    with Place("m4", "ms", LONG_REGION) as place:
        result = place.delta("long_region", "-r", 3, "--counter", "systick")
        truth = passages(place.board.log(), place.symbol("long_region"), returned)
        assert len(result.hits) == 3
        for hit, passage in zip(result.hits, truth):
            assert hit["at_least"] == ["CPU_CYCLES"]
            assert hit["values"]["CPU_CYCLES"] <= passage.cycles
        assert result.summary["columns"]["CPU_CYCLES"]["at_least"] == 3
        text = place.run("delta", "long_region", "-r", 1, "--counter", "systick")
        assert "at least" in text.out


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("cost", [0, 3, 7, 11])
def test_rehit_removes_a_constant_cost(chip, cost):
    with Place(chip, "free", WORK_BY_DATA, halt_cost=cost) as place:
        result = exact(place, ("work_by_data",), returned, hits_of(place, 200))
        column = result.summary["columns"]["CPU_CYCLES"]
        assert column["overhead"] == cost and column["plus_minus"] == 0
        plain = place.run("delta", "-j", "work_by_data", "-r", 1, "--no-calibrate")
        assert plain.summary["columns"]["CPU_CYCLES"]["calibrated"] is False


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("low", [0, 5])
def test_interval_holds_the_truth(chip, low):
    with Place(chip, "free", WORK_BY_DATA, halt_cost=f"{low}..{low + 3}", seed=low + 1) as place:
        hits = hits_of(place)
        result = place.delta("work_by_data", "-r", hits)
        truth = passages(place.board.log(), place.symbol("work_by_data"), returned)
        column = result.summary["columns"]["CPU_CYCLES"]
        off = column["plus_minus"]
        assert 0 < off <= 3
        held = sum(abs(hit - passage.cycles) <= off for hit, passage in zip(result.cycles, truth))
        assert len(result.cycles) == hits and held >= 0.99 * hits - 1


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("bits, function", [(WORK_BY_DATA, "work_by_data"), (MASKED_WORK, "masked_work")])
def test_taint(chip, bits, function):
    """A hit is marked tainted if, and only if, an interrupt that pended during the halt ran in it."""
    with Place(chip, "free", bits, halt_irq=200, seed=7) as place:
        hits = hits_of(place)
        result = place.delta(function, "-r", hits)
        compare(place, result, function, returned, tainted=True)
        tainted = sum(hit["tainted"] for hit in result.hits)
        assert tainted > hits / 20
        assert result.summary["tainted"] == tainted


def test_the_other_core():
    """Core 1 of the RP2040, by multidrop, while core 0 runs."""
    with Place("rp2040/swd", "free", WORK_BY_DATA) as place:
        other = place.board.core(1)
        other.watch(0xFFFFFFF0)
        result = place.delta("core1_work", "-C", 1, "-r", 1000)
        truth = passages(other.log(), place.symbol("core1_work"), returned)
        assert result.cycles == [passage.cycles for passage in truth[:1000]]
        assert not [event for event in place.board.log() if event.kind == "halt"], "core 0 was stopped"
        assert other.state()["run"] == place.board.state()["run"] == "running"

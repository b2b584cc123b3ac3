"""Numbers beyond a counter's width: 64-bit totals against the board's truth, or `at least`, over every counter and
region from 10 to 10^8 cycles."""
import pytest

from gdb_place import GdbPlace
from harness import (DWT_CPI, DWT_EXC, DWT_FOLD, DWT_LSU, DWT_SLEEP, SOAK, SPAN_10, SPAN_100M, SPAN_1K, SPAN_1M, SUSPENDED,
                     TICK_EDGE, Place, at, passages, returned)

pytestmark = [pytest.mark.each_value, pytest.mark.any_fifth]  # a row takes long

SPANS = {"span_10": (SPAN_10, 10), "span_1k": (SPAN_1K, 10 ** 3), "span_1m": (SPAN_1M, 10 ** 6),
         "span_100m": (SPAN_100M, 10 ** 8)}
FAST = {"clock": 50_000_000}  # of the board; the program believes 12 MHz
TRUE = {"clock": 12_000_000}
WAYS = ["rp2040", "rp2040/swd", "m4/swd"]


def rows(ways, longest=None):
    """10^8 cycles take seconds, so in check at most one way runs them."""
    return [(way, name) for way in ways for name in SPANS if SOAK or name != "span_100m" or way == longest]


def span(place, name, *args, hits=20, code=0):
    result = place.delta(f"{name}_start", f"{name}_end", "-r", hits, *args, code=code)
    truth = passages(place.board.log(), place.symbol(f"{name}_start"), at(place.symbol(f"{name}_end")))
    assert len(result.hits) >= hits
    return result, truth


def all_exact(result, truth):
    for hit, passage in zip(result.hits, truth):
        assert not hit.get("at_least"), hit
        assert hit["values"]["CPU_CYCLES"] == passage.cycles, hit


def all_bounds(result, truth):
    """Lower bounds, which are the truth but for the halts' spread; or exact by the host's time."""
    for hit, passage in zip(result.hits, truth):
        if not hit.get("at_least"):
            assert hit["values"]["CPU_CYCLES"] == passage.cycles, hit
        assert passage.cycles - 64 <= hit["values"]["CPU_CYCLES"] <= passage.cycles, hit


def counter_of(place):
    return () if place.chip == "rp2040" else ("--counter", "systick")


@pytest.mark.any_row(3)
@pytest.mark.parametrize("way, name", rows(WAYS, "m4/swd"))
def test_systick_at_full_reload(way, name):
    """The tool reads the counter between the slices of the wait, so that it sees each wrap."""
    bits, cycles = SPANS[name]
    # rp2040's timer goes by the program's 12 MHz, whatever the board's clock is
    fast, freq = (TRUE, ()) if way.startswith("rp2040") else (FAST, ("--freq", "50M"))
    with Place(way, "free", bits, **fast) as place:
        result, truth = span(place, name, *freq, *counter_of(place), hits=1 if cycles >= 10 ** 8 else 20)
        exact = [(hit, passage) for hit, passage in zip(result.hits, truth) if not hit.get("at_least")]
        for hit, passage in exact:
            assert hit["values"]["CPU_CYCLES"] == passage.cycles == cycles
        assert len(exact) >= (1 if cycles >= 10 ** 8 else 20)


@pytest.mark.any_row
@pytest.mark.parametrize("way, name", rows(WAYS))
@pytest.mark.parametrize("style, symbol", [(0, "tick_count"), (1, "uwTick"), (2, "xTickCount")])
def test_systick_of_a_millisecond_with_a_tick_variable(way, style, symbol, name):
    """The program has other handlers, which may hold SysTick's off: bounds. test_ticks.py has what is exact."""
    bits, cycles = SPANS[name]
    if cycles == 10 ** 8 and style != 0:
        return  # the arithmetic is the same; the time is not
    with Place(way, "ms", bits, **FAST) as place:
        place.board.write_word("tick_style", style)
        result, truth = span(place, name, "--tick", symbol, "--freq", "50M", *counter_of(place), hits=1 if cycles >= 10 ** 8 else 10)
        all_bounds(result, truth)
        if cycles >= 10 ** 6:
            assert all(passage.cycles > cycles for passage in truth), "no tick came"


@pytest.mark.any_row(1)
@pytest.mark.parametrize("chip", ["rp2040", "m4"])
def test_a_tick_variable_through_a_gdb_server(chip):
    """The core is let run to see that the variable goes up; then it is read at the halts as everywhere."""
    with GdbPlace(chip, "ms", SPAN_1M, **FAST) as place:
        result, truth = span(place, "span_1m", "--tick", "tick_count", "--freq", "50M", "--counter", "systick", hits=3)
        all_bounds(result, truth)
        result = place.run("delta", "span_1k_start", "span_1k_end", "--tick", "scenario", "--counter", "systick")
        assert result.code == 2 and "does not go up" in result.err


def test_ticks_of_ten_milliseconds():
    with Place("m4/swd", "ms", SPAN_1M, **FAST) as place:
        place.board.write_word("tick_style", 1)
        place.board.write("uwTickFreq", bytes([10]))
        place.board.run_for(5000000)  # it takes effect with the next round
        all_bounds(*span(place, "span_1m", "--tick", "uwTick", "--freq", "50M", "--counter", "systick"))


@pytest.mark.parametrize("way", ["rp2040/swd", "m4/swd"])
def test_start_and_end_at_every_phase_of_a_reload(way):
    """CVR 0, the tick pending with interrupts masked, one cycle before and after it. The masked code waits in a loop, so
    that a tick might be lost: bounds, which are the truth but for what the halts leave open."""
    with Place(way, "ms", TICK_EDGE, **FAST) as place:
        result = place.delta("tick_edge_start", "tick_edge_end", "-r", 400 if SOAK else 120, "--tick", "tick_count", "--freq", "50M",
                             *counter_of(place))
        truth = passages(place.board.log(), place.symbol("tick_edge_start"), at(place.symbol("tick_edge_end")))
        all_bounds(result, truth)
        assert "ticks may be lost" in result.out + result.err
        assert len({passage.cycles for passage in truth}) > 20


def test_ticks_put_by_while_the_scheduler_is_suspended():
    with Place("m4/swd", "ms", SUSPENDED, **FAST) as place:
        place.board.write_word("tick_style", 2)
        result = place.delta("suspended", "-r", 20, "--tick", "xTickCount", "--freq", "50M", "--counter", "systick")
        truth = passages(place.board.log(), place.symbol("suspended"), returned)
        all_bounds(result, truth)  # it adds them in a loop, with interrupts off
        assert any(passage.cycles > 12000 for passage in truth), "no tick was put by"


@pytest.mark.parametrize("way, name", rows(["rp2040", "rp2040/swd"]))
def test_the_timer_of_an_rp2040(way, name):
    """Found by itself: no tick variable is named."""
    bits, cycles = SPANS[name]
    with Place(way, "ms", bits, **TRUE) as place:  # at the clock that the program believes, and the timer goes by
        result, truth = span(place, name, hits=1 if cycles >= 10 ** 8 else 10)
        all_exact(result, truth)
        assert cycles < 10 ** 6 or truth[0].cycles > cycles, "no tick came"


def test_a_tick_variable_that_is_none():
    with Place("rp2040/swd", "ms", SPAN_1K) as place:
        result = place.run("delta", "span_1k_start", "span_1k_end", "--tick", "scenario")
        assert result.code == 2 and "does not go up" in result.err
        result = place.run("delta", "span_1k_start", "span_1k_end", "--tick", "nobody")
        assert result.code == 2 and "nobody" in result.err


@pytest.mark.any_row(3)
@pytest.mark.parametrize("way, name", rows(["m4", "m4/swd"], "m4/swd"))
def test_cyccnt_across_its_wrap(way, name):
    bits, cycles = SPANS[name]
    with Place(way, "free", bits, **FAST) as place:
        server = place.server or place.start_server()
        server("mww 0xE000EDFC 0x01000000")  # the unit on, the counter still off
        server("mww 0xE0001004 0xFFFFFF00")
        if not place.server:
            server.kill()
        hits = 2 if cycles >= 10 ** 8 else 20
        all_exact(*span(place, name, "--freq", "50M", hits=hits))


@pytest.mark.parametrize("way", ["m4", "m4/swd", "m4/v2"])
@pytest.mark.parametrize("name, bits, code", [("dwt_cpi", DWT_CPI, 8), ("dwt_exc", DWT_EXC, 12), ("dwt_sleep", DWT_SLEEP, 16),
                                              ("dwt_lsu", DWT_LSU, 20), ("dwt_fold", DWT_FOLD, 24)])
def test_profiling_counters(way, name, bits, code):
    """All in one `delta`; exact below 256 cycles, else a bound."""
    events = {8: "CPICNT", 12: "EXCCNT", 16: "SLEEPCNT", 20: "LSUCNT", 24: "FOLDCNT"}
    with Place(way, "tick" if name == "dwt_sleep" else "free", bits) as place:
        result = place.delta(f"{name}_start", f"{name}_end", "-r", 10 if name == "dwt_sleep" else 50, "-e",
                             ",".join(events.values()))
        truth = passages(place.board.log(), place.symbol(f"{name}_start"), at(place.symbol(f"{name}_end")))
        exact = 0
        for hit, passage in zip(result.hits, truth):
            assert hit["values"]["CPU_CYCLES"] == passage.cycles
            for offset, event in events.items():
                wanted = passage.end.counts[offset] - passage.begin.counts[offset]
                if event in hit.get("at_least", []):
                    assert hit["values"][event] <= wanted, (event, hit)
                    assert passage.cycles > 200, (event, hit)
                    continue
                exact += 1
                assert hit["values"][event] == wanted, (event, hit, wanted)
        assert name == "dwt_sleep" or exact == 5 * len(result.hits)
        assert name == "dwt_sleep" or any(passage.end.counts[code] > passage.begin.counts[code] for passage in truth)


@pytest.mark.parametrize("name, bits", [("span_10", SPAN_10), ("span_1m", SPAN_1M)])
def test_profiling_counters_of_any_region(name, bits):
    with Place("m4/swd", "free", bits, **FAST) as place:
        result, truth = span(place, name, "-e", "LSUCNT,CPICNT", "--freq", "50M")
        for hit, passage in zip(result.hits, truth):
            for offset, event in ((20, "LSUCNT"), (8, "CPICNT")):
                wanted = passage.end.counts[offset] - passage.begin.counts[offset]
                bounded = event in hit.get("at_least", [])
                assert bounded == (passage.cycles >= 256)
                assert hit["values"][event] <= wanted if bounded else hit["values"][event] == wanted

"""How long the core is halted, as `delta` says it: by the counter of cycles, which stops then, against the chip's time. The truth is
the board's own time, less the cycles that the core ran."""
import re

import pytest

from harness import WORK_BY_DATA, Place, finish_tool, run_tool, unfolded, wait_for
from own_program import START, own_place

HZ = 12_000_000
# The region takes 250 us
PROGRAM = START + r"""
APART void spin(uint32_t n) { for (; n; n--) __asm volatile("nop"); }
volatile uint32_t limit;
APART void after(void) { spin(SPINS / 2); }
APART void job(void) { spin(SPINS); sink++; }
#ifdef SLEEPS
void SysTick_Handler(void) { sink++; }
#endif
void run(void)
{
    SystemCoreClock = CLOCK;
    limit = 0xFFFFFFFF;
#ifdef SLEEPS
    REGISTER(0xE000E014) = 11999; REGISTER(0xE000E018) = 0; REGISTER(0xE000E010) = 7;
#endif
    for (;;) {
        while (round_count >= limit)
            ;
        job();
        after();
        round_count++;
#ifdef SLEEPS
        __asm volatile("wfi");
#endif
#ifdef MAY_SLEEP
        if (limit == 1)
            __asm volatile("wfi");
#endif
    }
}
"""
KEYS = {"halts", "halted_us", "halted_plus_minus_us", "halted_share"}


def place_of(tmp_path, way, *flags, **options):
    # By the wire's time a host that is busy changes nothing; OpenOCD has no such wire
    exact = {"dap_exact": True, "dap_wire": 10_000_000, "clock": HZ} if way.endswith("/swd") else {}
    return own_place(tmp_path, way, PROGRAM, "-DSPINS=600", "-DCLOCK=12000000", *flags, **{**exact, **options})


def halted(place):
    """How long core 0 was halted so far in us, and how often."""
    now = place.board.command("stood")
    return now["now_ns"] / 1e3 - now["cores"][0]["cycles"] * 1e6 / HZ, now["cores"][0]["halts"]


def told(place, hits, *words):
    """The summary of a run, how often the board says that the core was halted, and for how long in us. The program begins its calls
    when the tool awaits them, and makes no more than are measured: nothing else halts the core."""
    place.board.write_word("limit", 0)
    us, halts = halted(place)
    tool = place.start("delta", *words, "-r", hits, "-j", "--no-calibrate")
    header = tool.stdout.readline()
    begun = place.board.state()["accesses"]
    wait_for(lambda: tool.poll() is not None or place.board.state()["accesses"] > begun + 100, "the tool to wait for the start")
    place.board.write_word("limit", place.board.read_word("round_count") + hits + (words == ("job", "job")))
    result = finish_tool(tool)
    assert result.code in (0, 5), header + result.err
    after_us, after_halts = halted(place)
    place.board.write_word("limit", 0xFFFFFFFF)
    return result.summary, after_halts - halts, after_us - us


@pytest.mark.any_row(4)
@pytest.mark.parametrize("words", [("job",), ("job", "after"), ("job", "job")], ids=" ".join)
@pytest.mark.parametrize("way", ["m4/swd", "rp2040/swd", "m33/swd", "a9/swd", "a53/swd", "m4", "rp2040", "m33", "a9", "a53"])
def test_it_is_what_the_board_says(way, words, tmp_path):
    """But for what a poll of a running core leaves open."""
    with place_of(tmp_path, way) as place:
        for _ in range(10):  # where the host's time counts, a busy one may leave open too much
            summary, halts, us = told(place, 60, *words)
            if KEYS <= set(summary):
                break
        assert summary["halts"] == halts, (halts, us, summary)
        off = summary["halted_us"] - us / halts
        # Where a round ended, which begins the next one, the core is halted until the breakpoint goes
        assert off <= summary["halted_plus_minus_us"] and (words == ("job", "job") or -off <= summary["halted_plus_minus_us"]), (us / halts, summary)
        assert 0 < summary["halted_share"] < 1 and summary["halted_plus_minus_us"] < summary["halted_us"] / 10


def test_passes_are_added_up(tmp_path):
    events = "LD_RETIRED,ST_RETIRED,L1D_CACHE,L1D_CACHE_REFILL,PC_WRITE_RETIRED,EXC_TAKEN,EXC_RETURN"
    with place_of(tmp_path, "a9/swd") as place:
        hits = 800  # each turn of a pass adds what two polls leave open
        summary = place.run("delta", "job", "-r", hits, "-j", "-e", events).summary
        # Up to two hits of each pass show what a halt costs
        assert summary["passes"] == 2 and 4 * hits - 8 <= summary["halts"] <= 4 * hits, summary


def test_people_read_it_in_every_format(tmp_path):
    says = r"the core was halted \d+ times for [1-9][\d.]+ .s on average, [\d.]+ % of the run"
    with place_of(tmp_path, "m4/swd") as place:
        file = tmp_path / "run.jsonl"
        result = place.run("delta", "job", "-r", 300, "-o", str(file), "-j")
        assert result.code == 0 and all(key in file.read_text() for key in KEYS), result.err
        for words in ((), ("--format", "markdown"), ("--format", "html")):
            shown = run_tool("show", str(file), *words)
            assert re.search(says, unfolded(shown.out)), shown.out + shown.err
        assert re.search(says, unfolded(place.run("delta", "job", "-r", 300).out))


@pytest.mark.any_row(3)
@pytest.mark.parametrize("freq", ["6M", "11M", "11.9M", "12.1M", "13M", "24M"])
@pytest.mark.parametrize("way", ["m4/swd", "rp2040/swd", "a9/swd"])
def test_a_wrong_clock_is_not_taken_for_halts(way, freq, tmp_path):
    """Within the error of a clock that is claimed, the counter's own rate decides."""
    with place_of(tmp_path, way) as place:
        summary, halts, us = told(place, 60, "job", "--freq", freq)
        # An RP2040's timer shows a smaller error, too
        if "." not in freq or way.startswith("rp2040"):
            assert KEYS.isdisjoint(summary), summary
        else:
            assert abs(summary["halted_us"] - us / halts) <= summary["halted_plus_minus_us"], (halts, us, summary)


@pytest.mark.any_row(2)
@pytest.mark.parametrize("way", ["m4/swd", "m33/swd", "rp2040/swd", "m4"])
def test_sleep_is_not_taken_for_halts(way, tmp_path):
    with place_of(tmp_path, way, "-DSLEEPS") as place:
        result = place.run("delta", "job", "-r", 60, "-j", "--counter", "systick" if way.startswith("rp2040") else "dwt")
        assert result.code == 0 and KEYS.isdisjoint(result.summary), result.out[-1000:]


def test_code_that_may_sleep_gives_an_upper_bound(tmp_path):
    """A Cortex-M whose counter keeps up with its clock is not seen asleep; that it never sleeps is not proved."""
    for flags, at_most in (("-DMAY_SLEEP",), True), ((), None):
        with place_of(tmp_path, "m4/swd", *flags) as place:
            result = place.run("delta", "job", "-r", 300, "-o", str(tmp_path / "run.jsonl"), "-j")
            assert result.code == 0, result.err
            shown = run_tool("show", str(tmp_path / "run.jsonl"))
            assert re.search(r"times for at most [1-9].*: it may have slept", unfolded(shown.out)) if at_most else "slept" not in shown.out
            assert ('"halted_at_most"' in (tmp_path / "run.jsonl").read_text()) == bool(at_most)


def test_code_that_may_sleep_unseen_gives_none(tmp_path):
    """Registers of an A core do not show that it sleeps."""
    with Place("a9/swd", "free", WORK_BY_DATA) as place:
        result = place.run("delta", "work_by_data", "-r", 60, "-j")
        assert result.code == 0 and KEYS.isdisjoint(result.summary), result.out[-1000:]


def test_a_counter_that_the_core_reads_itself_gives_none(tmp_path):
    """To read it between two runs would halt the core where it may be at the next start."""
    with place_of(tmp_path, "r5/swd") as place:
        result = place.run("delta", "job", "-r", 20, "-j")
        assert result.code == 0 and KEYS.isdisjoint(result.summary), result.out[-1000:]


def test_a_run_without_halts_has_none(tmp_path):
    with place_of(tmp_path, "m33/swd", dap_exact=False, dap_swo="uart") as place:
        result = place.run("delta", "job", "--no-halt", "--for", "300ms", "-j")
        assert result.code == 0 and KEYS.isdisjoint(result.summary), result.out[-1000:] + result.err

"""Calls that are in no statistics: the one in which a measurement ends, those that were left, and tainted hits. No statement about all calls
holds without them."""
import pytest

from gdb_place import GdbPlace
from harness import Place, finish_tool, run_tool, unfolded
from own_program import START, own_place

HANGS = START + r"""
volatile uint32_t hang __attribute__((used));
APART void f(void) { for (uint32_t i = 0; i < 20 + (round_count & 7); i++) sink += i; while (hang) sink++; }
void run(void) { for (;; round_count++) { f(); for (volatile uint32_t i = 0; i < 100; i++); } }
"""
SWO = {"dap_swo": "uart"}
WAYS = {"m4": ("m4/swd", Place, {}), "a9": ("a9/swd", Place, {}), "r5": ("r5/swd", Place, {}), "OpenOCD": ("m4", Place, {}), "GDB server": ("m4", GdbPlace, {}),
        "trace": ("m33/swd", Place, SWO)}


def run_into(place, *arguments):
    """A run that ends in a call which does not end, and how long that call took at most."""
    process = place.start(*arguments, "--freq", "12M", "-j")
    if "--no-halt" in arguments:
        place.board.wait_for(lambda state: state["dwt_function"][0] & 0xF, "the comparator")
        place.board.run_for(200_000)
    else:
        place.wait_for_stops(200 if place.chip == "r5" else 20, process)  # the R5 halts to set its counters, too
    began = place.board.state()["cycles"]
    place.board.write_word("hang", 1)
    result = finish_tool(process)
    longest = place.board.state()["cycles"] - began + 1000
    place.board.write_word("hang", 0)
    return result, longest


@pytest.mark.parametrize("way", WAYS)
def test_a_run_that_ends_in_a_call(way, tmp_path):
    chip, kind, options = WAYS[way]
    halts = ["--no-halt"] if way == "trace" else []
    with own_place(tmp_path, chip, HANGS, kind=kind, **options) as place:
        seconds = 4 if place.chip == "r5" else 1
        result, longest = run_into(place, "delta", "f", *halts, "--for", f"{seconds}s", "--timeout", f"{3 * seconds}s", "--precision", "0.0001%")
        column = result.summary["columns"]["CPU_CYCLES"]
        assert result.code == 0 and result.summary["cut"] == 1 and len(result.hits) == column["count"] > 0, result.err
        assert column["at_least"] == 1 and "mean_error" not in column and result.summary["precision"]["reached"] is False
        if way != "GDB server":  # which reads no counter of a core that runs
            assert column["max"] < column["at_least_max"] == result.summary["cut_at_least"] <= longest
        assert place.board.state()["run"] == "running" and "left halted" not in result.err


def test_a_breakpoint_of_ours_is_no_halt_of_others(tmp_path):
    """The end is never reached. An R5 reads what it has counted until then while it is halted at the start once more."""
    with own_place(tmp_path, "r5/swd", HANGS + "\nAPART void never(void) { sink++; }\n") as place:
        result = place.run("delta", "f", "never", "--timeout", "1s")
        assert result.code == 3 and "left halted" not in result.err and place.board.state()["run"] == "running", result.err


def test_what_is_said_of_a_call_that_did_not_end(tmp_path):
    regions, before = tmp_path / "r.regions", tmp_path / "before.jsonl"
    with own_place(tmp_path, "m4/swd", HANGS) as place:
        assert place.run("delta", "f", "-r", 20, "--freq", "12M", "-j", "-o", before).code == 0
        regions.write_text("f  f  <= 1000 cycles\n")
        result, _ = run_into(place, "survey", "--regions", regions, "--check", "--for", "2s")
        line = next(line for line in result.lines if line["type"] == "region")
        assert result.code == 1 and line["cut"] >= 1 and line["periods"]["cut"], result.out
        assert line["budget"]["verdict"] == "regressed" and line["budget"]["why"] == "a hit with only a lower bound"
        result, _ = run_into(place, "delta", "f", "--for", "1s", "--timeout", "3s", "--baseline", before)
        verdict = next(line for line in result.lines if line["type"] == "verdict")
        assert result.code == 4 and verdict["verdict"] == "inconclusive"
        (tmp_path / "cut.jsonl").write_text(result.out)
        text = unfolded(run_tool("show", tmp_path / "cut.jsonl").out)
        assert "1 call had not ended, after at least" in text and "all equal" not in text and "overflow" not in text


def test_a_call_may_end_after_the_time(tmp_path):
    """The time is over in a call: it is waited for."""
    with own_place(tmp_path, "m4/swd", HANGS) as place:
        process = place.start("delta", "f", "--for", "500ms", "--freq", "12M", "-j")
        place.wait_for_stops(60)
        place.board.write_word("hang", 1)
        place.board.run_for(24_000_000)
        place.board.write_word("hang", 0)
        result = finish_tool(process)
        assert result.code == 0 and "cut" not in result.summary and max(result.cycles) > 20_000_000 > min(result.cycles)


def test_runs_of_which_other_parts_were_left_are_not_compared(tmp_path):
    for leaves in ("0", "k % 4 == 3"):
        with own_place(tmp_path, "m4/swd", LEAVES.replace("k % 4 == 3", leaves).replace("SLOW", "3")) as place:
            result = place.run("delta", "f", "-r", 60, "--freq", "12M", "-j", "-o", tmp_path / f"{leaves[0]}.jsonl")
            assert result.code == 0, result.err
    result = run_tool("compare", tmp_path / "0.jsonl", tmp_path / "k.jsonl", "--threshold", "50%")
    text = unfolded(result.out)
    assert result.code == 5 and "of the calls were left without returning in the baseline" in text and "calls left without returning, not counted" in text


LEAVES = START + r"""
static void *place[5];
APART void deep(uint32_t n) { for (uint32_t i = 0; i < n; i++) sink += i; __builtin_longjmp(place, 1); }
APART void f(uint32_t k) { for (uint32_t i = 0; i < 20; i++) sink += i; if (k % 4 == 3) deep(SLOW); sink++; }
void run(void) { for (;; round_count++) if (!__builtin_setjmp(place)) f(round_count); }
"""


@pytest.mark.parametrize("budget", ("<= 1000 cycles", "mean <= 1000 cycles"))
def test_budgets_ask_for_calls_that_were_left(budget, tmp_path):
    (tmp_path / "r.regions").write_text(f"f  f  {budget}\n")
    for slow, verdict, code in ((3, "pass", 0), (3000, "inconclusive", 4)):
        with own_place(tmp_path, "m4/swd", LEAVES.replace("SLOW", str(slow))) as place:
            result = place.run("survey", "--regions", tmp_path / "r.regions", "--check", "-r", 40, "--freq", "12M", "-j")
            line = next(line for line in result.lines if line["type"] == "region")
            assert result.code == code and line["left"] > 0 and line["budget"]["verdict"] == verdict, line
            assert ("left or tainted" in line["budget"].get("why", "")) == (verdict != "pass")


TAINTED = START + r"""
void irq(void) { __asm volatile("nop"); }
__attribute__((section(".vectors"), used)) static const void *const irqs[8] = {irq, irq, irq, irq, irq, irq, irq, irq};
APART void f(uint32_t k) { for (uint32_t i = 0; i < 20; i++) sink += i; if (k % 4 == 3) for (uint32_t i = 0; i < SLOW; i++) sink += i; }
void run(void) { REGISTER(0xE000E100) = 0xFF; for (;; round_count++) {
                 if (round_count % 4 != 3) __asm volatile("cpsid i");
                 f(round_count);
                 __asm volatile("cpsie i");
                 for (volatile uint32_t i = 0; i < 30; i++); } }
"""


@pytest.mark.parametrize("budget", ("<= 1000 cycles", "mean <= 1000 cycles"))
def test_budgets_ask_for_tainted_hits(budget, tmp_path):
    """An interrupt pends in each halt, and only slow calls unmask it."""
    (tmp_path / "r.regions").write_text(f"f  f  {budget}\n")
    for slow, verdict, code in ((3, "pass", 0), (3000, "inconclusive", 4)):
        with own_place(tmp_path, "m4/swd", TAINTED.replace("SLOW", str(slow)), "-fno-toplevel-reorder", halt_irq=1000) as place:
            result = place.run("survey", "--regions", tmp_path / "r.regions", "--check", "-r", 40, "--freq", "12M", "-j")
            line = next(line for line in result.lines if line["type"] == "region")
            assert result.code == code and line["tainted"] > 0 and line["budget"]["verdict"] == verdict, line

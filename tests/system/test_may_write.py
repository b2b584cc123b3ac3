"""What is measured may change the counter itself, but mostly does not: breakpoints there show each hit in which it does."""
import json
import re
import signal

import pytest

from gdb_place import GdbPlace
from harness import INTERRUPTED, Place, finish_tool, passages, returned, unfolded, wait_for
from own_program import START, own_place

SOURCE = START + r"""
#if defined __aarch64__
#define SPOIL() do { uint64_t v; __asm volatile("mrs %0, pmccntr_el0\nnop\nnop\nmsr pmccntr_el0, %0\nisb" : "=r"(v)); } while (0)
#elif defined __ARM_ARCH_7A__ || defined __ARM_ARCH_7R__
#define SPOIL() do { uint32_t v; __asm volatile("mrc p15, 0, %0, c9, c13, 0\nnop\nnop\nmcr p15, 0, %0, c9, c13, 0" : "=r"(v)); } while (0)
#elif defined WITH_SYSTICK
#define SPOIL() (REGISTER(0xE000E010) &= ~1u, REGISTER(0xE000E010) |= 1)
#else
#define SPOIL() (REGISTER(0xE0001004) -= 20)
#endif
#ifndef MORE
#define MORE(n)
#endif
volatile uint32_t inside, between, in_handler, spoiled;
APART void spoil(uint32_t how)
{
    switch (how) {
    case 1: SPOIL(); break;
    MORE(2) MORE(3) MORE(4) MORE(5) MORE(6) MORE(7)
    }
    spoiled++;
}
APART void leaf(void) { for (uint32_t i = 0; i < 20; i++) sink += i; }
APART void filter(void)
{
    leaf();
    if (inside) {
        spoil(inside);
#ifndef STAYS
        inside = 0;
#endif
    }
    leaf();
}
APART void rest(void) { if (between) spoil(between); leaf(); }
#ifdef TICKS
void SysTick_Handler(void) { if (in_handler) spoil(in_handler); }
#endif
void run(void)
{
#ifdef TICKS
    REGISTER(0xE000E014) = 9000;
    REGISTER(0xE000E018) = 0;
    REGISTER(0xE000E010) = 7;
#endif
    for (;; round_count++) { filter(); rest(); }
}
"""
CALL = f"own.c:{SOURCE[len(START):].split('spoil(inside);')[0].count(chr(10)) + 1}"
SEVERAL = "-DMORE(n)=case n: sink += n; SPOIL(); break;"
COUNTER = {"m4": "dwt", "m33": "dwt", "rp2350": "dwt", "m55": "dwt"}  # others have one that counts cycles
CHIPS = ["a9", "a53", "m4", "r5", "rp2040", "a7", "m33", "rp2350"]
WAYS = [way.format(chip) for chip in CHIPS for way in ("{}/swd", "{}", "gdb {}")]
LINE = re.compile(r"own\.c:\d+ \(spoil\+0x\w+\) writes (DWT_CYCCNT|PMCCNTR|SYST_CSR)")


def counted(way):
    chip = way.removeprefix("gdb ").partition("/")[0]
    return ["--counter", COUNTER[chip]] if chip in COUNTER else []


def place_of(folder, way, *flags):
    return own_place(folder, way.removeprefix("gdb "), SOURCE, *flags, kind=GdbPlace if way.startswith("gdb ") else Place)


def begin(place, way, folder):
    """Until there are some hits. Lines go to a file, since nobody reads them meanwhile."""
    place.board.watch(place.symbol("filter"))
    tool = place.start(*counted(way), "delta", "filter", "-j", "-r", 1000000, "-o", folder / "hits.jsonl")
    some_hits(place, tool, 20)
    return tool


def some_hits(place, tool, n):
    wait_for(lambda: place.board.state()["halts"] > 2 * n or tool.poll() is not None, f"{n} hits")


def ended(place, tool, folder, *how):
    """Each hit is true, in its order."""
    result = finish_tool(tool, *how)
    assert result.code in (INTERRUPTED, 3), result.err
    (written,) = folder.glob("hits.jsonl*")  # of a run that Ctrl-C ended it is the file next to it
    lines = [json.loads(line) for line in written.read_text().splitlines()]
    rest = iter([p.cycles for p in passages(place.board.log(), place.symbol("filter"), returned)])
    hits = [line["values"]["CPU_CYCLES"] for line in lines if line["type"] == "hit"]
    assert hits, result.err
    for cycles in hits:
        assert any(true == cycles for true in rest), cycles
    assert place.board.state()["run"] == "running"
    return result, lines[0]


@pytest.mark.any_row(3)
@pytest.mark.parametrize("flags", [(), (SEVERAL,)], ids=["one", "several"])
@pytest.mark.parametrize("way", WAYS)
def test_what_no_hit_executes_spoils_none(way, flags, tmp_path):
    with place_of(tmp_path, way, *flags) as place:
        tool = begin(place, way, tmp_path)
        place.board.write_word("between", 1)
        wait_for(lambda: place.board.read_word("spoiled") > 20 or tool.poll() is not None, "it to be executed")
        result, header = ended(place, tool, tmp_path, signal.SIGINT)
        assert result.code == INTERRUPTED, result.err
        assert LINE.search(header["note"]) and "a hit in which it runs ends the run" in header["note"], header
        assert not flags or "(others: doctor lists them): a hit in which it runs" in header["note"], header


@pytest.mark.any_row(3)
@pytest.mark.parametrize("flags", [(), (SEVERAL,)], ids=["one", "several"])
@pytest.mark.parametrize("way", WAYS)
def test_a_hit_that_executes_it_ends_the_run(way, flags, tmp_path):
    with place_of(tmp_path, way, *flags) as place:
        tool = begin(place, way, tmp_path)
        place.board.write_word("inside", 1)
        result, _ = ended(place, tool, tmp_path)
        err = unfolded(result.err)
        assert result.code == 3 and "the program itself changes the counter in a hit: own.c:" in err and LINE.search(err), result.err
        assert (f"reached from {CALL} (filter+0x" in err) == bool(flags), result.err
        wait_for(lambda: place.board.read_word("inside") == 0, "the program to go on")
        assert place.run("info").code == 0


@pytest.mark.any_row(2)
@pytest.mark.parametrize("where", ["between", "inside"])
@pytest.mark.parametrize("way", ["a9/swd", "m4/swd", "rp2040", "a53", "gdb r5"])
def test_survey_leaves_out_what_executes_it(way, where, tmp_path):
    with place_of(tmp_path, way, "-DSTAYS") as place:
        place.board.write_word(where, 1)
        result = place.run(*counted(way), "survey", "filter", "leaf", "-j", "-r", 20)
        assert result.code == 0, result.out + result.err
        rows = {line["name"]: line for line in result.lines if line["type"] == "region"}
        assert rows["leaf"]["hits"] >= 20, result.out
        if where == "between":
            assert rows["filter"]["hits"] >= 20, result.out
        else:
            assert not rows["filter"]["reached"] and "the program itself changes the counter in a hit" in rows["filter"]["why"], result.out


@pytest.mark.any_row(2)
@pytest.mark.parametrize("where", ["between", "inside"])
@pytest.mark.parametrize("way", ["a9/swd", "m4/swd", "a53", "m4"])
def test_guard_ends_where_a_call_executes_it(way, where, tmp_path):
    with place_of(tmp_path, way, "-DSTAYS") as place:
        place.board.write_word(where, 1)
        result = place.run("guard", "filter", "--budget", 100000, "--for", "300ms")
        if where == "between":
            assert result.code == 0 and "no overruns" in result.out, result.out + result.err
        else:
            assert result.code == 3 and "the program itself changes the counter in a hit" in unfolded(result.err), result.out + result.err
        assert place.board.state()["run"] == "running"


@pytest.mark.parametrize("way", ["m4/swd", "rp2040/swd"])
def test_handlers_are_watched_too(way, tmp_path):
    """Of a Cortex-M: what a handler does while a hit is under way."""
    with place_of(tmp_path, way, "-DTICKS") as place:
        tool = begin(place, way, tmp_path)
        place.board.write_word("in_handler", 1)
        result, header = ended(place, tool, tmp_path)
        assert result.code == 3 and "the program itself changes the counter in a hit: own.c:" in unfolded(result.err), result.err
        assert "SysTick_Handler" in result.err or "spoil" in result.err, result.err


ASIDE = SOURCE.split("APART void rest")[0] + r"""
#define PLACE(name) __asm volatile(".global " #name "\n" #name ": nop" ::: "memory")
/* The compiler puts the block that changes the counter after the end */
APART uint32_t aside(uint32_t n)
{
    PLACE(aside_start);
    leaf();
    if (__builtin_expect(inside, 0)) {
        SPOIL();
        sink = n;
    }
    PLACE(aside_end);
    for (uint32_t i = 0; i < 3; i++) leaf(); /* too much to be copied */
    return n;
}
void run(void) { for (;; round_count++) { aside(round_count); leaf(); } }
"""


@pytest.mark.any_row(2)
@pytest.mark.parametrize("way", ["m4/swd", "rp2040/swd", "a9/swd", "m4"])
def test_code_after_the_end_is_looked_at(way, tmp_path):
    with own_place(tmp_path, way, ASIDE, "-O2") as place:
        start, end = place.symbol("aside_start"), place.symbol("aside_end")
        place.board.watch(start, end)
        words = ["delta", "-j", f"*{start:#x}", f"*{end:#x}", "-r", 10, *counted(way)]
        result = place.run(*words)
        assert result.code == 0 and len(result.hits) == 10, result.err
        place.board.write_word("inside", 1)
        result = place.run(*words)
        assert result.code == 3 and not result.hits and re.search(r"own\.c:\d+ \(aside\+0x\w+\) writes", unfolded(result.err)), result.err

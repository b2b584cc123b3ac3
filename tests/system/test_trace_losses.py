"""Trace that is lost, or seems to be, and trace that the program changes: what is shown is the log's."""
import re

import pytest

from harness import finish_tool, unfolded
from own_program import START, own_place

RP2350 = {"clock": 12_000_000, "dap_exact": True, "dap_wire": 10_000_000}
BURN = START + """
#define BURN(n) for (uint32_t i = 0; i < (n); i++) sink += i
"""

BURSTS = BURN + r"""
static const void *table[32] __attribute__((aligned(128)));
volatile uint32_t left;
__attribute__((noinline, optimize("O2"))) void slow(void) { BURN(20); }
__attribute__((noinline, optimize("O2"))) void noisy(void) { if (left) { left--; REGISTER(0xE000E200) = 2; } __asm volatile("dsb"); }
void run(void)
{
    table[16] = (const void *)slow, table[17] = (const void *)noisy;
    REGISTER(0xE000ED08) = (uint32_t)table, REGISTER(0xE000E400) = 0x80, REGISTER(0xE000E100) = 3;
    for (;; round_count++) {
        for (int k = 0; k < 10; k++) { REGISTER(0xE000E200) = 1; __asm volatile("dsb\nisb"); BURN(307); }
        BURN(4000); left = 60; REGISTER(0xE000E200) = 2; __asm volatile("dsb\nisb");
        BURN(4000);
    }
}
"""


def test_words_around_a_loss_make_up_no_exception(tmp_path):
    with own_place(tmp_path, "rp2350/swd", BURSTS, **RP2350) as place:
        for _ in range(3):
            result = place.run("irq", "-j", "--for", "300ms", "--freq", "12M")
            rows = {line["number"]: line["calls"] for line in result.lines if line["type"] == "interrupt"}
            assert result.summary["gaps"] > 0 and {16} <= set(rows) <= {16, 17}, rows
            assert rows[16]["exact"] > 0, rows


INDEX = BURN + r"""
volatile uint32_t index_now;
void run(void) { for (;; round_count++) { index_now = 0; BURN(2000 + (round_count & 7)); index_now = 1; BURN(3000); index_now = 2; BURN(1001); } }
"""


def test_a_word_of_zeros_may_be_data(tmp_path):
    with own_place(tmp_path, "rp2350/swd", INDEX, **RP2350) as place:
        place.board.command("trace on")
        result = place.run("tasks", "-j", "--task", "index_now", "--for", "1s", "--freq", "12M")
        rows = {int(line["value"], 16): line["calls"] for line in result.lines if line["type"] == "task"}
        assert set(rows) == {0, 1, 2} and result.code == 0, result.out
        assert result.summary["gaps"] == 0 and all(calls["exact"] >= calls["seen"] - 2 for calls in rows.values()), rows


WRITES = BURN + r"""
volatile uint32_t go, off;
APART void write_trace(uint32_t from, uint32_t to) { if (off) REGISTER(0xE0000E80) &= ~off; if (from) REGISTER(from) = to; }
APART void f(void) { BURN(40); if (go == 1) write_trace(0, 0); }
APART void g(void) { BURN(40); }
void run(void) { for (;; round_count++) { f(); g(); if (go == 2) REGISTER(0xE0001020) = (uint32_t)run & ~1u; BURN(200); } }
"""


@pytest.mark.parametrize("way", ["m33/swd", "m4/swd"])
def test_code_that_writes_what_trace_depends_on(way, tmp_path):
    with own_place(tmp_path, way, WRITES, clock=12_000_000, dap_swo="uart") as place:
        if way == "m33/swd":
            result = place.run("delta", "f", "--no-halt", "-r", 5, "--freq", "12M")
            words = r"can change what the trace depends on: own\.c:\d+ \(write_trace\+0x\w+\) writes ITM_TCR, which what is measured may run"
            assert result.code == 3 and re.search(words, unfolded(result.err)), result.err
            assert place.run("delta", "f", "-r", 5).code == 0  # no trace
            assert place.run("delta", "g", "--no-halt", "-r", 5, "--freq", "12M").code == 0
        result = place.run("tasks", "--task", "off", "--for", "100ms", "--freq", "12M")
        assert "own.c" in result.out and "only a count in which it runs would be wrong" in unfolded(result.out), result.out
        tool = place.start("tasks", "--task", "off", "--for", "700ms", "--freq", "12M")
        place.board.wait_for(lambda state: state["dwt_function"][0] & 0xF, "the comparator")
        place.board.write_word("go", 2)
        result = finish_tool(tool)
        assert result.code == 3 and "changed DWT_COMP0 during the run" in result.err, result.err

"""Exclusive accesses on a core that loses them at each halt, as it may: no stop is between a load-exclusive and its store-exclusive."""
import re
import subprocess

import pytest

from harness import unfolded
from own_program import START, own_place
from test_lines import lines

# `add` tries again until its store is done; `take` gives up; `by_calls` has the two in two functions.
ADDS = START + r"""
volatile uint32_t number, lock;
#if defined __aarch64__
#define LOAD(value, at) __asm volatile("ldaxr %w0, [%1]" : "=r"(value) : "r"(at) : "memory")
#define STORE(failed, value, at) __asm volatile("stlxr %w0, %w1, [%2]" : "=&r"(failed) : "r"(value), "r"(at) : "memory")
#else
#define LOAD(value, at) __asm volatile("ldrex %0, [%1]" : "=r"(value) : "r"(at) : "memory")
#define STORE(failed, value, at) __asm volatile("strex %0, %1, [%2]" : "=&r"(failed) : "r"(value), "r"(at) : "memory")
#endif
APART uint32_t add(uint32_t by)
{
    uint32_t value, failed;
    do {
        LOAD(value, &number); // load
        value += by; // between
        STORE(failed, value, &number); // store
    } while (failed); // again
    return value;
}
APART uint32_t take(void)
{
    uint32_t value, failed;
    do {
        LOAD(value, &lock); // load
        if (value) // asked
            return 0; // left
        STORE(failed, 1, &lock); // store
    } while (failed);
    return 1;
}
APART uint32_t opened(volatile uint32_t *at)
{
    uint32_t value;
    LOAD(value, at);
    return value;
}
APART uint32_t closed(uint32_t value, volatile uint32_t *at)
{
    uint32_t failed;
    STORE(failed, value, at);
    return failed;
}
APART uint32_t by_calls(uint32_t by)
{
    uint32_t value;
    do
        value = opened(&number) + by;
    while (closed(value, &number));
    return value;
}
void run(void)
{
    for (;; round_count++) {
        sink = add(3) + take() + by_calls(5);
        if (round_count & 1)
            lock = 0;
    }
}
"""
WAYS = ["m4/swd", "a9/swd", "a53/swd"]


def numbers(function):
    """The line of each remark of a function."""
    text = ADDS.rpartition("#line 1\n")[2].split("\n")
    first = next(i for i, line in enumerate(text) if line.startswith(f"APART uint32_t {function}("))
    end = next(i for i in range(first, len(text)) if text[i] == "}")
    return {text[i].rpartition("// ")[2]: i + 1 for i in range(first, end) if "// " in text[i]}


def access(place, function, name):
    """The address of its load-exclusive ("ld") or store-exclusive ("st")."""
    tool = "aarch64-linux-gnu-objdump" if "a53" in place.elf else "arm-none-eabi-objdump"
    text = subprocess.run([tool, "-d", f"--disassemble={function}", place.elf], check=True, capture_output=True, text=True).stdout
    return int(re.search(rf"^ *([0-9a-f]+):.*\t{name}[al]?(?:rex|xr)\b", text, re.M)[1], 16)


@pytest.mark.parametrize("way", WAYS)
def test_lines_stop_around_exclusive_accesses(way, tmp_path):
    with own_place(tmp_path, way, ADDS, core_state="loses-exclusives") as place:
        for function, parts in (("add", {"again": 1}), ("take", {"left": 0.5})):
            result = lines(place, function, "-r", 8)
            at = numbers(function)
            hits = {row["line"]: row["hits_per_call"] for row in result.rows}
            assert {name: hits.get(at[name]) for name in parts} == parts, (hits, at)
            load, store = access(place, function, "ld"), access(place, function, "st")
            blocks = {int(block["address"], 0): block["hits"] for row in result.rows for block in row["blocks"]}
            assert not any(load < begin <= store for begin in blocks), blocks
            assert all(blocks[begin] == 8 for begin in (load, store + 4) if function == "add"), blocks
            assert result.summary["agrees"] and result.summary["calls"] == 8, result.summary
        text = place.run("lines", "add", "-r", 3).out
        assert "lines from a load-exclusive up to its store count to the line of the load" in unfolded(text), text


@pytest.mark.parametrize("way", WAYS)
def test_a_place_in_an_exclusive_access_is_refused(way, tmp_path):
    with own_place(tmp_path, way, ADDS, core_state="loses-exclusives") as place:
        load, store = access(place, "add", "ld"), access(place, "add", "st")
        behind = store + 4
        for region in ((f"*{store:#x}", f"*{behind:#x}"), (f"*{load:#x}", f"*{store:#x}"), (f"*{load + 4:#x}",) * 2, (f"*{load:#x}",) * 2,
                       ("opened",), ("closed", "by_calls"), (f"*{access(place, 'closed', 'st'):#x}",) * 2):
            result = place.run("delta", *region, "-r", 2)
            assert result.code == 2 and "load-exclusive" in result.err and "store-exclusive" in result.err, (region, result.err)
        told = unfolded(place.run("delta", f"*{store:#x}", f"*{behind:#x}", "-r", 2).err)
        assert f"{load:#010x}" in told and f"*{behind:#x} follows" in told, told
        for region in (("add",), ("add", f"*{behind:#x}"), ("by_calls",), ("take",)):
            assert place.run("delta", *region, "-r", 4).code == 0, region
        before = place.board.read_word("number")
        assert place.run("delta", "add", "-r", 4).code == 0 and place.board.read_word("number") != before


BOTH = ADDS[:ADDS.index("APART uint32_t add(")] + r"""
__attribute__((naked, used)) void longjmp(void) { __asm volatile("mov sp, r0\nbx r1"); }
volatile uint32_t others, taken;
APART void spin(uint32_t n) { for (uint32_t i = 0; i < n; i++) sink = i; }
APART void before(void) { spin(60); }
APART void both(volatile uint32_t *at)
{
    uint32_t value, failed;
    before();
    do {
        LOAD(value, at);
        value++;
        STORE(failed, value, at);
    } while (failed);
}
__attribute__((naked)) uint32_t try_take(volatile uint32_t *at)
{
    __asm volatile("ldrex r1, [r0]\ncbnz r1, 1f\nmovs r2, #1\nstrex r1, r2, [r0]\n1: mov r0, r1\nbx lr");
}
APART __attribute__((naked)) uint32_t calls_unseen(volatile uint32_t *at)
{
    __asm volatile("push {r4, lr}\nadr.w lr, 1f + 1\nb.w try_take\n.balign 4\n1: nop\npop {r4, pc}");
}
void SysTick_Handler(void) { others++; both(&lock); }
void run(void)
{
    static volatile uint32_t own;
    REGISTER(0xE000E014) = 2999;
    REGISTER(0xE000E018) = 0;
    REGISTER(0xE000E010) = 7;
    for (;; round_count++) {
        both(&number);
        own = 0;
        taken += calls_unseen(&own) == 0;
        spin(round_count & 127);
    }
}
"""


def test_another_task_is_not_kept_in_an_exclusive_access(tmp_path):
    """At a load-exclusive where hits end, or a line begins, it is not stepped on: its store would fail each time."""
    with own_place(tmp_path, "m4/swd", BOTH, core_state="loses-exclusives") as place:
        result = place.run("delta", "before", "-r", 300, "--timeout", "3s")
        assert result.code == 3 and "a load-exclusive at which hits end" in unfolded(result.err), result.out + result.err
        before = place.board.read_word("number"), place.board.read_word("others")
        result = lines(place, "both", "-r", 40)
        assert result.summary["calls"] == 40, result.summary
        assert place.board.read_word("number") > before[0] and place.board.read_word("others") > before[1]


NESTED = START + r"""
volatile uint32_t number;
APART __attribute__((naked, used)) void nested(volatile uint32_t *at, uint32_t deep)
{
    __asm volatile("ldrex r2, [r0]\nstrex r3, r2, [r0]\ncbz r1, 1f\npush {r4, lr}\nsubs r1, #1\nbl nested\npop {r4, pc}\n1: bx lr");
}
void run(void)
{
    for (;; round_count++)
        nested(&number, 2);
}
"""


def test_a_function_that_begins_so_and_calls_itself_is_refused_by_its_start(tmp_path):
    with own_place(tmp_path, "m4/swd", NESTED) as place:
        for _ in range(8):  # where the first stop is decides
            result = place.run("delta", "nested", "-r", 20, "--timeout", "3s")
            assert "another task" not in result.err, result.err
            assert result.code == 0 or "the start was reached inside the call" in unfolded(result.err), result.out + result.err


def test_a_start_that_is_a_load_exclusive_is_not_stepped_over(tmp_path):
    with own_place(tmp_path, "m4/swd", BOTH, core_state="loses-exclusives") as place:
        before = place.board.read_word("taken")
        result = place.run("delta", "try_take", "-r", 30, "-j")
        assert result.code == 0 and "no call is seen" in result.lines[-1].get("doubt", ""), result.lines
        assert place.board.read_word("taken") - before >= 20

"""Calls that longjmp leaves, and what a function's code does between its lines: rates of `survey` and the lines of `lines` are those of
the board. The programs are compiled here."""
import pytest

from gdb_place import GdbPlace
from harness import WORK_BY_DATA, Place, unfolded
from own_program import START, own_place
from test_lines import check_sum, lines, walked
from test_restore import assert_runs, snapshot

# What follows a call that was left takes long, as unwinding does
LEAVES = START + """
static void *env[5];
APART void spin(uint32_t n) { for (; n; n--) __asm volatile(""); }
APART void deep(uint32_t n) { spin(n & 15); if (n & 1) __builtin_longjmp(env, 1); sink += n; }
APART uint32_t may_leave(uint32_t n)
{
    spin(20);
    deep(n);
    sink += n;
    return n * 3 + sink;
}
APART void one_round(uint32_t n)
{
    if (__builtin_setjmp(env) == 0)
        sink = may_leave(n);
    else
        spin(3000);
    spin(50);
}
void run(void)
{
    for (uint32_t seed = 1;;) {
        seed = seed * 1664525u + 1013904223u;
        one_round(seed >> 16);
        round_count++;
    }
}
"""


@pytest.mark.any_row(2)
@pytest.mark.parametrize("way, kind", [("m4/swd", Place), ("rp2040/swd", Place), ("a9/swd", Place), ("m4", Place), ("m4", GdbPlace)])
def test_rates_are_of_all_calls(way, kind, tmp_path):
    with own_place(tmp_path, way, LEAVES, kind=kind) as place:
        place.board.watch(place.symbol("may_leave"))
        place.board.run_for(3000000)
        starts = [event.cycles for event in place.board.log() if event.kind == "reach"]
        truth = (starts[-1] - starts[0]) / (len(starts) - 1)
        result = place.run("survey", "may_leave", "-r", 60, "-j")
        assert result.code == 0, result.err
        row = next(line for line in result.lines if line["type"] == "region")
        periods = row["periods"]
        told = periods["cycles"] / periods["count"]
        off = 2 * row["calls_plus_minus"] / row["calls_per_second"] if "calls_per_second" in row else 0.5  # GDB's knows no clock
        assert abs(told / truth - 1) < off + 0.05, (told, truth, off)
        assert 0 < periods["left"] <= row["left"] and periods["inside_at_least"]
        text = place.run("survey", "may_leave", "-r", 20)
        assert "calls left without returning, not counted" in unfolded(text.out) and ">" in text.out, text.out


@pytest.mark.any_row(2)
@pytest.mark.parametrize("way", ["m4/swd", "rp2040/swd", "a9/swd", "rp2040"])
def test_lines_of_a_function_that_calls_leave(way, tmp_path):
    with own_place(tmp_path, way, LEAVES) as place:
        before = snapshot(place)
        place.board.watch(place.symbol("may_leave"))
        result = lines(place, "may_leave", "-r", 12)
        truth = [cycles for cycles, _ in walked(place, "may_leave", [])]
        assert result.summary["calls"] == len(truth) == 12 and 0 < result.summary["left"] < 60
        assert result.summary["agrees"], (result.summary, truth)
        check_sum(result, truth)
        assert [row["hits"] for row in result.rows if row["hits"] not in (0, 12)] == []
        text = place.run("lines", "may_leave", "-r", 12)
        assert "left without returning, not counted" in unfolded(text.out), text.out
        assert_runs(place)
        assert snapshot(place) == before


# From Thumb to ARM and back, as veneers and hand-written code do
TWO_STATES = """
    .syntax unified
    .text
    .thumb
    .global two_states
    .type two_states, %function
    .thumb_func
two_states:
    bx pc
    nop
    .arm
1:  subs r0, r0, #1
    bpl 1b
    add r1, pc, #1
    bx r1
    .thumb
    adds r0, #2
    bx lr
    .size two_states, . - two_states
"""
CALLS_TWO_STATES = START + """
uint32_t two_states(uint32_t n);
void run(void) { for (;;) { sink = two_states(round_count++ & 3); sink += 2; } }
"""


@pytest.mark.any_row(1)
@pytest.mark.parametrize("way", ["a9/swd", "a53in32/swd", "r5/swd", "a9"])
def test_lines_of_a_function_of_two_states(way, tmp_path):
    (tmp_path / "two.S").write_text(TWO_STATES)
    with own_place(tmp_path, way, CALLS_TWO_STATES, str(tmp_path / "two.S")) as place:
        before = snapshot(place)
        result = lines(place, "two_states", "-r", 8)
        hits = {row["text"].strip(): row["hits_per_call"] for row in result.rows if row["hits"]}
        assert hits["bx pc"] == hits["add r1, pc, #1"] == hits["bx r1"] == hits["bx lr"] == 1
        assert hits["1:  subs r0, r0, #1"] > 1.5
        wrapped = any("wrapped" in note for note in result.summary["notes"])  # on a slow machine, over a slow link
        assert wrapped or result.summary["agrees"], result.summary
        assert_runs(place)
        assert snapshot(place) == before


# The helper returns to the second instruction after the call, or to one that a table has
HELPERS = """
    .syntax unified
    .text
    .thumb
    .type skip, %function
    .thumb_func
skip:
    push {r1, lr}
    ldr r1, [sp, #4]
    adds r1, #2
    str r1, [sp, #4]
    pop {r1, pc}
    .size skip, . - skip
    .type choose, %function
    .thumb_func
choose:
    push {r1}
    mov r1, lr
    lsrs r1, r1, #1
    lsls r1, r1, #1
    ldrb r1, [r1, r0]
    lsls r1, r1, #1
    add lr, r1
    pop {r1}
    bx lr
    .size choose, . - choose
    .global jumps
    .type jumps, %function
    .thumb_func
jumps:
    push {r4, lr}
    bl skip
    adds r0, #40
    movs r4, #3
    ands r0, r4
    bl choose
    .byte 2, 3, 4, 5
    adds r0, #1
    adds r0, #2
    adds r0, #3
    adds r0, #4
    pop {r4, pc}
    .size jumps, . - jumps
"""
CALLS_HELPERS = START + """
uint32_t jumps(uint32_t n);
void run(void) { for (;;) { sink = jumps(round_count++ & 3); sink += 2; } }
"""


@pytest.mark.any_row(1)
@pytest.mark.parametrize("way", ["m4/swd", "rp2040/swd", "rp2040"])
def test_lines_after_a_helper_that_returns_elsewhere(way, tmp_path):
    (tmp_path / "helpers.S").write_text(HELPERS)
    with own_place(tmp_path, way, CALLS_HELPERS, str(tmp_path / "helpers.S")) as place:
        result = lines(place, "jumps", "-r", 16)
        hits = {row["text"].strip(): row["hits"] for row in result.rows}
        assert hits["adds r0, #40"] == 0 and hits["bl skip"] == hits["bl choose"] == hits["movs r4, #3"] == 16
        each = [hits[f"adds r0, #{n}"] for n in (1, 2, 3, 4)]
        assert each == sorted(each) and 0 < each[0] < 16 and each[3] == 16, hits
        wrapped = any("wrapped" in note for note in result.summary["notes"])  # on a slow machine, over a slow link
        assert wrapped or result.summary["agrees"], result.summary
        assert_runs(place)


BOTH = START + """
APART __attribute__((noclone)) void shared(void)
{
    for (uint32_t i = 0; i < 20; i++)
        sink += i;
}
__attribute__((optimize("O2"))) void SysTick_Handler(void) { shared(); }
void run(void)
{
    REGISTER(0xE000E014) = 3000 - 1;
    REGISTER(0xE000E018) = 0;
    REGISTER(0xE000E010) = 7;
    for (;;) {
        if ((++round_count & 31) == 0)
            shared();
    }
}
"""


def test_lines_of_what_a_handler_jumps_to(tmp_path):
    """Its calls are followed, its entries by the handler's jump are not."""
    with own_place(tmp_path, "m4/swd", BOTH) as place:
        for _ in range(3):
            result = lines(place, "shared", "-r", 6)
            assert result.summary["calls"] == 6
        alone = place.run("lines", "SysTick_Handler", "--timeout", "1s")
        assert alone.code == 3 and "lines of a handler cannot be followed" in unfolded(alone.err), alone.err
        assert_runs(place)


@pytest.mark.each_value
@pytest.mark.parametrize("args", [(), ("-e", "EXCCNT,CPICNT")], ids=["plain", "events"])
@pytest.mark.parametrize("command", ["delta", "survey"])
def test_without_a_hit_that_counts_it_does_not_end_well(command, args):
    """An interrupt that the halt had delayed ran in each of them."""
    with Place("m4/swd", "free", WORK_BY_DATA, halt_irq=1000) as place:
        result = place.run(command, "work_by_data", "-r", 5, *args)
        assert result.code == 5 and "DBG_FREEZE" in result.out and "stat counts without a halt" in unfolded(result.out), result.out + result.err
        assert_runs(place)

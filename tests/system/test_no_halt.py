"""`delta --no-halt`: hits by trace, against what the board's trace unit saw before any loss."""
import json
import math
import os
import random
import re
import signal

import pytest

from harness import PREEMPTED, SOAK, WORK_BY_DATA, Place, Server, finish_tool, unfolded, wait_for
from own_program import START, own_place

CLOCK = 12_000_000
# Its FIFO has eight words: the board's time passes with the packets, however busy this machine is
WAYS = {"rp2350/swd": {"dap_exact": True, "dap_wire": 10_000_000}, "m33/swd": {"dap_swo": "uart"}, "m55/v2": {"dap_swo": "uart,stream"}}
HITS = 60
MANY = 10_000 if SOAK else HITS


def place_of(way="rp2350/swd", bits=WORK_BY_DATA | PREEMPTED, **options):
    return Place(way, "free", bits, clock=CLOCK, **{**WAYS[way], **options})


def calls_of(place, whole=True):
    """Cycles from each match of the start to the next one of an end; of those that the log still has."""
    calls, start, index, end = [], None, 0, None
    while end is None or index < end:
        reply = place.board.command(f"trace {index}")
        assert not (whole and reply["dropped"])
        index, end = reply["next"], reply["end"] if end is None else end
        for _, kind, n, _, counted, _, _ in reply["events"]:
            if kind == "match" and n > 0 and start is not None:
                calls.append(counted - start)
            if kind == "match":
                start = counted if n == 0 else None
    return calls


def log_of(place):
    events, index, end = [], 0, None
    while end is None or index < end:
        reply = place.board.command(f"trace {index}")
        events += reply["events"]
        index, end = reply["next"], reply["end"] if end is None else end
    return events


def is_part(hits, calls):
    """Each hit is a call, in their order."""
    rest = iter(calls)
    return all(hit in rest for hit in hits)


def refused(place, words, *arguments):
    result = place.run("delta", *arguments, "--no-halt")
    assert result.code in (2, 3) and re.search(words, result.err), result.err


def traced(place, *arguments, **kwargs):
    place.board.command("trace on")
    before = place.board.state()["halts"]
    result = place.delta(*arguments, "--no-halt", **kwargs)
    assert place.board.state()["halts"] == before
    return result


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("function", ["work_by_data", "preempted"])
def test_each_hit_is_a_call_and_each_call_is_accounted_for(way, function):
    with place_of(way) as place:
        result = traced(place, function, "-r", MANY)
        calls = result.summary["calls"]
        assert len(result.cycles) == MANY and is_part(result.cycles, calls_of(place))
        others = sum(calls[why] for why in ("late", "together", "unproved", "lost", "unpaired"))
        assert calls["seen"] == calls["exact"] + others and calls["exact"] == MANY
        assert result.summary["columns"]["CPU_CYCLES"].get("plus_minus", 0) == 0


def test_a_region_between_two_instructions():
    with place_of() as place:
        result = traced(place, "work_by_data", "preempted", "-r", HITS)
        assert is_part(result.cycles, calls_of(place))


@pytest.mark.parametrize("quirk", ["plus-zero", "drop=1000", "late=40"])
def test_what_silicon_may_do_otherwise(quirk):
    with place_of(trace_quirk=quirk) as place:
        result = traced(place, "work_by_data", "-r", HITS)
        assert is_part(result.cycles, calls_of(place))


def test_no_mean_of_calls_of_which_many_are_left_out():
    with place_of(trace_quirk="late=3") as place:
        summary = traced(place, "work_by_data", "-r", HITS, code=5).summary
        assert summary["calls"]["left_out"] > 0.1 and summary["calls"]["isolated"]
        assert "mean" not in summary["columns"]["CPU_CYCLES"] and "time" not in summary
        assert "no mean" in place.run("delta", "work_by_data", "--no-halt", "-r", 20).out


@pytest.mark.parametrize("quirk, words", [("notrcpkt", "NOTRCPKT"), ("no-match-id", "0 of 4 are free"),
                                          ("no-trace-clock", "no trace arrives through"),
                                          ("fifo-stale", "this core.s trace|timestamps do not go by|gives 0x"),
                                          ("no-wide-port", "are not this core.s trace")])
@pytest.mark.nobody_answers
def test_trace_that_cannot_be_is_refused(quirk, words):
    with place_of(trace_quirk=quirk) as place:
        refused(place, words, "work_by_data", "-r", 5)


@pytest.mark.parametrize("way", ["rp2040/swd", "m4/swd"])
def test_cores_without_such_trace_name_what_serves(way):
    with Place(way, "free", WORK_BY_DATA) as place:
        refused(place, "delta without --no-halt", "work_by_data")


def trace_registers(place):
    state = place.board.state()
    sink = place.board.command("trace sink")
    return ([state[key] for key in ("demcr", "dwt_comp", "dwt_mask", "dwt_function", "halts")] + [state["dwt_ctrl"] & 0x410FFFF]
            + [sink[key] for key in ("cspsr", "acpr", "sppr", "ffcr", "funnel", "may_trace", "dma_set")])


@pytest.mark.parametrize("way", WAYS)
def test_all_is_put_back_also_after_kill(way):
    with place_of(way) as place:
        before = trace_registers(place)
        traced(place, "work_by_data", "-r", 10)
        assert trace_registers(place) == before
        process = place.start("delta", "work_by_data", "--no-halt", "--for", "60s")
        place.board.wait_for(lambda state: any(f & 0xF for f in state["dwt_function"]), "the comparators")
        process.kill()
        process.communicate()
        assert trace_registers(place) != before
        assert place.run("restore", elf=False).code == 0
        assert trace_registers(place) == before


def counted(place, *arguments):
    place.board.command("trace on")
    return place.run("stat", "-j", *arguments, "--for", "500ms")


def test_calls_are_counted_by_a_pmu():
    """The comparators are set a moment longer than it counts."""
    with Place("m55/swd", "free", WORK_BY_DATA | PREEMPTED, clock=CLOCK) as place:
        before = trace_registers(place)
        columns = counted(place, "--calls", "work_by_data,preempted").summary["columns"]
        matches = [event[2] for event in place.board.command("trace 0")["events"] if event[1] == "match"]
        for n, name in enumerate(("work_by_data", "preempted")):
            assert 0 < columns[name]["count"] <= matches.count(n)
        assert trace_registers(place) == before


def test_calls_of_a_function_that_jumps_to_its_own_entry_are_not_counted(tmp_path):
    """Its loop executes the entry; what only calls itself is counted, and so is another loop."""
    source = START + r"""
__attribute__((naked, noinline)) void loops(void) { __asm volatile("subs r0, #1\n bne loops\n bx lr"); }
__attribute__((naked, noinline)) void inner(void) { __asm volatile("nop\n1: subs r0, #1\n bne 1b\n bx lr"); }
__attribute__((naked, noinline)) void itself(void) { __asm volatile("subs r0, #1\n beq 1f\n push {lr}\n bl itself\n pop {pc}\n1: bx lr"); }
void run(void) { for (;; round_count++) __asm volatile("movs r0, #9\n bl loops\n movs r0, #9\n bl inner\n movs r0, #9\n bl itself" ::: "r0", "lr", "cc"); }
"""
    with own_place(tmp_path, "m55/swd", source, clock=CLOCK) as place:
        result = counted(place, "--calls", "inner,loops")
        assert result.code == 2 and re.search("loops jumps to its own start at .*would count as a call", unfolded(result.err)), result.err
        for _ in range(4):  # a busy machine may let a counter of 16 bits wrap unseen
            columns = counted(place, "--calls", "inner,itself").summary["columns"]
            if not any(columns[name]["at_least"] for name in ("itself", "inner")):
                break
        assert 8 < columns["itself"]["count"] / columns["inner"]["count"] < 10, columns


def test_calls_by_other_names_and_loops_through_other_functions(tmp_path):
    """What is jumped on to may jump back; a tail call by another function is a call."""
    source = START + r"""
APART void one(void) { sink++; }
void other(void) __attribute__((alias("one")));
__attribute__((naked, noinline)) void tail(void) { __asm volatile("b one"); }
__attribute__((naked, noinline)) void head(void) { __asm volatile("subs r0, #1\n b middle"); }
__attribute__((naked, noinline, used)) void middle(void) { __asm volatile("nop\n b end"); }
__attribute__((naked, noinline, used)) void end(void) { __asm volatile("cmp r0, #0\n bne head\n bx lr"); }
APART void once(void) { sink += 3; }
void run(void) { for (;; round_count++) { one(); other(); tail(); once(); __asm volatile("movs r0, #9\n bl head" ::: "r0", "lr", "cc"); } }
"""
    with own_place(tmp_path, "m55/swd", source, clock=CLOCK) as place:
        result = counted(place, "--calls", "once,head")
        assert result.code == 2 and re.search("head jumps to its own start at .*would count as a call", unfolded(result.err)), result.err
        result = counted(place, "--calls", "one,other")
        assert result.code == 2 and "two names are of one function" in unfolded(result.err), result.err
        result = counted(place, "--calls", "once,one")
        columns = result.summary["columns"]
        assert 2.9 < columns["one"]["count"] / columns["once"]["count"] < 3.1
        assert "the same code as other: calls by either name are measured" in unfolded(result.err), result.err


@pytest.mark.parametrize("chip, arguments, words", [
    ("m55", ("-e", "DWT_CMPMATCH0"), "nothing has set up"), ("m55", ("-e", "TRCEXTOUT0"), "trace unit"),
    ("m55", ("-e", "CTI_TRIGOUT4"), "cross trigger"), ("m55", ("--calls", "a_function_that_is_not_there"), "no symbol"),
    ("m33", ("--calls", "work_by_data"), "Armv8.1-M")])
def test_what_nothing_has_set_up_is_not_counted(chip, arguments, words):
    with Place(f"{chip}/swd", "free", WORK_BY_DATA, clock=CLOCK) as place:
        result = counted(place, *arguments)
        assert result.code in (2, 3) and words in result.err, result.err


@pytest.mark.parametrize("off", [-9, 6, 14])
def test_a_baud_is_found_for_a_clock_that_was_measured_wrongly(tmp_path, off):
    source = START + r"""
APART void work(void) { for (uint32_t i = 0; i < 300; i++) sink += i; }
void run(void) { for (;; round_count++) work(); }
"""
    with own(tmp_path, source, trace_quirk=f"baud-off={off}") as place:
        for _ in range(5):  # on a busy machine the clock is measured far more wrongly
            place.board.command("trace on")
            result = place.run("delta", "work", "-j", "-r", 20, "--no-halt")
            if result.code == 0:
                break
        assert is_part(result.cycles, calls_of(place)) and result.header["clock"]["source"] == "measured"


TWO_TASKS = START + r"""
#define BURN(n) for (uint32_t i = 0; i < (n); i++) sink += i
static uint32_t *volatile stacks[2], room[2][128];
uint32_t *volatile pxCurrentTCB __attribute__((used));
static volatile uint32_t now;
__attribute__((naked, noinline)) static void change(uint32_t *volatile *save, uint32_t *to)
{
    __asm volatile("push {r4-r11, lr}\n str sp, [r0]\n mov sp, r1\n pop {r4-r11, pc}" ::: "memory");
}
APART void yield(void)
{
    uint32_t was = now, other = !was;
    now = other;
    pxCurrentTCB = room[other];
    change(&stacks[was], stacks[other]);
}
// Each call ends after the other task has begun or ended one
APART uint32_t shared(uint32_t n) { BURN(40 + n); yield(); BURN(20 + 3 * n); return sink; }
static void first(void) { for (;; round_count++) { sink += shared(5 + (round_count & 7)); BURN(90); } }
static void second(void) { for (;;) { sink += shared(200); BURN(60); } }
void run(void)
{
    uint32_t *top = &room[1][128 - 9];
    top[8] = (uint32_t)second | 1;
    stacks[1] = top;
    pxCurrentTCB = room[0];
    first();
}
"""


def own(folder, source, way="m33/swd", **options):
    return own_place(folder, way, source, clock=CLOCK, **{**WAYS[way], **options})


def test_an_end_belongs_to_the_start_of_its_task(tmp_path):
    with own(tmp_path, TWO_TASKS) as place:
        result = traced(place, "shared", "-r", HITS, "--freq", "12M")
        calls, starts, task = [], {}, None
        for _, kind, n, _, counted_at, value, _ in place.board.command("trace 0")["events"]:
            if kind == "write":
                task = value
            elif kind == "match" and n == 0:
                starts[task] = counted_at
            elif kind == "match" and task in starts:
                calls.append(counted_at - starts.pop(task))
        assert len(result.cycles) == HITS and is_part(result.cycles, calls)
        assert "what it calls switches tasks" in result.summary["doubt"], result.summary
        # Of a task that is not seen, a start is the one before
        without = place.run("delta", "shared", "--no-halt", "-r", 20, "--freq", "12M", "--task", "*0x20000000")
        assert without.code in (0, 5), without.err


def test_code_that_switches_tasks_begins_in_one_and_ends_in_another(tmp_path):
    source = START + r"""
static uint32_t room[2][8];
uint32_t *volatile pxCurrentTCB __attribute__((used));
APART void vTaskSwitchContext(void) { for (uint32_t i = 0; i < 30 + (round_count & 3); i++) sink += i; pxCurrentTCB = room[round_count & 1]; }
void run(void) { for (;; round_count++) { vTaskSwitchContext(); for (volatile uint32_t i = 0; i < 200; i++); } }
"""
    with own(tmp_path, source) as place:
        result = traced(place, "vTaskSwitchContext", "-r", HITS, "--freq", "12M")
        assert len(result.cycles) == HITS and is_part(result.cycles, calls_of(place))
        assert "it switches tasks" in result.summary["doubt"]


# A slow path prints just before it returns: of the long calls alone the end is late
SLOW_PRINTS = START + r"""
static void print(const char *s) { for (; *s; s++) { while (!(REGISTER(0xE0000000) & 1)); *(volatile uint8_t *)0xE0000000 = *s; } }
APART void f(uint32_t k) { for (uint32_t i = 0; i < 20; i++) sink += i; if (k % 50 == 0) { for (uint32_t i = 0; i < 2000; i++) sink += i; print("slow path\n"); } }
void run(void)
{
    REGISTER(0xE000EDFC) |= 1 << 24; REGISTER(0xE0040010) = 5; REGISTER(0xE00400F0) = 2; REGISTER(0xE0040304) = 0x100;
    REGISTER(0xE0000E00) = 1; REGISTER(0xE0000E80) = 0x1000D;
    for (;; round_count++) { f(round_count); for (volatile uint32_t i = 0; i < 60; i++); }
}
"""


def test_each_call_that_is_left_out_is_in_the_error_of_the_mean(tmp_path):
    with own(tmp_path, SLOW_PRINTS) as place:
        result = traced(place, "f", "-r", 300, "--freq", "12M")
        truth, column, calls = calls_of(place), result.summary["columns"]["CPU_CYCLES"], result.summary["calls"]
        assert column["max"] < 1000 < max(truth) <= calls["longest_left_out"] and calls["late"] > 0, (column, calls, max(truth))
        assert abs(column["mean"] - sum(truth) / len(truth)) < 2 * column["mean_error"], (column, calls)
        assert "may have taken" in unfolded(place.run("delta", "f", "--no-halt", "-r", 300, "--freq", "12M").out)
        precise = place.run("delta", "f", "--no-halt", "--precision", "1%", "--for", "1s", "--freq", "12M", "-j").summary["precision"]
        assert not precise["reached"], precise


# A print before a long call, and prints in it, whose timestamps pass the packet of its start
HELD_STARTS = SLOW_PRINTS.replace("print(\"slow path\\n\"); } }", "} }").replace("for (uint32_t i = 0; i < 2000; i++) sink += i;",
    "for (uint32_t j = 0; j < 8; j++) { for (uint32_t i = 0; i < 80; i++) sink += i; print(\"x\"); }").replace("{ f(round_count);", "{ if (round_count % 50 == 0) print(\"s\"); f(round_count);")


def test_a_packet_that_waited_past_a_timestamp_has_no_time_after_it(tmp_path):
    """TC 1x: the start was before the timestamps that its packet waited for, too, and the call may have taken as long."""
    with own(tmp_path, HELD_STARTS, trace_quirk="held=4000") as place:
        place.board.command("trace on")
        result = place.run("delta", "f", "--no-halt", "-j", "-r", 1000, "--freq", "12M")
        assert result.code in (0, 5), result.err
        truth, calls = calls_of(place), result.summary["calls"]
        assert max(result.cycles) < 1000 < 5000 < max(truth) <= calls["longest_left_out"] and calls["late"] > 0, (calls, max(truth))


CALLBACK = START + r"""
void (*volatile callback)(void);
APART void slow(void) { for (uint32_t i = 0; i < 200; i++) sink += i; }
__attribute__((noinline, optimize("O2"))) void f(void) { sink++; void (*call)(void) = callback; if (call) call(); }
void run(void) { for (;; round_count++) { callback = round_count % 40 == 0 ? slow : 0; f(); for (volatile uint32_t i = 0; i < 60; i++); } }
"""


def test_a_jump_by_a_register_at_the_end_is_refused(tmp_path):
    with own(tmp_path, CALLBACK) as place:
        refused(place, "may end by a jump to another function", "f", "-r", 5)


# The inner call leaves the outer one's end to the outer one
LONGJMP = START + r"""
static uint32_t jb[12];
__attribute__((naked, noinline, returns_twice)) int set(uint32_t *b) { __asm volatile("stmia r0!, {r4-r11, lr}\n str sp, [r0]\n movs r0, #0\n bx lr"); }
__attribute__((naked, noinline, noreturn)) void jump(uint32_t *b) { __asm volatile("ldmia r0!, {r4-r11, lr}\n ldr sp, [r0]\n movs r0, #1\n bx lr"); }
#define BURN(n) for (uint32_t i = 0; i < (n); i++) sink += i
APART void f(uint32_t k) { BURN(40); if (k == 2) { BURN(300); jump(jb); } if (k == 1) { if (set(jb) == 0) f(2); BURN(500); } }
void run(void) { for (;; round_count++) { f(round_count % 20 == 3); BURN(60); } }
"""


def test_of_calls_that_nest_none_is_taken_for_another(tmp_path):
    with own(tmp_path, LONGJMP) as place:
        place.board.command("trace on")
        result = place.run("delta", "f", "--no-halt", "-j", "-r", 300, "--for", "1s", "--timeout", "500ms", "--freq", "12M")
        assert set(result.cycles) <= {min(calls_of(place, False))}, (result.err, set(result.cycles))
        # After one that was left none is known to be alone: its time-out is reached, or the second is over
        assert result.code == 5 and result.summary["calls"]["unpaired"] > 0 or result.code == 3 and "began again" in result.err, result.err


def test_after_a_loss_the_task_is_not_known(tmp_path):
    with own(tmp_path, TWO_TASKS, trace_quirk="drop=300") as place:
        place.board.command("trace on")
        result = place.run("delta", "shared", "--no-halt", "-j", "-r", 10 * HITS, "--freq", "12M")
        calls, starts, task = set(), {}, None
        for _, kind, n, _, counted_at, value, _ in log_of(place):
            if kind == "write":
                task = value
            elif kind == "match" and n == 0:
                starts[task] = counted_at
            elif kind == "match" and task in starts:
                calls.add(counted_at - starts.pop(task))
        assert result.summary["calls"]["gaps"] > 0 and set(result.cycles) <= calls, set(result.cycles) - calls


@pytest.mark.parametrize("calls", (3, 2000))
def test_a_function_that_is_called_no_more_ends_in_time(tmp_path, calls):
    source = START + r"""
volatile uint32_t allowed __attribute__((used));
APART void f(void) { for (uint32_t i = 0; i < 40; i++) sink += i; }
void run(void) { for (;; round_count++) { if (allowed) { allowed--; f(); } for (volatile uint32_t i = 0; i < 100; i++); } }
"""
    with own(tmp_path, source) as place:
        process = place.start("delta", "f", "--no-halt", "--for", "1s", "--timeout", "1min", "--freq", "12M", "-j")
        place.board.wait_for(lambda state: state["dwt_function"][0] & 0xF, "the comparator")
        place.board.run_for(2_000_000)
        place.board.write_word("allowed", calls)
        result = finish_tool(process)
        assert result.code == 0 and 1 <= len(result.hits) <= calls and (calls < 16 or len(result.hits) > 16), result.err


def test_each_task_has_its_track(tmp_path):
    with own(tmp_path, TWO_TASKS) as place:
        assert place.run("delta", "shared", "--no-halt", "-r", HITS, "--freq", "12M", "--format", "perfetto", "-o", tmp_path / "t.json").code == 0
    tracks = {}
    for event in json.loads((tmp_path / "t.json").read_text())["traceEvents"]:
        if event["ph"] == "X":
            tracks.setdefault(event["tid"], []).append((event["ts"], event["ts"] + event["dur"]))
    assert len(tracks) == 2
    assert all(before[1] <= after[0] for track in tracks.values() for before, after in zip(sorted(track), sorted(track)[1:]))


def test_a_function_that_jumps_to_its_start_is_refused(tmp_path):
    source = START + r"""
APART void plain(void) { for (uint32_t i = 0; i < 30; i++) sink += i; }
__attribute__((naked, noinline)) void loops(void) { __asm volatile("subs r0, #1\n bne loops\n bx lr"); }
void run(void) { for (;; round_count++) { plain(); __asm volatile("movs r0, #9\n bl loops" ::: "r0", "lr", "cc");
                                          for (volatile uint32_t j = 0; j < 2000; j++); } }
"""
    with own(tmp_path, source) as place:
        refused(place, "jumps to its own start", "loops", "-r", 5)
        assert traced(place, "plain", "-r", 20, "--freq", "12M").cycles


def test_what_is_left_out_widens_the_interval_of_the_mean(tmp_path):
    """The shortest calls share a timestamp: without them the mean is too high."""
    source = START + r"""
APART void f(uint32_t k) { for (uint32_t i = 0; i < k; i++) sink += i; }
void run(void) { uint32_t s = 1; for (;; round_count++) { s = s * 1664525u + 1013904223u; f((s >> 16 & 15) ? 4 + (s >> 20 & 3) : 0);
                                                          for (volatile uint32_t j = 0; j < 60; j++); } }
"""
    with own(tmp_path, source) as place:
        place.board.command("trace on")
        for _ in range(10):
            result = place.run("delta", "f", "-j", "--no-halt", "-r", 300, "--freq", "12M")
            column, calls = result.summary["columns"]["CPU_CYCLES"], result.summary["calls"]
            if calls["left_out"] <= 0.1:  # else a busy machine has read too late
                break
        truth = calls_of(place)
        assert 0.01 < calls["left_out"] <= 0.1 and calls["isolated"] and result.code == 0, result.out
        assert abs(column["mean"] - sum(truth) / len(truth)) < 2.2 * column["mean_error"], (column, calls)
        assert column["mean_error"] > calls["left_out"] * column["mean"] / 2


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("number", range(12 if SOAK else 1))
def test_no_mean_of_bursts_is_wrong(number, way, tmp_path, record_property):
    """Random bursts of short calls, many of which no sink takes in time: a mean that is printed is right, or there is none."""
    chosen = random.Random(f"{os.environ['PMU_SEED']} {number} {way}")
    calls, least, mask, gap = chosen.randint(2, 60), chosen.randint(0, 30), chosen.choice([0, 1, 3, 7, 31]), int(10 ** chosen.uniform(1, 4.5))
    source = START + f"""
APART void f(uint32_t k) {{ for (uint32_t i = 0; i < k; i++) sink += i; }}
void run(void) {{ uint32_t s = 1; for (;; round_count++) {{ for (uint32_t k = 0; k < {calls}; k++) {{ s = s * 1664525u + 1013904223u; f({least} + (s >> 20 & {mask})); }}
                                                          for (volatile uint32_t j = 0; j < {gap}; j++); }} }}
"""
    with own(tmp_path, source, way=way) as place:
        before = place.board.state()["halts"]
        place.board.command("trace on")
        result = place.run("delta", "f", "-j", "--no-halt", "--for", "1s", "--timeout", "200ms", "--freq", "12M")
        whole = not place.board.command("trace 0")["dropped"]
        truth = calls_of(place, whole)
        assert place.board.state()["halts"] == before
    assert result.code in (0, 3, 5), result.err
    if result.code == 3:
        assert (not whole or is_part(result.cycles, truth)) and re.search("has an exact time|was not executed", result.err), result.err
        return
    assert not whole or is_part(result.cycles, truth)
    column, left_out = result.summary["columns"]["CPU_CYCLES"], result.summary["calls"]["left_out"]
    true = sum(truth) / len(truth)
    error = math.sqrt(sum((one - true) ** 2 for one in truth) / len(truth) / len(truth))
    record_property("table", f"{way:11} {calls:3} calls, {gap:5} rounds: true mean {true:8.2f}, printed {column.get('mean', math.nan):8.2f}"
                             f" ±{2 * column.get('mean_error', 0):.2f}, {100 * left_out:5.1f} % left out of {result.summary['calls']['seen']}, exit {result.code}")
    if result.code == 0 and "mean" in column:
        assert abs(column["mean"] - true) <= 2.2 * math.hypot(column["mean_error"], error) + 1e-6, (column, true, left_out)


def test_timeline_of_a_region(tmp_path):
    """Each call that is exact is at its place: its length and its distance to the first one are the log's."""
    with place_of("m33/swd") as place:
        place.board.command("trace on")
        result = place.run("delta", "work_by_data", "--no-halt", "-r", HITS, "--format", "perfetto", "-o", tmp_path / "t.json")
        assert result.code in (0, 5), result.err
        events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
        truth, start = [], None
        for _, kind, n, _, counted_at, _, _ in place.board.command("trace 0")["events"]:
            if kind == "match" and n > 0 and start is not None:
                truth.append((start, counted_at - start))
            if kind == "match":
                start = counted_at if n == 0 else None
        lost = next((i for i, e in enumerate(events) if e["ph"] == "i"), len(events))  # no times before and after it belong together
        exact = [(round(e["ts"] * 12), e["args"]["cycles"]) for e in events[:lost] if e["name"] == "exact"]
        assert sum(e["name"] == "exact" for e in events) == HITS and exact and {e["args"]["name"] for e in events if e["name"] == "thread_name"} == {"work_by_data"}
        assert any({(at - exact[0][0] + first, cycles) for at, cycles in exact} <= set(truth) for first, _ in truth)
        assert place.run("delta", "work_by_data", "--format", "perfetto").code == 2


# --- RP2350

def test_the_second_core_has_its_own_input():
    with place_of() as place:
        second = place.board.core(1)
        second.command("trace on")
        result = place.run("delta", "core1_work", "--core", 1, "--no-halt", "-r", HITS, "-j")
        assert result.code in (0, 5), result.err  # the calls are short, and the FIFO has eight words
        place.board = second
        assert len(result.cycles) == HITS and is_part(result.cycles, calls_of(place, whole=False))


def test_the_port_is_stopped_while_it_changes():
    """Its width and its formatter, at the begin and at the end."""
    with place_of() as place:
        before = trace_registers(place)
        result = place.run("delta", "work_by_data", "--no-halt", "-r", HITS)
        sink = place.board.command("trace sink")
        assert result.code == 0 and sink["unstopped"] == 0 and trace_registers(place) == before, (result.err, sink)


class SecondAlone(Place):
    """OpenOCD knows the second core alone, which is the first one that is found then."""

    def config(self):
        with open(super().config(), encoding="utf-8") as file:
            text = "".join(line for line in file if ".cpu0 " not in line and not line.startswith(("targets", "flash")))
        path = os.path.join(self.folder, "second.cfg")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def start_server(self, *commands):
        server = Server(self.board, *commands, config=self.config(), target="rp2350.cpu1")
        self.servers.append(server)
        return server


def test_other_inputs_are_closed_for_the_run(tmp_path):
    """Such as that of an ETM which another tool left on."""
    SecondAlone.folder = tmp_path
    with SecondAlone("rp2350", "free", WORK_BY_DATA, clock=CLOCK) as place:
        place.server.set_word(0x40147000, 0x30A)
        process = place.start("delta", "core1_work", "--no-halt", "--for", "60s")
        wait_for(lambda: place.board.command("trace sink")["funnel"] == 0x304, "the input of the second core")
        process.send_signal(signal.SIGINT)
        finish_tool(process)
        assert place.board.command("trace sink")["funnel"] == 0x30A


# --- RP2350: through RAM

# Calls in bursts, each of two words in less time than a probe reads one: the FIFO has eight
BURSTS = START + r"""
uint8_t room[3000], tiny[300] __attribute__((aligned(512)));
APART void f(uint32_t k) { for (uint32_t i = 0; i < k; i++) sink += i; }
void run(void) { for (;; round_count++) { for (uint32_t k = 0; k < 24; k++) f(3 + (k & 3)); for (volatile uint32_t j = 0; j < 4000; j++) sink += (uintptr_t)room + (uintptr_t)tiny; } }
"""


def test_a_buffer_in_ram_holds_bursts(tmp_path):
    with own(tmp_path, BURSTS, way="rp2350/swd") as place:
        before = trace_registers(place)
        polled = place.run("delta", "f", "--no-halt", "-j", "-r", HITS, "--freq", "12M", "--timeout", "500ms")
        lost = polled.summary["calls"]["left_out"] if polled.code == 5 else 1
        assert lost > 0.1 and (polled.code == 5 or "has an exact time" in polled.err), polled.err
        for room in ("room", "*0x20040100:0x3000"):
            result = traced(place, "f", "--trace-ram", room, "-r", 5 * HITS, "--freq", "12M")
            calls = result.summary["calls"]
            assert len(result.cycles) == 5 * HITS and is_part(result.cycles, calls_of(place))
            assert calls["seen"] == calls["exact"] + sum(calls[why] for why in ("late", "together", "unproved", "lost", "unpaired"))
            assert calls["left_out"] < lost / 2, calls
            assert trace_registers(place) == before
        out = place.run("tasks", "--task", "sink", "--for", "300ms", "--trace-ram", "room").out
        assert re.search("by DMA channel 15 into 2048 bytes at 0x200", unfolded(out)), out
        assert trace_registers(place) == before


def test_a_buffer_that_cannot_be_is_refused(tmp_path):
    with own(tmp_path, BURSTS, way="rp2350/swd") as place:
        refused(place, "none of its 300 bytes are a ring", "f", "--trace-ram", "*0x20040010:300")
        refused(place, "neither a variable of the ELF nor", "f", "--trace-ram", "nothing")
        refused(place, "one of the two", "f", "--trace-ram", "room", "--trace", "fifo")
        refused(place, "the bus refuses what DMA channel 15 does", "f", "--freq", "12M", "--trace-ram", "*0x30000000:4096")
        assert trace_registers(place)[-2:] == [0xB8, 0]
    taken = BURSTS.replace("void run(void) {", "void run(void) { for (uint32_t n = 0; n < 16; n++) REGISTER(0x50000000 + 0x40 * n) = 4;")
    with own(tmp_path, taken, way="rp2350/swd") as place:
        refused(place, "uses all 16 DMA channels", "f", "--freq", "12M", "--trace-ram", "room")
    with own(tmp_path, BURSTS) as place:
        refused(place, "RP2350|this way out of the chip is not there", "f", "--freq", "12M", "--trace-ram", "room")


def test_a_channel_that_the_program_takes_meanwhile_is_its_own(tmp_path):
    takes = BURSTS.replace("round_count++) {", "round_count++) { if (round_count % 256 == 255 && REGISTER(0x500003CC)) REGISTER(0x500003C4) = 0x20010000, REGISTER(0x500003CC) = 0;")
    with own(tmp_path, takes, way="rp2350/swd") as place:
        result = place.run("delta", "f", "--no-halt", "--for", "20s", "--freq", "12M", "--trace-ram", "room")
        assert result.code == 3 and "something else has taken DMA channel 15" in result.err, result.err + result.out

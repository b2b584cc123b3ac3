"""`guard FUNCTION --budget`: it stops the core where a call has used up its budget, and nowhere else. The truth is the board's: the halts
in its log with what was counted up to there, and a program whose overruns are planted. Afterwards the target is as it was."""
import fcntl
import json
import signal

import pytest

from harness import NOWHERE, PREEMPTED, RECURSE, SOAK, WORK_BY_DATA, Place, Run, finish_tool, passages, read_until, returned, run_tool, unfolded, wait_for
from own_program import START, own_place
from test_restore import assert_runs, journals, let_peer_finish, snapshot

WITH_OVERRUNS = 4  # of `shares`
TRIGGER = "PMU overflow over the cross trigger"
REFILLS = 0x03  # in the board's log
# By what the core is stopped, and the cause of that halt in the board's log
WAYS = {"m4/swd": ("DWT cycle match", 4), "m55/swd": ("DWT cycle match", 4), "a9/swd": (TRIGGER, 4), "a53/swd": (TRIGGER, 0x13),
        "m4": ("DWT cycle match", 4), "a7/swd": (TRIGGER, 4), "r5/swd": (TRIGGER, 4), "m7/swd": ("DWT cycle match", 4), "rp2350/swd": ("DWT cycle match", 4),
        "m33/swd": ("DWT cycle match", 4), "a53": (TRIGGER, 0x13),
        "r52/swd": (TRIGGER, 0x13), "a53in32/swd": (TRIGGER, 0x13), "r52hyp/swd": (TRIGGER, 0x13), "a53el2/swd": (TRIGGER, 0x13)}
BUDGET, WITHIN = 4000, 400000  # cycles: all calls but the planted ones need less, and all need less


def at(way, mode="free", bits=None, **options):
    place = Place(way, mode, bits, **options)
    place.way = way
    return place


def program_of(place, each=3, length=1500):
    place.set_scenario(0)
    place.board.write_word("overrun_length", length)
    place.board.write_word("overrun_each", each)
    place.board.write_word("shares", WITH_OVERRUNS)
    overruns = place.board.read_word("overrun_count") + 2  # what was left to the first one is used up
    wait_for(lambda: place.board.read_word("overrun_count") > overruns, "overruns")


def guarded(place, *words, code=1, function="deadline"):
    """A whole run as JSON lines, and where the board's core stood for its budget, with the start of that call."""
    place.board.watch(NOWHERE)
    result = place.run("guard", function, "-j", *words)
    assert result.code == code, f"exit {result.code}: {result.err}\n{result.out[-2000:]}"
    log, entry = place.board.log(), place.symbol(function)
    stops = [i for i, event in enumerate(log) if event.kind == "halt" and event.extra == WAYS[place.way][1]]
    begins = [max((k for k in range(i) if log[k].kind == "run" and log[k].pc == entry), default=None) for i in stops]
    return result, [(log[k], log[i]) for k, i in zip(begins, stops) if k is not None]


def most_of(place, function, stops=300):
    """What its calls need at most, over some 100 of them."""
    tool = place.start("guard", function, "-j", "--budget", WITHIN)
    place.wait_for_stops(stops)
    result = finish_tool(tool, signal.SIGINT)
    assert result.code == 0 and end_of(result)["ended"] == "Ctrl-C", result.err
    return end_of(result)["most"]


def overruns_of(result):
    return [line for line in result.lines if line["type"] == "overrun"]


def end_of(result):
    return next(line for line in result.lines if line["type"] == "guard_end")


def function_of(line):
    return line["function"].partition("+")[0]


def test_a_reader_that_pauses_holds_nothing_up(tmp_path):
    """With -o the overruns are a file, and what is for people goes to a pipe that takes the first of them only."""
    with at("m4/swd") as place:
        program_of(place)
        process = place.start("guard", "deadline", "--budget", BUDGET, "-r", 40, "-o", tmp_path / "late.jsonl")
        fcntl.fcntl(process.stdout, fcntl.F_SETPIPE_SZ, 4096)
        seen = place.board.read_word("overrun_count")
        wait_for(lambda: place.board.read_word("overrun_count") > seen + 60, "more overruns than it stops at")
        assert_runs(place)
        result = finish_tool(process)
        assert result.code == 1 and result.out.count("overrun ") >= 40 and (tmp_path / "late.jsonl").exists(), result.err


@pytest.mark.parametrize("words", [("-j",), (), ("-o", "late.jsonl")], ids=["json", "text", "file"])
def test_an_overrun_that_was_shown_is_the_verdict_whoever_reads_the_rest(words, tmp_path):
    """As `guard ... | head`: what is measured later, and the end of the output, find no reader."""
    with at("m4/swd") as place:
        program_of(place)
        place.run("info")
        before = snapshot(place)
        words = [tmp_path / word if word.endswith(".jsonl") else word for word in words]
        process = place.start("guard", "deadline", "--budget", BUDGET, "-r", 100_000, *words)
        read_until(process, '"overrun"' if "-j" in words else "\noverrun ", 2)
        process.stdout.close()
        process.stdout = None
        result = finish_tool(process)
        assert result.code == 1 and result.err == "", (result.code, result.err)
        assert_runs(place)
        assert snapshot(place) == before
        assert "-o" not in words or run_tool("report", words[1]).code == 0


@pytest.mark.any_row(2)
@pytest.mark.parametrize("way", WAYS)
def test_each_overrun_is_stopped_where_it_is(way):
    wanted = 100 if SOAK else 6
    with at(way) as place:
        program_of(place)
        place.run("info")
        before = snapshot(place)
        result, stops = guarded(place, "--budget", BUDGET, "-r", wanted)
        assert_runs(place)
        assert snapshot(place) == before
        overruns, end = overruns_of(result), end_of(result)
        assert [line["overrun"] for line in overruns] == list(range(1, wanted + 1)) and end["overruns"] == wanted
        assert (end["ended"], end["skid"]) == ("overruns", max(line["skid"] for line in overruns))
        begin = next(line for line in result.lines if line["type"] == "guard")
        assert (begin["event"], begin["budget"], begin["stops_by"]) == ("CPU_CYCLES", BUDGET, WAYS[way][0])
        # Every third call is such a one, the first of them may have been without a budget
        assert 3 * wanted - 3 <= end["calls"] <= 3 * wanted + 3, end
        stops = stops[-wanted:]
        for line, (start, stop) in zip(overruns, stops):
            assert function_of(line) == "slow_path" and int(line["address"], 16) == stop.pc, (line, stop)
            assert "deadline" in [function_of(caller) for caller in line["callers"]], line
            used = stop.cycles - start.cycles
            assert BUDGET <= used <= BUDGET + line["skid"] + end.get("halt_cost", 0), (used, line)
            assert abs(line["counted"] - used) <= end.get("halt_cost", 0) + line["skid"]
            assert int(line["registers"]["pc"], 16) == stop.pc
        returned = [line["counted"] for line in result.lines if line["type"] == "returned"]
        assert len(returned) == wanted and min(returned) > BUDGET and end["most"] >= max(returned)


@pytest.mark.any_row(2)
@pytest.mark.parametrize("way", WAYS)
def test_calls_within_the_budget_are_not_stopped(way):
    wanted = 10000 if SOAK and way.partition("/")[2] else 150
    with at(way) as place:
        program_of(place)
        calls = 0
        while calls < wanted:
            result, stops = guarded(place, "--budget", WITHIN, "--for", "5s" if SOAK else "300ms", code=0)
            end = end_of(result)
            assert end["overruns"] == end["unstopped"] == 0 and end["ended"] == "time" and end["calls"] > 0, end
            assert 0 < end["most"] < WITHIN
            calls += end["calls"]
        assert_runs(place)


@pytest.mark.any_row(1)
@pytest.mark.parametrize("way", ["m4/swd", "a9/swd", "m55/swd"])
def test_what_a_halt_may_have_cost_is_not_over_the_budget(way):
    """A pair of halts adds 10 to 120 cycles: calls that end 30 below their budget are counted above it, and none was."""
    with at(way, "free", WORK_BY_DATA, halt_cost="5..60") as place:
        place.board.watch(place.symbol("work_by_data"))
        place.run("guard", "work_by_data", "-j", "--budget", WITHIN, "--for", "300ms")
        truth = max(passage.cycles for passage in passages(place.board.log(), place.symbol("work_by_data"), returned))
        for _ in range(20):  # until one is counted so
            result = place.run("guard", "work_by_data", "-j", "--budget", truth + 30, "--for", "500ms")
            end = end_of(result)
            assert result.code == (4 if "unclear" in end else 0) and end["overruns"] == end["unstopped"] == 0, (result.code, end)
            if result.code == 4:
                break
        assert 0 < end["unclear_by"] <= end["most_spread"] and end["most"] - end["most_spread"] <= truth + 30 < end["most"], end


# A call has stops inside: its end is reached in other frames; or its start shows that it is made again, for no call is seen
MUTUAL = START + """
APART void outer(uint32_t d);
APART void parse(uint32_t d) { for (uint32_t i = 0; i < 10; i++) __asm volatile("nop"); if (d) outer(d - 1); sink++; }
APART void outer(uint32_t d) { sink++; parse(d); sink += 2; }
void run(void) { for (;; round_count++) { outer(30); for (uint32_t i = 0; i < 1000; i++) __asm volatile("nop"); } }
"""
UNSEEN = START + """
static void *env[5];
APART __attribute__((used)) void parse(uint32_t d) { for (uint32_t i = 0; i < 100 + d; i++) __asm volatile("nop"); sink++; }
#if defined __thumb__
#define CALL "ldr r3, =back + 1\\n mov lr, r3\\n b parse\\n .ltorg\\n .global back\\n .align 2\\n back: "
#else
#define CALL "ldr r3, =parse\\n mov lr, pc\\n bx r3\\n "
#endif
__attribute__((naked, noinline)) void call(uint32_t d) { __asm volatile(".syntax unified\\n push {r4, lr}\\n " CALL "pop {r4, pc}\\n .ltorg"); }
void run(void) {
    for (;; round_count++) {
        for (uint32_t i = 0; i < 1000; i++) __asm volatile("nop");
        if (__builtin_setjmp(env) == 0) call(30);
        if (round_count == 0xFFFFFFF0) __builtin_longjmp(env, 1);
    }
}
"""


@pytest.mark.any_row(1)
@pytest.mark.parametrize("way", ["mutual m4/swd", "mutual m55/swd", "mutual a9/swd", "mutual a53/swd", "unseen m4/swd", "unseen a9/swd"])
def test_stops_in_a_call_are_not_its_own(way, tmp_path):
    """Each adds what a halt costs. At any budget the verdict is that of the longest call."""
    name, _, way = way.partition(" ")
    with own_place(tmp_path, way, {"mutual": MUTUAL, "unseen": UNSEEN}[name], halt_cost="40..40") as place:
        truth = max(place.delta("parse", "-r", 8).cycles)
        for budget in (truth, truth + 1, *range(truth + 10, truth * 2, max(truth // 12, 20))):
            result = place.run("guard", "parse", "-j", "--budget", budget, "--for", "200ms", "-r", 3)
            end = end_of(result)
            assert result.code == 0 and end["overruns"] == end["unstopped"] == 0 and "unclear" not in end, (budget, truth, end)
            assert end["most"] <= truth, (budget, truth, end)  # the first call may be one inside
        for budget in (truth - 1, truth - 30, truth * 2 // 3, truth // 2):
            result = place.run("guard", "parse", "-j", "--budget", budget, "-r", 3, "--for", "2s")
            end = end_of(result)
            assert result.code == 1 and "unproved" not in end and end["most"] == truth, (budget, truth, end)
            for line in overruns_of(result):
                assert budget < line["counted"] <= budget + line["skid"] and line["counted"] <= truth, (budget, truth, line)
        assert_runs(place)


@pytest.mark.any_row(1)
@pytest.mark.parametrize("way", ["m4/swd", "a9/swd", "m55/swd"])
def test_what_halts_cost_is_in_the_counts_without_calibration(way):
    """Then a count proves an overrun only by more than the most that halts are taken to cost."""
    room = 4096
    with at(way, "free", WORK_BY_DATA, halt_cost="100..100") as place:
        truth = max(place.delta("work_by_data", "-r", 20).cycles)
        for budget in (truth - 50, truth + 50, WITHIN):
            result = place.run("guard", "work_by_data", "-j", "--no-calibrate", "--budget", budget, "--for", "300ms")
            end = end_of(result)
            assert result.code == (4 if end["most"] > budget else 0) and end["unstopped"] == end["overruns"] == 0, (budget, truth, end)
            assert end["most_spread"] == min(end["most"], room)
            told = place.run("guard", "work_by_data", "--no-calibrate", "--budget", budget, "--for", "300ms")
            assert told.code in (0, 4) and "the longest took at most" in told.out and "exceeded" not in told.out, told.out
            assert told.code == 0 or "may have been over the budget" in told.out and "is not known" in told.out
    with at(way, halt_cost="100..100") as place:
        program_of(place, length=5000)
        result, stops = guarded(place, "--no-calibrate", "--budget", BUDGET, "-r", 3)
        overruns, end = overruns_of(result), end_of(result)
        assert len(overruns) == end["overruns"] == 3 and "unproved" not in end and "halt_cost" not in end, end
        for line, (start, stop) in zip(overruns, stops[-3:]):
            assert BUDGET < line["counted"] <= stop.cycles - start.cycles <= BUDGET + line["skid"], (line, start, stop)


def clean_and_tainted(place, function, n):
    hits = place.delta(function, "-r", n).hits
    late = [hit["tainted"] or hit.get("exception", False) for hit in hits]
    return [[hit["values"]["CPU_CYCLES"] for hit, is_late in zip(hits, late) if is_late == which] for which in (False, True)]


@pytest.mark.any_row(1)
@pytest.mark.parametrize("way", ["m4/swd", "m55/swd", "a9/swd", "a53/swd"])
def test_an_interrupt_that_a_halt_delayed_is_no_overrun(way):
    """Without such a one no call is over the budget; with one each may be. A budget that all are over is proved by those without."""
    with at(way, "free", WORK_BY_DATA, halt_irq=200, seed=7) as place:
        clean, tainted = clean_and_tainted(place, "work_by_data", 1500)
        assert max(tainted) > max(clean) + 5
        result = place.run("guard", "work_by_data", "-j", "--budget", max(clean) + 5, "--for", "1s", "-r", 5)
        end = end_of(result)
        assert result.code == 4 and end["unclear"] > 0 and end["unstopped"] == 0 and end.get("unproved", 0) == end["overruns"], (max(clean), end)
        assert all(line["unproved"] for line in overruns_of(result)) and ("tainted" not in end or end["most"] <= max(clean)), end
        told = place.run("guard", "work_by_data", "--budget", max(clean) + 5, "--for", "1s", "-r", 5)
        assert told.code == 4 and "exceeded" not in told.out and ("what it delayed ran in them" in unfolded(told.out) or way == "m4/swd"), told.out
        assert place.run("guard", "work_by_data", "-j", "--budget", min(clean) // 2, "--for", "1s", "-r", 20).code == 1


AGAIN = START + r"""
__attribute__((naked, noinline)) uint32_t again(uint32_t n) { __asm volatile("again_loop: subs r0, #1\n bne again\n bx lr"); }
__attribute__((naked, used)) void PendSV(void) { __asm volatile("mrs r0, psp\n msr psp, r0\n bx lr"); }
APART void deep(uint32_t n) { volatile uint32_t room[20]; room[0] = n; sink = again(n); room[1] = 3; }
APART void spin(uint32_t n) { for (uint32_t i = 0; i < n; i++) sink = i; }
void run(void) { for (;; round_count++) { sink = again(500); spin(50); deep(500); spin(50); deep(20); spin(60);} }
"""


@pytest.mark.any_row(1)
def test_a_call_that_may_have_begun_before_ends_like_any_other(tmp_path):
    """The function jumps to its own entry, on several stacks. Calls take 2,001 cycles or 81."""
    with own_place(tmp_path, "m4/swd", AGAIN, clock=12_000_000, halt_cost="100..100") as place:
        for words in ((), ("--no-calibrate",)):
            result = place.run("guard", "again", "-j", "--budget", 2010, *words, "--for", "500ms", "-r", 3)
            end = end_of(result)
            assert result.code == (4 if words else 0) and end["overruns"] == end["unstopped"] == 0 and "unproved" not in end, end
            assert words or end["most"] == 2001, end
        result = place.run("guard", "again", "-j", "--budget", 700, "-r", 3, "--for", "2s")
        end = end_of(result)
        returned = [line["counted"] for line in result.lines if line["type"] == "returned"]
        assert result.code == 1 and end["overruns"] == 3 and end["most"] == 2001 and "unproved" not in end, end
        assert len(overruns_of(result)) == len(returned) == 3 and max(returned) == 2001 and "begun before" in end["doubt"], (returned, end)


@pytest.mark.any_row(1)
@pytest.mark.parametrize("way", ["m55/swd", "a9/swd", "a53/swd"])
def test_a_budget_of_events(way):
    """Misses: the budget is that of the function which has nothing but such."""
    with at(way) as place:
        place.set_scenario(0)
        place.board.write_word("shares", 2)
        rounds = place.board.read_word("round_count") + 2
        wait_for(lambda: place.board.read_word("round_count") > rounds, "rounds of this scenario alone")
        place.board.watch(NOWHERE)
        result = place.run("guard", "misses_60", "-j", "--budget", "200 L1D_CACHE_REFILL", "-r", 3)
        assert result.code == 1, result.err
        for line in overruns_of(result):
            assert function_of(line) == "misses_60" and 200 <= line["counted"] <= 200 + line["skid"], line
        log = place.board.log()
        entry = place.symbol("misses_60")
        for i in [i for i, event in enumerate(log) if event.kind == "halt" and event.extra in (32, 4, 0x13)][-3:]:
            start = max(k for k in range(i) if log[k].kind == "run" and log[k].pc == entry)
            refills = log[i].counts[REFILLS] - log[start].counts[REFILLS]
            assert 200 <= refills <= 200 + end_of(result)["skid"], refills
        result = place.run("guard", "misses_60", "-j", "--budget", "700 L1D_CACHE_REFILL", "--for", "200ms")
        assert result.code == 0 and 600 <= end_of(result)["most"] < 640, result.out


def test_a_budget_in_time_is_one_of_cycles():
    with at("m4/swd") as place:
        program_of(place)
        result, _ = guarded(place, "--budget", "40us", "--freq", "12M")
        begin = next(line for line in result.lines if line["type"] == "guard")
        assert (begin["budget"], begin["budget_s"]) == (480, 4e-5)


@pytest.mark.any_row(1)
@pytest.mark.parametrize("way", ["m4/swd", "m55/swd", "a9/swd", "a53/swd", "m4"])
def test_it_can_be_left_halted_there(way):
    with at(way) as place:
        program_of(place)
        result, stops = guarded(place, "--budget", BUDGET, "--keep", "-r", 2)
        overruns, end = overruns_of(result), end_of(result)
        assert end["kept"] and len(overruns) == 2
        state = place.board.state()
        assert state["run"] == "halted" and state["pc"] == int(overruns[-1]["address"], 16) == stops[-1][1].pc
        assert not any(line["type"] == "returned" and line["overrun"] == 2 for line in result.lines)
        assert run_tool("--elf", place.elf, *place.probe_words(), "restore", "--force").code == 0
        assert_runs(place)


@pytest.mark.any_row
@pytest.mark.parametrize("way", ["m4/swd", "a9/swd"])
def test_the_profile_of_what_is_late(way, tmp_path):
    path = tmp_path / "late.jsonl"
    with at(way) as place:
        program_of(place)
        result, _ = guarded(place, "--budget", BUDGET, "-r", 4, "-o", path)
        assert end_of(result)["overruns"] == 4
        rows = [json.loads(line) for line in run_tool("--elf", place.elf, "report", path, "-j").out.splitlines()]
        shares = {row["function"]: row for row in rows if row.get("type") == "row" or "function" in row}
        assert list(shares) and "slow_path" in shares, rows
        folded = run_tool("--elf", place.elf, "report", path, "--format", "folded").out
        assert folded.strip().endswith(" 4") and "deadline;slow_path" in folded, folded


@pytest.mark.any_row(1)
@pytest.mark.parametrize("way", WAYS)
def test_ctrl_c_puts_all_back(way):
    with at(way) as place:
        program_of(place)
        place.run("info")
        before = snapshot(place)
        tool = place.start("guard", "deadline", "-j", "--budget", WITHIN)
        place.wait_for_stops(40)
        result = finish_tool(tool, signal.SIGINT)
        assert result.code == 0 and end_of(result)["ended"] == "Ctrl-C", result.err
        assert_runs(place)
        assert snapshot(place) == before


@pytest.mark.any_row(1)
@pytest.mark.parametrize("way", WAYS)
def test_a_killed_run_is_undone(way, state_folder):
    with at(way) as place:
        program_of(place)
        assert place.run("stat", "--for", "50ms").code == 0
        before = snapshot(place)
        tool = place.start("guard", "deadline", "-j", "--budget", BUDGET, "-r", 100000)
        place.wait_for_stops(60)
        tool.kill()
        tool.communicate()
        let_peer_finish(place)
        assert journals(state_folder)
        result = run_tool("--elf", place.elf, "restore")
        assert result.code == 0 and "put back" in result.out, result.err
        assert_runs(place)
        assert snapshot(place) == before


def functions_of(line):
    return [function_of(line), *(function_of(caller) for caller in line["callers"])]


def check_stops(place, result, stops, function, budget):
    """Each in a call of the function, which had used up its budget and no more than the skid beyond it."""
    overruns, cost = overruns_of(result), end_of(result).get("halt_cost", 0)
    assert len(overruns) == end_of(result)["overruns"] > 0
    for line, (start, stop) in zip(overruns, stops[-len(overruns):]):
        assert function in functions_of(line) and "elsewhere" not in line, line
        assert int(line["address"], 16) == stop.pc and budget <= stop.cycles - start.cycles <= budget + line["skid"] + cost, line


@pytest.mark.any_row(1)
@pytest.mark.parametrize("way", ["m4/swd", "a9/swd", "a53/swd"])
def test_a_call_that_was_left_is_no_overrun(way):
    """May_jump is left by longjmp each other time, and much else runs until it is called again. Where what sets the stack pointer
    is watched, the guard sees at once that the call is left; else the core is stopped there, which is taken back."""
    with at(way, "leaves") as place:
        wait_for(lambda: place.board.read_word("round_count") > 0, "the program")
        place.board.write_word("what", 1 | 8)
        place.board.run_for(20_000)
        place.run("info")
        before = snapshot(place)
        most = most_of(place, "may_jump")
        place.board.watch(NOWHERE)
        result = place.run("guard", "may_jump", "-j", "--budget", most * 5 // 4, "-r", 20, "--for", "2s")
        told, end = overruns_of(result), end_of(result)
        taken_back = [line for line in result.lines if line["type"] == "left"]
        assert end["left"] > 0 and end["left"] >= len(taken_back) and end["overruns"] == len(told) - len(taken_back)
        # The last one may not have been called again before the end
        assert all(line["elsewhere"] for line in told) and end["overruns"] <= 1 and end["unstopped"] == 0 and result.code == end["overruns"]
        assert_runs(place)
        assert snapshot(place) == before


@pytest.mark.any_row(1)
@pytest.mark.parametrize("way", ["m4/swd", "a9/swd", "a53/swd", "m4"])
def test_recursion_is_part_of_the_outer_call(way):
    with at(way, bits=RECURSE) as place:
        most = most_of(place, "recurse")
        budget = most * 2 // 3  # the deepest calls alone
        result, stops = guarded(place, "--budget", budget, "-r", 20 if SOAK else 5, function="recurse")
        check_stops(place, result, stops, "recurse", budget)
        assert end_of(result)["calls"] > end_of(result)["overruns"]
        assert all(functions_of(line).count("recurse") > 1 or line["counted"] > budget for line in overruns_of(result))


@pytest.mark.any_row(1)
@pytest.mark.parametrize("way", ["m4/swd", "m4"])
def test_what_interrupts_a_call_is_part_of_it(way):
    """A tick interrupts each 24th call, which then takes longer than all others; the handler is stopped in as well."""
    with at(way, "tick", PREEMPTED, clock=12_000_000) as place:
        cycles = sorted(place.delta("preempted", "-r", 10).cycles)[0]
        result, stops = guarded(place, "--budget", cycles + 4, "-r", 3, function="preempted")
        check_stops(place, result, stops, "preempted", cycles + 4)
        assert end_of(result)["calls"] > 3 * end_of(result)["overruns"]
        assert_runs(place)


@pytest.mark.any_row
def test_a_call_that_does_not_return():
    """What is printed is the last overrun."""
    with at("m4/swd") as place:
        program_of(place)
        tool = place.start("guard", "deadline", "-j", "--budget", BUDGET, "--timeout", "10s", "-r", 100000)
        place.wait_for_stops(40)
        place.board.write_word("overrun_length", 1 << 31)
        result = finish_tool(tool)
        assert result.code == 1 and end_of(result)["ended"] == "no return" and overruns_of(result), result.err
        assert_runs(place)


def test_what_cannot_be_guarded():
    with at("rp2040/swd") as place:
        program_of(place)
        result = place.run("guard", "deadline", "--budget", 1000)
        assert result.code == 3 and "stop" in result.err, result.err
        assert_runs(place)
    with at("m4/swd") as place:
        for words, fact in [(["--budget", "10 L1D_CACHE_REFILL"], "has no event"), (["--budget", "10 M"], "has no event"),
                            (["--budget", "0"], "--budget takes"), (["--budget", "1 2 3"], "--budget takes"), ([], "needs --budget")]:
            result = place.run("guard", "deadline", *words)
            assert result.code == 2 and fact in result.err, (words, result.err)
        assert_runs(place)

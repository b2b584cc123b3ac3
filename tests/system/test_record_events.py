"""`record --every N`: a counter stops the core after every N events. The truth is the board's: the halts in its log, what it counted of the
event between two of them, how long it was halted, and functions whose shares are known. Afterwards the target is as it was."""
import json
import os
import re
import signal

import pytest

from gdb_place import GdbPlace
from harness import NOWHERE, Place, finish_tool, run_tool, unfolded, wait_for
from own_program import START, own_place
from test_record import Profile, begin, part_of, some_more
from test_restore import assert_runs, journals, let_peer_finish, snapshot

pytestmark = pytest.mark.any_fifth

CYCLES, MISSES = 1, 2  # of `shares`
KNOWN = {kind: {f"{kind}_{share}": share / 100 for share in (10, 30, 60)} for kind in ("cycles", "misses")}
REFILLS = 0x03  # in the board's log
TRIGGER = "PMU overflow over the cross trigger"
# What is counted, of how many each, by what, and the cause of the halts in the board's log
RUNS = {
    "m4/swd": ("cycles", 5000, "DWT cycle match", 4), "m4": ("cycles", 50000, "DWT cycle match", 4),
    "m7/swd": ("cycles", 5000, "DWT cycle match", 4), "m33/swd": ("cycles", 5000, "DWT cycle match", 4), "rp2350/swd": ("cycles", 5000, "DWT cycle match", 4),
    "m55/swd": ("misses", 300, "PMU overflow", 32), "m55/jtag": ("cycles", 5000, "PMU overflow", 32),
    "a9/swd": ("misses", 300, TRIGGER, 4), "a7/swd": ("misses", 300, TRIGGER, 4), "a53/swd": ("misses", 300, TRIGGER, 0x13),
    "a9": ("misses", 3000, TRIGGER, 4), "r5/swd": ("cycles", 5000, TRIGGER, 4), "a53/jtag": ("cycles", 5000, TRIGGER, 0x13),
    "r52/swd": ("misses", 300, TRIGGER, 0x13), "a53in32/swd": ("cycles", 5000, TRIGGER, 0x13),
    "r52hyp/swd": ("misses", 300, TRIGGER, 0x13), "a53el2/swd": ("misses", 300, TRIGGER, 0x13),
}
SKID = {"m4": 2, "m7": 2, "m33": 2, "rp2350": 2, "m55": 2}  # instructions; 16 on the others
LATE = 40  # of either event, in that many instructions


def words_of(way):
    kind, every, _, _ = RUNS[way]
    return ["record", "-e", "L1D_CACHE_REFILL" if kind == "misses" else "cycles", "--every", every]


def program_of(place, kind):
    """Nothing but the functions of known shares, to their end."""
    place.set_scenario(0)
    place.board.write_word("shares", CYCLES if kind == "cycles" else MISSES)
    rounds = place.board.read_word("round_count") + 2
    wait_for(lambda: place.board.read_word("round_count") > rounds, "rounds of this scenario alone")


def sampled(place, path, *more):
    """A whole run, the profile that it wrote, and the halts of its samples: those before are of the trial."""
    place.board.watch(NOWHERE)
    result = place.run(*words_of(place.way), "-o", path, *more)
    assert result.code == 0, result.err
    profile = Profile(path)
    return result, profile, [event for event in place.board.log() if event.kind == "halt"]


def at(way, **options):
    place = Place(way, "free", **options)
    place.way = way
    return place


def shares_of(place, profile, kind):
    functions = profile.functions(place)
    return {name: functions[name] / sum(functions.values()) for name in KNOWN[kind]}


@pytest.mark.any_row(2)
@pytest.mark.parametrize("way", RUNS)
def test_samples_are_where_the_events_are(way, tmp_path):
    kind, every, source, cause = RUNS[way]
    with at(way) as place:
        program_of(place, kind)
        place.run("info")
        before = snapshot(place)
        result, profile, halts = sampled(place, tmp_path / "p.jsonl", "--for", "1.5s")
        assert_runs(place)
        assert snapshot(place) == before
        head, samples = profile.head, profile.end["samples"]
        assert head["source"] == source and head["every"] == every and profile.end["why"] == "time"
        assert head["event"] == ("CPU_CYCLES" if kind == "cycles" else "L1D_CACHE_REFILL")
        assert samples > 5 and not profile.states and profile.resets == 0
        assert f"{samples:,} samples" in result.err and "the core was halted" in result.err, result.err
        # Nine of ten are in functions that have nothing but such events, in any run
        assert sum(shares_of(place, profile, kind).values()) > 0.8
        # From stop to stop there are as many events as it was armed for: the counter does not see how long the core was halted
        stops = [halt for halt in halts if halt.extra == cause][-samples:]
        count = (lambda event: event.cycles) if kind == "cycles" else (lambda event: event.counts[REFILLS])
        apart = [count(after) - count(one) for one, after in zip(stops, stops[1:])]
        assert all(every - every // 8 - LATE <= events <= every + every // 8 + LATE for events in apart), sorted(apart)
        counted = sum(line.get("events", 0) for line in profile.intervals)
        # One just as the time was over is not a sample
        before_it = [halt for halt in halts if halt.extra == cause][-samples - 1:-1]
        assert any(abs(counted - count(some[-1]) + count(some[0]) - every) <= every // 8 + LATE * (samples + 1) for some in (stops, before_it))


@pytest.mark.any_row(1)
@pytest.mark.parametrize("way", ["m4/swd", "m55/swd", "a9/swd", "a53/swd", "r5/swd", "r52/swd", "a53in32/swd", "r52hyp/swd", "a53el2/swd"])
def test_without_a_number_the_rate_makes_one(way, tmp_path):
    """Misses of 16-bit counters are counted by two of them."""
    kind, _, source, _ = RUNS[way]
    event = "CPU_CYCLES" if kind == "cycles" else "L1D_CACHE_REFILL"
    with at(way) as place:
        program_of(place, kind)
        place.run("info")
        before = snapshot(place)
        result = place.record(tmp_path / "p.jsonl", "-e", event, samples=4)
        assert_runs(place)
        assert snapshot(place) == before
        profile = Profile(tmp_path / "p.jsonl")
        told = re.search(event + r": ([\d,]+) a second, and a stop after every ([\d,]+) ", result.err)
        rate, every = (int(number.replace(",", "")) for number in told.groups())
        assert every == profile.head["every"] and profile.head["source"] == source
        digits = 10 ** max(0, len(str(rate // 100)) - 2)
        assert rate > 0 and abs(every - max(100, rate // 100 // digits * digits)) <= digits, told
        assert profile.end["samples"] > 3 and sum(shares_of(place, profile, kind).values()) > 0.8


def test_what_report_says(tmp_path):
    path = tmp_path / "p.jsonl"
    with at("m4/swd") as place:
        program_of(place, "cycles")
        _, profile, _ = sampled(place, path, "--for", "1s")
        text = run_tool("--elf", place.elf, "report", path)
        assert "by DWT cycle match each 5,000 CPU_CYCLES:" in text.out and "\nhalted for samples " in text.out and "asleep" not in text.out, text.out
        rows = [json.loads(line) for line in run_tool("--elf", place.elf, "report", path, "-j").out.splitlines()]
        core = next(row for row in rows if row["type"] == "core")
        stood, events = (sum(line[key] for line in profile.intervals if key in line) for key in ("stood_s", "events"))
        assert core["events"] == events and abs(core["stood"] * core["seconds"] - stood) < 1e-3
        head = next(row for row in rows if row["type"] == "profile")
        assert (head["event"], head["every"]) == ("CPU_CYCLES", 5000)


@pytest.mark.soak
@pytest.mark.parametrize("way", ["m4/swd", "m55/swd", "a9/swd", "a53/swd"])
def test_how_long_the_core_stood(way, tmp_path):
    """Answers that take their time halt the core much longer than this machine's other work does. Between two stops there is
    more time than in one."""
    path = tmp_path / "p.jsonl"
    with at(way, dap_latency=5000, dap_wire=10_000_000) as place:
        kind = RUNS[way][0]
        program_of(place, kind)
        tool = begin(place, path, *words_of(way)[1:-1], 60_000 if kind == "cycles" else 1200)

        def stood():
            return place.board.command("stood")["cores"][0]

        wait_for(lambda: stood()["halts"] > 30, "the first ones, each of which is noted in the journal")
        first = stood()
        wait_for(lambda: stood()["halts"] > first["halts"] + 60, "stops")
        last = stood()
        result = finish_tool(tool, signal.SIGINT)
        assert result.code == 0, result.err
        profile = Profile(path)
        samples = [sum(line["pc"].values()) for line in profile.intervals]
        later = [n for n in range(len(samples)) if sum(samples[:n]) > 20]
        told = sum(profile.intervals[n]["stood_s"] for n in later) / sum(samples[n] for n in later)
        truth = (last["stood_ns"] - first["stood_ns"]) / (last["halts"] - first["halts"]) / 1e9
        print(way, f"told {told * 1000:.2f} ms a stop, the board says {truth * 1000:.2f} ms")
        assert abs(told - truth) < 0.1 * truth, (told, truth)


@pytest.mark.soak
@pytest.mark.parametrize("way", ["m4/swd", "m55/swd", "a9/swd", "a53/swd"])
def test_shares_at_5000_stops(way, tmp_path):
    kind, _, _, _ = RUNS[way]
    with at(way, clock=12000000) as place:
        program_of(place, kind)
        path = tmp_path / "p.jsonl"
        first = place.board.command("stood")["cores"][0]["halts"]
        tool = place.start(*words_of(way), "-o", path)

        def stops():
            assert tool.poll() is None, tool.communicate()
            return place.board.command("stood")["cores"][0]["halts"] - first

        wait_for(lambda: stops() > 5020, "stops", 1200)
        result = finish_tool(tool, signal.SIGINT)
        assert result.code == 0, result.err
        profile = Profile(path)
        shares = shares_of(place, profile, kind)
        all_of_them = sum(shares.values())
        for name, share in KNOWN[kind].items():
            assert abs(shares[name] / all_of_them - share) < 0.03, shares
        assert profile.end["samples"] >= 5000
        print(way, {name: round(100 * share / all_of_them, 2) for name, share in shares.items()}, result.err)


@pytest.mark.any_row(1)
@pytest.mark.parametrize("way", RUNS)
def test_ctrl_c_is_its_end(way, tmp_path):
    path = tmp_path / "p.jsonl"
    with at(way) as place:
        program_of(place, RUNS[way][0])
        place.run("info")
        before = snapshot(place)
        tool = begin(place, path, *words_of(way)[1:])
        result = finish_tool(tool, signal.SIGINT)
        assert result.code == 0, result.err
        assert Profile(path).end["why"] == "Ctrl-C"
        assert_runs(place)
        assert snapshot(place) == before


@pytest.mark.any_row(2)
@pytest.mark.parametrize("way", RUNS)
def test_a_killed_run_is_undone(way, tmp_path, state_folder):
    with at(way) as place:
        program_of(place, RUNS[way][0])
        assert place.run("stat", "--for", "50ms").code == 0
        before = snapshot(place)
        for _ in range(2):
            tool = begin(place, tmp_path / "p.jsonl", *words_of(way)[1:])
            tool.kill()
            tool.communicate()
            let_peer_finish(place)
            assert journals(state_folder)
            result = run_tool("--elf", place.elf, "restore")
            assert result.code == 0 and "put back" in result.out, result.err
            assert_runs(place)
            os.remove(part_of(tmp_path / "p.jsonl"))
        assert snapshot(place) == before


@pytest.mark.any_row(1)
@pytest.mark.parametrize("way", ["m4/swd", "m55/swd", "a9/swd", "a53/swd", "m4"])
def test_it_goes_on_after_a_reset(way, tmp_path):
    path = tmp_path / "p.jsonl"
    with at(way) as place:
        program_of(place, RUNS[way][0])
        tool = begin(place, path, *(words_of(way)[1:] if RUNS[way][0] == "cycles" else ["-e", "r08" if place.chip != "a9" else "r68", "--every", 5000]))
        place.board.command("reset")
        some_more(tool, path)
        result = finish_tool(tool, signal.SIGINT)
        assert result.code == 0, result.err
        profile = Profile(path)
        assert profile.resets == 1 and "1 reset" in result.err, result.err
        assert_runs(place)


@pytest.mark.any_row(2)
@pytest.mark.parametrize("way", ["m4", "m55", "a9", "a53"])
def test_a_halt_of_another_debugger(way, tmp_path):
    """It is not taken for a stop of ours, and stays."""
    path = tmp_path / "p.jsonl"
    with at(way) as place:
        program_of(place, "cycles")
        tool = begin(place, path, "--every", 200000)  # so that it seldom falls into a stop of ours
        place.halt()
        result = finish_tool(tool)
        assert result.code == 3 and "another debugger halted the core" in result.err, result.err
        assert place.board.state()["run"] == "halted"
        assert Profile(path).counts


# What cannot be had

def test_a_comparator_in_use_is_left_alone(tmp_path):
    with at("m4") as place:
        place.server("halt; wait_halt; wp 0x20001000 4 w; resume")
        before = place.board.state()
        assert before["dwt_function"][0] != 0
        result = place.run("record", "--every", 20000, "-o", tmp_path / "p.jsonl")
        after = place.board.state()
        assert result.code == 3 and "comparator 0 of the DWT, which alone matches cycles, is in use" in result.err, result.err
        assert all(after[name] == before[name] for name in ("dwt_function", "dwt_comp", "dwt_mask")) and os.listdir(tmp_path) == []


def test_an_m55_then_takes_its_pmu(tmp_path):
    with at("m55") as place:
        program_of(place, "cycles")
        place.server("halt; wait_halt; wp 0x20001000 4 w; resume")
        result = place.run("record", "--every", 50000, "--for", "500ms", "-o", tmp_path / "p.jsonl")
        assert result.code == 0 and Profile(tmp_path / "p.jsonl").head["source"] == "PMU overflow", result.err


def test_the_programs_own_cycle_counter_runs_on(tmp_path):
    """Its value is that of the program's cycles, before and after."""
    with at("m4") as place:
        program_of(place, "cycles")
        place.server("mww 0xE000EDFC 0x01000000")
        place.server("mww 0xE0001000 1")
        begun = place.board.state()
        place.record(tmp_path / "p.jsonl", "--every", 50000, samples=4)
        ended = place.board.state()
        assert Profile(tmp_path / "p.jsonl").end["samples"] > 3
        assert (ended["cyccnt"] - begun["cyccnt"]) % 2**32 == ended["counted"] - begun["counted"]


# A program that takes its own times with the counter: it sets it back in each round, by its address or by one that no reader of code finds
SETS_BACK = START + r"""
#define BURN(n) for (uint32_t i = 0; i < (n); i++) sink += i
APART void one(void) { BURN(300); }
APART void two(void) { BURN(600); }
APART void three(void) { BURN(900); }
volatile uint32_t parts[2] = {0xE0000000, 0x1004};
APART void hidden(volatile uint32_t *at) { *at = 0; }
void run(void) {
    parts[0] = 0xE0000000; parts[1] = 0x1004;
    BEGIN;
    for (;; round_count++) { WRITE; one(); two(); three(); }
}
"""
RUNS_IT = "REGISTER(0xE000EDFC) |= 1 << 24; REGISTER(0xE0001000) |= 1"


@pytest.mark.parametrize("way", ["m33/swd", "m4/swd"])
@pytest.mark.parametrize("begin_it, write", [("", "REGISTER(0xE0001004) = 0"), ("", "hidden((void *)(parts[0] + parts[1]))"),
                                             (RUNS_IT, "hidden((void *)(parts[0] + parts[1]))")], ids=["seen", "hidden", "its own"])
def test_a_program_that_sets_the_counter_back(way, begin_it, write, tmp_path):
    """Its stops would all be in one part of each round: the run ends, and what is in the file says why its shares are wrong."""
    path = tmp_path / "p.jsonl"
    with own_place(tmp_path, way, SETS_BACK.replace("BEGIN", begin_it).replace("WRITE", write), clock=12_000_000) as place:
        result = place.run("record", "--every", 5000, "--for", "2s", "-o", path)
        assert result.code == 3 and re.search("something else writes|something else changed", unfolded(result.err)), (result.code, result.err)
        if not path.exists() or path.stat().st_size == 0:
            return  # nothing was sampled
        if Profile(path).end["samples"] == 0:
            return
        report = unfolded(run_tool("--elf", place.elf, "report", path).out)
        assert "The run ended early" in report and ("writes DWT_CYCCNT: where it runs, the shares are wrong." in report) == ("hidden" not in write), report
        if "hidden" not in write:
            for more in (["--format", "html"], ["-j"], ["--format", "markdown"]):
                assert "where it runs, the shares are wrong" in unfolded(run_tool("--elf", place.elf, "report", *more, path).out)
            assert "where it runs, the shares are wrong" in unfolded(run_tool("--elf", place.elf, "compare", path, path).out)


def test_a_trigger_that_leads_nowhere(tmp_path):
    """It is that of core 1. The event occurs, and the core runs on: that is not a profile."""
    with at("a9/swd") as place:
        program_of(place, "misses")
        before = snapshot(place)
        result = place.run("--cti", "1:0x80099000", *words_of("a9/swd"), "-o", tmp_path / "p.jsonl")
        assert result.code == 3 and "does not stop the core: the event occurred, and the core ran on" in result.err, result.err
        assert_runs(place)
        assert snapshot(place) == before and os.listdir(tmp_path) == []


@pytest.mark.parametrize("words, code, text", [
    (["-a", "-e", "cycles"], 2, "stops its own core only"), (["--every", "99"], 2, "from 100 to"), (["-e", "LSUCNT", "--every", "1000"], 3, "can stop the core at LSUCNT"),
    (["-e", "NO_SUCH", "--every", "1000"], 2, "has no event NO_SUCH"), (["-e", "CPU_CYCLES,LSUCNT", "--every", "1000"], 2, "one event stops the core, not CPU_CYCLES,LSUCNT")])
def test_what_cannot_stop_it(words, code, text, tmp_path):
    with at("m4/swd") as place:
        place.board.watch(NOWHERE)
        before = snapshot(place)
        result = place.run("record", *words, "--for", "1s", "-o", tmp_path / "p.jsonl")
        assert result.code == code and text in result.err, result.err
        assert snapshot(place) == before and os.listdir(tmp_path) == []
        assert not [event for event in place.board.log() if event.kind == "halt"]


def test_an_m0plus_has_no_such_counter(tmp_path):
    with at("rp2040/swd") as place:
        result = place.run("record", "--every", 20000, "-o", tmp_path / "p.jsonl")
        assert result.code == 3 and "Armv6-M has a DWT without counters" in result.err.replace("\n", " "), result.err
        assert_runs(place)


def test_through_a_gdb_server(tmp_path):
    with GdbPlace("m4", "free") as place:
        result = place.run("record", "--every", 20000, "-o", tmp_path / "p.jsonl")
        assert result.code == 2 and os.listdir(tmp_path) == [], result.err


# Call stacks

# Who calls whom in tests/firmware/leaves.c. An exception may interrupt any of them
CALLS = {
    "Reset_Handler": {"start", "one_round", "run_tasks", "share"}, "start": {"one_round"}, "run_tasks": {"create", "share"},
    "one_round": {"nest_outer", "spin", "random_number", "behind"}, "behind": {"spin"}, "nest_outer": {"nest_middle", "nest_inner"},
    "nest_middle": {"nest_inner", "spin"}, "nest_inner": {"spin"}, "share": {"shared", "nest_outer", "spin", "random_number"},
    "shared": {"spin"}, "suffer": {"victim", "spin", "random_number"}, "victim": {"spin"}, "SysTick_Handler": {"spin"},
    "PendSV_Handler": {"next_task"}, "next_task": {"create"}}
EXCEPTIONS = {"SysTick_Handler", "PendSV_Handler"}
OUTERMOST = {"m4": {"Reset_Handler", "share", "suffer"}, "a9": {"Reset_Handler"}, "a53": {"start"}}


def folded(place, path):
    """Stacks of names, the outermost first, with their samples."""
    lines = run_tool("--elf", place.elf, "report", "--format", "folded", path).out.splitlines()
    return [(line.rpartition(" ")[0].split(";")[1:], int(line.rpartition(" ")[2])) for line in lines]


@pytest.mark.any_row(2)
@pytest.mark.parametrize("way, tasks", [("m4/swd", 1), ("m4/swd", 0), ("a9/swd", 0), ("a53/swd", 0), ("m4", 1)])
def test_each_stack_is_one_that_there_can_be(way, tasks, tmp_path):
    path = tmp_path / "p.jsonl"
    with Place(way, "leaves") as place:
        wait_for(lambda: place.board.read_word("round_count") > 0, "the firmware's first round")
        place.board.write_word("what", 8)
        place.board.write_word("scenario", 0)
        if tasks:
            place.board.write_word("tasks_wanted", 1)
        place.run("info")
        before = snapshot(place)
        place.record(path, "-g", "--every", 20000, samples=40)
        assert_runs(place)
        assert snapshot(place) == before
        profile = Profile(path)
        assert sum(stack["samples"] for line in profile.intervals for stack in line.get("stacks", [])) == profile.end["samples"]
        stacks = folded(place, path)
        assert sum(samples for _, samples in stacks) == profile.end["samples"] > 10
        for names, _ in stacks:
            known = [name for name in names if name != "[cut short]"]
            for caller, callee in zip(known, known[1:]):
                assert callee in CALLS.get(caller, ()) or callee in EXCEPTIONS, names
            assert len(known) < len(names) or known[0] in OUTERMOST[place.chip], names
        whole = sum(samples for names, samples in stacks if names[0] != "[cut short]")
        assert whole > 0.9 * profile.end["samples"] or tasks, stacks  # the first task began where the program was
        assert not place.wires or any("nest_middle" in names[1:-1] for names, _ in stacks), stacks
        tree = run_tool("--elf", place.elf, "report", "-g", path)
        assert tree.code == 0 and tree.out.count("children") == 1, tree.out
        rows = [json.loads(line) for line in run_tool("--elf", place.elf, "report", path, "-j").out.splitlines()]
        children = {row["function"]: row["children"] for row in rows if row["type"] == "share" and "function" in row}
        of_nest = sum(samples for names, samples in stacks if "nest_outer" in names)
        # through OpenOCD a busy machine takes some ten stacks, perhaps none of these
        assert of_nest > 0 or not place.wires, stacks
        assert tree.out.count("nest_outer") > 1 or of_nest == 0, tree.out
        assert abs(children.get("nest_outer", 0) - of_nest / profile.end["samples"]) < 1e-6
        assert run_tool("--elf", place.elf, "annotate", "spin", path).code == 0
        assert run_tool("--elf", place.elf, "report", "--format", "html", path, "-o", tmp_path / "p.html").code == 0
        assert '>children</th>' in (tmp_path / "p.html").read_text(encoding="utf-8")


def test_stacks_need_a_stop_and_a_program(tmp_path):
    with at("m4/swd") as place:
        before = snapshot(place)
        path = ["--for", "1s", "-o", tmp_path / "p.jsonl"]
        alone = place.run("record", "-g", *path)
        assert alone.code == 0 and " samples in " in alone.err + alone.out, alone.err
        assert run_tool("report", "-g", tmp_path / "p.jsonl").code == 0
        refused = place.run("record", "-g", "--every", 10000, *path, elf=False)
        assert refused.code == 2 and "-g needs --elf FILE" in refused.err, refused.err
        assert snapshot(place) == before
        place.run("record", "--every", 10000, *path)
        refused = run_tool("report", "-g", tmp_path / "p.jsonl")
        assert refused.code == 2 and "has no call stacks" in refused.err, refused.err

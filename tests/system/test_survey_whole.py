"""`survey` of whole programs: all functions of the test firmware, and forty regions with budgets and a baseline. The truth of a function is
what the board counts from each entry to its return, and how often that is, while nobody stops the core."""
import collections
import itertools
import json
import math
import re
import subprocess

import pytest

from harness import NOP_MORE, PREEMPTED, SOAK, SPAN_1K, Place, returned, run_tool
from test_survey import ENOUGH, check_truth, region_file, survey

CLOCK = 12_000_000
HITS = 200 if SOAK else 12
SHARES = 5  # by cycles, with overruns
WATCHED = 60  # addresses at once
PROGRAMS = {"free": (21, 11), "printf": (30, 100), "rtos": (12, 6)}  # at least that many functions are called, and are not
ALWAYS = {"free": ["hidden_step", "deadline"], "printf": ["_dtoa_r"], "rtos": ["PendSV_Handler", "crc_of"]}
# That many hits span several bursts, and many switches of tasks, however slow the machine is
IN_BURSTS = {**dict.fromkeys(["hidden_step", "by_value"], f" -r {2000 if SOAK else 200}"),
             **dict.fromkeys(["crc_of", "pack_block"], f" -r {5000 if SOAK else 200}")}


def events_of(place, addresses, cycles):
    place.board.watch(*addresses)
    place.board.run_for(cycles)
    events = [event for event in place.board.log() if event.kind == "reach"]
    place.board.watch()
    return events


def exits_of(place, name):
    """Where an exception handler returns."""
    code = subprocess.run(["arm-none-eabi-objdump", "-d", f"--disassemble={name}", place.elf], capture_output=True, text=True, check=True).stdout
    return {int(at, 16) for at in re.findall(r"^ *([0-9a-f]+):\t[0-9a-f ]+\t(?:bx\tlr|pop\t\{.*pc\})", code, re.M)}


def calls_of(place, names, cycles):
    """Of each function the cycles of its outermost calls, and which part of all cycles they are."""
    calls, shares, group = collections.defaultdict(list), {}, {}
    entries = {place.symbol(name): name for name in names}
    found = events_of(place, list(entries), cycles)
    for entry, name in entries.items():
        returns = {event.lr & ~1 for event in found if event.pc == entry}
        if is_handler(returns):
            returns = exits_of(place, name)
        if sum(1 + len(others) for others in group.values()) + 1 + len(returns) > WATCHED:
            follow(place, group, cycles, calls, shares)
            group = {}
        group[entry] = returns
    follow(place, group, cycles, calls, shares)
    return calls, shares


def is_handler(returns):
    return min(returns) >= 0xFFFFFF00


def follow(place, group, cycles, calls, shares):
    events = events_of(place, sorted({*group, *(at for returns in group.values() for at in returns)}), cycles)
    for entry, exits in group.items():
        begun, entries = None, []
        for event in events:
            if begun is not None and (event.pc in exits if is_handler({begun.lr}) else returned(event, begun)):
                calls[entry].append(event.cycles - begun.cycles)
                begun = None
            if begun is None and event.pc == entry:
                begun = event
                entries.append(event.cycles)
        whole = calls[entry][:len(entries) - 1]  # from the first entry to the last one
        shares[entry] = sum(whole) / (entries[-1] - entries[0])


def is_median_of(value, truth, n):
    """Within four standard errors of the rank that a median of n has, in a truth that is a sample itself."""
    off = 2 * math.sqrt(1 / n + 1 / len(truth)) + 1 / n
    return sum(one < value for one in truth) / len(truth) <= 0.5 + off and sum(one <= value for one in truth) / len(truth) >= 0.5 - off


@pytest.mark.any_row(1)
@pytest.mark.parametrize("way", ["m4/swd", "rp2040/swd"])
@pytest.mark.parametrize("mode", PROGRAMS)
def test_all_functions_of_a_program(mode, way, tmp_path):
    """The test firmware, newlib's printf, and three tasks of a real-time kernel."""
    with Place(way, mode, clock=CLOCK) as place:
        place.set_scenario(place.board.read_word("scenario") | NOP_MORE | SPAN_1K)
        if mode == "free":
            place.board.write_word("overrun_each", 2)
            place.board.write_word("overrun_length", 500)
            place.board.write_word("shares", SHARES)
        place.board.run_for(200_000)
        place.board.command("profile on")
        whole = survey(place, "*", "-r", HITS, "--for", "20s" if SOAK else "1s")  # some are never called: the time ends it
        executed = {at for at, cycles in place.board.command("profile")["cores"][0]["executed"] if cycles}
        called = [name for name in whole.regions if place.symbol(name) in executed]
        assert len(called) >= PROGRAMS[mode][0] and len(whole.regions) >= len(called) + PROGRAMS[mode][1]
        assert {name for name, region in whole.regions.items() if region["reached"]} <= set(called)

        measured = called if SOAK else sorted({*ALWAYS[mode], *called[::4]})
        reached = survey(place, "--regions", region_file(tmp_path, *(f"{name} {name}{IN_BURSTS.get(name, '')}" for name in measured)), "-r", HITS, *ENOUGH).regions
        assert set(reached) == set(measured) and all(region["reached"] and region["hits"] >= HITS for region in reached.values())
        log = place.board.log()
        calls, shares = calls_of(place, reached, 3_000_000 if SOAK else 600_000)
        for name, region in reached.items():
            check_truth(place, region, log)
            truth, cycles = calls[place.symbol(name)], region["columns"]["CPU_CYCLES"]
            assert is_median_of(cycles["median"], truth, HITS) and cycles["plus_minus"] == 0, name
            wrong, told = abs(region["share"] - shares[place.symbol(name)]), region["share_plus_minus"]
            assert wrong < 0.02 or not SOAK and wrong < 4 * told, (name, region, shares[place.symbol(name)])
        for name in reached if SOAK else sorted(reached)[:1]:
            one, here = place.delta(name, "-r", HITS), reached[name]["columns"]["CPU_CYCLES"]
            median, truth = one.summary["columns"]["CPU_CYCLES"]["median"], calls[place.symbol(name)]
            assert is_median_of(median, truth, HITS) and (median == here["median"] or min(truth) < max(truth)), name
        print(way, len(whole.regions), {name: (region["hits"], round(region.get("share", 0), 4), round(shares[place.symbol(name)], 4))
                                         for name, region in reached.items()})


# --- forty regions

FUNCTIONS = ["work_by_data", "recurse", "nop_more", "cycles_30", "called_twice", "random_number", "hidden_step", "masked_work", "ping",
             "article_nop", "caller_one", "caller_two", "loop_round", "in_ram", "wide_entry", "timed_round", "written_round", "span_1k",
             "cycles_10", "cycles_60", "article_plain"]
IN_ORDER = ["article_nop", "work_by_data", "caller_one", "caller_two", "loop_round", "in_ram", "masked_work"]
SPANS = [f"{one}-{other} {one} {other}" for one, other in itertools.combinations(IN_ORDER, 2)][:18]
PLANTED, ROUNDS = "deadline", 200  # its slow path is taken in each call
WORDS = ("-r", 60 if SOAK else 10, "--for", "10min")


def forty(folder):
    """The regions of a project. In check there are fourteen."""
    lines = [f"{name} {name}" for name in FUNCTIONS] + SPANS
    return region_file(folder, *(lines if SOAK else lines[:9] + SPANS[:4]), f"{PLANTED} {PLANTED}")


def program():
    place = Place("m4/swd", "free", clock=CLOCK)
    place.set_scenario((place.board.read_word("scenario") | NOP_MORE | SPAN_1K) & ~PREEMPTED)
    for name, value in (("overrun_each", 1), ("overrun_length", ROUNDS), ("shares", SHARES)):
        place.board.write_word(name, value)
    place.board.run_for(100_000)
    return place


def with_budgets(folder, path, base):
    """Those that always take as long have one: 2 % more."""
    regions = {line["name"]: line for line in map(json.loads, base.read_text().splitlines()) if line["type"] == "region"}
    lines = []
    for line in path.read_text().splitlines():
        cycles = regions[line.split()[0]]["columns"]["CPU_CYCLES"]
        lines.append(line + (f" <= {cycles['max'] * 1.02:.0f} cycles" if cycles["min"] == cycles["max"] else ""))
    assert sum("<=" in line for line in lines) * 3 > len(lines)
    return region_file(folder, *lines)


def regressed(result):
    return {(line["region"]["start"], line["region"]["end"]) for line in result.lines if line["type"] == "verdict"
            and line["verdict"] == "regressed"}


@pytest.mark.any_row
def test_one_of_forty_is_three_percent_slower(tmp_path):
    base, new = tmp_path / "base.jsonl", tmp_path / "new.jsonl"
    with program() as place:
        path = forty(tmp_path)
        assert place.run("survey", "--regions", path, "-j", "-o", base, *WORDS).code == 0
        path = with_budgets(tmp_path, path, base)
        same = place.run("survey", "--regions", path, "--check", "--baseline", base, "-j", *WORDS)
        assert same.code in (0, 4) and not regressed(same), same.out
        of_base = next(json.loads(line) for line in base.read_text().splitlines() if f'"name":"{PLANTED}"' in line)
        before = of_base["columns"]["CPU_CYCLES"]["median"]
        place.board.write_word("overrun_length", ROUNDS + math.ceil(0.03 * before / 7))  # a round takes seven cycles
        place.board.run_for(100_000)
        result = place.run("survey", "--regions", path, "--check", "--baseline", base, "-j", "-o", new, *WORDS)
        assert result.code == 1, result.err
        lines = [json.loads(line) for line in new.read_text().splitlines()]
        regions = {line["name"]: line for line in lines if line["type"] == "region"}
        assert len(regions) == (40 if SOAK else 14)
        assert before * 1.029 < regions[PLANTED]["columns"]["CPU_CYCLES"]["median"] < before * 1.036
        assert [name for name, region in regions.items() if region.get("budget", {}).get("verdict") == "regressed"] == [PLANTED]
        live = {(line["region"]["start"], line["region"]["end"]): line for line in lines if line["type"] == "verdict"}
        assert [key for key, line in live.items() if line["verdict"] == "regressed"] == [(PLANTED, "its return")]
        read = run_tool("compare", base, new, "-j")
        again = {(line["region"]["start"], line["region"]["end"]): line for line in read.lines if line["type"] == "verdict"}
        assert read.code == 1 and {key: line["columns"] for key, line in again.items()} == {key: line["columns"] for key, line in live.items()}
        assert {key: line["verdict"] for key, line in again.items()} == {key: line["verdict"] for key, line in live.items()}


@pytest.mark.soak
def test_forty_unchanged_regions_do_not_regress(tmp_path):
    """Each pair of 21 runs of one program: all verdicts of a run are wrong in at most 1 % of runs. A run that is far off by chance is so in
    many pairs."""
    files = [tmp_path / f"{n}.jsonl" for n in range(21)]
    with program() as place:
        path = forty(tmp_path)
        for file in files:
            assert place.run("survey", "--regions", path, "-j", "-o", file, *WORDS).code == 0
    pairs = [(run_tool("compare", old, new, "-j"), old.stem, new.stem) for old, new in itertools.combinations(files, 2)]
    wrong = [(old, new, regressed(result)) for result, old, new in pairs if result.code == 1]
    print(f"{len(wrong)} of {len(pairs)} pairs of {sum(line['type'] == 'verdict' for line in pairs[0][0].lines)} regions regressed: {wrong}")
    assert all(result.code in (0, 1, 4) for result, _, _ in pairs) and len({new for _, new, _ in wrong}) <= 2, wrong

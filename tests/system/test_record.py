"""`record`: samples of the PC while the core runs. The truth is the program: its instructions, its hottest function, and what the
board counted of its sleep. The core is never stopped, and afterwards the target is as it was."""
import bisect
import collections
import functools
import glob
import json
import os
import re
import signal
import subprocess

import pytest

from endings import PASS, SILENT, Behind
from gdb_place import GdbPlace
from harness import NOWHERE, SLEEPER, TOOL, WAIT, WORK_BY_DATA, Place, finish_tool, run_tool, tool_environment, wait_for
from test_restore import assert_runs, snapshot

WIRES = ["m4/swd", "rp2040/swd", "m55/swd", "a9/swd", "a53/swd"]
WAYS = [*WIRES, "m4"]
SOURCES = {"m4": "DWT_PCSR", "rp2040": "DWT_PCSR", "m55": "DWT_PCSR", "a9": "DBGPCSR", "a53": "EDPCSR"}
STATES = ("asleep", "not_permitted", "halted", "in_reset")
SLOW_WIRE = 1000000  # Hz. The board emulates no core fast enough for the samples of a 10 MHz wire: they then bunch up where code is slow


class Profile:
    """What record wrote, checked as far as it must be so in any profile."""

    def __init__(self, path):
        lines = [json.loads(line) for line in open(path, encoding="utf-8")]
        self.head, self.end = lines[0], lines[-1]
        self.intervals = [line for line in lines[1:-1] if line["type"] not in ("exceptions", "tasks", "task", "contexts", "note")]
        assert self.head["schema"] == "pmu-probe/2" and self.head["type"] == "profile" and self.end["type"] == "end"
        assert all(line["type"] == "samples" for line in self.intervals)
        self.counts, self.states = collections.Counter(), collections.Counter()
        self.by_core = [collections.Counter() for _ in self.head["cores"]]
        at = [0] * len(self.by_core)
        for line in self.intervals:
            core = line["core"]
            assert line["from"] == at[core] < line["to"]
            at[core] = line["to"]
            self.counts.update(line.get("pc", {}))
            self.by_core[core].update(line.get("pc", {}))
            self.states.update({state: line[state] for state in STATES if state in line})
        assert max(at) <= self.end["elapsed_s"]
        assert self.end["samples"] == sum(self.counts.values()) + sum(self.states.values())

    @property
    def resets(self):
        return sum(line.get("resets", 0) for line in self.intervals)

    def functions(self, place, core=None):
        """Samples by function, the hottest first."""
        counts = self.counts if core is None else self.by_core[core]
        return by_function(place, ((int(address, 16), samples) for address, samples in counts.items()))


def by_function(place, counts):
    symbols = sorted((address, name) for name, address in place.board.symbols().items() if name[0] != "$")
    found = collections.Counter()
    for address, count in counts:
        found[symbols[bisect.bisect_right(symbols, (address, "~")) - 1][1]] += count
    return found


@functools.lru_cache(maxsize=None)
def instructions_of(elf):
    tool = "aarch64-linux-gnu-objdump" if "a53" in os.path.basename(elf) else "arm-none-eabi-objdump"
    text = subprocess.run([tool, "-d", elf], check=True, capture_output=True, text=True).stdout
    return {int(line.split(":")[0], 16) for line in text.splitlines() if re.match(r" *[0-9a-f]+:\t", line)}


def halts(place):
    return [event for event in place.board.log() if event.kind == "halt"]


def part_of(path):
    """The file while it is being written."""
    return next(iter(glob.glob(f"{path}.part-*")), None)


def begin(place, path, *words):
    """Returns the tool, which has written some intervals."""
    tool = place.start("record", "-o", path, *words)
    wait_for(lambda: tool.poll() is not None or lines_of(path) > 5, "some intervals")
    assert tool.poll() is None, tool.communicate()
    return tool


def lines_of(path):
    name = part_of(path)
    return open(name, encoding="utf-8").read().count("\n") if name else 0


def some_more(tool, path):
    """Intervals get longer, so these are there in any case."""
    enough = lines_of(path) + 5
    wait_for(lambda: tool.poll() is not None or lines_of(path) > enough, "more intervals")


@pytest.mark.any_row(3)
@pytest.mark.parametrize("way", WAYS)
def test_samples_are_where_the_program_is(way, tmp_path):
    with Place(way, "free", WORK_BY_DATA) as place:
        place.board.watch(NOWHERE)
        place.run("info")
        before = snapshot(place)
        result = place.record(tmp_path / "p.jsonl", samples=17)
        assert result.out == "", result.err
        assert halts(place) == [], "the core was stopped"
        assert_runs(place)
        assert snapshot(place) == before
        profile = Profile(tmp_path / "p.jsonl")
        assert profile.head["source"] == SOURCES[place.chip] and profile.head["elf"].endswith(".elf")
        assert profile.head["asked_s"] == result.asked_s and profile.end["why"] == "time" and profile.end["elapsed_s"] >= result.asked_s
        assert not profile.states and profile.resets == 0
        assert {int(address, 16) for address in profile.counts} <= instructions_of(place.elf)
        functions = profile.functions(place)
        assert functions.most_common(1)[0][0] == "work_by_data", functions
        assert profile.end["samples"] > 16
        said = re.fullmatch(r"([\d,]+) samples in [\d.]+ s, [\d,]+ per second: (.*p\.jsonl)\n", result.err)
        assert said and int(said.group(1).replace(",", "")) == profile.end["samples"], result.err


@pytest.mark.any_row(3)
@pytest.mark.parametrize("way", WAYS)
def test_shares_are_those_of_the_board(way, tmp_path):
    """The board adds up the cycles of each address. Samples must take time as on a real wire: else a packet's are all of one moment."""
    with Place(way, "free", WORK_BY_DATA, **({"dap_wire": SLOW_WIRE} if "/" in way else {})) as place:
        place.board.command("profile on")
        result = place.run("record", "--for", "2s", "-o", tmp_path / "p.jsonl")
        spent = place.board.command("profile")["cores"][0]
        assert result.code == 0 and spent["lost"] == 0, result.err
        cycles, samples = by_function(place, spent["executed"]), Profile(tmp_path / "p.jsonl").functions(place)
        report = run_tool("--elf", place.elf, "report", tmp_path / "p.jsonl", "-j")
        rows = [json.loads(line) for line in report.out.splitlines()]
        told = {row["function"]: row for row in rows if row["type"] == "share" and "function" in row}
        of_cycles, of_samples = sum(cycles.values()), sum(samples.values())
        hot = [name for name, count in cycles.items() if count > 0.05 * of_cycles]
        assert len(hot) > 1
        for name in hot:
            share, truth, row = samples[name] / of_samples, cycles[name] / of_cycles, told[name]
            assert abs(row["share"] - share) < 1e-6, (name, row, share)
            assert abs(share - truth) <= 3 * row["plus_minus"], (name, share, truth, row)


@pytest.mark.any_row(1)
@pytest.mark.parametrize("way", ["rp2040/swd", "a9/swd", "a53/swd", "a53"])
def test_all_cores_by_turns(way, tmp_path):
    """Each has its own functions, and its own shares."""
    path = tmp_path / "p.jsonl"
    with Place(way, "free", WORK_BY_DATA, **({"dap_wire": SLOW_WIRE} if "/" in way else {})) as place:
        place.board.watch(NOWHERE)
        place.run("info")
        before = snapshot(place)
        place.board.command("profile on")
        result = place.run("record", "-a", "--for", "2s", "-o", path)
        spent = place.board.command("profile")["cores"]
        assert result.code == 0, result.err
        assert halts(place) == [], "a core was stopped"
        assert_runs(place)
        assert snapshot(place) == before
        profile = Profile(path)
        assert len(profile.head["cores"]) == 2 and "numbers" not in profile.head and not profile.states
        samples = [sum(profile.by_core[core].values()) for core in (0, 1)]
        assert min(samples) > max(samples) / 4, "they take turns"
        told = [json.loads(line) for line in run_tool("--elf", place.elf, "report", path, "-j").out.splitlines()]
        for core in (0, 1):
            cycles, functions = by_function(place, spent[core]["executed"]), profile.functions(place, core)
            assert {name.startswith("core1_") for name in functions} == {core == 1}, functions
            for row in told:
                if row["type"] != "share" or row["core"] != core or row["share"] < 0.05:
                    continue
                truth = cycles[row["function"]] / sum(cycles.values())
                assert abs(row["share"] - truth) <= 3 * row["plus_minus"], (row, truth)


def test_a_core_that_cannot_be_sampled_is_left_out(tmp_path):
    path = tmp_path / "p.jsonl"
    with Place("a53/swd", "free", WORK_BY_DATA) as place:
        place.board.command("core-state powered-off on")
        result = place.run("record", "-a", "--for", "300ms", "-o", path)
        assert result.code == 0 and "core 0 is left out" in result.err, result.err
        profile = Profile(path)
        assert profile.head["numbers"] == [1] and profile.counts
        assert "core 1 Cortex-A53" in run_tool("report", path).out
        place.board.command("core-state powered-off off")
        assert place.run("record", "-a", "-C", 1, "-o", path).code == 2


def test_the_number_of_a_core_is_told(tmp_path):
    path = tmp_path / "p.jsonl"
    with Place("rp2040/swd", "free", WORK_BY_DATA) as place:
        assert place.run("record", "-C", 1, "--for", "300ms", "-o", path).code == 0
        report = run_tool("--elf", place.elf, "report", path).out
        assert "core 1 Cortex-M0+" in report and "core1_work" in report
        assert run_tool("--elf", place.elf, "report", path, "--format", "folded").out.startswith("core 1;core1_work ")


@pytest.mark.parametrize("way", ["r5/swd", "r5"])
def test_a_core_that_has_none(way, tmp_path):
    with Place(way, "free", WORK_BY_DATA) as place:
        place.board.watch(NOWHERE)
        before = snapshot(place)
        result = place.run("record", "--for", "1s", "-o", tmp_path / "p.jsonl")
        assert result.code == 3 and "Cortex-R5 r1p3 has no PC sample register" in result.err and "watch" in result.err, result.err
        assert os.listdir(tmp_path) == [] and halts(place) == []
        assert_runs(place)
        assert snapshot(place) == before


@pytest.mark.any_row(1)
@pytest.mark.parametrize("chip", ["m4", "rp2040", "a9", "a53"])
def test_through_a_gdb_server(chip, tmp_path):
    """It must be stopped for each sample, and the result says so."""
    with GdbPlace(chip, "free", WORK_BY_DATA) as place:
        path = tmp_path / "p.jsonl"
        result = place.record(path, samples=3)
        assert re.search(r"the core was halted at most \d+ %", result.err), result.err
        profile = Profile(path)
        assert profile.head["source"] == "halts" and profile.end["samples"] >= 3 and not profile.states
        assert {int(address, 16) for address in profile.counts} <= instructions_of(place.elf)
        assert_runs(place)
        told = run_tool("--elf", place.elf, "report", path).out
        assert "by halts" in told and "stopped for each sample" in told and "asleep" not in told
        refused = place.run("record", "-a", "-o", path)
        assert refused.code == 2 and "one core" in refused.err


@pytest.mark.parametrize("way", WAYS)
def test_ctrl_c_is_its_end(way, tmp_path):
    path = tmp_path / "p.jsonl"
    with Place(way, "free", WORK_BY_DATA) as place:
        place.run("info")
        before = snapshot(place)
        tool = begin(place, path)
        result = finish_tool(tool, signal.SIGINT)
        assert result.code == 0 and "per second" in result.err, result.err
        profile = Profile(path)
        assert profile.end["why"] == "Ctrl-C" and "error" not in profile.end and "asked_s" not in profile.head
        assert profile.counts
        assert_runs(place)
        assert snapshot(place) == before


def test_without_an_event_the_core_is_seldom_halted(tmp_path):
    """Only the halted core can read this counter, to see whether it was written: twice a second. Some halts more are of the trial."""
    path = tmp_path / "p.jsonl"
    with Place("r5/swd", "free") as place:
        place.board.watch(NOWHERE)
        result = place.run("record", "-e", "cycles", "--every", 1000000000, "--for", "1s", "-o", path)
        assert result.code == 0, result.err
        end = Profile(path).end
        assert end["samples"] == 0 and len(halts(place)) <= 10 + 2 * end["elapsed_s"]


@pytest.mark.nobody_answers
def test_ctrl_c_is_its_end_though_the_probe_was_silent(tmp_path, monkeypatch):
    """Its old connection is half-open; over a new one it is asked again."""
    monkeypatch.setenv("PMU_PROBE_PATIENCE", "1")
    path = tmp_path / "p.jsonl"
    with Behind() as behind:
        tool = begin(behind, path)
        behind.relay.become(SILENT, PASS)
        wait_for(lambda: behind.relay.taken > 0, "a packet that gets no answer")
        result = finish_tool(tool, signal.SIGINT)
        assert result.code == 0, result.err
        end = Profile(path).end
        assert end["why"] == "Ctrl-C" and "error" not in end, end


@pytest.mark.parametrize("way", WAYS)
def test_it_goes_on_after_a_reset(way, tmp_path):
    path = tmp_path / "p.jsonl"
    with Place(way, "free") as place:
        before = place.board.state().get("demcr")
        tool = begin(place, path)
        place.board.command("reset")
        some_more(tool, path)
        result = finish_tool(tool, signal.SIGINT)
        assert result.code == 0, result.err
        profile = Profile(path)
        assert profile.resets == 1 and "1 reset" in result.err, result.err
        at = next(i for i, line in enumerate(profile.intervals) if "resets" in line)
        assert any("pc" in line for line in profile.intervals[at + 1:]), "no samples after the reset"
        assert {int(address, 16) for address in profile.counts} <= instructions_of(place.elf)
        assert_runs(place)
        assert place.board.state().get("demcr") == before


@pytest.mark.parametrize("way", WAYS)
def test_a_core_that_stands_is_left_standing(way, tmp_path):
    with Place(way, "free", WORK_BY_DATA) as place:
        place.halt()
        before = snapshot(place)
        result = place.run("record", "--for", "1s", "-o", tmp_path / "p.jsonl")
        assert result.code == 3 and "the core is halted at" in result.err, result.err
        assert os.listdir(tmp_path) == [] and place.board.state()["run"] == "halted"
        assert {name: value for name, value in snapshot(place).items() if name != "control"} == \
            {name: value for name, value in before.items() if name != "control"}


@pytest.mark.parametrize("way", ["m4", "rp2040", "a9", "a53"])
def test_a_halt_of_another_debugger(way, tmp_path):
    """The file counts that time as halted, and the core stays halted."""
    path = tmp_path / "p.jsonl"
    with Place(way, "free", WORK_BY_DATA) as place:
        tool = begin(place, path)
        place.halt()
        some_more(tool, path)
        result = finish_tool(tool, signal.SIGINT)
        assert result.code == 0 and "halted" in result.err, result.err
        profile = Profile(path)
        last = profile.intervals[-1]
        assert profile.counts and profile.states["halted"] > 0 and "pc" not in last and set(last) & set(STATES) == {"halted"}
        assert place.board.state()["run"] == "halted"


@pytest.mark.nobody_answers
@pytest.mark.parametrize("way", ["m4/swd", "a53/swd"])
def test_power_that_goes_and_comes(way, tmp_path):
    """Nothing answers meanwhile. That is neither sleep nor the end."""
    path = tmp_path / "p.jsonl"
    with Place(way, "free", WORK_BY_DATA) as place:
        tool = begin(place, path)
        place.board.command("power off")
        packets = place.board.command("dap")["packets"]
        wait_for(lambda: place.board.command("dap")["packets"] > packets + 4, "a look that nothing answers")
        place.board.command("power on")
        before = lines_of(path)
        wait_for(lambda: any('"pc"' in line for line in open(part_of(path), encoding="utf-8").readlines()[before + 2:]),
                 "samples")
        result = finish_tool(tool, signal.SIGINT)
        assert result.code == 0, result.err
        profile = Profile(path)
        assert profile.resets == 1 and profile.states["in_reset"] > 0 and not profile.states["asleep"]
        assert_runs(place)


@pytest.mark.nobody_answers
@pytest.mark.parametrize("way", ["m4/swd", "a53/swd", "m4"])
def test_a_lost_link_leaves_what_was_counted(way, tmp_path):
    path = tmp_path / "p.jsonl"
    with Place(way, "free", WORK_BY_DATA) as place:
        tool = begin(place, path)
        if place.server:
            place.server.kill()
        else:
            place.board.process.kill()
        result = finish_tool(tool)
        assert result.code == 3 and "per second" in result.err, result.err
        profile = Profile(path)
        assert profile.end["why"] == "lost" and profile.end["error"] and profile.counts


@pytest.mark.parametrize("way", ["m4/swd", "rp2040/swd"])
def test_sleep_is_told_apart(way, tmp_path):
    """The share is the board's own, where it counts sleep. Samples must take time as on a real wire: else a packet's are all of one
    moment."""
    with Place(way, "ms", SLEEPER | WORK_BY_DATA, dap_wire=10000000) as place:
        rounds = place.board.read_word("round_count") + 3  # the first one may have begun before the scenario was set
        wait_for(lambda: place.board.read_word("round_count") > rounds, "rounds of this scenario alone")
        before = place.board.state()
        result = place.run("record", "--for", "2s", "-o", tmp_path / "p.jsonl")
        after = place.board.state()
        assert result.code == 0 and "% asleep" in result.err, result.err
        profile = Profile(tmp_path / "p.jsonl")
        asleep = profile.states["asleep"] / profile.end["samples"]
        assert set(profile.states) == {"asleep"} and profile.counts
        if place.chip == "m4":
            truth = (after["profile"][2] - before["profile"][2]) / (after["cycles"] - before["cycles"])
            assert abs(asleep - truth) < 0.03, (asleep, truth)


def test_the_default_file(tmp_path):
    with Place("m4/swd", "free", WORK_BY_DATA) as place:
        words = [TOOL, *place.probe_words(), "-q", "record", "--for", "200ms"]
        result = subprocess.run(words, cwd=tmp_path, env=tool_environment(), capture_output=True, text=True, timeout=WAIT, check=True)
        assert result.stdout == result.stderr == ""
        assert os.listdir(tmp_path) == ["profile.jsonl"] and "elf" not in Profile(tmp_path / "profile.jsonl").head

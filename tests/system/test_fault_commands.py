"""Trouble on the wire or at an access port in commands that change the target and are not `delta`: each run ends with what it is there
for or with an error, and the target is as it was, or `restore` puts it back."""
import os

import pytest

import harness
from harness import ARTICLE_PLAIN, SOAK, WORK_BY_DATA, finish_tool, places, start_tool
from test_guard import BUDGET, program_of as overruns_of
from test_record_events import at, program_of as shares_of
from test_restore import assert_runs, journals, killed, snapshot

OF_ACCESSES = ["wait", "fault"]
OF_WIRE = ["none", "parity"]
A_ROW, IN_SOAK = 6, 20  # places
EVENTS = {"m55": "L1D_CACHE_REFILL", "a9": "L1D_CACHE_REFILL", "a53": "L1D_CACHE_REFILL", "r52": "L1D_CACHE_REFILL"}


def record(place, folder):
    return ["record", "--for", "30ms", "-o", folder / "p.jsonl"]


def record_events(place, folder):
    return ["record", "-e", EVENTS.get(place.chip, "cycles"), "--every", 300 if place.chip in EVENTS else 5000, "-g", "--for", "60ms",
            "-o", folder / "p.jsonl"]


def guard(place, folder):
    return ["guard", "deadline", "-j", "--budget", BUDGET, "-r", 2, "--timeout", "20s"]


def survey(place, folder):
    return ["survey", "work_by_data", "called_twice", "-j", "--for", "2s" if place.server else "100ms"]


def stub(place, folder):
    return ["stub", "status"]


# By what of the program is to run, and how many transfers or accesses a run has at least
COMMANDS = {"record": (record, "cycles"), "record --every": (record_events, "events"), "guard": (guard, "overruns"),
            "survey": (survey, "work"), "stub": (stub, "work"), "restore": (None, "work"),
            "stat": (lambda place, folder: ["stat", "-j", "--for", "30ms"], "work"),
            "lines": (lambda place, folder: ["lines", "work_by_data", "-j", "-r", 2], "work"),
            "doctor": (lambda place, folder: ["doctor", "--prove"], "work")}
ROWS = [(way, command, kind) for way in ("m4/swd", "m55/swd", "rp2040/swd", "rp2350/swd", "a9/swd", "a53/swd", "r5/swd", "r52/swd") for command in COMMANDS
        for kind in OF_ACCESSES + OF_WIRE if (way, command) not in
        # It has no counter that stops it and no registers to switch on; there are no samples of its PC
        {("rp2040/swd", "record --every"), ("rp2040/swd", "guard"), ("rp2040/swd", "stub"), ("r5/swd", "record")}]


class Sweep:
    codes = (0, 1, 3, 5)

    def __init__(self, place, command, kind, folder, state, commands=None):
        self.place, self.board, self.command, self.kind, self.folder, self.state = place, place.board, command, kind, folder, state
        self.words_of, program = (commands or COMMANDS)[command]
        if program == "overruns":
            overruns_of(place)
        elif program in ("cycles", "events"):
            shares_of(place, "misses" if program == "events" and place.chip in EVENTS else "cycles")
        else:
            place.set_scenario(WORK_BY_DATA | ARTICLE_PLAIN)
        place.run("info")  # what an examination changes is changed
        self.before = snapshot(self.place)

    def count(self):
        return self.board.command("dap")["transfers"] if self.kind in OF_WIRE else self.board.state()["accesses"]

    def words(self):
        """Of the next run."""
        if self.words_of is None:
            killed(self.place, hits=3)
        words = self.words_of(self.place, self.folder) if self.words_of else ["restore"]
        return self.place.words(*words)

    def run(self, trouble=None):
        words = self.words()
        self.counted = self.count()
        if trouble is not None:
            self.board.command(f"fault {self.kind} 1 {trouble}")
        return finish_tool(start_tool(words))

    def check(self, result, trouble):
        what = f"{self.command}, {self.kind} at {trouble}: exit {result.code}: {result.err}\n{result.out[-1500:]}"
        assert result.code in self.codes and (result.code != 3 or "pmu-probe: " in result.err), what
        if journals(self.state):
            assert result.code == 3, what
            again = self.place.run("restore")
            assert again.code == 0 and not journals(self.state), f"{what}\nrestore: {again.err}"
        after = snapshot(self.place)
        assert {name: (self.before[name], after[name]) for name in after if after[name] != self.before[name]} == {}, what
        assert_runs(self.place)

    def over(self, most):
        whole = self.run()
        length = self.count() - self.counted
        self.check(whole, "no place")
        assert whole.code in (0, 1, 5), whole.err
        met = survived = 0
        # Where a run lasts a time, a busy machine makes the next one shorter: early places are tried if no other one was met
        for skip in [*places(length, f"{self.place.way} {self.command} {self.kind}", most=most, in_soak=IN_SOAK), length // 8, length // 64]:
            if met > 0 and skip in (length // 8, length // 64):
                continue
            result = self.run(skip)
            struck = not self.board.command(f"fault {self.kind} 0")["left"]
            met, survived = met + struck, survived + (struck and result.code != 3)
            self.check(result, skip)
        assert met > 0
        return met, survived


# In check the same places each time: that shows a regression. In soak others: that finds faults
SEED = os.environ.get("PMU_SEED", "31") if SOAK else "31"


@pytest.mark.any_row(6)
@pytest.mark.parametrize("way, command, kind", ROWS)
def test_trouble_in_other_commands(way, command, kind, tmp_path, state_folder, monkeypatch, record_property):
    monkeypatch.setenv("PMU_SEED", SEED)
    with at(way) as place:
        met, survived = Sweep(place, command, kind, tmp_path, state_folder).over(A_ROW)
        record_property("trouble", f"{way} {command} {kind}: {met} met, {survived} survived")

"""A pmu-probe whose calls fail at a chosen place of its source: one for memory, or one to the target, which refuses an access. At
whichever place, the run ends with an error or with what it is there for, and the target is as it was, or `restore` puts it back."""
import os

import pytest

import harness
from harness import finish_tool, places, start_tool
from test_fault_commands import COMMANDS, Sweep
from test_record_events import at
from test_report import WHOLE

FAILING = os.path.join(harness.BUILD, "failing", "pmu-probe")
A_ROW, IN_SOAK = 6, 20  # places
OTHERS = {
    "delta": (lambda place, folder: ["delta", "work_by_data", "-j", "-r", 3, "--timeout", "20s"], "work"),
    "delta of a region": (lambda place, folder: ["delta", "plain_first", "plain_second", "-r", 3, "--timeout", "20s"], "work"),
    "delta, outliers": (lambda place, folder: ["delta", "work_by_data", "-r", 4, "--outliers", 2, "--show", "r0,sp,lr", "--timeout",
                                               "20s"], "work"),
    "delta, JSON and CSV": (lambda place, folder: ["delta", "work_by_data", "-r", 3, "-x", ",", "--timeout", "20s"], "work"),
    "watch": (lambda place, folder: ["watch", "-j", "--for", "60ms", "-I", "20ms"], "work"),
    "doctor LOCATION": (lambda place, folder: ["doctor", "work_by_data", "-j"], "work"),
    "info": (lambda place, folder: ["info"], "work"),
    "restore --force": (lambda place, folder: ["restore", "--force"], "work"),
    "survey --hot": (lambda place, folder: ["survey", "--hot", 2, "--for", "2s" if place.server else "200ms"], "work"),
}
ON_TARGET = {**COMMANDS, **OTHERS}
WAYS = ["m4/swd", "m55/swd", "rp2040/swd", "rp2350/swd", "a9/swd", "a53/swd", "r5/swd", "r52/swd", "m4", "a9"]
NEEDS = {("rp2040", "record --every"), ("rp2040", "guard"), ("rp2040", "stub"), ("r5", "record"), ("r5", "survey --hot")}
ROWS = [(way, command) for way in WAYS for command in ON_TARGET if (way.partition("/")[0], command) not in NEEDS]


class Refused(Sweep):
    """One call fails in each run; `seen` is how many places there were. Counters and symbols that are not found for that may be what
    the user asked for."""
    what = "target"
    codes = (0, 1, 2, 3, 5)

    def __init__(self, place, command, folder, state):
        super().__init__(place, command, "fault", folder, state, commands=ON_TARGET)
        self.seen = os.path.join(folder, "seen")

    def run(self, trouble=None):
        words = self.words()
        environment = {"PMU_FAIL": f"{self.what}:{trouble + 1 if trouble is not None else 0}", "PMU_FAIL_SEEN": self.seen}
        return finish_tool(start_tool([FAILING, *words[1:]], environment.items()))

    def count(self):
        with open(self.seen, encoding="utf-8") as file:
            return int(file.read())

    def over(self, most):
        whole = self.run()
        total = self.count()
        self.check(whole, "no place")
        assert whole.code in (0, 1, 5) and total > 5, whole.err
        for place in places(total, f"{self.what} {self.place.way} {self.command}", most=most, in_soak=IN_SOAK):
            self.check(self.run(place), place)
        return total


class WithoutMemory(Refused):
    what = "memory"


@pytest.mark.any_row(6)
@pytest.mark.parametrize("way, command", ROWS)
def test_a_call_to_the_target_fails(way, command, tmp_path, state_folder):
    with at(way) as place:
        Refused(place, command, tmp_path, state_folder).over(A_ROW)


@pytest.mark.any_row(3)
@pytest.mark.parametrize("way, command", [row for row in ROWS if row[0] in ("m4/swd", "a9/swd", "m4")])
def test_memory_runs_out(way, command, tmp_path, state_folder):
    with at(way) as place:
        WithoutMemory(place, command, tmp_path, state_folder).over(A_ROW)


OF_FILES = {
    "report": ["report", "p.jsonl"], "annotate": ["annotate", "caller_one", "p.jsonl"],
    **{f"report {form}": ["report", "p.jsonl", "--format", form, "-o", "out"]
       for form in ("json", "csv", "folded", "callgrind", "perf", "html")},
    "compare of profiles": ["compare", "p.jsonl", "p.jsonl"],
}


@pytest.mark.parametrize("command", OF_FILES)
def test_memory_runs_out_without_a_target(command, tmp_path):
    (tmp_path / "p.jsonl").write_text(WHOLE)

    def run(number):
        words = ["env", "-C", tmp_path, FAILING, *OF_FILES[command]]
        return finish_tool(start_tool(words, {"PMU_FAIL": f"memory:{number}", "PMU_FAIL_SEEN": tmp_path / "seen"}.items()))

    whole = run(0)
    assert whole.code == 0, whole.err
    total, told = int((tmp_path / "seen").read_text()), 0
    chosen = places(total, f"memory {command}", most=A_ROW, in_soak=IN_SOAK)
    for number in chosen:
        result = run(number + 1)
        tells = any(words in result.err for words in ("out of memory", "no memory for", "Cannot allocate memory"))
        assert result.code in (0, 3) or (result.code == 2 and tells), f"{command} {number}: exit {result.code}: {result.err}"
        told += tells
    assert told > 0

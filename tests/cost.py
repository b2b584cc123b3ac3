"""What a run costs in CPU time, of a whole run: building, the tests of each folder, pytest itself, and the tests that take most.
It is printed, so that growth is seen when it happens. Nothing here fails a test, because machines differ.

costs.measured has what tests took that take long; `make check` runs a random part of them. `cost.py FILE...` brings it up to date
from costs.txt of runs."""
import collections
import os
import random
import re
import resource
import sys

import fixtures_passed

SLOWEST = 10
LONG = 0.5  # seconds of CPU; a test that takes less always runs
TESTS = os.path.dirname(os.path.abspath(__file__))
MEASURED = os.path.join(TESTS, "costs.measured")
ALWAYS = "test_lint.py"
BUILD = os.environ.get("PMU_BUILD", "build")
BUILT = os.path.join(BUILD, "build.times")  # what the shell's `times` printed after building
ALL = os.path.join(BUILD, "costs.txt")  # each test, the costliest first


def key_of(nodeid):
    """All rows of a test together; a row of test_unit.py is a file of tests."""
    name = nodeid.removeprefix("tests/")
    return name if name.startswith("test_unit.py") else name.partition("[")[0]


def measured():
    """Of each test that takes long: seconds."""
    with open(MEASURED, encoding="utf-8") as file:
        return {name: float(seconds) for seconds, name in (line.split(None, 1) for line in file.read().splitlines())}


def too_many(keys, seconds, seed):
    """Which of these tests do not run: those that take long and do not fit into these seconds, by chance."""
    known = measured()
    costly = sorted(key for key in keys if known.get(key, 0) >= LONG)
    random.Random(f"{seed} cost").shuffle(costly)
    out = set()
    for key in costly:
        if known[key] > seconds:
            out.add(key)
        else:
            seconds -= known[key]
    return out


def renew(files):
    known = measured() if os.path.exists(MEASURED) else {}
    for name in files:
        took = collections.Counter()
        with open(name, encoding="utf-8") as file:
            for seconds, test in (line.split(None, 1) for line in file.read().splitlines()):
                took[key_of(test)] += float(seconds)
        known.update(took)
    with open(MEASURED, "w", encoding="utf-8") as file:
        file.writelines(f"{known[name]:.1f} {name}\n" for name in sorted(known)
                        if known[name] >= LONG and not name.startswith(ALWAYS)
                        and not fixtures_passed.of_fixtures(os.path.join(TESTS, name.partition("::")[0])))


def cpu(children=True):
    """Of this process and of all of its children that have ended."""
    whose = (resource.RUSAGE_SELF, *((resource.RUSAGE_CHILDREN,) if children else ()))
    return sum(use.ru_utime + use.ru_stime for use in map(resource.getrusage, whose))


def building():
    """Seconds, or None if this run has not built."""
    try:
        with open(BUILT, encoding="ascii") as file:
            children = file.read().splitlines()[1]
    except (OSError, IndexError):
        return None
    return sum(60 * float(minutes) + float(seconds) for minutes, seconds in re.findall(r"(\d+)m([\d.]+)s", children))


class Costs:
    """Of the tests of one process; in the process that reports, of all."""

    def __init__(self):
        self.tests, self.whole, self._begun = {}, 0, 0

    def begin(self):
        self._begun = cpu()

    def end(self, report):
        """Leaves the figure in the test's last report."""
        report.user_properties.append(("cpu", cpu() - self._begun))

    def take(self, report):
        for name, value in report.user_properties:
            if name == "cpu" and report.when == "teardown":
                self.tests[report.nodeid] = value

    def table(self):
        """Lines of text."""
        folders = collections.Counter()
        for test, seconds in self.tests.items():
            folders[os.path.dirname(test.partition("::")[0]) + "/"] += seconds
        rows = [("building", building()), *folders.most_common(), ("pytest itself", self.whole - sum(self.tests.values()))]
        rows = [(name, seconds) for name, seconds in rows if seconds is not None]
        yield "CPU, in seconds:"
        yield from (f"{seconds:8.2f}  {name}" for name, seconds in [*rows, ("sum", sum(seconds for _, seconds in rows))])
        yield f"The {SLOWEST} tests that take most ({ALL} has all):"
        lines = [f"{self.tests[test]:8.2f}  {test}" for test in sorted(self.tests, key=self.tests.get, reverse=True)]
        with open(ALL, "w", encoding="utf-8") as file:
            file.writelines(line + "\n" for line in lines)
        yield from lines[:SLOWEST]


if __name__ == "__main__":
    renew(sys.argv[1:])

"""What a run costs in CPU time, of a whole run: building, the tests of each folder, pytest itself, and the tests that take most.
It is printed, so that growth is seen when it happens. Nothing here fails a test, because machines differ."""
import collections
import os
import re
import resource

SLOWEST = 10
MUCH = 3  # seconds of CPU; a test that takes more says why, by the marker `costs`
BUILD = os.environ.get("PMU_BUILD", "build")
BUILT = os.path.join(BUILD, "build.times")  # what the shell's `times` printed after building
ALL = os.path.join(BUILD, "costs.txt")  # each test, the costliest first


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
        self.tests, self.reasons, self.whole, self._begun = {}, {}, 0, 0

    def begin(self):
        self._begun = cpu()

    def end(self, item, report):
        """Leaves the figure in the test's last report."""
        reason = item.get_closest_marker("costs")
        report.user_properties.append(("cpu", (cpu() - self._begun, reason.args[0] if reason else None)))

    def take(self, report):
        for name, value in report.user_properties:
            if name == "cpu" and report.when == "teardown":
                self.tests[report.nodeid], self.reasons[report.nodeid] = value

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
        for test, seconds in self.tests.items():
            if seconds > MUCH and not self.reasons[test]:
                yield f"{test} takes {seconds:.1f} s of CPU: the marker costs(\"...\") should say why, or a part of it go to soak"

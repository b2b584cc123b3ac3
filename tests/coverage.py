"""Prints which part of the branches of probe/ was taken, by room, and the files with the most that were not.
usage: coverage.py BUILD-FOLDER"""
import collections
import glob
import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
WANTED = 85  # percent
WORST = 15
AT_ONCE = 50


class Taken:
    """Branches and lines of one file or room: how many there are, how many were taken."""

    def __init__(self):
        self.branches = self.taken = self.lines = self.reached = 0

    def add(self, other):
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)

    def percent(self):
        return 100 * self.taken / self.branches if self.branches else 100.0

    def __str__(self):
        lines = 100 * self.reached / self.lines if self.lines else 100.0
        return f"{self.percent():6.1f} % of {self.branches:5} branches  {lines:6.1f} % of {self.lines:5} lines"


def counts(build):
    """{file: {line: (how often, [how often each branch])}}. A file that nothing ran has counts, too, all 0. Inline functions
    of headers are summed over the files that include them."""
    found = collections.defaultdict(dict)
    notes = sorted(glob.glob(os.path.join(build, "asan", "probe", "**", "*.gcno"), recursive=True))
    for first in range(0, len(notes), AT_ONCE):
        out = subprocess.run(["gcov", "--json-format", "--stdout", "--branch-probabilities", *notes[first:first + AT_ONCE]], cwd=ROOT,
                             check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
        for text in out.splitlines():
            for file in json.loads(text)["files"]:
                if file["file"].startswith("probe/"):
                    add_lines(found[file["file"]], file["lines"])
    return found


def add_lines(of_file, lines):
    for line in lines:
        number, branches = line["line_number"], [branch["count"] for branch in line["branches"] if not branch["throw"]]
        ran, known = of_file.get(number, (0, []))
        same = len(known) == len(branches)
        of_file[number] = (ran + line["count"], [a + b for a, b in zip(known, branches)] if same else known + branches)


def taken_of(lines):
    taken = Taken()
    for ran, branches in lines.values():
        taken.lines += 1
        taken.reached += ran > 0
        taken.branches += len(branches)
        taken.taken += sum(count > 0 for count in branches)
    return taken


def main():
    files = {name: taken_of(lines) for name, lines in counts(sys.argv[1]).items()}
    rooms, total = collections.defaultdict(Taken), Taken()
    for name, taken in files.items():
        rooms[os.path.dirname(name)].add(taken)
        total.add(taken)
    for room, taken in sorted(rooms.items()):
        print(f"{room:20} {taken}")
    print("\nthe files with the most branches that were not taken:")
    for name, taken in sorted(files.items(), key=lambda item: item[1].taken - item[1].branches)[:WORST]:
        print(f"{name:40} {taken}")
    print(f"\n{'probe/':20} {total}")
    return 0 if total.percent() >= WANTED else 1


if __name__ == "__main__":
    sys.exit(main())

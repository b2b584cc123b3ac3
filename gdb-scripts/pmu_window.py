# SPDX-License-Identifier: MIT
"""A window of GDB's TUI: the source around the selected frame, each line with its share of the samples of a
profile."""
import json
import os

import gdb

from pmu_engine import run_binary

LEAST = 0.0005  # of the samples: below it a share is not worth its place
LAYOUT = "tui new-layout pmu pmu 2 status 0 cmd 1"


class Shares:
    """By file and line, of the profile that was recorded or reported last."""

    def __init__(self):
        self.of, self.file = {}, None

    def take(self, words):
        """`words`: those that report got. Without a profile there are none."""
        done = run_binary("report", *words, "--sort", "line", "-j")
        self.of = {}
        for text in done.stdout.split("\n")[:-1] if done.returncode == 0 else []:
            line = json.loads(text)
            if line["type"] == "profile":
                self.file = line["file"]
            name, _, number = line.get("source", "").rpartition(":")
            if line["type"] == "share" and number.isdigit():
                key = os.path.basename(name), int(number)
                self.of[key] = self.of.get(key, 0) + line["share"]


SHARES = Shares()
WINDOWS = []


class Window:
    """The source, centred on the line of the selected frame."""

    def __init__(self, window):
        self.window, self.top = window, None
        WINDOWS.append(self)

    def close(self):
        WINDOWS.remove(self)

    def render(self):
        self.top = None
        self.show()

    def vscroll(self, lines):
        self.top = max(1, (self.top or 1) + lines)
        self.show()

    def show(self):
        if not self.window.is_valid():
            return
        try:
            sal = gdb.selected_frame().find_sal()
            name, here = sal.symtab.fullname(), sal.line
            with open(name, encoding="utf-8", errors="replace") as file:
                source = file.read().splitlines()
        except (gdb.error, AttributeError, OSError):
            self.window.write("no source here", True)
            return
        base, height = os.path.basename(name), self.window.height
        width = self.window.width - 1  # a line of the whole width would take two rows
        if self.top is None:
            self.top = max(1, here - height // 2)
        self.top = min(self.top, max(1, len(source)))
        self.window.title = f"{base}  {SHARES.file or 'no profile: pmu record'}"
        shown = []
        for number in range(self.top, min(self.top + height, len(source) + 1)):
            share = SHARES.of.get((base, number), 0)
            column = f"{share * 100:6.2f} %" if share >= LEAST else " " * 8
            text = source[number - 1].expandtabs(4)
            shown.append(f"{column} {'>' if number == here else ' '}{number:5} {text}"[:width])
        self.window.write("\n".join(shown), True)


def refresh():
    for one in WINDOWS:
        one.render()


def set_up():
    """`layout pmu`, where GDB has Python windows: from version 11 on, built with the TUI."""
    if not hasattr(gdb, "register_window_type"):
        return
    gdb.register_window_type("pmu", Window)
    gdb.execute(LAYOUT, to_string=True)
    gdb.events.before_prompt.connect(refresh)

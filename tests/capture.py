"""`make capture`: what README and docs/ show, taken from the virtual board: of `top` on a terminal, of `pmu` in GDB, and of
each command line that can be typed while `make play` runs."""
import os
import pathlib
import re
import sys
import tempfile

TESTS = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [TESTS, os.path.join(TESTS, "system")]

import gdb_door  # noqa: E402
import test_typed  # noqa: E402
from harness import WORK_BY_DATA, Place  # noqa: E402

DOCS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "docs")
SESSION = ["pmu delta work_by_data -r 6", "pmu auto on", "next", "print $_pmu_delta(\"CPU_CYCLES\")"]


def session():
    with gdb_door.DoorPlace("m4", "free", WORK_BY_DATA, halt_cost=7) as place:
        terminal = gdb_door.Terminal(place.elf, place.server.gdb_port())
        try:
            said = "".join(f"(gdb) {command}\n{terminal(command)}" for command in SESSION)
        finally:
            terminal.close()
    return re.sub(r"127\.0\.0\.1:\d+", "localhost:3333", said.replace("\r", ""))


def replace(page, line, shown):
    """Puts this into the first block of code after that line of the page."""
    path = os.path.join(DOCS, page)
    with open(path, encoding="utf-8") as file:
        text = file.read()
    start = text.index("```\n", text.index(line)) + 4
    lines = "\n".join(line.rstrip() for line in shown.strip().splitlines())
    with open(path, "w", encoding="utf-8") as file:
        file.write(text[:start] + lines + text[text.index("\n```", start):])


def typed():
    with tempfile.TemporaryDirectory() as folder:
        play = test_typed.Play(pathlib.Path(folder))
        try:
            for page, command, lines in test_typed.RUN:
                if lines and command.split()[-1] not in test_typed.MORE:
                    shown = test_typed.typed_at(play, page, command)[1].rstrip().splitlines()
                    path = os.path.join(os.path.dirname(DOCS), page)
                    with open(path, encoding="utf-8") as file:
                        text = file.read()
                    was = "\n".join([command, *lines])
                    assert was in text
                    with open(path, "w", encoding="utf-8") as file:
                        file.write(text.replace(was, "\n".join([command, *test_typed.captured(lines, shown)])))
        finally:
            play.close()


def main():
    typed()
    replace("gdb.md", "# In GDB\n", session())


if __name__ == "__main__":
    main()

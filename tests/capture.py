"""`make capture`: the live screen of `watch` on the virtual board, as README shows it, taken from a real terminal."""
import os
import re
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "system"))

from harness import WORK_BY_DATA, Place  # noqa: E402
from test_counting import Terminal  # noqa: E402

README = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "README.md")
BEGIN = "`watch` on a terminal"


def capture():
    with Place("m4/swd", "tick", WORK_BY_DATA) as place:
        terminal = Terminal(place, "-I", "500", "-e", "LSUCNT,EXCCNT")
        try:
            time.sleep(5)
            text = terminal.text()
        finally:
            terminal.close()
    text = re.sub(r"127\.0\.0\.1:\d+", "localhost:4441", text)
    return "\n".join(line.rstrip() for line in text.rstrip().splitlines())


def main():
    with open(README, encoding="utf-8") as file:
        text = file.read()
    at = text.index(BEGIN)
    start = text.index("```\n", at) + 4
    end = text.index("\n```", start)
    with open(README, "w", encoding="utf-8") as file:
        file.write(text[:start] + capture() + text[end:])


main()

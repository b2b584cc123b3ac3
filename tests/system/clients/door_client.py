#!/usr/bin/python3
"""In the engine's place behind pmu.py: asks for each thing once and prints the answers. DOOR_PLACE: ADDRESS SIZE."""
import os
import socket
import sys

FD = int(sys.argv[sys.argv.index("--probe") + 1].partition(":")[2])
AT, SIZE = os.environ["DOOR_PLACE"].split()


def main():
    with socket.socket(fileno=FD) as door, door.makefile("rw", newline="\n") as lines:
        def ask(wish, answered=True):
            lines.write(wish + "\n")
            lines.flush()
            if answered:
                print(f"{wish}: {lines.readline().strip()}", flush=True)

        ask("hello 1")
        ask(f"read {AT} 4")
        ask(f"break {AT} {SIZE}")
        ask("go run")
        ask("register pc")
        ask("go run")  # onto the breakpoint: nothing is executed
        ask("register PC")
        ask(f"clear {AT} {SIZE}")
        ask("go step")
        ask("interrupt", answered=False)  # too late
        lines.write("go run\ninterrupt\n")
        lines.flush()
        print(f"interrupted: {lines.readline().strip()}", flush=True)
        for wish in ("register nothing", "break zz 2", "dance", "read 0", "monitor 68656c70"):
            ask(wish)


main()

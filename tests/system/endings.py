"""Other sides that stop answering: a relay between the tool and a board, OpenOCD, a GDB server or the agent, whose answers
arrive, arrive late, or never arrive. `python3 tests/system/endings.py` prints how long the tool takes from Ctrl-C to its end with each
kind of them (docs/when-it-fails.md), on a quiet machine; `--tool FILE` measures another build, `--only WORD` some rows."""
import argparse
import contextlib
import os
import random
import select
import signal
import socket
import subprocess
import sys
import threading
import time

import harness
from harness import WAIT, WORK_BY_DATA, Place, start_tool, wait_for

PASS, SILENT, LATE, CUT = "passes", "silent", "late", "cut"


class Relay:
    """Sits in front of a TCP port of this machine. `become` says what is done to open connections, and to those
    that are made from then on:

    passes    bytes go both ways
    silent    it takes bytes and answers nothing
    late      answers arrive `late` seconds late, one after the other
    cut       connections end, and new ones end at once
    """

    def __init__(self, port, late=(0.1, 2.5), seed=1):
        self.to, self.late, self.rng = port, late, random.Random(seed)
        self.old = self.new = PASS
        self.accepted = self.taken = 0  # connections; bytes of either side since the last become()
        self._over = threading.Event()
        self._pairs = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def become(self, old, new=None):
        """`new` differs for a connection whose other end is gone while the server lives: the next one is answered."""
        self.taken = 0
        self.new = new or old
        self.old = old
        if old == CUT:
            for pair in self._pairs:
                self._end(pair)

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                self.accepted += 1
                if self.new == CUT:
                    client.close()
                    continue
                pair = [client, socket.create_connection(("127.0.0.1", self.to)), self.new is not self.old and self.new]
                self._pairs.append(pair)
                for sockets in ((client, pair[1], True), (pair[1], client, False)):
                    threading.Thread(target=self._carry, args=(pair, *sockets), daemon=True).start()

    @staticmethod
    def _end(pair):
        for one in pair[:2]:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def _carry(self, pair, source, sink, of_tool):
        """Bytes one way. A connection made after become(old, new) keeps to `new`."""
        with contextlib.suppress(OSError):
            while not self._over.is_set():
                if not select.select([source], [], [], 0.05)[0]:
                    continue
                data = source.recv(1 << 16)
                if not data:
                    break
                way = pair[2] or self.old
                self.taken += len(data)
                if way == SILENT:
                    continue
                if way == LATE and not of_tool:
                    time.sleep(self.rng.uniform(*self.late))
                sink.sendall(data)
        self._end(pair)

    def close(self):
        self._over.set()
        self._listener.close()
        for pair in self._pairs:
            self._end(pair)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Behind:
    """A place whose tool speaks through a relay."""

    def __init__(self, way="m4/swd", scenario=WORK_BY_DATA):
        self.place = Place(way, scenario=scenario)
        self.board = self.place.board
        self.relay = Relay(self.place.board.dap_port if self.place.wires else self.place.server.port)
        self.probe = f"cmsis-dap-tcp:127.0.0.1:{self.relay.port}" if self.place.wires else \
            f"openocd:127.0.0.1:{self.relay.port}"

    def words(self, *args):
        transport = ["--transport", self.place.wires] if self.place.wires else []
        return [harness.TOOL, "--elf", self.place.elf, "-p", self.probe, *transport, *map(str, args)]

    def start(self, *args, **kwargs):
        return start_tool(self.words(*args), **kwargs)

    def measuring(self, *args, **kwargs):
        """The tool, some hits into a measurement that does not end."""
        tool = self.start("delta", "work_by_data", "-r", 100_000_000, *args, **kwargs)
        self.place.wait_for_stops(20)
        return tool

    @contextlib.contextmanager
    def stopped(self):
        """The process that answers is stopped, as after SIGSTOP."""
        process = self.board.process if self.place.wires else self.place.server.process
        process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            process.send_signal(signal.SIGCONT)

    def close(self):
        self.relay.close()
        self.place.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


# --- the table

def seconds_to_end(tool, signals=1, apart=0.7):
    """From the first Ctrl-C to the end, and what was printed."""
    begun = time.monotonic()
    tool.send_signal(signal.SIGINT)
    for _ in range(signals - 1):
        with contextlib.suppress(subprocess.TimeoutExpired):
            tool.wait(apart)
        tool.send_signal(signal.SIGINT)
    try:
        tool.wait(WAIT)
    except subprocess.TimeoutExpired:
        tool.kill()
    took = time.monotonic() - begun
    return took, tool.communicate()[1]


def stalled(behind, how, signals=1):
    tool = behind.measuring()
    with behind.stopped() if how == "stopped" else contextlib.nullcontext():
        if how != "stopped":
            behind.relay.become(*how)
        time.sleep(0.3)
        return seconds_to_end(tool, signals)


def connecting(behind, how):
    with behind.stopped() if how == "stopped" else contextlib.nullcontext():
        if how != "stopped":
            behind.relay.become(*how)
        tool = behind.start("info")
        time.sleep(0.5)
        return seconds_to_end(tool)


def putting_back(behind, how):
    """Ctrl-C, while the target is put back because of an error."""
    tool = behind.start("delta", "work_by_data", "-r", 100_000_000, "--timeout", 1)
    behind.place.wait_for_stops(6)
    behind.board.write_word("scenario", 0)
    time.sleep(0.8)
    behind.relay.become(*how)
    time.sleep(0.7)
    return seconds_to_end(tool)


ROWS = [
    ("measuring, process stopped", lambda behind: stalled(behind, "stopped")),
    ("measuring, silent", lambda behind: stalled(behind, (SILENT,))),
    ("measuring, half-open", lambda behind: stalled(behind, (SILENT, PASS))),
    ("measuring, cut and refused", lambda behind: stalled(behind, (CUT,))),
    ("measuring, 0.1 to 2.5 s late", lambda behind: stalled(behind, (LATE,))),
    ("measuring, silent, second Ctrl-C after 0.7 s", lambda behind: stalled(behind, (SILENT,), 2)),
    ("connecting, process stopped", lambda behind: connecting(behind, "stopped")),
    ("connecting, silent", lambda behind: connecting(behind, (SILENT,))),
    ("connecting, 0.1 to 2.5 s late", lambda behind: connecting(behind, (LATE,))),
    ("putting back after an error, silent", lambda behind: putting_back(behind, (SILENT,))),
    ("measuring, answers", lambda behind: stalled(behind, (PASS,))),
]


def main():
    parser = argparse.ArgumentParser(description="Times from Ctrl-C to the end, in seconds")
    parser.add_argument("--tool", default=os.path.join(harness.BUILD, "pmu-probe"))
    parser.add_argument("--only", default="")
    parser.add_argument("--ways", default="m4/swd,m4,a9/swd,a53/swd")
    parser.add_argument("--words", action="store_true", help="what the tool printed, too")
    options = parser.parse_args()
    harness.TOOL = os.path.abspath(options.tool)
    ways, worst = options.ways.split(","), 0
    print(f"{'from Ctrl-C to the end, s':46}" + "".join(f"{way:>9}" for way in ways))
    for name, measure in ROWS:
        if options.only not in name:
            continue
        line, said = f"{name:46}", []
        for way in ways:
            with Behind(way) as behind:
                took, words = measure(behind)
            line += f"{took:9.2f}"
            worst = max(worst, took if "late" not in name else 0)
            said.append(words)
        print(line, flush=True)
        for words in said if options.words else ():
            print("    " + words.replace("\n", "\n    "))
    print(f"worst of those that do not answer: {worst:.2f} s")
    return worst > 2.5


if __name__ == "__main__":
    sys.exit(main())

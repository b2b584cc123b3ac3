"""The virtual board as tests use it: start it, talk to its control socket, and attach a real OpenOCD to it."""

import copy
import functools
import itertools
import json
import os
import re
import socket
import subprocess
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / os.environ.get("PMU_BUILD", "build")  # an absolute path stays one
# Seconds until a test gives up, on whatever it waits for: a bound against hanging, never a measure
WAIT = 30 * int(os.environ.get("PMU_PROBE_PATIENCE", 20))
# A program that runs while nothing is asked of it takes a third of a CPU at the chips' own 12 MHz. Make check has it run slower then
THRIFT = {} if os.environ.get("PMU_SOAK") else {"idle_clock": 3_000_000, "dap_naps": True}


SOCKETS, NUMBERS = tempfile.TemporaryDirectory(prefix="board-"), itertools.count()


class Event:
    """One line of the ground truth. `cycles` are the program's, `counted` what the counters saw; `counts` what else the
    core counts, by event code."""

    __slots__ = ("index", "kind", "pc", "cycles", "counted", "sp", "lr", "extra", "counts")

    def __init__(self, fields, codes=()):
        self.index, self.kind, self.pc, self.cycles, self.counted, self.sp, self.lr, self.extra = fields[:8]
        self.counts = dict(zip(codes, fields[8])) if codes else {}

    def __repr__(self):
        return (f"<{self.index} {self.kind} pc={self.pc:#x} cycles={self.cycles} counted={self.counted} "
                f"sp={self.sp:#x} lr={self.lr:#x} extra={self.extra}>")


@functools.lru_cache(maxsize=None)
def symbols_of(nm, elf):
    out = subprocess.run([nm, str(elf)], check=True, capture_output=True, text=True).stdout
    lines = (line.split() for line in out.splitlines())
    return {fields[2]: int(fields[0], 16) for fields in lines if len(fields) == 3}


class BoardError(Exception):
    """What the board answered instead of doing it."""


class Board:
    """A running board. Options are the program's own: Board.start("rp2040", "tick", halt_cost="8..40")."""

    # Bits of a "run" event's extra
    PREEMPTED, NOTHING_DONE, PENDED_WHILE_HALTED, PENDED_AT_EXIT = 1, 2, 4, 8
    # Bits of a "halt" event's extra, as in DFSR
    HALTED, BKPT, VCATCH = 1, 2, 8

    def __init__(self, process, chip, elf, jtag_path=None):
        self.process, self.chip, self.elf, self.jtag_path = process, chip, elf, jtag_path
        line = process.stdout.readline()
        if not line:
            raise RuntimeError(f"the board did not start: exit code {process.wait(WAIT)}")
        ports = json.loads(line)
        self.jtag_port, self.control_port, self.dap_port = ports["jtag"], ports["control"], ports["dap"]
        self._others = []
        self._connect()

    def _connect(self):
        self._socket = socket.create_connection(("127.0.0.1", self.control_port), timeout=WAIT)
        self._file = self._socket.makefile("rw", newline="\n")

    def core(self, number):
        """The same board, but speaking of another core. It lives as long as this one."""
        other = copy.copy(self)
        other._others = []
        other._connect()
        self._others.append(other)
        other.command(f"core {number}")
        return other

    def _hang_up(self):
        for other in self._others:
            other._hang_up()
        self._others.clear()
        if self._socket:
            self._file.close()
            self._socket.close()
            self._socket = None

    @classmethod
    def start(cls, chip="rp2040", mode="free", firmware=None, prefix=(), **options):
        """`prefix`: words in front of the command, of a program that becomes the board."""
        elf = Path(firmware) if firmware else BUILD / "firmware" / f"{'m7' if chip == 'h7' else chip}-{mode}.elf"
        command = [*prefix, str(BUILD / "board"), "--chip", chip, "--firmware", str(elf), "--die-with-parent"]
        exact = {"idle_clock": options["clock"]} if "clock" in options else {}
        if "dap_wire" in options:  # in naps a dozen samples are of one moment
            exact["dap_naps"] = False
        for name, value in {**THRIFT, **exact, **options}.items():
            if value is not False:
                command += ["--" + name.replace("_", "-"), *([] if value is True else [str(value)])]
        jtag_path = os.path.join(SOCKETS.name, f"{next(NUMBERS)}.jtag")
        command += ["--jtag-socket", jtag_path]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            return cls(process, chip, elf, jtag_path)
        except BaseException:
            process.kill()
            process.wait()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Ends it; returns the exit code."""
        self._hang_up()
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(WAIT)
            except subprocess.TimeoutExpired:
                self.process.kill()
        self.process.stdout.close()
        return self.process.wait()

    def command(self, line):
        self._file.write(line + "\n")
        self._file.flush()
        reply = json.loads(self._file.readline())
        if "error" in reply:
            raise BoardError(reply["error"])
        return reply

    def state(self):
        return self.command("state")

    def wait_for(self, condition, what="the board to get there"):
        """The first state for which condition(state) holds."""
        deadline = time.monotonic() + WAIT
        while True:
            state = self.state()
            if condition(state):
                return state
            if time.monotonic() > deadline:
                raise TimeoutError(f"gave up waiting for {what}: {state}")
            time.sleep(0.001)

    def run_for(self, cycles):
        """Waits until the program has run for that many more cycles."""
        end = self.state()["cycles"] + cycles
        return self.wait_for(lambda s: s["cycles"] > end, f"{cycles} cycles to pass")

    def watch(self, *places):
        """Clears the log and watches these addresses or symbols; none of them switches the log off."""
        self.command(" ".join(["watch", *(f"{self.address(p):x}" for p in places)]))

    def log(self, start=0):
        """All events from `start` to now, however many replies that takes."""
        events, index, end = [], start, None
        while end is None or index < end:
            reply = self.command(f"log {index}")
            if reply["dropped"]:
                raise BoardError(f"{reply['dropped']} events are lost: the log was read too late")
            events += [Event(e, reply.get("codes", ())) for e in reply["events"]]
            index, end = reply["next"], reply["end"] if end is None else end
        return events

    def symbols(self):
        return symbols_of("aarch64-linux-gnu-nm" if self.chip in ("a53", "a55") else "arm-none-eabi-nm", self.elf)

    def symbol(self, name):
        """Its address, of a function without the Thumb bit."""
        return self.symbols()[name]

    def address(self, place):
        return self.symbol(place) if isinstance(place, str) else place

    def read(self, place, length):
        return bytes.fromhex(self.command(f"read {self.address(place):x} {length}")["hex"])

    def write(self, place, data):
        self.command(f"write {self.address(place):x} {data.hex()}")

    def read_word(self, place):
        return int.from_bytes(self.read(place, 4), "little")

    def write_word(self, place, value):
        self.write(place, value.to_bytes(4, "little"))

    def scenario(self, *bits):
        """The firmware runs these scenarios only. They take effect with its next round."""
        self.write_word("scenario", sum(1 << b for b in bits))

    def set(self, name, value):
        self.command(f"set {name} {value}")


def openocd_environment():
    """In check OpenOCD does not ask the kernel at each bit (clients/quick_reads.c); in soak it does as it always does."""
    return os.environ if os.environ.get("PMU_SOAK") else dict(os.environ, LD_PRELOAD=str(BUILD / "clients/quick-reads.so"))


def later_openocd():
    """How the OpenOCD is started that was built or installed in the folder OPENOCD_MASTER; None: there is none."""
    folder = os.environ.get("OPENOCD_MASTER", "")
    for program, scripts in (("src/openocd", "tcl"), ("bin/openocd", "share/openocd/scripts")):
        if folder and os.access(os.path.join(folder, program), os.X_OK):
            return os.path.join(folder, program), "-s", os.path.join(folder, scripts)
    return None


class OpenOcd:
    """A real OpenOCD on the board's JTAG or another wire, driven by its Tcl port. `prefix`: as in Board.start."""

    END = b"\x1a"
    PROGRAM = ("openocd",)

    def __init__(self, board, *commands, config=None, config_first="", prefix=(), target="virtual.cpu"):
        self.target = target
        config = config or ROOT / "openocd-cfg" / "boards" / "virtual.cfg"
        path = getattr(board, "jtag_path", None)
        host, port = (path, 0) if path else ("127.0.0.1", board.jtag_port)
        arguments = [*prefix, *self.PROGRAM, "-c", f"set BOARD_PORT {port}; set BOARD_HOST {{{host}}}",
                     "-c", f"gdb_port disabled; telnet_port disabled; tcl_port 0; {config_first}", "-f", str(config)]
        for command in commands:
            arguments += ["-c", command]
        self.output, self.port, self._listening = "", None, threading.Event()
        self.process = subprocess.Popen(arguments + ["-c", "init"], stdin=subprocess.DEVNULL, text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=openocd_environment())
        # Its output must be read to the end: it prints the result of each Tcl call, and a full pipe stops it
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self._listening.wait(WAIT)
        if not self.port:
            self.process.kill()
            self.process.wait()
            raise RuntimeError(f"openocd did not start:\n{self.output}")
        self._socket = socket.create_connection(("127.0.0.1", self.port), timeout=WAIT)
        # Debian 13's polls only after a while; a core that halts before that has registers of 0
        self("foreach each [target names] {catch {$each arp_poll}}")

    def _read(self):
        # The port's line is printed after "init" has examined the target
        for line in self.process.stdout:
            if not self.port or not line.startswith("0 "):
                self.output += line
            found = re.search(r"Listening on port (\d+) for tcl connections", line)
            if found:
                self.port = int(found.group(1))
                self._listening.set()
        self._listening.set()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self._socket.close()
        self.process.terminate()
        try:
            self.process.wait(WAIT)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._reader.join(WAIT)
        self.process.stdout.close()

    def __call__(self, command):
        """Runs a command; returns what it printed or returned. A Tcl error raises."""
        wrapped = f"set _code [catch {{ {command} }} _result]; set _answer \"$_code $_result\""
        self._socket.sendall(wrapped.encode() + self.END)
        reply = b""
        while not reply.endswith(self.END):
            part = self._socket.recv(1 << 16)
            if not part:
                raise RuntimeError("openocd hung up")
            reply += part
        code, _, result = reply[:-1].decode(errors="replace").partition(" ")
        if code != "0":
            raise RuntimeError(f"{command}: {result}")
        return result

    def words(self, address, count=1):
        return [int(w, 0) for w in self(f"{self.target} read_memory {address:#x} 32 {count}").split()]

    def word(self, address):
        return self.words(address)[0]

    def set_word(self, address, value):
        self(f"{self.target} write_memory {address:#x} 32 {{{value:#x}}}")

    def wait_halt(self):
        self(f"wait_halt {1000 * WAIT}")

    def register(self, name):
        return int(self(f"{self.target} get_reg {name}").split()[-1], 0)

    def polls(self):
        """Whether it polls its targets. Not by `capture`, which has only what is logged, if anything is."""
        self("catch {poll} words")
        return re.search("background polling: (on|off)", self("set words"))[1] == "on"

    def step(self):
        """Returns when OpenOCD has seen the core halt again: for an Armv8-A, `step` itself does not wait for that."""
        self("step")
        self("wait_halt 20000")

    def run_to(self, address):
        """Goes on until a hardware breakpoint there; the breakpoint is gone afterwards."""
        halted = self(f"{self.target} curstate") == "halted"
        self(f"bp {address:#x} 2 hw")
        if halted:
            self("resume")
        self.wait_halt()
        self(f"rbp {address:#x}")

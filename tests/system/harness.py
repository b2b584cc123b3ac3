"""One harness for all system tests: a virtual board, a real OpenOCD in front of it, and the tool under the
sanitizers. Every port is a free one, every process is gone when the test ends."""
import contextlib
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import threading
import time

import pytest

from board import WAIT, Board, OpenOcd
from usb import UsbBoard, usb_available

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(ROOT, os.environ.get("PMU_BUILD", "build"))
TOOL = os.path.join(BUILD, "asan", "pmu-probe")
LOCATE = os.path.join(BUILD, "asan", "locate")
# In soak the one that users have, which starts sooner; `make check` does not build it
RELEASE = os.path.join(BUILD, "pmu-probe") if os.environ.get("PMU_SOAK") else TOOL
ARTICLE_PLAIN, ARTICLE_NOP, WORK_BY_DATA, CALLED_TWICE, RECURSE, PREEMPTED, SLEEPER, LOOP_ROUND, IN_RAM, \
    RELOAD_INSIDE, LONG_REGION, RESETTING, LOCKING, MASKED_WORK, PING, WIDE_ENTRY, SPAN_10, SPAN_1K, SPAN_1M, \
    SPAN_100M, NOP_MORE, TICK_EDGE, ABOVE_TICK, SUSPENDED, DWT_CPI, DWT_EXC, DWT_SLEEP, DWT_LSU, \
    DWT_FOLD, PENDED = (1 << i for i in range(30))
DAP_WAYS = ["rp2040/swd", "rp2350/swd", "m4/swd", "m4/jtag", "rp2040/v2", "rp2350/v2", "m4/v1"]
SLOW_CLOCK = 2000000  # Hz
IDLE_CLOCK = SLOW_CLOCK // 10  # in check, while nobody asks the board for anything
QUICK_WIRE = 1000000000  # Hz
NOWHERE = 0xFFFFFFF0  # no code there: watching it only switches the log on
INTERRUPTED = 130  # the exit code after Ctrl-C with some of the hits
SOAK = bool(os.environ.get("PMU_SOAK"))
HELD = socket.socket()
HELD.bind(("127.0.0.1", 0))
CLOSED_PORT = HELD.getsockname()[1]  # nothing listens there, and as long as it is held, nothing of a test that runs meanwhile will


# Chips with a program that stays at EL2: Hyp mode, if it is in AArch32 state
AT_EL2 = {"r52hyp": "r52", "a53el2": "a53"}
# And one whose program is in AArch32 state at EL0, under a system in AArch64 state
UNDER_A64 = {"a53mixed": "a53"}


def elf_of(chip, mode):
    return os.path.join(BUILD, "firmware", f"{'m7' if chip == 'h7' else chip}-{mode}.elf")


def wait_for(condition, what, seconds=WAIT):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"timed out: {what}"
        time.sleep(0.01)


class Server(OpenOcd):
    """A real OpenOCD whose log is read all the time, so that it never waits for us."""

    def __init__(self, board, *commands, config=None, **kwargs):
        super().__init__(board, *commands, config=config, **kwargs)
        threading.Thread(target=self._drain, daemon=True).start()

    def _drain(self):
        try:
            for line in self.process.stdout:
                self.output += line
        except ValueError:  # closed under us
            pass

    def close(self):
        self._socket.close()
        self.process.kill()
        self.process.wait()

    def kill(self):
        self.process.kill()
        self.process.wait()


class Run:
    """One finished run of the tool."""

    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err
        self.lines = []
        for line in (out or "").splitlines():
            if line.startswith('{"'):  # a page has them with entities
                self.lines.append(json.loads(line))

    @property
    def header(self):
        return next(line for line in self.lines if line["type"] == "header")

    @property
    def hits(self):
        return [line for line in self.lines if line["type"] == "hit"]

    @property
    def summary(self):
        return next((line for line in self.lines if line["type"] == "summary"), None)

    @property
    def cycles(self):
        return [hit["values"]["CPU_CYCLES"] for hit in self.hits]


def hits_of(place, wires=1000, openocd=200):
    """How many hits a test of each hit's number takes, in check a part of them. Through OpenOCD, which reads each bit that
    returns by itself, one takes 5 ms and not a tenth of one."""
    if place.wires:
        return wires if SOAK else min(wires, 150)
    return openocd if SOAK else openocd // 7


def places(total, sweep, most=15, in_soak=None):
    """The places of a sweep at which trouble strikes: `most` random ones of each way, in soak all of them, or where a run
    has thousands, `in_soak` random ones; all of those, too, with EVERY=1. PMU_SEED repeats them; `sweep` distinguishes one from
    another."""
    if SOAK:
        most = total if os.environ.get("EVERY") else in_soak or total
    return sorted(random.Random(f"{os.environ['PMU_SEED']} {sweep}").sample(range(total), min(most, total)))


class Place:
    """Board and tool together, and what is between them. `way` is a chip with a real OpenOCD before it ("m4"), or a
    chip and the wires of the emulated CMSIS-DAP probe over TCP ("m4/swd", "m4/jtag", "rp2040/swd"), or one of its USB
    interfaces ("m4/v2", "m4/v1"): bulk through libusb, HID through hidapi."""

    def __init__(self, way, mode="free", scenario=None, commands=(), **options):
        program, _, self.wires = way.partition("/")
        self.chip = chip = (AT_EL2 | UNDER_A64).get(program, program)
        self.elf = elf_of(program, mode)
        if program != chip:
            options.setdefault("firmware", elf_of(program, "kernel") if program in UNDER_A64 else self.elf)
        self.usb = self.wires in ("v1", "v2")
        if self.usb:
            if usb_available() is not None:
                pytest.skip(usb_available())
            options[f"usb_{self.wires}_only"] = True
        if mode not in ("tick", "ms"):  # most of the time the tool is awaited, and the program runs for nothing
            if "clock" not in options:
                options["clock"] = SLOW_CLOCK
                options.setdefault("idle_clock", SLOW_CLOCK if SOAK else IDLE_CLOCK)
        if self.wires:  # at 10 MHz the board's time would be that of its wires
            options.setdefault("dap_wire", QUICK_WIRE)
        self.board = (UsbBoard if self.usb else Board).start(chip, mode, **options)
        if program in UNDER_A64:
            self.board.elf = self.elf
        self.servers = []
        try:
            if scenario is not None:
                self.set_scenario(scenario)
            self.server = self.start_server(*commands) if not self.wires else None
        except BaseException:
            self.close()
            raise

    def start_server(self, *commands):
        config = self.config()
        target = f"{self.chip}.cpu0" if config else "virtual.cpu"
        server = Server(self.board, *commands, config=config, target=target)
        self.servers.append(server)
        return server

    def config(self):
        """OpenOCD's file for this chip; those of one Cortex-M share theirs."""
        own = os.path.join(ROOT, "openocd-cfg", "boards", f"virtual-{self.chip}.cfg")
        return own if os.path.exists(own) else None

    def halt(self):
        """As another debugger would, which then goes away."""
        server = self.server or self.start_server()
        server("halt")
        server.wait_halt()
        if not self.server:
            server.kill()

    def wait_for_start(self):
        """Until start code is through with RAM and SysTick. Nothing to await in programs that count no rounds, and while it does not run."""
        if "round_count" in self.board.symbols():
            wait_for(lambda: self.board.read_word("round_count") > 0 or self.board.state()["run"] != "running", "the firmware's first round")

    def set_scenario(self, bits):
        self.wait_for_start()
        self.board.write_word("scenario", bits)

    def symbol(self, name):
        return self.board.symbol(name)

    def words(self, *args, elf=True):
        words = [TOOL, *(["--elf", self.elf] if elf else []), *self.probe_words(), *[str(word) for word in args]]
        return self.board.in_namespace(words) if self.usb else words

    def probe_words(self):
        if self.usb:
            return ["-p", "cmsis-dap"]
        if not self.wires:
            return ["-p", f"openocd:127.0.0.1:{self.server.port}"]
        return ["-p", f"cmsis-dap-tcp:127.0.0.1:{self.board.dap_port}", "--transport", self.wires]

    def wait_for_stops(self, count, process=None):
        """Until the tool has stopped the core that often, or has ended."""
        self.board.watch(NOWHERE)
        wait_for(lambda: sum(event.kind == "halt" for event in self.board.log()) >= count or (process and process.poll() is not None), "some hits")

    def wait_until_armed(self):
        wait_for(lambda: any(value & 1 for value in self.board.state()["fp_comp"]), "the comparator to be set")

    def start(self, *args, **kwargs):
        return start_tool(self.words(*args, **kwargs))

    def run(self, *args, **kwargs):
        before = self.board.state()
        result = finish_tool(self.start(*args, **kwargs))
        self.check_debug_port(before, result)
        return result

    def check_debug_port(self, before, result):
        """Whatever the test is about: debug power is as it was, and nothing was read that the chip does not have."""
        after = self.board.state()
        assert after["strays"] == before["strays"], "somebody looked for a Cortex-M"
        if self.wires and result.code == 0 and after["run"] != "halted":
            assert after["control"] in (before["control"], 0), f"CTRL/STAT {after['control']:#x}"

    def record(self, path, *words, samples, seconds=1):
        """`record` for a time in which there are that many samples: where the board gets little of the machine, a second has few."""
        for length in (seconds, 10 * seconds, 100 * seconds):
            result = self.run("record", *words, "--for", f"{length}s", "-o", path)
            assert result.code == 0, result.err
            result.asked_s = length
            with open(path, encoding="utf-8") as lines:
                if json.loads(lines.readlines()[-1])["samples"] >= samples:
                    break
        return result

    def delta(self, *args, code=0):
        """`delta` with JSON lines, and the board's truth over the same time."""
        self.board.watch(NOWHERE)
        result = self.run("delta", "-j", *args)
        assert result.code == code, f"exit {result.code}: {result.err}\n{result.out[-2000:]}"
        return result

    def close(self):
        for server in self.servers:
            server.close()
        self.board.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def tool_environment(**others):
    # A search for leaks takes half as long as to start; in check the runs of each sixteenth test do, others with another PMU_SEED
    test = os.environ.get("PYTEST_CURRENT_TEST", "").partition(" ")[0]
    leaks = int(SOAK or random.Random(f"{os.environ.get('PMU_SEED')} leaks {test}").randrange(16) == 0)
    found = dict(os.environ, ASAN_OPTIONS=f"detect_leaks={leaks}:exitcode=99:malloc_context_size=1", UBSAN_OPTIONS="halt_on_error=1", LC_ALL="C.UTF-8")
    found.pop("PMU_PROBE", None)
    return found | others


def start_tool(words, environment=(), **kwargs):
    return subprocess.Popen(words, cwd=BUILD, text=True, errors="replace", env=tool_environment(**dict(environment)),
                            **{"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **kwargs})


def forget_journal():
    """As if the runs before had run on another machine."""
    shutil.rmtree(os.path.join(os.environ["XDG_STATE_HOME"], "pmu-probe"), ignore_errors=True)


def unfolded(text):
    """What folded to the width of a terminal, in one line."""
    return " ".join(text.split())


def finish_tool(process, signal_number=None):
    if signal_number is not None:
        process.send_signal(signal_number)
    try:
        out, err = process.communicate(timeout=WAIT)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGABRT)
        process.communicate()
        raise
    assert "Sanitizer" not in err and "runtime error" not in err, err[-4000:]
    return Run(process.returncode, out, err)


def has_open(process, path):
    folder = f"/proc/{process.pid}/fd"
    for descriptor in os.listdir(folder):
        with contextlib.suppress(FileNotFoundError):  # it closes that one meanwhile
            if os.readlink(os.path.join(folder, descriptor)) == str(path):
                return True
    return False


def read_until(process, text, count):
    """What a run prints until it has printed this so often. It goes on."""
    out = b""
    while out.count(text.encode()) < count:
        more = os.read(process.stdout.fileno(), 1 << 16)
        assert more, f"it ended: {out[-2000:].decode()}\n{process.stderr.read()}"
        out += more
    return out.decode()


def printed_by(*args):
    """Exit code, output and errors of which nothing is read as JSON."""
    process = start_tool([TOOL, *[str(word) for word in args]])
    out, err = process.communicate(timeout=WAIT)
    assert "Sanitizer" not in err and "runtime error" not in err, err[-4000:]
    return process.returncode, out, err


def run_tool(*args):
    return finish_tool(start_tool([TOOL, *[str(word) for word in args]]))


def locate(elf, *words, environment=()):
    """What locations mean in an ELF file: a line for each."""
    return finish_tool(start_tool([LOCATE, str(elf), *words], environment))


# --- the board's ground truth -------------------------------------------------------------------------------

class Passage:
    """From the last stop at the start to the first stop at the end, in the program's own cycles."""

    def __init__(self, begin, tainted, end):
        self.begin, self.tainted, self.end = begin, tainted, end
        self.cycles = end.cycles - begin.cycles


# Why a core of Armv7-A/R or Armv8 halted, where it was only asked to: DBGDSCR.MOE, EDSCR.STATUS. It may be at a start just then
ASKED = (0, 0x13)


def passages(log, start, is_end, is_same=lambda event, entry: True):
    """Pairs the stops in the board's log. `is_end(event, entry)` says whether a halt ends what `entry` began, `is_same` whether
    one at the start can begin it anew."""
    found, entry, tainted, again = [], None, False, False
    for event in log:
        if event.kind == "halt" and event.extra not in ASKED:
            if event.pc == start and entry is not None and not is_same(event, entry):
                continue
            if entry is not None and event.pc != start and is_end(event, entry):
                found.append(Passage(entry, tainted, event))
                entry = None
            elif event.pc == start and entry is None or event.pc == start and event.cycles != entry.cycles:
                entry, tainted, again = event, False, False
            elif event.pc == start:
                tainted, again = False, True  # a re-hit: the region begins at the last of them
        elif event.kind == "run" and entry is not None:
            # What pended in re-hits was held off until the last of them
            if event.extra & Board.PREEMPTED and (again or event.extra & Board.PENDED_WHILE_HALTED):
                tainted = True
    return found


def at(address):
    return lambda event, entry: event.pc == address


def returned(event, entry):
    """Back at the caller, in the caller's frame."""
    return event.pc == entry.lr & ~1 and event.sp == entry.sp


def left_handler(event, entry):
    """At a return of an exception handler: what it has pushed itself may still be there."""
    return event.sp <= entry.sp


def ended(event, entry):
    """Of a function, or of an exception handler of a Cortex-M."""
    return (left_handler if entry.lr >= 0xFFFFFF00 else returned)(event, entry)

"""pmu-probe inside GDB: `source pmu.py`, connect to the target, then `pmu help`.

A door and no more: it starts pmu-probe, carries out what that asks for over a socket (probe/debuggers/gdb_door.h says in
which words) and prints what it prints. Registers, counters and statistics are known there, not here.
Python 3, GDB 12 and later.
"""
import os
import select
import shlex
import shutil
import signal
import socket
import subprocess
import threading

import gdb

BUILD_IT = ("pmu-probe is not found. Build it (`make` in its folder, then `make install`), "
            "or say where it is: set pmu binary PATH")
WHYS = {"SIGTRAP": "trap", "SIGINT": "requested", "0": "requested", "SIGSEGV": "fault", "SIGBUS": "fault", "SIGILL": "fault"}
ANSWER_SECONDS = 20
HARDWARE = getattr(gdb, "BP_HARDWARE_BREAKPOINT", None)


class Refused(Exception):
    """GDB or its server does not do it; the text says why."""


def connection():
    """The server that GDB is connected to, with its core halted."""
    thread = gdb.selected_thread()
    found = gdb.selected_inferior().connection
    if thread is None or found is None:
        raise Refused("there is no target yet: target extended-remote HOST:PORT")
    if not hasattr(found, "send_packet"):
        raise Refused(f"a target of the kind \"{found.type}\" is not reached through a GDB server")
    if thread.is_running():
        raise Refused("the target runs: interrupt it first")
    return found


class Wishes:
    """What the engine may ask for: a method a word. Each returns the answer behind "ok"."""

    def __init__(self):
        self.points = {}  # breakpoints of ours that the server holds, by address
        self.interrupted = False

    def packet(self, text):
        reply = connection().send_packet(text) or b""
        if not reply or reply.startswith(b"E"):
            raise Refused("the server " + (f"says {reply.decode(errors='replace')}" if reply else "does not know how"))
        return reply.decode(errors="replace")

    def hello(self, _version):
        here = connection()
        arch = gdb.newest_frame().architecture().name()
        emulator = "QEMU" if (here.send_packet("qqemu.sstepbits") or b"").startswith(b"ENABLE=") else "-"
        return f"{arch.split()[0] or '-'} {emulator} {''.join((here.details or '-').split())}"

    def read(self, at, count):
        at, count = int(at, 16), int(count, 16)
        connection()
        try:
            return bytes(gdb.selected_inferior().read_memory(at, count)).hex()
        except gdb.error:  # a memory map that leaves out what is there
            return self.packet(f"m{at:x},{count:x}")

    def write(self, at, data):
        connection()
        try:
            gdb.selected_inferior().write_memory(int(at, 16), bytes.fromhex(data))
        except gdb.error:
            self.packet(f"M{int(at, 16):x},{len(data) // 2:x}:{data}")
        return ""

    def _break(self, at, size):
        address = int(at, 16)
        if address not in self.points:
            if address not in users_breakpoints():  # GDB itself would ask the server only when it resumes
                for verb in "Zz":
                    self.packet(f"{verb}1,{address:x},{int(size, 16):x}")
            self.points[address] = gdb.Breakpoint(f"*0x{address:x}", type=HARDWARE, internal=True)
            self.points[address].silent = True
        self.points[address].enabled = True
        return ""

    def clear(self, at, _size):
        self.points[int(at, 16)].enabled = False
        return ""

    def register(self, name):
        connection()
        frame = gdb.newest_frame()
        for one in frame.architecture().registers():
            if one.name.lower() == name.lower():
                try:
                    return f"{int(frame.read_register(one).format_string(format='x'), 16):x}"
                except ValueError as error:
                    raise Refused(f"{name}: {error}") from error
        raise Refused(f"there is no register {name}")

    def set(self, name, value):
        gdb.execute(f"set var ${name} = 0x{int(value, 16):x}", to_string=True)
        return ""

    def monitor(self, command):
        return gdb.execute("monitor " + bytes.fromhex(command).decode(), to_string=True).encode().hex()

    def onward(self):
        """How to go on so that a breakpoint of ours at the very place stops the core again, with nothing executed: that is
        how the engine finds out what a halt costs. GDB's `continue` would step over it."""
        point = self.points.get(int(self.register("pc"), 16) & ~1)
        return "with confirm off -- jump *$pc" if point is not None and point.enabled else "continue"

    def forget(self):
        for one in self.points.values():
            if one.is_valid():
                one.delete()


def users_breakpoints():
    """Where the user's own breakpoints are."""
    found = set()
    for one in gdb.breakpoints():
        if not one.enabled or one.type not in (gdb.BP_BREAKPOINT, HARDWARE):
            continue
        if hasattr(one, "locations"):  # GDB 13
            found.update(place.address for place in one.locations if place.enabled)
            continue
        try:
            found.update(place.pc for place in gdb.decode_line(one.location)[1] or ())
        except gdb.error:
            pass
    return found


class Stop:
    """Why the core stopped, as GDB tells it while `with` lasts. `ours`: breakpoints that are not the user's."""

    def __init__(self, ours):
        self.ours, self.why = ours, "trap"

    def __enter__(self):
        gdb.events.stop.connect(self._stopped)
        gdb.events.exited.connect(self._exited)
        return self

    def __exit__(self, *_):
        gdb.events.stop.disconnect(self._stopped)
        gdb.events.exited.disconnect(self._exited)

    def _stopped(self, event):
        if isinstance(event, gdb.BreakpointEvent):
            self.why = "trap" if all(one in self.ours for one in event.breakpoints) else "others"
        elif isinstance(event, gdb.SignalEvent):
            self.why = WHYS.get(event.stop_signal, "fault")

    def _exited(self, _event):
        self.why = "ended"


class Engine:
    """pmu-probe, started on a socket."""

    def __init__(self, words, stdin=subprocess.DEVNULL):
        connection()
        self.wishes = Wishes()
        self.rest = b""
        self.socket, theirs = socket.socketpair()
        with theirs:
            self.process = subprocess.Popen(
                [binary(), "--probe", f"door:{theirs.fileno()}", *words], pass_fds=[theirs.fileno()], stdin=stdin,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)

    def cancel(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)

    def serve(self, until=lambda text: False):
        """Carries out wishes and prints what comes, to the end of the engine; or until some output is what is waited for."""
        streams = [self.process.stdout, self.process.stderr]
        open_ones = [self.socket, *streams]
        while any(stream in open_ones for stream in streams):
            try:
                for one in select.select(open_ones, [], [])[0]:
                    data = one.recv(1 << 16) if one is self.socket else os.read(one.fileno(), 1 << 16)
                    if not data:
                        open_ones.remove(one)
                    elif one is self.socket:
                        self.take(data)
                    elif until(data.decode(errors="replace")):
                        return
            except KeyboardInterrupt:
                self.cancel()
        self.end()

    def end(self):
        self.socket.close()
        try:
            self.process.wait(ANSWER_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        self.process.stderr.close()
        self.wishes.forget()

    def take(self, data):
        *lines, self.rest = (self.rest + data).split(b"\n")
        for line in lines:
            answer = self.carry_out(line.decode(errors="replace").split(" "))
            if answer is not None:
                try:
                    self.socket.sendall(answer.replace("\n", " ").strip().encode() + b"\n")
                except OSError:
                    pass  # the engine has ended

    def carry_out(self, words):
        if words == ["interrupt"]:  # too late: it stands already
            return None
        try:
            if words[0] == "go":
                return self.go(words[1])
            return "ok " + getattr(self.wishes, "_break" if words[0] == "break" else words[0])(*words[1:])
        except (Refused, gdb.error, gdb.MemoryError, UnicodeError, TypeError, ValueError, AttributeError) as error:
            return f"no {error}"

    def go(self, how):
        connection()
        asked = threading.Event()
        listener_end, wake = socket.socketpair()
        listener = threading.Thread(target=self.listen, args=(listener_end, asked), daemon=True)
        with Stop(self.wishes.points.values()) as stop, listener_end, wake:
            listener.start()
            try:
                quietly("stepi" if how == "step" else self.wishes.onward())
            except gdb.error as error:
                if gdb.selected_thread() is not None:
                    return f"no {error}"
                stop.why = "ended"
            except KeyboardInterrupt:
                stop.why = "requested"
            finally:
                wake.send(b".")
                listener.join()
        if stop.why == "requested" and not asked.is_set():
            self.cancel()  # the user's Ctrl-C, which GDB has taken
        threads = gdb.selected_inferior().threads()
        thread = gdb.selected_thread()
        return f"stopped {stop.why} {thread.num if thread is not None and len(threads) > 1 else '-'}"

    def listen(self, end, asked):
        """While the core runs, and GDB with it: for the wish to interrupt it, and for the engine's end."""
        while True:
            ready = select.select([self.socket, end], [], [])[0]
            if end in ready:
                return
            self.socket.recv(1 << 16)  # "interrupt" is all that may come
            if not asked.is_set():
                asked.set()
                gdb.post_event(interrupt)
            select.select([end], [], [])
            return


def quietly(command):
    """Without a word of where the core stops."""
    gdb.execute("with suppress-cli-notifications on -- " + command, to_string=True)


def interrupt():
    thread = gdb.selected_thread()
    if thread is not None and thread.is_running():
        gdb.execute("interrupt", to_string=True)


def write(text):
    gdb.write(text)
    gdb.flush()


def binary():
    said = gdb.parameter("pmu binary")
    beside = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(binary.__code__.co_filename))), "build", "pmu-probe")
    for one in [said] if said else ["pmu-probe", beside]:
        if found := shutil.which(os.path.expanduser(one)):
            return found
    raise gdb.GdbError(BUILD_IT)


class Binary(gdb.Parameter):
    """The pmu-probe to start; empty: the one on the PATH, else the one built beside this script."""
    set_doc = show_doc = "The pmu-probe to start."

    def __init__(self):
        super().__init__("pmu binary", gdb.COMMAND_DATA, gdb.PARAM_OPTIONAL_FILENAME)
        self.value = ""

    def get_set_string(self):
        return ""

    def get_show_string(self, value):
        return f"pmu-probe is {value or 'the one on the PATH, else the one built beside this script'}."


class Prefix(gdb.Command):
    """Measure code by the core's own counters, through pmu-probe."""

    def __init__(self, name):
        super().__init__(name, gdb.COMMAND_DATA, gdb.COMPLETE_NONE, prefix=True)


class Pmu(Prefix):
    """Measure code by the core's own counters, through pmu-probe."""

    def invoke(self, argument, from_tty):
        raise gdb.GdbError("pmu delta, stat, info, list, calibrate, doctor, auto or help")


def prepare(words):
    elf = gdb.current_progspace().filename
    return (["--elf", elf] if elf and "--elf" not in words else []) + words


class Run(gdb.Command):
    def __init__(self, name, doc):
        self.__doc__ = doc
        super().__init__("pmu " + name, gdb.COMMAND_DATA)
        self.name = name

    def invoke(self, argument, from_tty):
        try:
            words = shlex.split(argument)
            engine = Engine(prepare([self.name, *words]))
        except (Refused, ValueError, OSError) as error:
            raise gdb.GdbError(f"pmu: {error}") from error
        engine.serve(write)
        if engine.process.returncode:
            raise gdb.GdbError(f"pmu {self.name}: exit code {engine.process.returncode}")


for setting in ("set pmu", "show pmu"):
    Prefix(setting)
Binary()
Pmu("pmu")
Run("info", "cores and counters")
Run("delta", "measure")

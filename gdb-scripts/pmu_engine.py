"""The engine, pmu-probe, started on a socket, and what GDB does for it: probe/debuggers/gdb_door.h has the words."""
import os
import re
import select
import shlex
import shutil
import signal
import socket
import subprocess
import threading

import gdb

OPTION = re.compile(r"^  (?:(-\w), |    )(--[\w-]+)")  # as `pmu-probe help COMMAND` lists them
BUILD_IT = ("pmu-probe is not found. Build it (`make` in its folder, then `make install`), "
            "or say where it is: set pmu binary PATH")
WHYS = {"SIGTRAP": "trap", "SIGINT": "requested", "0": "requested", "SIGSEGV": "fault", "SIGBUS": "fault", "SIGILL": "fault"}
ANSWER_SECONDS = 20
HARDWARE = gdb.BP_HARDWARE_BREAKPOINT
JUMP = "jump *$pc"
TRUSTED = "trust-readonly-sections"
# Other than the user's while the engine is at work. To unwind a frame GDB reads code in some forty pieces: it has the file.
SETTINGS = {"suppress-cli-notifications": True, "confirm": False, TRUSTED: True}


class Refused(Exception):
    """GDB or its server does not do it; the text says why."""


def connection():
    """The server that GDB is connected to."""
    found = gdb.selected_inferior().connection
    if gdb.selected_thread() is None or found is None:
        raise Refused("there is no target yet: target extended-remote HOST:PORT")
    if not hasattr(found, "send_packet"):
        raise Refused(f"a target of the kind \"{found.type}\" is not reached through a GDB server")
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
        return f"{arch.split()[0] or '-'} {emulator} {''.join((here.details or '-').split())} {core_of(gdb.selected_thread())}"

    def read(self, at, count):
        at, count = int(at, 16), int(count, 16)
        connection()
        trusted = gdb.parameter(TRUSTED)
        try:
            switch(TRUSTED, False)
            return bytes(gdb.selected_inferior().read_memory(at, count)).hex()
        except gdb.error:  # a memory map that leaves out what is there
            return self.packet(f"m{at:x},{count:x}")
        finally:
            switch(TRUSTED, trusted)

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

    def monitor(self, command):
        return gdb.execute("monitor " + bytes.fromhex(command).decode(), to_string=True).encode().hex()

    def onward(self):
        """How to go on so that a breakpoint of ours at the very place stops the core again, with nothing executed: that is
        how the engine finds out what a halt costs. GDB's `continue` would step over it."""
        point = self.points.get(program_counter() & ~1)
        return JUMP if point is not None and point.enabled else "continue"

    def forget(self):
        for one in self.points.values():
            if one.is_valid():
                one.delete()


def users_breakpoints():
    """The user's own breakpoints, by address."""
    found = {}
    for one in gdb.breakpoints():
        if not one.visible or not one.enabled or one.type not in (gdb.BP_BREAKPOINT, HARDWARE):
            continue
        try:
            places = ([place.address for place in one.locations if place.enabled] if hasattr(one, "locations")  # GDB 13
                      else [place.pc for place in gdb.decode_line(one.location)[1] or ()])
        except gdb.error:
            places = []
        for place in places:
            found.setdefault(place, []).append(one)
    return found


def core_of(thread):
    """Its name, where threads are cores (OpenOCD's hwthread)."""
    found = re.match(r"Name: (\S+), state: ", thread is not None and thread.details or "")
    return found.group(1) if found else "-"


def program_counter():
    return int(gdb.newest_frame().read_register("pc").format_string(format="x"), 16)


class Stop:
    """Why the core stopped, as GDB tells it while `with` lasts."""

    def __init__(self):
        self.why = "trap"
        self.before = {one.number: one.hit_count for one in gdb.breakpoints() if one.visible and not one.ignore_count}

    def __enter__(self):
        gdb.events.stop.connect(self._stopped)
        gdb.events.exited.connect(self._exited)
        return self

    def __exit__(self, *_):
        gdb.events.stop.disconnect(self._stopped)
        gdb.events.exited.disconnect(self._exited)

    def _stopped(self, event):
        if isinstance(event, gdb.BreakpointEvent):
            # GDB names all that are there; of one whose condition does not hold it counts no hit
            self.why = "others" if any(one.hit_count > self.before.get(one.number, one.hit_count)
                                       for one in event.breakpoints) else "trap"
        elif isinstance(event, gdb.SignalEvent):
            self.why = WHYS.get(event.stop_signal, "fault")

    def _exited(self, _event):
        self.why = "ended"


class Tested(gdb.Function):
    """Stands in front of the conditions of the user's breakpoints while the core runs for the engine: GDB halts the core
    to test one, goes on if it does not hold, and tells nobody."""

    def __init__(self):
        super().__init__("_pmu_tested")
        self.times, self.changed = 0, []

    def invoke(self):
        self.times += 1
        return True

    def begin(self, ours):
        """`ours`: where the core is stopped in any case."""
        self.times = 0
        elsewhere = {one.number: one for at, ones in users_breakpoints().items() if at not in ours for one in ones}
        for one in elsewhere.values():
            if one.condition or one.ignore_count:
                self.changed.append((one, one.condition))
                one.condition = f"$_pmu_tested() && ({one.condition or 1})"

    def end(self):
        """How many halts that were: one to test, one for the step over the breakpoint."""
        for one, condition in self.changed:
            if one.is_valid():
                one.condition = condition
        self.changed = []
        return 2 * self.times


TESTED = Tested()


class Engine:
    """pmu-probe, started on a socket."""

    def __init__(self, words, stdin=subprocess.DEVNULL):
        connection()
        if gdb.selected_thread().is_running():
            raise Refused("the target runs: interrupt it first")
        self.wishes, self.rest, self.lines, self.text, self.settings = Wishes(), b"", [], "", {}
        self.socket, theirs = socket.socketpair()
        with theirs:
            self.process = subprocess.Popen(
                [binary(), "--probe", f"door:{theirs.fileno()}", *words], pass_fds=[theirs.fileno()], stdin=stdin,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)

    def cancel(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)

    def serve(self, take, until=None):
        """Carries out wishes and hands out lines, to the engine's end; or to a line that begins with `until`."""
        with CtrlC(self.cancel):
            try:
                return self.serve_loudly(take, until)
            finally:
                for name, value in self.settings.items():
                    switch(name, value)
                self.settings = {}

    def serve_loudly(self, take, until):
        streams = [self.process.stdout, self.process.stderr]
        open_ones = [self.socket, *streams]
        while any(stream in open_ones for stream in streams):
            for one in select.select(open_ones, [], [])[0]:
                data = one.recv(1 << 16) if one is self.socket else os.read(one.fileno(), 1 << 16)
                if not data:
                    open_ones.remove(one)
                elif one is self.socket:
                    self.take(data)
                elif self.hand_out(data, take, until):
                    return True
        self.end()
        return False

    def hand_out(self, data, take, until):
        self.text += data.decode(errors="replace")
        *lines, self.text = self.text.split("\n")
        for line in lines:
            take(line + "\n")
        return until is not None and any(line.startswith(until) for line in lines)

    def ask(self, line):
        """A line on the standard input of an engine that stays."""
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()

    def end(self):
        self.socket.close()
        if self.process.stdin is not None:
            self.process.stdin.close()
        try:
            self.process.wait(ANSWER_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        self.process.stderr.close()
        self.wishes.forget()

    def take(self, data):
        *self.lines, self.rest = (self.rest + data).split(b"\n")
        while self.lines:
            answer = self.carry_out(self.lines.pop(0).decode(errors="replace").split(" "))
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
        command = "stepi" if how == "step" else self.wishes.onward()
        here = users_breakpoints().get(program_counter(), [])
        theirs = here if command == JUMP else []
        halts = 1 if here and command == "continue" else 0  # over the breakpoint
        with Stop() as stop, listener_end, wake:
            listener.start()
            try:
                for one in theirs:  # where the core stands already, they have been hit
                    one.enabled = False
                self.be_quiet()
                TESTED.begin([at for at, one in self.wishes.points.items() if one.enabled])
                gdb.execute(command, to_string=True)
            except gdb.error as error:
                if gdb.selected_thread() is not None:
                    return f"no {error}"
                stop.why = "ended"
            finally:
                for one in theirs:
                    one.enabled = True
                halts += TESTED.end()
                wake.send(b".")
                listener.join()
        if stop.why == "requested" and not asked.is_set():
            self.cancel()  # by somebody else, through GDB
        threads = gdb.selected_inferior().threads()
        thread = gdb.selected_thread()
        return f"stopped {stop.why} {thread.num if thread is not None and len(threads) > 1 else '-'} {halts:x} {core_of(thread)}"

    def be_quiet(self):
        """No word of where the core stops, and no questions. A condition may look at what is said to be read-only."""
        if not self.settings:
            self.settings = {name: gdb.parameter(name) for name in SETTINGS}
            for name, value in SETTINGS.items():
                switch(name, value and (name != TRUSTED or not any(one.condition for one in gdb.breakpoints())))

    def listen(self, end, asked):
        """While the core runs, and GDB with it: for the wish to interrupt it, and for the engine's end."""
        if self.lines == []:
            if end in select.select([self.socket, end], [], [])[0]:
                return
            self.socket.recv(1 << 16)
        self.lines = []  # "interrupt" is all that may come
        asked.set()
        gdb.post_event(interrupt)
        select.select([end], [], [])


def interrupt():
    thread = gdb.selected_thread()
    if thread is not None and thread.is_running():
        gdb.execute("interrupt", to_string=True)


class CtrlC:
    """While the engine is served, Ctrl-C is for it: in GDB, which works for the engine then, one may go astray."""

    def __init__(self, tell):
        self.tell, self.over = tell, False
        self.watcher = threading.Thread(target=self.watch, daemon=True)

    def __enter__(self):
        self.before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        self.watcher.start()

    def __exit__(self, *_):
        self.over = True
        signal.pthread_kill(self.watcher.ident, signal.SIGINT)
        self.watcher.join()
        signal.pthread_sigmask(signal.SIG_SETMASK, self.before)

    def watch(self):
        while signal.sigwait([signal.SIGINT]) and not self.over:
            self.tell()


OPTIONS = {}  # of a binary's command


def options_of(command):
    """Those that a command takes, long ones and letters: the tool itself says which."""
    key = binary(), command
    if key not in OPTIONS:
        text = subprocess.run([key[0], "help", command], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False).stdout
        found = [OPTION.match(line) for line in text.splitlines()]
        OPTIONS[key] = [name for match in found if match for name in match.groups() if name]
    return OPTIONS[key]


def check_option(option, value):
    """Why the tool does not take this value; "": it does, or nobody can tell."""
    try:
        done = subprocess.run([binary(), option, value, "--version"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    except (gdb.GdbError, OSError):
        return ""
    return done.stderr.split("\n")[0].removeprefix("pmu-probe: ") if done.returncode else ""


def switch(name, on):
    if gdb.parameter(name) != on:
        gdb.execute(f"set {name} {'on' if on else 'off'}")


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

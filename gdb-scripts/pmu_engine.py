"""Starts the engine, pmu-probe, on a socket and carries out its requests in GDB.

probe/debuggers/gdb_python.h has the protocol.
"""
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import threading

import gdb

OPTION = re.compile(r"^  (?:(-\w), |    )(--[\w-]+)")  # as `pmu-probe help COMMAND` lists them
BUILD_IT = ("pmu-probe is not found. Build it (`make` in its folder, then `make install`), "
            "or say where it is: set pmu binary PATH")
WHYS = {"SIGTRAP": "trap", "SIGINT": "requested", "0": "requested",
        "SIGSEGV": "fault", "SIGBUS": "fault", "SIGILL": "fault"}
ANSWER_SECONDS = 20  # times $PMU_PROBE_PATIENCE, as in the engine
HARDWARE = gdb.BP_HARDWARE_BREAKPOINT
JUMP = "jump *$pc"
TRUSTED = "trust-readonly-sections"
# In force while the core runs for the engine. TRUSTED: GDB reads code in some forty pieces to unwind a frame,
# and it has the file.
SETTINGS = {"suppress-cli-notifications": True, "confirm": False, TRUSTED: True}


class Refused(Exception):
    """GDB or its server refuses a request; the text says why."""


def patience(seconds):
    """How long to wait for another program before it counts as gone: see base/deadline.h."""
    text = os.environ.get("PMU_PROBE_PATIENCE", "")
    factor = int(text) if text.isascii() and text.isdigit() else 1
    return seconds * (factor if 1 <= factor <= 1000 else 1)


def connection():
    """The server that GDB is connected to."""
    found = gdb.selected_inferior().connection
    if gdb.selected_thread() is None or found is None:
        raise Refused("there is no target yet: target extended-remote HOST:PORT")
    if not hasattr(found, "send_packet"):
        raise Refused(f"a target of the kind \"{found.type}\" is not reached through a GDB server")
    return found


class Requests:
    """What the engine may ask for. A handler returns the answer behind "ok"."""

    def __init__(self):
        self.breakpoints = {}  # ours, by address; the server has them
        self.handlers = {
            "hello": self.hello, "read": self.read, "write": self.write, "break": self.set_breakpoint,
            "clear": self.clear_breakpoint, "register": self.read_register, "monitor": self.monitor}

    def carry_out(self, words):
        handler = self.handlers.get(words[0])
        if handler is None:
            raise Refused(f"there is no request {words[0]}")
        return handler(*words[1:])

    @staticmethod
    def packet(text):
        reply = connection().send_packet(text) or b""
        if not reply or reply.startswith(b"E"):
            said = f"says {reply.decode(errors='replace')}" if reply else "does not know how"
            raise Refused(f"the server {said}")
        return reply.decode(errors="replace")

    @staticmethod
    def hello(_version):
        here = connection()
        architecture = gdb.newest_frame().architecture().name().split()[0] or "-"
        emulator = "QEMU" if (here.send_packet("qqemu.sstepbits") or b"").startswith(b"ENABLE=") else "-"
        place = "".join((here.details or "-").split())
        return f"{architecture} {emulator} {place} {core_of(gdb.selected_thread())}"

    def read(self, at, count):
        at, count = int(at, 16), int(count, 16)
        connection()
        trusted = gdb.parameter(TRUSTED)
        try:
            switch(TRUSTED, False)
            return bytes(gdb.selected_inferior().read_memory(at, count)).hex()
        except gdb.error:  # the memory map may leave out memory that is there
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

    def set_breakpoint(self, at, size):
        address = int(at, 16)
        if address not in self.breakpoints:
            if address not in users_breakpoints():  # GDB asks the server only when it resumes
                for verb in "Zz":
                    self.packet(f"{verb}1,{address:x},{int(size, 16):x}")
            self.breakpoints[address] = gdb.Breakpoint(f"*0x{address:x}", type=HARDWARE, internal=True)
            self.breakpoints[address].silent = True
        self.breakpoints[address].enabled = True
        return ""

    def clear_breakpoint(self, at, _size):
        self.breakpoints[int(at, 16)].enabled = False
        return ""

    @staticmethod
    def read_register(name):
        connection()
        frame = gdb.newest_frame()
        for one in frame.architecture().registers():
            if one.name.lower() == name.lower():
                try:
                    return f"{int(frame.read_register(one).format_string(format='x'), 16):x}"
                except ValueError as error:
                    raise Refused(f"{name}: {error}") from error
        raise Refused(f"there is no register {name}")

    @staticmethod
    def monitor(command):
        return gdb.execute("monitor " + bytes.fromhex(command).decode(), to_string=True).encode().hex()

    def resume_command(self):
        """A breakpoint of ours where the core stands must stop it again with nothing executed: so the engine
        measures what a halt costs. GDB's `continue` would step over it."""
        point = self.breakpoints.get(program_counter() & ~1)
        return JUMP if point is not None and point.enabled else "continue"

    def delete_breakpoints(self):
        for one in self.breakpoints.values():
            try:
                if one.is_valid():
                    one.delete()
            except gdb.error:
                pass  # the server has gone


def users_breakpoints():
    """The user's own breakpoints, by address."""
    found = {}
    for one in gdb.breakpoints():
        if not one.visible or not one.enabled or one.type not in (gdb.BP_BREAKPOINT, HARDWARE):
            continue
        try:
            if hasattr(one, "locations"):  # GDB 13
                places = [place.address for place in one.locations if place.enabled]
            else:
                places = [place.pc for place in gdb.decode_line(one.location)[1] or ()]
        except gdb.error:
            places = []
        for place in places:
            found.setdefault(place, []).append(one)
    return found


def core_of(thread):
    """The name of a thread's core, if threads are cores (OpenOCD's hwthread)."""
    found = re.match(r"Name: (\S+), state: ", thread is not None and thread.details or "")
    return found.group(1) if found else "-"


def program_counter():
    return int(gdb.newest_frame().read_register("pc").format_string(format="x"), 16)


class Stop:
    """Why the core stopped, as GDB reports it inside `with`."""

    def __init__(self):
        self.why = "trap"
        self.hits_before = {one.number: one.hit_count
                            for one in gdb.breakpoints() if one.visible and not one.ignore_count}

    def __enter__(self):
        gdb.events.stop.connect(self._stopped)
        gdb.events.exited.connect(self._exited)
        return self

    def __exit__(self, *_):
        gdb.events.stop.disconnect(self._stopped)
        gdb.events.exited.disconnect(self._exited)

    def _stopped(self, event):
        if isinstance(event, gdb.BreakpointEvent):
            # GDB names all breakpoints there; it counts no hit of one whose condition does not hold
            self.why = "others" if any(one.hit_count > self.hits_before.get(one.number, one.hit_count)
                                       for one in event.breakpoints) else "trap"
        elif isinstance(event, gdb.SignalEvent):
            self.why = WHYS.get(event.stop_signal, "fault")

    def _exited(self, _event):
        self.why = "ended"


class ConditionTests(gdb.Function):
    """Counts how often GDB tests the user's breakpoint conditions while the core runs for the engine. It is
    put in front of each condition. GDB halts the core to test one, and if it does not hold goes on unseen."""

    def __init__(self):
        super().__init__("_pmu_tested")
        self.times, self.changed = 0, []

    def invoke(self):
        self.times += 1
        return True

    def begin(self, ours):
        """`ours`: addresses where the core stops in any case."""
        self.times = 0
        others = {one.number: one
                  for at, ones in users_breakpoints().items() if at not in ours for one in ones}
        for one in others.values():
            if one.condition or one.ignore_count:
                self.changed.append((one, one.condition))
                one.condition = f"$_pmu_tested() && ({one.condition or 1})"

    def end(self):
        """The number of halts: one for each test, one for the step over the breakpoint."""
        for one, condition in self.changed:
            if one.is_valid():
                one.condition = condition
        self.changed = []
        return 2 * self.times


CONDITION_TESTS = ConditionTests()


class Engine:
    """pmu-probe, started on a socket."""

    late_interrupt = False  # one may still come that an earlier engine's end has caused

    def __init__(self, words, stdin=subprocess.DEVNULL, often=False):
        """`often`: it interrupts the core again and again, which is not to be told each time."""
        connection()
        self.often = often
        if gdb.selected_thread().is_running():
            raise Refused("the target runs: interrupt it first")
        self.requests, self.settings = Requests(), {}
        self.has_spoken = False
        self.rest, self.lines = b"", []  # of the requests
        self.text = ""  # of the last line of output
        self.socket, theirs = socket.socketpair()
        with theirs:
            self.process = subprocess.Popen(
                [binary(), "--probe", f"door:{theirs.fileno()}", *words], pass_fds=[theirs.fileno()],
                stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)

    def cancel(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)

    def serve(self, take, until=None):
        """Carries out requests and hands out lines, until the engine ends or a line begins with `until`."""
        with CtrlC(self.cancel):
            try:
                return self.serve_streams(take, until)
            finally:
                for name, value in self.settings.items():
                    switch(name, value)
                self.settings = {}

    def serve_streams(self, take, until):
        streams = [self.process.stdout, self.process.stderr]
        open_ones = [self.socket, *streams]
        while any(stream in open_ones for stream in streams):
            for one in select.select(open_ones, [], [])[0]:
                data = self.receive() if one is self.socket else os.read(one.fileno(), 1 << 16)
                if not data:
                    open_ones.remove(one)
                elif one is self.socket:
                    self.take(data)
                elif self.hand_out(data, take, until):
                    return True
        self.end()
        return False

    def receive(self):
        """Nothing at the engine's end. It may end with an answer unread: then the connection is reset."""
        try:
            return self.socket.recv(1 << 16)
        except OSError:
            return b""

    def hand_out(self, data, take, until):
        self.has_spoken = True
        self.text += data.decode(errors="replace")
        *lines, self.text = self.text.split("\n")
        for line in lines:
            take(line + "\n")
        return until is not None and any(line.startswith(until) for line in lines)

    def ask(self, line):
        """Writes a line to the standard input of an engine that stays."""
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()

    def end(self):
        self.socket.close()
        if self.process.stdin is not None:
            self.process.stdin.close()
        try:
            self.process.wait(patience(ANSWER_SECONDS))
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        self.process.stderr.close()
        self.requests.delete_breakpoints()

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
        self.has_spoken = True
        if words == ["interrupt"]:  # too late: the core is halted already
            return None
        try:
            if words[0] == "go":
                return self.go(*words[1:])
            return "ok " + self.requests.carry_out(words)
        except (Refused, gdb.error, gdb.MemoryError, UnicodeError, TypeError, ValueError, KeyError) as error:
            return f"no {error}"

    def go(self, how):
        connection()
        asked, over = threading.Event(), threading.Event()
        listener_end, wake = socket.socketpair()
        listener = threading.Thread(target=self.listen, args=(listener_end, asked, over), daemon=True)
        late, Engine.late_interrupt = Engine.late_interrupt, False
        command = "stepi" if how == "step" else self.requests.resume_command()
        here = users_breakpoints().get(program_counter(), [])
        theirs = here if command == JUMP else []
        halts = 1 if here and command == "continue" else 0  # GDB steps over the breakpoint
        with Stop() as stop, listener_end, wake:
            listener.start()
            try:
                for one in theirs:  # they have been hit already
                    one.enabled = False
                self.be_quiet()
                CONDITION_TESTS.begin([at for at, one in self.requests.breakpoints.items() if one.enabled])
                with Silence(self.often):
                    gdb.execute(command, to_string=True)
                if late and how != "step" and stop.why == "requested" and not asked.is_set():
                    stop.why = "trap"
                    halts += 1
                    gdb.execute(self.requests.resume_command(), to_string=True)
            except gdb.error as error:
                if gdb.selected_thread() is not None:
                    return f"no {error}"
                stop.why = "ended"
            finally:
                for one in theirs:
                    one.enabled = True
                halts += CONDITION_TESTS.end()
                over.set()
                wake.send(b".")
                listener.join()
        if stop.why == "requested" and not asked.is_set():
            self.cancel()  # the user interrupted the core in GDB
        thread = gdb.selected_thread()
        several = thread is not None and len(gdb.selected_inferior().threads()) > 1
        return f"stopped {stop.why} {thread.num if several else '-'} {halts:x} {core_of(thread)}"

    def be_quiet(self):
        """No reports of stops, and no questions. A breakpoint's condition may read memory that is said to be
        read-only: then the file is not trusted."""
        if not self.settings:
            self.settings = {name: gdb.parameter(name) for name in SETTINGS}
            for name, value in SETTINGS.items():
                conditions = any(one.condition for one in gdb.breakpoints())
                switch(name, value and not (name == TRUSTED and conditions))

    def listen(self, end, asked, over):
        """Waits, while GDB runs the core, for a request to interrupt it and for the engine's end. GDB may come
        to the interrupt when the core has stopped by itself, and a server may keep it for the next resume."""
        if self.lines == []:
            if end in select.select([self.socket, end], [], [])[0]:
                return
            Engine.late_interrupt = not self.receive()
        self.lines = []  # only "interrupt" can come
        asked.set()
        gdb.post_event(lambda: None if over.is_set() else interrupt())
        select.select([end], [], [])


def interrupt():
    thread = gdb.selected_thread()
    if thread is not None and thread.is_running():
        gdb.execute("interrupt", to_string=True)


class Silence:
    """GDB tells of each signal, whatever it is told about notifications. On a terminal it can be kept from
    that; elsewhere another program may read what it says."""

    def __init__(self, wanted):
        self.wanted, self.kept = wanted and os.isatty(1), None

    def __enter__(self):
        if self.wanted:
            gdb.flush()
            self.kept = os.dup(1)
            with open(os.devnull, "wb") as nowhere:
                os.dup2(nowhere.fileno(), 1)

    def __exit__(self, *_):
        if self.kept is not None:
            gdb.flush()
            os.dup2(self.kept, 1)
            os.close(self.kept)


class CtrlC:
    """Hands Ctrl-C to the engine while GDB works for it: GDB itself may lose one."""

    def __init__(self, cancel):
        self.cancel, self.over = cancel, False
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
            self.cancel()


OPTIONS = {}  # by binary and command


def options_of(command):
    """The options of a command, long ones and letters, as the tool itself lists them."""
    key = binary(), command
    if key not in OPTIONS:
        done = run_binary("help", command)
        found = [OPTION.match(line) for line in done.stdout.splitlines()]
        OPTIONS[key] = [name for match in found if match for name in match.groups() if name]
    return OPTIONS[key]


def check_option(option, value):
    """Why the tool does not take this value; "": it does, or there is no tool to ask."""
    try:
        done = run_binary(option, value, "--version")
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
    given = gdb.parameter("pmu binary")
    built = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "build", "pmu-probe")
    for one in [given] if given else ["pmu-probe", built]:
        if found := shutil.which(os.path.expanduser(one)):
            return found
    raise gdb.GdbError(BUILD_IT)


def run_binary(*words):
    return subprocess.run([binary(), *words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          check=False)

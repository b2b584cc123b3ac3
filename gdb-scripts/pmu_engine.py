# SPDX-License-Identifier: MIT
"""Starts the engine, pmu-probe, on a socket and is its GDB server; probe/debuggers/gdb_remote.c is the client.

Not in the remote protocol: "pmu.server", GDB's own server; in stops "others", at a breakpoint of the user's, and
"halts", how often GDB halted the core on the way for its own reasons, and "steps", how many single steps are among them.
"""
import contextlib
import ctypes
import json
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import threading

import gdb

OPTION = re.compile(r"^  (?:(-\w), |    )(--[\w-]+)")  # as `pmu-probe help COMMAND` lists them
BUILD_IT = ("pmu-probe is not found. Build it (`make` in its folder, then `make install`), "
            "or say where it is: set pmu binary PATH")
PACKET = re.compile(rb"\$([^#]*)#..", re.DOTALL)
NAME = "pmu-probe: "  # begins an error
TRAP, REQUESTED, FAULT, ENDED = 5, 2, 11, None  # signals, by the protocol's numbers
SIGNALS = {"SIGTRAP": TRAP, "SIGINT": REQUESTED, "0": REQUESTED}
PIECE = 256  # bytes of memory that every server sends at once
ANSWER_SECONDS = 20  # times $PMU_PROBE_PATIENCE, as in the engine
SIGNAL_REPORTS = b'~"\\nProgram', b'~"\\nThread '  # how GDB begins one on the console
RUNNING = re.compile(rb"\d*\^running\n|\(gdb\) ?\n")
HARDWARE = gdb.BP_HARDWARE_BREAKPOINT
JUMP = "jump *$pc"
# Packets that let the core run, as `set debug remote` shows them; F ends a call of the server's for a file. What a
# server itself does at a breakpoint it does not report.
RESUME = re.compile(r"ending packet: \$(vCont;[cCsSr]|[cCsSF])")
STEPS = "vCont;s", "vCont;S", "vCont;r", "s", "S"
BY_SERVER = re.compile(r"ending packet: \$Z[01],[^#]*;(?:X|cmds)")
TRUSTED = "trust-readonly-sections"
INSERTED = "breakpoint always-inserted"
DPRINTF = re.compile(r"^\d+ +dprintf ", re.MULTILINE)  # gdb.breakpoints() has none
# In OpenOCD: prints "pmu", which of its targets GDB debugs, how many cores have a GDB port, and the ports on which it listens, by
# Linux. It cannot be asked for its Tcl port. At that port "pmu_token" shows that it is the same OpenOCD.
PORTS = " ".join([
    "set ::pmu_token %s; set cores 0; set pmu {}; set own {};",
    "foreach one [target names] {",
    "if {[$one cget -type] ne {mem_ap} && ([catch {$one cget -gdb-port} port] || $port ne {disabled})} {incr cores}};",
    "foreach fd [glob -nocomplain /proc/self/fd/*] {if {![catch {file readlink $fd} to]} {lappend own $to}};",
    "foreach net {tcp tcp6} {catch {set file [open /proc/self/net/$net];",
    "foreach row [lrange [split [read $file] \\n] 1 end] {",
    "if {[lindex $row 3] eq {0A} && [lsearch -exact $own socket:\\[[lindex $row 9]\\]] >= 0} {",
    "lappend pmu [expr 0x[lindex [split [lindex $row 1] :] end]]}}; close $file}};",
    "echo [concat pmu [target current] $cores $pmu]"])
CORES = {}  # by port and target: the tool's words for it
# In force while the core runs for the engine. TRUSTED: GDB reads code in some forty pieces to unwind a frame,
# and it has the file. By GDB itself conditions are tested in sight.
SETTINGS = {"suppress-cli-notifications": True, "confirm": False, TRUSTED: True, "breakpoint condition-evaluation": "host"}


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


def packed(payload):
    data = re.sub(rb"[#$*}]", lambda found: b"}%c" % (found[0][0] ^ 0x20), payload.encode())
    return b"$%s#%02x" % (data, sum(data) % 256)


def ask_server(packet):
    reply = (connection().send_packet(packet) or b"").decode(errors="replace")
    if not reply or re.fullmatch(r"E([\da-fA-F]{2}|\..*)", reply):
        raise Refused(f"the server {'says ' + reply if reply else 'does not know how'}")
    return reply


class Server:
    """What the engine may ask for. A handler takes what follows a packet's name, and returns a line a packet."""

    def __init__(self):
        self.breakpoints = {}  # ours, by address; the server has them
        self.registers = []
        self.handlers = {
            "m": self.read, "M": self.write, "p": self.read_register, "Z1,": self.set_breakpoint,
            "z1,": self.clear_breakpoint, "qRcmd,": self.monitor,
            "qXfer:features:read:target.xml:": self.features, "QStartNoAckMode": lambda: "OK",
            "?": lambda: stop_reply(TRAP), "qC": lambda: f"QC{gdb.selected_thread().num:x}",
            "qThreadExtraInfo,": lambda _: (gdb.selected_thread().details or "").encode().hex(),
            "qSupported": lambda *_: "PacketSize=4000;QStartNoAckMode+;qXfer:features:read+;pmu.server="
                                     + (connection().details or ""),
            "qqemu.sstepbits": lambda: ask_server("qqemu.sstepbits")}

    def features(self, at, count):
        architecture = gdb.newest_frame().architecture()
        self.registers = [one.name for one in architecture.registers()]
        profile = "org.gnu.gdb.arm.m-profile" if "xpsr" in map(str.lower, self.registers) else ""
        text = (f'<target><architecture>{architecture.name().split()[0]}</architecture><feature name="{profile}">'
                + "".join(f'<reg name="{one}" bitsize="64"/>' for one in self.registers) + "</feature></target>")
        at, end = int(at, 16), int(at, 16) + int(count, 16)
        return ("m" if end < len(text) else "l") + text[at:end]

    @staticmethod
    def read(at, count):
        """By the server, since GDB trusts the file meanwhile, and its memory map may leave out memory that is there."""
        begin, size = int(at, 16), int(count, 16)
        return "".join(ask_server(f"m{here:x},{min(PIECE, begin + size - here):x}")
                       for here in range(begin, begin + size, PIECE))

    @staticmethod
    def write(at, _count, data):
        """By the server, too: otherwise a front end would read everything again."""
        code = bytes.fromhex(data)
        for here in range(0, len(code), PIECE):
            piece = code[here:here + PIECE]
            ask_server(f"M{int(at, 16) + here:x},{len(piece):x}:{piece.hex()}")
        return "OK"

    def set_breakpoint(self, at, size):
        if int(at, 16) not in self.breakpoints:
            if int(at, 16) not in users_breakpoints():  # GDB asks the server only when it resumes
                for verb in "Zz":
                    ask_server(f"{verb}1,{at},{size}")
            self.breakpoints[int(at, 16)] = gdb.Breakpoint(f"*0x{at}", type=HARDWARE, internal=True)
            self.breakpoints[int(at, 16)].silent = True
        self.breakpoints[int(at, 16)].enabled = True
        return "OK"

    def clear_breakpoint(self, at, _size):
        self.breakpoints[int(at, 16)].enabled = False
        return "OK"

    def read_register(self, number):
        try:
            value = gdb.newest_frame().read_register(self.registers[int(number, 16)]).format_string(format="x")
            return int(value, 16).to_bytes(8, "little").hex()
        except (gdb.error, ValueError, OverflowError):
            return "x" * 16  # it has no value, or none of 64 bits

    @staticmethod
    def monitor(command):
        printed = gdb.execute("monitor " + bytes.fromhex(command).decode(), to_string=True)
        return re.sub(".{1,4000}", r"O\g<0>\n", printed.encode().hex()) + "OK"

    def resume_command(self):
        """Our breakpoint where the core is halted must stop it again with nothing executed: so the engine
        measures what a halt costs. GDB's `continue` would step over it."""
        point = self.breakpoints.get(program_counter() & ~1)
        return JUMP if point is not None and point.enabled else "continue"

    def delete_breakpoints(self):
        for one in self.breakpoints.values():
            with contextlib.suppress(gdb.error):  # the server has gone
                if one.is_valid():
                    one.delete()


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


def software_watchpoints():
    """GDB lets the core run by single steps for these."""
    return [one for one in gdb.breakpoints() if one.visible and one.enabled and one.type == gdb.BP_WATCHPOINT]


def stop_reply(number, pairs=""):
    several = len(gdb.selected_inferior().threads()) > 1
    return f"T{number:02x}" + (f"thread:{gdb.selected_thread().num:x};" if several else "") + pairs


def program_counter():
    return int(gdb.newest_frame().read_register("pc").format_string(format="x"), 16)


class Stop:
    """Why the core stopped, as GDB reports it inside `with`."""

    def __init__(self):
        self.number, self.others = TRAP, ""  # what of the user's it is: "breakpoint", "watchpoint"
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
            theirs = [one for one in event.breakpoints if one.hit_count > self.hits_before.get(one.number, one.hit_count)]
            self.others = "" if not theirs else "breakpoint" if theirs[0].type in (gdb.BP_BREAKPOINT, HARDWARE) else "watchpoint"
            self.number = TRAP
        elif isinstance(event, gdb.SignalEvent):
            self.number = SIGNALS.get(event.stop_signal, FAULT)

    def _exited(self, _event):
        self.number = ENDED


class Resumes:
    """Counts by GDB's packets how often it lets the core run inside `with`. It halts the core on the way without a word: to test a
    condition, at a dprintf, for a watched value that is the same, to step over a breakpoint."""

    def __init__(self):
        self.steps, self.times, self.doubt = 0, 0, ""
        self.shown = int(gdb.parameter("debug remote"))

    def __enter__(self):
        gdb.events.inferior_call.connect(self._called)
        gdb.execute("set debug remote 1", to_string=True)
        return self

    def __exit__(self, *_):
        gdb.execute(f"set debug remote {self.shown}", to_string=True)
        gdb.events.inferior_call.disconnect(self._called)

    def _called(self, _event):
        self.doubt = "it called a function of the program meanwhile, which is counted, too"

    def resume(self, command):
        text = gdb.execute(command, to_string=True)
        kinds = RESUME.findall(text)
        self.times += len(kinds)
        self.steps += sum(kind in STEPS for kind in kinds)
        if not kinds or BY_SERVER.search(text):
            self.doubt = "nothing shows how often the core was halted on the way"


class Engine:
    """pmu-probe, started on a socket."""

    late_interrupt = False  # one may still arrive that an earlier engine's end has caused

    def __init__(self, words, stdin=subprocess.DEVNULL, often=False, port=()):
        """`often`: it interrupts the core again and again, which is not to be reported each time. `port`: words for
        OpenOCD's Tcl port, by which it reaches the core while GDB waits."""
        connection()
        self.often = often
        if gdb.selected_thread().is_running():
            raise Refused("the target runs: interrupt it first")
        self.server, self.settings = Server(), {}
        self.shown_running, self.stop = False, b""  # what an MI front end knows, and the last stop that was kept from it
        self.has_spoken = False
        self.rest = b""  # of its packets
        self.text = ""  # of the last line of output
        self.held = []  # the lines of an error, or of a last note
        self.socket, theirs = socket.socketpair()
        self.idle, self.port = theirs if port else None, port  # nothing is sent through it
        self.at_users = ""  # at a "breakpoint" or "watchpoint" of the user's: there the core stopped last
        if port:
            with Records(self):
                self.inserted = Inserted()
            self.process = self.spawn([*words, *port, "--resume"], preexec_fn=end_with_gdb)
            return
        with theirs:
            self.process = self.spawn(["--probe", f"door:{theirs.fileno()}", *words], stdin, pass_fds=[theirs.fileno()])

    @staticmethod
    def spawn(words, stdin=subprocess.DEVNULL, **how):
        return subprocess.Popen([binary(), *words], stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                start_new_session=True, **how)

    def cancel(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)

    def serve(self, take, until=None):
        """Carries out requests and hands out lines, until the engine ends or a line begins with `until`."""
        with CtrlC(self.cancel):
            try:
                return self.serve_streams(take, until)
            finally:
                with Records(self):
                    for name, value in self.settings.items():
                        switch(name, value)
                self.settings = {}
                self.show_stop()

    def show_stop(self):
        """The one stop that a front end is to see, with its frame: GDB's own if it has a reason, such as the user's breakpoint."""
        if not self.shown_running:
            return
        stop, self.shown_running, self.stop = self.stop, False, b""
        frame = frame_record()  # in any case: after an MI command inside it GDB ends the one outside with ^done
        if b",reason=" not in stop and gdb.selected_thread() is not None:
            stop = (f'*stopped,reason="end-stepping-range",{frame}'
                    f'thread-id="{gdb.selected_thread().global_num}",stopped-threads="all"\n').encode()
        flush()
        os.write(1, stop)

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
                elif self.hand_out(data, self.hold(take) if one is self.process.stderr else take, until):
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

    def hold(self, take):
        """The last line of its standard error that begins with its name, and what follows it, may be why it fails."""
        def held(line):
            if line.startswith(NAME):
                write("".join(self.held).replace(NAME, "", 1))
                self.held = []
            if line.startswith(NAME) or self.held:
                self.held.append(line)
            else:
                take(line)
        return held

    def reason(self):
        """Why it has failed, or its last note."""
        text, self.held, self.text = "".join(self.held) + self.text, [], ""
        return reason_of(text)

    def ask(self, line):
        """Writes a line to the standard input of an engine that stays."""
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()

    def end(self):
        if self.idle is None:
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
        if self.idle is not None:
            self.come_back()
            self.idle.close()
        self.socket.close()
        self.server.delete_breakpoints()

    def come_back(self):
        """The core ran without GDB, which drops what it knows of it, and then lets it stop again where it is, with nothing
        executed: so it has this stop as if it had made it."""
        with Records(self):
            self.inserted.end()
        if self.process.returncode < 0:  # killed
            run_binary("restore", *self.port[:2])
            gdb.execute("monitor halt", to_string=True)
        for what in ("register-cache", "dcache"):
            gdb.execute(f"maintenance flush {what}", to_string=True)
        here = program_counter()
        self.at_users = "breakpoint" if users_breakpoints().get(here) else ""
        if self.at_users:
            with Silence(self.often), Records(self):
                gdb.execute(JUMP, to_string=True)
        else:
            self.server.set_breakpoint(f"{here:x}", "2")
            self.go("c")

    def take(self, data):
        self.rest += data
        while found := PACKET.search(self.rest):
            self.rest = self.rest[found.end():]  # with an interrupt that was too late
            answer = self.carry_out(found[1].decode(errors="replace")).split("\n")
            with contextlib.suppress(OSError):  # the engine has ended
                self.socket.sendall(b"".join(map(packed, answer)))

    def carry_out(self, packet):
        self.has_spoken = True
        try:
            connection()
            if packet in ("c", "s"):
                return self.go(packet)
            for name, handler in self.server.handlers.items():
                if packet.startswith(name):
                    return handler(*filter(None, re.split("[,:;]", packet[len(name):])))
            return ""
        except (Refused, gdb.error, gdb.MemoryError, UnicodeError, TypeError, ValueError, LookupError) as error:
            return "E." + " ".join(str(error).split())

    def go(self, how):
        asked, over = threading.Event(), threading.Event()
        listener_end, wake = socket.socketpair()
        listener = threading.Thread(target=self.listen, args=(listener_end, asked, over), daemon=True)
        late, Engine.late_interrupt = Engine.late_interrupt, False
        command = "stepi" if how == "s" else self.server.resume_command()
        here = users_breakpoints().get(program_counter(), [])
        theirs = [*here, *software_watchpoints()] if command == JUMP else []
        resumes = Resumes()
        with Stop() as stop, listener_end, wake:
            listener.start()
            try:
                for one in theirs:  # they have been hit already, or GDB would step from there
                    one.enabled = False
                with Silence(self.often), Records(self):
                    self.be_quiet()
                    with resumes:
                        resumes.resume(command)
                        if late and how != "s" and stop.number == REQUESTED and not asked.is_set():
                            stop.number = TRAP
                            resumes.resume(self.server.resume_command())
            except gdb.error:
                if gdb.selected_thread() is not None:
                    raise
                stop.number = ENDED
            finally:
                for one in theirs:
                    one.enabled = True
                over.set()
                wake.send(b".")
                listener.join()
        self.at_users = stop.others
        if stop.number == ENDED:
            return "W00"
        if asked.is_set() and stop.number != REQUESTED:  # it stopped by itself at that moment
            Engine.late_interrupt = True
        if stop.number == REQUESTED and not asked.is_set():
            self.cancel()  # the user interrupted the core in GDB
        if resumes.doubt:
            raise Refused(f"what GDB has added to the counts is not known: {resumes.doubt}")
        return stop_reply(stop.number, f"halts:{resumes.times - 1:x};steps:{max(resumes.steps - (how == 's'), 0):x};"
                          + "others:;" * bool(stop.others))

    def be_quiet(self):
        """No reports of stops, and no questions. A breakpoint's condition may read memory that is given as read-only: then the
        file is not trusted."""
        if not self.settings:
            self.settings = {name: gdb.parameter(name) for name in SETTINGS}
            conditions = any(one.condition for one in gdb.breakpoints())
            for name, value in SETTINGS.items():
                switch(name, False if name == TRUSTED and conditions else value)

    def listen(self, end, asked, over):
        """Waits, while GDB runs the core, for a request to interrupt it and for the engine's end. GDB may handle the interrupt
        when the core has stopped by itself, and a server may keep it for the next resume."""
        if not self.rest:
            if end in select.select([self.socket, end], [], [])[0]:
                return
            Engine.late_interrupt = not self.receive()
        self.rest = b""  # only \x03 can arrive
        asked.set()
        gdb.post_event(lambda: None if over.is_set() else interrupt())
        select.select([end], [], [])


class Inserted:
    """The user's breakpoints are in the target while the core runs without GDB."""

    def __init__(self):
        self.before = gdb.parameter(INSERTED)
        self.put("on")

    def put(self, how):
        """GDB reads the setting when a breakpoint changes."""
        theirs = [one for ones in users_breakpoints().values() for one in ones]
        if theirs:
            gdb.execute(f"set {INSERTED} {how}")
            theirs[0].enabled = False
            theirs[0].enabled = True

    def end(self):
        self.put("on" if self.before else "off")


def end_with_gdb():
    """In the child: if GDB dies, it is interrupted."""
    ctypes.CDLL(None).prctl(1, signal.SIGINT)  # PR_SET_PDEATHSIG


def openocd_port():
    """The tool's words for GDB's server by its Tcl port, where the engine is as fast as in a terminal; (): it has none, or GDB's own
    ways are needed."""
    conditions = any(one.visible and one.enabled and (one.type not in (gdb.BP_BREAKPOINT, HARDWARE) or one.condition
                     or one.ignore_count or one.commands or one.temporary or one.thread or hasattr(one, "stop"))
                     for one in gdb.breakpoints())
    if conditions or DPRINTF.search(gdb.execute("info breakpoints", to_string=True)) or len(gdb.selected_inferior().threads()) != 1:
        return ()
    token = os.urandom(8).hex()
    try:
        said = re.search(r"^pmu (\S+) (\d+)((?: \d+)+)$", gdb.execute("monitor " + PORTS % token, to_string=True), re.MULTILINE)
    except gdb.error:
        said = None
    if said is None:
        return ()
    host, _, gdb_port = (connection().details or "").rpartition(":")
    ports = [port for port in said[3].split() if port == "6666" or (said[2] == "1" and port != gdb_port)]
    for port in sorted(ports, key=lambda one: one != "6666"):  # no connection to another core's GDB port, which would halt it
        if has_token(host, int(port), token):
            return core_words(f"openocd:{host}:{port}", said[1])
    return ()


def core_words(link, target):
    """By the names that the tool shows of OpenOCD's targets."""
    if (link, target) not in CORES:
        lines = [json.loads(line) for line in run_binary("info", "-j", "--probe", link).stdout.splitlines()]
        number = next((str(one["number"]) for one in lines if one["type"] == "core" and one["view"] == target), None)
        if number is None:
            return ()
        CORES[link, target] = "--probe", link, "--core", number
    return CORES[link, target]


def has_token(host, port, token):
    """Whether this is the Tcl port of that OpenOCD. A telnet port answers otherwise."""
    try:
        with socket.create_connection((host.strip("[]") or "localhost", port), patience(5)) as one:
            one.sendall(b"set ::pmu_token\x1a")
            with one.makefile("rb") as answer:
                return answer.read(len(token) + 1) == token.encode() + b"\x1a"
    except OSError:
        return False


def interrupt():
    thread = gdb.selected_thread()
    if thread is not None and thread.is_running():
        gdb.execute("interrupt", to_string=True)


class Silence:
    """GDB reports each signal, whatever its settings of notifications are. On a terminal it can be kept from
    that; elsewhere another program may read what it prints."""

    def __init__(self, wanted):
        self.wanted, self.kept = wanted and os.isatty(1), None

    def __enter__(self):
        if self.wanted:
            flush()
            self.kept = os.dup(1)
            with open(os.devnull, "wb") as nowhere:
                os.dup2(nowhere.fileno(), 1)

    def __exit__(self, *_):
        if self.kept is not None:
            flush()
            os.dup2(self.kept, 1)
            os.close(self.kept)


class Records:
    """Where a front end drives GDB, it would act on each record of a stop. It learns that the core runs, and at the end where
    it is; what else GDB reports while it runs the core for the engine, such as output and new threads, goes on at once.
    The command has one result, at its end, in place of ^running and a prompt."""

    def __init__(self, engine):
        self.engine, self.kept, self.in_report = engine, None, False

    def __enter__(self):
        if not mi_name():
            return
        flush()
        self.kept, (self.end, pipe) = os.dup(1), os.pipe()
        os.dup2(pipe, 1)
        os.close(pipe)
        self.reader = threading.Thread(target=self.pass_on, daemon=True)
        self.reader.start()

    def __exit__(self, *_):
        if self.kept is None:
            return
        flush()
        os.dup2(self.kept, 1)  # the reader meets the end
        self.reader.join()
        os.close(self.kept)

    def pass_on(self):
        with open(self.end, "rb") as lines:
            for line in lines:
                if self.is_theirs(line):
                    os.write(self.kept, line)

    def is_theirs(self, line):
        self.in_report = line.startswith(SIGNAL_REPORTS) or self.in_report and line.startswith(b'~"')
        if self.in_report or RUNNING.fullmatch(line):
            return False
        if line.startswith(b"*running"):
            first, self.engine.shown_running = not self.engine.shown_running, True
            return first
        if line.startswith(b"*stopped"):
            self.engine.stop = line
            return False
        return not line.startswith((b"=cmd-param-changed", b"=breakpoint-modified"))


def reason_of(text):
    """An error without the tool's name, and without a line that names what only the command line has."""
    return re.sub(r"^pmu-probe help .*\n?", "", text, flags=re.MULTILINE).removeprefix(NAME).rstrip("\n")


def frame_record():
    """The frame as GDB's own stops have it."""
    frame, arguments = map(ask_mi, ("-stack-info-frame", "-stack-list-arguments 1 0 0"))
    found = re.match(r'\^done,frame=\{level="0",(.*?func="[^"]*",)?(.*\})\n', frame)
    given = re.match(r'\^done,stack-args=\[frame=\{level="0",(args=\[.*\])\}\]\n', arguments)
    return f"frame={{{found[1] or ''}{given[1] if given else 'args=[]'},{found[2]}," if found else ""


def ask_mi(command):
    """The result of a command of the front end's own interpreter, which writes it where GDB's strings do not catch it."""
    flush()
    kept = os.dup(1)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 1)
        try:
            text = gdb.execute(f'interpreter-exec {mi_name()} "{command}"', to_string=True)
        except gdb.error:
            text = ""
        finally:
            flush()
            os.dup2(kept, 1)
            os.close(kept)
        file.seek(0)
        return text + file.read().decode(errors="replace")


def mi_name():
    """The interpreter that prints records, such as "mi2", or "". Nothing but GDB's command line names it."""
    with open("/proc/self/cmdline", encoding="utf-8", errors="replace") as file:
        found = re.search(r"(?:^|\0)--?i\w*[=\0](mi\d?)\0", file.read())
    return found[1] if found else ""


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
        done = run_binary("help", command, "--all")
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


def switch(name, value):
    if gdb.parameter(name) != value:
        gdb.execute(f"set {name} {value if isinstance(value, str) else 'on' if value else 'off'}")


def write(text):
    gdb.write(text)
    gdb.flush()


def flush():
    """Also what MI has written, before standard output is another file, and before it is itself again."""
    gdb.flush()
    ctypes.CDLL(None).fflush(None)


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

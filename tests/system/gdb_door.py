"""A real GDB with gdb-scripts/pmu.py in it, before the virtual board or another server."""
import os
import re
import shlex
import subprocess
import uuid

import pexpect

from gdb_place import GdbPlace, GdbServer, free_port
from harness import NOWHERE, ROOT, TOOL, WAIT, Run, wait_for

SCRIPT = os.path.join(ROOT, "gdb-scripts", "pmu.py")
GDB = ["gdb-multiarch", "-q", "-nx", "-iex", "set debuginfod enabled off", "-iex", "set pagination off"]


def environment():
    found = dict(os.environ, ASAN_OPTIONS="detect_leaks=1:exitcode=99:malloc_context_size=1", UBSAN_OPTIONS="halt_on_error=1", TERM="dumb", LC_ALL="C.UTF-8")
    found.pop("PMU_PROBE", None)
    return found


def setup(port, tcl=False):
    """The machine may be busy: a region is not reached at once, and a server does not answer within GDB's own two seconds."""
    return [f"set remotetimeout {WAIT}", f"source {SCRIPT}", f"set pmu binary {TOOL}", f"set pmu timeout {WAIT}s",
            f"set pmu tcl {'on' if tcl else 'off'}", f"target extended-remote 127.0.0.1:{port}"]


def run_gdb(elf, port, *commands, tcl=False):
    """In batch mode; GDB goes on after an error, and detaches at the end."""
    words = [*GDB, "-batch", *(elf and [elf] or [])]
    for command in [*setup(port, tcl), *commands]:
        words += ["-ex", command]
    done = subprocess.run(words, text=True, errors="replace", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=3 * WAIT, env=environment())
    assert "Sanitizer" not in done.stdout and "runtime error" not in done.stdout, done.stdout[-4000:]
    assert "Traceback" not in done.stderr and "Python Exception" not in done.stderr, done.stderr[-4000:]
    return Run(done.returncode, done.stdout, done.stderr)


class DoorPlace(GdbPlace):
    """Through a real OpenOCD. The board's log holds what happens from here on."""

    tcl = False

    def gdb(self, *commands):
        self.board.watch(NOWHERE)
        return run_gdb(self.elf, self.server.gdb_port(self.core), *commands, tcl=self.tcl)

    def delta_in_gdb(self, tmp_path, words, *before):
        file = tmp_path / "run.jsonl"
        done = self.gdb(*before, f"pmu delta {words} -j {file}")
        result = Run(done.code, file.read_text() if file.exists() else "", done.err)
        result.said = done.out
        return result


class TclPlace(DoorPlace):
    """OpenOCD has a Tcl port as users have it, of a number that they chose: `pmu delta` finds it."""

    tcl = True

    def start_server(self, *commands):
        others = [f"{self.chip}.cpu1 configure -gdb-port disabled"] if self.chip in ("a9", "a53") else []  # a number for each is not to be had
        server = GdbServer(self.board, "gdb_port 0", *others, *commands, config=self.config(), config_first=f"tcl_port {free_port()}")
        self.servers.append(server)
        return server


class Terminal:
    """GDB with a user at its prompt."""

    def __init__(self, elf, port, *words, tcl=False):
        self.child = pexpect.spawn(GDB[0], [*GDB[1:], "-iex", "set style enabled off", *words, elf], encoding="utf-8",
                                   codec_errors="replace", timeout=WAIT, env=environment(), echo=False)
        self.child.expect_exact("(gdb) ")
        for command in ["set confirm off", "set width 0", *setup(port, tcl)]:
            self(command)

    def __call__(self, command):
        self.child.sendline(command)
        self.child.expect_exact("(gdb) ")
        return self.child.before

    def close(self):
        self.child.kill(9)
        self.child.wait()
        self.child.close()


class Screen:
    """GDB on a whole terminal, for its TUI."""

    def __init__(self, words):
        self.name = f"gdb-{uuid.uuid4().hex}"  # an id is used again, while the server of that name still ends
        self._tmux("new-session", "-d", "-s", self.name, "-x", "120", "-y", "40", " ".join(map(shlex.quote, words)) + "; sleep 60")

    def _tmux(self, *words):
        return subprocess.run(["tmux", "-L", self.name, "-u", *words], env=dict(environment(), TERM="xterm"), capture_output=True,
                              text=True, check=True).stdout

    def type(self, command):
        self._tmux("send-keys", "-t", self.name, "-l", command)
        self._tmux("send-keys", "-t", self.name, "Enter")

    def text(self):
        return self._tmux("capture-pane", "-p", "-t", self.name)

    def wait_for(self, pattern, what):
        wait_for(lambda: re.search(pattern, self.text()), what)

    def resize(self, columns, lines):
        self._tmux("resize-window", "-t", self.name, "-x", str(columns), "-y", str(lines))

    def close(self):
        subprocess.run(["tmux", "-L", self.name, "kill-server"], capture_output=True, check=False)


class Mi:
    """GDB in the way that an IDE uses it."""

    def __init__(self, elf, port, tcl=False):
        self.process = subprocess.Popen([*GDB, "--interpreter=mi2", elf], text=True, errors="replace", stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, env=environment(), bufsize=1)
        for command in ["-gdb-set mi-async on", *setup(port, tcl)]:
            self(command)

    def __call__(self, command):
        """All records until GDB has done it, and the console text."""
        self.process.stdin.write(f"{command}\n77-list-features\n")
        records, text = [], ""
        for line in self.process.stdout:
            if line.startswith("77^"):
                break
            records.append(line.rstrip("\n"))
            if line.startswith("~"):
                text += line[2:].rstrip("\n")[:-1].encode().decode("unicode_escape").encode("latin-1").decode()
        return records, text

    def wait_for_stop(self):
        for line in self.process.stdout:
            if line.startswith("*stopped"):
                return line

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()

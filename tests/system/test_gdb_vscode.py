"""GDB as cortex-debug, VS Code's extension, starts and drives it: a numbered MI command a line, some sent before the answer to the one before."""
import re
import subprocess

import pytest

from gdb_door import GDB, SCRIPT, DoorPlace, environment
from harness import TOOL, WAIT, WORK_BY_DATA

pytestmark = pytest.mark.any_fifth


class CortexDebug:
    """What it sends to attach, with `postAttachCommands` as docs/gdb.md has them; then what VS Code asks for."""

    def __init__(self, elf, port):
        self.process = subprocess.Popen([GDB[0], "-q", "--interpreter=mi2", "-nx", "-iex", "set debuginfod enabled off"], text=True, errors="replace",
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment(), bufsize=1)
        self.token = 0
        self("gdb-version")
        self("gdb-set mi-async on", console("set print demangle on"), console("set print asm-demangle on"), "enable-pretty-printing",
             console("set output-radix 0xa"), console("set input-radix 0xa"), f'file-exec-and-symbols "{elf}"')
        self(console(f"set remotetimeout {WAIT}"), f"target-select extended-remote localhost:{port}", console("monitor halt"),
             console(f"source {SCRIPT}"), console(f"set pmu binary {TOOL}"), console(f"set pmu timeout {WAIT}s"))

    def __call__(self, *commands):
        """All records until the last command has its result."""
        for command in commands:
            self.token += 1
            self.process.stdin.write(f"{self.token}-{command}\n")
        self.process.stdin.write("99999-list-features\n")
        found = []
        for line in self.process.stdout:
            if line.startswith("99999^"):
                break
            found.append(line.rstrip("\n"))
        return found

    def result(self, command):
        return next(line.split("^", 1)[1] for line in self(command) if re.match(r"\d+\^", line))

    def stack(self):
        """In the order in which the call stack and the registers are asked for after a stop."""
        self("thread-list-ids", "thread-info 1")
        frames = self.result("stack-list-frames --thread 1 0 20")
        self("stack-list-variables --thread 1 --frame 0 --simple-values")
        names = re.findall(r'"(.*?)"', self.result("data-list-register-names"))
        assert self.result("stack-select-frame --thread 1 0") == "done"
        values = dict(re.findall(r'number="(\d+)",value="(.*?)"', self.result("data-list-register-values x")))
        return frames, {name: values[str(number)] for number, name in enumerate(names) if str(number) in values}

    def until_stop(self):
        return next(line.rstrip("\n") for line in self.process.stdout if line.startswith("*stopped"))

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


def console(command):
    """As its Debug Console sends what is typed there."""
    return f'interpreter-exec console "{command}"'


@pytest.fixture
def vscode(request):
    with DoorPlace("m4", "free", WORK_BY_DATA) as place:
        found = CortexDebug(place.elf, place.server.gdb_port())
        found.place = place
        try:
            yield found
        finally:
            found.close()


def test_a_measurement_is_one_run_and_one_stop(vscode):
    assert vscode.result('break-insert -h "called_twice"').startswith("done,bkpt=")
    before = vscode.result("break-list")
    many = vscode(console("pmu delta work_by_data -r 12"))
    assert any("12 hits" in line for line in many), many
    assert [line.split(",")[0] for line in many if not re.match(r'[~&]"|\(gdb', line)] == ["*running", "*stopped", f"{vscode.token}^done"], many
    stop, = (line for line in many if line.startswith("*stopped"))
    found = re.fullmatch(r'\*stopped,reason="end-stepping-range",frame=\{(addr="(0x\w+)",func="(\w+)",)args=\[(.*)\],'
                         r'(file=".*",fullname=".*",line="\d+",arch="[\w-]+")\},thread-id="1",stopped-threads="all"', stop)
    assert found, stop
    frames, registers = vscode.stack()
    assert f'{{level="0",{found[1]}{found[5]}}}' in frames and len(re.findall(r"\blevel=", frames)) >= 2, frames
    assert int(registers["pc"], 16) == int(found[2], 16) and {"r0", "sp", "lr"} <= set(registers)
    assert int(registers["pc"], 16) == vscode.place.board.state()["pc"]
    assert vscode.result("break-list") == before
    vscode("gdb-set language auto", "exec-next --thread 1")
    own = vscode.until_stop()
    assert re.sub(r'"[^"]*"', '""', own).startswith(re.sub(r'"[^"]*"', '""', stop).split(",args=")[0]), own


def test_the_users_breakpoint_is_the_stop(vscode):
    vscode('break-insert -h "random_number"')
    records = vscode(console("pmu delta work_by_data -r 50"))
    stop, = (line for line in records if line.startswith("*stopped"))
    assert 'reason="breakpoint-hit",' in stop and 'bkptno="1",frame={' in stop and 'func="random_number"' in stop, stop
    results = [line for line in records if re.match(r"\d*\^", line)]
    assert len(results) == 1 and "stopped by" in results[0], records


def test_an_error_carries_its_reason(vscode):
    for command, says in [("pmu delta nofunc", r'msg="pmu delta: no symbol `nofunc` in \S+\.elf\\n.*help pmu delta shows what it takes"'),
                          ("pmu delta", "pmu delta: .*needs a FUNCTION"), ("pmu lines work_by_data", "pmu lines does not run inside GDB"),
                          ("pmu nosuch", "unknown word"), ("pmu report /nowhere", "/nowhere")]:
        records = vscode(console(command))
        assert any(re.search(r"\^error,.*" + says, line) for line in records), (command, records)
        assert not any(line[:1] == "~" and "pmu-probe:" in line for line in records), records


def test_survey(vscode):
    records = vscode(console("pmu survey work_by_data hidden_step -r 2"))
    assert any(line.startswith('~"work_by_data ') for line in records) and any(line.startswith('~"hidden_step ') for line in records), records
    assert [line.split(",")[0] for line in records if not re.match(r'[~&]"|\(gdb', line)] == ["*running", "*stopped", f"{vscode.token}^done"], records[-4:]
    assert not any("received signal" in line for line in records), records


def test_help_has_the_form_of_gdbs_own(vscode):
    listed = "".join(line[2:-1] for line in vscode(console("help pmu")))
    rows = re.findall(r"^(pmu \w+) -- (.*?)$", listed.replace("\\n", "\n"), re.M)
    assert len(rows) > 10
    for command, sentence in rows:
        assert re.fullmatch(r"[A-Z][a-z]+ .*\.", sentence) and f"Usage: {command}" in "".join(vscode(console(f"help {command}"))), command

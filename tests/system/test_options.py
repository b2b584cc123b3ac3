"""No option is ignored silently: a command refuses by name each option that it does not take, before it connects. From
pmu-probe.conf it takes only its own. For the table, and each option with each command, see unit/commands/test_options.c."""
import os
import random
import re
import socket
import subprocess

import pytest

from harness import CLOSED_PORT, SOAK, TOOL, WAIT, finish_tool, run_tool, start_tool
from once import once

COMMANDS = ["probes", "info", "delta", "survey", "lines", "stat", "watch", "record", "top", "guard", "irq", "tasks", "doctor", "restore", "reset", "stub", "list", "report", "annotate", "compare", "show"]
OPERANDS = {"guard": ["*0x100"], "lines": ["*0x100"], "delta": ["*0x100", "*0x104"], "stub": ["status"], "annotate": ["main"], "compare": ["old.jsonl", "new.jsonl"], "show": ["old.jsonl"]}
VALUES = {"--every": "1000", "N": "1", "HZ": "12M", "TIME": "1s", "AP:ADDR": "1:0x80090000", "ID": "any", "OFFSET": "0x1000", "SEP": ",", "FORMAT": "csv", "WIRES": "swd",
          "EVENTS": "CPU_CYCLES", "METRICS": "CPI", "BUDGET": "1200", "BAUD": "2M", "PROBE": "msr", "KEY": "line", "PART": "1%"}
OPTION = re.compile(r"^  (?:(-\w), |    )(--[\w-]+)(?: (\S+))?")


def value_of(name, value):
    return VALUES.get(name, VALUES.get(value, "x"))


def options_of(*words):
    """Letter, name and value of each that the tool's own help lists."""
    return [found.groups() for found in map(OPTION.match, run_tool(*words).out.splitlines()) if found]


@once
def help_of_all():
    return {"": options_of("--help", "--all")} | {command: options_of("help", command, "--all") for command in COMMANDS}


TABLE = help_of_all()[""]
TAKEN = {command: {name for _, name, _ in help_of_all()[command]} for command in COMMANDS}
REFUSED = [(letter, name, value, [command for command in COMMANDS if name not in TAKEN[command]]) for letter, name, value in TABLE]
REFUSED = [row for row in REFUSED if row[3] and row[1] != "--elf"]  # that one is ignored


def test_the_manual_has_the_options_of_each_command():
    sections = run_tool("--manual").out.replace("\\-", "-").split('.SS "')[1:]
    manual = {section.split('"')[0].split()[0]: re.search(r"^Options: (.*)\.$", section, re.M)[1].split(", ") for section in sections}
    assert set(manual) >= set(COMMANDS)
    for command in COMMANDS:
        assert sorted(manual[command]) == sorted(name for _, name, _ in help_of_all()[command])


def test_help_knows_them_all():
    assert len(TABLE) > 35 and len(REFUSED) > 20
    assert set.union(*TAKEN.values()) == {name for _, name, _ in TABLE}
    for command in COMMANDS:
        help_text = run_tool(command, "--help").out
        assert help_text == run_tool("help", command).out and help_text.count("(") == help_text.count(")")
        assert "pmu-probe pmu-probe" not in help_text
        assert run_tool("--all", command, "--help").out == run_tool("help", "--all", command).out
    assert len(run_tool("--help").out.splitlines()) <= 42


class Listener:
    """A port as OpenOCD has it. Nobody may connect to it."""

    def __enter__(self):
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.socket.setblocking(False)
        self.probe = f"openocd:127.0.0.1:{self.socket.getsockname()[1]}"
        return self

    def was_called(self):
        try:
            self.socket.accept()[0].close()
            return True
        except BlockingIOError:
            return False

    def __exit__(self, *_):
        self.socket.close()


@pytest.mark.parametrize("letter, name, value, commands", REFUSED, ids=[row[1] for row in REFUSED])
def test_refused_by_name_before_anything_is_connected(letter, name, value, commands, tmp_path):
    rng = random.Random(f"{os.environ['PMU_SEED']} {name}")
    for command in commands if SOAK else rng.sample(commands, 1):
        typed = rng.choice([letter or name, name])
        with Listener() as nobody:
            probe = ["-p", nobody.probe] if "--probe" in TAKEN[command] else []
            result = run_tool(*probe, "-o", tmp_path / "out", typed, *([value_of(name, value)] if value else []), command,
                              *OPERANDS.get(command, []))
            assert result.code == 2 and result.out == "", (command, result.err)
            assert result.err.startswith(f"pmu-probe: {typed}") and command in result.err.splitlines()[0], (command, result.err)
            assert not nobody.was_called() and not (tmp_path / "out").exists()


def run_in(folder, *words):
    environment = {name: value for name, value in os.environ.items() if name != "PMU_PROBE"}
    return finish_tool(subprocess.Popen([TOOL, *words], cwd=folder, env=environment, text=True, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE))


@pytest.mark.parametrize("command", COMMANDS)
def test_a_conf_with_every_option_serves_every_command(command, tmp_path):
    left_out = ["--help", "--version", "--probe", "--elf", "--output", "--baseline", "--counters", "--all-cpus", "--debug-base", "--reset",
                "--trust-conf", "--all"]
    if command == "delta":
        left_out += ["--tick", "--outliers"]  # they need an ELF before anything is connected
    # Of files that are written each is another one
    lines = [f"{name[2:]} = {name[2:] if value == 'FILE' else value_of(name, value)}" if value else name[2:]
             for _, name, value in TABLE if name not in left_out]
    (tmp_path / "pmu-probe.conf").write_text("\n".join(lines) + "\n")
    linked = "--probe" in TAKEN[command]
    probe = ["-p", f"openocd:127.0.0.1:{CLOSED_PORT}"] if linked else []
    result = run_in(tmp_path, "--trust-conf", *probe, command, *OPERANDS.get(command, []))
    code, fact = (3, "nothing listens") if linked else (2, "No such file")
    if command == "survey":  # its operands are names
        code, fact = 2, "no ELF file to find functions in"
    if command in ("guard", "lines"):  # its function is looked up in an ELF before anything is connected
        code, fact = 2, "is not the entry of a function"
    if command in ("irq", "tasks"):  # so are the handlers of --regions, and the variable of --task
        code, fact = 2, "--elf FILE" if command == "irq" else "neither a variable of the ELF"
    assert result.code == code and fact in result.err, result.err


def test_a_broken_conf_is_not_in_the_way_of_help(tmp_path):
    (tmp_path / "pmu-probe.conf").write_text("formt = json\n")
    for words in (["--help"], ["--version"], ["help", "delta"], ["stat", "--help"], ["version"]):
        assert run_in(tmp_path, *words).code == 0
    refused = run_in(tmp_path, "info")
    assert refused.code == 2 and 'pmu-probe.conf:1: unknown option "formt"; did you mean format' in refused.err


def test_a_probe_that_is_said_beats_the_file_of_the_conf(tmp_path):
    (tmp_path / "pmu-probe.conf").write_text(f"tcl = exec touch {tmp_path}/started\nfile = x.cfg\n")
    result = run_in(tmp_path, "-p", f"cmsis-dap-tcp:127.0.0.1:{CLOSED_PORT}", "info")
    assert result.code == 3 and "nothing listens" in result.err and not (tmp_path / "started").exists()


def environment_of(folder):
    return dict({name: value for name, value in os.environ.items() if name != "PMU_PROBE"}, XDG_CONFIG_HOME=str(folder))


@pytest.mark.parametrize("line", ["tcl = exec touch {0}/done; shutdown", "file = {0}/a.cfg", "output = {0}/done"])
def test_a_conf_of_a_folder_does_nothing(line, tmp_path):
    """The same line in the user's own file, or in one that the user trusts, does it."""
    came, own, done = tmp_path / "came", tmp_path / "own" / "pmu-probe", tmp_path / "done"
    came.mkdir()
    own.mkdir(parents=True)
    (tmp_path / "a.cfg").write_text(f"exec touch {done}; shutdown\n")
    probe = [] if "output" not in line else ["-p", f"openocd:127.0.0.1:{CLOSED_PORT}"]
    words = ["list", "--cpu", "cortex-m4"] if probe else ["info"]

    def run(*options):
        return finish_tool(subprocess.Popen([TOOL, *options, *words], cwd=came, env=environment_of(tmp_path / "own"), text=True,
                                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE))

    (came / "pmu-probe.conf").write_text("\n" + line.format(tmp_path) + "\n")
    refused = run()
    assert refused.code == 2 and refused.err.startswith("pmu-probe: pmu-probe.conf:2: " + line.split()[0]) and "--trust-conf" in refused.err
    assert not done.exists()
    run("--trust-conf")
    assert done.exists()
    done.unlink()
    (came / "pmu-probe.conf").rename(own / "pmu-probe.conf")
    run()
    assert done.exists()


def test_nothing_but_the_name_is_answered_by_examples():
    process = start_tool([TOOL])
    out, err = process.communicate(timeout=WAIT)
    assert process.returncode == 2 and out == "" and err.startswith("usage: pmu-probe")
    assert len([line for line in err.splitlines() if line.startswith("  pmu-probe ")]) == 3

"""Completion in a real bash, zsh and fish, and the manual page in a real man. All are made of the tool's own tables."""
import os
import re
import shutil
import subprocess

import pexpect
import pytest

from harness import BUILD, ROOT, TOOL, WAIT, elf_of, run_tool

SCRIPTS = os.path.join(ROOT, "contrib/completions")
FIRMWARE = elf_of("m4", "free")
SHAPES = os.path.join(BUILD, "fixtures", "shapes.elf")
SHELLS = {
    "bash": ["bash", "--norc", "--noprofile", "-i"],
    "zsh": ["zsh", "-f", "-i"],
}
LOADS = {
    "bash": f". /usr/share/bash-completion/bash_completion; . {SCRIPTS}/pmu-probe.bash",
    "zsh": f"fpath=({SCRIPTS} $fpath); autoload -U compinit; compinit -u -D",
}
# What is typed, and what it becomes
ROWS = [
    ("del", "delta"),
    ("help rest", "help restore"),
    ("stub ena", "stub enable"),
    ("stat --sep", "stat --separator"),
    ("stat --format cs", "stat --format csv"),
    ("stat --format=js", "stat --format=json"),
    ("--elf board_", "--elf board_app.elf"),
    ("--elf=board_", "--elf=board_app.elf"),
    ("-s some_", "-s some_folder"),
    (f"--elf {FIRMWARE} delta work_by", f"--elf {FIRMWARE} delta work_by_data"),
    (f"--elf {FIRMWARE} lines work_by", f"--elf {FIRMWARE} lines work_by_data"),
    (f"delta --elf {SHAPES} geometry::Shape::ar", f"delta --elf {SHAPES} geometry::Shape::area"),
    ("stat -e CPU_CYCLES,LSUC", "stat -e CPU_CYCLES,LSUCNT"),
    ("stat -e '{CPU_CYCLES,LSUC", "stat -e {CPU_CYCLES,LSUCNT"),
    ("--elf 'board_app.elf' del", "--elf board_app.elf delta"),
    ("delta -M CPI,BRANCH_", "delta -M CPI,BRANCH_MISS"),
    ("list --cpu cortex-m8", "list --cpu cortex-m85"),
    ("list --cpu neoverse-e", "list --cpu neoverse-e1"),
    ("list --cpu cortex-a9 JAVA_HW", "list --cpu cortex-a9 JAVA_HW_BYTECODE_EXEC"),
    ("report board_", "report board_app.elf"),
    ("compare board_", "compare board_app.elf"),
    ("report --sort li", "report --sort line"),
    ("-p msr-", "-p msr-agent:"),
    ("-f zynqm", "-f zynqmp"),
    ("-f board_", "-f board_app.elf"),
]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "bin").mkdir()
    shutil.copy(TOOL, tmp_path / "bin" / "pmu-probe")  # as installed: it finds its board files from where it is
    (tmp_path / "share" / "pmu-probe").mkdir(parents=True)
    (tmp_path / "share" / "pmu-probe" / "openocd-cfg").symlink_to(os.path.join(ROOT, "openocd-cfg"))
    (tmp_path / "some_folder").mkdir()
    (tmp_path / "board_app.elf").write_text("")
    return tmp_path


def environment(folder):
    return dict(os.environ, PATH=f"{folder}/bin:{os.environ['PATH']}", HOME=str(folder), TERM="dumb", LC_ALL="C.UTF-8")


def complete(shell, folder, rows):
    """The words that the shell offers for each row when TAB is pressed at its end."""
    child = pexpect.spawn(SHELLS[shell][0], SHELLS[shell][1:], cwd=str(folder), env=environment(folder), encoding="utf-8",
                          timeout=WAIT, dimensions=(50, 1000))
    child.sendline(f"PS1='ready> '; {LOADS[shell]}; printf 'loa%s\\n' ded")
    child.expect("loaded\r?\n")
    found = []
    for row in rows:
        child.expect("ready> ")
        quote = "'" if shell == "zsh" and row.count("'") % 2 else ""  # bash closes it
        child.send(f"pmu-probe {row}\t{quote}\001printf '|%s' \005; echo\r")
        child.expect(r"\|pmu-probe\|([^\r\n]*)\r?\n")
        found.append(child.match.group(1).replace("|", " ").rstrip("/"))  # zsh removes it after a folder
    child.sendline("exit")  # close() kills, and gives up soon on a busy machine
    child.expect(pexpect.EOF)
    child.wait()
    child.close()
    return found


@pytest.mark.parametrize("shell", SHELLS)
def test_tab_completes(shell, folder):
    assert complete(shell, folder, [typed for typed, _ in ROWS]) == [done for _, done in ROWS]


def test_fish_completes(folder):
    for typed, done in ROWS:
        asked = subprocess.run(["fish", "-N", "-c", f"source {SCRIPTS}/pmu-probe.fish; complete -C $argv[1]", f"pmu-probe {typed}"],
                               cwd=folder, env=environment(folder), text=True, capture_output=True, timeout=WAIT)
        assert asked.returncode == 0 and asked.stderr == ""
        assert {line.split("\t")[0].rstrip("/") for line in asked.stdout.splitlines()} == {done.split()[-1]}, typed


def words(*typed):
    return [line.split("\t")[0] for line in run_tool("--complete", *typed).out.splitlines()]


def test_everything_of_the_tables_is_offered():
    commands = words("")
    assert words("help", "") == [name for name in commands if name not in ("help", "version")]
    for command in commands:
        listed = re.findall(r"^  (?:-\w, |    )(--[\w-]+)", run_tool(command, "--help", "--all").out, re.M)
        assert command in ("help", "version") or sorted(words(command, "-")) == sorted(name for name in listed if name != "--all")
    assert "serve" not in commands


def test_only_what_can_stand_there_is_offered():
    assert words("watch", "--format", "") == ["text", "json", "csv"]
    assert words("reset", "--ha") == ["--halt"] and words("stat", "--ha") == []
    assert words("delta", "main") == [] and words("stat", "x") == [] and words("delta", "a", "b", "") == []
    assert words("--elf", "") == words("--elf=") == [":files"]
    assert words("--", "") == words("")
    assert words("--no-such-option=") == words("--elf", "/dev/null", "delta", "") == []


def test_the_elf_of_a_conf_is_asked(tmp_path):
    (tmp_path / "pmu-probe.conf").write_text(f"elf = {FIRMWARE}\n")
    asked = subprocess.run([TOOL, "--complete", "delta", "work_by"], cwd=tmp_path, text=True, capture_output=True, timeout=WAIT)
    assert asked.stdout == "work_by_data\t\n"


def test_the_manual_page(tmp_path):
    page = tmp_path / "pmu-probe.1"
    page.write_text(run_tool("--manual").out)
    shown = subprocess.run(["man", "--warnings", "-l", str(page)], text=True, capture_output=True, timeout=WAIT,
                           env=dict(os.environ, MANWIDTH="80", MAN_KEEP_FORMATTING="", LC_ALL="C.UTF-8"))
    assert shown.returncode == 0 and shown.stderr == ""
    text = re.sub("\x1b\\[[0-9;]*m|.\b", "", shown.stdout)
    squeezed = " ".join(text.split())
    for line in run_tool("--help", "--all").out.splitlines():
        for option in re.findall(r"^  (?:-\w, |    )(--[\w-]+)", line):
            assert re.search(rf"^ +(-\w, )?{option}( .*)?$", text, re.M), option
    for command in words(""):
        does = re.search(rf"^{command}: (.*)\.$", run_tool("help", command).out, re.M)
        assert command in ("help", "version") or does.group(1)[1:] in squeezed
    for title in ("NAME", "SYNOPSIS", "COMMANDS", "OPTIONS", "EXIT STATUS", "ENVIRONMENT", "FILES", "EXAMPLES"):
        assert f"\n{title}\n" in text
    for name in ("PMU_PROBE", "PMU_OPENOCD", "PMU_PROBE_PATIENCE", "NO_COLOR", "$XDG_CONFIG_HOME/pmu-probe/pmu-probe.conf", "--trust-conf"):
        assert name in text[text.index("\nENVIRONMENT\n"):]
    # The help, the manual and the page have the same codes
    codes = re.findall(r"^\.TP\n(\d+)$", page.read_text(), re.M)
    with open(os.path.join(ROOT, "docs/ci.md"), encoding="utf-8") as file:
        assert sorted(set(re.findall(r"^\| (\d+) \|", file.read(), re.M))) == sorted(codes)
    assert re.findall(r"(?:^|; )(\d+) ", run_tool("--help", "--all").out.split("Exit codes: ")[1].replace("\n", " ")) == codes

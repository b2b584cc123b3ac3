"""`make install` into a folder: the tool finds its board files by name from anywhere; `make uninstall` leaves nothing."""
import os
import subprocess

from board import Board
from harness import ROOT


BUILT = f"BUILD={os.environ.get('PMU_BUILD', 'build')}"


def make(*words):
    done = subprocess.run(["make", "-s", "-C", ROOT, *words], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    assert done.returncode == 0, done.stdout
    return done.stdout


def files_in(folder):
    return sorted(os.path.relpath(os.path.join(at, name), folder) for at, _, names in os.walk(folder) for name in names)


def test_install_and_uninstall(tmp_path):
    prefix, here = tmp_path / "there", tmp_path / "here"
    here.mkdir()
    said = make(BUILT, "install", f"PREFIX={prefix}")
    assert "udev does not read" in said and f"sudo cp {prefix}/lib/udev/rules.d/60-pmu-probe.rules" in said
    with Board.start("m4") as board:
        for name in ("virtual.cfg", "boards/virtual.cfg", "openocd-cfg/boards/virtual.cfg"):
            words = [str(prefix / "bin" / "pmu-probe"), "-c", f"set BOARD_PORT {board.jtag_port}", "-f", name, "info"]
            done = subprocess.run(words, cwd=here, text=True, capture_output=True)
            assert done.returncode == 0 and "Cortex-M4" in done.stdout, done.stderr
            assert done.stdout.startswith(f"openocd -c set BOARD_PORT {board.jtag_port} -f {name}\n")
        (here / "virtual.cfg").write_text("error {mine comes first}\n")
        done = subprocess.run(words[:-2] + ["virtual.cfg", "info"], cwd=here, text=True, capture_output=True)
        assert done.returncode == 3 and "mine comes first" in done.stderr
    manual = subprocess.run(["man", "-M", str(prefix / "share" / "man"), "pmu-probe"], text=True, capture_output=True)
    assert manual.returncode == 0 and "PMU-PROBE(1)" in manual.stdout
    asked = subprocess.run(["fish", "-c", f"source {prefix}/share/fish/vendor_completions.d/pmu-probe.fish; "
                            f"complete -C '{prefix}/bin/pmu-probe del'"], text=True, capture_output=True)
    assert asked.stdout.startswith("delta\t")
    assert make(BUILT, "uninstall", f"PREFIX={prefix}") == ""
    assert files_in(prefix) == []


def test_a_packager_sees_no_advice(tmp_path):
    assert make(BUILT, "install", "PREFIX=/usr", f"DESTDIR={tmp_path}") == ""
    files = files_in(tmp_path)
    for name in ("lib/udev/rules.d/60-pmu-probe.rules", "share/man/man1/pmu-probe.1", "share/bash-completion/completions/pmu-probe",
                 "share/zsh/site-functions/_pmu-probe", "share/fish/vendor_completions.d/pmu-probe.fish"):
        assert f"usr/{name}" in files
    make(BUILT, "uninstall", "PREFIX=/usr", f"DESTDIR={tmp_path}")
    assert files_in(tmp_path) == []


def test_the_tool_alone_needs_no_cross_compiler(tmp_path):
    said = make("-n", f"BUILD={tmp_path}/build", f"{tmp_path}/build/pmu-probe")
    assert "probe/stub/stub.c" in said and "arm-none-eabi" not in said and "aarch64-linux" not in said


def test_the_callers_flags_are_used(tmp_path):
    built = [f"{tmp_path}/build/{name}" for name in ("pmu-probe", "board", "card", "clients/usb-client", "bench/simulated_hits",
                                                    "asan/pmu-probe", "unit/base")]
    said = make("-n", f"BUILD={tmp_path}/build", "CPPFLAGS=-DMINE", "CFLAGS=-O3", "LDFLAGS=-L/mine", *built)
    commands = [line for line in said.replace("\\\n", " ").splitlines() if " -o " in line]
    assert len(commands) > 300
    for line in commands:
        for_tests = "-fsanitize" in line
        assert " -c " not in line or " -DMINE " in line and (for_tests or " -O3 " in line), line
        assert " -c " in line or " -L/mine " in line and (for_tests or " -O3 " in line), line

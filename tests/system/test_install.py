"""`make install` into a folder: the tool finds its board files by name from anywhere; `make uninstall` leaves nothing."""
import os
import re
import subprocess
import sys

import pytest

from board import Board
from harness import RELEASE, ROOT

pytestmark = pytest.mark.any_fifth


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
    said = make(BUILT, f"TOOL={RELEASE}", "install", f"PREFIX={prefix}")
    assert "udev does not read" in said and f"sudo cp {prefix}/lib/udev/rules.d/60-pmu-probe.rules" in said
    assert "Plug USB probes in again" in said and "adduser USER plugdev" in said and "--reload" not in said  # udevadm(8)
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
    assert f"export PYTHONPATH={prefix}/share/pmu-probe/python" in said
    asked = subprocess.run([sys.executable, "-c", "import pmu_probe; print(pmu_probe.__file__)"], text=True, capture_output=True,
                           env=dict(os.environ, PYTHONPATH=f"{prefix}/share/pmu-probe/python"))
    assert asked.stdout.startswith(str(prefix)), asked.stderr
    (here / "CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.20)\nproject(app NONE)\nfind_package(PmuProbe REQUIRED)\n"
                                         "pmu_probe_test(NAME fir ELF app.elf REGION fir)\n")
    asked = subprocess.run(["cmake", f"-DCMAKE_PREFIX_PATH={prefix}", "."], cwd=here, text=True, capture_output=True)
    assert asked.returncode == 0 and f"PMU_PROBE:FILEPATH={prefix}/bin/pmu-probe" in (here / "CMakeCache.txt").read_text(), asked.stderr
    asked = subprocess.run(["fish", "-c", f"source {prefix}/share/fish/vendor_completions.d/pmu-probe.fish; "
                            f"complete -C '{prefix}/bin/pmu-probe del'"], text=True, capture_output=True)
    assert asked.stdout.startswith("delta\t")
    assert make(BUILT, "uninstall", f"PREFIX={prefix}") == ""
    assert files_in(prefix) == []


def test_a_packager_sees_no_advice(tmp_path):
    assert make(BUILT, f"TOOL={RELEASE}", "install", "PREFIX=/usr", f"DESTDIR={tmp_path}") == ""
    files = files_in(tmp_path)
    for name in ("lib/udev/rules.d/60-pmu-probe.rules", "share/man/man1/pmu-probe.1", "share/bash-completion/completions/pmu-probe",
                 "share/zsh/site-functions/_pmu-probe", "share/fish/vendor_completions.d/pmu-probe.fish",
                 "share/cmake/PmuProbe/PmuProbe.cmake", "share/cmake/PmuProbe/PmuProbeConfig.cmake"):
        assert f"usr/{name}" in files
    assert sum(name.endswith("-packages/pmu_probe.py") for name in files) == 1  # Debian's python3 reads dist-packages
    make(BUILT, "uninstall", "PREFIX=/usr", f"DESTDIR={tmp_path}")
    assert files_in(tmp_path) == []


def test_the_package_has_the_tools_version():
    with open(os.path.join(ROOT, "contrib", "debian", "changelog"), encoding="utf-8") as file:
        version = re.match(r"pmu-probe \((.*?)\) ", file.read()).group(1)
    assert subprocess.run([RELEASE, "--version"], text=True, capture_output=True).stdout == f"pmu-probe {version}\n"


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


def reads_elf(*words):
    return subprocess.run(["readelf", "-W", *words], text=True, check=True, capture_output=True).stdout


def segments(path):
    """Type and flags of each."""
    return re.findall(r"^ +([A-Z_]+) +(?:0x[0-9a-f]+ +){5}([RWE ]{3})", reads_elf("-l", path), re.MULTILINE)


def is_at_a_random_place(path):
    return "Type: DYN" in " ".join(reads_elf("-h", path).split())


@pytest.mark.soak
def test_the_tool_is_hardened():
    tool = os.path.join(ROOT, BUILT.removeprefix("BUILD="), "pmu-probe")
    found, dynamic, symbols = segments(tool), reads_elf("-d", tool), reads_elf("-s", "--dyn-syms", tool)
    assert is_at_a_random_place(tool)
    assert any(kind == "GNU_RELRO" for kind, _ in found) and "BIND_NOW" in dynamic
    assert ("GNU_STACK", "RW ") in found and not any("W" in flags and "E" in flags for _, flags in found)
    assert "__stack_chk_fail" in symbols and len(set(re.findall(r"__\w+_chk@", symbols))) > 5


def test_the_cards_agent_is_hardened_as_far_as_it_goes():
    """It has no library, so nobody would carry out relocations."""
    agent = os.path.join(ROOT, BUILT.removeprefix("BUILD="), "knc", "msr-agent")
    found = segments(agent)
    assert is_at_a_random_place(agent) and "no relocations" in reads_elf("-r", agent)
    assert ("GNU_STACK", "RW ") in found and not any("W" in flags and "E" in flags for _, flags in found)
    assert "-fstack-protector-strong" in make("-n", "-W", "make/knc.mk", BUILT, "knc")


@pytest.mark.any_row(2)
@pytest.mark.parametrize("flags, fortified", [("-O2 -g", True), ("-Og", True), ("-g", False), ("-O2 -O0", False), ("-O1 -fsanitize=address", False),
                                              ("-O2 -Wp,-D_FORTIFY_SOURCE=1", False)])
def test_fortified_where_that_is_of_use(flags, fortified, tmp_path):
    said = make("-n", f"BUILD={tmp_path}/build", f"CFLAGS={flags}", f"{tmp_path}/build/obj/probe/main.o", f"{tmp_path}/build/asan/probe/main.o")
    plain, sanitized = [line for line in said.splitlines() if "probe/main.c" in line]
    assert ("-D_FORTIFY_SOURCE=3" in plain) == fortified and "-fstack-clash-protection" in plain
    assert "-fsanitize" in sanitized and "_FORTIFY_SOURCE" not in sanitized

"""The target stub for every core it is for: C11 and C++17, GCC and Clang, no complaints; nothing that an image without a
loader could not have; small enough."""
import os
import re
import subprocess

import pytest

from once import once

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.join(ROOT, os.environ.get("PMU_BUILD", "build"))
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror"]
EVERY = os.path.join(ROOT, "tests", "stub", "every.c")
MAY_BE_ASKED_FOR = {"memset", "__aeabi_memset", "__aeabi_memset4", "__aeabi_memclr", "__aeabi_memclr4", "__aeabi_memclr8"}  # by every.c's own {0}
ENABLE_AIM = {"v7": 128, "v8": 160}  # bytes


@once
def cores():
    out = subprocess.run(["make", "-s", "stub-list"], cwd=ROOT, check=True, text=True, stdout=subprocess.PIPE).stdout
    return {words[0]: words[1:] for words in map(str.split, out.splitlines())}


CORES = cores()


def compilers(core):
    """Command lines up to the file, as C11 and as C++17."""
    kind, gcc, *flags = CORES[core]
    target = "--target=" + ("aarch64-none-elf" if kind == "v8" else "arm-none-eabi")
    for c, cpp in ((gcc, gcc[:-2] + "++"), ("clang " + target, "clang++ " + target)):
        yield [*c.split(), "-std=c11", "-x", "c", *flags]
        yield [*cpp.split(), "-std=c++17", "-x", "c++", "-fno-exceptions", "-fno-rtti", *flags]


def run(command):
    done = subprocess.run(command, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == 0, " ".join(command) + "\n" + done.stdout[-4000:]
    return done.stdout


def foreign(path):
    """The names that an object asks others for."""
    return set(re.findall(r"\bUND +([^ \n]+)", run(["readelf", "-sW", path])))


@pytest.mark.parametrize("core", CORES)
def test_compiles_without_a_complaint(core, tmp_path):
    for command in compilers(core):
        for level in ("-O0", "-O2"):
            out = str(tmp_path / "every.o")
            run([*command, *WARNINGS, level, "-ffreestanding", "-Itarget-stub", "-c", EVERY, "-o", out])
            assert foreign(out) <= MAY_BE_ASKED_FOR


@pytest.mark.parametrize("core", CORES)
def test_a_program_that_uses_it_needs_nothing_else(core, tmp_path):
    """No function, no variable, no fixed place: what is linked is position independent."""
    for command in compilers(core):
        out = str(tmp_path / "linked.o")
        run([*command, "-Os", "-ffreestanding", "-fno-asynchronous-unwind-tables", "-Itarget-stub", "-c",
             "target-stub/linked.c", "-o", out])
        assert not foreign(out)
        assert "Relocation section '.rel.text" not in run(["readelf", "-rW", out])
        assert "Relocation section '.rela.text" not in run(["readelf", "-rW", out])
        sections = run(["readelf", "-SW", out])
        for line in re.findall(r"\.(?:data|bss)\S* +\S+ +\S+ +\S+ +(\S+)", sections):
            assert int(line, 16) == 0, sections


def sizes():
    lines = run(["make", "-s", f"BUILD={os.environ.get('PMU_BUILD', 'build')}", "stub-sizes"]).splitlines()
    names = lines[0].split()
    return {line.split()[0]: dict(zip(names, line.split()[1:])) for line in lines[1:]}


def test_sizes():
    found = sizes()
    assert set(found) == set(CORES)
    for core, by_way in found.items():
        aim = ENABLE_AIM.get(CORES[core][0])
        if aim:
            assert 0 < int(by_way["linked"]) <= aim and 0 < int(by_way["before"]) <= aim, (core, by_way)
            assert 0 < int(by_way["pushed"]), (core, by_way)


@pytest.mark.parametrize("core", [core for core in CORES if CORES[core][0] != "m"])
def test_clang_assembles_the_same_images(core, tmp_path):
    kind, gcc, *flags = CORES[core]
    for name in ("before", "pushed"):
        source = f"target-stub/{name}_{kind}.S"
        target = "--target=" + ("aarch64-none-elf" if kind == "v8" else "arm-none-eabi")
        words = []
        for compiler in ([gcc], ["clang", target]):
            out = str(tmp_path / "x.o")
            run([*compiler, *flags, "-c", source, "-o", out])
            run([gcc[:-3] + "objcopy", "-O", "binary", "-j", f".text.{name}", out, out + ".bin"])
            with open(out + ".bin", "rb") as file:
                # LDR r12 from the literal right after it: an offset of 0, added or subtracted
                words.append(file.read().replace(b"\x00\xc0\x1f\xe5", b"\x00\xc0\x9f\xe5"))
        assert words[0] == words[1] and len(words[0]) > 40

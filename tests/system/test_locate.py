"""What a location means, by an ELF file alone. The truth is binutils'."""
import re
import subprocess

import pytest

from harness import Place, elf_of, locate


def located(elf, *words, code=0):
    run = locate(elf, *words)
    assert run.code == code, run
    return run.lines


def functions_of(elf):
    text = subprocess.run(["readelf", "-sW", elf], capture_output=True, text=True, check=True).stdout
    found = re.findall(r": ([0-9a-f]+) +(\d+) FUNC +\w+ +\w+ +\d+ (\w+)$", text, re.M)
    names = [name for _, _, name in found]
    clear = 0 if "AArch64" in subprocess.run(["readelf", "-h", elf], capture_output=True, text=True, check=True).stdout else 1
    return {name: (int(address, 16) & ~clear, int(size)) for address, size, name in found if names.count(name) == 1 and size != "0"}


@pytest.mark.parametrize("chip", ["m4", "a9", "a53"])
def test_functions_are_where_readelf_says(chip):
    elf = elf_of(chip, "free")
    truth = dict(list(functions_of(elf).items())[:12])
    lines = located(elf, *truth)
    assert {line["name"]: (line["address"], line["bytes"]) for line in lines} == truth
    assert all(line["is_entry"] for line in lines)


def test_callers_are_the_calls_that_objdump_shows():
    elf = elf_of("m4", "free")
    name = "work_by_data"
    text = subprocess.run(["arm-none-eabi-objdump", "-d", elf], capture_output=True, text=True, check=True).stdout
    truth = [int(at, 16) for at in re.findall(rf"^ *([0-9a-f]+):.*\bb(?:l|\.w|\.n)?\s+[0-9a-f]+ <{name}>$", text, re.M)]
    (line,) = located(elf, name)
    assert truth and line["callers"] == truth


# --- separate files, and files without lines ------------------------------------------------------------------------

OBJCOPY = "arm-none-eabi-objcopy"


def separated(folder, elf, program="app.elf", debug="app.debug", strip="--strip-all"):
    """The program without names, and the file with its names next to it."""
    subprocess.run([OBJCOPY, "--only-keep-debug", elf, folder / debug], check=True)
    subprocess.run([OBJCOPY, strip, f"--add-gnu-debuglink={folder / debug}", elf, folder / program], check=True)
    return folder / program


@pytest.mark.parametrize("where", [".", ".debug"])
@pytest.mark.parametrize("strip", ["--strip-all", "--strip-debug"])
def test_a_separate_file_has_the_names(where, strip, tmp_path):
    elf = elf_of("m4", "free")
    program = separated(tmp_path, elf, strip=strip)
    (tmp_path / where).mkdir(exist_ok=True)
    (tmp_path / "app.debug").rename(tmp_path / where / "app.debug")
    words = ["work_by_data", "scenarios.c:28", "main+0x4"]
    assert located(program, *words) == located(elf, *words)


def test_a_separate_file_that_is_missing_is_named(tmp_path):
    program = separated(tmp_path, elf_of("m4", "free"))
    (tmp_path / "app.debug").unlink()
    refused = located(program, "work_by_data", code=2)[0]["error"]
    assert "its separate file app.debug" in refused
    (tmp_path / "app.debug").write_bytes(b"of another build")
    assert "its separate file app.debug" in located(program, "work_by_data", code=2)[0]["error"]


def test_a_separate_file_alone_is_not_the_program(tmp_path):
    program = separated(tmp_path, elf_of("m4", "free"))
    assert located(tmp_path / "app.debug", "work_by_data")[0]["source"].startswith("scenarios.c:")
    with Place("m4/swd") as place:
        place.elf = str(tmp_path / "app.debug")
        refused = place.run("delta", "work_by_data", "-r", 2)
        assert refused.code == 2 and "not its code" in refused.err and "Flash" not in refused.err, refused.err
        place.elf = str(program)
        measured = place.run("delta", "work_by_data", "-r", 2)
        assert measured.code == 0 and "scenarios.c" in measured.out, measured.err


def test_lines_that_cannot_be_read_are_named(tmp_path):
    elf = elf_of("m4", "free")
    bare, packed = tmp_path / "bare.elf", tmp_path / "packed.elf"
    subprocess.run([OBJCOPY, "--strip-debug", elf, bare], check=True)
    refused = locate(bare, "scenarios.c:28")
    assert refused.code == 2 and "no DWARF line tables" in refused.out and "Compile with -g" in refused.out + refused.err, refused.err
    if subprocess.run([OBJCOPY, "--compress-debug-sections=zstd", elf, packed], capture_output=True).returncode:
        pytest.skip("this objcopy has no zstd")
    packed_lines = locate(packed, "scenarios.c:28")
    assert packed_lines.code == 0 or "compressed with zstd" in packed_lines.out, packed_lines.out

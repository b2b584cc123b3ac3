"""locate: what a location means, by an ELF file alone. The truth is binutils'."""
import json
import os
import re
import subprocess

import pytest

from harness import BUILD, elf_of, run_tool

UNNAMED = os.path.join(BUILD, "fixtures", "unnamed.elf")


def located(elf, *words, code=0):
    run = run_tool("--elf", elf, "locate", "-j", *words)
    assert run.code == code, run
    lines = [json.loads(line) for line in run.out.splitlines()]
    assert lines[0]["command"] == "locate" and lines[-1]["type"] == "summary"
    return lines[1:-1], lines[-1], run


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
    lines, summary, _ = located(elf, *truth)
    assert {line["name"]: (int(line["address"], 16), line["function_bytes"]) for line in lines} == truth
    assert all(line["is_entry"] for line in lines) and summary["not_found"] == 0


def test_a_name_that_is_not_there_fails_and_the_others_are_shown():
    lines, summary, run = located(UNNAMED, "fir", "fri", "*0x8008", code=2)
    assert [line["location"] for line in lines] == ["fir", "fri", "*0x8008"]
    assert "did you mean" in lines[1]["error"] and "address" not in lines[1]
    assert summary == {"type": "summary", "locations": 3, "not_found": 1}
    assert "1 of 3 locations was not found" in run.err
    text = run_tool("--elf", UNNAMED, "locate", "fir", "fri")
    assert text.code == 2 and "not found: no symbol `fri`" in text.out and "called at _start+" in text.out


def test_callers_are_the_calls_that_objdump_shows():
    elf = elf_of("m4", "free")
    name = "work_by_data"
    text = subprocess.run(["arm-none-eabi-objdump", "-d", elf], capture_output=True, text=True, check=True).stdout
    truth = [int(at, 16) for at in re.findall(rf"^ *([0-9a-f]+):.*\bb(?:l|\.w|\.n)?\s+[0-9a-f]+ <{name}>$", text, re.M)]
    (line,), _, _ = located(elf, name)
    assert truth and [int(at, 16) for at in line["callers"]] == truth and line["calls"] == len(truth)


def test_a_file_of_regions_is_checked(tmp_path):
    regions = tmp_path / "app.regions"
    regions.write_text("filter fir max <= 100 cycles\npart unnamed.c:30 unnamed.c:36\nold gone\n")
    lines, summary, _ = located(UNNAMED, "--regions", regions, code=2)
    assert [(line["region"], line["location"], "error" in line) for line in lines] == [
        ("filter", "fir", False), ("part", "unnamed.c:30", False), ("part", "unnamed.c:36", False), ("old", "gone", True)]
    regions.write_text("filter fir\n")
    assert located(UNNAMED, "--regions", regions)[1]["not_found"] == 0


def test_what_is_missing_is_said():
    refused = run_tool("locate", "fir")
    assert refused.code == 2 and "--elf" in refused.err
    refused = run_tool("--elf", UNNAMED, "locate")
    assert refused.code == 2 and "needs a location" in refused.err

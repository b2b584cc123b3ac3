"""annotate: the lines and instructions of a function with the samples of a file that record could have written. The truth is
GNU's disassembler, and what the file says."""
import json
import os
import re
import shutil
import subprocess

import pexpect
import pytest

from harness import TOOL, WAIT, elf_of, finish_tool, run_tool, start_tool, unfolded

PROGRAM = """static volatile int sink;
__attribute__((noinline)) void work(int n)
{
\tfor (int i = 0; i < n; i++)
\t\tsink += i;
}

void _start(void)
{
    work(5);
}
"""
OBJDUMP = {"m4": "arm-none-eabi-objdump", "a9": "arm-none-eabi-objdump", "a53": "aarch64-linux-gnu-objdump"}


def disassembled(chip, elf):
    """Address to code in hex, in the order of the listing, by function; constants are not among it."""
    out = subprocess.run([OBJDUMP[chip], "-dz", elf], text=True, capture_output=True, check=True).stdout
    functions, code = {}, {}
    for line in out.splitlines():
        if begin := re.match(r"[0-9a-f]+ <(.*)>:$", line):
            code = functions.setdefault(begin[1], {})
        if one := re.match(r" *([0-9a-f]+):\t([0-9a-f ]+?) *\t(?!\.)", line):
            code[int(one[1], 16)] = one[2].replace(" ", "")
    return functions


def build_id(elf):
    notes = subprocess.run(["readelf", "-n", elf], text=True, capture_output=True, check=True).stdout
    return re.search(r"Build ID: (\w+)", notes)[1]


def write_profile(path, elf, counts, intervals=40, **head):
    """Each interval has `counts` samples of each address, and some of no program."""
    lines = [{"schema": "pmu-probe/2", "type": "profile", "elf": str(elf), "build_id": build_id(elf), "cores": ["Cortex-M4"],
              "source": "DWT_PCSR", **head}]
    pc = {f"{address:#010x}": n for address, n in counts.items()}
    lines += [{"type": "samples", "core": 0, "from": i, "to": i + 1, "pc": {**pc, "0xfffffff0": 10}, "asleep": 5} for i in range(intervals)]
    lines += [{"type": "end", "elapsed_s": intervals, "samples": intervals * (sum(counts.values()) + 15), "why": "time"}]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def annotate(*words, folder="."):
    return finish_tool(start_tool(["env", "-C", str(folder), TOOL, "annotate", *map(str, words)]))


def built(folder, *flags):
    """A program whose source is in `folder`, a profile of it with samples in `work`, and these by address."""
    (folder / "loop.c").write_text(PROGRAM)
    subprocess.run(["arm-none-eabi-gcc", "-mcpu=cortex-m4", "-mthumb", "-O1", "-nostdlib", "-ffreestanding", "-Wl,--build-id",
                    *flags, "loop.c", "-o", "loop.elf"], cwd=folder, check=True)
    code = disassembled("m4", folder / "loop.elf")["work"]
    counts = {address: 3 + 7 * i for i, address in enumerate(code)}
    write_profile(folder / "profile.jsonl", folder / "loop.elf", counts)
    return counts


@pytest.mark.parametrize("chip", OBJDUMP)
def test_each_instruction_of_a_program(chip, tmp_path):
    """Those of some functions, with their code; no constant is taken for one."""
    elf = elf_of(chip, "free")
    functions = disassembled(chip, elf)
    for name in ("main", "work_by_data", "hidden_step"):
        counts = {address: 5 for address in functions[name]}
        write_profile(tmp_path / "p.jsonl", elf, counts)
        result = annotate(name, tmp_path / "p.jsonl", "-j")
        assert result.code == 0, result.err
        rows = [line for line in result.lines if line["type"] == "instruction"]
        code = {int(row["address"], 16): row["code"] for row in rows if not row["text"].startswith(".")}
        assert code == functions[name]
        assert {int(row["address"], 16) for row in rows if row["samples"]} == set(counts)


def test_sums(tmp_path):
    """By line and by instruction they are those of the function, and those of report."""
    counts = built(tmp_path, "-g")
    lines = annotate("work", "-j", folder=tmp_path).lines
    assert lines[0]["command"] == "annotate" and lines[-1] == {"type": "summary", "samples": 40 * sum(counts.values())}
    function = next(line for line in lines if line["type"] == "function")
    assert (function["function"], function["samples"]) == ("work", 40 * sum(counts.values()))
    by_line = {line["line"]: line["samples"] for line in lines if line["type"] == "line"}
    by_row = {int(line["address"], 16): line["samples"] for line in lines if line["type"] == "instruction" and line["samples"]}
    assert sum(by_line.values()) == function["samples"] and by_row == {address: 40 * n for address, n in counts.items()}
    report = run_tool("report", str(tmp_path / "profile.jsonl"), "--sort", "line", "-j").lines
    assert {f"loop.c:{line}": n for line, n in by_line.items() if n} == \
        {line["source"]: line["samples"] for line in report if line.get("function") == "work"}
    assert sum(line["share"] for line in lines if line["type"] == "line") == pytest.approx(1)


def test_text(tmp_path):
    counts = built(tmp_path, "-g")
    out = annotate("work", folder=tmp_path).out
    assert f"{40 * sum(counts.values()):,} of" in out
    assert re.search(rf"line   {tmp_path}/loop\.c$", out, re.M)
    assert re.search(r"^ *[\d.]+ %  +[\d.]+  +[\d,]+  +5 [ ~]  {16}sink \+= i;$", out, re.M)
    assert re.search(r"^ *[\d.]+ %  +[\d,]+  0x0000\w{4}  +(ldr|str|add)\w*  ", out, re.M)
    assert "skid" in out and "instruction's" not in out
    hot = annotate("work", "profile.jsonl", "--hot", "100", folder=tmp_path).out
    shares = [float(share) for share in re.findall(r"^ *([\d.]+) %.*loop\.c:\d+ ", hot, re.M)]
    assert len(shares) >= 3 and shares == sorted(shares, reverse=True)
    lines = annotate("work", "--hot", "100", "-j", folder=tmp_path).lines
    assert all(line["samples"] for line in lines if line["type"] in ("line", "instruction"))
    two = re.findall(r"^ *([\d.]+) %.*loop\.c:\d+ ", annotate("work", "--hot", "2", folder=tmp_path).out, re.M)
    assert [float(share) for share in two] == shares[:2]
    hottest = [line["samples"] for line in annotate("work", "--hot", "2", "-j", folder=tmp_path).lines if line["type"] == "line"]
    assert sorted(hottest) == sorted(line["samples"] for line in lines if line["type"] == "line")[-2:]


def test_a_terminal_cuts(tmp_path):
    built(tmp_path, "-g")
    child = pexpect.spawn(TOOL, ["annotate", "work", str(tmp_path / "profile.jsonl")], timeout=WAIT, dimensions=(24, 56), encoding="utf-8",
                          env={**os.environ, "TERM": "xterm", "LC_ALL": "C.UTF-8"})
    out = child.read()
    child.close()
    plain = re.sub(r"\x1b\[\d*m", "", out).replace("\r", "")
    assert child.exitstatus == 0 and "\x1b[2m" in out
    assert max(map(len, plain.split("\n\n")[2].splitlines()[1:])) <= 56 and "0x0000" in plain


def test_sources_that_are_not_there(tmp_path):
    """Lines by their numbers and instructions, and the result says so; found again by the end of their path."""
    folder = tmp_path / "built"
    folder.mkdir()
    built(folder, "-g")
    (tmp_path / "elsewhere").mkdir()
    shutil.move(folder / "loop.c", tmp_path / "elsewhere/loop.c")
    gone = annotate("work", folder=folder)
    assert gone.code == 0 and f"{folder}/loop.c was not found" in unfolded(gone.out)
    assert "sink" not in gone.out and re.search(r"[\d,]+  +5(?: ~)?$", gone.out, re.M) and "0x0000" in gone.out
    found = annotate("work", folder / "profile.jsonl", folder=tmp_path / "elsewhere")
    assert "sink += i;" in found.out and "not found" not in found.out
    later = tmp_path / "elsewhere/loop.c"
    os.utime(later, (4e9, 4e9))
    assert "newer than the program" in unfolded(annotate("work", folder / "profile.jsonl", folder=tmp_path / "elsewhere").out)
    built(folder)
    none = annotate("work", folder=folder)
    assert none.code == 0 and "has no lines: compile it with -g" in none.out and "loop.c" not in none.out


def test_another_build_is_refused(tmp_path):
    built(tmp_path, "-g")
    kept = tmp_path / "kept"
    kept.mkdir()
    shutil.copy(tmp_path / "loop.elf", kept)
    shutil.copy(tmp_path / "profile.jsonl", kept)
    (tmp_path / "loop.c").write_text(PROGRAM.replace("+= i", "-= i"))
    subprocess.run(["arm-none-eabi-gcc", "-mcpu=cortex-m4", "-mthumb", "-O1", "-nostdlib", "-ffreestanding", "-Wl,--build-id", "-g",
                    "loop.c", "-o", "loop.elf"], cwd=tmp_path, check=True)
    refused = annotate("work", folder=tmp_path)
    assert refused.code == 2 and "not the recorded program" in refused.err and "--elf" in refused.err and refused.out == ""
    given = annotate("work", "--elf", "loop.elf", folder=tmp_path)
    assert given.code == 2 and "not the recorded program" in given.err
    assert "work" in annotate("work", "--elf", "kept/loop.elf", folder=tmp_path).out
    # A copy next to the profile is found by its build ID
    beside = annotate("work", kept / "profile.jsonl")
    assert beside.code == 0 and f"{kept}/loop.elf" in unfolded(beside.out)
    os.remove(tmp_path / "loop.elf")
    gone = annotate("work", folder=tmp_path)
    assert gone.code == 2 and "loop.elf" in gone.err


def test_what_names_no_function(tmp_path):
    built(tmp_path, "-g")
    near = annotate("wrok", folder=tmp_path)
    assert near.code == 2 and "work" in near.err and near.out == ""
    assert annotate("*0x20000000", folder=tmp_path).code == 2
    assert annotate(folder=tmp_path).code == 2
    assert "work, " in annotate("loop.c:5", folder=tmp_path).out
    never = annotate("_start", folder=tmp_path)
    assert never.code == 0 and "0 of" in never.out and "work(5);" in never.out
    assert annotate("work", "nothing.jsonl", folder=tmp_path).code == 2


def test_help_and_completion():
    assert "--hot" in run_tool("annotate", "--help").out
    assert "work_by_data" in run_tool("--complete", "--elf", elf_of("m4", "free"), "annotate", "work").out.split()
    assert run_tool("--complete", "annotate", "work", "").out == ":files\n"
    refused = run_tool("annotate", "work", "--sort", "line")
    assert refused.code == 2 and "not to annotate" in refused.err

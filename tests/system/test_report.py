"""report: files that record could have written, in each format; and files that it could not."""
import csv
import io
import json
import os
import re
import shutil
import subprocess

import pexpect
import pytest

from harness import BUILD, ROOT, TOOL, WAIT, elf_of, finish_tool, run_tool, start_tool, unfolded

ELF = elf_of("m4", "free")
SYMBOLS = {name: int(address, 16) for address, name in
           re.findall(r"^(\w+) [tT] (\w+)$", subprocess.run(["arm-none-eabi-nm", ELF], text=True, capture_output=True,
                                                            check=True).stdout, re.M)}
BUILD_ID = re.search(r"Build ID: (\w+)", subprocess.run(["readelf", "-n", ELF], text=True, capture_output=True, check=True).stdout)[1]
HEAD = {"schema": "pmu-probe/2", "type": "profile", "date": "2026-11-20T09:15:00Z", "probe": "cmsis-dap:1", "elf": ELF,
        "build_id": BUILD_ID, "cores": ["Cortex-M4"], "source": "DWT_PCSR", "asked_s": 2}
END = {"type": "end", "elapsed_s": 2.0, "samples": 4000, "why": "time"}
# Samples of each interval
COUNTS = {"caller_one": 60, "caller_two": 30}
ASLEEP = 10
INTERVALS = 40


def samples(i, core=0, **more):
    pc = {f"{SYMBOLS[name] + 2:#010x}": n for name, n in COUNTS.items()}
    return {"type": "samples", "core": core, "from": i / 20, "to": (i + 1) / 20, "pc": pc, "asleep": ASLEEP, **more}


def text_of(*lines):
    return "".join(line if isinstance(line, str) else json.dumps(line) + "\n" for line in lines)


WHOLE = text_of(HEAD, *map(samples, range(INTERVALS)), END)


@pytest.fixture
def profile(tmp_path):
    path = tmp_path / "profile.jsonl"
    path.write_text(WHOLE)
    return path


def report(*words, folder=".", environment=()):
    return finish_tool(start_tool(["env", "-C", str(folder), TOOL, "report", *map(str, words)], environment))


def compare(*words):
    return finish_tool(start_tool([TOOL, "compare", *map(str, words)]))


def table_of(result):
    assert result.code == 0, result.err
    return {name: (float(share), int(samples.replace(",", ""))) for share, samples, name in
            re.findall(r"^ *([\d.]+) %  +[\d.]+  +([\d,]+)  (.*?)(?:  .*)?$", result.out, re.M)}


def test_the_default_is_a_table_of_functions_of_profile_jsonl(profile):
    result = report(folder=profile.parent)
    assert table_of(result) == {"caller_one": (60, 2400), "caller_two": (30, 1200), "[asleep]": (10, 400)}
    assert "4,000 samples" in result.out and "2,000/s" in result.out and "asleep 10.0 %" in result.out
    assert "DWT_PCSR" in result.out and "Cortex-M4" in result.out and result.err == ""
    by_name = report(profile).out  # its first lines name the file, and fold if the name is long
    assert by_name[by_name.index("\ncore 0"):] == result.out[result.out.index("\ncore 0"):]


def test_each_sort(profile):
    lines = table_of(report(profile, "--sort", "line"))
    assert sum(n for _, n in lines.values()) == 4000
    assert "scenarios.c:" in report(profile, "--sort", "line").out
    assert table_of(report(profile, "--sort", "file")) == {"scenarios.c": (90, 3600), "[asleep]": (10, 400)}
    addresses = report(profile, "--sort=address")
    assert f"{SYMBOLS['caller_one'] + 2:#010x}  caller_one+0x2" in addresses.out
    assert "neighbouring instruction" in addresses.out and "neighbouring instruction" not in report(profile).out
    refused = report(profile, "--sort", "nothing")
    assert refused.code == 2 and "function, line, file, address, task, exception or context" in refused.err


def test_every_format_has_the_same_numbers(profile):
    lines = report(profile, "-j").lines
    assert lines[0]["command"] == "report" and lines[-1] == {"type": "summary", "samples": 4000}
    shares = {line.get("function") or line["state"]: line for line in lines if line["type"] == "share"}
    assert {name: line["samples"] for name, line in shares.items()} == {"caller_one": 2400, "caller_two": 1200, "asleep": 400}
    assert shares["caller_one"]["share"] == 0.6 and int(shares["caller_one"]["address"], 16) == SYMBOLS["caller_one"]
    rows = list(csv.DictReader(io.StringIO(report(profile, "--format", "csv").out)))
    assert [(row["function"], int(row["samples"])) for row in rows] == \
        [("caller_one", 2400), ("caller_two", 1200), ("[asleep]", 400)]
    assert float(rows[0]["plus_minus"]) == pytest.approx(shares["caller_one"]["plus_minus"], rel=1e-5)
    assert report(profile, "-x", ";").out.startswith("core;share;")
    assert report(profile, "--format", "folded").out == \
        "core 0;caller_one 2400\ncore 0;caller_two 1200\ncore 0;[asleep] 400\n"
    refused = report(profile, "--format", "junit")
    assert refused.code == 2 and "there is no --format junit: use pytest or CTest" in refused.err


def test_callgrind_and_perf(profile):
    lines = report(profile, "--format", "callgrind").out.splitlines()
    assert "summary: 4000" in lines and "totals: 4000" in lines and f"ob={ELF}" in lines
    at = lines.index("fn=caller_one")
    assert lines[at - 1] == "fl=scenarios.c" and re.fullmatch(rf"{SYMBOLS['caller_one'] + 2:#x} \d+ 2400", lines[at + 1])
    events = report(profile, "--format", "perf").out.split("\n\n")[:-1]
    assert len(events) == 4000 and sum("caller_two+0x2 (m4-free.elf)" in event for event in events) == 1200
    times = [float(re.match(r"core0 1 ([\d.]+): 1 samples:", event)[1]) for event in events]
    assert times == sorted(times) and times[-1] < 2
    folded = report(profile, "--format", "callgrind", "--elf", elf_of("m4", "ms"))
    assert "not the recorded program" in folded.err and f"fn={SYMBOLS['caller_one'] + 2:#010x}" in folded.out


def two_of_one_name(folder, calls):
    """A profile of two static functions `helper`, of which one calls the other if so it is, and code outside the program."""
    elf = os.path.join(BUILD, "fixtures/blink.elf")
    named = subprocess.run(["arm-none-eabi-nm", elf], text=True, capture_output=True, check=True).stdout
    one, other = sorted(int(address, 16) for address in re.findall(r"^(\w+) t helper$", named, re.M))
    pc = {f"{one:#010x}": 4, f"{other:#010x}": 3, "0x1fff0100": 2}
    row = {"type": "samples", "core": 0, "from": 0, "to": 1, "pc": pc}
    if calls:
        row["stacks"] = [{"samples": 4, "at": [f"{one:#010x}", f"{other + 2:#010x}"]}, {"samples": 3, "at": [f"{other:#010x}"]},
                         {"samples": 2, "at": ["0x1fff0100", f"{one + 2:#010x}"]}]
    head = {key: value for key, value in HEAD.items() if key != "build_id"}
    path = folder / "two.jsonl"
    path.write_text(text_of({**head, "elf": elf, "numbers": [3]}, row, {**END, "samples": 9}))
    return path


@pytest.mark.parametrize("calls", [True, False])
def test_functions_of_one_name_are_told_apart(calls, tmp_path):
    """Other programs know a function by its name, and one of perf's output by its module, too."""
    path = two_of_one_name(tmp_path, calls)
    folded = {tuple(stack.split(";")): int(n) for stack, n in
              re.findall(r"^(.*) (\d+)$", report(path, "--format", "folded", "-q").out, re.M)}
    leaves = {stack[-1]: n for stack, n in folded.items()}
    assert {stack[0] for stack in folded} == {"core 3"} and sorted(leaves.values()) == [2, 3, 4] and leaves["[unknown]"] == 2
    names = {name for name in leaves if name.startswith("helper")}
    assert {re.fullmatch(r"helper \[(\w+\.c):\d+\]", name)[1] for name in names} == {"blink.c", "other.c"}
    callgrind = report(path, "--format", "callgrind", "-q").out
    assert set(re.findall(r"^fn=(.*)$", callgrind, re.M)) == {*names, "[unknown]"}
    assert re.search(r"^ob=\?\?\?\nfl=\?\?\?\nfn=\[unknown\]$", callgrind, re.M)
    perf = report(path, "--format", "perf", "-q").out
    assert set(re.findall(r"^\t *\w+ (.*?)(?:\+0x\w+)? \((.*)\)$", perf, re.M)) == \
        {*((name, "blink.elf") for name in names), ("[unknown]", "[unknown]")}
    again = tmp_path / "report.jsonl"
    again.write_text(report(path, "-j").out)
    if not calls:
        assert run_tool("show", again, "--format", "folded").out == report(path, "--format", "folded", "-q").out


@pytest.mark.parametrize("sort", ["function", "line", "file", "address"])
def test_cores_do_not_make_two_of_one(sort, tmp_path):
    """Each core is sampled at other addresses. A row's name has one only if another of its name is other code."""
    path = two_of_one_name(tmp_path, False)
    head, row, end = map(json.loads, path.read_text().splitlines())
    one, other = sorted(int(address, 16) for address in row["pc"])[:2]
    rows = [{**row, "core": core, "pc": {f"{one + 2 * core:#010x}": 4, f"{0x1fff0100 + core:#010x}": 2}} for core in (0, 1)]
    rows[1]["pc"][f"{other:#010x}"] = 1
    path.write_text(text_of({**head, "cores": 2 * head["cores"], "numbers": [3, 4]}, *rows, {**end, "samples": 13}))
    told = report(path, "--format", "folded", "--sort", sort, "-q").out
    names = [{name for of, name in re.findall(r"^core (\d);(.*) \d+$", told, re.M) if of == core} for core in "34"]
    if sort == "address":
        assert all("[unknown]" not in of for of in names) and names[0].isdisjoint(names[1]), told
        return
    assert names[0] < names[1] if sort != "line" else not re.search(r"\[0x", told), told
    assert "[unknown]" in names[0] & names[1] and len(names[0]) == 2 and len(names[1]) == 3, told
    again = tmp_path / "again.jsonl"
    again.write_text(report(path, "-j", "--sort", sort, "-q").out)
    assert run_tool("show", again, "--format", "folded").out == told


@pytest.mark.parametrize("sort", ["function", "line", "file", "address"])
def test_folded_names_of_any_length(sort, tmp_path):
    """A name is whole in its row, wherever a buffer would end in it, and two that differ at their ends are two."""
    head = {"schema": "pmu-probe/2", "type": "header", "command": "report"}
    path = tmp_path / "long.jsonl"
    for length in (500, 1023, 1024, 2047, 2048, 4094, 4095, 4096, 6000):
        name = "x" * (length % 2) + "\u00e9" * (length // 2)
        key = "source" if sort == "file" else "function"
        path.write_text(text_of(head, {"type": "profile", "file": "p", "sort": sort},
                                *({"type": "share", "core": 0, "share": 0.5, "samples": 5, key: one, "address": f"0x{i:x}"} for i, one in enumerate((name + "one", name + "two"))),
                                {"type": "share", "core": 0, "share": 0.1, "samples": 1, key: name + "one", "address": "0x80"},
                                {"type": "summary", "samples": 11}))
        result = run_tool("show", path, "--format", "folded")
        apart = ("", "", "") if sort == "file" else (" [0x0]", "", " [0x80]")
        assert result.code == 0 and result.out.splitlines() == \
            [f"core 0;{name}{end}{more} {n}" for end, more, n in zip(("one", "two", "one"), apart, (5, 5, 1))], (length, result.err)


def test_two_lines_of_one_name_on_a_core(tmp_path):
    """Copies of a function from a header: their lines have one name and one source, and other addresses."""
    head = {"schema": "pmu-probe/2", "type": "header", "command": "report"}
    share = {"type": "share", "core": 0, "share": 0.5, "samples": 5, "function": "f", "source": "f.h:1"}
    path = tmp_path / "lines.jsonl"
    path.write_text(text_of(head, {"type": "profile", "file": "p", "sort": "line"}, {**share, "address": "0x10"}, {**share, "address": "0x20"},
                            {**share, "core": 1, "address": "0x12"}, {"type": "summary", "samples": 15}))
    assert run_tool("show", path, "--format", "folded").out == "core 0;f f.h:1 [0x10] 5\ncore 0;f f.h:1 [0x20] 5\ncore 1;f f.h:1 5\n"


def test_it_writes_to_a_file(profile):
    out = profile.parent / "stacks.txt"
    assert report(profile, "--format", "folded", "-o", out).code == 0
    assert out.read_text().startswith("core 0;caller_one 2400\n")


def test_cores_have_a_table_each(tmp_path):
    path = tmp_path / "two.jsonl"
    path.write_text(text_of({**HEAD, "cores": ["Cortex-M4", "Cortex-M0"]},
                            *(samples(i, core) for i in range(INTERVALS) for core in (0, 1)), END))
    result = report(path)
    assert "core 0 Cortex-M4" in result.out and "core 1 Cortex-M0" in result.out and result.out.count("caller_one") == 2


def test_a_name_for_another_program(profile, tmp_path):
    """As perf: by address, and it says so."""
    other = report(profile, "--elf", elf_of("m4", "ms"))
    assert other.code == 0 and "not the recorded program" in unfolded(other.out)
    assert "caller_one" not in other.out and f"{SYMBOLS['caller_one'] + 2:#010x}" in other.out
    folded = report(profile, "--elf", elf_of("m4", "ms"), "--format", "folded")
    assert "not the recorded program" in folded.err
    assert report(profile, "--elf", elf_of("m4", "ms"), "--format", "folded", "-q").err == ""
    moved = tmp_path / "moved.elf"
    shutil.copy(ELF, moved)
    profile.write_text(WHOLE.replace(json.dumps(ELF), '"/nowhere/app.elf"'))
    gone = report(profile)
    assert gone.code == 0 and "/nowhere/app.elf" in unfolded(gone.out) and "--elf" in gone.out and "caller_one" not in gone.out
    assert "caller_one" in report(profile, "--elf", moved).out
    missing = report(profile, "--elf", "/nowhere/app.elf")
    assert missing.code == 2 and missing.out == ""


@pytest.mark.parametrize("elf, machine", [(ELF, "Armv7E-M"), (os.path.join(ROOT, BUILD, "fixtures", "host.elf"), "x86-64")])
def test_samples_outside_the_program_are_told(tmp_path, elf, machine):
    head = {key: value for key, value in HEAD.items() if key not in ("elf", "build_id")}
    moved = [{**samples(i), "pc": {"0x3ff80000": 60, "0x3ff80010": 30}} for i in range(INTERVALS)]
    path = tmp_path / "profile.jsonl"
    path.write_text(text_of(head, *moved, END))
    result = report(path, "--elf", elf)
    told = unfolded(result.out)
    assert result.code == 0 and "No sample lies in the code of" in told and machine in told, result.out
    assert "0x3ff80000 to 0x3ff80010" in told, result.out
    path.write_text(text_of(head, *moved, samples(INTERVALS), END))
    assert ("No sample lies" in unfolded(report(path, "--elf", elf).out)) == (elf != ELF)


def test_no_target_is_touched(profile):
    assert report(profile, environment={"PMU_PROBE": "nonsense:that:nobody:answers"}).code == 0
    refused = report("-p", "openocd", profile)
    assert refused.code == 2 and "-p is not for report" in refused.err


@pytest.mark.parametrize("end", [None, "line"])
def test_a_file_that_was_cut(profile, end):
    whole_lines = WHOLE.splitlines(keepends=True)[:21]
    profile.write_text("".join(whole_lines) + ('{"type":"samples","core":0,"fr' if end == "line" else ""))
    result = report(profile)
    assert table_of(result)["caller_one"] == (60, 1200) and "was cut off" in unfolded(result.out)
    assert report(profile, "-j").lines[1]["cut"] is True


def test_why_it_ended_early(profile):
    profile.write_text(text_of(HEAD, samples(0, resets=3), {**END, "why": "lost", "error": "the probe is gone"}))
    result = report(profile)
    assert "the probe is gone" in result.out and "Resets of the target while samples were taken: 3" in unfolded(result.out)
    assert "Few samples" in result.out


BAD = {
    "no file": (None, "No such file"),
    "empty": ("", "empty"),
    "wrong JSON": (text_of(HEAD, "{]\n", END), ":2: not JSON"),
    "no profile": ("hello\n", ":1: not JSON"),
    "cut in the head": (WHOLE[:50], ":1: cut off in its first line"),
    "a measurement": (text_of({"schema": "pmu-probe/1", "type": "header"}), ":1: its schema is pmu-probe/1"),
    "a later schema": (text_of({**HEAD, "schema": "pmu-probe/3"}), ":1: its schema is pmu-probe/3"),
    "no cores": (text_of({**HEAD, "cores": []}), ":1: cores"),
    "two heads": (text_of(HEAD, HEAD), ":2: a second head"),
    "more behind the end": (text_of(HEAD, END, samples(0)), ":3: a line after the end"),
    "a core that is not there": (text_of(HEAD, samples(0, core=1)), ":2: core"),
    "a negative count": (text_of(HEAD, samples(0, asleep=-1)), ":2: asleep"),
    "a negative sample": (text_of(HEAD, samples(0, pc={"0x10": -1})), ":2: the samples of 0x10"),
    "too many samples": (text_of(HEAD, samples(0, asleep=0, pc={"0x10": 2**53, "0x12": 1})), ":2: the samples of 0x12"),
    "a number beyond 64 bits": (text_of(HEAD, samples(0, asleep=2**70)), ":2: not JSON"),
    "a time without end": (text_of(HEAD, samples(0, to=1e300)), ":2: to is not a time"),
    "an address beyond 64 bits": (text_of(HEAD, samples(0, pc={"0x1ffffffffffffffff": 1})), ":2: pc has"),
    "times backwards": (text_of(HEAD, samples(1), samples(0)), ":3: times that go backwards"),
    "a line of 10 MB": (text_of(HEAD, '{"type":"' + "x" * 10_000_000 + "\n", END), ":2: not JSON"),
    "a line of 20 MB": (text_of(HEAD, '{"type":"' + "x" * 20_000_000 + '"}\n', END), ":2: a line longer than 16 MiB"),
    "deep": (text_of(HEAD, "[" * 100_000 + "\n"), ":2: not JSON"),
    "NUL": (text_of(HEAD, "\0" * 1000 + "\n"), ":2: not JSON"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_files(tmp_path, name):
    text, fact = BAD[name]
    path = tmp_path / "bad.jsonl"
    if text is not None:
        path.write_text(text)
    for words in ((), ("-j",)):
        result = report(path, *words)
        assert result.code == 2 and fact in result.err and "record" in result.err and result.out == ""


def test_a_line_of_10_mb_that_is_right(tmp_path):
    path = tmp_path / "large.jsonl"
    each = 10**10
    pc = {f"{0x8000000010000000 + 2 * i:#018x}": each for i in range(300_000)}
    path.write_text(text_of(HEAD, samples(0, pc=pc, asleep=0), END))
    assert path.stat().st_size > 10_000_000
    result = report(path, "-j")
    shares = [line for line in result.lines if line["type"] == "share"]
    assert result.code == 0 and len(shares) == 1 and shares[0]["samples"] == 300_000 * each


def changed(result):
    assert result.code == 0, result.err
    return {line.get("function") or line["state"]: line for line in result.lines if line["type"] == "change"}


def test_diff(profile, tmp_path):
    """The same numbers in each format: both shares, the change between them, and what is noise."""
    old = tmp_path / "old.jsonl"
    counts = {"caller_one": 30, "caller_two": 30, "hidden_step": 30}
    pc = {f"{SYMBOLS[name] + 2:#010x}": n for name, n in counts.items()}
    old.write_text(text_of(HEAD, *({**samples(i), "pc": pc} for i in range(INTERVALS)), END))
    rows = changed(compare(old, profile, "-j"))
    assert {name: (row["now"]["samples"], row["old"]["samples"]) for name, row in rows.items()} == \
        {"caller_one": (2400, 1200), "caller_two": (1200, 1200), "hidden_step": (0, 1200), "asleep": (400, 400)}
    assert {name: round(row["change"], 9) for name, row in rows.items()} == \
        {"caller_one": 0.3, "caller_two": 0, "hidden_step": -0.3, "asleep": 0}
    assert {name for name, row in rows.items() if row["noise"]} == {"caller_two", "asleep"}
    table = list(csv.DictReader(io.StringIO(compare(old, profile, "--format", "csv").out)))
    assert [float(row["change"]) for row in table] == [row["change"] for row in rows.values()]
    assert [row["noise"] for row in table] == ["0", "0", "1", "1"]
    text = compare(old, profile).out
    assert re.search(r"^ *\+30\.00  0\.\d\d  60\.00 %  [\d.]+  30\.00 %  [\d.]+  caller_one ", text, re.M)
    assert re.search(r"^ *-30\.00 .* hidden_step ", text, re.M) and re.search(r"^ *~[+-]0\.00 .* \[asleep\]$", text, re.M)
    assert "within noise" in text and "4,000 samples, 4,000 before" in text
    for sort in ("line", "file", "address"):
        assert round(sum(line["change"] for line in compare(old, profile, "--sort", sort, "-j").lines
                         if line["type"] == "change"), 9) == 0
    refused = compare(old, profile, "--format", "folded")
    assert refused.code == 2 and "compare prints text, json, csv, markdown or html" in refused.err
    assert compare("nothing.jsonl", profile).code == 2


def test_diff_on_a_terminal_is_grey_where_nothing_changed(profile):
    child = pexpect.spawn(TOOL, ["compare", str(profile), str(profile)], timeout=WAIT, encoding="utf-8",
                          env={**os.environ, "TERM": "xterm", "LC_ALL": "C.UTF-8"})
    out = child.read()
    assert child.wait() == 0 and len(re.findall(r"^\x1b\[2m *~.*\x1b\[0m\r$", out, re.M)) == 3


def test_diff_of_two_builds(profile, tmp_path):
    """By names; that needs both programs, of which the older one may be next to its profile."""
    other, folder = elf_of("m4", "ms"), tmp_path / "kept"
    folder.mkdir()
    address = int(subprocess.run(f"arm-none-eabi-nm {other} | grep ' caller_one$'", shell=True, text=True, capture_output=True,
                                 check=True).stdout.split()[0], 16)
    its_id = re.search(r"Build ID: (\w+)", subprocess.run(["readelf", "-n", other], text=True, capture_output=True, check=True).stdout)[1]
    old = folder / "profile.jsonl"
    old.write_text(text_of({**HEAD, "elf": "/nowhere/old.elf", "build_id": its_id},
                           *({**samples(i), "pc": {f"{address + 2:#010x}": 90}} for i in range(INTERVALS)), END))
    refused = compare(old, profile)
    assert refused.code == 2 and "/nowhere/old.elf" in refused.err and "Keep a copy" in refused.err and refused.out == ""
    shutil.copy(other, folder / "old.elf")
    rows = changed(compare(old, profile, "-j"))
    assert (rows["caller_one"]["now"]["samples"], rows["caller_one"]["old"]["samples"]) == (2400, 3600)
    by_address = compare(old, profile, "--sort", "address")
    assert by_address.code == 2 and "--sort address: no build id says that both are of one program" in by_address.err


def of_cores(path, numbers, counts):
    """A profile of these cores; `counts`: each core's samples of a function in an interval."""
    def interval(i, core):
        return {**samples(i, core), "pc": {f"{SYMBOLS[name] + 2:#010x}": n for name, n in counts[numbers[core]].items()}}
    path.write_text(text_of({**HEAD, "cores": ["Cortex-M4"] * len(numbers), "numbers": numbers},
                            *(interval(i, core) for i in range(INTERVALS) for core in range(len(numbers))), END))
    return path


def test_diff_of_cores_goes_by_their_numbers(tmp_path):
    """Whichever of them a file has; one core against another has a note, in each format."""
    counts = {0: {"caller_one": 90}, 1: {"caller_two": 90}, 2: {"hidden_step": 90}}
    files = {key: of_cores(tmp_path / f"{key}.jsonl", [int(n) for n in key], counts) for key in ("0", "1", "01", "12", "2")}
    for old, new, common, alone in (("01", "1", [1], ["Only the older profile has core 0: not shown."]), ("12", "01", [1],
                                    ["Only the newer profile has core 0: not shown.", "Only the older profile has core 2: not shown."])):
        result = compare(files[old], files[new], "-j")
        assert all(row["noise"] and row["core"] in common for row in changed(result).values()), (old, new)
        assert [line["core"] for line in result.lines if line["type"] == "core"] == common and result.lines[-1]["notes"] == alone
    refused = compare(files["01"], files["2"])
    assert refused.code == 2 and "different cores: core 2 now, core 0 before" in refused.err and refused.out == ""
    other = compare(files["0"], files["1"], "-j")
    assert changed(other)["caller_two"]["core"] == 1 and [line["old"]["core"] for line in other.lines if line["type"] == "core"] == [0]
    for words in ((), ("--format", "html"), ("--format", "markdown"), ("--format", "csv")):
        result = compare(files["0"], files["1"], *words)
        assert result.code == 0 and "Core 1 now, core 0 before" in (result.err if "csv" in words else result.out), words


def of_event(path, event, every, stood=0.05, errata=None):
    """A profile of stops by a counter, or of time."""
    about = {"source": "PMU overflow", "event": event, "every": every, **({"errata": errata} if errata else {})} if event else {}
    stops = {"events": 100 * every, "stood_s": stood} if event else {}
    path.write_text(text_of({**HEAD, **about}, *({**samples(i), **stops} for i in range(INTERVALS)), END))
    return path


def test_diff_of_other_events_is_refused(tmp_path):
    """Shares of misses and of time are of different things. Of one event each side says how it was stopped."""
    misses, more = (of_event(tmp_path / f"{n}.jsonl", "L1D_CACHE_REFILL", every) for n, every in (("misses", 300), ("more", 1000)))
    others = [of_event(tmp_path / "retired.jsonl", "INST_RETIRED", 3000), of_event(tmp_path / "cycles.jsonl", "CPU_CYCLES", 3000),
              of_event(tmp_path / "time.jsonl", None, 0)]
    for its in others:
        for old, new in ((misses, its), (its, misses)):
            refused = compare(old, new, "-j")
            assert refused.code == 2 and "cannot be compared" in refused.err and "L1D_CACHE_REFILL" in refused.err and not refused.out
    same = compare(misses, more)
    assert "4,000 samples each 1,000 L1D_CACHE_REFILL, 4,000 before each 300 L1D_CACHE_REFILL" in unfolded(same.out)
    assert unfolded(same.out).count("The core was halted 100 % of the time") == 1  # of both sides
    by_time = compare(others[2], others[1])
    assert by_time.code == 0 and "of another kind than before: PMU overflow, not DWT_PCSR" in by_time.out
    wrong = of_event(tmp_path / "wrong.jsonl", "L1D_CACHE_REFILL", 300, 0.001, "1234567")
    lines = compare(wrong, misses, "-j").lines
    assert [line["old"]["notes"] for line in lines if line["type"] == "core"] == [["~ L1D_CACHE_REFILL: 1234567"]]


def test_help_and_completion():
    assert "profile.jsonl" in run_tool("report", "--help").out and "--sort" in run_tool("report", "--help").out
    assert run_tool("--complete", "report", "").out == run_tool("--complete", "compare", "old", "").out == ":files\n"
    assert run_tool("--complete", "report", "--sort", "f").out.split() == ["function", "file"]

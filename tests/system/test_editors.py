"""--format gcc: what editors read, by the matcher of VS Code and by the one of docs/gdb.md."""
import json
import os
import pathlib
import re
import subprocess

from harness import ROOT, TOOL, WORK_BY_DATA, Place, tool_environment

GCC = r"^(.*?):(\d+):(\d*):?\s+(?:fatal\s+)?(warning|error):\s+(.*)$"  # $gcc, of VS Code's C/C++ extension


def blocks():
    """The JSON of docs/gdb.md."""
    text = pathlib.Path(ROOT, "docs", "gdb.md").read_text(encoding="utf-8")
    return [json.loads(block) for block in re.findall(r"^```json\n(.*?)^```$", text, re.M | re.S)]


def own_matcher():
    tasks = next(block for block in blocks() if "tasks" in block)["tasks"]
    return next(task["problemMatcher"] for task in tasks if isinstance(task["problemMatcher"], dict))["pattern"]


def run(place, *args, cwd=ROOT):
    """`place` None: a command without a target."""
    words = [*args, "--format", "gcc"]
    return subprocess.run(place.words(*words) if place else [TOOL, *words], cwd=cwd, env=tool_environment(), capture_output=True, text=True, check=False)


def remarks(result, home=ROOT):
    """Of each line its file, line, kind and text. In the checkout that the program was built in, files are named from there."""
    text = result.stdout
    pattern = own_matcher()
    found = [re.match(pattern["regexp"], line) for line in text.splitlines()]
    assert all(found), text + result.stderr
    assert [bool(re.match(GCC, line)) for line in text.splitlines()] == [match[pattern["severity"]] == "warning" for match in found]
    name = lambda file: file if home == ROOT else file.removeprefix(f"{home}/")
    return [(name(match[pattern["file"]]), int(match[pattern["line"]]), match[pattern["severity"]], match[pattern["message"]]) for match in found]


def built_at(elf):
    """The checkout whose build made it: this one, or the one that this is a copy of."""
    info = subprocess.run(["arm-none-eabi-objdump", "--dwarf=info", "--dwarf-depth=1", elf], capture_output=True, text=True, check=True).stdout
    return re.search(r"DW_AT_comp_dir\s*:.*?(/\S+)$", info, re.M)[1]


def assert_places(found):
    for file, line, _, _ in found:
        with open(os.path.join(ROOT, file), encoding="utf-8") as source:
            assert line <= len(source.readlines())


def test_the_files_of_vs_code():
    launch, = (block for block in blocks() if "configurations" in block)
    assert all("postAttachCommands" in one for one in launch["configurations"])
    assert own_matcher()["message"] == 5


def test_verdicts(tmp_path):
    with Place("m4/swd", "free", WORK_BY_DATA) as place:
        home = built_at(place.elf)
        base = tmp_path / "base.jsonl"
        assert place.run("delta", "hidden_step", "-r", "20", "-j", "-o", base).code == 0
        lines = [json.loads(line) for line in base.read_text(encoding="utf-8").splitlines()]
        assert lines[0]["region"]["start_file"].endswith("tests/firmware/scenarios.c")
        plain, = remarks(run(place, "delta", "hidden_step", "-r", "20"), home)
        assert plain[:3] == ("tests/firmware/scenarios.c", plain[1], "note") and "hidden_step: CPU_CYCLES: mean" in plain[3]
        same, = remarks(run(place, "delta", "hidden_step", "-r", "20", "--baseline", base, "--threshold", "20%"), home)
        assert same[2] == "note" and ": pass" in same[3]
        slow = tmp_path / "slow.jsonl"
        assert place.run("delta", "work_by_data", "-r", "20", "-j", "-o", slow).code == 0
        slower = [json.loads(line) for line in slow.read_text(encoding="utf-8").splitlines()]
        slower[0]["region"] = lines[0]["region"]
        slow.write_text("".join(json.dumps(line) + "\n" for line in slower), encoding="utf-8")
        slower = run(None, "compare", base, slow)
        one, = remarks(slower, home)
        assert slower.returncode == 1 and one[2] == "warning" and "regressed" in one[3] and one[:2] == plain[:2]
        regions = tmp_path / "regions.txt"
        regions.write_text("hidden hidden_step <= 1 cycles\nwork work_by_data <= 1000000 cycles\n", encoding="utf-8")
        judged = run(place, "survey", "--regions", regions, "--check", "-r", "10")
        found = remarks(judged, home)
        assert judged.returncode == 1 and sorted(one[2] for one in found) == ["note", "warning"], judged.stdout
        assert next(one for one in found if one[2] == "warning")[3].startswith("hidden")
        assert_places([plain, same, one, *found])
        shown = run(None, "show", base)
        assert remarks(shown, home)[0][:3] == plain[:3]


def test_lines_samples_and_overruns(tmp_path):
    with Place("m4/swd", "free", WORK_BY_DATA) as place:
        home = built_at(place.elf)
        lines = remarks(run(place, "lines", "work_by_data", "-r", "5"), home)
        assert len(lines) > 3 and {one[2] for one in lines} == {"note"} and any("cycles a call" in one[3] for one in lines)
        over = run(place, "guard", "work_by_data", "--budget", "50")
        overrun, = remarks(over, home)
        assert over.returncode == 1 and overrun[2] == "warning" and "over the budget of 50 cycles" in overrun[3]
        profile = tmp_path / "p.jsonl"
        assert place.run("record", "--for", "1s", "-o", profile).code == 0
        hot = remarks(run(None, "annotate", "work_by_data", profile), home)
        assert hot and all("of the function's samples" in one[3] for one in hot)
        assert_places([*lines, overrun, *hot])
        assert all(one[0] == "tests/firmware/scenarios.c" for one in [*lines, *hot])
        elsewhere = remarks(run(None, "annotate", "work_by_data", profile, cwd=tmp_path))
        assert all(os.path.isabs(one[0]) for one in elsewhere)

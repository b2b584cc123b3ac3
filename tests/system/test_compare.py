"""compare: files that delta wrote, against each other. What it says of two is what delta --baseline says."""
import json
import re

import pytest

from harness import NOP_MORE, TOOL, WORK_BY_DATA, finish_tool, run_tool, start_tool, unfolded
from own_program import START, own_place
from test_show import result_of_delta
from test_verdicts import Program


def comparison(text):
    """Of delta's text, from the line of the baseline on."""
    lines = text.splitlines()
    return lines[next(i for i, line in enumerate(lines) if line.startswith("baseline ")):]


def verdict_of(result):
    return next(line for line in result.lines if line["type"] == "verdict")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Runs of one region in two builds, and of a noisy one."""
    folder = tmp_path_factory.mktemp("runs")
    for mode, name in (("free", "old"), ("slower", "new")):
        with Program(mode, folder) as program:
            program.run("delta", "nop_more", "-r", 30, "-j", "-o", folder / f"{name}.jsonl")
    with Program("free", folder, WORK_BY_DATA) as program:
        program.run("delta", "work_by_data", "-r", 40, "-e", "LSUCNT", "-j", "-o", folder / "noisy.jsonl")
    return folder


def test_all_files_are_one_family(tmp_path):
    """5.8 cycles more are 3.3 standard errors: seldom enough by chance in one comparison, not in fifteen of two columns each."""
    old, new = tmp_path / "old.jsonl", tmp_path / "new.jsonl"
    old.write_text(result_of_delta(1000).replace('"drift": 0.5', '"drift": 0'))
    new.write_text(result_of_delta(1005.8).replace('"drift": 0.5', '"drift": 0'))
    assert run_tool("compare", old, new).code == 1
    several = run_tool("compare", old, *[new] * 15)
    assert several.code == 4 and "regressed" not in several.out, several.out


@pytest.mark.parametrize("words", [(), ("-j",), ("--format", "markdown")], ids=["text", "json", "markdown"])
@pytest.mark.parametrize("later, code", [(1100, 1), (1000, 0)], ids=["slower", "same"])
def test_a_verdict_stays_when_the_reader_goes_away(words, later, code, tmp_path):
    """However long the output is: 600 regions are more than a pipe holds."""
    old, new = tmp_path / "old.jsonl", tmp_path / "new.jsonl"
    for path, cycles in ((old, 1000), (new, later)):
        path.write_text("".join(result_of_delta(cycles).replace("fir_filter", f"fir_{i}") for i in range(600)))
    words = ["compare", str(old), str(new), "--threshold", "5%", *words]
    assert run_tool(*words).code == code
    tool = start_tool([TOOL, *words])
    tool.stdout.read(1)
    tool.stdout.close()
    tool.stdout = None
    result = finish_tool(tool)
    assert result.code == code and result.err == "", result.err


SHAPES = [("free", NOP_MORE, ["nop_more"]), ("slower", NOP_MORE, ["nop_more"]), ("slower", NOP_MORE, ["nop_more", "-e", "LSUCNT"]),
          ("free", NOP_MORE, ["nop_more", "--counter", "systick"]), ("free", WORK_BY_DATA, ["work_by_data"])]


@pytest.mark.parametrize("mode, bits, region", SHAPES, ids=["same", "slower", "event", "counter", "noisy"])
def test_two_files_give_what_the_baseline_gave(mode, bits, region, files, tmp_path):
    old, new = files / ("noisy.jsonl" if bits == WORK_BY_DATA else "old.jsonl"), tmp_path / "new.jsonl"
    with Program(mode, tmp_path, bits) as program:
        live = program.run("delta", *region, "-r", 30, "-j", "--baseline", old, "--threshold", "1%", "-o", new)
    words = (old, new, "--threshold", "1%")
    read = run_tool("compare", *words, "-j")
    assert read.code == live.code, (read.out, read.err)
    said = next(line for line in map(json.loads, new.read_text().splitlines()) if line["type"] == "verdict")
    again = verdict_of(read)
    assert again.pop("file") == str(new) and again.pop("region")["start"] == region[0] and again.pop("run")["summary"]["hits"] == 30
    assert again == said
    header, *_, last = read.lines
    assert header["command"] == "compare" and last == {"type": "summary", "verdict": said["verdict"], "compared": 1,
                                                       "not_comparable": int(live.code == 5)}
    text = run_tool("compare", *words)
    assert text.code == live.code and text.out.splitlines()[0] == f"{region[0]} to its return, {new}"
    with Program(mode, tmp_path, bits) as program:
        shown = comparison(program.run("delta", *region, "-r", 30, "--baseline", old, "--threshold", "1%").out)
    if bits == NOP_MORE:  # each run of it has the same numbers
        assert text.out.splitlines()[1:] == shown


def test_regions_are_matched_by_name_and_the_rest_is_compared(files, tmp_path):
    old, new = tmp_path / "old.jsonl", tmp_path / "new.jsonl"
    old.write_text((files / "old.jsonl").read_text() + (files / "noisy.jsonl").read_text())
    new.write_text((files / "new.jsonl").read_text().replace('"work_by_data"', '"another"'))
    result = run_tool("compare", old, new, "-j")
    verdicts = {line["region"]["start"]: line for line in result.lines if line["type"] == "verdict"}
    assert result.code == 1 and set(verdicts) == {"nop_more", "work_by_data"}, result.out
    assert verdicts["nop_more"]["verdict"] == "regressed" and verdicts["work_by_data"]["verdict"] == "not comparable"
    assert f"{new} does not have this region" in verdicts["work_by_data"]["notes"]
    assert {column["why"] for column in verdicts["work_by_data"]["columns"].values()} == {"not counted now"}
    assert result.lines[-1] == {"type": "summary", "verdict": "regressed", "compared": 2, "not_comparable": 1}
    turned = run_tool("compare", new, old, "--threshold", "50%")
    assert turned.code == 5 and f"note: {new} does not have this region" in unfolded(turned.out), turned.out
    assert turned.out.count("\nbaseline ") == 2 and turned.out.rstrip().endswith("\nnot comparable over all 2")


def test_a_region_that_the_other_file_lacks(files, tmp_path):
    """The other's facts are not given to it; and a survey that did not reach it says so."""
    header, *_, summary = map(json.loads, (files / "old.jsonl").read_text().splitlines())
    head = {**header, "schema": "pmu-probe/2", "command": "survey", "build_id": "ab" * 20}
    region = head.pop("region")
    hits = [{**summary, "type": "region", "name": name, "reached": True, "region": {**region, "start": name}} for name in ("one", "two", "three", "four")]
    none = [{"type": "region", "name": "two", "reached": False, "waited_s": 0.06},
            {"type": "region", "name": "third", "start": "three", "reached": False, "why": "it was called, but not in its turns"}]
    whole, part = tmp_path / "whole.jsonl", tmp_path / "part.jsonl"
    for path, lines, build in ((whole, hits, "ab"), (part, [hits[0], *none], "cd")):
        lines = [{**head, "build_id": build * 20}, *lines, {"type": "summary", "regions": len(lines), "reached": 1, "seconds": 2}]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    why = {"two": "has no hit of this region: not called in its 60 ms",
           "three": "has no hit of this region: it was called, but not in its turns", "four": "does not have this region"}
    for words in ((whole, part), (part, whole)):
        result = run_tool("compare", *words, "-j", "--threshold", "50%")
        verdicts = {line["region"]["start"]: line for line in result.lines if line["type"] == "verdict"}
        assert result.code == 5 and set(verdicts) == {"one", *why}, result.out
        for name, said in why.items():
            assert verdicts[name]["notes"] == [f"{part} {said}"] and "not_comparable" not in verdicts[name]
            assert verdicts[name]["baseline"].get("build_id") == ("ab" * 20 if words[0] == whole else None)
            assert verdicts[name]["baseline"]["file"] == str(words[0])


def test_each_later_file_is_compared_with_the_first(files):
    old, new, noisy = (files / f"{name}.jsonl" for name in ("old", "new", "noisy"))
    result = run_tool("compare", old, old, new, noisy, "-j")
    assert [line["verdict"] for line in result.lines if line["type"] == "verdict"] == ["pass", "regressed", "not comparable"]
    assert [line["file"] for line in result.lines if line["type"] == "verdict"] == [str(old), str(new), str(noisy)]
    assert {line["baseline"]["file"] for line in result.lines if line["type"] == "verdict"} == {str(old)} and result.code == 1
    out = run_tool("compare", old, old, new, noisy, "--format", "markdown").out
    assert out.count("|median|") == 3 and out.rstrip().endswith("\n**regressed** over all 3") and "new.jsonl against" in out
    median = json.loads(new.read_text().splitlines()[-1])["columns"]["CPU_CYCLES"]["median"]
    assert re.search(rf"^\| CPU_CYCLES \| 30 \| {median} \|.*\*\*regressed\*\*", out, re.M), out


def test_what_cannot_be_compared_at_all(files, tmp_path):
    old, profile, cut, twice = files / "old.jsonl", tmp_path / "profile.jsonl", tmp_path / "cut.jsonl", tmp_path / "twice.jsonl"
    profile.write_text('{"schema":"pmu-probe/2","type":"profile"}\n')
    cut.write_text("".join(old.read_text().splitlines(True)[:-1]))
    twice.write_text(old.read_text() * 2)
    copy = tmp_path / "copy.jsonl"
    copy.write_text(old.read_text())
    for words, fact in [([old], "compare needs two files"), ([old, tmp_path / "none"], "No such file"), ([old, profile], "compare takes two of them"), ([profile, old], "a profile's is pmu-probe/2"),
                        ([cut, old], "no summary"), ([old, twice], "two runs of one region: nop_more, its return"),
                        ([old, old, "--threshold", "5"], "write 5% or 0.05"),
                        ([old, copy, "-o", copy], "which compare reads"), ([old, old, "--baseline", old], "takes the earlier file first")]:
        result = run_tool("compare", *words)
        assert result.code == 2 and fact in unfolded(result.err) and result.out == "", (words, result.err)
    assert copy.read_text() == old.read_text()
    result = run_tool("compare", old, old, "-o", tmp_path / "out.txt")
    assert result.code == 0 and "pass" in (tmp_path / "out.txt").read_text()


def test_results_of_other_commands(files, tmp_path):
    """Each is called what it is, and not a profile or a run that was cut off."""
    old, other = files / "old.jsonl", tmp_path / "other.jsonl"
    for command, schema in (("lines", 2), ("irq", 2), ("tasks", 2), ("guard", 1), ("stat", 1), ("compare", 1)):
        other.write_text(f'{{"schema":"pmu-probe/{schema}","type":"header","command":"{command}"}}\n{{"type":"guard_end","overruns":0}}\n')
        for words in ((old, other), (other, old), (other, other)):
            result = run_tool("compare", *words)
            assert result.code == 2 and f"a result of {command}, and those of delta and survey" in unfolded(result.err), (command, result.err)


def test_a_conf_has_the_threshold(files, tmp_path):
    (tmp_path / "pmu-probe.conf").write_text("threshold = 50%\n")
    result = finish_tool(start_tool(["env", "-C", str(tmp_path), TOOL, "compare", str(files / "old.jsonl"), str(files / "new.jsonl")]))
    assert result.code == 0 and "pass (threshold 50 %)" in result.out, result.out


BY_LINES = START + r"""
APART void before(void) { sink = 1; EXTRA }
APART void work(uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        sink += i;
    sink = n;
}
APART void never(void)
{
    sink = 1;
    sink = 2;
}
void run(void) { for (;; round_count++) { before(); work(20); if (round_count == ~0u) never(); } }
"""
IDS = ["-Wl,--build-id", "-Wl,--build-id=none"]


def measured_by(folder, name, extra, flag, *words):
    with own_place(folder, "m4/swd", BY_LINES.replace("EXTRA", extra), flag) as place:
        result = place.run(*words, "-j", "-o", folder / name)
        assert result.code == 0, (words, result.err)
    return folder / name


@pytest.mark.parametrize("flag", IDS)
def test_a_place_by_its_line_is_compared_over_builds(tmp_path, flag):
    """Its address and its function's name with an offset are of one build alone, with a build ID or by what the ELF loads."""
    regions = tmp_path / "regions"
    regions.write_text("frame own.c:6 own.c:7\nfunction work\nunreached own.c:11 own.c:12\n")
    by_line, by_offset = ["delta", "own.c:6", "own.c:7", "-r", 3], ["delta", "work+0x2", "own.c:7", "-r", 3]
    survey = ["survey", "--regions", regions, "-r", 3]
    for words in (by_line, survey):
        old = measured_by(tmp_path, "old.jsonl", "", flag, *words)
        new = measured_by(tmp_path, "new.jsonl", "sink = 2;", flag, *words, "--baseline", old)
        result = run_tool("compare", old, new, "-j")
        verdicts = {line["region"]["start"]: line for line in result.lines if line["type"] == "verdict"}
        assert verdicts["own.c:6"]["verdict"] == "pass" and verdicts["own.c:6"]["region"]["end"] == "own.c:7", result.out
        assert words == by_line or (set(verdicts) == {"own.c:6", "work"} and verdicts["work"]["verdict"] == "pass"), result.out
    old = measured_by(tmp_path, "old.jsonl", "", flag, *by_offset)
    same = measured_by(tmp_path, "same.jsonl", "", flag, *by_offset, "--baseline", old)
    other = measured_by(tmp_path, "other.jsonl", "sink = 2;", flag, *by_offset)
    assert run_tool("compare", old, same).code == 0
    refused = run_tool("compare", old, other)
    assert refused.code == 5 and "work+0x2 is a place in one build, and these two are of others, or lie elsewhere: name a line or a function" in unfolded(refused.out), refused.out

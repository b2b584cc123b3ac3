"""One result, every format: each fact of a result's JSON lines is in each format that people read. A format that a result does not have
is in REFUSED, with the reason."""
import csv
import html
import io
import json
import math
import re

import pytest

from harness import CALLED_TWICE, PING, WORK_BY_DATA, Place, run_tool
from test_annotate import built
from test_report import END, HEAD, INTERVALS, samples, text_of
from test_show import result_of_delta

# Keys that are for programs: a person reads them in other words, or has no use for them
OF_PROGRAMS = (
    r"header\.(schema|tool|started|command|columns|region\.addresses|region\.start_file|elf|build_id|elf_hash|link)|"
    r"(profile|old)\.(ended|source|build_id|date)|(core|old)\.batches|core\.(seconds|asleep)|share\.address|(line|instruction|share|change)\.core|"
    r"line\.(blocks|mean|min|max|file)|instruction\.(code|file|line)|"
    r"summary\.(files|samples|inclusive|columns\.\*\.(median_exact|mean_error|mean_error_df|drift|count)|time\.(hz|source|mean|sd|min|max|median))|"
    r"region\.region|verdict\.columns\.\*\.(base|now)\.(n|count|sd|min|max|plus_minus|at_least)|"
    r"region\.(columns\.\*\.(median_exact|mean_error|mean_error_df|drift|p90|sd|mean|overhead)|inclusive|time|periods|passes|reached|waited_s|seconds)|"
    r"guard_end\.elapsed_s|summary\.(compared|not_comparable)|"
    # The later run as its file has it
    r"verdict\.run")
# What is written in words, and of numbers the words that say what they are. A false value needs none
WORDS = {
    "noise": "~", "at_border": "~", "calls": r"c\b|calls", "inlined": r"i\b", "mixed": r"m\b", "calibrated": "", "tainted": "tainted",
    "p90": "p90|all equal", "p99": "p99|all equal", "sd": r"\bsd\b|deviation", "median": "median|cycles", "mean": "mean", "overhead": "overhead|adds", "wanted": "",
    "state": "asleep", "share_plus_minus": "[~<>]", "plus_minus": r"±|plus_minus|per hit", "agrees": "", "cut": "cut",
}
# Values that people read in other words; those of how guard ended are what was asked for
PLAIN = {"CPU_CYCLES": "cycles", "time": " returned in ", "overruns": " returned in "}
CUT = 16  # of a source line, narrow terminals show at least this
VAGUE = 0.02  # two errors of a share from which on it has a mark
UNCALIBRATED = r"not measured|not known what|uncalibrated|is in the counts|adds is in"


def flat(value, path):
    """Each value with its path; those of a list have the same one."""
    if isinstance(value, dict):
        for key, inner in value.items():
            of_column = path.endswith((".columns", ".metrics"))
            if of_column:
                yield f"{path}.*", key
            yield from flat(inner, f"{path}.{'*' if of_column else key}")
    elif isinstance(value, list):
        for inner in value:
            yield from flat(inner, path)
    else:
        yield path, value


def facts(lines):
    for line in lines:
        for path, value in flat({key: inner for key, inner in line.items() if key != "type"}, line["type"]):
            if line["type"] not in ("hit", "sample") and re.fullmatch(rf"({OF_PROGRAMS})(\..*)?", path) is None:
                yield path, value


def written(run, path):
    """A run whose output went to a file, read."""
    if run.code != 2:
        run.out = path.read_text(encoding="utf-8")
        run.lines = [json.loads(line) for line in run.out.splitlines()] if run.out.startswith('{"') else []
    return run


def numbers(value):
    """As a person may read it: rounded somehow, as a part or in percent points, as a time or a rate."""
    scales = [value, value * 100, value * 1e3, value * 1e6, value * 1e9, value / 1e3, value / 1e6]
    found = {f"{scaled:,.{digits}f}" for scaled in scales for digits in range(5)} | {f"{scaled:.{digits}g}" for scaled in scales for digits in (4, 6)} | {f"{value:.17g}", repr(value), str(value), f"{value:.6f}"}
    found |= {f"{math.ceil(value * 1e4 - 1e-6) / 100:.2f}", f"{math.ceil(value):,}", f"{value * 100:.6g}", f"{value:.0f}"}
    return {one.lstrip("-+") for one in found}


def is_in(text, path, value, exact):
    """Numbers of runs that differ are not compared: only what they are called."""
    kind, key = path.split(".")[0], path.rsplit(".", 1)[-1]
    if value is False or value == 0 and key not in ("overhead", "plus_minus"):
        return key != "calibrated" or re.search(UNCALIBRATED, text) is not None
    if key == "share_plus_minus" and (not exact or value <= VAGUE):
        return True
    if kind != "verdict" and key in WORDS and not re.search(WORDS[key], text):
        return False
    if isinstance(value, str):
        value = PLAIN.get(value, value) if kind in ("guard", "guard_end") else value
        return key == "state" or " ".join(value.rstrip(".").split())[:CUT if key == "text" else None] in text
    if value is True or value is None or not exact:
        return value is not None or "?" in text
    return any(re.search(rf"(?<![\d.,]){re.escape(one)}(?![\d]|[.,]\d)", text) for one in numbers(value))


def read(out, form):
    """The text that a person sees."""
    if form == "html":
        out = html.unescape(re.sub(r"<[^>]*>", " ", re.sub(r"(?s)<(pre|script|style|svg)\b.*?</\1>", " ", out)))
    elif form == "csv":
        rows = list(csv.DictReader(io.StringIO(out)))
        # A count without an overhead: the cell is empty
        uncalibrated = any(row.get("overhead") == "" and row["count"] not in ("", "0") for row in rows)
        out = " ".join([*csv.DictReader(io.StringIO(out)).fieldnames, *(cell for row in rows for cell in row.values())]) + " uncalibrated" * uncalibrated
    elif form == "markdown":
        out = re.sub(r"\\(.)", r"\1", out)
    return " ".join(out.split())


EVERY = ("text", "csv", "markdown", "html")
# Of files, whose numbers differ from each other
OF_FILES = {
    "report": ("report", "FOLDER/new.jsonl"),
    "compare of profiles": ("compare", "FOLDER/old.jsonl", "FOLDER/new.jsonl"),
    "annotate": ("annotate", "work", "FOLDER/profile.jsonl"),
    "compare": ("compare", "FOLDER/first.jsonl", "FOLDER/last.jsonl"),
}
# On a board; True: of a function whose hits are all alike, so its numbers are the same in each run
ON_BOARDS = {
    "delta": (("delta", "work_by_data", "-r", 20), False),
    "delta -e": (("delta", "work_by_data", "-r", 20, "-e", "CPU_CYCLES,ST_RETIRED"), False),
    "delta --no-calibrate": (("delta", "caller_one", "-r", 20, "--no-calibrate"), True),
    "delta -M": (("delta", "caller_one", "-r", 20, "-M", "CPI"), True),
    "lines": (("lines", "ping", "-r", 3), True),
    "survey": (("survey", "caller_*", "called_twice", "-r", 20, "--for", "10min"), False),
    "stat": (("stat", "-e", "ST_RETIRED", "-M", "CPI", "--for", "100ms"), False),
    "guard": (("guard", "caller_one", "--budget", 400000, "--for", "300ms"), False),
}
# Formats that a result does not have, and why
GOES_ON = "lines are written while it goes on, each alone: what has an end, or a heading of all rows, has nowhere to begin"
REFUSED = {
    "stat": {"markdown": GOES_ON, "html": GOES_ON},
    "guard": {"csv": "an overrun has a call stack, which is not a row", "markdown": GOES_ON, "html": GOES_ON},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Profiles, and runs of delta."""
    path = tmp_path_factory.mktemp("facts")
    built(path, "-g")
    (path / "new.jsonl").write_text(text_of(HEAD, *map(samples, range(INTERVALS)), END))
    (path / "old.jsonl").write_text(text_of(HEAD, *(samples(i, asleep=35 + i % 3) for i in range(INTERVALS)), END))
    (path / "first.jsonl").write_text(result_of_delta(18204))
    (path / "last.jsonl").write_text(result_of_delta(18570))
    return path


def missing(run, form, exact=True):
    """Facts of the JSON lines that the format lacks; "*": it is refused."""
    other = run("--format", form)
    if other.code == 2:
        assert "--format" in other.err, other.err
        return {"*"}
    result = run("-j")
    assert result.code == other.code, (result.err, other.err)
    lines = result.lines
    if pre := re.findall(r"(?s)<pre tabindex[^>]*>(.*?)</pre>", other.out):  # the lines of this run, in its page
        lines, exact = [json.loads(line) for line in html.unescape(pre[-1]).splitlines()], True
    text = read(other.out, form)
    for line in lines:
        for column in line["columns"].values() if "all equal" in text and line["type"] == "summary" else ():
            assert column["min"] == column["p90"] == column["p99"] == column["max"], column
    return {path for path, value in facts(lines)
            if (form != "csv" or re.match(r"\w+\.(columns|metrics)\.|(share|change)\.", path)) and not is_in(text, path, value, exact)}


def check(name, run, exact=True):
    found = {form: missing(run, form, exact) for form in EVERY}
    assert {form: sorted(paths) for form, paths in found.items() if paths} == {form: ["*"] for form in REFUSED.get(name, {})}


@pytest.mark.parametrize("name", OF_FILES)
def test_of_files(name, folder, tmp_path):
    words = [word.replace("FOLDER", str(folder)) for word in OF_FILES[name]]
    check(name, lambda *more: written(run_tool(*words, *more, "-o", tmp_path / "out"), tmp_path / "out"))


def on_board(place, words, path):
    """Runs it; `-o` of guard is a profile."""
    return lambda *more: place.run(*words, *more) if words[0] == "guard" else written(place.run(*words, *more, "-o", path), path)


@pytest.mark.parametrize("name", ON_BOARDS)
def test_on_a_board(name, tmp_path):
    words, exact = ON_BOARDS[name]
    with Place("a9/swd", "free", CALLED_TWICE | PING | WORK_BY_DATA) as place:
        check(name, on_board(place, words, tmp_path / "out"), exact)


@pytest.mark.parametrize("name", [name for name, (_, exact) in ON_BOARDS.items() if not exact])
def test_of_one_run(name, tmp_path):
    """By `show`, so that the numbers are compared, too."""
    words, _ = ON_BOARDS[name]
    lines = tmp_path / "lines.jsonl"
    with Place("a9/swd", "free", CALLED_TWICE | PING | WORK_BY_DATA) as place:
        lines.write_text(on_board(place, words, tmp_path / "out")("-j").out)
    check(name, lambda *more: written(run_tool("show", lines, *more, "-o", tmp_path / "out"), tmp_path / "out"))

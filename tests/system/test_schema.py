"""docs/pmu-probe.schema.json against what the tool prints: each command's lines on one board, the files of `record`, and results
that the unit tests make. A line with a key that the schema lacks fails, though the schema itself allows readers to expect more."""
import copy
import glob
import json
import os

import pytest
from jsonschema import Draft202012Validator

from harness import CALLED_TWICE, PREEMPTED, ROOT, WORK_BY_DATA, Place, run_tool

with open(os.path.join(ROOT, "docs", "pmu-probe.schema.json"), encoding="utf-8") as file:
    SCHEMA = json.load(file)
LINES = [way["$ref"].rpartition("/")[2] for way in SCHEMA["anyOf"]]


def close(part, inside=False):
    """No object may have a key that is not named. What is a part of a larger object is closed there."""
    for name, inner in part.items() if isinstance(part, dict) else []:
        if isinstance(inner, dict):
            close(inner, name in ("properties", "$defs"))
    if not inside and isinstance(part, dict) and "properties" in part:
        part["unevaluatedProperties"] = False


def strict():
    schema = copy.deepcopy(SCHEMA)
    close(schema)
    for part in schema["$defs"].values():
        for way in part.get("allOf", []):
            schema["$defs"][way["$ref"].rpartition("/")[2]].pop("unevaluatedProperties", None)
    return schema


STRICT = Draft202012Validator(strict())


def kinds_of(line):
    """The entries of $defs for this type of line."""
    types = {name: STRICT.schema["$defs"][name]["properties"]["type"] for name in LINES}
    return [name for name, type_is in types.items() if line["type"] in type_is.get("enum", [type_is.get("const")])]


def check(lines):
    """Each line is one of those of its type. Returns all that they are."""
    met = set()
    for line in lines:
        wrong = {}
        for name in kinds_of(line):
            errors = list(STRICT.evolve(schema={"$ref": f"#/$defs/{name}", "$defs": STRICT.schema["$defs"]}).iter_errors(line))
            if not errors:
                met.add(name)
                continue
            # What holds a wrong part has that as unevaluated, too
            error = max(errors, key=lambda one: (one.validator != "unevaluatedProperties", len(one.path)))
            wrong[name] = f"{error.json_path}: {error.message[-300:]}"
        if len(wrong) == len(kinds_of(line)):
            pytest.fail(f"{json.dumps(line)[:1000]}\n{json.dumps(wrong, indent=2)}", pytrace=False)
    return met


def lines_in(path):
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def test_the_schema_is_one():
    Draft202012Validator.check_schema(SCHEMA)
    assert set(SCHEMA["$defs"]) >= set(LINES) and Draft202012Validator(SCHEMA).is_valid({"type": "reset", "seconds": 1.5, "of a later version": 1})
    assert not Draft202012Validator(SCHEMA).is_valid({"type": "nothing"}) and not STRICT.is_valid({"type": "reset", "other": 1})


@pytest.mark.parametrize("path", ["json/full.jsonl", "json/little.jsonl", "profile/file.jsonl", "comparison/not_comparable.jsonl"])
def test_results_of_the_unit_tests(path):
    """Golden files have control characters escaped, and no version."""
    with open(os.path.join(ROOT, "tests", "golden", path), encoding="utf-8") as file:
        lines = [json.loads(line.replace("\\\\", "\\")) for line in file]
    check([{"tool": {"name": "pmu-probe", "version": "0.1.0"}, **line} if line["type"] == "header" else line for line in lines])


def test_what_each_command_prints(tmp_path):
    with Place("m4/swd", "free", WORK_BY_DATA | CALLED_TWICE | PREEMPTED) as place:
        def lines(*words, codes=(0,), **more):
            done = place.run(*words, "-j", **more)
            assert done.code in codes, done.err
            return done.lines

        runs, profiles = [str(tmp_path / f"run{n}.jsonl") for n in (1, 2)], [str(tmp_path / f"profile{n}.jsonl") for n in (1, 2)]
        for path in runs:
            place.run("delta", "work_by_data", "-r", 20, "-M", "CPI", "--outliers", 2, "--show", "r0", "-j", "-o", path)
        for path in profiles:
            place.record(path, samples=20)
        place.run("record", "--every", "2000", "-g", "--for", "300ms", "-o", str(tmp_path / "stacks.jsonl"))
        stacks = str(tmp_path / "stacks.jsonl")
        met = check([*lines_in(runs[0]), *lines_in(profiles[0]), *lines_in(stacks)])
        for printed in (
                lines("delta", "work_by_data", "-r", 12, "--precision", "10%", "--warmup", 1, "-e", "EXCCNT,LSUCNT"),
                lines("delta", "work_by_data", "-r", 12, "--baseline", runs[0], "--threshold", "2%", codes=range(6)),
                lines("survey", "work_*", "preempted", "-r", 3, "--for", "1s"),
                lines("lines", "work_by_data", "-r", 3),
                lines("stat", "--for", "100ms", "-M", "CPI"), lines("stat", "--for", "200ms", "-I", "50ms"),
                lines("guard", "work_by_data", "--budget", "10 cycles", "-r", 2, "--for", "1s", codes=(0, 1)),
                lines("info"), lines("list"), lines("probes", elf=False),
                lines("doctor"), lines("doctor", "work_by_data"), lines("doctor", "--prove"),
                lines("top", "--for", "300ms", "-I", "100ms"), run_tool("report", stacks, "-j").lines,
                run_tool("report", profiles[0], "-j").lines, run_tool("compare", *runs, "-j").lines,
                run_tool("compare", *profiles, "-j").lines, run_tool("annotate", "work_by_data", profiles[0], "-j").lines):
            assert len(printed) > 1
            met |= check(printed)
    never = {"reset", "thread", "summary-threads", "returned", "left", "clock-change", "access", "bus", "adapter", "probe", "link",
             "writer", "note", "register", "file-values", "file-task", "interrupt", "task", "summary-irq"}
    assert set(LINES) - never <= met, sorted(set(LINES) - never - met)

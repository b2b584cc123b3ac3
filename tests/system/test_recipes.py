"""The recipes of docs/ci.md that turn a run's JSON lines into what charts are drawn of: each is run as the page has it."""
import json
import os
import re
import subprocess

import pytest

from harness import ROOT, WORK_BY_DATA, Place

pytestmark = pytest.mark.soak


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A folder with run.jsonl, and the columns in it that were counted."""
    folder = tmp_path_factory.mktemp("recipes")
    with Place("m4/swd", "free", WORK_BY_DATA) as place:
        done = place.run("delta", "-j", "work_by_data", "-r", 20, "-e", "LSUCNT")
    (folder / "run.jsonl").write_text(done.out)
    columns = {name: column for name, column in done.summary["columns"].items() if column.get("count")}
    assert set(columns) == {"CPU_CYCLES", "LSUCNT"}
    return folder, columns


def recipe(name, at, written, **replaced):
    with open(os.path.join(ROOT, "docs", "ci.md"), encoding="utf-8") as page:
        commands = re.search(rf"\*\*{name}\.\*\*.*?```\n(.*?)```", page.read(), re.S)[1]
    for old, new in replaced.items():
        assert f"{old}=" in commands
        commands = re.sub(rf"^{old}=.*", f"{old}={new}", commands, flags=re.M)
    subprocess.run(["bash", "-ec", commands], cwd=at, check=True)
    return (at / written).read_text()


def test_github_action_benchmark(run):
    folder, columns = run
    found = json.loads(recipe("github-action-benchmark", folder, "benchmark.json"))
    assert {entry["name"]: entry["value"] for entry in found} == {f"work_by_data {name}": column["mean"] for name, column in columns.items()}
    assert all(set(entry) == {"name", "unit", "value", "range", "extra"} and re.fullmatch(r"± [\d.]+", entry["range"]) for entry in found)


def test_bencher(run):
    folder, columns = run
    found = json.loads(recipe("Bencher", folder, "bencher.json"))["work_by_data"]
    assert {name: measure["value"] for name, measure in found.items()} == {name: column["mean"] for name, column in columns.items()}
    assert all(measure["lower_value"] <= measure["value"] <= measure["upper_value"] for measure in found.values())


def test_prometheus(run):
    folder, columns = run
    text = recipe("Prometheus and Grafana", folder, "fir.prom", folder=folder)
    values = {}
    for name in ("mean", "sd", "min", "max"):
        assert f"# HELP pmu_probe_{name} " in text and f"# TYPE pmu_probe_{name} gauge\n" in text
        for labels, value in re.findall(rf"^pmu_probe_{name}\{{(.*)\}} (\S+)$", text, re.M):
            assert re.fullmatch(r'region="work_by_data",core="Cortex-M4 r0p1 core 0",event="(\w+)"', labels)
            values[labels.split('"')[-2], name] = float(value)
    assert values == {(event, name): column[name] for event, column in columns.items() for name in ("mean", "sd", "min", "max")}
    assert not list(folder.glob("*.new"))

"""The recipes of contrib/charts that turn a run's JSON lines into what charts are drawn of, and that of docs/farm.md
for several boards: each is run as the page has it."""
import json
import os
import re
import subprocess

import pytest

from harness import ROOT, TOOL, WORK_BY_DATA, Place, tool_environment

pytestmark = pytest.mark.soak


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A folder with run.jsonl and what the page makes of it, and the columns that were counted."""
    folder = tmp_path_factory.mktemp("recipes")
    with Place("m4/swd", "free", WORK_BY_DATA) as place:
        done = place.run("delta", "-j", "work_by_data", "-r", 20, "-e", "LSUCNT")
    (folder / "run.jsonl").write_text(done.out)
    columns = {name: column for name, column in done.summary["columns"].items() if column.get("count")}
    assert set(columns) == {"CPU_CYCLES", "LSUCNT"}
    with open(os.path.join(ROOT, "contrib", "charts", "README.md"), encoding="utf-8") as page:
        commands = re.search(r"# Charts over time\n.*?```\n(.*?)```", page.read(), re.S)[1]
    assert "folder=" in commands
    (folder / "contrib").symlink_to(os.path.join(ROOT, "contrib"))
    subprocess.run(["bash", "-ec", re.sub(r"^folder=\S+", f"folder={folder}", commands, flags=re.M)], cwd=folder, check=True)
    return folder, columns


def test_github_action_benchmark(run):
    folder, columns = run
    found = json.loads((folder / "benchmark.json").read_text())
    assert {entry["name"]: entry["value"] for entry in found} == {f"work_by_data {name}": column["mean"] for name, column in columns.items()}
    assert all(set(entry) == {"name", "unit", "value", "range", "extra"} and re.fullmatch(r"± [\d.]+", entry["range"]) for entry in found)


def test_bencher(run):
    folder, columns = run
    found = json.loads((folder / "bencher.json").read_text())["work_by_data"]
    assert {name: measure["value"] for name, measure in found.items()} == {name: column["mean"] for name, column in columns.items()}
    assert all(measure["lower_value"] <= measure["value"] <= measure["upper_value"] for measure in found.values())


def test_prometheus(run):
    folder, columns = run
    text = (folder / "fir.prom").read_text()
    values = {}
    for name in ("mean", "sd", "min", "max"):
        assert f"# HELP pmu_probe_{name} " in text and f"# TYPE pmu_probe_{name} gauge\n" in text
        for labels, value in re.findall(rf"^pmu_probe_{name}\{{(.*)\}} (\S+)$", text, re.M):
            assert re.fullmatch(r'region="work_by_data",core="Cortex-M4 r0p1 core 0",event="(\w+)"', labels)
            values[labels.split('"')[-2], name] = float(value)
    assert values == {(event, name): column[name] for event, column in columns.items() for name in ("mean", "sd", "min", "max")}
    assert not list(folder.glob("*.new"))


def test_two_regions_of_one_start(run, tmp_path):
    """Each has its own name, as it is another region."""
    _, columns = run
    names = {}
    for end in ("its return", "main.c:52", "main.c:90"):
        lines = [{"type": "header", "core": "Cortex-M4", "region": {"start": "main.c:40", "end": end}}, {"type": "summary", "columns": columns}]
        (tmp_path / "run.jsonl").write_text("\n".join(map(json.dumps, lines)))
        for recipe, words in (("bencher", "-s"), ("github-action-benchmark", "-s"), ("prometheus", "-sr")):
            made = subprocess.run(["jq", words, "-f", os.path.join(ROOT, f"contrib/charts/{recipe}.jq"), tmp_path / "run.jsonl"], text=True,
                                  capture_output=True, check=True).stdout
            named = "main.c:40" if end == "its return" else f"main.c:40 to {end}"
            assert re.search(rf'["=]"?{re.escape(named)}["\\ ]', made), made
            names.setdefault(recipe, set()).add(made)
    assert [len(made) for made in names.values()] == [3, 3, 3]


def test_several_boards_side_by_side(tmp_path):
    """docs/farm.md: each board's own file, a budget that is exceeded, and a board that is not there."""
    with open(os.path.join(ROOT, "docs", "farm.md"), encoding="utf-8") as page:
        boards, regions, commands = re.findall(r"```\w*\n(.*?)```", page.read().split("\n## labgrid")[0], re.S)
    assert boards.startswith("# lab.boards:") and regions.startswith("# app.regions:")
    (tmp_path / "tool").mkdir()
    (tmp_path / "tool/pmu-probe").symlink_to(TOOL)
    (tmp_path / "app.regions").write_text("work work_by_data <= 1 cycles\n")
    environment = {**tool_environment(), "PATH": f"{tmp_path}/tool:{os.environ['PATH']}"}
    with Place("m4/swd", "free", WORK_BY_DATA) as one, Place("rp2040/swd", "free", WORK_BY_DATA) as other:
        lines = [f"{place.chip} {place.probe_words()[1]} {place.elf} --transport swd -r 5" for place in (one, other)]
        (tmp_path / "lab.boards").write_text("\n".join(["# name ...", *lines, f"gone cmsis-dap-tcp:127.0.0.1:1 {one.elf}"]) + "\n")
        done = subprocess.run(["bash", "-c", commands], cwd=tmp_path, env=environment, text=True, capture_output=True, check=False)
    assert done.returncode == 123, done.stderr
    assert sorted(done.stdout.splitlines()) == ["gone: exit code 3", "m4: exit code 1", "rp2040: exit code 1"]
    for name in ("m4", "rp2040"):
        lines = [json.loads(line) for line in (tmp_path / f"new/{name}.jsonl").read_text().splitlines()]
        assert lines[0]["command"] == "survey" and lines[-1]["verdict"] == "regressed"

"""history: the run since which a region is slower, from results that are made here. No target is touched."""
import datetime
import json
import random
import re

import pytest

from harness import run_tool

LEVEL = 18204


def result(started, values, region="fir_filter", **more):
    """The JSON lines of one run of delta; `values`: the median of each column."""
    columns = {name: {"count": 100, "median": value, "mean": value + 0.5, "sd": 12.5, "min": value - 30, "max": value + 40,
                      "mean_error": 1.25, "mean_error_df": 99.0, "drift": 0.5} | more for name, value in values.items()}
    return "\n".join(json.dumps(line) for line in (
        {"type": "header", "schema": "pmu-probe/1", "started": started, "core": "Cortex-M4 r0p1 core 0", "build_id": "ab" * 20,
         "region": {"start": region, "end": "its return"}, "columns": list(values)},
        {"type": "summary", "hits": 100, "columns": columns})) + "\n"


def write_runs(folder, n, step_at=None, step=1.02, spread=0.002, **more):
    """Names do not follow the time: the order is that of `started`."""
    dice = random.Random(n)
    names = list(range(n))
    dice.shuffle(names)
    for i in range(n):
        level = LEVEL * (step if step_at is not None and i >= step_at else 1)
        started = (datetime.datetime(2026, 10, 1) + datetime.timedelta(hours=7 * i)).strftime("%Y-%m-%dT%H:%M:%SZ")
        where = folder / f"day-{i % 3}"
        where.mkdir(exist_ok=True)
        values = {"CPU_CYCLES": round(level * (1 + spread * dice.gauss(0, 1))), "INST_RETIRED": 9000}
        (where / f"run-{names[i]:03}.jsonl").write_text(result(started, values, **more))
    return names


def history(*operands):
    run = run_tool("history", "-j", *map(str, operands))
    assert run.code == 0, run.err
    lines = [json.loads(line) for line in run.out.splitlines()]
    assert lines[0]["command"] == "history" and lines[-1]["type"] == "summary"
    return {row["column"]: row for row in lines if row["type"] == "region"}, lines[-1]


def test_the_run_of_a_step_is_named(tmp_path):
    names = write_runs(tmp_path, 40, step_at=23)
    rows, summary = history(tmp_path)
    assert summary == {"type": "summary", "files": 40, "regions": 2, "changed": 1}
    runs, [change] = rows["CPU_CYCLES"]["runs"], rows["CPU_CYCLES"]["changes"]
    assert [run["started"] for run in runs] == sorted(run["started"] for run in runs) and len(runs) == 40
    assert change["run"] == 24 and change["file"].endswith(f"run-{names[23]:03}.jsonl")
    assert change["change"] == pytest.approx(0.02, abs=0.003)
    assert "changes" not in rows["INST_RETIRED"]
    text = run_tool("history", str(tmp_path)).out
    assert f"run-{names[23]:03}.jsonl" in text.replace("\n      ", "") and "40 files, 1 of 2 rows changed" in text


def page_of(folder):
    run = run_tool("history", "--format", "html", folder, "-o", folder / "page.html")
    assert run.code == 0, run.err
    return (folder / "page.html").read_text()


def test_the_page_has_a_line_for_each_row_and_marks_the_step(tmp_path):
    """Where things are drawn is the test of plots."""
    names = write_runs(tmp_path, 40, step_at=23, region="<fir & \"co\">")
    page = page_of(tmp_path)
    assert "<script" not in page and "http" not in page.replace("http-equiv", "").replace("http://www.w3.org/2000/svg", "")
    cycles, instructions = page.split('<svg class="plot"')[1:]
    for plot in (cycles, instructions):
        assert plot.count('<line class="line') == 39 and plot.count('<svg class="mark') == 40
    label = re.search(r'<svg class="mark bad"[^>]*><title>(.*?)</title>', cycles).group(1)
    assert label.endswith(f"run-{names[23]:03}.jsonl") and "mark good" not in cycles and "mark bad" not in instructions
    assert cycles.count('class="rule') == 1 and 'class="rule' not in instructions
    assert "<fir" not in page and "&lt;fir &amp;" in page
    assert re.search(rf"\+[12]\.\d+ %, 18,\d+ to 18,\d+ since .*run-{names[23]:03}\.jsonl", page)


def test_a_rise_without_a_step(tmp_path):
    """Small regressions, one in each commit."""
    dice = random.Random(5)
    for i in range(40):
        cycles = round((10000 + 250 * i) * (1 + 0.0014 * dice.gauss(0, 1)))
        (tmp_path / f"{i}.jsonl").write_text(result(f"2026-10-{1 + i // 24:02}T{i % 24:02}:00:00Z", {"CPU_CYCLES": cycles, "LD_RETIRED": 50 + i}))
    rows, summary = history(tmp_path)
    assert summary["changed"] == 2
    for column, truth in (("CPU_CYCLES", (10000, 19750)), ("LD_RETIRED", (50, 89))):
        trend = rows[column]["trend"]
        assert (trend["before"], trend["after"]) == pytest.approx(truth, rel=0.005) and "changes" not in rows[column]
        assert trend["change"] == pytest.approx(truth[1] / truth[0] - 1, abs=0.01)
    text = run_tool("history", str(tmp_path)).out
    assert "over 40 runs: a rise without a step" in " ".join(text.split()) and "2 of 2 rows changed" in text
    page = page_of(tmp_path)
    assert page.count("over 40 runs: a rise without a step") == 2 and "40 files, 2 of 2 rows changed" in page


@pytest.mark.parametrize("what", ["counter", "link", "clock"])
def test_runs_with_another_setup_are_another_row(tmp_path, what):
    """Nothing became slower: something else was measured."""
    setups = {"counter": ({"counter": "DWT CYCCNT, 32 bits"}, {"counter": "SysTick, 24 bits"}),
              "link": ({"link": "openocd localhost:6666"}, {"link": "cmsis-dap-tcp localhost:4441 SWD 10 MHz"}),
              "clock": ({"clock": {"hz": 12e6, "source": "--freq"}}, {"clock": {"hz": 48e6, "source": "--freq"}})}[what]
    for i in range(20):
        lines = result(f"2026-10-01T{i:02}:00:00Z", {"CPU_CYCLES": 9000 if i < 10 else 9300}).splitlines()
        header = json.loads(lines[0]) | setups[i >= 10]
        (tmp_path / f"{i}.jsonl").write_text("\n".join([json.dumps(header), *lines[1:]]) + "\n")
    run = run_tool("history", "-j", str(tmp_path))
    found = [row for row in map(json.loads, run.out.splitlines()) if row["type"] == "region"]
    assert [len(row["runs"]) for row in found] == [10, 10] and len({row["setup"] for row in found}) == 2
    assert not any("changes" in row or "trend" in row for row in found), run.out
    text = run_tool("history", str(tmp_path)).out
    assert all(f"with {row['setup']}" in text for row in found)


def test_ports_and_measured_clocks_make_no_other_row(tmp_path):
    for i in range(20):
        lines = result(f"2026-10-01T{i:02}:00:00Z", {"CPU_CYCLES": 9000}).splitlines()
        header = json.loads(lines[0]) | {"link": f"openocd localhost:{6666 + i}", "clock": {"hz": 12e6 + i, "error_hz": 2e4, "source": "measured"}}
        (tmp_path / f"{i}.jsonl").write_text("\n".join([json.dumps(header), *lines[1:]]) + "\n")
    rows, summary = history(tmp_path)
    assert summary["regions"] == 1 and len(rows["CPU_CYCLES"]["runs"]) == 20


def test_flat_runs_have_no_step(tmp_path):
    write_runs(tmp_path, 40)
    rows, summary = history(tmp_path)
    assert summary["changed"] == 0 and len(rows) == 2


def test_what_is_no_result_is_told(tmp_path):
    write_runs(tmp_path, 5)
    (tmp_path / "broken.jsonl").write_text("{")
    (tmp_path / "notes.txt").write_text("not looked at")
    rows, summary = history(tmp_path)
    assert summary["files"] == 5 and summary["skipped"] == 1
    assert "broken.jsonl:1" in run_tool("history", str(tmp_path)).out
    named = run_tool("history", str(tmp_path / "broken.jsonl"))
    assert named.code == 2 and "broken.jsonl:1" in named.err and named.out == ""
    nothing = tmp_path / "empty"
    nothing.mkdir()
    for operand, says in ((nothing, "no result of delta"), (tmp_path / "missing", "No such file")):
        refused = run_tool("history", str(operand))
        assert refused.code == 2 and says in refused.err and refused.out == ""


def test_bounds_are_no_medians(tmp_path):
    for i in range(3):
        (tmp_path / f"{i}.jsonl").write_text(result(f"2026-10-0{i + 1}T00:00:00Z", {"CPU_CYCLES": LEVEL}, at_least=4))
    rows, _ = history(tmp_path)
    assert rows["CPU_CYCLES"]["at_least"] == 3 and "runs" not in rows["CPU_CYCLES"]
    assert "left out, for want of exact counts: 3 runs" in run_tool("history", str(tmp_path)).out


def test_links_that_lead_back_end(tmp_path):
    write_runs(tmp_path, 3)
    (tmp_path / "back").symlink_to(tmp_path)
    _, summary = history(tmp_path)
    assert summary["files"] == 3


def test_names_cannot_steer_the_terminal(tmp_path):
    for i in range(6):
        (tmp_path / f"{i}.jsonl").write_text(result(f"2026-10-0{i + 1}T00:00:00Z", {"A\x1b[2J": LEVEL}, region="\x1b]0;x\x07\n"))
    run = run_tool("history", str(tmp_path))
    assert run.code == 0 and "\x1b" not in run.out and "\x07" not in run.out

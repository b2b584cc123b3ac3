"""contrib/python: the module against the board's ground truth, and its pytest plugin in a real pytest on three boards at once."""
import json
import math
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import xml.etree.ElementTree

import pytest

from harness import ARTICLE_NOP, NOP_MORE, ROOT, TOOL, WAIT, WORK_BY_DATA, Place, passages, returned, tool_environment, wait_for

PYTHON = os.path.join(ROOT, "contrib", "python")
sys.path.append(PYTHON)
from pmu_probe import Pmu, PmuError, Run  # noqa: E402


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    for name, value in tool_environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("PMU_PROBE", raising=False)


def pmu_of(place, **options):
    probe, *others = place.probe_words()[1:]
    return Pmu(probe, place.elf, tuple(others), **{"tool": TOOL, **options})


def test_a_measurement_equals_the_boards_truth():
    with Place("m4/swd", "free", WORK_BY_DATA) as place:
        place.board.watch(0xFFFFFFF0)
        run = pmu_of(place).delta("work_by_data", hits=50, event="LSUCNT")
        truth = [passage.cycles for passage in passages(place.board.log(), place.symbol("work_by_data"), returned)]
        assert [hit.values.CPU_CYCLES for hit in run.hits] == truth[:50] and run.code == 0
        assert run.cycles.median == sorted(truth[:50])[24] and run.cycles.max == max(truth[:50])
        assert run.header.region.start == "work_by_data" and run.summary["columns"]["LSUCNT"].max > 0
        assert list(run.columns) == ["CPU_CYCLES", "LSUCNT"] and not hasattr(run, "verdict")
        assert [json.loads(line)["type"] for line in run.text.splitlines()] == [line.type for line in run.lines]


def test_other_commands_and_options():
    with Place("m4/swd", "free") as place:
        pmu = pmu_of(place)
        assert [core.name for core in pmu.run("info").of("core")] == ["Cortex-M4 r0p1"]
        assert pmu.run("stat", for_="20ms").columns.CPU_CYCLES.count > 0
        assert pmu.run("list", "CPU_").summary.events > 0
        assert pmu.run("doctor").code in (0, 5)
        assert pmu.delta("nop_first", "nop_second", hits=3, quiet=True, timeout="5s").summary.hits == 3


def test_each_command_ends_as_its_lines_do(tmp_path):
    """guard has no summary, and what show prints ends as the result did."""
    with Place("m4/swd", "free", WORK_BY_DATA) as place:
        run = pmu_of(place).run("guard", "work_by_data", budget=400000, for_="100ms")
        assert run.code == 0 and run.guard_end.overruns == 0 < run.guard_end.calls and run.lines[-1].type == "guard_end"
        assert pmu_of(place).run("guard", "work_by_data", budget=10).code == 1
        for name, result in (("guard", run), ("doctor", pmu_of(place).run("doctor"))):
            path = tmp_path / f"{name}.jsonl"
            path.write_text(result.text)
            for pmu in (Pmu(tool=TOOL), pmu_of(place)):
                assert [line.type for line in pmu.run("show", path).lines] == [line.type for line in result.lines]
    tool = tmp_path / "tool"
    tool.write_text("#!/bin/sh\necho '{\"type\": \"header\"}'\necho '{\"type\": \"guard\"}'\n")
    tool.chmod(0o755)
    with pytest.raises(PmuError, match="exit code 0"):
        Pmu(tool=str(tool)).run("guard", "f")


def test_the_tools_errors_are_exceptions_with_its_words():
    with Place("m4/swd", "free") as place:
        with pytest.raises(PmuError, match='no symbol .work_by_date. in m4-free.elf; did you mean work_by_data') as error:
            pmu_of(place).delta("work_by_date")
        assert error.value.code == 2
        place.board.close()
        with pytest.raises(PmuError, match="nothing listens on 127.0.0.1") as error:
            pmu_of(place).delta("work_by_data")
        assert error.value.code == 3
    with pytest.raises(FileNotFoundError, match="no-such-tool"):
        Pmu(tool="no-such-tool").run("info")


def test_a_run_that_was_cut_off_is_no_result(tmp_path):
    tool = tmp_path / "tool"
    tool.write_text("#!/bin/sh\necho '{\"type\": \"header\"}'\nkill -9 $$\n")
    tool.chmod(0o755)
    with pytest.raises(PmuError, match="exit code -9 and printed nothing"):
        Pmu(tool=str(tool)).delta("f")
    tool.write_text("#!/bin/sh\necho '{\"type\": \"header\"}'\n")
    with pytest.raises(PmuError, match="exit code 0"):
        Pmu(tool=str(tool)).delta("f")
    assert Run(0, '{"type": "summary", "values": {"CPU_CYCLES": 1}}').summary.values.get("LD_RETIRED") is None


def test_ctrl_c_in_python_puts_the_target_back():
    with Place("m4/swd", "free", WORK_BY_DATA) as place:
        before = place.board.state()
        script = f"import sys; sys.path.append({PYTHON!r}); from pmu_probe import Pmu; {pmu_of(place)!r}.delta('work_by_data', for_='1h')"
        python = subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.PIPE, text=True)
        place.wait_for_stops(3)
        python.send_signal(signal.SIGINT)
        assert "KeyboardInterrupt" in python.communicate(timeout=WAIT)[1]
        after = place.board.state()
        assert after["run"] == before["run"] and after["fp_comp"] == before["fp_comp"] and after["demcr"] == before["demcr"]


def test_a_python_that_is_killed_leaves_no_tool_behind():
    with Place("m4/swd", "free", WORK_BY_DATA) as place:
        before = place.board.state()
        script = f"import sys; sys.path.append({PYTHON!r}); from pmu_probe import Pmu; {pmu_of(place)!r}.delta('work_by_data', for_='1h')"
        python = subprocess.Popen([sys.executable, "-c", script])
        place.wait_for_stops(3)
        python.kill()
        python.wait(WAIT)
        wait_for(lambda: place.board.state()["fp_comp"] == before["fp_comp"] and place.board.state()["demcr"] == before["demcr"], "the target to be as it was")
        assert place.board.state()["run"] == before["run"]


def test_a_budget_is_held_against_what_is_known():
    from pytest_pmu_probe import within

    def of(column, **time):
        fields = {"type": "summary", "columns": {"CPU_CYCLES": column}, **({"time": time} if time else {})}
        return Run(0, json.dumps(fields))
    exact, near = of({"max": 100, "median": 90}), of({"max": 100, "median": 90, "plus_minus": 2})
    bound, only = of({"max": 100, "at_least": 1, "at_least_max": 110}), of({"count": 0, "at_least": 3, "at_least_max": 110})
    rows = [(exact, 100, "max", "pass"), (exact, 99, "max", "over budget"), (exact, 90, "median", "pass"), (exact, 89, "median", "over budget"),
            (near, 102, "max", "pass"), (near, 101, "max", "inconclusive"), (near, 99, "max", "inconclusive"), (near, 97, "max", "over budget"),
            (bound, 105, "max", "over budget"), (bound, 110, "max", "inconclusive"), (only, 109, "max", "over budget"),
            *((of({"count": 40, what: 100, "at_least": 1, "at_least_max": 110}), limit, what, "inconclusive")
              for what in ("mean", "median", "p90", "p99", "min") for limit in (20, 120) if (what, limit) != ("min", 120)),
            (of({"min": 100, "at_least": 1, "at_least_max": 90}), 100, "min", "pass"),
            (only, 120, "max", "inconclusive"), (only, 120, "median", "inconclusive"), (of({"not_supported": "no"}), 9, "max", "inconclusive")]
    for run, limit, what, verdict in rows:
        assert within(run, "CPU_CYCLES", limit, what)[0] == verdict, (run.columns, limit, what)
    timed = of({"max": 100, "plus_minus": 2}, max=0.5, hz=200)
    assert [within(timed, "time", limit, "max")[0] for limit in (0.52, 0.5, 0.48)] == ["pass", "inconclusive", "over budget"]


def test_a_budget_passes_only_with_all_that_was_left_out():
    """As the tool's own judge: measure/verdict.c, of which test_verdicts.c has the rows."""
    from pytest_pmu_probe import student_above, within

    def of(column=None, hits=(), time=None, **summary):
        column = {"count": 100, "max": 100, "median": 90, "mean": 90, "sd": 0, **(column or {})}
        lines = [{"type": "hit", "hit": i, "tainted": True, "values": {"CPU_CYCLES": value}, **more} for i, (value, more) in enumerate(hits)]
        lines.append({"type": "summary", "tainted": len(hits), "columns": {"CPU_CYCLES": column}, "time": time or {"max": 0.5, "hz": 200}, **summary})
        return Run(0, "\n".join(map(json.dumps, lines)))

    rows = [(of(), 100, "max", "pass"), (of(hits=[(100, {})]), 100, "max", "pass"), (of(hits=[(101, {})]), 100, "max", "inconclusive"),
            (of(hits=[(101, {"warmup": True})], tainted=0), 100, "max", "pass"), (of(tainted=95), 100, "max", "inconclusive"),
            (of(hits=[(50, {"at_least": ["CPU_CYCLES"]})]), 100, "max", "inconclusive"), (of(left=1), 100, "max", "inconclusive"),
            (of(cut=1, cut_at_least=5), 100, "max", "inconclusive"), (of(left=1), 99, "max", "over budget"),
            (of(left=1), 95, "median", "inconclusive"), (of(hits=[(100, {})]), 95, "median", "inconclusive"),
            (of(), 90, "mean", "pass"), (of(), 89, "mean", "over budget"), (of({"count": 9}), 90, "mean", "inconclusive"),
            (of({"count": 9}), 80, "mean", "inconclusive"), (of({"sd": 10, "mean_error": 1, "mean_error_df": 99}), 92, "mean", "inconclusive"),
            (of({"sd": 10, "mean_error": 1, "mean_error_df": 99}), 93, "mean", "pass"),
            (of({"sd": 10, "mean_error": 1, "mean_error_df": 99}), 86, "mean", "over budget"),
            (of({"sd": 10, "mean_error": 1, "mean_error_df": 99, "drift": 6}), 93, "mean", "inconclusive"),
            (of(hits=[(190, {})]), 91, "mean", "pass"), (of(hits=[(200, {})]), 91, "mean", "inconclusive")]
    for run, limit, what, verdict in rows:
        assert within(run, "CPU_CYCLES", limit, what)[0] == verdict, (run.summary, limit, what)

    def ordered(values, hits=(), **summary):
        """Hits with these values, and others that were left out."""
        text = of({"count": len(values), "max": max(values), "median": sorted(values)[math.ceil(len(values) / 2) - 1], "min": min(values)}, hits, **summary).text
        return Run(0, "\n".join(json.dumps({"type": "hit", "hit": 1000 + i, "tainted": False, "values": {"CPU_CYCLES": value}}) for i, value in enumerate(values)) + "\n" + text)

    # Of 99 hits the median is the 50th, of 100 too, and of 101 the 51st. Without their values the next that is known bounds it
    values = [90] * 50 + [100] * 49
    rows = [(ordered(values, hits=[(150, {})]), 95, "median", "pass"), (ordered(values, left=1), 95, "median", "pass"),
            (ordered(values, left=2), 95, "median", "inconclusive"), (ordered(values, left=2), 100, "median", "pass"),
            (ordered(values, hits=[(150, {}), (94, {})]), 95, "median", "pass"), (ordered(values, hits=[(150, {}), (96, {})]), 95, "median", "inconclusive"),
            (ordered(values, left=99), 100, "median", "pass"), (ordered(values, left=100), 100, "median", "inconclusive"),
            (ordered(values, cut=1), 90, "min", "pass"), (ordered(values, hits=[(150, {})], left=7), 90, "min", "pass"),
            (ordered(values, hits=[(150, {})]), 120, "max", "inconclusive"),
            (of({"count": 99}, hits=[(150, {})]), 95, "median", "pass"), (of({"count": 99}, left=2), 95, "median", "inconclusive"),
            (of({"count": 99, "p90": 94}, left=2), 95, "median", "pass"), (of(left=2), 100, "median", "pass"), (of(left=101), 100, "median", "inconclusive")]
    for run, limit, what, verdict in rows:
        assert within(run, "CPU_CYCLES", limit, what)[0] == verdict, (run.summary, limit, what)
    # Of several passes: hits of another pass have no value of an event
    other = {"type": "hit", "hit": 7, "pass": 2, "tainted": True, "values": {"LSUCNT": 999}}
    for more, limit, verdict in [({"tainted": 2}, 100, "pass"), ({"tainted": 2}, 99, "inconclusive"), ({"tainted": 3}, 100, "inconclusive"),
                                 ({"tainted": 2, "cut": 1}, 100, "pass"), ({"tainted": 2, "left": 1}, 100, "inconclusive")]:
        run = Run(0, json.dumps(other) + "\n" + of({"max": 95}, hits=[(100, {"pass": 1})], passes=2, **more).text)
        assert within(run, "CPU_CYCLES", limit, "max")[0] == verdict, (more, limit)
    # By trace: 4 of 104 calls are left out, or as many losses of trace, each of which may hide any number of calls
    calls = {"seen": 104, "exact": 100, "left_out": 4 / 104, "isolated": True}
    lost = {**calls, "seen": 100, "gaps": 4}
    for of_calls, limit, what, verdict in [(calls, 100, "max", "inconclusive"), (calls, 99, "max", "over budget"), (calls, 100, "mean", "inconclusive"),
                                           (calls, 100, "median", "pass"), (calls, 95, "p99", "inconclusive"), (calls, 95, "min", "pass"),
                                           (lost, 100, "max", "inconclusive"), (lost, 100, "median", "inconclusive"), (lost, 95, "min", "pass"),
                                           ({**calls, "exact": 104, "left_out": 0}, 100, "max", "pass")]:
        run = of({"p99": 90, "min": 90}, calls=of_calls)
        assert within(run, "CPU_CYCLES", limit, what)[0] == verdict, (of_calls, limit, what)
    for more, limit, verdict in [({}, 0.5, "pass"), ({"error_hz": 20}, 0.5, "inconclusive"), ({"off_hz": 20}, 0.5, "inconclusive"),
                                 ({"error_hz": 20}, 0.56, "pass"), ({"error_hz": 20}, 0.4, "over budget")]:
        assert within(of(time={"hz": 200, **more}), "time", limit, "max")[0] == verdict, (more, limit)
    for t, df, chance in ((2.8214, 9, 0.01), (4.2968, 9, 0.001), (31.821, 1, 0.01), (2.3642, 100, 0.01), (-2.8214, 9, 0.99), (2.3264, 1e6, 0.01)):
        assert student_above(t, df) == pytest.approx(chance, rel=1e-3)


def test_a_budget_in_time_needs_a_clock():
    from pytest_pmu_probe import within

    def of(**more):
        return Run(0, json.dumps({"type": "summary", "columns": {"CPU_CYCLES": {"max": 100}}, **more}))
    assert within(of(), "time", 1, "max") == ("not comparable", "max of time: the clock is not known: --freq gives it")
    assert within(of(clock_change="it stops"), "time", 1, "max")[1].endswith("it stops")
    assert within(of(time={"max": 0.5, "hz": 200}, clock_change="it stops"), "time", 1, "max")[0] == "not comparable"
    assert within(of(time={"max": 0.5, "hz": 200}, clock_change="it stops"), "time", 0.1, "max")[0] == "over budget"


# --- pytest

FAKE = """#!/bin/sh
echo '{"type": "header", "core": "a core"}'
echo '{"type": "summary", "hits": 5, "tainted": 5, "advice": "no hit counts: because", "columns": {"CPU_CYCLES": {"count": 0}}}'
exit 5
"""


@pytest.mark.parametrize("words", [(), ("--pmu-update",)])
def test_a_run_of_which_no_hit_counts_is_not_measured(words, tmp_path):
    tool = tmp_path / "tool"
    tool.write_text(FAKE)
    tool.chmod(0o755)
    (tmp_path / "test_one.py").write_text(textwrap.dedent("""
        import pytest

        def test_plain(pmu):
            pmu.delta("f")

        @pytest.mark.pmu_budget(CPU_CYCLES=3)
        def test_budget(pmu):
            pmu.delta("f")

        @pytest.mark.skipif("not config.option.pmu_update")
        @pytest.mark.pmu_baseline
        def test_baseline(pmu):
            pmu.baseline_of = lambda region: "f.jsonl"
            pmu.delta("f")
    """))
    environment = {name: value for name, value in tool_environment(PYTHONPATH=PYTHON).items() if not name.startswith("PYTEST_")}
    done = subprocess.run([sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "pytest_pmu_probe", "--rootdir=.", "--pmu-tool", str(tool), *words, "."],
                          cwd=tmp_path, env=environment, text=True, capture_output=True, timeout=WAIT)
    assert f"{3 if words else 2} errors" in done.stdout and done.returncode == 1, done.stdout
    assert "f: not measured: no hit counts: because" in done.stdout and not (tmp_path / "f.jsonl").exists(), done.stdout


TESTS = """
    import json, os, pytest
    from pmu_probe import Pmu
    BOARDS = json.loads(os.environ["BOARDS"])

    def boards(*names):
        here = [pytest.param(BOARDS[name], id=name, marks=pytest.mark.xdist_group(BOARDS[name]["probe"])) for name in names if name in BOARDS]
        return pytest.mark.parametrize("pmu_board", here, indirect=True)

    @pytest.fixture
    def pmu_board(request):
        return Pmu(**request.param)

    @boards("rp2040", "m4", "a9")
    @pytest.mark.pmu_baseline(threshold="2%")
    def test_nop(pmu):
        assert pmu.delta("nop_first", "nop_second", hits=20).cycles.min > 0

    @boards("m4")
    @pytest.mark.pmu_baseline
    def test_other(pmu):
        pmu.delta("nop_first", "nop_second", hits=20, counter="systick")

    @boards("m4", "slower")
    @pytest.mark.pmu_baseline
    def test_slower(pmu):
        pmu.delta("nop_more", hits=20)

    @boards("m4")
    @pytest.mark.pmu_baseline
    def test_noise(pmu):
        pmu.delta("work_by_data", hits=60)
        pmu.delta("nop_more", hits=20)

    @boards("m4")
    @pytest.mark.pmu_budget(CPU_CYCLES=3, time=1)
    @pytest.mark.pmu_budget(of="p99", CPU_CYCLES=3)
    def test_within(pmu):
        pmu.delta("nop_first", "nop_second", hits=20)

    @boards("m4")
    @pytest.mark.pmu_budget(of="median", time=1e-9)
    @pytest.mark.pmu_budget(CPU_CYCLES=3)
    def test_over(pmu):
        pmu.delta("nop_first", "nop_second", hits=20)

    @boards("m4")
    @pytest.mark.pmu_baseline
    def test_first(pmu):
        pmu.delta("article_nop")

    @boards("m4")
    def test_unknown(pmu):
        pmu.delta("work_by_date")
"""


class Boards:
    """Three boards, and an M4 whose program has one instruction more; their ELF files have one name, as builds of a program do."""

    def __init__(self, folder):
        self.folder, self.places, self.boards = folder, [], {}
        (folder / "test_regions.py").write_text(textwrap.dedent(TESTS))
        for name, way, mode, bits in (("rp2040", "rp2040/swd", "free", ARTICLE_NOP), ("a9", "a9/swd", "free", ARTICLE_NOP),
                                      ("m4", "m4/swd", "free", ARTICLE_NOP | NOP_MORE | WORK_BY_DATA), ("slower", "m4/swd", "slower", NOP_MORE)):
            place = Place(way, mode, bits)
            self.places.append(place)
            elf = folder / name / "app.elf"
            elf.parent.mkdir()
            shutil.copy(place.elf, elf)
            probe, *options = place.probe_words()[1:]
            self.boards[name] = {"probe": probe, "elf": str(elf), "options": options, "tool": TOOL}

    def pytest(self, names, *words):
        """Outcome and properties of each test, from the JUnit file."""
        environment = {name: value for name, value in tool_environment().items() if not name.startswith("PYTEST_")}
        environment.update(PYTHONPATH=PYTHON, PYTHONDONTWRITEBYTECODE="1", BOARDS=json.dumps({name: self.boards[name] for name in names}))
        done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "pytest_pmu_probe", "--rootdir=.",
                               "--junitxml=junit.xml", *words, "."], cwd=self.folder, env=environment, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=WAIT)
        print(done.stdout)
        found = {}
        for case in xml.etree.ElementTree.parse(self.folder / "junit.xml").iter("testcase"):
            outcomes = [child.tag for child in case if child.tag in ("failure", "error", "skipped")] or ["passed"]
            said = " ".join(child.get("message", "") + (child.text or "") for child in case)
            properties = {item.get("name"): item.get("value") for item in case.iter("property")}
            found[case.get("name")] = outcomes, said, properties
        return found

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for place in self.places:
            place.close()


@pytest.mark.soak
def test_pytest_on_three_boards_at_once(tmp_path):
    with Boards(tmp_path) as boards:
        found = boards.pytest(["rp2040", "m4", "a9"], "--pmu-update", "-k", "test_nop or test_slower or test_noise")
        assert [outcome for outcome, _, _ in found.values()] == [["passed"]] * 5
        assert sorted(os.listdir(tmp_path / "pmu-baselines")) == [
            "Cortex-A9_r3p0-nop_first-nop_second.jsonl", "Cortex-M0+_r0p1-nop_first-nop_second.jsonl",
            "Cortex-M4_r0p1-nop_first-nop_second.jsonl", "Cortex-M4_r0p1-nop_more.jsonl", "Cortex-M4_r0p1-work_by_data.jsonl"]
        found = boards.pytest(["rp2040", "m4", "a9", "slower"], "-n", "3", "--dist", "loadgroup")
    found = {name.partition("@")[0]: what for name, what in found.items()}
    cycles = {"rp2040": "3", "m4": "3", "a9": None}
    for board in cycles:
        outcome, _, properties = found[f"test_nop[{board}]"]
        assert outcome == ["passed"] and properties["nop_first nop_second verdict"] == "pass"
        assert cycles[board] in (None, properties["nop_first nop_second CPU_CYCLES"])
    assert "Cortex-A9" in found["test_nop[a9]"][2]["nop_first nop_second core"]
    outcome, said, properties = found["test_other[m4]"]
    assert outcome == ["error"] and "another counter" in said and properties["nop_first nop_second verdict"] == "not comparable"
    assert found["test_slower[m4]"][0] == ["passed"]
    outcome, said, _ = found["test_slower[slower]"]
    assert outcome == ["failure"] and "nop_more: regressed: CPU_CYCLES regressed +" in said
    outcome, said, properties = found["test_noise[m4]"]
    assert outcome == ["skipped"] and "work_by_data: inconclusive" in said and properties["nop_more verdict"] == "pass"
    outcome, said, _ = found["test_first[m4]"]
    assert outcome == ["failure"] and "pytest --pmu-update writes it" in said
    assert found["test_within[m4]"][0] == ["passed"]
    outcome, said, _ = found["test_over[m4]"]
    assert outcome == ["failure"] and "over budget: median of time is" in said
    outcome, said, _ = found["test_unknown[m4]"]
    assert outcome == ["failure"] and 'no symbol `work_by_date`' in said

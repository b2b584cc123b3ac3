# SPDX-License-Identifier: MIT
"""pytest for measured code: the fixture `pmu`, and markers for budgets and baselines.

    pytest -p pytest_pmu_probe --pmu-probe cmsis-dap --pmu-elf app.elf

    @pytest.mark.pmu_budget(CPU_CYCLES=20_000)  # no hit may take more
    @pytest.mark.pmu_baseline(threshold="2%")   # compared with the run that --pmu-update has written
    def test_fir(pmu):
        pmu.delta("fir_filter", hits=100)

Failed: over the budget, regressed, or not measured. Error: not comparable. Skipped: inconclusive. Medians and verdicts
become properties in the JUnit file.
"""
import os
import re

import pytest
from pmu_probe import VERDICTS, Pmu

OUTCOMES = {"pass": "passed", "regressed": "failed", "over budget": "failed", "not comparable": "error", "inconclusive": "skipped"}


def pytest_addoption(parser):
    group = parser.getgroup("pmu-probe")
    group.addoption("--pmu-probe", default="", help="the probe, as pmu-probe's --probe takes it")
    group.addoption("--pmu-elf", default="", help="the program on the target")
    group.addoption("--pmu-tool", default="pmu-probe", help="the pmu-probe to run")
    group.addoption("--pmu-baselines", default="pmu-baselines", metavar="DIR", help="where baselines are: a file a core and region")
    group.addoption("--pmu-update", action="store_true", help="write the baselines, compare nothing")


def pytest_configure(config):
    config.addinivalue_line("markers", "pmu_baseline(threshold=None): compare each region with its baseline")
    config.addinivalue_line("markers", "pmu_budget(of='max', COLUMN=LIMIT, time=SECONDS): what each region may cost")


@pytest.fixture(scope="session")
def pmu_board(request):
    """The board that `pmu` measures on. A conftest.py may have its own, with params for several boards."""
    config = request.config
    return Pmu(config.getoption("--pmu-probe"), config.getoption("--pmu-elf"), tool=config.getoption("--pmu-tool"))


@pytest.fixture
def pmu(pmu_board, request):
    judged = request.node.pmu_judged = Judged(pmu_board, request.node)
    yield judged
    if judged.found["error"]:  # what fails after the test is an error to pytest, and not a failure of the code
        pytest.fail("\n".join(judged.found["error"]), pytrace=False)


@pytest.hookimpl(trylast=True)
def pytest_runtest_call(item):
    """After the test itself, so that an inconclusive region does not keep it from measuring others."""
    found = item.pmu_judged.found if hasattr(item, "pmu_judged") else {}
    if found.get("failed"):
        pytest.fail("\n".join(found["failed"]), pytrace=False)
    if found.get("skipped") and not found["error"]:
        pytest.skip("; ".join(found["skipped"]))


class Judged:
    """A Pmu whose `delta` is compared, held against the budget and recorded, as the test's markers say."""

    def __init__(self, board, item):
        self.board, self.item = board, item
        self.found = {outcome: [] for outcome in OUTCOMES.values()}

    def __getattr__(self, name):
        return getattr(self.board, name)

    def delta(self, *region, **options):
        compared = self.item.get_closest_marker("pmu_baseline")
        path = self.baseline_of(region) if compared and "baseline" not in options else None
        if path and not self.item.config.getoption("--pmu-update"):
            if not os.path.exists(path):
                pytest.fail(f"{path} does not exist: pytest --pmu-update writes it", pytrace=False)
            options.update(baseline=path, **compared.kwargs)
        run = self.board.delta(*region, **options)
        if path and "baseline" not in options:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(run.text)
        name = " ".join(region)
        self.record(f"{name} core", run.header.core)
        for column in run.columns:
            self.record(f"{name} {column}", run.columns[column].get("median", "not supported"))
        if "baseline" in options:
            self.judge(name, VERDICTS[run.code], "; ".join(reasons(run)))
        for budget in self.item.iter_markers("pmu_budget"):
            for column, limit in budget.kwargs.items():
                if column != "of":
                    self.judge(name, *within(run, column, limit, budget.kwargs.get("of", "max")))
        return run

    def record(self, name, value):
        """As record_property does, which warns that the schema of JUnit files has no properties of a test."""
        self.item.user_properties.append((name, value))

    def judge(self, name, verdict, why):
        self.record(f"{name} verdict", verdict)
        self.found[OUTCOMES[verdict]].append(f"{name}: {verdict}{': ' * bool(why)}{why}")

    def baseline_of(self, region):
        """By core and region, whichever place the board has."""
        if not hasattr(self.board, "core_name"):
            self.board.core_name = self.board.run("info").of("core")[0].name
        words = "-".join((self.board.core_name, *region))
        return os.path.join(self.item.config.getoption("--pmu-baselines"), re.sub(r"[^\w.+-]+", "_", words) + ".jsonl")


def reasons(run):
    """Of a verdict: why not compared, or each column's change."""
    yield from run.verdict.get("not_comparable", ())
    for name in run.verdict.columns if not run.verdict.get("not_comparable") else ():
        column = run.verdict.columns[name]
        yield f"{name} {column.verdict}" + (f" {column.change:+.2%}" if column.get("change") is not None else "") + \
            (f", {column.why}" if column.get("why") else "")


def within(run, column, limit, of):
    """Verdict and reason for one column and its budget: as exact as the hits are."""
    values = run.summary.time if column == "time" else run.columns[column]
    cycles = run.cycles if column == "time" else values
    part = cycles.get("plus_minus", 0) / (values.hz if column == "time" else 1)
    known = [values.get(of), values.get("at_least_max") if of == "max" else None]
    if known == [None, None]:
        return "inconclusive", f"{of} of {column} is not known. {values.get('not_supported', '')}"
    value = max(value for value in known if value is not None)
    if value - part > limit:
        return "over budget", f"{of} of {column} is {value:g}, the budget {limit:g}"
    if value + part > limit or cycles.get("at_least"):
        return "inconclusive", f"{of} of {column} is {value:g}, {'at least' if cycles.get('at_least') else f'±{part:g}'}"
    return "pass", ""

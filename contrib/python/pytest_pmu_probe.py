# SPDX-License-Identifier: MIT
"""pytest for measured code: the fixture `pmu`, and markers for budgets and baselines.

    pytest -p pytest_pmu_probe --pmu-probe cmsis-dap --pmu-elf app.elf

    @pytest.mark.pmu_budget(CPU_CYCLES=20_000)  # no hit may take more
    @pytest.mark.pmu_baseline(threshold="2%")   # compared with the run that --pmu-update has written
    def test_fir(pmu):
        pmu.delta("fir_filter", hits=100)

Failed: over the budget, regressed, or not measured. Error: not comparable, or no hit counts. Skipped: inconclusive. Medians and verdicts
become properties in the JUnit file.
"""
import math
import os
import re

import pytest
from pmu_probe import VERDICTS, Pmu, Record

OUTCOMES = {"pass": "passed", "regressed": "failed", "over budget": "failed", "not comparable": "error", "not measured": "error",
            "inconclusive": "skipped"}
FEW = 10  # hits of which a mean is judged
QUANTILES = {"median": 0.5, "p90": 0.9, "p99": 0.99}


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
        measured = run.code == 0 or run.of("verdict")  # else no hit counts, or the clock is wrong
        if path and "baseline" not in options and measured:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(run.text)
        name = " ".join(region)
        self.record(f"{name} core", run.header.core)
        for column in run.columns:
            self.record(f"{name} {column}", run.columns[column].get("median", "not supported"))
        if not measured:
            self.judge(name, "not measured", run.summary.get("advice") or run.said.strip() or f"exit code {run.code}")
        elif "baseline" in options:
            self.judge(name, VERDICTS[run.code], "; ".join(reasons(run)))
        for budget in self.item.iter_markers("pmu_budget") if measured else ():
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
    if run.verdict.verdict != VERDICTS[run.code]:
        yield run.summary.get("advice") or run.said.strip()
    for name in run.verdict.columns if not run.verdict.get("not_comparable") else ():
        column = run.verdict.columns[name]
        yield f"{name} {column.verdict}" + (f" {column.change:+.2%}" if column.get("change") is not None else "") + \
            (f", {column.why}" if column.get("why") else "")


def student_above(t, df):
    """The chance that Student's t exceeds `t`: Simpson's rule over the angle whose tangent is t / sqrt(df)."""
    if t < 0 or df > 1e4:  # from there on as a normal distribution
        return 1 - student_above(-t, df) if t < 0 else math.erfc(t / math.sqrt(2)) / 2
    low, steps = math.atan(t / math.sqrt(df)), 4000
    step = (math.pi / 2 - low) / steps
    area = sum((2 + 2 * (i % 2) if i else 1) * math.cos(low + i * step) ** (df - 1) for i in range(steps)) * step / 3
    return min(area * math.exp(math.lgamma((df + 1) / 2) - math.lgamma(df / 2)) / math.sqrt(math.pi), 0.5)


def chances(column, distance, off):
    """As pmu-probe judges a mean (measure/verdict.c) that is so far above its limit: whether that is more than chance, whether it is within."""
    error, drift = max(column.get("mean_error", 0), column.get("sd", 0) / math.sqrt(column["count"])), column.get("drift", 0)
    if not error > 0:
        return distance > off, distance <= -off
    df = max(1, min(column.get("mean_error_df", math.inf) or math.inf, column["count"] - 1))
    shown = drift * min(1, drift / (2 * 1.2 * math.sqrt(3) * error))
    return student_above((distance - off - drift) / error, df) < 0.001, student_above((-distance - off - shown) / error, df) < 0.01


def left_out(run, name):
    """Hits that are not in the statistics: the highest counts they may have, and of how many it is not known."""
    summary, calls = run.summary, run.summary.get("calls") or Record()
    tainted = [hit for hit in run.hits if hit.tainted and not hit.get("warmup")]
    here = [hit for hit in tainted if summary.get("passes", 1) < 2 or hit.values.get(name) is not None]  # else of another pass
    known = [hit.values[name] for hit in here if hit.values.get(name) is not None and name not in hit.get("at_least", ())]
    unknown = summary.get("left", 0) + max(summary.get("tainted", 0) - len(tainted), 0) + len(here) - len(known)
    if summary.get("passes", 1) < 2:  # else `at_least` has those of this column
        unknown += summary.get("cut", 0)
    return known, unknown + round(calls.get("left_out", 0) * (calls.get("seen", 0) + calls.get("gaps", 0)))


def within(run, column, limit, of):
    """Verdict and reason for one column and its budget, as `survey --check` gives them."""
    summary, is_time = run.summary, column == "time"
    name = next(iter(run.columns)) if is_time else column
    counted, time = run.columns[name], summary.get("time") or Record()
    if counted.get(of) is None and (of != "max" or counted.get("at_least_max") is None):
        return "inconclusive", f"{of} of {column} is not known. {counted.get('not_supported', '')}"
    if is_time and not time.get("hz"):
        return "not comparable", f"{of} of time: " + (summary.get("clock_change") or "the clock is not known: --freq gives it")
    hz = time.hz if is_time else 1
    known = [value / hz for value in (counted.get(of), counted.get("at_least_max") if of == "max" else None) if value is not None]
    off = counted.get("plus_minus", 0) / hz + (limit * max(time.get("error_hz", 0), time.get("off_hz", 0)) / hz if is_time else 0)
    verdict, why = decide(counted, known, limit, off, hz, of)
    if verdict == "pass":
        verdict, why = with_left_out(run, name, limit - off, hz, of)
    if is_time and verdict != "over budget" and summary.get("clock_change"):
        verdict, why = "not comparable", summary.clock_change
    return verdict, f"{of} of {column} is {max(known):g}, {why or f'the budget {limit:g}'}" if verdict != "pass" else ""


def decide(counted, known, limit, off, hz, of):
    """Without what was left out."""
    value, over, passes = max(known), max(known) - off > limit, max(known) + off <= limit
    is_shown = over if of == "max" else passes and of == "min"  # whatever such hits took
    if counted.get("at_least") and not is_shown:
        return "inconclusive", "of some hits only a lower bound is known"
    if of == "mean" and "count" in counted:
        over, passes = chances(counted, (value - limit) * hz, off * hz)
        if (over or passes) and counted["count"] < FEW:
            return "inconclusive", f"{counted['count']} hits: {FEW} would decide"
    if over:
        return "over budget", ""
    return ("pass", "") if passes else ("inconclusive", f"±{off:g}" if off or of != "mean" else "and more hits may decide")


def rank_of(part, count):
    """Of a quantile, as pmu-probe has it: 0.07 of 100 is the 7th, although neither 0.07 nor the product is exact."""
    return min(max(math.ceil(part * count * (1 - 1e-15)), 1), count)


def most_of_quantile(run, name, part, known, unknown):
    """How high it may be with what was left out. Without all hits' values: by the next quantile that is known."""
    counted = run.columns[name]
    rank = rank_of(part, counted["count"] + len(known) + unknown)
    hits = [hit for hit in run.hits if not hit.tainted and not hit.get("warmup") and name not in hit.get("at_least", ())]
    values = [hit.values[name] for hit in hits if hit.values.get(name) is not None]
    if len(values) == counted["count"]:
        values = sorted(values + known)
        return values[rank - 1] if rank <= len(values) else math.inf
    known_ranks = [(rank_of(q, counted["count"]), counted[key]) for key, q in (*QUANTILES.items(), ("max", 1)) if counted.get(key) is not None]
    return min((value for at, value in known_ranks if at >= rank), default=math.inf)


def with_left_out(run, name, limit, hz, of):
    """What would pass, if not for them. They make no minimum higher, and a quantile by some ranks."""
    known, unknown = left_out(run, name)
    if of == "min" or not (known or unknown):
        return "pass", ""
    if gaps := (run.summary.get("calls") or Record()).get("gaps"):  # each may hide any number of calls
        return "inconclusive", f"trace was lost {gaps} time{'s' * (gaps > 1)}: calls may lie wholly in a loss"
    if of in QUANTILES and "count" in run.columns[name]:
        if (most := most_of_quantile(run, name, QUANTILES[of], known, unknown) / hz) <= limit:
            return "pass", ""
        up_to = "" if math.isinf(most) else f"up to {most:g} "
        return "inconclusive", f"{up_to}with {len(known) + unknown} calls that were left, left out, tainted or cut by the end"
    if unknown:
        return "inconclusive", f"{unknown} calls were left, left out, tainted or cut by the end: what they took is not known"
    counted = run.columns[name]
    most = max(known, default=0)
    if of == "mean" and known and "count" in counted:
        most = (counted.mean * counted["count"] + sum(known)) / (counted["count"] + len(known))
    if most / hz > limit:
        return "inconclusive", f"up to {most / hz:g} with tainted hits"
    return "pass", ""

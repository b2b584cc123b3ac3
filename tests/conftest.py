"""What every test shares: which of them run, where, and the closing line. `make check` runs a sample,
`make soak` (PMU_SOAK) everything."""
import contextlib
import os
import random
import signal
import sys
import tempfile
import time
import uuid

import pytest
from xdist.scheduler import LoadScheduling

TESTS = os.path.dirname(os.path.abspath(__file__))
SYSTEM = os.path.join(TESTS, "system")
SOAK = bool(os.environ.get("PMU_SOAK"))
CHECK_S = 200

sys.path[:0] = [TESTS, SYSTEM]
import cost  # noqa: E402
import fixtures_passed  # noqa: E402
import once  # noqa: E402
import rows  # noqa: E402
from once import RUN  # noqa: E402

PASSED = fixtures_passed.files()
COSTS = cost.Costs()


def pytest_configure(config):
    config.addinivalue_line("markers", "soak: only `make soak` runs it")
    config.addinivalue_line("markers", "nobody_answers: what it waits for does not come")
    config.addinivalue_line("markers", "waits: for something that comes late; it begins early")
    config.addinivalue_line("markers", "each_value: a row takes long; `make check` runs one, and a fifth of these tests")
    config.addinivalue_line("markers", "any_fifth: of a file: `make check` runs a fifth of its tests, another fifth with another seed")
    config.addinivalue_line("markers", "any_row(n): `make check` runs n rows, one if it does not say, and a fifth of these tests")
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # as in `make check &`; the tool inherits it, and tests send it
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:  # as in `nohup make check`: what tests start does not ignore it
        signal.signal(signal.SIGHUP, lambda *_: None)
    if not hasattr(config, "workerinput"):  # the workers get both from here
        os.environ.setdefault("PMU_SEED", str(random.randrange(1 << 31)))
        os.environ[RUN] = uuid.uuid4().hex
        os.environ.setdefault("PMU_PROBE_PATIENCE", "20")  # a busy machine is not a broken one
        os.environ["XDG_CONFIG_HOME"] = os.devnull  # the user who runs the tests may have a pmu-probe.conf


def pytest_ignore_collect(collection_path, config):
    """Files of tests that need not run: to collect them takes time, too."""
    named = any(str(collection_path).endswith(word.partition("::")[0]) for word in config.args if word.endswith(".py") or "::" in word)
    if not SOAK and not named and os.path.relpath(collection_path, TESTS) in PASSED:
        return True


def rows_of_products(items):
    """The items that `make check` leaves out of each test's rows: see rows.py."""
    products, whole = {}, {path for path in {item.path for item in items} if fixtures_passed.of_fixtures(path)}
    for item in items:
        if hasattr(item, "callspec") and item.path not in whole:
            products.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for test, product in products.items():
        long, few = product[0].get_closest_marker("each_value"), product[0].get_closest_marker("any_row")
        places = rows.any_row(product, test, *few.args) if few else \
            rows.chosen([rows.row_of(item.callspec.params) for item in product], test, long is not None)
        chosen = {product[place] for place in places}
        yield from (item for item in product if item not in chosen)


def other_parts(items, named):
    """The items that `make check` leaves out of the files that nobody named: four fifths of the tests of those that are marked
    `any_fifth`, and of the others as many of the tests whose rows take long. All rows of a test together."""
    files = {}
    for item in items:
        marked = item.get_closest_marker("any_fifth") is not None
        if (marked or is_long(item)) and not str(item.path).endswith(named):
            files.setdefault((item.path, marked), {}).setdefault(item.nodeid.partition("[")[0], []).append(item)
    for (path, _), tests in files.items():
        out = len(tests) * 4 // 5
        for test in random.Random(f"{os.environ['PMU_SEED']} {path.name}").sample(sorted(tests), out):
            yield from tests[test]


def too_costly(items, named):
    """The items that `make check` leaves out because it has CHECK_S seconds of CPU for tests that take long."""
    of = [item for item in items if not str(item.path).endswith(named) and not fixtures_passed.of_fixtures(item.path)]
    out = cost.too_many({cost.key_of(item.nodeid) for item in of}, float(os.environ.get("CHECK_S") or CHECK_S), os.environ["PMU_SEED"])
    yield from (item for item in of if cost.key_of(item.nodeid) in out)


def pytest_collection_modifyitems(config, items):
    if not SOAK:
        asked_for = any("::" in word for word in config.args)  # a test that is named runs, whichever it is
        out = set() if asked_for else {item for item in items if item.get_closest_marker("soak")}
        if not asked_for:
            named = tuple(word for word in config.args if word.endswith(".py"))
            out |= set(other_parts([item for item in items if item not in out], named))
            out |= set(rows_of_products([item for item in items if item not in out]))
            out |= set(too_costly([item for item in items if item not in out], named))
        config.hook.pytest_deselected(items=[item for item in items if item in out])
        items[:] = [item for item in items if item not in out]
    items[:] = spread(items)


FIRST = {"test_play.py", "test_hardware.py", "test_lint.py", "test_golden.py"}


def is_long(item):
    return any(item.get_closest_marker(name) for name in ("each_value", "any_row"))


def spread(items):
    """Those that wait for long are early, each between others, which use the CPU meanwhile; short ones are last, so that the
    workers end together."""
    def waits(item):
        return any(item.get_closest_marker(name) for name in ("nobody_answers", "waits"))

    slow, others, units = [], [], []
    for item in items:
        (slow if waits(item) else units if item.path.name == "test_unit.py" else others).append(item)
    random.Random(len(others)).shuffle(others)
    short = [item for item in others if not is_long(item) and item.path.name not in FIRST]
    early = [item for item in others if is_long(item) or item.path.name in FIRST] + short[:len(short) // 2]
    random.Random(len(early)).shuffle(early)
    return mixed(slow, early) + units + short[len(short) // 2:]


def mixed(some, others):
    """Both, each spread evenly."""
    return [item for _, item in sorted([((i + 0.5) / len(part), item) for part in (some, others) for i, item in enumerate(part)],
                                       key=lambda pair: pair[0])]


class OneByOne(LoadScheduling):
    """Gives each worker its next test when it begins one. pytest-xdist's own scheduler hands out long runs of tests, so
    that at the end some workers still have many and others none."""

    def check_schedule(self, node, duration=0):
        if node.shutting_down:
            return
        if not self.pending:
            node.shutdown()
        elif len(self.node2pending[node]) < 2:
            self._send_tests(node, 2 - len(self.node2pending[node]))

    def _send_tests(self, node, num):
        super()._send_tests(node, min(num, 2))


def pytest_xdist_make_scheduler(config, log):
    return OneByOne(config, log)


@pytest.fixture(autouse=True)
def state_folder(monkeypatch):
    """Of each test its own, in memory where there is a folder for that: what one leaves is nothing to the next."""
    with tempfile.TemporaryDirectory(prefix="pmu-state-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as folder:
        monkeypatch.setenv("XDG_STATE_HOME", folder)
        yield os.path.join(folder, "pmu-probe")


@pytest.fixture(autouse=True)
def patience(request, monkeypatch):
    if request.node.get_closest_marker("nobody_answers"):
        monkeypatch.setenv("PMU_PROBE_PATIENCE", "2")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_logstart():
    COSTS.begin()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    if call.when == "teardown":
        COSTS.end(report)


def pytest_runtest_logreport(report):
    COSTS.take(report)


def pytest_testnodedown(node):
    COSTS.whole += getattr(node, "workeroutput", {}).get("cpu", 0)


def pytest_sessionfinish(session, exitstatus):
    config = session.config
    if hasattr(config, "workeroutput"):
        config.workeroutput["cpu"] = cost.cpu()
    else:
        COSTS.whole += cost.cpu(children=not config.getoption("numprocesses", None))
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter and not hasattr(config, "workerinput") and exitstatus == 0 and config.args == ["tests"]:
        fixtures_passed.note(reporter.stats.get("passed", []), reporter.stats.get("skipped", []))


def reasons(reporter):
    """Why tests were skipped, each reason once."""
    said = (report.longrepr[2] for report in reporter.stats.get("skipped", []) if isinstance(report.longrepr, tuple))
    return sorted({reason.removeprefix("Skipped: ") for reason in said})


def left_running():
    """Processes of this run that still run: their ids and command lines."""
    mark, own = f"{RUN}={os.environ[RUN]}".encode(), os.getpid()
    for name in os.listdir("/proc") if os.path.isdir("/proc/self") else []:
        with contextlib.suppress(OSError):
            if name.isdigit() and int(name) != own:
                with open(f"/proc/{name}/environ", "rb") as environ, open(f"/proc/{name}/cmdline", "rb") as words:
                    if mark in environ.read().split(b"\0"):
                        yield int(name), words.read().replace(b"\0", b" ").decode(errors="replace").strip()


def end_left_running(reporter):
    """What reads our output waits for everyone who could still write to it."""
    end = time.monotonic() + 5
    while (left := list(left_running())) and time.monotonic() < end:
        time.sleep(0.1)
    for process, words in left:
        reporter.write_line(f"left running, and ended now: {words}")
        with contextlib.suppress(OSError):
            os.kill(process, signal.SIGKILL)


def pytest_unconfigure(config):
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if hasattr(config, "workerinput") or reporter is None:
        return
    end_left_running(reporter)
    once.forget()
    for report in reporter.stats.get("passed", []) + reporter.stats.get("failed", []):
        for name, row in report.user_properties:
            if name == "table" and report.when == "call":
                reporter.write_line(row)
    if config.args == ["tests"] and COSTS.tests:
        for line in COSTS.table():
            reporter.write_line(line)
    count = {what: len(reporter.stats.get(what, [])) for what in ("passed", "failed", "error", "skipped")}
    skipped = f", {count['skipped']} skipped: {'; '.join(reasons(reporter))}" if count["skipped"] else ""
    reporter.write_line(f"The same random places again: PMU_SEED={os.environ['PMU_SEED']}")
    reporter.write_line(f"{count['passed']} passed, {count['failed'] + count['error']} failed{skipped}")

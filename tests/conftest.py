"""What every test shares: where things are, which CPU it has, and the closing line of `make check`."""
import contextlib
import os
import sys

import pytest

TESTS = os.path.dirname(os.path.abspath(__file__))
SYSTEM = os.path.join(TESTS, "system")
CPUS = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()

sys.path.insert(0, SYSTEM)


def own_cpu(config):
    """The CPU of this worker's system tests. A board and a debugger answer each other thousands of times a second, which
    on one CPU takes 40 % less time than on two."""
    number = getattr(config, "workerinput", {}).get("workerid", "gw0")[2:]
    return {sorted(CPUS)[int(number) % len(CPUS)]}


def waits(item):
    return not str(item.path).startswith(SYSTEM + os.sep)


def pytest_collection_modifyitems(items):
    items.sort(key=waits)


@pytest.fixture(autouse=True)
def place_of_work(request):
    """Linters, unit tests and fuzzers come last and take the time that is left: beside one that has a full share of its
    CPU, a board and a debugger would wait for the end of its slice with each answer."""
    with contextlib.suppress(OSError):  # where that is not permitted it only takes longer
        if CPUS and waits(request.node):
            os.sched_setaffinity(0, CPUS)
            os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
        elif CPUS:
            os.sched_setaffinity(0, own_cpu(request.config))


def pytest_unconfigure(config):
    if hasattr(config, "workerinput"):
        return
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None:
        return
    count = {what: len(reporter.stats.get(what, [])) for what in ("passed", "failed", "error", "skipped")}
    skipped = f", {count['skipped']} skipped" if count["skipped"] else ""
    reporter.write_line(f"{count['passed']} passed, {count['failed'] + count['error']} failed{skipped}")

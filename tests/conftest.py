"""What every test shares: where things are, and the closing line of `make check`."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "system"))


def pytest_collection_finish(session):
    """A worker and all that it starts keep to one CPU: board, OpenOCD and tool wait for each other at every step, and to be
    woken on another CPU takes longer than the step."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "")
    if hasattr(session.config, "workerinput") and hasattr(os, "sched_setaffinity"):
        cpus = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cpus[int(worker.lstrip("gw")) % len(cpus)]})


def pytest_unconfigure(config):
    if hasattr(config, "workerinput"):
        return
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None:
        return
    count = {what: len(reporter.stats.get(what, [])) for what in ("passed", "failed", "error", "skipped")}
    skipped = f", {count['skipped']} skipped" if count["skipped"] else ""
    reporter.write_line(f"{count['passed']} passed, {count['failed'] + count['error']} failed{skipped}")

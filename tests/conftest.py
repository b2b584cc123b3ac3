"""What every test shares: where things are, and the closing line of `make check`."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "system"))


def pytest_unconfigure(config):
    if hasattr(config, "workerinput"):
        return
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None:
        return
    count = {what: len(reporter.stats.get(what, [])) for what in ("passed", "failed", "error", "skipped")}
    skipped = f", {count['skipped']} skipped" if count["skipped"] else ""
    reporter.write_line(f"{count['passed']} passed, {count['failed'] + count['error']} failed{skipped}")

"""Tests of what the other tests rest on (the virtual board, the card), of the target stub and of board files do not change
with the tool. `make check` runs a group of them only when what it is about is not as it was when the group last passed as
a whole. That is in fixtures.passed, a hash for each group, which is committed with the change. `make soak` runs them always."""
import glob
import hashlib
import json
import os

TESTS = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(TESTS)
PASSED = os.path.join(TESTS, "fixtures.passed")
CLIENTS = ["system/board.py", "system/cmsis_dap.py", "system/usb.py", "system/usb_raw.py", "system/swd_client.py"]
# Each group: its tests, and what else they depend on, below tests/
GROUPS = {
    "board": (["system/test_board.py", "system/test_board_[!f]*.py", "system/test_dap_*.py", "system/test_usb.py"],
              ["board/**", "firmware/*", "system/clients/*", "system/cortex_m.py", "system/armv7.py", "system/armv8.py", *CLIENTS,
               "../make/board.mk", "../make/firmware*.mk", "../openocd-cfg/boards/virtual*.cfg"]),
    "boards": (["system/test_board_files.py"], ["../openocd-cfg/**", "system/tap_chain.py"]),
    "card": (["system/test_card_model.py"], ["card/*", "system/card.py", "../make/card.mk"]),
    "stub": (["test_stub.py", "test_stub_builds.py", "system/test_stub_pushed.py"],
             ["stub/*", "system/stub_judges.py", "../target-stub/*", "../make/stub.mk", "board/**", "firmware/*", *CLIENTS]),
}


def matching(patterns):
    found = {os.path.normpath(name) for pattern in patterns
             for name in glob.glob(os.path.join(TESTS, pattern), recursive=True) if os.path.isfile(name)}
    return sorted(os.path.relpath(name, TESTS) for name in found)


def tests_of(group):
    return matching(GROUPS[group][0])


def of_fixtures(path):
    """When they run, they run as a whole."""
    return any(os.path.relpath(path, TESTS) in tests_of(group) for group in GROUPS)


def hash_of(group):
    whole = hashlib.sha256()
    for name in sorted({*tests_of(group), *matching(GROUPS[group][1])}):
        with open(os.path.join(TESTS, name), "rb") as file:
            whole.update(name.encode() + b"\0" + hashlib.sha256(file.read()).digest())
    return whole.hexdigest()


def known():
    try:
        with open(PASSED, encoding="ascii") as file:
            return json.load(file)
    except FileNotFoundError:
        return {}


def files():
    """The test files that need not run."""
    passed = known()
    return {name for group in GROUPS if passed.get(group) == hash_of(group) for name in tests_of(group)}


def note(passed, skipped):
    """After a whole run without a failure: a group of which each file has passed, with no test left out, is known as such."""
    def files_of(reports):
        return {os.path.relpath(os.path.join(ROOT, report.nodeid.partition("::")[0]), TESTS) for report in reports}
    good, now = files_of(passed) - files_of(skipped), known()
    now.update({group: hash_of(group) for group in GROUPS if set(tests_of(group)) <= good})
    if now != known():
        with open(PASSED, "w", encoding="ascii") as file:
            json.dump(now, file, indent=1, sort_keys=True)
            file.write("\n")

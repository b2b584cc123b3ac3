"""The files of tests/golden are those that the unit tests write, and no others."""
import glob
import os
import subprocess

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.environ.get("PMU_BUILD", "build")


def files_below(folder):
    return {os.path.relpath(os.path.join(where, name), folder) for where, _, names in os.walk(folder) for name in names}


def writers(folder):
    """Which files of a folder of unit tests compare with golden files."""
    for path in sorted(glob.glob(os.path.join(ROOT, "tests/unit", folder, "test_*.c"))):
        with open(path, encoding="utf-8") as file:
            if "golden" in file.read():
                yield os.path.basename(path)[:-2]


@pytest.mark.soak  # it runs all those tests once more
def test_each_golden_file_has_its_test(tmp_path):
    programs = subprocess.run(["make", "-s", f"BUILD={BUILD}", "golden-programs"], cwd=ROOT, text=True, check=True,
                              stdout=subprocess.PIPE).stdout.split()
    assert programs
    for program in programs:  # they write into the current folder
        for name in writers(os.path.basename(program)):
            subprocess.run([os.path.join(ROOT, program), name], cwd=tmp_path, env={**os.environ, "PMU_GOLDEN": "write"}, check=True,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    unused = files_below(os.path.join(ROOT, "tests/golden")) - files_below(tmp_path / "tests/golden")
    assert not unused, "`make golden` removes them"

"""Formatting and static analysis as tests: a tree that is not clean does not pass."""
import os
import shutil
import subprocess

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.environ.get("PMU_BUILD", "build")


def ask_make(target):
    out = subprocess.run(["make", "-s", f"BUILD={BUILD}", target], cwd=ROOT, check=True, text=True,
                         stdout=subprocess.PIPE)
    return out.stdout.split()


SOURCES = ask_make("lint-files")
HEADERS = ask_make("lint-headers")
FLAGS = ask_make("lint-flags")


def run(command):
    done = subprocess.run(command, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == 0, done.stdout[-8000:]


def test_format():
    run(["clang-format", "--dry-run", "-Werror", *SOURCES, *HEADERS])


@pytest.mark.parametrize("name", SOURCES)
def test_tidy(name):
    run(["clang-tidy", "--quiet", name, "--", *FLAGS])


def test_cppcheck():
    flags = [flag for flag in FLAGS if flag.startswith(("-I", "-D"))]
    own = [flag for flag in flags if not flag.startswith("-I/")]
    run(["cppcheck", "--std=c11", "--quiet", "--error-exitcode=1", "--inline-suppr",
         "--enable=warning,performance,portability", "--suppress=missingIncludeSystem", *own, "probe",
         "tests/board", "tests/card", "target-stub/knc"])


def test_tools_are_there():
    assert shutil.which("clang-tidy") and shutil.which("cppcheck") and shutil.which("clang-format")

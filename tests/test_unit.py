"""Runs each file of tests/unit by its folder's program, under the sanitizers it was built with."""
import glob
import os
import subprocess

import pytest

from board import WAIT

SOAK = bool(os.environ.get("PMU_SOAK"))  # sweeps take each place, next to other work

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.join(ROOT, os.environ.get("PMU_BUILD", "build"))
SOURCES = sorted(glob.glob(os.path.join(ROOT, "tests/unit/*/**/test_*.c"), recursive=True))
NAMES = [os.path.relpath(name, os.path.join(ROOT, "tests/unit")) for name in SOURCES]


@pytest.mark.parametrize("source", NAMES)
def test_unit(source):
    folder, name = source[:-2].split(os.sep, 1)
    program = os.path.join(BUILD, "unit", folder)
    # Here others are models, which answer in their own time or, when that is tested, not at all
    environment = {key: value for key, value in os.environ.items() if key != "PMU_PROBE_PATIENCE"}
    done = subprocess.run([program, name], cwd=ROOT, env=environment, text=True, errors="replace", stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=6 * WAIT if SOAK else WAIT)
    assert done.returncode == 0, done.stdout[-8000:]


def test_what_bench_takes_for_memory_runs():
    """It is the one program that is not a test and has a model core."""
    done = subprocess.run([os.path.join(BUILD, "asan/bench/simulated_hits"), "10"], text=True, capture_output=True, timeout=WAIT)
    assert done.returncode == 0 and done.stdout.startswith('{"hits": 10,'), done.stdout + done.stderr

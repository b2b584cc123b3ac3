"""Every fuzz target. `make check` gives it its seeds again; `make soak`, which sets PMU_SOAK, has it search on from there,
with a fixed seed, so that a failure can be had again."""
import glob
import os
import subprocess

import pytest

from board import WAIT

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.join(ROOT, os.environ.get("PMU_BUILD", "build"))
SOAK = bool(os.environ.get("PMU_SOAK"))
TARGETS = sorted(os.path.basename(name)[:-2] for name in glob.glob(os.path.join(ROOT, "tests/fuzz/fuzz_*.c")))
CASES = 200000
LONGEST_S = 120


def run(*command):
    done = subprocess.run(command, cwd=ROOT, text=True, errors="replace", stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=WAIT)
    assert done.returncode == 0, done.stdout[-8000:]


def seeds(target):
    return os.path.join("tests/fuzz/seeds", target)


@pytest.mark.parametrize("target", TARGETS)
def test_replay(target):
    run(os.path.join(BUILD, "fuzz-replay"), target, seeds(target))


if SOAK:
    @pytest.mark.parametrize("target", TARGETS)
    def test_fuzz(target, tmp_path):
        run(os.path.join(BUILD, "fuzz", target), f"-runs={CASES}", f"-max_total_time={LONGEST_S}", "-seed=1", "-timeout=20",
            f"-artifact_prefix={tmp_path}/", str(tmp_path), seeds(target))

"""A fixed number of cases of every fuzz target; the seed is fixed too, so that a failure can be had again."""
import glob
import os
import subprocess

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.join(ROOT, os.environ.get("PMU_BUILD", "build"))
TARGETS = sorted(os.path.basename(name)[:-2] for name in glob.glob(os.path.join(ROOT, "tests/fuzz/fuzz_*.c")))
CASES = 20000


@pytest.mark.parametrize("target", TARGETS)
def test_fuzz(target, tmp_path):
    seeds = os.path.join(ROOT, "tests/fuzz/seeds", target)
    folders = [str(tmp_path)] + ([seeds] if os.path.isdir(seeds) else [])
    done = subprocess.run([os.path.join(BUILD, "fuzz", target), f"-runs={CASES}", "-seed=1", "-timeout=20",
                           f"-artifact_prefix={tmp_path}/", *folders], cwd=ROOT, text=True, errors="replace",
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=600)
    assert done.returncode == 0, done.stdout[-8000:]

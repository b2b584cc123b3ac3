"""Captures of real chips: PMU_TRACES names their folder, and unit/trace decodes them."""
import os
import subprocess

import pytest

from board import WAIT

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


@pytest.mark.skipif("PMU_TRACES" not in os.environ, reason="PMU_TRACES=FOLDER decodes captures of real chips")
def test_captures_are_decoded():
    program = os.path.join(ROOT, os.environ.get("PMU_BUILD", "build"), "unit/trace")
    done = subprocess.run([program, "test_moments"], text=True, capture_output=True, timeout=WAIT)
    assert done.returncode == 0 and "SKIPPED" not in done.stdout + done.stderr, done.stdout + done.stderr

"""Scripts that targets of the Makefile run, and that no other test does, start."""
import os
import subprocess
import sys

import pytest

TESTS = os.path.dirname(os.path.abspath(__file__))


@pytest.mark.parametrize("script", ["bench/bench.py", "capture.py", "coverage.py"])
def test_each_script_finds_its_modules(script):
    """In another process: here all folders are on the path."""
    path = os.path.join(TESTS, script)
    code = f"import runpy, sys; sys.path.insert(0, {os.path.dirname(path)!r}); runpy.run_path({path!r}, run_name='starts')"
    done = subprocess.run([sys.executable, "-c", code], cwd="/", capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-1000:]

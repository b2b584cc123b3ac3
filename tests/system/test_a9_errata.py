"""Errata of the Cortex-A9 that hide a reset from the tool, or an overflow."""
import json

import pytest

from harness import WORK_BY_DATA, Place, finish_tool, unfolded, wait_for


@pytest.mark.parametrize("state", ["resets-unseen", None])
def test_a_reset_that_no_register_shows(state):
    """DBGPRSR.SR does not show it (799770), the counters do: both causes are named, and what was counted before is printed."""
    with Place("a9/swd", "free", WORK_BY_DATA, **({"core_state": state} if state else {})) as place:
        tool = place.start("stat", "-j", "--for", "60s", "-I", "50ms")
        lines = []
        wait_for(lambda: lines.append(json.loads(tool.stdout.readline())) or lines[-1]["type"] == "sample", "a sample")
        place.board.command("reset")
        result = finish_tool(tool)
        counted = result.lines[-1]
        assert result.code == 3 and "the counts above go up to then" in unfolded(result.err), result.err
        assert ("erratum 799770" in result.err and "PMCNTENSET" in result.err) == (state is not None), result.err
        assert counted["type"] == "summary" and counted["columns"]["CPU_CYCLES"]["count"] > 0, counted


@pytest.mark.parametrize("state, told", [("lost-overflows", "passed 0 without a stop"), ("all-overflows-lost", "stops the core no more"), (None, "")])
def test_an_overflow_that_is_lost(state, told, tmp_path):
    """NXP ERR003719: the counter is past 0, and nothing stopped the core. The next overflow would be 2^32 events away."""
    path = tmp_path / "p.jsonl"
    with Place("a9/swd", "free", WORK_BY_DATA, **({"core_state": state} if state else {})) as place:
        result = place.run("record", "-e", "INST_OUT_OF_RENAME_STAGE", "--every", 20000, "--for",
                           "60s" if state == "all-overflows-lost" else "3s", "-o", path)  # that ends by itself
        assert result.code == (3 if state == "all-overflows-lost" else 0), result.err
        assert told in unfolded(result.err) and ("ERR003719" in result.err or "overflows are lost" in unfolded(result.err)) == bool(state)
        samples = sum(sum(line["pc"].values()) for line in map(json.loads, open(path)) if line["type"] == "samples" and "pc" in line)
        assert (samples > 0) == (state != "all-overflows-lost"), result.err
        assert place.board.state()["run"] == "running"

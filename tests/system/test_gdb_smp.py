"""Several cores as threads of one GDB port (OpenOCD's `target smp` and hwthread): what is measured is the chosen core, and
a stop of another one is reported."""
import os

import pytest

from gdb_door import DoorPlace
from gdb_place import GdbPlace
from harness import NOWHERE, ROOT, WORK_BY_DATA, passages, returned

pytestmark = pytest.mark.any_fifth

HITS = 3


def config(folder):
    file = folder / "smp.cfg"
    file.write_text(f"source {os.path.join(ROOT, 'openocd-cfg', 'boards', 'virtual-a9.cfg')}\n"
                    "a9.cpu0 configure -rtos hwthread\na9.cpu1 configure -rtos hwthread\ntarget smp a9.cpu0 a9.cpu1\n")
    return file


@pytest.fixture
def smp(tmp_path, monkeypatch):
    file = config(tmp_path)
    monkeypatch.setattr(GdbPlace, "config", lambda self: file)


@pytest.mark.parametrize("core, function", [(0, "work_by_data"), (1, "core1_work")])
def test_the_chosen_core(smp, core, function):
    with GdbPlace("a9", "free", WORK_BY_DATA) as place:
        board = place.board.core(1) if core == 1 else place.board
        board.watch(NOWHERE)
        result = place.delta(function, "-r", HITS, "-C", core)
        truth = passages(board.log(), place.symbol(function), returned)
        assert len(result.hits) == HITS and result.cycles == [passage.cycles for passage in truth[:HITS]]


@pytest.mark.parametrize("core, function", [(1, "work_by_data"), (0, "core1_work")])
def test_a_stop_of_another_is_told(smp, core, function):
    with GdbPlace("a9", "free", WORK_BY_DATA) as place:
        other = place.run("-C", core, "delta", function, "-r", HITS)
        assert other.code == 3 and "CPU_CYCLES" not in other.out
        assert f"stopped on a9.cpu{1 - core} at 0x" in other.err and f"the counters are those of a9.cpu{core}" in other.err
        place.board.wait_for(lambda state: state["run"] == "running")


def test_in_gdb(smp, tmp_path):
    with DoorPlace("a9", "free", WORK_BY_DATA) as place:
        board = place.board.core(1)
        board.watch(NOWHERE)
        result = place.delta_in_gdb(tmp_path, f"core1_work -r {HITS} -C 1")
        truth = passages(board.log(), place.symbol("core1_work"), returned)
        assert len(result.hits) == HITS and result.cycles == [passage.cycles for passage in truth[:HITS]], result.said
        other = place.gdb("pmu delta core1_work -r 2 -C 0")
        assert "stopped on a9.cpu1 at 0x" in other.err and "CPU_CYCLES" not in other.out

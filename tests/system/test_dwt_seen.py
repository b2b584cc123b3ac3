"""The DWT shows its features only while DEMCR.TRCENA is set. Its lock may stop a debugger on a Cortex-M7."""
import pytest

from cmsis_dap import Dap
from harness import WORK_BY_DATA, Place, hits_of, passages, returned, unfolded

DEMCR, DWT_CTRL, DWT_LSR = 0xE000EDFC, 0xE0001000, 0xE0001FB4


def exact(place, result):
    truth = passages(place.board.log(), place.symbol("work_by_data"), returned)
    assert result.cycles == [passage.cycles for passage in truth][:len(result.hits)]


@pytest.mark.parametrize("way", ["m33/swd", "m7/swd", "m7", "m4/swd", "m55/swd"])
def test_without_cyccnt_systick_is_taken(way):
    """DWT_CTRL reads as zero while TRCENA is 0 (not on all): NOCYCCNT was not seen when the core was examined."""
    with Place(way, "free", WORK_BY_DATA, core_state="no-cyccnt") as place:
        before = place.board.state()
        result = place.delta("work_by_data", "-r", hits_of(place, 100, 20), *(["--counter", "systick"] if way[:3] == "m55" else []))
        exact(place, result)
        assert "SysTick" in result.header["counter"]
        assert place.board.state()["demcr"] == before["demcr"]
        named = place.run("delta", "work_by_data", "--counter", "dwt")
        assert named.code == 3 and "DWT_CTRL.NOCYCCNT is set" in unfolded(named.err), named.err


def test_profiling_counters_that_are_not_there():
    with Place("m33/swd", "free", WORK_BY_DATA) as place:
        result = place.delta("work_by_data", "-r", 20, "-e", "LSUCNT,CPU_CYCLES")
        exact(place, result)
        assert "not_supported" in result.summary["columns"]["LSUCNT"], result.summary


@pytest.mark.parametrize("state", [None, "dwt-locked", "dwt-lock-lies"])
@pytest.mark.parametrize("way", ["m7/swd", "m7/jtag"])
def test_the_lock_is_opened_and_closed(way, state):
    with Place(way, "free", WORK_BY_DATA, **({"core_state": state} if state else {})) as place:
        result = place.delta("work_by_data", "-r", 50, "-e", "LSUCNT,CPU_CYCLES")
        exact(place, result)
        assert result.header["counter"].startswith("DWT CYCCNT")
        assert not place.board.state()["dwt_ctrl"] & 1
        if way == "m7/swd":
            with Dap(place.board.dap_port) as dap:
                dap.swd()
                dap.power_up()
                dap.set_word(DEMCR, 1 << 24)
                dap.set_word(DWT_CTRL, 1)  # dropped, for it is closed again
                assert not state or not dap.word(DWT_CTRL) & 1
                assert dap.word(DWT_LSR) == (3 if state == "dwt-locked" else 0)

"""Armv8-M with the Security Extension: access ports that begin Non-secure, registers of which there are two, Secure debug
that is not allowed."""
import pytest

from cmsis_dap import AP, CSW, Dap, read, write
from harness import SPAN_1M, WORK_BY_DATA, Place, at, hits_of, passages, returned, unfolded

HNONSEC = 1 << 30
WAYS = ["m33/swd", "m33/jtag", "m33/v2", "rp2350/swd"]
STATES = ["secure", "non-secure"]


def place_in(way, state, mode="free", scenario=WORK_BY_DATA, **options):
    if state == "non-secure":
        options["core_state"] = "non-secure"
    return Place(way, mode, scenario, **options)


def exact(place, result, start, is_end):
    truth = passages(place.board.log(), place.symbol(start), is_end)
    assert len(truth) in (len(result.hits), len(result.hits) + 1)
    assert result.cycles == [passage.cycles for passage in truth][:len(result.hits)]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("counter", ["dwt", "systick"])
def test_either_state_is_measured(way, state, counter):
    """After reset the access port is Non-secure and sees neither Secure memory nor the Secure SysTick."""
    with place_in(way, state) as place:
        before = place.board.state()
        result = place.delta("work_by_data", "-r", hits_of(place), "--counter", counter)
        exact(place, result, "work_by_data", returned)
        after = place.board.state()
        assert after["csw"] == before["csw"] and after["csw"] & HNONSEC
        if counter == "systick":
            said = "Non-secure SysTick" if state == "non-secure" else "Secure SysTick"
            assert result.header["counter"].startswith(said), result.header
            assert after["syst_rvr"] == before["syst_rvr"]


@pytest.mark.parametrize("state", STATES)
def test_ticks_of_the_programs_own_systick(state):
    with place_in("m33/swd", state, "ms", SPAN_1M, clock=12_000_000) as place:
        result = place.delta("span_1m_start", "span_1m_end", "-r", 5, "--counter", "systick", "--tick", "tick_count")
        exact(place, result, "span_1m_start", at(place.symbol("span_1m_end")))


def test_a_debugger_that_left_secure_accesses_behind():
    """If Secure debug is not allowed, all of them are refused."""
    with place_in("m33/swd", "non-secure") as place:
        place.board.command("core-state no-secure-debug on")
        with Dap(place.board.dap_port) as dap:
            dap.swd()
            dap.power_up()
            dap.transfer(write(AP, CSW, 0x23000052))
            assert not dap.transfer(read(AP, CSW)).words[0] & HNONSEC
        result = place.delta("work_by_data", "-r", 50)
        exact(place, result, "work_by_data", returned)
        assert not place.board.state()["csw"] & HNONSEC


def test_secure_code_where_its_debug_is_not_allowed():
    with place_in("m33/swd", "secure", core_state="no-secure-debug") as place:
        doctor = place.run("doctor", elf=False)
        assert doctor.code == 0
        assert "Non-secure only DAUTHSTATUS = 0xAF: Secure code is never stopped, and may not be counted" in unfolded(doctor.out), doctor.out
        start, end = (f"*{place.symbol(name):#x}" for name in ("plain_first", "plain_second"))
        result = place.run("delta", start, end, "--timeout", "200ms", elf=False)
        assert result.code == 3
        assert "The chip never stops in Secure code (DAUTHSTATUS)" in unfolded(result.err), result.err
        assert "what runs in Secure state may not be counted (DAUTHSTATUS)" in unfolded(place.run("stat", "--for", "50ms", elf=False).out)


@pytest.mark.parametrize("way", ["m33/swd", "m7/swd"])
def test_doctor_where_all_is_allowed(way):
    with Place(way, "free", WORK_BY_DATA) as place:
        result = place.run("doctor")
        assert result.code == 0 and ("DAUTHSTATUS = 0xFF" in result.out) == (way == "m33/swd"), result.out


CYCDISS, TRCENA = 1 << 23, 1 << 24


def place_that_hides(state, enabled=0):
    """A Secure firmware has set DWT_CTRL.CYCDISS: CYCCNT does not count in Secure state."""
    place = place_in("m33", state)
    place.server(f"mww 0xE000EDFC {TRCENA}; mww 0xE0001000 {CYCDISS | enabled}")
    assert place.board.state()["dwt_ctrl"] & CYCDISS
    return place


@pytest.mark.parametrize("state", STATES)
def test_cycles_of_the_secure_state_are_counted(state):
    """The bit is cleared where that is allowed, and is set again."""
    with place_that_hides(state) as place:
        before = place.board.state()["dwt_ctrl"]
        result = place.delta("work_by_data", "-r", hits_of(place))
        exact(place, result, "work_by_data", returned)
        assert "in Secure state too (DWT_CTRL.CYCDISS)" in str(result.header), result.header
        assert place.board.state()["dwt_ctrl"] == before


def test_a_count_that_the_program_keeps_without_its_secure_state():
    with place_that_hides("non-secure", enabled=1) as place:
        before = place.board.state()["dwt_ctrl"]
        result = place.delta("work_by_data", "-r", hits_of(place))
        exact(place, result, "work_by_data", returned)
        assert "Secure cycles are not counted (DWT_CTRL.CYCDISS is set)" in str(result.header), result.header
        assert place.board.state()["dwt_ctrl"] == before

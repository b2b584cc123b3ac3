"""The virtual board's debug port of ADIv6, as an RP2350 has it: dormant at first, access ports at addresses."""
import pytest

from board import Board
from swd_client import (ACTIVATE_SWD, AP_CSW, AP_DRW, AP_TAR, CSW_WORDS, DP_ABORT, DP_CTRL, DP_DPIDR, DP_RDBUFF, DP_SELECT, CLEAR, JTAG_TO_SWD,
                        NOBODY, STICKYERR, Refused, Swd)

DPIDR, TARGETID, CPUID_AT, CPUID = 0x4C013477, 0x00040927, 0xE000ED00, 0x411FD210
CORES, DEBUG_MODULE, RP_AP = (0x2000, 0x4000), 0xA000, 0x80000
REGISTERS, IDR, BASE = 0xD00, 0xDFC, 0xDF8
SELECT1_BANK = 5


@pytest.fixture
def wired():
    board = Board.start("rp2350")
    with board, Swd(board) as swd:
        yield board, swd


def woken(swd):
    swd.wake(ACTIVATE_SWD)
    swd.line_reset()
    assert swd.dp(DP_DPIDR) == DPIDR
    swd.power_up()


def bank(swd, number, address):
    swd.dp(DP_SELECT, number)
    value = swd.dp(address)
    swd.dp(DP_SELECT, 0)
    return value


def at(swd, address):
    """What the address space has there."""
    swd.dp(DP_SELECT, address & ~0xF)
    swd.ap(address & 0xC)
    return swd.dp(DP_RDBUFF)


def fails(swd, address):
    at_once = swd.dp(DP_CTRL)
    swd.dp(DP_SELECT, address & ~0xF)
    swd.ap(address & 0xC)
    failed = swd.dp(DP_CTRL) & STICKYERR
    swd.dp(DP_ABORT, CLEAR)
    return bool(failed and not at_once & STICKYERR)


def test_it_is_dormant_until_it_is_woken(wired):
    _, swd = wired
    for _ in range(2):
        swd.switch(JTAG_TO_SWD)
        swd.line_reset()
        with pytest.raises(Refused) as refusal:
            swd.dp(DP_DPIDR)
        assert refusal.value.ack == NOBODY
    woken(swd)
    swd.line_reset()
    assert swd.dp(DP_DPIDR) == DPIDR  # with no TARGETSEL
    swd.target(TARGETID)
    assert swd.dp(DP_DPIDR) == DPIDR
    swd.target(0x01002927)
    with pytest.raises(Refused):
        swd.dp(DP_DPIDR)


def test_what_the_debug_port_says(wired):
    _, swd = wired
    woken(swd)
    assert bank(swd, 1, DP_DPIDR) == 0x20 and bank(swd, 2, DP_DPIDR) == 1 and bank(swd, 3, DP_DPIDR) == 0
    assert bank(swd, 2, DP_CTRL) == TARGETID and bank(swd, SELECT1_BANK, DP_CTRL) == 0
    swd.dp(DP_SELECT, 2)
    swd.line_reset()  # which chooses bank 0 (IHI 0074 B4.3.3)
    assert swd.dp(DP_DPIDR) == DPIDR


def test_the_table_names_the_ports(wired):
    _, swd = wired
    woken(swd)
    assert [at(swd, 4 * i) for i in range(5)] == [*(port | 3 for port in (*CORES, DEBUG_MODULE, RP_AP)), 0]
    assert at(swd, 0xFBC) == 0x47700AF7 and at(swd, 0xFF4) == 0x90
    for port in (*CORES, DEBUG_MODULE):
        assert at(swd, port + 0xFBC) == 0x47700A17 and at(swd, port + IDR) >> 13 & 0xF == 8
    assert [at(swd, port + BASE) for port in CORES] == [0xE00FF003] * 2
    assert at(swd, RP_AP + IDR) and at(swd, RP_AP + 0xFF4) == 0
    assert fails(swd, 0x6000)


def test_memory_by_the_registers_and_around_tar(wired):
    board, swd = wired
    woken(swd)
    board.core(1).command("write 20004000 0123456789abcdef")
    for port in CORES:
        swd.dp(DP_SELECT, port + REGISTERS)
        swd.ap(AP_CSW, CSW_WORDS)
        swd.ap(AP_TAR, CPUID_AT)
        swd.ap(AP_DRW)
        assert swd.dp(DP_RDBUFF) == CPUID
        swd.ap(AP_TAR, 0x20004104)
        assert [at(swd, port + offset) for offset in (0, 4)] == [0x67452301, 0xEFCDAB89]
        swd.dp(DP_SELECT, port)
        swd.ap(4, 0x11223344)
        assert board.read(0x20004004, 4) == bytes.fromhex("44332211")
        board.write(0x20004004, bytes.fromhex("89abcdef"))


def test_an_upper_word_leads_nowhere(wired):
    _, swd = wired
    woken(swd)
    swd.dp(DP_SELECT, SELECT1_BANK)
    swd.dp(DP_CTRL, 1)
    swd.dp(DP_SELECT, 0)
    assert fails(swd, CORES[0] + IDR)
    swd.dp(DP_SELECT, SELECT1_BANK)
    swd.dp(DP_CTRL, 0)
    assert at(swd, CORES[0] + IDR)


def test_power_lost_is_a_port_that_sleeps(wired):
    board, swd = wired
    woken(swd)
    board.command("power off")
    board.command("power on")
    swd.line_reset()
    with pytest.raises(Refused):
        swd.dp(DP_DPIDR)
    woken(swd)

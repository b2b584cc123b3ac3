"""Both cores of the RP2040 through the emulated probe: one line, two debug ports, chosen by TARGETSEL."""
import pytest
from board import Board
from cmsis_dap import (ABORT, AP, CLEAR_STICKY, CTRL_STAT, DP, DRW, LINE_RESET, NO_ACK, OK, SELECT, SWD, TAR,
                       WAKE_SWD, Dap, read, write)

CORES = [0x01002927, 0x11002927]
RP2040, CPUID, M0PLUS = 0x0BC12477, 0xE000ED00, 0x410CC601
DHCSR, KEY, S_HALT = 0xE000EDF0, 0xA05F0000, 1 << 17
SWD_TO_DORMANT = (b"\xff" * 7 + b"\xbc\xe3", 72)


@pytest.fixture(scope="module")
def board():
    with Board.start("rp2040") as b:
        yield b


@pytest.fixture
def dap(board):
    with Dap(board.dap_port) as d:
        assert d.connect(SWD)
        d.clock(10000000)
        yield d


@pytest.mark.parametrize("core", [0, 1])
def test_each_core_answers_for_itself(board, dap, core):
    reply = dap.line_reset(CORES[core])
    assert (reply.ack, reply.words) == (OK, [RP2040])
    dap.transfer(write(DP, ABORT, CLEAR_STICKY))
    ids = dap.transfer(write(DP, SELECT, 2), read(DP, CTRL_STAT), write(DP, SELECT, 3), read(DP, CTRL_STAT),
                       write(DP, SELECT, 0))
    assert ids.words == [0x01002927, core << 28 | 1]  # TARGETID, DLPIDR
    dap.power_up()
    assert dap.word(CPUID) == M0PLUS


def test_nobody_answers_without_targetsel(dap):
    assert dap.line_reset().ack == NO_ACK
    assert dap.line_reset(0x21002927).ack == NO_ACK
    assert dap.line_reset(CORES[0] ^ 0x1000).ack == NO_ACK
    assert dap.line_reset(CORES[1]).words == [RP2040]


@pytest.mark.parametrize("quirk", ["all-answer", "all-answer-high"])
def test_all_answer_until_one_is_chosen(quirk):
    """Alike they are one; what differs has the parity of none, and a list's last write is checked by such a read."""
    with Board.start("rp2040", port_quirks=quirk) as board, Dap(board.dap_port) as dap:
        assert dap.connect(SWD)
        dap.clock(10000000)
        for core in (0, 1):
            dap.line_reset(CORES[core])
            dap.power_up()
            dap.transfer(write(AP, TAR, (0x2000000C, 0x20000014)[core]), read(AP, TAR))
        assert dap.line_reset().words == [RP2040]
        assert dap.transfer(read(DP, CTRL_STAT)).ack == OK
        assert dap.transfer(write(DP, ABORT, CLEAR_STICKY)).ack != OK
        assert dap.line_reset(CORES[1]).words == [RP2040]
        assert dap.transfer(write(DP, ABORT, CLEAR_STICKY)).ack == OK


def test_dap_transfer_cannot_select(dap):
    """TARGETSEL has no acknowledge, which is why it takes DAP_SWD_Sequence."""
    dap.swj(LINE_RESET)
    assert dap.transfer(write(DP, 0xC, CORES[0])).ack == NO_ACK


def test_one_core_is_halted_and_the_other_is_not(board, dap):
    second = board.core(1)
    for core, other in ((1, board), (0, second)):
        dap.line_reset(CORES[core])
        dap.power_up()
        dap.configure(match_retry=1000)
        dap.transfer(write(AP, TAR, DHCSR), write(AP, DRW, KEY | 3))
        reply = dap.transfer(write(AP, TAR, DHCSR), read(AP, DRW))
        assert reply.words[0] & S_HALT
        halted = second if core else board
        assert halted.state()["run"] == "halted"
        assert other.state()["run"] == "running"
        other.run_for(1000)
        dap.transfer(write(AP, TAR, DHCSR), write(AP, DRW, KEY))
        assert halted.state()["run"] == "running"


def test_access_ports_keep_their_own_registers(dap):
    for core in (0, 1):
        dap.line_reset(CORES[core])
        dap.power_up()
        dap.transfer(write(AP, TAR, 0x20008000 + 0x100 * core))
    for core in (0, 1):
        dap.line_reset(CORES[core])
        assert dap.transfer(read(AP, TAR)).words == [0x20008000 + 0x100 * core]


def test_dormant(dap):
    dap.line_reset(CORES[0])
    dap.swj(SWD_TO_DORMANT)
    assert dap.line_reset(CORES[0]).ack == NO_ACK
    assert dap.swd(CORES[0], WAKE_SWD) == RP2040
    assert dap.swd(CORES[1], WAKE_SWD) == RP2040

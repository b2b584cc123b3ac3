"""The virtual board's Serial Wire Debug, line by line: multidrop, the switch, errors and how one recovers from them,
the second core."""

import random
import subprocess

import pytest

from board import BUILD, Board, BoardError
from cortex_m import BOTH_CHIPS
from swd_client import (ACTIVATE_JTAG, ACTIVATE_SWD, AP_CSW, AP_DRW, AP_IDR, AP_TAR, CLEAR, CORE0, CORE1, CSW_WORDS,
                        DP_ABORT, DP_CTRL, DP_DPIDR, DP_RDBUFF, DP_RESEND, DP_SELECT, DP_TARGETSEL, FAULT, JTAG_TO_SWD,
                        NOBODY, OK, ORUNDETECT, POWER_UP, STICKYERR, SWD_TO_DORMANT, SWD_TO_JTAG, WAIT, WDATAERR,
                        ParityError, Refused, Swd)

CPUID, DHCSR, BP_COMP0 = 0xE000ED00, 0xE000EDF0, 0xE0002008
HALT, RUN, S_HALT = 0xA05F0003, 0xA05F0001, 1 << 17
IDS = {"rp2040": (0x0BC12477, 0x410CC601), "m4": (0x2BA01477, 0x410FC241)}
TARGETS = {"rp2040": CORE0, "m4": None}
PLACE, NOWHERE = 0x20004000, 0x60000000


@pytest.fixture
def wired():
    """wired(chip): a board and an SWD host that is connected to its first core."""
    open_ones = []

    def start(chip, connect=True):
        board = Board.start(chip)
        open_ones.append(board)
        swd = Swd(board)
        open_ones.append(swd)
        if connect:
            assert swd.connect(TARGETS[chip]) == IDS[chip][0]
        return board, swd

    yield start
    for one in reversed(open_ones):
        one.__exit__()


def refused(ack, call, *args, **more):
    with pytest.raises(Refused) as refusal:
        call(*args, **more)
    assert refusal.value.ack == ack


def silent(swd):
    """Nobody is there, whatever is asked."""
    refused(NOBODY, swd.dp, DP_DPIDR)


# Who is there

@BOTH_CHIPS
def test_identity_and_memory(wired, chip):
    board, swd = wired(chip)
    assert swd.word(CPUID) == IDS[chip][1]
    values = [random.Random(1).getrandbits(32) for _ in range(256)]
    swd.set_words(PLACE, values)
    assert swd.words(PLACE, 256) == values
    assert board.read(PLACE, 1024) == b"".join(v.to_bytes(4, "little") for v in values)


def test_multidrop_selects_one_core(wired):
    _, swd = wired("rp2040", connect=False)
    swd.line_reset()
    silent(swd)
    for instance, target in enumerate((CORE0, CORE1)):
        assert swd.connect(target) == 0x0BC12477
        assert swd.word(CPUID) == 0x410CC601
        swd.dp(DP_SELECT, 2)
        assert swd.dp(DP_CTRL) == 0x01002927
        swd.dp(DP_SELECT, 3)
        assert swd.dp(DP_CTRL) == instance << 28 | 1
        swd.dp(DP_SELECT, 0)


def test_targetsel_is_never_acknowledged_and_must_match(wired):
    _, swd = wired("rp2040")
    assert swd.target(CORE0) == 0x1F  # the pull-up
    assert swd.dp(DP_DPIDR) == 0x0BC12477
    for wrong in (0, CORE0 + 2, 0x21002927, 0xF1002927, 0xFFFFFFFF):
        swd.target(wrong)
        silent(swd)
    swd.target(CORE0, flip=1)
    silent(swd)
    # Only right after a line reset
    swd.target(CORE0)
    swd.dp(DP_DPIDR)
    swd.request(0, 0, DP_TARGETSEL)
    swd.release(5)
    swd.drive(CORE1, 33)
    silent(swd)
    assert swd.connect(CORE1) == 0x0BC12477


def test_state_of_a_core_survives_the_other_being_selected(wired):
    _, swd = wired("rp2040")
    swd.ap(AP_TAR, 0x20001234)
    swd.connect(CORE1)
    swd.ap(AP_TAR, 0x20005678)
    swd.connect(CORE0)
    swd.ap(AP_TAR)
    assert swd.dp(DP_RDBUFF) == 0x20001234


def test_single_drop_chip_knows_no_targetsel(wired):
    _, swd = wired("m4")
    swd.write(0, DP_TARGETSEL, CORE0)
    assert swd.dp(DP_DPIDR) == 0x2BA01477
    swd.dp(DP_SELECT, 2)
    assert swd.dp(DP_CTRL) == 0
    swd.target(CORE0)  # not a read of DPIDR
    silent(swd)


# The switch

def test_swj_switch_to_swd_and_back(wired):
    _, swd = wired("m4", connect=False)
    swd.line_reset()
    silent(swd)  # it is on JTAG
    swd.drive(0, 1)  # the pull-up's ones count, too
    swd.switch(JTAG_TO_SWD, ones=49)
    swd.line_reset()
    silent(swd)
    assert swd.connect() == 0x2BA01477
    swd.switch(SWD_TO_JTAG)
    swd.line_reset()
    silent(swd)
    assert swd.connect() == 0x2BA01477
    assert swd.connect() == 0x2BA01477  # also when it is there already


@BOTH_CHIPS
def test_dormant_and_back(wired, chip):
    _, swd = wired(chip)

    def awake():
        if chip == "rp2040":
            swd.target(CORE0)
        else:
            swd.line_reset()
        return swd.dp(DP_DPIDR) == IDS[chip][0]

    def asleep():
        refused(NOBODY, awake)
        return True

    swd.switch(SWD_TO_DORMANT)
    assert asleep()
    swd.switch(JTAG_TO_SWD)
    assert asleep()
    swd.wake(0x55)  # nobody's activation code
    assert asleep()
    swd.wake(ACTIVATE_JTAG)
    assert asleep()  # one has no JTAG, the other is there
    if chip == "m4":
        swd.connect()
        swd.switch(SWD_TO_DORMANT)
    swd.wake(ACTIVATE_SWD)
    assert awake()


def test_jtag_and_swd_take_turns(wired):
    board, swd = wired("m4")
    swd.set_words(PLACE, [0x12345678])
    swd.__exit__()
    with Swd(board) as jtag:  # the same port takes the letters for JTAG
        assert idcode(jtag) == 0x4BA00477
    with Swd(board) as again:
        assert again.connect() == 0x2BA01477
        assert again.word(PLACE) == 0x12345678


def idcode(jtag):
    def clock(tms, read=False):
        jtag.raw(b"%d" % (tms << 1) + (b"R" if read else b"") + b"%d" % (4 | tms << 1))

    for tms in (1, 1, 1, 1, 1, 0, 1, 0, 0):
        clock(tms)
    for _ in range(32):
        clock(0, read=True)
    return jtag.exchange(32)


# The line

@BOTH_CHIPS
@pytest.mark.parametrize("mistake", [{"flip": 1}, {"stop": 1}, {"park": 0}])
def test_damaged_request_locks_out_until_a_line_reset(wired, chip, mistake):
    _, swd = wired(chip)
    swd.request(0, 1, DP_CTRL, **mistake)
    assert swd.release(40) == (1 << 40) - 1
    swd.drive(0, 50)
    silent(swd)
    swd.drive(0, 1)  # the pull-up's ones count, too
    swd.line_reset(ones=49)
    silent(swd)
    if chip == "m4":
        swd.line_reset()
        assert swd.dp(DP_DPIDR) == IDS[chip][0]
    else:
        assert swd.connect(CORE0) == IDS[chip][0]


def test_after_a_line_reset_dpidr_comes_first(wired):
    _, swd = wired("m4")
    swd.line_reset()
    refused(NOBODY, swd.dp, DP_CTRL)
    silent(swd)
    swd.line_reset(zeros=1)
    silent(swd)
    swd.line_reset(ones=200, zeros=100)
    assert swd.dp(DP_DPIDR) == 0x2BA01477
    assert swd.dp(DP_CTRL) & POWER_UP  # a line reset is one of the wire only


def test_reads_of_the_access_port_are_posted(wired):
    _, swd = wired("m4")
    swd.set_words(PLACE, [11, 22, 33])
    swd.ap(AP_TAR, PLACE)
    swd.dp(DP_SELECT, 0xF0)
    swd.ap(AP_IDR & 0xF)
    swd.dp(DP_SELECT, 0)
    assert swd.ap(AP_DRW) == 0x24770011
    assert [swd.ap(AP_DRW), swd.ap(AP_DRW)] == [11, 22]
    assert [swd.dp(DP_RDBUFF), swd.dp(DP_RDBUFF)] == [33, 33]
    assert swd.dp(DP_RESEND) == 33


# Trouble

@BOTH_CHIPS
def test_wait_is_answered_as_often_as_ordered(wired, chip):
    board, swd = wired(chip)
    swd.ap(AP_TAR, PLACE)
    board.command("fault wait 2 1")
    swd.ap(AP_DRW, 1)
    refused(WAIT, swd.ap, AP_DRW, 2)
    assert swd.dp(DP_DPIDR) == IDS[chip][0]  # never waits
    refused(WAIT, swd.ap, AP_DRW, 3)
    swd.ap(AP_DRW, 4)
    assert board.read(PLACE, 4) == b"\4\0\0\0"
    board.command("fault wait 1000000")
    refused(WAIT, swd.ap, AP_DRW)
    swd.dp(DP_ABORT, 1)
    swd.ap(AP_DRW)


@BOTH_CHIPS
def test_sticky_error_is_a_fault_until_cleared(wired, chip):
    board, swd = wired(chip)
    swd.ap(AP_TAR, NOWHERE)
    swd.ap(AP_DRW)  # posted, so it is acknowledged
    refused(FAULT, swd.dp, DP_RDBUFF)
    refused(FAULT, swd.ap, AP_DRW)
    refused(FAULT, swd.ap, AP_TAR, 0)
    refused(FAULT, swd.dp, DP_SELECT, 0)
    assert swd.dp(DP_DPIDR) == IDS[chip][0]
    assert swd.dp(DP_CTRL) & (STICKYERR | WDATAERR) == STICKYERR
    swd.dp(DP_ABORT, CLEAR)
    assert not swd.dp(DP_CTRL) & STICKYERR
    assert swd.word(CPUID) == IDS[chip][1]
    board.command("fault fault 1 1")
    swd.ap(AP_TAR, PLACE)
    swd.ap(AP_DRW)
    refused(FAULT, swd.dp, DP_RDBUFF)


@BOTH_CHIPS
def test_write_with_the_wrong_parity(wired, chip):
    board, swd = wired(chip)
    swd.set_words(PLACE, [7])
    swd.ap(AP_TAR, PLACE)
    swd.ap(AP_DRW, 8, flip=1)
    assert board.read_word(PLACE) == 7
    assert swd.dp(DP_CTRL) & (STICKYERR | WDATAERR) == WDATAERR
    refused(FAULT, swd.ap, AP_DRW, 9)
    swd.dp(DP_ABORT, 1 << 2)  # clears another one
    refused(FAULT, swd.dp, DP_RDBUFF)
    swd.dp(DP_ABORT, 1 << 3)
    swd.ap(AP_DRW, 10)
    assert board.read_word(PLACE) == 10


def test_data_phase_with_overrun_detection(wired):
    board, swd = wired("m4")
    swd.dp(DP_CTRL, POWER_UP | ORUNDETECT)
    swd.set_words(PLACE, [1, 2])
    swd.ap(AP_TAR, PLACE)
    board.command("fault wait 2")
    refused(WAIT, swd.ap, AP_DRW, 99, data_phase=True)
    refused(WAIT, swd.ap, AP_DRW, data_phase=True)
    swd.ap(AP_DRW)
    assert swd.dp(DP_RDBUFF) == 1
    swd.ap(AP_TAR, NOWHERE)
    swd.ap(AP_DRW)
    refused(FAULT, swd.ap, AP_DRW, data_phase=True)
    refused(FAULT, swd.dp, DP_SELECT, 0, data_phase=True)
    swd.dp(DP_ABORT, CLEAR)
    assert swd.word(PLACE + 4) == 2


@BOTH_CHIPS
def test_ordered_wire_trouble(wired, chip):
    board, swd = wired(chip)
    swd.set_words(PLACE, [5, 6])
    swd.ap(AP_TAR, PLACE)

    board.command("fault none 1 2")
    swd.ap(AP_DRW)
    assert swd.ap(AP_DRW) == 5
    refused(NOBODY, swd.dp, DP_RDBUFF)
    silent(swd)
    swd.connect(TARGETS[chip])
    assert swd.dp(DP_RDBUFF) == 6

    board.command("fault parity 1")
    with pytest.raises(ParityError):
        swd.dp(DP_RDBUFF)
    assert swd.dp(DP_RDBUFF) == 6
    board.command("fault parity 1 1")
    swd.ap(AP_TAR, PLACE)
    swd.ap(AP_DRW, 77)  # damaged on its way
    assert swd.dp(DP_CTRL) & WDATAERR
    assert board.read_word(PLACE) == 5
    swd.dp(DP_ABORT, CLEAR)

    board.command("fault ack3 1")
    with pytest.raises(Refused) as refusal:
        swd.ap(AP_DRW, 78)
    assert refusal.value.ack not in (OK, WAIT, FAULT, NOBODY)
    silent(swd)
    swd.connect(TARGETS[chip])
    assert board.read_word(PLACE) == 5

    # It also befalls the recovery
    board.command("fault none 2")
    silent(swd)  # still connected: this is the first
    if chip == "rp2040":
        swd.target(CORE0)
    else:
        swd.line_reset()
    silent(swd)
    assert swd.connect(TARGETS[chip]) == IDS[chip][0]


@BOTH_CHIPS
def test_noise_does_no_harm(wired, chip):
    board, swd = wired(chip)
    chance = random.Random(7)
    before = board.state()["code_hash"]
    for _ in range(100):
        swd.drive(chance.getrandbits(600), 600)
        swd.release(chance.randrange(1, 80))
    swd.line_reset()  # it may have been in the middle of anything
    assert swd.connect(TARGETS[chip]) == IDS[chip][0]
    assert board.state()["code_hash"] == before


# Power

@BOTH_CHIPS
def test_power_off_and_on(wired, chip):
    board, swd = wired(chip)
    swd.ap(AP_CSW, CSW_WORDS)
    swd.set_words(BP_COMP0, [0xD0000101])
    swd.set_words(DHCSR, [HALT])
    assert board.state()["run"] == "halted"
    board.command("power off")
    silent(swd)
    if chip == "rp2040":
        swd.target(CORE0)
    else:
        swd.switch(JTAG_TO_SWD)
        swd.line_reset()
    silent(swd)
    assert swd.release(100) == (1 << 100) - 1
    cycles = board.state()["cycles"]
    board.command("power on")
    board.wait_for(lambda s: s["cycles"] > cycles)
    state = board.state()
    assert (state["run"], state["dhcsr"], state["csw"], state["tar"], state["fp_comp"][0]) == \
        ("running", 0, 0x43000042, 0, 0)
    silent(swd)
    if chip == "m4":
        swd.line_reset()
        silent(swd)  # it is on JTAG again
        swd.switch(JTAG_TO_SWD)
        swd.line_reset()
    else:
        swd.target(CORE0)
    assert swd.dp(DP_DPIDR) == IDS[chip][0]
    assert swd.dp(DP_CTRL) == 0
    swd.ap(AP_IDR & 0xF)
    refused(FAULT, swd.dp, DP_RDBUFF)  # the debug domain is not powered up
    swd.power_up()
    assert swd.word(CPUID) == IDS[chip][1]


# The second core

def test_second_core_runs_its_own_program(wired):
    board, _ = wired("rp2040")
    second = board.core(1)
    second.watch("core1_work", "article_plain")
    board.watch("core1_work", "article_plain")
    second.run_for(100000)
    board.run_for(100000)
    assert {e.pc for e in second.log()} == {board.symbol("core1_work")}
    assert {e.pc for e in board.log()} == {board.symbol("article_plain")}
    visits = [e.cycles for e in second.log()]
    assert len(visits) > 100 and visits == sorted(visits)
    assert len({b - a for a, b in zip(visits, visits[1:])}) > 10  # by data
    assert second.state()["syst_rvr"] == 0xFFFFFF
    assert 0 < board.read_word("core1_rounds") <= second.state()["instructions"]


def test_second_core_has_ticks_of_its_own(wired):
    with Board.start("rp2040", "tick") as board:
        board.set("clock", 50000000)
        second = board.core(1)
        board.wait_for(lambda _: board.read_word("core1_ticks") >= 2 and board.read_word("tick_count") >= 2)
        assert second.state()["syst_rvr"] == board.state()["syst_rvr"] == 599999


def test_cores_are_debugged_separately(wired):
    board, swd = wired("rp2040")
    second = board.core(1)
    swd.connect(CORE1)
    swd.set_words(DHCSR, [HALT])
    assert second.state()["run"] == "halted" and board.state()["run"] == "running"
    cycles = second.state()["cycles"]
    board.run_for(20000)
    assert second.state()["cycles"] == cycles
    swd.connect(CORE0)
    assert not swd.word(DHCSR) & S_HALT
    swd.set_words(DHCSR, [HALT])
    swd.connect(CORE1)
    assert swd.word(DHCSR) & S_HALT
    swd.set_words(DHCSR, [RUN])
    second.run_for(20000)
    assert board.state()["run"] == "halted"


def test_memory_is_the_same_for_both(wired):
    board, swd = wired("rp2040")
    second = board.core(1)
    swd.set_words(PLACE, [0xCAFE])
    swd.connect(CORE1)
    assert swd.word(PLACE) == 0xCAFE
    swd.set_words(PLACE, [0xBEEF])
    swd.connect(CORE0)
    assert swd.word(PLACE) == board.read_word(PLACE) == second.read_word(PLACE) == 0xBEEF
    rounds = swd.word(board.symbol("core1_rounds"))  # which only the second core writes
    second.run_for(20000)
    assert swd.word(board.symbol("core1_rounds")) > rounds


def test_code_changed_through_one_core_is_what_the_other_executes(wired):
    board, swd = wired("rp2040")
    second = board.core(1)
    loop, other = 0x20008000, 0x20008100
    for place in (loop, other):
        board.write(place, bytes.fromhex("fee7"))  # b .
    swd.connect(CORE1)
    swd.set_words(DHCSR, [HALT])
    swd.set_words(0xE000EDF8, [loop])
    swd.set_words(0xE000EDF4, [0x1000F])  # to PC
    swd.set_words(DHCSR, [RUN])
    second.run_for(20000)
    assert second.state()["pc"] == loop
    swd.connect(CORE0)
    swd.set_words(loop, [0xE7FE0000 | 0xE07E])  # b other, by a write through the first core's bus
    assert (loop + 4 + 2 * 0x7E) == other
    second.wait_for(lambda s: s["pc"] == other)


def test_interrupts_and_resets_per_core(wired):
    board, _ = wired("rp2040")
    second = board.core(1)
    second.command("irq 3")
    board.wait_for(lambda _: board.read_word("core1_irq3_count") == 1)
    assert board.read_word("irq3_count") == 0
    board.command("irq 3")
    board.wait_for(lambda _: board.read_word("irq3_count") == 1)
    assert board.read_word("core1_irq3_count") == 1
    second.watch("core1_main")
    board.command("reset")  # of the system
    second.wait_for(lambda _: len(second.log()) >= 2)
    assert [e.kind for e in second.log()][:2] == ["reset", "reach"]


def test_firmware_without_a_part_for_the_second_core(tmp_path):
    stripped = tmp_path / "stripped.elf"
    subprocess.run(["arm-none-eabi-strip", "-o", stripped, BUILD / "firmware" / "rp2040-free.elf"], check=True)
    with Board.start("rp2040", firmware=stripped) as board, Swd(board) as swd:
        board.run_for(20000)
        assert swd.connect(CORE1) == 0x0BC12477
        assert swd.word(CPUID) == 0x410CC601
        board.command("reset")
        board.run_for(20000)
        assert board.core(1).state()["instructions"] == 0


def test_core_number_is_checked(wired):
    board, _ = wired("m4")
    for wrong in ("core 1", "core", "core x", "core -1", "power", "power maybe", "fault none", "fault parity x"):
        with pytest.raises(BoardError):
            board.command(wrong)
    board.command("core 0")

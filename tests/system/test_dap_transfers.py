"""DAP_Transfer and DAP_TransferBlock as the reference firmware does them, over SWD and over JTAG, and packets in
flight: queueing, aborting, latency."""
import struct
import time

import pytest
from board import Board
from cmsis_dap import (ABORT, AP, CLEAR_STICKY, CSW, CSW_WORDS, CTRL_STAT, DP, DPIDR, DRW, ERROR, FAULT, MISMATCH,
                       NO_ACK, OK, RDBUFF, SELECT, TAR, WAIT, Dap, mask, read, until, write)
from harness import wait_for

CPUID, M4 = 0xE000ED00, 0x410FC241
DHCSR, KEY, C_DEBUGEN, C_HALT, S_HALT = 0xE000EDF0, 0xA05F0000, 1, 2, 1 << 17
SCRATCH = 0x20010100
ALL = 0xFFFFFFFF
OF_ALL_RETRIES = 65536 * 46  # clocks of the wire, at least


@pytest.fixture(scope="module", params=["swd", "jtag"])
def wired(request):
    with Board.start("m4", dap_timer=True, clock=12_000_000) as b, Dap(b.dap_port) as d:
        d.swd() if request.param == "swd" else d.jtag()
        d.clock(10000000)
        d.power_up()
        b.wire = request.param
        yield b, d


@pytest.fixture
def board(wired):
    return wired[0]


@pytest.fixture
def dap(wired):
    b, d = wired
    b.command("fault wait 0")
    d.configure()
    if b.wire == "jtag":
        d.do(b"\x08\x00\x1e\0\0\0")
        d.transfer(write(DP, CTRL_STAT, 0x50000020))
    else:
        d.transfer(write(DP, ABORT, CLEAR_STICKY))
    d.transfer(write(DP, SELECT, 0), write(AP, CSW, CSW_WORDS), write(AP, TAR, SCRATCH))
    yield d


def fill(board, words):
    board.write(SCRATCH, struct.pack(f"<{len(words)}I", *words))


def count_transfers(board, act):
    before = board.command("dap")["transfers"]
    result = act()
    return result, board.command("dap")["transfers"] - before


def test_reads_in_a_row_are_posted(board, dap):
    words = [0x1000 + i for i in range(6)]
    fill(board, words)
    reply, spent = count_transfers(board, lambda: dap.transfer(*[read(AP, DRW)] * 6))
    assert (reply.count, reply.ack, reply.words) == (6, OK, words)
    assert spent == 7  # and one for the last value


def test_writes_between_cost_a_read(board, dap):
    fill(board, [1, 2, 3, 4])
    pair = [write(AP, TAR, SCRATCH + 4), read(AP, DRW)]
    reply, spent = count_transfers(board, lambda: dap.transfer(*pair * 5))
    assert reply.words == [2] * 5 and spent == 15
    reply, spent = count_transfers(board, lambda: dap.transfer(write(AP, TAR, SCRATCH)))
    assert reply.count == 1 and spent == 2  # a write at the end is checked


def test_kinds_of_reads_mixed(board, dap):
    fill(board, [7, 8, 9])
    reply = dap.transfer(read(AP, DRW), read(DP, CTRL_STAT), read(AP, DRW), read(AP, TAR), write(DP, SELECT, 0),
                         read(DP, CTRL_STAT), read(AP, DRW))
    assert reply.count == 7 and reply.ack == OK
    assert (reply.words[0], reply.words[2], reply.words[3], reply.words[5]) == (7, 8, SCRATCH + 8, 9)
    assert reply.words[1] == reply.words[4] and reply.words[1] & 0xA0000000 == 0xA0000000


def test_list_of_nothing(dap):
    reply = dap.transfer()
    assert reply.count == 0 and reply.words == []


def test_match(board, dap):
    fill(board, [0xAB12, 0xAB34, 0xAB56])
    dap.transfer(write(AP, CSW, CSW_WORDS & ~0x30))
    reply = dap.transfer(mask(0xFF00), until(AP, DRW, 0xAB00), read(AP, TAR))
    assert (reply.count, reply.ack, reply.words) == (3, OK, [SCRATCH])
    # The mask outlives its packet; it is the whole value that is compared with the masked word
    assert dap.transfer(until(AP, DRW, 0xAB00)).ack == OK
    assert dap.transfer(until(AP, DRW, 0xAB12)).ack == OK | MISMATCH
    assert dap.transfer(mask(ALL), until(AP, DRW, 0xAB12)).ack == OK


def test_match_reads_one_beyond(board, dap):
    fill(board, [1, 2, 3, 4, 5, 6])
    reply = dap.transfer(mask(ALL), until(AP, DRW, 3))
    assert reply.ack == OK
    assert dap.transfer(read(AP, TAR)).words == [SCRATCH + 16]  # the third matched, the fourth was posted


@pytest.mark.parametrize("retries", [0, 1, 7])
def test_mismatch_ends_the_list(board, dap, retries):
    dap.configure(match_retry=retries)
    dap.transfer(write(AP, CSW, CSW_WORDS & ~0x30))
    reply, spent = count_transfers(board, lambda: dap.transfer(
        mask(ALL), read(AP, TAR), until(AP, DRW, 0x55AA55AA), write(AP, TAR, 0), read(AP, DRW)))
    assert (reply.count, reply.ack) == (2, OK | MISMATCH)
    assert reply.words == [SCRATCH]
    assert spent == 2 + 1 + 1 + retries  # the read and RDBUFF, the match posted, compared, and again
    assert dap.transfer(read(AP, TAR)).words == [SCRATCH]


def test_match_waits_for_the_target(board, dap):
    """As a measurement does: resume the core, and wait in the probe until it has stopped."""
    dap.configure(match_retry=60000)
    reply = dap.transfer(write(AP, CSW, CSW_WORDS & ~0x30), write(AP, TAR, DHCSR),
                         write(AP, DRW, KEY | C_HALT | C_DEBUGEN), mask(S_HALT), until(AP, DRW, S_HALT))
    assert (reply.count, reply.ack) == (5, OK)
    assert board.state()["run"] == "halted"
    dap.transfer(write(AP, TAR, DHCSR), write(AP, DRW, KEY))
    assert board.state()["run"] == "running"
    # The program goes on while the probe polls
    place = board.symbol("round_count")
    now = board.read_word(place)
    reply = dap.transfer(write(AP, TAR, place), mask(ALL), until(AP, DRW, (now + 20) & ALL))
    assert reply.ack == OK, reply


def test_wait_is_retried(board, dap):
    dap.configure(wait_retry=5)
    fill(board, [0x77])
    board.command("fault wait 5")
    assert dap.transfer(read(AP, DRW)).words == [0x77]
    dap.transfer(write(AP, TAR, SCRATCH))
    board.command("fault wait 100000 1")
    reply = dap.transfer(read(AP, DRW), read(AP, DRW), read(AP, DRW))
    assert reply.ack == WAIT
    board.command("fault wait 0")


def test_fault_ends_the_list(board, dap):
    """A posted read counts as done, though its value never arrives."""
    fill(board, [1, 2, 3])
    board.command("fault fault 1 1")
    reply = dap.transfer(read(AP, DRW), read(AP, DRW), read(AP, DRW), read(AP, DRW))
    if board.wire == "swd":
        assert reply.ack == FAULT and reply.count in (2, 3) and reply.words[0] == 1
        assert len(reply.words) == reply.count - 1
        assert dap.transfer(read(AP, DRW)).ack == FAULT
        assert dap.transfer(read(DP, CTRL_STAT)).words[0] & 0x20
        assert dap.transfer(write(DP, ABORT, CLEAR_STICKY)).ack == OK
    else:  # on JTAG a fault is acknowledged like OK
        assert reply.ack == OK and reply.words[0] == 1
        assert dap.transfer(read(DP, CTRL_STAT)).words[0] & 0x20


def test_blocks(board, dap):
    words = [0x5000 + i * i for i in range(100)]
    reply = dap.block(write(AP, DRW, 0), 100, struct.pack("<100I", *words))
    assert (reply.count, reply.ack, reply.data) == (100, OK, b"")
    assert board.read(SCRATCH, 400) == struct.pack("<100I", *words)
    dap.transfer(write(AP, TAR, SCRATCH))
    reply, spent = count_transfers(board, lambda: dap.block(read(AP, DRW), 100))
    assert (reply.count, reply.ack, reply.words) == (100, OK, words) and spent == 101
    assert dap.transfer(read(AP, TAR)).words == [SCRATCH + 400]  # no read beyond the last
    reply = dap.block(read(AP, DRW), 0)
    assert (reply.count, reply.words) == (0, [])


def test_block_that_fails(board, dap):
    words = list(range(10, 30))
    fill(board, words)
    board.command("fault fault 1 4")
    reply = dap.block(read(AP, DRW), 20)
    if board.wire == "swd":
        assert reply.ack == FAULT and reply.count == len(reply.words) == 4
        assert reply.words == words[:4]
    else:
        assert reply.words[:4] == words[:4]


def test_memory_in_full(board, dap):
    data = bytes((i * 7 + (i >> 8)) & 0xFF for i in range(1 << 16))
    for at in range(0, len(data), 496):
        part = data[at:at + 496]
        for begin in sorted({at, (at + 0xFFF) & ~0xFFF} & set(range(at, at + len(part)))):  # TAR wraps at 4 KB
            end = min(at + len(part), (begin | 0xFFF) + 1)
            dap.transfer(write(AP, TAR, 0x20010000 + begin))
            reply = dap.block(write(AP, DRW, 0), (end - begin) // 4, data[begin:end])
            assert reply.count == (end - begin) // 4
    assert board.read(0x20010000, 1 << 16) == data


def test_timestamps(board, dap):
    fill(board, [5, 6])
    reply = dap.transfer(read(AP, DRW, stamp=True), read(AP, DRW, stamp=True), read(AP, DRW),
                         write(DP, SELECT, 0, stamp=True), read(DP, CTRL_STAT, stamp=True))
    assert reply.count == 5 and len(reply.words) == 8
    first, five, second, six, _, third, fourth, _ = reply.words
    assert (five, six) == (5, 6)
    assert first <= second <= third <= fourth and fourth - first < 1000000
    time.sleep(0.05)
    later = dap.transfer(read(DP, CTRL_STAT, stamp=True)).words[0]
    assert 50000 <= later - fourth < 20000000  # microseconds


def test_without_a_timer_there_are_no_timestamps():
    with Board.start("m4") as b, Dap(b.dap_port) as d:
        d.swd()
        assert d.transfer(read(DP, DPIDR, stamp=True)).words == [0x2BA01477]


def test_counters(board, dap):
    before = board.command("dap")
    dap.transfer(read(AP, DRW))
    after = board.command("dap")
    bits = "swd_bits" if board.wire == "swd" else "jtag_bits"
    assert after["packets"] == before["packets"] + 1
    assert after["clocks"] - before["clocks"] == after[bits] - before[bits]
    if board.wire == "swd":
        assert after["swd_bits"] - before["swd_bits"] == 2 * 46
        assert 9 <= after["busy_us"] - before["busy_us"] <= 10


def test_commands_in_one_packet(board, dap):
    fill(board, [1, 2])
    one = dap.transfer_packet(read(AP, DRW))
    first, second = (b"\x05\x01\x01" + struct.pack("<I", i) for i in (1, 2))
    assert dap.ask(b"\x7f\x03" + one + b"\x00\xfe" + one) == b"\x7f\x03" + first + b"\x00\x01\x04" + second
    assert dap.ask(b"\x7f\x00") == b"\x7f\x00"
    assert dap.ask(b"\x7f\x03\x00\xfe\x7f\x01\x00") == b"\x7f\x02\x00\x01\x04\xff"  # none inside another


def test_queued_commands(board, dap):
    fill(board, [1, 2, 3])
    one = dap.transfer_packet(read(AP, DRW))
    before = board.command("dap")["packets"]
    dap.send(b"\x7e\x01" + one, b"\x7e\x01" + one)
    assert dap.silent()
    assert board.command("dap")["packets"] == before
    dap.send(one)
    value = [b"\x05\x01\x01" + struct.pack("<I", i) for i in (1, 2, 3)]
    assert [dap.receive() for _ in range(3)] == [b"\x7f\x01" + value[0], b"\x7f\x01" + value[1], value[2]]


def test_abort(board, dap):
    """A match that would last for minutes ends when the abort arrives; the abort is not answered."""
    dap.configure(match_retry=65535)
    dap.clock(10000)
    before = board.command("dap")["clocks"]
    dap.send(dap.transfer_packet(mask(ALL), until(AP, CSW, 0), read(DP, CTRL_STAT)))
    assert dap.silent(0.1)
    dap.send(b"\x07")
    reply = dap.transfer_reply(dap.receive())
    assert reply.ack == OK | MISMATCH and reply.count == 1
    assert board.command("dap")["clocks"] - before < OF_ALL_RETRIES / 4
    dap.clock(10000000)
    assert dap.word(CPUID) == M4
    assert dap.silent()
    dap.send(b"\x07")
    assert dap.word(CPUID) == M4


def test_host_gone_in_the_middle(board, dap):
    with Board.start("m4") as b:
        with Dap(b.dap_port) as d:
            d.swd()
            d.power_up()
            d.clock(10000)
            d.configure(match_retry=65535)
            before = b.command("dap")["clocks"]
            d.send(d.transfer_packet(mask(ALL), until(AP, CSW, 0)))
        with Dap(b.dap_port) as d:
            assert d.swd() == 0x2BA01477
        assert b.command("dap")["clocks"] - before < OF_ALL_RETRIES / 4


def test_one_host_at_a_time(board, dap):
    with Dap(board.dap_port) as other:
        other.send(b"\x00\x04")
        assert other.silent()
        assert dap.word(CPUID) == M4


@pytest.mark.parametrize("count", [1, 4])
def test_latency(count):
    """Each reply has a delay, but packets in flight share it."""
    with Board.start("m4", dap_latency=5000, dap_count=count) as b, Dap(b.dap_port) as d:
        d.swd()
        d.clock(10000000)
        one = d.transfer_packet(read(DP, DPIDR))

        def is_shared():
            begin = time.monotonic()
            for _ in range(20):
                d.ask(one)
            alone = time.monotonic() - begin
            assert 0.1 <= alone
            begin = time.monotonic()
            d.send(*[one] * 20)
            for _ in range(20):
                assert d.transfer_reply(d.receive()).words == [0x2BA01477]
            together = time.monotonic() - begin
            assert 0.1 / count <= together
            return count == 1 or together < alone

        wait_for(is_shared, "a delay that is shared")  # each time other work may run in between
        assert b.command("dap")["most_in_flight"] > count


def ask_broken(quirks, **options):
    b = Board.start("m4", dap_quirks=quirks, **options)
    d = Dap(b.dap_port)
    d.connect(1)
    d.swj((b"\xff" * 7 + b"\x9e\xe7" + b"\xff" * 7 + b"\x00", 136))
    return b, d


@pytest.mark.parametrize("quirk,ask,reply", [
    ("no-match", b"\x05\x00\x01" + until(DP, DPIDR, 0x2BA01477), b"\x05\x00\x08"),
    ("blind-match", b"\x05\x00\x02" + mask(ALL) + until(DP, DPIDR, 0), b"\x05\x02\x01"),
    ("count0", b"\x00\xfe", b"\x00\x01\x00"),
    ("size0", b"\x00\xff", b"\x00\x02\x00\x00"),
    ("no-caps", b"\x00\xf0", b"\x00\x00"),
    ("short", b"\x05\x00\x02\x02\x02", b"\x05\x02\x01\x77\x14\xa0\x2b\x77\x14\xa0"),
    ("empty", b"\x05\x00\x01\x02", b"\x05"),
    ("wrong-id", b"\x05\x00\x01\x02", b"\x45\x01\x01\x77\x14\xa0\x2b"),
    ("no-sequence", b"\x1d\x01\x01\x00", b"\xff"),
    ("no-block", b"\x06\x00\x01\x00\x02", b"\xff"),
    ("long", b"\x05\x00\x01\x02", b"\x05\x01\x01\x77\x14\xa0\x2b\xa5\xa5\xa5\xa5"),
    ("invalid-match", b"\x05\x00\x01" + until(DP, DPIDR, 0x2BA01477), b"\xff"),
    ("fewer-reads", b"\x05\x00\x02" + mask(ALL) + until(DP, DPIDR, 1), b"\x05\x01\x11"),
    ("no-block,size0", b"\x00\xff", b"\x00\x02\x00\x00"),
])
def test_quirks(quirk, ask, reply):
    board, dap = ask_broken(quirk)
    with board, dap:
        assert dap.ask(ask) == reply


def test_a_firmware_that_loses_its_place():
    """After the match its own bytes follow, as three reads of DPIDR."""
    with Board.start("m4", dap_quirks="loses-place") as board, Dap(board.dap_port) as dap:
        dap.swd()
        dap.power_up()
        dap.transfer(write(AP, TAR, 0x1234))
        reply = dap.transfer(read(AP, TAR), until(AP, TAR, 0x02020202), *[write(DP, SELECT, 0)] * 3)
        assert (reply.count, reply.ack) == (5, OK)
        assert reply.words == [0x1234] * 2 + [0x2BA01477] * 3


def test_errors_are_told_apart():
    with Board.start("m4") as board, Dap(board.dap_port) as dap:
        dap.swd()
        dap.power_up()
        board.command("fault parity 1")
        reply = dap.transfer(read(DP, CTRL_STAT))
        assert (reply.count, reply.ack) == (0, ERROR)
        board.command("fault none 1")
        reply = dap.transfer(read(DP, CTRL_STAT), read(DP, CTRL_STAT))
        assert (reply.count, reply.ack) == (0, NO_ACK)
        assert dap.transfer(read(DP, CTRL_STAT)).ack == NO_ACK  # until a line reset
        assert dap.line_reset().words == [0x2BA01477]
        assert dap.word(CPUID) == M4
        assert dap.transfer(read(DP, RDBUFF)).words == [M4]

"""Each command of the emulated probe, and requests that are not commands."""
import random
import struct
import time

import pytest
from board import Board
from cmsis_dap import (ABORT, AP, CLEAR_STICKY, CSW, CTRL_STAT, DP, DPIDR, DRW, INVALID, JTAG, SELECT, SWD, TAR, Dap,
                       Gone, mask, read, until, write)

CPUID, M4, M0PLUS = 0xE000ED00, 0x410FC241, 0x410CC601
SCRATCH = 0x20010100  # nothing of the firmware's


@pytest.fixture(scope="module")
def board():
    with Board.start("m4", dap_timer=True) as b:
        yield b


@pytest.fixture
def dap(board):
    with Dap(board.dap_port) as d:
        d.swd()
        d.clock(10000000)
        d.configure()
        d.transfer(write(DP, ABORT, CLEAR_STICKY))
        d.power_up()
        yield d


def malformed(board):
    return board.command("dap")["malformed"]


def test_info(dap):
    assert dap.info(0x01) == b"pmu-probe\0"
    assert b"CMSIS-DAP" in dap.info(0x02)
    assert dap.info(0x03) == b"VIRTUAL1\0"
    assert dap.info(0x04) == b"2.1.1\0"
    assert dap.info(0xF0) == bytes([1 << 0 | 1 << 1 | 1 << 4 | 1 << 5])
    assert dap.info(0xF1) == struct.pack("<I", 1000000)
    assert dap.info(0xFE) == b"\x04"
    assert dap.info(0xFF) == struct.pack("<H", 512)
    for nothing in (0x05, 0x06, 0x07, 0x08, 0xFB, 0xFC, 0xFD, 0x77):
        assert dap.info(nothing) == b""


@pytest.mark.parametrize("size,count", [(64, 1), (512, 8), (1024, 2)])
def test_options_are_what_it_says(size, count):
    with Board.start("m4", dap_packet=size, dap_count=count, dap_plain=True, dap_serial="ABC") as b, \
            Dap(b.dap_port) as d:
        assert d.info(0xFE) == bytes([count])
        assert d.info(0xFF) == struct.pack("<H", size)
        assert d.info(0xF0) == b"\x03"  # neither atomic commands nor a timer
        assert d.info(0xF1) == b""
        assert d.info(0x03) == b"ABC\0"
        assert d.ask(b"\x7f\x01\x00\x04") == INVALID
        assert d.ask(b"\x7e\x01\x00\x04") == INVALID


def test_connect(dap):
    assert dap.ask(b"\x02\x00") == b"\x02\x01"
    assert dap.ask(b"\x02\x02") == b"\x02\x02"
    assert dap.ask(b"\x02\x03") == b"\x02\x00"
    # Without a port nothing is transferred, and nothing clocked
    assert dap.transfer(read(DP, DPIDR)).count == 0
    assert dap.ask(b"\x12\x08\xff") == b"\x12\xff"
    assert dap.connect(SWD)
    dap.do(b"\x03")
    assert dap.transfer(read(DP, DPIDR), read(DP, DPIDR)).count == 0


def test_small_commands(dap):
    dap.do(b"\x01\x00\x01")
    dap.do(b"\x01\x01\x00")
    dap.do(b"\x13\x00")
    assert dap.ask(struct.pack("<BI", 0x11, 0)) == b"\x11\xff"
    dap.clock(1000000)
    begin = time.monotonic()
    dap.do(struct.pack("<BH", 9, 20000))
    assert time.monotonic() - begin >= 0.02


@pytest.mark.parametrize("command", [0x0B, 0x17, 0x18, 0x19, 0x1A, 0x1B, 0x1C, 0x1E, 0x1F, 0x23, 0x7D, 0x80, 0x9F, 0xFE,
                                     0xFF])
def test_unknown_commands(board, dap, command):
    before = malformed(board)
    assert dap.ask(bytes([command, 1, 2, 3])) == INVALID
    assert malformed(board) == before + 1
    assert dap.word(CPUID) == M4


WHOLE = [
    b"\x00\x04", b"\x01\x00\x01", b"\x02\x01", b"\x04\x00\x64\x00\x64\x00", b"\x05\x00\x01\x02",
    b"\x05\x00\x02\x02\x02", b"\x05\x00\x01" + write(DP, SELECT, 0),
    b"\x05\x00\x02" + mask(0) + until(DP, CTRL_STAT, 0), b"\x06\x00\x01\x00\x0f",
    b"\x06\x00\x02\x00\x0d" + bytes(8), b"\x08\x00\x1e\x00\x00\x00", b"\x09\x00\x00",
    b"\x10\x00\x00\x00\x00\x00\x00", b"\x11\x80\x96\x98\x00", b"\x12\x09\x00\x00", b"\x13\x00",
    b"\x15\x02\x04\x05", b"\x16\x00", b"\x1d\x02\x01\x00\x08\x00", b"\x14\x02\x09\x00\x00\x81\x00",
    b"\x7f\x02\x00\x04\x00\x04"]


@pytest.mark.parametrize("packet", WHOLE, ids=lambda p: p.hex())
def test_cut_short_at_every_byte(board, dap, packet):
    """A request that is one byte short has no effect at all."""
    for length in range(1, len(packet)):
        before = board.command("dap")
        reply = dap.ask(packet[:length])
        after = board.command("dap")
        if packet[0] == 0x7F and length >= 2:  # the commands that are whole are done
            assert reply[0] == 0x7F and reply[-1] == 0xFF
            continue
        assert reply == INVALID, (packet[:length].hex(), reply.hex())
        assert (after["clocks"], after["transfers"]) == (before["clocks"], before["transfers"])
        assert after["malformed"] == before["malformed"] + 1
    assert dap.ask(packet)[0] == packet[0]
    assert dap.ask(packet + b"\0" * (64 - len(packet)))[0] == packet[0]  # a report's padding is not a part of it


def test_reply_that_would_not_fit():
    with Board.start("m4", dap_packet=64) as b, Dap(b.dap_port) as d:
        d.swd()
        d.power_up()
        assert d.transfer(*[read(DP, DPIDR)] * 15).count == 15  # 3 + 60
        done = b.command("dap")["transfers"]
        assert d.ask(d.transfer_packet(*[read(DP, DPIDR)] * 16)) == INVALID
        assert d.block(read(AP, DRW), 15).count == 15  # 4 + 60
        middle = b.command("dap")["transfers"]
        assert d.ask(b"\x06\x00\x10\x00\x0f") == INVALID
        assert b.command("dap")["transfers"] == middle > done
        assert len(d.ask(b"\x1d\x07" + b"\x80" * 7)) == 58
        assert d.ask(b"\x1d\x08" + b"\x80" * 8) == INVALID
        assert d.ask(bytes([0x7F, 5]) + b"\x00\x02" * 5)[-1] == 0xFF
        assert d.line_reset().words == [0x2BA01477]


def test_pins(dap, board):
    levels = dap.ask(struct.pack("<BBBI", 0x10, 0, 0, 0))[1]
    assert levels & 0xA0 == 0xA0
    board.watch(0xFFFFFFF0)  # no code there: it only switches the log on
    assert not dap.ask(struct.pack("<BBBI", 0x10, 0x00, 0x80, 1000))[1] & 0x80
    cycles = board.state()["cycles"]
    assert board.state()["cycles"] == cycles  # held
    assert dap.ask(struct.pack("<BBBI", 0x10, 0x80, 0x80, 1000))[1] & 0x80
    assert [e.kind for e in board.log()].count("reset") == 1
    board.run_for(100)
    assert dap.ask(b"\x0a") == b"\x0a\x00\x01"  # the probe's own way to reset
    assert [e.kind for e in board.log()].count("reset") == 2
    board.watch()


def test_clocked_by_pins_alone(dap):
    """A line reset and a read of DPIDR's acknowledge, a level at a time."""
    def pins(swclk, swdio):
        return dap.ask(struct.pack("<BBBI", 0x10, swclk | swdio << 1, 3, 0))[1]

    for _ in range(52):
        pins(0, 1), pins(1, 1)
    for bit in (0, 0, 0, 1, 0, 1, 0, 0, 1, 0, 1):
        pins(0, bit), pins(1, bit)
    dap.swd_sequence(b"\x81")  # the turnaround
    acknowledge = dap.swd_sequence(b"\x83")
    assert acknowledge == b"\x01"
    value = dap.swd_sequence(b"\xa1")
    assert int.from_bytes(value, "little") & 0xFFFFFFFF == 0x2BA01477
    dap.swd_sequence(b"\x81")
    assert dap.word(CPUID) == M4


def test_jtag_through_the_probe(board):
    with Dap(board.dap_port) as d:
        assert d.jtag() == 0x4BA00477
        d.clock(10000000)
        d.power_up()
        assert d.word(CPUID) == M4
        d.set_word(SCRATCH, 0x12345678)
        assert board.read_word(SCRATCH) == 0x12345678
        reply = d.transfer(read(AP, TAR), read(DP, CTRL_STAT), write(DP, SELECT, 0), read(AP, CSW))
        assert reply.words[0] == SCRATCH + 4
        # IDCODE by hand: reset, Run-Test/Idle, Shift-DR, 32 bits
        came = d.jtag_sequence((1, 5, 0, 0), (0, 1, 0, 0), (1, 1, 0, 0), (0, 2, 0, 0), (0, 31, 0, 1), (1, 1, 0, 1),
                               (1, 1, 0, 0), (0, 1, 0, 0))
        assert int.from_bytes(came[:4], "little") & 0x7FFFFFFF | (came[4] & 1) << 31 == 0x4BA00477
        assert d.word(CPUID) == M4
        # An index beyond the chain
        reply = d.transfer(read(DP, CTRL_STAT), index=1)
        assert (reply.count, reply.ack) == (0, 0)
        assert d.ask(b"\x16\x01") == b"\x16\xff"
        assert d.ask(b"\x08\x01\x1e\0\0\0") == b"\x08\xff"
        assert d.ask(b"\x15\x09" + b"\x04" * 9) == b"\x15\xff"
        assert d.ask(b"\x1d\x01\x01\x00") == b"\x1d\xff"  # no SWD here
        board.command("fault fault 1")
        assert d.transfer(write(AP, TAR, 0), read(DP, CTRL_STAT)).words[0] & 0x20
        d.do(b"\x08\x00\x1e\0\0\0")
        d.transfer(write(DP, CTRL_STAT, 0x50000020))
        assert d.word(CPUID) == M4


def test_jtag_sequence_needs_jtag(dap):
    assert dap.ask(b"\x14\x01\x01\x00") == b"\x14\xff"
    assert dap.ask(b"\x16\x00") == b"\x16\xff"


BAD_FRAMES = [b"DAQ\0\x02\0\x01\0\x00\x04", b"DAP\1", b"DAP\0\x00\x00\x01\0",
              b"DAP\0\x01\x02\x01\0" + bytes(513), b"DAP\0\xff\xff\x01\0", b"DAP\0\x02\0\x02\0\x00\x04",
              b"DAP\0\x02\0\x01\x01\x00\x04", b"\0" * 8, b"GET / HTTP/1.1\r\n\r\n"]


@pytest.mark.parametrize("frame", BAD_FRAMES, ids=lambda f: f[:10].hex())
def test_bad_frames_end_the_connection(board, frame):
    with Dap(board.dap_port) as d:
        d.send(b"\x00\x04")
        d.raw(frame)
        assert d.receive()[0] == 0
        with pytest.raises(Gone):
            d.receive()
    with Dap(board.dap_port) as d:
        assert d.info(0x04)


def test_frames_in_pieces(board):
    with Dap(board.dap_port) as d:
        for byte in b"DAP\0\x02\0\x01\0\x00\x04":
            d.raw(bytes([byte]))
            time.sleep(0.002)
        assert d.receive()[0] == 0


def test_noise_does_no_harm(board):
    """Random bytes in valid frames: each frame gets one reply of valid size, and the probe keeps working."""
    chance = random.Random(20)
    known = [0, 1, 2, 3, 4, 5, 6, 8, 0x0A, 0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x1D, 0x7F]
    for _ in range(4):
        with Dap(board.dap_port) as d:
            d.connect(chance.choice([SWD, JTAG]))
            for _ in range(300):
                first = chance.choice(known) if chance.random() < 0.9 else chance.choice([0x33, 0x7D, 0xFF])
                packet = bytes([first]) + chance.randbytes(chance.choice([0, 1, 2, 4, 8, 30, 200, 500]))
                if first in (4, 0x10, 0x7F):  # retries and waits without end are proper, and dull
                    packet = bytes([first])
                reply = d.ask(packet)
                assert 1 <= len(reply) <= 512 and reply[0] in (packet[0], 0xFF), (packet.hex(), reply.hex())
                d.clock(50000000)
    with Dap(board.dap_port) as d:
        board.command("reset")
        d.swd()
        d.clock(10000000)
        d.transfer(write(DP, ABORT, CLEAR_STICKY), write(DP, SELECT, 0))
        d.power_up()
        assert d.word(CPUID) == M4

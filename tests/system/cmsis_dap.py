"""A CMSIS-DAP host of the tests' own, over the virtual board's TCP front. Written from the protocol's description
alone, so that it shares no mistake with the tool or the board; a test can send anything with it, wrong things too."""

import socket
import struct

from board import WAIT as PATIENCE  # WAIT is an acknowledge

OK, WAIT, FAULT, NO_ACK, ERROR, MISMATCH = 1, 2, 4, 7, 8, 16
SWD, JTAG = 1, 2
INVALID = b"\xff"
DP, AP = 0, 1
DPIDR, CTRL_STAT, SELECT, RDBUFF = 0x0, 0x4, 0x8, 0xC
ABORT, TARGETSEL = 0x0, 0xC
CSW, TAR, DRW = 0x0, 0x4, 0xC
POWER_UP, POWERED = 0x50000000, 0xF0000000
CLEAR_STICKY = 0x1E
CSW_WORD, CSW_WORDS = 0x23000052 & ~0x30, 0x23000052  # without and with TAR stepping on
LINE_RESET = (b"\xff" * 7 + b"\x00", 64)
JTAG_TO_SWD = (b"\xff" * 7 + b"\x9e\xe7" + b"\xff" * 7 + b"\x00", 136)
SWD_TO_JTAG = (b"\xff" * 7 + b"\x3c\xe7" + b"\xff", 80)
ALERT = bytes.fromhex("92f30962952d8586e9afdde3a20ebc19")
# Eight or more ones, the alert, four zeros, the code of SWD (0x1a), a line reset
WAKE_SWD = (b"\xff" + ALERT + b"\xa0\xf1" + b"\xff" * 7 + b"\x0f" + b"\x00", 8 + 128 + 16 + 56 + 16)


def read(port, address, stamp=False):
    return bytes([port | 2 | address | (0x80 if stamp else 0)])


def write(port, address, value, stamp=False):
    return struct.pack("<BI", port | address | (0x80 if stamp else 0), value)


def until(port, address, value):
    return struct.pack("<BI", port | 2 | address | 0x10, value)


def mask(value):
    return struct.pack("<BI", 0x20, value)


class Gone(Exception):
    """The board hung up."""


class Reply:
    """Of DAP_Transfer or DAP_TransferBlock."""

    def __init__(self, count, ack, data):
        self.count, self.ack, self.data = count, ack, data
        self.words = list(struct.unpack(f"<{len(data) // 4}I", data[:len(data) // 4 * 4]))

    def __repr__(self):
        return f"<{self.count} done, ack {self.ack:#x}, {[hex(w) for w in self.words]}>"


class Dap:
    def __init__(self, port, timeout=PATIENCE):
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=timeout)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._held = b""

    def close(self):
        self._socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    # --- packets

    def raw(self, data):
        self._socket.sendall(data)

    def send(self, *packets):
        self.raw(b"".join(struct.pack("<4sHBB", b"DAP\0", len(p), 1, 0) + p for p in packets))

    def _take(self, count):
        while len(self._held) < count:
            try:
                part = self._socket.recv(1 << 16)
            except ConnectionResetError:
                part = b""
            if not part:
                raise Gone()
            self._held += part
        taken, self._held = self._held[:count], self._held[count:]
        return taken

    def receive(self):
        signature, length, kind, zero = struct.unpack("<4sHBB", self._take(8))
        assert (signature, kind, zero) == (b"DAP\0", 2, 0)
        return self._take(length)

    def silent(self, seconds=0.05):
        """Whether nothing arrives for so long."""
        before = self._socket.gettimeout()
        self._socket.settimeout(seconds)
        try:
            self._held += self._take(1)
            return False
        except socket.timeout:
            return True
        finally:
            self._socket.settimeout(before)

    def ask(self, packet):
        self.send(packet)
        return self.receive()

    def do(self, packet):
        """A command whose reply is one status byte: it must be 0."""
        reply = self.ask(packet)
        assert reply == bytes([packet[0], 0]), (packet.hex(), reply.hex())

    # --- commands

    def info(self, number):
        reply = self.ask(bytes([0, number]))
        assert reply[0] == 0 and len(reply) == 2 + reply[1]
        return reply[2:]

    def connect(self, port):
        return self.ask(bytes([2, port])) == bytes([2, port])

    def clock(self, hz):
        self.do(struct.pack("<BI", 0x11, hz))

    def configure(self, idle=0, wait_retry=100, match_retry=100):
        self.do(struct.pack("<BBHH", 4, idle, wait_retry, match_retry))

    def swj(self, sequence):
        bits, count = sequence
        self.do(bytes([0x12, count & 0xFF]) + bits)

    @staticmethod
    def transfer_packet(*requests, index=0):
        return bytes([5, index, len(requests)]) + b"".join(requests)

    @staticmethod
    def transfer_reply(packet):
        assert packet[0] == 5, packet.hex()
        return Reply(packet[1], packet[2], packet[3:])

    def transfer(self, *requests, index=0):
        return self.transfer_reply(self.ask(self.transfer_packet(*requests, index=index)))

    def block(self, request, count, data=b"", index=0):
        packet = self.ask(struct.pack("<BBHB", 6, index, count, request[0]) + data)
        assert packet[0] == 6, packet.hex()
        return Reply(packet[1] | packet[2] << 8, packet[3], packet[4:])

    def swd_out(self, bits, count):
        """DAP_SWD_Sequence: bits (a number, lowest first) sent, up to 64."""
        return bytes([count & 0x3F]) + bits.to_bytes((count + 7) // 8, "little")

    def swd_sequence(self, *pieces):
        reply = self.ask(bytes([0x1D, len(pieces)]) + b"".join(pieces))
        assert reply[:2] == b"\x1d\x00", reply.hex()
        return reply[2:]

    def jtag_sequence(self, *pieces):
        """Each (tms, clocks, tdi, capture): returns what was captured, as bytes."""
        packet = bytes([0x14, len(pieces)])
        for tms, clocks, tdi, capture in pieces:
            packet += bytes([(clocks & 0x3F) | tms << 6 | capture << 7]) + tdi.to_bytes((clocks + 7) // 8, "little")
        reply = self.ask(packet)
        assert reply[:2] == b"\x14\x00", reply.hex()
        return reply[2:]

    # --- ways in

    def swd(self, targetsel=None, sequence=JTAG_TO_SWD):
        """Connects by SWD; returns DPIDR."""
        assert self.connect(SWD)
        self.swj(sequence)
        if targetsel is not None:
            self.target_select(targetsel)
        reply = self.transfer(read(DP, DPIDR))
        assert (reply.count, reply.ack) == (1, OK), reply
        return reply.words[0]

    def target_select(self, targetsel):
        """Nobody acknowledges, so it goes out as plain bits: five clocks pass between request and data."""
        parity = bin(targetsel).count("1") & 1
        self.swd_sequence(self.swd_out(0x99, 8), b"\x85", self.swd_out(targetsel | parity << 32, 33))

    def line_reset(self, targetsel=None):
        self.swj(LINE_RESET)
        if targetsel is not None:
            self.target_select(targetsel)
        return self.transfer(read(DP, DPIDR))

    def jtag(self):
        """Connects by JTAG to a chain of one; returns its IDCODE."""
        assert self.connect(JTAG)
        self.swj(SWD_TO_JTAG)
        self.do(b"\x15\x01\x04")
        self.swj((b"\xff\x00", 9))
        reply = self.ask(b"\x16\x00")
        assert reply[:2] == b"\x16\x00", reply.hex()
        return struct.unpack("<I", reply[2:])[0]

    def power_up(self):
        if self.transfer(write(DP, SELECT, 0), write(DP, CTRL_STAT, POWER_UP), mask(POWERED & 0xA0000000),
                         until(DP, CTRL_STAT, 0xA0000000)).ack != OK:
            raise AssertionError("no power-up")
        self.transfer(write(AP, CSW, CSW_WORDS))

    def word(self, address):
        reply = self.transfer(write(AP, TAR, address), read(AP, DRW))
        assert (reply.count, reply.ack) == (2, OK), reply
        return reply.words[0]

    def set_word(self, address, value):
        reply = self.transfer(write(AP, TAR, address), write(AP, DRW, value))
        assert (reply.count, reply.ack) == (2, OK), reply

"""A Serial Wire Debug host over the letters that remote_bitbang has for it: bit by bit, so that a test can also do
what no debugger would."""

import socket

from board import WAIT as PATIENCE  # WAIT is an acknowledge

OK, WAIT, FAULT, NOBODY = 1, 2, 4, 7

DP_DPIDR = DP_ABORT = 0x0
DP_CTRL = 0x4
DP_SELECT = DP_RESEND = 0x8
DP_RDBUFF = DP_TARGETSEL = 0xC
AP_CSW, AP_TAR, AP_DRW, AP_IDR = 0x00, 0x04, 0x0C, 0xFC

POWER_UP, POWERED = 0x50000000, 0xF0000000
ORUNDETECT, STICKYERR, WDATAERR = 1 << 0, 1 << 5, 1 << 7
CLEAR = 0x1E  # all sticky errors
CSW_WORDS = 0x23000052  # auto-increment

JTAG_TO_SWD, SWD_TO_JTAG, SWD_TO_DORMANT = 0xE79E, 0xE73C, 0xE3BC
ALERT = 0x19BC0EA2_E3DDAFE9_86852D95_6209F392
ACTIVATE_SWD, ACTIVATE_JTAG = 0x1A, 0x0A

CORE0, CORE1 = 0x01002927, 0x11002927


class Refused(Exception):
    """An acknowledge other than OK."""

    def __init__(self, ack):
        super().__init__(f"acknowledge {ack}")
        self.ack = ack


class ParityError(Exception):
    pass


def parity(value):
    return value.bit_count() & 1


class Swd:
    def __init__(self, board):
        self._socket = socket.create_connection(("127.0.0.1", board.jtag_port), timeout=PATIENCE)
        self._out = bytearray(b"O")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._socket.close()

    # Bits

    def drive(self, value, count):
        for i in range(count):
            self._out += b"eg" if value >> i & 1 else b"df"

    def release(self, count):
        """That many cycles with the line let go; returns what was on it."""
        self._out += b"o" + b"dcf" * count + b"O"
        return self.exchange(count)

    def raw(self, letters):
        self._out += letters

    def exchange(self, count):
        """Sends what has gathered; returns the samples it asked for, the first one lowest."""
        self._socket.sendall(self._out)
        self._out.clear()
        got = b""
        while len(got) < count:
            part = self._socket.recv(count - len(got))
            if not part:
                raise RuntimeError("the board hung up")
            got += part
        return sum((bit - ord("0")) << i for i, bit in enumerate(got))

    def settle(self):
        """Waits until all that was driven has arrived: a sample, without a cycle."""
        self.raw(b"c")
        self.exchange(1)

    # Sequences

    def line_reset(self, ones=50, zeros=2):
        self.drive((1 << ones) - 1, ones)
        self.drive(0, zeros)

    def switch(self, code, ones=50):
        self.drive((1 << ones) - 1, ones)
        self.drive(code, 16)

    def wake(self, activation):
        self.drive(0xFF, 8)
        self.drive(ALERT, 128)
        self.drive(0, 4)
        self.drive(activation, 8)

    def request(self, ap, read, address, stop=0, park=1, flip=0):
        bits = ap | read << 1 | address >> 2 << 2
        self.drive(1 | bits << 1 | (parity(bits) ^ flip) << 5 | stop << 6 | park << 7, 8)

    # Transfers

    def read(self, ap, address, data_phase=False):
        self.request(ap, 1, address)
        ack = self.release(4) >> 1
        if ack != OK:
            self.release(34 if data_phase else 1)
            raise Refused(ack)
        got = self.release(34)
        value = got & 0xFFFFFFFF
        if got >> 32 & 1 != parity(value):
            raise ParityError
        return value

    def write(self, ap, address, value, data_phase=False, flip=0):
        self.request(ap, 0, address)
        ack = self.release(5) >> 1 & 7
        if ack == OK or data_phase:
            self.drive(value, 32)
            self.drive(parity(value) ^ flip, 1)
            self.settle()
        if ack != OK:
            raise Refused(ack)

    def dp(self, address, value=None, **more):
        return self.read(0, address, **more) if value is None else self.write(0, address, value, **more)

    def ap(self, address, value=None, **more):
        """Of a read, the answer to the access port read before it."""
        return self.read(1, address, **more) if value is None else self.write(1, address, value, **more)

    def target(self, targetid, flip=0):
        """A line reset, then TARGETSEL, which nobody acknowledges. Returns what was on the line where others do."""
        self.line_reset()
        self.request(0, 0, DP_TARGETSEL)
        seen = self.release(5)
        self.drive(targetid, 32)
        self.drive(parity(targetid) ^ flip, 1)
        return seen

    def connect(self, targetid=None):
        """From any state but dormant; returns DPIDR, with the debug port powered up and its errors cleared."""
        if targetid is None:
            self.switch(JTAG_TO_SWD)
            self.line_reset()
        else:
            self.target(targetid)
        dpidr = self.dp(DP_DPIDR)
        self.power_up()
        return dpidr

    def power_up(self):
        self.dp(DP_ABORT, CLEAR)
        self.dp(DP_SELECT, 0)
        self.dp(DP_CTRL, POWER_UP)
        assert self.dp(DP_CTRL) & POWERED == POWERED

    # Memory

    def words(self, address, count=1):
        self.ap(AP_CSW, CSW_WORDS)
        self.ap(AP_TAR, address)
        self.ap(AP_DRW)
        return [self.ap(AP_DRW) for _ in range(count - 1)] + [self.dp(DP_RDBUFF)]

    def word(self, address):
        return self.words(address)[0]

    def set_words(self, address, values):
        self.ap(AP_CSW, CSW_WORDS)
        self.ap(AP_TAR, address)
        for value in values:
            self.ap(AP_DRW, value)
        self.dp(DP_RDBUFF)

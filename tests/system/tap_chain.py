"""One more TAP in a row with the virtual board's, as other chips have it: between OpenOCD's remote_bitbang and the board."""

import socket
import threading

from board import WAIT

# State -> the next one for TMS 0 and 1 (IEEE 1149.1 figure 6-1)
STATES = {"reset": ("idle", "reset"), "idle": ("idle", "select-dr"),
          "select-dr": ("capture-dr", "select-ir"), "capture-dr": ("shift-dr", "exit1-dr"),
          "shift-dr": ("shift-dr", "exit1-dr"), "exit1-dr": ("pause-dr", "update-dr"),
          "pause-dr": ("pause-dr", "exit2-dr"), "exit2-dr": ("shift-dr", "update-dr"), "update-dr": ("idle", "select-dr"),
          "select-ir": ("capture-ir", "reset"), "capture-ir": ("shift-ir", "exit1-ir"),
          "shift-ir": ("shift-ir", "exit1-ir"), "exit1-ir": ("pause-ir", "update-ir"),
          "pause-ir": ("pause-ir", "exit2-ir"), "exit2-ir": ("shift-ir", "update-ir"), "update-ir": ("idle", "select-dr")}
BITS = {ord("0") + value: (value >> 2, value >> 1 & 1, value & 1) for value in range(8)}
TMS_HIGH, TMS_LOW = b"26", b"04"  # a clock each


class Later:
    """A bit that the board will say: one round trip for everything OpenOCD sent at once, not one a clock."""

    def __init__(self):
        self.bit = None


class Tap:
    """A TAP with an ID code that passes everything else by. `instructions` is what was put into it."""

    def __init__(self, ir_length, idcode):
        self.ir_length, self.idcode = ir_length, idcode
        self.state, self.shift = "reset", [0]
        self.instruction, self.instructions = None, []

    @property
    def tdo(self):
        return self.shift[0]

    def clock(self, tms, tdi):
        """A rising edge of TCK."""
        if self.state == "reset":
            self.instruction = None
        elif self.state == "capture-ir":
            self.shift = [1] + [0] * (self.ir_length - 1)
        elif self.state == "capture-dr":
            self.shift = [self.idcode >> n & 1 for n in range(32)] if self.instruction is None else [0]
        elif self.state in ("shift-ir", "shift-dr"):
            self.shift = self.shift[1:] + [tdi]
        self.state = STATES[self.state][tms]

    def update(self):
        """What is in the shift register is the instruction now; every bit of it is known."""
        self.instruction = sum((bit.bit if isinstance(bit, Later) else bit) << n for n, bit in enumerate(self.shift))
        self.instructions.append(self.instruction)


class TapChain:
    """The board's JTAG with `tap` before its own TAP (towards TDI), or after it. `opened_by`: the board's is not
    in the chain until this instruction was in the other, and then only until the next reset."""

    def __init__(self, board, tap, behind=False, opened_by=None):
        self.tap, self.behind, self.opened_by = tap, behind, opened_by
        self.is_open, self.tck = opened_by is None, 0
        self.board = socket.create_connection(("127.0.0.1", board.jtag_port))
        self.board.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.board.sendall(TMS_HIGH * 5)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.jtag_port = self.listener.getsockname()[1]
        self.queued, self.asked = bytearray(), []
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()
        self.thread.join(WAIT)
        self.board.close()

    def _serve(self):
        try:
            peer = self.listener.accept()[0]
        except OSError:
            return
        with peer:
            peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while True:
                try:
                    part = peer.recv(1 << 16)
                except ConnectionError:
                    return
                if not part or part.endswith(b"Q"):
                    return
                peer.sendall(self._pass(part))

    def _pass(self, part):
        """What OpenOCD wants to know, in its order."""
        answers = []
        for char in part:
            if char in BITS:
                self._pins(*BITS[char])
            elif char == ord("R"):
                answers.append(self.tap.tdo if self.behind or not self.is_open else self._ask())
        self._flush()
        return bytes(ord("0") + (bit.bit if isinstance(bit, Later) else bit) for bit in answers)

    def _ask(self):
        self.queued += b"R"
        self.asked.append(Later())
        return self.asked[-1]

    def _flush(self):
        self.board.sendall(self.queued)
        replies = b""
        while len(replies) < len(self.asked):
            replies += self.board.recv(len(self.asked) - len(replies))
        for later, reply in zip(self.asked, replies):
            later.bit = reply & 1
        self.queued.clear()
        self.asked.clear()

    def _pins(self, tck, tms, tdi):
        rising, self.tck = tck and not self.tck, tck
        before = self.tap.tdo
        if rising:
            shifting = self.tap.state in ("shift-ir", "shift-dr")
            self.tap.clock(tms, self._ask() if self.behind and shifting else tdi)
            if self.tap.state == "update-ir":
                self._flush()
                self.tap.update()
        if self.is_open:
            self.queued.append(ord("0") + (tck << 2 | tms << 1 | (tdi if self.behind else before)))
        if rising and self.opened_by is not None:
            self._gate()

    def _gate(self):
        if self.is_open and self.tap.state == "reset":
            self.is_open = False
            self.queued += TMS_HIGH * 5
        elif not self.is_open and self.tap.state == "idle" and self.opened_by in self.tap.instructions:
            self.is_open = True
            self.tap.instructions.clear()
            self.queued += TMS_LOW

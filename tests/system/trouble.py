"""A proxy that makes trouble between the tool and the other end of its link. It knows where messages of the link begin and end,
and strikes at one of them, counted from the start of the run: what is chosen by a seed can be had again."""
import dataclasses
import re
import select
import socket
import threading
import time
from typing import Callable, Optional

TOOL, PEER = "tool", "peer"  # whose message


def openocd_message(data):
    """The length of the first whole message of OpenOCD's Tcl port; 0: there is none yet."""
    return data.find(b"\x1a") + 1


def gdb_message(data):
    found = re.match(rb"[+\-\x03]|[$%][^#]*#..", data, re.DOTALL)
    return found.end() if found else 0


def dap_message(data):
    """CMSIS-DAP over TCP: eight bytes with the length of what follows."""
    return whole(data, 8, lambda: 8 + int.from_bytes(data[4:6], "little"))


def agent_message(data):
    """The MSR agent's: its greeting, requests, replies."""
    size = {b"PMR1": 4, b"PMRq": 16, b"PMRa": 8}.get(data[:4], 0)
    return whole(data, 8, lambda: 8 + size * int.from_bytes(data[4:6], "little"))


def whole(data, head, length):
    return length() if len(data) >= head and len(data) >= length() else 0


def damaged(message):
    """One bit in the middle is wrong."""
    at = len(message) // 2
    return message[:at] + bytes([message[at] ^ 1]) + message[at + 1:]


def delay(seconds):
    def strike(message):
        time.sleep(seconds)
        return [message]
    return strike


# What becomes of a message. None at the end: the connection is cut there.
STRIKES = {
    "pass": lambda message: [message],
    "drop": lambda message: [],
    "damage": lambda message: [damaged(message)],
    "double": lambda message: [message + message],
    "cut": lambda message: [None],
    "half": lambda message: [message[:len(message) // 2], None],
    "last": lambda message: [message, None],
}


@dataclasses.dataclass(frozen=True)
class Strike:
    """One piece of trouble. Besides those of STRIKES there are `swap` (with the next message), `delay` (of this message by
    `seconds`), `stall` (nothing passes for so long) and `silence` (nothing passes any more). `act` is called before the
    message is passed on, with both directions held. With `when` it strikes at that side's first message for which this
    holds, in place of `at`."""
    kind: str
    side: str = TOOL
    at: int = 0
    seconds: float = 0.0
    act: Optional[Callable[[], None]] = None
    when: Optional[Callable[[], bool]] = None

    def __str__(self):
        what = f"{self.kind} {self.seconds:g} s" if self.seconds else self.kind
        return f"{what} at the {self.side}'s message {self.at}"


class Proxy:
    """Listens on `port` and forwards to `peer`, a port that may change: the next connection goes there. `struck` says whether
    the trouble began."""

    def __init__(self, peer, message):
        self.peer, self._message = peer, message
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._lock, self._open = threading.Lock(), set()
        self.plan(None)
        threading.Thread(target=self._serve, daemon=True).start()

    def plan(self, strike):
        """What the next run meets; None: no trouble."""
        with self._lock:
            self.strike, self.struck = strike, False
            self.counted = {TOOL: 0, PEER: 0}
            self._silent, self._quiet_until, self._kept = False, 0.0, None

    def quiet(self, seconds=60):
        """Waits until nobody is connected any more."""
        end = time.monotonic() + seconds
        while self._open and time.monotonic() < end:
            time.sleep(0.001)

    def _serve(self):
        while True:
            try:
                tool, _ = self._listener.accept()
            except OSError:
                return
            try:
                peer = socket.create_connection(("127.0.0.1", self.peer))
            except OSError:
                tool.close()
                continue
            for one in (tool, peer):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._lock:
                self._open |= {tool, peer}
            threading.Thread(target=self._carry, args=(tool, peer), daemon=True).start()

    def _carry(self, tool, peer):
        """Both directions in one thread: a strike sees no race."""
        held = {tool: b"", peer: b""}
        try:
            while True:
                for source in select.select([tool, peer], [], [])[0]:
                    part = source.recv(1 << 16)
                    if not part:
                        return
                    held[source] += part
                    side, sink = (TOOL, peer) if source is tool else (PEER, tool)
                    while length := self._message(held[source]):
                        message, held[source] = held[source][:length], held[source][length:]
                        for out in self._treat(message, side):
                            if out is None:
                                return
                            sink.sendall(out)
        except OSError:
            pass
        finally:
            self._hang_up(tool, peer)

    def _treat(self, message, side):
        """What is sent on in its place."""
        with self._lock:
            strike, number = self.strike, self.counted[side]
            self.counted[side] += 1
            strikes = strike is not None and side == strike.side and (
                not self.struck and strike.when() if strike.when else number == strike.at)
            self.struck |= strikes
            kept = self._kept
        if strikes and strike.act:
            strike.act()
        with self._lock:
            if strikes and strike.kind == "swap":
                self._kept = message
                return []
            if kept is not None and side == strike.side:
                self._kept = None
                return [message, kept]
            if strikes and strike.kind == "silence":
                self._silent = True
            if strikes and strike.kind == "stall":
                self._quiet_until = time.monotonic() + strike.seconds
            wait = self._quiet_until - time.monotonic()
            if self._silent:
                return []
        if strikes and strike.kind == "delay":
            wait = strike.seconds
        if wait > 0:
            time.sleep(wait)
        return STRIKES.get(strike.kind if strikes else "pass", STRIKES["pass"])(message)

    def _hang_up(self, *sockets):
        for one in sockets:
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            one.close()
        with self._lock:
            self._open -= set(sockets)

    def close(self):
        self._listener.close()
        for one in list(self._open):
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

"""A proxy that makes trouble between the tool and the other end of its link: messages are delayed, lost, doubled,
reordered or damaged, and connections are cut or stall."""
import re
import socket
import threading
import time

# A request that arrives twice is carried out twice: no tool can mend that, and no TCP connection does it
OF_REQUESTS = ["delay", "drop", "cut", "half", "stall"]
OF_REPLIES = OF_REQUESTS + ["double", "swap"]


def openocd_message(data):
    """The length of the first whole message of OpenOCD's Tcl port; 0: there is none yet."""
    return data.find(b"\x1a") + 1


def gdb_message(data):
    found = re.match(rb"[+\-\x03]|\$[^#]*#..", data, re.DOTALL)
    return found.end() if found else 0


def dap_message(data):
    """CMSIS-DAP over TCP: a header of eight bytes with the length of what follows."""
    length = 8 + int.from_bytes(data[4:6], "little") if len(data) >= 8 else 0
    return length if length and len(data) >= length else 0


def damaged(message):
    """One bit in the middle is wrong. Only GDB's packets have a checksum that shows it."""
    at = len(message) // 2
    return message[:at] + bytes([message[at] ^ 1]) + message[at + 1:]


class Trouble:
    """Listens on `port` and forwards to the server, one client after the other. Trouble of one kind strikes a message of
    one direction, counted from the start of the run; `struck` says whether it came so far."""

    def __init__(self, server_port, message):
        self.server_port, self.message = server_port, message
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._lock, self._sockets = threading.Lock(), set()
        self.plan(None, 0, "server")
        threading.Thread(target=self._serve, daemon=True).start()

    def plan(self, kind, at, direction, seconds=0.0):
        with self._lock:
            self.kind, self.at, self.direction, self.seconds = kind, at, direction, seconds
            self.counted = {"server": 0, "client": 0}
            self.struck, self._stalled, self._kept = False, False, {}

    def _serve(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(("127.0.0.1", self.server_port))
            except OSError:
                client.close()
                continue
            for one in (client, server):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._lock:
                self._sockets |= {client, server}
            for source, sink, direction in ((client, server, "client"), (server, client, "server")):
                threading.Thread(target=self._pump, args=(source, sink, direction), daemon=True).start()

    def _pump(self, source, sink, direction):
        data = b""
        try:
            while part := source.recv(1 << 16):
                data += part
                while length := self.message(data):
                    message, data = data[:length], data[length:]
                    for out in self._treat(message, direction):
                        sink.sendall(out)
                    if self._kept.pop("hang up", False):
                        raise ConnectionError
        except (OSError, ConnectionError):
            pass
        self._hang_up(source, sink)

    def _treat(self, message, direction):
        """What is sent on in place of this message. Raises ConnectionError to hang up."""
        with self._lock:
            number = self.counted[direction]
            self.counted[direction] += 1
            ours = self.kind is not None and direction == self.direction
            strikes = ours and number == self.at
            self.struck |= strikes
            kind, kept = self.kind, self._kept.pop(direction, None)
            if strikes and kind == "stall":
                self._stalled = True
            if self._stalled:
                return []
            if strikes and kind == "swap":
                self._kept[direction] = message
                return []
        if kept is not None:
            return [message, kept]
        if not strikes:
            return [message]
        if kind == "delay":
            time.sleep(self.seconds)
        if kind == "cut":
            raise ConnectionError
        if kind == "half":
            self._kept["hang up"] = True
            return [message[:len(message) // 2]]
        return {"delay": [message], "drop": [], "double": [message, message], "damage": [damaged(message)]}[kind]

    def _hang_up(self, *sockets):
        for one in sockets:
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            with self._lock:
                self._sockets.discard(one)
            one.close()

    def close(self):
        self._listener.close()
        with self._lock:
            left = list(self._sockets)
        self._hang_up(*left)


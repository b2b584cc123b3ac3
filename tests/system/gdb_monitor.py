"""A GDB server in front of a real one: a core's system registers (0xE0000000 and up) cannot be had by its memory packets, and
can by monitor commands, in a J-Link server's words, as its users show them, or in those of pyOCD's commander."""
import queue
import re
import socket
import threading

SYSTEM = 0xE0000000
SIZES = {"memU8": 1, "memU16": 2, "memU32": 4, "read8": 1, "read16": 2, "read32": 4, "write8": 1, "write16": 2, "write32": 4}


def frame(payload):
    return b"$" + payload + b"#%02x" % (sum(payload) & 255)


class MonitorServer:
    """`packets` is what becomes of memory packets to system registers: "refused", or "ignored" as far as they write. `dialect`:
    "jlink", "pyocd" or None, the real server's own monitor. `deaf`: the monitor's writes are ignored as well."""

    def __init__(self, port, dialect, packets="refused", deaf=False):
        self.dialect, self.packets, self.deaf = dialect, packets, deaf
        self.asked, self.answers, self.commands = False, queue.Queue(), []
        self.server = socket.create_connection(("127.0.0.1", port))
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.client = None
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        try:
            self.client, _ = self.listener.accept()
            for one in (self.client, self.server):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self._from_server, daemon=True).start()
            for packet in self._packets(self.client):
                self._take(packet)
        except OSError:
            pass
        for one in (self.server, self.client):
            if one is not None:
                one.close()

    @staticmethod
    def _packets(connection):
        """One after the other, acknowledged; an interrupt as it is."""
        rest = b""
        while part := connection.recv(1 << 16):
            rest += part
            while found := re.match(rb"[+-]|\x03|\$([^#]*)#..", rest, re.DOTALL):
                rest = rest[found.end():]
                if found.group(1) is not None:
                    connection.sendall(b"+")
                    yield found.group(1)
                elif found.group() == b"\x03":
                    yield b"\x03"

    def _from_server(self):
        try:
            for payload in self._packets(self.server):
                if self.asked:
                    self.answers.put(payload)
                else:  # it acknowledges throughout
                    self.client.sendall(frame(payload.replace(b";QStartNoAckMode+", b"").replace(b"QStartNoAckMode+;", b"")))
            self.client.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    def _ask(self, payload):
        self.asked = True
        self.server.sendall(frame(payload))
        answer = self.answers.get(timeout=60)
        self.asked = False
        return answer

    def _take(self, payload):
        memory = re.match(rb"([mMX])([0-9a-f]+),", payload)
        if payload == b"\x03":
            self.server.sendall(payload)
        elif memory and int(memory.group(2), 16) >= SYSTEM and (self.packets == "refused" or memory.group(1) != b"m"):
            self.client.sendall(frame(b"E01" if self.packets == "refused" else b"OK"))
        elif payload.startswith(b"qRcmd,") and (self.dialect or payload.endswith(b"version".hex().encode())):
            self._monitor(bytes.fromhex(payload[6:].decode()).decode())
        else:
            self.server.sendall(frame(payload))

    def _monitor(self, line):
        self.commands.append(line)
        name, *words = line.replace("=", " ").split()
        known = name.startswith("memU") if self.dialect == "jlink" else bool(re.match("(read|write)[0-9]", name))
        if not self.dialect or not known:
            self.client.sendall(frame(f"Error: unrecognized command '{name}'\n".encode().hex().encode()))
            return
        size, at = SIZES[name], int(words[0], 16)
        if len(words) > 1:
            value = int(words[1], 16)
            if not self.deaf:
                self._ask(b"M%x,%x:%s" % (at, size, value.to_bytes(size, "little").hex().encode()))
            said = f"Writing 0x{value:0{2 * size}X} @ address 0x{at:08X}\n" if self.dialect == "jlink" else "OK\n"
        else:
            value = int.from_bytes(bytes.fromhex(self._ask(b"m%x,%x" % (at, size)).decode()), "little")
            said = (f"Reading from address 0x{at:08X} (Data = 0x{value:0{2 * size}X})\n" if self.dialect == "jlink"
                    else f"{at:08x}:  {value:0{2 * size}x}    |....|\n")
        if self.dialect == "jlink":  # as output on the way, and then that it is done
            self.client.sendall(frame(b"O" + said.encode().hex().encode()))
            self.client.sendall(frame(b"OK"))
        else:
            self.client.sendall(frame(said.encode().hex().encode()))

    def close(self):
        self.listener.close()
        self.server.close()

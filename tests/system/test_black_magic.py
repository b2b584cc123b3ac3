"""A Black Magic Probe: a serial port, at which nothing has a core until `monitor swdp_scan` and `vAttach;1`. The fake answers as its
gdb_main.c does, and has OpenOCD's GDB server carry out what concerns the core."""
import array
import binascii
import fcntl
import os
import select
import socket
import threading
import tty

import pytest

from gdb_place import GdbPlace
from harness import TOOL, WORK_BY_DATA, finish_tool, passages, returned, run_tool, start_tool

TIOCGEXCL = 0x80045440  # asm-generic/ioctls.h
NO_CORE = {b"g": b"EFF", b"m": b"EFF", b"G": b"EFF", b"M": b"EFF", b"p": b"EFF", b"P": b"EFF", b"X": b"EFF", b"Z": b"EFF", b"z": b"EFF",
           b"c": b"X1D", b"s": b"X1D", b"?": b"W00"}


def packet(text):
    return b"$" + text + b"#%02x" % (sum(text) & 255)


class Stream:
    """Packets and single bytes of one end."""

    def __init__(self, receive, send):
        self.receive, self.send, self.buffer = receive, send, b""

    def next(self):
        """A packet's text, b"\\x03", or None at the end."""
        while True:
            self.buffer = self.buffer.lstrip(b"+-")
            if self.buffer[:1] == b"\x03":
                self.buffer = self.buffer[1:]
                return b"\x03"
            end = self.buffer.find(b"#")
            if self.buffer[:1] == b"$" and len(self.buffer) >= end + 3 > 2:
                text, self.buffer = self.buffer[1:end], self.buffer[end + 3:]
                self.send(b"+")
                return text
            more = self.receive()
            if not more:
                return None
            self.buffer += more


class BlackMagic:
    def __init__(self, place, has_core=True):
        self.place, self.has_core, self.core, self.asked = place, has_core, None, []
        self.scanned, self.running = False, False
        self.end, terminal = os.openpty()
        tty.setraw(terminal)
        self.path = os.ttyname(terminal)
        self.kept = terminal
        self.tool = Stream(self.read, lambda data: os.write(self.end, data))
        threading.Thread(target=self.serve, daemon=True).start()

    def read(self):
        try:
            return os.read(self.end, 4096)
        except OSError:
            return b""

    def answer(self, text):
        os.write(self.end, packet(text))

    def attach(self):
        connection = socket.create_connection(("127.0.0.1", self.place.server.gdb_port()))
        self.core = Stream(lambda: connection.recv(4096), connection.sendall)
        self.connection = connection
        self.ask(b"qSupported")

    def ask(self, text):
        self.connection.sendall(packet(text))
        while True:
            reply = self.core.next()
            if reply is None or not (reply[:1] == b"O" and reply != b"OK"):
                return reply or b"E01"

    def command(self, text):
        name = binascii.unhexlify(text)
        if name == b"version":
            self.say(b"Black Magic Probe v1.10.2, Hardware Version 3\n")
        elif name == b"swdp_scan" and self.has_core:
            self.scanned = True
            self.say(b"Target voltage: 3.3V\nAvailable Targets:\nNo. Att Driver\n 1      STM32F40x M4\n")
        elif name in (b"swdp_scan", b"jtag_scan"):
            self.say(b"SW-DP scan failed!\n")
            return self.answer(binascii.hexlify(b"Failed\n"))
        else:
            return self.answer(b"")
        return self.answer(b"OK")

    def say(self, text):
        self.answer(b"O" + binascii.hexlify(text))

    def run(self, text):
        """Until it halts: of the tool only Ctrl-C is heard."""
        self.connection.sendall(packet(text))
        while True:
            ready = select.select([self.end, self.connection], [], [])[0]
            if self.connection in ready:
                reply = self.core.next()
                if reply is None or reply[:1] in b"TSWX":
                    return self.answer(b"T05" if reply and reply[1:3] == b"05" else b"T02")
            if self.end in ready and b"\x03" in self.read():
                self.connection.sendall(b"\x03")

    def serve(self):
        while (text := self.tool.next()) is not None:
            self.asked.append(text)
            if text.startswith(b"qSupported"):
                self.answer(b"PacketSize=400;qXfer:memory-map:read+;qXfer:features:read+")
            elif text.startswith(b"qRcmd,"):
                self.command(text[6:])
            elif text == b"vAttach;1" and self.scanned:
                self.attach()
                self.answer(b"T05")
            elif text.startswith(b"vAttach") or (self.core is None and text.startswith(b"qXfer")):
                self.answer(b"E01")
            elif text[:1] == b"H":
                self.answer(b"OK")
            elif text == b"D":
                if self.core is not None:
                    self.connection.close()
                    self.place.server("catch {resume}")
                self.core = None
                self.answer(b"OK")
            elif self.core is None:
                self.answer(NO_CORE.get(text[:1], b""))
            elif text[:1] in b"cs":
                self.run(text)
            elif text == b"?":
                self.answer(b"T05")
            elif text.startswith(b"qXfer:features") or text[:1] in b"gmGMpPXZz":
                self.answer(self.ask(text))
            else:
                self.answer(b"")

    def close(self):
        os.close(self.kept)
        os.close(self.end)


@pytest.fixture(name="place")
def _place():
    with GdbPlace("m4", "free", WORK_BY_DATA) as place:
        yield place


def test_it_measures_through_a_serial_port(place):
    probe = BlackMagic(place)
    info = run_tool("-p", f"gdb:{probe.path}", "info")
    assert info.code == 0 and "Black Magic Probe" in info.out and "Cortex-M4" in info.out, info
    assert b"vAttach;1" in probe.asked
    place.board.watch(place.symbol("work_by_data"))
    result = run_tool("-p", f"gdb:{probe.path}", "--elf", place.elf, "delta", "-j", "work_by_data", "-r", 3)
    assert result.code == 0, (result.err, probe.asked[-20:])
    truth = passages(place.board.log(), place.symbol("work_by_data"), returned)
    assert result.cycles == [passage.cycles for passage in truth[-3:]] or result.cycles == [passage.cycles for passage in truth[:3]]
    assert place.board.state()["run"] in ("running", "asleep")
    probe.close()


def test_a_serial_port_is_one_tools(place):
    probe = BlackMagic(place)
    tool = start_tool([TOOL, "-p", f"gdb:{probe.path}", "--elf", place.elf, "delta", "work_by_data", "-r", "30"])
    place.wait_for_stops(6)
    assert array.array("i", fcntl.ioctl(probe.kept, TIOCGEXCL, bytes(4)))[0] == 1
    with open(probe.path, "rb", buffering=0) as other, pytest.raises(BlockingIOError):
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    assert finish_tool(tool).code == 0
    assert array.array("i", fcntl.ioctl(probe.kept, TIOCGEXCL, bytes(4)))[0] == 0
    fcntl.flock(probe.kept, fcntl.LOCK_EX | fcntl.LOCK_NB)  # as another user's pmu-probe has it
    result = run_tool("-p", f"gdb:{probe.path}", "info")
    assert result.code == 3 and "Device or resource busy" in result.err and "another user's pmu-probe" in result.err, result.err
    probe.close()


def test_a_probe_without_a_core_says_so(place):
    probe = BlackMagic(place, has_core=False)
    result = run_tool("-p", f"gdb:{probe.path}", "info")
    assert result.code == 3 and "the Black Magic Probe finds no core, by SWD or JTAG: SW-DP scan failed!" in result.err, result
    assert "monitor swdp_scan" in result.err
    probe.close()


def test_a_serial_port_is_named_as_one(tmp_path):
    for probe, says in (("/dev/ttyACM0", "-p gdb:/dev/ttyACM0 (Black Magic Probe)"), (f"gdb:{tmp_path}/none", "cannot open"),
                        ("gdb:/dev/null", "/dev/null is not a serial port"), ("gdb:localhost", "gdb:/dev/ttyACM0")):
        result = run_tool("-p", probe, "info")
        assert result.code in (2, 3) and says in result.err, result

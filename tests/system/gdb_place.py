"""The virtual board on a real GDB server, and the tool as its client."""
import os
import re
import select
import socket
import subprocess
import threading

from harness import BUILD, TOOL, WAIT, Place, Server, run_tool, wait_for


class GdbServer(Server):
    """OpenOCD with a GDB port for each core. The tests' own commands still go by its Tcl port."""

    def gdb_port(self, number=0):
        wait_for(lambda: len(self._gdb_ports()) > number, "OpenOCD's GDB port")
        return self._gdb_ports()[number]

    def _gdb_ports(self):
        return [int(port) for port in re.findall(r"Listening on port (\d+) for gdb connections", self.output)]


class GdbPlace(Place):
    """`gdb:HOST:PORT` in place of the Tcl port."""

    core = 0

    def start_server(self, *commands):
        server = GdbServer(self.board, "gdb_port 0", *commands, config=self.config())
        self.servers.append(server)
        return server

    def probe_words(self):
        return ["-p", f"gdb:127.0.0.1:{self.server.gdb_port(self.core)}"]


QEMU = {"an385": ["qemu-system-arm", "-M", "mps2-an385"], "an505": ["qemu-system-arm", "-M", "mps2-an505"],
        "a15": ["qemu-system-arm", "-M", "virt", "-cpu", "cortex-a15"],
        "a53": ["qemu-system-aarch64", "-M", "virt", "-cpu", "cortex-a53"]}


class Qemu:
    """A real QEMU as GDB server, on a free port; its program waits at its first instruction."""

    def __init__(self, machine):
        self.elf = os.path.join(BUILD, "firmware", f"qemu-{machine}.elf")
        self.port = free_port()
        self.process = subprocess.Popen([*QEMU[machine], "-display", "none", "-monitor", "none", "-serial", "none", "-nic",
                                         "none", "-kernel", self.elf, "-gdb", f"tcp:127.0.0.1:{self.port}", "-S"],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            wait_for(lambda: is_listening(self.port), "QEMU's GDB port")
        except BaseException:
            self.close()
            raise

    def symbol(self, name):
        nm = "aarch64-linux-gnu-nm" if "a53" in self.elf else "arm-none-eabi-nm"
        out = subprocess.run([nm, self.elf], check=True, capture_output=True, text=True).stdout
        return next(int(line.split()[0], 16) for line in out.splitlines() if line.split()[2] == name)

    def run(self, *args):
        return run_tool("--elf", self.elf, "-p", f"gdb:127.0.0.1:{self.port}", *args)

    def close(self):
        self.process.kill()
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def is_listening(port):
    """Without a connection, which a GDB server would take for its client."""
    with open("/proc/net/tcp", encoding="ascii") as table:
        return any(line.split()[1].endswith(f":{port:04X}") and line.split()[3] == "0A" for line in list(table)[1:])


class GdbClient:
    """tests/system/clients/gdb_client.c: the debugger alone, driven by lines."""

    def __init__(self, port):
        self.process = subprocess.Popen([os.path.join(BUILD, "clients", "gdb-client")], text=True, bufsize=1,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.hello = self.ask(f"open 127.0.0.1 {port}")

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        return self.process.stdout.readline().rstrip("\n")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.stdout.close()
        assert self.process.wait(WAIT) == 0


PYOCD = ("import threading; threading.Thread.isAlive = threading.Thread.is_alive; "  # gone since Python 3.9
         "from pyocd.tools.gdb_server import main; main()")


class PyOcd:
    """Debian's pyOCD as GDB server, on the board's HID probe. It ends with its client's session."""

    def __init__(self, board):
        self.port = free_port()
        self.process = subprocess.Popen(
            board.in_namespace(["/usr/bin/python3", "-c", PYOCD, "-t", "cortex_m", "-p", self.port, "-T", free_port()]),
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for(lambda: is_listening(self.port), "pyOCD's GDB port")

    def close(self):
        self.process.terminate()
        self.process.wait()


class PyOcdPlace(Place):
    """The tool as client of pyOCD."""

    def serve(self):
        self.pyocd = PyOcd(self.board)
        self.servers.append(self.pyocd)

    def words(self, *args, elf=True):
        return [TOOL, *(["--elf", self.elf] if elf else []), "-p", f"gdb:127.0.0.1:{self.pyocd.port}", *map(str, args)]


class Proxy:
    """Between the tool and a GDB server. `spoil(number, packet)` returns what is sent on in place of the server's packet
    with that number, or None to hang up. With `again`, further connections are served, and not spoilt."""

    def __init__(self, port, spoil, again=False):
        self.spoil, self.packets, self._again, self._to = spoil, 0, again, port
        self._server = socket.create_connection(("127.0.0.1", port))
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        client, _ = self._listener.accept()
        self._carry(client)
        while self._again:
            try:
                client, _ = self._listener.accept()
                self._server = socket.create_connection(("127.0.0.1", self._to))
            except OSError:
                return
            self.spoil = lambda number, packet: packet
            self._carry(client)

    def _carry(self, client):
        """Both directions in one thread: of two, one may read on what the other has closed, and take the next connection's
        bytes."""
        server, rest = self._server, b""
        try:
            while True:
                for source in select.select([client, server], [], [])[0]:
                    part = source.recv(1 << 16)
                    if not part:
                        return
                    if source is client:
                        server.sendall(part)
                        continue
                    rest += part
                    while found := re.match(rb"[+-]|\$[^#]*#..", rest, re.DOTALL):
                        rest, packet = rest[found.end():], found.group()
                        if len(packet) > 1:
                            packet = self.spoil(self.packets, packet)
                            self.packets += 1
                        if packet is None:
                            return
                        client.sendall(packet)
        except (OSError, ValueError):  # closed by the test
            pass
        finally:
            client.close()
            server.close()

    def close(self):
        self._listener.close()
        self._server.close()

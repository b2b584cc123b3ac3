"""The board's probe on USB: its own mount namespace, in which /sys and /dev show nothing but that probe to any
unmodified program. Nothing outside sees it, and it is gone with its last process."""

import os
import subprocess
import tempfile
import time

from board import BUILD, ROOT, WAIT, Board, OpenOcd
from once import once

# In the namespace, before the board: a place to work in. It lives as long as its standard input.
HOLD = 'mount -t tmpfs pmu-usb "$0" && echo ready && exec cat'
# After it: the nodes in a /dev of our own, then both trees over the real ones
BIND = """
set -e
cd "$0"
mkdir -p dev/bus/usb/001
for f in null zero full random urandom tty fuse; do touch dev/$f; mount --bind /dev/$f dev/$f; done
for d in pts shm; do mkdir dev/$d; [ ! -d /dev/$d ] || mount --rbind /dev/$d dev/$d; done
ln -s /proc/self/fd dev/fd
touch dev/bus/usb/001/002
mount --bind node/usb dev/bus/usb/001/002
if [ -e node/hidraw ]; then touch dev/hidraw0; mount --bind node/hidraw dev/hidraw0; fi
mount --rbind sys /sys
mount --rbind dev /dev
"""


@once
def usb_available():
    """None, or why the probe on USB cannot be shown here."""
    if os.geteuid():
        return "USB needs root: for mount namespaces"
    try:
        os.close(os.open("/dev/fuse", os.O_RDWR))
    except OSError as error:
        return f"USB needs FUSE: {error}"
    with tempfile.TemporaryDirectory() as place:
        done = subprocess.run(["unshare", "-m", "--propagation", "private", "mount", "-t", "tmpfs", "pmu-usb", place],
                              capture_output=True, text=True)
    return f"USB needs mount namespaces: {done.stderr.strip()}" if done.returncode else None


class UsbNamespace:
    """The namespace itself. `cpu` pins what runs in it to one processor, which makes round trips faster
    by up to ten times."""

    def __init__(self, cpu=None):
        self.cpu = cpu
        self._place = tempfile.TemporaryDirectory(prefix="pmu-usb-")
        self.directory = self._place.name
        self._holder = subprocess.Popen(["unshare", "-m", "--propagation", "private", "sh", "-c", HOLD, self.directory],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if self._holder.stdout.readline() != "ready\n":
            self.close()
            raise RuntimeError("no mount namespace for USB")

    def enter(self, command, directory=None):
        """The words that run a command in the namespace, in this or the given directory."""
        pinned = [] if self.cpu is None else ["taskset", "-c", str(self.cpu)]
        return [*pinned, "nsenter", "-m", "-t", str(self._holder.pid), f"--wdns={directory or os.getcwd()}",
                *map(str, command)]

    def in_namespace(self, command, directory=None):
        """The same for a program that searches for the probe."""
        # Without it libudev believes no sysfs but the kernel's
        return self.enter(["env", "SYSTEMD_DEVICE_VERIFY_SYSFS=0", *command], directory)

    def bind(self):
        """Over /dev and /sys with what the board has made."""
        subprocess.run(self.enter(["sh", "-c", BIND, self.directory]), check=True, timeout=WAIT)

    def run(self, command, timeout=WAIT, **kwargs):
        """Runs a client to its end; what it printed, errors included."""
        return subprocess.run(self.in_namespace(command), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              stdin=subprocess.DEVNULL, timeout=timeout, **kwargs)

    def close(self):
        self._holder.stdin.close()
        self._holder.wait(WAIT)
        self._holder.stdout.close()
        self._place.cleanup()


class Client:
    """One of tests/system/clients: unmodified libusb or hidapi searching for a CMSIS-DAP probe."""

    def __init__(self, board, name):
        self.process = subprocess.Popen(board.in_namespace([BUILD / "clients" / name]), text=True, bufsize=1,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def send(self, line):
        self.process.stdin.write(line + "\n")

    def receive(self):
        """The answer to a line. An error raises."""
        line = self.process.stdout.readline()
        if not line.endswith("\n"):
            raise RuntimeError("the client is gone")
        if line.startswith("error "):
            raise ClientError(line[len("error "):-1])
        return line[:-1]

    def ask(self, line):
        self.send(line)
        return self.receive()

    def open(self):
        """The probe's serial number and, from libusb, the size of its endpoints."""
        _, serial, size = self.ask("open").split(" ")
        return serial, int(size)

    def reopen(self):
        self.ask("close")
        return self.open()

    def put(self, request, timeout_ms=5000):
        self.ask(f"out {request.hex()} {timeout_ms}")

    def get(self, timeout_ms=5000):
        return bytes.fromhex(self.ask(f"in {timeout_ms}"))

    def exchange(self, request):
        self.put(request)
        return self.get()

    def rounds(self, count, request):
        """Seconds that this many exchanges took."""
        return float(self.ask(f"rounds {count} {request.hex()}"))

    def close(self):
        """Its exit code."""
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        self.process.stdout.close()
        return self.process.wait(WAIT)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class ClientError(Exception):
    """What the client's library printed."""


class UsbBoard(Board):
    """A board whose probe is on USB: UsbBoard.start("m4", dap_packet=64, usb_v1_only=True, cpu=0)."""

    @classmethod
    def start(cls, *args, cpu=None, **options):
        namespace = UsbNamespace(cpu)
        try:
            board = super().start(*args, usb=namespace.directory, prefix=namespace.enter([]), **options)
        except BaseException:
            namespace.close()
            raise
        board.namespace = namespace
        try:
            namespace.bind()
        except BaseException:
            board.close()
            raise
        return board

    def close(self):
        try:
            return super().close()
        finally:
            self.namespace.close()

    def in_namespace(self, command, directory=None):
        return self.namespace.in_namespace(command, directory)

    def run(self, command, **kwargs):
        return self.namespace.run(command, **kwargs)

    def openocd(self, backend, *commands):
        """A real OpenOCD on the probe: usb_bulk or hid."""
        return OpenOcd(self, *commands, config=ROOT / "openocd-cfg" / "boards" / "virtual-dap.cfg",
                       config_first=f"set BOARD_CHIP {self.chip}; set DAP_BACKEND {backend}",
                       prefix=self.in_namespace([]))

    def client(self, name):
        return Client(self, name)

    def usb(self):
        return self.command("usb")

    def usb_closed(self):
        """The same once no file is open: the kernel reports a close() some time after it."""
        deadline = time.monotonic() + WAIT
        while self.usb()["open"]:
            if time.monotonic() > deadline:
                raise TimeoutError("the probe's files stay open")
            time.sleep(0.001)
        return self.usb()

    def unplug(self, after=None):
        self.command("usb unplug" if after is None else f"usb unplug-after {after}")

    def plug(self):
        self.command("usb plug")

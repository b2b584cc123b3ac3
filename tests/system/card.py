"""A modelled Knights Corner card as files, and the agent in front of it: what a test of either needs. Also an oracle
for what happens on the card, which counts cycle by cycle."""
import os
import signal
import socket
import struct
import subprocess
import tempfile

from harness import BUILD, finish_tool, start_tool, TOOL, WAIT, wait_for

CARD = os.path.join(BUILD, "card")
AGENT = os.path.join(BUILD, "knc", "msr-agent")
HZ = 1_100_000_000
PERIOD = 32
MASK32, MASK40 = (1 << 32) - 1, (1 << 40) - 1
TSC, CNTR0, CNTR1, SEL0, SEL1, SPFLT, STATUS, OVF, CTRL = 0x10, 0x20, 0x21, 0x28, 0x29, 0x2C, 0x2D, 0x2E, 0x2F
SERVED = (TSC, CNTR0, CNTR1, SEL0, SEL1, SPFLT, STATUS, OVF, CTRL)
CPU_CLK_UNHALTED = 0x2A
USR, OS, EDGE, ANY, EN, INV = (1 << bit for bit in (16, 17, 18, 21, 22, 23))


def card_available():
    """None, or why the card cannot be shown here."""
    if os.geteuid():
        return "the modelled card needs root: it is a file system"
    return None if os.path.exists("/dev/fuse") else "the modelled card needs FUSE"


class Card:
    """`hz` 0: its time does not pass until `advance`."""

    def __init__(self, cpus=244, hz=HZ):
        self._place = tempfile.TemporaryDirectory(prefix="pmu-card-")
        self.cpus = cpus
        self.root = os.path.join(self._place.name, "card")
        self.truth_file = os.path.join(self._place.name, "truth")
        os.mkdir(self.root)
        self._process = subprocess.Popen([CARD, self.root, str(cpus), str(hz), self.truth_file])
        self._files = {}
        wait_for(lambda: os.path.exists(os.path.join(self.root, "control")), "the card")

    def msr(self, cpu):
        if cpu not in self._files:
            self._files[cpu] = os.open(os.path.join(self.root, f"dev/cpu/{cpu}/msr"), os.O_RDWR)
        return self._files[cpu]

    def read(self, cpu, msr):
        return struct.unpack("<Q", os.pread(self.msr(cpu), 8, msr))[0]

    def write(self, cpu, msr, value):
        assert os.pwrite(self.msr(cpu), struct.pack("<Q", value), msr) == 8

    def control(self, line):
        with open(os.path.join(self.root, "control"), "w", encoding="ascii") as to:
            to.write(line)

    def registers(self, cpus=None):
        """Of everything that holds a value, what it holds."""
        return {(cpu, msr): self.read(cpu, msr) for cpu in (range(self.cpus) if cpus is None else cpus)
                for msr in SERVED if msr not in (TSC, OVF)}

    def core_of(self, cpu):
        with open(os.path.join(self.root, f"sys/devices/system/cpu/cpu{cpu}/topology/core_id"), encoding="ascii") as of:
            return int(of.read())

    def looks(self):
        """[(cpu, msr, select, value, truth)] in their order: at the TSC, and at counters while they count."""
        with open(self.truth_file, encoding="ascii") as lines:
            return [tuple(int(word, 0) for word in line.split()) for line in lines]

    def counted(self):
        """{(cpu, msr, select): (count, first value, last value)}: what happened from the first read to the last.
        Of the TSC, between the reads right before those."""
        found, tsc, last_tsc = {}, {}, {}
        for cpu, msr, select, value, truth in self.looks():
            if msr == TSC:
                last_tsc[cpu] = truth
                continue
            first = found.get((cpu, msr, select), (truth, None, value))
            found[cpu, msr, select] = (first[0], truth, first[2], value)
            if cpu in last_tsc:
                begin = tsc.get((cpu, select), (last_tsc[cpu], None))[0]
                tsc[cpu, select] = (begin, last_tsc[cpu])
        counts = {key: (truth[1] - truth[0], truth[2], truth[3]) for key, truth in found.items() if truth[1] is not None}
        counts.update({(cpu, TSC, select): (end - begin, 0, 0) for (cpu, select), (begin, end) in tsc.items()})
        return counts

    def forget(self):
        os.truncate(self.truth_file, 0)

    def run(self, *args, probe=None):
        return finish_tool(self.start(*args, probe=probe))

    def words(self, *args, probe=None):
        return [TOOL, "--probe", probe or f"msr@{self.root}", *map(str, args)]

    def start(self, *args, probe=None):
        return start_tool(self.words(*args, probe=probe))

    def close(self):
        for file in self._files.values():
            os.close(file)
        subprocess.run(["umount", "-l", self.root], check=True)
        self._process.terminate()  # another program's copy of all mounts may keep this one
        self._process.wait(WAIT)
        self._place.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Agent:
    def __init__(self, card, *args):
        state = [] if "--state" in args else ["--state", card.root + ".state"]
        self.process = subprocess.Popen([AGENT, "--root", card.root, "--port", "0", *state, *map(str, args)], text=True,
                                        stdout=subprocess.PIPE)
        self.announced = self.process.stdout.readline()
        self.port = int(self.announced.rsplit(":", 1)[1])
        self.probe = f"msr-agent:127.0.0.1:{self.port}"

    def connect(self):
        return Client(self.port)

    def stop(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        return self.process.wait(WAIT)

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


READ, WRITE, TIME = range(3)
DONE, REFUSED, FAULT, NONSENSE = range(4)


class Client:
    """Speaks the agent's protocol, from its description."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=WAIT)
        tag, cpus, self.busy = struct.unpack("<4sHH", self.take(8))
        assert tag == b"PMR1"
        self.cores = dict(struct.unpack("<HH", self.take(4)) for _ in range(cpus))
        self.serial = 0

    def take(self, n):
        data = b""
        while len(data) < n:
            more = self.socket.recv(n - len(data))
            if not more:
                raise EOFError(data)
            data += more
        return data

    @staticmethod
    def request(accesses, serial=0):
        return struct.pack("<4sHH", b"PMRq", len(accesses), serial) + b"".join(
            struct.pack("<BBHIQ", kind, 0, cpu, msr, value) for kind, cpu, msr, value in accesses)

    def run(self, accesses):
        """(why, values)"""
        self.serial = self.serial + 1 & 0xFFFF
        self.socket.sendall(self.request(accesses, self.serial))
        return self.reply()

    def reply(self):
        tag, done, why, serial = struct.unpack("<4sHBB", self.take(8))
        assert tag == b"PMRa" and serial == self.serial & 0xFF
        return why, list(struct.unpack(f"<{done}Q", self.take(8 * done)))

    def read(self, cpu, msr):
        return self.run([(READ, cpu, msr, 0)])

    def write(self, cpu, msr, value):
        return self.run([(WRITE, cpu, msr, value)])

    def is_left(self):
        """The agent has closed the connection."""
        try:
            return self.socket.recv(1) == b""
        except ConnectionResetError:
            return True

    def close(self):
        self.socket.close()


# --- what happens on the card, worked out anew ----------------------------------------------------------------

EVENTS = {0x00, 0x01, 0x02, 0x03, 0x04, 0x06, 0x09, 0x0A, 0x0C, 0x0D, 0x0E, 0x11, 0x12, 0x15, 0x16, 0x17, 0x1C, 0x1E,
          0x1F, 0x20, 0x21, 0x28, 0x29, 0x2A, 0x2B, 0x2C, 0x2D, 0x2E, 0x37, 0x38, 0x3A, 0x3B,
          *(0x1000 | event for event in (0xC3, 0xC4, 0xC8, 0xC9, 0xCA, 0xCB, 0xCC, 0xCE, 0xCF, 0xD7, 0xE3, 0xE6, 0xE7,
                                         0xF0, 0xF1, 0xF2, 0xF5, 0xF6, 0xF7, 0xFC, 0xFD, 0xFE, 0xFF)),
          *(0x2000 | event for event in (0x00, 0x01, 0x03, 0x04, 0x05, 0x16, 0x17, 0x18))}


def mix(a, b, c):
    h = (a * 2654435761 + b * 2246822519 + c * 3266489917 + 668265263) & MASK32
    h ^= h >> 15
    h = h * 2246822519 & MASK32
    return h ^ h >> 13


def happens(cpu, code, cycle):
    h = mix(cpu, code, cycle % PERIOD)
    if code == CPU_CLK_UNHALTED:
        return int(h % 8 != 0)
    if code not in EVENTS:
        return 0
    if cycle % PERIOD == 0:
        return 1
    if h % 3:
        return 0
    return (h >> 8) % 17 if code == 0x2018 else (h >> 8) % 4


def is_in_ring(cpu, select, cycle):
    return bool(select & (USR if cycle % PERIOD == 0 or mix(cpu, 0xFFFF, cycle % PERIOD) % 4 else OS))


def in_cycle(cpus, siblings, select, cycle):
    if select & 0xFFFF == CPU_CLK_UNHALTED:  # the core's
        return happens(siblings[0], CPU_CLK_UNHALTED, cycle) if any(is_in_ring(cpu, select, cycle) for cpu in cpus) else 0
    return sum(happens(cpu, select & 0xFFFF, cycle) for cpu in cpus
               if is_in_ring(cpu, select, cycle))


def expected(cpu, siblings, select, begin, end, counter=0):
    """What a counter counts of cycles begin to end, one after the other."""
    event, total = select & 0xFFFF, 0
    if counter == 1 and (event & 0xFF in (0xC3, 0xC4, 0xCE, 0xCF) or event >> 8 == 0x10 and event & 0xFF not in (
            0xF0, 0xF5)):
        return 0
    cpus, cmask = siblings if select & ANY else (cpu,), select >> 24

    def holds(cycle):
        n = in_cycle(cpus, siblings, select, cycle)
        return n > 0 if not cmask else n < cmask if select & INV else n >= cmask

    for cycle in range(begin, end):
        if select & EDGE:
            total += holds(cycle) and not holds(cycle - 1)
        else:
            total += holds(cycle) if cmask else in_cycle(cpus, siblings, select, cycle)
    return total

"""Armv7-A/R as the board's tests see it: register offsets, a board with OpenOCD on it, and a bench for little programs in
its RAM. Written from the architecture manual alone, so that it shares no mistake with the board."""

import subprocess

import pytest

from board import Board, OpenOcd, ROOT

# Debug page
(DIDR, VCR, DTRRX, ITR, DSCR, DTRTX, DRCR, BVR, BCR, WVR, WCR, OSLAR, OSLSR, PRCR, PRSR, MIDR, LAR, LSR, AUTHSTATUS, DEVTYPE) = (
    0x000, 0x01C, 0x080, 0x084, 0x088, 0x08C, 0x090, 0x100, 0x140, 0x180, 0x1C0, 0x300, 0x304, 0x310, 0x314, 0xD00, 0xFB0,
    0xFB4, 0xFB8, 0xFCC)
PCSR = {"a9": 0x084, "a7": 0x0A0}  # the r5 has none
HALTED, ITREN, HDBGEN, TXFULL, RXFULL = 1, 1 << 13, 1 << 14, 1 << 29, 1 << 30
HALT, RESTART, CLEAR = 1, 2, 4  # DRCR
KEY = 0xC5ACCE55
# Page of the performance monitor
(EVCNTR, CCNTR, EVTYPER, CCFILTR, ENSET, ENCLR, INTENSET, INTENCLR, OVSR, SWINC, OVSSET, CFGR, PMCR, USERENR, CEID0) = (
    0x000, 0x07C, 0x400, 0x47C, 0xC00, 0xC20, 0xC40, 0xC60, 0xC80, 0xCA0, 0xCC0, 0xE00, 0xE04, 0xE08, 0xE20)
CYCLES = 1 << 31
# Bits of the firmware's `scenario`
PLAIN, NOP, WORK, TWICE, RECURSE, PREEMPTED, SLEEPER, LOOP, RAM, MASKED, PING, COUNTED, SUPERVISOR = (
    0, 1, 2, 3, 4, 5, 6, 7, 8, 13, 14, 29, 30)
MOE_REQUEST, MOE_BREAKPOINT, MOE_BKPT, MOE_CATCH = 0, 1, 3, 5

DEBUG = {"a9": 0x80090000, "a7": 0x80030000, "r5": 0x80001000}
COUNTERS = {"a9": 6, "a7": 4, "r5": 3}
BREAKPOINTS = {"a9": 6, "a7": 6, "r5": 8}
RAM_BASE = {"a9": 0x00100000, "a7": 0x60000000, "r5": 0x08000000}
INSTRUCTIONS = {"a9": 0x68, "a7": 0x08, "r5": 0x08}  # the event that counts them
CPU = {"a9": "cortex-a9", "a7": "cortex-a7", "r5": "cortex-r5"}

ALL_CHIPS = pytest.mark.parametrize("chip", ["a9", "a7", "r5"])
MAPPED = pytest.mark.parametrize("chip", ["a9", "a7"])  # whose performance monitor has a page


def comparator(address, thumb=False):
    """BVR and BCR of an unlinked match in any mode: four bytes of ARM code, two of Thumb code."""
    lanes = 3 << (address & 2) if thumb else 0xF
    return address & ~3, lanes << 5 | 3 << 1 | 1


def between(events, kind, **wanted):
    return [e for e in events if e.kind == kind and all(getattr(e, k) == v for k, v in wanted.items())]


class Core:
    """A core through OpenOCD's view of the debug bus; OpenOCD itself does not poll it."""

    # CP15 c9 of what the page has at an offset: CRm, opc2
    CP15 = {PMCR: (12, 0), ENSET: (12, 1), ENCLR: (12, 2), OVSR: (12, 3), SWINC: (12, 4), CCNTR: (13, 0),
            USERENR: (14, 0), INTENSET: (14, 1), INTENCLR: (14, 2)}
    SELR, XEVTYPER, XEVCNTR = (12, 5), (13, 1), (13, 2)

    def __init__(self, board, ocd, number=0):
        self.ocd, self.chip, self.number = ocd, board.chip, number
        self.board = board.core(number) if number else board
        self.page = DEBUG[self.chip] + 0x2000 * number
        self.name = f"{self.chip}.cpu{number}"

    def apb(self, address, count=1):
        return [int(w, 0) for w in self.ocd(f"{self.chip}.apb read_memory {address:#x} 32 {count}").split()]

    def set_apb(self, address, value):
        self.ocd(f"{self.chip}.apb write_memory {address:#x} 32 {{{value:#x}}}")

    def reg(self, offset):
        return self.apb(self.page + offset)[0]

    def set_reg(self, offset, value):
        self.set_apb(self.page + offset, value)

    # --- run control by its registers

    def halted(self):
        return bool(self.reg(DSCR) & HALTED)

    def wait_halted(self):
        for _ in range(100000):
            if self.halted():
                return self.board.state()
        raise AssertionError("never halted")

    def halt(self):
        self.set_reg(DSCR, HDBGEN)
        self.set_reg(DRCR, HALT)
        return self.wait_halted()

    def resume(self):
        self.set_reg(DSCR, HDBGEN)
        self.set_reg(DRCR, RESTART | CLEAR)

    def arm(self, number, address, thumb=False):
        value, control = comparator(address, thumb)
        self.set_reg(BVR + 4 * number, value)
        self.set_reg(BCR + 4 * number, control)

    def disarm(self, number):
        self.set_reg(BCR + 4 * number, 0)

    def run_to(self, address, thumb=False):
        self.arm(0, address, thumb)
        self.resume()
        state = self.wait_halted()
        self.disarm(0)
        assert state["pc"] == address
        return state

    def stuff(self, op):
        self.set_reg(DSCR, HDBGEN | ITREN)
        self.set_reg(ITR, op)
        return self.reg(DSCR)

    def give(self, value):
        """Into r0, by the data transfer register."""
        self.reg(DSCR)
        self.set_reg(DTRRX, value)
        self.stuff(0xEE100E15)

    def take(self):
        """What is in r0."""
        assert self.stuff(0xEE000E15) & TXFULL
        return self.reg(DTRTX)

    # --- the performance monitor: by its page, or stuffed

    def cp15(self, where, value=None):
        op, kept = 0xEE090F10 | where[1] << 5 | where[0], self.take()
        if value is None:
            self.stuff(op | 1 << 20)
            value = self.take()
        else:
            self.give(value)
            self.stuff(op)
        self.give(kept)
        return value

    def pmu(self, offset, value=None):
        if self.chip != "r5":
            address = self.page + 0x1000 + offset
            return self.apb(address)[0] if value is None else self.set_apb(address, value)
        if offset in self.CP15:
            return self.cp15(self.CP15[offset], value)
        self.cp15(self.SELR, (offset & 0x3FF) // 4)
        return self.cp15(self.XEVTYPER if offset & 0x400 else self.XEVCNTR, value)

    def count(self, *codes):
        """From now on these events; an r5 must be halted for it."""
        self.pmu(PMCR, 0)
        for n, code in enumerate(codes):
            self.pmu(EVTYPER + 4 * n, code)
        self.pmu(ENCLR, 0xFFFFFFFF)
        self.pmu(OVSR, 0xFFFFFFFF)
        self.pmu(ENSET, CYCLES | (1 << len(codes)) - 1)
        self.pmu(PMCR, 7)

    def counts(self, number):
        return [self.pmu(CCNTR)] + [self.pmu(EVCNTR + 4 * n) for n in range(number)]


@pytest.fixture
def attach():
    """attach(chip, **options) gives a board, an OpenOCD on it, and core 0 with OpenOCD that does not poll."""
    opened = []

    def start(chip, **options):
        opened.append(Board.start(chip, "free", **options))
        opened.append(OpenOcd(opened[0], config=ROOT / "openocd-cfg" / "boards" / f"virtual-{chip}.cfg"))
        board, ocd = opened
        board.wait_for(lambda s: board.read_word("round_count") > 0)
        return board, ocd

    yield start
    for thing in reversed(opened):
        thing.close()


@pytest.fixture
def core(attach):
    """core(chip, **options) gives core 0, running, not polled by OpenOCD."""
    def start(chip, **options):
        board, ocd = attach(chip, **options)
        ocd("poll off")
        if chip == "a7":
            assert not board.state()["os_locked"]  # OpenOCD has opened it
        return Core(board, ocd)

    return start


class Bench:
    """A core with a program of ours in RAM, at `start`, which ends with a BKPT."""

    def __init__(self, core, folder):
        self.core, self.folder = core, folder
        self.base = RAM_BASE[core.chip] + 0x20000

    def load(self, source, cpsr=0x1D3):
        text = self.folder / "x.S"
        text.write_text(".syntax unified\n.arm\n.global start\n" + source)
        run = lambda *a: subprocess.run(a, check=True, capture_output=True, text=True, cwd=self.folder).stdout
        run("arm-none-eabi-gcc", f"-mcpu={CPU[self.core.chip]}", "-nostdlib", f"-Wl,-Ttext={self.base:#x},-estart", "-o",
            "x.elf", "x.S")
        run("arm-none-eabi-objcopy", "-O", "binary", "x.elf", "x.bin")
        self.symbols = {f[2]: int(f[0], 16) for f in map(str.split, run("arm-none-eabi-nm", "x.elf").splitlines())}
        self.core.halt()
        self.core.board.write(self.base, (self.folder / "x.bin").read_bytes())
        self.core.give(cpsr)
        self.core.stuff(0xE12FF000)  # MSR CPSR_fsxc, r0
        self.core.give(self.base + 0x8000)
        self.core.stuff(0xE1A0D000)  # MOV sp, r0
        self.core.give(self.symbols["start"])
        self.core.stuff(0xE1A0F000)  # MOV pc, r0
        self.core.board.watch(self.symbols["start"])

    def run(self):
        self.core.resume()
        state = self.core.wait_halted()
        assert state["moe"] == MOE_BKPT, state
        return state

    def register(self, number):
        """Of the mode it stopped in; r0 is spoilt by any but itself."""
        assert self.core.stuff(0xEE000E15 | number << 12) & TXFULL
        return self.core.reg(DTRTX)


@pytest.fixture
def bench(core, tmp_path):
    def start(chip, source, cpsr=0x1D3, **options):
        b = Bench(core(chip, **options), tmp_path)
        b.load(source, cpsr)
        return b

    return start

"""Armv8-A as the board's tests see it: register addresses, a raw CMSIS-DAP host on the board's debug bus, and a bench for
little programs in the RAM of a core that was halted through it."""

import subprocess

import pytest

from board import ROOT, Board
from cmsis_dap import ABORT, AP, CLEAR_STICKY, CSW, DP, DRW, FAULT, OK, RDBUFF, SELECT, TAR, Dap, read, write

CONFIG = ROOT / "openocd-cfg" / "boards" / "virtual-a53.cfg"
AXI, APB = 0, 1

# Offsets in a core's debug registers, and in its cross trigger interface
EDESR, EDECR, DTRRX, EDITR, EDSCR, DTRTX, EDRCR = 0x020, 0x024, 0x080, 0x084, 0x088, 0x08C, 0x090
PCSR, OSLAR, EDPRCR, EDPRSR, BVR0, BCR0, MIDR = 0x0A0, 0x300, 0x310, 0x314, 0x400, 0x408, 0xD00
CLAIMSET, CLAIMCLR, LAR, LSR, AUTHSTATUS, DEVARCH, DEVTYPE = 0xFA0, 0xFA4, 0xFB0, 0xFB4, 0xFB8, 0xFBC, 0xFCC
CTICONTROL, INTACK, APPSET, APPCLEAR, APPPULSE, INEN0, OUTEN0, TROUTSTATUS, GATE, CTIDEVCTL = (
    0x000, 0x010, 0x014, 0x018, 0x01C, 0x020, 0x0A0, 0x134, 0x140, 0x150)
PU, SPD, R, SR, HALTED, OSLK, DLK, EDAD, SDAD, EPMAD, SPMAD, SDR = (1 << n for n in range(12))
ERR, HDE, MA, INTDIS, ITE, TXU, RXO, ITO, TXFULL, RXFULL = (
    1 << 6, 1 << 14, 1 << 20, 3 << 22, 1 << 24, 1 << 26, 1 << 27, 1 << 28, 1 << 29, 1 << 30)
BREAKPOINT, REQUEST, STEP, UNLOCK_CATCH, RESET_CATCH, HLT = 0x07, 0x13, 0x1B, 0x23, 0x27, 0x2F  # EDSCR.STATUS
BCR_ALL, UNLOCK_KEY = 0x21E7, 0xC5ACCE55

# The performance monitor
PMEVCNTR0, PMCCNTR, PMCCNTR_HIGH, PMEVTYPER0, PMCCFILTR = 0x000, 0x0F8, 0x0FC, 0x400, 0x47C
PMCNTENSET, PMCNTENCLR, PMINTENSET, PMINTENCLR, PMOVSCLR, PMSWINC, PMOVSSET = (
    0xC00, 0xC20, 0xC40, 0xC60, 0xC80, 0xCA0, 0xCC0)
PMCFGR, PMCR, PMCEID0 = 0xE00, 0xE04, 0xE20
E, P, C, D, LC, CYCLE = 1, 2, 4, 8, 1 << 6, 1 << 31
L1D_REFILL, L1D, LD, ST, INST, EXC, EXC_RETURN, CID, PC_WRITE, BR_IMMED, UNALIGNED, MEM, IRQ = (
    0x03, 0x04, 0x06, 0x07, 0x08, 0x09, 0x0A, 0x0B, 0x0C, 0x0D, 0x0F, 0x13, 0x86)
SW_INCR, CYCLES, CHAIN = 0x00, 0x11, 0x1E

# Where a bench has its program, vectors and stack
BASE, VECTORS, STACK = 0x00120000, 0x00124000, 0x00130000


class BusError(Exception):
    """The access port answered with an error."""


class Bus:
    """The chip's buses through a raw CMSIS-DAP host over TCP."""

    def __init__(self, board):
        self.dap = Dap(board.dap_port)
        self.dap.swd()
        self.dap.power_up()
        self.ap = None

    def close(self):
        self.dap.close()

    def _check(self, reply, wanted):
        if reply.ack == OK and reply.count == wanted:
            return reply.words
        assert reply.ack == FAULT, reply
        self.dap.transfer(write(DP, ABORT, CLEAR_STICKY))
        raise BusError()

    def _select(self, ap):
        if self.ap != ap:
            self.dap.transfer(write(DP, SELECT, ap << 24), write(AP, CSW, 0x80000042 if ap == APB else 0x23000042))
            self.ap = ap

    def word(self, address, ap=APB):
        self._select(ap)
        return self._check(self.dap.transfer(write(AP, TAR, address), read(AP, DRW), read(DP, RDBUFF)), 3)[0]

    def set_word(self, address, value, ap=APB):
        self._select(ap)
        self._check(self.dap.transfer(write(AP, TAR, address), write(AP, DRW, value), read(DP, RDBUFF)), 3)


class Core:
    """A core of the a53 on the debug bus, driven register by register."""

    def __init__(self, board, number=0, bus=None):
        self.board = board.core(number) if number else board
        self.bus = bus or Bus(board)
        self.debug, self.cti, self.pmu = (base + number * 0x100000 for base in (0x80410000, 0x80420000, 0x80430000))

    def __getitem__(self, offset):
        return self.bus.word(self.debug + offset)

    def __setitem__(self, offset, value):
        self.bus.set_word(self.debug + offset, value)

    def count(self, offset):
        return self.bus.word(self.pmu + offset)

    def set_count(self, offset, value):
        self.bus.set_word(self.pmu + offset, value)

    def trigger(self, offset):
        return self.bus.word(self.cti + offset)

    def set_trigger(self, offset, value):
        self.bus.set_word(self.cti + offset, value)

    def open(self):
        """Unlocks it and sets the triggers up: channel 0 halts, channel 1 restarts."""
        self[OSLAR] = 0
        self[EDPRSR]
        self[EDSCR] = HDE
        for offset, value in ((CTICONTROL, 1), (GATE, 0), (OUTEN0, 1), (OUTEN0 + 4, 2)):
            self.set_trigger(offset, value)
        return self

    def wait_halted(self):
        for _ in range(100000):
            if self[EDPRSR] & HALTED:
                return self[EDSCR] & 0x3F
        raise AssertionError("never halted")

    def halt(self):
        self.set_trigger(APPPULSE, 1)
        status = self.wait_halted()
        self.set_trigger(INTACK, 1)
        return status

    def restart(self):
        self.set_trigger(INTACK, 1)
        self.set_trigger(APPPULSE, 2)

    def stuff(self, op):
        self[EDITR] = op
        assert self[EDSCR] & (ITE | ERR) == ITE

    def x(self, number, value=None):
        if value is None:
            self.stuff(0xD5130400 | number)  # MSR DBGDTR_EL0
            return self[DTRTX] | self[DTRRX] << 32
        self[DTRTX] = value >> 32
        self[DTRRX] = value & 0xFFFFFFFF
        self.stuff(0xD5330400 | number)  # MRS from DBGDTR_EL0
        return value

    def system(self, op, value=None):
        """A System register by its MRS with X0; X0 is lost."""
        if value is None:
            self.stuff(op)
            return self.x(0)
        self.x(0, value)
        self.stuff(op & ~(1 << 21))
        return value

    def pc(self, value=None):
        return self.system(0xD53B4520, value)  # DLR_EL0

    def pstate(self, value=None):
        return self.system(0xD53B4500, value)  # DSPSR_EL0

    def break_at(self, address, n=0):
        self[BVR0 + 16 * n] = address
        self[BVR0 + 16 * n + 4] = 0
        self[BCR0 + 16 * n] = BCR_ALL

    def run_to(self, address):
        self.break_at(address)
        self.restart()
        assert self.wait_halted() == BREAKPOINT
        self[BCR0] = 0

    def last(self, kind="halt"):
        return [e for e in self.board.log() if e.kind == kind][-1]


class Bench:
    """A halted core with a program of ours in RAM, at EL1. Its symbols are addresses; SVC and the like stop at `handler`."""

    def __init__(self, core, folder, source):
        self.core, self.folder = core, folder
        text = folder / "x.S"
        text.write_text(source)
        run = lambda *a: subprocess.run(a, check=True, capture_output=True, text=True, cwd=folder).stdout
        run("aarch64-linux-gnu-gcc", "-mcpu=cortex-a53", "-nostdlib", "-static", f"-Wl,-Ttext={BASE:#x},-e0,--build-id=none",
            "-o", "x.elf", "x.S")
        run("aarch64-linux-gnu-objcopy", "-O", "binary", "-j", ".text", "x.elf", "x.bin")
        lines = run("aarch64-linux-gnu-nm", "x.elf").splitlines()
        self.symbols = {f[2]: int(f[0], 16) for f in map(str.split, lines) if len(f) == 3}
        core.open()
        core.halt()
        core.board.write(BASE, (folder / "x.bin").read_bytes())
        for n in range(16):  # every vector jumps to `handler`
            to = self.symbols.get("handler", BASE) - (VECTORS + 0x80 * n)
            core.board.write_word(VECTORS + 0x80 * n, 0x14000000 | (to // 4 & 0x3FFFFFF))
        core.system(0xD538C000, VECTORS)  # VBAR_EL1
        core.pstate(0x3C5)
        core.x(1, STACK)
        core.stuff(0x9100003F)  # MOV SP, X1
        core.pc(self.symbols["start"])
        core.board.watch(BASE)

    def run(self, *registers):
        """From where it is to the next HLT or whatever else halts it. X0 and so on are given."""
        for number, value in reversed(list(enumerate(registers))):
            self.core.x(number, value)
        self.core.restart()
        return self.core.wait_halted()

    def go(self, place, *registers):
        self.core.pc(self.symbols[place])
        return self.run(*registers)


@pytest.fixture
def a53():
    """a53(**options) gives a board, and what else is opened by it is closed with it."""
    opened = []

    def start(**options):
        opened.append(Board.start("a53", **options))
        board = opened[0]
        board.wait_for(lambda s: board.read_word("round_count") > 0)
        return board

    start.also = lambda thing: opened.append(thing) or thing
    yield start
    for thing in reversed(opened):
        thing.close()


@pytest.fixture
def core(a53):
    """core(number, **options): that core of a new board, unlocked."""
    def start(number=0, **options):
        one = Core(a53(**options), number)
        a53.also(one.bus)
        return one.open()
    return start


@pytest.fixture
def bench(core, tmp_path):
    return lambda source, **options: Bench(core(**options), tmp_path, source)

"""Cortex-M as the board's tests see it: register addresses, a board with OpenOCD on it, and a bench for little programs
in its RAM."""

import subprocess

import pytest

from board import Board, OpenOcd

SYST_CSR, SYST_RVR, SYST_CVR, SYST_CALIB = 0xE000E010, 0xE000E014, 0xE000E018, 0xE000E01C
NVIC_ISER, NVIC_ISPR, NVIC_ICPR, NVIC_IPR = 0xE000E100, 0xE000E200, 0xE000E280, 0xE000E400
ICSR, VTOR, AIRCR, SHPR3 = 0xE000ED04, 0xE000ED08, 0xE000ED0C, 0xE000ED20
DFSR, DHCSR, DCRSR, DCRDR, DEMCR = 0xE000ED30, 0xE000EDF0, 0xE000EDF4, 0xE000EDF8, 0xE000EDFC
BP_CTRL, BP_COMP0 = 0xE0002000, 0xE0002008
DWT_CTRL, DWT_CYCCNT, DWT_CPICNT, DWT_PCSR = 0xE0001000, 0xE0001004, 0xE0001008, 0xE000101C
KEY, DEBUGEN, HALT, STEP, MASKINTS = 0xA05F0000, 1, 2, 4, 8  # DHCSR, to be written
S_HALT, S_SLEEP, S_LOCKUP, S_RESET_ST = 1 << 17, 1 << 18, 1 << 19, 1 << 25

# Bits of the firmware's `scenario`
(PLAIN, NOP, WORK, TWICE, RECURSE, PREEMPTED, SLEEPER, LOOP, RAM, RELOAD, LONG, RESETTING, LOCKING, MASKED, PING,
 WIDE, SPAN_10, SPAN_1K, SPAN_1M, SPAN_100M, NOP_MORE, TICK_EDGE, ABOVE_TICK, SUSPENDED, DWT_CPI, DWT_EXC, DWT_SLEEP,
 DWT_LSU, DWT_FOLD) = range(29)

# Where a bench has its program, vectors and stacks
BASE, VECTORS, STACK, PROCESS_STACK = 0x20006000, 0x20007000, 0x20009000, 0x2000A000

BOTH_CHIPS = pytest.mark.parametrize("chip", ["rp2040", "m4"])


def comparator(address):
    return (2 if address & 2 else 1) << 30 | (address & 0x1FFFFFFC) | 1


def wait_halted(ocd):
    for _ in range(100000):
        if ocd.word(DHCSR) & S_HALT:
            return
    raise AssertionError("never halted")


def between(events, kind, **wanted):
    return [e for e in events if e.kind == kind and all(getattr(e, k) == v for k, v in wanted.items())]


@pytest.fixture
def attach():
    """attach(chip, mode, **options) gives a board and an OpenOCD on it."""
    opened = []

    def start(chip="rp2040", mode="free", **options):
        opened.append(Board.start(chip, mode, **options))
        opened.append(OpenOcd(opened[0]))
        return opened[0], opened[1]

    yield start
    for thing in reversed(opened):
        thing.close()


class Bench:
    """A halted board with a program of ours in RAM. Its symbols are addresses; `name_Handler` go into the vectors."""

    NUMBERS = {"NMI": 2, "HardFault": 3, "SVC": 11, "DebugMon": 12, "PendSV": 14, "SysTick": 15, "IRQ3": 19, "IRQ4": 20}

    def __init__(self, board, ocd, folder):
        self.board, self.ocd, self.folder, self.symbols = board, ocd, folder, {}

    def load(self, source):
        cpu = {"rp2040": "cortex-m0plus", "m4": "cortex-m4", "m55": "cortex-m33"}[self.board.chip]
        text = self.folder / "x.S"
        text.write_text(".syntax unified\n.thumb\n" + source)
        run = lambda *a: subprocess.run(a, check=True, capture_output=True, text=True, cwd=self.folder).stdout
        run("arm-none-eabi-gcc", f"-mcpu={cpu}", "-nostdlib", f"-Wl,-Ttext={BASE:#x},-e0", "-o", "x.elf", "x.S")
        run("arm-none-eabi-objcopy", "-O", "binary", "x.elf", "x.bin")
        self.symbols = {f[2]: int(f[0], 16) for f in map(str.split, run("arm-none-eabi-nm", "x.elf").splitlines())}
        self.board.write(BASE, (self.folder / "x.bin").read_bytes())
        for n in range(48):
            self.board.write_word(VECTORS + 4 * n, 0)
        for name, number in self.NUMBERS.items():
            if name + "_Handler" in self.symbols:
                self.board.write_word(VECTORS + 4 * number, self.symbols[name + "_Handler"] | 1)
        self.ocd.set_word(VTOR, VECTORS)
        self.ocd.set_word(SYST_CSR, 0)
        self.register(16, 0x01000000)
        self.register(20, 0)  # it may have been halted in a masked section
        self.register(13, STACK)
        self.register(18, PROCESS_STACK)
        self.register(15, self.symbols["start"])
        self.board.watch(self.symbols["start"])

    def register(self, number, value=None):
        if value is None:
            self.ocd.set_word(DCRSR, number)
            return self.ocd.word(DCRDR)
        self.ocd.set_word(DCRDR, value)
        self.ocd.set_word(DCRSR, 1 << 16 | number)
        return value

    def resume(self, bits=0):
        self.ocd.set_word(DHCSR, KEY | DEBUGEN | bits)

    def step(self, bits=MASKINTS):
        self.ocd.set_word(DHCSR, KEY | DEBUGEN | HALT | bits)
        self.resume(STEP | bits)

    def run(self):
        """To the next BKPT or whatever else halts it."""
        self.resume()
        return self.board.wait_for(lambda s: s["run"] == "halted", "a halt")

    def events(self, *kinds):
        return [(e.kind, e.extra) for e in self.board.log() if not kinds or e.kind in kinds]


@pytest.fixture
def bench(tmp_path):
    opened = []

    def start(chip, source, **options):
        board = Board.start(chip, "free", **options)
        opened.append(board)
        ocd = OpenOcd(board)
        opened.append(ocd)
        ocd("halt")
        ocd("poll off")
        it = Bench(board, ocd, tmp_path)
        it.load(source)
        return it

    yield start
    for thing in reversed(opened):
        thing.close()

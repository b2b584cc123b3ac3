"""The board's Armv8 cores in AArch32 state, driven register by register: Hyp mode on the R52, and programs at EL0 under a system in
AArch64 state on the A53."""
import contextlib

import pytest

from armv8 import (BCR0, BREAKPOINT, BVR0, CYCLE, DTRRX, DTRTX, E, EDITR, EDSCR, ERR, EXC, INST, PMCCFILTR, PMCCNTR, PMCNTENSET,
                   PMCR, PMEVCNTR0, PMEVTYPER0, Bus, Core)
from board import Board
from harness import WORK_BY_DATA, Place

NSH = 1 << 27
HYP, SVC, USER, MODE = 0x1A, 0x13, 0x10, 0x1F
HMC, EVERYWHERE, NON_SECURE, SECURE = 1 << 13, 3, 1, 2
# T32, first halfword first
DLR, DSPSR, ELR_HYP, SPSR, HSR, HDCR = 0x0F35EE74, 0x0F15EE74, 0x8030F3EE, 0x8000F3FF, 0x0F12EE95, 0x0F31EE91
SET_ELR_HYP, SET_SPSR, DRPS, DCPS1, DCPS2, UNDEFINED = 0x8E30F380, 0x8F00F390, 0x8F00F3DE, 0x8001F78F, 0x8002F78F, 0xA000F7F0
HPME, HPMD = 1 << 7, 1 << 17


class Core32(Core):
    """A core in AArch32 state."""

    def __init__(self, board, bus, bases=None):
        super().__init__(board, bus=bus)
        if bases:
            self.debug, self.cti, self.pmu = bases

    def r(self, number, value=None):
        if value is None:
            self.stuff(0x0E15EE00 | number << 28)  # MCR DBGDTRTXint
            return self[DTRTX]
        self[DTRRX] = value
        self.stuff(0x0E15EE10 | number << 28)  # MRC DBGDTRRXint
        return value

    def moved(self, op, value=None):
        """By an MRC or MRS to R0, or by the MCR."""
        if value is None:
            self.stuff(op)
            return self.r(0)
        self.r(0, value)
        self.stuff(op & ~0x10)
        return value

    def level(self):
        return self[EDSCR] >> 8 & 3

    def set_break(self, address, hmc, pmc, ssc=0, n=0, of_bytes=0xF):
        self[BVR0 + 16 * n] = address
        self[BCR0 + 16 * n] = hmc | ssc << 14 | of_bytes << 5 | pmc << 1 | 1


@contextlib.contextmanager
def core32(program, scenario, bases=(0x80010000, 0x80020000, 0x80030000)):
    with Place(f"{program}/swd", "free", scenario) as place, contextlib.closing(Bus(place.board)) as bus:
        core = Core32(place.board, bus, bases).open()
        core.place = place
        core.halt()
        yield core


def test_a_core_starts_in_hyp_mode_and_may_leave_it():
    for program, mode, level in (("r52", SVC, 1), ("r52hyp", HYP, 2)):
        with core32(program, WORK_BY_DATA) as core:
            assert core.moved(DSPSR) & MODE == mode and core.level() == level and core.board.state()["level"] == level


@pytest.mark.parametrize("program, hmc, pmc, ssc, hits", [
    ("r52hyp", HMC, EVERYWHERE, 0, True), ("r52hyp", HMC, 1, NON_SECURE, True), ("r52hyp", HMC, 0, NON_SECURE, True),
    ("r52hyp", 0, EVERYWHERE, 0, False), ("r52hyp", 0, 1, 0, False), ("r52hyp", HMC, EVERYWHERE, SECURE, False),
    ("r52", 0, 1, 0, True), ("r52", HMC, EVERYWHERE, 0, True), ("r52", 0, 2, 0, False)])
def test_comparators_by_level(program, hmc, pmc, ssc, hits):
    """One that does not say EL2 does not match there. The other stops in any case."""
    with core32(program, WORK_BY_DATA) as core:
        first, others = core.board.symbol("work_by_data"), [core.board.symbol(name) for name in ("written_round", "shares_round")]
        core.set_break(first, hmc, pmc, ssc)
        seen = set()
        for turn in range(4):
            if first not in seen:
                core.set_break(others[turn % 2], HMC, EVERYWHERE, n=1)
                core.restart()
                assert core.wait_halted() == BREAKPOINT
                seen.add(core.moved(DLR))
        assert (first in seen) == hits


def counted(core, filters, cycles=4000):
    """What an event counter and the cycle counter say of some time."""
    for at, value in ((PMEVTYPER0, INST | filters), (PMCCFILTR, filters), (PMEVCNTR0, 0), (PMCCNTR, 0), (PMCCNTR + 4, 0), (PMCNTENSET, CYCLE | 1),
                      (PMCR, E)):
        core.set_count(at, value)
    core.restart()
    core.board.run_for(cycles)
    core.halt()
    return core.count(PMEVCNTR0), core.count(PMCCNTR)


def test_counters_by_level():
    with core32("r52hyp", WORK_BY_DATA) as core:
        assert counted(core, 0) == (0, 0)
        assert min(counted(core, NSH)) > 1000
    with core32("r52", WORK_BY_DATA) as core:
        assert min(counted(core, 0)) > 1000 and min(counted(core, NSH)) > 1000


def test_counters_that_a_hypervisor_keeps():
    """HDCR: HPMN counters are the guests', HPME starts the others, HPMD prohibits events in Hyp mode."""
    with core32("r52hyp", WORK_BY_DATA) as core:
        assert core.moved(HDCR) == 4
        core.moved(HDCR, 0)
        instructions, cycles = counted(core, NSH)
        assert instructions == 0 and cycles > 1000
        core.moved(HDCR, HPME)
        assert min(counted(core, NSH)) > 1000
        core.moved(HDCR, 4 | HPMD)
        instructions, cycles = counted(core, NSH)
        assert instructions == 0 and cycles > 1000
        core.moved(HDCR, HPMD)  # which are not the guests'
        assert counted(core, NSH)[0] == 0
        core.moved(HDCR, HPMD | HPME)
        assert min(counted(core, NSH)) > 1000


def test_registers_of_hyp_mode_in_debug_state():
    with core32("r52hyp", WORK_BY_DATA) as core:
        core.r(0, 0x1234)
        core.stuff(SET_ELR_HYP)
        core.r(0, 0x1D3)
        core.stuff(SET_SPSR)
        core.moved(HSR, 0x5678)
        assert (core.moved(ELR_HYP), core.moved(SPSR), core.moved(HSR)) == (0x1234, 0x1D3, 0x5678)
        dlr = core.moved(DLR)
        core[EDITR] = UNDEFINED
        assert core[EDSCR] & ERR and core.level() == 2
        core[0x90] = 4  # EDRCR.CSE
        assert core.moved(ELR_HYP) != 0x1234 and core.moved(HSR) != 0x5678 and core.moved(DLR) != dlr
        core.r(0, 0x1D3)
        core.stuff(SET_SPSR)
        core.stuff(DRPS)
        assert core.level() == 1
        core[EDITR] = ELR_HYP  # undefined there
        assert core[EDSCR] & ERR
        core[0x90] = 4
        core.stuff(DCPS2)
        assert core.level() == 2


def test_exceptions_in_hyp_mode():
    """Interrupts, SVC and undefined instructions: all are taken there, counted, and returned from."""
    with Place("r52hyp/swd", "free", WORK_BY_DATA | 1 << 30) as place:
        board = place.board
        board.wait_for(lambda _: board.read_word("svc_count") > 3, "SVC")
        board.watch(0xFFFFFFF0)
        board.command("irq 3")
        board.wait_for(lambda _: board.read_word("irq3_count") == 1, "the interrupt")
        assert [event.extra for event in board.log() if event.kind == "enter" and event.extra >= 16] == [19]
        board.write(board.symbol("work_by_data"), b"\xf0\x00\xf0\xe7" + b"\x1e\xff\x2f\xe1")  # undefined; BX LR
        board.wait_for(lambda _: board.read_word("undefined_count") > 3, "undefined instructions")
        assert board.state()["level"] == 2 and board.read_word("abort_count") == 0


def test_a_program_in_aarch32_state_under_a_system_in_aarch64_state():
    """SVC and interrupts change the state, and the debug registers show it. EL0's registers are the same ones."""
    with Place("a53mixed/swd", "free", WORK_BY_DATA | 1 << 30) as place, contextlib.closing(Bus(place.board)) as bus:
        board = place.board
        core = Core32(board, bus).open()
        kernel = Board.symbols(type("Elf", (), {"chip": "a53", "elf": board.elf.replace("-free", "-kernel")})())
        board.wait_for(lambda _: board.read_word(kernel["kernel_svcs"]) > 3, "SVC")
        board.command("irq 3")
        board.wait_for(lambda _: board.read_word(kernel["kernel_irqs"]) == 1, "the interrupt")
        core.set_break(board.symbol("work_by_data"), HMC, EVERYWHERE, of_bytes=3)  # it may be halted at the next T32 instruction
        core.restart()
        assert core.wait_halted() == BREAKPOINT
        r0 = core.r(0)
        assert core.level() == 0 and core[EDSCR] >> 10 & 0xF == 0xE
        assert core.moved(DSPSR) & MODE == USER and core.moved(DLR) == board.symbol("work_by_data")
        core.r(0, r0)
        core.stuff(DCPS1)
        assert core.level() == 1 and core[EDSCR] >> 10 & 0xF == 0xF and core.x(0) == r0
        core[BCR0] = 0
        core.set_break(kernel["kernel_svc"], HMC, EVERYWHERE)
        core.restart()
        assert core.wait_halted() == BREAKPOINT
        x0 = core.x(0)
        assert core.level() == 1 and core[EDSCR] >> 10 & 0xF == 0xF and core.pc() == kernel["kernel_svc"]
        assert core.system(0xD5384000) & MODE == USER  # SPSR_EL1
        core.x(0, x0)
        core[BCR0] = 0
        core.restart()
        rounds = board.read_word("round_count")
        board.wait_for(lambda _: board.read_word("round_count") > rounds + 2, "the program")


@pytest.mark.parametrize("program", ["a53mixed", "a53"])
def test_what_is_counted_in_either_state(program):
    """The log's events are what the counters count."""
    bits = WORK_BY_DATA if program == "a53" else WORK_BY_DATA | 1 << 30
    with core32(program, bits, (0x80410000, 0x80420000, 0x80430000)) as core:
        board = core.board
        for n, event in enumerate((INST, 0x06, 0x07, 0x13, EXC)):
            core.set_count(PMEVTYPER0 + 4 * n, event)
            core.set_count(PMEVCNTR0 + 8 * n, 0)
        core.set_count(PMCNTENSET, 0x1F)
        core.set_count(PMCR, E)
        board.watch(0xFFFFFFF0)
        counts = []
        for turn in range(4):
            core.set_break(board.symbol("shares_round" if turn % 2 else "work_by_data"), HMC, EVERYWHERE)
            core.restart()
            assert core.wait_halted() == BREAKPOINT
            counts.append([core.count(PMEVCNTR0 + 8 * n) for n in range(5)])
        halts = [event for event in board.log() if event.kind == "halt"]
        truth = [[event.counts[code] for code in (INST, 0x06, 0x07, 0x13, EXC)] for event in halts]
        assert [[b - a for a, b in zip(*pair)] for pair in zip(counts, counts[1:])] == [[b - a for a, b in zip(*pair)] for pair in zip(truth, truth[1:])]
        assert (counts[3][4] > counts[1][4]) == (program == "a53mixed")

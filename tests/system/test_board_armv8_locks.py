"""Accesses that the board's Cortex-A53 refuses a debugger: by its locks, its power state and its authentication signals."""

import pytest

from armv8 import *
from board import Board, BoardError


STATES = ["os-locked", "double-locked", "powered-off", "epmad", "soft-locked", "unauthenticated"]


def refuses(thing, offset):
    """Whether an access dies; of a writable register, a write too."""
    try:
        thing(offset)
        return False
    except BusError:
        return True


@pytest.mark.parametrize("state, bits, debug, monitor", [
    ("os-locked", PU | OSLK, {EDSCR, EDESR, BVR0, CLAIMCLR, PCSR}, True),
    ("double-locked", PU | DLK, {EDSCR, EDESR, BVR0, CLAIMCLR, PCSR, MIDR, OSLAR}, True),
    ("powered-off", 0, {EDSCR, EDESR, BVR0, CLAIMCLR, PCSR, MIDR, OSLAR}, True),
    ("epmad", PU | EPMAD, set(), True),
    ("soft-locked", PU, set(), False),
    ("unauthenticated", PU | EDAD | EPMAD, {BVR0, OSLAR}, True),
])
def test_what_is_refused(core, state, bits, debug, monitor):
    c = core()
    c[EDPRSR]
    c.board.command(f"core-state {state} on")
    assert c[EDPRSR] & ~(SR | SPMAD | SDAD | SDR) == bits
    for offset in (EDSCR, EDESR, BVR0, CLAIMCLR, PCSR, MIDR, OSLAR, EDECR, EDPRCR, LSR, AUTHSTATUS, DEVARCH, 0xFF0):
        assert refuses(c.__getitem__, offset) == (offset in debug), hex(offset)
    for offset in (PMEVCNTR0, PMCCNTR, PMEVTYPER0, PMCNTENSET, PMCFGR, PMCR, PMCEID0):
        assert refuses(c.count, offset) == monitor, hex(offset)
    for offset in (0xFA8, LSR, AUTHSTATUS, DEVARCH, DEVTYPE, 0xFE0):
        assert not refuses(c.count, offset)
    for offset in (CTICONTROL, GATE, DEVARCH):
        assert not refuses(c.trigger, offset)
    if state in ("epmad", "unauthenticated"):
        assert c[EDPRSR] & SPMAD and not c[EDPRSR] & SPMAD  # it sticks until it is read
    assert c[AUTHSTATUS] == {"epmad": 0xAF, "unauthenticated": 0xAA}.get(state, 0xFF)
    c.board.command(f"core-state {state} off")
    c[OSLAR] = 0
    for offset in (EDSCR, BVR0, MIDR):
        assert not refuses(c.__getitem__, offset)
    assert not refuses(c.count, PMCR)


def test_locked_at_reset_and_by_the_program(a53, tmp_path):
    c = Core(a53())
    a53.also(c.bus)
    assert c[EDPRSR] & (PU | OSLK | SR) == PU | OSLK | SR and refuses(c.count, PMCR) and refuses(c.__getitem__, EDSCR)
    other = Core(c.board, 1, c.bus)
    other[OSLAR] = 0
    assert c[EDPRSR] & OSLK and not other[EDPRSR] & OSLK
    b = Bench(c, tmp_path, """
        start: mov x0, #1
               msr oslar_el1, x0
               mrs x1, oslsr_el1
               b .
    """)
    c.restart()
    c.board.wait_for(lambda s: s["os_locked"])
    assert refuses(c.__getitem__, EDSCR)
    c[OSLAR] = 0
    c.halt()
    assert c.x(1) == 0x0A and c.pc() == b.symbols["start"] + 12
    c.board.command("power off")
    c.board.command("power on")
    assert c.board.state()["os_locked"]


def test_the_software_lock_only_ignores_writes(core):
    c = core()
    c.board.command("core-state soft-locked on")
    assert c[LSR] == c.count(LSR) == c.trigger(LSR) == 3
    c.set_count(PMCNTENSET, 1)
    c[BVR0] = 0x1000
    c.set_trigger(APPPULSE, 1)
    assert c.count(PMCNTENSET) == 0 and c[BVR0] == 0 and not c[EDPRSR] & HALTED
    c.set_count(LAR, 1)
    assert c.count(LSR) == 3
    c.set_count(LAR, UNLOCK_KEY)
    assert c.count(LSR) == 1 and c[LSR] == 3
    c.set_count(PMCNTENSET, 1)
    assert c.count(PMCNTENSET) == 1
    c.set_count(LAR, 0)
    assert c.count(LSR) == 3


def test_without_authentication_nothing_halts(core):
    c = core()
    c.halt()
    c.break_at(c.board.symbol("work_by_data"))
    c.board.command("core-state unauthenticated on")
    c.restart()
    c.set_trigger(APPPULSE, 1)
    c.board.run_for(100000)
    assert c.board.state()["run"] == "running"
    c.board.command("core-state unauthenticated off")  # the request was waiting
    assert c.wait_halted() == REQUEST


def test_the_os_lock_keeps_breakpoints_back(core):
    c = core()
    c.break_at(c.board.symbol("work_by_data"))
    c.wait_halted()
    c[OSLAR] = 1
    c.restart()
    c.board.run_for(100000)
    assert c.board.state()["run"] == "running" and c.board.state()["bcr"][0] == BCR_ALL
    c[OSLAR] = 0
    assert c.wait_halted() == BREAKPOINT


def test_power_lost_and_back(core):
    c = core()
    c.break_at(0x1000, 3)
    c.set_count(PMCNTENSET, 1)
    c.board.command("core-state powered-off on")
    before = c.board.state()
    assert before["run"] == "off"
    c[EDPRCR] = 8  # the power controller does not listen
    assert c[EDPRSR] == 0 and c.board.state()["instructions"] == before["instructions"]
    other = Core(c.board, 1, c.bus)
    assert other[EDPRSR] & PU
    c.board.command("core-state powered-off off")
    assert c[EDPRSR] & (PU | SPD | SR | OSLK) == PU | SPD | SR | OSLK and not c[EDPRSR] & (SPD | SR)
    c[OSLAR] = 0
    assert c[BCR0 + 48] == 0 and c.count(PMCNTENSET) == 0


@pytest.mark.parametrize("state", STATES)
def test_states_from_the_start(state):
    with Board.start("a53", core_state=state) as board:
        for number in (0, 1):
            c = Core(board, number, None if number == 0 else c.bus)
            expected = {"os-locked": PU | OSLK, "double-locked": PU | DLK, "powered-off": 0}
            assert c[EDPRSR] & (PU | DLK | EPMAD | EDAD) == {
                "os-locked": PU, "double-locked": PU | DLK, "powered-off": 0, "epmad": PU | EPMAD, "soft-locked": PU,
                "unauthenticated": PU | EDAD | EPMAD}[state]
            assert expected.get(state) is None or c[EDPRSR] & (OSLK | DLK | PU) == expected[state]
        c.bus.close()


def test_states_that_there_are_not(a53):
    board = a53()
    with pytest.raises(BoardError):
        board.command("core-state on-fire on")
    with pytest.raises(BoardError):
        board.command("core-state os-locked perhaps")
    with Board.start("m4") as other, pytest.raises(BoardError):
        other.command("core-state os-locked on")

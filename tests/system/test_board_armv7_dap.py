"""The debug side of the Armv7-A/R chips as a CMSIS-DAP probe sees it, over either wire: access ports, ROM tables, and the
locks that a debugger which knows nothing yet runs into."""

import pytest

from armv7 import (DEBUG, DEVTYPE, DIDR, DSCR, HDBGEN, KEY, LAR, LSR, OSLAR, OSLSR, PMCR, PRSR, RAM_BASE, ENSET, CCNTR,
                   ALL_CHIPS, MAPPED)
from board import Board, OpenOcd, ROOT
from cmsis_dap import ABORT, AP, CLEAR_STICKY, CSW, DP, DRW, FAULT, JTAG_TO_SWD, OK, SELECT, SWD, TAR, Dap, read, write
from usb import UsbBoard, usb_available

BASE, IDR, CFG = 0xF8, 0xFC, 0xF4
AHB_WORD, APB_WORD = 0x23000042, 0x80000042

# From BASE on: (address, part, class, DEVTYPE)
TREES = {
    "a9": [(0x80000000, 0x3B2, 1, 0), (0x80001000, 0x907, 9, 0x21), (0x80002000, 0x906, 9, 0x14),
           (0x80003000, 0x912, 9, 0x11), (0x80004000, 0x908, 9, 0x12), (0x80005000, 0x913, 9, 0x43),
           (0x80080000, 0x4A9, 1, 0), (0x80090000, 0xC09, 9, 0x15), (0x80091000, 0x9A0, 9, 0x16),
           (0x80092000, 0xC09, 9, 0x15), (0x80093000, 0x9A0, 9, 0x16), (0x80098000, 0x906, 9, 0x14),
           (0x80099000, 0x906, 9, 0x14), (0x8009C000, 0x950, 9, 0x13), (0x8009D000, 0x950, 9, 0x13)],
    "a7": [(0x80000000, 0x162, 1, 0), (0x80020000, 0x4A7, 1, 0), (0x80030000, 0xC07, 9, 0x15),
           (0x80031000, 0x9A7, 9, 0x16), (0x80038000, 0x906, 9, 0x14), (0x8003C000, 0x956, 9, 0x13)],
    "r5": [(0x80000000, 0xB95, 1, 0), (0x80001000, 0xC15, 9, 0x15), (0x80003000, 0x931, 9, 0x13),
           (0x80004000, 0x912, 9, 0x11), (0x80005000, 0x906, 9, 0x14)],
}


class Ports:
    """Both access ports, by a probe."""

    def __init__(self, dap):
        self.dap = dap

    def register(self, ap, address):
        reply = self.dap.transfer(write(DP, SELECT, ap << 24 | (address & 0xF0)), read(AP, address & 0xC),
                                  write(DP, SELECT, ap << 24))
        assert (reply.count, reply.ack) == (3, OK), reply
        return reply.words[0]

    def choose(self, ap):
        csw = APB_WORD if ap else AHB_WORD
        assert self.dap.transfer(write(DP, SELECT, ap << 24), write(AP, CSW, csw)).ack == OK

    def tree(self, rom, found):
        word = self.dap.word
        cidr = [word(rom + 0xFF0 + 4 * n) for n in range(4)]
        assert (cidr[0], cidr[1] & 0xF, cidr[2], cidr[3]) == (0x0D, 0, 0x05, 0xB1)
        kind, part = cidr[1] >> 4, word(rom + 0xFE0) | (word(rom + 0xFE4) & 0xF) << 8
        found.append((rom, part, kind, word(rom + DEVTYPE)))
        if kind != 1:
            return
        for n in range(960):
            entry = word(rom + 4 * n)
            if not entry:
                break
            if entry & 1:
                self.tree((rom + (entry & 0xFFFFF000)) & 0xFFFFFFFF, found)


@pytest.fixture
def probe():
    """probe(chip, wire) gives a board and its ports by a CMSIS-DAP probe over that wire."""
    opened = []

    def start(chip, wire="swd", **options):
        board = Board.start(chip, **options)
        opened.append(board)
        dap = Dap(board.dap_port)
        opened.append(dap)
        assert dap.swd() == 0x2BA01477 if wire == "swd" else dap.jtag() == 0x4BA00477
        dap.power_up()
        return board, Ports(dap)

    yield start
    for thing in reversed(opened):
        thing.close()


def refused(dap, address):
    """Whether a read there is a bus error; the sticky error is cleared."""
    dap.transfer(write(AP, TAR, address), read(AP, DRW))
    control = dap.transfer(read(DP, 0x4))
    assert control.ack == OK
    dap.ask(b"\x08\x00" + CLEAR_STICKY.to_bytes(4, "little"))
    return bool(control.words[0] & 0x20)


@ALL_CHIPS
@pytest.mark.parametrize("wire", ["swd", "jtag"])
def test_access_ports_and_rom_tables(probe, chip, wire):
    board, ports = probe(chip, wire)
    idrs = [ports.register(ap, IDR) for ap in range(3)]
    assert [i & 0x0FFF000F for i in idrs] == [0x04770001, 0x04770002, 0]
    assert ports.register(0, BASE) in (0xFFFFFFFF, 2)  # nothing to find there
    base = ports.register(1, BASE)
    assert base == (0x80000000 if chip == "a9" else 0x80000003) and ports.register(1, CFG) == 0
    ports.choose(1)
    found = []
    ports.tree(base & 0xFFFFF000, found)
    assert found == TREES[chip]
    # The other access port is memory
    ports.choose(0)
    ports.dap.set_word(RAM_BASE[chip] + 0x8000, 0x12345678)
    assert board.read_word(RAM_BASE[chip] + 0x8000) == 0x12345678
    assert ports.dap.word(0) == board.read_word(0)
    if chip == "a9":  # both cores' pages by this one debug port
        ports.choose(1)
        ports.dap.set_word(0x80093000 + ENSET, 1)
        assert board.core(1).state()["pmcntenset"] == 1 and board.state()["pmcntenset"] == 0


@ALL_CHIPS
def test_the_debug_bus_moves_words_only(probe, chip):
    _, ports = probe(chip)
    ports.choose(1)
    ports.dap.transfer(write(AP, CSW, 0x80000040))  # bytes, please
    assert ports.dap.transfer(read(AP, CSW)).words[0] & 7 == 2
    assert refused(ports.dap, 0x80700000)  # nobody there
    assert ports.dap.word(DEBUG[chip] + DIDR) != 0


@MAPPED
def test_after_power_on_a_lock_is_in_the_way(probe, chip):
    _, ports = probe(chip)
    ports.choose(1)
    dap, page = ports.dap, DEBUG[chip]
    assert refused(dap, page + DSCR)
    assert dap.word(page + DIDR) and dap.word(page + DEVTYPE) == 0x15 and dap.word(page + 0x1000 + DEVTYPE) == 0x16
    if chip == "a7":  # the OS lock is closed, and in front of the performance monitor too
        assert dap.word(page + OSLSR) == 0b1010 and dap.word(page + PRSR) & 0x20
        assert refused(dap, page + 0x1000 + PMCR) and refused(dap, page + DSCR)
        dap.set_word(page + OSLAR, 0)
        assert dap.word(page + OSLSR) == 0b1000
        assert dap.word(page + 0x1000 + PMCR) == 0x41072000
        dap.set_word(page + OSLAR, KEY)
        assert refused(dap, page + DSCR)
        dap.set_word(page + OSLAR, 1)
    else:  # it was without power: the core's registers are refused until that was seen
        assert dap.word(page + OSLSR) == 0 and dap.word(page + 0x1000 + PMCR) == 0x41093000
        assert dap.word(page + PRSR) & 3 == 3
        assert dap.word(page + PRSR) & 3 == 1
    assert not refused(dap, page + DSCR)


def test_software_locks_hold_for_accesses_with_bit_31_clear(probe):
    board, ports = probe("a9")
    dap = ports.dap
    ports.choose(1)
    dap.word(0x80090000 + PRSR)
    # The same pages where a core sees them, at 0xF8800000, and as the debug bus has them with the bit clear
    for ap, where in [(1, 0x00090000), (0, 0xF8890000)]:
        ports.choose(ap)
        debug, monitor = where, where + 0x1000
        for page in (debug, monitor):
            dap.set_word(page + LAR, 0)
            assert dap.word(page + LSR) == 3
        dap.set_word(monitor + CCNTR, 0x55)
        dap.set_word(debug + DSCR, HDBGEN)
        state = board.state()
        assert state["locked"] and state["pmu_locked"] and state["pmccntr"] == 0 and state["dscr"] == 0
        assert dap.word(monitor + PMCR) == 0x41093000  # reads are not locked
        for page in (debug, monitor):
            dap.set_word(page + LAR, KEY)
            assert dap.word(page + LSR) == 1
        dap.set_word(monitor + CCNTR, 0x55)
        dap.set_word(debug + DSCR, HDBGEN)
        state = board.state()
        assert not state["locked"] and not state["pmu_locked"] and state["pmccntr"] == 0x55 and state["dscr"] == HDBGEN
        ports.choose(1)
        dap.set_word(0x80091000 + LAR, 0)  # of a debugger nobody asks for a key
        assert dap.word(0x80091000 + LSR) == 0 and not board.state()["pmu_locked"]
        dap.set_word(0x80091000 + CCNTR, 0)
        dap.set_word(0x80090000 + DSCR, 0)
        assert board.state()["pmccntr"] == 0


@ALL_CHIPS
def test_power_off_and_faults_on_order(probe, chip):
    board, ports = probe(chip)
    ports.choose(1)
    board.command("fault wait 3")
    assert ports.dap.word(DEBUG[chip] + DIDR)
    board.command("fault fault 1")
    assert refused(ports.dap, DEBUG[chip] + DIDR)
    board.command("power off")
    assert ports.dap.transfer(read(DP, 0)).ack not in (OK, FAULT)
    board.command("power on")
    assert ports.dap.connect(SWD)
    ports.dap.swj(JTAG_TO_SWD)
    assert ports.dap.transfer(read(DP, ABORT)).words == [0x2BA01477]


@pytest.mark.skipif(usb_available() is not None, reason=str(usb_available()))
@ALL_CHIPS
def test_openocd_by_its_own_probe_driver(chip):
    config = ROOT / "openocd-cfg" / "boards" / f"virtual-{chip}.cfg"
    with UsbBoard.start(chip) as board, OpenOcd(board, config=config, config_first="unset BOARD_PORT",
                                                prefix=board.in_namespace([])) as ocd:
        ocd("halt")
        for place, length in [("counted_arm", 4), ("counted_thumb", 2)]:
            ocd(f"bp {board.symbol(place):#x} {length} hw")
            ocd("resume")
            ocd.wait_halt()
            ocd(f"rbp {board.symbol(place):#x}")
            assert board.state()["pc"] == board.symbol(place)
        words = ocd(f"{chip}.cpu0 read_memory 0 32 64").split()
        assert b"".join(int(w, 0).to_bytes(4, "little") for w in words) == board.read(0, 256)
        assert board.state()["sticky"] is False

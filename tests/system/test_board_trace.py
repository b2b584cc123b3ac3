"""The trace of the virtual board: what it sends against what it did, read by the tests' own reader."""

import pytest

from board import Board, WAIT
from cmsis_dap import AP, CSW, CSW_WORDS, DP, DRW, SELECT, TAR, WAKE_SWD, Dap, read, write
from itm_reader import Packet, moments, packets, unframe

DEMCR, DWT_CTRL, COMP, MASK, FUNCTION = 0xE000EDFC, 0xE0001000, 0xE0001020, 0xE0001024, 0xE0001028
TER, TCR, LAR = 0xE0000E00, 0xE0000E80, 0xE0000FB0
TPIU, RP_TPIU, RP_FUNNEL, RP_FIFO = 0xE0040000, 0x40148000, 0x40147000, 0x50700000
CSPSR, ACPR, SPPR, FFCR = 4, 0x10, 0xF0, 0x304
TRCENA, CYCCNTENA, EXCTRCENA, CYCEVTENA, CYCTAP, PRESET = 1 << 24, 1, 1 << 16, 1 << 22, 1 << 9, 15 << 1
HEARTBEAT = CYCEVTENA | CYCTAP | PRESET | CYCCNTENA  # each 16,384 cycles
ON = 0x0001000B  # ITMENA, TSENA, TXENA, ID 1
CODE = 0x822     # a match packet at an instruction
V8, V7 = ["m33", "m55", "rp2350"], ["m4", "m7"]


class Probe:
    """A board, a CMSIS-DAP host on it, and no OpenOCD."""

    def __init__(self, chip, mode="free", **options):
        self.board = Board.start(chip, mode, dap_tcp=0, **options)
        self.dap = Dap(self.board.dap_port)
        if chip == "rp2350":
            self.dap.swd(sequence=WAKE_SWD)
            self.dap.power_up()
            self.dap.transfer(write(DP, SELECT, 0x2D00), write(AP, CSW, CSW_WORDS))
        else:
            self.dap.swd()
            self.dap.power_up()
        self.dap.clock(10_000_000)
        self.chip = chip
        self[DEMCR] = TRCENA
        if chip in V7:
            self[LAR] = 0xC5ACCE55

    def __getitem__(self, address):
        return self.dap.word(address)

    def __setitem__(self, address, value):
        self.dap.set_word(address, value)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.dap.close()
        self.board.close()

    def log(self, start=0):
        events, index, end = [], start, None
        while end is None or index < end:
            reply = self.board.command(f"trace {index}")
            assert not reply["dropped"]
            events += [tuple(e[1:]) for e in reply["events"]]
            index, end = reply["next"], reply["end"] if end is None else end
        return events

    def port(self, width=8, baud=0):
        """The sink as raw bytes: RP2350's FIFO by a port of `width` bits, else the SWO pin, `baud` of ACPR."""
        if self.chip == "rp2350":
            self[RP_TPIU + CSPSR] = 1 << (width - 1)
            self[RP_TPIU + FFCR] = 0x100
            self[RP_FUNNEL] = 0x301
            self[RP_FIFO] = 2
        else:
            self[TPIU + SPPR] = 2
            self[TPIU + ACPR] = baud
            self[TPIU + FFCR] = 0x100

    def at_code(self, n, place):
        self[FUNCTION + 16 * n] = 0
        self[COMP + 16 * n] = self.board.address(place)
        self[FUNCTION + 16 * n] = CODE

    def start(self, control=CYCCNTENA, tcr=ON):
        self.board.command("trace on")
        self[DWT_CTRL] = control
        self[TCR] = tcr

    def line(self):
        return bytes.fromhex(self.board.command("trace sink")["line"])

    def until(self, events, cycles=0):
        """Until the log has so many events, and none can be on its way to the pin any more."""
        self.board.wait_for(lambda s: self.board.command("trace")["end"] >= events, f"{events} events")
        self[DWT_CTRL] = CYCCNTENA
        for n in range(4):
            self[FUNCTION + 16 * n] = 0
        self[TER] = 0
        self.board.run_for(20000 + cycles)


@pytest.fixture
def probe():
    opened = []

    def start(chip, mode="free", **options):
        opened.append(Probe(chip, mode, **options))
        return opened[-1]

    yield start
    for p in opened:
        p.__exit__()


def flat(groups):
    """Packets of groups with their time; of a group of several all have the last one's."""
    return [(now, exact, p) for now, exact, group in groups for p in group]


NAMES = {"counters": "cycle", "port": "swit"}


def kinds(stream):
    return [(NAMES.get(p.kind, p.kind), p.number) for p in stream if p.kind not in ("time", "overflow", "from")]


def compare(log, groups):
    """Each packet is the log's, in its order; the time of those that are alone and exact is the log's. Returns how many."""
    sent = [e for e in log if e[5] == "sent"]
    seen = [(now, exact, p, len(group)) for now, exact, group in groups for p in group if p.kind != "from"]
    assert [(e[0], e[1]) for e in sent][:len(seen)] == kinds(p for _, _, p, _ in seen)
    begin = sent[0][3] - seen[0][0]
    exact = [(n, now) for n, (now, tc, _, size) in enumerate(seen) if tc == 0 and size == 1]
    assert all(sent[n][3] - now == begin for n, now in exact)
    return len(exact)


@pytest.mark.parametrize("chip", ["m33", "m55"])
def test_matches_at_instructions_have_the_time_of_the_log(probe, chip):
    p = probe(chip)
    p.board.scenario(17)
    p.port()
    p.at_code(0, "span_1k_start")
    p.at_code(1, "span_1k_end")
    p.start(HEARTBEAT)
    p.until(300)
    log, groups = p.log(), moments(packets(p.line()))
    assert {e[5] for e in log} <= {"sent", "off"}
    assert compare(log, groups) >= 290
    pairs = flat(groups)
    lengths = {b[0] - a[0] for a, b in zip(pairs, pairs[1:]) if a[2].kind == b[2].kind == "match" and (a[2].number, b[2].number) == (0, 1)}
    assert lengths == {1000}
    beats = [now for now, _, x in pairs if x.kind == "counters"]
    assert len(beats) > 1 and {b - a for a, b in zip(beats, beats[1:])} == {16384}
    assert p.board.state()["halts"] == 0


@pytest.mark.parametrize("width", [8, 32])
def test_rp2350_fifo_is_read_by_the_probe(probe, width):
    """Through the wide port eight entries are enough for hits some 300 cycles apart; through the narrow one they may not be."""
    p = probe("rp2350")
    p.board.scenario(18)
    p.port(width)
    p.at_code(0, "span_1m_start")
    p.at_code(1, "span_1m_end")
    p.board.command("trace on")
    p[RP_FIFO] = 0
    p.start()
    stream = b""
    while p.board.command("trace")["end"] < 12:
        words = p.dap.transfer(write(AP, CSW, CSW_WORDS & ~0x30), write(AP, TAR, RP_FIFO + 4), *[read(AP, DRW)] * 32).words
        stream += b"".join(w.to_bytes(4, "little")[:width // 8] for w in words if w)
    dropped = p.board.command("trace sink")["dropped"]
    assert (dropped > 0) == bool(p[RP_FIFO] & 2)
    if width == 32:
        assert not dropped and compare(p.log(), moments(packets(stream))) >= 8
    assert p.board.state()["halts"] == 0


def test_rp2350_fifo_flush_and_overflow(probe):
    p = probe("rp2350")
    p.board.scenario(16, 17)
    assert p[RP_FIFO] == 1  # from reset
    p.port()
    p[RP_FIFO] = 1
    p.at_code(0, "span_10_start")
    p.at_code(1, "span_10_end")
    p.start()
    p.board.run_for(100000)
    assert p[RP_FIFO] == 1 and p.board.command("trace sink")["fifo"] == 0  # held empty
    p[RP_FIFO + 0x3000] = 1  # cleared by the alias
    p.board.run_for(100000)
    assert p[RP_FIFO] == 2 and p.board.command("trace sink")["dropped"] > 0
    assert all(p[RP_FIFO + 4] <= 0xFF for _ in range(8))
    p[RP_FIFO + 0x2000] = 3
    assert p[RP_FIFO] == 1

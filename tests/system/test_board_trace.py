"""The trace of the virtual board: what it sends against what it did, read by the tests' own reader."""

import struct

import pytest

from board import Board, OpenOcd
from cmsis_dap import AP, CSW, CSW_WORDS, DP, DRW, SELECT, TAR, WAKE_SWD, Dap, read, write
from itm_reader import moments, packets, unframe
from usb import ClientError, UsbBoard, usb_available

DEMCR, DWT_CTRL, COMP, MASK, FUNCTION = 0xE000EDFC, 0xE0001000, 0xE0001020, 0xE0001024, 0xE0001028
TER, TCR, LAR = 0xE0000E00, 0xE0000E80, 0xE0000FB0
H7_DBGMCU, H7_SWTF, H7_CSTF, H7_ETF, H7_SWO = 0x5C001004, 0x5C004000, 0x5C013000, 0x5C014000, 0x5C003000
RRD, CTL, MODE, CBUFLEVEL, STS, TMC_FFCR, KEY = 0x10, 0x20, 0x28, 0x30, 0x0C, 0x304, 0xC5ACCE55
TPIU, RP_TPIU, RP_FUNNEL, RP_FIFO = 0xE0040000, 0x40148000, 0x40147000, 0x50700000
CSPSR, ACPR, SPPR, FFCR = 4, 0x10, 0xF0, 0x304
TRCENA, CYCCNTENA, EXCTRCENA, CYCEVTENA, CYCTAP, PRESET = 1 << 24, 1, 1 << 16, 1 << 22, 1 << 9, 15 << 1
HEARTBEAT = CYCEVTENA | CYCTAP | PRESET | CYCCNTENA  # each 16,384 cycles
ON = 0x0001000B  # ITMENA, TSENA, TXENA, ID 1
CODE = 0x822     # a match packet at an instruction
V8, V7 = ["m33", "m55", "rp2350"], ["m4", "m7", "h7"]


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
        """Until the log has that number of events, and none can be on its way to the pin any more."""
        self.board.wait_for(lambda s: sum(e[5] != "off" for e in self.log()) >= events, f"{events} events")
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
    seen = [(now, exact, p, sum(x.kind != "from" for x in group)) for now, exact, group in groups for p in group if p.kind != "from"]
    assert seen and [(e[0], e[1]) for e in sent][:len(seen)] == kinds(p for _, _, p, _ in seen)
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
    pairs = flat(g for g in groups if len(g[2]) == 1 and g[1] == 0)
    lengths = {b[0] - a[0] for a, b in zip(pairs, pairs[1:]) if a[2].kind == b[2].kind == "match" and (a[2].number, b[2].number) == (0, 1)}
    assert lengths == {1000}
    beats = [now for now, _, x in pairs if x.kind == "counters"]
    assert len(beats) > 1 and not any((b - a) % 16384 for a, b in zip(beats, beats[1:]))
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


# --- the probe's trace input

ACTIVE, PAUSED, FRAMING, OVERRUN = 1, 2, 0x40, 0x80


class Swo:
    """The commands of DAP_SWO, over TCP."""

    def __init__(self, dap):
        self.dap = dap

    def begin(self, baud, mode=1, transport=1):
        self.dap.do(bytes([0x17, transport]))
        self.dap.do(bytes([0x18, mode]))
        actual = struct.unpack("<I", self.dap.ask(struct.pack("<BI", 0x19, baud))[1:])[0]
        self.dap.do(b"\x1a\x01")
        return actual

    def status(self):
        return struct.unpack("<BI", self.dap.ask(b"\x1b")[1:])

    def data(self, most=0xFFFF):
        """(status, bytes)"""
        reply = self.dap.ask(struct.pack("<BH", 0x1C, most))
        _, status, count = struct.unpack_from("<BBH", reply)
        assert len(reply) == 4 + count
        return status, reply[4:]


@pytest.fixture
def swo(probe):
    """swo(chip, prescaler, ...) gives a board that traces, and its probe's receiver at the baud that fits."""
    def start(chip, prescaler=5, baud=None, mode=1, span=18, **options):
        p = probe(chip, dap_swo="uart,manchester,stream", **options)
        p.board.scenario(span)
        p.port(baud=prescaler)
        p[TPIU + SPPR] = 2 if mode == 1 else 1
        name = {17: "span_1k", 18: "span_1m", 16: "span_10"}[span]
        p.at_code(0, f"{name}_start")
        p.at_code(1, f"{name}_end")
        s = Swo(p.dap)
        p.actual = s.begin(baud or 12_000_000 // (prescaler + 1) // mode, mode)
        p.start(HEARTBEAT)
        return p, s

    return start


def gather(s, count):
    stream, flags = b"", 0
    while len(stream) < count:
        status, got = s.data()
        stream, flags = stream + got, flags | status
    return stream, flags


@pytest.mark.parametrize("chip, mode", [("m33", 1), ("m55", 2)])
def test_swo_carries_what_the_core_sends(swo, chip, mode):
    p, s = swo(chip, mode=mode)
    stream, flags = gather(s, 4000)
    assert flags == ACTIVE and p.actual == 2_000_000 // mode
    assert compare(p.log(), moments(packets(stream))) > 500
    assert stream == p.line()[:len(stream)]


def test_swo_within_three_percent_and_beyond(swo):
    _, s = swo("m33", baud=2_050_000)
    assert gather(s, 500)[1] == ACTIVE
    p, s = swo("m33", baud=2_100_000)
    stream, flags = gather(s, 500)
    assert flags == ACTIVE | FRAMING and stream != p.line()[:len(stream)]
    p, s = swo("m33", trace_quirk="baud-off=4")
    assert gather(s, 500)[1] == ACTIVE | FRAMING
    assert not swo("m33", trace_quirk="no-trace-clock")[0].line()


def test_swo_buffer_that_is_full_loses_bytes(swo):
    p, s = swo("m33", span=17, swo_buffer=256)
    p.board.wait_for(lambda _: s.status()[1] == 256)
    p.board.run_for(50_000)
    p.dap.do(b"\x1a\x00")
    status, got = s.data(200)
    assert status == OVERRUN and len(got) == 200
    assert s.status() == (0, 56)  # it was read


def test_swo_has_no_pin_by_jtag_and_is_not_there_unless_asked_for(probe):
    p = probe("m33")
    assert p.dap.ask(b"\x1b") == b"\xff" and not p.dap.info(0xFD)
    assert not p.dap.info(0xF0)[0] & 0x4C
    p = probe("m33", dap_swo="uart")
    assert p.dap.info(0xF0)[0] & 0x4C == 4 and struct.unpack("<I", p.dap.info(0xFD)) == (4096,)
    assert p.dap.ask(b"\x17\x02")[1] == 0xFF and p.dap.ask(b"\x18\x02")[1] == 0xFF  # no endpoint, no Manchester
    assert p.dap.ask(struct.pack("<BI", 0x19, 2_000_000))[1:] == bytes(4)  # before a mode
    p = probe("m33", dap_swo="uart", dap_quirks="swo-steps")
    assert Swo(p.dap).begin(2_000_000) == 1_500_000
    p.dap.do(b"\x1a\x00")
    assert Swo(p.dap).begin(1_000_000) == 1_000_000


def test_endpoint_of_its_own_for_trace():
    """The registers are written by JTAG, the probe is asked over USB; transport 2 needs `stream`."""
    if usb_available():
        pytest.skip(usb_available())
    with UsbBoard.start("m33", "ms", dap_swo="uart,stream") as board, OpenOcd(board) as ocd, board.client("usb-client") as client:
        client.open()
        for request in (b"\x02\x01", b"\x17\x02", b"\x18\x01", struct.pack("<BI", 0x19, 2_000_000), b"\x1a\x01"):
            assert client.exchange(request)[1:2] != b"\xff"
        for address, value in ((DEMCR, TRCENA), (TPIU + SPPR, 2), (TPIU + ACPR, 5), (TPIU + FFCR, 0x100), (DWT_CTRL, HEARTBEAT | EXCTRCENA)):
            ocd.set_word(address, value)
        board.command("trace on")
        ocd.set_word(TCR, ON)
        stream = b""
        while len(stream) < 2000:
            part = bytes.fromhex(client.ask("trace 5000"))
            assert 0 < len(part) <= 512
            stream += part
        log = [tuple(e[1:]) for e in board.command("trace")["events"]]
        assert compare(log, moments(packets(stream))) > 200
        status, held = struct.unpack("<BI", client.exchange(b"\x1b")[1:])
        assert status == ACTIVE
        client.exchange(b"\x1a\x00")
        board.usb()
    with UsbBoard.start("m33", dap_swo="uart") as board, board.client("usb-client") as client:
        client.open()
        assert client.exchange(b"\x17\x02") == b"\x17\xff"
        with pytest.raises(ClientError, match="no-endpoint"):
            client.ask("trace 10")


def test_endpoint_for_trace_waits_and_is_gone_with_the_plug():
    if usb_available():
        pytest.skip(usb_available())
    with UsbBoard.start("m33", dap_swo="uart,stream") as board, board.client("usb-client") as client:
        client.open()
        with pytest.raises(ClientError, match="LIBUSB_ERROR_TIMEOUT"):
            client.ask("trace 30")
        client.send("trace 20000")
        board.usb()
        board.command("usb unplug")
        with pytest.raises(ClientError, match="LIBUSB_ERROR_NO_DEVICE|LIBUSB_ERROR_IO"):
            client.receive()


@pytest.mark.parametrize("backend", ["usb_bulk", "hid"])
def test_openocd_reads_the_swo_pin(tmp_path, backend):
    if usb_available():
        pytest.skip(usb_available())
    out = tmp_path / "swo"
    with UsbBoard.start("m4", "ms", dap_swo="uart") as board, board.openocd(backend) as ocd:
        ocd("tpiu create virtual.tpiu -dap virtual.dap -ap-num 0 -baseaddr 0xE0040000")
        ocd(f"virtual.tpiu configure -protocol uart -traceclk 12000000 -pin-freq 1000000 -formatter 0 -output {out}")
        ocd("virtual.tpiu enable")
        assert ocd.word(TPIU + ACPR) == 11 and ocd.word(TPIU + SPPR) == 2
        ocd.set_word(DEMCR, TRCENA)
        ocd.set_word(DWT_CTRL, HEARTBEAT | EXCTRCENA)
        board.command("trace on")
        ocd.set_word(TCR, ON)
        board.wait_for(lambda _: out.stat().st_size > 1500)
        stream = out.read_bytes()
        log = [tuple(e[1:]) for e in board.command("trace")["events"]]
        assert compare(log, moments(packets(stream))) > 150


# --- exceptions, accesses, the program's own packets

def test_exceptions_as_the_core_takes_them(probe):
    """Enter, exit and return of each tick, and of an interrupt, at their cycles."""
    p = probe("m4", "ms")
    p.port()
    p.start(HEARTBEAT | EXCTRCENA)
    for _ in range(20):
        p.board.run_for(5_000)
        p.board.command("irq 3")
    p.until(60)
    log, groups = p.log(), moments(packets(p.line()))
    assert compare(log, groups) >= 60
    assert {e[1] for e in log if e[0] == "enter"} >= {15, 19}
    assert 0 in {e[1] for e in log if e[0] == "return"} <= {0, 15}  # the interrupt may have come in a tick


@pytest.mark.parametrize("chip, function, kind", [("m4", 0xD, "write"), ("m7", 0xF, "write"), ("m33", 0x82D, "write"),
                                                  ("m55", 0x83D, "write"), ("m4", 0xC, "read"), ("m33", 0x82E, "read")])
def test_accesses(probe, chip, function, kind):
    p = probe(chip, "ms")
    p.port()
    p[COMP + 16] = p.board.address("tick_count")
    p[MASK + 16] = 2
    p[FUNCTION + 16] = function
    p.start(HEARTBEAT)
    p.until(50)
    log, groups = p.log(), moments(packets(p.line()))
    assert compare(log, groups) >= 50
    seen = [x for _, _, group in groups for x in group]
    values = [x.value for x in seen if x.kind == kind]
    assert len(values) > 20 and values == list(range(values[0], values[0] + len(values)))
    assert values == [e[4] for e in log if e[0] == kind and e[5] == "sent"][:len(values)]
    assert bool([x for x in seen if x.kind == "from"]) == (function & 0xF == 0xF or function == 0x83D)


def test_data_addresses(probe):
    """EMITRANGE of Armv7-M; in Armv8-M a limit sends the address."""
    for chip, functions, sent in (("m4", {0: 0x2F}, 0), ("m33", {0: 0x805, 1: 0x837}, 1)):
        p = probe(chip, "ms")
        p.port()
        at = p.board.address("tick_count")
        p[COMP] = at
        p[COMP + 16] = at + 3
        p[MASK] = 2
        for n, value in functions.items():
            p[FUNCTION + 16 * n] = value
        p.start(HEARTBEAT)
        p.until(20)
        places = {(x.number, x.value) for _, _, group in moments(packets(p.line())) for x in group if x.kind == "address"}
        assert places == {(sent, at & 0xFFFF)}


def test_nothing_without_packets_trace_or_permission(probe):
    for chip, state, quirk, tcr in (("m33", None, "notrcpkt", ON), ("m33", "no-secure-debug", None, ON), ("m4", None, "notrcpkt", ON),
                                    ("m4", None, None, ON & ~8), ("m4", None, None, ON & ~1)):
        p = probe(chip, "ms", **({"trace_quirk": quirk} if quirk else {}))
        p.port()
        p.start(HEARTBEAT | EXCTRCENA, tcr)
        if state:
            p.board.command(f"core-state {state} on")
            p.board.command("trace on")
            before = len(p.line())
        p.board.run_for(200_000)
        assert len(p.line()) == (before if state else 0)
        assert {e[5] for e in p.log()} == {"off"}
        if not state:
            assert bool(p[DWT_CTRL] & 1 << 27) == (quirk == "notrcpkt")


# --- what overflows and what is late

@pytest.mark.parametrize("chip, size", [("m33", 16), ("m33", 64), ("m55", 8 + 8)])
def test_overflow_is_said_and_nothing_else_is_wrong(probe, chip, size):
    """A slow pin and bursts: packets are lost, the others are the log's; TC = 00 is exact but for overflows before it."""
    p = probe(chip, itm_fifo=size)
    p.board.scenario(16, 17)
    p.port(baud=119)  # 100 kBaud
    for n, place in enumerate(("span_10_start", "span_10_end", "span_1k_start", "span_1k_end")):
        p.at_code(n, place)
    p.start()
    p.until(600, 100_000)
    log, stream = p.log(), packets(p.line())
    sent = [e for e in log if e[5] == "sent"]
    assert any(e[5] == "lost" for e in log) and any(x.kind == "overflow" for x in stream)
    assert [(e[0], e[1]) for e in sent][:len(kinds(stream))] == kinds(stream)
    groups = moments(stream)
    assert {x.number for x in stream if x.kind == "time"} & {1, 2, 3}
    # Sums go on through late stamps: each exact one's time is right relative to the first exact one
    flat_sent, at = iter(sent), None
    for now, tc, group in groups:
        last = [next(flat_sent) for _ in group][-1]
        if tc == 0 and len(group) == 1:
            at = at if at is not None else last[3] - now
            assert last[3] - now == at
    assert at is not None


def test_quirks_of_time(probe):
    """plus-zero: values are what passed. late=N: TC 10, and later than the event. drop=N: bytes are missing."""
    def run(**options):
        p = probe("m33", **options)
        p.board.scenario(17)
        p.port()
        p.at_code(0, "span_1k_start")
        p.at_code(1, "span_1k_end")
        p.start(HEARTBEAT)
        p.until(200)
        return p

    p = run(trace_quirk="plus-zero")
    assert compare(p.log(), moments(packets(p.line()), 0)) > 190
    p = run(trace_quirk="late=7")
    groups = moments(packets(p.line()))
    assert len(groups) / 12 < sum(tc == 2 for _, tc, _ in groups) < len(groups) / 4 and compare(p.log(), groups) > 150
    p, q = run(trace_quirk="drop=50"), run()
    assert len(p.line()) < 49 * sum(3 + len(e) for e in p.log())
    assert q[FUNCTION] >> 28 & 1 and not probe("m33", trace_quirk="no-match-id")[FUNCTION] >> 28 & 1


@pytest.mark.parametrize("chip", ["m4", "m33"])
def test_clock_that_stops_in_sleep(probe, chip):
    """Times then leave sleep out, of packets and of CYCCNT alike; without the quirk they do not."""
    for quirk in (None, "sleep-stops"):
        p = probe(chip, "ms", **({"trace_quirk": quirk} if quirk else {}))
        p.board.scenario(6, 26)  # sleeper, dwt_sleep
        p.port()
        p.start(HEARTBEAT | EXCTRCENA)
        p.until(120)
        enters = [now for now, tc, group in moments(packets(p.line())) for x in group if (x.kind, x.number) == ("enter", 15)]
        log = [e for e in p.log() if (e[0], e[1], e[5]) == ("enter", 15, "sent")]
        seen, true = enters[-1] - enters[0], log[len(enters) - 1][3] - log[0][3]
        assert seen == true if not quirk else seen < true * 3 / 4
        before = p[DWT_CTRL + 4], p.board.state()["counted"]
        p.board.run_for(300_000)
        after = p[DWT_CTRL + 4], p.board.state()["counted"]
        assert ((after[0] - before[0]) < (after[1] - before[1]) * 3 / 4) == bool(quirk)


def test_counter_wraps_at_21_bits(probe):
    for quirk, wraps in ((None, True), ("wide-counter", False)):
        p = probe("m33", **({"trace_quirk": quirk} if quirk else {}))
        p.board.scenario(19)  # 10^8 cycles
        p.port()
        p.at_code(0, "span_100m_start")
        p.at_code(1, "span_100m_end")
        p.board.set("clock", 1_000_000_000)
        p.start()
        p.until(6)
        stream = packets(p.line())
        assert any(x.kind == "overflow" for x in stream) == wraps
        if not wraps:
            assert compare(p.log(), moments(stream)) >= 6


def test_sync_packets(probe):
    p = probe("m4", "ms")
    p.port()
    p.board.set("clock", 1_000_000_000)
    p.start(HEARTBEAT | 1 << 10, ON | 4)  # each 2^24 cycles
    p.board.wait_for(lambda _: sum(e[0] == "sync" for e in p.log()) > 2)
    p[DWT_CTRL] = 0
    p.board.run_for(1000)
    log = [e for e in p.log() if e[0] == "sync"]
    stream = packets(p.line())
    assert sum(x.kind == "sync" for x in stream) == len(log) > 2
    assert {b[3] - a[3] for a, b in zip(log, log[1:])} == {1 << 24}


def test_formatter_frames(probe):
    """FFCR = 101: the packets are in frames, with their bus's ID."""
    p = probe("m33", "ms")
    p.port()
    p[TPIU + FFCR] = 0x101
    p.start(HEARTBEAT | EXCTRCENA, 0x0025000B)
    p.until(100)
    frames = unframe(p.line())
    assert {i for i, _ in frames} == {0x25}
    assert compare(p.log(), moments(packets(b for _, b in frames))) > 80


def test_quirk_of_a_program_that_sets_up_swo_itself(probe):
    p = probe("m33", trace_quirk="tcr-rewritten")
    p.port()
    p.start(HEARTBEAT)
    p.board.run_for(3 << 20)
    assert p[TCR] & ~(1 << 23) == 0x1000D and p[TER] == 1
    p = probe("m33", trace_quirk="acpr-rewritten")
    p.port(baud=5)
    p.start(HEARTBEAT)
    p.board.run_for(3 << 20)
    assert p[TPIU + ACPR] == 12 and p[TCR] & ~(1 << 23) == ON


# --- an STM32H7's ETF

def h7(probe, **options):
    p = probe("h7", "ms", **options)
    p[H7_DBGMCU] = 0x700000
    for block in (H7_SWTF, H7_CSTF, H7_ETF, H7_SWO):
        p[block + 0xFB0] = KEY
    p[H7_SWTF] = 0x300
    p[H7_CSTF] = 0x302
    return p


def words(p, address, count):
    reply = p.dap.transfer(write(AP, CSW, CSW_WORDS & ~0x30), write(AP, TAR, address), *[read(AP, DRW)] * count)
    p.dap.transfer(write(AP, CSW, CSW_WORDS))
    return reply.words


def test_etf_as_a_fifo_that_software_reads(probe):
    p = h7(probe)
    p[H7_ETF + CTL] = 0
    p[H7_ETF + MODE] = 1
    p[H7_ETF + TMC_FFCR] = 3
    p[H7_ETF + CTL] = 1
    p.start(HEARTBEAT | EXCTRCENA)
    stream = b""
    while len(stream) < 3000:
        stream += b"".join(w.to_bytes(4, "little") for w in words(p, H7_ETF + RRD, 64) if w != 0xFFFFFFFF)
    stream += b"".join(w.to_bytes(4, "little") for w in words(p, H7_ETF + RRD, 64) if w != 0xFFFFFFFF)
    frames = unframe(stream[:len(stream) // 16 * 16])
    assert {i for i, _ in frames} == {1}
    assert compare(p.log(), moments(packets(b for _, b in frames))) > 300
    assert p.board.state()["halts"] == 0


def test_etf_that_is_full_stalls_and_the_itm_loses(probe):
    p = h7(probe)
    p[H7_ETF + MODE] = 1
    p[H7_ETF + TMC_FFCR] = 3
    p[H7_ETF + CTL] = 1
    p.start(HEARTBEAT | EXCTRCENA)
    p.board.wait_for(lambda _: any(e[5] == "lost" for e in p.log()))
    assert p[H7_ETF + CBUFLEVEL] > 1020 and p[H7_ETF + STS] & 1
    stream = b"".join(w.to_bytes(4, "little") for _ in range(20) for w in words(p, H7_ETF + RRD, 60) if w != 0xFFFFFFFF)
    found = packets(b for _, b in unframe(stream[:len(stream) // 16 * 16]))
    assert any(x.kind == "overflow" for x in found) and found[0].kind in ("counters", "enter", "exit", "return")


def test_etf_as_a_circular_buffer(probe):
    """Nothing is read while it captures; it keeps the latest 4 KB."""
    p = h7(probe)
    p[H7_ETF + TMC_FFCR] = 0x1001  # EnFt, StopOnFl
    p[H7_ETF + CTL] = 1
    p.start(HEARTBEAT | EXCTRCENA)
    p.board.wait_for(lambda _: p[H7_ETF + STS] & 1)
    assert words(p, H7_ETF + RRD, 3) == [0xFFFFFFFF] * 3
    p[H7_ETF + TMC_FFCR] = 0x1041
    assert p[H7_ETF + STS] & 4
    stream = b"".join(w.to_bytes(4, "little") for _ in range(17) for w in words(p, H7_ETF + RRD, 61))
    assert stream[4096:] == b"\xff" * len(stream[4096:])
    assert any(i == 1 for i, _ in unframe(stream[:4096]))


def test_h7_needs_clocks_keys_and_its_funnels(probe):
    p = h7(probe)
    p[H7_SWO + 0xFB0] = 0
    p[H7_SWO + 0x10] = 7  # locked for software
    assert p[H7_SWO + 0x10] == 0 and p[H7_SWO + 0xFB4] == 3
    p.dap.transfer(write(DP, SELECT, 0x02000000), write(AP, CSW, CSW_WORDS))
    p[0xE00E3010] = 5  # not for a debugger's access port
    assert p[0xE00E3010] == 5 and p[0xE00E0000] == 0x3003 and p[0xE00E1000] & 0xFFF == 0x450
    p[0xE00E30F0] = 2
    p.dap.transfer(write(DP, SELECT, 0), write(AP, CSW, CSW_WORDS))
    p[H7_CSTF] = 0x300
    p.start(HEARTBEAT | EXCTRCENA)
    p.board.run_for(100_000)
    assert not p.line()
    p[H7_SWTF] = 0x301
    p.board.run_for(100_000)
    assert p.line()
    p[H7_DBGMCU] = 0x600000  # no clock for the pin: it stalls
    before = len(p.line())
    p.board.run_for(1000_000)
    assert len(p.line()) == before and any(e[5] == "lost" for e in p.log())
    p[H7_DBGMCU] = 0
    assert p[H7_ETF + 4] == 0 and p[H7_SWTF] == 0


# --- the orders of exceptions

NEST, CHAIN, LATE, MANY, REGION, FAULT, PRINT, TIGHT, AGAIN, TICKS = (1 << n for n in range(10))
TICK = 15


def irq(probe, chip, what, control=HEARTBEAT | EXCTRCENA, events=400, **options):
    p = probe(chip, "irq", **options)
    p.board.write_word("what", what)
    p.board.run_for(5000)  # the round is over
    p.port()
    p.start(control)
    p.until(events)
    return p


def orders(log):
    """Each way from the thread and back to it: enter, exit and return as E16, X16, R0."""
    found, now, begun = set(), None, False
    for kind, number, *_ in log:
        begun = begun or (kind, number) == ("return", 0)
        if kind == "enter" and now is None and begun:
            now = []
        if now is not None and kind in ("enter", "exit", "return"):
            now.append({"enter": "E", "exit": "X", "return": "R"}[kind] + str(number))
            if now[-1] == "R0":
                found.add(" ".join(now))
                now = None
    return found


@pytest.mark.parametrize("chip", ["m4", "m7", "m33", "m55"])
def test_nested_and_tail_chained(probe, chip):
    p = irq(probe, chip, NEST | CHAIN)
    log = p.log()
    assert orders(log) == {"E20 E21 E22 X22 R21 X21 R20 X20 E23 X23 R0"}
    assert compare(log, moments(packets(p.line()))) > 350
    assert p.board.state()["halts"] == 0


def test_faults_inside(probe):
    p = irq(probe, "m33", FAULT)
    assert orders(p.log()) == {"E20 E3 X3 R20 X20 R0"}
    assert compare(p.log(), moments(packets(p.line()))) > 350


@pytest.mark.parametrize("chip", ["m4", "m33"])
def test_late_arrival(probe, chip):
    """SysTick pends within the entry of 20: it is the one that is entered, and 20 follows by a tail chain."""
    p = irq(probe, chip, LATE, core_state="late-arrival")
    assert {"E15 X15 E20 X20 R0", "E20 E15 X15 R20 X20 R0"} <= orders(p.log())
    assert compare(p.log(), moments(packets(p.line()))) > 350
    p = irq(probe, chip, LATE)
    assert "E20 E15 X15 R20 X20 R0" in orders(p.log())


def test_bursts_lose_packets_where_the_pin_is_slow(probe):
    p = irq(probe, "m33", MANY)
    assert orders(p.log()) == {" ".join(f"E{n} X{n}" for n in range(24, 32)) + " R0"}
    log = p.log()
    assert any(e[5] == "lost" for e in log)
    assert any(x.kind == "overflow" for x in packets(p.line()))


def test_program_that_prints(probe):
    p = probe("m33", "irq")
    p.board.write_word("what", PRINT | REGION)
    p.port()
    p[TER] = 1
    p.at_code(0, "work_region")
    p.start(HEARTBEAT)
    p.until(300)
    found = packets(p.line())
    text = bytes(x.value for x in found if x.kind == "port")
    assert len(text) > 50 and set(text) <= set(b"abcdefghijklmnop")
    log = [e for e in p.log() if e[0] == "swit" and e[5] == "sent"]
    assert [e[4] for e in log][:len(text)] == list(text)


def test_rtos_switches_tasks(probe):
    for chip in ("m4", "m33", "m55"):
        p = probe(chip, "rtos")
        p.port()
        p[COMP] = p.board.address("pxCurrentTCB")
        p[MASK] = 2
        p[FUNCTION] = 0xD if chip == "m4" else 0x82D
        p.start(HEARTBEAT)
        p.until(60)
        groups = moments(packets(p.line()))
        assert compare(p.log(), groups) > 50
        size = 20
        tasks = p.board.address("tasks")
        written = {x.value for _, _, g in groups for x in g if x.kind == "write"}
        assert written <= {tasks + n * size for n in range(3)} | {tasks + n * 24 for n in range(3)} and len(written) == 3


def test_matches_are_events_of_the_monitor(probe):
    """DWT_CMPMATCH0 of Armv8.1-M counts executions, with a packet or without."""
    p = probe("m55", "irq")
    p.board.write_word("what", REGION)
    p[COMP] = p.board.address("work_region")
    p[FUNCTION] = 0x802
    p[0xE0003400] = 0x118
    p.board.command("trace on")
    p[0xE0003000] = 0
    p[0xE0003C00] = 1
    p[0xE0003E04] = 1
    p.board.run_for(100_000)
    p[0xE0003C20] = 1
    count = p[0xE0003000]
    assert 0 < count <= sum(e[0] == "match" for e in p.log())
    assert p[FUNCTION] & 1 << 24


# --- the reader itself

@pytest.mark.parametrize("data, meaning", [
    ("000000000080", "sync"), ("70", "overflow"), ("10", "time 0 0x1/0"), ("60", "time 0 0x6/0"), ("c000", "time 0 0x0/0"),
    ("c0f7c904", f"time 0 {74999:#x}/0"), ("c0ffff7f", f"time 0 {2097151:#x}/0"), ("c0ffffff7f", f"time 0 {268435455:#x}/0"),
    ("d005", "time 1 0x5/0"), ("e005", "time 2 0x5/0"), ("f08501", f"time 3 {133:#x}/0"), ("0e0f10", "enter 15"), ("0e8610", "enter 134"),
    ("0e2c11", "enter 300"), ("0e0030", "return 0"), ("1768ab0008", "pc 0 0x800ab68/4"), ("0520", "counters 0 0x20/1"),
    ("1d81", "pmu 0 0x81/1"), ("5700010008", "from 1 0x8000100/4"), ("4e2400", "address 0 0x24/2"), ("8f05000000", "write 0 0x5/4"),
    ("8d2a", "write 0 0x2a/1"), ("963412", "read 1 0x1234/2"), ("7501", "match 3"), ("0141", "port 0 0x41/1"), ("fbefbeadde", "port 31 0xdeadbeef/4"),
])
def test_reader_reads_each_packet(data, meaning):
    (packet,) = packets(bytes.fromhex(data))
    assert repr(packet).startswith(meaning)


def test_reader_reads_frames():
    frames = unframe(bytes.fromhex("034500c0862705 0e0e10c05d0e0f2016 c00d0e000330540 1c0b301090000002c".replace(" ", "")))
    of = lambda i: bytes(b for n, b in frames if n == i).hex()
    assert of(1) == "4501c087275501c0b309" and of(2) == "0e0f10c05d0e0f20c00d0e0030"
    frames = unframe(bytes.fromhex("034500c086275401c0b30109 0000002e"))
    assert bytes(b for _, b in frames).hex() == "4501c087275501c0b309" and {i for i, _ in frames} == {1}

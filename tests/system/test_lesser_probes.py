"""Faulty probes: their firmware announces more than it can do, names itself wrongly, has endpoints smaller than its packets,
refuses clocks, or loses its state. The result is a right number or a clear error."""
import os
import re

import pytest

from cmsis_dap import JTAG, Dap
from harness import NOWHERE, ROOT, TOOL, WORK_BY_DATA, Place, finish_tool, passages, returned, start_tool
from usb import UsbBoard, usb_available

pytestmark = pytest.mark.any_fifth

needs_usb = pytest.mark.skipif(usb_available() is not None, reason=str(usb_available()))
SINGLE = "one packet at a time"
HITS = 20
MANY = 100  # enough that two packets could be in flight


def measured(place, *words, hits=HITS):
    """A run of `delta` whose numbers are the board's."""
    place.board.watch(NOWHERE)
    result = place.run("delta", "-j", "work_by_data", "-r", hits, *words)
    assert result.code == 0, result.err
    truth = passages(place.board.log(), place.symbol("work_by_data"), returned)
    assert result.cycles == [passage.cycles for passage in truth[:hits]]
    return result


def loses_others(place, *words):
    """Whether a run says so. On a busy machine a reply may be there before the next packet is sent: then nothing is lost."""
    return any(SINGLE + ": it loses others" in measured(place, *words).header["link"] for _ in range(10))


def found(place, *words):
    """What `probes` says of the probe, spoken to."""
    return finish_tool(start_tool(place.board.in_namespace([TOOL, *words, "probes"])))


def in_flight(quirks, packet=64, **options):
    """A probe of three packets, and so slow that three are in flight."""
    return Place("m4/v2", "free", WORK_BY_DATA, dap_packet=packet, dap_count=3, usb_latency=3000, dap_quirks=quirks, **options)


@needs_usb
@pytest.mark.nobody_answers
@pytest.mark.parametrize("quirk", ["merge", "late-length", "lost-reply"])
def test_a_probe_that_loses_packets_in_flight_gets_one_at_a_time(quirk):
    with in_flight(quirk) as place:
        assert loses_others(place)


@needs_usb
@pytest.mark.nobody_answers
@pytest.mark.any_row
@pytest.mark.parametrize("quirk", ["merge", "late-length", "lost-reply"])
def test_nothing_but_reads_is_in_flight_before_a_trial(quirk):
    """What would be lost of hits cannot be repeated."""
    with in_flight(quirk, packet=512) as place:
        measured(place, hits=MANY)


@needs_usb
@pytest.mark.nobody_answers
def test_firmware_that_is_known_to_lose_packets_gets_one_at_a_time():
    """A Debug Probe with its original firmware, and an unknown probe."""
    with in_flight("merge", usb_id="2e8a:000c:0103") as place:
        assert SINGLE + ": its firmware loses others before 2.3.1" in measured(place).header["link"]
        assert "packets of 64 bytes, one at a time (it announces 3)" in found(place).out
        assert loses_others(place, "--packets", 2)
    with in_flight("merge", usb_id="0451:bef3:0200") as place:
        assert SINGLE not in measured(place).header["link"]


@needs_usb
@pytest.mark.nobody_answers
def test_packets_at_a_time_can_be_said():
    with in_flight("merge") as place:
        assert SINGLE not in measured(place, "--packets", 1).header["link"]
    with in_flight("merge", usb_id="2e8a:000c:0231") as place:
        assert loses_others(place)


@needs_usb
@pytest.mark.parametrize("packet, endpoint", [(512, 64), (1024, 512)])
def test_packets_longer_than_the_endpoints_are_not_sent(packet, endpoint):
    """Nor those that fill one, after which the probe would wait for more."""
    with Place("m4/v2", "free", WORK_BY_DATA, dap_packet=packet, usb_endpoint=endpoint, dap_quirks="no-zlp") as place:
        measured(place)
        said = place.run("-vv", "delta", "work_by_data", "-r", 3)
        assert said.code == 0, said.err
        longest = max(len(re.findall(r"\b[0-9a-f]{2}\b", line)) for line in re.findall(r" dap [<>] (.*)", said.err))
        assert endpoint - 8 < longest < endpoint


@needs_usb
@pytest.mark.parametrize("length", [60, 61, 62, 100])
def test_a_text_longer_than_the_endpoints_packets(length):
    with Place("m4/v2", "free", WORK_BY_DATA, dap_packet=512, usb_endpoint=64, dap_serial="S" * length) as place:
        result = found(place)
        assert result.code == 0 and "S" * 60 in result.out and "packets of 63 bytes" in result.out, result.out
        assert found(place, "-p", "cmsis-dap").code == 0


NAMES = {
    "class 0": ("v2", {"usb_class": 0}),
    "underscore": ("v2", {"usb_interface": "CMSIS_DAP v2", "usb_name": "LU"}),
    "product only": ("v2", {"usb_interface": "", "usb_name": "Board CMSIS-DAP"}),
    "product only, class 0": ("v2", {"usb_interface": "Bulk", "usb_name": "Board CMSIS-DAP", "usb_class": 0}),
    "WCH-Link": ("v2", {"usb_interface": "", "usb_name": "WCH-Link", "usb_id": "1a86:8011:0100"}),
    "KitProg3 of another name": ("v2", {"usb_interface": "", "usb_name": "Kit", "usb_id": "04b4:f155:0100"}),
    "interface of reports only": ("v1", {"usb_name": "Board", "usb_id": "1234:5678:0100"}),
    "MCU-Link of another name": ("v1", {"usb_name": "Kit", "usb_id": "1fc9:0143:0100"}),
}


@needs_usb
@pytest.mark.parametrize("what", NAMES)
def test_probes_of_other_names_are_found(what):
    way, options = NAMES[what]
    with Place(f"m4/{way}", "free", WORK_BY_DATA, dap_packet=64, **options) as place:
        result = found(place, "-p", "cmsis-dap")
        assert result.code == 0 and "AHB-AP 0" in result.out, result.err


@needs_usb
@pytest.mark.parametrize("way", ["v1", "v2"])
def test_a_probe_without_any_name_is_taken_by_its_numbers(way):
    with Place(f"m4/{way}", "free", WORK_BY_DATA, usb_id="1234:5678:0100", usb_name="Thing", usb_interface="") as place:
        for words in ([], ["-p", "cmsis-dap"], ["-p", "cmsis-dap:1234:0000"]):
            result = found(place, *words)
            assert "5678" not in result.out and (result.code == 3 or "no probe found" in result.out), result.out
        result = found(place, "-p", "cmsis-dap:1234:5678")
        assert result.code == 0 and "AHB-AP 0" in result.out, result.err


@needs_usb
def test_a_bulk_interface_without_a_name_beside_reports_is_left_alone():
    """The interface has another purpose, as on an XDS110."""
    with UsbBoard.start("m4", dap_packet=64, usb_interface="Something else") as board:
        result = finish_tool(start_tool(board.in_namespace([TOOL, "probes"])))
        assert "v1 (HID)   Virtual" in result.out and "v2" not in result.out, result.out


def test_udev_lets_users_open_what_is_known_by_its_numbers():
    with open(os.path.join(ROOT, "probe", "links", "dap", "probe_spec.c"), encoding="ascii") as file:
        known = set(re.findall(r"\{0x(\w{4}), 0x(\w{4})\}", file.read()))
    with open(os.path.join(ROOT, "contrib/udev", "60-pmu-probe.rules"), encoding="ascii") as file:
        rules = file.read()
    allowed = set(re.findall(r'ATTR\{idVendor\}=="(\w{4})", ATTR\{idProduct\}=="(\w{4})"', rules))
    reports = set(re.findall(r'ATTRS\{idVendor\}=="(\w{4})", ATTRS\{idProduct\}=="(\w{4})"', rules))
    assert len(known) > 10 and allowed == reports
    for name in ("CMSIS-DAP", "CMSIS_DAP"):  # a v1 probe that only its interface's string says to be one
        assert f'SUBSYSTEM=="hidraw", ATTRS{{interface}}=="*{name}*"' in rules
    assert {(vendor.lower(), product.lower()) for vendor, product in known} <= allowed


@pytest.mark.parametrize("way", ["m4/swd", "m4/jtag"])
def test_a_clock_that_is_refused_is_not_the_end(way):
    """As an Orbtrace refuses those that it does not have."""
    with Place(way, "free", WORK_BY_DATA, dap_quirks="clock-range") as place:
        assert "5 MHz" in measured(place).header["link"]
        result = measured(place, "--speed", "250k")
        assert "0.25 MHz" in result.header["link"]
        result = place.run("info", "--speed", "1k")
        assert result.code == 3 and "could not set the clock" in result.err


def test_a_slower_clock_that_is_refused_in_trouble():
    """On noise the tool lowers the clock, down to the lowest one."""
    with Place("m4/swd", "free", WORK_BY_DATA, dap_quirks="clock-range") as place:
        process = place.start("delta", "-j", "work_by_data", "-r", 100, "--speed", "250k")
        place.wait_for_stops(10)
        for _ in range(5):
            place.board.command("fault none 3")
        result = finish_tool(process)
        assert result.code == 0, result.err


@pytest.mark.parametrize("way", ["m4/swd", "m4/jtag"])
def test_a_clock_that_is_forgotten_with_a_sequence_is_set_again(way):
    """As an EDBG does."""
    with Place(way, "free", WORK_BY_DATA, dap_quirks="clock-forgets") as place:
        measured(place)
        assert place.board.command("dap")["hz"] == 10000000


@pytest.mark.parametrize("way", ["m4/swd", "m4/jtag"])
def test_a_probe_that_was_left_connected(way):
    with Place(way, "free", WORK_BY_DATA, dap_quirks="keeps-port") as place:
        with Dap(place.board.dap_port) as dap:
            assert dap.connect(JTAG)
        measured(place)


def test_a_probe_that_lets_go_of_the_line():
    """After an acknowledge that never arrived, as free-dap does."""
    with Place("m4/swd", "free", WORK_BY_DATA, dap_quirks="floats") as place:
        measured(place)
        for skip in (100, 300, 500):
            place.board.command(f"fault none 1 {skip}")
            measured(place)
            assert place.board.command("fault none 0")["left"] == 0


def test_ntrst_is_raised():
    with Place("m4/jtag", "free", WORK_BY_DATA, dap_quirks="trst-low") as place:
        measured(place)


def test_no_clock_is_believed_that_damages_data():
    """Two bits of a word: the parity does not show it. An identity that is read again and again arrives."""
    with Place("m4/swd", "free", WORK_BY_DATA, dap_quirks="crosstalk") as place:
        assert "SWD 2.5 MHz" in measured(place).header["link"]
    with Place("m4/swd", "free", WORK_BY_DATA) as place:
        assert "SWD 10 MHz" in measured(place).header["link"]


def test_rp2040_and_a_probe_that_cannot_select_its_cores():
    with Place("rp2040/swd", "free", WORK_BY_DATA, dap_quirks="no-sequence") as place:
        result = place.run("info")
        assert result.code == 3
        assert "An RP2040 would not be seen" in result.err and "DAP_SWD_Sequence" in result.err, result.err


@needs_usb
@pytest.mark.parametrize("asked", [0xF0, 0xFF, 0xFE, 0x02])
def test_an_answer_that_was_left_behind(asked):
    """The reply belongs to another program's request; that program was killed."""
    with Place("m4/v2", "free", WORK_BY_DATA, dap_packet=64) as place:
        with place.board.client("usb-client") as client:
            client.open()
            client.put(bytes([0x00, asked]))
        measured(place)
        assert place.board.command("dap")["malformed"] == 0

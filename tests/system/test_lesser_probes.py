"""Probes as they are sold: firmware that announces more than it can, names itself wrongly, has smaller endpoints than packets,
refuses clocks, forgets or holds on to things. Right numbers, or clear words."""
import pytest

from harness import NOWHERE, WORK_BY_DATA, Place, passages, returned
from usb import usb_available

needs_usb = pytest.mark.skipif(usb_available() is not None, reason=str(usb_available()))
SINGLE = "one packet at a time"
HITS = 20


def measured(place, *words):
    """A run of `delta` whose numbers are the board's."""
    place.board.watch(NOWHERE)
    result = place.run("delta", "-j", "work_by_data", "-r", HITS, *words)
    assert result.code == 0, result.err
    truth = passages(place.board.log(), place.symbol("work_by_data"), returned)
    assert result.cycles == [passage.cycles for passage in truth[:HITS]]
    return result


def in_flight(quirks, **options):
    """A probe of three packets of 64 bytes, and so slow that three are in flight."""
    return Place("m4/v2", "free", WORK_BY_DATA, dap_packet=64, dap_count=3, usb_latency=3000, dap_quirks=quirks, **options)


@needs_usb
@pytest.mark.nobody_answers
@pytest.mark.parametrize("quirk", ["merge", "late-length", "lost-reply"])
def test_a_probe_that_loses_packets_in_flight_gets_one_at_a_time(quirk):
    with in_flight(quirk) as place:
        result = measured(place)
        assert SINGLE + ": it loses others" in result.header["link"], result.header["link"]


@needs_usb
@pytest.mark.nobody_answers
def test_firmware_that_is_known_to_lose_packets_gets_one_at_a_time():
    """A Debug Probe as it is sold; and one of which nobody knows."""
    with in_flight("merge", usb_id="2e8a:000c:0103") as place:
        assert SINGLE + ": its firmware loses others before 2.3.1" in measured(place).header["link"]
        assert SINGLE + ": it loses others" in measured(place, "--packets", 2).header["link"]
    with in_flight("merge", usb_id="0451:bef3:0200") as place:
        assert SINGLE not in measured(place).header["link"]


@needs_usb
@pytest.mark.nobody_answers
def test_packets_at_a_time_can_be_said():
    with in_flight("merge") as place:
        assert SINGLE not in measured(place, "--packets", 1).header["link"]
    with in_flight("merge", usb_id="2e8a:000c:0231") as place:
        assert SINGLE + ": it loses others" in measured(place).header["link"]

"""Access ports of a debug port: which ones the tool examines, which it must not touch, and how long they may take."""
import itertools

import pytest

from harness import WORK_BY_DATA, Place, finish_tool, unfolded
from test_debug_power import controls, exact

REAL_WIRE = 10000000  # Hz: what a probe waits is counted in its bits
VECTORS = {"m4": 0x08000000, "rp2350": 0x10000000, "a9": 0}  # where the ELF is compared


@pytest.mark.parametrize("way", ["a9/swd", "a9/jtag", "a7/swd", "r5/swd", "a53/swd", "r52/swd", "a9", "a53"])
@pytest.mark.parametrize("table", [True, False])
def test_nobody_looks_for_a_cortex_m_where_there_is_none(way, table):
    options = {} if table else {"no_rom_table": True}
    with Place(way, "free", **options) as place:
        result = place.run("info", "-j")
        assert place.board.state()["strays"] == 0
        if table:
            assert result.code == 0 and any(line["type"] == "core" for line in result.lines)
        elif place.wires:
            # The a53's AXI port leads to no Cortex-M
            assert result.code == 3 and ("--debug-base 0:0xE000E000" in result.err) == (place.chip not in ("a53", "r52"))


@pytest.mark.parametrize("way, table", [*itertools.product(["m4/swd", "m4/jtag", "m55/swd", "rp2040/swd"], [True, False]), ("rp2350/swd", True)])
def test_a_cortex_m_is_found(way, table):
    """By its table, or because nothing else can be there."""
    options = {} if table else {"no_rom_table": True}
    with Place(way, "free", WORK_BY_DATA, **options) as place:
        cores = [line for line in place.run("info", "-j").lines if line["type"] == "core"]
        assert len(cores) == (2 if place.chip in ("rp2040", "rp2350") else 1)
        exact(place)


def test_a_cortex_m_where_the_user_says():
    with Place("a9/swd", "free") as place:
        result = finish_tool(place.start("info", "--debug-base", "0:0xE000E000"))
        assert result.code == 3 and "no Cortex-M answers" in result.err
        assert place.board.state()["strays"] > 0  # this counts what it is to count
    with Place("m4/swd", "free") as place:
        assert place.run("info", "--debug-base", "0:0xE000E000").code == 0


@pytest.mark.parametrize("way, ports, cores", [("m4/swd", 1, 1), ("m4/jtag", 1, 1), ("rp2040/swd", 2, 2), ("a9/swd", 2, 2)])
def test_access_ports_that_come_again(way, ports, cores):
    with Place(way, "free", WORK_BY_DATA, port_quirks="aliased") as place:
        result = place.run("-vv", "info", "-j")
        assert sum(line["type"] == "core" for line in result.lines) == cores
        assert sum(": IDR" in line for line in result.err.splitlines()) == ports
        exact(place)


@pytest.mark.parametrize("quirk", ["all-answer", "all-answer-high"])
def test_ports_that_all_answer_until_one_is_chosen(quirk):
    """From the second command on they are awake, and differ in what they say."""
    with Place("rp2040/swd", "free", WORK_BY_DATA, port_quirks=quirk) as place:
        for _ in range(2):
            exact(place)
            assert place.run("delta", "core1_work", "-C", "1", "-r", "3", "-j").code == 0
            assert sum(line["type"] == "core" for line in place.run("info", "-j").lines) == 2


@pytest.mark.parametrize("way", ["m4/swd", "m4/jtag", "a9/swd", "rp2350/swd"])
def test_an_upper_address_that_somebody_left(way):
    with Place(way, "free", WORK_BY_DATA, port_quirks="large") as place:
        exact(place)
        assert place.board.state()["tar_high"] == 1


# --- how long they take --------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["m4/swd", "m4/jtag", "a9/swd", "rp2350/swd"])
@pytest.mark.parametrize("us", [20000, 50000])
def test_an_address_that_takes_long(way, us):
    """Flash that is being erased, a core at 32 kHz: the tool never aborts a transfer, because some access ports do not survive that."""
    with Place(way, "free", WORK_BY_DATA, dap_wire=REAL_WIRE) as place:
        place.board.command(f"slow {VECTORS[place.chip]:x} 8 {us}")
        exact(place)
        assert place.board.state()["aborts"] == 0


def test_a_status_register_that_takes_long():
    """Waits and proofs read it again and again."""
    with Place("m4/swd", "free", WORK_BY_DATA, dap_wire=REAL_WIRE) as place:
        place.board.command("slow e000edf0 4 20000")
        exact(place, 2, "--no-calibrate")
        assert place.board.state()["aborts"] == 0


@pytest.mark.parametrize("way", ["m4/swd", "m4/jtag", "rp2350/swd"])
def test_an_address_that_never_answers(way):
    with Place(way, "free", WORK_BY_DATA, dap_wire=REAL_WIRE) as place:
        place.board.command(f"slow {VECTORS[place.chip]:x} 4 0")
        result = place.run("delta", "work_by_data", "-r", 3)
        assert result.code == 3 and "hangs" in result.err, result.err
        assert place.board.state()["aborts"] > 0
        assert not any(controls(place))


@pytest.mark.parametrize("way", ["m4/swd", "a53/swd", "rp2040/swd", "m33/jtag"])
def test_a_chip_that_lets_no_debugger_in_is_named(way):
    with Place(way, "free", port_quirks="closed") as place:
        result = place.run("info")
        assert result.code == 3
        assert "the chip closes access port 0 to debuggers (CSW.DeviceEn is 0)" in unfolded(result.err), result.err
        assert "opening erases the chip" in unfolded(result.err)


@pytest.mark.parametrize("way", ["m4", "rp2040", "rp2350"])
def test_an_emulated_chip_shows_its_time_through_openocd(way):
    """Also where ports have addresses (ADIv6) and OpenOCD's target is a Cortex-M, whose port the tool does not ask for."""
    with Place(way) as place:
        assert "0x4c444f4d" in place.run("stat", "--for", "50ms", "-vv").err

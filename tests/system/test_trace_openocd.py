"""Trace through a real OpenOCD that drives the emulated CMSIS-DAP probe with SWO: its `tpiu` objects and Tcl trace messages."""
import os
import signal

import pytest

from harness import INTERRUPTED, PREEMPTED, ROOT, WORK_BY_DATA, Place, Server, finish_tool, run_tool
from test_irq import CHAIN, NEST, NO_TIMES, check, log, pieces, run, timeline, true_slices, true_stays
from test_no_halt import CLOCK, HITS, calls_of, is_part, trace_registers, traced
from usb import usb_available

pytestmark = pytest.mark.skipif(usb_available() is not None, reason=str(usb_available()))
CONFIG = os.path.join(ROOT, "openocd-cfg/boards/virtual-dap.cfg")
OWN = "source [find mem_helper.tcl]; tpiu create own.tpiu -dap virtual.dap -ap-num 0 -baseaddr 0xE0040000"
SPARE = 0x20007FE0  # no program of the board uses it


class OcdPlace(Place):
    """A probe with SWO on USB, an OpenOCD at it, and the tool at that."""

    def __init__(self, chip, mode, scenario=None, commands=(), swo="uart", **options):
        self.program = None
        super().__init__(f"{chip}/v2", mode, scenario, clock=CLOCK, dap_swo=swo, **options)
        first = "set BOARD_CHIP m4; set DAP_BACKEND usb_bulk"
        self.server = Server(self.board, *commands, config=CONFIG, config_first=first, prefix=self.board.in_namespace([]))
        self.servers.append(self.server)

    def probe_words(self):
        return ["-p", f"openocd:127.0.0.1:{self.server.port}"]


def interrupts(chip="m4", what=NEST | CHAIN, **options):
    place = OcdPlace(chip, "irq", **options)
    for n in range(4, 8):
        place.board.write_word(place.symbol("spin") + 4 * n, 300)
    place.board.write_word("what", what)
    place.board.command("trace on")
    return place


def enough(path):
    return sum(map(len, pieces(timeline(path)))) > 20


def of_object(place, name="own.tpiu"):
    return [place.server(f"{name} cget {option}").strip() for option in ("-protocol", "-traceclk", "-pin-freq", "-output")]


@pytest.mark.parametrize("chip", ["m4", "m33"])
def test_interrupts(chip, tmp_path):
    with interrupts(chip) as place:
        before = trace_registers(place)
        run(place, "irq", tmp_path / "t.json", "--format", "perfetto", enough=lambda: enough(tmp_path / "t.json"))
        assert check(tmp_path / "t.json", true_stays(log(place))) > 20
        assert trace_registers(place) == before


def test_tasks(tmp_path):
    with OcdPlace("m4", "rtos") as place:
        run(place, "tasks", tmp_path / "t.json", "--format", "perfetto", enough=lambda: enough(tmp_path / "t.json"))
        assert check(tmp_path / "t.json", true_slices(log(place))) > 10


@pytest.mark.parametrize("chip", ["m33", "m55"])
def test_hits(chip):
    with OcdPlace(chip, "free", WORK_BY_DATA | PREEMPTED) as place:
        result = traced(place, "work_by_data", "-r", HITS)
        assert len(result.cycles) == HITS and is_part(result.cycles, calls_of(place))
        assert place.board.state()["halts"] == 0


def test_an_object_of_the_user_s_is_used_and_is_as_before(tmp_path):
    """Its events may change registers of the chip: these are put back, too."""
    events = f"own.tpiu configure -event pre-enable {{mmw {SPARE:#x} 0x20 0}} -traceclk 7000000 -output external"
    with interrupts(commands=[OWN, events]) as place:
        place.board.write_word(SPARE, 0x101)
        before, found = trace_registers(place), of_object(place)
        with_events = place.start("irq", "--for", "500ms", "-q", "-o", tmp_path / "out")
        place.board.wait_for(lambda state: state["dwt_ctrl"] >> 16 & 1, "exception trace")
        assert place.board.read_word(SPARE) == 0x121
        with_events.communicate()
        assert place.server("tpiu names").split() == ["own.tpiu"]
        assert (of_object(place), trace_registers(place), place.board.read_word(SPARE)) == (found, before, 0x101)
        assert place.server(f"read_memory {SPARE:#x} 32 1").strip() == "0x101"


def test_after_a_kill_restore_ends_it(tmp_path):
    events = f"own.tpiu configure -event pre-enable {{mmw {SPARE:#x} 0x20 0}}"
    with interrupts(commands=[OWN, events]) as place:
        place.board.write_word(SPARE, 0x101)
        before, found = trace_registers(place), of_object(place)
        process = place.start("irq", "--for", "60s", "-q", "-o", tmp_path / "out")
        place.board.wait_for(lambda state: state["dwt_ctrl"] >> 16 & 1, "exception trace")
        process.kill()
        process.communicate()
        assert trace_registers(place) != before and place.board.read_word(SPARE) == 0x121
        assert place.run("restore", elf=False).code == 0
        assert (of_object(place), trace_registers(place), place.board.read_word(SPARE)) == (found, before, 0x101)


def test_after_ctrl_c_all_is_as_before(tmp_path):
    with interrupts(commands=[OWN]) as place:
        before, found = trace_registers(place), of_object(place)
        process = place.start("irq", "--for", "60s", "-q", "-o", tmp_path / "out")
        place.board.wait_for(lambda state: state["dwt_ctrl"] >> 16 & 1, "exception trace")
        assert finish_tool(process, signal.SIGINT).code in (INTERRUPTED, NO_TIMES)
        assert (of_object(place), trace_registers(place)) == (found, before)


def test_one_that_is_enabled_keeps_its_baud(tmp_path):
    enable = f"own.tpiu configure -protocol uart -traceclk {CLOCK} -pin-freq 4000000 -output -; init; own.tpiu enable"
    with interrupts(commands=[OWN, enable]) as place:
        before = trace_registers(place)
        run(place, "irq", tmp_path / "t.json", "--format", "perfetto", enough=lambda: enough(tmp_path / "t.json"))
        assert check(tmp_path / "t.json", true_stays(log(place))) > 20
        assert trace_registers(place) == before and before[-6] == CLOCK // 4_000_000 - 1
        with pytest.raises(RuntimeError):  # it is enabled
            place.server("own.tpiu configure -traceclk 1")


@pytest.mark.parametrize("how, words", [("-protocol manchester -pin-freq 1000000 -output -", "-protocol manchester"),
                                        ("-protocol uart -pin-freq 1000000 -output external", "-output external"),
                                        ("-protocol uart -formatter 1 -pin-freq 1000000 -output -", "-formatter")])
def test_one_that_cannot_serve_is_named(how, words):
    with interrupts(swo="uart,manchester", commands=[OWN, f"own.tpiu configure {how} -traceclk {CLOCK}; init; own.tpiu enable"]) as place:
        before = trace_registers(place)
        result = place.run("irq", "--for", "300ms")
        assert result.code == 3 and words in result.err and "own.tpiu is enabled" in result.err, result.err
        assert trace_registers(place) == before


def test_an_adapter_without_swo():
    with Place("m4", "irq") as place:
        result = place.run("irq", "--for", "300ms", "--freq", "12M")
        assert result.code == 3 and "OpenOCD takes in no SWO" in result.err and "trac" in result.err, result.err
        assert place.board.state()["halts"] == 0


def test_an_openocd_of_its_own(tmp_path):
    with interrupts() as place:
        before = trace_registers(place)
        place.server.kill()
        place.probe_words = lambda: ["-c", "set BOARD_CHIP m4", "-f", CONFIG]
        run(place, "irq", tmp_path / "t.json", "--format", "perfetto", enough=lambda: enough(tmp_path / "t.json"))
        assert check(tmp_path / "t.json", true_stays(log(place))) > 20
        assert trace_registers(place) == before


@pytest.mark.parametrize("way", ["openocd", "m4/swd", "m33/v2"])
def test_recorded_on_a_wire(way, tmp_path):
    """Also by commands of the probe, and by its endpoint."""
    swo = "uart" if way != "m33/v2" else "uart,stream"
    with interrupts() if way == "openocd" else Place(way, "irq", clock=CLOCK, dap_swo=swo) as place:
        place.board.write_word("what", NEST | CHAIN)
        shown = [place.run("irq", "--for", "500ms", "-j", "--wire", tmp_path / "run.wire")]
        elf = place.elf
    assert shown[0].code in (0, NO_TIMES), shown[0].err
    shown.append(run_tool("--elf", elf, "-p", f"replay:{tmp_path / 'run.wire'}", "irq", "--for", "500ms", "-j"))
    assert (shown[1].code, shown[1].lines[1:]) == (shown[0].code, shown[0].lines[1:]), shown[1].err

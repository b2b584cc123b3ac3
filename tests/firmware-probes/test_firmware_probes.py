"""The tool with the firmware of real probes, on the board's pins, and with the board's own: measurements against the
board's truth, and random lists of steps with trouble in them.

A firmware is a shared object for this machine that has the functions of tests/board/dap/firmware.h; each of these
variables names one or more, with colons between: CMSIS_DAP, DAPLINK, DEBUGPROBE, FREE_DAP. What is not named is skipped."""
import json
import os
import subprocess

import pytest

import harness
from board import Board
from cmsis_dap import Dap
from harness import (ARTICLE_NOP, NOWHERE, QUICK_WIRE, RELEASE, SOAK, WORK_BY_DATA, Place, at, finish_tool, passages, returned, start_tool,
                     tool_environment)

FIRMWARE = ["CMSIS_DAP", "DAPLINK", "DEBUGPROBE", "FREE_DAP"]
WAYS = ["m4/swd", "m4/jtag", "rp2040/swd", "a9/swd", "a9/jtag", "r5/swd", "r5/jtag", "a53/swd", "a53/jtag", "m55/swd", "m55/jtag"]
LISTS = int(os.environ.get("LISTS", 10000 if SOAK else 100))
HITS = 500
SCRATCH = "20010000"  # the firmware has nothing there
JTAG = 1 << 1  # of DAP_Info's capabilities


def objects(name):
    return [os.path.abspath(path) for path in os.environ.get(name, "").split(":") if path]


def rows(*ways):
    """Each firmware that there is, each way; one that is not has a row that says so."""
    for name in FIRMWARE:
        if not objects(name):
            yield pytest.param(None, None, id=name, marks=pytest.mark.skip(reason=f"{name} names no firmware"))
        for path in objects(name):
            yield from (pytest.param(way, path, id=f"{name}-{os.path.basename(path)}-{way}") for way in ways)


def speaks_jtag(firmware):
    with Board.start("m4", dap_firmware=firmware) as board, Dap(board.dap_port) as dap:
        return bool(dap.info(0xF0)[0] & JTAG)


def place_of(way, firmware, scenario):
    if way.endswith("/jtag") and not speaks_jtag(firmware):
        pytest.skip(f"{os.path.basename(firmware)} does not speak JTAG")
    return Place(way, "free", scenario, dap_firmware=firmware)


def measured(place, *words):
    place.board.watch(NOWHERE)
    result = finish_tool(start_tool([RELEASE, *place.words(*words)[1:]]))
    assert result.code == 0, result.err
    return result


def check_hits(place, operands, is_end, core=0):
    board = place.board.core(core)
    board.watch(NOWHERE)
    result = measured(place, "-C", core, "delta", "-j", *operands, "-r", HITS)
    truth = [passage.cycles for passage in passages(board.log(), place.symbol(operands[0]), is_end)]
    # The core may be there, too, when it is only asked to halt
    assert len(result.cycles) == HITS and result.cycles in (truth[:HITS], truth[1:HITS + 1])


@pytest.mark.soak
@pytest.mark.parametrize("way, firmware", rows(*WAYS))
def test_measurements(way, firmware):
    with place_of(way, firmware, WORK_BY_DATA | ARTICLE_NOP) as place:
        check_hits(place, ("work_by_data",), returned)
        check_hits(place, ("nop_first", "nop_second"), at(place.symbol("nop_second")))
        if place.chip in ("rp2040", "a9", "a53"):
            check_hits(place, ("core1_work",), returned, core=1)
        before = place.board.state()["cycles"]
        count = measured(place, "stat", "-j", "--for", "400ms").summary["columns"]["CPU_CYCLES"]["count"]
        assert 0 < count <= place.board.state()["cycles"] - before
        result = measured(place, "watch", "-j", "--for", "400ms", "-I", 100)
        lines = [line for line in result.lines if line["type"] == "sample"]
        assert lines and sum(line["columns"]["CPU_CYCLES"]["count"] for line in lines) == result.summary["columns"]["CPU_CYCLES"]["count"]
        assert place.board.state()["run"] == "running"


@pytest.mark.soak
@pytest.mark.parametrize("wires, firmware", [row for row in rows("swd", "jtag") if "FREE_DAP" not in row.id])
def test_the_board_s_own_does_the_same(wires, firmware):
    """Each cycle and each reply, of what is Arm's or made of it. free-dap goes its own ways, which are quirks of the board."""
    if wires == "jtag" and not speaks_jtag(firmware):
        pytest.skip(f"{os.path.basename(firmware)} does not speak JTAG")
    words = [os.path.join(harness.BUILD, "clients", "differences"), firmware, wires, "100000", os.environ["PMU_SEED"]]
    done = subprocess.run(words, env=tool_environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert json.loads(done.stdout)["good"] > 10000


def check_lists(place):
    words = [os.path.join(harness.BUILD, "clients", "random-lists"), place.board.dap_port, place.board.control_port, place.wires,
             SCRATCH, LISTS, os.environ["PMU_SEED"]]
    done = subprocess.run([str(word) for word in words], env=tool_environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:] + done.stdout
    told = json.loads(done.stdout)
    assert told["right"] and told["lists"] == LISTS and told["troubled"] > LISTS / 10 and told["done"] > LISTS / 3


@pytest.mark.soak
@pytest.mark.parametrize("way, firmware", rows("m4/swd", "m4/jtag"))
def test_random_lists(way, firmware):
    """No list is reported as done that is not, and no result is a wrong one, whatever went wrong on the way."""
    with place_of(way, firmware, 0) as place:
        check_lists(place)


@pytest.mark.parametrize("way", ["m4/swd", "m4/jtag"])
@pytest.mark.parametrize("quirks", ["fewer-reads", "fewer-reads,loses-place", "padded"])
def test_random_lists_before_the_board_s_own(way, quirks):
    with Place(way, "free", 0, dap_quirks=quirks, dap_packet=64, dap_wire=QUICK_WIRE) as place:
        check_lists(place)

"""A program in AArch32 state at EL0, under a system in AArch64 state: its ELF is the 32-bit one. The truth is the board's, as in
test_application_cores.py."""
import contextlib

import pytest

from armv8 import BCR0, BCR_ALL, BREAKPOINT, BVR0, Bus
from board import Board
from harness import CALLED_TWICE, NOWHERE, WORK_BY_DATA, Place, at, finish_tool, hits_of, returned, run_tool, unfolded
from test_application_cores import COUNTED, MOVING, exact
from test_board_aarch32 import EVERYWHERE, HMC, Core32

pytestmark = pytest.mark.each_value

WAYS = ["a53mixed/swd", "a53mixed/jtag", "a53mixed"]
SVC, CONTEXT = 1 << 30, 0x321
ANY = ("--context", "any")


def lasting(place):
    """Without where the core is between the program and its system."""
    return {name: value for name, value in place.board.state().items() if name not in MOVING | {"level", "daif"}}


def kernel_symbol(place, name):
    """Of the system, which has its own ELF."""
    return Board.symbols(type("Elf", (), {"chip": "a53", "elf": place.elf.replace("-free", "-kernel")})())[name]


@pytest.mark.any_row(2)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("function, bits", [("work_by_data", WORK_BY_DATA), ("called_twice", CALLED_TWICE), ("counted_thumb", COUNTED),
                                            ("counted_arm", COUNTED)])
@pytest.mark.parametrize("context", ["any", CONTEXT])
def test_a_function(way, function, bits, context):
    with Place(way, "free", bits | SVC) as place:
        before = lasting(place)
        result = exact(place, (function,), returned, hits_of(place), ("--context", context))
        assert len(set(result.cycles)) > 1 and lasting(place) == before and place.board.state()["run"] == "running"


@pytest.mark.parametrize("way", WAYS)
def test_what_the_system_does_for_it_is_part_of_it(way):
    """From one place to another there is an SVC, which changes the state and back."""
    with Place(way, "free", WORK_BY_DATA | SVC) as place:
        without = exact(place, ("work_by_data",), returned, 50, ANY).cycles
        result = exact(place, ("work_by_data", "written_round"), at(place.symbol("written_round")), hits_of(place), ANY)
        assert min(result.cycles) > min(without)


@pytest.mark.parametrize("way", WAYS)
def test_it_is_in_user_mode(way):
    with Place(way, "free", WORK_BY_DATA | SVC) as place:
        result = place.run("delta", "work_by_data", "-r", 5)
        assert result.code == 3 and "is run in user mode" in result.err and "--context any" in result.err, result.err
        assert place.board.state()["run"] == "running" and place.board.state()["altered"] == 0


@pytest.mark.parametrize("level", [0, 1])
def test_the_core_is_found_halted_in_either_state(level):
    with Place("a53mixed/swd", "free", WORK_BY_DATA | SVC) as place:
        start = place.symbol("work_by_data") if level == 0 else kernel_symbol(place, "kernel_svc")
        with contextlib.closing(Bus(place.board)) as bus:
            core = Core32(place.board, bus).open()
            core.set_break(start, HMC, EVERYWHERE)
            assert core.wait_halted() == BREAKPOINT and core.level() == level
            core[BCR0] = 0
        refused = place.run("delta", "work_by_data", "-r", 5, *ANY)
        assert refused.code == 3 and "the core is halted" in refused.err, refused.err
        assert place.board.state()["altered"] == 0
        place.board.watch(NOWHERE)
        exact(place, ("work_by_data",), returned, 50, (*ANY, "--resume"))
        state = place.board.state()
        assert state["run"] == "halted" and state["altered"] == state["borrowed"] == 0  # as it was found, elsewhere


def test_a_stop_of_another_debugger_in_the_system():
    """It executes nothing of ours there, and the core is left halted."""
    with Place("a53mixed", "free", WORK_BY_DATA | SVC) as place:
        server = place.server
        tool = place.start("delta", "work_by_data", "-r", 1000000, *ANY)
        place.wait_for_stops(20)
        server(f"a53.apb mww {0x80410000 + BVR0 + 32:#x} {kernel_symbol(place, 'kernel_svc'):#x}")
        server(f"a53.apb mww {0x80410000 + BCR0 + 32:#x} {BCR_ALL:#x}")
        result = finish_tool(tool)
        said = unfolded(result.err)
        assert result.code == 3 and "AArch64" in said, said
        state = place.board.state()
        assert state["run"] == "halted" and state["level"] == 1 and state["altered"] == 0, said  # OpenOCD itself borrows registers


def test_counts_and_samples(tmp_path):
    """Of both: what is sampled in the system is not a function of the program."""
    with Place("a53mixed/swd", "free", WORK_BY_DATA | SVC) as place:
        place.board.watch(NOWHERE)
        assert place.run("stat", "--for", "200ms").code == 0
        place.record(tmp_path / "samples.jsonl", samples=200)
        result = place.run("record", "-e", "cycles", "--every", 3000, "--for", "1s", "-o", tmp_path / "events.jsonl")
        assert result.code == 0, result.err
        for name in ("samples", "events"):
            report = run_tool("report", "--format", "json", tmp_path / f"{name}.jsonl")
            assert report.code == 0, report.err
            functions = {line.get("function") or line.get("name") for line in report.lines}
            assert "work_by_data" in functions, functions
        state = place.board.state()
        assert state["run"] == "running" and state["altered"] == 0

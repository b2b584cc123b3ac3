"""`gdb:HOST:PORT` through a real OpenOCD's GDB server: the tests of the Tcl port again, hit by hit against the board's truth."""
import signal
import socket
import threading
import time

import pytest

from gdb_place import GdbPlace
from harness import (INTERRUPTED, ARTICLE_NOP, ARTICLE_PLAIN, CALLED_TWICE, IN_RAM, LONG_REGION, LOOP_ROUND, NOWHERE, PREEMPTED, RECURSE,
                     RESETTING, SLEEPER, WAIT, WIDE_ENTRY, WORK_BY_DATA, at, finish_tool, left_handler, passages, returned, run_tool)
from trouble import PEER, Strike
from troubled_place import TroubledPlace, differences

pytestmark = [pytest.mark.each_value, pytest.mark.any_fifth]  # a row takes seconds

CORTEX_M = ["rp2040", "m4"]
CORTEX_A = ["a9", "a7", "a53"]
CP15 = ["r5"]  # a PMU that the halted core itself reads
CHIPS = CORTEX_M + CORTEX_A
HITS = 6
# What a run, not the tool, changes, and what OpenOCD itself leaves switched on
MOVING = {"pc", "sp", "lr", "xpsr", "cpsr", "cycles", "counted", "instructions", "halts", "csw", "tar", "accesses", "ram_hash",
          "run", "sticky", "moe", "csw1", "tar1", "syst_cvr", "profile", "level", "dfsr"}


def exact(place, operands, is_end, hits=HITS, args=(), board=None):
    (board or place.board).watch(NOWHERE)
    result = place.delta(*operands, "-r", hits, *args)
    truth = passages((board or place.board).log(), place.symbol(operands[0]), is_end)
    assert len(result.hits) == hits and len(truth) in (hits, hits + 1)
    for hit, passage in zip(result.hits, truth):
        assert "at_least" not in hit and hit["values"]["CPU_CYCLES"] == passage.cycles, (hit, passage.cycles)
    return result


def same(before, after):
    for name, value in before.items():
        assert name in MOVING or after[name] == value, (name, value, after[name])


@pytest.mark.any_row(3)
@pytest.mark.parametrize("chip, function, bits", [(chip, *what) for chip in CHIPS + CP15 for what in [
    ("work_by_data", WORK_BY_DATA), ("called_twice", CALLED_TWICE), ("recurse", RECURSE)]])
def test_function(chip, function, bits):
    with GdbPlace(chip, "free", bits) as place:
        assert len(set(exact(place, (function,), returned).cycles)) > 1


@pytest.mark.parametrize("chip", ["a9", "a7"])
@pytest.mark.parametrize("function", ["counted_arm", "counted_thumb"])
def test_either_instruction_set(chip, function):
    with GdbPlace(chip, "free", 1 << 29) as place:
        exact(place, (function,), returned)


@pytest.mark.any_row
@pytest.mark.parametrize("chip", CHIPS)
def test_two_reads_and_a_nop_between(chip):
    with GdbPlace(chip, "free", ARTICLE_PLAIN | ARTICLE_NOP) as place:
        plain = exact(place, ("plain_first", "plain_second"), at(place.symbol("plain_second")))
        nop = exact(place, ("nop_first", "nop_second"), at(place.symbol("nop_second")))
        assert set(nop.cycles) == {cycles + 1 for cycles in plain.cycles}


@pytest.mark.parametrize("chip", CHIPS)
def test_round_of_a_loop(chip):
    with GdbPlace(chip, "free", LOOP_ROUND) as place:
        result = place.delta("loop_head", "loop_head", "-r", HITS)
        here = place.symbol("loop_head")
        stops = [event for event in place.board.log() if event.kind == "halt" and event.pc == here]
        rounds = [b.cycles - a.cycles for a, b in zip(stops, stops[1:]) if b.cycles != a.cycles]
        assert result.cycles == rounds[:HITS]


@pytest.mark.parametrize("chip", CORTEX_M)
def test_handler_and_what_it_preempts(chip):
    with GdbPlace(chip, "tick", WORK_BY_DATA) as place:
        exact(place, ("SysTick_Handler",), left_handler)
    with GdbPlace(chip, "tick", PREEMPTED) as place:
        exact(place, ("preempted",), returned, 2 * HITS)


def test_sleep_and_wide_entry():
    with GdbPlace("m4", "tick", SLEEPER) as place:
        exact(place, ("sleeper",), returned)
    with GdbPlace("m4", "free", WIDE_ENTRY) as place:
        exact(place, ("wide_entry",), returned)


def test_code_in_ram_where_a_comparator_reaches_it():
    """On Cortex-A; an FPB of the first version ends below 0x20000000."""
    with GdbPlace("a9", "free", IN_RAM) as place:
        exact(place, ("in_ram",), returned)
    with GdbPlace("m4", "free", IN_RAM) as place:
        refused = place.run("delta", "in_ram", "-r", 5)
        assert refused.code == 3 and "cannot set a breakpoint at 0x2000" in refused.err
        assert place.board.state()["run"] == "running"


@pytest.mark.parametrize("chip", ["m4", "a9", "a53"])
def test_rehit_removes_a_constant_cost(chip):
    with GdbPlace(chip, "free", WORK_BY_DATA, halt_cost=7) as place:
        column = exact(place, ("work_by_data",), returned).summary["columns"]["CPU_CYCLES"]
        assert column["calibrated"] and column["overhead"] == 7 and column["plus_minus"] == 0


def test_interval_holds_the_truth():
    with GdbPlace("m4", "free", WORK_BY_DATA, halt_cost="5..25") as place:
        result = place.delta("work_by_data", "-r", 10)
        truth = passages(place.board.log(), place.symbol("work_by_data"), returned)
        plus_minus = result.summary["columns"]["CPU_CYCLES"]["plus_minus"]
        assert 0 < plus_minus <= 20
        for cycles, passage in zip(result.cycles, truth):
            assert abs(cycles - passage.cycles) <= plus_minus


def test_a_wrap_that_could_be_missed_is_said():
    """The counter is seen at the stops only: SysTick at 1 ms wraps many times in between."""
    with GdbPlace("m4", "ms", LONG_REGION) as place:
        for hit in place.delta("long_region", "-r", 2, "--counter", "systick", "--no-calibrate").hits:
            assert hit["at_least"] == ["CPU_CYCLES"]
        exact(place, ("long_region",), returned, 2, ["--no-calibrate"])


@pytest.mark.parametrize("chip", ["a9", "a53"])
def test_events(chip):
    with GdbPlace(chip, "free", WORK_BY_DATA) as place:
        event, code = ("LD_RETIRED", 0x06) if chip == "a9" else ("INST_RETIRED", 0x08)
        place.board.watch(NOWHERE)
        result = place.delta("work_by_data", "-r", HITS, "-e", f"CPU_CYCLES,{event}")
        truth = passages(place.board.log(), place.symbol("work_by_data"), returned)
        assert len(result.hits) == HITS
        for hit, passage in zip(result.hits, truth):
            assert hit["values"]["CPU_CYCLES"] == passage.cycles
            assert hit["values"][event] == passage.end.counts[code] - passage.begin.counts[code]


@pytest.mark.any_row
@pytest.mark.parametrize("chip", ["a9", "a53"])
def test_a_port_is_one_cores(chip):
    with GdbPlace(chip, "free", WORK_BY_DATA | CALLED_TWICE) as place:
        place.core = 1
        exact(place, ("core1_work",), returned, board=place.board.core(1))
        other = place.run("-C", 0, "delta", "core1_work")
        assert other.code == 3 and f"this port of the GDB server is {chip}.cpu1, not core 0" in other.err
        info = place.run("info").out
        assert "cpu0   running" in info and "cpu1   halted by the debugger" in info


@pytest.mark.any_row
@pytest.mark.parametrize("chip", ["m4", "rp2040", "a9", "a53", "r5"])
@pytest.mark.parametrize("how", ["done", "interrupted", "terminated", "no end"])
def test_everything_is_put_back(chip, how):
    with GdbPlace(chip, "free", WORK_BY_DATA | PREEMPTED) as place:
        first = place.run("delta", "work_by_data", "-r", 1)
        assert first.code == 0, first.err  # what OpenOCD leaves switched on, is
        before = place.board.state()
        if how == "done":
            assert place.run("delta", "work_by_data", "-r", 2).code == 0
        elif how == "no end":
            late = place.run("delta", "work_by_data", "sleeper", "--timeout", 0.5)
            assert late.code == 3 and "was not reached" in late.err
        else:
            tool = place.start("delta", "work_by_data", "-r", 100000000)
            place.wait_for_stops(24)
            result = finish_tool(tool, signal.SIGINT if how == "interrupted" else signal.SIGTERM)
            assert result.code == INTERRUPTED and "CPU_CYCLES" in result.out
        place.board.wait_for(lambda state: state["run"] == "running")
        same(before, place.board.state())


@pytest.mark.any_row(2)
@pytest.mark.parametrize("chip", ["m4", "rp2040", "a9", "a53", "r5"])
def test_ctrl_c_before_the_server_has_said_a_word(chip):
    """It has halted the core when it accepted the connection."""
    with TroubledPlace(f"gdb {chip}") as place:
        assert place.delta().code == 0
        place.calm()
        before, started = place.snapshot(), threading.Event()
        place.board.watch(NOWHERE)

        def interrupt():
            started.wait(WAIT)
            tool.send_signal(signal.SIGINT)
            time.sleep(0.3)

        place.proxy.plan(Strike("pass", PEER, 0, act=interrupt))
        tool = place.start("delta", "-r", 3, place.function)
        started.set()
        result = finish_tool(tool)
        assert result.code == 3 and "cancelled" in result.err and place.proxy.struck, result.err
        place.proxy.plan(None)
        place.calm()
        assert not differences(before, place.snapshot()), result.err


def test_somebodys_handler_of_a_resume():
    """It runs at each, and is there afterwards: for one resume the tool's own is in its place."""
    with GdbPlace("m4", "free", WORK_BY_DATA) as place:
        place.server("set ::resumed 0; virtual.cpu configure -event gdb-start {incr ::resumed; set ::last {a b}}")
        exact(place, ("work_by_data",), returned)
        assert int(place.server("set ::resumed")) >= 2 * HITS and place.server("set ::last") == "a b"
        assert place.server("virtual.cpu cget -event gdb-start") == "incr ::resumed; set ::last {a b}"


def test_given_up_at_any_moment():
    """Also when the core stops by itself just as it is asked to: OpenOCD keeps such a request for the next run."""
    with GdbPlace("m4", "free", WORK_BY_DATA | PREEMPTED) as place:
        for ms in range(50, 90, 5):
            assert place.run("delta", "work_by_data", "sleeper", "--timeout", ms / 1000).code == 3
            place.board.wait_for(lambda state: state["run"] == "running")


@pytest.mark.parametrize("chip", ["m4", "a9", "a53"])
def test_halted_at_somebodys_breakpoint(chip):
    """OpenOCD reports that the core was halted at a breakpoint before. The tool leaves it there."""
    with GdbPlace(chip, "free", WORK_BY_DATA) as place:
        place.server.target = "virtual.cpu" if chip == "m4" else f"{chip}.cpu0"
        here = place.symbol("work_by_data")
        place.server(f"bp {here:#x} {2 if chip == 'm4' else 4} hw")
        place.board.wait_for(lambda state: state["run"] == "halted")
        place.server.wait_halt()
        refused = place.run("delta", "work_by_data")
        assert refused.code == 3 and "halted at scenarios.c:" in refused.err and "--resume" in refused.err
        assert "halted at scenarios.c:" in place.run("info").out
        state = place.board.state()
        assert state["run"] == "halted" and state["pc"] == here
        place.server(f"rbp {here:#x}")
        resumed = place.run("delta", "-j", "work_by_data", "-r", HITS, "--resume")
        assert resumed.code == 0 and len(resumed.hits) == HITS
        assert place.board.state()["run"] == "halted"


def test_foreign_breakpoint():
    """The core stays halted there, the message names the place, and the hits so far are kept."""
    with GdbPlace("m4", "free", WORK_BY_DATA) as place:
        process = place.start("delta", "work_by_data", "-r", 1000000)
        place.wait_for_stops(48)
        here = place.symbol("random_number")
        place.server.set_word(0xE0002008 + 4 * 5, here & 0x1FFFFFFC | (0x80000001 if here & 2 else 0x40000001))
        result = finish_tool(process)
        assert result.code == 3 and "stopped by someone else's breakpoint at scenarios.c:" in result.err and "random_number" in result.err
        assert "CPU_CYCLES" in result.out
        state = place.board.state()
        assert state["run"] == "halted" and state["pc"] == here


@pytest.mark.parametrize("chip", CORTEX_M)
def test_a_reset_inside_is_no_number(chip):
    with GdbPlace(chip, "free", WORK_BY_DATA) as place:
        process = place.start("delta", "-j", "resetting", "-r", 3)
        place.wait_until_armed()
        place.board.write_word("scenario", RESETTING)
        result = finish_tool(process)
        assert result.code == 3 and "was reset" in result.err
        assert result.hits == [] and result.summary is None


@pytest.mark.waits
def test_server_dies_in_the_middle():
    with GdbPlace("m4", "free", WORK_BY_DATA) as place:
        process = place.start("delta", "work_by_data", "-r", 1000000)
        place.wait_for_stops(48)
        place.server.kill()
        result = finish_tool(process)
        assert result.code == 3 and "GDB server" in result.err


def test_what_needs_a_running_core_is_refused():
    with GdbPlace("m4") as place:
        result = place.run("watch")
        assert result.code == 2 and "a GDB server shows only a halted core" in result.err
        place.board.watch(NOWHERE)
        counted = place.run("stat", "-x", ",", "--for", "0.2s")  # halted for each reading
        assert counted.code == 0 and "CPU_CYCLES" in counted.out
        assert "CYCCNT" in place.run("info").out and "Cortex-M4" in place.run("info").out
        assert place.run("list", elf=False).code == 0
        doctor = place.run("doctor")
        assert doctor.code == 0 and "20 ms later" in doctor.out
        assert place.board.state()["run"] == "running"


@pytest.mark.waits
def test_who_is_there():
    nobody = run_tool("info", "-p", "gdb:127.0.0.1:1")
    assert nobody.code == 3 and "nothing listens on 127.0.0.1:1" in nobody.err
    for place in ("gdb", "gdb:", "gdb:localhost", "gdb:localhost:0", "gdb:localhost:70000", "gdb:localhost:x"):
        assert run_tool("info", "-p", place).code == 2
    with GdbPlace("m4") as place, socket.create_connection(("127.0.0.1", place.server.gdb_port())) as other:
        other.sendall(b"+$?#3f")
        assert other.recv(1)
        taken = place.run("info")
        assert taken.code == 3 and "one client at a time" in taken.err

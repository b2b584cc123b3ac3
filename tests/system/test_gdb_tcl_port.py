"""`pmu delta` in a real GDB whose OpenOCD has a Tcl port: the hits go by that port while GDB waits, and then GDB is where it would be."""
import json
import os
import pathlib
import re
import signal
import time

import pytest

from gdb_door import Mi, TclPlace, Terminal
from harness import CALLED_TWICE, LOOP_ROUND, NOWHERE, WORK_BY_DATA, passages, returned, run_tool, wait_for
from test_gdb_door import EVENT, PUT_BACK, engine_of
from test_record import part_of

pytestmark = [pytest.mark.any_row, pytest.mark.any_fifth]  # a row takes seconds

CHIPS = ["m4", "a9", "rp2040", "a53"]
HITS = 100


def pc_of(text):
    return int(re.search(r"pc +0x([0-9a-f]+)", text).group(1), 16)


@pytest.mark.parametrize("chip", CHIPS)
def test_a_hundred_hits(chip, tmp_path):
    with TclPlace(chip, "free", WORK_BY_DATA, halt_cost=7) as place:
        before = place.board.state()
        events = f"-e CPU_CYCLES,{EVENT[chip][0]}" if chip in EVENT else ""
        result = place.delta_in_gdb(tmp_path, f"work_by_data -r {HITS} {events}")
        truth = passages(place.board.log(), place.symbol("work_by_data"), returned)
        assert result.code == 0 and "openocd 127.0.0.1:" in result.header["link"], result.said + result.err
        assert result.cycles == [passage.cycles for passage in truth[:HITS]]
        assert result.summary["columns"]["CPU_CYCLES"]["overhead"] == 7
        after = place.board.state()
        for name in PUT_BACK:
            assert after.get(name) == before.get(name), name


@pytest.mark.parametrize("chip", CHIPS)
def test_gdb_is_where_the_last_hit_ended(chip):
    with TclPlace(chip, "free", WORK_BY_DATA) as place:
        terminal = Terminal(place.elf, place.server.gdb_port(), tcl=True)
        try:
            place.board.watch(NOWHERE)
            terminal(f"pmu delta work_by_data -r {HITS}")
            truth = passages(place.board.log(), place.symbol("work_by_data"), returned)
            end = truth[HITS - 1].end
            assert len(truth) == HITS and pc_of(terminal("info registers pc")) == end.pc == place.board.state()["pc"]
            assert "#1" in terminal("bt") and "one_round" in terminal("frame")
            sp = int(re.search(r"sp +0x([0-9a-f]+)", terminal("info registers sp")).group(1), 16)
            assert sp == place.board.state()["sp"]
            begin = place.board.state()["cycles"]
            terminal("next")
            assert 0 < place.board.state()["cycles"] - begin < 10_000
            terminal("hbreak work_by_data")
            assert "Breakpoint 1, work_by_data" in terminal("continue")
            assert pc_of(terminal("info registers pc")) == place.board.state()["pc"]
            assert "Run till exit" in terminal("finish")
        finally:
            terminal.close()


def test_watchpoints_are_as_if_nothing_had_been():
    with TclPlace("m4", "free", WORK_BY_DATA) as place:
        terminal = Terminal(place.elf, place.server.gdb_port(), tcl=True)
        try:
            assert "Hardware watchpoint 1" in terminal("watch random_state")
            assert "3 hits" in terminal("pmu delta work_by_data -r 3") or "watchpoint" in terminal("info breakpoints")
            terminal("disable")
            assert f"{HITS} hits" in terminal(f"pmu delta work_by_data -r {HITS}")
            terminal("enable")
            assert "Hardware watchpoint 1: random_state" in terminal("continue")
        finally:
            terminal.close()


@pytest.mark.parametrize("chip", ["m4", "a9"])
@pytest.mark.parametrize("where", ["random_number", "work_by_data"], ids=["inside", "at the start"])
def test_the_users_breakpoint_ends_it(chip, where):
    with TclPlace(chip, "free", WORK_BY_DATA) as place:
        terminal = Terminal(place.elf, place.server.gdb_port(), tcl=True)
        try:
            terminal(f"hbreak {where}")
            said = terminal("pmu delta work_by_data -r 50")
            assert f"Breakpoint 1, {where}" in said and "pmu delta failed (exit code 3): stopped by your breakpoint" in said, said
            assert "already hit 1 time" in terminal("info breakpoints")
            assert pc_of(terminal("info registers pc")) == place.board.state()["pc"]
            begin = place.board.state()["cycles"]
            assert f"Breakpoint 1, {where}" in terminal("continue") and place.board.state()["cycles"] > begin
            terminal("delete")
            assert "5 hits" in terminal("pmu delta work_by_data -r 5")
            assert " is off" in terminal("show breakpoint always-inserted")
        finally:
            terminal.close()


def test_one_with_a_condition_goes_by_gdb(tmp_path):
    with TclPlace("m4", "free", WORK_BY_DATA) as place:
        result = place.delta_in_gdb(tmp_path, "work_by_data -r 2", "hbreak random_number if 0")
        assert result.code == 0 and len(result.hits) == 2 and result.header["link"].startswith("gdb "), result.said


def test_other_places_and_commands(tmp_path):
    with TclPlace("m4", "free", CALLED_TWICE | LOOP_ROUND | WORK_BY_DATA) as place:
        loop = place.delta_in_gdb(tmp_path, "loop_head loop_head -r 20")
        assert len(loop.hits) == 20 and loop.code == 0
        done = place.gdb("pmu survey work_by_data called_twice -r 5", "pmu stat --for 0.2s", "pmu info", "pmu delta nothing_of_that_name")
        assert re.search(r"^work_by_data .*\n?", done.out, re.M) and re.search(r"[\d,]+  CPU_CYCLES", done.out), done.out + done.err
        assert "each sample halts" not in done.out and "no symbol `nothing_of_that_name`" in done.err
        assert place.board.state()["run"] == "halted" or place.server("virtual.cpu curstate") == "running"


@pytest.mark.parametrize("chip", CHIPS)
def test_record_and_top_halt_nothing(chip, tmp_path):
    file = tmp_path / "p.jsonl"
    with TclPlace(chip, "free", WORK_BY_DATA) as place:
        terminal = Terminal(place.elf, place.server.gdb_port(), tcl=True)
        try:
            before = place.board.state()
            assert re.search(r"[\d,]+ samples in", terminal(f"pmu record --for 1s -o {file}"))
            lines = [json.loads(line) for line in file.read_text().splitlines()]
            assert lines[0]["source"] != "halts" and lines[-1]["why"] == "time" and lines[-1]["samples"] > 50, lines
            assert sum(line.get("halted", 0) for line in lines) == 0
            after = place.board.state()
            assert after["halts"] - before["halts"] <= 2  # at its end, and GDB's own stop there
            for name in PUT_BACK:
                assert after.get(name) == before.get(name), name
            assert after["run"] == "halted" and pc_of(terminal("info registers pc")) == after["pc"]
            assert "work_by_data" in terminal(f"pmu report {file}")
            top = terminal("pmu top --for 0.6s -I 300ms")
            assert "by halts" not in top and "work_by_data" in top
            terminal("next")
            assert place.board.state()["run"] == "halted" and "#0" in terminal("bt")
        finally:
            terminal.close()


@pytest.mark.parametrize("how", ["", "-g"])
def test_the_users_breakpoint_ends_the_record(how, tmp_path):
    file = tmp_path / "p.jsonl"
    with TclPlace("m4", "free", WORK_BY_DATA) as place:
        terminal = Terminal(place.elf, place.server.gdb_port(), tcl=True)
        try:
            terminal("hbreak called_twice")
            terminal.child.sendline(f"pmu record {how} -o {file}")
            wait_for(lambda: part_of(file) and '"samples"' in pathlib.Path(part_of(file)).read_text(), "the first samples")
            place.board.write_word("scenario", CALLED_TWICE)
            terminal.child.expect_exact("(gdb) ")
            assert "pmu record failed (exit code 3): stopped by your breakpoint" in terminal.child.before
            assert json.loads(file.read_text().splitlines()[-1])["why"] == "lost"
            assert "#0  called_twice" in terminal("bt") and place.board.state()["pc"] == pc_of(terminal("info registers pc"))
        finally:
            terminal.close()


def test_ctrl_c_ends_the_record(tmp_path):
    file = tmp_path / "p.jsonl"
    with TclPlace("m4", "free", WORK_BY_DATA) as place:
        terminal = Terminal(place.elf, place.server.gdb_port(), tcl=True)
        try:
            terminal.child.sendline(f"pmu record -o {file}")
            wait_for(lambda: part_of(file) and '"samples"' in pathlib.Path(part_of(file)).read_text(), "the first samples")
            terminal.child.sendintr()
            terminal.child.expect_exact("(gdb) ")
            assert "samples in" in terminal.child.before and "failed" not in terminal.child.before
            assert json.loads(file.read_text().splitlines()[-1])["why"] == "Ctrl-C"
            assert pc_of(terminal("info registers pc")) == place.board.state()["pc"] and place.board.state()["run"] == "halted"
        finally:
            terminal.close()


@pytest.mark.parametrize("chip", ["m4", "a9"])
def test_ctrl_c(chip):
    with TclPlace(chip, "free", WORK_BY_DATA) as place:
        terminal = Terminal(place.elf, place.server.gdb_port(), tcl=True)
        try:
            for pause in (0, 0.3):
                terminal.child.sendline("pmu delta work_by_data -r 1000000")
                place.wait_for_stops(24)
                time.sleep(pause)
                terminal.child.sendintr()
                terminal.child.expect_exact("(gdb) ")
                assert "Ctrl-C" in terminal.child.before and "exit code" not in terminal.child.before
                assert place.board.state()["run"] == "halted" and pc_of(terminal("info registers pc")) == place.board.state()["pc"]
            assert "1 hit" in terminal("pmu delta work_by_data -r 1")
        finally:
            terminal.close()


@pytest.mark.parametrize("chip", ["m4", "a9"])
def test_the_tool_is_killed(chip):
    with TclPlace(chip, "free", WORK_BY_DATA) as place:
        terminal = Terminal(place.elf, place.server.gdb_port(), tcl=True)
        try:
            before = place.board.state()
            for pause in (0, 0.05, 0.2):
                terminal.child.sendline("pmu delta work_by_data -r 1000000")
                place.wait_for_stops(24)
                time.sleep(pause)
                os.kill(engine_of(terminal), signal.SIGKILL)
                terminal.child.expect_exact("(gdb) ")
                assert "exit code -9" in terminal.child.before and "Exception" not in terminal.child.before, terminal.child.before
                after = place.board.state()
                assert after["run"] == "halted" and pc_of(terminal("info registers pc")) == after["pc"]
                for name in PUT_BACK:
                    assert after.get(name) == before.get(name), name
            assert "5 hits" in terminal("pmu delta work_by_data -r 5")
        finally:
            terminal.close()


@pytest.mark.parametrize("chip", ["m4", "a9"])
def test_gdb_is_killed(chip):
    with TclPlace(chip, "free", WORK_BY_DATA) as place:
        before = place.board.state()
        terminal = Terminal(place.elf, place.server.gdb_port(), tcl=True)
        try:
            terminal.child.sendline("pmu delta work_by_data -r 1000000")
            place.wait_for_stops(24)
        finally:
            terminal.close()
        wait_for(lambda: all(place.board.state().get(name) == before.get(name) for name in PUT_BACK), "what the tool had changed to be put back")
        wait_for(lambda: "no journal in" in run_tool("-p", f"openocd:127.0.0.1:{place.server.port}", "restore").out, "the tool's end")
        assert place.board.state()["run"] == "halted"


def test_mi():
    with TclPlace("m4", "free", WORK_BY_DATA) as place:
        mi = Mi(place.elf, place.server.gdb_port(), tcl=True)
        try:
            records, text = mi(f'-interpreter-exec console "pmu delta work_by_data -r {HITS}"')
            assert f"{HITS} hits" in text, text
            kinds = [line.split(",")[0] for line in records if re.match(r"\d*[\^*]", line)]
            assert kinds.count("*stopped") == 1 and kinds.count("*running") == 1 and "^error" not in kinds, records
            stop = next(line for line in records if line.startswith("*stopped"))
            assert f'addr="0x{place.board.state()["pc"]:08x}"' in stop, stop
        finally:
            mi.close()

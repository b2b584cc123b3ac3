"""`pmu` in a real GDB on a real OpenOCD: each subcommand against the board's truth, hit by hit."""
import json
import os
import pathlib
import re
import signal
import subprocess
import time

import pytest

from gdb_door import GDB, SCRIPT, DoorPlace, Mi, Screen, Terminal
from harness import CALLED_TWICE, IN_RAM, LOOP_ROUND, SOAK, TOOL, WAIT, WORK_BY_DATA, passages, returned, tool_environment, unfolded, wait_for
from own_program import START, own_place
from test_record import part_of

pytestmark = [pytest.mark.any_row, pytest.mark.any_fifth]  # a row takes seconds; what is different on each chip is in test_gdb.py

CHIPS = ["rp2040", "m4", "a9", "a53"]
HITS = 3
SAMPLES = 100  # of a profile in which each line that matters has some
EVENT = {"a9": ("LD_RETIRED", 0x06), "a53": ("INST_RETIRED", 0x08)}
# What the run and not the tool changes, and what OpenOCD itself leaves switched on
PUT_BACK = ["fp_comp", "dwt_ctrl", "syst_rvr", "syst_csr", "code_hash", "dwt_function", "demcr", "pmcr", "pmcntenset", "pmuserenr"]


@pytest.mark.parametrize("chip", CHIPS)
def test_delta(chip, tmp_path):
    with DoorPlace(chip, "free", WORK_BY_DATA, halt_cost=7) as place:
        before = place.board.state()
        events = f"-e CPU_CYCLES,{EVENT[chip][0]}" if chip in EVENT else ""
        result = place.delta_in_gdb(tmp_path, f"work_by_data -r {HITS} {events}")
        truth = passages(place.board.log(), place.symbol("work_by_data"), returned)
        assert result.code == 0, result.said + result.err
        assert result.cycles == [passage.cycles for passage in truth[:HITS]]
        column = result.summary["columns"]["CPU_CYCLES"]
        assert column["calibrated"] and column["overhead"] == 7 and column["plus_minus"] == 0
        if chip in EVENT:
            name, code = EVENT[chip]
            assert [hit["values"][name] for hit in result.hits] == [
                passage.end.counts[code] - passage.begin.counts[code] for passage in truth[:HITS]]
        assert "Program received signal" not in result.said
        after = place.board.state()
        for name in PUT_BACK:
            assert after.get(name) == before.get(name), name


def test_places(tmp_path):
    with DoorPlace("m4", "free", CALLED_TWICE | LOOP_ROUND) as place:
        pair = place.delta_in_gdb(tmp_path, "called_twice -r 2")
        truth = passages(place.board.log(), place.symbol("called_twice"), returned)
        assert pair.cycles == [passage.cycles for passage in truth[:2]]
        loop = place.delta_in_gdb(tmp_path, "*&loop_head loop_head -r 2")  # the first by GDB's own expression
        assert len(loop.hits) == 2 and int(loop.header["region"]["addresses"]["start"], 0) == place.symbol("loop_head")


@pytest.mark.parametrize("chip", CHIPS)
def test_stat(chip):
    with DoorPlace(chip, "free", WORK_BY_DATA) as place:
        done = place.gdb("pmu stat --for 0.3s")
        counted = int(re.search(r"([\d,]+)  CPU_CYCLES", done.out).group(1).replace(",", ""))
        halts = [event for event in place.board.log() if event.kind == "halt"]
        assert done.code == 0 and counted == halts[-1].cycles - halts[0].cycles > 0
        assert "each sample halts the core" in done.out and "rates (>=) are lower bounds" in unfolded(done.out)
        rate, seconds = re.search(r">=([\d,]+) /s\s+([\d.]+) s", done.out).groups()  # of the time between halts
        assert abs(float(rate.replace(",", "")) * float(seconds) / counted - 1) < 0.01


@pytest.mark.any_row
@pytest.mark.parametrize("chip, name", [("rp2040", "Cortex-M0+"), ("m4", "Cortex-M4"), ("a9", "Cortex-A9"), ("a53", "Cortex-A53")])
def test_info_list_calibrate_doctor(chip, name):
    with DoorPlace(chip, "free", WORK_BY_DATA, halt_cost=7) as place:
        done = place.gdb("pmu info", "pmu list", "pmu calibrate", "pmu calibrate work_by_data", "pmu doctor")
        assert done.code == 0, done.err
        assert name in done.out and "OpenOCD" in done.out and "halted by the debugger" in done.out
        adds = re.findall(r"halt overhead at (\w+ ?\w+): 7 cycles \((\d+) trials, min 7, max 7\)", " ".join(done.out.split()))
        assert [line[0] for line in adds] == ["this place", "work_by_data"] and all(int(line[1]) > 8 for line in adds), done.out + done.err
        if chip in EVENT:
            assert EVENT[chip][0] in done.out and "ok" in done.out


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("halt_cost", [0, 7])
def test_auto_sums_to_the_whole(chip, halt_cost):
    with DoorPlace(chip, "free", WORK_BY_DATA, halt_cost=halt_cost) as place:
        before = place.board.state()
        # `finish` sets a breakpoint in software, which the A53's ROM does not take
        steps = ["next", "next", "stepi", "next", "stepi" if chip == "a53" else "finish", "continue", "next"]
        done = place.gdb("hbreak work_by_data", "continue", "pmu auto on", *steps,
                         'print $_pmu("cycles")', 'print $_pmu_delta("CPU_CYCLES")', 'printf "ends at %lu\\n", $pc', "pmu auto off")
        assert done.code == 0, done.err
        said = re.findall(r"(at most |at least |)\+([\d,]+)(?: ± (\d+))? cycles", done.out)
        counts = [int(count.replace(",", "")) for _, count, _ in said]
        assert len(counts) == len(steps), done.out + done.err
        total, last = (int(number) for number in re.findall(r"\$\d+ = (\d+)", done.out))
        assert total == sum(counts) and last == counts[-1]
        last_pc = int(re.search(r"ends at (\d+)", done.out).group(1))
        halts = [event for event in place.board.log() if event.kind == "halt"]
        entries = [event for event in halts if event.pc == place.symbol("work_by_data")]
        again = next(event for event in entries if event.cycles > entries[0].cycles)
        # When GDB goes, the core may meet the breakpoint once more
        end = next(event for event in halts[halts.index(again):] if event.pc == last_pc)
        whole = end.cycles - entries[0].cycles
        if halt_cost == 0:
            # A busy machine may take longer from stop to stop than SysTick from wrap to wrap
            vague = {("at least ", "")} if chip == "rp2040" else set()
            assert total == whole and {(bound, off) for bound, _, off in said} - vague == {("", "0")}
            assert bool(vague) or "CPU_CYCLES is at" not in done.err
        else:  # a `next` is an unknown number of halts
            assert "cycles is at most that" in done.err
            assert total > whole and all(bound == "at most " for bound, _, _ in said[:4])
        after = place.board.state()
        for name in PUT_BACK:
            assert name == "fp_comp" or after.get(name) == before.get(name), name


def test_auto_in_conditions_and_displays():
    with DoorPlace("m4", "free", WORK_BY_DATA) as place:
        done = place.gdb("pmu auto on", 'break work_by_data if $_pmu_delta("CPU_CYCLES") > 3000', 'display $_pmu_delta("CPU_CYCLES")',
                         "continue", "pmu delta work_by_data -r 1", 'print $_pmu("NOTHING")', "pmu auto off", 'print $_pmu("CPU_CYCLES")')
        assert int(re.findall(r"\$_pmu_delta\(\"CPU_CYCLES\"\) = (\d+)", done.out)[-1]) > 3000
        assert "pmu auto begins anew" in done.out
        assert "NOTHING is not counted, but CPU_CYCLES: pmu auto on -e NOTHING\n" in done.err and "pmu auto on, first" in done.err, done.err


def test_what_is_read_is_the_targets(tmp_path):
    """Not the file's, where that has read-only sections: GDB trusts it for the code of frames, and only meanwhile."""
    with DoorPlace("m4", "free", WORK_BY_DATA) as place:
        here, code = place.symbol("sleeper"), pathlib.Path(place.elf).read_bytes()
        held = place.board.read(here, 16)
        assert code.count(held) == 1
        place.elf = tmp_path / "other.elf"
        place.elf.write_bytes(code.replace(held, bytes(16)))
        result = place.delta_in_gdb(tmp_path, f"work_by_data -r 2 --show *{here:#x}", f"x/wx {here:#x}")
        word = int.from_bytes(held[:4], "little")
        assert result.code == 0 and result.summary["at_max"][f"*{here:#x}"] == word != 0, result.out
        place.elf = str(place.elf)
        for word in ("off", "on"):
            after = place.gdb(f"set trust-readonly-sections {word}", "pmu delta work_by_data -r 1", "show trust-readonly-sections",
                              "pmu info")
            assert f"Mode for reading from readonly sections is {word}." in after.out, after.out


def test_users_breakpoint_ends_it(tmp_path):
    with DoorPlace("m4", "free", WORK_BY_DATA) as place:
        here = place.symbol("random_number")
        hits = 50 if SOAK else 12
        done = place.gdb("tbreak work_by_data", "continue", "break random_number if 0", "ignore 2 3", f"pmu delta work_by_data -r {hits}",
                         "print/x $pc", "delete", "pmu delta work_by_data -r 1")
        assert f"{hits} hits" in done.out
        stopped = place.gdb("break random_number", f"pmu delta work_by_data -r 50", "print/x $pc", "info breakpoints")
        assert "breakpoint at scenarios.c:" in stopped.err and "stopped by" in stopped.err and "pmu delta failed" in stopped.err
        assert f"= {here:#x}" in stopped.out and "breakpoint already hit" in stopped.out


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("breakpoints", [
    ["hbreak random_number if 0"], ["hbreak random_number", "ignore 1 1000000"], ["hbreak random_number if $sp == 0"],
    ["hbreak *work_by_data if 0", "hbreak random_number if 0"]], ids=["never", "ignored", "by a register", "at the start, too"])
@pytest.mark.parametrize("cost", [0, 7])
def test_users_conditions_inside(chip, breakpoints, cost, tmp_path):
    """GDB halts the core to test one, and steps over the breakpoint. What that adds is removed with the rest, but for what a
    single step is to the server: OpenOCD halts a Cortex-M twice."""
    with DoorPlace(chip, "free", WORK_BY_DATA, halt_cost=cost) as place:
        result = place.delta_in_gdb(tmp_path, f"work_by_data -r {HITS}", *breakpoints)
        truth = passages(place.board.log(), place.symbol("work_by_data"), returned)
        assert result.code == 0 and len(result.hits) == HITS, result.said
        column = result.summary["columns"]["CPU_CYCLES"]
        assert column["overhead"] >= 3 * cost and column["plus_minus"] in (cost, 2 * cost)
        for cycles, passage in zip(result.cycles, truth):
            assert 0 <= cycles - passage.cycles <= column["plus_minus"]
            assert chip in ("rp2040", "m4") or cycles == passage.cycles


SILENT = START + r"""
volatile uint32_t same, changing;
APART int never(void) { sink += 100; return 0; }
APART void inner(void) { for (uint32_t i = 0; i < 3; i++) sink += i; }
APART void silent(void) { sink += 10; same = 5; changing++; inner(); sink += 10; }
void run(void) { for (;; round_count++) { silent(); (void)never(); } }
"""
STOP_METHOD = "python type('Never', (gdb.Breakpoint,), {'stop': lambda self: False})('*&inner')"
UNSEEN = [['dprintf inner,"here\\n"'], ["watch changing if 0"], ["watch same"], [STOP_METHOD], ["set language ada", "hbreak inner if 1 = 0"],
          ["set can-use-hw-watchpoints 0", "watch same"]]


@pytest.mark.parametrize("chip", ["m4", "a9"])
def test_halts_that_gdb_does_not_report(chip, tmp_path):
    """Whatever their reason is: each resume of GDB's is counted."""
    with own_place(tmp_path, chip, SILENT, kind=DoorPlace, halt_cost=7) as place:
        for before in UNSEEN[:3 if chip == "a9" else None]:
            result = place.delta_in_gdb(tmp_path, "silent -r 2", *before)
            truth = passages(place.board.log(), place.symbol("silent"), returned)
            assert result.code == 0 and len(result.hits) == 2, (before, result.said, result.err)
            column = result.summary["columns"]["CPU_CYCLES"]
            unseen = column["overhead"] > 7 and column["plus_minus"] > 0
            assert unseen or (chip == "a9" and result.cycles == [passage.cycles for passage in truth[:2]]), (before, column)
            for cycles, passage in zip(result.cycles, truth):
                assert abs(cycles - passage.cycles) <= column["plus_minus"], (before, column)
        if chip == "a9":  # the call ends in no stop there, and the run by its timeout
            return
        called = place.gdb("hbreak inner if never()", "pmu delta silent -r 2")
        assert "it called a function of the program meanwhile" in called.err and "CPU_CYCLES" not in called.out, called


def test_users_conditions_stay(tmp_path):
    with DoorPlace("m4", "free", WORK_BY_DATA) as place:
        after = place.gdb("break random_number if 0", "ignore 1 7", "pmu delta work_by_data -r 1", "info breakpoints")
        assert "stop only if 0\n" in after.out and "ignore next 7 hits" in after.out and "_pmu_tested" not in after.out
        true = place.gdb("break random_number if $sp != 0", "ignore 1 1", "pmu delta work_by_data -r 50", "info breakpoints")
        assert "stopped by your breakpoint at scenarios.c:" in true.err and "restore --force" not in true.err and "already hit 2 times" in true.out


@pytest.mark.parametrize("what, says", [("tbreak random_number", "stopped by your breakpoint"), ("watch random_state", "stopped by your watchpoint"),
                                        ("hbreak work_by_data", "stopped by your breakpoint")])
def test_what_is_the_users_own_is_called_so(what, says):
    with DoorPlace("m4", "free", WORK_BY_DATA) as place:
        done = place.gdb(what, "pmu delta work_by_data -r 50")
        assert f"(exit code 3): {says}" in done.err and "restore --force" not in done.err, done.err


def test_single_steps_that_are_in_the_counts(tmp_path):
    """A software watchpoint: GDB steps through the hit, and what each halt adds is not known."""
    with own_place(tmp_path, "m4", SILENT, kind=DoorPlace, halt_cost=7) as place:
        for before in (["set pmu calibrate off"], []):
            done = place.gdb(*before, "set can-use-hw-watchpoints 0", "watch same", "pmu delta inner -r 2")
            assert re.search(r"^inner: at most [\d,]+ cycles \(2 hits\)", done.out, re.M), done.out + done.err


def test_refusals(tmp_path):
    with DoorPlace("m4", "free", WORK_BY_DATA | IN_RAM) as place:
        done = place.gdb("pmu delta in_ram -r 2", "pmu delta nothing_of_that_name", "pmu auto maybe", "pmu nonsense",
                         "pmu watch", "set pmu binary /nowhere/pmu-probe", "pmu info")
        assert "cannot set a breakpoint at 0x2000" in done.out + done.err
        assert "no symbol `nothing_of_that_name`" in done.err and "pmu auto: on [-e EVENTS] or off" in done.err
        assert "pmu-probe is not found. Build it" in done.err
        done = place.gdb("detach", "pmu info", "pmu help", "set pmu timeout", "show pmu", "set pmu events A,B", "show pmu events", "help pmu delta")
        assert "there is no target yet: target extended-remote HOST:PORT" in done.err
        assert "pmu auto on" in done.out and "events = A,B\n" in done.out and "timeout = 10s (default)\n" in done.out and done.out.count("pmu delta FUNCTION") == 2


def gdb_alone(*commands):
    """With the scripts, a program and no target."""
    words = [*GDB, "-batch", "-ex", f"source {SCRIPT}", "-ex", f"set pmu binary {TOOL}"]
    return subprocess.run([*words, *(word for command in commands for word in ("-ex", command))], text=True, capture_output=True, timeout=WAIT,
                          env=tool_environment())


def test_a_bound_is_told_by_the_functions():
    done = gdb_alone("python AUTO.engine, AUTO.busy = object(), True",
                     "python AUTO.values = {'CPU_CYCLES': [(5, '>'), (7, '<')], 'A': [(9, ''), (11, '?')]}",
                     'print $_pmu_delta("CYCLES")', 'print $_pmu("CYCLES")', 'print $_pmu_delta("A")', 'print $_pmu("A")',
                     "python AUTO.engine = None")
    assert re.findall(r"\$\d = (\d+)", done.stdout) == ["5", "7", "9"], done
    assert done.stderr.splitlines() == ["CYCLES is at least that", "CYCLES is at most that",
                                        "A: of some steps only a lower bound is known, of others an upper one"], done.stderr


def test_bounds_are_read_as_the_engine_sends_them():
    done = gdb_alone("python AUTO.engine = type('Engine', (), {'ask': lambda self, line: None,"
                     " 'serve': lambda self, take, prefix: take('value A <7 ?12') or True})()",
                     "python AUTO.ask('step', print); print(AUTO.values)", "python AUTO.engine = None")
    assert done.stdout.splitlines()[-1:] == ["{'A': [(7, '<'), (12, '?')]}"], (done.stdout, done.stderr)


@pytest.mark.parametrize("language", ["auto", "c++", "rust", "ada", "pascal", "fortran"])
def test_places_are_evaluated_in_each_language(language):
    done = gdb_alone("set $place = 4660", f"set language {language}", 'python print(engine_words("delta", ["*$place", "*$place + 2"])[-2:])')
    assert done.stdout == "['*0x1234', '*0x1236']\n", done


def test_functions_and_arrays_are_places(tmp_path):
    with DoorPlace("m4", "free", WORK_BY_DATA) as place:
        start = place.symbol("work_by_data")
        done = gdb_alone(f"file {place.elf}", 'python print(engine_words("delta", ["*work_by_data", "*work_by_data+4", "*&work_by_data", "*-4", "*(int)0x80001001"])[-5:])')
        assert done.stdout.splitlines()[-1] == str([f"*{start:#x}", f"*{start + 4:#x}", f"*{start:#x}", "*0xfffffffc", "*0x80001001"]), done


def test_an_array_that_only_gdb_has_is_no_place():
    done = gdb_alone("set $both = {1, 2}", "pmu delta *$both")
    assert done.stderr == "pmu: an array that only GDB has is at no address\n", done


def test_settings_and_functions_are_checked():
    with DoorPlace("m4", "free", WORK_BY_DATA) as place:
        done = place.gdb("set pmu frequency foo", "show pmu frequency", "set pmu frequency 12M", "set pmu frequency 12m", "show pmu frequency",
                         "set pmu timeout 500ms", "show pmu timeout", "print $_pmu()", "print $_pmu_delta(1, 2)", "show pmu binary",
                         "set pmu timeout 60s", "set pmu events LSUCNT", "pmu info", "pmu list", "pmu delta work_by_data -I 500", "pmu delta work_by_data -r 1")
        assert 'set pmu frequency: it takes a frequency, such as 12M; got "foo"' in done.err
        assert "frequency = SystemCoreClock (default)\n" in done.out and "frequency = 12M\n" in done.out
        assert "timeout = 500ms\n" in done.out and 'binary = ' in done.out
        assert '$_pmu takes the name of an event: $_pmu("CPU_CYCLES")' in done.err and "$_pmu_delta takes the name" in done.err
        assert "Cortex-M4" in done.out and "FOLDCNT" in done.out, "what is set is for those commands that take it"
        assert "pmu delta: -I is not for delta, which writes each hit with -j" in done.err and "help pmu delta shows what it takes" in done.err
        assert "LSUCNT " in done.out and "1 hit" in done.out and "pmu-probe help" not in done.out + done.err


def test_completion():
    with DoorPlace("a9", "free", WORK_BY_DATA) as place:
        done = place.gdb("complete pmu ", "complete pmu delta work_by", "complete pmu delta work_by_data -e L1D_CACHE", "complete pmu auto o",
                         "complete set pmu ")
        offered = place.gdb("complete pmu delta -", "complete pmu delta work_by_data --no", "complete pmu info --").out.splitlines()
        assert {"pmu delta -r", "pmu delta --repeat", "pmu delta -e", "pmu delta work_by_data --no-calibrate", "pmu info --core"} <= set(offered)
        assert not {"pmu delta --mend", "pmu info --repeat", "pmu delta -probe-stap", "pmu delta --probe-stap"} & set(offered)
        for line in ("pmu delta work_by_data", "pmu delta work_by_data -e L1D_CACHE_REFILL", "pmu auto on", "pmu calibrate", "set pmu events"):
            assert line in done.out.splitlines()


def test_ctrl_c_keeps_what_there_is():
    with DoorPlace("m4", "free", WORK_BY_DATA) as place:
        terminal = Terminal(place.elf, place.server.gdb_port())
        try:
            terminal.child.sendline("pmu delta work_by_data -r 100000")
            place.wait_for_stops(24)
            terminal.child.sendintr()
            terminal.child.expect_exact("(gdb) ")
            assert "CPU_CYCLES" in terminal.child.before and "Ctrl-C" in terminal.child.before
            assert "exit code" not in terminal.child.before
            place.board.wait_for(lambda state: state["run"] == "halted")
            assert not any(value & 1 for value in place.board.state()["fp_comp"])
            assert "1 hit" in terminal("pmu delta work_by_data -r 1")
            for tenth in range(8 if SOAK else 3):  # whatever GDB is doing for it
                terminal.child.sendline("echo in\\ step\\n")  # a prompt that is late is not the next one
                terminal.child.expect_exact("in step\r\n")
                terminal.child.expect_exact("(gdb) ")
                terminal.child.sendline("pmu delta work_by_data -r 100000")
                place.wait_for_stops(24)
                time.sleep(tenth / 10)
                terminal.child.sendintr()
                terminal.child.expect_exact("(gdb) ")
                assert "Ctrl-C" in terminal.child.before and "exit code" not in terminal.child.before
        finally:
            terminal.close()


@pytest.mark.parametrize("how", ["quit", "detach", "died"])
def test_auto_ends_with_gdb(how):
    with DoorPlace("m4", "free", WORK_BY_DATA) as place:
        before = place.board.state()
        terminal = Terminal(place.elf, place.server.gdb_port())
        try:
            terminal("pmu auto on")
            assert place.board.state()["dwt_ctrl"] & 1
            if how == "died":
                terminal.child.kill(9)
            else:
                terminal.child.sendline(how)
            place.board.wait_for(lambda state: all(state[name] == before[name] for name in ("dwt_ctrl", "demcr")))
        finally:
            terminal.close()


@pytest.mark.parametrize("chip", CHIPS)
def test_mi(chip, tmp_path):
    with DoorPlace(chip, "free", WORK_BY_DATA) as place:
        mi = Mi(place.elf, place.server.gdb_port())
        try:
            place.board.watch(0xFFFFFFF0)
            records, text = mi('-interpreter-exec console "pmu delta work_by_data -r 2"')
            assert "2 hits" in text and not any(record.startswith("^error") for record in records)
            truth = passages(place.board.log(), place.symbol("work_by_data"), returned)
            low, high = sorted(passage.cycles for passage in truth[:2])
            line = next(line for line in text.splitlines() if line.startswith("CPU_CYCLES"))
            assert line.split()[-2:] == [f"{low:,}", f"{high:,}"]
            assert "enabled for this measurement" in mi('-interpreter-exec console "pmu auto on"')[1] or chip == "rp2040"
            begin = place.board.state()["cycles"]
            mi("-exec-next")
            assert 'reason="end-stepping-range"' in mi.wait_for_stop()
            value = next(line for line in mi('-data-evaluate-expression "$_pmu(\\"CPU_CYCLES\\")"')[0] if line.startswith("^done"))
            assert value == f'^done,value="{place.board.state()["cycles"] - begin}"'
            assert "^done" in mi('-interpreter-exec console "pmu auto off"')[0]
        finally:
            mi.close()


def engine_of(terminal):
    """The process of pmu-probe that this GDB has started."""
    found = subprocess.run(["pgrep", "-P", str(terminal.child.pid), "pmu-probe"], capture_output=True, text=True).stdout.split()
    return int(found[0]) if found else None


def test_an_engine_that_is_killed_is_not_in_the_way_of_the_next():
    with DoorPlace("m4", "free", WORK_BY_DATA) as place:
        terminal = Terminal(place.elf, place.server.gdb_port())
        try:
            for tenth in range(5 if SOAK else 2):
                terminal.child.sendline("echo killed\\ soon\\n")
                terminal.child.expect_exact("killed soon\r\n")
                terminal.child.expect_exact("(gdb) ")
                terminal.child.sendline("pmu delta work_by_data -r 100000")
                place.wait_for_stops(24)
                time.sleep(tenth / 20)
                os.kill(engine_of(terminal), signal.SIGKILL)
                terminal.child.expect_exact("(gdb) ")
                assert "exit code -9" in terminal.child.before and "Exception" not in terminal.child.before
                said = terminal("pmu delta work_by_data -r 5")
                assert "5 hits" in said and "Ctrl-C" not in said, said
        finally:
            terminal.close()


def test_what_cannot_be_done_is_one_line():
    with DoorPlace("m4", "free", WORK_BY_DATA) as place:
        terminal = Terminal(place.elf, place.server.gdb_port())
        try:
            for command, says in [("pmu delta *$nosuch", "pmu: "), ("pmu delta *(1", "pmu: "), ('pmu delta "', "pmu: No closing quotation"),
                                  ('pmu auto on "', "pmu auto: No closing quotation"), ("pmu auto on *$nosuch", "pmu auto: ")]:
                said = terminal(command)
                assert says in said and "Exception" not in said and "Traceback" not in said, said
            for program in ("/bin/false", "/bin/true"):
                terminal(f"set pmu binary {program}")
                for command in ("pmu delta work_by_data", "pmu info", "pmu auto on"):
                    assert f"{program}" in (said := terminal(command)) and "printed nothing: is it pmu-probe?" in said, said
            terminal(f"set pmu binary {TOOL}")
            terminal("pmu auto on")
            terminal.child.sendline("pmu delta work_by_data -r 100000")
            place.wait_for_stops(24)
            place.server.kill()
            terminal.child.expect_exact("(gdb) ")
            assert "pmu auto is off" in terminal.child.before and "Exception" not in terminal.child.before, terminal.child.before
        finally:
            terminal.close()


@pytest.mark.parametrize("chip", CHIPS)
def test_record_top_and_report(chip, tmp_path):
    """By halts. GDB stays where it was interrupted last, and what was recorded can be shown there."""
    file = tmp_path / "p.jsonl"
    with DoorPlace(chip, "free", WORK_BY_DATA) as place:
        done = place.gdb(f"pmu record --for 3s -o {file}", "x/i $pc", f"pmu report {file}", f"pmu report {file} --sort line",
                         "pmu top --for 0.6s -I 300ms", f"pmu report {file} --sort nothing")
        assert "samples in" in done.out and "the core was halted at most" in done.out, done.out + done.err
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        assert lines[0]["source"] == "halts" and lines[-1]["why"] == "time" and lines[-1]["samples"] > 2
        assert done.out.count("by halts: ") >= 3 and re.search(r"^after ", done.out, re.M)
        assert re.search(r"% +[\d.?]+ +\d+  \w+ +\w+\.c:\d+$", done.out, re.M), done.out
        assert "pmu report: --sort takes" in done.err and "help pmu report shows what it takes" in done.err


def test_a_breakpoint_ends_the_record(tmp_path):
    file = tmp_path / "p.jsonl"
    with DoorPlace("m4", "free", WORK_BY_DATA) as place:
        done = place.gdb("break random_number", f"pmu record -o {file}", "print/x $pc")
        said = ("the core stopped by itself", "stopped by your breakpoint")  # in the time between two samples; or it was seen as one was taken
        assert any(f"pmu record failed (exit code 3): {words}" in done.err for words in said), done.out + done.err
        assert f"= {place.symbol('random_number'):#x}" in done.out
        end = json.loads(file.read_text().splitlines()[-1])
        assert end["why"] == "lost" and "breakpoint" in end["error"]


def test_ctrl_c_ends_the_record(tmp_path):
    file = tmp_path / "p.jsonl"
    with DoorPlace("m4", "free", WORK_BY_DATA) as place:
        terminal = Terminal(place.elf, place.server.gdb_port())
        try:
            terminal.child.sendline(f"pmu record -o {file}")
            wait_for(lambda: part_of(file) and '"samples"' in pathlib.Path(part_of(file)).read_text(), "the first samples")
            terminal.child.sendintr()
            terminal.child.expect("samples in")
            assert "Program received signal" not in terminal.child.before
            terminal.child.expect_exact("(gdb) ")
            assert "$1 = 5" in terminal("print 2 + 3")
        finally:
            terminal.close()
        assert json.loads(file.read_text().splitlines()[-1])["why"] == "Ctrl-C"


def rows_are_whole(text, columns):
    """Whether the window, of this width, has the lines of the source in their order, cut where they are long, and no other row."""
    rows = [line for line in text.splitlines() if re.match(r"[│|x]", line)]
    numbers = [re.match(r"[│|x] *(?:[\d.]+ %)? +>? *(\d+) ?", row) for row in rows]
    if len(rows) < 3 or not all(numbers) or any(len(row) != columns for row in rows):
        return False
    first = int(numbers[0].group(1))
    return [int(number.group(1)) for number in numbers] == list(range(first, first + len(rows)))


def test_the_source_with_shares(tmp_path):
    """In a window of GDB's TUI, on a real terminal."""
    with DoorPlace("m4", "free", WORK_BY_DATA) as place:
        setup = [f"set remotetimeout {WAIT}", f"source {SCRIPT}", f"set pmu binary {TOOL}", "set confirm off",
                 f"target extended-remote 127.0.0.1:{place.server.gdb_port()}", f"cd {tmp_path}"]
        screen = Screen([*GDB, place.elf, *(word for command in setup for word in ("-ex", command))])
        try:
            screen.type("hbreak work_by_data")
            screen.type("continue")
            screen.wait_for("Breakpoint 1, work_by_data", "the core at its function")
            screen.type("delete")
            for seconds in (2, 8, 40, 200):  # a busy machine takes longer for as many samples
                screen.type(f"pmu record --for {seconds}s")
                found = rf"--for {seconds}s[^$]*?([\d,]+) samples in "
                screen.wait_for(found, "the profile")
                if int(re.search(found, screen.text()).group(1).replace(",", "")) >= SAMPLES:
                    break
            screen.type("hbreak work_by_data")  # it was wherever the last sample was
            screen.type("continue")
            screen.wait_for("Breakpoint 2, work_by_data", "the core at its function")
            screen.type("layout pmu")
            screen.wait_for(r"scenarios\.c +profile\.jsonl", "the window")
            screen.wait_for(r"\d\.\d\d %[ >] +\d+ .*hidden_step", "a line with its share")
            assert re.search(r" > +\d+ ", screen.text()), screen.text()
            for columns, lines in ((60, 15), (120, 40)):
                screen.resize(columns, lines)
                wait_for(lambda size=columns: rows_are_whole(screen.text(), size), f"a row for each line at {columns} columns")
        finally:
            screen.close()

"""What a run leaves that does not end, and the way back: the journal, `restore`, and what the next run says."""
import fcntl
import glob
import json
import os
import random
import re
import signal
import subprocess
import time

import pytest

from cmsis_dap import Dap
from harness import (IN_RAM, INTERRUPTED, SOAK, TOOL, WORK_BY_DATA, Place, finish_tool, forget_journal, passages, places, returned, run_tool,
                     start_tool, unfolded, wait_for)
from test_trace import CODE_IN_RAM

KILLS = 12 if SOAK else 2
LATEST = 0.6  # seconds, for a kill
WAYS = [chip + wires for chip in ("m4", "rp2040", "rp2350", "m55", "a9", "a53", "r5", "r52", "a53in32", "r52hyp", "a53el2") for wires in ("", "/swd", "/jtag", "/v2")
        if chip not in ("rp2040", "rp2350") or wires != "/jtag"]
# What runs on by itself, what a read of it changes, and what only transfers data: DCRDR, TAR, CSW's last size
MOVES = {"pc", "sp", "lr", "xpsr", "cpsr", "cyccnt", "profile", "syst_cvr", "cycles", "counted", "instructions", "halts", "tar", "tar1",
         "accesses", "ram_hash", "strays", "dcrdr", "moe", "aborts", "events", "pmccntr", "pmevcntr", "counters", "icsr", "sticky"}


def snapshot(place):
    place.wait_for_start()
    state = {name: value for name, value in place.board.state().items() if name not in MOVES}
    if "syst_csr" in state:  # COUNTFLAG is set by itself, when SysTick wraps
        state["syst_csr"] &= ~(1 << 16)
    if place.server:  # OpenOCD uses the access ports next to us
        state = {name: value for name, value in state.items() if not name.startswith(("csw", "control", "tar"))}
    return state


def journals(folder):
    return glob.glob(os.path.join(folder, "*.journal"))


def fnv(text):
    """FNV-1a, of which the names of locks and journals are made."""
    key = 0xCBF29CE484222325
    for byte in text.encode():
        key = (key ^ byte) * 0x100000001B3 % (1 << 64)
    return key


def let_peer_finish(place):
    """It carries out what it has been sent."""
    if place.server:
        place.server("version")
    elif place.usb:
        place.board.usb_closed()
    else:
        with Dap(place.board.dap_port) as probe:  # it answers the next host when it has done what the last one has sent
            assert probe.info(4)


def killed(place, *args, hits=None):
    process = place.start("delta", "-j", *(args or ["work_by_data"]), "-r", 10000000)
    if hits is None:
        time.sleep(random.uniform(0, LATEST))
    else:
        place.wait_for_stops(hits)
    process.kill()
    process.communicate()
    let_peer_finish(place)


def measures(place, *args):
    result = place.delta(*(args or ["work_by_data"]), "-r", 3)
    truth = [passage.cycles for passage in passages(place.board.log(), place.symbol((args or ["work_by_data"])[0]), returned)]
    assert len(result.cycles) == 3 and all(cycles in truth for cycles in result.cycles)


def assert_runs(place):
    before = place.board.state()["cycles"]
    place.board.wait_for(lambda state: state["run"] == "running" and state["cycles"] > before)


@pytest.mark.any_row(2)
@pytest.mark.parametrize("way", WAYS)
def test_a_killed_run_is_undone(way, state_folder):
    with Place(way, "free", WORK_BY_DATA) as place:
        random.seed(f"{os.environ['PMU_SEED']} restore {way}")
        measures(place)
        before = snapshot(place)
        for hits in [30] + [None] * KILLS:
            killed(place, hits=hits)
            left = journals(state_folder)
            result = run_tool("--elf", place.elf, "restore") if not place.usb else place.run("restore")
            assert result.code == 0, result.err
            assert hits is None or "put back" in result.out and "did not end" in result.out, (left, result.out)
            assert journals(state_folder) == []
            assert_runs(place)
            if not left:  # killed before it changed the core, the next run puts the debug port back
                assert place.run("info").code == 0
            assert snapshot(place) == before
            if place.server:
                assert place.server.polls()
        measures(place)


@pytest.mark.parametrize("way", ["m4", "a9/swd"])
def test_the_next_run_names_it(way, state_folder):
    with Place(way, "free", WORK_BY_DATA) as place:
        before = snapshot(place)
        killed(place, hits=30)
        place.board.wait_for(lambda state: state["run"] == "halted")
        changed = snapshot(place)
        for command in (["delta", "work_by_data"], ["stat", "--for", "0.1"], ["doctor", "work_by_data"]):
            refused = place.run(*command)
            assert refused.code == 3 and re.search(
                r"a run of `delta` at \d\d:\d\d \(process \d+\) did not end\. It left core 0 \(Cortex-.*\) halted, and \d+ registers changed",
                refused.err), refused.err
            assert "pmu-probe restore puts the target back" in refused.err
        for command in (["info"], ["list"]):
            reported = place.run(*command, elf=command != ["list"])
            assert reported.code == 0 and "did not end" in reported.err and "pmu-probe restore" in reported.err
        now = snapshot(place)
        assert {name: (changed[name], now[name]) for name in now if now[name] != changed[name] and not name.startswith("csw")} == {}
        assert place.run("restore").code == 0
        assert snapshot(place) == before
        measures(place)
        again = place.run("restore")
        assert again.code == 0 and "nothing to restore" in again.out


@pytest.mark.parametrize("way", ["m4/swd", "rp2040"])
def test_breakpoints_in_ram(way, state_folder):
    with Place(way, "free", IN_RAM) as place:
        code = place.board.read("in_ram", CODE_IN_RAM)
        for _ in range(20):
            killed(place, "in_ram", hits=30)
            if place.board.read("in_ram", CODE_IN_RAM) != code:
                break
            assert place.run("restore").code == 0
        assert place.board.read("in_ram", CODE_IN_RAM) != code
        result = place.run("restore")
        assert result.code == 0 and "breakpoint instructions in RAM" in result.out
        assert place.board.read("in_ram", CODE_IN_RAM) == code
        assert_runs(place)
        measures(place, "in_ram")


def test_a_target_that_lost_its_power_has_nothing_left(state_folder):
    with Place("m4/swd", "free", WORK_BY_DATA) as place:
        killed(place, hits=30)
        assert journals(state_folder)
        place.board.command("power off")
        place.board.command("power on")
        wait_for(lambda: place.board.state()["run"] == "running", "the program")
        place.set_scenario(WORK_BY_DATA)
        measures(place)
        assert journals(state_folder) == []


def test_a_stop_of_another_debugger_stays(state_folder):
    """Its comparator is not among those that the run had."""
    with Place("m4", "free", WORK_BY_DATA) as place:
        killed(place, hits=30)
        assert place.run("restore").code == 0
        place.server("halt")
        place.server.wait_halt()
        place.server(f"bp {place.symbol('Reset_Handler') & ~1:#x} 2 hw")
        place.server("resume")
        before = place.board.state()["fp_comp"]
        killed(place, hits=30)
        result = place.run("restore")
        assert result.code == 0, result.err
        assert place.board.state()["fp_comp"] == before


def test_a_journal_of_another_target(state_folder):
    with Place("m4/swd", "free", WORK_BY_DATA) as place:
        killed(place, hits=30)
        path, = journals(state_folder)
        with open(path, encoding="ascii") as file:
            lines = file.read().split("\n")
        head = json.loads(lines[0])
        head["id"] = 0x410fc210
        with open(path, "w", encoding="ascii") as file:
            file.write("\n".join([json.dumps(head)] + lines[1:]))
        changed = place.board.state()
        result = place.run("restore")
        assert result.code == 3 and "the target has no core 0 that is" in result.err
        after = place.board.state()
        assert after["fp_comp"] == changed["fp_comp"] and after["demcr"] == changed["demcr"] and after["run"] == "halted"
        assert journals(state_folder) == [path]


@pytest.mark.parametrize("way", ["m4", "m4/swd"])
def test_one_at_a_time(way):
    with Place(way, "free", WORK_BY_DATA) as place:
        place.board.watch(0)
        process = place.start("delta", "-j", "work_by_data", "-r", 10000000)
        place.wait_for_stops(10)
        for command in (["delta", "work_by_data"], ["stat", "--for", "0.1"], ["info"], ["restore"]):
            second = place.run(*command)
            assert second.code == 3 and f"is in use by process {process.pid} (" in second.err, second.err
            assert "pmu-probe restore takes its place" in second.err
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate()
        assert '"end"' in out
        assert place.run("info").code == 0


def restore_of_all(place):
    """Without a link that is named: those of all journals."""
    words = [TOOL, "--elf", place.elf, "restore"]
    return finish_tool(start_tool(place.board.in_namespace(words) if place.usb else words))


@pytest.mark.parametrize("way", ["m4/swd", "m4/v1"])
def test_a_run_under_way_is_left_alone(way, state_folder):
    with Place(way, "free", WORK_BY_DATA) as place:
        process = place.start("delta", "-j", "work_by_data", "-r", 10000000)
        place.wait_for_stops(10)
        kept = journals(state_folder)
        result = restore_of_all(place)
        assert result.code == 0 and "nothing to restore: the runs that have a journal are under way" in result.out, result
        assert kept and journals(state_folder) == kept
        assert finish_tool(process, signal.SIGINT).code == INTERRUPTED


def test_who_else_has_the_probe_keeps_a_journal_from_being_put_back(monkeypatch, tmp_path, state_folder):
    """Another user's pmu-probe: it knows nothing of the journal, and `restore` nothing of its lock."""
    with Place("m4/v1", "free", WORK_BY_DATA) as place:
        before = snapshot(place)
        process = place.start("stat", "--for", "1000")
        wait_for(lambda: journals(state_folder), "its first write")
        process.kill()
        process.communicate()
        let_peer_finish(place)
        kept = journals(state_folder)
        with monkeypatch.context() as other:
            other.setenv("XDG_STATE_HOME", str(tmp_path))
            process = place.start("delta", "work_by_data", "-r", 100_000_000)
            place.wait_for_stops(6)
        result = restore_of_all(place)
        assert result.code == 3 and "in use by another pmu-probe, perhaps another user's" in result.err, result
        assert "under way" not in result.out and kept and journals(state_folder) == kept
        assert finish_tool(process, signal.SIGINT).code == INTERRUPTED
        assert restore_of_all(place).code == 0 and journals(state_folder) == []
        assert snapshot(place) == before


def test_a_journal_is_not_of_the_pmu_probe_that_has_its_link(state_folder):
    """Its run was killed, and another process of this user has the lock."""
    with Place("m4/swd", "free", WORK_BY_DATA) as place:
        killed(place, hits=30)
        kept = journals(state_folder)
        link = json.loads(open(kept[0], encoding="ascii").readline())["link"]
        with subprocess.Popen(["sleep", "60"]) as other, open(os.path.join(state_folder, f"{fnv(link):016x}.lock"), "w", encoding="ascii") as lock:
            lock.write(f"{other.pid}\n\n")
            lock.flush()
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            result = restore_of_all(place)
            other.kill()
        assert result.code == 3 and f"is in use by process {other.pid} (sleep 60)" in unfolded(result.err), result
        assert "under way" not in result.out and journals(state_folder) == kept
        assert restore_of_all(place).code == 0


def test_without_a_place_for_it(monkeypatch):
    """The measurement goes on, and says that there is no journal."""
    monkeypatch.setenv("XDG_STATE_HOME", "/proc/none")
    with Place("m4/swd", "free", WORK_BY_DATA) as place:
        result = place.run("delta", "work_by_data", "-r", 3)
        assert result.code == 0 and "no journal is kept" in result.err
        quiet = place.run("delta", "-q", "work_by_data", "-r", 3)
        assert quiet.code == 0 and quiet.err == ""


def on_a_full_disk(place, kilobytes, *args):
    """The tool can write so much of a file."""
    return start_tool(["sh", "-c", f"trap '' XFSZ; ulimit -f {2 * kilobytes}; exec \"$@\"", "sh", *place.words(*args)])


@pytest.mark.parametrize("kilobytes", [0, 4, 7])
@pytest.mark.parametrize("way", ["m4/swd", "m4", "a9/swd", "a53", "r5/swd"])
def test_a_full_disk(way, kilobytes, state_folder):
    """The measurement goes on, and says that there is no journal: before the first write, or when the disk got full."""
    with Place(way, "free", WORK_BY_DATA) as place:
        measures(place)
        before = snapshot(place)
        result = finish_tool(on_a_full_disk(place, kilobytes, "delta", "work_by_data", "-r", 3))
        assert result.code == 0 and result.err.count("no journal is kept") == 1 and ".journal: " in result.err, result.err
        quiet = finish_tool(on_a_full_disk(place, kilobytes, "delta", "-q", "work_by_data", "-r", 3))
        assert quiet.code == 0 and quiet.err == ""
        assert journals(state_folder) == [] and snapshot(place) == before


@pytest.mark.parametrize("kilobytes", [0, 4, 7])
@pytest.mark.parametrize("way", ["m4/swd", "m4"])
def test_killed_on_a_full_disk(way, kilobytes, state_folder):
    """What it left is not known, and nothing says that it is nothing, until all is released."""
    with Place(way, "free", WORK_BY_DATA) as place:
        measures(place)
        process = on_a_full_disk(place, kilobytes, "delta", "-j", "work_by_data", "-r", 10000000)
        place.wait_for_stops(30)
        process.kill()
        process.communicate()
        let_peer_finish(place)
        left = journals(state_folder)
        assert len(left) == 1
        for command in (["delta", "work_by_data"], ["stat", "--for", "0.1"]):
            refused = place.run(*command)
            assert refused.code == 3 and "did not end" in refused.err, refused.err
        reported = place.run("info")
        assert reported.code == 0 and "did not end" in reported.err
        assert journals(state_folder) == left
        for words in (place.words("restore"), place.words("restore")[:1] + ["restore"]):
            result = finish_tool(start_tool(words))
            assert result.code == 3 and "pmu-probe restore --force" in unfolded(result.err), result.out + result.err
            assert "every run" not in result.out and journals(state_folder) == left
        assert place.run("restore", "--force").code == 0
        assert journals(state_folder) == []
        assert_runs(place)
        measures(place)


@pytest.mark.parametrize("way", ["m4/swd", "rp2040", "a9", "a53/swd", "r5"])
def test_restore_without_a_journal_says_what_it_does_not_know(way, state_folder):
    with Place(way, "free", WORK_BY_DATA) as place:
        measures(place)
        before = snapshot(place)
        for words in (place.words("restore"), place.words("restore")[:1] + ["restore"]):
            result = finish_tool(start_tool(words))
            assert result.code == 0 and f"no journal in {state_folder}" in result.out, result.out + result.err
        assert snapshot(place) == before
        killed(place, hits=30)
        place.board.wait_for(lambda state: state["run"] == "halted")
        forget_journal()
        changed = place.board.state()
        result = place.run("restore")
        assert result.code == 3 and f"no journal in {state_folder}" in result.out, result.out
        assert re.search(r"core 0 \(.*\) is halted, and has \d+ breakpoints? or catch(es)? set", unfolded(result.err)), result.err
        assert "pmu-probe restore --force" in unfolded(result.err)
        assert {name: value for name, value in place.board.state().items() if name in ("run", "fp_comp", "bcr", "demcr", "vcr")} == \
            {name: value for name, value in changed.items() if name in ("run", "fp_comp", "bcr", "demcr", "vcr")}


def test_a_run_that_ends_leaves_no_file(state_folder):
    with Place("a53/swd", "free", WORK_BY_DATA) as place:
        for end in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            process = place.start("delta", "-j", "work_by_data", "-r", 10000000)
            place.wait_for_stops(10)
            process.send_signal(end)
            process.communicate()
            assert os.listdir(state_folder) == []

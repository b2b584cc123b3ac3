"""The ways to a core's PMU through a GDB server: which is taken, what `info` says of the others, and that what comes by a
server's monitor is the board's truth."""
import re

import pytest

from gdb_door import DoorPlace, run_gdb
from gdb_monitor import MonitorServer
from gdb_place import GdbPlace, PyOcdPlace, Qemu
from harness import NOWHERE, WORK_BY_DATA, Run, passages, returned, run_tool
from usb import usb_available

NAMES = {"jlink": "J-Link", "pyocd": "pyOCD"}
WAYS = ["memory", "OpenOCD's monitor", "J-Link's monitor", "pyOCD's monitor"]


def access(text):
    """What `info` says: the one in use, and the words of each."""
    found = re.search(r"^access\n((?:[* ] .*\n)+)", text, re.MULTILINE)
    assert found, text
    lines = re.sub(r"\n {3,}", " ", found.group(1)).splitlines()  # what folds goes on below
    assert [line[2:20].rstrip() for line in lines] == WAYS
    used = [line[2:20].rstrip() for line in lines if line[0] == "*"]
    assert len(used) <= 1
    return used[0] if used else None, {line[2:20].rstrip(): line[21:] for line in lines}


@pytest.mark.parametrize("chip, used, how", [
    ("m4", "memory", "in use"), ("a9", "OpenOCD's monitor", "in use, by a mem_ap target"),
    ("a53", "OpenOCD's monitor", "in use, by"), ("r5", "OpenOCD's monitor", "in use, by")])
def test_behind_openocd(chip, used, how):
    with GdbPlace(chip, "free", WORK_BY_DATA) as place:
        before = place.board.state()
        found, why = access(place.run("info").out)
        assert found == used and why[used].startswith(how) and why["pyOCD's monitor"] == "not needed", why
        if used != "memory":
            assert "no PMU" in why["memory"]
        after = place.board.state()
        for name in ("dwt_ctrl", "demcr", "pmcr", "pmcntenset"):
            assert before.get(name) == after.get(name)


def test_behind_qemu():
    with Qemu("an385") as qemu:
        found, why = access(qemu.run("info").out)
        assert found == "memory" and "what is written is ignored" in why["memory"] and why["J-Link's monitor"] == "the server is QEMU"
        assert "nothing can be measured in this way" in run_gdb(qemu.elf, qemu.port, "pmu info").out
    with Qemu("a15") as qemu:
        info = qemu.run("info")
        found, why = access(info.out)
        assert info.code == 3 and found is None and "no PMU" in why["memory"]
        assert why["OpenOCD's monitor"] == "the server is QEMU"


@pytest.mark.parametrize("dialect, packets", [("jlink", "refused"), ("jlink", "ignored"), ("pyocd", "refused"), ("pyocd", "ignored")])
def test_memory_by_the_monitor(dialect, packets):
    with GdbPlace("m4", "free", WORK_BY_DATA, halt_cost=7) as place:
        before = place.board.state()
        server = MonitorServer(place.server.gdb_port(), dialect, packets)
        words = ["--elf", place.elf, "-p", f"gdb:127.0.0.1:{server.port}"]
        place.board.watch(NOWHERE)
        result = run_tool(*words, "delta", "-j", "work_by_data", "-r", 3)
        assert result.code == 0, result.err
        truth = passages(place.board.log(), place.symbol("work_by_data"), returned)
        assert result.cycles == [passage.cycles for passage in truth[:3]]
        assert result.summary["columns"]["CPU_CYCLES"]["overhead"] == 7
        assert f"{NAMES[dialect]}, PMU by its monitor" in result.header["link"]
        assert {command.split()[0] for command in server.commands} >= (
            {"memU32"} if dialect == "jlink" else {"memU32", "read32", "write32"})  # the other is asked first
        server.close()
        after = place.board.state()
        for name in ("dwt_ctrl", "demcr"):
            assert before[name] == after[name]


@pytest.mark.parametrize("dialect", ["jlink", "pyocd"])
def test_memory_by_the_monitor_in_gdb(dialect, tmp_path):
    with DoorPlace("m4", "free", WORK_BY_DATA) as place:
        server = MonitorServer(place.server.gdb_port(), dialect)
        place.board.watch(NOWHERE)
        file = tmp_path / "run.jsonl"
        done = run_gdb(place.elf, server.port, "pmu info", f"pmu delta work_by_data -r 2 -j {file}")
        found, why = access(done.out)
        assert found == f"{NAMES[dialect]}'s monitor" and why[found] == "in use" and "cannot read" in why["memory"], done.out
        truth = passages(place.board.log(), place.symbol("work_by_data"), returned)
        assert Run(0, file.read_text(), "").cycles == [passage.cycles for passage in truth[:2]], done.out + done.err
        server.close()


@pytest.mark.parametrize("dialect", ["jlink", "pyocd"])
@pytest.mark.parametrize("command", ["info", "delta"])
def test_a_monitor_whose_writes_are_ignored(dialect, command):
    with GdbPlace("m4", "free", WORK_BY_DATA) as place:
        server = MonitorServer(place.server.gdb_port(), dialect, "ignored", deaf=True)
        done = run_tool("--elf", place.elf, "-p", f"gdb:127.0.0.1:{server.port}", command, *(["work_by_data"] if command == "delta" else []))
        server.close()
        if command == "info":
            found, why = access(done.out + done.err)
            assert done.code == 0 and found == "memory" and "nothing can be measured in this way" in done.out
            assert "what is written is ignored" in why["memory"] and "what is written is ignored" in why[f"{NAMES[dialect]}'s monitor"]
        else:
            assert done.code == 3 and "does not take" in done.err and "CPU_CYCLES" not in done.out


@pytest.mark.skipif(usb_available() is not None, reason=str(usb_available()))
@pytest.mark.parametrize("hidden", [False, True])
def test_behind_pyocd(hidden):
    """Debian's has no monitor command for memory: asked for one, it says so."""
    with PyOcdPlace("m4/v1", "free", WORK_BY_DATA) as place:
        place.serve()
        server = MonitorServer(place.pyocd.port, None) if hidden else place.pyocd
        info = run_tool("-p", f"gdb:127.0.0.1:{server.port}", "info")
        found, why = access(info.out + info.err)
        if not hidden:
            assert info.code == 0 and found == "memory" and why["memory"] == "in use"
        else:
            assert info.code == 3 and "cannot read" in why["memory"]
            assert "the server's monitor says \"Invalid Command: " in why["J-Link's monitor"] and "memU32" in why["J-Link's monitor"]
            assert "the server's monitor says \"Invalid Command: " in why["pyOCD's monitor"] and "read32" in why["pyOCD's monitor"]
            server.close()

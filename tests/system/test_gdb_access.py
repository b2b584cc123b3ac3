"""The ways to a core's PMU through a GDB server: which one the tool uses, and how `info` explains the other."""
import re

import pytest

from gdb_door import run_gdb
from gdb_place import GdbPlace, PyOcdPlace, Qemu
from harness import WORK_BY_DATA, run_tool
from usb import usb_available

WAYS = ["memory", "OpenOCD's monitor"]


def access(text):
    """What `info` says: the one in use, and the words of each."""
    found = re.search(r"^access\n((?:  .*\n)+)", text, re.MULTILINE)
    assert found, text
    lines = re.sub(r"\n {3,}", " ", found.group(1)).splitlines()  # what folds goes on below
    rows = [row.groups() for row in (re.fullmatch(r"  (\* )?(.+?)  +(\S.*)", line) for line in lines) if row]
    assert [way for _, way, _ in rows] == WAYS
    used = [way for mark, way, _ in rows if mark]
    assert len(used) <= 1
    return used[0] if used else None, {way: why for _, way, why in rows}


@pytest.mark.parametrize("chip, used, how", [
    ("m4", "memory", "in use"), ("a9", "OpenOCD's monitor", "in use, by a mem_ap target"),
    ("a53", "OpenOCD's monitor", "in use, by"), ("r5", "OpenOCD's monitor", "in use, by")])
def test_behind_openocd(chip, used, how):
    with GdbPlace(chip, "free", WORK_BY_DATA) as place:
        before = place.board.state()
        found, why = access(place.run("info").out)
        assert found == used and why[used].startswith(how)
        if used != "memory":
            assert "no PMU" in why["memory"]
        after = place.board.state()
        for name in ("dwt_ctrl", "demcr", "pmcr", "pmcntenset"):
            assert before.get(name) == after.get(name)


def test_behind_qemu():
    with Qemu("an385") as qemu:
        found, why = access(qemu.run("info").out)
        assert found == "memory" and "writes are ignored" in why["memory"] and why["OpenOCD's monitor"] == "the server is QEMU"
        assert "nothing can be measured in this way" in run_gdb(qemu.elf, qemu.port, "pmu info").out
    with Qemu("a15") as qemu:
        info = qemu.run("info")
        found, why = access(info.out)
        assert info.code == 3 and found is None and "no PMU" in why["memory"]
        assert why["OpenOCD's monitor"] == "the server is QEMU"


@pytest.mark.skipif(usb_available() is not None, reason=str(usb_available()))
def test_behind_pyocd():
    with PyOcdPlace("m4/v1", "free", WORK_BY_DATA) as place:
        place.serve()
        info = run_tool("-p", f"gdb:127.0.0.1:{place.pyocd.port}", "info")
        found, why = access(info.out + info.err)
        assert info.code == 0 and found == "memory" and why["memory"] == "in use"

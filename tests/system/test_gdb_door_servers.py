"""`pmu` in GDB before other servers: real QEMUs, whose counters measure nothing and are refused, and Debian's pyOCD."""
import csv
import io
import os
import re

import pytest

from gdb_door import run_gdb
from gdb_place import PyOcdPlace, QEMU, Qemu
from harness import ROOT, WORK_BY_DATA, passages, returned
from usb import usb_available

pytestmark = pytest.mark.any_fifth

CLIENT = os.path.join(ROOT, "tests", "system", "clients", "door_client.py")
NO_USB = pytest.mark.skipif(usb_available() is not None, reason=str(usb_available()))


@pytest.mark.parametrize("machine", QEMU)
def test_qemu_obeys_the_door(machine, monkeypatch):
    with Qemu(machine) as qemu:
        work, size = qemu.symbol("work"), 2 if machine.startswith("an") else 4
        monkeypatch.setenv("DOOR_PLACE", f"{work:x} {size}")
        done = run_gdb(qemu.elf, qemu.port, f"set pmu binary {CLIENT}", "pmu info")
        said = dict(re.findall(r"^(.+?): (.*)$", done.out, re.MULTILINE))
        assert f"pmu.server=127.0.0.1:{qemu.port}" in said["qSupported:swbreak+"] and said["qqemu.sstepbits"].startswith("ENABLE="), done.out + done.err
        assert re.fullmatch("[0-9a-f]{8}", said[f"m{work:x},4"]) and said[f"Z1,{work:x},{size}"] == said[f"z1,{work:x},{size}"] == "OK"
        assert said["?"] == "T05" and done.out.count("c: T05halts:0;steps:0;") == 2 and said["s"] == "T05halts:0;steps:0;"
        assert work.to_bytes(8, "little").hex() in (answer for packet, answer in said.items() if packet[0] == "p")
        assert said["interrupted"] == "T02halts:0;steps:0;"
        assert said["pffff"][:2] == said["Z1,zz,2"][:2] == said["m0"][:2] == "E." and said["dance"] == ""


@pytest.mark.parametrize("machine, name", [("an385", "Cortex-M3"), ("an505", "Cortex-M33")])
def test_qemu_cortex_m_is_found_and_refused(machine, name):
    with Qemu(machine) as qemu:
        done = run_gdb(qemu.elf, qemu.port, "hbreak work", "continue", "delete", "pmu info", "pmu delta work -r 5", "set pmu calibrate off",
                       "pmu delta work -r 5 --counter systick", "pmu auto on")
        assert name in done.out and "SysTick, 24 bits" in done.out
        assert (done.out + done.err).count("is an emulator: its") == 3, done.out + done.err
        assert "CPU_CYCLES" not in done.out and "auto is not on" in done.err


@pytest.mark.parametrize("machine", ["a15", "a53"])
def test_qemu_shows_no_pmu(machine):
    with Qemu(machine) as qemu:
        done = run_gdb(qemu.elf, qemu.port, "pmu info", "pmu delta work -r 5")
        assert " ".join((done.out + done.err).split()).count("by its memory and registers, where no PMU is") == 2, done.out + done.err
        assert "CPU_CYCLES" not in done.out


@NO_USB
@pytest.mark.soak
def test_pyocd(tmp_path):
    with PyOcdPlace("m4/v1", "free", WORK_BY_DATA, halt_cost=7) as place:
        place.serve()
        place.board.watch(0xFFFFFFF0)
        file = tmp_path / "run.csv"
        done = run_gdb(place.elf, place.pyocd.port, "pmu info", f"pmu delta work_by_data -r 3 -x , -o {file}", "pmu delta work_by_data -r 3")
        truth = passages(place.board.log(), place.symbol("work_by_data"), returned)
        assert "Cortex-M4" in done.out and "3 hits" in done.out and re.search(r"^CPU_CYCLES .* 7$", done.out, re.M), done.out + done.err
        cycles = [passage.cycles for passage in truth[:3]]
        row, = csv.DictReader(io.StringIO(file.read_text()))
        assert (row["name"], int(row["min"]), int(row["max"])) == ("CPU_CYCLES", min(cycles), max(cycles))

"""The emulator rp2040js as GDB server, with the virtual RP2040's own firmware: found, examined, and refused with the reason.
It counts by its own table how long each instruction is to take, and single steps take none: no cycles of a core."""
import re
import subprocess

import pytest

from gdb_door import run_gdb
from gdb_place import GdbClient
from harness import run_tool
from rp2040js import Rp2040js, rp2040js_missing

SYST_CSR, SYST_CVR = 0xE000E010, 0xE000E018


@pytest.fixture(autouse=True)
def emulator_is_there():
    why = rp2040js_missing()
    if why is not None:
        pytest.skip(why)


def symbol(elf, name):
    out = subprocess.run(["arm-none-eabi-nm", elf], check=True, capture_output=True, text=True).stdout
    return next(int(line.split()[0], 16) for line in out.splitlines() if line.split()[2] == name)


def test_breakpoints_memory_and_registers():
    with Rp2040js("rp2040-free") as emulator, GdbClient(emulator.port) as client:
        assert client.hello == "ok - arm"
        work = symbol(emulator.elf, "work_by_data")
        code = client.ask(f"read {work:x} 2")
        assert client.ask(f"break {work:x} 2") == "error the GDB server knows no hardware breakpoints"
        assert client.ask(f"write {work:x} 00be") == "ok"  # a BKPT in its flash, which is what GDB itself does there
        for _ in range(3):
            assert client.ask("run") == "ok" and client.ask("wait 20000").split()[0] == "trap"
            assert int(client.ask("register pc"), 16) == work
            assert client.ask(f"write {work:x} {code}") == "ok"
            assert client.ask("step") == "ok" and client.ask("wait 20000").split()[0] == "trap"
            assert int(client.ask("register pc"), 16) != work
            assert client.ask(f"write {work:x} 00be") == "ok"
        assert client.ask(f"write {work:x} {code}") == "ok"
        assert client.ask("run") == "ok" and client.ask("wait 50").split()[0] == "runs"
        assert client.ask("interrupt") == "ok" and client.ask("wait 20000").split()[0] == "requested"


def test_its_systick_is_no_clock_of_a_core():
    with Rp2040js("rp2040-free") as emulator, GdbClient(emulator.port) as client:
        work = symbol(emulator.elf, "work_by_data")
        code = client.ask(f"read {work:x} 2")
        client.ask(f"write {SYST_CSR:x} 05000000")
        client.ask(f"write {work:x} 00be")
        for _ in range(2):  # the first time there is no reload yet
            client.ask("run")
            assert client.ask("wait 20000").split()[0] == "trap"
            client.ask(f"write {work:x} {code}")
            at = client.ask(f"read {SYST_CVR:x} 4")
            for _ in range(5):
                client.ask("step")
                client.ask("wait 20000")
            assert client.ask(f"read {SYST_CVR:x} 4") == at  # five instructions, and no time at all
            client.ask(f"write {work:x} 00be")
        client.ask("run")
        client.ask("wait 20000")
        assert client.ask(f"read {SYST_CVR:x} 4") != at  # which does go by while it runs


def test_it_is_found_and_refused():
    with Rp2040js("rp2040-free") as emulator:
        words = ["--elf", emulator.elf, "-p", f"gdb:127.0.0.1:{emulator.port}"]
        info = run_tool(*words, "info")
        assert info.code == 0 and "Cortex-M0+" in info.out and "SysTick, 24 bits" in info.out
        assert re.search(r"\* memory +writes are ignored: DCRDR stays 0xFFFFFFFF", info.out), info.out
        assert re.search("breakpoints +the debugger's own", info.out)
        for counter in ([], ["--counter", "systick"]):
            refused = run_tool(*words, "delta", "work_by_data", "-r", 3, *counter)
            assert refused.code == 3 and "is an emulator: its" in refused.err and "CPU_CYCLES" not in refused.out


def test_in_gdb():
    with Rp2040js("rp2040-free") as emulator:
        done = run_gdb(emulator.elf, emulator.port, "break work_by_data", "continue", "print $pc", "delete", "pmu info",
                       "pmu delta work_by_data -r 2", "pmu auto on")
        assert "Breakpoint 1, work_by_data" in done.out and "Cortex-M0+" in done.out
        said = done.out + done.err
        assert "writes are ignored" in said and "is an emulator: its" in said
        assert "CPU_CYCLES" not in done.out and "auto is not on" in done.err

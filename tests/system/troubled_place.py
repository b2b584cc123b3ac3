"""Places whose link leads through the proxy of trouble.py, by every kind of link, and what a run must leave as it was."""
import os
import re
import subprocess
import tempfile
import time

import harness
from cmsis_dap import Dap
from gdb_place import GdbPlace
from harness import NOWHERE, RELEASE, WORK_BY_DATA, Place, finish_tool, passages, returned, start_tool, wait_for
from trouble import Proxy, dap_message, gdb_message, openocd_message

# What goes on by itself, and what reading changes
MOVING = {"pc", "sp", "lr", "xpsr", "cpsr", "cycles", "counted", "instructions", "halts", "moe", "csw", "tar", "csw0", "tar0",
          "csw1", "tar1", "tar_high", "accesses", "ram_hash", "sticky", "icsr", "dcrdr", "syst_cvr", "cyccnt", "profile", "pmu_ccntr",
          "pmu_evcntr", "pmu_ovsset", "control", "aborts", "pending", "level"}
COUNTFLAG, CODE_IN_RAM = 1 << 16, 10  # of SYST_CSR; bytes


class TroubledPlace:
    """`way` as of Place, or "gdb CHIP". USB has no proxy: there the cable is pulled."""

    def __init__(self, way, function="work_by_data", scenario=WORK_BY_DATA, **options):
        self.way, self.gdb, self.function = way, way.startswith("gdb "), function
        self.place = (GdbPlace if self.gdb else Place)(way.removeprefix("gdb "), "free", scenario, **options)
        self.board, self.server, self.usb, self.elf = self.place.board, self.place.server, self.place.usb, self.place.elf
        self._state = tempfile.TemporaryDirectory(prefix="pmu-state-")
        self.state_folder = self._state.name
        self.proxy = None if self.usb else Proxy(*self._peer())
        self.tool = RELEASE

    def _peer(self):
        if self.gdb:
            return self.server.gdb_port(0), gdb_message
        if self.place.wires:
            return self.board.dap_port, dap_message
        return self.server.port, openocd_message

    def _probe(self, past_proxy):
        if self.usb:
            return ["-p", "cmsis-dap"]
        kind = "gdb" if self.gdb else "cmsis-dap-tcp" if self.place.wires else "openocd"
        port = self.proxy.peer if past_proxy else self.proxy.port
        return ["-p", f"{kind}:127.0.0.1:{port}", *(["--transport", self.place.wires] if self.place.wires else [])]

    def kill_server(self):
        self.server.kill()
        self.place.servers.remove(self.server)
        self.proxy.peer = harness.CLOSED_PORT  # its port may be another's soon

    def start_server(self):
        """OpenOCD anew. The proxy leads to it."""
        self.server = self.place.server = self.place.start_server()
        self.proxy.peer = self._peer()[0]

    # --- runs of the tool

    def words(self, *command, tool=None, past_proxy=False):
        words = [tool or self.tool, "--elf", self.elf, *self._probe(past_proxy), *map(str, command)]
        return self.board.in_namespace(words) if self.usb else words

    def start_words(self, words, **environment):
        return start_tool(words, environment={"XDG_STATE_HOME": self.state_folder, **environment}.items())

    def start(self, *command, **environment):
        return self.start_words(self.words(*command), **environment)

    def run(self, *command, **environment):
        return finish_tool(self.start(*command, **environment))

    def unplugged(self, words, after, seconds, kill=False):
        """A run in which the probe's plug is pulled after that many transfers, and put in again some time later; or in which the
        tool is killed at that moment."""
        self.board.unplug(after)
        process = self.start_words(words)
        wait_for(lambda: process.poll() is not None or not self.board.usb()["plugged"], "the end, or the unplugging")
        self.struck = not self.board.usb()["plugged"]
        if kill:
            process.kill()
        else:
            time.sleep(seconds)
        if self.struck:
            self.board.plug()
        return finish_tool(process)

    def delta(self, *more, **environment):
        self.board.watch(NOWHERE)
        return self.run("delta", "-j", "-r", 3, *more, self.function, **environment)

    def truth(self):
        return [passage.cycles for passage in passages(self.board.log(), self.board.symbol(self.function), returned)]

    def calm(self):
        """Until the other side has carried out what it was sent."""
        if self.proxy:
            self.proxy.quiet()
        if self.server and self.server.process.poll() is None:
            for _ in range(2):  # it handles new connections first, then at those that are closed
                self.server("version")
        elif self.usb:
            self.board.usb_closed()
        elif self.place.wires:
            with Dap(self.board.dap_port) as dap:  # one host at a time
                dap.info(0xFF)
            for _ in range(2):
                self.board.state()

    # --- what the target is like

    def snapshot(self):
        """What no run may change for good. The program's own registers are in `altered` and `borrowed`."""
        state = self.board.state()
        kept = {name: value for name, value in state.items() if name not in MOVING}
        if "syst_csr" in kept:
            kept["syst_csr"] &= ~COUNTFLAG
        if "in_ram" in self.board.symbols():
            kept["in_ram"] = self.board.read("in_ram", CODE_IN_RAM)
        return kept

    def polls(self):
        """Whether OpenOCD polls the target by itself, as it does from its start."""
        return not self.server or self.server.polls()

    def boots(self):
        """Whether the program starts after a system reset."""
        self.board.command("reset")
        cycles = self.board.state()["cycles"]
        state = self.board.wait_for(lambda state: state["run"] in ("halted", "lockup") or state["cycles"] > cycles + 1000, "the program")
        return state["run"] not in ("halted", "lockup")

    def close(self):
        if self.proxy:
            self.proxy.close()
        self.place.close()
        self._state.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def differences(before, after):
    """The names of what is not as it was."""
    return sorted(name for name in before if after.get(name) != before[name])


def restores():
    """Whether this tool has `restore`."""
    done = subprocess.run([RELEASE, "restore", "--help"], capture_output=True, text=True)
    return done.returncode == 0 and bool(re.search(r"\brestore\b", done.stdout))

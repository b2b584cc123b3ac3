"""One piece of trouble in each run, at a random message between the tool and the other end of its link: whatever is printed
is true, the run ends, and the target is as it was or the tool says what it left. `make torture` takes 10,000."""
import os
import random

import pytest

import harness
import test_trace
from gdb_place import GdbPlace
from harness import NOWHERE, SOAK, WORK_BY_DATA, Place, finish_tool, passages, returned, start_tool
from test_application_cores import lasting
from trouble import OF_REPLIES, OF_REQUESTS, Trouble, dap_message, gdb_message, openocd_message

CASES = int(os.environ.get("TORTURE", 2000 if SOAK else 300))
WAYS = ["m4/swd", "rp2040/swd", "a9/swd", "r5/swd", "m55/swd", "a53/jtag", "m4", "rp2040", "a9", "gdb m4", "gdb a9"]
COMMANDS = [("delta", "-j", "-r", "3", "work_by_data"), ("delta", "-j", "-r", "3", "--no-calibrate", "work_by_data"), ("info",),
            ("stat", "-j", "--for", "20ms")]
HITS = 3


class TroubledPlace:
    """A place whose link leads through the proxy."""

    def __init__(self, way):
        gdb = way.startswith("gdb ")
        self.place = (GdbPlace if gdb else Place)(way.removeprefix("gdb "), "free", WORK_BY_DATA)
        self.board = self.place.board
        if gdb:
            port, message, name = self.place.server.gdb_port(0), gdb_message, "gdb:127.0.0.1:{}"
        elif self.place.wires:
            port, message, name = self.board.dap_port, dap_message, "cmsis-dap-tcp:127.0.0.1:{}"
        else:
            port, message, name = self.place.server.port, openocd_message, "openocd:127.0.0.1:{}"
        self.kinds = {"client": OF_REQUESTS, "server": OF_REPLIES + (["damage"] if gdb else [])}
        self.trouble = Trouble(port, message)
        self.probe = ["-p", name.format(self.trouble.port), *(["--transport", self.place.wires] if self.place.wires else [])]
        self.before, self.lengths = self.snapshot(), {}

    def snapshot(self):
        state = self.board.state()
        return test_trace.snapshot(self.place) if "dhcsr" in state else lasting(self.place)

    def run(self, command):
        self.board.watch(NOWHERE)
        tool = [harness.TOOL, "--elf", self.place.elf, *self.probe, *command]
        # What does not come is given up after the tool's own time, not a busy machine's
        return finish_tool(start_tool(tool, environment={"PMU_PROBE_PATIENCE": "1"}.items()))

    def length(self, command):
        """Messages of each direction in a run without trouble."""
        if command not in self.lengths:
            self.trouble.plan(None, 0, "server")
            result = self.run(command)
            assert result.code == 0, result.err
            self.lengths[command] = dict(self.trouble.counted)
        return self.lengths[command]

    def check(self, command, result, what):
        assert result.code in (0, 3), f"{what}: exit {result.code}: {result.err}"
        assert result.code == 0 or result.err, what
        truth = [p.cycles for p in passages(self.board.log(), self.board.symbol("work_by_data"), returned)]
        rest, exact = iter(truth), 0
        for hit in result.hits:
            cycles, least = hit["values"]["CPU_CYCLES"], "CPU_CYCLES" in hit.get("at_least", [])
            assert any(true >= cycles if least else true == cycles for true in rest), f"{what}: {result.cycles} is not in {truth}"
            exact += not least
        if command[0] == "delta" and result.code == 0:
            assert exact == HITS, f"{what}: {result.out}"

    def close(self):
        self.trouble.close()
        self.place.close()


def left_is_told(result):
    return any(word in result.err for word in ("release", "left", "could not be restored", "could not restore", "stays", "remains"))


@pytest.mark.all_rows
@pytest.mark.parametrize("way", WAYS)
def test_trouble(way):
    chosen = random.Random(f"{os.environ['PMU_SEED']} torture {way}")
    place = TroubledPlace(way)
    try:
        for number in range(CASES // len(WAYS)):
            command, direction = chosen.choice(COMMANDS), chosen.choice(["server", "client"])
            kind = chosen.choice(place.kinds[direction])
            at = chosen.randrange(place.length(command)[direction])
            what = f"{way}: case {number}: {' '.join(command)}: {kind} at {direction}'s message {at}"
            place.trouble.plan(kind, at, direction, seconds=chosen.choice([0.02, 0.3, 3]))
            result = place.run(command)
            place.check(command, result, what)
            place.trouble.plan(None, 0, "server")
            now = place.snapshot()
            if now != place.before:
                assert left_is_told(result), f"{what}: {[k for k in now if now[k] != place.before[k]]}: {result.err}"
                place.close()  # a fresh board, not one that a run of ours has left changed
                place = TroubledPlace(way)
    finally:
        place.close()

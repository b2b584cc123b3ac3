"""Each kind of trouble that a wire or an access port can make, at many transfers of a `delta -r 3`, in soak at each: never a
wrong number, never a hang, and the target as it was."""
import os

import pytest

import harness
from harness import NOWHERE, RELEASE, WORK_BY_DATA, Place, finish_tool, passages, places, returned, start_tool
import test_trace
from test_application_cores import lasting

HITS = 3
OF_ACCESSES, OF_WIRE = ["wait", "fault"], ["none", "parity", "ack3"]
# JTAG knows no acknowledge but OK and WAIT, and no parity: what is left is what the access port itself does
# Of the acknowledges that there are not, three bits that are held low are the likeliest
WAYS = [("m4/swd", "ack0", 0)] + [(way, kind, 0) for way in ("m4/swd", "rp2040/swd", "rp2350/swd") for kind in OF_ACCESSES + OF_WIRE] + \
       [("m4/jtag", kind, 0) for kind in OF_ACCESSES] + \
       [("rp2040/swd", kind, 1) for kind in OF_ACCESSES]  # the other core is only examined
# Some ten thousand runs in soak. Under the sanitizers they would take twice as long, so these have the release build and
# no calibration, which does again what a hit does; the sanitizers meet trouble in whole runs.
A_KIND = 8  # places in check: 40 a way
# Two packets are in flight once a few were carried out without a failure
IN_FLIGHT, IN_FLIGHT_BYTES = 48, 256
# A run is some thousand transfers there, most of them of registers that the core itself is made to read and write
APPLICATION_WAYS = [(way, kind) for way in ("a9/swd", "a53/swd", "r5/swd", "r52/swd") for kind in OF_ACCESSES + OF_WIRE]


def snapshot(place):
    """What a run leaves as it was. On Armv7 not one register of the program was another when it went on, either."""
    return test_trace.snapshot(place) if "dhcsr" in place.board.state() else lasting(place)


class Sweep:
    """A board, and short runs on it, each with one piece of trouble."""

    def __init__(self, place, kind, core, tool, *options, hits=HITS):
        self.place, self.kind, self.board, self.troubled = place, kind, place.board, place.board.core(core)
        self.words = [tool, *place.words("delta", "-j", "work_by_data", "-r", hits, *options)[1:]]
        self.hits = hits
        self.before = snapshot(place)

    def count(self):
        """Transfers so far of the sort that the kind befalls."""
        of_wire = self.kind not in OF_ACCESSES
        return self.board.command("dap")["transfers"] if of_wire else self.troubled.state()["accesses"]

    def run(self):
        self.board.watch(NOWHERE)
        return finish_tool(start_tool(self.words))

    def check(self, result, what):
        """Whatever was printed is true, in its order, and the target is as it was."""
        truth = [p.cycles for p in passages(self.board.log(), self.board.symbol("work_by_data"), returned)]
        rest, exact = iter(truth), 0
        for hit in result.hits:
            cycles, least = hit["values"]["CPU_CYCLES"], "CPU_CYCLES" in hit.get("at_least", [])
            assert any(true >= cycles if least else true == cycles for true in rest), \
                f"{what}: {result.cycles} is not in {truth}"
            exact += not least
        assert result.code in (0, 3), f"{what}: exit {result.code}: {result.err}"
        assert exact == self.hits if result.code == 0 else result.err, f"{what}: {result.out}"
        assert snapshot(self.place) == self.before, f"{what}: {result.err}"
        assert self.board.state()["run"] == "running", f"{what}: {result.err}"

    def trouble_at(self, skip):
        """Whether the run got as far as that, and whether it ended all the same."""
        self.troubled.command(f"fault {self.kind} 1 {skip}")
        result = self.run()
        struck = not self.troubled.command(f"fault {self.kind} 0")["left"]
        self.check(result, f"{self.kind} at {skip}")
        return struck, result.code == 0

    def over(self, name, **bounds):
        """At places of a run from its first transfer to its last. No two runs wait equally often, so that some places lie
        after the end of theirs; but none that is within the shortest run."""
        def counted(run):
            before = self.count()
            return run(), self.count() - before

        lengths = []
        for _ in range(3):
            whole, length = counted(self.run)
            self.check(whole, "no trouble")
            lengths.append(length)
        shortest = min(lengths)
        met, survived, chosen = 0, 0, places(shortest, f"{name} {self.kind}", **bounds)
        for skip in chosen:
            (struck, whole), length = counted(lambda: self.trouble_at(skip))
            met, survived = met + struck, survived + (struck and whole)
            shortest = shortest if struck else min(shortest, length)
        due = sum(skip < shortest for skip in chosen)
        assert met >= max(due, 1), f"{met} troubles at {len(chosen)} places, {due} of them in runs of {shortest}"
        # Only a refused access (FAULT) is the target's last word; the rest is noise that one gets over
        assert self.kind == "fault" or survived >= 0.95 * met - 2, f"{survived} of {met}"


@pytest.mark.soak
@pytest.mark.parametrize("way, kind, core", WAYS)
def test_every_transfer(way, kind, core):
    with Place(way, "free", WORK_BY_DATA) as place:
        Sweep(place, kind, core, RELEASE, "--no-calibrate").over(f"{way} {core}", in_soak=400)


@pytest.mark.any_row(3)
@pytest.mark.parametrize("way, kind, core", WAYS)
def test_many_transfers_of_calibrated_runs(way, kind, core):
    """No number includes the cost of a halt, even if trouble struck while that cost was measured."""
    with Place(way, "free", WORK_BY_DATA, halt_cost=23) as place:
        Sweep(place, kind, core, harness.TOOL).over(f"calibrated {way} {core}", most=A_KIND, in_soak=100)


@pytest.mark.any_row(2)
@pytest.mark.parametrize("kind", [*OF_ACCESSES, *OF_WIRE, "ack0"])
@pytest.mark.parametrize("way", ["m4/swd", "rp2040/swd", "a9/swd", "a53/swd"])
def test_many_transfers_with_two_packets_in_flight(way, kind):
    with Place(way, "free", WORK_BY_DATA, dap_packet=IN_FLIGHT_BYTES, dap_count=2) as place:
        sweep = Sweep(place, kind, 0, RELEASE, "--no-calibrate", hits=IN_FLIGHT)
        sweep.over(f"in flight {way}", most=A_KIND, in_soak=400 if way in ("m4/swd", "rp2040/swd") else 100)
        assert place.board.command("dap")["most_in_flight"] == 2


@pytest.mark.any_row(3)
@pytest.mark.parametrize("way, kind", APPLICATION_WAYS)
def test_many_transfers_of_application_cores(way, kind):
    with Place(way, "free", WORK_BY_DATA) as place:
        Sweep(place, kind, 0, RELEASE, "--no-calibrate").over(way, most=A_KIND, in_soak=100)

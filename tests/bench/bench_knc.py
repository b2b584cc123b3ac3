"""Knights Corner: the agent's size, its round trips, and how fast all threads of a card are read."""
import os
import statistics
import subprocess
import tempfile
import time

import card
import harness

TOOL = os.path.join(harness.BUILD, "pmu-probe")
ROUNDS = 3


class Plain:
    """A CPU whose registers are a plain file: what is timed is the agent and its link, not a model."""

    def __init__(self):
        self._place = tempfile.TemporaryDirectory(prefix="pmu-plain-")
        self.root = self._place.name
        os.makedirs(os.path.join(self.root, "dev/cpu/0"))
        with open(os.path.join(self.root, "dev/cpu/0/msr"), "wb") as msr:
            msr.write(bytes(4096))

    def close(self):
        self._place.cleanup()


def bench_trips():
    plain = Plain()
    figures = {}
    with card.Agent(plain) as agent:
        for _ in range(ROUNDS):
            done = subprocess.run([os.path.join(harness.BUILD, "bench/agent_trips"), agent.probe, "20000"], check=True,
                                  text=True, capture_output=True)
            for line in done.stdout.splitlines():
                accesses, trips, each = line.split()
                figures.setdefault(int(accesses), []).append((float(trips), float(each)))
    plain.close()
    for accesses, rates in figures.items():
        trips = [rate for rate, _ in rates]
        print(f"  {f'of {accesses} accesses, a second':28} {statistics.median(trips):9.0f}   ({min(trips):.0f}, "
              f"{max(trips):.0f})   {statistics.median(each for _, each in rates):.0f} accesses")


def bench_all_cpus():
    """The reading of 244 CPUs of stat -a, from start to end."""
    with card.Card(244) as model, card.Agent(model) as agent:
        for way, probe in (("msr", f"msr@{model.root}"), ("msr-agent", agent.probe)):
            times = []
            for _ in range(ROUNDS):
                begun = time.monotonic()
                subprocess.run([TOOL, "--probe", probe, "-a", "stat", "--for", "1ms", "-j", "-e",
                                "L2_READ_MISS,DATA_READ", "--freq", "1.1G"], check=True, stdout=subprocess.DEVNULL)
                times.append((time.monotonic() - begun) * 1000)
            print(f"  {f'stat -a, 244 CPUs, {way}, ms':28} {statistics.median(times):9.0f}   ({min(times):.0f}, "
                  f"{max(times):.0f})")


def main():
    print(f"\nKnights Corner: msr-agent has {os.path.getsize(card.AGENT)} bytes, static; over loopback, "
          f"median of {ROUNDS} (min, max)")
    bench_trips()
    if card.card_available() is None:
        bench_all_cpus()

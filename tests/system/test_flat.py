"""Long runs: memory and descriptors of the tool stay what they are, through each link, and so do those of its server when runs begin
and go. PMU_HOURS says how long each takes (`PMU_HOURS=1`); without it 20 seconds."""
import os
import subprocess
import sys
import time

import pytest

from card import Agent, Card, card_available
from gdb_place import GdbPlace
from harness import RELEASE, TOOL, WAIT, WORK_BY_DATA, Place, finish_tool, start_tool, wait_for

pytestmark = pytest.mark.soak
SECONDS = float(os.environ.get("PMU_HOURS", 20 / 3600)) * 3600
WAYS = ["m4/swd", "m4/v2", "m4", "rp2040/swd", "rp2350/swd", "a9/swd", "a53", "r5/swd", "gdb m4"]
PATIENT = ("--timeout", "10m")  # all of them run at once, next to other work, so that an hour is one hour
WARM = 0.25  # the part of a run in which what is needed is taken
# A page for each hit or sample would be a hundred times as much within 20 s
GROWTH = 1 << 20


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def memory(pid):
    with open(f"/proc/{pid}/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


def stays_flat(process, seconds):
    """Watches a process until so much time has passed. It must go on by itself."""
    begin, warm, open_files = time.monotonic(), 0, None
    while time.monotonic() < begin + seconds:
        time.sleep(min(1, seconds / 100))
        assert process.poll() is None, process.communicate()
        if time.monotonic() < begin + WARM * seconds:
            warm = max(warm, memory(process.pid))
            open_files = descriptors(process.pid)
            continue
        assert descriptors(process.pid) == open_files
        assert memory(process.pid) <= warm + GROWTH, f"{memory(process.pid) - warm} bytes more than in the beginning"


def ends(process):
    process.terminate()
    _, err = process.communicate(timeout=WAIT)
    assert process.returncode == 0, err


def released(words):
    """The same words with the tool as it is built for use: sanitizers keep what was freed."""
    return [RELEASE if word == TOOL else word for word in words]


def place_of(way):
    return (GdbPlace if way.startswith("gdb ") else Place)(way.removeprefix("gdb "), "free", WORK_BY_DATA)


def runs(command):
    return ["-r", 1000000000, *PATIENT, "work_by_data"] if command == "delta" else ["-I", "20ms"]


@pytest.mark.parametrize("way, command", [(way, command) for way in WAYS for command in ("delta", "watch")
                                          if command == "delta" or not way.startswith("gdb ")])
def test_one_long_run(way, command):
    with place_of(way) as place:
        process = start_tool(released(place.words(command, "-j", *runs(command))), stdout=subprocess.DEVNULL)
        stays_flat(process, SECONDS)
        ends(process)


@pytest.mark.skipif(card_available() is not None, reason=str(card_available()))
def test_one_long_run_on_a_card():
    with Card(4) as card, Agent(card) as agent:
        words = released(card.words("-C", 3, "watch", "-j", "-I", "20ms", "-e", "DATA_READ", probe=agent.probe))
        process = start_tool(words, stdout=subprocess.DEVNULL)
        stays_flat(process, SECONDS)
        ends(process)


@pytest.mark.parametrize("way", ["m4", "a9", "gdb m4"])
def test_many_runs_through_one_server(way):
    """A connection each, and what the tool keeps in OpenOCD's interpreter."""
    with place_of(way) as place:
        pid, begin, warm, open_files = place.server.process.pid, time.monotonic(), 0, None
        while time.monotonic() < begin + SECONDS:
            result = finish_tool(start_tool(released(place.words("delta", "-j", "work_by_data", "-r", 20, *PATIENT))))
            assert result.code == 0 and len(result.hits) == 20, result.err
            place.server("version")  # after the connection's end
            if time.monotonic() < begin + WARM * SECONDS or open_files is None:
                warm, open_files = max(warm, memory(pid)), min(open_files or sys.maxsize, descriptors(pid))
                continue
            wait_for(lambda: descriptors(pid) <= open_files, "the server, to close the run's connection")
            assert memory(pid) <= warm + GROWTH, f"{memory(pid) - warm} bytes more than in the beginning"

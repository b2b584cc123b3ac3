"""After any failure the core runs as before, or the message says that it is halted and what lets it go."""
import os
import random
import re
import signal
import subprocess
import threading
import time

import pytest

from gdb_place import GdbPlace
from harness import ARTICLE_PLAIN, INTERRUPTED, SOAK, WAIT, WORK_BY_DATA, finish_tool, run_tool, unfolded
from trouble import PEER, TOOL, Strike
from troubled_place import TroubledPlace


def calm(place):
    """Until OpenOCD has carried out what it was sent."""
    for _ in range(2):
        place.server("version")


@pytest.mark.each_value
@pytest.mark.parametrize("chip", ["m4", "a53"])
@pytest.mark.parametrize("kind", ["openocd", "cmsis-dap-tcp", "msr-agent"])
def test_a_wrong_port_halts_no_core(chip, kind, monkeypatch):
    """OpenOCD halts the core for each client of its GDB port, also for one that speaks another protocol."""
    monkeypatch.setenv("PMU_PROBE_PATIENCE", "4")
    with GdbPlace(chip, "free", WORK_BY_DATA) as place:
        result = run_tool("-p", f"{kind}:127.0.0.1:{place.server.gdb_port()}", "info")
        calm(place)
        assert result.code == 3 and place.board.state()["run"] == "running", result.err
        if kind != "msr-agent":  # it waits for the first word
            assert "a GDB server is at 127.0.0.1" in result.err and "gdb:HOST:PORT" in result.err, result.err


@pytest.mark.each_value
@pytest.mark.parametrize("chip", ["m4", "a53"])
def test_a_gdb_server_lets_a_halted_core_go(chip):
    """Nothing is advised that this link cannot do."""
    with GdbPlace(chip, "free", WORK_BY_DATA) as place:
        place.server("halt")
        place.server(f"bp {place.board.symbol('work_by_data') & ~1:#x} {4 if chip == 'a53' else 2} hw")
        place.server("catch resume")
        place.board.wait_for(lambda state: state["run"] == "halted")
        for words in (["restore"], ["delta", "work_by_data", "-r", 1]):
            result = place.run(*words)
            calm(place)
            assert result.code == 3 and "is halted" in result.err and "restore --force" in unfolded(result.err), result.err
            assert "pmu-probe reset" not in result.err and place.board.state()["run"] == "halted", result.err
        result = place.run("restore", "--force")
        calm(place)
        assert result.code == 0 and "it was halted at" in result.out and place.board.state()["run"] == "running", result.err
        assert place.run("restore").code == 0


LINKS = ["m4/swd", "a53/swd", "r52/swd", "m4", "a9", "gdb m4", "gdb a53"]
COMMANDS = {"info": [], "delta": ["-r", 3, "--timeout", "2s", "work_by_data"], "survey": ["--for", "300ms", "work_by_data", "plain_first"],
            "stat": ["--for", "50ms"], "watch": ["--for", "150ms", "-I", "50ms"], "record": ["--for", "100ms", "-o", "/dev/null"],
            "lines": ["-r", 2, "--timeout", "2s", "work_by_data"], "guard": ["-r", 2, "--for", "300ms", "--budget", "1s", "work_by_data"],
            "doctor": ["work_by_data"], "reset": [], "restore": [], "list": []}
FAILURES = ["cut", "half", "silence", "drop", "interrupt", "terminate", "reset", "answer cut"]
LETS_GO = re.compile(r"restore|resume|continue|reset|power")
PLACES = 8 if SOAK else 1


class Busy:
    """In soak the machine has other work."""

    def __enter__(self):
        n = 2 * (os.cpu_count() or 1) if SOAK else 0
        self._spinning = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(n)]

    def __exit__(self, *_):
        for process in self._spinning:
            process.kill()
            process.wait()


def fail(place, words, failure, at):
    """A run that fails in this way at that message."""
    started, box = threading.Event(), []

    def signal_it(number):
        started.wait(WAIT)
        box[0].send_signal(number)

    acts = {"interrupt": lambda: signal_it(signal.SIGINT), "terminate": lambda: signal_it(signal.SIGTERM), "reset": lambda: place.board.command("reset")}
    side, kind = (PEER, "cut") if failure == "answer cut" else (TOOL, "pass" if failure in acts else failure)
    place.proxy.plan(Strike(kind, side, at, act=acts.get(failure)))
    box.append(place.start_words(place.words(*words), PMU_PROBE_PATIENCE="1"))
    started.set()
    result = finish_tool(box[0])
    place.proxy.plan(None)
    place.calm()
    return result


def runs_again(place):
    """OpenOCD may poll the core only ten times a second."""
    end = time.monotonic() + 2
    while place.board.state()["run"] != "running" and place.server and time.monotonic() < end:
        time.sleep(0.05)
    return place.board.state()["run"] == "running"


@pytest.mark.nobody_answers
@pytest.mark.any_row(8)
@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("command", COMMANDS)
def test_after_a_failure_the_core_runs_or_is_said_to_be_halted(link, command):
    chosen = random.Random(f"{os.environ['PMU_SEED']} {link} {command}")
    words = [command, *COMMANDS[command]]
    with TroubledPlace(link, scenario=WORK_BY_DATA | ARTICLE_PLAIN) as place, Busy():
        place.proxy.plan(None)
        place.run(*words)
        total, wrong = place.proxy.counted[TOOL], []
        place.calm()
        assert runs_again(place)
        for failure in FAILURES if SOAK else chosen.sample(FAILURES, 3):
            for at in [chosen.randrange(total or 1) for _ in range(PLACES)]:
                result = fail(place, words, failure, at)
                said = unfolded(result.err)
                if result.code not in (0, 1, 2, 3, 5, INTERRUPTED):
                    wrong.append(f"{failure} at {at} of {total}: exit {result.code}: {said}")
                if not runs_again(place):
                    if not (re.search(r"halted", said) and LETS_GO.search(said)):
                        wrong.append(f"{failure} at {at} of {total}: left halted without a word: {said}")
                    place.run("restore")
                    place.run("restore", "--force")
                    place.calm()
                    if not runs_again(place):
                        wrong.append(f"{failure} at {at} of {total}: neither restore nor --force lets it go: {said}")
                        break
        assert not wrong, "\n".join(wrong)

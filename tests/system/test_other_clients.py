"""Other clients of the same OpenOCD (telnet, GDB, an IDE) halt, step, resume or reset the core while it is measured: no count spans that,
and the core is left as they want it."""
import collections
import contextlib
import threading
import time

import pytest

from harness import finish_tool, unfolded, wait_for
from own_program import START, own_place

BURN = START + r"""
APART void f(void) { for (uint32_t i = 0; i < 3000; i++) sink += i; }
void run(void) { for (;; round_count++) { f(); for (uint32_t i = 0; i < 100; i++) sink += i; } }
"""
SAYS = "another client of OpenOCD at"


def place_of(tmp_path, way):
    return own_place(tmp_path, way, BURN, clock=12_000_000, halt_cost=7)


def wait_for_hits(place):
    before = place.board.state()["halts"]
    wait_for(lambda: place.board.state()["halts"] > before + 8, "some hits")


def meddled(place, commands, *words):
    """The tool's run, while another client sends these commands again and again, from some time after its start until its end."""
    tool, ended = place.start(*words, "-j"), threading.Event()

    def meddle():
        if words[0] == "delta":
            wait_for_hits(place)
        time.sleep(0.5)
        while not ended.is_set():
            for command in commands:
                with contextlib.suppress(RuntimeError):  # `resume` of a core that runs
                    place.server(command)
            ended.wait(0.02)

    other = threading.Thread(target=meddle)
    other.start()
    result = finish_tool(tool)
    ended.set()
    other.join()
    return result


@pytest.mark.parametrize("way", ["m4", "rp2040", "a9", "a53"])
@pytest.mark.parametrize("commands", [("halt", "step", "resume"), ("halt", "resume")], ids=" ".join)
def test_no_hit_spans_what_another_client_did(way, commands, tmp_path):
    with place_of(tmp_path, way) as place:
        true = collections.Counter(place.run("delta", "f", "-r", 20, "-j").cycles)
        result = meddled(place, commands, "delta", "f", "-r", 100_000, "--for", "5s")
        assert result.code == 3 and (SAYS in unfolded(result.err) or "someone else" in result.err), result.err
        assert set(result.cycles) <= set(true), collections.Counter(result.cycles)


@pytest.mark.parametrize("words", [("stat", "--for", "4s"), ("watch", "--for", "4s")], ids=lambda words: words[0])
def test_no_window_spans_it(words, tmp_path):
    with place_of(tmp_path, "m4") as place:
        result = meddled(place, ("halt", "resume"), *words)
        assert result.code == 3 and SAYS in unfolded(result.err), result.err


@pytest.mark.parametrize("how", ["halt", "init"])
@pytest.mark.parametrize("way", ["m4", "rp2040"])
def test_a_core_that_it_resets_and_halts_stays_halted(way, how, tmp_path):
    with place_of(tmp_path, way) as place:
        tool = place.start("delta", "f", "-r", 100_000, "--for", "4s", "-j")
        wait_for_hits(place)
        place.server(f"reset {how}")
        result = finish_tool(tool)
        assert result.code == 3 and "the target was reset by another client of OpenOCD" in unfolded(result.err), result.err
        assert place.board.state()["run"] == "halted"
        place.server("resume")
        wait_for(lambda: place.board.state()["run"] == "running", "the program to go on")


def test_what_changes_nothing_is_allowed(tmp_path):
    """`halt` while it is held changes nothing on a Cortex-M; and the user's own event handlers go on, and are there afterwards."""
    with place_of(tmp_path, "m4") as place:
        place.server("set ::seen 0; virtual.cpu configure -event resume-start {incr ::seen}")
        true = set(place.run("delta", "f", "-r", 20, "-j").cycles)
        result = meddled(place, ("mdw 0x20000000", "targets", "poll", "virtual.cpu curstate"), "delta", "f", "-r", 200)
        assert result.code == 0 and set(result.cycles) == true and len(result.cycles) == 200, result.err
        assert place.server("virtual.cpu cget -event resume-start").strip() == "incr ::seen"
        place.server("halt")
        place.server("resume")
        assert place.server("set ::seen").strip() == "1"

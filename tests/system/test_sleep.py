"""A core that sleeps while it is counted: a debugger may keep its clock running, and the tool says so."""
import re

import pytest

from harness import SLEEPER, WORK_BY_DATA, Place, unfolded

SAID = "the core was seen asleep: its clock may go on then"


@pytest.mark.any_row(1)
@pytest.mark.parametrize("way", ["m4/swd", "rp2040/swd", "m4"])
def test_a_hit_that_sleeps(way):
    with Place(way, "tick", SLEEPER) as place:
        assert place.delta("sleeper", "-r", 20).summary["slept"] is True
        assert SAID in unfolded(place.run("delta", "sleeper", "-r", 20).out)


@pytest.mark.parametrize("way", ["m4/swd", "rp2040/swd"])
def test_a_window_that_sleeps(way):
    with Place(way, "tick", SLEEPER) as place:
        assert place.run("stat", "--for", "500ms", "-j").summary["slept"] is True
        assert SAID in unfolded(place.run("stat", "--for", "500ms").out)


def test_one_that_does_not():
    with Place("m4/swd", "tick", WORK_BY_DATA) as place:
        assert "slept" not in place.delta("work_by_data", "-r", 3).summary
        assert "slept" not in place.run("stat", "--for", "200ms", "-j").summary


MAY = "may sleep (WFI or WFE)"


@pytest.mark.any_row(2)
@pytest.mark.parametrize("way", ["m4/swd", "m4"])
@pytest.mark.parametrize("words", [("delta", "sleeper", "-r", 2), ("survey", "sleeper", "work_by_data", "-r", 2, "--for", "2min"),
                                   ("lines", "sleeper", "-r", 2), ("guard", "sleeper", "--budget", "1000000", "--for", "500ms")],
                         ids=lambda words: words[0])
def test_code_that_may_sleep_is_named(way, words):
    """Whether or not a look found the core asleep."""
    with Place(way, "tick", SLEEPER | WORK_BY_DATA) as place:
        text = place.run(*words)
        assert text.code == 0 and unfolded(text.out).count(MAY) == 1, text.out + text.err
        assert re.search(r"scenarios.c:69\b.{0,40}" + re.escape(MAY), unfolded(text.out)), text.out
        assert MAY not in unfolded(place.run("delta", "work_by_data", "-r", 2).out)

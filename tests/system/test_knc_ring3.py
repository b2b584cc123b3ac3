"""The header for ring 3: a program that measures itself with it, its RDPMC and SPFLT carried out by the modelled
card. Its counts are those of its regions, and of nothing between them."""
import os
import signal
import subprocess

import pytest

from card import BUILD, CNTR0, CTRL, EN, OS, SEL0, SEL1, SPFLT, USR, CNTR1, Card, card_available, expected
from harness import WAIT, finish_tool, wait_for

pytestmark = pytest.mark.skipif(card_available() is not None, reason=str(card_available()))
RING3 = os.path.join(BUILD, "clients", "knc-ring3")
BOTH, SIBLINGS = USR | OS, (1, 2, 3, 4)
REGIONS = (10, 1000, 33, 1, 123456)


def run(card):
    done = subprocess.run([RING3, card.root, "1", *map(str, REGIONS)], check=True, capture_output=True, text=True,
                          timeout=WAIT)
    return [tuple(map(int, line.split())) for line in done.stdout.splitlines()]


def truth(select, counter):
    now, counts = 0, []
    for cycles in REGIONS:
        if cycles > 10000:  # whole periods are alike
            whole = expected(1, SIBLINGS, select, now, now + 32, counter) * (cycles // 32)
            counts.append(whole + expected(1, SIBLINGS, select, now, now + cycles % 32, counter))
        else:
            counts.append(expected(1, SIBLINGS, select, now, now + cycles, counter))
        now += cycles + 1000
    return counts


def test_regions_of_a_program_that_measures_itself():
    with Card(8, hz=0) as card:
        for msr, value in ((SEL0, EN | BOTH | 0x16), (SEL1, EN | USR | 0x2A), (SPFLT, 3), (CTRL, 3)):
            card.write(1, msr, value)
        card.write(1, CNTR0, (1 << 40) - 3)  # wraps in the second region
        card.write(1, CNTR1, (1 << 40) - 400)
        counts = run(card)
        assert [one[0] for one in counts] == truth(EN | BOTH | 0x16, 0)
        assert [one[1] for one in counts] == truth(EN | USR | 0x2A, 1)
        assert all(cycles for *_, cycles in counts)
        assert card.read(1, SPFLT) == 3  # it has stopped


def test_its_events_set_up_by_the_tool():
    """And the tool's own count of those is the sum of the regions."""
    with Card(8, hz=0) as card:
        process = card.start("-C", 1, "stat", "--freq", "1.1G", "-j", "-e", "L2_READ_MISS:spflt,DATA_READ:u:spflt")
        wait_for(lambda: card.read(1, CTRL) == 3, "the counters to be set up")
        seen = len(card.looks())
        wait_for(lambda: len(card.looks()) >= seen + 2, "the window to have begun")
        counts = run(card)
        columns = finish_tool(process, signal.SIGINT).summary["columns"]
        assert [one[0] for one in counts] == truth(EN | BOTH | 0x10CB, 0)
        assert [one[1] for one in counts] == truth(EN | USR, 1)
        assert columns["L2_READ_MISS:spflt"]["count"] == sum(one[0] for one in counts)
        assert columns["DATA_READ:u:spflt"]["count"] == sum(one[1] for one in counts)
        assert card.read(1, SPFLT) == 0 == card.read(1, CTRL)

"""A program that writes the counters it is measured by: never a wrong number, and the reason is told."""
import itertools
import re

import pytest

from harness import SOAK, Place, passages, returned

AT_START, INSIDE, AT_END, BETWEEN = 1, 2, 3, 4
WHERE = {"start": AT_START, "inside": INSIDE, "end": AT_END, "between": BETWEEN}
# What tests/firmware/writes.c writes, by number
M_PROFILE = {"CYCCNT": 1, "DWT_CTRL": 2, "DEMCR": 3}
SYSTICK = {"SYST_CVR": 4, "SYST_RVR": 5}
ARMV8_M = {"PMU_CTRL.C": 6, "PMU_CTRL.E": 7, "PMU_CCNTR": 8, "DEMCR": 3}
A_PROFILE = {"PMCR.C": 1, "PMCR.C and .P": 2, "PMCR.E": 3, "PMCNTENCLR": 4, "PMCCNTR": 5}
CHIPS = {"m4": M_PROFILE, "rp2040": SYSTICK, "m55": ARMV8_M, "a9": A_PROFILE, "a53": A_PROFILE, "r5": A_PROFILE}
LINKS = {chip: [f"{chip}/swd", chip] for chip in CHIPS}
TOLD = re.compile(r"something else (writes|changed|changes|switched)|is not used: something else writes it")


def begin(place, what, where, each):
    place.board.write_word("write_what", what)
    place.board.write_word("write_each", each)
    place.board.write_word("write_where", where)


def check_hits(place, hits):
    """Each is true, in its order."""
    truth = [p.cycles for p in passages(place.board.log(), place.symbol("written"), returned)]
    rest = iter(truth)
    for hit in hits:
        cycles, least = hit["values"]["CPU_CYCLES"], "CPU_CYCLES" in hit.get("at_least", [])
        assert any(true >= cycles if least else true == cycles for true in rest), f"{cycles} is not in {truth}"


def rows(each):
    for chip, what in CHIPS.items():
        for way, name, where in itertools.product(LINKS[chip], what, WHERE):
            yield pytest.param(way, what[name], where, each, id=f"{way}-{name}-{where}")


@pytest.mark.parametrize("way, what, where, each", rows(1))
def test_each_passage(way, what, where, each):
    with Place(way, "free", 0) as place:
        begin(place, what, WHERE[where], each)
        place.board.watch(*[place.symbol("written")])
        result = place.run("delta", "-j", "written", "-r", 20)
        check_hits(place, result.hits)
        assert result.code in (0, 3), result.err
        assert TOLD.search(result.err if result.code else result.header.get("note", "")), result.err + result.out


@pytest.mark.parametrize("way, what, where, each", [row for each in (7, 300) for row in rows(each)] if SOAK else rows(50))
def test_now_and_then(way, what, where, each):
    """However seldom: what was printed before it was noticed was right."""
    with Place(way, "free", 0) as place:
        begin(place, what, WHERE[where], each)
        place.board.watch(*[place.symbol("written")])
        result = place.run("delta", "-j", "written", "-r", 100)
        check_hits(place, result.hits)
        assert result.code in (0, 3), result.err
        if result.code:
            assert TOLD.search(result.err), result.err


# --- stat, watch, calibrate, doctor -------------------------------------------------------------------------------

def check_counts(result, went_by):
    """All of what the lines say was counted, and not some of it that was left when somebody else had cleared the rest."""
    counts = [(line.get("columns") or line["values"])["CPU_CYCLES"]["count"] for line in result.lines
              if line["type"] == "sample"]
    assert not counts or went_by / 20 < sum(counts) <= went_by, counts


@pytest.mark.parametrize("command", ["stat", "watch"])
@pytest.mark.parametrize("way, what, where, each", rows(1))
def test_counting_while_it_is_written(way, what, where, each, command):
    with Place(way, "free", 0) as place:
        begin(place, what, WHERE[where], each)
        before = place.board.state()["counted"]
        result = place.run(command, "-j", "--for", "500ms", "-I", 100)
        if result.code == 0:
            check_counts(result, place.board.state()["counted"] - before)
        assert result.code in (0, 3), result.err
        if result.code:
            assert TOLD.search(result.err), result.err
        elif command == "stat":
            assert TOLD.search(result.header.get("note", "")), result.out

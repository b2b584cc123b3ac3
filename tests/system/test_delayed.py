"""An interrupt that a halt delays runs in the hit. No register of A and R cores shows before that it pends: a spare counter of EXC_TAKEN proves
the hits in which no exception ran; a doubt names the others."""
import pytest

from gdb_place import GdbPlace
from harness import WORK_BY_DATA, Place, passages, returned

WAYS = ["a9/swd", "a7/swd", "a53/swd", "r5/swd", "r52/swd", "a53in32/swd", "a53el2/swd", "a9", "a53", "r5", "a9/gdb"]
SAID = "a halt had delayed one cannot be seen on this core"


def place_at(way, **options):
    chip, _, link = way.partition("/")
    kind, chip = (GdbPlace, chip) if link == "gdb" else (Place, way)
    return kind(chip, "free", WORK_BY_DATA, **options)


def plain(text):
    return " ".join(text.split())


@pytest.mark.each_value
@pytest.mark.parametrize("way", WAYS)
def test_hits_without_an_exception_are_proved_and_others_are_told(way):
    with place_at(way, halt_irq=300, seed=7) as place:
        result = place.delta("work_by_data", "-r", 40)
        truth = passages(place.board.log(), place.symbol("work_by_data"), returned)[:40]
        marks = [hit.get("exception", False) for hit in result.hits]
        assert all(mark for mark, passage in zip(marks, truth) if passage.tainted) and any(passage.tainted for passage in truth)
        clean = [value for value, mark in zip(result.cycles, marks) if not mark]
        assert clean == [passage.cycles for passage, mark in zip(truth, marks) if not mark], "no handler is in the cost of a halt"
        assert f"exceptions ran in {sum(marks)} of 40 hits" in result.summary["doubt"] and SAID in result.summary["doubt"]
        assert result.summary["without_exceptions"]["count"] == len(clean) and result.summary["without_exceptions"]["max"] == max(clean)
        text = plain(place.run("delta", "work_by_data", "-r", 40).out)
        assert SAID in text and "without an exception inside" in text and "each count is exact" not in text, text


@pytest.mark.each_value
@pytest.mark.parametrize("way", WAYS)
def test_without_an_exception_nothing_is_doubted(way):
    with place_at(way) as place:
        result = place.delta("work_by_data", "-r", 5)
        assert SAID not in result.summary.get("doubt", "") and "without_exceptions" not in result.summary
        assert not any("exception" in hit for hit in result.hits)


@pytest.mark.any_row
@pytest.mark.parametrize("way, events", [("r5/swd", "INST_RETIRED,LD_RETIRED,ST_RETIRED"), ("r52/swd", "INST_RETIRED,LD_RETIRED,ST_RETIRED,BR_IMMED_RETIRED")])
def test_a_counter_that_is_missing_is_told(way, events):
    with place_at(way, halt_irq=300, seed=7) as place:
        text = plain(place.run("delta", "work_by_data", "-r", 10, "-e", events).out)
        assert f"no counter shows whether exceptions ran in 10 of 10 hits: whether {SAID}" in text, text
        assert "each count is exact" not in text
        fewer = place.delta("work_by_data", "-r", 10, "-e", "EXC_TAKEN")
        assert [hit["values"]["EXC_TAKEN"] > 0 for hit in fewer.hits] == ["exception" in hit for hit in fewer.hits]


@pytest.mark.each_value
@pytest.mark.parametrize("way", ["a9/swd", "a53/swd", "r52/swd", "a9"])
@pytest.mark.parametrize("words", [("lines", "work_by_data", "-r", 5), ("guard", "work_by_data", "--budget", 2000, "--for", "1s"),
                                   ("survey", "work_by_data", "called_twice", "--for", "1s")], ids=lambda words: words[0])
def test_each_command_that_halts_at_a_call_tells_it(way, words):
    with place_at(way, halt_irq=300, seed=7) as place:
        run = place.run(*words)
        assert run.code in (0, 1) and f"whether {SAID}" in plain(run.out), run.out + run.err

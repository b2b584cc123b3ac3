"""A chip whose memory has no clock while its core sleeps, as an STM32 without DBGMCU.DBG_SLEEP: reads give what was read before,
without a fault. What is read then is not believed."""
import pytest

from harness import SLEEPER, Place, elf_of, unfolded

WAYS = ["m4/swd", "rp2040/swd", "m33/swd", "rp2350/swd", "m4"]


def sleepy(way, **options):
    place = Place(way, "tick", SLEEPER, **options)
    place.board.command("core-state sleepy-memory on")
    return place


@pytest.mark.any_row(2)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("words", [("delta", "sleeper", "-r", 3), ("stat", "--for", "200ms"), ("record", "--for", "300ms"), ("info",)],
                         ids=lambda words: words[0])
def test_the_program_is_known(way, words, tmp_path):
    """It wakes at each tick."""
    with sleepy(way) as place:
        words = words if words[0] != "record" else (*words, "-o", str(tmp_path / "profile"))
        result = place.run(*words)
        assert result.code == 0 and "does not run this ELF" not in result.err, result.err


@pytest.mark.any_row(2)
@pytest.mark.parametrize("way", WAYS)
def test_another_program_is_named_all_the_same(way):
    with sleepy(way) as place:
        place.elf = elf_of(place.chip, "free")
        result = place.run("delta", "work_by_data", "-r", 3)
        assert result.code == 3 and "does not run this ELF" in unfolded(result.err), result.err


@pytest.mark.any_row(1)
@pytest.mark.parametrize("way", WAYS)
def test_the_clock_is_the_programs_or_measured(way):
    with sleepy(way) as place:
        first = place.run("stat", "--for", "200ms", "-j")
        assert first.code == 0, first.err
        shown = first.header.get("clock", {"source": "measured"})
        place.board.command("core-state sleepy-memory off")
        right = place.run("stat", "--for", "200ms", "-j").header["clock"]
        assert right["source"] == "SystemCoreClock" and shown["source"] in ("measured", right["source"])
        assert shown["source"] == "measured" or shown["hz"] == right["hz"]

"""`reset`, and measuring from a reset on."""
import pytest

from harness import NOWHERE, WORK_BY_DATA, Place, at, passages, returned

WAYS = ["m4", "m4/swd", "m4/jtag", "rp2040", "rp2040/swd", "a53/swd"]


def resets(place):
    return sum(event.kind == "reset" for event in place.board.log())


@pytest.mark.parametrize("way", WAYS)
def test_reset(way):
    with Place(way, "free", WORK_BY_DATA) as place:
        place.board.watch(NOWHERE)
        result = place.run("reset")
        assert result.code == 0 and result.out == "reset, running\n", result.err
        assert resets(place) >= 1 and place.board.state()["run"] == "running"
        place.board.wait_for(lambda _: place.board.read_word("round_count") > 0)
        assert place.run("delta", "work_by_data", "-r", 3).code == 0


@pytest.mark.parametrize("way", WAYS)
def test_reset_and_halt(way):
    with Place(way, "free", WORK_BY_DATA) as place:
        place.board.watch(NOWHERE)
        result = place.run("reset", "--halt")
        assert result.code == 0 and "halted" in result.out, result.err
        state = place.board.state()
        assert resets(place) >= 1 and state["run"] == "halted"
        assert state["pc"] == (0 if place.chip == "a53" else place.symbol("Reset_Handler"))
        assert not state.get("demcr", 0) & 1 and not state.get("edecr", 0)
        if place.server:
            assert place.server("virtual.cpu curstate") == "halted"
        refused = place.run("delta", "work_by_data", "-r", 3)
        assert refused.code == 3 and "the core is halted at" in refused.err
        assert place.run("release").code == 0 and place.board.state()["run"] == "running"


@pytest.mark.nobody_answers
@pytest.mark.parametrize("way", ["a9", "a9/swd"])
def test_a_core_that_takes_no_request(way):
    """This core knows no such request, and the board has no reset line."""
    with Place(way, "free", WORK_BY_DATA) as place:
        result = place.run("reset")
        assert result.code == 3 and ("none came" in result.err or "how to reset?" in result.err)
        assert place.board.state()["run"] == "running"
        assert place.run("delta", "work_by_data", "-r", 3).code == 0

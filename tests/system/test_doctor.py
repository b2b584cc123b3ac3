"""`doctor`: the first reason in the architecture's order, on every state that a core can refuse itself in."""
import pytest

from harness import WORK_BY_DATA, Place

STATES = {"os-locked": "OS lock is set", "double-locked": "OS double lock", "powered-off": "no power",
          "epmad": "MDCR_EL3.EPMAD", "soft-locked": "software lock", "unauthenticated": "does not allow non-invasive debug"}


@pytest.mark.parametrize("way", ["rp2040/swd", "m4/swd", "m4", "m55/swd", "a9/swd", "a9"])
def test_a_healthy_core(way):
    with Place(way, "free", WORK_BY_DATA) as place:
        before = {name: value for name, value in place.board.state().items() if name in ("dwt_ctrl", "demcr", "syst_csr")}
        result = place.run("doctor")
        assert result.code == 0, result.err
        assert "counter         ok" in result.out and "STANDS" not in result.out
        after = place.board.state()
        assert before == {name: after[name] for name in before}


@pytest.mark.parametrize("state", STATES)
def test_each_state_of_an_a53_has_its_reason(state):
    with Place("a53/swd", "free", WORK_BY_DATA) as place:
        for name in STATES:
            place.board.command(f"core-state {name} {'on' if name == state else 'off'}")
        result = place.run("doctor")
        assert result.code == 1, result.out + result.err
        assert f"cannot be read: " in result.out and STATES[state] in result.out, result.out
        bad = [line for line in result.out.splitlines() if any(word in line for word in ("LOCKED", "OFF", "DENIED", "REFUSED"))]
        assert bad, result.out


@pytest.mark.parametrize("way", ["a7/swd", "a53/swd"])
def test_mend_opens_the_lock_and_leaves_it_open(way):
    with Place(way, "free", WORK_BY_DATA) as place:
        first = place.run("doctor")
        assert first.code == 1 and "--mend" in first.out, first.out + first.err
        assert place.run("doctor").code == 1, "without --mend nothing is changed"
        mended = place.run("doctor", "--mend")
        assert mended.code == 0 and "left so" in mended.out, mended.out + mended.err
        assert place.run("doctor").code == 0

"""`doctor`: a healthy core, and one whose OS lock is closed."""
import pytest

from harness import WORK_BY_DATA, Place


@pytest.mark.parametrize("way", ["rp2040/swd", "m4/swd", "m4", "m55/swd", "a9/swd", "a9"])
def test_a_healthy_core(way):
    with Place(way, "free", WORK_BY_DATA) as place:
        before = {name: value for name, value in place.board.state().items() if name in ("dwt_ctrl", "demcr", "syst_csr")}
        result = place.run("doctor")
        assert result.code == 0, result.err
        assert "counter         ok" in result.out and "STANDS" not in result.out
        after = place.board.state()
        assert before == {name: after[name] for name in before}


@pytest.mark.parametrize("way", ["a7/swd"])
def test_mend_opens_the_lock_and_leaves_it_open(way):
    with Place(way, "free", WORK_BY_DATA) as place:
        first = place.run("doctor")
        assert first.code == 1 and "--mend" in first.out, first.out + first.err
        assert place.run("doctor").code == 1, "without --mend nothing is changed"
        mended = place.run("doctor", "--mend")
        assert mended.code == 0 and "left so" in mended.out, mended.out + mended.err
        assert place.run("doctor").code == 0

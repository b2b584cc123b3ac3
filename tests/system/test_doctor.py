"""`doctor`: a healthy core, and one whose OS lock is closed."""
import re

import pytest

from harness import WORK_BY_DATA, Place, finish_tool
from test_application_cores import MOVING
from test_written import M_PROFILE, WHERE, begin

pytestmark = pytest.mark.each_value  # a row takes seconds


@pytest.mark.parametrize("way", ["rp2040/swd", "rp2350/swd", "m4/swd", "m4", "m55/swd", "a9/swd", "a9", "a53", "r5/swd", "r5", "r52", "r52hyp", "a53el2"])
def test_a_healthy_core(way):
    with Place(way, "free", WORK_BY_DATA) as place:
        before = {name: value for name, value in place.board.state().items() if name in ("dwt_ctrl", "demcr", "syst_csr")}
        result = place.run("doctor")
        assert result.code == 0, result.err
        assert re.search("counter +ok", result.out) and "STOPPED" not in result.out
        after = place.board.state()
        assert before == {name: after[name] for name in before}


@pytest.mark.parametrize("region", [(), ("work_by_data",)])
@pytest.mark.parametrize("way", ["rp2040/swd", "rp2040", "m4/swd", "m4", "m55/swd", "a9/swd", "a9", "a53/swd", "a53", "r5/swd", "r5", "r52/swd", "a53in32", "r52hyp/swd", "a53el2/swd"])
def test_prove(way, region):
    """By the tool's own snapshots, and by what the board says."""
    with Place(way, "free", WORK_BY_DATA) as place:
        ours = ("dwt_ctrl", "demcr", "syst_csr", "fp_comp", "fp_ctrl", "bcr", "bvr", "vcr", "edecr", "pmcr", "pmcntenset")
        before = {name: value for name, value in place.board.state().items() if name in ours}
        result = place.run("doctor", "--prove", *region)
        assert result.code == 0, result.out + result.err
        found = re.search(r"restored +ok +all (\d+) registers are as before", result.out)
        assert found and int(found.group(1)) > 8, result.out
        after = place.board.state()
        assert before == {name: after[name] for name in before}
        place.board.wait_for(lambda state: state["run"] != "halted")


def test_prove_as_json():
    with Place("rp2040/swd", "free", WORK_BY_DATA) as place:
        result = place.run("doctor", "-j", "--prove", "work_by_data")
        assert result.code == 0, result.err
        assert result.summary["restored"] is True and result.summary["left"] == 0 and result.summary["compared"] > 8
        moved = [line for line in result.lines if line["type"] == "register"]
        assert len(moved) == result.summary["moved"] and not any(line["left"] for line in moved)
        assert {"name": "SYST_CVR", "reason": "it counts on"}.items() <= moved[0].items()


def test_prove_finds_what_was_changed_meanwhile():
    """A register that another debugger changes between the two snapshots is not as before."""
    with Place("m4", "free", WORK_BY_DATA) as place:
        tool = place.start("doctor", "--prove", "work_by_data")
        place.wait_for_stops(1)
        place.server("mww 0xE0002014 0x48000001")  # a comparator that is not ours
        result = finish_tool(tool)
        assert result.code == 5 and re.search(r"restored +NOT ALL +1 of \d+ registers", result.out), result.out + result.err
        assert re.search(r"LEFT +0xE0002014, FP_COMP3: 0x0 became 0x48000001", result.out)


@pytest.mark.parametrize("words, said", [(["work_by_data", "work_by_data"], "only with --prove"), (["--mend", "--prove"], "keeps its repairs")])
def test_prove_is_asked_for_in_a_way_that_can_be(words, said):
    with Place("m4/swd", "free", WORK_BY_DATA) as place:
        result = place.run("doctor", *words)
        assert result.code == 2 and said in result.err


@pytest.mark.parametrize("way", ["a7/swd", "a53/swd"])
def test_mend_opens_the_lock_and_leaves_it_open(way):
    with Place(way, "free", WORK_BY_DATA) as place:
        first = place.run("doctor")
        assert first.code == 5 and "--mend" in first.out, first.out + first.err
        assert place.run("doctor").code == 5, "without --mend nothing is changed"
        mended = place.run("doctor", "--mend")
        assert mended.code == 0 and "left so" in mended.out, mended.out + mended.err
        assert place.run("doctor").code == 0


def test_a_counter_that_is_written_is_a_finding(tmp_path):
    with Place("m4/swd", "writes", 0) as place:
        begin(place, M_PROFILE["CYCCNT"], WHERE["inside"], 1)
        result = place.run("doctor")
        assert result.code == 5 and "WRITTEN" in result.out, result.out + result.err
        assert place.run("doctor", "-o", tmp_path / "found").code == 5 and "WRITTEN" in (tmp_path / "found").read_text()


# A Cortex-A53 in each of the states that hide its PMU, and the first message
STATES = {"os-locked": "the OS lock is set", "double-locked": "the OS double lock is set", "powered-off": "the core has no power",
          "epmad": "MDCR_EL3.EPMAD", "soft-locked": "the PMU's software lock is closed",
          "unauthenticated": "the chip does not allow non-invasive debug"}
HIDING = {"double-locked", "powered-off", "epmad", "unauthenticated"}  # not ours to mend


def put_into(place, state):
    for name in ("os-locked", state):
        place.board.command(f"core-state {name} {'on' if name == state else 'off'}")


@pytest.mark.parametrize("way", ["a53/swd", "a53/jtag"])
@pytest.mark.parametrize("state", STATES)
def test_the_first_reason_why_an_a53_cannot_be_read(way, state):
    with Place(way, "free", WORK_BY_DATA) as place:
        put_into(place, state)
        before = place.board.state()
        result = place.run("doctor")
        assert result.code == 5 and STATES[state] in result.out, result.out + result.err
        assert "Cortex-A53" in result.out and ("--mend" in result.out) == (state not in HIDING)
        for name, value in before.items():
            if name not in MOVING:
                assert place.board.state()[name] == value, name
        assert "Cortex-A53" in place.run("info").out
        measured = place.run("delta", "work_by_data", "-r", 3)
        assert measured.code == (3 if state in HIDING else 0), measured.out + measured.err
        if state not in HIDING:
            assert place.run("doctor", "--mend").code == 0 and place.run("doctor").code == 0


@pytest.mark.parametrize("state", STATES)
def test_the_other_core_of_an_a53_is_measured_all_the_same(state):
    with Place("a53/swd", "free", WORK_BY_DATA) as place:
        put_into(place, state)
        place.board.core(1).watch(0xFFFFFFF0)
        result = place.run("-C", 1, "delta", "-j", "core1_work", "-r", 10)
        assert result.code == 0 and len(result.hits) == 10, result.err
        assert place.run("doctor").code == 5


@pytest.mark.parametrize("way", ["m4/swd", "a9"])
def test_what_a_halt_adds_at_a_location(way):
    with Place(way, "free", WORK_BY_DATA, halt_cost=7) as place:
        result = place.run("doctor", "work_by_data")
        assert result.code == 0 and re.search(r"halt overhead at work_by_data: 7 cycles \(\d+ trials, min 7, max 7\)", result.out), result.out + result.err
        refused = place.run("calibrate", "work_by_data")
        assert refused.code == 2 and "use doctor LOCATION" in refused.err

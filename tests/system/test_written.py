"""A program that writes the counters in use: there is never a wrong number, and the message gives the reason."""
import itertools
import re

import pytest

from harness import SOAK, WORK_BY_DATA, Place, finish_tool, passages, returned, unfolded, wait_for

pytestmark = pytest.mark.any_fifth

AT_START, INSIDE, AT_END, BETWEEN = 1, 2, 3, 4
WHERE = {"start": AT_START, "inside": INSIDE, "end": AT_END, "between": BETWEEN}
# What tests/firmware/writes.c writes, by number
M_PROFILE = {"CYCCNT": 1, "DWT_CTRL": 2, "DEMCR": 3}
SYSTICK = {"SYST_CVR": 4, "SYST_RVR": 5}
ARMV8_M = {"PMU_CTRL.C": 6, "PMU_CTRL.E": 7, "PMU_CCNTR": 8, "DEMCR": 3}
A_PROFILE = {"PMCR.C": 1, "PMCR.C and .P": 2, "PMCR.E": 3, "PMCNTENCLR": 4, "PMCCNTR": 5}
CHIPS = {"m4": M_PROFILE, "rp2040": SYSTICK, "m55": ARMV8_M, "a9": A_PROFILE, "a53": A_PROFILE, "r5": A_PROFILE, "r52": A_PROFILE}
LINKS = {chip: [f"{chip}/swd", chip] for chip in CHIPS}
TOLD = re.compile(r"something else (writes|changed|changes|switched)|is not used: something else writes it")


def begin(place, what, where, each):
    place.board.write_word("write_what", what)
    place.board.write_word("write_each", each)
    place.board.write_word("write_where", where)


def check_hits(place, hits, function="written"):
    """Each is true, in its order."""
    truth = [p.cycles for p in passages(place.board.log(), place.symbol(function), returned)]
    rest = iter(truth)
    for hit in hits:
        cycles, least = hit["values"]["CPU_CYCLES"], "CPU_CYCLES" in hit.get("at_least", [])
        assert any(true >= cycles if least else true == cycles for true in rest), f"{cycles} is not in {truth}"


def rows(each):
    for chip, what in CHIPS.items():
        for way, name, where in itertools.product(LINKS[chip], what, WHERE):
            yield pytest.param(way, what[name], where, each, id=f"{way}-{name}-{where}")


@pytest.mark.any_row(4)
@pytest.mark.parametrize("way, what, where, each", rows(1))
def test_each_passage(way, what, where, each):
    with Place(way, "writes", 0) as place:
        begin(place, what, WHERE[where], each)
        place.board.watch(*[place.symbol("written")])
        result = place.run("delta", "-j", "written", "-r", 20)
        check_hits(place, result.hits)
        assert result.code in (0, 3), result.err
        assert TOLD.search(result.err if result.code else result.header.get("note", "")), result.err + result.out


@pytest.mark.any_row(4)
@pytest.mark.parametrize("way, what, where, each", [row for each in (7, 300) for row in rows(each)] if SOAK else rows(50))
def test_now_and_then(way, what, where, each):
    """However rare the write is, all numbers before the error are right."""
    with Place(way, "writes", 0) as place:
        begin(place, what, WHERE[where], each)
        place.board.watch(*[place.symbol("written")])
        result = place.run("delta", "-j", "written", "-r", 100)
        check_hits(place, result.hits)
        assert result.code in (0, 3), result.err
        if result.code:
            assert TOLD.search(result.err), result.err


# --- stat, watch, doctor -------------------------------------------------------------------------------

def check_counts(result, went_by):
    """All of what the lines say was counted, and not some of it that was left when another program had cleared the rest."""
    counts = [(line.get("columns") or line["values"])["CPU_CYCLES"]["count"] for line in result.lines
              if line["type"] == "sample"]
    assert not counts or went_by / 20 < sum(counts) <= went_by, counts


@pytest.mark.any_row(4)
@pytest.mark.parametrize("command", ["stat", "watch"])
@pytest.mark.parametrize("way, what, where, each", rows(1))
def test_counting_while_it_is_written(way, what, where, each, command):
    with Place(way, "writes", 0) as place:
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


# --- guard, lines, record --every ---------------------------------------------------------------------------------------

@pytest.mark.any_row(4)
@pytest.mark.parametrize("each", [1, 70])
@pytest.mark.parametrize("command", [("guard", "written", "--budget", 100000, "--for", "2s"), ("lines", "written", "-r", 150), ("record", "--every", 2000, "--for", "2s")],
                         ids=lambda words: words[0])
@pytest.mark.parametrize("way, name", [("m4/swd", "CYCCNT"), ("m4", "CYCCNT"), ("m33/swd", "CYCCNT"), ("rp2350/swd", "CYCCNT"), ("a9/swd", "PMCCNTR"),
                                       ("a53/swd", "PMCR.C"), ("a53", "PMCCNTR"), ("r5/swd", "PMCR.C")])
def test_each_command_has_the_same_judge(way, name, command, each):
    """A count that went back is not a call of four thousand million cycles, nor a profile of one sample."""
    with Place(way, "writes", 0) as place:
        begin(place, CHIPS.get(place.chip, M_PROFILE)[name], INSIDE, 1 if command[0] == "guard" else each)
        result = place.run(*command)
        if result.code == 0 and command[0] == "record":  # some stops are before the write
            assert not re.search(r"^\d samples", result.err, re.M) and OWN.search(result.err), result.err
        elif result.code == 0:  # by another counter
            assert TOLD.search(unfolded(result.out)), result.out + result.err
        else:
            assert result.code == 3 and TOLD.search(unfolded(result.err)), result.err + result.out
        assert place.board.state()["run"] == "running"
        assert not re.search(r"\d(,\d{3}){3}", result.out), result.out


@pytest.mark.any_row
@pytest.mark.parametrize("way", ["rp2040/swd", "rp2040"])
def test_a_pause_that_the_chips_timer_shows(way):
    with Place(way, "writes", 0) as place:
        begin(place, 9, INSIDE, 1)
        place.board.watch(place.symbol("written"))
        result = place.run("delta", "-j", "written", "-r", 20)
        if "the clock is wrong" in result.out:  # a busy machine: then the timer proves nothing
            assert result.code == 5
            return
        assert result.code == 3 and ("timer" in result.err or TOLD.search(result.err)), result.err + result.out


@pytest.mark.parametrize("way", ["m55/swd"])
def test_events_that_no_cycles_have_room_for(way):
    with Place(way, "writes", 0) as place:
        begin(place, 10, INSIDE, 1)
        result = place.run("delta", "-j", "written", "-r", 20, "-e", "INST_RETIRED")
        assert result.code == 3 and TOLD.search(result.err), result.err + result.out


# --- what the ELF knows -------------------------------------------------------------------------------------------

SMALL = {"m4": (11, 12, 13, 14), "m33": (11, 12, 13, 14), "rp2350": (11, 12, 13, 14), "a9": (6, 7, 8, 9), "a7": (6, 7, 8, 9), "r5": (6, 7, 8, 9), "a53": (6, 7, 8, 9),
         "rp2040": (9,), "m55": (7, 8)}
OWN = re.compile(r"writes\.c:\d+ \(\S+\) writes (DWT_CYCCNT|DWT_CTRL|DEMCR|SYST_CSR|SYST_CVR|SYST_RVR|PMU_\w+|PMC\w+)")


def small_rows():
    for way, what in [(f"{chip}/swd", what) for chip, kinds in SMALL.items() for what in kinds] + [("m4", 12), ("a9", 7)]:
        for words in (["delta", "-r", 20], ["lines", "-r", 5], ["guard", "--budget", 100000, "--for", "1s"]):
            if words[0] != "guard" or way != "rp2040/swd":  # nothing stops an RP2040 at a budget
                yield pytest.param(way, what, [words[0], "written_in_call", *words[1:]], id=f"{way}-{what}-{words[0]}")


@pytest.mark.any_row(4)
@pytest.mark.parametrize("way, what, command", small_rows())
def test_small_writes_are_found_in_the_code(way, what, command):
    """No limit of time shows them. Each hit is right, by another counter, or there is none."""
    with Place(way, "writes", 0) as place:
        place.board.write_word("write_in_call", what)
        place.board.write_word("write_where", AT_START)
        place.board.watch(place.symbol("written_in_call"))
        result = place.run(*command, *(["-j"] if command[0] == "delta" else []))
        caught = result.code == 3 and re.search("at once|something else chang", result.err)  # it was off just then
        assert caught or OWN.search(result.err + result.out), result.err + result.out
        if command[0] == "delta":
            check_hits(place, result.hits, "written_in_call")
        assert result.code == 3 or (result.code == 0 and "is not used" in result.out), result.err + result.out


def test_survey_leaves_such_functions_out():
    with Place("a9/swd", "writes", WORK_BY_DATA) as place:
        place.board.write_word("write_where", AT_START)
        result = place.run("survey", "written_in_call", "work_by_data", "--for", "2s")
        text = " ".join(result.out.split())
        assert result.code == 0 and OWN.search(text) and re.search(r"work_by_data +[\d,]+ ", text), result.err + result.out


@pytest.mark.parametrize("way", ["m4/swd", "a53/swd"])
def test_writes_elsewhere_are_doctors(way):
    with Place(way, "writes", WORK_BY_DATA) as place:
        if place.chip == "a53":
            place.board.command("core-state os-locked off")
        result = place.delta("work_by_data", "-r", 5)
        assert result.code == 0 and not OWN.search(result.header.get("note", "")) and len(result.hits) == 5, result.err + result.out
        doctor = place.run("doctor", "-j")
        found = [line for line in doctor.lines if line["type"] == "writer"]
        assert doctor.code == 0 and found and all("writes.c" in line["source"] for line in found), doctor.out


def test_writes_in_a_handler():
    """The vector table is the target's."""
    with Place("m4", "writes", WORK_BY_DATA) as place:
        table = place.symbol("stack_top") - 0x1000 & ~0x3FF
        for n in range(64):
            place.board.write(table + 4 * n, int.to_bytes(place.symbol("write_it") | 1 if n == 40 else 0, 4, "little"))
        place.server(f"mww 0xE000ED08 {table:#x}")
        result = place.run("delta", "work_by_data", "-r", 5, "--counter", "dwt")
        assert result.code == 3 and "exception handler" in result.err and OWN.search(result.err), result.err


# --- others who share the target ----------------------------------------------------------------------------------

@pytest.mark.parametrize("chip", ["m4", "a9", "a53"])
def test_another_of_us_that_ends_switches_it_off(chip, monkeypatch, tmp_path):
    """An older one, which has neither lock nor mark."""
    with Place(chip, "free", WORK_BY_DATA) as place:
        place.board.watch(place.symbol("work_by_data"))
        stat = place.start("stat", "--for", "700ms")
        wait_for(lambda: place.board.state().get("dwt_ctrl", place.board.state().get("pmcr", 0)) & 1, "the other one")
        place.server("set ::pmu_holder {}")
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
        result = place.run("delta", "-j", "work_by_data", "-r", 400)
        finish_tool(stat)
        check_hits(place, result.hits, "work_by_data")
        assert result.code == 0 and len(result.hits) == 400 or result.code == 3, result.err
        if result.code and "halted" not in result.err:
            assert TOLD.search(result.err), result.err


WRITES = {"m4": {"DWT_CTRL": "mww 0xE0001000 0x40000000", "DEMCR": "mww 0xE000EDFC 0", "CYCCNT": "mww 0xE0001004 0"},
          "a9": {"PMCR": "a9.apb mww 0x80091E04 0", "PMCR.C": "a9.apb mww 0x80091E04 5", "PMCNTENCLR": "a9.apb mww 0x80091C20 0xFFFFFFFF"},
          "a53": {"PMCR": "a53.apb mww 0x80430E04 0", "PMCNTENCLR": "a53.apb mww 0x80430C20 0xFFFFFFFF"}}


@pytest.mark.any_row(4)
@pytest.mark.parametrize("chip, name", [(chip, name) for chip, names in WRITES.items() for name in names])
def test_somebody_at_openocds_other_door(chip, name):
    with Place(chip, "free", WORK_BY_DATA) as place:
        place.board.watch(place.symbol("work_by_data"))
        tool = place.start("delta", "-j", "work_by_data", "-r", 2000)
        wait_for(lambda: sum(event.kind == "halt" for event in place.board.log()) >= 60, "some hits")
        place.server(WRITES[chip][name])
        result = finish_tool(tool)
        check_hits(place, result.hits, "work_by_data")
        assert result.code == 3 and TOLD.search(result.err), result.err

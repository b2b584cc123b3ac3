"""`doctor` names the line that writes a counter: found by a watchpoint on Cortex-M, and in the ELF on A and R cores."""
import functools
import itertools
import os
import re
import signal

import pytest

from harness import NOWHERE, ROOT, Place, finish_tool, wait_for
from test_written import A_PROFILE, ARMV8_M, CHIPS, M_PROFILE, SYSTICK, WHERE, begin

pytestmark = pytest.mark.each_value

# What is written: its register, and the statement of tests/firmware/writes.c
BY_STORES = {"CYCCNT": ("DWT_CYCCNT", "DWT_CYCCNT = 0"), "DWT_CTRL": ("DWT_CTRL", "DWT_CTRL &="),
             "DEMCR": ("DEMCR", "DEMCR &="), "SYST_CVR": ("SYST_CVR", "SYST_CVR = 0"),
             "SYST_RVR": ("SYST_RVR", "SYST_RVR = "), "PMU_CTRL.C": ("PMU_CTRL", "PMU_CTRL |="),
             "PMU_CTRL.E": ("PMU_CTRL", "PMU_CTRL &="), "PMU_CCNTR": ("PMU_CCNTR", "PMU_CCNTR = 0")}
BY_CODE = {"PMCR.C": "PMCR", "PMCR.C and .P": "PMCR", "PMCR.E": "PMCR", "PMCNTENCLR": "PMCNTENCLR", "PMCCNTR": "PMCCNTR"}
ASM = {"a53": {"PMCR": "msr pmcr_el0", "PMCNTENCLR": "msr pmcntenclr_el0", "PMCCNTR": "msr pmccntr_el0"},
       "v7": {"PMCR": "mcr p15, 0, %0, c9, c12, 0", "PMCNTENCLR": "mcr p15, 0, %0, c9, c12, 2",
              "PMCCNTR": "mcr p15, 0, %0, c9, c13, 0"}}
KEPT = ["dwt_comp", "dwt_mask", "dwt_function", "dwt_ctrl", "fp_ctrl", "fp_comp", "dhcsr", "dfsr", "demcr", "syst_csr"]
TRCENA = 1 << 24


@functools.lru_cache(maxsize=None)
def line_of(text):
    with open(os.path.join(ROOT, "tests", "firmware", "writes.c"), encoding="ascii") as file:
        found = [number for number, line in enumerate(file, 1) if text in line and "#define" not in line]
    assert len(found) == 1, (text, found)
    return f"writes.c:{found[0]}"


def held(place):
    """What the tool alone changes. The program itself switches trace off, in some rows, and has code that switches its counters on."""
    state = place.board.state()
    kept = {name: state[name] for name in KEPT}
    kept["demcr"] &= ~TRCENA
    kept["dwt_ctrl"] &= ~1
    kept["syst_csr"] &= ~1
    return kept


def writers(result, how):
    return [line for line in result.lines if line["type"] == "writer" and line["how"] == how]


def stores():
    for chip, names in (("m4", M_PROFILE), ("rp2040", SYSTICK), ("m55", ARMV8_M)):
        for way, name, where in itertools.product([f"{chip}/swd", chip], names, WHERE):
            yield pytest.param(way, name, where, id=f"{way}-{name}-{where}")


@pytest.mark.parametrize("way, name, where", stores())
def test_a_watchpoint_names_the_line(way, name, where):
    register, statement = BY_STORES[name]
    with Place(way, "writes", 0) as place:
        begin(place, CHIPS[place.chip][name], WHERE[where], 1)
        before = held(place)
        result = place.run("doctor", "-j")
        assert result.code == (0 if name == "SYST_RVR" else 5), result.err  # the reload may change
        seen = writers(result, "watchpoint")
        assert seen and {line["register"] for line in seen} == {register}, result.out
        truth = line_of(statement)
        exact = {line["source"] for line in seen if line["exact"]}
        if exact == {truth}:
            assert all(re.match("writ", line["place"]) for line in seen), result.out
        else:  # lines that go on at one place, or a return to where no code says what was called: both may have done it
            assert exact <= {truth} or register == "PMU_CTRL", result.out
            found = writers(result, "code")
            assert len({line["address"] for line in found}) > 1, result.out  # where one instruction writes it, it is named exactly
            assert truth in exact | {line["source"] for line in found}, result.out
            assert all(line["place"].startswith("write_it") for line in found), result.out
        assert held(place) == before and place.board.state()["run"] == "running"


def codes():
    for chip in ("a9", "r5", "a53"):
        for way, name in itertools.product([f"{chip}/swd", chip], A_PROFILE):
            yield pytest.param(way, name, id=f"{way}-{name}")


@pytest.mark.parametrize("way, name", codes())
def test_the_elf_has_the_lines_that_can_do_it(way, name):
    register = BY_CODE[name]
    with Place(way, "writes", 0) as place:
        if place.chip == "a53":
            place.board.command("core-state os-locked off")
        begin(place, CHIPS[place.chip][name], WHERE["inside"], 1)
        result = place.run("doctor", "-j")
        assert result.code == 5, result.err
        found = writers(result, "code")
        truth = line_of(ASM.get(place.chip, ASM["v7"])[register])
        assert truth in {line["source"] for line in found if line["register"] == register}, result.out
        if name in ("PMCR.E", "PMCNTENCLR") and place.chip != "r5":  # then a register speaks for it, and is first
            assert found[0]["register"] == register, result.out
        assert place.board.state()["run"] == "running"


# --- where nothing can be seen, and where something is in between -------------------------------------------

def test_without_an_elf_there_are_addresses():
    with Place("m4/swd", "writes", 0) as place:
        begin(place, M_PROFILE["CYCCNT"], WHERE["inside"], 1)
        result = place.run("doctor", elf=False)
        assert result.code == 5 and "written by      DWT_CYCCNT at or a few instructions before" in result.out, result.out
        assert "--elf FILE" in result.out and "0x0800" in result.out
        assert all(len(line) <= 80 for line in result.out.splitlines()), result.out


def test_comparators_of_others_are_left_to_them():
    with Place("m4", "writes", 0) as place:
        place.server("halt")
        for n in range(4):
            place.server(f"wp {0x20001000 + 16 * n:#x} 4 r")
        place.server("resume")
        halts = place.board.state()["halts"]
        begin(place, M_PROFILE["CYCCNT"], WHERE["inside"], 1)
        before = held(place)
        result = place.run("doctor")
        assert result.code == 5 and "comparators are in use" in result.out, result.out
        assert place.board.state()["halts"] == halts + 1  # to read them
        assert "may write it" in result.out and "(write_it" in result.out and line_of("DWT_CYCCNT = 0") in result.out  # as a candidate
        assert held(place) == before


def start_and_wait(place, *words):
    tool = place.start("doctor", "-j", *words)
    wait_for(lambda: any(value & 0xF for value in place.board.state()["dwt_function"]), "a watchpoint to be set")
    return tool


@pytest.mark.parametrize("way, name", [("m4/swd", "CYCCNT"), ("m4", "DEMCR"), ("rp2040/swd", "SYST_CVR"), ("m55/swd", "PMU_CCNTR")])
def test_ctrl_c_leaves_nothing(way, name):
    with Place(way, "writes", 0) as place:
        begin(place, CHIPS[place.chip][name], WHERE["inside"], 1)
        before = held(place)
        result = finish_tool(start_and_wait(place), signal.SIGINT)
        assert result.code == 5 and "something else" in result.err, result.err
        assert held(place) == before and place.board.state()["run"] == "running"


@pytest.mark.parametrize("way, name", [("m4/swd", "CYCCNT"), ("m4", "DWT_CTRL"), ("rp2040/swd", "SYST_CVR"), ("m55/swd", "PMU_CCNTR")])
def test_a_reset_leaves_nothing(way, name):
    with Place(way, "writes", 0) as place:
        begin(place, CHIPS[place.chip][name], WHERE["inside"], 1)
        before = held(place)
        tool = start_and_wait(place)
        place.board.command("reset")
        result = finish_tool(tool)
        assert result.code == 5, result.err
        after = held(place)
        changed_by_reset = {"dwt_ctrl", "syst_csr"}
        assert {k: v for k, v in after.items() if k not in changed_by_reset} == \
            {k: v for k, v in before.items() if k not in changed_by_reset}
        assert place.board.state()["run"] == "running"


@pytest.mark.parametrize("way", ["m4/swd", "rp2040/swd"])
def test_a_seldom_write_is_waited_for(way):
    with Place(way, "writes", 0) as place:
        begin(place, CHIPS[place.chip]["CYCCNT" if place.chip == "m4" else "SYST_CVR"], WHERE["inside"], 20)
        place.board.watch(NOWHERE)
        result = place.run("doctor", "-j")
        if result.code == 5:  # else it was not written while it was read
            assert writers(result, "watchpoint"), result.out

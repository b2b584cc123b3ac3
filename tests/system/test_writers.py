"""`doctor` names the lines of the ELF that can write a counter: stores of a Cortex-M, instructions of A and R cores."""
import functools
import itertools
import os

import pytest

from harness import NOWHERE, ROOT, Place
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


def writers(result):
    return [line for line in result.lines if line["type"] == "writer"]


def stores():
    for chip, names in (("m4", M_PROFILE), ("rp2040", SYSTICK), ("m55", ARMV8_M)):
        for way, name, where in itertools.product([f"{chip}/swd", chip], names, WHERE):
            yield pytest.param(way, name, where, id=f"{way}-{name}-{where}")


@pytest.mark.parametrize("way, name, where", stores())
def test_the_elf_has_the_stores_that_can_do_it(way, name, where):
    register, statement = BY_STORES[name]
    with Place(way, "writes", 0) as place:
        begin(place, CHIPS[place.chip][name], WHERE[where], 1)
        before = held(place)
        result = place.run("doctor", "-j")
        assert result.code == (0 if name == "SYST_RVR" else 5), result.err  # the reload may change
        found = writers(result)
        assert line_of(statement) in {line["source"] for line in found if line["register"] == register}, result.out
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
        found = writers(result)
        truth = line_of(ASM.get(place.chip, ASM["v7"])[register])
        assert truth in {line["source"] for line in found if line["register"] == register}, result.out
        if name in ("PMCR.E", "PMCNTENCLR") and place.chip != "r5":  # then a register speaks for it, and is first
            assert found[0]["register"] == register, result.out
        assert place.board.state()["run"] == "running"


# --- where nothing can be seen ------------------------------------------------------------------------------

def test_without_an_elf_it_says_what_helps():
    with Place("m4/swd", "writes", 0) as place:
        begin(place, M_PROFILE["CYCCNT"], WHERE["inside"], 1)
        result = place.run("doctor", elf=False)
        assert result.code == 5 and "--elf FILE lists the instructions that can write it" in result.out, result.out
        assert all(len(line) <= 80 for line in result.out.splitlines()), result.out


@pytest.mark.parametrize("way", ["m4/swd", "rp2040/swd"])
def test_a_seldom_write_is_waited_for(way):
    with Place(way, "writes", 0) as place:
        begin(place, CHIPS[place.chip]["CYCCNT" if place.chip == "m4" else "SYST_CVR"], WHERE["inside"], 20)
        place.board.watch(NOWHERE)
        result = place.run("doctor", "-j")
        if result.code == 5:  # else it was not written while it was read
            assert writers(result), result.out

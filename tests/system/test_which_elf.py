"""The ELF is the program that the target runs, and the place in it is the one that was meant; else both are named."""
import subprocess

import pytest

from harness import PING, TOOL, WORK_BY_DATA, Place, elf_of, unfolded


def build_id(elf):
    notes = subprocess.run(["readelf", "-n", elf], capture_output=True, text=True, check=True).stdout
    return notes.split("Build ID: ")[1].split()[0]


@pytest.mark.parametrize("way, elf, words", [
    ("m4/swd", TOOL, "this ELF is for x86-64; the core is a Cortex-M4 r0p1"),
    ("rp2040", elf_of("m4", "free"), "this ELF is for Armv7E-M; the core is a Cortex-M0+ r0p1"),
    ("m4/jtag", elf_of("a9", "free"), "this ELF is for Armv7-A; the core is a Cortex-M4 r0p1"),
    ("a9/swd", elf_of("a53", "free"), "this ELF is for AArch64; the core is a Cortex-A9"),
    ("a53/swd", elf_of("m4", "free"), "this ELF is for Armv7E-M; the core is a Cortex-A53"),
])
def test_an_elf_for_another_core(way, elf, words):
    with Place(way) as place:
        place.elf = elf
        before = place.board.state()["run"]
        result = place.run("delta", "main", "-r", 1)
        assert result.code == 3 and words in result.err and result.out == "", result.err
        assert place.board.state()["run"] == before


def test_an_armv6_m_elf_is_only_compared_on_a_cortex_m4():
    with Place("m4/swd") as place:
        place.elf = elf_of("rp2040", "free")
        result = place.run("delta", "main", "-r", 1)
        assert result.code == 3 and "this ELF is for" not in result.err, result.err


@pytest.mark.parametrize("way", ["rp2040", "m4/swd", "a9/swd", "a53"])
def test_another_build_is_told_by_its_build_id(way):
    with Place(way) as place:
        other = elf_of(place.chip, "tick" if place.chip in ("rp2040", "m4") else "parked")
        theirs, ours = build_id(place.elf), build_id(other)
        place.elf = other
        result = place.run("info")
        assert result.code == 3, result.err
        assert f"it holds build ID {theirs[:12]}..., the file {ours[:12]}..." in result.err, result.err


def test_a_function_is_named_with_its_file():
    with Place("m4/swd", "free", WORK_BY_DATA) as place:
        result = place.delta("scenarios.c:work_by_data", "-r", 3)
        assert result.code == 0 and result.header["region"]["start"] == "scenarios.c:work_by_data", result.header
        wrong = place.run("delta", "times.c:work_by_data")
        assert wrong.code == 2 and "work_by_data is in scenarios.c:" in wrong.err, wrong.err


def test_a_function_that_is_inlined_is_named_where_it_stands():
    with Place("m4/swd") as place:
        result = place.run("delta", "inlined_twice")
        assert result.code == 2 and "is inlined where it is called" in result.err, result.err
        assert "into ping at scenarios.c:" in result.err
        start, end = result.err.split("name a range such as ")[1].split()[:2]
        place.set_scenario(PING)
        measured = place.delta(start, end, "-r", 3)
        assert measured.code == 0 and len(measured.hits) == 3, measured.err


@pytest.mark.parametrize("renamed, words", [
    (["--strip-symbol", "xPendedTicks"], "the ELF has no xPendedTicks"),
    (["--redefine-sym", "xPendedTicks=kept_apart"], "the ELF has no xPendedTicks"),
    (["--redefine-sym", "uxSchedulerSuspended=xPendedTicks"], "the ELF has several variables xPendedTicks"),
])
def test_ticks_of_freertos_want_those_that_are_put_by(tmp_path, renamed, words):
    with Place("m4/swd", "ms") as place:
        elf = tmp_path / "changed.elf"
        subprocess.run(["arm-none-eabi-objcopy", *renamed, place.elf, elf], check=True)
        place.elf = elf
        result = place.run("delta", "work_by_data", "-r", 1, "--counter", "systick", "--tick", "xTickCount")
        assert result.code == 2 and words in result.err, result.err


@pytest.mark.parametrize("way", ["m4/swd", "rp2040"])
def test_a_copy_stands_in_for_its_function_and_that_is_told(tmp_path, way):
    with Place(way, "free", WORK_BY_DATA) as place:
        elf = tmp_path / "copied.elf"
        renamed = ["--redefine-sym=work_by_data=work_by_data.constprop.0", "--redefine-sym=ping=pong.part.0"]
        subprocess.run(["arm-none-eabi-objcopy", *renamed, place.elf, elf], check=True)
        place.elf = elf
        text = place.run("delta", "work_by_data", "-r", 3)
        assert text.code == 0 and "measured as work_by_data.constprop.0, the compiler's copy of it" in unfolded(text.out), text.out
        result = place.run("delta", "-j", "scenarios.c:work_by_data", "-r", 3)
        assert len(result.hits) == 3 and "measured as work_by_data.constprop.0" in result.header["note"], result.err
        part = place.run("delta", "pong")
        assert part.code == 2 and "only its part pong.part.0 is left" in part.err, part.err

"""Whether the target runs the ELF: its code decides. What is written after the link, or by the program, makes a note."""
import os
import shutil
import subprocess

import pytest

from harness import unfolded
from own_program import START, own_place
from test_no_elf import run_in

SOURCE = START + r"""
__attribute__((section(".rodata.zz_device"), used)) const uint32_t device_data[8] = {~0u, ~0u, ~0u, ~0u, ~0u, ~0u, ~0u, ~0u};
__attribute__((section(".rodata.aa_header"), used)) const uint32_t image_header[64] = {0};
APART void filter(void)
{
    for (uint32_t i = 0; i < 20; i++)
        sink += i;
}
APART void spare(uint32_t v)
{
    sink = v * device_data[v & 7];
}
__attribute__((section(".init_code"), noinline, used)) void once(void)
{
    for (uint32_t i = 0; i < 4; i++)
        sink += i * 3;
}
void run(void)
{
    for (;; round_count++) {
        filter();
        if (round_count == ~0u)
            spare(sink);
    }
}
"""
WAYS = ["m4/swd", "rp2040", "m4", "a9/swd", "a53/swd"]
NO_ID = "-Wl,--build-id=none"


def said(place, *words):
    result = place.run(*words)
    return result.code, unfolded(result.err), unfolded(result.out)


@pytest.mark.any_row(2)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("flags", [[], [NO_ID]])
def test_a_number_that_was_written_later_is_a_note(tmp_path, way, flags):
    with own_place(tmp_path, way, SOURCE, *flags) as place:
        place.board.write("device_data", bytes(range(32)))
        place.board.write("image_header", bytes(range(0x80, 0xA0)))
        for words in (["delta", "filter", "-r", 3], ["info"], ["survey", "filter", "-r", 2]):
            code, err, _ = said(place, *words)
            assert code == 0 and "differ from the ELF, the first at 0x" in err and "none is code" in err, (words, err)


@pytest.mark.any_row(2)
@pytest.mark.parametrize("way", WAYS)
def test_other_code_in_what_is_measured_is_refused_or_named(tmp_path, way):
    with own_place(tmp_path, way, SOURCE, NO_ID) as place:
        assert said(place, "delta", "filter", "-r", 2)[:2] == (0, "")
        place.board.write("spare", b"\x12\x34\x56\x78")
        for words in (["delta", "spare", "-r", 2, "--timeout", 1], ["doctor", "spare"], ["lines", "spare"], ["guard", "spare", "--budget", "10ms"]):
            code, err, _ = said(place, *words)
            assert code == 3 and "does not run this ELF" in err, (words, err)
    with own_place(tmp_path, way, SOURCE) as place:
        place.board.write("spare", b"\x12\x34\x56\x78")
        code, err, _ = said(place, "delta", "filter", "-r", 2)
        assert code == 0 and "its build ID is in place" in err, err
        assert "not proved to be exact: code differs from the ELF, first at 0x" in said(place, "delta", "filter", "-r", 2, "--quiet")[2]
        assert "its build ID is in place" in said(place, "delta", "spare", "-r", 2, "--timeout", 1)[1]


@pytest.mark.parametrize("way", ["m4/swd"])
def test_a_small_section_that_was_given_back_is_a_note(tmp_path, way):
    padding = "\n".join(f"APART void more{i}(void) {{ sink += {i}; sink *= {i + 3}u; sink ^= {i + 7}u; }}" for i in range(12))
    source = SOURCE.replace("void run(void)\n", padding.replace("APART", "__attribute__((noinline, used))") + "\nvoid run(void)\n", 1)
    with own_place(tmp_path, way, source, NO_ID, "-Wl,--section-start=.init_code=0x20008000") as place:
        place.board.write("once", bytes(range(1, 13)))
        code, err, _ = said(place, "delta", "filter", "-r", 2)
        assert code == 0 and "most is the same" in err and "0x20008000" in err, err
        assert said(place, "delta", "once", "-r", 2)[0] == 3


def test_of_equal_code_the_file_with_names_is_taken(tmp_path):
    with own_place(tmp_path, "m4/swd", SOURCE) as place:
        folder = tmp_path / "project"
        folder.mkdir()
        shutil.copy(place.elf, folder / "full.elf")
        subprocess.run(["arm-none-eabi-strip", place.elf, "-o", folder / "bare.elf"], check=True)
        os.utime(folder / "full.elf", (1, 1))
        result = run_in(folder, *place.probe_words(), "delta", "filter", "-r", 2)
        assert result.code == 0 and "using full.elf" in result.err, result.err

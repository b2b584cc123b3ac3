"""Code of several sections at one address: the target holds one of them at a time, and nothing shows which."""
import os

import pytest

from harness import run_tool, unfolded
from own_program import START, own_place
from test_annotate import write_profile

SOURCE = START + r"""
#define OVERLAY(name) __attribute__((section(name), noinline, noclone, long_call))
OVERLAY(".ovl_a") void decode_audio(void) { for (uint32_t i = 0; i < 10; i++) sink += i; }
OVERLAY(".ovl_b") void decode_video(void) { for (uint32_t i = 0; i < 100; i++) sink += i * 3; }
extern uint32_t __load_start_ovl_a[], __load_stop_ovl_a[], __load_start_ovl_b[], __load_stop_ovl_b[];
APART void load(const uint32_t *from, const uint32_t *to)
{
    for (volatile uint32_t *word = (uint32_t *)0x2001F000; from < to;)
        *word++ = *from++;
    __asm volatile("dsb\n isb");
}
volatile uint32_t is_audio;
APART void play(void)
{
    if (is_audio)
        decode_audio();
    else
        decode_video();
}
void run(void)
{
    if (is_audio) /* loaded once: emulators differ in what they make of code that changes */
        load(__load_start_ovl_a, __load_stop_ovl_a);
    else
        load(__load_start_ovl_b, __load_stop_ovl_b);
    for (;; round_count++)
        play();
}
"""
LAYOUT = """SECTIONS
{
    OVERLAY 0x2001F000 : AT (0x08010000) { .ovl_a { *(.ovl_a) } .ovl_b { *(.ovl_b) } }
}
INSERT AFTER .text;
"""


@pytest.fixture
def place(tmp_path):
    (tmp_path / "overlay.ld").write_text(LAYOUT)
    with own_place(tmp_path, "m4/swd", SOURCE, f"-Wl,-T,{tmp_path}/overlay.ld") as it:
        yield it


def test_a_region_in_an_overlay_is_refused(place):
    for words in (["delta", "decode_video"], ["delta", "*0x2001f002", "*0x2001f004"], ["guard", "decode_audio", "--budget", "10ms"],
                  ["lines", "decode_audio"], ["doctor", "decode_video"]):
        refused = place.run(*words)
        assert refused.code == 2 and "is in an overlay: the sections .ovl_a, .ovl_b all have code at 0x2001f00" in unfolded(refused.err), refused.err
    survey = place.run("survey", "decode_*", "play", "-r", 3)
    assert survey.code == 0 and unfolded(survey.out).count("is in an overlay") == 1 and "play" in survey.out, survey.out + survey.err
    assert place.run("delta", "play", "-r", 3).code == 0


def test_a_profile_says_that_names_may_be_anothers(place, tmp_path):
    path, code = tmp_path / "profile.jsonl", place.symbol("play")
    write_profile(path, place.elf, {0x2001f004: 50, code: 1000})
    shown = run_tool("--elf", place.elf, "report", path)
    assert "2000 samples lie where the sections .ovl_a, .ovl_b overlay each other" in unfolded(shown.out), shown.out
    os.rename(place.elf, tmp_path / "moved.elf")  # it is found in the folder of the profile
    os.makedirs(tmp_path / "kept")
    os.rename(tmp_path / "moved.elf", tmp_path / "kept" / os.path.basename(place.elf))
    os.rename(path, tmp_path / "kept" / "profile.jsonl")
    assert "overlay each other" in unfolded(run_tool("report", tmp_path / "kept" / "profile.jsonl").out)
    os.rename(tmp_path / "kept" / os.path.basename(place.elf), place.elf)
    write_profile(path, place.elf, {code: 1000})
    assert "overlay" not in run_tool("--elf", place.elf, "report", path).out

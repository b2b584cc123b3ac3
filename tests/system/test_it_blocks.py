"""Blocks of an IT instruction that hold code of several lines: no core is sure to stop inside one, so each is one piece."""
import os
import re
import subprocess

import pytest

from harness import ROOT, Place, run_tool, unfolded, wait_for
from test_left_alone import CORES
from test_lines import check_truth, lines
from test_restore import snapshot

SOURCE = r"""
#include <stdint.h>
volatile uint32_t round_count, sink;
uint32_t SystemCoreClock __attribute__((used)) = 12000000;
#if defined __ARM_ARCH_7A__ || defined __ARM_ARCH_7R__
__asm(".section .vectors, \"ax\", %progbits\n.arm\n.global Reset_Handler\n.type Reset_Handler, %function\nReset_Handler:\n"
      "ldr sp, =stack_top\nldr r0, =run\nbx r0\n.pool\n.text");
#define ENTRY run
#else
void Reset_Handler(void);
extern uint32_t stack_top[];
__attribute__((section(".vectors"), used)) static const void *const vectors[16] = {stack_top, Reset_Handler};
#define ENTRY Reset_Handler
#endif

__attribute__((noinline)) uint32_t clamp(uint32_t x)
{
    uint32_t r = x & 255;
    __asm volatile(/* two lines, one block */
        "tst %1, #16\n"
        ".loc 1 901\n ittt ne\n addne %0, %0, #7\n"
        ".loc 1 902\n eorne %1, %1, %0\n"
        ".loc 1 903\n addne %1, %1, #3\n"
        ".loc 1 904\n add %0, %0, %1\n"
        ".loc 1 905\n"
        : "+r"(r), "+r"(x) : : "cc");
    return r + x;
}

__attribute__((used)) void ENTRY(void)
{
    for (round_count = 0;; round_count++) {
        sink += clamp(round_count * 5);
        for (uint32_t i = 0; i < 300; i++)
            __asm volatile("nop");
    }
}
"""
IT, INSIDE, BEHIND = 901, (902, 903), 904
FLAGS = {chip: [word if word != "-marm" else "-mthumb" for word in CORES[chip]] for chip in ("m4", "m7", "m55", "a9", "r5")}
WAYS = ["m4/swd", "m4", "m55/swd", "m7/swd", "a9/swd", "r5/swd"]


def built(folder, chip):
    firmware, source, elf = os.path.join(ROOT, "tests", "firmware"), folder / "it.c", str(folder / f"{chip}-it.elf")
    source.write_text(SOURCE)
    subprocess.run([*FLAGS[chip], "-O1", "-g", "-ffreestanding", "-nostdlib", "-nostartfiles", "-static", "-Wl,--build-id",
                    "-Wl,--no-warn-rwx-segments", "-L", firmware, "-T", f"{chip}.ld", "-o", elf, str(source)], check=True, cwd=firmware)
    return elf


@pytest.fixture
def place(request, tmp_path):
    elf = built(tmp_path, request.param.partition("/")[0])
    with Place(request.param, "free", firmware=elf) as it:
        it.elf = elf
        wait_for(lambda: it.board.read_word("round_count") > 0, "the first round")
        yield it


@pytest.mark.any_row(1)
@pytest.mark.parametrize("place", WAYS, indirect=True)
def test_a_block_is_one_piece_of_the_its_line(place):
    before = snapshot(place)
    result = check_truth(place, "clamp")
    shown = {row["line"] for row in result.rows}
    assert IT in shown and BEHIND in shown and not shown & set(INSIDE), shown
    assert any("conditions of an IT: code of lines 902, 903" in note for note in result.summary["notes"]), result.summary
    assert snapshot(place) == before
    text = place.run("lines", "clamp", "-r", 5)
    assert text.code == 0 and "conditions of an IT" in unfolded(text.out), text.out


@pytest.mark.any_row(1)
@pytest.mark.parametrize("place", WAYS, indirect=True)
def test_a_location_inside_a_block_is_refused(place):
    located = {line: re.search(rf"it.c:{line}  (0x\w+)", run_tool("--elf", place.elf, "locate", f"it.c:{line}").out)[1]
               for line in (IT, *INSIDE, BEHIND)}
    for words in (["it.c:902", "it.c:904"], ["it.c:901", "it.c:903"], [f"*{located[902]}", "it.c:904"]):
        refused = place.run("delta", *words, "-r", 2)
        assert refused.code == 2 and f"*{located[IT]}" in unfolded(refused.err) and "IT" in refused.err, refused.err
    assert place.run("calibrate", "it.c:902").code == 2
    measured = place.run("delta", "it.c:901", "it.c:904", "-r", 5)
    assert measured.code == 0, measured.err

"""A location where no instruction begins: each command refuses it before the target is touched, or it would change a constant."""
import re
import subprocess

import pytest

from harness import locate, unfolded
from own_program import START, built, own_place
from test_restore import snapshot

# mix is in RAM, where a Cortex-M0 to M4 stops at breakpoint instructions alone
SOURCE = START + r"""
#ifdef __aarch64__
#define CODE "ldr w1, 1f\n eor w0, w0, w1\n ldr w2, 2f\n add w0, w0, w2\n nop\n ret\n .p2align 3\n"
#elif __ARM_ARCH_PROFILE != 'M'
#define CODE ".arm\n ldr r1, 1f\n eor r0, r0, r1\n ldr r2, 2f\n add r0, r0, r2\n nop\n bx lr\n"
#elif __ARM_ARCH >= 7
#define CODE ".syntax unified\n ldr r1, 1f\n eors r0, r1\n ldr r2, 2f\n adds r0, r0, r2\n mov.w r3, #0\n bx lr\n .p2align 2\n"
#else
#define CODE ".syntax unified\n ldr r1, 1f\n eors r0, r1\n ldr r2, 2f\n adds r0, r0, r2\n dsb\n bx lr\n .p2align 2\n"
#endif
#if __ARM_ARCH_PROFILE == 'M'
#define IN_RAM __attribute__((section(".mixed_in_ram"), noinline, long_call, naked))
#else
#define IN_RAM __attribute__((noinline, naked))
#endif
IN_RAM uint32_t mix(uint32_t v) { __asm volatile(CODE "1: .word 0x5A5AC3C3\n 2: .word 0x01020304\n"); }
volatile uint32_t errors, last;
APART void check(uint32_t v) { last = mix(v); if (last != (v ^ 0x5A5AC3C3u) + 0x01020304u) errors++; }
void run(void)
{
    for (;; round_count++) {
        check(round_count);
        for (volatile uint32_t i = 0; i < 100; i++)
            ;
    }
}
"""
WAYS = ["m4/swd", "rp2040", "m33/swd", "m4", "a9/swd", "r5/swd", "a53/swd"]
RAM_CODE = "-Wl,--section-start=.mixed_in_ram=0x20008000"


def is_large(way):
    return way[:2] in ("a9", "a5", "r5")


def mix_place(folder, way):
    return own_place(folder, way, SOURCE, *[RAM_CODE] * (not is_large(way)))


def constant_of(way):
    """The offset of mix's first constant."""
    return 24 if is_large(way) else 16


@pytest.mark.any_row(2)
@pytest.mark.parametrize("way", WAYS)
def test_each_command_refuses_it_and_leaves_the_target_alone(tmp_path, way):
    with mix_place(tmp_path, way) as place:
        before = snapshot(place)
        mix, data = place.symbol("mix"), f"mix+{constant_of(way):#x}"
        (tmp_path / "regions").write_text(f"good check\nstart {data} mix+0x4\n")
        for words in (["delta", data, "mix+0x4"], ["delta", "check", data], ["delta", f"*{mix + constant_of(way):#x}", "mix+0x4"],
                      ["doctor", data], ["doctor", "--prove", data, "mix+0x4"], ["delta", "mix+0x4", f"*{place.symbol('errors'):#x}"]):
            refused = place.run(*words, "-r", 2) if words[0] == "delta" else place.run(*words)
            assert refused.code == 2 and "is data (" in unfolded(refused.err), (words, refused.err)
        survey = place.run("survey", "--regions", tmp_path / "regions", "-r", 2)
        assert survey.code == 0 and "is data (a constant among the code)" in unfolded(survey.out), survey.out + survey.err
        assert place.board.read_word("errors") == 0 and snapshot(place) == before
        measured = place.run("delta", "mix", "-r", 3)
        assert measured.code == 0, measured.err
        assert place.board.read_word("errors") == 0


@pytest.mark.any_row(1)
@pytest.mark.parametrize("way", ["m4/swd", "rp2040", "m33/swd", "a9/swd", "a53/swd"])
def test_the_middle_of_an_instruction_is_refused(tmp_path, way):
    with mix_place(tmp_path, way) as place:
        begins = place.symbol("mix") + 8
        for place_of_it in (f"*{begins + 2:#x}", *(["mix+0xa"] * (not is_large(way)))):
            refused = place.run("delta", place_of_it, "mix+0x4", "-r", 2)
            assert refused.code == 2 and f"in the middle of the instruction at mix+0x8, *0x{begins:08x}" in unfolded(refused.err), refused.err


@pytest.mark.parametrize("chip", ["m4", "rp2040", "a9"])
def test_without_mapping_symbols_code_is_decoded_from_the_entry(tmp_path, chip):
    elf = built(tmp_path, chip, SOURCE, RAM_CODE)
    subprocess.run(["arm-none-eabi-objcopy", "--wildcard", "--strip-symbol=$*", elf, elf], check=True)
    assert not re.search(r"\$[tad]$", subprocess.run(["nm", "--special-syms", elf], capture_output=True, text=True, check=True).stdout, re.M)
    said = locate(elf, f"mix+{constant_of(chip):#x}", "mix+0x4", "check")
    shown = unfolded(said.out)
    assert shown.count("is data (a constant among the code)") == 1, shown
    if chip != "a9":
        assert "in the middle of the instruction at mix+0x8" in unfolded(locate(elf, "mix+0xa").out)

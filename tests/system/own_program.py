"""Programs that a test brings along: compiled when it runs, for the memory of a board."""
import contextlib
import os
import re
import subprocess

from harness import ROOT, Place, wait_for

FIRMWARE = os.path.join(ROOT, "tests", "firmware")
CORES = {"m4": ["arm-none-eabi-gcc", "-mthumb", "-mcpu=cortex-m4"], "m7": ["arm-none-eabi-gcc", "-mthumb", "-mcpu=cortex-m7"],
         "m33": ["arm-none-eabi-gcc", "-mthumb", "-mcpu=cortex-m33+nofp+nodsp"],
         "rp2350": ["arm-none-eabi-gcc", "-mthumb", "-mcpu=cortex-m33+nofp+nodsp"],
         "rp2040": ["arm-none-eabi-gcc", "-mthumb", "-mcpu=cortex-m0plus", "-DWITH_SYSTICK"],
         "m55": ["arm-none-eabi-gcc", "-mthumb", "-mcpu=cortex-m33+nofp+nodsp", "-DWITH_PMU"],
         "a9": ["arm-none-eabi-gcc", "-marm", "-mcpu=cortex-a9"], "a7": ["arm-none-eabi-gcc", "-marm", "-mcpu=cortex-a7"],
         "r5": ["arm-none-eabi-gcc", "-marm", "-mcpu=cortex-r5"], "r52": ["arm-none-eabi-gcc", "-marm", "-mcpu=cortex-r52"],
         "r52hyp": ["arm-none-eabi-gcc", "-marm", "-mcpu=cortex-r52", "-DSTAY_IN_HYP=1"],
         "a53in32": ["arm-none-eabi-gcc", "-marm", "-mcpu=cortex-a53"], "a53": ["aarch64-linux-gnu-gcc", "-mgeneral-regs-only"],
         "a55": ["aarch64-linux-gnu-gcc", "-mgeneral-regs-only"]}

# The program's source goes on after it. `run` is entered with a stack, and increments round_count; a Cortex-M may have a SysTick_Handler.
START = r"""
#include <stdint.h>
#define REGISTER(address) (*(volatile uint32_t *)(address))
#define APART __attribute__((noinline))
volatile uint32_t round_count, sink;
uint32_t SystemCoreClock __attribute__((used)) = 12000000;
void run(void) __attribute__((used));
#if __ARM_ARCH >= 8 && __ARM_ARCH_PROFILE == 'R' && !STAY_IN_HYP
#define TO_SUPERVISOR "mov r0, #0xD3\nmsr spsr_cxsf, r0\nldr r0, =1f\nmsr elr_hyp, r0\neret\n1: "
#else
#define TO_SUPERVISOR ""
#endif
#if defined __aarch64__
__asm(".section .vectors, \"ax\", %progbits\n.global Reset_Handler\n.type Reset_Handler, %function\nReset_Handler:\n"
      "ldr x0, =stack_top\nmov sp, x0\nb run\n.pool\n.text");
#elif __ARM_ARCH_PROFILE != 'M'
__asm(".section .vectors, \"ax\", %progbits\n.arm\n.global Reset_Handler\n.type Reset_Handler, %function\n"
      "b Reset_Handler\n.rept 7\nb .\n.endr\nReset_Handler:\n" TO_SUPERVISOR "ldr sp, =stack_top\nldr r0, =run\nbx r0\n.pool\n.text");
#else
extern uint32_t stack_top[];
void SysTick_Handler(void) __attribute__((weak));
__attribute__((naked)) void Reset_Handler(void) { __asm volatile("bl run"); }
__attribute__((section(".vectors"), used)) static const void *const vectors[16] = {stack_top, Reset_Handler, [15] = SysTick_Handler};
#endif
#line 1
"""


def moved_script(folder, chip, by):
    """The linker script for a program that lies elsewhere, and is the same otherwise."""
    with open(os.path.join(FIRMWARE, f"{chip}.ld")) as file:
        text = re.sub(r"ORIGIN = (\w+)", lambda match: f"ORIGIN = {int(match[1], 0) + by:#x}", file.read())
    (folder / "moved.ld").write_text(text)
    return str(folder / "moved.ld")


def built(folder, chip, source, *flags, script=None):
    """`source`: a file's path, or the text of a program, which begins with START. The path of the ELF."""
    if "\n" in source:
        (folder / "own.c").write_text(source)
        source = str(folder / "own.c")
    elf = str(folder / f"{chip}-{os.path.splitext(os.path.basename(source))[0]}.elf")
    subprocess.run([*CORES[chip], "-O1", "-g", "-ffreestanding", "-nostdlib", "-nostartfiles", "-static", "-Wl,--build-id",
                    "-Wl,--no-warn-rwx-segments", *flags, "-L", FIRMWARE, "-T", script or f"{chip}.ld", "-o", elf, source, *([] if chip in ("a53", "a55") else ["-lgcc"])],
                   check=True, cwd=FIRMWARE)
    return elf


@contextlib.contextmanager
def own_place(folder, way, source, *flags, kind=Place, **options):
    """A board that runs the program."""
    elf = built(folder, way.partition("/")[0], source, *flags)
    with kind(way, "free", firmware=elf, **options) as place:
        place.elf = elf
        wait_for(lambda: place.board.read_word("round_count") > 0, "the first round")
        yield place

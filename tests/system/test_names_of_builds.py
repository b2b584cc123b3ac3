"""Names as compilers and linkers leave them: weak functions that were replaced, -flto, functions that are inlined at some calls."""
import re
import subprocess

import pytest

from harness import CLOSED_PORT, locate, run_tool, unfolded
from own_program import CORES, START, built, own_place

WEAK = START + r"""
void handle(void);
void run(void) { for (;; round_count++) handle(); }
__attribute__((weak)) void handle(void) { sink = 1; }
"""
LTO = START + r"""
static inline __attribute__((always_inline)) uint32_t scaled(uint32_t v) { return v * 3 + sink; }
APART void work(void) { sink = scaled(sink); }
void run(void) { for (;; round_count++) work(); }
"""
TWO_OF_A_NAME = START + r"""
uint32_t other(uint32_t n);
APART static uint32_t helper(uint32_t n) { for (uint32_t i = 0; i < n; i++) sink ^= i; return n * 3; }
void run(void) { for (;; round_count++) { helper(sink & 7); other(4); } }
"""
SECOND_OF_THE_NAME = """
extern volatile unsigned sink;
static __attribute__((noinline)) unsigned helper(unsigned n) { for (unsigned i = 0; i < n; i++) sink += i * 5; return n; }
unsigned other(unsigned n) { return helper(n + (sink & 3)) + 1; }
"""
PARTLY = START + r"""
static __attribute__((used)) uint32_t scale(uint32_t v) { uint32_t s = 0; for (uint32_t i = 0; i < (v & 15) + 20; i++) s = s * 3 + v + sink; return s; }
__attribute__((noinline, flatten)) void fast_path(uint32_t v) { sink = scale(v); }
APART void slow_path(uint32_t v) { sink = scale(v + 1); }
APART void other_path(uint32_t v) { sink = scale(v + 2); }
APART void asks(void) { if (REGISTER(0xE000EDF0) & 1) sink += 2; }
void run(void)
{
    for (;; round_count++) {
        fast_path(round_count);
        slow_path(round_count);
        other_path(round_count);
        ASK
    }
}
"""

LONG_NAME = "_Z4work4ListIJ" + "10Parameters" * 150 + "EE"
UNREAD_NAME = "_Z4work4ListIJ" + "10Parameters" * 1500 + "EE"
OVERLOADS = START + r"""
APART void work(uint32_t n) __asm__("_Z4workj");
APART void other(uint32_t n) __asm__("OTHER");
void work(uint32_t n) { sink += n; }
void other(uint32_t n) { for (uint32_t i = 0; i < n; i++) sink ^= i; }
void run(void) { for (;; round_count++) { work(3); other(9); } }
"""


@pytest.mark.parametrize("name", [LONG_NAME, UNREAD_NAME], ids=["long", "unread"])
def test_an_overload_with_a_long_name_makes_a_name_ambiguous(tmp_path, name):
    """2000 characters are more than libiberty reads unasked, 18000 more than the tool reads."""
    elf = built(tmp_path, "m4", OVERLOADS.replace("OTHER", name))
    for command in ("delta", "lines", "guard"):
        said = run_tool("--elf", elf, "-p", f"openocd:127.0.0.1:{CLOSED_PORT}", command, "work", *(["--budget", "1ms"] if command == "guard" else []))
        assert said.code == 2 and "`work` is at 2 places" in said.err, (command, said.err)
    assert locate(elf, "_Z4workj").code == 0
    survey = run_tool("--elf", elf, "-p", f"openocd:127.0.0.1:{CLOSED_PORT}", "survey", "work*")
    assert ("1 function name cannot be read" in unfolded(survey.err)) == (name == UNREAD_NAME), survey.err


@pytest.mark.parametrize("chip", ["m4", "a9"])
def test_a_global_function_outweighs_the_weak_one_that_it_replaced(tmp_path, chip):
    (tmp_path / "strong.c").write_text("extern volatile unsigned sink;\nvoid handle(void) { sink += 2; }\n")
    elf = built(tmp_path, chip, WEAK.replace("__attribute__((weak))", "__attribute__((weak, noinline, noipa))"), str(tmp_path / "strong.c"))
    found = locate(elf, "handle")
    assert found.code == 0 and "strong.c:2" in found.out and "not the weak one that it replaced" in found.out, found.out + found.err


@pytest.mark.parametrize("chip", ["m4", "a53"])
def test_a_name_that_is_only_inlined_is_known_with_lto(tmp_path, chip):
    elf = built(tmp_path, chip, LTO, "-O2", "-flto")
    said = locate(elf, "scaled")
    assert said.code == 2 and "is inlined where it is called, into work at own.c:" in unfolded(said.out), said.out


@pytest.mark.parametrize("chip", ["m4", "a53"])
def test_names_that_are_offered_last_with_lto(tmp_path, chip):
    """The numbers of .lto_priv.N are those of one build: a name that lasts has the file."""
    source, other = TWO_OF_A_NAME, tmp_path / "other.c"
    other.write_text(SECOND_OF_THE_NAME)
    elf = built(tmp_path, chip, source, str(other), "-O2", "-flto")
    said = locate(elf, "helper")
    assert said.code == 2 and ".lto_priv" not in said.out and "own.c:helper" in said.out and "other.c:helper" in said.out, said.out
    for name in ("own.c", "other.c"):
        found = locate(elf, f"{name}:helper")
        assert found.code == 0 and f"{name}:" in found.out, found.out


@pytest.mark.parametrize("chip", ["m4", "rp2040"])
def test_marks_of_sections_that_are_not_loaded_mean_no_address(tmp_path, chip):
    source = tmp_path / "marks.s"
    source.write_text(".syntax unified\n.thumb\n.section .text\n.global work\n.type work, %function\nwork: ldr r0, 1f\n bx lr\n .p2align 2\n1: .word 0x29e0\n"
                      ".size work, . - work\n.section .other, \"\", %progbits\n.space 2\n.thumb\n nop\n nop\n.word 1\n nop\n nop\n nop\n nop\n nop\n")
    elf = str(tmp_path / "marks.elf")
    subprocess.run([*CORES[chip], "-nostdlib", "-Wl,-Ttext=0", "-Wl,-e,work", "-o", elf, source], check=True)
    said = locate(elf, "work", "work+0x4")
    assert "work+0x4 is data" in unfolded(said.out), said.out


def test_an_ambiguous_name_is_listed_in_lines(tmp_path):
    (tmp_path / "twin.c").write_text("extern volatile unsigned sink;\nstatic __attribute__((noinline, used)) void twin(void) { sink += 2; }\n")
    elf = built(tmp_path, "m4", LTO + "static __attribute__((noinline, used)) void twin(void) { sink += 3; }\n", str(tmp_path / "twin.c"))
    said = run_tool("--elf", elf, "-p", f"openocd:127.0.0.1:{CLOSED_PORT}", "lines", "twin")
    assert re.search(r"\n +own.c:twin", said.err) and "\N{REPLACEMENT CHARACTER}" not in said.err, said.err


@pytest.mark.any_row(2)
@pytest.mark.parametrize("way", ["m4/swd", "rp2040", "m4", "a9/swd", "a53/swd"])
def test_calls_at_which_it_is_inlined_are_no_hits(tmp_path, way):
    with own_place(tmp_path, way, PARTLY.replace("ASK", "")) as place:
        for words in (["delta", "scale", "-r", 3], ["survey", "scale", "-r", 3], ["lines", "scale", "-r", 2],
                      *([["guard", "scale", "--budget", "10ms", "--for", "100ms"]] if way != "rp2040" else [])):
            result = place.run(*words)
            assert "also inlined at own.c:3 (fast_path): those are not hits" in unfolded(result.out), (words, result.out, result.err)
        assert "also inlined" not in place.run("delta", "slow_path", "-r", 2).out


@pytest.mark.any_row(1)
@pytest.mark.parametrize("way", ["m4/swd", "m4", "m33/swd"])
def test_code_that_asks_for_a_debugger_has_a_note(tmp_path, way):
    with own_place(tmp_path, way, PARTLY.replace("ASK", "asks();")) as place:
        for words in (["delta", "asks", "-r", 3], ["survey", "asks", "-r", 3]):
            result = place.run(*words)
            assert "reads DHCSR, which shows a debugger" in unfolded(result.out), (words, result.out)
        assert "DHCSR" not in place.run("delta", "slow_path", "-r", 2).out


@pytest.mark.any_row(1)
@pytest.mark.parametrize("way", ["m4/swd", "rp2040", "m4"])
def test_a_breakpoint_instruction_in_ram_is_said_first(tmp_path, way):
    source = PARTLY.replace("APART void slow_path", "__attribute__((section(\".in_ram\"), noinline, long_call)) void slow_path").replace("ASK", "")
    words = "a breakpoint instruction is put into memory at 0x20008000: code that checks its own memory sees it"
    with own_place(tmp_path, way, source, "-Wl,--section-start=.in_ram=0x20008000") as place:
        for command in (["delta", "slow_path", "-r", 3], ["survey", "slow_path", "-r", 3], ["doctor", "slow_path"], ["lines", "slow_path", "-r", 1],
                        *([["guard", "slow_path", "--budget", "10ms", "--for", "100ms"]] if way != "rp2040" else [])):
            result = place.run(*command)
            assert words in unfolded(result.out), (command, result.out, result.err)
        assert "breakpoint instruction" not in place.run("delta", "fast_path", "-r", 2).out

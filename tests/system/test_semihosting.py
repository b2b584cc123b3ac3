"""Breakpoint instructions of the program's own: a semihosting call that is made only if there is a debugger, and an assertion. The
tool names them, and each way out gets the program running again."""
import pathlib
import struct

import pytest

from harness import Place, elf_of, unfolded
from own_program import START, own_place

SEMIHOSTING, ASSERTION = 0xAB, 0x00


def with_breakpoint(chip, comment, folder):
    """Firmware whose random_number() executes a BKPT if DHCSR.C_DEBUGEN is set."""
    code = struct.pack("<8H", 0x4B03, 0x681B, 0x07DB, 0xD500, 0xBE00 | comment, 0x2007, 0x4770, 0xBF00) + struct.pack("<I", 0xE000EDF0)
    with Place(f"{chip}/swd", "leaves") as place:
        old = place.board.read(place.symbol("random_number"), len(code))
    whole = pathlib.Path(elf_of(chip, "leaves")).read_bytes()
    assert whole.count(old) == 1
    elf = folder / f"{chip}-breakpoint.elf"
    elf.write_bytes(whole.replace(old, code))
    return elf


def goes_on(place):
    for _ in range(2):  # a reset begins again at 1
        rounds = place.board.read_word("round_count")
        place.board.wait_for(lambda _, rounds=rounds: place.board.read_word("round_count") != rounds, "the program")
    state = place.board.state()
    assert state["run"] == "running" and state["dhcsr"] & 1 == 0, state


def at(chip, comment, folder):
    elf = with_breakpoint(chip, comment, folder)
    place = Place(f"{chip}/swd", firmware=elf)
    place.elf = str(elf)
    return place


def halt(place):
    """An earlier debugger has left debug switched on: the program reaches its breakpoint instruction."""
    place.start_server().kill()
    place.board.wait_for(lambda state: state["run"] == "halted", "the breakpoint instruction")


@pytest.mark.parametrize("chip", ["m4", "rp2040"])
def test_a_measurement_names_the_call_and_the_program_goes_on(chip, tmp_path):
    with at(chip, SEMIHOSTING, tmp_path) as place:
        stops = [["guard", "spin", "--budget", 100000, "--for", "2s"], ["record", "-e", "cycles", "--every", 5000, "-o", tmp_path / "p.jsonl", "--for", "2s"]]
        for words in [["delta", "spin", "-r", 50], ["lines", "spin", "-r", 50], ["survey", "spin", "-r", 50], *(stops if chip == "m4" else [])]:
            result = place.run(*words)
            said = unfolded(result.err + result.out)
            assert result.code == 3, (words, said)
            assert "stopped by the program's own BKPT 0xAB, a semihosting call, at leaves.c:" in said, (words, said)
            assert "it runs on after the call" in said, said
            goes_on(place)


@pytest.mark.parametrize("comment, says", [(SEMIHOSTING, "a semihosting call, at leaves.c:"), (ASSERTION, "BKPT 0x00 at leaves.c:")])
@pytest.mark.parametrize("way_out", [("restore", "--force"), ("reset",)])
def test_each_way_out(way_out, comment, says, tmp_path):
    with at("m4", comment, tmp_path) as place:
        halt(place)
        result = place.run("delta", "spin")
        assert result.code == 3 and "the core is halted" in result.err
        result = place.run(*way_out)
        said = unfolded(result.out)
        assert result.code == 0, result.err
        if way_out == ("reset",):
            assert "reset, running" in said
        else:
            assert f"it was stopped by the program's own BKPT" in said and says in said, said
        if comment == SEMIHOSTING or way_out == ("reset",):
            goes_on(place)
        else:  # as without a debugger: a fault
            handler = place.symbol("Default_Handler")
            place.board.wait_for(lambda state: state["run"] == "running" and handler <= state["pc"] < handler + 4, "the handler")


def test_resumed_it_goes_on_after_the_call(tmp_path):
    with at("m4", SEMIHOSTING, tmp_path) as place:
        halt(place)
        before = place.board.state()["instructions"]
        result = place.run("stat", "--for", "200ms", "--resume")
        assert result.code == 3 and ("halted again at once" in result.err or "halted by someone else" in result.err), result.err + result.out
        assert place.board.state()["instructions"] > before + 5


def test_an_assertion_is_left_for_a_debugger(tmp_path):
    with at("m4", ASSERTION, tmp_path) as place:
        result = place.run("delta", "spin", "-r", 50)
        said = unfolded(result.err)
        assert result.code == 3 and "stopped by the program's own BKPT 0x00 at leaves.c:" in said and "pmu-probe restore --force" in said, said
        assert place.board.state()["run"] == "halted"
        result = place.run("stat", "--for", "200ms", "--resume")
        assert result.code == 3 and "halted again at once" in result.err, result.err + result.out


@pytest.mark.parametrize("words", [["guard", "spin", "--budget", 100000, "--for", "1s"], ["survey", "spin", "--for", "1s"],
                                   ["record", "-e", "CPU_CYCLES", "--for", "1s"]], ids=lambda words: words[0])
def test_the_program_goes_on_whatever_measured(words, tmp_path):
    with at("m4", SEMIHOSTING, tmp_path) as place:
        result = place.run(*words, *(["-o", tmp_path / "p.jsonl"] if words[0] == "record" else []))
        assert result.code == 3, result.out + result.err
        goes_on(place)


A_AND_R = START.replace("#elif __ARM_ARCH_PROFILE != 'M'", r"""#elif __ARM_ARCH_PROFILE != 'M'
__asm(".section .vectors, \"ax\", %progbits\n.arm\n.global Reset_Handler\n.type Reset_Handler, %function\n"
      "b Reset_Handler\nb on_abort\nb .\nb on_abort\n.rept 4\nb .\n.endr\nReset_Handler:\n" TO_SUPERVISOR "ldr sp, =stack_top\n"
      "cps #0x17\nldr sp, =stack_top-0x800\ncps #0x1B\nldr sp, =stack_top-0x800\n"
      "cps #0x13\nldr r0, =run\nbx r0\n.pool\non_abort: push {r0, r1}\nldr r0, =caught\nldr r1, [r0]\nadd r1, r1, #1\nstr r1, [r0]\n"
      "pop {r0, r1}\nmovs pc, lr\n.pool\n.text");
#elif 0""").replace("#if defined __aarch64__", r"""#if defined __aarch64__
__asm(".section .vectors, \"ax\", %progbits\n.global Reset_Handler\n.type Reset_Handler, %function\nReset_Handler:\nldr x0, =stack_top\n"
      "mov sp, x0\nldr x0, =table\nmsr vbar_el3, x0\nb run\n.pool\n.balign 2048\ntable: b .\n.balign 128\nb .\n.balign 128\nb .\n"
      ".balign 128\nb .\n.balign 128\nstp x0, x1, [sp, #-16]!\nldr x0, =caught\nldr w1, [x0]\nadd w1, w1, #1\nstr w1, [x0]\n"
      "mrs x0, elr_el3\nadd x0, x0, #4\nmsr elr_el3, x0\nldp x0, x1, [sp], #16\neret\n.pool\n.text");
#elif 0""") + r"""
volatile uint32_t caught;
APART void step(void) { for (uint32_t i = 0; i < 10; i++) sink += i; }
APART void check(uint32_t x) { sink += x; if ((x & 0xFF) == 0x80) __asm volatile(BREAKPOINT); }
void run(void) { for (;; round_count++) { step(); check(round_count); } }
"""
CODES = {"a9/swd": ("bkpt #0x1234", "BKPT 0x1234"), "r5/swd": ("bkpt #0", "BKPT 0x00"), "a53/swd": ("hlt #0xF000", "HLT 0xF000, a semihosting call,"),
         "r52/swd": ("hlt #0xF000", "HLT 0xF000, a semihosting call,"), "a53in32/swd": ("hlt #0x3C", "HLT 0x3C, a semihosting call,")}
CODE_OF = {"a53in32/swd": ["-mthumb"]}


@pytest.mark.parametrize("way", CODES)
def test_an_application_core_halts_only_while_debug_is_on(way, tmp_path):
    """Without a debugger its instruction is an exception, which the program handles."""
    code, name = CODES[way]
    with own_place(tmp_path, way, A_AND_R, f'-DBREAKPOINT="{code}"', *CODE_OF.get(way, [])) as place:
        place.board.wait_for(lambda _: place.board.read_word("caught") > 1, "exceptions")
        for words in (["delta", "step", "-r", 2000], ["guard", "step", "--budget", 100000, "--for", "2s"], ["survey", "step", "check"],
                      ["lines", "step", "-r", 2000], ["record", "-e", "cycles", "--every", 5000, "-o", tmp_path / "p.jsonl", "--for", "2s"]):
            result = place.run(*words)
            said = unfolded(result.err)
            assert result.code == 3 and f"stopped by the program's own {name} at own.c:" in said, (words, said)
            assert "pmu-probe restore --force lets the core go, into an exception" in said, said
            assert place.board.state()["run"] == "halted"
            caught = place.board.read_word("caught")
            released = place.run("restore", "--force")
            assert released.code == 0 and f"it was stopped by the program's own {name}" in unfolded(released.out), released.out
            place.board.wait_for(lambda _, caught=caught: place.board.read_word("caught") > caught + 1, "the next exceptions")
            state = place.board.state()
            assert state["run"] == "running" and state["altered"] == 0, state

"""What is awaited and not reached: the tool says where the core is instead."""
import re

import pytest

from gdb_place import GdbPlace
from harness import WORK_BY_DATA, Place, unfolded
from own_program import START, own_place

UDF = b"\x00\xde"
STEP, CALLER = "spin", "one_round"
CALLED = re.compile(rf"{CALLER}|start\+0x\w+\), called by Reset_Handler|\(Reset_Handler\+")  # or in the loop that calls it


@pytest.mark.any_row
@pytest.mark.parametrize("way", ["m4/swd", "rp2040/swd", "a9/swd", "a53/swd", "r52/swd", "r52hyp/swd", "a53el2/swd", "m4", "a9", "a53", "gdb m4", "gdb a9"])
def test_its_place_and_its_callers(way):
    """The core runs on afterwards, with nothing changed."""
    with (GdbPlace if way.startswith("gdb ") else Place)(way.removeprefix("gdb "), "leaves") as place:
        result = place.run("delta", "nest_inner", "--timeout", 1)
        said = unfolded(result.err)
        assert result.code == 3 and "the start was not reached within 1 s The core is in leaves.c:" in said, said
        assert CALLED.search(said), said
        state = place.board.state()
        assert state["run"] == "running" and state["altered"] == state["borrowed"] == 0
        rounds = place.board.read_word("round_count")
        place.board.wait_for(lambda _: place.board.read_word("round_count") != rounds, "the program")


COMMANDS = [("delta", "nest_inner", "--timeout", 1), ("guard", "nest_inner", "--budget", 1000, "--timeout", 1),
            ("lines", "nest_inner", "--timeout", 1), ("survey", "nest_inner", "--for", "1s"),
            ("doctor", "nest_inner", "--timeout", 1), ("doctor", "nest_inner", "--prove", "--timeout", 1)]


def crashed(place):
    """An undefined instruction where the program passes in each round."""
    place.board.write(place.symbol(STEP), UDF)
    handler = place.symbol("Default_Handler")
    place.board.wait_for(lambda state: handler <= state["pc"] < handler + 4, "the handler")


@pytest.mark.any_row
def test_a_fault_by_every_command():
    with Place("m4/swd", "leaves") as place:
        crashed(place)
        for words in COMMANDS:
            result = place.run(*words)
            said = unfolded(result.err)
            assert result.code == 3 and "(Default_Handler), in exception 3 (HardFault): CFSR 0x00010000 (UNDEFINSTR), HFSR 0x40000000 " \
                "(FORCED); it interrupted leaves.c:" in said, (words, said)
            assert f"({STEP})" in said and f"called by {CALLER}, Reset_Handler." in said, said
            state = place.board.state()
            assert state["run"] == "running" and state["altered"] == 0


@pytest.mark.parametrize("way, registers", [("m4/swd", ": CFSR 0x00010000 (UNDEFINSTR)"), ("rp2040/swd", "")])
def test_a_fault_is_shown_without_a_halt(way, registers):
    with Place(way, "leaves") as place:
        assert "in exception" not in place.run("info").out
        crashed(place)
        assert f"running, in exception 3 (HardFault){registers}" in unfolded(place.run("info").out)
        assert f"the core is in exception 3 (HardFault){registers}" in unfolded(place.run("doctor").out)
        assert place.board.state()["halts"] == 0


FAULTS = START + r"""
volatile uint32_t fault;
APART void never(void) { sink++; }
APART void undefined(void) { __asm volatile(".word 0xE7F000F0"); }
APART void load(void) { sink += REGISTER(0x50000000); } /* no memory there */
#if defined __arm__
__attribute__((target("thumb"))) APART void undefined_thumb(void) { __asm volatile(".inst.n 0xDE00"); }
#else
#define undefined_thumb undefined
#endif
void run(void)
{
    for (;; round_count++) {
        if (fault == 1)
            undefined();
        if (fault == 2)
            load();
        if (fault == 3)
            never();
        if (fault == 4)
            undefined_thumb();
        if (fault == 5)
            ((void (*)(void))0x50000000)();
    }
}
"""


@pytest.mark.any_row(4)
@pytest.mark.parametrize("fault, function, mode, registers", [
    (1, "undefined", "Undefined", ""), (4, "undefined_thumb)", "Undefined", ""), (5, "", "Abort", ": .*, IFAR 0x50000000"),
    (2, "load", "Abort", r": DFSR 0x00000008 \(external abort\), DFAR 0x50000000, IFSR 0x\w+, IFAR 0x\w+")])
@pytest.mark.parametrize("way", ["a9/swd", "r5/swd", "a7/swd", "a9", "gdb a9", "r52/swd", "a53in32"])
def test_a_fault_of_an_a_or_r_core(way, fault, function, mode, registers, tmp_path):
    """Its fault registers, except through a debugger, which does not show them, and where it was."""
    with own_place(tmp_path, way.removeprefix("gdb "), FAULTS, kind=GdbPlace if way.startswith("gdb ") else Place) as place:
        place.board.write_word("fault", fault)
        place.board.wait_for(lambda state: state["cpsr"] & 31 in (0x17, 0x1B), "the handler")
        result = place.run("delta", "never", "--timeout", 1)
        said = unfolded(result.err)
        assert result.code == 3 and re.search(rf", in {mode} mode{'' if 'gdb' in way else registers}", said), said
        if function:
            assert re.search(rf"; by LR it interrupted own.c:\d+ \({re.escape(function)}", said), said
        else:
            assert ("; by LR it interrupted 0x50000000" in said) == ("gdb" not in way) and "0x4fff" not in said.lower(), said
        state = place.board.state()
        assert state["run"] == "running" and state["altered"] == state["borrowed"] == 0


VECTORS = START.replace("#if defined __aarch64__", r"""#if defined __aarch64__
__asm(".section .vectors, \"ax\", %progbits\n.global Reset_Handler\n.type Reset_Handler, %function\nReset_Handler:\nldr x0, =stack_top\n"
      "mov sp, x0\nldr x0, =vectors\nmsr vbar_el3, x0\nb run\n.pool\n.balign 2048\n.global vectors\nvectors:\n"
      ".rept 4\nb .\n.balign 128\n.endr\n" IN_VECTOR "\n.balign 2048\n.text\n"
      ".global hangs\n.type hangs, %function\nhangs: b .\n.size hangs, .-hangs");
#elif 0""") + FAULTS[len(START):].replace(".word 0xE7F000F0", ".word 0")


@pytest.mark.parametrize("in_vector", ["b .", "bl hangs"])
@pytest.mark.parametrize("fault, function, says", [(1, "undefined", r"ESR 0x02000000 \(undefined instruction\)"),
                                                   (2, "load", r"ESR 0x96\w+ \(data abort, external abort\), FAR 0x50000000")])
def test_a_fault_of_an_armv8_core(fault, function, says, in_vector, tmp_path):
    """Its handler is the vector itself, or a function that it calls."""
    with own_place(tmp_path, "a53/swd", VECTORS, f'-DIN_VECTOR="{in_vector}"') as place:
        fine = place.run("delta", "never", "--timeout", 1)
        assert "vector" not in fine.err and "(run+0x" in fine.err, fine.err
        place.board.write_word("fault", fault)
        handler = place.symbol("hangs") if "hangs" in in_vector else place.symbol("vectors") + 4 * 128
        place.board.wait_for(lambda state: state["pc"] == handler, "the handler")
        result = place.run("delta", "never", "--timeout", 1)
        said = unfolded(result.err)
        assert result.code == 3 and re.search(rf", in the vector of synchronous exceptions \(EL3\): {says}; it interrupted own.c:", said), said
        assert f"({function}" in said, said
        state = place.board.state()
        assert state["run"] == "running" and state["altered"] == state["borrowed"] == 0


def test_code_where_vbar_points_to_is_no_fault(tmp_path):
    """As after a reset, when VBAR is 0 and so is the beginning of the program."""
    with own_place(tmp_path, "a53/swd", FAULTS.replace(".word 0xE7F000F0", ".word 0")) as place:
        assert place.symbol("run") < 0x800
        result = place.run("delta", "never", "--timeout", 1)
        assert result.code == 3 and "vector" not in result.err and "(run+0x" in result.err, result.err


FAR = 0x100000000
FAR_WAYS = ["m4/swd", "m4", "a9/swd", "a9", "r5/swd"]


@pytest.mark.each_value
@pytest.mark.parametrize("way", FAR_WAYS)
@pytest.mark.parametrize("command", ["delta", "delta from", "lines", "guard", "survey"])
def test_a_place_beyond_32_bits_is_refused_and_not_cut(way, command, tmp_path):
    """Its comparator would get the low half, where other code may be."""
    with Place(way, scenario=WORK_BY_DATA) as place:
        start, far = place.symbol("work_by_data"), place.symbol("work_by_data") + FAR
        words = {"delta": ["delta", f"*{far:#x}", f"*{far + 4:#x}"], "delta from": ["delta", f"*{start:#x}", f"*{far + 4:#x}"],
                 "lines": ["lines", f"*{far:#x}"], "guard": ["guard", f"*{far:#x}", "--budget", 1000],
                 "survey": ["survey", "--regions", tmp_path / "regions", "--for", "1s"]}[command]
        near = "".join(f"near{i} *{start:#x} *{start + 4:#x}\n" for i in range(70))  # with 70, the code is not compared
        (tmp_path / "regions").write_text(near + f"far *{far:#x} *{far + 4:#x} <= 1000 cycles\n")
        result = place.run(*words)
        said = "a function" if command in ("lines", "guard") else "have 32 bits"
        assert result.code in (2, 3) and said in result.out + result.err, (result.out, result.err)
        assert not any(event.kind == "halt" and event.pc == start for event in place.board.log())

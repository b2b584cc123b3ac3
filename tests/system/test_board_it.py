"""The board's cores inside IT blocks: what stops before each of their instructions, and what goes on where it was."""
import pytest

from cortex_m import BP_COMP0, BP_CTRL, ICSR, bench

CHIPS = pytest.mark.parametrize("chip", ["m4", "m55"])
# Z is set: the EQ ones are executed
BLOCK = """
        start: movs r0, #0
               movs r1, #0
               cmp r0, #0
               itete eq
        one:   addeq r1, #1
        two:   addne r1, #2
        three: addeq r1, #4
        four:  addne r1, #8
        after: add r1, #16
               bkpt #0
        PendSV_Handler: mrs r4, psr
               ldr r5, [sp, #24]
               ldr r6, [sp, #28]
               bx lr
"""
PLACES = {"one": True, "two": False, "three": True, "four": False}  # whether it is executed
DONE = 1 + 4 + 16


def it_of(xpsr):
    return (xpsr >> 25 & 3) | (xpsr >> 10 & 0x3F) << 2


def breakpoint_at(b, place):
    """Version 2 of the unit; that of the m4 does not reach RAM."""
    b.ocd.set_word(BP_COMP0, b.symbols[place] | 1)
    b.ocd.set_word(BP_CTRL, 3)


def steps(b):
    seen = []
    while b.board.state()["pc"] != b.symbols["after"] + 4:
        b.step()
        state = b.board.state()
        seen.append((state["pc"], it_of(b.register(16)), b.register(1), state["instructions"], state["cycles"]))
        assert len(seen) < 20
    return seen


@CHIPS
def test_each_instruction_of_a_block_is_a_step(bench, chip):
    """ITSTATE is as DDI 0403E A7.3.3 has it: ITETE EQ is 00001011, advanced by one bit each."""
    b = bench(chip, BLOCK)
    seen = steps(b)
    at = [(pc, state, r1) for pc, state, r1, *_ in seen][3:]
    names = ["one", "two", "three", "four", "after"]
    assert at == [(b.symbols[name], state, r1) for name, state, r1 in
                  zip(names, (0b00001011, 0b00010110, 0b00001100, 0b00011000, 0), (0, 1, 1, 5, 5))] + [(b.symbols["after"] + 4, 0, DONE)]
    assert [after[3] - before[3] for before, after in zip(seen, seen[1:])] == [1] * (len(seen) - 1), "a skipped one is one, too"


@CHIPS
def test_it_takes_the_same_time_by_steps_and_at_once(bench, chip):
    b = bench(chip, BLOCK)
    before = b.board.state()
    b.run()
    at_once = b.board.state()
    b.load(BLOCK)
    again = b.board.state()
    steps(b)
    stepped = b.board.state()
    for name in ("cycles", "instructions"):
        assert stepped[name] - again[name] == at_once[name] - before[name]
    assert b.register(1) == DONE


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("state", [None, "it-stops-if-done"])
def test_a_comparator_inside_a_block(bench, place, state):
    b = bench("m55", BLOCK, **({"core_state": state} if state else {}))
    breakpoint_at(b, place)
    stopped = b.run()
    if PLACES[place] or state is None:
        assert stopped["pc"] == b.symbols[place] and it_of(b.register(16))
        stopped = b.run() if stopped["pc"] != b.symbols["after"] + 4 else stopped
        assert stopped["pc"] == b.symbols[place], "a comparator that is still there stops it again"
        b.ocd.set_word(BP_COMP0, 0)
        stopped = b.run()
    assert stopped["pc"] == b.symbols["after"] + 4 and b.register(1) == DONE


@CHIPS
@pytest.mark.parametrize("place", PLACES)
def test_an_exception_inside_a_block_returns_into_it(bench, chip, place):
    b = bench(chip, BLOCK)
    while b.board.state()["pc"] != b.symbols[place]:
        b.step()
    b.ocd.set_word(ICSR, 1 << 28)
    assert b.run()["pc"] == b.symbols["after"] + 4
    assert b.register(1) == DONE and b.register(5) == b.symbols[place]
    assert it_of(b.register(4)) == 0 and it_of(b.register(6)), "the handler begins outside; the block is on its stack"


@CHIPS
def test_what_is_not_the_emulators_obeys_its_condition(bench, chip):
    """WFI, SVC; BKPT has none (DDI 0403E A7.7.17)."""
    b = bench(chip, """
        start: movs r4, #0
               cmp r4, #0
               itttt ne
               svcne #1
               wfine
               svcne #2
        here:  bkpt #1
               ite eq
               svceq #3
               svcne #4
               bkpt #0
        SVC_Handler: add r4, #1
               bx lr
    """)
    assert b.run()["pc"] == b.symbols["here"] and b.register(4) == 0
    b.register(15, b.symbols["here"] + 2)
    b.register(16, 0x61000000)
    b.run()
    assert b.register(4) == 1 and b.events("enter") == [("enter", 11)]

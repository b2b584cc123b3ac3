"""The virtual board's ways to be fast must not show: delay loops that are worked out, instructions that are remembered,
IT blocks that the emulator executes as one."""

import pytest

from cortex_m import (BOTH_CHIPS, BP_COMP0, BP_CTRL, DWT_FOLD, SPAN_1M, STACK, VTOR, attach, bench, between, comparator)

DELAY = """
start:  ldr r0, =ROUNDS
        nop
loop:   subs r0, #1
back:   bne loop
        nop
done:   bkpt
        .pool
"""

TICKING = """
start:  ldr r3, =0xE000E010
        ldr r0, =699
        str r0, [r3, #4]
        str r0, [r3, #8]
        movs r0, #7
        str r0, [r3]
        ldr r0, =20000
loop:   subs r0, #1
back:   bne loop
done:   bkpt
        .thumb_func
SysTick_Handler:
        adds r4, #1
        bx lr
        .pool
"""


def whole(b, watched):
    """Runs the program to its end from the start, once more: what the core shows then, and what happened."""
    for register in range(13):
        b.register(register, 0)
    b.register(13, STACK)
    b.register(16, 0x01000000)
    b.register(15, b.symbols["start"])
    b.board.watch(*watched)
    b.board.command("profile on")
    before = b.board.state()
    after = b.run()
    log = b.board.log()
    spent = b.board.command("profile")["cores"][0]["executed"]
    origin = before["cycles"]
    passed = {name: after[name] - before[name] for name in ("cycles", "counted", "instructions")}
    passed["profile"] = [now - then for then, now in zip(before["profile"], after["profile"])]
    shown = [after[name] for name in ("pc", "sp", "xpsr")] + [b.register(n) for n in range(5)]
    exceptions = [(e.kind, e.pc, e.cycles - origin, e.extra) for e in log if e.kind in ("enter", "return")]
    return (passed, shown, exceptions, spent), log


@BOTH_CHIPS
@pytest.mark.parametrize("rounds", [1, 2, 3, 4, 5, 6, 100, 40000])
def test_a_delay_is_as_if_executed(bench, chip, rounds):
    """Watched, each round is executed; unwatched, hardly any is."""
    b = bench(chip, DELAY.replace("ROUNDS", str(rounds)))
    slow, log = whole(b, [b.symbols["loop"], b.symbols["back"]])
    assert len(between(log, "reach")) == 2 * rounds
    fast, _ = whole(b, [b.symbols["start"]])
    assert fast == slow
    assert fast[0]["instructions"] == 2 + 2 * rounds + 1


@BOTH_CHIPS
def test_ticks_come_into_a_delay_when_they_would(bench, chip):
    b = bench(chip, TICKING)
    slow, log = whole(b, [b.symbols["loop"]])
    b.ocd.set_word(0xE000E010, 0)
    fast, _ = whole(b, [b.symbols["start"]])
    assert len(between(log, "reach")) == 20000
    assert len(fast[2]) > 100
    assert fast[0] == slow[0] and fast[2] == slow[2] and fast[1] == slow[1] and fast[3] == slow[3]


@BOTH_CHIPS
@pytest.mark.parametrize("place", ["loop", "back"])
def test_breakpoint_inside_a_delay(bench, chip, place):
    """Code in RAM is out of the comparators' reach, so this is about the firmware's own."""
    b = bench(chip, DELAY.replace("ROUNDS", "1000"))
    address = b.board.symbol("span_1m_start") + (4 if place == "back" else 2)
    b.board.write_word("scenario", 1 << SPAN_1M)
    b.ocd.set_word(VTOR, 0x08000000 if chip == "m4" else 0x10000000)
    b.ocd("reset halt")
    b.ocd("poll off")
    b.resume()
    b.board.wait_for(lambda s: b.board.read_word("round_count") > 0)
    b.board.write_word("scenario", 1 << SPAN_1M)
    b.ocd.set_word(BP_CTRL, 3)
    b.ocd.set_word(BP_COMP0, comparator(address))
    b.board.wait_for(lambda s: s["run"] == "halted")
    left = b.register(0)
    cycles = b.board.state()["cycles"]
    for _ in range(5):
        b.step()
        b.run()
        assert b.register(0) == left - 1
        left -= 1
        now = b.board.state()["cycles"]
        assert now - cycles == {"rp2040": 3, "m4": 4}[chip]
        cycles = now


@BOTH_CHIPS
def test_stepping_through_a_delay(bench, chip):
    b = bench(chip, DELAY.replace("ROUNDS", "300"))
    for place in ["start", "start", "loop", "back", "loop", "back"]:
        if place != "start":
            assert b.board.state()["pc"] == b.symbols[place]
        b.step()
    assert b.register(0) == 298


@BOTH_CHIPS
def test_code_that_rewrites_itself(bench, chip):
    """What an instruction cost the last time is no longer true once it is another one."""
    b = bench(chip, """
start:  bl one
again:  ldr r3, =place
        ldr r2, =0x881A     @ ldrh r2, [r3]
        strh r2, [r3]
        bl one
done:   bkpt
        .pool
        .align 2
one:    nop
place:  nop
        bx lr
""")
    one = b.symbols["one"]
    b.board.watch(one, b.symbols["again"], b.symbols["done"])
    b.run()
    first, back, second = [e for e in b.board.log() if e.kind == "reach"][:3]
    end = b.board.state()["cycles"]
    assert (first.pc, second.pc) == (one, one)
    assert end - second.cycles == back.cycles - first.cycles + 1


@BOTH_CHIPS
def test_a_delay_that_becomes_something_else(bench, chip):
    b = bench(chip, DELAY.replace("ROUNDS", "5000"))
    b.run()
    b.ocd(f"virtual.cpu write_memory {b.symbols['back']:#x} 16 0xbf00" if chip == "m4" else
          f"virtual.cpu write_memory {b.symbols['back']:#x} 16 0x46c0")
    b.register(15, b.symbols["start"])
    before = b.board.state()
    after = b.run()
    assert b.register(0) == 4999
    assert after["instructions"] - before["instructions"] == 5


# IT blocks

def test_instructions_that_an_it_skips(bench):
    """One cycle each, and not a jump."""
    b = bench("m4", """
start:  movs r0, #1
        cmp r0, #1
        ittee eq
        addeq r1, r0, #1
        addeq r1, r0, #2
        addne.w r1, r0, #3
        addne r1, r0, #4
        it ne
        addne r1, r0, #5
        cmp r0, #2
        itte eq
        addeq r1, r0, #6
        addeq.w r1, r0, #7
        addne r1, r0, #8
        nop
done:   bkpt
""")
    before = b.board.state()
    after = b.run()
    passed = [now - then for then, now in zip(before["profile"], after["profile"])]
    assert passed == [0, 0, 0, 0, 3]
    assert after["instructions"] - before["instructions"] == 15
    assert after["cycles"] - before["cycles"] == 12
    assert b.register(1) == 9


def test_a_breakpoint_behind_a_skipped_end(attach):
    """The instruction after an IT block whose last instructions were not executed is not a part of it."""
    board, ocd = attach("m4")
    board.wait_for(lambda s: board.read_word("round_count") > 0)
    board.scenario(DWT_FOLD)
    ocd("halt")
    for _ in range(3):
        ocd.run_to(board.symbol("dwt_fold_end"))
        assert board.state()["pc"] == board.symbol("dwt_fold_end")

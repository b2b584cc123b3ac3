"""The debug registers of the virtual board's Armv7-A/R chips do as the architecture says, and so do their exceptions."""

import pytest

from armv7 import (DIDR, VCR, DSCR, DRCR, BVR, BCR, PRCR, PRSR, MIDR, LSR, DEVTYPE, PCSR, HALTED, HDBGEN, TXFULL, RXFULL, DTRRX,
                   HALT, CCNTR, BREAKPOINTS, RAM_BASE, SLEEPER, SUPERVISOR, MOE_BREAKPOINT, MOE_CATCH, ALL_CHIPS, MAPPED, between,
                   attach, bench, core)
from board import Board, BoardError

MIDRS = {"a9": 0x413FC090, "a7": 0x410FC075, "r5": 0x411FC153}


@ALL_CHIPS
def test_identification(core, chip):
    c = core(chip)
    assert c.reg(MIDR) == MIDRS[chip] and c.reg(DEVTYPE) == 0x15
    assert (c.reg(DIDR) >> 24 & 15) + 1 == BREAKPOINTS[chip]
    assert [b & 0xFF for b in c.apb(c.page + 0xFF0, 4)] == [0x0D, 0x90, 0x05, 0xB1]
    assert c.reg(LSR) == 0  # a debugger's view


@ALL_CHIPS
def test_comparators_match_by_address_and_bytes(core, chip):
    c = core(chip)
    c.halt()
    place = c.board.symbol("counted_thumb") + 2  # the upper halfword of a word, or the lower
    for n in range(BREAKPOINTS[chip]):
        for lanes, hits in [(3 << (place & 2), True), (0xF, True), (3 << (2 - (place & 2)), False)]:
            c.board.watch(place)
            c.set_reg(BVR + 4 * n, place & ~3)
            c.set_reg(BCR + 4 * n, lanes << 5 | 7)
            c.resume()
            if hits:
                assert c.wait_halted()["pc"] == place
            else:  # it hits the other halfword only, whether that begins an instruction or not
                c.board.wait_for(lambda s: s["run"] == "halted" or len(c.board.log()) > 3)
                assert c.board.state()["pc"] != place or c.board.state()["run"] == "running"
                c.halt()
            c.disarm(n)
    assert c.reg(BVR) == place & ~3  # and stays


@ALL_CHIPS
def test_resuming_onto_ones_own_breakpoint_executes_nothing(core, chip):
    c = core(chip, halt_cost="20..60", seed=7)
    c.halt()
    place = c.board.symbol("work_by_data")
    thumb = chip == "a7"  # the compiler's code is Thumb there
    c.arm(2, place, thumb)
    c.resume()
    c.wait_halted()
    if chip != "r5":
        c.count()
    c.board.watch(place)
    before, costs = c.board.state(), []
    for _ in range(30):
        last = c.pmu(CCNTR)
        c.resume()
        c.wait_halted()
        costs.append((c.pmu(CCNTR) - last) % (1 << 32))
    events = c.board.log()
    halts, runs = between(events, "halt"), between(events, "run")
    assert len(halts) == 30 and all(h.pc == place and h.extra == MOE_BREAKPOINT for h in halts)
    assert not between(events, "reach") and {h.cycles for h in halts} == {before["cycles"]}
    assert all(r.extra == Board.NOTHING_DONE for r in runs[1:])
    assert all(h.counts == halts[0].counts for h in halts)
    if chip != "r5":
        assert min(costs) >= 20 and max(costs) <= 60 and len(set(costs)) > 5
        assert sum(costs[1:]) == halts[-1].counted - halts[0].counted


@ALL_CHIPS
def test_breakpoints_need_halting_debug_and_requests_do_not(core, chip):
    c = core(chip)
    c.set_reg(DSCR, 0)
    place = c.board.symbol("recurse")
    c.arm(0, place, chip == "a7")
    c.board.watch(place)
    c.board.wait_for(lambda s: len(between(c.board.log(), "reach")) > 3)
    assert not c.halted() and not between(c.board.log(), "halt")
    c.set_reg(DRCR, HALT)
    assert c.wait_halted()["moe"] == 0
    c.resume()
    assert c.wait_halted()["pc"] == place


@ALL_CHIPS
def test_status_register_and_data_transfer(core, chip):
    c = core(chip)
    assert c.reg(DSCR) & 0x3F == 2  # running, restarted
    c.halt()
    assert c.reg(DSCR) & 0x3F == 3
    # The instruction transfer register does nothing without its enable
    c.give(0x1234)
    c.set_reg(DSCR, HDBGEN)
    c.set_reg(0x084, 0xE3A00000)  # MOV r0, #0
    assert c.take() == 0x1234
    assert not c.reg(DSCR) & TXFULL  # it was read
    c.set_reg(DTRRX, 5)
    dscr = c.reg(DSCR)
    assert dscr & RXFULL and dscr >> 27 & 1
    c.set_reg(DTRRX, 6)  # full: ignored
    c.stuff(0xEE100E15)
    assert c.take() == 5
    # An undefined instruction sticks until it is cleared, and nothing is done meanwhile
    assert c.stuff(0xE7F000F0) & 1 << 8
    c.stuff(0xE3A00000)
    c.set_reg(DRCR, 4)
    assert not c.reg(DSCR) >> 8 & 1 and c.take() == 5
    # So does an abort
    c.give(0x50000000)
    assert c.stuff(0xE5901000) & 1 << 6  # LDR r1, [r0]
    c.set_reg(DRCR, 4)
    c.set_reg(PRCR, 1)
    assert c.board.state()["prcr"] == 1


@MAPPED
def test_pc_sample(core, chip):
    c = core(chip)
    pages = [c.reg(PCSR[chip]) for _ in range(5)]
    assert all(p < 0x4000 or p >= RAM_BASE[chip] for p in pages)
    c.halt()
    assert c.reg(PCSR[chip]) == 0xFFFFFFFF


@ALL_CHIPS
def test_vector_catch_and_reset(core, chip):
    c = core(chip)
    c.set_reg(DSCR, HDBGEN)
    c.arm(1, 0x3000)
    boots = c.board.read_word("boot_count")
    c.set_reg(VCR, 1)
    c.reg(PRSR)
    c.board.command("reset")
    state = c.wait_halted()
    assert state["pc"] == 0 and state["moe"] == MOE_CATCH and state["bvr"][1] == 0x3000
    assert c.reg(PRSR) & 8 and not c.reg(PRSR) & 8  # a reset happened; reading says so once
    c.set_reg(VCR, 1 << 2)
    c.resume()
    c.board.wait_for(lambda s: c.board.read_word("boot_count") > boots)
    c.board.wait_for(lambda s: c.board.read_word("round_count") > 0)
    c.board.scenario(SUPERVISOR)
    state = c.wait_halted()
    assert state["pc"] == 8 and state["moe"] == MOE_CATCH
    c.set_reg(VCR, 0)
    calls = c.board.read_word("svc_count")
    c.resume()
    c.board.wait_for(lambda s: c.board.read_word("svc_count") > calls + 3)


@ALL_CHIPS
def test_exceptions_are_taken_and_return(bench, chip):
    b = bench(chip, """
        start: mov r4, #0
               svc #1
               udf #3
               cpsie i
               nop
        held:  bkpt #0
               ldr r1, =0x50000000
        bad:   ldr r2, [r1]
               bkpt #1
               .pool
    """)
    board = b.core.board
    before = {name: board.read_word(name) for name in ("svc_count", "undefined_count", "irq3_count", "abort_count")}
    board.command("irq 9")
    b.run()
    after = {name: board.read_word(name) - before[name] for name in before}
    assert after == {"svc_count": 1, "undefined_count": 1, "irq3_count": 1, "abort_count": 0}
    events = [(e.kind, e.extra) for e in board.log() if e.kind in ("enter", "return")]
    assert events == [("enter", 2), ("return", 2), ("enter", 1), ("return", 1), ("enter", 16 + 9), ("return", 16 + 9)]
    first, last = between(board.log(), "reach")[0], board.log()[-1]
    assert last.counts[0x09] - first.counts[0x09] == 3 == last.counts[0x0A] - first.counts[0x0A]
    b.core.give(b.symbols["held"] + 4)
    b.core.stuff(0xE1A0F000)
    b.core.resume()
    board.wait_for(lambda s: board.read_word("abort_count") > before["abort_count"])
    assert [e.extra for e in board.log() if e.kind == "enter"][-1] == 4
    b.core.halt()
    assert b.core.stuff(0xEE160F10) & HALTED and b.core.take() == 0x50000000  # DFAR
    assert b.register(14) == b.symbols["bad"] + 8


@ALL_CHIPS
def test_sleep(core, chip):
    c = core(chip)
    c.board.scenario(SLEEPER)
    c.board.wait_for(lambda s: s["run"] == "asleep")
    c.board.watch("sleeper")
    cycles = c.board.state()["cycles"]
    c.board.wait_for(lambda s: s["cycles"] > cycles + 1000)
    c.board.command("irq 3")
    c.board.wait_for(lambda s: c.board.read_word("irq3_count") == 1)
    c.board.wait_for(lambda s: s["run"] == "asleep")
    assert [e.kind for e in c.board.log()][:3] == ["wake", "enter", "return"]
    c.halt()  # wakes it, as a debug event does
    c.resume()
    c.board.wait_for(lambda s: s["run"] == "asleep")
    with pytest.raises(BoardError):
        c.board.command("irq 32")


@ALL_CHIPS
def test_interrupts_of_a_halt(core, chip):
    c = core(chip, halt_irq=1000)
    c.set_reg(DSCR, HDBGEN)
    place = c.board.symbol("recurse")
    c.arm(0, place, chip == "a7")
    c.wait_halted()
    c.board.watch(place)
    c.disarm(0)
    c.resume()
    c.board.wait_for(lambda s: s["pending"] == 0)
    c.board.run_for(100)
    run, enter, *_ = c.board.log()
    assert (run.kind, run.extra) == ("run", Board.PREEMPTED | Board.PENDED_WHILE_HALTED)
    assert (enter.kind, enter.extra) == ("enter", 16 + 3)


@ALL_CHIPS
def test_power_takes_everything_but_ram(core, chip):
    c = core(chip)
    c.halt()
    c.arm(0, 0x1000)
    c.board.command("power off")
    assert c.board.state()["run"] == "halted"
    c.board.command("power on")
    state = c.board.state()
    assert state["run"] == "running" and not any(state["bcr"]) and not state["dscr"] and state["locked"]
    assert state["os_locked"] == (chip == "a7")
    c.board.wait_for(lambda s: c.board.read_word("boot_count") >= 2)

"""Programs that use the core's comparators themselves, for their DebugMonitor exception: their stops are named as theirs, the core goes
on, and nothing of theirs is removed."""
import re

import pytest

from gdb_place import GdbPlace
from harness import WORK_BY_DATA, Place, finish_tool, unfolded, wait_for
from own_program import START, own_place

SOURCE = START.replace("[15] =", "[12] = DebugMon_Handler, [15] =").replace("void SysTick_Handler", "void DebugMon_Handler(void);\nvoid SysTick_Handler", 1) + r"""
#define N 1 /* the other comparator may count cycles */
volatile uint32_t monitored, guarded, armed; /* 1: the watchpoint's store, 2: the breakpoint's function, 3: all anew */
void DebugMon_Handler(void)
{
    monitored++;
    REGISTER(0xE000ED30) = 0x1F;
    if (armed == 2)
        REGISTER(0xE0002008) = 0;
}
APART void filter(void)
{
    for (uint32_t i = 0; i < 50; i++)
        sink += i;
}
APART void patched(void) { sink++; }
APART static void set_up(void)
{
    uint32_t at = (uint32_t)&patched & ~1u;
    REGISTER(0xE000EDFC) |= 1u << 24 | 1u << 16; /* TRCENA, MON_EN */
    REGISTER(0xE0001FB0) = 0xC5ACCE55;
    REGISTER(0xE0001020 + 16 * N) = (uint32_t)&guarded;
#if __ARM_ARCH >= 8
    REGISTER(0xE0001028 + 16 * N) = 0x15 | 2 << 10;
#else
    REGISTER(0xE0001024 + 16 * N) = 0;
    REGISTER(0xE0001028 + 16 * N) = 6;
#endif
    REGISTER(0xE0002008) = REGISTER(0xE0002000) >> 28 ? at | 1 : (at & 0x1FFFFFFC) | (at & 2 ? 2u : 1u) << 30 | 1;
    REGISTER(0xE0002000) = 3;
}
void run(void)
{
    set_up();
    for (;;) {
        filter();
        round_count++;
        if (armed == 1)
            guarded = armed--;
        if (armed == 2)
            patched();
        if (armed == 3) {
            set_up();
            armed = 0;
        }
    }
}
"""
WAYS = ["m4/swd", "m4", "m7/swd", "m33/swd", "m55/swd", "rp2350/swd"]
KEPT = ("fp_comp", "fp_ctrl", "dwt_comp", "dwt_function")
COMMANDS = [["delta", "filter", "-r", "100000"], ["survey", "filter", "--for", "20s"], ["lines", "filter", "-r", "100000"],
            ["guard", "filter", "--budget", "100000", "--for", "20s"], ["record", "--every", "3000", "--for", "20s"]]


def kept(place):
    """OpenOCD has cleared all comparators when it attached (cortex_m_examine): the program sets its own once more."""
    place.board.write_word("armed", 3)
    wait_for(lambda: place.board.read_word("armed") == 0, "the program to set its comparators")
    return comparators(place)


def comparators(place):
    return {name: place.board.state()[name] for name in KEPT}


def meets_its_own(place, command, armed):
    """A run in which the program meets its own comparator after some stops."""
    halts = place.board.state()["halts"]
    running = place.start(*command)
    wait_for(lambda: place.board.state()["halts"] > halts + 5, "the run")
    place.board.write_word("armed", armed)
    return finish_tool(running)


def goes_on(place):
    before = place.board.read_word("round_count")
    wait_for(lambda: place.board.read_word("round_count") > before + 3, "the program to go on")


@pytest.mark.any_row(3)
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
@pytest.mark.parametrize("way", WAYS)
def test_the_programs_watchpoint_is_named_and_it_goes_on(way, command, tmp_path):
    with own_place(tmp_path, way, SOURCE) as place:
        before, more = kept(place), ["-o", tmp_path / "p.jsonl"] if command[0] == "record" else []
        result = meets_its_own(place, [*command, *more], 1)
        assert result.code == 3, result.out + result.err
        named = rf"the program's own watchpoint \(DWT 1, 0x{place.symbol('guarded'):08X}\) at own\.c:\d+"
        assert re.search(named, unfolded(result.err)) and "in place of DebugMonitor" in unfolded(result.err), result.err
        assert "restore --force" not in result.err and "someone else" not in result.err
        goes_on(place)
        assert comparators(place) == before


@pytest.mark.parametrize("way", ["m4/swd", "m55/swd"])
def test_the_programs_breakpoint_is_named_and_raises_its_exception(way, tmp_path):
    """With debug off again the core meets it again, and takes the exception."""
    with own_place(tmp_path, way, SOURCE) as place:
        result = meets_its_own(place, COMMANDS[0], 2)
        assert result.code == 3 and f"the program's own breakpoint (FPB 0, 0x{place.symbol('patched'):08X})" in result.err, result.err
        wait_for(lambda: place.board.read_word("monitored") > 0, "its exception")
        goes_on(place)


@pytest.mark.any_row(1)
@pytest.mark.parametrize("way", [way for way in WAYS if "/" in way])
def test_stat_halts_nothing(way, tmp_path):
    with own_place(tmp_path, way, SOURCE) as place:
        before = kept(place)
        running = place.start("stat", "--for", "1s")
        place.board.write_word("armed", 1)
        assert finish_tool(running).code == 0
        assert place.board.read_word("monitored") == 1 and place.board.state()["halts"] == 0 and comparators(place) == before


@pytest.mark.any_row(2)
@pytest.mark.parametrize("halted", [False, True])
@pytest.mark.parametrize("way", WAYS)
def test_restore_leaves_what_is_the_programs(way, halted, tmp_path):
    with own_place(tmp_path, way, SOURCE) as place:
        if halted and not place.server:
            server = place.start_server()  # it clears all comparators, too
        before = kept(place)
        if halted and place.server:
            place.halt()
        elif halted:
            server("halt")
            server.wait_halt()
            server.kill()
        result = place.run("restore", "--force")
        assert result.code == 0, result.out + result.err
        assert result.out.count("left alone") == 2 and "removed" not in result.out, result.out
        assert f"watchpoint at 0x{place.symbol('guarded'):08X}: the program's own, as DebugMonitor is on" in result.out
        goes_on(place)
        assert comparators(place) == before


def test_what_a_debugger_left_is_removed_as_before():
    """DebugMonitor is off: a watchpoint is some debugger's."""
    with Place("m4/swd", "free", WORK_BY_DATA) as place:
        server = place.start_server()
        server("halt")
        server.wait_halt()
        server("wp 0x20001000 4 w")
        server("resume")
        server.kill()
        result = place.run("restore", "--force")
        assert result.code == 0 and "removed     watchpoint at 0x20001000" in result.out and "left alone" not in result.out, result.out


def test_through_a_gdb_server_it_is_named(tmp_path):
    with own_place(tmp_path, "m4", SOURCE, kind=GdbPlace) as place:
        before = kept(place)
        result = meets_its_own(place, COMMANDS[0], 1)
        assert result.code == 3 and "the program's own watchpoint (DWT 1" in unfolded(result.err), result.err
        assert "left halted" in unfolded(result.err) and comparators(place)["dwt_function"] == before["dwt_function"]

"""`delta` and `info` on Cortex-A and Cortex-R cores against the board's truth. The same tests run for Cortex-M."""
import re
import signal

import pytest

from harness import (CALLED_TWICE, IN_RAM, LOOP_ROUND, PREEMPTED, RECURSE, WORK_BY_DATA, ARTICLE_NOP, ARTICLE_PLAIN, NOWHERE,
                     SOAK, Place, at, finish_tool, hits_of, passages, places, returned, unfolded, wait_for)

pytestmark = pytest.mark.each_value  # a row takes long

WAYS = ["a9/swd", "a9/jtag", "a7/swd", "a9/v2", "a9", "a7", "a53/swd", "a53/jtag", "a53/v2", "a53",
        "r5/swd", "r5/jtag", "r5/v2", "r5", "r52/swd", "r52/jtag", "r52/v2", "r52", "a53in32/swd", "a53in32/v2", "a53in32", "r52hyp/swd", "r52hyp", "a53el2/swd", "a53el2"]
# Writes that halt: DBGDSCR for halting debug and DBGDRCR; on Armv8 what OpenOCD has set up, CTIAPPPULSE and CTIINTACK
HALT = {"a9": ((0x80090088, 0x4000), (0x80090090, 1)), "a7": ((0x80030088, 0x4000), (0x80030090, 1)),
        "r5": ((0x80001088, 0x4000), (0x80001090, 1)), "a53": ((0x8042001C, 1), (0x80420010, 1)),
        "a53in32": ((0x8042001C, 1), (0x80420010, 1)), "r52": ((0x8002001C, 1), (0x80020010, 1))}
COUNTED = 1 << 29
# What a run, not the tool, changes
MOVING = {"pc", "sp", "lr", "cpsr", "cycles", "counted", "instructions", "halts", "csw", "tar", "accesses", "ram_hash", "run",
          "sticky", "moe", "tar0", "tar1", "csw0", "csw1"}


def lasting(place):
    """What a run of the tool must not change."""
    return {name: value for name, value in place.board.state().items() if name not in MOVING}


def exact(place, operands, is_end, hits, args=()):
    result = place.delta(*operands, "-r", hits, *args)
    truth = passages(place.board.log(), place.symbol(operands[0]), is_end)
    assert len(truth) in (len(result.hits), len(result.hits) + 1)
    for hit, passage in zip(result.hits, truth):
        assert not hit.get("at_least") and hit["values"]["CPU_CYCLES"] == passage.cycles, (hit, passage.cycles)
    return result


FUNCTIONS = [("work_by_data", WORK_BY_DATA), ("called_twice", CALLED_TWICE), ("recurse", RECURSE), ("in_ram", IN_RAM)]
IN_ONE_SET = {"a53": ("counted_a64",), "a53el2": ("counted_a64",)}  # others have counted_arm and counted_thumb


def functions(way):
    return FUNCTIONS + [(name, COUNTED) for name in IN_ONE_SET.get(way.partition("/")[0], ("counted_arm", "counted_thumb"))]


@pytest.mark.parametrize("way, function, bits", [(way, *row) for way in WAYS for row in functions(way)])
def test_function(way, function, bits):
    with Place(way, "free", bits) as place:
        result = exact(place, (function,), returned, hits_of(place, 1000 if SOAK else 200))
        assert len(set(result.cycles)) > 1


# Comparators of A9 and A7: the debug page, and how many there are
COMPARATORS = {"a9": (0x80090100, 6), "a7": (0x80030100, 6)}


@pytest.mark.parametrize("way", ["a9/swd", "a7/swd", "a9/v2"])
@pytest.mark.parametrize("free", [1, 2, 3, 5])
def test_function_beside_the_breakpoints_of_others(way, free):
    """Comparators in use by others stay as they are, however few are left for us."""
    with Place(way, "free", CALLED_TWICE) as place:
        values, count = COMPARATORS[place.chip]
        server = place.start_server()
        server("poll off")
        address, value = HALT[place.chip][0]
        server(f"{place.chip}.apb mww {address:#x} {value:#x}")
        for n in range(count - free):
            server(f"{place.chip}.apb mww {values + 4 * n:#x} {0xFFFF0000 + 16 * n:#x}")
            server(f"{place.chip}.apb mww {values + 0x40 + 4 * n:#x} 0x1e7")
        server.kill()
        before = place.board.state()
        assert sum(word & 1 for word in before["bcr"]) == count - free
        exact(place, ("called_twice",), returned, 100)
        after = place.board.state()
        assert (after["bcr"], after["bvr"]) == (before["bcr"], before["bvr"])


@pytest.mark.parametrize("way", WAYS)
def test_the_spare_register_changes(way):
    """It is another one at each call, and there another one at the end than at the start."""
    name = IN_ONE_SET.get(way.partition("/")[0], ("counted_arm",))[0]
    with Place(way, "free", COUNTED) as place:
        before = lasting(place)
        exact(place, (name,), returned, hits_of(place))
        exact(place, ("counted_apart", name + "_end"), at(place.symbol(name + "_end")), hits_of(place))
        assert lasting(place) == before


@pytest.mark.parametrize("way", WAYS)
def test_start_to_end(way):
    with Place(way, "free", ARTICLE_PLAIN | ARTICLE_NOP) as place:
        plain = exact(place, ("plain_first", "plain_second"), at(place.symbol("plain_second")), hits_of(place))
        nop = exact(place, ("nop_first", "nop_second"), at(place.symbol("nop_second")), 100)
        assert set(nop.cycles) == {cycles + 1 for cycles in plain.cycles}


@pytest.mark.parametrize("way", ["a9/swd", "a7/swd", "a9", "a53/swd", "a53", "r5/swd", "r5", "r52/swd", "a53in32", "r52hyp/swd", "a53el2/swd"])
def test_round_of_a_loop(way):
    with Place(way, "free", LOOP_ROUND) as place:
        result = place.delta("loop_head", "loop_head", "-r", 100)
        here = place.symbol("loop_head")
        # the core may be there, too, when it is only asked to halt
        stops = [event for event in place.board.log() if event.kind == "halt" and event.pc == here and event.extra]
        rounds = [b.cycles - a.cycles for a, b in zip(stops, stops[1:]) if b.cycles != a.cycles]
        assert result.cycles == rounds[:len(result.cycles)]


@pytest.mark.parametrize("way", ["a9/swd", "a9", "a53/swd", "a53"])
def test_the_second_core_while_the_first_runs(way):
    with Place(way, "free", WORK_BY_DATA | CALLED_TWICE) as place:
        second = place.board.core(1)
        second.watch(NOWHERE)
        before = place.board.read_word("round_count")
        result = place.run("-C", 1, "delta", "-j", "core1_work", "-r", 100)
        assert result.code == 0, result.err
        truth = passages(second.log(), place.symbol("core1_work"), returned)
        assert [hit["values"]["CPU_CYCLES"] for hit in result.hits] == [passage.cycles for passage in truth[:100]]
        assert place.board.read_word("round_count") > before


@pytest.mark.parametrize("way", ["a9/swd", "a7/swd", "a9", "a53/swd", "a53", "r5/swd", "r5/jtag", "r5", "r52/swd", "a53in32/swd", "r52hyp/swd", "a53el2/swd"])
@pytest.mark.parametrize("how", ["done", "interrupted", "no end"])
def test_everything_is_put_back(way, how):
    with Place(way, "free", WORK_BY_DATA | PREEMPTED) as place:
        place.run("info")  # what an examination does to sticky bits is done
        before = lasting(place)
        if how == "done":
            assert place.run("delta", "work_by_data", "-r", 20).code == 0
        elif how == "interrupted":
            tool = place.start("delta", "work_by_data", "-r", 100000000)
            place.wait_for_stops(20)
            finish_tool(tool, signal.SIGINT)
        else:
            assert place.run("delta", "work_by_data", "resetting" if place.chip == "m4" else "sleeper", "--timeout", 1).code == 3
        assert lasting(place) == before
        assert place.board.state()["run"] == "running"


@pytest.mark.parametrize("way", ["a9/swd", "a7/swd", "a53/swd", "r5/swd", "r52/swd", "a53in32/swd", "r52hyp/swd", "a53el2/swd"])
def test_a_halted_core_is_refused_and_resumed_on_demand(way):
    with Place(way, "free", WORK_BY_DATA) as place:
        # by hand: OpenOCD's own halt borrows R0 and gives it back at its own resume only
        server = place.start_server()
        server("poll off")
        for address, value in HALT[place.chip]:
            server(f"{place.chip}.apb mww {address:#x} {value:#x}")
        server.kill()
        refused = place.run("delta", "work_by_data", "-r", 5)
        assert refused.code == 3 and "halted" in refused.err
        assert place.board.state()["run"] == "halted"
        resumed = place.run("delta", "work_by_data", "-r", 5, "--resume")
        assert resumed.code == 0, resumed.err
        assert place.board.state()["run"] == "halted"


@pytest.mark.parametrize("way", ["a9/swd", "a7/swd", "a9", "a53/swd", "a53", "r5/swd", "r5", "r52/swd", "a53in32", "r52hyp/swd"])
def test_info_says_of_a_healthy_core_what_is_so(way):
    with Place(way) as place:
        result = place.run("info")
        assert result.code == 0, result.err
        assert "ROM table" in result.out and "core 0   Cortex-" + {"a53in32": "A53"}.get(place.chip, place.chip.upper()) in result.out
        # the OS locks of A7 and A53 are closed at power-on; OpenOCD opens them
        locked = way in ("a7/swd", "a53/swd", "r52/swd", "r52hyp/swd")
        says = "powered, running; OS lock set, as after a reset" if locked else "running"
        cores = re.findall(r"^core \d   \S+ \S+   .*(?:\n {9}.*)*", result.out, re.M)  # what is long goes on below
        assert cores and all(unfolded(one).endswith(" " + says) for one in cores), result.out
        counters = {"a9": "PMUv1, 6 counters", "a53": "PMUv3, 6 counters", "a53in32": "PMUv3, 6 counters", "r52": "PMUv3, 4 counters", "r5": "PMUv1 in CP15"}.get(place.chip)
        assert ("the OS lock is set, as after a reset" if locked else counters) in unfolded(result.out) and "refuse" not in result.out


@pytest.mark.parametrize("state, says, why", [
    ("double-locked", "powered; OS double lock set", "the OS double lock is set"),
    ("powered-off", "without power", "the core has no power"),
    ("epmad", "running", "MDCR_EL3.EPMAD"),
    ("unauthenticated", "running", "does not allow non-invasive debug"),
])
def test_info_says_why_the_counters_of_an_a53_cannot_be_read(state, says, why):
    with Place("a53/swd") as place:
        place.board.command("core-state os-locked off")
        place.board.command(f"core-state {state} on")
        result = place.run("info")
        first = unfolded(result.out.split("\ncore 0")[1].split("\ncore 1")[0])
        assert f" {says}" in first and why in first, result.out


@pytest.mark.parametrize("way", ["a9/swd", "a9", "a53/swd", "a53", "r5/swd", "r5", "r52/swd", "a53in32/swd", "r52hyp/swd", "a53el2/swd"])
def test_a_reset_in_the_middle_is_no_number(way):
    with Place(way, "free", WORK_BY_DATA) as place:
        tool = place.start("delta", "work_by_data", "-r", 100000000)
        place.wait_for_stops(20)
        place.board.command("reset")
        result = finish_tool(tool)
        assert result.code == 3 and "reset" in result.err, result.err


@pytest.mark.parametrize("halt_cost", ["17", "5..60"])
@pytest.mark.parametrize("way", ["a9/swd", "a7/swd", "a53/swd", "a9", "a53", "r5/swd", "r5", "r52/swd", "a53in32/swd", "r52hyp/swd", "a53el2/swd"])
def test_two_halt_costs(way, halt_cost):
    with Place(way, "free", WORK_BY_DATA, halt_cost=halt_cost) as place:
        hits = hits_of(place)
        result = place.delta("work_by_data", "-r", hits)
        truth = passages(place.board.log(), place.symbol("work_by_data"), returned)
        off = result.summary["columns"]["CPU_CYCLES"]["plus_minus"]
        within = sum(abs(hit["values"]["CPU_CYCLES"] - passage.cycles) <= off for hit, passage in zip(result.hits, truth))
        assert within >= 0.95 * hits and (halt_cost != "17" or (off == 0 and within == hits))


@pytest.mark.any_row(1)
@pytest.mark.parametrize("way", ["r5/swd", "r5/jtag", "r5"])
def test_a_reset_at_any_time_is_told(way):
    """Also one that arrives while the core is halted for its counters: then it may have got what the program before it had,
    and is not let go."""
    with Place(way, "free", WORK_BY_DATA) as place:
        stays = 0
        for skip in places(6000, f"reset {way}", most=13, in_soak=100):
            place.board.watch(NOWHERE)
            place.board.command(f"fault reset 1 {skip}")
            result = place.run("delta", "-j", "work_by_data", "-r", 3, "--no-calibrate")
            place.board.command("fault reset 0")
            rest = iter(passages(place.board.log(), place.symbol("work_by_data"), returned))
            assert all(any(passage.cycles == cycles for passage in rest) for cycles in result.cycles), (skip, result.err)
            left = "left halted" in result.err
            assert (place.board.state()["run"] == "halted") == left, (skip, result.err)
            # Before the tool takes the core and after it has put everything back, a reset is not its business
            assert result.code == 0 or "reset" in result.err, (skip, result.err)
            stays += left
            if left:
                place.board.command("reset")
            wait_for(lambda: place.board.state()["run"] == "running", "the core to run again")
        assert stays > 0


@pytest.mark.parametrize("reached", [True, False])
def test_a_program_in_the_other_execution_state_executes_nothing_of_ours(reached):
    """Without an ELF, an A53 is expected in AArch64 state."""
    with Place("a53in32/swd", "free", WORK_BY_DATA) as place:
        start = place.symbol("work_by_data" if reached else "called_twice")
        result = place.run("delta", f"*{start:#x}", f"*{start:#x}", "-r", 1, "--timeout", "1s", elf=False)
        assert result.code == 3, result.out + result.err
        assert ("it is in AArch32 state" in result.err) == reached and ("was not reached" in result.err) == (not reached)
        state = place.board.state()
        assert state["run"] == "running" and state["halts"] > 0 and state["altered"] == 0
        exact(place, ("work_by_data",), returned, 20)

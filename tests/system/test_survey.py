"""`survey`: many functions in one run. Each number is the board's truth and what `delta` prints of the same function, shares
are those of the board, what is not called is not printed as reached, and the target is as it was."""
import json
import re
import signal

import pytest

from gdb_place import GdbPlace
from harness import (CALLED_TWICE, INTERRUPTED, IN_RAM, NOP_MORE, NOWHERE, RECURSE, SOAK, WORK_BY_DATA, Place, at, ended, finish_tool, left_handler, passages,
                     returned, run_tool, unfolded)
from own_program import START, own_place
from test_restore import assert_runs, snapshot

WAYS = ["m4/swd", "m4", "rp2040/swd", "rp2040", "rp2350/swd", "m55/swd", "rp2040/v2", "a9/swd", "a53/swd", "r5/swd", "r52/swd", "r52hyp/swd", "a53el2/swd"]
BITS = WORK_BY_DATA | CALLED_TWICE | RECURSE | IN_RAM
CALLED = ["work_by_data", "called_twice", "caller_one", "caller_two", "recurse", "in_ram"]
ALWAYS_THE_SAME = ["caller_one", "caller_two"]
NEVER = ["never_called", "span_10", "sleeper"]
HITS = 100 if SOAK else 20
IN_FLIGHT = 256
ENOUGH = ("--for", "10min")  # ends long before, with the hits


def survey(place, *args, code=0):
    place.board.watch(NOWHERE)
    result = place.run("survey", "-j", *args)
    assert result.code == code, f"exit {result.code}: {result.err}\n{result.out[-2000:]}"
    assert result.header["schema"] == "pmu-probe/2" and result.header["command"] == "survey"
    result.regions = {line["name"]: line for line in result.lines if line["type"] == "region"}
    assert len(result.regions) == result.summary["regions"]
    return result


def check_truth(place, region, log):
    """A summary of some of the board's passages: a turn that ends has a few hits on the way, which it does not take."""
    truth = sorted(passage.cycles for passage in passages(log, place.symbol(region["name"]), ended))
    cycles = region["columns"]["CPU_CYCLES"]
    n, more = cycles["count"], len(truth) - cycles["count"]
    assert n == region["hits"] and region["tainted"] == 0 and "at_least" not in cycles, region
    assert 0 <= more <= min(n, IN_FLIGHT), f"{region['name']}: {len(truth)} passages, {n} hits"
    for value, rank in ((cycles["min"], 0), (cycles["median"], (n - 1) // 2), (cycles["max"], n - 1)):
        assert value in truth and truth[rank] <= value <= truth[rank + more], region["name"]
    assert cycles["plus_minus"] == 0


@pytest.mark.any_row(1)
@pytest.mark.parametrize("way", WAYS)
def test_every_number_is_the_truth(way):
    with Place(way, "free", BITS) as place:
        before = snapshot(place)
        result = survey(place, "work_b*", "call*", "recurse", "in_ram", "-r", HITS, *ENOUGH)
        assert sorted(result.regions) == sorted(CALLED)
        log = place.board.log()
        for region in result.regions.values():
            assert region["reached"] and region["hits"] >= HITS and region["region"]["end"] == "its return"
            check_truth(place, region, log)
        for name in CALLED if SOAK else ALWAYS_THE_SAME[:1]:
            cycles, here = place.delta(name, "-r", 10).cycles, result.regions[name]["columns"]["CPU_CYCLES"]
            if name in ALWAYS_THE_SAME:
                assert set(cycles) == {here["median"]} == {here["min"]} == {here["max"]}
        assert_runs(place)
        assert snapshot(place) == before


@pytest.mark.any_row(1)
@pytest.mark.parametrize("way", ["m4/swd", "rp2040"])
def test_what_is_not_called_is_not_reached(way):
    with Place(way, "free", WORK_BY_DATA) as place:
        result = survey(place, "work_by_data", *NEVER, "Reset_Handler", "main", "--for", "3s")
        for name in NEVER:
            region = result.regions[name]
            assert region == {"type": "region", "name": name, "reached": False, "waited_s": region["waited_s"]} and region["waited_s"] > 0.1
        assert not result.regions["main"]["reached"]
        assert "noreturn" in result.regions["Reset_Handler"]["why"]
        assert result.regions["work_by_data"]["reached"] or not passages(
            place.board.log(), place.symbol("work_by_data"), returned)
        failed = survey(place, "never_*", "--for", "300ms", code=3)
        assert "none of 1 functions was reached" in failed.err


def shares_of(profile, place, names):
    spent = sum(cycles for kind in ("executed", "asleep") for _, cycles in profile[kind])
    lows = sorted(place.board.symbols().values())
    ends = {low: high for low, high in zip(lows, lows[1:])}
    return {name: sum(cycles for at, cycles in profile["executed"]
                      if place.symbol(name) <= at < ends[place.symbol(name)]) / spent for name in names}


@pytest.mark.any_row(1)
@pytest.mark.parametrize("way", ["m4/swd", "rp2040/swd"])
def test_shares_are_those_of_the_board(way):
    """Of functions that call nothing: what the board spent in their code. Their calls are far apart for a host that is busy,
    that many of them are wanted."""
    names = ["cycles_10", "cycles_30", "cycles_60"]
    with Place(way, "free", 0) as place:
        place.board.write_word("shares", 1)
        place.board.command("profile on")
        result = survey(place, "cycles_?0", "-r", 60, *ENOUGH)
        truth = shares_of(place.board.command("profile")["cores"][0], place, names)
        assert 0.9 < sum(truth.values()) < 1
        for name in names:
            region = result.regions[name]
            assert abs(region["share"] - truth[name]) < 0.02, f"{name}: {region['share']}, truth {truth[name]}"
            assert region["share_plus_minus"] < 0.05
            periods = region["periods"]
            rate = periods["count"] / periods["cycles"] * result.header["clock"]["hz"]
            assert region["calls_per_second"] == pytest.approx(rate)
            assert periods["count"] > 40


BURSTS = START + r"""
APART uint32_t leaf(uint32_t x) { return x * 3 + 1; }
APART void gap(uint32_t n) { for (; n; n--) __asm volatile("nop"); }
APART void burst(void) { for (int i = 0; i < 300; i++) sink += leaf(i); }
void run(void) { for (;; round_count++) { burst(); gap(20000); } }
"""


@pytest.mark.each_value
@pytest.mark.parametrize("args", [(), ("--for", "1s"), ("-r", 20)], ids=lambda args: "".join(map(str, args)) or "plain")
@pytest.mark.parametrize("way", ["m4/swd", "m4", "rp2040", "m55/swd", "a9/swd", "gdb"])
def test_calls_that_come_in_bursts(way, args, tmp_path):
    """A turn may be shorter than the time from burst to burst: no period has that, and still no share is printed as if it were exact."""
    kind = {"kind": GdbPlace} if way == "gdb" else {}
    with own_place(tmp_path, "m4" if way == "gdb" else way, BURSTS, **kind) as place:
        calm = survey(place, "gap", "burst", "leaf", "-r", 10, *ENOUGH).regions
        whole, cycles = calm["gap"]["columns"]["CPU_CYCLES"]["median"] / calm["gap"]["share"], calm["leaf"]["columns"]["CPU_CYCLES"]["median"]
        assert 0.9 < calm["gap"]["share"] < 1
        assert calm["burst"]["share"] == pytest.approx(calm["burst"]["columns"]["CPU_CYCLES"]["median"] / whole, rel=0.01)
        regions = survey(place, "leaf", "gap", "burst", *args).regions
        leaf, truth = regions["leaf"], 300 * cycles / whole
        if "share" not in leaf:  # a slow link on a busy machine takes a hit or two a turn
            assert leaf.get("hits", 0) < 20, leaf
            return
        assert abs(leaf["share"] - truth) <= leaf["share_plus_minus"], (leaf, truth)
        assert not any("in_bursts" in regions[name].get("periods", {}) for name in ("gap", "burst")), regions
        if "in_bursts" in leaf["periods"] and "share" in regions["burst"]:  # which alone calls it
            assert leaf["share"] <= regions["burst"]["share"] + regions["burst"]["share_plus_minus"], leaf


@pytest.mark.each_value
@pytest.mark.parametrize("way", ["m4/swd", "m4", "a9/swd", "gdb"])
def test_a_few_turns_leave_open_how_often_it_is_called(way):
    """A helper that a loop calls for half of the time: each turn may be in such a loop, and all periods alike. (Two times the ±, since
    once in twenty the truth is outside.)"""
    kind, chip = (GdbPlace, "m4") if way == "gdb" else (Place, way)
    with kind(chip, "free", WORK_BY_DATA) as place:
        place.board.command("profile on")
        helper = survey(place, "hidden_step", "random_number", "-r", 5, *ENOUGH).regions["hidden_step"]
        truth = shares_of(place.board.command("profile")["cores"][0], place, ["hidden_step"])["hidden_step"]
        if way == "gdb" and "share" not in helper:  # with a hit or two a turn it is left open, too
            return
        assert 0.1 < truth < 0.3 and abs(helper["share"] - truth) <= 2 * helper["share_plus_minus"], (helper, truth)
        assert helper["share_plus_minus"] > 0.04 * helper["share"] and helper["calls_plus_minus"] > 0.04 * helper["calls_per_second"]


SLEEPS = START + r"""
static volatile uint32_t ticks;
void SysTick_Handler(void) { ticks++; }
APART void work(void) { for (uint32_t i = 0; i < 60; i++) sink += i; }
void run(void)
{
    REGISTER(0xE000E014) = 11999; REGISTER(0xE000E018) = 0; REGISTER(0xE000E010) = 7;
    for (;; round_count++) { __asm volatile("wfi"); for (uint32_t i = 0; i < 400; i++) sink += i; work(); }
}
"""


@pytest.mark.parametrize("quirk", [None, "sleep-stops"])
@pytest.mark.parametrize("claimed", [True, False])
def test_a_counter_that_sleeps_with_the_core(quirk, claimed, tmp_path):
    """A thousand calls a second, at 12 MHz. Without the clock no time is printed rather than one of the mean."""
    freq = ["--freq", "12M"] if claimed else []
    with own_place(tmp_path, "m33/swd", SLEEPS, clock=12_000_000, **({"trace_quirk": quirk} if quirk else {})) as place:
        result = survey(place, "work", "-r", 30, *ENOUGH, *freq, code=5 if quirk and not claimed else 0)
        work, clock = result.regions["work"], result.header.get("clock", {})
        if quirk and claimed:
            assert 0.05 < result.summary["awake"] < 0.6 and work["periods"]["cycles_at_least"] and work["calls_per_second"] > 1500
            assert "went on, without sleep" in unfolded(place.run("survey", "work", "-r", 30, *freq).out)
        elif quirk:
            assert "hz" not in clock and "time" not in work and "calls_per_second" not in work, (clock, work)
        else:
            assert "awake" not in result.summary and work["calls_per_second"] == pytest.approx(1000, rel=0.5)
            assert clock["hz"] == pytest.approx(12e6, rel=0.5)  # a busy machine's board lags


SLEEPS_INSIDE = START + r"""
static volatile uint32_t ticks;
void SysTick_Handler(void) { ticks++; }
APART void works(void) { for (uint32_t i = 0; i < 30; i++) sink += i; }
APART void waits(void) { works(); __asm volatile("wfi"); works(); }
void run(void)
{
    REGISTER(0xE000E014) = 119999; REGISTER(0xE000E018) = 0; REGISTER(0xE000E010) = 7;
    for (;; round_count++) waits();
}
"""


@pytest.mark.any_row(1)
@pytest.mark.parametrize("way", ["m33/swd", "m4/swd"])
@pytest.mark.parametrize("quirk", [None, "sleep-stops"])
def test_a_time_of_what_sleeps_inside(quirk, way, tmp_path):
    """10 ms a call. A counter that sleeps, too, gives no time of it and keeps no budget; an overrun that it shows is one."""
    regions = tmp_path / "regions"
    regions.write_text("waits waits max <= 1 ms\nworks works max <= 1 ms\n")
    least = tmp_path / "least"
    least.write_text("waits waits max <= 10 us\n")
    freq = ["--freq", "12M"]
    with own_place(tmp_path, way, SLEEPS_INSIDE, clock=12_000_000, **({"trace_quirk": quirk} if quirk else {})) as place:
        for budget, code in (("1ms", 5 if quirk else 1), ("10us", 1), ("5000", 0 if quirk else 1), ("1s", 5 if quirk else 0)):
            result = place.run("guard", "waits", "--budget", budget, "--for", "500ms", *freq)
            assert result.code == code, (budget, result.out, result.err)
            assert quirk is None or "s (" not in result.out.rpartition("cycle match")[2], result.out
        found = survey(place, "--regions", regions, "--check", *freq, code=5 if quirk else 1).regions
        assert found["waits"]["budget"]["verdict"] == ("not comparable" if quirk else "regressed"), found
        assert found["works"]["budget"]["verdict"] == "pass" and "time" in found["works"], found
        assert survey(place, "--regions", least, "--check", *freq, code=1).summary["verdict"] == "regressed"
        summary = place.delta("waits", "-r", 20, *freq).summary
        assert ("time" in summary) == (quirk is None) == ("clock_change" not in summary), summary
        assert quirk or summary["time"]["mean"] == pytest.approx(0.01, rel=0.1)


def test_a_function_that_was_not_called_was_waited_for():
    """Arming is not waiting: on a slow link it takes longer than a slice."""
    with Place("m4", "free", WORK_BY_DATA) as place:
        result = survey(place, "never_*", "span_10", "work_by_data", "--for", "1s")
        for name in ("never_called", "span_10"):
            region = result.regions[name]
            assert not region["reached"] and (region.get("waited_s", 0) >= 0.02 or "ended before its turn" in region["why"]), region
        text = place.run("survey", "never_called", "work_by_data").out
        waited = re.search(r"never_called +not called in its ([0-9.]+) s", text)
        assert waited and float(waited[1]) >= 0.25, text


def test_events_are_those_of_delta():
    with Place("m55/swd", "free", CALLED_TWICE) as place:
        result = survey(place, "caller_*", "-e", "INST_RETIRED,LD_RETIRED", "-M", "CPI", "-r", 10, *ENOUGH)
        assert result.header["columns"][:3] == ["CPU_CYCLES", "INST_RETIRED", "LD_RETIRED"]
        one = place.delta("caller_one", "-e", "INST_RETIRED", "-r", 10)
        region = result.regions["caller_one"]
        cycles, instructions = region["columns"]["CPU_CYCLES"], region["columns"]["INST_RETIRED"]
        assert instructions["min"] == instructions["max"] == one.summary["columns"]["INST_RETIRED"]["median"] > 0
        assert region["metrics"]["CPI"] == pytest.approx(cycles["mean"] / instructions["mean"])
        text = place.run("survey", "caller_*", "-e", "INST_RETIRED", "-M", "CPI", "-r", 10, *ENOUGH).out
        assert "\nINST_RETIRED\nregion" in text and "CPI" in text


def test_the_hottest_are_found_by_samples():
    with Place("m4/swd", "free", 0) as place:
        place.board.write_word("shares", 1)
        before = snapshot(place)
        result = survey(place, "--hot", 2, "-r", 10, *ENOUGH)
        assert list(result.regions) == ["cycles_60", "cycles_30"]
        assert result.regions["cycles_60"]["share"] > result.regions["cycles_30"]["share"]
        assert_runs(place)
        assert snapshot(place) == before


def executed_by_function(place, profile, names):
    """The part of all cycles that each function's own code took, by the board."""
    return dict(sorted(shares_of(profile, place, names).items(), key=lambda item: -item[1]))


@pytest.mark.any_row(1)
@pytest.mark.parametrize("way", ["m4/swd", "rp2040", "a9/swd", "gdb"])
def test_the_hottest_of_all_come_first(way):
    """Of all functions of a program, of which most are not called, in any order of the ELF: those that take most of the time are in it,
    however short it is, and first but for shares that are not known. A GDB server shows no running core: it is halted now and then."""
    with GdbPlace("m4", "free") if way == "gdb" else Place(way, "free") as place:
        if way == "gdb":  # what OpenOCD sets up at its first breakpoint is its own: it never switches the FPB off again
            place.server("halt; bp 0x100 2 hw; rbp 0x100; resume")
        before = snapshot(place)
        assert way != "gdb" or before["fp_ctrl"] & 1
        place.board.command("profile on")
        result = survey(place, "*", "--for", "10s")
        truth = executed_by_function(place, place.board.command("profile")["cores"][0], result.regions)
        hottest, share = next(iter(truth.items()))
        rows = list(result.regions.values())
        place_of = list(result.regions).index(hottest)
        others = rows[:place_of] + rows[place_of + 1:]
        # On a busy machine a few hits may make no share, or one of which the row itself says that it may be far less
        few = rows[place_of].get("hits", 0) < 6
        assert few or abs(rows[place_of]["share"] - share) < 0.05, (rows[place_of], share)
        assert few or all(row["share"] - row["share_plus_minus"] < share / 2 for row in rows[:place_of]), (rows[:place_of + 1], share)
        sampled = {name: region.get("samples", 0) for name, region in result.regions.items()}
        assert max(sampled, key=sampled.get) == hottest and 0 < sum(sampled.values()) <= result.summary["samples"]
        assert any(region["reached"] for region in others) and sum(count > 0 for count in sampled.values()) < len(sampled)
        assert all(region["why"] for region in result.regions.values() if region.get("no_turn"))
        assert_runs(place)
        assert snapshot(place) == before


MANY = START + "".join(f"APART uint32_t f{i}(uint32_t x) {{ for (uint32_t n = {300 if i % 150 == 75 else 3}; n; n--) __asm volatile(\"nop\"); return x + {i}; }}\n"
                       for i in range(1500))
MANY += "void run(void) { for (;; round_count++) {" + "".join(f" sink += f{i}(sink);" for i in range(0, 1500, 75)) + " } }\n"


def test_a_large_firmware_shows_its_hottest_functions_soon(tmp_path):
    """Without a word of the time there are ten rows or so, and what all the others would take."""
    with own_place(tmp_path, "m4/swd", MANY) as place:
        result = survey(place, "*")
        reached = [name for name, region in result.regions.items() if region["reached"]]
        hot = {f"f{i}" for i in range(75, 1500, 150)}
        assert len(result.regions) > 1500 and set(reached) & hot and len(reached) < 100, reached
        for name in set(reached) & hot:
            cycles = result.regions[name]["columns"]["CPU_CYCLES"]
            assert cycles["min"] == cycles["max"] == place.delta(name, "-r", 1).cycles[0]
        left = [name for name, region in result.regions.items() if region.get("no_turn")]
        assert len(left) > 1000 and result.summary["rest_s"] == len(left)
        shown = place.run("survey", "f*").out
        said = " ".join(shown.split())
        assert re.search(r"\d+ of 1,500 measured, the hottest first; the others would take about \d\d min \(--for\)", said), shown
        assert re.search(r"no time for: (f\d+, ){10}and 1,\d\d\d more \(-j\)", said) and len(shown.splitlines()) < 60, shown


def test_a_program_that_cannot_be_sampled_is_measured_in_order():
    with Place("r5/swd", "free", CALLED_TWICE) as place:
        result = survey(place, "c*", "never_called", "*_round", "*_second", "-r", 3, "--for", "2s")
        assert "no PC sample register" in result.summary["not_sampled"] and "samples" not in result.summary
        assert all("samples" not in region for region in result.regions.values()) and result.regions["caller_one"]["reached"]


def test_a_few_functions_are_not_sampled():
    """Nor those of a file, or what is compared with a baseline."""
    with Place("m4/swd", "free", CALLED_TWICE) as place:
        summary = survey(place, "call*", "-r", 3, *ENOUGH).summary
        assert "samples" not in summary and "not_sampled" not in summary


def test_through_a_gdb_server():
    """It does not get several breakpoints to wait at: each function has its own slice."""
    with GdbPlace("m4", "free", CALLED_TWICE) as place:
        result = survey(place, "caller_*", "-r", 3, *ENOUGH)
        for name in ALWAYS_THE_SAME:
            cycles = result.regions[name]["columns"]["CPU_CYCLES"]
            assert cycles["min"] == cycles["max"] and cycles["count"] >= 3
        hot = place.run("survey", "--hot", 2, *ENOUGH)
        assert hot.code == 2 and "--hot needs OpenOCD's Tcl port" in unfolded(hot.err), hot.out + hot.err


def test_ctrl_c_ends_it_with_what_there_is():
    with Place("m4/swd", "free", CALLED_TWICE) as place:
        before = snapshot(place)
        process = place.start("survey", "caller_*", "never_called", *ENOUGH)
        place.wait_for_stops(100)
        result = finish_tool(process, signal.SIGINT)
        text = unfolded(result.out)
        assert result.code == INTERRUPTED and "it ended early: Ctrl-C" in text, text
        assert "caller_one" in text and re.search("never_called (not called|<not measured>: the survey ended before its turn)", " ".join(text.split())), text
        assert_runs(place)
        assert snapshot(place) == before


def test_a_reset_ends_it_with_what_there_is():
    with Place("m4/swd", "free", CALLED_TWICE) as place:
        process = place.start("survey", "caller_*", "never_called", *ENOUGH)
        place.wait_for_stops(100)
        place.board.command("reset")
        result = finish_tool(process)
        assert result.code == 3 and "reset" in result.err
        assert "it ended early: the target was reset" in unfolded(result.out) and "caller_one" in result.out
        place.set_scenario(CALLED_TWICE)
        assert place.delta("caller_one", "-r", 3).cycles == [76] * 3


def test_a_handler_is_a_function_too():
    """Its ticks follow the board's clock, which runs on in halts."""
    with Place("m4/swd", "tick", WORK_BY_DATA) as place:
        result = survey(place, "SysTick_*", "work_by_data", "-r", 5, *ENOUGH)
        truth = {p.cycles for p in passages(place.board.log(), place.symbol("SysTick_Handler"), left_handler)}
        cycles = result.regions["SysTick_Handler"]["columns"]["CPU_CYCLES"]
        assert cycles["count"] >= 5 and {cycles["min"], cycles["median"], cycles["max"]} <= truth


def test_what_is_refused():
    with Place("m4/swd", "free", 0) as place:
        for args, words in [((), "needs a PATTERN"), (("nosuch_*",), 'no function matches "nosuch_*"'),
                            (("never_called", "--hot", "3"), "give one of PATTERN, --hot and --regions"), (("main+2",), "not the entry"),
                            (("never_called", "--timeout", "3s"), "longer with --for")]:
            result = place.run("survey", *args)
            assert result.code == 2 and words in unfolded(result.err), result.err


# --- region files and baselines

def region_file(folder, *lines):
    path = folder / "pmu-probe.regions"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_budgets_are_checked(tmp_path):
    """76 and 136 cycles are what the two functions take, always."""
    with Place("m4/swd", "free", CALLED_TWICE) as place:
        good = region_file(tmp_path, "# the contract", "one caller_one <= 76 cycles -r 700", "two caller_two <= 12 us",
                           '"between them" caller_one caller_two  mean <= 90 cycles')
        result = survey(place, "--regions", good, "--check", "-r", 20, *ENOUGH)
        assert result.summary["verdict"] == "pass"
        assert {name: region["budget"]["verdict"] for name, region in result.regions.items()} == dict.fromkeys(result.regions, "pass")
        assert result.regions["one"]["hits"] >= 700 and result.regions["between them"]["region"]["end"] == "caller_two"
        truth = [p.cycles for p in passages(place.board.log(), place.symbol("caller_one"), at(place.symbol("caller_two")))]
        cycles = result.regions["between them"]["columns"]["CPU_CYCLES"]
        assert cycles["min"] == cycles["max"] == min(truth) and truth.count(cycles["min"]) >= 20

        tight = region_file(tmp_path, "one caller_one <= 75 cycles", "two caller_two <= 137 cycles", "three caller_two")
        result = survey(place, "--regions", tight, "--check", "-r", 20, *ENOUGH, code=1)
        assert result.summary["verdict"] == "regressed" and result.regions["one"]["budget"]["verdict"] == "regressed"
        assert result.regions["two"]["budget"]["verdict"] == "pass" and "budget" not in result.regions["three"]
        assert survey(place, "--regions", tight, "-r", 20, *ENOUGH).regions["one"]["reached"]  # without --check
        text = place.run("survey", "--regions", tight, "--check", "-r", 20, *ENOUGH)
        assert text.code == 1 and "one: max <= 75 cycles: 76 cycles: over the budget" in text.out
        page = place.run("survey", "--regions", tight, "--check", "-r", 20, "--format", "markdown", *ENOUGH)
        assert page.code == 1 and page.out.count("\n|:--|") == 1 and "**over the budget**" in page.out


def test_what_is_not_reached_is_not_within_its_budget(tmp_path):
    with Place("m4/swd", "free", 0) as place:
        path = region_file(tmp_path, "never never_called <= 1 s", "start Reset_Handler <= 1 s")
        result = place.run("survey", "--regions", path, "--check", "--for", "300ms")
        assert result.code == 3 and "not reached" in result.out and "noreturn" in unfolded(result.out)


def test_errors_of_a_region_file_name_its_line(tmp_path):
    with Place("m4/swd", "free", 0) as place:
        for lines, words in [(("# one", "fir no_such_function"), "pmu-probe.regions:2: no symbol"),
                             (("fir main+2",), "pmu-probe.regions:1: main+2 is not the entry"), (("fir main <= 3",), "regions:1: after <=")]:
            result = place.run("survey", "--regions", region_file(tmp_path, *lines))
            assert result.code == 2 and words in unfolded(result.err), result.err
        for args, words in [(("--check",), "--check needs --regions"), (("main", "--threshold", "2%"), "needs --baseline FILE"),
                            (("main", "--regions", tmp_path / "none"), "give one of PATTERN, --hot and --regions"), (("--regions", tmp_path / "none"), "No such file")]:
            result = place.run("survey", *args)
            assert result.code == 2 and words in unfolded(result.err), result.err


def test_a_first_file_is_made_of_what_was_seen(tmp_path):
    with Place("m4/swd", "free", CALLED_TWICE) as place:
        path = tmp_path / "new.regions"
        survey(place, "caller_*", "called_twice", "-r", 20, "--write-regions", path, *ENOUGH)
        lines = [line.split() for line in path.read_text().splitlines() if not line.startswith("#")]
        assert {line[0]: float(line[4]) for line in lines} == {"caller_one": 84, "caller_two": 150, "called_twice": 140}
        assert survey(place, "--regions", path, "--check", "-r", 20, *ENOUGH).summary["verdict"] == "pass"
        again = place.run("survey", "caller_*", "--write-regions", path)
        assert again.code == 2 and "replaces no file" in again.err
        none = tmp_path / "none.regions"
        assert place.run("survey", "never_called", "--for", "100ms", "--write-regions", none).code == 3
        assert not none.exists()


def test_a_planted_regression_is_found_and_named(tmp_path):
    """The slower build has a NOP more in one function. The same build again has no regression."""
    names = ["caller_*", "nop_more"]
    for mode, code in (("free", None), ("free", 0), ("slower", 1)):
        with Place("m4/swd", mode, CALLED_TWICE | NOP_MORE) as place:
            output = tmp_path / "base.jsonl"
            if code is None:
                assert place.run("survey", *names, "-r", 30, "-j", "-o", output, *ENOUGH).code == 0
                continue
            result = survey(place, *names, "-r", 30, "--baseline", output, *ENOUGH, code=code)
            verdicts = {line["region"]["start"]: line for line in result.lines if line["type"] == "verdict"}
            assert sorted(verdicts) == ["caller_one", "caller_two", "nop_more"]
            slower = [name for name, line in verdicts.items() if line["verdict"] == "regressed"]
            assert slower == (["nop_more"] if code else [])
            if code:
                text = place.run("survey", *names, "-r", 30, "--baseline", output, *ENOUGH)
                assert text.code == 1 and re.search(r"nop_more: CPU_CYCLES: \S+ -> \S+ \S+ %: regressed \(threshold 0 %\)", unfolded(text.out))
                new = tmp_path / "new.jsonl"
                place.run("survey", *names, "-r", 30, "--baseline", output, "-j", "-o", new, *ENOUGH)
                both = run_tool("compare", output, new, "-j")
                before = [json.loads(line) for line in new.read_text().splitlines()]
                before = {line["region"]["start"]: line["columns"] for line in before if line["type"] == "verdict"}
                assert {line["region"]["start"]: line["columns"] for line in both.lines if line["type"] == "verdict"} == before
                assert both.code == 1


NAMES_OF_ONE = START + r"""
#define BURN(n) for (uint32_t i = 0; i < (n); i++) sink += i
APART void first_a(uint32_t k) { BURN(k); }
void first_b(uint32_t k) __attribute__((alias("first_a")));
void run(void) { for (;; round_count++) { first_a(3); first_b(3); BURN(20); } }
"""


def test_names_of_one_code_are_said_however_it_was_chosen(tmp_path):
    """By a name or a pattern, by survey or lines."""
    with own_place(tmp_path, "m4/swd", NAMES_OF_ONE) as place:
        for words in (("survey", "first_b"), ("survey", "first_*"), ("lines", "first_b", "-r", 3), ("guard", "first_b", "--budget", "100000", "--for", "200ms")):
            result = place.run(*words)
            assert "the same code as first_" in unfolded(result.out), (words, result.out, result.err)


MUTUAL = START + r"""
#define BURN(n) for (uint32_t i = 0; i < (n); i++) sink += i
uint32_t g(uint32_t k);
APART uint32_t f(uint32_t k) { BURN(5); uint32_t s = 0; if (k > 0) { s += g(k - 1); s += g(k - 1); } return s + 1; }
APART uint32_t g(uint32_t k) { uint32_t s = f(k); BURN(2); return s; }
APART uint32_t alone(uint32_t k) { BURN(5); return k > 0 ? alone(k - 1) + 1 : 1; }
void run(void) { for (;; round_count++) { f(4); alone(3); BURN(30); } }
"""


def test_a_turn_that_begins_within_a_call_passes_no_budget(tmp_path):
    (tmp_path / "regions").write_text("f f max <= 1000000 cycles\nalone alone max <= 1000000 cycles\n")
    with own_place(tmp_path, "m4/swd", MUTUAL, clock=12_000_000) as place:
        result = place.run("survey", "-j", "--regions", tmp_path / "regions", "--check", "--for", "1s")
        rows = {line["region"]["start"]: line for line in result.lines if line["type"] == "region"}
        assert result.code == 4 and rows["f"]["doubt"].count("counts inner calls") == 1, (result.err, result.lines)
        assert [rows[name]["budget"]["verdict"] for name in ("f", "alone")] == ["inconclusive", "pass"]
        assert "doubt" not in rows["alone"]

"""`survey`: many functions in one run. Each number is the board's truth and what `delta` prints of the same function, shares
are those of the board, what is not called is not printed as reached, and the target is as it was."""
import signal

import pytest

from gdb_place import GdbPlace
from harness import (CALLED_TWICE, IN_RAM, NOWHERE, RECURSE, SOAK, WORK_BY_DATA, Place, finish_tool, passages, returned,
                     unfolded, wait_for)
from test_restore import assert_runs, snapshot

WAYS = ["m4/swd", "m4", "rp2040/swd", "rp2040", "m55/swd", "rp2040/v2"]
BITS = WORK_BY_DATA | CALLED_TWICE | RECURSE | IN_RAM
CALLED = ["work_by_data", "called_twice", "caller_one", "caller_two", "recurse", "in_ram"]
ALWAYS_THE_SAME = ["caller_one", "caller_two"]
NEVER = ["never_called", "span_10", "sleeper"]
HITS = 100 if SOAK else 20
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
    """A summary of some of the board's passages: each turn may end inside one more, which no hit is made of."""
    truth = sorted(passage.cycles for passage in passages(log, place.symbol(region["name"]), returned))
    cycles = region["columns"]["CPU_CYCLES"]
    n, more = cycles["count"], len(truth) - cycles["count"]
    assert n == region["hits"] and region["tainted"] == 0
    assert 0 <= more <= n // 2, f"{region['name']}: {len(truth)} passages, {n} hits"
    for value, rank in ((cycles["min"], 0), (cycles["median"], (n - 1) // 2), (cycles["max"], n - 1)):
        assert value in truth and truth[rank] <= value <= truth[rank + more], region["name"]
    assert cycles["plus_minus"] == 0


@pytest.mark.any_row(2)
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


@pytest.mark.parametrize("way", ["m4/swd", "rp2040"])
def test_what_is_not_called_is_not_reached(way):
    with Place(way, "free", WORK_BY_DATA) as place:
        result = survey(place, "work_by_data", *NEVER, "Reset_Handler", "main", "--for", "3s")
        for name in NEVER:
            assert result.regions[name] == {"type": "region", "name": name, "reached": False}
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


@pytest.mark.parametrize("way", ["m4/swd", "rp2040/swd"])
def test_shares_are_those_of_the_board(way):
    """Of functions that call nothing: what the board spent in their code. Their calls are far apart for a host that is busy,
    so many of them are wanted."""
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
            assert region["share_plus_minus"] < 0.02
            periods = region["periods"]
            rate = periods["count"] / periods["cycles"] * result.header["clock"]["hz"]
            assert region["calls_per_second"] == pytest.approx(rate)
            assert periods["count"] > 40


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
        assert "\nINST_RETIRED\nfunction" in text and "CPI" in text


def test_the_hottest_are_found_by_samples():
    with Place("m4/swd", "free", 0) as place:
        place.board.write_word("shares", 1)
        before = snapshot(place)
        result = survey(place, "--hot", 2, "-r", 10, *ENOUGH)
        assert list(result.regions) == ["cycles_60", "cycles_30"]
        assert result.regions["cycles_60"]["share"] > result.regions["cycles_30"]["share"]
        assert_runs(place)
        assert snapshot(place) == before


def test_through_a_gdb_server():
    """It is given no several breakpoints to wait at: each function has a slice of its own."""
    with GdbPlace("m4", "free", CALLED_TWICE) as place:
        result = survey(place, "caller_*", "-r", 3, *ENOUGH)
        for name in ALWAYS_THE_SAME:
            cycles = result.regions[name]["columns"]["CPU_CYCLES"]
            assert cycles["min"] == cycles["max"] and cycles["count"] >= 3


def test_ctrl_c_ends_it_with_what_there_is():
    with Place("m4/swd", "free", CALLED_TWICE) as place:
        before = snapshot(place)
        process = place.start("survey", "caller_*", "never_called", *ENOUGH)
        place.wait_for_stops(100)
        result = finish_tool(process, signal.SIGINT)
        text = unfolded(result.out)
        assert result.code == 0 and "it ended early: Ctrl-C" in text, text
        assert "caller_one" in text and "never_called <not reached>" in " ".join(text.split())
        assert_runs(place)
        assert snapshot(place) == before


def test_what_is_refused():
    with Place("m4/swd", "free", 0) as place:
        for args, words in [((), "needs a PATTERN"), (("nosuch_*",), 'no function matches "nosuch_*"'),
                            (("never_called", "--hot", "3"), "leave one of them out"), (("main+2",), "not the entry"),
                            (("never_called", "--timeout", "3s"), "a longer --for makes them longer")]:
            result = place.run("survey", *args)
            assert result.code == 2 and words in unfolded(result.err), result.err

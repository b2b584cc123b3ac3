"""`stat` and `watch` where only the halted core reads its counters (the PMU of an R5 is in CP15): each reading halts it, all that
is counted lies between two halts and is exact, and the result says so."""
import json
import re
import signal

import pytest

from harness import NOWHERE, WORK_BY_DATA, Place, finish_tool, start_tool, unfolded
from test_application_cores import HALT, lasting
from test_pmu import modelled

pytestmark = [pytest.mark.each_value, pytest.mark.any_fifth]  # a row takes seconds

WAYS = ["r5/swd", "r5/jtag", "r5/v2", "r5"]


def looks(place, count, after=2):
    """The halts at which the counters were read; the ones before set them up, those after them read what counts depend on
    and put things back."""
    halts = [event for event in place.board.log() if event.kind == "halt"]
    assert len(halts) >= count + after
    return halts[len(halts) - after - count:len(halts) - after]


def stat(place, *args):
    place.board.watch(NOWHERE)
    result = place.run("stat", "-j", *args)
    assert result.code == 0, result.err
    return result


@pytest.mark.any_row(1)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("halt_cost", ["0", "17"])
def test_every_event_is_exact(way, halt_cost):
    with Place(way, "free", WORK_BY_DATA, halt_cost=halt_cost) as place:
        events = {name: code for name, code in modelled(place).items() if name != "CPU_CYCLES"}
        assert len(events) >= 6
        names = sorted(events)
        for group in (names[i:i + 3] for i in range(0, len(names), 3)):
            result = stat(place, "--for", "0.2s", "-e", ",".join(group))
            first, last = looks(place, 2)
            columns = result.summary["columns"]
            assert columns["CPU_CYCLES"]["count"] == last.counted - first.counted > 1000
            assert last.counted - first.counted == last.cycles - first.cycles + int(halt_cost)
            for name in group:
                assert columns[name]["count"] == last.counts[events[name]] - first.counts[events[name]], name
            assert result.summary["halts"] == 2 and result.summary["halted_us"] > 0


@pytest.mark.parametrize("way", ["r5/swd", "r5"])
def test_an_interval_takes_a_look_and_all_of_them_the_whole(way):
    with Place(way, "free", WORK_BY_DATA) as place:
        result = stat(place, "--for", "1s", "-I", 200, "-e", "LD_RETIRED")
        samples = [line for line in result.lines if line["type"] == "sample"]
        assert result.summary["halts"] == len(samples) + 1 > 2
        seen = looks(place, len(samples) + 1)
        for line, begin, end in zip(samples, seen, seen[1:]):
            assert line["columns"]["CPU_CYCLES"]["count"] == end.cycles - begin.cycles
            assert line["columns"]["LD_RETIRED"]["count"] == end.counts[0x06] - begin.counts[0x06]
        assert result.summary["columns"]["CPU_CYCLES"]["count"] == seen[-1].cycles - seen[0].cycles


@pytest.mark.parametrize("way", ["r5/swd", "r5"])
def test_watch_takes_looks_too(way):
    with Place(way, "free", WORK_BY_DATA) as place:
        place.board.watch(NOWHERE)
        result = place.run("watch", "-j", "--for", "0.6s", "-I", 200)
        assert result.code == 0, result.err
        samples = [line for line in result.lines if line["type"] == "sample"]
        seen = looks(place, sum(line["samples"] for line in samples) + 1)
        assert result.summary["columns"]["CPU_CYCLES"]["count"] == seen[-1].cycles - seen[0].cycles
        assert sum(line["samples"] for line in samples) == len(samples), "no look that nobody asked for"


def test_it_is_said_in_each_format():
    with Place("r5/swd", "free", WORK_BY_DATA) as place:
        text = place.run("stat", "--for", "0.2s")
        assert "the core is halted briefly" in unfolded(text.out) and "the core was halted 2 times (" in unfolded(text.out)
        assert "the core is halted briefly" in stat(place, "--for", "0.1s").header["note"]
        csv = place.run("stat", "--for", "0.1s", "-x", ",")
        assert csv.out.count("\n") == 2 and "halted 2 times" in csv.err
        assert place.run("stat", "--for", "0.1s", "-x", ",", "-q").err == ""
        assert "the core is halted briefly" in unfolded(place.run("watch", "--for", "0.1s").out)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("command", ["stat", "watch"])
@pytest.mark.parametrize("how", ["done", "interrupted"])
def test_everything_is_put_back(way, command, how):
    with Place(way, "free", WORK_BY_DATA) as place:
        place.run("info")  # what an examination does to sticky bits is done
        before = lasting(place)
        if how == "done":
            assert place.run(command, "--for", "0.2s").code == 0
        else:
            tool = place.start(command)
            place.wait_for_stops(2)
            result = finish_tool(tool, signal.SIGINT)
            assert result.code in (0, 3), result.err
        assert lasting(place) == before
        assert place.board.state()["run"] == "running"


@pytest.mark.parametrize("how", ["INT", "TERM"])
def test_a_long_window_ends_when_it_is_told_to(how):
    with Place("r5/swd", "free", WORK_BY_DATA) as place:
        tool = place.start("stat", "-j")
        place.wait_for_stops(4)
        result = finish_tool(tool, getattr(signal, f"SIG{how}"))
        if result.summary is not None and "halts" in result.summary:
            first, last = looks(place, 2)
            assert result.summary["columns"]["CPU_CYCLES"]["count"] == last.cycles - first.cycles
        assert place.board.state()["run"] == "running"


def test_a_core_that_was_halted_stays_so():
    with Place("r5/swd", "free", WORK_BY_DATA) as place:
        server = place.start_server()
        server("poll off")
        for address, value in HALT["r5"]:
            server(f"r5.apb mww {address:#x} {value:#x}")
        server.kill()
        refused = place.run("stat", "--for", "0.1s")
        assert refused.code == 3 and "halted" in refused.err and place.board.state()["run"] == "halted"
        resumed = place.run("stat", "--for", "0.1s", "--resume")
        assert resumed.code == 0 and place.board.state()["run"] == "halted", resumed.err


@pytest.mark.parametrize("way", ["m4", "rp2040", "a9", "a53"])
@pytest.mark.parametrize("command", ["stat", "watch"])
def test_a_halt_ends_what_halts_no_core(command, way):
    with Place(way, "free", WORK_BY_DATA) as place:
        tool = start_tool(place.words(command, "-j", "-I", 100, "--for", "60s"))
        lines = [json.loads(tool.stdout.readline())]
        while not lines[-1].get("columns") or lines[-1]["type"] != "sample":
            lines.append(json.loads(tool.stdout.readline()))
        place.server("halt")
        result = finish_tool(tool)
        said = result.err.split("\n")[0]
        assert result.code == 3 and said.count(" at ") == 1, result.err
        assert re.search(r"halted by someone else at|another client of OpenOCD at \S+ halted the core", said), result.err
        assert place.board.state()["run"] == "halted"
        assert command == "watch" or result.out.splitlines()[-1].startswith('{"type":"summary"')


@pytest.mark.parametrize("command", ["stat", "watch"])
def test_a_stop_of_somebody_else_s_ends_it(command):
    """The tool prints the counts up to there, and leaves the core to the debugger that stopped it."""
    with Place("r5", "free", WORK_BY_DATA) as place:
        place.board.watch(NOWHERE)
        tool = start_tool(place.words(command, "-j", "-I", 100))
        lines = [json.loads(tool.stdout.readline())]
        while not lines[-1].get("columns") or lines[-1]["type"] != "sample":
            lines.append(json.loads(tool.stdout.readline()))
        place.server("r5.apb mww 0x80001090 1")
        result = finish_tool(tool)
        assert result.code == 3 and "halted by someone else at" in result.err, result.err
        state = place.board.state()
        assert state["run"] == "halted"
        if command == "stat":
            halts = [event for event in place.board.log() if event.kind == "halt"]
            first = halts[-result.summary["halts"]]
            assert result.summary["columns"]["CPU_CYCLES"]["count"] == halts[-1].cycles - first.cycles


@pytest.mark.parametrize("way", ["r5/swd", "r5"])
@pytest.mark.parametrize("command", ["stat", "watch"])
def test_a_reset_is_no_number(way, command):
    """If the core ran when the reset occurred, `watch` goes on."""
    with Place(way, "free", WORK_BY_DATA) as place:
        tool = place.start(command, "-I", 100, "--for", "3s" if command == "watch" else "60s")
        place.wait_for_stops(8)
        place.board.command("reset")
        result = finish_tool(tool)
        goes_on = command == "watch" and result.code == 0
        assert "the target was reset; totals go on" in result.out if goes_on else result.code == 3 and "reset" in result.err, result.err

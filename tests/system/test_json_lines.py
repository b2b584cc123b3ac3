"""-j of the commands that measure nothing, and of watch: a header, what the text says, a summary."""
import re
import signal

import pytest

from harness import NOWHERE, WORK_BY_DATA, Place, finish_tool, run_tool, start_tool
from gdb_place import GdbPlace


def lines_of(result, command):
    assert result.code == 0, result.err
    header, *rest, last = result.lines
    assert header["schema"] == "pmu-probe/1" and header["type"] == "header" and header["command"] == command
    assert last["type"] == "summary" and all(line["type"] not in ("header", "summary") for line in rest)
    return rest, last


@pytest.mark.parametrize("way", ["m4/swd", "a9/swd", "rp2040"])
def test_what_the_text_says_the_lines_say(way):
    with Place(way, "free", WORK_BY_DATA) as place:
        rest, last = lines_of(place.run("info", "-j"), "info")
        text = place.run("info").out
        folded = " ".join(text.split())
        cores = [line for line in rest if line["type"] == "core"]
        assert last["cores"] == len(cores) == text.count("\ncore ") and last["clock"]["hz"] == 12_000_000
        for core in cores:
            assert f"core {core['number']}   {core['name']}" in text
            for block in core["counters"]:
                assert block["text"] in folded and block["state"] in folded
        buses = [line for line in rest if line["type"] == "bus"]
        assert (len(buses) > 0) == (way == "a9/swd")
        for bus in buses:
            assert {component["core"] for component in bus["components"] if "core" in component} == {0, 1}
            assert all(component["name"] in text for component in bus["components"])
        rest, last = lines_of(place.run("list", "-j", elf=False), "list")
        text = place.run("list", elf=False).out
        events = [line for line in rest if line["type"] == "event"]
        assert last["events"] == len(events) == len(re.findall(r"^  (?:0x\w{4}|-)  ", text, re.M))
        assert all(event["name"] in text for event in events)
        rest, last = lines_of(place.run("doctor", "-j"), "doctor")
        text = place.run("doctor").out
        assert last == {"type": "summary", "healthy": True} and rest[0]["type"] == "core" and rest[0]["name"] in text
        assert all(test["finding"] == "ok" and test["name"] in text for test in rest if test["type"] == "test")
        counter = next(line for line in rest if line["type"] == "counter")
        assert counter["type"] == "counter" and counter["name"] == "CPU_CYCLES" and counter["moves"]
        rest, last = lines_of(place.run("probes", "-j", elf=False), "probes")
        assert rest[0]["type"] == "link" and rest[0]["targets"]
        place.halt()
        core = next(line for line in place.run("info", "-j").lines if line["type"] == "core")
        assert core["state"] == "halted" and re.fullmatch(r"0x[0-9a-f]{8}", core["halted_at"]["address"])


def test_one_core_of_two():
    with Place("a9/swd", "free", WORK_BY_DATA) as place:
        assert re.findall(r"^core (\d)", place.run("info", "-C", 1).out, re.M) == ["1"]
        rest, last = lines_of(place.run("info", "-j", "-C", 1), "info")
        assert last["cores"] == 1 and [line["number"] for line in rest if line["type"] == "core"] == [1]


def test_a_locked_core_is_told_and_mended():
    with Place("a53/swd", "free", WORK_BY_DATA) as place:
        found = place.run("doctor", "-j")
        last = found.lines[-1]
        assert found.code != 0 and not last["healthy"] and last["mendable"] and not last["mended"] and "OS lock" in last["reason"]
        assert any(line["finding"] == "bad" for line in found.lines if line["type"] == "test")
        assert place.run("doctor", "-j", "--mend").lines[-1]["mended"]
        assert place.run("doctor", "-j").lines[-1]["healthy"]


def test_what_a_halt_adds():
    with Place("m4/swd", "free", WORK_BY_DATA, halt_cost=7) as place:
        result = place.run("doctor", "-j", "work_by_data")
        assert result.code == 0 and list(result.summary["columns"]) == ["CPU_CYCLES"] and result.summary["healthy"]
        column = result.summary["columns"]["CPU_CYCLES"]
        assert column["calibrated"] and column["overhead"] == column["min"] == column["max"] == 7 and column["rehits"] > 8


def test_ways_through_a_gdb_server():
    with GdbPlace("m4", "free", WORK_BY_DATA) as place:
        rest, _ = lines_of(place.run("info", "-j"), "info")
        used = [line for line in rest if line["type"] == "access" and line["used"]]
        core = next(line for line in rest if line["type"] == "core")
        assert len(used) == 1 and used[0]["way"] == "memory" and core["state"] == "halted by the debugger"


def test_without_a_target():
    rest, last = lines_of(run_tool("list", "--cpu", "cortex-a9", "refill", "-j"), "list")
    events = [line for line in rest if line["type"] == "event"]
    assert {"of": "cortex-a9", "type": "event", "name": "L1D_CACHE_REFILL", "code": 3, "words": "L1 data cache misses"} in events
    assert last["events"] == len(events) and any(line["type"] == "metric" and line["name"] == "L1D_MISS" for line in rest)
    error = run_tool("-p", "openocd:127.0.0.1:1", "info", "-j")
    assert error.code == 3 and error.out == "" and "nothing listens" in error.err


@pytest.mark.parametrize("ended", ["done", "interrupted"])
def test_watch_has_a_header_and_a_summary(ended):
    with Place("a53/swd", "free", WORK_BY_DATA) as place:
        words = place.words("watch", "-j", "-I", "100ms", "-M", "CPI,IPC", *(["--for", "600ms"] if ended == "done" else []))
        process = start_tool(words)
        if ended == "interrupted":
            while '"sample"' not in process.stdout.readline():
                pass
            process.send_signal(signal.SIGINT)
            rest = process.stdout.read().splitlines()
            assert process.wait() == 0 and '"type":"summary"' in rest[-1]
            return
        result = finish_tool(process)
        header, *samples, last = result.lines
        assert result.code == 0 and header["type"] == "header" and header["columns"] == ["CPU_CYCLES", "INST_RETIRED"]
        assert last["type"] == "summary" and {line["type"] for line in samples} == {"sample"}
        for line in [*samples, last]:
            cycles, instructions = (line["columns"][name]["count"] for name in header["columns"])
            assert line["metrics"]["CPI"] == pytest.approx(cycles / instructions) and line["metrics"]["IPC"] > 0
        for name in header["columns"]:
            assert last["columns"][name]["count"] == sum(sample["columns"][name]["count"] for sample in samples)


def test_watch_shows_metrics_in_text():
    with Place("a53/swd", "free", WORK_BY_DATA) as place:
        text = place.run("watch", "-M", "CPI", "--for", "300ms", "-I", 100).out
        figures = re.findall(r"^CPI +[\d.]+ s +~([\d.]+)$", text, re.M)
        assert figures and all(0.5 < float(figure) < 20 for figure in figures), text


def test_a_code_and_a_name_are_one_event():
    with Place("m55/swd", "free", WORK_BY_DATA) as place:
        place.board.watch(NOWHERE)
        both = place.delta("work_by_data", "-r", 3, "-e", "0x08", "-M", "CPI")
        assert both.header["columns"] == ["CPU_CYCLES", "INST_RETIRED"] and both.summary["metrics"]["CPI"] > 0
        twice = place.run("delta", "work_by_data", "-e", "0x08", "-e", "INST_RETIRED")
        assert twice.code == 2 and "INST_RETIRED is asked for twice" in twice.err


@pytest.mark.parametrize("words, says", [
    (["-e", "LSUCN"], "unknown event LSUCN; did you mean LSUCNT"), (["-e", "cpi"], "cpi is a metric: -M CPI"),
    (["-M", "lsucnt"], "lsucnt is an event: -e lsucnt"), (["-e", "instructions"], "-M INSTRUCTIONS"), (["-e", "cycles:u"], "leave :u out"),
    (["-M", "NOPE"], "unknown metric NOPE; there are: INSTRUCTIONS, CPI, IPC"),
    (["-M", "INSTRUCTION"], "did you mean INSTRUCTIONS"), (["-M", "CPI,CPI"], "given twice"), (["-M", "CPI,"], "a name is missing"),
    (["-M", "VECTORIZATION"], "these counters lack events"), (["-M", "CPI,./none.metrics"], "none.metrics cannot be read")])
def test_what_is_unknown_is_answered_by_what_is_near(words, says):
    with Place("m4/swd", "free", WORK_BY_DATA) as place:
        result = place.run("delta", "work_by_data", *words)
        assert result.code == 2 and says in result.err, result.err


def test_delta_for_a_time():
    with Place("m4/swd", "free", WORK_BY_DATA) as place:
        long = place.delta("work_by_data", "-r", 1_000_000_000, "--for", "300ms")
        assert 1 <= len(long.hits) < 1_000_000_000 and long.summary["wanted"] == 1_000_000_000
        assert len(place.delta("work_by_data", "--for", "1ms").hits) >= 1
        assert len(place.delta("work_by_data", "-r", 5, "--for", "1h").hits) == 5
        alone = place.delta("never_called", "--for", "1ms", "--timeout", "300ms", code=3)
        assert alone.hits == [] and "not reached" in alone.err


def test_list_is_for_every_core_and_says_when_nothing_matches():
    for cpu, names in (("cortex-m4", ["dwt", "CPICNT", "INSTRUCTIONS", "systick"]), ("m0plus", ["systick"]), ("Cortex-M33", ["dwt"]),
                       ("cortex-m7", ["dwt"]), ("a53", ["INST_RETIRED", "CPI ", "for -M"]), ("Cortex-A78C", ["cortex-a78c", "CNT_CYCLES"]),
                       ("n1", ["neoverse-n1", "SAMPLE_POP"]), ("r52plus", ["generic events"]), ("cortex-a725", ["generic events"])):
        listed = run_tool("list", "--cpu", cpu)
        assert listed.code == 0 and all(name in listed.out for name in names), cpu
        assert max(map(len, listed.out.splitlines())) <= 80
    assert "systick" not in run_tool("list", "--cpu", "cortex-m4", "LSU").out
    assert all(f" {name} " in run_tool("list", "--cpu", "z80").err for name in ("m0+", "a9", "x925", "neoverse-v3ae", "knc"))
    nothing = run_tool("list", "--cpu", "cortex-a9", "zzz")
    assert nothing.code == 2 and 'has "zzz"' in nothing.err and nothing.out == ""
    assert "did you mean cortex-a53" in run_tool("list", "--cpu", "cortex-a533").err

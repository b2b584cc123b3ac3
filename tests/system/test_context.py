"""Programs of an operating system: code in user mode is refused, unless the user says of which process it is. The firmware
runs one function in User mode or at EL0 for two values of CONTEXTIDR, each on its own stack, by which the board's truth
distinguishes them."""
import csv
import json
import signal

import pytest

from gdb_place import GdbPlace
from harness import INTERRUPTED, NOWHERE, WORK_BY_DATA, Place, finish_tool, passages, places, returned, run_tool, start_tool
from test_application_cores import MOVING
from test_faults import Cable
from test_record import SLOW_WIRE

pytestmark = [pytest.mark.each_value, pytest.mark.any_fifth]  # a row takes long

WAYS = ["a9/swd", "a9", "a53/swd", "a53"]
USER = 1 << 31
STACK = 256
HITS = 60
BREAKPOINTS, CONTEXTS = 6, 2  # comparators, of which the last can compare contexts
# The control register that allows halting debug, and comparators: value, control, from one to the next; an address match
DEBUG = {"a9": (0x80090088, 0x80090100, 0x80090140, 4, 0x1E7), "a53": (0x80410088, 0x80410400, 0x80410408, 16, 0x21E7)}
PMU = {"a9": 0x80091000, "a53": 0x80430000}
CNTENSET, PMCR = 0xC00, 0xE04


def user_place(way):
    """With long pauses between rounds, because the board runs far ahead of a slow host, and its log is limited."""
    place = Place(way, "free", USER)
    place.board.write_word("idle_spin", 3000)
    return place


def poke(place, *writes):
    server = place.server or place.start_server()
    for address, value in writes:
        server(f"{place.chip}.apb mww {address:#x} {value:#x}")
    if not place.server:
        server.kill()


def occupy(place, numbers):
    control, value, switch, stride, match = DEBUG[place.chip]
    unused = place.symbol("never_called")
    poke(place, (control, 0x4000), *[(base + stride * n, word) for n in numbers for base, word in ((value, unused), (switch, match))])


def context_of(place, event):
    """By the stack pointer: at its start the function has pushed nothing yet."""
    place_on_stack = event.sp - place.symbol("user_stacks")
    assert place_on_stack in (STACK, 2 * STACK)
    return place_on_stack // STACK


def compare(place, result, wanted):
    truth = passages(place.board.log(), place.symbol("user_work"), returned)
    assert len(truth) >= len(result.hits) == HITS
    for hit, passage in zip(result.hits, truth):
        assert hit["values"]["CPU_CYCLES"] == passage.cycles, hit
    assert {context_of(place, passage.begin) for passage in truth[:HITS]} == wanted


def assert_same(before, after):
    for name, value in before.items():
        if name not in MOVING | {"level", "daif"}:
            assert after[name] == value, (name, value, after[name])
    assert after["run"] == "running"


def settled(place):
    place.run("info")  # what an examination does to sticky bits is done
    return place.board.state()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("operands", [("user_work",), ("user_work", "user_work_end"), ("user_work", "user_work")])
def test_user_mode_is_refused_with_the_reason(way, operands):
    with user_place(way) as place:
        before = settled(place)
        rounds = place.board.read_word("round_count")
        result = place.run("delta", "-j", *operands)
        assert result.code == 3 and result.hits == [] and result.summary is None
        assert f"0x{place.symbol('user_work'):08X} is run in user mode" in result.err
        assert "other processes" in result.err and "--context ID" in result.err and "--context any" in result.err
        if place.chip == "a9":
            assert any(f"was 0x{context:X} at this stop" in result.err for context in (1, 2))
        assert_same(before, place.board.state())
        place.board.wait_for(lambda state: place.board.read_word("round_count") > rounds + 10)
        assert [place.board.read_word(name) for name in ("undefined_count", "abort_count")] == [0, 0]


@pytest.mark.parametrize("way", WAYS + ["a9/jtag", "a7/swd", "a53/v2"])
@pytest.mark.parametrize("context", [1, 2])
def test_one_context_is_counted_alone(way, context):
    with user_place(way) as place:
        result = place.delta("user_work", "-r", HITS, "--context", context)
        compare(place, result, {context})
        assert f"only where CONTEXTIDR is 0x{context:X}" in result.header["note"]
        again = place.delta("user_work", "user_work_end", "-r", HITS, "--context", context)
        starts = {context_of(place, event) for event in place.board.log()
                  if event.kind == "halt" and event.pc == place.symbol("user_work")}
        assert starts == {context} and len(again.hits) == HITS


@pytest.mark.parametrize("way", WAYS)
def test_any_context_counts_all(way):
    with user_place(way) as place:
        result = place.delta("user_work", "-r", HITS, "--context", "any")
        compare(place, result, {1, 2})
        assert "in any process" in result.header["note"]
        assert "a hit may begin in one process and end in another" in result.summary["doubt"]


@pytest.mark.parametrize("way", WAYS)
def test_a_context_that_no_system_keeps_proves_nothing(way):
    """The program does not write CONTEXTIDR: it stays 0."""
    with Place(way, "free", WORK_BY_DATA) as place:
        result = place.delta("work_by_data", "-r", 20, "--context", 0)
        assert "where the system does not keep CONTEXTIDR, it is 0 in every process" in result.summary["doubt"]


@pytest.mark.any_row(2)
@pytest.mark.parametrize("way", WAYS)
def test_what_is_not_proved_is_said_in_each_format(way):
    said = "a hit may begin in one process and end in another"
    with user_place(way) as place:
        lines = place.run("lines", "user_work", "-r", 5, "--context", "any", "-j")
        assert lines.code == 0 and said in lines.summary["doubt"], lines.err
        assert f"{said}\n" in place.run("lines", "user_work", "-r", 5, "--context", "any").out
        table = place.run("lines", "user_work", "-r", 5, "--context", "any", "--format", "csv")
        rows = list(csv.DictReader(table.out.splitlines()))
        assert rows and all(said in row["doubt"] for row in rows if row["hits"] != "0"), table.out
        guard = place.run("guard", "user_work", "--budget", 400000, "--for", "300ms", "--context", "any", "-j")
        assert guard.code == 0 and said in guard.lines[-1]["doubt"], (guard.err, guard.lines)


@pytest.mark.parametrize("way", WAYS)
def test_rounds_are_stepped_in_their_context(way):
    """The end is the start: each hit is a single step away from it and then a wait for it."""
    with user_place(way) as place:
        result = place.delta("user_work", "user_work", "-r", 50, "--context", 1)
        starts = [event for event in place.board.log() if event.kind == "halt" and event.pc == place.symbol("user_work")]
        assert len(result.hits) == 50 and {context_of(place, event) for event in starts} == {1}
        rounds = [b.cycles - a.cycles for a, b in zip(starts, starts[1:]) if b.cycles != a.cycles]
        assert result.cycles == rounds[:50]


@pytest.mark.parametrize("way", WAYS)
def test_privileged_code_is_not_refused_and_may_be_asked_for_by_context(way):
    with Place(way, "free", USER | WORK_BY_DATA) as place:
        place.delta("work_by_data", "-r", 20)
        place.delta("work_by_data", "-r", 20, "--context", 2)  # which it keeps until the next process runs


@pytest.mark.parametrize("way", ["a9/swd", "a9"])
def test_one_comparator_is_linked_to_another(way):
    """The one that matches the address is linked to one that matches CONTEXTIDR; no other is touched."""
    with Place(way, "free", USER | WORK_BY_DATA) as place:
        before = settled(place)
        tool = place.start("delta", "work_by_data", "-r", 100000000, "--context", 2)
        place.wait_for_stops(40)
        state = place.board.state()
        assert state["bcr"][5] == 0x3001E7 and state["bvr"][5] == 2
        assert state["bcr"][4] & ~(1 << 8 | 1 << 7) == 0x150067
        assert state["bcr"][:4] == before["bcr"][:4] and state["bvr"][:4] == before["bvr"][:4]
        assert finish_tool(tool, signal.SIGINT).code == INTERRUPTED
        assert_same(before, place.board.state())


@pytest.mark.any_row
@pytest.mark.parametrize("way, function", [("a9/swd", "user_work"), ("a9/swd", "work_by_data"), ("a53/swd", "user_work")])
def test_a_cable_pulled_anywhere(way, function):
    """The probe is plugged in again at once, and every comparator is as before."""
    with Place(way, "free", USER | WORK_BY_DATA) as place:
        cable = Cable(place.board.dap_port)
        before = settled(place)

        def run():
            place.board.watch(NOWHERE)
            words = place.words("delta", "-j", function, "-r", 3, "--context", 2)
            words[words.index("-p") + 1] = f"cmsis-dap-tcp:127.0.0.1:{cable.here}"
            return finish_tool(start_tool(words))

        whole = run()
        assert whole.code == 0 and len(whole.hits) == 3
        total = cable.packets
        assert total > 40
        for place_of_pull in places(2 * total, f"cable {way} {function}", most=15, in_soak=150):
            cable.packets, cable.pull_at = 0, place_of_pull
            result = run()
            assert result.code in (0, 3), result.err
            if result.hits:
                truth = [passage.cycles for passage in passages(place.board.log(), place.symbol(function), returned)]
                assert all(cycles in truth for cycles in result.cycles), f"pulled at {place_of_pull}"
            assert_same(before, place.board.state())
        cable.close()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("how", ["done", "interrupted", "no such context"])
def test_everything_is_put_back(way, how):
    with user_place(way) as place:
        occupy(place, [0, 5])
        before = settled(place)
        if how == "done":
            assert place.run("delta", "user_work", "-r", 20, "--context", 2).code == 0
        elif how == "interrupted":
            tool = place.start("delta", "user_work", "-r", 100000000, "--context", 2)
            place.wait_for_stops(40)
            assert finish_tool(tool, signal.SIGINT).code == INTERRUPTED
        else:
            result = place.run("delta", "user_work", "--context", 3, "--timeout", 1)
            assert result.code == 3 and "start was not reached" in result.err
        assert_same(before, place.board.state())


@pytest.mark.parametrize("way", WAYS)
def test_occupied_comparators(way):
    with user_place(way) as place:
        occupy(place, range(BREAKPOINTS - CONTEXTS, BREAKPOINTS))
        result = place.run("delta", "user_work", "--context", 2)
        assert result.code == 3 and "that can compare contexts are taken" in result.err
        assert f"0x{place.symbol('never_called'):08X}" in result.err
        assert place.run("delta", "user_work", "--context", "any", "-r", 5).code == 0
        occupy(place, range(BREAKPOINTS))
        result = place.run("delta", "user_work", "--context", "any")
        assert result.code == 3 and f"all {BREAKPOINTS} breakpoint comparators are taken" in result.err


def test_the_other_comparator_of_contexts_serves_as_well():
    for way in WAYS:
        with user_place(way) as place:
            occupy(place, [BREAKPOINTS - 1])
            compare(place, place.delta("user_work", "-r", HITS, "--context", 1), {1})


@pytest.mark.parametrize("way, source, options", [("a7/swd", "DBGPCSR", {}), ("a53/swd", "EDPCSR", {}),
                                                  ("a53/swd", "PMPCSR", {"core_state": "samples-in-monitor"})])
def test_shares_of_contexts(way, source, options, tmp_path):
    """The board adds up the cycles by the value of CONTEXTIDR. The program runs for some cycles with the one, longer with the other."""
    path = tmp_path / "p.jsonl"
    with Place(way, "free", USER, dap_wire=SLOW_WIRE, **options) as place:
        place.board.write_word("idle_spin", 10)
        rounds = place.board.read_word("round_count")
        place.board.wait_for(lambda state: place.board.read_word("round_count") > rounds + 1)
        for attempt in range(4):  # a busy machine takes samples in bunches, which are fewer than they seem
            place.board.command("profile on")
            place.record(path, samples=600, seconds=2 * (attempt + 1))
            spent = {f"0x{value:X}": cycles for value, cycles in place.board.command("profile")["cores"][0]["contexts"]}
            result = run_tool("report", "--sort", "context", path, "-j")
            assert result.code == 0, result.err
            lines = [json.loads(line) for line in result.out.splitlines()]
            assert [line["source"] for line in lines if "source" in line] == [source]
            told = {line["context"]: line for line in lines if line["type"] == "share"}
            assert set(told) == set(spent) == {"0x1", "0x2"}
            truth = {context: cycles / sum(spent.values()) for context, cycles in spent.items()}
            assert all(0.1 < part < 0.9 for part in truth.values()), truth
            if all(told[context]["samples"] > 20 and abs(told[context]["share"] - part) <= 3 * told[context]["plus_minus"]
                   for context, part in truth.items()):
                break
            assert attempt < 3, (told, truth)
        assert "looks  context" in run_tool("report", "--sort", "context", path).out


@pytest.mark.parametrize("way, words", [("a9/swd", ()), ("a53/swd", ("--every", 10000)), ("m4/swd", ())])
def test_samples_without_contexts(way, words, tmp_path):
    path = tmp_path / "p.jsonl"
    with Place(way, "free", WORK_BY_DATA) as place:
        assert place.run("record", "--for", "200ms", "-o", path, *words).code == 0
        result = run_tool("report", "--sort", "context", path)
        assert result.code == 2 and "has none" in result.err and "CONTEXTIDR" in result.err


@pytest.mark.parametrize("way", ["m4/swd", "rp2040/swd"])
def test_a_cortex_m_has_no_contexts(way):
    with Place(way, "free", WORK_BY_DATA) as place:
        result = place.run("delta", "work_by_data", "--context", 1)
        assert result.code == 2 and "CONTEXTIDR" in result.err
        assert place.board.state()["run"] == "running"


@pytest.mark.parametrize("way", ["r5/swd", "r5"])
def test_a_cortex_r_has_no_processes(way):
    with Place(way, "free", WORK_BY_DATA) as place:
        before = settled(place)
        for context in (1, "any"):
            result = place.run("delta", "work_by_data", "--context", context)
            assert result.code == 2 and "Cortex-R5" in result.err and "no MMU" in result.err
        assert_same(before, place.board.state())


def test_a_debugger_stops_in_any_context():
    with GdbPlace("a9", "free", WORK_BY_DATA) as place:
        result = place.run("delta", "work_by_data", "--context", 2)
        assert result.code == 2 and "--context: a debugger" in result.err
        assert place.run("delta", "work_by_data", "-r", 3).code == 0


@pytest.mark.parametrize("way", ["a9/swd", "a53/swd"])
def test_what_a_halt_costs_there(way):
    with user_place(way) as place:
        refused = place.run("doctor", "user_work")
        assert refused.code == 3 and "is run in user mode" in refused.err
        place.board.watch(NOWHERE)
        result = place.run("doctor", "user_work", "--context", 2)
        assert result.code == 0 and "only where CONTEXTIDR is 0x2" in result.out
        starts = [event for event in place.board.log() if event.kind == "halt" and event.pc == place.symbol("user_work")]
        assert {context_of(place, event) for event in starts} == {2}


@pytest.mark.parametrize("words", [("1x",), ("0x100000000",), ("all",), ("-1",)])
def test_what_is_no_context(words):
    with user_place("a9/swd") as place:
        result = place.run("delta", "user_work", "--context", *words)
        assert result.code == 2 and "--context takes an ID" in result.err


@pytest.mark.parametrize("way", WAYS)
def test_counters_of_the_operating_system_are_named(way):
    with Place(way, "free", WORK_BY_DATA) as place:
        poke(place, (PMU[place.chip] + CNTENSET, 1 << 31 | 0b101), (PMU[place.chip] + PMCR, 0x41))
        assert place.board.state()["pmcntenset"] == 1 << 31 | 0b101
        said = "left to the program, which uses them: cycles, 0, 2"
        assert said in place.run("delta", "work_by_data", "-r", 5).out
        assert said in place.delta("work_by_data", "-r", 5).header["note"]
        assert said in place.run("stat", "--for", "0.1").out
        assert said in place.run("stat", "-j", "--for", "0.1").header["note"]
        assert place.board.state()["pmcntenset"] == 1 << 31 | 0b101

"""`irq` and `tasks`: each time that is exact is the log's, each other call is counted as left out, and the core is never halted."""
import json
import re

import pytest

from harness import Place, run_tool, unfolded
from test_schema import check as check_schema

NEST, CHAIN, LATE, MANY, FAULT, TICKS = 1, 2, 4, 8, 32, 512
NO_TIMES = 5  # exit code: where the board's time passes otherwise than the host's, its clock is refuted
SOME = 300  # rounds of each handler: with less the FIFO of an RP2350 is read too seldom


def start(program="rp2350-irq", what=NEST | CHAIN, spin=SOME, **quirks):
    """RP2350's FIFO loses what nobody reads in time: there time passes with the packets of the probe alone."""
    chip, _, mode = program.partition("-")
    options = {"dap_exact": True, "clock": 2_000_000, "dap_wire": 10_000_000} if chip == "rp2350" else {"clock": 12_000_000, "dap_swo": "uart"}
    place = Place(f"{chip}/swd", mode, **options, **quirks)
    if mode == "irq":
        for n in range(4, 8):
            place.board.write_word(place.symbol("spin") + 4 * n, spin)
        place.board.write_word("what", what)
    place.board.command("trace on")
    return place


def log(place):
    events, index, end = [], 0, None
    while end is None or index < end:
        reply = place.board.command(f"trace {index}")
        assert not reply["dropped"]
        events += [tuple(e[1:]) for e in reply["events"]]
        index, end = reply["next"], reply["end"] if end is None else end
    return events


def true_stays(events):
    """{(number, from): (length, own)} of all that ended; what the core did between an exit and the next event is nobody's."""
    active, stays, now, at = [], {}, None, 0
    for kind, number, _, cycles, *_ in events:
        if kind not in ("enter", "exit", "return"):
            continue
        if now is not None:
            now[2] += cycles - at
        at = cycles
        if kind == "enter":
            now = [number, cycles, 0]
            active.append(now)
        elif kind == "exit":
            ended = active.pop() if active and active[-1][0] == number else None
            if ended:
                stays[number, ended[1]] = cycles - ended[1], ended[2]
            now = None
        else:
            while active and active[-1][0] != number:
                active.pop()
            now = active[-1] if active else None
    return stays


def true_slices(events):
    """The same of the values that are written to one word."""
    slices, last = {}, None
    for kind, _, _, cycles, value, _ in events:
        if kind == "write" and (last is None or value != last[0]):
            if last:
                slices[last] = cycles - last[1], cycles - last[1]
            last = value, cycles
    return slices


def timeline(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def pieces(shown):
    """Its exact stays as (number, from, length, own), in lists without a loss between."""
    out, hz = [[]], shown["otherData"]["header"].get("clock", {}).get("hz", 1e6)
    for e in shown["traceEvents"]:
        if e["ph"] == "i":
            out.append([])
        elif e["ph"] == "X" and e["name"] == "exact":
            out[-1].append((e["tid"], round(e["ts"] * hz / 1e6), e["args"]["cycles"], e["args"]["own"]))
    return [piece for piece in out if piece]


def check(path, truth):
    """Each piece is in the truth, at one distance of its time from the board's. Returns how many stays that are."""
    n = 0
    for piece in pieces(timeline(path)):
        number, at, length, own = piece[0]
        offsets = [begin - at for (who, begin), it in truth.items() if who == number and it == (length, own)]
        assert any(all(truth.get((who, begin + o)) == (long, alone) for who, begin, long, alone in piece) for o in offsets), piece[:9]
        n += len(piece)
    return n


def run(place, command, path, *args, code=0, enough=None):
    """Longer and longer, until it is enough: the board may get little of the machine."""
    for length in (0.3, 3, 30):
        place.board.command("trace on")
        result = place.run(command, "--for", f"{length}s", "-q", "-o", path, *args)
        if enough is None or enough():
            break
    assert result.code in (code, code or NO_TIMES), result.err
    assert place.board.state()["halts"] == 0
    return result


def lines(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


@pytest.mark.each_value
@pytest.mark.parametrize("chip", ["rp2350", "m4", "m33", "m7", "m55"])
@pytest.mark.parametrize("what", [NEST | CHAIN, NEST | CHAIN | TICKS, LATE | CHAIN, MANY, FAULT | NEST])
def test_each_exact_time_is_the_log_s(chip, what, tmp_path):
    """Three deep, tail-chained, late to arrive, in bursts, with a fault inside."""
    with start(f"{chip}-irq", what=what) as place:
        if what & LATE:
            place.board.command("core-state late-arrival on")
        run(place, "irq", tmp_path / "t.json", "--format", "perfetto",
            enough=lambda: what & MANY or sum(map(len, pieces(timeline(tmp_path / "t.json")))) > 20)  # of MANY no time is exact
        truth = true_stays(log(place))
        assert check(tmp_path / "t.json", truth) > 20 or what & MANY
        summary = timeline(tmp_path / "t.json")["otherData"]["summary"]
        names = {e["args"]["name"] for e in timeline(tmp_path / "t.json")["traceEvents"] if e["name"] == "thread_name"}
        assert names >= ({"Burst_Handler"} if what & MANY else {"IRQ4_Handler"})
        assert summary["exact"] <= summary["seen"] <= len(truth) + 10


def has_numbers(path, name):
    return any(line.get("name") == name and "own" in line for line in lines(path))


def test_numbers_of_an_interrupt(tmp_path):
    with start() as place:
        run(place, "irq", tmp_path / "irq.jsonl", "-j", enough=lambda: has_numbers(tmp_path / "irq.jsonl", "IRQ6_Handler"))
        truth = true_stays(log(place))
    assert check_schema(lines(tmp_path / "irq.jsonl")) == {"header", "interrupt", "summary-irq"}
    rows = {line["name"]: line for line in lines(tmp_path / "irq.jsonl") if line["type"] == "interrupt"}
    assert set(rows) >= {f"IRQ{n}_Handler" for n in range(4, 8)}
    for name, row in rows.items():
        calls = row["calls"]
        assert calls["seen"] == calls["exact"] + calls["late"] + calls["lost"] + calls["unended"] + calls["cut"]
        own = {it[1] for (who, _), it in truth.items() if who == row["number"]}
        whole = {it[0] for (who, _), it in truth.items() if who == row["number"]}
        if "own" in row:
            assert {row["own"]["min"], row["own"]["median"], row["own"]["max"]} <= own, name
            assert {row["whole"]["min"], row["whole"]["max"]} <= whole, name
    assert all(row["calls"]["left_out"] > 0.1 or {"own", "whole", "interval"} < set(row) for row in rows.values())
    assert any("interval" in row for row in rows.values())


@pytest.mark.parametrize("drop", [150, 333])
def test_bytes_that_are_lost_make_up_no_interrupt(drop, tmp_path):
    with start("m4-irq", what=NEST | CHAIN | TICKS, trace_quirk=f"drop={drop}") as place:
        place.run("irq", "--for", "2s", "-j", "-o", tmp_path / "irq.jsonl")
        entered = {event[1] for event in log(place) if event[0] == "enter"}
    assert {line["number"] for line in lines(tmp_path / "irq.jsonl") if line["type"] == "interrupt"} <= entered


def test_budgets_of_handlers(tmp_path):
    regions = tmp_path / "app.regions"
    for text, code, verdict in (("IRQ6_Handler IRQ6_Handler max <= 100 cycles\n", 1, "regressed"),
                                ("Burst_Handler Burst_Handler max <= 100 cycles\n", 4, "inconclusive")):
        regions.write_text(text)
        with start() as place:
            run(place, "irq", tmp_path / "irq.jsonl", "-j", "--regions", regions, "--check", code=code,
                enough=lambda: lines(tmp_path / "irq.jsonl")[-1]["verdict"] == verdict)
        assert lines(tmp_path / "irq.jsonl")[-1]["verdict"] == verdict
        check_schema(lines(tmp_path / "irq.jsonl"))
        shown = place_free("show", tmp_path / "irq.jsonl")
        assert f"verdict: {verdict}" in shown


def place_free(*args):
    result = run_tool(*args)
    assert result.code == 0, result.err
    return unfolded(result.out)


def test_formats_and_show(tmp_path):
    with start() as place:
        run(place, "irq", tmp_path / "irq.jsonl", "-j")
        for format, words in (("csv", "name,number,unit"), ("markdown", "|interrupt|"), ("html", "<table"), ("text", "calls of exceptions")):
            run(place, "irq", tmp_path / "out", "--format", format)
            assert words in (tmp_path / "out").read_text()
            assert words in place_free("show", tmp_path / "irq.jsonl", "--format", format)


@pytest.mark.parametrize("chip", ["rp2350", "m4", "m33"])
def test_slices_of_tasks(chip, tmp_path):
    with start(f"{chip}-rtos") as place:
        run(place, "tasks", tmp_path / "t.json", "--format", "perfetto",
            enough=lambda: sum(map(len, pieces(timeline(tmp_path / "t.json")))) > 10)
        slices = true_slices(log(place))
        assert check(tmp_path / "t.json", slices) > 10
        run(place, "tasks", tmp_path / "tasks.jsonl", "-j")
    assert check_schema(lines(tmp_path / "tasks.jsonl")) == {"header", "task", "summary-irq"}
    rows = [line for line in lines(tmp_path / "tasks.jsonl") if line["type"] == "task"]
    assert {"filter", "sampling"} <= {row["name"] for row in rows}
    assert abs(sum(row["share"] for row in rows) - 1) < 1e-6


def test_values_of_any_word(tmp_path):
    with start() as place:
        run(place, "tasks", tmp_path / "w.jsonl", "-j", "--task", "value_now")
        result = place.run("tasks", "--for", "300ms", "-q")
        assert result.code == 2 and "--task VARIABLE" in result.err
    values = [int(line["value"], 16) for line in lines(tmp_path / "w.jsonl") if line["type"] == "task"]
    assert values and max(values) < 1 << 16


def test_all_is_put_back(tmp_path):
    with start() as place:
        before = place.board.state()
        run(place, "irq", tmp_path / "out")
        after = place.board.state()
        for name in ("demcr", "dwt_ctrl", "dwt_comp", "dwt_function", "run"):
            assert after[name] == before[name], name


@pytest.mark.parametrize("way", ["rp2040/swd", "a9/swd"])
def test_cores_without_trace_are_refused(way):
    with Place(way) as place:
        for command in ("irq", "tasks"):
            result = place.run(command, *(["--task", "scenario"] if command == "tasks" else []))
            assert result.code in (2, 3) and re.search("trace", result.err), result.err
            assert place.board.state().get("halts", 0) == 0

"""`irq` and `tasks`: each time that is exact is the log's, each other call is counted as left out, and the core is never halted."""
import json
import re

import pytest

from harness import SOAK, Place, finish_tool, run_tool, unfolded, wait_for
from own_program import START, own_place
from test_schema import check as check_schema

NEST, CHAIN, LATE, MANY, FAULT, TICKS = 1, 2, 4, 8, 32, 512
NO_TIMES = 5  # exit code: where the board's time passes otherwise than the host's, its clock is refuted
SOME = 300  # rounds of each handler: with less the FIFO of an RP2350 is read too seldom
EXACT = 10_000 if SOAK else 20  # times that the log has, of a run or of more


WITH_AP2 = ["target create virtual.ap2 mem_ap -dap virtual.dap -ap-num 2"]


def start(program="rp2350-irq", what=NEST | CHAIN, spin=SOME, openocd=False, **quirks):
    """RP2350's FIFO loses what nobody reads in time: there time passes with the packets of the probe alone."""
    chip, _, mode = program.partition("-")
    options = {"dap_exact": True, "clock": 2_000_000, "dap_wire": 10_000_000} if chip == "rp2350" else {"clock": 12_000_000, "dap_swo": "uart"}
    if openocd:
        options = {"clock": 12_000_000, "commands": WITH_AP2 if chip == "h7" else ()}
    place = Place(chip if openocd else f"{chip}/swd", mode, **options, **quirks)
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


def thread_names(path):
    return {e["args"]["name"] for e in timeline(path)["traceEvents"] if e["name"] == "thread_name"}


@pytest.mark.each_value
@pytest.mark.parametrize("chip", ["rp2350", "m4", "m33", "m7", "h7", "m55"])
@pytest.mark.parametrize("what", [NEST | CHAIN, NEST | CHAIN | TICKS, LATE | CHAIN, MANY, FAULT | NEST])
def test_each_exact_time_is_the_log_s(chip, what, tmp_path):
    """Three deep, tail-chained, late to arrive, in bursts, with a fault inside."""
    handler = "Burst_Handler" if what & MANY else "IRQ4_Handler"

    def enough():
        if what & MANY:  # of a burst no time is exact
            return handler in thread_names(tmp_path / "t.json")
        return sum(map(len, pieces(timeline(tmp_path / "t.json")))) > 20

    with start(f"{chip}-irq", what=what) as place:
        if what & LATE:
            place.board.command("core-state late-arrival on")
        found = 0
        while found < EXACT:
            run(place, "irq", tmp_path / "t.json", "--format", "perfetto", enough=enough)
            truth = true_stays(log(place))
            found += check(tmp_path / "t.json", truth)
            if what & MANY:
                break
        summary = timeline(tmp_path / "t.json")["otherData"]["summary"]
        assert handler in thread_names(tmp_path / "t.json")
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


@pytest.mark.parametrize("chip", ["rp2350", "m4", "h7", "m33", "m7", "m55"])
def test_slices_of_tasks(chip, tmp_path):
    with start(f"{chip}-rtos") as place:
        found = 0
        while found < EXACT:
            run(place, "tasks", tmp_path / "t.json", "--format", "perfetto",
                enough=lambda: sum(map(len, pieces(timeline(tmp_path / "t.json")))) > 10)
            found += check(tmp_path / "t.json", true_slices(log(place)))
        run(place, "tasks", tmp_path / "tasks.jsonl", "-j")
    assert check_schema(lines(tmp_path / "tasks.jsonl")) == {"header", "task", "summary-irq"}
    rows = [line for line in lines(tmp_path / "tasks.jsonl") if line["type"] == "task"]
    assert {"filter", "sampling"} <= {row["name"] for row in rows}
    assert abs(sum(row["share"] for row in rows) - 1) < 1e-6


READ_OFTEN = START + r"""
#define BURN(n) for (uint32_t i = 0; i < (n); i++) sink += i
volatile uint32_t word __attribute__((used));
void run(void)
{
    for (;; round_count++) {
        word = 1;
        BURN(300);
        sink += word;
        BURN(200);
        word = 2;
        BURN(100);
        sink += *(volatile uint8_t *)&word;
        BURN(200);
    }
}
"""


def test_a_dwt_that_emits_reads_as_well(tmp_path):
    """A Cortex-M3 before r2p0 has no comparator for writes alone: what reads emit, also of a part, says nothing new."""
    with own_place(tmp_path, "m4/swd", READ_OFTEN, clock=12_000_000, dap_swo="uart", trace_quirk="old-m3") as place:
        run(place, "tasks", tmp_path / "t.json", "--format", "perfetto", "--task", "word", "--freq", "12M",
            enough=lambda: sum(map(len, pieces(timeline(tmp_path / "t.json")))) > 20)
        shown = timeline(tmp_path / "t.json")["otherData"]
        assert shown["header"]["core"].startswith("Cortex-M3 r1p1") and "other_size" not in shown["summary"]
        assert any(kind == "read" and fate == "sent" for kind, *_, fate in log(place))
        assert check(tmp_path / "t.json", true_slices(log(place))) > 20


def test_values_of_any_word(tmp_path):
    def some():
        return any(line["type"] == "task" for line in lines(tmp_path / "w.jsonl"))
    with start() as place:
        run(place, "tasks", tmp_path / "w.jsonl", "-j", "--task", "value_now", enough=some)
        result = place.run("tasks", "--for", "300ms", "-q")
        assert result.code == 2 and "--task VARIABLE" in result.err
    values = [int(line["value"], 16) for line in lines(tmp_path / "w.jsonl") if line["type"] == "task"]
    assert values and max(values) < 1 << 16


PARTS = START + r"""
#define BURN(n) for (uint32_t i = 0; i < (n); i++) sink += i
__asm(".bss\n.balign 4\n.global whole, before, part, half\n.type part, %object\n.size part, 1\n.type half, %object\n.size half, 2\n"
      ".type whole, %object\n.size whole, 3\nwhole:\nbefore: .space 1\npart: .space 1\nhalf: .space 2\n.text");
extern volatile uint8_t before, part;
extern volatile uint16_t half;
volatile uint32_t odd __attribute__((used));
void run(void)
{
    for (;; round_count++) {
        part = 1, half = 1000;
        BURN(300);
        before = 7;
        BURN(200);
        part = 2, half = 1001;
        BURN(300);
        before = 9;
        BURN(100);
        if (odd && round_count % 8 == 0)
            *(volatile uint32_t *)&before = 0x03E80109;
        BURN(100);
    }
}
"""


@pytest.mark.each_value
@pytest.mark.parametrize("way", ["m33/swd", "m4/swd", "m55/swd", "m7/swd"])
@pytest.mark.parametrize("name, values", [("part", {1, 2}), ("half", {1000, 1001})])
def test_values_of_a_part_of_a_word(way, name, values, tmp_path):
    """What is written to its neighbours is not its value, nor what is written to all of them together."""
    with own_place(tmp_path, way, PARTS, clock=12_000_000, dap_swo="uart") as place:
        run(place, "tasks", tmp_path / "t.json", "--format", "perfetto", "--task", name, "--freq", "12M",
            enough=lambda: sum(map(len, pieces(timeline(tmp_path / "t.json")))) > 20)
        assert check(tmp_path / "t.json", true_slices(log(place))) > 20
        assert {e["tid"] for e in timeline(tmp_path / "t.json")["traceEvents"] if e["ph"] == "X"} == values
        assert "other_size" not in timeline(tmp_path / "t.json")["otherData"]["summary"]
        place.board.write_word("odd", 1)
        run(place, "tasks", tmp_path / "t.jsonl", "-j", "--task", name, "--freq", "12M", enough=lambda: lines(tmp_path / "t.jsonl")[-1].get("other_size"))
        check_schema(lines(tmp_path / "t.jsonl"))
        assert {int(line["value"], 16) for line in lines(tmp_path / "t.jsonl") if line["type"] == "task"} == values
        assert lines(tmp_path / "t.jsonl")[-1]["other_size"] > 0 and "of another size" in place_free("show", tmp_path / "t.jsonl")
        for command, wrong in (("tasks", "whole"), ("record", "part")):
            result = place.run(command, "--task", wrong, "--for", "200ms", *(["-o", tmp_path / "p"] if command == "record" else []))
            assert result.code == 2 and re.search("has . bytes? at 0x", unfolded(result.err)), result.err


REUSED = START + r"""
#define BURN(n) for (uint32_t i = 0; i < (n); i++) sink += i
struct tskTaskControlBlock { uint32_t *top; uint32_t list[4]; char pcTaskName[16]; } tcbs[3];
struct tskTaskControlBlock *volatile pxCurrentTCB __attribute__((used));
volatile uint32_t flip __attribute__((used));
static void name(struct tskTaskControlBlock *task, const char *from) { for (uint32_t i = 0; i < 16; i++, from += *from != 0) task->pcTaskName[i] = *from; }
void run(void)
{
    name(&tcbs[0], "idle"), name(&tcbs[1], "worker_a"), name(&tcbs[2], "gone");
    for (;; round_count++) {
        if (flip) {
            name(&tcbs[1], "worker_b");
            tcbs[2].pcTaskName[0] = 7;
        }
        for (uint32_t i = 3; i-- > 0;) {
            pxCurrentTCB = &tcbs[i];
            BURN(300);
        }
    }
}
"""


def test_task_in_the_memory_of_another_one_is_not_named_alone(tmp_path):
    with own_place(tmp_path, "m33/swd", REUSED, clock=12_000_000, dap_swo="uart") as place:
        process = place.start("tasks", "--for", "1500ms", "--freq", "12M", "-j")
        place.board.wait_for(lambda state: state["dwt_function"][0] & 0xF, "the comparator")
        place.board.run_for(3_000_000)  # by then each row has its name
        place.board.write_word("flip", 1)
        result = finish_tool(process)
        check_schema(result.lines)
        assert {line["name"] for line in result.lines if line["type"] == "task"} == {"idle", "worker_a, later worker_b", "gone, later no task"}
        assert result.lines[-1]["reused"] == 2
        run(place, "tasks", tmp_path / "t.jsonl", "-j", "--freq", "12M")
        assert "reused" not in lines(tmp_path / "t.jsonl")[-1] and "worker_b" in {line.get("name") for line in lines(tmp_path / "t.jsonl")}


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


# --- the trace buffer of an STM32H7

def test_a_funnel_keeps_only_the_bits_of_its_ports(tmp_path):
    """It has two, and no chip's table says which one the ITM has."""
    with start("h7-irq", trace_quirk="plain-etf") as place:
        before = h7_registers(place)
        run(place, "irq", tmp_path / "t.json", "--format", "perfetto", enough=lambda: pieces(timeline(tmp_path / "t.json")))
        assert pieces(timeline(tmp_path / "t.json")) and h7_registers(place) == before


def h7_registers(place):
    sink, state = place.board.command("trace sink"), place.board.state()
    return ([sink[key] for key in ("swo_funnel", "cs_funnel", "etf_capturing", "h7_dbgmcu")]
            + [state[key] for key in ("demcr", "dwt_ctrl", "dwt_comp", "dwt_function", "halts")])


@pytest.mark.any_row(1)
@pytest.mark.parametrize("openocd", [False, True])
def test_trace_buffer_is_emptied_while_it_captures(openocd, tmp_path):
    """OpenOCD's JTAG, a bit at a time, is slow: fewer interrupts, of which more bytes wait in the buffer."""
    with start("h7-irq", spin=20_000 if openocd else SOME, openocd=openocd) as place:
        before = h7_registers(place)
        run(place, "irq", tmp_path / "t.json", "--format", "perfetto", "--trace", "etf",
            enough=lambda: sum(map(len, pieces(timeline(tmp_path / "t.json")))) > 20)
        assert h7_registers(place) == before
        assert check(tmp_path / "t.json", true_stays(log(place))) > 20
        assert "trace buffer of an STM32H7 (4 KB)" in timeline(tmp_path / "t.json")["otherData"]["summary"]["sink"]


def test_trace_buffer_is_put_back_after_a_kill(tmp_path):
    with start("h7-irq") as place:
        before = h7_registers(place)
        for _ in range(2):  # the second time with the words that the first one has left in it
            process = place.start("irq", "--for", "60s")
            place.board.wait_for(lambda _: (sink := place.board.command("trace sink"))["etf_capturing"] and sink["etf"], "the buffer to be used")
            process.kill()
            process.communicate()
            place.board.wait_for(lambda _: place.board.command("trace sink")["etf"] > 900, "the buffer to be full")
            assert h7_registers(place) != before
            assert place.run("restore", elf=False).code == 0
            assert h7_registers(place) == before
        run(place, "irq", tmp_path / "irq.jsonl", "-j", enough=lambda: has_numbers(tmp_path / "irq.jsonl", "IRQ6_Handler"))


def test_trace_buffer_that_is_slowly_read_loses_whole_packets(tmp_path):
    """It is full all the time: the ITM waits, and says what it lost."""
    with start("h7-irq", spin=20, openocd=True) as place:
        run(place, "irq", tmp_path / "t.json", "--format", "perfetto")
        place.board.set("clock", 100_000)  # the log is as long as a busy machine takes to read it
        assert timeline(tmp_path / "t.json")["otherData"]["summary"]["gaps"] > 0
        check(tmp_path / "t.json", true_stays(log(place)))


def test_trace_buffer_that_is_in_use_stays_so(tmp_path):
    with start("h7-irq", openocd=True) as place:
        place.server("virtual.ap2 mww 0xE00E1004 0x600000; virtual.ap2 mww 0xE00F4020 1")
        before = h7_registers(place)
        result = place.run("irq", "--for", "300ms")
        assert result.code == 3 and "captures" in result.err and before[2], result.err
        assert h7_registers(place) == before


# --- a handler of several interrupts

SHARED = START + r"""
static const void *table[32] __attribute__((aligned(128)));
static const uint32_t rounds[2] = ROUNDS;
APART void shared(void)
{
    uint32_t number;
    __asm volatile("mrs %0, ipsr" : "=r"(number));
    for (uint32_t i = 0; i < rounds[number - 16]; i++)
        sink += i;
}
void run(void)
{
    table[16] = table[17] = (const void *)shared;
    REGISTER(0xE000ED08) = (uint32_t)table;
    REGISTER(0xE000E100) = 3;
    for (;; round_count++)
        for (uint32_t n = 0; n < 2; n++) {
            REGISTER(0xE000E200) = 1 << n;
            __asm volatile("dsb\nisb");
            for (uint32_t i = 0; i < 300; i++)
                sink += i;
        }
}
"""


@pytest.mark.parametrize("rounds, slow", [((400, 40), 0), ((40, 400), 1)])
def test_budget_of_a_handler_is_judged_by_each_interrupt_that_has_it(rounds, slow, tmp_path):
    """The budget is between what one of them takes and what the other does."""
    regions = tmp_path / "app.regions"
    regions.write_text("shared shared max <= 1500 cycles\n")
    source = SHARED.replace("ROUNDS", "{%d, %d}" % rounds)
    with own_place(tmp_path, "m4/swd", source, clock=12_000_000, dap_swo="uart") as place:
        run(place, "irq", tmp_path / "irq.jsonl", "-j", "--freq", "12M", "--regions", regions, "--check", code=1,
            enough=lambda: lines(tmp_path / "irq.jsonl")[-1]["verdict"] == "regressed")
    rows = [line for line in lines(tmp_path / "irq.jsonl") if line["type"] == "interrupt"]
    assert {row["number"] for row in rows} == {16, 17}
    judged = [row for row in rows if "budget" in row or "verdict" in row]
    assert [row["number"] for row in judged] == [16 + slow], rows


# --- a budget, and calls that no packet shows

HIDDEN = START + r"""
static const void *table[32] __attribute__((aligned(128)));
#define BURN(n) for (uint32_t i = 0; i < (n); i++) sink += i
static volatile uint32_t left, then_slow, is_inside;
__attribute__((noinline, optimize("O2"))) void slow(void)
{
    if (!is_inside)
        BURN(20);
    else
        is_inside = 0, left = 100, REGISTER(0xE000E200) = 2;
    __asm volatile("dsb\nisb");
}
__attribute__((noinline, optimize("O2"))) void noisy(void)
{
    if (left)
        left--, REGISTER(0xE000E200) = 2;
    else if (then_slow)
        then_slow = 0, is_inside = 1, REGISTER(0xE000E200) = 1;
    __asm volatile("dsb");
}
void run(void)
{
    table[16] = (const void *)slow, table[17] = (const void *)noisy;
    REGISTER(0xE000ED08) = (uint32_t)table, REGISTER(0xE000E400) = 0x80, REGISTER(0xE000E100) = 3;
    for (;; round_count++) {
        for (int k = 0; k < 10; k++) {
            REGISTER(0xE000E200) = 1;
            __asm volatile("dsb\nisb");
            BURN(307);
        }
        BURN(4000);
        if (BURSTS && round_count % 16 == 7)
            left = 60, then_slow = 1, REGISTER(0xE000E200) = 2;
        __asm volatile("dsb\nisb");
        BURN(4000);
    }
}
"""


@pytest.mark.parametrize("bursts", [0, 1])
def test_budget_is_not_kept_if_trace_was_lost(bursts, tmp_path):
    """The handler's long calls each begin and end in a burst that SWO cannot carry."""
    (tmp_path / "app.regions").write_text("slow slow max <= 500 cycles\n")
    with own_place(tmp_path, "m4/swd", HIDDEN.replace("BURSTS", str(bursts)), clock=12_000_000, dap_swo="uart") as place:
        shown = []
        for _ in range(8):  # an event next to a cycle event shares its time; a quiet trace may be lost on a busy machine
            result = place.run("irq", "--for", "300ms", "--freq", "12M", "--regions", tmp_path / "app.regions", "--check", "-j")
            gaps, budget = result.lines[-1]["gaps"], next(line["budget"] for line in result.lines if line.get("name", "").startswith("slow"))
            shown.append((gaps > 0, budget["verdict"], budget.get("why")))
            assert budget["verdict"] != "pass" or not gaps
            if gaps if bursts else budget["verdict"] == "pass":
                break
        assert gaps if bursts else budget["verdict"] == "pass", shown


HANGS = START + r"""
static const void *table[32] __attribute__((aligned(128)));
#define BURN(n) for (uint32_t i = 0; i < (n); i++) sink += i
volatile uint32_t hang __attribute__((used)), task_now __attribute__((used));
APART void slow(void) { BURN(40); while (hang) sink++; }
void run(void)
{
    table[16] = (const void *)slow;
    REGISTER(0xE000ED08) = (uint32_t)table, REGISTER(0xE000E100) = 1;
    for (;; round_count++) {
        task_now = 1;
        BURN(5000);
        task_now = 2;
        REGISTER(0xE000E200) = 1;
        __asm volatile("dsb\nisb");
    }
}
"""


@pytest.mark.each_value
@pytest.mark.parametrize("way", ["m4/swd", "m33/swd"])
@pytest.mark.parametrize("command", ["irq", "tasks"])
def test_time_after_the_last_event_is_what_runs_then(way, command, tmp_path):
    """A handler, or a task, hangs: cycle events alone go on, in which nothing is lost."""
    (tmp_path / "app.regions").write_text("slow slow max <= 2000 cycles\n")
    arguments = ["--regions", tmp_path / "app.regions", "--check"] if command == "irq" else ["--task", "task_now"]
    with own_place(tmp_path, way, HANGS, clock=12_000_000, dap_swo="uart") as place:
        place.board.command("trace on")
        process = place.start(command, "--for", "1500ms", "--freq", "12M", "-j", *arguments)
        armed = (lambda state: state["dwt_ctrl"] & 0x10000) if command == "irq" else (lambda state: state["dwt_function"][0] & 0xF)
        place.board.wait_for(armed, "the events to be on")
        place.board.command("trace on")
        wait_for(lambda: sum(e[0] == "write" or e[0] == "exit" for e in log(place)) > 40, "some events")
        place.board.write_word("hang", 1)
        result = finish_tool(process)
        events = log(place)
    last = max(cycles for kind, _, _, cycles, *_ in events if kind in ("enter", "write"))
    sent = [cycles for kind, _, _, cycles, _, fate in events if kind == "cycle" and fate == "sent"]
    row = next(line for line in result.lines if line.get("number") == 16 or int(line.get("value", "0"), 16) == 2)
    assert row["calls"]["cut"] == 1
    assert 0.3 * (sent[-1] - last) < row["cycles"] < sent[-1] - sent[0]  # the last of them are not read any more
    if command == "irq":
        assert result.code == 1 and row["budget"]["verdict"] == "regressed" and "lasted at least" in row["budget"]["why"]
        assert row["budget"]["found_cycles"] > 16384


# --- what a chip wants before SWO leaves it

@pytest.mark.parametrize("chip, bits", [("m4", 0x20), ("m33", 0x30)])
def test_pin_that_the_chip_has_to_switch_on(chip, bits, tmp_path):
    """An STM32F407 and an STM32H563, whose pins are dark without bits of DBGMCU_CR; a killed run's are put back by restore."""
    with Place(f"{chip}/swd", "irq", clock=12_000_000, dap_swo="uart", trace_quirk="dark-pin") as place:
        place.board.write_word("what", NEST | CHAIN)
        before = place.board.state()["dbgmcu"]
        run(place, "irq", tmp_path / "t.json", "--format", "perfetto", enough=lambda: pieces(timeline(tmp_path / "t.json")))
        assert pieces(timeline(tmp_path / "t.json")) and place.board.state()["dbgmcu"] == before == [0, 0, 0]
        process = place.start("irq", "--for", "60s")
        place.board.wait_for(lambda state: state["dbgmcu"][0] == bits, "DBGMCU_CR")
        process.kill()
        process.communicate()
        assert place.run("restore", elf=False).code == 0 and place.board.state()["dbgmcu"] == before


@pytest.mark.nobody_answers
@pytest.mark.parametrize("chip, quirk, words", [
    ("m4", "pin-used", "the program uses the pin of SWO"), ("m4", "no-trace-clock", "the trace port has no clock"),
    ("m4", "baud-off=8", "the baud is off by more than 3 %"), ("m4", "notrcpkt", "NOTRCPKT"), ("m33", "no-trace-clock", "no clock"),
    ("h7", "m4-core", "takes the Cortex-M7's trace")])
def test_why_no_trace_arrives(chip, quirk, words):
    with Place(f"{chip}/swd", "irq", clock=12_000_000, dap_swo="uart", trace_quirk=quirk) as place:
        result = place.run("irq", "--for", "300ms")
        assert result.code == 3 and words in unfolded(result.err), result.err


@pytest.mark.parametrize("chip, quirk, state, words", [
    ("m4", "pin-used", "PIN USED", "the program uses the pin of SWO"), ("h7", None, "ok", "through the trace buffer"), ("m4", None, "ok", "through SWO"),
    ("h7", "m4-core", "OTHER CORE", "takes the Cortex-M7's trace"),
    ("rp2350", None, "ok", "through the trace FIFO"), ("rp2040", None, "none", "emits no trace")])
def test_info_and_doctor_say_how_trace_would_arrive(chip, quirk, state, words):
    with Place(f"{chip}/swd", "free", dap_swo="uart", **({"trace_quirk": quirk} if quirk else {})) as place:
        registers = lambda: place.board.command("trace sink") | {"line": 0} if chip != "rp2040" else None
        before = registers()
        (test,) = [line for line in place.run("doctor", "-j").lines if line.get("name") == "trace out"]
        assert test["state"] == state and words in test["detail"]
        result = place.run("info", "-j")
        check_schema(result.lines)
        trace = next(line for line in result.lines if line["type"] == "core")["trace"]
        assert words in "through " + trace.get("through", "") + trace.get("why", "")
        assert "through" in trace if state == "ok" else "why" in trace
        assert registers() == before

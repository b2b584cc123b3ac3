"""The tool on the modelled card: stat and watch print exact counts for every thread, and the tool restores what it changed."""
import csv
import io
import os
import re
import signal

import pytest

from card import (ANY, CNTR0, CNTR1, CTRL, EN, INV, OS, SEL0, SEL1, SPFLT, STATUS, TSC, USR, Agent, Card,
                  card_available)
from test_counting import Terminal
from harness import WAIT, Run, finish_tool, run_tool, wait_for

pytestmark = [pytest.mark.skipif(card_available() is not None, reason=str(card_available())), pytest.mark.any_fifth]
BOTH = USR | OS


@pytest.fixture(name="card")
def small_card():
    with Card(8) as card:
        yield card


@pytest.fixture(scope="module", name="big")
def big_card():
    with Card(244) as card:
        yield card


@pytest.fixture(scope="module", name="still")
def still_card():
    with Card(244, hz=0) as card:
        yield card


def columns(result):
    assert result.code == 0, result.err
    return {name: value["count"] for name, value in result.summary["columns"].items()}


@pytest.mark.parametrize("way", ["files", "agent"])
def test_stat_is_what_happened(card, way):
    before = card.registers((5,))
    with Agent(card) as agent:
        result = card.run("-C", 5, "stat", "--for", "0.3s", "-j", "-e", "L2_READ_MISS:cmask=2:inv:u,DATA_READ",
                          probe=agent.probe if way == "agent" else None)
    truth = card.counted()
    assert columns(result) == {
        "TSC": truth[5, TSC, EN | BOTH][0], "DATA_READ": truth[5, CNTR1, EN | BOTH][0],
        "L2_READ_MISS:cmask=2:inv:u": truth[5, CNTR0, EN | USR | INV | 2 << 24 | 0x10CB][0]}
    assert card.registers((5,)) == before
    assert result.header["core"] == "Knights Corner CPU 5, core 1"


def test_two_l2_events_are_two_passes(card):
    result = card.run("-C", 3, "stat", "--for", "0.2s", "-j", "-e", "L2_READ_MISS,L2_WRITE_HIT")
    truth, counts = card.counted(), columns(result)
    assert counts["L2_READ_MISS"] == truth[3, CNTR0, EN | BOTH | 0x10CB][0]
    assert counts["L2_WRITE_HIT"] == truth[3, CNTR0, EN | BOTH | 0x10CC][0]
    assert not any(msr == CNTR1 for _, msr, *_ in truth)
    result = card.run("stat", "-e", "L2_READ_MISS,L2_WRITE_HIT")
    assert result.code == 2 and "2 windows" in result.err


def test_an_event_moves_over_for_one_that_cannot(card):
    counts = columns(card.run("stat", "--for", "0.1s", "-j", "-e", "CPU_CLK_UNHALTED,L2_READ_MISS"))
    truth = card.counted()
    assert counts["L2_READ_MISS"] == truth[0, CNTR0, EN | BOTH | 0x10CB][0]
    assert counts["CPU_CLK_UNHALTED"] == truth[0, CNTR1, EN | BOTH | 0x2A][0]


@pytest.mark.parametrize("events, what", [
    ("{L2_READ_MISS,L2_WRITE_HIT}", "L2_READ_MISS and L2_WRITE_HIT cannot be counted in one pass: both need counter 0"),
    ("{DATA_READ,DATA_WRITE,CODE_READ}", "needs 3 counters"), ("DATA_READ:inv", "cmask=N"),
    ("DATA_READ:cmask=256", "1 to 255"), ("DATA_READ:x", '":x" is not one of'), ("NO_SUCH:u", "unknown event NO_SUCH"),
    ("DATA_READ,r0", "twice"), ("r12345", "0xFFFF")])
def test_what_cannot_be_counted_is_explained(card, events, what):
    before = card.registers()
    result = card.run("stat", "--for", "0.1s", "-e", events)
    assert result.code == 2 and what in result.err, result.err
    assert card.registers() == before


def test_any_thread(card):
    counts = columns(card.run("-C", 6, "stat", "--for", "0.1s", "-j", "-e", "DATA_READ:any,DATA_WRITE"))
    assert counts["DATA_READ:any"] == card.counted()[6, CNTR0, EN | ANY | BOTH][0]


def test_spflt_gates_what_was_asked_to_be(card):
    card.write(4, SPFLT, 3)  # of a program that uses it, and has switched it off
    result = card.run("-C", 4, "stat", "--for", "0.1s", "-j", "-e", "DATA_READ:spflt,DATA_WRITE")
    counts = columns(result)
    assert counts["DATA_READ:spflt"] == 0 and counts["DATA_WRITE"] > 0
    assert card.read(4, SPFLT) == 3
    card.control("spflt 4 1")
    counts = columns(card.run("-C", 4, "stat", "--for", "0.1s", "-j", "-e", "DATA_READ:spflt,DATA_WRITE"))
    assert counts["DATA_READ:spflt"] == card.counted()[4, CNTR0, EN | BOTH][0] > 0
    assert card.read(4, SPFLT) == 3 | 1 << 63


def test_a_counter_in_use_is_left_to_its_user(card):
    card.write(2, SEL0, EN | BOTH | 0x16)
    card.write(2, CTRL, 1)
    result = card.run("-C", 2, "stat", "--for", "0.1s", "-j", "-e", "DATA_READ,L2_READ_MISS")
    assert result.code == 0 and result.summary["columns"]["L2_READ_MISS"].get("count") is None
    assert result.summary["columns"]["DATA_READ"]["count"] == card.counted()[2, CNTR1, EN | BOTH][0]
    assert card.read(2, SEL0) == EN | BOTH | 0x16 and card.read(2, CTRL) == 1 and card.read(2, SEL1) == 0
    result = card.run("-C", 2, "stat", "--for", "0.1s", "-e", "L2_READ_MISS")
    assert re.search(r"<not supported> +L2_READ_MISS", result.out), result.out
    result = card.run("info")
    assert re.search(r"CPU 0 to CPU 1 .* free\n  CPU 2 .* in use: 0\n  CPU 3 to CPU 7 .* free\n", result.out)


def test_metrics(card):
    for attempt in range(4):  # its windows have other lengths on a busy machine, and metrics allow for it
        result = card.run("-C", 1, "stat", "--for", f"{2 ** attempt / 10}s", "-M", "CPI", "-M", "VECTORIZATION", "-M", "L1D_MISS", "-M",
                          "L2_MISS")
        assert result.code == 0
        figures = {line.split()[1]: line.split()[0] for line in result.out.splitlines() if len(line.split()) >= 2}
        value = {name: int(text.replace(",", "")) for name, text in figures.items() if name.isupper() and "," in text}
        misses, hits = value["L2_READ_MISS"], sum(value[f"L2_READ_HIT_{state}"] for state in "EMS")
        truth = {"CPI": value["CPU_CLK_UNHALTED"] / value["INSTRUCTIONS_EXECUTED"],
                 "VECTORIZATION": value["VPU_ELEMENTS_ACTIVE"] / value["VPU_INSTRUCTIONS_EXECUTED"],
                 "L1D_MISS": 100 * (value["DATA_READ_MISS_OR_WRITE_MISS"] + value["L1_DATA_HIT_INFLIGHT_PF1"]) / value["DATA_READ_OR_WRITE"],
                 "L2_MISS": 100 * misses / (misses + hits)}
        if all(float(figures[name]) == pytest.approx(of, rel=0.1) for name, of in truth.items()):
            break
        assert attempt < 3, (figures, truth)


# --- all of them -----------------------------------------------------------------------------------------------

def check_rows(card, rows, truth, names):
    """`names`: {column: (msr, select)}; every CPU is exact, and cores and all are their sums."""
    cpus = {row["cpu"]: row for row in rows if row["type"] == "cpu"}
    cores = {row["core"]: row for row in rows if row["type"] == "core"}
    assert sorted(cpus) == list(range(card.cpus)) and sorted(cores) == list(range(card.cpus // 4))
    for cpu, row in cpus.items():
        assert row["core"] == card.core_of(cpu)
        for name, (msr, select) in names.items():
            assert row["columns"][name] == {"count": truth[cpu, msr, select][0], "at_least": False}, (cpu, name)
    everything = next(row for row in rows if row["type"] == "all")
    for name, (msr, _) in names.items():
        for core, row in cores.items():
            of_core = [one["columns"][name]["count"] for one in cpus.values() if one["core"] == core]
            assert len(of_core) == 4
            assert row["columns"][name]["count"] == (of_core[0] if msr == TSC else sum(of_core))
        assert everything["columns"][name]["count"] == sum(row["columns"][name]["count"] for row in cores.values())


@pytest.mark.parametrize("way", ["files", "agent"])
def test_stat_of_244_cpus_is_what_happened(big, way):
    big.control("reset")
    before = big.registers()
    big.forget()
    with Agent(big) as agent:
        result = big.run("-a", "stat", "--for", "0.3s", "-j", "-e", "L2_READ_MISS,DATA_READ:u", "-M", "CPI_CORE",
                         probe=agent.probe if way == "agent" else None)
    assert result.code == 0, result.err
    check_rows(big, result.lines, big.counted(), {
        "L2_READ_MISS": (CNTR0, EN | BOTH | 0x10CB), "DATA_READ:u": (CNTR1, EN | USR),
        "INSTRUCTIONS_EXECUTED": (CNTR0, EN | BOTH | 0x16)})  # the metric's own, in a second pass
    assert big.registers() == before
    assert result.header["core"] == "Knights Corner, 244 CPUs on 61 cores"
    assert result.summary["passes"] == 2 and result.summary["lost"] == 0


def test_what_a_core_counts_is_not_summed_over_its_threads(card):
    result = card.run("-a", "stat", "--for", "0.1s", "-j", "-e", "CPU_CLK_UNHALTED,DATA_READ:any")
    rows = [{name: value["count"] for name, value in row["columns"].items()} for row in result.lines if row["type"] in ("core", "all")]
    assert [row["type"] for row in result.lines if row["type"] in ("core", "all")] == ["core", "core", "all"], result.err
    for row in rows[:2]:  # the model's busy cycles: at most one a cycle of the core
        assert row["TSC"] / 2 < row["CPU_CLK_UNHALTED"] <= row["TSC"] and row["DATA_READ:any"] < 4 * 3 * row["TSC"]
    threads = [row for row in result.lines if row["type"] == "cpu"]
    for core, row in enumerate(rows[:2]):
        for name in ("CPU_CLK_UNHALTED", "DATA_READ:any"):
            assert row[name] in [of["columns"][name]["count"] for of in threads if of["core"] == core]
            assert rows[2][name] == rows[0][name] + rows[1][name]


def test_a_part_of_what_a_core_counts_is_at_least_the_greatest(card):
    result = card.run("-a", "stat", "--for", "0.1s", "-j", "-e", "CPU_CLK_UNHALTED:u")
    for core in (0, 1):
        sums = [row["columns"]["CPU_CLK_UNHALTED:u"] for row in result.lines if row["type"] == "core" and row["core"] == core]
        counts = [row["columns"]["CPU_CLK_UNHALTED:u"]["count"] for row in result.lines if row["type"] == "cpu" and row["core"] == core]
        assert [(one["count"], one["at_least"]) for one in sums] == [(max(counts), True)] and len(counts) == 4


@pytest.mark.any_row(2)
@pytest.mark.parametrize("way", ["files", "agent"])
@pytest.mark.parametrize("words", [["-a", "stat"], ["-a", "watch", "-I", 100]])
def test_all_counters_of_244_cpus_wrap(still, way, words, tmp_path):
    """The card's time advances only on request: after each read of all CPUs, and close to the top of each counter."""
    still.control("reset")
    for cpu in range(244):
        still.write(cpu, CNTR0, (1 << 40) - 1000 - cpu)
        still.write(cpu, CNTR1, (1 << 40) - 1 - cpu)
    before = still.registers()
    still.forget()
    with Agent(still) as agent:
        # Into a file: nobody reads a pipe meanwhile
        process = still.start(*words, "--freq", "1.1G", "-j", "-o", tmp_path / "out", "-e", "L2_READ_MISS,INSTRUCTIONS_EXECUTED:u",
                              probe=agent.probe if way == "agent" else None)
        wait_for(lambda: sum(msr == CNTR1 for _, msr, *_ in still.looks()) >= 244, "the first look at each")
        for _ in range(3):
            still.control("advance 100000007")
        seen = len(still.looks())  # one round of reads may be half done
        wait_for(lambda: len(still.looks()) >= seen + 2 * 244 * 3, "another look at each")
        process.send_signal(signal.SIGINT)
        result = finish_tool(process)
    result = Run(result.code, (tmp_path / "out").read_text(), result.err)
    assert result.code == 0, result.err
    first, second = EN | BOTH | 0x10CB, EN | USR | 0x16
    truth = still.counted()
    for cpu in range(244):
        for key in ((cpu, CNTR0, first), (cpu, CNTR1, second)):
            assert truth[key][0] > 10 ** 6 and truth[key][2] < truth[key][1]
    if "stat" in words:
        check_rows(still, result.lines, truth, {
            "TSC": (TSC, first), "L2_READ_MISS": (CNTR0, first), "INSTRUCTIONS_EXECUTED:u": (CNTR1, second)})
    total = {}
    for row in result.lines:
        for name, value in row["columns"].items() if row["type"] == "cpu" else ():
            assert not value["at_least"]
            total[row["cpu"], name] = total.get((row["cpu"], name), 0) + value["count"]
    for cpu in range(244):
        assert total[cpu, "L2_READ_MISS"] == truth[cpu, CNTR0, first][0]
        assert total[cpu, "INSTRUCTIONS_EXECUTED:u"] == truth[cpu, CNTR1, second][0]
    assert still.registers() == before  # values, and the flags of 488 wraps


def test_watch_of_244_cpus_is_what_happened(big):
    big.control("reset")
    big.forget()
    result = big.run("-a", "watch", "--for", "0.6s", "-I", 300, "-j", "-e", "CPU_CLK_UNHALTED,L2_WRITE_HIT")
    assert result.code == 0, result.err
    truth = big.counted()
    times = sorted({row["since_begin"] for row in result.lines if "since_begin" in row})
    assert 1 <= len(times) <= 2
    total = {}
    for row in result.lines:
        if row["type"] == "cpu":
            for name, value in row["columns"].items():
                assert not value["at_least"]
                total[row["cpu"], name] = total.get((row["cpu"], name), 0) + value["count"]
    for row in result.lines:  # its interval alone
        of = [one["seconds"] for one in result.lines if one["type"] == "cpu" and one["since_begin"] == row.get("since_begin")
              and row.get("core", one["core"]) == one["core"]]
        assert row["type"] not in ("core", "all") or row["seconds"] == max(of)
    for cpu in range(244):
        assert total[cpu, "L2_WRITE_HIT"] == truth[cpu, CNTR0, EN | BOTH | 0x10CC][0]
        assert total[cpu, "CPU_CLK_UNHALTED"] == truth[cpu, CNTR1, EN | BOTH | 0x2A][0]
        assert total[cpu, "TSC"] == truth[cpu, TSC, EN | BOTH | 0x2A][0]


def total_of(text, name):
    found = re.search(rf"^{name} .* ([\d,]+)$", text, re.M)
    return int(found.group(1).replace(",", "")) if found else 0


def test_the_live_screen_of_all(big):
    big.control("reset")
    terminal = Terminal(big, "-a", "-I", 100, "-e", "CPU_CLK_UNHALTED")
    try:
        wait_for(lambda: total_of(terminal.text(), "all CPU_CLK_UNHALTED") > 0, "the first picture")
        text = terminal.picture()
        assert "244 CPUs on 61 cores" in text and "samples/s" in text and "0 TSC" in text and "█" in text
        terminal.press("Space")
        wait_for(lambda: "PAUSED" in terminal.text(), "the pause")
        held = total_of(terminal.text(), "all TSC")
        terminal.press("Space")
        wait_for(lambda: total_of(terminal.text(), "all TSC") > held, "it to go on")
        terminal.press("z")
        terminal.press("q")
        wait_for(lambda: "ENDED 0" in terminal.text(), "the end")
    finally:
        terminal.close()
    assert {value for (_, msr), value in big.registers().items() if msr in (SEL0, CTRL, STATUS)} == {0}


def test_keys_are_heard_when_each_interval_is_too_short(big):
    terminal = Terminal(big, "-a", "-I", "1ms", "-e", "CPU_CLK_UNHALTED")
    try:
        wait_for(lambda: "samples/s" in terminal.text(), "the first picture")
        terminal.press("q")
        wait_for(lambda: "ENDED 0" in terminal.text(), "the end")
    finally:
        terminal.close()


def test_tables(card):
    result = card.run("-a", "stat", "--for", "0.1s", "-e", "DATA_READ", "-M", "CPI")
    assert result.code == 0
    head, rows = [], {}
    for line in result.out.splitlines():  # what a line has no room for is a table below
        found = re.match(r"(core \d|all)? {8,}(.*)", line) or re.match(r"(core \d) +(.*)", line)
        if found and found[1]:
            rows.setdefault(found[1], []).extend(found[2].split())
        elif found and re.match(r"[A-Z]", found[2]):
            head += found[2].split()
    assert head == ["TSC", "DATA_READ", "CPU_CLK_UNHALTED", "INSTRUCTIONS_EXECUTED", "CPI"]
    assert list(rows) == ["core 0", "core 1", "all"]
    assert all(len(line) <= 80 for line in result.out.splitlines())
    values = [[int(word.replace(",", "")) for word in row[:-1]] for row in rows.values()]
    assert values[2] == [a + b for a, b in zip(*values[:2])]
    for row, line in zip(values, rows.values()):
        assert float(line[-1]) == pytest.approx(row[2] / row[3], rel=1e-5)
    result = card.run("-a", "stat", "--for", "0.1s", "-x", ";", "-e", "DATA_READ")
    table = list(csv.reader(io.StringIO(result.out), delimiter=";"))
    assert table[0] == ["region", "name", "unit", "count", "since_begin", "seconds", "cpus", "at_least"]
    assert [[row[0], row[6], row[1]] for row in table[1:]] == [
        [who, cpus, name] for who, cpus in (("core 0", "4"), ("core 1", "4"), ("all", "8"))
        for name in ("TSC", "DATA_READ")]


def test_one_cpus_counter_in_use_is_nobodys(card):
    card.write(6, SEL0, EN | BOTH | 0x16)
    card.write(6, CTRL, 1)
    result = card.run("-a", "stat", "--for", "0.1s", "-j", "-e", "DATA_READ,L2_READ_MISS")
    assert result.code == 0
    assert all(list(row["columns"]) == ["TSC", "DATA_READ"] for row in result.lines if row["type"] == "cpu")
    assert not any(msr == CNTR0 and select != EN | BOTH | 0x16 for _, msr, select, *_ in card.looks())


@pytest.mark.parametrize("args, what", [
    (["-a", "-C", 2, "stat"], "leave one of them out"), (["-a", "stat", "-I", 100], "watch -a"),
    (["-a", "watch", "-e", "L2_READ_MISS,L2_WRITE_HIT"], "take 2")])
def test_what_cannot_be_asked_of_all(card, args, what):
    result = card.run(*args)
    assert result.code == 2 and what in result.err


# --- what surrounds it -----------------------------------------------------------------------------------------

@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("words", [["stat"], ["-a", "stat"], ["watch"], ["-a", "watch"]])
def test_a_signal_ends_it_and_all_is_put_back(card, words, number):
    before = card.registers()
    process = card.start(*words, "-e", "CPU_CLK_UNHALTED")
    wait_for(lambda: sum(msr == CNTR0 for _, msr, *_ in card.looks()) >= (8 if "-a" in words else 1), "the counting")
    process.send_signal(number)
    _, err = process.communicate(timeout=WAIT)
    assert process.returncode == 0, err
    assert card.registers() == before
    assert any(msr == CNTR0 for _, msr, *_ in card.looks())


def test_one_cpu_by_name(card):
    result = card.run("stat", "--for", "0.1s", "-j", probe=f"msr:7@{card.root}")
    assert columns(result)["TSC"] > 0 and "CPU 7, core 1" in result.header["core"]
    result = card.run("stat", probe=f"msr:8@{card.root}")
    assert result.code == 3 and "dev/cpu/8/msr" in result.err
    result = card.run("-C", 8, "stat")
    assert result.code == 3 and "8" in result.err
    result = card.run("stat", probe=f"msr:x@{card.root}")
    assert result.code == 2


def test_without_the_driver_it_says_what_to_load(tmp_path):
    for folder, probe in (("none", "msr:0@{}"), ("none", "msr@{}")):
        result = run_tool("--probe", probe.format(tmp_path / folder), "stat")
        assert result.code == 3 and "msr driver is not loaded" in result.err and "modprobe msr" in result.err
    (tmp_path / "dev" / "cpu" / "0").mkdir(parents=True)
    for probe in ("msr:0@{}", "msr@{}"):
        result = run_tool("--probe", probe.format(tmp_path), "stat")
        assert result.code == 3 and "msr driver is not loaded" in result.err and "modprobe msr" in result.err


def test_a_machine_whose_processor_has_no_such_registers(tmp_path):
    """The MSR files exist, but refuse these registers."""
    folder = tmp_path / "dev" / "cpu" / "0"
    folder.mkdir(parents=True)
    (folder / "msr").write_bytes(b"")
    result = run_tool("--probe", f"msr:0@{tmp_path}", "stat")
    assert result.code == 3 and "refuse" in result.err
    assert os.path.getsize(folder / "msr") == 0


def test_what_needs_run_control_says_so(card):
    result = card.run("delta", "*0x1000", "*0x2000")
    assert result.code == 2 and "run control" in result.err
    result = card.run("doctor", "-C", 3)
    assert result.code == 0 and "TSC" in result.out
    assert card.read(3, STATUS) == 0
    result = card.run("list", "L2_READ")
    assert result.code == 0 and "L2_READ_MISS" in result.out

"""Events by name, code and group, metrics, `list`, `stat` and `watch` against the board's truth."""
import json
import os
import re
import struct
import subprocess
import time
import uuid

import pytest

from harness import ARTICLE_NOP, DWT_CPI, PREEMPTED, SLOW_CLOCK, WORK_BY_DATA, Place, finish_tool, run_tool, unfolded, wait_for

DWT = ["CPICNT", "EXCCNT", "SLEEPCNT", "LSUCNT", "FOLDCNT"]


def test_names_codes_and_any_case():
    with Place("m4/swd", "free", ARTICLE_NOP) as place:
        by_name = place.delta("article_nop", "-r", 5, "-e", "lsucnt", "-e", "CPICNT")
        by_code = place.delta("article_nop", "-r", 5, "-e", "r4,0x1")
        assert by_name.header["columns"] == by_code.header["columns"] == ["CPU_CYCLES", "LSUCNT", "CPICNT"]
        assert by_name.hits[0]["values"] == by_code.hits[0]["values"]


@pytest.mark.parametrize("events, words", [("nonsense", "unknown event nonsense"), ("17", "0x11"), ("{CPICNT", "brace"), ("CPICNT,CPICNT", "twice"),
                                           ("", "-e"), (",", "-e")])
def test_what_is_no_event(events, words):
    with Place("m4/swd", "free", ARTICLE_NOP) as place:
        before = place.board.state()
        result = place.run("delta", "article_nop", "-e", events)
        assert result.code == 2, result.err
        after = place.board.state()
        for name in ("dwt_ctrl", "demcr", "fp_comp", "fp_ctrl"):
            assert before[name] == after[name], name


def test_a_group_that_does_not_fit_is_refused_with_the_reason():
    with Place("rp2040/swd", "free", ARTICLE_NOP) as place:
        result = place.run("delta", "article_nop", "-e", "{CPU_CYCLES,CPICNT}")
        assert result.code == 2 and "CPICNT" in result.err


def test_metrics_of_ours_and_of_a_file(tmp_path):
    mine = tmp_path / "mine.metrics"
    mine.write_text("EVENTS CPICNT, LSUCNT\nMETRIC WAITS = (CPICNT + LSUCNT) / CYCLES\n")
    with Place("m4/swd", "free", DWT_CPI) as place:
        result = place.delta("dwt_cpi_start", "dwt_cpi_end", "-r", 20, "-M", "CPI", "-M", "INSTRUCTIONS", "-M", mine)
        mean = {name: column["mean"] for name, column in result.summary["columns"].items()}
        instructions = mean["CPU_CYCLES"] - mean["CPICNT"] - mean["EXCCNT"] - mean["SLEEPCNT"] - mean["LSUCNT"] + mean["FOLDCNT"]
        metrics = result.summary["metrics"]
        assert metrics["INSTRUCTIONS"] == pytest.approx(instructions)
        assert metrics["CPI"] == pytest.approx(mean["CPU_CYCLES"] / instructions)
        assert metrics["WAITS"] == pytest.approx((mean["CPICNT"] + mean["LSUCNT"]) / mean["CPU_CYCLES"])
        text = place.run("delta", "dwt_cpi_start", "dwt_cpi_end", "-r", 5, "-M", "CPI").out
        assert re.search(r"^CPI +[\d.]+$", text, re.M), text
        broken = tmp_path / "broken.metrics"
        broken.write_text("METRIC X = 1 +\n")
        assert place.run("delta", "dwt_cpi_start", "dwt_cpi_end", "-M", broken).code == 2
        assert place.run("delta", "dwt_cpi_start", "dwt_cpi_end", "-M", "nonsense").code == 2


def test_show_registers_and_memory_of_the_longest_hit():
    with Place("m4/swd", "free", WORK_BY_DATA) as place:
        result = place.delta("work_by_data", "-r", 200, "--show", "sp,r4,random_state,*0x20000000")
        best = 0
        for hit in result.hits:
            value = hit["values"]["CPU_CYCLES"]
            assert ("new_max" in hit) == (value > best and not hit["tainted"])
            best = max(best, value)
        at_max = result.summary["at_max"]
        longest = next(hit for hit in result.hits if hit["values"]["CPU_CYCLES"] == best)
        assert at_max["hit"] == longest["hit"]
        ends = [event for event in place.board.log() if event.kind == "halt" and event.sp == at_max["sp"]]
        assert ends and {key: at_max[key] for key in longest["new_max"]} == longest["new_max"]
        assert place.run("delta", "work_by_data", "--show", "r13").code == 2
        for address in ("*3", "* 4", "*+4", "*-4", "*010", "*0x", "*", "*4 ", "*0x100000000"):
            assert place.run("delta", "work_by_data", "--show", address).code == 2


@pytest.mark.parametrize("size", [1, 2, 8])
def test_show_reads_a_variable_as_wide_as_it_is(size, tmp_path):
    with Place("m4/swd", "free", WORK_BY_DATA) as place:
        with open(place.words("delta")[place.words("delta").index("--elf") + 1], "rb") as file:
            elf = bytearray(file.read())
        name = elf.index(b"\0random_state\0") + 1
        address = struct.pack("<II", place.board.symbol("random_state"), 4)
        at = elf.index(address)
        assert elf.find(address, at + 1) < 0 and elf[name:].startswith(b"random_state")
        elf[at + 4:at + 8] = struct.pack("<I", size)
        resized = tmp_path / "resized.elf"
        resized.write_bytes(elf)
        at_max = place.delta("work_by_data", "-r", 20, "--elf", resized, "--show", "random_state,*%#x" %
                             place.board.symbol("random_state")).summary["at_max"]
        whole = next(value for name, value in at_max.items() if name.startswith("*"))
        assert whole > 0xFFFF and at_max["random_state"] == whole & (1 << 8 * min(size, 4)) - 1


def test_hits_without_an_exception_inside_are_told_apart():
    with Place("m55/swd", "tick", PREEMPTED) as place:
        result = place.delta("preempted", "-r", 60, "-e", "EXC_TAKEN")
        free = [hit["values"]["CPU_CYCLES"] for hit in result.hits if hit["values"]["EXC_TAKEN"] == 0 and not hit["tainted"]]
        assert 0 < len(free) < 60, "some had a tick in them"
        told = result.summary["without_exceptions"]
        assert told["count"] == len(free) and told["max"] == max(free)
        assert max(free) < max(result.cycles) and result.summary["inclusive"] is True
        assert "without an exception inside" in place.run("delta", "preempted", "-r", 5, "-e", "EXC_TAKEN").out


@pytest.mark.any_row
@pytest.mark.parametrize("way", ["m4/swd", "a9/swd", "a53"])
def test_a_clock_that_the_counter_outruns_gives_no_times(way):
    with Place(way, "free", WORK_BY_DATA, clock=1_000_000) as place:
        text = place.run("delta", "work_by_data", "-r", 5, "--freq", "400k")
        assert text.code == 5, text.err + text.out
        assert "the clock is wrong: 0.4 MHz by --freq" in " ".join(text.out.split()) and not re.search(r"^time", text.out, re.M), text.out
        right = place.run("delta", "work_by_data", "-r", 5)
        assert "no times" not in right.out and re.search(r"^time", right.out, re.M), right.out


@pytest.mark.any_row(1)
@pytest.mark.parametrize("way", ["m4/swd", "m4"])
@pytest.mark.parametrize("words", [("delta", "work_by_data", "--for", "2s"), ("survey", "work_by_data", "--for", "2s"),
                                   ("survey", "--regions", "app.regions", "--check", "--for", "2s"),
                                   ("guard", "work_by_data", "--budget", "100ms", "--for", "2s"),
                                   ("guard", "work_by_data", "--budget", "1000000", "--for", "2s")], ids=lambda words: "-".join(words[::2]))
def test_a_clock_that_changes_gives_no_times(way, words, tmp_path):
    regions = tmp_path / "app.regions"
    regions.write_text("work work_by_data max <= 1 s\n")
    with Place(way, "free", WORK_BY_DATA) as place:
        run = place.start(*(str(regions) if word == "app.regions" else word for word in words))
        wait_for(lambda: any(comparator & 1 for comparator in place.board.state()["fp_comp"]) or run.poll() is not None, "a breakpoint")
        place.board.write_word("SystemCoreClock", 4_000_000)
        result = finish_tool(run)
        judged = "app.regions" in words or "100ms" in words
        assert result.code == (5 if judged else 0), result.err + result.out
        told = "SystemCoreClock went from 12 MHz to 4 MHz during the run" in unfolded(result.out)
        assert told == ("1000000" not in words), result.out  # a budget in cycles needs no clock
        assert not re.search(r"^time |, at 12 MHz", result.out, re.M), result.out


@pytest.mark.parametrize("words", [(), ("-j",)], ids=["text", "json"])
def test_stat_says_that_the_clock_changed(words):
    with Place("m4/swd", "free", WORK_BY_DATA) as place:
        run = place.start("stat", "--for", "2s", *words)
        wait_for(lambda: place.board.state()["dwt_ctrl"] & 1 or run.poll() is not None, "the counter")
        hz = 12_000_000
        while run.poll() is None:  # each time another clock, as nothing shows when the tool has read the first one
            hz -= 10_000
            place.board.write_word("SystemCoreClock", hz)
            time.sleep(0.02)
        result = finish_tool(run)
        change = re.search(r"SystemCoreClock went from (\S+) MHz to (\S+) MHz during the run", unfolded(result.out))
        assert result.code in (0, 5) and change and 12 >= float(change[1]) > float(change[2]), result.out + result.err


def test_list():
    everything = run_tool("list", "--cpu", "cortex-a9")
    assert everything.code == 0 and "0x0011" in everything.out and "CPU_CYCLES" in everything.out
    some = run_tool("list", "--cpu", "cortex-a9", "refill")
    assert 0 < len(some.out.splitlines()) < len(everything.out.splitlines())
    assert run_tool("list", "--cpu", "z80").code == 2
    with Place("m4/swd") as place:
        listed = place.run("list", elf=False).out
        assert all(event in listed for event in DWT)


@pytest.mark.parametrize("way", ["rp2040", "m4", "m4/swd", "rp2040/v2"])
def test_stat_agrees_with_the_truth_within_the_skew(way):
    with Place(way, "free", WORK_BY_DATA) as place:
        before = place.board.state()["cycles"]
        result = place.run("stat", "-j", "--for", "1s", "-I", 250)
        after = place.board.state()["cycles"]
        assert result.code == 0, result.err
        summary = result.summary
        count = summary["columns"]["CPU_CYCLES"]["count"]
        assert 0 < count <= after - before
        samples = [line for line in result.lines if line["type"] == "sample"]
        assert sum(line["columns"]["CPU_CYCLES"]["count"] for line in samples) == count
        assert all(0 < line["skew_us"] <= summary["skew_us"] for line in samples), samples
        # the board never runs ahead of its clock, and its counter is read within the window and the skew
        assert count <= (summary["seconds"] + 2e-6 * summary["skew_us"] + 0.004) * 12e6
        assert not summary["columns"]["CPU_CYCLES"]["at_least"] or summary["lost"]


@pytest.mark.parametrize("way, event", [("a9/swd", "r68"), ("a7/swd", "r8"), ("a9", "r68")])
def test_counters_of_a_window_agree_within_the_skew(way, event):
    """On these boards each instruction takes one cycle, so the two counts differ only by the time between their reads."""
    with Place(way, "free", WORK_BY_DATA) as place:
        counts = [0]
        for seconds in (0.6, 6, 60):  # as long as it takes on a busy machine
            if min(counts) <= 100_000:
                result = place.run("stat", "-j", "--for", seconds, "-I", 200, "-e", event)
                assert result.code == 0, result.err
                counts = [column["count"] for column in result.summary["columns"].values()]
        assert len(counts) == 2 and min(counts) > 100_000
        assert abs(counts[0] - counts[1]) <= 2e-6 * result.summary["skew_us"] * 12e6 + 1
        samples = [line for line in result.lines if line["type"] == "sample"]
        assert samples
        for sample in samples:
            counts = [column["count"] for column in sample["columns"].values()]
            assert abs(counts[0] - counts[1]) <= 2e-6 * sample["skew_us"] * 12e6 + 1, sample
        watched = place.run("watch", "-j", "--for", "600ms", "-I", 200, "-e", event)
        totals = [value["count"] for value in watched.summary["columns"].values()]
        assert len(totals) == 2 and abs(totals[0] - totals[1]) <= 2e-6 * watched.summary["skew_us"] * 12e6 + 1


def test_stat_in_text_and_csv_and_events_that_are_only_bounded():
    with Place("m4/swd", "free", WORK_BY_DATA) as place:
        text = place.run("stat", "-e", "LSUCNT", "--for", "300ms").out
        assert re.search(r"^ *[\d,]+  CPU_CYCLES .*/s$", text, re.M), text
        assert re.search(r"at least [\d,]+  LSUCNT", text), text
        assert "counters are sampled up to" in text
        heading, line = (line.split(";") for line in place.run("stat", "-x", ";", "--for", "300ms").out.splitlines())
        row = dict(zip(heading, line))
        assert int(row["count"]) > 0 and row["name"] == "CPU_CYCLES" and row["unit"] == "cycles"
        watched = place.run("watch", "-x", ";", "-I", "100", "--for", "300ms").out.splitlines()
        assert watched[0].split(";") == heading and len(watched) > 1 and all(line.startswith(";CPU_CYCLES;cycles;") for line in watched[1:])
        assert place.run("stat", "-x", ";;", "--for", "300ms").code == 2


def test_stat_restores_what_it_switched_on():
    with Place("m4/swd", "free", WORK_BY_DATA) as place:
        before = place.board.state()
        assert place.run("stat", "-e", ",".join(DWT), "--for", "200ms").code == 0
        after = place.board.state()
        assert (before["dwt_ctrl"], before["demcr"]) == (after["dwt_ctrl"], after["demcr"])


@pytest.mark.parametrize("way", ["m4", "m4/swd"])
def test_watch_lines_add_up(way):
    with Place(way, "free", WORK_BY_DATA) as place:
        result = place.run("watch", "-j", "--for", "1s", "-I", 200, "-e", "LSUCNT")
        assert result.code == 0, result.err
        lines = [line for line in result.lines if line["type"] == "sample"]
        assert 1 <= len(lines) <= 5
        assert all(line["samples"] >= 1 for line in lines)
        for name in ("CPU_CYCLES", "LSUCNT"):
            assert result.summary["columns"][name]["count"] == sum(line["columns"][name]["count"] for line in lines)
        assert result.summary["samples"] == sum(line["samples"] for line in lines)


class Terminal:
    """A real terminal, driven from outside."""

    def __init__(self, place, *args, command="watch", shell=None):
        """`shell`: a file; in a shell with job control, in which `run` runs it."""
        self.name = f"pmu-{uuid.uuid4().hex}"  # an id is used again, while the server of that name still ends
        command = " ".join(f"'{word}'" for word in place.words(command, *args))
        command = f"{command}; echo ENDED $?; sleep 60"
        if shell:
            shell.write_text(f"PS1='shell> '; alias run=\"{command.split(';')[0]}\"\n", encoding="utf-8")
            command = f"bash --noprofile --rcfile {shell} -i"
        self._tmux("new-session", "-d", "-s", self.name, "-x", "100", "-y", "20", command)

    def _tmux(self, *words):
        environment = dict(os.environ, LC_ALL="C.UTF-8", ASAN_OPTIONS="detect_leaks=0")
        return subprocess.run(["tmux", "-L", self.name, "-u", *words], env=environment, capture_output=True, text=True,
                              check=True).stdout

    def text(self):
        return self._tmux("capture-pane", "-p", "-t", self.name)

    def captured(self):
        """With its colours."""
        return self._tmux("capture-pane", "-e", "-p", "-t", self.name)

    def picture(self):
        """A whole one: the terminal may be in the midst of drawing."""
        while True:
            text = self.text()
            if "q quit" in text or "ENDED" in text:
                return text

    def process(self):
        """The tool, a child of the terminal's shell."""
        shell = self._tmux("display-message", "-p", "-t", self.name, "#{pane_pid}").strip()
        with open(f"/proc/{shell}/task/{shell}/children", encoding="ascii") as children:
            return int(children.read().split()[0])

    def press(self, key):
        self._tmux("send-keys", "-t", self.name, key)

    def resize(self, columns, lines):
        self._tmux("resize-window", "-t", self.name, "-x", str(columns), "-y", str(lines))

    def close(self):
        subprocess.run(["tmux", "-L", self.name, "kill-server"], capture_output=True, check=False)


def total_of(text):
    found = re.search(r"^CPU_CYCLES .* ([\d,]+)$", text, re.M)
    return int(found.group(1).replace(",", "")) if found else 0


def test_the_live_screen():
    with Place("m4/swd", "free", WORK_BY_DATA, clock=SLOW_CLOCK) as place:
        terminal = Terminal(place, "-I", "100", "-e", "LSUCNT,CPICNT", "-M", "IPC")
        try:
            wait_for(lambda: total_of(terminal.text()) > 0, "the first picture")
            first = total_of(terminal.text())
            wait_for(lambda: total_of(terminal.text()) > first, "the total to grow")
            text = terminal.picture()
            assert "Cortex-M4" in text and "samples/s" in text and "█" in text and "LSUCNT" in text and "IPC" in text
            terminal.press("Space")
            wait_for(lambda: "PAUSED" in terminal.text(), "the pause")
            held = total_of(terminal.text())
            assert re.search(r"^CPU_CYCLES +[1-9][\d,]*/s", terminal.text(), re.M), "the rates that it had"
            time.sleep(0.5)
            assert total_of(terminal.text()) == held
            terminal.press("Space")
            wait_for(lambda: total_of(terminal.text()) > held, "it to go on")
            wait_for(lambda: total_of(terminal.text()) > 2 * SLOW_CLOCK, "two seconds' worth")
            terminal.press("z")
            wait_for(lambda: 0 < total_of(terminal.text()) < 2 * SLOW_CLOCK, "zero")
            terminal.resize(60, 6)
            wait_for(lambda: all(len(line) <= 60 for line in terminal.text().splitlines()), "the new size")
            terminal.resize(100, 20)
            terminal.press("q")
            wait_for(lambda: "ENDED 0" in terminal.text(), "the end")
            text = terminal.picture()
            assert "samples/s" not in text, "the screen was left as it was found"
            assert re.search(r" [\d,]+ CPU_CYCLES [\d,]+ /s ", unfolded(text)), "the totals stay"
        finally:
            terminal.close()


def test_each_line_has_a_sample_when_intervals_are_too_short():
    with Place("r5", "free", WORK_BY_DATA) as place:
        result = place.run("watch", "-j", "-I", "1ms", "--for", "200ms")
        assert result.code == 0, result.err
        lines = [line for line in result.lines if line["type"] == "sample"]
        assert lines and all(line["samples"] >= 1 and line["columns"]["CPU_CYCLES"]["count"] > 0 for line in lines)


def test_several_passes_of_json_are_parsed_line_by_line():
    with Place("m4/swd", "free", ARTICLE_NOP) as place:
        result = place.delta("article_nop", "-r", 7, "-e", ",".join(DWT))
        assert json.dumps(result.header["columns"]) == json.dumps(["CPU_CYCLES", *DWT])
        assert len(result.hits) == 7


def test_a_metric_over_two_windows_takes_each_ones_cycles():
    """The clock falls between the two: cycles of the second by instructions of the first would be half of the CPI."""
    with Place("a7/swd", "free", WORK_BY_DATA, clock=4_000_000) as place:
        events = "INST_RETIRED,LD_RETIRED,ST_RETIRED,EXC_TAKEN,PC_WRITE_RETIRED"
        for pause in (0.6, 1, 1.4):  # a busy machine begins late
            place.board.set("clock", 4_000_000)
            process = place.start("stat", "-e", events, "-M", "CPI", "--for", "700ms", "-j")
            time.sleep(pause)
            place.board.set("clock", 1_000_000)
            result = finish_tool(process)
            assert result.code == 0 and result.summary["passes"] == 2 and result.summary["metrics"]["CPI"] == pytest.approx(1, abs=0.05)

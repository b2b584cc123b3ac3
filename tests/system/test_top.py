"""`top`: lists of shares while the core runs, and the live screen on a terminal. What the shares are worth is `record`'s to prove; here
each list is of its own time, and keys do what they say."""
import json
import os
import re
import signal
import time

import pytest

from gdb_place import GdbPlace
from harness import NOWHERE, WORK_BY_DATA, Place, finish_tool, wait_for
from test_counting import Terminal
from test_record import halts
from test_restore import assert_runs, snapshot


def lists_of(lines):
    """For each list its core's line and the rows, and the last line."""
    lists = []
    for line in lines[1:-1]:
        if line["type"] == "core":
            lists.append((line, []))
        else:
            assert line["type"] == "share" and line["core"] == lists[-1][0]["core"]
            lists[-1][1].append(line)
    return lists, lines[-1]


@pytest.mark.any_row(1)
@pytest.mark.parametrize("way", ["m4/swd", "rp2040/swd", "a9/swd", "a53/swd", "m4"])
def test_each_list_is_of_its_own_time(way):
    with Place(way, "free", WORK_BY_DATA) as place:
        place.board.watch(NOWHERE)
        place.run("info")
        before = snapshot(place)
        result = place.run("top", "-j", "-I", "300ms", "--for", "3s")
        assert result.code == 0 and result.err == "", result.err
        assert halts(place) == [], "the core was stopped"
        assert_runs(place)
        assert snapshot(place) == before
        assert result.lines[0]["command"] == "top"
        lists, end = lists_of(result.lines)
        assert len(lists) >= 2 and end["type"] == "summary" and end["seconds"] >= 3
        assert end["samples"] == sum(core["samples"] for core, _ in lists)
        times = [0, *(core["since_begin"] for core, _ in lists)]
        for (core, rows), begin, at in zip(lists, times, times[1:]):
            assert core["samples"] == sum(row["samples"] for row in rows)
            assert core["seconds"] <= at - begin + 0.001 and "notes" not in core
            assert sum(row["share"] for row in rows) == pytest.approx(1)
        assert lists[0][1][0]["function"] == "work_by_data"
        assert any("plus_minus" in row for _, rows in lists for row in rows)


def test_lists_as_text():
    with Place("m4/swd", "free", WORK_BY_DATA) as place:
        result = place.run("top", "-I", "200ms", "--for", "500ms", "--sort", "line")
        assert result.code == 0 and len(re.findall(r"^after ", result.out, re.M)) >= 2
        assert "core 0 Cortex-M4 r0p1, by DWT_PCSR: " in result.out and "asleep 0.0 %" in result.out
        assert re.search(r"^ *[\d.]+ % +[\d.?]+ +[\d,]+ +work_by_data +scenarios\.c:\d+$", result.out, re.M), result.out
        bare = place.run("top", "-I", "200ms", "--for", "300ms", elf=False)
        assert re.search(r"^ *[\d.]+ % +[\d.?]+ +[\d,]+ +0x080\w+$", bare.out, re.M), bare.out


def test_lists_of_all_cores():
    with Place("rp2040/swd", "free", WORK_BY_DATA) as place:
        result = place.run("top", "-a", "-I", "300ms", "--for", "700ms", "-j")
        assert result.code == 0, result.err
        lists, _ = lists_of(result.lines)
        assert [core["core"] for core, _ in lists][:4] == [0, 1, 0, 1]
        assert all(row["function"].startswith("core1_") == (core["core"] == 1) for core, rows in lists for row in rows)


def test_ctrl_c_is_its_end():
    with Place("m4/swd", "free", WORK_BY_DATA) as place:
        before = place.board.state()["demcr"]
        tool = place.start("top", "-j", "-I", "100ms")
        lines = [tool.stdout.readline() for _ in range(3)]
        result = finish_tool(tool, signal.SIGINT)
        assert result.code == 0, result.err
        assert json.loads(lines[1])["type"] == "core" and result.lines[-1]["type"] == "summary"
        assert_runs(place)
        assert place.board.state()["demcr"] == before


@pytest.mark.nobody_answers
def test_a_lost_link_leaves_a_last_list():
    with Place("m4/swd", "free", WORK_BY_DATA) as place:
        tool = place.start("top", "-j", "-I", "100ms")
        tool.stdout.readline()
        tool.stdout.readline()
        place.board.process.kill()
        result = finish_tool(tool)
        assert result.code == 3 and result.err and result.lines[-1]["type"] == "summary"


def test_where_nothing_can_be_sampled_while_it_runs():
    with Place("r5/swd", "free", WORK_BY_DATA) as place:
        result = place.run("top", "--for", "1s")
        assert result.code == 3 and "has no PC sample register" in result.err and result.out == ""
        bad = place.run("top", "--sort", "task")
        assert bad.code == 2 and "function, line, file or address" in bad.err
    with GdbPlace("m4", "free", WORK_BY_DATA) as place:
        result = place.run("top", "--for", "1s")
        assert result.code == 0 and "by halts" in result.out and "asleep" not in result.out, result.err


def test_the_live_screen():
    with Place("m4/swd", "free", WORK_BY_DATA) as place:
        before = place.board.state()["demcr"]
        terminal = Terminal(place, "-I", "100", command="top")
        try:
            row = re.compile(r"^> +([\d.]+) % +[\d.]+  work_by_data ", re.M)
            wait_for(lambda: row.search(terminal.text()), "the first picture with its error")
            text = terminal.picture()
            assert "core 0 Cortex-M4 r0p1, by DWT_PCSR" in text and "samples/s" in text and "asleep 0.0 %" in text, text
            terminal.press("Space")
            wait_for(lambda: "PAUSED" in terminal.text(), "the pause")
            held = terminal.picture()
            time.sleep(0.5)
            assert terminal.picture() == held
            terminal.press("s")
            wait_for(lambda: re.search(r"work_by_data .*scenarios\.c:(?!26\b)\d+", terminal.text()), "lines")
            terminal.press("s")
            wait_for(lambda: re.search(r"% +[\d.]+  scenarios\.c\b(?!:)", terminal.text()), "files")
            terminal.press("s")
            wait_for(lambda: "0x0800" in terminal.text(), "addresses")
            terminal.press("s")
            terminal.press("Space")
            wait_for(lambda: "PAUSED" not in terminal.text() and row.search(terminal.text()), "functions, and it goes on")
            terminal.press("Enter")
            wait_for(lambda: re.search("lines of work_by_data(?s:.*)scenarios\\.c:", terminal.text()), "its lines")
            assert " main " not in terminal.picture()
            terminal.press("Escape")
            wait_for(lambda: row.search(terminal.text()), "functions")
            terminal.press("Down")
            wait_for(lambda: re.search(r"^> .*  (?!work_by_data)", terminal.text(), re.M), "the mark to go down")
            terminal.resize(40, 10)
            wait_for(lambda: all(len(line) <= 40 for line in terminal.text().splitlines()), "the new size")
            terminal.resize(100, 20)
            terminal.press("q")
            wait_for(lambda: "ENDED 0" in terminal.text(), "the end")
            assert re.search(r"% .*work_by_data", terminal.picture()), "the last list stays"
        finally:
            terminal.close()
        assert_runs(place)
        assert place.board.state()["demcr"] == before


def open_top(place, *args):
    """Once the mark is at work_by_data, whose samples are the most."""
    terminal = Terminal(place, "-I", "100", *args, command="top")
    wait_for(lambda: re.search(r"^> +[\d.]+ % +[\d.]+  work_by_data ", terminal.text(), re.M), "the first picture")
    return terminal


def mark(terminal, name):
    terminal.press("Space")  # the rows stay where they are
    wait_for(lambda: "PAUSED" in terminal.text(), "the pause")
    while not re.search(rf"^> .*  {name} ", terminal.text(), re.M):
        marked = re.search(r"^> .*", terminal.text(), re.M)[0]
        terminal.press("Down")
        wait_for(lambda: marked not in terminal.text(), "the mark to go down")


@pytest.mark.any_row(1)
@pytest.mark.parametrize("way", ["m4/swd", "rp2040/swd", "a9/swd"])
def test_keys_measure_the_marked_function(way, tmp_path, monkeypatch):
    """In the session that samples: all is put back in between, and at the end."""
    monkeypatch.chdir(tmp_path)
    with Place(way, "free", WORK_BY_DATA) as place:
        place.board.watch(NOWHERE)
        place.run("info")
        before = snapshot(place)
        terminal = open_top(place)
        try:
            assert halts(place) == []
            terminal.press("d")
            wait_for(lambda: re.search("delta of work_by_data(?s:.*)^CPU_CYCLES .*\\d", terminal.text(), re.M), "the counts")
            assert re.search(r"work_by_data +scenarios\.c:\d+ to its return", terminal.picture())
            stops = len(halts(place))
            assert stops > 0
            terminal.press("Escape")
            row = re.compile(r"^> +[\d.]+ % +[\d.]+  work_by_data ", re.M)
            wait_for(lambda: row.search(terminal.text()), "the rows")
            assert len(halts(place)) == stops, "the core was stopped after the measurement"
            terminal.press("l")
            wait_for(lambda: re.search("lines of work_by_data(?s:.*)esc back", terminal.text()), "the lines")
            for _ in range(10):
                terminal.press("Space")
            wait_for(lambda: "the function by itself" in terminal.text(), "their end")
            terminal.press("Escape")
            wait_for(lambda: row.search(terminal.text()), "the rows")
            terminal.press("a")
            wait_for(lambda: re.search("samples of work_by_data(?s:.*)esc back", terminal.text()), "the code")
            terminal.press("Escape")
            wait_for(lambda: row.search(terminal.text()), "the rows")
            terminal.press("g")
            wait_for(lambda: "top.html has the page" in terminal.text(), "the page")
            page = (tmp_path / "top.html").read_text(encoding="utf-8")
            assert page.startswith("<!DOCTYPE html>") and "work_by_data" in page and page.rstrip().endswith("</html>")
            terminal.press("q")
            wait_for(lambda: "ENDED 0" in terminal.text(), "the end")
        finally:
            terminal.close()
        assert_runs(place)
        assert snapshot(place) == before


@pytest.mark.parametrize("end", ["C-c", "TERM", "KILL"])
def test_a_signal_in_a_measurement_ends_it_all(end):
    """Of what a kill leaves, `restore` learns from the journal."""
    with Place("m4/swd", "free", WORK_BY_DATA) as place:
        place.board.watch(NOWHERE)
        place.run("info")
        before = snapshot(place)
        terminal = open_top(place)
        try:
            terminal.press("d")
            wait_for(lambda: len(halts(place)) > 0, "the first stop")
            if end == "C-c":
                terminal.press(end)
            else:
                os.kill(terminal.process(), signal.SIGKILL if end == "KILL" else signal.SIGTERM)
            wait_for(lambda: "ENDED" in terminal.text(), "the end")
            if end == "KILL":
                place.run("restore", elf=False)
        finally:
            terminal.close()
        assert_runs(place)
        assert snapshot(place) == before


def test_a_function_that_is_not_reached_says_so():
    with Place("m4/swd", "free", WORK_BY_DATA) as place:
        terminal = open_top(place, "--timeout", "300ms")
        try:
            mark(terminal, "main")
            terminal.press("d")
            wait_for(lambda: re.search("delta of main(?s:.*)esc back", terminal.text()), "the end of its patience")
            assert re.search("not reached|not|return", terminal.picture())
            terminal.press("Escape")
            wait_for(lambda: re.search(r"^> .*  main ", terminal.text(), re.M), "the rows")
        finally:
            terminal.close()
        assert_runs(place)


@pytest.mark.nobody_answers
def test_a_lost_link_in_a_measurement():
    with Place("m4/swd", "free", WORK_BY_DATA) as place:
        terminal = open_top(place)
        try:
            terminal.press("d")
            wait_for(lambda: len(halts(place)) > 0 or "delta of" in terminal.text(), "the measurement")
            place.board.process.kill()
            wait_for(lambda: "ENDED 3" in terminal.text(), "the end")
        finally:
            terminal.close()


def test_why_a_key_does_nothing():
    """In the foot."""
    with Place("rp2040/swd", "free", WORK_BY_DATA) as place:
        terminal = open_top(place, "-a")
        try:
            terminal.press("d")
            wait_for(lambda: "d: -a samples all cores" in terminal.text(), "the reason")
            terminal.press("l")
            wait_for(lambda: "l: -a samples all cores" in terminal.text(), "the reason")
            assert halts(place) == []
        finally:
            terminal.close()
    with GdbPlace("m4", "free", WORK_BY_DATA) as place:
        terminal = open_top(place)
        try:
            terminal.press("d")
            wait_for(lambda: "d: a GDB server has the core" in terminal.text(), "the reason")
        finally:
            terminal.close()


def test_the_largest_stay_on_the_terminal():
    with Place("m4/swd", "free", WORK_BY_DATA) as place:
        terminal = open_top(place)
        try:
            terminal.resize(80, 12)
            terminal.press("s")
            wait_for(lambda: re.search(r"scenarios\.c:\d+", terminal.text()), "lines")
            terminal.press("q")
            wait_for(lambda: "ENDED 0" in terminal.text(), "the end")
            assert re.search(r"^ *share .*(?s:.*)^ENDED 0", terminal.text(), re.M), "the heading is there"
        finally:
            terminal.close()


@pytest.mark.parametrize("command,seen", [("top", "work_by_data"), ("watch", "CPU_CYCLES")])
def test_ctrl_z_gives_the_terminal_back(command, seen, tmp_path):
    """As it was, and takes it again once the shell lets it go on."""
    with Place("m4/swd", "free", WORK_BY_DATA) as place:
        terminal = Terminal(place, "-I", "100", command=command, shell=tmp_path / "rc")
        try:
            wait_for(lambda: "shell>" in terminal.text(), "the shell")
            terminal.press("run")
            terminal.press("Enter")
            wait_for(lambda: seen in terminal.text() and "q quit" in terminal.text(), "the picture")
            terminal.press("C-z")
            wait_for(lambda: "Stopped" in terminal.text(), "the shell")
            assert "q quit" not in terminal.text()
            terminal.press("stty -a")
            terminal.press("Enter")
            wait_for(lambda: re.search(r"(?<!-)\bicanon\b", terminal.text()), "what it finds")
            assert re.search(r"(?<!-)\becho\b", terminal.text())
            terminal.press("fg")
            terminal.press("Enter")
            wait_for(lambda: seen in terminal.text() and "q quit" in terminal.text(), "the picture")
            terminal.press("q")
            wait_for(lambda: "q quit" not in terminal.text() and terminal.text().rstrip().endswith("shell>"), "the end")
        finally:
            terminal.close()
        assert_runs(place)


def test_each_key_answers():
    with Place("m4/swd", "free", WORK_BY_DATA) as place:
        terminal = open_top(place)
        try:
            terminal.press("Escape")
            wait_for(lambda: "esc: q quits, ? shows the keys" in terminal.text(), "an answer")
            terminal.press("x")
            wait_for(lambda: "?: shows the keys" in terminal.text(), "an answer")
            terminal.press("?")
            wait_for(lambda: "Ctrl-Z " in terminal.text(), "the keys")
            terminal.press("Escape")
            wait_for(lambda: re.search("^> ", terminal.text(), re.M), "the rows")
            terminal.press("C-\\")
            wait_for(lambda: "ENDED 0" in terminal.text(), "the end")
        finally:
            terminal.close()
        assert_runs(place)
        terminal = Terminal(place, "-I", "100")
        try:
            wait_for(lambda: "CPU_CYCLES" in terminal.text(), "the picture")
            terminal.press("Escape")
            wait_for(lambda: "? shows the keys" in terminal.text(), "an answer")
            terminal.press("?")
            wait_for(lambda: "Ctrl-Z " in terminal.text(), "the keys")
            terminal.press("q")
            wait_for(lambda: "ENDED 0" in terminal.text(), "the end")
        finally:
            terminal.close()


@pytest.mark.parametrize("key", ["d", "l"])
def test_keys_in_a_measurement_that_waits(key):
    """Of a function that is never called: Esc ends the measurement, q all."""
    with Place("m4/swd", "free", WORK_BY_DATA) as place:
        place.board.watch(NOWHERE)
        place.run("info")
        before = snapshot(place)
        terminal = open_top(place)
        try:
            mark(terminal, "main")
            terminal.press(key)
            wait_for(lambda: re.search(rf"^{key}: .*waiting.*esc stops", terminal.text(), re.M), "the progress")
            terminal.press("Escape")
            wait_for(lambda: "No call of main ended" in terminal.text(), "the end")
            terminal.press("Escape")
            wait_for(lambda: re.search(r"^> .*  main ", terminal.text(), re.M), "the rows")
            terminal.press(key)
            wait_for(lambda: re.search(rf"^{key}: .*waiting.*esc stops", terminal.text(), re.M), "the progress")
            terminal.press("q")
            wait_for(lambda: "ENDED 0" in terminal.text(), "the end")
        finally:
            terminal.close()
        assert_runs(place)
        assert snapshot(place) == before


@pytest.mark.nobody_answers
@pytest.mark.parametrize("command,seen", [("top", "work_by_data"), ("watch", "CPU_CYCLES")])
def test_q_while_the_link_is_silent(command, seen):
    with Place("m4/swd", "free", WORK_BY_DATA) as place:
        terminal = Terminal(place, "-I", "100", command=command)
        try:
            wait_for(lambda: seen in terminal.text(), "the picture")
            place.board.process.send_signal(signal.SIGSTOP)
            terminal.press("q")
            wait_for(lambda: "q quit" not in terminal.text(), "the terminal")
            wait_for(lambda: "ENDED" in terminal.text(), "the end")
        finally:
            place.board.process.send_signal(signal.SIGCONT)
            terminal.close()

"""`survey --boards`: each board's numbers are its truth, a board that fails does not stop the others, and Ctrl-C puts every
target back."""
import contextlib
import os
import signal

import pytest

from harness import CALLED_TWICE, NOWHERE, TOOL, WORK_BY_DATA, Place, finish_tool, start_tool, unfolded, wait_for
from test_restore import assert_runs, journals, snapshot
from test_survey import check_truth

BITS = WORK_BY_DATA | CALLED_TWICE


@pytest.fixture
def two():
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(Place(way, "free", BITS)) for way in ("m4/swd", "rp2040/swd")]


def board_line(place, *words):
    return " ".join([place.chip, place.probe_words()[1], f'"{place.elf}"', "--transport swd", *words])


def survey(folder, lines, *words):
    path = folder / "lab.boards"
    path.write_text("# a table\n" + "\n".join(lines) + "\n")
    return start_tool([TOOL, "survey", "--boards", str(path), *map(str, words)])


def test_each_number_is_the_truth_and_a_board_that_fails_stops_none(two, tmp_path):
    (tmp_path / "a.regions").write_text("work work_by_data <= 100000000 cycles\none caller_one <= 1 cycles\n"
                                        "never never_called <= 5 cycles\n")
    before = [snapshot(place) for place in two]
    for place in two:
        place.board.watch(NOWHERE)
    lines = [board_line(place) for place in two] + ["gone cmsis-dap-tcp:127.0.0.1:1 none.elf"]
    result = finish_tool(survey(tmp_path, lines, "--regions", tmp_path / "a.regions", "--check", "-r", 20, "-j", "--for", "20s"))
    assert result.code == 2, result.err  # of the worst board: its ELF file is not there
    assert result.header["command"] == "survey" and result.summary["boards"] == 3 and result.summary["failed"] == 1
    ends = {line["board"]: line for line in result.lines if line["type"] == "board_end"}
    assert {name: line["exit_code"] for name, line in ends.items()} == {"m4": 1, "rp2040": 1, "gone": 2}
    assert "none.elf" in ends["gone"]["error"]
    for place in two:
        log = place.board.log()
        regions = {line["name"]: line for line in result.lines if line["type"] == "region" and line["board"] == place.chip}
        assert {name: line["budget"]["verdict"] for name, line in regions.items()} == {"work": "pass", "one": "regressed",
                                                                                       "never": "inconclusive"}
        for name, function in (("work", "work_by_data"), ("one", "caller_one")):
            check_truth(place, {**regions[name], "name": function}, log)
        assert_runs(place)
    assert [snapshot(place) for place in two] == before


def test_the_table_has_each_region_on_each_board(two, tmp_path):
    lines = [board_line(place) for place in two]
    result = finish_tool(survey(tmp_path, lines, "work_by_data", "caller_one", "-r", 5))
    assert result.code == 0, result.err
    rows = [line.split() for line in result.out.splitlines()]
    assert ["region", "m4", "rp2040"] in rows
    for name in ("work_by_data", "caller_one"):
        row = next(words for words in rows if words[:1] == [name])
        assert row.count("measured") == 2, result.out
    assert "2 of 2 boards measured" in result.out
    one = finish_tool(survey(tmp_path, ["absent cmsis-dap-tcp:127.0.0.1:1 " + two[0].elf, *lines], "caller_one", "-r", 5))
    assert one.code == 3 and "absent: failed: " in one.out and "2 of 3 boards measured" in one.out, one.out


def test_ctrl_c_puts_every_target_back(two, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    before = [snapshot(place) for place in two]
    process = survey(tmp_path, [board_line(place) for place in two], "work_by_data", "--for", "10min")
    for place in two:
        place.wait_for_stops(5)
    result = finish_tool(process, signal.SIGINT)
    assert result.code == 0 and "2 of 2 boards measured" in result.out, result.err + result.out
    for place in two:
        assert_runs(place)
    assert [snapshot(place) for place in two] == before and journals(os.path.join(tmp_path, "pmu-probe")) == []


def test_if_it_is_killed_its_processes_end_and_put_back(two, tmp_path):
    before = [snapshot(place) for place in two]
    process = survey(tmp_path, [board_line(place) for place in two], "work_by_data", "--for", "10min")
    for place in two:
        place.wait_for_stops(5)
    process.kill()
    process.communicate()  # ends once the last of them has
    for place, state in zip(two, before):
        wait_for(lambda place=place, state=state: snapshot(place) == state, "the target to be put back")
        assert_runs(place)


def test_what_the_file_must_not_say(tmp_path):
    for lines, words, error in [
            (["a openocd e.elf -c exec"], ["work"], "lab.boards:2: -c starts OpenOCD with commands"),
            (["a openocd"], ["work"], "lab.boards:2: a board is a name"),
            (["a openocd e.elf"], [], "a PATTERN of function names, or --regions FILE"),
            (["a openocd e.elf"], ["work", "--check"], "--check needs --regions FILE"),
            (["a openocd e.elf"], ["work", "--format", "junit"], "--boards prints text or JSON lines"),
            (["a openocd e.elf"], ["work", "-p", "openocd"], "each board has its own in that file"),
            (["a openocd e.elf"], ["work", "--hot", "3"], "each board would choose others")]:
        result = finish_tool(survey(tmp_path, lines, *words))
        assert result.code == 2 and error in unfolded(result.err), result.err
    result = finish_tool(start_tool([TOOL, "survey", "--boards", str(tmp_path / "none"), "work"]))
    assert result.code == 2 and "No such file" in result.err

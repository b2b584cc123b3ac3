"""-v and -vv: what is exchanged, on standard error; the measurement is the same."""
import json
import re

import pytest

from harness import CLOSED_PORT, WORK_BY_DATA, Place, elf_of, finish_tool, run_tool, start_tool

LINE = re.compile(r" *\d+\.\d{6}  +\S.*")


def log_of(result):
    lines = result.err.partition("pmu-probe: ")[0].splitlines()
    for line in lines:
        assert line.isprintable() and LINE.fullmatch(line), line
    return [line.lstrip().split("  ", 1)[1].strip() for line in lines]


@pytest.mark.parametrize("way, marks", [
    ("m4/swd", ["dap > 00 f0  DAP_Info", "DAP_Transfer"]),
    ("m4", ["tcl > pmu_execute", "tcl < pmu "]),
])
def test_all_that_is_said(way, marks):
    with Place(way, "free", WORK_BY_DATA) as place:
        silent = place.run("delta", "work_by_data", "-r", 3)
        brief = place.run("-v", "delta", "work_by_data", "-r", 3)
        everything = place.run("delta", "work_by_data", "-r", 3, "-vv")
        assert silent.code == brief.code == everything.code == 0 and silent.err == ""
        said, all_said = log_of(brief), log_of(everything)
        assert any("core 0: Cortex-M4 r0p1, id 0x410fc241" in line for line in said)
        assert not any(" > " in line or " < " in line for line in said) and len(said) < 30
        assert all(any(mark in line for line in all_said) for mark in marks)
        assert {line.split()[1] for line in all_said if re.match(r"(dap|tcl) [<>]", line)} == {"<", ">"}


def test_gdb_packets():
    with Place("m4", "free", WORK_BY_DATA, commands=["gdb_port 0"]) as place:
        found = re.search(r"Listening on port (\d+) for gdb connections", place.server.output)
        result = run_tool("-vv", "-p", f"gdb:127.0.0.1:{found.group(1)}", "--elf", elf_of("m4", "free"), "info")
        assert any(line.startswith("gdb > qSupported") for line in log_of(result)), result.err


def test_openocds_own_lines():
    """Of our own OpenOCD: its errors without -v, all with it."""
    words = ["-c", f"adapter driver remote_bitbang; remote_bitbang host localhost; remote_bitbang port {CLOSED_PORT}; "
             "transport select jtag", "info"]
    result = run_tool(*words)
    assert result.code == 3
    assert result.err.startswith("pmu-probe: OpenOCD could not start: Error on socket") and "Info :" not in result.err
    told = log_of(run_tool("-v", *words))
    assert any(line.startswith("openocd: Info : Listening on port") for line in told)
    assert any(line.startswith("openocd: Open On-Chip Debugger") for line in told)


@pytest.mark.parametrize("way", ["m4/swd", "m4"])
@pytest.mark.parametrize("closed", ["0<&-", "2>&-", "0<&- 2>&-"])
@pytest.mark.parametrize("to_file", [False, True])
def test_a_closed_stream_is_no_file_of_the_run(way, closed, to_file, tmp_path):
    """Else the connection is number 2, and gets the notes."""
    with Place(way, "free", WORK_BY_DATA) as place:
        words = place.words("delta", "work_by_data", "-r", 3, "-vv", "-j", *(["-o", tmp_path / "run.jsonl"] if to_file else []))
        result = finish_tool(start_tool(["sh", "-c", f'exec "$@" {closed}', "sh", *map(str, words)]))
        lines = (tmp_path / "run.jsonl").read_text() if to_file else result.out
        assert result.code == 0 and [json.loads(line)["type"] for line in lines.splitlines()] == ["header", *["hit"] * 3, "summary"], result


def test_a_closed_output_is_an_error(tmp_path):
    with Place("m4/swd", "free", WORK_BY_DATA) as place:
        words = place.words("delta", "work_by_data", "-r", 3)
        result = finish_tool(start_tool(["sh", "-c", 'exec "$@" >&-', "sh", *map(str, words)]))
        assert result.code == 3 and "could not be written" in result.err, result

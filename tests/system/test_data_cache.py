"""The write-back data cache of a Cortex-M7 or M55 is ahead of memory: an access port finds what the core wrote only with CSW.HPROT[3]."""
import json

import pytest

from harness import WORK_BY_DATA, Place, elf_of, finish_tool, run_tool, unfolded, wait_for
from test_debug_power import exact

CACHEABLE = 1 << 27
WAYS = ["m7/swd", "m7/jtag", "m55/swd"]


@pytest.mark.parametrize("way", WAYS)
def test_what_the_core_wrote_is_read(way):
    """The variable that counts ticks is the cache's alone."""
    with Place(way, "ms", WORK_BY_DATA) as place:
        place.board.command("core-state dirty-cache on")
        found = place.board.state()["csw"]
        result = place.run("delta", "work_by_data", "-r", 5, "--counter", "systick", "--tick", "tick_count", "-j")
        assert result.code == 0, result.err
        assert place.board.state()["csw"] & CACHEABLE == found & CACHEABLE == 0


def test_the_task_that_runs_is_not_an_old_one(tmp_path):
    path = tmp_path / "p.jsonl"
    with Place("m7/swd", "free", firmware=elf_of("m4", "rtos")) as place:
        place.elf = elf_of("m4", "rtos")
        place.board.command("core-state dirty-cache on")
        result = place.run("record", "-o", path, "--for", "2s")  # a busy host gives the board little of it
        assert result.code == 0, result.err
        rows = [json.loads(line) for line in run_tool("--elf", place.elf, "report", path, "--sort", "task", "-j").out.splitlines()]
        assert {row["task"] for row in rows if row["type"] == "share" and "task" in row} >= {"IDLE", "filter"}


@pytest.mark.parametrize("way, marks", [("m7/swd", True), ("m55/swd", True), ("m4/swd", False), ("m33/swd", False)])
def test_which_ports_are_marked(way, marks):
    """A killed run's mark is taken off by the next one."""
    with Place(way, "free", WORK_BY_DATA) as place:
        found = place.board.state()["csw"]
        tool = place.start("watch", "-j", "--for", "60s")
        wait_for(lambda: tool.stdout.readline(), "a line")
        assert bool(place.board.state()["csw"] & CACHEABLE) == marks
        tool.kill()
        finish_tool(tool)
        assert place.run("restore").code == 0
        exact(place)
        assert (place.board.state()["csw"] ^ found) & CACHEABLE == 0


@pytest.mark.parametrize("default, told", [("0", True), ("0x08000000", False)])
def test_an_openocd_that_reads_past_it_is_named(default, told):
    """OpenOCD's files of these chips set it; another file may not."""
    with Place("m7", "free", WORK_BY_DATA, [f"virtual.dap apcsw {default} 0x08000000"]) as place:
        place.board.command("core-state dirty-cache on")
        result = place.run("info")
        assert result.code == 0 and ("apcsw 0x08000000 0x08000000" in unfolded(result.err + result.out)) == told, result.err

"""docs/farm.md and contrib/labgrid/README.md: their files and commands, pasted into an empty folder. What a reader replaces is
replaced: hosts, probes, the program and its region. The commands for a rack need labgrid's coordinator, which Debian's package has not."""
import json
import os
import re
import shutil
import subprocess
import sys

import pytest
from check_labgrid import FOLDERS, environment, exporter  # noqa: F401
from gdb_place import free_port
from harness import ARTICLE_NOP, ROOT, TOOL, WAIT, Place, wait_for


def pasted(heading, folder, replaced, page="docs/farm.md"):
    """Writes the files below a heading into the folder; returns its blocks of commands."""
    with open(os.path.join(ROOT, page), encoding="utf-8") as file:
        text = re.search(rf"\n##+ {heading}.*?(?=\n##+ [A-Z]|\Z)", file.read(), re.S)[0]
    blocks = re.findall(r"```(\w*)\n(.*?)```", text, re.S)
    for old, new in replaced.items():
        assert any(old in block for _, block in blocks), f"{heading} has no {old}"
        blocks = [(kind, block.replace(old, new)) for kind, block in blocks]
    for kind, block in blocks:
        if kind != "sh":
            name = re.match(r"##? ([^\s:]+)", block)[1]
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(block)
    return [block for kind, block in blocks if kind == "sh"]


def shell(folder, commands):
    """The shell, which says `labgrid` and `pytest` as this Python's."""
    names = folder.parent / "names"
    names.mkdir(exist_ok=True)
    for name, words in (("pytest", f"{sys.executable} -m pytest -p no:cacheprovider --rootdir=."), ("pmu-probe", TOOL)):
        (names / name).write_text(f'#!/bin/sh\nexec {words} "$@"\n')
        (names / name).chmod(0o755)
    paths = {"PATH": f"{names}:{os.environ['PATH']}", "PYTHONPATH": ":".join(FOLDERS), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.Popen(["bash", "-c", commands], cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            env=dict(os.environ, **paths))


def ended(process):
    out = process.communicate(timeout=2 * WAIT)[0]
    assert process.returncode == 0, out
    return out


def programs(folder, **places):
    for name, place in places.items():
        (folder / "build" / name).mkdir(parents=True)
        shutil.copy(place.elf, folder / "build" / name / "app.elf")


def of_exporter(*places):
    """What stands for the probes of the page, and how the exporter finds the tool."""
    return {"host: lab2": f"tool: {TOOL}, host: exporter",
            **{f"cmsis-dap:E661410{4 + n}": place.probe_words()[1] for n, place in enumerate(places)}}


@pytest.fixture
def folder(exporter):  # noqa: F811
    (exporter.hidden / "farm").mkdir()
    return exporter.hidden / "farm"


def test_side_by_side(folder):
    with Place("rp2040/swd", "free", ARTICLE_NOP) as pico, Place("m4", "free", ARTICLE_NOP) as disco, Place("a9/swd", "free", ARTICLE_NOP) as zynq:
        programs(folder, pico=pico, disco=disco, zynq=zynq)
        replaced = {"cmsis-dap:usb:1-1.4": pico.probe_words()[1], "openocd ": f"openocd:127.0.0.1:{disco.server.port} ",
                    "cmsis-dap:E6614104": zynq.probe_words()[1], "-C 1": "-C 0", "fir_filter": "article_nop", "fir_*": "article_n*"}
        commands, = pasted("Side by side", folder, replaced)
        out = ended(shell(folder, "set -e; " + commands))
        assert all(name in out for name in ("pico", "disco", "zynq")) and out.count("pass") >= 3, out
        last = json.loads((folder / "lab.jsonl").read_text().splitlines()[-1])
        assert (last["type"], last["boards"], last["failed"]) == ("summary", 3, 0)


def test_boards_on_a_table(folder):
    with Place("rp2040/swd", "free", ARTICLE_NOP) as pico, Place("a9", "free", ARTICLE_NOP) as zynq:
        programs(folder, pico=pico, zynq=zynq)
        commands, = pasted("Boards on a table", folder, {**of_exporter(pico), "host: lab3, port: 6666": f"host: 127.0.0.1, port: {zynq.server.port}",
                                                         "fir_filter": "article_nop"}, "contrib/labgrid/README.md")
        out = ended(shell(folder, commands))
        assert out.count("2 passed") == 2 and len(list(folder.glob("pmu-baselines/*-article_nop.jsonl"))) == 2
        assert (folder / "pmu.xml").exists()


@pytest.mark.skipif(shutil.which("labgrid-coordinator") is None, reason="no labgrid-coordinator")
def test_a_rack(folder):
    with Place("rp2040/swd", "free", ARTICLE_NOP) as one, Place("rp2040/swd", "free", ARTICLE_NOP) as two:
        programs(folder, pico=one)
        port = free_port()
        replaced = {**of_exporter(one, two), "lab1:20408": f"127.0.0.1:{port}", "fir_filter": "article_nop"}
        services, places, job = pasted("A rack", folder, replaced, "contrib/labgrid/README.md")
        coordinator, labs = services.splitlines()
        running = [shell(folder, f"exec {coordinator.partition('#')[0]} -l 127.0.0.1:{port}")]
        try:
            client = f"export LG_COORDINATOR=127.0.0.1:{port}; labgrid-client"
            wait_for(lambda: shell(folder, f"{client} places").wait(WAIT) == 0, "the coordinator")
            running.append(shell(folder, f"exec {labs.partition('#')[0]}"))
            wait_for(lambda: ended(shell(folder, f"{client} resources")).count("RemotePmuProbe") == 2 or running[1].poll() is not None, "the exporter")
            assert running[1].poll() is None, running[1].stdout.read()
            ended(shell(folder, places))
            jobs = [shell(folder, job) for _ in range(3)]  # one more than boards
            assert all("1 passed" in ended(each) for each in jobs)
            assert ended(shell(folder, f"{client} reservations")) == "" and "rp" not in ended(shell(folder, f"{client} who"))
        finally:
            for process in running:
                process.kill()
                process.communicate()

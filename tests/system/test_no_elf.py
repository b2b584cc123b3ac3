"""Without --elf: the ELF file of a build folder whose code the target holds is taken."""
import os
import shutil
import subprocess

import pytest

from harness import CLOSED_PORT, TOOL, WORK_BY_DATA, Place, elf_of, finish_tool, tool_environment


def run_in(folder, *words):
    return finish_tool(subprocess.Popen([TOOL, *map(str, words)], cwd=folder, env=tool_environment(), text=True, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE))


def put(elf, *folders, age=0):
    path = folders[0].joinpath(*folders[1:])
    path.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(elf, path)
    os.utime(path, (1700000000 - age, 1700000000 - age))


@pytest.fixture(name="place", scope="module")
def on_a_board():
    with Place("m4/swd", "free", WORK_BY_DATA) as place:
        yield place


@pytest.mark.parametrize("at", [("app.elf",), ("build", "app.elf"), ("build", "a", "b", "app"), ("target", "thumbv7em", "release", "app"),
                                (".pio", "build", "board", "firmware.elf")])
def test_the_program_on_the_target_is_found(place, tmp_path, at):
    put(elf_of("m4", "free"), tmp_path, *at)
    put(elf_of("rp2040", "free"), tmp_path, "build", "other.elf")
    (tmp_path / "build" / "broken.elf").write_bytes(b"\x7fELF" + bytes(300))
    result = run_in(tmp_path, *place.probe_words(), "delta", "work_by_data", "-r", 3, "-j")
    assert result.code == 0, result.err
    assert f"using {'/'.join(at)} (its code is on the target)" in result.err
    assert f'"elf": "{"/".join(at)}"' in result.out or f'"elf":"{"/".join(at)}"' in result.out
    assert result.err.count("using") == 1


def test_of_several_the_newest_is_taken(place, tmp_path):
    for age, name in ((3, "a.elf"), (1, "b.elf"), (2, "c.elf")):
        put(elf_of("m4", "free"), tmp_path, "build", name, age=age)
    put(elf_of("rp2040", "free"), tmp_path, "build", "newest.elf")
    result = run_in(tmp_path, *place.probe_words(), "survey", "work_by*", "-r", 3)
    assert result.code == 0 and "using build/b.elf" in result.err and "2 others" in result.err, result.err
    assert "using" not in run_in(tmp_path, *place.probe_words(), "-q", "delta", "work_by_data", "-r", 3).err


def test_none_is_taken_that_the_target_does_not_run(place, tmp_path):
    put(elf_of("rp2040", "free"), tmp_path, "app.elf")
    (tmp_path / "link.elf").symlink_to(elf_of("m4", "free"))
    result = run_in(tmp_path, *place.probe_words(), "delta", "work_by_data")
    assert result.code == 2 and "no ELF file to find" in result.err and "the code of none of 1 in" in result.err, result.err


def test_without_a_file_nothing_is_connected(tmp_path):
    (tmp_path / "build").mkdir()
    (tmp_path / "build" / "part.o").write_bytes(b"\x7fELF\x01\x01\x01" + bytes(9) + b"\x01\x00\x28\x00" + bytes(99))
    for words in (["delta", "work"], ["guard", "work", "--budget", 9], ["lines", "work"], ["survey", "work"], ["doctor", "work"]):
        result = run_in(tmp_path, "-p", f"openocd:127.0.0.1:{CLOSED_PORT}", *words)
        assert result.code == 2 and "no ELF file to find" in result.err and ".pio/build/" in result.err, (words, result.err)


def test_commands_without_a_use_for_it_ignore_elf(tmp_path):
    (tmp_path / "empty.jsonl").write_text("")
    assert run_in(tmp_path, "--elf", "nowhere.elf", "list", "--cpu", "cortex-a9").code == 0
    words = ["compare", "empty.jsonl", "empty.jsonl"]
    assert run_in(tmp_path, *words).err == run_in(tmp_path, "--elf", "nowhere.elf", *words).err

"""contrib/cmake: a real CTest over several probes. What a test's exit code becomes, and what runs at the same time."""
import os
import re
import shutil
import subprocess
import textwrap
import xml.etree.ElementTree

import pytest

from harness import ARTICLE_NOP, NOP_MORE, ROOT, TOOL, WAIT, WORK_BY_DATA, Place, tool_environment, unfolded

PROJECT = """
    cmake_minimum_required(VERSION 3.20)
    project(app NONE)
    enable_testing()
    # As in a cross build, where CMake looks for everything in the target's folders
    set(CMAKE_FIND_ROOT_PATH /nowhere)
    set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
    set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM ONLY)
    find_package(PmuProbe REQUIRED NO_CMAKE_FIND_ROOT_PATH)
    function(measured name board)
      pmu_probe_test(NAME ${name} ELF ${board}/app.elf PROBE ${PROBE_${board}} ARGS --transport swd ${ARGN})
    endfunction()
"""


class Project:
    """Boards, each with a folder and a program app.elf, and a CMake project that measures them."""

    def __init__(self, folder, **boards):
        self.folder, self.places, self.probes = folder, [], {}
        for name, (way, mode, bits) in boards.items():
            place = Place(way, mode, bits)
            self.places.append(place)
            (folder / name).mkdir()
            shutil.copy(place.elf, folder / name / "app.elf")
            self.probes[name] = place.probe_words()[1]

    def configure(self, text, **variables):
        (self.folder / "CMakeLists.txt").write_text(textwrap.dedent(PROJECT) + textwrap.dedent(text))
        variables.update({f"PROBE_{name}": probe for name, probe in self.probes.items()}, PMU_PROBE=TOOL,
                         PmuProbe_DIR=os.path.join(ROOT, "contrib", "cmake"))
        return self.run("cmake", "-S", ".", "-B", "build", *(f"-D{name}={value}" for name, value in variables.items()))

    def run(self, *words):
        return subprocess.run(words, cwd=self.folder, env=tool_environment(), text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=WAIT)

    def test(self):
        """What CTest printed; of each test how it ended, and what it printed."""
        done = self.run("ctest", "--test-dir", "build", "-j", "4", "--output-junit", "junit.xml")
        found = {}
        for case in xml.etree.ElementTree.parse(self.folder / "build" / "junit.xml").iter("testcase"):
            found[case.get("name")] = case.get("status"), case.findtext("system-out")
        return done.stdout, found

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for place in self.places:
            place.close()


def most_at_once(printed, group):
    """How many tests CTest had running at the same time, by its lines "Start" and "Test #"."""
    running, most = set(), 0
    for begun, ended, name in re.findall(r"(?:(Start) +\d+|\d+/\d+ (Test) +#\d+): ([\w.]+)", printed):
        if re.match(group, name):
            (running.add if begun else running.discard)(name)
            most = max(most, len(running))
    return most


@pytest.mark.soak
def test_passed_skipped_failed_over_three_probes(tmp_path):
    with Project(tmp_path, rp2040=("rp2040/swd", "free", ARTICLE_NOP), m4=("m4/swd", "free", NOP_MORE | WORK_BY_DATA),
                 slower=("m4/swd", "slower", NOP_MORE)) as project:
        tests = """
            measured(rp2040.nop rp2040 -r 20 REGION nop_first nop_second BASELINE nop.jsonl THRESHOLD 2%)
            measured(m4.more m4 -r 20 REGION nop_more BASELINE ${CMAKE_SOURCE_DIR}/more.jsonl)
            measured(m4.noise m4 -r 60 REGION work_by_data BASELINE baselines/noise.jsonl)
            measured(m4.alone m4 -r 20 REGION nop_more)
        """
        done = project.configure(tests, PMU_PROBE_UPDATE="ON")
        assert done.returncode == 0, done.stdout
        _, found = project.test()
        assert {how for how, _ in found.values()} == {"run"}, found
        done = project.configure(tests + """
            measured(slower.more slower -r 20 REGION nop_more BASELINE more.jsonl)
            measured(m4.other m4 -r 20 REGION nop_more BASELINE nop.jsonl)
            measured(m4.unknown m4 REGION nop_mode)
        """, PMU_PROBE_UPDATE="OFF")
        assert done.returncode == 0, done.stdout
        printed, found = project.test()
    assert {name: how for name, (how, _) in found.items()} == {
        "rp2040.nop": "run", "m4.more": "run", "m4.alone": "run", "m4.noise": "notrun",
        "slower.more": "fail", "m4.other": "fail", "m4.unknown": "fail"}
    assert "regressed" in found["slower.more"][1] and "another core" in found["m4.other"][1] and "nop_more" in found["m4.unknown"][1]
    assert "m4.noise (Skipped)" in printed
    assert most_at_once(printed, "") > 1 and most_at_once(printed, "m4") == 1, printed


def test_what_is_not_understood_stops_cmake(tmp_path):
    with Project(tmp_path) as project:
        for words in ("NAME x ELF app.elf", "NAME x ELF app.elf TRESHOLD 2% REGION f", "NAME x ELF app.elf REGION f TRESHOLD 2%",
                      "NAME x ELF app.elf REGION f BASELINE"):
            done = project.configure(f"pmu_probe_test({words})")
            assert done.returncode != 0 and "is not understood: it takes NAME" in unfolded(done.stdout)

"""Verdicts against an earlier run, and the writers of results, each read back by a parser that is not ours."""
import csv
import io
import json
import re
import shutil

import pytest

from harness import ARTICLE_NOP, NOP_MORE, WORK_BY_DATA, Place, run_tool, unfolded

FUNCTION = ("nop_more",)


class Program:
    """A build of the firmware under a chosen name: builds of one program have one name."""

    def __init__(self, mode, folder, bits=NOP_MORE):
        self.place = Place("m4/swd", mode, bits)
        self.elf = folder / mode / "app.elf"
        self.elf.parent.mkdir(exist_ok=True)
        shutil.copy(self.place.elf, self.elf)

    def run(self, *args):
        result = self.place.run("--elf", self.elf, *args, elf=False)
        assert result.code in (0, 1, 4, 5), result.err
        return result

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.place.close()


def baseline(folder, bits=NOP_MORE, function=FUNCTION, hits=50):
    file = folder / "main.jsonl"
    with Program("free", folder, bits) as program:
        program.run("delta", *function, "-r", hits, "-j", "-o", file)
    return file


def test_the_same_program_passes_and_one_nop_more_regresses(tmp_path):
    file = baseline(tmp_path)
    with Program("free", tmp_path) as same:
        result = same.run("delta", *FUNCTION, "-r", 50, "--baseline", file)
        assert result.code == 0 and "pass" in result.out, result.out
    with Program("slower", tmp_path) as slower:
        result = slower.run("delta", *FUNCTION, "-r", 50, "--baseline", file)
        assert result.code == 1 and "regressed" in result.out, result.out
        assert slower.run("delta", *FUNCTION, "-r", 50, "--baseline", file, "--threshold", "50%").code == 0
        json = slower.run("delta", *FUNCTION, "-r", 50, "-j", "--baseline", file)
        verdict = [line for line in json.lines if line["type"] == "verdict"]
        assert json.code == 1 and len(verdict) == 1 and verdict[0]["verdict"] == "regressed"


def test_overlapping_noise_is_inconclusive(tmp_path):
    file = baseline(tmp_path, WORK_BY_DATA, ("work_by_data",), 60)
    with Program("free", tmp_path, WORK_BY_DATA) as program:
        result = program.run("delta", "work_by_data", "-r", 60, "--baseline", file)
        assert result.code == 4 and "inconclusive" in result.out, result.out


def test_other_conditions_are_not_compared(tmp_path):
    file = baseline(tmp_path)
    with Program("free", tmp_path) as program:
        result = program.run("delta", *FUNCTION, "-r", 20, "--baseline", file, "--counter", "systick")
        assert result.code == 5 and "not comparable" in result.out and "SysTick" in result.out, result.out


def test_another_region_is_told_once(tmp_path):
    file = baseline(tmp_path)
    with Program("free", tmp_path, ARTICLE_NOP) as program:
        result = program.run("delta", "article_nop", "-r", 20, "--baseline", file)
        assert result.code == 5 and result.out.count("baseline is for nop_more, this run for article_nop") == 1, result.out
        lines = [line for line in result.out.splitlines() if line]
        assert len(lines) == len(set(lines))


def test_another_name_of_the_elf_is_a_note(tmp_path):
    file = baseline(tmp_path)
    with Program("slower", tmp_path) as slower:
        slower.elf = shutil.copy(slower.elf, tmp_path / "app-1.3.elf")
        compared = slower.run("delta", *FUNCTION, "-r", 20, "--baseline", file)
        assert compared.code == 1 and "note: ELF files differ (app.elf -> app-1.3.elf)" in unfolded(compared.out), compared.out
        assert "note: builds differ" in unfolded(compared.out)


def test_a_measured_clock_does_not_stand_in_the_way(tmp_path):
    """Without SystemCoreClock in the ELF the tool measures the clock. In the second run the board is twice as fast."""
    file = baseline(tmp_path)
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    for line in lines:
        clock = line.get("clock") or line.get("time")
        if clock:
            clock.update(hz=clock["hz"] / 2, error_hz=1000, source="measured")
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with Program("slower", tmp_path) as slower:
        result = slower.run("delta", *FUNCTION, "-r", 20, "--baseline", file)
        assert result.code == 1 and "note: clocks differ, as measured" in unfolded(result.out), result.out


@pytest.mark.parametrize("threshold, better", [("5", "5% or 0.05"), ("1", "1% or 0.01"), ("2.5", "2.5% or 0.025")])
def test_a_bare_number_from_1_on_is_no_threshold(tmp_path, threshold, better):
    result = run_tool("delta", *FUNCTION, "--baseline", tmp_path / "none", "--threshold", threshold)
    assert result.code == 2 and f"write {better}" in result.err, result.err


def test_what_would_decide_is_told(tmp_path):
    file = baseline(tmp_path, WORK_BY_DATA, ("work_by_data",), 20)
    with Program("free", tmp_path, WORK_BY_DATA) as program:
        for _ in range(12):
            result = program.run("delta", "work_by_data", "--baseline", file, "--threshold", "30%", "-r", 12)
            # 12 hits may happen to be so much faster that they decide, or to rise or fall
            assert result.code == 4 or result.code == 0 and "pass (threshold 30 %)" in unfolded(result.out), result.out
            if result.code == 4 and "the hits drift" not in unfolded(result.out):
                break
        assert result.code == 4, result.out
        assert re.search(r"noise ±\d+ %, threshold 30 %; (about \d+ hits.* \(-r \d+\)|a threshold of \d+ %) would decide",
                         unfolded(result.out)), result.out


def test_a_baseline_that_cannot_be_used(tmp_path):
    cut = tmp_path / "cut.jsonl"
    cut.write_text(baseline(tmp_path).read_text().splitlines()[0] + "\n")
    with Place("m4/swd", "free", NOP_MORE) as place:
        for args in (["--baseline", tmp_path / "none"], ["--baseline", cut], ["--threshold", "2%"],
                     ["--baseline", tmp_path / "main.jsonl", "--threshold", "-1"]):
            before = place.board.state()["halts"]
            result = place.run("delta", *FUNCTION, *args)
            assert result.code == 2, (args, result.err)
            assert place.board.state()["halts"] == before, "told before anything is measured"


def test_csv_is_read_back():
    with Place("m4/swd", "free", ARTICLE_NOP) as place:
        json = place.delta("article_nop", "-r", 10, "-e", "LSUCNT").summary["columns"]
        rows = list(csv.DictReader(io.StringIO(place.run("delta", "article_nop", "-r", 10, "-e", "LSUCNT", "-x", ";").out),
                                   delimiter=";"))
        names = rows[0].keys()
        name = next(key for key in names if key in ("name", "column", "event"))
        assert [row[name] for row in rows] == ["CPU_CYCLES", "LSUCNT"]
        for row in rows:
            assert float(row["mean"]) == json[row[name]]["mean"] and int(row["median"]) == json[row[name]]["median"]


def test_markdown_is_read_back():
    with Place("m4/swd", "free", ARTICLE_NOP) as place:
        json = place.delta("article_nop", "-r", 10).summary["columns"]["CPU_CYCLES"]
        out = place.run("delta", "article_nop", "-r", 10, "--format", "markdown").out
        rows = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in out.splitlines() if line.startswith("|")]
        heading, rule, *body = rows
        assert all(set(cell) <= set(":-") and "-" in cell for cell in rule) and len(heading) == len(rule)
        assert all(len(row) == len(heading) for row in body)
        row = next(row for row in body if "CPU" in row[0])
        median = next(i for i, cell in enumerate(heading) if "median" in cell)
        assert int(row[median].replace(",", "")) == json["median"]

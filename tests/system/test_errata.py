"""Errata by which a core counts wrongly: the board counts as they say, and each number that rests on such a count says so."""
import re

import pytest

from harness import WORK_BY_DATA, Place, run_tool

A53 = "~ INST_RETIRED, CPI: erratum 855827: too high: an immediate branch may count more than once"
A9 = ("~ INST_OUT_OF_RENAME_STAGE, CPI: erratum 740663, of unknown revisions: branches that a stall hides are missing, in a loop one each "
      "round; erratum 761321, of unknown revisions: MRC and MCR are missing")
ROWS = {"a53": ("INST_RETIRED", 1, "erratum-855827", A53), "a9": ("INST_OUT_OF_RENAME_STAGE", -1, "erratum-740663", A9)}


def words(text):
    return re.sub(r"\s+", " ", text)




@pytest.mark.parametrize("chip", ROWS)
def test_a_count_says_its_erratum(chip):
    """The board takes a cycle for an instruction; the erratum counts its branches twice, or not at all."""
    event, more, state, says = ROWS[chip]
    for factor, begin in ((0, {}), (more, {"core_state": state})):
        with Place(f"{chip}/swd", "free", WORK_BY_DATA, **begin) as place:
            run = place.delta("work_by_data", "-r", 10, "-e", f"{{{event},BR_IMMED_RETIRED}}", "-M", "CPI")
            each = [hit["values"] for hit in run.hits]
            assert all(hit[event] == hit["CPU_CYCLES"] + factor * hit["BR_IMMED_RETIRED"] for hit in each), each
            column = run.summary["columns"][event]
            assert column["errata"] in says and "errata" not in run.summary["columns"]["CPU_CYCLES"]
            assert run.summary["metric_errata"] == {"CPI": column["errata"]}
            text = place.run("delta", "work_by_data", "-r", 5, "-e", event, "-M", "CPI").out
            assert says in words(text) and "each count is exact" not in text, text
            assert re.search(rf"^ *{event} +~[\d,]+ ", text, re.M) and re.search(r"^ *CPI +~[\d.]+", text, re.M), text
            assert re.search(r"^ *CPU_CYCLES +[\d,]+ ", text, re.M), text


def test_every_view_of_a_wrong_count_has_its_mark(tmp_path):
    with Place("a53/swd", "free", WORK_BY_DATA) as place:
        stat = place.run("stat", "-M", "CPI", "--for", "100ms").out
        assert re.search(r"^ +~[\d,]+  INST_RETIRED", stat, re.M) and re.search(r"^ +~[\d.]+  CPI", stat, re.M) and A53 in words(stat)
        watch = place.run("watch", "-M", "CPI", "--for", "200ms", "-I", 100).out
        assert words(watch).count(A53) == 1 and re.search(r"^INST_RETIRED +\S+ s +~[\d,]+", watch, re.M), watch
        csv = place.run("stat", "-M", "CPI", "--for", "100ms", "--format", "csv").out.splitlines()
        assert csv[0].endswith(",errata,doubt") and "erratum 855827" in csv[2] and "erratum" not in csv[1]
        delta = place.run("delta", "work_by_data", "-r", 3, "-e", "INST_RETIRED", "--format", "csv").out
        assert "erratum 855827" in delta and "~" not in delta
        page = place.run("delta", "work_by_data", "-r", 3, "-M", "IPC", "--format", "markdown").out
        assert "erratum 855827" in page and re.search(r"IPC \| .*~", page), page
        survey = place.run("survey", "work_by_data", "-r", 3, "-e", "INST_RETIRED").out
        assert "~ INST_RETIRED: erratum 855827" in words(survey), survey
        for name in ("one.jsonl", "two.jsonl"):
            (tmp_path / name).write_text(place.run("delta", "work_by_data", "-r", 5, "-e", "INST_RETIRED", "-j").out)
        compared = run_tool("compare", tmp_path / "one.jsonl", tmp_path / "two.jsonl").out
        assert "~ INST_RETIRED: erratum 855827" in words(compared), compared
        guard = place.run("guard", "work_by_data", "--budget", "100000 INST_RETIRED", "--for", "100ms")
        assert "~ INST_RETIRED: erratum 855827" in words(guard.out) and re.search(r"the longest took ~[\d,]+", guard.out), guard
        profile = tmp_path / "profile"
        assert place.run("record", "-e", "INST_RETIRED", "--every", 5000, "--for", "200ms", "-o", profile).code == 0
        report = run_tool("report", profile).out
        assert "~ INST_RETIRED: erratum 855827" in words(report) and "each ~5,000 INST_RETIRED" in report, report


def test_list_shows_errata():
    for cpu, lines in (("a53", ["instructions; ~ erratum 855827 of r0p0 to r0p4: too high", "CYCLES / INST_RETIRED; ~ erratum 855827"]),
                       ("a9", ["erratum 775419, of unknown revisions: LDM of the PC", "erratum 795769, of unknown revisions: reads of CONTEXTIDR"]),
                       ("neoverse-n2", ["STALL_SLOT issue slots left empty; ~ erratum SDEN-1982442 of r0p0 to r0p2: too high by CPU_CYCLES",
                                        "STALL_SLOT_FRONTEND issue slots empty because of the frontend; ~ erratum SDEN-1982442"]),
                       *((cpu, [f"~ erratum rr-{number}, of unknown revisions: too high"] +
                               [f"BR_RETIRED; ~ erratum rr-{number}"] * (cpu != "a75"))
                         for cpu, number in (("a55", 3664), ("a75", 3664), ("neoverse-e1", 3664), ("a520", 4091))),
                       ("m3", ["erratum 532314 of r0p0 to r1p1: goes on in sleep"])):
        listed = words(run_tool("list", "--cpu", cpu).out)
        assert all(line in listed for line in lines), listed
    assert "erratum" not in run_tool("list", "--cpu", "m4").out + run_tool("list", "--cpu", "a57").out + run_tool("list", "--cpu", "neoverse-v2").out + run_tool("list", "--cpu", "a76").out
    with Place("a9/swd", "free", WORK_BY_DATA) as place:
        events = {line.get("name"): line for line in place.run("list", "-j").lines}
        renamed = events["INST_OUT_OF_RENAME_STAGE"]["errata"]
        assert renamed.startswith("erratum 740663") and renamed == events["CPI"]["errata"] and "errata" not in events["LD_RETIRED"]


def test_a_metric_that_allows_for_an_erratum_has_no_mark():
    listed = words(run_tool("list", "--cpu", "m3").out)
    assert re.search(r" CPI CYCLES / \(.*?\); ~ erratum 532314", listed) and not re.search(r"CPI_532314 CYCLES / \([^)]*\); ~", listed)

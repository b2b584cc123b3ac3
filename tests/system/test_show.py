"""`show FILE`: what -j of a command wrote, in each format that the command has, as the command itself prints it."""
import csv
import html
import io
import json
import os
import re

import pytest

from card import Agent, Card, card_available
from harness import CALLED_TWICE, ROOT, WORK_BY_DATA, Place, finish_tool, run_tool, start_tool
from test_annotate import built
from test_report import END, HEAD, INTERVALS, samples, text_of
from test_wire import recorded, replayed

FORMATS = ("text", "json", "csv", "markdown", "html")


def result_of_delta(level):
    """JSON lines of a run, as the first versions wrote them."""
    columns = {name: {"count": 100, "median": value, "mean": value + 0.5, "sd": 12.5, "min": value - 30, "max": value + 40,
                      "mean_error": 1.25, "mean_error_df": 99.0, "drift": 0.5} for name, value in (("CPU_CYCLES", level), ("INST_RETIRED", 9000))}
    return "\n".join(json.dumps(line) for line in (
        {"type": "header", "schema": "pmu-probe/1", "started": "2026-10-01T00:00:00Z", "core": "Cortex-M4 r0p1 core 0", "build_id": "ab" * 20,
         "region": {"start": "fir_filter", "end": "its return"}, "columns": list(columns)},
        {"type": "summary", "hits": 100, "columns": columns})) + "\n"


def comparable(text):
    """Without what differs from one run to the next, though the hits do not: how long it took, and the halts. A page of a command also says how to
    repeat it, which the file does not know."""
    text = re.sub(r'<section aria-labelledby="repeat">.*?</section>\n', "", text, flags=re.S)
    text = re.sub(r"(<li>|\* )?the core was halted .*?\srun(:\sit\s+may\s+have\s+slept)?(</li>)?\n", "", text, flags=re.S)
    return re.sub(r"\b[\d.]+ m?s\b", "TIME", text)


def without_date(text):
    """Of when it was reported."""
    return re.sub(r'(started(?:"|&quot;):(?:"|&quot;))[^"&]*', r"\1", text)


def shown(path, form, folder):
    result = run_tool("show", path, "--format", form, "-o", folder / "shown")
    assert result.code == 0, result.err
    return (folder / "shown").read_text()


def check(run, folder, formats=FORMATS):
    """`run` takes more words, and returns what the command wrote."""
    file = folder / "result.jsonl"
    file.write_text(run("-j"))
    for form in formats:
        if form == "json":
            assert shown(file, form, folder) == file.read_text()
        elif form != "html":
            assert comparable(shown(file, form, folder)) == comparable(run("--format", form)), form
        else:  # a page's own lines are in it
            page = run("--format", form)
            lines, = re.findall(r"(?s)<pre tabindex=\"0\">(\{.*?)</pre>\n</details>", page)
            file.write_text(html.unescape(lines))
            assert comparable(shown(file, form, folder)) == comparable(page), form


def written(run, path):
    assert run.code in (0, 1, 4, 5), run.err
    return path.read_text()


# Of functions whose hits are all alike. A survey's shares and guard's counts depend on when its turns begin
@pytest.mark.any_row(3)
@pytest.mark.parametrize("way, words", [(way, words) for way in ("a9/swd", "m4/swd", "rp2040/swd", "a53/swd")
                                        for words in ((), ("--no-calibrate",), ("-M", "CPI"), ("--warmup", 3))
                                        if (way, words[:1]) != ("rp2040/swd", ("-M",))],  # it lacks that counter
                         ids=lambda value: value if isinstance(value, str) else " ".join(map(str, value)) or "plain")
def test_delta(way, words, tmp_path):
    with Place(way, "free", CALLED_TWICE) as place:
        out = tmp_path / "out"
        check(lambda *more: written(place.run("delta", "caller_one", "-r", 20, *words, *more, "-o", out), out), tmp_path)


def test_delta_whose_hits_vary(tmp_path):
    """In a page, whose lines are of the same hits."""
    with Place("m4/swd", "free", WORK_BY_DATA) as place:
        out = tmp_path / "out"
        check(lambda *more: written(place.run("delta", "work_by_data", "-r", 50, "--outliers", 2, *more, "-o", out), out), tmp_path,
              ["json", "html"])


def test_delta_with_a_baseline(tmp_path):
    with Place("m4/swd", "free", CALLED_TWICE) as place:
        out, old = tmp_path / "out", tmp_path / "old.jsonl"
        written(place.run("delta", "caller_one", "-r", 20, "-j", "-o", old), old)
        check(lambda *more: written(place.run("delta", "caller_one", "-r", 20, "--baseline", old, *more, "-o", out), out), tmp_path)


# What depends on when its turns begin, or on the moment, is the same in each replay of one run
@pytest.mark.parametrize("words, formats", [
    (("survey", "caller_*", "-r", 5, "--for", "10min"), FORMATS),
    (("survey", "caller_*", "-r", 5, "--for", "10min", "-e", "LSUCNT", "-M", "CPI"), FORMATS),
    (("lines", "work_by_data", "-r", 2), ("text", "json", "csv", "markdown", "html")),
    (("stat", "--for", "100ms", "-e", "CPU_CYCLES,LSUCNT"), ("text", "json", "csv")),
    (("stat", "--for", "200ms", "-I", "50ms", "-M", "CPI"), ("text", "json", "csv")),
    (("guard", "work_by_data", "--budget", 5, "-r", 2, "--for", "2s"), ("text", "json"))],
    ids=["survey", "survey of two", "lines", "stat", "stat -I", "guard"])
def test_of_one_recording(words, formats, tmp_path):
    out, wire = tmp_path / "out", tmp_path / "wire"
    to = () if words[0] == "guard" else ("-o", out)  # guard's -o is a profile
    with Place("m4/swd", "free", WORK_BY_DATA | CALLED_TWICE) as place:
        command, run = recorded(place, wire, *words, *to)
    assert run.code in (0, 1, 4), run.err

    def again(*more):
        run = replayed([*command, *more], wire)
        assert run.code in (0, 1, 4), run.err
        return out.read_text() if to else run.out

    check(again, tmp_path, formats)


@pytest.mark.skipif(card_available() is not None, reason=str(card_available()))
@pytest.mark.parametrize("words", [("stat", "-a", "--for", "50ms", "-e", "DATA_READ,L2_READ_MISS", "-M", "CPI"), ("stat", "--for", "50ms"),
                                   ("watch", "-a", "--for", "100ms", "-I", "30ms")], ids=" ".join)
def test_of_a_card(words, tmp_path):
    wire = tmp_path / "wire"
    with Card(8) as card, Agent(card) as agent:
        command = card.words(*words, probe=agent.probe)
        finish_tool(start_tool([*command, "--wire", str(wire)]))
    check(lambda *more: replayed([*command, *more], wire).out, tmp_path, ("text", "json", "csv"))


def test_compare(tmp_path):
    first, last, out = tmp_path / "first.jsonl", tmp_path / "last.jsonl", tmp_path / "out"
    first.write_text(result_of_delta(18204))
    last.write_text(result_of_delta(18570))
    check(lambda *more: written(run_tool("compare", first, last, *more, "-o", out), out), tmp_path, FORMATS)


def contexts(i):
    """What else was seen in an interval."""
    at = {"core": 0, "from": i / 20, "to": (i + 1) / 20}
    return [{"type": "exceptions", **at, "value": {"0x0": 70 + i % 3, "0xf": 20}}, {"type": "tasks", **at, "value": {"0x20000100": 50}},
            {"type": "contexts", **at, "value": {"0x2": 50}}]


def stacks(i):
    """Of stops: a function calls another one."""
    line = samples(i, events=1000 * i, stood_s=0.01)
    one, two = line["pc"]
    return {**line, "stacks": [{"samples": 60, "at": [one]}, {"samples": 30, "at": [two, one], "sure": 1 + i % 2}]}


# A page of report has a flame graph and sources, which are not in its lines
TABLES = ["text", "json", "csv", "markdown"]
REPORTS = [((), TABLES), *((("--sort", sort), TABLES) for sort in ("line", "file", "address", "task", "exception", "context"))]


@pytest.mark.parametrize("words, formats", [
    *((("report", "new.jsonl", *words), formats) for words, formats in REPORTS),
    (("report", "calls.jsonl"), TABLES), (("report", "calls.jsonl", "-g"), TABLES), (("report", "two.jsonl"), TABLES),
    *((("compare", "old.jsonl", "new.jsonl", "--sort", sort), [*TABLES, "html"]) for sort in ("function", "line", "file", "address")),
    (("compare", "new.jsonl", "two.jsonl"), [*TABLES, "html"]),
    *((("annotate", *words), [*TABLES, "html"]) for words in
      (("work", "profile.jsonl"), ("work", "profile.jsonl", "--hot", "2"), ("_start", "profile.jsonl"), ("main", "two.jsonl"),
       ("caller_one", "two.jsonl", "--hot", "1"), ("work", "bare/profile.jsonl")))], ids=lambda value: " ".join(value))
def test_a_profile(words, formats, tmp_path):
    built(tmp_path, "-g")
    (tmp_path / "bare").mkdir()
    built(tmp_path / "bare")
    head = {**HEAD, "task": "pxCurrentTCB"}
    (tmp_path / "new.jsonl").write_text(text_of(head, *(line for i in range(INTERVALS) for line in (samples(i), *contexts(i))), END))
    (tmp_path / "old.jsonl").write_text(text_of(head, *(line for i in range(INTERVALS) for line in (samples(i, asleep=35 + i % 3), *contexts(i))), END))
    (tmp_path / "two.jsonl").write_text(text_of({**HEAD, "cores": ["Cortex-M4", "Cortex-M0"], "numbers": [0, 3]},
                                                *(samples(i, core) for i in range(INTERVALS) for core in (0, 1))))
    (tmp_path / "calls.jsonl").write_text(text_of({**HEAD, "event": "CPU_CYCLES", "every": 1000}, *map(stacks, range(INTERVALS)), END))
    out = tmp_path / "out"
    named = [tmp_path / word if word.endswith(".jsonl") else word for word in words]
    check(lambda *more: written(run_tool(*named, *more, "-o", out), out), tmp_path, formats)


def test_what_record_wrote(tmp_path):
    """It has what a page of report has, its flame graph and sources, too."""
    built(tmp_path, "-g")
    profile, out = tmp_path / "profile.jsonl", tmp_path / "out"
    for form in (*TABLES, "html", "folded", "callgrind"):
        reported = written(run_tool("report", profile, "--format", form, "-o", out), out)
        assert without_date(comparable(shown(profile, form, tmp_path))) == without_date(comparable(reported)), form
    lines = tmp_path / "lines.jsonl"
    lines.write_text(shown(profile, "json", tmp_path))
    assert shown(lines, "folded", tmp_path) == shown(profile, "folded", tmp_path)
    page = shown(profile, "html", tmp_path)
    assert 'id="flame"' in page and "Source of the hottest functions" in page


def test_of_the_tool_as_it_was(tmp_path):
    """Lines without the keys that were added since."""
    file = tmp_path / "run.jsonl"
    file.write_text(result_of_delta(18204))
    for form in FORMATS:
        assert "CPU_CYCLES" in shown(file, form, tmp_path), form


def rows_of(path):
    """Of its CSV, each with the columns that have a text."""
    result = run_tool("show", path, "-x", ";")
    assert result.code == 0, result.err
    return [{key: value for key, value in row.items() if value} for row in csv.DictReader(io.StringIO(result.out), delimiter=";")]


def test_csv_says_what_makes_a_number_a_bound(tmp_path):
    """What text says by a mark or a sentence is in a column of the row."""
    head, summary = map(json.loads, result_of_delta(1000).splitlines())
    delta, survey, lines, tasks, shares = (tmp_path / f"{name}.jsonl" for name in ("delta", "survey", "lines", "tasks", "shares"))

    def write(path, *rows):
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))

    write(delta, head, {**summary, "tainted": 60, "doubt": "D", "slept": True, "columns": {"CPU_CYCLES": {**summary["columns"]["CPU_CYCLES"], "median_exact": False}},
                        "calls": {"seen": 200, "exact": 40, "isolated": True, "left_out": 0.5}})
    row, = rows_of(delta)
    for said in ("not proved to be exact: D", "60 of 100 hits tainted", "of isolated calls", "50 % of the calls left out", "seen asleep", "to 0.1 %"):
        assert said in row["doubt"], row
    region = {**summary, "type": "region", "reached": True, "calls_per_second": 100, "calls_plus_minus": 2, "share": 0.5, "share_plus_minus": 0.001}
    periods = {"cut": {"cycles_at_least": True, "cut": True}, "most": {"cycles_at_least": True}, "burst": {"in_bursts": True}, "sure": {}}
    write(survey, {**head, "schema": "pmu-probe/2", "command": "survey"},
          *({**region, "name": name, "region": {"start": name, "end": "its return"}, "periods": of} for name, of in periods.items()),
          {"type": "summary", "regions": 4, "reached": 4, "seconds": 1})
    bounds = {row["region"]: (row.get("rate_bound"), row.get("share_bound"), row["calls_plus_minus"]) for row in rows_of(survey) if "share" in row}
    assert bounds == {"cut": ("<", None, "2"), "most": ("<", "<", "2"), "burst": ("~", "~", "2"), "sure": (None, None, "2")}
    write(lines, {**head, "command": "lines"}, {"type": "line", "line": 6, "hits": 5, "mean": 9, "share": 1, "blocks": [], "disturbed": True},
          {"type": "line", "line": 7, "hits": 0, "blocks": []},
          {"type": "summary", "calls": 5, "steps": 9, "sum": 9, "agrees": False, "not_attributed": 7, "bounded": 2})
    assert [row.get("doubt") for row in rows_of(lines)] == \
        ["never measured exactly; the lines and the function differ by 7.00 cycles; the counter may have wrapped unseen in 2 steps", None]
    write(tasks, {**head, "command": "tasks"}, {"type": "task", "name": "one", "value": "0x20", "cycles": 9, "share": 1, "per_second": 1,
                                                "calls": {"seen": 9, "exact": 2, "left_out": 0.25, "isolated": True}},
          {"type": "summary", "seen": 9, "exact": 2, "gaps": 3, "awake": 0.5, "seconds": 1})
    assert all(said in rows_of(tasks)[0]["doubt"] for said in ("isolated", "25 % of the calls", "lost 3 times", "of the 50 % of the time"))
    write(shares, {**head, "command": "report"}, {"type": "profile", "file": "p", "cut": True, "sort": "address"},
          {"type": "share", "core": 0, "share": 1, "samples": 3, "address": "0x0"}, {"type": "summary", "samples": 3})
    assert rows_of(shares)[0]["doubt"] == "the profile is cut off"


@pytest.mark.parametrize("when", ["now", "before"])
def test_csv_says_what_ended_early(when, tmp_path):
    """Each row of each command, as text does: a survey, a profile, a function of one, and what a change is against."""
    head, summary = map(json.loads, result_of_delta(1000).splitlines())
    files = {name: tmp_path / f"{name}.jsonl" for name in ("survey", "report", "compare", "annotate", "delta")}
    whole, early = ({"ended": "time"}, {"ended": "lost"})[::1 if when == "before" else -1]

    def write(command, *rows):
        files[command].write_text("".join(json.dumps(row) + "\n" for row in ({**head, "schema": "pmu-probe/2", "command": command}, *rows)))

    profile = {"type": "profile", "file": "p", "cut": False, "sort": "function", **whole}
    share = {"core": 0, "share": 1, "samples": 3, "address": "0x0", "function": "f", "line": 5}
    write("compare", profile, {"type": "old", "file": "q", "cut": False, **early}, {"type": "core", "core": 0, "samples": 3, "old": {"samples": 3}},
          {**share, "type": "change", "change": 0}, {"type": "summary"})
    assert rows_of(files["compare"])[0]["doubt"] == ("recording ended early" if when == "now" else "recording ended early before")
    if when == "now":
        write("report", profile, {**share, "type": "share"}, {"type": "summary", "samples": 3})
        write("annotate", profile, {**share, "type": "function"}, {**share, "type": "line"}, {**share, "type": "instruction"}, {"type": "summary"})
        assert [row.get("doubt") for name in ("report", "annotate") for row in rows_of(files[name])] == 3 * ["recording ended early"]
    ended = {"ended": "Ctrl-C"} if when == "now" else {}
    verdict = {"type": "verdict", "verdict": "pass", "change": 0.1, "columns": {"CPU_CYCLES": {"verdict": "pass", "base": {"count": 9, "mean": 5}}},
               "baseline": {"file": "b", **({"doubt": "the baseline ended early: Ctrl-C"} if when == "before" else {})}}
    region = {**summary, "type": "region", "reached": True, "region": {"start": "a", "end": "its return"}, "periods": {}}
    write("survey", {**region, "name": "a"}, verdict, {**region, "name": "b", "why": "it could not go on"}, {"type": "region", "name": "c", "reached": False},
          {"type": "summary", "regions": 3, "reached": 2, "seconds": 1, **ended})
    told = "it ended early: Ctrl-C"
    assert {(row["region"], row.get("doubt")) for row in rows_of(files["survey"])} == \
        set(zip("abc", [told, f"it could not go on; {told}", told] if when == "now" else ["the baseline ended early: Ctrl-C", "it could not go on", None]))
    old, new = (tmp_path / f"{name}.jsonl" for name in ("old", "new"))
    old.write_text(json.dumps(head) + "\n" + json.dumps({**summary, "ended": "Ctrl-C", "tainted": 2, "slept": True}) + "\n")
    new.write_text(result_of_delta(1000))
    first, second = (old, new) if when == "before" else (new, old)
    compared = run_tool("compare", first, second, "-x", ";")
    row = next(csv.DictReader(io.StringIO(compared.out), delimiter=";"))
    assert ("the baseline ended early: Ctrl-C" if when == "before" else "it ended early: Ctrl-C") in row["doubt"], compared
    assert "2 of 100 hits tainted" in row["doubt"] and "asleep" in row["doubt"], row


def test_pages_round_no_error_down(tmp_path):
    head, summary = map(json.loads, result_of_delta(1000).splitlines())
    summary["columns"]["CPU_CYCLES"].update(calibrated=True, overhead=0.0, plus_minus=0.004)
    (tmp_path / "run.jsonl").write_text(f"{json.dumps(head)}\n{json.dumps(summary)}\n")
    page = shown(tmp_path / "run.jsonl", "html", tmp_path)
    assert page.count("±0.01") >= 3 and "±0.00" not in page
    with open(os.path.join(ROOT, "probe/report/sort.js"), encoding="utf-8") as script:
        units = re.search(r"units = \{(.*?)\}", script.read())[1]
    assert {"ns", "us", "µs", "ms"} <= set(re.findall(r"[\wµ]+(?='?:)", units))  # us: of a page made in the C locale


def test_a_page_of_budgets_speaks_of_no_baseline(tmp_path):
    """That of a survey, and of irq; a survey that is slower than its baseline does."""
    head, summary = map(json.loads, result_of_delta(1000).splitlines())
    file = tmp_path / "run.jsonl"
    for verdict, says in (("regressed", "pmu-probe lines shows"), ("inconclusive", "measure longer"), ("not comparable", None), ("pass", None)):
        budget = {"budget": "max <= 1 ms", "verdict": verdict, "found_cycles": 9}
        region = {**summary, "type": "region", "name": "one", "reached": True, "region": {"start": "one", "end": "its return"}, "budget": budget}
        for command, line in (("survey", region), ("irq", {"type": "interrupt", "name": "one", "budget": budget})):
            end = {"type": "summary", "regions": 1, "reached": 1, "seconds": 1, "seen": 1, "exact": 1, "verdict": verdict}
            file.write_text("".join(json.dumps(one) + "\n" for one in ({**head, "schema": "pmu-probe/2", "command": command}, line, end)))
            page = shown(file, "html", tmp_path)
            todo = re.findall(r'<p class="todo">(.*?)</p>', page)
            assert (says in todo[0] if says else not todo) and not re.search("both builds|threshold|baseline anew", "".join(todo)), (command, todo)
    compared = {"type": "verdict", "verdict": "regressed", "baseline": {"file": "old"}, "columns": {}, "threshold": 0}
    file.write_text("".join(json.dumps(one) + "\n" for one in (
        {**head, "schema": "pmu-probe/2", "command": "survey"}, region, compared, {**end, "verdict": "regressed"})))
    assert "pmu-probe lines, in both builds" in shown(file, "html", tmp_path)


def test_what_is_there(tmp_path):
    with Place("a9/swd", "free", WORK_BY_DATA) as place:
        for words in (["info"], ["list", "L1D"], ["probes"]):
            check(lambda *more, words=words: place.run(*words, *more, elf=words == ["info"]).out, tmp_path)
        place.run("doctor", "-j", "-o", tmp_path / "doctor")
        lines = shown(tmp_path / "doctor", "csv", tmp_path).splitlines()
    assert lines[0] == "of,test,state,detail" and "core 0,OS lock,ok,DBGOSLSR.OSLK = 0" in lines, lines


HEADER = '{"schema":"pmu-probe/1","type":"header","region":{"start":"f"}}\n'
SUMMARY = '{"type":"summary","hits":1,"columns":{}}\n'


@pytest.mark.parametrize("text, where, what", [
    ("", "", "empty"),
    ("no\n", ":1", "not JSON"),
    ("[]\n", ":1", "not a JSON object"),
    ("{}\n", ":1", "no header"),
    ('{"schema":"pmu-probe-profile/1"}\n', ":1", "its schema is pmu-probe-profile/1"),
    (HEADER, "", "cut off"),
    (HEADER + '{"type":"sum', ":2", "cut off"),
    (HEADER + SUMMARY + HEADER, ":3", "several results"),
    ('{"schema":"pmu-probe/1","type":"header","command":"watch"}\n' + SUMMARY, "", "not a result that can be shown"),
])
def test_files_that_are_none(text, where, what, tmp_path):
    file = tmp_path / "bad.jsonl"
    file.write_text(text)
    result = run_tool("show", file)
    assert result.code == 2 and result.out == ""
    assert f"bad.jsonl{where}: " in result.err.replace("\n  ", " ") and what in result.err.replace("\n  ", " ")


def test_no_stacks_of_what_has_none(tmp_path):
    """As report and compare refuse them: of tasks, and of two profiles."""
    head = '{"schema":"pmu-probe/1","type":"header","command":"%s"}\n{"type":"profile","file":"p","sort":"%s"}\n%s{"type":"summary"}\n'
    old = '{"type":"old","file":"q"}\n'
    for command, sort, more in (("report", "task", ""), ("report", "exception", ""), ("report", "context", ""), ("compare", "function", old)):
        (tmp_path / "report.jsonl").write_text(head % (command, sort, more))
        result = run_tool("show", tmp_path / "report.jsonl", "--format", "folded")
        assert result.code == 2 and result.out == "" and "--format" in result.err, (sort, result)
    (tmp_path / "report.jsonl").write_text(head % ("report", "line", ""))
    assert run_tool("show", tmp_path / "report.jsonl", "--format", "folded").code == 0


def test_what_is_refused(tmp_path):
    file = tmp_path / "guard.jsonl"
    file.write_text(HEADER + '{"type":"guard","event":"CPU_CYCLES","budget":10}\n')
    cut = run_tool("show", file)
    assert cut.code == 2 and cut.out == "" and "no guard_end: that run was cut off" in cut.err
    file.write_text(file.read_text() + '{"type":"guard_end","calls":0,"overruns":0}\n')
    assert run_tool("show", file).code == 0
    for words in [("show",), ("show", file, "--format", "html"), ("show", file, "-o", file), ("show", file, "--probe", "openocd")]:
        assert run_tool(*words).code == 2, words
    assert run_tool("show", tmp_path / "none.jsonl").code == 2

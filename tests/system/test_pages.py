"""--format html of delta, survey and compare: pages as a browser reads them. What is drawn is what the JSON lines of the same run
say, nothing in a page leads outside or runs but what sorts its tables, and a browser that is there (soak) finds it readable."""
import json
import re
import shutil
import subprocess

import pytest

from harness import CALLED_TWICE, LONG_REGION, NOP_MORE, WAIT, WORK_BY_DATA, Place, run_tool
from test_page import Page, allowed
from test_show import result_of_delta
from test_verdicts import Program

TAGS = {"html", "head", "meta", "title", "style", "body", "main", "h1", "h2", "p", "strong", "dl", "dt", "dd", "div", "ul", "li", "section",
        "figure", "figcaption", "br", "span", "svg", "desc", "line", "rect", "path", "text", "table", "caption", "thead", "tbody", "tr",
        "th", "td", "pre", "details", "summary", "script"}
VOID = {"meta", "br"}


class Still(Page):
    """A page that needs no script: any server may show it, and no request leaves it. The one it has sorts tables."""

    def handle_starttag(self, tag, attrs):
        super().handle_starttag(tag, attrs)
        if tag in VOID and self.open and self.elements[self.open[-1]][0] == tag:
            self.open.pop()

    def __init__(self, path):
        super().__init__(path.read_text(encoding="utf-8"))
        self.lines = [json.loads(line) for line in self.all("pre")[-1].splitlines()]
        self.check()

    def check(self):
        names = {name for _, attributes in self.attributes for name in attributes}
        assert {tag for tag, _ in self.attributes} <= TAGS
        assert not names & {"src", "href", "style", "action", "xlink:href", "srcset"} and not any(name.startswith("on") for name in names)
        (script,) = self.all("script")
        assert "script" not in self.text.replace(f"<script>{script}</script>", "", 1).replace("script-src", "", 1)
        assert not re.search(r"http:|https:|@import|url\(", self.text)
        (policy,) = [a["content"] for _, a in self.attributes if a.get("http-equiv") == "Content-Security-Policy"]
        assert policy == f"default-src 'none'; {allowed(self, 'style')} {allowed(self, 'script')} base-uri 'none'; form-action 'none'"
        assert any(a.get("name") == "viewport" and "width=device-width" in a["content"] for _, a in self.attributes)
        assert "@media print" in self.text and "prefers-color-scheme: dark" in self.text
        ids = [a["id"] for _, a in self.attributes if "id" in a]
        assert len(ids) == len(set(ids))
        for tag, attributes in self.attributes:
            assert set(attributes.get("aria-labelledby", "").split()) <= set(ids)
            assert tag != "th" or attributes["scope"] in ("col", "row")
            if tag == "svg" and attributes.get("class") in ("plot", "spark"):
                assert attributes["role"] == "img" and ("aria-label" in attributes or len(attributes["aria-labelledby"].split()) == 2)
        assert len(self.all("caption")) == len(self.all("table"))

    def of(self, kind):
        return [line for line in self.lines if line["type"] == kind]

    def bars(self):
        """Lowest and highest value, and the number of hits, of each bar of the histogram."""
        plot = re.search(r'<svg class="plot"[^>]*histogram.*?</svg>', self.text, re.S)[0]
        found = re.findall(r'<rect class="bar"[^>]*><title>([\d,]+)(?: to ([\d,]+))?: ([\d,]+) hits?</title>', plot)
        assert len(found) == plot.count('<rect class="bar"')
        return [tuple(int(number.replace(",", "")) for number in (low, high or low, n)) for low, high, n in found]

    def marks(self):
        """Kind, number and count of each hit in the timeline."""
        plot = re.search(r'<svg class="plot"[^>]*timeline.*?</svg>\s*<figcaption>', self.text, re.S)[0]
        found = re.findall(r'<svg class="mark ([\w-]+)"[^>]*><title>hit ([\d,]+), [\d.]+ s: (?:at least )?([\d,]+)[^<]*</title>', plot)
        assert len(found) == plot.count('class="mark ')
        return {int(number.replace(",", "")): (kind, int(count.replace(",", ""))) for kind, number, count in found}

    def rows(self, kind):
        tables = re.findall(rf'<table class="{kind}">.*?<tbody>(.*?)</tbody>', self.text, re.S)
        return [[re.sub(r"<.*?>", "", cell).strip() for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.S)]
                for body in tables for row in body.split("</tr>")[:-1]]


def kind_of(hit):
    return "faint-mark" if hit.get("warmup") else "odd" if hit["tainted"] else "bound" if hit.get("at_least") == ["CPU_CYCLES"] else "plain"


def check_delta(page, warmup=0):
    hits, (summary,) = page.of("hit"), page.of("summary")
    assert page.marks() == {hit["hit"]: (kind_of(hit), hit["values"]["CPU_CYCLES"]) for hit in hits}
    values = [hit["values"]["CPU_CYCLES"] for hit in hits if kind_of(hit) == "plain"]
    assert len(values) == summary["columns"]["CPU_CYCLES"]["count"] and len(hits) == summary["hits"] + warmup
    assert [n for *_, n in page.bars()] == [sum(low <= value <= high for value in values) for low, high, _ in page.bars()]
    outside = sum(int(n.replace(",", "")) for text in page.all("p") for n in re.findall(r"^Not drawn, far \w+: ([\d,]+) hit", text))
    assert sum(n for *_, n in page.bars()) == len(values) - outside
    (row,) = [row for row in page.rows("columns") if row[0] == "CPU_CYCLES"]
    cycles = summary["columns"]["CPU_CYCLES"]
    assert [int(cell.replace(",", "")) for cell in (row[1], row[2], row[5], row[6])] == [cycles[key] for key in ("count", "median", "min", "max")]
    return summary


def test_the_page_of_delta_is_its_json_lines(tmp_path):
    with Program("free", tmp_path, WORK_BY_DATA) as program:
        old, out = tmp_path / "old.jsonl", tmp_path / "delta.html"
        program.run("delta", "work_by_data", "-r", 40, "-e", "LSUCNT", "-j", "-o", old)
        result = program.run("delta", "work_by_data", "-r", 60, "--warmup", 3, "-e", "LSUCNT", "--baseline", old, "--format", "html", "-o", out)
        page = Still(out)
        check_delta(page, warmup=3)
        (verdict,) = page.of("verdict")
        assert result.code == {"pass": 0, "regressed": 1, "inconclusive": 4}[verdict["verdict"]]
        median = json.loads(old.read_text().splitlines()[-1])["columns"]["CPU_CYCLES"]["median"]
        assert f"baseline's median {median:,}" in page.all("text")
        assert f">{verdict['verdict']}</strong>" in page.text and page.text.count('<path class="outline"') == 1
        rows = {row[0]: row for row in page.rows("verdicts")}
        assert {name: row[4].partition(":")[0] for name, row in rows.items()} == \
            {name: column["verdict"] for name, column in verdict["columns"].items()}
        conditions = {row[0]: row[1] for row in page.rows("conditions")}
        header = page.of("header")[0]
        assert conditions["core"] == header["core"] and conditions["probe"] == header["link"] and conditions["build"] == header["build_id"]
        command = page.all("pre", **{"class": "command"})[0]
        assert command.startswith("pmu-probe ") and "delta work_by_data -r 60 --warmup 3" in command


def test_percent_of_hits_is_of_all_hits(tmp_path):
    """Also of those far off, which are not drawn: 50 and 50 of 100 before, 40, 20 and 40 far above now."""
    for name, bins, far in (("old", [[100, 50], [110, 50]], {}), ("new", [[100, 40], [110, 20]], {"above": {"count": 40, "least": 5000, "most": 6000}})):
        head, summary = map(json.loads, result_of_delta(105).splitlines())
        summary["columns"]["CPU_CYCLES"].update(min=100, max=6000 if far else 110, distribution={"low": 100, "high": 110, "width": 1, "bins": bins, **far})
        (tmp_path / f"{name}.jsonl").write_text(f"{json.dumps(head)}\n{json.dumps(summary)}\n")
    for words, heights, whose in (("old new", [0.8, 0.4], ""), ("new old", [1, 1], " of the baseline")):
        result = run_tool("compare", *(tmp_path / f"{word}.jsonl" for word in words.split()), "--format", "html")
        plot = re.search(r'<svg class="plot"[^>]*histogram.*?</figure>(.*?)</section>', result.out, re.S)
        bars = [float(height) for height in re.findall(r'<rect class="bar"[^>]* height="([\d.]+)"', plot[0])]
        assert [height / 182 for height in bars] == pytest.approx(heights, abs=0.001)  # of the 50 % that is the highest
        outline = re.search(r'class="outline"[^>]* d="([^"]*)"', plot[0])[1]
        tops = sorted({1 - float(top) / 1000 for top in re.findall(r"V([\d.]+)", outline)} - {0})
        assert tops == pytest.approx([1] if not whose else [0.4, 0.8], abs=0.001)
        assert re.findall(r"Not drawn[^<]*", plot[1]) == [f"Not drawn{whose}, far above: 40 hits, 5,000 to 6,000."]


@pytest.mark.parametrize("words", [("-r", 30), pytest.param(("-r", 3000), marks=pytest.mark.soak)], ids=["few", "many"])
def test_tainted_hits_are_marked(words, tmp_path):
    with Place("m4/swd", "free", WORK_BY_DATA, halt_irq=200, seed=7) as place:
        out = tmp_path / "delta.html"
        result = place.run("delta", "work_by_data", *words, "--format", "html", "-o", out)
        assert result.code == 0, result.err
        page = Still(out)
        assert page.of("summary")[0]["hits"] == words[1] and page.of("summary")[0]["tainted"] > 0
        if words[1] <= 1024:
            check_delta(page)
        else:
            assert f"{words[1]:,} hits from" in page.all("desc")[1] and "4 successive hits together" in page.text


def test_the_slowest_hits_are_shown(tmp_path):
    with Place("m4/swd", "free", WORK_BY_DATA) as place:
        out = tmp_path / "delta.html"
        result = place.run("delta", "work_by_data", "-r", 30, "--outliers", 2, "--format", "html", "-o", out)
        assert result.code == 0, result.err
    page = Still(out)
    outliers = page.of("outlier")
    check_delta(page)
    assert [line["counted"] for line in outliers] == sorted((hit["values"]["CPU_CYCLES"] for hit in page.of("hit")), reverse=True)[:2]
    (text,) = page.all("pre", **{"class": "outliers"})
    assert text.startswith("the slowest hits") and all(f"hit {line['hit']}: {line['counted']:,} cycles" in text for line in outliers)


def test_hits_with_a_lower_bound_are_marked(tmp_path):
    """All are, so there is nothing to make a histogram of."""
    with Place("m4", "ms", LONG_REGION) as place:
        out = tmp_path / "delta.html"
        assert place.run("delta", "long_region", "-r", 3, "--counter", "systick", "--format", "html", "-o", out).code == 0
    page = Still(out)
    assert page.marks() == {hit["hit"]: ("bound", hit["values"]["CPU_CYCLES"]) for hit in page.of("hit")} and len(page.marks()) == 3
    assert 'id="histogram-title"' not in page.text and "3 of 3 hits" in page.text and "longest hit: at least" in page.rows("columns")[0][2]


def test_the_page_of_survey_is_its_json_lines(tmp_path):
    regions, out = tmp_path / "pmu-probe.regions", tmp_path / "survey.html"
    regions.write_text("tight caller_one <= 75 cycles\nwide caller_two <= 137 cycles\nnone never_called\n")
    with Place("m4/swd", "free", CALLED_TWICE) as place:
        result = place.run("survey", "--regions", regions, "--check", "-r", 20, "--for", "2s", "--format", "html", "-o", out)
        assert result.code == 1, result.err
    page = Still(out)
    lines = {line["name"]: line for line in page.of("region")}
    rows = {row[0]: row for row in page.rows("regions")}
    assert set(rows) == set(lines) == {"tight", "wide", "none"} and rows["none"][1].startswith("not called in its ")
    for name in ("tight", "wide"):
        cycles = lines[name]["columns"]["CPU_CYCLES"]
        assert [rows[name][i] for i in (1, 2, 4, 5)] == [f"{cycles[key]:,}" for key in ("count", "median", "min", "max")]
        share = 100 * lines[name]["share"]
        assert rows[name][-3].strip() in (f"{share:.1f} %", f"~{share:.0f} %")
    sparks = re.findall(r'<svg class="spark".*?</svg>', page.text, re.S)
    counts = [sum(int(n) for n in re.findall(r": (\d+) hit", spark)) for spark in sparks]
    assert counts == [lines[name]["columns"]["CPU_CYCLES"]["count"] for name in rows if lines[name]["reached"]]
    # One logarithmic axis for all, and bars as wide as the shares
    begins = {name: min(float(x) for x in re.findall(r'<rect class="bar" x="([\d.]+)%', spark))
              for name, spark in zip([name for name in rows if lines[name]["reached"]], sparks)}
    low, high = (edge(line["columns"]["CPU_CYCLES"][key] for line in lines.values() if line["reached"]) for edge, key in ((min, "min"), (max, "max")))
    assert f"{low:,} to {high:,}, log" in page.all("th") and begins[min(begins, key=lambda name: lines[name]["columns"]["CPU_CYCLES"]["min"])] == 0
    widths = re.findall(r'<svg class="part".*?width="([\d.]+)%"', page.text, re.S)
    assert [float(width) for width in widths] == [pytest.approx(100 * lines[name]["share"], abs=0.1) for name in rows if lines[name]["reached"]]
    assert {row[0]: row[3] for row in page.rows("checks")} == {"tight": "over the budget", "wide": "pass"}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    for mode in ("free", "slower"):
        with Program(mode, folder, NOP_MORE) as program:
            program.run("delta", "nop_more", "-r", 20, "-j", "-o", folder / f"{mode}.jsonl")
    return folder / "free.jsonl", folder / "slower.jsonl"


def test_the_page_of_compare_is_its_json_lines(runs, tmp_path):
    old, new = runs
    out = tmp_path / "compare.html"
    result = run_tool("compare", old, old, new, "--threshold", "1%", "--format", "html", "-o", out)
    page = Still(out)
    verdicts = page.of("verdict")
    assert result.code == 1 and [line["verdict"] for line in verdicts] == ["pass", "regressed"] and page.lines[-1]["verdict"] == "regressed"
    rows = page.rows("verdicts")
    assert [(row[0], row[1], row[5]) for row in rows] == [(f"nop_more to its return, {line['file']}", "CPU_CYCLES", line["verdict"])
                                                          for line in verdicts]
    assert [page.text.count(f'class="interval {look}"') for look in ("good", "bad")] == [1, 1]
    assert page.lines[1:] == run_tool("compare", old, old, new, "--threshold", "1%", "-j").lines[1:]


def test_hostile_files_stay_texts(runs, tmp_path):
    evil = '</pre></td><b onclick=1>"\'&amp;'
    old, new, out = tmp_path / "<i>.jsonl", runs[1], tmp_path / "compare.html"
    header, *rest = map(json.loads, runs[0].read_text().splitlines())
    header.update(core=evil, link=evil, elf=evil, note=evil)
    old.write_text("\n".join(map(json.dumps, (header, *rest))) + "\n")
    assert run_tool("compare", old, new, "--format", "html", "-o", out).code == 5
    page = Still(out)
    assert any(evil in text for text in page.all("li")) and any("<i>.jsonl" in text for text in page.all("li"))
    assert "b" not in {tag for tag, _ in page.attributes}


CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
LOOKS = {"light": (1100, 0), "dark": (1100, 0), "phone": (500, 0), "print": (0, 0)}


def browser(folder, *words):
    return subprocess.run([CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}/profile",
                           "--enable-logging=stderr", "--v=0", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=WAIT, check=True)


CLICKS = """<script>for (var times = 0; times < %d; times++)
  Array.from(document.querySelectorAll('th button')).find(function (button) { return button.textContent === '%s'; }).click();</script>"""


def rows_after(page, heading, times):
    """The regions and their medians as a browser shows them after clicks on a heading. The policy would forbid the test's own script."""
    text = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page.read_text(encoding="utf-8"))
    clicked = page.parent / "clicked.html"
    clicked.write_text(text.replace("</body>", CLICKS % (times, heading) + "</body>"), encoding="utf-8")
    body = re.search(r"<table class=\"regions\">.*?<tbody>(.*?)</tbody>", browser(page.parent, "--dump-dom", clicked.as_uri()).stdout, re.S)[1]
    cells = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.S) for row in body.split("</tr>")[:-1]]
    return [(row[0], int(row[2].replace(",", "")) if row[1].isdigit() else None) for row in cells]


@pytest.mark.soak
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here")
def test_headings_sort(tmp_path):
    """A row that has no number stays last, and a third click shows the order that was."""
    page = tmp_path / "survey.html"
    with Place("m4/swd", "free", WORK_BY_DATA) as place:
        assert place.run("survey", "timed_round", "main", "hidden_step", "work_by_data", "-r", 5, "--format", "html", "-o", page).code == 0
    was = rows_after(page, "median", 0)
    assert len(was) == 4 and sum(median is None for _, median in was) == 1
    known = [row for row in was if row[1] is not None]
    last = [row for row in was if row[1] is None]
    assert rows_after(page, "median", 1) == sorted(known, key=lambda row: -row[1]) + last
    assert rows_after(page, "median", 2) == sorted(known, key=lambda row: row[1]) + last
    assert rows_after(page, "median", 3) == was
    assert rows_after(page, "region", 1) == sorted(was) and rows_after(page, "region", 2) == sorted(was, reverse=True)


@pytest.mark.soak
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here")
@pytest.mark.parametrize("look", LOOKS)
def test_a_browser_shows_it(look, runs, tmp_path):
    """A picture, or pages for paper, and not one request or complaint."""
    out, shown = tmp_path / "compare.html", tmp_path / ("shown.pdf" if look == "print" else "shown.png")
    run_tool("compare", *runs, "--format", "html", "-o", out)
    words = [f"--print-to-pdf={shown}"] if look == "print" else [f"--screenshot={shown}", f"--window-size={LOOKS[look][0]},1400"]
    dark = ["--blink-settings=preferredColorScheme=0"] if look == "dark" else []
    done = browser(tmp_path, *dark, *words, out.as_uri())
    assert shown.stat().st_size > 10000 and "CONSOLE" not in done.stderr, done.stderr

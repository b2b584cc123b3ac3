"""report --format html: the page as a browser reads it. Its numbers are those of the JSON lines, its texts stay texts whatever the
program calls itself, and nothing in it leads outside."""
import base64
import hashlib
import html.parser
import json
import os
import re
import subprocess

import pytest

from harness import elf_of, run_tool
from test_annotate import PROGRAM, built, disassembled, write_profile
from test_report import COUNTS, END, HEAD, INTERVALS, report, samples, text_of

VOID = {"meta", "input"}
TAGS = {"html", "head", "meta", "title", "style", "body", "main", "h1", "h2", "p", "ul", "li", "section", "form", "label", "input",
        "button", "output", "span", "figure", "svg", "rect", "text", "div", "table", "caption", "thead", "tbody", "tr", "th", "td",
        "details", "summary", "pre", "script"}


class Page(html.parser.HTMLParser):
    """Tags, attributes and texts. Each tag is closed, in the right order."""

    def __init__(self, text):
        super().__init__()
        self.text, self.open, self.attributes, self.elements = text, [], [], []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.attributes.append((tag, dict(attrs)))
        self.elements.append([tag, dict(attrs), ""])
        if tag not in VOID:
            self.open.append(len(self.elements) - 1)

    def handle_startendtag(self, tag, attrs):
        self.attributes.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.elements[self.open.pop()][0] == tag

    def handle_data(self, data):
        for at in self.open:
            self.elements[at][2] += data

    def code(self):
        """The headings of sources. The JSON lines are folded in as well."""
        *functions, lines = self.all("summary")
        assert lines == "The same as JSON lines"
        return functions

    def all(self, tag, **attributes):
        return [text for name, its, text in self.elements if name == tag and all(its.get(key) == value for key, value in attributes.items())]


def page_of(profile, *words, folder="."):
    out = profile.parent / "page.html"
    result = report(profile, "--format", "html", "-o", out, *words, folder=folder)
    assert result.code == 0, result.err
    page = Page(out.read_text(encoding="utf-8"))
    check_alone(page)
    return page


def check_alone(page):
    """Only known elements, nothing that loads or runs, but for one style and two scripts, which the policy knows by their hashes."""
    assert {tag for tag, _ in page.attributes} <= TAGS
    for tag, attributes in page.attributes:
        assert not any(name.startswith("on") or name in ("src", "href", "style", "action", "xlink:href", "srcset") for name in attributes)
    assert not re.search(r"https?:|@import|url\(|javascript:", page.text)
    policy = next(a["content"] for _, a in page.attributes if a.get("http-equiv") == "Content-Security-Policy")
    assert "default-src 'none'" in policy and "unsafe" not in policy
    assert allowed(page, "style") in policy and allowed(page, "script") in policy
    assert [len(page.all(tag)) for tag in ("style", "script")] == [1, 2]


def allowed(page, tag):
    """What the policy is to say of the elements `tag`."""
    hashes = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in page.all(tag))
    return f"{tag}-src " + " ".join(f"'sha256-{one}'" for one in hashes) + ";"


def frames_of(page):
    """Name, samples, depth from the top, x and width of each."""
    frames = []
    for attributes, title in re.findall(r'<svg class="f ([^>]*)><title>(.*?)</title>', page.text):
        name, share, number = re.fullmatch(r"(.*), ([\d.]+) %, ([\d,]+) samples", title).groups()
        place = {key: float(value) for key, value in re.findall(r'\b(x|y|width)="([\d.]+)', attributes)}
        assert float(share) == pytest.approx(place["width"], abs=0.006)
        frames.append((name, int(number.replace(",", "")), place["y"], place["x"], place["width"]))
    return frames


@pytest.fixture
def profile(tmp_path):
    path = tmp_path / "profile.jsonl"
    path.write_text(text_of(HEAD, *map(samples, range(INTERVALS)), END))
    return path


def shares_of(page):
    tables = []
    for body in re.findall(r'<table class="shares">.*?<tbody>(.*?)</tbody>', page.text, re.S):
        rows = [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in body.split("</tr>")[:-1]]
        tables.append({row[3] or row[4]: (row[0], row[1], int(row[2].replace(",", ""))) for row in rows})
    return tables


def test_the_table_is_that_of_the_json_lines(profile):
    page = page_of(profile)
    (table,) = shares_of(page)
    rows = [line for line in report(profile, "-j").lines if line["type"] == "share"]
    assert {name: row[2] for name, row in table.items()} == \
        {line.get("function") or f"[{line['state']}]": line["samples"] for line in rows}
    for line in rows:
        share, error, _ = table[line.get("function") or f"[{line['state']}]"]
        assert float(share[:-2]) == pytest.approx(100 * line["share"], abs=0.006)
        assert 0 <= float(error) - 100 * line["plus_minus"] < 0.0101
    assert [heading.split()[0] for heading in page.code()] == ["caller_one", "caller_two"]  # each of a hundredth or more
    assert page.all("caption") and all(a.get("scope") for tag, a in page.attributes if tag == "th")
    assert [a["aria-label"][:11] for tag, a in page.attributes if tag == "svg" and "aria-label" in a] == ["Flame graph"]


def test_the_flame_graph(profile):
    """All, functions, lines: each height has all samples that reach it, side by side."""
    frames = frames_of(page_of(profile))
    heights = sorted({y for _, _, y, _, _ in frames}, reverse=True)
    assert [name for name, _, y, _, _ in frames if y == heights[0]] == ["all"]
    by_name = {name: (number, x, width) for name, number, _, x, width in frames}
    assert by_name["caller_one"] == (2400, 0, 60) and by_name["caller_two"] == (1200, 60, 30) and by_name["[asleep]"] == (400, 90, 10)
    lines = [(name, number) for name, number, y, _, _ in frames if y == heights[2]]
    assert sum(number for _, number in lines) == 3600 and all(name.startswith("scenarios.c:") for name, _ in lines)


def test_the_source_of_the_hottest(tmp_path):
    """As annotate has it."""
    built(tmp_path, "-g")
    page = page_of(tmp_path / "profile.jsonl")
    (summary,) = page.code()
    assert summary.startswith("work ")
    body = re.search(r'<table class="code">.*?<tbody>(.*?)</tbody>', page.text, re.S)[1]
    rows = [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in re.findall(r"<tr>(?=<td)(.*)", body)]
    got = {int(row[3].split()[0]): int(row[2].replace(",", "") or 0) for row in rows}
    lines = json.loads("[" + ",".join(subprocess.run(
        [os.path.join(os.environ.get("PMU_BUILD", "build"), "asan/pmu-probe"), "annotate", "work", tmp_path / "profile.jsonl", "-j"],
        text=True, capture_output=True, check=True).stdout.splitlines()) + "]")
    assert got == {line["line"]: line["samples"] for line in lines if line["type"] == "line"}
    assert any(row[-1] == "                sink += i;" for row in rows)
    assert len(re.findall(r'<tr class="faint">', body)) == sum(line["type"] == "instruction" for line in lines)


EVIL = "</title></td></svg><script>alert(1)</script><img src=x onerror=alert(2)>\"'&amp;"


def test_names_that_want_to_be_markup(tmp_path):
    (tmp_path / "loop.c").write_text(PROGRAM.replace("sink += i;", f"sink += i; // {EVIL}"))
    source = tmp_path / "<script>alert(3)<"
    source.mkdir()
    (tmp_path / "loop.c").rename(source / "loop.c")
    subprocess.run(["arm-none-eabi-gcc", "-mcpu=cortex-m4", "-mthumb", "-O1", "-nostdlib", "-ffreestanding", "-Wl,--build-id", "-g",
                    f"{source}/loop.c", "-o", "plain.elf"], cwd=tmp_path, check=True)
    subprocess.run(["arm-none-eabi-objcopy", "--redefine-sym", f"work={EVIL}", "plain.elf", "loop.elf"], cwd=tmp_path, check=True)
    code = disassembled("m4", tmp_path / "plain.elf")["work"]
    profile = tmp_path / "profile.jsonl"
    write_profile(profile, tmp_path / "loop.elf", dict.fromkeys(code, 9), date=EVIL, probe=EVIL, source=EVIL, cores=[EVIL])
    page = page_of(profile)
    assert any(EVIL[:60] in summary for summary in page.code())
    assert any(EVIL in text for text in page.all("td")) and any(EVIL in text for text in page.all("p"))
    assert any("<script>alert(3)<" in text for text in page.all("th"))
    assert len(page.all("script")) == 2


def test_two_cores(tmp_path):
    path = tmp_path / "two.jsonl"
    path.write_text(text_of({**HEAD, "cores": ["Cortex-M4", "Cortex-M0"], "numbers": [1, 3]},
                            *(samples(i, core) for i in range(INTERVALS) for core in (0, 1)), END))
    page = page_of(path)
    first, second = shares_of(page)
    assert first == second and [text for text in page.all("h2") if text.startswith("core")] == \
        ["core 1 Cortex-M4, by DWT_PCSR", "core 3 Cortex-M0, by DWT_PCSR"]
    frames = {name: number for name, number, *_ in frames_of(page)}
    assert frames["all"] == 8000 and frames["core 1 Cortex-M4"] == frames["core 3 Cortex-M0"] == 4000
    assert {summary[-6:] for summary in page.code()} == {"core 1", "core 3"}
    words = (("annotate", "caller_one", str(path)), ("compare", str(path), str(path)))
    assert all({line["core"] for line in run_tool(*command, "-j").lines if "core" in line} == {1, 3} for command in words)


def test_without_a_program(profile):
    """By address, and the page says so; no source."""
    page = page_of(profile, "--elf", elf_of("m4", "ms"))
    (table,) = shares_of(page)
    assert len(table) == len(COUNTS) + 1 and all(name.startswith(("0x", "[")) for name in table)
    assert any("not the recorded program" in text for text in page.all("li")) and not page.code()
    empty = profile.parent / "empty.jsonl"
    empty.write_text(text_of(HEAD))
    assert [name for name, *_ in frames_of(page_of(empty))] == ["all"]


@pytest.mark.parametrize("command", ["compare", "annotate"])
def test_pages_of_one_table(command, tmp_path):
    """The numbers of the JSON lines, and a function's name stays a text."""
    built(tmp_path, "-g")
    path = tmp_path / "profile.jsonl"
    words = ("annotate", "work", path) if command == "annotate" else ("compare", path, path)
    result = run_tool(*words, "--format", "html", "-o", tmp_path / "page.html")
    assert result.code == 0, result.err
    page = Page((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert len(page.all("script")) == 1 and {tag for tag, _ in page.attributes} <= TAGS and len(page.all("caption")) == 1
    rows = [line for line in run_tool(*words, "-j").lines if line["type"] in ("line", "instruction", "change")]
    shares = [f"{100 * row.get('share', row.get('now', {}).get('share')):.2f} %" for row in rows if row.get("samples", 1) > 0]
    cells = re.findall(r'<td class="n[^"]*">([\d.]+ %)</td>', page.text)
    assert sorted(cells[::2] if command != "annotate" else cells) == sorted(shares)

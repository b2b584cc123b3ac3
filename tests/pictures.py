"""`make pictures`: docs/pictures/, taken from runs on the virtual board: screens on a terminal, and the upper part of delta's page.
Each is an SVG, light and dark. `pictures.py FOLDER` writes them there."""
import os
import pathlib
import re
import sys
import tempfile
import time
from html import escape

TESTS = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [TESTS, os.path.join(TESTS, "system")]

from harness import ROOT, WORK_BY_DATA, Place  # noqa: E402
from test_counting import Terminal  # noqa: E402

PICTURES = os.path.join(os.path.dirname(TESTS), "docs", "pictures")
THEMES = ("light", "dark")
CHARACTER, ROW, EDGE = 8.4, 18, 12
# Page, ink, and the eight colours of a terminal
COLOURS = {"light": ("#ffffff", "#1b1d21", "#1b1d21 #b42318 #176b36 #8a5a00 #0b57b0 #7a2fd0 #0f6b72 #62666e".split()),
           "dark": ("#16181c", "#e4e6ea", "#9aa0aa #ff8a80 #6fdb94 #f0c94d #7db4ff #c79bff #6fd3db #e4e6ea".split())}


def pieces_of(line):
    """What tmux captured with -e, in runs of equal attributes: the column, the text, these."""
    at, look = 0, {}
    for codes, text in re.findall(r"(?:\x1b\[([\d;]*)m|\x0e|\x0f)?([^\x1b\x0e\x0f]*)", line):
        for code in map(int, (code for code in codes.split(";") if code)):
            look = {} if code == 0 else {**look, code: True} if code < 30 else {key: on for key, on in look.items() if key < 30} | {code: True}
        if text:
            yield at, text, look
        at += len(text)


def piece(row, at, text, look, theme):
    """Each word at its own place, so that columns hold in any font."""
    page, ink, colours = COLOURS[theme]
    colour = next((colours[code % 10] for code in look if 30 <= code <= 37 or 90 <= code <= 97), ink)
    y, style = EDGE + row * ROW, (' fill-opacity=".65"' if 2 in look else "") + (' font-weight="700"' if 1 in look else "")
    if 7 in look:
        yield f'<rect x="{EDGE + at * CHARACTER:.1f}" y="{y}" width="{len(text) * CHARACTER:.1f}" height="{ROW}" fill="{colour}"/>'
    for word in re.finditer(r"\S+(?: \S+)*", text):
        yield (f'<text x="{EDGE + (at + word.start()) * CHARACTER:.1f}" y="{y + 13}" textLength="{len(word[0]) * CHARACTER:.1f}" '
               f'fill="{page if 7 in look else colour}"{style}>{escape(word[0])}</text>')


def screen(text, theme):
    """What a terminal shows, with its colours, on its grid."""
    lines = text.rstrip().splitlines()
    width = max(len(re.sub(r"\x1b\[[\d;]*m", "", line).rstrip()) for line in lines)
    shown = "\n".join(part for row, line in enumerate(lines) for one in pieces_of(line.rstrip()) for part in piece(row, *one, theme))
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width * CHARACTER + 2 * EDGE:.0f}" height="{len(lines) * ROW + 2 * EDGE}" '
            f'font-family="ui-monospace, DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="14">\n'
            f'<rect width="100%" height="100%" rx="6" fill="{COLOURS[theme][0]}" stroke="#8c959f"/>\n{shown}\n</svg>\n')


def themed(css, theme):
    """The style of one theme: in a picture the page around it chooses the picture."""
    def media(found):
        return found[2] if theme in found[1] else ""
    return re.sub(r"@media \(?([^{)]*)\)? \{\n(.*?\n)\}\n", media, css, flags=re.S).replace("body {", ".page {")


def page(text, theme, width=900, height=560):
    """The upper part of a page of ours, whole as it is."""
    css = "".join(re.findall(r"<style>(.*?)</style>", text, re.S))
    body = re.search(r"<main>(.*?</section>)", text, re.S)[1]
    body = body.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ')
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}">\n<style>{themed(css, theme)}</style>\n'
            f'<rect width="100%" height="100%" rx="6" fill="{COLOURS[theme][0]}" stroke="#8c959f"/>\n'
            f'<foreignObject width="{width}" height="{height}"><div xmlns="http://www.w3.org/1999/xhtml" class="page">{body}</div>'
            f"</foreignObject>\n</svg>\n")


def where(text):
    return re.sub(r"127\.0\.0\.1:\d+", "localhost:4441", text).replace(f"{ROOT}/", "")


def terminal_of(place, *words, lines, until, seconds=0):
    terminal = Terminal(place, *words[1:], command=words[0])
    try:
        terminal.resize(96, lines)
        while until not in terminal.text():
            time.sleep(0.1)
        time.sleep(seconds)
        text = terminal.captured()
        while until not in text:  # in the midst of drawing
            text = terminal.captured()
        return where(re.sub(r"\nENDED.*", "", text, flags=re.S))
    finally:
        terminal.close()


def pictures(folder, seconds=8, hits=400):
    """Name and SVG of each."""
    old, html = os.path.join(folder, "main.jsonl"), os.path.join(folder, "delta.html")
    with Place("m4/swd", "free", WORK_BY_DATA, dap_wire=1000000) as place:
        top = terminal_of(place, "top", lines=14, until="scenarios.c", seconds=seconds)
        lines = terminal_of(place, "lines", "work_by_data", "-r", 20, lines=40, until="ENDED")
        assert place.run("delta", "work_by_data", "-r", hits, "-j", "-o", old).code == 0
        place.run("delta", "work_by_data", "-r", hits, "--baseline", old, "--threshold", "15%", "--format", "html", "-o", html)
    with open(html, encoding="utf-8") as file:
        delta = where(file.read()).replace(f"{folder}/", "")
    for theme in THEMES:
        yield f"top-{theme}.svg", screen(top, theme)
        yield f"lines-{theme}.svg", screen(lines, theme)
        yield f"delta-{theme}.svg", page(delta, theme)


def main(to=PICTURES):
    pathlib.Path(to).mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        for name, svg in pictures(folder):
            pathlib.Path(to, name).write_text(svg, encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])

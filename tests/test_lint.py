"""Formatting and static analysis as tests: a tree that is not clean does not pass. In check clang-format, clang-tidy and
cppcheck check what was changed and a random ninth of the tool; in soak they check all files, and clang's analyzer, which
takes most of the time, at a random third of them and at what was changed; with EVERY=1 at all."""
import glob
import json
import os
import random
import re
import shutil
import subprocess
import sys

import layers
import plain_words
import pytest
from once import once

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.environ.get("PMU_BUILD", "build")
SOAK = bool(os.environ.get("PMU_SOAK"))
AT_ONCE = 30  # files for one process


def lines_of(*command):
    done = subprocess.run(command, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return done.stdout.split() if done.returncode == 0 else []


@once
def ask_make():
    done = subprocess.run(["make", "-s", f"BUILD={BUILD}", "lint-files", "lint-headers", "lint-flags"], cwd=ROOT, text=True,
                          check=True, stdout=subprocess.PIPE)
    return [line.split() for line in done.stdout.splitlines()]


SOURCES, HEADERS, FLAGS = ask_make()


@once
def changed():
    """Since origin/main, or where that is what is checked out, in the last commit; and what is not committed."""
    head, base = lines_of("git", "rev-parse", "HEAD"), lines_of("git", "merge-base", "HEAD", "origin/main")
    files = set(lines_of("git", "diff", "--name-only", base[0] if base and base != head else "HEAD~1"))
    return [name for name in [*SOURCES, *HEADERS] if name in files]


FORMATTED = changed()
CHANGED = [name for name in FORMATTED if name in SOURCES]
OTHERS = [name for name in SOURCES if name.startswith("probe/") and name not in CHANGED]
TIDIED = SOURCES if SOAK else CHANGED + random.Random(f"{os.environ['PMU_SEED']} tidy").sample(OTHERS, len(OTHERS) // 9)


CHECKED = ["probe", "tests/board", "tests/card", "target-stub/knc"]


# Another version has other rules and finds other faults in the same tree. This one is clean for Debian 12's, where CI runs
VERSIONS = {"clang-format": "14", "clang-tidy": "14", "cppcheck": "2.10"}


def skip_other_versions(tool):
    said = subprocess.run([tool, "--version"], text=True, check=True, stdout=subprocess.PIPE).stdout
    version = re.search(r"LLVM version (\d+)|format version (\d+)|Cppcheck (\d+\.\d+)", said)
    version = next(filter(None, version.groups()))
    if version != VERSIONS[tool]:
        pytest.skip(f"this tree is clean for {tool} {VERSIONS[tool]}, not tried with {version}")


def run(command):
    skip_other_versions(command[0])
    done = subprocess.run(command, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == 0, done.stdout[-8000:]


def test_there_is_something_to_look_at():
    assert len(SOURCES) > 200 and len(HEADERS) > 100 and FLAGS


def test_format():
    run(["clang-format", "--dry-run", "-Werror", *([*SOURCES, *HEADERS] if SOAK else [*FORMATTED, *TIDIED])])


@pytest.mark.parametrize("first", range(0, len(TIDIED), AT_ONCE))
def test_tidy(first):
    run(["clang-tidy", "--quiet", "--checks=-clang-analyzer-*", *TIDIED[first:first + AT_ONCE], "--", *FLAGS])


ANALYZED = [name for name in SOURCES if not name.startswith(("tests/unit/", "tests/fuzz/"))]
if not os.environ.get("EVERY"):
    ANALYZED = sorted({*random.Random(f"{os.environ['PMU_SEED']} analyzer").sample(ANALYZED, len(ANALYZED) // 3),
                       *[name for name in CHANGED if name in ANALYZED]})


@pytest.mark.soak
@pytest.mark.parametrize("name", ANALYZED)
def test_analyzer(name):
    run(["clang-tidy", "--quiet", name, "--", *FLAGS])


# jansson's loops, whose header cppcheck does not read
LOOPS = [f"-Djson_{kind}_foreach(of,at,each)=while((each=json_next(of,&at))!=NULL)" for kind in ("array", "object")]


def test_cppcheck():
    files = CHECKED if SOAK else [name for name in TIDIED if name.startswith(tuple(CHECKED))]
    flags = [flag for flag in FLAGS if flag.startswith(("-I", "-D"))]
    own = [flag for flag in flags if not flag.startswith("-I/")]
    run(["cppcheck", "--std=c11", "--quiet", "--error-exitcode=1", "--inline-suppr",
         "--enable=warning,performance,portability", "--suppress=missingIncludeSystem", *own, *LOOPS, *files])


def test_layers():
    assert list(layers.problems()) == []


def house(folder, files):
    """A probe/ with these files and what they include, under the real drawing."""
    (folder / "docs").mkdir()
    shutil.copy(os.path.join(ROOT, "docs", "architecture.md"), folder / "docs")
    for name, included in files.items():
        path = folder / "probe" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f'#include "{header}"\n' for header in included))
    return list(layers.problems(folder))


def test_an_include_downwards_is_right(tmp_path):
    assert house(tmp_path, {"base/step.h": [], "cores/core.h": ["base/step.h"], "main.c": ["cores/core.h"]}) == []


def test_an_include_upwards_is_found(tmp_path):
    assert house(tmp_path, {"measure/delta.h": [], "cores/core.h": ["measure/delta.h"]}) == [
        "cores/core includes measure/delta: measure is not below cores"]


def test_an_include_beside_is_found(tmp_path):
    assert house(tmp_path, {"links/link.h": [], "cores/core.h": ["links/link.h"]}) == [
        "cores/core includes links/link: links is not below cores"]


def test_a_ring_in_a_room_is_found(tmp_path):
    assert house(tmp_path, {"base/a.c": ["base/a.h", "base/b.h"], "base/a.h": [], "base/b.c": ["base/b.h", "base/c.h"], "base/b.h": [],
                            "base/c.h": ["base/a.h"], "base/c.c": []}) == ["a ring: base/a, base/b, base/c"]


def test_a_file_and_its_private_header_are_no_ring(tmp_path):
    assert house(tmp_path, {"base/a.c": ["base/a.h", "base/inside.h"], "base/a.h": [], "base/inside.h": ["base/a.h"]}) == []


def test_a_room_that_is_not_drawn_is_found(tmp_path):
    assert house(tmp_path, {"attic/old.h": ["base/a.h"], "base/a.h": []}) == ["attic: not in the drawing of docs/architecture.md"]

STATIC = re.compile(r"^static (?!inline)[^;={}()]*?\b(\w+)\(", re.M)


def test_a_static_function_is_found_once():
    """grep for the name of a static function finds one function."""
    files = {}
    for name in glob.glob(os.path.join(ROOT, "probe", "**", "*.c"), recursive=True):
        with open(name, encoding="utf-8") as file:
            for function in set(STATIC.findall(file.read())):
                files.setdefault(function, []).append(os.path.relpath(name, ROOT))
    assert len(files) > 1000
    assert {function: where for function, where in files.items() if len(where) > 1} == {}


def test_each_file_that_others_may_take_names_its_license():
    found = subprocess.run(["git", "ls-files", "probe", "target-stub", "gdb-scripts", "contrib", "openocd-cfg"], cwd=ROOT, capture_output=True,
                           text=True, check=True).stdout.split()
    for name in (name for name in found if name.endswith((".c", ".h", ".S", ".py", ".cfg", ".cmake"))):
        with open(os.path.join(ROOT, name), encoding="utf-8") as file:
            assert "SPDX-License-Identifier: MIT" in file.readline() + file.readline(), name


def test_plain_words():
    assert plain_words.too_many(plain_words.counts(), plain_words.MOST) == []


def test_plain_words_are_found_where_people_read_them(tmp_path):
    """In comments, strings and prose; not in code, in a page's code or in the strings of the tests."""
    files = {"probe/base/a.c": 'int stood; /* it stood */\nconst char *a = "it stands"; // stands for\nchar b = \'"\'; /* told */',
             "tests/a.py": '"""It is told."""\nstood = "stood"  # stood\n', "docs/a.md": "It stands.\n```\nstands\n```\n`stands`\n"}
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    table = plain_words.counts(tmp_path)
    assert [table["stands"][kind] for kind in plain_words.KINDS] == [2, 1, 1]
    assert [table["told"][kind] for kind in plain_words.KINDS] == [2, 0, 0]
    most = {**plain_words.MOST, "stands": (1, 1, 1)}
    assert plain_words.too_many(table, most) == ["stands: 2 in comments, 1 at most"]


def text_of(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


PAGES = sorted(os.path.relpath(path, ROOT) for pattern in ("*.md", "docs/*.md", "target-stub/*.md", "tests/*.md", "contrib/*/*.md")
               for path in glob.glob(os.path.join(ROOT, pattern)))


def anchors_of(page):
    """Of its headings, as GitHub makes them."""
    text = re.sub(r"^```.*?^```", "", text_of(page), flags=re.M | re.S)
    headings = [re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading) for heading in re.findall(r"^#+ (.*)$", text, re.M)]
    return {re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page):
    """To a file, to a heading of it, and to pictures."""
    text, folder = text_of(page), os.path.dirname(page)
    links = re.findall(r"\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)", text) + [(file, "") for file in re.findall(r' (?:src|srcset)="([^"]+)"', text)]
    places = [(os.path.normpath(os.path.join(folder, file)) if file else page, anchor) for file, anchor in links]
    assert [file for file, _ in places if not os.path.exists(os.path.join(ROOT, file))] == []
    assert [(file, anchor) for file, anchor in places if anchor and file.endswith(".md") and anchor not in anchors_of(file)] == []


def test_the_bench_finds_its_modules():
    done = subprocess.run([sys.executable, "-c", "import bench"], cwd=os.path.join(ROOT, "tests", "bench"), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_each_page_is_linked_from_the_readme():
    readme = text_of("README.md")
    assert readme.count("\n") <= 130
    assert [page for page in PAGES if page.startswith("docs/") and f"({page})" not in readme] == []


def keys_of(schema):
    """All names of properties in a JSON Schema, and the types of lines."""
    for name, inner in schema.items() if isinstance(schema, dict) else []:
        yield from inner if name in ("properties", "enum") else [inner] if name == "const" else ()
        yield from keys_of(inner)


def test_each_json_key_is_in_the_schema():
    words = set(keys_of(json.loads(text_of("docs/pmu-probe.schema.json"))))
    sources = glob.glob(os.path.join(ROOT, "probe", "*", "*.c"))
    keys = {key for path in sources for key in re.findall(r'json_part_\w+\((?:[^,;()"]+,\s*)?"(\w+)"', text_of(path))}
    assert len(keys) > 100 and sorted(keys - words) == []


def test_the_package_is_built_with_what_the_tool_needs():
    needs = re.search(r"^DEPS_TOOL *:= (.+)", text_of("make/deps.mk"), re.M)[1].split()
    has = re.search(r"^Build-Depends: (.+(?:\n .+)*)", text_of("contrib/debian/control"), re.M)[1]
    assert [name for name in needs if name not in re.split(r",\s*", has)] == []

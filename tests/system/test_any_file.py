"""Any file for any command that reads one, in any format: no crash, no hang, and what is printed with exit code 0 is what its format
says. `make soak` takes more files; `FILES=1000 pytest tests/system/test_any_file.py` as many as it says."""
import glob
import json
import os
import random
import re
import string

import pytest

from harness import CALLED_TWICE, ROOT, SOAK, TOOL, WORK_BY_DATA, Place, elf_of, finish_tool, printed_by, start_tool

ELF = elf_of("m4", "free")
FORMATS = ("text", "json", "csv", "markdown", "folded", "callgrind", "perf", "html")
RUNS = 6  # of each
MANY = int(os.environ.get("FILES", 600 if SOAK else 30))
PARTS = 1 if MANY < 100 else 4
STEERS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f]")
WORTHLESS = ["null", "true", "-1", "1e308", "-0.0", "18446744073709551616", '""', '"\\u009b\u202e"', "[]", "{}", "[[]]", '{"a":{}}', '"' + 70000 * "x" + '"']


@pytest.fixture(name="kinds", scope="module")
def files_of_each_kind(tmp_path_factory):
    """Name to bytes: what each command writes, and what else a run reads."""
    folder = tmp_path_factory.mktemp("kinds")
    made = {
        "delta": ("delta", "work_by_data", "-r", 20, "-j", "--outliers", 3), "other": ("delta", "work_by_data", "-r", 9, "-M", "CPI", "-j"),
        "survey": ("survey", "work_by_data", "called_twice", "-j", "--for", "400ms"), "lines": ("lines", "work_by_data", "-j", "-r", 2),
        "stat": ("stat", "-j", "--for", "50ms", "-I", "20ms"), "info": ("info", "-j"), "doctor": ("doctor", "-j"), "list": ("list", "-j"),
        "guard": ("guard", "work_by_data", "--budget", 100, "-r", 3, "-j"), "profile": ("record", "--for", "50ms"),
        "stacks": ("record", "--every", 5000, "-g", "--for", "100ms")}
    with Place("m4/swd", "free", WORK_BY_DATA | CALLED_TWICE) as place:
        for name, words in made.items():
            to = ("-o", folder / name)
            run = place.run(*words, *(to if name != "guard" else ()))
            assert run.code in (0, 1, 5), run.err
            if name == "guard":
                (folder / name).write_text(run.out)
    for name, words in {"report": ("report", "profile"), "annotate": ("annotate", "work_by_data", "profile"), "compare": ("compare", "delta", "delta")}.items():
        words = [folder / word if word in made else word for word in words]
        assert finish_tool(start_tool([TOOL, "--elf", ELF, *map(str, words), "-j", "-o", str(folder / name)])).code in (0, 4)
    (folder / "regions").write_text("work work_by_data max <= 100 cycles\npart scenarios.c:28 scenarios.c:30\n")
    (folder / "empty").write_bytes(b"")
    kinds = {path.name: path.read_bytes() for path in folder.iterdir()}
    for path in glob.glob(os.path.join(ROOT, "tests/wires/*.wire")):
        with open(path, "rb") as file:
            kinds[os.path.basename(path)] = file.read()
    with open(ELF, "rb") as file:
        kinds["elf"] = file.read()
    return kinds


# --- one file that is none that the tool wrote

def flip(rng, data, _):
    data = bytearray(data)
    for _ in range(rng.choice((1, 3, 30))):
        if data:
            data[rng.randrange(len(data))] = rng.randrange(256)
    return bytes(data)


def cut(rng, data, _):
    return data[:rng.randrange(len(data) + 1)]


def leave_out(rng, data, _):
    at = rng.randrange(len(data) + 1)
    return data[:at] + data[at + rng.choice((1, 10, 1000)):]


def mix_lines(rng, data, other):
    lines = data.split(b"\n")
    for _ in range(rng.choice((1, 2, 8))):
        i, k = rng.randrange(len(lines)), rng.randrange(len(lines))
        lines[i:i + 1] = rng.choice(([], [lines[k]], [lines[i], lines[k]], [lines[i]] * 40, [rng.choice(other.split(b"\n"))]))
        lines = lines or [b""]
    return b"\n".join(lines)


def change_values(rng, data, _):
    """Of JSON: a value, or a key's name; of other text a word."""
    text = data.decode(errors="surrogateescape")
    found = [m.span() for m in re.finditer(r'(?<=":)("[^"]*"|[-\d.e+]+|true|null)|"\w+"(?=:)|(?<= )\S+', text)]
    for begin, end in sorted(rng.sample(found, min(len(found), rng.choice((1, 2, 10)))), reverse=True):
        text = text[:begin] + rng.choice([*WORTHLESS, '"type"', '"hit"', str(rng.getrandbits(64)), rng.choice(string.printable)]) + text[end:]
    return text.encode(errors="surrogateescape")


def join(rng, data, other):
    return data + other if rng.random() < 0.5 else other[:rng.randrange(len(other) + 1)] + data


CHANGES = (flip, cut, leave_out, mix_lines, change_values, change_values, change_values, join)


def changed(rng, kinds, name):
    data = kinds[name]
    for _ in range(rng.choice((0, 1, 1, 1, 2, 4))):
        data = rng.choice(CHANGES)(rng, data, kinds[rng.choice(sorted(kinds))])
    return data[:1 << 20]


# --- what is done with it

def lines_of(name, file, other, forms):
    """Command lines that read a file: those that its name does not suggest, too."""
    for form in forms:
        yield "show", file, "--format", form
        yield "report", file, "--format", form
        yield "--elf", ELF, "report", file, "--sort", "line", "--format", form
        yield "--elf", ELF, "annotate", "work_by_data", file, "--format", form
        yield "compare", file, file, "--format", form
        yield "compare", other, file, "--format", form
    command = "delta work_by_data -r 20" if "delta" in name else "stat" if "stat" in name else "doctor" if "doctor" in name else "info"
    yield "-p", f"replay:{file}", "--elf", ELF, *command.split()
    yield "-p", f"replay:{file}", "info", "-j"
    yield "-p", f"replay:{other}", "--elf", ELF, "delta", "work_by_data", "--baseline", file
    yield "-p", f"replay:{other}", "--elf", ELF, "survey", "--regions", file
    yield "-p", f"replay:{other}", "--elf", file, "lines", "work_by_data"


def check(line, what):
    """One run. Exit code 0 promises the form."""
    form = line[line.index("--format") + 1] if "--format" in line else ""
    code, out, err = printed_by(*line)
    what = f"{what}: {' '.join(map(str, line))}"
    assert code in (0, 1, 2, 3, 4, 5), f"{what}: exit code {code}\n{err[-2000:]}"
    assert code in (0, 1, 4, 5) or err, f"{what}: no word of why"
    found = STEERS.search(out + err.replace("\x1b", ""))
    assert not found, f"{what}: {found.group()!r} is printed"
    if code == 0 and (form == "json" or "-j" in line):
        for one in out.split("\n")[:-1]:
            json.loads(one)


def run_some(kinds, folder, number):
    rng = random.Random(f"{os.environ.get('PMU_SEED')} any file {number}")
    names = sorted(kinds)
    name = names[number % len(names)]
    file, other = folder / f"file-{number}", folder / f"other-{number}"
    file.write_bytes(changed(rng, kinds, name))
    other.write_bytes(kinds[rng.choice(("delta", "profile", "other", "m4-swd-delta.wire"))])
    for line in rng.sample(list(lines_of(name, file, other, FORMATS)), RUNS):
        check(line, f"file {number}, of {name}")
    file.unlink()
    other.unlink()


@pytest.mark.parametrize("part", range(PARTS))
def test_any_file(kinds, part, tmp_path):
    for number in range(part, MANY, PARTS):
        run_some(kinds, tmp_path, number)


@pytest.mark.soak
@pytest.mark.parametrize("part", range(4))
def test_each_kind_with_each_command_in_each_format(kinds, part, tmp_path):
    """As it was written."""
    file, other = tmp_path / "file", tmp_path / "other"
    other.write_bytes(kinds["profile"])
    for name in sorted(kinds)[part::4]:
        file.write_bytes(kinds[name])
        for line in lines_of(name, file, other, FORMATS):
            check(line, name)

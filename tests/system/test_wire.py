"""What --wire records, -p replay:FILE gives again: the same output, or a divergence by name. tests/wires has recordings that stay, each with
its output; `PMU_WIRES=write pytest tests/system/test_wire.py` writes them anew."""
import contextlib
import glob
import os
import random
import re
import signal

import pytest

from card import Agent, Card, card_available
from gdb_door import DoorPlace
from gdb_place import GdbPlace
from harness import (ARTICLE_PLAIN, ROOT, SOAK, TOOL, WAIT, WORK_BY_DATA, Place, elf_of, finish_tool, run_tool, start_tool, wait_for)
from test_commands import on_terminal

CHIPS = ["rp2040", "m4", "m55", "a9", "a53", "r5"]
WAYS = [f"{chip}{link}" for chip in CHIPS for link in ("/swd", "/openocd", "/gdb")] + ["m4/jtag"]
COMMANDS = {"info": ["info"], "delta": ["delta", "work_by_data", "-r", 20], "delta -j": ["delta", "work_by_data", "-j", "-r", 5],
            "outliers": ["delta", "plain_first", "plain_second", "-r", 5, "--outliers", 2],
            "reset": ["reset"], "from reset": ["delta", "work_by_data", "--reset", "-r", 2],
            "stat": ["stat", "--for", "100ms"], "watch": ["watch", "--for", "300ms", "-I", "100ms"],
            "top": ["top", "--for", "200ms", "-I", "100ms"], "survey": ["survey", "work_by_data", "called_twice", "--for", "500ms"],
            "lines": ["lines", "work_by_data", "-r", 2], "doctor": ["doctor"], "prove": ["doctor", "--prove"],
            "guard": ["guard", "work_by_data", "--budget", 5, "-r", 2, "--for", "2s"], "list": ["list"], "stub": ["stub", "status"],
            "force": ["restore", "--force"], "record": ["record", "--for", "50ms", "-o", "profile"],
            "events": ["record", "--every", 5000, "-g", "--for", "50ms", "-o", "profile"]}
LIMIT = 200_000  # bytes: `delta -r 100` is small enough to be sent
END = "the recorded run did not end"


def place_at(way):
    chip, _, link = way.partition("/")
    return (GdbPlace if link == "gdb" else Place)(chip if link in ("gdb", "openocd") else way, "free", WORK_BY_DATA | ARTICLE_PLAIN)


def replay_words(words, file):
    """The same command line with another probe."""
    words = [str(word) for word in words]
    at = words.index("-p") if "-p" in words else words.index("--probe")
    return [*words[:at], "-p", f"replay:{file}", *words[at + 2:]]


def replayed(words, file):
    return finish_tool(start_tool(replay_words(words, file)))


def text_of(path):
    return path.read_text() if path.exists() else None


def recorded(place, file, *args, elf=True):
    """A run's words and what it printed."""
    words = place.words(*args, elf=elf)
    return words, finish_tool(start_tool([*words, "--wire", str(file)]))


def assert_same(run, again):
    assert (again.code, again.out, again.err) == (run.code, run.out, run.err)


def assert_diverges(again, *texts):
    assert again.code == 3 and again.err.count("pmu-probe: replay ") == 1, (again.code, again.err)
    for text in texts:
        assert text in again.err, again.err


@pytest.mark.any_row(12)
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("way", WAYS)
def test_a_replay_is_the_same(way, command, tmp_path):
    file, profile = tmp_path / "run.wire", tmp_path / "profile.jsonl"
    args = [profile if word == "profile" else word for word in COMMANDS[command]]
    with place_at(way) as place:
        words, run = recorded(place, file, *args, elf=command != "list")
    assert file.read_text().endswith(f"\nend {run.code:x}\n"), run.err
    kept = text_of(profile)
    profile.unlink(missing_ok=True)
    assert_same(run, replayed(words, file))
    assert text_of(profile) == kept


@pytest.mark.any_row(3)
@pytest.mark.parametrize("way", WAYS)
def test_a_recording_is_small(way, tmp_path):
    file = tmp_path / "run.wire"
    with place_at(way) as place:
        words, run = recorded(place, file, "delta", "work_by_data", "-r", 100)
    # On a busy machine OpenOCD does less of a list in its time: what is left is sent, and recorded, again
    assert run.code == 0 and file.stat().st_size < LIMIT * (4 if way.endswith("/openocd") else 1), run.err
    head = file.read_text().splitlines()[:4]
    assert head[0].startswith("pmu-probe wire 1, pmu-probe ") and f"--elf {os.path.basename(place.elf)}" in head[1]
    assert ROOT not in file.read_text() and "\n# chip: core 0, " in file.read_text()
    assert_same(run, replayed(words, file))


@pytest.mark.any_fifth
@pytest.mark.skipif(card_available() is not None, reason=str(card_available()))
@pytest.mark.parametrize("args", [["info"], ["stat", "-a", "--for", "50ms"], ["watch", "--for", "200ms", "-I", "100ms"], ["doctor"], ["list"]],
                         ids=lambda args: args[0])
def test_a_card(args, tmp_path):
    file = tmp_path / "run.wire"
    with Card(8) as card, Agent(card) as agent:
        words = card.words(*args, probe=agent.probe)
        run = finish_tool(start_tool([*words, "--wire", str(file)]))
    assert_same(run, replayed(words, file))


@pytest.mark.any_fifth
def test_a_users_gdb(tmp_path):
    """What was recorded inside GDB runs again without it."""
    file, out = tmp_path / "run.wire", tmp_path / "run.jsonl"
    with DoorPlace("m4", "free", WORK_BY_DATA) as place:
        said = place.gdb(f"pmu delta work_by_data -r 5 -j {out} --wire {file}")
    elf = os.path.realpath(place.elf)  # GDB names a file without links, wherever the build is
    again = run_tool("--elf", elf, "-p", f"replay:{file}", "delta", "work_by_data", "-r", 5, "-j", "--timeout", f"{WAIT}s")
    assert again.code == 0 and again.out == out.read_text(), again.err + said.out


@pytest.fixture(name="delta", scope="module")
def recorded_delta(tmp_path_factory):
    """Words, run and file of a `delta`."""
    file = tmp_path_factory.mktemp("wire") / "delta.wire"
    with place_at("m4/swd") as place:
        words, run = recorded(place, file, "delta", "work_by_data", "-j", "-r", 20)
    assert run.code == 0, run.err
    return words, run, file


def test_what_differs_is_named(delta, tmp_path):
    words, _, file = delta
    text, other = file.read_text(), tmp_path / "other.wire"
    # Another address in a step
    other.write_text(text.replace("s read4 m0 e000ed00\n", "s read4 m0 e000ed40\n"))
    assert_diverges(replayed(words, other), 'asks for "read4 m0 e000ed00" as step 1 of 3', 'has "read4 m0 e000ed40"', "delta work_by_data")
    # Another answer: the core is another one
    other.write_text(re.sub(r"^(< \d+ D )410fc241 ", r"\g<1>410fc601 ", text, flags=re.M))
    assert_diverges(replayed(words, other), "request ")
    # Another command, and one that is a part of what was recorded
    assert_diverges(replayed(["stat" if word == "delta" else word for word in words if word not in ("-r", "20", "work_by_data")] +
                             ["--for", "100ms"], file), "request ", "and the file has")
    assert_diverges(replayed(["10" if word == "20" else word for word in words], file), "request ")
    # The run goes on where the file ends, and the other way round
    other.write_text(text.replace("\nend 0\n", "\nend 3\n"))
    assert_diverges(replayed(words, other), "this run ends with exit code 0, the recorded one with 3")
    other.write_text(text.replace("\nend 0\n", "\n> 5 1\n< 5 1 0 0 0 \"\" 0\nend 0\n"))
    assert_diverges(replayed(words, other), "the recorded one goes on: line")


def test_another_program_is_refused(delta, tmp_path):
    words, _, file = delta
    elf = words.index("--elf") + 1
    again = replayed([*words[:elf], elf_of("rp2040", "free"), *words[elf + 1:]], file)
    assert again.code == 3 and "rp2040-free.elf" in again.err and "m4-free.elf" in again.err, again.err
    copy = tmp_path / "renamed.elf"
    with open(words[elf], "rb") as original:
        copy.write_bytes(original.read())
    assert replayed([*words[:elf], copy, *words[elf + 1:]], file).code == 0
    assert "here it is none" in replayed([*words[:elf - 1], *words[elf + 1:]], file).err


def test_a_file_that_is_cut(delta, tmp_path):
    words, _, file = delta
    text, other = file.read_bytes(), tmp_path / "cut.wire"
    head = text.index(b"\nq ")
    for at in random.Random(os.environ["PMU_SEED"]).sample(range(head + 1, len(text)), 60 if SOAK else 12):
        other.write_bytes(text[:at])
        assert_diverges(replayed(words, other), "the file ends ")
    other.write_bytes(text[:head // 2])
    again = replayed(words, other)
    assert again.code == 2 and "not a recording of pmu-probe" in again.err
    other.write_bytes(text.replace(b"wire 1,", b"wire 2,", 1))
    assert "format 2, pmu-probe" in replayed(words, other).err


def test_a_file_that_is_damaged(delta, tmp_path):
    """Whatever a byte becomes, the run ends: as it was where nothing reads that byte, or with what differs."""
    words, run, file = delta
    text, other = file.read_bytes(), tmp_path / "damaged.wire"
    seeded = random.Random(os.environ["PMU_SEED"])
    for at in seeded.sample(range(text.index(b"began"), len(text)), 300 if SOAK else 20):
        damaged = bytearray(text)
        damaged[at] = seeded.choice(b"0123456789abcdef \n<>\"!.+-*\x00\xff")
        other.write_bytes(damaged)
        again = replayed(words, other)
        assert again.code in (0, 2, 3), again.err
        assert again.code == 0 or again.err.startswith("pmu-probe: "), again.err


def test_a_run_that_is_killed(tmp_path):
    file = tmp_path / "run.wire"
    with place_at("m4/swd") as place:
        words = place.words("delta", "work_by_data", "-r", 1000000)
        run = start_tool([*words, "--wire", str(file)])
        wait_for(lambda: file.exists() and file.stat().st_size > 20000, "a recording")
        run.kill()
        run.communicate()
    assert_diverges(replayed(words, file), "the file ends ", "recorded run")


def test_a_run_that_is_interrupted(tmp_path):
    file = tmp_path / "run.wire"
    with place_at("m4/swd") as place:
        words = place.words("stat", "-j", "-I", "50ms")
        run = start_tool([*words, "--wire", str(file)])
        wait_for(lambda: file.exists() and file.stat().st_size > 9000, "a recording")
        run = finish_tool(run, signal.SIGINT)
    assert run.code == 0 and "!1" in file.read_text(), run.err
    again = replayed(words, file)
    assert_same(run, again)


def test_a_file_that_cannot_be_written(tmp_path):
    with place_at("m4/swd") as place:
        result = place.run("delta", "work_by_data", "-r", 5, "--wire", "/dev/full")
        assert result.code == 3 and "cannot write /dev/full: No space left on device" in result.err and "CPU_CYCLES" in result.out
        result = place.run("info", "--wire", tmp_path / "no" / "run.wire")
        assert result.code == 2 and f"--wire: {tmp_path}/no/run.wire cannot be written: No such file" in result.err


def test_a_link_that_does_not_open(tmp_path):
    file = tmp_path / "run.wire"
    words = [TOOL, "-p", "openocd:127.0.0.1:1", "info"]
    run = finish_tool(start_tool([*words, "--wire", str(file)]))
    assert run.code == 3 and "127.0.0.1:1" in run.err
    assert_same(run, replayed(words, file))


def test_what_cannot_be_replayed_says_why(delta):
    words, _, file = delta
    for command, why in (("probes", "searches for what is plugged in here"), ("restore", "a journal of this machine")):
        result = run_tool("-p", f"replay:{file}", command)
        assert result.code == 2 and f"{command} cannot be replayed: " in result.err and why in result.err
    with place_at("m4/swd") as place:
        place.words = lambda *args: replay_words(Place.words(place, *args), file)
        for command in ("watch", "top"):
            assert "cannot be replayed: a live screen" in on_terminal(place, command)
    assert "-p replay has none" in finish_tool(start_tool([*replay_words(words, file), "--wire", "x"])).err


# --- recordings that stay -----------------------------------------------------------------------------------

WIRES = os.path.join(ROOT, "tests", "wires")
ENDS = ["*{plain_first:#x}", "*{plain_second:#x}"]
PROFILE = "profile.jsonl"
LITTLE = 300  # rounds of each handler
# An ELF file of a test depends on the compiler: where one is needed it is m4.elf or a9.elf there, which is the firmware once compiled
KEPT = {"m4-swd-delta": ("m4/swd", ["delta", *ENDS, "-r", 5]), "m4-gdb-delta": ("m4/gdb", ["delta", *ENDS, "-r", 5, "-j"]),
        "rp2040-openocd-stat": ("rp2040/openocd", ["stat", "--for", "100ms"]), "rp2040-swd-top": ("rp2040/swd", ["top", "--for", "20ms", "-I", "20ms"]),
        "m55-swd-doctor": ("m55/swd", ["doctor"]), "a9-openocd-delta": ("a9/openocd", ["delta", *ENDS, "-r", 5]),
        "a9-gdb-info": ("a9/gdb", ["info"]), "a53-swd-delta": ("a53/swd", ["delta", *ENDS, "-r", 5]),
        "r5-swd-delta": ("r5/swd", ["delta", *ENDS, "-r", 5]), "r5-openocd-info": ("r5/openocd", ["info"]), "knc-agent-stat": ("knc", ["stat", "--for", "20ms"]),
        "knc-agent-watch": ("knc", ["watch", "-a", "--for", "40ms", "-I", "20ms"]), "knc-agent-doctor": ("knc", ["doctor"]),
        "a53-swd-prove": ("a53/swd", ["doctor", "--prove"]), "r5-swd-doctor": ("r5/swd", ["doctor"]), "a9-swd-force": ("a9/swd", ["restore", "--force"]),
        "a9-swd-stat": ("a9/swd", ["stat", "--for", "50ms", "-e", "CPU_CYCLES,BR_MIS_PRED,L1D_CACHE_REFILL", "-j"]),
        "m4-swd-irq": ("m4/irq", ["irq", "--freq", "12MHz", "--for", "5ms"]), "h7-swd-irq": ("h7/irq", ["irq", "--for", "20ms", "-j"]),
        "rp2350-swd-irq": ("rp2350/irq", ["irq", "--for", "20ms"])}
KEPT |= {name: (name, args) for name, args in {
    "m4-swd-outliers": ["delta", "work_by_data", "-r", 6, "--outliers", 2],
    "m4-swd-lines": ["lines", "work_by_data", "-r", 2], "a9-swd-lines": ["lines", "work_by_data", "-r", 2, "-j"],
    "m4-swd-survey": ["survey", "work_by_data", "called_twice", "--for", "100ms"], "a9-openocd-survey": ["survey", "work_by_data", "called_twice", "--for", "300ms", "-j"],
    "m4-swd-guard": ["guard", "work_by_data", "--budget", 5, "-r", 2, "--for", "2s"], "a9-swd-guard": ["guard", "work_by_data", "--budget", 5, "-r", 2, "--for", "2s"],
    "m4-swd-record": ["record", "--for", "10ms", "-o", PROFILE], "a9-swd-events": ["record", "--every", 5000, "-g", "--for", "50ms", "-o", PROFILE],
    "a9-gdb-outliers": ["delta", "work_by_data", "-r", 4, "--outliers", 1], "m4-swd-watch": ["watch", "--for", "60ms", "-I", "20ms", "-j"],
    "m4-swd-stub": ["stub", "status"], "m4-swd-reset": ["delta", "work_by_data", "--reset", "-r", 2], "m4-swd-prove": ["doctor", "--prove", "work_by_data"]}.items()}


def place_of_kept_program(name):
    chip, link, _ = name.split("-")
    elf = os.path.join(WIRES, f"{chip}.elf")
    place = (GdbPlace if link == "gdb" else Place)(chip if link in ("gdb", "openocd") else f"{chip}/{link}", "free", firmware=elf)
    place.elf = place.board.elf = elf
    place.set_scenario(WORK_BY_DATA | ARTICLE_PLAIN)
    return place


def place_of_handlers(chip):
    """Interrupts all the time. An RP2350's FIFO loses what nobody reads in time: there time passes with the probe's packets."""
    options = {"dap_exact": True, "clock": 2_000_000, "dap_wire": 10_000_000} if chip == "rp2350" else {"clock": 12_000_000, "dap_swo": "uart"}
    place = Place(f"{chip}/swd", "irq", **options)
    for n in range(4, 8):
        place.board.write_word(place.symbol("spin") + 4 * n, LITTLE)
    place.board.write_word("what", 3)
    return place


@contextlib.contextmanager
def source_of(way, args):
    """The words of a run to be kept."""
    if way == "knc":
        with Card(8) as card, Agent(card) as agent:
            yield card.words(*args, probe=agent.probe)
    elif way in KEPT:
        with place_of_kept_program(way) as place:
            yield place.words(*args)
    elif way.endswith("/irq"):
        with place_of_handlers(way[:-4]) as place:
            yield place.words(*args, elf=False)
    else:
        with place_at(way) as place:
            yield place.words(*[word.format(**{name: place.symbol(name) for name in ("plain_first", "plain_second")}) if word in ENDS else word for word in args], elf=False)


def command_in(file):
    """What to run, as the file itself has it, and the exit code of the recorded run."""
    with open(file, encoding="utf-8") as lines:
        lines = lines.readlines()
    words = lines[1].split()[1:]
    at = words.index("--wire")
    words = [TOOL, *words[:at], *words[at + 2:]]
    if "--elf" in words:
        at = words.index("--elf") + 1
        words[at] = os.path.join(WIRES, words[at])
    return words, int(lines[-1].split()[1], 16)


def run_kept(words, folder):
    """Its output, and after it the profile that it wrote, wherever this folder is and whatever version it has."""
    profile = folder / PROFILE
    run = finish_tool(start_tool([str(profile) if word == PROFILE else word for word in words]))
    text = (run.out + (text_of(profile) or "")).replace(str(profile), PROFILE).replace(ROOT + os.sep, "")
    return run, re.sub('"version":"[^"]*"', '"version":"any"', text)


@pytest.mark.parametrize("name", KEPT if os.environ.get("PMU_WIRES") else [None])
def test_write(name, tmp_path):
    if name is None:  # make check only reads them
        return
    way, args = KEPT[name]
    with source_of(way, args) as words:
        run, out = run_kept([*words, "--wire", os.path.join(WIRES, f"{name}.wire")], tmp_path)
    assert run.code in (0, 1, 5), run.err
    with open(os.path.join(WIRES, f"{name}.out"), "w", encoding="utf-8") as file:
        file.write(out)


@pytest.mark.parametrize("name", sorted(os.path.basename(file)[:-5] for file in glob.glob(os.path.join(WIRES, "*.wire"))))
def test_a_kept_recording(name, tmp_path):
    file = os.path.join(WIRES, f"{name}.wire")
    words, code = command_in(file)
    again, text = run_kept(replay_words(words, file), tmp_path)
    with open(os.path.join(WIRES, f"{name}.out"), encoding="utf-8") as out:
        assert (again.code, text) == (code, out.read()), again.err

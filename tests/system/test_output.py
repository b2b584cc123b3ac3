"""`-o` and standard output: neither new results nor an old file are lost, and a full disk is an error."""
import json
import os
import resource
import signal
import stat
import subprocess

import pytest

from harness import INTERRUPTED, LOCKING, NOP_MORE, TOOL, WAIT, WORK_BY_DATA, Place, finish_tool, has_open, run_tool, start_tool, wait_for

OLD = "what was there before\n"
TAKE_ELF = ("delta", "stat", "watch", "info", "doctor")
DELTA = ("delta", "work_by_data")


@pytest.fixture(name="m4", scope="module")
def one_board():
    with Place("m4/swd", "free", WORK_BY_DATA) as place:
        yield place


@pytest.fixture(name="file")
def old_file(tmp_path):
    file = tmp_path / "result"
    file.write_text(OLD)
    return file


def assert_as_before(file):
    assert file.read_text() == OLD
    assert os.listdir(file.parent) == [file.name], "nothing is left beside it"


def summary_of(file):
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert lines[0]["type"] == "header" and sum(line["type"] == "summary" for line in lines) == 1
    summary = next(line for line in lines if line["type"] == "summary")
    assert summary["hits"] == sum(line["type"] == "hit" for line in lines)
    return summary


def start_when(place, file, hits, *args, **kwargs):
    """The tool with `-j -o file`, once that many hits are in the file next to it."""
    process = start_tool(place.words(*DELTA, "-j", "-r", 10000000, "-o", file, *args), **kwargs)

    def written():
        parts = list(file.parent.glob(file.name + ".part-*"))
        return parts and parts[0].read_text().count('"type":"hit"') >= hits

    wait_for(written, "some hits")
    return process


@pytest.mark.parametrize("words", [
    ("delta", "nosuch"), ("delta", "work_by_data", "--threshold", "2%"), ("delta", "-r", "0"), ("nosuch",), ("list", "--nosuch"),
    ("delta", "work_by_data", "--baseline", "none.jsonl"), ("delta", "never_called", "--timeout", "0.2"),
    ("stat", "-e", "NOSUCH", "--for", "0.1"), ("delta", "work_by_data", "-M", "none.metrics")])
def test_a_run_without_a_result_leaves_the_file_alone(m4, file, words):
    assert m4.run(*words, "-o", file).code in (2, 3)
    assert_as_before(file)


def test_nobody_to_connect_to(file):
    assert run_tool("-p", "cmsis-dap-tcp:127.0.0.1:1", "info", "-o", file).code == 3
    assert_as_before(file)


@pytest.mark.parametrize("words", [("delta", "work_by_data", "-r", 5), ("info",), ("stat", "--for", "0.1"), ("doctor",),
                                   ("watch", "--for", "0.2", "-I", 100), ("list",), ("doctor", "work_by_data")])
def test_a_result_takes_the_place_of_the_file(m4, file, words):
    os.chmod(file, 0o640)
    result = m4.run(*words, "-o", file, elf=words[0] in TAKE_ELF)
    assert result.code == 0 and result.out == "", result.err
    assert "M4" in file.read_text() or words == ("list",)
    assert OLD not in file.read_text() and stat.S_IMODE(file.stat().st_mode) == 0o640
    assert os.listdir(file.parent) == [file.name]


def test_a_new_file_has_the_usual_mode(tmp_path):
    mask = os.umask(0o027)
    try:
        assert run_tool("list", "--cpu", "dwt", "-o", tmp_path / "new").code == 0
    finally:
        os.umask(mask)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o640


def test_the_baseline_is_not_the_output(tmp_path):
    """A slower run would take its place; a name may be a link."""
    file, link, other = tmp_path / "main.jsonl", tmp_path / "link.jsonl", tmp_path / "other.jsonl"
    with Place("m4/swd", "free", NOP_MORE) as place:
        assert place.run("delta", "nop_more", "-r", 20, "-j", "-o", file).code == 0
        before = file.read_bytes()
        link.symlink_to(file)
        other.hardlink_to(file)
        for name in (file, link, other):
            refused = place.run("delta", "nop_more", "-r", 20, "-j", "--baseline", file, "-o", name)
            assert refused.code == 2 and f"--baseline and -o are the same file, {name}" in refused.err
            assert file.read_bytes() == before
        assert place.run("delta", "nop_more", "-r", 30, "-j", "--baseline", file, "-o", tmp_path / "new.jsonl").code == 0
    assert sorted(os.listdir(tmp_path)) == ["link.jsonl", "main.jsonl", "new.jsonl", "other.jsonl"]


def test_ctrl_c_keeps_what_was_measured(m4, file):
    result = finish_tool(start_when(m4, file, 5), signal.SIGINT)
    assert result.code == INTERRUPTED, result.err
    (part,) = file.parent.glob(file.name + ".part-*")
    assert summary_of(part)["hits"] >= 5 and summary_of(part)["ended"] == "Ctrl-C"
    assert f"{file} is as it was" in result.err and str(part) in result.err
    assert file.read_text() == OLD


def test_ctrl_c_before_the_first_hit_leaves_the_file_alone(m4, file):
    before = m4.board.state()["halts"]
    process = m4.start("delta", "never_called", "-j", "-o", file)
    m4.wait_until_armed()
    assert finish_tool(process, signal.SIGINT).code == 3 and m4.board.state()["halts"] == before
    assert_as_before(file)


def test_a_failure_after_some_hits_keeps_them(file):
    with Place("m4/swd", "free", WORK_BY_DATA) as place:
        process = start_when(place, file, 5)
        place.board.write_word("scenario", LOCKING)
        result = finish_tool(process)
        assert result.code == 3, result.err
        assert summary_of(file)["hits"] >= 5 and "locked up" in summary_of(file)["ended"]


def test_what_is_killed_leaves_its_hits_beside(file):
    with Place("m4/swd", "free", WORK_BY_DATA) as place:
        process = start_when(place, file, 5)
        process.kill()
        process.communicate()
        assert file.read_text() == OLD
        part, = file.parent.glob("result.part-*")
        lines = [json.loads(line) for line in part.read_text().splitlines(keepends=True) if line.endswith("\n")]
        assert lines[0]["type"] == "header" and lines[5]["type"] == "hit"


def test_symbolic_and_hard_links_stay(m4, file):
    link, other = file.parent / "link", file.parent / "other"
    link.symlink_to("result")
    assert m4.run("info", "-o", link).code == 0
    assert link.is_symlink() and "Cortex-M4" in file.read_text()
    os.link(file, other)
    file.write_text("longer than what comes in its place\n" * 3000)
    assert m4.run("list", "-o", file, elf=False).code == 0
    assert other.samefile(file) and "CPICNT" in other.read_text() and other.read_text() == m4.run("list", elf=False).out
    dangling = file.parent / "dangling"
    dangling.symlink_to("nowhere")
    assert m4.run("info", "-C", "9", "-o", dangling).code != 0 and not (file.parent / "nowhere").exists()
    assert m4.run("info", "-o", dangling).code == 0
    assert dangling.is_symlink() and "Cortex-M4" in (file.parent / "nowhere").read_text()
    assert len(os.listdir(file.parent)) == 5


@pytest.mark.parametrize("name", ["/nonexistent/x", "/", "/proc/self/cmdline/x", "x" * 300])
def test_what_cannot_be_written_is_told_first(m4, name):
    before = m4.board.state()["halts"]
    result = m4.run(*DELTA, "-r", 3, "-o", name)
    assert result.code == 2 and "cannot be written" in result.err, result.err
    assert m4.board.state()["halts"] == before


# --- what is not a plain file

def test_a_pipe_with_a_name(m4, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    process = m4.start("info", "-o", pipe)
    with open(pipe, encoding="utf-8") as reader:
        assert "Cortex-M4" in reader.read()
    assert finish_tool(process).code == 0 and stat.S_ISFIFO(pipe.stat().st_mode) and os.listdir(tmp_path) == ["pipe"]


@pytest.mark.parametrize("words", [("-o",), ("--wire",), ("-r", 3, "--baseline"), ("-r", 3, "-M")])
def test_the_first_ctrl_c_ends_the_wait_for_the_other_end_of_a_pipe(m4, tmp_path, words):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    process = m4.start(*DELTA, *words, pipe)
    wait_for(lambda: is_asleep_over(process, pipe, words), "the wait for the pipe")
    result = finish_tool(process, signal.SIGINT)
    assert result.code == 3, result.err
    assert m4.board.state()["run"] == "running"


def is_asleep_over(process, pipe, words):
    """A writer has no descriptor of it yet: it tries again and again."""
    catches = next(line for line in open(f"/proc/{process.pid}/status", encoding="utf-8") if line.startswith("SigCgt"))
    if words in (("-o",), ("--wire",)):
        return int(catches.split()[1], 16) >> (signal.SIGINT - 1) & 1
    return has_open(process, pipe)


def test_a_baseline_out_of_a_pipe(tmp_path):
    pipe, file = tmp_path / "pipe", tmp_path / "main.jsonl"
    os.mkfifo(pipe)
    with Place("m4/swd", "free", NOP_MORE) as place:
        assert place.run("delta", "nop_more", "-r", 20, "-j", "-o", file).code == 0
        process = place.start("delta", "nop_more", "-r", 20, "--baseline", pipe)
        pipe.write_text(file.read_text())
        result = finish_tool(process)
        assert result.code == 0 and "pass" in result.out, result.err


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_standard_stream_by_name_is_appended_to(file, stream):
    with open(file, "a", encoding="utf-8") as out:
        code = subprocess.run([TOOL, "list", "--cpu", "dwt", "-o", f"/dev/{stream}"], **{stream: out}, timeout=WAIT, check=False).returncode
    assert code == 0 and file.read_text().startswith(OLD) and "CPICNT" in file.read_text()
    assert os.listdir(file.parent) == [file.name]


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-", "1</dev/null", "2</dev/null"])
def test_a_stream_that_takes_nothing_is_no_output(closed):
    """-o never names what takes its place; its own name is refused."""
    def written_to(name):
        words = ["sh", "-c", f'exec "$@" {closed}', "sh", TOOL, "list", "--cpu", "dwt", "-o", name]
        return finish_tool(start_tool(words)).code

    assert written_to("/dev/null") == 0
    if "&-" in closed:
        assert written_to("/dev/stderr" if closed == "2>&-" else "/dev/stdout") == 2


# --- a full disk

FULL = [("info",), ("list",), ("list", "--cpu", "cortex-a9"), ("doctor",), ("probes",), ("doctor", "work_by_data"), ("--help",),
        ("--version",), ("stat", "--for", "0.1"), ("stat", "--for", "0.1", "-j"), ("stat", "--for", "0.1", "-x,"),
        ("watch", "--for", "0.2", "-I", 100), ("watch", "--for", "0.2", "-I", 100, "-j"),
        *[(*DELTA, "-r", 3, "--format", name) for name in ("text", "json", "csv", "markdown", "html")]]


def command_of(place, words):
    if "--cpu" in words:
        return [TOOL, *words]
    return [str(word) for word in place.words(*words, elf=words[0] in TAKE_ELF)]


@pytest.mark.parametrize("words", FULL)
def test_a_full_device_is_told(m4, words):
    with open("/dev/full", "w", encoding="utf-8") as full:
        process = subprocess.run(command_of(m4, words), stdout=full, stderr=subprocess.PIPE, text=True, timeout=WAIT,
                                 check=False)
    assert process.returncode == 3 and "could not be written" in process.stderr, process.stderr
    if not words[0].startswith("--"):
        result = run_tool(*command_of(m4, words)[1:], "-o", "/dev/full")
        assert result.code == 3 and "could not be written" in result.err, result.err
    assert stat.S_ISCHR(os.stat("/dev/full").st_mode)


def test_a_stub_that_tells_a_full_device():
    with Place("a9/swd", "free", WORK_BY_DATA) as place:
        result = place.run("stub", "status", "-o", "/dev/full")
        assert result.code == 3 and "could not be written" in result.err, result.err


def limit_files():
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))


def test_a_disk_that_fills_up_leaves_the_file_alone_and_names_what_is_beside(m4, file):
    process = start_tool(m4.words(*DELTA, "-j", "-r", 200, "-o", file), preexec_fn=limit_files)
    result = finish_tool(process)
    assert result.code == 3 and "could not be written" in result.err
    assert file.read_text() == OLD
    part, = file.parent.glob("result.part-*")
    assert str(part) in result.err and part.read_text().count('"type":"hit"') > 3


def test_a_full_disk_is_no_pass(tmp_path):
    with Place("m4/swd", "free", NOP_MORE) as place:
        file = tmp_path / "main.jsonl"
        assert place.run("delta", "nop_more", "-r", 20, "-j", "-o", file).code == 0
        assert place.run("delta", "nop_more", "-r", 20, "--baseline", file, "-o", "/dev/full").code == 3

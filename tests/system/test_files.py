"""Files that a run reads and writes: none is lost, no server is asked for one, and nothing waits for a pipe or a device that an ELF file names."""
import http.server
import json
import os
import shutil
import struct
import subprocess
import sys
import threading
import zlib

import pytest

from harness import CLOSED_PORT, ROOT, TOOL, WORK_BY_DATA, Place, elf_of, finish_tool, locate, printed_by, run_tool, start_tool, tool_environment, wait_for
from test_locate import OBJCOPY, separated

ELF = elf_of("m4", "free")
OLD = "what was there before\n"


@pytest.fixture(name="m4", scope="module")
def one_board():
    with Place("m4/swd", "free", WORK_BY_DATA) as place:
        yield place


# --- an ELF file names others -------------------------------------------------------------------------------------

class Server:
    """As debuginfod; counts who asks."""

    def __enter__(self):
        asked = self.asked = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                asked.append(self.path)
                self.send_response(404)
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


def test_no_server_is_asked_for_a_separate_file(tmp_path):
    program = separated(tmp_path, ELF)
    (tmp_path / "app.debug").unlink()
    with Server() as server:
        environment = {"DEBUGINFOD_URLS": f"http://127.0.0.1:{server.server.server_port}", "HOME": str(tmp_path),
                       "DEBUGINFOD_CACHE_PATH": str(tmp_path / "cache")}
        locate(program, "work_by_data", environment=environment)
        assert server.asked == [] and os.listdir(tmp_path) == ["app.elf"]


@pytest.mark.parametrize("kind", ["pipe", "zero", "folder"])
@pytest.mark.parametrize("where", [".", ".debug"])
def test_a_separate_file_that_cannot_be_one(where, kind, tmp_path):
    program = separated(tmp_path, ELF)
    (tmp_path / where).mkdir(exist_ok=True)
    (tmp_path / "app.debug").unlink()
    make = {"pipe": os.mkfifo, "zero": lambda path: os.symlink("/dev/zero", path), "folder": os.mkdir}[kind]
    make(tmp_path / where / "app.debug")
    result = locate(program, "work_by_data")
    assert result.code == 2 and "its separate file app.debug" in result.out + result.err


def test_what_dwz_names_is_not_opened(tmp_path):
    os.mkfifo(tmp_path / "alt")
    (tmp_path / "link").write_bytes(bytes(tmp_path / "alt") + b"\0" + 20 * b"\5")
    subprocess.run([OBJCOPY, f"--add-section=.gnu_debugaltlink={tmp_path / 'link'}", ELF, tmp_path / "app.elf"], check=True)
    assert locate(tmp_path / "app.elf", "work_by_data", "scenarios.c:28").code == 0


def sections_of(elf):
    """Name and header's place of each section of a 32-bit file."""
    at, size, n, names = struct.unpack_from("<I", elf, 32)[0], *struct.unpack_from("<HHH", elf, 46)
    text = struct.unpack_from("<I", elf, at + names * size + 16)[0]
    for i in range(n):
        name = text + struct.unpack_from("<I", elf, at + i * size)[0]
        yield elf[name:elf.index(b"\0", name)].decode(), at + i * size


@pytest.mark.parametrize("section", [".debug_line", ".debug_frame", ".strtab", ".shstrtab"])
def test_a_compressed_section_has_a_limit(section, tmp_path):
    """It says 1 GB of 1 kB; what it holds does not matter."""
    elf = bytearray(open(ELF, "rb").read())
    header = dict(sections_of(elf))[section]
    packed = struct.pack("<III", 1, 1 << 30, 1) + zlib.compress(bytes(1 << 20))
    struct.pack_into("<I", elf, header + 8, struct.unpack_from("<I", elf, header + 8)[0] | 0x800)
    struct.pack_into("<II", elf, header + 16, len(elf), len(packed))
    (tmp_path / "bomb.elf").write_bytes(elf + packed)
    result = locate(tmp_path / "bomb.elf", "scenarios.c:28")
    assert result.code == 2 and "claims to unpack to 1073741824 bytes, in a file of" in result.err, result.err


def test_compressed_sections_are_read(tmp_path):
    for kind in ("zlib-gnu", "zlib-gabi"):
        subprocess.run([OBJCOPY, f"--compress-debug-sections={kind}", ELF, tmp_path / "app.elf"], check=True)
        assert locate(tmp_path / "app.elf", "scenarios.c:28").code == 0, kind


# --- what a run writes is not what it reads -----------------------------------------------------------------------

@pytest.fixture(name="files")
def files_of_a_run(m4, tmp_path):
    shutil.copy(ELF, tmp_path / "app.elf")
    assert m4.run("delta", "work_by_data", "-r", 5, "-j", "-o", tmp_path / "main.jsonl").code == 0
    assert m4.run("record", "--for", "20ms", "-o", tmp_path / "profile.jsonl").code == 0
    assert m4.run("info", "--wire", tmp_path / "old.wire").code == 0
    (tmp_path / "app.regions").write_text("work work_by_data\n")
    (tmp_path / "own.metrics").write_text("TWICE = 2 * CPU_CYCLES\n")
    (tmp_path / "pmu-probe.conf").write_text("quiet\n")
    return tmp_path


DELTA = ("delta", "work_by_data", "-r", 2)
CLASHES = [("--wire", "app.elf", DELTA), ("-o", "app.elf", DELTA), ("--wire", "main.jsonl", (*DELTA, "--baseline", "main.jsonl")),
           ("-o", "main.jsonl", (*DELTA, "--baseline", "main.jsonl")), ("--wire", "new", (*DELTA, "-o", "./new")),
           ("--wire", "own.metrics", (*DELTA, "-M", "own.metrics")), ("-o", "own.metrics", (*DELTA, "-M", "own.metrics")),
           ("--wire", "app.regions", ("survey", "--regions", "app.regions")), ("-o", "app.regions", ("survey", "--regions", "app.regions")),
           ("--write-regions", "new", ("survey", "work_by_data", "-o", "new")), ("--write-regions", "new", ("survey", "w*", "--wire", "new")),
           ("-o", "pmu-probe.conf", DELTA), ("-o", "old.wire", ("-p", "replay:old.wire", "info")), ("-o", "main.jsonl", ("show", "main.jsonl")),
           ("-o", "link", ("show", "main.jsonl")), ("-o", "profile.jsonl", ("report",)), ("-o", "profile.jsonl", ("annotate", "work_by_data")),
           ("-o", "main.jsonl", ("compare", "main.jsonl", "other.jsonl")), ("--wire", "profile.jsonl", ("record", "--for", "10ms"))]


@pytest.mark.parametrize("option, name, words", CLASHES, ids=lambda value: value if isinstance(value, str) else " ".join(map(str, value)))
def test_what_is_read_is_not_written_over(m4, files, option, name, words):
    shutil.copy(files / "main.jsonl", files / "other.jsonl")
    os.symlink("main.jsonl", files / "link")
    before = {file.name: file.read_bytes() for file in files.iterdir()}
    probe = m4.probe_words() if words[0] in ("delta", "survey", "record") else []
    line = [TOOL, *map(str, probe), "--elf", "app.elf", *map(str, words), option, name]
    refused = finish_tool(subprocess.Popen(line, cwd=files, text=True, env=tool_environment(), stdin=subprocess.DEVNULL,
                                           stdout=subprocess.PIPE, stderr=subprocess.PIPE))
    assert refused.code == 2 and "it would be lost" in refused.err, refused.err
    assert {file.name: file.read_bytes() for file in files.iterdir()} == before


def test_a_program_is_never_written_over(m4, tmp_path):
    """Found without --elf, or by a profile."""
    shutil.copy(ELF, tmp_path / "app.elf")
    for option in ("-o", "--wire"):
        refused = m4.run("info", option, tmp_path / "app.elf")
        assert refused.code == 2 and "is a program" in refused.err, refused.err
    assert (tmp_path / "app.elf").read_bytes() == open(ELF, "rb").read() and os.listdir(tmp_path) == ["app.elf"]


# --- recordings ---------------------------------------------------------------------------------------------------

@pytest.mark.nobody_answers
def test_a_recording_of_nothing_leaves_an_old_one(tmp_path):
    (tmp_path / "old.wire").write_text(OLD)
    assert run_tool("-p", f"openocd:127.0.0.1:{CLOSED_PORT}", "info", "--wire", tmp_path / "old.wire").code == 3
    assert (tmp_path / "old.wire").read_text() == OLD and os.listdir(tmp_path) == ["old.wire"]


def test_a_recording_takes_the_place_of_an_old_one_when_it_is_whole(m4, tmp_path):
    old, new = tmp_path / "old.wire", tmp_path / "new.wire"
    old.write_text(OLD)
    assert m4.run("info", "--wire", old).code == 0
    assert old.read_text().endswith("end 0\n") and os.listdir(tmp_path) == ["old.wire"]
    old.write_text(OLD)
    for file, of_now in ((old, False), (new, True)):  # a new one is there at once: it shows where a run hung
        process = m4.start("stat", "--wire", file)
        wait_for(lambda file=file: file.exists() and (list(tmp_path.glob(file.name + ".part-*"))
                                                      or file.read_text().startswith("pmu-probe wire")), "the recording")
        process.kill()
        process.communicate()
        assert (file.read_text().startswith("pmu-probe wire")) == of_now
    assert old.read_text() == OLD and not list(tmp_path.glob("new.wire.*"))
    assert m4.run("restore", elf=False).code == 0


# --- a full disk --------------------------------------------------------------------------------------------------

def mounted(folder, size):
    folder.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], capture_output=True, check=False).returncode:
        pytest.skip("no file system can be mounted here")


@pytest.mark.parametrize("free", [4096, 8192])
def test_a_full_disk_leaves_a_file_of_two_names(free, tmp_path):
    """With room for no copy, and for one."""
    disk = tmp_path / "disk"
    mounted(disk, "128k")
    try:
        file, other = disk / "result", disk / "other"
        file.write_text(OLD)
        other.hardlink_to(file)
        room = os.statvfs(disk)
        (disk / "fill").write_bytes(bytes(room.f_bavail * room.f_bsize - free))
        result = run_tool("list", "--cpu", "cortex-a53", "-j", "-o", file)
        assert result.code == 3 and "could not be written" in result.err, result.err
        assert file.read_text() == OLD and other.samefile(file)
        if free > 4096:
            part, = disk.glob("result.part-*")
            assert f"No space left on device\nWhat was written is in {part}" in result.err.replace("pmu-probe: ", "")
            assert json.loads(part.read_text().splitlines()[-1])
    finally:
        subprocess.run(["umount", disk], check=True)


# --- results of any size ------------------------------------------------------------------------------------------

def test_results_above_64_mib(m4, tmp_path):
    small, large = tmp_path / "small.jsonl", tmp_path / "large.jsonl"
    assert m4.run("delta", "work_by_data", "-r", 3, "-j", "-o", small).code == 0
    lines = small.read_text().splitlines()
    hit = next(line for line in lines if '"type":"hit"' in line)
    with open(large, "w", encoding="utf-8") as out:
        out.write(lines[0] + "\n")
        for _ in range(70):
            out.write(hit[:-1] + 1_000_000 * " " + "}\n")
        out.write("\n".join(lines[1:]) + "\n")
    for form in ("text", "csv", "markdown"):
        shown, whole = run_tool("show", small, "--format", form), run_tool("show", large, "--format", form)
        assert (whole.code, whole.out) == (0, shown.out), whole.err
    whole = run_tool("show", large, "-j")
    assert whole.code == 0 and [line["type"] for line in whole.lines] == ["header"] + 73 * ["hit"] + ["summary"]
    assert run_tool("compare", small, large).code in (0, 4)  # of few hits
    with open(large, "a", encoding="utf-8") as out:
        out.write(lines[0] + "\n")
    refused = run_tool("show", large)
    assert refused.code == 2 and "a second header" in refused.err, refused.err


def test_a_page_has_so_many_hits(m4, tmp_path):
    """What it draws has all."""
    file = tmp_path / "result.jsonl"
    assert m4.run("delta", "work_by_data", "-r", 3, "-j", "-o", file).code == 0
    header, hit, *rest = file.read_text().splitlines()
    file.write_text("\n".join([header, *10_040 * [hit], *rest]) + "\n")
    code, out, err = printed_by("show", file, "--format", "html")
    assert code == 0 and "42 later hits are left out here" in out.replace(",", "") and "10042 hits from" in out.replace(",", ""), err


# --- texts ---------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("form", ["text", "json", "csv", "markdown", "html"])
def test_what_steers_a_terminal_is_cleaned_in_every_format(m4, form, tmp_path):
    file = tmp_path / "result.jsonl"
    assert m4.run("delta", "work_by_data", "-r", 3, "-j", "-o", file).code == 0
    odd = "\x9b31m\u202e\u2028\x85\\u009b\\u202e\\u0007"
    text = file.read_text().replace('"work_by_data"', f'"work{odd}"').replace('"CPU_CYCLES"', f'"CPU{odd}"')
    file.write_text(text.replace('"Cortex-M4', f'"Cortex{odd}-M4'))
    for words in (("show", file), ("compare", file, file)):
        _, shown, err = printed_by(*words, "--format", form)
        assert shown and not set(shown) & set("\x9b\u202e\u2028\x85\x07"), words
        assert "\\u009b" not in shown and "\\u202e" not in shown


def test_python_takes_lines_as_they_are():
    sys.path.insert(0, os.path.join(ROOT, "contrib/python"))
    from pmu_probe import Run
    assert Run(0, '{"type":"summary","note":"a\x85b\u2028c"}\n').summary.note == "a\x85b\u2028c"


# --- profiles and recordings ---------------------------------------------------------------------------------------

def test_show_of_a_profile_has_the_formats_of_report(files):
    profile = files / "profile.jsonl"
    for form in ("json", "csv", "html"):
        assert printed_by("show", profile, "--format", form)[0] == 0


def test_a_word_that_is_not_known_is_damage(files):
    wire = files / "unknown.wire"
    head = (files / "old.wire").read_text().splitlines()[:4]
    wire.write_text("\n".join([head[0], "command info", "elf -", head[3], "q connect", "> 1 1", '< 2 0 ! "zzz" "plugged in"', "end 0"]) + "\n")
    result = run_tool("-p", f"replay:{wire}", "info")
    assert result.code == 3 and "damaged" in result.err, result.err

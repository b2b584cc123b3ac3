"""Code that the program itself copies to where it runs, or that lies among its variables: the target runs the ELF if it is there."""
import contextlib
import json
import os
import shutil
import subprocess
import time

import pytest

from gdb_place import GdbPlace
from harness import Place, tool_environment, unfolded, wait_for
from own_program import START, built, own_place
from test_no_elf import run_in

COPY = r"""
#define QUICK __attribute__((section(".ramfunc"), noinline, used))
extern uint32_t data_start[], data_end[], data_load[];
volatile uint32_t waits __attribute__((section(".noinit")));
#define WORK QUICK void work(void) { for (uint32_t i = 0; i < 20; i++) sink += i; }
#define OTHER QUICK void other(void) { for (uint32_t i = 0; i < 90; i++) sink ^= i * 3; }
#if NEWER
OTHER
WORK
#else
WORK
OTHER
#endif
static volatile uint32_t first[4] = {1, 2, 3, 4};
static void (*volatile jobs[2])(void) = {work, other};
APART void copy(void)
{
    volatile uint32_t *to = data_start;
    for (const volatile uint32_t *from = data_load; to < data_end;)
        *to++ = *from++;
#if defined __aarch64__
    __asm volatile("dsb sy\n isb");
#elif __ARM_ARCH_PROFILE != 'M'
    __asm volatile("dsb\n isb");
#endif
}
APART void flash(void) { for (uint32_t i = 0; i < 10; i++) sink += i; }
void run(void)
{
    for (waits = WAITS; waits != 0; round_count++)
        ;
    copy();
    round_count = 0;
    for (;; round_count++) {
        first[round_count & 3]++;
        jobs[0]();
        flash();
        jobs[1]();
    }
}
"""
SOURCE = START + COPY
FLAGS = ["-Wl,--build-id=none", "-fno-pie", "-fno-toplevel-reorder"]
WAYS = ["m4/swd", "r5/swd", "rp2040/swd", "a53/swd", "m7/swd", "a9/swd", "m4", "a9", "gdb m7"]


@contextlib.contextmanager
def a_place(folder, way, *flags):
    kind = GdbPlace if way.startswith("gdb ") else Place
    with own_place(folder, way.removeprefix("gdb "), SOURCE, *FLAGS, *(flags or ["-DWAITS=0"]), kind=kind) as place:
        yield place


def another(folder, place):
    """The same program with its two functions exchanged: only what is copied differs."""
    (folder / "newer").mkdir(exist_ok=True)
    return built(folder / "newer", place.chip, SOURCE, *FLAGS, "-DNEWER=1", "-DWAITS=0")


def code_of(place, elf, name, size=24):
    """The bytes of a function in another ELF."""
    raw = elf + ".data"
    tool = "aarch64-linux-gnu-" if place.chip == "a53" else "arm-none-eabi-"
    subprocess.run([tool + "objcopy", "-O", "binary", "-j", ".data", elf, raw], check=True)
    nm = subprocess.run([tool + "nm", elf], check=True, capture_output=True, text=True).stdout
    at = {line.split()[2]: int(line.split()[0], 16) for line in nm.splitlines() if len(line.split()) == 3}
    with open(raw, "rb") as file:
        return file.read()[at[name] - at["data_start"]:][:size]


@pytest.mark.any_row(3)
@pytest.mark.parametrize("way", WAYS)
def test_another_programs_copied_code_is_refused(tmp_path, way):
    with a_place(tmp_path, way) as place:
        right = place.run("delta", "work", "-r", 3)
        assert right.code == 0 and "ELF" not in right.err, right.err
        place.elf = another(tmp_path, place)
        for words in (["delta", "work", "-r", 3], ["delta", "flash", "-r", 3], ["survey", "work", "other", "-r", 2], ["info"],
                      ["record", "--for", "100ms", "-o", tmp_path / "p.jsonl"]):
            refused = place.run(*words)
            assert refused.code == 3 and "does not run this ELF" in unfolded(refused.err), (words, refused.err)


@pytest.mark.any_row
@pytest.mark.parametrize("way", ["m4/swd", "a9/swd"])
def test_the_search_does_not_take_another_programs(tmp_path, way):
    with a_place(tmp_path, way) as place:
        folder = tmp_path / "project"
        folder.mkdir()
        shutil.copy(place.elf, folder / "right.elf")
        shutil.copy(another(tmp_path, place), folder / "wrong.elf")
        os.utime(folder / "right.elf", (1, 1))
        result = run_in(folder, *place.probe_words(), "delta", "work", "-r", 2)
        assert result.code == 0 and "using right.elf (its code is on the target)" in unfolded(result.err), result.err
        os.remove(folder / "right.elf")
        assert "the target has the code of none of 1" in unfolded(run_in(folder, *place.probe_words(), "delta", "work").err)


@contextlib.contextmanager
def waiting(place, *words):
    """The tool, once it waits for a program that has not copied anything yet."""
    tool = subprocess.Popen(place.words(*words), env=tool_environment(), text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        first = tool.stderr.readline()
        time.sleep(2)
        yield tool
        tool.out, tool.err = tool.communicate(timeout=60)
        tool.err = first + tool.err
    finally:
        tool.kill()


@pytest.mark.any_row(2)
@pytest.mark.parametrize("way", ["m7/swd", "r5/swd", "a9/swd", "a53/swd", "a9"])
def test_what_is_not_copied_yet_is_compared_at_its_start(tmp_path, way):
    with a_place(tmp_path, way, "-DWAITS=1") as place:
        with waiting(place, "delta", "work", "-r", 3, "--timeout", 60) as tool:
            assert tool.poll() is None
            place.board.write_word("waits", 0)
        assert tool.returncode == 0 and "not copied yet" in unfolded(tool.err) and "differs" not in tool.out, tool.err
    with a_place(tmp_path, way, "-DWAITS=1") as place:
        newer = code_of(place, another(tmp_path, place), "other")
        with waiting(place, "delta", "work", "-r", 3, "--timeout", 60) as tool:
            place.board.write("data_load", newer)
            place.board.write_word("waits", 0)
        assert tool.returncode == 3 and "does not run this ELF" in unfolded(tool.err), tool.err


@pytest.mark.parametrize("way", ["m4/swd"])
def test_no_breakpoint_instruction_goes_where_code_is_to_be_copied(tmp_path, way):
    with a_place(tmp_path, way, "-DWAITS=1") as place:
        refused = place.run("delta", "work", "-r", 1)
        assert refused.code == 3 and "is loaded, and not where it runs: it is not copied yet (which would overwrite a breakpoint" in unfolded(refused.err), refused.err
        assert place.board.state()["halts"] == 0


@pytest.mark.parametrize("way", ["m4/swd", "rp2040/swd"])
@pytest.mark.parametrize("changed", [0, 1])
def test_a_breakpoint_that_the_program_has_written_over_is_named(tmp_path, way, changed):
    with a_place(tmp_path, way, "-DWAITS=1", "-Wl,--build-id") as place:
        code = code_of(place, place.elf, "work")
        place.board.write("work", bytes([code[0] + changed]) + code[1:])  # as a run before a reset has left it
        tool = subprocess.Popen(place.words("delta", "work", "-r", 2, "--timeout", 4), env=tool_environment(), text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        wait_for(lambda: place.board.read("work", 2) == b"\x00\xbe" or place.board.read("work", 1) not in (code[:1], bytes([code[0] + changed])), "the breakpoint")
        place.board.write_word("waits", 0)
        out, err = tool.communicate(timeout=60)
        assert tool.returncode == 3 and "has written over the breakpoint instruction at 0x20000000" in unfolded(err) and "waits longer" not in err, out + err


@pytest.mark.any_row
@pytest.mark.parametrize("way", ["m7/swd", "a9/swd"])
def test_what_was_changed_where_it_runs(tmp_path, way):
    with a_place(tmp_path, way) as place:
        place.board.write("work", code_of(place, another(tmp_path, place), "other"))
        refused = place.run("delta", "work", "-r", 2)
        assert refused.code == 3 and "the code of own.c:" in unfolded(refused.err), refused.err
        noted = place.run("delta", "flash", "-r", 2)
        assert noted.code == 0 and "not copied yet, or something changed it" in unfolded(noted.err), noted.err


@pytest.mark.any_row
@pytest.mark.parametrize("way", ["a9/swd", "a53/swd"])
def test_what_is_copied_in_a_cache_is_compared_through_the_core(tmp_path, way):
    with a_place(tmp_path, way, "-DWAITS=1") as place:
        place.board.command("core-state dirty-lines on")
        with waiting(place, "delta", "work", "-r", 3, "--timeout", 60) as tool:
            place.board.write_word("waits", 0)
        assert tool.returncode == 0 and "differs" not in tool.out, tool.err
    with a_place(tmp_path, way, "-DWAITS=1") as place:
        newer = code_of(place, another(tmp_path, place), "other")
        place.board.command("core-state dirty-lines on")
        with waiting(place, "delta", "work", "-r", 3, "--timeout", 60) as tool:
            place.board.write("data_load", newer)
            place.board.write_word("waits", 0)
        assert tool.returncode == 3 and "does not run this ELF" in unfolded(tool.err), tool.err


def test_what_is_copied_in_a_cache_after_a_reset(tmp_path):
    with a_place(tmp_path, "a53/swd") as place:
        place.board.command("core-state dirty-lines on")
        again = place.run("delta", "work", "-r", 1, "--reset", "--timeout", 20)
        assert again.code == 0 and "differs" not in again.out, again.err


@pytest.mark.any_row
@pytest.mark.parametrize("way", ["m7/swd", "a9/swd", "m7", "gdb m7"])
def test_an_end_that_is_not_copied_yet_is_compared_at_the_end(tmp_path, way):
    for other in (False, True):
        with a_place(tmp_path, way, "-DWAITS=1") as place:
            newer = code_of(place, another(tmp_path, place), "other")
            with waiting(place, "delta", "copy", "work", "-r", 1, "--timeout", 60, "--json") as tool:
                if other:
                    place.board.write("data_load", newer)
                place.board.write_word("waits", 0)
            refused = "does not run this ELF" in unfolded(tool.err)
            assert (tool.returncode, refused, '"summary"' in tool.out) == ((3, True, False) if other else (0, False, True)), tool.err


MANY = SOURCE.replace("static volatile uint32_t first", "".join(f"QUICK void f{i}(void) {{ sink += {i}; }}\n" for i in range(70)) +
                      "static volatile uint32_t first").replace("jobs[1]();", "jobs[1](); f0(); f19(); f69();")


@pytest.mark.any_row(2)
@pytest.mark.parametrize("way", ["m7/swd"])
def test_any_number_of_functions_may_be_copied_later(tmp_path, way):
    with own_place(tmp_path, way, MANY, *FLAGS, "-DWAITS=1") as place:
        with waiting(place, "survey", "f*", "-r", 1, "--for", "20s", "--json") as tool:
            place.board.write_word("waits", 0)
        rows = {row["name"]: row for row in map(json.loads, tool.out.splitlines()) if row["type"] == "region"}
        assert "overwritten" not in tool.out and all(rows[name]["hits"] > 0 for name in ("f0", "f19", "f69")), tool.out + tool.err


@pytest.mark.any_row
@pytest.mark.parametrize("way", ["m4/swd", "a9/swd"])
def test_of_many_functions_each_that_is_measured_is_compared(tmp_path, way):
    source = MANY.replace("QUICK void f", "APART __attribute__((used)) void f")
    with own_place(tmp_path, way, source, *FLAGS, "-DWAITS=0", "-Wl,--build-id") as place:
        before = rows_of(place.run("survey", "f*", "-r", 1, "--for", "10s", "--json").out)
        assert "doubt" not in before["f0"] and "doubt" not in before["f69"], before
        place.board.write("f69", place.board.read("f19", 16))
        after = rows_of(place.run("survey", "f*", "-r", 1, "--for", "10s", "--json").out)
        assert "(f69) is not the ELF's" in after["f69"]["doubt"] and "(f" not in after["f0"].get("doubt", ""), after


@pytest.mark.parametrize("way", ["m4/swd"])
def test_of_many_functions_none_gets_a_breakpoint_before_it_is_copied(tmp_path, way):
    with own_place(tmp_path, way, MANY, *FLAGS, "-DWAITS=1") as place:
        refused = place.run("survey", "f*", "-r", 1, "--for", "2s")
        assert refused.code == 3 and "would overwrite a breakpoint" in unfolded(refused.out + refused.err), refused.err
        assert set(place.board.read("f69", 4)) == {0}


@pytest.mark.any_row(2)
@pytest.mark.parametrize("way", ["m4/swd", "rp2040/swd", "m7/swd"])
def test_a_function_that_was_patched_in_ram(tmp_path, way):
    with a_place(tmp_path, way) as place:
        place.board.write("work", code_of(place, another(tmp_path, place), "other"))
        refused = place.run("delta", "work", "-r", 2)
        assert refused.code == 3 and "is loaded, and not where it runs" not in unfolded(refused.err), refused.err
    with a_place(tmp_path, way, "-DWAITS=0", "-Wl,--build-id") as place:
        code = code_of(place, place.elf, "work")
        place.board.write("work", bytes([code[0] + 1]) + code[1:])  # it begins at 1
        noted = place.run("delta", "work", "-r", 2)
        assert noted.code == 0 and "its build ID is in place" in unfolded(noted.err), noted.err
    with a_place(tmp_path, "m4/swd", "-DWAITS=1", "-Wl,--build-id") as place:
        refused = place.run("delta", "work", "-r", 1)
        assert refused.code == 3 and "breakpoint instruction" in unfolded(refused.err), refused.err


def rows_of(text, kind="region"):
    return {row["name"]: row for row in map(json.loads, text.splitlines()) if row["type"] == kind}


OF_WORK = "(work) is not the ELF's"


@pytest.mark.any_row(2)
@pytest.mark.parametrize("way", ["m4/swd", "m7/swd", "m7", "gdb m7"])
def test_code_that_is_not_the_elfs_is_a_doubt_of_what_is_measured(tmp_path, way):
    with a_place(tmp_path, way, "-DWAITS=0", "-Wl,--build-id") as place:
        assert "exact" in place.run("delta", "work", "-r", 2).out
        code = code_of(place, place.elf, "work")
        place.board.write("work", bytes([code[0] + 1]) + code[1:])  # it begins at 1
        for words in (["delta", "work", "-r", 2], ["delta", "flash", "work", "-r", 2], ["delta", "work", "flash", "-r", 2]):
            result = place.run(*words, "--quiet")
            assert result.code == 0 and OF_WORK in unfolded(result.out) and "each count is exact" not in result.out, (words, result.out)
        survey = place.run("survey", "work", "flash", "-r", 2, "--for", "10s", "--json")
        rows = rows_of(survey.out)
        assert OF_WORK in rows["work"]["doubt"] and "doubt" not in rows["flash"], survey.out
        if way.endswith("/swd"):
            assert OF_WORK in unfolded(place.run("lines", "work", "-r", 2, "--quiet").out)
        if way == "m7/swd":
            assert OF_WORK in unfolded(place.run("guard", "work", "--budget", "1us", "--for", "1s", "--quiet").out)


@pytest.mark.any_row
@pytest.mark.parametrize("way", ["m7/swd", "r5/swd", "a9/swd", "m7", "gdb m7"])
def test_so_is_code_that_is_copied_later_and_is_not_the_elfs(tmp_path, way):
    with a_place(tmp_path, way, "-DWAITS=1", "-Wl,--build-id") as place:
        other = code_of(place, place.elf, "other")
        with waiting(place, "delta", "work", "-r", 2, "--timeout", 60, "--json") as tool:
            place.board.write("data_load", other)
            place.board.write_word("waits", 0)
        assert tool.returncode == 0 and OF_WORK in json.loads(tool.out.splitlines()[-1])["doubt"], tool.out + tool.err


ODD = """__asm(".section .ramfunc,\\"ax\\"\\n.syntax unified\\n.thumb\\n.align 2\\nnop\\n.global odd\\n.thumb_func\\n.type odd, %function\\n"
      "odd: movs r0, #1\\nbx lr\\n.size odd, . - odd\\n.align 2\\n.global loads\\n.thumb_func\\n.type loads, %function\\n"
      "loads: ldr r0, 1f\\nbx lr\\n.align 2\\n1: .word 0x12345678\\n.size loads, . - loads\\n.text");
void odd(void); void loads(void);
static void (*volatile more[2])(void) = {odd, loads};
"""


@pytest.mark.parametrize("way", ["m7/swd", "m4/swd"])
def test_each_halfword_and_constant_of_a_function_is_compared(tmp_path, way):
    source = SOURCE.replace("static volatile uint32_t first", ODD + "static volatile uint32_t first").replace("jobs[1]();", "jobs[1](); more[0](); more[1]();")
    with own_place(tmp_path, way, source, *FLAGS, "-DWAITS=0", "-Wl,--build-id") as place:
        odd = place.symbol("odd") & ~1
        assert odd % 4 == 2
        for name in ("odd", "loads"):
            right = place.run("delta", name, "-r", 2)
            assert right.code == 0 and "is not proved" not in right.out, right.out
        place.board.write(odd, b"\x02\x20")
        place.board.write((place.symbol("loads") & ~1) + 4, bytes(4))
        assert "the code of odd is not the ELF's" in unfolded(place.run("delta", "odd", "-r", 2).out)
        assert "has other constants than the ELF's" in unfolded(place.run("delta", "loads", "-r", 2).out)


@pytest.mark.any_row
@pytest.mark.parametrize("way", ["m4/swd", "a9/swd"])
def test_a_profile_says_that_copied_code_differs(tmp_path, way):
    with a_place(tmp_path, way) as place:
        place.board.write("work", code_of(place, another(tmp_path, place), "other"))
        recorded = place.run("record", "--for", "200ms", "-o", tmp_path / "p.jsonl")
        assert recorded.code == 0 and "names there may be wrong" in (tmp_path / "p.jsonl").read_text(), recorded.err


@pytest.mark.any_row
@pytest.mark.parametrize("way", ["m7/swd"])
def test_one_wrong_function_does_not_end_a_survey(tmp_path, way):
    with a_place(tmp_path, way, "-DWAITS=1") as place:
        newer = code_of(place, another(tmp_path, place), "other")
        with waiting(place, "survey", "work", "flash", "-r", 2, "--for", "20s", "--json") as tool:
            place.board.write("data_load", newer)
            place.board.write_word("waits", 0)
        rows = {row["name"]: row for row in map(json.loads, tool.out.splitlines()) if row["type"] == "region"}
        assert rows["flash"]["hits"] > 0 and "does not run this ELF" in rows["work"]["why"] and "hits" not in rows["work"], tool.out + tool.err


def test_words_in_flash_decide_nothing_if_all_code_is_copied(tmp_path):
    header = '__attribute__((section(".rodata.header"), used)) const uint32_t image_header[64] = {0};\n'
    with own_place(tmp_path, "m4/swd", SOURCE + header, *FLAGS, "-DWAITS=0") as place:
        data = str(tmp_path / "data.elf")
        subprocess.run(["arm-none-eabi-objcopy", "--set-section-flags", ".text=alloc,load,readonly,data", place.elf, data], check=True)
        place.board.write("image_header", bytes(range(0x80, 0xA0)))
        place.elf = data
        looked = place.run("info")
        assert looked.code == 0 and "none is code" in unfolded(looked.err), looked.err
        assert place.run("delta", "work", "-r", 2).code == 0


def test_what_cannot_be_read_where_it_runs_is_compared_where_it_is_loaded(tmp_path):
    far = '__attribute__((section(".far"), noinline, used)) void far(void) { sink ^= 5; }\n'
    (tmp_path / "far.ld").write_text("SECTIONS { .far 0x68000000 : AT (0x08010000) { *(.far) } } INSERT AFTER .text;\n")
    with own_place(tmp_path, "m4/swd", SOURCE + far, *FLAGS, "-DWAITS=0", f"-Wl,-T,{tmp_path}/far.ld") as place:
        recorded = place.run("record", "--for", "200ms", "-o", tmp_path / "p.jsonl")
        assert recorded.code == 0 and "only the load image is compared" in unfolded(recorded.err), recorded.err
        text = (tmp_path / "p.jsonl").read_text()
        assert "may be wrong" not in text and "compared" not in text
        place.board.write(0x08010000, bytes(16))
        measured = place.run("delta", "work", "-r", 2)
        assert measured.code == 3 and "does not run this ELF" in unfolded(measured.err), measured.err

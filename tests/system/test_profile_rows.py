"""What a row of a profile is: tasks of one name, tasks of a chip whose memory is hidden in sleep, files of one name, and a function with the
part that the compiler moved away. The truth is the board's."""
import pytest

from harness import run_tool, unfolded
from own_program import START, own_place
from test_record import by_function

BURN = START + """
#define BURN(n) for (uint32_t i = 0; i < (n); i++) sink += i
"""
TASKS = BURN + r"""
struct tskTaskControlBlock { uint32_t *top; uint32_t list[4]; char pcTaskName[16]; } tcbs[3];
struct tskTaskControlBlock *volatile pxCurrentTCB __attribute__((used));
static void name(struct tskTaskControlBlock *t, const char *s) {
    for (uint32_t i = 0; i < 16; i++) { *(volatile char *)&t->pcTaskName[i] = *s; s += *s != 0; }
}
"""
SLEEPS = TASKS + r"""
void SysTick_Handler(void) { sink++; }
APART void work(void) { BURN(300); }
void run(void) {
    name(&tcbs[0], "IDLE"); name(&tcbs[1], "worker");
    REGISTER(0xE000E014) = 11999; REGISTER(0xE000E018) = 0; REGISTER(0xE000E010) = 7;
    for (;; round_count++) { pxCurrentTCB = &tcbs[1]; work(); pxCurrentTCB = &tcbs[0]; __asm volatile("wfi"); }
}
"""
NAMESAKES = TASKS + r"""
void run(void) {
    name(&tcbs[0], "idle"); name(&tcbs[1], "worker"); name(&tcbs[2], "worker");
    for (;; round_count++) { pxCurrentTCB = &tcbs[1]; BURN(300); pxCurrentTCB = &tcbs[0]; BURN(200); pxCurrentTCB = &tcbs[2]; BURN(600); }
}
"""
FILES = BURN + r"""
#line 10 "/a/util.c"
APART void in_a(void) { BURN(120); }
#line 10 "/b/x/../util.c"
APART void in_b(void) { BURN(70); }
#line 20 "/b/./util.c"
APART void also_in_b(void) { BURN(50); }
#line 30 "/c/main.c"
void run(void) { for (;; round_count++) { in_a(); in_b(); also_in_b(); BURN(200); } }
"""
COLD = BURN + r"""
APART __attribute__((used)) void leaf(uint32_t n) { BURN(100); }
void f(uint32_t k);
__asm(".text\n.syntax unified\n.thumb_func\n.type f, %function\n.global f\nf:\n.cfi_startproc\npush {r4, lr}\n.cfi_def_cfa_offset 8\n"
      ".cfi_offset 4, -8\n.cfi_offset 14, -4\nmovs r1, #100\n1: subs r1, #1\nbne 1b\nlsls r3, r0, #31\nbmi.w f.cold\n2: pop {r4, pc}\n"
      ".cfi_endproc\n.size f, .-f\n.section .text.unlikely, \"ax\"\n.thumb_func\n.type f.cold, %function\nf.cold:\n.cfi_startproc\n"
      ".cfi_def_cfa_offset 8\n.cfi_offset 4, -8\n.cfi_offset 14, -4\nmovw r1, #500\n1: subs r1, #1\nbne 1b\nbl leaf\nb.w 2b\n"
      ".cfi_endproc\n.size f.cold, .-f.cold\n.text\n");
void run(void) { for (;; round_count++) { f(round_count); BURN(100); } }
"""


def shares_of(elf, path, sort, key):
    result = run_tool("--elf", elf, "report", "--sort", sort, "-j", path)
    assert result.code == 0, result.err
    return {line[key]: line["share"] for line in result.lines if line["type"] == "share"}


@pytest.mark.parametrize("way, wire", [("m4/swd", 2_000_000), ("m33/swd", 10_000_000)])
def test_tasks_of_memory_that_sleep_hides(way, wire, tmp_path):
    """Its memory gives the value read before while the core sleeps: a read with sleep on one side is
    none, and report says that the others are not proved: a packet's end may have a sleep in it."""
    path = tmp_path / "p.jsonl"
    with own_place(tmp_path, way, SLEEPS, clock=12_000_000, dap_wire=wire, dap_exact=True, core_state="sleepy-memory") as place:
        result = place.run("record", "--for", "3s", "-o", path)
        assert result.code == 0, result.err
        said = "tasks are of the time awake, and not proved"
        assert said in unfolded(result.err), result.err
        report = run_tool("--elf", place.elf, "report", "--sort", "task", path)
        if report.code == 2 and "has none" in unfolded(report.err):
            return  # the time awake was shorter than the reads
        assert said in unfolded(report.out), report.out
        shares = shares_of(place.elf, path, "task", "task")
        assert shares.get("IDLE", 0) < 0.1, shares  # which sleeps: it is awake for some instructions


def test_two_tasks_of_one_name_that_live_at_once(tmp_path):
    path = tmp_path / "p.jsonl"
    with own_place(tmp_path, "m33/swd", NAMESAKES, clock=12_000_000) as place:
        assert place.run("record", "--for", "2s", "-o", path).code == 0
        lines = run_tool("--elf", place.elf, "report", "--sort", "task", "-j", path).lines
    shares = {line["task"]: line["share"] for line in lines if line["type"] == "share"}
    workers = sorted(share for name, share in shares.items() if name.startswith("worker (0x2000"))
    assert len(shares) == 3 and len(workers) == 2, shares
    if sum(line["samples"] for line in lines if line["type"] == "share") >= 1000:  # a busy machine takes few
        assert workers == pytest.approx([0.273, 0.546], abs=0.08), shares


def test_files_of_one_name_are_two(tmp_path):
    path = tmp_path / "p.jsonl"
    with own_place(tmp_path, "m33/swd", FILES, clock=12_000_000, dap_wire=1_000_000, dap_exact=True) as place:
        place.board.command("profile on")
        assert place.run("record", "--for", "2s", "-o", path).code == 0
        truth = by_function(place, place.board.command("profile")["cores"][0]["executed"])
        shares = shares_of(place.elf, path, "file", "source")
    all_of = sum(truth.values())
    assert set(shares) == {"a/util.c", "b/util.c", "main.c"}, shares
    assert shares["a/util.c"] == pytest.approx(truth["in_a"] / all_of, abs=0.04)
    assert shares["b/util.c"] == pytest.approx((truth["in_b"] + truth["also_in_b"]) / all_of, abs=0.04)


def test_the_cold_part_is_in_its_functions_children(tmp_path):
    path = tmp_path / "p.jsonl"
    with own_place(tmp_path, "m33/swd", COLD, "-fno-toplevel-reorder", clock=12_000_000) as place:
        place.board.command("profile on")
        assert place.run("record", "-g", "--every", 10000, "--for", "2s", "-o", path).code == 0
        truth = by_function(place, place.board.command("profile")["cores"][0]["executed"])
        rows = {line.get("function"): line for line in run_tool("--elf", place.elf, "report", "-g", "-j", path).lines if line["type"] == "share"}
        folded = run_tool("--elf", place.elf, "report", "--format", "folded", path).out
    part = sum(truth[name] for name in ("f", "f.cold", "leaf")) / sum(truth.values())
    assert rows["f"]["children"] == pytest.approx(part, abs=0.05), (rows["f"], part)
    assert rows["f.cold"]["children"] < rows["f"]["children"]
    assert "run;f;f.cold;leaf" in folded and "run;f.cold" not in folded, folded

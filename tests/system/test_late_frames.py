"""Frames that call frame information has wrong: where LLVM restores what is saved, and where a return lies before the frame is
made; and the ends of GCC's Thumb-1 functions. The assembly says what these compilers do. The truth is the board's log."""
import pytest

from gdb_place import GdbPlace
from harness import NOWHERE, Place, wait_for
from own_program import START, own_place
from test_lines import CALLS, check_sum, lines, walked

pytestmark = pytest.mark.any_fifth

# f: its early return is the one at the end, as with clang -O2. g: has its own, as with -Os. h: as GCC ends a function of Thumb-1.
LATE = START + r"""
int f(int n), g(int n), h(int n);
APART void leaf(int n) { sink += n; }
#define FUNCTION(name) ".type " #name ",%function\n.global " #name ", " #name "_end\n" TYPE #name ":\n.cfi_startproc\n"
#define ENDS(name) ".cfi_endproc\n.size " #name ", .-" #name "\n"
#define LINE(n) ".loc 1 " #n "\n"
#if defined __aarch64__
#define TYPE
#define FRAME "stp x29, x30, [sp, #-32]!\nstr x19, [sp, #16]\nmov x29, sp\n" \
              ".cfi_def_cfa 29, 32\n.cfi_offset 19, -16\n.cfi_offset 30, -24\n.cfi_offset 29, -32\n"
#define UNFRAME "ldr x19, [sp, #16]\nldp x29, x30, [sp], #32\n"
#define EARLY(to) "cbz w0, " to "\n"
#define KEEP "sub w19, w0, #1\n"
#define AGAIN(name) "mov w0, w19\nbl " #name "\n"
#define RETURN "ret\n"
#define NONE "mov w0, #0\n"
#define MADE "sub sp, sp, #32\n.cfi_def_cfa_offset 32\nstr x30, [sp, #16]\n.cfi_offset 30, -16\n"
#define DROP "ldr x30, [sp, #16]\nadd sp, sp, #32\n"
#define LEAVE "ret\n"
#else
#define FRAME "push {r4, lr}\n.cfi_def_cfa_offset 8\n.cfi_offset 14, -4\n.cfi_offset 4, -8\n"
#define EARLY(to) "cmp r0, #0\nbeq " to "\n"
#define KEEP "subs r4, r0, #1\n"
#define AGAIN(name) "movs r0, r4\nbl " #name "\n"
#define RETURN "bx lr\n"
#define NONE "movs r0, #0\n"
#define MADE "push {r4, lr}\n.cfi_def_cfa_offset 8\n.cfi_offset 14, -4\n.cfi_offset 4, -8\nsub sp, sp, #24\n.cfi_def_cfa_offset 32\n"
#define DROP "add sp, sp, #24\n"
#define LEAVE "pop {r4, pc}\n"
#if defined __thumb__
#define TYPE ".thumb_func\n"
#define UNFRAME "pop {r4}\npop {r1}\nmov lr, r1\n"
#else
#define TYPE
#define UNFRAME "pop {r4, lr}\n"
#endif
__asm(".syntax unified\n");
#endif
__asm(".text\n" FUNCTION(f) LINE(1) EARLY("2f") LINE(2) FRAME LINE(3) KEEP AGAIN(f) LINE(4) AGAIN(f) LINE(5) UNFRAME LINE(6)
      "f_end:\n2: " RETURN ENDS(f));
__asm(".text\n" FUNCTION(g) LINE(11) EARLY("2f") LINE(12) FRAME LINE(13) KEEP AGAIN(g) LINE(14) AGAIN(g) LINE(15) UNFRAME RETURN LINE(16)
      "2: " NONE LINE(17) "g_end: " RETURN ENDS(g));
__asm(".text\n" FUNCTION(h) LINE(21) MADE LINE(22) "bl leaf\n" LINE(23) DROP LINE(24) "h_end: " LEAVE ENDS(h));
void run(void)
{
    for (int turn = 0;; turn++, round_count++) {
#if RECURS
        f(3);
        g(turn % 3 ? 0 : 3);
#else
        f(turn % 3 == 0);
        leaf(turn);
        g(turn % 3 == 0);
#endif
        h(1);
    }
}
"""
WAYS = ["m4/swd", "a53/swd", "rp2040/swd", "a9/swd", "m4", "gdb m4"]


def at_late(tmp_path, way, recurs):
    kind = GdbPlace if way.startswith("gdb ") else Place
    return own_place(tmp_path, way.removeprefix("gdb "), LATE, f"-DRECURS={recurs}", "-fno-toplevel-reorder", kind=kind)


def costs(place, start, end, below=0):
    """What calls take from start to end, by the log; `below`: how far the end's stack pointer is below the start's."""
    place.board.watch(start, end)
    wait_for(lambda: len(place.board.log()) > 200, "some calls")
    found, under_way = set(), []
    for event in place.board.log():
        if event.pc == place.symbol(start):
            under_way.append(event)
            continue
        while under_way and under_way[-1].sp != event.sp + below:
            under_way.pop()
        if under_way:
            found.add(event.cycles - under_way.pop().cycles)
    return found


def check_pairs(place, start, end, below=0):
    truth = costs(place, start, end, below)
    result = place.delta(start, f"*{place.symbol(end):#x}", "-r", 12, "--timeout", "5s")
    found = [hit["values"]["CPU_CYCLES"] for hit in result.hits]
    assert len(found) == 12 and set(found) <= truth, (found, truth)
    assert "call frame information" not in result.summary.get("doubt", ""), result.summary


@pytest.mark.any_row(2)
@pytest.mark.parametrize("way", WAYS)
def test_ends_of_what_calls_itself_are_of_the_same_call(way, tmp_path):
    with at_late(tmp_path, way, 1) as place:
        check_pairs(place, "f", "f_end")
        check_pairs(place, "g", "g_end")


@pytest.mark.any_row(2)
@pytest.mark.parametrize("way", WAYS)
def test_an_end_is_reached_where_the_frame_is_gone_or_not_yet_made(way, tmp_path):
    with at_late(tmp_path, way, 0) as place:
        check_pairs(place, "f", "f_end")
        check_pairs(place, "g", "g_end")
        check_pairs(place, "h", "h_end", 0 if "a53" in way else 8)


@pytest.mark.any_row(1)
@pytest.mark.parametrize("way", ["m4/swd", "a53/swd", "rp2040/swd", "a9/swd"])
def test_lines_of_a_function_that_returns_early_are_of_one_call(way, tmp_path):
    """No step leads from one call into the next: the lines of a call are its cycles."""
    with at_late(tmp_path, way, 0) as place:
        for name in "fg":
            place.board.watch(NOWHERE)
            result = lines(place, name, "-r", CALLS)
            truth = [cycles for cycles, _ in walked(place, name, [])]
            hits = {row["line"] % 10: row["hits"] for row in result.rows}
            assert len(truth) == CALLS == hits[1] == hits[6] + (hits[5] if name == "g" else 0), (hits, truth)
            check_sum(result, truth)
            assert result.summary["agrees"] and "frame" not in " ".join(result.summary["notes"]), result.summary

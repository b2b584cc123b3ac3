"""Code that goes on elsewhere than a plain jump says: past its function's end into the next symbol, or by a register."""
import pytest

from own_program import START, own_place
from test_lines import lines

LOOPS = {
    "m": ".syntax unified\n.thumb\n.thumb_func\n.global wait_long\nwait_long: movs r1, #10\n.thumb_func\ninner: subs r1, r1, #1\n"
         "bne inner\nsubs r0, r0, #1\nbne wait_long\nbx lr",
    "a9": ".arm\n.global wait_long\nwait_long: mov r1, #10\ninner: subs r1, r1, #1\nbne inner\nsubs r0, r0, #1\nbne wait_long\nbx lr",
    "a53": ".global wait_long\nwait_long: mov x1, #10\ninner: subs x1, x1, #1\nb.ne inner\nsubs x0, x0, #1\nb.ne wait_long\nret"}
PAST_A_LABEL = r"""
void wait_long(uint32_t n);
void run(void) { for (;; round_count++) { wait_long(500); for (uint32_t i = 0; i < 40; i++) __asm volatile(""); } }
"""
BY_REGISTER = START + r"""
typedef void (*step_t)(uint32_t);
extern step_t volatile next;
APART void idle(uint32_t n) { for (uint32_t i = 0; i < 40; i++) __asm volatile(""); sink = n; }
APART void f(uint32_t n) { for (uint32_t i = 0; i < 10; i++) __asm volatile(""); sink = n; if (n) { step_t s = next; s(n - 1); } }
step_t volatile next;
void run(void) { next = f; for (;; round_count++) { f(500); idle(3); } }
"""


def assert_whole_calls(place, function):
    """The core is stopped somewhere in a call, which is not the first hit."""
    for _ in range(3):
        result = place.run("delta", function, "-r", 4, "-j")
        assert result.code == 0 and max(result.cycles) - min(result.cycles) < 10, (result.err, result.cycles)
        place.board.run_for(1777)


@pytest.mark.any_row(2)
@pytest.mark.parametrize("chip", ["m4", "a53", "a9"])
def test_a_loop_to_its_own_entry_past_a_label(chip, tmp_path):
    loop = LOOPS.get(chip, LOOPS["m"]).replace("\n", r"\n")
    with own_place(tmp_path, f"{chip}/swd", f'{START}__asm(".text\\n{loop}");{PAST_A_LABEL}') as place:
        assert_whole_calls(place, "wait_long")


# A linker's veneers: of lld, of GNU ld for Armv6-M, for A32, for AArch64
VENEERS = {"m4": "movw r12, #:lower16:wait_long\nmovt r12, #:upper16:wait_long\nbx r12",
           "rp2040": "push {r0}\nldr r0, 1f\nmov r12, r0\npop {r0}\nbx r12\n.align 2\n1: .word wait_long",
           "a9": "ldr pc, [pc, #-4]\n.word wait_long",
           "a53": "adrp x16, wait_long\nadd x16, x16, :lo12:wait_long\nbr x16"}
LOOP_BY = {"a53": "mov x1, #10\n1: subs x1, x1, #1\nb.ne 1b\nsubs x0, x0, #1\ncbz x0, 2f\nb again\n2: ret",
           "": "movs r1, #10\n1: subs r1, r1, #1\nbne 1b\nsubs r0, r0, #1\nbeq 2f\nb again\n2: bx lr"}


@pytest.mark.any_row(2)
@pytest.mark.parametrize("chip", VENEERS)
def test_a_loop_to_its_own_entry_by_a_veneer(chip, tmp_path):
    kind = {"a53": "", "a9": ".arm\n"}.get(chip, ".syntax unified\n.thumb\n.thumb_func\n")
    text = f".text\n{kind}.global wait_long\n.type wait_long, %function\nwait_long: {LOOP_BY.get(chip, LOOP_BY[''])}\n" \
           f".size wait_long, . - wait_long\n{kind}.type again, %function\nagain: {VENEERS[chip]}\n.size again, . - again"
    text = text.replace("\n", r"\n")
    with own_place(tmp_path, f"{chip}/swd", f'{START}__asm("{text}");{PAST_A_LABEL}') as place:
        assert_whole_calls(place, "wait_long")


@pytest.mark.any_row(2)
@pytest.mark.parametrize("chip", ["m4", "a53", "a9", "rp2040"])
def test_a_tail_call_by_a_pointer_to_itself(chip, tmp_path):
    with own_place(tmp_path, f"{chip}/swd", BY_REGISTER, "-O2") as place:
        assert_whole_calls(place, "f")


# It leaves a part of itself out of CYCCNT, as profilers do: before a label that others may call, and after it
AFTER_A_LABEL = START + r"""
APART void busy(uint32_t n) { for (; n; n--) __asm volatile(""); sink++; }
__asm(".text\n.syntax unified\n.thumb\n.thumb_func\n.type f, %function\n.global f\nf: push {r4, lr}\nmov r0, #5\nbl busy\n"
      ".size f, . - f\n.thumb_func\n.type f_mid, %function\n.global f_mid\nf_mid: ldr r4, =0xE0001004\nldr r0, [r4]\npush {r0}\nmov r0, #50\n"
      "bl busy\npop {r0}\nstr r0, [r4]\nmov r0, #4\nbl busy\npop {r4, pc}\n.size f_mid, . - f_mid\n.ltorg");
void f(void);
void run(void) { for (;; round_count++) { f(); busy(100); } }
"""


@pytest.mark.parametrize("chip", ["m4", "m33"])
def test_a_function_that_goes_on_past_a_label_and_sets_the_counter_back(chip, tmp_path):
    with own_place(tmp_path, f"{chip}/swd", AFTER_A_LABEL) as place:
        result = place.run("delta", "f", "-r", 6, "-j")
        assert result.code == 0 and min(result.cycles) > 250, (result.err, result.cycles)


# Its loop goes back over more than 2 KB, which GCC makes by BL
FAR = START + '#define NOPS "' + r"nop\n" * 1100 + '"\n' + r"""
#define PLACE(name) __asm volatile(".global " #name "\n" #name ":" ::: "memory")
APART void busy(uint32_t n) { for (; n; n--) __asm volatile(""); sink++; }
#line 100
APART void f(uint32_t n)
{
    sink += n;
    for (uint32_t i = 0; i < 3; i++) {
        PLACE(top);
        busy(10 + i);
        if (n & 1) {
            sink += 5;
            __asm volatile(NOPS);
            busy(20);
        }
        PLACE(bottom);
        sink += 3;
    }
    busy(3);
}
void run(void) { for (;; round_count++) { f(1); busy(100); } }
"""


def test_a_far_jump_that_looks_like_a_call(tmp_path):
    with own_place(tmp_path, "rp2040/swd", FAR, clock=6_000_000) as place:
        result = place.run("delta", "bottom", "top", "-r", 8, "-j")
        assert result.code == 0 and max(result.cycles) < 20, (result.err, result.cycles)
        listed = lines(place, "f", "-r", 10)
        per_line = {row["line"]: row["hits"] for row in listed.rows}
        assert per_line[105] == per_line[107] == per_line[109] == 30, per_line

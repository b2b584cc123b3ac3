"""Ways into a call and out of it that compilers do not make: each hit of `delta` is one call, or is counted as left."""
import pytest

from gdb_place import GdbPlace
from harness import Place
from own_program import START, own_place
from test_lines import lines

BURN = "\n#define BURN(n) for (uint32_t i = 0; i < (n); i++) sink += i\n"
ROUNDS = """
APART void deep(uint32_t n) { if (n % 3 == 1) LEAVE; sink += n; }
__attribute__((used)) APART void f(uint32_t n) { BURN(10); deep(n); sink += n; }
"""


def assert_each_is_a_call(place, left=True):
    """A call that returns always takes the same."""
    result = place.run("delta", "f", "-r", 60, "-j")
    assert result.code == 0, result.err
    assert max(result.cycles) - min(result.cycles) < 10 and len(result.cycles) == 60, sorted(result.cycles)
    assert not left or result.summary["left"] > 10, result.summary
    return result


# The longjmp of old C libraries
BY_LDM = START + BURN + """
uint32_t env[12];
__attribute__((naked, noinline, returns_twice)) int set(uint32_t *b) { __asm volatile("stmia r0, {r4-r11, sp, lr}\\nmov r0, #0\\nbx lr"); }
__attribute__((naked, noinline, noreturn)) void jump(uint32_t *b) { __asm volatile("mov ip, r0\\nmov r0, #1\\nldmia ip, {r4-r11, sp, pc}"); }
""" + ROUNDS.replace("LEAVE", "jump(env)") + """
APART void one_round(uint32_t n) { if (set(env) == 0) f(n); else BURN(1000); BURN(50); }
void run(void) { for (uint32_t n = 0;; round_count++) one_round(n++); }
"""

# To a frame that was kept; the first register of it is a frame pointer
BY_FRAME = START + BURN + """
uint32_t *saved __attribute__((used));
#if defined __thumb__
#define FRAME "r7"
#else
#define FRAME "r11"
#endif
__attribute__((naked, noinline)) void guarded(uint32_t n)
{
    __asm volatile(".syntax unified\\npush {r4-r7, lr}\\nldr r1, =saved\\nmov r2, sp\\nstr r2, [r1]\\nbl f\\npop {r4-r7, pc}\\n.ltorg");
}
__attribute__((naked, noinline, noreturn)) void throw(void)
{
    __asm volatile(".syntax unified\\nldr " FRAME ", =saved\\nldr " FRAME ", [" FRAME "]\\nmov sp, " FRAME "\\npop {r4-r7, pc}\\n.ltorg");
}
""" + ROUNDS.replace("LEAVE", "throw()") + """
void run(void) { for (uint32_t n = 0;; round_count++) { guarded(n++); BURN(1000); } }
"""


@pytest.mark.any_row(2)
@pytest.mark.parametrize("way, source, kind", [("a9/swd", BY_LDM, Place), ("m4/swd", BY_FRAME, Place), ("rp2040", BY_FRAME, Place), ("a9/swd", BY_FRAME, Place),
                                               ("r5", BY_LDM, Place), ("a9", BY_LDM, GdbPlace)], ids=["ldm-a9", "frame-m4", "frame-rp2040", "frame-a9", "ldm-r5", "ldm-gdb"])
def test_a_call_that_is_left_by_registers_from_elsewhere(way, source, kind, tmp_path):
    with own_place(tmp_path, way, source, kind=kind) as place:
        assert_each_is_a_call(place)


# LR is set, and then the code jumps, as dispatchers do
BY_JUMP = START + BURN + """
static void *env[5];
""" + ROUNDS.replace("LEAVE", "__builtin_longjmp(env, 1)") + """
__attribute__((naked, noinline)) void call(uint32_t n)
{
#if defined __thumb__
    __asm volatile(".syntax unified\\npush {r4, lr}\\nldr r3, =back + 1\\nmov lr, r3\\nb f\\n.ltorg\\n.global back\\n.align 2\\nback: pop {r4, pc}");
#else
    __asm volatile("push {r4, lr}\\nldr r3, =f\\nmov lr, pc\\nbx r3\\npop {r4, pc}\\n.ltorg");
#endif
}
APART void one_round(uint32_t n) { if (__builtin_setjmp(env) == 0) call(n); else BURN(1000); BURN(50); }
void run(void) { for (uint32_t n = 0;; round_count++) one_round(n++); }
"""


@pytest.mark.any_row(2)
@pytest.mark.parametrize("way, kind", [("a9/swd", Place), ("m4/swd", Place), ("rp2040", Place), ("r5/swd", Place), ("m4", GdbPlace)])
def test_a_call_by_a_jump_that_longjmp_leaves(way, kind, tmp_path):
    with own_place(tmp_path, way, BY_JUMP, kind=kind) as place:
        assert_each_is_a_call(place)


def test_lines_of_a_call_by_a_jump_that_longjmp_leaves(tmp_path):
    with own_place(tmp_path, "m4/swd", BY_JUMP) as place:
        result = lines(place, "f", "-r", 12)
        assert result.summary["left"] > 3 and result.summary["agrees"], result.summary
        assert all(row["hits"] in (0, 12, 120, 132) for row in result.rows), result.rows

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


# The usual delay loop, which jumps to its own entry
WAIT_DOWN = r"""
__asm(".syntax unified\n.text\n.thumb\n.thumb_func\n.global wait_down\n.type wait_down, %function\n"
      "wait_down: subs r0, #1\nbne wait_down\nbx lr\n.size wait_down, . - wait_down");
void wait_down(uint32_t n);
"""
TWO_TASKS = START + BURN + WAIT_DOWN + r"""
uint32_t *volatile stacks[2] __attribute__((used)), room[2][256] __attribute__((aligned(8)));
volatile uint32_t turn __attribute__((used));
volatile uint32_t *slot;
__attribute__((naked, noinline)) void SysTick_Handler(void)
{
    __asm volatile("push {r4-r11, lr}\n ldr r0, =slot\n ldr r1, [r0]\n cbz r1, 1f\n str lr, [r1]\n movs r1, #0\n str r1, [r0]\n"
                   "1: ldr r0, =turn\n ldr r1, [r0]\n ldr r2, =stacks\n str sp, [r2, r1, lsl #2]\n eor r1, #1\n str r1, [r0]\n"
                   "ldr sp, [r2, r1, lsl #2]\n pop {r4-r11, pc}\n .ltorg");
}
static void first(void) { for (;; round_count++) { wait_down(2000); BURN(300); } }
static void second(void) { for (uint32_t k = 0;; k++) { wait_down(2000); BURN(297); } }
void run(void)
{
    uint32_t *top = &room[1][256 - 9 - 8 - 2];
    slot = &top[8];
    top[9 + 6] = (uint32_t)second;
    top[9 + 7] = 1 << 24;
    stacks[1] = top;
    REGISTER(0xE000E014) = 10007;
    REGISTER(0xE000E018) = 0;
    REGISTER(0xE000E010) = 7;
    first();
}
"""


@pytest.mark.any_row(1)
@pytest.mark.parametrize("way, kind", [("m4/swd", Place), ("m33/swd", Place), ("m4", GdbPlace)])
def test_a_loop_to_its_own_entry_that_two_tasks_call(way, kind, tmp_path):
    """The middle of the other task's call counts for no call, or a line says that it may."""
    with own_place(tmp_path, way, TWO_TASKS, kind=kind) as place:
        result = place.run("delta", "wait_down", "-r", 60, "-j")
        assert result.code == 0 and "jumps to its own entry" in result.summary["doubt"], result.err
        assert min(result.cycles) >= 8001 or "may begin in the middle" in result.summary["doubt"], sorted(result.cycles)


# At three depths of one stack: two of the program, one of a handler
THREE_DEPTHS = START + BURN + WAIT_DOWN + """
APART void deeper(uint32_t n) { volatile uint32_t some[9]; some[n & 7] = n; wait_down(1000); sink += some[0]; }
void SysTick_Handler(void) { wait_down(1000); sink++; }
void run(void)
{
    REGISTER(0xE000E014) = 40007;
    REGISTER(0xE000E018) = 0;
    REGISTER(0xE000E010) = 7;
    for (;; round_count++) { wait_down(1000); deeper(round_count); BURN(100); }
}
"""


@pytest.mark.any_row(1)
@pytest.mark.parametrize("way, kind", [("m4/swd", Place), ("rp2350/swd", Place), ("m4", GdbPlace)])
def test_a_loop_to_its_own_entry_on_one_stack(way, kind, tmp_path):
    with own_place(tmp_path, way, THREE_DEPTHS, kind=kind) as place:
        result = place.run("delta", "wait_down", "-r", 60, "-j")
        assert result.code == 0 and "doubt" not in result.summary, result.err
        assert len(result.cycles) == 60 and min(result.cycles) > 3990, sorted(result.cycles)


# A handler sets the PC to which it returns, and so ends what it interrupted, as a kernel ends a job. f itself has nothing on the stack
ABANDONED = START.replace("[15] = SysTick_Handler}", "[11] = SVC_Handler, [15] = SysTick_Handler}").replace(
    "extern uint32_t stack_top[];", "extern uint32_t stack_top[]; void SVC_Handler(void);") + BURN + r"""
void resume(void);
HANDLER
__asm(".text\n.syntax unified\n.thumb\n.global f\n.type f,%function\n.thumb_func\nf:\n"
      "1: subs r0, #1\nbne 1b\ncmp r1, #0\nbeq 2f\nsvc #0\n2: bx lr\n.size f,.-f\n"
      ".global caller\n.type caller,%function\n.thumb_func\ncaller: push {r4, lr}\nbl f\npop {r4, pc}\n.size caller, . - caller\n"
      ".global resume\n.type resume,%function\n.thumb_func\nresume: pop {r4, pc}\n.size resume,.-resume\n");
void caller(uint32_t length, uint32_t aborts);
void run(void) { for (uint32_t n = 0;; round_count++) { caller(100, n++ % 3 == 1); BURN(500); } }
"""
HANDLERS = {
    "passed": r"""__attribute__((used)) void tick(uint32_t *frame) { frame[6] = (uint32_t)resume & ~1u; }
__attribute__((naked)) void SVC_Handler(void) { __asm volatile("mov r0, sp\npush {lr}\nbl tick\npop {pc}"); }""",
    "jumped": r"""__attribute__((used)) void tick(uint32_t *frame) { frame[6] = (uint32_t)resume & ~1u; }
__attribute__((naked)) void SVC_Handler(void) { __asm volatile(".syntax unified\nmrs r0, msp\nldr r1, =tick\nbx r1\n.ltorg"); }""",
    "stored": r"""__attribute__((naked)) void SVC_Handler(void)
{ __asm volatile(".syntax unified\npush {r4, lr}\nldr r0, =resume\nmovs r1, #1\nbics r0, r1\nstr r0, [sp, #32]\npop {r4, pc}\n.ltorg"); }"""}


@pytest.mark.any_row(2)
@pytest.mark.parametrize("way, kind", [("m4/swd", Place), ("rp2040", Place), ("m33/swd", Place), ("m4", GdbPlace)])
@pytest.mark.parametrize("handler", ["passed", "jumped", "stored"])
def test_a_call_that_a_handler_abandons(way, kind, handler, tmp_path):
    with own_place(tmp_path, way, ABANDONED.replace("\nHANDLER\n", f"\n{HANDLERS[handler]}\n"), kind=kind) as place:
        assert_each_is_a_call(place)


def test_guard_of_calls_that_a_handler_abandons(tmp_path):
    """One that was left is over no budget."""
    with own_place(tmp_path, "m4/swd", ABANDONED.replace("\nHANDLER\n", f"\n{HANDLERS['passed']}\n")) as place:
        result = place.run("guard", "f", "--budget", 800, "--for", "2s", "-j")
        assert result.code == 0, result.out + result.err


# A fatal error starts the program anew, by its own start-up
RESTARTS = START.replace('{ __asm volatile("bl run"); }', '{ __asm volatile("ldr r0, =stack_top\\nmov sp, r0\\nbl run\\n.ltorg"); }') + BURN + """
void Reset_Handler(void);
volatile uint32_t calls;
APART void deep(void) { if ((calls++ & 3) == 1) { BURN(500); RESTART; } }
APART void f(void) { BURN(10); deep(); sink++; }
void run(void) { BURN(1000); for (;; round_count++) { f(); BURN(60); } }
"""
DIRECTLY, BY_POINTER = "Reset_Handler()", "{ void (*volatile again)(void) = Reset_Handler; again(); }"


@pytest.mark.any_row(2)
@pytest.mark.parametrize("way, how, kind", [("m4/swd", DIRECTLY, Place), ("rp2040/swd", BY_POINTER, Place), ("m4", BY_POINTER, GdbPlace), ("a9/swd", DIRECTLY, Place),
                                            ("a9/swd", BY_POINTER, Place), ("a53/swd", DIRECTLY, Place)],
                         ids=["m4", "pointer-rp2040", "pointer-gdb", "a9", "pointer-a9", "a53"])
def test_a_call_that_a_soft_restart_leaves(way, how, kind, tmp_path):
    with own_place(tmp_path, way, RESTARTS.replace("RESTART;", how + ";"), kind=kind) as place:
        assert_each_is_a_call(place)


# The same on A and R cores: an access that faults ends in its caller's other way out
FIXED_UP = START.replace('"b Reset_Handler\\n.rept 7\\nb .\\n.endr\\n', '"b Reset_Handler\\nb undefined\\n.rept 6\\nb .\\n.endr\\n') + BURN + r"""
__attribute__((naked, used)) void undefined(void) { __asm volatile("ldr lr, =failed\nmovs pc, lr\n.ltorg"); }
__attribute__((used)) APART void f(uint32_t n) { BURN(10); if (n % 3 == 1) __asm volatile("udf #0"); sink++; }
__attribute__((naked, noinline)) uint32_t safe(uint32_t n)
{
    __asm volatile("push {r4, lr}\nbl f\nmov r0, #0\npop {r4, pc}\n.global failed\nfailed: mov r0, #1\npop {r4, pc}");
}
void run(void) { for (uint32_t n = 0;; round_count++) { if (safe(n++)) BURN(1000); BURN(60); } }
"""


@pytest.mark.any_row(1)
@pytest.mark.parametrize("way", ["a9/swd", "r5/swd", "a9"])
def test_a_call_that_a_fault_ends(way, tmp_path):
    with own_place(tmp_path, way, FIXED_UP) as place:
        assert_each_is_a_call(place)

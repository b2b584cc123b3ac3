"""How a function is entered: what the code of the program proves of it."""
import pytest
from gdb_place import GdbPlace
from harness import Place
from own_program import START, own_place

LOOPS = START + r"""
APART void busy(uint32_t n) { for (; n; n--) __asm volatile(""); sink++; }
APART uint32_t made_room(uint32_t n) { volatile uint8_t x[n + 1]; for (uint32_t i = 0; i < n; i++) x[i] = i; return x[n / 2]; }
APART void deeper(uint32_t n) { volatile uint32_t a[8]; a[n & 7] = n; busy(n); sink += a[1]; }
APART void one(void) { sink++; }
APART void two(void) { sink += 2; }
#define SWITCHES "mov r0, sp\nbl other_stack\nmov sp, r0\n"
__attribute__((naked)) void other_stack(void) { __asm volatile("bx lr"); }
void run(void) { for (;; round_count++) { busy(30); deeper(31); one(); busy(22); deeper(21); two(); if (round_count & 1) sink += made_room(9);
#ifdef SWITCHED
    __asm volatile(SWITCHES ::: "r0", "r1", "r2", "r3", "r12", "lr");
#endif
} }
"""
TWO_STACKS = "the ends are in two functions: they may be of two calls, or two tasks"


def test_an_array_of_variable_length_is_no_second_stack(tmp_path):
    with own_place(tmp_path, "rp2040/swd", LOOPS, "-Os", clock=6_000_000) as place:
        assert TWO_STACKS not in place.run("delta", "-j", "one", "two", "-r", 2).summary.get("doubt", "")
        assert "several stacks" not in place.run("delta", "-j", "busy", "-r", 8).summary.get("doubt", "")
        regions = {line["name"]: line for line in place.run("survey", "-j", "busy", "one", "--for", "1s").lines if line["type"] == "region"}
        assert 0.7 < regions["busy"]["share"] < 0.95, regions["busy"]  # 0.81, and 0.07 with two stacks


def test_what_a_callee_gives_to_the_stack_pointer_is_another_stack(tmp_path):
    with own_place(tmp_path, "rp2040/swd", LOOPS, "-Os", "-DSWITCHED", clock=6_000_000) as place:
        assert TWO_STACKS in place.run("delta", "-j", "one", "two", "-r", 2).summary.get("doubt", "")


# `tail` is entered by a jump while LR is that of the call before it; `jumps` calls `jumps_too`, which ends there, too.
TAILS = START + r"""
#ifdef __aarch64__
#define TYPE ".type "
#define CODE ".text\n"
#define PUSH "stp x29, x30, [sp, #-32]!\nstr x20, [sp, #16]\n"
#define NUMBER "mov x0, #"
#define FIRST "add x0, x0, #1\n"
#else
#define PUSH "push {r4, r6, r7, lr}\n"
#define NUMBER "movs r0, #"
#define FIRST "adds r0, #1\n"
#ifdef __thumb__
#define CODE ".text\n.syntax unified\n.thumb\n"
#define TYPE ".thumb_func\n.type "
#else
#define CODE ".text\n.syntax unified\n.arm\n"
#define TYPE ".type "
#endif
#endif
#define ASM_FUNCTION(name, body) TYPE #name ",%function\n.global " #name "\n" #name ": " body "\n.size " #name ",.-" #name "\n.ltorg\n"
__asm(CODE ASM_FUNCTION(tail, FIRST FIRST LAST)
      ASM_FUNCTION(jumps, PUSH NUMBER "7\n" BY(busy) NUMBER "9\n" BY(jumps_too) "b tail")
      ASM_FUNCTION(jumps_too, PUSH NUMBER "17\n" BY(busy) "b tail"));
APART __attribute__((used)) void leaf(void) { sink++; }
APART __attribute__((used)) void busy(uint32_t n) { for (; n; n--) leaf(); sink++; }
void jumps(void);
void run(void) { for (;; round_count++) { jumps(); busy(30); } }
"""
BL, BLX, BLR = '"bl " #f "\\n"', '"ldr r3, =" #f "\\nblx r3\\n"', '"ldr x3, =" #f "\\nblr x3\\n"'
POPS, A64_POPS = "pop {r4, r6, r7, pc}", "ldr x20, [sp, #16]\\nldp x29, x30, [sp], #32\\nret"
MADE, BY_JUMP = "a frame that it has not made", "by jumps: the call before the address in LR leads elsewhere"
RELOADS = "ldr r3, [sp, #12]\\nldr r4, [sp]\\nldr r6, [sp, #4]\\nldr r7, [sp, #8]\\nadd sp, #16\\nbx r3"
ENTERED = [("m4/swd", BL, POPS), ("m4/swd", BLX, POPS), ("rp2040/swd", BL, RELOADS),
           ("a9/swd", BL, POPS), ("r5/swd", BLX, "pop {r4, r6, r7, lr}\\nbx lr"),
           ("m33/swd", BL, "pop {r4, r6, r7, lr}\\nb leaf"),
           ("a53/swd", BL, A64_POPS), ("a53/swd", BLR, A64_POPS),
           ("a53/swd", BL, "ldr x30, [sp, #8]\\nldr x20, [sp, #16]\\nadd sp, sp, #32\\nret")]


@pytest.mark.parametrize("way, call, last", ENTERED, ids=range(len(ENTERED)))
def test_what_is_entered_by_a_jump_does_not_end_where_an_earlier_call_returned_to(tmp_path, way, call, last):
    source = f'#define BY(f) {call}\n#define LAST "{last}"\n' + TAILS
    with own_place(tmp_path, way, source, clock=6_000_000) as place:
        result = place.run("delta", "-j", "tail", "-r", 4, "--timeout", "1s")
        assert result.code == 3 and "ame an end, too" in result.err and MADE in result.err, result.err
        for name in ("jumps", "jumps_too"):
            whole = place.run("delta", "-j", name, "-r", 4)
            assert whole.code == 0 and "doubt" not in whole.summary and len(set(whole.cycles)) == 1, whole.err


# The place to return to is in a register of the function that jumps, or where FP says: what is left is the call before LR.
KEPT = START + r"""
__asm(".text\n.syntax unified\n"
".type tail,%function\n.thumb_func\n.global tail\ntail: adds r0, #1\n" LAST "\n.size tail,.-tail\n"
".type jumps,%function\n.thumb_func\n.global jumps\njumps: " PUSH "mov r11, lr\nadd r7, sp, #16\nmovs r0, #7\n" BY "b tail\n.size jumps,.-jumps\n");
APART __attribute__((used)) void leaf(void) { sink++; }
APART __attribute__((used)) void busy(uint32_t n) { for (; n; n--) leaf(); sink++; }
void jumps(void);
void run(void) { for (;; round_count++) { jumps(); busy(30); } }
"""
OF_R11, OF_R7 = "bx r11", "subs r7, #16\\nmov sp, r7\\npop {r4, r6, r7, pc}"
BUSY, BY_R3 = "bl busy\\n", "ldr r3, =busy\\nblx r3\\n"


@pytest.mark.parametrize("way, last, call", [("m4/swd", OF_R11, BUSY), ("rp2040/swd", OF_R7, BUSY), ("m33/swd", OF_R7, BUSY), ("m4/swd", OF_R7, BY_R3), ("m4", OF_R7, BUSY)],
                         ids=range(5))
def test_a_call_before_lr_that_leads_elsewhere_shows_an_entry_by_a_jump(tmp_path, way, last, call):
    push = "" if last == OF_R11 else "push {r4, r6, r7, lr}\\n"
    source = f'#define BY "{call}"\n#define LAST "{last}"\n#define PUSH "{push}"\n' + KEPT
    kind, lines_too = (Place, call == BUSY) if "/" in way else (GdbPlace, False)
    with own_place(tmp_path, way, source, kind=kind, clock=6_000_000) as place:
        result = place.run("delta", "-j", "tail", "-r", 4, "--timeout", "1s")
        if call == BUSY:
            assert result.code == 3 and BY_JUMP in result.err, result.err
        else:
            assert result.code != 0 or "LR, and so the end, may be an earlier call's" in result.summary["doubt"]
        if lines_too:
            lines = place.run("lines", "*0x%x" % place.symbol("tail"), "-r", 2, "--timeout", "1s")
            assert lines.code != 0, lines.out
        whole = place.run("delta", "-j", "jumps", "-r", 4)
        assert whole.code == 0 and "doubt" not in whole.summary, whole.err


# Calls by a number, by a register, by a jump on, with a frame that callees make and end, with code that does not return.
CALLED = START + r"""
#ifdef __thumb__
#define ASM_FUNCTION(name, body) ".thumb_func\n.type " #name ",%function\n.global " #name "\n" #name ": " body "\n.size " #name ",.-" #name "\n"
__asm(".text\n.syntax unified\n.thumb\n"
ASM_FUNCTION(saves, "push {r4-r7}\nbx lr") ASM_FUNCTION(restores, "pop {r4-r7}\npop {pc}")
ASM_FUNCTION(helped, "push {lr}\nbl saves\nmovs r0, #9\nbl leaf\nb restores")
ASM_FUNCTION(helped_too, "push {lr}\nbl saves\nmovs r0, #9\nbl leaf\npop {r4-r7}\npop {pc}"));
void helped(void), helped_too(void);
#else
APART void helped(void) { sink++; }
APART void helped_too(void) { sink += 3; }
#endif
APART uint32_t leaf(uint32_t n) { sink += n; return n + sink; }
APART uint32_t passes_on(uint32_t n) { sink++; return leaf(n + 1); }
#ifdef __aarch64__
APART uint32_t room(uint32_t n) { volatile uint8_t a[9]; a[n & 7] = n; return leaf(a[0]); }
#else
APART uint32_t room(uint32_t n) { volatile uint8_t a[n]; a[0] = n; return leaf(a[0]); }
#endif
__attribute__((noinline, noreturn, noclone)) void stops(void) { for (;;); }
APART uint32_t checks(uint32_t n) { if (n > 99) stops(); leaf(n); return leaf(n + 2); }
uint32_t (*volatile by)(uint32_t);
APART uint32_t goes(uint32_t n) { sink += n; return by(n); }
void run(void) { for (by = leaf;; round_count++) { sink = leaf(3) + 1; sink = passes_on(5) + 1; sink = by(7) + 1; sink = room(9) + checks(3) + goes(2); helped(); helped_too(); } }
"""
GOOD = [("m4/swd", ["-O2"]), ("m4/swd", ["-O0"]), ("m33/swd", ["-O2", "-mlong-calls"]), ("rp2040/swd", ["-Os"]), ("rp2040/swd", ["-O0"]),
        ("a9/swd", ["-O2"]), ("a9/swd", ["-O0"]), ("a53/swd", ["-O2"]), ("a53/swd", ["-O0"])]


@pytest.mark.parametrize("way, flags", GOOD, ids=range(len(GOOD)))
def test_calls_are_taken_for_calls(tmp_path, way, flags):
    with own_place(tmp_path, way, CALLED, *flags, clock=6_000_000) as place:
        for name in ("leaf", "passes_on", "room", "checks", "goes", "helped", "helped_too"):
            result = place.run("delta", "-j", name, "-r", 6)
            assert result.code == 0 and "LR" not in result.summary.get("doubt", ""), (name, result.err)


# Two stacks as far as the code says: `busy`, a loop by jumps to its entry, is called from two depths.
def test_calls_that_are_not_proved_are_in_share_and_rate(tmp_path):
    shares = []
    for flags in ([], ["-DSWITCHED"]):
        with own_place(tmp_path, "rp2040/swd", LOOPS, "-Os", *flags, clock=6_000_000) as place:
            run = place.run("survey", "-j", "busy", "one", "--for", "2s")
            busy, one = ({line["name"]: line for line in run.lines if line["type"] == "region"}[name] for name in ("busy", "one"))
            shares.append(busy["share"])
            per_cycle = [line["periods"]["count"] / line["periods"]["cycles"] for line in (busy, one)]
            assert abs(per_cycle[0] / per_cycle[1] - 4) < 2, per_cycle  # 0.3 without them
            assert not flags or "doubt" in busy
    assert abs(shares[0] - shares[1]) < 0.25, shares


# Without .size the symbol table gives what follows `f`, up to the next global name, to `f`.
UNSIZED = START + r"""
__asm(".text\n.syntax unified\n.thumb\n.thumb_func\n.global f\nf: movs r1, #20\n1: subs r1, #1\nbne 1b\ncmp r0, #1\nbls 2f\nbx lr\n2: nop\nbx lr\n"
"loc: push {r4, lr}\nmovs r4, #3\nloc_next: bl f\nsubs r4, #1\nbne loc_next\npop {r4, pc}\n"
".thumb_func\n.global g\ng: push {r4, lr}\nbl loc\npop {r4, pc}\n");
APART void busy(uint32_t n) { for (; n; n--) __asm volatile(""); sink++; }
void f(void); void g(void);
void run(void) { for (;; round_count++) { g(); busy(20); } }
"""


@pytest.mark.parametrize("way", ["m4/swd", "rp2040/swd"])
def test_what_follows_assembly_without_a_size_calls_it(tmp_path, way):
    with own_place(tmp_path, way, UNSIZED, clock=6_000_000) as place:
        assert place.run("delta", "-j", "f", "-r", 6).code == 0
        run = place.run("survey", "-j", "f", "g", "--for", "2s")
        f, g = ({line["name"]: line for line in run.lines if line["type"] == "region"}[name] for name in ("f", "g"))
        assert abs(f["calls_per_second"] / g["calls_per_second"] - 3) < 1 and f["share"] > 0.6 * g["share"], (f, g)

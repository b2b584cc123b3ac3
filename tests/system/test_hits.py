"""What is a hit, and what is none: ends of handlers, entries that are jumps, starts without an end, leaves that a handler runs too,
ends that a longjmp reaches. The truth is the board's log."""
import pytest

from gdb_place import GdbPlace
from harness import Place, left_handler, passages, returned, unfolded
from own_program import START, own_place

pytestmark = pytest.mark.any_fifth


def place_of(tmp_path, way, source, *flags, **options):
    kind = GdbPlace if way.startswith("gdb ") else Place
    return own_place(tmp_path, way.removeprefix("gdb "), source, *flags, kind=kind, **options)


def values(result):
    return [hit["values"]["CPU_CYCLES"] for hit in result.hits]


def is_proved(result):
    """But for another core of the chip, which may be at the end as well."""
    return result.summary.get("doubt", "another core runs").startswith("another core runs")


# --- where a handler ends -------------------------------------------------------------------------------------------------------------

HANDLERS = START + r"""
#define ENABLE() (REGISTER(0xE000E014) = 2999, REGISTER(0xE000E018) = 0, REGISTER(0xE000E010) = 7)
volatile uint32_t ticks;
APART void busy(uint32_t n) { for (; n; n--) __asm volatile(""); sink++; }
APART void slow(void) { busy(100); }
void (*volatile next)(void);
#define EASY(n) APART void part##n(void) { busy(20 + 10 * n); sink += n; }
EASY(0) EASY(1) EASY(2) EASY(3) EASY(4) EASY(5) EASY(6) EASY(7) EASY(8) EASY(9)
#if SHAPE == 1 /* a tail call through a pointer */
void SysTick_Handler(void) { ticks++; next(); }
#elif SHAPE == 2 /* tail calls of more functions than there are comparators for */
void SysTick_Handler(void)
{
    switch (ticks++ % 10) {
    case 0: part0(); return;
    case 1: part1(); return;
    case 2: part2(); return;
    case 3: part3(); return;
    case 4: part4(); return;
    case 5: part5(); return;
    case 6: part6(); return;
    case 7: part7(); return;
    case 8: part8(); return;
    default: part9(); return;
    }
}
#elif SHAPE == 3 /* a conditional jump into another function */
__attribute__((naked)) void SysTick_Handler(void)
{
    __asm volatile("ldr r0, =ticks\nldr r1, [r0]\nadds r1, #1\nstr r1, [r0]\nlsls r1, r1, #31\nbeq.w slow\nbx lr\n.ltorg");
}
#elif SHAPE == 4 /* a veneer */
__attribute__((naked)) void SysTick_Handler(void) { __asm volatile("ldr pc, =slow\n.ltorg"); }
#elif SHAPE == 5 /* what is saved is taken off before the jump by register, as compilers do */
__attribute__((naked)) void SysTick_Handler(void)
{
    __asm volatile("push {r4, lr}\nmovs r0, #9\nbl busy\nldr r3, =slow\npop {r4}\npop {r0}\nmov lr, r0\nbx r3\n.ltorg");
}
#elif SHAPE == 6 /* a return in the block of an IT */
__attribute__((naked)) void SysTick_Handler(void)
{
    __asm volatile("ldr r0, =ticks\nldr r1, [r0]\nadds r1, #1\nstr r1, [r0]\nlsls r1, r1, #31\nit eq\nbxeq lr\nb slow\n.ltorg");
}
#elif SHAPE == 7 /* what it calls returns from the exception itself, each second time */
__attribute__((naked)) APART void leaver(void)
{
    __asm volatile(".syntax unified\npush {r5, r6}\nldr r0, =ticks\nldr r1, [r0]\nadds r1, #1\nstr r1, [r0]\npop {r5, r6}\nlsls r1, r1, #31\n"
                   "bne 1f\npop {r4, pc}\n1: bx lr\n.ltorg");
}
__attribute__((naked)) void SysTick_Handler(void) { __asm volatile("push {r4, lr}\nbl leaver\npop {r4, pc}"); }
#endif
void run(void)
{
    next = slow;
    ENABLE();
    for (;; round_count++)
        busy(round_count & 7);
}
"""
POINTER, MANY, CONDITIONAL, VENEER, SAVED, IN_BLOCK, CALLEE = range(1, 8)
SHAPES = [f"{way} {shape}" for way in ("m4/swd", "m33/swd", "m4", "gdb m4") for shape in range(1, 7)] + \
         [f"rp2040/swd {shape}" for shape in (POINTER, MANY, SAVED)]
RETURN = 20  # at most: the exception's return, and the instruction that makes it


def at_shape(tmp_path, row):
    way, shape = row.rsplit(" ", 1)
    return place_of(tmp_path, way, HANDLERS, "-O2", f"-DSHAPE={shape}", clock=6_000_000), int(shape)


@pytest.mark.any_row(5)
@pytest.mark.parametrize("row", SHAPES)
def test_a_handler_ends_by_its_exception_return(row, tmp_path):
    context, shape = at_shape(tmp_path, row)
    with context as place:
        place.board.watch("SysTick_Handler")
        result = place.run("delta", "-j", "SysTick_Handler", "-r", 12)
        assert result.code == 0, result.err
        truth, entry, halted = [], None, None
        for event in place.board.log():
            if event.kind == "halt" and event.pc == place.symbol("SysTick_Handler"):
                halted = event
            elif event.kind == "reach" and entry is None and halted is not None and halted.cycles == event.cycles:
                entry = event
            elif event.kind == "return" and entry is not None:
                truth.append(event.cycles - entry.cycles)
                entry = None
        assert len(truth) >= len(values(result)) >= 12
        assert all(0 <= right - value <= RETURN for right, value in zip(truth, values(result))), (values(result), truth)
        whole = [right == value for right, value in zip(truth, values(result))]
        if shape == MANY and "rp2040" not in row:
            assert "until what it interrupted goes on" in result.summary["doubt"] and any(whole)
            text = place.run("delta", "SysTick_Handler", "-r", 4)
            assert "each count is exact" not in unfolded(text.out) and "not proved to be exact" in unfolded(text.out)
        elif "doubt" not in result.summary:
            assert not any(whole)


@pytest.mark.parametrize("way", ["m4/swd", "gdb m4", "rp2040/swd"])
def test_a_callee_may_return_from_the_exception(way, tmp_path):
    context, _ = at_shape(tmp_path, f"{way} {CALLEE}")
    with context as place:
        result = place.run("delta", "-j", "SysTick_Handler", "-r", 6)
        assert result.code == 0 and "may return from the exception: then a later one's end counts" in result.summary["doubt"], result.err
        text = place.run("delta", "SysTick_Handler", "-r", 6)
        assert "each count is exact" not in unfolded(text.out)


@pytest.mark.parametrize("way", ["m4/swd", "rp2040/swd"])
def test_no_command_takes_a_jump_for_a_handlers_return(way, tmp_path):
    with place_of(tmp_path, way, HANDLERS, "-O2", f"-DSHAPE={POINTER}", clock=6_000_000) as place:
        result = place.run("delta", "-j", "SysTick_Handler", "-r", 10)
        most, least = max(values(result)), min(values(result))
        assert least > 200, values(result)
        if way == "m4/swd":
            guarded = place.run("guard", "SysTick_Handler", "--budget", least // 2, "-r", 3)
            assert guarded.code == 1 and "3 overruns" in guarded.out, guarded.out
        if way == "rp2040/swd":
            return  # its SysTick is the program's, with a short period
        survey = place.run("survey", "SysTick_Handler", "-j", "--for", "1s")
        region = next(line for line in survey.lines if line["type"] == "region")
        assert least <= region["columns"]["CPU_CYCLES"]["median"] <= most, region
        assert 0.05 < region["share"] < 0.4, region  # each 3,000 cycles, in halts too
        (tmp_path / "regions").write_text(f"tick SysTick_Handler <= {least // 2} cycles\n")
        assert place.run("survey", "--regions", tmp_path / "regions", "--check", "--for", "1s").code == 1


# --- an entry that is a jump ----------------------------------------------------------------------------------------------------------

LOOPS = START + r"""
#if defined __aarch64__
__asm(".text\n.global wait_down\n.type wait_down, %function\nwait_down: subs w0, w0, #1\nbne wait_down\nret\n.size wait_down, . - wait_down");
#else
__asm(".syntax unified\n.text\n" IN_STATE ".global wait_down\n.type wait_down, %function\nwait_down: subs r0, #1\nbne wait_down\nbx lr\n"
      ".size wait_down, . - wait_down");
#endif
void wait_down(uint32_t n);
void run(void)
{
    for (;; round_count++) {
        wait_down(5000);
        for (uint32_t i = 0; i < 40; i++)
            __asm volatile("");
    }
}
"""
IN_STATE = {"m": "-DIN_STATE=\".thumb\\n.thumb_func\\n\"", "a": "-DIN_STATE=\".arm\\n\""}


def loops(tmp_path, way):
    chip = way.removeprefix("gdb ")
    state = IN_STATE["a" if chip.startswith("a9") else "m"]
    return place_of(tmp_path, way, LOOPS, state, clock=2_000_000)


@pytest.mark.any_row(3)
@pytest.mark.parametrize("way", ["m4/swd", "rp2040/swd", "a9/swd", "a53/swd", "m4", "gdb m4", "gdb a9"])
def test_a_hit_does_not_begin_in_the_middle_of_a_call(way, tmp_path):
    with loops(tmp_path, way) as place:
        truth = None
        for i in range(4):
            result = place.delta("wait_down", "-r", 1 if i else 6)
            whole = set(values(result))
            assert len(whole) == 1 and whole == (truth or whole), (whole, truth)
            found = {passage.cycles for passage in passages(place.board.log(), place.symbol("wait_down"), returned)}
            truth = whole
            assert whole <= found, (whole, found)
            place.board.run_for(1700 * (i + 1))  # somewhere in the loop
        if "gdb" not in way and "/" in way:
            region = next(line for line in place.run("survey", "-j", "wait_down", "--for", "1s").lines if line["type"] == "region")
            assert {region["columns"]["CPU_CYCLES"][key] for key in ("min", "max")} == truth


# --- START and END --------------------------------------------------------------------------------------------------------------------

ENDS = START + r"""
#define PLACE(name) __asm volatile(".global " #name "\n" #name ":" ::: "memory")
APART void busy(uint32_t n) { for (; n; n--) __asm volatile(""); }
/* The end is reached in each fourth call; and in `late` only without the start. */
APART void early(uint32_t n)
{
    PLACE(early_start);
    busy(10 + (n & 7));
    if (n & 3)
        return;
    PLACE(early_end);
    sink += n;
    busy(3);
}
APART void late(uint32_t n)
{
    sink++;
    if ((n & 1) == 0) {
        PLACE(late_start);
        busy(20);
        if (n & 2)
            return;
    }
    busy(5);
    PLACE(late_end);
    sink += n;
}
APART void turns(uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        PLACE(turn_start);
        busy(5 + (i & 3));
        if (i & 4) {
            PLACE(turn_end);
            sink++;
        }
    }
}
void run(void)
{
    for (;; round_count++) {
        early(round_count);
        late(round_count);
        turns(4 + (round_count & 15));
        busy(4000); /* few events in the board's log */
    }
}
"""
ENDS_WAYS = ["m4/swd", "rp2040/swd", "m33/swd", "a9/swd", "a53/swd", "m4", "a9", "gdb m4", "gdb a9"]


@pytest.mark.any_row(4)
@pytest.mark.parametrize("way", ENDS_WAYS)
@pytest.mark.parametrize("name", ["early", "late", "turn"])
def test_an_end_belongs_to_the_last_start(way, name, tmp_path):
    with place_of(tmp_path, way, ENDS, "-fno-inline", "-fno-shrink-wrap", clock=2_000_000) as place:
        start, end = place.symbol(f"{name}_start"), place.symbol(f"{name}_end")
        entry = place.symbol({"turn": "turns"}.get(name, name)) & ~1
        place.board.watch(start, end, entry)
        result = place.run("delta", "-j", f"*{start:#x}", f"*{end:#x}", "-r", 25)
        assert result.code == 0, result.err
        truth, begun = [], None
        for event in place.board.log():
            if event.kind == "reach" and event.pc == start:
                begun = event
            elif event.kind == "reach" and event.pc == entry:
                begun = None
            elif event.kind == "reach" and event.pc == end and begun is not None:
                truth.append((event.cycles - begun.cycles))
                begun = None
        told = values(result)
        assert len(told) == 25 and is_proved(result)
        runs = "".join(f"{value} " for value in truth)
        assert "".join(f"{value} " for value in told[:20]) in runs, (told, truth)
        assert result.summary["left"] > 0
        text = place.run("delta", f"*{start:#x}", f"*{end:#x}", "-r", 5)
        assert "before the end, not counted" in unfolded(text.out), text.out


# Where no plain jump leads from the start to the end, or back to the start
TABLES = START + r"""
#define PLACE(name) __asm volatile(".global " #name "\n" #name ": nop" ::: "memory")
APART void busy(uint32_t n) { for (; n; n--) __asm volatile(""); }
/* By a table of the compiler's */
APART uint32_t choose(uint32_t n)
{
    sink = n;
    PLACE(choose_start);
    switch (n & 7) {
    case 0: busy(3); return 1;
    case 1: sink += 3; return 5;
    case 2: busy(9); break;
    case 3: sink ^= 7; return 8;
    case 4: busy(2); sink -= 8; break;
    case 5: PLACE(choose_end); return 3;
    case 6: sink = sink * 5; break;
    case 7: busy(7); return 6;
    }
    return sink;
}
/* By pointers to labels; the start is passed again in one call */
APART uint32_t interpret(const uint8_t *code, uint32_t x)
{
    static const void *const labels[] = {&&add, &&shift, &&call, &&done};
    goto *labels[*code++];
add:
    PLACE(interpret_start);
    x += 3;
    goto *labels[*code++];
shift:
    PLACE(interpret_end);
    x <<= 1;
    goto *labels[*code++];
call:
    if (x & 1) {
        busy(x & 7);
        return 1;
    }
    goto *labels[*code++];
done:
    return x;
}
/* Past a return that an IT makes conditional */
APART uint32_t conditional(uint32_t n)
{
    PLACE(conditional_start);
#if __ARM_ARCH_ISA_THUMB >= 2 && __ARM_ARCH_PROFILE == 'M'
    __asm volatile(".syntax unified\ntst %0, #3\nit ne\nbxne lr" :: "r"(n));
#else
    if (n & 3)
        return n;
#endif
    PLACE(conditional_end);
    return sink;
}
static const uint8_t program[] = {0, 2, 0, 1, 0, 0, 1, 2, 3};
void run(void)
{
    for (uint32_t i = 1;; round_count++) {
        i = i * 1664525 + 1013904223;
        choose(i >> 20);
        interpret(program, i >> 21);
        conditional(i >> 22);
        busy(300);
    }
}
"""


def last_starts(tmp_path, way, source, name):
    with place_of(tmp_path, way, source, "-O2", "-fno-pie", clock=2_000_000) as place:
        start, end = place.symbol(f"{name}_start"), place.symbol(f"{name}_end")
        place.board.watch(start, end, place.symbol(name) & ~1)
        result = place.run("delta", "-j", f"*{start:#x}", f"*{end:#x}", "-r", 20)
        assert result.code == 0 and result.summary["left"] > 0, result.err
        truth, begun = set(), None
        for event in place.board.log():
            if event.kind != "reach":
                continue
            if event.pc == end and begun is not None:
                truth.add(event.cycles - begun)
            begun = event.cycles if event.pc == start else None
        assert set(values(result)) <= truth, (values(result), truth)


@pytest.mark.any_row(3)
@pytest.mark.parametrize("way", ENDS_WAYS)
@pytest.mark.parametrize("name", ["choose", "interpret", "conditional"])
def test_an_end_that_no_plain_jump_leads_to(way, name, tmp_path):
    last_starts(tmp_path, way, TABLES, name)


TWICE = START + r"""
#define PLACE(name) __asm volatile(".global " #name "\n" #name ": nop" ::: "memory")
uint32_t kept[6];
__attribute__((naked, noinline, returns_twice)) int keep(uint32_t *to)
{
    __asm volatile(".syntax unified\nstmia r0!, {r4-r7}\nmov r2, sp\nmov r3, lr\nstmia r0!, {r2, r3}\nmovs r0, #0\nbx lr");
}
__attribute__((naked, noinline, noreturn)) void go_back(uint32_t *to)
{
    __asm volatile(".syntax unified\nldmia r0!, {r4-r7}\nldmia r0!, {r2, r3}\nmov sp, r2\nmovs r0, #1\nbx r3");
}
APART void busy(uint32_t n) { for (; n; n--) __asm volatile(""); }
APART void fails(uint32_t n) { busy(n & 7); if ((n & 3) == 1) go_back(kept); busy(2); }
APART uint32_t caught(uint32_t n)
{
    if (keep(kept)) {
        PLACE(caught_end);
        return 3;
    }
    PLACE(caught_start);
    fails(n);
    return n & 7;
}
APART uint32_t retried(uint32_t n)
{
    volatile uint32_t x = n;
    keep(kept);
    PLACE(retried_start);
    x = x * 3 + 1;
    fails(x >> 2);
    if ((x & 7) == 2)
        return 4;
    PLACE(retried_end);
    return x;
}
void run(void)
{
    for (uint32_t i = 1;; round_count++) {
        i = i * 1664525 + 1013904223;
        caught(i >> 20);
        retried(i >> 21);
        busy(300);
    }
}
"""


@pytest.mark.any_row(2)
@pytest.mark.parametrize("way", ["m4/swd", "rp2040/swd", "a9/swd", "m4", "gdb m4"])
@pytest.mark.parametrize("name", ["caught", "retried"])
def test_an_end_that_longjmp_leads_to(way, name, tmp_path):
    last_starts(tmp_path, way, TWICE, name)


DEPTHS = START + r"""
#define PLACE(name) __asm volatile(".global " #name "\n" #name ": nop" ::: "memory")
APART void rare(uint32_t n)
{
    sink++;
    PLACE(rare_start);
    if (n & 1)
        return;
    sink += n;
    PLACE(rare_end);
    sink++;
}
APART void deep(uint32_t n)
{
    volatile uint32_t room[8];
    room[n & 7] = n;
    rare(n << 1);
    sink += room[n & 7];
}
void run(void)
{
    for (;; round_count++) {
        rare(1);
        deep(round_count);
        for (uint32_t i = 0; i < 300; i++)
            __asm volatile("");
    }
}
"""


@pytest.mark.any_row(2)
@pytest.mark.parametrize("way", ["m4/swd", "rp2040/swd", "a9/swd", "a53/swd", "gdb m4"])
def test_a_call_without_an_end_does_not_hide_deeper_ones(way, tmp_path):
    """The first call never reaches the end, and its frame is above the second one's."""
    last_starts(tmp_path, way, DEPTHS, "rare")


def test_a_start_up_at_address_0_is_not_restarted(tmp_path):
    """Nothing leads there, so the program has one stack, and the frames show which call it is."""
    last_starts(tmp_path, "a53/swd", DEPTHS, "rare")


@pytest.mark.parametrize("way", ["m4/swd", "a9/swd"])
def test_an_end_that_only_a_later_call_reaches(way, tmp_path):
    with place_of(tmp_path, way, DEPTHS, "-O2", "-fno-pie", clock=2_000_000) as place:
        start, end = place.symbol("rare_start"), place.symbol("rare_end")
        said = "the end is a later call's"
        for words, right in (((end, start), True), ((start, end), False), ((start, start), False)):
            header = place.run("delta", "-j", *(f"*{at:#x}" for at in words), "-r", 2).header
            assert (said in header.get("note", "")) == right, header


@pytest.mark.parametrize("way", ["m4/swd", "a9/swd"])
def test_an_end_in_another_function(way, tmp_path):
    """Busy's entry is passed again before each end."""
    with place_of(tmp_path, way, ENDS, "-fno-inline", clock=2_000_000) as place:
        place.board.watch("busy", "turn_end")
        result = place.run("delta", "-j", "busy", f"*{place.symbol('turn_end'):#x}", "-r", 20)
        assert result.code == 0 and result.summary["left"] > 0, result.err
        truth, begun = set(), None
        for event in place.board.log():
            if event.kind == "reach" and event.pc == place.symbol("busy") & ~1:
                begun = event
            elif event.kind == "reach" and begun is not None:
                truth.add(event.cycles - begun.cycles)
                begun = None
        assert set(values(result)) <= truth


# --- a leaf that a handler runs, too --------------------------------------------------------------------------------------------------

LEAF = START + r"""
#define PLACE(name) __asm volatile(".global " #name "\n" #name ":" ::: "memory")
APART void mix(uint32_t n)
{
    uint32_t s = n;
    PLACE(mix_start);
    for (uint32_t i = 0; i < n; i++) {
        PLACE(mix_turn);
        s ^= i * n;
        __asm volatile("" : "+r"(s));
    }
    PLACE(mix_end);
    sink += s;
}
void SysTick_Handler(void) { mix(5); }
void run(void)
{
    REGISTER(0xE000E014) = 699; REGISTER(0xE000E018) = 0; REGISTER(0xE000E010) = 7;
    for (;; round_count++)
        mix(20 + (round_count & 31));
}
"""


@pytest.mark.any_row(2)
@pytest.mark.parametrize("way", ["m4/swd", "rp2040/swd", "m33/swd", "m4", "gdb m4"])
@pytest.mark.parametrize("start, end", [("mix_start", "mix_end"), ("mix_turn", "mix_turn")])
def test_a_start_is_not_paired_with_a_handlers_end(way, start, end, tmp_path):
    with place_of(tmp_path, way, LEAF, clock=6_000_000) as place:
        flags = ["--freq", "12M"] if "rp2040" in way else []
        result = place.delta(f"*{place.symbol(start):#x}", f"*{place.symbol(end):#x}", "-r", 200 if "/" in way else 60, *flags)
        assert is_proved(result)
        if start == end:  # a round is the interrupted one, or is not; the handler's own are seen as whole ones, too
            assert min(values(result)) == sorted(values(result))[len(values(result)) // 2], sorted(set(values(result)))
            return
        log, end_at = place.board.log(), place.symbol(end)
        truth = [passage.cycles for passage in passages(log, place.symbol(start), lambda event, entry: event.pc == end_at and
                                                        event.sp == entry.sp, is_same=lambda event, entry: event.sp == entry.sp)]
        assert values(result) == truth and len(set(truth)) > 5


# --- where other ways lead to where a call returns ------------------------------------------------------------------------------------

JOINS = START + r"""
#if __ARM_ARCH_PROFILE == 'M'
#define FUNCTION(name) ".thumb\n.thumb_func\n.global " #name "\n.type " #name ", %function\n" #name ":\n"
#else
#define FUNCTION(name) ".arm\n.global " #name "\n.type " #name ", %function\n" #name ":\n"
#endif
uint32_t kept_sp;
APART void busy(uint32_t n) { for (; n; n--) __asm volatile(""); }
void joins(uint32_t n);
/* What a catch does: from deeper down on to the instruction after the call, with the caller's stack pointer. */
__asm(".syntax unified\n.text\n" FUNCTION(leave)
      "push {r4, lr}\nldr r0, =300\nbl busy\nldr r0, =kept_sp\nldr r0, [r0]\nmov sp, r0\nb joined\n.ltorg\n.size leave, . - leave\n"
      FUNCTION(may) "push {r4, lr}\nmovs r4, r0\nmovs r0, #15\nbl busy\nlsls r0, r4, #30\nbpl 1f\nbl leave\n1: pop {r4, pc}\n.size may, . - may\n"
      FUNCTION(joins) "push {r4, lr}\nldr r1, =kept_sp\nmov r2, sp\nstr r2, [r1]\nbl may\njoined: movs r0, #7\nbl busy\npop {r4, pc}\n.ltorg\n"
      ".size joins, . - joins");
void run(void)
{
    for (;; round_count++)
        joins(round_count);
}
"""


@pytest.mark.any_row(2)
@pytest.mark.parametrize("way", ["m4/swd", "rp2040/swd", "m33/swd", "a9/swd", "m4", "gdb m4", "gdb a9"])
def test_a_call_that_a_catch_ends_is_left(way, tmp_path):
    with place_of(tmp_path, way, JOINS, clock=2_000_000) as place:
        result = place.delta("may", "-r", 20)
        assert len(set(values(result))) == 1 and max(values(result)) < 250, values(result)
        assert 0.5 < result.summary["left"] / 20 < 1.6 and "doubt" not in result.summary
        if "/" in way:
            region = next(line for line in place.run("survey", "-j", "may", "--for", "500ms").lines if line["type"] == "region")
            assert region["columns"]["CPU_CYCLES"]["max"] == values(result)[0]


# --- callers and handlers that are refused, or were ------------------------------------------------------------------------------------

WRITES_CODE = START + r"""
static uint16_t code[8] __attribute__((aligned(4)));
APART void on_event(uint32_t n) { for (uint32_t i = 0; i < 50; i++) __asm volatile(""); sink += n; }
void run(void)
{
    static const uint16_t words[] = {0xB510, 0x4604, 0x46C0, 0x47A0, 0x46C0, 0xBD10}; /* push; mov r4, r0; nop; blx r4; nop; pop */
    for (unsigned i = 0; i < 6; i++)
        code[i] = words[i];
    for (;; round_count++)
        ((void (*)(void (*)(uint32_t)))((uintptr_t)code | 1))(on_event);
}
"""


@pytest.mark.parametrize("way", ["m4/swd", "rp2040/swd", "m33/swd"])
def test_a_caller_that_the_program_wrote_into_an_object(way, tmp_path):
    with place_of(tmp_path, way, WRITES_CODE, clock=2_000_000) as place:
        result = place.delta("on_event", "-r", 10)
        truth = [passage.cycles for passage in passages(place.board.log(), place.symbol("on_event") & ~1, returned)]
        assert values(result) == truth and len(truth) == 10


@pytest.mark.parametrize("way", ["a53/swd", "r52hyp/swd"])
def test_a_handler_that_eret_leaves_is_refused(way):
    with Place(way, "free") as place:
        for command in ("delta", "guard"):
            result = place.run(command, "IRQ_Handler", *["--budget", "100"] * (command == "guard"))
            assert result.code == 2 and "by the ERET at" in result.err and "name that as the end" in result.err, result.err


BY_LR = START + r"""
#if STAY_IN_HYP
#define GO_BACK "msr elr_hyp, lr\n"
#else
#define GO_BACK ""
#endif
__attribute__((naked, noinline, target("thumb"))) void in_thumb(void) { __asm volatile("nop\nnop\n" GO_BACK "movs pc, lr"); }
void run(void)
{
    for (;; round_count++) {
        __asm volatile("mrs r0, cpsr\nmsr spsr_cxsf, r0" ::: "r0");
        in_thumb();
        for (uint32_t i = 0; i < 100; i++) sink += i;  // each such return is an event of the log, which a busy host reads late
    }
}
"""


@pytest.mark.parametrize("way", ["a9/swd", "r52/swd"])
def test_outside_hyp_mode_the_instruction_of_eret_returns_by_lr(way, tmp_path):
    with place_of(tmp_path, way, BY_LR, clock=2_000_000) as place:
        result = place.delta("in_thumb", "-r", 5)
        truth = [passage.cycles for passage in passages(place.board.log(), place.symbol("in_thumb") & ~1, returned)]
        assert values(result) == truth and len(truth) == 5


def test_in_hyp_mode_it_does_not(tmp_path):
    with place_of(tmp_path, "r52hyp/swd", BY_LR, clock=2_000_000) as place:
        result = place.run("delta", "in_thumb", "-r", 5)
        assert result.code == 2 and "by the ERET at" in result.err, result.err


# --- ends and returns that belong to another call ---------------------------------------------------------------------------------------

TWO_FUNCTIONS = START + r"""
#define BURN(n) for (uint32_t i = 0; i < (n); i++) sink += i
APART void begin_frame(uint32_t n) { sink += n; }
APART void end_frame(uint32_t n) { sink -= n; }
#if HANDLED
void SysTick_Handler(void) { BURN(5); end_frame(3); }
#endif
void run(void)
{
#if HANDLED
    REGISTER(0xE000E014) = 1999; REGISTER(0xE000E018) = 0; REGISTER(0xE000E010) = 7;
#endif
    for (uint32_t n = 0;; round_count++) { begin_frame(n); BURN(100); end_frame(n++); BURN(160); }
}
"""


@pytest.mark.parametrize("handled", [1, 0])
@pytest.mark.parametrize("way", ["m4/swd", "gdb m4"])
def test_an_end_in_another_function_that_a_handler_reaches_is_doubted(way, handled, tmp_path):
    with place_of(tmp_path, way, TWO_FUNCTIONS, f"-DHANDLED={handled}", clock=12_000_000) as place:
        result = place.delta("begin_frame", "end_frame", "-r", 20)
        assert ("a handler or a callback" in result.summary.get("doubt", "")) == bool(handled)
        if not handled:
            assert is_proved(result) and len(set(values(result))) == 1


SKIPS = START + r"""
#define BURN(n) for (uint32_t i = 0; i < (n); i++) sink += i
volatile uint32_t failed;
#if defined __thumb__
__attribute__((naked, noinline)) void f(uint32_t n) { __asm volatile(".syntax unified\nmovs r1, #20\n1: subs r1, #1\nbne 1b\nlsls r0, r0, #30\nbeq 2f\nmov r1, lr\nadds r1, #4\nmov lr, r1\n2: bx lr"); }
#define SKIPPED "b.w 1f\n"
#else
__attribute__((naked, noinline)) void f(uint32_t n) { __asm volatile("mov r1, #20\n1: subs r1, #1\nbne 1b\nands r0, r0, #3\naddne lr, lr, #4\nbx lr"); }
#define SKIPPED "b 1f\n"
#endif
__attribute__((naked, noinline)) void caller(uint32_t n) { __asm volatile(".syntax unified\npush {r4, lr}\nbl f\n" SKIPPED "pop {r4, pc}\n1: ldr r0, =failed\nldr r1, [r0]\nadds r1, #1\nstr r1, [r0]\npop {r4, pc}\n.ltorg"); }
void run(void) { for (uint32_t n = 0;; round_count++) { caller(n++); BURN(100); } }
"""


@pytest.mark.parametrize("way", ["m4/swd", "a9/swd", "gdb m4"])
def test_a_function_that_returns_past_an_instruction_is_doubted(way, tmp_path):
    with place_of(tmp_path, way, SKIPS, clock=12_000_000) as place:
        result = place.delta("f", "-r", 20)
        assert "return elsewhere" in result.summary["doubt"] and max(values(result)) < 150 and result.summary["left"] >= 19

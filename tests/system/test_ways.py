"""Which end is a start's, where the way between both is not plain: computed gotos backwards, parts of a function that lie elsewhere.
The truth is the board's log."""
import pytest

from own_program import START, own_place

pytestmark = pytest.mark.any_fifth


def values(result):
    return [hit["values"]["CPU_CYCLES"] for hit in result.hits]


def truth_of(place, start, end, entry):
    """From the last start to each end of the same call."""
    taken, begun = set(), None
    for event in place.board.log():
        if event.kind != "reach":
            continue
        if event.pc == end and begun is not None:
            taken.add(event.cycles - begun)
        if event.pc in (start, end, entry):
            begun = event.cycles if event.pc == start else None
    return taken


# --- computed gotos -------------------------------------------------------------------------------------------------------------------

# Plain code reaches each place, too; `at_far` is the first one's call in the function's place
GOTOS = START + r"""
#define PLACE(name) __asm volatile(".global " #name "\n" #name ": nop" ::: "memory")
static const uint8_t code[] = {1, 1, 0, 1, 2, 0, 2, 2, 1, 3};
APART void interpret(const uint8_t *pc, uint32_t a)
{
#if LOCAL
    const void *ops[4];
    ops[0] = &&op0; ops[1] = &&op1; ops[2] = &&op2; ops[3] = &&done;
    __asm volatile("" :: "r"(ops) : "memory");
#else
    static const void *const ops[] = {&&op0, &&op1, &&op2, &&done};
#endif
    if (a > 1000) goto op1;
    if (a > 900) goto op2;
    if (a > 800) goto done;
op0: PLACE(at_op0);
    a += 5; for (uint32_t i = 0; i < 10; i++) __asm volatile("");
    goto *ops[*pc++];
op1: PLACE(at_op1);
    a ^= 7; for (uint32_t i = 0; i < 20; i++) __asm volatile("");
    goto *ops[*pc++];
op2: PLACE(at_op2);
    a *= 3; for (uint32_t i = 0; i < 100; i++) __asm volatile("");
    goto *ops[*pc++];
done: sink = a;
}
void (*volatile next)(uint32_t);
APART void last(uint32_t n) { sink += n; }
APART void tail(uint32_t n)
{
    PLACE(tail_early);
    sink += n;
    PLACE(tail_late);
    next(n + 1);
}
void run(void)
{
    for (next = last;; round_count++) {
        interpret(code, 0);
        tail(round_count);
        for (uint32_t i = 0; i < 400; i++) __asm volatile("");
    }
}
"""
GOTO_FLAGS = ("-O1", "-fno-crossjumping", "-fno-gcse", "-fno-pie", "-fno-pic", "-foptimize-sibling-calls")


@pytest.mark.any_row(2)
@pytest.mark.parametrize("way", ["a53/swd", "m4/swd", "a9/swd", "rp2040/swd"])
@pytest.mark.parametrize("local", [0, 1])
@pytest.mark.parametrize("start", ["at_op1", "at_op2"])
def test_a_computed_goto_leads_backwards(way, local, start, tmp_path):
    with own_place(tmp_path, way, GOTOS, *GOTO_FLAGS, f"-DLOCAL={local}", clock=12_000_000) as place:
        start, end, entry = place.symbol(start), place.symbol("at_op0"), place.symbol("interpret") & ~1
        place.board.watch(start, end, entry)
        result = place.run("delta", "-j", f"*{start:#x}", f"*{end:#x}", "-r", 8)
        assert result.code == 0 and "later call" not in result.header.get("note", ""), result.err
        taken = truth_of(place, start, end, entry)
        assert set(values(result)) <= taken, (values(result), taken)


@pytest.mark.any_row(1)
@pytest.mark.parametrize("way", ["a53/swd", "m4/swd"])
def test_a_call_by_a_register_in_the_functions_place_leads_nowhere_in_it(way, tmp_path):
    with own_place(tmp_path, way, GOTOS, *GOTO_FLAGS, clock=12_000_000) as place:
        places = (f"*{place.symbol(name):#x}" for name in ("tail_late", "tail_early"))
        result = place.run("delta", "-j", *places, "-r", 4)
        assert result.code == 0 and "the end is a later call's" in result.header.get("note", ""), result.err


# --- parts of a function --------------------------------------------------------------------------------------------------------------

# As GCC's f.cold; it calls itself, so that the last start before an end is another call's
PARTS = START + r"""
APART void busy(uint32_t n) { for (; n; n--) __asm volatile(""); sink++; }
__asm(".text\n.syntax unified\n.thumb\n.thumb_func\n.type f,%function\n.global f, f_start, f_end, f_back\n.cfi_startproc\n"
      "f: push {r4, lr}\n.cfi_def_cfa_offset 8\n.cfi_offset 4,-8\n.cfi_offset 14,-4\nmov r4, r0\n"
      "f_start: nop\ncmp r4, #0\nbeq 1f\nsubs r0, r4, #1\nbl f\n1: mov r0, #20\nbl busy\ncmp r4, #4\n"
#if CALLED
      "bne 2f\nbl " PART "\n"
#else
      "beq.w " PART "\n"
#endif
      "2: nop\nf_back: pop {r4, pc}\n.cfi_endproc\n.size f,.-f\n.section .text.unlikely,\"ax\",%progbits\n.thumb\n.thumb_func\n"
      ".type " PART ",%function\n.cfi_startproc\n" PART ": .cfi_def_cfa_offset 8\n.cfi_offset 4,-8\n.cfi_offset 14,-4\n"
#if CALLED
      "f_end: bx lr\n"
#else
      "f_end: mov r0, #5\nbl busy\nb.w 2b\n"
#endif
      ".cfi_endproc\n.size " PART ",.-" PART "\n.text");
void f(uint32_t n);
void run(void) { for (;; round_count++) { f(4); busy(100); } }
"""


def same_frame(place, start, end):
    """From a start to each end with the same stack pointer."""
    taken, begun = set(), {}
    for event in place.board.log():
        if event.kind == "reach" and event.pc == end and event.sp in begun:
            taken.add(event.cycles - begun.pop(event.sp))
        elif event.kind == "reach" and event.pc == start:
            begun[event.sp] = event.cycles
    return taken


@pytest.mark.any_row(1)
@pytest.mark.parametrize("part", ["f.cold", "f.cold.2", "f.__part.1"])
@pytest.mark.parametrize("ends", [("f_start", "f_end"), ("f_end", "f_back")])
def test_a_part_that_lies_elsewhere_is_of_the_function(part, ends, tmp_path):
    with own_place(tmp_path, "m4/swd", PARTS, f'-DPART="{part}"', clock=6_000_000) as place:
        start, end = (place.symbol(name) for name in ends)
        place.board.watch(start, end)
        result = place.run("delta", "-j", *ends, "-r", 6)
        assert result.code == 0 and "doubt" not in result.summary, result.err
        taken = same_frame(place, start, end)
        assert set(values(result)) <= taken, (values(result), taken)


@pytest.mark.any_row(1)
@pytest.mark.parametrize("part, called", [("other", 0), ("f.cold", 1)])
def test_ends_in_two_functions_of_which_one_calls_itself_are_doubted(part, called, tmp_path):
    with own_place(tmp_path, "m4/swd", PARTS, f'-DPART="{part}"', f"-DCALLED={called}", clock=6_000_000) as place:
        result = place.run("delta", "-j", "f_start", "f_end", "-r", 6)
        assert "may be of two calls" in result.summary["doubt"], result.out

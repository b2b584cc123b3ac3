"""How a function is entered: what the code of the program proves of it."""
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
TWO_STACKS = "it is not proved that they are of one call and one task"


def test_an_array_of_variable_length_is_no_second_stack(tmp_path):
    with own_place(tmp_path, "rp2040/swd", LOOPS, "-Os", clock=6_000_000) as place:
        assert TWO_STACKS not in place.run("delta", "-j", "one", "two", "-r", 2).summary.get("doubt", "")
        assert "several stacks" not in place.run("delta", "-j", "busy", "-r", 8).summary.get("doubt", "")
        regions = {line["name"]: line for line in place.run("survey", "-j", "busy", "one", "--for", "1s").lines if line["type"] == "region"}
        assert 0.8 < regions["busy"]["share"] < 0.95


def test_what_a_callee_gives_to_the_stack_pointer_is_another_stack(tmp_path):
    with own_place(tmp_path, "rp2040/swd", LOOPS, "-Os", "-DSWITCHED", clock=6_000_000) as place:
        assert TWO_STACKS in place.run("delta", "-j", "one", "two", "-r", 2).summary.get("doubt", "")

"""--tick: ticks that may be lost while interrupts are off, and a variable that SysTick's handler does not count."""
import pytest

from harness import passages, returned, unfolded
from own_program import START, own_place

TICK = 12000
SYSTICK = "REGISTER(0xE000E014) = 11999; REGISTER(0xE000E018) = 0; REGISTER(0xE000E010) = 7;"
SPIN = "volatile uint32_t ticks, beside, turn; APART void spin(uint32_t n) { for (uint32_t i = 0; i < n; i++) sink = i; }\n"
COUNT = "void SysTick_Handler(void) { ticks++; }\n"
LOOP = "for (;; round_count++) { work(); spin(100 + (round_count & 255)); }"
MASK = "__asm volatile(\"%s\" ::: \"memory\");"

# Each: what is before `run`, and what `run` does before its loop
LOSING = {
    "primask": (COUNT + "APART void work(void) { " + MASK % "cpsid i" + " spin(4000); " + MASK % "cpsie i" + " }\n", ""),
    "saved": (COUNT + "APART void work(void) { uint32_t was; __asm volatile(\"mrs %0, primask\\n cpsid i\" : \"=r\"(was)); spin(4000); "
              "__asm volatile(\"msr primask, %0\" :: \"r\"(was)); }\n", ""),
    "around": (COUNT + "APART void work(void) { spin(4000); }\nAPART void outer(void) { " + MASK % "cpsid i" + " work(); "
               + MASK % "cpsie i" + " }\n", "for (;; round_count++) { outer(); spin(100); }"),
    "callees": (COUNT + "APART void off(void) { " + MASK % "cpsid i" + " }\nAPART void on(void) { " + MASK % "cpsie i" + " }\n"
                "APART void work(void) { off(); spin(4000); on(); }\n", ""),
    "by a pointer": (COUNT + "APART void part(void) { " + MASK % "cpsid i" + " spin(4000); " + MASK % "cpsie i" + " }\n"
                     "static void (*volatile which)(void);\nAPART void work(void) { which(); }\n", "which = part;"),
    "its own handler": ("void SysTick_Handler(void) { ticks++; if ((ticks & 3) == 0) spin(5000); }\nAPART void work(void) { spin(4000); }\n", ""),
    "another handler": (COUNT + "void SVC_Handler(void) { spin(4000); }\nAPART void work(void) { __asm volatile(\"svc 0\"); spin(100); }\n",
                        "REGISTER(0xE000ED20) = 0xC0000000;"),
    "an equal one": (COUNT + "void SVC_Handler(void) { spin(4000); }\nAPART void work(void) { __asm volatile(\"svc 0\"); spin(100); }\n", ""),
}
LOSING_M4 = {
    "basepri": (COUNT + "APART void work(void) { __asm volatile(\"msr basepri, %0\" :: \"r\"(0x40)); spin(4000); "
                "__asm volatile(\"msr basepri, %0\" :: \"r\"(0)); }\n", "REGISTER(0xE000ED20) = 0x80000000;"),
    "faultmask": (COUNT + "APART void work(void) { " + MASK % "cpsid f" + " spin(4000); " + MASK % "cpsie f" + " }\n", ""),
}
KEEPING = {
    "plain": (COUNT + "APART void work(void) { spin(4000); }\n", ""),
    "short": (COUNT + "APART void work(void) { spin(2000); " + MASK % "cpsid i" + " sink = turn++; " + MASK % "cpsie i" + " spin(2000); }\n", ""),
    "elsewhere": (COUNT + "APART void work(void) { spin(4000); }\nAPART void other(void) { " + MASK % "cpsid i" + " spin(9000); "
                  + MASK % "cpsie i" + " }\n", "for (;; round_count++) { work(); other(); spin(100 + (round_count & 255)); }"),
    "never ends": (COUNT + "APART void fails(void) { " + MASK % "cpsid i" + " for (;;) sink++; }\n"
                   "APART void work(void) { spin(4000); if (turn == 77) fails(); }\n", ""),
    "yields": (COUNT + "void SVC_Handler(void) { spin(4000); }\nAPART void work(void) { __asm volatile(\"svc 0\"); spin(100); }\n",
               "REGISTER(0xE000ED1C) = 0xC0000000;"),
}
WAYS = ["rp2040/swd", "m4/swd"]


def program(parts, first):
    vectors = START.replace("[15] = SysTick_Handler", "[11] = SVC_Handler, [15] = SysTick_Handler").replace(
        "void SysTick_Handler(void) __attribute__((weak));", "void SysTick_Handler(void) __attribute__((weak)); void SVC_Handler(void) __attribute__((weak));")
    return vectors + SPIN + parts + "void run(void) { " + SYSTICK + first + LOOP + " }\n"


def measured(folder, way, parts, first, code=0):
    """The run, and each hit's count, truth and whether it is a bound."""
    with own_place(folder, way, program(parts, first), clock=12000000) as place:
        place.board.watch(place.symbol("work"))
        result = place.run("--counter", "systick", "delta", "work", "-j", "-r", 12, "--tick", "ticks")
        assert result.code == code, result.out + result.err
        true = [passage.cycles for passage in passages(place.board.log(), place.symbol("work"), returned)]
    hits = [(line["values"]["CPU_CYCLES"], "at_least" in line) for line in result.lines if line["type"] == "hit"]
    return result, [(count, cycles, bound) for (count, bound), cycles in zip(hits, true[-len(hits):])]


@pytest.mark.parametrize("way, name", [(way, name) for way in WAYS for name in LOSING] + [("m4/swd", name) for name in LOSING_M4])
def test_ticks_that_may_be_lost_are_bounds(way, name, tmp_path):
    result, hits = measured(tmp_path, way, *{**LOSING, **LOSING_M4}[name])
    assert len(hits) == 12 and all(bound and count <= true for count, true, bound in hits), hits
    assert "ticks may be lost" in result.lines[0]["note"], result.lines[0]


@pytest.mark.parametrize("way, name", [(way, name) for way in WAYS for name in KEEPING])
def test_ticks_that_none_can_be_lost_of_are_exact(way, name, tmp_path):
    result, hits = measured(tmp_path, way, *KEEPING[name])
    assert "ticks may be lost" not in result.lines[0].get("note", ""), result.lines[0]
    assert len(hits) == 12 and all(count == true and not bound for count, true, bound in hits), hits


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("parts", [
    "void SysTick_Handler(void) { beside++; }\nAPART void timer(void) { if (++turn >= 4) { turn = 0; ticks++; } }\n"
    "APART void work(void) { spin(220); timer(); spin(220); }\n",
    COUNT + "void SVC_Handler(void) { ticks++; }\nAPART void work(void) { spin(220); __asm volatile(\"svc 0\"); }\n"])
def test_a_variable_that_another_one_counts_is_refused(way, parts, tmp_path):
    with own_place(tmp_path, way, program(parts, ""), clock=12000000) as place:
        result = place.run("--counter", "systick", "delta", "work", "-r", 5, "--tick", "ticks")
    assert result.code == 2 and "does not count SysTick's periods" in unfolded(result.err), result.out + result.err


@pytest.mark.parametrize("way", WAYS)
def test_a_variable_that_no_store_is_found_of_proves_nothing(way, tmp_path):
    parts = ("static volatile uint32_t *volatile where;\nvoid SysTick_Handler(void) { (*where)++; }\nAPART void work(void) { spin(4000); }\n")
    result, hits = measured(tmp_path, way, parts, "where = &ticks;")
    assert all(bound and count <= true for count, true, bound in hits), hits
    assert "proves nothing" in result.lines[0]["note"], result.lines[0]

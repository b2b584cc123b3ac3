"""--tick: ticks that may be lost while interrupts are off, and a variable that SysTick's handler does not count."""
import subprocess

import pytest

from harness import passages, returned, unfolded
from own_program import START, own_place

TICK = 12000
SYSTICK = "REGISTER(0xE000E014) = 11999; REGISTER(0xE000E018) = 0; REGISTER(0xE000E010) = 7;"
SPIN = "volatile uint32_t ticks, beside, turn; APART void spin(uint32_t n) { for (uint32_t i = 0; i < n; i++) sink = i; }\n"
COUNT = "void SysTick_Handler(void) { ticks++; }\n"
LOOP = "for (;; round_count++) { work(); spin(100 + (round_count & 255)); }"
BARRIER = "__asm volatile(\"dsb\\n isb\");"
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
    "lower": (COUNT + "void SVC_Handler(void) { spin(4000); }\nAPART void work(void) { __asm volatile(\"svc 0\"); spin(100); }\n",
              "REGISTER(0xE000ED1C) = 0xC0000000;"),  # its priority may be another when it runs
    "short": (COUNT + "APART void work(void) { spin(2000); " + MASK % "cpsid i" + " sink = turn++; " + MASK % "cpsie i" + " spin(2000); }\n", ""),
    "nested": (COUNT + "APART void work(void) { uint32_t a, b; __asm volatile(\"mrs %0, primask\\n cpsid i\" : \"=r\"(a)); sink = 1; "
               "__asm volatile(\"mrs %0, primask\\n cpsid i\" : \"=r\"(b)); sink = 2; __asm volatile(\"msr primask, %0\" :: \"r\"(b)); spin(4000); "
               "__asm volatile(\"msr primask, %0\" :: \"r\"(a)); }\n", ""),
    "until the caller's callee": (COUNT + "APART void on(void) { " + MASK % "cpsie i" + " }\nAPART void work(void) { spin(4000); }\n",
                                  "for (;; round_count++) { " + MASK % "cpsid i" + " work(); on(); spin(100 + (round_count & 255)); }"),
    "from boot": (COUNT + "APART void work(void) { spin(4000); }\nAPART void again(void) { for (;; round_count++) { work(); "
                  + MASK % "cpsie i" + " spin(100 + (round_count & 255)); " + MASK % "cpsid i" + " } }\n", MASK % "cpsid i" + " again();"),
    "on in it": (COUNT + "APART void work(void) { spin(4000); " + MASK % "cpsie i" + " }\n",
                 "for (;; round_count++) { " + MASK % "cpsid i" + " work(); spin(100 + (round_count & 255)); }"),
    "NMI": (COUNT + "void NMI_Handler(void) { spin(4000); }\nAPART void work(void) { REGISTER(0xE000ED04) = 1u << 31; " + BARRIER
            + " spin(100); }\n", ""),
    "a fault": (COUNT + "void HardFault_Handler(void) { spin(4000); __asm volatile(\"ldr r0, [sp, #32]\\n add r0, #2\\n str r0, [sp, #32]\" ::: \"r0\"); }\n"
                "APART void work(void) { if (turn == 77) __asm volatile(\".short 0xde00\"); spin(100); }\n", ""),
    "enabled in it": (COUNT + "void IRQ0_Handler(void) { spin(4000); REGISTER(0xE000E180) = 1; }\nAPART void work(void) { REGISTER(0xE000E100) = 1; "
                      "REGISTER(0xE000E200) = 1; " + BARRIER + " spin(100); }\n", "for (;; round_count++) { work(); spin(40000 + (round_count & 255)); }"),
    "the tick's interrupt off": (COUNT + "APART void work(void) { REGISTER(0xE000E010) = 5; spin(4000); REGISTER(0xE000E010) = 7; }\n", ""),
    "a tick taken back": (COUNT + "APART void work(void) { spin(1500); REGISTER(0xE000ED04) = 1 << 25; spin(1500); }\n", ""),
}
BASEPRI = "__asm volatile(\"msr basepri, %%0\" :: \"r\"(%s) : \"memory\");"
HIGH = "REGISTER(0xE000ED20) = 0x80000000;"
LOSING_M4 = {
    "basepri": (COUNT + "APART void work(void) { " + BASEPRI % "0x40" + " spin(4000); " + BASEPRI % "0" + " }\n", HIGH),
    "faultmask": (COUNT + "APART void work(void) { " + MASK % "cpsid f" + " spin(4000); " + MASK % "cpsie f" + " }\n", ""),
    "erratum 837070": (COUNT + "APART void work(void) { " + MASK % "cpsid i" + BASEPRI % "0x40" + MASK % "cpsie i" + " spin(4000); "
                       + BASEPRI % "0" + " }\n", HIGH),
    "a pair inside": (COUNT + "APART void work(void) { " + BASEPRI % "0x40" + MASK % "cpsid i" + " sink = turn; " + MASK % "cpsie i"
                      + " spin(4000); " + BASEPRI % "0" + " }\n", HIGH),
    "by a condition": (COUNT + "APART void mask(int off) { " + BASEPRI % "off ? 0 : 0x50" + " }\nAPART void work(void) { mask(0); spin(4000); mask(1); }\n", HIGH),
}
KEEPING = {
    "plain": (COUNT + "APART void work(void) { spin(4000); }\n", ""),
    "elsewhere": (COUNT + "APART void work(void) { spin(4000); }\nAPART void other(void) { " + MASK % "cpsid i" + " spin(9000); "
                  + MASK % "cpsie i" + " }\n", "for (;; round_count++) { work(); other(); spin(100 + (round_count & 255)); }"),
    "default handlers": (COUNT + "void NMI_Handler(void) { for (;;) sink++; }\nvoid IRQ0_Handler(void) __attribute__((alias(\"NMI_Handler\")));\n"
                         "APART void work(void) { spin(4000); }\n", ""),
    "with more before": ("APART void beside_it(void) { beside++; }\nvoid SysTick_Handler(void) { beside_it(); ticks = ticks + 1; turn++; }\n"
                         "APART void work(void) { spin(4000); }\n", ""),
    "a callee of its handler": ("APART void count(void) { ticks++; }\nvoid SysTick_Handler(void) { count(); sink = 0; }\nAPART void work(void) { spin(4000); }\n", ""),
}
BY_THE_TICKS = ["around", "until the caller's callee", "from boot"]  # the region masks nothing: that its handler never ran shows it
WAYS = ["rp2040/swd", "m4/swd"]
RELIES = "totals by --tick are right only if"


def program(parts, first):
    names = {2: "NMI_Handler", 3: "HardFault_Handler", 11: "SVC_Handler", 16: "IRQ0_Handler"}
    vectors = START.replace("vectors[16] = {", "vectors[17] = {").replace(
        "[15] = SysTick_Handler", "".join(f"[{number}] = {name}, " for number, name in names.items()) + "[15] = SysTick_Handler").replace(
        "void SysTick_Handler(void) __attribute__((weak));", "".join(f"void {name}(void) __attribute__((weak)); " for name in ["SysTick_Handler", *names.values()]))
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
    if name not in BY_THE_TICKS:
        assert "ticks may be lost" in result.lines[0]["note"], result.lines[0]


@pytest.mark.parametrize("way, name", [(way, name) for way in WAYS for name in KEEPING])
def test_ticks_that_none_can_be_lost_of_are_right(way, name, tmp_path):
    result, hits = measured(tmp_path, way, *KEEPING[name])
    assert RELIES in result.summary["doubt"], result.summary
    assert "ticks may be lost" not in result.lines[0].get("note", ""), result.lines[0]
    assert len(hits) == 12 and all(count == true and not bound for count, true, bound in hits), hits


# What the code does not show. Then spin(30000), in which the start of the run sees ticks that are right.
UNSEEN = {
    "a pointer": COUNT + "APART void add(volatile uint32_t *p, uint32_t n) { *p += n; }\nAPART void work(void) { spin(2000); add(&ticks, 2); spin(2000); }\n",
    "a loop entered at its test": COUNT + "APART uint32_t more(void) { return turn++ & 1; }\nAPART void work(void) { turn = 1; while (more()) { spin(2000); ticks += 1; } "
                                  "spin(2000); }\n",
    "pended": COUNT + "APART void work(void) { spin(2000); REGISTER(0xE000ED04) = 1 << 26; " + BARRIER + " spin(2000); }\n",
    "a handler of two": COUNT + "void IRQ0_Handler(void) __attribute__((alias(\"SysTick_Handler\")));\nAPART void work(void) { REGISTER(0xE000E100) = 1; spin(2000); "
                        "REGISTER(0xE000E200) = 1; " + BARRIER + " spin(2000); }\n",
}


@pytest.mark.parametrize("way, name", [(way, name) for way in WAYS for name in UNSEEN])
def test_totals_by_ticks_are_not_proved(way, name, tmp_path):
    result, hits = measured(tmp_path, way, UNSEEN[name], "for (;; round_count++) { work(); spin(30000 + (round_count & 255)); }")
    assert hits and (RELIES in result.summary["doubt"] or all(count <= true if bound else count == true for count, true, bound in hits)), (hits, result.summary)


def test_a_variable_that_another_handler_counts_is_refused(tmp_path):
    parts = COUNT + "void SVC_Handler(void) { ticks++; }\nAPART void work(void) { spin(220); __asm volatile(\"svc 0\"); }\n"
    with own_place(tmp_path, "m4/swd", program(parts, ""), clock=12000000) as place:
        result = place.run("--counter", "systick", "delta", "work", "-r", 5, "--tick", "ticks")
    assert result.code == 2 and "does not count SysTick's periods" in unfolded(result.err), result.out + result.err


WORK = "APART void work(void) { spin(4000); }\n"
NOT_COUNTING = {
    "a thread": "void SysTick_Handler(void) { beside++; }\nAPART void timer(void) { if (++turn >= 4) { turn = 0; ticks++; } }\n"
                "APART void work(void) { spin(220); timer(); spin(220); }\n",
    "each tenth": "void SysTick_Handler(void) { if (++beside == 10) { beside = 0; ticks++; } }\n" + WORK,
    "two at once": "void SysTick_Handler(void) { ticks += 2; }\n" + WORK,
    "twice": "APART void count(void) { ticks++; }\nvoid SysTick_Handler(void) { count(); count(); }\n" + WORK,
    "in a loop": "void SysTick_Handler(void) { uint32_t i = 3; do ticks++; while (--i); }\n" + WORK,
    "unless a flag": "void SysTick_Handler(void) { if (turn == 0) ticks++; }\nAPART void work(void) { turn = 1; spin(4000); turn = 0; }\n",
    "the region, too": COUNT + "APART void work(void) { spin(2000); ticks += 2; spin(2000); }\n",
    "set back": COUNT + "APART void work(void) { ticks = 1; spin(4000); }\n",
    "by a loop with its test first": "void SysTick_Handler(void) { for (uint32_t i = turn & 3; i; i--) ticks++; }\n" + WORK,
    "two at times": "void SysTick_Handler(void) { if (beside++ & 1) ticks += 2; }\n" + WORK,
    "by a condition": "void SysTick_Handler(void) { __asm volatile(\"cmp %0, #0\\n it eq\\n addeq %1, #1\" : : \"r\"(beside), \"r\"(turn)); ticks += turn; }\n" + WORK,
    "less one": "void SysTick_Handler(void) { ticks--; }\n" + WORK,
    "a half": "void SysTick_Handler(void) { *(volatile uint16_t *)&ticks += 1; }\n" + WORK,
}


@pytest.mark.parametrize("way, name", [(way, name) for way in WAYS for name in NOT_COUNTING if way[0] == "m" or name != "by a condition"])
def test_a_variable_that_does_not_count_periods_proves_nothing(way, name, tmp_path):
    with own_place(tmp_path, way, program(NOT_COUNTING[name], ""), clock=12000000) as place:
        place.board.watch(place.symbol("work"))
        result = place.run("--counter", "systick", "delta", "work", "-j", "-r", 12, "--tick", "ticks", "--timeout", "5s")
        if result.code == 2:  # it does not go up, or down
            assert "tick variable" in result.err, result.err
            return
        weak = ["ticks may be lost"] if name in ("each tenth", "unless a flag") else []
        assert result.code == 0 and any(text in result.lines[0]["note"] for text in ["proves nothing", *weak]), result.out + result.err
        true = [passage.cycles for passage in passages(place.board.log(), place.symbol("work"), returned)]
    hits = [(line["values"]["CPU_CYCLES"], "at_least" in line) for line in result.lines if line["type"] == "hit"]
    assert hits and all(count == is_true or (bound and count <= is_true) for (count, bound), is_true in zip(hits, true[-len(hits):])), (hits, true)


@pytest.mark.parametrize("way", WAYS)
def test_a_variable_that_no_store_is_found_of_proves_nothing(way, tmp_path):
    parts = ("static volatile uint32_t *volatile where;\nvoid SysTick_Handler(void) { (*where)++; }\nAPART void work(void) { spin(4000); }\n")
    result, hits = measured(tmp_path, way, parts, "where = &ticks;")
    assert all(bound and count <= true for count, true, bound in hits), hits
    assert "proves nothing" in result.lines[0]["note"], result.lines[0]


def test_a_call_out_of_the_elf_may_lose_ticks(tmp_path):
    """A function of a ROM or a boot loader may hold interrupts off, too."""
    parts = (COUNT + "__attribute__((noinline, section(\".rom\"))) void of_rom(void) { " + MASK % "cpsid i"
             + " for (uint32_t i = 0; i < 4000; i++) sink = i; " + MASK % "cpsie i" + " }\nAPART void work(void) { of_rom(); sink = 3; }\n")
    with own_place(tmp_path, "m4/swd", program(parts, ""), "-Wl,--section-start=.rom=0x08030000", clock=12000000) as place:
        subprocess.run(["arm-none-eabi-objcopy", "-R", ".rom", place.elf, tmp_path / "part.elf"], check=True)
        place.board.watch(place.symbol("work"))
        result = place.run("--elf", tmp_path / "part.elf", "--counter", "systick", "delta", "work", "-j", "-r", 6, "--tick", "ticks")
        true = max(passage.cycles for passage in passages(place.board.log(), place.symbol("work"), returned))
    hits = [line for line in result.lines if line["type"] == "hit"]
    assert len(hits) == 6 and all("at_least" in hit and hit["values"]["CPU_CYCLES"] <= true for hit in hits), result.out

"""A claimed clock is compared with the counter: a wrong one gives no times, no verdicts in time, and exit 5."""
import re

import pytest

from harness import WORK_BY_DATA, Place, passages, returned, unfolded
from own_program import START, own_place

RIGHT = 12_000_000
# The region takes 250 us
PROGRAM = START + r"""
APART void spin(uint32_t n) { for (; n; n--) __asm volatile("nop"); }
APART void job(void) { spin(600); sink++; }
#ifdef SLEEPS
void SysTick_Handler(void) { sink++; }
#endif
void run(void)
{
    SystemCoreClock = 12000000;
#ifdef SLEEPS
    REGISTER(0xE000E014) = 11999; REGISTER(0xE000E018) = 0; REGISTER(0xE000E010) = 7;
#endif
    for (;;) {
        job();
        round_count++;
#ifdef SLEEPS
        __asm volatile("wfi");
#endif
    }
}
"""


def told(result, claim):
    """The clock is named as the reason, without a time."""
    text = unfolded(result.out + result.err)
    return f"the clock is wrong: {claim} MHz by" in text and not re.search(r"^ *time ", result.out, re.M) and "something else" not in text


@pytest.mark.any_row(3)
@pytest.mark.parametrize("claim", [4, 8, 11, 13, 18, 168])
@pytest.mark.parametrize("way", ["m4/swd", "m33/swd", "rp2040/swd", "m4", "m4/jtag"])
def test_a_wrong_clock_gives_no_times(way, claim):
    with Place(way, "free", WORK_BY_DATA) as place:
        place.board.watch(place.symbol("work_by_data"))
        wrong = place.run("delta", "work_by_data", "-r", 10, "--freq", f"{claim}M")
        assert wrong.code == 5 and told(wrong, claim), wrong.out + wrong.err
        result = place.run("delta", "work_by_data", "-r", 10, "-j", "--freq", f"{claim}M")
        truth = [p.cycles for p in passages(place.board.log(), place.symbol("work_by_data"), returned)]
        assert result.code == 5 and "clock" not in result.header and f"{claim} MHz by --freq" in result.header["note"], result.out
        assert len(result.hits) == 10 and all(cycles in truth for cycles in result.cycles)


@pytest.mark.any_row(2)
@pytest.mark.parametrize("way", ["m4/swd", "m33/swd", "rp2040/swd", "m4", "a9/swd", "a53/swd", "r5/swd"])
def test_a_right_clock_gives_times(way):
    """However late the board is: it says what its own time is."""
    with Place(way, "free", WORK_BY_DATA) as place:
        for freq in ((), ("--freq", "12.1M"), ("--freq", "11.9M")):
            result = place.run("delta", "work_by_data", "-r", 5, *freq)
            assert result.code == 0 and re.search(r"^time ", result.out, re.M) and "no times" not in unfolded(result.out), result.out + result.err


@pytest.mark.any_row(3)
@pytest.mark.parametrize("words, code", [(("guard", "job", "--budget", "250us", "--for", "500ms"), 5), (("survey", "job", "--for", "500ms"), 5),
                                         (("survey", "--regions", "app.regions", "--check", "--for", "500ms"), 5), (("lines", "job", "-r", 2), 5),
                                         (("stat", "--for", "200ms"), 5), (("watch", "--for", "200ms"), 5), (("doctor",), 5)],
                         ids=lambda words: words[0] if isinstance(words, tuple) else None)
def test_no_command_believes_it(words, code, tmp_path):
    regions = tmp_path / "app.regions"
    regions.write_text("job job max <= 250 us\n")
    words = [str(regions) if word == "app.regions" else word for word in words]
    with own_place(tmp_path, "m4/swd", PROGRAM) as place:
        place.board.write_word("SystemCoreClock", 168_000_000)
        result = place.run(*words)
        assert result.code == code and told(result, 168) and "pass" not in result.out, result.out + result.err
        place.board.write_word("SystemCoreClock", RIGHT)
        result = place.run(*words)
        assert result.code in (0, 1) and "clock is wrong" not in unfolded(result.out + result.err), result.out + result.err


def test_a_core_that_sleeps_is_not_slower_than_its_clock(tmp_path):
    """Its counter may pause meanwhile; nothing makes a core faster."""
    with own_place(tmp_path, "m4/swd", PROGRAM, "-DSLEEPS") as place:
        for freq, code in (("12M", 0), ("24M", 0), ("6M", 5)):
            result = place.run("delta", "job", "-r", 5, "--freq", freq, "-j")
            assert result.code == code, result.out + result.err


# --- SysTick with a short period, and the RP2040's timer ---------------------------------------------------------

SHORT = START + r"""
volatile uint32_t len = 3000;
APART void spin(uint32_t n) { for (; n; n--) __asm volatile("nop"); }
APART void region(void) { spin(len + (round_count & 15)); }
void run(void)
{
    SystemCoreClock = 12000000;
    REGISTER(0x4005402C) = 7;
    REGISTER(0xE000E014) = RELOAD; REGISTER(0xE000E018) = 0; REGISTER(0xE000E010) = 5;
    for (;;) { region(); spin(200 + (round_count & 63)); round_count++; }
}
"""


def check_counts(place, result):
    """Each is true, or a lower bound of what is."""
    truth = iter([p.cycles for p in passages(place.board.log(), place.symbol("region"), returned)])
    for hit in result.hits:
        cycles, least = hit["values"]["CPU_CYCLES"], "CPU_CYCLES" in hit.get("at_least", [])
        assert any(true >= cycles if least else true == cycles for true in truth), hit


@pytest.mark.any_row(4)
@pytest.mark.parametrize("freq", [None, "6M", "11M", "12200k", "13M", "24M"])
@pytest.mark.parametrize("reload", ["0xFF", "0x2EDF"])
@pytest.mark.parametrize("way", ["rp2040/swd", "rp2040"])
def test_a_wrong_clock_does_not_choose_the_number_of_wraps(way, reload, freq, tmp_path):
    with own_place(tmp_path, way, SHORT, f"-DRELOAD={reload}") as place:
        place.board.watch(place.symbol("region"))
        result = place.run("delta", "region", "-r", 8, "-j", *(("--freq", freq) if freq else ()))
        check_counts(place, result)
        assert "something else" not in result.err or "the clock is wrong, or" in result.err, result.err
        if freq is None:
            assert result.code == 0 and len(result.hits) == 8, result.err
            assert reload == "0xFF" or not any(hit.get("at_least") for hit in result.hits), result.out
        elif way == "rp2040/swd" and reload == "0x2EDF":
            assert result.code == 5 and "the clock is wrong" in result.header["note"], result.out + result.err


# --- dividers -----------------------------------------------------------------------------------------------------

DIVIDED = START + r"""
APART void spin(uint32_t n) { for (; n; n--) __asm volatile("nop"); }
APART void region(void) { spin(100 + (round_count & 31)); }
#ifdef __aarch64__
#define START_IT() __asm volatile("msr pmcntenset_el0, %0\n mrs x9, pmcr_el0\n orr x9, x9, #1\n orr x9, x9, #8\n msr pmcr_el0, x9\n isb" :: "r"(0x80000000ul) : "x9")
#else
#define START_IT() __asm volatile("mcr p15, 0, %0, c9, c12, 1\n mrc p15, 0, r3, c9, c12, 0\n orr r3, r3, #9\n mcr p15, 0, r3, c9, c12, 0\n isb" :: "r"(0x80000000u) : "r3")
#endif
void run(void) { START_IT(); for (;;) { region(); spin(60); round_count++; } }
"""


@pytest.mark.any_row(2)
@pytest.mark.parametrize("way", ["a9/swd", "a7/swd", "r5/swd", "r52/swd", "a53/swd", "a9"])
def test_a_divider_of_the_programs_is_named(way, tmp_path):
    with own_place(tmp_path, way, DIVIDED) as place:
        place.board.watch(place.symbol("region"))
        result = place.run("delta", "region", "-r", 10, "-j")
        truth = [p.cycles for p in passages(place.board.log(), place.symbol("region"), returned)]
        assert result.code == 0 and len(result.hits) == 10, result.err
        assert "each 64th: PMCR.D" in result.header["note"], result.header
        assert all(cycles % 64 == 0 and min(abs(cycles - true) for true in truth) <= 64 for cycles in result.cycles), (result.cycles, truth)
        assert result.summary["columns"]["CPU_CYCLES"]["plus_minus"] >= 63, result.summary
        text = place.run("delta", "region", "-r", 10)
        assert text.code == 0 and "PMCR.D" in unfolded(text.out) and "exact" not in text.out, text.out

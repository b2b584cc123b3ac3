"""Which stores of a program write a counter: not those to its stack, its arguments or what it loaded. Where only the registers
show it, the core's are asked at the stop."""
import re

import pytest

from harness import passages, returned, unfolded
from own_program import START, own_place

# Each takes a time stamp, and stores in a loop by another base; none writes a counter
PROGRAM = START + r"""
#if __ARM_ARCH >= 7
#define NOW REGISTER(0xE0001004)
#else
#define NOW REGISTER(0xE000E018)
#endif
struct ring { uint32_t n, stamps[16]; } ring, *rings = &ring;
volatile uint32_t stamps[16];
APART void on_stack(void)
{
    uint32_t t = NOW;
    volatile uint32_t local[4];
    for (uint32_t i = 0; i < 20; i++) { local[0] = i; local[1] = i; local[2] = t; local[3] = i; }
    sink = local[1];
}
APART void by_argument(volatile uint32_t *out, uint32_t n)
{
    uint32_t t = NOW;
    for (uint32_t i = 0; i < n; i++) { out[0] = t; out[1] = i; out[2] = i; out += 1; }
}
APART void by_pointer(void)
{
    struct ring *volatile *all = (struct ring *volatile *)&rings;
    for (uint32_t i = 0; i < 12; i++) { struct ring *one = *all; one->n = NOW; one->stamps[0] = i; one->stamps[1] = i; }
}
/* Either of two, as only the registers show */
APART void either(volatile uint32_t *p, uint32_t n)
{
    if (!p)
        p = &NOW;
    for (uint32_t i = 0; i < n; i++)
        p[0] = i;
}
volatile uint32_t to_counter;
void run(void)
{
    rings = &ring;
    SystemCoreClock = 12000000;
    for (;;) {
        on_stack(); by_argument(stamps, 10); by_pointer(); either(to_counter ? 0 : stamps, 5);
        round_count++;
    }
}
"""
SAID = re.compile(r"writes (DWT_|SYST_|DEMCR)")
WAYS = ["m4/swd", "m33/swd", "rp2040/swd", "m4", "rp2040"]


def check(place, function, result):
    truth = [p.cycles for p in passages(place.board.log(), place.symbol(function), returned)]
    assert result.code == 0 and len(result.hits) == 10 and all(cycles in truth for cycles in result.cycles), result.err + result.out


@pytest.mark.any_row(2)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("function", ["on_stack", "by_argument", "by_pointer"])
@pytest.mark.parametrize("level", ["-O0", "-O1", "-O2"])
def test_a_time_stamp_is_no_write(way, function, level, tmp_path):
    with own_place(tmp_path, way, PROGRAM, level) as place:
        place.board.watch(place.symbol(function))
        result = place.run("delta", function, "-r", 10, "-j")
        check(place, function, result)
        assert not SAID.search(result.out + result.err) and "is not used" not in result.out, result.out + result.err


@pytest.mark.any_row(3)
@pytest.mark.parametrize("way", ["m4/swd", "m33/swd", "rp2040/swd"])
@pytest.mark.parametrize("words", [("survey", "on_stack", "by_argument", "--for", "1s"), ("lines", "on_stack", "-r", 2), ("stat", "--for", "100ms"),
                                   ("watch", "--for", "200ms"), ("guard", "on_stack", "--budget", 100000, "--for", "500ms"),
                                   ("record", "--every", 5000, "--for", "100ms", "-o", "profile")], ids=lambda words: words[0])
def test_no_command_says_so(way, words, tmp_path):
    if way == "rp2040/swd" and words[0] in ("guard", "record"):
        return  # nothing stops it at a count
    words = [tmp_path / "profile" if word == "profile" else word for word in words]
    with own_place(tmp_path, way, PROGRAM.replace("p = &NOW;", "p = stamps;")) as place:
        result = place.run(*words)
        text = unfolded(result.out + result.err)
        assert result.code == 0 and not SAID.search(text) and "is not used" not in text, result.out + result.err
        doctor = place.run("doctor", "-j")
        assert not [line for line in doctor.lines if line["type"] == "writer"], doctor.out


@pytest.mark.any_row(2)
@pytest.mark.parametrize("way", ["m4/swd", "rp2040/swd", "m4"])
def test_at_the_stop_the_registers_decide(way, tmp_path):
    """The one store goes to memory or to the counter: in the first case each hit counts, in the second none."""
    counter = "systick" if way.startswith("rp2040") else "dwt"
    with own_place(tmp_path, way, PROGRAM) as place:
        place.board.watch(place.symbol("either"))
        result = place.run("delta", "either", "-r", 10, "-j", "--counter", counter)
        check(place, "either", result)
        place.board.write_word("to_counter", 1)
        result = place.run("delta", "either", "-r", 10, "-j", "--counter", counter)
        assert result.code == 3 and (SAID.search(result.err) or "something else writes" in result.err) and not result.hits, result.err


def test_a_note_names_what_the_region_can_reach(tmp_path):
    with own_place(tmp_path, "m4/swd", PROGRAM) as place:
        away = place.run("delta", "on_stack", "-r", 5, "-j")
        assert away.code == 0 and not SAID.search(away.header.get("note", "")), away.out
        assert [line for line in place.run("doctor", "-j").lines if line["type"] == "writer"]

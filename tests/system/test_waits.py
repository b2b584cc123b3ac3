"""A region that waits for hardware: what goes on while the start is halted makes the wait shorter, and a doubt says so."""
import pytest

from harness import unfolded
from own_program import START, own_place

HEAD = START + """
#define TIMERAWL REGISTER(0x40054028)
#define DBGPAUSE REGISTER(0x4005402C)
static uint32_t last;
APART void spin(uint32_t n) { for (uint32_t i = 0; i < n; i++) sink = i; }
"""
TAIL = "\nvoid run(void) { %s for (;; round_count++) { work(); spin(500 + (round_count & 63)); } }\n"
READY = "APART void work(void) { while (TIMERAWL - last < 800) ; last = TIMERAWL; }"


def test_a_wait_for_hardware_is_in_doubt(tmp_path):
    with own_place(tmp_path, "rp2040/swd", HEAD + READY + TAIL % "DBGPAUSE = 0; last = TIMERAWL;", clock=12000000) as place:
        text = place.run("delta", "work", "-r", 5)
        assert text.code == 0 and "work+" in text.out and "waits for hardware (0x40054028)" in unfolded(text.out), text.out + text.err
        assert "each count is exact" not in unfolded(text.out) and "--no-halt" not in unfolded(text.out), text.out
        lines = place.run("delta", "work", "-r", 5, "-j").lines
        assert "waits for hardware" in lines[-1]["doubt"], lines
        surveyed = place.run("survey", "work", "spin", "-r", 5, "-j").lines
        doubts = {line["name"]: line.get("doubt", "") for line in surveyed if line["type"] == "region"}
        assert "waits for hardware" in doubts["work"] and "waits" not in doubts["spin"], doubts


def test_a_timer_that_stops_while_halted_is_none(tmp_path):
    with own_place(tmp_path, "rp2040/swd", HEAD + READY + TAIL % "DBGPAUSE = 6; last = TIMERAWL;", clock=12000000) as place:
        result = place.run("delta", "work", "-r", 5)
        assert result.code == 0 and "waits for hardware" not in unfolded(result.out), result.out + result.err


@pytest.mark.parametrize("work, waits", [
    ("APART void part(void) { while ((REGISTER(0x40013800) & 0x80) == 0) ; }\nAPART void work(void) { part(); sink++; }", True),
    ("APART void work(void) { for (uint32_t n = 1000; n != 0 && !(REGISTER(0x40013800) & 1); n--) ; }", True),
    ("APART void work(void) { for (uint32_t n = 0; n < 200; n++) sink += REGISTER(0x40013800) & 1; }", False),
    ("APART void work(void) { for (uint32_t was = REGISTER(0xE000E018); ((was - REGISTER(0xE000E018)) & 0xFFFFFF) < 100;) ; }", False),
    ("APART void work(void) { if (turn) while (REGISTER(0x20000000 + 4 * turn) == 0) ; spin(20); }", False)])
def test_what_is_a_wait(work, waits, tmp_path):
    """The board has nothing at 0x40013800: the loops there do not run, and the code alone is asked."""
    guarded = work.replace("void work(void) {", "void work(void) { if (!turn) { spin(9); return; }")
    source = HEAD + "volatile uint32_t turn;\n" + guarded + TAIL % "REGISTER(0xE000E014) = 0xFFFFFF; REGISTER(0xE000E018) = 0; REGISTER(0xE000E010) = 5;"
    with own_place(tmp_path, "m4/swd", source) as place:
        result = place.run("delta", "work", "-r", 5, "-j")
    assert result.code == 0, result.out + result.err
    assert ("waits for hardware" in result.lines[-1].get("doubt", "")) is waits, result.lines
    assert ("--no-halt" in result.lines[-1].get("doubt", "")) is waits

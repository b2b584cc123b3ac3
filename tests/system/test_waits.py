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
    ("APART void work(void) { if (turn) while (REGISTER(0x20000000 + 4 * turn) == 0) ; spin(20); }", True),
    ("APART uint32_t length(const char *of) { uint32_t n = 0; while (of[n]) n++; return n; }\nAPART void work(void) { sink = length((const char *)turn); }", False),
    ("struct item { struct item *next; uint32_t kind; };\nAPART struct item *find(struct item *in, uint32_t kind) { while (in && in->kind != kind) in = in->next; return in; }\n"
     "APART void work(void) { sink = (uint32_t)find((struct item *)turn, 3); }", False),
    ("struct queue { uint32_t first, n, at[8]; } queue;\nAPART void empty(struct queue *of) { while (of->n != 0) { of->n--; sink = of->at[of->first++ & 7]; } }\n"
     "APART void work(void) { empty(&queue); }", False),
    ("APART uint32_t root(uint32_t of) { uint32_t by = of; while (by > of / by) by = (by + of / by) / 2; return by; }\nAPART void work(void) { sink = root(turn); }", False),
    ("uint32_t words[9];\nAPART void sort(uint32_t n) { for (uint32_t i = 1; i < n; i++) for (uint32_t k = i; k > 0 && words[k - 1] > words[k]; k--) { uint32_t was = words[k]; words[k] = words[k - 1]; words[k - 1] = was; } }\n"
     "APART void work(void) { sort(turn); }", False)])
def test_what_is_a_wait(work, waits, tmp_path):
    """The board has nothing at 0x40013800: the loops there do not run, and the code alone is asked."""
    guarded = work.replace("void work(void) {", "void work(void) { if (!turn) { spin(9); return; }")
    source = HEAD + "volatile uint32_t turn;\n" + guarded + TAIL % "REGISTER(0xE000E014) = 0xFFFFFF; REGISTER(0xE000E018) = 0; REGISTER(0xE000E010) = 5;"
    with own_place(tmp_path, "m4/swd", source) as place:
        result = place.run("delta", "work", "-r", 5, "-j")
    assert result.code == 0, result.out + result.err
    assert ("waits for hardware" in result.lines[-1].get("doubt", "")) is waits, result.lines
    assert ("--no-halt" in result.lines[-1].get("doubt", "")) is waits


POLLS = {
    "timeout": "for (int i = 1000; !(REGISTER(0x40013800) & 0x80);) if (--i == 0) { turn = 1; break; }",
    "returns": "for (int i = 1000; !(REGISTER(0x40013800) & 0x80);) if (--i == 0) return;",
    "handle": "while (!(*where & 0x80)) ;",
    "other": "while (!(REGISTER(0xD0000050) & 1)) ;",
    "memory": "while (!(REGISTER(0xA0001000) & 1)) ;",
    "flag": "while (!flag) ;",
    "asleep": "while (!flag) __asm volatile(\"wfe\");",
    "asks": "while (!is_set((volatile uint32_t *)0x40013800)) ;",
    "fills": "for (int i = 0; REGISTER(0x40013800) & 0x80; i++) REGISTER(0x40013804) = i;"}


@pytest.mark.parametrize("core, flag", [("m4", "-O0"), ("m4", "-Os"), ("m4", "-O2"), ("rp2040", "-O2")])
def test_each_form_of_a_wait_is_one(core, flag, tmp_path):
    """However the compiler lays a loop out, and whatever its address is made of."""
    polls = "".join(f"APART void poll_{name}(void) {{ {code} }}\nAPART void try_{name}(void) {{ if (turn == 77) poll_{name}(); spin(9); }}\n"
                    for name, code in POLLS.items())
    source = HEAD + "volatile uint32_t turn, flag, *volatile where;\nAPART uint32_t is_set(volatile uint32_t *at) { return *at & 0x80; }\n" + polls + (
        "APART void work(void) { for (uint32_t i = 0; i < turn + 5; i++) sink = i; }\n"
        "void run(void) { for (;; round_count++) { work(); " + " ".join(f"try_{name}();" for name in POLLS) + " } }\n")
    with own_place(tmp_path, f"{core}/swd", source, flag) as place:
        lines = place.run("survey", "work", "try_*", "-r", 3, "-j").lines
    doubts = {line["name"]: line.get("doubt", "") for line in lines if line["type"] == "region"}
    assert len(doubts) == 1 + len(POLLS) and not doubts.pop("work"), lines
    assert [name for name, doubt in doubts.items() if "waits for hardware" not in doubt] == [], doubts


def test_the_seventieth_wait_is_one(tmp_path):
    """Also where what runs between START and END is not known, and what is called by a pointer."""
    many = "".join(f"APART void p{i}(void) {{ while (!(REGISTER({0x40010000 + 16 * i:#x}) & 0x80)) ; sink = {i}; }}\n" for i in range(70))
    source = HEAD + "volatile uint32_t turn;\nvoid (*volatile by)(void);\n" + many + (
        "APART void work(void) { if (turn == 77) p69(); spin(9); }\nAPART void first(void) { spin(9); }\nAPART void ends(void) { spin(9); }\n"
        "APART void open(void) { if (by) by(); spin(9); }\n"
        "void run(void) { for (;; round_count++) { work(); first(); open(); ends(); if (turn == 78) {"
        + "".join(f"p{i}();" for i in range(70)) + "} } }\n")
    with own_place(tmp_path, "m4/swd", source) as place:
        for region, waits in ((("work",), "p69"), (("first", "ends"), "may run in a hit"), (("open",), "may run in a hit"), (("spin",), None)):
            result = place.run("delta", *region, "-r", 4, "-j")
            doubt = result.lines[-1].get("doubt", "")
            assert result.code == 0 and (waits in doubt and "waits for hardware" in doubt if waits else doubt == ""), (region, doubt, result.err)

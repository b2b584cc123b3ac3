"""Code in RAM that both cores of an RP2040 may run: a breakpoint there is an instruction, which a core without a debugger
takes for a fault. Tasks that change their core."""
import pytest

from harness import ARTICLE_NOP, ARTICLE_PLAIN, IN_RAM, WAIT, WORK_BY_DATA, Place, passages, returned, unfolded, wait_for
from own_program import START, own_place


def lives(core1, place):
    rounds = place.board.read_word("core1_rounds")
    wait_for(lambda: place.board.read_word("core1_rounds") > rounds + 3, "the second core to go on")
    return core1.state()["run"] in ("running", "asleep")


@pytest.mark.parametrize("way", ["rp2040/swd", "rp2040/v2"])
def test_the_other_core_runs_onto_it(way):
    """It neither faults nor stays: the run ends with what it was."""
    with Place(way, "free", IN_RAM) as place:
        core1 = place.board.core(1)
        code = place.board.read("in_ram", 16)
        tool = place.start("delta", "in_ram", "-r", "1000000", "--for", "60s")
        place.wait_for_stops(5)
        place.board.write_word("core1_in_ram", 1)
        out, err = tool.communicate(timeout=WAIT)
        assert tool.returncode == 3, (out, err)
        assert "core 1 has run onto the breakpoint at 0x2" in unfolded(err) and "an instruction for both" in unfolded(err), err
        assert place.board.read("in_ram", 16) == code
        assert lives(core1, place)
        assert core1.state()["dhcsr"] == 0 and core1.state()["dfsr"] == 0


def test_one_that_stands_there_at_the_end_goes_on():
    with Place("rp2040/swd", "free", WORK_BY_DATA) as place:
        core1 = place.board.core(1)
        place.board.write_word("core1_in_ram", 1)
        result = place.run("delta", "in_ram", "--timeout", "3s")
        assert result.code == 3, result.err
        assert lives(core1, place)


@pytest.mark.parametrize("way", ["rp2040/swd", "rp2040"])
def test_one_that_stays_away_is_not_disturbed(way):
    with Place(way, "free", IN_RAM) as place:
        core1 = place.board.core(1)
        before = core1.state()
        result = place.delta("in_ram", "-r", 100)
        truth = passages(place.board.log(), place.symbol("in_ram"), returned)
        assert result.cycles == [passage.cycles for passage in truth][:len(result.hits)]
        assert lives(core1, place)
        after = core1.state()
        assert (after["dhcsr"], after["halts"]) == (before["dhcsr"], before["halts"])


@pytest.mark.parametrize("way, noted", [("rp2040/swd", True), ("a9/swd", True), ("m4/swd", False)])
def test_another_core_that_runs_is_named_where_it_could_reach_the_end(way, noted):
    with Place(way, "free", ARTICLE_PLAIN | ARTICLE_NOP | WORK_BY_DATA) as place:
        ends = place.run("delta", "nop_first", "nop_second", "-r", 5)
        function = place.run("delta", "work_by_data", "-r", 5)
        assert ("another core runs, too: an end that it reaches is not seen" in unfolded(ends.out)) == noted, ends.out + ends.err
        assert "another core" not in function.out, function.out


TASKS = START + r"""
#ifdef SEVERAL
void *volatile pxCurrentTCBs[2] __attribute__((used));
#elif defined ZEPHYR
void *volatile _kernel __attribute__((used));
static volatile long start_flag __attribute__((used));
#else
void *volatile pxCurrentTCB __attribute__((used));
#endif
APART void work(void) { for (uint32_t i = 0; i < 20; i++) sink += i; }
void run(void) { for (;; round_count++) work(); }
"""


@pytest.mark.parametrize("command", ["delta", "survey", "lines"])
def test_a_scheduler_of_several_cores_is_named(command, tmp_path):
    """Nothing shows that a task has changed its core inside a hit."""
    words = [command, "work", "-r", 5, *(["--for", "300ms"] if command == "survey" else [])]
    for flags, noted in (([], False), (["-DSEVERAL"], True), (["-DZEPHYR"], True)):
        with own_place(tmp_path, "rp2040/swd", TASKS, *flags) as place:
            result = place.run(*words)
            assert result.code == 0, result.err
            assert ("a hit that moves to another core" in unfolded(result.out)) == noted, result.out
    with own_place(tmp_path, "m4/swd", TASKS, "-DSEVERAL") as place:  # it has one core
        result = place.run(*words)
        assert result.code == 0 and "another core" not in result.out, result.out


SLEEPS = START + r"""
uint32_t stack1[64];
void core1_main(void) { for (;;) __asm volatile("wfe"); }
const void *const core1_vectors[] = {stack1 + 64, (const void *)core1_main};
APART void multicore_launch(void) { sink += (uint32_t)core1_vectors; }
APART void begin(void) { sink++; }
APART void finish(void) { sink += 2; }
void run(void)
{
    for (multicore_launch();; round_count++) {
        begin();
        finish();
    }
}
"""


@pytest.mark.parametrize("name, noted", [("multicore_launch_core1", True), ("arch_start_cpu", True), ("another_name", False)])
def test_a_core_that_the_program_starts_may_sleep_at_first(name, noted, tmp_path):
    with own_place(tmp_path, "rp2040/swd", SLEEPS.replace("multicore_launch", name)) as place:
        assert "asleep" in place.run("info").out
        result = place.run("delta", "-j", "begin", "finish", "-r", 5)
        assert result.code == 0 and ("another core runs" in result.summary.get("doubt", "")) == noted, result.err + result.out

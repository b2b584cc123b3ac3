"""Calls that do not return, tasks that share code, and handlers that return to another context. No hit spans two of them, and no
run waits for ever. The program is tests/firmware/leaves.c, and the truth is the board's log."""
import pytest

from gdb_place import GdbPlace
from harness import Place, left_handler, passages, returned, wait_for

pytestmark = pytest.mark.any_fifth

JUMPS, NEVER, SELF = 1, 2, 4
LINKS = ["m4/swd", "rp2040/swd", "a9/swd", "a53/swd", "m4", "gdb m4"]


def leaves(way, what=0, tasks=False):
    kind, chip = (GdbPlace, way[4:]) if way.startswith("gdb ") else (Place, way)
    place = kind(chip, "leaves")
    wait_for(lambda: place.board.read_word("round_count") > 0, "the program")
    place.board.write_word("what", what)
    if tasks:
        place.board.write_word("tasks_wanted", 1)
        wait_for(lambda: place.board.read_word("switch_count") > 10, "the tasks")
    return place


def check(place, start, is_end, *args, code=0, **of_start):
    result = place.delta(*args, code=code)
    truth = passages(place.board.log(), place.symbol(start), is_end, **of_start)
    assert len(truth) == len(result.hits) > 0
    for hit, passage in zip(result.hits, truth):
        value = hit["values"]["CPU_CYCLES"]  # of a SysTick that reloads it may be a bound
        bounded = hit.get("at_least") and place.chip == "rp2040"
        assert value <= passage.cycles if bounded else value == passage.cycles, (hit, passage.begin, passage.end)
    return result, truth


@pytest.mark.any_row(2)
@pytest.mark.parametrize("way", LINKS)
def test_a_call_that_is_left_by_longjmp_is_no_hit(way):
    with leaves(way, JUMPS) as place:
        jumped = place.board.read_word("jumped_count")
        result, _ = check(place, "may_jump", returned, "may_jump", "-r", 40)
        assert 0 < result.summary["left"] <= place.board.read_word("jumped_count") - jumped
        text = place.run("delta", "may_jump", "-r", 20)
        assert text.code == 0 and "left without returning, not counted" in text.out, text.out


@pytest.mark.parametrize("way", ["m4/swd", "gdb m4"])
def test_a_task_that_is_killed_and_begun_anew(way):
    with leaves(way, tasks=True) as place:
        result, _ = check(place, "victim", returned, "victim", "-r", 20)
        assert result.summary["left"] > 0


def test_functions_that_never_return_are_refused():
    with leaves("m4/swd", NEVER) as place:
        result = place.run("delta", "never", "-r", 5)
        assert result.code == 2 and "noreturn" in result.err, result.err
        result = place.run("delta", "jumps", "-r", 5)  # declared as if it returned, called as if not
        assert result.code == 3 and "ends its caller" in result.err, result.err


@pytest.mark.parametrize("way", ["m4/swd", "m4", "gdb m4"])
def test_a_run_ends_where_each_start_is_an_inner_one(way):
    with leaves(way, SELF) as place:
        for seconds in (1, 10, 100):  # as long as it takes to one start on a busy machine
            result = place.run("delta", "self_return", "-r", 5, "--timeout", seconds)
            if "the start was reached" in result.err:
                break
        assert result.code == 3 and "each time with a return address in the function itself" in result.err, result.err


@pytest.mark.any_row(2)
@pytest.mark.parametrize("start", ["shared_begin", "shared"])
@pytest.mark.parametrize("way", ["m4/swd", "rp2040/swd", "gdb m4"])
def test_a_start_is_not_paired_with_another_tasks_end(way, start):
    """From the entry, where nothing is on the stack yet, and from after the PUSH."""
    def is_end(event, entry):
        return event.pc == end and 0 <= entry.sp - event.sp < 64  # each task has 512 bytes
    with leaves(way, tasks=True) as place:
        end = place.symbol("shared_end")
        result, _ = check(place, start, is_end, start, "shared_end", "-r", 30,
                          is_same=lambda event, entry: event.sp == entry.sp)
        assert result.summary["steps_past"] > 0


@pytest.mark.parametrize("name", ["SysTick_Handler", "PendSV_Handler"])
@pytest.mark.parametrize("way", ["m4/swd", "rp2040/swd", "gdb m4"])
def test_a_handler_ends_at_its_return_whoever_goes_on_then(way, name):
    with leaves(way, tasks=True) as place:
        _, truth = check(place, name, left_handler, name, "-r", 30)
        assert max(passage.cycles for passage in truth) < 600

"""`lines`: the exact cost of each line of a function. Hits are what the board saw executed, call by call; the sum of the lines is
what `delta` prints of the function, and the target is as it was."""
import signal

import pytest

from gdb_place import GdbPlace
from harness import (CALLED_TWICE, INTERRUPTED, IN_RAM, NOWHERE, PING, RECURSE, SOAK, WORK_BY_DATA, Place, finish_tool, passages, returned, run_tool,
                     unfolded)
from own_program import START, own_place
from test_restore import assert_runs, snapshot

WAYS = ["m4/swd", "rp2040/swd", "rp2350/swd", "a9/swd", "rp2040", "m55/swd", "a53/swd", "r5/swd", "r52/swd", "a53in32/swd", "r52hyp/swd", "a53el2/swd"]
BITS = WORK_BY_DATA | CALLED_TWICE | RECURSE | IN_RAM | PING
STRAIGHT, LOOP, CALL = "ping", "called_twice", "caller_one"
CALLS = 40 if SOAK else 8


def lines(place, function, *args, code=0):
    result = place.run("lines", function, "-j", *args)
    assert result.code == code, f"exit {result.code}: {result.err}\n{result.out[-2000:]}"
    assert result.header["schema"] == "pmu-probe/2" and result.header["command"] == "lines"
    result.rows = [line for line in result.lines if line["type"] == "line"]
    return result


def check_sum(result, truth):
    """A busy machine takes longer for a step than SysTick of 24 bits goes on: those steps are reported, and take the mean of others."""
    wrapped = any("may have wrapped unseen" in note for note in result.summary["notes"])
    assert result.summary["sum"] == pytest.approx(sum(truth) / len(truth), rel=0.1 if wrapped else None), (result.summary, truth)


def walked(place, function, addresses):
    """The calls that were stopped inside: their cycles, and how often each address was executed in each of them."""
    log = list(place.board.log())
    found = []
    for passage in passages(log, place.symbol(function), returned):
        inside = [event for event in log if passage.begin.cycles <= event.cycles <= passage.end.cycles]
        halts = {event.pc for event in inside if event.kind == "halt"}
        if len(halts) > 2:
            found.append((passage.cycles, {at: sum(event.kind == "reach" and event.pc == at for event in inside)
                                           for at in addresses}))
    return found


def check_truth(place, function, *args):
    first = lines(place, function, "-r", 1)
    addresses = [int(block["address"], 0) for row in first.rows for block in row["blocks"]]
    place.board.watch(*addresses)
    result = lines(place, function, "-r", CALLS, *args)
    truth = walked(place, function, addresses)
    assert result.summary["calls"] == CALLS == len(truth)
    for row in result.rows:
        for block in row["blocks"]:
            at = int(block["address"], 0)
            assert block["hits"] == sum(counts[at] for _, counts in truth), (row["line"], block)
    check_sum(result, [cycles for cycles, _ in truth])
    assert result.summary["sum"] == pytest.approx(sum(row.get("mean", 0) for row in result.rows))
    assert result.summary["tainted"] == 0 and result.summary["agrees"], result.summary
    return result


@pytest.mark.any_row(1)
@pytest.mark.parametrize("way", WAYS)
def test_lines_are_the_truth(way):
    with Place(way, "free", BITS) as place:
        before = snapshot(place)
        for function in (STRAIGHT, LOOP, CALL):
            result = check_truth(place, function)
            if function == CALL:  # the calls of the others differ
                assert set(place.delta(function, "-r", 10).cycles) == {result.summary["sum"]}
                assert abs(result.summary["not_attributed"]) <= result.summary["halts_plus_minus"]
        assert_runs(place)
        assert snapshot(place) == before


def test_a_loop_and_a_branch_show_in_hits():
    with Place("m4/swd", "free", CALLED_TWICE | WORK_BY_DATA) as place:
        rows = {row["text"].strip(): row for row in check_truth(place, LOOP).rows}
        rounds = rows["value += sink;"]["hits_per_call"]
        assert 5 < rounds < 12 and rows["while (count--)"]["hits_per_call"] >= rounds
        assert rows["return value;" if "return value;" in rows else "}"]["hits_per_call"] == 1
        call = {row["text"].strip(): row for row in check_truth(place, CALL).rows}
        assert call["sink = called_twice(5) + 1;"]["calls"] and call["sink = called_twice(5) + 1;"]["share"] > 0.8


@pytest.mark.any_row(1)
@pytest.mark.parametrize("way", ["rp2040/swd", "m4"])
def test_code_in_ram(way):
    with Place(way, "free", IN_RAM) as place:
        before = snapshot(place)
        check_truth(place, "in_ram")
        assert_runs(place)
        assert snapshot(place) == before


@pytest.mark.any_row(1)
@pytest.mark.parametrize("taken", [2, 3])
def test_with_few_comparators(taken):
    """With one it stops at the branch, and steps over it."""
    with Place("rp2040", "free", CALLED_TWICE) as place:
        place.halt()
        for i in range(taken):
            place.server(f"bp {0x10004000 + 4 * i:#x} 2 hw")
        place.server("resume")
        check_truth(place, LOOP)
        assert_runs(place)


def test_what_calls_itself_is_one_call():
    """Stops of inner calls are stepped past: the outer one has each of its lines once."""
    with Place("rp2040/swd", "free", RECURSE) as place:
        result = lines(place, "recurse", "-r", CALLS)
        rows = {row["text"].strip(): row for row in result.rows}
        assert rows["}"]["hits"] == rows["}"]["blocks"][0]["hits"] == CALLS
        assert max(block["hits"] for row in result.rows for block in row["blocks"]) == CALLS
        assert_runs(place)


# Each call goes to one case by what the inner one returned. With PARTS each case has two lines.
CHOOSES = START + r"""
uint32_t f(uint32_t n);
#if PARTS
#define NEXT(line) ".loc 1 " #line "\n"
#else
#define NEXT(line)
#endif
__asm(".text\n.syntax unified\n.thumb\n.global f\n.type f,%function\n.thumb_func\nf:\n.cfi_startproc\n"
      ".loc 1 1\npush {r4, lr}\n.cfi_def_cfa_offset 8\n.cfi_offset 4,-8\n.cfi_offset 14,-4\n"
      ".loc 1 2\nmovs r4, r0\n.loc 1 3\nbeq 3f\n"
      ".loc 1 4\nsubs r0, #1\nbl f\nadr r3, 4f\nlsls r0, r0, #2\nldr r0, [r3, r0]\nmov pc, r0\n"
      ".balign 4\n4: .word 10f,11f,12f,13f\n"
      ".loc 1 10\n10: movs r0, #1\n" NEXT(11) "b 2f\n.loc 1 20\n11: movs r0, #2\nnop\nnop\n" NEXT(21) "b 2f\n"
      ".loc 1 30\n12: movs r0, #3\nnop\nnop\nnop\n" NEXT(31) "b 2f\n.loc 1 40\n13: movs r0, #3\n" NEXT(41) "b 2f\n"
      ".loc 1 50\n3: movs r0, #0\n.loc 1 51\n2: pop {r4, pc}\n.cfi_endproc\n.size f,.-f\n");
void run(void) { for (;; round_count++) sink = f(3); }
"""
# Its calls of itself are the last instruction of a line.
CALLS_LAST = START + r"""
uint32_t f(uint32_t n);
__asm(".text\n.syntax unified\n.thumb\n.global f\n.type f,%function\n.thumb_func\nf:\n.cfi_startproc\n"
      ".loc 1 1\npush {r4, lr}\n.cfi_def_cfa_offset 8\n.cfi_offset 4,-8\n.cfi_offset 14,-4\n"
      ".loc 1 2\nmovs r4, r0\n.loc 1 3\nbeq 2f\n.loc 1 4\nsubs r0, #1\nbl f\n.loc 1 5\ncmp r4, #2\nbeq 1f\n.loc 1 6\nnop\n"
      ".loc 1 7\n1: nop\n.loc 1 8\n2: pop {r4, pc}\n.cfi_endproc\n.size f,.-f\n");
void run(void) { for (;; round_count++) sink = f(3); }
"""


@pytest.mark.any_row(1)
@pytest.mark.parametrize("way", ["m4/swd", "rp2040/swd", "m4"])
@pytest.mark.parametrize("parts", [0, 1])
def test_each_stop_is_the_outer_calls(way, parts, tmp_path):
    """Inner calls reach other cases, at the same instruction before."""
    with own_place(tmp_path, way, CHOOSES, f"-DPARTS={parts}") as place:
        result = lines(place, "f", "-r", CALLS)
        reached = {row["line"]: row["hits"] for row in result.rows if row["hits"] > 0}
        assert reached == dict.fromkeys([1, 2, 3, 4, 30, 51] + [31] * parts, CALLS)


@pytest.mark.parametrize("taken", [0, 2, 3])
def test_a_call_of_itself_at_the_end_of_a_line(taken, tmp_path):
    """Where one comparator is left it is stepped into."""
    with own_place(tmp_path, "rp2040", CALLS_LAST) as place:
        place.halt()
        for i in range(taken):
            place.server(f"bp {0x10004000 + 4 * i:#x} 2 hw")
        place.server("resume")
        result = lines(place, "f", "-r", CALLS)
        assert {row["line"]: row["hits"] for row in result.rows} == dict.fromkeys(range(1, 9), CALLS)


# Each other call goes by f.cold, which jumps back into the middle of line 6; `other` jumps to more places.
JUMPS_BACK = START + r"""
uint32_t f(uint32_t n);
__asm(".text\n.syntax unified\n.thumb\n.global f\n.type f,%function\n.thumb_func\nf:\n.loc 1 1\nmovs r1, #1\nands r1, r0\n"
      ".loc 1 2\nbne 3f\n.loc 1 3\nmovs r2, #4\n.loc 1 4\n1: subs r2, #1\n.loc 1 5\nbne 1b\n"
      ".loc 1 6\nnop\n.Lback: movs r2, #2\n.loc 1 7\n2: subs r2, #1\n.loc 1 8\nbne 2b\n.loc 1 9\n5: bx lr\n"
      ".loc 1 10\n3: b .Lcold\n.size f,.-f\n.space 64\n"
      ".type f.cold,%function\n.thumb_func\nf.cold:\n.Lcold:\n.loc 1 20\nadds r0, #1\nb .Lback\n.size f.cold,.-f.cold\n"
      ".type other,%function\n.thumb_func\nother: b 5b\nb 2b\n" MORE ".size other,.-other\n");
void run(void) { for (uint32_t turn = 0;; turn++, round_count++) sink = f(turn); }
"""


@pytest.mark.any_row(1)
@pytest.mark.parametrize("taken", [None, 0, 2, 3])
@pytest.mark.parametrize("more", ["", "b 1b\\nb 3b\\n"])
def test_a_jump_out_of_the_function_and_back(more, taken, tmp_path):
    """Where comparators are too few, or the places too many, it goes on by steps."""
    with own_place(tmp_path, "m4/swd" if taken is None else "rp2040", JUMPS_BACK, f'-DMORE="{more}"') as place:
        if taken:
            place.halt()
            for i in range(taken):
                place.server(f"bp {0x10004000 + 4 * i:#x} 2 hw")
            place.server("resume")
        result = lines(place, "f", "-r", CALLS)
        hits = {row["line"]: row["hits_per_call"] for row in result.rows}
        assert hits == {1: 1, 2: 1, 3: 0.5, 4: 2, 5: 2, 6: 1, 7: 2, 8: 2, 9: 1, 10: 0.5}, hits


def test_text_says_what_is_not_reached_and_not_separate():
    with Place("m4/swd", "free", CALLED_TWICE) as place:
        out = place.run("lines", CALL, "-r", 3).out
        assert "sink = called_twice(5)" in out and "sum of the lines" in out and "in no line: 0.00 cycles" in out
        assert "\nc: 1 line calls a function" in out
        assert place.run("lines", "never_called", "--timeout", "200ms").code == 3
    with Place("rp2040/swd", "free", PING) as place:
        never = [row for row in lines(place, STRAIGHT, "-r", 3).rows if row["hits"] == 0]
        assert place.run("lines", STRAIGHT, "-r", 3).out.count("<not reached>") == len(never) == 1


def test_through_a_gdb_server_it_is_refused():
    with GdbPlace("m4", "free", CALLED_TWICE) as place:
        result = place.run("lines", CALL)
        assert result.code == 2 and "debug registers" in result.err


def test_ctrl_c_ends_it_with_what_there_is():
    with Place("m4/swd", "free", CALLED_TWICE) as place:
        before = snapshot(place)
        process = place.start("lines", CALL, "-r", 1000000, "--for", "10min")
        place.board.watch(NOWHERE)
        place.wait_for_stops(100)
        result = finish_tool(process, signal.SIGINT)
        assert result.code == INTERRUPTED and "it ended early: Ctrl-C" in unfolded(result.out), result.err
        assert_runs(place)
        assert snapshot(place) == before


def test_what_cannot_be_shown_is_refused():
    for words, fact in ((["f"], "--elf"), (["f", "-e", "CPU_CYCLES"], "counts cycles"), (["f", "g"], "unexpected argument")):
        result = run_tool("lines", *words)
        assert result.code == 2 and fact in result.err, result.err

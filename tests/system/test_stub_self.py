"""Firmware that measures itself with the target stub, on the board: its own figures, the probe's and the board's truth of the
same code agree, and each operation of the stub does what it is for."""
import pytest

import stub_judges as judge
from board import Board
from harness import NOWHERE, Place, passages, returned, wait_for

CHIPS = ["rp2040", "m4", "m55", "a9", "a7", "r5", "a53"]
COUNTERS = {"m55": 8, "a9": 6, "a7": 4, "r5": 3, "a53": 6}
WAYS = ["rp2040/swd", "m4/swd", "m55/swd", "a9/swd", "a7/swd", "r5/swd", "a53/swd"]
# What self_figures.counts are of, by the board's codes, and by the tool's names
CODES = {"m4": (8, 20), "m55": (8, 6, 7), "a9": (0x68, 6, 7), "a7": (8, 6, 7), "r5": (8, 6, 7), "a53": (8, 6, 7)}
EVENTS = {"m4": "CPICNT,LSUCNT", "m55": "r8,r6,r7", "a9": "r68,r6,r7", "a7": "r8,r6,r7", "r5": "r8,r6,r7", "a53": "r8,r6,r7"}
CYCLES, COUNTS, JUST_RUN = 1, 2, 4  # self_what
ROUNDS = [1, 7, 16]
WORK, NOTHING = 0, 1


class Figures:
    """The firmware's own figures: of WORK and of NOTHING."""

    def __init__(self, board):
        words = [board.read_word(board.symbol("self_figures") + 4 * i) for i in range(9)]
        self.cycles, self.overhead, self.counts = words[:2], words[2], (words[3:6], words[6:])


def settle(board, rounds, what):
    """Until whole rounds of that have been measured."""
    wait_for(lambda: board.read_word("round_count") > 0, "the firmware's first round")
    board.write_word("self_what", what)
    board.write_word("self_rounds", rounds)
    begun = board.read_word("round_count")
    wait_for(lambda: board.read_word("round_count") > begun + 2, "two rounds")


def reports(board):
    wait_for(lambda: board.read_word("round_count") > 0, "the firmware's first round")
    count = board.read_word("self_report_count")
    lines = [board.read(board.symbol("self_reports") + 32 * n, 32) for n in range(count)]
    return judge.by_name((line[:24].rstrip(b"\0").decode(), int.from_bytes(line[24:], "little")) for line in lines)


def truths(board, function, passages_wanted=3):
    """Cycles and counts of passages through a function from its first instruction to where it returns."""
    board.watch(function)
    wait_for(lambda: len(board.log()) >= 4, "calls of it")
    returns = {event.lr & ~1 for event in board.log()}
    board.watch(function, *returns)
    wait_for(lambda: len(board.log()) > 4 * passages_wanted, "passages")
    found, entry = [], None
    for event in board.log():
        if event.pc == board.symbol(function):
            entry = event
        elif entry is not None and event.pc == entry.lr & ~1:
            found.append((event.cycles - entry.cycles,
                          [event.counts[code] - entry.counts[code] for code in CODES.get(board.chip, ())]))
            entry = None
    board.watch()
    assert len(found) >= passages_wanted and all(passage == found[0] for passage in found)
    return found[0]


@pytest.fixture(params=CHIPS)
def board(request):
    with Board.start(request.param, "self") as b:
        yield b


def test_its_figures_are_the_truth_but_for_what_measuring_takes(board):
    of_reading = set()
    for rounds in ROUNDS:
        settle(board, rounds, CYCLES | COUNTS)
        work, nothing = truths(board, "self_work"), truths(board, "self_nothing")
        figures = Figures(board)
        of_reading.add(figures.cycles[NOTHING] - nothing[0])
        assert figures.cycles[WORK] - figures.cycles[NOTHING] == work[0] - nothing[0]
        assert work[0] > 5 * rounds
        for n, code in enumerate(CODES.get(board.chip, ())):
            own = (figures.counts[WORK][n] - figures.counts[NOTHING][n]) % 256
            assert own == (work[1][n] - nothing[1][n]) % 256, hex(code)
    assert len(of_reading) == 1 and of_reading.pop() >= figures.overhead > 0


@pytest.mark.parametrize("way", WAYS)
def test_the_probe_s_cycles_are_the_firmware_s(way):
    """Both at once: the firmware reads its counter on either side of the region that the probe stops at."""
    with Place(way, "self") as place:
        for rounds in ROUNDS:
            settle(place.board, rounds, CYCLES)
            nothing = truths(place.board, "self_nothing")[0]
            # Of a clock that nobody knows a busy machine's pause may be a whole period of SysTick
            result = place.delta("self_work", "-r", 20, "--freq", "12M")
            truth = [p.cycles for p in passages(place.board.log(), place.symbol("self_work"), returned)]
            figures = Figures(place.board)
            assert result.cycles == truth[:20] == [truth[0]] * 20
            assert truth[0] == figures.cycles[WORK] - figures.cycles[NOTHING] + nothing


@pytest.mark.parametrize("way", [way for way in WAYS if way.split("/")[0] in EVENTS])
def test_the_probe_s_counts_are_the_firmware_s(way):
    """One after the other, since there is one monitor for both."""
    with Place(way, "self") as place:
        settle(place.board, 16, CYCLES | COUNTS)
        nothing, figures = truths(place.board, "self_nothing")[1], Figures(place.board)
        settle(place.board, 16, JUST_RUN)
        names = EVENTS[place.chip].split(",")
        place.board.watch(NOWHERE)
        result = place.delta("self_work", "-r", 10, "-e", ",".join(names))
        for hit in result.hits:
            values = [value for name, value in hit["values"].items() if name != "CPU_CYCLES"]
            assert values == [figures.counts[WORK][n] - figures.counts[NOTHING][n] + nothing[n] for n in range(len(names))]


@pytest.mark.parametrize("chip", COUNTERS)
def test_the_operations_of_a_monitor(chip):
    with Board.start(chip, "self") as board:
        seen = reports(board)
    judge.increments(seen, COUNTERS[chip])
    judge.resets(seen, 1)
    judge.stopping(seen, 1)
    judge.flags(seen)
    judge.edges(seen, 1, wraps=3 if chip == "m55" else 1)
    judge.sets(seen, COUNTERS[chip], 1)
    assert seen["set.overhead"] == (2 if chip == "m55" else 1)


@pytest.mark.parametrize("chip", ["rp2040", "m4", "m55"])
def test_systick_with_its_reload(chip):
    with Board.start(chip, "self") as board:
        seen = reports(board)
    assert seen["systick.period"] == seen["systick.kept_period"] == 1000 and seen["systick.taken_over"] == 0
    assert seen["systick.least"] == seen["systick.most"] == seen["systick.moved"], "the same work in any phase"
    assert 20 < seen["systick.most"] < 500 and seen["systick.reloads"] > 20
    slack = 100 + seen["systick.step"] * 10  # what lies between two reads of two clocks, the handler included
    assert seen["systick.worst"] < slack < 1000 and seen["systick.backwards"] == 0
    assert seen["systick.handled"] == 50 * 1000
    assert seen["systick.pending"] < slack and seen["systick.not_counted"] == 0, "a period that nobody counted yet"
    assert seen["systick.idle_taken"] == 1 and seen["systick.longest"] == 1 << 24
    assert seen["systick.stopped"] == 0


def test_dwt():
    with Board.start("m4", "self") as board:
        seen = reports(board)
    assert seen["dwt.exists"] == seen["dwt.profile_exists"] == 1
    assert [total >> 32 for total in seen["dwt.total"]] == [1, 2, 3]
    assert all(total & 0xFFFFFFFF < 10000 for total in seen["dwt.total"])
    assert seen["dwt.stopped"] == 0 and seen["dwt.reset"] == 0
    assert seen["dwt.control"] == [1 << 17 + n | 1 for n in range(5)], "CPI, EXC, SLEEP, LSU, FOLD"
    assert 20 <= seen["dwt.loads"] < 40 and seen["dwt.loads_stopped"] == 0


@pytest.mark.parametrize("mode", ["self", "behind"])
def test_started_before_the_application(mode):
    """The image lies at the chip's reset vector, the application after it; with the latter alone nothing counts at its start."""
    with Board.start("m4", mode) as board:
        seen, top = reports(board), board.symbol("stack_top")
    assert seen["first.trcena"] == seen["first.moving"] == (mode == "behind")
    assert top - 256 < seen["first.stack"] <= top, "the application's own"
    assert seen["systick.handled"] == 50 * 1000, "and its own vector table"

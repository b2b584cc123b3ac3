"""One piece of trouble in each run, at a message between the tool and the other end of its link: whatever is printed is true, the
run ends, and the target is as it was, or the tool says what it left. `make torture` takes 10,000; N=, SEED= and CASE= choose."""
import collections
import dataclasses
import os
import random
import re
import signal
import subprocess
import threading
import time

import pytest

import harness
from board import BoardError
from card import Agent, Card, card_available
from harness import ARTICLE_PLAIN, INTERRUPTED, NOWHERE, RELEASE, SOAK, WAIT, WORK_BY_DATA, at, finish_tool, passages, returned, start_tool, unfolded
from test_written import WRITES
from trouble import PEER, TOOL, Proxy, Strike, agent_message
from troubled_place import TroubledPlace, differences, restores

# About how many messages the tool sends in a `delta -r 3`, and parts of that by command. A case that ends earlier is
# one without trouble.
WAYS = {"m4/swd": 175, "m4/jtag": 175, "rp2040/swd": 240, "rp2350/swd": 175, "m55/swd": 230, "a9/swd": 310, "a53/swd": 410, "r5/swd": 460, "m4/v2": 175,
        "a9/v1": 310, "m4": 85, "rp2040": 80, "rp2350": 85, "m55": 140, "a9": 210, "a53": 240, "r5": 340, "gdb m4": 240, "gdb rp2040": 320, "gdb rp2350": 240,
        "gdb a9": 320, "gdb a53": 320, "gdb r5": 390, "r52/swd": 330, "r52": 240, "a53in32/swd": 330, "r52hyp/swd": 330, "a53el2/swd": 410,
        "msr": 40}
PART = {"info": 0.4, "stat": 0.7, "watch": 0.7, "doctor": 0.7, "survey": 2, "lines": 3, "guard": 2.5, "record, by events": 3}
CASES = int(os.environ.get("TORTURE", 2000 if SOAK else 42))
# In check the same cases each time: that shows a regression. In soak, and in `make torture`, others each time: that finds faults
SEED = os.environ["PMU_SEED"] if SOAK or "TORTURE" in os.environ or "TORTURE_CASE" in os.environ else "11"
CASE = os.environ.get("TORTURE_CASE", "")  # "WAY NUMBER": this one alone
A_ROW = 100  # cases at most
HALT_COST = 23
HITS = 3
PLAIN = ("plain_first", "plain_second")
COMMANDS = {
    "delta": ("-j", "-r", HITS, "--timeout", "2s", "work_by_data"),
    "delta, no calibration": ("-j", "-r", HITS, "--timeout", "2s", "--no-calibrate", *PLAIN),
    "delta of a region": ("-j", "-r", HITS, "--timeout", "2s", *PLAIN),
    "info": ("-j",),
    "stat": ("-j", "--for", "50ms"),
    "watch": ("-j", "--for", "150ms", "-I", "50ms"),
    "doctor": ("-j",),
    "doctor of a location": ("-j", "work_by_data"),
    "survey": ("-j", "--for", "300ms", "work_by_data", PLAIN[0]),
    "lines": ("-j", "-r", 2, "--timeout", "2s", "work_by_data"),
    "guard": ("-j", "-r", 2, "--for", "300ms", "--budget", "1s", "work_by_data"),
    "record": ("--for", "100ms", "-o", "/dev/null"),
    "record, by events": ("--every", 2000, "--for", "200ms", "-o", "/dev/null"),
}
NOT_BY_GDB = ("watch", "lines", "guard", "record, by events")  # refused there
OFTEN = ["delta", "delta", "delta of a region", "delta, no calibration", *COMMANDS]
OF_CARD = {"stat": ("-C", 3, "stat", "-j", "--for", "50ms", "-e", "L2_READ_MISS,DATA_READ"), "info": ("info", "-j")}
# What befalls a message, by how often. A request that arrives twice is carried out twice: no tool can mend that.
OF_BOTH = ["delay"] * 3 + ["cut"] * 4 + ["half", "half", "last", "last", "stall", "stall", "awaited"]
OF_PEER = [*OF_BOTH, "double", "double"]
AWAITED = ("drop", "silence", "swap")  # eight seconds each, until the tool gives up
EVENTS = ["reset", "power", "interrupt", "interrupt", "terminate", "server", "second", "write"]
SLOWER_CLOCK = 100000  # Hz, while the tool waits: a program that runs fast takes a busy CPU
SECONDS = {"delay": (0.02, 0.2), "stall": (0.1, 0.5, 1.5), "power": (0.0, 0.05, 0.3), "unplug": (0.0, 0.1, 0.5), "server": (0.0, 0.2)}
# What the target is like after these is not only the tool's doing
FROM_OUTSIDE = {"reset", "power", "server", "second", "write"}
# What OpenOCD changes once it sees that, later or never; it lets a core go with registers from before a reset
OF_SERVER = {"fp_ctrl", "cti_gate", "altered", "rx_full", "bvr"}
GATE_OF_ITS_RESUME = 1 << 1  # which OpenOCD opens when `restore` asks it to let the core go
ITR_OF_ITS_HALT = 1 << 13  # of DSCR. It stays on if the core is reset while OpenOCD has it halted
OF_EXAMINATION = {"dhcsr", "demcr", "edscr", "os_locked", "cti_control", "cti_outen", "dscr"}
CODES = {"doctor": (0, 3, 5), "doctor of a location": (0, 3, 5)}  # 5: it found something
# What was left must be stated as a fact; advice that is always there helps nobody
TELLS = re.compile(r"Not restored|could not restore [^;]|could not be put back|not put back|is left |be left |stays |was left|left by")
TELLS_OF_HALT = re.compile(r"\bhalted\b")
OTHERS_WRITES = {**WRITES, "m55": WRITES["m4"], "rp2350": WRITES["m4"], "rp2040": {"SYST_CSR": "mww 0xE000E010 0", "SYST_RVR": "mww 0xE000E014 999"}}


@dataclasses.dataclass(frozen=True)
class Case:
    way: str
    number: int
    command: str
    strike: Strike
    event: str
    tool: str
    detail: int  # a random number for what else is to be chosen

    def __str__(self):
        event = f"{self.event}, " if self.event else ""
        return f"{self.way} {self.number}: {self.command}: {event}{self.strike}{' (sanitized)' if self.tool == harness.TOOL else ''}"


def chip_of(way):
    return way.removeprefix("gdb ").partition("/")[0]


def events_of(way):
    """What can befall this way apart from its messages."""
    served = "/" not in way and way != "msr"
    out = set() if served else {"server", "write"}
    if way == "msr":
        out |= {"reset", "power", "second"}
    if chip_of(way) not in OTHERS_WRITES:
        out.add("write")
    return [event for event in EVENTS if event not in out]


def case_of(way, number):
    """Everything about a case follows from the seed, its way and its number."""
    chosen = random.Random(f"{SEED} torture {way} {number}")
    command = chosen.choice(list(OF_CARD) if way == "msr" else OFTEN)
    while way.startswith("gdb ") and command in NOT_BY_GDB:
        command = chosen.choice(OFTEN)
    side, place = chosen.choice([TOOL, PEER]), int(chosen.random() * WAYS[way] * PART.get(command, 1))
    event = kind = ""
    if way.endswith(("/v1", "/v2")):
        kind, place = "unplug", 2 * place
    elif chosen.random() < 0.35:
        event = chosen.choice(events_of(way))
        kind = "cut" if event == "server" else "pass"
    else:
        # Only GDB's packets show when they are damaged: what another link says is believed
        kind = chosen.choice([*(OF_PEER if side == PEER else OF_BOTH), "damage"])
        kind = chosen.choice(AWAITED) if kind == "awaited" else kind
    seconds = chosen.choice(SECONDS.get(event or kind, (0.0,)))
    tool = harness.TOOL if chosen.random() < 0.3 else RELEASE
    return Case(way, number, command, Strike(kind, side, place, seconds), event, tool, chosen.randrange(1 << 30))


def nobody_sees(strike, place):
    """What is damaged has no sum, or one that is not checked: OpenOCD does not check that of GDB's packets without
    acknowledgements. What such a request did nobody can know."""
    return strike.kind == "damage" and (strike.side == TOOL or not place.gdb)


class Troubled:
    """Runs cases of a way, on one board as long as it stays as it was."""

    def __init__(self, way):
        self.way, self.place, self.restores, self.heard = way, None, restores(), ""
        self.found = collections.Counter()

    def start(self):
        self.place = self.fresh()
        self.board, self.before = self.place.board, self.place.snapshot()

    def fresh(self):
        place = TroubledPlace(self.way, scenario=WORK_BY_DATA | ARTICLE_PLAIN, halt_cost=HALT_COST)
        result = place.delta(PMU_PROBE_PATIENCE="20")  # what OpenOCD sets up at its first breakpoint is its own
        place.calm()
        assert result.code == 0, result.err
        return place

    def close(self):
        if self.place:
            self.heard = self.place.server.output[-1500:] if self.place.server else ""
            self.place.close()
            self.place = None

    # --- what happens at the message

    def act(self, case):
        """What the proxy does before it passes the message on; None: nothing."""
        def interrupt(number):
            def signal_it():
                self.started.wait(WAIT)
                self.process.send_signal(number)
            return signal_it

        def power():
            self.board.command(chosen.choice(["power off", "power low"]))
            time.sleep(case.strike.seconds)
            self.board.command("power on")

        def server():
            self.place.kill_server()
            time.sleep(case.strike.seconds)
            self.place.start_server()

        def write():
            self.place.server(chosen.choice(sorted(OTHERS_WRITES[chip_of(self.way)].items()))[1])

        def second():
            words = self.place.words(*chosen.choice([("info",), ("stat", "--for", "20ms")]), tool=case.tool, past_proxy=True)
            self.seconds.append(self.place.start_words(words))

        chosen = random.Random(case.detail)
        if case.strike.kind in AWAITED and self.board:
            return lambda: self.board.set("clock", SLOWER_CLOCK)
        return {"interrupt": interrupt(signal.SIGINT), "terminate": interrupt(signal.SIGTERM), "power": power, "server": server,
                "reset": lambda: self.board.command("reset"), "write": write, "second": second}.get(case.event)

    def run(self, case):
        self.started, self.seconds = threading.Event(), []
        self.board.watch(NOWHERE)
        self.place.tool = case.tool
        words = self.place.words(case.command.partition(" ")[0].rstrip(","), *COMMANDS[case.command])
        if self.place.usb:
            return self.place.unplugged(words, case.strike.at, case.strike.seconds)
        self.place.proxy.plan(dataclasses.replace(case.strike, act=self.act(case)))
        # What does not arrive is given up after the tool's own time, not a busy machine's
        self.process = self.place.start_words(words, PMU_PROBE_PATIENCE="1")
        self.started.set()
        result = finish_tool(self.process)
        for other in self.seconds:
            finish_tool(other)
        return result

    def note(self, case, result, place):
        """For the table."""
        self.found.update({"cases": 1, "struck": place.struck if case.strike.kind == "unplug" else place.proxy.struck,
                           f"exit {result.code}": 1})

    # --- what must hold

    def check_numbers(self, case, result):
        if case.command.startswith("delta") and result.hits:
            end = at(self.board.symbol(PLAIN[1])) if PLAIN[0] in COMMANDS[case.command] else returned
            start = PLAIN[0] if PLAIN[0] in COMMANDS[case.command] else "work_by_data"
            calibrated = not result.summary or columns(result)["CPU_CYCLES"]["calibrated"]
            more = 0 if calibrated and "--no-calibrate" not in COMMANDS[case.command] else HALT_COST
            try:
                log = self.board.log()
            except BoardError:  # OpenOCD let the core go with registers from before the reset: exceptions without end
                assert case.event in ("power", "reset") and self.place.server and result.code == 3, result.err
                return
            truth = [p.cycles + more for p in passages(log, self.board.symbol(start), end)]
            rest = iter(truth)
            for hit in result.hits:
                cycles, least = hit["values"]["CPU_CYCLES"], "CPU_CYCLES" in hit.get("at_least", [])
                assert any(true >= cycles if least else true == cycles for true in rest), f"wrong number: {result.cycles} of {truth}: {result.out}{result.err}"
            whole = result.code == 0 and "ended" not in result.summary
            assert not whole or len(result.hits) == HITS, f"{len(result.hits)} hits: {result.out}"
        elif case.command in ("stat", "watch") and columns(result):
            count = columns(result)["CPU_CYCLES"]["count"]
            assert count <= self.counted(), f"wrong number: {count} of {self.counted()}"
        elif case.command == "doctor of a location" and columns(result):
            column = columns(result)["CPU_CYCLES"]
            right = abs(column["overhead"] - HALT_COST) <= column["plus_minus"] if column["calibrated"] else True
            assert right, f"wrong number: {column}"

    def counted(self):
        """Cycles that the core's counters may have seen in this run."""
        return self.board.state()["counted"] - self.at_start

    def as_reference(self, event):
        """What the target is like when that happened without us."""
        with self.fresh() as other:
            if event == "reset":
                other.board.command("reset")
            elif event == "power":
                other.board.command("power off")
                other.board.command("power on")
            elif event == "server":
                other.kill_server()
                other.start_server()
            time.sleep(0.5 if other.server else 0.05)  # OpenOCD checks ten times a second, and has its own way to take it
            return other.snapshot()

    def check_target(self, case, result):
        if self.place.proxy:
            self.place.proxy.plan(None)
        if case.strike.kind in AWAITED:
            self.board.set("clock", harness.SLOW_CLOCK)
        self.place.calm()
        left = differences(self.before, self.place.snapshot())
        if not left:
            return
        also = self.as_reference(case.event) if case.event in ("reset", "power", "server") else {}
        foreign = OF_SERVER if also and self.place.server else set()
        if case.event == "reset" and "reset" in result.err:
            foreign = foreign | {"altered"}  # R0 is unknown after a reset
        if case.event == "power" and self.place.server:
            foreign = foreign | OF_EXAMINATION  # if an access of ours fails before it polls, it does not examine the core anew

        if case.event == "power" and "left alone: DWT_CTRL" in result.err:
            foreign = foreign | {"dwt_ctrl"}  # it was read as 0 while the chip had no power: its bits may be anyone.s

        def not_as_before():
            now = self.place.snapshot()
            if case.event == "reset" and self.place.gdb and "dscr" in now:
                now["dscr"] &= ~ITR_OF_ITS_HALT
            return [name for name in differences(self.before, now) if name not in foreign and (name not in also or now[name] != also[name])]

        left, end = not_as_before(), time.monotonic() + 5
        # OpenOCD polls less and less often a lost target, and a busy machine takes its time for its last command
        while left and self.place.server and time.monotonic() < end:
            time.sleep(0.1)
            left = not_as_before()
        said = unfolded(result.err)
        told = TELLS.search(said)
        try:
            if case.event == "write" or nobody_sees(case.strike, self.place):
                return  # what others write is theirs
            assert told or not left, f"left without a word: {left}: {said}"
            assert "run" not in left or TELLS_OF_HALT.search(said), f"left halted without a word: {left}: {said}"
            if "reset it once more" in said:  # the program's registers are gone, and the way out is named
                assert self.place.boots(), "the reset that was asked for does not help"
                return
            if left and self.restores:
                done = self.place.run("restore", PMU_PROBE_PATIENCE="20")  # a program that takes exceptions without end slows the board
                self.place.calm()
                resumed = self.place.server and "let go" in done.out + done.err
                if resumed and self.place.snapshot().get("cti_gate") == self.before.get("cti_gate", 0) | GATE_OF_ITS_RESUME:
                    foreign = foreign | {"cti_gate"}
                left = not_as_before()
                assert done.code == 0 and not left, f"not restored: {left}: {done.out}{done.err}, after: {said}"
        finally:
            self.close()

    def one(self, case):
        """None, or what was wrong."""
        try:
            if self.place is None:
                self.start()
            self.at_start = self.board.state()["counted"]
            result = self.run(case)
            self.note(case, result, self.place)
            expected = *CODES.get(case.command, (0, 3)), *([INTERRUPTED] if case.event in ("interrupt", "terminate") else [])
            if case.strike.kind == "double" and "the clock is wrong" in result.out:
                expected = *expected, 5  # answers were those of the read before: a counter seems to be stopped, or slow
            assert result.code in expected, f"exit {result.code}: {result.err}{result.out}"
            said = result.err or case.command.startswith("doctor") or result.code == INTERRUPTED and '"ended":"Ctrl-C"' in result.out
            assert result.code == 0 or said, "no word about why"
            if not nobody_sees(case.strike, self.place):
                self.check_numbers(case, result)
            self.check_target(case, result)
            if case.event in FROM_OUTSIDE:
                self.close()
        except (AssertionError, RuntimeError, OSError, subprocess.TimeoutExpired) as why:  # RuntimeError, OSError: OpenOCD is gone
            self.close()
            return f"{case}\n    {str(why)[:1500]}\n{self.heard}"
        return None


class TroubledCard(Troubled):
    """The modelled card with its agent."""

    def start(self):
        self.place = self.card = Card(4)
        self.agent = Agent(self.card)
        self.proxy = Proxy(self.agent.port, agent_message)
        self.before = self.card.registers()
        self.board = None

    def close(self):
        if self.place:
            self.proxy.close()
            self.agent.close()
            self.card.close()
            self.place = None

    def one(self, case):
        try:
            if self.place is None:
                self.start()
            self.card.forget()
            self.started, self.seconds = threading.Event(), []
            self.proxy.plan(dataclasses.replace(case.strike, act=self.act(case)))
            words = [case.tool, "-p", f"msr-agent:127.0.0.1:{self.proxy.port}", *map(str, OF_CARD[case.command])]
            self.process = start_tool(words, environment={"PMU_PROBE_PATIENCE": "1"}.items())
            self.started.set()
            result = finish_tool(self.process)
            self.note(case, result, self)
            self.proxy.plan(None)
            assert result.code in (0, 3), f"exit {result.code}: {result.err}"
            assert result.code == 0 or result.err, "no word about why"
            if case.strike.kind == "damage":
                self.close()
                return None
            if case.command == "stat" and columns(result):
                truth = {count[0] for count in self.card.counted().values()}
                counts = {column["count"] for column in columns(result).values()}
                assert counts <= truth, f"wrong number: {counts} of {truth}"
            self.proxy.quiet()
            self.agent.connect().close()  # it serves one at a time, and puts back what the last one left
            left = [key for key, value in self.card.registers().items() if self.before[key] != value]
            assert not left, f"left on the card: {left}: {result.err}"
        except (AssertionError, RuntimeError, OSError, subprocess.TimeoutExpired) as why:  # RuntimeError, OSError: OpenOCD is gone
            self.close()
            return f"{case}\n    {str(why)[:1500]}"
        return None


def columns(result):
    """Of the summary, if there was time for one."""
    return (result.summary or {}).get("columns")


def share_of(way):
    """How many cases a way has next to others. Through OpenOCD one takes two to ten times as long as through a probe, and through a GDB
    server as much again."""
    if "/" in way or way == "msr":
        return 24
    slow = chip_of(way) in ("a9", "a53", "r5", "r52", "a53in32")
    return (1 if way.startswith("gdb ") else 2) if slow else 4


def rows():
    if CASE:
        way, _, number = CASE.rpartition(" ")
        return [(way, int(number), int(number) + 1)]
    whole = 0 if SOAK or "TORTURE" in os.environ else sum(map(share_of, WAYS))  # many cases: the same number each
    cases = {way: -(-CASES * share_of(way) // whole) if whole else -(-CASES // len(WAYS)) for way in WAYS}
    return [(way, begin, min(begin + A_ROW, cases[way])) for begin in range(0, max(cases.values()), A_ROW) for way in WAYS if begin < cases[way]]


@pytest.mark.nobody_answers
@pytest.mark.parametrize("link, begin, end", rows())
def test_trouble(link, begin, end, record_property):
    if link == "msr" and card_available() is not None:
        pytest.skip(card_available())
    troubled, failed = (TroubledCard if link == "msr" else Troubled)(link), []
    try:
        for number in range(begin, end):
            wrong = troubled.one(case_of(link, number))
            if wrong:
                again = f"make torture SEED={SEED} CASE='{link} {number}'"
                failed.append(f"{wrong}\n    again: {again}")
    finally:
        troubled.close()
    found = dict(troubled.found)
    record_property("table", f"{link:12} {found}")
    assert found.get("struck", 0) > 0 or end - begin < 10, found
    assert not failed, f"{len(failed)} of {end - begin} cases:\n" + "\n".join(failed)

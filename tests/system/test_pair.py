"""Two links at once: run control by one, counters by another. A real gdbserver has a real program of this machine,
which itself moves the time of the modelled card at known points; the agent shows the card's counters. So every hit is
known beforehand, and what happens on the card is worked out anew, cycle by cycle."""
import functools
import os
import re
import signal
import subprocess

import pytest

from card import ANY, CTRL, EN, HZ, OS, SEL0, TSC, USR, Agent, Card, card_available, expected
from gdb_place import GdbPlace
from harness import INTERRUPTED, BUILD, TOOL, WORK_BY_DATA, Place, finish_tool, run_tool, start_tool, wait_for

pytestmark = [pytest.mark.skipif(card_available() is not None, reason=str(card_available())), pytest.mark.any_fifth]
PROGRAM = os.path.join(BUILD, "clients", "pair-program")
CPU = max(os.sched_getaffinity(0))
CPUS = (CPU // 4 + 1) * 4
OTHER = CPU - 1 if CPU > 0 else CPU + 1
BOTH = USR | OS
EVENTS = {"CPU_CLK_UNHALTED:u": 0x2A | USR, "INSTRUCTIONS_EXECUTED": 0x16 | BOTH, "L2_READ_MISS": 0x10CB | BOTH,
          "DATA_READ:any": 0x00 | BOTH | ANY, "DATA_WRITE:cmask=2": 0x01 | BOTH | 2 << 24}


def before(number):
    return 1000 + number * 37 % 101


def inside(number):
    return 100 + number * 61 % 257


def rounds(count):
    """Of each round of the program: the cycles at which work begins and ends, nested ends, to_there is reached."""
    cycle = 0
    for number in range(count):
        begin = cycle + before(number)
        end = begin + inside(number)
        cycle = end + 60 + number % 8 + 1
        yield begin, end, end + 60, cycle


@functools.cache
def debug_registers_stop():
    """Some virtual machines take what is written to the processor's debug registers, and then nothing stops."""
    script = ["break main", f"run {os.devnull}", "hbreak work", "break to_there", "continue", "bt 1"]
    words = [word for command in script for word in ("-ex", command)]
    result = subprocess.run(["gdb-multiarch", "-q", "-nx", "-batch", *words, PROGRAM], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)
    return "#0  work" in result.stdout


class Debugged:
    """The program under gdbserver, kept on one CPU, with a card whose agent shows that CPU's counters."""

    def __init__(self, mode="", hz=0, program=PROGRAM, attach=False):
        if not debug_registers_stop():
            pytest.skip("this machine's debug registers stop no program")
        self.card = Card(CPUS, hz=hz)
        self.agent = Agent(self.card)
        self.elf, self.runs, self.counters = program, None, self.agent.probe
        words = [program, os.path.join(self.card.root, "control"), *mode.split()]
        if attach:
            self.runs = self.launch(words)
            cycle = self.card.read(CPU, TSC)
            wait_for(lambda: self.card.read(CPU, TSC) != cycle, "the program to run")
            words = ["--attach", "localhost:0", str(self.runs.pid)]
        else:
            words = ["localhost:0", *words]
        self.server = self.launch(["gdbserver", "--once", *words], stderr=subprocess.PIPE, text=True)
        self.pid = int(re.search(r"pid = (\d+)", self.server.stderr.readline())[1])
        self.probe = "gdb:localhost:" + re.search(r"port (\d+)", self.server.stderr.readline())[1]

    @staticmethod
    def launch(words, **kwargs):
        return subprocess.Popen(words, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
                                preexec_fn=lambda: os.sched_setaffinity(0, {CPU}), **kwargs)

    def words(self, *args):
        return [TOOL, "--probe", self.probe, "--counters", self.counters, "--elf", self.elf, *map(str, args)]

    def run(self, *args):
        return finish_tool(start_tool(self.words(*args)))

    def delta(self, *args):
        result = self.run("delta", "-j", *args)
        assert result.code == 0, result.err
        return result

    def expected(self, select, begin, end):
        siblings = [cpu for cpu in range(CPUS) if self.card.core_of(cpu) == self.card.core_of(CPU)]
        return expected(CPU, siblings, select, begin, end)

    def goes_on(self):
        """The program runs, and nobody traces it."""
        with open(f"/proc/{self.pid}/status", encoding="ascii") as status:
            text = status.read()
        cycle = self.card.read(CPU, TSC)
        wait_for(lambda: self.card.read(CPU, TSC) != cycle, "the program to go on")
        return "TracerPid:\t0" in text

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            os.kill(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.server.kill()
        self.server.wait()
        self.server.stderr.close()
        if self.runs is not None:
            self.runs.wait()
        self.agent.close()
        self.card.close()


def values(result, name):
    return [hit["values"][name] for hit in result.hits if name in hit["values"]]


@pytest.mark.parametrize("event", EVENTS)
def test_every_hit_of_a_function(event):
    with Debugged() as place:
        held = place.card.registers()
        result = place.delta("work", "-r", 20, "-e", event)
        wanted = [place.expected(EVENTS[event], begin, end) for begin, end, *_ in rounds(20)]
        assert values(result, event) == wanted and len(set(wanted)) > 4
        assert f"counters of Knights Corner CPU {CPU}" in result.header["core"]
        assert "gdb localhost" in result.header["link"] and "msr-agent" in result.header["link"]
        assert result.summary["uncalibrated"] and place.goes_on()
        assert place.card.registers() == held


def test_cycles_of_the_program_without_a_wish():
    with Debugged() as place:
        result = place.delta("work", "-r", 5)
        select = EVENTS["CPU_CLK_UNHALTED:u"]
        assert values(result, "CPU_CLK_UNHALTED:u") == [place.expected(select, *cycles[:2]) for cycles in rounds(5)]


@pytest.mark.parametrize("which", ["msr", f"msr:{CPU}"])
def test_counters_of_the_same_machine(which):
    """As its msr driver shows them, without an agent."""
    with Debugged() as place:
        place.counters = f"{which}@{place.card.root}"
        result = place.delta("work", "-r", 5, "-e", "INSTRUCTIONS_EXECUTED")
        select = EVENTS["INSTRUCTIONS_EXECUTED"]
        assert values(result, "INSTRUCTIONS_EXECUTED") == [place.expected(select, *cycles[:2]) for cycles in rounds(5)]


def test_passes_over_two_counters():
    """The TSC, which is a column like others here, shows the cycles themselves."""
    with Debugged() as place:
        result = place.delta("work", "-r", 8, "-e", "TSC,INSTRUCTIONS_EXECUTED,DATA_READ:any,L2_READ_MISS")
        hits, cycles = result.hits, list(rounds(len(result.hits)))
        assert len({tuple(hit["values"]) for hit in hits}) == 2 and len(hits) == 16
        for hit, (begin, end, *_) in zip(hits, cycles):
            for name, value in hit["values"].items():
                assert value == (end - begin if name == "TSC" else place.expected(EVENTS[name], begin, end)), hit


def test_a_function_that_calls_itself():
    with Debugged() as place:
        result = place.delta("nested", "-r", 6, "-e", "TSC,INSTRUCTIONS_EXECUTED")
        assert values(result, "TSC") == [60] * 6
        assert values(result, "INSTRUCTIONS_EXECUTED") == [place.expected(EVENTS["INSTRUCTIONS_EXECUTED"], end, nested)
                                                           for _, end, nested, _ in rounds(6)]


@pytest.mark.parametrize("mode", ["", "threads", "signals"])
def test_from_one_place_to_another(mode):
    """Also while another thread passes the end, and while signals arrive every other millisecond."""
    with Debugged(mode) as place:
        result = place.delta("from_here", "to_there", "-r", 40, "-e", "TSC,INSTRUCTIONS_EXECUTED")
        assert values(result, "TSC") == [number % 8 + 1 for number in range(40)]
        assert values(result, "INSTRUCTIONS_EXECUTED") == [place.expected(EVENTS["INSTRUCTIONS_EXECUTED"], nested, there)
                                                           for *_, nested, there in rounds(40)]
        assert place.goes_on()


def test_a_program_that_runs_already():
    with Debugged(attach=True) as place:
        result = place.delta("from_here", "to_there", "-r", 16, "-e", "TSC")
        hits = values(result, "TSC")
        assert [value % 8 + 1 for value in hits[:-1]] == hits[1:]
        assert place.goes_on()


def test_a_round():
    with Debugged() as place:
        result = place.delta("to_there", "to_there", "-r", 10, "-e", "TSC")
        reached = [there for *_, there in rounds(11)]
        assert values(result, "TSC") == [later - there for there, later in zip(reached, reached[1:])]


def test_registers_at_the_longest_hit():
    with Debugged() as place:
        result = place.delta("work", "-r", 12, "-e", "TSC", "--show", "sp,spoiled")
        longest = max(range(12), key=inside)
        at_max = result.summary["at_max"]
        assert at_max["hit"] == longest + 1 and at_max["spoiled"] == 2 * longest and at_max["sp"] > 1 << 32


@pytest.mark.waits
def test_the_program_ends():
    with Debugged("short") as place:
        held = place.card.registers()
        result = place.run("delta", "work", "-r", 9, "-e", "TSC", "-j")
        assert result.code == 3 and "the program has ended" in result.err and "able" not in result.err
        assert values(result, "TSC") == [inside(number) for number in range(3)]
        assert place.card.registers() == held


def test_another_cpu_than_the_programs():
    with Debugged() as place:
        result = place.run("delta", "work", "-C", OTHER, "-r", 3)
        assert result.code == 3 and f"the program was on CPU {CPU}, and CPU {OTHER} is counted" in result.err
        assert place.goes_on()


def test_a_cpu_that_is_not_there():
    with Debugged() as place:
        result = place.run("delta", "work", "-C", 99)
        assert result.code == 3 and "--counters shows no CPU 99" in result.err


@pytest.mark.parametrize("event", ["TSC", "INSTRUCTIONS_EXECUTED"])
def test_what_goes_on_while_the_program_stands(event):
    """On a card whose time goes by itself nothing that it counts is the program's. Reported before it
    is let run."""
    with Debugged(hz=HZ) as place:
        held = place.card.registers([CPU])
        result = place.run("delta", "to_there", "to_there", "-r", 3, "-e", event)
        assert result.code == 3 and f"{event} goes on while the core is halted" in result.err and ":u" in result.err
        now = place.card.registers([CPU])
        assert now[CPU, SEL0] == held[CPU, SEL0] and now[CPU, CTRL] == held[CPU, CTRL]


def test_counters_that_go_away():
    with Debugged() as place:
        process = start_tool(place.words("delta", "work", "-r", 1000000, "-e", "TSC"))
        wait_for(lambda: len(place.card.looks()) > CPUS + 40, "some hits")
        place.agent.process.kill()
        result = finish_tool(process)
        assert result.code == 3 and "agent" in result.err, result.err
        assert place.goes_on()


def test_interrupted():
    with Debugged() as place:
        held = place.card.registers()
        process = start_tool(place.words("delta", "work", "-r", 1000000, "-e", "INSTRUCTIONS_EXECUTED"))
        wait_for(lambda: len(place.card.looks()) > CPUS + 40, "some hits")
        result = finish_tool(process, signal.SIGINT)
        assert result.code == INTERRUPTED and "Ctrl-C" in result.out, result.err
        assert place.goes_on() and place.card.registers() == held


def test_a_program_that_may_be_anywhere_is_refused():
    with Debugged(program=PROGRAM + "-pie") as place:
        result = place.run("delta", "work")
        assert result.code == 2 and "-no-pie" in result.err


def test_info_list_and_doctor_show_both():
    with Debugged() as place:
        info = place.run("info")
        assert info.code == 0 and "x86-64" in info.out and f"CPU 0 to CPU {CPUS - 1}" in info.out
    with Debugged() as place:
        listed = run_tool("--probe", place.probe, "--counters", place.counters, "list", "L2_READ_MISS")
        assert listed.code == 0 and "L2_READ_MISS" in listed.out
    with Debugged() as place:
        doctor = place.run("doctor")
        assert doctor.code == 0 and re.search(r"counter +ok +TSC", doctor.out), doctor.out + doctor.err


def test_what_makes_no_pair():
    with Debugged() as place:
        for words, code, text in (
                (["--counters", place.agent.probe, "--probe", place.probe, "stat", "--for", "1s"], 2, "--counters is not for stat, which takes the counters of --probe"),
                (["--counters", "openocd", "--probe", place.probe, "delta", "*0x401000", "*0x401004"], 2, "neither msr"),
                (["--counters", place.agent.probe, "delta", "*0x401000", "*0x401004"], 2, "another link for run control"),
                (["--counters", place.agent.probe, "--probe", place.agent.probe, "delta", "*0x401000", "*0x401004"], 2, "another link for run control"),
                (["--probe", place.agent.probe, "delta", "*0x401000", "*0x401004"], 2, "--counters for the MSRs"),
                (["--probe", place.probe, "--elf", PROGRAM, "delta", "work"], 3, "--counters names them")):
            result = run_tool(*words)
            assert result.code == code and text in result.err, (words, result.err)


def check_against_looks(result, card, name, cpu, select):
    """Each hit is what happened between two reads, one after the other."""
    happened = [truth for at, _, chosen, _, truth in card.looks() if at == cpu and chosen == select | EN]
    between = [later - earlier for earlier, later in zip(happened, happened[1:])]
    at = 0
    for value in values(result, name):
        at = between.index(value, at) + 1
    assert len(set(values(result, name))) > 1


@pytest.mark.parametrize("way", ["m4", "m4/swd", "a9"])
def test_any_pair(way):
    """A core through OpenOCD or a CMSIS-DAP probe, its counters on a card whose time goes by itself."""
    with Card(8) as card, Agent(card) as agent, Place(way, "free", WORK_BY_DATA) as place:
        held = card.registers([5])
        result = place.delta("work_by_data", "-r", 10, "--no-calibrate", "--counters", agent.probe, "-C", 5, "-e",
                             "INSTRUCTIONS_EXECUTED")
        assert len(result.hits) == 10
        check_against_looks(result, card, "INSTRUCTIONS_EXECUTED", 5, EVENTS["INSTRUCTIONS_EXECUTED"])
        now = card.registers([5])
        assert now[5, SEL0] == held[5, SEL0] and now[5, CTRL] == held[5, CTRL]
        unsaid = place.run("delta", "work_by_data", "--counters", agent.probe)
        assert unsaid.code == 2 and "-C N" in unsaid.err, unsaid.err


def test_any_pair_behind_a_gdb_server():
    with Card(4, hz=0) as card, Agent(card) as agent, GdbPlace("m4", "free", WORK_BY_DATA) as place:
        result = place.delta("work_by_data", "-r", 2, "--counters", agent.probe, "-C", 1, "-e", "INSTRUCTIONS_EXECUTED")
        assert values(result, "INSTRUCTIONS_EXECUTED") == [0, 0]  # nothing moves this card


def test_no_stack_is_found_on_this_machine():
    with Debugged() as place:
        result = place.run("delta", "work", "-r", 5, "--outliers", 2)
        assert result.code == 2 and "finds stacks on Arm cores alone, not on x86-64" in result.err, result.err
        assert result.out == "" and place.goes_on()


@pytest.mark.soak
def test_a_wait_for_a_hit_is_longer_than_an_idle_client_gets():
    """The tool lets the agent hear something meanwhile."""
    with Debugged() as place:
        result = place.run("delta", "other_thread", "-e", "INSTRUCTIONS_EXECUTED", "--timeout", "40s")
        assert result.code == 3 and "not reached" in result.err, result.err


def test_a_function_of_code_that_is_not_read_is_doubted():
    """Whether longjmp leaves a call is not seen there."""
    with Debugged() as place:
        assert "is not read" in place.delta("work", "-r", 3, "-e", "TSC").summary["doubt"]

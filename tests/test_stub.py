"""The target stub on QEMU's Cortex-A15, A7 and A53: a bare-metal program (tests/stub) uses it in privileged and in user mode
and prints what it saw; here is what that has to be. An instruction takes 1024 cycles there, so that counters wrap soon."""
import functools
import os
import subprocess

import pytest

import stub_judges as judge
from board import WAIT

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.join(ROOT, os.environ.get("PMU_BUILD", "build"), "stub")
CORES = {"cortex-a15": 6, "cortex-a7": 4, "cortex-a53": 6}  # event counters
V8 = ["cortex-a53"]
INSTRUCTION = 1 << 10  # cycles
CYCLES, USER_EN, E, D, LC = 1 << 31, 1, 1 << 32, 8 << 32, 0x40 << 32  # of what pmu_state() returns
STATE = CYCLES | USER_EN | E | D | LC
IMAGE_AT = 0x44000004


def symbol(core, name):
    out = subprocess.run(["nm", f"{BUILD}/{core}/measures.elf"], check=True, text=True, stdout=subprocess.PIPE).stdout
    return next(int(line.split()[0], 16) for line in out.splitlines() if line.split()[-1] == name)


def run(core, machine, *devices):
    """What the program printed."""
    words = ["qemu-system-aarch64" if core in V8 else "qemu-system-arm", "-M", "virt,gic-version=2" + machine, "-cpu", core,
             "-icount", "shift=10", "-display", "none", "-nic", "none", "-monitor", "none", "-serial", "stdio",
             "-semihosting-config", "enable=on,target=native"]
    for device in devices:
        words += ["-device", "loader," + device]
    done = subprocess.run(words, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=WAIT)
    assert done.returncode == 0 and not done.stderr, done.stderr + done.stdout[-2000:]
    lines = [line.split() for line in done.stdout.splitlines()]
    return judge.by_name((name, int(value, 16)) for name, value in lines)


@functools.lru_cache(maxsize=None)
def direct(core):
    return run(core, "", f"file={BUILD}/{core}/measures.elf,cpu-num=0")


def through_image(core, machine="", start="spoiled_start"):
    return run(core, machine, f"file={BUILD}/{core}/measures.elf",
               f"file={BUILD}/{core}/through.bin,addr={IMAGE_AT:#x},force-raw=on",
               f"addr={symbol(core, start):#x},cpu-num=0")


@pytest.fixture(params=CORES)
def core(request):
    return request.param


@pytest.fixture
def seen(core):
    return direct(core)


def test_user_mode_reads_cycles_while_it_is_let(seen):
    for closed in ("first", "before", "closed", "disabled"):
        assert (seen[f"{closed}.trapped"], seen[f"{closed}.cycles"]) == (1, 0), closed
    assert seen["opened.trapped"] == 0
    assert 1000 * INSTRUCTION < seen["opened.cycles"] < 10000 * INSTRUCTION
    assert (seen["enabled.trapped"], seen["enabled.cycles"]) == (0, 0), "nothing counts, but it may be read"
    assert seen["user.increments"] == 77 and not seen["user.increments.trapped"], "events too, by user mode alone"
    assert seen["itself.trapped"] and not seen["itself.is"] & USER_EN, "it cannot let itself in"


def test_open_says_what_was_and_close_puts_it_back(core, seen):
    assert seen["open.was"] & STATE == 0
    assert seen["open.is"] & STATE == CYCLES | USER_EN | E | (LC if core in V8 else 0)
    assert seen["close.is"] == seen["open.was"]
    assert seen["guest.was"] & STATE == E | D
    assert seen["guest.is"] & STATE == CYCLES | USER_EN | E | D, "who uses it keeps his set-up"
    assert seen["guest.after"] == seen["guest.was"]
    assert seen["idle.is"] & STATE == seen["open.is"] & STATE, "who does not has none"


@pytest.mark.parametrize("v8", V8)
def test_user_mode_may_be_let_read_only(v8):
    seen = direct(v8)
    assert seen["reading.trapped"] == 0 and seen["reading.cycles"] > 1000 * INSTRUCTION
    assert seen["reading.sets_up.trapped"] == 1


def test_increments_are_counted_exactly(core, seen):
    judge.increments(seen, CORES[core])


def test_resets_take_what_they_are_for_alone(seen):
    judge.resets(seen, INSTRUCTION)


def test_a_disabled_counter_stops_and_its_neighbour_does_not(seen):
    judge.stopping(seen, INSTRUCTION)


def test_overflow_raises_its_own_flag_until_that_is_cleared(seen):
    judge.flags(seen)
    assert seen["no.interrupts"] == 0, "none was asked for"


def test_the_handler_widens_across_three_wraps(seen):
    assert seen["wraps.handled"] == 1 << 3 and seen["wraps.interrupts"] == 3
    assert seen["wraps.total"] == 3 << 32 | 16 and seen["wraps.flags"] == 0
    assert seen["pending.interrupts"] == 3 and seen["pending.total"] == 4 << 32, "a wrap not yet handled is in the total"
    assert seen["pending.taken"] == 4 and seen["pending.total_after"] == 4 << 32
    assert seen["off.taken"] == 4


def test_totals_of_cycles_follow_the_machine_s_clock(core, seen):
    slack = 1000 * INSTRUCTION  # what it executes between two readings, the handler included
    assert seen["cycles.worst_counter"] < slack and seen["cycles.worst"] < slack
    assert seen["cycles.backwards"] == 0 and seen["cycles.after_stop"] == 0
    assert seen["cycles.wraps_counter"] == 3 and seen["cycles.interrupts"] >= 3
    assert seen["cycles.wraps"] == (0 if core in V8 else 3), "of 64 bits there is nothing to widen"


def test_totals_are_right_wherever_a_wrap_falls(seen):
    judge.edges(seen, INSTRUCTION, wraps=1)


def test_every_64th_cycle(seen):
    slack = 100 * INSTRUCTION
    assert seen["by_1.ticks"] * 16 > 100000 * INSTRUCTION
    assert abs(seen["by_1.cycles"] - seen["by_1.ticks"] * 16) < slack
    assert abs(seen["by_64.cycles"] * 64 - seen["by_64.ticks"] * 16) < slack


def test_a_set_of_events(core, seen):
    judge.sets(seen, CORES[core], INSTRUCTION)
    assert seen["set.state"] & STATE == CYCLES | E | (LC if core in V8 else 0), "every cycle"
    assert seen["set.overhead"] == INSTRUCTION, "nothing stands between two readings"


@pytest.mark.parametrize("core, machine", [("cortex-a15", ""), ("cortex-a7", ""), ("cortex-a53", ""),
                                           ("cortex-a53", ",virtualization=on,secure=on")])
def test_started_before_the_application(core, machine):
    """The image opens the way; the application, entered after it, has enabled nothing. From EL3 it opens EL2 and EL3 too."""
    seen = through_image(core, machine)
    assert seen["registers_changed"] == 0
    assert seen["first.trapped"] == 0 and seen["first.cycles"] > 1000 * INSTRUCTION
    assert seen["before.trapped"] == 1, "what the application takes back is gone"
    assert seen["counters"] == CORES[core]


@pytest.mark.parametrize("core", CORES)
def test_started_before_the_application_it_leaves_a_running_monitor_divided(core):
    seen = through_image(core, start="spoiled_guest")
    assert seen["registers_changed"] == 0 and seen["first.trapped"] == 0
    assert 1000 * INSTRUCTION < 64 * seen["first.cycles"] < 10000 * INSTRUCTION

"""`pmu-probe stub`: by registers where a debugger reaches them, through the halted core where not. The firmware shows all its
registers in RAM over and over, so that RAM does not change as long as both are as they were."""
import pytest

import harness
from harness import NOWHERE, RELEASE, Place, wait_for
from own_program import START, own_place

pytestmark = [pytest.mark.each_value, pytest.mark.any_fifth]  # a row takes seconds

CYCLES, EN, E, LC, NSH = 1 << 31, 1, 1, 0x40, 1 << 27
MONITOR = ["pmuserenr", "pmcntenset", "pmcr"]
# What the program and the counters do, and what reading does
MOVING = {"pc", "sp", "lr", "cpsr", "cycles", "counted", "instructions", "halts", "moe", "pmccntr", "sticky", "accesses",
          "csw", "tar", "csw0", "tar0", "csw1", "tar1", "run",
          "altered", "borrowed"}
SETTLING = 10000  # cycles: more than a round of the loop
WAYS = ["a9/swd", "a9/jtag", "a9/v2", "a9", "a7/swd", "r5/swd", "r5/jtag", "r5/v2", "r5", "a53/swd", "a53/jtag", "a53/v2", "a53",
        "r52/swd", "r52", "r52hyp/swd", "r52hyp"]


class Parked(Place):
    def __init__(self, way, mode="parked", **options):
        super().__init__(way, mode, **options)
        wait_for(lambda: self.board.read_word("round_count") == 1, "the firmware's loop")
        self.board.run_for(SETTLING)

    def all_but_the_monitor(self):
        """Registers of the core, RAM, debug registers and locks."""
        state = self.board.state()
        if state["run"] == "running":
            self.board.run_for(SETTLING)
            state = self.board.state()
        return {name: state[name] for name in state if name not in MOVING and name not in MONITOR}

    def monitor(self):
        state = self.board.state()
        return [state[name] for name in MONITOR]

    def stub(self, *words, code=0):
        result = self.run("stub", *words)
        assert result.code == code, result.err + result.out
        return result

    def on(self, control):
        return [EN, CYCLES, control | E | (LC if self.chip == "a53" else 0)]


def lines(result):
    """What it printed, by the first words of each line."""
    rows = [line.strip().split("  ", 1) for line in result.out.splitlines() if line.startswith("  ")]
    return {name: value.strip() for name, value in rows}


@pytest.mark.parametrize("way", WAYS)
def test_enable_and_disable(way):
    with Parked(way) as place:
        place.run("info")  # what an examination does to sticky bits is done
        kept, (user, enabled, control) = place.all_but_the_monitor(), place.monitor()
        assert user == enabled == control & E == 0
        said = lines(place.stub("status"))
        assert said["user mode"] == "access to counters denied" and said["cycle counter"] == "off"
        assert place.monitor() == [user, enabled, control]
        said = lines(place.stub("enable"))
        assert said["user mode"] == "access to counters allowed (was: denied)"
        assert said["cycle counter"] == "on (was: off)"
        assert said["written"] == ("by the halted core" if place.chip in ("r5", "a53", "r52") else "by the probe")
        assert place.monitor() == place.on(control)
        filters = {"pmccfiltr": NSH} if way.startswith("r52hyp") else {}
        assert place.all_but_the_monitor() == kept | filters
        said = lines(place.stub("status"))
        assert said["user mode"] == "access to counters allowed" and said["cycle counter"] == "on"
        assert f"PMUSERENR 0x{EN:08X}" in said["registers"] and f"PMCNTENSET 0x{CYCLES:08X}" in said["registers"]
        counted = place.board.state()["pmccntr"]
        place.board.run_for(SETTLING)
        assert place.board.state()["pmccntr"] - counted >= SETTLING
        place.stub("disable")
        assert place.monitor() == [user, enabled, control]
        assert place.all_but_the_monitor() == kept and place.board.state()["run"] == "running"


@pytest.mark.parametrize("chip", ["a9", "r5", "a53"])
def test_user_mode_reads_the_counter_meanwhile(chip):
    with Place(f"{chip}/swd", "reads") as place:
        def refused():
            before = place.board.read_word("undefined_count")
            place.board.run_for(20 * SETTLING)
            return place.board.read_word("undefined_count") - before

        wait_for(lambda: place.board.read_word("undefined_count") > 10, "the program's first tries")
        result = place.run("stub", "enable")
        assert result.code == 0, result.err
        first = place.board.read_word("parked")
        assert refused() == 0 and place.board.read_word("parked") != first
        result = place.run("stub", "disable")
        assert result.code == 0, result.err
        assert refused() > 10


@pytest.mark.parametrize("way", ["a9", "a53", "r5", "r52"])
def test_a_halted_core_is_left_halted(way):
    with Parked(way) as place:
        place.server(f"targets {way}.cpu0")
        place.halt()
        place.board.wait_for(lambda state: state["run"] == "halted")
        kept, registers = place.all_but_the_monitor(), place.board.state()
        for word in ("enable", "disable"):
            place.stub(word)
            now = place.board.state()
            assert now["run"] == "halted" and place.all_but_the_monitor() == kept
            # Where an Armv8 core goes on from is in DLR_EL0, which shows once it does
            assert all(now[name] == registers[name] for name in ("sp", "lr") + (("pc", "cpsr") if way not in ("a53", "r52") else ()))
        assert place.server(f"{way}.cpu0 curstate") == "halted"
        assert int(place.server(f"{way}.cpu0 get_reg pc").split()[-1], 0) == registers["pc"]
        place.board.watch(NOWHERE)
        place.server("resume")
        place.board.run_for(SETTLING)
        resumed = next(event for event in place.board.log() if event.kind == "run")
        assert resumed.pc == registers["pc"]
        assert place.board.state()["ram_hash"] == kept["ram_hash"], "general registers too"


@pytest.mark.nobody_answers
def test_never_at_el1():
    with Parked("a53/swd", "user") as place:
        kept, monitor = place.all_but_the_monitor(), place.monitor()
        result = place.stub("enable", code=3)
        assert "it is in user mode (EL0) whenever it is halted" in result.err
        assert place.all_but_the_monitor() == kept and place.monitor() == monitor


def test_a_program_that_counts_events_keeps_its_monitor():
    with Parked("a9") as place:
        for offset, value in ((0xFB0, 0xC5ACCE55), (0xC00, 0b101), (0xE04, E), (0xE08, EN), (0xFB0, 0)):
            place.server(f"a9.apb mww {0x80091000 + offset:#x} {value:#x}")
        place.stub("enable")
        assert place.monitor()[:2] == [EN, CYCLES | 0b101]
        said = place.stub("disable")
        assert "0, 2 enabled" in said.out and "user mode lost access" in said.out
        user, enabled, control = place.monitor()
        assert user == 0 and enabled == CYCLES | 0b101 and control & E


@pytest.mark.parametrize("way", ["m4/swd", "m55/swd", "m4"])
def test_cortex_m(way):
    with Place(way, "free") as place:
        def state():
            now = place.board.state()
            return {name: now[name] for name in ("demcr", "dwt_ctrl", "dhcsr", "pmu_ctrl", "pmu_cntenset") if name in now}

        before = state()
        assert lines(place.run("stub", "status"))["cycle counter"] == "off"
        said = lines(place.run("stub", "enable"))
        assert said["cycle counter"] == "on (was: off)" and said["user mode"] == "access to counters not possible"
        assert place.board.state()["demcr"] >> 24 & 1
        assert lines(place.run("stub", "status"))["cycle counter"] == "on"
        assert state() != before
        assert lines(place.run("stub", "disable"))["cycle counter"] == "off (was: on)"
        assert state() == before


def test_what_else_traces_keeps_its_clock():
    with Place("m4", "free") as place:
        place.server.set_word(0xE000EDFC, 1 << 24)
        place.server.set_word(0xE0001000, 1 << 18)  # EXCEVTENA
        assert place.run("stub", "enable").code == 0 and place.run("stub", "disable").code == 0
        state = place.board.state()
        assert state["demcr"] >> 24 & 1 and state["dwt_ctrl"] & 0x3FFFFF == 1 << 18


def test_nothing_to_switch_on():
    with Place("rp2040/swd", "free") as place:
        result = place.run("stub", "enable")
        assert result.code == 3 and "neither CYCCNT nor a PMU" in result.err


@pytest.mark.parametrize("words", [[], ["open"], ["load"], ["enable", "*0x0"], ["status", "-j"]])
def test_wrong_usage(words):
    with Place("a9/swd", "parked") as place:
        assert place.run("stub", *words).code == 2


# --- trouble at a transfer ----------------------------------------------------------------------------------

OF_WIRE = ["none", "parity", "ack3"]


@pytest.mark.any_row
@pytest.mark.parametrize("chip", ["a9", "r5", "a53"])
@pytest.mark.parametrize("kind", ["wait", "fault", *OF_WIRE])
def test_trouble_on_the_way(chip, kind):
    """At many transfers of enabling and of disabling in turn. tests/unit/device takes every one."""
    with Parked(f"{chip}/swd") as place:
        def stub(word):
            return harness.finish_tool(harness.start_tool([RELEASE, *place.words("stub", word)[1:]]))

        def transfers():
            return place.board.command("dap")["transfers"] if kind in OF_WIRE else place.board.state()["accesses"]

        place.run("info")
        kept, off = place.all_but_the_monitor(), place.monitor()
        on, met, survived, before = place.on(off[2]), 0, 0, transfers()
        assert stub("enable").code == 0 and place.monitor() == on
        total = transfers() - before
        assert stub("disable").code == 0 and place.monitor() == off
        chosen = harness.places(total, f"stub {chip} {kind}", most=8, in_soak=80)
        for skip in chosen:
            for word, ends, was in (("enable", on, off), ("disable", off, on)):
                if place.monitor() != was:  # it did not end before
                    continue
                place.board.command(f"fault {kind} 1 {skip}")
                result = stub(word)
                struck = not place.board.command(f"fault {kind} 0")["left"]
                what = f"{kind} at {skip} of {word}: {result.err}"
                assert result.code in (0, 3), what
                assert place.monitor() == (ends if result.code == 0 else was), what
                assert place.all_but_the_monitor() == kept, what
                assert place.board.state()["run"] == "running", what
                met, survived = met + struck, survived + (struck and result.code == 0)
        assert met >= len(chosen) / 2 and survived >= 0.9 * met - 2, f"{survived} of {met} at {len(chosen)}"


HELD_BACK = START + """
void run(void)
{
    __asm volatile("msr pmcr_el0, %0" ::"r"(1ul << 5));
    for (;; round_count++)
        sink++;
}
"""


def test_cycles_in_secure_state(tmp_path):
    """Where events are prohibited there, as without MDCR_EL3.SPME from Armv8.2 on, PMCR.DP stops cycles too; TF-A sets it."""
    with own_place(tmp_path, "a55/swd", HELD_BACK) as place:
        before = place.board.state()["pmcr"]
        result = place.run("stub", "enable")
        assert result.code == 0 and before & 1 << 5, result.err
        counted = place.board.state()["pmccntr"]
        wait_for(lambda: place.board.state()["pmccntr"] > counted, "cycles")
        assert place.run("stub", "disable").code == 0 and place.board.state()["pmcr"] & 1 == 0

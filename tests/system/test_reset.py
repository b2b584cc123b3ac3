"""`reset`, and measuring from a reset on."""
import contextlib
import subprocess

import pytest

from armv8 import CTIDEVCTL, Bus
from board import Board
from harness import NOWHERE, QUICK_WIRE, WORK_BY_DATA, Place, at, passages, returned, run_tool
from test_release import stops

WAYS = ["m4", "m4/swd", "m4/jtag", "rp2040", "rp2040/swd", "rp2350", "rp2350/swd", "a53/swd", "r52/swd", "r52hyp/swd", "a53el2/swd"]


def resets(place):
    return sum(event.kind == "reset" for event in place.board.log())


@pytest.mark.parametrize("way", WAYS)
def test_reset(way):
    with Place(way, "free", WORK_BY_DATA) as place:
        place.board.watch(NOWHERE)
        result = place.run("reset")
        assert result.code == 0 and result.out == "reset, running\n", result.err
        assert resets(place) >= 1 and place.board.state()["run"] == "running"
        place.board.wait_for(lambda _: place.board.read_word("round_count") > 0)
        assert place.run("delta", "work_by_data", "-r", 3).code == 0


@pytest.mark.parametrize("way", WAYS)
def test_reset_and_halt(way):
    with Place(way, "free", WORK_BY_DATA) as place:
        place.board.watch(NOWHERE)
        result = place.run("reset", "--halt")
        assert result.code == 0 and "halted" in result.out, result.err
        state = place.board.state()
        assert resets(place) >= 1 and state["run"] == "halted"
        assert state["pc"] == (0 if place.chip in ("a53", "r52") else place.symbol("Reset_Handler"))
        assert not state.get("demcr", 0) & 1 and not state.get("edecr", 0)
        if place.server:
            assert place.server(f"{place.server.target} curstate") == "halted"
        refused = place.run("delta", "work_by_data", "-r", 3)
        assert refused.code == 3 and "the core is halted at" in refused.err
        assert place.run("restore", "--force").code == 0 and place.board.state()["run"] == "running"


@pytest.mark.parametrize("way", ["a53/swd", "a53el2/swd", "r52hyp/swd"])
def test_catches_that_are_in_the_cross_trigger(way):
    """With FEAT_DoPD EDECR has none, and CTIDEVCTL has them. One that was left there is removed."""
    with Place(way, "free", WORK_BY_DATA, core_state="dopd") as place:
        place.board.watch(NOWHERE)
        result = place.run("reset", "--halt")
        assert result.code == 0 and "halted" in result.out, result.err
        state = place.board.state()
        assert resets(place) == 1 and (state["run"], state["pc"], state["cti_devctl"]) == ("halted", 0, 0)
        assert place.run("restore", "--force").code == 0
        names = ["main", "work_by_data"]
        result = place.delta("--reset", *names, "-r", 2)
        truth = [passage.cycles for passage in passages(place.board.log(), place.symbol(names[0]), at(place.symbol(names[1])))]
        assert result.cycles == truth[-2:] and place.board.state()["cti_devctl"] == 0
        with contextlib.closing(Bus(place.board)) as bus:
            bus.set_word(CTIDEVCTL + (0x80020000 if place.chip == "r52" else 0x80420000), 2)
        place.board.command("reset")
        place.board.wait_for(lambda state: state["run"] == "halted" and state["pc"] == 0)
        removed = place.run("restore", "--force")
        assert removed.code == 0 and "catch of a reset (CTIDEVCTL.RCE)" in removed.out, removed.out + removed.err
        assert place.board.state()["cti_devctl"] == 0 and place.run("delta", "work_by_data", "-r", 3).code == 0


@pytest.mark.nobody_answers
@pytest.mark.parametrize("way", ["a9", "a9/swd"])
def test_a_core_that_takes_no_request(way):
    """This core does not know the request, and the board has no reset line."""
    with Place(way, "free", WORK_BY_DATA) as place:
        result = place.run("reset")
        assert result.code == 3 and ("did not reset" in result.err or "how to reset?" in result.err)
        assert place.board.state()["run"] == "running"
        assert place.run("delta", "work_by_data", "-r", 3).code == 0


@pytest.mark.parametrize("way", ["m4", "m4/swd", "m55/swd", "a53/swd", "r52hyp/swd"])
def test_boot_time(way):
    """Each hit is the first passage after a reset. Afterwards the target is as after a reset."""
    with Place(way, "free", WORK_BY_DATA) as place:
        names = ["Reset_Handler", "main"] if place.chip != "a53" else ["main", "work_by_data"]
        before = stops(place)
        result = place.delta("--reset", *names, "-r", 2)
        log = place.board.log()
        truth = [passage.cycles for passage in passages(log, place.symbol(names[0]), at(place.symbol(names[1])))]
        assert result.cycles == truth[-2:] and len(set(truth)) == 1
        assert sum(event.kind == "reset" for event in log) == 2
        assert result.summary["hits"] == 2 and "after a reset" in result.header["note"]
        assert stops(place) == before and place.board.state()["run"] == "running"
        assert len(place.delta("--reset", *names).cycles) == 1


def test_a_function_from_a_reset_on():
    with Place("m4/swd", "free", WORK_BY_DATA) as place:
        result = place.delta("--reset", "work_by_data", "-r", 3)
        assert result.cycles == [passage.cycles for passage in
                                 passages(place.board.log(), place.symbol("work_by_data"), returned)]
        assert len(set(result.cycles)) == 1  # what it does depends on the round, and this is always the first


@pytest.mark.parametrize("way, words, reason", [
    ("m4/swd", ["Reset_Handler"], "never returns (its DWARF says noreturn)"),
    ("m4/swd", ["in_ram"], "--reset cannot stop there"),
    ("m4/swd", ["main", "work_by_data", "--tick", "tick_count"], "--tick and --reset"),
    ("rp2040/swd", ["Reset_Handler", "main"], "which starts it some time after a reset"),
])
def test_what_cannot_be_measured_from_a_reset_on(way, words, reason):
    with Place(way, "free", WORK_BY_DATA) as place:
        result = place.run("delta", "--reset", *words)
        assert result.code in (2, 3) and reason in result.err
        assert stops(place) == set() and place.board.state()["run"] == "running"


def test_a_halted_core_is_to_be_let_go_first():
    """The program's own settings of its counters must be seen first."""
    with Place("m4/swd", "free", WORK_BY_DATA) as place:
        assert place.run("reset", "--halt").code == 0
        refused = place.run("delta", "--reset", "Reset_Handler", "main")
        assert refused.code == 3 and "pmu-probe restore --force" in refused.err
        assert place.run("delta", "--reset", "--resume", "Reset_Handler", "main").code == 2
        assert place.run("restore", "--force").code == 0
        assert place.delta("--reset", "Reset_Handler", "main").cycles != []


TIMES_ITSELF = """
#define REG(at) (*(volatile unsigned *)(at))
void Reset_Handler(void);
__attribute__((section(".vectors"), used)) void *const vectors[] = {(void *)0x20001000, Reset_Handler};
__attribute__((noinline)) void work(void) { for (volatile int i = 0; i < 50; i++) ; }
__attribute__((noinline)) void ready(void) { __asm volatile("nop"); }
void Reset_Handler(void)
{
    work();
    REG(0xE000EDFC) |= 1 << 24;
    REG(0xE0001004) = 0;
    REG(0xE0001000) |= 1;
    work();
    ready();
    for (;;)
        work();
}
"""


def build_boot(tmp_path, text):
    source, elf = tmp_path / "boot.c", tmp_path / "boot.elf"
    source.write_text(text)
    subprocess.run(["arm-none-eabi-gcc", "-mcpu=cortex-m4", "-mthumb", "-O1", "-g", "-nostdlib", "-ffreestanding", source, "-o", elf,
                    "-Wl,--section-start=.vectors=0x08000000,-Ttext=0x08000100,-e,Reset_Handler,--no-warn-rwx-segments"], check=True)
    return elf


def test_a_function_that_the_program_begins_in(tmp_path):
    elf = build_boot(tmp_path, TIMES_ITSELF.replace("REG(0xE0001004) = 0;", ""))
    with Board.start("m4", firmware=elf, dap_wire=QUICK_WIRE) as board:
        endless = run_tool("-p", f"cmsis-dap-tcp:127.0.0.1:{board.dap_port}", "--transport", "swd", "--elf", elf, "delta", "-j", "--reset",
                           "Reset_Handler")
        assert endless.code == 2 and "the program begins there, and does not return: name an end" in endless.err


def test_a_program_that_sets_up_its_own_counter(tmp_path):
    """The program clears CYCCNT inside the region: an error. Before the region that does no harm. The counter stays on."""
    elf = build_boot(tmp_path, TIMES_ITSELF)
    with Board.start("m4", firmware=elf, dap_wire=QUICK_WIRE) as board:
        board.run_for(10000)
        assert board.state()["dwt_ctrl"] & 1
        words = ["-p", f"cmsis-dap-tcp:127.0.0.1:{board.dap_port}", "--transport", "swd", "--elf", elf, "delta", "-j", "--reset"]
        spoilt = run_tool(*words, "Reset_Handler", "ready", "-r", 2)
        assert spoilt.code == 3 and "something else writes" in spoilt.err and spoilt.hits == []
        inside = run_tool(*words, "boot.c:9", "boot.c:13")
        assert inside.code == 3 and "boot.c:11" in inside.err and "writes DWT_CYCCNT" in inside.err
        for names, is_end in ((["work"], returned), (["Reset_Handler", "work"], at(board.symbol("work")))):
            board.watch(NOWHERE)
            result = run_tool(*words, *names, "-r", 2)
            assert result.code == 0, result.err
            assert result.cycles == [passage.cycles for passage in passages(board.log(), board.symbol(names[0]), is_end)]
        assert board.state()["dwt_ctrl"] & 1 and board.state()["run"] == "running"

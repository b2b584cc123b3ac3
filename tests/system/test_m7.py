"""A Cortex-M7 with erratum 3092511: if the core reaches a breakpoint at the moment of an interrupt, it halts at the handler's
first instruction. The board does so each time both coincide."""
import pytest

from harness import IN_RAM, LOOP_ROUND, PENDED, WORK_BY_DATA, Place, at, finish_tool, hits_of, passages, returned, wait_for

pytestmark = pytest.mark.any_fifth

WAYS = ["m7/swd", "m7/jtag", "m7/v2", "m7"]


def compare(place, result, start, is_end):
    """Each hit against the board's truth; how many of them had a stop in the handler."""
    log, handler = place.board.log(), place.symbol("IRQ3_Handler")
    truth = passages(log, place.symbol(start), is_end)
    assert len(truth) in (len(result.hits), len(result.hits) + 1)
    stops = [event.index for event in log if event.kind == "halt" and event.pc == handler]
    stopped = 0
    for hit, passage in zip(result.hits, truth):
        inside = any(passage.begin.index < stop < passage.end.index for stop in stops)
        stopped += inside
        assert hit["values"]["CPU_CYCLES"] == passage.cycles, hit
        assert hit.get("tainted", False) == passage.tainted, hit
    assert place.board.state()["run"] != "halted"
    return stopped, len(stops)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("function, bits", [("work_by_data", WORK_BY_DATA), ("in_ram", IN_RAM)])
def test_interrupts_that_a_halt_delays(way, function, bits):
    """Re-hits resume onto a breakpoint with interrupts that pended in the halt: they are held off meanwhile, so that the
    core never stops in their handler, and what a halt costs is measured all the same."""
    with Place(way, "free", bits, halt_irq=500, halt_cost=20) as place:
        result = place.delta(function, "-r", hits_of(place))
        assert compare(place, result, function, returned) == (0, 0)
        assert result.summary["columns"]["CPU_CYCLES"]["overhead"] == 20
        assert any(hit.get("tainted") for hit in result.hits)


@pytest.mark.parametrize("way", WAYS)
def test_an_interrupt_right_at_the_breakpoint(way):
    """At the start the handler runs before the hit; at the end it runs inside, as without a debugger."""
    with Place(way, "free", PENDED, halt_cost=20) as place:
        end = place.symbol("pended_end")
        result = place.delta("pended_start", "pended_end", "-r", hits_of(place))
        stopped, stops = compare(place, result, "pended_start", at(end))
        assert 0 < stopped < len(result.hits) and stops > stopped


def test_an_interrupt_in_each_round():
    with Place("m7/swd", "free", LOOP_ROUND, halt_irq=300) as place:
        result = place.delta("loop_head", "loop_head", "-r", hits_of(place))
        assert len(result.hits) >= 100 and any(hit.get("tainted") for hit in result.hits)
        assert all(event.pc != place.symbol("IRQ3_Handler") for event in place.board.log() if event.kind == "halt")


def test_a_breakpoint_in_the_handler_is_somebody_elses():
    with Place("m7/swd", "free", WORK_BY_DATA) as place:
        server = place.start_server()
        server(f"bp {place.symbol('IRQ3_Handler'):#x} 2 hw")
        server.kill()
        tool = place.start("delta", "pended_start", "pended_end")
        wait_for(lambda: sum(value & 1 for value in place.board.state()["fp_comp"]) == 2, "ours beside it")
        place.board.write_word("scenario", PENDED)
        result = finish_tool(tool)
        assert result.code == 3 and "someone else's breakpoint" in result.err, result.err
        assert place.board.state()["run"] == "halted"

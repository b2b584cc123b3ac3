"""Handlers of A and R cores: LR does not say where they return. So the tool refuses them as functions and says what to do. From
a start to an end it measures them."""
import pytest

from harness import NOWHERE, WORK_BY_DATA, Place, at, finish_tool, passages, wait_for

WAYS = ["a9/swd", "a7/swd", "r5/swd", "r52/swd", "a53in32/swd", "a9", "r5"]
RETURN = 0x20  # from IRQ_Handler to its RFE: eight instructions of four bytes


def run(place, *args):
    """A program with an occasional interrupt."""
    place.board.watch(NOWHERE)
    tool = place.start("delta", "-j", *args)

    def done():
        place.board.command("irq 3")
        return tool.poll() is not None
    wait_for(done, "the tool to end")
    return finish_tool(tool)


@pytest.mark.parametrize("way", WAYS)
def test_an_interrupt_handler_is_refused_as_a_function(way):
    with Place(way, "free", WORK_BY_DATA) as place:
        result = run(place, "IRQ_Handler", "-r", 5)
        assert result.code == 3 and "IRQ mode" in result.err and "as the end" in result.err, (result.out, result.err)
        assert not result.hits and place.board.state()["run"] == "running"


@pytest.mark.parametrize("way", WAYS)
def test_it_is_measured_to_a_named_end(way):
    with Place(way, "free", WORK_BY_DATA) as place:
        end = place.symbol("IRQ_Handler") + RETURN
        result = run(place, "IRQ_Handler", f"*{end:#x}", "-r", 20)
        assert result.code == 0, result.err
        truth = passages(place.board.log(), place.symbol("IRQ_Handler"), at(end))
        assert result.cycles == [passage.cycles for passage in truth[:20]] and set(result.cycles) == {RETURN // 4}

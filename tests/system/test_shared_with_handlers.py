"""Functions that the program and an interrupt's handler both run: an interrupt that is taken as the core leaves a halt reaches what is
watched for the program's own call. Cortex-A and R cores cannot hold interrupts off while they are resumed onto a breakpoint."""
import threading

import pytest

from own_program import START, own_place

VECTORS = (r'"b Reset_Handler\n.rept 5\nb .\n.endr\nb irq_entry\nb .\n"'  # in Supervisor mode and on its stack, as most systems handle interrupts
           r'"irq_entry:\nsub lr, lr, #4\nsrsdb sp!, #0x13\ncps #0x13\npush {r0-r3, r12, lr}\nldr r0, =irq_handler\nblx r0\npop {r0-r3, r12, lr}\n"'
           r'"rfeia sp!\nReset_Handler:\n"')
SOURCE = START.replace(r'"b Reset_Handler\n.rept 7\nb .\n.endr\nReset_Handler:\n"', VECTORS) + r"""
volatile uint32_t handled, turns;
APART void pause(uint32_t n) { for (; n; n--) __asm volatile("nop"); }
APART void mark_a(void) { sink++; }
APART void mark_b(void) { sink += 2; }
APART void job(uint32_t i)
{
    mark_a();
    pause(20 + (i & 15));
    mark_b();
}
__attribute__((used)) void irq_handler(void) { handled++; mark_a(); pause(7); mark_b(); job(2); }
void run(void)
{
    __asm volatile("cpsie i");
    for (;; round_count++)
        job(turns++);
}
"""


@pytest.mark.parametrize("way", ["a7/swd", "a9/swd", "r5/swd"])
@pytest.mark.parametrize("words", [("survey", "*", "--for", "2s"), ("delta", "mark_b", "-r", 1000, "--for", "2s"),
                                   ("delta", "own.c:9", "own.c:11", "-r", 1000, "--for", "2s")])
def test_its_stops_are_the_runs_own(tmp_path, way, words):
    assert "pause(20" in SOURCE.partition("#line 1\n")[2].splitlines()[8]
    with own_place(tmp_path, way, SOURCE, "-O2", clock=6_000_000, dap_wire=1_000_000_000) as place:
        other, over = place.board.core(0), threading.Event()

        def interrupt():
            while not over.wait(0.001):
                other.command("irq 3")

        thread = threading.Thread(target=interrupt)
        thread.start()
        try:
            result = place.run(*words)
        finally:
            over.set()
            thread.join()
        assert place.board.read_word("handled") > 0, "no interrupt came"
        assert "someone else" not in result.err and result.code in (0, 5), result.err
        assert place.board.state()["run"] == "running"

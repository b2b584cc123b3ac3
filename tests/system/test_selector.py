"""Cortex-R5 reads an event counter by way of PMSELR. What the program has in it is proved at each stop before it is changed, and given back."""
import pytest

from own_program import START, own_place

SOURCE = START + r"""
volatile uint32_t wrong;
static inline void select(uint32_t n) { __asm__ volatile("mcr p15, 0, %0, c9, c12, 5\n isb" ::"r"(n)); }
static inline uint32_t selected(void) { uint32_t n; __asm__ volatile("mrc p15, 0, %0, c9, c12, 5" : "=r"(n)); return n; }
APART void work(uint32_t n)
{
    uint32_t before = selected();
    for (volatile uint32_t i = 0; i < 5 + n; i++)
        ;
    wrong += selected() != before;
    if (TURNS == 2)
        select(before ^ 1);
}
void run(void)
{
    for (uint32_t n = 0;; n++) {
        uint32_t kept = TURNS ? n & 3 : 2;
        select(kept);
        work(n & 7);
        wrong += selected() != (TURNS == 2 ? kept ^ 1 : kept);
        round_count++;
    }
}
"""


@pytest.mark.any_row
@pytest.mark.parametrize("turns", [0, 1, 2], ids=["never changed", "another value at each call", "changed in the call"])
@pytest.mark.parametrize("words", [("work",), ("work", "-e", "INST_RETIRED,EXC_TAKEN")], ids=["cycles", "events"])
def test_the_selector_is_the_programs(tmp_path, turns, words):
    with own_place(tmp_path, "r5/swd", SOURCE, f"-DTURNS={turns}") as place:
        result = place.delta(*words, "-r", 60)
        assert len(result.hits) == 60 and "doubt" not in result.summary
        assert len({tuple(hit["values"].values()) for hit in result.hits}) == 8, "a call takes one of eight lengths"
        rounds = place.board.read_word("round_count")
        assert rounds > 60 and place.board.read_word("wrong") == 0

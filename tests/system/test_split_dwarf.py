"""A program whose DWARF is in .dwo files, which are not read: a note says that what is inlined is not known."""
import pytest

from harness import unfolded
from own_program import START, own_place

SOURCE = START + r"""
static inline __attribute__((always_inline)) void helper(uint32_t n) { sink += n * 3; }
__attribute__((used)) void both(uint32_t n) { sink = n * 3; }
void run(void)
{
    void (*volatile pointer)(uint32_t) = both;
    for (;; round_count++) {
        both(1);
        helper(2);
        pointer(2);
    }
}
"""


@pytest.mark.parametrize("flags", [[], ["-gsplit-dwarf"], ["-gdwarf-4", "-gsplit-dwarf"]])
def test_calls_that_may_be_inlined_are_told(tmp_path, flags):
    with own_place(tmp_path, "m4/swd", SOURCE, "-O2", *flags) as place:
        result = place.run("delta", "both", "-r", 2)
        assert result.code == 0, result.err
        assert ("also inlined at own.c:" in unfolded(result.out)) == (not flags), result.out
        assert ("some calls may be inlined, which are not hits" in unfolded(result.out)) == bool(flags), result.out
        missing = place.run("delta", "helper", "-r", 2)
        assert missing.code == 2 and ("split DWARF" if flags else "is inlined where it is called") in unfolded(missing.err), missing.err

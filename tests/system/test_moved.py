"""A program that runs elsewhere than its ELF says, as position independent ones and boot loaders that move themselves do."""
import pytest

from gdb_place import GdbPlace
from harness import Place, run_tool, unfolded
from own_program import CORES, START, built, moved_script, own_place
from test_restore import snapshot

SOURCE = START + r"""
typedef void (*job)(void);
APART void leaf(void) { for (uint32_t i = 0; i < 20; i++) sink += i; }
static inline uint32_t halved(uint32_t x) { return x / 2 + sink; }
APART uint32_t filter(uint32_t rounds)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < rounds; i++) {
        leaf();
        sum += halved(i);
    }
    return sum;
}
static const job jobs[] = {leaf};
volatile job chosen;
void run(void) { for (;; round_count++) { filter(3); chosen = jobs[0]; chosen(); } }
"""
BY, BELOW = 0x400000, -0x8000000
WAYS = ["a9/swd", "m4/swd", "rp2040/swd", "a53/swd", "r5/swd", "r52/swd", "m33/swd", "rp2350/swd", "a9", "m4", "gdb a9", "gdb m4"]
FIXED = "-Wl,--build-id=0x12345678"


def flags(chip):
    """Code whose own addresses are words, as position independent code has them."""
    return [FIXED, *(["-mword-relocations"] if CORES[chip][0].startswith("arm") else [])]


def unmoved(place, folder, by=BY):
    """The ELF of the program, at addresses where it is not."""
    folder = folder / "moved"
    folder.mkdir()
    place.elf = built(folder, place.chip, SOURCE, *flags(place.chip), script=moved_script(folder, place.chip, by))


@pytest.mark.any_row
@pytest.mark.parametrize("way", WAYS)
def test_the_bytes_tell_where(way, tmp_path):
    kind = GdbPlace if way.startswith("gdb ") else Place
    with own_place(tmp_path, way.removeprefix("gdb "), SOURCE, *flags(way.removeprefix("gdb ").partition("/")[0]), kind=kind) as place:
        true = place.run("delta", "filter", "-r", 5, "-j")
        before = snapshot(place)
        unmoved(place, tmp_path)
        result = place.run("delta", "filter", "-r", 5, "-j")
        assert result.code == 0 and f"at another place: --load-offset -{BY:#x}" in unfolded(result.err), result.err
        assert result.cycles == true.cycles and len(true.cycles) == 5, (result.out, true.out)
        lines = place.run("--load-offset", f"-{BY:#x}", "delta", "own.c:9", "own.c:10", "-r", 3)
        assert lines.code == 0 and "load-offset" not in lines.err, lines.err
        assert snapshot(place) == before


@pytest.mark.any_row
@pytest.mark.parametrize("way", ["m4/swd", "a9/swd", "a53/swd"])
def test_names_lines_stacks_and_shares(way, tmp_path):
    with own_place(tmp_path, way, SOURCE, *flags(way.partition("/")[0])) as place:
        unmoved(place, tmp_path, BELOW if way == "m4/swd" else BY)
        offset = ["--load-offset", hex(-BELOW) if way == "m4/swd" else f"-{BY:#x}"]
        slow = place.run(*offset, "delta", "leaf", "-r", 8, "--outliers", 8)  # three of four calls are by filter
        assert slow.code == 0 and "called by own.c:" in slow.out and "(filter+0x" in slow.out and "(run+0x" in slow.out, slow.out
        costs = place.run(*offset, "lines", "filter", "-r", 3)
        assert costs.code == 0 and "i: 1 line is of an inlined function" in unfolded(costs.out), costs.out + costs.err
        refused = place.run("record", "--for", "100ms", "-o", tmp_path / "p.jsonl")
        assert refused.code == 3 and ("does not run this ELF" in unfolded(refused.err) or "cannot be read back" in unfolded(refused.err)), refused.err
        assert place.run(*offset, "record", "--for", "300ms", "-o", tmp_path / "p.jsonl").code == 0
        shares = run_tool("report", tmp_path / "p.jsonl", "--sort", "line")
        assert "own.c:3" in shares.out and "unknown" not in shares.out, shares.out


@pytest.mark.any_row
@pytest.mark.parametrize("way", ["m4/swd", "a9/swd"])
def test_a_function_that_moved_in_a_new_build_is_another_program(way, tmp_path):
    """It is at another address there, with the same bytes."""
    with own_place(tmp_path, way, SOURCE) as place:
        (tmp_path / "moved").mkdir()
        grown = SOURCE.replace("APART void leaf", "APART void before(void) { sink = 1; }\nAPART void leaf").replace("filter(3);", "before(); filter(3);")
        place.elf = built(tmp_path / "moved", place.chip, grown)
        for _ in range(5):
            refused = place.run("delta", "filter", "-r", 5)
            said = unfolded(refused.err)
            assert refused.code == 3 and "the target does not run this ELF" in said and "at another place" not in said, said


LOADER = START + r"""
APART void check(void) { for (uint32_t i = 0; i < 50; i++) sink += i; }
APART void prompt(void) { for (;; round_count++) check(); }
void run(void)
{
    volatile uint32_t *to = (uint32_t *)0x130000, *from = (uint32_t *)(uintptr_t)(sink & 1);
    for (uint32_t i = 0; i < 0x400; i++)
        to[i] = from[i];
    __asm volatile("dsb sy\n isb");
    ((void (*)(void))((uintptr_t)prompt + 0x130000))();
}
"""


@pytest.mark.any_row
@pytest.mark.parametrize("way", ["a9/swd", "a9", "gdb a9"])
def test_a_loader_that_has_moved_itself(way, tmp_path):
    """The ELF is in memory where it says, too, and does not run there."""
    kind = GdbPlace if way.startswith("gdb ") else Place
    with own_place(tmp_path, way.removeprefix("gdb "), LOADER, kind=kind) as place:
        missed = place.run("delta", "check", "--timeout", 1)
        said = unfolded(missed.err)
        assert missed.code == 3 and "and runs the ELF's code of own.c:" in said, said
        assert "give --load-offset 0x130000" in said, said
        found = place.run("--load-offset", "0x130000", "delta", "check", "-r", 3)
        assert found.code == 0 and "own.c:2" in found.out, found.out + found.err
        if way == "a9/swd":
            place.run("record", "--for", "100ms", "-o", tmp_path / "p.jsonl")
            lost = run_tool("report", tmp_path / "p.jsonl")
            assert "was moved (--load-offset)" in unfolded(lost.out + lost.err), lost.out + lost.err
            named = run_tool("--load-offset", "0x130000", "report", tmp_path / "p.jsonl")
            assert "check" in named.out and "unknown" not in named.out, named.out


@pytest.mark.parametrize("offset", ["0x13", "--", "-", "12k", "0x1p4", "", "0x10000000000000000"])
def test_an_offset_that_is_none(offset):
    refused = run_tool("--load-offset", offset, "annotate", "main", "--elf", "/nonexistent")
    assert refused.code == 2 and "a multiple of 4, such as 0x130000" in unfolded(refused.err), refused.err

"""Blocks of an IT instruction that hold code of several lines: no core is sure to stop inside one, so each is one piece."""

import pytest

from harness import locate, unfolded
from own_program import START, own_place
from test_lines import check_truth, lines
from test_restore import snapshot

SOURCE = START + r"""
APART uint32_t clamp(uint32_t x)
{
    uint32_t r = x & 255;
    __asm volatile(/* two lines, one block */
        "tst %1, #16\n"
        ".loc 1 901\n ittt ne\n addne %0, %0, #7\n"
        ".loc 1 902\n eorne %1, %1, %0\n"
        ".loc 1 903\n addne %1, %1, #3\n"
        ".loc 1 904\n add %0, %0, %1\n"
        ".loc 1 905\n"
        : "+r"(r), "+r"(x) : : "cc");
    return r + x;
}

void run(void)
{
    for (round_count = 0;; round_count++) {
        sink += clamp(round_count * 5);
        for (uint32_t i = 0; i < 300; i++)
            __asm volatile("nop");
    }
}
"""
IT, INSIDE, BEHIND = 901, (902, 903), 904
WAYS = ["m4/swd", "m4", "m55/swd", "m7/swd", "a9/swd", "r5/swd", "r52/swd"]


@pytest.fixture
def place(request, tmp_path):
    with own_place(tmp_path, request.param, SOURCE, *["-mthumb"] * (request.param[0] in "ar")) as it:
        yield it


@pytest.mark.any_row(1)
@pytest.mark.parametrize("place", WAYS, indirect=True)
def test_a_block_is_one_piece_of_the_its_line(place):
    before = snapshot(place)
    result = check_truth(place, "clamp")
    shown = {row["line"] for row in result.rows}
    assert IT in shown and BEHIND in shown and not shown & set(INSIDE), shown
    assert any("code of lines 902, 903" in note for note in result.summary["notes"]), result.summary
    assert snapshot(place) == before
    text = place.run("lines", "clamp", "-r", 5)
    assert text.code == 0 and "in the line of its IT" in unfolded(text.out), text.out


@pytest.mark.any_row(1)
@pytest.mark.parametrize("place", WAYS, indirect=True)
def test_a_location_inside_a_block_is_refused(place):
    located = {line: f"{found['address']:#010x}" for line, found in
               zip((IT, 902), locate(place.elf, f"own.c:{IT}", "own.c:902").lines)}
    for words in (["own.c:902", "own.c:904"], ["own.c:901", "own.c:903"], [f"*{located[902]}", "own.c:904"]):
        refused = place.run("delta", *words, "-r", 2)
        assert refused.code == 2 and f"*{located[IT]}" in unfolded(refused.err) and "IT" in refused.err, refused.err
    assert place.run("doctor", "own.c:902").code == 2
    measured = place.run("delta", "own.c:901", "own.c:904", "-r", 5)
    assert measured.code == 0, measured.err

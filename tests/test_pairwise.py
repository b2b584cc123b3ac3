"""Which rows of a product run: what `make check` leaves out must not be more than pairwise.py says."""
import itertools
import zlib

import pairwise

CHIPS, HOW = ["m4/swd", "rp2040/swd", "a9/swd", "m4"], ["done", "interrupted", "lost"]


def rows_of(**values):
    return [list(zip(values, row)) for row in itertools.product(*values.values())]


def name_with(remainder):
    """A test's name that takes a row behind OpenOCD (0), or does not."""
    return next(name for name in map("test_{}".format, range(100)) if (zlib.crc32(name.encode()) % 3 == 0) == (remainder == 0))


def test_every_pair_is_in_some_row():
    rows = rows_of(way=CHIPS[:3], how=HOW, cost=["0", "7"])
    taken = [rows[at] for at in pairwise.chosen(rows, "test_it")]
    assert len(taken) < len(rows)
    for one, other in itertools.combinations(range(3), 2):
        assert {(row[one], row[other]) for row in taken} == {(row[one], row[other]) for row in rows}


def test_a_row_behind_openocd_is_in_a_third_of_the_tests():
    rows = rows_of(way=CHIPS)
    assert [rows[at][0][1] for at in pairwise.chosen(rows, name_with(0))] == CHIPS
    assert [rows[at][0][1] for at in pairwise.chosen(rows, name_with(1))] == CHIPS[:3]


def test_what_only_openocd_shows_is_not_left_out():
    rows = rows_of(way=["m4/swd", "a7"])
    assert len(pairwise.chosen(rows, name_with(1))) == 2
    assert len(pairwise.chosen(rows_of(way=["m4", "a9"]), name_with(1))) == 2, "all of them are behind OpenOCD"


def test_rows_that_take_long_are_two():
    rows = rows_of(way=CHIPS, how=HOW)
    taken = {tuple(pairwise.chosen(rows, f"test_{n}", pairs=False)) for n in range(40)}
    assert {len(places) for places in taken} == {2} and len(taken) > 5


def test_any_row_takes_as_many_as_it_says():
    for count in (1, 3, 7):
        assert len(pairwise.any_row(range(7), "test_it", count)) == count
    assert pairwise.any_row(range(2), "test_it", 5) == [0, 1]

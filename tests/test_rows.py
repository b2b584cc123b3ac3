"""Which rows of a product run: what `make check` leaves out must not be more than rows.py says."""
import itertools
import os
import re
import zlib

import cost
import rows

CHIPS, HOW = ["m4/swd", "rp2040/swd", "a9/swd", "m4"], ["done", "interrupted", "lost"]


def rows_of(**values):
    return [list(zip(values, row)) for row in itertools.product(*values.values())]


def name_with(openocd):
    """A test's name that takes a row through OpenOCD, or does not."""
    return next(name for name in map("test_{}".format, range(100)) if (zlib.crc32(name.encode()) % rows.OPENOCD_IN == 0) == openocd)


def test_every_value_is_in_some_row():
    product = rows_of(way=CHIPS[:3], how=HOW, cost=["0", "7"])
    taken = [product[at] for at in rows.each_value(product, "test_it")]
    assert len(taken) < len(product)
    for part in range(3):
        assert {row[part] for row in taken} == {row[part] for row in product}


def test_a_row_behind_openocd_is_in_some_of_the_tests():
    product = rows_of(way=CHIPS)
    assert [product[at][0][1] for at in rows.each_value(product, name_with(True))] == CHIPS
    assert [product[at][0][1] for at in rows.each_value(product, name_with(False))] == CHIPS[:3]


def test_what_only_openocd_shows_is_not_left_out():
    product = rows_of(way=["m4/swd", "a7"])
    assert len(rows.each_value(product, name_with(False))) == 2
    assert len(rows.each_value(rows_of(way=["m4", "a9"]), name_with(False))) == 2, "all of them are behind OpenOCD"


def test_of_rows_on_boards_there_is_one():
    product = rows_of(way=CHIPS, how=HOW)
    for long in (False, True):
        taken = {tuple(rows.chosen(product, f"test_{n}", long)) for n in range(40)}
        assert {len(places) for places in taken} == {1} and len(taken) > 5
        assert {product[at][part] for places in taken for at in places for part in (0, 1)} >= {pair for row in product for pair in row[1:]}


def test_without_a_board_each_value_runs():
    product = rows_of(how=HOW, cost=["0", "7"])
    assert len(rows.chosen(product, "test_it")) == 3


def test_any_row_takes_as_many_as_it_says():
    for count in (1, 3, 7):
        assert len(rows.any_row(range(7), "test_it", count)) == count
    assert rows.any_row(range(2), "test_it", 5) == [0, 1]


def test_tests_that_take_long_run_as_many_as_there_is_time_for(monkeypatch):
    monkeypatch.setattr(cost, "measured", lambda: {f"test_{n}": 1 + n % 7 for n in range(100)} | {"test_short": 0.1})
    keys = [f"test_{n}" for n in range(100)] + ["test_short", "test_new"]
    runs = [set(keys) - cost.too_many(keys, 40, seed) for seed in range(60)]
    assert all({"test_short", "test_new"} <= ran for ran in runs)
    assert all(33 < sum(cost.measured().get(name, 0) for name in ran) <= 40.1 for ran in runs)
    assert set().union(*runs) == set(keys) and not cost.too_many(keys, 1000, 1)


def test_what_was_measured_is_of_tests_that_there_are():
    for name in cost.measured():
        file, test = re.sub(r"\[.*", "", name).split("::", 1)
        with open(os.path.join(cost.TESTS, file), encoding="utf-8") as source:
            assert f"def {test.rpartition('::')[2]}(" in source.read(), f"{name} is gone, and so is its line of costs.measured"

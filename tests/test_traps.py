"""The table of traps names tests that exist."""
import os
import re

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
ROW = re.compile(r"^\|([^|]+)\|([^|]+)\|([^|]+)\|$")


def rows():
    with open(os.path.join(HERE, "traps.md"), encoding="utf-8") as file:
        found = [match for match in map(ROW.match, file.read().splitlines()) if match]
    return [(match[1].strip(), match[3].strip()) for match in found[2:]]


def test_there_is_a_table():
    assert len(rows()) >= 40


@pytest.mark.parametrize("trap, tests", rows())
def test_each_trap_has_its_test(trap, tests):
    for part in tests.split(";"):
        path, names = re.fullmatch(r"`([^`]+)` (.+)", part.strip()).groups()
        with open(os.path.join(HERE, path), encoding="utf-8") as file:
            text = file.read()
        for name in names.split(", "):
            # a unit test is in a macro, such as TEST(name) or TEST_WITH(name, set_up, tear_down)
            assert re.search(rf"\b{name}\(|TEST(_WITH)?\({name}[,)]", text), f"{trap}: {path} has no {name}"

"""Which rows of a test's product `make check` runs. `make soak` runs them all.

Of a test without a marker, every value of every parameter is in some row, and so is every pair of values of two parameters that occurs in the product.
A parameter that names a chip and the wires to it ("m4/swd") counts as two; the engine above a link does not know its wires, so
that each of them need only be in some row. A row behind OpenOCD, which has no wires in its name, takes many times as long: a
third of the tests take one, unless it shows what no other row does. Tests marked `each_value`, where a row takes long, do without
the pairs, one chip of a family will do, and of the rows that are left they take two; tests marked `any_row` take as many as it
says. Which, differs from test to test; some values of such a test are left to `make soak`. The rows are the same each time: a test
that failed is there again."""
import itertools
import zlib

WIRES = {"", "swd", "jtag", "v1", "v2"}
FEW = 2
BEHIND_OPENOCD = ("wires", "")
FAMILIES = {"rp2040": "Cortex-M", "m4": "Cortex-M", "m7": "Cortex-M", "m33": "Cortex-M", "m55": "Cortex-M", "a9": "Armv7-A", "a7": "Armv7-A"}


def row_of(params):
    """A row's parameters as text; a function goes by its name."""
    def text(value):
        name = getattr(value, "__name__", "<lambda>")
        return str(value) if name == "<lambda>" else name
    return [(name, text(value)) for name, value in params.items()]


def parts(name, value):
    """A row's value of one parameter: what is paired, and the wires."""
    chip, _, wires = value.partition("/")
    if name in ("way", "chip") and wires in WIRES:
        return (name, chip), wires
    return (name, value), None


def wanted(row, pairs):
    """What a row shows: each of its values, and each pair of values of two parameters."""
    paired, wires = zip(*(parts(name, value) for name, value in row))
    if not pairs:
        paired = [(name, FAMILIES.get(value, value)) for name, value in paired]
    singles = {(value,) for value in (*paired, *(("wires", word) for word in wires if word is not None))}
    return singles | set(itertools.combinations(paired, 2)) if pairs else singles


def is_behind_openocd(row):
    return any(parts(name, value)[1] == "" for name, value in row)


def any_row(rows, test, count=1):
    """The places of so many rows, far apart and not the same in each test."""
    first = zlib.crc32(test.encode())
    return sorted({(first + turn * len(rows) // count) % len(rows) for turn in range(count)})


def chosen(rows, test, pairs=True):
    """The places of the rows that together show what all of them do; of two that show as much the one not behind OpenOCD,
    which takes many times as long."""
    shows = [wanted(row, pairs) for row in rows]
    if zlib.crc32(test.encode()) % 3 and any(word[0][0] == "wires" and word[0][1] for row in shows for word in row):
        shows = [row - {(BEHIND_OPENOCD,)} for row in shows]
    turn = 0 if pairs else zlib.crc32(test.encode()) % len(rows)
    missing, places = set().union(*shows), []
    while missing:
        best = max(range(len(rows)), key=lambda place: (len(shows[place] & missing), not is_behind_openocd(rows[place]),
                                                        -((place + turn) % len(rows))))
        places.append(best)
        missing -= shows[best]
    places.sort()
    return places if pairs or len(places) <= FEW else [places[at] for at in any_row(places, test, FEW)]

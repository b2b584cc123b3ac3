"""Which rows of a test's product `make check` runs. `make soak` runs them all.

Of a test without a board every value of every parameter is in some row. Of a test on boards, whose parameter names a chip and perhaps
the wires to it ("m4/swd"), one of those rows runs; if it is marked `each_value`, because a row takes long, one chip of a family is as good
as any. A test that is marked `any_row` takes as many rows as it says. A row through OpenOCD, which has no wires in its
name, takes many times as long: a sixth of the tests may take one, unless it shows what no other row does. Which rows, differs from test
to test, so that each chip and each wire is in many tests; the others are left to `make soak`. The rows are the same each time: a test
that failed is there again."""
import zlib

WIRES = {"", "swd", "jtag", "v1", "v2"}
OPENOCD_IN = 6  # one test in N may take a row that goes through OpenOCD
BEHIND_OPENOCD = ("wires", "")
FAMILIES = {"rp2040": "Cortex-M", "rp2350": "Cortex-M", "m4": "Cortex-M", "m7": "Cortex-M", "m33": "Cortex-M", "m55": "Cortex-M", "a9": "Armv7-A", "a7": "Armv7-A",
            "a53in32": "Armv8 in AArch32 state", "r52": "Armv8 in AArch32 state", "r52hyp": "Armv8 in AArch32 state", "a53el2": "a53", "a53mixed": "a53"}
CHIPS = {*FAMILIES, "a53", "r5"}


def row_of(params):
    """A row's parameters as text; a function goes by its name."""
    def text(value):
        name = getattr(value, "__name__", "<lambda>")
        return str(value) if name == "<lambda>" else name
    return [(name, text(value)) for name, value in params.items()]


def parts(name, value):
    """A row's value of one parameter, and the wires."""
    chip, _, wires = value.partition("/")
    if name in ("way", "chip") and wires in WIRES:
        return (name, chip), wires
    return (name, value), None


def values(row, families):
    """What a row shows."""
    for name, value in row:
        (name, value), wires = parts(name, value)
        yield name, FAMILIES.get(value, value) if families else value
        if wires is not None:
            yield "wires", wires


def is_behind_openocd(row):
    return any(parts(name, value)[1] == "" for name, value in row)


def any_row(rows, test, count=1):
    """The places of `count` rows, far apart and not the same in each test."""
    first = zlib.crc32(test.encode())
    return sorted({(first + turn * len(rows) // count) % len(rows) for turn in range(count)})


def each_value(rows, test, families=False):
    """The places of the rows that together show what all of them do; of two that show as much the one not through OpenOCD."""
    shows = [set(values(row, families)) for row in rows]
    number = zlib.crc32(test.encode())
    if number % OPENOCD_IN and any(name == "wires" and wires for row in shows for name, wires in row):
        shows = [row - {BEHIND_OPENOCD} for row in shows]
    missing, places = set().union(*shows), []
    while missing:
        best = max(range(len(rows)), key=lambda place: (len(shows[place] & missing), not is_behind_openocd(rows[place]),
                                                        -((place + number) % len(rows))))
        places.append(best)
        missing -= shows[best]
    return sorted(places)


def is_on_board(row):
    return any(value.partition("/")[0] in CHIPS for _, value in row)


def chosen(rows, test, long=False):
    """The places of the rows that run of a test."""
    places = each_value(rows, test, families=long)
    most = 1 if long or any(map(is_on_board, rows)) else len(places)
    return [places[at] for at in any_row(places, test, min(most, len(places)))]

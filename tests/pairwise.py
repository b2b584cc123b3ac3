"""Which rows of a test's product `make check` runs. `make soak` runs them all.

A parameter that names a chip and the wires to it ("m4/swd") counts as two. Every value of every parameter is in some row,
and so is every pair of values of two parameters that occurs in the product. Greedy, and the same rows each time: a test
that failed is there again."""
import itertools

WIRES = {"", "swd", "jtag", "v1", "v2"}


def row_of(params):
    """A row's parameters as text; a function goes by its name."""
    def text(value):
        name = getattr(value, "__name__", "<lambda>")
        return str(value) if name == "<lambda>" else name
    return [(name, text(value)) for name, value in params.items()]


def parts(name, value):
    """A row's value of one parameter, as one or two (name, value)."""
    chip, _, wires = value.partition("/")
    if name in ("way", "chip") and wires in WIRES:
        return ((name, chip), (name + "'s wires", wires))
    return ((name, value),)


def wanted(row):
    """What a row shows: each of its values, and each pair of values of two parameters."""
    values = [parts(name, value) for name, value in row]
    singles = {(part,) for several in values for part in several}
    pairs = {(a, b) for one, other in itertools.combinations(values, 2) for a in one for b in other}
    return singles | pairs


def chosen(rows):
    """The places of the rows that together show what all of them do."""
    shows = [wanted(row) for row in rows]
    missing, places = set().union(*shows), []
    while missing:
        best = max(range(len(rows)), key=lambda place: (len(shows[place] & missing), -place))
        places.append(best)
        missing -= shows[best]
    return sorted(places)

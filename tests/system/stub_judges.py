"""What tests/stub/measures.c has to have seen, on whatever it ran: values by name, and what an instruction takes in cycles."""

CYCLES = 1 << 31  # the cycle counter's bit


def by_name(pairs):
    """Name to value, or to its values in order where it is there more than once."""
    found = {}
    for name, value in pairs:
        found.setdefault(name, []).append(value)
    assert found.get("end") == [1], found
    return {name: values[0] if len(values) == 1 else values for name, values in found.items()}


def increments(seen, counters):
    assert seen["counters"] == counters
    assert seen["incremented"] == [100 * n + 7 + (n in (1, 2)) for n in range(counters)]
    assert seen["stopped"] == 108 and seen["beside"] == 208 + 10
    assert seen["all.stopped"] == 108 and seen["all.again"] == 109


def resets(seen, instruction):
    assert seen["reset.counter"] == 0 and seen["reset.kept_cycles"] == 1
    assert 0 < seen["reset.cycles"] < 100 * instruction and seen["reset.kept_counter"] == 9


def stopping(seen, instruction):
    assert seen["disabled.counter_moved"] == 0 and seen["disabled.cycles_moved"] == 0
    assert seen["disabled.beside_moved"] > 1000 * instruction


def flags(seen):
    assert seen["flags.before"] == 0 and seen["flags.forced"] == 0b101
    assert seen["flags.one_cleared"] == 0b001 and seen["flags.cleared"] == 0
    assert seen["flags.cycles"] == CYCLES and seen["flags.cycles_cleared"] == 0


def edges(seen, instruction, wraps):
    assert seen["edge.worst"] < 200 * instruction and seen["edge.worst_cycles"] < 200 * instruction
    assert seen["polled.worst"] < 200 * instruction and seen["polled.wraps"] == wraps


def sets(seen, counters, instruction):
    assert seen["set.of_32"] == counters, "no more than there are"
    assert seen["set.flags_before"] == 1 and seen["set.flags"] == 0
    assert seen["set.first"] == seen["set.last"] == 2, "from zero"
    assert seen["set.stopped"] == 2 and seen["set.cycles_stopped"] == 0
    assert seen["set.of_2"] == 2 and seen["set.second"] == 1 and seen["set.unused"] == 0
    assert 1000 * instruction < seen["set.cycles"] < 10000 * instruction

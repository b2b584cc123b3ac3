"""Trace packets as the architecture manuals have them, read for the board's tests alone: slowly, in few words, and with no part
of the tool's reader or the board's writer. Formatter frames likewise."""


class Packet:
    __slots__ = ("kind", "number", "value", "size")

    def __init__(self, kind, number=0, value=0, size=0):
        self.kind, self.number, self.value, self.size = kind, number, value, size

    def __repr__(self):
        return f"{self.kind} {self.number} {self.value:#x}/{self.size}"

    def __eq__(self, other):
        return repr(self) == repr(other)


def sevens(data):
    """A number of 7 bits a byte, the lowest first, and what follows it."""
    value = 0
    for n, byte in enumerate(data[:4]):
        value |= (byte & 0x7F) << 7 * n
        if not byte & 0x80:
            return value, data[n + 1:]
    return value, data[4:]


def hardware(number, payload):
    value, size = int.from_bytes(payload, "little"), len(payload)
    if number == 1 and size == 2:
        return Packet({1: "enter", 2: "exit", 3: "return"}[value >> 12 & 3], value & 0x1FF)
    if number == 0:
        return Packet("counters", 0, value, size)
    if number in (2, 3):
        return Packet(("pc", "pmu")[number - 2], 0, value, size)
    assert 8 <= number < 24, number
    which = (number >> 1) & 3
    if number < 16:
        kind = "address" if number & 1 else "match" if size == 1 and value & 1 else "from"
    else:
        kind = "write" if number & 1 else "read"
    return Packet(kind, which, value, size)


def packets(data):
    """Every packet of a whole stream; a half one at its end is left out."""
    data, found = bytes(data), []
    while data:
        head, rest = data[0], data[1:]
        if head == 0:
            zeros = len(data) - len(data.lstrip(b"\0"))
            if len(data) <= zeros:
                return found
            assert zeros >= 5 and data[zeros] == 0x80, data[:16].hex()
            found.append(Packet("sync"))
            data = data[zeros + 1:]
        elif head == 0x70:
            found.append(Packet("overflow"))
            data = rest
        elif head & 0x8F == 0:
            found.append(Packet("time", 0, head >> 4))
            data = rest
        elif head & 0xCF == 0xC0:
            if all(b & 0x80 for b in rest[:4]) and len(rest) < 4:
                return found
            value, data = sevens(rest)
            found.append(Packet("time", head >> 4 & 3, value))
        else:
            assert head & 3, f"not sent by the board: {head:#x}"
            size = (0, 1, 2, 4)[head & 3]
            if len(rest) < size:
                return found
            payload, data = rest[:size], rest[size:]
            found.append(hardware(head >> 3, payload) if head & 4 else
                         Packet("port", head >> 3, int.from_bytes(payload, "little"), size))
    return found


def moments(stream, step=1):
    """(time, exactness, packets) of each group that a timestamp closes: the time is the sum of values plus `step` each, exactness
    as its TC says, None after an overflow in the group."""
    now, group, out = 0, [], []
    for p in stream:
        if p.kind != "time":
            group.append(p)
            continue
        now += p.value + step
        lost = any(g.kind == "overflow" for g in group)
        out.append((now, None if lost else p.number, [g for g in group if g.kind != "overflow"]))
        group = []
    return out


def unframe(data):
    """Formatter frames to (ID, byte), and padding left out."""
    current, out = None, []
    for at in range(0, len(data) - 15, 16):
        frame = data[at:at + 16]
        for k in range(0, 15, 2):
            flag = frame[15] >> (k // 2) & 1
            pair = frame[k + 1:k + 2] if k < 14 else b""
            if not frame[k] & 1:
                out += [(current, b) for b in bytes([frame[k] | flag]) + pair]
            else:
                old, current = current, frame[k] >> 1
                out += [(old if flag else current, b) for b in pair]
    return [(i, b) for i, b in out if i]

"""Which room of probe/ may include which: docs/architecture.md draws it, this reads the drawing and checks every #include. Two
files do not include each other, directly or through others. `python3 tests/layers.py` prints what it finds."""
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def drawn_layers(page):
    """The room's layer, main's the highest, by room."""
    with open(page, encoding="utf-8") as file:
        drawing = file.read().split("\n## Layers\n")[1].split("```\n")[1]
    lines = [line.partition("|")[0] for line in drawing.splitlines()]
    return {room.strip(): len(lines) - at for at, line in enumerate(lines) for room in line.split(",")}


def room_of(unit):
    return os.path.dirname(unit) or "main"


def includes(probe):
    """Triples: who includes whom, as files below probe/ without their endings, and the ending of the first."""
    for folder, _, names in os.walk(probe):
        for name in sorted(names):
            path = os.path.join(folder, name)
            if not name.endswith((".c", ".h")):
                continue
            with open(path, encoding="utf-8") as file:
                included = re.findall(r'^\s*#\s*include\s*"([^"]+)"', file.read(), re.M)
            for header in included:
                found = next((there for there in (os.path.join(probe, header), os.path.join(folder, header))
                              if os.path.exists(there)), None)
                if found:  # else made by the build
                    pair = [os.path.splitext(os.path.relpath(there, probe))[0] for there in (path, found)]
                    if pair[0] != pair[1]:
                        yield (*pair, name[-2:])


def rings(edges):
    """Each ring as the files that it passes through, one for each set of files that include each other."""
    after = {}
    for one, other in edges:
        after.setdefault(one, set()).add(other)

    def reached(start):
        seen, todo = set(), [start]
        while todo:
            for unit in after.get(todo.pop(), ()):
                if unit not in seen:
                    seen.add(unit)
                    todo.append(unit)
        return seen

    behind = {unit: reached(unit) for unit in after}
    sets = {frozenset(other for other in behind[unit] if unit in behind.get(other, ())) for unit in after if unit in behind[unit]}
    return sorted(sorted(ring) for ring in sets)


def problems(root=ROOT):
    layers = drawn_layers(os.path.join(root, "docs", "architecture.md"))
    probe = os.path.join(root, "probe")
    found = list(includes(probe))
    edges = {(one, other) for one, other, _ in found}
    strange = sorted({room_of(unit) for pair in edges for unit in pair} - set(layers))
    yield from (f"{room}: not in the drawing of docs/architecture.md" for room in strange)
    for one, other in sorted(edges):
        rooms = room_of(one), room_of(other)
        if rooms[0] != rooms[1] and not strange and layers[rooms[1]] >= layers[rooms[0]]:
            yield f"{one} includes {other}: {rooms[1]} is not below {rooms[0]}"
    # A header without a .c is a part of the .c that includes it, and may include that one's header
    units = {(one, other) for one, other, ending in found
             if ending == ".h" or os.path.exists(os.path.join(probe, other + ".c"))}
    yield from ("a ring: " + ", ".join(ring) for ring in rings(units))


if __name__ == "__main__":
    wrong = list(problems())
    print("\n".join(wrong))
    sys.exit(bool(wrong))

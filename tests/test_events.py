"""The event and metric files, read by a second parser: the tool must embed exactly what they say."""
import glob
import math
import os
import re

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
EVENTS = os.path.join(ROOT, "probe/events")
METRICS = os.path.join(ROOT, "probe/metrics")

# How many events each has in its documents. Left out: pseudo codes that stand for the cycle counter and must never be
# written to an event register (Cortex-A8 and A9: 0xFF), what Armv7 reserves (0x1E), and on Armv8.1-M cores the ten
# events of cache levels that they do not have.
COUNTS = {
    "armv7-common": 30, "armv8-pmuv3": 285, "armv8-pmuv3-common": 64 + 28, "armv8.1m-pmu": 131, "cortex-a15": 67,
    "cortex-a17": 82, "cortex-a32": 34, "cortex-a35": 39, "cortex-a5": 33, "cortex-a510": 144, "cortex-a520": 180,
    "cortex-a53": 59, "cortex-a55": 111, "cortex-a57": 84, "cortex-a65": 129, "cortex-a7": 41, "cortex-a710": 151,
    "cortex-a715": 148, "cortex-a720": 193, "cortex-a73": 80, "cortex-a75": 104, "cortex-a76": 107,
    "cortex-a78": 118, "cortex-a8": 49, "cortex-a9": 62, "cortex-m52": 121 + 36, "cortex-m55": 121 + 46,
    "cortex-m85": 121 + 57, "cortex-r4": 61, "cortex-r5": 67, "cortex-r52": 95, "cortex-r7": 44, "cortex-r8": 51,
    "cortex-r82": 205, "cortex-x1": 122, "cortex-x3": 155, "cortex-x4": 244, "neoverse-n1": 110, "neoverse-n3": 201,
    "neoverse-v1": 132, "neoverse-v3": 229, "dwt": 6, "knc": 63,
}
V7 = ("cortex-a5", "cortex-a7", "cortex-a8", "cortex-a9", "cortex-a15", "cortex-a17", "cortex-r4", "cortex-r5",
      "cortex-r7", "cortex-r8")
V8_0 = ("cortex-a32", "cortex-a35", "cortex-a53", "cortex-a57", "cortex-a73", "cortex-r52")
V8 = (*V8_0, "cortex-a55", "cortex-a65", "cortex-a75", "cortex-a76", "cortex-a78", "cortex-a510", "cortex-a520",
      "cortex-a710", "cortex-a715", "cortex-a720", "cortex-r82", "cortex-x1", "cortex-x3", "cortex-x4", "neoverse-n1",
      "neoverse-n3", "neoverse-v1", "neoverse-v3")
EARLIER = ("STALL_FRONTEND_TLB", "STALL_BACKEND_ILOCK", "STALL_BACKEND_ST")  # cores had them before Armv9 did
M8 = ("cortex-m52", "cortex-m55", "cortex-m85")
HIGHEST = {**dict.fromkeys(COUNTS, 0xFFFF), **dict.fromkeys(("armv7-common", *V7), 0xFF),
           **dict.fromkeys(V8_0, 0x3FF), "dwt": 5}


def drop(events, words):
    """Returns what it dropped."""
    dropped = {}
    for word in words:
        low, _, high = word.partition("-")
        codes = [code for code in events if int(low, 16) <= code <= int(high or low, 16)]
        assert codes, f"nothing has the codes {word}"
        dropped.update((code, events.pop(code)) for code in codes)
    return dropped


def texts():
    """{set: its lines}"""
    found = {}
    for path in sorted(glob.glob(EVENTS + "/*.events")):
        name = os.path.basename(path)[:-len(".events")]
        with open(path, encoding="ascii") as lines:
            for line in lines:
                line = line.partition("#")[0].strip()
                if line.startswith("set "):
                    name = line[4:]
                    assert name not in found
                elif line:
                    found.setdefault(name, []).append(line)
    return found


TEXTS = texts()


def read(cpu, above=()):
    """{code: (name, words)}"""
    assert cpu not in above
    found, used = {}, None
    for line in TEXTS[cpu]:
        first, _, rest = line.partition(" ")
        if first == "use":
            other, *codes = rest.split()
            used = read(other, (*above, cpu))
            used = drop(used, codes) if codes else used
            assert not set(used) & set(found), f"{cpu}: {line}"
            found.update(used)
        elif first == "except":
            for code in drop(used, rest.split()):
                del found[code]
        elif first == "erratum":
            assert re.fullmatch(r"0x[0-9A-F]{2,4} ((SDEN-)?\d{6,7}|rr-\d{4}) 0x[0-9A-F]{3} (any|r\dp\d(-r\dp\d)?)  \S.{5,90}", rest), f"{cpu}: {line}"
            assert int(rest.split()[0], 16) in found, f"{cpu}: {line}"
        else:
            used = None
            assert re.fullmatch(r"0x[0-9A-F]{2,4}", first), f"{cpu}: {line}"
            name, _, words = rest.strip().partition(" ")
            assert int(first, 16) not in found, f"{cpu}: {line}"
            found[int(first, 16)] = name, words.strip()
    return found


def test_every_set_is_counted():
    assert set(TEXTS) == set(COUNTS)


@pytest.mark.parametrize("cpu", COUNTS)
def test_a_set_is_complete_and_consistent(cpu):
    found = read(cpu)
    names = [name for name, _ in found.values()]
    assert len(found) == COUNTS[cpu]
    assert len({name.upper() for name in names}) == len(names)
    assert max(found) <= HIGHEST[cpu]
    for code, (name, words) in found.items():
        assert re.fullmatch(r"[A-Z][A-Z0-9_]{1,46}", name), name
        assert not re.fullmatch(r"R[0-9A-F]+", name), f"{name} would be read as a raw code"
        assert words and len(words) <= 95 and len(words.split()) <= 10, f"{code:#x} {name}: {words}"


@pytest.mark.parametrize("cpu", (*V7, *V8, *M8))
def test_the_architectures_events_keep_their_codes(cpu):
    common = read("armv7-common" if cpu in V7 else "armv8-pmuv3" if cpu in V8 else "armv8.1m-pmu")
    own = read(cpu)
    shared = [code for code in own if code in common]
    assert len(shared) > 10 and all(own[code] == common[code] for code in shared)
    code_of = {name: code for code, (name, _) in common.items()}
    assert all(code_of.get(name, code) == code for code, (name, _) in own.items() if name not in EARLIER)
    assert own[0x11][0] == "CPU_CYCLES"


def test_one_name_has_one_meaning():
    meaning = {}
    for cpu in COUNTS:
        for name, words in read(cpu).values():
            assert meaning.setdefault(name, words) == words, f"{cpu}: {name}"


def test_codes_that_are_often_copied_wrongly():
    a9, a15, knc = read("cortex-a9"), read("cortex-a15"), read("knc")
    assert 0x08 not in a9 and 0x0E not in a9 and 0xFF not in a9
    assert a9[0x68][0] == "INST_OUT_OF_RENAME_STAGE" and a9[0x6E][0] == "PREDICTABLE_FUNCT_RETURNS"
    assert a9[0x74][0] == "NEON_EXECUTED_INST" and "NEON" in a9[0x74][1]
    assert a15[0x50][0] == "L2D_CACHE_RD" and a15[0x60][0] == "BUS_ACCESS_RD" and 0x81 not in a15
    assert set(code for code in read("cortex-a7") if 0x60 <= code < 0xC0) == {0x60, 0x61, 0x86, 0x87}
    assert 0x1E not in read("armv7-common") and read("armv8-pmuv3-common")[0x1E][0] == "CHAIN"
    assert read("cortex-r7")[0x51][0] == "FIQ_CYCLES" and read("cortex-r7")[0x61][0] == "PRED_PARITY"
    m = read("armv8.1m-pmu")
    assert m[0x261][0] == "MVE_LD_MULTI_SPEC" and m[0x264][0] == "MVE_ST_MULTI_RETIRED"
    assert [knc[code][0] for code in (0, 1, 2, 3, 4, 6, 9, 0xA, 0xC, 0xD, 0xE)] == [
        "DATA_READ", "DATA_WRITE", "DATA_PAGE_WALK", "DATA_READ_MISS", "DATA_WRITE_MISS",
        "DATA_CACHE_LINES_WRITTEN_BACK", "MEMORY_ACCESSES_IN_BOTH_PIPES", "BANK_CONFLICTS", "CODE_READ",
        "CODE_PAGE_WALK", "CODE_CACHE_MISS"]
    assert knc[0x10CC] == ("L2_WRITE_HIT", "L2 write hits; counter 0")


def test_what_only_one_counter_counts_says_so():
    """Knights Corner: unit mask 0x10 but for two events."""
    for code, (_, words) in read("knc").items():
        assert words.endswith("; counter 0") == (code >> 8 == 0x10 and code not in (0x10F0, 0x10F5))


def test_knights_corner_has_what_no_document_lists():
    """Linux knows four; the other 59 are the document's."""
    marked = {code for code, (_, words) in read("knc").items() if "Linux only" in words}
    assert marked == {0x10C3, 0x10C4, 0x10CE, 0x10CF} and len(read("knc")) - len(marked) == 59


def sections():
    for name in sorted(glob.glob(METRICS + "/*.metrics")):
        events, metrics = [], []
        with open(name, encoding="ascii") as lines:
            for line in [*lines, "EVENTS"]:
                first, _, rest = line.partition("#")[0].strip().partition(" ")
                if first == "EVENTS":
                    if metrics:
                        yield name, events, metrics
                    events, metrics = rest.replace(",", " ").split(), []
                elif first:
                    assert first == "METRIC"
                    metrics.append(rest)


def test_metrics_are_made_of_events_that_a_core_has():
    known = [{name for name, _ in read(cpu).values()} for cpu in COUNTS]
    found = list(sections())
    assert len(found) >= 9
    for name, events, metrics in found:
        assert any(all(event in core for event in events) for core in known), f"{name}: {events}"
        for metric in metrics:
            expression = metric.partition("=")[2]
            names = set(re.findall(r"[A-Za-z_]\w*", expression))
            assert names - {"CYCLES", "SECONDS", "HZ"} <= set(events), metric
            # It is one that Python can work out as well, to a number
            assert math.isfinite(eval(expression, {}, dict.fromkeys(names, 7.0)))

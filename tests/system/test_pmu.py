"""Events of real PMUs against the board's truth: every modelled event of every hit, in one pass or in several."""
import pytest

from harness import ARTICLE_NOP, CALLED_TWICE, LOOP_ROUND, WORK_BY_DATA, SOAK, Place, hits_of, passages, returned, run_tool, unfolded
from own_program import START, own_place

pytestmark = pytest.mark.each_value  # a row takes long

CPUS = {"m55": "cortex-m55", "a9": "cortex-a9", "a7": "cortex-a7", "a53": "cortex-a53", "r5": "cortex-r5", "r52": "cortex-r52",
        "a53in32": "cortex-a53"}
NOT_MODELLED = None
WAYS = ["m55/swd", "m55/jtag", "m55/v2", "m55", "a9/swd", "a9/jtag", "a9", "a7/swd", "a7", "a53/swd", "a53/jtag", "a53", "r5/swd", "r5/jtag", "r5",
        "r52/swd", "r52", "a53in32/swd", "r52hyp/swd", "a53el2/swd"]


def codes_of(cpu):
    """Name to code, as `list` has it."""
    found = {}
    for line in run_tool("list", "--cpu", CPUS[cpu]).out.splitlines():
        words = line.split()
        if words and words[0].startswith("0x"):
            found[words[1]] = int(words[0], 16)
    return found


UNSET = ("DWT_CMPMATCH", "TRCEXTOUT", "CTI_TRIGOUT")  # outputs that nothing has set up: refused


def modelled(place):
    """The events that the board counts, by the names of the tool."""
    place.board.watch(0xFFFFFFF0)
    result = place.run("delta", "work_by_data", "-r", 1)
    assert result.code == 0, result.err
    counted = next(event for event in place.board.log() if event.counts).counts
    return {name: code for name, code in codes_of(place.chip).items() if code in counted and not name.startswith(UNSET)}


def compare(place, result, start, events, is_end=returned):
    truth = passages(place.board.log(), place.symbol(start), is_end)
    assert len(truth) >= len(result.hits)
    seen = set()
    for hit, passage in zip(result.hits, truth):
        assert hit["values"]["CPU_CYCLES"] == passage.cycles, hit
        for name, value in hit["values"].items():
            if name == "CPU_CYCLES":
                continue
            code = events[name]
            wanted = 0 if code is NOT_MODELLED else passage.end.counts[code] - passage.begin.counts[code]
            assert value == wanted and name not in hit.get("at_least", []), (name, hit, wanted)
            seen.add(name)
    return seen


@pytest.mark.any_row(3)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("function, bits", [("work_by_data", WORK_BY_DATA), ("called_twice", CALLED_TWICE)])
def test_every_event_of_every_hit(way, function, bits):
    with Place(way, "free", WORK_BY_DATA | bits) as place:
        events = modelled(place)
        assert len(events) >= 6
        result = place.delta(function, "-r", hits_of(place, 1000 if SOAK else 200, 100), "-e", ",".join(events))
        assert compare(place, result, function, events) == set(events) - {"CPU_CYCLES"}
        assert result.summary.get("passes", 1) >= 1 and not result.summary.get("disagreement")


@pytest.mark.parametrize("way", ["m55/swd", "m55", "a9/swd", "a7/swd", "a53/swd"])
@pytest.mark.parametrize("halt_cost", ["13", "5..60"])
def test_at_two_halt_costs(way, halt_cost):
    with Place(way, "free", WORK_BY_DATA, halt_cost=halt_cost) as place:
        events = modelled(place)
        result = place.delta("work_by_data", "-r", hits_of(place, 200), "-e", "LD_RETIRED,ST_RETIRED")
        truth = passages(place.board.log(), place.symbol("work_by_data"), returned)
        off = result.summary["columns"]["CPU_CYCLES"]["plus_minus"]
        within = 0
        for hit, passage in zip(result.hits, truth):
            within += abs(hit["values"]["CPU_CYCLES"] - passage.cycles) <= off
            for name in ("LD_RETIRED", "ST_RETIRED"):
                assert hit["values"][name] == passage.end.counts[events[name]] - passage.begin.counts[events[name]]
        # the ± is of some forty samples of what is random here
        assert within >= 0.95 * len(result.hits) and (halt_cost != "13" or off == 0)


@pytest.mark.parametrize("way", ["a9/swd", "a9", "r5/swd", "r5"])
def test_cycles_by_64(way):
    """Cycles by 64 are scaled and marked, and their error stays within the bound; events still count one by one."""
    with Place(way, "free", WORK_BY_DATA) as place:
        before = place.board.state()["pmcr"]
        result = place.delta("work_by_data", "-r", 50, "-e", "CPU_CYCLES,LD_RETIRED", "--divide64")
        truth = passages(place.board.log(), place.symbol("work_by_data"), returned)
        off = result.summary["columns"]["CPU_CYCLES"]["plus_minus"]
        assert "by 64" in result.header["note"] and 63 <= off < 128
        for hit, passage in zip(result.hits, truth):
            assert abs(hit["values"]["CPU_CYCLES"] - passage.cycles) <= off, (hit, passage.cycles)
            assert hit["values"]["LD_RETIRED"] == passage.end.counts[0x06] - passage.begin.counts[0x06], hit
        assert len(set(result.cycles)) < len({passage.cycles for passage in truth})
        assert place.board.state()["pmcr"] == before


def test_only_a_pmu_divides_its_cycles():
    with Place("m4/swd", "free", WORK_BY_DATA) as place:
        refused = place.run("delta", "work_by_data", "-r", 1, "--divide64")
        assert refused.code == 3 and "no divider" in refused.err, refused.err


def test_more_events_than_counters_take_turns():
    with Place("m55/swd", "free", WORK_BY_DATA) as place:
        events = [name for name in modelled(place) if name != "CPU_CYCLES"]
        many = events + [name for name in codes_of("m55") if name not in events and not name.startswith((*UNSET, "CHAIN", "CPU_CYCLES"))][:20]
        result = place.delta("work_by_data", "-r", 10, "-e", ",".join(many))
        assert result.summary["passes"] > 1 and len(result.hits) == 10 * result.summary["passes"]
        by_pass = {}
        for hit in result.hits:
            by_pass.setdefault(hit["pass"], []).append(set(hit["values"]))
        assert all(len({frozenset(names) for names in sets}) == 1 for sets in by_pass.values())
        assert all("CPU_CYCLES" in sets[0] for sets in by_pass.values())
        together = place.run("delta", "work_by_data", "-e", "{" + ",".join(many[:9]) + "}")
        assert together.code == 2 and "8" in together.err, together.err


def test_what_the_pmu_was_set_to_is_put_back():
    with Place("m55/swd", "free", ARTICLE_NOP | LOOP_ROUND) as place:
        before = place.board.state()
        assert place.run("delta", "article_nop", "-r", 5, "-e", "INST_RETIRED,LD_RETIRED,ST_RETIRED").code == 0
        assert place.run("stat", "-e", "INST_RETIRED", "--for", "200ms").code == 0
        after = place.board.state()
        changing = {"pc", "sp", "lr", "xpsr", "cycles", "counted", "instructions", "halts", "accesses", "cyccnt", "syst_cvr",
                    "ram_hash", "csw", "tar", "dcrdr", "run", "icsr", "profile", "dfsr"}
        for name, value in before.items():
            if name not in changing and "cnt" not in name and "counts" not in name:
                assert after[name] == value, (name, value, after[name])


# The article that everybody copies from lists these for "ARM PMUs"; they are the Cortex-A9's, and not all of them exist there
ARTICLE = [*range(0x00, 0x11), 0x12, 0x50, 0x51, *range(0x60, 0x69), 0x6E, *range(0x70, 0x75), *range(0x81, 0x87), 0x8A]


def test_the_article_s_42_events_in_one_command():
    assert len(ARTICLE) == 42
    with Place("a9/swd", "free", WORK_BY_DATA) as place:
        codes = codes_of("a9")
        by_code = {code: name for name, code in codes.items()}
        events = modelled(place)
        result = place.delta("work_by_data", "-r", 4, "-e", ",".join(f"r{code:x}" for code in ARTICLE))
        columns = result.summary["columns"]
        lacking = {name for name, column in columns.items() if "not_supported" in column}
        assert len(columns) == 43 and result.summary["passes"] == -(-(42 - len(lacking)) // 6)
        wanted = {f"r{code:x}" for code in ARTICLE if code not in by_code}
        assert {name.lower() for name in lacking} == wanted, lacking
        assert {"r8", "re"} <= {name.lower() for name in lacking}, "an A9 counts neither instructions so nor returns"
        compare(place, result, "work_by_data", codes_without(events, codes) | events)
        text = place.run("delta", "work_by_data", "-r", 2, "-e", "r8").out
        assert "<not supported>" in text


def codes_without(events, codes):
    """Events that the board does not model count nothing."""
    return {name: NOT_MODELLED for name in codes if name not in events}


IN_SECURE_STATE = START + """
APART uint32_t f(uint32_t x) { for (int i = 0; i < 10; i++) sink += x; return x; }
void run(void)
{
    if (FIRMWARE_ALLOWS)
        __asm volatile("msr mdcr_el3, %0" ::"r"(1ul << 17));
    for (;; round_count++)
        sink += f(sink);
}
"""


@pytest.mark.parametrize("chip, allows, says", [("a55", 0, True), ("a55", 1, True), ("a53", 0, False)])
def test_events_in_secure_state(chip, allows, says, tmp_path):
    """From Armv8.2 on only the firmware can let them count there (DDI 0487 D11.5.3), which nothing shows at EL1: they are marked, and
    that no exception was counted shows nothing. Cycles count. On an Armv8.0 core the debugger's rights suffice."""
    with own_place(tmp_path, f"{chip}/swd", IN_SECURE_STATE, f"-DFIRMWARE_ALLOWS={allows}") as place:
        counts = allows == 1 or chip == "a53"
        if not counts:  # a hit executes instructions
            refused = place.run("delta", "f", "-M", "IPC", "-r", 3)
            assert refused.code == 3 and "INST_RETIRED did not move in a hit: the firmware does not let it count" in unfolded(refused.err), refused.err
        result = place.delta("f", "-e", "LD_RETIRED", *(["-M", "IPC"] if counts else []), "-r", 3)
        columns, metrics = result.summary["columns"], result.summary.get("metric_errata", {})
        assert result.cycles[0] > 40 and (columns["LD_RETIRED"]["mean"] > 0) == counts
        assert ("SPME" in columns["LD_RETIRED"].get("errata", "")) == says
        assert "errata" not in columns["CPU_CYCLES"] and ("SPME" in str(metrics)) == (says and counts)
        assert ("no counter shows whether exceptions ran in 3 of 3 hits" in result.summary.get("doubt", "")) == says
        shown = " ".join(place.run("delta", "f", "-r", 3).out.split())
        assert ("no counter shows whether exceptions ran" in shown) == says and ("each count is exact" in shown) != says

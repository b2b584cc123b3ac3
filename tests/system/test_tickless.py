"""A program whose idle task sets SysTick's reload: hits within one of its periods are right, longer ones say so."""
import pytest

from harness import passages, returned, unfolded
from own_program import START, own_place

TICK = 12000
SOURCE = START + f"#define TICK {TICK}u" + r"""
#define CSR REGISTER(0xE000E010)
#define RVR REGISTER(0xE000E014)
#define CVR REGISTER(0xE000E018)
volatile uint32_t ticks, stops, idle_in_hit;
void SysTick_Handler(void) { ticks++; }
APART void sleep_ticks(uint32_t n)
{
    CSR = 6;
    RVR = n * TICK - 1; CVR = 0; CSR = 7;
    __asm volatile("dsb\n wfi\n isb");
    CSR = 6;
    ticks += n - 1;
    RVR = TICK - 1; CVR = 0; CSR = 7;
    stops++;
}
static void (*volatile idle)(uint32_t) = sleep_ticks;
APART void filter(void)
{
    for (uint32_t i = 0; i < 200 + (round_count & 7); i++) sink += i;
}
APART void blocks(void)
{
    filter();
    idle(2);
}
APART void slow(void)
{
    for (uint32_t i = 0; i < 4000; i++) sink += i;
}
void run(void)
{
    RVR = TICK - 1; CVR = 0; CSR = 7;
    idle = sleep_ticks;
    for (;; round_count++) {
        filter();
        filter();
        idle(5 + (round_count & 3));
        blocks();
        slow();
    }
}
"""
WAYS = [way.format(chip) for chip in ("rp2040", "m4", "m33", "rp2350") for way in ("{}/swd", "{}")]


def counted(way):
    return [] if way.startswith("rp2040") else ["--counter", "systick"]


def hits_of(folder, way, function, *args):
    """Each hit's count, what is true, and whether it is printed as a lower bound."""
    # At 12 MHz the reload changes some times in any check before the run; at the 2 MHz of other tests it may not
    with own_place(folder, way, SOURCE, clock=12000000) as place:
        place.board.watch(place.symbol(function))
        result = place.run(*counted(way), "delta", function, "-j", "-r", 40, *args)
        assert result.code == 0, result.out + result.err
        true = [passage.cycles for passage in passages(place.board.log(), place.symbol(function), returned)]
    assert "SysTick's reload changes" in result.lines[0]["note"], result.lines[0]
    hits = [(line["values"]["CPU_CYCLES"], "at_least" in line) for line in result.lines if line["type"] == "hit"]
    assert len(hits) == 40 <= len(true), result.out
    return [(count, cycles, at_least) for (count, at_least), cycles in zip(hits, true[-len(hits):])]


EVIDENCE = [(way, evidence) for way in WAYS for evidence in ("", "--tick ticks", *["--freq 12000000"] * way.startswith("rp2040"))]


@pytest.mark.any_row(3)
@pytest.mark.parametrize("way, evidence", EVIDENCE)
def test_a_hit_within_a_period_is_right(way, evidence, tmp_path):
    """By the program's ticks or the RP2040's timer; by the host's time alone only sometimes."""
    hits = hits_of(tmp_path, way, "filter", *evidence.split())
    assert all(count <= true if at_least else count == true for count, true, at_least in hits), hits
    # By ticks only where the ELF shows the table of handlers: VTOR of the others is 0
    assert not evidence or ("tick" in evidence and not way.startswith("rp2")) or sum(at_least for _, _, at_least in hits) <= 4, hits


@pytest.mark.any_row(3)
@pytest.mark.parametrize("function", ["blocks", "slow"])
@pytest.mark.parametrize("way, evidence", EVIDENCE)
def test_what_is_longer_is_a_lower_bound(way, evidence, function, tmp_path):
    hits = hits_of(tmp_path, way, function, *evidence.split())
    assert all(at_least and count <= true for count, true, at_least in hits), hits


@pytest.mark.any_row(2)
@pytest.mark.parametrize("way", WAYS)
def test_survey_measures_what_does_not_write_it(way, tmp_path):
    with own_place(tmp_path, way, SOURCE) as place:
        place.board.watch(place.symbol("filter"))
        result = place.run(*counted(way), "survey", "filter", "sleep_ticks", "--tick", "ticks", "-j", "-r", 20)
        assert result.code == 0, result.out + result.err
        rows = {line["name"]: line for line in result.lines if line["type"] == "region"}
        true = {passage.cycles for passage in passages(place.board.log(), place.symbol("filter"), returned)}
        cycles = rows["filter"]["columns"]["CPU_CYCLES"]
        assert rows["filter"]["hits"] >= 20, result.out
        if cycles["count"] > 0:  # the ticks of many regions are lower bounds
            assert {cycles["min"], cycles["max"]} <= true, result.out
        assert "the program can write the counter in it: own.c:" in rows["sleep_ticks"]["why"], result.out


@pytest.mark.any_row(2)
@pytest.mark.parametrize("way", WAYS)
def test_doctor_names_the_lines_and_stat_refuses(way, tmp_path):
    with own_place(tmp_path, way, SOURCE) as place:
        result = place.run(*counted(way), "doctor")
        assert result.code == 0 and "sleep_ticks+0x" in result.out and any(words in unfolded(result.out) for words in (
            "count with it", "These instructions change it")), result.out + result.err  # while doctor looked, it was written or not
        result = place.run(*counted(way), "stat", "--for", "300ms")
        assert result.code == 3 and "changed SYST_RVR" in result.err and "own.c:" in result.err, result.out + result.err

/* SPDX-License-Identifier: MIT */
#include "counters/counter.h"

#include "base/arm_debug.h"

#include <stdio.h>

enum { MOST_COUNTERS = BLOCK_COUNTERS - 1 };

/* Special event codes. The last is software's placeholder for the cycle counter, and no event. */
enum { CPU_CYCLES = 0x11, CHAIN = 0x1E, NO_EVENT = 0xFF };
enum { EXTENDED = 0x4000, BITMAP = 64 };
enum { DIVISION = 6 }; /* PMU_DIVIDE, as a power of two */

static const uint32_t CYCLES = UINT32_C(1) << 31, EVEN = 0x55555555;

void pmu_add_common(const struct pmu_places *places, const struct core *core, struct steps *list)
{
    static const uint16_t offsets[PMU_COMMON_READS] = {
        [PMU_CONTROL] = PMCR, [PMU_ENABLED] = PMCNTENSET, [PMU_INTERRUPTS] = PMINTENSET};
    for (size_t i = 0; i < PMU_COMMON_READS; i++)
        steps_add(list, step_read(places->at(core, offsets[i])));
}

void pmu_take_common(struct pmu *pmu, const uint64_t *values)
{
    pmu->control = (uint32_t)values[PMU_CONTROL];
    pmu->enabled = (uint32_t)values[PMU_ENABLED];
    pmu->interrupts = (uint32_t)values[PMU_INTERRUPTS];
}

uint64_t pmu_event_bits(uint64_t low, uint64_t high)
{
    return low == 0 && high == 0 ? UINT64_MAX : low | high << 32;
}

static bool counts_now(const struct pmu *pmu)
{
    return (pmu->control & PMU_ENABLE) != 0 && pmu->enabled != 0;
}

bool pmu_keeps_long_events(const struct pmu *pmu)
{
    return counts_now(pmu) && (pmu->control & pmu->places->hindrances & PMU_LONG_EVENTS) != 0;
}

static bool cycles_are_ours(const struct pmu *pmu)
{
    return (pmu->idle & CYCLES) != 0;
}

/* By the program, which runs it: it goes on each 64th cycle. PMUv3 does not divide one of 64 bits. */
static bool is_divided(const struct pmu *pmu)
{
    return !cycles_are_ours(pmu) && (pmu->control & PMU_DIVIDE) != 0 &&
           !(pmu->places->long_cycles && (pmu->control & PMU_LONG_CYCLES) != 0);
}

/* A cycle counter that the program runs is only read, and the program may have excluded some cycles. */
static bool counts_every_cycle(const struct pmu *pmu)
{
    return cycles_are_ours(pmu) || (pmu->cycle_filter & pmu->exclude) == 0;
}

static void pmu_add_counters(const struct core *core, const struct pmu *pmu, struct counter_block *out)
{
    const struct pmu_places *places = pmu->places;
    struct counter *cycles = &out->counters[0];
    *cycles = (struct counter){
        .low = places->at(core, places->cycles), .bits = places->long_cycles ? 64 : 32, .per_cycle = 1};
    if (places->long_cycles)
        cycles->high = places->at(core, places->cycles + 4);
    if (pmu->divide || is_divided(pmu)) {
        cycles->shift = DIVISION;
        cycles->bits += places->long_cycles ? 0 : DIVISION;
    }
    snprintf(cycles->name, sizeof cycles->name, "%s", out->counts_cycles ? "CPU_CYCLES" : "PMCCNTR");
    for (unsigned i = 0; i < pmu->n; i++)
        out->counters[i + 1] = (struct counter){.low = places->at(core, (uint64_t)places->stride * i),
                                                .bits = places->bits,
                                                .per_cycle = places->events_a_cycle};
    out->n = pmu->n + 1;
}

/* "cycles, 0, 2" */
static void add_counters_in_use(const struct pmu *pmu, char *out, size_t size)
{
    const char *comma = "";
    int used = 0;
    if (pmu->enabled & CYCLES) {
        used = snprintf(out, size, "cycles%s%s", is_divided(pmu) ? " (each 64th: PMCR.D)" : "",
                        counts_every_cycle(pmu) ? "" : " (not all of them)");
        comma = ", ";
    }
    for (unsigned i = 0; i < pmu->n && (size_t)used < size; i++)
        if (pmu->enabled >> i & 1) {
            used += snprintf(out + used, size - (size_t)used, "%s%u", comma, i);
            comma = ", ";
        }
}

static void pmu_add_state(const struct pmu *pmu, struct counter_block *out)
{
    size_t size = sizeof out->state;
    if (pmu->enabled == 0) {
        snprintf(out->state, size, "free");
        return;
    }
    int used =
        snprintf(out->state, size, "%s: ", pmu->control & PMU_ENABLE ? "in use" : "set up, but stopped");
    add_counters_in_use(pmu, out->state + used, size - (size_t)used);
}

static void pmu_add_notes(const struct pmu *pmu, struct counter_block *out)
{
    size_t used = 0;
    char *note = out->note;
    const size_t size = sizeof out->note;
    if (counts_now(pmu) && (pmu->control & pmu->places->hindrances & PMU_FREEZE_ON_OVERFLOW) != 0)
        snprintf(out->unusable, sizeof out->unusable,
                 "the program has all counters stop at an overflow of one");
    note[0] = '\0';
    if (pmu->divide)
        used = (size_t)snprintf(note, size, "cycles are counted by 64%s",
                                (pmu->control & PMU_ENABLE) == 0 || counts_now(pmu) ? "; " : "");
    if ((pmu->control & PMU_ENABLE) == 0)
        snprintf(note + used, size - used, "the PMU was off; enabled for this measurement%s",
                 pmu->enabled != 0 ? ": counters that the program stopped count on" : "");
    else if (counts_now(pmu)) {
        used += (size_t)snprintf(note + used, size - used, "left to the program, which uses them: ");
        add_counters_in_use(pmu, note + used, size - used);
    }
}

static void pmu_add_setting(struct counter_block *out, struct setting setting)
{
    if (out->n_settings < BLOCK_SETTINGS)
        out->settings[out->n_settings++] = setting;
}

/* Written with its own value, so that the ledger restores it. */
static void keep_value(struct counter_block *out, struct address at)
{
    pmu_add_setting(
        out, (struct setting){.at = at, .always = true, .keep = UINT32_MAX, .restore = {.moves = true}});
}

/* These precede the settings that start counters, so that counters are stopped again before their values are
 * restored. */
static void pmu_add_values(const struct core *core, const struct pmu *pmu, struct counter_block *out)
{
    for (unsigned i = 0; i < pmu->n; i++)
        if (pmu->idle >> i & 1)
            keep_value(out, out->counters[i + 1].low);
    if (!cycles_are_ours(pmu))
        return;
    keep_value(out, out->counters[0].low);
    if (out->counters[0].high.size != 0)
        keep_value(out, out->counters[0].high);
    if (pmu->exclude != 0)
        pmu_add_setting(out, (struct setting){.at = pmu->places->at(core, PMCCFILTR),
                                              .test = pmu->exclude | pmu->include,
                                              .set = pmu->include,
                                              .restore = {.exact = pmu->exclude},
                                              .watched = "PMCCFILTR"});
}

/* An overflow of our counters must not interrupt the program, nor be seen by it later: interrupts stay off
 * until the new flags are cleared. */
static void add_quiet(const struct core *core, const struct pmu *pmu, struct counter_block *out)
{
    struct address (*at)(const struct core *, uint64_t) = pmu->places->at;
    uint32_t disturbing = pmu->interrupts & pmu->idle;
    if (disturbing != 0) {
        pmu_add_setting(
            out, (struct setting){
                     .at = at(core, PMINTENSET),
                     .always = true, /* with 0, which sets none */
                     .restore = {.how = RESTORE_PAIR, .mask = disturbing, .clear = at(core, PMINTENCLR)}});
        pmu_add_setting(out, (struct setting){.at = at(core, PMINTENCLR),
                                              .always = true,
                                              .set = disturbing,
                                              .restore = {.how = RESTORE_CLEAR_NEW, .mask = disturbing}});
    }
    if (pmu->idle != 0)
        pmu_add_setting(out, (struct setting){.at = at(core, PMOVSCLR),
                                              .always = true, /* with 0, which clears none */
                                              .restore = {.how = RESTORE_CLEAR_NEW, .mask = pmu->idle}});
}

/* Never clears a bit that the program had set. */
static struct setting enable(const struct core *core, const struct pmu *pmu, uint32_t which)
{
    return (struct setting){.at = pmu->places->at(core, PMCNTENSET),
                            .test = which,
                            .set = which,
                            .watched = "PMCNTENSET",
                            .restore = {.how = RESTORE_PAIR,
                                        .mask = pmu->free | which,
                                        .clear = pmu->places->at(core, PMCNTENCLR),
                                        .starts = UINT32_MAX}};
}

/* Bits that hold back the program's counters stay. P and C, which would reset counters, are never written. */
static struct setting pmu_switch_on(const struct core *core, const struct pmu *pmu)
{
    uint32_t off = pmu->places->hindrances, on = PMU_ENABLE, resets = PMU_RESET_EVENTS | PMU_RESET_CYCLES;
    if (!cycles_are_ours(pmu))
        off &= ~(uint32_t)(PMU_DIVIDE | PMU_STOP_PROHIBITED);
    if (counts_now(pmu))
        off &= ~(uint32_t)(PMU_FREEZE_ON_OVERFLOW | PMU_LONG_EVENTS);
    on |= is_divided(pmu) ? PMU_DIVIDE : 0;
    if (pmu->divide) {
        off &= ~(uint32_t)PMU_DIVIDE;
        off |= pmu->places->long_cycles ? PMU_LONG_CYCLES : 0;
        on |= PMU_DIVIDE;
    }
    return (struct setting){
        .at = pmu->places->at(core, PMCR),
        .test = on | off,
        .set = on,
        .keep = UINT32_MAX & ~(resets | off),
        .watched = "PMCR",
        .restore = {.mask = UINT32_MAX & ~resets, .exact = on | off, .starts = PMU_ENABLE}};
}

void pmu_describe(const struct core *core, const struct pmu *found, struct counter_block *out)
{
    out->pmu = *found;
    struct pmu *pmu = &out->pmu;
    if (pmu->n > MOST_COUNTERS)
        pmu->n = MOST_COUNTERS;
    uint32_t present = CYCLES | ((UINT32_C(1) << pmu->n) - 1);
    pmu->enabled &= present;
    pmu->free = present & ~pmu->enabled;
    pmu->idle = counts_now(pmu) ? pmu->free : present;
    out->counts_cycles = counts_every_cycle(pmu);
    pmu_add_counters(core, pmu, out);
    pmu_add_state(pmu, out);
    pmu_add_notes(pmu, out);
    if (pmu->places->locks)
        pmu_add_setting(
            out, core_open_lock(pmu->places->at(core, CORESIGHT_LAR), pmu->places->at(core, CORESIGHT_LSR)));
    pmu_add_values(core, pmu, out);
    add_quiet(core, pmu, out);
    struct setting cycles = enable(core, pmu, CYCLES);
    cycles.only_watched = !cycles_are_ours(pmu);
    pmu_add_setting(out, cycles);
    pmu_add_setting(out, pmu_switch_on(core, pmu));
}

bool pmu_divide(const struct core *core, struct counter_block *block)
{
    struct pmu found = block->pmu;
    if (!cycles_are_ours(&found))
        return false;
    found.divide = true;
    block->n_settings = 0;
    pmu_describe(core, &found, block);
    return true;
}

/* These settings are checked after they were written; those made when the block is taken are not. */
size_t pmu_program(const struct core *core, const struct counter_block *block,
                   const struct counter_pick *picks, size_t n, struct setting *out, size_t room)
{
    const struct pmu *pmu = &block->pmu;
    uint32_t started = 0;
    size_t count = 0;
    if (room < 2)
        return 0;
    out[count++] = pmu_switch_on(core, pmu);
    for (size_t i = 0; i < n && count + 1 < room; i++) {
        if (picks[i].counter == 0) {
            started |= pmu->idle & CYCLES;
            continue;
        }
        unsigned counter = picks[i].counter - 1U;
        out[count++] = (struct setting){.at = pmu->places->at(core, PMEVTYPER0 + 4ULL * counter),
                                        .test = pmu->codes | pmu->exclude,
                                        .always = true, /* `include` may read as 0 */
                                        .set = picks[i].code,
                                        .key = pmu->include,
                                        .restore = {.exact = pmu->codes | pmu->exclude},
                                        .watched = "PMEVTYPER"};
        started |= UINT32_C(1) << counter;
    }
    if (started != 0)
        out[count++] = enable(core, pmu, started);
    return count;
}

static bool pmu_has_event(const struct pmu *pmu, uint32_t code)
{
    if (code < BITMAP)
        return pmu->common >> code & 1;
    if (code >= EXTENDED && code < EXTENDED + BITMAP)
        return pmu->extended >> (code - EXTENDED) & 1;
    return code != NO_EVENT;
}

/* With CHAIN an odd counter counts the overflows of the one below. A pass gives its first event the lowest
 * free counter, so only the counter above that certainly has an event to extend. */
static uint32_t chained(uint32_t events)
{
    uint32_t lowest = events & (~events + 1);
    return (lowest & EVEN) != 0 ? events & lowest << 1 : 0;
}

uint32_t pmu_counters_for(const struct counter_block *block, uint32_t code)
{
    const struct pmu *pmu = &block->pmu;
    if (code == CPU_CYCLES && block->counts_cycles)
        return 1;
    if ((code & ~pmu->codes) != 0 || !pmu_has_event(pmu, code))
        return 0;
    uint32_t events = pmu->free & ~CYCLES;
    return (code == CHAIN ? chained(events) : events) << 1;
}

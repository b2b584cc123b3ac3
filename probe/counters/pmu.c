#include "counters/pmu.h"

#include "counters/blocks.h"
#include "counters/counter.h"

#include <stdio.h>

enum {
    EVTYPER = 0x400,
    CCFILTR = 0x47C, /* PMXEVTYPER31 on Armv7 */
    CNTENSET = 0xC00,
    CNTENCLR = 0xC20,
    INTENSET = 0xC40,
    INTENCLR = 0xC60,
    OVSCLR = 0xC80, /* PMOVSR on Armv7 */
    PMCR = 0xE04,
    LAR = 0xFB0,
    LSR = 0xFB4,
};
enum { LSR_LOCKED = 1 << 1, MOST_COUNTERS = BLOCK_COUNTERS - 1 };

/* Common events that are no matter of a counter's type alone; the last is how software tells of the cycle
 * counter, and no event. */
enum { CPU_CYCLES = 0x11, CHAIN = 0x1E, NO_EVENT = 0xFF };
enum { EXTENDED = 0x4000, BITMAP = 64 };
enum { EVENTS_A_CYCLE = 8 }; /* at most: no core here retires or issues more */
enum { DIVISION = 6 };       /* PMU_DIVIDE, as a power of two */

static const uint32_t CYCLES = UINT32_C(1) << 31, EVEN = 0x55555555;
static const uint32_t LAR_KEY = 0xC5ACCE55; /* any other value locks */

void pmu_add_common(const struct pmu_places *places, const struct core *core, struct steps *list)
{
    static const uint16_t offsets[PMU_COMMON_READS] = {
        [PMU_CONTROL] = PMCR, [PMU_ENABLED] = CNTENSET, [PMU_INTERRUPTS] = INTENSET};
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

static bool cycles_are_ours(const struct pmu *pmu)
{
    return (pmu->idle & CYCLES) != 0;
}

/* A cycle counter that the program runs is only read: it may have been told to leave out some. */
static bool counts_every_cycle(const struct pmu *pmu)
{
    bool divided = (pmu->control & PMU_DIVIDE) != 0 &&
                   !(pmu->places->long_cycles && (pmu->control & PMU_LONG_CYCLES) != 0);
    return cycles_are_ours(pmu) || (!divided && (pmu->cycle_filter & pmu->exclude) == 0);
}

static struct address counter_at(const struct core *core, const struct pmu *pmu, unsigned n)
{
    return pmu->places->at(core, (uint64_t)pmu->places->stride * n);
}

static void add_counters(const struct core *core, const struct pmu *pmu, struct counter_block *out)
{
    const struct pmu_places *places = pmu->places;
    struct counter *cycles = &out->counters[0];
    *cycles = (struct counter){
        .low = places->at(core, places->cycles), .bits = places->long_cycles ? 64 : 32, .per_cycle = 1};
    if (places->long_cycles)
        cycles->high = places->at(core, places->cycles + 4);
    if (pmu->divide) {
        cycles->shift = DIVISION;
        cycles->bits += places->long_cycles ? 0 : DIVISION;
    }
    snprintf(cycles->name, sizeof cycles->name, "%s", out->counts_cycles ? "CPU_CYCLES" : "PMCCNTR");
    for (unsigned i = 0; i < pmu->n; i++)
        out->counters[i + 1] = (struct counter){
            .low = counter_at(core, pmu, i), .bits = places->bits, .per_cycle = EVENTS_A_CYCLE};
    out->n = pmu->n + 1;
}

/* "cycles, 0, 2" */
static void add_counters_in_use(const struct pmu *pmu, char *out, size_t size)
{
    const char *comma = "";
    int used = 0;
    if (pmu->enabled & CYCLES) {
        used = snprintf(out, size, "cycles%s", counts_every_cycle(pmu) ? "" : " (not all of them)");
        comma = ", ";
    }
    for (unsigned i = 0; i < pmu->n && (size_t)used < size; i++)
        if (pmu->enabled >> i & 1) {
            used += snprintf(out + used, size - (size_t)used, "%s%u", comma, i);
            comma = ", ";
        }
}

static void add_state(const struct pmu *pmu, struct counter_block *out)
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

static void add_notes(const struct pmu *pmu, struct counter_block *out)
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

static void add_setting(struct counter_block *out, struct setting setting)
{
    if (out->n_settings < BLOCK_SETTINGS)
        out->settings[out->n_settings++] = setting;
}

/* Written with what it holds, so that it gets that back. */
static void keep_value(struct counter_block *out, struct address at)
{
    add_setting(out, (struct setting){.at = at, .always = true, .keep = UINT32_MAX});
}

static void add_unlock(const struct core *core, const struct pmu *pmu, struct counter_block *out)
{
    add_setting(out, (struct setting){.at = pmu->places->at(core, LAR),
                                      .test_at = pmu->places->at(core, LSR),
                                      .lock = true,
                                      .test = LSR_LOCKED,
                                      .key = LAR_KEY,
                                      .restore = {.mask = 1}});
}

/* Before the settings that start counters, so that these are stopped again when the values are put back. */
static void add_values(const struct core *core, const struct pmu *pmu, struct counter_block *out)
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
        add_setting(out, (struct setting){.at = pmu->places->at(core, CCFILTR),
                                          .test = pmu->exclude | pmu->include,
                                          .set = pmu->include,
                                          .watched = "PMCCFILTR"});
}

/* An overflow of ours must not interrupt the program, nor be seen by it afterwards: the interrupts are off
 * until the flags that came up are gone. */
static void add_quiet(const struct core *core, const struct pmu *pmu, struct counter_block *out)
{
    struct address (*at)(const struct core *, uint64_t) = pmu->places->at;
    uint32_t disturbing = pmu->interrupts & pmu->idle;
    if (disturbing != 0) {
        add_setting(out,
                    (struct setting){
                        .at = at(core, INTENSET),
                        .always = true, /* with 0, which sets none */
                        .restore = {.how = RESTORE_PAIR, .mask = disturbing, .clear = at(core, INTENCLR)}});
        add_setting(out, (struct setting){.at = at(core, INTENCLR),
                                          .always = true,
                                          .set = disturbing,
                                          .restore = {.how = RESTORE_CLEAR_NEW, .mask = disturbing}});
    }
    if (pmu->idle != 0)
        add_setting(out, (struct setting){.at = at(core, OVSCLR),
                                          .always = true, /* with 0, which clears none */
                                          .restore = {.how = RESTORE_CLEAR_NEW, .mask = pmu->idle}});
}

/* No bit that the program had set is ever cleared, whatever it did to it meanwhile. */
static struct setting enable(const struct core *core, const struct pmu *pmu, uint32_t which)
{
    return (struct setting){.at = pmu->places->at(core, CNTENSET),
                            .test = which,
                            .set = which,
                            .watched = "PMCNTENSET",
                            .restore = {.how = RESTORE_PAIR,
                                        .mask = pmu->free | which,
                                        .clear = pmu->places->at(core, CNTENCLR)}};
}

/* What hinders a counter that is not ours stays. P and C would reset counters: they are never written. */
static struct setting switch_on(const struct core *core, const struct pmu *pmu)
{
    uint32_t off = pmu->places->hindrances, on = PMU_ENABLE, resets = PMU_RESET_EVENTS | PMU_RESET_CYCLES;
    if (!cycles_are_ours(pmu))
        off &= ~(uint32_t)(PMU_DIVIDE | PMU_STOP_PROHIBITED);
    if (counts_now(pmu))
        off &= ~(uint32_t)PMU_FREEZE_ON_OVERFLOW;
    if (pmu->divide) {
        off &= ~(uint32_t)PMU_DIVIDE;
        off |= pmu->places->long_cycles ? PMU_LONG_CYCLES : 0;
        on |= PMU_DIVIDE;
    }
    return (struct setting){.at = pmu->places->at(core, PMCR),
                            .test = on | off,
                            .set = on,
                            .keep = UINT32_MAX & ~(resets | off),
                            .watched = "PMCR",
                            .restore = {.mask = UINT32_MAX & ~resets}};
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
    add_counters(core, pmu, out);
    add_state(pmu, out);
    add_notes(pmu, out);
    if (pmu->places->locks)
        add_unlock(core, pmu, out);
    add_values(core, pmu, out);
    add_quiet(core, pmu, out);
    struct setting cycles = enable(core, pmu, CYCLES);
    cycles.only_watched = !cycles_are_ours(pmu);
    add_setting(out, cycles);
    add_setting(out, switch_on(core, pmu));
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

/* Looked at after they were written: the taking of the block is not. */
size_t pmu_program(const struct core *core, const struct counter_block *block,
                   const struct counter_pick *picks, size_t n, struct setting *out, size_t room)
{
    const struct pmu *pmu = &block->pmu;
    uint32_t started = 0;
    size_t count = 0;
    if (room < 2)
        return 0;
    out[count++] = switch_on(core, pmu);
    for (size_t i = 0; i < n && count + 1 < room; i++) {
        if (picks[i].counter == 0) {
            started |= pmu->idle & CYCLES;
            continue;
        }
        unsigned counter = picks[i].counter - 1U;
        out[count++] = (struct setting){.at = pmu->places->at(core, EVTYPER + 4ULL * counter),
                                        .test = pmu->codes | pmu->exclude,
                                        .always = true, /* `include` may read as 0 */
                                        .set = picks[i].code,
                                        .key = pmu->include,
                                        .watched = "PMEVTYPER"};
        started |= UINT32_C(1) << counter;
    }
    if (started != 0)
        out[count++] = enable(core, pmu, started);
    return count;
}

static bool has_event(const struct pmu *pmu, uint32_t code)
{
    if (code < BITMAP)
        return pmu->common >> code & 1;
    if (code >= EXTENDED && code < EXTENDED + BITMAP)
        return pmu->extended >> (code - EXTENDED) & 1;
    return code != NO_EVENT;
}

/* An odd counter counts the overflows of the one below. The lowest free counter is the one that a pass's
 * first event gets, so only the one above it is sure to have an event to go with. */
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
    if ((code & ~pmu->codes) != 0 || !has_event(pmu, code))
        return 0;
    uint32_t events = pmu->free & ~CYCLES;
    return (code == CHAIN ? chained(events) : events) << 1;
}

enum { CEID0 = 0xE20, CEID1 = 0xE24 };
enum { CONTROL_N_SHIFT = 11, CONTROL_N = 0x1F };
enum { CODES = 0xFF, ARM = 0x41 };

/* Event types of version 2, DDI 0406 B4.1, PMXEVTYPER: P, U and their Non-secure sides; and Hyp mode, where
 * there is one: without that bit it is not counted. */
static const uint32_t EXCLUDE = 0xF0000000, INCLUDE_HYP = 0x08000000;
static const uint32_t PMU_V7_CHAIN = UINT32_C(1) << 0x1E; /* reserved here */

/* MIDR part numbers. Version 1 has no register that says which common events there are; the TRMs do. */
static const struct part {
    uint16_t part;
    uint8_t version;
    bool hyp;
    uint32_t common;
    const char *events;
} parts[] = {
    {0xC05, 2, false, 0, "cortex-a5"},          {0xC07, 2, true, 0, "cortex-a7"},
    {0xC09, 1, false, 0x0007BEFF, "cortex-a9"}, /* DDI 0388 table 11-5 */
    {0xC0D, 2, true, 0, "cortex-a17"},          /* Cortex-A12, which became it */
    {0xC0E, 2, true, 0, "cortex-a17"},          {0xC0F, 2, true, 0, "cortex-a15"},
    {0xC17, 1, false, 0x0015FFDB, "cortex-r7"}, /* DDI 0458 */
    {0xC18, 1, false, 0x0015FFDB, "cortex-r8"},
};

/* Of a core that is not known, only what every version has. */
static const struct part *find_part(const struct core *core)
{
    static const struct part unknown = {.version = 1, .common = UINT32_MAX, .events = "armv7-common"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (core->id >> 24 == ARM && parts[i].part == (core->id >> 4 & 0xFFF))
            return &parts[i];
    return &unknown;
}

static const struct pmu_places places = {.at = core_pmu,
                                         .stride = 4,
                                         .bits = 32,
                                         .cycles = 0x07C,
                                         .locks = true,
                                         .hindrances = PMU_DIVIDE | PMU_STOP_PROHIBITED};

static bool has_pmu(const struct core *core)
{
    return core->family == CORE_ARMV7 && core->pmu_base != 0;
}

enum { FILTER = PMU_COMMON_READS, EVENTS_LOW, EVENTS_HIGH };

static void add_identity(const struct core *core, struct steps *list)
{
    if (!has_pmu(core))
        return;
    pmu_add_common(&places, core, list);
    if (find_part(core)->version < 2)
        return;
    steps_add(list, step_read(core_pmu(core, CCFILTR)));
    steps_add(list, step_read(core_pmu(core, CEID0)));
    steps_add(list, step_read(core_pmu(core, CEID1)));
}

static bool identify(const struct core *core, const uint64_t *values, struct counter_block *out)
{
    if (!has_pmu(core))
        return false;
    const struct part *part = find_part(core);
    struct pmu pmu = {.places = &places, .codes = CODES, .common = part->common};
    pmu_take_common(&pmu, values);
    pmu.n = pmu.control >> CONTROL_N_SHIFT & CONTROL_N;
    if (part->version >= 2) {
        pmu.cycle_filter = (uint32_t)values[FILTER];
        pmu.common = pmu_event_bits(values[EVENTS_LOW], values[EVENTS_HIGH]);
        pmu.exclude = EXCLUDE;
        pmu.include = part->hyp ? INCLUDE_HYP : 0;
    }
    pmu.common &= ~(uint64_t)PMU_V7_CHAIN;
    *out = (struct counter_block){.kind = &pmu_v7_kind, .events = part->events};
    pmu_describe(core, &pmu, out);
    snprintf(out->text, sizeof out->text, "PMUv%u, %u counters", part->version, out->pmu.n);
    return true;
}

const struct block_kind pmu_v7_kind = {.name = "pmu",
                                       .add_identity = add_identity,
                                       .identify = identify,
                                       .program = pmu_program,
                                       .divide = pmu_divide,
                                       .counters_for = pmu_counters_for};

enum { CFGR = 0xE00, CEIDS = 4 };
enum {
    CFGR_N = 0xFF,
};
enum { CODES_V80 = 0x3FF, PMU_V3_CODES = 0xFFFF }; /* PMEVTYPER.evtCount, wider from Armv8.1 on */

/* DDI 0487, PMEVTYPER<n>_EL0: P, U, their Non-secure sides and M leave out states as they differ from each
 * other; EL2 is not counted without its bit. */
static const uint32_t PMU_V3_EXCLUDE = 0xF4000000, INCLUDE_EL2 = 0x08000000;

/* MIDR part numbers */
static const struct pmu_v3_part {
    uint16_t part, codes;
    const char *events;
} pmu_v3_parts[] = {
    {0xD03, CODES_V80, "cortex-a53"}, {0xD05, PMU_V3_CODES, "cortex-a55"}, {0xD07, CODES_V80, "cortex-a57"},
    {0xD08, CODES_V80, "cortex-a72"}, {0xD0B, PMU_V3_CODES, "cortex-a76"}, {0xD13, CODES_V80, "cortex-r52"},
};

/* What a core that is not known does not take of a code is seen when it is programmed. */
static const struct pmu_v3_part *pmu_v3_find_part(const struct core *core)
{
    static const struct pmu_v3_part unknown = {.codes = PMU_V3_CODES, .events = "armv8-pmuv3-common"};
    for (size_t i = 0; i < sizeof pmu_v3_parts / sizeof *pmu_v3_parts; i++)
        if (core->id >> 24 == ARM && pmu_v3_parts[i].part == (core->id >> 4 & 0xFFF))
            return &pmu_v3_parts[i];
    return &unknown;
}

/* An event counter of 64 bits (PMUv3p5) wraps in its low word as one of 32 does: it is read as such. */
static const struct pmu_places pmu_v3_places = {.at = core_pmu,
                                                .stride = 8,
                                                .bits = 32,
                                                .cycles = 0x0F8,
                                                .long_cycles = true,
                                                .locks = true,
                                                .hindrances = PMU_DIVIDE | PMU_STOP_PROHIBITED |
                                                              PMU_FREEZE_ON_OVERFLOW};

static bool pmu_v3_has_pmu(const struct core *core)
{
    return core->family == CORE_ARMV8 && core->pmu_base != 0;
}

enum { CONFIGURATION = PMU_COMMON_READS, PMU_V3_FILTER, EVENTS };

static void pmu_v3_add_identity(const struct core *core, struct steps *list)
{
    if (!pmu_v3_has_pmu(core))
        return;
    pmu_add_common(&pmu_v3_places, core, list);
    steps_add(list, step_read(core_pmu(core, CFGR)));
    steps_add(list, step_read(core_pmu(core, CCFILTR)));
    for (size_t i = 0; i < CEIDS; i++)
        steps_add(list, step_read(core_pmu(core, CEID0 + 4 * i)));
}

static bool pmu_v3_identify(const struct core *core, const uint64_t *values, struct counter_block *out)
{
    if (!pmu_v3_has_pmu(core))
        return false;
    const struct pmu_v3_part *part = pmu_v3_find_part(core);
    struct pmu pmu = {.places = &pmu_v3_places,
                      .n = values[CONFIGURATION] & CFGR_N,
                      .cycle_filter = (uint32_t)values[PMU_V3_FILTER],
                      .codes = part->codes,
                      .exclude = PMU_V3_EXCLUDE,
                      .include = INCLUDE_EL2,
                      .common = pmu_event_bits(values[EVENTS], values[EVENTS + 1]),
                      .extended = values[EVENTS + 2] | values[EVENTS + 3] << 32};
    pmu_take_common(&pmu, values);
    *out = (struct counter_block){.kind = &pmu_v3_kind, .events = part->events};
    pmu_describe(core, &pmu, out);
    snprintf(out->text, sizeof out->text, "PMUv3, %u counters", out->pmu.n);
    return true;
}

const struct block_kind pmu_v3_kind = {.name = "pmu",
                                       .add_identity = pmu_v3_add_identity,
                                       .identify = pmu_v3_identify,
                                       .program = pmu_program,
                                       .divide = pmu_divide,
                                       .counters_for = pmu_counters_for};

enum { BASE = 0xE0003000, TYPE = 0xE00, DEVARCH = 0xFBC, DEMCR = 0xE000EDFC };
enum { TYPE_N = 0xFF, DEMCR_TRCENA = 1 << 24, PMU_V81M_CODES = 0xFFFF };
enum { DEVARCH_MASK = 0x10FFFF, DEVARCH_PMU = 0x100A06 }; /* present, and what it is */
enum { USUAL_COUNTERS = 8 };                              /* of all cores so far */

/* CPUID part numbers: elsewhere nothing may be read at these addresses. The Cortex-M52 is Arm China's. */
static const struct pmu_v81m_part {
    uint16_t part;
    const char *events;
} pmu_v81m_parts[] = {{0xD22, "cortex-m55"}, {0xD23, "cortex-m85"}, {0xD24, "cortex-m52"}};

static const struct pmu_v81m_part *pmu_v81m_find_part(const struct core *core)
{
    for (size_t i = 0; core->family == CORE_M && i < sizeof pmu_v81m_parts / sizeof *pmu_v81m_parts; i++)
        if (pmu_v81m_parts[i].part == (core->id >> 4 & 0xFFF))
            return &pmu_v81m_parts[i];
    return NULL;
}

static struct address at(const struct core *core, uint64_t offset)
{
    return core_word(core, BASE + offset);
}

static const struct pmu_places pmu_v81m_places = {.at = at,
                                                  .stride = 4,
                                                  .bits = 16,
                                                  .cycles = 0x07C,
                                                  .hindrances = PMU_STOP_PROHIBITED | PMU_FREEZE_ON_OVERFLOW};

enum { COUNTERS = PMU_COMMON_READS, ARCHITECTURE, TRACE };

static void pmu_v81m_add_identity(const struct core *core, struct steps *list)
{
    if (pmu_v81m_find_part(core) == NULL)
        return;
    pmu_add_common(&pmu_v81m_places, core, list);
    steps_add(list, step_read(at(core, TYPE)));
    steps_add(list, step_read(at(core, DEVARCH)));
    steps_add(list, step_read(core_word(core, DEMCR)));
}

/* While trace is off no counter counts, and what the registers show need not be true. */
static void take_untraced(struct pmu *pmu)
{
    pmu->control = pmu->enabled = 0;
    pmu->interrupts = UINT32_MAX;
    if (pmu->n == 0)
        pmu->n = USUAL_COUNTERS;
}

static bool pmu_v81m_identify(const struct core *core, const uint64_t *values, struct counter_block *out)
{
    const struct pmu_v81m_part *part = pmu_v81m_find_part(core);
    if (part == NULL || (values[ARCHITECTURE] & DEVARCH_MASK) != DEVARCH_PMU)
        return false;
    struct pmu pmu = {.places = &pmu_v81m_places,
                      .n = values[COUNTERS] & TYPE_N,
                      .codes = PMU_V81M_CODES,
                      .common = UINT64_MAX,
                      .extended = UINT64_MAX};
    pmu_take_common(&pmu, values);
    if ((values[TRACE] & DEMCR_TRCENA) == 0)
        take_untraced(&pmu);
    *out = (struct counter_block){.kind = &pmu_v81m_kind, .events = part->events};
    out->settings[out->n_settings++] = (struct setting){.at = core_word(core, DEMCR),
                                                        .test = DEMCR_TRCENA,
                                                        .set = DEMCR_TRCENA,
                                                        .keep = UINT64_MAX,
                                                        .watched = "DEMCR"};
    pmu_describe(core, &pmu, out);
    snprintf(out->text, sizeof out->text, "Armv8.1-M PMU, %u counters of 16 bits", out->pmu.n);
    return true;
}

const struct block_kind pmu_v81m_kind = {.name = "pmu",
                                         .add_identity = pmu_v81m_add_identity,
                                         .identify = pmu_v81m_identify,
                                         .program = pmu_program,
                                         .counters_for = pmu_counters_for};

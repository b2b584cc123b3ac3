#include "counters/pmu_v7.h"

#include <stdio.h>

enum { CCFILTR = 0x47C, CEID0 = 0xE20, CEID1 = 0xE24 };
enum { CONTROL_N_SHIFT = 11, CONTROL_N = 0x1F };
enum { CODES = 0xFF, ARM = 0x41 };

/* Event types of version 2, DDI 0406 B4.1, PMXEVTYPER: P, U and their Non-secure sides; and Hyp mode, where
 * there is one: without that bit it is not counted. */
static const uint32_t EXCLUDE = 0xF0000000, INCLUDE_HYP = 0x08000000;
static const uint32_t CHAIN = UINT32_C(1) << 0x1E; /* reserved here */

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
    pmu.common &= ~(uint64_t)CHAIN;
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

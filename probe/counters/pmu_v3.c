#include "counters/pmu_v3.h"

#include <stdio.h>

enum { CCFILTR = 0x47C, CFGR = 0xE00, CEID0 = 0xE20, CEIDS = 4 };
enum { CFGR_N = 0xFF, ARM = 0x41 };
enum { CODES_V80 = 0x3FF, CODES = 0xFFFF }; /* PMEVTYPER.evtCount, wider from Armv8.1 on */

/* DDI 0487, PMEVTYPER<n>_EL0: P, U, their Non-secure sides and M leave out states as they differ from each
 * other; EL2 is not counted without its bit. */
static const uint32_t EXCLUDE = 0xF4000000, INCLUDE_EL2 = 0x08000000;

/* MIDR part numbers */
static const struct part {
    uint16_t part, codes;
    const char *events;
} parts[] = {
    {0xD03, CODES_V80, "cortex-a53"}, {0xD05, CODES, "cortex-a55"}, {0xD07, CODES_V80, "cortex-a57"},
    {0xD08, CODES_V80, "cortex-a72"}, {0xD0B, CODES, "cortex-a76"}, {0xD13, CODES_V80, "cortex-r52"},
};

/* What a core that is not known does not take of a code is seen when it is programmed. */
static const struct part *find_part(const struct core *core)
{
    static const struct part unknown = {.codes = CODES, .events = "armv8-pmuv3-common"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (core->id >> 24 == ARM && parts[i].part == (core->id >> 4 & 0xFFF))
            return &parts[i];
    return &unknown;
}

/* An event counter of 64 bits (PMUv3p5) wraps in its low word as one of 32 does: it is read as such. */
static const struct pmu_places places = {.at = core_pmu,
                                         .stride = 8,
                                         .bits = 32,
                                         .cycles = 0x0F8,
                                         .long_cycles = true,
                                         .locks = true,
                                         .hindrances =
                                             PMU_DIVIDE | PMU_STOP_PROHIBITED | PMU_FREEZE_ON_OVERFLOW};

static bool has_pmu(const struct core *core)
{
    return core->family == CORE_ARMV8 && core->pmu_base != 0;
}

enum { CONFIGURATION = PMU_COMMON_READS, FILTER, EVENTS };

static void add_identity(const struct core *core, struct steps *list)
{
    if (!has_pmu(core))
        return;
    pmu_add_common(&places, core, list);
    steps_add(list, step_read(core_pmu(core, CFGR)));
    steps_add(list, step_read(core_pmu(core, CCFILTR)));
    for (size_t i = 0; i < CEIDS; i++)
        steps_add(list, step_read(core_pmu(core, CEID0 + 4 * i)));
}

static bool identify(const struct core *core, const uint64_t *values, struct counter_block *out)
{
    if (!has_pmu(core))
        return false;
    const struct part *part = find_part(core);
    struct pmu pmu = {.places = &places,
                      .n = values[CONFIGURATION] & CFGR_N,
                      .cycle_filter = (uint32_t)values[FILTER],
                      .codes = part->codes,
                      .exclude = EXCLUDE,
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
                                       .add_identity = add_identity,
                                       .identify = identify,
                                       .program = pmu_program,
                                       .divide = pmu_divide,
                                       .counters_for = pmu_counters_for};

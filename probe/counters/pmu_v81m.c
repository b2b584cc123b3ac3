#include "counters/pmu_v81m.h"

#include <stdio.h>

enum { BASE = 0xE0003000, TYPE = 0xE00, DEVARCH = 0xFBC, DEMCR = 0xE000EDFC };
enum { TYPE_N = 0xFF, DEMCR_TRCENA = 1 << 24, CODES = 0xFFFF };
enum { DEVARCH_MASK = 0x10FFFF, DEVARCH_PMU = 0x100A06 }; /* present, and what it is */
enum { USUAL_COUNTERS = 8 };                              /* of all cores so far */

/* CPUID part numbers: elsewhere nothing may be read at these addresses. The Cortex-M52 is Arm China's. */
static const struct part {
    uint16_t part;
    const char *events;
} parts[] = {{0xD22, "cortex-m55"}, {0xD23, "cortex-m85"}, {0xD24, "cortex-m52"}};

static const struct part *find_part(const struct core *core)
{
    for (size_t i = 0; core->family == CORE_M && i < sizeof parts / sizeof *parts; i++)
        if (parts[i].part == (core->id >> 4 & 0xFFF))
            return &parts[i];
    return NULL;
}

static struct address at(const struct core *core, uint64_t offset)
{
    return core_word(core, BASE + offset);
}

static const struct pmu_places places = {.at = at,
                                         .stride = 4,
                                         .bits = 16,
                                         .cycles = 0x07C,
                                         .hindrances = PMU_STOP_PROHIBITED | PMU_FREEZE_ON_OVERFLOW};

enum { COUNTERS = PMU_COMMON_READS, ARCHITECTURE, TRACE };

static void add_identity(const struct core *core, struct steps *list)
{
    if (find_part(core) == NULL)
        return;
    pmu_add_common(&places, core, list);
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

static bool identify(const struct core *core, const uint64_t *values, struct counter_block *out)
{
    const struct part *part = find_part(core);
    if (part == NULL || (values[ARCHITECTURE] & DEVARCH_MASK) != DEVARCH_PMU)
        return false;
    struct pmu pmu = {.places = &places,
                      .n = values[COUNTERS] & TYPE_N,
                      .codes = CODES,
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
                                         .add_identity = add_identity,
                                         .identify = identify,
                                         .program = pmu_program,
                                         .counters_for = pmu_counters_for};

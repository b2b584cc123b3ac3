/* SPDX-License-Identifier: MIT */
/*
 * The kinds of PMU: which cores have one, where its registers lie, and what its identity says.
 */
#include "base/arm_debug.h"
#include "base/values.h"
#include "cores/architectures.h"
#include "cores/armv7_transfer.h"
#include "counters/counter.h"

#include <stdio.h>
#include <string.h>

/* Bits of an event type that hold the event: PMXEVTYPER.evtCount, which is wider from Armv8.1 on. */
enum { CODES_V7 = 0xFF, CODES_V8 = 0x3FF, CODES_V81 = 0xFFFF };
enum { PMCR_N_SHIFT = 11, PMCR_N = 0x1F, PMCFGR_N = 0xFF };

/* --- PMUv1 and PMUv2 on the debug bus ------------------------------------------------------------------- */

/* PMXEVTYPER, DDI 0406C B4.1: P, U and their Non-secure sides; and Hyp mode, which is not counted without its
 * bit. */
static const uint32_t V7_EXCLUDE = 0xF0000000, V7_INCLUDE_HYP = 0x08000000;
static const uint32_t V7_CHAIN = UINT32_C(1) << 0x1E; /* reserved here */

static const struct pmu_places v7_places = {.at = core_pmu,
                                            .stride = 4,
                                            .bits = 32,
                                            .events_a_cycle = 8,
                                            .cycles = PMCCNTR_V7,
                                            .locks = true,
                                            .hindrances = PMU_DIVIDE | PMU_STOP_PROHIBITED};

static bool has_v7(const struct core *core)
{
    return core_mapped_pmu(core) == PMU_V1;
}

static const struct part_pmu *v7_part(const struct core *core)
{
    static const struct part_pmu unknown = {.kind = PMU_V1, .events = "armv7-common", .common = UINT32_MAX};
    const struct part_pmu *part = &core_part(core)->pmu;
    return part->kind == PMU_V1 || part->kind == PMU_V2 ? part : &unknown;
}

enum { V7_FILTER = PMU_COMMON_READS, V7_EVENTS };

static void v7_add_identity(const struct core *core, struct steps *list)
{
    if (!has_v7(core))
        return;
    pmu_add_common(&v7_places, core, list);
    if (v7_part(core)->kind != PMU_V2)
        return;
    steps_add(list, step_read(core_pmu(core, PMCCFILTR)));
    steps_add(list, step_read(core_pmu(core, PMCEID0)));
    steps_add(list, step_read(core_pmu(core, PMCEID1)));
}

static bool v7_identify(const struct core *core, const uint64_t *values, struct counter_block *out)
{
    if (!has_v7(core))
        return false;
    const struct part_pmu *part = v7_part(core);
    struct pmu pmu = {.places = &v7_places, .codes = CODES_V7, .common = part->common};
    pmu_take_common(&pmu, values);
    pmu.n = pmu.control >> PMCR_N_SHIFT & PMCR_N;
    if (part->kind == PMU_V2) {
        pmu.cycle_filter = (uint32_t)values[V7_FILTER];
        pmu.common = pmu_event_bits(values[V7_EVENTS], values[V7_EVENTS + 1]);
        pmu.exclude = V7_EXCLUDE;
        pmu.include = (core_part(core)->quirks & HAS_HYP) != 0 ? V7_INCLUDE_HYP : 0;
    }
    pmu.common &= ~(uint64_t)V7_CHAIN;
    *out = (struct counter_block){.kind = &pmu_v7_kind, .events = part->events};
    pmu_describe(core, &pmu, out);
    snprintf(out->text, sizeof out->text, "PMUv%d, %u counter%s", part->kind == PMU_V2 ? 2 : 1, out->pmu.n,
             PLURAL(out->pmu.n));
    return true;
}

/* As their instructions call them: PMCR.E, and .C and .D, DDI 0406C B4.1.117; DDI 0487 D13.4. */
static const struct counter_register registers[] = {
    {.name = "PMCCNTR"},
    {.name = "PMCR", .on = 1, .strikes = 1 << 2 | 1 << 3},
    {.name = "PMZR"},
    {.name = "PMCNTENCLR", .also = "PMCNTENSET", .strikes = UINT32_C(1) << 31},
    {.name = "PMCCFILTR"}};

const struct block_kind pmu_v7_kind = {.name = "pmu",
                                       .registers = registers,
                                       .n_registers = sizeof registers / sizeof *registers,
                                       .add_identity = v7_add_identity,
                                       .identify = v7_identify,
                                       .program = pmu_program,
                                       .divide = pmu_divide,
                                       .counters_for = pmu_counters_for};

/* --- PMUv3 ---------------------------------------------------------------------------------------------- */

/* PMEVTYPER<n>_EL0: P, U, their Non-secure sides and M leave out states as they differ from each other; EL2
 * is not counted without its bit. */
static const uint32_t V3_EXCLUDE = 0xF4000000, V3_INCLUDE_EL2 = 0x08000000;

/* An event counter of 64 bits (PMUv3p5) wraps in its low word as one of 32 does: it is read as such. */
static const struct pmu_places v3_places = {.at = core_pmu,
                                            .stride = 8,
                                            .bits = 32,
                                            .events_a_cycle = 16, /* a Neoverse V3 has 10 slots */
                                            .cycles = 0x0F8,
                                            .long_cycles = true,
                                            .locks = true,
                                            .hindrances = PMU_DIVIDE | PMU_STOP_PROHIBITED | PMU_LONG_EVENTS |
                                                          PMU_FREEZE_ON_OVERFLOW};

static bool has_v3(const struct core *core)
{
    return core_mapped_pmu(core) == PMU_V3;
}

enum { V3_CONFIGURATION = PMU_COMMON_READS, V3_FILTER, V3_EVENTS, V3_EVENT_WORDS = 4 };

static void v3_add_identity(const struct core *core, struct steps *list)
{
    if (!has_v3(core))
        return;
    pmu_add_common(&v3_places, core, list);
    steps_add(list, step_read(core_pmu(core, PMCFGR)));
    steps_add(list, step_read(core_pmu(core, PMCCFILTR)));
    for (size_t i = 0; i < V3_EVENT_WORDS; i++)
        steps_add(list, step_read(core_pmu(core, PMCEID0 + 4 * i)));
}

static bool v3_identify(const struct core *core, const uint64_t *values, struct counter_block *out)
{
    if (!has_v3(core))
        return false;
    static const struct part_pmu unknown = {.kind = PMU_V3P1, .events = "armv8-pmuv3-common"};
    const struct part_pmu *part = &core_part(core)->pmu;
    if (part->kind != PMU_V3 && part->kind != PMU_V3P1)
        part = &unknown;
    struct pmu pmu = {.places = &v3_places,
                      .n = values[V3_CONFIGURATION] & PMCFGR_N,
                      .cycle_filter = (uint32_t)values[V3_FILTER],
                      .codes = part->kind == PMU_V3 ? CODES_V8 : CODES_V81,
                      .exclude = V3_EXCLUDE,
                      .include = V3_INCLUDE_EL2,
                      .common = pmu_event_bits(values[V3_EVENTS], values[V3_EVENTS + 1]),
                      .extended = values[V3_EVENTS + 2] | values[V3_EVENTS + 3] << 32};
    pmu_take_common(&pmu, values);
    *out = (struct counter_block){.kind = &pmu_v3_kind, .events = part->events};
    pmu_describe(core, &pmu, out);
    snprintf(out->text, sizeof out->text, "PMUv3, %u counter%s", out->pmu.n, PLURAL(out->pmu.n));
    return true;
}

const struct block_kind pmu_v3_kind = {.name = "pmu",
                                       .registers = registers,
                                       .n_registers = sizeof registers / sizeof *registers,
                                       .add_identity = v3_add_identity,
                                       .identify = v3_identify,
                                       .program = pmu_program,
                                       .divide = pmu_divide,
                                       .counters_for = pmu_counters_for};

/* --- Armv8.1-M ------------------------------------------------------------------------------------------ */

enum { DEVARCH_MASK = 0x10FFFF, DEVARCH_PMU = 0x100A06 }; /* present, and what it is */
enum { USUAL_COUNTERS = 8 };                              /* of all cores so far */

static struct address v81m_at(const struct core *core, uint64_t offset)
{
    return core_word(core, M_PMU + offset);
}

static const struct pmu_places v81m_places = {.at = v81m_at,
                                              .stride = 4,
                                              .bits = 16,
                                              .events_a_cycle = 8,
                                              .cycles = PMCCNTR_V7,
                                              .hindrances = PMU_STOP_PROHIBITED | PMU_FREEZE_ON_OVERFLOW};

/* On other cores nothing may be read at these addresses. */
static const struct part_pmu *v81m_part(const struct core *core)
{
    const struct part_pmu *part = &core_part(core)->pmu;
    return part->kind == PMU_V81M ? part : NULL;
}

enum { V81M_CONFIGURATION = PMU_COMMON_READS, V81M_ARCHITECTURE, V81M_TRACE };

static void v81m_add_identity(const struct core *core, struct steps *list)
{
    if (v81m_part(core) == NULL)
        return;
    pmu_add_common(&v81m_places, core, list);
    steps_add(list, step_read(v81m_at(core, PMCFGR)));
    steps_add(list, step_read(v81m_at(core, COMPONENT_DEVARCH)));
    steps_add(list, step_read(core_word(core, DEMCR)));
}

/* While trace is off no counter counts, and the registers need not show the truth. */
static void take_untraced(struct pmu *pmu)
{
    pmu->control = pmu->enabled = 0;
    pmu->interrupts = UINT32_MAX;
    if (pmu->n == 0)
        pmu->n = USUAL_COUNTERS;
}

static bool v81m_identify(const struct core *core, const uint64_t *values, struct counter_block *out)
{
    const struct part_pmu *part = v81m_part(core);
    if (part == NULL || (values[V81M_ARCHITECTURE] & DEVARCH_MASK) != DEVARCH_PMU)
        return false;
    struct pmu pmu = {.places = &v81m_places,
                      .n = values[V81M_CONFIGURATION] & PMCFGR_N,
                      .codes = CODES_V81,
                      .common = UINT64_MAX,
                      .extended = UINT64_MAX};
    pmu_take_common(&pmu, values);
    if ((values[V81M_TRACE] & DEMCR_TRCENA) == 0)
        take_untraced(&pmu);
    *out = (struct counter_block){.kind = &pmu_v81m_kind, .events = part->events};
    out->settings[out->n_settings++] = cortex_m_trace(core);
    pmu_describe(core, &pmu, out);
    snprintf(out->text, sizeof out->text, "Armv8.1-M PMU, %u counter%s of 16 bits", out->pmu.n,
             PLURAL(out->pmu.n));
    return true;
}

static const struct counter_register v81m_registers[] = {
    {.name = "PMU_CCNTR", .word = 0xE000307C},
    {.name = "PMU_CTRL", .also = "PMCR", .word = 0xE0003E04, .on = 1, .strikes = 1 << 2},
    {.name = "PMU_CNTENCLR", .also = "PMCNTENSET", .word = 0xE0003C20, .strikes = UINT32_C(1) << 31},
    {.name = "DEMCR", .word = 0xE000EDFC, .on = 1 << 24}};

const struct block_kind pmu_v81m_kind = {.name = "pmu",
                                         .registers = v81m_registers,
                                         .n_registers = sizeof v81m_registers / sizeof *v81m_registers,
                                         .add_identity = v81m_add_identity,
                                         .identify = v81m_identify,
                                         .program = pmu_program,
                                         .counters_for = pmu_counters_for};

/* --- PMUv1 in CP15 alone -------------------------------------------------------------------------------- */

enum { PMUSERENR_EN = 1 << 0 };

/* CRm and opc2, DDI 0406C table B3-42. */
static const struct {
    uint16_t offset;
    uint8_t crm, opc2;
} own[] = {{PMCR, 12, 0},       {PMCNTENSET, 12, 1}, {PMCNTENCLR, 12, 2}, {PMOVSCLR, 12, 3},
           {PMINTENSET, 14, 1}, {PMINTENCLR, 14, 2}, {PMCCNTR_V7, 13, 0}, {PMUSERENR, 14, 0}};

struct address pmu_by_core(const struct core *core, uint64_t offset)
{
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (own[i].offset == offset)
            return core_own_pmu(core, own[i].crm, own[i].opc2);
    return (struct address){.size = 0};
}

static struct address cp15_at(const struct core *core, uint64_t offset)
{
    struct address plain = pmu_by_core(core, offset);
    if (plain.size != 0)
        return plain;
    if (offset >= PMEVTYPER0)
        return cp15_selected((unsigned)(offset - PMEVTYPER0) / 4, 9, 0, 13, 1);
    return cp15_selected((unsigned)(offset - PMEVCNTR0) / 4, 9, 0, 13, 2);
}

static const struct pmu_places cp15_places = {.at = cp15_at,
                                              .stride = 4,
                                              .bits = 32,
                                              .events_a_cycle = 8,
                                              .cycles = PMCCNTR_V7,
                                              .hindrances = PMU_DIVIDE | PMU_STOP_PROHIBITED};

static const struct part_pmu *cp15_part(const struct core *core)
{
    const struct part_pmu *part = &core_part(core)->pmu;
    return core->pmu_base == 0 && part->kind == PMU_CP15 ? part : NULL;
}

static void cp15_add_identity(const struct core *core, struct steps *list)
{
    if (cp15_part(core) != NULL)
        pmu_add_common(&cp15_places, core, list);
}

static bool cp15_identify(const struct core *core, const uint64_t *values, struct counter_block *out)
{
    const struct part_pmu *part = cp15_part(core);
    if (part == NULL)
        return false;
    *out = (struct counter_block){.kind = &pmu_cp15_kind, .events = part->events};
    struct pmu pmu = {.places = &cp15_places, .codes = CODES_V7, .common = part->common, .n = part->counters};
    if (values != NULL) {
        pmu_take_common(&pmu, values);
        pmu.n = pmu.control >> PMCR_N_SHIFT & PMCR_N;
        /* A hit may stop the core in User mode, in which PMUSERENR must allow it to read the counters. */
        out->settings[out->n_settings++] = (struct setting){.at = cp15_at(core, PMUSERENR),
                                                            .test = PMUSERENR_EN,
                                                            .set = PMUSERENR_EN,
                                                            .restore = {.mask = PMUSERENR_EN}};
        pmu_describe(core, &pmu, out);
        size_t used = strlen(out->note);
        snprintf(out->note + used, sizeof out->note - used,
                 "%sthe core is halted briefly to set and to read its counters", used > 0 ? "; " : "");
    } else {
        snprintf(out->state, sizeof out->state, "seen only while the core is halted");
    }
    unsigned n = values != NULL ? out->pmu.n : pmu.n;
    snprintf(out->text, sizeof out->text, "PMUv1 in CP15, %u counter%s", n, PLURAL(n));
    return true;
}

const struct block_kind pmu_cp15_kind = {.name = "pmu",
                                         .registers = registers,
                                         .n_registers = sizeof registers / sizeof *registers,
                                         .by_core = true,
                                         .add_identity = cp15_add_identity,
                                         .identify = cp15_identify,
                                         .program = pmu_program,
                                         .divide = pmu_divide,
                                         .counters_for = pmu_counters_for};

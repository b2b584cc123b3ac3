#include "counters/blocks.h"

#include "cores/armv7_transfer.h"

#include <stdio.h>
#include <string.h>

/* Where a mapped PMU of version 1 has its registers, DDI 0406C table D2-1; they are named here by that. */
enum {
    EVCNTR = 0x000,
    CCNTR = 0x07C,
    EVTYPER = 0x400,
    CNTENSET = 0xC00,
    CNTENCLR = 0xC20,
    INTENSET = 0xC40,
    INTENCLR = 0xC60,
    OVSR = 0xC80,
    PMCR = 0xE04,
    STRIDE = 4,
};
enum { CONTROL_N_SHIFT = 11, CONTROL_N = 0x1F, CODES = 0xFF, ARM = 0x41 };
enum { USER_ENABLE = 1 << 0 };

/* MIDR part numbers, event counters, and the common events that there are. */
static const struct part {
    uint16_t part;
    uint8_t counters;
    uint32_t common;
    const char *events;
} parts[] = {
    {0xC08, 4, 0x0007FFFF, "cortex-a8"}, /* DDI 0344 3.2.49 */
    {0xC14, 3, 0x0005FFDB, "cortex-r4"}, /* DDI 0363 table 6-1 */
    {0xC15, 3, 0x0005FFDB, "cortex-r5"}, /* DDI 0460 table 6-1 */
};

static const struct part *find_part(const struct core *core)
{
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (core->family == CORE_ARMV7 && core->pmu_base == 0 && core->id >> 24 == ARM &&
            parts[i].part == (core->id >> 4 & 0xFFF))
            return &parts[i];
    return NULL;
}

/* CRm and opc2 in c9, DDI 0406C table B3-42. */
static struct address place(const struct core *core, uint64_t offset)
{
    static const struct {
        uint16_t offset;
        uint8_t crm, opc2;
    } plain[] = {{PMCR, 12, 0},     {CNTENSET, 12, 1}, {CNTENCLR, 12, 2}, {OVSR, 12, 3},
                 {INTENSET, 14, 1}, {INTENCLR, 14, 2}, {CCNTR, 13, 0}};
    (void)core;
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (plain[i].offset == offset)
            return cp15_register(9, 0, plain[i].crm, plain[i].opc2);
    if (offset >= EVTYPER)
        return cp15_selected((unsigned)(offset - EVTYPER) / STRIDE, 9, 0, 13, 1);
    return cp15_selected((unsigned)(offset - EVCNTR) / STRIDE, 9, 0, 13, 2);
}

static const struct pmu_places places = {.at = place,
                                         .stride = STRIDE,
                                         .bits = 32,
                                         .cycles = CCNTR,
                                         .hindrances = PMU_DIVIDE | PMU_STOP_PROHIBITED};

static void add_identity(const struct core *core, struct steps *list)
{
    if (find_part(core) != NULL)
        pmu_add_common(&places, core, list);
}

/* In User mode the counters are read as the program could, which has to be allowed to (PMUSERENR). */
static void add_user_access(struct counter_block *out)
{
    if (out->n_settings < BLOCK_SETTINGS)
        out->settings[out->n_settings++] = (struct setting){.at = cp15_register(9, 0, 14, 0),
                                                            .test = USER_ENABLE,
                                                            .set = USER_ENABLE,
                                                            .restore = {.mask = USER_ENABLE}};
}

static void add_note(struct counter_block *out)
{
    static const char halts[] = "the core is halted briefly to set and to read its counters";
    size_t used = strlen(out->note);
    snprintf(out->note + used, sizeof out->note - used, "%s%s", used > 0 ? "; " : "", halts);
}

static bool identify(const struct core *core, const uint64_t *values, struct counter_block *out)
{
    const struct part *part = find_part(core);
    if (part == NULL)
        return false;
    *out = (struct counter_block){.kind = &pmu_cp15_kind, .events = part->events};
    struct pmu pmu = {.places = &places, .codes = CODES, .common = part->common, .n = part->counters};
    if (values != NULL) {
        pmu_take_common(&pmu, values);
        pmu.n = pmu.control >> CONTROL_N_SHIFT & CONTROL_N;
        add_user_access(out);
        pmu_describe(core, &pmu, out);
        add_note(out);
    } else {
        snprintf(out->state, sizeof out->state, "seen only while the core is halted");
    }
    snprintf(out->text, sizeof out->text, "PMUv1 in CP15, %u counters", values != NULL ? out->pmu.n : pmu.n);
    return true;
}

const struct block_kind pmu_cp15_kind = {.name = "pmu",
                                         .by_core = true,
                                         .add_identity = add_identity,
                                         .identify = identify,
                                         .program = pmu_program,
                                         .divide = pmu_divide,
                                         .counters_for = pmu_counters_for};

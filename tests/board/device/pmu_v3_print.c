// Describes an Armv8 performance monitor for the control socket: everything that a debugger could have
// changed.
#include "device/pmu_v3.h"

#include <inttypes.h>

static void print_words(FILE *json, const char *name, const uint32_t *words, unsigned count)
{
    fprintf(json, ",\"%s\":[", name);
    for (unsigned i = 0; i < count; i++)
        fprintf(json, "%s%" PRIu32, i ? "," : "", words[i]);
    fputc(']', json);
}

void pmu_v3_print(struct pmu_v3 *p, FILE *json)
{
    static const struct {
        const char *name;
        uint32_t offset;
    } registers[] = {{"pmcr", 0xE04},
                     {"pmcntenset", 0xC00},
                     {"pmintenset", 0xC40},
                     {"pmovsset", 0xCC0},
                     {"pmccfiltr", 0x47C}};
    uint32_t values[PMU_V3_COUNTERS], types[PMU_V3_COUNTERS];
    for (size_t i = 0; i < sizeof registers / sizeof *registers; i++)
        fprintf(json, ",\"%s\":%" PRIu32, registers[i].name, pmu_v3_read(p, registers[i].offset));
    for (unsigned i = 0; i < p->profile->counters; i++) {
        values[i] = p->counter[i].value;
        types[i] = p->counter[i].type;
    }
    fprintf(json, ",\"pmccntr\":%" PRIu64 ",\"pmuserenr\":%" PRIu32 ",\"pmselr\":%" PRIu32, p->cycles,
            p->user_enable, p->select);
    print_words(json, "pmevcntr", values, p->profile->counters);
    print_words(json, "pmevtyper", types, p->profile->counters);
}

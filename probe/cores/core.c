#include "cores/core.h"

static struct address word(uint16_t unit, uint64_t offset)
{
    return (struct address){.space = SPACE_MEMORY, .size = 4, .unit = unit, .offset = offset};
}

struct address core_word(const struct core *core, uint64_t offset)
{
    return word(core->memory_unit, offset);
}

struct address core_debug(const struct core *core, uint64_t offset)
{
    return word(core->unit, core->debug_base + offset);
}

struct address core_pmu(const struct core *core, uint64_t offset)
{
    return word(core->unit, core->pmu_base + offset);
}

struct address core_cti(const struct core *core, uint64_t offset)
{
    return word(core->unit, core->cti_base + offset);
}

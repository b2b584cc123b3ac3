#include "cores/core.h"

struct address core_word(const struct core *core, uint64_t offset)
{
    return (struct address){.space = SPACE_MEMORY, .size = 4, .unit = core->unit, .offset = offset};
}

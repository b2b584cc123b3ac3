#include "cores/armv7.h"

void armv7_add_identity(uint16_t unit, uint64_t debug_base, struct steps *list)
{
    (void)unit;
    (void)debug_base;
    (void)list;
}

bool armv7_identify(uint16_t unit, uint64_t debug_base, const uint64_t *values, struct core *out)
{
    (void)unit;
    (void)debug_base;
    (void)values;
    (void)out;
    return false;
}

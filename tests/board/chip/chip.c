// All chips there are.
#include "chip/chip.h"

#include <string.h>

const struct chip *chip_named(const char *name)
{
    static const struct chip *const chips[] = {&chip_rp2040, &chip_m4};
    for (size_t i = 0; i < sizeof chips / sizeof *chips; i++)
        if (!strcmp(chips[i]->name, name))
            return chips[i];
    return NULL;
}

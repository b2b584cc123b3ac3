// All chips there are.
#include "chip/chip.h"

#include <string.h>

const struct chip *chip_named(const char *name)
{
    static const struct chip *const chips[] = {&chip_rp2040, &chip_m4, NULL};
    const struct chip *const *chip = chips;
    while (*chip && strcmp((*chip)->name, name) != 0)
        chip++;
    return *chip;
}

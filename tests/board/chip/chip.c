// All chips there are.
#include "chip/chip.h"

#include <string.h>

static const struct chip *const chips[] = {&chip_rp2040,  &chip_rp2350, &chip_m4,  &chip_m7, &chip_m33,
                                           &chip_m55,     &chip_a9,     &chip_a7,  &chip_r5, &chip_a53,
                                           &chip_a53in32, &chip_a55,    &chip_r52, &chip_h7, NULL};

const struct chip *chip_named(const char *name)
{
    const struct chip *const *chip = chips;
    while (*chip && strcmp((*chip)->name, name) != 0)
        chip++;
    return *chip;
}

void chip_print_names(FILE *out)
{
    for (const struct chip *const *chip = chips; *chip; chip++)
        fprintf(out, "%s%s", chip == chips ? "" : "|", (*chip)->name);
}

/*
 * A flame graph as SVG inside a page of html.h. Places and widths are in percent, so it is as wide as the
 * page; each frame is a separate <svg>, which cuts its text.
 */
#pragma once

#include "profile/flame.h"

#include <stdio.h>

struct flame_svg {
    const struct flame *flame;
    const struct stacks *stacks;
    const struct profile_about *about; /* of the cores */
};

/* Returns how many frames were left out because they are too narrow to be seen. */
size_t flame_svg(FILE *out, const struct flame_svg *svg);

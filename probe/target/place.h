/*
 * A place on a debug bus, as the user names it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct place {
    bool said;
    unsigned port; /* the access port, by the number that info shows */
    uint64_t base;
};

/* The words of a debug bus by address, with components that identify themselves on it. IHI 0029 B2.2. */
#pragma once

#include "../test.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DEBUG_WORDS = 4096 };

struct debug_words {
    struct {
        uint64_t at;
        uint32_t value;
    } words[DEBUG_WORDS];
    size_t n;
};

static inline void debug_put(struct debug_words *d, uint64_t at, uint32_t value)
{
    assert_true(d->n < DEBUG_WORDS);
    d->words[d->n].at = at;
    d->words[d->n++].value = value;
}

/* False: nothing is there. */
static inline bool debug_get(const struct debug_words *d, uint64_t at, uint64_t *value)
{
    for (size_t i = 0; i < d->n; i++)
        if (d->words[i].at == at) {
            *value = d->words[i].value;
            return true;
        }
    return false;
}

static inline void debug_component(struct debug_words *d, uint64_t base, unsigned class, unsigned part,
                                   unsigned devtype, uint32_t devarch)
{
    static const uint8_t cidr[] = {0x0D, 0x00, 0x05, 0xB1};
    for (unsigned i = 0; i < 4; i++)
        debug_put(d, base + 0xFF0 + 4ULL * i, cidr[i] | (i == 1 ? class << 4 : 0));
    debug_put(d, base + 0xFE0, part & 0xFF);
    debug_put(d, base + 0xFE4, 0xB0 | part >> 8);
    debug_put(d, base + 0xFE8, 0x0B);
    debug_put(d, base + 0xFEC, 0);
    debug_put(d, base + 0xFD0, 4);
    if (class != 9)
        return;
    debug_put(d, base + 0xFCC, devtype);
    debug_put(d, base + 0xFBC, devarch);
}

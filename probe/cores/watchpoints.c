#include "cores/watchpoints.h"

#include "base/arm_debug.h"
#include "cores/architectures.h"

enum { STRIDE = 16, NUMCOMP = 28, MATCHED = 1 << 24 };
enum { WORD_BITS = 2 }; /* the bits of an address that select a byte of a word */

/* Armv6-M and Armv7-M: 0 is off, unless CYCMATCH is set. A comparator of data values uses the addresses in
 * one or two others, which may be off. */
enum {
    FUNCTION = 0xF,
    CYCMATCH = 1 << 7,
    DATAVMATCH = 1 << 8,
    DATAVADDR0 = 12,
    DATAVADDR1 = 16,
    WRITES = 6,
};

/* Armv8-M: MATCH 0 is off. A range limit or a linked value uses the comparator before it as well. */
enum {
    MATCH = 0xF,
    ACTION = 3 << 4,
    DATAVSIZE = 3 << 10,
    INSTRUCTION_LIMIT = 3,
    DATA_LIMIT = 7,
    LINKED_VALUE = 11,
    WRITES_TO_WORD = 5 | 1 << 4 | 2 << 10, /* data address, debug event, four bytes */
    ID = 27,
    ID_DATA_ADDRESS = 1 << 3,
};

unsigned watchpoints_count(uint64_t control)
{
    return control >> NUMCOMP & 0xF;
}

struct address watchpoints_function(const struct core *core, unsigned n)
{
    return core_word(core, DWT_FUNCTION0 + STRIDE * n);
}

struct address watchpoints_place(const struct core *core, unsigned n)
{
    return core_word(core, DWT_COMP0 + STRIDE * n);
}

static uint32_t used_on_v7(const uint64_t *functions, unsigned n)
{
    uint32_t used = 0;
    for (unsigned i = 0; i < n; i++) {
        uint64_t function = functions[i];
        if ((function & (FUNCTION | CYCMATCH)) == 0)
            continue;
        used |= 1U << i;
        if (function & DATAVMATCH)
            used |= 1U << (function >> DATAVADDR0 & 0xF) | 1U << (function >> DATAVADDR1 & 0xF);
    }
    return used;
}

static uint32_t used_on_v8(const uint64_t *functions, unsigned n)
{
    uint32_t used = 0;
    for (unsigned i = 0; i < n; i++) {
        unsigned match = functions[i] & MATCH;
        bool pair = match == INSTRUCTION_LIMIT || match == DATA_LIMIT || match == LINKED_VALUE;
        if (match != 0)
            used |= 1U << i | (pair && i > 0 ? 1U << (i - 1) : 0);
    }
    return used;
}

int watchpoints_find(const struct core *core, const uint64_t *functions, unsigned n, bool *others)
{
    bool v8 = cortex_m_is_v8(core);
    uint32_t used = v8 ? used_on_v8(functions, n) : used_on_v7(functions, n);
    *others = used != 0;
    for (unsigned i = n; i-- > 0;)
        if ((used & 1U << i) == 0 && (!v8 || (functions[i] >> ID & ID_DATA_ADDRESS)))
            return (int)i;
    return -1;
}

size_t watchpoints_settings(const struct core *core, unsigned n, uint64_t word, struct setting *out,
                            size_t room)
{
    bool v8 = cortex_m_is_v8(core);
    const struct setting comparator = {
        .at = watchpoints_place(core, n), .always = true, .test = UINT32_MAX, .set = word};
    const struct setting mask = {.at = core_word(core, DWT_MASK0 + STRIDE * n),
                                 .always = true,
                                 .test = 0x1F,
                                 .set = WORD_BITS,
                                 .restore = {.mask = 0x1F}};
    const struct setting on = {.at = watchpoints_function(core, n),
                               .always = true,
                               .test = v8 ? MATCH | ACTION | DATAVSIZE : FUNCTION,
                               .set = v8 ? WRITES_TO_WORD : WRITES,
                               .restore = {.mask = ~(uint64_t)MATCHED}};
    const struct setting all[] = {comparator, v8 ? on : mask, on};
    size_t count = v8 ? 2 : 3;
    for (size_t i = 0; i < count && i < room; i++)
        out[i] = all[i];
    return count < room ? count : room;
}

bool watchpoints_matched(uint64_t function)
{
    return (function & MATCHED) != 0;
}

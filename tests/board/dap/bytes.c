// Bytes: see the header.
#include "dap/bytes.h"

uint32_t bytes_take(struct bytes *b, unsigned count)
{
    uint32_t value = 0;
    if (bytes_left(b) < count) {
        b->bad = true;
        b->at = b->end;
        return 0;
    }
    for (unsigned i = 0; i < count; i++)
        value |= (uint32_t)*b->at++ << (8 * i);
    return value;
}

void bytes_skip(struct bytes *b, size_t count)
{
    b->bad = b->bad || bytes_left(b) < count;
    b->at += bytes_left(b) < count ? bytes_left(b) : count;
}

void answer_put(struct answer *a, uint32_t value, unsigned count)
{
    if (answer_room(a) < count) {
        a->full = true;
        return;
    }
    for (unsigned i = 0; i < count; i++)
        *a->at++ = (uint8_t)(value >> (8 * i));
}

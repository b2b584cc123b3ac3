// A request's bytes and a reply's, each with its end: more than there is can neither be taken nor put.
#ifndef BOARD_DAP_BYTES_H
#define BOARD_DAP_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bytes {
    const uint8_t *at, *end;
    bool bad; // more was asked for than there is
};

struct answer {
    uint8_t *at, *end;
    bool full;
};

static inline size_t bytes_left(const struct bytes *b)
{
    return (size_t)(b->end - b->at);
}

static inline size_t answer_room(const struct answer *a)
{
    return (size_t)(a->end - a->at);
}

uint32_t bytes_take(struct bytes *, unsigned count); // little endian, up to 4; zeros when bad
void bytes_skip(struct bytes *, size_t count);
void answer_put(struct answer *, uint32_t value, unsigned count);

#endif

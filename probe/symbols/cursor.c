#include "symbols/internal.h"

#include <string.h>

static size_t left(const struct cursor *cursor)
{
    return (size_t)(cursor->end - cursor->at);
}

static void cursor_give_up(struct cursor *cursor)
{
    cursor->bad = true;
    cursor->at = cursor->end;
}

bool cursor_more(const struct cursor *cursor)
{
    return !cursor->bad && cursor->at < cursor->end;
}

uint64_t cursor_unsigned(struct cursor *cursor, size_t width)
{
    if (cursor->bad || width > sizeof(uint64_t) || left(cursor) < width) {
        cursor_give_up(cursor);
        return 0;
    }
    uint64_t value = 0;
    for (size_t i = 0; i < width; i++)
        value |= (uint64_t)cursor->at[i] << (8 * (cursor->big_endian ? width - 1 - i : i));
    cursor->at += width;
    return value;
}

/* The raw bits of a signed or unsigned LEB128, and their number. */
static uint64_t leb(struct cursor *cursor, unsigned *bits, bool *negative)
{
    uint64_t value = 0;
    *bits = 0;
    *negative = false;
    while (cursor_more(cursor)) {
        uint8_t byte = *cursor->at++;
        if (*bits < 64)
            value |= (uint64_t)(byte & 0x7f) << *bits;
        *bits += 7;
        if (!(byte & 0x80)) {
            *negative = byte & 0x40;
            return value;
        }
    }
    cursor_give_up(cursor);
    return 0;
}

uint64_t cursor_uleb(struct cursor *cursor)
{
    unsigned bits = 0;
    bool negative = false;
    return leb(cursor, &bits, &negative);
}

int64_t cursor_sleb(struct cursor *cursor)
{
    unsigned bits = 0;
    bool negative = false;
    uint64_t value = leb(cursor, &bits, &negative);
    if (negative && bits < 64)
        value |= UINT64_MAX << bits;
    return (int64_t)value;
}

const char *cursor_string(struct cursor *cursor)
{
    const uint8_t *end = cursor->bad ? NULL : memchr(cursor->at, 0, left(cursor));
    if (end == NULL) {
        cursor_give_up(cursor);
        return "";
    }
    const char *string = (const char *)cursor->at;
    cursor->at = end + 1;
    return string;
}

void cursor_skip(struct cursor *cursor, uint64_t size)
{
    if (cursor->bad || size > left(cursor))
        cursor_give_up(cursor);
    else
        cursor->at += size;
}

struct cursor cursor_part(struct cursor *cursor, uint64_t size)
{
    struct cursor part = *cursor;
    cursor_skip(cursor, size);
    part.bad = cursor->bad;
    part.end = cursor->at;
    if (part.bad)
        part.at = part.end;
    return part;
}

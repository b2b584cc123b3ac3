/*
 * Cursor: reads the integers and strings of ELF and DWARF from bytes that may be damaged. Past the end
 * everything is 0 or "" and `bad` is set, so a reader may check once for many fields.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cursor {
    const uint8_t *at, *end;
    bool big_endian;
    bool bad;
};

uint64_t cursor_unsigned(struct cursor *cursor, size_t width); /* width: 1 to 8 bytes */
uint64_t cursor_uleb(struct cursor *cursor);
int64_t cursor_sleb(struct cursor *cursor);
const char *cursor_string(struct cursor *cursor);
void cursor_skip(struct cursor *cursor, uint64_t size);
/* The next `size` bytes as a cursor of their own; `cursor` moves behind them. */
struct cursor cursor_part(struct cursor *cursor, uint64_t size);
bool cursor_more(const struct cursor *cursor);

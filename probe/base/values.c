/* SPDX-License-Identifier: MIT */
#include "base/values.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *numbers_read(const char *text, int base, uint64_t *out, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char *end;
        if (i > 0 && *text++ != ' ')
            return NULL;
        bool prefix = text[0] == '0' && text[1] == 'x';
        if (prefix && base == EITHER_BASE)
            text += 2;
        int one = prefix && base == EITHER_BASE ? 16 : base == EITHER_BASE ? 10 : base;
        if (one == 16 ? !isxdigit((unsigned char)*text) : !isdigit((unsigned char)*text))
            return NULL;
        errno = 0;
        unsigned long long value = strtoull(text, &end, one);
        if (errno != 0 || (text[0] == '0' && (text[1] | 0x20) == 'x'))
            return NULL;
        out[i] = value;
        text = end;
    }
    return text;
}

int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

void text_add(char *text, size_t size, const char *format, ...)
{
    size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + used, size - used, format, arguments);
    va_end(arguments);
}

void text_join(char *text, size_t size, const char *between, const char *piece)
{
    if (piece[0] != '\0')
        text_add(text, size, "%s%s", text[0] != '\0' ? between : "", piece);
}

void doubt_add(char doubt[DOUBT_ROOM], const char *text)
{
    if (strstr(doubt, text) == NULL)
        text_join(doubt, DOUBT_ROOM, "; ", text);
}

const char *or_empty(const char *text)
{
    return text != NULL ? text : "";
}

void *array_grow(void *items, size_t n, size_t *room, size_t size)
{
    enum { FIRST = 16 };
    size_t wanted = n > 2 * *room ? n : 2 * *room;
    if (n <= *room)
        return items;
    wanted = wanted > FIRST ? wanted : FIRST;
    if (wanted > SIZE_MAX / size)
        return NULL;
    items = realloc(items, wanted * size);
    if (items != NULL)
        *room = wanted;
    return items;
}

size_t sorted_until(const void *items, size_t n, size_t size, uint64_t address)
{
    size_t low = 0;
    while (low < n) {
        size_t middle = low + (n - low) / 2;
        uint64_t at;
        memcpy(&at, (const char *)items + middle * size, sizeof at);
        if (at <= address)
            low = middle + 1;
        else
            n = middle;
    }
    return low;
}

size_t sorted_join(void *rows, size_t n, size_t size, int (*compare)(const void *, const void *),
                   void (*join)(void *first, const void *row))
{
    char *all = rows;
    size_t used = 0;
    if (n > 1)
        qsort(rows, n, size, compare);
    for (size_t i = 0; i < n; i++) {
        char *last = used > 0 ? all + (used - 1) * size : NULL, *row = all + i * size;
        if (last == NULL || compare(last, row) != 0)
            memmove(all + used++ * size, row, size);
        else if (join != NULL)
            join(last, row);
    }
    return used;
}

uint64_t hash_add(uint64_t hash, const void *bytes, size_t n)
{
    const uint8_t *at = bytes;
    hash = hash != 0 ? hash : UINT64_C(0xCBF29CE484222325);
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ at[i]) * UINT64_C(0x100000001B3);
    return hash;
}

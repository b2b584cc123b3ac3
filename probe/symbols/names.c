#include "symbols/names.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* The length of the character that may be shown here, 0 if none may */
static size_t character(const char *text, size_t length)
{
    const uint8_t *byte = (const uint8_t *)text;
    if (byte[0] < 0x80)
        return byte[0] >= 0x20 && byte[0] != 0x7f;
    size_t size = byte[0] >= 0xc2 && byte[0] < 0xe0   ? 2
                  : byte[0] >= 0xe0 && byte[0] < 0xf0 ? 3
                  : byte[0] >= 0xf0 && byte[0] < 0xf5 ? 4
                                                      : 0;
    if (size == 0 || size > length)
        return 0;
    for (size_t i = 1; i < size; i++)
        if ((byte[i] & 0xc0) != 0x80)
            return 0;
    bool overlong = (byte[0] == 0xe0 && byte[1] < 0xa0) || (byte[0] == 0xf0 && byte[1] < 0x90);
    bool surrogate = byte[0] == 0xed && byte[1] > 0x9f;
    bool beyond = byte[0] == 0xf4 && byte[1] > 0x8f;
    bool control = byte[0] == 0xc2 && byte[1] < 0xa0;
    return overlong || surrogate || beyond || control ? 0 : size;
}

void name_copy(char *out, size_t room, const char *text, size_t length)
{
    if (room == 0)
        return;
    size_t used = 0;
    for (size_t i = 0; i < length;) {
        size_t size = character(text + i, length - i);
        size_t wide = size ? size : 1;
        if (used + wide >= room)
            break;
        if (size == 0)
            out[used] = '?';
        else
            memcpy(out + used, text + i, size);
        used += wide;
        i += wide;
    }
    out[used] = '\0';
}

const char *name_of_file(const char *path)
{
    const char *base = path;
    for (const char *c = path; *c != '\0'; c++)
        if (*c == '/' || *c == '\\')
            base = c + 1;
    return base;
}

static bool is_separator(char c)
{
    return c == '/' || c == '\\';
}

bool path_ends_with(const char *path, const char *tail, size_t length)
{
    size_t all = strlen(path);
    for (; length > 2 && tail[0] == '.' && is_separator(tail[1]); length -= 2)
        tail += 2;
    if (length == 0 || all < length)
        return false;
    const char *end = path + all - length;
    for (size_t i = 0; i < length; i++)
        if (end[i] != tail[i] && !(is_separator(end[i]) && is_separator(tail[i])))
            return false;
    return all == length || is_separator(end[-1]) || is_separator(tail[0]);
}

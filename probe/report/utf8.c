#include "report/utf8.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static const char replacement[] = "\xEF\xBF\xBD";

static bool is_continuation(unsigned char byte)
{
    return (byte & 0xC0) == 0x80;
}

/* How many bytes the character takes; 0 when it is not valid (overlong, surrogate, beyond U+10FFFF). */
static size_t decode(const unsigned char *text, uint32_t *character)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t length = text[0] < 0x80             ? 1
                    : (text[0] & 0xE0) == 0xC0 ? 2
                    : (text[0] & 0xF0) == 0xE0 ? 3
                    : (text[0] & 0xF8) == 0xF0 ? 4
                                               : 0;
    if (length == 0)
        return 0;
    uint32_t value = length == 1 ? text[0] : text[0] & (0x7FU >> length);
    for (size_t i = 1; i < length; i++) {
        if (!is_continuation(text[i]))
            return 0;
        value = value << 6 | (text[i] & 0x3FU);
    }
    if (value < least[length] || value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF))
        return 0;
    *character = value;
    return length;
}

static bool is_printable(uint32_t character)
{
    static const struct {
        uint32_t from, to;
    } hidden[] = {
        {0x00, 0x1F},     {0x7F, 0x9F},     {0xAD, 0xAD},       {0x0300, 0x036F}, {0x061C, 0x061C},
        {0x200B, 0x200F}, {0x2028, 0x202E}, {0x2060, 0x206F},   {0x20D0, 0x20FF}, {0xFE00, 0xFE0F},
        {0xFEFF, 0xFEFF}, {0xFFF9, 0xFFFB}, {0xE0000, 0xE0FFF},
    };
    for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++)
        if (character >= hidden[i].from && character <= hidden[i].to)
            return false;
    return true;
}

const char *utf8_clean(char *out, size_t size, const char *text)
{
    size_t used = 0;
    for (const char *at = text; *at != '\0';) {
        uint32_t character = 0;
        size_t length = decode((const unsigned char *)at, &character);
        bool keep = length > 0 && is_printable(character);
        const char *from = keep ? at : replacement;
        size_t bytes = keep ? length : sizeof(replacement) - 1;
        if (used + bytes >= size)
            break;
        memcpy(out + used, from, bytes);
        used += bytes;
        at += length > 0 ? length : 1;
    }
    if (size > 0)
        out[used] = '\0';
    return out;
}

size_t utf8_width(const char *text)
{
    size_t width = 0;
    for (; *text != '\0'; text++)
        width += !is_continuation((unsigned char)*text);
    return width;
}

#include "counters/span.h"

#include <string.h>

/* Unlike those of <ctype.h>, these do not depend on the locale. */
static bool span_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

static int hex_value(char c)
{
    if (is_digit(c))
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static struct span span_from(struct span span, size_t from)
{
    return (struct span){.at = span.at + from, .n = span.n - from};
}

struct span span_trimmed(struct span span)
{
    while (span.n > 0 && span_is_blank(span.at[0]))
        span = span_from(span, 1);
    while (span.n > 0 && span_is_blank(span.at[span.n - 1]))
        span.n--;
    return span;
}

bool lines_next(struct lines *lines, struct span *line)
{
    while (lines->rest.n > 0) {
        struct span rest = lines->rest;
        const char *end = memchr(rest.at, '\n', rest.n);
        size_t n = end != NULL ? (size_t)(end - rest.at) : rest.n;
        lines->rest = span_from(rest, end != NULL ? n + 1 : n);
        lines->line++;
        const char *comment = n > 0 ? memchr(rest.at, '#', n) : NULL;
        rest.n = comment != NULL ? (size_t)(comment - rest.at) : n;
        *line = span_trimmed(rest);
        if (line->n > 0)
            return true;
    }
    return false;
}

bool span_word(struct span *rest, struct span *word)
{
    *rest = span_trimmed(*rest);
    size_t n = 0;
    while (n < rest->n && !span_is_blank(rest->at[n]))
        n++;
    *word = (struct span){.at = rest->at, .n = n};
    *rest = span_trimmed(span_from(*rest, n));
    return n > 0;
}

bool span_is(struct span span, const char *word)
{
    return span.n == strlen(word) && memcmp(span.at, word, span.n) == 0;
}

bool span_copy(struct span span, char *out, size_t size)
{
    if (span.n >= size || memchr(span.at, '\0', span.n) != NULL)
        return false;
    memcpy(out, span.at, span.n);
    out[span.n] = '\0';
    return true;
}

bool span_is_printable(struct span span)
{
    for (size_t i = 0; i < span.n; i++)
        if (span.at[i] < ' ' || span.at[i] > '~')
            return false;
    return true;
}

/* Hexadecimal digits only, at most 32 bits of value. */
static bool read_hex(struct span span, uint32_t *out)
{
    uint32_t value = 0;
    for (size_t i = 0; i < span.n; i++) {
        int digit = hex_value(span.at[i]);
        if (digit < 0 || value >> 28 != 0)
            return false;
        value = value << 4 | (uint32_t)digit;
    }
    *out = value;
    return span.n > 0;
}

bool span_is_code(struct span span, uint32_t *code)
{
    if (span.n > 1 && span.at[0] == 'r')
        return read_hex(span_from(span, 1), code);
    return span.n > 2 && span.at[0] == '0' && (span.at[1] | 0x20) == 'x' &&
           read_hex(span_from(span, 2), code);
}

bool span_is_event_name(struct span span)
{
    uint32_t code;
    for (size_t i = 0; i < span.n; i++)
        if (!is_letter(span.at[i]) && !is_digit(span.at[i]) &&
            (span.at[i] == '\0' || strchr("_.:=-", span.at[i]) == NULL))
            return false;
    return span.n > 0 && !is_digit(span.at[0]) && !span_is_code(span, &code);
}

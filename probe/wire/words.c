#include "wire/inside.h"

#include "base/values.h"

#include <inttypes.h>
#include <search.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char hex[] = "0123456789abcdef";

static bool words_make_room(struct line *line, size_t more)
{
    if (line->failed)
        return false;
    char *bytes = array_grow(line->bytes, line->used + more + 1, &line->room, 1);
    line->failed = bytes == NULL;
    line->bytes = bytes != NULL ? bytes : line->bytes;
    return !line->failed;
}

void line_add(struct line *line, const char *format, ...)
{
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int n = vsnprintf(NULL, 0, format, arguments);
    if (n >= 0 && words_make_room(line, (size_t)n + 1)) {
        (void)vsnprintf(line->bytes + line->used, (size_t)n + 1, format, again);
        line->used += (size_t)n;
    }
    va_end(again);
    va_end(arguments);
}

void line_add_text(struct line *line, const char *text)
{
    line_add(line, " \"");
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        if (c < ' ' || c == 0x7F || c == '"' || c == '\\')
            line_add(line, "\\%02x", c);
        else
            line_add(line, "%c", c);
    }
    line_add(line, "\"");
}

void line_add_bytes(struct line *line, const uint8_t *bytes, size_t n)
{
    line_add(line, " ");
    for (size_t i = 0; i < n; i++)
        line_add(line, "%02x", bytes[i]);
}

void line_clear(struct line *line)
{
    line->used = 0;
    if (line->bytes != NULL)
        line->bytes[0] = '\0';
}

void line_free(struct line *line)
{
    free(line->bytes);
    *line = (struct line){0};
}

static void words_skip(struct words *words)
{
    while (*words->at == ' ')
        words->at++;
}

bool words_are_over(const struct words *words)
{
    struct words left = *words;
    words_skip(&left);
    return *left.at == '\0';
}

bool words_take(struct words *words, char first)
{
    words_skip(words);
    if (*words->at == '\0' || *words->at != first)
        return false;
    words->at++;
    return true;
}

static bool words_read_number(struct words *words, unsigned base, uint64_t most, uint64_t *out)
{
    uint64_t value = 0;
    words_skip(words);
    const char *at = words->at;
    for (const char *digit; *at != '\0' && (digit = memchr(hex, *at, base)) != NULL; at++) {
        uint64_t next = (uint64_t)(digit - hex);
        if (value > (most - (next < most ? next : most)) / base)
            return false;
        value = value * base + next;
    }
    if (at == words->at || (*at != '\0' && *at != ' ' && *at != '-' && *at != '*') || value > most)
        return false;
    words->at = at;
    *out = value;
    return true;
}

bool words_number(struct words *words, uint64_t most, uint64_t *out)
{
    return words_read_number(words, 16, most, out);
}

bool words_decimal(struct words *words, uint64_t most, uint64_t *out)
{
    return words_read_number(words, 10, most, out);
}

static bool read_byte(const char *at, uint8_t *out)
{
    const char *high = at[0] != '\0' ? strchr(hex, at[0]) : NULL,
               *low = high != NULL && at[1] != '\0' ? strchr(hex, at[1]) : NULL;
    if (low == NULL)
        return false;
    *out = (uint8_t)((high - hex) << 4 | (low - hex));
    return true;
}

bool words_text(struct words *words, char *out, size_t size)
{
    size_t used = 0;
    if (!words_take(words, '"'))
        return false;
    const char *at = words->at;
    for (; *at != '"'; at++) {
        uint8_t byte = (uint8_t)*at;
        if (*at == '\0' || used + 1 >= size)
            return false;
        if (*at == '\\') {
            if (!read_byte(at + 1, &byte) || byte == 0)
                return false;
            at += 2;
        }
        out[used++] = (char)byte;
    }
    out[used] = '\0';
    words->at = at + 1;
    return true;
}

bool words_bytes(struct words *words, uint8_t *out, size_t n)
{
    words_skip(words);
    for (size_t i = 0; i < n; i++, words->at += 2)
        if (!read_byte(words->at, &out[i]))
            return false;
    return *words->at == '\0' || *words->at == ' ';
}

/* --- dictionaries --------------------------------------------------------------------------------------- */

static const char *words_text_of(const void *saying)
{
    return ((const struct saying *)saying)->text;
}

static int words_compare_texts(const void *one, const void *other)
{
    return strcmp(words_text_of(one), words_text_of(other));
}

/* The tree compares sayings, of which a key has only the text. */
static struct saying *make_key(const char *text)
{
    size_t length = strlen(text);
    struct saying *key = calloc(1, sizeof *key + length + 1);
    if (key != NULL)
        memcpy(key->text, text, length + 1);
    return key;
}

struct saying *dictionary_find(const struct dictionary *dictionary, const char *text)
{
    struct saying *key = make_key(text);
    void *found = key == NULL ? NULL : tfind(key, &dictionary->tree, words_compare_texts);
    free(key);
    return found != NULL ? *(struct saying **)found : NULL;
}

struct saying *dictionary_add(struct dictionary *dictionary, const char *text)
{
    struct saying *new = make_key(text), **sayings = NULL;
    if (new != NULL)
        sayings =
            array_grow(dictionary->sayings, dictionary->n + 1, &dictionary->room, sizeof(struct saying *));
    dictionary->sayings = sayings != NULL ? sayings : dictionary->sayings;
    void *found = sayings == NULL ? NULL : tsearch(new, &dictionary->tree, words_compare_texts);
    if (found == NULL || *(struct saying **)found != new) {
        free(new);
        return found != NULL ? *(struct saying **)found : NULL;
    }
    dictionary->sayings[dictionary->n++] = new;
    new->number = dictionary->n;
    return new;
}

struct saying *dictionary_at(const struct dictionary *dictionary, uint64_t number)
{
    return number == 0 || number > dictionary->n ? NULL : dictionary->sayings[number - 1];
}

void dictionary_free(struct dictionary *dictionary)
{
    while (dictionary->n > 0) {
        struct saying *last = dictionary->sayings[--dictionary->n];
        (void)tdelete(last, &dictionary->tree, words_compare_texts);
        free(last->answer);
        free(last);
    }
    free(dictionary->sayings);
    *dictionary = (struct dictionary){0};
}

/* SPDX-License-Identifier: MIT */
#include "run/values.h"

#include "base/file.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

static size_t digits(const char *text)
{
    return strspn(text, "0123456789");
}

/* Digits with at most one point and perhaps an exponent; *end points after them. */
static bool read_decimal(const char *text, double *out, const char **end)
{
    char number[64];
    size_t n = digits(text), behind = text[n] == '.' ? digits(text + n + 1) : 0;
    if (n + behind == 0)
        return false;
    n += text[n] == '.' ? 1 + behind : 0;
    if (text[n] == 'e' || text[n] == 'E') {
        size_t sign = text[n + 1] == '+' || text[n + 1] == '-';
        size_t exponent = digits(text + n + 1 + sign);
        n += exponent > 0 ? 1 + sign + exponent : 0;
    }
    if (n >= sizeof number)
        return false;
    memcpy(number, text, n);
    number[n] = '\0';
    *out = strtod(number, NULL);
    *end = text + n;
    return isfinite(*out);
}

struct unit {
    const char *name;
    double scale;
};

static bool scale(double *value, const char *name, const struct unit *units, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcasecmp(name, units[i].name) == 0) {
            *value *= units[i].scale;
            return true;
        }
    return false;
}

bool value_frequency(const char *text, double *out)
{
    static const struct unit units[] = {{"", 1},    {"hz", 1},    {"k", 1e3}, {"khz", 1e3},
                                        {"m", 1e6}, {"mhz", 1e6}, {"g", 1e9}, {"ghz", 1e9}};
    const char *end;
    double value;
    if (!read_decimal(text, &value, &end) || strcmp(end, "m") == 0 ||
        !scale(&value, end, units, sizeof units / sizeof *units))
        return false;
    *out = value;
    return true;
}

void value_offset_text(uint64_t offset, char out[VALUE_OFFSET])
{
    bool below = offset > INT64_MAX;
    snprintf(out, VALUE_OFFSET, "%s0x%" PRIX64, below ? "-" : "", below ? 0 - offset : offset);
}

bool value_seconds(const char *text, double plain, double *out)
{
    static const struct unit units[] = {{"s", 1}, {"ms", 1e-3}, {"m", 60}, {"min", 60}, {"h", 3600}};
    const char *end;
    double value;
    if (!read_decimal(text, &value, &end))
        return false;
    if (*end == '\0')
        value *= plain;
    else if (!scale(&value, end, units, sizeof units / sizeof *units))
        return false;
    *out = value;
    return true;
}

bool value_count(const char *text, uint64_t most, uint64_t *out)
{
    char *end;
    bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    if (!isdigit((unsigned char)text[0]) || (hex && !isxdigit((unsigned char)text[2])))
        return false;
    if (!hex && text[0] == '0' && text[1] != '\0') /* octal to some */
        return false;
    errno = 0;
    unsigned long long value = strtoull(text, &end, hex ? 16 : 10);
    if (*end != '\0' || errno != 0 || value > most)
        return false;
    *out = value;
    return true;
}

bool value_many(const char *text, uint64_t most, uint64_t *out)
{
    enum { EXACT_BITS = 53 };
    const char *end;
    double value;
    if (value_count(text, most, out))
        return true;
    if (!read_decimal(text, &value, &end) || (text[0] == '0' && text[1] != '.'))
        return false;
    bool has_exponent =
        memchr(text, 'e', (size_t)(end - text)) != NULL || memchr(text, 'E', (size_t)(end - text)) != NULL;
    bool kilo = strcmp(end, "k") == 0 || strcmp(end, "K") == 0, mega = strcmp(end, "M") == 0;
    if (!(kilo || mega || (has_exponent && *end == '\0')))
        return false;
    value *= kilo ? 1e3 : mega ? 1e6 : 1;
    if (value != floor(value) || value > ldexp(1, EXACT_BITS) || (uint64_t)value > most)
        return false;
    *out = (uint64_t)value;
    return true;
}

/* Of a whole number that is followed by a blank and a word. */
static bool values_read_events(const char *text, struct budget_value *out)
{
    char number[32];
    size_t length = strcspn(text, " "), blanks = strspn(text + length, " ");
    const char *event = text + length + blanks;
    if (length >= sizeof number || (text[length] != '\0' && *event == '\0') || strchr(event, ' ') != NULL ||
        strlen(event) >= sizeof out->event)
        return false;
    memcpy(number, text, length);
    number[length] = '\0';
    bool cycles = *event == '\0' || strcmp(event, "cycles") == 0 || strcmp(event, "cycle") == 0;
    snprintf(out->event, sizeof out->event, "%s", cycles ? "CPU_CYCLES" : event);
    return value_many(number, INT32_MAX, &out->events) && out->events > 0;
}

bool value_budget(const char *text, struct budget_value *out)
{
    static const struct unit parts[] = {{"s", 1}, {"ms", 1e3}, {"us", 1e6}, {"ns", 1e9}}; /* of a second */
    const char *end;
    double value, part = 1;
    *out = (struct budget_value){.events = 0};
    if (!read_decimal(text, &value, &end) ||
        !scale(&part, end + strspn(end, " "), parts, sizeof parts / sizeof *parts))
        return values_read_events(text, out);
    if (!(value > 0))
        return false;
    *out = (struct budget_value){.seconds = value / part, .event = "CPU_CYCLES"};
    return true;
}

bool value_separator(const char *text, const char **out)
{
    bool tab = strcmp(text, "\\t") == 0;
    if (!tab && (text[0] == '\0' || text[1] != '\0' || isalnum((unsigned char)text[0]) ||
                 strchr("\"\r\n.-", text[0]) != NULL))
        return false;
    *out = tab ? "\t" : text;
    return true;
}

static const char *const format_names[FORMATS] = {
    [FORMAT_TEXT] = "text",         [FORMAT_JSON] = "json",     [FORMAT_CSV] = "csv",
    [FORMAT_MARKDOWN] = "markdown", [FORMAT_FOLDED] = "folded", [FORMAT_CALLGRIND] = "callgrind",
    [FORMAT_PERF] = "perf",         [FORMAT_HTML] = "html",     [FORMAT_PERFETTO] = "perfetto"};

bool value_format(const char *text, enum format *out)
{
    for (size_t i = 0; i < FORMATS; i++)
        if (strcmp(text, format_names[i]) == 0) {
            *out = (enum format)i;
            return true;
        }
    return false;
}

const char *value_format_name(enum format format)
{
    return format_names[format];
}

bool value_process(const char *text, struct process *out)
{
    uint64_t id = 0;
    bool any = strcmp(text, "any") == 0;
    if (!any && !value_count(text, UINT32_MAX, &id))
        return false;
    *out = (struct process){.which = any ? PROCESS_ANY : PROCESS_ID, .id = (uint32_t)id};
    return true;
}

/* A component begins at a page boundary. */
bool value_place(const char *text, struct place *out)
{
    enum { PAGE = 4096, PORTS = 255 };
    char number[16];
    uint64_t port, base;
    const char *colon = strchr(text, ':');
    size_t length = colon != NULL ? (size_t)(colon - text) : 0;
    if (length == 0 || length >= sizeof number)
        return false;
    snprintf(number, sizeof number, "%.*s", (int)length, text);
    if (!value_count(number, PORTS, &port) || !value_count(colon + 1, UINT64_MAX, &base) || base % PAGE != 0)
        return false;
    *out = (struct place){.said = true, .port = (unsigned)port, .base = base};
    return true;
}

/* ---- word file */

enum { CHUNK = 1 << 14 };

/* --- words ---------------------------------------------------------------------------------------------- */

static bool word_file_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static bool word_file_split(const struct word_file *file, const char *line, size_t length,
                            struct words *words)
{
    words->n = 0;
    for (size_t i = 0;;) {
        while (i < length && word_file_is_blank(line[i]))
            i++;
        if (i == length || line[i] == '#')
            return true;
        if (words->n == WORD_FILE_WORDS)
            return word_file_fails(file, "more than %d words", WORD_FILE_WORDS);
        char *word = words->at[words->n];
        size_t used = 0;
        bool quoted = line[i] == '"';
        for (i += quoted; i < length && (quoted ? line[i] != '"' : !word_file_is_blank(line[i])); i++) {
            if (line[i] == '\0')
                return word_file_fails(file, "a zero byte: this is not text");
            if (used + 1 == WORD_FILE_WORD)
                return word_file_fails(file, "a word longer than %d bytes", WORD_FILE_WORD - 1);
            word[used++] = line[i];
        }
        if (quoted && i == length)
            return word_file_fails(file, "the quotes are not closed");
        i += quoted;
        word[used] = '\0';
        words->quoted[words->n++] = quoted;
    }
}

bool words_have(const struct words *words, size_t i, const char *text)
{
    return i < words->n && !words->quoted[i] && strcmp(words->at[i], text) == 0;
}

bool words_copy(const struct word_file *file, char *out, size_t size, const char *word, const char *what)
{
    if (word[0] == '\0' || strlen(word) >= size)
        return word_file_fails(file, word[0] == '\0' ? "%s is empty" : "%s is too long", what);
    memcpy(out, word, strlen(word) + 1);
    return true;
}

bool word_file_parse(struct word_file *file, const char *text, size_t size,
                     bool (*take)(void *context, const struct word_file *, const struct words *),
                     void *context)
{
    struct words words;
    file->line = 0;
    if (size > WORD_FILE_BYTES)
        return word_file_fails(file, "larger than 1 MiB");
    for (size_t at = 0; at < size;) {
        const char *line = text + at, *end = memchr(line, '\n', size - at);
        size_t length = end != NULL ? (size_t)(end - line) : size - at;
        file->line++;
        if (!word_file_split(file, line, length, &words) || (words.n > 0 && !take(context, file, &words)))
            return false;
        at += length + (end != NULL);
    }
    file->line = 0;
    return true;
}

/* --- the file ------------------------------------------------------------------------------------------- */

static char *word_file_read_all(int fd, const volatile sig_atomic_t *cancel, size_t *size, int *why)
{
    char *text = NULL;
    size_t room = 0;
    ssize_t got = 1;
    *size = 0;
    *why = 0;
    while (got > 0 && *size <= WORD_FILE_BYTES) {
        char *more = array_grow(text, *size + CHUNK, &room, 1);
        if (more == NULL) {
            *why = ENOMEM;
            break;
        }
        text = more;
        got = file_read(fd, text + *size, CHUNK, cancel);
        *why = got < 0 ? errno : 0;
        *size += got > 0 ? (size_t)got : 0;
    }
    if (*why == 0) {
        *size = file_drop_mark(text, *size);
        return text;
    }
    free(text);
    return NULL;
}

char *word_file_read(const char *path, const volatile sig_atomic_t *cancel, size_t *size, struct error *error)
{
    char name[UTF8_CLEAN_ROOM(256)];
    *size = 0;
    utf8_clean(name, sizeof name, path);
    int fd = file_open_to_read(path, cancel), why = fd < 0 ? errno : 0;
    char *text = fd >= 0 ? word_file_read_all(fd, cancel, size, &why) : NULL;
    if (fd >= 0)
        close(fd);
    if (text == NULL)
        (void)(why == EINTR ? error_set(error, ERROR_CANCELLED, "cancelled")
                            : error_advise(error, ERROR_USAGE, "", "%s: %s", name, strerror(why)));
    return text;
}

#include "commands/region_file.h"

#include "base/file.h"
#include "commands/options.h"
#include "report/terminal.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WORDS = 16, WORD = 320, CHUNK = 1 << 14 };

struct words {
    char at[WORDS][WORD];
    bool quoted[WORDS];
    size_t n;
};

struct file_reading {
    struct region_file *out;
    struct error *error;
    unsigned line;
};

__attribute__((format(printf, 2, 3))) static bool fails(const struct file_reading *reading,
                                                        const char *format, ...)
{
    va_list facts;
    va_start(facts, format);
    error_set_in_file(reading->error, reading->out->file, reading->line, format, facts);
    va_end(facts);
    return false;
}

/* --- words ---------------------------------------------------------------------------------------------- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static bool split(const struct file_reading *reading, const char *line, size_t length, struct words *words)
{
    words->n = 0;
    for (size_t i = 0;;) {
        while (i < length && is_blank(line[i]))
            i++;
        if (i == length || line[i] == '#')
            return true;
        if (words->n == WORDS)
            return fails(reading, "more than %d words", WORDS);
        char *word = words->at[words->n];
        size_t used = 0;
        bool quoted = line[i] == '"';
        for (i += quoted; i < length && (quoted ? line[i] != '"' : !is_blank(line[i])); i++) {
            if (line[i] == '\0')
                return fails(reading, "a zero byte: this is no text");
            if (used + 1 == WORD)
                return fails(reading, "a word longer than %d bytes", WORD - 1);
            word[used++] = line[i];
        }
        if (quoted && i == length)
            return fails(reading, "the quotes are not closed");
        i += quoted;
        word[used] = '\0';
        words->quoted[words->n++] = quoted;
    }
}

/* --- a line --------------------------------------------------------------------------------------------- */

/* Decimals without a sign or an exponent. */
static bool read_number(const char *text, double *out)
{
    char *end;
    if (text[strspn(text, "0123456789.")] != '\0' || text[0] == '\0' || strlen(text) > 24)
        return false;
    *out = strtod(text, &end);
    return *end == '\0' && isfinite(*out) && *out > 0;
}

static bool read_budget(const struct file_reading *reading, const char *number, const char *unit,
                        struct budget *out)
{
    static const struct {
        const char *name;
        double each;
        bool is_time;
    } units[] = {{"cycles", 1, false}, {"ns", 1e-9, true}, {"us", 1e-6, true},
                 {"µs", 1e-6, true},   {"ms", 1e-3, true}, {"s", 1, true}};
    double value;
    if (!read_number(number, &value))
        return fails(reading, "a budget is a number above 0, such as 1200, not \"%.32s\"", number);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(units[i].name, unit) == 0) {
            out->limit = value * units[i].each;
            out->is_time = units[i].is_time;
            return true;
        }
    return fails(reading, "the unit of a budget is cycles, ns, us, ms or s, not \"%.32s\"", unit);
}

static bool is_word(const struct words *words, size_t i, const char *text)
{
    return i < words->n && !words->quoted[i] && strcmp(words->at[i], text) == 0;
}

static bool begins_rest(const struct words *words, size_t i)
{
    return is_word(words, i, "<=") ||
           (is_word(words, i + 1, "<=") && (is_word(words, i, "max") || is_word(words, i, "mean"))) ||
           (i < words->n && !words->quoted[i] && words->at[i][0] == '-');
}

static bool take_budget(const struct file_reading *reading, const struct words *words, size_t *i,
                        struct region_line *line)
{
    line->budget.of = is_word(words, *i, "mean") ? BUDGET_MEAN : BUDGET_MAX;
    *i += is_word(words, *i, "<=") ? 1 : 2;
    if (*i + 1 >= words->n)
        return fails(reading, "behind <= stand a number and its unit, such as 1200 cycles or 40 us");
    *i += 2;
    return read_budget(reading, words->at[*i - 2], words->at[*i - 1], &line->budget);
}

static bool take_option(const struct file_reading *reading, const struct words *words, size_t *i,
                        struct region_line *line)
{
    const char *name = words->at[*i], *value = *i + 1 < words->n ? words->at[*i + 1] : "";
    *i += 2;
    if (strcmp(name, "-r") == 0 || strcmp(name, "--repeat") == 0)
        return (value_many(value, INT32_MAX, &line->hits) && line->hits > 0) ||
               fails(reading, "%s takes a whole number from 1 up, not \"%.32s\"", name, value);
    if (strcmp(name, "--threshold") == 0)
        return verdict_threshold(value, &line->threshold) ||
               fails(reading, "--threshold takes a part such as 2%% or 0.02, not \"%.32s\"", value);
    return fails(reading, "a region takes -r N and --threshold PART, not \"%.32s\"", name);
}

static bool copy(const struct file_reading *reading, char *out, size_t size, const char *word,
                 const char *what)
{
    if (word[0] == '\0' || strlen(word) >= size)
        return fails(reading, word[0] == '\0' ? "%s is empty" : "%s is too long", what);
    memcpy(out, word, strlen(word) + 1);
    return true;
}

static bool take_words(const struct file_reading *reading, const struct words *words,
                       struct region_line *line)
{
    size_t i = 2;
    *line = (struct region_line){.line = reading->line, .threshold = -1};
    if (words->n < 2 || begins_rest(words, 1))
        return fails(reading, "a region is a name, and a function or a start and an end");
    if (!copy(reading, line->name, sizeof line->name, words->at[0], "the name") ||
        !copy(reading, line->start, sizeof line->start, words->at[1], "the start"))
        return false;
    if (i < words->n && !begins_rest(words, i) &&
        !copy(reading, line->end, sizeof line->end, words->at[i++], "the end"))
        return false;
    while (i < words->n) {
        bool is_budget = is_word(words, i, "<=") || is_word(words, i + 1, "<=");
        if (!begins_rest(words, i))
            return fails(reading, "\"%.64s\" is too much: behind the region stand a budget and options",
                         words->at[i]);
        if (is_budget && line->budget.of != BUDGET_NONE)
            return fails(reading, "a second budget");
        if (is_budget ? !take_budget(reading, words, &i, line) : !take_option(reading, words, &i, line))
            return false;
    }
    return true;
}

static bool add(struct file_reading *reading, const struct region_line *line)
{
    struct region_file *out = reading->out;
    for (size_t i = 0; i < out->n; i++)
        if (strcmp(out->lines[i].name, line->name) == 0)
            return fails(reading, "line %u has the name \"%.64s\", too", out->lines[i].line, line->name);
    if (out->n == REGION_FILE_MOST)
        return fails(reading, "more than %d regions", REGION_FILE_MOST);
    if ((out->n & (out->n - 1)) == 0) { /* full: room doubles */
        size_t room = out->n > 0 ? 2 * out->n : 1;
        struct region_line *more = realloc(out->lines, room * sizeof *more);
        if (more == NULL)
            return error_set(reading->error, ERROR_SYSTEM, "out of memory");
        out->lines = more;
    }
    out->lines[out->n++] = *line;
    return true;
}

bool region_file_parse(const char *text, size_t size, const char *path, struct region_file *out,
                       struct error *error)
{
    struct file_reading reading = {.out = out, .error = error};
    struct words words;
    *out = (struct region_file){.n = 0};
    utf8_clean(out->file, sizeof out->file, path);
    if (size > REGION_FILE_BYTES)
        return fails(&reading, "larger than 1 MiB");
    for (size_t at = 0; at < size;) {
        const char *line = text + at, *end = memchr(line, '\n', size - at);
        size_t length = end != NULL ? (size_t)(end - line) : size - at;
        struct region_line region;
        reading.line++;
        if (!split(&reading, line, length, &words))
            return false;
        if (words.n > 0 && (!take_words(&reading, &words, &region) || !add(&reading, &region)))
            return false;
        at += length + (end != NULL);
    }
    reading.line = 0;
    return out->n > 0 || fails(&reading, "it names no region");
}

/* --- the file ------------------------------------------------------------------------------------------- */

static char *read_all(int fd, const volatile sig_atomic_t *cancel, size_t *size, int *why)
{
    char *text = NULL;
    size_t room = 0;
    ssize_t got = 1;
    *size = 0;
    *why = 0;
    while (got > 0 && *size <= REGION_FILE_BYTES) {
        if (room - *size < CHUNK) {
            room += CHUNK + room;
            char *more = realloc(text, room);
            if (more == NULL) {
                *why = ENOMEM;
                break;
            }
            text = more;
        }
        got = file_read(fd, text + *size, CHUNK, cancel);
        *why = got < 0 ? errno : 0;
        *size += got > 0 ? (size_t)got : 0;
    }
    if (*why == 0)
        return text;
    free(text);
    return NULL;
}

bool region_file_read(const char *path, const volatile sig_atomic_t *cancel, struct region_file *out,
                      struct error *error)
{
    char name[UTF8_CLEAN_ROOM(256)];
    size_t size = 0;
    *out = (struct region_file){.n = 0};
    utf8_clean(name, sizeof name, path);
    int fd = file_open_to_read(path, cancel), why = fd < 0 ? errno : 0;
    char *text = fd >= 0 ? read_all(fd, cancel, &size, &why) : NULL;
    if (fd >= 0)
        close(fd);
    if (text == NULL)
        return why == EINTR ? error_set(error, ERROR_CANCELLED, "cancelled")
                            : error_set(error, ERROR_USAGE, "%s: %s", name, strerror(why));
    bool ok = region_file_parse(text, size, path, out, error);
    free(text);
    return ok;
}

void region_file_free(struct region_file *file)
{
    free(file->lines);
    *file = (struct region_file){.n = 0};
}

static void put_word(FILE *out, const char *word, int width)
{
    bool quotes = word[strcspn(word, " \t#")] != '\0' || word[0] == '-' || strcmp(word, "max") == 0 ||
                  strcmp(word, "mean") == 0;
    int used = fprintf(out, quotes ? "\"%s\"" : "%s", word);
    fprintf(out, "%*s", used < width ? width - used : 0, "");
}

bool region_file_write(FILE *out, const struct region_line *line)
{
    put_word(out, line->name, 30);
    fputs("  ", out);
    put_word(out, line->start, 30);
    if (line->end[0] != '\0') {
        fputs("  ", out);
        put_word(out, line->end, 0);
    }
    if (line->budget.of != BUDGET_NONE) {
        struct verdict_line named = budget_decide(&line->budget, NULL, 1);
        fprintf(out, "  %s", named.name);
    }
    fputc('\n', out);
    return !ferror(out);
}

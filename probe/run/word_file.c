#include "run/word_file.h"

#include "base/file.h"
#include "report/terminal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CHUNK = 1 << 14 };

bool word_file_fails(const struct word_file *file, const char *format, ...)
{
    va_list facts;
    va_start(facts, format);
    error_set_in_file(file->error, file->name, file->line, format, facts);
    va_end(facts);
    return false;
}

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
                            : error_set(error, ERROR_USAGE, "%s: %s", name, strerror(why)));
    return text;
}

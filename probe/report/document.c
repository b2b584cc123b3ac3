/* SPDX-License-Identifier: MIT */
#include "report/document.h"

#include "base/file.h"
#include "report/terminal.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CHUNK = 1 << 16 };

struct document document_new(void)
{
    return (struct document){.lines = json_array(), .ok = true};
}

void document_free(struct document *document)
{
    json_decref(document->lines);
    *document = (struct document){.lines = NULL};
}

void document_add(struct document *document, struct json_part line)
{
    document->ok = rows_add(document->lines, line) && document->ok;
}

bool rows_add(json_t *rows, struct json_part row)
{
    bool ok = row.ok && json_array_append(rows, row.json) == 0;
    json_decref(row.json);
    return ok;
}

json_t *document_end(struct document document)
{
    return json_list_end((struct json_part){.json = document.lines, .ok = document.ok});
}

bool line_is_of(const json_t *line, const char *type)
{
    return strcmp(field_text(line, "type"), type) == 0;
}

const json_t *document_line(const struct document *document, const char *type)
{
    for (size_t i = json_array_size(document->lines); i-- > 0;)
        if (line_is_of(json_array_get(document->lines, i), type))
            return json_array_get(document->lines, i);
    return NULL;
}

json_t *document_rows(const struct document *document, const char *type, const json_t *core)
{
    json_t *rows = json_array(), *line;
    size_t i;
    json_array_foreach(document->lines, i, line)
        if (line_is_of(line, type) &&
            (core == NULL || field_count(line, "core") == field_count(core, "core")) &&
            json_array_append(rows, line) != 0) {
            json_decref(rows);
            return NULL;
        }
    return rows;
}

bool document_write(FILE *out, const struct document *document)
{
    bool ok = document->ok;
    for (size_t i = 0; i < json_array_size(document->lines) && ok; i++) {
        const json_t *line = json_array_get(document->lines, i);
        ok = line_is_of(line, "") || json_line_write(out, line);
    }
    return ok;
}

/* ---- from outside */

bool json_lines_broke(const struct json_lines *reader, const char *path, struct error *error)
{
    char name[UTF8_CLEAN_ROOM(256)];
    if (reader->error == EINTR)
        return !error_set(error, ERROR_CANCELLED, "cancelled");
    return reader->error != 0 && !error_advise(error, ERROR_USAGE, "", "%s: %s",
                                               utf8_clean(name, sizeof name, path), strerror(reader->error));
}

/* Of a file that can be read twice. */
static bool document_is_program(int fd)
{
    char begin[4];
    return pread(fd, begin, sizeof begin, 0) == (ssize_t)sizeof begin && memcmp(begin, "\177ELF", 4) == 0;
}

bool json_file_open(struct json_file *file, const char *path, const volatile sig_atomic_t *cancel,
                    struct error *error)
{
    *file = (struct json_file){.from = {.fd = file_open_to_read(path, cancel), .cancel = cancel}};
    file->lines.from = &file->from;
    if (file->from.fd >= 0 && !document_is_program(file->from.fd))
        return true;
    if (file->from.fd >= 0) {
        char name[UTF8_CLEAN_ROOM(256)];
        close(file->from.fd);
        file->from.fd = -1;
        errno = EINVAL;
        return error_advise(error, ERROR_USAGE, "Results are what record, or -j -o FILE, wrote.",
                            "%s is a program (ELF), not a result", utf8_clean(name, sizeof name, path));
    }
    file->lines.error = errno;
    (void)json_lines_broke(&file->lines, path, error);
    errno = file->lines.error;
    return false;
}

void json_file_close(struct json_file *file)
{
    free(file->lines.held);
    if (file->from.fd >= 0)
        close(file->from.fd);
    *file = (struct json_file){.from = {.fd = -1}};
}

static bool document_is_blank(const char *line, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (strchr(" \t\r", line[i]) == NULL || line[i] == '\0')
            return false;
    return true;
}

/* False: there is no more, or it cannot be read. */
static bool read_more(struct json_lines *reader)
{
    size_t left = reader->size - reader->at, room = left < reader->room ? reader->room : 2 * left + CHUNK;
    if (reader->from == NULL || reader->error != 0 || reader->is_read)
        return false;
    if (left > 0)
        memmove(reader->held, reader->text + reader->at, left);
    char *held = room > reader->room ? realloc(reader->held, room) : reader->held;
    ssize_t got =
        held != NULL ? file_read(reader->from->fd, held + left, room - left, reader->from->cancel) : -1;
    reader->error = held == NULL ? ENOMEM : got < 0 ? errno : 0;
    if (reader->from->cancel != NULL && *reader->from->cancel != 0)
        reader->error = EINTR;
    if (held != NULL) {
        reader->text = reader->held = held;
        reader->room = room;
        reader->at = 0;
        reader->size = left + (got > 0 ? (size_t)got : 0);
        reader->is_read = reader->size < room;
    }
    reader->why = reader->error != 0 ? strerror(reader->error) : NULL;
    return reader->error == 0;
}

/* Whether a text in it may be another than utf8_clean makes of it. */
static bool may_be_unclean(const char *line, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (line[i] == '\\' || (unsigned char)line[i] >= 0x7F)
            return true;
    return false;
}

static char *document_clean_text(const char *text)
{
    size_t room = UTF8_CLEAN_ROOM(strlen(text) + 1);
    char *clean = malloc(room);
    if (clean != NULL)
        utf8_clean(clean, room, text);
    return clean;
}

/* The same with clean keys and texts; NULL: out of memory. */
static json_t *document_clean_value(json_t *value)
{
    json_t *part, *clean = NULL;
    const char *key;
    size_t i;
    bool ok = true;
    if (json_is_string(value)) {
        char *text = document_clean_text(json_string_value(value));
        clean = text != NULL ? json_string(text) : NULL;
        free(text);
    } else if (json_is_array(value)) {
        clean = json_array();
        json_array_foreach(value, i, part)
            ok = ok && json_array_append_new(clean, document_clean_value(part)) == 0;
    } else if (json_is_object(value)) {
        clean = json_object();
        json_object_foreach(value, key, part) {
            char *name = document_clean_text(key);
            ok = ok && name != NULL && json_object_set_new(clean, name, document_clean_value(part)) == 0;
            free(name);
        }
    } else {
        clean = json_incref(value);
    }
    if (!ok)
        json_decref(clean);
    return ok ? clean : NULL;
}

static json_t *document_clean_line(struct json_lines *reader, json_t *value, size_t length)
{
    if (!may_be_unclean(reader->begin, length))
        return value;
    json_t *clean = document_clean_value(value);
    json_decref(value);
    if (clean == NULL)
        reader->why = strerror(ENOMEM);
    return clean;
}

static json_t *parse_line(struct json_lines *reader, size_t length)
{
    json_error_t problem;
    size_t most = reader->most > 0 ? reader->most : LINES_LINE_MAX;
    json_t *value =
        length <= most ? json_loadb(reader->begin, length, JSON_REJECT_DUPLICATES, &problem) : NULL;
    reader->why = reader->text_of_why;
    if (length > most) {
        reader->is_last = false; /* however it ends */
        snprintf(reader->text_of_why, sizeof reader->text_of_why, "a line longer than %zu MiB", most >> 20);
    } else if (value == NULL) {
        snprintf(reader->text_of_why, sizeof reader->text_of_why, "not JSON: %.160s", problem.text);
    } else if (!json_is_object(value)) {
        json_decref(value);
        reader->is_last = false; /* it is whole */
        reader->why = "not a JSON object";
        return NULL;
    } else {
        reader->why = NULL;
        return document_clean_line(reader, value, length);
    }
    return value;
}

json_t *json_lines_next(struct json_lines *reader)
{
    size_t most = reader->most > 0 ? reader->most : LINES_LINE_MAX;
    for (reader->why = NULL; reader->why == NULL;) {
        size_t left = reader->size - reader->at;
        const char *end = left > 0 ? memchr(reader->text + reader->at, '\n', left) : NULL;
        if (end == NULL && left <= most && read_more(reader))
            continue;
        if (left == 0 || reader->why != NULL)
            break;
        reader->begin = reader->text + reader->at;
        size_t length = end != NULL ? (size_t)(end - reader->begin) : left;
        reader->line++;
        reader->is_last = end == NULL;
        reader->at += length + (end != NULL);
        if (!document_is_blank(reader->begin, length))
            return parse_line(reader, length);
    }
    return NULL;
}

/* Of a later schema the keys may mean something else. */
static bool check_header(const json_t *header, const char *path, unsigned line, struct error *error)
{
    const char *schema = field_text(header, "schema");
    bool known = strcmp(schema, JSON_SCHEMA) == 0 || strcmp(schema, JSON_SCHEMA_2) == 0;
    if (line_is_of(header, "header") && known)
        return true;
    return error_set_in_file(error, path, line,
                             schema[0] == '\0' ? DOCUMENT_NO_HEADER "%s"
                                               : "its schema is %.64s, which is not a result of a command",
                             schema);
}

static bool take_document_line(struct document *out, json_t *line, const struct document_taker *taker,
                               bool *kept)
{
    bool ok = true;
    *kept = taker == NULL || taker->take(taker->context, line, &ok);
    return ok && (!*kept || json_array_append(out->lines, line) == 0);
}

static bool parse_lines(struct document *out, struct json_lines *lines, const char *path,
                        const struct document_taker *taker, struct error *error)
{
    json_t *line;
    size_t held = 0;
    bool kept = true, begun = false;
    for (; (line = json_lines_next(lines)) != NULL; json_decref(line)) {
        bool ok = take_document_line(out, line, taker, &kept) ||
                  error_set(error, ERROR_SYSTEM, "no memory, or no room in the temporary folder");
        if (ok && !begun)
            ok = check_header(line, path, lines->line, error);
        else if (ok && line_is_of(line, "header"))
            ok = error_set_in_file(error, path, lines->line, "a second header: several results");
        held += kept ? (size_t)(lines->text + lines->at - lines->begin) : 0;
        if (ok && held > LINES_FILE_MAX)
            ok = error_set_in_file(error, path, lines->line, "more than %d MiB of lines",
                                   LINES_FILE_MAX >> 20);
        if (!ok) {
            json_decref(line);
            return false;
        }
        begun = true;
    }
    if (json_lines_broke(lines, path, error))
        return false;
    if (lines->why != NULL)
        return error_set_in_file(error, path, lines->line, "%s%s",
                                 lines->is_last ? "that run was cut off in this line: " : "", lines->why);
    return begun || error_set_in_file(error, path, 0, "empty");
}

bool document_read(struct json_lines *lines, const char *path, const struct document_taker *taker,
                   struct document *out, struct error *error)
{
    char name[UTF8_CLEAN_ROOM(256)];
    *out = document_new();
    if (out->lines == NULL)
        return error_memory(error);
    if (parse_lines(out, lines, utf8_clean(name, sizeof name, path), taker, error))
        return true;
    document_free(out);
    return false;
}

bool document_parse(const char *text, size_t size, const char *path, struct document *out,
                    struct error *error)
{
    return document_read(&(struct json_lines){.text = text, .size = size}, path, NULL, out, error);
}

/* ---- values */

static const json_t *at_path(const json_t *line, const char *path, size_t length)
{
    while (length > 0 && line != NULL) {
        char key[64];
        size_t step = strcspn(path, ".|");
        snprintf(key, sizeof key, "%.*s", (int)step, path);
        line = json_object_get(line, key);
        path += step < length ? step + 1 : step;
        length -= step < length ? step + 1 : step;
    }
    return line;
}

const json_t *field_of(const json_t *line, const char *keys)
{
    for (;;) {
        size_t length = strcspn(keys, "|");
        const json_t *value = at_path(line, keys, length);
        if (value != NULL || keys[length] == '\0')
            return value;
        keys += length + 1;
    }
}

const char *text_or_empty(const json_t *value)
{
    return or_empty(json_string_value(value));
}

const char *text_in(const json_t *line, const char *key, const char *name)
{
    return text_or_empty(json_object_get(field_of(line, key), name));
}

const char *field_text(const json_t *line, const char *keys)
{
    return text_or_empty(field_of(line, keys));
}

double field_real(const json_t *line, const char *keys)
{
    const json_t *value = field_of(line, keys);
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

/* Counts beyond 2^63 - 1 are reals. */
uint64_t count_of(const json_t *value)
{
    double real = json_real_value(value);
    if (json_is_integer(value))
        return json_integer_value(value) > 0 ? (uint64_t)json_integer_value(value) : 0;
    return !(real > 0) ? 0 : real < 0x1p64 ? (uint64_t)real : UINT64_MAX;
}

uint64_t field_count(const json_t *line, const char *keys)
{
    return count_of(field_of(line, keys));
}

bool field_is(const json_t *line, const char *keys)
{
    const json_t *value = field_of(line, keys);
    return value != NULL && !json_is_false(value);
}

#include "report/document.h"

#include <math.h>
#include <string.h>

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
    document->ok = document->ok && line.ok && json_array_append(document->lines, line.json) == 0;
    json_decref(line.json);
}

static bool is_of(const json_t *line, const char *type)
{
    return strcmp(field_text(line, "type"), type) == 0;
}

const json_t *document_line(const struct document *document, const char *type)
{
    for (size_t i = json_array_size(document->lines); i-- > 0;)
        if (is_of(json_array_get(document->lines, i), type))
            return json_array_get(document->lines, i);
    return NULL;
}

json_t *document_rows(const struct document *document, const char *type, const json_t *core)
{
    json_t *rows = json_array(), *line;
    size_t i;
    json_array_foreach(document->lines, i,
                       line) if (is_of(line, type) &&
                                 (core == NULL || field_count(line, "core") == field_count(core, "core")) &&
                                 json_array_append(rows, line) != 0)
    {
        json_decref(rows);
        return NULL;
    }
    return rows;
}

bool document_write(FILE *out, const struct document *document)
{
    bool ok = document->ok;
    for (size_t i = 0; i < json_array_size(document->lines) && ok; i++)
        ok = json_line_write(out, json_array_get(document->lines, i));
    return ok;
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

const char *field_text(const json_t *line, const char *keys)
{
    const char *text = json_string_value(field_of(line, keys));
    return text != NULL ? text : "";
}

double field_real(const json_t *line, const char *keys)
{
    const json_t *value = field_of(line, keys);
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

uint64_t field_count(const json_t *line, const char *keys)
{
    const json_t *value = field_of(line, keys);
    return json_is_integer(value) ? (uint64_t)json_integer_value(value)
           : json_is_real(value)  ? (uint64_t)json_real_value(value)
                                  : 0;
}

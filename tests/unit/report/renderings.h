/* A result in one format, to the output of the test. */
#pragma once

#include "golden.h"

#include "report/document.h"
#include "report/render.h"

static inline const struct rendering *rendering_to(FILE *out, enum format format, size_t columns)
{
    static struct rendering to;
    to = (struct rendering){.out = out, .format = format, .columns = columns, .separator = ','};
    return &to;
}

#define TO_TEXT(columns) rendering_to(output(), FORMAT_TEXT, columns)
#define TO(format)       rendering_to(output(), format, 80)
#define TO_FULL(format)  rendering_to(output_full(), format, 80)

/* Lines as JSON, with ' in place of ". */
static inline struct document document_from(const char *text)
{
    struct document document = document_new();
    char *copy = strdup(text), *rest = copy;
    for (char *line; (line = strtok_r(rest, "\n", &rest)) != NULL;) {
        for (char *at = line; (at = strchr(at, '\'')) != NULL;)
            *at = '"';
        struct json_part part = {.json = json_loads(line, 0, NULL), .ok = true};
        if (part.json == NULL)
            fail_msg("not JSON: %s", line);
        document_add(&document, part);
    }
    free(copy);
    return document;
}

/* A result in one format, to the output of the test. */
#pragma once

#include "golden.h"

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

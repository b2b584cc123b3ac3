/*
 * One survey on several boards: the JSON lines of each, as a table of region by board and as JSON lines that
 * name their board.
 */
#pragma once

#include "base/error.h"
#include "measure/verdict.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct boards_one {
    const char *name, *probe;
    json_t *lines; /* owned: an array of objects */
    bool complete; /* from header to summary: also of a run that ended with an error */
    int code;      /* its exit code */
    char why[512]; /* it has failed, and this is why; "" */
};

struct boards {
    struct boards_one *of;
    size_t n;
    bool judged; /* there are budgets or a baseline */
    double seconds;
};

/* Fills `lines` with what the board's process printed; false with `why`: it is not a survey's. */
bool boards_take(struct boards_one *one, const char *text, size_t size);
void boards_free(struct boards *boards);

/* False if it could not be written whole. */
bool boards_text(FILE *out, const struct boards *boards, size_t columns);
bool boards_json(FILE *out, const struct boards *boards);

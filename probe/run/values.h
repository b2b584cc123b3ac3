/* SPDX-License-Identifier: MIT */
/*
 * Values: the text after an option. Each function returns false if it cannot read all of the text. None
 * takes signs, blanks, hexadecimal fractions or ambiguous text. And files of words, which the user keeps in
 * a project: a # begins a comment, and quotes keep the blanks of a word. The text is from outside, and every
 * error names the file and the line.
 */
#pragma once

#include "base/error.h"
#include "counters/counter.h"
#include "engine/engine.h"
#include "find/coresight.h"
#include "report/formats.h"
#include "report/terminal.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* "12M", "125MHz", "48k"; not "12m", which would be a millihertz. */
bool value_frequency(const char *text, double *out);
/* "500ms", "2s", "1.5min", "1h"; a number without a unit is multiplied by `plain`. */
bool value_seconds(const char *text, double plain, double *out);
/* A --load-offset as it is typed: "0x130000", "-0x1000" */
enum { VALUE_OFFSET = 20 };
void value_offset_text(uint64_t offset, char out[VALUE_OFFSET]);
/* Decimal, or hexadecimal after 0x. */
bool value_count(const char *text, uint64_t most, uint64_t *out);
/* "200", and other ways to write a whole number: "10k", "1e3", "2M". */
bool value_many(const char *text, uint64_t most, uint64_t *out);
/* One character, or \t for a tab. */
bool value_separator(const char *text, const char **out);
bool value_format(const char *text, enum format *out);
const char *value_format_name(enum format format);
/* "any", or a CONTEXTIDR */
bool value_process(const char *text, struct process *out);
/* What a call may use: "1200", "1200 cycles", "40us", "10 L1D_CACHE_REFILL". At least 1, and at most
 * INT32_MAX. */
struct budget_value {
    uint64_t events;        /* 0: a time is given */
    double seconds;         /* 0: events are given */
    char event[EVENT_NAME]; /* as typed; "CPU_CYCLES" for cycles and times */
};
bool value_budget(const char *text, struct budget_value *out);
/* AP:ADDR */
bool value_place(const char *text, struct place *out);

enum { WORD_FILE_WORDS = 24, WORD_FILE_WORD = 1200, WORD_FILE_BYTES = 1 << 20 };

struct words {
    char at[WORD_FILE_WORDS][WORD_FILE_WORD];
    bool quoted[WORD_FILE_WORDS];
    size_t n;
};

/* A file while it is read. */
struct word_file {
    const char *name; /* clean */
    struct error *error;
    unsigned line; /* from 1; 0: the whole file */
};

/* Gives each line that has words to `take`, until that fails. */
bool word_file_parse(struct word_file *file, const char *text, size_t size,
                     bool (*take)(void *context, const struct word_file *, const struct words *),
                     void *context);
/* ERROR_USAGE, with the place. Always false. */
#define word_file_fails(of, ...) error_set_in_file((of)->error, (of)->name, (of)->line, __VA_ARGS__)
/* Whether there is such a word, without quotes. */
bool words_have(const struct words *words, size_t i, const char *text);
/* False: it is empty, or longer than `size` - 1; `what` names it in the error. */
bool words_copy(const struct word_file *file, char *out, size_t size, const char *word, const char *what);

/* The whole file, to be freed; NULL: ERROR_USAGE or ERROR_CANCELLED. One that is too long is cut after
 * WORD_FILE_BYTES, which word_file_parse refuses. */
char *word_file_read(const char *path, const volatile sig_atomic_t *cancel, size_t *size,
                     struct error *error);

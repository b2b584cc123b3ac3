/*
 * The table of options: how each is written, what it is for, and which commands take it. Parser, help and
 * refusals are made of it.
 */
#pragma once

#include "commands/command.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum option_kind {
    OPTION_TEXT,
    OPTION_CORE,
    OPTION_FREQUENCY,
    OPTION_SPEED,
    OPTION_COUNT,
    OPTION_MILLISECONDS,
    OPTION_SECONDS,
    OPTION_FLAG,
    OPTION_VERBOSE,
    OPTION_OPENOCD,
    OPTION_EVENT,
    OPTION_METRIC,
    OPTION_FORMAT,
    OPTION_JSON,
    OPTION_CSV,
    OPTION_PLACE,
    OPTION_PROCESS,
    OPTION_KINDS
};

struct option {
    char letter; /* 0: none */
    const char *name, *value;
    enum option_kind kind;
    size_t offset;     /* in struct options */
    unsigned commands; /* bits of enum command_id */
    const char *help;
};

enum { OPTION_MOST = 64 }; /* that there may be */

extern const struct option option_table[];
extern const size_t option_count;

/* Both NULL: there is none. */
const struct option *option_find(const char *name, size_t length);
const struct option *option_find_letter(char letter);

/* What a kind of value looks like. */
struct option_words {
    const char *takes;   /* "a whole number from 1 up, such as 200" */
    const char *noun;    /* "a number" */
    const char *example; /* "200"; NULL: each option has its own */
};
extern const struct option_words option_words[OPTION_KINDS];

/* Always false: `option`, typed as `typed`, is not for this command. */
bool option_refuse(const struct option *option, const char *typed, enum command_id command,
                   struct error *error);
/* False: `one` says what `other` would be for, so that `other` has no effect beside it. */
bool option_goes_with(const struct option *one, const struct option *other, const char **why);

/* A line or more an option, in 80 columns. */
void option_print(FILE *out, const struct option *option);

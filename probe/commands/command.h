/*
 * Commands: one file each, options in, library calls, result to report/. Each returns the exit code.
 *
 * A new command takes a COMMAND_ below, a row in command.c, and its bit in each row of option_table.c whose
 * option it uses: all others are refused by name before anything is connected. tests/golden/options shows
 * the table.
 */
#pragma once

#include "base/log.h"
#include "commands/options.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>

/* What main gives to a command. `cancel` is set by Ctrl-C and SIGTERM. */
struct context {
    const struct options *options;
    const volatile sig_atomic_t *cancel;
    FILE *out;
    bool *result;          /* NULL: nobody asks */
    const struct log *log; /* NULL without -v */
};

/* 2 and 3 are those of errors: base/error.c. */
enum { EXIT_DONE = 0, EXIT_REGRESSED = 1, EXIT_INCONCLUSIVE = 4, EXIT_UNHEALTHY = 5 };

/* What is in `out` by now is worth keeping, even if the command fails. */
void command_has_result(const struct context *context);

enum command_id {
    COMMAND_PROBES,
    COMMAND_INFO,
    COMMAND_DELTA,
    COMMAND_STAT,
    COMMAND_WATCH,
    COMMAND_DOCTOR,
    COMMAND_RELEASE,
    COMMAND_RESET,
    COMMAND_STUB,
    COMMAND_CALIBRATE,
    COMMAND_LIST,
    COMMAND_SERVE,
    COMMANDS
};

struct command {
    const char *name, *operands;
    const char *does;     /* one line; NULL: not shown in the overview */
    const char *about;    /* further words for `help NAME`; "" */
    const char *examples; /* lines */
    const char *needs;    /* what its operands are, for when one is missing */
    unsigned least, most; /* operands */
    unsigned formats;     /* bits of enum format */
    int (*run)(const struct context *, struct error *);
};

/* By their ids. */
extern const struct command commands[COMMANDS];
/* NULL: there is none; the error says what comes near. */
const struct command *command_find(const char *name, struct error *error);

int command_probes(const struct context *context, struct error *error);
int command_info(const struct context *context, struct error *error);
int command_delta(const struct context *context, struct error *error);
int command_stat(const struct context *context, struct error *error);
int command_list(const struct context *context, struct error *error);
int command_doctor(const struct context *context, struct error *error);
int command_calibrate(const struct context *context, struct error *error);
int command_serve(const struct context *context, struct error *error);
int command_watch(const struct context *context, struct error *error);
int command_release(const struct context *context, struct error *error);
int command_reset(const struct context *context, struct error *error);
int command_stub(const struct context *context, struct error *error);

/*
 * Commands: one file each, options in, library calls, result to report/. Each returns the exit code.
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
    bool *result; /* NULL: nobody asks */
    const struct log *log; /* NULL without -v */
};

/* 2 and 3 are those of errors: base/error.c. */
enum { EXIT_DONE = 0, EXIT_REGRESSED = 1, EXIT_INCONCLUSIVE = 4, EXIT_UNHEALTHY = 5 };

/* What is in `out` by now is worth keeping, even if the command fails. */
void command_has_result(const struct context *context);

/* For commands that take no further words and print text only. */
bool command_is_plain(const struct context *context, struct error *error);

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

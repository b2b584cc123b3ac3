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
#include "measure/result.h"

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

/*
 * Help: made of the tables of commands and options, in 80 columns.
 */
void help_print(FILE *out);                     /* --help: all of it */
void help_command(FILE *out, const char *name); /* help NAME, NAME --help */
void help_usage(FILE *out);                     /* no command given */
void help_manual(FILE *out);                    /* the manual page, for man */

/*
 * Of `list`: what --cpu takes.
 */
enum { LIST_SETS = 2 };
const char *list_cpu(size_t i); /* the i-th; NULL: there are no more */
/* The sets of events that a core of this name has; 0: it is not known. */
size_t list_sets(const char *cpu, const char *sets[LIST_SETS]);

/*
 * Completion: prints what can take the place of the last of these words (the command line behind pmu-probe,
 * up to the cursor), a candidate a line with a tab and a short help behind it. ":files" and ":folders" stand
 * for those that the shell knows. The scripts in completions/ call it.
 */
void complete_print(FILE *out, int argc, char **argv);

/*
 * Outcome: what a run of `delta` ends in: its summary in the format that was asked for and, with --baseline,
 * the comparison with an earlier run and the exit code that follows from it.
 */
struct session;
struct verdict_output; /* what to compare with, read before anything is measured */

/* *out is NULL without --baseline. False: the baseline or the threshold cannot be used. */
bool verdict_output_begin(const struct context *context, struct verdict_output **out, struct error *error);
void verdict_output_free(struct verdict_output *check); /* NULL is allowed */
/* Writes the summary and the comparison; false when it could not be written. *code is left alone without a
 * baseline. */
bool verdict_output_write(const struct context *context, const struct summary *summary,
                          struct verdict_output *check, int *code);

/*
 * Of `doctor`: which lines of the program write the counter. On a Cortex-M a watchpoint tells; of an A or R
 * core the ELF is searched for instructions that can.
 */
/* The one that was found WRITTEN, be it before it could be taken; NULL: none is known. */
const struct counter_block *doctor_written_block(const struct session *session);
/* Behind a trial that found the counter WRITTEN, for the reason `why`. It also reports what goes wrong. */
void doctor_name_writers(struct session *session, const struct error *why);
/* Of one that stands though it was switched on. */
void doctor_name_stoppers(const struct session *session);

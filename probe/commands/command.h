/*
 * Commands: one file each, options in, library calls, result to report/. Each returns the exit code.
 *
 * A new command takes a COMMAND_ in options.h, a row in command.c, and its bit in each row of option_table.c
 * whose option it uses: all others are refused by name before anything is connected. tests/golden/options
 * shows the table.
 */
#pragma once

#include "base/log.h"
#include "commands/options.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>

struct rendering;

/* What becomes of the file that -o names. */
enum output_keep {
    KEEP_NOTHING, /* it stays as it was */
    KEEP_PART,    /* the same, and what was written stays next to it */
    KEEP_ALL,
};

/* What main gives to a command. */
struct context {
    const struct options *options;
    struct surroundings around;
    FILE *out;
    size_t columns;         /* of a text for a screen; 0: as `out` has */
    enum output_keep *keep; /* see command_has_result; may be NULL */
};

/* 2 and 3 are those of errors: base/error.c. */
enum { EXIT_DONE = 0, EXIT_REGRESSED = 1, EXIT_INCONCLUSIVE = 4, EXIT_NOT_COMPARABLE = 5 };
enum { EXIT_UNHEALTHY = 5 };     /* of doctor, which compares nothing */
enum { EXIT_INTERRUPTED = 130 }; /* by Ctrl-C, before all that was asked for was measured; as of a shell */

/* The output so far is worth keeping, even if the command fails. */
void command_has_result(const struct context *context);
/* A measurement that has some of its hits ended with `why`: "" if that was not an error. Fills summaries'
 * `ended`. */
void command_ended(const struct context *context, const struct error *why, char *out, size_t size);
/* A measurement that Ctrl-C ended has some of its hits: clears that error. Returns the exit code. */
int command_interrupted(const struct context *context, struct error *error);
/* ERROR_UNWRITTEN of what was not. */
bool command_wrote(bool written, struct error *error);
/* The exit code of what went well or failed with `error`. */
int command_code(bool ok, const struct error *error);
/* The same of a measurement, `code` if all went well. `after`: why the target was not put back. */
int command_end(bool ok, int code, bool unwritten, const struct error *after, struct error *error);
/* The first operand that is a name, so that the program must be known; NULL: none. */
const char *command_names(const struct options *options);
/* The output of the run and its format, as the options say. */
struct rendering command_rendering(const struct context *context);

/* What it is for: a part of the overview. */
enum command_group { COMMANDS_MEASURE, COMMANDS_PROFILE, COMMANDS_COMPARE, COMMANDS_TARGET, COMMAND_GROUPS };

struct command {
    const char *name, *operands;
    enum command_group group;
    const char *does;     /* one line; NULL: not shown in the overview */
    const char *about;    /* more for `help NAME`; may be "" */
    const char *examples; /* lines */
    const char *needs;    /* what its operands are, for when one is missing */
    unsigned least, most; /* operands */
    unsigned formats;     /* bits of enum format */
    int (*run)(const struct context *, struct error *);
};

/* By their ids. */
extern const struct command commands[COMMANDS];
/* "text, json or csv"; `formats` has bits of enum format. */
void command_formats(unsigned formats, char *out, size_t size);
/* Its id; COMMANDS: none of these names is typed. */
size_t command_typed(const struct options *options);
/* NULL: it is not a command; the error suggests similar names. */
const struct command *command_find(const char *name, struct error *error);

int command_probes(const struct context *context, struct error *error);
int command_info(const struct context *context, struct error *error);
int command_delta(const struct context *context, struct error *error);
int command_survey(const struct context *context, struct error *error);
int command_lines(const struct context *context, struct error *error);
int command_stat(const struct context *context, struct error *error);
int command_list(const struct context *context, struct error *error);
int command_doctor(const struct context *context, struct error *error);
int command_calibrate(const struct context *context, struct error *error);
int command_report(const struct context *context, struct error *error);
int command_annotate(const struct context *context, struct error *error);
int command_locate(const struct context *context, struct error *error);
int command_history(const struct context *context, struct error *error);
int command_compare(const struct context *context, struct error *error);
int command_show(const struct context *context, struct error *error);
int command_serve(const struct context *context, struct error *error);
int command_watch(const struct context *context, struct error *error);
int command_record(const struct context *context, struct error *error);
int command_top(const struct context *context, struct error *error);
int command_guard(const struct context *context, struct error *error);
int command_restore(const struct context *context, struct error *error);
/* What a journal of the link that the user names says, before a command that frees whatever it finds. */
bool restore_first(const struct context *context, struct error *error);
/* --force: also what other debuggers have set. */
int restore_by_force(const struct context *context, struct error *error);
int command_reset(const struct context *context, struct error *error);
int command_stub(const struct context *context, struct error *error);

/* --wire and -p replay: the run's own wire, or NULL; a command whose replay could not be the same is refused.
 */
bool recording_begin(struct context *context, struct error *error);
/* Returns the exit code. */
int recording_end(const struct context *context, int code, struct error *error);

/*
 * Help: made of the tables of commands and options, in 80 columns.
 */
void help_print(FILE *out, bool all);                     /* --help: a screen */
void help_command(FILE *out, const char *name, bool all); /* help NAME, NAME --help */
void help_usage(FILE *out);                               /* no command given */
void help_manual(FILE *out);                              /* the manual page, for man */

/*
 * Of `list`: what --cpu takes.
 */
enum { LIST_SETS = 2, LIST_NAME = 32 };
bool list_cpu(size_t i, char out[LIST_NAME]); /* the i-th: each part, each set; false: there are no more */
/* The sets of events that a core of this name has; 0: it is not known. */
size_t list_sets(const char *cpu, const char *sets[LIST_SETS]);

/*
 * Completion: prints what can take the place of the last of these words (the command line after pmu-probe,
 * up to the cursor), a candidate a line with a tab and a short help after it. ":files" and ":folders" mean
 * those that the shell knows. The scripts in contrib/completions call it.
 */
void complete_print(FILE *out, int argc, char **argv);

/*
 * Output: where a command writes. A plain file is written as FILE.part-XXXXXX and renamed to FILE at the end,
 * if it has a result. Until then, and after a failure, FILE stays as it was. A pipe or a device is written to
 * directly.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>

enum output_way {
    OUTPUT_AS_IT_IS, /* standard output too */
    OUTPUT_BESIDE,
    OUTPUT_COPIED, /* no rename possible: several names, another owner, a folder that is not writable */
};

struct output {
    FILE *file;       /* to write to */
    const char *name; /* as the user gave it; NULL: standard output */
    enum output_way way;
    char *path;          /* all symbolic links resolved; may be NULL with OUTPUT_AS_IT_IS */
    char *beside;        /* the file being written, with OUTPUT_BESIDE */
    bool keeps_old;      /* the file that was there is renamed to FILE.old */
    struct spool *spool; /* for a pipe or a socket; NULL: `file` is the end of the way */
    FILE *behind;        /* the pipe or socket itself */
};

/* `name` NULL: standard output. A signal ends the wait for a pipe's reader; see spool_open, too. */
bool output_open(struct output *output, const char *name, volatile sig_atomic_t *signals,
                 struct error *error);
/* Standard error, for what a run has to say while it holds the core. */
void output_open_log(struct output *output, volatile sig_atomic_t *signals);
/* From now on the run ends if nobody takes the output: see base/spool.h. */
void output_ends_the_run(const struct output *output);
bool output_is_unread(const struct output *output); /* the run was ended by that */
/* Waits for the reader of a pipe. False: not all of it could be written. A reader that has had enough is not
 * an error: *left. */
bool output_close(struct output *output, enum output_keep keep, bool *left, struct error *error);

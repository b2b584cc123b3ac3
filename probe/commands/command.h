/* SPDX-License-Identifier: MIT */
/*
 * Commands: one file each, options in, library calls, result to report/. Each returns the exit code. A new
 * command takes a COMMAND_ here, a row in command.c, and its bit in each row of option_table.c whose option
 * it uses: all others are refused by name before anything is connected. tests/golden/options shows the
 * table. Options are what the user typed, before or after the command, or wrote into pmu-probe.conf.
 */
#pragma once

#include "base/error.h"
#include "base/log.h"
#include "base/output.h"
#include "report/formats.h"
#include "report/page.h"
#include "run/request.h"
#include "run/values.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#define STUB_ACTIONS "enable, disable or status"

enum command_id {
    COMMAND_PROBES,
    COMMAND_INFO,
    COMMAND_DELTA,
    COMMAND_SURVEY,
    COMMAND_LINES,
    COMMAND_STAT,
    COMMAND_WATCH,
    COMMAND_RECORD,
    COMMAND_TOP,
    COMMAND_GUARD,
    COMMAND_IRQ,
    COMMAND_TASKS,
    COMMAND_DOCTOR,
    COMMAND_RESTORE,
    COMMAND_RESET,
    COMMAND_STUB,
    COMMAND_CALIBRATE,
    COMMAND_LIST,
    COMMAND_REPORT,
    COMMAND_ANNOTATE,
    COMMAND_COMPARE,
    COMMAND_SHOW,
    COMMAND_SERVE,
    COMMANDS
};

/* What record writes and report reads, unless another file is named. */
#define PROFILE_NAME "profile.jsonl"

enum { OPTION_OPERANDS = 16 };

struct options {
    struct request request; /* what is measured, as it is typed; what follows is of the command line alone */
    const char *wire, *output, *cpu, *sort;
    const char *baseline, *threshold, *regions, *write_regions, *budget;
    enum format format;
    const char *separator; /* of FORMAT_CSV */
    unsigned verbose;      /* -v, -vv */
    bool mend, prove, check, force, trust_conf, help, help_all, version;

    const char *operands[OPTION_OPERANDS]; /* after the command, with `help` of the one that is asked about */
    size_t n_operands;
    struct page_command typed;
    char *confs[2]; /* the texts of the files pmu-probe.conf, which other members point into */
    char conf_names[2][512];
};

/*
 * Command line first, then $PMU_PROBE, then pmu-probe.conf in the current folder or the nearest above it,
 * then the user's own; the first that says something counts. On the command line an option that the command
 * does not take is an error, and so is a word too many. A pmu-probe.conf is for all commands: each takes its
 * own from it. The current folder's must not start programs, name files to write, or stop and start the
 * target: see option_acts. For help and version none is read.
 */
bool options_read(struct options *options, int argc, char **argv, struct error *error);
void options_free(struct options *options);

/*
 * The table of options: how each is written, what it is for, and which commands take it. Parser, help and
 * refusals are made of it.
 */
enum option_kind {
    OPTION_TEXT,
    OPTION_CORE,
    OPTION_FREQUENCY,
    OPTION_SPEED,
    OPTION_COUNT,
    OPTION_MILLISECONDS,
    OPTION_SECONDS,
    OPTION_PART,
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
    OPTION_OFFSET,
    OPTION_KINDS
};

/* What an option has to do with `options`, names with blanks between, when one of `commands` is run. */
struct option_rule {
    const char *options, *why;
    unsigned commands; /* bits of enum command_id */
};
enum { OPTION_RULES = 4 };

/* Whether its value is the name of a file, for files_check. */
enum option_file { NO_FILE, FILE_READ, FILE_WRITTEN };

/* Where the help of a command has it. */
enum option_group { OPTIONS_OWN, OPTIONS_LINK, OPTIONS_TOOL, OPTION_GROUPS };

struct option {
    char letter; /* 0: none */
    const char *name, *value;
    enum option_kind kind;
    size_t offset;     /* in struct options */
    unsigned commands; /* that take it: bits of enum command_id */
    const char *help;  /* "; " is between its parts; one for some commands begins with "record and top: " */
    /* Most rows leave out what follows */
    const char *brief; /* a shorter help, where it is not the matter */
    enum option_group group;
    bool is_rare;       /* help shows it with --all alone */
    bool is_common;     /* --help shows it */
    const char *values; /* that complete it, with blanks between; one with a colon at its end goes on */
    const char *acts; /* what it does, so that a pmu-probe.conf of a folder from elsewhere must not say it */
    bool of_dap;      /* it configures a CMSIS-DAP probe */
    enum option_file file;
    bool is_idle;             /* other commands than these ignore it, so that an alias may say it for all */
    uint64_t least, most;     /* of OPTION_COUNT; most 0: no bounds */
    unsigned formats;         /* that can show it: bits of enum format; 0: all */
    struct option_rule needs; /* of no use without one of these, if the command takes one */
    struct option_rule rivals[OPTION_RULES];  /* it excludes these; in a pmu-probe.conf it wins over them */
    struct option_rule instead[OPTION_RULES]; /* what commands do that users expect to take it */
};

enum { OPTION_MOST = 80 }; /* upper bound */

extern const struct option option_table[];
extern const size_t option_count;

/* Adds a name to "stat, watch"; `before_last` (" and ") is put before it if it is the last one, else NULL. */
void list_add(char *list, size_t size, const char *name, const char *before_last);

/* NULL: that option does not exist. */
const struct option *option_find(const char *name, size_t length);
const struct option *option_find_letter(char letter);
/* Whether it is a word of this tool that has gone, or one of perf and hyperfine; the error says what to use
 * now. Commands are written as they are, options as "--runs" or "-n", formats as "--format gcc". */
bool former_refuse(const char *word, size_t length, struct error *error);

/* The words for a kind of value. */
struct option_words {
    const char *noun;    /* "a whole number" */
    const char *range;   /* " from 1 up" */
    const char *example; /* "200"; NULL: each option has its own */
};
extern const struct option_words option_words[OPTION_KINDS];

/* Always false: `option`, typed as `typed`, is not for this command. */
bool option_refuse(const struct option *option, const char *typed, enum command_id command,
                   struct error *error);
/* Whether it is one of these names, which have blanks between. */
bool option_is_in(const struct option *option, const char *names);
/* Why `option` leaves nothing for `other` to say with these commands; NULL: its row does not say so. */
const char *option_excludes(const struct option *option, const struct option *other, unsigned bits);

/* Reads a value into the options; `typed` is what errors call the option. */
bool option_store(struct options *options, const struct option *option, const char *typed, const char *text,
                  struct error *error);
/* The column `acts` for this value; NULL: a setting that is mere data. */
const char *option_acts(const struct option *option, const char *value);
/* From where on the value names files, those of a metric among others; NULL: it names none. */
const char *option_files(const struct option *option, const char *value);

/* Gives it the value that it has in `usual`; not for what is gathered (-e, -M, -f). */
void option_forget(struct options *options, const struct option *option, const struct options *usual);
/* For completion: what can be read of an unfinished command line, and pmu-probe.conf. Returns the option
 * whose value is next; NULL: none. */
const struct option *options_read_partly(struct options *options, int argc, char **argv);

/* Prints an option with this help, in 80 columns. */
void option_print(FILE *out, const struct option *option, const char *help);

/*
 * pmu-probe.conf as lines: the one of the current folder or the nearest above it, and the user's own in
 * $XDG_CONFIG_HOME/pmu-probe or ~/.config/pmu-probe. A file that others may write is refused; so is one of
 * another user, unless trusted; above the current folder the search goes on above it.
 */
enum conf_which { CONF_FOLDER, CONF_OWN, CONFS };
struct conf {
    char name[512];   /* for messages */
    char folder[128]; /* "../../": it is above the current folder; "" */
    bool is_own;      /* also the current folder's, if it is the same file */
    char passed[512]; /* another user's file above the current folder, which was passed over; "" */
    uid_t passed_owner;
    char *text; /* freed by the caller; NULL: there is none */
    char *rest;
    unsigned line; /* of what conf_next gave last */
    size_t made;   /* bytes of values that are kept after the text */
};
bool conf_open(struct conf *conf, enum conf_which which, bool trusted, struct error *error);
/* A value may be in quotes, and begin with ~/; a # after a blank begins a comment. False: no more lines, or
 * an error. *value is NULL if the line has no "=". Both stay as long as the text. */
bool conf_next(struct conf *conf, char **key, char **value, struct error *error);
/* Names of files in the option's value are meant as seen from the folder of the pmu-probe.conf. */
bool conf_beside(struct conf *conf, const struct option *option, char **value, struct error *error);

struct document;
struct rendering;

/* What main gives to a command. */
struct context {
    const struct options *options;
    struct surroundings around;
    FILE *out;
    size_t columns;                  /* of a text for a screen; 0: as `out` has */
    const struct progress *progress; /* where it is shown; NULL: on standard error */
    enum output_keep *keep;          /* see command_has_result; may be NULL */
    int *verdict;                    /* see command_judges; may be NULL */
    bool *left;                      /* see command_is_left; may be NULL */
};

/* 2 and 3 are those of errors: base/error.c. */
enum { EXIT_DONE = 0, EXIT_REGRESSED = 1, EXIT_INCONCLUSIVE = 4, EXIT_NOT_COMPARABLE = 5 };
enum { EXIT_UNHEALTHY = 5 };     /* of doctor, which compares nothing */
enum { EXIT_TAINTED = 5 };       /* no hit counts */
enum { EXIT_INTERRUPTED = 130 }; /* by Ctrl-C, before all that was asked for was measured; as of a shell */

/* The output so far is worth keeping, even if the command fails. */
void command_has_result(const struct context *context);
/* A measurement that has some of its hits ended with `why`: "" if that was not an error. Fills summaries'
 * `ended`. */
void command_ended(const struct context *context, const struct error *why, char *out, size_t size);
/* The exit code if the reader of the output goes away: EXIT_INTERRUPTED while a verdict that was asked for is
 * open. Without any it is EXIT_DONE. */
void command_judges(const struct context *context, int code);
/* The reader of standard output went away, while `out` is a file that -o names. */
void command_is_left(const struct context *context);
/* A measurement that Ctrl-C ended has some of its hits: clears that error. Returns the exit code. */
int command_interrupted(const struct context *context, struct error *error);
/* ERROR_UNWRITTEN of what was not. */
bool command_wrote(bool written, struct error *error);
struct session;
/* The exit code of what went well or failed with `error`. */
int command_code(bool ok, const struct error *error);
/* `code`, but a run that gives no times because the claimed clock is wrong is not done. */
int command_clock_code(const struct session *session, int code);
/* The first operand that is a name, so that the program must be known; NULL: none. */
const char *command_names(const struct options *options);
/* The output of the run and its format, as the options say. */
struct rendering command_rendering(const struct context *context);

/* What it is for: a part of the overview. */
enum command_group { COMMANDS_MEASURE, COMMANDS_PROFILE, COMMANDS_TARGET, COMMAND_GROUPS };

struct command {
    const char *name, *operands; /* operands NULL: none */
    enum command_group group;
    const char *does;     /* one line; NULL: not shown in the overview */
    const char *about;    /* more for `help NAME`; may be "" */
    const char *examples; /* lines */
    const char *words;    /* what those of its tables mean; NULL: nothing */
    const char *needs;    /* what its operands are, if `least` is not 0 */
    unsigned least, most; /* operands */
    unsigned formats;     /* bits of enum format */
    int (*run)(const struct context *, struct error *);
};

/* By their ids. */
extern const struct command commands[COMMANDS];
/* "text, json or csv"; `formats` has bits of enum format. */
void command_formats(unsigned formats, char *out, size_t size);
/* Always false: `typed` says a format that is none of those that `who` prints. */
bool format_refuse(enum format format, const char *typed, const char *who, unsigned formats,
                   struct error *error);
/* Its id; COMMANDS: none of these names is typed. */
size_t command_typed(const struct options *options);
/* NULL: it is not a command; the error suggests similar names. */
const struct command *command_find(const char *name, struct error *error);

/* Writes what was found, also before an error, and frees it. */
bool command_facts(const struct context *context, struct document *document, struct error *error);

int command_probes(const struct context *context, struct error *error);
int command_info(const struct context *context, struct error *error);
int command_delta(const struct context *context, struct error *error);
int command_survey(const struct context *context, struct error *error);
int command_lines(const struct context *context, struct error *error);
int command_irq(const struct context *context, struct error *error);
int command_tasks(const struct context *context, struct error *error);
int command_stat(const struct context *context, struct error *error);
int command_list(const struct context *context, struct error *error);
int command_doctor(const struct context *context, struct error *error);
int command_calibrate(const struct context *context, struct error *error);
int command_report(const struct context *context, struct error *error);
int command_annotate(const struct context *context, struct error *error);
int command_compare(const struct context *context, struct error *error);
int command_show(const struct context *context, struct error *error);
int command_serve(const struct context *context, struct error *error);
int command_watch(const struct context *context, struct error *error);
int command_record(const struct context *context, struct error *error);
int command_top(const struct context *context, struct error *error);
int command_guard(const struct context *context, struct error *error);
int command_restore(const struct context *context, struct error *error);
/* --force: also what other debuggers have set. */
int command_reset(const struct context *context, struct error *error);
int command_stub(const struct context *context, struct error *error);

/* Whether each file that the run writes is neither one that it reads nor another that it writes. */
bool files_check(const struct options *options, struct error *error);

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
 * Completion: prints what can take the place of the last of these words (the command line after pmu-probe,
 * up to the cursor), a candidate a line with a tab and a short help after it. ":files" and ":folders" mean
 * those that the shell knows. The scripts in contrib/completions call it.
 */
void complete_print(FILE *out, int argc, char **argv);

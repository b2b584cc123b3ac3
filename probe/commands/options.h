/*
 * Options: what the user typed, before or after the command, or wrote into pmu-probe.conf. The table in
 * option_table.c names all options and the commands that take them.
 */
#pragma once

#include "base/error.h"
#include "report/formats.h"
#include "report/page_command.h"
#include "run/request.h"
#include "run/values.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

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
    COMMAND_DOCTOR,
    COMMAND_RESTORE,
    COMMAND_RESET,
    COMMAND_STUB,
    COMMAND_CALIBRATE,
    COMMAND_LIST,
    COMMAND_REPORT,
    COMMAND_ANNOTATE,
    COMMAND_LOCATE,
    COMMAND_HISTORY,
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
    const char *baseline, *threshold, *diff, *regions, *write_regions, *budget;
    enum format format;
    const char *separator; /* of FORMAT_CSV */
    unsigned verbose;      /* -v, -vv */
    bool mend, prove, check, force, trust_conf, help, help_all, version;

    const char *operands[OPTION_OPERANDS]; /* after the command, with `help` of the one that is asked about */
    size_t n_operands;
    struct page_command typed;
    char *confs[2]; /* the texts of the files pmu-probe.conf, which other members point into */
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
    bool is_idle;     /* other commands than these ignore it, so that an alias may say it for all */
    uint64_t least, most;                     /* of OPTION_COUNT; most 0: no bounds */
    unsigned formats;                         /* that can show it: bits of enum format; 0: all */
    struct option_rule needs;                 /* of no use without one of these, if the command takes one */
    struct option_rule rivals[OPTION_RULES];  /* it excludes these; in a pmu-probe.conf it wins over them */
    struct option_rule instead[OPTION_RULES]; /* what commands do that users expect to take it */
};

enum { OPTION_MOST = 64 }; /* upper bound */

extern const struct option option_table[];
extern const size_t option_count;

/* Adds a name to "stat, watch"; `before_last` (" and ") is put before it if it is the last one, else NULL. */
void list_add(char *list, size_t size, const char *name, const char *before_last);

/* NULL: that option does not exist. */
const struct option *option_find(const char *name, size_t length);
const struct option *option_find_letter(char letter);
/* What to say for an option that has gone, or one of perf and hyperfine: "--runs", "-n"; NULL: there is none
 * of this name. */
const char *option_former(const char *name, size_t length);

/* The words for a kind of value. */
struct option_words {
    const char *takes;   /* "a whole number from 1 up, such as 200" */
    const char *noun;    /* "a number" */
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
 * another user, unless trusted.
 */
enum conf_which { CONF_FOLDER, CONF_OWN, CONFS };
struct conf {
    char name[512];   /* for messages */
    char folder[128]; /* "../../": it is above the current folder; "" */
    bool is_own;      /* also the current folder's, if it is the same file */
    char *text;       /* freed by the caller; NULL: there is none */
    char *rest;
    unsigned line; /* of what conf_next gave last */
    size_t made;   /* bytes of values that are kept after the text */
};
bool conf_open(struct conf *conf, enum conf_which which, bool trusted, struct error *error);
/* A value may be in quotes, and begin with ~/; a # after a blank begins a comment. False: no more lines, or
 * an error. *value is NULL if the line has no "=". Both stay as long as the text. */
bool conf_next(struct conf *conf, char **key, char **value, struct error *error);
/* A file's name is meant as seen from the folder of the pmu-probe.conf. `if_there`: it may be meant otherwise
 * if that file does not exist. */
bool conf_beside(struct conf *conf, bool if_there, char **name, struct error *error);

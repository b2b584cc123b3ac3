/*
 * Options: what the user typed, before or after the command, or wrote into pmu-probe.conf. The table in
 * option_table.c names all options and the commands that take them.
 */
#pragma once

#include "base/error.h"
#include "counters/counter.h"
#include "engine/engine.h"
#include "find/coresight.h"
#include "report/formats.h"
#include "report/page_command.h"

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

enum { OPTION_WORDS = 64, OPTION_OPERANDS = 16, OPTION_EVENTS = 16 };

struct options {
    const char *probe, *wire, *counters, *elf, *counter, *output, *transport, *tick, *show, *cpu, *sort,
        *task;
    const char *baseline, *threshold, *diff, *regions, *write_regions, *budget;
    const char *events[OPTION_EVENTS]; /* each -e */
    size_t n_events;
    const char *metrics[OPTION_EVENTS]; /* each -M */
    size_t n_metrics;
    enum format format;
    const char *separator;             /* of FORMAT_CSV */
    const char *openocd_path;          /* NULL: the one that is found */
    const char *openocd[OPTION_WORDS]; /* -f FILE, -c TCL, -s DIR in the user's order */
    size_t n_openocd;
    int core; /* -1: not given */
    struct place debug_base, pmu_base, cti;
    struct process process;
    double freq_hz, speed_hz;
    unsigned verbose;     /* -v, -vv */
    uint64_t hits;        /* 0: not given */
    uint64_t warmup;      /* 0: none */
    double precision;     /* a part; 0: not given */
    uint64_t hot;         /* functions or lines; 0: not given */
    uint64_t packets;     /* in flight; 0: not given */
    uint64_t every;       /* events from stop to stop; 0: not given */
    uint64_t outliers;    /* hits; 0: none */
    uint64_t load_offset; /* as symbols_move takes it; 0: not given */
    int64_t interval_ms;
    bool interval_said;      /* on the command line, as are those below */
    bool wires_said;         /* what configures a CMSIS-DAP probe */
    double timeout_s, for_s; /* for_s 0: until Ctrl-C */
    bool all_cpus, mend, prove, resume, reset, halt, check, no_calibrate, divide64, any_elf, quiet, help,
        help_all, version;
    bool trust_conf, stacks, keep, force;

    const char *command; /* NULL: none given; with `help` the one that is asked about */
    const char *operands[OPTION_OPERANDS];
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
    const char *acts;   /* what it does, so that a pmu-probe.conf which came with a folder must not say it */
    bool of_dap;        /* it configures a CMSIS-DAP probe */
    bool is_idle;       /* other commands than these ignore it, so that an alias may say it for all */
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

/* NULL: no such option. */
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
 * whose value comes next; NULL: none. */
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
 * if there is no such file. */
bool conf_beside(struct conf *conf, bool if_there, char **name, struct error *error);

/*
 * Values: the text after an option. Each function returns false if it cannot read all of the text. None takes
 * signs, blanks, hexadecimal fractions or ambiguous text.
 */
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
/* "text, json or csv"; `formats` has bits of enum format. */
void value_format_names(unsigned formats, char *out, size_t size);
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

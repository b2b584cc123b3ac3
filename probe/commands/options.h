/*
 * Options: what the user typed, before or after the command, or wrote into pmu-probe.conf. The table in
 * option_table.c says which there are and which commands take them.
 */
#pragma once

#include "base/error.h"
#include "engine/engine.h"
#include "find/coresight.h"
#include "report/counts.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

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

enum { OPTION_WORDS = 64, OPTION_OPERANDS = 16, OPTION_EVENTS = 16 };

struct options {
    const char *probe, *counters, *elf, *counter, *output, *transport, *tick, *on_max, *cpu;
    const char *baseline, *threshold;
    const char *events[OPTION_EVENTS]; /* each -e */
    size_t n_events;
    const char *metrics[OPTION_EVENTS]; /* each -M */
    size_t n_metrics;
    enum format format;
    const char *separator;             /* of FORMAT_CSV */
    const char *openocd[OPTION_WORDS]; /* -f FILE, -c TCL, -s DIR in the user's order */
    size_t n_openocd;
    int core; /* -1: not said */
    struct place debug_base, pmu_base, cti;
    struct process process;
    double freq_hz, speed_hz;
    unsigned verbose; /* -v, -vv */
    uint64_t hits;    /* 0: not said */
    uint64_t packets; /* in flight; 0: not said */
    int64_t interval_ms;
    bool interval_said;      /* on the command line, as are those below */
    bool wires_said;         /* --transport, --speed or --packets */
    double timeout_s, for_s; /* for_s 0: until Ctrl-C */
    bool all_cpus, mend, resume, reset, halt, no_calibrate, divide64, any_elf, quiet, help, version;

    const char *command; /* NULL: none given; with `help` the one that is asked about */
    const char *operands[OPTION_OPERANDS];
    size_t n_operands;
    char *config; /* the text of pmu-probe.conf, which other members point into */
};

/*
 * Command line first, then $PMU_PROBE, then pmu-probe.conf in the current folder; what is said first counts.
 * On the command line an option that the command does not take is an error, so is a word too many. A
 * pmu-probe.conf is for all commands: each takes its own from it. For help and version it is not read.
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

/*
 * Options: what the user typed, before or after the command, or wrote into pmu-probe.conf. The table in
 * option_table.c says which there are and which commands take them.
 */
#pragma once

#include "base/error.h"
#include "report/counts.h"
#include "target/place.h"
#include "target/process.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

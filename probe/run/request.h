/* SPDX-License-Identifier: MIT */
/*
 * A request: what is to be measured, how the target is reached, and how the core is left. Plain values, which
 * a front end fills; the command line does so in struct options. The surroundings are those of the process in
 * which it runs.
 */
#pragma once

#include "engine/engine.h"
#include "find/coresight.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What --probe takes. */
#define REQUEST_PROBES                                                                                       \
    "openocd[:HOST[:PORT]], cmsis-dap[:SERIAL], cmsis-dap:usb:PORT, cmsis-dap-tcp:HOST[:PORT], "             \
    "gdb:HOST:PORT, "                                                                                        \
    "gdb:/dev/ttyACM0 (Black Magic Probe), msr[:CPU], msr-agent:HOST[:PORT], or replay:FILE (of --wire)"

enum { REQUEST_WORDS = 64, REQUEST_EVENTS = 16 };

struct request {
    const char *command; /* its name, for claims, the journal and errors; NULL: none given */
    bool quiet;          /* no progress and no notes on standard error */

    /* How the target is reached */
    const char *probe, *counters, *transport; /* NULL: not given; counters: a second link, which has them */
    double speed_hz;                          /* of a probe's wires; 0: not given */
    uint64_t packets;                         /* in flight; 0: not given */
    bool wires_said;                          /* what configures a CMSIS-DAP probe was given */
    const char *openocd_path;                 /* NULL: the one that is found */
    const char *openocd[REQUEST_WORDS];       /* -f FILE, -c TCL, -s DIR in the user's order */
    size_t n_openocd;
    int core; /* -1: not given */
    struct place debug_base, pmu_base, cti;

    /* The program */
    const char *elf;
    uint64_t load_offset; /* as symbols_move takes it; 0: not given */

    /* What is counted or sampled */
    const char *counter;                /* the block; NULL: the best */
    const char *events[REQUEST_EVENTS]; /* each -e */
    size_t n_events;
    const char *metrics[REQUEST_EVENTS]; /* each -M */
    size_t n_metrics;
    const char *tick, *show, *task; /* variables of the program; NULL: not given */
    double freq_hz;                 /* 0: not given */
    struct process process;
    uint64_t every;    /* events from stop to stop; 0: not given */
    uint64_t hot;      /* functions or lines; 0: not given */
    uint64_t outliers; /* hits; 0: none */
    bool all_cpus, divide64, stacks, no_calibrate;

    /* How long */
    uint64_t hits;           /* 0: not given */
    uint64_t warmup;         /* 0: none */
    double precision;        /* a part; 0: not given */
    double timeout_s, for_s; /* for_s 0: until Ctrl-C */
    int64_t interval_ms;
    bool interval_said;

    /* Trace */
    bool no_halt;
    const char *calls;     /* functions whose calls are counted; NULL: none */
    const char *trace;     /* the way out of the chip; NULL: the first that is there */
    const char *trace_ram; /* a buffer of the program's; NULL: none */
    double swo_baud;       /* 0: not given */

    /* What becomes of the core */
    bool resume, reset, halt, keep;
};

/* A line on standard error, unless it is quiet. */
void request_note(const struct request *request, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

enum { SURROUNDINGS_OUTPUTS = 2 };

struct spool;
struct surroundings {
    volatile sig_atomic_t *cancel; /* counts Ctrl-C, SIGTERM, SIGQUIT and SIGHUP */
    struct ending *ending;         /* of this run; may be NULL */
    const struct log *log;         /* NULL without -v */
    struct wire *wire;             /* NULL: neither recorded nor a replay */
    /* A reader that takes nothing of one of these ends the run; NULL: none */
    struct spool *outputs[SURROUNDINGS_OUTPUTS];
    uint64_t *load_offset; /* what the target's memory shows of it; may be NULL */
};

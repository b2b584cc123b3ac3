/* SPDX-License-Identifier: MIT */
/*
 * Trace: what the core emits while it runs, as moments. trace_open sets what the DWT, the ITM and the way
 * out of the chip need, through the device's ledger, and calibrates; trace_poll delivers what arrived since
 * the last call to request->take, within the call; trace_close stops it. device_undo puts all back. Nothing
 * here halts the core.
 *
 *     struct trace_request request = {.wishes = ..., .exceptions = true, .take = on_moment, .context = ...};
 *     device->looks_only = true;      before device_take
 *     trace_open(&trace, device, &request, ...) && trace_poll(&trace, ...) ...; trace_close(&trace, ...)
 */
#pragma once

#include "base/deadline.h"
#include "base/error.h"
#include "device/device.h"
#include "trace/moments.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TRACE_COMPARATORS = 4, TRACE_PERIOD = 16384 };

enum trace_watch {
    TRACE_CODE, /* each execution of the instruction at `address`; Armv8-M */
    TRACE_WRITE /* each write of the object at `address`, with the value of what was written */
};

struct trace_wish {
    enum trace_watch what;
    uint64_t address;
    unsigned size; /* of TRACE_WRITE: bytes, 1, 2 or 4, at a multiple of it; 0: 4 */
    bool can_lack; /* go on without it if no comparator is free for it */
};

enum { TRACE_LACKS = 0xFF }; /* in place of a comparator */
enum { TRACE_RING_LEAST = 256, TRACE_RING_MOST = 32768 };

struct trace_request {
    const struct trace_wish *wishes; /* each takes a comparator; a moment's `n` is its index */
    size_t n_wishes;
    bool exceptions;
    const char *sink;    /* "fifo", "etf", "swo"; NULL: the first that is there */
    uint64_t ring_base;  /* of "ram": a buffer of the target that may be overwritten, at a multiple of ... */
    uint32_t ring_bytes; /* its size, a power of two from TRACE_RING_LEAST to TRACE_RING_MOST; 0: none */
    double baud;         /* of "swo"; 0: the fastest that works */
    double clock_hz;     /* of the core; 0: unknown */
    bool clock_is_measured;
    void *context;
    void (*take)(void *context, const struct trace_moment *moment);
};

struct trace;

/* A way out of the chip. */
struct trace_sink {
    const char *name;
    /* Whether this target has it; `where`, of 96: "the trace FIFO of an RP2350" */
    bool (*find)(struct trace *trace, char *where, const struct deadline *deadline);
    /* Sets all that bytes need on their way, while the ITM sends none. */
    bool (*open)(struct trace *trace, const struct deadline *deadline, struct error *error);
    /* Gives what arrived to trace_moments_take, and what was lost to trace_moments_lose. */
    bool (*read)(struct trace *trace, const struct deadline *deadline, struct error *error);
    /* After open, if nothing of it was trace: another way to open it, such as the next baud; *more: there is
     * one. NULL: none. */
    bool (*again)(struct trace *trace, bool *more, const struct deadline *deadline, struct error *error);
    void (*close)(struct trace *trace, const struct deadline *deadline); /* NULL: nothing to stop */
};

/* Of the sink "etf". */
enum { ETF_FUNNELS = 8 };
struct etf {
    uint16_t unit;                 /* of the bus that it is on */
    uint64_t base, table;          /* table: the ROM table of a chip that is known; 0: of another one */
    const char *name;              /* of that chip: " of an STM32H7" */
    bool is_other_cores;           /* of another core's trace, as far as it is known */
    uint64_t funnels[ETF_FUNNELS]; /* on its bus */
    size_t n_funnels, level;       /* level: words in it, when it was last read */
    uint8_t frame[TRACE_FRAME], n_frame, id;
};

/* Of the sink "ram", in words since it was opened. */
struct trace_ring_state {
    unsigned channel;
    uint32_t turn; /* of `begun`, since TRANS_COUNT began again */
    uint64_t begun, written, taken;
};

struct trace {
    struct device *device;
    const struct trace_request *request;
    struct trace_request with_clock; /* the same, of a pin with another clock than the core's */
    const struct trace_sink *sink;
    char where[96];
    struct trace_moments moments;
    struct trace_calibration calibration;
    uint8_t comparators[TRACE_COMPARATORS]; /* by wish */
    size_t n_comparators, n_free;           /* n_free: for wishes, before any was set */
    bool is_v8, prints;                     /* prints: the program used the ITM before */
    bool is_off;                            /* DEMCR.TRCENA is 0: what a TPIU is cannot be seen */
    bool is_set;                            /* the ITM, by this run */
    bool open;
    uint8_t bus_id; /* of the ITM, in frames */
    struct etf etf;
    struct trace_ring_state ring;
    bool was_zero;          /* of FIFO: the last word was zeros */
    uint32_t divider, kept; /* of SWO: of its clock; the one that the program uses, 0: none */
    unsigned sweep;         /* of SWO: how far its clock is from the one that was measured */
    unsigned dividers;      /* that were tried */
    bool is_fixed;          /* the server was taking SWO in already */
    char refusal[200];      /* why the server took no baud, in its words */
    uint64_t *words;        /* of the sink */
    struct step *steps;
    int64_t came_us, checked_us; /* when bytes arrived last, and the registers were checked */
    uint64_t bytes, losses;      /* losses: on the way out of the chip */
};

/* Whether the core can emit trace, and how many comparators are free: sets trace->is_v8, n_free, and before
 * device_take device->emits. Reads alone. The error says what serves instead. */
bool trace_can(struct trace *trace, struct device *device, bool code, const struct deadline *deadline,
               struct error *error);
/* The device is taken. After a failure trace_close is called all the same. */
bool trace_open(struct trace *trace, struct device *device, const struct trace_request *request,
                const struct deadline *deadline, struct error *error);
bool trace_poll(struct trace *trace, const struct deadline *deadline, struct error *error);
void trace_close(struct trace *trace, const struct deadline *deadline);

/* Why no trace arrives; state: "NO CLOCK". False: nothing shows it. Reads alone. */
/* Advice, and why a DWT has none: of `trace_can` and of the reasons. */
#define TRACE_HALTING  "delta without --no-halt measures here; stat counts without a halt."
#define TRACE_DOCTOR   "doctor shows the state of the core."
#define TRACE_NOTRCPKT "this core's DWT emits no trace (DWT_CTRL.NOTRCPKT is set)"

struct trace_reason {
    char state[24], text[160];
    const char *advice;
};
bool trace_find_reason(struct trace *trace, struct trace_reason *out, const struct deadline *deadline);

/* What the core can emit, and the way out that would be taken, or why none arrives. Reads alone. */
struct trace_prospect {
    bool comes;
    char emits[64]; /* "": nothing */
    struct trace_reason how;
};
void trace_foresee(struct device *device, struct trace_prospect *out, const struct deadline *deadline);

/* For sinks: makes a setting, and has its tested bits watched. */
bool trace_set(struct trace *trace, struct setting setting, const struct deadline *deadline,
               struct error *error);
bool trace_set_each(struct trace *trace, const struct setting *settings, size_t n,
                    const struct deadline *deadline, struct error *error);
void trace_give(struct trace *trace, const uint8_t *bytes, size_t n);
void trace_lose(struct trace *trace);
/* What a known chip wants written before SWO leaves it; whether its program has that pin for itself. */
bool trace_open_pin(struct trace *trace, const struct deadline *deadline, struct error *error);
bool trace_pin_is_used(struct trace *trace, const struct deadline *deadline);

extern const struct trace_sink trace_ring, trace_fifo, trace_etf, trace_swo;

/* SPDX-License-Identifier: MIT */
/*
 * Moments: packets with their time, in cycles of the core. Each local timestamp closes the group of packets
 * since the one before it, and all times are sums of timestamps. Cycle events, one each `period`
 * cycles of CYCCNT, are the checksum: the sum is as many periods as there were cycle events, or something was
 * lost. Moments are held until it has been checked. Pure, and bounded.
 */
#pragma once

#include "trace/packet.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum moment_kind {
    MOMENT_LOST, /* times before and after it have nothing in common; `n_lost` moments are not delivered */
    MOMENT_MATCH,
    MOMENT_EXCEPTION,
    MOMENT_DATA, /* an access that a comparator saw: its value, and the PC if `has_pc` */
    MOMENT_PC,   /* a sample; `asleep` */
    MOMENT_PMU,  /* value: event counters that overflowed */
    MOMENT_BEAT  /* a cycle event: what precedes it has been delivered */
};

enum moment_doubt {
    MOMENT_EXACT,
    MOMENT_TOGETHER, /* packets that shared its timestamp: it is the last one's time, or somewhat earlier */
    MOMENT_LATE,     /* its timestamp, or its packet, was sent late: it was after `since`, if that is known */
    MOMENT_UNPROVED, /* no cycle event proves its time, or one refutes it */
    MOMENT_DOUBTS
};

struct trace_moment {
    enum moment_kind kind;
    enum moment_doubt doubt;
    uint8_t n;              /* comparator; of an exception TRACE_ENTER, TRACE_EXIT or TRACE_RETURN */
    bool written, has_pc;   /* of data */
    uint8_t size;           /* of data: bytes of its value */
    bool is_suspect;        /* bytes were lost near it: it may be made of parts of others */
    uint32_t value, pc;     /* value: of an exception its number; of a sample 1 if the core slept */
    bool has_since;         /* false: a late packet, and no earlier one of its source bounds it */
    uint64_t cycles, since; /* since the trace began; not later than `cycles`, and later than `since` */
    uint64_t n_lost;
};

/* Of packets, each of which keeps its order: four comparators, exceptions, samples, the PMU. */
enum { TRACE_SOURCES = 7 };
enum { TRACE_GROUP = 32, TRACE_HELD = 4096, TRACE_ALIGN = 64 };

/* What a timestamp counts: cycles are its value plus `plus`, which is 0 or 1. By cycle events. */
struct trace_calibration {
    uint64_t period, sum, stamps;
    unsigned fits[2], beats; /* how many periods fit 0, and 1 */
    bool begun, beat;
};

void trace_calibration_take(struct trace_calibration *calibration, const struct trace_packet *packet);
/* -1: neither fits. */
int trace_calibration_plus(const struct trace_calibration *calibration);

struct trace_moments {
    /* To be set */
    uint32_t kinds;  /* bit TRACE_x: such packets are possible; others mean that bytes were lost */
    unsigned plus;   /* as trace_calibration_plus */
    uint64_t period; /* of cycle events; 0: there are none, and nothing is checked */
    void *context;
    void (*take)(void *context, const struct trace_moment *moment);
    /* Before the times: of each legal packet. NULL: not wanted */
    void (*packet)(void *context, const struct trace_packet *packet);
    /* The rest begins as zero */
    struct trace_decoder decoder;
    uint8_t raw[TRACE_ALIGN]; /* until it is known where packets begin */
    size_t n_raw;
    unsigned unclear; /* windows in which packets may begin at several places */
    bool aligned, is_guess, checked, is_skewed;
    bool raw_guess;                /* the raw bytes may have a gap, or zeros of an empty FIFO */
    uint64_t now, check_at;        /* check_at: the cycle event up to which all is proved */
    uint64_t after[TRACE_SOURCES]; /* by source: what it sends from here on happened after that ... */
    bool has_after[TRACE_SOURCES]; /* ... if one of its packets was on time since the last loss */
    struct trace_moment group[TRACE_GROUP];
    size_t n_group;
    unsigned in_group; /* packets, with those that make none */
    bool beats;        /* a cycle event is among them */
    uint64_t n_beats;  /* cycle events since check_at */
    struct trace_moment *held;
    size_t n_held;
    uint64_t packets, stamps, overflows, gaps, mismatches, prints; /* for doctor and summaries */
};

/* False: out of memory. */
bool trace_moments_begin(struct trace_moments *moments);
void trace_moments_take(struct trace_moments *moments, const uint8_t *bytes, size_t n);
/* Whether four zeros that may be of an empty FIFO may be data instead, which precede `bytes`. If so,
 * they are to be taken. */
bool trace_moments_lack_zeros(struct trace_moments *moments, const uint8_t *bytes, size_t n);
/* Bytes were lost on the way here, before or shortly after the last ones: what is not proved is suspect. */
void trace_moments_lose(struct trace_moments *moments);
/* The held ones are delivered as unproved. */
void trace_moments_end(struct trace_moments *moments);
void trace_moments_free(struct trace_moments *moments);

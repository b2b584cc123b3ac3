/*
 * A hardware thread of the model, as its MSRs show it: the PMU of Knights Corner by 327357 chapter 1.3, with
 * the restriction of events to counters that libpfm4 and Linux know.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { THREAD_COUNTERS = 2, THREADS_A_CORE = 4 };

struct thread {
    unsigned cpu;
    const unsigned *siblings; /* THREADS_A_CORE CPUs, this one among them */
    uint64_t *tsc_offset;     /* of its core */
    uint64_t now;             /* cycle up to which the counters have been brought */
    uint64_t counters[THREAD_COUNTERS];
    uint32_t selects[THREAD_COUNTERS];
    uint64_t spflt;
    uint32_t status, control;
};

/* False: a general protection fault, and nothing happened. */
bool thread_read(struct thread *thread, uint32_t msr, uint64_t now, uint64_t *value);
bool thread_write(struct thread *thread, uint32_t msr, uint64_t now, uint64_t value);
/* SPFLT, executed by a program on this thread. */
void thread_filter(struct thread *thread, uint64_t now, bool count);
/* Of warm and of cold resets; INIT leaves all as it is. */
void thread_reset(struct thread *thread, uint64_t now);

/* The truth: how often what is selected has happened since cycle 0, counted or not. */
uint64_t thread_happened(const struct thread *thread, unsigned counter, uint64_t until);
bool thread_counts(const struct thread *thread, unsigned counter);

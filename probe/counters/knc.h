/*
 * The PMU of a Knights Corner thread: two counters of 40 bits, and the core's time stamp counter beside them.
 * Intel 327357, "Intel Xeon Phi Coprocessor (codename: Knights Corner) Performance Monitoring Units".
 */
#pragma once

#include "counters/counter.h"

/* What an event's code holds here beyond event and unit mask, bits 15:0: an event select register's bits,
 * 327357 1.3.2, and one that is ours. */
enum {
    KNC_USER = 1 << 16,
    KNC_KERNEL = 1 << 17,
    KNC_EDGE = 1 << 18,
    KNC_SPFLT = 1 << 19, /* ours, reserved there: only while the program lets it by SPFLT */
    KNC_ENABLE = 1 << 22,
    KNC_ANY = 1 << 21,
    KNC_INVERT = 1 << 23,
    KNC_CMASK_SHIFT = 24,
};

extern const struct block_kind knc_kind;

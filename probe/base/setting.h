/*
 * Settings: what a core or a counter wants a register to be for the time of a measurement, and how that
 * register is put back afterwards. Data only; the ledger carries them out.
 */
#pragma once

#include "base/step.h"

#include <stdbool.h>
#include <stdint.h>

enum restore_how {
    RESTORE_PLAIN,     /* write (old & mask) | key */
    RESTORE_BITS,      /* only the bits of mask; the others stay as they are by then */
    RESTORE_CLEAR_NEW, /* write-1-to-clear, at `clear` if that is another register: the bits of mask that came
                          up since are cleared */
    RESTORE_PAIR,      /* a set register, its clear register at `clear`: bits put back one by one */
};

struct restore {
    enum restore_how how;
    uint64_t mask; /* bits that count; 0 stands for all */
    uint64_t key;  /* or-ed into a plain restore */
    struct address clear;
};

struct setting {
    struct address at;
    struct address test_at; /* where it is seen whether it must be written, if not there; size 0: there */
    uint64_t test;          /* nothing is written when (old & test) == set already ... */
    bool always;            /* ... unless this is true */
    bool only_held;         /* nothing is written: only what came of it is put back */
    bool only_watched;      /* nothing is written nor held */
    bool lock;              /* a lock: while it is closed, writes to the 4 KB that it stands in are ignored */
    bool only_to_stop;      /* needed where the core is stopped and let go, not where it is only looked at */
    uint64_t keep;          /* else (old & keep) | set | key is written */
    uint64_t set, key;
    struct restore restore;
    /* The register's name, where counts depend on the tested bits: they must not change while it is counted
     */
    const char *watched;
};

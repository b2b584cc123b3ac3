/*
 * Settings: the value that a register needs during a measurement, and how to restore it afterwards. Data
 * only; the ledger carries them out.
 */
#pragma once

#include "base/step.h"

#include <stdbool.h>
#include <stdint.h>

enum restore_how {
    RESTORE_PLAIN,     /* write (old & mask) | key */
    RESTORE_BITS,      /* only the bits of mask; the others keep their present value */
    RESTORE_CLEAR_NEW, /* write-1-to-clear, at `clear` if that is another register: clears those bits of mask
 that were set since */
    RESTORE_PAIR,      /* a set register with its clear register at `clear`: bits restored one by one */
};

struct restore {
    enum restore_how how;
    uint64_t mask; /* bits to restore; 0: all */
    uint64_t key;  /* or-ed into a plain restore */
    struct address clear;
    bool only_ours; /* after a run that did not end: only while it holds what that run wrote */
};

struct setting {
    struct address at;
    struct address test_at; /* the register to test, if not `at`; size 0: `at` */
    uint64_t test;          /* nothing is written when (old & test) == set already ... */
    bool always;            /* ... unless this is true */
    bool only_held;         /* never written, only restored */
    bool only_watched;      /* neither written nor restored, only watched */
    bool lock;              /* a lock: while it is closed, the 4 KB around it ignore writes */
    bool only_to_stop;      /* needed only if we stop the core */
    uint64_t keep;          /* else (old & keep) | set | key is written */
    uint64_t set, key;
    struct restore restore;
    /* The register's name, if the counts depend on the tested bits: they must not change meanwhile */
    const char *watched;
};

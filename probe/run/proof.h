/*
 * The proof that nothing is left on the target: its registers before a measurement and after it was put back.
 */
#pragma once

#include "run/session.h"

struct proof_register {
    char name[24]; /* "": it has none */
    uint64_t offset, before, after;
    const char *moves; /* why it changes by itself; NULL: it is left */
};

struct proof {
    /* Of the caller: */
    const struct counter_block *block; /* the counters that are expected to be used */
    const char *start, *end;           /* hits of this region are measured; NULL: time, a function's return */
    void *context;
    void (*differs)(void *context, const struct proof_register *it);
    /* How many registers: */
    size_t compared, moved, left, unknown;
};

bool proof_make(struct session *session, struct proof *proof, struct error *error);

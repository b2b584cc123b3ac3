/* SPDX-License-Identifier: MIT */
/*
 * The executor: carries out a list of steps by the contract of link_execute, packet by packet. Where waits
 * and proofs succeed at once, two packets are in flight, and several in long rows of reads; each is guarded
 * by a token. It waits longer than one packet can, mends the wires when they fail, and reports why a step
 * failed.
 */
#pragma once

#include "links/dap/adi.h"
#include "links/dap/compiler.h"
#include "links/link.h"

enum { EXECUTOR_FLIGHTS = 4 };

struct executor {
    struct adi adi;
    struct compiler compiler;
    unsigned smooth;         /* packets in a row that were carried out to their ends, up to a limit */
    bool overlaps;           /* a trial has shown that the probe answers each of several packets in flight */
    struct executor_flight { /* a packet in flight */
        struct packet packet;
        int64_t sent_us;
        bool behind; /* another was in flight when it was sent */
    } flights[EXECUTOR_FLIGHTS];
};

/* Prepares the compiler for the debug port that was connected. */
void executor_begin(struct executor *executor);
struct outcome executor_run(struct executor *executor, const struct step *steps, size_t n, uint64_t *results,
                            const struct deadline *deadline, struct error *error);

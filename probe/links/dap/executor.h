/*
 * The executor: carries out a list of steps by the contract of link_execute, packet by packet; long rows of
 * reads with several packets in flight. It waits longer than one packet can, mends the wires when they fail,
 * and says what became of the step it ended at.
 */
#pragma once

#include "links/dap/adi.h"
#include "links/dap/compiler.h"
#include "links/dap/decoder.h"
#include "links/link.h"

enum { EXECUTOR_FLIGHTS = 4 };

struct executor {
    struct adi adi;
    struct compiler compiler;
    struct executor_flight { /* a packet that is under way */
        struct packet packet;
        int64_t sent_us;
    } flights[EXECUTOR_FLIGHTS];
};

/* The debug port is there: prepares the compiler for it. */
void executor_begin(struct executor *executor);
struct outcome executor_run(struct executor *executor, const struct step *steps, size_t n, uint64_t *results,
                            const struct deadline *deadline, struct error *error);

/*
 * One call of the executor, and what becomes of it when a packet does not come out whole: the wires are
 * mended, a wait is looked at, or the call ends at a step.
 */
/* One call. */
struct call {
    struct executor *executor;
    const struct step *steps;
    size_t n, done;
    uint64_t *results;
    bool look;      /* the match of the step at `done` failed */
    bool predicted; /* and was on a predicted word */
    uint8_t entry;
    unsigned noise;
    unsigned sent, received; /* packets; those between are in flight */
    size_t ahead;            /* the first step that no packet holds yet */
    size_t alone;            /* `done` when nothing was in flight last */
    bool token_left;         /* the last packet sent ended with one */
    size_t row_end;          /* of a row of reads that goes out in many packets at a time */
    struct deadline slice;   /* for a wait */
    struct deadline budget;  /* no packet is sent after this */
    struct error *error;
    struct outcome out; /* when a function below returns false */
};

/* Ends the call at a step. Always returns false. */
bool call_end(struct call *r, enum why why, size_t step, enum error_kind kind, const char *words);
/* Ends it because the probe itself is lost; its words are in the error. Always returns false. */
bool call_lost(struct call *r);
/* The reply was not that of a whole packet; nothing else is in flight. True: go on with r->done. */
bool call_ended_early(struct call *r, const struct decoded *decoded);

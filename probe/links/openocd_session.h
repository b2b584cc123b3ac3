/* SPDX-License-Identifier: MIT */
/*
 * The conversation with OpenOCD's Tcl port. A handshake proves that the other end is OpenOCD and sends it
 * pmu.tcl; then each request carries a number that its answer repeats, so that a late answer is never taken
 * for the next one. A connection that is cut is made again, and the request that was under way is sent once
 * more: OpenOCD carries out a number only once, and repeats its answer. For openocd.c only.
 */
#pragma once

#include "links/openocd_tcl.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { OPENOCD_HOST = 256 };

struct openocd_session {
    struct openocd_rpc rpc;
    struct openocd_process *process; /* NULL: not ours */
    char peer[128];                  /* "localhost:6666" */
    char host[OPENOCD_HOST];         /* "": through a transport */
    uint16_t port;
    uint64_t sequence;        /* of the last request */
    uint64_t answered;        /* of the last answer */
    bool opened;              /* the first handshake was complete */
    bool lost;                /* the answers make no sense any more, or none arrive */
    bool gone;                /* and no connection can be made again */
    bool restarted;           /* it was another OpenOCD that answered then */
    bool held;                /* its polling is off, for us */
    char strange[96];         /* what it says in place of a version; "": it has one */
    char halted[96];          /* a step that is met while our core is halted; "": none */
    bool silent;              /* the last answer did not arrive */
    struct deadline patience; /* then: until this, in all, answers are waited for as long as ever */
    struct ending *ending;    /* how long the end of a run may take; may be NULL */
};

/* Through rpc.transport; NULL: by a socket to `host` and `port`. */
bool openocd_session_open(struct openocd_session *session, const struct deadline *deadline,
                          struct error *error);
/* Ends an OpenOCD of ours, too. */
void openocd_session_close(struct openocd_session *session);

/* The next request's number. */
uint64_t openocd_session_next(struct openocd_session *session);
/*
 * Sends a request whose answer repeats its number, and waits for that answer. It gets a little time beyond
 * the deadline or after Ctrl-C: without the answer nothing is known about what the request did. `what` was
 * sent, for the error text.
 */
bool openocd_session_ask(struct openocd_session *session, const char *request, size_t length, size_t largest,
                         const struct deadline *deadline, const char *what, struct openocd_reply *reply,
                         struct error *error);
/* The answer makes no sense: the connection is given up. Always false. */
bool openocd_session_distrust(struct openocd_session *session, const char *text, size_t length,
                              struct error *error);
/* Runs a command of pmu.tcl that answers a number and a WHY but no results. */
bool openocd_session_do(struct openocd_session *session, const char *command, const struct deadline *deadline,
                        enum why *why, struct error *error);
/* Keeps OpenOCD from polling the target by itself, or lets it. */
bool openocd_session_hold(struct openocd_session *session, bool hold, const struct deadline *deadline,
                          struct error *error);
/* Runs a command that answers with text, valid until the next call, and that may be sent twice. */
bool openocd_session_text(struct openocd_session *session, const char *command,
                          const struct deadline *deadline, const char **answer, size_t *length,
                          struct error *error);
/* Lists the targets by `pmu_open`, which searches for them afresh, or by `pmu_targets`. */
bool openocd_session_targets(struct openocd_session *session, const char *command,
                             const struct deadline *deadline, struct link_view *out, size_t room, size_t *n,
                             struct error *error);

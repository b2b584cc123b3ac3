/*
 * A conversation with one OpenOCD: the handshake that proves that it is one, sending pmu.tcl, and
 * requests whose answers are told apart by a sequence number, so that a late answer is never taken for
 * the next one.
 */
#pragma once

#include "base/deadline.h"
#include "base/error.h"
#include "links/link.h"
#include "links/openocd_process.h"
#include "links/openocd_tcl.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct openocd_session {
    struct openocd_rpc rpc;
    struct openocd_process *process; /* NULL: not ours */
    char peer[128];                  /* "localhost:6666" */
    uint64_t sequence;               /* of the last request */
    uint64_t answered;               /* of the last answer */
    bool lost;                       /* no sense can be made of what comes any more, or nothing comes */
};

/* All need `process` and `peer` set, and leave cleaning up to the caller. */
bool openocd_session_open(struct openocd_session *session, const char *host, uint16_t port,
                          const struct deadline *deadline, struct error *error);
bool openocd_session_open_transport(struct openocd_session *session, const struct tcl_transport *transport,
                                    const struct deadline *deadline, struct error *error);
void openocd_session_close(struct openocd_session *session);

/* The next request's number. */
uint64_t openocd_session_next(struct openocd_session *session);
/*
 * Sends a request that asks for an answer with that number, and waits for it. It is given a little time
 * beyond the deadline, or after the user cancels: it is on its way, and without it nobody knows
 * what became of the request. `what` was sent, for the error text.
 */
bool openocd_session_ask(struct openocd_session *session, const char *request, size_t length, size_t largest,
                         const struct deadline *deadline, const char *what, struct openocd_reply *reply,
                         struct error *error);
/* One of pmu.tcl's commands that answer a sequence number and a WHY but have no results. */
bool openocd_session_do(struct openocd_session *session, const char *command, const struct deadline *deadline,
                        enum why *why, struct error *error);
/* The list of targets, told by `pmu_open` (finds the ways to them afresh) or `pmu_targets`. */
bool openocd_session_targets(struct openocd_session *session, const char *command,
                             const struct deadline *deadline, struct link_view *out, size_t room, size_t *n,
                             struct error *error);
/* The rest is not to be believed: all later requests fail at once. Always false. */
bool openocd_session_distrust(struct openocd_session *session, const char *text, size_t length,
                              struct error *error);

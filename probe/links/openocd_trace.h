/* SPDX-License-Identifier: MIT */
/*
 * Trace that OpenOCD takes in: it sends what arrives to every connection of its Tcl port that asks for it, as
 * separate messages. So trace has a connection for itself. OpenOCD does not say what its adapter lost.
 */
#pragma once

#include "links/openocd_session.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct openocd_trace {
    struct openocd_rpc rpc;
    const char *hex; /* of the last message, what was not taken */
    size_t left;
};

/* True if it is open already. */
bool openocd_trace_open(struct openocd_trace *trace, const struct openocd_session *session,
                        const struct deadline *deadline, struct error *error);
/* What arrived; waits for it for a moment. */
bool openocd_trace_take(struct openocd_trace *trace, uint8_t *out, size_t room, size_t *n,
                        struct error *error);
void openocd_trace_close(struct openocd_trace *trace);

/* Pure. The hexadecimal digits in a message; NULL: it is none of trace. */
const char *openocd_trace_message(const char *text, size_t length, size_t *digits);
/* What pmu_trace_start answers; false: not that. */
bool openocd_trace_answer(const char *text, size_t length, struct link_trace *out);

/*
 * A CMSIS-DAP probe: a carrier and the probe's own description. Single questions, or packets in flight for
 * the executor.
 */
#pragma once

#include "base/log.h"
#include "links/dap/carrier.h"
#include "links/dap/protocol.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dap_probe {
    struct carrier *carrier;
    struct dap_info info;
    bool lost;        /* the carrier failed: all later calls fail */
    uint8_t port;     /* DAP_PORT_* in use */
    bool unanswered;  /* the target did not acknowledge the last transfer: some probes release SWDIO then */
    uint64_t packets; /* sent so far */
    unsigned most; /* the user's limit of packets in flight; 0: one, or all if the firmware is known to handle
                      them */
    unsigned window; /* the limit in use; at least 1 */
    unsigned in_flight;
    bool repeats;    /* what is in flight can be sent again */
    bool overlapped; /* it can, and other packets were in flight when the last one was sent */
    const struct log *log;
    struct ending *ending; /* how long an answer is awaited; may be NULL */
};

/* Skips replies that an earlier program left unread, and asks for everything in struct dap_info. */
bool probe_identify(struct dap_probe *probe, const struct deadline *deadline, struct error *error);
bool probe_send(struct dap_probe *probe, const uint8_t *packet, size_t n, struct error *error);
/* Waits as long as a probe may need, beyond the caller's own deadline: a reply left unread would be taken for
 * that of the next packet. `reply` has room for CARRIER_ROOM bytes. */
bool probe_receive(struct dap_probe *probe, uint8_t *reply, size_t *n, struct error *error);
bool probe_ask(struct dap_probe *probe, const uint8_t *packet, size_t n, uint8_t *reply, size_t *reply_n,
               struct error *error);
/* For commands that answer with a status; `what` completes "it cannot ..." in the error. */
bool probe_tell(struct dap_probe *probe, const uint8_t *packet, size_t n, const char *what,
                struct error *error);
/* Its answer makes no sense: gives it up. Always false. */
bool probe_distrust(struct dap_probe *probe, struct error *error);
/* The probe was lost with several packets in flight, so one packet at a time may still work. */
bool probe_lost_overlapped(const struct dap_probe *probe);
void probe_close(struct dap_probe *probe);

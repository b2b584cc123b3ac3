/*
 * A CMSIS-DAP probe: a carrier and what the probe says of itself. One question at a time, or packets in
 * flight for who knows what they are.
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
    bool lost;        /* the carrier failed: nothing further can work */
    uint8_t port;     /* DAP_PORT_* that it was connected to */
    bool unanswered;  /* so was the last transfer: some probes have let go of SWDIO since then */
    uint64_t packets; /* sent so far */
    unsigned most;    /* packets in flight at most; 0: one, or all where the firmware is known to bear them */
    unsigned window;  /* what came of that; at least 1 */
    unsigned in_flight;
    bool overlapped; /* others were in flight when the last one was sent */
    const struct log *log;
};

/* Finds the beginning of the conversation, for a program before us may have left a reply behind, and asks
 * for everything in struct dap_info. */
bool probe_identify(struct dap_probe *probe, const struct deadline *deadline, struct error *error);
bool probe_send(struct dap_probe *probe, const uint8_t *packet, size_t n, struct error *error);
/* Waits out what a probe may need, whatever the caller's own deadline: a reply left behind would be taken
 * for that of the next packet. `reply` has room for CARRIER_ROOM bytes. */
bool probe_receive(struct dap_probe *probe, uint8_t *reply, size_t *n, struct error *error);
bool probe_ask(struct dap_probe *probe, const uint8_t *packet, size_t n, uint8_t *reply, size_t *reply_n,
               struct error *error);
/* For commands that answer with a status; what the command is for goes into the error. */
enum protocol_answer probe_tell(struct dap_probe *probe, const uint8_t *packet, size_t n, const char *what,
                                struct error *error);
/* It is lost, and may not have been with one packet at a time: a reply never came, or was none. */
bool probe_lost_overlapped(const struct dap_probe *probe);
void probe_close(struct dap_probe *probe);

/* SPDX-License-Identifier: MIT */
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

/*
 * The wires below a debug port: switching between SWD, JTAG and the dormant state, line reset, choosing one
 * of several debug ports on the same two wires, and the scan chain of JTAG.
 */
enum wires_sequence {
    WIRES_LINE_RESET,
    WIRES_JTAG_TO_SWD,    /* ends with a line reset */
    WIRES_TO_DORMANT,     /* from JTAG or from SWD */
    WIRES_DORMANT_TO_SWD, /* ends with a line reset */
    WIRES_SWD_TO_JTAG,
    WIRES_TAP_RESET, /* Test-Logic-Reset, then Run-Test/Idle */
    WIRES_SEQUENCES,
};

/* Connects the probe to the wires as SWD or JTAG, whatever it was connected as before. */
bool wires_connect(struct dap_probe *probe, uint8_t port, struct error *error);
/* The sequence's bits, least significant first. Pure. */
const uint8_t *wires_bits(enum wires_sequence sequence, unsigned *n);
bool wires_send(struct dap_probe *probe, enum wires_sequence sequence, struct error *error);
/* Line reset, then a write to TARGETSEL. */
bool wires_target_select(struct dap_probe *probe, uint32_t device, struct error *error);
/* False also if the probe does not have this clock. */
bool wires_clock(struct dap_probe *probe, uint32_t hz, struct error *error);

/*
 * A JTAG scan chain: its devices, the lengths of their instruction registers, which one is the debug port.
 * All functions but chain_scan are pure.
 */
enum { CHAIN_DEVICES = 8, CHAIN_IR_BITS = 128, CHAIN_ID_BITS = 32 * (CHAIN_DEVICES + 1) };

struct chain {
    size_t n;                   /* the first is nearest to TDO */
    uint32_t id[CHAIN_DEVICES]; /* 0: the device has none */
    uint8_t ir[CHAIN_DEVICES];
    size_t port; /* index of the debug port */
};

/* `bits` were shifted out of the data registers after a reset while ones were shifted in. False: no chain, or
 * too many devices. */
bool chain_read_ids(struct chain *chain, const uint8_t *bits, size_t n_bits);
/* `bits` were shifted out of the instruction registers, whose lengths add up to `length`. */
bool chain_read_lengths(struct chain *chain, const uint8_t *bits, size_t length);
/* False: no Arm debug port that a CMSIS-DAP probe can use. */
bool chain_find_port(struct chain *chain);
/* Arm debug ports besides the one that was found: i.MX6SX and LPC43xx have two. */
unsigned chain_other_ports(const struct chain *chain);
/* The same by another maker's IDCODE, once the lengths are known. */
bool chain_find_foreign_port(struct chain *chain);
/* IDCODE of a debug port that no CMSIS-DAP probe can use; 0: none. */
uint32_t chain_newer_port(const struct chain *chain);

/* Reads the chain and configures the probe for it. */
bool chain_scan(struct dap_probe *probe, struct chain *chain, struct error *error);

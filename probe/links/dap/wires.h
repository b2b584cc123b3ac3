/*
 * The wires below a debug port: switching between SWD, JTAG and the dormant state, line reset, choosing one
 * of several debug ports on the same two wires, and the scan chain of JTAG.
 */
#pragma once

#include "links/dap/probe.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum wires_sequence {
    WIRES_LINE_RESET,
    WIRES_JTAG_TO_SWD,    /* ends with a line reset */
    WIRES_TO_DORMANT,     /* from JTAG or from SWD */
    WIRES_DORMANT_TO_SWD, /* ends with a line reset */
    WIRES_SWD_TO_JTAG,
    WIRES_TAP_RESET, /* Test-Logic-Reset, then Run-Test/Idle */
    WIRES_SEQUENCES,
};

/* Takes the wires for SWD or JTAG, whoever has had them before. */
bool wires_connect(struct dap_probe *probe, uint8_t port, struct error *error);
/* The bits, least significant first. Pure. */
const uint8_t *wires_bits(enum wires_sequence sequence, unsigned *n);
bool wires_send(struct dap_probe *probe, enum wires_sequence sequence, struct error *error);
/* Line reset, then a write to TARGETSEL. */
bool wires_target_select(struct dap_probe *probe, uint32_t device, struct error *error);
/* False also when the probe does not have this clock. */
bool wires_clock(struct dap_probe *probe, uint32_t hz, struct error *error);

/*
 * A JTAG scan chain: which devices are on it, how long their instruction registers are, which of them is the
 * debug port. The shifting is done here; what the bits say is found by pure functions.
 */
enum { CHAIN_DEVICES = 8, CHAIN_IR_BITS = 128, CHAIN_ID_BITS = 32 * (CHAIN_DEVICES + 1) };

struct chain {
    size_t n;                   /* the first one is the nearest to TDO */
    uint32_t id[CHAIN_DEVICES]; /* 0: it has none */
    uint8_t ir[CHAIN_DEVICES];
    size_t port; /* which is the debug port */
};

/* `bits` came out of the data registers after a reset while ones went in. False: no chain, or too long. */
bool chain_read_ids(struct chain *chain, const uint8_t *bits, size_t n_bits);
/* `bits` came out of the instruction registers, `length` of them before what had been shifted in. */
bool chain_read_lengths(struct chain *chain, const uint8_t *bits, size_t length);
/* False: no debug port of Arm's on it that a probe can talk to. */
bool chain_find_port(struct chain *chain);
/* IDCODE of one that no CMSIS-DAP probe can talk to; 0: there is none. */
uint32_t chain_newer_port(const struct chain *chain);

/* All of it, and tells the probe. */
bool chain_scan(struct dap_probe *probe, struct chain *chain, struct error *error);

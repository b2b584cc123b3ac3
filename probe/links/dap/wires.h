/*
 * What is done on the wires before a debug port can be spoken to: switching between SWD, JTAG and the
 * dormant state, line reset, and choosing one of several debug ports on the same two wires.
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
bool wires_target_select(struct dap_probe *probe, uint32_t target, struct error *error);
/* False also when the probe does not have this clock. */
bool wires_clock(struct dap_probe *probe, uint32_t hz, struct error *error);

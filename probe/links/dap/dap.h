/* SPDX-License-Identifier: MIT */
/*
 * The CMSIS-DAP link: drives a debug probe without a server. Steps run inside the probe, many in one packet.
 * A view is an access port; its unit has the debug port in bits 15:8 and the access port's number below
 * (ADIv6: its place in the order of the ROM tables).
 *
 * If the probe itself decided an OP_UNTIL or OP_EXPECT, only the result's bits under the mask are measured;
 * the others are predicted, or 0.
 */
#pragma once

#include "links/dap/carrier.h"
#include "links/dap/protocol.h"
#include "links/link.h"

#include <stdbool.h>
#include <stddef.h>

/* NULL on error. The next call reopens a lost link with the same settings. */
struct link *dap_open(const struct probe_spec *spec, const struct deadline *deadline, struct error *error);
/* Packets sent so far. */
uint64_t dap_packets(const struct link *link);

/* A probe that is plugged in, for `info`. */
struct dap_listed {
    struct dap_found found;
    struct dap_info info; /* empty if found.problem says why the probe cannot be opened */
    unsigned window;      /* packets in flight that we would use */
};

size_t dap_list(struct dap_listed *out, size_t room, const struct deadline *deadline);
/* How to reach an adapter that is not a CMSIS-DAP probe, by what users call it: "stlink", "jlink"; NULL:
 * unknown. */
const char *dap_other_way(const char *kind);
/* Adapters of other kinds that are not in the list `listed`. */
size_t dap_list_adapters(const struct dap_listed *listed, size_t n, struct adapter_found *out, size_t room);

/*
 * The CMSIS-DAP link: a debug probe driven directly, without a server in between. Steps run inside the probe,
 * many in one packet. A view is an access port; its unit is the debug port's number in bits 15:8 and the
 * number of the access port below (ADIv6: its place in the order in which the ROM tables list them).
 *
 * The result of an *until* or *expect* that the probe itself decided holds the bits that were asked for; the
 * others are what they usually are, or 0.
 */
#pragma once

#include "links/dap/probe_spec.h"
#include "links/dap/protocol.h"
#include "links/link.h"

#include <stdbool.h>
#include <stddef.h>

/* NULL on error. A link that is lost is opened anew, with all that it was, by the next call that needs it. */
struct link *dap_open(const struct probe_spec *spec, const struct deadline *deadline, struct error *error);
/* USB packets, TCP messages: those sent so far. */
uint64_t dap_packets(const struct link *link);

/* What is plugged in, for people to read. */
struct dap_listed {
    struct dap_found found;
    struct dap_info info; /* empty when it cannot be opened: found.problem says why */
    unsigned window;      /* packets that would be in flight */
};

size_t dap_list(struct dap_listed *out, size_t room, const struct deadline *deadline);
/* Adapters of other kinds, but for those that are in that list. */
size_t dap_list_adapters(const struct dap_listed *listed, size_t n, struct adapter_found *out, size_t room);

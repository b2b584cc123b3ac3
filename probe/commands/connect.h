/*
 * Connecting: the link that the options name, or the one that is there to be found.
 */
#pragma once

#include "commands/command.h"
#include "links/dap/dap.h"
#include "links/link.h"

enum { CONNECT_PROBES = 16 };

/* NULL on error. Without --probe: an OpenOCD on localhost, else the only CMSIS-DAP probe. */
struct link *connect_link(const struct context *context, struct error *error);
/* CMSIS-DAP probes that are plugged in. */
size_t connect_list(const struct context *context, struct dap_listed *out, size_t room);

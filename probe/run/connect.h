/*
 * Connecting: the link that a request names, or the only one there is.
 */
#pragma once

#include "links/dap/dap.h"
#include "links/link.h"
#include "run/request.h"

enum { CONNECT_PROBES = 16 };

/* NULL on error. Without a probe: an OpenOCD on localhost, else the only CMSIS-DAP probe. */
struct link *connect_link(const struct request *request, const struct surroundings *around,
                          struct error *error);
/* CMSIS-DAP probes that are plugged in. */
size_t connect_list(const struct surroundings *around, struct dap_listed *out, size_t room);

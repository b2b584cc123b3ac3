/*
 * Which probe is wanted: the words behind --probe. Pure.
 */
#pragma once

#include "base/error.h"
#include "base/log.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum dap_kind { DAP_ANY, DAP_USB, DAP_HID, DAP_TCP };
enum dap_wires { DAP_WIRES_AUTO, DAP_WIRES_SWD, DAP_WIRES_JTAG };

enum { DAP_TCP_PORT = 4441 };

struct dap_wish {
    enum dap_kind kind; /* DAP_ANY: by USB, whichever way the probe speaks best */
    char serial[128];   /* empty: any */
    bool by_id;         /* vendor and product are wanted */
    uint16_t vendor, product;
    char host[256];
    uint16_t port;
    enum dap_wires wires;
    uint32_t hz;      /* 0: as fast as the wires take */
    unsigned packets; /* in flight at most; 0: what the firmware is known to bear */
    const struct log *log;
};

/* Whether it is asked for by these numbers; `wish` may be NULL. */
bool dap_wish_names(const struct dap_wish *wish, uint16_t vendor, uint16_t product);
/* "cmsis-dap", "cmsis-dap:SERIAL", "cmsis-dap:VID:PID", "cmsis-dap-tcp:HOST[:PORT]" */
bool dap_wish_is(const char *probe);
bool dap_wish_read(const char *probe, struct dap_wish *out, struct error *error);

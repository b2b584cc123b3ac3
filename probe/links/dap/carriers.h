/*
 * The carriers there are: how each is listed and opened.
 */
#pragma once

#include "links/dap/adapters.h"
#include "links/dap/carrier.h"
#include "links/dap/found.h"

/* Packets in a stream: "DAP", 0, length, 1 for a request and 2 for a response, 0; little endian. */
struct carrier *tcp_connect(const char *host, uint16_t port, const struct deadline *deadline,
                            struct error *error);

/* CMSIS-DAP v2: a pair of bulk endpoints. What `wish` (or NULL) names by its numbers is listed whatever it is
 * called. */
size_t usb_list(const struct dap_wish *wish, struct dap_found *out, size_t room);
/* Adapters of other kinds; none is opened. */
size_t usb_list_adapters(struct adapter_found *out, size_t room);
struct carrier *usb_connect(const struct dap_found *found, struct error *error);

/* CMSIS-DAP v1: HID reports. */
size_t hid_list(const struct dap_wish *wish, struct dap_found *out, size_t room);
struct carrier *hid_connect(const struct dap_found *found, struct error *error);

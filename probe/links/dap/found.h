/*
 * Probes that are plugged in, as each carrier lists them, and which of them is wanted.
 */
#pragma once

#include "links/dap/wish.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dap_found {
    enum dap_kind kind; /* DAP_USB or DAP_HID */
    uint16_t vendor, product;
    char serial[64];
    char name[64];
    char place[160];   /* by which its carrier finds it again: "1-2", "/dev/hidraw0" */
    char problem[200]; /* why it cannot be opened; empty when it can, or when nobody tried */
    bool speaks_both;  /* v1 and v2; set by found_merge */
};

/* Leaves one of each probe, the faster way to it, in the same order; returns how many. Pure. */
size_t found_merge(struct dap_found *list, size_t n);

/* The one that is wanted; of the same probe the faster way. NULL, with an error that lists them, unless it is
 * exactly one. Pure. */
const struct dap_found *found_choose(const struct dap_found *list, size_t n, const struct dap_wish *wish,
                                     struct error *error);
/* "2e8a:000c E6614C311B7F" */
void found_name(const struct dap_found *found, char *out, size_t size);

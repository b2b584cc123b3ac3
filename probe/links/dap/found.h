/*
 * Probes that are plugged in, as each carrier lists them, and which of them is wanted.
 */
#pragma once

#include "links/dap/wish.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dap_found {
    enum dap_kind kind;                /* DAP_USB or DAP_HID */
    uint16_t vendor, product, release; /* as its device descriptor has them: idVendor, idProduct, bcdDevice */
    char serial[64];
    char name[64];
    char place[160];   /* by which its carrier finds it again: "1-2", "/dev/hidraw0" */
    char problem[200]; /* why it cannot be opened; empty when it can, or when nobody tried */
    bool speaks_both;  /* v1 and v2; set by found_merge */
    bool by_hand;      /* its numbers were asked for: whatever it is called, it is one */
};

/* Leaves one of each probe, the faster way to it, in the same order; returns how many. Pure. */
size_t found_merge(struct dap_found *list, size_t n);

/* The one that is wanted; of the same probe the faster way. NULL, with an error that lists them, unless it is
 * exactly one. Pure. */
const struct dap_found *found_choose(const struct dap_found *list, size_t n, const struct dap_wish *wish,
                                     struct error *error);
/* Whether it is called a probe, has the numbers of one that is not, or was asked for by them. Pure. */
bool found_is_probe(const struct dap_found *found);
/* Whether its firmware is known to answer each of several packets in flight; if it is known not to, *words
 * says why, else NULL. Pure. */
bool found_takes_several(const struct dap_found *found, const char **words);
/* "2e8a:000c E6614C311B7F" */
void found_name(const struct dap_found *found, char *out, size_t size);

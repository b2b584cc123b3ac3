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

struct probe_spec {
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
bool probe_spec_names(const struct probe_spec *spec, uint16_t vendor, uint16_t product);
/* "cmsis-dap", "cmsis-dap:SERIAL", "cmsis-dap:VID:PID", "cmsis-dap-tcp:HOST[:PORT]" */
bool probe_spec_is(const char *probe);
bool probe_spec_read(const char *probe, struct probe_spec *out, struct error *error);

/*
 * Probes that are plugged in, as each carrier lists them, and which of them is wanted.
 */
struct dap_found {
    enum dap_kind kind;                /* DAP_USB or DAP_HID */
    uint16_t vendor, product, release; /* as its device descriptor has them: idVendor, idProduct, bcdDevice */
    char serial[64];
    char name[64];
    char place[160];   /* by which its carrier finds it again: "1-2", "/dev/hidraw0" */
    char problem[200]; /* why it cannot be opened; empty when it can, or when nobody tried */
    bool speaks_both;  /* v1 and v2; set by usb_choice_merge */
    bool by_hand;      /* its numbers were asked for: whatever it is called, it is one */
};

/* Leaves one of each probe, the faster way to it, in the same order; returns how many. Pure. */
size_t usb_choice_merge(struct dap_found *list, size_t n);

/* The one that is wanted; of the same probe the faster way. NULL, with an error that lists them, unless it is
 * exactly one. Pure. */
const struct dap_found *usb_choice_choose(const struct dap_found *list, size_t n,
                                          const struct probe_spec *spec, struct error *error);
/* Whether it is called a probe, has the numbers of one that is not, or was asked for by them. Pure. */
bool usb_choice_is_probe(const struct dap_found *found);
/* Whether its firmware is known to answer each of several packets in flight; if it is known not to, *words
 * says why, else NULL. Pure. */
bool usb_choice_takes_several(const struct dap_found *found, const char **words);
/* "2e8a:000c E6614C311B7F" */
void usb_choice_name(const struct dap_found *found, char *out, size_t size);

/*
 * Debug adapters that are plugged in and do not speak CMSIS-DAP: what they are, and how they are reached all
 * the same. Pure.
 */
struct adapter {
    uint16_t vendor, product; /* product 0: any of that vendor */
    const char *name;         /* "ST-Link V2-1" */
    const char *way;          /* "reached through OpenOCD: ..." */
};

/* One that is plugged in. */
struct adapter_found {
    const struct adapter *adapter;
    uint16_t vendor, product;
    char name[64], serial[64]; /* as it calls itself; may be empty */
};

const struct adapter *adapter_find(uint16_t vendor, uint16_t product); /* NULL: none that is known */

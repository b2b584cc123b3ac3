/*
 * Which probe the user wants, by --probe, and which of the probes plugged in it is. Pure.
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
    enum dap_kind kind; /* DAP_ANY: over USB, in the fastest way the probe knows */
    char serial[128];   /* empty: any */
    bool by_id;         /* selects by vendor and product */
    uint16_t vendor, product;
    char host[256];
    uint16_t port;
    enum dap_wires wires;
    uint32_t hz;      /* 0: as fast as the wires allow */
    unsigned packets; /* in flight at most; 0: as many as the firmware is known to handle */
    const struct log *log;
};

/* Whether the user asked for a device by these IDs; `spec` may be NULL. */
bool probe_spec_names(const struct probe_spec *spec, uint16_t vendor, uint16_t product);
/* "cmsis-dap", "cmsis-dap:SERIAL", "cmsis-dap:VID:PID", "cmsis-dap-tcp:HOST[:PORT]" */
bool probe_spec_is(const char *probe);
bool probe_spec_read(const char *probe, struct probe_spec *out, struct error *error);

/*
 * A probe that is plugged in, as a carrier lists it.
 */
struct dap_found {
    enum dap_kind kind;                /* DAP_USB or DAP_HID */
    uint16_t vendor, product, release; /* idVendor, idProduct and bcdDevice of its device descriptor */
    char serial[64];
    char name[64];
    char place[160];   /* by which its carrier opens it: "1-2", "/dev/hidraw0" */
    char problem[200]; /* why it cannot be opened; empty if it can or was not tried */
    bool speaks_both;  /* v1 and v2; set by usb_choice_merge */
    bool by_hand;      /* the user named it by its IDs: it counts as a probe under any name */
};

/* Keeps one entry for each probe, the faster one, in the same order; returns how many are left. */
size_t usb_choice_merge(struct dap_found *list, size_t n);

/* The probe that `spec` names, in the faster way. NULL with an error that lists the candidates unless there
 * is exactly one. */
const struct dap_found *usb_choice_choose(const struct dap_found *list, size_t n,
                                          const struct probe_spec *spec, struct error *error);
/* Whether its name, its IDs or the user say that it is a CMSIS-DAP probe. */
bool usb_choice_is_probe(const struct dap_found *found);
/* Whether its firmware is known to handle several packets in flight. *words says why not if it is known not
 * to, else it is NULL. */
bool usb_choice_takes_several(const struct dap_found *found, const char **words);
/* "2e8a:000c E6614C311B7F" */
void usb_choice_name(const struct dap_found *found, char *out, size_t size);

/*
 * Debug adapters that do not speak CMSIS-DAP: what they are and how to use them all the same.
 */
struct adapter {
    uint16_t vendor, product; /* product 0: every product of the vendor */
    const char *name;         /* "ST-Link V2-1" */
    const char *way;          /* "reached through OpenOCD: ..." */
};

/* An adapter that is plugged in. */
struct adapter_found {
    const struct adapter *adapter;
    uint16_t vendor, product;
    char name[64], serial[64]; /* as the device says; may be empty */
};

const struct adapter *adapter_find(uint16_t vendor, uint16_t product); /* NULL: unknown */

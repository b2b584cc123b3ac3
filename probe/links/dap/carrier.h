/* SPDX-License-Identifier: MIT */
/*
 * Probes: which one the user wants, by --probe, and which of those plugged in it is (probe_spec.c); how
 * packets are carried to it and back, and what its USB descriptors say (carrier.c).
 */
#pragma once

#include "base/deadline.h"
#include "base/error.h"
#include "base/log.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

enum dap_kind { DAP_ANY, DAP_USB, DAP_HID, DAP_TCP };
enum dap_wires { DAP_WIRES_AUTO, DAP_WIRES_SWD, DAP_WIRES_JTAG };

enum { DAP_TCP_PORT = 4441, USB_PORT_ROOM = 36 };

struct probe_spec {
    enum dap_kind kind;      /* DAP_ANY: over USB, in the fastest way the probe knows */
    char serial[128];        /* empty: any */
    char usb[USB_PORT_ROOM]; /* where it is plugged in, as usb_port_read takes it; empty: anywhere */
    bool by_id;              /* selects by vendor and product */
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
/* "cmsis-dap", "cmsis-dap:SERIAL", "cmsis-dap:VID:PID", "cmsis-dap:usb:BUS-PORT.PORT",
 * "cmsis-dap-tcp:HOST[:PORT]" */
bool probe_spec_is(const char *probe);
bool probe_spec_read(const char *probe, struct probe_spec *out, struct error *error);

/* The device that a path in /sys/devices leads through, the last one; false: none. */
bool usb_port_of_path(const char *path, char out[USB_PORT_ROOM]);

/* A probe that is plugged in, as a carrier lists it. */
struct dap_found {
    enum dap_kind kind;                /* DAP_USB or DAP_HID */
    uint16_t vendor, product, release; /* idVendor, idProduct and bcdDevice of its device descriptor */
    char serial[64];
    char name[64];
    char usb[USB_PORT_ROOM]; /* where it is plugged in; empty: unknown */
    char place[160];         /* by which its carrier opens it: "1/2", "/dev/hidraw0" */
    char problem[200];       /* why it cannot be opened; empty if it can or was not tried */
    bool speaks_both;        /* v1 and v2; set by usb_choice_merge */
    bool by_hand;            /* the user named it by its IDs: it counts as a probe under any name */
    bool is_named;           /* DAP_HID: its interface is named as a probe, as those next to it are not */
};

/* Of a device with several HID interfaces keeps those that are named, if any is; returns how many stay. */
size_t usb_choice_drop_bridges(struct dap_found *list, size_t n);
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
/* The same for one probe however it was chosen: its serial number, and where it is plugged in if another in
 * the list has the same one, or if it has none. */
void usb_choice_identity(const struct dap_found *list, size_t n, const struct dap_found *found, char *out,
                         size_t size);
/* Lets `spec` name this probe of the list alone. */
void usb_choice_keep(const struct dap_found *list, size_t n, const struct dap_found *found,
                     struct probe_spec *spec);

/* Debug adapters that do not speak CMSIS-DAP: what they are and how to use them all the same. */
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
    char usb[USB_PORT_ROOM];   /* where it is plugged in; empty: unknown */
};

const struct adapter *adapter_find(uint16_t vendor, uint16_t product); /* NULL: unknown */

/*
 * Carriers: take packets to a CMSIS-DAP probe and back, over USB bulk endpoints (CMSIS-DAP v2), HID reports
 * (v1) or TCP. Every packet brings exactly one reply, in the same order. After a failure a carrier can only
 * be closed.
 */
/* The most bytes that 255 transfers need in either direction, and the largest HID report. */
enum { CARRIER_ROOM = 1280, CARRIER_SMALLEST = 64 };

struct carrier;

struct carrier_ops {
    bool (*send)(struct carrier *, const uint8_t *packet, size_t n, const struct deadline *, struct error *);
    /* Stores at most `room` bytes; *n is how many arrived. HID fills replies up to the size of a report. */
    bool (*receive)(struct carrier *, uint8_t *packet, size_t room, size_t *n, const struct deadline *,
                    struct error *);
    /* Trace on an endpoint for itself, which goes on while packets are exchanged: it is taken in or not, and
     * what arrived, for which it waits a moment. NULL: there is none. */
    bool (*stream)(struct carrier *, bool on, struct error *);
    bool (*stream_read)(struct carrier *, uint8_t *out, size_t room, size_t *n, struct error *);
    void (*close)(struct carrier *);
};

struct carrier {
    const struct carrier_ops *ops; /* first member of each carrier's own struct */
    size_t largest;                /* longest packet, whatever the probe says; 0: no limit */
    size_t packet_size;            /* as the probe says; 0 until it is asked */
    bool in_step;                  /* no reply to an earlier program's request arrives any more */
    bool has_begun;                /* receive failed in the middle of a reply's header */
    bool padded;                   /* replies are longer than their contents */
    bool takes_several;            /* its firmware is known to handle as many packets in flight as it says */
    const char *loses_several;     /* why it is known not to; else NULL */
    char name[160];                /* "cmsis-dap E6614C311B7F", "cmsis-dap-tcp localhost:4441" */
    char serial[64];               /* empty when unknown */
};

static inline bool carrier_send(struct carrier *carrier, const uint8_t *packet, size_t n,
                                const struct deadline *deadline, struct error *error)
{
    return carrier->ops->send(carrier, packet, n, deadline, error);
}

static inline bool carrier_receive(struct carrier *carrier, uint8_t *packet, size_t room, size_t *n,
                                   const struct deadline *deadline, struct error *error)
{
    return carrier->ops->receive(carrier, packet, room, n, deadline, error);
}

static inline void carrier_close(struct carrier *carrier)
{
    if (carrier != NULL)
        carrier->ops->close(carrier);
}

/* Packets in a stream: "DAP", 0, length, 1 for a request and 2 for a response, 0; little endian. */
struct carrier *tcp_connect(const char *host, uint16_t port, const struct deadline *deadline,
                            struct error *error);

/* CMSIS-DAP v2: a pair of bulk endpoints. A device that `spec` (may be NULL) names by its IDs is listed under
 * any name. */
size_t usb_list(const struct probe_spec *spec, struct dap_found *out, size_t room);
/* Adapters of other kinds, without opening any. */
size_t usb_list_adapters(struct adapter_found *out, size_t room);
struct carrier *usb_connect(const struct dap_found *found, struct error *error);

/* CMSIS-DAP v1: HID reports. */
size_t hid_list(const struct probe_spec *spec, struct dap_found *out, size_t room);
struct carrier *hid_connect(const struct dap_found *found, struct error *error);

/*
 * USB and HID descriptors, read here apart from the libraries that fetch them, because they may hold
 * nonsense. Pure.
 */
enum { DESCRIPTORS_ENDPOINTS = 3, DESCRIPTORS_REPLY = 2048 };

/* An interface descriptor with its first endpoints, USB 2.0 9.6.5 and 9.6.6. */
struct interface_descriptor {
    uint8_t number, class, name; /* name: index of the string, 0: none */
    size_t n_endpoints;          /* the descriptor's number; at most DESCRIPTORS_ENDPOINTS are stored */
    struct endpoint_descriptor {
        uint8_t address, attributes;
        uint16_t packet;
    } endpoints[DESCRIPTORS_ENDPOINTS];
};

/* The endpoints for packets. */
struct interface_place {
    uint8_t interface, name;
    uint8_t out, in;  /* endpoints */
    size_t in_packet; /* USB packet size of `in`: 1 to DESCRIPTORS_REPLY */
    size_t packet;    /* the smaller of both endpoints' */
    uint8_t trace;    /* the endpoint for trace; 0: none */
};

/* Whether it has the form that CMSIS-DAP v2 prescribes: vendor class, bulk OUT, then bulk IN. Class 0 counts
 * as the vendor class: Cypress's probes have it. */
bool descriptors_read_interface(const struct interface_descriptor *from, struct interface_place *out);
/* How many bytes to ask for if the probe's packets have `packet_size`: whole packets of the endpoint, so that
 * no reply overflows, and no more, since a full packet does not end a longer transfer. At most
 * DESCRIPTORS_REPLY. */
size_t descriptors_reply_room(size_t in_packet, size_t packet_size);

/* Keep the printable characters that fit; return the length. */
size_t descriptors_text(const uint8_t *text, size_t n, char *out, size_t size);
size_t descriptors_wide_text(const wchar_t *text, char *out, size_t size); /* NULL: empty */
/* Whether a product or interface with this name is CMSIS-DAP; a common misspelling counts. */
bool descriptors_name_probe(const char *name);

/* Size in bytes of the output reports of a report descriptor (HID 1.11, 6.2.2), at most CARRIER_ROOM; 0:
 * none, or the descriptor is broken. */
size_t descriptors_report_size(const uint8_t *descriptor, size_t n);

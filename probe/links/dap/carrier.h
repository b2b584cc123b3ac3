/*
 * Carriers: take packets to a CMSIS-DAP probe and back, over USB bulk endpoints (CMSIS-DAP v2), HID reports
 * (v1) or TCP. Every packet brings exactly one reply, in the same order. After a failure a carrier can only
 * be closed.
 */
#pragma once

#include "base/deadline.h"
#include "base/error.h"
#include "links/dap/probe_spec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

/* The most bytes that 255 transfers need in either direction, and the largest HID report. */
enum { CARRIER_ROOM = 1280, CARRIER_SMALLEST = 64 };

struct carrier;

struct carrier_ops {
    bool (*send)(struct carrier *, const uint8_t *packet, size_t n, const struct deadline *, struct error *);
    /* Stores at most `room` bytes; *n is how many came. HID fills replies up to the size of a report. */
    bool (*receive)(struct carrier *, uint8_t *packet, size_t room, size_t *n, const struct deadline *,
                    struct error *);
    void (*close)(struct carrier *);
};

struct carrier {
    const struct carrier_ops *ops; /* first member of each carrier's own struct */
    size_t largest;                /* longest packet, whatever the probe says; 0: no limit */
    size_t packet_size;            /* as the probe says; 0 until it is asked */
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

/*
 * How each kind of carrier is listed and opened.
 */
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
enum { DESCRIPTORS_ENDPOINTS = 2, DESCRIPTORS_REPLY = 2048 };

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

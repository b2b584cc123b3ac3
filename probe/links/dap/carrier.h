/*
 * Carriers: how packets get to a CMSIS-DAP probe and back. A carrier knows nothing of what they say;
 * every packet that is sent brings exactly one reply, in the same order. After a failure a carrier is
 * of no further use but to be closed.
 */
#pragma once

#include "base/deadline.h"
#include "base/error.h"
#include "links/dap/probe_spec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

/* The largest that 255 transfers can fill in either direction, and the largest HID report. */
enum { CARRIER_ROOM = 1280, CARRIER_SMALLEST = 64 };

struct carrier;

struct carrier_ops {
    bool (*send)(struct carrier *, const uint8_t *packet, size_t n, const struct deadline *, struct error *);
    /* At most `room` bytes are stored; *n is what came, which HID fills up to the size of a report. */
    bool (*receive)(struct carrier *, uint8_t *packet, size_t room, size_t *n, const struct deadline *,
                    struct error *);
    void (*close)(struct carrier *);
};

struct carrier {
    const struct carrier_ops *ops; /* first member of each carrier's own struct */
    size_t largest;                /* no packet may be longer, whatever the probe says; 0: no such limit */
    size_t packet_size;            /* what the probe says; 0 until it was asked */
    bool padded;                   /* the length of a reply says nothing */
    bool takes_several;            /* packets in flight: its firmware is known to bear as many as it says */
    const char *loses_several;     /* it is known not to: in words; else NULL */
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
 * The carriers there are: how each is listed and opened.
 */
/* Packets in a stream: "DAP", 0, length, 1 for a request and 2 for a response, 0; little endian. */
struct carrier *tcp_connect(const char *host, uint16_t port, const struct deadline *deadline,
                            struct error *error);

/* CMSIS-DAP v2: a pair of bulk endpoints. What `wish` (or NULL) names by its numbers is listed whatever it is
 * called. */
size_t usb_list(const struct probe_spec *spec, struct dap_found *out, size_t room);
/* Adapters of other kinds; none is opened. */
size_t usb_list_adapters(struct adapter_found *out, size_t room);
struct carrier *usb_connect(const struct dap_found *found, struct error *error);

/* CMSIS-DAP v1: HID reports. */
size_t hid_list(const struct probe_spec *spec, struct dap_found *out, size_t room);
struct carrier *hid_connect(const struct dap_found *found, struct error *error);

/*
 * What a device says of itself over USB: interfaces and their endpoints, strings, HID report descriptors. Any
 * of it may be nonsense, so it is read here, apart from the libraries that fetch it. Pure.
 */
enum { DESCRIPTORS_ENDPOINTS = 2, DESCRIPTORS_REPLY = 2048 };

/* An interface descriptor with its first endpoints, USB 2.0 9.6.5 and 9.6.6: fields as they came. */
struct interface_descriptor {
    uint8_t number, class, name; /* of the name: the string's index, 0 when there is none */
    size_t n_endpoints;          /* as the descriptor says; the first DESCRIPTORS_ENDPOINTS are here */
    struct endpoint_descriptor {
        uint8_t address, attributes;
        uint16_t packet;
    } endpoints[DESCRIPTORS_ENDPOINTS];
};

/* Where packets go to and come from. */
struct interface_place {
    uint8_t interface, name;
    uint8_t out, in;  /* endpoints */
    size_t in_packet; /* bytes of the endpoint's own packets: 1 to DESCRIPTORS_REPLY */
    size_t packet;    /* the smaller of both endpoints' */
};

/* Whether it has the shape that CMSIS-DAP v2 prescribes: vendor's class, bulk OUT, then bulk IN. Class 0 is
 * taken for the vendor's: Cypress's probes have it. */
bool descriptors_read_interface(const struct interface_descriptor *from, struct interface_place *out);
/* Bytes to ask for, of a probe whose packets have `packet_size`: whole packets of the endpoint, so that no
 * reply overflows, and no more, or a full one would not end the transfer. At most DESCRIPTORS_REPLY. */
size_t descriptors_reply_room(size_t in_packet, size_t packet_size);

/* Keeps what is printable, as far as there is room; returns the length. */
size_t descriptors_text(const uint8_t *text, size_t n, char *out, size_t size);
size_t descriptors_wide_text(const wchar_t *text, char *out, size_t size); /* NULL is empty */
/* Whether that is how a product or an interface of CMSIS-DAP is called, or miscalled. */
bool descriptors_name_probe(const char *name);

/* Bytes of the output reports that a report descriptor names (HID 1.11, 6.2.2), at most CARRIER_ROOM; 0:
 * none, or it is broken. */
size_t descriptors_report_size(const uint8_t *descriptor, size_t n);

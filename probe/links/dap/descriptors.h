/*
 * What a device says of itself over USB: interfaces and their endpoints, strings, HID report descriptors. Any
 * of it may be nonsense, so it is read here, apart from the libraries that fetch it. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

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

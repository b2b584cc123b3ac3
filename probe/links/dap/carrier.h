/*
 * Carriers: how packets get to a CMSIS-DAP probe and back. A carrier knows nothing of what they say;
 * every packet that is sent brings exactly one reply, in the same order. After a failure a carrier is
 * of no further use but to be closed.
 */
#pragma once

#include "base/deadline.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

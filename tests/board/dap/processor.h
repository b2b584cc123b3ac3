// A CMSIS-DAP probe's command processor: packets in, packets out, the pins behind it. It does as the
// reference firmware does (posted reads, one read beyond a match), and can be told to be a lesser one. Not
// there: SWO, UART, queued commands (0x7E).
#ifndef BOARD_DAP_PROCESSOR_H
#define BOARD_DAP_PROCESSOR_H

#include <stddef.h>

#include "dap/line.h"

enum { PROCESSOR_PACKET = 1024 };

// What a lesser probe does worse
enum {
    QUIRK_NO_MATCH = 1 << 0,    // value matches are answered with a protocol error
    QUIRK_COUNT_ZERO = 1 << 1,  // says that it takes 0 packets at once
    QUIRK_SHORT = 1 << 2,       // cuts the last byte off long replies
    QUIRK_NO_SEQUENCE = 1 << 3, // does not know DAP_SWD_Sequence
};

struct processor_counts {
    uint64_t packets, transfers, clocks;
};

struct processor {
    struct line line;
    size_t packet_size;
    unsigned packet_count;
    bool timer, atomic;
    unsigned quirks;
    const char *serial;
    // Lets the rest of the board live while the wire is busy; returns host nanoseconds
    uint64_t (*breathe)(void *self);
    void *self;

    unsigned port; // 0 none, 1 SWD, 2 JTAG
    uint32_t hz;
    unsigned wait_retry, match_retry;
    uint32_t match_mask;
    uint64_t wire_ns; // when the wire is free again, on the clock of `breathe`
    uint64_t paced;   // clocks that are accounted for in wire_ns
    struct processor_counts counts;
};

void processor_init(struct processor *);
// The reply's length; 0 when there is none. `reply` has room for packet_size bytes.
size_t processor_packet(struct processor *, const uint8_t *request, size_t length, uint8_t *reply);

// For commands.c and transfer.c: bytes of the request, and of the reply, each with its end
struct bytes {
    const uint8_t *at, *end;
    bool bad; // more was asked for than there is
};
struct answer {
    uint8_t *at, *end;
    bool full;
};
uint32_t bytes_take(struct bytes *, unsigned count); // little endian, up to 4
void answer_put(struct answer *, uint32_t value, unsigned count);
// Lets the wire's time pass
void processor_pace(struct processor *);
// 0x05, 0x06
void transfer_run(struct processor *, struct bytes *, struct answer *);
void transfer_block(struct processor *, struct bytes *, struct answer *);

#endif

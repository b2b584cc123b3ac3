// A CMSIS-DAP probe's command processor: packets in, packets out, its pins. It does as the
// reference firmware does (posted reads, one read beyond a match), but checks every length in both
// directions: a command that is cut short, or whose reply would not fit, is not begun and answered by the
// single byte 0xFF, as an unknown one is. It can be made a lesser probe. Not there: the UART commands.
#ifndef BOARD_DAP_PROCESSOR_H
#define BOARD_DAP_PROCESSOR_H

#include "dap/bytes.h"
#include "dap/line.h"
#include "dap/quirks.h"
#include "dap/swo.h"
#include "rng.h"

enum { PROCESSOR_PACKET = 1024, PROCESSOR_COUNT = 8, PROCESSOR_HZ = 1000000 };

struct processor_counts {
    uint64_t packets, transfers, clocks;
    uint64_t swd_clocks, jtag_clocks; // of these
    uint64_t malformed;               // commands that were unknown, cut short or would not fit
    uint64_t busy_ns;                 // the wire's time of all clocks and delays
};

struct processor {
    struct line line;
    size_t packet_size;
    unsigned packet_count;
    bool timer, atomic;
    unsigned quirks;
    bool naps;        // the wire's time is slept through, not to the microsecond
    uint32_t wire_hz; // whose time a clock takes on the wire, whatever it is set to; 0: what it is set to
    const char *serial;
    struct firmware *firmware; // that does the commands; NULL: they are done here
    // Lets the rest of the board live while the wire is busy; returns host nanoseconds
    uint64_t (*breathe)(void *self);
    void (*pass)(void *self, uint64_t ns); // NULL: the wire's time is the host's
    struct rng idle;                       // with `pass`: the time between packets
    void *self;
    // Whether what is going on is to end: the host sent DAP_TransferAbort, or is gone. NULL: never.
    bool (*stopped)(void *carrier);
    void *carrier;

    unsigned port; // 0 none, 1 SWD, 2 JTAG
    bool floats;   // QUIRK_FLOATS: SWDIO is not driven
    uint32_t hz;
    unsigned wait_retry, match_retry;
    uint32_t match_mask;
    unsigned levels;  // that the pins were last given, as in DAP_SWJ_Pins
    bool waited;      // the next packet was there before the last one was done: the wire need not rest
    uint64_t wire_ns; // when the wire is free again, on the clock of `breathe`
    uint64_t paced;   // clocks that are accounted for in wire_ns
    struct swo swo;
    struct processor_counts counts;
};

enum { PORT_NONE, PORT_SWD, PORT_JTAG };

void processor_init(struct processor *);
// The reply's length; 0 when there is none. `reply` has room for packet_size bytes.
size_t processor_packet(struct processor *, const uint8_t *request, size_t length, uint8_t *reply);
// Commands that wait for the first packet of another kind. Executed at once they are like any packet.
bool processor_is_queued(const struct processor *, const uint8_t *request, size_t length);
// DAP_TransferAbort, which takes effect when it arrives and is never answered
bool processor_is_abort(const uint8_t *request, size_t length);

// For transfer.c, sequence.c and info.c:
void processor_set_clock(struct processor *, uint32_t hz);
enum { DAP_DONE = 0, DAP_FAILED = 0xFF };
// The time of the clocks so far, or so much time, passes
void processor_pace(struct processor *);
void processor_pass(struct processor *, uint64_t ns);
bool processor_stopped(const struct processor *);
// A command, without its number. One that sets `bad` or `full` has done nothing.
void info_answer(struct processor *, struct bytes *, struct answer *);
void transfer_run(struct processor *, struct bytes *, struct answer *);
void transfer_block(struct processor *, struct bytes *, struct answer *);
void sequence_pins(struct processor *, struct bytes *, struct answer *);
void sequence_swj(struct processor *, struct bytes *, struct answer *);
void sequence_swd(struct processor *, struct bytes *, struct answer *);
void sequence_jtag(struct processor *, struct bytes *, struct answer *);

#endif

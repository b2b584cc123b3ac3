// The Instrumentation Trace Macrocell: stimulus ports, packets of the DWT, local timestamps, and the FIFO
// before the sink (DDI 0403E C1.7 and appendix D4, DDI 0553B appendix F). How deep the FIFO is, and what is
// late when, no manual says: see README.md.
#ifndef BOARD_DEVICE_ITM_H
#define BOARD_DEVICE_ITM_H

#include "device/trace_log.h"

enum { ITM_FIFO_MOST = 256, ITM_FIFO = 16, ITM_PACKET = 12, ITM_COMPARATORS = 4 };

// The sources of packets. Each has room for one until it enters the FIFO.
enum itm_from {
    ITM_SYNC,
    ITM_SWIT,
    ITM_COMPARATOR0,
    ITM_EXCEPTION = ITM_COMPARATOR0 + ITM_COMPARATORS,
    ITM_COUNTERS,
    ITM_PC,
    ITM_SOURCES,
};

// What no source establishes, and faults: `--trace-quirk NAME`
struct trace_quirks {
    bool notrcpkt;       // DWT_CTRL.NOTRCPKT: no packets
    bool no_trace_clock; // the TPIU has no clock, so that nothing leaves
    bool tcr_rewritten;  // the program writes ITM_TCR, and TER, now and then, as if nobody traced
    bool acpr_rewritten; // and the port's prescaler
    bool plus_zero;      // a timestamp's value is what has passed, not one less
    bool no_match_id;    // comparators say that they cannot match instruction addresses
    bool wide_counter;   // the timestamp's counter has 28 bits, not 21
    bool fifo_stale;     // RP2350: the empty FIFO gives the word that was read last, not 0
    bool no_wide_port;   // RP2350: of a port above 8 bits the FIFO gets the low 8 alone
    bool dark_pin;       // m4 is an STM32F407 by its ROM table, m33 an STM32H563, and SWO needs DBGMCU_CR
    bool pin_used;       // the same, and the program has made an output of that pin
    bool old_m3;         // m4 is a Cortex-M3 r1p1, whose DWT has no FUNCTION 0xC to 0xF
    bool m4_core;        // h7 has a Cortex-M4, as the second core of an STM32H745
    bool plain_etf; // h7: its ROM table is nobody's that is known, and a funnel of two ports and the ETF are
                    // all
    bool sleep_stops; // the DWT and the ITM have no clock in sleep
    unsigned held;    // comparator 0's packet waits that many cycles if its event follows a print; 0: not so
    unsigned late, drop; // each Nth packet late, each Nth byte lost on its way; 0: none
    int baud_permille;   // the port's clock is off by that much
};

// false: there is no quirk of that name
bool trace_quirk_parse(const char *text, struct trace_quirks *);

#define ITM_NEVER UINT64_MAX
enum { ITM_FRACTION = 256 }; // of a cycle: the unit of times at the sink

// What takes the bytes
struct itm_sink {
    void *self;
    // How long the next byte takes to leave, in 1/ITM_FRACTION cycles. ITM_NEVER: it cannot leave now.
    uint64_t (*byte_time)(void *self, unsigned core, unsigned id);
    void (*take)(void *self, unsigned core, unsigned id, uint8_t byte, uint64_t cycle);
};

struct itm_source {
    bool pending, lost; // lost: a packet of this source was, since the last one that got through
    uint8_t bytes[ITM_PACKET];
    unsigned length;
    uint64_t when;       // the event
    uint64_t not_before; // the packet is held up until then
    uint64_t order;      // among all packets
    uint64_t index;      // in the log
};

struct itm {
    const struct trace_quirks *quirks;
    struct itm_sink sink;
    struct trace_log *log;
    unsigned core;
    bool v8, has_lock;
    unsigned size; // of the FIFO
    bool powered;  // DEMCR.TRCENA

    uint32_t ter, tpr, tcr;
    bool locked;

    struct itm_source source[ITM_SOURCES];
    bool group;     // packets have entered that no timestamp closes yet
    bool late;      // one of them waited
    uint64_t event; // the time of the last one of them
    uint64_t since; // the counter's zero
    uint64_t free;  // when the FIFO can be written next
    uint64_t packets, bytes_out;
    uint64_t printed;   // when the program wrote a stimulus port last
    uint64_t rewritten; // when the program did that last

    uint8_t fifo[ITM_FIFO_MOST];
    unsigned first, level;
    uint64_t head_since; // the first byte is on its way since then, in 1/ITM_FRACTION cycles
};

void itm_power_on(struct itm *);
void itm_power(struct itm *, bool powered, uint64_t now);
uint32_t itm_read(struct itm *, uint32_t offset, uint64_t now);
void itm_write(struct itm *, uint32_t offset, uint32_t value, uint64_t now);
// Everything up to that cycle
void itm_run(struct itm *, uint64_t until);
// Whether DWT packets pass
bool itm_takes(const struct itm *);
// A packet, at a cycle that is not before any earlier one's. index: of its event in the log
void itm_packet(struct itm *, enum itm_from, const uint8_t *bytes, unsigned length, uint64_t when,
                uint64_t index);
// A write to a stimulus port: false, if it is not enabled
bool itm_stimulus(struct itm *, unsigned port, unsigned size, uint32_t value, uint64_t now, uint64_t index);
bool itm_wants_sync(const struct itm *);

#endif

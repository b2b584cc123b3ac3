// Where a chip's trace goes: the TPIU and its pin, the RP2350's funnel, TPIU and FIFO. One for all cores.
#ifndef BOARD_DEVICE_TRACE_UNIT_H
#define BOARD_DEVICE_TRACE_UNIT_H

#include "bus.h"
#include "device/formatter.h"
#include "device/h7_trace.h"
#include "device/itm.h"
#include "device/rp_dma.h"

enum trace_route { TRACE_NOWHERE, TRACE_CORE_TPIU, TRACE_RP2350, TRACE_H7 };
enum { TRACE_CORES = 2, TRACE_LINE = 1 << 20, RP_ENTRIES = 8 };

struct trace_unit;

struct trace_seat {
    struct trace_unit *unit;
    struct itm *itm;
    void (*catch_up)(void *core); // its trace, to where the core is
    void *core;
    uint32_t number; // of the core
};

struct tpiu {
    uint32_t port_size, prescaler, protocol, formatting, sync;
    unsigned flushing;  // reads of FFSR that still show the flush
    bool stopped;       // by StopFl, until that is 0 again
    unsigned unstopped; // writes of what may change only while it is stopped
};

// Bytes on the pin, as sent: a receiver of another baud gets others
struct trace_line {
    uint8_t bytes[TRACE_LINE];
    uint64_t next; // bytes so far; the line has the last TRACE_LINE of them
};

struct rp_fifo {
    bool flushed, overflow;
    uint32_t entries[RP_ENTRIES], last, word;
    unsigned first, count, filled; // filled: bytes of the word that is not whole
    uint64_t dropped;              // entries
};

struct trace_unit {
    enum trace_route route;
    struct trace_quirks quirks;
    unsigned itm_fifo; // bytes
    struct trace_seat seats[TRACE_CORES];
    size_t count;
    struct tpiu tpiu;
    uint32_t funnel;
    struct formatter formatter;
    struct rp_fifo fifo;
    struct rp_dma dma;
    struct h7_trace h7;
    struct trace_line line;
    uint32_t clock;         // of the port, Hz
    const uint32_t *dbgmcu; // DBGMCU_CR, where the chip has it
    uint32_t pin_bits;      // of it, all of which the pin needs
    // Who listens at the pin. protocol: as in SPPR; hz: of the bits, or of Manchester's bits
    void (*listen)(void *self, uint8_t byte, uint32_t protocol, double hz);
    void *listener;
};

void trace_unit_start(struct trace_unit *, enum trace_route);
void trace_unit_power_on(struct trace_unit *);
// Puts what the core does not have itself on its bus. false: no room there
bool trace_unit_add(struct trace_unit *, struct bus *);
bool trace_unit_add_debug(struct trace_unit *, struct bus *); // and on the debug bus
// A core takes its seat: its ITM gets a sink
void trace_unit_sit(struct trace_unit *, struct itm *, void (*catch_up)(void *core), void *core);
void trace_unit_catch_up(struct trace_unit *);

// What sinks hold, as JSON; what the pin has carried last, all of it
void trace_unit_print(struct trace_unit *, FILE *out);

uint32_t tpiu_read(struct trace_unit *, uint32_t offset);
void tpiu_write(struct trace_unit *, uint32_t offset, uint32_t value);

#endif

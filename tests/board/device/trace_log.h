// The truth of trace: every event of the DWT and ITM, at its cycle, before any loss. Tests compare what
// a sink gives with it.
#ifndef BOARD_DEVICE_TRACE_LOG_H
#define BOARD_DEVICE_TRACE_LOG_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { TRACE_LOG_EVENTS = 1 << 20, TRACE_LOG_PER_REPLY = 20000 };

enum trace_kind {
    TRACE_MATCH,
    TRACE_ENTER,
    TRACE_EXIT,
    TRACE_RETURN,
    TRACE_READ,
    TRACE_WRITE,
    TRACE_CYCLE,
    TRACE_SWIT,
    TRACE_SYNC,
    TRACE_PC,
};

enum trace_fate {
    TRACE_PENDING, // its packet waits
    TRACE_SENT,    // its packet has entered the ITM's FIFO
    TRACE_LOST,    // there was no room for it
    TRACE_OFF,     // nobody asked for it
};

struct trace_event {
    enum trace_kind kind;
    enum trace_fate fate;
    uint32_t number; // of the comparator, exception, port
    uint32_t value;
    uint64_t cycles, counted;
};

struct trace_log {
    struct trace_event *ring; // NULL: switched off
    uint64_t next;
};

// Forgets all events. false: no memory
bool trace_log_switch(struct trace_log *, bool on);
// Returns the event's index, for its fate
uint64_t trace_log_add(struct trace_log *, const struct trace_event *);
void trace_log_settle(struct trace_log *, uint64_t index, enum trace_fate);
// As truth_print
void trace_log_print(const struct trace_log *, uint64_t from, FILE *out);

#endif

// The Data Watchpoint and Trace unit: cycle counter and the five 8-bit profiling counters (DDI
// 0403E C1.8). Its comparators halt the core at stores and at a value of the cycle counter, and do nothing
// else of what they can. An Armv6-M one (DDI 0419 C1.6) has comparators and PC sampling only.
#ifndef BOARD_DEVICE_DWT_H
#define BOARD_DEVICE_DWT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DWT_COMPARATORS = 4 };

// The extra cycles of the profiling counters, in the order of their registers
enum dwt_profile { DWT_CPI, DWT_EXC, DWT_SLEEP, DWT_LSU, DWT_FOLD, DWT_PROFILES };

struct dwt {
    bool has_counters; // Armv7-M
    bool v8m;          // no profiling counters, no masks (DDI 0553B D1.2)
    bool has_cycdiss;  // with the Security Extension
    bool secure;       // the core is in Secure state, where CYCDISS stops the cycle counter
    unsigned comparators;
    bool traced; // DEMCR.TRCENA: without it nothing counts and writes are ignored
    uint32_t control;
    uint32_t cyccnt; // its value at count `at`
    uint64_t at;
    uint64_t total[DWT_PROFILES];  // since the core was made: what really happened, counted or not
    uint8_t profile[DWT_PROFILES]; // the counters, when the totals were `since`
    uint64_t since[DWT_PROFILES];
    uint32_t comp[DWT_COMPARATORS], mask[DWT_COMPARATORS], function[DWT_COMPARATORS];
    uint32_t matched; // comparators, as bits; reading a comparator's function clears its bit
    bool cycle_event; // the cycle counter has matched, and nobody has asked yet
    bool no_packets;  // NOTRCPKT
    bool no_apart;    // Armv7-M: FUNCTION 0xC to 0xF, for reads and writes apart, are reserved
    bool no_match_id; // no comparator says that it can match instruction addresses
    unsigned post;    // POSTCNT
};

void dwt_reset(struct dwt *, uint64_t now);
void dwt_trace(struct dwt *, bool traced, uint64_t now);
void dwt_secure(struct dwt *, bool secure, uint64_t now);
uint32_t dwt_cyccnt(const struct dwt *, uint64_t now);
uint32_t dwt_read(struct dwt *, uint32_t offset, uint64_t now); // but PCSR, which is the core's
void dwt_write(struct dwt *, uint32_t offset, uint32_t value, uint64_t now);
uint32_t dwt_control(const struct dwt *);
// Whether any comparator waits for stores
bool dwt_watches(const struct dwt *);
// The core stores there. true: a watchpoint debug event
bool dwt_store(struct dwt *, uint32_t address, unsigned size);
// Cycles until the counter matches the comparator that halts the core then; DWT_NEVER: none does
#define DWT_NEVER UINT64_MAX
uint64_t dwt_cycles_to_match(const struct dwt *, uint64_t now);
// Whether it has matched since this was asked last
bool dwt_cycle_event(struct dwt *, uint64_t now);

// Trace: dwt_trace.c
// Comparators that match the instruction there, as bits; those of Armv8-M alone can do so with a packet
unsigned dwt_at_code(const struct dwt *, uint32_t pc);
unsigned dwt_action(const struct dwt *, unsigned n); // of Armv8-M: DWT_ACTION_*
enum { DWT_ACTION_TRIGGER, DWT_ACTION_DEBUG, DWT_ACTION_MATCH, DWT_ACTION_PC };
// What a comparator sends of an access
enum { DWT_SENDS_MATCH = 1, DWT_SENDS_PC = 2, DWT_SENDS_ADDRESS = 4, DWT_SENDS_VALUE = 8 };
bool dwt_traces(const struct dwt *, bool write);
unsigned dwt_sends(struct dwt *, unsigned n, uint32_t address, unsigned size, bool write);
bool dwt_traces_exceptions(const struct dwt *);
// When POSTCNT's tap of the cycle counter, and that of synchronization, is next; DWT_NEVER: not
uint64_t dwt_next_tap(const struct dwt *, uint64_t now);
uint64_t dwt_next_sync(const struct dwt *, uint64_t now);
bool dwt_tap(struct dwt *);           // it is there: whether POSTCNT makes an event of it
bool dwt_samples(const struct dwt *); // PC samples take the place of cycle events
bool dwt_counting(const struct dwt *);
// The names of the totals in the truth: the offsets of the counters' registers
void dwt_name_totals(const uint16_t **codes, size_t *count);

#endif

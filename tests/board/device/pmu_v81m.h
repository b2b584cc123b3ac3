// The performance monitor of Armv8.1-M (DDI 0553B, chapter on the Performance Monitoring Unit): event
// counters of 16 bits and a cycle counter of 32 over running totals that the core keeps, read only when
// something reads or changes them, or, while an overflow matters at once, after each instruction.
#ifndef BOARD_DEVICE_PMU_V81M_H
#define BOARD_DEVICE_PMU_V81M_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PMU_V81M_COUNTERS = 8 };

// Events that the board counts besides cycles, in the order of pmu_v81m_codes()
enum v81m_event {
    V81M_L1D_REFILL,
    V81M_L1D,
    V81M_LOAD,
    V81M_STORE,
    V81M_INSTRUCTION,
    V81M_EXCEPTION,
    V81M_EXCEPTION_RETURN,
    V81M_PC_WRITE,
    V81M_BRANCH_IMMEDIATE,
    V81M_RETURN,
    V81M_UNALIGNED,
    V81M_MATCH, // of the DWT's comparator 0; 1 to 3 follow
    V81M_EVENTS = V81M_MATCH + 4,
};

struct pmu_v81m_counter {
    uint16_t value, type;
    uint64_t at; // what it counts, when the value was read
};

struct pmu_v81m {
    unsigned counters; // 0: the core has no monitor
    bool traced;       // DEMCR.TRCENA: without it nothing counts and writes are ignored
    const uint64_t *counted;
    uint64_t total[V81M_EVENTS];
    uint32_t control, enabled, overflown, interrupts;
    bool event; // a counter with an enabled interrupt has wrapped; the code that acts on it clears this
    struct pmu_v81m_counter counter[PMU_V81M_COUNTERS];
    uint32_t cycles; // its value at count `at`
    uint64_t at;
};

void pmu_v81m_power_on(struct pmu_v81m *);
void pmu_v81m_trace(struct pmu_v81m *, bool traced);
void pmu_v81m_settle(struct pmu_v81m *);
// Offsets from 0xE0003000, without the identification registers; settle first
uint32_t pmu_v81m_peek(const struct pmu_v81m *, uint32_t offset);
uint32_t pmu_v81m_read(struct pmu_v81m *, uint32_t offset);
void pmu_v81m_write(struct pmu_v81m *, uint32_t offset, uint32_t value);
// Counting stops by itself at the first overflow
bool pmu_v81m_freezes(const struct pmu_v81m *);
// Cycles until a counter of cycles overflows at the soonest, UINT64_MAX: none counts
uint64_t pmu_v81m_cycles_left(const struct pmu_v81m *);
// Which events the totals are
const uint16_t *pmu_v81m_codes(void);

#endif

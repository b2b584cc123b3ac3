// The performance monitor of Armv7-A/R, versions 1 and 2 (DDI 0406C C12): counters of 32 bits over running
// totals that the core keeps, read only when something reads or changes them. It has two faces, the
// registers of its memory-mapped page (DDI 0406C D2) and CP15 c9.
#ifndef BOARD_DEVICE_PMU_V7_H
#define BOARD_DEVICE_PMU_V7_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PMU_V7_COUNTERS = 8 };

// Events that the board counts
enum v7_event {
    V7_L1D_REFILL,
    V7_L1D_ACCESS,
    V7_LOAD,
    V7_STORE,
    V7_LOAD_OR_STORE,
    V7_UNALIGNED,
    V7_INSTRUCTION,
    V7_PC_WRITE,
    V7_BRANCH_IMMEDIATE,
    V7_RETURN,
    V7_EXCEPTION,
    V7_EXCEPTION_RETURN,
    V7_IRQ,
    V7_ISB,
    V7_DSB,
    V7_DMB,
    V7_EVENTS,
};

struct pmu_v7_profile {
    unsigned version;
    unsigned counters;
    uint32_t pmcr;         // its constant part: IMP, IDCODE, N
    const uint16_t *codes; // of the events that are modelled: a core numbers them in its own way
    const uint8_t *events; // what each of them is
    size_t count;
    bool has_cycle_event; // 0x11
    uint64_t ceid;        // the common events that the core has, modelled or not; version 2
};

struct pmu_v7_counter {
    uint32_t type, value;
    uint64_t at; // what it counts, when the value was read
};

struct pmu_v7 {
    const struct pmu_v7_profile *profile;
    const uint64_t *totals;  // V7_EVENTS of them
    const uint64_t *counted; // cycles
    bool user, hyp; // in User mode, which a counter may leave out, or in Hyp mode, which it may include
    uint32_t control, enabled, overflown, interrupts, user_enable, select;
    struct pmu_v7_counter counter[PMU_V7_COUNTERS];
    struct pmu_v7_counter cycle;
    uint32_t divided; // cycles that did not make up 64 yet
    bool erratum;     // 740663: the event 0x68 lacks the immediate branches
    unsigned loses,
        passed; // of overflows of event counters each how many-th is lost, 0: none; how many there were
};

void pmu_v7_reset(struct pmu_v7 *);
void pmu_v7_set_mode(struct pmu_v7 *, bool user, bool hyp);
void pmu_v7_set_erratum(struct pmu_v7 *, bool on);
uint32_t pmu_v7_read(struct pmu_v7 *, uint32_t offset);
void pmu_v7_write(struct pmu_v7 *, uint32_t offset, uint32_t value);

// Counters that request an interrupt, as bits of PMOVSR
uint32_t pmu_v7_requests(struct pmu_v7 *);
// Cycles until a counter of cycles overflows at the soonest, UINT64_MAX: none counts. After pmu_v7_requests.
uint64_t pmu_v7_cycles_left(const struct pmu_v7 *);

struct pmu_v7_access {
    unsigned crm, op2; // of c9
    bool write, user;
    uint32_t *value;
};

// By CP15 c9. false: an undefined instruction.
bool pmu_v7_cp15(struct pmu_v7 *, const struct pmu_v7_access *);

#endif

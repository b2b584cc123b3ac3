// The performance monitor of Armv8-A, PMUv3 (DDI 0487H D8 and I5): event counters of 32 bits and a cycle
// counter of 64 over running totals that the core keeps, read only when something reads or changes
// something. It has two faces, the memory-mapped registers and the System registers.
#ifndef BOARD_DEVICE_PMU_V3_H
#define BOARD_DEVICE_PMU_V3_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { PMU_V3_COUNTERS = 8 };

struct pmu_v3_profile {
    unsigned counters;
    uint32_t id;           // IMP and IDCODE of PMCR_EL0
    uint64_t ceid;         // the common events that the core has, modelled or not
    const uint16_t *codes; // of the events that are modelled
    const uint8_t *events; // which of the totals each of them is; NULL: in their order
    size_t count;
};

struct pmu_v3_counter {
    uint32_t type, value;
    uint64_t at; // what it counts, when the value was read
};

struct pmu_v3 {
    const struct pmu_v3_profile *profile;
    const uint64_t *totals;  // of the events
    const uint64_t *counted; // cycles
    unsigned level;          // the Exception level, which counters may leave out
    bool secure, prohibited;
    // MDCR_EL2: counters from `of_guests` on are EL2's, which `el2_enable` starts and not PMCR_EL0.E; at EL2
    // events of the others are prohibited
    unsigned of_guests;
    bool el2_enable, el2_prohibited;
    uint32_t control, enabled, overflown, interrupts, user_enable, select;
    struct pmu_v3_counter counter[PMU_V3_COUNTERS];
    uint64_t cycles; // its value at count `at`
    uint32_t filter; // of the cycle counter
    uint64_t at;
    uint32_t divided; // cycles that did not make up 64 yet
    bool erratum;     // 855827: INST_RETIRED counts an immediate branch twice
};

void pmu_v3_reset(struct pmu_v3 *);
// prohibited: of events, and of cycles if PMCR_EL0.DP says so
void pmu_v3_set_level(struct pmu_v3 *, unsigned level, bool secure, bool prohibited);

void pmu_v3_set_erratum(struct pmu_v3 *, bool on);

// MDCR_EL2, which is HDCR in AArch32 state
void pmu_v3_divide(struct pmu_v3 *, uint32_t control);

// Offsets of the memory-mapped page, without the identification registers
uint32_t pmu_v3_read(struct pmu_v3 *, uint32_t offset);
void pmu_v3_write(struct pmu_v3 *, uint32_t offset, uint32_t value);

// Counters that request an interrupt, as bits of PMOVSSET
uint32_t pmu_v3_requests(struct pmu_v3 *);
// Cycles until a counter of cycles overflows at the soonest, UINT64_MAX: none counts. After pmu_v3_requests.
uint64_t pmu_v3_cycles_left(const struct pmu_v3 *);

struct pmu_v3_access {
    unsigned op1, crn, crm, op2; // op0 is 3
    bool write;
    unsigned level;
    uint64_t *value;
};

enum pmu_v3_answer { PMU_V3_DONE, PMU_V3_NONE, PMU_V3_TRAPPED }; // NONE: it is not one of its registers

enum pmu_v3_answer pmu_v3_system(struct pmu_v3 *, const struct pmu_v3_access *);

void pmu_v3_print(struct pmu_v3 *, FILE *json); // members of an object, each after a comma

#endif

/*
 * The target stub from the outside: lets the program read its own counters, and takes that back. Where the
 * enabling registers can be written by a debugger they are; else the stub's code is put into the core's RAM
 * and run there. What is switched on stays so when the ledger is undone; all else is put back by it.
 */
#pragma once

#include "device/device.h"
#include "stub/injected_code.h"

#include <stdbool.h>
#include <stdint.h>

struct stub_state {
    bool has_user;   /* there is a switch for user mode */
    bool user;       /* user mode may read the counters */
    bool enabled;    /* the monitor as a whole, or the trace system that the DWT is part of */
    bool cycles;     /* the cycle counter */
    uint32_t events; /* event counters that are enabled, as bits */
    char registers[128];
};

struct stub {
    struct device *device;
    const struct stub_way *way;
    struct injected_code *injected; /* NULL: no code is needed */
    uint64_t before[2];             /* what its code returned */
    struct address changed[4];      /* registers that are to stay as they are now */
    size_t n_changed;
};

/* Makes the core reachable. `at`: where the code may lie, for which it is then taken; NULL: wherever needed.
 * The stub must outlive the undoing of the target's ledger. */
bool stub_open(struct stub *stub, struct device *device, const uint64_t *at, const struct deadline *deadline,
               struct error *error);
void stub_close(struct stub *stub);
bool stub_look(struct stub *stub, struct stub_state *out, const struct deadline *deadline,
               struct error *error);
/* As found, and as it is then. */
bool stub_enable(struct stub *stub, struct stub_state *found, struct stub_state *now,
                 const struct deadline *deadline, struct error *error);
/* A monitor in which event counters are enabled is somebody's: then only user mode is shut out. */
bool stub_disable(struct stub *stub, struct stub_state *found, struct stub_state *now,
                  const struct deadline *deadline, struct error *error);
/* The code is to stay where it is. False where none is needed. */
bool stub_leave_code(struct stub *stub, struct error *error);

/*
 * The ways in which the stub's work is done: by the PMU's registers, by the DWT's, or by code. For stub.c and
 * stub_registers.c only.
 */
struct stub_way {
    bool (*look)(struct stub *, struct stub_state *out, const struct deadline *, struct error *);
    /* Through the ledger, so that it is undone unless stub_stays follows. */
    bool (*enable)(struct stub *, const struct stub_state *found, const struct deadline *, struct error *);
    bool (*disable)(struct stub *, const struct stub_state *found, const struct deadline *, struct error *);
    void (*stays)(struct stub *);
};

extern const struct stub_way stub_by_pmu, stub_by_dwt;

/* Bits of PMCR, and of PMCNTENSET and its like. */
enum {
    STUB_E = 1 << 0,
    STUB_P = 1 << 1,
    STUB_C = 1 << 2,
    STUB_D = 1 << 3,
    STUB_LC = 1 << 6,
    STUB_EN = 1 << 0
};
#define STUB_CYCLES (UINT32_C(1) << 31)

/*
 * The ways in which the stub's work is done: by the PMU's registers, by the DWT's, or by code. For stub.c and
 * stub_registers.c only.
 */
#pragma once

#include "target/stub.h"

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

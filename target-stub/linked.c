/* SPDX-License-Identifier: MIT */
// For programs that cannot include the stub's header: an object to link. Call it before entering user mode.
#include "pmu_stub.h"

uint64_t pmu_stub_enable(void);
void pmu_stub_disable(uint64_t before);

#ifdef PMU_STUB_USER
uint64_t pmu_stub_enable(void)
{
    return pmu_open();
}

void pmu_stub_disable(uint64_t before)
{
    pmu_close(before);
}
#else
// There is no user mode to open: this only starts the cycle counter
uint64_t pmu_stub_enable(void)
{
    pmu_enable();
    pmu_cycles_enable();
    return 0;
}

void pmu_stub_disable(uint64_t before)
{
    (void)before;
    pmu_cycles_disable();
}
#endif

// The way into the stub for what cannot include its header: an object to link, called before user mode is
// entered.
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
// No user mode to open it to: the cycle counter runs
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

// nRF52840: runs at 64 MHz from the reset on. Its flash has wait states, which the instruction cache hides.
// From revision 3 on the debug port is locked at each reset until the program opens it, too.
#include "sequences.h"

#define APPROTECT_DISABLE (*(volatile uint32_t *)0x40000558)
#define NVMC_ICACHECNF    (*(volatile uint32_t *)0x4001E540)

enum { SW_DISABLE = 0x5A, CACHE_ENABLE = 1 };

const uint32_t SystemCoreClock __attribute__((used)) = 64000000;

void chip_start(void)
{
    APPROTECT_DISABLE = SW_DISABLE;
    NVMC_ICACHECNF = CACHE_ENABLE;
}

// What the parked firmware and the start-up code ask for. Core 1 is left asleep, so that RAM does not change.
#include <stdint.h>

volatile uint32_t undefined_count, svc_count, abort_count, irq3_count, round_count;
char core1_stack[0x2000] __attribute__((aligned(16), section(".noinit")));

__attribute__((used, noreturn)) void core1_main(void)
{
    for (;;)
        __asm__ volatile("wfi");
}

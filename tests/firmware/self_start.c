// Start-up of the firmware that measures itself: on Cortex-M all of it, elsewhere what start_v7.S and
// start_v8.S ask for.
#include <stdint.h>

extern uint32_t data_load[], data_start[], data_end[], bss_start[], bss_end[];
int main(void);

static void start_memory(void)
{
    const uint32_t *from = data_load;
    for (uint32_t *to = data_start; to < data_end;)
        *to++ = *from++;
    for (uint32_t *to = bss_start; to < bss_end;)
        *to++ = 0;
}

#if __ARM_ARCH_PROFILE == 'M'
extern uint32_t stack_top[];
void SysTick_Handler(void);

__attribute__((used, noreturn)) void Reset_Handler(void)
{
    start_memory();
    main();
    for (;;)
        ;
}

static void stay(void)
{
    for (;;)
        ;
}

typedef void (*vector)(void);

__attribute__((section(".vectors"), used)) static const vector vectors[16 + 32] = {
    (vector)stack_top, Reset_Handler, [2 ... 14] = stay, [15] = SysTick_Handler, [16 ... 16 + 31] = stay,
};
#else
#define ITS_OWN __attribute__((section(".noinit")))

volatile uint32_t undefined_count, svc_count, abort_count, irq3_count;
ITS_OWN char core1_stack[0x2000] __attribute__((aligned(16)));

__attribute__((used, noreturn)) void start(void)
{
    start_memory();
    main();
    for (;;)
        ;
}

__attribute__((used, noreturn)) void core1_main(void)
{
    for (;;)
        __asm__ volatile("wfi");
}
#endif

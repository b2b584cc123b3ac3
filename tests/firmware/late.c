// A program that starts a counter late, when a test says so, and waits with it from then on. It waits
// for ever if anything else stops that counter.
#include <stdint.h>

volatile uint32_t start_now, waits, sink;
volatile uint32_t round_count;
uint32_t SystemCoreClock __attribute__((used)) = 12000000;

#if defined __aarch64__
__asm(".section .vectors, \"ax\", %progbits\n.global Reset_Handler\n.type Reset_Handler, "
      "%function\nReset_Handler:\n"
      "ldr x0, =stack_top\nmov sp, x0\nb run\n.pool\n.text");

static void start_counter(void)
{
    __asm volatile("msr pmcr_el0, %0\n\tmsr pmcntenset_el0, %1\n\tisb" ::"r"(UINT64_C(1)),
                   "r"(UINT64_C(1) << 31));
}

static uint32_t count(void)
{
    uint64_t value;
    __asm volatile("mrs %0, pmccntr_el0" : "=r"(value));
    return (uint32_t)value;
}
#elif __ARM_ARCH_PROFILE != 'M'
__asm(".section .vectors, \"ax\", %progbits\n.arm\n.global Reset_Handler\n.type Reset_Handler, "
      "%function\nReset_Handler:\n"
      "ldr sp, =stack_top\nb run\n.pool\n.text");

static void start_counter(void)
{
    __asm volatile("mcr p15, 0, %0, c9, c12, 0\n\tmcr p15, 0, %1, c9, c12, 1" ::"r"(1),
                   "r"(UINT32_C(1) << 31));
}

static uint32_t count(void)
{
    uint32_t value;
    __asm volatile("mrc p15, 0, %0, c9, c13, 0" : "=r"(value));
    return value;
}
#else
#define REGISTER(address) (*(volatile uint32_t *)(address))

void Reset_Handler(void);
extern uint32_t stack_top[];
__attribute__((section(".vectors"), used)) static const void *const vectors[16] = {stack_top, Reset_Handler};

#ifdef WITH_SYSTICK
static void start_counter(void)
{
    REGISTER(0xE000E014) = 0xFFFFFF;
    REGISTER(0xE000E018) = 0;
    REGISTER(0xE000E010) = 5;
}

static uint32_t count(void)
{
    return -(REGISTER(0xE000E018) << 8) >> 8;
}
#elif defined WITH_PMU
static void start_counter(void)
{
    REGISTER(0xE000EDFC) |= 1u << 24;
    REGISTER(0xE0003C00) = 1u << 31;
    REGISTER(0xE0003E04) |= 1;
}

static uint32_t count(void)
{
    return REGISTER(0xE000307C);
}
#else
static void start_counter(void)
{
    REGISTER(0xE000EDFC) |= 1u << 24;
    REGISTER(0xE0001000) |= 1;
}

static uint32_t count(void)
{
    return REGISTER(0xE0001004);
}
#endif
#endif

__attribute__((noinline)) void filter(void)
{
    for (uint32_t i = 0; i < 200; i++)
        sink += i;
}

__attribute__((noinline)) static void wait_for(uint32_t cycles)
{
    uint32_t begin = count();
    while (((count() - begin) & 0xFFFFFF) < cycles)
        ;
    waits++;
}

#if defined __aarch64__ || __ARM_ARCH_PROFILE != 'M'
#define ENTRY run
#else
#define ENTRY Reset_Handler
#endif

__attribute__((used)) void ENTRY(void)
{
    start_now = waits = round_count = 0;
    for (uint32_t started = 0;; round_count++) {
        filter();
        for (uint32_t i = 0; i < 300; i++)
            __asm volatile("nop");
        if (start_now && !started) {
            start_counter();
            started = 1;
        }
        if (started)
            wait_for(2000);
    }
}

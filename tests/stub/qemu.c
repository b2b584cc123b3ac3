// The machine: PL011, GICv2, and the end by semihosting.
#include "qemu.h"
#include "measures.h"

#define REG(address)  (*(volatile uint32_t *)(uintptr_t)(address))
#define UART_DR       REG(0x09000000)
#define GICD_CTLR     REG(0x08000000)
#define GICD_ISENABLE REG(0x08000100)
#define GICC_CTLR     REG(0x08010000)
#define GICC_PMR      REG(0x08010004)
#define GICC_IAR      REG(0x0801000C)
#define GICC_EOIR     REG(0x08010010)
enum { OVERFLOW_INTERRUPT = 23 };

volatile uint32_t user_trapped, interrupt_count, registers_changed;

static void put(char c)
{
    UART_DR = (uint8_t)c;
}

void report(const char *name, uint64_t value)
{
    while (*name)
        put(*name++);
    put(' ');
    for (unsigned shift = 64; shift; shift -= 4)
        put("0123456789abcdef"[value >> (shift - 4) & 15]);
    put('\n');
}

void interrupts_init(void)
{
    GICD_CTLR = 1;
    GICD_ISENABLE = 1u << OVERFLOW_INTERRUPT;
    GICC_PMR = 0xFF;
    GICC_CTLR = 1;
}

void irq_entry(void);
__attribute__((used)) void irq_entry(void)
{
    uint32_t which = GICC_IAR;
    interrupt_count = interrupt_count + 1;
    if ((which & 0x3FF) == OVERFLOW_INTERRUPT)
        overflow_handler();
    GICC_EOIR = which;
}

#ifdef __aarch64__
void interrupts_mask(void)
{
    __asm__ volatile("msr daifset, #2" ::: "memory");
}

void interrupts_unmask(void)
{
    __asm__ volatile("msr daifclr, #2" ::: "memory");
}

uint64_t clock_read(void)
{
    uint64_t value;
    __asm__ volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(value)::"memory");
    return value;
}
#else
void interrupts_mask(void)
{
    __asm__ volatile("cpsid i" ::: "memory");
}

void interrupts_unmask(void)
{
    __asm__ volatile("cpsie i" ::: "memory");
}

uint64_t clock_read(void)
{
    uint32_t low, high;
    __asm__ volatile("isb\n\tmrrc p15, 1, %0, %1, c14" : "=r"(low), "=r"(high)::"memory");
    return (uint64_t)high << 32 | low;
}
#endif

// The scenarios that the compiler is good enough for. What they compute is of no interest; how long it takes
// is.
#include "scenario.h"

#define SCB_AIRCR (*(volatile uint32_t *)0xE000ED0C)

volatile uint32_t lock_wanted;

static volatile uint32_t random_state = 12345;

// 16 bits of it
ALONE uint32_t random_number(void)
{
    uint32_t next = random_state * 1664525u + 1013904223u;
    random_state = next;
    return next >> 16;
}

// A function that no other file can name
static ALONE uint32_t hidden_step(uint32_t value)
{
    return value ^ (value << 5);
}

ALONE void work_by_data(void)
{
    uint32_t value = 1;
    for (uint32_t left = 4 + (random_number() & 63); left; left--)
        value = hidden_step(value) + left;
    sink = value;
}

ALONE uint32_t called_twice(uint32_t count)
{
    uint32_t value = 0;
    while (count--)
        value += sink;
    return value;
}

ALONE void caller_one(void)
{
    sink = called_twice(5) + 1;
}

ALONE void caller_two(void)
{
    sink = called_twice(11) + 2;
}

// Works after the call, so that it cannot become a loop
__attribute__((noinline, noclone, optimize("no-optimize-sibling-calls"))) uint32_t recurse(uint32_t depth)
{
    uint32_t below = depth > 1 ? recurse(depth - 1) : 0;
    sink += depth;
    return below * 3 + sink;
}

// Some 20,000 cycles: a tick falls inside now and then
ALONE void preempted(void)
{
    for (uint32_t left = 5000; left; left--)
        __asm volatile("nop");
}

ALONE void sleeper(void)
{
    sink++;
    __asm volatile("wfi");
    sink++;
}

ALONE void resetting(void)
{
    sink = 1;
    SCB_AIRCR = 0x05FA0004; // SYSRESETREQ
    for (;;)
        ;
}

ALONE void locking(void)
{
    lock_wanted = 1;
    __asm volatile("udf #0");
}

ALONE void masked_work(void)
{
    __asm volatile(INTERRUPTS_OFF ::: "memory");
    for (uint32_t left = 200; left; left--)
        __asm volatile("nop");
    __asm volatile(INTERRUPTS_ON ::: "memory");
}

static inline __attribute__((always_inline)) uint32_t inlined_twice(uint32_t value)
{
    sink = value;
    value = value * 5 + sink;
    return value;
}

ALONE void ping(uint32_t value)
{
    uint32_t first = inlined_twice(value);
    if (first & 1)
        first += tick_count;
    sink = inlined_twice(first + 7);
}

ALONE __attribute__((used)) void never_called(void)
{
    sink = 0xDEAD;
}

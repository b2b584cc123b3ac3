// Programs that use the stub and say in numbers what they saw; wherever they run provides report().
#ifndef STUB_MEASURES_H
#define STUB_MEASURES_H

#include <stdint.h>

#define ALONE __attribute__((noinline, noclone))

void report(const char *name, uint64_t value);

static ALONE __attribute__((unused)) void spin(unsigned rounds)
{
    while (rounds--)
        __asm__ volatile("");
}

// A performance monitor with events
void measure_monitor(void);
// DWT and SysTick
void measure_m(void);

#endif

// A program like many: it reads values, sorts and filters them, and formats lines with newlib's printf, in
// whole numbers and with decimals. Nothing is written anywhere.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ALONE __attribute__((noinline, noclone, used))

enum { SAMPLES = 24, LINE = 96 };

struct reading {
    int16_t raw;
    uint8_t channel, flags;
};

const uint32_t SystemCoreClock __attribute__((used)) = 12000000;
volatile uint32_t round_count, scenario, checksum;
static uint32_t seed = 1;
static struct reading readings[SAMPLES], sorted[SAMPLES];
static char line[LINE], copy[LINE];

static uint32_t random_number(void)
{
    seed = seed * 1664525u + 1013904223u;
    return seed >> 16;
}

ALONE void take_readings(void)
{
    for (unsigned i = 0; i < SAMPLES; i++)
        readings[i] = (struct reading){(int16_t)(random_number() & 0xFFF), (uint8_t)(i & 3),
                                       (uint8_t)(random_number() & 1)};
}

ALONE int by_value(const void *one, const void *other)
{
    return ((const struct reading *)one)->raw - ((const struct reading *)other)->raw;
}

ALONE int32_t median_of(void)
{
    memcpy(sorted, readings, sizeof sorted);
    qsort(sorted, SAMPLES, sizeof sorted[0], by_value);
    return sorted[SAMPLES / 2].raw;
}

ALONE double mean_of(void)
{
    int32_t sum = 0;
    for (unsigned i = 0; i < SAMPLES; i++)
        sum += readings[i].raw;
    return sum / (double)SAMPLES;
}

ALONE int64_t energy_of(void)
{
    int64_t sum = 0;
    for (unsigned i = 0; i < SAMPLES; i++)
        sum += (int64_t)readings[i].raw * readings[i].raw;
    return sum / SAMPLES;
}

ALONE void format_whole(int32_t median, int64_t energy)
{
    snprintf(line, sizeof line, "%08lx %5ld %lu.%02lu %s", (unsigned long)seed, (long)median,
             (unsigned long)(energy / 100), (unsigned long)(energy % 100), readings[0].flags ? "ok" : "late");
}

ALONE void format_decimals(double mean)
{
    snprintf(line + strlen(line), 24, " %.3f", mean);
}

ALONE uint32_t check(const char *text)
{
    uint32_t sum = 0;
    for (; *text; text++)
        sum = (sum << 5 | sum >> 27) ^ (uint8_t)*text;
    return sum;
}

ALONE void report(void)
{
    format_whole(median_of(), energy_of());
    if (round_count % 4 == 0)
        format_decimals(mean_of());
    strcpy(copy, line);
    checksum += check(copy);
}

// What the library asks for; it is never called in earnest
ALONE void never_called(void)
{
    puts("out of memory");
}

extern uint32_t stack_top[], data_load[], data_start[], data_end[], bss_start[], bss_end[];
static uint8_t heap[8192];

void *_sbrk(ptrdiff_t more)
{
    static size_t used;
    if (more < 0 || used + (size_t)more > sizeof heap)
        return (void *)-1;
    used += (size_t)more;
    return heap + used - more;
}

int main(void)
{
    for (;;) {
        take_readings();
        report();
        round_count++;
    }
}

__attribute__((used, noreturn)) void Reset_Handler(void)
{
    memcpy(data_start, data_load, (size_t)((char *)data_end - (char *)data_start));
    memset(bss_start, 0, (size_t)((char *)bss_end - (char *)bss_start));
    main();
    for (;;)
        ;
}

ALONE void Default_Handler(void)
{
    for (;;)
        ;
}

typedef void (*vector)(void);

__attribute__((section(".vectors"), used)) static const vector vectors[16] = {
    (vector)stack_top,
    Reset_Handler,
    [2 ... 6] = Default_Handler,
    [11] = Default_Handler,
    [14 ... 15] = Default_Handler,
};

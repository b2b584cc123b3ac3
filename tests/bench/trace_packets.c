/* Packets of trace a second, and what they take: "trace_packets N" of exceptions with their times, as `irq`
 * takes them. */
#include "measure/stays.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

enum { PERIOD = 16384, NUMBERS = 100, PACKETS = 8 }; /* PACKETS: of a round */

static void take_moment(void *context, const struct trace_moment *moment)
{
    trace_contexts_take(context, moment);
}

static void take_stay(void *context, const struct trace_stay *stay)
{
    stays_take(context, stay);
}

static void take_loss(void *context, uint64_t cycles)
{
    (void)cycles;
    stays_lose(context, false);
}

/* An exception, and a cycle event that fits. */
static void give_round(struct trace_moments *moments, uint32_t number)
{
    const uint8_t bytes[] = {0x0E,
                             (uint8_t)number,
                             0x10,
                             0xC0,
                             0x5D,
                             0x0E,
                             (uint8_t)number,
                             0x20,
                             0xC0,
                             0x0D,
                             0x0E,
                             0,
                             0x30,
                             0xC0,
                             0x08,
                             0x05,
                             0x20,
                             0xC0,
                             0x8A,
                             0x7F};
    trace_moments_take(moments, bytes, sizeof bytes);
}

int main(int argc, char **argv)
{
    unsigned long n = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
    struct stays *stays = calloc(1, sizeof *stays);
    struct trace_contexts contexts = {.context = stays, .stay = take_stay, .lost = take_loss};
    struct trace_moments moments = {.kinds = 1U << TRACE_EVENTS | 1U << TRACE_EXCEPTION,
                                    .plus = 1,
                                    .period = PERIOD,
                                    .context = &contexts,
                                    .take = take_moment};
    struct rusage used;
    if (n == 0 || stays == NULL || !trace_moments_begin(&moments))
        return 1;
    int64_t begun_us = deadline_now_us();
    for (unsigned long i = 0; i < n / PACKETS; i++)
        give_round(&moments, (uint32_t)(16 + i * 7 % NUMBERS));
    double seconds = (double)(deadline_now_us() - begun_us) / 1e6;
    uint64_t calls = 0;
    for (size_t i = 0; i < stays->n; i++)
        calls += stays->rows[i].calls;
    getrusage(RUSAGE_SELF, &used);
    printf("%10lu packets of trace: %6ld KB, %.1f million a second, %llu calls\n", n, used.ru_maxrss,
           (double)n / seconds / 1e6, (unsigned long long)calls);
    trace_moments_end(&moments);
    trace_moments_free(&moments);
    stays_free(stays);
    free(stays);
    return 0;
}

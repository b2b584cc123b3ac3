#include "card.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TSC = 0x10, PERF_CNTR0 = 0x20, PERF_CNTR1 = 0x21 };

static uint64_t host_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

static uint64_t current(const struct card *card)
{
    if (!card->runs)
        return card->cycle;
    uint64_t ns = host_ns() - card->at_ns;
    return card->cycle + ns / 1000000000U * card->hz + ns % 1000000000U * card->hz / 1000000000U;
}

unsigned card_core_of(const struct card *card, unsigned cpu)
{
    return (cpu + card->n_cpus - 1) % card->n_cpus / THREADS_A_CORE;
}

void card_init(struct card *card, unsigned cpus, uint64_t hz, bool runs)
{
    unsigned found[CARD_CORES] = {0};
    memset(card, 0, sizeof *card);
    card->n_cpus = cpus;
    card->runs = runs;
    card->hz = hz;
    card->at_ns = host_ns();
    for (unsigned cpu = 0; cpu < cpus; cpu++) {
        unsigned core = card_core_of(card, cpu);
        card->siblings[core][found[core]++] = cpu;
        card->tsc_offsets[core] = UINT64_C(1000000007) * core;
        struct thread *thread = &card->threads[cpu];
        *thread = (struct thread){
            .cpu = cpu, .siblings = card->siblings[core], .tsc_offset = &card->tsc_offsets[core]};
        for (unsigned i = 0; i < THREAD_COUNTERS; i++)
            thread->counters[i] = (UINT64_C(1) << 40) - 1 - UINT64_C(997) * cpu - i;
    }
}

/* A line for each read of a running counter, and at the TSC: CPU, MSR, select, value, truth. */
static void note(struct card *card, const struct thread *thread, uint32_t msr, uint64_t value)
{
    unsigned counter = msr - PERF_CNTR0;
    if (card->truth == NULL)
        return;
    if (msr == TSC)
        fprintf(card->truth, "%u 0x%" PRIX32 " 0 %" PRIu64 " %" PRIu64 "\n", thread->cpu, msr, value,
                thread->now);
    else if ((msr == PERF_CNTR0 || msr == PERF_CNTR1) && thread_counts(thread, counter))
        fprintf(card->truth, "%u 0x%" PRIX32 " %" PRIu32 " %" PRIu64 " %" PRIu64 "\n", thread->cpu, msr,
                thread->selects[counter], value, thread_happened(thread, counter, thread->now));
}

bool card_read(struct card *card, unsigned cpu, uint32_t msr, uint64_t *value)
{
    struct thread *thread = &card->threads[cpu];
    if (!thread_read(thread, msr, current(card), value))
        return false;
    note(card, thread, msr, *value);
    return true;
}

bool card_write(struct card *card, unsigned cpu, uint32_t msr, uint64_t value)
{
    return thread_write(&card->threads[cpu], msr, current(card), value);
}

static bool take_number(const char **at, int base, uint64_t *out)
{
    char *end;
    *out = strtoull(*at, &end, base);
    bool ok = end != *at;
    *at = end;
    return ok;
}

/* What follows the word, if the line begins with it. */
static const char *behind(const char *line, const char *word)
{
    size_t n = strlen(word);
    return strncmp(line, word, n) == 0 ? line + n : NULL;
}

bool card_command(struct card *card, const char *line)
{
    uint64_t cpu, number, value;
    const char *at;
    if (strcmp(line, "reset") == 0) {
        for (unsigned i = 0; i < card->n_cpus; i++)
            thread_reset(&card->threads[i], current(card));
        return true;
    }
    if (strcmp(line, "init") == 0)
        return true;
    if ((at = behind(line, "advance ")) != NULL && take_number(&at, 10, &number) && !card->runs) {
        card->cycle += number;
        return true;
    }
    if ((at = behind(line, "spflt ")) != NULL && take_number(&at, 10, &cpu) && take_number(&at, 10, &value) &&
        cpu < card->n_cpus) {
        thread_filter(&card->threads[cpu], current(card), value != 0);
        return true;
    }
    if ((at = behind(line, "write ")) != NULL && take_number(&at, 10, &cpu) &&
        take_number(&at, 16, &number) && take_number(&at, 16, &value) && cpu < card->n_cpus)
        return card_write(card, (unsigned)cpu, (uint32_t)number, value);
    return false;
}

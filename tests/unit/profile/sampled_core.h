/*
 * A link to a Cortex-M4 that runs, sleeps, halts or is reset by a script of the link's own clock: its PC
 * sample register, DHCSR and DEMCR. Each access takes time, and so does each nap.
 */
#pragma once

#include "../test.h"

#include "cores/architectures.h"
#include "device/device.h"
#include "profile/sampler.h"

#include <string.h>
#include <time.h>

enum { SAMPLED_DHCSR = 0xE000EDF0, SAMPLED_DEMCR = 0xE000EDFC, SAMPLED_PCSR = 0xE000101C };
enum { SAMPLED_WRITES = 64, SAMPLED_ACCESS_US = 5 };
static const uint32_t SAMPLED_TRCENA = 1 << 24;

/* What the core is at, at a time in us. */
struct sampled_moment {
    uint64_t pc;
    uint32_t dhcsr;
};

struct sampled {
    struct link link;
    struct device device;
    struct device_core core;
    struct sampler sampler;
    struct profile_tally tally;
    struct deadline deadline;
    struct error error;
    uint32_t demcr, reset_st;
    bool absent; /* the register reads as 0 */
    struct sampled_moment (*script)(uint64_t us);
    long accesses, reset_at, trouble_at, trouble_for; /* numbers of accesses; -1: never */
    enum why trouble;
    enum error_kind kind;
    size_t n_writes, lists;
    struct step writes[SAMPLED_WRITES];
    size_t reads, looks, first_looks[SAMPLED_WRITES]; /* where in a list the first one was */
};

static struct sampled s;
static int64_t sampled_us;

static int sampled_clock(struct timespec *now)
{
    *now = (struct timespec){.tv_sec = sampled_us / 1000000, .tv_nsec = sampled_us % 1000000 * 1000};
    return 0;
}

static void sampled_nap(uint64_t us)
{
    sampled_us += (int64_t)us;
}

static uint64_t sampled_read(uint64_t offset)
{
    struct sampled_moment now = s.script((uint64_t)sampled_us);
    if (offset == SAMPLED_PCSR) {
        s.reads++;
        return s.absent || (s.demcr & SAMPLED_TRCENA) == 0 ? 0 : now.pc;
    }
    if (offset == SAMPLED_DEMCR)
        return s.demcr;
    assert_int_equal(offset, SAMPLED_DHCSR);
    uint32_t value = now.dhcsr | s.reset_st;
    s.reset_st = 0;
    s.looks++;
    return value;
}

static bool sampled_fails(enum why *why, struct error *error)
{
    long number = s.accesses++;
    sampled_us += SAMPLED_ACCESS_US;
    if (number == s.reset_at) {
        s.reset_st = 1 << 25;
        s.demcr = 0;
    }
    if (s.trouble_at < 0 || number < s.trouble_at || number >= s.trouble_at + s.trouble_for)
        return false;
    *why = s.trouble;
    error_set(error, s.kind, "trouble");
    return true;
}

static struct outcome sampled_execute(struct link *link, const struct step *steps, size_t n,
                                      uint64_t *results, const struct deadline *deadline, struct error *error)
{
    bool looked = false;
    (void)link;
    (void)deadline;
    for (size_t i = 0; i < n; i++) {
        struct outcome outcome = {.done = i};
        if (sampled_fails(&outcome.why, error))
            return outcome;
        if (steps[i].op == OP_WRITE) {
            assert_in_range(s.n_writes, 0, SAMPLED_WRITES - 1);
            s.writes[s.n_writes++] = steps[i];
            assert_int_equal(steps[i].at.offset, SAMPLED_DEMCR); /* nothing else is written */
            s.demcr = (uint32_t)steps[i].value;
            continue;
        }
        assert_int_equal(steps[i].op, OP_READ);
        results[i] = sampled_read(steps[i].at.offset);
        if (!looked && n > PC_LOOK_WORDS && steps[i].at.offset == SAMPLED_DHCSR) {
            looked = true;
            s.first_looks[s.lists++ % SAMPLED_WRITES] = i;
        }
    }
    return (struct outcome){.why = DONE, .done = n};
}

static int sampled_set_up(void **state)
{
    static const struct link_ops ops = {.execute = sampled_execute};
    static const uint64_t m4[CORTEX_M_IDENTITY] = {0x410FC241, 0x260, 0x200};
    (void)state;
    sampled_us = 1000000;
    memset(&s, 0, sizeof s);
    s.link.ops = &ops;
    s.reset_at = s.trouble_at = -1;
    assert_true(cortex_m_identify(0, m4, &s.core.core));
    s.device = (struct device){.link = &s.link, .ledger = ledger_new(&s.link), .chosen = &s.core};
    s.deadline = deadline_in_ms(3600000, NULL);
    s.sampler.random = test_seed() | 1;
    return 0;
}

static int sampled_tear_down(void **state)
{
    (void)state;
    sampler_free(&s.sampler);
    profile_tally_free(&s.tally);
    ledger_free(s.device.ledger);
    return 0;
}

static bool sampled_begin(struct sampled_moment (*script)(uint64_t))
{
    bool hidden;
    s.script = script;
    return sampler_find(&s.sampler, &s.device, &hidden, &s.deadline, &s.error) && !hidden &&
           sampler_begin(&s.sampler, &s.deadline, &s.error);
}

/* Lists for N microseconds; false with the error. */
static bool sampled_run(int64_t us)
{
    int64_t end_us = sampled_us + us;
    while (sampled_us < end_us)
        if (!sampler_take(&s.sampler, 5000, &s.tally, &s.deadline, &s.error))
            return false;
    return true;
}

/* Everything so far, as one interval. */
static struct profile_interval sampled_end(void)
{
    struct profile_interval interval;
    sampler_end(&s.sampler, &s.tally, &s.deadline);
    sampler_settle(&s.sampler, &s.tally);
    assert_true(profile_tally_close(&s.tally, 1, &interval));
    return interval;
}

static uint64_t sampled_at(const struct profile_interval *interval, uint64_t address)
{
    for (size_t i = 0; i < interval->count_count; i++)
        if (interval->counts[i].address == address)
            return interval->counts[i].samples;
    return 0;
}

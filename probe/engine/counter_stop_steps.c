/* SPDX-License-Identifier: MIT */
#include "engine/counter_stop_steps.h"

#include "base/arm_debug.h"
#include "cores/architectures.h"
#include "cores/cortex_m.h"

#include <stdio.h>

enum { CHAIN = 0x1E, CYCLES_FLAG = 31, WORD_BITS = 32 };

/* The codes of DWT_FUNCTION0: CYCMATCH with a watchpoint debug event, DDI 0403 C1.8.17; on Armv8-M a match of
 * cycles with the action debug event, DDI 0553 D1.2, where ID says whether the comparator can do that. */
enum { V7_AT_CYCLES = 0x84, V8_AT_CYCLES = 0x11 };
enum { V8_MATCH_ACTION = 0x3F, V7_KIND = 0x1EF, V8_ID = 27, V8_ID_CYCLES = 1 << 0 };

static bool is_m(const struct counter_stop *stop)
{
    return core_has(stop->core, SYSTEM_SPACE);
}

bool counter_stop_is_by_core(const struct counter_stop *stop)
{
    return stop->counter.low.space == SPACE_CORE;
}

static struct address pmu_at(const struct counter_stop *stop, uint64_t offset)
{
    return stop->device->block->pmu.places->at(stop->core, offset);
}

const char *counter_stop_name(const struct counter_stop *stop)
{
    switch (stop->way) {
    case COUNTER_STOP_MATCH:
        return "DWT cycle match";
    case COUNTER_STOP_OVERFLOW:
        return "PMU overflow";
    case COUNTER_STOP_TRIGGER:
        return "PMU overflow over the cross trigger";
    }
    return "";
}

/* --- which counter -------------------------------------------------------------------------------------- */

static bool is_dwt(const struct counter_block *block)
{
    return block->kind == &dwt_kind;
}

static bool counts_for_itself(const struct counter_block *block, unsigned counter)
{
    unsigned flag = counter == 0 ? CYCLES_FLAG : counter - 1;
    return is_dwt(block) || (block->pmu.idle >> flag & 1) != 0;
}

static unsigned lowest(uint32_t set)
{
    unsigned n = 0;
    while (n < WORD_BITS && (set >> n & 1) == 0)
        n++;
    return n;
}

/* A counter of 16 bits is armed for more by the one above it, which counts its overflows. */
static size_t add_chained(const struct counter_block *block, struct counter_pick picks[2], uint64_t most,
                          struct error *error)
{
    unsigned counter = picks[0].counter;
    if (most <= counter_modulus(&block->counters[counter]) - 1)
        return 1;
    if (block->counters[counter].bits >= WORD_BITS || counter % 2 == 0 || counter + 1 >= block->n ||
        (block->pmu.free >> counter & 1) == 0) {
        error_advise(error, ERROR_NO_COUNTER, "", "counter %u of %s can be armed for %llu events at most",
                     counter, block->text,
                     (unsigned long long)(counter_modulus(&block->counters[counter]) - 1));
        return 0;
    }
    picks[1] = (struct counter_pick){.counter = (uint8_t)(counter + 1), .code = CHAIN};
    snprintf(picks[1].name, sizeof picks[1].name, "CHAIN");
    return 2;
}

size_t counter_stop_choose(const struct counter_block *block, const struct counter_pick *event, uint64_t most,
                           struct counter_pick picks[2], struct error *error)
{
    uint32_t able = block->kind->counters_for != NULL ? block->kind->counters_for(block, event->code) : 0;
    if (is_dwt(block))
        able &= 1;
    else if (block->pmu.places == NULL)
        able = 0;
    for (unsigned i = 0; i < block->n; i++)
        if (!counts_for_itself(block, i))
            able &= ~(UINT32_C(1) << i);
    bool is_long = !is_dwt(block) && able > 1 && pmu_keeps_long_events(&block->pmu);
    able &= is_long ? 1 : UINT32_MAX;
    if (able == 0) {
        error_advise(error, ERROR_NO_COUNTER, "", "no free counter of %s can stop the core at %s%s",
                     block->text, event->name,
                     is_long ? ": the program has events overflow from 64 bits (PMCR.LP)" : "");
        return 0;
    }
    picks[0] = *event;
    picks[0].counter = (uint8_t)lowest(able);
    return add_chained(block, picks, most, error);
}

/* --- the registers -------------------------------------------------------------------------------------- */

struct address counter_stop_function(const struct core *core)
{
    return core_word(core, DWT_FUNCTION0);
}

size_t counter_stop_settings(const struct counter_stop *stop, struct setting *out, size_t room)
{
    const struct core *core = stop->core;
    size_t n = 0;
    if (stop->way == COUNTER_STOP_MATCH) {
        const bool v8 = cortex_m_is_v8(core);
        const struct setting all[] = {
            {.at = core_word(core, DWT_COMP0), .always = true, .keep = UINT32_MAX},
            {.at = core_word(core, DWT_MASK0), .test = 0x1F, .restore = {.mask = 0x1F}},
            {.at = counter_stop_function(stop->core),
             .always = true,
             .restore = {.mask = v8 ? V8_MATCH_ACTION : V7_KIND, .only_ours = true}},
        };
        for (size_t i = 0; i < sizeof all / sizeof *all && n < room; i++)
            if (i != 1 || !v8)
                out[n++] = all[i];
        return n;
    }
    if (stop->way == COUNTER_STOP_TRIGGER)
        n = cross_trigger_settings(core, &stop->trigger, out, room);
    if (n < room)
        out[n++] = (struct setting){.at = pmu_at(stop, PMINTENSET),
                                    .always = true, /* with 0, which sets none */
                                    .restore = {.how = RESTORE_PAIR,
                                                .mask = stop->flag,
                                                .clear = pmu_at(stop, PMINTENCLR),
                                                .only_ours = true}};
    return n;
}

size_t counter_stop_commands(const struct counter_stop *stop, struct address *out, size_t room)
{
    size_t n = 0;
    if (stop->way != COUNTER_STOP_MATCH && n < room)
        out[n++] = pmu_at(stop, PMINTENCLR);
    if (stop->way != COUNTER_STOP_MATCH && n < room)
        out[n++] = pmu_at(stop, PMOVSCLR);
    if (stop->way == COUNTER_STOP_TRIGGER && n < room)
        out[n++] = core_cti(stop->core, CTIINTACK);
    return n;
}

bool counter_stop_can_match(const struct core *core, uint64_t function)
{
    return !cortex_m_is_v8(core) || (function >> V8_ID & V8_ID_CYCLES) != 0;
}

bool counter_stop_is_used(const struct core *core, uint64_t function)
{
    return (function & (cortex_m_is_v8(core) ? 0xF : 0x8F)) != 0;
}

/* --- steps ---------------------------------------------------------------------------------------------- */

/* By the halted core itself, where nothing else reaches the counters. */
static void add_writes(const struct counter_stop *stop, struct steps *list, const struct step *writes,
                       size_t n)
{
    size_t ignored[8];
    if (counter_stop_is_by_core(stop)) {
        core_add_coprocessor(stop->core, list, writes, n, NULL, ignored);
        return;
    }
    for (size_t i = 0; i < n; i++)
        steps_add(list, writes[i]);
}

/* Loads it so that it overflows after this number of events: its upper words are full. */
static size_t counter_load(const struct counter_stop *stop, uint64_t events, struct step *out)
{
    const struct counter *counter = &stop->counter;
    uint64_t value = -events;
    size_t n = 0;
    if (stop->chained.low.size != 0) {
        out[n++] = step_write(stop->chained.low, value >> counter->bits & 0xFFFF);
        out[n++] = step_write(counter->low, value & 0xFFFF);
        return n;
    }
    if (counter->high.size != 0)
        out[n++] = step_write(counter->high, UINT32_MAX);
    out[n++] = step_write(counter->low, value & (counter->bits < WORD_BITS ? 0xFFFF : UINT32_MAX));
    return n;
}

static void clear_cause(const struct counter_stop *stop, struct steps *list)
{
    if (is_m(stop))
        steps_add(list, step_write(core_word(stop->core, DFSR),
                                   stop->way == COUNTER_STOP_MATCH ? DFSR_ALL : DFSR_ALL | DFSR_PMU));
    if (stop->way == COUNTER_STOP_TRIGGER)
        cross_trigger_add_acknowledge(stop->core, list);
}

static void arm_match(const struct counter_stop *stop, struct steps *list, uint64_t events, uint64_t value)
{
    if (!stop->is_shared)
        steps_add(list, step_write(stop->counter.low, stop->base));
    steps_add(list, step_write(core_word(stop->core, DWT_COMP0),
                               ((stop->is_shared ? value : stop->base) + events) & UINT32_MAX));
    steps_add(list, step_write(counter_stop_function(stop->core),
                               cortex_m_is_v8(stop->core) ? V8_AT_CYCLES : V7_AT_CYCLES));
}

void counter_stop_add_arm(const struct counter_stop *stop, struct steps *list, uint64_t events,
                          uint64_t value)
{
    struct step writes[8];
    size_t n;
    if (stop->way == COUNTER_STOP_MATCH) {
        arm_match(stop, list, events, value);
    } else {
        n = counter_load(stop, events, writes);
        writes[n++] = step_write(pmu_at(stop, PMOVSCLR), stop->flag);
        writes[n++] = step_write(pmu_at(stop, PMINTENSET), stop->flag);
        add_writes(stop, list, writes, n);
    }
}

/* The overflow stays, and shows counter_stop_look that it occurred. */
void counter_stop_add_disarm(const struct counter_stop *stop, struct steps *list)
{
    const struct step quiet = step_write(stop->way == COUNTER_STOP_MATCH ? counter_stop_function(stop->core)
                                                                         : pmu_at(stop, PMINTENCLR),
                                         stop->way == COUNTER_STOP_MATCH ? 0 : stop->flag);
    add_writes(stop, list, &quiet, 1);
}

void counter_stop_add_halt(const struct counter_stop *stop, struct steps *list)
{
    if (!counter_stop_is_by_core(stop))
        counter_stop_add_disarm(stop, list);
    core_add_halt(stop->core, list);
    core_add_ready(stop->core, list);
    if (counter_stop_is_by_core(stop))
        counter_stop_add_disarm(stop, list);
}

/* What stands for the stop in DFSR stays, too. */
void counter_stop_add_stay(const struct counter_stop *stop, struct steps *list)
{
    counter_stop_add_disarm(stop, list);
    if (stop->way == COUNTER_STOP_TRIGGER)
        cross_trigger_add_acknowledge(stop->core, list);
    if (stop->way == COUNTER_STOP_OVERFLOW)
        core_add_halt(stop->core, list);
}

/* A halt request is acknowledged once its cause is gone, with which it would stay. */
void counter_stop_add_run(const struct counter_stop *stop, struct steps *list)
{
    clear_cause(stop, list);
    if (stop->way == COUNTER_STOP_OVERFLOW)
        steps_add(list, step_marked(MARK_RUNS, step_write(core_word(stop->core, DHCSR),
                                                          DHCSR_KEY | DHCSR_C_DEBUGEN | DHCSR_C_PMOV)));
    else
        core_add_run(stop->core, list);
}

/* One read each time, so that little time passes between two of them. */
void counter_stop_add_wait(const struct counter_stop *stop, struct steps *list)
{
    uint64_t bit = stop->way == COUNTER_STOP_MATCH ? DFSR_DWTTRAP : DFSR_PMU;
    if (is_m(stop)) /* the status may still show the stop before */
        steps_add(list, step_until(core_cause_register(stop->core), bit, bit));
    else
        core_add_wait_halt(stop->core, list);
}

/* --- a look --------------------------------------------------------------------------------------------- */

enum { LOOK_TARGET, LOOK_FLAGS = LOOK_TARGET, LOOK_VALUE, LOOK_UPPER, LOOK_MATCHED = LOOK_UPPER, LOOK_WORDS };

static size_t look_reads(const struct counter_stop *stop, struct step *out)
{
    out[LOOK_TARGET] = step_read(stop->way == COUNTER_STOP_MATCH ? core_word(stop->core, DWT_COMP0)
                                                                 : pmu_at(stop, PMOVSCLR));
    out[LOOK_VALUE] = step_read(stop->counter.low);
    if (stop->way == COUNTER_STOP_MATCH) {
        out[LOOK_MATCHED] = step_read(counter_stop_function(stop->core));
        return LOOK_WORDS;
    }
    if (stop->chained.low.size == 0)
        return LOOK_UPPER;
    out[LOOK_UPPER] = step_read(stop->chained.low);
    return LOOK_WORDS;
}

static void add_look_reads(const struct counter_stop *stop, struct steps *list, size_t at[LOOK_WORDS])
{
    struct step reads[LOOK_WORDS];
    size_t n = look_reads(stop, reads);
    if (counter_stop_is_by_core(stop)) {
        core_add_coprocessor(stop->core, list, reads, n, NULL, at);
        return;
    }
    for (size_t i = 0; i < n; i++)
        at[i] = steps_add(list, reads[i]);
}

struct counter_stop_places counter_stop_add_look(const struct counter_stop *stop, struct steps *list)
{
    struct counter_stop_places at = {.cause = core_add_cause(stop->core, list)};
    at.reset = core_add_reset_seen(stop->core, list);
    add_look_reads(stop, list, at.words);
    return at;
}

static bool cause_is_ours(const struct counter_stop *stop, uint64_t cause)
{
    const uint64_t others = DFSR_HALTED | DFSR_BKPT | DFSR_VCATCH | DFSR_EXTERNAL;
    switch (stop->way) {
    case COUNTER_STOP_MATCH:
        return (cause & (others | DFSR_PMU | DFSR_DWTTRAP)) == DFSR_DWTTRAP;
    case COUNTER_STOP_OVERFLOW:
        return (cause & (others | DFSR_PMU | DFSR_DWTTRAP)) == DFSR_PMU;
    case COUNTER_STOP_TRIGGER:
        return core_stopped_by_trigger(stop->core, cause);
    }
    return false;
}

struct counter_stop_look counter_stop_look(struct counter_stop *stop, const uint64_t *results,
                                           const struct counter_stop_places *at)
{
    struct counter_stop_look look = {.value = results[at->words[LOOK_VALUE]], .cause = results[at->cause]};
    look.was_reset = core_reset_seen(stop->core, results[at->reset]);
    if (stop->chained.low.size != 0)
        look.value |= results[at->words[LOOK_UPPER]] << stop->counter.bits;
    if (stop->way == COUNTER_STOP_MATCH) {
        uint32_t past = (uint32_t)(look.value - results[at->words[LOOK_TARGET]]);
        look.has_come = past >> (WORD_BITS - 1) == 0;
        look.late = look.has_come ? past : 0;
    } else {
        look.has_come = (results[at->words[LOOK_FLAGS]] & stop->flag) != 0;
        look.late = look.has_come ? look.value : 0;
    }
    bool matched = stop->way == COUNTER_STOP_MATCH && watchpoints_matched(results[at->words[LOOK_MATCHED]]);
    bool may_be_ours = !look.was_reset && cause_is_ours(stop, look.cause);
    /* Armed, it is less than 0 */
    look.was_taken = stop->way == COUNTER_STOP_TRIGGER && may_be_ours && !look.has_come &&
                     (look.value >> (WORD_BITS - 1) & 1) == 0;
    look.is_ours = may_be_ours && (look.has_come || matched || look.was_taken);
    look.was_written = look.is_ours && !look.has_come && !look.was_taken;
    if (look.is_ours && look.late > stop->late)
        stop->late = look.late;
    return look;
}

/* SPDX-License-Identifier: MIT */
#include "knc/knc.h"

#include "counters/counter.h"

#include <stdio.h>
#include <string.h>

/*
 * Cores without their own run control: threads of a Knights Corner, and programs on x86-64.
 */

enum { TSC = 0x10 };

static struct address knc_msr(const struct core *core, uint64_t number)
{
    return (struct address){.space = SPACE_MSR, .size = 8, .unit = core->unit, .offset = number};
}

static struct address status_register(const struct core *core)
{
    return knc_msr(core, TSC);
}

/* A thread that answers runs. No register says whether it sleeps. */
static enum core_state knc_core_state_of(const struct core *core, uint64_t value)
{
    (void)core;
    (void)value;
    return CORE_RUNNING;
}

static const char *const register_names[] = {
    [CORE_PC] = "rip", [CORE_SP] = "rsp", [CORE_LR] = "", [CORE_PSP] = "", [CORE_STATUS] = "eflags"};

const struct core_ops knc_ops = {.traits = HIDES | MODEL_SPECIFIC,
                                 .fastest_hz = 5e9,
                                 .register_names = register_names,
                                 .state = &(const struct core_state_ops){.status_register = status_register,
                                                                         .state_of = knc_core_state_of}};

void knc_describe(uint16_t cpu, struct core *out)
{
    *out = (struct core){.ops = &knc_ops, .unit = cpu, .numbered_by_unit = true, .memory_hidden = true};
    snprintf(out->name, sizeof out->name, "Knights Corner");
}

enum { RETURN_ADDRESS = 8 }; /* bytes that CALL pushes: Intel SDM volume 1, 6.4.1 */

/* At a function's entry only the stack holds the return address. */
static bool knc_core_returns_by_frame(const struct core *core, uint64_t lr)
{
    (void)core;
    (void)lr;
    return true;
}

static struct return_place frame_return(const struct core *core, uint64_t sp, const uint64_t *words)
{
    (void)core;
    return (struct return_place){.pc = (words[0] & UINT32_MAX) | words[1] << 32, .sp = sp + RETURN_ADDRESS};
}

const struct core_ops x86_64_ops = {.traits = HIDES | PROGRAM_ONLY,
                                    .fastest_hz = 5e9,
                                    .register_names = register_names,
                                    .returns = &(const struct core_return_ops){
                                        .by_frame = knc_core_returns_by_frame, .frame_return = frame_return}};

void x86_64_describe(uint16_t unit, struct core *out)
{
    *out = (struct core){
        .ops = &x86_64_ops, .unit = unit, .memory_unit = unit, .unstoppable = "a debugger does that"};
    snprintf(out->name, sizeof out->name, "x86-64");
}

/* ---- counters */

/* 327357 1.3 */
enum {
    PERF_CNTR = 0x20,
    PERF_EVT_SEL = 0x28,
    SPFLT_CONTROL = 0x2C,
    GLOBAL_STATUS = 0x2D,
    GLOBAL_OVF_CTRL = 0x2E, /* not to be read */
    GLOBAL_CTRL = 0x2F
};
enum { COUNTERS = 2, COUNTER_BITS = 40, TSC_BITS = 64 };
enum { FIRST = 1 << 1, BOTH = FIRST | 1 << 2 }; /* counters of a block, after the TSC */
/* one per element of a vector, in all threads of the core */
enum { EVENTS_A_CYCLE = 16 * KNC_THREADS };
enum { UNHALTED = 0x2A, L2_MASK = 0x10, CODE_BITS = 0xFFFF };

/* Bits of an event's code above event and unit mask (15:0), as in the event select registers, 327357 1.3.2;
 * SPFLT is our own. */
enum {
    KNC_USER = 1 << 16,
    KNC_KERNEL = 1 << 17,
    KNC_EDGE = 1 << 18,
    KNC_SPFLT = 1 << 19, /* reserved there; counts only while the program enables it by SPFLT */
    KNC_ENABLE = 1 << 22,
    KNC_ANY = 1 << 21,
    KNC_INVERT = 1 << 23,
    KNC_CMASK_SHIFT = 24,
};

enum { SELECT_0, SELECT_1, CONTROL, READS };

static void knc_counters_add_identity(const struct core *core, struct steps *list)
{
    if (!core_has(core, MODEL_SPECIFIC))
        return;
    steps_add(list, step_read(knc_msr(core, PERF_EVT_SEL)));
    steps_add(list, step_read(knc_msr(core, PERF_EVT_SEL + 1)));
    steps_add(list, step_read(knc_msr(core, GLOBAL_CTRL)));
}

/* Bits stand for counters: 0 and 1. */
static void knc_counters_add_state(const uint64_t *values, struct counter_block *out)
{
    uint32_t on = (uint32_t)values[CONTROL] & ((1 << COUNTERS) - 1);
    for (unsigned i = 0; i < COUNTERS; i++)
        if ((values[SELECT_0 + i] & KNC_ENABLE) != 0)
            out->pmu.enabled |= on & 1U << i;
    out->pmu.n = COUNTERS;
    out->pmu.idle = out->pmu.free = ~out->pmu.enabled & ((1 << COUNTERS) - 1);
    static const char *const states[1 << COUNTERS] = {"free", "in use: 0", "in use: 1", "in use: 0, 1"};
    snprintf(out->state, sizeof out->state, "%s", states[out->pmu.enabled]);
}

static void knc_counters_add_counters(const struct core *core, struct counter_block *out)
{
    out->counters[0] =
        (struct counter){.name = "TSC", .low = knc_msr(core, TSC), .bits = TSC_BITS, .per_cycle = 1};
    for (unsigned i = 0; i < COUNTERS; i++)
        out->counters[i + 1] = (struct counter){
            .low = knc_msr(core, PERF_CNTR + i), .bits = COUNTER_BITS, .per_cycle = EVENTS_A_CYCLE};
    out->n = COUNTERS + 1;
}

/* Counting changes the values of idle counters and sets their overflow flags. Both are restored after the
 * counters have been stopped. */
static void add_settings(const struct core *core, struct counter_block *out)
{
    uint32_t idle = out->pmu.idle;
    for (unsigned i = 0; i < COUNTERS; i++)
        if ((idle >> i & 1) != 0)
            out->settings[out->n_settings++] = (struct setting){
                .at = knc_msr(core, PERF_CNTR + i), .only_held = true, .restore = {.moves = true}};
    if (idle != 0)
        out->settings[out->n_settings++] = (struct setting){
            .at = knc_msr(core, GLOBAL_STATUS),
            .only_held = true,
            .restore = {.how = RESTORE_CLEAR_NEW, .mask = idle, .clear = knc_msr(core, GLOBAL_OVF_CTRL)}};
}

static bool knc_counters_identify(const struct core *core, const uint64_t *values, struct counter_block *out)
{
    if (!core_has(core, MODEL_SPECIFIC))
        return false;
    *out = (struct counter_block){.kind = &knc_kind, .events = "knc", .counts_cycles = true};
    snprintf(out->text, sizeof out->text, "PMU, %d counters of %d bits", COUNTERS, COUNTER_BITS);
    knc_counters_add_state(values, out);
    knc_counters_add_counters(core, out);
    add_settings(core, out);
    return true;
}

static uint64_t selection(uint32_t code)
{
    uint32_t rings = KNC_USER | KNC_KERNEL;
    uint32_t value = (code & ~(uint32_t)KNC_SPFLT) | KNC_ENABLE;
    return (code & rings) != 0 ? value : value | rings;
}

/* In registers that all counters share, only our counters' bits are written and restored. */
static struct setting shared(const struct core *core, uint64_t number, const struct counter_block *block,
                             uint32_t which, uint32_t set)
{
    return (struct setting){.at = knc_msr(core, number),
                            .test = which,
                            .set = set,
                            .keep = ~(uint64_t)which,
                            .restore = {.how = RESTORE_BITS, .mask = block->pmu.idle}};
}

static size_t knc_counters_program(const struct core *core, const struct counter_block *block,
                                   const struct counter_pick *picks, size_t n, struct setting *out,
                                   size_t room)
{
    uint32_t started = 0, by_program = 0;
    size_t count = 0;
    for (size_t i = 0; i < n && count + 2 < room; i++) {
        if (picks[i].counter == 0)
            continue;
        unsigned counter = picks[i].counter - 1U;
        started |= 1U << counter;
        by_program |= (picks[i].code & KNC_SPFLT) != 0 ? 1U << counter : 0;
        out[count++] = (struct setting){
            .at = knc_msr(core, PERF_EVT_SEL + counter), .test = UINT32_MAX, .set = selection(picks[i].code)};
    }
    if (started == 0)
        return 0;
    out[count++] = shared(core, SPFLT_CONTROL, block, started, by_program);
    out[count++] = shared(core, GLOBAL_CTRL, block, started, started);
    return count;
}

/* Events of unit mask 0x10 are counted by counter 0 alone, but for two: libpfm4 and Linux say so. Linux adds
 * four events that no document lists. */
static bool is_of_counter_0(uint32_t code)
{
    unsigned event = code & 0xFF;
    if (event == 0xC3 || event == 0xC4 || event == 0xCE || event == 0xCF)
        return true;
    return (code >> 8 & 0xFF) == L2_MASK && event != 0xF0 && event != 0xF5;
}

/* CPU_CLK_UNHALTED is one value a core (VTune's reference of Knights Corner's events); what a thread's filter
 * leaves of it, no document says. */
static enum count_owner knc_counters_owner(uint32_t code)
{
    if ((code & KNC_ANY) != 0)
        return COUNT_OF_CORE;
    if ((code & CODE_BITS) != UNHALTED)
        return COUNT_OF_THREAD;
    return (code & (KNC_USER | KNC_KERNEL | KNC_SPFLT)) == 0 ? COUNT_OF_CORE : COUNT_OF_SOME_OF_CORE;
}

static uint32_t knc_counters_counters_for(const struct counter_block *block, uint32_t code)
{
    return (is_of_counter_0(code) ? FIRST : BOTH) & block->pmu.free << 1;
}

/* --- what may follow an event's name -------------------------------------------------------------------- */

/* u, k: user mode, kernel mode, by default both; any: all threads of the core; cmask=N: cycles with N events
 * or more; inv: cycles with less. */
static const struct word {
    const char *name;
    uint32_t bit;
} words[] = {
    {"u", KNC_USER},  {"k", KNC_KERNEL},   {"edge", KNC_EDGE},
    {"any", KNC_ANY}, {"inv", KNC_INVERT}, {"spflt", KNC_SPFLT},
};
static const char CMASK[] = "cmask=";
enum { MOST_CMASK = 255, CMASK_LENGTH = sizeof CMASK - 1 };

/* 1 to 255 in decimal, 0 for anything else. */
static uint32_t read_cmask(const char *text, size_t n)
{
    uint32_t value = 0;
    for (size_t i = 0; i < n; i++) {
        if (text[i] < '0' || text[i] > '9' || value > MOST_CMASK)
            return 0;
        value = value * 10 + (uint32_t)(text[i] - '0');
    }
    return value <= MOST_CMASK ? value : 0;
}

static bool knc_read_word(const char *text, size_t n, uint32_t *code, struct error *error)
{
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i].name) == n && strncasecmp(words[i].name, text, n) == 0) {
            if ((*code & words[i].bit) != 0)
                return error_set(error, ERROR_USAGE, "-e: \":%s\" is given twice", words[i].name);
            *code |= words[i].bit;
            return true;
        }
    if (n < CMASK_LENGTH || strncasecmp(text, CMASK, CMASK_LENGTH) != 0)
        return error_set(error, ERROR_USAGE,
                         "-e: \":%.*s\" is not one of :u :k :edge :any :cmask=N :inv :spflt",
                         (int)(n < 40 ? n : 40), text);
    uint32_t value = read_cmask(text + CMASK_LENGTH, n - CMASK_LENGTH);
    if (value == 0)
        return error_set(error, ERROR_USAGE, "-e: cmask= takes 1 to %d", MOST_CMASK);
    if (*code >> KNC_CMASK_SHIFT != 0)
        return error_set(error, ERROR_USAGE, "-e: \":cmask\" is given twice");
    *code |= value << KNC_CMASK_SHIFT;
    return true;
}

/* "cmask=2:inv:u", as it follows an event's name. */
static bool read_modifiers(const char *text, uint32_t *code, struct error *error)
{
    uint32_t result = *code;
    for (const char *at = text;; at++) {
        size_t n = strcspn(at, ":");
        if (!knc_read_word(at, n, &result, error))
            return false;
        at += n;
        if (*at == '\0')
            break;
    }
    if ((result & KNC_INVERT) != 0 && result >> KNC_CMASK_SHIFT == 0)
        return error_set(error, ERROR_USAGE,
                         "-e: inv needs cmask=N, too: it counts the cycles with less than N");
    *code = result;
    return true;
}

static bool modify(const char *text, uint32_t *code, struct error *error)
{
    if (*code > CODE_BITS)
        return error_set(error, ERROR_USAGE, "-e: 0x%X: a code holds an event and a unit mask, up to 0x%X",
                         (unsigned)*code, (unsigned)CODE_BITS);
    return text == NULL || read_modifiers(text, code, error);
}

const struct block_kind knc_kind = {.name = "pmu",
                                    .add_identity = knc_counters_add_identity,
                                    .identify = knc_counters_identify,
                                    .own_cycles = "CPU_CLK_UNHALTED:u",
                                    .program = knc_counters_program,
                                    .counters_for = knc_counters_counters_for,
                                    .owner = knc_counters_owner,
                                    .modify = modify};

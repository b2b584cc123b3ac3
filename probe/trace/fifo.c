/* SPDX-License-Identifier: MIT */
/*
 * The trace FIFO of an RP2350: eight words, which a debugger reads like any memory. RP2350 datasheet, 3.5
 * and the registers of CORESIGHT_TRACE. Nothing says when it is empty, but no packet that is switched on
 * makes a word of zeros, which is what an empty one gives; where it gives something else, no word is trace.
 */
#include "base/arm_debug.h"
#include "trace/trace.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    RP2350_FUNNEL = 0x40147000,
    RP2350_TPIU = 0x40148000,
    RP2350_FIFO_STATUS = 0x50700000,
    RP2350_FIFO = 0x50700004,
    FIFO_FLUSH = 1 << 0,
    FIFO_OVERFLOW = 1 << 1,
};

/* A list has FIFO_LOOKS groups of reads: the FIFO's status after each group says whether words were lost in
 * it. Within a list there is no pause. */
enum { FIFO_LOOK = 16, FIFO_LOOKS = 24, FIFO_STEPS = FIFO_LOOKS * (FIFO_LOOK + 2) };
static const uint64_t WIDE_PORT = UINT64_C(1) << 31;

static struct address fifo_word(const struct trace *trace, uint64_t offset)
{
    return core_word(&trace->device->chosen->core, offset);
}

static bool fifo_find(struct trace *trace, char *where, const struct deadline *deadline)
{
    struct error unread = {0};
    uint64_t id;
    const struct address at = {.space = SPACE_DP, .size = 4, .offset = DP_TARGETID};
    snprintf(where, sizeof trace->where, "the trace FIFO of the RP2350");
    return ledger_read(trace->device->ledger, at, &id, deadline, &unread) && targetid_is_rp2350(id);
}

static struct setting fifo_lock(const struct trace *trace, uint64_t base)
{
    return core_open_lock(fifo_word(trace, base + CORESIGHT_LAR), fifo_word(trace, base + CORESIGHT_LSR));
}

static bool fifo_check_empty(struct trace *trace, const struct deadline *deadline, struct error *error)
{
    for (unsigned i = 0; i < 3; i++) {
        uint64_t word;
        if (!ledger_read(trace->device->ledger, fifo_word(trace, RP2350_FIFO), &word, deadline, error))
            return false;
        if (word != 0)
            return error_set(error, ERROR_NO_COUNTER,
                             "the empty trace FIFO gives 0x%08llX, which trace may be, too",
                             (unsigned long long)word);
    }
    return true;
}

static void fifo_make_steps(struct trace *trace, struct steps *list)
{
    for (unsigned i = 0; i < FIFO_LOOKS; i++) {
        for (unsigned k = 0; k < FIFO_LOOK; k++)
            steps_add(list, step_read(fifo_word(trace, RP2350_FIFO)));
        steps_add(list, step_read(fifo_word(trace, RP2350_FIFO_STATUS)));
        steps_add(list, step_write(fifo_word(trace, RP2350_FIFO_STATUS), FIFO_OVERFLOW));
    }
}

static bool fifo_open(struct trace *trace, const struct deadline *deadline, struct error *error)
{
    const struct device *device = trace->device;
    const uint64_t input = UINT64_C(1) << (device->chosen - device->cores);
    const struct setting settings[] = {
        fifo_lock(trace, RP2350_TPIU),
        fifo_lock(trace, RP2350_FUNNEL),
        {.at = fifo_word(trace, RP2350_FIFO_STATUS),
         .set = FIFO_FLUSH | FIFO_OVERFLOW,
         .always = true,
         .restore = {.mask = FIFO_FLUSH}},
        {.at = fifo_word(trace, RP2350_TPIU + TPIU_CSPSR), .test = UINT32_MAX, .set = WIDE_PORT},
        {.at = fifo_word(trace, RP2350_TPIU + TPIU_FFCR), .test = 3, .set = TPIU_FFCR_TRIGIN, .always = true},
        {.at = fifo_word(trace, RP2350_FUNNEL + FUNNEL_CTRL),
         .test = FUNNEL_INPUTS,
         .keep = ~(uint64_t)FUNNEL_INPUTS,
         .set = input}};
    trace->steps = calloc(FIFO_STEPS, sizeof *trace->steps);
    trace->words = calloc(FIFO_STEPS, sizeof *trace->words);
    if (trace->steps == NULL || trace->words == NULL)
        return error_memory(error);
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        if (!trace_set(trace, settings[i], deadline, error))
            return false;
    const struct setting go = {.at = fifo_word(trace, RP2350_FIFO_STATUS), .test = FIFO_FLUSH};
    return fifo_check_empty(trace, deadline, error) && trace_set(trace, go, deadline, error);
}

static bool fifo_read(struct trace *trace, const struct deadline *deadline, struct error *error)
{
    struct steps list = {.items = trace->steps, .room = FIFO_STEPS};
    bool wide = false;
    if (list.n == 0)
        fifo_make_steps(trace, &list);
    if (!ledger_run(trace->device->ledger, &list, trace->words, deadline, error))
        return false;
    for (unsigned i = 0; i < FIFO_LOOKS; i++) {
        const uint64_t *words = trace->words + (size_t)i * (FIFO_LOOK + 2);
        for (unsigned k = 0; k < FIFO_LOOK; k++) {
            const uint8_t bytes[] = {(uint8_t)words[k], (uint8_t)(words[k] >> 8), (uint8_t)(words[k] >> 16),
                                     (uint8_t)(words[k] >> 24)};
            wide = wide || words[k] > UINT8_MAX;
            if (words[k] != 0)
                trace_give(trace, bytes, sizeof bytes);
        }
        if ((words[FIFO_LOOK] & FIFO_OVERFLOW) != 0)
            trace_lose(trace);
    }
    (void)wide;
    return true;
}

static void fifo_close(struct trace *trace, const struct deadline *deadline)
{
    struct error ignored = {0};
    (void)ledger_release(trace->device->ledger, fifo_word(trace, RP2350_FIFO_STATUS), deadline, &ignored);
}

const struct trace_sink trace_fifo = {
    .name = "fifo", .find = fifo_find, .open = fifo_open, .read = fifo_read, .close = fifo_close};

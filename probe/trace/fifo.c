/* SPDX-License-Identifier: MIT */
/*
 * The trace FIFO of an RP2350: eight words, which a debugger reads like any memory. RP2350 datasheet, 3.5
 * and the registers of CORESIGHT_TRACE. Nothing says when it is empty: it gives a word of zeros then, and
 * where it gives something else, no word is trace. Of the packets that are switched on, only data makes such
 * a word, of four bytes of 0: the bytes around it decide whether it was data.
 *
 * "ram": a DMA channel empties the FIFO into a buffer that the user gives, a ring from which the words are
 * read. Datasheet, 12.6. The channel counts its transfers, so that an overrun is seen.
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
    RP2350_MAY_TRACE = 0x40060058, /* ACCESSCTRL_CORESIGHT_TRACE: who may read the FIFO */
    RP2350_DMA = 0x50000000,
    RP2350_DMA_ABORT = 0x50000464,
    RP2350_CPUID = 0xD0000000, /* SIO: which of the two cores reads it */
    RP2350_CORES = 2,
    FIFO_FLUSH = 1 << 0,
    FIFO_OVERFLOW = 1 << 1,
    MAY_DMA = 1 << 6,
};
/* A channel's registers, and bits of its CTRL */
enum { DMA_CHANNELS = 16, DMA_STRIDE = 0x40, DMA_READ = 0, DMA_WRITE = 4, DMA_COUNT = 8, DMA_CTRL = 12 };
enum {
    DMA_ON = 1 << 0,
    DMA_FIRST = 1 << 1, /* HIGH_PRIORITY */
    DMA_WORDS = 2 << 2,
    DMA_TO_NEXT = 1 << 6, /* INCR_WRITE */
    DMA_RING_AT = 8,      /* RING_SIZE: the ring has 2^n bytes */
    DMA_RING_WRITE = 1 << 12,
    DMA_CHAIN_AT = 13,       /* CHAIN_TO itself: to none */
    DMA_BY_TRACE = 53 << 17, /* TREQ_SEL: DREQ_CORESIGHT */
    DMA_QUIET = 1 << 23,
    DMA_STATE = 1 << 26, /* BUSY, and above it errors */
};
static const uint32_t dma_turn = 0x0FFFFFFF, dma_begins_again = UINT32_C(1) << 28, /* TRANS_COUNT */
    may_key = 0xACCE0000;

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

/* Each core has two inputs of the funnel, its ITM's and above it its ETM's:
 * github.com/czietz/etm-trace-rp2350 opens 1 for core 0's ETM and 3 for core 1's. That core 1's ITM is 2
 * follows from that. */
static bool fifo_find_input(const struct trace *trace, uint64_t *input, const struct deadline *deadline,
                            struct error *error)
{
    enum { INPUTS_OF_CORE = 2 };
    uint64_t core;
    if (!ledger_read(trace->device->ledger, fifo_word(trace, RP2350_CPUID), &core, deadline, error))
        return false;
    if (core >= RP2350_CORES)
        return error_set(error, ERROR_NO_COUNTER,
                         "this RP2350 does not say which core it is (CPUID of SIO is 0x%08llX)",
                         (unsigned long long)core);
    *input = UINT64_C(1) << INPUTS_OF_CORE * core;
    return true;
}

/* FFSR until the flush is over and the formatter is stopped. A stopped one is what the manual asks for before
 * FFCR changes; on silicon a script is known that waits for the flush alone, so after some time that is
 * enough. */
static bool fifo_await_stop(struct trace *trace, const struct deadline *deadline, struct error *error)
{
    enum { LOOKS = 64 };
    uint64_t state = TPIU_FLUSHES;
    for (unsigned i = 0; i < LOOKS && (state & (TPIU_STOPPED | TPIU_STOPS_NEVER)) == 0; i++)
        if (!ledger_read(trace->device->ledger, fifo_word(trace, RP2350_TPIU + TPIU_FFSR), &state, deadline,
                         error))
            return false;
    return (state & TPIU_FLUSHES) == 0 ||
           error_set(error, ERROR_NO_COUNTER, "the trace port's flush does not end (TPIU_FFSR 0x%llX)",
                     (unsigned long long)state);
}

/* DDI 0480G 3.13.10: the formatter's bits may change only while it is stopped, and so may the port's width.
 */
static bool fifo_stop_port(struct trace *trace, const struct deadline *deadline, struct error *error)
{
    const struct setting stop = {.at = fifo_word(trace, RP2350_TPIU + TPIU_FFCR),
                                 .keep = TPIU_FFCR_FORMATS,
                                 .set = TPIU_FFCR_STOPS | TPIU_FFCR_FLUSH,
                                 .always = true,
                                 .restore = {.mask = ~(uint64_t)TPIU_FFCR_FLUSH}};
    return trace_set(trace, stop, deadline, error) && fifo_await_stop(trace, deadline, error);
}

static bool fifo_open(struct trace *trace, const struct deadline *deadline, struct error *error)
{
    uint64_t input = 0;
    if (!fifo_find_input(trace, &input, deadline, error))
        return false;
    const struct setting before[] = {fifo_lock(trace, RP2350_TPIU),
                                     fifo_lock(trace, RP2350_FUNNEL),
                                     {.at = fifo_word(trace, RP2350_FIFO_STATUS),
                                      .set = FIFO_FLUSH | FIFO_OVERFLOW,
                                      .always = true,
                                      .restore = {.mask = FIFO_FLUSH}}};
    const struct setting settings[] = {
        {.at = fifo_word(trace, RP2350_TPIU + TPIU_CSPSR), .test = UINT32_MAX, .set = WIDE_PORT},
        {.at = fifo_word(trace, RP2350_TPIU + TPIU_FFCR),
         .test = TPIU_FFCR_FORMATS,
         .set = TPIU_FFCR_TRIGIN,
         .always = true},
        {.at = fifo_word(trace, RP2350_FUNNEL + FUNNEL_CTRL),
         .test = FUNNEL_INPUTS,
         .keep = ~(uint64_t)FUNNEL_INPUTS,
         .set = input,
         .watched = "the trace funnel"}};
    trace->steps = calloc(FIFO_STEPS, sizeof *trace->steps);
    trace->words = calloc(FIFO_STEPS, sizeof *trace->words);
    if (trace->steps == NULL || trace->words == NULL)
        return error_memory(error);
    if (!trace_set_each(trace, before, sizeof before / sizeof *before, deadline, error) ||
        !fifo_stop_port(trace, deadline, error) ||
        !trace_set_each(trace, settings, sizeof settings / sizeof *settings, deadline, error))
        return false;
    const struct setting go = {.at = fifo_word(trace, RP2350_FIFO_STATUS), .test = FIFO_FLUSH};
    return fifo_check_empty(trace, deadline, error) && trace_set(trace, go, deadline, error);
}

static void fifo_give(struct trace *trace, uint64_t word)
{
    const uint8_t zeros[4] = {0}, bytes[] = {(uint8_t)word, (uint8_t)(word >> 8), (uint8_t)(word >> 16),
                                             (uint8_t)(word >> 24)};
    if (word != 0 && trace->was_zero && trace_moments_lack_zeros(&trace->moments, bytes, sizeof bytes))
        trace_give(trace, zeros, sizeof zeros);
    if (word != 0)
        trace_give(trace, bytes, sizeof bytes);
    trace->was_zero = word == 0;
}

static bool fifo_read(struct trace *trace, const struct deadline *deadline, struct error *error)
{
    struct steps list = {.items = trace->steps, .room = FIFO_STEPS};
    fifo_make_steps(trace, &list);
    if (!ledger_run(trace->device->ledger, &list, trace->words, deadline, error))
        return false;
    for (unsigned i = 0; i < FIFO_LOOKS; i++) {
        const uint64_t *words = trace->words + (size_t)i * (FIFO_LOOK + 2);
        for (unsigned k = 0; k < FIFO_LOOK; k++)
            fifo_give(trace, words[k]);
        if ((words[FIFO_LOOK] & FIFO_OVERFLOW) != 0) /* between two of these, or of the eight that follow */
            trace_lose(trace);
    }
    return true;
}

/* ---- through RAM */

static bool ring_find(struct trace *trace, char *where, const struct deadline *deadline)
{
    return trace->request->ring_bytes > 0 && fifo_find(trace, where, deadline);
}

static uint64_t dma_register(const struct trace *trace, uint64_t offset)
{
    return RP2350_DMA + DMA_STRIDE * (uint64_t)trace->ring.channel + offset;
}

/* One that the program has never set: the last of them, as programs take the first ones. */
static bool dma_find_channel(struct trace *trace, const struct deadline *deadline, struct error *error)
{
    for (unsigned n = DMA_CHANNELS; n-- > 0;) {
        uint64_t all = 0, word;
        trace->ring.channel = n;
        for (uint64_t offset = DMA_READ; offset <= DMA_CTRL; offset += 4) {
            if (!ledger_read(trace->device->ledger, fifo_word(trace, dma_register(trace, offset)), &word,
                             deadline, error))
                return false;
            all |= word;
        }
        if (all == 0)
            return true;
    }
    return error_advise(error, ERROR_NO_COUNTER, "Without --trace-ram no channel is needed.",
                        "the program uses all %d DMA channels", DMA_CHANNELS);
}

static uint32_t ring_control(const struct trace *trace)
{
    return DMA_ON | DMA_FIRST | DMA_WORDS | DMA_TO_NEXT |
           (uint32_t)__builtin_ctz(trace->request->ring_bytes) << DMA_RING_AT | DMA_RING_WRITE |
           trace->ring.channel << DMA_CHAIN_AT | DMA_BY_TRACE | DMA_QUIET;
}

static bool ring_open(struct trace *trace, const struct deadline *deadline, struct error *error)
{
    const uint64_t base = trace->request->ring_base;
    if (!dma_find_channel(trace, deadline, error))
        return false;
    const struct setting settings[] = {
        {.at = fifo_word(trace, RP2350_MAY_TRACE),
         .test = MAY_DMA,
         .keep = UINT8_MAX,
         .set = MAY_DMA,
         .key = may_key,
         .restore = {.mask = UINT8_MAX, .key = may_key}},
        {.at = fifo_word(trace, dma_register(trace, DMA_READ)), .set = RP2350_FIFO, .always = true},
        {.at = fifo_word(trace, dma_register(trace, DMA_WRITE)),
         .set = base,
         .always = true,
         .restore = {.moves = true}},
        {.at = fifo_word(trace, dma_register(trace, DMA_COUNT)),
         .set = dma_begins_again | dma_turn,
         .always = true,
         .restore = {.moves = true}},
        /* At the end CTRL switches it off, and this ends what was under way */
        {.at = fifo_word(trace, RP2350_DMA_ABORT),
         .set = UINT64_C(1) << trace->ring.channel,
         .always = true,
         .restore = {.key = UINT64_C(1) << trace->ring.channel, .moves = true}},
        {.at = fifo_word(trace, dma_register(trace, DMA_CTRL)),
         .set = ring_control(trace),
         .always = true,
         .restore = {.mask = DMA_STATE - 1}}};
    if (!trace_set_each(trace, settings, sizeof settings / sizeof *settings, deadline, error))
        return false;
    snprintf(trace->where, sizeof trace->where,
             "the RP2350's trace FIFO, by DMA channel %u into %u bytes at 0x%08llX", trace->ring.channel,
             (unsigned)trace->request->ring_bytes, (unsigned long long)base);
    return fifo_open(trace, deadline, error);
}

enum { RING_PLACE = 3, RING_READ = 256 };

static void ring_add_place(const struct trace *trace, struct steps *list)
{
    steps_add(list, step_read(fifo_word(trace, dma_register(trace, DMA_COUNT))));
    steps_add(list, step_read(fifo_word(trace, dma_register(trace, DMA_WRITE))));
    steps_add(list, step_read(fifo_word(trace, dma_register(trace, DMA_CTRL))));
}

/* TRANS_COUNT has how many transfers remain, so it shows how many began. WRITE_ADDR, read after it, shows how
 * many are in memory. Datasheet, 12.6. */
static bool ring_take_place(struct trace *trace, const uint64_t *read, struct error *error)
{
    const uint32_t words = trace->request->ring_bytes / 4;
    uint32_t begun = dma_turn - ((uint32_t)read[0] & dma_turn);
    uint64_t at = (read[1] - trace->request->ring_base) / 4;
    if ((read[2] & (DMA_STATE - 1)) != ring_control(trace) || at >= words)
        return error_set(error, ERROR_WRITTEN, "something else has taken DMA channel %u meanwhile",
                         trace->ring.channel);
    if (read[2] >> 29 != 0)
        return error_set(error, ERROR_FAULT, "the bus refuses what DMA channel %u does (CTRL 0x%08llX)",
                         trace->ring.channel, (unsigned long long)read[2]);
    trace->ring.begun += (begun + (uint64_t)dma_turn - trace->ring.turn) % dma_turn;
    trace->ring.turn = begun;
    uint64_t apart = (at + words - trace->ring.begun % words) % words;
    trace->ring.written = trace->ring.begun + apart - (apart > words / 2 ? words : 0);
    return true;
}

/* *some: words were read, and there may be more. */
static bool ring_read_some(struct trace *trace, bool *some, const struct deadline *deadline,
                           struct error *error)
{
    const uint32_t words = trace->request->ring_bytes / 4;
    struct steps list = {.items = trace->steps, .room = FIFO_STEPS};
    uint64_t n = trace->ring.written - trace->ring.taken;
    n = n > words ? 0 : n > RING_READ ? RING_READ : n;
    for (uint64_t i = 0; i < n; i++)
        steps_add(&list, step_read(fifo_word(trace, trace->request->ring_base +
                                                        4 * ((trace->ring.taken + i) % words))));
    ring_add_place(trace, &list);
    if (!ledger_run(trace->device->ledger, &list, trace->words, deadline, error) ||
        !ring_take_place(trace, trace->words + n, error))
        return false;
    /* A word may be in no place yet, or in its place already, between the two reads */
    bool overran = trace->ring.written - trace->ring.taken + 8 > words;
    for (uint64_t i = 0; i < n && !overran; i++) {
        const uint64_t word = trace->words[i];
        const uint8_t bytes[] = {(uint8_t)word, (uint8_t)(word >> 8), (uint8_t)(word >> 16),
                                 (uint8_t)(word >> 24)};
        trace_give(trace, bytes, sizeof bytes);
    }
    if (overran)
        trace_lose(trace);
    trace->ring.taken = overran ? trace->ring.written : trace->ring.taken + n;
    *some = n > 0 && !overran;
    return true;
}

static bool ring_read(struct trace *trace, const struct deadline *deadline, struct error *error)
{
    enum { READS = 64 };
    bool some = true;
    if (!ring_read_some(trace, &some, deadline, error))
        return false;
    some = trace->ring.written != trace->ring.taken;
    for (unsigned i = 0; some && i < READS && !deadline_passed(deadline); i++)
        if (!ring_read_some(trace, &some, deadline, error))
            return false;
    return true;
}

static void fifo_close(struct trace *trace, const struct deadline *deadline)
{
    const struct address formats = fifo_word(trace, RP2350_TPIU + TPIU_FFCR);
    struct error ignored = {0};
    uint64_t old;
    (void)ledger_release(trace->device->ledger, fifo_word(trace, RP2350_FIFO_STATUS), deadline, &ignored);
    if (ledger_old(trace->device->ledger, formats,
                   &old)) /* the old values are written while it is stopped, too */
        (void)fifo_stop_port(trace, deadline, &ignored);
}

const struct trace_sink trace_fifo = {
    .name = "fifo", .find = fifo_find, .open = fifo_open, .read = fifo_read, .close = fifo_close};
const struct trace_sink trace_ring = {
    .name = "ram", .find = ring_find, .open = ring_open, .read = ring_read, .close = fifo_close};

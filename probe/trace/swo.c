/* SPDX-License-Identifier: MIT */
/*
 * SWO: the TPIU sends the ITM's bytes on one pin, as a UART, and the probe takes them in. The pin's clock is
 * the core's on most chips; where it is another, no baud fits. DDI 0403 C1.10; DDI 0314 for the registers.
 */
#include "base/arm_debug.h"
#include "links/link.h"
#include "trace/trace.h"

#include <math.h>
#include <stdio.h>

enum { SWO_READ = 2048, SWO_READS = 16, SWO_DIVIDERS = 0x2000, SWO_TRIES = 12 };
static const uint64_t swo_tpiu = 0xE0040000; /* of a Cortex-M3, M4, M33, M55, and of some M7 */
static const double swo_fastest = 10e6, swo_off = 0.01;
/* A receiver bears 3 %. A clock that was measured may be off by more, and where it is, the trace says. */
static const double swo_sweep[] = {0, 0.05, -0.05, 0.1, -0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5};
enum { SWO_SWEEP = sizeof swo_sweep / sizeof *swo_sweep, SWO_SWEPT = 2 }; /* SWO_SWEPT: dividers */

static struct address swo_word(const struct trace *trace, uint64_t offset)
{
    return core_word(&trace->device->chosen->core, offset);
}

static bool swo_look(const struct trace *trace, uint64_t offset, uint64_t *out,
                     const struct deadline *deadline)
{
    struct error unread = {0};
    return ledger_read(trace->device->ledger, swo_word(trace, offset), out, deadline, &unread);
}

static bool swo_find(struct trace *trace, char *where, const struct deadline *deadline)
{
    uint64_t id;
    snprintf(where, sizeof trace->where, "SWO");
    return (trace->is_off ||
            (swo_look(trace, swo_tpiu + COMPONENT_DEVID, &id, deadline) && (id & TPIU_DEVID_NRZ) != 0)) &&
           link_trace_can(trace->device->link);
}

/* *taken: the probe takes the divider's baud. */
static bool swo_try(struct trace *trace, bool *taken, const struct deadline *deadline, struct error *error)
{
    double clock = trace->request->clock_hz * (1 + swo_sweep[trace->sweep]), wanted = clock / trace->divider;
    struct link_trace way = {.tpiu = swo_word(trace, swo_tpiu),
                             .clock_hz = (uint32_t)lround(clock),
                             .baud = (uint32_t)lround(wanted)};
    const struct setting divide = {.at = swo_word(trace, swo_tpiu + TPIU_ACPR),
                                   .test = UINT32_MAX,
                                   .set = trace->divider - 1,
                                   .always = true,
                                   .watched = "TPIU_ACPR"};
    *taken = false;
    if (!link_trace_start(trace->device->link, &way, error))
        return false;
    snprintf(trace->refusal, sizeof trace->refusal, "%s", way.why);
    trace->is_fixed = way.fixed;
    *taken = way.fixed || (way.baud > 0 && fabs(way.baud - wanted) <= swo_off * wanted);
    if (*taken)
        snprintf(trace->where, sizeof trace->where, "SWO at %.4g MBd%s", way.baud / 1e6,
                 way.fixed ? ", as OpenOCD has it" : "");
    return !*taken || way.fixed || trace->kept > 0 || trace_set(trace, divide, deadline, error);
}

/* The next divider whose baud the probe takes. */
static bool swo_next(struct trace *trace, bool *more, const struct deadline *deadline, struct error *error)
{
    double most = trace->request->baud > 0 ? trace->request->baud : swo_fastest;
    uint32_t least = (uint32_t)ceil(trace->request->clock_hz / most);
    *more = false;
    trace->sweep = 0;
    trace->dividers++;
    for (unsigned tries = 0; tries < SWO_TRIES && !*more; tries++) {
        trace->divider = trace->kept > 0      ? trace->kept
                         : trace->divider > 0 ? trace->divider + 1
                         : least > 1          ? least
                                              : 1;
        if (trace->divider > SWO_DIVIDERS || trace->divider > 2 * least + SWO_TRIES)
            return true;
        if (!swo_try(trace, more, deadline, error))
            return false;
    }
    return true;
}

static bool swo_again(struct trace *trace, bool *more, const struct deadline *deadline, struct error *error)
{
    bool sweeps = trace->request->clock_is_measured && trace->dividers <= SWO_SWEPT;
    *more = false;
    if (trace->is_fixed)
        return true;
    while (sweeps && trace->sweep + 1 < SWO_SWEEP && !*more) {
        trace->sweep++;
        if (!swo_try(trace, more, deadline, error))
            return false;
    }
    return *more || trace->kept > 0 || swo_next(trace, more, deadline, error);
}

/* A program that prints by SWO has its baud, which stays. */
static void swo_find_kept(struct trace *trace, const struct deadline *deadline)
{
    uint64_t tcr, ter, protocol, divider;
    if (swo_look(trace, ITM_TCR, &tcr, deadline) && swo_look(trace, ITM_TER, &ter, deadline) &&
        swo_look(trace, swo_tpiu + TPIU_SPPR, &protocol, deadline) &&
        swo_look(trace, swo_tpiu + TPIU_ACPR, &divider, deadline) && (tcr & ITM_ITMENA) != 0 && ter != 0 &&
        protocol == TPIU_UART)
        trace->kept = (uint32_t)divider + 1;
}

static bool swo_open(struct trace *trace, const struct deadline *deadline, struct error *error)
{
    const struct setting settings[] = {
        core_open_lock(swo_word(trace, swo_tpiu + CORESIGHT_LAR), swo_word(trace, swo_tpiu + CORESIGHT_LSR)),
        {.at = swo_word(trace, swo_tpiu + TPIU_CSPSR), .test = UINT32_MAX, .set = 1},
        {.at = swo_word(trace, swo_tpiu + TPIU_SPPR), .test = 3, .set = TPIU_UART, .watched = "TPIU_SPPR"},
        {.at = swo_word(trace, swo_tpiu + TPIU_FFCR), .test = 3, .set = TPIU_FFCR_TRIGIN, .always = true}};
    bool more;
    if (!(trace->request->clock_hz > 0))
        return error_advise(error, ERROR_NO_COUNTER, "--freq HZ gives it.",
                            "the baud of SWO follows from the core's clock, which is not known");
    swo_find_kept(trace, deadline);
    if (trace->kept == 0 && !trace_open_pin(trace, deadline, error))
        return false;
    /* A server writes it */
    if (!trace_set_each(trace, settings, sizeof settings / sizeof *settings, deadline, error) ||
        !ledger_hold(trace->device->ledger, swo_word(trace, swo_tpiu + TPIU_ACPR), (struct restore){0}, NULL,
                     deadline, error) ||
        !swo_next(trace, &more, deadline, error))
        return false;
    if (more)
        return true;
    if (trace->refusal[0] != '\0')
        return error_set(error, ERROR_NO_COUNTER, "OpenOCD takes in no SWO: it says: %s", trace->refusal);
    return error_advise(error, ERROR_NO_COUNTER, "--swo-baud BAUD is the most that is tried.",
                        "the probe takes no baud that SWO can have at %.4g MHz",
                        trace->request->clock_hz / 1e6);
}

static bool swo_read(struct trace *trace, const struct deadline *deadline, struct error *error)
{
    uint8_t bytes[SWO_READ];
    for (unsigned i = 0; i < SWO_READS && !deadline_passed(deadline); i++) {
        size_t n;
        bool lost;
        if (!link_trace_read(trace->device->link, bytes, sizeof bytes, &n, &lost, error))
            return false;
        if (lost) /* before these bytes */
            trace_lose(trace);
        trace_give(trace, bytes, n);
        if (n == 0)
            return true;
    }
    return true;
}

static void swo_close(struct trace *trace, const struct deadline *deadline)
{
    struct error ignored = {0};
    struct link_trace off = {.tpiu = swo_word(trace, swo_tpiu)};
    (void)deadline;
    (void)link_trace_start(trace->device->link, &off, &ignored);
}

const struct trace_sink trace_swo = {.name = "swo",
                                     .find = swo_find,
                                     .open = swo_open,
                                     .read = swo_read,
                                     .again = swo_again,
                                     .close = swo_close};

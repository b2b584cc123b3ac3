/* SPDX-License-Identifier: MIT */
#include "trace/trace.h"

#include "base/arm_debug.h"
#include "cores/architectures.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TRACE_CHECK_US = 2000000, CALIBRATION_BEATS = 32, OUR_ID = 1 };

static const struct trace_sink *const trace_sinks[] = {&trace_ring, &trace_fifo, &trace_etf, &trace_swo,
                                                       NULL};

static struct address trace_word(const struct trace *trace, uint64_t offset)
{
    return core_word(&trace->device->chosen->core, offset);
}

static bool trace_read(const struct trace *trace, uint64_t offset, uint64_t *out,
                       const struct deadline *deadline, struct error *error)
{
    return ledger_read(trace->device->ledger, trace_word(trace, offset), out, deadline, error);
}

bool trace_set(struct trace *trace, struct setting setting, const struct deadline *deadline,
               struct error *error)
{
    if (!settings_apply_each(trace->device->ledger, &setting, 1, deadline, error))
        return false;
    witness_take(&trace->device->block_witness, &setting);
    witness_take(&trace->device->witness, &setting);
    return true;
}

bool trace_set_each(struct trace *trace, const struct setting *settings, size_t n,
                    const struct deadline *deadline, struct error *error)
{
    for (size_t i = 0; i < n; i++)
        if (!trace_set(trace, settings[i], deadline, error))
            return false;
    return true;
}

/* ---- what the core has */

static uint64_t function_at(unsigned n)
{
    return DWT_FUNCTION0 + (uint64_t)DWT_COMPARATOR * n;
}

static bool comparator_fits(const struct trace *trace, enum trace_watch what, uint64_t function)
{
    if (!trace->is_v8)
        return what == TRACE_WRITE && (function & FUNCTION_V7_SETTINGS) == 0;
    uint64_t able = what == TRACE_CODE ? FUNCTION_HAS_CODE : FUNCTION_HAS_DATA;
    return (function & able) != 0 && (function & FUNCTION_IN_USE) == 0;
}

static bool trace_count_free(struct trace *trace, enum trace_watch what, uint64_t ctrl,
                             const struct deadline *deadline, struct error *error)
{
    trace->n_comparators = ctrl >> DWT_NUMCOMP & 0xF;
    if (trace->n_comparators > TRACE_COMPARATORS)
        trace->n_comparators = TRACE_COMPARATORS;
    trace->n_free = 0;
    for (unsigned n = 0; n < trace->n_comparators; n++) {
        uint64_t function;
        if (!trace_read(trace, function_at(n), &function, deadline, error))
            return false;
        trace->n_free += comparator_fits(trace, what, function);
    }
    return true;
}

static bool trace_refuse(struct error *error, const char *advice, const char *why)
{
    return error_advise(error, ERROR_NO_COUNTER, advice, "%s", why);
}

/* What a program that writes them does to the trace: DDI 0403 C1.7, C1.8. */
#define TRACE_COMPARATOR(n)                                                                                  \
    {.name = "DWT_COMP" #n, .word = DWT_COMP0 + (uint64_t)DWT_COMPARATOR * (n)},                             \
        {.name = "DWT_MASK" #n, .word = DWT_MASK0 + (uint64_t)DWT_COMPARATOR * (n)},                         \
    {                                                                                                        \
        .name = "DWT_FUNCTION" #n, .word = DWT_FUNCTION0 + (uint64_t)DWT_COMPARATOR * (n)                    \
    }
static const struct counter_register trace_registers[] = {
    {.name = "ITM_TCR",
     .word = ITM_TCR,
     .on = ITM_ITMENA | ITM_TSENA | ITM_TXENA,
     .strikes = ITM_SWOENA | ITM_TSPRESCALE},
    {.name = "DWT_CTRL",
     .word = DWT_CTRL,
     .on = DWT_CYCTAP | DWT_POSTPRESET | DWT_CYCEVTENA | DWT_EXCTRCENA,
     .strikes = DWT_PCSAMPLENA},
    TRACE_COMPARATOR(0),
    TRACE_COMPARATOR(1),
    TRACE_COMPARATOR(2),
    TRACE_COMPARATOR(3)};

bool trace_can(struct trace *trace, struct device *device, bool code, const struct deadline *deadline,
               struct error *error)
{
    const struct core *core = &device->chosen->core;
    uint64_t arch, ctrl, demcr;
    trace->device = device;
    device->emits = trace_registers;
    device->n_emits = sizeof trace_registers / sizeof *trace_registers;
    if (device->debugger != NULL || !core_has(core, SYSTEM_SPACE))
        return trace_refuse(error, TRACE_HALTING,
                            device->debugger != NULL
                                ? "through a GDB server no trace can be read while the core runs"
                                : "only a Cortex-M emits this trace");
    if (cortex_m_is_baseline(core))
        return trace_refuse(error, TRACE_HALTING, "the DWT of a Cortex-M0, M0+ and M23 emits no trace");
    if (!trace_read(trace, DEMCR, &demcr, deadline, error) ||
        !trace_read(trace, DWT_DEVARCH, &arch, deadline, error) ||
        !trace_read(trace, DWT_CTRL, &ctrl, deadline, error))
        return false;
    trace->is_v8 = cortex_m_is_v8(core);
    trace->is_off = (demcr & DEMCR_TRCENA) == 0;
    if (!trace->is_off && (ctrl & DWT_NOTRCPKT) != 0)
        return trace_refuse(error, TRACE_HALTING, TRACE_NOTRCPKT);
    if (code && !trace->is_v8)
        return trace_refuse(error, TRACE_HALTING,
                            "only comparators of Armv8-M emit trace for an instruction's address, not a "
                            "Cortex-M3's, M4's or M7's");
    if ((ctrl & (DWT_PCSAMPLENA | DWT_CYCEVTENA)) != 0)
        return trace_refuse(error, "Measure with that switched off.",
                            "something else has the DWT emit PC samples or cycle events "
                            "(DWT_CTRL.PCSAMPLENA, CYCEVTENA)");
    return trace_count_free(trace, code ? TRACE_CODE : TRACE_WRITE, ctrl, deadline, error);
}

static bool trace_choose_sink(struct trace *trace, const struct deadline *deadline, struct error *error)
{
    const char *wanted = trace->request->ring_bytes > 0 ? trace_ring.name : trace->request->sink;
    for (size_t i = 0; trace_sinks[i] != NULL; i++) {
        const struct trace_sink *sink = trace_sinks[i];
        if ((wanted != NULL && strcmp(wanted, sink->name) != 0) || !sink->find(trace, trace->where, deadline))
            continue;
        trace->sink = sink;
        return true;
    }
    return trace_refuse(error, TRACE_HALTING,
                        wanted != NULL ? "this way out of the chip is not there"
                                       : "its trace has no way out: no trace buffer of this chip is known, "
                                         "and the probe takes in no SWO");
}

/* ---- settings */

/* ITMENA first goes off, and what the ITM still has to send leaves it: DDI 0403 C1.7.6. */
static bool itm_set(struct trace *trace, const struct deadline *deadline, struct error *error)
{
    const struct restore restore = {.mask = ~(uint64_t)ITM_BUSY};
    uint64_t before, ter, id = 0;
    if (!trace_set(trace, core_open_lock(trace_word(trace, ITM_LAR), trace_word(trace, ITM_LSR)), deadline,
                   error) ||
        !trace_read(trace, ITM_TCR, &before, deadline, error) ||
        !trace_read(trace, ITM_TER, &ter, deadline, error))
        return false;
    trace->prints = (before & ITM_ITMENA) != 0 && ter != 0;
    trace->moments.kinds |= trace->prints ? 1U << TRACE_PRINT | 1U << TRACE_EXTENSION : 0;
    trace->moments.kinds |= (before & ITM_GTSFREQ) != 0 ? 1U << TRACE_GLOBAL : 0;
    if ((before & ITM_BUS_IDS) == 0)
        id = (uint64_t)OUR_ID << ITM_BUS_ID;
    trace->bus_id = (uint8_t)((before | id) >> ITM_BUS_ID & 0x7F);
    const uint64_t on = ITM_ITMENA | ITM_TSENA | ITM_TXENA, off = ITM_SWOENA | ITM_TSPRESCALE;
    const struct setting pause = {.at = trace_word(trace, ITM_TCR),
                                  .test = ITM_ITMENA,
                                  .keep = ~(uint64_t)(ITM_ITMENA | ITM_BUSY),
                                  .restore = restore};
    struct step items[] = {step_until(trace_word(trace, ITM_TCR), ITM_BUSY, 0)};
    const struct steps list = {.items = items, .n = 1, .room = 1};
    uint64_t now;
    trace->is_set = true;
    return trace_set(trace, pause, deadline, error) &&
           ledger_run(trace->device->ledger, &list, &now, deadline, error) &&
           trace_set(trace,
                     (struct setting){.at = trace_word(trace, ITM_TCR),
                                      .test = on | off,
                                      .keep = ~(off | ITM_BUSY),
                                      .set = on | id,
                                      .restore = restore,
                                      .watched = "ITM_TCR"},
                     deadline, error);
}

/* Cycle events each TRACE_PERIOD cycles. The period is set before they are switched on, and exceptions are
 * switched on after the calibration, which they would disturb. */
static bool dwt_set(struct trace *trace, bool calibrates, const struct deadline *deadline,
                    struct error *error)
{
    const uint64_t period = DWT_CYCTAP | DWT_POSTPRESET, events = DWT_CYCEVTENA;
    const uint64_t traps = trace->request->exceptions && !calibrates ? DWT_EXCTRCENA : 0;
    const struct restore restore = {.how = RESTORE_BITS,
                                    .mask = period | DWT_POSTINIT | events | DWT_EXCTRCENA};
    const struct setting settings[] = {{.at = trace_word(trace, DWT_CTRL),
                                        .test = period,
                                        .keep = UINT64_MAX,
                                        .set = period | DWT_POSTINIT,
                                        .always = true,
                                        .restore = restore},
                                       {.at = trace_word(trace, DWT_CTRL),
                                        .test = period | events | DWT_EXCTRCENA,
                                        .keep = ~(uint64_t)DWT_EXCTRCENA,
                                        .set = period | events | traps,
                                        .restore = restore,
                                        .watched = calibrates ? NULL : "DWT_CTRL"}};
    return (!calibrates || trace_set(trace, settings[0], deadline, error)) &&
           trace_set(trace, settings[1], deadline, error);
}

static bool trace_sees_reads(const struct trace *trace)
{
    return (trace->device->chosen->core.quirks & WATCHES_READS_TOO) != 0;
}

static uint64_t function_of_writes(const struct trace *trace)
{
    return trace_sees_reads(trace) ? FUNCTION_V7_ACCESS : FUNCTION_V7_WRITE;
}

static bool comparator_set(struct trace *trace, unsigned n, const struct trace_wish *wish,
                           const struct deadline *deadline, struct error *error)
{
    static const char *const names[][3] = {{"DWT_COMP0", "DWT_MASK0", "DWT_FUNCTION0"},
                                           {"DWT_COMP1", "DWT_MASK1", "DWT_FUNCTION1"},
                                           {"DWT_COMP2", "DWT_MASK2", "DWT_FUNCTION2"},
                                           {"DWT_COMP3", "DWT_MASK3", "DWT_FUNCTION3"}};
    const uint64_t bits = trace->is_v8 ? FUNCTION_SETTINGS : FUNCTION_V7_SETTINGS;
    /* The whole object: DDI 0403E C1.8.16 (MASK), DDI 0553B D1.2 (DWT_FUNCTIONn.DATAVSIZE) */
    const uint64_t size_log2 = wish->size == 0 ? 2 : wish->size / 2;
    const uint64_t function = !trace->is_v8              ? function_of_writes(trace)
                              : wish->what == TRACE_CODE ? FUNCTION_CODE
                                                         : FUNCTION_WRITE | size_log2 << FUNCTION_SIZE;
    const struct restore restore = {.mask = bits};
    const struct setting comp = {.at = trace_word(trace, DWT_COMP0 + (uint64_t)DWT_COMPARATOR * n),
                                 .test = UINT32_MAX,
                                 .set = wish->address,
                                 .watched = names[n][0]};
    const struct setting mask = {.at = trace_word(trace, DWT_MASK0 + (uint64_t)DWT_COMPARATOR * n),
                                 .test = UINT32_MAX,
                                 .set = size_log2,
                                 .watched = names[n][1]};
    const struct setting on = {.at = trace_word(trace, function_at(n)),
                               .test = bits,
                               .set = function,
                               .restore = restore,
                               .watched = names[n][2]};
    /* It is off: so it is held last, and put back first */
    return trace_set(trace, comp, deadline, error) &&
           (trace->is_v8 || trace_set(trace, mask, deadline, error)) && trace_set(trace, on, deadline, error);
}

static bool trace_set_comparators(struct trace *trace, const struct deadline *deadline, struct error *error)
{
    const struct trace_request *request = trace->request;
    unsigned n = 0;
    for (size_t i = 0; i < request->n_wishes; i++, n++) {
        uint64_t function = 0;
        for (; n < trace->n_comparators; n++) {
            if (!trace_read(trace, function_at(n), &function, deadline, error))
                return false;
            if (comparator_fits(trace, request->wishes[i].what, function))
                break;
        }
        if (n == trace->n_comparators && request->wishes[i].can_lack) {
            trace->comparators[i] = TRACE_LACKS;
            continue;
        }
        if (n == trace->n_comparators)
            return error_set(error, ERROR_NO_COMPARATOR,
                             "trace needs %zu comparators of the DWT: %zu of %zu are free and fit",
                             request->n_wishes, trace->n_free, trace->n_comparators);
        trace->comparators[i] = (uint8_t)n;
    }
    /* The first one last: a start is not seen before its ends are */
    for (size_t i = request->n_wishes; i-- > 0;)
        if (trace->comparators[i] != TRACE_LACKS &&
            !comparator_set(trace, trace->comparators[i], &request->wishes[i], deadline, error))
            return false;
    return true;
}

/* ---- moments */

static void trace_take_moment(void *context, const struct trace_moment *moment)
{
    const struct trace *trace = context;
    struct trace_moment named = *moment;
    bool by_comparator = moment->kind == MOMENT_MATCH || moment->kind == MOMENT_DATA;
    if (moment->kind == MOMENT_DATA && !moment->written) /* a read has what the last write had */
        return;
    for (size_t i = 0; by_comparator && i <= trace->request->n_wishes; i++) {
        if (i == trace->request->n_wishes) /* the program's own */
            return;
        named.n = (uint8_t)i;
        if (trace->comparators[i] == moment->n)
            break;
    }
    if (trace->open)
        trace->request->take(trace->request->context, &named);
}

static void trace_calibrate_packet(void *context, const struct trace_packet *packet)
{
    struct trace *trace = context;
    if (!trace->open)
        trace_calibration_take(&trace->calibration, packet);
}

void trace_give(struct trace *trace, const uint8_t *bytes, size_t n)
{
    if (n == 0)
        return;
    trace->bytes += n;
    trace->came_us = deadline_now_us();
    trace_moments_take(&trace->moments, bytes, n);
}

void trace_lose(struct trace *trace)
{
    trace->losses++;
    trace->calibration.begun = trace->calibration.beat = false;
    trace_moments_lose(&trace->moments);
}

/* Until there are enough cycle events, or the bytes cannot be trace. */
static bool trace_await_beats(struct trace *trace, const struct deadline *deadline, struct error *error)
{
    enum { WAIT_MS = 3000, GARBAGE = 512 };
    struct deadline soon = deadline_in_ms(patience_ms(WAIT_MS), deadline->cancel);
    struct trace_calibration *calibration = &trace->calibration;
    uint64_t before = trace->bytes;
    *calibration = (struct trace_calibration){.period = TRACE_PERIOD};
    while (calibration->beats < CALIBRATION_BEATS && !deadline_passed(&soon) &&
           (calibration->beats > 0 || trace->sink->again == NULL || trace->bytes - before < GARBAGE))
        if (!trace->sink->read(trace, deadline, error))
            return false;
    if (deadline_cancelled(deadline))
        return error_set(error, ERROR_CANCELLED, "cancelled");
    return true;
}

static bool trace_calibrate(struct trace *trace, const struct deadline *deadline, struct error *error)
{
    const struct trace_calibration *calibration = &trace->calibration;
    bool more = true;
    if (!trace_await_beats(trace, deadline, error))
        return false;
    while (calibration->beats == 0 && trace->bytes > 0 && trace->sink->again != NULL && more)
        if (!trace->sink->again(trace, &more, deadline, error) ||
            (more && !trace_await_beats(trace, deadline, error)))
            return false;
    if (!device_check_witness(trace->device, deadline, error))
        return false;
    int plus = trace_calibration_plus(calibration);
    if (plus >= 0) {
        trace->moments.plus = (unsigned)plus;
        return true;
    }
    struct trace_reason reason;
    if (calibration->beats == 0 && trace_find_reason(trace, &reason, deadline))
        return error_advise(error, ERROR_NO_COUNTER, reason.advice, "no trace arrives through %s: %s",
                            trace->where, reason.text);
    if (calibration->beats == 0)
        return error_advise(error, ERROR_NO_COUNTER, TRACE_DOCTOR,
                            "no trace arrives through %s, and no register shows why: is the pin wired?",
                            trace->where);
    return error_set(error, ERROR_NO_COUNTER,
                     "the trace's timestamps do not go by CYCCNT: of %u periods of %d cycles, %u and %u fit",
                     calibration->beats, TRACE_PERIOD, calibration->fits[0], calibration->fits[1]);
}

bool trace_open(struct trace *trace, struct device *device, const struct trace_request *request,
                const struct deadline *deadline, struct error *error)
{
    bool code = request->n_wishes > 0 && request->wishes[0].what == TRACE_CODE;
    *trace = (struct trace){.device = device, .request = request};
    trace->moments = (struct trace_moments){.kinds = 1U << TRACE_EVENTS,
                                            .period = TRACE_PERIOD,
                                            .context = trace,
                                            .take = trace_take_moment,
                                            .packet = trace_calibrate_packet};
    for (size_t i = 0; i < request->n_wishes; i++)
        trace->moments.kinds |=
            request->wishes[i].what == TRACE_CODE ? 1U << TRACE_MATCH : 1U << TRACE_DATA_WRITTEN;
    if (trace_sees_reads(trace))
        trace->moments.kinds |= 1U << TRACE_DATA_READ;
    if (request->exceptions)
        trace->moments.kinds |= 1U << TRACE_EXCEPTION;
    if (!trace_can(trace, device, code, deadline, error) ||
        (device->block == NULL && !device_take_block(device, "dwt", deadline, error)) ||
        !trace_can(trace, device, code, deadline, error) || /* TRCENA is set by now */
        !trace_choose_sink(trace, deadline, error))
        return false;
    if (!trace_moments_begin(&trace->moments))
        return error_memory(error);
    if (!trace->sink->open(trace, deadline, error) || !itm_set(trace, deadline, error) ||
        !dwt_set(trace, true, deadline, error) || !trace_calibrate(trace, deadline, error) ||
        !dwt_set(trace, false, deadline, error) || !trace_set_comparators(trace, deadline, error) ||
        !trace->sink->read(trace, deadline, error)) /* what was lost meanwhile is not a gap of the run */
        return false;
    trace->open = true;
    trace->checked_us = deadline_now_us();
    return true;
}

void trace_foresee(struct device *device, struct trace_prospect *out, const struct deadline *deadline)
{
    const struct trace_request request = {0};
    struct trace trace = {.device = device, .request = &request};
    struct error why = {0};
    *out = (struct trace_prospect){.how.state = "none"};
    bool can = trace_can(&trace, device, false, deadline, &why);
    device->n_emits = 0; /* none is taken */
    if (can)
        snprintf(out->emits, sizeof out->emits, "%sexceptions, data accesses",
                 trace.is_v8 ? "instruction addresses, " : "");
    if (!can || !trace_choose_sink(&trace, deadline, &why)) {
        snprintf(out->how.text, sizeof out->how.text, "%.150s", why.text);
        return;
    }
    out->comes = !trace_find_reason(&trace, &out->how, deadline);
    if (out->comes)
        out->how = (struct trace_reason){.state = "ok"};
    if (out->comes)
        snprintf(out->how.text, sizeof out->how.text, "%s", trace.where);
    trace_close(&trace, deadline);
}

bool trace_poll(struct trace *trace, const struct deadline *deadline, struct error *error)
{
    if (!trace->sink->read(trace, deadline, error))
        return false;
    int64_t now_us = deadline_now_us();
    if (now_us - trace->checked_us < TRACE_CHECK_US)
        return true;
    trace->checked_us = now_us;
    return device_check_witness(trace->device, deadline, error);
}

void trace_close(struct trace *trace, const struct deadline *deadline)
{
    if (trace->sink != NULL && trace->sink->close != NULL)
        trace->sink->close(trace, deadline);
    if (trace->open) /* after what the sink still had */
        trace_moments_end(&trace->moments);
    trace->open = false;
    trace_moments_free(&trace->moments);
    free(trace->words);
    free(trace->steps);
    trace->words = NULL;
    trace->steps = NULL;
}

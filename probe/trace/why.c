/* SPDX-License-Identifier: MIT */
/* Why no trace arrives: by registers, and by what has arrived so far. doctor and a run that finds nothing
 * have these words from here. */
#include "base/arm_debug.h"
#include "cores/architectures.h"
#include "trace/trace.h"

#include <inttypes.h>
#include <stdio.h>

static bool why_read(const struct trace *trace, uint64_t offset, uint64_t *out,
                     const struct deadline *deadline)
{
    struct error unread = {0};
    *out = 0;
    return ledger_read(trace->device->ledger, core_word(&trace->device->chosen->core, offset), out, deadline,
                       &unread);
}

static const char by_chip[] = "Only the chip can allow it: its life cycle state, or a register of it.";

static bool trace_blame(struct trace_reason *out, const char *state, const char *text, const char *advice)
{
    snprintf(out->state, sizeof out->state, "%s", state);
    snprintf(out->text, sizeof out->text, "%s", text);
    out->advice = advice;
    return true;
}

/* DDI 0553 D1.2: NSNID and SNID are 2 where non-invasive debug of that state is there and not allowed. */
static bool why_secure(const struct trace *trace, struct trace_reason *out, const struct deadline *deadline)
{
    enum { NSNID = 2, SNID = 6, OFF = 2 };
    const struct core *core = &trace->device->chosen->core;
    struct error unread = {0};
    uint64_t status;
    if (!trace->is_v8 ||
        !ledger_read(trace->device->ledger, cortex_m_authentication(core), &status, deadline, &unread))
        return false;
    bool non_secure = (status >> NSNID & 3) != OFF, secure = (status >> SNID & 3) != OFF;
    if (!non_secure)
        return trace_blame(out, "REFUSED", "the chip allows no trace (DAUTHSTATUS: NIDEN is low)", by_chip);
    if (!secure && trace->is_set)
        return trace_blame(out, "Non-secure only",
                           "Secure code emits no trace (DAUTHSTATUS: SPNIDEN is low), nor counts", by_chip);
    return false;
}

static bool why_other_core(const struct trace *trace, struct trace_reason *out)
{
    return trace->sink == &trace_etf && trace->etf.is_other_cores &&
           trace_blame(out, "OTHER CORE",
                       "the trace buffer of this STM32H7 takes the Cortex-M7's trace, not this core's",
                       TRACE_HALTING);
}

static bool why_no_packets(const struct trace *trace, struct trace_reason *out,
                           const struct deadline *deadline)
{
    uint64_t demcr, ctrl;
    return why_read(trace, DEMCR, &demcr, deadline) && (demcr & DEMCR_TRCENA) != 0 &&
           why_read(trace, DWT_CTRL, &ctrl, deadline) && (ctrl & DWT_NOTRCPKT) != 0 &&
           trace_blame(out, "NONE", TRACE_NOTRCPKT, TRACE_HALTING);
}

/* An ITM that stays busy has something to send, and nothing takes it. */
static bool why_no_clock(const struct trace *trace, struct trace_reason *out, const struct deadline *deadline)
{
    enum { LOOKS = 8 };
    uint64_t tcr;
    for (unsigned i = 0; i < LOOKS; i++)
        if (!why_read(trace, ITM_TCR, &tcr, deadline) || (tcr & ITM_BUSY) == 0)
            return false;
    return trace->bytes == 0 &&
           trace_blame(out, "NO CLOCK",
                       "what the ITM has to send stays in it (ITM_TCR.BUSY): the trace port "
                       "has no clock",
                       "The program, or the board file, has to switch it on.");
}

static bool why_asleep(const struct trace *trace, struct trace_reason *out, const struct deadline *deadline)
{
    uint64_t state;
    return trace->is_set && trace->bytes == 0 && why_read(trace, DHCSR, &state, deadline) &&
           (state & DHCSR_S_SLEEP) != 0 &&
           trace_blame(out, "asleep", "the core sleeps, and its trace with it",
                       "Measure while the program works.");
}

static bool why_pin(struct trace *trace, struct trace_reason *out, const struct deadline *deadline)
{
    return trace->sink == &trace_swo && trace_pin_is_used(trace, deadline) &&
           trace_blame(out, "PIN USED", "the program uses the pin of SWO (PB3) for something else",
                       "Let the program leave it as it is after a reset.");
}

static bool why_garbage(const struct trace *trace, struct trace_reason *out)
{
    char text[160];
    if (trace->bytes == 0 || trace->calibration.beats > 0)
        return false;
    snprintf(text, sizeof text, "%" PRIu64 " bytes arrive, and are not this core's trace%s", trace->bytes,
             trace->sink == &trace_swo ? ": the baud is off by more than 3 %" : "");
    return trace_blame(out, "DAMAGED", text,
                       trace->sink == &trace_swo ? "--freq HZ gives the clock, --swo-baud BAUD a slower baud."
                                                 : TRACE_DOCTOR);
}

bool trace_find_reason(struct trace *trace, struct trace_reason *out, const struct deadline *deadline)
{
    return why_other_core(trace, out) || why_no_packets(trace, out, deadline) ||
           why_secure(trace, out, deadline) || why_pin(trace, out, deadline) ||
           why_no_clock(trace, out, deadline) || why_asleep(trace, out, deadline) || why_garbage(trace, out);
}

#include "links/dap/running.h"

#include <inttypes.h>
#include <stdio.h>

enum { NOISE = 4 }; /* failures of the wires in a row before we say so */

/* ---- what happened, in words */

/* "read 0x40000000 (4 bytes)" */
static void name_step(const struct step *step, char *out, size_t size)
{
    const char *verb = step->op == OP_WRITE ? "write" : "read";
    if (step->at.space == SPACE_MEMORY)
        snprintf(out, size, "%s 0x%08" PRIx64 " (%u byte%s)", verb, step->at.offset, step->at.size,
                 step->at.size == 1 ? "" : "s");
    else if (step->at.space == SPACE_AP)
        snprintf(out, size, "%s register 0x%02" PRIx64 " of AP %u", verb, step->at.offset,
                 step->at.unit & 0xFFU);
    else if (step->at.space == SPACE_DP)
        snprintf(out, size, "%s register 0x%02" PRIx64 " of the debug port", verb, step->at.offset);
    else
        snprintf(out, size, "%s 0x%" PRIx64 " of CPU %u", verb, step->at.offset, step->at.unit);
}

bool running_end(struct running *r, enum why why, size_t step, enum error_kind kind, const char *words)
{
    char name[96] = "go on";
    if (step < r->n)
        name_step(&r->steps[step], name, sizeof name);
    error_set(r->error, kind, "cannot %s: %s", name, words);
    r->out = (struct outcome){.why = why, .done = step};
    return false;
}

bool running_lost(struct running *r)
{
    error_set(r->error, ERROR_LINK_LOST, "the probe is gone");
    r->out = (struct outcome){.why = LINK_LOST, .done = r->done};
    return false;
}

/* ---- after a failure */

static const char unknown_write[] = "the target stopped answering, and whether it was carried out is unknown";

static bool noise(struct running *r, size_t step)
{
    r->done = step;
    r->look = false;
    if (++r->noise < NOISE)
        return r->noise == 1 || adi_slow_down(&r->executor->adi, r->error) || running_lost(r);
    return running_end(r, TARGET_WAIT, step, ERROR_ASLEEP,
                       "the wires are disturbed, or the target does not answer");
}

static const char never_ends[] =
    "the access goes on even after an abort: the target's bus hangs, or has no clock while the target sleeps";

/* IHI 0031 C2.6.3: once an access was aborted, TRINPROG says whether the bus behind the port goes on with it.
 */
static bool bus_hangs(struct running *r, size_t step)
{
    struct adi *adi = &r->executor->adi;
    struct access_port *port = reach_port(&r->executor->compiler.reach, r->steps[step].at.unit);
    if (r->steps[step].at.space != SPACE_MEMORY || port == NULL)
        return false;
    struct adi_access list[] = {{.request = DP_SELECT, .value = reach_select(port, AP_CSW)},
                                {.request = TRANSFER_AP | TRANSFER_READ | AP_CSW}};
    size_t done;
    enum adi_end end = adi_transfer(adi, list, 2, &done, r->error);
    bool hangs =
        end == ADI_LOST || end == ADI_WAIT || (end == ADI_OK && (list[1].value & CSW_IN_PROGRESS) != 0);
    if (end != ADI_OK && end != ADI_LOST)
        hangs = adi_mend(adi, end, r->error) == ADI_GONE || hangs;
    return hangs;
}

static bool mend(struct running *r, const struct decoded *decoded)
{
    struct adi *adi = &r->executor->adi;
    enum adi_end end = decoded->end == DECODE_WAIT    ? ADI_WAIT
                       : decoded->end == DECODE_FAULT ? ADI_FAULT
                                                      : ADI_NO_ACK;
    bool write = decoded->write && !(decoded->behind && end != ADI_NO_ACK);
    size_t refused = write ? decoded->written : decoded->step;
    compiler_forget(&r->executor->compiler);
    r->done = decoded->step;
    enum adi_health health = adi_mend(adi, end, r->error);
    if (health != ADI_GONE && adi->jtag) /* only now is it known that there was a fault, and where at most */
        refused = decoded->unchecked < decoded->step ? decoded->unchecked : decoded->step;
    switch (health) {
    case ADI_FINE:
        if (write && end != ADI_NO_ACK)
            return running_end(r, LINK_LOST, decoded->written, ERROR_FAULT, unknown_write);
        return noise(r, decoded->step);
    case ADI_REFUSED:
        return running_end(r, TARGET_FAULT, refused, ERROR_FAULT, "the target refuses it (FAULT)");
    case ADI_GARBLED:
        /* If the write behind it was not acknowledged either, it is that one's data that never came */
        return noise(r, decoded->write && end == ADI_FAULT ? decoded->written : decoded->step);
    case ADI_LATE:
        r->look = false;
        if (write) { /* and carried out */
            r->results[decoded->written] = 0;
            r->done = decoded->written + 1;
        }
        return true;
    case ADI_STUCK:
        if (write)
            return running_end(r, LINK_LOST, decoded->written, ERROR_ASLEEP, unknown_write);
        if (bus_hangs(r, decoded->step))
            return r->executor->adi.probe->lost
                       ? running_lost(r)
                       : running_end(r, TARGET_WAIT, decoded->step, ERROR_ASLEEP, never_ends);
        return running_end(r, TARGET_WAIT, decoded->step, ERROR_ASLEEP,
                           "the target does not answer in time (WAIT)");
    case ADI_POWERLESS:
        return running_end(r, LINK_LOST, refused, ERROR_RESET,
                           "the target lost its power or its debug port was reset");
    case ADI_SILENT:
        if (write)
            return running_end(r, LINK_LOST, decoded->written, ERROR_ASLEEP, unknown_write);
        return running_end(r, TARGET_WAIT, decoded->step, ERROR_ASLEEP, "nothing answers on the wires");
    case ADI_GONE:
        break;
    }
    return running_lost(r);
}

/* JTAG does not tell a fault from a register that holds something else. */
static bool faulted_instead(struct running *r, const struct decoded *decoded, bool *go_on)
{
    if (!r->executor->adi.jtag)
        return false;
    struct decoded fault = *decoded;
    fault.end = DECODE_FAULT;
    fault.write = false;
    unsigned noise_before = r->noise;
    r->noise = 0;
    *go_on = mend(r, &fault);
    if (!*go_on)
        return true;
    r->noise = noise_before; /* it was none */
    return false;
}

static bool mismatch(struct running *r, const struct decoded *decoded)
{
    bool go_on = true;
    if (faulted_instead(r, decoded, &go_on))
        return go_on;
    const struct step *step = &r->steps[decoded->step];
    bool looked = decoded->saw_known;
    compiler_forget(&r->executor->compiler);
    r->done = decoded->step;
    if (looked && step->op == OP_EXPECT) {
        r->out = (struct outcome){.why = UNEXPECTED, .done = r->done, .saw = decoded->saw};
        return false;
    }
    if (looked && deadline_passed(&r->slice)) {
        r->out = (struct outcome){.why = NOT_YET, .done = r->done, .saw = decoded->saw};
        return false;
    }
    if (decoded->note != NULL && !r->look) {
        r->predicted = decoded->note->predicted;
        r->entry = decoded->note->entry;
    }
    r->look = r->executor->compiler.match;
    return true;
}

bool running_ended_early(struct running *r, const struct decoded *decoded)
{
    struct dap_probe *probe = r->executor->adi.probe;
    switch (decoded->end) {
    case DECODE_DONE:
        r->done = decoded->step;
        return true;
    case DECODE_MISMATCH:
        return mismatch(r, decoded);
    case DECODE_WAIT:
    case DECODE_FAULT:
    case DECODE_NO_ACK:
        return mend(r, decoded);
    case DECODE_BROKEN:
        break;
    }
    probe->lost = true;
    r->done = decoded->step;
    error_set(r->error, ERROR_LINK_PROTOCOL, "%s answers something else than it was asked",
              probe->carrier->name);
    return running_lost(r);
}

// SysTick: see the header.
#include "device/systick.h"

// DDI 0403E B3.3.3 to B3.3.6
enum { SYST_CSR = 0x0, SYST_RVR = 0x4, SYST_CVR = 0x8, SYST_CALIB = 0xC };
#define CSR_ENABLE    (1u << 0)
#define CSR_TICKINT   (1u << 1)
#define CSR_CLKSOURCE (1u << 2)
#define CSR_COUNTFLAG (1u << 16)
#define COUNTER_MASK  0xFFFFFFu
#define CALIB_NOREF   (1u << 31) // no reference clock, so CLKSOURCE reads as one (DDI 0403E B3.3.3, B3.3.6)

static bool counts_cycles(const struct systick *s)
{
    return s->of_processor || !s->reference.cycles;
}

// Cycles that a tick takes
static unsigned step(const struct systick *s)
{
    return counts_cycles(s) ? 1 : s->reference.cycles;
}

static void plan(struct systick *s)
{
    if (!s->enabled || (!s->value && !s->reload))
        s->next_zero = UINT64_MAX;
    else
        s->next_zero = (s->at / step(s) + (s->value ? s->value : (uint64_t)s->reload + 1)) * step(s);
}

void systick_reset(struct systick *s, uint64_t now)
{
    // The architecture leaves RVR and CVR unknown; zeroes would hide firmware that relies on them
    *s = (struct systick){.reference = s->reference,
                          .reload = 0x00ABCDEF,
                          .value = 0x00123456,
                          .at = now,
                          .next_zero = UINT64_MAX};
}

bool systick_advance(struct systick *s, uint64_t now)
{
    uint64_t elapsed = now / step(s) - s->at / step(s);
    s->at = now;
    if (!s->enabled || !elapsed)
        return false;
    if (elapsed < s->value) {
        s->value -= (uint32_t)elapsed;
        return false;
    }
    bool reached = s->value != 0;
    elapsed -= s->value;
    s->value = 0;
    if (elapsed && s->reload) {
        // From 0 the next tick loads RVR, so a round takes RVR+1
        uint64_t period = (uint64_t)s->reload + 1, phase = elapsed % period;
        reached = reached || elapsed >= period;
        s->value = phase ? (uint32_t)(period - phase) : 0;
    }
    s->countflag = s->countflag || reached;
    plan(s);
    return reached && s->interrupts;
}

uint32_t systick_peek(const struct systick *s, uint32_t offset)
{
    switch (offset) {
    case SYST_CSR:
        return (s->enabled ? CSR_ENABLE : 0) | (s->interrupts ? CSR_TICKINT : 0) |
               (counts_cycles(s) ? CSR_CLKSOURCE : 0) | (s->countflag ? CSR_COUNTFLAG : 0);
    case SYST_RVR:
        return s->reload;
    case SYST_CVR:
        return s->value;
    case SYST_CALIB:
        return s->reference.cycles ? s->reference.calibration : CALIB_NOREF;
    default:
        return 0;
    }
}

uint32_t systick_read(struct systick *s, uint32_t offset, bool clears_countflag)
{
    uint32_t value = systick_peek(s, offset);
    if (offset == SYST_CSR && clears_countflag)
        s->countflag = false;
    return value;
}

void systick_write(struct systick *s, uint32_t offset, uint32_t value)
{
    switch (offset) {
    case SYST_CSR:
        s->enabled = value & CSR_ENABLE;
        s->interrupts = value & CSR_TICKINT;
        s->of_processor = value & CSR_CLKSOURCE;
        break;
    case SYST_RVR:
        s->reload = value & COUNTER_MASK;
        break;
    case SYST_CVR: // any value clears it, and the flag, without an exception
        s->value = 0;
        s->countflag = false;
        break;
    default:
        break;
    }
    plan(s);
}

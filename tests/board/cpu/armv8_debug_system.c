// The debug registers as System registers, of op0 2 (DDI 0487H D13.3): locks, data transfer, comparators.
#include "cpu/armv8.h"

enum {
    MDCCSR_EL0 = V8_KEY(2, 3, 0, 1, 0),
    DBGDTR_EL0 = V8_KEY(2, 3, 0, 4, 0),
    DBGDTRRX_TX_EL0 = V8_KEY(2, 3, 0, 5, 0),
    MDSCR_EL1 = V8_KEY(2, 0, 0, 2, 2),
    OSLAR_EL1 = V8_KEY(2, 0, 1, 0, 4),
    OSLSR_EL1 = V8_KEY(2, 0, 1, 1, 4),
    OSDLR_EL1 = V8_KEY(2, 0, 1, 3, 4),
    DBGPRCR_EL1 = V8_KEY(2, 0, 1, 4, 4),
    DBGCLAIMSET_EL1 = V8_KEY(2, 0, 7, 8, 6),
    DBGCLAIMCLR_EL1 = V8_KEY(2, 0, 7, 9, 6),
    DBGAUTHSTATUS_EL1 = V8_KEY(2, 0, 7, 14, 6),
};
#define OSLSR_MODEL 8u // OSLM 0b10: there is a lock
#define OSLSR_OSLK  2u
#define CLAIM_TAGS  0xFFu

static void write_dtr(struct armv8 *v8, bool all, uint64_t value)
{
    struct v8_debug *d = &v8->debug;
    if (all)
        d->dtr_rx = value >> 32;
    d->dtr_tx = (uint32_t)value;
    d->control |= EDSCR_TXFULL;
}

static uint64_t read_dtr(struct armv8 *v8, bool all)
{
    struct v8_debug *d = &v8->debug;
    d->control &= ~EDSCR_RXFULL;
    return d->dtr_rx | (all ? (uint64_t)d->dtr_tx << 32 : 0);
}

static void set_os_lock(struct armv8 *v8, bool locked)
{
    struct v8_debug *d = &v8->debug;
    if (d->os_locked && !locked && (v8_catches(v8) & EDECR_OSUCE))
        d->edesr |= EDECR_OSUCE;
    d->os_locked = locked;
    v8_comparators_changed(v8);
}

// DBGBVRn, DBGBCRn, DBGWVRn, DBGWCRn: CRm is n, op2 which of the four
static bool comparator(struct armv8 *v8, unsigned key, bool write, uint64_t *value)
{
    struct v8_debug *d = &v8->debug;
    unsigned n = key >> 3 & 15, which = key & 7;
    if (key >> 7 != V8_KEY(2, 0, 0, 0, 0) >> 7 || which < 4 ||
        n >= (which < 6 ? (unsigned)V8_BREAKPOINTS : (unsigned)V8_WATCHPOINTS))
        return false;
    uint64_t *address = which == 4 ? &d->bvr[n] : &d->wvr[n % V8_WATCHPOINTS];
    uint32_t *control = which == 5 ? &d->bcr[n] : &d->wcr[n % V8_WATCHPOINTS];
    bool of_control = which & 1;
    if (write && of_control)
        *control = (uint32_t)*value;
    else if (write)
        *address = which == 4 && v8_value_bits(v8, n) == UINT32_MAX ? *value : *value & ~UINT64_C(3);
    else
        *value = of_control ? *control : *address;
    v8_comparators_changed(v8);
    return true;
}

static bool lock_register(struct armv8 *v8, unsigned key, bool write, uint64_t *value)
{
    struct v8_debug *d = &v8->debug;
    switch (key) {
    case OSLAR_EL1:
        if (write)
            set_os_lock(v8, *value & 1);
        return write;
    case OSLSR_EL1:
        *value = OSLSR_MODEL | (d->os_locked ? OSLSR_OSLK : 0);
        return !write;
    case OSDLR_EL1:
        if (write)
            d->double_lock = *value & 1;
        else
            *value = d->double_lock;
        return true;
    case DBGPRCR_EL1:
        if (write)
            d->edprcr = (d->edprcr & ~1u) | (*value & 1);
        else
            *value = d->edprcr & 1;
        return true;
    default:
        return false;
    }
}

bool v8_debug_register(struct armv8 *v8, unsigned key, bool write, uint64_t *value)
{
    struct v8_debug *d = &v8->debug;
    switch (key) {
    case MDCCSR_EL0:
        *value = d->control & (EDSCR_TXFULL | EDSCR_RXFULL);
        return !write;
    case DBGDTR_EL0:
    case DBGDTRRX_TX_EL0:
        if (write)
            write_dtr(v8, key == DBGDTR_EL0, *value);
        else
            *value = read_dtr(v8, key == DBGDTR_EL0);
        return true;
    case MDSCR_EL1:
        if (write)
            v8->regs[R_MDSCR] = *value;
        else
            *value = v8->regs[R_MDSCR];
        return true;
    case DBGCLAIMSET_EL1:
    case DBGCLAIMCLR_EL1:
        if (write)
            d->claims = (uint8_t)(key == DBGCLAIMSET_EL1 ? d->claims | *value : d->claims & ~*value);
        else
            *value = key == DBGCLAIMSET_EL1 ? CLAIM_TAGS : d->claims;
        return true;
    case DBGAUTHSTATUS_EL1:
        *value = v8_authstatus(v8);
        return !write;
    default:
        return lock_register(v8, key, write, value) || comparator(v8, key, write, value);
    }
}

/*
 * The link to an Armv7 model core: its debug registers by address, steps by the contract of link_execute, and
 * what can go wrong at an access.
 */
#pragma once

#include "model_armv7.h"

/* --- registers ------------------------------------------------------------------------------------------ */

static inline uint32_t model_read_dscr(struct model *m)
{
    m->complete_l = m->complete;
    m->tx_l = m->tx_full;
    m->rx_l = m->rx_full;
    return m->control | m->sticky | (m->halted ? 1 : 0) | (m->restarted ? 2 : 0) | m->moe << 2 |
           (m->complete_l ? 1U << 24 : 0) | (m->tx_l ? 1U << 26 | 1U << 29 : 0) |
           (m->rx_l ? 1U << 27 | 1U << 30 : 0);
}

static inline uint32_t model_read_tx(struct model *m)
{
    uint32_t value = m->dtr_tx;
    if (m->tx_l)
        m->tx_full = m->tx_l = false;
    return value;
}

static inline void model_write_drcr(struct model *m, uint32_t value)
{
    if (value & 4)
        m->sticky = 0;
    if ((value & 2) && m->halted && m->going == 0) {
        m->restarted = false;
        m->going = m->slow_exit;
        if (m->going == 0)
            model_leave(m);
    } else if ((value & 1) && !m->halted && model_halting(m)) {
        model_enter(m, 0);
    }
}

static inline uint32_t model_read_debug(struct model *m, uint32_t offset)
{
    bool sr = m->was_reset;
    switch (offset) {
    case 0x000:
        return 0x33141000;
    case 0x01C:
        return m->vcr;
    case 0x088:
        return model_read_dscr(m);
    case 0x08C:
        return model_read_tx(m);
    case 0x304:
        return 0x8 | (m->os_locked ? 2 : 0);
    case 0x310:
        return m->prcr;
    case 0x314:
        m->was_reset = false;
        return 1 | (sr ? 8 : 0);
    case 0xD00:
        return 0x413FC090;
    case 0xFB4:
        return m->has_lock && !m->lies ? 1 | (m->locked ? 2 : 0) : 0;
    case 0xFB8:
        return 0xAF;
    case MODEL_COUNTER:
        return m->counter;
    default:
        break;
    }
    if (offset >= 0x100 && offset < 0x100 + 4 * MODEL_COMPARATORS)
        return m->bvr[(offset - 0x100) / 4];
    if (offset >= 0x140 && offset < 0x140 + 4 * MODEL_COMPARATORS)
        return m->bcr[(offset - 0x140) / 4];
    return 0;
}

static inline void model_write_debug(struct model *m, uint32_t offset, uint32_t value)
{
    m->writes++;
    if (offset == 0xFB0) {
        m->locked = m->has_lock && value != 0xC5ACCE55;
        return;
    }
    if (m->locked) {
        m->careless += !m->lies;
        return;
    }
    if (offset == 0x300) {
        m->os_locked = value == 0xC5ACCE55;
        return;
    }
    if (offset == 0x310) {
        m->prcr = value & 1;
        m->careless += (value & 2) != 0; /* a reset */
    } else if (offset == 0x01C) {
        m->vcr = value;
    } else if (offset == 0x080) {
        if (m->rx_l)
            return;
        m->dtr_rx = value;
        m->rx_full = true;
    } else if (offset == 0x084) {
        model_write_itr(m, value);
    } else if (offset == 0x088) {
        m->control = value & 0x0038FC00;
        m->careless += (value & 0x2000) && !m->halted;
    } else if (offset == 0x090) {
        model_write_drcr(m, value);
    } else if (offset >= 0x100 && offset < 0x100 + 4 * MODEL_COMPARATORS) {
        model_write_bvr(m, (offset - 0x100) / 4, value);
    } else if (offset >= 0x140 && offset < 0x140 + 4 * MODEL_COMPARATORS) {
        m->bcr[(offset - 0x140) / 4] = value;
    }
}

/* --- the link ------------------------------------------------------------------------------------------- */

static inline bool model_read(struct model *m, uint64_t at, uint64_t *value)
{
    *value = model_read_debug(m, (uint32_t)at - MODEL_BASE);
    return true;
}

static inline bool model_write(struct model *m, uint64_t at, uint32_t value)
{
    model_write_debug(m, (uint32_t)at - MODEL_BASE, value);
    return true;
}

static inline void model_age(struct model *m)
{
    (void)m;
}

#include "model_arm_link.h"

/* A Cortex-A9 r3p0, locked in both ways, reset some time ago. */
static inline void model_init(struct model *m, const struct model_event *script, size_t n)
{
    static const struct link_ops ops = {.execute = model_execute, .exact_faults = true, .comes_back = true};
    *m = (struct model){.link.ops = &ops,
                        .script = script,
                        .n_script = n,
                        .pc = 0x180,
                        .cpsr = 0x1F,
                        .program_cpsr = 0x1F,
                        .has_lock = true,
                        .locked = true,
                        .os_locked = true,
                        .was_reset = true,
                        .restarted = true,
                        .complete = true,
                        .control = 0x8000,
                        .bvr = {0x7000, 0x7100, 0x7200, 0x7300},
                        .counter = 0xFFFFFF00,
                        .limit = 200000,
                        .trouble_at = -1,
                        .trouble_again = -1};
    model_load_event(m);
    m->left += 1000;
}

/* Another debugger's breakpoint, at a place that is never reached: then ours is not the only one. */
static inline void model_add_theirs(struct model *m)
{
    m->os_locked = false; /* or it could not be theirs */
    m->control |= 0x4000;
    m->bvr[0] = 0xC000;
    m->bcr[0] = MODEL_ON;
}

/* The program has what is there now. */
static inline void model_forget_r0(struct model *m)
{
    m->r[0] = m->program_r0;
}

/* The first thing that is not as it was; NULL: all is. */
static inline const char *model_difference(const struct model *m, const struct model *before)
{
    return memcmp(m->bvr, before->bvr, sizeof m->bvr) != 0   ? "DBGBVR"
           : memcmp(m->bcr, before->bcr, sizeof m->bcr) != 0 ? "DBGBCR"
           : m->control != before->control                   ? "DBGDSCR"
           : m->vcr != before->vcr                           ? "DBGVCR"
           : m->prcr != before->prcr                         ? "DBGPRCR"
           : m->locked != before->locked                     ? "the software lock"
           : m->os_locked != before->os_locked               ? "the OS lock"
           : m->halted != before->halted                     ? "halted"
           : m->corrupted                                    ? "a register was changed"
           : m->r[0] != m->program_r0                        ? "R0"
           : m->careless                                     ? "something unpredictable was done"
           : m->strayed                                      ? "an interrupt was taken in a step"
                                                             : NULL;
}

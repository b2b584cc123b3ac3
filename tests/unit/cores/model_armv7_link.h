/*
 * The link to an Armv7 model core: its debug registers by address, steps by the contract of link_execute, and
 * what can go wrong at an access.
 */
#pragma once

#include "model_armv7.h"

/* --- registers ------------------------------------------------------------------------------------------ */

static inline uint32_t v7_read_dscr(struct v7_model *m)
{
    m->complete_l = m->complete;
    m->tx_l = m->tx_full;
    m->rx_l = m->rx_full;
    return m->control | m->sticky | (m->halted ? 1 : 0) | (m->restarted ? 2 : 0) | m->moe << 2 |
           (m->complete_l ? 1U << 24 : 0) | (m->tx_l ? 1U << 26 | 1U << 29 : 0) |
           (m->rx_l ? 1U << 27 | 1U << 30 : 0);
}

static inline uint32_t v7_read_tx(struct v7_model *m)
{
    uint32_t value = m->dtr_tx;
    if (m->tx_l)
        m->tx_full = m->tx_l = false;
    return value;
}

static inline void v7_write_drcr(struct v7_model *m, uint32_t value)
{
    if (value & 4)
        m->sticky = 0;
    if ((value & 2) && m->halted && m->going == 0) {
        m->restarted = false;
        m->going = m->slow_exit;
        if (m->going == 0)
            v7_leave(m);
    } else if ((value & 1) && !m->halted && v7_halting(m)) {
        v7_enter(m, 0);
    }
}

static inline uint32_t v7_read(struct v7_model *m, uint32_t offset)
{
    bool sr = m->was_reset;
    switch (offset) {
    case 0x000:
        return m->extended ? 0x33131000 : 0x33141000;
    case 0x01C:
        return m->vcr;
    case 0x088:
        return v7_read_dscr(m);
    case 0x08C:
        return v7_read_tx(m);
    case 0x304:
        return 0x8 | (m->os_locked ? 2 : 0);
    case 0x314:
        m->was_reset = false;
        return 1 | (sr ? 8 : 0);
    case 0xD00:
        return 0x413FC090;
    case 0xFB4:
        return m->has_lock ? 1 | (m->locked ? 2 : 0) : 0;
    case 0xFB8:
        return 0xAF;
    case V7_COUNTER:
        return m->counter;
    default:
        break;
    }
    if (offset >= 0x100 && offset < 0x100 + 4 * V7_COMPARATORS)
        return m->bvr[(offset - 0x100) / 4];
    if (offset >= 0x140 && offset < 0x140 + 4 * V7_COMPARATORS)
        return m->bcr[(offset - 0x140) / 4];
    return 0;
}

static inline void v7_write(struct v7_model *m, uint32_t offset, uint32_t value)
{
    m->writes++;
    if (offset == 0xFB0) {
        m->locked = m->has_lock && value != 0xC5ACCE55;
        return;
    }
    if (m->locked) {
        m->careless++;
        return;
    }
    if (offset == 0x300) {
        m->os_locked = value == 0xC5ACCE55;
        return;
    }
    if (offset == 0x01C) {
        m->vcr = value;
    } else if (offset == 0x080) {
        if (m->rx_l)
            return;
        m->dtr_rx = value;
        m->rx_full = true;
    } else if (offset == 0x084) {
        v7_write_itr(m, value);
    } else if (offset == 0x088) {
        m->control = value & 0x0038FC00;
        m->careless += (value & 0x2000) && !m->halted;
    } else if (offset == 0x090) {
        v7_write_drcr(m, value);
    } else if (offset >= 0x100 && offset < 0x100 + 4 * V7_COMPARATORS) {
        v7_write_bvr(m, (offset - 0x100) / 4, value);
    } else if (offset >= 0x140 && offset < 0x140 + 4 * V7_COMPARATORS) {
        m->bcr[(offset - 0x140) / 4] = value;
    }
}

/* --- the link ------------------------------------------------------------------------------------------- */

/* One more access: time passes, and what was to happen at it happens. */
static inline enum why v7_begin_access(struct v7_model *m, bool *after)
{
    long now = m->accesses++;
    *after = false;
    if (now >= m->limit) {
        m->hung = true;
        return LINK_LOST;
    }
    if (m->going > 0 && --m->going == 0)
        v7_leave(m);
    if (m->doing > 0 && --m->doing == 0)
        v7_do(m);
    v7_advance(m, 10);
    if (now != m->trouble_at && now != m->trouble_again)
        return DONE;
    switch (m->what) {
    case V7_FINE:
        break;
    case V7_CANCEL:
        m->cancelled = 1;
        return NOT_YET;
    case V7_LOSE:
    case V7_LOSE_AFTER:
        *after = m->what == V7_LOSE_AFTER;
        return LINK_LOST;
    case V7_DO_RESET:
        v7_reset(m);
        break;
    case V7_DO_HALT:
        m->pc += m->halted ? 0 : 0x20; /* between the script's addresses */
        v7_request(m);
        break;
    case V7_DO_PEND:
        v7_pend(m);
        break;
    }
    return DONE;
}

static inline struct outcome v7_access(struct v7_model *m, const struct step *step, uint64_t *result)
{
    uint32_t offset = (uint32_t)step->at.offset - V7_BASE;
    for (unsigned polls = 1;; polls++) {
        bool after;
        enum why why = v7_begin_access(m, &after);
        if (why != DONE && !after)
            return (struct outcome){.why = why};
        if (step->op == OP_WRITE)
            v7_write(m, offset, (uint32_t)step->value);
        else
            *result = v7_read(m, offset);
        if (after)
            return (struct outcome){.why = why};
        if (step->op == OP_READ || step->op == OP_WRITE || (*result & step->mask) == step->value)
            return (struct outcome){.why = DONE};
        if (step->op == OP_EXPECT)
            return (struct outcome){.why = UNEXPECTED, .saw = *result};
        if (polls >= 200)
            return (struct outcome){.why = NOT_YET, .saw = *result};
    }
}

static inline struct outcome v7_execute(struct link *link, const struct step *steps, size_t n,
                                        uint64_t *results, const struct deadline *deadline,
                                        struct error *error)
{
    struct v7_model *m = (struct v7_model *)link;
    (void)deadline;
    for (size_t i = 0; i < n; i++) {
        if (steps[i].op == OP_TIME) {
            results[i] = (m->wall + (steps[i].value == TIME_AFTER ? V7_MHZ - 1 : 0)) / V7_MHZ;
            continue;
        }
        uint64_t result = 0;
        struct outcome outcome = v7_access(m, &steps[i], &result);
        outcome.done = i;
        if (outcome.why == LINK_LOST)
            error_set(error, ERROR_LINK_LOST, "the link is gone");
        if (outcome.why != DONE)
            return outcome;
        results[i] = result;
    }
    return (struct outcome){.why = DONE, .done = n};
}

/* A Cortex-A9 r3p0, locked in both ways, reset some time ago. */
static inline void v7_init(struct v7_model *m, const struct v7_event *script, size_t n)
{
    static const struct link_ops ops = {.execute = v7_execute, .exact_faults = true, .comes_back = true};
    *m = (struct v7_model){.link.ops = &ops,
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
    v7_load_event(m);
    m->left += 1000;
}

/* The first thing that is not as it was; NULL: all is. */
static inline const char *v7_difference(const struct v7_model *m, const struct v7_model *before)
{
    return memcmp(m->bvr, before->bvr, sizeof m->bvr) != 0   ? "DBGBVR"
           : memcmp(m->bcr, before->bcr, sizeof m->bcr) != 0 ? "DBGBCR"
           : m->control != before->control                   ? "DBGDSCR"
           : m->vcr != before->vcr                           ? "DBGVCR"
           : m->locked != before->locked                     ? "the software lock"
           : m->os_locked != before->os_locked               ? "the OS lock"
           : m->halted != before->halted                     ? "halted"
           : m->corrupted                                    ? "a register was changed"
           : m->r[0] != m->program_r0                        ? "R0"
           : m->careless                                     ? "something unpredictable was done"
           : m->strayed                                      ? "an interrupt was taken in a step"
                                                             : NULL;
}

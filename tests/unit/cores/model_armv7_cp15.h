/*
 * The performance monitor of an Armv7 model core in CP15 (DDI 0406C B4.1, B3.17) and the instructions by
 * which a debugger reaches it. For model_armv7.h, which has the rest of the core.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { V7_EVENT_COUNTERS = 3 };

struct v7_monitor {
    uint32_t control, enabled, overflown, interrupts, user, select;
    uint32_t type[V7_EVENT_COUNTERS], value[V7_EVENT_COUNTERS];
    uint32_t select_is_new, mode_is_new; /* no ISB since: not certain to be seen yet */
};

/* What an access of c9 finds; NULL: there is nothing. The cycle counter is the core's. */
static inline uint32_t *v7_monitor_word(struct v7_monitor *p, uint32_t *cycles, uint32_t crm, uint32_t op2)
{
    bool selected = p->select < V7_EVENT_COUNTERS;
    switch (crm << 4 | op2) {
    case 0xC0:
        return &p->control;
    case 0xC1:
    case 0xC2:
        return &p->enabled;
    case 0xC3:
        return &p->overflown;
    case 0xC5:
        return &p->select;
    case 0xD0:
        return cycles;
    case 0xD1:
        return selected ? &p->type[p->select] : NULL;
    case 0xD2:
        return selected ? &p->value[p->select] : NULL;
    case 0xE0:
        return &p->user;
    case 0xE1:
    case 0xE2:
        return &p->interrupts;
    default:
        return NULL;
    }
}

/* false: undefined. `careless` counts what the architecture leaves open. */
static inline bool v7_monitor_access(struct v7_monitor *p, uint32_t *cycles, uint32_t op, bool user,
                                     uint32_t *r, unsigned *careless)
{
    uint32_t crm = op & 0xF, op2 = op >> 5 & 7, what = crm << 4 | op2;
    uint32_t *word = v7_monitor_word(p, cycles, crm, op2);
    bool read = (op & 0x00100000) != 0, uses_select = what == 0xD1 || what == 0xD2;
    *careless += p->mode_is_new || (uses_select && p->select_is_new) || word == NULL;
    if (word == NULL || (user && (!(p->user & 1) || what == 0xE1 || what == 0xE2 || (what == 0xE0 && !read))))
        return false;
    if (read) {
        *r = *word;
        return true;
    }
    p->select_is_new |= what == 0xC5;
    if (what == 0xC1 || what == 0xE1)
        *word |= *r;
    else if (what == 0xC2 || what == 0xC3 || what == 0xE2)
        *word &= ~*r;
    else
        *word = *r;
    return true;
}

static inline bool v7_is_of_monitor(uint32_t op)
{
    return (op & 0xFFEF0F10) == 0xEE090F10;
}

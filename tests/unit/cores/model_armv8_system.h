/*
 * System registers and memory of an Armv8-A model core, as instructions in Debug state reach them (DDI 0487
 * C5.2, D13.3, J1.3). For model_armv8.h, which has the rest of the core.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { V8_RAM = 0x9000, V8_RAM_WORDS = 64, V8_RAM_VALUE = 0x5EE00000 };

static const uint64_t V8_GARBAGE = 0xDEAD0BADDEAD1BAD;

struct v8_system {
    uint64_t dlr, dspsr, elr, spsr, esr, far; /* what an exception in Debug state overwrites */
    uint64_t control, enabled, user;          /* the PMU */
    bool is_new;                              /* written, and no ISB since */
};

/* NULL: the core lacks it. */
static inline uint64_t *v8_system_register(struct v8_system *s, uint32_t which)
{
    switch (which) {
    case 0x1B4520:
        return &s->dlr;
    case 0x1B4500:
        return &s->dspsr;
    case 0x184020:
        return &s->elr;
    case 0x184000:
        return &s->spsr;
    case 0x185200:
        return &s->esr;
    case 0x186000:
        return &s->far;
    case 0x1B9C00:
        return &s->control;
    case 0x1B9C20:
    case 0x1B9C40:
        return &s->enabled;
    case 0x1B9E00:
        return &s->user;
    default:
        return NULL;
    }
}

/* To EL1: which instruction it was cannot be known afterwards. */
static inline bool v8_system_exception(struct v8_system *s)
{
    s->dlr = s->dspsr = s->elr = s->spsr = s->esr = s->far = V8_GARBAGE;
    return false;
}

static inline bool v8_system_move(struct v8_system *s, uint32_t op, uint64_t *x)
{
    uint32_t which = op & 0x1FFFE0;
    uint64_t *word = v8_system_register(s, which);
    if (word == NULL)
        return v8_system_exception(s);
    if (op & 1 << 21)
        *x = *word;
    else if (which == 0x1B9C20)
        *word |= *x;
    else if (which == 0x1B9C40)
        *word &= ~*x;
    else
        *word = *x;
    s->is_new = s->is_new || (!(op & 1 << 21) && (which & 0xF000) == 0x9000);
    return true;
}

/* An instruction with X0 in its register fields. *known: it is one of these. False: an exception. */
static inline bool v8_system_do(struct v8_system *s, uint32_t op, uint64_t *x, bool *known)
{
    uint32_t half = op >> 5 & 0xFFFF, shift = 16 * (op >> 21 & 3);
    *known = true;
    if (op >> 23 == 0x1A5) { /* MOVZ */
        *x = (uint64_t)half << shift;
    } else if (op >> 23 == 0x1E5) { /* MOVK */
        *x = (*x & ~((uint64_t)0xFFFF << shift)) | (uint64_t)half << shift;
    } else if (op == 0xB9400000) { /* LDR W0, [X0] */
        if (*x < V8_RAM || *x >= V8_RAM + 4 * V8_RAM_WORDS || *x % 4 != 0)
            return v8_system_exception(s);
        *x = V8_RAM_VALUE + (*x - V8_RAM) / 4;
    } else if ((op & 0xFFD0001F) == 0xD5100000) { /* MRS, MSR */
        return v8_system_move(s, op, x);
    } else {
        *known = false;
    }
    return true;
}

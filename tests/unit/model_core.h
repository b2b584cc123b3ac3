/*
 * One Cortex-M as a debugger sees it, register by register, for unit tests. It runs a script instead of code:
 * a list of addresses that are reached, and of other things that happen, each some cycles later. Written from
 * the architecture (DDI 0403 C1, B3.3) with its numbers written out, without the tool's own constants.
 */
#pragma once

#include "links/link.h"

#include <string.h>

enum { MODEL_COMPARATORS = 8, MODEL_CELLS = 128 };

enum model_kind {
    MODEL_AT,     /* an address is reached */
    MODEL_PEND,   /* an interrupt pends */
    MODEL_RESET,  /* the core is reset and begins the script again */
    MODEL_LOCKUP, /* the core locks up */
    MODEL_HALT,   /* another debugger asks for a halt, at `pc` */
    MODEL_SLEEP   /* the core sleeps for `length` cycles */
};

struct model_event {
    enum model_kind kind;
    uint32_t cycles; /* after the event before */
    uint32_t grow;   /* and as many more in each round of the script */
    uint32_t pc, sp, lr, psp, ipsr;
    uint32_t length;
    bool pended; /* MODEL_AT: just as an interrupt pends */
};

enum model_trouble {
    TROUBLE_NONE,
    TROUBLE_SLICE,      /* the link returns NOT_YET before the step */
    TROUBLE_CANCEL,     /* likewise, and the user has had enough */
    TROUBLE_WAIT,       /* TARGET_WAIT */
    TROUBLE_FAULT,      /* TARGET_FAULT */
    TROUBLE_LOST,       /* LINK_LOST, and the step was not done */
    TROUBLE_LOST_AFTER, /* LINK_LOST, and the step was done */
    TROUBLE_UNHEARD,    /* the same, and more accesses of the list were made than is known */
    TROUBLE_RESET,
    TROUBLE_PEND,
    TROUBLE_HALT, /* another debugger asks for a halt */
    TROUBLE_LOOK, /* another debugger finds the core halted, and clears the cause, as OpenOCD's poll does */
};

struct model_core {
    struct link link;

    /* What it is like. */
    uint32_t cpuid, pace;            /* core cycles that one access takes */
    uint32_t leave_cost, enter_cost; /* of Debug state, as counters see it */
    uint32_t handler;                /* cycles of an interrupt's handler */
    uint32_t stale, stale_step;      /* accesses for which the core stays in Debug state when it is to go */
    unsigned stale_only;             /* 0: each time, else only the so-manieth time (from 1) */
    uint32_t transfer;               /* accesses until a register transfer is done */
    unsigned transfer_only;          /* likewise */
    uint32_t slice;                  /* reads of an OP_UNTIL until NOT_YET */
    bool ram_is_rom, deep_sleep;     /* accesses to a sleeping core wait */
    bool steps_into_handlers;        /* whatever C_MASKINTS says: Cortex-M7 r0, 702596 */
    bool halts_in_handler;           /* a breakpoint reached just then halts it there: Cortex-M7, 3092511 */

    uint32_t lead; /* cycles until the script begins, also after a reset */
    const struct model_event *script;
    size_t n_script, loop, next; /* after the last event `loop` follows */
    uint64_t left, busy, asleep; /* cycles: to the next event, of a handler before that, of sleep */
    unsigned round;

    uint32_t pc, sp, lr, psp, xpsr;
    bool in_handler; /* halted there: so it goes back to these */
    uint32_t back_pc, back_xpsr;
    bool halted, locked_up, pending, debug, maskints, step, was_reset;
    uint32_t going, transfer_left;
    uint32_t dcrdr, dcrdr_next, demcr, dfsr, fp_ctrl, comparators[MODEL_COMPARATORS];
    uint32_t dwt_ctrl, cyccnt, csr, rvr, cvr;
    bool lacks_systick; /* its registers read as zero and ignore writes: an assumption, no chip was seen */
    struct model_cell {
        uint32_t address;
        uint16_t code;
    } cells[MODEL_CELLS];
    size_t n_cells;

    uint64_t wall;           /* cycles since the beginning, halted or not */
    long accesses, lists;    /* so far */
    long limit;              /* of accesses; more of them is taken for a hang */
    size_t steps_a_call;     /* that a call of the link takes of a list; 0: all */
    long trouble_at;         /* the access (from 0) at which ... */
    long trouble_for;        /* ... and for this number ... */
    enum model_trouble what; /* ... this happens */
    volatile sig_atomic_t cancelled;
    bool unheard;
    bool lost, hung, foreign; /* foreign: another debugger's halt was carried out, at foreign_pc */
    uint32_t foreign_pc;
    bool pended_halted; /* an interrupt pended in Debug state */
    unsigned entries;   /* into Debug state */
    unsigned resumes;   /* how often it was let go, steps included */
    unsigned careless;  /* C_MASKINTS changed by the write that leaves Debug state: unpredictable */
    unsigned transfers;
    unsigned hasty;     /* transfers that were asked for before the one before was done: unpredictable */
    unsigned escalated; /* breakpoints met with debug switched off */
};

static const uint32_t MODEL_VECTOR = 0x00000100; /* where a reset leads */
static const uint32_t MODEL_RAM = 0x20000000;
static const uint32_t MODEL_HANDLER = 0x3000;

/* --- memory --------------------------------------------------------------------------------------------- */

static inline struct model_cell *model_cell(struct model_core *m, uint32_t address)
{
    for (size_t i = 0; i < m->n_cells; i++)
        if (m->cells[i].address == address)
            return &m->cells[i];
    if (m->n_cells == MODEL_CELLS)
        return &m->cells[MODEL_CELLS - 1];
    m->cells[m->n_cells] = (struct model_cell){.address = address, .code = 0xBF00};
    return &m->cells[m->n_cells++];
}

static inline uint16_t model_halfword(const struct model_core *m, uint32_t address)
{
    for (size_t i = 0; i < m->n_cells; i++)
        if (m->cells[i].address == address)
            return m->cells[i].code;
    return 0xBF00;
}

static inline void model_poke(struct model_core *m, uint32_t address, uint32_t word)
{
    model_cell(m, address)->code = (uint16_t)word;
    model_cell(m, address + 2)->code = (uint16_t)(word >> 16);
}

/* --- time and counters ---------------------------------------------------------------------------------- */

static inline void model_count(struct model_core *m, uint64_t n)
{
    if ((m->demcr & 0x01000000) && (m->dwt_ctrl & 1))
        m->cyccnt += (uint32_t)n;
    if (!(m->csr & 1))
        return;
    uint64_t period = (uint64_t)m->rvr + 1, position = m->cvr == 0 ? 0 : period - m->cvr;
    position = (position + n) % period;
    m->cvr = position == 0 ? 0 : (uint32_t)(period - position);
}

static inline void model_enter_debug(struct model_core *m, uint32_t cause)
{
    model_count(m, m->enter_cost);
    m->halted = true;
    m->dfsr |= cause;
    m->entries++;
}

static inline bool model_compares(const struct model_core *m, uint32_t comparator)
{
    if (!(comparator & 1))
        return false;
    if (m->fp_ctrl >> 28 != 0)
        return (comparator & 0xFFFFFFFE) == m->pc;
    uint32_t halves = comparator >> 30;
    return m->pc < MODEL_RAM && (comparator & 0x1FFFFFFC) == (m->pc & 0x1FFFFFFC) &&
           (halves & (m->pc & 2 ? 2 : 1)) != 0;
}

static inline bool model_breaks(const struct model_core *m)
{
    if ((model_halfword(m, m->pc) & 0xFF00) == 0xBE00)
        return true;
    for (size_t i = 0; (m->fp_ctrl & 1) && i < MODEL_COMPARATORS; i++)
        if (model_compares(m, m->comparators[i]))
            return true;
    return false;
}

/* About to execute the instruction at the PC. */
static inline void model_arrive(struct model_core *m)
{
    if (!model_breaks(m))
        return;
    if (m->debug)
        model_enter_debug(m, 0x2);
    else
        m->escalated++;
}

static inline void model_be_in_handler(struct model_core *m)
{
    m->in_handler = true;
    m->back_pc = m->pc;
    m->back_xpsr = m->xpsr;
    m->pc = MODEL_HANDLER;
    m->xpsr = 0x01000013;
}

/* An interrupt is taken before the instruction at the PC. */
static inline void model_take(struct model_core *m)
{
    m->busy = m->handler;
    if (!m->halts_in_handler || !m->debug || !model_breaks(m))
        return;
    model_be_in_handler(m);
    model_enter_debug(m, 0x2);
}

static inline void model_leave_handler(struct model_core *m)
{
    if (m->in_handler) {
        m->pc = m->back_pc;
        m->xpsr = m->back_xpsr;
    }
    m->in_handler = false;
    model_arrive(m);
}

static inline void model_load_event(struct model_core *m)
{
    if (m->next >= m->n_script) {
        m->next = m->loop;
        m->round++;
    }
    m->left = m->next < m->n_script ? m->script[m->next].cycles + (uint64_t)m->script[m->next].grow * m->round
                                    : UINT64_MAX;
}

static inline void model_reach(struct model_core *m, const struct model_event *event)
{
    m->pc = event->pc;
    m->sp = event->sp;
    m->lr = event->lr;
    m->psp = event->psp;
    m->xpsr = 0x01000000 | event->ipsr;
}

static inline void model_pend(struct model_core *m)
{
    m->pended_halted = m->pended_halted || m->halted;
    if (m->halted)
        m->pending = true;
    else
        m->busy += m->handler;
}

static inline void model_reset(struct model_core *m)
{
    m->pc = MODEL_VECTOR;
    m->sp = 0x20008000;
    m->lr = 0xFFFFFFFF;
    m->xpsr = 0x01000000;
    m->pending = m->maskints = m->step = m->locked_up = m->in_handler = false;
    m->busy = m->asleep = m->going = 0;
    m->csr = m->cvr = m->cyccnt = 0;
    m->was_reset = true;
    m->demcr &= ~0xF0000U; /* the bits of the DebugMonitor */
    m->next = 0;
    model_load_event(m);
    m->left += m->left == UINT64_MAX ? 0 : m->lead;
    m->halted = m->debug && (m->demcr & 1);
    if (m->halted)
        m->dfsr |= 0x8;
}

static inline void model_halt_request(struct model_core *m, uint32_t pc)
{
    if (m->halted || !m->debug)
        return;
    m->pc = m->foreign_pc = pc;
    m->foreign = true;
    model_enter_debug(m, 0x1);
}

static inline void model_happen(struct model_core *m)
{
    const struct model_event *event = &m->script[m->next++];
    model_load_event(m);
    switch (event->kind) {
    case MODEL_AT:
        model_reach(m, event);
        event->pended ? model_take(m) : model_arrive(m);
        break;
    case MODEL_PEND:
        model_pend(m);
        break;
    case MODEL_RESET:
        model_reset(m);
        break;
    case MODEL_LOCKUP:
        m->locked_up = true;
        break;
    case MODEL_HALT:
        model_halt_request(m, event->pc);
        break;
    case MODEL_SLEEP:
        m->asleep = event->length;
        break;
    }
}

static inline void model_advance(struct model_core *m, uint64_t cycles)
{
    m->wall += cycles;
    while (cycles > 0 && !m->halted && !m->locked_up) {
        uint64_t *what = m->asleep > 0 ? &m->asleep : m->busy > 0 ? &m->busy : &m->left;
        uint64_t taken = *what < cycles ? *what : cycles;
        *what -= taken;
        cycles -= taken;
        if (what != &m->asleep)
            model_count(m, taken);
        if (what == &m->busy && m->busy == 0)
            model_leave_handler(m);
        else if (what == &m->left && m->left == 0)
            model_happen(m);
    }
}

/* --- leaving Debug state -------------------------------------------------------------------------------- */

static inline void model_go(struct model_core *m)
{
    model_count(m, m->leave_cost);
    m->halted = false;
    if (m->pending && m->step && m->steps_into_handlers) {
        m->pending = false;
        m->busy = m->handler;
        model_be_in_handler(m);
        model_enter_debug(m, 0x1);
        return;
    }
    if (m->pending && !m->maskints && !m->in_handler) {
        m->pending = false;
        model_take(m);
    } else if (!m->in_handler) {
        model_arrive(m);
    }
    if (!m->step || m->halted)
        return;
    model_count(m, 1);
    const struct model_event *event = m->next < m->n_script ? &m->script[m->next] : NULL;
    if (event != NULL && event->kind == MODEL_AT && m->left <= 1) {
        m->next++;
        model_load_event(m);
        model_reach(m, event);
    } else {
        m->left -= m->left > 1;
        m->pc += 2;
    }
    model_enter_debug(m, 0x1);
}

static inline void model_write_dhcsr(struct model_core *m, uint32_t value)
{
    if (value >> 16 != 0xA05F)
        return;
    bool maskints = value & 0x8, halt = value & 0x2, was_debug = m->debug;
    m->debug = value & 0x1;
    if (!m->debug) {
        m->maskints = m->step = false;
        m->going = 0;
        if (m->halted)
            model_go(m);
        return;
    }
    if (m->halted && !halt && m->going == 0 && maskints != m->maskints)
        m->careless++;
    m->maskints = maskints;
    if (!m->halted && halt && was_debug)
        model_enter_debug(m, 0x1);
    if (!m->halted || halt)
        return;
    m->step = value & 0x4;
    m->resumes++;
    bool slow = m->stale_only == 0 || m->resumes == m->stale_only;
    m->going = !slow ? 0 : m->step ? m->stale_step : m->stale;
    if (m->going == 0)
        model_go(m);
}

static inline uint32_t model_read_dhcsr(struct model_core *m)
{
    bool ready = m->transfer_left == 0;
    uint32_t value = (m->debug ? 0x1U : 0) | (m->halted ? 0x20002U : 0) | (m->step ? 0x4U : 0) |
                     (m->maskints ? 0x8U : 0) | (ready ? 0x10000U : 0) |
                     (m->asleep > 0 && !m->halted ? 0x40000U : 0) | (m->locked_up ? 0x80000U : 0) |
                     (m->was_reset ? 0x03000000U : 0); /* it had run before */
    m->was_reset = false;
    return value;
}

static inline uint32_t model_register(const struct model_core *m, uint32_t selector)
{
    if (!m->halted)
        return 0xDEADBEEE; /* unknown */
    return selector == 13 || selector == 17 ? m->sp
           : selector == 14                 ? m->lr
           : selector == 15                 ? m->pc
           : selector == 16                 ? m->xpsr
           : selector == 18                 ? m->psp
                                            : 0;
}

static inline void model_transfer(struct model_core *m, uint32_t selector)
{
    m->dcrdr_next = model_register(m, selector);
    m->hasty += m->transfer_left > 0;
    m->transfers++;
    bool late = m->transfer_only == 0 || m->transfers == m->transfer_only;
    m->transfer_left = late ? m->transfer : 0;
    if (m->transfer_left == 0)
        m->dcrdr = m->dcrdr_next;
}

/*
 * One Armv7 core as a debugger sees it through its debug registers, for unit tests. It runs a script instead
 * of code: addresses that are reached, and other things that happen, so many cycles apart. Written from the
 * architecture (DDI 0406C C3, C5, C8, C11) with its numbers written out, without the tool's own constants.
 * What the architecture leaves unpredictable is counted in `careless`.
 */
#pragma once

#include "links/link.h"
#include "model_armv7_cp15.h"

#include <signal.h>
#include <string.h>

enum { V7_COMPARATORS = 4, V7_BASE = 0x1000, V7_COUNTER = 0x2000, V7_MHZ = 100, V7_COST = 11 };

enum v7_kind {
    V7_AT,    /* an address is reached */
    V7_BKPT,  /* a BKPT instruction of the program's, at `pc` */
    V7_HALT,  /* somebody else asks for a halt, at `pc` */
    V7_RESET, /* the core is reset, and begins the script again */
};

struct v7_event {
    enum v7_kind kind;
    uint32_t cycles, grow; /* after the event before, and so many more in each round of the script */
    uint32_t pc, sp, lr;   /* bit 0 of pc: Thumb */
    uint32_t user;         /* not 0: in User mode, and this is CONTEXTIDR */
    uint32_t context;      /* what it is in System mode */
};

enum v7_trouble { V7_FINE, V7_CANCEL, V7_LOSE, V7_LOSE_AFTER, V7_DO_RESET, V7_DO_HALT, V7_DO_PEND };

struct v7_model {
    struct link link;
    const struct v7_event *script;
    size_t n_script, next;
    unsigned round;
    uint64_t left, busy; /* cycles: to the next event, of a handler before that */

    uint32_t r[15], pc, cpsr, context;
    uint32_t program_r0, program_cpsr, program_select; /* what the program has in them */
    struct v7_monitor monitor;
    bool halted, pending;
    uint32_t going, slow_exit; /* accesses until Debug state is left */
    uint32_t doing, slow_itr;  /* accesses until an instruction is done */
    uint32_t instruction, moe;
    bool restarted, complete, complete_l, tx_full, tx_l, rx_full, rx_l;
    uint32_t control, sticky, dtr_tx, dtr_rx;
    uint32_t bvr[V7_COMPARATORS], bcr[V7_COMPARATORS], vcr;
    bool extended;           /* the core reaches all debug registers by CP14 ... */
    bool refuses;            /* ... but does not do it */
    bool narrow;             /* no comparator holds a whole word */
    unsigned taken, refused; /* messages in DBGDTRTX; instructions */
    bool has_lock, locked, os_locked, was_reset;
    uint32_t counter;

    uint64_t wall;
    long accesses, writes, limit;
    long trouble_at, trouble_again;
    enum v7_trouble what;
    volatile sig_atomic_t cancelled;
    bool hung;
    unsigned careless;  /* what is unpredictable or ignored */
    unsigned corrupted; /* the program went on with another R0, CPSR or PMSELR than it had */
    unsigned strayed;   /* an interrupt was taken in a step */
    unsigned entries;
};

/* --- running -------------------------------------------------------------------------------------------- */

static inline bool v7_thumb(const struct v7_model *m)
{
    return (m->cpsr & 0x20) != 0;
}

static inline bool v7_halting(const struct v7_model *m)
{
    return (m->control & 0x4000) && !m->os_locked;
}

static inline void v7_enter(struct v7_model *m, uint32_t moe)
{
    m->counter += 7;
    m->halted = m->complete = true;
    m->moe = moe;
    m->entries++;
}

/* The last two comparators can compare CONTEXTIDR. */
static inline bool v7_in_context(struct v7_model *m, unsigned n)
{
    bool can =
        n >= V7_COMPARATORS - 2 && n < V7_COMPARATORS && (m->bcr[n] & 1) && (m->bcr[n] >> 20 & 0xF) == 3;
    m->careless += !can;
    return can && m->bvr[n] == m->context;
}

static inline bool v7_hits(struct v7_model *m, unsigned i)
{
    uint32_t bcr = m->bcr[i], bytes = bcr >> 5 & 0xF, kind = bcr >> 20 & 0xF;
    if (!(bcr & 1))
        return false;
    if ((bcr >> 1 & 3) != 3 || (kind > 1 && kind != 3 && kind != 4) || (kind == 3 && bytes != 0xF) ||
        (!v7_thumb(m) && bytes != 0xF && m->bvr[i] == m->pc))
        m->careless++;
    uint32_t wanted = !v7_thumb(m) ? 0xF : m->pc & 2 ? 0xC : 0x3;
    bool same = m->bvr[i] == (m->pc & ~3U) && (bytes & wanted) == wanted;
    if (kind == 4)
        return !same;
    return kind != 3 && same && (kind == 0 || v7_in_context(m, bcr >> 16 & 0xF));
}

/* About to execute what stands at the PC. */
static inline void v7_arrive(struct v7_model *m)
{
    for (unsigned i = 0; v7_halting(m) && i < V7_COMPARATORS && !m->halted; i++)
        if (v7_hits(m, i))
            v7_enter(m, 1);
}

static inline void v7_load_event(struct v7_model *m)
{
    if (m->next >= m->n_script) {
        m->next = 0;
        m->round++;
    }
    m->left = m->script[m->next].cycles + (uint64_t)m->script[m->next].grow * m->round;
}

static inline void v7_reach(struct v7_model *m, const struct v7_event *event)
{
    m->pc = event->pc & ~1U;
    m->context = event->user ? event->user : event->context;
    m->cpsr = m->program_cpsr = (event->user ? 0x10U : 0x1FU) | (event->pc & 1 ? 0x20U : 0);
    m->r[13] = event->sp;
    m->r[14] = event->lr;
    m->r[0] = m->program_r0 = 0x11111111 * (m->round % 13 + 1);
}

static inline void v7_reset(struct v7_model *m)
{
    m->pc = 0;
    m->cpsr = m->program_cpsr = 0x1D3;
    m->r[0] = m->program_r0 = 0;
    m->monitor = (struct v7_monitor){.control = m->monitor.control & 0xFFFFF800};
    m->program_select = 0;
    m->pending = m->halted = false;
    m->busy = m->going = m->doing = 0;
    m->counter = 0;
    m->restarted = m->was_reset = true;
    m->next = 0;
    v7_load_event(m);
    m->left += 1000;
    if ((m->vcr & 1) && v7_halting(m))
        v7_enter(m, 5);
}

static inline void v7_pend(struct v7_model *m)
{
    if (m->halted)
        m->pending = true;
    else
        m->busy += 90;
}

static inline void v7_request(struct v7_model *m)
{
    if (m->halted || !v7_halting(m))
        return;
    v7_enter(m, 4);
}

static inline void v7_happen(struct v7_model *m)
{
    const struct v7_event *event = &m->script[m->next++];
    v7_load_event(m);
    if (event->kind == V7_RESET) {
        v7_reset(m);
        return;
    }
    v7_reach(m, event);
    v7_arrive(m);
    if (event->kind == V7_BKPT && !m->halted)
        v7_enter(m, 3);
    if (event->kind == V7_HALT)
        v7_request(m);
}

static inline void v7_advance(struct v7_model *m, uint64_t cycles)
{
    m->wall += cycles;
    while (cycles > 0 && !m->halted) {
        uint64_t *what = m->busy > 0 ? &m->busy : &m->left;
        uint64_t taken = *what < cycles ? *what : cycles;
        *what -= taken;
        cycles -= taken;
        m->counter += (uint32_t)taken;
        if (*what == 0 && what == &m->busy)
            v7_arrive(m);
        else if (*what == 0)
            v7_happen(m);
    }
}

static inline bool v7_steps(const struct v7_model *m)
{
    for (unsigned i = 0; i < V7_COMPARATORS; i++)
        if ((m->bcr[i] & 0x00400001) == 0x00400001)
            return true;
    return false;
}

/* One instruction, with a comparator that stops at all others. */
static inline void v7_step(struct v7_model *m)
{
    m->counter++;
    if (m->script[m->next].kind == V7_AT && m->left <= 1) {
        v7_happen(m);
        return;
    }
    m->left -= m->left > 1;
    m->pc += v7_thumb(m) ? 2 : 4;
    v7_arrive(m);
}

static inline void v7_leave(struct v7_model *m)
{
    m->counter += 4;
    m->halted = false;
    m->restarted = true;
    m->corrupted +=
        m->r[0] != m->program_r0 || m->cpsr != m->program_cpsr || m->monitor.select != m->program_select;
    m->careless += (m->control & 0x2000) != 0 || m->sticky != 0;
    if (m->pending && !(m->control & 0x800)) {
        m->pending = false;
        m->busy = 90;
        m->strayed += v7_steps(m);
        return;
    }
    v7_arrive(m);
    if (!m->halted && v7_steps(m))
        v7_step(m);
}

/* The last two can compare a context ID, and are as wide as that while they are set to. */
static inline void v7_write_bvr(struct v7_model *m, unsigned n, uint32_t value)
{
    uint32_t kind = m->bcr[n] >> 20 & 0xF;
    bool wide = !m->narrow && n >= V7_COMPARATORS - 2 && (kind == 2 || kind == 3);
    m->careless += !wide && (m->bcr[n] & 1) != 0 && (value & 3) != 0;
    m->bvr[n] = wide ? value : value & ~3U;
}

/* --- instructions in Debug state ------------------------------------------------------------------------ */

/* What it takes to get at CP15. */
static inline bool v7_do_in_another_mode(struct v7_model *m)
{
    uint32_t op = m->instruction, half = (op >> 4 & 0xF000) | (op & 0xFFF);
    bool user = (m->cpsr & 0x1F) == 0x10;
    if ((op & 0xFFF0F000) == 0xE3000000) { /* MOVW R0 */
        m->r[0] = half;
    } else if ((op & 0xFFF0F000) == 0xE3400000) { /* MOVT R0 */
        m->r[0] = (m->r[0] & 0xFFFF) | half << 16;
    } else if (op == 0xE121F000) { /* MSR CPSR_c, R0: not the state of execution */
        m->cpsr = (m->cpsr & ~0xDFU) | (m->r[0] & 0xDF);
        m->monitor.mode_is_new = true;
    } else if (op == 0xE12FF000) { /* MSR CPSR_fsxc, R0 */
        m->cpsr = m->r[0];
        m->monitor.mode_is_new = true;
    } else if (op == 0xEE1D0F30 && !user) { /* MRC p15, 0, R0, c13, c0, 1 */
        m->careless += m->monitor.mode_is_new;
        m->r[0] = m->context;
    } else if (op == 0xF57FF06F) { /* ISB */
        m->monitor.select_is_new = m->monitor.mode_is_new = false;
    } else {
        return v7_is_of_monitor(op) &&
               v7_monitor_access(&m->monitor, &m->counter, op, user, &m->r[op >> 12 & 0xF], &m->careless);
    }
    return true;
}

static inline void v7_do(struct v7_model *m)
{
    uint32_t op = m->instruction, rt = op >> 12 & 0xF;
    m->complete = true;
    if ((op & 0xFFFF0FFF) == 0xEE000E15 && rt < 15) { /* MCR p14, 0, Rt, c0, c5, 0 */
        m->careless += m->tx_full;
        m->dtr_tx = m->r[rt];
        m->tx_full = true;
        m->taken++;
    } else if ((op & 0xFFFF0FFF) == 0xEE100E15 && rt < 15) { /* MRC */
        m->careless += !m->rx_full;
        m->r[rt] = m->dtr_rx;
        m->rx_full = false;
    } else if ((op & 0xFFFF0FF0) == 0xEE000E90 && rt < 15 && (op & 0xF) < V7_COMPARATORS && m->extended &&
               !m->refuses && (m->cpsr & 0xF) != 0) { /* MCR p14, 0, Rt, c0, cn, 4; not in User mode */
        v7_write_bvr(m, op & 0xF, m->r[rt]);
    } else if (op == 0xE1A0000F) { /* MOV R0, PC */
        m->r[0] = m->pc + (v7_thumb(m) ? 4 : 8);
    } else if (op == 0xE10F0000) { /* MRS R0, CPSR */
        m->r[0] = m->cpsr;
    } else if (!v7_do_in_another_mode(m)) {
        m->sticky |= 0x100;
        m->refused++;
        m->careless += (op & 0xFFFF0FF0) != 0xEE000E90; /* that one may be tried */
    }
}

static inline void v7_write_itr(struct v7_model *m, uint32_t op)
{
    if (!m->halted || !(m->control & 0x2000) || !m->complete_l || m->sticky) {
        m->careless += m->halted && !m->extended; /* it is ignored, which may be found out afterwards */
        return;
    }
    m->instruction = op;
    m->complete = m->complete_l = false;
    m->doing = m->slow_itr;
    if (m->doing == 0)
        v7_do(m);
}

/*
 * One Armv7 core as a debugger sees it through its debug registers, for unit tests. It runs a script instead
 * of code: addresses that are reached, and other things that happen, each some cycles later. Written from the
 * architecture (DDI 0406C C3, C5, C8, C11) with its numbers written out, without the tool's own constants.
 * What the architecture leaves unpredictable is counted in `careless`.
 */
#pragma once

#include "model_arm.h"
#include "model_armv7_cp15.h"

enum {
    MODEL_COMPARATORS = 4,
    MODEL_BASE = 0x1000,
    MODEL_COUNTER = 0x2000,
    MODEL_ON = 0x1E7,
    MODEL_COUNTER_BITS = 32
};

struct model {
    struct link link;
    const struct model_event *script;
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
    uint32_t bvr[MODEL_COMPARATORS], bcr[MODEL_COMPARATORS], vcr;
    bool has_lock, locked, lies, os_locked, was_reset; /* lies: the lock says that there is none */
    uint32_t prcr;
    uint32_t counter;

    uint64_t wall;
    long accesses, writes, limit;
    long trouble_at, trouble_again;
    enum model_trouble what;
    volatile sig_atomic_t cancelled;
    bool hung;
    unsigned careless;  /* what is unpredictable or ignored */
    unsigned corrupted; /* the program went on with another R0, CPSR or PMSELR than it had */
    unsigned strayed;   /* an interrupt was taken in a step */
    unsigned entries;
};

/* --- running -------------------------------------------------------------------------------------------- */

static inline bool model_thumb(const struct model *m)
{
    return (m->cpsr & 0x20) != 0;
}

static inline bool model_halting(const struct model *m)
{
    return (m->control & 0x4000) && !m->os_locked;
}

static inline void model_enter(struct model *m, uint32_t moe)
{
    m->counter += 7;
    m->halted = m->complete = true;
    m->moe = moe;
    m->entries++;
}

/* The last two comparators can compare CONTEXTIDR. */
static inline bool model_in_context(struct model *m, unsigned n)
{
    bool can = n >= MODEL_COMPARATORS - 2 && n < MODEL_COMPARATORS && (m->bcr[n] & 1) &&
               (m->bcr[n] >> 20 & 0xF) == 3;
    m->careless += !can;
    return can && m->bvr[n] == m->context;
}

static inline bool model_hits(struct model *m, unsigned i)
{
    uint32_t bcr = m->bcr[i], bytes = bcr >> 5 & 0xF, kind = bcr >> 20 & 0xF;
    if (!(bcr & 1))
        return false;
    if ((bcr >> 1 & 3) != 3 || (kind > 1 && kind != 3 && kind != 4) || (kind == 3 && bytes != 0xF) ||
        (!model_thumb(m) && bytes != 0xF && m->bvr[i] == m->pc))
        m->careless++;
    uint32_t wanted = !model_thumb(m) ? 0xF : m->pc & 2 ? 0xC : 0x3;
    bool same = m->bvr[i] == (m->pc & ~3U) && (bytes & wanted) == wanted;
    if (kind == 4)
        return !same;
    return kind != 3 && same && (kind == 0 || model_in_context(m, bcr >> 16 & 0xF));
}

/* About to execute the instruction at the PC. */
static inline void model_arrive(struct model *m)
{
    for (unsigned i = 0; model_halting(m) && i < MODEL_COMPARATORS && !m->halted; i++)
        if (model_hits(m, i))
            model_enter(m, 1);
}

static inline void model_reach(struct model *m, const struct model_event *event)
{
    m->pc = event->pc & ~1U;
    m->context = event->user ? event->user : event->context;
    m->cpsr = m->program_cpsr = (event->user ? 0x10U : 0x1FU) | (event->pc & 1 ? 0x20U : 0);
    m->r[13] = event->sp;
    m->r[14] = event->lr;
    m->r[0] = m->program_r0 = 0x11111111 * (m->round % 13 + 1);
}

static inline void model_reset(struct model *m)
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
    model_load_event(m);
    m->left += 1000;
    if ((m->vcr & 1) && model_halting(m))
        model_enter(m, 5);
}

static inline void model_request(struct model *m)
{
    if (m->halted || !model_halting(m))
        return;
    model_enter(m, 4);
}

static inline void model_happen(struct model *m)
{
    const struct model_event *event = &m->script[m->next++];
    model_load_event(m);
    if (event->kind == MODEL_RESET) {
        model_reset(m);
        return;
    }
    model_reach(m, event);
    model_arrive(m);
    if (event->kind == MODEL_BKPT && !m->halted)
        model_enter(m, 3);
    if (event->kind == MODEL_HALT)
        model_request(m);
}

static inline bool model_steps(const struct model *m)
{
    for (unsigned i = 0; i < MODEL_COMPARATORS; i++)
        if ((m->bcr[i] & 0x00400001) == 0x00400001)
            return true;
    return false;
}

/* One instruction, with a comparator that stops at all others. */
static inline void model_step(struct model *m)
{
    m->counter++;
    if (m->script[m->next].kind == MODEL_AT && m->left <= 1) {
        model_happen(m);
        return;
    }
    m->left -= m->left > 1;
    m->pc += model_thumb(m) ? 2 : 4;
    model_arrive(m);
}

static inline void model_leave(struct model *m)
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
        m->strayed += model_steps(m);
        return;
    }
    model_arrive(m);
    if (!m->halted && model_steps(m))
        model_step(m);
}

/* The last two can compare a context ID, and hold all 32 bits while they are set to. */
static inline void model_write_bvr(struct model *m, unsigned n, uint32_t value)
{
    uint32_t kind = m->bcr[n] >> 20 & 0xF;
    bool wide = n >= MODEL_COMPARATORS - 2 && (kind == 2 || kind == 3);
    m->careless += !wide && (m->bcr[n] & 1) != 0 && (value & 3) != 0;
    m->bvr[n] = wide ? value : value & ~3U;
}

/* --- instructions in Debug state ------------------------------------------------------------------------ */

/* What it takes to get at CP15. */
static inline bool model_do_in_another_mode(struct model *m)
{
    uint32_t op = m->instruction, half = (op >> 4 & 0xF000) | (op & 0xFFF), rd = op >> 12 & 0xF;
    bool user = (m->cpsr & 0x1F) == 0x10;
    if ((op & 0xFFF00000) == 0xE3000000 && rd < 15) { /* MOVW */
        m->r[rd] = half;
    } else if ((op & 0xFFF00000) == 0xE3400000 && rd < 15) { /* MOVT */
        m->r[rd] = (m->r[rd] & 0xFFFF) | half << 16;
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

static inline void model_do(struct model *m)
{
    uint32_t op = m->instruction, rt = op >> 12 & 0xF;
    m->complete = true;
    if ((op & 0xFFFF0FFF) == 0xEE000E15 && rt < 15) { /* MCR p14, 0, Rt, c0, c5, 0 */
        m->careless += m->tx_full;
        m->dtr_tx = m->r[rt];
        m->tx_full = true;
    } else if ((op & 0xFFFF0FFF) == 0xEE100E15 && rt < 15) { /* MRC */
        m->careless += !m->rx_full;
        m->r[rt] = m->dtr_rx;
        m->rx_full = false;
    } else if (op == 0xE1A0000F) { /* MOV R0, PC */
        m->r[0] = m->pc + (model_thumb(m) ? 4 : 8);
    } else if (op == 0xE10F0000) { /* MRS R0, CPSR */
        m->r[0] = m->cpsr;
    } else if (!model_do_in_another_mode(m)) {
        m->sticky |= 0x100;
        m->careless++;
    }
}

static inline void model_write_itr(struct model *m, uint32_t op)
{
    if (!m->halted || !(m->control & 0x2000) || !m->complete_l || m->sticky) {
        m->careless += m->halted;
        return;
    }
    m->instruction = op;
    m->complete = m->complete_l = false;
    m->doing = m->slow_itr;
    if (m->doing == 0)
        model_do(m);
}

/*
 * One Armv8-A core as a debugger sees it through its debug registers and its cross trigger interface, for
 * unit tests. It runs a script instead of code: addresses that are reached, and other things that happen, so
 * many cycles apart. Written from the architecture (DDI 0487 chapters H2 to H5, H9 and J1.3) with its numbers
 * written out, without the tool's own constants. What the architecture leaves unpredictable, and what it
 * ignores though it was meant, is counted in `careless`.
 */
#pragma once

#include "model_arm.h"
#include "model_armv8_system.h"

enum { MODEL_COMPARATORS = 6, MODEL_TRIGGERS = 8, MODEL_CHANNELS = 0xF };
enum { MODEL_PSTATE = 0x600003C5 };
enum {
    MODEL_BASE = 0x410000,
    MODEL_CTI = 0x420000,
    MODEL_COUNTER = 0x4300F8,
    MODEL_ON = 0x21E7,
    MODEL_COUNTER_BITS = 64
};

static const uint64_t MODEL_GARBAGE = 0xDEAD0BADDEAD1BAD; /* what is UNKNOWN */

struct model_cti {
    uint32_t control, gate, in_enable[MODEL_TRIGGERS], out_enable[MODEL_TRIGGERS];
    uint32_t locked;
};

struct model {
    struct link link;
    const struct model_event *script;
    size_t n_script, next;
    unsigned round;
    uint64_t left, busy; /* cycles: to the next event, of a handler before that */

    uint64_t x[31], sp, pc, program_x0;
    struct v8_system system, program; /* now, and as the program had it when it was halted */
    bool halted, pending, aarch32, talks;
    uint32_t going, stale, slow_exit,
        slow_show;            /* accesses until Debug state is left, and until that shows */
    uint32_t doing, slow_itr; /* accesses until an instruction is done */
    uint32_t instruction, status, user;
    bool err, txu, rxo, ito, tx_full, rx_full;
    uint32_t control, dtr_tx, dtr_rx; /* control: the bits of EDSCR that can be written */
    uint64_t bvr[MODEL_COMPARATORS];
    uint32_t bcr[MODEL_COMPARATORS], edecr, edeccr;
    struct model_cti cti;
    bool asked; /* the request to halt, until it is acknowledged */
    bool has_lock, locked, lies, os_locked, was_reset, restarted; /* lies: locks say that there are none */
    uint32_t prcr;
    uint64_t counter;

    uint64_t wall;
    long accesses, writes, limit;
    long trouble_at, trouble_again;
    enum model_trouble what;
    volatile sig_atomic_t cancelled;
    bool hung;
    unsigned careless;
    unsigned corrupted; /* the program went on with another X0 than it had */
    unsigned strayed;   /* an interrupt was taken in a step */
    unsigned leaked;    /* a trigger of ours went to others, or to what is none of ours */
    unsigned entries;
};

/* --- running -------------------------------------------------------------------------------------------- */

static inline bool model_ready(const struct model *m) /* ITE */
{
    return m->halted && m->going == 0 && m->doing == 0;
}

/* Channel events that arise here go to all that is mapped to them. The program must not notice, and other
 * cores must not, unless a debugger had set it up so. */
static inline void model_enter(struct model *m, uint32_t status)
{
    m->counter += 7;
    m->halted = true;
    m->system.dlr = m->pc;
    m->system.dspsr = MODEL_PSTATE;
    m->program = m->system;
    m->status = status;
    m->control &= ~0x100000U;
    m->entries++;
    m->leaked += (m->cti.control & 1) && m->cti.in_enable[0] != 0;
}

/* The last two comparators can compare CONTEXTIDR_EL1. */
static inline bool model_in_context(struct model *m, unsigned n)
{
    bool can = n >= MODEL_COMPARATORS - 2 && n < MODEL_COMPARATORS && (m->bcr[n] & 0xF001E1) == 0x3001E1;
    m->careless += !can;
    return can && (uint32_t)m->bvr[n] == m->user;
}

static inline bool model_hits(struct model *m, unsigned i)
{
    uint32_t bcr = m->bcr[i], kind = bcr >> 20 & 0xF;
    if (!(bcr & 1) || kind == 3)
        return false;
    m->careless += (bcr & 0xE0E1E6) != 0x21E6; /* not: at any level, of all four bytes, by address */
    return m->bvr[i] == m->pc && (kind == 0 || model_in_context(m, bcr >> 16 & 0xF));
}

/* About to execute the instruction at the PC. */
static inline void model_arrive(struct model *m)
{
    if (m->asked) {
        model_enter(m, 0x13);
        return;
    }
    for (unsigned i = 0; (m->control & 0x4000) && !m->os_locked && i < MODEL_COMPARATORS && !m->halted; i++)
        if (model_hits(m, i))
            model_enter(m, 0x07);
}

static inline uint64_t model_x0_in(unsigned round)
{
    return UINT64_C(0x1111111100000000) * (round % 13 + 1) + 0x22222222U + round;
}

static inline void model_reach(struct model *m, const struct model_event *event)
{
    m->pc = event->pc;
    m->aarch32 = event->kind == MODEL_AT32;
    m->user = event->user;
    m->sp = event->sp;
    m->x[30] = event->lr;
    m->x[0] = m->program_x0 = model_x0_in(m->round);
    if (m->talks && !m->tx_full) {
        m->dtr_tx = 0x7A1C0000 + m->round;
        m->tx_full = true;
    }
}

/* A warm one: debug registers keep what they hold, DDI 0487 H9.2. */
static inline void model_reset(struct model *m)
{
    m->pc = 0;
    m->x[0] = m->program_x0 = 0;
    m->aarch32 = m->pending = m->halted = false;
    m->busy = 0;
    m->going = m->doing = 0;
    m->counter = 0;
    m->was_reset = true;
    m->next = 0;
    model_load_event(m);
    m->left += 1000;
    if (m->edecr & 2)
        model_enter(m, 0x27);
}

/* One instruction; the step precedes the next instruction. */
static inline void model_step(struct model *m)
{
    m->counter++;
    if (m->script[m->next].kind == MODEL_AT && m->left <= 1) {
        model_reach(m, &m->script[m->next++]);
        model_load_event(m);
    } else {
        m->left -= m->left > 1;
        m->pc += 4;
    }
    model_enter(m, 0x1B);
}

/* It goes on where it was, in its state, and an exception handler finds what it was entered with. */
static inline bool model_is_whole(const struct model *m)
{
    const struct v8_system *now = &m->system, *had = &m->program;
    return m->x[0] == m->program_x0 && now->dlr == had->dlr && now->dspsr == had->dspsr &&
           now->elr == had->elr && now->spsr == had->spsr && now->esr == had->esr && now->far == had->far;
}

static inline void model_leave(struct model *m)
{
    m->counter += 4;
    m->going = m->stale = 0;
    m->halted = false;
    m->restarted = true;
    m->corrupted += !model_is_whole(m);
    m->system.is_new = false; /* this synchronizes, too */
    m->pc = m->system.dlr;
    if (m->pending && (m->control & 0xC00000) == 0) {
        m->pending = false;
        m->busy = 90;
        m->strayed += (m->edecr & 4) != 0;
        return;
    }
    model_arrive(m);
    if (!m->halted && (m->edecr & 4))
        model_step(m);
}

static inline void model_restart(struct model *m)
{
    if (!m->halted || m->going > 0)
        return;
    m->careless += m->doing > 0 || m->err;
    m->going = m->slow_exit;
    m->stale = m->slow_show < m->slow_exit ? m->slow_show : m->slow_exit;
    if (m->going == 0)
        model_leave(m);
}

/* --- the cross trigger interface ------------------------------------------------------------------------ */

/* On channels of this interface: output 0 asks the core to halt and stays, output 1 restarts it. */
static inline void model_channel_event(struct model *m, uint32_t channels, bool from_here)
{
    const struct model_cti *cti = &m->cti;
    if (!(cti->control & 1))
        return;
    m->leaked += from_here && (channels & cti->gate & MODEL_CHANNELS);
    for (unsigned i = 2; i < MODEL_TRIGGERS; i++)
        m->leaked += (cti->out_enable[i] & channels) != 0;
    if (cti->out_enable[0] & channels) {
        m->asked = true;
        if (!m->halted)
            model_arrive(m);
    }
    if (cti->out_enable[1] & channels)
        model_restart(m);
}

/* From outside: through channel 0 where that is set up, else by a signal of the chip's. */
static inline void model_request(struct model *m)
{
    const struct model_cti *cti = &m->cti;
    if ((cti->control & 1) && (cti->out_enable[0] & cti->gate & 1))
        model_channel_event(m, 1, false);
    else if (!m->halted)
        model_enter(m, 0x13);
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
    if (event->kind == MODEL_CATCH && m->edeccr != 0 && !m->os_locked)
        model_enter(m, 0x37);
    else
        model_arrive(m);
    if (event->kind == MODEL_BKPT && !m->halted && (m->control & 0x4000) && !m->os_locked)
        model_enter(m, 0x2F);
    if (event->kind == MODEL_HALT)
        model_request(m);
}

/* --- instructions in Debug state, DDI 0487 H4.3 and J1.3 ------------------------------------------------ */

static inline void model_do_system(struct model *m, uint64_t *x)
{
    uint32_t op = m->instruction;
    bool known = false, done = false;
    if (op == 0xD5033FDF) { /* ISB */
        m->system.is_new = false;
        return;
    }
    if (!m->aarch32 && (op & 31) != 31)
        done = v8_system_do(&m->system, op & ~31U, x, &known);
    m->err = m->err || !done || !known;
    m->careless += !known;
}

static inline void model_do(struct model *m)
{
    uint32_t op = m->instruction & ~31U, rt = m->instruction & 31;
    uint64_t zero = 0, *x = rt == 31 ? &zero : &m->x[rt];
    uint64_t value = m->tx_full ? MODEL_GARBAGE : *x;
    switch (m->aarch32 || rt == 31 ? 0 : op) {
    case 0xD5130400: /* MSR DBGDTR_EL0, Xt */
        m->dtr_rx = (uint32_t)(value >> 32);
        m->dtr_tx = (uint32_t)value;
        m->tx_full = true;
        break;
    case 0xD5330400: /* MRS Xt, DBGDTR_EL0 */
        *x = m->rx_full ? (uint64_t)m->dtr_tx << 32 | m->dtr_rx : MODEL_GARBAGE;
        m->rx_full = false;
        break;
    case 0xD5330500: /* MRS Xt, DBGDTRRX_EL0 */
        *x = m->rx_full ? m->dtr_rx : MODEL_GARBAGE;
        m->rx_full = false;
        break;
    case 0x910003E0: /* MOV Xt, SP */
        *x = m->sp;
        break;
    default:
        model_do_system(m, x);
    }
}

static inline void model_write_itr(struct model *m, uint32_t op)
{
    bool leaving = m->going > 0;
    m->careless += leaving && m->stale > 0;
    if (m->err || !m->halted || leaving)
        return;
    if (m->doing > 0 || (m->control & 0x100000)) {
        m->ito = m->err = true; /* an overrun is defined, and shows: DDI 0487 H4.4.4 */
        m->careless += (m->control & 0x100000) != 0;
        return;
    }
    m->instruction = op;
    m->doing = m->slow_itr;
    if (m->doing == 0)
        model_do(m);
}

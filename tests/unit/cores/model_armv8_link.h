/*
 * The link to an Armv8-A model core: its debug registers and its cross trigger interface by address, steps by
 * the contract of link_execute, and what can go wrong at an access.
 */
#pragma once

#include "model_armv8.h"

/* --- registers ------------------------------------------------------------------------------------------ */

static inline uint32_t model_read_scr(const struct model *m)
{
    bool there = m->halted && (m->going == 0 || m->stale > 0);
    uint32_t status = there ? m->status : m->halted ? 1 : 2;
    uint32_t state = !there ? 0xFU << 10 : m->aarch32 ? 0xEU << 10 : 0xFU << 10 | (m->user ? 0 : 1U << 8);
    return m->control | status | state | (m->err ? 1U << 6 : 0) | (model_ready(m) ? 1U << 24 : 0) |
           (m->txu ? 1U << 26 : 0) | (m->rxo ? 1U << 27 : 0) | (m->ito ? 1U << 28 : 0) |
           (m->tx_full ? 1U << 29 : 0) | (m->rx_full ? 1U << 30 : 0);
}

static inline uint32_t model_read_tx(struct model *m)
{
    bool underrun = !m->tx_full;
    m->careless += m->halted && (m->control & 0x100000);
    uint32_t value = underrun ? (uint32_t)MODEL_GARBAGE : m->dtr_tx;
    if (m->err)
        return value;
    m->txu = m->err = underrun;
    m->tx_full = false;
    return value;
}

static inline void model_write_rx(struct model *m, uint32_t value)
{
    m->careless += m->halted && (m->control & 0x100000);
    if (m->err)
        return;
    if (m->rx_full) {
        m->rxo = m->err = true;
        return;
    }
    m->dtr_rx = value;
    m->rx_full = true;
}

static inline uint32_t model_read_prsr(struct model *m)
{
    uint32_t value = 1 | (m->was_reset ? 8 : 0) | (m->halted ? 0x10 : 0) | (m->os_locked ? 0x20 : 0) |
                     (m->restarted ? 0x800 : 0);
    m->was_reset = m->restarted = false;
    return value;
}

/* Half a comparator's value, or its control; NULL: none of them. */
static inline uint32_t *model_comparator(struct model *m, uint32_t offset)
{
    uint32_t n = (offset - 0x400) / 16;
    if (offset < 0x400 || n >= MODEL_COMPARATORS || offset % 16 == 12)
        return NULL;
    return offset % 16 == 8 ? &m->bcr[n] : (uint32_t *)&m->bvr[n] + offset % 16 / 4;
}

static inline uint32_t model_read_debug(struct model *m, uint32_t offset)
{
    const uint32_t *comparator = model_comparator(m, offset);
    if (comparator != NULL)
        return *comparator;
    switch (offset) {
    case 0x024:
        return m->edecr;
    case 0x080:
        return m->dtr_rx;
    case 0x088:
        return model_read_scr(m);
    case 0x08C:
        return model_read_tx(m);
    case 0x098:
        return m->edeccr;
    case 0x310:
        return m->prcr;
    case 0x314:
        return model_read_prsr(m);
    case 0xD00:
        return 0x410FD034;
    case 0xD28:
        return 0x10305106;
    case 0xFB4:
        return m->has_lock && !m->lies ? 1 | (m->locked ? 2 : 0) : 0;
    case 0xFB8:
        return 0xFF;
    default:
        return 0;
    }
}

static inline void model_write_debug(struct model *m, uint32_t offset, uint32_t value)
{
    uint32_t *comparator = model_comparator(m, offset);
    bool there = m->halted && m->going == 0;
    if (m->locked && offset != 0xFB0) {
        m->careless += !m->lies;
        return;
    }
    if (offset == 0xFB0) {
        m->locked = m->has_lock && value != 0xC5ACCE55;
    } else if (comparator != NULL) {
        uint32_t n = (offset - 0x400) / 16, kind = m->bcr[n] >> 20 & 0xF;
        bool code = offset % 16 == 0 && (n < MODEL_COMPARATORS - 2 || (kind != 2 && kind != 3));
        *comparator = code ? value & ~3U : value;
        m->careless += code && (value & 3);
    } else if (offset == 0x024) {
        m->careless += !there && ((m->edecr ^ value) & 4);
        m->edecr = value & 7;
    } else if (offset == 0x080) {
        model_write_rx(m, value);
    } else if (offset == 0x084) {
        model_write_itr(m, value);
    } else if (offset == 0x088) {
        m->control = value & 0x00F84000;
    } else if (offset == 0x08C) {
        m->dtr_tx = value;
    } else if (offset == 0x090) {
        m->careless += (value & 4) && m->halted && m->going == 0 && m->doing > 0; /* unpredictable: H4.4.4 */
        m->err = m->err && !(value & 4);
        m->txu = m->txu && !(value & 4);
        m->rxo = m->rxo && !(value & 4);
        m->ito = m->ito && !(value & 4);
    } else if (offset == 0x300) {
        m->os_locked = value & 1;
    } else if (offset == 0x310) {
        m->careless += (value & 2) != 0 || m->os_locked; /* a reset, or ignored */
        m->prcr = value & 9;
    } else {
        m->careless++;
    }
}

/* With the OS lock these refuse, DDI 0487 table H8-5. */
static inline bool model_refuses(const struct model *m, uint32_t offset)
{
    return m->os_locked && ((offset >= 0x080 && offset < 0x0B0) || (offset >= 0x400 && offset < 0x900));
}

static inline uint32_t model_read_cti(const struct model *m, uint32_t offset)
{
    const struct model_cti *cti = &m->cti;
    if (offset >= 0x020 && offset < 0x020 + 4 * MODEL_TRIGGERS)
        return cti->in_enable[(offset - 0x020) / 4];
    if (offset >= 0x0A0 && offset < 0x0A0 + 4 * MODEL_TRIGGERS)
        return cti->out_enable[(offset - 0x0A0) / 4];
    switch (offset) {
    case 0x000:
        return cti->control;
    case 0x134:
        return m->asked ? 1 : 0;
    case 0x140:
        return cti->gate;
    case 0xFB4:
        return m->has_lock && !m->lies ? 1 | (cti->locked ? 2 : 0) : 0;
    case 0xFC8:
        return 0x00040800;
    default:
        return 0;
    }
}

static inline void model_write_cti(struct model *m, uint32_t offset, uint32_t value)
{
    struct model_cti *cti = &m->cti;
    uint32_t trigger = offset >= 0x0A0 ? (offset - 0x0A0) / 4 : (offset - 0x020) / 4;
    if (cti->locked && offset != 0xFB0) {
        m->careless += !m->lies;
        return;
    }
    if (offset == 0xFB0)
        cti->locked = m->has_lock && value != 0xC5ACCE55;
    else if (offset == 0x000)
        cti->control = value & 1;
    else if (offset == 0x010)
        m->asked = m->asked && !(value & 1);
    else if (offset == 0x01C)
        model_channel_event(m, value & MODEL_CHANNELS, true);
    else if (offset == 0x140)
        cti->gate = value & MODEL_CHANNELS;
    else if (offset >= 0x0A0 && offset < 0x0C8)
        *(trigger < MODEL_TRIGGERS ? &cti->out_enable[trigger] : &(uint32_t){0}) = value & MODEL_CHANNELS;
    else if (offset >= 0x020 && offset < 0x048)
        *(trigger < MODEL_TRIGGERS ? &cti->in_enable[trigger] : &(uint32_t){0}) = value & MODEL_CHANNELS;
    else
        m->careless++;
}

/* --- the link ------------------------------------------------------------------------------------------- */

static inline bool model_read(struct model *m, uint64_t at, uint64_t *value)
{
    uint32_t offset = at & 0xFFF;
    if (at == MODEL_COUNTER || at == MODEL_COUNTER + 4) {
        *value = at == MODEL_COUNTER ? (uint32_t)m->counter : m->counter >> 32;
        return true;
    }
    if (at - offset == MODEL_CTI) {
        *value = model_read_cti(m, offset);
        return true;
    }
    if (at - offset != MODEL_BASE || model_refuses(m, offset))
        return false;
    *value = model_read_debug(m, offset);
    return true;
}

static inline bool model_write(struct model *m, uint64_t at, uint32_t value)
{
    uint32_t offset = at & 0xFFF;
    m->writes++;
    if (at - offset == MODEL_CTI)
        model_write_cti(m, offset, value);
    else if (at - offset != MODEL_BASE || model_refuses(m, offset))
        return false;
    else
        model_write_debug(m, offset, value);
    return true;
}

static inline void model_age(struct model *m)
{
    m->stale -= m->stale > 0;
}

#include "model_arm_link.h"

/* A Cortex-A53 r0p4, locked in all ways, reset some time ago, its cross trigger interface never used. */
static inline void model_init(struct model *m, const struct model_event *script, size_t n)
{
    static const struct link_ops ops = {.execute = model_execute, .exact_faults = true, .comes_back = true};
    *m = (struct model){.link.ops = &ops,
                        .script = script,
                        .n_script = n,
                        .pc = 0x180,
                        .has_lock = true,
                        .locked = true,
                        .os_locked = true,
                        .was_reset = true,
                        .control = 0x200000,
                        .edecr = 1,
                        .prcr = 8,
                        .edeccr = 0x20,
                        .bvr = {0x7000, 0xFFFF000000007100, 0x7200, 0x7300},
                        .cti = {.gate = 0xF,
                                .locked = true,
                                .in_enable = {8, 5, 0, 1},
                                .out_enable = {0xC, 3, 8, 4, 2, 1, 0, 0xF}},
                        .counter = 0xFFFFFE00,
                        .limit = 200000,
                        .trouble_at = -1,
                        .trouble_again = -1};
    model_load_event(m);
    m->left += 4000; /* until all is set up */
}

/* As a server leaves it that halts by channel 0 and restarts by 1. */
static inline void model_serve(struct model *m)
{
    m->cti = (struct model_cti){.control = 1, .gate = 0x3, .out_enable = {1, 2}, .locked = m->cti.locked};
}

#define MODEL_THEIRS UINT64_C(0xFFFF80000000C000)

/* Another debugger's breakpoint, at a place that is hardly ever reached: then ours is not the only one. */
static inline void model_add_theirs(struct model *m)
{
    m->os_locked = false; /* or it could not be theirs */
    m->control |= 0x4000;
    m->bvr[0] = MODEL_THEIRS;
    m->bcr[0] = MODEL_ON;
}

/* A message that nobody fetched may be gone, but nothing else may pass for one. */
static inline bool model_shows_ours(const struct model *m, const struct model *before)
{
    bool theirs = m->dtr_tx >> 16 == 0x7A1C || (before->tx_full && m->dtr_tx == before->dtr_tx);
    return m->tx_full && !theirs;
}

/* The program has what is there now. */
static inline void model_forget_r0(struct model *m)
{
    m->x[0] = m->program_x0;
}

/* The first thing that is not as it was; NULL: all is. */
static inline const char *model_difference(const struct model *m, const struct model *before)
{
    return memcmp(m->bvr, before->bvr, sizeof m->bvr) != 0     ? "DBGBVR"
           : memcmp(m->bcr, before->bcr, sizeof m->bcr) != 0   ? "DBGBCR"
           : m->control != before->control                     ? "EDSCR"
           : m->edecr != before->edecr                         ? "EDECR"
           : m->edeccr != before->edeccr                       ? "EDECCR"
           : m->prcr != before->prcr                           ? "EDPRCR"
           : memcmp(&m->cti, &before->cti, sizeof m->cti) != 0 ? "the cross trigger interface"
           : m->locked != before->locked                       ? "the software lock"
           : m->os_locked != before->os_locked                 ? "the OS lock"
           : m->halted != before->halted                       ? "halted"
           : m->asked                                          ? "a request to halt"
           : m->err || m->txu || m->rxo || m->ito              ? "an error in EDSCR"
           : model_shows_ours(m, before)                       ? "DBGDTRTX"
           : m->rx_full && !before->rx_full                    ? "DBGDTRRX"
           : m->corrupted                                      ? "X0 was changed under the program"
           : m->x[0] != m->program_x0                          ? "X0"
           : m->halted && !model_is_whole(m)                   ? "the state that it goes on in"
           : m->leaked                                         ? "a trigger went astray"
           : m->careless                                       ? "something unpredictable was done"
           : m->strayed                                        ? "an interrupt was taken in a step"
                                                               : NULL;
}

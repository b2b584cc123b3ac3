/*
 * A debug port with access port and memory, for unit tests: single transactions as on SWD, at each of which
 * something can be made to go wrong. Written from the specifications, without the tool's own constants.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { MODEL_CELLS = 96, MODEL_LOG = 8192, MODEL_LATE = 6000 };

enum model_trouble {
    TROUBLE_NONE,
    TROUBLE_NO_ACK,   /* the header never arrives */
    TROUBLE_ACK_LOST, /* the target answers, the probe hears nothing */
    TROUBLE_PARITY,   /* what was read arrives damaged */
    TROUBLE_DATA,     /* what was written arrives damaged */
    TROUBLE_FAULT,    /* the bus refuses the access */
    TROUBLE_STUCK,    /* the access does not end until it is aborted, and was not done */
    TROUBLE_STUCK_DONE,
    TROUBLE_LATE, /* it takes long, and ends well */
    TROUBLES
};

struct model_cell {
    uint32_t address, value;
    unsigned lag; /* reads until `then` replaces the value */
    uint32_t then;
    uint32_t clears; /* bits that a read clears */
};

struct model_access {
    bool write;
    uint32_t address, value;
};

/* Of the components of a debug port with addresses. */
struct model_word {
    uint32_t at, value;
};

struct model {
    /* what the probe is like */
    unsigned packet_size, packet_count;
    bool has_match, has_swd_sequence, pads;
    bool fewer_reads; /* a match reads as often as its retries say, not once more */
    bool spoils_next; /* the word that is read after a match */
    bool loses_place; /* a match directly after a posted read: what it compares with is taken for requests */
    uint8_t nobody;   /* the acknowledge when nobody answers: the three bits that were on the line */
    bool v6;          /* a ROM table at 0 that lists a MEM-AP at 0x2000 after one that is not there, */
    const struct model_word *rom; /* or what these words say, up to one of 0; */
    uint32_t rom_at;              /* BASEPTR */
    bool jtag; /* answers as over JTAG: a fault shows in CTRL/STAT only, and what follows is not done */
    uint8_t capabilities;
    /* the probe's own state */
    uint32_t match_mask;
    unsigned wait_retry, match_retry;
    unsigned packets, overlong;
    unsigned aborts; /* of accesses */
    /* the wires */
    long trouble_at; /* number of the transaction, from 0; -1: never */
    enum model_trouble trouble;
    long transactions, accesses;
    uint32_t hz;
    uint32_t
        damage_hz;     /* above that clock words whose bits alternate arrive damaged, parity right; 0: none */
    uint32_t tar_mask; /* bits that TAR holds */
    bool silent;       /* the line is not understood until a line reset */
    bool dead;         /* nobody there */
    bool listening;    /* after a line reset, TARGETSEL is understood */
    bool needs_wake;   /* asleep until woken from the dormant state */
    uint32_t device_id;   /* 0: not multidrop */
    int selected;         /* debug port; -1: none */
    bool no_system_power; /* CSYSPWRUPACK never arrives */
    unsigned aps;         /* access ports, ADIv5 */
    bool aliased;         /* and every number shows the first one */
    bool large;           /* TAR has an upper word, SELECT too */
    bool no_resend;       /* RESEND has something else */
    /* the debug port, one of several */
    struct model_port {
        uint32_t select, select1, control, csw, tar, tar_high, posted, sent;
        bool sticky, data_error, stuck;
        bool secure;   /* CSW.SPIDEN */
        unsigned late; /* transactions for which it is busy */
    } ports[2];
    size_t n_ports;
    uint32_t dpidr;
    /* the target */
    struct model_cell cells[MODEL_CELLS];
    size_t n;
    struct model_access log[MODEL_LOG];
    size_t n_log;
};

static struct model_cell *model_cell(struct model *m, uint32_t address)
{
    for (size_t i = 0; i < m->n; i++)
        if (m->cells[i].address == (address & ~3U))
            return &m->cells[i];
    if (m->n == MODEL_CELLS)
        abort();
    m->cells[m->n] = (struct model_cell){.address = address & ~3U};
    return &m->cells[m->n++];
}

static void model_note(struct model *m, bool write, uint32_t address, uint32_t value)
{
    if (m->n_log < MODEL_LOG)
        m->log[m->n_log++] = (struct model_access){write, address, value};
}

static uint32_t model_read(struct model *m, uint32_t address)
{
    struct model_cell *cell = model_cell(m, address);
    if (cell->lag > 0 && --cell->lag == 0)
        cell->value = cell->then;
    uint32_t value = cell->value;
    cell->value &= ~cell->clears;
    model_note(m, false, address, value);
    return value;
}

/*
 * 0x...F00 is a control word: what is written there appears in 0x...F04 after (value >> 28) reads, with a
 * bit 24 that a read clears. That is enough of a core for waits.
 */
static void model_write(struct model *m, uint32_t address, uint32_t value, uint32_t lanes)
{
    struct model_cell *cell = model_cell(m, address);
    cell->value = (cell->value & ~lanes) | (value & lanes);
    model_note(m, true, address, value & lanes);
    if ((address & 0xFFC) != 0xF00)
        return;
    struct model_cell *status = model_cell(m, (address & ~0xFFFU) | 0xF04);
    status->clears = 1U << 24;
    status->value = 0;
    status->lag = (value >> 28) + 1;
    status->then = (value & 0xFFFFFF) | 1U << 24;
}

static void model_init(struct model *m)
{
    memset(m, 0, sizeof *m);
    m->packet_size = 64;
    m->packet_count = 1;
    m->has_match = m->has_swd_sequence = true;
    m->capabilities = 3;
    m->wait_retry = 100;
    m->tar_mask = UINT32_MAX;
    m->trouble_at = -1;
    m->nobody = 7;
    m->dpidr = 0x2BA01477;
    m->n_ports = m->aps = 1;
}

/* ---- SWD: one transaction. `request` as in DAP_Transfer: APnDP, RnW, A2, A3. */

enum { M_OK = 1, M_WAIT = 2, M_FAULT = 4, M_ERROR = 8 };

static uint32_t model_lanes(const struct model_port *p)
{
    unsigned size = p->csw & 7;
    return size == 0 ? 0xFFU << (p->tar & 3) * 8 : size == 1 ? 0xFFFFU << (p->tar & 2) * 8 : 0xFFFFFFFF;
}

/* The register of the MEM-AP that is addressed, as ADIv5 numbers them; beyond 0xFF: another component's. */
static uint32_t model_register(const struct model *m, const struct model_port *p, uint8_t request)
{
    uint32_t at = (p->select & ~0xFU) | (request & 0xC);
    if (!m->v6)
        return p->select >> 24 >= m->aps && !m->aliased ? 0x1000 : at & 0xFF;
    return at >= 0x2D00 && at < 0x2E00 ? at - 0x2D00 : 0x10000 + at;
}

static uint32_t model_component(const struct model *m, uint32_t at)
{
    static const struct model_word usual[] = {{0x0000, 0x00001002},
                                              {0x0004, 0x00002003},
                                              {0x0FBC, 0x47600AF7},
                                              {0x0FF4, 0x90},
                                              {0x2FBC, 0x47700A17},
                                              {0x2FF4, 0x90},
                                              {0, 0}};
    for (const struct model_word *word = m->rom != NULL ? m->rom : usual; word->value != 0; word++)
        if (word->at == at)
            return word->value;
    return 0;
}

static uint32_t model_ap(struct model *m, struct model_port *p, uint8_t request, uint32_t data)
{
    uint32_t reg = model_register(m, p, request);
    bool read = request & 2;
    if (reg >= 0x10000)
        return model_component(m, reg - 0x10000);
    switch (reg) {
    case 0x00:
        if (!read)
            p->csw = (data & 0xFF00003F) | 0x40;
        return p->csw | (p->secure ? 1U << 23 : 0);
    case 0x04:
        if (!read)
            p->tar = data & m->tar_mask;
        return p->tar;
    case 0x08:
        if (!read && m->large)
            p->tar_high = data;
        return p->tar_high;
    case 0xF4:
        return m->large ? 2 : 0;
    case 0x0C: {
        uint32_t at = p->tar, value = 0;
        if (read)
            value = model_read(m, at) & model_lanes(p);
        else
            model_write(m, at, data, model_lanes(p));
        if ((p->csw >> 4 & 3) == 1) /* only the low ten bits count on */
            p->tar = (at & ~0x3FFU) | ((at + (1U << (p->csw & 7))) & 0x3FF);
        return value;
    }
    case 0x10:
    case 0x14:
    case 0x18:
    case 0x1C:
        if (read)
            return model_read(m, (p->tar & ~15U) | (reg & 15));
        model_write(m, (p->tar & ~15U) | (reg & 15), data, 0xFFFFFFFF);
        return 0;
    case 0xF8: /* another table for each, unless they are all the same */
        return 0xE00FF003 - (m->aliased ? 0 : p->select >> 24 << 12);
    case 0xFC:
        return 0x04770031;
    default:
        return 0;
    }
}

static bool model_busy(struct model_port *p)
{
    if (p->late == 0)
        return p->stuck;
    p->late--;
    return true;
}

static int model_dp(struct model *m, struct model_port *p, uint8_t request, uint32_t *data)
{
    bool read = request & 2;
    uint8_t reg = request & 0xC, bank = p->select & 0xF;
    if (reg == 0 && read) {
        *data = m->v6 && bank == 2 ? m->rom_at | 1 : m->v6 && bank == 1 ? (m->large ? 40 : 32) : m->dpidr;
        return M_OK;
    }
    if (reg == 0) {
        m->aborts += *data & 1;
        if (*data & 1)
            p->stuck = false;
        if (*data & 4)
            p->sticky = false;
        if (*data & 8)
            p->data_error = false;
        return M_OK;
    }
    if (m->jtag && model_busy(p))
        return M_WAIT;
    if (reg == 4 && read && bank == 0) {
        uint32_t power = p->control & 0x50000000;
        uint32_t answers = m->no_system_power ? power & 0x10000000 : power;
        *data = power | answers << 1 | (p->control & 0xF0D) | (p->sticky ? 1U << 5 : 0) |
                (p->data_error ? 1U << 7 : 0);
        return M_OK;
    }
    if ((p->sticky && !m->jtag) || p->data_error)
        return M_FAULT;
    if (!m->jtag && model_busy(p))
        return M_WAIT;
    if (reg == 4 && read)
        *data = bank == 2 ? m->device_id : bank == 3 ? (uint32_t)m->selected << 28 : 0;
    else if (reg == 4 && bank == 0) {
        p->control = *data;
        p->sticky = p->sticky && !(m->jtag && *data & 1U << 5);
    } else if (reg == 4 && bank == 5)
        p->select1 = *data;
    else if (reg == 8 && !read)
        p->select = *data;
    else if (reg == 8 && !m->jtag && !m->no_resend)
        *data = p->sent;
    else if (reg == 12 && read)
        *data = p->sent = p->posted;
    return M_OK;
}

static bool model_is_access(const struct model *m, const struct model_port *p, uint8_t request)
{
    uint32_t reg = model_register(m, p, request);
    return (request & 1) && (reg == 0x0C || (reg >= 0x10 && reg < 0x20));
}

static int model_answer(struct model *m, uint8_t request, uint32_t *data, enum model_trouble trouble)
{
    struct model_port *p = &m->ports[m->selected];
    bool read = request & 2;
    if (!(request & 1))
        return model_dp(m, p, request, data);
    if (p->sticky && m->jtag) {
        *data = 0xBADBADBA;
        return M_OK;
    }
    if (p->sticky || p->data_error)
        return M_FAULT;
    if (model_busy(p))
        return M_WAIT;
    bool access = model_is_access(m, p, request);
    m->accesses += access;
    if (access && trouble == TROUBLE_FAULT) {
        p->sticky = true;
        *data = p->posted;
        return M_OK;
    }
    if (access && trouble == TROUBLE_STUCK) {
        p->stuck = true;
        *data = p->posted;
        return M_OK;
    }
    if (!read && trouble == TROUBLE_DATA) {
        p->data_error = true;
        return M_OK;
    }
    uint32_t value = model_ap(m, p, request, read ? 0 : *data);
    if (read) {
        *data = p->sent = p->posted;
        p->posted = value;
    }
    if (access && trouble == TROUBLE_STUCK_DONE)
        p->stuck = true;
    if (access && trouble == TROUBLE_LATE)
        p->late = MODEL_LATE;
    return M_OK;
}

static int model_transaction(struct model *m, uint8_t request, uint32_t *data)
{
    enum model_trouble trouble = m->transactions++ == m->trouble_at ? m->trouble : TROUBLE_NONE;
    uint32_t ignored = 0;
    if (data == NULL)
        data = &ignored;
    if (m->dead || m->silent || m->selected < 0 || m->needs_wake)
        return m->nobody;
    m->listening = false;
    if (trouble == TROUBLE_NO_ACK || (trouble == TROUBLE_ACK_LOST && !(request & 2))) {
        m->ports[m->selected].data_error |= trouble == TROUBLE_ACK_LOST; /* no data follows */
        m->silent = true;
        return m->nobody;
    }
    uint32_t sent = *data;
    if (!(request & 2) && m->damage_hz != 0 && m->hz > m->damage_hz &&
        __builtin_popcount(sent ^ sent >> 1) > 24)
        *data ^= 0x300;
    int ack = model_answer(m, request, data, trouble);
    if (trouble == TROUBLE_ACK_LOST) {
        m->silent = true;
        return m->nobody;
    }
    if (trouble == TROUBLE_PARITY && (request & 2) && ack == M_OK) {
        *data = 0xDEADBEEF;
        return M_ERROR;
    }
    return ack;
}

static int model_patient(struct model *m, uint8_t request, uint32_t *data)
{
    unsigned retry = m->wait_retry;
    int ack;
    do {
        ack = model_transaction(m, request, data);
    } while (ack == M_WAIT && retry-- > 0);
    return ack;
}

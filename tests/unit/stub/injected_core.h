/*
 * An Armv7 core that is given instructions by a debugger, for the tests of injected code: registers, a few
 * words of RAM, what an exception would overwrite, and what the program finds when it goes on. Written from
 * the architecture (DDI 0406C A8, B1.3, C5, C8, C11), with its numbers written out. The code of injected code
 * is not executed: model_run says what it does. Every access can go wrong.
 */
#pragma once

#include "links/link.h"

#include <signal.h>
#include <string.h>

enum { MODEL_BASE = 0x1000, MODEL_RAM = 0x20000, MODEL_WORDS = 256, MODEL_CODE = 5 };
enum model_trouble { FINE, FAULT_ONCE, WAIT_ONCE, LOSE_ONCE, CANCEL, RESET };
enum model_does { ENDS, ABORTS, RUNS_ON };

enum { NOT_CLEANED = 1, NOT_FORGOTTEN = 2, MODEL_LINE = 32 };

struct model_program { /* what it must find again */
    uint32_t r[15], pc, cpsr, banked[4], fault[4], ram[MODEL_WORDS];
};

struct model {
    struct link link;
    struct model_program has, had;
    bool halted, restarted, tx_full, was_reset, was_halted;
    uint32_t control, sticky, moe, tx, vcr, bcr[2];
    enum model_does does;
    unsigned runs, corrupted, strange;
    uint32_t argument;
    uint8_t stale[MODEL_WORDS];       /* stored and not yet where instructions are fetched from */
    uint32_t code[MODEL_CODE], place; /* what has to be there when the injected code runs */
    bool is_running_code;
    long accesses, trouble_at;
    enum model_trouble what;
    volatile sig_atomic_t cancelled;
};

static inline uint32_t *model_ram(struct model *m, uint32_t at)
{
    bool inside = at >= MODEL_RAM && at < MODEL_RAM + 4 * MODEL_WORDS && at % 4 == 0;
    return inside ? &m->has.ram[(at - MODEL_RAM) / 4] : NULL;
}

/* --- leaving Debug state -------------------------------------------------------------------------------- */

static inline void model_stop(struct model *m, uint32_t moe)
{
    m->halted = m->restarted = true;
    m->moe = moe;
}

static inline bool model_is_whole(struct model *m)
{
    return memcmp(&m->has, &m->had, sizeof m->has) == 0;
}

static inline void model_run(struct model *m)
{
    uint32_t at = m->place;
    m->runs++;
    for (unsigned i = 0; i < MODEL_CODE; i++)
        m->corrupted += model_ram(m, at + 4 * i) == NULL || *model_ram(m, at + 4 * i) != m->code[i] ||
                        m->stale[(at - MODEL_RAM) / 4 + i] != 0;
    m->strange += (m->has.cpsr & 0x1E0) != 0x1C0 || (m->has.cpsr & 0x1F) == 0x10 || !(m->vcr & 8);
    m->argument = m->has.r[0];
    m->has.cpsr ^= 0xF0000000;
    for (unsigned i = 0; i < 3; i++)
        m->has.r[i] = 70 + i;
    if (m->does == ABORTS) {
        m->has.banked[0] = m->has.pc + 4;
        m->has.banked[1] = m->has.cpsr;
        m->has.fault[1] = 0xD;
        m->has.fault[3] = m->has.pc;
        m->has.cpsr = (m->has.cpsr & ~0x1FU) | 0x17;
        m->has.pc = 0xC;
        model_stop(m, 5);
    } else if (m->does == ENDS) {
        m->has.pc = at + 4 * (MODEL_CODE - 1);
        model_stop(m, 3);
    }
}

static inline void model_leave(struct model *m)
{
    m->halted = false;
    m->restarted = true;
    if (m->has.pc >= m->place && m->has.pc < m->place + 4 * MODEL_CODE)
        model_run(m);
    else
        m->corrupted += !model_is_whole(m);
}

static inline void model_reset(struct model *m)
{
    m->was_reset = true;
    m->has.pc = m->had.pc = 0;
    m->has.cpsr = m->had.cpsr = 0x1D3;
    m->sticky = 0;
    if (m->vcr & 1)
        model_stop(m, 5);
    else
        m->halted = false;
}

/* --- instructions --------------------------------------------------------------------------------------- */

static inline uint32_t *model_banked(struct model *m, bool spsr)
{
    uint32_t mode = m->has.cpsr & 0x1F;
    m->strange += mode != 0x17 && mode != 0x1B;
    return &m->has.banked[(mode == 0x1B ? 2 : 0) + spsr];
}

static inline uint32_t *model_fault(struct model *m, uint32_t op)
{
    m->strange += (m->has.cpsr & 0x1F) == 0x10; /* not from User mode */
    return &m->has.fault[(op >> 16 & 1 ? 0 : 2) + (op >> 5 & 7 ? 1 : 0)];
}

static inline void model_memory(struct model *m, uint32_t op)
{
    uint32_t *word = model_ram(m, m->has.r[op >> 16 & 15] + (op & 0xFFF));
    if (word == NULL) {
        m->sticky |= 1 << 6;
        m->has.fault[0] = 5;
        m->has.fault[2] = m->has.r[1];
    } else if (op & 1 << 20) {
        m->has.r[op >> 12 & 15] = *word;
    } else {
        *word = m->has.r[op >> 12 & 15];
        m->stale[word - m->has.ram] = NOT_CLEANED | NOT_FORGOTTEN;
    }
}

/* DCCMVAU and ICIMVAU; a line that is forgotten before it is cleaned is fetched anew as it was. */
static inline void model_line(struct model *m, uint32_t op)
{
    bool cleans = (op & 0xF) == 0xB;
    uint32_t first = m->has.r[op >> 12 & 15] & ~(uint32_t)(MODEL_LINE - 1);
    for (uint32_t i = 0; i < MODEL_LINE / 4; i++) {
        const uint32_t *word = model_ram(m, first + 4 * i);
        uint8_t *stale = word == NULL ? NULL : &m->stale[word - m->has.ram];
        if (stale != NULL && (cleans || !(*stale & NOT_CLEANED)))
            *stale &= (uint8_t) ~(cleans ? NOT_CLEANED : NOT_FORGOTTEN);
    }
}

static inline void model_instruct(struct model *m, uint32_t op)
{
    struct model_program *p = &m->has;
    uint32_t half = (op >> 4 & 0xF000) | (op & 0xFFF), rd = op >> 12 & 15;
    if (!m->halted || !(m->control & 1 << 13) || m->sticky != 0)
        return;
    if (op >> 20 == 0xE30)
        p->r[rd] = half;
    else if (op >> 20 == 0xE34)
        p->r[rd] = (p->r[rd] & 0xFFFF) | half << 16;
    else if (op >> 20 == 0xE59 || op >> 20 == 0xE58)
        model_memory(m, op);
    else if ((op & 0xFFFF0FFF) == 0xEE000E15)
        m->tx = p->r[rd], m->tx_full = true;
    else if (op == 0xE1A0000F)
        p->r[0] = p->pc + (p->cpsr & 0x20 ? 4 : 8);
    else if (op == 0xE1A0F000)
        p->pc = p->r[0] & (p->cpsr & 0x20 ? ~1U : ~3U);
    else if (op == 0xE1A0000D)
        p->r[0] = p->r[13];
    else if (op == 0xE10F0000)
        p->r[0] = p->cpsr;
    else if (op == 0xE12FF000)
        p->cpsr = p->r[0], p->pc = 0xDEAD; /* unknown after that */
    else if (op == 0xE121F002)
        p->cpsr = (p->cpsr & ~0xFFU) | (p->r[2] & 0xFF), p->pc = 0xDEAD;
    else if (op == 0xE1A0000E)
        p->r[0] = *model_banked(m, false);
    else if (op == 0xE1A0E000)
        *model_banked(m, false) = p->r[0];
    else if (op == 0xE14F0000)
        p->r[0] = *model_banked(m, true);
    else if (op == 0xE16FF000)
        *model_banked(m, true) = p->r[0];
    else if ((op & 0xFFFEFF0F) == 0xEE140F00 || (op & 0xFFFFFF1F) == 0xEE150F10 ||
             (op & 0xFFFFFF1F) == 0xEE160F10)
        p->r[0] = *model_fault(m, op);
    else if ((op & 0xFFFFFF1F) == 0xEE050F10 || (op & 0xFFFFFF1F) == 0xEE060F10)
        *model_fault(m, op) = p->r[0];
    else if ((op & 0xFFFF0FFF) == 0xEE070F3B || (op & 0xFFFF0FFF) == 0xEE070F35)
        model_line(m, op);
    else
        m->strange += (op & 0xFFFF0F1F) != 0xEE070F15 && op >> 4 != 0xF57FF04 &&
                      op >> 4 != 0xF57FF06; /* branch predictors and barriers */
}

/* --- registers ------------------------------------------------------------------------------------------ */

static inline uint32_t model_read(struct model *m, uint32_t offset)
{
    uint32_t value = 0;
    switch (offset) {
    case 0x01C:
        return m->vcr;
    case 0x088:
        return m->control | m->sticky | m->halted | m->restarted << 1 | m->moe << 2 | 1 << 24 |
               (m->tx_full ? 1 << 26 | 1 << 29 : 0);
    case 0x08C:
        m->tx_full = false;
        return m->tx;
    case 0x140:
    case 0x144:
        return m->bcr[(offset - 0x140) / 4];
    case 0x314:
        value = m->was_reset ? 9 : 1;
        m->was_reset = false;
        return value;
    default:
        return 0;
    }
}

static inline void model_write(struct model *m, uint32_t offset, uint32_t value)
{
    if (offset == 0x01C)
        m->vcr = value;
    else if (offset == 0x084)
        model_instruct(m, value);
    else if (offset == 0x088)
        m->control = value & 0x30FC00;
    else if (offset == 0x140 || offset == 0x144)
        m->bcr[(offset - 0x140) / 4] = value;
    else if (offset == 0x090) {
        m->sticky = value & 4 ? 0 : m->sticky;
        if ((value & 2) && m->halted)
            model_leave(m);
        else if ((value & 1) && !m->halted)
            model_stop(m, 0);
    }
}

static inline bool model_trouble(struct model *m, struct outcome *outcome, struct error *error)
{
    if (m->accesses++ != m->trouble_at)
        return false;
    switch (m->what) {
    case CANCEL:
        m->cancelled = 1;
        return false;
    case RESET:
        model_reset(m);
        return false;
    case FAULT_ONCE:
        outcome->why = TARGET_FAULT;
        return !error_set(error, ERROR_FAULT, "told to");
    case WAIT_ONCE:
        outcome->why = TARGET_WAIT;
        return !error_set(error, ERROR_ASLEEP, "told to");
    case LOSE_ONCE:
        outcome->why = LINK_LOST;
        return !error_set(error, ERROR_LINK_LOST, "told to");
    default:
        return false;
    }
}

static inline struct outcome model_execute(struct link *link, const struct step *steps, size_t n,
                                           uint64_t *results, const struct deadline *deadline,
                                           struct error *error)
{
    struct model *m = (struct model *)link;
    struct outcome outcome = {.why = DONE};
    (void)deadline;
    for (outcome.done = 0; outcome.done < n; outcome.done++) {
        const struct step *step = &steps[outcome.done];
        uint32_t offset = (uint32_t)step->at.offset - MODEL_BASE;
        if (model_trouble(m, &outcome, error))
            return outcome;
        if (step->op == OP_WRITE) {
            model_write(m, offset, (uint32_t)step->value);
            continue;
        }
        outcome.saw = results[outcome.done] = model_read(m, offset);
        if (step->op == OP_READ || (outcome.saw & step->mask) == step->value)
            continue;
        outcome.why = step->op == OP_UNTIL ? NOT_YET : UNEXPECTED;
        return outcome;
    }
    return outcome;
}

/*
 * The link to a model core: its registers by address, steps by the contract of link_execute, and whatever can
 * go wrong at an access.
 */
#pragma once

#include "model_core.h"

enum { MODEL_MHZ = 100 }; /* of the core, for OP_TIME */

static inline uint32_t model_read(struct model_core *m, uint32_t address, unsigned size)
{
    uint32_t value;
    switch (address) {
    case 0xE000ED00:
        return m->cpuid;
    case 0xE000ED04:
        return (m->pending && !m->maskints ? 0x00C00000 : 0) | (m->xpsr & 0x1FF);
    case 0xE000ED14:
        return 0x200;
    case 0xE000ED30:
        return m->dfsr;
    case 0xE000EDF0:
        return model_read_dhcsr(m);
    case 0xE000EDF8:
        return m->dcrdr;
    case 0xE000EDFC:
        return m->demcr;
    case 0xE0002000:
        return m->fp_ctrl;
    case 0xE0001000:
        return m->demcr & 0x01000000 ? m->dwt_ctrl : 0;
    case 0xE0001004:
        return m->demcr & 0x01000000 ? m->cyccnt : 0;
    case 0xE000E010:
        return m->csr;
    case 0xE000E014:
        return m->rvr;
    case 0xE000E018:
        return m->cvr;
    default:
        break;
    }
    if (address >= 0xE0002008 && address < 0xE0002008 + 4 * MODEL_COMPARATORS)
        return m->comparators[(address - 0xE0002008) / 4];
    if (address >= 0xE0000000)
        return 0;
    value = model_halfword(m, address);
    return size == 2 ? value : value | (uint32_t)model_halfword(m, address + 2) << 16;
}

static inline void model_write(struct model_core *m, uint32_t address, unsigned size, uint32_t value)
{
    switch (address) {
    case 0xE000ED30:
        m->dfsr &= ~value;
        return;
    case 0xE000EDF0:
        model_write_dhcsr(m, value);
        return;
    case 0xE000EDF4:
        model_transfer(m, value & 0x7F);
        return;
    case 0xE000EDFC:
        m->demcr = value;
        return;
    case 0xE0002000:
        if (value & 2)
            m->fp_ctrl = (m->fp_ctrl & ~1U) | (value & 1);
        return;
    case 0xE0001000:
        m->dwt_ctrl = value;
        return;
    case 0xE0001004:
        m->cyccnt = value;
        return;
    case 0xE000E010:
        m->csr = value & 0x7;
        return;
    case 0xE000E014:
        m->rvr = m->lacks_systick ? 0 : value & 0xFFFFFF;
        return;
    case 0xE000E018:
        m->cvr = 0;
        return;
    default:
        break;
    }
    if (address >= 0xE0002008 && address < 0xE0002008 + 4 * MODEL_COMPARATORS)
        m->comparators[(address - 0xE0002008) / 4] = value;
    else if (address >= MODEL_RAM && address < 0xE0000000 && !m->ram_is_rom && size == 2)
        model_cell(m, address)->code = (uint16_t)value;
    else if (address >= MODEL_RAM && address < 0xE0000000 && !m->ram_is_rom)
        model_poke(m, address, value);
}

/* One more access: time passes, and what was to happen at it happens. DONE: it can be carried out. */
static inline enum why model_begin_access(struct model_core *m, bool *after)
{
    long now = m->accesses++;
    *after = false;
    if (m->lost || (m->limit > 0 && now >= m->limit)) {
        m->hung = m->hung || !m->lost;
        return LINK_LOST;
    }
    if (m->going > 0 && --m->going == 0)
        model_go(m);
    if (m->transfer_left > 0 && --m->transfer_left == 0)
        m->dcrdr = m->dcrdr_next;
    model_advance(m, m->pace);
    if (m->deep_sleep && m->asleep > 0)
        return TARGET_WAIT;
    if (m->unheard && now >= m->trouble_at + m->trouble_for)
        return LINK_LOST;
    if (now < m->trouble_at || now >= m->trouble_at + m->trouble_for)
        return DONE;
    switch (m->what) {
    case TROUBLE_NONE:
        break;
    case TROUBLE_CANCEL:
        m->cancelled = 1;
        return NOT_YET;
    case TROUBLE_SLICE:
        return NOT_YET;
    case TROUBLE_WAIT:
        return TARGET_WAIT;
    case TROUBLE_FAULT:
        return TARGET_FAULT;
    case TROUBLE_LOST:
    case TROUBLE_LOST_AFTER:
        m->lost = true;
        *after = m->what == TROUBLE_LOST_AFTER;
        return LINK_LOST;
    case TROUBLE_UNHEARD:
        m->unheard = true;
        break;
    case TROUBLE_RESET:
        model_reset(m);
        break;
    case TROUBLE_PEND:
        model_pend(m);
        break;
    case TROUBLE_LOOK:
        m->dfsr = m->halted ? 0 : m->dfsr;
        break;
    case TROUBLE_HALT:
        model_halt_request(m, m->pc + 2);
        break;
    }
    return DONE;
}

static inline struct outcome model_step(struct model_core *m, const struct step *step, uint64_t *result)
{
    uint32_t address = (uint32_t)step->at.offset;
    for (uint32_t polls = 1;; polls++) {
        bool after;
        enum why why = model_begin_access(m, &after);
        if (why != DONE && !after)
            return (struct outcome){.why = why};
        if (step->op == OP_WRITE)
            model_write(m, address, step->at.size, (uint32_t)step->value);
        else
            *result = model_read(m, address, step->at.size);
        if (after)
            return (struct outcome){.why = why};
        if (step->op == OP_READ || step->op == OP_WRITE || (*result & step->mask) == step->value)
            return (struct outcome){.why = DONE};
        if (step->op == OP_EXPECT)
            return (struct outcome){.why = UNEXPECTED, .saw = *result};
        if (polls >= m->slice)
            return (struct outcome){.why = NOT_YET, .saw = *result};
    }
}

/* From step `heard` on the answer to the list is lost. */
static inline struct outcome model_ended(struct model_core *m, struct outcome outcome, size_t heard,
                                         struct error *error)
{
    if (heard != SIZE_MAX) {
        m->lost = true;
        m->unheard = false;
        outcome = (struct outcome){.why = LINK_LOST, .done = heard};
    }
    if (outcome.why == TARGET_WAIT)
        error_set(error, ERROR_ASLEEP, "no answer");
    else if (outcome.why == TARGET_FAULT)
        error_set(error, ERROR_FAULT, "refused");
    else if (outcome.why == LINK_LOST)
        error_set(error, ERROR_LINK_LOST, "the link is gone");
    return outcome;
}

static inline struct outcome model_execute(struct link *link, const struct step *steps, size_t n,
                                           uint64_t *results, const struct deadline *deadline,
                                           struct error *error)
{
    struct model_core *m = (struct model_core *)link;
    (void)deadline;
    size_t heard = SIZE_MAX;
    m->lists++;
    for (size_t i = 0; i < n; i++) {
        if (steps[i].op == OP_TIME) {
            results[i] = (m->wall + (steps[i].value == TIME_AFTER ? MODEL_MHZ - 1 : 0)) / MODEL_MHZ;
            continue;
        }
        if (m->steps_a_call > 0 && i >= m->steps_a_call)
            return model_ended(m, (struct outcome){.why = NOT_YET, .done = i}, heard, error);
        uint64_t result = 0;
        struct outcome outcome = model_step(m, &steps[i], &result);
        outcome.done = i;
        if (m->unheard && heard == SIZE_MAX)
            heard = i;
        if (outcome.why != DONE)
            return model_ended(m, outcome, heard, error);
        results[i] = result;
    }
    return model_ended(m, (struct outcome){.why = DONE, .done = n}, heard, error);
}

static inline size_t model_views(struct link *link, struct link_view *out, size_t room, struct error *error)
{
    (void)link;
    (void)error;
    if (room > 0)
        out[0] = (struct link_view){.unit = 0, .name = "model", .type = "cortex_m", .is_core = true};
    return 1;
}

/* A Cortex-M4 r0p1 with six comparators, its DWT switched off, SysTick idle. */
static inline void model_init(struct model_core *m, const struct model_event *script, size_t n, size_t loop)
{
    static const struct link_ops ops = {.execute = model_execute, .exact_faults = true, .views = model_views};
    *m = (struct model_core){.link.ops = &ops,
                             .cpuid = 0x410FC241,
                             .pace = 10,
                             .leave_cost = 4,
                             .enter_cost = 7,
                             .handler = 90,
                             .slice = 1000,
                             .script = script,
                             .n_script = n,
                             .loop = loop,
                             .pc = 0x180,
                             .sp = 0x20008000,
                             .xpsr = 0x01000000,
                             .fp_ctrl = 0x260,
                             .dwt_ctrl = 0x40000000,
                             .rvr = 0x1234,
                             .limit = 100000,
                             .lead = 1000,
                             .trouble_at = -1};
    model_load_event(m);
    m->left += m->left == UINT64_MAX ? 0 : m->lead;
}

/* That as a Cortex-M7 r1p1. */
static inline void model_be_m7(struct model_core *m)
{
    m->cpuid = 0x411FC271;
    m->fp_ctrl = 0x10000080;
    m->halts_in_handler = true;
}

/* The first thing that is not as it was before; NULL: all is. */
static inline const char *model_difference(const struct model_core *m, const struct model_core *before)
{
    for (size_t i = 0; i < m->n_cells; i++)
        if (m->cells[i].code != model_halfword(before, m->cells[i].address))
            return "memory";
    if (memcmp(m->comparators, before->comparators, sizeof m->comparators) != 0)
        return "a comparator";
    return m->fp_ctrl != before->fp_ctrl                       ? "FP_CTRL"
           : m->demcr != before->demcr                         ? "DEMCR"
           : m->dfsr & ~before->dfsr                           ? "DFSR"
           : m->debug != before->debug                         ? "C_DEBUGEN"
           : m->maskints                                       ? "C_MASKINTS"
           : m->dwt_ctrl != before->dwt_ctrl                   ? "DWT_CTRL"
           : !(m->dwt_ctrl & 1) && m->cyccnt != before->cyccnt ? "CYCCNT"
           : m->csr != before->csr                             ? "SYST_CSR"
           : m->rvr != before->rvr                             ? "SYST_RVR"
           : m->halted != before->halted                       ? "halted"
           : m->careless                                       ? "C_MASKINTS by the write that leaves"
           : m->escalated                                      ? "a breakpoint without debug"
                                                               : NULL;
}

// Instructions that a debugger puts into a halted core through EDITR, and the data transfer registers (DDI
// 0487H H2.4.8, H4). System instructions are done as for a program, at the level that the core is at; the
// rest executes from a page that only the emulator has. None of it is counted. An exception in it sets
// EDSCR.ERR.
#include "cpu/armv8.h"

// The data transfer registers with X0 and X1 in memory access mode, DDI 0487H H4.3.2
enum memory_op { OP_TAKE_RX, OP_STORE, OP_LOAD, OP_SHOW_TX };
static const uint32_t memory_ops[2][4] = {{0xD5330501, 0xB8004401, 0xB8404401, 0xD5130501},
                                          {0x1E15EE10, 0x1B04F840, 0x1B04F850, 0x1E15EE00}}; // T32

// Of each level, a bit that is set if it is AArch64 state. Where a level is not, those below are UNKNOWN,
// here others at each halt.
static uint32_t execution_states(const struct armv8 *v8)
{
    const struct v8_profile *profile = v8->profile;
    if (!v8->aarch32 || v8->state != V8_HALTED)
        return 0xF;
    if (v8->user32)
        return 0xE;
    return profile->rw | (v8->core.halts * 5 & profile->rw_unknown);
}

uint32_t v8_edscr(const struct armv8 *v8)
{
    uint32_t value = v8->debug.control | v8->debug.status | execution_states(v8) << 10;
    if (v8->state == V8_HALTED)
        value |= EDSCR_ITE | v8->level << 8 | (v8_secure(v8) ? 0 : EDSCR_NS);
    return value;
}

// As an exception taken to the same level, or to EL1 from EL0
static void fail(struct armv8 *v8, enum v8_class class, uint32_t iss)
{
    unsigned level = v8->level ? v8->level : 1;
    v8->debug.control |= EDSCR_ERR;
    v8->regs[R_ESR + level] = (uint32_t) class << 26 | 1u << 25 | iss;
    v8->regs[R_FAR + level] = v8->touched;
    if (!v8->level)
        v8_set_pstate(v8, (v8_pstate(v8) & ~PSTATE_LEVEL) | 1u << 2 | PSTATE_SPSEL);
}

static void from_scratch(struct armv8 *v8, uint32_t op)
{
    v8->stuffing = true;
    v8->loaded = v8->stored = false;
    v8->raised = -1;
    uc_mem_write(v8->uc, V8_SCRATCH, &op, sizeof op);
    uc_ctl_remove_cache(v8->uc, V8_SCRATCH, V8_SCRATCH + 4);
    uc_err error = uc_emu_start(v8->uc, V8_SCRATCH, V8_SCRATCH + 4, 0, 0);
    v8->stuffing = false;
    if (error == UC_ERR_INSN_INVALID || error == UC_ERR_EXCEPTION || v8->raised >= 0)
        fail(v8, EC_UNKNOWN, 0);
    else if (error != UC_ERR_OK)
        fail(v8, EC_DATA_ABORT + 1, 0x10 | (v8->stored ? 1u << 6 : 0));
    else if (v8->stored)
        bus_tell(v8->bus, (uint32_t)v8->touched & ~7u, 24);
}

// DCPS1 to DCPS3 go to a level, DRPS back to where SPSR_ELx says
static void change_level(struct armv8 *v8, unsigned level)
{
    if (level < v8->level || level > 3)
        fail(v8, EC_UNKNOWN, 0);
    else
        v8_set_pstate(v8, (v8_pstate(v8) & PSTATE_NZCV) | PSTATE_DAIF | level << 2 | PSTATE_SPSEL);
}

static void execute(struct armv8 *v8, uint32_t op)
{
    if (v8->aarch32) {
        a32_stuff(v8, op);
        return;
    }
    uint16_t is = a64_classify_op(op);
    if (is & (A64_REGISTER | A64_PSTATE)) {
        if ((is & A64_REGISTER ? v8_system(v8, op) : v8_set_immediate(v8, op)) != V8_DONE)
            fail(v8, EC_UNKNOWN, 0);
    } else if ((op & 0xFFE0001C) == 0xD4A00000 && (op & 3)) {
        change_level(v8, op & 3);
    } else if (op == 0xD6BF03E0 && v8->level) {
        v8_set_pstate(v8, (uint32_t)v8->regs[R_SPSR + v8->level]);
    } else if (is & ~(A64_IDLE | A64_WFI)) { // branches and the like
        fail(v8, EC_UNKNOWN, 0);
    } else if (!is) {
        from_scratch(v8, op);
    }
}

void v8_stuff(struct armv8 *v8, uint32_t op)
{
    struct v8_debug *d = &v8->debug;
    if (v8->state != V8_HALTED || (d->control & EDSCR_ERR))
        return;
    if (d->control & EDSCR_MA)
        d->control |= EDSCR_ITO | EDSCR_ERR;
    else
        execute(v8, op);
}

static void execute_for_memory(struct armv8 *v8, enum memory_op which)
{
    execute(v8, memory_ops[v8->aarch32 != NULL][which]);
}

static bool memory_mode(const struct armv8 *v8)
{
    return v8->state == V8_HALTED && (v8->debug.control & EDSCR_MA);
}

void v8_write_rx(struct armv8 *v8, uint32_t value)
{
    struct v8_debug *d = &v8->debug;
    if (d->control & EDSCR_ERR)
        return;
    if (d->control & EDSCR_RXFULL) {
        d->control |= EDSCR_RXO | EDSCR_ERR;
        return;
    }
    d->control |= EDSCR_RXFULL;
    d->dtr_rx = value;
    if (memory_mode(v8)) {
        execute_for_memory(v8, OP_TAKE_RX);
        execute_for_memory(v8, OP_STORE);
    }
}

uint32_t v8_read_tx(struct armv8 *v8)
{
    struct v8_debug *d = &v8->debug;
    uint32_t value = d->dtr_tx;
    if (d->control & EDSCR_ERR)
        return value;
    if (!(d->control & EDSCR_TXFULL)) {
        d->control |= EDSCR_TXU | EDSCR_ERR;
        return ~value; // UNKNOWN
    }
    d->control &= ~EDSCR_TXFULL;
    if (memory_mode(v8)) {
        execute_for_memory(v8, OP_LOAD);
        if (!(d->control & EDSCR_ERR))
            execute_for_memory(v8, OP_SHOW_TX);
    }
    return value;
}

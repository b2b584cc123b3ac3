// Instructions that a debugger stuffs into a halted core through DBGITR, always ARM ones (DDI 0406C C5.4).
// Those that touch the PC, the CPSR, the data transfer registers or registers of ours are done here; the rest
// executes from a page that only the emulator has. None of it is counted.
#include "cpu/armv7.h"

enum { PC_AHEAD_ARM = 8, PC_AHEAD_THUMB = 4 };

static uint32_t operand(const struct armv7 *v7, unsigned number)
{
    return number == 15 ? v7->pc + (v7->thumb ? PC_AHEAD_THUMB : PC_AHEAD_ARM) : v7_register(v7, number);
}

// MSR CPSR_<fields>, Rm. In Debug state it reaches the execution state bits too, from any mode.
static void write_cpsr(struct armv7 *v7, uint32_t op)
{
    static const uint32_t fields[] = {0x000000FF, 0x0000FF00, 0x00FF0000, 0xFF000000};
    uint32_t mask = 0, value = v7_register(v7, op & 15);
    for (unsigned i = 0; i < 4; i++)
        mask |= op >> (16 + i) & 1 ? fields[i] : 0;
    v7_set_cpsr(v7, (v7_cpsr(v7) & ~mask) | (value & mask));
}

// LDC and STC of the data transfer registers, one word: p14, c5
static void transfer_word(struct armv7 *v7, uint32_t op)
{
    struct v7_debug *d = &v7->debug;
    bool load = op & 1u << 20, up = op & 1u << 23, before = op & 1u << 24, back = op & 1u << 21;
    unsigned rn = op >> 16 & 15;
    uint32_t base = operand(v7, rn), offset = 4 * (op & 0xFF), moved = up ? base + offset : base - offset;
    uint32_t address = before ? moved : base;
    bool done;
    if (load)
        done = bus_read(v7->bus, address & ~3u, 4, &d->dtr_tx, BUS_DEBUGGER_AS_CORE);
    else
        done = bus_write(v7->bus, address & ~3u, 4, d->dtr_rx, BUS_DEBUGGER_AS_CORE);
    if (!done) {
        d->sticky |= DSCR_SDABORT;
        return;
    }
    if (load)
        d->tx_full = true;
    else
        d->rx_full = false;
    if (back || !before)
        v7_set_register(v7, rn, moved);
}

enum v7_stuffed v7_from_scratch(struct armv7 *v7, uint32_t bytes, bool thumb)
{
    v7->stuffing = true;
    v7->loaded = v7->stored = false;
    v7->raised = RAISED_NONE;
    uc_mem_write(v7->uc, V7_SCRATCH, &bytes, sizeof bytes);
    uc_ctl_remove_cache(v7->uc, V7_SCRATCH, V7_SCRATCH + 4);
    uc_err error = uc_emu_start(v7->uc, V7_SCRATCH | thumb, V7_SCRATCH + 4, 0, 0);
    v7->stuffing = false;
    bool undefined = error == UC_ERR_INSN_INVALID || error == UC_ERR_EXCEPTION;
    bool raised = v7->raised != RAISED_NONE && v7->raised != RAISED_DATA_ABORT;
    v7_mode_changed(v7);
    if (undefined || raised)
        return V7_STUFFED_UNDEFINED;
    if (error != UC_ERR_OK || v7->raised == RAISED_DATA_ABORT)
        return V7_STUFFED_ABORT;
    if (v7->stored)
        bus_tell(v7->bus, v7->touched & ~7u, 16);
    return V7_STUFFED;
}

static void from_scratch(struct armv7 *v7, uint32_t op)
{
    enum v7_stuffed how = v7_from_scratch(v7, op, false);
    v7->debug.sticky |= how == V7_STUFFED_UNDEFINED ? DSCR_UND : how == V7_STUFFED_ABORT ? DSCR_SDABORT : 0;
}

void v7_stuff(struct armv7 *v7, uint32_t op)
{
    uint32_t any = op & 0x0FFFFFFF;
    if ((any & 0x0FFF0FFF) == 0x01A0000F) { // MOV Rd, pc
        v7_set_register(v7, op >> 12 & 15, operand(v7, 15));
    } else if ((any & 0x0FFFFFF0) == 0x01A0F000) { // MOV pc, Rm
        v7->pc = operand(v7, op & 15) & (v7->thumb ? ~1u : ~3u);
    } else if ((any & 0x0FFFFFF0) == 0x012FFF10) { // BX
        uint32_t to = operand(v7, op & 15);
        v7->thumb = to & 1;
        v7->pc = to & (v7->thumb ? ~1u : ~3u);
    } else if ((any & 0x0FFF0FFF) == 0x010F0000) { // MRS Rd, CPSR
        v7_set_register(v7, op >> 12 & 15, v7_cpsr(v7));
    } else if ((any & 0x0FF0FFF0) == 0x0120F000) {
        write_cpsr(v7, op);
    } else if ((any & 0x0E00FF00) == 0x0C005E00) {
        transfer_word(v7, op);
    } else if (classify_arm(op) & OP_COPROCESSOR) {
        if (!v7_coprocessor(v7, op))
            v7->debug.sticky |= DSCR_UND;
    } else {
        from_scratch(v7, op);
    }
    v7->attention = true;
}

// An Armv8 core in AArch32 state: what an Armv7 core executes with, under Armv8's debug registers, cross
// trigger interface and monitor. In Debug state it executes T32 instructions of 32 bits (DDI 0487H H2.4.2);
// those that are CONSTRAINED UNPREDICTABLE there are undefined here. The level is EL0 in User mode, EL2 in
// Hyp mode, else EL1. Not modelled: Monitor mode. Under a core whose
// other levels are in AArch64 state it is User mode alone: all exceptions leave it.
#include "cpu/armv7.h"
#include "cpu/armv8.h"

#include <stdlib.h>

// What an exception in Debug state leaves UNKNOWN
#define SPOILT 0xBAD0BAD0u
enum { EC_SVC_32 = 0x11, FSC_EXTERNAL = 0x10 };
enum { CONTEXTIDR = 13, FAULT_STATUS = 5, FAULT_ADDRESS = 6 };

bool a32_create(struct armv8 *v8, const struct core_plan *plan)
{
    v8->aarch32 = v7_create_inside(v8, &v8->core, plan, v8->profile->aarch32);
    if (v8->aarch32)
        v8->pmu.totals = v8->aarch32->totals;
    return v8->aarch32;
}

void a32_destroy(struct armv8 *v8)
{
    struct armv7 *one = v8->user32 ? v8->user32 : v8->aarch32;
    if (one)
        v7_destroy(one);
}

void a32_reset(struct armv8 *v8)
{
    v8->regs[R_SCR] = SCR_NS;
    v7_reset(v8->aarch32);
    v8_level_changed(v8);
}

void a32_run(struct armv8 *v8, uint64_t cycles)
{
    v7_run_inside(v8->aarch32, cycles);
}

void a32_log(struct armv8 *v8, enum truth_kind kind, uint32_t pc, uint32_t extra)
{
    v7_log(v8->aarch32, kind, pc, extra);
}

uint32_t a32_pc(const struct armv8 *v8)
{
    return v8->aarch32->pc;
}

void a32_set_pc(struct armv8 *v8, uint32_t value)
{
    v8->aarch32->pc = value;
}

uint32_t a32_register(const struct armv8 *v8, unsigned number)
{
    return v7_register(v8->aarch32, number);
}

uint32_t a32_cpsr(const struct armv8 *v8)
{
    return v7_cpsr(v8->aarch32);
}

void a32_set_cpsr(struct armv8 *v8, uint32_t value)
{
    v7_set_cpsr(v8->aarch32, value);
}

uint32_t a32_context(const struct armv8 *v8)
{
    return v7_cp15(v8->aarch32, CONTEXTIDR, 0, 1);
}

bool a32_interrupted(const struct armv8 *v8)
{
    return v7_interrupted(v8->aarch32);
}

uint32_t *a32_pending(struct armv8 *v8)
{
    return &v8->aarch32->pending;
}

uint64_t a32_work(const struct armv8 *v8)
{
    const struct armv7 *one = v8->user32 ? v8->user32 : v8->aarch32;
    return one ? one->work : 0;
}

void a32_attend(struct armv8 *v8)
{
    v8->aarch32->attention = true;
}

void a32_set_halted(struct armv8 *v8, bool halted)
{
    v8->aarch32->state = halted ? V7_HALTED : V7_RUNNING;
}

bool a32_asleep(const struct armv8 *v8)
{
    return v8->aarch32->state == V7_ASLEEP;
}

/* --- at EL0, where other levels are in AArch64 state ---------------------------------------------------- */

enum { SHARED = 15 }; // R0 to R14 are X0 to X14: DDI 0487H D1.20.1

void a32_enter_user(struct armv8 *v8, uint32_t cpsr)
{
    if (!v8->user32 && !(v8->user32 = v7_create_user(v8)))
        abort();
    struct armv7 *v7 = v8->user32;
    uint64_t x[SHARED];
    for (unsigned i = 0; i < SHARED; i++)
        x[i] = v8_x(v8, i);
    v7->pc = (uint32_t)v8->pc;
    v7->state = v8->state == V8_HALTED ? V7_HALTED : V7_RUNNING;
    v7->it_left = 0;
    v7_set_cpsr(v7, (cpsr & ~CPSR_MODE) | MODE_USER);
    for (unsigned i = 0; i < SHARED; i++)
        v7_set_register(v7, i, (uint32_t)x[i]);
    v8->aarch32 = v7;
    v7->attention = true;
}

void a32_leave_user(struct armv8 *v8)
{
    uint32_t r[SHARED];
    a32_add_totals(v8);
    for (unsigned i = 0; i < SHARED; i++)
        r[i] = a32_register(v8, i);
    v8->aarch32 = NULL;
    for (unsigned i = 0; i < SHARED; i++)
        v8_set_x(v8, i, r[i]);
}

// Those of exceptions and of writes to CONTEXTIDR occur in AArch64 state
void a32_add_totals(struct armv8 *v8)
{
    static const uint8_t from[][2] = {{V8_L1D_REFILL, V7_L1D_REFILL},
                                      {V8_L1D, V7_L1D_ACCESS},
                                      {V8_LOAD, V7_LOAD},
                                      {V8_STORE, V7_STORE},
                                      {V8_INSTRUCTION, V7_INSTRUCTION},
                                      {V8_PC_WRITE, V7_PC_WRITE},
                                      {V8_BRANCH_IMMEDIATE, V7_BRANCH_IMMEDIATE},
                                      {V8_UNALIGNED, V7_UNALIGNED},
                                      {V8_MEMORY, V7_LOAD_OR_STORE}};
    for (unsigned i = 0; v8->user32 && i < sizeof from / sizeof *from; i++) {
        uint64_t now = v8->user32->totals[from[i][1]];
        v8->totals[from[i][0]] += now - v8->added32[i];
        v8->added32[i] = now;
    }
}

void a32_forget_code(struct armv8 *v8, uint32_t from, uint32_t to)
{
    if (v8->user32)
        uc_ctl_remove_cache(v8->user32->uc, from, to);
}

bool a32_is_user(const struct armv7 *v7)
{
    return v7->outside && v7->outside->user32;
}

void a32_leave_by(struct armv8 *v8, enum v7_exception exception, uint32_t return_address)
{
    static const uint8_t classes[] = {[V7_UNDEFINED] = EC_UNKNOWN,
                                      [V7_SVC] = EC_SVC_32,
                                      [V7_PREFETCH_ABORT] = EC_INSTRUCTION_ABORT,
                                      [V7_DATA_ABORT] = EC_DATA_ABORT};
    bool aborts = exception == V7_PREFETCH_ABORT || exception == V7_DATA_ABORT;
    v8_enter_at(v8, 1, classes[exception], aborts ? FSC_EXTERNAL : 0,
                exception == V7_SVC ? return_address : v8->aarch32->pc);
}

/* --- instructions in Debug state ------------------------------------------------------------------------ */

static void set_mode(struct armv7 *v7, uint32_t mode)
{
    v7_set_cpsr(v7, (v7_cpsr(v7) & ~CPSR_MODE) | mode);
}

// In Debug state, by an exception or DCPS1
static void to_el1(struct armv8 *v8)
{
    v8->regs[R_ELR + 1] = v8->regs[R_SPSR + 1] = v8->regs[R_ESR + 1] = SPOILT;
    v8_set_pstate(v8, (v8_pstate(v8) & PSTATE_NZCV) | PSTATE_DAIF | 1u << 2 | PSTATE_SPSEL);
}

// DDI 0487H H2.4.7.2: the core enters the mode of the exception, and what that would have saved is lost
static void fail(struct armv8 *v8, bool data)
{
    struct armv7 *v7 = v8->aarch32;
    v8->debug.control |= EDSCR_ERR;
    if (v8->user32) {
        to_el1(v8);
        return;
    }
    if (v7->hyp) {
        hyp_spoil(v7, data);
        return;
    }
    set_mode(v7, data ? MODE_ABT : MODE_UND);
    v7_set(v7, UC_ARM_REG_SPSR, (SPOILT & ~CPSR_MODE) | MODE_SVC);
    v7_set(v7, UC_ARM_REG_LR, SPOILT);
    v8->regs[R_DLR] = SPOILT;
    v8->regs[R_DSPSR] = (SPOILT & ~CPSR_MODE) | MODE_SVC;
    if (!data)
        return;
    v7_set_cp15(v7, FAULT_STATUS, 0, 0, FS_EXTERNAL);
    v7_set_cp15(v7, FAULT_ADDRESS, 0, 0, v7->touched);
}

// MRS and MSR of SPSR, or of LR, SP or SPSR of another mode; false: it is none of that, or UNPREDICTABLE
enum { ELR_HYP = 0x1E };

static bool move_special(struct armv7 *v7, uint32_t op)
{
    static const uint32_t modes[] = {MODE_IRQ, MODE_SVC, MODE_ABT, MODE_UND};
    bool reads = op & 1u << 21, spsr = op & 1u << 20, banked = op & 1u << 5;
    unsigned rt = reads ? op >> 8 & 15 : op >> 16 & 15, m1 = reads ? op >> 16 & 15 : op >> 8 & 15;
    uint32_t now = v7_cpsr(v7), mode = banked ? modes[m1 >> 1 & 3] : now & CPSR_MODE;
    struct hyp_moved moved = hyp_moved_t32(op);
    if (v7->hyp && (spsr || moved.bank == ELR_HYP))
        return hyp_move(v7, &moved);
    bool of_another = !banked || ((op & 1u << 4) && m1 < 8 && mode != (now & CPSR_MODE));
    if (v7_user(v7) || !of_another || (!banked && !spsr))
        return false;
    int which = spsr ? UC_ARM_REG_SPSR : m1 & 1 ? UC_ARM_REG_SP : UC_ARM_REG_LR;
    uint32_t value = v7_register(v7, rt);
    set_mode(v7, mode);
    if (reads)
        value = v7_get(v7, which);
    else
        v7_set(v7, which, value);
    v7_set_cpsr(v7, now);
    if (reads)
        v7_set_register(v7, rt, value);
    return true;
}

// DLR and DSPSR: p15, 3, c4, c5
static void move_saved(struct armv8 *v8, uint32_t op)
{
    uint64_t *at = &v8->regs[op >> 5 & 7 ? R_DLR : R_DSPSR];
    unsigned rt = op >> 12 & 15;
    if (op & 1u << 20)
        v7_set_register(v8->aarch32, rt, (uint32_t)*at);
    else
        *at = v7_register(v8->aarch32, rt);
}

// DRPS, which ERET is in Debug state, and DCPS1
enum { DRPS = 0xF3DE8F00, DCPS1 = 0xF78F8001, DCPS2 = 0xF78F8002 };

static bool change_mode(struct armv7 *v7, uint32_t op)
{
    uint32_t spsr = hyp_spsr(v7), to = op == DRPS               ? spsr & CPSR_MODE
                                       : op == DCPS2 || v7->hyp ? MODE_HYP
                                                                : MODE_SVC;
    if (op == DRPS ? v7_user(v7) || !(spsr & MODE_USER) : op == DCPS2 && !v7->profile->has_hyp)
        return false;
    set_mode(v7, to);
    return true;
}

static bool is_barrier(unsigned is)
{
    return is & (OP_ISB | OP_DSB | OP_DMB);
}

void a32_stuff(struct armv8 *v8, uint32_t bytes)
{
    struct armv7 *v7 = v8->aarch32;
    uint32_t op = bytes << 16 | bytes >> 16;
    bool wide = op >> 27 >= 0x1D;
    unsigned is = wide ? classify_thumb32(op) : 0;
    enum v7_stuffed how = V7_STUFFED_UNDEFINED;
    if ((op & 0xFFEF0FDF) == 0xEE640F15) {
        move_saved(v8, op);
        how = V7_STUFFED;
    } else if ((op & 0xFFE0D0CF) == 0xF3E08000 || (op & 0xFFE0D0CF) == 0xF3808000) {
        how = move_special(v7, op) ? V7_STUFFED : V7_STUFFED_UNDEFINED;
    } else if (op == DCPS1 && v8->user32) {
        to_el1(v8);
        how = V7_STUFFED;
    } else if (op == DRPS || op == DCPS1 || op == DCPS2) {
        how = change_mode(v7, op) ? V7_STUFFED : V7_STUFFED_UNDEFINED;
    } else if (is & OP_COPROCESSOR) {
        how = v7_coprocessor(v7, op) ? V7_STUFFED : V7_STUFFED_UNDEFINED;
    } else if (is_barrier(is)) {
        how = V7_STUFFED;
    } else if (wide && !is) {
        how = v7_from_scratch(v7, bytes, true);
    }
    if (how != V7_STUFFED)
        fail(v8, how == V7_STUFFED_ABORT);
}

/* --- MRC and MCR ---------------------------------------------------------------------------------------- */

// The numbers are those of the System registers, but for op1
static bool debug_register(struct armv8 *v8, unsigned crn, unsigned crm, unsigned op2, bool write,
                           uint32_t *value)
{
    enum { DSCR = 1, DTR = 5, OS_LOCK_KEY = 0xC5ACCE55 };
    bool for_all = crn == 0 && op2 == 0 && (crm == DSCR || crm == DTR);
    uint64_t wide = *value;
    if (!for_all && v8->state != V8_HALTED && v8->level == 0)
        return false;
    if (crn == 0 && crm == 0 && op2 == 0) {
        *value = v8->aarch32->profile->didr;
        return !write;
    }
    if (write && crn == 1 && crm == 0 && op2 == 4)
        wide = *value == OS_LOCK_KEY;
    bool is = v8_debug_register(v8, V8_KEY(2u, for_all ? 3u : 0u, crn, crm, op2), write, &wide);
    if (is && !write)
        *value = (uint32_t)wide;
    return is;
}

static bool monitor_register(struct armv8 *v8, unsigned crm, unsigned op2, bool write, uint32_t *value)
{
    enum { CYCLES_CRM = 13 };
    uint64_t wide = *value;
    struct pmu_v3_access access = {.op1 = crm == 14 && (op2 == 1 || op2 == 2) ? 0 : 3,
                                   .crn = 9,
                                   .crm = crm,
                                   .op2 = op2,
                                   .write = write,
                                   .level = v8->level,
                                   .value = &wide};
    if (write && crm == CYCLES_CRM && op2 == 0) // the upper half of PMCCNTR stays
        wide |= v8->pmu.cycles & ~(uint64_t)UINT32_MAX;
    if (pmu_v3_system(&v8->pmu, &access) != PMU_V3_DONE)
        return false;
    if (!write)
        *value = (uint32_t)wide;
    v8_attend(v8);
    return true;
}

bool a32_system(struct armv8 *v8, uint32_t op, bool write, uint32_t *value)
{
    unsigned crn = op >> 16 & 15, crm = op & 15, op2 = op >> 5 & 7;
    if (op >> 21 & 7)
        return hyp_system(v8, op, write, value);
    if ((op >> 8 & 15) == 14)
        return debug_register(v8, crn, crm, op2, write, value);
    if (crn != 0)
        return monitor_register(v8, crm, op2, write, value);
    *value = op2 ? v8->profile->mpidr + v8->number : v8->profile->midr;
    return v8->level > 0;
}

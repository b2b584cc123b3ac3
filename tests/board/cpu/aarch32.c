// An Armv8 core in AArch32 state: what an Armv7 core executes with, under Armv8's debug registers, cross
// trigger interface and monitor. In Debug state it executes T32 instructions of 32 bits (DDI 0487H H2.4.2);
// those that are CONSTRAINED UNPREDICTABLE there are undefined here. The level is EL0 in User mode, EL2 in
// Hyp mode, else EL1. Not modelled: Monitor mode, changes of the Execution state.
#include "cpu/armv7.h"
#include "cpu/armv8.h"

// What an exception in Debug state leaves UNKNOWN
#define SPOILT 0xBAD0BAD0u
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
    if (v8->aarch32)
        v7_destroy(v8->aarch32);
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
    return v8->aarch32->work;
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

/* --- instructions in Debug state ------------------------------------------------------------------------ */

static void set_mode(struct armv7 *v7, uint32_t mode)
{
    v7_set_cpsr(v7, (v7_cpsr(v7) & ~CPSR_MODE) | mode);
}

// DDI 0487H H2.4.7.2: the core enters the mode of the exception, and what that would have saved is lost
static void fail(struct armv8 *v8, bool data)
{
    struct armv7 *v7 = v8->aarch32;
    v8->debug.control |= EDSCR_ERR;
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
        *value = v8->profile->aarch32->didr;
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

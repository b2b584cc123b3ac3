// Exceptions (DDI 0406C B1.8): entry, and what a return means for the ground truth; the emulator does returns
// but no entries. There is no interrupt controller: an interrupt is pending until it is taken, the lowest
// first, and a core takes it unless CPSR.I or the debugger masks it. Not modelled: FIQ, asynchronous aborts,
// Monitor mode. Those that go to Hyp mode are in aarch32_hyp.c.
#include "cpu/armv7.h"
#include "cpu/armv8.h"

#define SCTLR_V      (1u << 13)
#define SCTLR_TE     (1u << 30)
#define SCTLR_EE     (1u << 25)
#define CPSR_E       (1u << 9)
#define CPSR_IT_J    0x0700FC00u
#define HIGH_VECTORS 0xFFFF0000u
enum { FSR = 5, FAR = 6 };

bool v7_interrupted(const struct armv7 *v7)
{
    if (a32_is_user(v7))
        return v8_interrupted(v7->outside);
    bool masked = v7->outside ? v7->outside->debug.control & EDSCR_INTDIS : v7->debug.control & DSCR_INTDIS;
    if (!v7->pending || masked)
        return false;
    return hyp_interrupted(v7, v7_get(v7, UC_ARM_REG_CPSR) & CPSR_I);
}

static uint32_t vector_base(const struct armv7 *v7, uint32_t sctlr)
{
    if (sctlr & SCTLR_V)
        return HIGH_VECTORS;
    return v7->profile->has_vbar ? v7_cp15(v7, 12, 0, 0) : 0;
}

static uint32_t mode_of(enum v7_exception exception)
{
    switch (exception) {
    case V7_UNDEFINED:
        return MODE_UND;
    case V7_PREFETCH_ABORT:
    case V7_DATA_ABORT:
        return MODE_ABT;
    case V7_IRQ_VECTOR:
        return MODE_IRQ;
    default:
        return MODE_SVC;
    }
}

void v7_entered(struct armv7 *v7, uint32_t mode, uint32_t number)
{
    v7->in_mode[mode] = number;
    v7->it_left = 0;
    v7->work++;
    v7->totals[V7_EXCEPTION]++;
    v7_spend(v7, v7->pc | v7->thumb, false, 1);
    v7_log(v7, TRUTH_ENTER, v7->pc, number);
}

static void enter(struct armv7 *v7, enum v7_exception exception, uint32_t number, uint32_t return_address)
{
    if (a32_is_user(v7)) {
        a32_leave_by(v7->outside, exception, return_address);
        return;
    }
    if (hyp_takes(v7, exception)) {
        hyp_enter(v7, exception, number, return_address);
        return;
    }
    uint32_t old = v7_cpsr(v7), sctlr = v7_cp15(v7, 1, 0, 0), mode = mode_of(exception);
    uint32_t masks = CPSR_I | (exception >= V7_PREFETCH_ABORT ? CPSR_A : 0);
    uint32_t now = (old & ~(CPSR_MODE | CPSR_T | CPSR_E | CPSR_IT_J)) | mode | masks;
    now |= (sctlr & SCTLR_TE ? CPSR_T : 0) | (sctlr & SCTLR_EE ? CPSR_E : 0);
    v7_set_cpsr(v7, now);
    v7_set(v7, UC_ARM_REG_SPSR, old);
    v7_set(v7, UC_ARM_REG_LR, return_address);
    v7->pc = vector_base(v7, sctlr) + 4 * exception;
    v7_entered(v7, mode, number);
    if ((v7->debug.vcr >> exception & 1) && v7_halting(v7))
        v7_halt(v7, MOE_VECTOR_CATCH);
}

void v7_enter(struct armv7 *v7, enum v7_exception exception, uint32_t return_address)
{
    enter(v7, exception, exception, return_address);
}

void v7_interrupt(struct armv7 *v7)
{
    if (a32_is_user(v7)) {
        v7->outside->pc = v7->pc;
        v8_interrupt(v7->outside);
        return;
    }
    uint32_t irq = (uint32_t)__builtin_ctz(v7->pending);
    v7->pending &= ~(1u << irq);
    v7->totals[V7_IRQ]++;
    enter(v7, V7_IRQ_VECTOR, V7_IRQ0 + irq, v7->pc + 4);
}

void v7_returned(struct armv7 *v7, uint32_t mode, uint32_t pc)
{
    v7->totals[V7_EXCEPTION_RETURN]++;
    v7_log(v7, TRUTH_RETURN, pc, v7->in_mode[mode & CPSR_MODE]);
}

void v7_abort(struct armv7 *v7, enum v7_exception exception, uint32_t address, uint32_t status)
{
    bool data = exception == V7_DATA_ABORT;
    if (a32_is_user(v7)) {
        v7->outside->regs[R_FAR + 1] = address;
    } else if (v7->hyp) {
        hyp_aborts_at(v7, data, address);
    } else {
        v7_set_cp15(v7, FSR, 0, data ? 0 : 1, status);
        v7_set_cp15(v7, FAR, 0, data ? 0 : 2, address);
    }
    v7_enter(v7, exception, v7->pc + (data ? 8 : 4));
}

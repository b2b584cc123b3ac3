// Exceptions (DDI 0487H D1.10): entry and return. There is no interrupt controller: an interrupt is pending
// until it is taken, the lowest first, and EL0 and EL1 take it to EL1 unless PSTATE.I or the debugger masks
// it. With HCR_EL2.IMO it is taken to EL2. Not modelled: FIQ, SError, routing to EL3, illegal returns.
#include "cpu/armv8.h"

#define ESR_IL (1u << 25)
enum { ESR_EC_LSB = 26 };
// Synchronous External abort, not on a translation table walk (DDI 0487H D13.2.37, ISS of aborts)
#define FSC_EXTERNAL 0x10u
#define ISS_WNR      (1u << 6)
enum { FROM_SAME = 1 }; // added to the EC of aborts that do not change the level
// Offsets in the vector table, DDI 0487H table D1-5
enum {
    VECTOR_SP0 = 0x000,
    VECTOR_SPX = 0x200,
    VECTOR_LOWER = 0x400,
    VECTOR_LOWER_32 = 0x600,
    VECTOR_IRQ = 0x080
};

#define HCR_IMO (1u << 4)

static bool takes_interrupts(const struct armv8 *v8)
{
    return v8->regs[R_HCR] & HCR_IMO;
}

bool v8_interrupted(const struct armv8 *v8)
{
    if (v8->aarch32 && !v8->user32)
        return a32_interrupted(v8);
    bool masked = v8_pstate(v8) & PSTATE_I, to_el2 = takes_interrupts(v8);
    if (!v8->pending || (v8->debug.control & EDSCR_INTDIS) || v8->level > 2)
        return false;
    return v8->level == 2 ? to_el2 && !masked : to_el2 || !masked;
}

static void enter(struct armv8 *v8, unsigned level, uint32_t kind, uint64_t return_address)
{
    uint32_t from = v8->aarch32         ? VECTOR_LOWER_32
                    : level > v8->level ? VECTOR_LOWER
                    : v8->handler_stack ? VECTOR_SPX
                                        : VECTOR_SP0;
    v8->regs[R_SPSR + level] = v8_pstate(v8);
    v8->regs[R_ELR + level] = return_address;
    v8_set_pstate(v8, (v8_pstate(v8) & PSTATE_NZCV) | PSTATE_DAIF | level << 2 | PSTATE_SPSEL);
    v8->pc = (v8->regs[R_VBAR + level] & ~UINT64_C(0x7FF)) + from + kind;
    v8->work++;
    v8->totals[V8_EXCEPTION]++;
    v8_spend(v8, v8->pc, false, 1);
    v8_log(v8, TRUTH_ENTER, v8->pc, v8->entered[level]);
}

void v8_enter_at(struct armv8 *v8, unsigned level, enum v8_class class, uint32_t iss, uint64_t return_address)
{
    v8->regs[R_ESR + level] = (uint32_t) class << ESR_EC_LSB | ESR_IL | iss;
    v8->entered[level] = class;
    enter(v8, level, 0, return_address);
}

void v8_enter(struct armv8 *v8, enum v8_class class, uint32_t iss, uint64_t return_address)
{
    v8_enter_at(v8, v8->level ? v8->level : 1, class, iss, return_address);
}

void v8_interrupt(struct armv8 *v8)
{
    uint32_t irq = (uint32_t)__builtin_ctz(v8->pending);
    v8->pending &= ~(1u << irq);
    v8->totals[V8_IRQ]++;
    unsigned level = takes_interrupts(v8) ? 2 : 1;
    v8->entered[level] = V8_IRQ0 + irq;
    enter(v8, level, VECTOR_IRQ, v8->pc);
}

void v8_abort(struct armv8 *v8, enum v8_class class, uint64_t address, bool write)
{
    unsigned level = v8->level ? v8->level : 1;
    v8->regs[R_FAR + level] = address;
    if (level == v8->level)
        class += FROM_SAME;
    v8_enter_at(v8, level, class, FSC_EXTERNAL | (write ? ISS_WNR : 0), v8->pc);
}

void v8_return(struct armv8 *v8)
{
    unsigned level = v8->level;
    v8->totals[V8_EXCEPTION_RETURN]++;
    v8->pc = v8->regs[R_ELR + level];
    v8_set_pstate(v8, (uint32_t)v8->regs[R_SPSR + level]);
    v8_log(v8, TRUTH_RETURN, v8->pc, v8->entered[level]);
}

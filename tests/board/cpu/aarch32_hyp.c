// Hyp mode, EL2 of AArch32 state (DDI 0487H G1): the exceptions that go there, the instructions that have to
// do with it, and its CP15 registers, which are kept as those of EL2 in AArch64 state are. The emulator does
// not have it. Not modelled: traps by HCR and HDCR, address translation, SMC, banked registers of other
// modes.
#include "cpu/armv7.h"
#include "cpu/armv8.h"

enum { HYP = 2 }; // the level
#define HCR_IMO       (1u << 4)
#define HCR_TGE       (1u << 27)
#define HSCTLR_TE     (1u << 30)
#define HSR_IL        (1u << 25)
#define CPSR_READABLE 0xF8FF03DFu // by MRS
#define CPSR_REPLACED 0x0700FE3Fu // at an exception: IT, J, E, T and the mode
enum { HSR_EC_LSB = 26, FSC_EXTERNAL = 0x10, SPOILT = 0xBAD0BAD };
enum { EC_SVC_32 = 0x11, EC_HVC_32 = 0x12, EC_PREFETCH_HERE = 0x21, EC_DATA_HERE = 0x25 };

static uint64_t *registers(const struct armv7 *v7)
{
    return v7->outside->regs;
}

static bool takes_interrupts(const struct armv7 *v7)
{
    return v7->profile->has_hyp && (registers(v7)[R_HCR] & (HCR_IMO | HCR_TGE));
}

// Interrupts that go there are not masked by CPSR.I at lower levels
bool hyp_interrupted(const struct armv7 *v7, bool masked)
{
    return takes_interrupts(v7) ? !v7->hyp || !masked : !v7->hyp && !masked;
}

bool hyp_takes(const struct armv7 *v7, enum v7_exception exception)
{
    return v7->hyp || exception == V7_HYP_CALL || (exception == V7_IRQ_VECTOR && takes_interrupts(v7));
}

static uint32_t syndrome(unsigned class)
{
    bool aborts = class == EC_PREFETCH_HERE || class == EC_DATA_HERE;
    return class << HSR_EC_LSB | HSR_IL | (aborts ? FSC_EXTERNAL : 0);
}

void hyp_enter(struct armv7 *v7, enum v7_exception exception, uint32_t number, uint32_t next)
{
    static const uint8_t classes[] = {[V7_SVC] = EC_SVC_32,
                                      [V7_PREFETCH_ABORT] = EC_PREFETCH_HERE,
                                      [V7_DATA_ABORT] = EC_DATA_HERE,
                                      [V7_HYP_CALL] = EC_HVC_32};
    uint64_t *regs = registers(v7);
    uint32_t old = v7_cpsr(v7), thumb = regs[R_SCTLR + HYP] & HSCTLR_TE ? CPSR_T : 0;
    bool is_call = exception == V7_SVC || exception == V7_HYP_CALL;
    if (exception != V7_IRQ_VECTOR)
        regs[R_ESR + HYP] = syndrome(classes[exception]);
    regs[R_SPSR + HYP] = old;
    regs[R_ELR + HYP] = is_call ? next : v7->pc;
    v7_set_cpsr(v7, (old & ~CPSR_REPLACED) | thumb | CPSR_A | CPSR_I | CPSR_F | MODE_HYP);
    v7->pc = ((uint32_t)regs[R_VBAR + HYP] & ~31u) + 4 * exception;
    v7_entered(v7, MODE_HYP, number);
}

void hyp_aborts_at(struct armv7 *v7, bool data, uint32_t address)
{
    uint64_t *far = &registers(v7)[R_FAR + HYP]; // HIFAR is its upper half
    *far = data ? (*far & ~(uint64_t)UINT32_MAX) | address : (uint32_t)*far | (uint64_t)address << 32;
}

void hyp_spoil(struct armv7 *v7, bool data)
{
    uint64_t *regs = registers(v7);
    regs[R_ELR + HYP] = regs[R_DLR] = SPOILT;
    regs[R_SPSR + HYP] = regs[R_DSPSR] = (SPOILT & ~CPSR_MODE) | MODE_SVC;
    regs[R_ESR + HYP] = SPOILT;
    if (data)
        hyp_aborts_at(v7, true, v7->touched);
}

uint32_t hyp_spsr(const struct armv7 *v7)
{
    return v7->hyp ? (uint32_t)registers(v7)[R_SPSR + HYP] : v7_get(v7, UC_ARM_REG_SPSR);
}

static void set_spsr(struct armv7 *v7, uint32_t value)
{
    if (v7->hyp)
        registers(v7)[R_SPSR + HYP] = value;
    else
        v7_set(v7, UC_ARM_REG_SPSR, value);
}

bool hyp_move(struct armv7 *v7, const struct hyp_moved *m)
{
    enum { ELR_HYP = 0x1E };
    uint32_t value = v7_register(v7, m->rt);
    if (m->is_banked && (m->bank != ELR_HYP || m->is_spsr || !v7->hyp))
        return false;
    if (m->is_banked && !m->reads)
        registers(v7)[R_ELR + HYP] = value;
    else if (!m->reads)
        set_spsr(v7, value);
    else if (m->is_banked)
        v7_set_register(v7, m->rt, (uint32_t)registers(v7)[R_ELR + HYP]);
    else
        v7_set_register(v7, m->rt, m->is_spsr ? hyp_spsr(v7) : v7_cpsr(v7) & CPSR_READABLE);
    return true;
}

static struct hyp_moved hyp_moved_a32(uint32_t op)
{
    bool reads = !(op & 1u << 21);
    return (struct hyp_moved){.reads = reads,
                              .is_spsr = op & 1u << 22,
                              .is_banked = op & 1u << 9,
                              .bank = (op >> 4 & 0x10) | (op >> 16 & 15),
                              .rt = reads ? op >> 12 & 15 : op & 15};
}

struct hyp_moved hyp_moved_t32(uint32_t op)
{
    bool reads = op & 1u << 21;
    unsigned upper = op >> 16 & 15, lower = op >> 8 & 15;
    return (struct hyp_moved){.reads = reads,
                              .is_spsr = op & 1u << 20,
                              .is_banked = op & 1u << 5,
                              .bank = (op & 0x10) | (reads ? upper : lower),
                              .rt = reads ? lower : upper};
}

static void perform_return(struct armv7 *v7, const struct classified *c)
{
    uint32_t to = v7->hyp ? (uint32_t)registers(v7)[R_ELR + HYP] : v7_register(v7, 14), state = hyp_spsr(v7);
    v7_begin(v7, v7->pc, c);
    v7_set_cpsr(v7, state);
    v7->pc = to & ~1u;
    v7_finish(v7, v7->pc);
    v7->thumb = state & CPSR_T;
}

static void perform_call(struct armv7 *v7, const struct classified *c)
{
    uint32_t next = v7->pc + c->size;
    v7_begin(v7, v7->pc, c);
    v7->pc = next;
    v7_finish(v7, next);
    v7_enter(v7, v7->hyp ? V7_SVC : V7_HYP_CALL, next);
    registers(v7)[R_ESR + HYP] = syndrome(EC_HVC_32);
}

bool hyp_perform(struct armv7 *v7, const struct classified *c)
{
    bool thumb = c->pc & 1;
    struct hyp_moved moved = thumb ? hyp_moved_t32(c->op) : hyp_moved_a32(c->op);
    if (c->is & OP_EXC_RETURN) {
        perform_return(v7, c);
        return true;
    }
    if (thumb ? (c->op & 0xFFF0F000) == 0xF7E08000 : (c->op & 0x0FF000F0) == 0x01400070) {
        if (!v7_user(v7))
            perform_call(v7, c);
        return !v7_user(v7);
    }
    v7_begin(v7, v7->pc, c);
    if (!hyp_move(v7, &moved))
        return false;
    v7->pc += c->size;
    v7_finish(v7, v7->pc);
    return true;
}

static const struct {
    uint8_t crn, crm, op2, reg;
} named[] = {{1, 0, 0, R_SCTLR + HYP}, {1, 1, 0, R_HCR},         {1, 1, 1, R_MDCR_EL2},
             {1, 1, 2, R_CPTR + HYP},  {5, 2, 0, R_ESR + HYP},   {6, 0, 0, R_FAR + HYP},
             {12, 0, 0, R_VBAR + HYP}, {13, 0, 2, R_TPIDR + HYP}};

bool hyp_system(struct armv8 *v8, uint32_t op, bool write, uint32_t *value)
{
    unsigned crn = op >> 16 & 15, crm = op & 15, op2 = op >> 5 & 7;
    bool is_upper = crn == 6 && op2 == 2; // HIFAR
    if ((op >> 21 & 7) != 4 || !v8->aarch32->hyp)
        return false;
    for (size_t i = 0; i < sizeof named / sizeof *named; i++) {
        uint64_t *at = &v8->regs[named[i].reg];
        if (crn != named[i].crn || crm != named[i].crm || (is_upper ? 0 : op2) != named[i].op2)
            continue;
        if (!write)
            *value = (uint32_t)(*at >> (is_upper ? 32 : 0));
        else if (crn == 6)
            hyp_aborts_at(v8->aarch32, !is_upper, *value);
        else
            *at = *value;
        v8_level_changed(v8);
        return true;
    }
    return false;
}

// MRS and MSR (DDI 0487H D13): which Exception level may touch a register, those that only hold what is
// written to them, and those that are something. What is not listed here is read from the emulator, which
// knows the core's identification registers; the rest is undefined.
#include "cpu/armv8.h"

// Which of op1 a level may use, DDI 0487H table D13-1: the lowest level
static const uint8_t lowest_level[] = {1, 1, 1, 0, 2, 4, 3, 4};

enum { KEY_LEVEL = V8_KEY(0, 7, 0, 0, 0) }; // op1
#define LEVEL_KEY(crn, crm, op2) V8_KEY(3, 0, crn, crm, op2)

// Registers that exist at EL1, EL2 and EL3 under the same number but op1
static const struct {
    uint16_t key; // of the one at EL1
    uint8_t reg;  // and at EL0; the others follow
} of_levels[] = {
    {LEVEL_KEY(1, 0, 0), R_SCTLR}, {LEVEL_KEY(4, 0, 0), R_SPSR}, {LEVEL_KEY(4, 0, 1), R_ELR},
    {LEVEL_KEY(5, 2, 0), R_ESR},   {LEVEL_KEY(6, 0, 0), R_FAR},  {LEVEL_KEY(12, 0, 0), R_VBAR},
    {LEVEL_KEY(2, 0, 0), R_TTBR0}, {LEVEL_KEY(2, 0, 2), R_TCR},  {LEVEL_KEY(10, 2, 0), R_MAIR},
};

static const struct {
    uint16_t key;
    uint8_t reg;
} single[] = {
    {V8_KEY(3, 3, 13, 0, 2), R_TPIDR},     {V8_KEY(3, 0, 13, 0, 4), R_TPIDR + 1},
    {V8_KEY(3, 4, 13, 0, 2), R_TPIDR + 2}, {V8_KEY(3, 6, 13, 0, 2), R_TPIDR + 3},
    {V8_KEY(3, 4, 1, 1, 2), R_CPTR + 2},   {V8_KEY(3, 6, 1, 1, 2), R_CPTR + 3},
    {V8_KEY(3, 0, 2, 0, 1), R_TTBR1},      {V8_KEY(3, 3, 13, 0, 3), R_TPIDRRO},
    {V8_KEY(3, 0, 1, 0, 2), R_CPACR},      {V8_KEY(3, 0, 13, 0, 1), R_CONTEXTIDR},
    {V8_KEY(3, 0, 7, 4, 0), R_PAR},        {V8_KEY(3, 2, 0, 0, 0), R_CSSELR},
    {V8_KEY(3, 0, 14, 1, 0), R_CNTKCTL},   {V8_KEY(3, 3, 14, 0, 0), R_CNTFRQ},
    {V8_KEY(3, 4, 1, 1, 0), R_HCR},        {V8_KEY(3, 6, 1, 1, 0), R_SCR},
    {V8_KEY(3, 4, 1, 1, 1), R_MDCR_EL2},   {V8_KEY(3, 6, 1, 3, 1), R_MDCR_EL3},
};

enum {
    CURRENT_EL = V8_KEY(3, 0, 4, 2, 2),
    SP_SEL = V8_KEY(3, 0, 4, 2, 0),
    SP_EL0 = V8_KEY(3, 0, 4, 1, 0),
    SP_EL1 = V8_KEY(3, 4, 4, 1, 0),
    SP_EL2 = V8_KEY(3, 6, 4, 1, 0),
    DAIF = V8_KEY(3, 3, 4, 2, 1),
    NZCV = V8_KEY(3, 3, 4, 2, 0),
    FPCR = V8_KEY(3, 3, 4, 4, 0),
    FPSR = V8_KEY(3, 3, 4, 4, 1),
    DSPSR_EL0 = V8_KEY(3, 3, 4, 5, 0),
    DLR_EL0 = V8_KEY(3, 3, 4, 5, 1),
    MIDR = V8_KEY(3, 0, 0, 0, 0),
    MPIDR = V8_KEY(3, 0, 0, 0, 5),
    CTR = V8_KEY(3, 3, 0, 0, 1),
    CLIDR = V8_KEY(3, 1, 0, 0, 1),
    CCSIDR = V8_KEY(3, 1, 0, 0, 0),
    ISR = V8_KEY(3, 0, 12, 1, 0),
    CNTPCT = V8_KEY(3, 3, 14, 0, 1),
    CNTVCT = V8_KEY(3, 3, 14, 0, 2),
};
#define ISR_I (1u << 7)

static uint64_t *stored(struct armv8 *v8, unsigned key)
{
    unsigned level = lowest_level[key >> 11 & 7];
    for (size_t i = 0; i < sizeof of_levels / sizeof *of_levels; i++)
        if (level >= 1 && level <= 3 && (key & ~KEY_LEVEL) == of_levels[i].key && (key >> 11 & 1) == 0 &&
            (key >> 11 & 7) != 2)
            return &v8->regs[of_levels[i].reg + level];
    for (size_t i = 0; i < sizeof single / sizeof *single; i++)
        if (key == single[i].key)
            return &v8->regs[single[i].reg];
    return NULL;
}

static bool read_constant(const struct armv8 *v8, unsigned key, uint64_t *value)
{
    unsigned cache = v8->regs[R_CSSELR] & 3;
    bool is_there = true;
    switch (key) {
    case MIDR:
        *value = v8->profile->midr;
        return true;
    case MPIDR:
        *value = v8->profile->mpidr + v8->number;
        return true;
    case CTR:
        *value = v8->profile->ctr;
        return true;
    case CLIDR:
        *value = v8->profile->clidr;
        return true;
    case CCSIDR:
        *value = v8->profile->ccsidr[cache];
        return true;
    case CURRENT_EL:
        *value = v8->level << 2;
        return true;
    case ISR:
        *value = v8->pending ? ISR_I : 0;
        return true;
    case CNTPCT: // the generic timer at the core's own clock
    case CNTVCT:
        *value = v8->core.counted;
        return true;
    default:
        *value = v8_emulators(v8, key, &is_there);
        return is_there;
    }
}

// The stack of a level, which is not accessible by this name while it is the one in use
static bool stack(struct armv8 *v8, unsigned level, bool write, uint64_t *value)
{
    if (level == 0 && !v8->handler_stack)
        return false;
    if (write)
        v8_set_sp(v8, level, *value);
    else
        *value = v8_sp(v8, level);
    return true;
}

static void process_state(struct armv8 *v8, uint32_t mask, unsigned shift, bool write, uint64_t *value)
{
    uint32_t now = v8_pstate(v8);
    if (write)
        v8_set_pstate(v8, (now & ~mask) | ((uint32_t)*value << shift & mask));
    else
        *value = (now & mask) >> shift;
}

static void emulated(struct armv8 *v8, int reg, bool write, uint64_t *value)
{
    if (write)
        v8_set(v8, reg, *value);
    else
        *value = v8_get(v8, reg);
}

// Those that are neither stored nor constant. false: it is none of them, or not accessible now.
static bool special(struct armv8 *v8, unsigned key, bool write, uint64_t *value)
{
    switch (key) {
    case SP_EL0:
        return stack(v8, 0, write, value);
    case SP_EL1:
        return stack(v8, 1, write, value);
    case SP_EL2:
        return stack(v8, 2, write, value);
    case SP_SEL:
        process_state(v8, PSTATE_SPSEL, 0, write, value);
        return true;
    case DAIF:
        process_state(v8, PSTATE_DAIF, 0, write, value);
        return true;
    case NZCV:
        process_state(v8, PSTATE_NZCV, 0, write, value);
        return true;
    case FPCR:
        emulated(v8, UC_ARM64_REG_FPCR, write, value);
        return true;
    case FPSR:
        emulated(v8, UC_ARM64_REG_FPSR, write, value);
        return true;
    case DSPSR_EL0:
    case DLR_EL0:
        if (v8->state != V8_HALTED)
            return false;
        if (write)
            v8->regs[key == DLR_EL0 ? R_DLR : R_DSPSR] = *value;
        else
            *value = v8->regs[key == DLR_EL0 ? R_DLR : R_DSPSR];
        return true;
    default:
        return false;
    }
}

static enum v8_answer monitor(struct armv8 *v8, unsigned key, bool write, uint64_t *value)
{
    struct pmu_v3_access access = {.op1 = key >> 11 & 7,
                                   .crn = key >> 7 & 15,
                                   .crm = key >> 3 & 15,
                                   .op2 = key & 7,
                                   .write = write,
                                   .level = v8->level};
    access.value = value;
    enum pmu_v3_answer answer = pmu_v3_system(&v8->pmu, &access);
    return answer == PMU_V3_DONE ? V8_DONE : answer == PMU_V3_TRAPPED ? V8_TRAPPED : V8_UNDEFINED;
}

static void store(struct armv8 *v8, uint64_t *at, uint64_t value)
{
    *at = value;
    v8->totals[V8_CONTEXT_WRITE] += at == &v8->regs[R_CONTEXTIDR];
    v8_level_changed(v8); // SCR_EL3 and MDCR_EL3 are among them
}

static enum v8_answer access_one(struct armv8 *v8, unsigned key, bool write, uint64_t *value)
{
    if (v8->level < lowest_level[key >> 11 & 7])
        return V8_UNDEFINED;
    if (key >> 14 == 2)
        return v8_debug_register(v8, key, write, value) ? V8_DONE : V8_UNDEFINED;
    enum v8_answer answer = monitor(v8, key, write, value);
    if (answer != V8_UNDEFINED)
        return answer;
    uint64_t *at = stored(v8, key);
    bool privileged_write = key == V8_KEY(3, 3, 13, 0, 3) || key == V8_KEY(3, 3, 14, 0, 0);
    if (at && write && privileged_write && !v8->level)
        return V8_UNDEFINED;
    if (at && write)
        store(v8, at, *value);
    else if (at)
        *value = *at;
    else if (!special(v8, key, write, value) && (write || !read_constant(v8, key, value)))
        return V8_UNDEFINED;
    return V8_DONE;
}

enum v8_answer v8_system(struct armv8 *v8, uint32_t op)
{
    bool write = !(op & 1u << 21);
    unsigned rt = op & 31;
    uint64_t value = write ? v8_x(v8, rt) : 0;
    enum v8_answer answer = access_one(v8, op >> 5 & 0xFFFF, write, &value);
    if (answer == V8_DONE && !write)
        v8_set_x(v8, rt, value);
    return answer;
}

// MSR SPSel, DAIFSet and DAIFClr: the ones that Armv8.0 has
enum v8_answer v8_set_immediate(struct armv8 *v8, uint32_t op)
{
    uint32_t value = op >> 8 & 15, which = op >> 5 & 0x3807, state = v8_pstate(v8);
    if (which == 5 && v8->level)
        v8_set_pstate(v8, (state & ~PSTATE_SPSEL) | (value & 1));
    else if (which == (3 << 11 | 6) && v8->level)
        v8_set_pstate(v8, state | value << 6);
    else if (which == (3 << 11 | 7) && v8->level)
        v8_set_pstate(v8, state & ~(value << 6));
    else
        return V8_UNDEFINED;
    return V8_DONE;
}

// PMUv3's System registers (DDI 0487H D13.4): the same registers as the memory-mapped ones, those of one
// counter also through a selector, and what EL0 may touch of them.
#include "device/pmu_v3.h"

// Memory-mapped registers of the same name; NOT_MAPPED: there is none
enum { NOT_MAPPED = 0xFFF, PMCR = 0xE04, PMCCFILTR = 0x47C, PMCCNTR_LOW = 0x0F8, PMCCNTR_HIGH = 0x0FC };
enum { PMINTENSET = 0xC40, PMINTENCLR = 0xC60, PMOVSSET = 0xCC0, PMEVTYPER0 = 0x400 };
enum { SELECT_CYCLES = 31, PMCR_N_LSB = 11 };
// PMUSERENR_EL0
#define USER_EN 1u
#define USER_SW 2u
#define USER_CR 4u
#define USER_ER 8u

enum reg {
    REG_NONE,
    REG_CONTROL,
    REG_PLAIN, // at `offset` of the page
    REG_SELECT,
    REG_CYCLES,
    REG_TYPE,
    REG_COUNT,
    REG_USER,
};

struct named {
    enum reg reg;
    uint32_t offset;
    unsigned n;    // of REG_TYPE and REG_COUNT; SELECT_CYCLES: the cycle counter's
    uint32_t user; // the bit besides EN that opens it to EL0, for reading only unless `user_writes`
    bool user_writes, user_never;
};

static struct named of_c12(unsigned op2, uint32_t select)
{
    static const uint32_t offsets[] = {PMCR, 0xC00, 0xC20, 0xC80, 0xCA0, NOT_MAPPED, 0xE20, 0xE24};
    (void)select;
    if (op2 == 0)
        return (struct named){.reg = REG_CONTROL};
    if (op2 == 5)
        return (struct named){.reg = REG_SELECT, .user = USER_ER, .user_writes = true};
    return (struct named){
        .reg = REG_PLAIN, .offset = offsets[op2], .user = op2 == 4 ? USER_SW : 0, .user_writes = op2 == 4};
}

static struct named of_c13(unsigned op2, uint32_t select)
{
    if (op2 == 0)
        return (struct named){.reg = REG_CYCLES, .user = USER_CR};
    if (op2 == 1)
        return (struct named){.reg = REG_TYPE, .n = select};
    return (struct named){.reg = op2 == 2 ? REG_COUNT : REG_NONE, .n = select, .user = USER_ER};
}

static struct named of_c14(unsigned op2)
{
    if (op2 == 0)
        return (struct named){.reg = REG_USER};
    return (struct named){.reg = op2 == 3 ? REG_PLAIN : REG_NONE, .offset = PMOVSSET};
}

static struct named name_of(const struct pmu_v3 *p, const struct pmu_v3_access *a)
{
    unsigned n = (a->crm & 3) << 3 | a->op2;
    if (a->op1 == 0 && a->crn == 9 && a->crm == 14 && (a->op2 == 1 || a->op2 == 2))
        return (struct named){
            .reg = REG_PLAIN, .offset = a->op2 == 1 ? PMINTENSET : PMINTENCLR, .user_never = true};
    if (a->op1 != 3)
        return (struct named){0};
    if (a->crn == 14 && a->crm >= 12)
        return (struct named){.reg = REG_TYPE, .n = n};
    if (a->crn == 14 && a->crm >= 8)
        return (struct named){.reg = REG_COUNT, .n = n, .user = USER_ER};
    if (a->crn != 9)
        return (struct named){0};
    return a->crm == 12   ? of_c12(a->op2, p->select)
           : a->crm == 13 ? of_c13(a->op2, p->select)
           : a->crm == 14 ? of_c14(a->op2)
                          : (struct named){0};
}

static bool user_may(const struct pmu_v3 *p, const struct named *r, bool write)
{
    if (r->reg == REG_USER)
        return !write;
    if (r->user_never)
        return false;
    return (p->user_enable & USER_EN) || ((p->user_enable & r->user) && (!write || r->user_writes));
}

static void access_page(struct pmu_v3 *p, uint32_t offset, const struct pmu_v3_access *a)
{
    if (a->write)
        pmu_v3_write(p, offset, (uint32_t)*a->value);
    else
        *a->value = pmu_v3_read(p, offset);
}

static void access_cycles(struct pmu_v3 *p, const struct pmu_v3_access *a)
{
    if (a->write) {
        pmu_v3_write(p, PMCCNTR_LOW, (uint32_t)*a->value);
        pmu_v3_write(p, PMCCNTR_HIGH, (uint32_t)(*a->value >> 32));
    } else {
        *a->value = pmu_v3_read(p, PMCCNTR_LOW);
        *a->value |= (uint64_t)pmu_v3_read(p, PMCCNTR_HIGH) << 32;
    }
}

static void access_word(uint32_t *word, uint32_t writable, const struct pmu_v3_access *a)
{
    if (a->write)
        *word = (uint32_t)*a->value & writable;
    else
        *a->value = *word;
}

static void perform(struct pmu_v3 *p, const struct named *r, const struct pmu_v3_access *a)
{
    switch (r->reg) {
    case REG_CONTROL:
        access_page(p, PMCR, a);
        if (!a->write)
            *a->value |= p->profile->id | p->profile->counters << PMCR_N_LSB;
        break;
    case REG_PLAIN:
        access_page(p, r->offset, a);
        break;
    case REG_SELECT:
        access_word(&p->select, 0x1F, a);
        break;
    case REG_CYCLES:
        access_cycles(p, a);
        break;
    case REG_TYPE: // of a counter that there is not: reads as zero, as it may
        access_page(p, r->n == SELECT_CYCLES ? PMCCFILTR : PMEVTYPER0 + 4 * r->n, a);
        break;
    case REG_COUNT:
        access_page(p, r->n < p->profile->counters ? 8 * r->n : NOT_MAPPED, a);
        break;
    case REG_USER:
        access_word(&p->user_enable, USER_EN | USER_SW | USER_CR | USER_ER, a);
        break;
    case REG_NONE:
        break;
    }
}

enum pmu_v3_answer pmu_v3_system(struct pmu_v3 *p, const struct pmu_v3_access *a)
{
    struct named r = name_of(p, a);
    if (r.reg == REG_NONE || (r.user_never && a->level == 0))
        return PMU_V3_NONE;
    if (a->level == 0 && !user_may(p, &r, a->write))
        return PMU_V3_TRAPPED;
    perform(p, &r, a);
    return PMU_V3_DONE;
}

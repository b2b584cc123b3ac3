// Performance monitor: see the header.
#include "device/pmu_v7.h"

// Offsets of the memory-mapped registers, DDI 0406C table D2-1
enum {
    PMXEVCNTR0 = 0x000,
    PMCCNTR = 0x07C,
    PMXEVTYPER0 = 0x400,
    PMXEVTYPER31 = 0x47C,
    PMCNTENSET = 0xC00,
    PMCNTENCLR = 0xC20,
    PMINTENSET = 0xC40,
    PMINTENCLR = 0xC60,
    PMOVSR = 0xC80,
    PMSWINC = 0xCA0,
    PMOVSSET = 0xCC0,
    PMCFGR = 0xE00,
    PMCR = 0xE04,
    PMUSERENR = 0xE08,
    PMCEID0 = 0xE20,
    PMCEID1 = 0xE24,
};
// CP15 c9: CRm << 3 | op2, DDI 0406C table B3-42. What is read and written by the selector has no offset.
enum {
    CP_PMCR = 12 << 3,
    CP_PMSELR = (12 << 3) + 5,
    CP_PMXEVTYPER = (13 << 3) + 1,
    CP_PMXEVCNTR = (13 << 3) + 2,
    CP_PMUSERENR = 14 << 3,
    CP_PMINTENSET = (14 << 3) + 1,
    CP_PMINTENCLR = (14 << 3) + 2,
};
// PMCR, DDI 0406C B4.1.117
#define PMCR_E        (1u << 0)
#define PMCR_P        (1u << 1)
#define PMCR_C        (1u << 2)
#define PMCR_D        (1u << 3)
#define PMCR_WRITABLE 0x39u // E, D, X, DP
#define CYCLES        (1u << 31)
#define TYPE_CODE     0xFFu
#define TYPE_FILTERS  0xF8000000u // version 2: P, U and those of Non-secure and Hyp
#define TYPE_P        (1u << 31)
#define TYPE_U        (1u << 30)
#define TYPE_NSH      (1u << 27)  // PMXEVTYPER, DDI 0406C B4.1.129: without it nothing counts in Hyp mode
#define CFGR_V2       0x0009DF00u // 32 bits; a cycle counter that can divide; export, PMUSERENR: DDI 0406C D2
enum {
    SELECT_CYCLES = 31,
    EVENT_SW_INCR = 0x00,
    EVENT_BRANCH = 0x0D,
    EVENT_CYCLES = 0x11,
    EVENT_RENAMED = 0x68,
    DIVISOR = 64
};

static const uint64_t *source(const struct pmu_v7 *p, uint32_t type)
{
    uint32_t code = type & TYPE_CODE;
    if (code == EVENT_CYCLES && p->profile->has_cycle_event)
        return p->counted;
    for (size_t i = 0; i < p->profile->count; i++)
        if (p->profile->codes[i] == code)
            return &p->totals[p->profile->events[i]];
    return NULL;
}

// What it has counted up to now
static uint64_t total(const struct pmu_v7 *p, uint32_t type)
{
    const uint64_t *from = source(p, type), *branches = source(p, EVENT_BRANCH);
    bool less = p->erratum && branches && (type & TYPE_CODE) == EVENT_RENAMED;
    return (from ? *from : 0) - (less ? *branches : 0);
}

static bool counts(const struct pmu_v7 *p, uint32_t bit, uint32_t type)
{
    bool here = p->hyp ? type & TYPE_NSH : !(type & (p->user ? TYPE_U : TYPE_P));
    return (p->control & PMCR_E) && (p->enabled & bit) && here;
}

static void add(struct pmu_v7 *p, struct pmu_v7_counter *c, uint32_t bit, uint64_t more)
{
    uint64_t sum = c->value + more;
    bool lost = p->loses && bit != CYCLES && sum > UINT32_MAX && ++p->passed % p->loses == 0;
    if (sum > UINT32_MAX && !lost)
        p->overflown |= bit;
    c->value = (uint32_t)sum;
}

static void settle_cycles(struct pmu_v7 *p)
{
    struct pmu_v7_counter *c = &p->cycle;
    uint64_t passed = *p->counted - c->at;
    c->at = *p->counted;
    if (!counts(p, CYCLES, c->type))
        return;
    if (p->control & PMCR_D) {
        passed += p->divided;
        p->divided = passed % DIVISOR;
        passed /= DIVISOR;
    }
    add(p, c, CYCLES, passed);
}

static void settle(struct pmu_v7 *p)
{
    settle_cycles(p);
    for (unsigned i = 0; i < p->profile->counters; i++) {
        struct pmu_v7_counter *c = &p->counter[i];
        uint64_t now = total(p, c->type);
        if (counts(p, 1u << i, c->type))
            add(p, c, 1u << i, now - c->at);
        c->at = now;
    }
}

// DDI 0406C C12.3: while PMCR.E is set
uint32_t pmu_v7_requests(struct pmu_v7 *p)
{
    settle(p);
    return p->control & PMCR_E ? p->overflown & p->interrupts : 0;
}

uint64_t pmu_v7_cycles_left(const struct pmu_v7 *p)
{
    uint64_t least = UINT64_MAX;
    if (counts(p, CYCLES, p->cycle.type))
        least = (UINT64_C(1) << 32) - p->cycle.value;
    if (least != UINT64_MAX && (p->control & PMCR_D))
        least = least * DIVISOR - p->divided;
    for (unsigned i = 0; i < p->profile->counters; i++) {
        const struct pmu_v7_counter *c = &p->counter[i];
        uint64_t left = (UINT64_C(1) << 32) - c->value;
        if (source(p, c->type) == p->counted && counts(p, 1u << i, c->type) && left < least)
            least = left;
    }
    return least;
}

static uint32_t implemented(const struct pmu_v7 *p)
{
    return CYCLES | ((1u << p->profile->counters) - 1);
}

void pmu_v7_reset(struct pmu_v7 *p)
{
    settle(p);
    p->control = p->enabled = p->overflown = p->interrupts = p->user_enable = p->select = p->divided = 0;
    for (unsigned i = 0; i < PMU_V7_COUNTERS; i++)
        p->counter[i] = (struct pmu_v7_counter){0};
    p->cycle = (struct pmu_v7_counter){.at = *p->counted};
}

void pmu_v7_set_mode(struct pmu_v7 *p, bool user, bool hyp)
{
    if (user == p->user && hyp == p->hyp)
        return;
    settle(p);
    p->user = user;
    p->hyp = hyp;
}

void pmu_v7_set_erratum(struct pmu_v7 *p, bool on)
{
    settle(p);
    p->erratum = on;
    for (unsigned i = 0; i < p->profile->counters; i++)
        p->counter[i].at = total(p, p->counter[i].type);
}

static void write_control(struct pmu_v7 *p, uint32_t value)
{
    p->control = value & PMCR_WRITABLE;
    for (unsigned i = 0; (value & PMCR_P) && i < p->profile->counters; i++)
        p->counter[i].value = 0;
    if (value & PMCR_C)
        p->cycle.value = p->divided = 0;
}

static void write_type(struct pmu_v7 *p, struct pmu_v7_counter *c, uint32_t value, uint32_t code)
{
    c->type = value & (code | (p->profile->version >= 2 ? TYPE_FILTERS : 0));
    if (code)
        c->at = total(p, c->type);
}

static void increment(struct pmu_v7 *p, uint32_t which)
{
    for (unsigned i = 0; i < p->profile->counters; i++) {
        struct pmu_v7_counter *c = &p->counter[i];
        if ((which >> i & 1) && (c->type & TYPE_CODE) == EVENT_SW_INCR && counts(p, 1u << i, c->type))
            add(p, c, 1u << i, 1);
    }
}

// The counter whose register this is, at this many bytes from the first one's
static struct pmu_v7_counter *counter_at(struct pmu_v7 *p, uint32_t offset, uint32_t first)
{
    uint32_t n = (offset - first) / 4;
    return offset >= first && n < p->profile->counters ? &p->counter[n] : NULL;
}

static uint32_t read_v2(const struct pmu_v7 *p, uint32_t offset)
{
    switch (offset) {
    case PMXEVTYPER31:
        return p->cycle.type;
    case PMOVSSET:
        return p->overflown;
    case PMCFGR:
        return CFGR_V2 | p->profile->counters;
    case PMCEID0:
        return (uint32_t)p->profile->ceid;
    case PMCEID1:
        return p->profile->ceid >> 32;
    default:
        return 0;
    }
}

uint32_t pmu_v7_read(struct pmu_v7 *p, uint32_t offset)
{
    settle(p);
    const struct pmu_v7_counter *value = counter_at(p, offset, PMXEVCNTR0);
    const struct pmu_v7_counter *type = counter_at(p, offset, PMXEVTYPER0);
    if (value || type)
        return value ? value->value : type->type;
    switch (offset) {
    case PMCCNTR:
        return p->cycle.value;
    case PMCNTENSET:
    case PMCNTENCLR:
        return p->enabled;
    case PMINTENSET:
    case PMINTENCLR:
        return p->interrupts;
    case PMOVSR:
        return p->overflown;
    case PMCR:
        return p->profile->pmcr | p->control;
    case PMUSERENR:
        return p->user_enable;
    default:
        return p->profile->version >= 2 ? read_v2(p, offset) : 0;
    }
}

void pmu_v7_write(struct pmu_v7 *p, uint32_t offset, uint32_t value)
{
    settle(p);
    struct pmu_v7_counter *counter = counter_at(p, offset, PMXEVCNTR0);
    struct pmu_v7_counter *type = counter_at(p, offset, PMXEVTYPER0);
    if (counter)
        counter->value = value;
    if (type)
        write_type(p, type, value, TYPE_CODE);
    switch (offset) {
    case PMCCNTR:
        p->cycle.value = value;
        break;
    case PMXEVTYPER31:
        write_type(p, &p->cycle, value, 0);
        break;
    case PMCNTENSET:
        p->enabled |= value & implemented(p);
        break;
    case PMCNTENCLR:
        p->enabled &= ~value;
        break;
    case PMINTENSET:
        p->interrupts |= value & implemented(p);
        break;
    case PMINTENCLR:
        p->interrupts &= ~value;
        break;
    case PMOVSR:
        p->overflown &= ~value;
        break;
    case PMOVSSET:
        if (p->profile->version >= 2)
            p->overflown |= value & implemented(p);
        break;
    case PMSWINC:
        increment(p, value);
        break;
    case PMCR:
        write_control(p, value);
        break;
    case PMUSERENR:
        p->user_enable = value & 1;
        break;
    default:
        break;
    }
}

// The memory-mapped register of the same name, 0xFFF where there is none
static uint32_t offset_of(const struct pmu_v7 *p, unsigned reg)
{
    static const uint16_t of_c12[] = {PMCR, PMCNTENSET, PMCNTENCLR, PMOVSR, PMSWINC, 0xFFF, PMCEID0, PMCEID1};
    static const uint16_t of_c14[] = {PMUSERENR, PMINTENSET, PMINTENCLR, PMOVSSET};
    uint32_t selected = p->select < p->profile->counters ? 4 * p->select : 0xFFF;
    bool cycles = p->select == SELECT_CYCLES;
    switch (reg >> 3) {
    case 12:
        return (reg & 7) < 6 || p->profile->version >= 2 ? of_c12[reg & 7] : 0xFFF;
    case 13:
        if ((reg & 7) == 0)
            return PMCCNTR;
        if (reg == CP_PMXEVTYPER)
            return cycles ? PMXEVTYPER31 : selected == 0xFFF ? selected : PMXEVTYPER0 + selected;
        return cycles ? PMCCNTR : selected;
    default:
        return of_c14[reg & 3];
    }
}

static bool is_there(const struct pmu_v7 *p, unsigned reg)
{
    unsigned last = reg >> 3 == 12             ? (p->profile->version >= 2 ? 7 : 5)
                    : reg >> 3 == 13           ? 2
                    : p->profile->version >= 2 ? 3
                                               : 2;
    return reg >> 3 >= 12 && reg >> 3 <= 14 && (reg & 7) <= last;
}

bool pmu_v7_cp15(struct pmu_v7 *p, const struct pmu_v7_access *a)
{
    unsigned reg = a->crm << 3 | a->op2;
    if (!is_there(p, reg))
        return false;
    if (a->user && reg >= CP_PMUSERENR && (reg != CP_PMUSERENR || a->write))
        return false;
    if (a->user && !p->user_enable && reg != CP_PMUSERENR)
        return false;
    if (reg == CP_PMSELR) {
        if (a->write)
            p->select = *a->value & 0x1F;
        else
            *a->value = p->select;
    } else if (a->write) {
        pmu_v7_write(p, offset_of(p, reg), *a->value);
    } else {
        *a->value = pmu_v7_read(p, offset_of(p, reg));
    }
    return true;
}

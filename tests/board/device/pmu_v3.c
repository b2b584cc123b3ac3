// PMUv3, what it counts and its memory-mapped registers: see the header.
#include "device/pmu_v3.h"

// Offsets, DDI 0487H table I5-1
enum {
    PMEVCNTR0 = 0x000,
    PMCCNTR_LOW = 0x0F8,
    PMCCNTR_HIGH = 0x0FC,
    PMEVTYPER0 = 0x400,
    PMCCFILTR = 0x47C,
    PMCNTENSET = 0xC00,
    PMCNTENCLR = 0xC20,
    PMINTENSET = 0xC40,
    PMINTENCLR = 0xC60,
    PMOVSCLR = 0xC80,
    PMSWINC = 0xCA0,
    PMOVSSET = 0xCC0,
    PMCFGR = 0xE00,
    PMCR = 0xE04,
    PMCEID0 = 0xE20,
    PMCEID1 = 0xE24,
};
// PMCR_EL0
#define PMCR_E        (1u << 0)
#define PMCR_P        (1u << 1)
#define PMCR_C        (1u << 2)
#define PMCR_D        (1u << 3)
#define PMCR_DP       (1u << 5)
#define PMCR_LC       (1u << 6)
#define PMCR_WRITABLE 0x79u // E, D, X, DP, LC
#define CYCLES        (1u << 31)
// PMEVTYPERn_EL0 of Armv8.0
#define TYPE_CODE    0x3FFu
#define TYPE_FILTERS 0xFC000000u
#define TYPE_P       (1u << 31)
#define TYPE_U       (1u << 30)
#define TYPE_NSK     (1u << 29)
#define TYPE_NSU     (1u << 28)
#define TYPE_NSH     (1u << 27)
#define TYPE_M       (1u << 26)
#define CFGR_FIXED   0x0001FF00u // 64 bits, a cycle counter with a divider, export
enum {
    EVENT_SW_INCR = 0x00,
    EVENT_INSTRUCTION = 0x08,
    EVENT_BRANCH = 0x0D,
    EVENT_CYCLES = 0x11,
    EVENT_CHAIN = 0x1E,
    DIVISOR = 64
};

static const uint64_t *source(const struct pmu_v3 *p, uint32_t type)
{
    uint32_t code = type & TYPE_CODE;
    if (code == EVENT_CYCLES)
        return p->counted;
    for (size_t i = 0; i < p->profile->count; i++)
        if (p->profile->codes[i] == code)
            return &p->totals[p->profile->events ? p->profile->events[i] : i];
    return NULL;
}

// What it has counted up to now
static uint64_t total(const struct pmu_v3 *p, uint32_t type)
{
    const uint64_t *from = source(p, type), *branches = source(p, EVENT_BRANCH);
    bool more = p->erratum && branches && (type & TYPE_CODE) == EVENT_INSTRUCTION;
    return (from ? *from : 0) + (more ? *branches : 0);
}

// Whether the filter lets through what happens at the present level
static bool passes(const struct pmu_v3 *p, uint32_t type)
{
    bool of_el1 = type & TYPE_P, of_el0 = type & TYPE_U;
    switch (p->level) {
    case 0:
        return p->secure ? !of_el0 : of_el0 == (bool)(type & TYPE_NSU);
    case 1:
        return p->secure ? !of_el1 : of_el1 == (bool)(type & TYPE_NSK);
    case 2:
        return type & TYPE_NSH;
    default:
        return of_el1 == (bool)(type & TYPE_M);
    }
}

static bool counts(const struct pmu_v3 *p, uint32_t bit, uint32_t type)
{
    bool cycles = bit == CYCLES, of_el2 = !cycles && bit >> p->of_guests;
    bool closed = p->prohibited || (p->level == 2 && p->el2_prohibited && !of_el2);
    bool prohibited = closed && (!cycles || (p->control & PMCR_DP));
    return (of_el2 ? p->el2_enable : (p->control & PMCR_E) != 0) && (p->enabled & bit) && !prohibited &&
           passes(p, type);
}

static uint64_t add(struct pmu_v3 *p, unsigned i, uint64_t more)
{
    uint64_t sum = p->counter[i].value + more, wraps = sum >> 32;
    p->counter[i].value = (uint32_t)sum;
    p->overflown |= wraps ? 1u << i : 0;
    return wraps;
}

static void settle_cycles(struct pmu_v3 *p)
{
    uint64_t passed = *p->counted - p->at, before = p->cycles;
    p->at = *p->counted;
    if (!counts(p, CYCLES, p->filter))
        return;
    if ((p->control & PMCR_D) && !(p->control & PMCR_LC)) {
        passed += p->divided;
        p->divided = passed % DIVISOR;
        passed /= DIVISOR;
    }
    p->cycles += passed;
    bool low = before >> 32 != p->cycles >> 32, all = p->cycles < before;
    if (p->control & PMCR_LC ? all : low)
        p->overflown |= CYCLES;
}

static void settle(struct pmu_v3 *p)
{
    uint64_t wraps = 0; // of the counter below
    settle_cycles(p);
    for (unsigned i = 0; i < p->profile->counters; i++) {
        struct pmu_v3_counter *c = &p->counter[i];
        uint64_t now = total(p, c->type), more = now - c->at;
        if ((c->type & TYPE_CODE) == EVENT_CHAIN && (i & 1))
            more = wraps;
        c->at = now;
        wraps = counts(p, 1u << i, c->type) ? add(p, i, more) : 0;
    }
}

// DDI 0487H D8.3.1: while PMCR_EL0.E is set
uint32_t pmu_v3_requests(struct pmu_v3 *p)
{
    settle(p);
    return p->control & PMCR_E ? p->overflown & p->interrupts : 0;
}

static uint64_t cycle_counter_left(const struct pmu_v3 *p)
{
    if (!counts(p, CYCLES, p->filter))
        return UINT64_MAX;
    if (p->control & PMCR_LC)
        return p->cycles ? -p->cycles : UINT64_MAX;
    uint64_t left = (UINT64_C(1) << 32) - (uint32_t)p->cycles;
    return p->control & PMCR_D ? left * DIVISOR - p->divided : left;
}

uint64_t pmu_v3_cycles_left(const struct pmu_v3 *p)
{
    uint64_t least = cycle_counter_left(p);
    for (unsigned i = 0; i < p->profile->counters; i++) {
        const struct pmu_v3_counter *c = &p->counter[i];
        uint64_t left = (UINT64_C(1) << 32) - c->value;
        if (source(p, c->type) == p->counted && counts(p, 1u << i, c->type) && left < least)
            least = left;
    }
    return least;
}

static uint32_t implemented(const struct pmu_v3 *p)
{
    return CYCLES | ((1u << p->profile->counters) - 1);
}

void pmu_v3_reset(struct pmu_v3 *p)
{
    settle(p);
    // Values that the architecture leaves unknown are zero here
    p->control = p->enabled = p->overflown = p->interrupts = p->user_enable = p->select = p->divided =
        p->filter = 0;
    p->cycles = 0;
    for (unsigned i = 0; i < PMU_V3_COUNTERS; i++)
        p->counter[i] = (struct pmu_v3_counter){0};
}

void pmu_v3_set_level(struct pmu_v3 *p, unsigned level, bool secure, bool prohibited)
{
    if (level == p->level && secure == p->secure && prohibited == p->prohibited)
        return;
    settle(p);
    p->level = level;
    p->secure = secure;
    p->prohibited = prohibited;
}

void pmu_v3_set_erratum(struct pmu_v3 *p, bool on)
{
    settle(p);
    p->erratum = on;
    for (unsigned i = 0; i < p->profile->counters; i++)
        p->counter[i].at = total(p, p->counter[i].type);
}

void pmu_v3_divide(struct pmu_v3 *p, uint32_t control)
{
    enum { HPMN = 0x1F, HPME = 1 << 7, HPMD = 1 << 17 };
    settle(p);
    p->of_guests = control & HPMN;
    p->el2_enable = control & HPME;
    p->el2_prohibited = control & HPMD;
}

static void write_control(struct pmu_v3 *p, uint32_t value)
{
    p->control = value & PMCR_WRITABLE;
    for (unsigned i = 0; (value & PMCR_P) && i < p->profile->counters; i++)
        p->counter[i].value = 0;
    if (value & PMCR_C)
        p->cycles = p->divided = 0;
}

static void write_type(struct pmu_v3 *p, struct pmu_v3_counter *c, uint32_t value)
{
    c->type = value & (TYPE_CODE | TYPE_FILTERS);
    c->at = total(p, c->type);
}

static void increment(struct pmu_v3 *p, uint32_t which)
{
    uint64_t wraps = 0;
    for (unsigned i = 0; i < p->profile->counters; i++) {
        uint32_t type = p->counter[i].type, code = type & TYPE_CODE;
        bool ours = (which >> i & 1) && code == EVENT_SW_INCR;
        uint64_t more = ours ? 1 : code == EVENT_CHAIN && (i & 1) ? wraps : 0;
        wraps = counts(p, 1u << i, type) ? add(p, i, more) : 0;
    }
}

// The counter whose register this is, with this many bytes from one to the next
static struct pmu_v3_counter *counter_at(struct pmu_v3 *p, uint32_t offset, uint32_t first, uint32_t stride)
{
    uint32_t n = (offset - first) / stride;
    bool is = offset >= first && (offset - first) % stride == 0 && n < p->profile->counters;
    return is ? &p->counter[n] : NULL;
}

uint32_t pmu_v3_read(struct pmu_v3 *p, uint32_t offset)
{
    settle(p);
    const struct pmu_v3_counter *value = counter_at(p, offset, PMEVCNTR0, 8);
    const struct pmu_v3_counter *type = counter_at(p, offset, PMEVTYPER0, 4);
    if (value || type)
        return value ? value->value : type->type;
    switch (offset) {
    case PMCCNTR_LOW:
        return (uint32_t)p->cycles;
    case PMCCNTR_HIGH:
        return p->cycles >> 32;
    case PMCCFILTR:
        return p->filter;
    case PMCNTENSET:
    case PMCNTENCLR:
        return p->enabled;
    case PMINTENSET:
    case PMINTENCLR:
        return p->interrupts;
    case PMOVSCLR:
    case PMOVSSET:
        return p->overflown;
    case PMCFGR:
        return CFGR_FIXED | p->profile->counters;
    case PMCR: // not the upper bits: IMP, IDCODE and N are the System register's only
        return p->control;
    case PMCEID0:
        return (uint32_t)p->profile->ceid;
    case PMCEID1:
        return p->profile->ceid >> 32;
    default:
        return 0;
    }
}

static void write_register(struct pmu_v3 *p, uint32_t offset, uint32_t value)
{
    switch (offset) {
    case PMCCNTR_LOW:
        p->cycles = (p->cycles & ~(uint64_t)UINT32_MAX) | value;
        break;
    case PMCCNTR_HIGH:
        p->cycles = (uint32_t)p->cycles | (uint64_t)value << 32;
        break;
    case PMCCFILTR:
        p->filter = value & TYPE_FILTERS;
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
    case PMOVSCLR:
        p->overflown &= ~value;
        break;
    case PMOVSSET:
        p->overflown |= value & implemented(p);
        break;
    case PMSWINC:
        increment(p, value);
        break;
    case PMCR:
        write_control(p, value);
        break;
    default:
        break;
    }
}

void pmu_v3_write(struct pmu_v3 *p, uint32_t offset, uint32_t value)
{
    settle(p);
    struct pmu_v3_counter *counter = counter_at(p, offset, PMEVCNTR0, 8);
    struct pmu_v3_counter *type = counter_at(p, offset, PMEVTYPER0, 4);
    if (counter)
        counter->value = value;
    else if (type)
        write_type(p, type, value);
    else
        write_register(p, offset, value);
}

// Performance monitor of Armv8.1-M: see the header.
#include "device/pmu_v81m.h"

// Offsets, DDI 0553B D1.2, "Performance Monitoring Unit registers"
enum {
    PMU_EVCNTR0 = 0x000,
    PMU_CCNTR = 0x07C,
    PMU_EVTYPER0 = 0x400,
    PMU_CNTENSET = 0xC00,
    PMU_CNTENCLR = 0xC20,
    PMU_INTENSET = 0xC40,
    PMU_INTENCLR = 0xC60,
    PMU_OVSCLR = 0xC80,
    PMU_SWINC = 0xCA0,
    PMU_OVSSET = 0xCC0,
    PMU_TYPE = 0xE00,
    PMU_CTRL = 0xE04,
    PMU_AUTHSTATUS = 0xFB8,
};
// PMU_CTRL
#define CTRL_E         (1u << 0)
#define CTRL_P         (1u << 1)
#define CTRL_C         (1u << 2)
#define CTRL_FRZ_ON_OV (1u << 9)
#define CTRL_WRITABLE  0xA21u // and DP, TRACE_ON_OV
#define CYCLES         (1u << 31)
// A cycle counter, counters that can freeze and trace at an overflow, 32 bits for the widest
#define TYPE_CONSTANT 0x00A05F00u
#define AUTH_NSNID    0xCu // Non-secure non-invasive debug, allowed
enum { EVENT_SW_INCR = 0x00, EVENT_CYCLES = 0x11, EVENT_CHAIN = 0x1E, COUNTER_BITS = 16 };

const uint16_t *pmu_v81m_codes(void)
{
    static const uint16_t codes[V81M_EVENTS] = {
        [V81M_L1D_REFILL] = 0x03,
        [V81M_L1D] = 0x04,
        [V81M_LOAD] = 0x06,
        [V81M_STORE] = 0x07,
        [V81M_INSTRUCTION] = 0x08,
        [V81M_EXCEPTION] = 0x09,
        [V81M_EXCEPTION_RETURN] = 0x0A,
        [V81M_PC_WRITE] = 0x0C,
        [V81M_BRANCH_IMMEDIATE] = 0x0D,
        [V81M_RETURN] = 0x0E,
        [V81M_UNALIGNED] = 0x0F,
        [V81M_MATCH] = 0x118,
        [V81M_MATCH + 1] = 0x119,
        [V81M_MATCH + 2] = 0x11A,
        [V81M_MATCH + 3] = 0x11B,
    };
    return codes;
}

static const uint64_t *source(const struct pmu_v81m *p, uint16_t type)
{
    const uint16_t *codes = pmu_v81m_codes();
    if (type == EVENT_CYCLES)
        return p->counted;
    for (unsigned i = 0; i < V81M_EVENTS; i++)
        if (codes[i] == type)
            return &p->total[i];
    return NULL;
}

static bool counting(const struct pmu_v81m *p)
{
    return p->traced && (p->control & CTRL_E) && !((p->control & CTRL_FRZ_ON_OV) && p->overflown);
}

bool pmu_v81m_freezes(const struct pmu_v81m *p)
{
    return counting(p) && (p->control & CTRL_FRZ_ON_OV);
}

static void wrapped(struct pmu_v81m *p, uint32_t bit)
{
    p->overflown |= bit;
    p->event |= (p->interrupts & bit) != 0;
}

// Returns how often it wrapped
static uint64_t add(struct pmu_v81m *p, unsigned i, uint64_t more)
{
    uint64_t sum = p->counter[i].value + more, wraps = sum >> COUNTER_BITS;
    p->counter[i].value = (uint16_t)sum;
    if (wraps)
        wrapped(p, 1u << i);
    return wraps;
}

static void settle_cycles(struct pmu_v81m *p, bool run)
{
    uint64_t sum = p->cycles + (*p->counted - p->at);
    p->at = *p->counted;
    if (!run || !(p->enabled & CYCLES))
        return;
    p->cycles = (uint32_t)sum;
    if (sum > UINT32_MAX)
        wrapped(p, CYCLES);
}

void pmu_v81m_settle(struct pmu_v81m *p)
{
    bool run = counting(p);
    uint64_t wraps = 0; // of the counter below
    settle_cycles(p, run);
    for (unsigned i = 0; i < p->counters; i++) {
        struct pmu_v81m_counter *c = &p->counter[i];
        const uint64_t *from = source(p, c->type);
        uint64_t more = from ? *from - c->at : 0;
        if (c->type == EVENT_CHAIN && (i & 1))
            more = wraps;
        c->at = from ? *from : 0;
        wraps = run && (p->enabled >> i & 1) ? add(p, i, more) : 0;
    }
}

uint64_t pmu_v81m_cycles_left(const struct pmu_v81m *p)
{
    uint64_t least = UINT64_MAX;
    if (!counting(p))
        return least;
    if (p->enabled & CYCLES)
        least = (UINT64_C(1) << 32) - p->cycles;
    for (unsigned i = 0; i < p->counters; i++) {
        uint64_t left = (1u << COUNTER_BITS) - p->counter[i].value;
        if ((p->enabled >> i & 1) && p->counter[i].type == EVENT_CYCLES && left < least)
            least = left;
    }
    return least;
}

void pmu_v81m_power_on(struct pmu_v81m *p)
{
    p->traced = p->event = false;
    p->control = p->enabled = p->overflown = p->interrupts = p->cycles = 0;
    p->at = *p->counted;
    for (unsigned i = 0; i < PMU_V81M_COUNTERS; i++)
        p->counter[i] = (struct pmu_v81m_counter){0};
}

void pmu_v81m_trace(struct pmu_v81m *p, bool traced)
{
    pmu_v81m_settle(p);
    p->traced = traced;
}

static void write_control(struct pmu_v81m *p, uint32_t value)
{
    p->control = value & CTRL_WRITABLE;
    for (unsigned i = 0; (value & CTRL_P) && i < p->counters; i++)
        p->counter[i].value = 0;
    if (value & CTRL_C)
        p->cycles = 0;
}

static void write_type(struct pmu_v81m *p, struct pmu_v81m_counter *c, uint32_t value)
{
    c->type = (uint16_t)value;
    const uint64_t *from = source(p, c->type);
    c->at = from ? *from : 0;
}

static void increment(struct pmu_v81m *p, uint32_t which)
{
    uint64_t wraps = 0;
    for (unsigned i = 0; i < p->counters; i++) {
        const struct pmu_v81m_counter *c = &p->counter[i];
        bool ours = (which >> i & 1) && c->type == EVENT_SW_INCR;
        uint64_t more = ours ? 1 : c->type == EVENT_CHAIN && (i & 1) ? wraps : 0;
        wraps = counting(p) && (p->enabled >> i & 1) ? add(p, i, more) : 0;
    }
}

static uint32_t implemented(const struct pmu_v81m *p)
{
    return CYCLES | ((1u << p->counters) - 1);
}

// Which counter's register this is, PMU_V81M_COUNTERS if no one's
static unsigned counter_at(const struct pmu_v81m *p, uint32_t offset, uint32_t first)
{
    uint32_t n = (offset - first) / 4;
    return offset >= first && n < p->counters ? n : PMU_V81M_COUNTERS;
}

uint32_t pmu_v81m_peek(const struct pmu_v81m *p, uint32_t offset)
{
    unsigned value = counter_at(p, offset, PMU_EVCNTR0), type = counter_at(p, offset, PMU_EVTYPER0);
    if (value < PMU_V81M_COUNTERS)
        return p->counter[value].value;
    if (type < PMU_V81M_COUNTERS)
        return p->counter[type].type;
    switch (offset) {
    case PMU_CCNTR:
        return p->cycles;
    case PMU_CNTENSET:
    case PMU_CNTENCLR:
        return p->enabled;
    case PMU_INTENSET:
    case PMU_INTENCLR:
        return p->interrupts;
    case PMU_OVSCLR:
    case PMU_OVSSET:
        return p->overflown;
    case PMU_TYPE:
        return TYPE_CONSTANT | p->counters;
    case PMU_CTRL:
        return p->control;
    case PMU_AUTHSTATUS:
        return AUTH_NSNID;
    default:
        return 0;
    }
}

uint32_t pmu_v81m_read(struct pmu_v81m *p, uint32_t offset)
{
    pmu_v81m_settle(p);
    return pmu_v81m_peek(p, offset);
}

static void write_register(struct pmu_v81m *p, uint32_t offset, uint32_t value)
{
    switch (offset) {
    case PMU_CCNTR:
        p->cycles = value;
        break;
    case PMU_CNTENSET:
        p->enabled |= value & implemented(p);
        break;
    case PMU_CNTENCLR:
        p->enabled &= ~value;
        break;
    case PMU_INTENSET:
        p->interrupts |= value & implemented(p);
        break;
    case PMU_INTENCLR:
        p->interrupts &= ~value;
        break;
    case PMU_OVSCLR:
        p->overflown &= ~value;
        break;
    case PMU_OVSSET:
        p->overflown |= value & implemented(p);
        break;
    case PMU_SWINC:
        increment(p, value);
        break;
    case PMU_CTRL:
        write_control(p, value);
        break;
    default:
        break;
    }
}

void pmu_v81m_write(struct pmu_v81m *p, uint32_t offset, uint32_t value)
{
    if (!p->traced)
        return;
    pmu_v81m_settle(p);
    unsigned counter = counter_at(p, offset, PMU_EVCNTR0), type = counter_at(p, offset, PMU_EVTYPER0);
    if (counter < PMU_V81M_COUNTERS)
        p->counter[counter].value = (uint16_t)value;
    else if (type < PMU_V81M_COUNTERS)
        write_type(p, &p->counter[type], value);
    else
        write_register(p, offset, value);
}

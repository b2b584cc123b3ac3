// DWT: see the header.
#include "device/dwt.h"

// DDI 0403E C1.8.7 and following
enum { DWT_CTRL = 0x00, DWT_CYCCNT = 0x04, DWT_CPICNT = 0x08, DWT_FOLDCNT = 0x18, DWT_COMP0 = 0x20 };
#define CTRL_CYCCNTENA (1u << 0)
#define CTRL_CPIEVTENA (1u << 17) // EXC, SLEEP, LSU, FOLD follow
#define CTRL_CYCDISS   (1u << 23)
#define CTRL_WRITABLE  0x007F1FFFu
#define CTRL_V6M       0x0F000000u // no profiling counters, cycle counter, external triggers, trace packets
#define CTRL_V8M       0x01000000u // no profiling counters
#define CTRL_V8M_FIXED 0x003E0000u // so they cannot be enabled
#define CTRL_NOTRCPKT  0x08000000u
#define CTRL_POST      0x00401000u // CYCEVTENA, PCSAMPLENA
#define ID_CODE        0x2u
#define COMP_STRIDE    0x10
// DWT_FUNCTIONn of Armv8-M: MATCH, ACTION, DATAVSIZE; ID says what a comparator can do
#define FUNCTION_V8M     0x00000C3Fu
#define FUNCTION_MATCHED (1u << 24)
// DDI 0403E C1.8.17 and table C1-14, DDI 0419 C1.6.5: a watchpoint at writes, at reads and writes; not where
// the comparator is one of cycles or data values
#define FUNCTION_KIND  0x18Fu
#define WATCH_WRITES   0x6u
#define WATCH_ACCESSES 0x7u
// DDI 0553B D1.2, DWT_FUNCTIONn: data address at writes, at any access; a debug event
#define MATCH_ACTION   0x3Fu
#define HALT_AT_WRITES 0x15u
#define HALT_AT_ACCESS 0x14u
#define SIZE_LSB       10 // DATAVSIZE
// Comparator 0 alone can match the cycle counter: CYCMATCH with a watchpoint; in Armv8-M a match of cycles
#define WATCH_CYCLES   0x84u
#define HALT_AT_CYCLES 0x11u

bool dwt_counting(const struct dwt *d)
{
    return d->has_counters && d->traced && (d->control & CTRL_CYCCNTENA) &&
           !(d->secure && (d->control & CTRL_CYCDISS));
}

uint32_t dwt_cyccnt(const struct dwt *d, uint64_t now)
{
    return dwt_counting(d) ? d->cyccnt + (uint32_t)(now - d->at) : d->cyccnt;
}

static bool halts_at_cycles(const struct dwt *d)
{
    uint32_t function = d->function[0];
    if (!dwt_counting(d) || !d->comparators)
        return false;
    return d->v8m ? (function & MATCH_ACTION) == HALT_AT_CYCLES
                  : (function & FUNCTION_KIND) == WATCH_CYCLES && !d->mask[0];
}

// A counter that has the value already matches when it has it again
static uint64_t cycles_to_match(const struct dwt *d, uint64_t now)
{
    uint32_t left = d->comp[0] - dwt_cyccnt(d, now);
    return left ? left : UINT64_C(1) << 32;
}

static uint8_t profile(const struct dwt *d, unsigned which)
{
    if (!d->traced || !(d->control & (CTRL_CPIEVTENA << which)))
        return d->profile[which];
    return (uint8_t)(d->profile[which] + (d->total[which] - d->since[which]));
}

static void settle(struct dwt *d, uint64_t now)
{
    if (halts_at_cycles(d) && now - d->at >= cycles_to_match(d, d->at)) {
        d->matched |= 1;
        d->cycle_event = true;
    }
    d->cyccnt = dwt_cyccnt(d, now);
    d->at = now;
    for (unsigned i = 0; i < DWT_PROFILES; i++) {
        d->profile[i] = profile(d, i);
        d->since[i] = d->total[i];
    }
}

void dwt_reset(struct dwt *d, uint64_t now)
{
    settle(d, now);
    d->control = 0;
    d->cyccnt = 0;
    for (unsigned i = 0; i < DWT_COMPARATORS; i++)
        d->function[i] = 0;
    d->matched = 0;
    d->cycle_event = false;
}

void dwt_trace(struct dwt *d, bool traced, uint64_t now)
{
    settle(d, now);
    d->traced = traced;
}

void dwt_secure(struct dwt *d, bool secure, uint64_t now)
{
    settle(d, now);
    d->secure = secure;
}

uint32_t dwt_control(const struct dwt *d)
{
    return (uint32_t)d->comparators << 28 | (d->has_counters ? d->control : CTRL_V6M) |
           (d->v8m ? CTRL_V8M : 0) | (d->no_packets ? CTRL_NOTRCPKT : 0);
}

static const uint32_t *comparator(const struct dwt *d, uint32_t offset)
{
    unsigned n = (offset - DWT_COMP0) / COMP_STRIDE;
    if (offset < DWT_COMP0 || n >= d->comparators || n >= DWT_COMPARATORS)
        return NULL;
    switch ((offset - DWT_COMP0) % COMP_STRIDE) {
    case 0x0:
        return &d->comp[n];
    case 0x4:
        return d->v8m ? NULL : &d->mask[n];
    case 0x8:
        return &d->function[n];
    default:
        return NULL;
    }
}

static bool is_function(const struct dwt *d, const uint32_t *c)
{
    return c >= d->function && c < d->function + DWT_COMPARATORS;
}

// Instruction and data addresses; the first one cycles too, the second and the last the limit of a range
static uint32_t ability(const struct dwt *d, const uint32_t *c)
{
    static const uint8_t ids[DWT_COMPARATORS] = {0x0B, 0x1E, 0x0A, 0x1E};
    if (!d->v8m || !is_function(d, c))
        return 0;
    return (uint32_t)(ids[c - d->function] & ~(d->no_match_id ? ID_CODE : 0)) << 27;
}

static uint32_t take_matched(struct dwt *d, const uint32_t *c)
{
    if (!is_function(d, c))
        return 0;
    uint32_t bit = 1u << (c - d->function), was = d->matched & bit;
    d->matched &= ~bit;
    return was ? FUNCTION_MATCHED : 0;
}

uint32_t dwt_read(struct dwt *d, uint32_t offset, uint64_t now)
{
    if (offset == DWT_CTRL)
        return dwt_control(d);
    if (offset == DWT_CYCCNT)
        return dwt_cyccnt(d, now);
    if (offset >= DWT_CPICNT && offset <= DWT_FOLDCNT && !d->v8m)
        return profile(d, (offset - DWT_CPICNT) / 4);
    settle(d, now);
    const uint32_t *c = comparator(d, offset);
    return c ? *c | ability(d, c) | take_matched(d, c) : 0;
}

static void write_control(struct dwt *d, uint32_t value)
{
    value &= (CTRL_WRITABLE & ~(d->v8m ? CTRL_V8M_FIXED : 0)) | (d->has_cycdiss ? CTRL_CYCDISS : 0);
    for (unsigned i = 0; i < DWT_PROFILES; i++) {
        uint32_t bit = CTRL_CPIEVTENA << i;
        if ((value & bit) && !(d->control & bit))
            d->profile[i] = 0; // enabling clears it (DDI 0403E C1.8.8 and following)
    }
    if ((value & CTRL_POST) && !(d->control & CTRL_POST))
        d->post = value >> 5 & 0xF; // POSTINIT
    d->control = value;
}

void dwt_write(struct dwt *d, uint32_t offset, uint32_t value, uint64_t now)
{
    if (!d->traced)
        return;
    settle(d, now);
    uint32_t *c = (uint32_t *)comparator(d, offset);
    if (c)
        *c = !is_function(d, c) ? value : value & (d->v8m ? FUNCTION_V8M : ~FUNCTION_MATCHED);
    else if (!d->has_counters)
        return;
    else if (offset == DWT_CTRL)
        write_control(d, value);
    else if (offset == DWT_CYCCNT)
        d->cyccnt = value;
    else if (offset >= DWT_CPICNT && offset <= DWT_FOLDCNT && !d->v8m)
        d->profile[(offset - DWT_CPICNT) / 4] = (uint8_t)value;
}

static bool halts_at_stores(const struct dwt *d, unsigned n)
{
    uint32_t kind = d->function[n] & (d->v8m ? MATCH_ACTION : FUNCTION_KIND);
    return d->v8m ? kind == HALT_AT_WRITES || kind == HALT_AT_ACCESS
                  : kind == WATCH_WRITES || kind == WATCH_ACCESSES;
}

bool dwt_watches(const struct dwt *d)
{
    bool any = false;
    for (unsigned i = 0; d->traced && i < d->comparators; i++)
        any = any || halts_at_stores(d, i);
    return any;
}

bool dwt_store(struct dwt *d, uint32_t address, unsigned size)
{
    bool event = false;
    for (unsigned i = 0; d->traced && i < d->comparators; i++) {
        uint64_t span = UINT64_C(1) << (d->v8m ? d->function[i] >> SIZE_LSB & 3 : d->mask[i] & 0x1F);
        uint64_t from = d->comp[i] & ~(span - 1);
        if (!halts_at_stores(d, i) || address >= from + span || address + (uint64_t)size <= from)
            continue;
        d->matched |= 1u << i;
        event = true;
    }
    return event;
}

uint64_t dwt_cycles_to_match(const struct dwt *d, uint64_t now)
{
    return halts_at_cycles(d) ? cycles_to_match(d, now) : DWT_NEVER;
}

bool dwt_cycle_event(struct dwt *d, uint64_t now)
{
    if (halts_at_cycles(d))
        settle(d, now);
    bool happened = d->cycle_event;
    d->cycle_event = false;
    return happened;
}

void dwt_name_totals(const uint16_t **codes, size_t *count)
{
    static const uint16_t offsets[] = {0x08, 0x0C, 0x10, 0x14, 0x18};
    *codes = offsets;
    *count = sizeof offsets / sizeof *offsets;
}

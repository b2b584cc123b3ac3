// What the DWT makes packets of (DDI 0403E C1.8 and table C1-14, DDI 0553B D1.2): instruction addresses,
// accesses, the cycle counter's taps. Not: values as a condition, the profiling counters' wraps.
#include "device/dwt.h"

#define CTRL_CYCTAP     (1u << 9)
#define CTRL_PCSAMPLENA (1u << 12)
#define CTRL_EXCTRCENA  (1u << 16)
#define CTRL_CYCEVTENA  (1u << 22)
enum { POSTPRESET_LSB = 1, SYNCTAP_LSB = 10, SYNCTAP_BASE = 22, SIZE_LSB = 10 };
// Armv8-M: MATCH
enum { AT_CODE = 2, DATA_ANY = 4, DATA_READ = 6, DATA_LIMIT = 7, VALUE_ANY = 12, VALUE_READ = 14 };
// Armv7-M: FUNCTION, EMITRANGE, and what makes it another kind of comparator
#define FUNCTION_V7 0xFu
#define EMITRANGE   (1u << 5)
#define OTHER_KIND  0x180u // DATAVMATCH, CYCMATCH

static unsigned match_of(const struct dwt *d, unsigned n)
{
    return d->function[n] & 0xF;
}

unsigned dwt_action(const struct dwt *d, unsigned n)
{
    return d->function[n] >> 4 & 3;
}

unsigned dwt_at_code(const struct dwt *d, uint32_t pc)
{
    unsigned matched = 0;
    for (unsigned i = 0; d->v8m && d->traced && i < d->comparators; i++)
        if (match_of(d, i) == AT_CODE && (d->comp[i] & ~1u) == pc)
            matched |= 1u << i;
    return matched;
}

static bool is_range(const struct dwt *d, unsigned n)
{
    return n % 2 == 0 && n + 1 < d->comparators && match_of(d, n + 1) == DATA_LIMIT;
}

// Of 4, 5, 6 and 12, 13, 14: any access, writes, reads
static bool is_of_kind(unsigned match, unsigned any, bool write)
{
    return match == any || match == any + (write ? 1 : 2);
}

static unsigned sends_v8(const struct dwt *d, unsigned n, bool write)
{
    unsigned match = match_of(d, n), action = dwt_action(d, n);
    if (match >= DATA_ANY && match <= DATA_READ && is_of_kind(match, DATA_ANY, write))
        return action == DWT_ACTION_MATCH ? DWT_SENDS_MATCH : action == DWT_ACTION_PC ? DWT_SENDS_PC : 0;
    if (match >= VALUE_ANY && match <= VALUE_READ && is_of_kind(match, VALUE_ANY, write))
        return action == DWT_ACTION_MATCH ? DWT_SENDS_VALUE
               : action == DWT_ACTION_PC  ? DWT_SENDS_PC | DWT_SENDS_VALUE
                                          : 0;
    if (match == DATA_LIMIT && n % 2 && action == DWT_ACTION_PC) {
        unsigned first = match_of(d, n - 1);
        bool wanted =
            first >= VALUE_ANY ? is_of_kind(first, VALUE_ANY, write) : is_of_kind(first, DATA_ANY, write);
        return wanted ? DWT_SENDS_ADDRESS : 0;
    }
    return 0;
}

static unsigned sends_v7(const struct dwt *d, unsigned n, bool write)
{
    uint32_t function = d->function[n];
    bool range = function & EMITRANGE;
    if ((function & OTHER_KIND) || (d->no_apart && (function & FUNCTION_V7) >= 0xC))
        return 0;
    switch (function & FUNCTION_V7) {
    case 0x1:
        return range ? DWT_SENDS_ADDRESS : DWT_SENDS_PC;
    case 0x2:
        return DWT_SENDS_VALUE | (range ? DWT_SENDS_ADDRESS : 0);
    case 0x3:
        return DWT_SENDS_VALUE | (range ? DWT_SENDS_ADDRESS : DWT_SENDS_PC);
    case 0xC:
    case 0xD:
        if (write != ((function & FUNCTION_V7) == 0xD))
            return 0;
        return range ? DWT_SENDS_ADDRESS : DWT_SENDS_VALUE;
    case 0xE:
    case 0xF:
        if (write != ((function & FUNCTION_V7) == 0xF))
            return 0;
        return DWT_SENDS_VALUE | (range ? DWT_SENDS_ADDRESS : DWT_SENDS_PC);
    default:
        return 0;
    }
}

static unsigned sends(const struct dwt *d, unsigned n, bool write)
{
    return d->v8m ? sends_v8(d, n, write) : sends_v7(d, n, write);
}

bool dwt_traces(const struct dwt *d, bool write)
{
    bool any = false;
    for (unsigned i = 0; d->traced && d->has_counters && i < d->comparators; i++)
        any = any || sends(d, i, write);
    return any;
}

unsigned dwt_sends(struct dwt *d, unsigned n, uint32_t address, unsigned size, bool write)
{
    unsigned what = d->traced && d->has_counters && n < d->comparators ? sends(d, n, write) : 0;
    if (!what)
        return 0;
    uint64_t from = d->comp[n], end;
    if (d->v8m && (is_range(d, n) || match_of(d, n) == DATA_LIMIT)) {
        from = d->comp[n & ~1u];
        end = (uint64_t)d->comp[n | 1u] + 1;
    } else {
        uint64_t span = UINT64_C(1) << (d->v8m ? d->function[n] >> SIZE_LSB & 3 : d->mask[n] & 0x1F);
        from &= ~(span - 1);
        end = from + span;
    }
    if (address >= end || address + (uint64_t)size <= from)
        return 0;
    d->matched |= 1u << n;
    return what;
}

bool dwt_traces_exceptions(const struct dwt *d)
{
    return d->traced && (d->control & CTRL_EXCTRCENA);
}

static uint64_t next_multiple(const struct dwt *d, uint64_t now, uint64_t period)
{
    return now + period - dwt_cyccnt(d, now) % period;
}

uint64_t dwt_next_tap(const struct dwt *d, uint64_t now)
{
    if (!dwt_counting(d) || !(d->control & (CTRL_CYCEVTENA | CTRL_PCSAMPLENA)))
        return DWT_NEVER;
    return next_multiple(d, now, d->control & CTRL_CYCTAP ? 1024 : 64);
}

uint64_t dwt_next_sync(const struct dwt *d, uint64_t now)
{
    unsigned tap = d->control >> SYNCTAP_LSB & 3;
    return dwt_counting(d) && tap ? next_multiple(d, now, UINT64_C(1) << (SYNCTAP_BASE + 2 * tap))
                                  : DWT_NEVER;
}

bool dwt_tap(struct dwt *d)
{
    if (d->post--)
        return false;
    d->post = d->control >> POSTPRESET_LSB & 0xF;
    return true;
}

bool dwt_samples(const struct dwt *d)
{
    return d->control & CTRL_PCSAMPLENA;
}

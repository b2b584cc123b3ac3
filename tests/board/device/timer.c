// The RP2040's timer: see the header.
#include "device/timer.h"

// RP2040 data sheet 4.6.5
enum {
    TIMEHW = 0x00,
    TIMELW = 0x04,
    TIMEHR = 0x08,
    TIMELR = 0x0C,
    TIMERAWH = 0x24,
    TIMERAWL = 0x28,
    DBGPAUSE = 0x2C,
    PAUSE = 0x30,
};
#define DBGPAUSE_RESET    0x7u
#define DBGPAUSE_WRITABLE 0x6u // bit 1 is core 0, bit 2 is core 1
// RP2040 data sheet 2.1.2: each register four times, to be written, toggled, set and cleared
enum { ALIAS_SIZE = 0x1000, ALIASES = 4, ALIAS_XOR = 1, ALIAS_SET = 2, ALIAS_CLEAR = 3 };

static uint64_t position(const struct timer_seat *s)
{
    return s->timer->cycles + (s->core->counted - s->at);
}

static bool stops(const struct timer *t, size_t i)
{
    return t->seats[i].core->in_debug && (t->dbgpause & 2u << i);
}

static bool stands(const struct timer *t)
{
    bool any = false;
    for (size_t i = 0; i < t->count; i++)
        any = any || stops(t, i);
    return any;
}

// The end of the slice, or where the first core that stops the timer is
static uint64_t end_of(const struct timer *t, uint64_t latest)
{
    for (size_t i = 0; i < t->count; i++)
        if (stops(t, i) && position(&t->seats[i]) < latest)
            latest = position(&t->seats[i]);
    return latest;
}

static void go_to(struct timer *t, uint64_t end)
{
    uint64_t passed = end - t->cycles;
    bool standing = stands(t);
    for (size_t i = 0; i < t->count; i++) {
        struct timer_seat *s = &t->seats[i];
        // A core that is ahead stays ahead, if the timer did not stop meanwhile
        bool keeps = !standing && !s->core->in_debug && s->core->counted - s->at >= passed;
        s->at = keeps ? s->at + passed : s->core->counted;
    }
    t->cycles = end;
}

static uint64_t microseconds(struct timer_seat *s)
{
    struct timer *t = s->timer;
    if (t->paused)
        return t->paused_at;
    if (stands(t)) // another core may stop it, however this one was stepped
        go_to(t, end_of(t, UINT64_MAX));
    uint64_t now = position(s);
    if (now > t->latest)
        t->latest = now;
    return t->latest / t->cycles_per_us + t->offset;
}

static uint32_t read_timer(void *self, uint32_t offset, enum bus_master master)
{
    struct timer_seat *s = self;
    struct timer *t = s->timer;
    (void)master;
    switch (offset % ALIAS_SIZE) {
    case TIMEHR:
        return t->latched_high;
    case TIMELR:
        t->latched_high = (uint32_t)(microseconds(s) >> 32);
        return (uint32_t)microseconds(s);
    case TIMERAWH:
        return (uint32_t)(microseconds(s) >> 32);
    case TIMERAWL:
        return (uint32_t)microseconds(s);
    case DBGPAUSE:
        return t->dbgpause;
    case PAUSE:
        return t->paused;
    default:
        return 0;
    }
}

static void set_time(struct timer_seat *s, uint64_t us)
{
    struct timer *t = s->timer;
    if (t->paused)
        t->paused_at = us;
    else
        t->offset += us - microseconds(s);
}

static void pause_timer(struct timer_seat *s, bool paused)
{
    struct timer *t = s->timer;
    uint64_t now = microseconds(s);
    t->paused = paused;
    t->paused_at = now;
    if (!paused)
        set_time(s, now);
}

static uint32_t change(uint32_t old, uint32_t value, uint32_t alias)
{
    switch (alias) {
    case ALIAS_XOR:
        return old ^ value;
    case ALIAS_SET:
        return old | value;
    case ALIAS_CLEAR:
        return old & ~value;
    default:
        return value;
    }
}

static void write_timer(void *self, uint32_t offset, uint32_t value, enum bus_master master)
{
    struct timer_seat *s = self;
    struct timer *t = s->timer;
    uint32_t alias = offset / ALIAS_SIZE;
    (void)master;
    switch (offset % ALIAS_SIZE) {
    case TIMELW:
        t->written_low = change(0, value, alias);
        break;
    case TIMEHW:
        set_time(s, (uint64_t)change(0, value, alias) << 32 | t->written_low);
        break;
    case DBGPAUSE:
        t->dbgpause = (change(t->dbgpause, value, alias) & DBGPAUSE_WRITABLE) | 1u;
        break;
    case PAUSE:
        pause_timer(s, change(t->paused, value, alias) & 1);
        break;
    default:
        break;
    }
}

bool timer_add(struct timer *t, struct bus *bus, uint32_t base, uint32_t cycles_per_us)
{
    if (t->count == TIMER_CORES)
        return false;
    struct timer_seat *seat = &t->seats[t->count];
    seat->timer = t;
    t->cycles_per_us = cycles_per_us;
    t->dbgpause = DBGPAUSE_RESET;
    return bus_add_device(bus, (struct device){.base = base,
                                               .size = ALIASES * ALIAS_SIZE,
                                               .read = read_timer,
                                               .write = write_timer,
                                               .self = seat});
}

void timer_sit(struct timer *t, const struct core *core)
{
    t->seats[t->count].core = core;
    t->seats[t->count].at = core->counted;
    t->count++;
}

void timer_power_on(struct timer *t)
{
    for (size_t i = 0; i < t->count; i++)
        t->seats[i].at = t->seats[i].core->counted;
    t->cycles = 0;
    t->latest = 0;
    t->offset = 0;
    t->latched_high = 0;
    t->written_low = 0;
    t->dbgpause = DBGPAUSE_RESET;
    t->paused = false;
}

uint64_t timer_lead(const struct timer *t, size_t core)
{
    return core < t->count ? t->seats[core].core->counted - t->seats[core].at : 0;
}

bool timer_goes_on(const struct timer *t)
{
    bool any = false;
    for (size_t i = 0; i < t->count; i++)
        any = any || t->seats[i].core->in_debug;
    return any && !stands(t);
}

void timer_pass(struct timer *t, uint64_t cycles)
{
    go_to(t, end_of(t, t->cycles + cycles));
}

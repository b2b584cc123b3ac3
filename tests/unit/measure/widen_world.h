/*
 * A world to widen in: one counter whose true count goes on by random steps, from none to far beyond what its
 * register holds. Each read gives what the register shows and what an observer could know of the step: times
 * by a host that is late and a clock that is not quite as fast as it says, a
 * span, or nothing. All of it is true.
 */
#pragma once

#include "counters/counter.h"
#include "widen_oracle.h"

#include <math.h>

struct world_kind {
    uint8_t bits;
    bool down, zero_is_top, any_reload;
};

static const struct world_kind world_kinds[] = {
    {.bits = 8},
    {.bits = 8, .down = true},
    {.bits = 16},
    {.bits = 16, .down = true},
    {.bits = 24},
    {.bits = 24, .down = true, .zero_is_top = true},
    {.bits = 24, .down = true, .zero_is_top = true, .any_reload = true},
    {.bits = 24, .down = true, .any_reload = true},
    {.bits = 32},
    {.bits = 32, .down = true},
    {.bits = 32, .any_reload = true},
    {.bits = 40},
    {.bits = 40, .down = true},
    {.bits = 64},
    {.bits = 64, .down = true},
};
enum { WORLD_KINDS = sizeof world_kinds / sizeof world_kinds[0] };

struct world {
    uint64_t random;
    unsigned number;
    struct shape shape;
    struct counter counter;
    unsigned width;        /* bits that hold its modulus */
    uint64_t truth, shown; /* counts since the beginning; the register now */
    double hz;
    unsigned times, spans; /* how often each is known, in percent */
};

struct look {
    uint64_t from, to, count;
    struct evidence evidence;
};

static inline uint64_t world_random(struct world *world)
{
    world->random += 0x9E3779B97F4A7C15U;
    uint64_t x = world->random;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
    return x ^ (x >> 31);
}

static inline uint64_t world_below(struct world *world, uint64_t limit)
{
    return world_random(world) % limit;
}

/* Below 2^bits, and every size as likely as every other. */
static inline uint64_t random_log(struct world *world, unsigned bits)
{
    uint64_t size = world_below(world, bits + 1);
    return size == 0 ? 0 : world_random(world) >> (64 - size);
}

/* Between 0 and 1, neither of them. */
static inline double world_part(struct world *world)
{
    return ((double)(world_random(world) >> 12) + 0.5) * 0x1p-52;
}

static inline bool random_percent(struct world *world, unsigned percent)
{
    return world_below(world, 100) < percent;
}

static inline void world_begin(struct world *world, uint64_t seed, unsigned number)
{
    static const unsigned often[] = {0, 50, 100, 100}, rarely[] = {0, 0, 40, 100};
    const struct world_kind *kind = &world_kinds[number % WORLD_KINDS];
    *world = (struct world){.random = seed ^ number * 0xD1342543DE82EF95U, .number = number};
    wide modulus = kind->any_reload ? (wide)random_log(world, kind->bits) + 1 : (wide)1 << kind->bits;
    world->shape = (struct shape){
        .bits = kind->bits, .down = kind->down, .zero_is_top = kind->zero_is_top, .modulus = modulus};
    while ((wide)1 << world->width < modulus)
        world->width++;
    bool plain = kind->bits == 64 || (!kind->any_reload && random_percent(world, 50));
    world->counter = (struct counter){.bits = kind->bits,
                                      .down = kind->down,
                                      .zero_is_top = kind->zero_is_top,
                                      .modulus = plain ? 0 : (uint64_t)modulus};
    world->shown = shape_show(&world->shape, 0, world_random(world));
    world->hz = 1e3 * pow(5e6, world_part(world));
    world->times = often[world_below(world, 4)];
    world->spans = rarely[world_below(world, 4)];
}

/* Short of 2^59, so that no sum of them is beyond 64 bits. */
static inline uint64_t world_step(struct world *world)
{
    unsigned width = world->width + 6 < 59 ? world->width + 6 : 59;
    if (world->width < 50 && random_percent(world, 15)) { /* around whole periods */
        uint64_t whole = world_below(world, 5) * (uint64_t)world->shape.modulus + world_below(world, 3);
        return whole > 0 ? whole - 1 : 0;
    }
    return random_log(world, width);
}

/* Hosts see a step begin late and end late; what they know of the clock is good to some parts. The last bits
 * are for what doubles cannot hold. */
static inline void world_time(struct world *world, uint64_t count, struct evidence *e)
{
    static const double no_time[] = {NAN, INFINITY, -INFINITY, -1};
    double took = fmax(0, (double)count + 2 * world_part(world) - 1) / world->hz;
    double late = ldexp((double)world->shape.modulus, -(int)world_below(world, 20)) / world->hz;
    double off = random_percent(world, 30) ? 0 : ldexp(1, -7 - (int)world_below(world, 24));
    bool known = random_percent(world, world->times);
    e->timed_below = known && random_percent(world, 80);
    e->timed_above = known && random_percent(world, 95);
    e->shortest_s = fmax(0, took * (1 - 0x1p-48) - late * world_part(world));
    e->longest_s = took * (1 + 0x1p-48) + late * world_part(world);
    e->slowest_hz = world->hz * (1 - off);
    e->fastest_hz = world->hz * (1 + off);
    if (!e->timed_below)
        *(random_percent(world, 50) ? &e->shortest_s : &e->slowest_hz) = no_time[world_below(world, 4)];
    if (!e->timed_above)
        *(random_percent(world, 50) ? &e->longest_s : &e->fastest_hz) = no_time[world_below(world, 4)];
}

static inline struct look world_look(struct world *world)
{
    struct look look = {.from = world->shown, .count = world_step(world)};
    struct evidence *e = &look.evidence;
    world->truth += look.count;
    world->shown = look.to = shape_show(&world->shape, look.from, look.count);
    world_time(world, look.count, e);
    uint64_t slop = random_log(world, world->width < 60 ? world->width + 1 : 60);
    e->spanned = random_percent(world, world->spans);
    e->least = look.count > slop ? look.count - slop : 0;
    e->most = look.count + slop;
    return look;
}

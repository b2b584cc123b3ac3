#include "counters/placement.h"

enum { NOBODY = -1 };

struct placing {
    const struct placement_wish *wishes;
    size_t n;
    uint32_t free; /* the counters that wishes can have */
};

/* Who has which counter in one pass, while it is made: one-to-one at any time. */
struct matching {
    long owner[PLACEMENT_COUNTERS];
};

static void matching_clear(struct matching *m)
{
    for (size_t i = 0; i < PLACEMENT_COUNTERS; i++)
        m->owner[i] = NOBODY;
}

static bool can_have(const struct placing *p, size_t wish, size_t counter)
{
    return (p->wishes[wish].counters & p->free & UINT32_C(1) << counter) != 0;
}

/* Kuhn's augmenting path: whoever has a counter that this wish could use looks for another first. What is
 * free is taken before, the lowest first, so that nobody is moved without need. */
static bool find_counter(const struct placing *p, struct matching *m, size_t wish, uint32_t *tried)
{
    for (size_t i = 0; i < PLACEMENT_COUNTERS; i++)
        if (m->owner[i] == NOBODY && can_have(p, wish, i)) {
            m->owner[i] = (long)wish;
            return true;
        }
    for (size_t i = 0; i < PLACEMENT_COUNTERS; i++) {
        uint32_t bit = UINT32_C(1) << i;
        if (!can_have(p, wish, i) || (*tried & bit) != 0)
            continue;
        *tried |= bit;
        if (find_counter(p, m, (size_t)m->owner[i], tried)) {
            m->owner[i] = (long)wish;
            return true;
        }
    }
    return false;
}

static bool belongs(const struct placing *p, size_t wish, size_t first)
{
    unsigned group = p->wishes[first].group;
    return wish == first || (group != 0 && p->wishes[wish].group == group);
}

static bool is_first(const struct placing *p, size_t wish)
{
    for (size_t i = 0; i < wish; i++)
        if (belongs(p, wish, i))
            return false;
    return true;
}

/* Adds a wish with all of its group, or nothing. */
static bool add_group(const struct placing *p, struct matching *m, size_t first)
{
    struct matching tried = *m;
    for (size_t i = first; i < p->n; i++) {
        uint32_t seen = 0;
        if (belongs(p, i, first) && !find_counter(p, &tried, i, &seen))
            return false;
    }
    *m = tried;
    return true;
}

static void read_pass(const struct matching *m, struct placement_pass *pass)
{
    pass->n = 0;
    for (size_t i = 0; i < PLACEMENT_COUNTERS; i++) {
        if (m->owner[i] == NOBODY)
            continue;
        size_t wish = (size_t)m->owner[i], at = pass->n++;
        for (; at > 0 && pass->wish[at - 1] > wish; at--) {
            pass->wish[at] = pass->wish[at - 1];
            pass->counter[at] = pass->counter[at - 1];
        }
        pass->wish[at] = wish;
        pass->counter[at] = (uint8_t)i;
    }
}

static void write_pass(const struct placement_pass *pass, struct matching *m)
{
    matching_clear(m);
    for (size_t i = 0; i < pass->n; i++)
        m->owner[pass->counter[i]] = (long)pass->wish[i];
}

static bool explain(const struct placing *p, size_t first, struct error *error)
{
    unsigned counters = (unsigned)__builtin_popcount(p->free), members = 0;
    bool hopeless = false;
    for (size_t i = first; i < p->n; i++)
        if (belongs(p, i, first)) {
            members++;
            hopeless = hopeless || (p->wishes[i].counters & p->free) == 0;
        }
    if (hopeless)
        return error_set(error, ERROR_USAGE, "none of the %u counters can count %s", counters,
                         members == 1 ? "this event" : "one event of this group");
    if (members > counters)
        return error_set(error, ERROR_USAGE, "a group of %u events needs %u counters, and there are %u",
                         members, members, counters);
    return error_set(
        error, ERROR_USAGE,
        "a group of %u events needs %u counters; there are %u, but some of these events can only be "
        "counted by the same one",
        members, members, counters);
}

/* The first pass that takes the group, a new one at the end. */
static bool place(const struct placing *p, size_t first, struct placement_pass *out, size_t room,
                  size_t *passes, struct error *error)
{
    struct matching m;
    for (size_t k = 0; k < *passes; k++) {
        write_pass(&out[k], &m);
        if (add_group(p, &m, first)) {
            read_pass(&m, &out[k]);
            return true;
        }
    }
    matching_clear(&m);
    if (!add_group(p, &m, first))
        return explain(p, first, error);
    if (*passes == room)
        return error_set(error, ERROR_USAGE, "these events take more than %zu passes", room);
    read_pass(&m, &out[(*passes)++]);
    return true;
}

bool placement_make(const struct placement_wish *wishes, size_t n, uint32_t usable, uint32_t reserved,
                    struct placement_pass *out, size_t room, size_t *passes, size_t *which,
                    struct error *error)
{
    struct placing p = {.wishes = wishes, .n = n, .free = usable & ~reserved};
    *passes = 0;
    for (size_t i = 0; i < n; i++)
        if (is_first(&p, i) && !place(&p, i, out, room, passes, error)) {
            *which = i;
            return false;
        }
    return true;
}

#include "target/points.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void points_init(struct points *points, struct ledger *ledger, struct core *core)
{
    *points = (struct points){.ledger = ledger, .core = core};
}

static struct address instruction_at(const struct points *points, uint64_t address)
{
    struct address at = core_word(points->core, address);
    (void)points->core->ops->breakpoint_instruction(points->core, &at.size);
    return at;
}

static const struct soft_point *find_soft(const struct points *points, uint64_t address)
{
    for (size_t i = 0; i < points->n_soft; i++)
        if (points->soft[i].address == address)
            return &points->soft[i];
    return NULL;
}

static bool read_comparator(const struct points *points, unsigned n, uint64_t *words,
                            const struct deadline *deadline, struct error *error)
{
    const struct core_ops *ops = points->core->ops;
    for (unsigned i = 0; i < ops->comparator_words; i++)
        if (!ledger_read(points->ledger, ops->comparator(points->core, n, i), &words[i], deadline, error))
            return false;
    return true;
}

static bool hold_comparator(struct points *points, const struct deadline *deadline, struct error *error)
{
    const struct core_ops *ops = points->core->ops;
    for (unsigned i = 0; i < ops->comparator_words; i++)
        if (!ledger_hold(points->ledger, ops->comparator(points->core, points->comparator, i),
                         (struct restore){0}, NULL, deadline, error))
            return false;
    return true;
}

static unsigned last_of(uint32_t set)
{
    unsigned n = 0;
    while (set > 1) {
        set >>= 1;
        n++;
    }
    return n;
}

/* The last free ones: other debuggers start with the first. */
static void choose_comparators(struct points *points, uint32_t free)
{
    struct core *core = points->core;
    uint32_t narrow = (UINT32_C(1) << (core->comparators - core->whole_comparators)) - 1, rest = free;
    core->spares.state = SPARES_NONE;
    points->comparator = last_of(free);
    if (core->whole_comparators == 0 || (free & ~narrow) == 0)
        return;
    unsigned first = last_of(free);
    rest &= ~(UINT32_C(1) << first);
    unsigned second = last_of(rest);
    rest &= ~(UINT32_C(1) << second);
    if (rest == 0)
        return;
    core->spares = (struct core_spares){.state = SPARES_UNTRIED, .first = first, .second = second};
    points->comparator = last_of(rest);
}

/* Takes a free comparator, and finds out which others are free. */
static bool take_comparator(struct points *points, const struct deadline *deadline, struct error *error)
{
    struct core *core = points->core;
    struct setting on = core->ops->comparators_on(core);
    uint64_t now;
    if (points->comparator_held)
        return true;
    if (!ledger_read(points->ledger, on.at, &now, deadline, error))
        return false;
    bool all_off = (now & on.test) != on.set;
    char taken[128] = "";
    size_t used = 0;
    uint32_t free = 0;
    bool sole = true;
    for (unsigned i = core->comparators; i-- > 0;) {
        uint64_t words[COMPARATOR_WORDS], address;
        if (!read_comparator(points, i, words, deadline, error))
            return false;
        if (core->ops->comparator_used(core, words, &address)) {
            /* Left over in a unit that is off as a whole: must not wake up with it. */
            if (all_off && !ledger_write(points->ledger, core->ops->comparator(core, i, 0), 0,
                                         (struct restore){0}, deadline, error))
                return false;
            if (!all_off) {
                sole = false;
                int more = snprintf(taken + used, sizeof taken - used, " 0x%08" PRIX64, address);
                used += more > 0 && (size_t)more < sizeof taken - used ? (size_t)more : 0;
                continue;
            }
        }
        free |= UINT32_C(1) << i;
    }
    if (core->unstoppable != NULL)
        return error_set(error, ERROR_NO_CORE, "the core cannot be halted: %s", core->unstoppable);
    if (core->comparators == 0)
        return error_set(error, ERROR_NO_COMPARATOR, "the core has no breakpoint comparators to be used");
    if (free == 0)
        return error_set(error, ERROR_NO_COMPARATOR, "all %u breakpoint comparators are taken, by%s",
                         core->comparators, taken);
    core->sole_breakpoint = sole;
    choose_comparators(points, free);
    points->comparator_held =
        hold_comparator(points, deadline, error) && ledger_apply(points->ledger, &on, deadline, error);
    return points->comparator_held;
}

static bool hold_spare(struct points *points, unsigned n, const struct deadline *deadline,
                       struct error *error)
{
    const struct core_ops *ops = points->core->ops;
    return ledger_hold(points->ledger, ops->comparator(points->core, n, 1), (struct restore){0}, NULL,
                       deadline, error) &&
           ledger_write(points->ledger, ops->comparator(points->core, n, 0),
                        ops->holding_word(points->core, n), (struct restore){0}, deadline, error);
}

bool points_hold_spares(struct points *points, const struct deadline *deadline, struct error *error)
{
    const struct core_spares *spares = &points->core->spares;
    return hold_spare(points, spares->first, deadline, error) &&
           hold_spare(points, spares->second, deadline, error);
}

static bool prepare_soft(struct points *points, uint64_t address, const struct deadline *deadline,
                         struct error *error)
{
    if (find_soft(points, address) != NULL)
        return true;
    if (points->n_soft == POINTS_SOFT) { /* returns to many places: forget the one not used for longest */
        size_t oldest = 0;
        for (size_t i = 1; i < points->n_soft; i++)
            if (points->soft[i].used < points->soft[oldest].used)
                oldest = i;
        if (!ledger_release(points->ledger, instruction_at(points, points->soft[oldest].address), deadline,
                            error))
            return false;
        points->soft[oldest] = points->soft[--points->n_soft];
    }
    uint64_t original;
    if (!ledger_hold(points->ledger, instruction_at(points, address), (struct restore){0}, &original,
                     deadline, error))
        return error_prefix(error, "no breakpoint at 0x%08" PRIX64 ": ", address);
    points->soft[points->n_soft++] = (struct soft_point){.address = address, .original = original};
    return true;
}

bool points_prepare(struct points *points, uint64_t address, const struct deadline *deadline,
                    struct error *error)
{
    if (points->core->ops->can_compare(points->core, address))
        return take_comparator(points, deadline, error);
    if (!prepare_soft(points, address, deadline, error))
        return false;
    for (size_t i = 0; i < points->n_soft; i++)
        if (points->soft[i].address == address)
            points->soft[i].used = ++points->age;
    return true;
}

static void write_instruction(const struct points *points, struct steps *list, uint64_t address,
                              uint64_t code)
{
    steps_add(list, step_write(instruction_at(points, address), code));
    points->core->ops->add_code_changed(points->core, list, address);
}

void points_add_move(const struct points *points, struct steps *list, uint64_t from, uint64_t to)
{
    const struct core *core = points->core;
    const struct soft_point *soft_from = find_soft(points, from), *soft_to = find_soft(points, to);
    uint8_t size;
    if (from == to)
        return;
    if (soft_from != NULL)
        write_instruction(points, list, from, soft_from->original);
    uint64_t left = soft_from != NULL ? POINT_NONE : from, entered = soft_to != NULL ? POINT_NONE : to;
    if (left != POINT_NONE || entered != POINT_NONE)
        core->ops->add_comparator(core, list, points->comparator, left, entered);
    if (soft_to != NULL)
        write_instruction(points, list, to, core->ops->breakpoint_instruction(core, &size));
}

void points_add_proof(const struct points *points, struct steps *list, uint64_t address)
{
    uint8_t size;
    if (find_soft(points, address) != NULL)
        steps_add(list, step_expect(instruction_at(points, address), 0xFFFF,
                                    points->core->ops->breakpoint_instruction(points->core, &size)));
}

static bool remove_soft(struct points *points, const struct deadline *deadline, struct error *error)
{
    struct step items[4];
    uint64_t results[4];
    struct steps list = {.items = items, .room = 4};
    uint64_t address = points->soft[points->n_soft - 1].address;
    points->core->ops->add_code_changed(points->core, &list, address);
    if (!ledger_release(points->ledger, instruction_at(points, address), deadline, error))
        return false;
    points->n_soft--;
    return list.n == 0 || ledger_execute(points->ledger, items, list.n, results, deadline, error).why == DONE;
}

bool points_remove(struct points *points, const struct deadline *deadline, struct error *error)
{
    while (points->n_soft > 0)
        if (!remove_soft(points, deadline, error))
            return false;
    if (points->comparator_held) {
        /* Off now; its old value comes back with the rest of the ledger, after the unit as a whole. */
        struct address at = points->core->ops->comparator(points->core, points->comparator, 0);
        if (!ledger_write(points->ledger, at, 0, (struct restore){0}, deadline, error))
            return false;
    }
    points->comparator_held = false;
    return true;
}

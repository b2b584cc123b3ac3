#include "engine/breakpoints.h"

#include "cores/core.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void breakpoints_init(struct breakpoints *breakpoints, struct ledger *ledger, struct core *core)
{
    *breakpoints = (struct breakpoints){.ledger = ledger, .core = core};
}

void breakpoints_set_context(struct breakpoints *breakpoints, uint32_t context)
{
    breakpoints->by_context = true;
    breakpoints->context = context;
}

void breakpoints_want_extra(struct breakpoints *breakpoints, unsigned n)
{
    breakpoints->n_wanted = n < POINTS_EXTRA ? n : POINTS_EXTRA;
}

static struct address instruction_at(const struct breakpoints *breakpoints, uint64_t address)
{
    struct address at = core_word(breakpoints->core, address);
    (void)breakpoints->core->ops->breakpoint_instruction(breakpoints->core, &at.size);
    return at;
}

static const struct bkpt_patch *find_soft(const struct breakpoints *breakpoints, uint64_t address)
{
    for (size_t i = 0; i < breakpoints->n_soft; i++)
        if (breakpoints->soft[i].address == address)
            return &breakpoints->soft[i];
    return NULL;
}

static bool write_comparator(struct breakpoints *breakpoints, unsigned n, unsigned word, uint64_t value,
                             const struct deadline *deadline, struct error *error)
{
    return ledger_write(breakpoints->ledger, breakpoints->core->ops->comparator(breakpoints->core, n, word),
                        value, (struct restore){0}, deadline, error);
}

/* Matches nothing by itself: what is linked to it does, while the context is that. Only when it is known to
 * be one of contexts it holds the lowest bits of one. */
static bool set_context(struct breakpoints *breakpoints, const struct deadline *deadline, struct error *error)
{
    struct core *core = breakpoints->core;
    const struct core_ops *ops = core->ops;
    unsigned n = breakpoints->context_comparator;
    core->linked = breakpoints->by_context;
    core->linked_to = n;
    if (!breakpoints->by_context)
        return true;
    if (!comparators_hold(breakpoints->ledger, core, n, deadline, error))
        return false;
    if (!write_comparator(breakpoints, n, 0, ops->context_control, deadline, error))
        return false;
    for (unsigned i = 1; i < ops->comparator_words; i++)
        if (!write_comparator(breakpoints, n, i, i == 1 ? breakpoints->context : 0, deadline, error))
            return false;
    return write_comparator(breakpoints, n, 0, ops->context_control | ops->context_on, deadline, error);
}

static bool take_comparators(struct breakpoints *breakpoints, const struct deadline *deadline,
                             struct error *error)
{
    struct core *core = breakpoints->core;
    struct setting on = core->ops->comparators_on(core);
    struct comparators found;
    struct comparator_choice choice;
    if (breakpoints->comparator_held)
        return true;
    if (!comparators_find(breakpoints->ledger, core, &found, deadline, error))
        return false;
    if (core->unstoppable != NULL)
        return error_set(error, ERROR_NO_CORE, "the core cannot be halted: %s", core->unstoppable);
    if (core->comparators == 0)
        return error_set(error, ERROR_NO_COMPARATOR, "the core has no breakpoint comparators to be used");
    if (!comparators_choose(core, &found, breakpoints->by_context, &choice, error))
        return false;
    for (breakpoints->n_extra = 0; breakpoints->n_extra < breakpoints->n_wanted && choice.rest != 0;
         breakpoints->n_extra++) {
        breakpoints->extra[breakpoints->n_extra] = comparators_take_last(&choice.rest);
        if (!comparators_hold(breakpoints->ledger, core, breakpoints->extra[breakpoints->n_extra], deadline,
                              error))
            return false;
    }
    core->sole_breakpoint = found.sole && breakpoints->n_extra == 0;
    breakpoints->comparator = choice.stop;
    breakpoints->context_comparator = choice.context;
    breakpoints->comparator_held =
        set_context(breakpoints, deadline, error) &&
        comparators_hold(breakpoints->ledger, core, choice.stop, deadline, error) &&
        ledger_apply(breakpoints->ledger, &on, deadline, error);
    return breakpoints->comparator_held;
}

static bool prepare_soft(struct breakpoints *breakpoints, uint64_t address, const struct deadline *deadline,
                         struct error *error)
{
    if (find_soft(breakpoints, address) != NULL)
        return true;
    if (breakpoints->n_soft ==
        POINTS_SOFT) { /* returns to many places: forget the one not used for longest */
        size_t oldest = 0;
        for (size_t i = 1; i < breakpoints->n_soft; i++)
            if (breakpoints->soft[i].used < breakpoints->soft[oldest].used)
                oldest = i;
        if (!ledger_release(breakpoints->ledger,
                            instruction_at(breakpoints, breakpoints->soft[oldest].address), deadline, error))
            return false;
        breakpoints->soft[oldest] = breakpoints->soft[--breakpoints->n_soft];
    }
    uint64_t original;
    if (breakpoints->neighbours != NULL &&
        !neighbours_guard(breakpoints->neighbours, address, deadline, error))
        return false;
    if (!ledger_hold(breakpoints->ledger, instruction_at(breakpoints, address), (struct restore){0},
                     &original, deadline, error))
        return error_prefix(error, "no breakpoint at 0x%08" PRIX64 ": ", address);
    breakpoints->soft[breakpoints->n_soft++] = (struct bkpt_patch){.address = address, .original = original};
    return true;
}

bool breakpoints_prepare(struct breakpoints *breakpoints, uint64_t address, const struct deadline *deadline,
                         struct error *error)
{
    if (breakpoints->core->ops->can_compare(breakpoints->core, address))
        return take_comparators(breakpoints, deadline, error);
    if (!prepare_soft(breakpoints, address, deadline, error))
        return false;
    for (size_t i = 0; i < breakpoints->n_soft; i++)
        if (breakpoints->soft[i].address == address)
            breakpoints->soft[i].used = ++breakpoints->age;
    return true;
}

static void write_instruction(const struct breakpoints *breakpoints, struct steps *list, uint64_t address,
                              uint64_t code)
{
    steps_add(list, step_write(instruction_at(breakpoints, address), code));
    breakpoints->core->ops->add_code_changed(breakpoints->core, list, address);
}

bool breakpoints_can_have_extra(const struct breakpoints *breakpoints, unsigned n, uint64_t address)
{
    return breakpoints->core->ops->can_compare(breakpoints->core, address)
               ? n < breakpoints->n_extra
               : find_soft(breakpoints, address) != NULL;
}

static void add_move(const struct breakpoints *breakpoints, struct steps *list, unsigned comparator,
                     uint64_t from, uint64_t to)
{
    const struct core *core = breakpoints->core;
    const struct bkpt_patch *soft_from = find_soft(breakpoints, from), *soft_to = find_soft(breakpoints, to);
    uint8_t size;
    if (from == to)
        return;
    if (soft_from != NULL)
        write_instruction(breakpoints, list, from, soft_from->original);
    uint64_t left = soft_from != NULL ? POINT_NONE : from, entered = soft_to != NULL ? POINT_NONE : to;
    if (left != POINT_NONE || entered != POINT_NONE)
        core->ops->add_comparator(core, list, comparator, left, entered);
    if (soft_to != NULL)
        write_instruction(breakpoints, list, to, core->ops->breakpoint_instruction(core, &size));
}

void breakpoints_add_move(const struct breakpoints *breakpoints, struct steps *list, uint64_t from,
                          uint64_t to)
{
    add_move(breakpoints, list, breakpoints->comparator, from, to);
}

void breakpoints_add_extra(const struct breakpoints *breakpoints, struct steps *list, unsigned n,
                           uint64_t from, uint64_t to)
{
    add_move(breakpoints, list, breakpoints->extra[n], from, to);
}

void breakpoints_add_proof(const struct breakpoints *breakpoints, struct steps *list, uint64_t address)
{
    uint8_t size;
    if (find_soft(breakpoints, address) != NULL)
        steps_add(list,
                  step_expect(instruction_at(breakpoints, address), 0xFFFF,
                              breakpoints->core->ops->breakpoint_instruction(breakpoints->core, &size)));
}

static bool is_off(const struct breakpoints *breakpoints, unsigned n, const struct deadline *deadline)
{
    const struct core *core = breakpoints->core;
    uint64_t words[COMPARATOR_WORDS] = {0}, ignored;
    struct error unread = {0};
    return ledger_read(breakpoints->ledger, core->ops->comparator(core, n, 0), &words[0], deadline,
                       &unread) &&
           !core->ops->comparator_used(core, words, &ignored);
}

bool breakpoints_check(const struct breakpoints *breakpoints, const struct deadline *deadline,
                       struct error *error)
{
    struct setting on = breakpoints->core->ops->comparators_on(breakpoints->core);
    struct error unread = {0};
    uint64_t now;
    if (!breakpoints->comparator_held)
        return true;
    if (is_off(breakpoints, breakpoints->comparator, deadline))
        return error_set(error, ERROR_CLEARED,
                         "something else cleared our breakpoint (comparator %u of the core)",
                         breakpoints->comparator);
    if (breakpoints->by_context && is_off(breakpoints, breakpoints->context_comparator, deadline))
        return error_set(error, ERROR_CLEARED,
                         "something else cleared the comparator of CONTEXTIDR (%u) that our breakpoint needs",
                         breakpoints->context_comparator);
    if (ledger_read(breakpoints->ledger, on.at, &now, deadline, &unread) && (now & on.test) != on.set)
        return error_set(error, ERROR_CLEARED,
                         "something else switched off the core's halting debug, and our breakpoint with it");
    return true;
}

static bool remove_soft(struct breakpoints *breakpoints, const struct deadline *deadline, struct error *error)
{
    struct step items[4];
    uint64_t results[4];
    struct steps list = {.items = items, .room = 4};
    uint64_t address = breakpoints->soft[breakpoints->n_soft - 1].address;
    breakpoints->core->ops->add_code_changed(breakpoints->core, &list, address);
    if (!ledger_release(breakpoints->ledger, instruction_at(breakpoints, address), deadline, error))
        return false;
    if (list.n > 0 &&
        ledger_execute(breakpoints->ledger, items, list.n, results, deadline, error).why != DONE)
        return error_set(error, ERROR_FAULT,
                         "the core may still have a breakpoint at 0x%08" PRIX64 " in a cache", address);
    breakpoints->n_soft--;
    return true;
}

bool breakpoints_remove(struct breakpoints *breakpoints, const struct deadline *deadline, struct error *error)
{
    while (breakpoints->n_soft > 0)
        if (!remove_soft(breakpoints, deadline, error))
            return false;
    for (unsigned i = 0; breakpoints->comparator_held && i < breakpoints->n_extra; i++)
        if (!write_comparator(breakpoints, breakpoints->extra[i], 0, 0, deadline, error))
            return false;
    if (breakpoints->comparator_held) {
        /* Off now; its old value comes back with the rest of the ledger, after the unit as a whole. */
        if (!write_comparator(breakpoints, breakpoints->comparator, 0, 0, deadline, error) ||
            (breakpoints->by_context &&
             !write_comparator(breakpoints, breakpoints->context_comparator, 0, 0, deadline, error)))
            return false;
    }
    breakpoints->comparator_held = false;
    return true;
}

/* --- which are free ------------------------------------------------------------------------------------- */

static uint32_t bit(unsigned n)
{
    return UINT32_C(1) << n;
}

/* The last `n` of them, as bits. */
static uint32_t last_ones(const struct core *core, unsigned n)
{
    uint32_t all = bit(core->comparators) - 1;
    return n >= core->comparators ? all : all & ~(bit(core->comparators - n) - 1);
}

static void add_taken(char *text, size_t size, uint64_t address)
{
    size_t used = strlen(text);
    snprintf(text + used, size - used, " 0x%08" PRIX64, address);
}

static bool look_at(struct ledger *ledger, const struct core *core, unsigned n, bool *used, uint64_t *address,
                    const struct deadline *deadline, struct error *error)
{
    uint64_t words[COMPARATOR_WORDS];
    for (unsigned i = 0; i < core->ops->comparator_words; i++)
        if (!ledger_read(ledger, core->ops->comparator(core, n, i), &words[i], deadline, error))
            return false;
    *used = core->ops->comparator_used(core, words, address);
    return true;
}

bool comparators_hold(struct ledger *ledger, const struct core *core, unsigned n,
                      const struct deadline *deadline, struct error *error)
{
    for (unsigned i = core->ops->comparator_words; i-- > 0;)
        if (!ledger_hold(ledger, core->ops->comparator(core, n, i), (struct restore){0}, NULL, deadline,
                         error))
            return false;
    return true;
}

bool comparators_find(struct ledger *ledger, const struct core *core, struct comparators *out,
                      const struct deadline *deadline, struct error *error)
{
    struct setting on = core->ops->comparators_on(core);
    uint64_t now;
    *out = (struct comparators){.sole = true};
    if (!ledger_read(ledger, on.at, &now, deadline, error))
        return false;
    bool all_off = (now & on.test) != on.set;
    for (unsigned n = core->comparators; n-- > 0;) {
        bool used;
        uint64_t address;
        if (!look_at(ledger, core, n, &used, &address, deadline, error))
            return false;
        if (used && all_off &&
            !(comparators_hold(ledger, core, n, deadline, error) &&
              ledger_write(ledger, core->ops->comparator(core, n, 0), 0, (struct restore){0}, deadline,
                           error)))
            return false;
        if (!used || all_off) {
            out->free |= bit(n);
            continue;
        }
        out->sole = false;
        add_taken(out->taken, sizeof out->taken, address);
        if ((last_ones(core, core->context_comparators) & bit(n)) != 0)
            add_taken(out->taken_context, sizeof out->taken_context, address);
    }
    return true;
}

/* --- which to take -------------------------------------------------------------------------------------- */

unsigned comparators_take_last(uint32_t *set)
{
    unsigned n = 0;
    while (*set >> n > 1)
        n++;
    *set &= ~bit(n);
    return n;
}

bool comparators_choose(const struct core *core, const struct comparators *found, bool by_context,
                        struct comparator_choice *out, struct error *error)
{
    uint32_t free = found->free;
    *out = (struct comparator_choice){0};
    if (free == 0 && !by_context)
        return error_set(error, ERROR_NO_COMPARATOR, "all %u breakpoint comparators are taken, by%s",
                         core->comparators, found->taken);
    if (by_context) {
        uint32_t others = free & ~last_ones(core, core->context_comparators);
        uint32_t able = free & ~others;
        if (able == 0)
            return error_set(error, ERROR_NO_COMPARATOR,
                             "all %u breakpoint comparators that can compare contexts are taken, by%s",
                             core->context_comparators, found->taken_context);
        out->context = comparators_take_last(&able);
        free = others | able;
        if (free == 0)
            return error_set(error, ERROR_NO_COMPARATOR,
                             "--context takes two breakpoint comparators, and all others are taken, by%s",
                             found->taken);
    }
    out->stop = comparators_take_last(&free);
    out->rest = free;
    return true;
}

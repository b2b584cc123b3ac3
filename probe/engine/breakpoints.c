#include "engine/breakpoints.h"

#include "cores/core.h"
#include "engine/process.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void points_init(struct points *points, struct ledger *ledger, struct core *core)
{
    *points = (struct points){.ledger = ledger, .core = core};
}

void points_set_context(struct points *points, uint32_t context)
{
    points->by_context = true;
    points->context = context;
}

void points_want_extra(struct points *points, unsigned n)
{
    points->n_wanted = n < POINTS_EXTRA ? n : POINTS_EXTRA;
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

static bool write_comparator(struct points *points, unsigned n, unsigned word, uint64_t value,
                             const struct deadline *deadline, struct error *error)
{
    return ledger_write(points->ledger, points->core->ops->comparator(points->core, n, word), value,
                        (struct restore){0}, deadline, error);
}

/* Matches nothing by itself: what is linked to it does, while the context is that. Only when it is known to
 * be one of contexts it holds the lowest bits of one. */
static bool set_context(struct points *points, const struct deadline *deadline, struct error *error)
{
    struct core *core = points->core;
    const struct core_ops *ops = core->ops;
    unsigned n = points->context_comparator;
    core->linked = points->by_context;
    core->linked_to = n;
    if (!points->by_context)
        return true;
    if (!comparators_hold(points->ledger, core, n, deadline, error))
        return false;
    if (!write_comparator(points, n, 0, ops->context_control, deadline, error))
        return false;
    for (unsigned i = 1; i < ops->comparator_words; i++)
        if (!write_comparator(points, n, i, i == 1 ? points->context : 0, deadline, error))
            return false;
    return write_comparator(points, n, 0, ops->context_control | ops->context_on, deadline, error);
}

static bool take_comparators(struct points *points, const struct deadline *deadline, struct error *error)
{
    struct core *core = points->core;
    struct setting on = core->ops->comparators_on(core);
    struct comparators found;
    struct comparator_choice choice;
    if (points->comparator_held)
        return true;
    if (!comparators_find(points->ledger, core, &found, deadline, error))
        return false;
    if (core->unstoppable != NULL)
        return error_set(error, ERROR_NO_CORE, "the core cannot be halted: %s", core->unstoppable);
    if (core->comparators == 0)
        return error_set(error, ERROR_NO_COMPARATOR, "the core has no breakpoint comparators to be used");
    if (!comparators_choose(core, &found, points->by_context, &choice, error))
        return false;
    for (points->n_extra = 0; points->n_extra < points->n_wanted && choice.rest != 0; points->n_extra++) {
        points->extra[points->n_extra] = comparators_take_last(&choice.rest);
        if (!comparators_hold(points->ledger, core, points->extra[points->n_extra], deadline, error))
            return false;
    }
    core->sole_breakpoint = found.sole && points->n_extra == 0;
    core->spares = choice.spares;
    points->comparator = choice.stop;
    points->context_comparator = choice.context;
    points->comparator_held = set_context(points, deadline, error) &&
                              comparators_hold(points->ledger, core, choice.stop, deadline, error) &&
                              ledger_apply(points->ledger, &on, deadline, error);
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
    if (points->neighbours != NULL && !neighbours_guard(points->neighbours, address, deadline, error))
        return false;
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
        return take_comparators(points, deadline, error);
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

bool points_can_have_extra(const struct points *points, unsigned n, uint64_t address)
{
    return points->core->ops->can_compare(points->core, address) ? n < points->n_extra
                                                                 : find_soft(points, address) != NULL;
}

static void add_move(const struct points *points, struct steps *list, unsigned comparator, uint64_t from,
                     uint64_t to)
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
        core->ops->add_comparator(core, list, comparator, left, entered);
    if (soft_to != NULL)
        write_instruction(points, list, to, core->ops->breakpoint_instruction(core, &size));
}

void points_add_move(const struct points *points, struct steps *list, uint64_t from, uint64_t to)
{
    add_move(points, list, points->comparator, from, to);
}

void points_add_extra(const struct points *points, struct steps *list, unsigned n, uint64_t from, uint64_t to)
{
    add_move(points, list, points->extra[n], from, to);
}

void points_add_proof(const struct points *points, struct steps *list, uint64_t address)
{
    uint8_t size;
    if (find_soft(points, address) != NULL)
        steps_add(list, step_expect(instruction_at(points, address), 0xFFFF,
                                    points->core->ops->breakpoint_instruction(points->core, &size)));
}

static bool is_off(const struct points *points, unsigned n, const struct deadline *deadline)
{
    const struct core *core = points->core;
    uint64_t words[COMPARATOR_WORDS] = {0}, ignored;
    struct error unread = {0};
    return ledger_read(points->ledger, core->ops->comparator(core, n, 0), &words[0], deadline, &unread) &&
           !core->ops->comparator_used(core, words, &ignored);
}

bool points_check(const struct points *points, const struct deadline *deadline, struct error *error)
{
    struct setting on = points->core->ops->comparators_on(points->core);
    struct error unread = {0};
    uint64_t now;
    if (!points->comparator_held)
        return true;
    if (is_off(points, points->comparator, deadline))
        return error_set(error, ERROR_CLEARED,
                         "something else cleared our breakpoint (comparator %u of the core)",
                         points->comparator);
    if (points->by_context && is_off(points, points->context_comparator, deadline))
        return error_set(error, ERROR_CLEARED,
                         "something else cleared the comparator of CONTEXTIDR (%u) that our breakpoint needs",
                         points->context_comparator);
    if (ledger_read(points->ledger, on.at, &now, deadline, &unread) && (now & on.test) != on.set)
        return error_set(error, ERROR_CLEARED,
                         "something else switched off the core's halting debug, and our breakpoint with it");
    return true;
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
    if (list.n > 0 && ledger_execute(points->ledger, items, list.n, results, deadline, error).why != DONE)
        return error_set(error, ERROR_FAULT,
                         "the core may still have a breakpoint at 0x%08" PRIX64 " in a cache", address);
    points->n_soft--;
    return true;
}

bool points_remove(struct points *points, const struct deadline *deadline, struct error *error)
{
    while (points->n_soft > 0)
        if (!remove_soft(points, deadline, error))
            return false;
    for (unsigned i = 0; points->comparator_held && i < points->n_extra; i++)
        if (!write_comparator(points, points->extra[i], 0, 0, deadline, error))
            return false;
    if (points->comparator_held) {
        /* Off now; its old value comes back with the rest of the ledger, after the unit as a whole. */
        if (!write_comparator(points, points->comparator, 0, 0, deadline, error) ||
            (points->by_context &&
             !write_comparator(points, points->context_comparator, 0, 0, deadline, error)))
            return false;
    }
    points->comparator_held = false;
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

/* Only while one is left to stop with; the first of the two must hold a whole word. */
static void choose_spares(const struct core *core, uint32_t *free, struct core_spares *out)
{
    uint32_t rest = *free;
    *out = (struct core_spares){.state = SPARES_NONE};
    if ((rest & last_ones(core, core->whole_comparators)) == 0)
        return;
    unsigned first = comparators_take_last(&rest);
    if (rest == 0)
        return;
    unsigned second = comparators_take_last(&rest);
    if (rest == 0)
        return;
    *out = (struct core_spares){.state = SPARES_UNTRIED, .first = first, .second = second};
    *free = rest;
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
    choose_spares(core, &free, &out->spares);
    out->stop = comparators_take_last(&free);
    out->rest = free;
    return true;
}

void process_note(const struct process *process, char *note, size_t size)
{
    size_t used = strlen(note);
    const char *comma = used > 0 ? "; " : "";
    if (process->which == PROCESS_ID)
        snprintf(note + used, size - used, "%sonly where CONTEXTIDR is 0x%" PRIX32, comma, process->id);
    else if (process->which == PROCESS_ANY)
        snprintf(note + used, size - used, "%sin any process", comma);
}

bool process_check(const struct process *process, const struct core *core, struct error *error)
{
    if (process->which == PROCESS_NOT_SAID || core->processes)
        return true;
    if (core->family == CORE_M)
        return error_set(error, ERROR_USAGE, "--context: a Cortex-M has no CONTEXTIDR");
    return error_set(error, ERROR_USAGE,
                     "--context: %s has no MMU, so that an address is the same code at any time", core->name);
}

bool process_check_debugged(const struct process *process, struct error *error)
{
    return process->which == PROCESS_NOT_SAID ||
           error_set(
               error, ERROR_USAGE,
               "--context: a debugger halts the core here, and its breakpoints know nothing of contexts");
}

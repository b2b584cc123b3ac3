#include "target/comparators.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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

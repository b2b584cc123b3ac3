#include "cores/armv7_spares.h"

#include "cores/armv7_transfer.h"

static const uint32_t MCR_DBGBVR0 =
    0xEE000E90;                   /* MCR p14, 0, R0, c0, c0, 4; the comparator's number is CRm */
enum { CONTEXT_MATCH = 2 << 20 }; /* DBGBCR[22:20], C11.11.2; without E it is off */
enum { V7_FULL = 3, V71 = 5 };    /* DBGDIDR.Version where all of CP14 is there, C11.11 */
enum { CLEAR_STICKY = 1 << 2 };   /* DBGDRCR, C11.11 */

unsigned armv7_whole_comparators(uint32_t didr)
{
    unsigned version = didr >> 16 & 0xF;
    return version == V7_FULL || version == V71 ? armv7_context_comparators(didr) : 0;
}

static bool is_whole(const struct core *core, unsigned n)
{
    return n + core->whole_comparators >= core->comparators;
}

uint64_t armv7_holding_word(const struct core *core, unsigned n)
{
    return is_whole(core, n) ? CONTEXT_MATCH : 0;
}

static struct address place_of(const struct core *core, unsigned n)
{
    return armv7_word(core, DBGBVR0 + 4 * n);
}

static void add_other(const struct core *core, struct steps *list, unsigned n, uint64_t value)
{
    steps_add(list, step_write(place_of(core, n), ~value & (is_whole(core, n) ? 0xFFFFFFFF : 0xFFFFFFFC)));
}

/* The value that the list itself has seen there, or put there, last. */
static bool is_other(const struct core *core, const struct steps *list, unsigned n, uint64_t value)
{
    struct address place = place_of(core, n);
    for (size_t i = list->n; i-- > 0;)
        if (list->items[i].at.offset == place.offset)
            return list->items[i].value != value;
    return false;
}

/* DBGDSCR is only read: of an instruction that is not done then, the next one tells by not being taken. */
static void add_move(const struct core *core, struct steps *list, enum core_register which, unsigned n)
{
    armv7_add_write(core, list, DBGITR, MCR_DBGBVR0 | armv7_register_number(which) << RT_SHIFT | n);
    steps_add(list, step_read(armv7_word(core, DBGDSCR)));
}

static void add_look(const struct core *core, struct steps *list, unsigned n, uint64_t value)
{
    steps_add(list, step_expect(place_of(core, n), UINT32_MAX, value & UINT32_MAX));
}

/*
 * The first of the proofs goes last into the first comparator, which held another value before: so it has
 * been executed. Then the one before it was done when that was taken, and had raised nothing; and it had been
 * taken itself, for DBGDSCR had just shown that the core was ready (C8.2).
 */
void armv7_add_held_proofs(const struct core *core, struct steps *list, const struct core_proof *proofs,
                           size_t n, bool fresh)
{
    unsigned first = core->spares.first, second = core->spares.second;
    steps_add(list, step_expect(armv7_word(core, DBGDSCR), INSTRCOMPL_L, INSTRCOMPL_L));
    if (fresh || !is_other(core, list, first, proofs[0].value & UINT32_MAX))
        add_other(core, list, first, proofs[0].value);
    if (fresh) {
        add_look(core, list, first, ~proofs[0].value);
        add_other(core, list, second, proofs[n - 1].value);
    }
    armv7_set_control(core, list, HDBGEN | ITREN);
    if (n > 1)
        add_move(core, list, proofs[1].which, second);
    add_move(core, list, proofs[0].which, first);
    armv7_set_control(core, list, HDBGEN);
    add_look(core, list, first, proofs[0].value);
    if (n > 1)
        add_look(core, list, second, proofs[1].value);
}

void armv7_add_ready(const struct core *core, struct steps *list)
{
    armv7_add_write(core, list, DBGDRCR, CLEAR_STICKY);
    steps_add(list, step_until(armv7_word(core, DBGDSCR), INSTRCOMPL_L, INSTRCOMPL_L));
}

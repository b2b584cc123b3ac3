/*
 * Breakpoints: which comparators are taken for what, what becomes of those of other debuggers, and breakpoint
 * instructions in RAM.
 */
#include "../model_link.h"
#include "../test.h"

#include "cores/architectures.h"
#include "engine/breakpoints.h"

enum { CODE = 0x1000, OTHER = 0x1102, RAM = 0x20000400 };

static struct fixture {
    struct model_core model, before;
    struct ledger *ledger;
    struct core core;
    struct breakpoints breakpoints;
    struct deadline deadline;
    struct error error;
} f;

/* After the model has been given its registers. */
static void begin(void)
{
    uint64_t identity[CORTEX_M_IDENTITY] = {
        [CORTEX_M_CPUID] = f.model.cpuid, [CORTEX_M_FP_CTRL] = f.model.fp_ctrl, [CORTEX_M_CCR] = 0x200};
    assert_true(cortex_m_identify(0, identity, &f.core));
    f.before = f.model;
    f.ledger = ledger_new(&f.model.link);
    breakpoints_init(&f.breakpoints, f.ledger, &f.core, NULL);
}

static void set_up(void)
{
    memset(&f, 0, sizeof f);
    model_init(&f.model, NULL, 0, 0);
    f.deadline = deadline_in_ms(60000, NULL);
}

static void tear_down(void)
{
    ledger_free(f.ledger);
}

#define FRESH_TEST(name) TEST_BETWEEN(name, set_up, tear_down)

static bool prepare(uint64_t address)
{
    return breakpoints_prepare(&f.breakpoints, address, &f.deadline, &f.error);
}

static enum why move(uint64_t from, uint64_t to)
{
    struct step items[16];
    uint64_t results[16];
    struct steps list = {.items = items, .room = 16};
    breakpoints_add_move(&f.breakpoints, &list, from, to);
    if (to != BREAKPOINT_NONE)
        breakpoints_add_proof(&f.breakpoints, &list, to);
    assert_false(list.overflow);
    return ledger_execute(f.ledger, &list, 0, results, &f.deadline, &f.error).why;
}

static bool stops_at(uint32_t address)
{
    f.model.pc = address;
    return model_breaks(&f.model);
}

static void assert_undone(void)
{
    assert_true(breakpoints_remove(&f.breakpoints, &f.deadline, &f.error));
    assert_true(ledger_undo(f.ledger, &f.deadline, &f.error));
    const char *difference = model_difference(&f.model, &f.before);
    assert_string_equal(difference == NULL ? "" : difference, "");
}

/* --- comparators ---------------------------------------------------------------------------------------- */

FRESH_TEST(the_last_free_comparator_is_taken)
{
    f.model.fp_ctrl |= 1;
    f.model.comparators[0] = 0x40002001; /* another debugger's */
    f.model.comparators[5] = 0x80002003;
    f.model.comparators[4] = 0x40002000; /* off, with a value */
    begin();
    assert_true(prepare(CODE));
    assert_int_equal(f.breakpoints.comparator, 4);
    assert_true(prepare(OTHER)); /* one is enough for all */
    assert_int_equal(ledger_held(f.ledger), 1);
    assert_int_equal(move(BREAKPOINT_NONE, CODE), DONE);
    assert_true(stops_at(CODE) && !stops_at(OTHER));
    assert_int_equal(move(CODE, OTHER), DONE);
    assert_true(stops_at(OTHER) && !stops_at(CODE));
    assert_true(stops_at(0x2000)); /* theirs still stops */
    assert_int_equal(move(OTHER, BREAKPOINT_NONE), DONE);
    assert_false(stops_at(OTHER));
    assert_undone();
}

FRESH_TEST(all_taken_names_what_takes_them)
{
    f.model.fp_ctrl |= 1;
    for (uint32_t i = 0; i < 6; i++)
        f.model.comparators[i] = (i % 2 ? 0x80000001 : 0x40000001) + 0x2000 + 0x10 * i;
    begin();
    assert_false(prepare(CODE));
    assert_int_equal(f.error.kind, ERROR_NO_COMPARATOR);
    static const char *const words[] = {"all 6 ",     "0x00002000", "0x00002012", "0x00002020",
                                        "0x00002032", "0x00002040", "0x00002052"};
    for (size_t i = 0; i < COUNT(words); i++)
        assert_has(f.error.text, words[i]);
    assert_false(f.breakpoints.comparator_held);
    assert_undone();
}

/* A unit that is off as a whole must not wake up with what was left in it. */
FRESH_TEST(leftovers_in_a_unit_that_is_off_do_not_stop)
{
    for (uint32_t i = 0; i < 6; i++)
        f.model.comparators[i] = 0x40000001 + 0x2000 + 0x10 * i;
    begin();
    assert_true(prepare(CODE));
    assert_int_equal(f.model.fp_ctrl & 1, 1);
    for (uint32_t i = 0; i < 6; i++)
        assert_false(stops_at(0x2000 + 0x10 * i));
    assert_int_equal(move(BREAKPOINT_NONE, CODE), DONE);
    assert_true(stops_at(CODE));
    assert_undone();
}

/* Whatever access fails, nothing stops in the end and all is as it was. */
FRESH_TEST(trouble_while_a_comparator_is_taken)
{
    for (long k = 0; k < 20; k++) {
        set_up();
        for (uint32_t i = 0; i < 6; i++)
            f.model.comparators[i] = 0x40000001 + 0x2000 + 0x10 * i;
        begin();
        f.model.trouble_at = k;
        f.model.trouble_for = 1;
        f.model.what = k % 2 ? TROUBLE_LOST : TROUBLE_FAULT;
        bool taken = prepare(CODE);
        assert_true(taken || f.error.kind == ERROR_LINK_LOST || f.error.kind == ERROR_FAULT);
        f.model.lost = false;
        f.model.trouble_at = -1;
        error_clear(&f.error);
        assert_undone();
        ledger_free(f.ledger);
    }
    f.ledger = NULL;
}

/* --- instructions --------------------------------------------------------------------------------------- */

FRESH_TEST(code_in_ram_gets_an_instruction)
{
    model_poke(&f.model, RAM, 0xF000B570);
    begin();
    assert_true(prepare(RAM));
    assert_int_equal(model_halfword(&f.model, RAM), 0xB570); /* not yet */
    assert_int_equal(move(BREAKPOINT_NONE, RAM), DONE);
    assert_true(stops_at(RAM));
    assert_int_equal(model_halfword(&f.model, RAM + 2), 0xF000);
    assert_int_equal(f.model.fp_ctrl & 1, 0); /* no comparator was needed */
    assert_true(prepare(CODE));
    assert_int_equal(move(RAM, CODE), DONE);
    assert_true(stops_at(CODE) && !stops_at(RAM));
    assert_int_equal(move(CODE, RAM), DONE);
    assert_true(stops_at(RAM) && !stops_at(CODE));
    assert_undone(); /* with the instruction in place */
}

FRESH_TEST(room_is_made_by_forgetting_the_oldest)
{
    begin();
    for (uint32_t i = 0; i < BREAKPOINTS_PATCHES; i++) {
        model_cell(&f.model, RAM + 4 * i)->code = (uint16_t)(0x4000 + i);
        assert_true(prepare(RAM + 4 * i));
    }
    f.before = f.model;
    assert_true(prepare(RAM)); /* used again: the second is the oldest now */
    assert_int_equal(move(BREAKPOINT_NONE, RAM + 4), DONE);
    assert_int_equal(f.breakpoints.n_patches, BREAKPOINTS_PATCHES);
    assert_true(prepare(RAM + 0x100));
    assert_int_equal(f.breakpoints.n_patches, BREAKPOINTS_PATCHES);
    assert_int_equal(model_halfword(&f.model, RAM + 4), 0x4001); /* put back when it was forgotten */
    assert_int_equal(move(BREAKPOINT_NONE, RAM), DONE);
    assert_true(stops_at(RAM));
    assert_int_equal(move(RAM, RAM + 0x100), DONE);
    assert_true(stops_at(RAM + 0x100));
    for (uint32_t i = 0; i < 40; i++) {
        assert_true(prepare(RAM + 0x200 + 2 * i));
        assert_true(f.breakpoints.n_patches <= BREAKPOINTS_PATCHES);
        assert_true(ledger_held(f.ledger) <= BREAKPOINTS_PATCHES);
    }
    assert_undone();
}

FRESH_TEST(an_address_that_cannot_be_read_is_named)
{
    begin();
    f.model.trouble_at = 0;
    f.model.trouble_for = 1;
    f.model.what = TROUBLE_FAULT;
    assert_fails(prepare(RAM), &f.error, ERROR_FAULT, "0x20000400");
    assert_int_equal(f.breakpoints.n_patches, 0);
    assert_undone();
}

FRESH_TEST(removing_can_be_tried_again)
{
    for (long k = 0; k < 8; k++) {
        set_up();
        begin();
        assert_true(prepare(CODE) && prepare(RAM) && prepare(RAM + 8));
        assert_int_equal(move(BREAKPOINT_NONE, RAM), DONE);
        assert_int_equal(move(BREAKPOINT_NONE, RAM + 8), DONE);
        assert_int_equal(move(BREAKPOINT_NONE, CODE), DONE);
        f.model.trouble_at = f.model.accesses + k;
        f.model.trouble_for = 1;
        f.model.what = TROUBLE_LOST;
        bool removed = breakpoints_remove(&f.breakpoints, &f.deadline, &f.error);
        assert_int_equal(removed, k >= 6); /* each is read, and written */
        f.model.lost = false;
        f.model.trouble_at = -1;
        assert_true(breakpoints_remove(&f.breakpoints, &f.deadline, &f.error));
        assert_false(stops_at(RAM) || stops_at(RAM + 8) || stops_at(CODE));
        assert_undone();
        ledger_free(f.ledger);
    }
    f.ledger = NULL;
}

/* --- every set of free comparators ---------------------------------------------------------------------- */

enum { N = 6, CONTEXTS = 2, SETS = 1 << N };

static const struct core core = {.comparators = N, .context_comparators = CONTEXTS};
static const uint32_t able = 3U << (N - CONTEXTS);

TEST(without_a_context)
{
    for (uint32_t free = 0; free < SETS; free++) {
        const struct comparators found = {.free = free, .taken = " 0x00000010"};
        struct comparator_choice choice;
        struct error error = {0};
        assert_int_equal(comparators_choose(&core, &found, false, &choice, &error), free != 0);
        if (free == 0) {
            assert_error(&error, ERROR_NO_COMPARATOR, "breakpoint comparators are taken, by 0x00000010");
            continue;
        }
        uint32_t taken = 1U << choice.stop;
        assert_int_equal(taken & ~free, 0);
        assert_int_equal(choice.rest, free & ~taken);
        assert_true(taken > choice.rest); /* the last one: other debuggers start with the first */
    }
}

TEST(with_a_context)
{
    for (uint32_t free = 0; free < SETS; free++) {
        const struct comparators found = {
            .free = free, .taken = " 0x00000010 0x00000020", .taken_context = " 0x00000020"};
        struct comparator_choice choice;
        struct error error = {0};
        bool ok = comparators_choose(&core, &found, true, &choice, &error);
        assert_int_equal(ok, (free & able) != 0 && __builtin_popcount(free) >= 2);
        if (!ok) {
            assert_error(&error, ERROR_NO_COMPARATOR,
                         (free & able) == 0 ? "all 2 breakpoint comparators that can compare contexts "
                                              "are taken, by 0x00000020"
                                            : "takes two breakpoint comparators: all others are "
                                              "taken, by 0x00000010 0x00000020");
            continue;
        }
        uint32_t taken = 1U << choice.stop | 1U << choice.context;
        assert_true(able >> choice.context & 1);
        assert_int_equal(__builtin_popcount(taken), 2); /* not one for both */
        assert_int_equal(taken & ~free, 0);
        assert_int_equal(choice.rest, free & ~taken);
    }
}

TEST(no_more_than_32_are_taken)
{
    const struct core many = {.comparators = 127, .context_comparators = CONTEXTS};
    const struct comparators found = {.free = UINT32_MAX};
    struct comparator_choice choice;
    struct error error = {0};
    assert_true(comparators_choose(&many, &found, true, &choice, &error));
    assert_int_equal(choice.context, 31);
    assert_int_equal(choice.stop, 30);
    assert_int_equal(choice.rest, UINT32_MAX >> 2);
}

/* A list that borrows a register of a halted Armv7 core, and fails at any access: the register is given back.
 */
#include "../cores/rig_armv7.h"

#include "device/run.h"

enum { ROOM = 64, BORROWED = 1 << 12 };

TEST_TIME(rig_clock, test_no_nap)

static struct bench {
    struct model model;
    struct core core;
    struct ledger *ledger;
    struct step items[ROOM];
    uint64_t results[ROOM];
    struct steps list;
    size_t at;
    struct deadline deadline;
    struct error error;
} b;

/* Halted in the middle of a program, with a list that reads its PC through R0. */
static void set_up(void)
{
    static const struct model_event never[] = {{.cycles = 1000000, .pc = 0x8000}};
    struct address commands[ROOM];
    memset(&b, 0, sizeof b);
    model_init(&b.model, never, COUNT(never));
    b.model.has_lock = b.model.locked = b.model.os_locked = false;
    b.core = rig_identify(&b.model);
    b.model.cpsr = b.model.program_cpsr = 0x600001D3;
    b.model.r[0] = b.model.program_r0 = 0x5AFE0001;
    b.model.pc = 0x8010;
    b.model.control = 0x4000;
    model_enter(&b.model, 0);
    b.ledger = ledger_new(&b.model.link);
    size_t n = core_commands(&b.core, commands, ROOM);
    for (size_t i = 0; i < n; i++)
        assert_true(ledger_allow(b.ledger, commands[i], &b.error));
    b.list = (struct steps){.items = b.items, .room = ROOM};
    b.at = core_add_register(&b.core, &b.list, CORE_PC);
    b.deadline = deadline_in_ms(60000, NULL);
    assert_non_null(b.ledger);
}

static void tear_down(void)
{
    ledger_free(b.ledger);
}

static bool run(void)
{
    return run_list(b.ledger, &b.core, &b.list, b.results, &b.deadline, &b.error);
}

TEST_BETWEEN(the_pc_of_a_halted_core, set_up, tear_down)
{
    assert_true(run());
    assert_int_equal(core_code_place(core_register_value(&b.core, CORE_PC, b.results, b.at)), 0x8010);
    assert_int_equal(b.model.r[0], b.model.program_r0);
}

static void at_each_access(enum model_trouble what, bool goes_on)
{
    bool struck = true;
    for (long at = 0; struck; at++) {
        set_up();
        b.model.what = what;
        b.model.trouble_at = b.model.accesses + at;
        bool ran = run();
        struck = b.model.accesses > b.model.trouble_at;
        if (ran != (goes_on || !struck))
            fail_msg("%d at access %ld: it %s (%s)", (int)what, at, ran ? "went on" : "ended", b.error.text);
        if (b.model.r[0] != b.model.program_r0 || b.model.cpsr != b.model.program_cpsr ||
            (b.model.control & BORROWED) != 0)
            fail_msg("%d at access %ld: R0 is 0x%x, CPSR 0x%x, DBGDSCR 0x%x", (int)what, at,
                     (unsigned)b.model.r[0], (unsigned)b.model.cpsr, (unsigned)b.model.control);
        assert_int_equal(b.error.kind, ran ? ERROR_NONE : ERROR_FAULT);
        assert_int_equal(b.model.careless, 0);
        tear_down();
    }
}

TEST(what_was_borrowed_is_given_back)
{
    at_each_access(MODEL_REFUSE, false);
    at_each_access(MODEL_WAIT, true);
}

/* Two loans of R11 in a list whose answer was lost: nobody knows how far it got. */
TEST(what_a_lost_list_has_borrowed_is_given_back)
{
    const struct core_spare spare = {.held = {.which = CORE_R0 + 11, .value = 0xCAFE0B0B}};
    for (size_t came = 0, n = 1; came <= n; came++) {
        struct steps part;
        size_t at[2], done = 0;
        set_up();
        const struct step read = step_read(core_own_pmu(&b.core, 13, 0));
        b.model.r[11] = (uint32_t)spare.held.value;
        b.list.n = 0;
        core_add_ready(&b.core, &b.list);
        core_add_coprocessor(&b.core, &b.list, &read, 1, &spare, &at[0]);
        core_add_coprocessor(&b.core, &b.list, &read, 1, &spare, &at[1]);
        n = b.list.n;
        part = b.list;
        part.n = came;
        assert_int_equal(run_steps(b.ledger, &part, 0, b.results, &b.deadline, &b.error).why, DONE);
        assert_true(run_settle(b.ledger, &b.core, &b.list, &done, b.results, NULL, &b.deadline, &b.error));
        if (b.model.r[11] != spare.held.value || (b.model.control & BORROWED) != 0)
            fail_msg("after %zu steps: R11 is 0x%x, DBGDSCR 0x%x", came, (unsigned)b.model.r[11],
                     (unsigned)b.model.control);
        tear_down();
    }
}

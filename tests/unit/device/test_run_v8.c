/* A list that borrows a register of a halted Armv8 core, and is cut short by a reset at any access: nothing
 * of it is left in the core's channel for the program that begins. */
#include "../cores/rig_armv8.h"

#include "device/run.h"
#include "device/settings.h"

enum { ROOM = 64 };

static struct bench {
    struct model model;
    struct core core;
    struct ledger *ledger;
    struct step items[ROOM];
    uint64_t results[ROOM];
    struct steps list;
    struct deadline deadline;
    struct error error;
} b;

static int bench_clock(struct timespec *now)
{
    uint64_t us = b.model.wall / MODEL_MHZ + 1000000000;
    *now = (struct timespec){.tv_sec = (time_t)(us / 1000000), .tv_nsec = (long)(us % 1000000) * 1000};
    return 0;
}

TEST_TIME(bench_clock, test_no_nap)

static void begin(enum core_register which)
{
    static const struct model_event never[] = {{.cycles = 1000000, .pc = 0x80000}};
    uint64_t cleared;
    memset(&b, 0, sizeof b);
    model_init(&b.model, never, COUNT(never));
    b.model.has_lock = b.model.locked = b.model.os_locked = false;
    b.model.cti.locked = false;
    b.core = rig_identify(&b.model);
    b.core.resets = RESETS_NOTICED;
    b.deadline = deadline_in_ms(60000, NULL);
    b.ledger = ledger_new(&b.model.link);
    assert_non_null(b.ledger);
    assert_true(run_allow_commands(b.ledger, &b.core, &b.error));
    assert_true(settings_apply_core(b.ledger, &b.core, APPLY_ALL, &b.deadline, &b.error));
    assert_true(settings_switch_on_comparators(b.ledger, &b.core, &b.deadline, &b.error));
    assert_true(ledger_read(b.ledger, core_reset_register(&b.core), &cleared, &b.deadline, &b.error));
    model_enter(&b.model, 0x13);
    b.list = (struct steps){.items = b.items, .room = ROOM};
    core_add_register(&b.core, &b.list, which);
}

static void a_reset_at_each_access(enum core_register which)
{
    bool struck = true;
    for (long at = 0; struck; at++) {
        begin(which);
        b.deadline = deadline_in_ms(1, NULL); /* an instruction that never ends */
        b.model.what = MODEL_DO_RESET;
        b.model.trouble_at = b.model.accesses + at;
        bool ran = run_list(b.ledger, &b.core, &b.list, b.results, &b.deadline, &b.error);
        struck = b.model.accesses > b.model.trouble_at;
        if (!ran && b.error.kind != ERROR_RESET)
            fail_msg("register %d, at access %ld: %s", (int)which, at, b.error.text);
        if (struck && (b.model.err || b.model.rx_full || b.model.tx_full || b.model.halted))
            fail_msg("register %d, at access %ld: it is left with%s%s%s%s", (int)which, at,
                     b.model.err ? " an error" : "", b.model.rx_full ? " a word for the program" : "",
                     b.model.tx_full ? " a word from us" : "", b.model.halted ? " the core halted" : "");
        ledger_free(b.ledger);
    }
}

TEST(after_a_reset_nothing_is_left_in_the_channel)
{
    a_reset_at_each_access(CORE_PC);
    a_reset_at_each_access(CORE_SP);
    a_reset_at_each_access(CORE_LR);
}

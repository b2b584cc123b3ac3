/*
 * The steps of a core of either architecture, and a read of it that is cancelled. For test_armv7.c and
 * test_armv8.c.
 */
#pragma once

#include "device/run.h"

static struct step items[192];
static struct steps list;

static void fresh(void)
{
    list = (struct steps){.items = items, .room = COUNT(items)};
}

static void assert_step(size_t at, enum op op, uint64_t offset, uint64_t mask, uint64_t value)
{
    assert_true(at < list.n);
    assert_int_equal(items[at].op, op);
    assert_int_equal(items[at].at.offset, STEPS_BASE + offset);
    assert_int_equal(items[at].at.unit, STEPS_UNIT);
    assert_int_equal(items[at].at.size, 4);
    assert_int_equal(items[at].mask, mask);
    assert_true(items[at].value == value);
}

static void assert_write(size_t at, uint64_t offset, uint64_t value)
{
    assert_step(at, OP_WRITE, offset, 0, value);
}

TEST(a_read_that_is_cancelled_gives_back_what_it_borrowed)
{
    for (unsigned slow = 0; slow < 8; slow += 7) {
        for (long at = 0; at < 80; at++) {
            struct rig *rig = rig_fresh(plain, COUNT(plain));
            struct model *m = &rig->model;
            struct core core = rig_identify(m);
            struct error error = {0};
            struct deadline deadline = deadline_in_ms(1000, &m->cancelled);
            struct ledger *ledger = ledger_new(&m->link);
            struct address acting[8];
            uint64_t results[COUNT(items)];
            m->locked = m->os_locked = false;
            m->control = STEPS_CONTROL;
            m->halted = true;
            halt_by_request(m);
            m->slow_itr = slow;
            m->what = MODEL_CANCEL;
            m->trouble_at = m->accesses + at;
            fresh();
            (void)core_add_register(&core, &list, CORE_PC);
            size_t n = core_commands(&core, acting, COUNT(acting));
            for (size_t i = 0; i < n; i++)
                assert_true(ledger_allow(ledger, acting[i], &error));
            size_t done = run_steps(ledger, &list, 0, results, &deadline, &error).done;
            struct deadline later = deadline_in_ms(1000, NULL);
            bool settled = run_settle(ledger, &core, &list, &done, results, NULL, &later, &error);
            ledger_free(ledger);
            if (!settled || !has_its_r0(m) || m->control != STEPS_CONTROL || m->rx_full || m->careless != 0)
                fail_msg("cancelled at access %ld: control 0x%X", at, m->control);
        }
    }
}

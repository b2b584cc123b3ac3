/*
 * The engine on an Armv8-A core: hits of every kind of region, and stops that are not ours: runs_arm.h, and
 * what is here.
 */
#include "rig_armv8.h"

/* At each end: EDSCR.MA, where the breakpoint goes, and go. */
enum { WRITES_FOR_40 = 40 * 2 * 3, MESSAGES = 8, TAKEN = 0x21E7 };
#define WORDS_OF_TAKEN "0xFFFF80000000C008"

#include "runs_arm.h"

static void set_way(struct model *m, unsigned way)
{
    m->has_lock = m->locked = m->os_locked = way & 4;
    m->cti.locked = m->locked;
    if (way & 8)
        model_add_theirs(m);
    if (way & 16)
        model_serve(m);
}

static void lose_catch(struct model *m)
{
    m->edecr = 0;
}

static void set_messages(struct model *m, unsigned way)
{
    m->tx_full = way & 1;
    m->rx_full = way & 2;
    m->talks = way & 4;
}

static uint64_t x0_of(size_t hit)
{
    return model_x0_in((unsigned)hit + 1);
}

RIG_TEST(registers_at_the_end_are_delivered)
{
    check_registers(KERNEL + END, KERNEL + 0x9F00, MODEL_PSTATE, x0_of);
}

RIG_TEST(messages_stay_where_no_register_is_read)
{
    struct rig *rig = rig_fresh(plain, COUNT(plain));
    rig->model.dtr_tx = 0x8888;
    rig->model.dtr_rx = 0x9999;
    rig->model.tx_full = rig->model.rx_full = true;
    rig_begin(rig);
    assert_true(rig_go(rig, &scenes[0]));
    check_hits(rig, &scenes[0]);
    assert_null(rig_end(rig));
    assert_true(rig->model.tx_full && rig->model.rx_full);
    assert_int_equal(rig->model.dtr_tx, 0x8888);
    assert_int_equal(rig->model.dtr_rx, 0x9999);
}

/* Without two channels that are free it cannot be halted, and nothing is tried. */
RIG_TEST(all_channels_may_be_taken)
{
    struct rig *rig = rig_fresh(plain, COUNT(plain));
    model_serve(&rig->model);
    rig->model.cti.in_enable[3] = 0x8;
    rig_begin(rig);
    assert_non_null(rig->device.chosen->core.unstoppable);
    assert_fails(rig_arm(rig, &scenes[0].region), &rig->error, ERROR_NO_CORE, "channels");
    assert_null(rig_end(rig));
    assert_int_equal(rig->model.entries, 0);
}

/* --- stops that are not ours ---------------------------------------------------------------------------- */

static const struct region to_return = {.start = START, .to_return = true};

static void check_foreign(const struct model_event *script, size_t n, uint64_t place, unsigned way,
                          const char *words)
{
    struct rig *rig = rig_fresh(script, n);
    if (way & 1)
        model_add_theirs(&rig->model);
    else
        rig->model.os_locked = false;
    if (way & 2)
        model_serve(&rig->model);
    stop_at(rig, way & 4 ? &to_return : &scenes[0].region, place, words);
    assert_string_equal(rig_end(rig), "EDSCR"); /* debug stays on, and the core where it was stopped */
    rig->model.control = rig->before.control;
    assert_string_equal(model_difference(&rig->model, &rig->before), "halted");
    assert_true(rig->model.pc == place);
    rig->model.halted = rig->model.asked = false;
    assert_null(model_difference(&rig->model, &rig->before));
}

RIG_TEST(foreign_stops_are_left_alone)
{
    const struct model_event begin = {.cycles = 150, .pc = 0x80000, .sp = 0x9F00, .lr = 0x80100};
    const struct model_event end = {.cycles = BASE, .pc = 0x80100, .sp = 0x9F00};
    struct model_event hlt[] = {begin, end, begin, {.kind = MODEL_BKPT, .cycles = 90, .pc = 0x80050}, end};
    struct model_event request[] = {begin, end, {.kind = MODEL_HALT, .cycles = 90, .pc = KERNEL + 0x60}};
    struct model_event breakpoint[] = {begin, end, begin, {.cycles = 90, .pc = MODEL_THEIRS}, end};
    struct model_event caught[] = {begin, end, begin, {.kind = MODEL_CATCH, .cycles = 90, .pc = 0x400}, end};
    for (unsigned way = 0; way < 8; way++) {
        check_foreign(hlt, COUNT(hlt), 0x80050, way, "someone else's breakpoint");
        check_foreign(request, COUNT(request), KERNEL + 0x60, way, "someone else's halt request");
        check_foreign(caught, COUNT(caught), 0x400, way, "an exception");
        if (way & 1)
            check_foreign(breakpoint, COUNT(breakpoint), MODEL_THEIRS, way, "at 0xFFFF80000000C000");
    }
}

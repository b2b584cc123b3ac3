/*
 * The engine on an Armv7 core: hits of every kind of region, and stops that are not ours: runs_arm.h, and
 * what is here.
 */
#include "rig_armv7.h"

/* At each end: where the breakpoint goes, and go; DBGDSCR once a list. */
enum { WRITES_FOR_40 = 40 * 4 + 1, MESSAGES = 1, TAKEN = 0x187 };
#define WORDS_OF_TAKEN "0x0000C006 0x0000C000"

#include "runs_arm.h"

static void set_way(struct model *m, unsigned way)
{
    m->has_lock = m->locked = m->os_locked = way & 4;
    if (way & 8)
        model_add_theirs(m);
}

static void lose_catch(struct model *m)
{
    m->vcr = 0;
}

static void set_messages(struct model *m, unsigned way)
{
    (void)way;
    m->tx_full = true;
}

static uint64_t r0_of(size_t hit)
{
    return UINT64_C(0x11111111) * (hit + 2);
}

RIG_TEST(registers_at_the_end_are_delivered)
{
    check_registers(0x8101, 0x9F00, 0x3F, r0_of);
}

/* --- stops that are not ours ---------------------------------------------------------------------------- */

static void check_foreign(const struct model_event *script, size_t n, uint64_t place, bool theirs,
                          const char *words)
{
    struct rig *rig = rig_fresh(script, n);
    if (theirs)
        model_add_theirs(&rig->model);
    stop_at(rig, &scenes[0].region, place, words);
    assert_string_equal(rig_end(rig), "DBGDSCR"); /* debug stays on, and the core where it was stopped */
    assert_true(rig->model.halted);
    assert_int_equal(rig->model.pc, place);
    assert_int_equal(rig->model.r[0], rig->model.program_r0);
    assert_int_equal(rig->model.corrupted + rig->model.careless, 0);
    assert_memory_equal(rig->model.bcr, rig->before.bcr, sizeof rig->before.bcr);
}

RIG_TEST(foreign_stops_are_left_alone)
{
    const struct model_event begin = {.cycles = 150, .pc = 0x8000, .sp = 0x9F00};
    const struct model_event end = {.cycles = BASE, .pc = 0x8100, .sp = 0x9F00};
    struct model_event bkpt[] = {begin, end, begin, {.kind = MODEL_BKPT, .cycles = 90, .pc = 0x8051}, end};
    struct model_event request[] = {begin, end, {.kind = MODEL_HALT, .cycles = 90, .pc = 0x8060}};
    struct model_event breakpoint[] = {begin, end, begin, {.cycles = 90, .pc = 0xC000}, end};
    check_foreign(bkpt, COUNT(bkpt), 0x8050, false, "someone else's breakpoint");
    check_foreign(bkpt, COUNT(bkpt), 0x8050, true, "someone else's breakpoint");
    check_foreign(request, COUNT(request), 0x8060, false, "someone else's halt request");
    check_foreign(request, COUNT(request), 0x8060, true, "someone else's halt request");
    check_foreign(breakpoint, COUNT(breakpoint), 0xC000, true, "at 0x0000C000");
}

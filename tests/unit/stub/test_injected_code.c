/* Injected code on a model core: whatever goes wrong at whichever access, the program finds what it had. */
#include "../test.h"

#include "cores/architectures.h"
#include "cores/injected.h"
#include "injected_core.h"
#include "stub/injected_code.h"

#include <stdlib.h>
#include <time.h>

enum { PROGRAM_PC = 0x8000, THUMB = 0x20, USER = 0x10, SUPERVISOR = 0x13, HYP = 0x1A, UNDOINGS = 4 };

static const uint32_t code[MODEL_CODE] = {0xE1, 0xE2, 0xE3, 0xE4, 0xE1200070};

static struct fixture {
    struct model model, before;
    struct device device;
    struct injected_code *injected;
    struct deadline deadline;
    struct error error;
    uint64_t results[INJECTED_GENERAL];
} f;

/* Each access takes a tenth of a millisecond: what never comes is not waited for in real time. */
static int model_clock(struct timespec *now)
{
    long ms = f.model.accesses / 10;
    *now = (struct timespec){.tv_sec = 1000 + ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    return 0;
}

TEST_TIME(model_clock, test_no_nap)

static void set_up_core(uint32_t cpsr, bool halted)
{
    static const struct link_ops ops = {.execute = model_execute, .exact_faults = true};
    static const uint64_t identity[ARMV7_IDENTITY] = {
        [ARMV7_MIDR] = 0x413FC090, [ARMV7_DIDR] = 0x01030000, [ARMV7_AUTHSTATUS] = 0xAF};
    memset(&f, 0, sizeof f);
    struct model *m = &f.model;
    m->link.ops = &ops;
    m->trouble_at = -1;
    for (uint32_t i = 0; i < 15; i++)
        m->has.r[i] = 0x11110000 + i;
    m->has.r[13] = MODEL_RAM + 0x200;
    m->has.pc = PROGRAM_PC + (cpsr & THUMB ? 2 : 0);
    m->has.cpsr = cpsr | 0xA0000000;
    for (uint32_t i = 0; i < 4; i++) {
        m->has.banked[i] = 0x22220000 + i;
        m->has.fault[i] = 0x33330000 + i;
    }
    for (uint32_t i = 0; i < MODEL_WORDS; i++)
        m->has.ram[i] = 0x44440000 + i;
    m->had = m->has;
    m->halted = m->was_halted = halted;
    m->restarted = true;
    m->control = halted ? 0x6000 : 0; /* as a debugger keeps it that can look into the core */
    m->bcr[1] = 0x1E7;                /* left over, in a unit that is off */
    memcpy(m->code, code, sizeof code);
    m->place = MODEL_RAM + 0x100;
    f.before = *m;
    f.device.cores = calloc(1, sizeof *f.device.cores);
    assert_non_null(f.device.cores);
    struct device_core *core = &f.device.cores[0];
    assert_true(armv7_identify(0, MODEL_BASE, identity, &core->core));
    core->state = halted ? CORE_HALTED : CORE_RUNNING;
    f.device.link = &m->link;
    f.device.ledger = ledger_new(&m->link);
    f.device.chosen = core;
    f.device.n_cores = 1;
    f.deadline = deadline_in_ms(60000, &m->cancelled);
}

static bool go(uint64_t at)
{
    const uint64_t arguments[2] = {5, 6};
    return device_keep(&f.device, &f.deadline, &f.error) && (f.injected = injected_new(&f.device)) != NULL &&
           injected_load(f.injected, code, MODEL_CODE, at, &f.deadline, &f.error) &&
           injected_run(f.injected, 1, arguments, f.results, &f.deadline, &f.error);
}

/* As often as a session does. */
static bool undo(void)
{
    bool done = false;
    for (int i = 0; i < UNDOINGS && !done; i++) {
        struct deadline deadline = deadline_in_ms(60000, NULL);
        struct error ignored = {0};
        done = device_undo(&f.device, &deadline, &ignored);
    }
    return done;
}

static void tear_down(void)
{
    injected_free(f.injected);
    device_close(&f.device);
}

static bool is_as_before(void)
{
    const struct model *m = &f.model, *b = &f.before;
    return memcmp(&m->has, &b->has, sizeof m->has) == 0 && m->halted == b->halted && m->vcr == b->vcr &&
           m->control == b->control && m->bcr[0] == b->bcr[0] && m->bcr[1] == b->bcr[1];
}

static void check_whole(const char *what, long at)
{
    bool whole = undo() && is_as_before() && f.model.corrupted == 0 && f.model.strange == 0;
    if (!whole)
        fail_msg("%s at access %ld: %s; corrupted %u, strange %u, pc %x, cpsr %x", what, at, f.error.text,
                 f.model.corrupted, f.model.strange, f.model.has.pc, f.model.has.cpsr);
}

static const uint32_t states[] = {SUPERVISOR, SUPERVISOR | THUMB, USER, USER | THUMB, 0x1F | 0x600FC00, 0x17,
                                  0x1B};

TEST(it_runs_and_leaves_nothing_behind)
{
    for (size_t i = 0; i < sizeof states / sizeof *states; i++)
        for (int halted = 0; halted < 2; halted++) {
            set_up_core(states[i], halted);
            assert_true(go(f.model.place));
            assert_int_equal(f.model.runs, 1);
            assert_int_equal(f.model.argument, 5);
            for (unsigned k = 0; k < INJECTED_GENERAL; k++)
                assert_int_equal(f.results[k], 70 + k);
            assert_false(injected_was_there(f.injected));
            check_whole("nothing", 0);
            tear_down();
        }
}

TEST(without_a_place_it_goes_below_the_stack)
{
    set_up_core(SUPERVISOR, false);
    f.model.place = MODEL_RAM + 0x180;
    assert_true(go(0));
    assert_int_equal(injected_place(f.injected), f.model.place);
    assert_true(f.model.place + sizeof code + 64 <= f.before.has.r[13]);
    check_whole("nothing", 0);
    tear_down();
}

TEST(code_may_begin_anywhere_in_a_cache_line)
{
    for (uint32_t at = MODEL_RAM + 0x100; at < MODEL_RAM + 0x140; at += 4) {
        set_up_core(SUPERVISOR, false);
        f.model.place = at;
        assert_true(go(at));
        check_whole("nothing", 0);
        tear_down();
    }
}

TEST(what_is_there_already_is_not_written)
{
    set_up_core(SUPERVISOR, false);
    memcpy(model_ram(&f.model, f.model.place), code, sizeof code);
    f.model.had = f.model.has;
    f.before = f.model;
    assert_true(go(f.model.place));
    assert_true(injected_was_there(f.injected));
    check_whole("nothing", 0);
    tear_down();
}

TEST(it_can_be_left_there)
{
    set_up_core(SUPERVISOR, false);
    assert_true(go(f.model.place));
    injected_leave_image(f.injected);
    memcpy(model_ram(&f.before, f.model.place), code, sizeof code);
    f.model.had = f.before.has;
    check_whole("nothing", 0);
    tear_down();
}

/* Each access of a run in turn, that of the putting back included. */
static void trouble_at_every_access(enum model_trouble what, const char *name, bool survives)
{
    for (int halted = 0; halted < 2; halted++) {
        long at = 0;
        for (bool struck = true; struck; at++) {
            set_up_core(at % 2 ? USER | THUMB : SUPERVISOR, halted);
            f.model.what = what;
            f.model.trouble_at = at;
            bool done = go(f.model.place);
            if (survives && !done)
                fail_msg("%s at %ld: %s", name, at, f.error.text);
            if (!done && f.error.kind == ERROR_NONE)
                fail_msg("%s at %ld: no reason", name, at);
            check_whole(name, at);
            struck = f.model.accesses > at;
            tear_down();
        }
        assert_true(at > 500);
    }
}

TEST(a_wait)
{
    trouble_at_every_access(WAIT_ONCE, "WAIT", true);
}

TEST(a_fault)
{
    trouble_at_every_access(FAULT_ONCE, "FAULT", false);
}

TEST(a_link_that_comes_back)
{
    trouble_at_every_access(LOSE_ONCE, "lost link", false);
}

TEST(an_impatient_user)
{
    trouble_at_every_access(CANCEL, "Ctrl-C", false);
}

/* The program is another one then. Unless that was before anything was done, what it had is gone, and a core
 * that does not know where to go on from is not let go: that is said. */
TEST(a_reset)
{
    long at = 0, left = 0;
    for (bool struck = true; struck; at++) {
        set_up_core(SUPERVISOR, false);
        f.model.what = RESET;
        f.model.trouble_at = at;
        (void)go(f.model.place);
        bool undone = undo(), begins = f.model.has.pc == 0 && f.model.has.cpsr == 0x1D3;
        if (f.model.halted ? undone : f.model.corrupted != 0 && (undone || !begins))
            fail_msg("reset at %ld: %s", at, f.error.text);
        left += f.model.halted;
        struck = f.model.accesses > at;
        tear_down();
    }
    assert_true(at > 500 && left > 400 && left < at - 20);
}

TEST(code_that_ends_in_an_exception)
{
    set_up_core(SUPERVISOR, false);
    f.model.does = ABORTS;
    assert_false(go(f.model.place));
    assert_int_equal(f.error.kind, ERROR_PLACE);
    check_whole("abort", 0);
    tear_down();
}

TEST(code_that_never_ends)
{
    set_up_core(SUPERVISOR, false);
    f.model.does = RUNS_ON;
    f.deadline = deadline_in_ms(50, &f.model.cancelled);
    assert_false(go(f.model.place));
    assert_int_equal(f.error.kind, ERROR_ASLEEP);
    check_whole("no end", 0);
    tear_down();
}

TEST(memory_that_is_not_there)
{
    set_up_core(SUPERVISOR, false);
    assert_false(go(0x90000));
    assert_int_equal(f.error.kind, ERROR_PLACE);
    check_whole("no memory", 0);
    tear_down();
}

TEST(hyp_mode_is_not_gone_into)
{
    set_up_core(HYP, true);
    assert_false(go(f.model.place));
    assert_int_equal(f.error.kind, ERROR_STATE);
    check_whole("Hyp", 0);
    tear_down();
}

static bool look(uint64_t at, uint32_t *words, size_t n)
{
    return device_keep(&f.device, &f.deadline, &f.error) && (f.injected = injected_new(&f.device)) != NULL &&
           injected_look(f.injected, at, words, n, &f.deadline, &f.error) &&
           injected_look(f.injected, at + 4 * n, words + n, n, &f.deadline, &f.error);
}

TEST(memory_is_looked_at_as_the_core_sees_it)
{
    for (size_t i = 0; i < sizeof states / sizeof *states; i++)
        for (int halted = 0; halted < 2; halted++) {
            uint32_t words[8] = {0};
            set_up_core(states[i], halted);
            assert_true(look(MODEL_RAM + 0x40, words, 4));
            for (uint32_t k = 0; k < 8; k++)
                assert_int_equal(words[k], 0x44440010 + k);
            assert_int_equal(f.model.runs, 0);
            check_whole("nothing", 0);
            tear_down();
        }
}

TEST(memory_that_cannot_be_looked_at)
{
    uint32_t words[4];
    set_up_core(SUPERVISOR, false);
    assert_false(look(0x90000, words, 2));
    assert_int_equal(f.error.kind, ERROR_PLACE);
    check_whole("no memory", 0);
    tear_down();
    set_up_core(SUPERVISOR, false);
    assert_false(look(MODEL_RAM + 2, words, 2));
    check_whole("no word", 0);
    tear_down();
}

TEST(a_look_that_is_interrupted)
{
    static const enum model_trouble kinds[] = {WAIT_ONCE, FAULT_ONCE, LOSE_ONCE, CANCEL};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        bool struck = true;
        for (long at = 0; struck; at++) {
            uint32_t words[4];
            set_up_core(at % 2 ? USER | THUMB : SUPERVISOR, false);
            f.model.what = kinds[i];
            f.model.trouble_at = at;
            if (look(MODEL_RAM + 0x40, words, 2) && words[3] != 0x44440013)
                fail_msg("kind %zu at %ld: 0x%x", i, at, words[3]);
            check_whole("a look", at);
            struck = f.model.accesses > at;
            tear_down();
        }
    }
}

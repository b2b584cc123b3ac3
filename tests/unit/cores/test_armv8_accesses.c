/*
 * System registers and memory through an Armv8-A core that is halted at EL1: what is read and written is what
 * was meant, and wherever that ends, the program and a handler of its exceptions find what they had.
 */
#include "rig_armv8.h"

#include "cores/armv8_transfer.h"

enum { ROOM = 512, ACCESSES = 6, BOUND = 5 };

static struct bench {
    struct model model, before;
    struct core core;
    struct step items[ROOM];
    uint64_t results[ROOM];
    struct steps list;
    size_t at[ACCESSES];
    struct deadline deadline;
    struct error error;
} b;

static struct step accesses[ACCESSES], giving[ROOM];
static struct steps gives = {.items = giving, .room = ROOM};

static struct step look(uint64_t address)
{
    return step_read((struct address){.space = SPACE_MEMORY, .size = 4, .offset = address});
}

static void set_up(unsigned slow, bool messages)
{
    static const struct model_event never[] = {{.cycles = 1000000, .pc = 0x8000}};
    memset(&b, 0, sizeof b);
    model_init(&b.model, never, COUNT(never));
    b.model.has_lock = b.model.locked = b.model.os_locked = false;
    b.core = rig_identify(&b.model);
    b.model.x[0] = b.model.program_x0 = UINT64_C(0x5AFE000112345678);
    b.model.pc = KERNEL + 0x80000;
    b.model.system = (struct v8_system){.elr = KERNEL + 0x80404,
                                        .spsr = 0x3C5,
                                        .esr = 0x56000000,
                                        .far = UINT64_C(0xFFFF000012340000),
                                        .control = 0x41033000,
                                        .enabled = 1};
    b.model.control = 0x4000;
    b.model.slow_itr = slow;
    model_enter(&b.model, 0x13);
    b.model.tx_full = b.model.rx_full = messages;
    b.list = (struct steps){.items = b.items, .room = ROOM};
    b.deadline = deadline_in_ms(60000, NULL);
    accesses[0] = step_read(armv8_own_pmu(12, 0));
    accesses[1] = step_write(armv8_own_pmu(14, 0), UINT64_C(0x100000001));
    accesses[2] = look(V8_RAM + 8);
    accesses[3] = step_write(armv8_own_pmu(12, 1), 0x80000000);
    accesses[4] = step_read(armv8_own_pmu(14, 0));
    accesses[5] = look(V8_RAM + 0xFC);
}

static void add(size_t n)
{
    armv8_add_accesses(&b.core, &b.list, model_read_scr(&b.model), accesses, n, b.at);
    assert_false(b.list.overflow);
    b.before = b.model;
}

/* In as many goes as a slow core takes; returns the first step that was not done. */
static size_t run_accesses(const struct step *steps, size_t n, uint64_t *results, enum why *why)
{
    size_t done = 0;
    *why = DONE;
    for (unsigned goes = 0; done < n && goes < BOUND; goes++) {
        struct outcome outcome =
            link_execute(&b.model.link, steps + done, n - done, results + done, &b.deadline, &b.error);
        done += outcome.done;
        *why = outcome.why;
        if (outcome.why != DONE && outcome.why != NOT_YET)
            break;
    }
    return done;
}

static size_t run(enum why *why)
{
    return run_accesses(b.items, b.list.n, b.results, why);
}

/* As run.c gives back what a list that ended has borrowed: *to becomes the list for that. False:
 * nothing was borrowed. */
static bool turn(size_t done, struct steps *to)
{
    struct loan loan;
    if (!steps_loan(b.items, b.list.n, done, &loan))
        return false;
    for (size_t i = loan.from; i < loan.end; i++) {
        const struct step *step = &b.items[i];
        to->items[i - loan.from] =
            step->op == OP_COPY ? step_write(step->at, b.results[i - step->back]) : *step;
    }
    to->n = loan.end - loan.from;
    return true;
}

static bool give_back(const struct steps *list)
{
    struct step ready[8];
    uint64_t ignored[ROOM];
    struct steps recovery = {.items = ready, .room = COUNT(ready)};
    enum why why = NOT_YET;
    core_add_recover_instruction(&b.core, &recovery, &list->items[0]);
    if (link_execute(&b.model.link, ready, recovery.n, ignored, &b.deadline, &b.error).why == DONE)
        (void)run_accesses(list->items, list->n, ignored, &why);
    return why == DONE;
}

/* Lets the program go on. A copy that was not fetched yet is not the program's register. */
static void check_whole(const char *what, size_t where)
{
    if (!model_is_whole(&b.model) || (b.model.rx_full && !b.before.rx_full) ||
        b.model.control != b.before.control)
        fail_msg("%s at %zu: X0 %d, the rest %d, EDSCR %x", what, where, b.model.x[0] == b.model.program_x0,
                 model_is_whole(&b.model), b.model.control);
    b.model.err = b.model.txu = b.model.rxo = b.model.ito = false;
    model_leave(&b.model);
    assert_int_equal(b.model.corrupted + b.model.careless, 0);
}

static uint64_t value_of(size_t i)
{
    return core_register_value(&b.core, CORE_R0, b.results, b.at[i]);
}

TEST(the_place_is_that_of_the_instruction)
{
    struct address pmuserenr = armv8_own_pmu(14, 0);
    assert_int_equal(pmuserenr.space, SPACE_CORE);
    assert_int_equal(pmuserenr.size, 8);
    assert_int_equal(0xD5000000 | pmuserenr.offset, 0xD51B9E00); /* MSR PMUSERENR_EL0, X0 */
    assert_int_equal(0xD5200000 | armv8_own_pmu(12, 0).offset, 0xD53B9C00);
}

TEST(what_is_meant_is_reached)
{
    enum why why;
    for (unsigned way = 0; way < 4; way++) {
        set_up(way % 2 ? 7 : 0, way / 2);
        add(ACCESSES);
        assert_int_equal(run(&why), b.list.n);
        assert_int_equal(value_of(0), 0x41033000);
        assert_int_equal(value_of(2), V8_RAM_VALUE + 2);
        assert_true(value_of(4) == UINT64_C(0x100000001));
        assert_int_equal(value_of(5), V8_RAM_VALUE + 63);
        assert_int_equal(b.model.system.enabled, 0x80000001);
        check_whole("as it should go", way);
    }
}

TEST(the_registers_of_exceptions_are_those_of_the_level)
{
    static const uint32_t elr[] = {0, 0xD5384020, 0xD53C4020, 0xD53E4020};
    for (uint32_t level = 1; level < 4; level++) {
        unsigned taken = 0, given = 0;
        set_up(0, false);
        armv8_add_accesses(&b.core, &b.list, (model_read_scr(&b.model) & ~0x300U) | level << 8, accesses, 1,
                           b.at);
        for (size_t i = 0; i < b.list.n; i++) {
            taken += b.items[i].op == OP_WRITE && b.items[i].value == elr[level];
            given += b.items[i].op == OP_WRITE && b.items[i].value == (elr[level] & ~0x200000U);
        }
        assert_int_equal(taken, 1);
        assert_int_equal(given, 1);
    }
}

TEST(another_level_than_was_said_is_left_alone)
{
    enum why why;
    set_up(0, false);
    armv8_add_accesses(&b.core, &b.list, model_read_scr(&b.model) | 0x200, accesses, 1, b.at);
    b.before = b.model;
    assert_int_equal(run(&why), 0);
    assert_int_equal(why, UNEXPECTED);
    assert_int_equal(b.model.writes, b.before.writes);
    check_whole("another level", 0);
}

/* Where it ends, it may be that the step was carried out all the same. */
TEST(interrupted_at_every_step)
{
    static const enum model_trouble kinds[] = {MODEL_LOSE, MODEL_LOSE_AFTER, MODEL_TWICE};
    for (size_t way = 0; way < 2 * COUNT(kinds); way++) {
        enum why why = NOT_YET;
        size_t owed = 0;
        long at = 0;
        for (bool struck = true; struck; at++) {
            set_up(way % 2 ? 3 : 0, way % 4 > 1);
            add(ACCESSES);
            b.model.what = kinds[way / 2];
            b.model.trouble_at = b.model.accesses + at;
            if (turn(run(&why), &gives)) {
                assert_true(give_back(&gives));
                owed++;
            }
            struck = b.model.accesses > b.model.trouble_at;
            check_whole("interrupted", (size_t)at);
        }
        assert_int_equal(why, DONE);
        if (at < (long)b.list.n - 1)
            fail_msg("%ld %zu %zu", at, b.list.n, owed);
        assert_true(owed > b.list.n / 2 || kinds[way / 2] == MODEL_TWICE);
    }
}

/* While it is given back the link is lost again. */
TEST(interrupted_twice)
{
    enum why why;
    for (long at = 12; at < 200; at += 7)
        for (long later = 0; later < 80; later += 1 + at % 3) {
            set_up(0, false);
            add(2);
            b.model.what = at % 2 ? MODEL_LOSE_AFTER : MODEL_LOSE;
            b.model.trouble_at = b.model.accesses + at;
            bool owed = turn(run(&why), &gives);
            b.model.trouble_at = b.model.accesses + later;
            if (owed && !give_back(&gives)) {
                b.model.trouble_at = -1;
                assert_true(give_back(&gives));
            }
            check_whole("interrupted twice", (size_t)(at * 1000 + later));
        }
}

/* What is not there is an exception, after which no instruction is taken. */
TEST(an_access_that_is_refused_costs_the_program_nothing)
{
    enum why why;
    const struct step refused[] = {step_read(armv8_own_pmu(15, 7)), step_write(armv8_own_pmu(15, 7), 5),
                                   look(V8_RAM - 4), look(V8_RAM + 2)};
    for (size_t i = 0; i < 2 * COUNT(refused); i++) {
        set_up(i % 2 ? 3 : 0, false);
        accesses[1] = refused[i / 2];
        add(3);
        size_t done = run(&why);
        assert_int_equal(why, UNEXPECTED);
        assert_true(b.model.err && !model_is_whole(&b.model));
        assert_true(turn(done, &gives) && give_back(&gives));
        assert_int_equal(b.model.system.enabled, 1);
        check_whole("refused", i);
    }
}

TEST(from_el0_and_aarch32_state_there_is_no_way)
{
    set_up(0, false);
    assert_null(core_hindrance(&b.core, 0x1003D13, 0));
    assert_null(core_hindrance(&b.core, 0x1003E13, 0));
    assert_has(core_hindrance(&b.core, 0x1003C13, 0), "EL0");
    assert_has(core_hindrance(&b.core, 0x1003813, 0), "AArch32");
}

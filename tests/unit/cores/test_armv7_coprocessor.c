/*
 * Registers of CP15 through an Armv7 core that is halted in whatever mode: what is read and written is what
 * was meant, and wherever that ends, R0, CPSR and PMSELR are given back.
 */
#include "rig_armv7.h"

#include "cores/armv7_transfer.h"

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

/* User, Supervisor, IRQ and System mode, ARM and Thumb, flags and masks in all ways. */
static const uint32_t states[] = {0x10, 0x30, 0x600001D3, 0xF80F01F3, 0x92, 0x1F};

static struct step accesses[ACCESSES];

static void set_up(uint32_t cpsr, unsigned slow)
{
    static const struct model_event never[] = {{.cycles = 1000000, .pc = 0x8000}};
    model_init(&b.model, never, COUNT(never));
    b.model.has_lock = b.model.locked = b.model.os_locked = false;
    b.core = rig_identify(&b.model);
    b.model.cpsr = b.model.program_cpsr = cpsr;
    b.model.r[0] = b.model.program_r0 = 0x5AFE0001;
    b.model.monitor.select = b.model.program_select = 0x1F;
    b.model.monitor.control = 0x41151800;
    memcpy(b.model.monitor.type, (const uint32_t[]){0x11, 0x22, 0x33}, sizeof b.model.monitor.type);
    memcpy(b.model.monitor.value, (const uint32_t[]){0xA0000001, 0xB0000002, 0xC0000003},
           sizeof b.model.monitor.value);
    b.model.control = 0x4000;
    b.model.slow_itr = slow;
    model_enter(&b.model, 0);
    b.list = (struct steps){.items = b.items, .room = ROOM};
    b.deadline = deadline_in_ms(60000, NULL);
    accesses[0] = step_read(cp15_register(9, 0, 12, 0));
    accesses[1] = step_read(cp15_selected(2, 9, 0, 13, 2));
    accesses[2] = step_write(cp15_selected(1, 9, 0, 13, 1), 0x123456A8);
    accesses[3] = step_write(cp15_register(9, 0, 12, 1), 0x80000002);
    accesses[4] = step_read(cp15_selected(1, 9, 0, 13, 1));
    accesses[5] = step_read(cp15_selected(0, 9, 0, 13, 2));
}

static void add(size_t n, bool privileged)
{
    if (privileged)
        armv7_add_accesses(&b.core, &b.list, 0, accesses, n, b.at);
    else
        armv7_add_coprocessor(&b.core, &b.list, accesses, n, NULL, b.at);
    assert_false(b.list.overflow);
    b.before = b.model;
}

/* Steps [from, end), in as many goes as a slow core takes; returns the first that was not done. */
static size_t run(size_t from, size_t end, enum why *why)
{
    *why = DONE;
    for (unsigned goes = 0; from < end && goes < BOUND; goes++) {
        struct outcome outcome =
            link_execute(&b.model.link, b.items + from, end - from, b.results + from, &b.deadline, &b.error);
        from += outcome.done;
        *why = outcome.why;
        if (outcome.why != DONE && outcome.why != NOT_YET)
            break;
    }
    return from;
}

static const char *difference(void)
{
    const struct model *m = &b.model;
    return m->r[0] != m->program_r0                 ? "R0"
           : m->cpsr != m->program_cpsr             ? "CPSR"
           : m->monitor.select != m->program_select ? "PMSELR"
           : m->monitor.mode_is_new                 ? "an ISB is missing"
           : m->sticky != 0                         ? "an exception sticks"
           : m->rx_full != b.before.rx_full         ? "DBGDTRRX"
           : m->tx_full                             ? "DBGDTRTX"
           : m->careless                            ? "something unpredictable was done"
                                                    : NULL;
}

/* Lets the program go on. */
static void check_whole(const char *what, size_t where)
{
    const char *wrong = difference();
    if (wrong != NULL)
        fail_msg("%s at %zu: %s", what, where, wrong);
    b.model.control &= ~0x2000U;
    model_leave(&b.model);
    assert_int_equal(b.model.corrupted + b.model.careless, 0);
}

static void check_values(void)
{
    assert_int_equal(b.results[b.at[0]], 0x41151800);
    assert_int_equal(b.results[b.at[1]], 0xC0000003);
    assert_int_equal(b.results[b.at[4]], 0x123456A8);
    assert_int_equal(b.results[b.at[5]], 0xA0000001);
    assert_int_equal(b.model.monitor.type[1], 0x123456A8);
    assert_int_equal(b.model.monitor.type[0], 0x11);
    assert_int_equal(b.model.monitor.type[2], 0x33);
    assert_int_equal(b.model.monitor.enabled, 0x80000002);
}

TEST(the_place_is_that_of_the_instruction)
{
    struct address pmuserenr = cp15_register(9, 0, 14, 0), other = cp15_register(1, 3, 2, 5);
    assert_int_equal(pmuserenr.space, SPACE_CORE);
    assert_int_equal(pmuserenr.offset, 0x0009000E);
    assert_int_equal(other.offset, 0x006100A2);
    struct address first = cp15_selected(0, 9, 0, 13, 1), second = cp15_selected(1, 9, 0, 13, 1);
    assert_int_equal((uint32_t)first.offset, 0x0009002D);
    assert_int_not_equal(first.offset, second.offset); /* for the ledger they differ */
    assert_int_not_equal(first.offset, cp15_register(9, 0, 13, 1).offset);
}

TEST(what_is_meant_is_reached_in_every_mode)
{
    enum why why;
    for (size_t i = 0; i < COUNT(states); i++)
        for (unsigned slow = 0; slow < 8; slow += 7) {
            set_up(states[i], slow);
            add(ACCESSES, true);
            assert_int_equal(run(0, b.list.n, &why), b.list.n);
            check_values();
            check_whole("as it should go", i);
        }
}

/* The wait in front of it belongs to another loan. Returns how far it got. */
static size_t give_back(const struct loan *loan)
{
    enum why why;
    size_t wait = loan->from - (b.items[loan->from - 1].op == OP_UNTIL);
    return run(wait, loan->from, &why) == loan->from ? run(loan->from, loan->end, &why) : loan->from;
}

/* Runs the list, of whose accesses number `at` is lost, done or not; then gives back what is borrowed.
 * Whether the list was done before that. */
static bool interrupt(long at, bool done_too, size_t *owed)
{
    enum why why;
    struct loan loan;
    b.model.what = done_too ? MODEL_LOSE_AFTER : MODEL_LOSE;
    b.model.trouble_at = b.model.accesses + at;
    size_t done = run(0, b.list.n, &why);
    bool ended = why == DONE;
    if (steps_loan(b.items, b.list.n, done, &loan)) {
        assert_true(!ended && loan.from >= 1 && loan.end <= b.list.n);
        assert_int_equal(give_back(&loan), loan.end);
        ++*owed;
    }
    b.model.tx_full = false; /* a copy that was not fetched yet */
    return ended;
}

/* Where it ends, it may be that the step was carried out all the same. */
TEST(interrupted_at_every_step)
{
    for (size_t way = 0; way < 2 * COUNT(states); way++) {
        bool ended = false;
        size_t owed = 0;
        for (long at = 0; !ended; at++) {
            set_up(states[way / 2], way % 3 == 2 ? 3 : 0);
            add(ACCESSES, true);
            ended = interrupt(at, way % 2, &owed);
            check_whole("interrupted", (size_t)at);
        }
        assert_true(owed > b.list.n / 2);
    }
}

/* While it is given back the link is lost again. */
TEST(interrupted_twice)
{
    enum why why;
    for (long at = 5; at < 200; at += 7)
        for (long later = 0; later < 60; later += 1 + at % 3) {
            struct loan loan;
            set_up(0x30, 0);
            add(2, true);
            b.model.what = at % 2 ? MODEL_LOSE_AFTER : MODEL_LOSE;
            b.model.trouble_at = b.model.accesses + at;
            size_t done = run(0, b.list.n, &why);
            b.model.trouble_at = b.model.accesses + later;
            while (steps_loan(b.items, b.list.n, done, &loan)) {
                size_t next = give_back(&loan);
                done = next > loan.from ? next : done;
            }
            b.model.tx_full = false;
            check_whole("interrupted twice", (size_t)(at * 1000 + later));
        }
}

/* What is not there is an undefined instruction, which sticks, and no further one would be taken. */
TEST(an_access_that_is_undefined_costs_the_program_nothing)
{
    enum why why;
    for (size_t i = 0; i < COUNT(states); i++) {
        struct loan loan;
        set_up(states[i], 0);
        accesses[1] = step_read(cp15_register(9, 0, 15, 7));
        add(2, true);
        size_t done = run(0, b.list.n, &why);
        assert_int_equal(why, NOT_YET);
        assert_true(done < b.list.n && b.model.sticky != 0);
        assert_true(steps_loan(b.items, b.list.n, done, &loan));
        assert_int_equal(give_back(&loan), loan.end);
        b.model.careless = 0;
        check_whole("undefined", i);
    }
}

TEST(a_message_for_the_program_is_not_taken_for_r0)
{
    enum why why;
    set_up(0x10, 0);
    b.model.rx_full = true;
    b.model.dtr_rx = 0x1234;
    add(ACCESSES, true);
    assert_int_equal(run(0, b.list.n, &why), 1);
    assert_int_equal(why, UNEXPECTED);
    assert_int_equal(b.model.writes, b.before.writes);
    check_whole("message", 0);
}

/* What a hit reads, by way of R11: nothing of it needs the result of a step before it. */
static struct core_spare spare = {.held = {.which = CORE_R0 + 11, .value = 0xCAFE0B0B}};

enum { SPARE_WAYS = 4 * COUNT(states) }; /* the upper half with a counter that is selected */

static void set_up_spare(size_t way, uint32_t held, uint32_t selects)
{
    bool selected = way >= SPARE_WAYS / 2;
    way %= SPARE_WAYS / 2;
    set_up(states[way / 2], way % 3 == 2 ? 3 : 0);
    b.model.monitor.user = 1;
    b.model.r[11] = held;
    accesses[1] = step_read(cp15_register(9, 0, 13, 0));
    steps_add(&b.list, step_until(armv7_word(&b.core, DBGDSCR), DBGDSCR_HALTED, DBGDSCR_HALTED));
    spare.selector = b.model.program_select + selects;
    if (selected)
        accesses[2] = step_read(cp15_selected(1, 9, 0, 13, 1));
    armv7_add_coprocessor(&b.core, &b.list, accesses, 2 + selected, &spare, b.at);
    b.before = b.model;
}

TEST(through_a_spare_register)
{
    for (size_t way = 0; way < SPARE_WAYS; way++) {
        bool ended = false;
        size_t owed = 0;
        for (long at = 0; !ended; at++) {
            set_up_spare(way, (uint32_t)spare.held.value, 0);
            for (size_t i = 0; i < b.list.n; i++)
                assert_true(b.items[i].op != OP_CHECK && b.items[i].op != OP_COPY);
            ended = interrupt(at, way % 2, &owed);
            assert_int_equal(b.model.r[11], spare.held.value);
            check_whole("through R11", (size_t)at);
        }
        assert_int_equal(b.results[b.at[0]], 0x41151800);
        if (way >= SPARE_WAYS / 2)
            assert_int_equal(b.results[b.at[2]], b.model.monitor.type[1]);
        assert_true(owed > b.list.n / 2);
    }
}

TEST(a_spare_register_that_has_changed_is_not_borrowed)
{
    enum why why;
    for (size_t way = 0; way < SPARE_WAYS; way++) {
        struct loan loan;
        set_up_spare(way, (uint32_t)spare.held.value + 1, 0);
        size_t done = run(0, b.list.n, &why);
        assert_int_equal(why, UNEXPECTED);
        assert_true(b.items[done].once);
        assert_false(steps_loan(b.items, b.list.n, done, &loan));
        assert_int_equal(b.model.r[11], spare.held.value + 1);
        check_whole("changed", way);
    }
}

TEST(a_selector_that_has_changed_is_not_changed)
{
    enum why why;
    for (size_t way = SPARE_WAYS / 2; way < SPARE_WAYS; way++) {
        struct loan loan;
        set_up_spare(way, (uint32_t)spare.held.value, 1);
        size_t done = run(0, b.list.n, &why);
        assert_int_equal(why, UNEXPECTED);
        assert_true(b.items[done].once);
        assert_true(steps_loan(b.items, b.list.n, done, &loan));
        assert_true(loan.known);
        assert_int_equal(run(loan.from, loan.end, &why), loan.end);
        assert_int_equal(b.model.r[11], spare.held.value);
        check_whole("selector", way);
    }
}

/* As a hit has it: in the mode that the program is in, which PMUSERENR lets. */
TEST(a_reading_of_a_hit_changes_no_mode)
{
    enum why why;
    for (size_t i = 0; i < COUNT(states); i++) {
        set_up(states[i], 0);
        b.model.monitor.user = 1;
        accesses[2] = step_read(cp15_register(9, 0, 13, 0));
        steps_add(&b.list, step_until(armv7_word(&b.core, DBGDSCR), DBGDSCR_HALTED, DBGDSCR_HALTED));
        add(3, false);
        for (size_t k = 0; k < b.list.n; k++)
            assert_false(b.items[k].op == OP_WRITE && (b.items[k].value & 0xFFFFF000) == 0xE121F000);
        assert_int_equal(run(0, b.list.n, &why), b.list.n);
        assert_int_equal(b.results[b.at[0]], 0x41151800);
        assert_int_equal(b.results[b.at[1]], 0xC0000003);
        assert_int_equal(b.results[b.at[2]], b.model.counter);
        assert_int_equal(b.model.control, 0x6000); /* ready for further instructions */
        check_whole("a reading", i);
    }
}

/* Without a counter that is selected PMSELR is let alone. */
TEST(the_selector_is_touched_only_for_what_it_selects)
{
    enum why why;
    for (unsigned selected = 0; selected < 2; selected++) {
        set_up(0x1F, 0);
        accesses[1] = selected ? accesses[1] : accesses[0];
        add(2, true);
        unsigned touched = 0;
        for (size_t i = 0; i < b.list.n; i++)
            touched += b.items[i].op == OP_WRITE && (b.items[i].value & 0xFFEFFFFF) == 0xEE090FBC;
        assert_int_equal(touched, selected ? 3 : 0);
        assert_int_equal(run(0, b.list.n, &why), b.list.n);
        check_whole("selected", selected);
    }
}

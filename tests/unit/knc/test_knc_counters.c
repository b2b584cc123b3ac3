/* Knights Corner's PMU: what is written, what is put back, which counter counts what. */
#include "../test.h"

#include "cores/architectures.h"
#include "counters/counter.h"
#include "counters/events.h"
#include "device/device.h"
#include "knc/knc.h"
#include "links/ledger.h"
#include "measure/plan.h"

#include <stdio.h>

enum { CPU = 7, REGISTERS = 0x30, LOG = 32 };

/* One thread's registers; what no tool may do to them fails the test on the spot. */
static struct thread {
    struct link link;
    uint64_t at[REGISTERS];
    struct write {
        uint64_t number, value;
    } writes[LOG];
    size_t n_writes;
} thread;

static struct core core;
static struct counter_block block;
static struct ledger *ledger;
static struct deadline deadline;
static struct error error;

static void write_register(uint64_t number, uint64_t value)
{
    assert_true(thread.n_writes < LOG);
    thread.writes[thread.n_writes++] = (struct write){number, value};
    assert_true(number != 0x10 && number != 0x2D);
    if (number == 0x2E)
        thread.at[0x2D] &= ~value;
    else
        thread.at[number] = value;
}

static struct outcome execute(struct link *link, const struct step *steps, size_t n, uint64_t *results,
                              const struct deadline *until, struct error *why)
{
    (void)link;
    (void)until;
    (void)why;
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(steps[i].at.space, SPACE_MSR);
        assert_int_equal(steps[i].at.size, 8);
        assert_int_equal(steps[i].at.unit, CPU);
        assert_true(steps[i].at.offset < REGISTERS);
        if (steps[i].op == OP_WRITE) {
            write_register(steps[i].at.offset, steps[i].value);
            continue;
        }
        assert_true(steps[i].op == OP_READ || steps[i].op == OP_EXPECT);
        assert_int_not_equal(steps[i].at.offset, 0x2E);
        results[i] = thread.at[steps[i].at.offset];
        if (steps[i].op == OP_EXPECT && (results[i] & steps[i].mask) != steps[i].value)
            return (struct outcome){.why = UNEXPECTED, .done = i, .saw = results[i]};
    }
    return (struct outcome){.why = DONE, .done = n};
}

static void set_up(void)
{
    static const struct link_ops ops = {.execute = execute, .exact_faults = true};
    thread = (struct thread){.link = {.ops = &ops}};
    knc_describe(CPU, &core);
    ledger = ledger_new(&thread.link);
    deadline = deadline_in_ms(60000, NULL);
    error_clear(&error);
    assert_non_null(ledger);
}

static void tear_down(void)
{
    ledger_free(ledger);
}

#define FRESH_TEST(name) TEST_BETWEEN(name, set_up, tear_down)

static void identify(void)
{
    struct step items[BLOCK_IDENTITY];
    uint64_t values[BLOCK_IDENTITY] = {0};
    struct steps list = {.items = items, .room = BLOCK_IDENTITY};
    knc_kind.add_identity(&core, &list);
    assert_int_equal(execute(&thread.link, items, list.n, values, &deadline, &error).why, DONE);
    assert_true(knc_kind.identify(&core, values, &block));
}

static void apply(const struct setting *settings, size_t n)
{
    for (size_t i = 0; i < n; i++)
        assert_true(ledger_apply(ledger, &settings[i], &deadline, &error));
}

static void program(const struct counter_pick *picks, size_t n)
{
    struct setting settings[BLOCK_PASS_SETTINGS];
    apply(settings, knc_kind.program(&core, &block, picks, n, settings, BLOCK_PASS_SETTINGS));
}

static void wrote(const struct write *wanted, size_t n)
{
    for (size_t i = 0; i < n && i < thread.n_writes; i++)
        if (thread.writes[i].number != wanted[i].number || thread.writes[i].value != wanted[i].value)
            fail_msg("write %zu is 0x%llX to 0x%llX", i, (unsigned long long)thread.writes[i].value,
                     (unsigned long long)thread.writes[i].number);
    assert_int_equal(thread.n_writes, n);
    thread.n_writes = 0;
}

#define WROTE(...)                                                                                           \
    wrote((const struct write[]){__VA_ARGS__},                                                               \
          sizeof((const struct write[]){__VA_ARGS__}) / sizeof(struct write))

FRESH_TEST(the_block_is_described)
{
    identify();
    assert_string_equal(block.text, "PMU, 2 counters of 40 bits");
    assert_string_equal(block.state, "free");
    assert_string_equal(block.events, "knc");
    assert_int_equal(block.n, 3);
    assert_true(block.counts_cycles);
    assert_string_equal(block.counters[0].name, "TSC");
    for (unsigned i = 0; i < 3; i++) {
        static const uint64_t numbers[] = {0x10, 0x20, 0x21};
        assert_true(block.counters[i].low.offset == numbers[i]);
        assert_int_equal(block.counters[i].bits, i == 0 ? 64 : 40);
    }
    struct core other = {.ops = &cortex_m_ops};
    assert_false(knc_kind.identify(&other, NULL, &block));
    assert_int_equal(thread.n_writes, 0);
}

/* A program that a debugger stops runs on one of the card's CPUs: its block counts all that this CPU does. */
FRESH_TEST(cycles_of_a_cpu_that_another_link_stops_are_not_the_programs)
{
    for (int remote = 0; remote < 2; remote++) {
        static struct device_core cores[2];
        struct device device = {.link = &thread.link, .ledger = ledger, .cores = cores, .n_cores = 2};
        identify();
        cores[0] = (struct device_core){.core = core};
        cores[1] = (struct device_core){.core = core, .blocks = {block}, .n_blocks = 1};
        device.chosen = &cores[remote ? 0 : 1];
        device.remote = remote ? &cores[1] : NULL;
        assert_true(device_take_block(&device, NULL, &deadline, &error));
        assert_int_equal(device.block->counts_cycles, !remote);
    }
}

FRESH_TEST(what_was_changed_goes_back_in_an_order_that_loses_nothing)
{
    thread.at[0x20] = 0xFFFFFFFFF0;
    thread.at[0x21] = 0x55;
    thread.at[0x28] = 0x123;
    thread.at[0x2C] = 0x8000000000000003; /* the program uses SPFLT */
    thread.at[0x2D] = 0x2;
    struct thread before = thread;
    identify();
    apply(block.settings, block.n_settings);
    assert_int_equal(thread.n_writes, 0);
    const struct counter_pick picks[] = {
        {.counter = 0}, {.counter = 1, .code = 0x10CB}, {.counter = 2, .code = 0x0 | 1 << 16 | 1 << 19}};
    program(picks, 3);
    WROTE({0x28, 0x4310CB}, {0x29, 0x410000}, {0x2C, 0x8000000000000002}, {0x2F, 0x3});
    const struct counter_pick again[] = {{.counter = 0}, {.counter = 1, .code = 0x02AA10CC}};
    program(again, 2);
    WROTE({0x28, 0x02E210CC}, {0x2C, 0x8000000000000003});
    thread.at[0x20] = 0x5; /* wrapped */
    thread.at[0x21] = 0x99;
    thread.at[0x2D] = 0x3;
    thread.at[0x2C] &= ~(1ULL << 63); /* the program's own SPFLT */
    assert_true(ledger_undo(ledger, &deadline, &error));
    WROTE({0x2F, 0}, {0x2C, 0x3}, {0x29, 0}, {0x28, 0x123}, {0x2E, 0x1}, {0x21, 0x55}, {0x20, 0xFFFFFFFFF0});
    before.at[0x2C] = 0x3;
    assert_memory_equal(thread.at, before.at, sizeof before.at);
}

FRESH_TEST(a_counter_in_use_is_left_alone)
{
    thread.at[0x28] = 0x410016;
    thread.at[0x2F] = 0x1;
    identify();
    assert_string_equal(block.state, "in use: 0");
    assert_int_equal(knc_kind.counters_for(&block, 0x16), 4);
    assert_int_equal(knc_kind.counters_for(&block, 0x10CB), 0);
    apply(block.settings, block.n_settings);
    const struct counter_pick picks[] = {{.counter = 0}, {.counter = 2, .code = 0x2A}};
    program(picks, 2);
    WROTE({0x29, 0x43002A}, {0x2F, 0x3});
    thread.at[0x2D] = 0x3;
    thread.at[0x20] = 77;
    assert_true(ledger_undo(ledger, &deadline, &error));
    WROTE({0x2F, 0x1}, {0x29, 0}, {0x2E, 0x2}, {0x21, 0});
    assert_true(thread.at[0x20] == 77);
    /* Enabled by itself alone it does not count */
    thread.at[0x2F] = 0;
    identify();
    assert_string_equal(block.state, "free");
    thread.at[0x2F] = 3;
    thread.at[0x29] = 1U << 22;
    identify();
    assert_string_equal(block.state, "in use: 0, 1");
    assert_int_equal(knc_kind.counters_for(&block, 0x16), 0);
}

FRESH_TEST(every_event_has_its_counters)
{
    identify();
    struct event_set *set = event_set_open("knc", &error);
    assert_non_null(set);
    assert_int_equal(event_set_count(set), 63);
    for (size_t i = 0; i < event_set_count(set); i++) {
        const struct event *event = event_set_at(set, i);
        bool only = strstr(event->words, "counter 0") != NULL;
        assert_int_equal(knc_kind.counters_for(&block, event->code), only ? 2 : 6);
        assert_int_equal(knc_kind.counters_for(&block, event->code | 0x02BF0000), only ? 2 : 6);
    }
    event_set_free(set);
}

/* 0: refused, with `what` in the message. */
static uint32_t modified(uint32_t code, const char *text, const char *what)
{
    error_clear(&error);
    if (knc_kind.modify(text, &code, &error)) {
        assert_null(what);
        return code;
    }
    assert_int_equal(error.kind, ERROR_USAGE);
    assert_non_null(what);
    if (what != NULL && strstr(error.text, what) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", error.text, what);
    return 0;
}

FRESH_TEST(modifiers_are_bits_of_the_code)
{
    assert_int_equal(modified(0x10CB, "cmask=2:inv:u", NULL), 0x028110CB);
    assert_int_equal(modified(0, "k", NULL), 1 << 17);
    assert_int_equal(modified(0x16, "U:K:EDGE:any:spflt", NULL), 0x002F0016);
    assert_int_equal(modified(0x16, "cmask=255", NULL), 0xFF000016);
    assert_int_equal(modified(0xFFFF, NULL, NULL), 0xFFFF);
    modified(0x10000, NULL, "0xFFFF");
    static const struct {
        const char *text, *what;
    } wrong[] = {{"", "is not one of"},        {"x", "is not one of"},
                 {"u:", "is not one of"},      {"u::k", "is not one of"},
                 {"cmask", "is not one of"},   {"cmask=", "1 to 255"},
                 {"cmask=0", "1 to 255"},      {"cmask=256", "1 to 255"},
                 {"cmask=2x", "1 to 255"},     {"cmask=99999999999999999999", "1 to 255"},
                 {"cmask=-1", "1 to 255"},     {"u:u", "twice"},
                 {"cmask=1:cmask=1", "twice"}, {"inv", "cmask=N"},
                 {"inv:u", "cmask=N"}};
    for (size_t i = 0; i < COUNT(wrong); i++)
        assert_int_equal(modified(0x16, wrong[i].text, wrong[i].what), 0);
}

static struct plan plan;

static bool make_plan(const char *text)
{
    struct event_request requests[PLAN_COLUMNS];
    size_t n = 0;
    struct event_set *set = event_set_open("knc", &error);
    assert_non_null(set);
    error_clear(&error);
    bool ok = event_requests_parse(text, requests, PLAN_COLUMNS, &n, &error) &&
              plan_make(&plan, &block, set, requests, n, &error);
    event_set_free(set);
    return ok;
}

FRESH_TEST(what_was_asked_for_is_planned)
{
    identify();
    assert_true(make_plan("L2_READ_MISS:cmask=2:inv:u,data_read,r2016:k"));
    assert_int_equal(plan.n_passes, 2);
    assert_string_equal(plan.columns[0].name, "TSC");
    assert_string_equal(plan.columns[1].name, "L2_READ_MISS:cmask=2:inv:u");
    assert_string_equal(plan.columns[2].name, "DATA_READ");
    assert_string_equal(plan.columns[3].name, "VPU_INSTRUCTIONS_EXECUTED:k");
    assert_int_equal(plan.passes[0].picks[1].code, 0x028110CB);
    assert_int_equal(plan.passes[0].picks[1].counter, 1);
    assert_int_equal(plan.passes[0].picks[2].code, 0);
    assert_int_equal(plan.passes[0].picks[2].counter, 2);
    assert_true(make_plan("L2_READ_MISS,L2_WRITE_HIT"));
    assert_int_equal(plan.n_passes, 2);
    assert_true(make_plan("DATA_READ,L2_READ_MISS")); /* moved to the other counter for it */
    assert_int_equal(plan.n_passes, 1);
    assert_true(make_plan("DATA_READ:u,DATA_READ:k"));
    assert_false(make_plan("{L2_READ_MISS,L2_WRITE_HIT}"));
    assert_has(error.text,
               "L2_READ_MISS and L2_WRITE_HIT cannot be counted in one pass: both need counter 0");
    assert_false(make_plan("DATA_READ:q"));
    assert_has(error.text, "\":q\"");
    assert_false(make_plan("NO_SUCH:u"));
    assert_false(make_plan("r10000"));
}

/* All threads of a card: each with its window, what is free on all, and what goes wrong on one. */
#include "../test.h"

#include "counters/counter.h"
#include "measure/window.h"

#include <stdio.h>
#include <string.h>

enum { CPUS = 7, REGISTERS = 0x30, CNTR0 = 0x20, SELECT0 = 0x28, CONTROL = 0x2F };

/* Each read of a counter of CPU n finds it n + 1 further. */
static struct card {
    struct link link;
    uint64_t at[CPUS][REGISTERS];
    uint64_t now_us;
    int broken; /* a CPU that refuses to be read; -1: none */
} card;

static struct device device;
static struct cpu_windows windows;
static struct clock core_clock;
static struct deadline deadline;
static struct error error;

static struct outcome execute(struct link *link, const struct step *steps, size_t n, uint64_t *results,
                              const struct deadline *until, struct error *why)
{
    (void)link;
    (void)until;
    for (size_t i = 0; i < n; i++) {
        const struct address *at = &steps[i].at;
        if (steps[i].op == OP_TIME) {
            results[i] = card.now_us++;
            continue;
        }
        assert_true(at->unit < CPUS && at->offset < REGISTERS);
        if (at->unit == card.broken) {
            error_set(why, ERROR_FAULT, "refused");
            return (struct outcome){.why = TARGET_FAULT, .done = i};
        }
        if (steps[i].op == OP_WRITE) {
            card.at[at->unit][at->offset] = steps[i].value;
            continue;
        }
        if (at->offset == CNTR0 && (card.at[at->unit][CONTROL] & 1) != 0)
            card.at[at->unit][CNTR0] += at->unit + 1U;
        results[i] = card.at[at->unit][at->offset];
    }
    return (struct outcome){.why = DONE, .done = n};
}

static size_t views(struct link *link, struct link_view *out, size_t room, struct error *why)
{
    (void)link;
    (void)why;
    assert_true(room >= CPUS);
    for (unsigned i = 0; i < CPUS; i++)
        out[i] = (struct link_view){.unit = (uint16_t)i, .type = "msr", .core_id = i / 4U};
    return CPUS;
}

static int tear_down(void **state)
{
    (void)state;
    cpu_windows_close(&windows);
    device_close(&device);
    return 0;
}

static int set_up(void **state)
{
    static const struct link_ops ops = {.execute = execute, .views = views, .exact_faults = true};
    (void)state;
    memset(&card, 0, sizeof card);
    card.link.ops = &ops;
    card.broken = -1;
    deadline = deadline_in_ms(60000, NULL);
    core_clock = clock_given(1.1e9, "--freq", 1.2e9);
    error_clear(&error);
    return 0;
}

#define FRESH_TEST(name) TEST_WITH(name, set_up, tear_down)

static bool take(void)
{
    static const struct device_request any = {.core = -1};
    return device_open(&device, &card.link, &any, &deadline, &error) &&
           cpu_windows_take_all(&windows, &device, NULL, &deadline, &error);
}

FRESH_TEST(every_thread_has_its_own_count)
{
    const struct counter_pick picks[] = {{.counter = 0, .name = "TSC"},
                                         {.counter = 1, .code = 3, .name = "X"}};
    uint64_t before[CPUS][REGISTERS];
    card.at[3][CNTR0] = (UINT64_C(1) << 40) - 6;
    memcpy(before, card.at, sizeof before);
    assert_true(take());
    assert_int_equal(windows.n, CPUS);
    assert_true(cpu_windows_program(&windows, picks, 2, &deadline, &error));
    assert_true(cpu_windows_begin(&windows, &core_clock, &deadline, &error));
    assert_true(cpu_windows_sample(&windows, &deadline, &error));
    cpu_windows_begin_interval(&windows);
    for (int i = 0; i < 3; i++)
        assert_true(cpu_windows_sample(&windows, &deadline, &error));
    for (size_t i = 0; i < CPUS; i++) {
        const struct cpu_windows_member *member = &windows.members[i];
        assert_int_equal(member->core->core.unit, i);
        assert_int_equal(member->core->view.core_id, i / 4);
        assert_int_equal(member->window.totals[1].count, 4 * (i + 1));
        assert_int_equal(member->window.totals[1].missed, 0);
        assert_int_equal(member->window.totals[1].count - member->before.totals[1].count, 3 * (i + 1));
        assert_int_equal(member->begin.totals[1].count, 0);
        assert_int_equal(card.at[i][SELECT0], 0x430003);
    }
    assert_int_equal(cpu_windows_pace_ms(&windows), 1000);
    assert_true(device_undo(&device, &deadline, &error));
    assert_memory_equal(card.at, before, sizeof before);
}

FRESH_TEST(what_one_uses_nobody_is_given)
{
    card.at[5][SELECT0] = (1 << 22);
    card.at[5][CONTROL] = 1;
    assert_true(take());
    for (size_t i = 0; i < CPUS; i++)
        assert_int_equal(windows.members[i].block->kind->counters_for(windows.members[i].block, 0x16), 4);
}

FRESH_TEST(what_goes_wrong_names_its_cpu)
{
    const struct counter_pick picks[] = {{.counter = 1, .code = 3, .name = "X"}};
    card.broken = 4;
    assert_false(take());
    assert_non_null(strstr(error.text, "CPU 4"));
    tear_down(NULL);
    set_up(NULL);
    assert_true(take());
    card.broken = 6;
    assert_false(cpu_windows_program(&windows, picks, 1, &deadline, &error));
    assert_non_null(strstr(error.text, "CPU 6"));
    error_clear(&error);
    assert_false(cpu_windows_begin(&windows, &core_clock, &deadline, &error));
    assert_int_equal(error.kind, ERROR_FAULT);
    card.broken = -1;
    error_clear(&error);
    assert_true(device_undo(&device, &deadline, &error));
}

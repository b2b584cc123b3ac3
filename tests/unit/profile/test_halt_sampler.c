/* Samples by halts through a debugger: how long the core was halted for them, and stops that are not ours. */
#include "../test.h"

#include "cores/architectures.h"
#include "debuggers/debugger.h"
#include "profile/event_sampler.h"

#include <time.h>

enum { GO_US = 1000, HALT_US = 4000, READ_US = 2000, SAMPLES = 20, PLACE = 0x8000100 };

static int64_t now_us;
static bool was_asked;
static struct debugger_stop stop_of_it;

static int halt_sampler_clock(struct timespec *now)
{
    *now = (struct timespec){.tv_sec = now_us / 1000000, .tv_nsec = now_us % 1000000 * 1000};
    return 0;
}

TEST_TIME(halt_sampler_clock, test_no_nap)

static bool takes_go(struct debugger *debugger, enum debugger_go how, const struct deadline *deadline,
                     struct error *error)
{
    (void)debugger;
    (void)how;
    (void)deadline;
    (void)error;
    now_us += GO_US;
    was_asked = false;
    return true;
}

static bool takes_interrupt(struct debugger *debugger, struct error *error)
{
    (void)debugger;
    (void)error;
    return was_asked = true;
}

/* It runs until it is asked to stop, or stops by itself at once. */
static enum debugger_wait takes_wait(struct debugger *debugger, struct debugger_stop *stop,
                                     const struct deadline *deadline, struct error *error)
{
    (void)debugger;
    (void)error;
    *stop = stop_of_it;
    if (was_asked)
        now_us += HALT_US;
    else if (stop_of_it.why == DEBUGGER_REQUESTED)
        now_us = deadline->at_us;
    return was_asked || stop_of_it.why != DEBUGGER_REQUESTED ? DEBUGGER_STOPPED : DEBUGGER_RUNS;
}

static bool takes_read(struct debugger *debugger, const char *name, uint64_t *out,
                       const struct deadline *deadline, struct error *error)
{
    (void)debugger;
    (void)deadline;
    (void)error;
    assert_string_equal(name, "pc");
    now_us += READ_US;
    *out = PLACE;
    return true;
}

static bool takes_is_running(const struct debugger *debugger)
{
    (void)debugger;
    return true;
}

static const struct debugger_ops halts = {.is_running = takes_is_running,
                                          .go = takes_go,
                                          .interrupt = takes_interrupt,
                                          .wait = takes_wait,
                                          .read_register = takes_read};
static struct debugger debugger;
static struct device_core chosen;
static struct device device;
static struct halt_sampler sampler;
static struct profile_tally tally;
static struct deadline deadline;
static struct error error;

static void set_up(void)
{
    now_us = 5000000000;
    debugger = (struct debugger){.ops = &halts};
    chosen = (struct device_core){.core = {.ops = &cortex_m_ops}, .view = {.name = "cpu0"}};
    device = (struct device){.chosen = &chosen, .debugger = &debugger};
    tally = (struct profile_tally){0};
    stop_of_it = (struct debugger_stop){.why = DEBUGGER_REQUESTED};
    deadline = deadline_in_ms(60000, NULL);
    error_clear(&error);
    halt_sampler_begin(&sampler, &device);
}

static void tear_down(void)
{
    profile_tally_free(&tally);
}

#define HALT_TEST(name) TEST_BETWEEN(name, set_up, tear_down)

HALT_TEST(it_stood_from_each_interrupt_to_the_next_run)
{
    for (int i = 0; i < SAMPLES; i++)
        assert_true(halt_sampler_take(&sampler, &tally, &deadline, &error));
    assert_int_equal(profile_tally_count(&tally, PLACE), SAMPLES);
    assert_int_equal(sampler.stood_us, GO_US + (SAMPLES - 1) * (HALT_US + READ_US + GO_US));
}

HALT_TEST(only_a_stop_that_was_asked_for_is_a_sample)
{
    static const struct {
        struct debugger_stop stop;
        enum error_kind kind;
        const char *words;
    } stops[] = {
        {{.why = DEBUGGER_TRAP}, ERROR_FOREIGN_STOP, "stopped by itself at 0x08000100"},
        {{.why = DEBUGGER_FAULT}, ERROR_FOREIGN_STOP, "by a fault"},
        {{.why = DEBUGGER_OTHERS}, ERROR_FOREIGN_STOP, "at a breakpoint"},
        {{.why = DEBUGGER_REQUESTED, .core = "cpu1"}, ERROR_NO_CORE, "cpu1 stopped, and not cpu0"},
    };
    for (size_t i = 0; i < COUNT(stops); i++) {
        stop_of_it = stops[i].stop;
        assert_fails(halt_sampler_take(&sampler, &tally, &deadline, &error), &error, stops[i].kind,
                     stops[i].words);
    }
    assert_int_equal(profile_tally_count(&tally, PLACE), 0);
}

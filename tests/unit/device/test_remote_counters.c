/* Counters by another link: which CPU's they are, and whether the program was there. */
#include "device/device.h"

#include "cores/architectures.h"
#include "debuggers/debugger.h"
#include "knc/knc.h"
#include "test.h"

#include <string.h>

enum { CPUS = 4, FIRST = 10 };

static struct device device;
static struct device_core cores[1 + CPUS];
static struct debugger debugger;
static struct error error;

/* A program of the first link, and CPUs 10 to 13 of the second. */
static int set_up(void **state)
{
    (void)state;
    memset(cores, 0, sizeof cores);
    error = (struct error){0};
    debugger = (struct debugger){0};
    device = (struct device){.cores = cores, .n_cores = 1 + CPUS, .debugger = &debugger};
    x86_64_describe(0, &cores[0].core);
    for (unsigned i = 1; i <= CPUS; i++) {
        knc_describe((uint16_t)(FIRST + i - 1), &cores[i].core);
        cores[i].view.counts_only = true;
    }
    return 0;
}

#define FRESH_TEST(name) TEST_WITH(name, set_up, NULL)

FRESH_TEST(test_where_the_program_stopped)
{
    debugger.facts.has_cpu = true;
    debugger.facts.cpu = 12;
    assert_true(device_choose(&device, -1, &error));
    assert_ptr_equal(device.chosen, &cores[0]);
    assert_ptr_equal(device.remote, &cores[3]);
    assert_ptr_equal(device_counted(&device), &cores[3]);
}

FRESH_TEST(test_what_the_user_says_goes_first)
{
    debugger.facts.has_cpu = true;
    debugger.facts.cpu = 12;
    assert_true(device_choose(&device, 10, &error));
    assert_ptr_equal(device.remote, &cores[1]);
}

FRESH_TEST(test_the_only_one)
{
    device.n_cores = 2;
    assert_true(device_choose(&device, -1, &error));
    assert_ptr_equal(device.remote, &cores[1]);
}

FRESH_TEST(test_nothing_is_guessed)
{
    assert_false(device_choose(&device, -1, &error));
    assert_int_equal(error.kind, ERROR_USAGE);
    assert_null(device.remote);
}

FRESH_TEST(without_a_debugger_the_cpu_is_unknown)
{
    device.debugger = NULL;
    assert_false(device_choose(&device, -1, &error));
    assert_int_equal(error.kind, ERROR_USAGE);
    error_clear(&error);
    assert_true(device_choose(&device, 13, &error));
    assert_ptr_equal(device.remote, &cores[4]);
}

FRESH_TEST(test_a_cpu_that_is_not_there)
{
    assert_false(device_choose(&device, 14, &error));
    assert_int_equal(error.kind, ERROR_NO_CORE);
    assert_non_null(strstr(error.text, "no CPU 14"));
    error_clear(&error);
    debugger.facts.has_cpu = true; /* 0: which is the program's view, and no CPU of the second link */
    assert_false(device_choose(&device, -1, &error));
    assert_int_equal(error.kind, ERROR_NO_CORE);
    assert_non_null(strstr(error.text, "where the program is"));
}

FRESH_TEST(test_no_core_to_measure)
{
    device.cores = &cores[1];
    device.n_cores = CPUS;
    assert_false(device_choose(&device, 10, &error));
    assert_int_equal(error.kind, ERROR_NO_CORE);
}

FRESH_TEST(test_stops_on_that_cpu_only)
{
    struct debugger_stop stop = {.has_cpu = true, .cpu = 11};
    assert_true(device_check_remote(&device, &stop, &error)); /* nothing is counted elsewhere */
    assert_string_equal(device_remote_advice(&device), "");
    assert_true(device_choose(&device, 11, &error));
    assert_true(device_check_remote(&device, &stop, &error));
    stop.cpu = 10;
    assert_false(device_check_remote(&device, &stop, &error));
    assert_int_equal(error.kind, ERROR_NO_COUNTER);
    assert_non_null(strstr(error.text, "on CPU 10, and CPU 11"));
    stop.has_cpu = false;
    assert_true(device_check_remote(&device, &stop, &error));
    assert_non_null(strstr(device_remote_advice(&device), ":u"));
}

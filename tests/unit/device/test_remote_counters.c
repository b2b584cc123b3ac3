/* Counters by another link: which CPU's they are, and whether the program was there. */
#include "device/device.h"

#include "cores/architectures.h"
#include "debuggers/debugger.h"
#include "knc/knc.h"
#include "test.h"

enum { CPUS = 4, FIRST = 10 };

static struct device device;
static struct device_core cores[1 + CPUS];
static struct debugger debugger;
static struct error error;

/* A program of the first link, and CPUs 10 to 13 of the second. */
static void set_up(void)
{
    memset(cores, 0, sizeof cores);
    error = (struct error){0};
    debugger = (struct debugger){0};
    device = (struct device){.cores = cores, .n_cores = 1 + CPUS, .debugger = &debugger};
    x86_64_describe(0, &cores[0].core);
    for (unsigned i = 1; i <= CPUS; i++) {
        knc_describe((uint16_t)(FIRST + i - 1), &cores[i].core);
        cores[i].view.counts_only = true;
    }
}

#define FRESH_TEST(name) TEST_BETWEEN(name, set_up, test_nothing)

/* Of -1 to 13 by the user, and by the debugger, who may know none; or why none is taken. */
FRESH_TEST(which_cpu_is_counted)
{
    static const struct {
        int said;
        bool debugged, has_cpu;
        unsigned cpu;
        size_t n_cores, remote; /* remote: of `cores`; 0: none */
        enum error_kind kind;
        const char *words;
    } rows[] = {
        {-1, true, true, 12, 1 + CPUS, 3, ERROR_NONE, ""},
        {10, true, true, 12, 1 + CPUS, 1, ERROR_NONE, ""}, /* what the user says goes first */
        {-1, true, false, 0, 2, 1, ERROR_NONE, ""},        /* the only one */
        {-1, true, false, 0, 1 + CPUS, 0, ERROR_USAGE, ""},
        {-1, false, false, 0, 1 + CPUS, 0, ERROR_USAGE, ""},
        {13, false, false, 0, 1 + CPUS, 4, ERROR_NONE, ""},
        {14, true, false, 0, 1 + CPUS, 0, ERROR_NO_CORE, "no CPU 14"},
        /* which is the program's view, and no CPU of the second link */
        {-1, true, true, 0, 1 + CPUS, 0, ERROR_NO_CORE, "where the program is"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        set_up();
        device.debugger = rows[i].debugged ? &debugger : NULL;
        debugger.facts.has_cpu = rows[i].has_cpu;
        debugger.facts.cpu = rows[i].cpu;
        device.n_cores = rows[i].n_cores;
        assert_int_equal(device_choose(&device, rows[i].said, &error), rows[i].remote > 0);
        assert_error(&error, rows[i].kind, rows[i].words);
        assert_ptr_equal(device.remote, rows[i].remote > 0 ? &cores[rows[i].remote] : NULL);
        if (rows[i].remote > 0)
            assert_ptr_equal(device_counted(&device), device.remote);
    }
}

FRESH_TEST(test_no_core_to_measure)
{
    device.cores = &cores[1];
    device.n_cores = CPUS;
    assert_fails(device_choose(&device, 10, &error), &error, ERROR_NO_CORE, "");
}

FRESH_TEST(test_stops_on_that_cpu_only)
{
    struct debugger_stop stop = {.has_cpu = true, .cpu = 11};
    assert_true(device_check_remote(&device, &stop, &error)); /* nothing is counted elsewhere */
    assert_string_equal(device_remote_advice(&device), "");
    assert_true(device_choose(&device, 11, &error));
    assert_true(device_check_remote(&device, &stop, &error));
    stop.cpu = 10;
    assert_fails(device_check_remote(&device, &stop, &error), &error, ERROR_NO_COUNTER,
                 "on CPU 10, and CPU 11");
    stop.has_cpu = false;
    assert_true(device_check_remote(&device, &stop, &error));
    assert_has(device_remote_advice(&device), ":u");
}

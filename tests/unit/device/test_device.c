/*
 * The target: what is found on a link, what is taken and what is refused, and that closing puts it all
 * back.
 */
#include "../model_link.h"
#include "../test.h"

#include "device/device.h"

#include <stdio.h>

/* A link with views of a test's choosing, and perhaps a server that does run control. */
static struct fixture {
    struct model_core model, before;
    struct link_ops ops;
    struct link_view views[4];
    size_t n_views;
    char calls[128]; /* of the server's, in order */
    bool stubborn;   /* the server refuses to move the core */
    struct device device;
    struct deadline deadline;
    struct error error;
} f;

static size_t views(struct link *link, struct link_view *out, size_t room, struct error *error)
{
    (void)link;
    for (size_t i = 0; i < f.n_views && i < room; i++)
        out[i] = f.views[i];
    if (f.n_views == 0)
        error_set(error, ERROR_NO_CORE, "nothing there");
    return f.n_views;
}

static void note(const char *what)
{
    size_t used = strlen(f.calls);
    snprintf(f.calls + used, sizeof f.calls - used, "%s ", what);
}

static bool hold(struct link *link, bool on, struct error *error)
{
    (void)link;
    (void)error;
    note(on ? "hold" : "release");
    return true;
}

static bool server_run(struct link *link, uint16_t unit, bool run, const struct deadline *deadline,
                       struct error *error)
{
    (void)link;
    (void)deadline;
    assert_int_equal(unit, 7);
    if (f.stubborn)
        return error_set(error, ERROR_LINK_PROTOCOL, "no");
    note(run ? "run" : "halt");
    model_write_dhcsr(&f.model, run ? 0xA05F0001 : 0xA05F0003);
    return true;
}

static void set_up(void)
{
    static const struct model_event nothing[] = {{.cycles = 100, .pc = 0x1234, .sp = 0x20007F00}};
    memset(&f, 0, sizeof f);
    model_init(&f.model, nothing, 1, 0);
    f.ops = *f.model.link.ops;
    f.ops.views = views;
    f.model.link.ops = &f.ops;
    f.views[0] = (struct link_view){.unit = 7, .name = "cpu", .type = "cortex_m", .is_core = true};
    f.n_views = 1;
    f.deadline = deadline_in_ms(60000, NULL);
}

static void tear_down(void)
{
    device_close(&f.device);
}

#define FRESH_TEST(name) TEST_BETWEEN(name, set_up, tear_down)

static void with_server(void)
{
    f.ops.hold = hold;
    f.ops.server_run = server_run;
}

static void halt_the_model(void)
{
    f.model.debug = true;
    model_advance(&f.model, 5000);
    model_halt_request(&f.model, 0x1240);
}

static void open_it(void)
{
    f.before = f.model;
    assert_true(
        device_open(&f.device, &f.model.link, &(struct device_request){.core = -1}, &f.deadline, &f.error));
}

static bool take(bool resume)
{
    assert_true(device_choose(&f.device, -1, &f.error));
    return device_take(&f.device, resume, "main.c:88", &f.deadline, &f.error);
}

static bool take_block(const char *name)
{
    return device_take_block(&f.device, name, &f.deadline, &f.error);
}

static void assert_undone(void)
{
    assert_true(device_undo(&f.device, &f.deadline, &f.error));
    const char *difference = model_difference(&f.model, &f.before);
    assert_string_equal(difference == NULL ? "" : difference, "");
}

/* --- finding -------------------------------------------------------------------------------------------- */

FRESH_TEST(views_without_a_core_of_ours_are_passed_over)
{
    f.views[1] = f.views[0];
    f.views[0] = (struct link_view){.unit = 1, .name = "mem", .is_core = false};
    f.n_views = 2;
    open_it();
    assert_int_equal(f.device.n_cores, 1);
    assert_int_equal(f.device.cores[0].core.unit, 7);
    device_close(&f.device);
    f.model.cpuid = 0x413FC090; /* a Cortex-A9 */
    open_it();
    assert_int_equal(f.device.n_cores, 0);
    assert_fails(device_choose(&f.device, -1, &f.error), &f.error, ERROR_NO_CORE, "");
}

FRESH_TEST(a_view_that_cannot_be_read_is_no_error)
{
    f.views[1] = f.views[0];
    f.n_views = 2;
    f.model.what = TROUBLE_FAULT;
    f.model.trouble_at = 0;
    f.model.trouble_for = 2; /* the second read included */
    open_it();
    assert_int_equal(f.device.n_cores, 1);
    assert_int_equal(f.error.kind, ERROR_NONE);
}

FRESH_TEST(a_lost_link_is_an_error)
{
    for (long k = 0; k < 6; k++) {
        set_up();
        f.model.what = TROUBLE_LOST;
        f.model.trouble_at = k;
        f.model.trouble_for = 1;
        assert_fails(device_open(&f.device, &f.model.link, &(struct device_request){.core = -1}, &f.deadline,
                                 &f.error),
                     &f.error, ERROR_LINK_LOST, "");
        device_close(&f.device);
    }
    set_up();
    f.n_views = 0;
    assert_fails(
        device_open(&f.device, &f.model.link, &(struct device_request){.core = -1}, &f.deadline, &f.error),
        &f.error, ERROR_NO_CORE, "");
}

FRESH_TEST(slices_are_waited_out)
{
    for (long k = 0; k < 12; k++) {
        set_up();
        f.model.what = TROUBLE_SLICE;
        f.model.trouble_at = k;
        f.model.trouble_for = 3;
        open_it();
        assert_int_equal(f.device.n_cores, 1);
        assert_int_equal(f.device.cores[0].n_blocks, 2);
        device_close(&f.device);
    }
}

/* DHCSR shows a reset to one read. */
FRESH_TEST(a_reset_is_noticed_wherever_in_a_list_it_comes)
{
    struct step items[3];
    struct steps list = {.items = items, .room = COUNT(items)};
    uint64_t results[COUNT(items)];
    bool asleep;
    for (size_t i = 0; i < COUNT(items); i++)
        steps_add(&list, step_read((struct address){.space = SPACE_MEMORY, .size = 4, .offset = 0x20000000}));
    for (long k = 0; k <= 5; k++) { /* the last: after it */
        set_up();
        open_it();
        assert_true(device_choose(&f.device, -1, &f.error) && device_keep(&f.device, &f.deadline, &f.error));
        f.model.what = TROUBLE_RESET;
        f.model.trouble_at = f.model.accesses + k;
        f.model.trouble_for = 1;
        assert_true(
            awake_look(&f.device, &f.device.chosen->core, &list, results, &asleep, &f.deadline, &f.error));
        assert_int_equal(f.device.was_reset, k < 5);
        device_close(&f.device);
    }
}

FRESH_TEST(cores_are_chosen_by_number)
{
    f.views[1] = f.views[0];
    f.n_views = 2;
    open_it();
    assert_true(device_choose(&f.device, -1, &f.error));
    assert_ptr_equal(f.device.chosen, &f.device.cores[0]);
    assert_true(device_choose(&f.device, 1, &f.error));
    assert_ptr_equal(f.device.chosen, &f.device.cores[1]);
    assert_fails(device_choose(&f.device, 2, &f.error), &f.error, ERROR_NO_CORE, "the last one is core 1");
    assert_null(strstr(f.error.text, "ccess port"));
    f.device.passed_over = 3;
    assert_fails(device_choose(&f.device, 2, &f.error), &f.error, ERROR_NO_CORE,
                 "Access port 3 may have another: off, protected");
    assert_ptr_equal(f.device.chosen, &f.device.cores[1]);
}

/* --- taking --------------------------------------------------------------------------------------------- */

FRESH_TEST(a_halted_core_is_refused)
{
    halt_the_model();
    with_server();
    open_it();
    assert_fails(take(false), &f.error, ERROR_HALTED, "main.c:88");
    assert_string_equal(f.calls, "");
    assert_undone();
    assert_string_equal(f.calls, ""); /* it was never held */
}

FRESH_TEST(a_locked_up_core_is_refused)
{
    f.model.locked_up = true;
    open_it();
    assert_fails(take(true), &f.error, ERROR_LOCKUP, "");
    assert_undone();
}

FRESH_TEST(a_halted_core_is_resumed_and_halted_again)
{
    for (int server = 0; server < 2; server++) {
        set_up();
        halt_the_model();
        if (server)
            with_server();
        open_it();
        assert_true(take(true));
        assert_false(f.model.halted);
        assert_true(take_block(NULL));
        assert_undone();
        assert_true(f.model.halted);
        assert_string_equal(f.calls, server ? "run hold release halt " : "");
        assert_true(device_undo(&f.device, &f.deadline, &f.error)); /* twice is once */
        assert_string_equal(f.calls, server ? "run hold release halt " : "");
        device_close(&f.device);
        device_close(&f.device);
    }
}

FRESH_TEST(a_server_that_will_not_resume_is_an_error)
{
    halt_the_model();
    with_server();
    open_it();
    f.stubborn = true;
    assert_fails(take(true), &f.error, ERROR_LINK_PROTOCOL, "");
    assert_true(f.model.halted);
}

/* --- counters ------------------------------------------------------------------------------------------- */

FRESH_TEST(blocks_that_are_not_there_or_not_usable)
{
    f.model.cpuid = 0x410CC601; /* Cortex-M0+: a DWT without counters */
    f.model.fp_ctrl = 0x40;
    f.model.csr = 5;
    f.model.rvr = 0;
    open_it();
    assert_true(take(false));
    assert_fails(take_block("pmu"), &f.error, ERROR_NO_COUNTER, "");
    assert_fails(take_block("dwt"), &f.error, ERROR_NO_COUNTER, "");
    assert_false(take_block(NULL)); /* SysTick's reload value is 0: nothing is left */
    assert_int_equal(f.error.kind, ERROR_NO_COUNTER);
    assert_null(f.device.block);
    assert_undone();
}

/* As an nRF51's Cortex-M0: "Some Cortex-M0 devices, such as the nrf51, don't have the SysTick" (Mbed OS). */
FRESH_TEST(a_systick_that_is_not_there_is_said)
{
    f.model.cpuid = 0x410CC200;
    f.model.fp_ctrl = 0x40;
    f.model.csr = f.model.rvr = f.model.cvr = 0;
    f.model.lacks_systick = true;
    open_it();
    assert_true(take(false));
    assert_fails(take_block("systick"), &f.error, ERROR_NO_COUNTER, "that this chip lacks");
    assert_undone();
}

FRESH_TEST(a_reload_value_that_changes_is_noticed)
{
    f.model.csr = 5;
    f.model.rvr = 9999;
    open_it();
    assert_true(device_check_witness(&f.device, &f.deadline, &f.error)); /* none taken yet */
    assert_true(take(false));
    assert_false(device_follow_reload(&f.device, "SYST_RVR")); /* no counter is taken yet */
    assert_true(take_block("systick"));
    assert_true(device_check_witness(&f.device, &f.deadline, &f.error));
    f.model.rvr = 4999;
    assert_fails(device_check_witness(&f.device, &f.deadline, &f.error), &f.error, ERROR_WRITTEN, "SYST_RVR");
    assert_true(device_follow_reload(&f.device, "SYST_RVR"));
}

/* --- the end -------------------------------------------------------------------------------------------- */

FRESH_TEST(undoing_can_be_tried_again)
{
    for (long k = 0; k < 12; k++)
        for (int halted = 0; halted < 2; halted++) {
            set_up();
            if (halted)
                halt_the_model();
            open_it();
            assert_true(take(true) && take_block(NULL));
            f.model.what = TROUBLE_LOST;
            f.model.trouble_at = f.model.accesses + k;
            f.model.trouble_for = 1;
            if (!device_undo(&f.device, &f.deadline, &f.error))
                assert_error(&f.error, ERROR_LINK_LOST, "");
            f.model.lost = false;
            f.model.trouble_at = -1;
            assert_undone();
            device_close(&f.device);
        }
}

FRESH_TEST(a_target_that_was_never_opened_can_be_closed)
{
    assert_true(device_undo(&f.device, &f.deadline, &f.error));
    device_close(&f.device);
    device_close(&f.device);
}

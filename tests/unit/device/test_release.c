/*
 * Release: what is removed of a model core, and what is the program's own and stays.
 */
#include "../model_link.h"
#include "../test.h"

#include "device/release.h"

#include <stdio.h>

static struct fixture {
    struct model_core model;
    struct link_ops ops;
    struct device device;
    struct deadline deadline;
    struct error error;
    char removed[256];
} f;

static size_t views(struct link *link, struct link_view *out, size_t room, struct error *error)
{
    (void)link;
    (void)room;
    (void)error;
    out[0] = (struct link_view){.unit = 7, .name = "cpu", .type = "cortex_m", .is_core = true};
    return 1;
}

static void on_removed(void *context, const char *what, bool has_place, uint64_t place)
{
    (void)context;
    char where[32] = "";
    size_t used = strlen(f.removed);
    if (has_place)
        snprintf(where, sizeof where, " %x", (unsigned)place);
    snprintf(f.removed + used, sizeof f.removed - used, "%s%s; ", what, where);
}

static const struct release_sink sink = {.removed = on_removed};

static void set_up(void)
{
    static const struct model_event nothing[] = {{.cycles = 100, .pc = 0x1234, .sp = 0x20007F00}};
    memset(&f, 0, sizeof f);
    model_init(&f.model, nothing, 1, 0);
    f.ops = *f.model.link.ops;
    f.ops.views = views;
    f.model.link.ops = &f.ops;
    f.deadline = deadline_in_ms(60000, NULL);
}

static void tear_down(void)
{
    device_close(&f.device);
}

#define RELEASE_TEST(name) TEST_BETWEEN(name, set_up, tear_down)

static void take(void)
{
    assert_true(
        device_open(&f.device, &f.model.link, &(struct device_request){.core = -1}, &f.deadline, &f.error));
    assert_true(device_choose(&f.device, -1, &f.error));
    assert_true(release_stops(&f.device, &sink, &f.deadline, &f.error));
}

RELEASE_TEST(patches_of_the_flash_patch_unit_are_the_programs)
{
    f.model.fp_ctrl |= 1;
    f.model.comparators[0] = 0x00001235; /* bits 31:30 are 0: replaces code */
    f.model.comparators[1] = 0x80001235;
    take();
    assert_string_equal(f.removed, "breakpoint 1236; ");
    assert_int_equal(f.model.comparators[0], 0x00001235);
    assert_int_equal(f.model.comparators[1], 0);
    assert_int_equal(f.model.fp_ctrl & 1, 1);
}

RELEASE_TEST(a_unit_that_is_off_is_tidied_without_a_word)
{
    f.model.fp_ctrl &= ~1U;
    f.model.comparators[1] = 0x80001235;
    take();
    assert_string_equal(f.removed, "");
    assert_int_equal(f.model.comparators[1], 0);
}

RELEASE_TEST(what_it_took_stays_away)
{
    f.model.fp_ctrl |= 1;
    f.model.comparators[2] = 0x40001235;
    f.model.demcr |= 1;
    take();
    assert_string_equal(f.removed, "breakpoint 1234; catch of a reset (DEMCR.VC_CORERESET); ");
    assert_true(device_undo(&f.device, &f.deadline, &f.error));
    assert_int_equal(f.model.comparators[2], 0);
    assert_int_equal(f.model.demcr & 1, 0);
}

/* Killed between two re-hits: C_MASKINTS may only change while C_HALT stays set. */
RELEASE_TEST(interrupts_that_were_held_off_are_let_in_before_it_goes_on)
{
    struct release out;
    f.model.debug = f.model.halted = f.model.maskints = true;
    f.model.pc = 0x1234;
    f.model.dfsr = 0x2;
    take();
    assert_true(release_run(&f.device, &out, &f.deadline, &f.error));
    assert_true(out.was_halted && !out.halted_again);
    assert_int_equal(f.model.careless, 0);
    assert_false(f.model.maskints || f.model.halted);
}

/* Code before DATA_FROM, data up to NOBODY_KNOWS. */
enum { PIECE = 0x20000100, DATA_FROM = PIECE + 16, NOBODY_KNOWS = PIECE + 32, BKPT = 0xBE00 };

static enum mapping mapping_of_piece(void *context, uint64_t address)
{
    (void)context;
    return address < DATA_FROM ? MAPPING_CODE : address < NOBODY_KNOWS ? MAPPING_DATA : MAPPING_NONE;
}

static void on_left(void *context, uint64_t place)
{
    (void)context;
    size_t used = strlen(f.removed);
    snprintf(f.removed + used, sizeof f.removed - used, "left %x; ", (unsigned)place);
}

RELEASE_TEST(breakpoint_instructions_are_removed_from_code_alone)
{
    static const struct release_sink all = {
        .removed = on_removed, .mapping = mapping_of_piece, .left = on_left};
    uint8_t file[48];
    take();
    for (size_t i = 0; i < sizeof file; i++)
        file[i] = (uint8_t)(0x40 + i);
    for (unsigned i = 0; i < sizeof file; i += 2) {
        bool is_one = i == 6 || i == 24 || i == 40;
        model_cell(&f.model, PIECE + i)->code = (uint16_t)(is_one ? BKPT : file[i] | file[i + 1] << 8);
    }
    f.removed[0] = '\0';
    assert_true(release_code(&f.device, PIECE, file, sizeof file, &all, &f.deadline, &f.error));
    assert_string_equal(f.removed, "breakpoint instruction 20000106; left 20000128; ");
    assert_int_equal(model_halfword(&f.model, PIECE + 6), 0x4746);
    assert_int_equal(model_halfword(&f.model, PIECE + 24), BKPT);
    assert_int_equal(model_halfword(&f.model, PIECE + 40), BKPT);
}

RELEASE_TEST(after_a_reset_only_a_core_that_ran_goes_on)
{
    f.model.debug = f.model.halted = true;
    take();
    f.device.chosen->state = CORE_HALTED;
    assert_true(reset_let_go(&f.device, &f.deadline, &f.error));
    assert_true(f.model.halted);
    f.device.chosen->state = CORE_RUNNING;
    assert_true(reset_let_go(&f.device, &f.deadline, &f.error));
    assert_false(f.model.halted);
}

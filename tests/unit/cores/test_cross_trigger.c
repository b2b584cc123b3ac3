#include "cores/architectures.h"
#include "cores/cross_trigger.h"

#include "base/arm_debug.h"
#include "test.h"

enum { CTI = 0x80098000, DEVID = 0x00040800, INPUTS = 2, OUTPUTS = INPUTS + CROSS_TRIGGERS };

static const struct core v7 = {.ops = &armv7_ops, .unit = 3, .cti_base = CTI};

static bool identify(uint64_t control, uint64_t input, uint64_t output, struct cross_trigger *out)
{
    uint64_t values[CROSS_TRIGGER_IDENTITY] = {control, DEVID};
    values[INPUTS + 3] = input;
    values[OUTPUTS + 6] = output;
    return cross_trigger_identify(&v7, values, out);
}

TEST(the_last_channel_that_nothing_uses)
{
    struct cross_trigger found;
    assert_true(identify(1, 0, 0, &found) && found.channel == 8 && !found.was_off);
    assert_true(identify(1, 8, 4, &found) && found.channel == 2);
    assert_false(identify(1, 0xC, 3, &found));
}

/* What the registers of an interface hold that was off since power-up means nothing. */
TEST(one_that_was_off_is_all_ours)
{
    struct cross_trigger found;
    struct setting settings[CROSS_TRIGGER_SETTINGS];
    assert_true(identify(0, 0xF, 0xF, &found) && found.channel == 8 && found.was_off);
    size_t n = cross_trigger_settings(&v7, &found, settings, CROSS_TRIGGER_SETTINGS), cleared = 0;
    for (size_t i = 0; i < n; i++)
        cleared += settings[i].test == UINT32_MAX && settings[i].set == 0;
    assert_int_equal(cleared, 2 * CROSS_TRIGGERS - 1);
    assert_true(settings[n - 1].at.offset == CTI + 0x024 && settings[n - 1].set == 8);
}

TEST(in_one_that_is_on_only_our_channel_changes)
{
    struct cross_trigger found;
    struct setting settings[CROSS_TRIGGER_SETTINGS];
    assert_true(identify(1, 8, 0, &found));
    size_t n = cross_trigger_settings(&v7, &found, settings, CROSS_TRIGGER_SETTINGS);
    for (size_t i = 0; i < n; i++) {
        const struct setting *one = &settings[i];
        bool enables = one->at.offset >= CTI + CTIINEN0 && one->at.offset < CTI + 0x0C0;
        assert_true(!enables || (one->set == 4 && one->keep == UINT32_MAX));
        assert_true(one->at.offset != CTI + CTIGATE || (one->set == 0 && one->keep == ~UINT64_C(4)) ||
                    (one->keep & UINT32_MAX) == 0xFFFFFFFB);
    }
}

TEST(an_armv8_core_has_its_channel_already)
{
    struct core v8 = {.ops = &armv8_ops, .cti_base = CTI, .halt_channel = 4};
    struct cross_trigger found;
    struct setting settings[CROSS_TRIGGER_SETTINGS];
    struct step items[4];
    struct steps list = {.items = items, .room = 4};
    cross_trigger_add_identity(&v8, &list);
    assert_int_equal(list.n, 0);
    assert_true(cross_trigger_identify(&v8, NULL, &found) && found.channel == 4);
    assert_int_equal(cross_trigger_settings(&v8, &found, settings, CROSS_TRIGGER_SETTINGS), 2);
    assert_true(settings[1].at.offset == CTI + 0x024 && settings[1].set == 4);
    v8.halt_channel = 0;
    assert_false(cross_trigger_identify(&v8, NULL, &found));
}

TEST(a_core_without_one)
{
    const struct core none = {.ops = &armv7_ops};
    struct cross_trigger found;
    struct step items[4];
    struct steps list = {.items = items, .room = 4};
    cross_trigger_add_identity(&none, &list);
    assert_int_equal(list.n, 0);
    assert_false(cross_trigger_identify(&none, NULL, &found));
}

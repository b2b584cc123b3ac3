/* SPDX-License-Identifier: MIT */
#include "cores/cross_trigger.h"

#include "base/arm_debug.h"
#include "cores/architectures.h"

enum {
    IDENTITY_CONTROL,
    IDENTITY_DEVID,
    IDENTITY_INPUTS,
    IDENTITY_OUTPUTS = IDENTITY_INPUTS + CROSS_TRIGGERS
};
enum { HALTS = 1 << CTI_OUTPUT_HALT };

static struct address input(const struct core *core, unsigned n)
{
    return core_cti(core, CTIINEN0 + 4 * n);
}

static struct address output(const struct core *core, unsigned n)
{
    return core_cti(core, CTIOUTEN0 + 4 * n);
}

/* --- which channel -------------------------------------------------------------------------------------- */

void cross_trigger_add_identity(const struct core *core, struct steps *list)
{
    if (core->ops != &armv7_ops || core->cti_base == 0)
        return;
    steps_add(list, step_read(core_cti(core, CTICONTROL)));
    steps_add(list, step_read(core_cti(core, CTIDEVID)));
    for (unsigned i = 0; i < CROSS_TRIGGERS; i++)
        steps_add(list, step_read(input(core, i)));
    for (unsigned i = 0; i < CROSS_TRIGGERS; i++)
        steps_add(list, step_read(output(core, i)));
}

uint32_t cross_trigger_last(uint32_t channels)
{
    while ((channels & (channels - 1)) != 0)
        channels &= channels - 1;
    return channels;
}

uint32_t cross_trigger_free(uint64_t devid, const uint64_t *inputs, const uint64_t *outputs, unsigned n)
{
    uint32_t channels = devid >> DEVID_CHANNELS & DEVID_CHANNELS_MASK;
    uint32_t free = channels >= 31 ? 0x7FFFFFFF : (UINT32_C(1) << channels) - 1;
    for (unsigned i = 0; i < n; i++)
        free &= ~(uint32_t)(inputs[i] | outputs[i]);
    return free;
}

/* Takes the last unused channel, for other debuggers begin with the first. */
static bool cross_trigger_identify_armv7(const uint64_t *values, struct cross_trigger *out)
{
    out->was_off = (values[IDENTITY_CONTROL] & CTICONTROL_GLBEN) == 0;
    out->channel =
        cross_trigger_last(cross_trigger_free(values[IDENTITY_DEVID], &values[IDENTITY_INPUTS],
                                              &values[IDENTITY_OUTPUTS], out->was_off ? 0 : CROSS_TRIGGERS));
    return out->channel != 0;
}

bool cross_trigger_identify(const struct core *core, const uint64_t *values, struct cross_trigger *out)
{
    *out = (struct cross_trigger){0};
    if (core->cti_base == 0)
        return false;
    if (core->ops == &armv7_ops)
        return cross_trigger_identify_armv7(values, out);
    out->channel = core->halt_channel;
    return core_has(core, RUN_BY_TRIGGER) && core->halt_channel != 0;
}

/* --- settings ------------------------------------------------------------------------------------------- */

/* After a run that did not end, taken back before the core is let go. */
static struct setting cross_trigger_make(struct address at, uint64_t test, uint64_t set, uint64_t keep)
{
    return (struct setting){.at = at, .test = test, .set = set, .keep = keep, .restore = {.only_ours = true}};
}

/* Written at once, which does no harm, so that the undoing takes back a halt request that is still there. */
static struct setting acknowledged(const struct core *core)
{
    return (struct setting){.at = core_cti(core, CTIINTACK),
                            .test_at = core_cti(core, CTITRIGOUTSTATUS),
                            .test = HALTS,
                            .set = HALTS,
                            .always = true,
                            .restore = {.mask = HALTS, .key = HALTS, .only_ours = true}};
}

static void add_armv7(const struct core *core, const struct cross_trigger *trigger, struct settings *list)
{
    uint32_t channel = trigger->channel;
    settings_add(list, core_open_lock(core_cti(core, CORESIGHT_LAR), core_cti(core, CORESIGHT_LSR)));
    settings_add(list, acknowledged(core));
    for (unsigned i = 0; i < CROSS_TRIGGERS && trigger->was_off; i++) {
        settings_add(list, cross_trigger_make(input(core, i), UINT32_MAX, 0, 0));
        if (i != CTI_OUTPUT_HALT)
            settings_add(list, cross_trigger_make(output(core, i), UINT32_MAX, 0, 0));
    }
    settings_add(list, cross_trigger_make(core_cti(core, CTIGATE), channel, 0, ~channel));
    settings_add(list,
                 cross_trigger_make(output(core, CTI_OUTPUT_HALT), trigger->was_off ? UINT32_MAX : channel,
                                    channel, trigger->was_off ? 0 : UINT32_MAX));
    settings_add(
        list, cross_trigger_make(core_cti(core, CTICONTROL), CTICONTROL_GLBEN, CTICONTROL_GLBEN, UINT32_MAX));
}

size_t cross_trigger_settings(const struct core *core, const struct cross_trigger *trigger,
                              struct setting *out, size_t room)
{
    struct settings list = {.out = out, .room = room};
    if (core->ops == &armv7_ops)
        add_armv7(core, trigger, &list);
    else
        settings_add(&list, acknowledged(core));
    settings_add(&list, cross_trigger_make(input(core, CTI_INPUT_PMU), trigger->channel, trigger->channel,
                                           UINT32_MAX));
    return list.n;
}

void cross_trigger_add_acknowledge(const struct core *core, struct steps *list)
{
    steps_add(list, step_write(core_cti(core, CTIINTACK), HALTS));
    steps_add(list, step_until(core_cti(core, CTITRIGOUTSTATUS), HALTS, 0));
}

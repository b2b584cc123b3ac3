/* SPDX-License-Identifier: MIT */
#include "engine/engine.h"

#include "device/release.h"

#include <stdlib.h>
#include <string.h>

enum { RESET_MS = 5000, FAR = 0x40000000 };

struct reset_engine {
    struct engine engine;
    struct engine *inner;
    struct device *device;
    struct region region;
    const struct engine_sink *sink;
    bool enough;
};

/* The program's own: after a reset the counter is stopped until the program starts it again. */
static bool is_owned(const struct counter_block *block)
{
    bool owned = false;
    for (size_t i = 0; i < block->n_settings; i++)
        owned = owned || block->settings[i].only_watched;
    return owned;
}

/* Wide enough for move_far_away. */
static bool is_wide(const struct counter_block *block)
{
    const struct counter *first = &block->counters[0];
    return first->bits >= 32 && !first->down && first->shift == 0;
}

bool reset_engine_check(const struct device *device, const struct region *region, struct error *error)
{
    const struct core *core = &device->chosen->core;
    if (!device_has_run_control(device))
        return device_refuse_debugger("--reset", "", error);
    if (is_owned(device->block) && !is_wide(device->block))
        return error_set(
            error, ERROR_NO_COUNTER,
            "%s is the program's, which starts it some time after a reset: it cannot measure from there",
            device->block->text);
    if (device->reading.by_core != NULL)
        return error_set(error, ERROR_NO_COUNTER,
                         "%s is set up by instructions that the core executes, which --reset cannot do",
                         device->block->text);
    if (!core_can_compare(core, region->start) ||
        (!region->to_return && !core_can_compare(core, region->end)))
        return error_set(error, ERROR_ADDRESS,
                         "no comparator reaches that code, and the program writes it after a reset: --reset "
                         "cannot stop there");
    return true;
}

static struct reset_engine *reset_engine_of(struct engine *engine)
{
    return (struct reset_engine *)engine;
}

static bool reset_engine_pass_on(struct reset_engine *self, bool ok)
{
    self->engine.stopped_at = self->inner->stopped_at;
    self->engine.unproved = self->inner->unproved;
    self->engine.under_way = self->inner->under_way;
    self->engine.reached = self->inner->reached;
    memcpy(self->engine.doubt, self->inner->doubt, sizeof self->engine.doubt);
    memcpy(self->engine.uncalibrated, self->inner->uncalibrated, sizeof self->engine.uncalibrated);
    return ok;
}

/* The program begins at a place from which it never returns. */
static bool check_start(struct reset_engine *self, const struct deadline *deadline, struct error *error)
{
    uint64_t pc = 0;
    if (!self->region.to_return)
        return true;
    return reset_place(self->device, &pc, deadline, error) &&
           (pc != self->region.start ||
            error_set(error, ERROR_USAGE, "the program begins there, and does not return: name an end"));
}

/* From here on the block is ours. The program wants what it had before the reset: that is restored. */
static bool take_over(struct device *device, const struct deadline *deadline, struct error *error)
{
    for (size_t i = 0; i < device->block->n_settings; i++) {
        struct setting *setting = &device->block->settings[i];
        if (setting->only_watched &&
            !ledger_hold(device->ledger, setting->at, setting->restore, NULL, deadline, error))
            return false;
        setting->only_watched = false;
    }
    return true;
}

/* If the program starts by setting its counter to 0, a long region would seem short. From a far value it
 * seems longer than the time allows, and is found out. */
static bool move_far_away(struct device *device, const struct deadline *deadline, struct error *error)
{
    const struct step away = step_write(device->block->counters[0].low, FAR);
    struct steps list = {.items = (struct step[]){away}, .n = 1, .room = 1};
    uint64_t result;
    return !is_wide(device->block) || (ledger_allow(device->ledger, away.at, error) &&
                                       ledger_run(device->ledger, &list, &result, deadline, error));
}

/* A reset clears the counters, and on some chips the comparators. */
static bool boot(struct reset_engine *self, const struct deadline *deadline, struct error *error)
{
    const struct core *core = &self->device->chosen->core;
    const struct setting on = core_comparators_on(core);
    return reset_and_halt(self->device, deadline, error) && check_start(self, deadline, error) &&
           ledger_apply(self->device->ledger, &on, deadline, error) &&
           device_renew_block(self->device, deadline, error) &&
           move_far_away(self->device, deadline, error) &&
           reset_engine_pass_on(self, self->inner->ops->arm(self->inner, &self->region, deadline, error)) &&
           reset_run(self->device, deadline, error);
}

static bool reset_arm(struct engine *engine, const struct region *region, const struct deadline *deadline,
                      struct error *error)
{
    struct reset_engine *self = reset_engine_of(engine);
    self->region = *region;
    self->region.start_again = false; /* its first passage after the reset is the hit */
    self->region.entered.at = 0;
    if (!take_over(self->device, deadline, error))
        return false;
    return reset_engine_pass_on(self, self->inner->ops->arm(self->inner, &self->region, deadline, error));
}

static bool reset_engine_on_hit(void *context, const struct raw_hit *hit)
{
    struct reset_engine *self = context;
    self->enough = !self->sink->hit(self->sink->context, hit);
    return false;
}

static void reset_engine_on_rehit(void *context, const struct raw_hit *hit)
{
    struct reset_engine *self = context;
    if (self->sink->rehit != NULL)
        self->sink->rehit(self->sink->context, hit);
}

static void reset_engine_on_tick(void *context, enum engine_wait wait)
{
    struct reset_engine *self = context;
    if (self->sink->tick != NULL)
        self->sink->tick(self->sink->context, wait);
}

static void reset_engine_on_poll(void *context, const struct raw_hit *hit, const struct raw_poll *poll)
{
    struct reset_engine *self = context;
    if (self->sink->poll != NULL)
        self->sink->poll(self->sink->context, hit, poll);
}

static bool reset_engine_on_ended(void *context, struct error *error)
{
    struct reset_engine *self = context;
    return self->sink->ended(self->sink->context, error);
}

static bool reset_engine_run(struct engine *engine, const struct engine_request *request,
                             const struct engine_sink *sink, const struct deadline *deadline,
                             struct error *error)
{
    struct reset_engine *self = reset_engine_of(engine);
    const struct engine_sink between = {.context = self,
                                        .hit = reset_engine_on_hit,
                                        .rehit = reset_engine_on_rehit,
                                        .tick = reset_engine_on_tick,
                                        .poll = reset_engine_on_poll,
                                        .ended = sink->ended != NULL ? reset_engine_on_ended : NULL};
    struct engine_request one = *request;
    one.hits = 1;
    self->sink = sink;
    self->enough = false;
    for (uint64_t i = 0; i < request->hits && !self->enough; i++) {
        struct deadline soon = deadline_in_ms(patience_ms(RESET_MS), deadline->cancel);
        if (!boot(self, &soon, error) ||
            !reset_engine_pass_on(self, self->inner->ops->run(self->inner, &one, &between, deadline, error)))
            return false;
        one.rehits = 0;
    }
    return true;
}

static bool reset_engine_read_registers(struct engine *engine, struct register_value *registers, size_t n,
                                        const struct deadline *deadline, struct error *error)
{
    struct engine *inner = reset_engine_of(engine)->inner;
    return inner->ops->read_registers(inner, registers, n, deadline, error);
}

static bool reset_engine_disarm(struct engine *engine, const struct deadline *deadline, struct error *error)
{
    struct reset_engine *self = reset_engine_of(engine);
    return reset_engine_pass_on(self, self->inner->ops->disarm(self->inner, deadline, error));
}

static void reset_engine_free_engine(struct engine *engine)
{
    struct reset_engine *self = reset_engine_of(engine);
    self->inner->ops->free(self->inner);
    free(self);
}

struct engine *reset_engine_new(struct device *device, struct engine *inner)
{
    static const struct engine_ops ops = {.arm = reset_arm,
                                          .run = reset_engine_run,
                                          .read_registers = reset_engine_read_registers,
                                          .disarm = reset_engine_disarm,
                                          .free = reset_engine_free_engine};
    struct reset_engine *self = inner != NULL ? calloc(1, sizeof *self) : NULL;
    if (self == NULL) {
        if (inner != NULL)
            inner->ops->free(inner);
        return NULL;
    }
    self->engine.ops = &ops;
    self->inner = inner;
    self->device = device;
    return &self->engine;
}

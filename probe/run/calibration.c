#include "run/calibration.h"

#include "debuggers/debugger.h"
#include "engine/engine.h"
#include "run/engine_use.h"
#include "run/region.h"
#include "run/trial.h"

enum { REHITS = 32, STEPS = 16 };

static bool one_is_enough(void *context, const struct raw_hit *hit)
{
    struct calibrating *self = context;
    self->stands_still = hit->from[0] == hit->to[0];
    return false;
}

static void take_rehit(void *context, const struct raw_hit *rehit)
{
    struct calibrating *self = context;
    uint64_t us = us_between(rehit->before_us, rehit->after_us);
    if (self->written.kind == ERROR_NONE && plausible_span(&self->plausible, rehit->from, rehit->to, us,
                                                           rehit->pairs + rehit->steps, &self->written))
        halt_cost_rehit(&self->halts, rehit);
}

/* One round from the location to itself, with re-hits at its ends. */
static bool calibrate_there(void *context, struct engine *engine, const struct deadline *deadline,
                            struct error *error)
{
    struct calibrating *self = context;
    const struct request *request = self->session->request;
    const struct device *device = &self->session->device;
    const struct engine_sink sink = {.context = self, .hit = one_is_enough, .rehit = take_rehit};
    bool thumb = self->location->isa == ISA_THUMB;
    const struct region region = {.start = self->location->address,
                                  .end = self->location->address,
                                  .start_is_thumb = thumb,
                                  .end_is_thumb = thumb,
                                  .process = request->process};
    const struct engine_request wanted = {
        .hits = 1, .rehits = REHITS / 2, .timeout_ms = (int64_t)(request->timeout_s * 1000)};
    return engine->ops->arm(engine, &region, deadline, error) &&
           engine->ops->run(engine, &wanted, &sink, deadline, error) &&
           (!self->stands_still || !device->block->counts_cycles ||
            error_set(error, ERROR_WRITTEN,
                      "%s does not count while the program runs: something else stopped it",
                      device->block->kind->name));
}

static bool calibrate_here(void *context, struct engine *engine, const struct deadline *deadline,
                           struct error *error)
{
    const struct engine_sink sink = {.context = context, .hit = one_is_enough, .rehit = take_rehit};
    return debugger_engine_calibrate_here(engine, REHITS, STEPS, &sink, deadline, error);
}

static bool use(void *context, struct engine *engine, const struct deadline *deadline, struct error *error)
{
    struct calibrating *self = context;
    bool ok = (self->location != NULL ? calibrate_there : calibrate_here)(self, engine, deadline, error);
    return ok && (self->written.kind == ERROR_NONE || error_copy(error, &self->written));
}

bool calibration_measure(struct calibrating *self, struct error *error)
{
    struct session *session = self->session;
    struct device *device = &session->device;
    const struct process *process = &session->request->process;
    struct clock clock;
    double seen_hz;
    if (self->location == NULL && !process_check_debugged(process, error))
        return false;
    if (!session_take(session, error) || !trial_run(session, &clock, &seen_hz, error) ||
        !counting_open(&self->counting, session, &clock, error))
        return false;
    session_conditions(session, &clock, &self->conditions);
    process_note(process, self->conditions.note, sizeof self->conditions.note);
    halt_cost_begin(&self->halts, device, &clock);
    self->plausible = plausible_begin(&device->reading, device->block->counts_cycles, &clock, seen_hz);
    bool ok = engine_use_once(session, use, self, error);
    halt_cost_end(&self->halts);
    return ok;
}

void calibration_close(struct calibrating *self)
{
    counting_close(&self->counting);
}

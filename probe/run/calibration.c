/* SPDX-License-Identifier: MIT */
#include "run/calibration.h"

#include "debuggers/debugger.h"
#include "device/doctor.h"
#include "device/settings.h"
#include "engine/engine.h"
#include "run/engine_use.h"
#include "run/program.h"
#include "run/region.h"
#include "run/region_notes.h"
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
            error_set(error, ERROR_WRITTEN, "%s does not count while the program runs: something stopped it",
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
    char stop[REGION_NOTES];
    if (self->location == NULL && !process_check_debugged(process, error))
        return false;
    device->sees_exceptions = true;
    if (!session_take(session, error) || !trial_run(session, &clock, &seen_hz, error) ||
        !counting_open(&self->counting, session, &clock, error))
        return false;
    session_conditions(session, &clock, &self->conditions);
    process_note(process, self->conditions.note, sizeof self->conditions.note);
    if (self->location != NULL) {
        region_stop_note(session, self->location->address, stop, sizeof stop);
        conditions_add_note(&self->conditions, stop);
    }
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

/* ---- proof */

enum { HITS = 3, RUN_MS = 20, LIST_ROOM = 64, LET_GO_TRIES = 3 };

struct prove {
    struct session *session;
    struct proof *proof;
    struct named_region region;
    struct snapshot before, after;
    struct snapshot *held; /* takes what the ledger holds meanwhile */
};

static bool proof_on_hit(void *context, const struct raw_hit *hit)
{
    struct prove *self = context;
    (void)hit;
    snapshot_add_held(self->held, self->session->device.ledger);
    return true;
}

static bool run_region(void *context, struct engine *engine, const struct deadline *deadline,
                       struct error *error)
{
    struct prove *self = context;
    const struct engine_request wanted = {.hits = HITS,
                                          .timeout_ms = (int64_t)(self->session->request->timeout_s * 1000)};
    const struct engine_sink sink = {.context = self, .hit = proof_on_hit};
    return engine->ops->arm(engine, &self->region.region, deadline, error) &&
           engine->ops->run(engine, &wanted, &sink, deadline, error);
}

/* Not to be cancelled between the halt and the resume. */
static bool halt_and_resume(struct session *session, struct error *error)
{
    struct device *device = &session->device;
    struct core *core = &device->chosen->core;
    struct deadline deadline = session_last_deadline(session);
    struct step items[LIST_ROOM];
    uint64_t results[LIST_ROOM];
    struct steps list = {.items = items, .room = LIST_ROOM};
    core_add_halt(core, &list);
    core_add_let_go(core, &list);
    if (!settings_watch_resets(device->ledger, core, &deadline, error) ||
        !settings_switch_on_comparators(device->ledger, core, &deadline, error))
        return false;
    bool ok = ledger_run(device->ledger, &list, results, &deadline, error);
    struct error again = {0};
    /* What failed may lie between the two: the core is halted once more, and let go */
    for (int i = 0; !ok && i < LET_GO_TRIES; i++)
        if (ledger_run(device->ledger, &list, results, &deadline, &again))
            break;
    return ok;
}

static bool measure_time(struct prove *self, struct error *error)
{
    struct device *device = &self->session->device;
    const struct core *core = &device->chosen->core;
    uint64_t values[READING_ROOM], before_us, after_us;
    struct deadline deadline = session_deadline(self->session);
    bool can_halt = device->halted_access == NULL && core_has_run_control(core) && core->unstoppable == NULL;
    return device_read(device, values, &before_us, &after_us, &deadline, error) &&
           (!can_halt || halt_and_resume(self->session, error)) &&
           device_run_for(device, RUN_MS, &deadline, error) &&
           device_read(device, values, &before_us, &after_us, &deadline, error);
}

/* Takes the counter, measures, and puts all back; what the ledger held meanwhile is added to `held`. */
static bool proof_measure(struct prove *self, struct snapshot *held, struct error *error)
{
    struct session *session = self->session;
    struct error after = {0};
    self->held = held;
    bool ok = session_take(session, error);
    ok = ok && (self->proof->start != NULL ? engine_use_once(session, run_region, self, error)
                                           : measure_time(self, error));
    snapshot_add_held(held, session->device.ledger);
    if (!session_undo(session, &after))
        ok = error_copy(error, &after);
    return ok;
}

/* A register that a lock hides, or that only the halted core reads, is found as it is by the next taking. */
static bool take_after(struct prove *self, struct error *error)
{
    struct deadline deadline = session_deadline(self->session);
    snapshot_copy_list(&self->after, &self->before);
    return snapshot_read(&self->after, self->session->device.ledger, &deadline, error) &&
           (snapshot_is_complete(&self->after) || proof_measure(self, &self->after, error));
}

static void report(const struct prove *self, size_t i, bool left)
{
    const struct snapshot_item *was = &self->before.items[i], *is = &self->after.items[i];
    struct proof_register it = {.offset = was->at.offset,
                                .before = was->value,
                                .after = is->value,
                                .moves = left ? NULL : was->moves};
    if (!ledger_name(&was->at, it.name, sizeof it.name))
        it.name[0] = '\0';
    self->proof->differs(self->proof->context, &it);
}

static void proof_compare(const struct prove *self)
{
    struct proof *out = self->proof;
    for (size_t i = 0; i < self->before.n; i++) {
        if (self->before.items[i].indirect)
            continue;
        enum snapshot_finding finding = snapshot_compare(&self->before, &self->after, i);
        out->compared += finding != SNAPSHOT_UNKNOWN;
        out->unknown += finding == SNAPSHOT_UNKNOWN;
        out->moved += finding == SNAPSHOT_MOVED;
        out->left += finding == SNAPSHOT_LEFT;
        if (finding == SNAPSHOT_MOVED || finding == SNAPSHOT_LEFT)
            report(self, i, finding == SNAPSHOT_LEFT);
    }
}

bool proof_make(struct session *session, struct proof *proof, struct error *error)
{
    struct prove self = {.session = session, .proof = proof};
    if (session->device.debugger != NULL || session->device.remote != NULL)
        return device_refuse_debugger("--prove", "", error);
    if (proof->start != NULL && (!region_find(&self.region, session, proof->start, proof->end, error) ||
                                 !program_check_region(session, &self.region, error)))
        return false;
    snapshot_list(&self.before, &session->device, proof->block);
    struct deadline deadline = session_deadline(session);
    if (!snapshot_read(&self.before, session->device.ledger, &deadline, error) ||
        !proof_measure(&self, &self.before, error) || !take_after(&self, error))
        return false;
    proof_compare(&self);
    return true;
}

/* doctor --prove: a snapshot, a measurement, everything put back, a second snapshot, and what differs. */
#include "device/settings.h"
#include "device/snapshot.h"
#include "report/json.h"
#include "report/terminal.h"
#include "run/session.h"
#include "run/where.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { HITS = 3, RUN_MS = 20, LEFT = 64, LIST_ROOM = 64, LET_GO_TRIES = 3 };

struct prove {
    struct session *session;
    struct named_region region;
    struct snapshot before, after;
    struct snapshot *held; /* takes what the ledger holds meanwhile */
};

static bool on_hit(void *context, const struct raw_hit *hit)
{
    struct prove *self = context;
    (void)hit;
    snapshot_add_held(self->held, self->session->device.ledger);
    return true;
}

static bool measure_region(struct prove *self, struct error *error)
{
    struct session *session = self->session;
    struct engine *engine = session_engine(session, error);
    struct error after = {0};
    const struct engine_request request = {
        .hits = HITS, .timeout_ms = (int64_t)(session->context->options->timeout_s * 1000)};
    const struct engine_sink sink = {.context = self, .hit = on_hit};
    if (engine == NULL)
        return false;
    struct deadline deadline = session_deadline(session);
    bool ok = engine->ops->arm(engine, &self->region.region, &deadline, error) &&
              engine->ops->run(engine, &request, &sink, &deadline, error);
    if (!session_end_engine(session, engine, error, &after))
        ok = error_copy(error, &after);
    ok = where_tell(session, error) && ok;
    engine->ops->free(engine);
    return ok;
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
    for (int i = 0;
         !ok && i < LET_GO_TRIES && !ledger_run(device->ledger, &list, results, &deadline, &again);)
        i++;
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
static bool measure(struct prove *self, struct snapshot *held, struct error *error)
{
    struct session *session = self->session;
    struct error after = {0};
    self->held = held;
    bool ok = session_take(session, error);
    ok = ok && (session->context->options->n_operands > 0 ? measure_region(self, error)
                                                          : measure_time(self, error));
    snapshot_add_held(held, session->device.ledger);
    if (!session_undo(session, &after))
        ok = error_copy(error, &after);
    return ok;
}

/* A register behind a lock, or one that only the halted core reads, is found as it is by the next taking. */
static bool take_after(struct prove *self, struct error *error)
{
    struct deadline deadline = session_deadline(self->session);
    snapshot_copy_list(&self->after, &self->before);
    return snapshot_read(&self->after, self->session->device.ledger, &deadline, error) &&
           (snapshot_is_complete(&self->after) || measure(self, &self->after, error));
}

static bool is_json(const struct prove *self)
{
    return self->session->context->options->format == FORMAT_JSON;
}

static void put_register(const struct prove *self, size_t i, bool left)
{
    const struct snapshot_item *was = &self->before.items[i], *is = &self->after.items[i];
    FILE *out = self->session->context->out;
    const char *why = left ? "" : was->moves;
    char name[24], text[256], head[LEFT];
    ledger_name(was->at, name, sizeof name);
    if (is_json(self)) {
        struct json_part line = json_part_new("register");
        json_part_text(&line, "name", name);
        json_part_hex(&line, "address", was->at.offset);
        json_part_hex(&line, "before", was->value);
        json_part_hex(&line, "after", is->value);
        json_part_bool(&line, "left", left);
        json_part_text(&line, "reason", why);
        json_part_write(out, line);
        return;
    }
    snprintf(text, sizeof text, "0x%08" PRIX64 "%s%s: 0x%" PRIX64 " became 0x%" PRIX64 "%s%s", was->at.offset,
             name[0] != '\0' ? ", " : "", name, was->value, is->value, left ? "" : ": ", why);
    snprintf(head, sizeof head, "  %-15s %-10s ", "", left ? "LEFT" : "moved");
    fold_beside(out, terminal_columns(out), head, text);
}

static void put_verdict(const struct prove *self, const struct proof *proof)
{
    FILE *out = self->session->context->out;
    char text[256], head[LEFT], unseen[64] = "", moved[64] = "";
    if (proof->unknown > 0)
        snprintf(unseen, sizeof unseen, "; %zu could not be read", proof->unknown);
    if (proof->moved > 0)
        snprintf(moved, sizeof moved, ", but %zu that move by themselves", proof->moved);
    if (proof->left > 0)
        snprintf(text, sizeof text, "%zu of %zu registers are not as before%s", proof->left, proof->compared,
                 unseen);
    else
        snprintf(text, sizeof text, "all %zu registers are as before%s%s", proof->compared, moved, unseen);
    snprintf(head, sizeof head, "  %-15s %-10s ", "restored", proof->left > 0 ? "NOT ALL" : "ok");
    fold_beside(out, terminal_columns(out), head, text);
}

static void compare(const struct prove *self, struct proof *out)
{
    for (size_t i = 0; i < self->before.n; i++) {
        if (self->before.items[i].indirect)
            continue;
        enum snapshot_finding finding = snapshot_compare(&self->before, &self->after, i);
        out->compared += finding != SNAPSHOT_UNKNOWN;
        out->unknown += finding == SNAPSHOT_UNKNOWN;
        out->moved += finding == SNAPSHOT_MOVED;
        out->left += finding == SNAPSHOT_LEFT;
        if (finding == SNAPSHOT_MOVED || finding == SNAPSHOT_LEFT)
            put_register(self, i, finding == SNAPSHOT_LEFT);
    }
    if (!is_json(self))
        put_verdict(self, out);
}

bool session_prove(struct session *session, const struct counter_block *block, struct proof *out,
                   struct error *error)
{
    const struct options *options = session->context->options;
    struct prove self = {.session = session};
    *out = (struct proof){0};
    if (session->device.debugger != NULL || session->device.remote != NULL)
        return error_set(error, ERROR_USAGE,
                         "--prove needs OpenOCD's Tcl port or a CMSIS-DAP probe: a GDB server halts the core "
                         "for each look");
    if (options->n_operands > 0 && (!region_locate(&self.region, session->symbols, options, error) ||
                                    !region_look_into(&self.region, session->symbols, error)))
        return false;
    snapshot_list(&self.before, &session->device, block);
    struct deadline deadline = session_deadline(session);
    if (!snapshot_read(&self.before, session->device.ledger, &deadline, error) ||
        !measure(&self, &self.before, error) || !take_after(&self, error))
        return false;
    compare(&self, out);
    return true;
}

#include "run/trial.h"

#include "measure/plausible.h"
#include "report/number.h"
#include "run/own_code.h"

#include <stdio.h>
#include <string.h>

enum { CLOCK_MS = 60 };

static bool clock_from_program(struct session *session, struct clock *out)
{
    uint64_t address, size;
    uint32_t value;
    struct deadline deadline = session_deadline(session);
    if (session->symbols == NULL || !symbols_object(session->symbols, "SystemCoreClock", &address, &size) ||
        size != 4 || !session_look(session, &session->device.chosen->core, address, &deadline, &value) ||
        value < 1000 || value > 2000000000)
        return false;
    *out = clock_given((double)value, "SystemCoreClock", core_fastest_hz(&session->device.chosen->core));
    session->clock.at = address;
    session->clock.was = value;
    return true;
}

/* The program may have switched its clock since. What cannot be read shows nothing. */
const char *trial_clock_change(struct session *session)
{
    uint32_t value;
    char before[NUMBER_ROOM], after[NUMBER_ROOM];
    struct deadline deadline = session_last_deadline(session);
    if (session->clock.at == 0 || session->clock.change[0] != '\0' ||
        !session_look(session, &session->device.chosen->core, session->clock.at, &deadline, &value) ||
        value == session->clock.was)
        return session->clock.change;
    number_frequency(before, sizeof before, (double)session->clock.was);
    number_frequency(after, sizeof after, (double)value);
    snprintf(session->clock.change, sizeof session->clock.change,
             "SystemCoreClock went from %.24s to %.24s during the run", before, after);
    return session->clock.change;
}

void trial_end_conditions(const struct session *session, struct conditions *conditions)
{
    if (session->clock.change[0] == '\0')
        return;
    memcpy(conditions->clock_change, session->clock.change, sizeof conditions->clock_change);
    conditions->clock_hz = conditions->clock_error_hz = 0;
}

bool trial_clock(struct session *session, struct clock *out, struct error *error)
{
    const struct request *request = session->request;
    if (request->freq_hz > 0) {
        *out = clock_given(request->freq_hz, "--freq", core_fastest_hz(&session->device.chosen->core));
        return true;
    }
    if (session->device.block->counts_cycles && clock_from_program(session, out))
        return true;
    /* The counters can be read only between two halts, or they run on another clock */
    if (!device_sees_running(&session->device) || session->device.remote != NULL) {
        *out = clock_unknown(core_fastest_hz(&session->device.chosen->core));
        return true;
    }
    struct deadline deadline = session_deadline(session);
    return clock_measure(&session->device, CLOCK_MS, out, &deadline, error);
}

/* A block that is free, or that wraps slowly and can be read while the program uses it. */
static struct counter_block *find_other(const struct device *device)
{
    static const uint64_t SLOW = 1 << 20;
    struct device_core *core = device_counted(device);
    for (size_t i = 0; i < core->n_blocks; i++) {
        struct counter_block *block = &core->blocks[i];
        if (block != device->block && block->unusable[0] == '\0' && block->counts_cycles &&
            counter_modulus(&block->counters[0]) >= SLOW)
            return block;
    }
    return NULL;
}

static bool try_once(struct session *session, struct clock *clock, double *seen_hz, struct error *error)
{
    struct deadline deadline = session_deadline(session);
    return own_code_check(session, error) && trial_clock(session, clock, error) &&
           plausible_trial(&session->device, clock, seen_hz, &deadline, error);
}

/* A counter whose reload the program changes counts from stop to stop all the same. */
static bool may_follow(struct session *session, const struct error *why)
{
    return why->kind == ERROR_WRITTEN && !session->polls &&
           device_follow_reload(&session->device, why->subject);
}

static bool trial_follow(struct session *session, struct clock *clock, double *seen_hz, struct error *error)
{
    struct deadline deadline = session_deadline(session);
    return device_take_block(&session->device, session->device.block->kind->name, &deadline, error) &&
           try_once(session, clock, seen_hz, error);
}

bool trial_counter(struct session *session, struct clock *clock, double *seen_hz, struct error *error)
{
    struct error why = {0};
    if (try_once(session, clock, seen_hz, &why))
        return true;
    return may_follow(session, &why) ? trial_follow(session, clock, seen_hz, error) : error_copy(error, &why);
}

bool trial_other(struct session *session, const struct error *why, struct clock *clock, double *seen_hz,
                 struct error *error)
{
    const struct request *request = session->request;
    struct deadline deadline = session_deadline(session);
    const struct counter_block *written = session->device.block;
    struct counter_block *other = find_other(&session->device);
    if (may_follow(session, why))
        return trial_follow(session, clock, seen_hz, error);
    char own_write[sizeof session->measured.own_write];
    memcpy(own_write, session->measured.own_write, sizeof own_write);
    /* The requested events belong to the block that has them */
    if (!error_is_written(why) || other == NULL || request->counter != NULL || request->n_events > 0 ||
        request->n_metrics > 0)
        return error_copy(error, why);
    struct error other_why = {0};
    if (!device_take_block(&session->device, other->kind->name, &deadline, &other_why) ||
        !trial_counter(session, clock, seen_hz, &other_why)) {
        bool no_better = error_is_written(&other_why) || other_why.kind == ERROR_NO_COUNTER;
        memcpy(session->measured.own_write, own_write, sizeof own_write);
        return error_copy(error, no_better ? why : &other_why);
    }
    char note[sizeof other->note];
    snprintf(note, sizeof note, "%.120s%sthe counter of %.32s is not used: %s", other->note,
             other->note[0] != '\0' ? "; " : "", written->text,
             why->kind == ERROR_WRITER_SOUGHT ? own_write : "something else writes it");
    memcpy(other->note, note, sizeof note);
    return true;
}

bool trial_run(struct session *session, struct clock *clock, double *seen_hz, struct error *error)
{
    struct error why = {0}, other = {0}, watched = {0};
    struct deadline deadline = session_deadline(session);
    const struct counter_block *first = session->device.block;
    if (trial_counter(session, clock, seen_hz, &why) || trial_other(session, &why, clock, seen_hz, &other))
        return true;
    if (!own_code_watch(session, &other))
        return error_copy(error, &other);
    if (session->device.block != first &&
        !device_take_block(&session->device, first->kind->name, &deadline, error))
        return false;
    return trial_counter(session, clock, seen_hz, &watched) ||
           trial_other(session, &watched, clock, seen_hz, error);
}

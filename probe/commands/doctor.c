/* doctor: why a counter cannot be read, and what mends it. --mend is the one thing that leaves a trace. */
#include "target/doctor.h"
#include "commands/command.h"
#include "commands/doctor_writers.h"
#include "commands/session.h"
#include "debuggers/debugger.h"
#include "measure/trial.h"
#include "report/fold.h"
#include "report/json_part.h"
#include "report/terminal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* The pause between two looks doubles until the counter has moved: a core may get little time, in a model. */
enum { PAUSE_MS = 20, PAUSES = 6, LEFT = 64, INDENT = 2 };

static bool is_json(const struct session *session)
{
    return session->context->options->format == FORMAT_JSON;
}

static void put_core(struct session *session)
{
    const struct target *target = &session->target;
    const struct core *core = &target->chosen->core;
    struct json_part line = json_part_new("core");
    char link[128];
    link_describe(session->link, link, sizeof link);
    json_command_header(session->context->out, "doctor", link);
    json_part_unsigned(&line, "number", (uint64_t)(target->chosen - target->cores));
    json_part_text(&line, "name", core->name);
    if (core->debug_base != 0)
        json_part_hex(&line, "debug_base", core->debug_base);
    if (core->pmu_base != 0)
        json_part_hex(&line, "pmu_base", core->pmu_base);
    json_part_write(session->context->out, line);
}

static void put_tests(FILE *out, const struct diagnosis *diagnosis)
{
    static const char *const findings[] = {
        [FINDING_OK] = "ok", [FINDING_BAD] = "bad", [FINDING_UNKNOWN] = "unknown"};
    for (size_t i = 0; i < diagnosis->n; i++) {
        const struct doctor_test *test = &diagnosis->tests[i];
        struct json_part line = json_part_new("test");
        json_part_text(&line, "name", test->name);
        json_part_text(&line, "finding", findings[test->finding]);
        json_part_text(&line, "state", test->state);
        json_part_text(&line, "detail", test->detail);
        json_part_write(out, line);
    }
}

static void put_counter(FILE *out, const struct target *target, uint64_t first, uint64_t second, int ms)
{
    struct json_part line = json_part_new("counter");
    json_part_text(&line, "name", target->reading.counters[0].name);
    json_part_text(&line, "text", target->block->text);
    json_part_text(&line, "state", target->block->state);
    json_part_unsigned(&line, "first", first);
    json_part_unsigned(&line, "second", second);
    json_part_unsigned(&line, "ms", (uint64_t)ms);
    json_part_bool(&line, "moves", first != second);
    json_part_write(out, line);
}

/* It may have been found before the counter could be taken. */
static void put_written(struct session *session, const struct error *why)
{
    FILE *out = session->context->out;
    const struct counter_block *block = doctor_written_block(session);
    if (is_json(session)) {
        struct json_part line = json_part_new("counter");
        json_part_text(&line, "name", block != NULL ? block->counters[0].name : "");
        json_part_text(&line, "text", block != NULL ? block->text : "");
        json_part_bool(&line, "written", true);
        json_part_write(out, line);
    } else {
        fprintf(out, "  %-15s %-10s %s\n", "counter", "WRITTEN", block != NULL ? block->text : "");
    }
    doctor_name_writers(session, why);
}

static bool put_summary(const struct session *session, const struct diagnosis *diagnosis, bool mended,
                        struct error *error)
{
    struct json_part line = json_part_new("summary");
    json_part_bool(&line, "healthy", diagnosis->healthy);
    if (!diagnosis->healthy) {
        json_part_text(&line, "reason", diagnosis->reason);
        json_part_text(&line, "advice", diagnosis->advice);
        json_part_bool(&line, "mendable", diagnosis->mendable);
        json_part_bool(&line, "mended", mended);
    }
    return json_part_write(session->context->out, line) ||
           error_set(error, ERROR_SYSTEM, "the output could not be written");
}

static void print_core(FILE *out, const struct target *target)
{
    const struct core *core = &target->chosen->core;
    fprintf(out, "core %d   %s", (int)(target->chosen - target->cores), core->name);
    if (core->debug_base != 0)
        fprintf(out, "   debug 0x%08" PRIX64, core->debug_base);
    if (core->pmu_base != 0)
        fprintf(out, "   PMU 0x%08" PRIX64, core->pmu_base);
    fprintf(out, "\n\n");
}

static void print_tests(FILE *out, const struct diagnosis *diagnosis)
{
    for (size_t i = 0; i < diagnosis->n; i++) {
        char left[LEFT];
        snprintf(left, sizeof left, "  %-15s %-10s ", diagnosis->tests[i].name, diagnosis->tests[i].state);
        fold_beside(out, terminal_columns(out), left, diagnosis->tests[i].detail);
    }
}

/* For a moment. A debugger has halted the core, and does it again. */
static bool let_run(struct target *target, int ms, const struct deadline *deadline, struct error *error)
{
    if (target->debugger != NULL)
        return debugger_run_for(target->debugger, ms, deadline, error);
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L}, NULL);
    return true;
}

/* *second is *first: it stood still for *ms. */
static bool read_twice(struct target *target, uint64_t *first, uint64_t *second, int *ms,
                       const struct deadline *deadline, struct error *error)
{
    uint64_t values[READING_ROOM], before, after;
    if (!target_read(target, values, &before, &after, deadline, error))
        return false;
    *first = *second = values[0];
    *ms = 0;
    for (int i = 0, pause = PAUSE_MS; i < PAUSES && *second == *first; i++, pause *= 2) {
        if (!let_run(target, pause, deadline, error) ||
            !target_read(target, values, &before, &after, deadline, error))
            return false;
        *second = values[0];
        *ms += pause;
    }
    return true;
}

static bool check_movement(const struct session *session, bool moves, uint64_t status, struct error *error)
{
    const struct core *counted = &target_counted(&session->target)->core;
    if (moves || counted->ops->state(counted, status) == CORE_ASLEEP)
        return true;
    doctor_name_stoppers(session);
    return error_set(error, ERROR_NO_COUNTER, "%s stands still while the core runs",
                     session->target.reading.counters[0].name);
}

/* The counter itself: on a running core it moves between two reads. */
static bool try_counter(struct session *session, struct error *error)
{
    FILE *out = session->context->out;
    struct target *target = &session->target;
    const struct core *counted = &target_counted(target)->core;
    uint64_t first, second, status;
    int ms;
    struct deadline deadline = session_deadline(session);
    struct clock clock;
    double seen_hz;
    if (!session_take(session, error) || !session_clock(session, &clock, error) ||
        !trial_run(target, &clock, &seen_hz, &deadline, error)) {
        if (error->kind == ERROR_WRITTEN)
            put_written(session, error);
        else if (error->kind == ERROR_NO_COUNTER && error->subject != NULL)
            doctor_name_writers(session, error);
        return false;
    }
    if (!read_twice(target, &first, &second, &ms, &deadline, error) ||
        !ledger_read(target->ledger, counted->ops->status(counted), &status, &deadline, error))
        return false;
    const char *name = target->reading.counters[0].name;
    bool moves = first != second;
    if (is_json(session)) {
        put_counter(out, target, first, second, ms);
        return check_movement(session, moves, status, error);
    }
    fprintf(out, "  %-15s %-10s %s: %" PRIu64 ", and %d ms later %" PRIu64 "\n", "counter",
            moves ? "ok" : "STANDS", name, first, ms, second);
    fprintf(out, "  %-15s %-10s %s\n", "in use", target->block->state, target->block->text);
    return check_movement(session, moves, status, error);
}

static bool mend(struct session *session, const struct diagnosis *diagnosis, struct error *error)
{
    struct ledger *ledger = session->target.ledger;
    struct deadline deadline = session_deadline(session);
    const struct setting *setting = &diagnosis->mend;
    if (!ledger_apply(ledger, setting, &deadline, error))
        return false;
    ledger_forget(ledger, setting->at); /* it is to stay */
    if (!is_json(session))
        fprintf(session->context->out, "\nMended, and left so: 0x%08" PRIX64 " was written.\n",
                setting->at.offset);
    return true;
}

static bool examine_as_json(struct session *session, bool *healthy, struct error *error)
{
    struct diagnosis diagnosis;
    struct deadline deadline = session_deadline(session);
    put_core(session);
    if (!doctor_examine(&session->target, session->target.chosen, &diagnosis, &deadline, error))
        return false;
    put_tests(session->context->out, &diagnosis);
    *healthy = diagnosis.healthy;
    bool mending = !diagnosis.healthy && diagnosis.mendable && session->context->options->mend;
    return (!diagnosis.healthy || try_counter(session, error)) &&
           (!mending || mend(session, &diagnosis, error)) && put_summary(session, &diagnosis, mending, error);
}

static bool examine(struct session *session, bool *healthy, struct error *error)
{
    FILE *out = session->context->out;
    struct diagnosis diagnosis;
    struct deadline deadline = session_deadline(session);
    if (is_json(session))
        return examine_as_json(session, healthy, error);
    print_core(out, &session->target);
    if (!doctor_examine(&session->target, session->target.chosen, &diagnosis, &deadline, error))
        return false;
    print_tests(out, &diagnosis);
    *healthy = diagnosis.healthy;
    if (diagnosis.healthy)
        return try_counter(session, error);
    char reason[sizeof diagnosis.reason + 64];
    snprintf(reason, sizeof reason, "The counters cannot be read: %s.", diagnosis.reason);
    fputc('\n', out);
    fold_text(out, terminal_columns(out), INDENT, reason);
    fold_text(out, terminal_columns(out), INDENT, diagnosis.advice);
    if (!diagnosis.mendable)
        return true;
    if (session->context->options->mend)
        return mend(session, &diagnosis, error);
    fprintf(out, "To mend it and leave it so:  pmu-probe -C %d doctor --mend\n",
            (int)(session->target.chosen - session->target.cores));
    return true;
}

int command_doctor(const struct context *context, struct error *error)
{
    struct session session = {.context = context};
    bool healthy = true;
    bool ok = session_open_elf(&session, error) && session_open_target(&session, error) &&
              examine(&session, &healthy, error);
    /* A counter that stands still, or that somebody writes, is what was looked for */
    bool found = error->kind == ERROR_NO_COUNTER || error->kind == ERROR_WRITTEN;
    if (found)
        command_has_result(context);
    if (error->kind == ERROR_WRITTEN)
        error->kind = ERROR_WRITER_SOUGHT;
    struct error after = {0};
    if (!session_close(&session, &after))
        ok = error_add(error, &after);
    if (!ok)
        return found ? EXIT_UNHEALTHY : error_exit_code(error->kind);
    return healthy || context->options->mend ? EXIT_DONE : EXIT_UNHEALTHY;
}

/* watch: what a counter does while the core runs, a line an interval. */
#include "measure/watch.h"
#include "commands/command.h"
#include "commands/session.h"
#include "report/number.h"
#include "report/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static void print_line(const struct context *context, const struct watch *watch, uint64_t count,
                       double seconds, bool at_least)
{
    char total[NUMBER_ROOM], counted[NUMBER_ROOM], rate[NUMBER_ROOM];
    double elapsed = (double)(watch->last_us - watch->first_us) / 1e6;
    if (context->options->json) {
        fprintf(context->out,
                "{\"type\":\"sample\",\"seconds\":%.6f,\"count\":%" PRIu64 ",\"total\":%" PRIu64
                ",\"at_least\":%s}\n",
                elapsed, count, watch->total, at_least ? "true" : "false");
    } else {
        fprintf(
            context->out, "%10.3f s  %s%16s  %14s/s  total %s%s\n", elapsed, at_least ? "at least " : "",
            number_unsigned(counted, sizeof counted, count),
            number_unsigned(rate, sizeof rate, seconds > 0 ? (uint64_t)((double)count / seconds + 0.5) : 0),
            watch->at_least ? "at least " : "", number_unsigned(total, sizeof total, watch->total));
    }
    fflush(context->out);
}

static bool watch_interval(struct session *session, struct watch *watch, int64_t *next_us,
                           struct error *error)
{
    const struct context *context = session->context;
    uint64_t total = watch->total, from_us = watch->last_us;
    bool missed_before = watch->at_least;
    watch->at_least = false;
    *next_us += context->options->interval_ms * 1000;
    while (deadline_now_us() < *next_us && *context->cancel == 0) {
        int64_t left_ms = (*next_us - deadline_now_us()) / 1000 + 1;
        int64_t ms = left_ms < watch_pace_ms(watch) ? left_ms : watch_pace_ms(watch);
        struct timespec pause = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
        nanosleep(&pause, NULL);
        struct deadline deadline = session_deadline(session);
        deadline.cancel = NULL; /* the sample that ends the last interval */
        if (!watch_sample(watch, &deadline, error))
            return false;
    }
    bool missed = watch->at_least;
    watch->at_least = missed || missed_before;
    print_line(context, watch, watch->total - total, (double)(watch->last_us - from_us) / 1e6, missed);
    return true;
}

int command_watch(const struct context *context, struct error *error)
{
    struct session session = {.context = context};
    struct clock clock;
    struct watch watch;
    bool ok =
        context->options->n_operands == 0 || error_set(error, ERROR_USAGE, "watch takes no further words");
    ok = ok && session_open_elf(&session, error) && session_open_target(&session, error) &&
         session_take(&session, error) && session_clock(&session, &clock, error);
    if (ok) {
        struct conditions conditions;
        session_conditions(&session, &clock, &conditions);
        if (!context->options->json)
            text_header(context->out, &conditions);
        struct deadline deadline = session_deadline(&session);
        ok = watch_begin(&watch, &session.target, &clock, &deadline, error);
    }
    int64_t begun_us = deadline_now_us(), next_us = begun_us;
    int64_t for_us = (int64_t)(context->options->for_s * 1e6);
    while (ok && *context->cancel == 0 && (for_us == 0 || next_us - begun_us < for_us))
        ok = watch_interval(&session, &watch, &next_us, error);
    struct error after = {0};
    struct deadline last = session_last_deadline();
    if (ok)
        ok = target_check_block(&session.target, &last, error);
    if (!session_close(&session, &after))
        ok = error_add(error, &after);
    return ok ? EXIT_DONE : error_exit_code(error->kind);
}

/* stat -a: counts of all CPUs over a time window; more events than counters take windows in a row. */
#include "commands/everyone.h"

static bool run_pass(struct everyone *self, const struct plan_pass *pass, struct error *error)
{
    const struct context *context = self->session.context;
    struct deadline deadline = session_deadline(&self->session);
    deadline.cancel = NULL;
    if (!crowd_program(&self->crowd, pass->picks, pass->n, &deadline, error) ||
        !crowd_begin(&self->crowd, &self->clock, &deadline, error))
        return false;
    int64_t for_us = context->options->for_s > 0 ? (int64_t)(context->options->for_s * 1e6) : INT64_MAX / 4;
    if (!everyone_sample_until(self, deadline_now_us() + for_us, error))
        return false;
    everyone_fill(self, &self->table, pass, false);
    return true;
}

static bool run(struct everyone *self, struct error *error)
{
    const struct context *context = self->session.context;
    const struct options *options = context->options;
    const struct plan *plan = self->counting.plan;
    if (plan->n_passes > 1 && !(options->for_s > 0))
        return error_set(error, ERROR_USAGE,
                         "these events take %zu windows in a row: say with --for how long each is",
                         plan->n_passes);
    if (!cores_begin(context->out, &self->conditions, &self->table, options->format))
        return error_set(error, ERROR_SYSTEM, "the output could not be written");
    for (size_t i = 0; i < plan->n_passes && (i == 0 || *context->cancel == 0); i++)
        if (!run_pass(self, &plan->passes[i], error))
            return false;
    return cores_print(context->out, &self->table, options->format, options->separator[0]) ||
           error_set(error, ERROR_SYSTEM, "the output could not be written");
}

int everyone_stat(const struct context *context, struct error *error)
{
    struct everyone self = {.session.context = context};
    bool ok =
        !context->options->interval_said ||
        error_set(error, ERROR_USAGE, "stat -a prints once; watch -a -I MS prints every MS milliseconds");
    ok = ok && everyone_open(&self, error) && run(&self, error);
    struct error after = {0};
    if (!everyone_close(&self, &after))
        ok = error_add(error, &after);
    return ok ? EXIT_DONE : error_exit_code(error->kind);
}

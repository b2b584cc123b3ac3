/* SPDX-License-Identifier: MIT */
#include "commands/measure.h"

#include "report/conditions.h"
#include "run/program.h"
#include "run/trial.h"

#include <stdio.h>

static bool measure_prepare(void *self, const struct measure_parts *parts, struct error *error)
{
    const struct measuring *measuring = self;
    struct session *session = measuring->session;
    if (parts->prepare != NULL && !parts->prepare(self, error))
        return false;
    return parts->find == NULL ||
           ((measuring->within || program_open(session, error)) && parts->find(self, error) &&
            (measuring->within || program_open_target(session, error)));
}

bool measure_begin(struct measuring *self, struct json_part header, struct error *error)
{
    const struct rendering to = command_rendering(self->context);
    document_free(&self->document); /* of a run with another counter */
    self->document = document_new();
    document_add(&self->document, header);
    if (!self->document.ok)
        return error_memory(error);
    if (to.format == FORMAT_TEXT)
        conditions_write(&to, &self->conditions);
    else if (to.format == FORMAT_JSON && !document_write(to.out, &self->document))
        self->unwritten = true;
    return true;
}

void measure_tainted(struct measuring *self, bool tainted)
{
    if (self->code == EXIT_DONE && self->why->kind == ERROR_NONE && tainted)
        self->code = EXIT_TAINTED;
}

/* False: what concludes it has failed; the result is written all the same. */
static bool write_result(void *self, const struct measure_parts *parts, struct error *error)
{
    struct measuring *measuring = self;
    const struct context *context = measuring->context;
    struct rendering to = command_rendering(context);
    to.begun = true;
    if (measuring->why->kind != ERROR_NONE)
        command_ended(context, measuring->why, measuring->ended, sizeof measuring->ended);
    if (to.format == FORMAT_JSON) { /* what it has is written already */
        document_free(&measuring->document);
        measuring->document = document_new();
    }
    bool ok = parts->conclude(self, error);
    if (ok)
        command_has_result(context);
    if (parts->write != NULL && !parts->write(&to, &measuring->document))
        measuring->unwritten = true;
    return ok;
}

static bool asks_for_a_verdict(const struct options *options)
{
    return options->baseline != NULL || options->check || options->budget != NULL;
}

/* Of what was measured to its end. */
static void measure_judged(const struct measuring *self, bool concluded)
{
    if (concluded && self->has_result && !self->within && self->why->kind == ERROR_NONE && !self->cut)
        command_judges(self->context, command_clock_code(self->session, self->code));
}

int measure_command(void *self, const struct measure_parts *parts, struct error *error)
{
    struct measuring *measuring = self;
    const struct context *context = measuring->context;
    struct session *session = measuring->session;
    struct error after = {0};
    if (!measuring->within)
        command_judges(context, asks_for_a_verdict(context->options) ? EXIT_INTERRUPTED : EXIT_DONE);
    if (context->progress != NULL)
        measuring->progress = *context->progress;
    else if (!session->request->quiet)
        progress_begin(&measuring->progress, stderr);
    bool ok = measure_prepare(self, parts, error) && parts->measure(self, error);
    progress_clear(&measuring->progress);
    session_settle(session, measuring->within, ok, error, &after);
    trial_end_conditions(session, &measuring->conditions);
    struct error unconcluded = {0};
    measuring->why = error;
    bool concluded = !measuring->has_result || write_result(self, parts, &unconcluded);
    measure_judged(measuring, concluded);
    if (measuring->has_result && error->kind == ERROR_CANCELLED) {
        measuring->code = command_interrupted(context, error);
        ok = true;
    }
    if (ok && !concluded)
        ok = error_copy(error, &unconcluded);
    if (parts->free != NULL)
        parts->free(self);
    document_free(&measuring->document);
    ok = session_add_failure(&after, ok, error);
    ok = command_wrote(!measuring->unwritten, error) && ok;
    return ok ? command_clock_code(session, measuring->code) : error_exit_code(error->kind);
}

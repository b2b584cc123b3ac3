/* SPDX-License-Identifier: MIT */
/* irq and tasks: what a core runs next to its main program, by its trace, without a halt. */
#include "run/irq.h"
#include "commands/compare.h"
#include "commands/measure.h"
#include "report/json.h"
#include "report/stays_report.h"

#include <stdlib.h>

struct irq_command {
    struct measuring of;
    struct session session;
    struct irq_run run;
    struct timeline timeline; /* of FORMAT_PERFETTO */
};

static void irq_named(void *context, const struct stay_row *row)
{
    struct irq_command *self = context;
    timeline_name(&self->timeline, row->number, row->name);
}

static void irq_stay(void *context, const struct trace_stay *stay)
{
    struct irq_command *self = context;
    timeline_stay(&self->timeline, stay);
}

static void irq_lost(void *context, uint64_t cycles)
{
    struct irq_command *self = context;
    timeline_lost(&self->timeline, cycles);
}

static bool irq_begin(void *context, struct error *error)
{
    struct irq_command *self = context;
    const char *name = self->of.context->options->request.command;
    if (!measure_begin(&self->of, json_plan_header(JSON_SCHEMA_2, name, &self->of.conditions, NULL), error))
        return false;
    if (self->of.context->options->format != FORMAT_PERFETTO)
        return true;
    self->timeline = (struct timeline){.out = self->of.context->out, .hz = self->of.conditions.clock_hz};
    timeline_begin(&self->timeline, &self->of.conditions);
    self->run.named = irq_named;
    self->run.stay = irq_stay;
    self->run.lost = irq_lost;
    return command_wrote(self->timeline.ok, error);
}

static bool irq_find(void *context, struct error *error)
{
    struct irq_command *self = context;
    return irq_run_find(&self->run, self->of.context->options->regions, error);
}

static bool irq_measure(void *context, struct error *error)
{
    struct irq_command *self = context;
    struct session *session = self->run.session;
    struct deadline last = session_last_deadline(session);
    struct error changed = {0};
    bool ok = irq_run_measure(&self->run, error);
    if ((ok || error->kind == ERROR_CANCELLED) && !device_check_witness(&session->device, &last, &changed))
        ok = error_copy(error, &changed);
    self->of.has_result = self->run.seconds > 0 && error->kind != ERROR_WRITTEN;
    if (self->of.context->options->format == FORMAT_PERFETTO && !self->timeline.ok)
        self->of.unwritten = self->of.has_result;
    return ok;
}

static bool irq_conclude(void *context, struct error *error)
{
    struct irq_command *self = context;
    struct stays_result result = {.conditions = &self->of.conditions, .ended = self->of.ended};
    enum verdict verdict = VERDICT_PASS;
    bool checks = self->of.context->options->check;
    if (!irq_run_result(&self->run, checks ? &verdict : NULL, &result))
        return error_memory(error);
    stays_lines(&self->of.document, &result);
    self->of.code = checks                        ? verdicts_exit_code(verdict)
                    : stays_have_numbers(&result) ? EXIT_DONE
                                                  : EXIT_TAINTED;
    return true;
}

static void irq_free(void *context)
{
    struct irq_command *self = context;
    irq_run_free(&self->run);
}

static int irq_command(const struct context *context, bool of_word, struct error *error)
{
    static const struct measure_parts parts = {.find = irq_find,
                                               .measure = irq_measure,
                                               .conclude = irq_conclude,
                                               .write = stays_write,
                                               .free = irq_free};
    struct irq_command *self = calloc(1, sizeof *self);
    if (self == NULL)
        return command_code(error_memory(error), error);
    self->of = (struct measuring){.context = context, .session = &self->session};
    self->session = (struct session){.request = &context->options->request,
                                     .around = &context->around,
                                     .needs_elf = context->options->regions != NULL};
    self->run.session = &self->session;
    self->run.progress = &self->of.progress;
    self->run.conditions = &self->of.conditions;
    self->run.of_word = of_word;
    self->run.context = self;
    self->run.begin = irq_begin;
    int code = measure_command(self, &parts, error);
    free(self);
    return code;
}

int command_irq(const struct context *context, struct error *error)
{
    return irq_command(context, false, error);
}

int command_tasks(const struct context *context, struct error *error)
{
    return irq_command(context, true, error);
}

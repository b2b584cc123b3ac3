/* irq and tasks: what a core runs beside its main program, by its trace, without a halt. */
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
    timeline_begin(&self->timeline, self->of.conditions.core);
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

static bool irq_prepare(void *context, struct error *error)
{
    return measure_open(context, irq_find, error);
}

static bool irq_measure(void *context, struct error *error)
{
    struct irq_command *self = context;
    bool ok = irq_run_measure(&self->run, error);
    self->of.has_result = self->run.seconds > 0;
    if (self->of.context->options->format == FORMAT_PERFETTO && !self->timeline.ok)
        self->of.unwritten = self->of.has_result;
    return ok;
}

/* Each that ran, with its budget, and those with a budget that never ran. Returns how many. */
static size_t irq_fill_lines(const struct irq_run *run, bool checks, struct stays_line *lines)
{
    size_t n = 0;
    for (size_t i = 0; i < run->stays.n; i++)
        if (run->stays.rows[i].calls > 0)
            lines[n++] = (struct stays_line){.name = run->stays.rows[i].name, .row = &run->stays.rows[i]};
    size_t ran = n;
    for (size_t i = 0; checks && i < run->file.n; i++) {
        const struct stay_row *row = irq_run_row(run, i);
        size_t at = 0;
        if (run->file.lines[i].budget.of == BUDGET_NONE)
            continue;
        while (at < ran && (row == NULL || lines[at].row != row || lines[at].budget != NULL))
            at++;
        if (at == ran)
            lines[at = n++] = (struct stays_line){.name = run->file.lines[i].name, .row = row};
        lines[at].budget = &run->budgets[i];
    }
    return n;
}

static bool irq_conclude(void *context, struct error *error)
{
    struct irq_command *self = context;
    struct irq_run *run = &self->run;
    bool checks = self->of.context->options->check;
    enum verdict verdict = VERDICT_PASS;
    struct stays_line *lines = calloc(run->stays.n + run->file.n + 1, sizeof *lines);
    bool ok = lines != NULL && (!checks || irq_run_judge(run, &self->of.conditions, &verdict));
    if (ok) {
        const struct stays_result result = {.of_word = run->of_word,
                                            .conditions = &self->of.conditions,
                                            .stays = &run->stays,
                                            .thread = run->contexts.thread,
                                            .between = run->contexts.between,
                                            .lines = lines,
                                            .n = irq_fill_lines(run, checks, lines),
                                            .seconds = run->seconds,
                                            .where = run->where,
                                            .word = run->of_word ? run->tasks.variable : "",
                                            .ended = self->of.ended,
                                            .verdict = checks ? verdict_name(verdict) : NULL};
        stays_lines(&self->of.document, &result);
        self->of.code = checks ? verdicts_exit_code(verdict) : EXIT_DONE;
    }
    free(lines);
    return ok || error_set(error, ERROR_SYSTEM, "out of memory");
}

static void irq_free(void *context)
{
    struct irq_command *self = context;
    irq_run_free(&self->run);
}

static int irq_command(const struct context *context, bool of_word, struct error *error)
{
    static const struct measure_parts parts = {.prepare = irq_prepare,
                                               .measure = irq_measure,
                                               .conclude = irq_conclude,
                                               .write = stays_write,
                                               .free = irq_free};
    struct irq_command *self = calloc(1, sizeof *self);
    if (self == NULL)
        return command_code(error_set(error, ERROR_SYSTEM, "out of memory"), error);
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

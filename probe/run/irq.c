/* SPDX-License-Identifier: MIT */
#include "run/irq.h"

#include "cores/architectures.h"
#include "cores/exception.h"
#include "run/trial.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST_POLL_MS = 5000 };
static const double usual_s = 2;

/* ---- names */

static void name_handler(struct irq_run *run, struct stay_row *row)
{
    const struct session *session = run->session;
    const struct core *core = &session->device.chosen->core;
    const char *name = exception_name(row->number);
    struct deadline deadline = session_deadline(session);
    struct error unread = {0};
    struct location at = {0};
    uint64_t table, entry;
    char irq[32];
    snprintf(irq, sizeof irq, row->number >= EXCEPTION_IRQS ? "IRQ %u" : "exception %u",
             row->number >= EXCEPTION_IRQS ? row->number - EXCEPTION_IRQS : row->number);
    snprintf(row->name, sizeof row->name, "%s", name != NULL ? name : irq);
    if (session->symbols == NULL ||
        !ledger_read(session->device.ledger, cortex_m_vectors(core), &table, &deadline, &unread) ||
        !ledger_read(session->device.ledger, core_word(core, table + 4 * (uint64_t)row->number), &entry,
                     &deadline, &unread))
        return;
    row->address = entry & ~UINT64_C(1);
    symbols_describe(session->symbols, row->address, &at);
    if (at.source[0] == '\0' && at.high <= at.low)
        return;
    bool again = false;
    for (size_t i = 0; i < run->stays.n; i++)
        again = again || (&run->stays.rows[i] != row && run->stays.rows[i].address == row->address);
    snprintf(row->name, sizeof row->name, again ? "%.200s (%s)" : "%.200s", at.name, irq);
}

/* An RTOS may count its tasks, or point to them. */
static void name_value(struct irq_run *run, struct stay_row *row)
{
    enum { NO_ADDRESS = 256 };
    struct session *session = run->session;
    struct deadline deadline = session_deadline(session);
    char name[TASK_NAME];
    row->is_task = tasks_name(&run->tasks, session->device.ledger, &session->device.chosen->core, row->number,
                              name, &deadline);
    if (row->is_task)
        snprintf(row->name, sizeof row->name, "%s", name);
    else if (row->number < NO_ADDRESS)
        snprintf(row->name, sizeof row->name, "%u", row->number);
    else if (session->symbols == NULL ||
             !symbols_describe_object(session->symbols, row->number, row->name, sizeof row->name))
        snprintf(row->name, sizeof row->name, "0x%08" PRIx32, row->number);
}

static void irq_name_rows(struct irq_run *run)
{
    for (size_t i = 0; i < run->stays.n; i++) {
        struct stay_row *row = &run->stays.rows[i];
        if (row->name[0] != '\0' || !row->is_sure)
            continue;
        if (i == STAYS_ROWS)
            snprintf(row->name, sizeof row->name, "[others]");
        else if (run->of_word)
            name_value(run, row);
        else
            name_handler(run, row);
        if (run->named != NULL)
            run->named(run->context, row);
    }
}

/* A task may end, and another one begin in its memory: the row is of both. */
static void irq_name_again(struct irq_run *run)
{
    struct session *session = run->session;
    struct deadline deadline = session_deadline(session);
    for (size_t i = 0; i < run->stays.n; i++) {
        struct stay_row *row = &run->stays.rows[i];
        size_t length = strlen(row->name);
        char name[TASK_NAME];
        if (!row->is_task ||
            !tasks_name_again(&run->tasks, session->device.ledger, &session->device.chosen->core, row->number,
                              name, &deadline) ||
            strcmp(name, row->name) == 0)
            continue;
        snprintf(row->name + length, sizeof row->name - length, ", later %s",
                 name[0] != '\0' ? name : "no task");
        row->is_reused = true;
        if (run->named != NULL)
            run->named(run->context, row);
    }
}

/* ---- what is measured */

bool irq_run_find(struct irq_run *run, const char *regions, struct error *error)
{
    struct session *session = run->session;
    uint64_t address = 0;
    if (run->of_word) {
        run->tasks.takes_parts = true;
        unsigned core = session->request->core > 0 ? (unsigned)session->request->core : 0;
        if (!tasks_find(&run->tasks, session->symbols, session->request->task, core, &address, error))
            return false;
        if (address == 0)
            return error_advise(error, ERROR_USAGE,
                                "--task VARIABLE names the word that shows which task runs.",
                                session->symbols == NULL ? "tasks needs --elf FILE, or --task *ADDRESS"
                                                         : "the program has no RTOS that is known");
        run->word = (struct trace_wish){.what = TRACE_WRITE, .address = address, .size = run->tasks.size};
    }
    if (regions == NULL)
        return true;
    if (!region_file_read(regions, session->around->cancel, &run->file, error))
        return false;
    run->handlers = calloc(run->file.n + 1, sizeof *run->handlers);
    run->budgets = calloc(run->file.n + 1, sizeof *run->budgets);
    run->rows = calloc(run->file.n + 1, sizeof(struct stay_row *));
    if (run->handlers == NULL || run->budgets == NULL || run->rows == NULL)
        return error_memory(error);
    for (size_t i = 0; i < run->file.n; i++) {
        struct location at;
        if (!symbols_locate(session->symbols, run->file.lines[i].start, &at, error))
            return error_prefix(error, "%.200s:%u: ", run->file.file, run->file.lines[i].line);
        run->handlers[i] = at.address & ~UINT64_C(1);
    }
    return true;
}

static void irq_take_moment(void *context, const struct trace_moment *moment)
{
    struct irq_run *run = context;
    const struct trace_moment unknown = {.kind = MOMENT_LOST, .cycles = moment->cycles};
    run->is_other_size = moment->kind == MOMENT_DATA && moment->size != run->word.size;
    trace_contexts_take(&run->contexts, run->is_other_size ? &unknown : moment);
}

static void irq_take_stay(void *context, const struct trace_stay *stay)
{
    struct irq_run *run = context;
    stays_take(&run->stays, stay);
    if (run->stay != NULL && !stay->is_suspect)
        run->stay(run->context, stay);
}

static void irq_take_loss(void *context, uint64_t cycles)
{
    struct irq_run *run = context;
    stays_lose(&run->stays, run->is_other_size);
    if (run->lost != NULL && !run->is_other_size)
        run->lost(run->context, cycles);
}

static void irq_show_progress(struct irq_run *run, int64_t left_us)
{
    uint64_t n = 0;
    for (size_t i = 0; i < run->stays.n; i++)
        n += run->stays.rows[i].calls;
    progress_count(run->progress, n, 0, run->of_word ? "slices" : "interrupts",
                   left_us < 1000000 ? "soon done" : "listening");
}

static bool irq_poll(struct irq_run *run, struct trace *trace, struct error *error)
{
    const struct session *session = run->session;
    double for_s = session->request->for_s > 0 ? session->request->for_s : usual_s;
    int64_t begun_us = deadline_now_us(), end_us = begun_us + (int64_t)(for_s * 1e6), now_us = begun_us;
    bool ok = true;
    while (ok && now_us < end_us) {
        struct deadline soon = deadline_in_ms(patience_ms(LONGEST_POLL_MS), session->around->cancel);
        ok = (!deadline_cancelled(&soon) || error_set(error, ERROR_CANCELLED, "interrupted")) &&
             trace_poll(trace, &soon, error);
        if (ok)
            irq_name_rows(run);
        now_us = deadline_now_us();
        irq_show_progress(run, end_us - now_us);
    }
    run->seconds = (double)(now_us - begun_us) / 1e6;
    return ok;
}

static bool irq_listen(struct irq_run *run, struct error *error)
{
    struct session *session = run->session;
    struct deadline deadline = session_deadline(session);
    struct trace trace = {0};
    struct trace_request request = {.wishes = &run->word,
                                    .n_wishes = run->of_word,
                                    .exceptions = !run->of_word,
                                    .sink = session->request->trace,
                                    .baud = session->request->swo_baud,
                                    .clock_hz = run->awake_hz,
                                    .clock_is_measured = run->conditions->clock_error_hz > 0,
                                    .context = run,
                                    .take = irq_take_moment};
    run->contexts = (struct trace_contexts){.context = run, .stay = irq_take_stay, .lost = irq_take_loss};
    run->stays.from_ends = run->of_word;
    bool ok = trial_trace_ring(session, &request.ring_base, &request.ring_bytes, error) &&
              run->begin(run->context, error) &&
              trace_open(&trace, &session->device, &request, &deadline, error);
    snprintf(run->where, sizeof run->where, "%s", trace.where);
    ok = ok && irq_poll(run, &trace, error);
    struct deadline last = session_last_deadline(session);
    trace_close(&trace, &last);
    trace_contexts_end(&run->contexts);
    irq_name_rows(run);
    irq_name_again(run);
    return ok && (!run->stays.failed || error_memory(error));
}

static bool irq_check_addresses(const struct irq_run *run, struct error *error)
{
    bool ok =
        !run->of_word || session_check_address(run->session, run->word.address, "the task's word", error);
    for (size_t i = 0; ok && i < run->file.n; i++)
        ok = session_check_address(run->session, run->handlers[i], run->file.lines[i].start, error);
    return ok;
}

bool irq_run_measure(struct irq_run *run, struct error *error)
{
    struct session *session = run->session;
    struct device *device = &session->device;
    struct deadline deadline = session_deadline(session);
    struct trace trace = {0};
    struct clock clock;
    double seen_hz = 0;
    device->looks_only = true;
    if (!irq_check_addresses(run, error) || !trace_can(&trace, device, false, &deadline, error) ||
        !session_take_core(session, false, error) || !device_take_block(device, "dwt", &deadline, error) ||
        !trial_counter(session, &clock, &seen_hz, error) ||
        !trial_trace_clock(session, &clock, &run->awake_hz, error))
        return false;
    session_conditions(session, &clock, run->conditions);
    snprintf(run->conditions->counter, sizeof run->conditions->counter, "DWT trace");
    bool ok = irq_listen(run, error);
    stays_sort(&run->stays);
    return ok;
}

/* ---- budgets */

static size_t irq_family(const struct irq_run *run)
{
    size_t family = 0;
    for (size_t i = 0; i < run->file.n; i++)
        for (size_t k = 0; k < run->stays.n; k++)
            family +=
                run->file.lines[i].budget.of != BUDGET_NONE && run->stays.rows[k].address == run->handlers[i];
    return family;
}

/* A handler that several interrupts share has a row for each: the worst one decides. */
static bool irq_judge_line(struct irq_run *run, size_t i, const struct conditions *conditions, size_t family,
                           struct verdict_line *worst)
{
    const struct budget *budget = &run->file.lines[i].budget;
    *worst = budget_decide(budget, NULL, family);
    for (size_t k = 0; k < run->stays.n; k++) {
        const struct stay_row *row = &run->stays.rows[k];
        if (row->address != run->handlers[i])
            continue;
        struct verdict_line line;
        if (!stays_judge(&run->stays, row, conditions, budget, family, &line))
            return false;
        if (run->rows[i] != NULL && verdict_both(worst->verdict, line.verdict) == worst->verdict)
            continue;
        *worst = line;
        run->rows[i] = row;
    }
    return true;
}

static bool irq_judge(struct irq_run *run, const struct conditions *conditions, enum verdict *out)
{
    size_t family = irq_family(run);
    bool any = false;
    *out = VERDICT_PASS;
    for (size_t i = 0; i < run->file.n; i++) {
        if (run->file.lines[i].budget.of == BUDGET_NONE)
            continue;
        if (!irq_judge_line(run, i, conditions, family, &run->budgets[i]))
            return false;
        *out = verdict_both(*out, run->budgets[i].verdict);
        any = true;
    }
    *out = any ? *out : VERDICT_INCONCLUSIVE;
    return true;
}

/* To those that ran, and to further lines for handlers that did not, or that have several. */
static void add_budgets(const struct irq_run *run, struct stays_result *out)
{
    size_t ran = out->n;
    for (size_t i = 0; i < run->file.n; i++) {
        const struct stay_row *row = run->rows[i];
        size_t at = 0;
        if (run->file.lines[i].budget.of == BUDGET_NONE)
            continue;
        while (at < ran && (run->lines[at].row != row || run->lines[at].budget != NULL))
            at++;
        if (at == ran)
            run->lines[at = out->n++] = (struct stays_line){.name = run->file.lines[i].name, .row = row};
        run->lines[at].budget = &run->budgets[i];
    }
}

bool irq_run_result(struct irq_run *run, enum verdict *verdict, struct stays_result *out)
{
    run->lines = calloc(run->stays.n + run->file.n + 1, sizeof *run->lines);
    if (run->lines == NULL || (verdict != NULL && !irq_judge(run, out->conditions, verdict)))
        return false;
    out->of_word = run->of_word;
    out->stays = &run->stays;
    out->thread = run->contexts.thread;
    out->between = run->contexts.between;
    out->lines = run->lines;
    out->seconds = run->seconds;
    out->where = run->where;
    out->word = run->of_word ? run->tasks.variable : "";
    out->verdict = verdict != NULL ? verdict_name(*verdict) : NULL;
    for (size_t i = 0; i < run->stays.n; i++)
        if (run->stays.rows[i].calls > 0 && run->stays.rows[i].is_sure)
            run->lines[out->n++] =
                (struct stays_line){.name = run->stays.rows[i].name, .row = &run->stays.rows[i]};
    if (verdict != NULL)
        add_budgets(run, out);
    return true;
}

void irq_run_free(struct irq_run *run)
{
    stays_free(&run->stays);
    region_file_free(&run->file);
    free(run->handlers);
    free(run->rows);
    free(run->budgets);
    free(run->lines);
}

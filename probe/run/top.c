/* SPDX-License-Identifier: MIT */
#include "run/top.h"

#include "run/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool top_run_begin(struct top_run *self, struct error *error)
{
    const struct pc_samples *pc_samples = &self->pc_samples;
    self->shares = calloc(pc_samples->n, sizeof *self->shares);
    if (self->shares == NULL)
        return error_memory(error);
    self->rolling.profile.about = pc_samples->about;
    if (pc_samples->session.symbols == NULL)
        self->sort = SHARES_ADDRESS;
    return true;
}

static void top_run_free_shares(struct top_run *self)
{
    for (size_t i = 0; self->shares != NULL && i < self->pc_samples.n; i++)
        shares_free(&self->shares[i]);
}

/* Keeps the lines of one function alone. */
static void top_run_keep_function(const struct top_run *self, struct shares *shares)
{
    size_t kept = 0;
    struct location at = {0};
    for (size_t i = 0; i < shares->n; i++) {
        struct share *row = &shares->rows[i];
        const struct location *function =
            shares_function_of(self->pc_samples.session.symbols, row->address, &at);
        bool is_in = shares->core == self->function.core && row->state == PROFILE_STATES &&
                     function->low == self->function.entry;
        if (is_in) {
            shares->rows[kept++] = *row;
            continue;
        }
        free(row->function);
        free(row->source);
    }
    shares->n = kept;
}

bool top_run_make_shares(struct top_run *self, struct error *error)
{
    enum shares_sort sort = self->within ? SHARES_LINE : self->sort;
    top_run_free_shares(self);
    for (size_t i = 0; i < self->pc_samples.n; i++) {
        struct shares *shares = &self->shares[i];
        if (!shares_make(&self->rolling.profile, (unsigned)i, sort, self->pc_samples.session.symbols, shares))
            return error_memory(error);
        if (self->within)
            top_run_keep_function(self, shares);
    }
    return true;
}

/* While the screen is frozen, its window stays as it is. */
bool top_run_close(struct top_run *self, struct error *error)
{
    struct pc_samples *pc_samples = &self->pc_samples;
    self->closed_s = pc_samples->elapsed_s;
    for (size_t i = 0; i < pc_samples->n; i++) {
        struct profile_interval interval;
        bool any;
        if (!pc_samples_close(pc_samples, i, &interval, &any, error))
            return false;
        if (!any)
            continue;
        self->samples += profile_interval_samples(&interval);
        if (self->paused) {
            profile_interval_free(&interval);
            continue;
        }
        if (self->is_old)
            rolling_clear(&self->rolling);
        self->is_old = false;
        if (!rolling_add(&self->rolling, &interval))
            return error_memory(error);
    }
    return true;
}

bool top_run_next_sort(struct top_run *self)
{
    bool others = !self->within && self->pc_samples.session.symbols != NULL;
    if (others)
        self->sort = (self->sort + 1) % SHARES_CONTEXTS;
    return others;
}

bool top_run_enter(struct top_run *self, size_t core, const struct share *row)
{
    struct location at = {0};
    if (self->within) {
        self->within = false;
        return true;
    }
    if (row == NULL || row->state != PROFILE_STATES || self->pc_samples.session.symbols == NULL)
        return false;
    const struct location *function = shares_function_of(self->pc_samples.session.symbols, row->address, &at);
    if (function->high <= function->low)
        return false;
    self->within = true;
    self->function.core = core;
    self->function.entry = function->low;
    snprintf(self->function.name, sizeof self->function.name, "%s", function->name);
    return true;
}

const char *top_run_marked(const struct top_run *self, const struct share *row, struct location *out)
{
    struct symbols *symbols = self->pc_samples.session.symbols;
    struct location at = {0};
    if (symbols == NULL)
        return "no program was named: --elf names it";
    if (self->within)
        symbols_describe(symbols, self->function.entry, &at);
    else if (row != NULL && row->state == PROFILE_STATES && self->sort != SHARES_FILE)
        at = *shares_function_of(symbols, row->address, &at);
    *out = at;
    return at.high > at.low ? NULL : "the marked row is not a function";
}

/* ---- measurements */

const char *top_run_refuses(const struct top_run *self)
{
    const struct pc_samples *pc_samples = &self->pc_samples;
    const struct session *session = &pc_samples->session;
    const struct core *core = &session->device.chosen->core;
    if (session->request->all_cpus)
        return "-a samples all cores: -C N measures on one";
    if (pc_samples->by_halts)
        return "a GDB server has the core: pmu-probe delta measures through it";
    if (!core_has_run_control(core))
        return "nothing can stop this core";
    return core->comparators > 0 ? NULL : "this core has no breakpoints";
}

/* What it has kept in the session is of this measurement alone. */
static void top_run_forget(struct session *session)
{
    memset(&session->measured, 0, sizeof session->measured);
    program_forget(session);
    session->stop_named = false;
    session->clock.change[0] = '\0';
}

bool top_run_measure(struct top_run *self, const struct request *request, const struct surroundings *around,
                     top_way *way, const void *context, struct error *why, struct error *error)
{
    struct pc_samples *pc_samples = &self->pc_samples;
    struct session *session = &pc_samples->session;
    int number = (int)pc_samples->cores[0].number;
    if (!pc_samples_pause(pc_samples, error) || !session_look_again(session, number, error))
        return false;
    const struct request *before = session->request;
    const struct surroundings *outer = session->around;
    session->may_stop = true;
    session->request = request;
    session->around = around;
    (void)way(session, context, why);
    session->request = before;
    session->around = outer;
    top_run_forget(session);
    if (why->kind == ERROR_LINK_LOST || why->kind == ERROR_FOREIGN_STOP || why->kind == ERROR_MOVED)
        return error_copy(error, why);
    if (*outer->cancel != 0)
        return error_set(error, ERROR_CANCELLED, "cancelled");
    session->may_stop = false;
    return session_look_again(session, number, error) && pc_samples_go_on(pc_samples, error);
}

void top_run_free(struct top_run *self)
{
    top_run_free_shares(self);
    free(self->shares);
    rolling_free(&self->rolling);
    pc_samples_free(&self->pc_samples);
}

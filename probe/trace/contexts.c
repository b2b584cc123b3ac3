/* SPDX-License-Identifier: MIT */
#include "trace/contexts.h"

static void stay_give(struct trace_contexts *contexts, struct trace_stay *stay, enum stay_end end)
{
    stay->end = end;
    stay->to = contexts->at;
    if (end == STAY_CUT && stay->from_proved && contexts->proved > stay->from)
        stay->at_least = contexts->proved - stay->from;
    contexts->stay(contexts->context, stay);
}

/* Down to `n`, the innermost first. */
static void stays_end(struct trace_contexts *contexts, size_t n, enum stay_end end)
{
    while (contexts->n_open > n) {
        struct trace_stay *stay = &contexts->open[--contexts->n_open];
        stay->own_exact = stay->to_exact = false;
        stay_give(contexts, stay, end);
    }
}

static void contexts_lose(struct trace_contexts *contexts, uint64_t cycles)
{
    for (size_t i = 0; i < contexts->n_open && contexts->n_torn < CONTEXT_DEPTH; i++)
        contexts->torn[contexts->n_torn++] = contexts->open[i].number;
    stays_end(contexts, 0, STAY_LOST);
    contexts->now = CONTEXT_UNKNOWN;
    contexts->at = cycles;
    contexts->lost(contexts->context, cycles);
}

/* What has passed since the last moment, if both times are proved: a loss may be unnoticed until then. */
static void contexts_charge(struct trace_contexts *contexts, const struct trace_moment *moment)
{
    bool is_proved = moment->doubt != MOMENT_UNPROVED, both = is_proved && contexts->is_proved;
    uint64_t passed = both ? moment->cycles - contexts->at : 0;
    contexts->at = moment->cycles;
    contexts->is_proved = is_proved;
    if (is_proved)
        contexts->proved = moment->cycles;
    if (contexts->now == CONTEXT_THREAD)
        contexts->thread += passed;
    else if (contexts->now == CONTEXT_BETWEEN)
        contexts->between += passed;
    if (contexts->now != CONTEXT_INSIDE)
        return;
    struct trace_stay *stay = &contexts->open[contexts->n_open - 1];
    stay->own += passed;
    stay->own_exact = stay->own_exact && both;
}

static void stay_begin(struct trace_contexts *contexts, const struct trace_moment *moment, uint32_t number,
                       bool entered)
{
    bool exact = entered && moment->doubt == MOMENT_EXACT;
    if (contexts->n_open == CONTEXT_DEPTH)
        contexts_lose(contexts, moment->cycles);
    contexts->open[contexts->n_open++] = (struct trace_stay){.number = number,
                                                             .entered = entered,
                                                             .from = moment->cycles,
                                                             .is_suspect = moment->is_suspect,
                                                             .from_proved = moment->doubt != MOMENT_UNPROVED,
                                                             .from_exact = exact,
                                                             .own_exact = exact};
    contexts->now = CONTEXT_INSIDE;
}

/* The exception's place among those that are open, plus one; 0: it is not one of them. */
static size_t open_find(const struct trace_contexts *contexts, uint32_t number)
{
    size_t n = contexts->n_open;
    while (n > 0 && contexts->open[n - 1].number != number)
        n--;
    return n;
}

/* Of an exception whose entry was not seen. */
static bool stay_is_rest(struct trace_contexts *contexts, uint32_t number)
{
    for (size_t i = 0; i < contexts->n_torn; i++)
        if (contexts->torn[i] == number) {
            contexts->torn[i] = contexts->torn[--contexts->n_torn];
            return true;
        }
    return !contexts->begun;
}

static void exception_enter(struct trace_contexts *contexts, const struct trace_moment *moment)
{
    if (open_find(contexts, moment->value) > 0) /* an active exception is not entered: there was a reset */
        stays_end(contexts, 0, STAY_UNENDED);
    else if (contexts->now == CONTEXT_INSIDE && moment->doubt != MOMENT_EXACT)
        contexts->open[contexts->n_open - 1].own_exact = false;
    stay_begin(contexts, moment, moment->value, true);
}

static void exception_exit(struct trace_contexts *contexts, const struct trace_moment *moment)
{
    bool exact = moment->doubt == MOMENT_EXACT;
    size_t n = open_find(contexts, moment->value);
    struct trace_stay rest = {
        .number = moment->value, .from = moment->cycles, .is_suspect = moment->is_suspect};
    if (n > 0)
        stays_end(contexts, n, STAY_UNENDED);
    else if (contexts->now == CONTEXT_INSIDE) /* time of this one was charged to that one */
        contexts->open[contexts->n_open - 1].own_exact = false;
    struct trace_stay *stay = n > 0 ? &contexts->open[--contexts->n_open] : &rest;
    stay->to_exact = exact;
    stay->own_exact = stay->own_exact && exact;
    if (!stay->entered)
        stay->is_rest = stay_is_rest(contexts, stay->number);
    contexts->now = CONTEXT_BETWEEN;
    stay_give(contexts, stay, STAY_DONE);
}

static void exception_return(struct trace_contexts *contexts, const struct trace_moment *moment)
{
    size_t n = open_find(contexts, moment->value);
    stays_end(contexts, n, STAY_UNENDED);
    contexts->now = moment->value == 0 ? CONTEXT_THREAD : CONTEXT_INSIDE;
    if (moment->value == 0) {
        contexts->begun = true;
        contexts->n_torn = 0;
    } else if (n == 0) {
        stay_begin(contexts, moment, moment->value, false);
    } else if (moment->doubt != MOMENT_EXACT) {
        contexts->open[n - 1].own_exact = false;
    }
}

/* The first write may repeat the value that was there: it begins nothing. */
static void value_write(struct trace_contexts *contexts, const struct trace_moment *moment)
{
    bool exact = moment->doubt == MOMENT_EXACT, is_known = contexts->n_open > 0;
    struct trace_stay *stay = &contexts->open[0];
    if (is_known && stay->number == moment->value)
        return;
    if (is_known) {
        contexts->n_open = 0;
        contexts->begun = true;
        stay->to_exact = exact;
        stay->own_exact = stay->own_exact && exact;
        stay_give(contexts, stay, STAY_DONE);
    }
    stay_begin(contexts, moment, moment->value, is_known);
    stay->is_rest = !is_known && stay_is_rest(contexts, moment->value);
    contexts->n_torn = 0;
}

void trace_contexts_take(struct trace_contexts *contexts, const struct trace_moment *moment)
{
    if (moment->kind == MOMENT_LOST)
        contexts_lose(contexts, moment->cycles);
    if (moment->kind == MOMENT_BEAT) /* time goes on without an event, too */
        contexts_charge(contexts, moment);
    if (moment->kind != MOMENT_EXCEPTION && (moment->kind != MOMENT_DATA || !moment->written))
        return;
    contexts_charge(contexts, moment);
    if (moment->kind == MOMENT_DATA)
        value_write(contexts, moment);
    else if (moment->n == TRACE_ENTER)
        exception_enter(contexts, moment);
    else if (moment->n == TRACE_EXIT)
        exception_exit(contexts, moment);
    else if (moment->n == TRACE_RETURN)
        exception_return(contexts, moment);
}

void trace_contexts_end(struct trace_contexts *contexts)
{
    stays_end(contexts, 0, STAY_CUT);
    contexts->now = CONTEXT_UNKNOWN;
}

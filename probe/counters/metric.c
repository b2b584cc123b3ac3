/* SPDX-License-Identifier: MIT */
#include "counters/metric.h"

#include "base/values.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- expressions: from text to steps in reverse Polish notation ----------------------------------------- */

struct metric_names {
    const char (*names)[EVENT_NAME]; /* the events that may be used */
    size_t n;
    uint32_t used; /* bit i: names[i] was */
};

enum { DEEPEST = 16, LONGEST_NUMBER = 32 };

struct metric_parse {
    struct span rest;
    struct metric_names *names;
    struct metric *out;
    unsigned depth;
    const char *what;
};

static bool metric_refuse(struct metric_parse *r, const char *what)
{
    if (r->what == NULL)
        r->what = what;
    return false;
}

static void metric_skip(struct metric_parse *r, size_t n)
{
    r->rest.at += n;
    r->rest.n -= n;
}

/* The next character that is not a blank; '\0' at the end. */
static char peek(struct metric_parse *r)
{
    while (r->rest.n > 0 && (r->rest.at[0] == ' ' || r->rest.at[0] == '\t'))
        metric_skip(r, 1);
    if (r->rest.n == 0)
        return '\0';
    return r->rest.at[0];
}

static bool emit(struct metric_parse *r, struct metric_step step)
{
    if (r->out->n_steps == METRIC_STEPS)
        return metric_refuse(r, "too long an expression, at");
    r->out->steps[r->out->n_steps++] = step;
    return true;
}

static size_t length_of(const struct metric_parse *r, const char *set)
{
    size_t n = 0;
    while (n < r->rest.n && r->rest.at[n] != '\0' && strchr(set, r->rest.at[n]) != NULL)
        n++;
    return n;
}

static bool metric_read_number(struct metric_parse *r)
{
    char text[LONGEST_NUMBER], *end;
    size_t n = length_of(r, "0123456789.");
    if (!span_copy((struct span){r->rest.at, n}, text, sizeof text))
        return metric_refuse(r, "too long a number:");
    double value = strtod(text, &end);
    if (*end != '\0')
        return metric_refuse(r, "no number:");
    metric_skip(r, n);
    return emit(r, (struct metric_step){.op = METRIC_NUMBER, .number = value});
}

static bool use_event(struct metric_parse *r, const char *name)
{
    struct metric *out = r->out;
    unsigned i = 0;
    while (i < out->n_events && strcmp(out->events[i], name) != 0)
        i++;
    if (i == METRIC_EVENTS)
        return metric_refuse(r, "too many events for one metric, at");
    if (i == out->n_events)
        memcpy(out->events[out->n_events++], name, EVENT_NAME);
    return emit(r, (struct metric_step){.op = METRIC_EVENT, .event = i});
}

static bool read_name(struct metric_parse *r)
{
    static const struct {
        const char *name;
        enum metric_op op;
    } own[] = {{"CYCLES", METRIC_CYCLES}, {"SECONDS", METRIC_SECONDS}, {"HZ", METRIC_HZ}};
    char text[EVENT_NAME];
    size_t n = length_of(r, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.:");
    if (n == 0)
        return metric_refuse(r, "expected a number, a name or (, not");
    if (!span_copy((struct span){r->rest.at, n}, text, sizeof text))
        return metric_refuse(r, "too long a name:");
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (strcasecmp(text, own[i].name) == 0) {
            metric_skip(r, n);
            return emit(r, (struct metric_step){.op = own[i].op});
        }
    for (size_t i = 0; i < r->names->n; i++)
        if (strcasecmp(text, r->names->names[i]) == 0) {
            r->names->used |= UINT32_C(1) << i;
            metric_skip(r, n);
            return use_event(r, r->names->names[i]);
        }
    return metric_refuse(r, "EVENTS above does not name");
}

static bool read_sum(struct metric_parse *r);

static bool read_factor(struct metric_parse *r)
{
    char c = peek(r);
    if (c != '(' && c != '-')
        return (c >= '0' && c <= '9') || c == '.' ? metric_read_number(r) : read_name(r);
    if (r->depth == DEEPEST)
        return metric_refuse(r, "nested too deep, at");
    metric_skip(r, 1);
    r->depth++;
    if (c == '-') {
        if (!read_factor(r))
            return false;
        r->depth--;
        return emit(r, (struct metric_step){.op = METRIC_NEGATE});
    }
    if (!read_sum(r))
        return false;
    if (peek(r) != ')')
        return metric_refuse(r, "a ) is missing before");
    metric_skip(r, 1);
    r->depth--;
    return true;
}

static bool read_product(struct metric_parse *r)
{
    if (!read_factor(r))
        return false;
    for (char c = peek(r); c == '*' || c == '/'; c = peek(r)) {
        metric_skip(r, 1);
        if (!read_factor(r) ||
            !emit(r, (struct metric_step){.op = c == '*' ? METRIC_MULTIPLY : METRIC_DIVIDE}))
            return false;
    }
    return true;
}

static bool read_sum(struct metric_parse *r)
{
    if (!read_product(r))
        return false;
    for (char c = peek(r); c == '+' || c == '-'; c = peek(r)) {
        metric_skip(r, 1);
        if (!read_product(r) || !emit(r, (struct metric_step){.op = c == '+' ? METRIC_ADD : METRIC_SUBTRACT}))
            return false;
    }
    return true;
}

/* Fills in the metric's steps and the events that they use. On failure *what says why, near *at. */
static bool parse_expression(struct span text, struct metric_names *names, struct metric *out,
                             const char **what, struct span *at)
{
    struct metric_parse r = {.rest = text, .names = names, .out = out};
    out->n_steps = out->n_events = 0;
    bool ok = read_sum(&r);
    if (ok && peek(&r) != '\0')
        ok = metric_refuse(&r, "expected an operator, not");
    if (ok && r.rest.n > 0)
        ok = metric_refuse(&r, "this cannot be read:");
    *what = r.what;
    *at = r.rest;
    return ok;
}

/* --- files ---------------------------------------------------------------------------------------------- */

enum { MOST_METRICS = 256, MOST_NAMES = 32 };

struct metric_set {
    struct metric *metrics;
    size_t n, room;
};

struct section {
    char names[MOST_NAMES][EVENT_NAME];
    struct metric_names events;
    size_t first; /* its first metric */
    unsigned line;
};

struct parser {
    struct metric_set *set;
    struct section section;
    unsigned line;
    struct error *error;
};

static bool metric_fail(struct parser *p, const char *what, struct span span)
{
    return error_set(p->error, ERROR_USAGE, "line %u: %s \"%.*s\"", p->line, what, SPAN_QUOTE(span));
}

/* An event that is listed but not used is likely a misspelling. */
static bool end_section(struct parser *p)
{
    const struct section *s = &p->section;
    for (size_t i = 0; i < s->events.n; i++)
        if ((s->events.used >> i & 1) == 0)
            return error_set(p->error, ERROR_USAGE, "line %u: no METRIC uses the event %s", s->line,
                             s->names[i]);
    return true;
}

/* One name off a list; commas are as good as blanks. */
static bool next_name(struct span *rest, struct span *name)
{
    while (rest->n > 0 && (rest->at[0] == ',' || rest->at[0] == ' ' || rest->at[0] == '\t')) {
        rest->at++;
        rest->n--;
    }
    size_t n = 0;
    while (n < rest->n && rest->at[n] != ',' && rest->at[n] != ' ' && rest->at[n] != '\t')
        n++;
    *name = (struct span){rest->at, n};
    rest->at += n;
    rest->n -= n;
    return n > 0;
}

static bool metric_read_events(struct parser *p, struct span rest)
{
    if (!end_section(p))
        return false;
    struct section *s = &p->section;
    s->events = (struct metric_names){.names = (const char(*)[EVENT_NAME])s->names};
    s->first = p->set->n;
    s->line = p->line;
    struct span name;
    while (next_name(&rest, &name)) {
        if (s->events.n == MOST_NAMES)
            return metric_fail(p, "too many events, at", name);
        char *to = s->names[s->events.n];
        if (!span_is_event_name(name) || memchr(name.at, '-', name.n) != NULL ||
            memchr(name.at, '=', name.n) != NULL)
            return metric_fail(p, "an expression cannot name this event:", name);
        if (!span_copy(name, to, EVENT_NAME))
            return metric_fail(p, "too long a name:", name);
        for (size_t i = 0; i < s->events.n; i++)
            if (strcasecmp(s->names[i], to) == 0)
                return metric_fail(p, "this event is here twice:", name);
        s->events.n++;
    }
    return true;
}

static bool metric_read_head(struct parser *p, struct span head, struct metric *metric)
{
    struct span name, unit;
    if (!span_word(&head, &name))
        return metric_fail(p, "a METRIC has a name before its", (struct span){"=", 1});
    if (!span_is_event_name(name) || !span_copy(name, metric->name, sizeof metric->name))
        return metric_fail(p, "this cannot be a metric's name:", name);
    if (span_word(&head, &unit) &&
        (!span_is_printable(unit) || !span_copy(unit, metric->unit, sizeof metric->unit)))
        return metric_fail(p, "this cannot be a unit:", unit);
    if (head.n > 0)
        return metric_fail(p, "one unit is enough, not also", head);
    for (size_t i = p->section.first; i < p->set->n; i++)
        if (strcasecmp(p->set->metrics[i].name, metric->name) == 0)
            return metric_fail(p, "its section has this metric already:", name);
    return true;
}

static bool metric_add_metric(struct parser *p, const struct metric *metric)
{
    struct metric_set *set = p->set;
    if (set->n == MOST_METRICS)
        return error_set(p->error, ERROR_USAGE, "line %u: more than %d metrics", p->line, MOST_METRICS);
    if (set->n == set->room) {
        size_t room = set->room > 0 ? 2 * set->room : 8;
        struct metric *metrics = realloc(set->metrics, room * sizeof *metrics);
        if (metrics == NULL)
            return error_memory(p->error);
        set->metrics = metrics;
        set->room = room;
    }
    set->metrics[set->n++] = *metric;
    return true;
}

static bool read_metric(struct parser *p, struct span rest)
{
    struct metric metric = {.n_steps = 0};
    const char *equals = rest.n > 0 ? memchr(rest.at, '=', rest.n) : NULL, *what = NULL;
    if (equals == NULL)
        return metric_fail(p, "a METRIC is followed by = and an expression", rest);
    struct span head = {rest.at, (size_t)(equals - rest.at)}, at;
    struct span expression = {equals + 1, rest.n - head.n - 1};
    if (!metric_read_head(p, head, &metric))
        return false;
    struct span written = span_trimmed(expression);
    snprintf(metric.text, sizeof metric.text, "%.*s", (int)written.n, written.at);
    if (!parse_expression(expression, &p->section.events, &metric, &what, &at))
        return at.n > 0 ? metric_fail(p, what, at)
                        : error_set(p->error, ERROR_USAGE, "line %u: %s the end of the line", p->line, what);
    return metric_add_metric(p, &metric);
}

static bool metric_read_text(struct parser *p, struct span text)
{
    struct lines lines = {.rest = text};
    struct span rest, word;
    p->section.events = (struct metric_names){.n = 0};
    p->section.first = p->set->n;
    while (lines_next(&lines, &rest)) {
        p->line = lines.line;
        span_word(&rest, &word);
        bool events = span_is(word, "EVENTS");
        if (!events && !span_is(word, "METRIC"))
            return metric_fail(p, "a line begins with EVENTS or METRIC, not", word);
        if (!(events ? metric_read_events(p, rest) : read_metric(p, rest)))
            return false;
    }
    return end_section(p);
}

static struct metric_set *parse_all(const struct span *texts, size_t n, struct error *error)
{
    struct metric_set *set = calloc(1, sizeof *set);
    struct parser *p = calloc(1, sizeof *p);
    bool ok = set != NULL && p != NULL;
    if (!ok)
        error_memory(error);
    for (size_t i = 0; i < n && ok; i++) {
        p->set = set;
        p->error = error;
        ok = metric_read_text(p, texts[i]);
    }
    free(p);
    if (ok)
        return set;
    metric_set_free(set);
    return NULL;
}

bool metric_is_file(const char *text, size_t length)
{
    return memchr(text, '/', length) != NULL || memchr(text, '.', length) != NULL;
}

struct metric_set *metric_set_parse(const char *text, size_t n, struct error *error)
{
    return parse_all(&(struct span){text, n}, 1, error);
}

#define TEXT(name, text) {name, text},
static const struct {
    const char *name, *text;
} files[] = {
#include "metric_files.h"
};
#undef TEXT

enum { FILES = sizeof files / sizeof *files };

struct metric_set *metric_set_open(const char *name, struct error *error)
{
    struct span texts[FILES];
    char list[256] = "";
    size_t n = 0;
    for (size_t i = 0, used = 0; i < FILES; i++) {
        if (name == NULL || strcasecmp(files[i].name, name) == 0)
            texts[n++] = (struct span){files[i].text, strlen(files[i].text)};
        if (used + strlen(files[i].name) + 2 < sizeof list)
            used += (size_t)snprintf(list + used, sizeof list - used, " %s", files[i].name);
    }
    if (n > 0)
        return parse_all(texts, n, error);
    error_set(error, ERROR_USAGE, "there is no metric file \"%.64s\"; there are:%s", name, list);
    return NULL;
}

void metric_set_free(struct metric_set *set)
{
    if (set != NULL)
        free(set->metrics);
    free(set);
}

size_t metric_set_count(const struct metric_set *set)
{
    return set->n;
}

const struct metric *metric_set_at(const struct metric_set *set, size_t i)
{
    return i < set->n ? &set->metrics[i] : NULL;
}

static bool has_all(const struct metric *metric, bool (*has)(void *self, const char *event), void *self)
{
    for (size_t i = 0; i < metric->n_events; i++)
        if (!has(self, metric->events[i]))
            return false;
    return true;
}

const struct metric *metric_set_find(const struct metric_set *set, const char *name,
                                     bool (*has)(void *self, const char *event), void *self)
{
    for (size_t i = 0; i < set->n; i++)
        if (strcasecmp(set->metrics[i].name, name) == 0 &&
            (has == NULL || has_all(&set->metrics[i], has, self)))
            return &set->metrics[i];
    return NULL;
}

/* --- values --------------------------------------------------------------------------------------------- */

bool metric_uses(const struct metric *metric, enum metric_op op)
{
    for (size_t i = 0; i < metric->n_steps; i++)
        if (metric->steps[i].op == op)
            return true;
    return false;
}

void metric_errata(const struct metric *metric, const struct event_set *set, uint32_t midr,
                   char out[EVENT_ERRATA])
{
    char one[EVENT_ERRATA];
    out[0] = '\0';
    for (size_t i = 0; i < metric->n_events; i++) {
        event_errata(set, metric->events[i], midr, metric->name, one);
        if (one[0] != '\0' && strstr(out, one) == NULL)
            text_join(out, EVENT_ERRATA, "; ", one);
    }
}

static double metric_apply(enum metric_op op, double a, double b)
{
    switch (op) {
    case METRIC_ADD:
        return a + b;
    case METRIC_SUBTRACT:
        return a - b;
    case METRIC_MULTIPLY:
        return a * b;
    default:
        return b == 0 ? NAN : a / b;
    }
}

double metric_evaluate(const struct metric *metric, const struct metric_input *input)
{
    double stack[METRIC_STEPS] = {NAN};
    size_t n = 0;
    for (size_t i = 0; i < metric->n_steps; i++) {
        const struct metric_step *step = &metric->steps[i];
        switch (step->op) {
        case METRIC_NUMBER:
            stack[n++] = step->number;
            break;
        case METRIC_EVENT:
            stack[n++] = input->counts[step->event];
            break;
        case METRIC_CYCLES:
            stack[n++] = input->cycles;
            break;
        case METRIC_SECONDS:
            stack[n++] = input->seconds;
            break;
        case METRIC_HZ:
            stack[n++] = input->hz;
            break;
        case METRIC_NEGATE:
            stack[n - 1] = -stack[n - 1];
            break;
        default:
            n--;
            stack[n - 1] = metric_apply(step->op, stack[n - 1], stack[n]);
        }
    }
    return isfinite(stack[0]) ? stack[0] : NAN;
}

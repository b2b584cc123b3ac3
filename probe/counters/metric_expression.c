#include "counters/metric_expression.h"

#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 16, LONGEST_NUMBER = 32 };

struct reading {
    struct span rest;
    struct metric_names *names;
    struct metric *out;
    unsigned depth;
    const char *what;
};

static bool fail(struct reading *r, const char *what)
{
    if (r->what == NULL)
        r->what = what;
    return false;
}

static void skip(struct reading *r, size_t n)
{
    r->rest.at += n;
    r->rest.n -= n;
}

/* The next character that is no blank; '\0' at the end. */
static char peek(struct reading *r)
{
    while (r->rest.n > 0 && (r->rest.at[0] == ' ' || r->rest.at[0] == '\t'))
        skip(r, 1);
    if (r->rest.n == 0)
        return '\0';
    return r->rest.at[0];
}

static bool emit(struct reading *r, struct metric_step step)
{
    if (r->out->n_steps == METRIC_STEPS)
        return fail(r, "too long an expression, at");
    r->out->steps[r->out->n_steps++] = step;
    return true;
}

static size_t length_of(const struct reading *r, const char *set)
{
    size_t n = 0;
    while (n < r->rest.n && r->rest.at[n] != '\0' && strchr(set, r->rest.at[n]) != NULL)
        n++;
    return n;
}

static bool read_number(struct reading *r)
{
    char text[LONGEST_NUMBER], *end;
    size_t n = length_of(r, "0123456789.");
    if (!span_copy((struct span){r->rest.at, n}, text, sizeof text))
        return fail(r, "too long a number:");
    double value = strtod(text, &end);
    if (*end != '\0')
        return fail(r, "no number:");
    skip(r, n);
    return emit(r, (struct metric_step){.op = METRIC_NUMBER, .number = value});
}

/* Where the metric keeps this event, which is kept only once. */
static bool use_event(struct reading *r, const char *name)
{
    struct metric *out = r->out;
    unsigned i = 0;
    while (i < out->n_events && strcmp(out->events[i], name) != 0)
        i++;
    if (i == METRIC_EVENTS)
        return fail(r, "too many events for one metric, at");
    if (i == out->n_events)
        memcpy(out->events[out->n_events++], name, EVENT_NAME);
    return emit(r, (struct metric_step){.op = METRIC_EVENT, .event = i});
}

static bool read_name(struct reading *r)
{
    static const struct {
        const char *name;
        enum metric_op op;
    } own[] = {{"CYCLES", METRIC_CYCLES}, {"SECONDS", METRIC_SECONDS}, {"HZ", METRIC_HZ}};
    char text[EVENT_NAME];
    size_t n = length_of(r, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.:");
    if (n == 0)
        return fail(r, "expected a number, a name or (, not");
    if (!span_copy((struct span){r->rest.at, n}, text, sizeof text))
        return fail(r, "too long a name:");
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (strcasecmp(text, own[i].name) == 0) {
            skip(r, n);
            return emit(r, (struct metric_step){.op = own[i].op});
        }
    for (size_t i = 0; i < r->names->n; i++)
        if (strcasecmp(text, r->names->names[i]) == 0) {
            r->names->used |= UINT32_C(1) << i;
            skip(r, n);
            return use_event(r, r->names->names[i]);
        }
    return fail(r, "EVENTS above does not name");
}

static bool read_sum(struct reading *r);

static bool read_factor(struct reading *r)
{
    char c = peek(r);
    if (c != '(' && c != '-')
        return (c >= '0' && c <= '9') || c == '.' ? read_number(r) : read_name(r);
    if (r->depth == DEEPEST)
        return fail(r, "nested too deep, at");
    skip(r, 1);
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
        return fail(r, "a ) is missing before");
    skip(r, 1);
    r->depth--;
    return true;
}

static bool read_product(struct reading *r)
{
    if (!read_factor(r))
        return false;
    for (char c = peek(r); c == '*' || c == '/'; c = peek(r)) {
        skip(r, 1);
        if (!read_factor(r) ||
            !emit(r, (struct metric_step){.op = c == '*' ? METRIC_MULTIPLY : METRIC_DIVIDE}))
            return false;
    }
    return true;
}

static bool read_sum(struct reading *r)
{
    if (!read_product(r))
        return false;
    for (char c = peek(r); c == '+' || c == '-'; c = peek(r)) {
        skip(r, 1);
        if (!read_product(r) || !emit(r, (struct metric_step){.op = c == '+' ? METRIC_ADD : METRIC_SUBTRACT}))
            return false;
    }
    return true;
}

bool metric_expression_parse(struct span text, struct metric_names *names, struct metric *out,
                             const char **what, struct span *at)
{
    struct reading r = {.rest = text, .names = names, .out = out};
    out->n_steps = out->n_events = 0;
    bool ok = read_sum(&r);
    if (ok && peek(&r) != '\0')
        ok = fail(&r, "expected an operator, not");
    if (ok && r.rest.n > 0)
        ok = fail(&r, "this cannot be read:");
    *what = r.what;
    *at = r.rest;
    return ok;
}

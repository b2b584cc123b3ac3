#include "counters/metric.h"

#include "counters/metric_expression.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_METRICS = 256, MOST_NAMES = 32 };

struct metric_set {
    struct metric *metrics;
    size_t n, room;
};

/* The section that is being read. */
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

static bool fail(struct parser *p, const char *what, struct span span)
{
    return error_set(p->error, ERROR_USAGE, "line %u: %s \"%.*s\"", p->line, what, SPAN_QUOTE(span));
}

/* Who lists an event means to use it: a slip of the pen shows here. */
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

static bool read_events(struct parser *p, struct span rest)
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
            return fail(p, "too many events, at", name);
        char *to = s->names[s->events.n];
        if (!span_is_event_name(name) || memchr(name.at, '-', name.n) != NULL ||
            memchr(name.at, '=', name.n) != NULL)
            return fail(p, "an expression cannot name this event:", name);
        if (!span_copy(name, to, EVENT_NAME))
            return fail(p, "too long a name:", name);
        for (size_t i = 0; i < s->events.n; i++)
            if (strcasecmp(s->names[i], to) == 0)
                return fail(p, "this event stands here twice:", name);
        s->events.n++;
    }
    return true;
}

static bool read_head(struct parser *p, struct span head, struct metric *metric)
{
    struct span name, unit;
    if (!span_word(&head, &name))
        return fail(p, "a METRIC has a name before its", (struct span){"=", 1});
    if (!span_is_event_name(name) || !span_copy(name, metric->name, sizeof metric->name))
        return fail(p, "this cannot be a metric's name:", name);
    if (span_word(&head, &unit) &&
        (!span_is_printable(unit) || !span_copy(unit, metric->unit, sizeof metric->unit)))
        return fail(p, "this cannot be a unit:", unit);
    if (head.n > 0)
        return fail(p, "one unit is enough, not also", head);
    for (size_t i = p->section.first; i < p->set->n; i++)
        if (strcasecmp(p->set->metrics[i].name, metric->name) == 0)
            return fail(p, "its section has this metric already:", name);
    return true;
}

static bool add_metric(struct parser *p, const struct metric *metric)
{
    struct metric_set *set = p->set;
    if (set->n == MOST_METRICS)
        return error_set(p->error, ERROR_USAGE, "line %u: more than %d metrics", p->line, MOST_METRICS);
    if (set->n == set->room) {
        size_t room = set->room > 0 ? 2 * set->room : 8;
        struct metric *metrics = realloc(set->metrics, room * sizeof *metrics);
        if (metrics == NULL)
            return error_set(p->error, ERROR_SYSTEM, "out of memory");
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
        return fail(p, "a METRIC is followed by = and an expression", rest);
    struct span head = {rest.at, (size_t)(equals - rest.at)}, at;
    struct span expression = {equals + 1, rest.n - head.n - 1};
    if (!read_head(p, head, &metric))
        return false;
    struct span written = span_trimmed(expression);
    snprintf(metric.text, sizeof metric.text, "%.*s", (int)written.n, written.at);
    if (!metric_expression_parse(expression, &p->section.events, &metric, &what, &at))
        return at.n > 0 ? fail(p, what, at)
                        : error_set(p->error, ERROR_USAGE, "line %u: %s the end of the line", p->line, what);
    return add_metric(p, &metric);
}

static bool read_text(struct parser *p, struct span text)
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
            return fail(p, "a line begins with EVENTS or METRIC, not", word);
        if (!(events ? read_events(p, rest) : read_metric(p, rest)))
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
        error_set(error, ERROR_SYSTEM, "out of memory");
    for (size_t i = 0; i < n && ok; i++) {
        p->set = set;
        p->error = error;
        ok = read_text(p, texts[i]);
    }
    free(p);
    if (ok)
        return set;
    metric_set_free(set);
    return NULL;
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

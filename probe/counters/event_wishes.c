#include "counters/events.h"

#include "counters/words.h"

#include <string.h>

struct wishing {
    struct event_wish *out;
    size_t room, n;
    unsigned group, last_group;
    struct error *error;
};

static bool is_number(struct span span)
{
    for (size_t i = 0; i < span.n; i++)
        if (span.at[i] < '0' || span.at[i] > '9')
            return false;
    return span.n > 0;
}

static bool add_wish(struct wishing *w, struct span span)
{
    struct event_wish wish = {.group = w->group};
    if (span.n == 0)
        return error_set(w->error, ERROR_USAGE,
                         "-e: a name is missing: an event is left out between its commas");
    if (is_number(span))
        return error_set(
            w->error, ERROR_USAGE,
            "-e: \"%.*s\" may be meant in decimal or not: write 0x%.*s or r%.*s for that code in "
            "hexadecimal",
            SPAN_QUOTE(span), SPAN_QUOTE(span), SPAN_QUOTE(span));
    wish.by_code = span_is_code(span, &wish.code);
    if (!wish.by_code && !span_is_event_name(span))
        return error_set(w->error, ERROR_USAGE,
                         "-e: \"%.*s\" is neither an event's name nor a code like 0x11", SPAN_QUOTE(span));
    if (!span_copy(span, wish.name, sizeof wish.name))
        return error_set(w->error, ERROR_USAGE, "-e: no event has so long a name as \"%.*s...\"",
                         SPAN_QUOTE(span));
    if (w->n == w->room)
        return error_set(w->error, ERROR_USAGE, "-e: more than %zu events", w->room);
    w->out[w->n++] = wish;
    return true;
}

static bool open_group(struct wishing *w)
{
    if (w->group != 0)
        return error_set(w->error, ERROR_USAGE, "-e: a group { } cannot hold another");
    w->group = ++w->last_group;
    return true;
}

/* One event with the braces around it: `at` begins it, and ends behind it, at a comma or the text's end. */
static bool read_one(struct wishing *w, const char **at)
{
    if (**at == '{') {
        if (!open_group(w))
            return false;
        ++*at;
    }
    size_t n = strcspn(*at, ",{}");
    if (!add_wish(w, (struct span){*at, n}))
        return false;
    *at += n;
    if (**at == '}') {
        if (w->group == 0)
            return error_set(w->error, ERROR_USAGE, "-e: there is a } without its {");
        w->group = 0;
        ++*at;
    }
    if (**at != ',' && **at != '\0')
        return error_set(w->error, ERROR_USAGE, "-e: a comma is missing before \"%.40s\"", *at);
    return true;
}

bool event_wishes_parse(const char *text, struct event_wish *out, size_t room, size_t *n, struct error *error)
{
    struct wishing w = {.out = out, .room = room, .n = *n, .error = error};
    for (size_t i = 0; i < *n; i++)
        w.last_group = out[i].group > w.last_group ? out[i].group : w.last_group;
    for (const char *at = text;; at++) {
        if (!read_one(&w, &at))
            return false;
        if (*at == '\0')
            break;
    }
    if (w.group != 0)
        return error_set(error, ERROR_USAGE, "-e: a { is not closed");
    *n = w.n;
    return true;
}

void event_wishes_name(struct event_wish *wishes, size_t n, const struct event_set *set)
{
    for (size_t i = 0; i < n; i++) {
        const struct event *event = wishes[i].by_code ? event_set_by_code(set, wishes[i].code) : NULL;
        if (event == NULL)
            continue;
        memcpy(wishes[i].name, event->name, sizeof wishes[i].name);
        wishes[i].by_code = false;
    }
}

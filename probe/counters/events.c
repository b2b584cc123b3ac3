/* SPDX-License-Identifier: MIT */
#include "counters/events.h"

#include "base/values.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Unlike those of <ctype.h>, these do not depend on the locale. */
static bool span_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

static struct span span_from(struct span span, size_t from)
{
    return (struct span){.at = span.at + from, .n = span.n - from};
}

struct span span_trimmed(struct span span)
{
    while (span.n > 0 && span_is_blank(span.at[0]))
        span = span_from(span, 1);
    while (span.n > 0 && span_is_blank(span.at[span.n - 1]))
        span.n--;
    return span;
}

bool lines_next(struct lines *lines, struct span *line)
{
    while (lines->rest.n > 0) {
        struct span rest = lines->rest;
        const char *end = memchr(rest.at, '\n', rest.n);
        size_t n = end != NULL ? (size_t)(end - rest.at) : rest.n;
        lines->rest = span_from(rest, end != NULL ? n + 1 : n);
        lines->line++;
        const char *comment = n > 0 ? memchr(rest.at, '#', n) : NULL;
        rest.n = comment != NULL ? (size_t)(comment - rest.at) : n;
        *line = span_trimmed(rest);
        if (line->n > 0)
            return true;
    }
    return false;
}

bool span_word(struct span *rest, struct span *word)
{
    *rest = span_trimmed(*rest);
    size_t n = 0;
    while (n < rest->n && !span_is_blank(rest->at[n]))
        n++;
    *word = (struct span){.at = rest->at, .n = n};
    *rest = span_trimmed(span_from(*rest, n));
    return n > 0;
}

bool span_is(struct span span, const char *word)
{
    return span.n == strlen(word) && memcmp(span.at, word, span.n) == 0;
}

bool span_copy(struct span span, char *out, size_t size)
{
    if (span.n >= size || memchr(span.at, '\0', span.n) != NULL)
        return false;
    memcpy(out, span.at, span.n);
    out[span.n] = '\0';
    return true;
}

bool span_is_printable(struct span span)
{
    for (size_t i = 0; i < span.n; i++)
        if (span.at[i] < ' ' || span.at[i] > '~')
            return false;
    return true;
}

/* Hexadecimal digits only, at most 32 bits of value. */
static bool read_hex(struct span span, uint32_t *out)
{
    uint32_t value = 0;
    for (size_t i = 0; i < span.n; i++) {
        int digit = hex_digit(span.at[i]);
        if (digit < 0 || value >> 28 != 0)
            return false;
        value = value << 4 | (uint32_t)digit;
    }
    *out = value;
    return span.n > 0;
}

bool span_is_code(struct span span, uint32_t *code)
{
    if (span.n > 1 && span.at[0] == 'r')
        return read_hex(span_from(span, 1), code);
    return span.n > 2 && span.at[0] == '0' && (span.at[1] | 0x20) == 'x' &&
           read_hex(span_from(span, 2), code);
}

bool span_is_event_name(struct span span)
{
    uint32_t code;
    for (size_t i = 0; i < span.n; i++)
        if (!is_letter(span.at[i]) && !is_digit(span.at[i]) &&
            (span.at[i] == '\0' || strchr("_.:=-", span.at[i]) == NULL))
            return false;
    return span.n > 0 && !is_digit(span.at[0]) && !span_is_code(span, &code);
}

/* ---- events */

const char events_advice[] = "pmu-probe list shows the events and metrics of this core.";

/* More than any core has. `use` may be nested to this depth, but not into itself. */
enum { MOST_EVENTS = 1024, MOST_USES = 64, DEEPEST_USE = 8, MOST_ERRATA = 64 };

struct event_set {
    struct event *events;
    size_t n, room;
    struct event_erratum errata[MOST_ERRATA];
    size_t n_errata;
};

struct parser {
    struct event_set *set;
    unsigned *line_of; /* of each event, in the outermost text */
    size_t room;       /* of these */
    const char *(*other)(void *self, const char *name, size_t *n);
    void *self;
    char inside[DEEPEST_USE][EVENT_NAME]; /* the sets that are being read, outermost first */
    unsigned depth, uses, line;
    struct error *error;
};

static bool events_fail(struct parser *p, unsigned line, const char *what, struct span span)
{
    const char *inside = p->depth > 0 ? p->inside[p->depth - 1] : "";
    return error_set(p->error, ERROR_USAGE, "%s%sline %u: %s \"%.*s\"", inside, p->depth > 0 ? ", " : "",
                     line, what, SPAN_QUOTE(span));
}

static bool add_event(struct parser *p, unsigned line, const struct event *event)
{
    struct event_set *set = p->set;
    if (set->n == MOST_EVENTS)
        return error_set(p->error, ERROR_USAGE, "line %u: more than %d events", line, MOST_EVENTS);
    struct event *events = array_grow(set->events, set->n + 1, &set->room, sizeof *events);
    unsigned *lines = array_grow(p->line_of, set->n + 1, &p->room, sizeof *lines);
    set->events = events != NULL ? events : set->events;
    p->line_of = lines != NULL ? lines : p->line_of;
    if (events == NULL || lines == NULL)
        return error_memory(p->error);
    p->line_of[set->n] = p->line;
    set->events[set->n++] = *event;
    return true;
}

static bool events_read_code(struct parser *p, unsigned line, struct span word, uint32_t *code)
{
    if (word.n > 0 && word.at[0] == '0' && span_is_code(word, code))
        return true;
    return events_fail(p, line, "a code is written 0x11, not", word);
}

static bool events_read_event(struct parser *p, unsigned line, struct span rest)
{
    struct event event = {.code = 0};
    struct span code, name;
    span_word(&rest, &code);
    if (!events_read_code(p, line, code, &event.code))
        return false;
    if (!span_word(&rest, &name) || !span_is_event_name(name) ||
        !span_copy(name, event.name, sizeof event.name))
        return events_fail(p, line, "this cannot be an event's name:", name);
    if (!span_is_printable(rest) || !span_copy(rest, event.words, sizeof event.words))
        return events_fail(p, line, "too many words, or not plain ASCII, after", name);
    return add_event(p, line, &event);
}

/* "r2p1" as variant << 4 | revision. */
static bool read_revision(struct span word, uint8_t *out)
{
    if (word.n != 4 || word.at[0] != 'r' || word.at[2] != 'p' || !is_digit(word.at[1]) ||
        !is_digit(word.at[3]))
        return false;
    *out = (uint8_t)((word.at[1] - '0') << 4 | (word.at[3] - '0'));
    return true;
}

/* "r0p0-r2p1", "r0p4" or "any" */
static bool read_revisions(struct parser *p, unsigned line, struct span word, struct event_erratum *out)
{
    const char *dash = word.n > 0 ? memchr(word.at, '-', word.n) : NULL;
    size_t n = dash != NULL ? (size_t)(dash - word.at) : word.n;
    struct span last = dash != NULL ? span_from(word, n + 1) : word;
    out->is_vague = span_is(word, "any");
    out->last = UINT8_MAX;
    if (out->is_vague || (read_revision((struct span){word.at, n}, &out->first) &&
                          read_revision(last, &out->last) && out->first <= out->last))
        return true;
    return events_fail(p, line, "revisions are written r0p0-r2p1, r0p4 or any, not", word);
}

/* After "erratum". */
static bool read_erratum(struct parser *p, unsigned line, struct span rest)
{
    struct event_set *set = p->set;
    struct event_erratum *out = &set->errata[set->n_errata];
    struct span code, number, part, revisions;
    uint32_t part_number = 0;
    bool known = false;
    if (set->n_errata == MOST_ERRATA)
        return error_set(p->error, ERROR_USAGE, "line %u: more than %d errata", line, MOST_ERRATA);
    *out = (struct event_erratum){.code = 0};
    if (!span_word(&rest, &code) || !span_word(&rest, &number) || !span_word(&rest, &part) ||
        !span_word(&rest, &revisions) || rest.n == 0)
        return events_fail(p, line, "an erratum has a code, a number, a part, revisions, words:", code);
    if (!events_read_code(p, line, code, &out->code) || !events_read_code(p, line, part, &part_number) ||
        !read_revisions(p, line, revisions, out))
        return false;
    for (size_t i = 0; i < set->n; i++)
        known = known || set->events[i].code == out->code;
    if (!known)
        return events_fail(p, line, "no event above has the code", code);
    out->part = (uint16_t)part_number;
    if (part_number > 0xFFF || !span_copy(number, out->number, sizeof out->number) ||
        !span_copy(rest, out->words, sizeof out->words) || !span_is_printable(number) ||
        !span_is_printable(rest))
        return events_fail(p, line, "a part, a number or words that do not fit, of", number);
    set->n_errata++;
    return true;
}

/* "0x13" or "0x13-0x1D" */
static bool read_range(struct parser *p, unsigned line, struct span word, uint32_t *first, uint32_t *last)
{
    const char *dash = memchr(word.at, '-', word.n);
    struct span low = {.at = word.at, .n = dash != NULL ? (size_t)(dash - word.at) : word.n}, high = low;
    if (dash != NULL)
        high = (struct span){.at = dash + 1, .n = word.n - low.n - 1};
    if (!events_read_code(p, line, low, first) || !events_read_code(p, line, high, last))
        return false;
    return *first <= *last || events_fail(p, line, "this range is backwards:", word);
}

/* Orders the events from `from` up to *to: those of a range are last, from where *to is then. */
static bool part_range(struct parser *p, unsigned line, struct span word, size_t from, size_t *to)
{
    struct event *events = p->set->events;
    uint32_t first = 0, last = 0;
    size_t kept = from;
    if (!read_range(p, line, word, &first, &last))
        return false;
    for (size_t i = from; i < *to; i++)
        if (events[i].code < first || events[i].code > last) {
            struct event event = events[kept];
            events[kept++] = events[i];
            events[i] = event;
        }
    if (kept == *to)
        return events_fail(p, line, "the set that is used has no event", word);
    *to = kept;
    return true;
}

/* Orders the events from `from` on, which a `use` brought and which share one line number: those of these
 * codes are last, from *at on. */
static bool part_codes(struct parser *p, unsigned line, struct span rest, size_t from, size_t *at)
{
    struct span word;
    for (*at = p->set->n; span_word(&rest, &word);)
        if (!part_range(p, line, word, from, at))
            return false;
    return true;
}

/* Drops all others. */
static bool keep_codes(struct parser *p, unsigned line, struct span rest, size_t from)
{
    struct event_set *set = p->set;
    size_t at = 0;
    if (!part_codes(p, line, rest, from, &at))
        return false;
    memmove(set->events + from, set->events + at, (set->n - at) * sizeof *set->events);
    set->n -= at - from;
    return true;
}

static bool events_read_text(struct parser *p, struct span text);

static bool read_use(struct parser *p, unsigned line, struct span rest)
{
    struct span name;
    if (!span_word(&rest, &name) || !span_is_event_name(name))
        return events_fail(p, line, "`use` takes the name of a set, not", name);
    if (p->depth == DEEPEST_USE || ++p->uses > MOST_USES)
        return events_fail(p, line, "too many sets use each other, at", name);
    char *inside = p->inside[p->depth];
    struct span text = {.n = 0};
    if (span_copy(name, inside, sizeof p->inside[0]) && p->other != NULL)
        text.at = p->other(p->self, inside, &text.n);
    if (text.at == NULL)
        return events_fail(p, line, "there is no set", name);
    size_t from = p->set->n;
    p->depth++;
    bool ok = events_read_text(p, text);
    p->depth--;
    return ok && (rest.n == 0 || keep_codes(p, line, rest, from));
}

static bool events_read_text(struct parser *p, struct span text)
{
    struct lines lines = {.rest = text};
    struct span line, rest, word;
    size_t used_from = SIZE_MAX; /* where the events of the last `use` begin, while `except` may follow */
    while (lines_next(&lines, &line)) {
        if (p->depth == 0)
            p->line = lines.line;
        rest = line;
        span_word(&rest, &word);
        if (span_is(word, "use")) {
            used_from = p->set->n;
            if (!read_use(p, lines.line, rest))
                return false;
        } else if (span_is(word, "except")) {
            if (used_from == SIZE_MAX)
                return events_fail(p, lines.line, "only after a `use` there can be", word);
            if (rest.n == 0)
                return events_fail(p, lines.line, "which codes, after", word);
            if (!part_codes(p, lines.line, rest, used_from, &p->set->n)) /* these are dropped */
                return false;
        } else if (span_is(word, "erratum")) {
            if (!read_erratum(p, lines.line, rest))
                return false;
        } else {
            used_from = SIZE_MAX;
            if (!events_read_event(p, lines.line, line))
                return false;
        }
    }
    return true;
}

/* Reports the later line, which is the one to correct. */
static bool check_unique(struct parser *p)
{
    const struct event_set *set = p->set;
    for (size_t i = 1; i < set->n; i++)
        for (size_t k = 0; k < i; k++) {
            const struct event *a = &set->events[k], *b = &set->events[i];
            if (a->code == b->code)
                return error_set(p->error, ERROR_USAGE, "line %u: the code 0x%02X is %s already",
                                 p->line_of[i], (unsigned)b->code, a->name);
            if (strcasecmp(a->name, b->name) == 0)
                return error_set(p->error, ERROR_USAGE, "line %u: the event %s has a code already, 0x%02X",
                                 p->line_of[i], b->name, (unsigned)a->code);
        }
    return true;
}

static int by_code(const void *a, const void *b)
{
    const struct event *left = a, *right = b;
    return (left->code > right->code) - (left->code < right->code);
}

struct event_set *event_set_parse(const char *text, size_t n,
                                  const char *(*other)(void *self, const char *name, size_t *n), void *self,
                                  struct error *error)
{
    struct event_set *set = calloc(1, sizeof *set);
    struct parser p = {.set = set, .other = other, .self = self, .error = error};
    if (set == NULL)
        return error_memory_null(error);
    bool ok = events_read_text(&p, (struct span){text, n}) && check_unique(&p);
    free(p.line_of);
    if (!ok) {
        event_set_free(set);
        return NULL;
    }
    if (set->n > 0)
        qsort(set->events, set->n, sizeof *set->events, by_code);
    return set;
}

void event_set_free(struct event_set *set)
{
    if (set != NULL)
        free(set->events);
    free(set);
}

size_t event_set_count(const struct event_set *set)
{
    return set->n;
}

const struct event *event_set_at(const struct event_set *set, size_t i)
{
    return i < set->n ? &set->events[i] : NULL;
}

const struct event *event_set_find(const struct event_set *set, const char *name)
{
    for (size_t i = 0; i < set->n; i++)
        if (strcasecmp(set->events[i].name, name) == 0)
            return &set->events[i];
    return NULL;
}

const struct event *event_set_by_code(const struct event_set *set, uint32_t code)
{
    struct event key = {.code = code};
    return set->n > 0 ? bsearch(&key, set->events, set->n, sizeof key, by_code) : NULL;
}

/* "erratum 740663 of r0p0 to r2p1: " */
static void put_erratum(const struct event_erratum *erratum, uint32_t midr, char *out, size_t size)
{
    char revisions[48] = "";
    if (erratum->is_vague)
        snprintf(revisions, sizeof revisions, ", of unknown revisions");
    else if ((midr & EVENT_ANY_REVISION) == EVENT_ANY_REVISION)
        snprintf(revisions, sizeof revisions, " of r%dp%d to r%dp%d", erratum->first >> 4,
                 erratum->first & 15, erratum->last >> 4, erratum->last & 15);
    snprintf(out, size, "erratum %s%s: %s", erratum->number, revisions, erratum->words);
}

static bool has_erratum(const struct event_erratum *erratum, uint32_t midr)
{
    uint8_t revision = (uint8_t)((midr >> 20 & 15) << 4 | (midr & 15));
    return erratum->part == (midr >> 4 & 0xFFF) &&
           ((midr & EVENT_ANY_REVISION) == EVENT_ANY_REVISION ||
            (revision >= erratum->first && revision <= erratum->last));
}

void event_errata(const struct event_set *set, const char *event, uint32_t midr, const char *but,
                  char out[EVENT_ERRATA])
{
    char name[EVENT_NAME], one[EVENT_ERRATA];
    out[0] = '\0';
    snprintf(name, sizeof name, "%.*s", (int)strcspn(event, ":"), event);
    const struct event *known = set != NULL ? event_set_find(set, name) : NULL;
    for (size_t i = 0; known != NULL && i < set->n_errata; i++) {
        const struct event_erratum *erratum = &set->errata[i];
        if (erratum->code != known->code || !has_erratum(erratum, midr) ||
            (but != NULL && strstr(but, erratum->number) != NULL))
            continue;
        put_erratum(erratum, midr, one, sizeof one);
        text_join(out, EVENT_ERRATA, "; ", one);
    }
}

#define TEXT(name, text) {name, text},
static const struct {
    const char *name, *text;
} files[] = {
#include "event_files.h"
};
#undef TEXT

#define TEXT(name, text) name,
static const char *const names[] = {
#include "event_files.h"
};
#undef TEXT

enum { FILES = sizeof files / sizeof *files };

static const char *find_text(void *self, const char *name, size_t *n)
{
    (void)self;
    for (size_t i = 0; i < FILES; i++)
        if (strcasecmp(files[i].name, name) == 0) {
            *n = strlen(files[i].text);
            return files[i].text;
        }
    return NULL;
}

struct event_set *event_set_open(const char *cpu, struct error *error)
{
    size_t n = 0;
    const char *text = find_text(NULL, cpu, &n);
    if (text != NULL)
        return event_set_parse(text, n, find_text, NULL, error);
    return error_null(error, ERROR_USAGE, "no events are known for \"%.64s\"", cpu);
}

size_t event_cpus(const char *const **out)
{
    *out = names;
    return FILES;
}

bool event_set_is_generic(const char *cpu)
{
    static const char end[] = "-common";
    size_t n = strlen(cpu);
    return n >= sizeof end - 1 && strcmp(cpu + n - (sizeof end - 1), end) == 0;
}

struct wishing {
    struct event_request *out;
    size_t room, n;
    unsigned group, last_group;
    struct error *error;
};

static bool events_is_number(struct span span)
{
    for (size_t i = 0; i < span.n; i++)
        if (span.at[i] < '0' || span.at[i] > '9')
            return false;
    return span.n > 0;
}

static bool events_add_request(struct wishing *w, struct span span)
{
    struct event_request request = {.group = w->group};
    if (span.n == 0)
        return error_set(w->error, ERROR_USAGE, "-e: a name is missing");
    if (events_is_number(span))
        return error_set(w->error, ERROR_USAGE,
                         "-e: \"%.*s\" may be decimal: write 0x%.*s or r%.*s for that hexadecimal code",
                         SPAN_QUOTE(span), SPAN_QUOTE(span), SPAN_QUOTE(span));
    request.by_code = span_is_code(span, &request.code);
    if (!request.by_code && !span_is_event_name(span))
        return error_set(w->error, ERROR_USAGE,
                         "-e: \"%.*s\" is neither an event's name nor a code like 0x11", SPAN_QUOTE(span));
    if (!span_copy(span, request.name, sizeof request.name))
        return error_set(w->error, ERROR_USAGE, "-e: no event has so long a name as \"%.*s...\"",
                         SPAN_QUOTE(span));
    if (w->n == w->room)
        return error_set(w->error, ERROR_USAGE, "-e: more than %zu events", w->room);
    w->out[w->n++] = request;
    return true;
}

/* One event with the braces around it: `at` begins it, and ends after it, at a comma or the text's end. */
static bool events_read_one(struct wishing *w, const char **at)
{
    if (**at == '{') {
        if (w->group != 0)
            return error_set(w->error, ERROR_USAGE, "-e: a group { } cannot hold another");
        w->group = ++w->last_group;
        ++*at;
    }
    size_t n = strcspn(*at, ",{}");
    if (!events_add_request(w, (struct span){*at, n}))
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

bool event_requests_parse(const char *text, struct event_request *out, size_t room, size_t *n,
                          struct error *error)
{
    struct wishing w = {.out = out, .room = room, .n = *n, .error = error};
    for (size_t i = 0; i < *n; i++)
        w.last_group = out[i].group > w.last_group ? out[i].group : w.last_group;
    for (const char *at = text;; at++) {
        if (!events_read_one(&w, &at))
            return false;
        if (*at == '\0')
            break;
    }
    if (w.group != 0)
        return error_set(error, ERROR_USAGE, "-e: a { is not closed");
    *n = w.n;
    return true;
}

/* What perf's generic names stand for: the first that the core has. */
enum { GENERIC_MOST = 5 };
static const struct {
    const char *names[2], *events[GENERIC_MOST];
} generic[] = {
    {{"cycles", "cpu-cycles"}, {"CPU_CYCLES", "CPU_CLK_UNHALTED"}},
    {{"instructions"}, {"INST_RETIRED", "INST_OUT_OF_RENAME_STAGE", "INSTRUCTIONS_EXECUTED"}},
    {{"cache-references"}, {"L1D_CACHE", "DATA_READ_OR_WRITE"}},
    /* Knights Corner's lacks misses of lines that are being prefetched, and mispredicted branches that no BTB
     * knows: its list of events says so */
    {{"cache-misses"}, {"L1D_CACHE_REFILL", "DATA_READ_MISS_OR_WRITE_MISS"}},
    {{"branches", "branch-instructions"}, {"BR_RETIRED", "PC_WRITE_RETIRED", "BR_PRED", "BRANCHES"}},
    {{"branch-misses"}, {"BR_MIS_PRED_RETIRED", "BR_MIS_PRED", "BRANCHES_MISPREDICTED"}},
};

bool event_is_generic(const char *name)
{
    for (size_t i = 0; i < sizeof generic / sizeof *generic; i++)
        for (size_t k = 0; k < 2 && generic[i].names[k] != NULL; k++)
            if (strcasecmp(generic[i].names[k], name) == 0)
                return true;
    return false;
}

static bool can_count(const struct counter_block *block, const struct event_set *set, const char *name)
{
    for (size_t i = 0; i < block->n; i++)
        if (strcmp(block->counters[i].name, name) == 0)
            return true;
    const struct event *event = set != NULL ? event_set_find(set, name) : NULL;
    return event != NULL &&
           (block->kind->counters_for == NULL || block->kind->counters_for(block, event->code) != 0);
}

static const char *find_generic(const struct counter_block *block, const struct event_set *set,
                                const char *name)
{
    for (size_t i = 0; i < sizeof generic / sizeof *generic; i++)
        for (size_t k = 0; k < 2 && generic[i].names[k] != NULL; k++)
            for (size_t e = 0; e < GENERIC_MOST && strcasecmp(generic[i].names[k], name) == 0; e++)
                if (generic[i].events[e] != NULL && can_count(block, set, generic[i].events[e]))
                    return generic[i].events[e];
    return NULL;
}

void event_requests_name(struct event_request *requests, size_t n, const struct event_set *set,
                         const struct counter_block *block)
{
    for (size_t i = 0; i < n; i++) {
        const struct event *event =
            requests[i].by_code && set != NULL ? event_set_by_code(set, requests[i].code) : NULL;
        const char *name = event != NULL         ? event->name
                           : requests[i].by_code ? NULL
                                                 : find_generic(block, set, requests[i].name);
        if (name == NULL)
            continue;
        snprintf(requests[i].name, sizeof requests[i].name, "%s", name);
        requests[i].by_code = false;
    }
}

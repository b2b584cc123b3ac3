/* SPDX-License-Identifier: MIT */
#include "run/counting.h"
#include "base/arm_debug.h"
#include "base/file.h"
#include "base/values.h"

#include "symbols/listing.h"
#include "symbols/symbols.h"

#include "run/region.h"
#include "run/ticks.h"
#include "run/values.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool read_requests(const struct session *session, struct event_request *requests, size_t *n,
                          struct error *error)
{
    const struct request *request = session->request;
    const char *own_cycles = session->device.block->kind->own_cycles;
    if (request->n_events == 0 && request->n_metrics == 0 && session->device.remote != NULL &&
        own_cycles != NULL)
        return event_requests_parse(own_cycles, requests, PLAN_COLUMNS, n, error);
    for (size_t i = 0; i < request->n_events; i++)
        if (!event_requests_parse(request->events[i], requests, PLAN_COLUMNS, n, error))
            return false;
    return true;
}

/* ---- metrics */

enum { OWN }; /* the built-in set of metrics; the others are the user's files */

static struct metric_set *read_metric_file(const char *path, const volatile sig_atomic_t *cancel,
                                           struct error *error)
{
    enum { LARGEST = 65536 };
    int fd = file_open_to_read(path, cancel);
    char *text = calloc(1, LARGEST);
    ssize_t n = fd >= 0 && text != NULL ? file_read(fd, text, LARGEST, cancel) : -1;
    int reason = errno;
    if (fd >= 0)
        close(fd);
    struct metric_set *set =
        n >= 0 && n < LARGEST ? metric_set_parse(text, file_drop_mark(text, (size_t)n), error) : NULL;
    free(text);
    if (n < 0 && reason == EINTR)
        error_set(error, ERROR_CANCELLED, "cancelled");
    else if (n < 0)
        error_advise(error, ERROR_USAGE, "", "%.200s cannot be read: %s", path, strerror(reason));
    else if (n == LARGEST)
        error_set(error, ERROR_USAGE, "%.200s is larger than 64 KiB", path);
    return set;
}

struct knowledge {
    const struct counter_block *block;
    const struct event_set *set;
};

static bool knows_event(void *self, const char *event)
{
    const struct knowledge *knowledge = self;
    for (size_t i = 0; i < knowledge->block->n; i++)
        if (strcasecmp(knowledge->block->counters[i].name, event) == 0)
            return true;
    return knowledge->set != NULL && event_set_find(knowledge->set, event) != NULL;
}

/* Whether the counters can count them in one pass. */
static bool fit_together(const struct counting *counting, const struct session *session,
                         const struct event_request *requests, size_t n)
{
    struct error ignored = {0};
    struct plan *plan = calloc(1, sizeof *plan);
    bool fit = plan != NULL && plan_make(plan, session->device.block, counting->set, requests, n, &ignored);
    free(plan);
    return fit;
}

static bool counting_add_metric(struct counting *counting, const struct session *session,
                                const struct metric *metric, struct event_request *requests, size_t *n,
                                struct error *error)
{
    if (counting->n_metrics == COUNTING_METRICS)
        return error_set(error, ERROR_USAGE, "more than %d metrics", COUNTING_METRICS);
    counting->metrics[counting->n_metrics++] = metric;
    /* Adds the events that were not requested yet, in one pass if possible */
    unsigned group = 0;
    size_t first = *n;
    for (size_t i = 0; i < first; i++)
        group = requests[i].group > group ? requests[i].group : group;
    for (size_t i = 0; i < metric->n_events; i++) {
        bool there = false;
        for (size_t k = 0; k < *n; k++)
            there = there || strcasecmp(requests[k].name, metric->events[i]) == 0;
        if (there)
            continue;
        if (*n == PLAN_COLUMNS)
            return error_set(error, ERROR_USAGE, "more than %d events", PLAN_COLUMNS);
        requests[*n] = (struct event_request){.group = group + 1};
        memcpy(requests[(*n)++].name, metric->events[i], sizeof metric->events[i]);
    }
    /* If they do not fit together, count them in turns */
    if (*n > first && !fit_together(counting, session, requests + first, *n - first))
        for (size_t i = first; i < *n; i++)
            requests[i].group = 0;
    return true;
}

/* Suggests similar names, else lists all metrics that these counters support. */
static bool refuse_metric(const struct metric_set *set, const char *name, struct knowledge *knowledge,
                          struct error *error)
{
    char room[NEAR_NAMES * (NEAR_LENGTH + 2) + 32], list[512] = "";
    struct near near;
    bool exists = metric_set_find(set, name, NULL, NULL) != NULL;
    if (!exists && knows_event(knowledge, name))
        return error_advise(error, ERROR_USAGE, "", "%.48s is an event: -e %.48s", name, name);
    near_init(&near, name, strlen(name));
    for (size_t i = 0; i < metric_set_count(set); i++) {
        const struct metric *metric = metric_set_at(set, i);
        if (metric_set_find(set, metric->name, knows_event, knowledge) != metric)
            continue;
        near_offer(&near, metric->name);
        if (strlen(list) + strlen(metric->name) + 2 < sizeof list)
            text_join(list, sizeof list, ", ", metric->name);
    }
    const char *what = exists ? "these counters lack events of the metric" : "unknown metric";
    if (!exists && near.count > 0)
        return error_advise(error, ERROR_USAGE, events_advice, "%s %.48s%s", what, name,
                            near_text(&near, room, sizeof room));
    return error_advise(error, ERROR_USAGE, events_advice, "%s %.48s; %s%s", what, name,
                        list[0] != '\0' ? "there are: " : "they support none", list);
}

static bool add_named_metric(struct counting *counting, const struct session *session, const char *name,
                             struct event_request *requests, size_t *n, struct error *error)
{
    struct knowledge knowledge = {.block = session->device.block, .set = counting->set};
    if (counting->metric_sets[OWN] == NULL &&
        (counting->metric_sets[OWN] = metric_set_open(NULL, error)) == NULL)
        return false;
    const struct metric_set *own = counting->metric_sets[OWN];
    const struct metric *metric = metric_set_find(own, name, knows_event, &knowledge);
    if (metric == NULL)
        return refuse_metric(own, name, &knowledge, error);
    for (size_t i = 0; i < counting->n_metrics; i++)
        if (counting->metrics[i] == metric)
            return error_set(error, ERROR_USAGE, "the metric %s is given twice", metric->name);
    return counting_add_metric(counting, session, metric, requests, n, error);
}

static bool add_metric_file(struct counting *counting, const struct session *session, const char *path,
                            struct event_request *requests, size_t *n, struct error *error)
{
    if (counting->n_metric_sets == COUNTING_METRIC_SETS)
        return error_set(error, ERROR_USAGE, "-M: more than %d files", COUNTING_METRIC_SETS - 1);
    struct metric_set *set = read_metric_file(path, session->around->cancel, error);
    if (set == NULL)
        return false;
    counting->metric_sets[counting->n_metric_sets++] = set;
    for (size_t k = 0; k < metric_set_count(set); k++)
        if (!counting_add_metric(counting, session, metric_set_at(set, k), requests, n, error))
            return false;
    return true;
}

/* The next of the items in a list with commas between them. False: it is empty, or too long. */
static bool counting_next_item(const char **list, char *out, size_t size)
{
    size_t length = strcspn(*list, ",");
    snprintf(out, size, "%.*s", (int)length, *list);
    *list += length + ((*list)[length] == ',');
    return length > 0 && length < size;
}

/* Names and files. */
static bool add_metric_list(struct counting *counting, const struct session *session, const char *text,
                            struct event_request *requests, size_t *n, struct error *error)
{
    const char *end = text + strlen(text);
    bool more = true;
    for (; more; more = text < end || text[-1] == ',') {
        char one[PATH_MAX];
        if (!counting_next_item(&text, one, sizeof one))
            return error_set(error, ERROR_USAGE, "-M: a name is missing, or too long");
        if (!(metric_is_file(one, strlen(one)) ? add_metric_file : add_named_metric)(counting, session, one,
                                                                                     requests, n, error))
            return false;
    }
    return true;
}

static bool counting_add_metrics(struct counting *counting, struct session *session,
                                 struct event_request *requests, size_t *n, struct error *error)
{
    const struct request *request = session->request;
    counting->n_metric_sets = OWN + 1;
    for (size_t i = 0; i < request->n_metrics; i++)
        if (!add_metric_list(counting, session, request->metrics[i], requests, n, error))
            return false;
    return true;
}

/* Says why the metric has no value. */
static void explain(const struct counting *counting, const struct metric *metric, const double *counts,
                    double hz, struct metric_result *out)
{
    for (size_t i = 0; i < metric->n_events; i++) {
        if (!isnan(counts[i]))
            continue;
        const char *unsupported = "";
        for (size_t k = 0; k < counting->plan->n_columns; k++)
            if (strcasecmp(counting->plan->columns[k].name, metric->events[i]) == 0)
                unsupported = counting->plan->columns[k].unsupported;
        snprintf(out->why, sizeof out->why, "%.48s is %s", metric->events[i],
                 unsupported[0] != '\0' ? "not supported" : "only a lower bound, or was not counted");
        return;
    }
    bool needs_clock = metric_uses(metric, METRIC_HZ) || metric_uses(metric, METRIC_SECONDS);
    snprintf(out->why, sizeof out->why, "%s",
             needs_clock && !(hz > 0) ? "the clock is not known: --freq HZ" : "it divides by zero");
}

static double mean_of(const struct counting *counting, const char *event, counting_mean *mean,
                      const void *context)
{
    for (size_t i = 0; i < counting->plan->n_columns; i++)
        if (strcasecmp(counting->plan->columns[i].name, event) == 0)
            return mean(context, i);
    return (double)NAN;
}

size_t counting_metrics(const struct counting *counting, counting_mean *mean, const void *context, double hz,
                        struct metric_result *out)
{
    for (size_t i = 0; i < counting->n_metrics; i++) {
        const struct metric *metric = counting->metrics[i];
        double counts[METRIC_EVENTS];
        for (size_t k = 0; k < metric->n_events; k++)
            counts[k] = mean_of(counting, metric->events[k], mean, context);
        double cycles = mean(context, 0);
        const struct metric_input input = {.counts = counts,
                                           .cycles = cycles,
                                           .seconds = hz > 0 ? cycles / hz : (double)NAN,
                                           .hz = hz > 0 ? hz : (double)NAN};
        out[i] = (struct metric_result){.value = metric_evaluate(metric, &input)};
        memcpy(out[i].name, metric->name, sizeof metric->name);
        memcpy(out[i].unit, metric->unit, sizeof metric->unit);
        metric_errata(metric, counting->set, counting->midr, out[i].errata);
        if (!isfinite(out[i].value))
            explain(counting, metric, counts, hz, &out[i]);
    }
    return counting->n_metrics;
}

/* Passes are of different hits: each event is scaled by the cycles of the pass that counted it. */
static double column_mean(const void *context, size_t i)
{
    const struct summary *summary = context;
    const struct column *column = &summary->columns[i], *first = summary->columns;
    if (column->at_least > 0 || statistics_count(column->statistics) == 0)
        return (double)NAN;
    double mean = statistics_mean(column->statistics);
    bool scales = i > 0 && summary->passes > 1 && column->pass_mean > 0;
    return scales ? mean * statistics_mean(first->statistics) / column->pass_mean : mean;
}

/* What the run has shown of a metric's events, beyond what was known when it was planned. */
static void add_run_errata(const struct counting *counting, const struct summary *summary,
                           const struct metric *metric, char out[EVENT_ERRATA])
{
    for (size_t i = 0; i < summary->n; i++) {
        const struct column *column = &summary->columns[i];
        for (size_t k = 0; k < metric->n_events && counting->plan->columns[i].errata[0] == '\0'; k++)
            if (strcasecmp(column->name, metric->events[k]) == 0 && strstr(out, column->errata) == NULL)
                text_join(out, EVENT_ERRATA, "; ", column->errata);
    }
}

void counting_summary(const struct counting *counting, double hz, struct summary *summary)
{
    summary->n_metrics = counting_metrics(counting, column_mean, summary, hz, summary->metrics);
    for (size_t i = 0; i < summary->n_metrics; i++)
        add_run_errata(counting, summary, counting->metrics[i], summary->metrics[i].errata);
}

/* ---- further words that are read with the counters */

static bool has_word(const struct session *session, const char *name, uint64_t *address, uint64_t *size)
{
    return session->symbols != NULL && symbols_object(session->symbols, name, address, size) &&
           (*size <= 4 || *size == 8); /* of eight bytes the low four are enough */
}

static bool counting_find_word(struct session *session, const char *name, struct address *out)
{
    uint64_t address, size;
    if (!has_word(session, name, &address, &size) ||
        !session_check_address(session, address, name, &(struct error){0}))
        return false;
    *out = core_word(&session->device.chosen->core, address);
    out->size = (uint8_t)(size == 1 || size == 2 ? size : 4);
    return true;
}

bool counting_check_tick(const struct session *session, struct error *error)
{
    const char *name = session->request->tick;
    uint64_t address, size;
    if (name == NULL || has_word(session, name, &address, &size))
        return true;
    if (session->symbols == NULL)
        return error_set(error, ERROR_ELF, "--tick needs --elf FILE");
    return error_set(error, ERROR_SYMBOL, "the ELF has no variable \"%.64s\" of up to 8 bytes", name);
}

/* The increment of the tick variable: ST's HAL keeps it in another variable. */
static bool read_each(struct session *session, const char *name, struct wrap_evidence_tick *tick,
                      struct error *error)
{
    struct address at;
    struct deadline deadline = session_deadline(session);
    tick->each = 1;
    if (strcmp(name, "uwTick") != 0 || !counting_find_word(session, "uwTickFreq", &at))
        return true;
    tick->each_at = at.offset;
    return ledger_read(session->device.ledger, at, &tick->each, &deadline, error);
}

/* While its scheduler is suspended, FreeRTOS counts ticks here and adds them to xTickCount later. Without
 * this variable a measurement would miss them. */
static bool find_pended(struct session *session, struct address *out, struct error *error)
{
    static const char *const names[] = {"xPendedTicks",
                                        "uxPendedTicks"}; /* the latter before FreeRTOS 10.3 */
    enum object_found found = OBJECT_NONE;
    for (size_t i = 0; i < sizeof names / sizeof *names && found == OBJECT_NONE; i++) {
        uint64_t address, size;
        found = symbols_find_object(session->symbols, names[i], &address, &size);
        if (found == OBJECT_ONE && counting_find_word(session, names[i], out))
            return true;
    }
    return error_advise(error, ERROR_SYMBOL, tick_advice,
                        "--tick xTickCount: the ELF has %s xPendedTicks, which counts while FreeRTOS's "
                        "scheduler is suspended",
                        found == OBJECT_NONE ? "no" : "several variables");
}

static bool take_tick(struct counting *counting, struct session *session, const struct clock *clock,
                      struct error *error)
{
    const char *name = session->request->tick;
    struct wrap_evidence_tick tick = {0};
    struct deadline deadline = session_deadline(session);
    if (strcmp(session->device.block->kind->name, "systick") != 0)
        return error_set(error, ERROR_USAGE, "--tick belongs to SysTick, not to %s",
                         session->device.block->kind->name);
    if (!counting_check_tick(session, error) || !counting_find_word(session, name, &tick.variable) ||
        !read_each(session, name, &tick, error) ||
        (strcmp(name, "xTickCount") == 0 && !find_pended(session, &tick.pended, error)))
        return false;
    return wrap_evidence_take_tick(&counting->evidence, &session->device, &tick, error) &&
           wrap_evidence_check(&counting->evidence, &session->device, clock, &deadline, error) &&
           ticks_judge(session, &tick, &counting->evidence, error);
}

/* A counter that may wrap between two readings needs a slower one as evidence. */
static bool take_beside(struct counting *counting, struct session *session, const struct clock *clock,
                        struct error *error)
{
    struct deadline deadline = session_deadline(session);
    if (session->request->tick != NULL)
        return take_tick(counting, session, clock, error);
    if (strcmp(session->device.block->kind->name, "systick") != 0 || !session->device.block->counts_cycles)
        return true;
    return wrap_evidence_take_timer(&counting->evidence, &session->device, clock, &deadline, error);
}

/* ---- events of an Armv8.1-M core that count what something else has to set up */

enum { CMPMATCH0 = 0x118, TRCEXTOUT0 = 0x4010, CTI_TRIGOUT4 = 0x4018, SOURCES_OF_EACH = 4 };

static bool counting_reads(struct session *session, uint64_t offset, uint64_t *value)
{
    struct deadline deadline = session_deadline(session);
    struct error unread = {0};
    return ledger_read(session->device.ledger, core_word(&session->device.chosen->core, offset), value,
                       &deadline, &unread);
}

/* DDI 0553 table D1-17 has the events; their sources are reset to off. */
static bool check_source(struct session *session, uint32_t code, const char *name, struct error *error)
{
    enum { MATCHES = 0xF };
    const uint64_t trace_unit = 0xE0041004, cross_trigger = 0xE0042000;
    uint64_t value = 0;
    const char *source = NULL;
    const char *advice = "Set it up first, or count another event.";
    if (code - CMPMATCH0 < SOURCES_OF_EACH) {
        uint64_t function = DWT_FUNCTION0 + (uint64_t)DWT_COMPARATOR * (code - CMPMATCH0);
        if (!counting_reads(session, function, &value) || (value & MATCHES) == 0)
            source = "matches of a DWT comparator";
        advice = "stat --calls FUNCTION sets a comparator to a function's entry.";
    } else if (code - TRCEXTOUT0 < SOURCES_OF_EACH) {
        if (!counting_reads(session, trace_unit, &value) || (value & 1) == 0)
            source = "an output of the trace unit";
    } else if (code - CTI_TRIGOUT4 < SOURCES_OF_EACH) {
        uint64_t routes = cross_trigger + CTIOUTEN0 + UINT64_C(4) * (4 + code - CTI_TRIGOUT4);
        if (!counting_reads(session, routes, &value) || value == 0)
            source = "an output of the cross trigger";
    }
    return source == NULL || error_advise(error, ERROR_NO_COUNTER, advice,
                                          "%.32s counts %s, which nothing has set up", name, source);
}

static bool counting_check_sources(const struct counting *counting, struct session *session,
                                   struct error *error)
{
    const struct plan *plan = counting->plan;
    for (size_t i = 0; session->device.block->kind == &pmu_v81m_kind && i < plan->n_passes; i++)
        for (size_t k = 0; k < plan->passes[i].n; k++) {
            const struct counter_pick *pick = &plan->passes[i].picks[k];
            if (!check_source(session, pick->code, pick->name, error))
                return false;
        }
    return true;
}

static const char delta_of_calls[] = "delta FUNCTION measures its calls.";

/* Functions that one jumps on to, directly or through others of them: its own cold part, a shared end, or one
 * that it tail-calls. */
struct calls_parts {
    struct extent at[32];
    size_t n;
};

static bool calls_add_part(const struct session *session, struct calls_parts *parts, uint64_t target)
{
    struct location to;
    for (size_t i = 0; i < parts->n; i++)
        if (target >= parts->at[i].low && target < parts->at[i].high)
            return true;
    symbols_describe(session->symbols, target, &to);
    if (to.high <= to.low)
        return true;
    if (parts->n == sizeof parts->at / sizeof *parts->at)
        return false;
    parts->at[parts->n++] = (struct extent){to.low, to.high};
    return true;
}

/* Where the part jumps to the entry; 0: it does not. The parts that it jumps on to are added. */
static bool calls_follow(const struct session *session, struct calls_parts *parts, size_t which,
                         uint64_t entry, uint64_t *again, struct error *error)
{
    struct listing listing = {0};
    bool ok = true;
    if (!listing_make(session->symbols, parts->at[which].low, parts->at[which].high, &listing, error))
        return false;
    for (size_t i = 0; i < listing.n && ok && *again == 0; i++) {
        const struct listing_row *row = &listing.rows[i];
        if (row->is_data || row->flow != FLOW_TO)
            continue;
        *again = row->target == entry ? row->address : 0;
        ok = calls_add_part(session, parts, row->target);
    }
    listing_free(&listing);
    return ok || error_advise(error, ERROR_USAGE, delta_of_calls,
                              "--calls: too many jumps to follow: one may lead to its start");
}

/* A comparator sees the entry execute, and not whether a call or the function's own jump led there. */
static bool calls_check_entry(const struct session *session, const struct location *at, struct error *error)
{
    struct calls_parts parts = {.at = {{at->low, at->high}},
                                .n = at->high > at->low}; /* or an address alone */
    uint64_t again = 0;
    char place[256];
    for (size_t i = 0; i < parts.n && again == 0; i++)
        if (!calls_follow(session, &parts, i, at->address, &again, error))
            return false;
    session_place(session, again, place, sizeof place);
    return again == 0 ||
           error_advise(error, ERROR_USAGE, delta_of_calls,
                        "--calls: %.80s jumps to its own start at %s, which would count as a call", at->name,
                        place);
}

/* Two names of one function would both have all of its calls. */
static bool calls_check_name(const struct session *session, const struct location *at, uint64_t *entries,
                             unsigned n, struct error *error)
{
    for (unsigned i = 0; i < n; i++)
        if (entries[i] == at->address)
            return error_set(error, ERROR_USAGE, "--calls: two names are of one function, %.80s", at->name);
    entries[n] = at->address;
    if (at->note[0] != '\0')
        request_note(session->request, "--calls %.80s: %s", at->name, at->note);
    return true;
}

/* Comparator n to a function's entry: it emits nothing, and DWT_CMPMATCHn counts it. */
static bool calls_set(struct session *session, unsigned n, const char *name, uint64_t *entries,
                      struct error *error)
{
    enum { COUNTS_CODE = 0x802 };
    static const char *const names[] = {"DWT_FUNCTION0", "DWT_FUNCTION1", "DWT_FUNCTION2", "DWT_FUNCTION3"};
    struct device *device = &session->device;
    const struct core *core = &device->chosen->core;
    struct deadline deadline = session_deadline(session);
    const uint64_t far = (uint64_t)DWT_COMPARATOR * n;
    struct location at;
    uint64_t ctrl, function;
    if (session->symbols == NULL)
        return error_set(error, ERROR_ELF, "--calls needs --elf FILE");
    if (!symbols_locate(session->symbols, name, &at, error) ||
        !region_check_place(session->symbols, &at, error) ||
        !session_check_address(session, at.address, name, error) || !calls_check_entry(session, &at, error) ||
        !calls_check_name(session, &at, entries, n, error) ||
        !ledger_read(device->ledger, core_word(core, DWT_CTRL), &ctrl, &deadline, error) ||
        !ledger_read(device->ledger, core_word(core, DWT_FUNCTION0 + far), &function, &deadline, error))
        return false;
    if (n >= (ctrl >> DWT_NUMCOMP & 0xF) || (function & FUNCTION_HAS_CODE) == 0 ||
        (function & FUNCTION_IN_USE) != 0)
        return error_set(error, ERROR_NO_COMPARATOR,
                         "comparator %u of the DWT is not there, or not free, to count %.64s", n, name);
    const struct setting settings[] = {
        {.at = core_word(core, DWT_COMP0 + far), .test = UINT32_MAX, .set = at.address},
        {.at = core_word(core, DWT_FUNCTION0 + far),
         .test = FUNCTION_SETTINGS,
         .set = COUNTS_CODE,
         .restore = {.mask = FUNCTION_SETTINGS},
         .watched = names[n]}};
    witness_take(&device->block_witness, &settings[1]);
    return settings_apply_each(device->ledger, settings, 2, &deadline, error);
}

static bool counting_refuse_list(const char *option, int most, const char *what, struct error *error)
{
    return error_set(error, ERROR_USAGE, "%s takes up to %d %s, separated by commas", option, most, what);
}

/* --calls: the events of its functions, whose columns get their names. */
static bool counting_add_calls(struct session *session, struct event_request *requests, size_t *n,
                               struct error *error)
{
    const char *text = session->request->calls;
    uint64_t entries[SOURCES_OF_EACH];
    if (text != NULL && session->device.block->kind != &pmu_v81m_kind)
        return error_advise(error, ERROR_NO_COUNTER, delta_of_calls,
                            "--calls needs the PMU of an Armv8.1-M core (Cortex-M52, M55, M85)");
    for (unsigned i = 0; text != NULL && *text != '\0'; i++) {
        char name[EVENT_NAME], event[EVENT_NAME];
        if (i == SOURCES_OF_EACH || !counting_next_item(&text, name, sizeof name))
            return counting_refuse_list("--calls", SOURCES_OF_EACH, "functions", error);
        snprintf(event, sizeof event, "DWT_CMPMATCH%u", i);
        if (!calls_set(session, i, name, entries, error) ||
            !event_requests_parse(event, requests, PLAN_COLUMNS, n, error))
            return false;
    }
    return true;
}

static void counting_name_calls(struct counting *counting, const char *text)
{
    struct plan *plan = counting->plan;
    for (unsigned i = 0; text != NULL && *text != '\0'; i++) {
        char name[EVENT_NAME], event[EVENT_NAME];
        (void)counting_next_item(&text, name, sizeof name);
        snprintf(event, sizeof event, "DWT_CMPMATCH%u", i);
        for (size_t k = 0; k < plan->n_columns; k++)
            if (strcmp(plan->columns[k].name, event) == 0)
                memcpy(plan->columns[k].name, name, sizeof name);
    }
}

bool counting_open(struct counting *counting, struct session *session, const struct clock *clock,
                   struct error *error)
{
    struct device *device = &session->device;
    struct event_request requests[PLAN_COLUMNS];
    size_t n = 0;
    *counting = (struct counting){.plan = calloc(1, sizeof *counting->plan)};
    if (counting->plan == NULL)
        return error_memory(error);
    if (device->block->events != NULL &&
        (counting->set = event_set_open(device->block->events, error)) == NULL)
        return false;
    if (!read_requests(session, requests, &n, error) || !counting_add_calls(session, requests, &n, error))
        return false;
    event_requests_name(requests, n, counting->set, device->block);
    if (!counting_add_metrics(counting, session, requests, &n, error) ||
        !plan_make(counting->plan, device->block, counting->set, requests, n, error) ||
        !counting_check_sources(counting, session, error))
        return false;
    counting->midr = device_counted(device)->core.id;
    for (size_t i = 0; i < counting->plan->n_columns; i++)
        event_errata(counting->set, counting->plan->columns[i].name, counting->midr, NULL,
                     counting->plan->columns[i].errata);
    counting_name_calls(counting, session->request->calls);
    const struct plan_pass *first = &counting->plan->passes[0];
    struct deadline deadline = session_deadline(session);
    return device_program(device, first->picks, first->n, &deadline, error) &&
           take_beside(counting, session, clock, error);
}

void counting_close(struct counting *counting)
{
    for (size_t i = 0; i < counting->n_metric_sets; i++)
        metric_set_free(counting->metric_sets[i]);
    event_set_free(counting->set);
    free(counting->plan);
    *counting = (struct counting){0};
}

static bool counting_name_register(const char *name, enum core_register *out)
{
    static const struct {
        const char *name;
        enum core_register which;
    } special[] = {
        {"pc", CORE_PC}, {"sp", CORE_SP}, {"lr", CORE_LR}, {"psp", CORE_PSP}, {"xpsr", CORE_STATUS}};
    for (size_t i = 0; i < sizeof special / sizeof *special; i++)
        if (strcasecmp(name, special[i].name) == 0) {
            *out = special[i].which;
            return true;
        }
    char *end;
    if ((name[0] != 'r' && name[0] != 'R') || name[1] < '0' || name[1] > '9')
        return false;
    unsigned long number = strtoul(name + 1, &end, 10);
    *out = (enum core_register)(CORE_R0 + number);
    return *end == '\0' && number <= 12;
}

static bool read_word(struct session *session, const char *name, struct at_end_word *out, struct error *error)
{
    *out = (struct at_end_word){0};
    if (counting_name_register(name, &out->which)) {
        out->is_register = true;
        return true;
    }
    uint64_t address;
    bool is_address = name[0] == '*' && value_count(name + 1, UINT32_MAX, &address) && address % 4 == 0;
    if (is_address)
        out->at = core_word(&session->device.chosen->core, address);
    return is_address || counting_find_word(session, name, &out->at) ||
           error_set(error, ERROR_SYMBOL,
                     "--show: \"%.48s\" is not a register (r0 to r12, sp, lr, pc, psp, xpsr), *ADDRESS of a "
                     "word or variable of the ELF",
                     name);
}

bool counting_words(struct counting *counting, struct session *session, struct result_words *names,
                    struct error *error)
{
    const char *at = session->request->show;
    for (names->n = 0; at != NULL && *at != '\0'; names->n++) {
        if (names->n == RESULT_WORDS ||
            !counting_next_item(&at, names->names[names->n], sizeof names->names[0]))
            return counting_refuse_list("--show", RESULT_WORDS, "words", error);
        if (!read_word(session, names->names[names->n], &counting->at_end.words[names->n], error))
            return false;
    }
    counting->at_end.n = names->n;
    return true;
}

/* SPDX-License-Identifier: MIT */
#include "report/views.h"

#include <string.h>

#define COLUMNS(list)           .columns = (list), .n = sizeof(list) / sizeof *(list)
#define ERROR(of, number)       .key = (of), .heading = "±", .as = AS_POINTS, .needs = (number), .none = "?"
#define NAME(of, what, unknown) .key = (of), .heading = (what), .as = AS_NAME, .none = (unknown)
#define TEXT(of)                .key = (of), .heading = (of)
#define FIELD(of, name)         .key = (of), .heading = (name)
#define COUNT(of, what)         .key = (of), .heading = (what), .as = AS_COUNT

/* Of CSV: what a reader of the row's numbers must know; other formats have it in sentences. */
#define DOUBT                                                                                                \
    {                                                                                                        \
        TEXT("doubt"), .optional = true                                                                      \
    }

/* ---- shares */

#define SHARES(samples)                                                                                      \
    {.key = "children", .heading = "children", .as = AS_SHARE},                                              \
        {.key = "share", .heading = "share", .as = AS_SHARE}, {ERROR("plus_minus", "samples")},              \
    {                                                                                                        \
        COUNT("samples", samples)                                                                            \
    }

static const struct view_column by_function[] = {
    SHARES("samples"), {NAME("function", "function", "[unknown]")}, {TEXT("source")}};
static const struct view_column by_file[] = {SHARES("samples"), {NAME("source", "file", "[unknown]")}};
static const struct view_column by_address[] = {
    SHARES("samples"), {TEXT("address")}, {NAME("function", "function", NULL)}, {TEXT("source")}};
static const struct view_column by_task[] = {SHARES("looks"), {NAME("task", "task", "[unknown]")}};
static const struct view_column by_exception[] = {SHARES("looks"),
                                                  {NAME("exception", "exception", "[unknown]")}};
static const struct view_column by_context[] = {SHARES("looks"), {NAME("context", "context", "[unknown]")}};

#define SHARE_VIEW(list)                                                                                      \
    {                                                                                                         \
        COLUMNS(list), .class = "shares",                                                                     \
                       .caption = "Shares of the samples, the largest first; ± in percent points, with 95 %" \
    }

/* On a narrow terminal the bars go first, then the ends of names, sources, errors, addresses, and last the
 * mark. Headings are as wide as the widest number, so that no column moves. */
#define TOP_COLUMNS(name)                                                                                    \
    {                                                                                                        \
        {.key = "mark", .heading = "", .least = 1, .spare = 5},                                              \
            {.key = "share", .heading = "   share", .as = AS_SHARE, .gap = 1},                               \
            {.key = "plus_minus",                                                                            \
             .heading = "     ±",                                                                            \
             .as = AS_POINTS,                                                                                \
             .needs = "samples",                                                                             \
             .none = "?",                                                                                    \
             .spare = 3},                                                                                    \
            {.key = "address", .heading = "address", .spare = 4}, {NAME("name", name, NULL)},                \
            {.key = "share", .heading = "", .as = AS_METER, .least = 8, .most = 40, .spare = 1},             \
        {                                                                                                    \
            .key = "source", .heading = "source", .most = 40, .spare = 2                                     \
        }                                                                                                    \
    }
static const struct view_column top_columns[] = TOP_COLUMNS("function");
static const struct view_column top_file_columns[] = TOP_COLUMNS("file");
const struct view top_view = {COLUMNS(top_columns), .cuts = true};
const struct view top_file_view = {COLUMNS(top_file_columns), .cuts = true};

const struct view *share_view(enum shares_sort sort)
{
    static const struct view views[SHARES_SORTS] = {
        [SHARES_FUNCTION] = SHARE_VIEW(by_function), [SHARES_LINE] = SHARE_VIEW(by_function),
        [SHARES_FILE] = SHARE_VIEW(by_file),         [SHARES_ADDRESS] = SHARE_VIEW(by_address),
        [SHARES_TASK] = SHARE_VIEW(by_task),         [SHARES_EXCEPTION] = SHARE_VIEW(by_exception),
        [SHARES_PROCESS] = SHARE_VIEW(by_context),
    };
    return &views[sort];
}

static const struct view_column share_fields[] = {
    {TEXT("core")},
    {TEXT("share")},
    {TEXT("plus_minus")},
    {TEXT("samples")},
    {FIELD("address|value", "address")},
    {NAME("function|task|exception|context", "function", NULL)},
    {TEXT("source")},
    {.key = "children", .heading = "children", .optional = true},
    DOUBT,
};
const struct view share_csv = {COLUMNS(share_fields)};

static const struct view_column call_columns[] = {{.key = "share", .heading = "share", .as = AS_SHARE},
                                                  {FIELD("text", "calls")}};
const struct view call_view = {COLUMNS(call_columns), .class = "calls",
                               .caption = "Each function below its caller, with all that it calls"};

/* ---- changes */

#define CHANGES                                                                                              \
    {.key = "change", .heading = "change", .as = AS_STEP, .mark = "noise"}, {ERROR("plus_minus", NULL)},     \
        {.key = "now.share", .heading = "now", .as = AS_SHARE, .needs = "now.samples"},                      \
        {ERROR("now.plus_minus", NULL)},                                                                     \
        {.key = "old.share", .heading = "before", .as = AS_SHARE, .needs = "old.samples"},                   \
    {                                                                                                        \
        ERROR("old.plus_minus", NULL)                                                                        \
    }

static const struct view_column change_by_function[] = {
    CHANGES, {NAME("function", "function", "[unknown]")}, {TEXT("source")}};
static const struct view_column change_by_file[] = {CHANGES, {NAME("source", "file", "[unknown]")}};
static const struct view_column change_by_address[] = {
    CHANGES, {TEXT("address")}, {NAME("function", "function", NULL)}, {TEXT("source")}};

#define CHANGE_VIEW(list)                                                                                    \
    {                                                                                                        \
        COLUMNS(list), .class = "changes",                                                                   \
                       .caption = "Changes of the shares in percent points, the largest first; ± with 95 %", \
                       .faint = "noise"                                                                      \
    }

const struct view *change_view(enum shares_sort sort)
{
    static const struct view views[] = {CHANGE_VIEW(change_by_function), CHANGE_VIEW(change_by_file),
                                        CHANGE_VIEW(change_by_address)};
    return &views[sort == SHARES_FILE ? 1 : sort == SHARES_ADDRESS ? 2 : 0];
}

#define CHANGE_FIELDS                                                                                        \
    {TEXT("core")}, {TEXT("change")}, {TEXT("plus_minus")}, {TEXT("noise")}, {FIELD("now.share", "share")},  \
        {FIELD("now.plus_minus", "share_plus_minus")}, {FIELD("now.samples", "samples")},                    \
        {FIELD("old.share", "old_share")}, {FIELD("old.plus_minus", "old_plus_minus")},                      \
        {FIELD("old.samples", "old_samples")},                                                               \
    {                                                                                                        \
        TEXT("address")                                                                                      \
    }

static const struct view_column fields_by_function[] = {
    CHANGE_FIELDS, {NAME("function", "function", "[unknown]")}, {TEXT("source")}, DOUBT};
static const struct view_column fields_by_file[] = {
    CHANGE_FIELDS, {NAME("source", "function", "[unknown]")}, {FIELD("", "source")}, DOUBT};
static const struct view_column fields_by_address[] = {
    CHANGE_FIELDS, {NAME("function", "function", NULL)}, {TEXT("source")}, DOUBT};

const struct view *change_csv(enum shares_sort sort)
{
    static const struct view views[] = {
        {COLUMNS(fields_by_function)}, {COLUMNS(fields_by_file)}, {COLUMNS(fields_by_address)}};
    return &views[sort == SHARES_FILE ? 1 : sort == SHARES_ADDRESS ? 2 : 0];
}

/* ---- code */

#define CODE(what)                                                                                           \
    {.key = "share", .heading = "share", .as = AS_HEAT, .needs = "samples", .least = 8},                     \
        {.key = "plus_minus", .heading = "±", .as = AS_POINTS, .needs = "samples", .least = 5},              \
        {.key = "samples", .heading = "samples", .as = AS_COUNT, .needs = "samples"},                        \
        {.key = "where", .heading = (what), .as = AS_PLACE, .least = 10},                                    \
        {.key = "", .heading = "", .mark = "at_border", .least = 1, .gap = 1},                               \
    {                                                                                                        \
        .key = "text", .heading = "code", .as = AS_CODE, .gap = 1                                            \
    }

static const struct view_column code_of_lines[] = {CODE("line")};
static const struct view_column code_alone[] = {CODE("address")};

#define CODE_VIEW(list)                                                                                      \
    {                                                                                                        \
        COLUMNS(list),                                                                                       \
            .class = "code",                                                                                 \
            .caption = "Lines, and below each its instructions; shares of the function's samples",           \
            .group = "group", .faint = "code"                                                                \
    }

const struct view *code_view(bool has_lines)
{
    static const struct view views[] = {CODE_VIEW(code_alone), CODE_VIEW(code_of_lines)};
    return &views[has_lines];
}

static const struct view_column code_fields[] = {
    {TEXT("core")},       {TEXT("file")},    {TEXT("line")}, {TEXT("address")}, {TEXT("share")},
    {TEXT("plus_minus")}, {TEXT("samples")}, {TEXT("code")}, {TEXT("text")},    DOUBT,
};
const struct view code_csv = {COLUMNS(code_fields)};

/* ---- lines */

static const struct view_column line_columns[] = {
    {.key = "line", .heading = "line", .as = AS_PLACE, .none = "(none)", .least = 6},
    {COUNT("hits", "hits")},
    {.key = "hits_per_call", .heading = "per call", .as = AS_MEAN},
    {.key = "median", .heading = "cycles", .as = AS_COUNT, .needs = "hits", .none = "?"},
    {.key = "share", .heading = "share", .as = AS_SHARE},
    {.key = "marks", .heading = "", .least = 4},
    {.key = "text", .heading = "source", .as = AS_CODE},
};
const struct view line_view = {COLUMNS(line_columns), .class = "code",
                               .caption = "Lines, and what each costs in a call", .group = "group",
                               .reason = "reason"};

static const struct view_column line_fields[] = {
    {TEXT("region")},
    {FIELD("file", "file")},
    {TEXT("line")},
    {TEXT("unit")},
    {TEXT("hits")},
    {TEXT("hits_per_call")},
    {FIELD("median|reason", "median")},
    {TEXT("mean")},
    {TEXT("min")},
    {TEXT("max")},
    {TEXT("share")},
    {FIELD("text", "source")},
    DOUBT,
};
const struct view line_csv = {COLUMNS(line_fields)};

#define COUNTS(rate)                                                                                         \
    {TEXT("region")}, {TEXT("name")}, {TEXT("unit")}, {FIELD("missing|count", "count")},                     \
        {TEXT("since_begin")}, {TEXT("seconds")}, {TEXT(rate)},                                              \
    {                                                                                                        \
        TEXT("at_least")                                                                                     \
    }
static const struct view_column counts_fields[] = {COUNTS("per_second"), {TEXT("errata")}, {TEXT("doubt")}},
                                cores_fields[] = {COUNTS("cpus")};
/* On a narrow terminal the last minute goes first, then the ends of names, the parts of the clock, the
 * totals. */
static const struct view_column watch_columns[] = {
    {.key = "name", .heading = "", .as = AS_NAME, .least = 10, .most = 28},
    {.key = "rate", .heading = "", .as = AS_PLACE, .least = 14},
    {.key = "percent", .heading = "", .as = AS_PLACE, .least = 7, .spare = 2},
    {.key = "rates", .heading = "", .as = AS_METER, .least = 6, .most = 60, .spare = 1},
    {.key = "total", .heading = "", .as = AS_PLACE, .least = 14, .spare = 3},
};
const struct view watch_view = {COLUMNS(watch_columns), .reason = "reason", .cuts = true};

const struct view counts_csv = {COLUMNS(counts_fields)}, cores_csv = {COLUMNS(cores_fields)};

/* ---- runs */

#define EACH(of)                                                                                             \
    {                                                                                                        \
        .key = "each", .heading = (of), .as = AS_PLACE, .only = "has_each", .below = true                    \
    }
#define MEAN                                                                                                 \
    {                                                                                                        \
        .key = "mean_text", .heading = "mean", .as = AS_PLACE, .mark = "wrong"                               \
    }

static const struct view_column summary_columns[] = {
    {.key = "name", .heading = "", .least = 10},
    {.key = "of_hits", .heading = "hits", .as = AS_PLACE, .narrow = true},
    {COUNT("of_hits|count", "hits"), .wide = true},
    {COUNT("median", "median"), .mark = "wrong", .least = 1},
    MEAN,
    {.key = "sd_text", .heading = "sd", .as = AS_PLACE},
    {COUNT("min", "min"), .mark = "wrong"},
    {COUNT("max", "max"), .mark = "wrong"},
    {COUNT("p90", "p90"), .mark = "wrong", .wide = true},
    {COUNT("p99", "p99"), .mark = "wrong", .wide = true},
    EACH("per hit"),
    {.key = "added", .heading = "overhead", .as = AS_PLACE, .only = "has_added", .below = true},
    {.key = "baseline", .heading = "baseline", .as = AS_MEAN},
    {.key = "change", .heading = "change", .as = AS_CHANGE},
    {.key = "verdict", .heading = "verdict", .as = AS_VERDICT, .wide = true},
    {.key = "remark", .heading = "", .below = true},
};
const struct view summary_view = {COLUMNS(summary_columns),
                                  .class = "columns",
                                  .caption = "Counts of the hits that count; metrics are of their means",
                                  .folds = true,
                                  .reason = "reason",
                                  .faint = "unresolved"};

#define RUN_FIELDS                                                                                           \
    {TEXT("region")}, {TEXT("name")}, {TEXT("unit")}, {TEXT("count")}, {FIELD("median|missing", "median")},  \
        {TEXT("mean")}, {TEXT("mean_plus_minus")}, {TEXT("sd")}, {TEXT("min")}, {TEXT("max")},               \
        {TEXT("p90")}, {TEXT("p99")}, {TEXT("overhead")}, {TEXT("plus_minus")}, {TEXT("at_least")},          \
    {                                                                                                        \
        TEXT("at_least_max")                                                                                 \
    }

static const struct view_column run_fields[] = {
    RUN_FIELDS,
    {FIELD("baseline", "baseline_mean"), .optional = true, .only = "judged"},
    {FIELD("change", "change"), .optional = true, .only = "judged"},
    {FIELD("judged", "verdict"), .optional = true, .only = "judged"},
    {FIELD("why", "why"), .optional = true, .only = "judged"},
    {FIELD("file", "file"), .optional = true},
    {TEXT("errata"), .optional = true},
    DOUBT,
};
const struct view run_csv = {COLUMNS(run_fields)};

/* ---- regions */

static const struct view_column region_columns[] = {
    {NAME("name", "region", NULL)},
    {COUNT("hits", "hits"), .least = 1},
    {COUNT("median", "median"), .mark = "wrong"},
    {.key = "each_alone", .heading = "±", .as = AS_PLACE, .only = "has_each"},
    MEAN,
    {COUNT("min", "min"), .mark = "wrong", .spare = 2},
    {COUNT("max", "max"), .mark = "wrong"},
    {COUNT("p99", "p99"), .mark = "wrong", .spare = 1},
    {.key = "rate", .heading = "calls/s", .as = AS_PLACE},
    {.key = "share_text", .heading = "share", .as = AS_PLACE, .part = "share"},
    {.key = "verdict", .heading = "verdict", .as = AS_VERDICT, .wide = true},
    {.key = "count", .heading = "distribution", .as = AS_SPARK},
};
const struct view region_view = {COLUMNS(region_columns), .class = "regions",
                                 .caption = "Counts of each region", .folds = true, .reason = "reason"};

static const struct view_column region_fields[] = {
    RUN_FIELDS,
    {TEXT("calls_per_second")},
    {TEXT("share")},
    {TEXT("share_plus_minus")},
    {FIELD("judged", "verdict"), .optional = true},
    {FIELD("verdict_why|why", "why"), .optional = true},
    {TEXT("errata"), .optional = true},
    {TEXT("calls_plus_minus"), .optional = true},
    {TEXT("rate_bound"), .optional = true},
    {TEXT("share_bound"), .optional = true},
    DOUBT,
};
const struct view region_csv = {COLUMNS(region_fields)};

static const struct view_column check_columns[] = {
    {TEXT("region")},
    {FIELD("name", "budget or counter")},
    {.key = "found", .heading = "found", .as = AS_PLACE},
    {.key = "verdict", .heading = "verdict", .as = AS_VERDICT},
};
const struct view check_view = {COLUMNS(check_columns), .class = "checks",
                                .caption = "By region: its budget, and against the baseline", .folds = true};

/* ---- interrupts and tasks */

static const struct view_column interrupt_columns[] = {
    {NAME("name", "interrupt", NULL)},
    {COUNT("calls.seen", "calls")},
    {.key = "share", .heading = "share", .as = AS_SHARE},
    {COUNT("own.median", "own")},
    {COUNT("own.p99", "p99"), .spare = 2},
    {COUNT("own.max", "max")},
    {COUNT("whole.max", "whole max"), .spare = 3},
    {COUNT("interval.median", "interval")},
    {COUNT("interval.min", "min")},
    {COUNT("interval.max", "max")},
    {COUNT("calls.exact", "exact"), .spare = 1},
    {.key = "verdict", .heading = "verdict", .as = AS_VERDICT, .wide = true},
};
const struct view interrupt_view = {
    COLUMNS(interrupt_columns), .class = "regions",
    .caption = "Interrupts, the largest share first: cycles of each call, and from entry to entry",
    .folds = true, .reason = "reason"};

static const struct view_column task_columns[] = {
    {NAME("name", "task", NULL)},
    {COUNT("calls.seen", "slices")},
    {.key = "per_second", .heading = "per second", .as = AS_MEAN},
    {.key = "share", .heading = "share", .as = AS_SHARE},
    {.key = "own.mean", .heading = "mean", .as = AS_MEAN},
    {COUNT("own.max", "max")},
    {COUNT("between.median", "between")},
    {COUNT("between.max", "max")},
    {COUNT("calls.exact", "exact"), .spare = 1},
};
const struct view task_view = {
    COLUMNS(task_columns), .class = "regions",
    .caption = "Tasks, the largest share first: cycles of each slice, and between two of them", .folds = true,
    .reason = "reason"};

#define STAY_FIELDS                                                                                          \
    {TEXT("share")}, {TEXT("cycles")}, {FIELD("calls.seen", "calls")}, {FIELD("calls.exact", "exact")},      \
        {FIELD("calls.late", "late")}, {FIELD("calls.lost", "lost")}, {FIELD("calls.unended", "unended")},   \
        {TEXT("per_second")}, {FIELD("own.min", "min")}, {FIELD("own.median", "median")},                    \
        {FIELD("own.mean", "mean")}, {FIELD("own.p99", "p99")},                                              \
    {                                                                                                        \
        FIELD("own.max", "max")                                                                              \
    }
static const struct view_column interrupt_fields[] = {
    {TEXT("name")},
    {TEXT("number")},
    {TEXT("unit")},
    STAY_FIELDS,
    {FIELD("whole.median", "whole_median")},
    {FIELD("whole.max", "whole_max")},
    {FIELD("interval.min", "interval_min")},
    {FIELD("interval.median", "interval_median")},
    {FIELD("interval.max", "interval_max")},
    {FIELD("judged", "verdict"), .optional = true},
    {FIELD("verdict_why", "why"), .optional = true},
    DOUBT,
};
const struct view interrupt_csv = {COLUMNS(interrupt_fields)};

static const struct view_column task_fields[] = {
    {TEXT("name")},
    {TEXT("value")},
    {TEXT("unit")},
    STAY_FIELDS,
    {FIELD("between.min", "between_min")},
    {FIELD("between.median", "between_median")},
    {FIELD("between.max", "between_max")},
    DOUBT,
};
const struct view task_csv = {COLUMNS(task_fields)};

/* ---- verdicts */

static const struct view_column verdict_columns[] = {
    {TEXT("region")},
    {.key = "name", .heading = "counter", .least = 1},
    {.key = "base.mean", .heading = "baseline", .as = AS_MEAN},
    {.key = "now.mean", .heading = "now", .as = AS_MEAN},
    {.key = "change", .heading = "change", .as = AS_CHANGE},
    {.key = "verdict", .heading = "verdict", .as = AS_VERDICT},
    {.key = "interval", .heading = "where the change lies", .as = AS_BAR},
};
const struct view verdict_view = {COLUMNS(verdict_columns), .class = "verdicts", .folds = true};

/* ---- facts */

#define FACTS(what, name, text)                                                                              \
    {                                                                                                        \
        {TEXT("of")}, {FIELD("what", what)}, {NAME("name", name, NULL)},                                     \
        {                                                                                                    \
            FIELD("text|about", text), .as = AS_CODE                                                         \
        }                                                                                                    \
    }

static const struct {
    const char *command, *caption;
    struct view_column columns[4];
} facts_columns[] = {
    {"info", "Cores, counters, breakpoints", FACTS("what", "is", "state")},
    {"list", "Events and metrics", FACTS("code", "name", "meaning")},
    {"probes", "Probes", FACTS("target", "type", "state")},
    {"doctor", "Tests", FACTS("test", "state", "detail")},
};

struct view facts_view(const char *command, enum format format)
{
    size_t i = sizeof facts_columns / sizeof *facts_columns - 1, first = format != FORMAT_CSV;
    while (i > 0 && strcmp(facts_columns[i].command, command) != 0)
        i--;
    return (struct view){.columns = facts_columns[i].columns + first,
                         .n = 4 - first,
                         .class = "facts",
                         .caption = facts_columns[i].caption,
                         .group = "group",
                         .facts = true};
}

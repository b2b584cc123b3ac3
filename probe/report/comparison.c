#include "report/comparison.h"

#include "report/number.h"

#include <math.h>
#include <string.h>

enum { TEXT = 160 };

static const struct verdict_side none;

/* A text as the baseline's reader left it: clean, and cut where it was cut there. */
static bool is_same(const char *base, const char *now, size_t size)
{
    char clean[256];
    return strcmp(base, utf8_clean(clean, size < sizeof clean ? size : sizeof clean, now)) == 0;
}

static void add_reason(struct comparison *out, const char *what, const char *base, const char *now)
{
    if (out->n_reasons == COMPARISON_REASONS)
        return;
    char before[TEXT], after[TEXT];
    utf8_clean(before, sizeof before, base[0] != '\0' ? base : "unknown");
    utf8_clean(after, sizeof after, now[0] != '\0' ? now : "unknown");
    snprintf(out->reasons[out->n_reasons++], sizeof out->reasons[0], "another %s: %s in the baseline, %s now",
             what, before, after);
}

/* "openocd" of "openocd localhost:6666". */
static void link_kind(char out[TEXT], const char *link)
{
    utf8_clean(out, TEXT, link);
    out[strcspn(out, " :")] = '\0';
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

static void compare_clocks(struct comparison *out, const struct conditions *base,
                           const struct conditions *now)
{
    char before[NUMBER_ROOM], after[NUMBER_ROOM];
    if (!(base->clock_hz > 0) || !(now->clock_hz > 0) ||
        fabs(now->clock_hz - base->clock_hz) <= 0.01 * base->clock_hz)
        return;
    number_frequency(before, sizeof before, base->clock_hz);
    number_frequency(after, sizeof after, now->clock_hz);
    add_reason(out, "clock", before, after);
}

static void compare_elves(struct comparison *out, const struct conditions *base, const struct conditions *now)
{
    char elf[sizeof now->elf];
    utf8_clean(elf, sizeof elf, now->elf);
    if (base->elf[0] == '\0' || elf[0] == '\0')
        return;
    if (strcmp(base_name(base->elf), base_name(elf)) != 0)
        add_reason(out, "ELF", base_name(base->elf), base_name(elf));
}

static void compare_conditions(struct comparison *out, const struct conditions *base,
                               const struct conditions *now)
{
    char before[TEXT], after[TEXT];
    link_kind(before, base->link);
    link_kind(after, now->link);
    if (strcmp(before, after) != 0)
        add_reason(out, "kind of link", before, after);
    if (!is_same(base->core, now->core, sizeof base->core))
        add_reason(out, "core", base->core, now->core);
    if (!is_same(base->counter, now->counter, sizeof base->counter))
        add_reason(out, "counter", base->counter, now->counter);
    compare_clocks(out, base, now);
    compare_elves(out, base, now);
    if (!is_same(base->start, now->start, sizeof base->start))
        add_reason(out, "start", base->start, now->start);
    if (!is_same(base->end, now->end, sizeof base->end))
        add_reason(out, "end", base->end, now->end);
}

static void add_notes(struct comparison *out, const struct baseline *baseline, const struct conditions *now)
{
    const char *before = baseline->conditions.build_id;
    if (before[0] != '\0' && now->build_id[0] != '\0' &&
        !is_same(before, now->build_id, sizeof now->build_id))
        snprintf(out->notes[out->n_notes++], sizeof out->notes[0],
                 "other build, as is to be expected of a change");
    if (baseline->ended[0] != '\0')
        snprintf(out->notes[out->n_notes++], sizeof out->notes[0], "the baseline ended early: %s",
                 baseline->ended);
}

static struct verdict_side side_of(const struct column *column)
{
    const struct statistics *statistics = column->statistics;
    if (column->unsupported[0] != '\0' || statistics == NULL)
        return (struct verdict_side){0};
    return (struct verdict_side){.n = statistics_count(statistics),
                                 .mean = statistics_mean(statistics),
                                 .sd = statistics_deviation(statistics),
                                 .min = statistics_min(statistics),
                                 .max = statistics_max(statistics),
                                 .at_least = column->at_least > 0,
                                 .plus_minus = column->calibrated ? column->plus_minus : 0};
}

/* "not comparable: another core, another clock" */
static void name_reasons(const struct comparison *comparison, char *out, size_t size)
{
    size_t used = (size_t)snprintf(out, size, "not comparable");
    for (size_t i = 0; i < comparison->n_reasons && used < size; i++) {
        const char *reason = comparison->reasons[i];
        used += (size_t)snprintf(out + used, size - used, "%s%.*s", i == 0 ? ": " : ", ",
                                 (int)strcspn(reason, ":"), reason);
    }
}

/* `why` NULL: nothing stands against a verdict. */
static void add_line(struct comparison *out, const char *name, const struct verdict_side *base,
                     const struct verdict_side *now, const char *why)
{
    struct verdict_line *line = &out->lines[out->n++];
    *line = verdict_decide(base, now, out->threshold);
    utf8_clean(line->name, sizeof line->name, name);
    if (why == NULL && out->n_reasons == 0)
        return;
    line->verdict = VERDICT_INCONCLUSIVE;
    if (out->n_reasons > 0)
        name_reasons(out, line->why, sizeof line->why);
    else
        snprintf(line->why, sizeof line->why, "%s", why);
}

static const struct baseline_column *find_column(const struct baseline *baseline, const char *name)
{
    char clean[sizeof baseline->columns->name];
    utf8_clean(clean, sizeof clean, name);
    for (size_t i = 0; i < baseline->n; i++)
        if (strcmp(baseline->columns[i].name, clean) == 0)
            return &baseline->columns[i];
    return NULL;
}

static void compare_column(struct comparison *out, const struct column *column,
                           const struct baseline_column *base)
{
    bool unsupported = column->unsupported[0] != '\0';
    struct verdict_side now = side_of(column);
    const char *why = NULL;
    if (unsupported && (base == NULL || base->unsupported))
        return;
    if (base == NULL)
        why = "not counted in the baseline";
    else if (base->unsupported || unsupported)
        why = unsupported ? "not supported now" : "not supported in the baseline";
    else if (base->calibrated != column->calibrated && base->side.n > 0 && now.n > 0)
        why = column->calibrated ? "what a halt adds is removed now, but not in the baseline"
                                 : "what a halt adds is removed in the baseline, but not now";
    add_line(out, column->name, base != NULL ? &base->side : &none, &now, why);
}

void baseline_compare(const struct baseline *baseline, const struct summary *now, double threshold,
                      struct comparison *out)
{
    memset(out, 0, sizeof *out);
    out->threshold = threshold;
    memcpy(out->file, baseline->file, sizeof out->file);
    memcpy(out->started, baseline->started, sizeof out->started);
    memcpy(out->build_id, baseline->conditions.build_id, sizeof out->build_id);
    compare_conditions(out, &baseline->conditions, &now->conditions);
    add_notes(out, baseline, &now->conditions);

    bool taken[RESULT_COLUMNS] = {false};
    for (size_t i = 0; i < now->n; i++) {
        const struct baseline_column *base = find_column(baseline, now->columns[i].name);
        if (base != NULL)
            taken[base - baseline->columns] = true;
        compare_column(out, &now->columns[i], base);
    }
    for (size_t i = 0; i < baseline->n; i++) {
        const struct baseline_column *base = &baseline->columns[i];
        if (!taken[i] && !base->unsupported)
            add_line(out, base->name, &base->side, &none, "not counted now");
    }
    out->verdict = verdict_overall(out->lines, out->n);
}

static bool is_named(const struct verdict_line *line, const char *column)
{
    char clean[sizeof line->name];
    return strcmp(line->name, utf8_clean(clean, sizeof clean, column)) == 0;
}

const struct verdict_line *comparison_find(const struct comparison *comparison, const char *column)
{
    for (size_t i = 0; i < comparison->n; i++)
        if (is_named(&comparison->lines[i], column))
            return &comparison->lines[i];
    return NULL;
}

const struct column *comparison_column(const struct summary *now, const struct verdict_line *line)
{
    for (size_t i = 0; i < now->n; i++)
        if (is_named(line, now->columns[i].name))
            return &now->columns[i];
    return NULL;
}

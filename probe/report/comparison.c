#include "report/comparison.h"

#include "report/json.h"
#include "report/number.h"
#include "report/terminal.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

enum { TEXT = 160 };

__attribute__((format(printf, 2, 3))) static void add_reason(struct comparison *out, const char *format, ...)
{
    if (out->n_reasons == COMPARISON_REASONS)
        return;
    va_list list;
    va_start(list, format);
    vsnprintf(out->reasons[out->n_reasons], sizeof out->reasons[0], format, list);
    va_end(list);
    out->n_reasons++;
}

__attribute__((format(printf, 2, 3))) static void comparison_add_note(struct comparison *out,
                                                                      const char *format, ...)
{
    if (out->n_notes == COMPARISON_NOTES)
        return;
    va_list list;
    va_start(list, format);
    vsnprintf(out->notes[out->n_notes], sizeof out->notes[0], format, list);
    va_end(list);
    out->n_notes++;
}

static const char *or_unknown(const char *text)
{
    return text[0] != '\0' ? text : "unknown";
}

static void comparison_compare_texts(struct comparison *out, const char *what, const char *base,
                                     const char *now)
{
    if (strcmp(base, now) != 0)
        add_reason(out, "another %s: %.159s in the baseline, %.159s now", what, or_unknown(base),
                   or_unknown(now));
}

const char *comparison_link_kind(char *out, size_t size, const char *link)
{
    utf8_clean(out, size, link);
    out[strcspn(out, " :")] = '\0';
    return out;
}

static const char *comparison_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

static bool is_measured(const struct conditions *conditions)
{
    return strcmp(conditions->clock_source, "measured") == 0;
}

/* A measured clock is of a few milliseconds and is too low if the core slept. It is only a note: cycles
 * are compared, and they were counted. */
static void compare_clocks(struct comparison *out, const struct conditions *base,
                           const struct conditions *now)
{
    char before[NUMBER_ROOM], after[NUMBER_ROOM];
    double room = 0.01 * base->clock_hz + base->clock_error_hz + now->clock_error_hz;
    if (!(base->clock_hz > 0) || !(now->clock_hz > 0) || fabs(now->clock_hz - base->clock_hz) <= room)
        return;
    number_frequency(before, sizeof before, base->clock_hz);
    number_frequency(after, sizeof after, now->clock_hz);
    if (is_measured(base) || is_measured(now))
        comparison_add_note(out, "clocks differ, as measured (%s -> %s): cycles are compared", before, after);
    else
        add_reason(out, "another clock: %s in the baseline, %s now", before, after);
}

static void compare_elves(struct comparison *out, const struct conditions *base, const struct conditions *now,
                          bool any_elf)
{
    const char *before = comparison_base_name(base->elf), *after = comparison_base_name(now->elf);
    if (base->elf[0] == '\0' || now->elf[0] == '\0' || strcmp(before, after) == 0)
        return;
    if (any_elf)
        comparison_add_note(out, "ELF files differ (%.128s -> %.128s)", before, after);
    else
        add_reason(out, "baseline is of %.128s, this run of %.128s (--any-elf compares them)", before, after);
}

static void compare_regions(struct comparison *out, const struct conditions *base,
                            const struct conditions *now)
{
    const char *before = or_unknown(base->start), *after = or_unknown(now->start);
    if (runs_are_of_one_region(base, now))
        return;
    if (strcmp(base->end, now->end) == 0)
        add_reason(out, "baseline is for %.159s, this run for %.159s", before, after);
    else
        add_reason(out, "baseline is for %.80s to %.80s, this run for %.80s to %.80s", before,
                   or_unknown(base->end), after, or_unknown(now->end));
}

static void compare_conditions(struct comparison *out, const struct conditions *base,
                               const struct conditions *now, bool any_elf)
{
    char before[TEXT], after[TEXT];
    comparison_link_kind(before, sizeof before, base->link);
    comparison_link_kind(after, sizeof after, now->link);
    compare_regions(out, base, now);
    compare_elves(out, base, now, any_elf);
    comparison_compare_texts(out, "kind of link", before, after);
    comparison_compare_texts(out, "core", base->core, now->core);
    comparison_compare_texts(out, "counter", base->counter, now->counter);
    compare_clocks(out, base, now);
}

static void comparison_note_end(struct comparison *out, const char *what, const struct baseline *run)
{
    char ended[UTF8_CLEAN_ROOM(256)];
    if (field_text(run->summary, "ended")[0] != '\0')
        comparison_add_note(out, "%s ended early: %s", what,
                            utf8_clean(ended, sizeof ended, field_text(run->summary, "ended")));
}

static void comparison_add_notes(struct comparison *out, const struct baseline *base,
                                 const struct baseline *now)
{
    const char *before = base->conditions.build_id, *after = now->conditions.build_id;
    uint64_t warmup = field_count(base->summary, "warmup"), its = field_count(now->summary, "warmup");
    if (before[0] != '\0' && after[0] != '\0' && strcmp(before, after) != 0)
        comparison_add_note(out, "builds differ (%.6s -> %.6s)", before, after);
    if (warmup != its)
        comparison_add_note(out, "warm-up differs: %" PRIu64 " -> %" PRIu64 " hits", warmup, its);
    comparison_note_end(out, "the baseline", base);
    if (now->file[0] == '\0')
        return;
    if (base->missing || now->missing)
        comparison_add_note(out, "%s does not have this region", base->missing ? base->file : now->file);
    comparison_note_end(out, now->file, now);
}

/* All reasons in one text: some formats have no other place for them. */
static void name_reasons(const struct comparison *comparison, char *out, size_t size)
{
    size_t used = 0;
    for (size_t i = 0; i < comparison->n_reasons && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%s", i == 0 ? "" : "; ", comparison->reasons[i]);
}

/* `why`: what prevents comparing this column, or NULL. */
static void comparison_add_line(struct comparison *out, const char *name, const struct verdict_side *base,
                                const struct verdict_side *now, const char *why)
{
    struct verdict_line *line = &out->lines[out->n++];
    *line = verdict_decide_among(base, now, out->threshold, out->family);
    utf8_clean(line->name, sizeof line->name, name);
    if (why == NULL && out->n_reasons == 0)
        return;
    line->verdict = VERDICT_NOT_COMPARABLE;
    if (out->n_reasons > 0)
        name_reasons(out, line->why, sizeof line->why);
    else
        snprintf(line->why, sizeof line->why, "%s", why);
}

static bool is_unsupported(const json_t *column)
{
    return field_of(column, "not_supported") != NULL;
}

static bool comparison_is_calibrated(const json_t *column)
{
    return json_is_true(field_of(column, "calibrated"));
}

/* Older files do not have all of it. */
static struct verdict_side comparison_side_of(const json_t *column)
{
    struct verdict_side side = {.n = is_unsupported(column) ? 0 : field_count(column, "count"),
                                .at_least = field_count(column, "at_least") > 0,
                                .plus_minus =
                                    comparison_is_calibrated(column) ? field_real(column, "plus_minus") : 0};
    const struct series_error error = {.standard = field_real(column, "mean_error"),
                                       .df = field_real(column, "mean_error_df"),
                                       .drift = field_real(column, "drift")};
    if (side.n == 0)
        return side;
    side.mean = field_real(column, "mean");
    side.sd = field_real(column, "sd");
    side.min = field_count(column, "min");
    side.max = field_count(column, "max");
    side.median = field_count(column, "median");
    side.has_median = field_real(column, "median") >= 0;
    if (error.standard >= 0 && error.df >= 0 && error.drift >= 0)
        side.error = error;
    return side;
}

/* `base` is NULL if the baseline does not have it. */
static void compare_column(struct comparison *out, const char *name, const json_t *column, const json_t *base)
{
    const struct verdict_side now = comparison_side_of(column), before = comparison_side_of(base);
    const char *why = NULL;
    if (is_unsupported(column) && (base == NULL || is_unsupported(base)))
        return;
    if (base == NULL)
        why = "not counted in the baseline";
    else if (is_unsupported(base) || is_unsupported(column))
        why = is_unsupported(column) ? "not supported now" : "not supported in the baseline";
    else if (comparison_is_calibrated(base) != comparison_is_calibrated(column) && before.n > 0 && now.n > 0)
        why = comparison_is_calibrated(column) ? "what a halt adds is removed now, but not in the baseline"
                                               : "what a halt adds is removed in the baseline, but not now";
    comparison_add_line(out, name, &before, &now, why);
}

static void compare_columns(struct comparison *out, json_t *before, json_t *now)
{
    const char *name;
    json_t *column;
    json_object_foreach(now, name, column)
        compare_column(out, name, column, json_object_get(before, name));
    json_object_foreach(before, name, column) {
        const struct verdict_side side = comparison_side_of(column), none = {0};
        if (json_object_get(now, name) == NULL && !is_unsupported(column))
            comparison_add_line(out, name, &side, &none, "not counted now");
    }
}

void runs_compare(const struct baseline *before, const struct baseline *now, double threshold, bool any_elf,
                  size_t family, struct comparison *out)
{
    const struct conditions *base = &before->conditions;
    *out = (struct comparison){.threshold = threshold, .family = family};
    memcpy(out->file, before->file, sizeof out->file);
    utf8_clean(out->started, sizeof out->started, field_text(before->header, "started"));
    memcpy(out->build_id, base->build_id, sizeof out->build_id);
    memcpy(out->file_now, now->file, sizeof out->file_now);
    if (now->file[0] != '\0') {
        memcpy(out->start, now->conditions.start, sizeof out->start);
        memcpy(out->end, now->conditions.end, sizeof out->end);
    }
    compare_conditions(out, base, &now->conditions, any_elf);
    comparison_add_notes(out, before, now);
    compare_columns(out, json_object_get(before->summary, "columns"),
                    json_object_get(now->summary, "columns"));
    out->verdict = verdict_overall(out->lines, out->n);
}

static struct json_part side_object(const struct verdict_side *side)
{
    struct json_part object = json_part_new(NULL);
    json_part_unsigned(&object, "count", side->n);
    if (side->n > 0) {
        json_part_real(&object, "mean", side->mean);
        json_part_real(&object, "sd", side->sd);
        json_part_unsigned(&object, "min", side->min);
        json_part_unsigned(&object, "max", side->max);
        if (side->has_median)
            json_part_unsigned(&object, "median", side->median);
        json_part_real(&object, "plus_minus", side->plus_minus);
    }
    if (side->at_least)
        json_part_bool(&object, "at_least", true);
    return object;
}

static struct json_part line_object(const struct verdict_line *line)
{
    struct json_part object = json_part_new(NULL);
    json_part_text(&object, "verdict", verdict_name(line->verdict));
    json_part_real(&object, "change", line->change);
    json_part_object(&object, "base", side_object(&line->base));
    json_part_object(&object, "now", side_object(&line->now));
    struct verdict_interval interval;
    if (verdict_interval(line, &interval)) {
        json_part_real(&object, "low", interval.low);
        json_part_real(&object, "high", interval.high);
    }
    json_part_text(&object, "why", line->why);
    return object;
}

static void put_json_texts(struct json_part *part, const char *key, const char (*texts)[384], size_t n)
{
    json_t *array = json_array();
    for (size_t i = 0; i < n; i++)
        json_part_append(part, array, json_part_string(texts[i]));
    json_part_array(part, key, array);
}

struct json_part comparison_line(const struct comparison *comparison)
{
    struct json_part line = json_part_new("verdict"), baseline = json_part_new(NULL);
    struct json_part columns = json_part_new(NULL);
    json_part_text(&line, "verdict", verdict_name(comparison->verdict));
    if (comparison->start[0] != '\0') {
        struct json_part region = json_part_new(NULL);
        json_part_text(&region, "start", comparison->start);
        json_part_text(&region, "end", comparison->end);
        json_part_object(&line, "region", region);
    }
    json_part_text(&line, "file", comparison->file_now);
    json_part_real(&line, "threshold", comparison->threshold);
    json_part_text(&baseline, "file", comparison->file);
    json_part_text(&baseline, "started", comparison->started);
    json_part_text(&baseline, "build_id", comparison->build_id);
    json_part_object(&line, "baseline", baseline);
    for (size_t i = 0; i < comparison->n; i++)
        json_part_object(&columns, comparison->lines[i].name, line_object(&comparison->lines[i]));
    json_part_object(&line, "columns", columns);
    put_json_texts(&line, "not_comparable", comparison->reasons, comparison->n_reasons);
    put_json_texts(&line, "notes", comparison->notes, comparison->n_notes);
    return line;
}

struct json_part comparison_line_with(const struct comparison *comparison, const struct baseline *now)
{
    struct json_part line = comparison_line(comparison), run = json_part_new(NULL);
    if (now->header != NULL && json_object_set(run.json, "header", now->header) != 0)
        run.ok = false;
    if (now->summary != NULL && json_object_set(run.json, "summary", now->summary) != 0)
        run.ok = false;
    json_part_object(&line, "run", run);
    return line;
}

#include "report/comparison.h"

#include "report/json.h"
#include "report/number.h"
#include "report/terminal.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

enum { TEXT = 160 };

static const struct verdict_side none;

/* The reader of the baseline cleaned and cut its text, so `now` is cleaned and cut the same way. */
static bool is_same(const char *base, const char *now, size_t size)
{
    char clean[256];
    return strcmp(base, utf8_clean(clean, size < sizeof clean ? size : sizeof clean, now)) == 0;
}

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

__attribute__((format(printf, 2, 3))) static void add_note(struct comparison *out, const char *format, ...)
{
    if (out->n_notes == COMPARISON_NOTES)
        return;
    va_list list;
    va_start(list, format);
    vsnprintf(out->notes[out->n_notes], sizeof out->notes[0], format, list);
    va_end(list);
    out->n_notes++;
}

static void clean_or_unknown(char out[TEXT], const char *text)
{
    utf8_clean(out, TEXT, text[0] != '\0' ? text : "unknown");
}

static void compare_texts(struct comparison *out, const char *what, const char *base, const char *now,
                          size_t size)
{
    char before[TEXT], after[TEXT];
    if (is_same(base, now, size))
        return;
    clean_or_unknown(before, base);
    clean_or_unknown(after, now);
    add_reason(out, "another %s: %s in the baseline, %s now", what, before, after);
}

const char *comparison_link_kind(char *out, size_t size, const char *link)
{
    utf8_clean(out, size, link);
    out[strcspn(out, " :")] = '\0';
    return out;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

static bool is_measured(const struct conditions *conditions)
{
    return strcmp(conditions->clock_source, "measured") == 0;
}

/* A measured clock comes from a few milliseconds and is too low if the core slept. It is only a note: cycles
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
        add_note(out, "clocks differ, as measured (%s -> %s): cycles are compared", before, after);
    else
        add_reason(out, "another clock: %s in the baseline, %s now", before, after);
}

static void compare_elves(struct comparison *out, const struct conditions *base, const struct conditions *now,
                          bool any_elf)
{
    char elf[sizeof now->elf];
    utf8_clean(elf, sizeof elf, now->elf);
    if (base->elf[0] == '\0' || elf[0] == '\0' || strcmp(base_name(base->elf), base_name(elf)) == 0)
        return;
    if (any_elf)
        add_note(out, "ELF files differ (%.128s -> %.128s)", base_name(base->elf), base_name(elf));
    else
        add_reason(out, "baseline is of %.128s, this run of %.128s (--any-elf compares them)",
                   base_name(base->elf), base_name(elf));
}

static void compare_regions(struct comparison *out, const struct conditions *base,
                            const struct conditions *now)
{
    char before[2][TEXT], after[2][TEXT];
    bool same_end = is_same(base->end, now->end, sizeof base->end);
    if (same_end && is_same(base->start, now->start, sizeof base->start))
        return;
    clean_or_unknown(before[0], base->start);
    clean_or_unknown(before[1], base->end);
    clean_or_unknown(after[0], now->start);
    clean_or_unknown(after[1], now->end);
    if (same_end)
        add_reason(out, "baseline is for %s, this run for %s", before[0], after[0]);
    else
        add_reason(out, "baseline is for %.80s to %.80s, this run for %.80s to %.80s", before[0], before[1],
                   after[0], after[1]);
}

static void compare_conditions(struct comparison *out, const struct conditions *base,
                               const struct conditions *now, bool any_elf)
{
    char before[TEXT], after[TEXT];
    comparison_link_kind(before, sizeof before, base->link);
    comparison_link_kind(after, sizeof after, now->link);
    compare_regions(out, base, now);
    compare_elves(out, base, now, any_elf);
    compare_texts(out, "kind of link", before, after, sizeof before);
    compare_texts(out, "core", base->core, now->core, sizeof base->core);
    compare_texts(out, "counter", base->counter, now->counter, sizeof base->counter);
    compare_clocks(out, base, now);
}

static void add_notes(struct comparison *out, const struct baseline *baseline, const struct summary *run)
{
    const struct conditions *now = &run->conditions;
    char build[sizeof now->build_id];
    const char *before = baseline->run.conditions.build_id,
               *after = utf8_clean(build, sizeof build, now->build_id);
    if (before[0] != '\0' && after[0] != '\0' && strcmp(before, after) != 0)
        add_note(out, "builds differ (%.6s -> %.6s)", before, after);
    if (baseline->run.warmup != run->warmup)
        add_note(out, "warm-up differs: %" PRIu64 " -> %" PRIu64 " hits", baseline->run.warmup, run->warmup);
    if (baseline->run.ended[0] != '\0')
        add_note(out, "the baseline ended early: %s", baseline->run.ended);
}

/* All reasons in one text: some formats have no other place for them. */
static void name_reasons(const struct comparison *comparison, char *out, size_t size)
{
    size_t used = 0;
    for (size_t i = 0; i < comparison->n_reasons && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%s", i == 0 ? "" : "; ", comparison->reasons[i]);
}

/* `why`: what stands against comparing this column, or NULL. */
static void add_line(struct comparison *out, const char *name, const struct verdict_side *base,
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

static const struct column *find_column(const struct summary *baseline, const char *name)
{
    char clean[sizeof baseline->columns->name];
    utf8_clean(clean, sizeof clean, name);
    for (size_t i = 0; i < baseline->n; i++)
        if (strcmp(baseline->columns[i].name, clean) == 0)
            return &baseline->columns[i];
    return NULL;
}

static void compare_column(struct comparison *out, const struct column *column, const struct column *base)
{
    bool unsupported = column->unsupported[0] != '\0';
    bool was_unsupported = base != NULL && base->unsupported[0] != '\0';
    struct verdict_side now = verdict_side_of(column), before = base != NULL ? verdict_side_of(base) : none;
    const char *why = NULL;
    if (unsupported && (base == NULL || was_unsupported))
        return;
    if (base == NULL)
        why = "not counted in the baseline";
    else if (was_unsupported || unsupported)
        why = unsupported ? "not supported now" : "not supported in the baseline";
    else if (base->calibrated != column->calibrated && before.n > 0 && now.n > 0)
        why = column->calibrated ? "what a halt adds is removed now, but not in the baseline"
                                 : "what a halt adds is removed in the baseline, but not now";
    add_line(out, column->name, &before, &now, why);
}

void baseline_compare(const struct baseline *baseline, const struct summary *now, double threshold,
                      bool any_elf, struct comparison *out)
{
    baseline_compare_among(baseline, now, threshold, any_elf, 1, out);
}

void baseline_compare_among(const struct baseline *baseline, const struct summary *now, double threshold,
                            bool any_elf, size_t family, struct comparison *out)
{
    memset(out, 0, sizeof *out);
    out->threshold = threshold;
    out->family = family;
    memcpy(out->file, baseline->file, sizeof out->file);
    memcpy(out->started, baseline->started, sizeof out->started);
    const struct summary *before = &baseline->run;
    memcpy(out->build_id, before->conditions.build_id, sizeof out->build_id);
    compare_conditions(out, &before->conditions, &now->conditions, any_elf);
    add_notes(out, baseline, now);

    bool taken[RESULT_COLUMNS] = {false};
    for (size_t i = 0; i < now->n; i++) {
        const struct column *base = find_column(before, now->columns[i].name);
        if (base != NULL)
            taken[base - before->columns] = true;
        compare_column(out, &now->columns[i], base);
    }
    for (size_t i = 0; i < before->n; i++) {
        struct verdict_side side = verdict_side_of(&before->columns[i]);
        if (!taken[i] && before->columns[i].unsupported[0] == '\0')
            add_line(out, before->columns[i].name, &side, &none, "not counted now");
    }
    out->verdict = verdict_overall(out->lines, out->n);
}

void runs_compare(const struct baseline *before, const struct baseline *now, double threshold, bool any_elf,
                  size_t family, struct comparison *out)
{
    const struct conditions *conditions = &now->run.conditions;
    baseline_compare_among(before, &now->run, threshold, any_elf, family, out);
    memcpy(out->file_now, now->file, sizeof out->file_now);
    memcpy(out->start, conditions->start, sizeof out->start);
    memcpy(out->end, conditions->end, sizeof out->end);
    if (before->missing || now->missing)
        add_note(out, "%s does not have this region", before->missing ? before->file : now->file);
    if (now->run.ended[0] != '\0')
        add_note(out, "%s ended early: %s", now->file, now->run.ended);
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

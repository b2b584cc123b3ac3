/* SPDX-License-Identifier: MIT */
#include "report/comparison.h"

#include "base/values.h"
#include "report/comparison_report.h"
#include "report/conditions.h"
#include "report/json.h"
#include "report/number.h"
#include "report/profile_file.h"
#include "report/run_report.h"
#include "report/sentence.h"
#include "report/terminal.h"
#include "symbols/symbols.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct side_reading {
    struct baseline *out; /* the run that is read */
    struct runs *runs;    /* to add more of them to; NULL: there is one only */
    struct error *error;
    unsigned line;    /* from 1; 0: the whole file */
    json_t *surveyed; /* the header of a survey that goes on: its regions are runs; NULL: it is none */
};

#define baseline_fails(reading, ...)                                                                         \
    error_set_in_file((reading)->error, (reading)->out->file, (reading)->line, __VA_ARGS__)

static bool is_real(const json_t *object, const char *key)
{
    return field_real(object, key) >= 0;
}

/* Counts beyond 2^63-1 are reals. */
static bool is_count(const json_t *object, const char *key)
{
    return is_real(object, key) && field_real(object, key) <= 0x1p64;
}

/* The run that was read so far is whole. */
static bool next_run(struct side_reading *reading)
{
    struct runs *runs = reading->runs;
    struct baseline **of = array_grow(runs->of, runs->n + 1, &runs->room, sizeof(struct baseline *));
    if (of == NULL)
        return error_memory(reading->error);
    runs->of = of;
    struct baseline *next = calloc(1, sizeof *next);
    if (next == NULL)
        return error_memory(reading->error);
    memcpy(next->file, runs->file, sizeof next->file);
    runs->of[runs->n++] = reading->out = next;
    return true;
}

/* By its header. */
static bool is_survey(const json_t *object)
{
    return strcmp(field_text(object, "command"), "survey") == 0;
}

static void take_conditions(struct baseline *run)
{
    run->conditions = run_lines(run->header, run->summary, NULL).conditions;
}

static bool take_header(struct side_reading *reading, json_t *object)
{
    bool another = reading->out->header != NULL;
    if (another && reading->runs == NULL)
        return baseline_fails(reading, "a second header; a baseline is one run");
    if (another && (reading->out->summary == NULL || reading->surveyed != NULL))
        return baseline_fails(reading, "a header before the summary: the run above was cut off");
    if (another && !next_run(reading))
        return false;
    reading->out->header = json_incref(object);
    reading->surveyed = is_survey(object) ? object : NULL;
    if (reading->surveyed != NULL && reading->runs == NULL)
        return baseline_fails(reading, "a survey of many regions: survey --baseline and compare take it");
    return true;
}

static bool check_column(const struct side_reading *reading, const char *key, const json_t *column)
{
    char name[UTF8_CLEAN_ROOM(96)];
    utf8_clean(name, sizeof name, key);
    if (field_of(column, "not_supported") != NULL)
        return true;
    if (!is_count(column, "count"))
        return baseline_fails(reading, "no count of %.48s", name);
    if (field_count(column, "count") > 0 && (!is_real(column, "mean") || !is_real(column, "sd") ||
                                             !is_count(column, "min") || !is_count(column, "max")))
        return baseline_fails(reading, "mean, sd, min or max of %.48s is missing or no count", name);
    return !json_is_true(field_of(column, "calibrated")) || is_real(column, "plus_minus") ||
           baseline_fails(reading, "no plus_minus of %.48s, which was calibrated", name);
}

/* --- runs by their regions ------------------------------------------------------------------------------ */

bool runs_are_of_one_region(const struct conditions *one, const struct conditions *other)
{
    return strcmp(one->start, other->start) == 0 && strcmp(one->end, other->end) == 0;
}

/* Older surveys have the name alone: that of a region file is not where it starts. */
static struct conditions unreached_region(const json_t *line)
{
    struct conditions named = {0};
    const char *end = field_text(line, "end");
    utf8_clean(named.start, sizeof named.start, field_text(line, "start|name"));
    utf8_clean(named.end, sizeof named.end, end[0] != '\0' ? end : "its return");
    return named;
}

/* Of both names, each with its end. */
static uint64_t hash_region(const struct conditions *named)
{
    uint64_t hash = hash_add(0, named->start, strlen(named->start) + 1);
    return hash_add(hash, named->end, strlen(named->end) + 1);
}

static bool runs_index_is(const struct runs *runs, const struct runs_index *index, size_t which,
                          const struct conditions *wanted)
{
    if (index == &runs->of_region)
        return runs_are_of_one_region(&runs->of[which - 1]->conditions, wanted);
    const struct conditions named = unreached_region(json_array_get(runs->unreached, which - 1));
    return runs_are_of_one_region(&named, wanted);
}

/* Its slot, or the free one where it belongs. There is always a free one. */
static struct runs_slot *runs_index_slot(const struct runs *runs, const struct runs_index *index,
                                         uint64_t hash, const struct conditions *wanted)
{
    size_t at = (size_t)hash & (index->room - 1);
    while (index->slots[at].which != 0 &&
           (index->slots[at].hash != hash || !runs_index_is(runs, index, index->slots[at].which, wanted)))
        at = (at + 1) & (index->room - 1);
    return &index->slots[at];
}

/* From 1; 0: none. */
static size_t runs_index_find(const struct runs *runs, const struct runs_index *index,
                              const struct conditions *wanted)
{
    return index->room == 0 ? 0 : runs_index_slot(runs, index, hash_region(wanted), wanted)->which;
}

static bool runs_index_grow(struct runs_index *index)
{
    size_t room = index->room > 0 ? 2 * index->room : 64;
    struct runs_slot *slots = calloc(room, sizeof *slots);
    if (slots == NULL)
        return false;
    for (size_t i = 0; i < index->room; i++) {
        size_t at = (size_t)index->slots[i].hash & (room - 1);
        while (slots[at].which != 0)
            at = (at + 1) & (room - 1);
        slots[at] = index->slots[i];
    }
    free(index->slots);
    index->slots = slots;
    index->room = room;
    return true;
}

/* Of two of one region the later one is found. False: out of memory. */
static bool runs_index_put(const struct runs *runs, struct runs_index *index, const struct conditions *named,
                           size_t which)
{
    if (2 * index->n >= index->room && !runs_index_grow(index))
        return false;
    uint64_t hash = hash_region(named);
    struct runs_slot *slot = runs_index_slot(runs, index, hash, named);
    index->n += slot->which == 0;
    *slot = (struct runs_slot){.hash = hash, .which = which};
    return true;
}

const struct baseline *runs_find(const struct runs *runs, const struct conditions *wanted)
{
    size_t which = runs_index_find(runs, &runs->of_region, wanted);
    return which > 0 ? runs->of[which - 1] : NULL;
}

/* Of the run that was read last. */
static bool note_region(struct side_reading *reading)
{
    struct runs *runs = reading->runs;
    const struct conditions *named = &reading->out->conditions;
    if (runs->twin == NULL)
        runs->twin = runs_find(runs, named);
    return runs_index_put(runs, &runs->of_region, named, runs->n) || error_memory(reading->error);
}

static bool take_summary(struct side_reading *reading, json_t *object)
{
    json_t *columns = json_object_get(object, "columns"), *column;
    const char *name;
    if (reading->out->summary != NULL)
        return baseline_fails(reading, "a second summary of one run");
    if (!json_is_integer(field_of(object, "hits")))
        return baseline_fails(reading, "a summary without hits: not of pmu-probe delta");
    if (json_object_size(columns) > RESULT_COLUMNS)
        return baseline_fails(reading, "more than %d columns", RESULT_COLUMNS);
    json_object_foreach(columns, name, column)
        if (!check_column(reading, name, column))
            return false;
    reading->out->summary = json_incref(object);
    take_conditions(reading->out);
    return reading->runs == NULL || note_region(reading);
}

static bool keep_unreached(struct side_reading *reading, json_t *object)
{
    struct runs *runs = reading->runs;
    if (runs->unreached == NULL)
        runs->unreached = json_array();
    const struct conditions named = unreached_region(object);
    return (json_array_append(runs->unreached, object) == 0 &&
            runs_index_put(runs, &runs->of_unreached, &named, json_array_size(runs->unreached))) ||
           error_memory(reading->error);
}

/* Each region of a survey is a run. */
static bool take_region(struct side_reading *reading, json_t *object)
{
    const struct conditions named = run_lines(reading->surveyed, object, NULL).conditions;
    if (!json_is_true(field_of(object, "reached")))
        return keep_unreached(reading, object);
    if (reading->out->summary != NULL && runs_find(reading->runs, &named) != NULL)
        return true; /* a region file may have one region twice, with two budgets */
    if (reading->out->summary != NULL && !next_run(reading))
        return false;
    if (reading->out->header == NULL)
        reading->out->header = json_incref(reading->surveyed);
    return take_summary(reading, object);
}

static bool end_survey(struct side_reading *reading)
{
    reading->surveyed = NULL;
    return reading->out->summary != NULL || baseline_fails(reading, "no region of this survey was reached");
}

/* Whether a line that says its schema, or of which command it is, is of a result that can be compared. In a
 * schema that is not known, a command may be something else. */
static bool baseline_check_kind(struct side_reading *reading, const json_t *object, bool begins)
{
    const char *type = field_text(object, "type"), *named = field_text(object, "schema");
    const json_t *schema = field_of(object, "schema");
    const char *command = begins ? field_text(object, "command") : strcmp(type, "guard") == 0 ? type : "";
    bool of_survey = begins && is_survey(object), is_other = command[0] != '\0' && !of_survey;
    bool is_profile = !of_survey && strcmp(named, PROFILE_SCHEMA) == 0;
    const char *wanted = of_survey || strcmp(type, "profile") == 0 ? JSON_SCHEMA_2 : JSON_SCHEMA;
    if (schema != NULL && strcmp(named, wanted) != 0 && !is_profile)
        return baseline_fails(reading, "its schema is %.64s, and %s is wanted",
                              json_is_string(schema) ? named : "no name", wanted);
    if (is_other)
        return baseline_fails(reading, "a result of %.32s, and those of delta and survey are compared",
                              command);
    if (is_profile && reading->runs != NULL)
        reading->runs->is_profile = true;
    return !is_profile || baseline_fails(reading, "a profile of record: compare takes two of them, as files");
}

static bool baseline_take_line(struct side_reading *reading, json_t *object)
{
    const char *type = field_text(object, "type");
    bool begun = reading->out->header != NULL, begins = strcmp(type, "header") == 0;
    if (!begun && field_of(object, "schema") == NULL)
        return baseline_fails(reading, DOCUMENT_NO_HEADER);
    if (!baseline_check_kind(reading, object, begins))
        return false;
    if (type[0] == '\0' || (!begun && !begins))
        return baseline_fails(reading, DOCUMENT_NO_TYPE);
    if (begins)
        return take_header(reading, object);
    if (reading->surveyed != NULL && strcmp(type, "region") == 0)
        return take_region(reading, object);
    if (strcmp(type, "summary") != 0)
        return true;
    return reading->surveyed != NULL ? end_survey(reading) : take_summary(reading, object);
}

static bool baseline_read_lines(struct side_reading *reading, struct json_lines *lines)
{
    json_t *object;
    while ((object = json_lines_next(lines)) != NULL) {
        reading->line = lines->line;
        bool ok = baseline_take_line(reading, object);
        json_decref(object);
        if (!ok)
            return false;
    }
    reading->line = lines->line;
    if (json_lines_broke(lines, reading->out->file, reading->error))
        return false;
    if (lines->why != NULL)
        return baseline_fails(reading, "%s",
                              lines->is_last && reading->out->header != NULL
                                  ? "no summary: that run was cut off in this line"
                                  : lines->why);
    reading->line = 0;
    if (reading->out->header == NULL)
        return baseline_fails(reading, "empty");
    return (reading->out->summary != NULL && reading->surveyed == NULL) ||
           baseline_fails(reading, "no summary: that run was cut off");
}

struct baseline runs_missing(const struct runs *runs, const struct conditions *like)
{
    struct baseline missing = {.missing = true};
    memcpy(missing.file, runs->file, sizeof missing.file);
    memcpy(missing.conditions.start, like->start, sizeof missing.conditions.start);
    memcpy(missing.conditions.end, like->end, sizeof missing.conditions.end);
    size_t which = runs_index_find(runs, &runs->of_unreached, like);
    missing.unreached = which > 0 ? json_array_get(runs->unreached, which - 1) : NULL;
    return missing;
}

void baseline_free(struct baseline *run)
{
    json_decref(run->header);
    json_decref(run->summary);
    run->header = run->summary = NULL;
}

bool baseline_live(struct baseline *out, const struct summary *run)
{
    struct json_part header = json_header_part(JSON_SCHEMA, &run->conditions, run->columns, run->n, 0),
                     summary = json_part_new("summary");
    json_summary_fill(&summary, run);
    *out = (struct baseline){.header = header.json, .summary = summary.json};
    take_conditions(out);
    return header.ok && summary.ok;
}

static bool read_baseline(struct json_lines *lines, const char *path, struct baseline *out,
                          struct error *error)
{
    struct side_reading reading = {.out = out, .error = error};
    memset(out, 0, sizeof *out);
    utf8_clean(out->file, sizeof out->file, path);
    if (baseline_read_lines(&reading, lines))
        return true;
    baseline_free(out);
    return false;
}

bool baseline_parse(const char *text, size_t size, const char *path, struct baseline *out,
                    struct error *error)
{
    return read_baseline(&(struct json_lines){.text = text, .size = size}, path, out, error);
}

static bool check_regions(struct side_reading *reading)
{
    const struct baseline *twin = reading->runs->twin;
    return twin == NULL || baseline_fails(reading, "two runs of one region: %.80s, %.80s",
                                          twin->conditions.start, twin->conditions.end);
}

static bool read_runs(struct json_lines *lines, const char *path, struct runs *out, struct error *error)
{
    struct side_reading reading = {.runs = out, .error = error};
    utf8_clean(out->file, sizeof out->file, path);
    return next_run(&reading) && baseline_read_lines(&reading, lines) && check_regions(&reading);
}

bool runs_parse(const char *text, size_t size, const char *path, struct runs *out, struct error *error)
{
    *out = (struct runs){0};
    return read_runs(&(struct json_lines){.text = text, .size = size}, path, out, error);
}

void runs_free(struct runs *runs)
{
    for (size_t i = 0; i < runs->n; i++) {
        baseline_free(runs->of[i]);
        free(runs->of[i]);
    }
    json_decref(runs->unreached);
    free(runs->of);
    free(runs->of_region.slots);
    free(runs->of_unreached.slots);
    *runs = (struct runs){0};
}

bool baseline_read(const char *path, const volatile sig_atomic_t *cancel, struct baseline *out,
                   struct error *error)
{
    struct json_file file;
    if (!json_file_open(&file, path, cancel, error))
        return false;
    bool ok = read_baseline(&file.lines, path, out, error);
    json_file_close(&file);
    return ok;
}

bool runs_read(const char *path, const volatile sig_atomic_t *cancel, struct runs *out, struct error *error)
{
    struct json_file file;
    *out = (struct runs){0};
    if (!json_file_open(&file, path, cancel, error))
        return false;
    bool ok = read_runs(&file.lines, path, out, error);
    json_file_close(&file);
    return ok;
}

/* ---- comparison */

enum { TEXT = 160 };

/* A line `verdict` under construction. */
struct comparison {
    double threshold;
    size_t family, n;
    struct verdict_line lines[2 * RESULT_COLUMNS];
    struct json_part reasons; /* why the two cannot be compared */
    struct json_part notes;   /* differences that are allowed */
};

static const char *or_unknown(const char *text)
{
    return text[0] != '\0' ? text : "unknown";
}

static void comparison_compare_texts(struct comparison *out, const char *what, const char *base,
                                     const char *now)
{
    if (strcmp(base, now) != 0)
        json_list_say(&out->reasons, "another %s: %.159s in the baseline, %.159s now", what, or_unknown(base),
                      or_unknown(now));
}

/* "openocd" of "openocd localhost:6666" */
static void comparison_link_kind(char *out, size_t size, const char *link)
{
    utf8_clean(out, size, link);
    out[strcspn(out, " :")] = '\0';
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
        json_list_say(&out->notes, "clocks differ, as measured (%s -> %s): cycles are compared", before,
                      after);
    else
        json_list_say(&out->reasons, "another clock: %s in the baseline, %s now", before, after);
}

static void compare_elves(struct comparison *out, const struct conditions *base, const struct conditions *now)
{
    const char *before = name_of_file(base->elf), *after = name_of_file(now->elf);
    if (base->elf[0] == '\0' || now->elf[0] == '\0' || strcmp(before, after) == 0)
        return;
    json_list_say(&out->notes, "ELF files differ (%.128s -> %.128s)", before, after);
}

/* Or by an offset in a function. A line or a function is the same in each build. */
static bool is_by_address(const char *place)
{
    return place[0] == '*' || strncmp(place, "0x", 2) == 0 || strstr(place, "+0x") != NULL;
}

/* Why the same address may be other code; NULL: it is the same. */
static const char *other_code(const struct conditions *base, const struct conditions *now)
{
    bool hashes = base->elf_hash[0] != '\0' && now->elf_hash[0] != '\0';
    const char *before = hashes ? base->elf_hash : base->build_id,
               *after = hashes ? now->elf_hash : now->build_id;
    if (before[0] == '\0' || after[0] == '\0')
        return "nothing says that both are of one";
    return strcmp(before, after) == 0 ? NULL : "these two are of others, or lie elsewhere";
}

static void compare_regions(struct comparison *out, const struct conditions *base,
                            const struct conditions *now)
{
    const char *before = or_unknown(base->start), *after = or_unknown(now->start);
    if (runs_are_of_one_region(base, now)) {
        const char *place = is_by_address(base->start) ? base->start : base->end,
                   *why = is_by_address(place) ? other_code(base, now) : NULL;
        if (why != NULL)
            json_list_say(&out->reasons, "%.159s is a place in one build, and %s: name a line or a function",
                          place, why);
        return;
    }
    if (strcmp(base->end, now->end) == 0)
        json_list_say(&out->reasons, "baseline is for %.159s, this run for %.159s", before, after);
    else
        json_list_say(&out->reasons, "baseline is for %.80s to %.80s, this run for %.80s to %.80s", before,
                      or_unknown(base->end), after, or_unknown(now->end));
}

static void compare_conditions(struct comparison *out, const struct conditions *base,
                               const struct conditions *now)
{
    char before[TEXT], after[TEXT];
    comparison_link_kind(before, sizeof before, base->link);
    comparison_link_kind(after, sizeof after, now->link);
    compare_regions(out, base, now);
    compare_elves(out, base, now);
    comparison_compare_texts(out, "kind of link", before, after);
    comparison_compare_texts(out, "core", base->core, now->core);
    comparison_compare_texts(out, "counter", base->counter, now->counter);
    compare_clocks(out, base, now);
}

/* What a reader of its means must know of a run. */
static const struct sentence comparison_of_run[] = {
    {"ended", NULL, "{what} ended early: {ended}"},
    {"doubt", NULL, "{what} is not proved to be exact: {doubt}"},
    {"left", NULL, "{what}: " SENTENCE_LEFT},
    {"cut", NULL, "{what} ended in a call, whose time is only a lower bound"},
    {"tainted", NULL, "{what}: {tainted,} of {hits,} hit{hits?|s} tainted, not in its means"},
    {"calls.isolated", NULL, "{what}: of isolated calls; " SENTENCE_LEFT_OUT},
    {"slept", NULL, "{what}: " RESULT_SLEPT},
};

static struct json_part facts_of_run(const char *what, const struct baseline *run)
{
    struct json_part facts = json_part_copy(run->summary);
    row_text(&facts, "what", what);
    return facts;
}

static void comparison_note_run(struct comparison *out, const char *what, const struct baseline *run)
{
    if (run->summary == NULL)
        return;
    struct json_part facts = facts_of_run(what, run);
    sentences_say(&out->notes, facts.json, comparison_of_run,
                  sizeof comparison_of_run / sizeof *comparison_of_run);
    json_decref(facts.json);
}

/* The same as one text. */
static void put_base_doubt(struct json_part *baseline, const struct baseline *run)
{
    struct json_part facts = facts_of_run("the baseline", run);
    sentences_put(baseline, "doubt", facts.json, comparison_of_run,
                  sizeof comparison_of_run / sizeof *comparison_of_run);
    json_decref(facts.json);
}

static double part_left(const struct baseline *run, double *calls)
{
    double left = (double)field_count(run->summary, "left");
    *calls = left + (double)field_count(run->summary, "hits");
    return *calls > 0 ? left / *calls : 0;
}

/* Calls that return are others, if another part of all does: by more than 1 % and three standard errors. */
static void compare_left(struct comparison *out, const struct baseline *base, const struct baseline *now)
{
    double calls[2], before = part_left(base, &calls[0]), after = part_left(now, &calls[1]);
    if (!(calls[0] > 0) || !(calls[1] > 0))
        return;
    double both = (before * calls[0] + after * calls[1]) / (calls[0] + calls[1]);
    double error = sqrt(both * (1 - both) * (1 / calls[0] + 1 / calls[1]));
    if (fabs(after - before) > 0.01 + 3 * error)
        json_list_say(&out->reasons,
                      "%.0f %% of the calls were left without returning in the baseline, %.0f %% now",
                      100 * before, 100 * after);
}

/* Why one side has no run of the region. */
static void add_missing(struct comparison *out, const struct baseline *side)
{
    const json_t *line = side->unreached;
    const char *why = field_text(line, "why"), *how = field_of(line, "end") != NULL ? "reached" : "called";
    double waited = field_real(line, "waited_s");
    if (line == NULL)
        json_list_say(&out->notes, "%s does not have this region", side->file);
    else
        json_list_say(&out->notes, "%s has no hit of this region: %s%.512s%s%s", side->file,
                      why[0] != '\0' ? "" : "not ", why[0] != '\0' ? why : how,
                      why[0] == '\0' && waited > 0 ? " in its " : "",
                      why[0] == '\0' && waited > 0 ? ELAPSED(waited) : "");
}

static void comparison_add_notes(struct comparison *out, const struct baseline *base,
                                 const struct baseline *now)
{
    const char *before = base->conditions.build_id, *after = now->conditions.build_id;
    uint64_t warmup = field_count(base->summary, "warmup"), its = field_count(now->summary, "warmup");
    if (before[0] != '\0' && after[0] != '\0' && strcmp(before, after) != 0)
        json_list_say(&out->notes, "builds differ (%.6s -> %.6s)", before, after);
    if (warmup != its)
        json_list_say(&out->notes, "warm-up differs: %" PRIu64 " -> %" PRIu64 " hits", warmup, its);
    compare_left(out, base, now);
    comparison_note_run(out, "the baseline", base);
    if (base->missing)
        add_missing(out, base);
    if (now->file[0] == '\0')
        return;
    if (now->missing)
        add_missing(out, now);
    comparison_note_run(out, now->file, now);
}

/* `why`: what prevents comparing this column, or NULL. All reasons are in one text: some formats have no
 * other place for them. */
static void comparison_add_line(struct comparison *out, const char *name, const struct verdict_side *base,
                                const struct verdict_side *now, const char *why)
{
    struct verdict_line *line = &out->lines[out->n++];
    size_t i;
    const json_t *reason;
    *line = verdict_decide_among(base, now, out->threshold, out->family);
    utf8_clean(line->name, sizeof line->name, name);
    if (why != NULL || json_array_size(out->reasons.json) > 0) {
        line->verdict = VERDICT_NOT_COMPARABLE;
        line->why[0] = '\0';
    }
    json_array_foreach(out->reasons.json, i, reason)
        text_join(line->why, sizeof line->why, "; ", text_or_empty(reason));
    if (line->why[0] == '\0')
        text_add(line->why, sizeof line->why, "%s", or_empty(why));
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
        why = comparison_is_calibrated(column) ? "what a halt adds is removed only now"
                                               : "what a halt adds is removed only in the baseline";
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
    json_part_true(&object, "at_least", side->at_least);
    return object;
}

/* `distribution`: of the baseline's hits; NULL: its file does not have it. */
static struct json_part line_object(const struct verdict_line *line, json_t *distribution)
{
    struct json_part object = json_part_new(NULL), base = side_object(&line->base);
    if (distribution != NULL && json_object_set(base.json, "distribution", distribution) != 0)
        base.ok = false;
    json_part_text(&object, "verdict", verdict_name(line->verdict));
    json_part_real(&object, "change", line->change);
    json_part_object(&object, "base", base);
    json_part_object(&object, "now", side_object(&line->now));
    struct verdict_interval interval;
    if (verdict_interval(line, &interval)) {
        json_part_real(&object, "low", interval.low);
        json_part_real(&object, "high", interval.high);
    }
    json_part_text(&object, "why", line->why);
    return object;
}

size_t baseline_columns(const struct baseline *run)
{
    return json_object_size(json_object_get(run->summary, "columns"));
}

struct json_part runs_compare(const struct baseline *before, const struct baseline *now, double threshold,
                              size_t family)
{
    struct comparison out = {
        .threshold = threshold, .family = family, .reasons = json_list_new(), .notes = json_list_new()};
    struct json_part line = json_part_new("verdict"), baseline = json_part_new(NULL),
                     region = json_part_new(NULL), columns = json_part_new(NULL);
    char started[32];
    if (!before->missing && !now->missing)
        compare_conditions(&out, &before->conditions, &now->conditions);
    comparison_add_notes(&out, before, now);
    if (now->file[0] != '\0') /* else the run's own table has them */
        conditions_add_errata(&out.notes, now->summary);
    compare_columns(&out, json_object_get(before->summary, "columns"),
                    json_object_get(now->summary, "columns"));
    json_part_text(&line, "verdict", verdict_name(verdict_overall(out.lines, out.n)));
    if ((now->file[0] != '\0' || now->is_named) && now->conditions.start[0] != '\0') {
        json_part_text(&region, "start", now->conditions.start);
        json_part_text(&region, "end", now->conditions.end);
    }
    json_part_object(&line, "region", region);
    json_part_text(&line, "file", now->file);
    json_part_real(&line, "threshold", threshold);
    json_part_text(&baseline, "file", before->file);
    json_part_text(&baseline, "started",
                   utf8_clean(started, sizeof started, field_text(before->header, "started")));
    json_part_text(&baseline, "build_id", before->conditions.build_id);
    put_base_doubt(&baseline, before);
    json_part_object(&line, "baseline", baseline);
    for (size_t i = 0; i < out.n; i++)
        json_part_object(
            &columns, out.lines[i].name,
            line_object(&out.lines[i],
                        json_object_get(
                            json_object_get(json_object_get(before->summary, "columns"), out.lines[i].name),
                            "distribution")));
    json_part_object(&line, "columns", columns);
    json_part_object(&line, "not_comparable", out.reasons);
    json_part_object(&line, "notes", out.notes);
    return line;
}

void comparison_add_run(struct json_part *line, const struct baseline *now)
{
    struct json_part run = json_part_new(NULL);
    if (now->header != NULL && json_object_set(run.json, "header", now->header) != 0)
        run.ok = false;
    if (now->summary != NULL && json_object_set(run.json, "summary", now->summary) != 0)
        run.ok = false;
    json_part_object(line, "run", run);
}

/* ---- each later file with the first */

struct comparing {
    double threshold;
    size_t family; /* of all files */
    struct baseline missing;
    struct document *document;
    enum verdict verdict; /* over all */
    uint64_t compared, not_comparable;
};

static void compare_pair(struct comparing *self, const struct baseline *before, const struct baseline *now)
{
    struct json_part line = runs_compare(before, now, self->threshold, self->family);
    enum verdict verdict = line_verdict(line.json);
    comparison_add_run(&line, now);
    document_add(self->document, line);
    self->compared++;
    self->not_comparable += verdict == VERDICT_NOT_COMPARABLE;
    self->verdict = verdict_both(self->verdict, verdict);
}

/* In place of the run that the file of `other` has and this one lacks. */
static const struct baseline *missing_run(struct comparing *self, const struct baseline *other,
                                          const struct runs *runs)
{
    self->missing = runs_missing(runs, &other->conditions);
    return &self->missing;
}

/* Two files of one run each are compared whatever their regions are: then the reason says how these differ.
 */
static bool are_of_one_run(const struct runs *old, const struct runs *new)
{
    return old->n == 1 && new->n == 1 && old->unreached == NULL &&new->unreached == NULL;
}

/* As survey --baseline counts them. */
static size_t compare_family_of(const struct runs *old, const struct runs *new)
{
    size_t family = 0;
    for (size_t i = 0; i < new->n; i++)
        if (are_of_one_run(old, new) || runs_find(old, &new->of[i]->conditions) != NULL)
            family += baseline_columns(new->of[i]);
    return family;
}

static void compare_file(struct comparing *self, const struct runs *old, const struct runs *new)
{
    if (are_of_one_run(old, new)) {
        compare_pair(self, old->of[0], new->of[0]);
        return;
    }
    for (size_t i = 0; i < old->n; i++) {
        const struct baseline *now = runs_find(new, &old->of[i]->conditions);
        compare_pair(self, old->of[i], now != NULL ? now : missing_run(self, old->of[i], new));
    }
    for (size_t i = 0; i < new->n; i++)
        if (runs_find(old, &new->of[i]->conditions) == NULL)
            compare_pair(self, missing_run(self, new->of[i], old), new->of[i]);
}

static void comparison_add_summary(struct comparing *self)
{
    struct json_part line = json_part_new("summary");
    json_part_text(&line, "verdict", verdict_name(self->verdict));
    json_part_unsigned(&line, "compared", self->compared);
    json_part_unsigned(&line, "not_comparable", self->not_comparable);
    document_add(self->document, line);
}

enum verdict comparison_make(const struct runs *files, size_t n, double threshold, struct document *document)
{
    struct comparing self = {.threshold = threshold, .document = document};
    for (size_t i = 1; i < n; i++)
        self.family += compare_family_of(&files[0], &files[i]);
    for (size_t i = 1; i < n; i++)
        compare_file(&self, &files[0], &files[i]);
    comparison_add_summary(&self);
    return self.verdict;
}

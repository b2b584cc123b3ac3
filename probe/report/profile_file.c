/* SPDX-License-Identifier: MIT */
#include "report/profile_file.h"

#include "base/file.h"
#include "report/document.h"
#include "report/terminal.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *profile_file_state(enum profile_state state)
{
    static const char *const keys[PROFILE_STATES] = {
        [PROFILE_ASLEEP] = "asleep",
        [PROFILE_NOT_PERMITTED] = "not_permitted",
        [PROFILE_HALTED] = "halted",
        [PROFILE_IN_RESET] = "in_reset",
    };
    return keys[state];
}

static const char *const context_types[PROFILE_CONTEXTS] = {
    [PROFILE_EXCEPTIONS] = "exceptions", [PROFILE_TASKS] = "tasks", [PROFILE_PROCESSES] = "contexts"};

/* ---- writing */

static int write_part(FILE *out, struct json_part part)
{
    errno = 0;
    if (json_part_write(out, part))
        return 0;
    return errno != 0 ? -errno : -EIO;
}

/* Only if they are not those of the list. */
static void profile_file_put_numbers(struct json_part *head, const struct profile_about *about)
{
    json_t *numbers = json_array();
    bool differ = false;
    for (size_t i = 0; i < about->core_count; i++) {
        differ = differ || profile_core_number(about, i) != i;
        json_part_append(head, numbers, json_integer(profile_core_number(about, i)));
    }
    if (differ)
        json_part_array(head, "numbers", numbers);
    else
        json_decref(numbers);
}

int profile_file_begin(FILE *out, const struct profile_about *about)
{
    struct json_part head = json_part_new(NULL);
    json_part_text(&head, "schema", PROFILE_SCHEMA);
    json_part_text(&head, "type", "profile");
    json_part_text(&head, "date", or_empty(about->date));
    json_part_text(&head, "probe", or_empty(about->probe));
    json_part_text(&head, "elf", or_empty(about->elf));
    json_part_text(&head, "build_id", or_empty(about->build_id));
    if (about->load_offset != 0)
        json_part_hex(&head, "load_offset", about->load_offset);
    json_t *cores = json_array();
    for (size_t i = 0; i < about->core_count; i++)
        json_part_append(&head, cores, json_part_string(or_empty(about->cores[i])));
    json_part_array(&head, "cores", cores);
    profile_file_put_numbers(&head, about);
    json_part_text(&head, "source", or_empty(about->source));
    json_part_true(&head, "by_block", about->by_block);
    json_part_text(&head, "task", or_empty(about->task));
    json_part_text(&head, "event", or_empty(about->event));
    json_part_text(&head, "errata", or_empty(about->errata));
    if (about->event != NULL)
        json_part_unsigned(&head, "every", about->every);
    if (about->asked_s > 0)
        json_part_real(&head, "asked_s", about->asked_s);
    return write_part(out, head);
}

static void put_stacks(struct json_part *line, const struct call_stacks *stacks)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < stacks->n; i++) {
        const struct call_stack *stack = &stacks->rows[i];
        struct json_part row = json_part_new(NULL);
        json_t *at = json_array();
        json_part_unsigned(&row, "samples", stack->samples);
        for (size_t k = 0; k < stack->depth; k++)
            json_part_append(&row, at, json_hex(stack->at[k]));
        json_part_array(&row, "at", at);
        if (stack->sure < stack->depth)
            json_part_unsigned(&row, "sure", stack->sure);
        json_part_text(&row, "cut", or_empty(call_stack_end_name(stack->end)));
        json_part_add(line, rows, row);
    }
    json_part_array(line, "stacks", rows);
}

/* `key`: what is counted. */
static struct json_part interval_line(const char *type, const char *key,
                                      const struct profile_interval *interval)
{
    struct json_part line = json_part_new(type), counts = json_part_new(NULL);
    json_part_unsigned(&line, "core", interval->core);
    json_part_real(&line, "from", interval->from);
    json_part_real(&line, "to", interval->to);
    for (size_t i = 0; i < interval->count_count; i++) {
        char address[32];
        snprintf(address, sizeof address, "0x%08" PRIx64, interval->counts[i].address);
        json_part_unsigned(&counts, address, interval->counts[i].samples);
    }
    json_part_object(&line, key, counts);
    return line;
}

int profile_file_add_contexts(FILE *out, enum profile_context kind, const struct profile_interval *interval)
{
    return write_part(out, interval_line(context_types[kind], "value", interval));
}

int profile_file_add_task(FILE *out, uint64_t value, const char *name)
{
    struct json_part line = json_part_new("task");
    json_part_hex(&line, "value", value);
    json_part_text(&line, "name", name);
    return write_part(out, line);
}

int profile_file_add_note(FILE *out, const char *text)
{
    struct json_part line = json_part_new("note");
    json_part_text(&line, "text", text);
    return write_part(out, line);
}

int profile_file_add(FILE *out, const struct profile_interval *interval)
{
    struct json_part line = interval_line("samples", "pc", interval);
    if (interval->stacks.n > 0)
        put_stacks(&line, &interval->stacks);
    for (int i = 0; i < PROFILE_STATES; i++)
        if (interval->states[i] > 0)
            json_part_unsigned(&line, profile_file_state((enum profile_state)i), interval->states[i]);
    if (interval->asleep_doubt > 0)
        json_part_real(&line, "asleep_doubt", interval->asleep_doubt);
    json_part_true(&line, "asleep_by_code", interval->asleep_doubt > 0 && !interval->asleep_anywhere);
    json_part_some(&line, "resets", interval->resets);
    if (interval->events > 0) {
        json_part_unsigned(&line, "events", interval->events);
        json_part_real(&line, "stood_s", interval->stood_s);
    }
    return write_part(out, line);
}

int profile_file_end(FILE *out, const struct profile_end *end)
{
    struct json_part line = json_part_new("end");
    json_part_real(&line, "elapsed_s", end->elapsed_s);
    json_part_unsigned(&line, "samples", end->samples);
    json_part_text(&line, "why", or_empty(end->why));
    json_part_text(&line, "error", or_empty(end->error));
    return write_part(out, line);
}

bool profile_file_wrote(int result, struct error *error)
{
    return result == 0 ||
           error_set(error, ERROR_SYSTEM, "the profile could not be written: %s", strerror(-result));
}

bool profile_file_conclude(FILE *out, double elapsed_s, uint64_t samples, const struct error *why,
                           bool cancelled, struct error *error)
{
    bool failed = why->kind != ERROR_NONE;
    char lost[] = "lost", interrupt[] = "Ctrl-C", time[] = "time", text[sizeof why->text];
    error_on_one_line(why, text, sizeof text);
    const struct profile_end end = {.known = true,
                                    .elapsed_s = elapsed_s,
                                    .samples = samples,
                                    .why = failed      ? lost
                                           : cancelled ? interrupt
                                                       : time,
                                    .error = failed ? text : NULL};
    return profile_file_wrote(profile_file_end(out, &end), error);
}

/* ---- reading */

/* What was read of one core. `unit`: seconds up to which neighbours are merged; below 0: not at all. */
struct track {
    struct profile_interval *intervals;
    size_t n;
    double unit;
    enum { STACKS_NOT_KNOWN, STACKS_NONE, STACKS_ALL } stacks; /* its samples have stacks, or none has */
};

struct profile_reading {
    struct profile *out;
    struct track *tracks; /* one a core, then one a core for each kind of context */
    uint64_t samples;     /* so far, of all cores */
    const char *path;
    unsigned line; /* from 1; 0: the whole file */
    struct error *error;
    bool failed; /* the error says why; what follows is not read any more */
};

static const uint64_t most_samples = UINT64_C(1) << 53; /* exact as a real; years of the fastest probe */
static const unsigned most_resets = 1000000;            /* of an interval */
static const int most_number = 1000000;
static const double longest_s = 1e9;

/* The first failure is the one that counts. */
#define fail(reading, ...)                                                                                   \
    ((reading)->failed = true,                                                                               \
     (void)error_set_in_file((reading)->error, (reading)->path, (reading)->line, __VA_ARGS__))

static void fail_as(struct profile_reading *reading, enum error_kind kind, const char *text)
{
    error_set(reading->error, kind, "%s", text);
    reading->failed = true;
}

/* Memory that was asked for. */
static void *granted(struct profile_reading *reading, void *memory)
{
    if (memory == NULL)
        fail_as(reading, ERROR_SYSTEM, "out of memory");
    return memory;
}

/* NULL: it is not a text, or there is no memory for it. */
static char *profile_file_copy_text(struct profile_reading *reading, const json_t *value)
{
    const char *text = json_string_value(value);
    char clean[4096];
    return text != NULL ? granted(reading, strdup(utf8_clean(clean, sizeof clean, text))) : NULL;
}

/* An absent one is 0. */
static uint64_t take_count(struct profile_reading *reading, const json_t *object, const char *key,
                           uint64_t most)
{
    const json_t *value = json_object_get(object, key);
    uint64_t count = json_integer_value(value) > 0 ? (uint64_t)json_integer_value(value) : 0;
    if (value == NULL || (json_is_integer(value) && json_integer_value(value) >= 0 && count <= most))
        return count;
    fail(reading, "%s is not a count from 0 to %" PRIu64, key, most);
    return 0;
}

static double take_seconds(struct profile_reading *reading, const json_t *object, const char *key,
                           bool needed)
{
    const json_t *value = json_object_get(object, key);
    double seconds = json_number_value(value);
    if (value == NULL && !needed)
        return 0;
    if (!json_is_number(value) || !(seconds >= 0 && seconds <= longest_s))
        fail(reading, "%s is not a time in seconds", key);
    return seconds;
}

static bool read_address(const char *text, uint64_t *out)
{
    size_t digits = strncmp(text, "0x", 2) == 0 ? strspn(text + 2, "0123456789abcdefABCDEF") : 0;
    if (digits == 0 || digits > 16 || text[2 + digits] != '\0')
        return false;
    *out = strtoull(text + 2, NULL, 16);
    return true;
}

static void take_numbers(struct profile_reading *reading, const json_t *numbers)
{
    struct profile_about *about = &reading->out->about;
    if (numbers == NULL || reading->failed)
        return;
    about->numbers = granted(reading, calloc(about->core_count, sizeof *about->numbers));
    for (size_t i = 0; i < about->core_count && !reading->failed; i++) {
        const json_t *number = json_array_get(numbers, i);
        if (!json_is_integer(number) || json_integer_value(number) < 0 ||
            json_integer_value(number) > most_number || json_array_size(numbers) != about->core_count)
            fail(reading, "numbers is not a list of a number for each core");
        else
            about->numbers[i] = (unsigned)json_integer_value(number);
    }
}

static void take_cores(struct profile_reading *reading, const json_t *cores)
{
    struct profile_about *about = &reading->out->about;
    size_t n = json_array_size(cores), tracks = n * (1 + PROFILE_CONTEXTS);
    if (n == 0 || n > PROFILE_CORES_MAX)
        fail(reading, "cores is not a list of 1 to %d names", PROFILE_CORES_MAX);
    if (reading->failed)
        return;
    about->cores = granted(reading, calloc(n, sizeof *about->cores));
    reading->tracks = granted(reading, calloc(tracks, sizeof *reading->tracks));
    for (size_t i = 0; i < tracks && !reading->failed; i++)
        reading->tracks[i].unit = -1;
    for (; about->core_count < n && !reading->failed; about->core_count++) {
        about->cores[about->core_count] =
            profile_file_copy_text(reading, json_array_get(cores, about->core_count));
        if (about->cores[about->core_count] == NULL)
            fail(reading, "cores is not a list of names");
    }
}

static void take_head(struct profile_reading *reading, const json_t *object)
{
    struct profile_about *about = &reading->out->about;
    const char *offset = json_string_value(json_object_get(object, "load_offset"));
    const struct {
        const char *key;
        char **text;
    } texts[] = {{"date", &about->date},         {"probe", &about->probe},  {"elf", &about->elf},
                 {"source", &about->source},     {"task", &about->task},    {"event", &about->event},
                 {"build_id", &about->build_id}, {"errata", &about->errata}};
    if (about->core_count > 0) {
        fail(reading, "a second head: a profile is one run");
        return;
    }
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        *texts[i].text = profile_file_copy_text(reading, json_object_get(object, texts[i].key));
    if (offset != NULL && !read_address(offset, &about->load_offset))
        fail(reading, "load_offset is not a distance such as 0x130000: \"%.40s\"", offset);
    about->by_block = json_is_true(json_object_get(object, "by_block"));
    about->every = take_count(reading, object, "every", most_samples);
    about->asked_s = take_seconds(reading, object, "asked_s", false);
    take_cores(reading, json_object_get(object, "cores"));
    take_numbers(reading, json_object_get(object, "numbers"));
}

static void take_counts(struct profile_reading *reading, json_t *object, const char *name,
                        struct profile_interval *interval)
{
    json_t *addresses = json_object_get(object, name), *value;
    const char *key;
    if (addresses == NULL)
        return;
    if (!json_is_object(addresses))
        fail(reading, "%s is not an object of addresses", name);
    interval->counts = granted(reading, calloc(json_object_size(addresses) + 1, sizeof *interval->counts));
    json_object_foreach(addresses, key, value) {
        uint64_t left = most_samples - reading->samples;
        struct profile_count count = {.samples = count_of(value)};
        if (!read_address(key, &count.address))
            fail(reading, "%s has \"%.40s\", which is not an address such as 0x10000124", name, key);
        if (!json_is_integer(value) || count.samples == 0 || count.samples > left)
            fail(reading, "the samples of %.40s are not a count from 1 to %" PRIu64, key, left);
        if (reading->failed)
            return;
        reading->samples += count.samples;
        interval->counts[interval->count_count++] = count;
    }
    interval->count_count = profile_counts_join(interval->counts, interval->count_count);
}

/* `left`: this many samples may be the stack's. */
static void take_stack(struct profile_reading *reading, const json_t *object, uint64_t left,
                       struct call_stack *out)
{
    const json_t *addresses = json_object_get(object, "at"), *cut = json_object_get(object, "cut");
    out->depth = json_array_size(addresses);
    if (out->depth == 0 || out->depth > UNWIND_FRAMES)
        fail(reading, "a stack is not a list of 1 to %d addresses", UNWIND_FRAMES);
    for (size_t i = 0; i < out->depth && !reading->failed; i++) {
        const char *text = text_or_empty(json_array_get(addresses, i));
        if (!read_address(text, &out->at[i]))
            fail(reading, "a stack has \"%.40s\", which is not an address", text);
    }
    out->samples = take_count(reading, object, "samples", left);
    out->sure = json_object_get(object, "sure") != NULL
                    ? (size_t)take_count(reading, object, "sure", out->depth)
                    : out->depth;
    if (out->samples == 0 || out->sure == 0)
        fail(reading, "a stack without samples, or whose leaf is guessed");
    if (cut != NULL && !(json_is_string(cut) && call_stack_end_find(json_string_value(cut), &out->end)))
        fail(reading, "a stack is cut for no known reason");
}

/* They are of the samples that `pc` has, in each line of a core or in none. */
static void take_stacks(struct profile_reading *reading, struct track *track, const json_t *object,
                        struct profile_interval *interval)
{
    const json_t *rows = json_object_get(object, "stacks");
    uint64_t left = 0;
    for (size_t i = 0; i < interval->count_count; i++)
        left += interval->counts[i].samples;
    if (interval->count_count > 0 && track->stacks == STACKS_NOT_KNOWN)
        track->stacks = rows != NULL ? STACKS_ALL : STACKS_NONE;
    bool wanted = interval->count_count > 0 && track->stacks == STACKS_ALL;
    for (size_t i = 0; i < json_array_size(rows) && !reading->failed; i++) {
        uint64_t at[UNWIND_FRAMES];
        struct call_stack stack = {.at = at};
        take_stack(reading, json_array_get(rows, i), left, &stack);
        if (reading->failed)
            return;
        left -= stack.samples;
        if (!call_stacks_add(&interval->stacks, &stack))
            granted(reading, NULL);
    }
    if ((rows != NULL) != wanted || (wanted && left > 0))
        fail(reading, "stacks that are not those of the samples in pc");
}

/* Adds `from`, which is later, to `to`, and frees it. */
static bool merge_into(struct profile_interval *to, struct profile_interval *from)
{
    size_t n = to->count_count + from->count_count;
    struct profile_count *counts = realloc(to->counts, (n + 1) * sizeof *counts);
    if (counts == NULL)
        return false;
    if (from->count_count > 0)
        memcpy(counts + to->count_count, from->counts, from->count_count * sizeof *counts);
    to->counts = counts;
    to->count_count = profile_counts_join(counts, n);
    to->to = from->to;
    to->resets = from->resets < most_resets - to->resets ? to->resets + from->resets : most_resets;
    for (int state = 0; state < PROFILE_STATES; state++)
        to->states[state] += from->states[state];
    to->events = from->events < most_samples - to->events ? to->events + from->events : most_samples;
    to->stood_s += from->stood_s;
    to->asleep_doubt = from->asleep_doubt;
    to->asleep_anywhere |= from->asleep_anywhere;
    bool merged = call_stacks_merge(&to->stacks, &from->stacks);
    profile_interval_free(from);
    return merged;
}

/* Merges neighbours that together last no longer than the unit. Of two that stay neighbours each pair lasts
 * longer, so a unit of 1/N of the whole leaves at most 2 N + 1. */
static bool merge_track(struct track *track)
{
    size_t used = 0;
    for (size_t i = 0; i < track->n; i++) {
        struct profile_interval *before = used > 0 ? &track->intervals[used - 1] : NULL;
        if (before != NULL && track->intervals[i].to - before->from <= track->unit) {
            if (!merge_into(before, &track->intervals[i]))
                return false;
        } else if (used++ != i) {
            track->intervals[used - 1] = track->intervals[i];
            track->intervals[i] = (struct profile_interval){0};
        }
    }
    track->n = used;
    return true;
}

/* Takes over the interval's counts. */
static void profile_file_add_interval(struct profile_reading *reading, struct track *track,
                                      struct profile_interval *interval)
{
    if (track->intervals == NULL && !reading->failed)
        track->intervals = granted(reading, calloc(PROFILE_INTERVALS_MAX, sizeof *track->intervals));
    if (reading->failed)
        return;
    size_t n = track->n;
    bool ok = true;
    if (n > 0 && interval->to - track->intervals[n - 1].from <= track->unit) {
        ok = merge_into(&track->intervals[n - 1], interval);
    } else {
        if (n == PROFILE_INTERVALS_MAX) {
            track->unit = 4 * (track->intervals[n - 1].to - track->intervals[0].from) / PROFILE_INTERVALS_MAX;
            ok = merge_track(track);
        }
        if (ok) {
            track->intervals[track->n++] = *interval;
            *interval = (struct profile_interval){0};
        }
    }
    if (!ok)
        granted(reading, NULL);
}

/* Where and when it is. */
static struct track *profile_file_take_place(struct profile_reading *reading, size_t kind,
                                             const json_t *object, struct profile_interval *interval)
{
    size_t cores = reading->out->about.core_count;
    interval->core = (unsigned)take_count(reading, object, "core", cores - 1);
    interval->from = take_seconds(reading, object, "from", true);
    interval->to = take_seconds(reading, object, "to", true);
    struct track *track = &reading->tracks[cores * kind + interval->core];
    if (interval->to < interval->from || (track->n > 0 && interval->from < track->intervals[track->n - 1].to))
        fail(reading, "times that go backwards");
    return track;
}

/* Another task may have this value by now. */
static void tell_tasks(struct profile_reading *reading, struct profile_interval *interval)
{
    const struct profile *out = reading->out;
    for (size_t i = 0; i < interval->count_count && !reading->failed; i++) {
        uint64_t *value = &interval->counts[i].address, word = *value;
        unsigned since = 0;
        if (word > UINT32_MAX)
            fail(reading, "a task whose value has more than 32 bits");
        for (size_t k = 0; k < out->task_count; k++)
            if ((out->tasks[k].value & UINT32_MAX) == word && out->tasks[k].since > since) {
                *value = out->tasks[k].value;
                since = out->tasks[k].since;
            }
    }
    interval->count_count = profile_counts_join(interval->counts, interval->count_count);
}

static void take_contexts(struct profile_reading *reading, enum profile_context kind, json_t *object,
                          struct profile_interval *interval)
{
    struct track *track = profile_file_take_place(reading, 1 + (size_t)kind, object, interval);
    take_counts(reading, object, "value", interval);
    if (kind == PROFILE_TASKS)
        tell_tasks(reading, interval);
    profile_file_add_interval(reading, track, interval);
}

/* The task of this value and name. NULL: there is none so far, and *value becomes one that no other has.
 */
static struct profile_task *known_task(const struct profile *profile, uint64_t *value, const char *name)
{
    uint64_t word = *value;
    for (size_t i = 0; i < profile->task_count; i++) {
        if ((profile->tasks[i].value & UINT32_MAX) != word)
            continue;
        if (strcmp(profile->tasks[i].name, name) == 0)
            return &profile->tasks[i];
        *value += UINT64_C(1) << 32;
    }
    return NULL;
}

static void add_task(struct profile_reading *reading, uint64_t value, char *name)
{
    struct profile *out = reading->out;
    struct profile_task *known = known_task(out, &value, name), *more = NULL;
    if (known != NULL)
        known->since = reading->line;
    else if (out->task_count == PROFILE_TASKS_MAX)
        fail(reading, "more than %d names of tasks", PROFILE_TASKS_MAX);
    else
        more = granted(reading, realloc(out->tasks, (out->task_count + 1) * sizeof *more));
    if (more == NULL) {
        free(name);
        return;
    }
    out->tasks = more;
    out->tasks[out->task_count++] =
        (struct profile_task){.value = value, .name = name, .since = reading->line};
}

static void take_task(struct profile_reading *reading, const json_t *object)
{
    uint64_t value = 0;
    if (!read_address(field_text(object, "value"), &value) || value > UINT32_MAX)
        fail(reading, "a task whose value is not an address such as 0x20000124");
    if (!json_is_string(json_object_get(object, "name")))
        fail(reading, "a task without a name");
    char *name = reading->failed ? NULL : profile_file_copy_text(reading, json_object_get(object, "name"));
    if (name != NULL)
        add_task(reading, value, name);
}

static void take_note(struct profile_reading *reading, const json_t *object)
{
    struct profile *out = reading->out;
    if (out->note_count == PROFILE_NOTES_MAX || !json_is_string(json_object_get(object, "text"))) {
        fail(reading, "a note without a text, or more than %d", PROFILE_NOTES_MAX);
        return;
    }
    if (out->notes == NULL)
        out->notes = granted(reading, calloc(PROFILE_NOTES_MAX, sizeof *out->notes));
    char *text = reading->failed ? NULL : profile_file_copy_text(reading, json_object_get(object, "text"));
    if (text != NULL)
        out->notes[out->note_count++] = text;
}

static void take_interval(struct profile_reading *reading, json_t *object, struct profile_interval *interval)
{
    struct track *track = profile_file_take_place(reading, 0, object, interval);
    for (int state = 0; state < PROFILE_STATES; state++) {
        interval->states[state] = take_count(reading, object, profile_file_state((enum profile_state)state),
                                             most_samples - reading->samples);
        reading->samples += interval->states[state];
    }
    interval->resets = (unsigned)take_count(reading, object, "resets", most_resets);
    interval->events = take_count(reading, object, "events", most_samples);
    interval->stood_s = take_seconds(reading, object, "stood_s", false);
    interval->asleep_doubt = take_seconds(reading, object, "asleep_doubt", false);
    bool by_code = json_is_true(json_object_get(object, "asleep_by_code"));
    interval->asleep_anywhere = interval->asleep_doubt > 0 && !by_code;
    take_counts(reading, object, "pc", interval);
    take_stacks(reading, track, object, interval);
    profile_file_add_interval(reading, track, interval);
}

static void take_end(struct profile_reading *reading, const json_t *object)
{
    struct profile_end *end = &reading->out->end;
    end->elapsed_s = take_seconds(reading, object, "elapsed_s", true);
    end->samples = take_count(reading, object, "samples", most_samples);
    end->why = profile_file_copy_text(reading, json_object_get(object, "why"));
    end->error = profile_file_copy_text(reading, json_object_get(object, "error"));
    end->known = true;
}

/* False: it is not a line that can be here. */
static bool profile_file_check_line(struct profile_reading *reading, const json_t *object, const char *type)
{
    const json_t *schema = json_object_get(object, "schema");
    const char *named = json_string_value(schema);
    bool has_head = reading->out->about.core_count > 0;
    if (!has_head && named == NULL)
        fail(reading, "no head of schema " PROFILE_SCHEMA ": not a profile");
    if (schema != NULL && strcmp(or_empty(named), PROFILE_SCHEMA) != 0)
        fail(reading, "its schema is %.64s, and a profile's is " PROFILE_SCHEMA,
             named != NULL ? named : "no name");
    if (type == NULL || (!has_head && strcmp(type, "profile") != 0))
        fail(reading, DOCUMENT_NO_TYPE);
    if (reading->out->end.known)
        fail(reading, "a line after the end");
    return !reading->failed;
}

static void profile_file_take_line(struct profile_reading *reading, json_t *object)
{
    const char *type = json_string_value(json_object_get(object, "type"));
    struct profile_interval interval = {0};
    if (!profile_file_check_line(reading, object, type))
        return;
    if (strcmp(type, "profile") == 0)
        take_head(reading, object);
    else if (strcmp(type, "end") == 0)
        take_end(reading, object);
    else if (strcmp(type, "samples") == 0)
        take_interval(reading, object, &interval);
    else if (strcmp(type, "task") == 0)
        take_task(reading, object);
    else if (strcmp(type, "note") == 0)
        take_note(reading, object);
    for (int kind = 0; kind < PROFILE_CONTEXTS; kind++)
        if (strcmp(type, context_types[kind]) == 0)
            take_contexts(reading, (enum profile_context)kind, object, &interval);
    profile_interval_free(&interval);
}

static int profile_file_by_time(const void *a, const void *b)
{
    const struct profile_interval *one = a, *other = b;
    if (one->from != other->from)
        return one->from < other->from ? -1 : 1;
    if (one->core == other->core) /* the empty one is first */
        return (one->to > other->to) - (one->to < other->to);
    return (one->core > other->core) - (one->core < other->core);
}

/* Moves the intervals of all cores into one list. */
static void gather_tracks(struct profile_reading *reading, size_t kind, struct profile_interval **out,
                          size_t *count)
{
    size_t n = 0, cores = reading->out->about.core_count;
    struct track *tracks = reading->tracks + cores * kind;
    for (size_t i = 0; i < cores; i++)
        n += tracks[i].n;
    *out = granted(reading, calloc(n + 1, sizeof **out));
    if (*out == NULL)
        return;
    for (size_t i = 0; i < cores; i++) {
        for (size_t k = 0; k < tracks[i].n; k++)
            (*out)[(*count)++] = tracks[i].intervals[k];
        tracks[i].n = 0;
    }
    qsort(*out, n, sizeof **out, profile_file_by_time);
}

static void profile_file_gather(struct profile_reading *reading)
{
    struct profile *out = reading->out;
    reading->line = 0;
    if (reading->tracks == NULL)
        fail(reading, "empty");
    if (!reading->failed)
        gather_tracks(reading, 0, &out->intervals, &out->interval_count);
    for (size_t kind = 0; kind < PROFILE_CONTEXTS && !reading->failed; kind++)
        gather_tracks(reading, 1 + kind, &out->contexts[kind].intervals, &out->contexts[kind].interval_count);
}

/* A line that has no end after a head is of a run that was cut off. */
static void profile_file_read_lines(struct profile_reading *reading, struct json_lines *lines)
{
    json_t *object;
    while (!reading->failed && (object = json_lines_next(lines)) != NULL) {
        reading->line = lines->line;
        profile_file_take_line(reading, object);
        json_decref(object);
    }
    bool has_head = reading->out->about.core_count > 0;
    reading->line = lines->error == 0 ? lines->line : 0; /* the fault is not the line's */
    if (lines->error == EINTR)
        fail_as(reading, ERROR_CANCELLED, "cancelled");
    else if (lines->is_last && !has_head && lines->line == 1 && lines->begin[0] == '{')
        fail(reading, "cut off in its first line, or not a profile");
    else if (lines->why != NULL && (!lines->is_last || !has_head))
        fail(reading, "%s", lines->why);
}

static bool read_profile(struct json_lines *lines, const char *path, struct profile **out,
                         struct error *error)
{
    char name[UTF8_CLEAN_ROOM(128)];
    struct profile_reading reading = {.path = utf8_clean(name, sizeof name, path), .error = error};
    *out = NULL;
    lines->most = PROFILE_LINE_MAX;
    reading.out = granted(&reading, calloc(1, sizeof *reading.out));
    if (reading.failed)
        return false;
    profile_file_read_lines(&reading, lines);
    profile_file_gather(&reading);
    size_t n = reading.out->about.core_count * (1 + PROFILE_CONTEXTS);
    for (size_t i = 0; reading.tracks != NULL && i < n; i++) {
        for (size_t k = 0; k < reading.tracks[i].n; k++)
            profile_interval_free(&reading.tracks[i].intervals[k]);
        free(reading.tracks[i].intervals);
    }
    free(reading.tracks);
    if (reading.failed && error->kind == ERROR_USAGE)
        error->advice = "report reads what pmu-probe record writes.";
    if (reading.failed)
        profile_file_free(reading.out);
    else
        *out = reading.out;
    return !reading.failed;
}

bool profile_file_parse(const char *text, size_t size, const char *path, struct profile **out,
                        struct error *error)
{
    return read_profile(&(struct json_lines){.text = text, .size = size}, path, out, error);
}

bool profile_file_read(const char *path, const volatile sig_atomic_t *cancel, struct profile **out,
                       struct error *error)
{
    struct json_file file;
    *out = NULL;
    if (!json_file_open(&file, path, cancel, error)) {
        error->advice = errno == ENOENT ? "Record one first: pmu-probe record --for 10s" : error->advice;
        return false;
    }
    bool ok = read_profile(&file.lines, path, out, error);
    json_file_close(&file);
    return ok;
}

void profile_file_free(struct profile *profile)
{
    if (profile == NULL)
        return;
    profile_about_free(&profile->about);
    for (size_t i = 0; i < profile->interval_count; i++)
        profile_interval_free(&profile->intervals[i]);
    free(profile->intervals);
    for (size_t kind = 0; kind < PROFILE_CONTEXTS; kind++) {
        for (size_t i = 0; i < profile->contexts[kind].interval_count; i++)
            profile_interval_free(&profile->contexts[kind].intervals[i]);
        free(profile->contexts[kind].intervals);
    }
    for (size_t i = 0; i < profile->task_count; i++)
        free(profile->tasks[i].name);
    free(profile->tasks);
    for (size_t i = 0; i < profile->note_count; i++)
        free(profile->notes[i]);
    free(profile->notes);
    profile_end_free(&profile->end);
    free(profile);
}

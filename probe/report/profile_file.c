#include "report/profile_file.h"

#include "base/file.h"
#include "report/json.h"
#include "report/terminal.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
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

static void put_text(struct json_part *part, const char *key, const char *text)
{
    if (text != NULL)
        json_part_text(part, key, text);
}

/* Only if they are not those of the list. */
static void put_numbers(struct json_part *head, const struct profile_about *about)
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
    put_text(&head, "date", about->date);
    put_text(&head, "probe", about->probe);
    put_text(&head, "elf", about->elf);
    put_text(&head, "build_id", about->build_id);
    if (about->load_offset != 0)
        json_part_hex(&head, "load_offset", about->load_offset);
    json_t *cores = json_array();
    for (size_t i = 0; i < about->core_count; i++)
        json_part_append(&head, cores, json_part_string(about->cores[i] != NULL ? about->cores[i] : ""));
    json_part_array(&head, "cores", cores);
    put_numbers(&head, about);
    put_text(&head, "source", about->source);
    put_text(&head, "task", about->task);
    put_text(&head, "event", about->event);
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
        for (size_t k = 0; k < stack->depth; k++) {
            char address[32];
            snprintf(address, sizeof address, "0x%08" PRIx64, stack->at[k]);
            json_part_append(&row, at, json_part_string(address));
        }
        json_part_array(&row, "at", at);
        if (stack->sure < stack->depth)
            json_part_unsigned(&row, "sure", stack->sure);
        put_text(&row, "cut", call_stack_end_name(stack->end));
        line->ok = line->ok && row.ok;
        json_part_append(line, rows, row.json);
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
    char text[32];
    snprintf(text, sizeof text, "0x%08" PRIx64, value);
    json_part_text(&line, "value", text);
    json_part_text(&line, "name", name);
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
    if (interval->resets > 0)
        json_part_unsigned(&line, "resets", interval->resets);
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
    put_text(&line, "why", end->why);
    put_text(&line, "error", end->error);
    return write_part(out, line);
}

/* ---- reading */

/* What was read of one core. `unit`: seconds up to which neighbours are merged; below 0: not at all. */
struct track {
    struct profile_interval *intervals;
    size_t n;
    double unit;
    enum { STACKS_NOT_KNOWN, STACKS_NONE, STACKS_ALL } stacks; /* its samples have stacks, or none has */
};

struct reading {
    struct profile *out;
    struct track *tracks; /* one a core, then one a core for each kind of context */
    uint64_t samples;     /* so far, of all cores */
    const char *path;
    unsigned long line; /* from 1; 0: the whole file */
    struct error *error;
    bool no_memory; /* for a text of this line */
};

static const uint64_t most_samples = UINT64_C(1) << 53; /* exact as a real; years of the fastest probe */
static const unsigned most_resets = 1000000;            /* of an interval */
static const int most_number = 1000000;
static const double longest_s = 1e9;

__attribute__((format(printf, 2, 3))) static bool fails(const struct reading *reading, const char *format,
                                                        ...)
{
    char fact[256], clean[UTF8_CLEAN_ROOM(sizeof fact)], path[UTF8_CLEAN_ROOM(128)], line[32] = "";
    va_list list;
    va_start(list, format);
    vsnprintf(fact, sizeof fact, format, list);
    va_end(list);
    if (reading->line > 0)
        snprintf(line, sizeof line, ":%lu", reading->line);
    return error_advise(reading->error, ERROR_USAGE, "report reads the file that pmu-probe record writes.",
                        "%s%s: %s", utf8_clean(path, sizeof path, reading->path), line,
                        utf8_clean(clean, sizeof clean, fact));
}

static bool fails_for_memory(const struct reading *reading)
{
    return error_set(reading->error, ERROR_SYSTEM, "out of memory");
}

/* NULL: there is none, or no memory for it: then no_memory is set. */
static char *copy_text(struct reading *reading, const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    char clean[4096];
    char *copy = text != NULL ? strdup(utf8_clean(clean, sizeof clean, text)) : NULL;
    reading->no_memory = reading->no_memory || (text != NULL && copy == NULL);
    return copy;
}

/* An absent one is 0. */
static bool take_count(const struct reading *reading, const json_t *object, const char *key, uint64_t most,
                       uint64_t *out)
{
    const json_t *value = json_object_get(object, key);
    *out = 0;
    if (value == NULL)
        return true;
    if (!json_is_integer(value) || json_integer_value(value) < 0 ||
        (uint64_t)json_integer_value(value) > most)
        return fails(reading, "%s is no count from 0 to %" PRIu64, key, most);
    *out = (uint64_t)json_integer_value(value);
    return true;
}

static bool take_seconds(const struct reading *reading, const json_t *object, const char *key, double *out)
{
    const json_t *value = json_object_get(object, key);
    *out = json_number_value(value);
    return (json_is_number(value) && *out >= 0 && *out <= longest_s) ||
           fails(reading, "%s is no time in seconds", key);
}

static bool take_numbers(struct reading *reading, const json_t *object)
{
    struct profile_about *about = &reading->out->about;
    const json_t *numbers = json_object_get(object, "numbers");
    if (numbers == NULL)
        return true;
    about->numbers = calloc(about->core_count, sizeof *about->numbers);
    if (about->numbers == NULL)
        return fails_for_memory(reading);
    for (size_t i = 0; i < about->core_count; i++) {
        const json_t *number = json_array_get(numbers, i);
        if (!json_is_integer(number) || json_integer_value(number) < 0 ||
            json_integer_value(number) > most_number || json_array_size(numbers) != about->core_count)
            return fails(reading, "numbers is no list of a number for each core");
        about->numbers[i] = (unsigned)json_integer_value(number);
    }
    return true;
}

static bool take_cores(struct reading *reading, const json_t *object)
{
    struct profile_about *about = &reading->out->about;
    const json_t *cores = json_object_get(object, "cores");
    size_t n = json_array_size(cores);
    if (n == 0 || n > PROFILE_CORES_MAX)
        return fails(reading, "cores is no list of 1 to %d names", PROFILE_CORES_MAX);
    about->cores = calloc(n, sizeof *about->cores);
    reading->tracks = calloc(n * (1 + PROFILE_CONTEXTS), sizeof *reading->tracks);
    if (about->cores == NULL || reading->tracks == NULL)
        return fails_for_memory(reading);
    for (size_t i = 0; i < n * (1 + PROFILE_CONTEXTS); i++)
        reading->tracks[i].unit = -1;
    for (; about->core_count < n; about->core_count++) {
        char clean[256];
        const char *name = json_string_value(json_array_get(cores, about->core_count));
        if (name == NULL)
            return fails(reading, "cores is no list of names");
        about->cores[about->core_count] = strdup(utf8_clean(clean, sizeof clean, name));
        if (about->cores[about->core_count] == NULL)
            return fails_for_memory(reading);
    }
    return take_numbers(reading, object);
}

static bool read_address(const char *text, uint64_t *out)
{
    size_t digits = strncmp(text, "0x", 2) == 0 ? strspn(text + 2, "0123456789abcdefABCDEF") : 0;
    if (digits == 0 || digits > 16 || text[2 + digits] != '\0')
        return false;
    *out = strtoull(text + 2, NULL, 16);
    return true;
}

static bool take_head(struct reading *reading, const json_t *object)
{
    struct profile_about *about = &reading->out->about;
    if (about->core_count > 0)
        return fails(reading, "a second head: a profile is one run");
    about->date = copy_text(reading, object, "date");
    about->probe = copy_text(reading, object, "probe");
    about->elf = copy_text(reading, object, "elf");
    about->build_id = copy_text(reading, object, "build_id");
    about->source = copy_text(reading, object, "source");
    about->task = copy_text(reading, object, "task");
    about->event = copy_text(reading, object, "event");
    const char *offset = json_string_value(json_object_get(object, "load_offset"));
    if (reading->no_memory)
        return fails_for_memory(reading);
    if (offset != NULL && !read_address(offset, &about->load_offset))
        return fails(reading, "load_offset is not a distance such as 0x130000: \"%.40s\"", offset);
    if (!take_count(reading, object, "every", most_samples, &about->every))
        return false;
    if (json_object_get(object, "asked_s") != NULL &&
        !take_seconds(reading, object, "asked_s", &about->asked_s))
        return false;
    return take_cores(reading, object);
}

static int by_address(const void *a, const void *b)
{
    const struct profile_count *one = a, *other = b;
    return (one->address > other->address) - (one->address < other->address);
}

/* An address may be written in more ways than one. */
static void join_equal(struct profile_interval *interval)
{
    struct profile_count *counts = interval->counts;
    size_t used = 0;
    for (size_t i = 0; i < interval->count_count; i++)
        if (used > 0 && counts[used - 1].address == counts[i].address)
            counts[used - 1].samples += counts[i].samples;
        else
            counts[used++] = counts[i];
    interval->count_count = used;
}

static bool take_counts(struct reading *reading, json_t *object, const char *name,
                        struct profile_interval *interval)
{
    json_t *addresses = json_object_get(object, name), *value;
    const char *key;
    if (addresses == NULL)
        return true;
    if (!json_is_object(addresses))
        return fails(reading, "%s is no object of addresses", name);
    interval->counts = calloc(json_object_size(addresses) + 1, sizeof *interval->counts);
    if (interval->counts == NULL)
        return fails_for_memory(reading);
    json_object_foreach(addresses, key, value) {
        struct profile_count *count = &interval->counts[interval->count_count];
        if (!read_address(key, &count->address))
            return fails(reading, "%s has \"%.40s\", which is no address such as 0x10000124", name, key);
        if (!json_is_integer(value) || json_integer_value(value) < 1 ||
            (uint64_t)json_integer_value(value) > most_samples - reading->samples)
            return fails(reading, "the samples of %.40s are no count from 1 to %" PRIu64, key,
                         most_samples - reading->samples);
        count->samples = (uint64_t)json_integer_value(value);
        reading->samples += count->samples;
        interval->count_count++;
    }
    qsort(interval->counts, interval->count_count, sizeof *interval->counts, by_address);
    join_equal(interval);
    return true;
}

/* `left`: so many samples may be the stack's. */
static bool take_stack(struct reading *reading, const json_t *object, uint64_t left, struct call_stack *out)
{
    const json_t *addresses = json_object_get(object, "at"), *cut = json_object_get(object, "cut");
    uint64_t sure = out->depth = json_array_size(addresses);
    if (out->depth == 0 || out->depth > UNWIND_FRAMES)
        return fails(reading, "a stack is no list of 1 to %d addresses", UNWIND_FRAMES);
    for (size_t i = 0; i < out->depth; i++) {
        const char *text = json_string_value(json_array_get(addresses, i));
        if (text == NULL || !read_address(text, &out->at[i]))
            return fails(reading, "a stack has \"%.40s\", which is no address", text != NULL ? text : "");
    }
    if (!take_count(reading, object, "samples", left, &out->samples) ||
        (json_object_get(object, "sure") != NULL && !take_count(reading, object, "sure", out->depth, &sure)))
        return false;
    if (out->samples == 0 || sure == 0)
        return fails(reading, "a stack without samples, or whose leaf is guessed");
    out->sure = (size_t)sure;
    return cut == NULL || (json_is_string(cut) && call_stack_end_find(json_string_value(cut), &out->end)) ||
           fails(reading, "a stack is cut for no known reason");
}

/* They are of the samples that `pc` has, in each line of a core or in none. */
static bool take_stacks(struct reading *reading, struct track *track, const json_t *object,
                        struct profile_interval *interval)
{
    const json_t *rows = json_object_get(object, "stacks");
    uint64_t left = 0;
    for (size_t i = 0; i < interval->count_count; i++)
        left += interval->counts[i].samples;
    if (interval->count_count > 0 && track->stacks == STACKS_NOT_KNOWN)
        track->stacks = rows != NULL ? STACKS_ALL : STACKS_NONE;
    bool wanted = interval->count_count > 0 && track->stacks == STACKS_ALL;
    for (size_t i = 0; i < json_array_size(rows); i++) {
        uint64_t at[UNWIND_FRAMES];
        struct call_stack stack = {.at = at};
        if (!take_stack(reading, json_array_get(rows, i), left, &stack))
            return false;
        left -= stack.samples;
        if (!call_stacks_add(&interval->stacks, &stack))
            return fails_for_memory(reading);
    }
    return (rows != NULL) == wanted && (!wanted || left == 0)
               ? true
               : fails(reading, "stacks that are not those of the samples in pc");
}

/* Adds `from`, which is later, to `to`, and frees it. */
static bool merge_into(struct profile_interval *to, struct profile_interval *from)
{
    size_t i = 0, k = 0, n = 0;
    struct profile_count *counts = calloc(to->count_count + from->count_count + 1, sizeof *counts);
    if (counts == NULL)
        return false;
    while (i < to->count_count || k < from->count_count) {
        bool first = k == from->count_count ||
                     (i < to->count_count && to->counts[i].address <= from->counts[k].address);
        struct profile_count next = first ? to->counts[i++] : from->counts[k++];
        if (n > 0 && counts[n - 1].address == next.address)
            counts[n - 1].samples += next.samples;
        else
            counts[n++] = next;
    }
    struct profile_count *fitting = realloc(counts, (n + 1) * sizeof *counts);
    free(to->counts);
    to->counts = fitting != NULL ? fitting : counts;
    to->count_count = n;
    to->to = from->to;
    to->resets = from->resets < most_resets - to->resets ? to->resets + from->resets : most_resets;
    for (int state = 0; state < PROFILE_STATES; state++)
        to->states[state] += from->states[state];
    to->events = from->events < most_samples - to->events ? to->events + from->events : most_samples;
    to->stood_s += from->stood_s;
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
static bool add_interval(struct reading *reading, struct track *track, struct profile_interval *interval)
{
    if (track->intervals == NULL)
        track->intervals = calloc(PROFILE_INTERVALS_MAX, sizeof *track->intervals);
    if (track->intervals == NULL)
        return fails_for_memory(reading);
    size_t n = track->n;
    if (n > 0 && interval->to - track->intervals[n - 1].from <= track->unit)
        return merge_into(&track->intervals[n - 1], interval) || fails_for_memory(reading);
    if (n == PROFILE_INTERVALS_MAX) {
        track->unit = 4 * (track->intervals[n - 1].to - track->intervals[0].from) / PROFILE_INTERVALS_MAX;
        if (!merge_track(track))
            return fails_for_memory(reading);
    }
    track->intervals[track->n++] = *interval;
    *interval = (struct profile_interval){0};
    return true;
}

/* Where and when it is. */
static bool take_place(struct reading *reading, size_t kind, const json_t *object,
                       struct profile_interval *interval, struct track **track)
{
    uint64_t core = 0;
    size_t cores = reading->out->about.core_count;
    if (!take_count(reading, object, "core", cores - 1, &core) ||
        !take_seconds(reading, object, "from", &interval->from) ||
        !take_seconds(reading, object, "to", &interval->to))
        return false;
    interval->core = (unsigned)core;
    *track = &reading->tracks[cores * kind + core];
    size_t n = (*track)->n;
    return (interval->to >= interval->from && (n == 0 || interval->from >= (*track)->intervals[n - 1].to)) ||
           fails(reading, "times that go backwards");
}

static bool take_contexts(struct reading *reading, enum profile_context kind, json_t *object,
                          struct profile_interval *interval)
{
    struct track *track;
    return take_place(reading, 1 + (size_t)kind, object, interval, &track) &&
           take_counts(reading, object, "value", interval) && add_interval(reading, track, interval);
}

static bool take_task(struct reading *reading, const json_t *object)
{
    struct profile *out = reading->out;
    const char *value = json_string_value(json_object_get(object, "value"));
    struct profile_task task = {0};
    if (value == NULL || !read_address(value, &task.value))
        return fails(reading, "a task whose value is no address such as 0x20000124");
    if (out->task_count == PROFILE_TASKS_MAX)
        return fails(reading, "more than %d names of tasks", PROFILE_TASKS_MAX);
    struct profile_task *more = realloc(out->tasks, (out->task_count + 1) * sizeof *more);
    if (more == NULL)
        return fails_for_memory(reading);
    out->tasks = more;
    task.name = copy_text(reading, object, "name");
    if (task.name == NULL)
        return reading->no_memory ? fails_for_memory(reading) : fails(reading, "a task without a name");
    out->tasks[out->task_count++] = task;
    return true;
}

static bool take_interval(struct reading *reading, json_t *object, struct profile_interval *interval)
{
    struct track *track;
    uint64_t resets = 0;
    if (!take_place(reading, 0, object, interval, &track))
        return false;
    for (int state = 0; state < PROFILE_STATES; state++) {
        if (!take_count(reading, object, profile_file_state((enum profile_state)state),
                        most_samples - reading->samples, &interval->states[state]))
            return false;
        reading->samples += interval->states[state];
    }
    if (!take_count(reading, object, "resets", most_resets, &resets) ||
        !take_count(reading, object, "events", most_samples, &interval->events) ||
        (json_object_get(object, "stood_s") != NULL &&
         !take_seconds(reading, object, "stood_s", &interval->stood_s)) ||
        !take_counts(reading, object, "pc", interval) || !take_stacks(reading, track, object, interval))
        return false;
    interval->resets = (unsigned)resets;
    return add_interval(reading, track, interval);
}

static bool take_end(struct reading *reading, const json_t *object)
{
    struct profile_end *end = &reading->out->end;
    if (!take_seconds(reading, object, "elapsed_s", &end->elapsed_s) ||
        !take_count(reading, object, "samples", most_samples, &end->samples))
        return false;
    end->why = copy_text(reading, object, "why");
    end->error = copy_text(reading, object, "error");
    end->known = true;
    return !reading->no_memory || fails_for_memory(reading);
}

static bool take_line(struct reading *reading, json_t *object)
{
    const char *type = json_string_value(json_object_get(object, "type"));
    const json_t *schema = json_object_get(object, "schema");
    const char *named = json_string_value(schema);
    bool has_head = reading->out->about.core_count > 0;
    if (!has_head && named == NULL)
        return fails(reading, "no head of schema " PROFILE_SCHEMA ": not a profile");
    if (schema != NULL && (named == NULL || strcmp(named, PROFILE_SCHEMA) != 0))
        return fails(reading, "its schema is %.64s, and a profile's is " PROFILE_SCHEMA,
                     named != NULL ? named : "no name");
    if (type == NULL || (!has_head && strcmp(type, "profile") != 0))
        return fails(reading, "a line of no known type");
    if (reading->out->end.known)
        return fails(reading, "a line after the end");
    if (strcmp(type, "profile") == 0)
        return take_head(reading, object);
    if (strcmp(type, "end") == 0)
        return take_end(reading, object);
    struct profile_interval interval = {0};
    bool ok = true;
    if (strcmp(type, "samples") == 0)
        ok = take_interval(reading, object, &interval);
    if (strcmp(type, "task") == 0)
        ok = take_task(reading, object);
    for (int kind = 0; kind < PROFILE_CONTEXTS; kind++)
        if (strcmp(type, context_types[kind]) == 0)
            ok = take_contexts(reading, (enum profile_context)kind, object, &interval);
    profile_interval_free(&interval);
    return ok;
}

static bool is_blank(const char *line, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (line[i] == '\0' || strchr(" \t\r", line[i]) == NULL)
            return false;
    return true;
}

/* `last`: the file ends in this line, without a newline. Behind a head that is a run that was cut off. */
static bool read_line(struct reading *reading, const char *line, size_t length, bool last)
{
    json_error_t problem;
    reading->line++;
    if (is_blank(line, length))
        return true;
    if (length > PROFILE_LINE_MAX)
        return fails(reading, "a line longer than %d MiB", PROFILE_LINE_MAX >> 20);
    json_t *object = json_loadb(line, length, JSON_REJECT_DUPLICATES, &problem);
    bool ok = false;
    if (object == NULL && last && reading->out->about.core_count > 0)
        ok = true;
    else if (object == NULL && last && line[0] == '{' && reading->line == 1)
        fails(reading, "cut off in its first line, or not a profile");
    else if (object == NULL)
        fails(reading, "not JSON: %.160s", problem.text);
    else if (!json_is_object(object))
        fails(reading, "not a JSON object");
    else
        ok = take_line(reading, object);
    json_decref(object);
    return ok;
}

static int by_time(const void *a, const void *b)
{
    const struct profile_interval *one = a, *other = b;
    if (one->from != other->from)
        return one->from < other->from ? -1 : 1;
    if (one->core == other->core) /* the empty one is first */
        return (one->to > other->to) - (one->to < other->to);
    return (one->core > other->core) - (one->core < other->core);
}

/* Moves the intervals of all cores into one list. */
static bool gather_tracks(struct track *tracks, size_t cores, struct profile_interval **out, size_t *count)
{
    size_t n = 0;
    for (size_t i = 0; i < cores; i++)
        n += tracks[i].n;
    *out = calloc(n + 1, sizeof **out);
    if (*out == NULL)
        return false;
    for (size_t i = 0; i < cores; i++) {
        for (size_t k = 0; k < tracks[i].n; k++)
            (*out)[(*count)++] = tracks[i].intervals[k];
        tracks[i].n = 0;
    }
    qsort(*out, n, sizeof **out, by_time);
    return true;
}

static bool gather(struct reading *reading)
{
    struct profile *out = reading->out;
    size_t cores = out->about.core_count;
    reading->line = 0;
    if (reading->tracks == NULL)
        return fails(reading, "empty");
    bool ok = gather_tracks(reading->tracks, cores, &out->intervals, &out->interval_count);
    for (size_t kind = 0; ok && kind < PROFILE_CONTEXTS; kind++)
        ok = gather_tracks(reading->tracks + cores * (1 + kind), cores, &out->contexts[kind].intervals,
                           &out->contexts[kind].interval_count);
    return ok || fails_for_memory(reading);
}

static bool reading_begin(struct reading *reading, const char *path, struct error *error)
{
    *reading = (struct reading){.path = path, .error = error, .out = calloc(1, sizeof *reading->out)};
    return reading->out != NULL || fails_for_memory(reading);
}

static bool reading_end(struct reading *reading, bool ok, struct profile **out)
{
    ok = ok && gather(reading);
    size_t n = reading->out->about.core_count * (1 + PROFILE_CONTEXTS);
    for (size_t i = 0; reading->tracks != NULL && i < n; i++) {
        for (size_t k = 0; k < reading->tracks[i].n; k++)
            profile_interval_free(&reading->tracks[i].intervals[k]);
        free(reading->tracks[i].intervals);
    }
    free(reading->tracks);
    if (!ok)
        profile_file_free(reading->out);
    *out = ok ? reading->out : NULL;
    return ok;
}

/* Reads the lines that end within the text; `last`: no text follows. Returns how much of it was used. */
static bool read_lines(struct reading *reading, const char *text, size_t size, bool last, size_t *used)
{
    *used = 0;
    while (*used < size) {
        const char *line = text + *used, *end = memchr(line, '\n', size - *used);
        if (end == NULL && !last)
            break;
        size_t length = end != NULL ? (size_t)(end - line) : size - *used;
        if (!read_line(reading, line, length, end == NULL))
            return false;
        *used += length + (end != NULL);
    }
    return true;
}

bool profile_file_parse(const char *text, size_t size, const char *path, struct profile **out,
                        struct error *error)
{
    struct reading reading;
    size_t used;
    *out = NULL;
    return reading_begin(&reading, path, error) &&
           reading_end(&reading, read_lines(&reading, text, size, true, &used), out);
}

/* Holds one line, or as much as one read gives. */
static bool read_file(struct reading *reading, int fd, const volatile sig_atomic_t *cancel)
{
    enum { CHUNK = 1 << 16 };
    size_t room = 0, held = 0, used = 0;
    char *text = NULL;
    bool ok = true, last = false;
    while (ok && !last) {
        if (held == room) {
            char *more = realloc(text, room == 0 ? CHUNK : room * 2);
            if (more == NULL) {
                ok = fails_for_memory(reading);
                break;
            }
            text = more;
            room = room == 0 ? CHUNK : room * 2;
        }
        ssize_t got = file_read(fd, text + held, room - held, cancel);
        if (got < 0)
            reading->line = 0; /* the fault is not the line's */
        if (got < 0 || (cancel != NULL && *cancel != 0)) {
            ok = got >= 0 || errno == EINTR ? error_set(reading->error, ERROR_CANCELLED, "cancelled")
                                            : fails(reading, "%s", strerror(errno));
            break;
        }
        held += (size_t)got;
        last = held < room;
        ok = read_lines(reading, text, held, last, &used);
        held -= used;
        memmove(text, text + used, held);
        reading->line += held > PROFILE_LINE_MAX;
        if (ok && held > PROFILE_LINE_MAX)
            ok = fails(reading, "a line longer than %d MiB", PROFILE_LINE_MAX >> 20);
    }
    free(text);
    return ok;
}

bool profile_file_read(const char *path, const volatile sig_atomic_t *cancel, struct profile **out,
                       struct error *error)
{
    struct reading reading;
    char name[UTF8_CLEAN_ROOM(256)];
    *out = NULL;
    int fd = file_open_to_read(path, cancel);
    if (fd < 0 && errno == EINTR)
        return error_set(error, ERROR_CANCELLED, "cancelled");
    if (fd < 0)
        return error_advise(error, ERROR_USAGE,
                            errno == ENOENT ? "Record one first: pmu-probe record --for 10s" : "", "%s: %s",
                            utf8_clean(name, sizeof name, path), strerror(errno));
    bool ok =
        reading_begin(&reading, path, error) && reading_end(&reading, read_file(&reading, fd, cancel), out);
    close(fd);
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
    profile_end_free(&profile->end);
    free(profile);
}

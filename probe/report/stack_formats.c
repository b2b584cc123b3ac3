/* SPDX-License-Identifier: MIT */
#include "report/stack_formats.h"

#include "base/values.h"
#include "report/terminal.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { NAME = 512 };

static int stack_folded_by_text(const struct stacks *stacks, const struct stack *one,
                                const struct stack *other)
{
    for (size_t i = 0; i < one->depth && i < other->depth; i++) {
        size_t left = stacks->places[stacks->frames[one->first + one->depth - 1 - i]].function;
        size_t right = stacks->places[stacks->frames[other->first + other->depth - 1 - i]].function;
        if (left != right)
            return left < right ? -1 : 1;
    }
    return (one->depth > other->depth) - (one->depth < other->depth);
}

static int stack_folded_compare(const void *a, const void *b, void *stacks)
{
    const struct stack *one = a, *other = b;
    if (one->core != other->core)
        return one->core < other->core ? -1 : 1;
    return stack_folded_by_text(stacks, one, other);
}

static void print_frames(FILE *out, const struct stack_report *report, const struct stack *row)
{
    const struct stacks *stacks = report->stacks;
    fprintf(out, "core %u", profile_core_number(&report->profile->about, row->core));
    for (size_t i = row->depth; i-- > 0;) {
        char name[UTF8_CLEAN_ROOM(NAME)];
        utf8_clean(name, sizeof name,
                   stacks->functions[stacks->places[stacks->frames[row->first + i]].function].name);
        for (char *at = strchr(name, ';'); at != NULL; at = strchr(at, ';'))
            *at = ':';
        fprintf(out, ";%s", name);
    }
}

/* Stacks of the same functions are one line, whatever instructions they were at. */
bool stacks_folded(FILE *out, const struct stack_report *report)
{
    const struct stacks *stacks = report->stacks;
    struct stack *rows = calloc(stacks->n + 1, sizeof *rows);
    if (rows == NULL)
        return false;
    memcpy(rows, stacks->rows, stacks->n * sizeof *rows);
    qsort_r(rows, stacks->n, sizeof *rows, stack_folded_compare, (void *)stacks);
    for (size_t i = 0; i < stacks->n;) {
        uint64_t samples = 0;
        size_t first = i;
        for (; i < stacks->n && stack_folded_compare(&rows[first], &rows[i], (void *)stacks) == 0; i++)
            samples += rows[i].samples;
        print_frames(out, report, &rows[first]);
        fprintf(out, " %" PRIu64 "\n", samples);
    }
    free(rows);
    return output_flush(out);
}

/* ---- stack perf */

enum { EVENTS_MOST = 1000000, STACK_PERF_NAME = UTF8_CLEAN_ROOM(512) };
/* As perf has it. Readers show a frame "[unknown]" under the name of its module. */
static const char module_unknown[] = "[unknown]";

/* Rows of one core that share an interval, one after the other. */
struct span {
    const struct stack *rows;
    size_t n;
    uint64_t samples;
};

static bool stack_perf_is_of(const struct span *span, const struct stack *row)
{
    return row->core == span->rows->core && row->from <= span->rows->from;
}

/* Rows are in time, so a later one is never earlier. */
static struct span stack_perf_span_from(const struct stacks *stacks, size_t at)
{
    struct span span = {.rows = &stacks->rows[at]};
    for (; at + span.n < stacks->n && stack_perf_is_of(&span, &span.rows[span.n]); span.n++)
        span.samples += span.rows[span.n].samples;
    return span;
}

/* Readers take a blank for the end of the name. */
static void join_words(char *text)
{
    while ((text = strpbrk(text, " ()")) != NULL)
        *text = '_';
}

static void module_of(const char *elf, char *out, size_t size)
{
    utf8_clean(out, size, elf != NULL ? name_of_file(elf) : module_unknown);
    join_words(out);
}

static void stack_perf_put_frame(FILE *out, const struct stacks *stacks, const struct stack_place *place,
                                 const char *module)
{
    char name[STACK_PERF_NAME], offset[32] = "";
    const struct stack_function *function = &stacks->functions[place->function];
    bool has_offset = !function->is_outside && place->address > function->entry;
    utf8_clean(name, sizeof name, function->name);
    if (has_offset)
        snprintf(offset, sizeof offset, "+0x%" PRIx64, place->address - function->entry);
    fprintf(out, "\t%16" PRIx64 " %s%s (%s)\n", place->address, name, offset,
            place->state != PROFILE_STATES ? "[core]"
            : function->is_outside         ? module_unknown
                                           : module);
}

static void put_event(FILE *out, const struct stack_report *report, const struct stack *row, double at,
                      uint64_t period, const char *module)
{
    const struct stacks *stacks = report->stacks;
    unsigned core = profile_core_number(&report->profile->about, row->core);
    fprintf(out, "core%u %u %.9f: %" PRIu64 " samples: \n", core, core + 1, at, period);
    for (size_t i = 0; i < row->depth; i++)
        stack_perf_put_frame(out, stacks, &stacks->places[stacks->frames[row->first + i]], module);
    fputc('\n', out);
}

static void put_span(FILE *out, const struct stack_report *report, const struct span *span, uint64_t most,
                     const char *module)
{
    uint64_t before = 0;
    for (size_t i = 0; i < span->n; i++) {
        const struct stack *row = &span->rows[i];
        for (uint64_t left = row->samples; left > 0 && !ferror(out);) {
            uint64_t period = left < most ? left : most;
            double part = (double)before / (double)span->samples;
            put_event(out, report, row, row->from + part * (row->to - row->from), period, module);
            before += period;
            left -= period;
        }
    }
}

bool stacks_perf_within(FILE *out, const struct stack_report *report, uint64_t events)
{
    char module[STACK_PERF_NAME];
    uint64_t samples = 0;
    for (size_t i = 0; i < report->stacks->n; i++)
        samples += report->stacks->rows[i].samples;
    module_of(report->elf, module, sizeof module);
    for (size_t at = 0; at < report->stacks->n && !ferror(out);) {
        struct span span = stack_perf_span_from(report->stacks, at);
        put_span(out, report, &span, samples / events + 1, module);
        at += span.n;
    }
    return output_flush(out);
}

bool stacks_perf(FILE *out, const struct stack_report *report)
{
    return stacks_perf_within(out, report, EVENTS_MOST);
}

/* ---- stack callgrind */

/* Samples in a call from a place to a function, with all that it calls. */
struct call {
    size_t place, function;
    uint64_t samples;
};

struct writer {
    FILE *out;
    const struct stack_report *report;
    uint64_t *own; /* samples of each place */
    struct call *calls;
    size_t n_calls;
    uint64_t samples;
    size_t function; /* whose places are being written; SIZE_MAX: none yet */
    const char *file;
    bool is_outside; /* the object that was named last is none */
};

/* Unknown: "???", as callgrind has it. */
static void stack_callgrind_put_name(FILE *out, const char *key, const char *text)
{
    char name[UTF8_CLEAN_ROOM(512)];
    fprintf(out, "%s=%s\n", key, text != NULL ? utf8_clean(name, sizeof name, text) : "???");
}

static void put_object(const struct writer *writer, const char *key, bool is_outside)
{
    stack_callgrind_put_name(writer->out, key, is_outside ? NULL : writer->report->elf);
}

static int by_ends(const void *a, const void *b)
{
    const struct call *one = a, *other = b;
    if (one->place != other->place)
        return one->place < other->place ? -1 : 1;
    return (one->function > other->function) - (one->function < other->function);
}

/* A call that a recursion has several times on the stack holds a sample once. */
static void stack_callgrind_add_calls(struct writer *writer, const struct stack *row)
{
    const struct stacks *stacks = writer->report->stacks;
    const size_t *frames = stacks->frames + row->first;
    size_t first = writer->n_calls;
    for (size_t i = 1; i < row->depth; i++) {
        struct call call = {frames[i], stacks->places[frames[i - 1]].function, row->samples};
        size_t k = first;
        while (k < writer->n_calls && by_ends(&writer->calls[k], &call) != 0)
            k++;
        if (k == writer->n_calls)
            writer->calls[writer->n_calls++] = call;
    }
}

static void merge_call(void *first, const void *row)
{
    ((struct call *)first)->samples += ((const struct call *)row)->samples;
}

static bool stack_callgrind_gather(struct writer *writer)
{
    const struct stacks *stacks = writer->report->stacks;
    size_t room = 1;
    for (size_t i = 0; i < stacks->n; i++)
        room += stacks->rows[i].depth;
    writer->own = calloc(stacks->place_count + 1, sizeof *writer->own);
    writer->calls = calloc(room, sizeof *writer->calls);
    if (writer->own == NULL || writer->calls == NULL)
        return false;
    for (size_t i = 0; i < stacks->n; i++) {
        const struct stack *row = &stacks->rows[i];
        writer->own[stacks->frames[row->first]] += row->samples;
        writer->samples += row->samples;
        stack_callgrind_add_calls(writer, row);
    }
    writer->n_calls = sorted_join(writer->calls, writer->n_calls, sizeof *writer->calls, by_ends, merge_call);
    return true;
}

static void put_position(const struct writer *writer, const struct stack_place *place, uint64_t samples)
{
    fprintf(writer->out, "0x%" PRIx64 " %u %" PRIu64 "\n", place->address, place->line, samples);
}

static void put_call(const struct writer *writer, const struct call *call)
{
    const struct stacks *stacks = writer->report->stacks;
    const struct stack_function *function = &stacks->functions[call->function];
    if (function->is_outside != writer->is_outside)
        put_object(writer, "cob", function->is_outside);
    stack_callgrind_put_name(writer->out, "cfi", function->file);
    stack_callgrind_put_name(writer->out, "cfn", function->name);
    /* How often it was called is not known */
    fprintf(writer->out, "calls=1 0x%" PRIx64 " %u\n", function->entry, function->line);
    put_position(writer, &stacks->places[call->place], call->samples);
}

/* Its names, where they are not those of the place before. */
static void put_names(struct writer *writer, const struct stack_place *place)
{
    const struct stack_function *function = &writer->report->stacks->functions[place->function];
    if (place->function != writer->function) {
        fputc('\n', writer->out);
        if (function->is_outside != writer->is_outside)
            put_object(writer, "ob", function->is_outside);
        writer->is_outside = function->is_outside;
        stack_callgrind_put_name(writer->out, "fl", function->file);
        stack_callgrind_put_name(writer->out, "fn", function->name);
        writer->file = function->file;
    }
    writer->function = place->function;
    if (place->file == NULL || (writer->file != NULL && strcmp(place->file, writer->file) == 0))
        return;
    stack_callgrind_put_name(writer->out, "fi", place->file);
    writer->file = place->file;
}

static void stack_callgrind_put_places(struct writer *writer)
{
    const struct stacks *stacks = writer->report->stacks;
    size_t call = 0;
    for (size_t i = 0; i < stacks->place_count; i++) {
        bool calls = call < writer->n_calls && writer->calls[call].place == i;
        if (writer->own[i] == 0 && !calls)
            continue;
        put_names(writer, &stacks->places[i]);
        if (writer->own[i] > 0)
            put_position(writer, &stacks->places[i], writer->own[i]);
        for (; call < writer->n_calls && writer->calls[call].place == i; call++)
            put_call(writer, &writer->calls[call]);
    }
}

bool stacks_callgrind(FILE *out, const struct stack_report *report)
{
    struct writer writer = {.out = out, .report = report, .function = SIZE_MAX};
    bool ok = stack_callgrind_gather(&writer);
    if (ok) {
        fprintf(out,
                "# callgrind format\nversion: 1\ncreator: pmu-probe\npositions: instr line\n"
                "events: Samples\nsummary: %" PRIu64 "\n\n",
                writer.samples);
        stack_callgrind_put_name(out, "ob", report->elf);
        stack_callgrind_put_places(&writer);
        fprintf(out, "\ntotals: %" PRIu64 "\n", writer.samples);
    }
    free(writer.own);
    free(writer.calls);
    return output_flush(out) && ok;
}

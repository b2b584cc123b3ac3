#include "base/values.h"
#include "report/stack_formats.h"
#include "report/terminal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

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
};

/* Unknown: "???", as callgrind has it. */
static void stack_callgrind_put_name(FILE *out, const char *key, const char *text)
{
    char name[UTF8_CLEAN_ROOM(512)];
    fprintf(out, "%s=%s\n", key, text != NULL ? utf8_clean(name, sizeof name, text) : "???");
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
    return fflush(out) == 0 && !ferror(out) && ok;
}

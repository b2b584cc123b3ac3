#include "report/stack_formats.h"
#include "report/terminal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

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

static void print_frames(FILE *out, const struct stacks *stacks, const struct stack *row)
{
    fprintf(out, "core %u", row->core);
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
        print_frames(out, stacks, &rows[first]);
        fprintf(out, " %" PRIu64 "\n", samples);
    }
    free(rows);
    return fflush(out) == 0 && !ferror(out);
}

/* Stacks as text: folded for flame graphs, and as a tree for people. */
#include "profile/call_tree.h"
#include "report/stack_formats.h"
#include "report/terminal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { NAME = 512, INDENT = 2, DEEPEST = 60 };

static const char *name_of(const struct stacks *stacks, size_t function, char *out, size_t size)
{
    return utf8_clean(out, size, stacks->functions[function].name);
}

static bool is_written(FILE *out)
{
    return fflush(out) == 0 && !ferror(out);
}

/* ---- folded */

static int by_text(const struct stacks *stacks, const struct stack *one, const struct stack *other)
{
    for (size_t i = 0; i < one->depth && i < other->depth; i++) {
        size_t left = stacks->places[stacks->frames[one->first + one->depth - 1 - i]].function;
        size_t right = stacks->places[stacks->frames[other->first + other->depth - 1 - i]].function;
        if (left != right)
            return left < right ? -1 : 1;
    }
    return (one->depth > other->depth) - (one->depth < other->depth);
}

static int compare(const void *a, const void *b, void *stacks)
{
    const struct stack *one = a, *other = b;
    if (one->core != other->core)
        return one->core < other->core ? -1 : 1;
    return by_text(stacks, one, other);
}

static void print_frames(FILE *out, const struct stacks *stacks, const struct stack *row)
{
    fprintf(out, "core %u", row->core);
    for (size_t i = row->depth; i-- > 0;) {
        char name[UTF8_CLEAN_ROOM(NAME)];
        name_of(stacks, stacks->places[stacks->frames[row->first + i]].function, name, sizeof name);
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
    qsort_r(rows, stacks->n, sizeof *rows, compare, (void *)stacks);
    for (size_t i = 0; i < stacks->n;) {
        uint64_t samples = 0;
        size_t first = i;
        for (; i < stacks->n && compare(&rows[first], &rows[i], (void *)stacks) == 0; i++)
            samples += rows[i].samples;
        print_frames(out, stacks, &rows[first]);
        fprintf(out, " %" PRIu64 "\n", samples);
    }
    free(rows);
    return is_written(out);
}

/* ---- the tree */

struct printing {
    FILE *out;
    const struct stacks *stacks;
    const struct call_tree *tree;
};

static void print_below(const struct printing *printing, size_t parent, unsigned depth)
{
    static const double least = 0.005;
    const struct call_node *nodes = printing->tree->nodes;
    for (size_t i = nodes[parent].child; i != 0; i = nodes[i].next) {
        char name[UTF8_CLEAN_ROOM(NAME)], clean[UTF8_CLEAN_ROOM(sizeof name)];
        double part = (double)nodes[i].samples / (double)nodes[0].samples;
        if (part < least)
            continue;
        name_of(printing->stacks, nodes[i].function, name, sizeof name);
        fprintf(printing->out, "%6.2f %%  %*s%s\n", 100 * part, (int)(depth * INDENT), "",
                terminal_text(clean, sizeof clean, name));
        if (depth < DEEPEST)
            print_below(printing, i, depth + 1);
    }
}

bool stacks_tree(FILE *out, const struct stack_report *report, unsigned core)
{
    struct call_tree tree;
    if (!call_tree_make(report->stacks, core, &tree))
        return false;
    if (tree.nodes[0].samples > 0)
        print_below(&(struct printing){out, report->stacks, &tree}, 0, 0);
    call_tree_free(&tree);
    return is_written(out);
}

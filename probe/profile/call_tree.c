/* SPDX-License-Identifier: MIT */
#include "profile/call_tree.h"

#include "base/values.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct growing {
    const struct stacks *stacks;
    bool is_flame, with_cores;
    unsigned core; /* whose stacks they are; of a flame graph those of all */
    struct call_tree *out;
    size_t room;
};

/* What a stack has at a height above the root: a core, functions, a line. False: it is not that high. */
static bool element_at(const struct growing *growing, const struct stack *row, size_t height,
                       struct call_node *out)
{
    const struct stacks *stacks = growing->stacks;
    size_t innermost = stacks->frames[row->first];
    if (growing->with_cores && height-- == 0) {
        *out = (struct call_node){.kind = CALL_CORE, .core = row->core};
        return true;
    }
    if (height < row->depth) {
        size_t place = stacks->frames[row->first + row->depth - 1 - height];
        *out = (struct call_node){.kind = CALL_FUNCTION, .core = row->core, .place = place};
        return true;
    }
    *out = (struct call_node){.kind = CALL_LINE, .core = row->core, .place = innermost};
    return growing->is_flame && height == row->depth && stacks->places[innermost].line > 0;
}

static int compare_elements(const struct growing *growing, const struct call_node *one,
                            const struct call_node *other)
{
    const struct stack_place *place = &growing->stacks->places[one->place];
    const struct stack_place *its = &growing->stacks->places[other->place];
    if (one->kind != other->kind)
        return one->kind < other->kind ? -1 : 1;
    if (one->kind == CALL_CORE)
        return (one->core > other->core) - (one->core < other->core);
    if (one->kind == CALL_FUNCTION)
        return (place->function > its->function) - (place->function < its->function);
    if (place->line != its->line)
        return place->line < its->line ? -1 : 1;
    return strcmp(or_empty(place->file), or_empty(its->file));
}

static int compare_rows(const void *a, const void *b, void *context)
{
    const struct stack *one = *(const struct stack *const *)a, *other = *(const struct stack *const *)b;
    for (size_t height = 0;; height++) {
        struct call_node element, its;
        bool has = element_at(context, one, height, &element);
        bool other_has = element_at(context, other, height, &its);
        if (!has || !other_has)
            return (has ? 1 : 0) - (other_has ? 1 : 0);
        int order = compare_elements(context, &element, &its);
        if (order != 0)
            return order;
    }
}

/* The child of its parent that is this element; 0: out of memory. */
static size_t find_child(struct growing *growing, size_t parent, const struct call_node *element)
{
    struct call_tree *out = growing->out;
    for (size_t child = out->nodes[parent].child; child != 0; child = out->nodes[child].next)
        if (compare_elements(growing, &out->nodes[child], element) == 0)
            return child;
    struct call_node *nodes = array_grow(out->nodes, out->n + 1, &growing->room, sizeof *nodes);
    if (nodes == NULL)
        return 0;
    out->nodes = nodes;
    struct call_node *node = &nodes[out->n];
    *node = *element;
    node->parent = parent;
    node->depth = nodes[parent].depth + 1;
    node->next = nodes[parent].child;
    nodes[parent].child = out->n;
    out->depth = node->depth > out->depth ? node->depth : out->depth;
    return out->n++;
}

static bool call_tree_add_row(struct growing *growing, const struct stack *row)
{
    struct call_node element;
    size_t node = 0;
    growing->out->nodes[0].samples += row->samples;
    for (size_t height = 0; element_at(growing, row, height, &element); height++) {
        node = find_child(growing, node, &element);
        if (node == 0)
            return false;
        growing->out->nodes[node].samples += row->samples;
    }
    return true;
}

/* Those of a flame graph in the order of their frames, from the root. */
static bool call_tree_add_rows(struct growing *growing)
{
    const struct stacks *stacks = growing->stacks;
    const struct stack **rows = calloc(stacks->n + 1, sizeof(struct stack *));
    size_t n = 0;
    bool ok = rows != NULL;
    for (size_t i = 0; i < stacks->n && ok; i++)
        if (growing->is_flame || stacks->rows[i].core == growing->core)
            rows[n++] = &stacks->rows[i];
    if (ok && growing->is_flame)
        qsort_r(rows, n, sizeof(struct stack *), compare_rows, growing);
    for (size_t i = 0; i < n && ok; i++)
        ok = call_tree_add_row(growing, rows[i]);
    free(rows);
    return ok;
}

/* Parents first, then the widest child. */
struct placed {
    struct call_node node;
    size_t index, rank;
};

static int by_width(const void *a, const void *b)
{
    const struct placed *one = a, *other = b;
    if (one->node.depth != other->node.depth)
        return one->node.depth < other->node.depth ? -1 : 1;
    if (one->node.samples != other->node.samples)
        return one->node.samples > other->node.samples ? -1 : 1;
    return (one->rank > other->rank) - (one->rank < other->rank);
}

/* Children next to each other in the order of their widths, each from the left of its parent on. Equal ones
 * of a flame graph are in the order of their making. */
static bool call_tree_lay_out(struct call_tree *tree, bool is_flame)
{
    struct placed *sorted = calloc(tree->n, sizeof *sorted);
    size_t *moved = calloc(tree->n, sizeof *moved);
    double *used = calloc(tree->n, sizeof *used);
    bool ok = sorted != NULL && moved != NULL && used != NULL;
    for (size_t i = 0; ok && i < tree->n; i++)
        sorted[i] = (struct placed){.node = tree->nodes[i], .index = i, .rank = is_flame ? i : tree->n - i};
    if (ok)
        qsort(sorted, tree->n, sizeof *sorted, by_width);
    double all = ok ? (double)tree->nodes[0].samples : 0;
    for (size_t i = 0; ok && i < tree->n; i++) {
        struct call_node *node = &tree->nodes[i];
        moved[sorted[i].index] = i;
        *node = sorted[i].node;
        node->parent = moved[node->parent];
        node->child = node->next = 0;
        node->width = all > 0 ? (double)node->samples / all : 1;
        if (i > 0) {
            node->x = tree->nodes[node->parent].x + used[node->parent];
            used[node->parent] += node->width;
        }
    }
    for (size_t i = ok ? tree->n : 0; i-- > 1;) {
        tree->nodes[i].next = tree->nodes[tree->nodes[i].parent].child;
        tree->nodes[tree->nodes[i].parent].child = i;
    }
    free(sorted);
    free(moved);
    free(used);
    return ok;
}

static bool call_tree_grow(struct growing growing)
{
    struct call_tree *out = growing.out;
    *out = (struct call_tree){.nodes = array_grow(NULL, 1, &growing.room, sizeof *out->nodes), .n = 1};
    if (out->nodes != NULL)
        out->nodes[0] = (struct call_node){.kind = CALL_ALL};
    bool ok = out->nodes != NULL && call_tree_add_rows(&growing) && call_tree_lay_out(out, growing.is_flame);
    if (!ok)
        call_tree_free(out);
    return ok;
}

bool call_tree_make(const struct stacks *stacks, unsigned core, struct call_tree *out)
{
    return call_tree_grow((struct growing){.stacks = stacks, .core = core, .out = out});
}

bool flame_make(const struct stacks *stacks, size_t core_count, struct call_tree *out)
{
    return call_tree_grow(
        (struct growing){.stacks = stacks, .is_flame = true, .with_cores = core_count > 1, .out = out});
}

void call_tree_free(struct call_tree *tree)
{
    free(tree->nodes);
    *tree = (struct call_tree){0};
}

/* --- shares with children ------------------------------------------------------------------------------- */

static bool is_unknown(const struct stack_function *function)
{
    static const char unknown[] = "[unknown]";
    return function->is_outside && strncmp(function->name, unknown, sizeof unknown - 1) == 0;
}

/* A function that is guessed in some stacks is the same function. */
static bool is_row_of(const struct share *row, const struct stack_function *function)
{
    if (row->state != PROFILE_STATES)
        return function->is_outside && strcmp(function->name, shares_state_name(row->state)) == 0;
    if (function->is_outside)
        return is_unknown(function) && row->function == NULL;
    return row->function != NULL && row->address == function->entry;
}

/* SIZE_MAX: it is not a function, but the end of stacks that are cut short. */
static bool call_tree_find_row(struct shares *shares, const struct stack_function *function, size_t *out)
{
    *out = 0;
    while (*out < shares->n && !is_row_of(&shares->rows[*out], function))
        ++*out;
    if (*out < shares->n)
        return true;
    *out = SIZE_MAX;
    if (function->is_outside && !is_unknown(function))
        return true;
    struct share *rows = realloc(shares->rows, (shares->n + 1) * sizeof *rows);
    if (rows == NULL)
        return false;
    shares->rows = rows;
    struct share *row = &rows[shares->n];
    *row = (struct share){.state = PROFILE_STATES, .address = function->entry, .plus_minus = (double)NAN};
    *out = shares->n++;
    if (is_unknown(function))
        return true;
    row->function = strndup(function->name, function->plain);
    if (function->file != NULL && asprintf(&row->source, "%s:%u", function->file, function->line) < 0)
        row->source = NULL;
    return row->function != NULL && (row->source != NULL || function->file == NULL);
}

static int by_children(const void *a, const void *b)
{
    const struct share *one = a, *other = b;
    if (one->children != other->children)
        return one->children > other->children ? -1 : 1;
    if (one->samples != other->samples)
        return one->samples > other->samples ? -1 : 1;
    return (one->address > other->address) - (one->address < other->address);
}

bool call_tree_add_children(const struct stacks *stacks, struct shares *shares)
{
    size_t *row_of = calloc(stacks->function_count + 1, sizeof *row_of);
    bool ok = row_of != NULL;
    for (size_t i = 0; i < stacks->function_count && ok; i++)
        ok = call_tree_find_row(shares, &stacks->functions[i], &row_of[i]);
    size_t *last =
        ok ? calloc(shares->n + 1, sizeof *last) : NULL; /* the stack that counted it last, and 1 */
    for (size_t i = 0; i < stacks->n && last != NULL; i++) {
        const struct stack *stack = &stacks->rows[i];
        for (size_t k = 0; stack->core == shares->core && k < stack->depth; k++) {
            size_t row = row_of[stacks->places[stacks->frames[stack->first + k]].function];
            if (row == SIZE_MAX || last[row] == i + 1)
                continue;
            shares->rows[row].children += stack->samples;
            last[row] = i + 1;
        }
    }
    ok = ok && last != NULL;
    free(row_of);
    free(last);
    if (!ok)
        return false;
    size_t used = 0; /* a function of another core's stacks is none of this one */
    for (size_t i = 0; i < shares->n; i++) {
        struct share *row = &shares->rows[i];
        if (row->children > 0 || row->samples > 0) {
            shares->rows[used++] = *row;
            continue;
        }
        free(row->function);
        free(row->source);
    }
    shares->n = used;
    qsort(shares->rows, shares->n, sizeof *shares->rows, by_children);
    shares->has_children = true;
    return true;
}

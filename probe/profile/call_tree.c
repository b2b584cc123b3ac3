#include "profile/call_tree.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- the tree ------------------------------------------------------------------------------------------- */

struct growing {
    struct call_tree *out;
    size_t room;
};

/* The child of this function; 0: out of memory. */
static size_t find_child(struct growing *growing, size_t parent, size_t function)
{
    struct call_tree *out = growing->out;
    for (size_t child = out->nodes[parent].child; child != 0; child = out->nodes[child].next)
        if (out->nodes[child].function == function)
            return child;
    if (out->n == growing->room) {
        size_t room = 2 * growing->room;
        struct call_node *nodes = realloc(out->nodes, room * sizeof *nodes);
        if (nodes == NULL)
            return 0;
        out->nodes = nodes;
        growing->room = room;
    }
    out->nodes[out->n] = (struct call_node){.function = function, .next = out->nodes[parent].child};
    out->nodes[parent].child = out->n;
    return out->n++;
}

static bool call_tree_add_row(struct growing *growing, const struct stacks *stacks, const struct stack *row)
{
    size_t node = 0;
    growing->out->nodes[0].samples += row->samples;
    for (size_t i = row->depth; i-- > 0;) {
        node = find_child(growing, node, stacks->places[stacks->frames[row->first + i]].function);
        if (node == 0)
            return false;
        growing->out->nodes[node].samples += row->samples;
    }
    return true;
}

/* Takes the largest of the list that begins at `from`; returns its index. */
static size_t take_largest(struct call_node *nodes, size_t *from)
{
    size_t *best = from;
    for (size_t *at = from; *at != 0; at = &nodes[*at].next)
        if (nodes[*at].samples > nodes[*best].samples)
            best = at;
    size_t largest = *best;
    *best = nodes[largest].next;
    return largest;
}

static void sort_children(struct call_node *nodes, size_t parent)
{
    size_t left = nodes[parent].child, *to = &nodes[parent].child;
    while (left != 0) {
        *to = take_largest(nodes, &left);
        to = &nodes[*to].next;
        *to = 0;
    }
}

bool call_tree_make(const struct stacks *stacks, unsigned core, struct call_tree *out)
{
    struct growing growing = {.out = out, .room = 64};
    *out = (struct call_tree){.nodes = calloc(growing.room, sizeof *out->nodes), .n = 1};
    bool ok = out->nodes != NULL;
    if (ok)
        out->nodes[0].function = SIZE_MAX;
    for (size_t i = 0; i < stacks->n && ok; i++)
        ok = stacks->rows[i].core != core || call_tree_add_row(&growing, stacks, &stacks->rows[i]);
    for (size_t i = 0; i < out->n && ok; i++)
        sort_children(out->nodes, i);
    if (!ok)
        call_tree_free(out);
    return ok;
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
    return function->entry == 0 && strncmp(function->name, unknown, sizeof unknown - 1) == 0;
}

/* A function that is guessed in some stacks is the same function. */
static bool is_row_of(const struct share *row, const struct stack_function *function)
{
    if (row->state != PROFILE_STATES)
        return function->entry == 0 && strcmp(function->name, shares_state_name(row->state)) == 0;
    if (function->entry == 0)
        return is_unknown(function) && row->function == NULL;
    return row->function != NULL && row->address == function->entry;
}

/* SIZE_MAX: it is not a function, but the end of stacks that are cut short. */
static bool call_tree_find_row(struct shares *shares, const struct stacks *stacks,
                               const struct stack_function *function, size_t *out)
{
    *out = 0;
    while (*out < shares->n && !is_row_of(&shares->rows[*out], function))
        ++*out;
    if (*out < shares->n)
        return true;
    *out = SIZE_MAX;
    if (function->entry == 0 && !is_unknown(function))
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
    size_t length = strlen(function->name);
    for (size_t i = 0; i < stacks->function_count; i++) /* its name without a mark, if there is one */
        if (stacks->functions[i].entry == function->entry && strlen(stacks->functions[i].name) < length)
            length = strlen(stacks->functions[i].name);
    row->function = strndup(function->name, length);
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
        ok = call_tree_find_row(shares, stacks, &stacks->functions[i], &row_of[i]);
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

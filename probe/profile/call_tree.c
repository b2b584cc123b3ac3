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

/* ---- flame */

struct making {
    const struct stacks *stacks;
    bool with_cores;
    struct flame *out;
    size_t room;
    const struct stack **rows; /* in the order of their frames, from the root */
    size_t *open;              /* frames of the last row, by depth */
    unsigned open_count;
};

/* What a stack has at a height above the root: a core, functions, a line. */
struct element {
    enum flame_kind kind;
    unsigned core;
    size_t place;
};

static const char *flame_text_of(const char *text)
{
    return text != NULL ? text : "";
}

/* False: the stack is not that high. */
static bool element_at(const struct making *making, const struct stack *row, size_t height,
                       struct element *out)
{
    const struct stacks *stacks = making->stacks;
    size_t innermost = stacks->frames[row->first];
    if (making->with_cores && height-- == 0) {
        *out = (struct element){.kind = FLAME_CORE, .core = row->core};
        return true;
    }
    if (height < row->depth) {
        size_t place = stacks->frames[row->first + row->depth - 1 - height];
        *out = (struct element){.kind = FLAME_FUNCTION, .core = row->core, .place = place};
        return true;
    }
    *out = (struct element){.kind = FLAME_LINE, .core = row->core, .place = innermost};
    return height == row->depth && stacks->places[innermost].line > 0;
}

static int compare_elements(const struct making *making, const struct element *one,
                            const struct element *other)
{
    const struct stack_place *place = &making->stacks->places[one->place];
    const struct stack_place *its = &making->stacks->places[other->place];
    if (one->kind != other->kind)
        return one->kind < other->kind ? -1 : 1;
    if (one->kind == FLAME_CORE)
        return (one->core > other->core) - (one->core < other->core);
    if (one->kind == FLAME_FUNCTION)
        return (place->function > its->function) - (place->function < its->function);
    if (place->line != its->line)
        return place->line < its->line ? -1 : 1;
    return strcmp(flame_text_of(place->file), flame_text_of(its->file));
}

static int compare_rows(const void *a, const void *b, void *context)
{
    const struct making *making = context;
    const struct stack *one = *(const struct stack *const *)a, *other = *(const struct stack *const *)b;
    for (size_t height = 0;; height++) {
        struct element element, its;
        bool has = element_at(making, one, height, &element);
        bool other_has = element_at(making, other, height, &its);
        if (!has || !other_has)
            return (has ? 1 : 0) - (other_has ? 1 : 0);
        int order = compare_elements(making, &element, &its);
        if (order != 0)
            return order;
    }
}

/* False: out of memory. */
static bool flame_add_frame(struct making *making, const struct element *element, size_t parent,
                            unsigned depth)
{
    struct flame *out = making->out;
    if (out->n == making->room) {
        size_t room = making->room == 0 ? 256 : making->room * 2;
        struct flame_frame *more = realloc(out->frames, room * sizeof *more);
        if (more == NULL)
            return false;
        out->frames = more;
        making->room = room;
    }
    out->frames[out->n] = (struct flame_frame){.kind = element->kind,
                                               .parent = parent,
                                               .depth = depth,
                                               .core = element->core,
                                               .place = element->place};
    out->depth = depth > out->depth ? depth : out->depth;
    making->open[depth] = out->n++;
    return true;
}

static bool flame_is_open(const struct making *making, unsigned depth, const struct element *element)
{
    if (depth >= making->open_count)
        return false;
    const struct flame_frame *frame = &making->out->frames[making->open[depth]];
    struct element its = {.kind = frame->kind, .core = frame->core, .place = frame->place};
    return compare_elements(making, element, &its) == 0;
}

static bool flame_add_row(struct making *making, const struct stack *row)
{
    struct element element;
    unsigned depth = 0;
    making->out->frames[0].samples += row->samples;
    while (element_at(making, row, depth, &element)) {
        depth++;
        if (!flame_is_open(making, depth, &element)) {
            if (!flame_add_frame(making, &element, making->open[depth - 1], depth))
                return false;
            making->open_count = depth + 1;
        }
        making->out->frames[making->open[depth]].samples += row->samples;
    }
    making->open_count = depth + 1;
    return true;
}

/* Parents first, then the widest child; the order of equal ones is that of their making. */
struct placed {
    struct flame_frame frame;
    size_t index;
};

static int by_width(const void *a, const void *b)
{
    const struct placed *one = a, *other = b;
    if (one->frame.depth != other->frame.depth)
        return one->frame.depth < other->frame.depth ? -1 : 1;
    if (one->frame.samples != other->frame.samples)
        return one->frame.samples > other->frame.samples ? -1 : 1;
    return (one->index > other->index) - (one->index < other->index);
}

/* Next to each other in the order of their widths, each from the left of its parent on. */
static bool flame_lay_out(struct flame *flame)
{
    struct placed *sorted = calloc(flame->n, sizeof *sorted);
    size_t *moved = calloc(flame->n, sizeof *moved);
    double *used = calloc(flame->n, sizeof *used);
    bool ok = sorted != NULL && moved != NULL && used != NULL;
    for (size_t i = 0; ok && i < flame->n; i++)
        sorted[i] = (struct placed){.frame = flame->frames[i], .index = i};
    if (ok)
        qsort(sorted, flame->n, sizeof *sorted, by_width);
    double all = ok ? (double)flame->frames[0].samples : 0;
    for (size_t i = 0; ok && i < flame->n; i++) {
        struct flame_frame *frame = &flame->frames[i];
        moved[sorted[i].index] = i;
        *frame = sorted[i].frame;
        frame->parent = moved[frame->parent];
        frame->width = all > 0 ? (double)frame->samples / all : 1;
        if (i > 0) {
            frame->x = flame->frames[frame->parent].x + used[frame->parent];
            used[frame->parent] += frame->width;
        }
    }
    free(sorted);
    free(moved);
    free(used);
    return ok;
}

static bool flame_add_rows(struct making *making)
{
    const struct stacks *stacks = making->stacks;
    const struct element root = {.kind = FLAME_ALL};
    size_t highest = 0;
    for (size_t i = 0; i < stacks->n; i++) {
        making->rows[i] = &stacks->rows[i];
        highest = stacks->rows[i].depth > highest ? stacks->rows[i].depth : highest;
    }
    /* The root, a core, functions, a line */
    making->open = calloc(highest + 4, sizeof *making->open);
    if (making->open == NULL || !flame_add_frame(making, &root, 0, 0))
        return false;
    making->open_count = 1;
    qsort_r(making->rows, stacks->n, sizeof(struct stack *), compare_rows, making);
    bool ok = true;
    for (size_t i = 0; i < stacks->n && ok; i++)
        ok = flame_add_row(making, making->rows[i]);
    return ok;
}

bool flame_make(const struct stacks *stacks, size_t core_count, struct flame *out)
{
    struct making making = {.stacks = stacks, .with_cores = core_count > 1, .out = out};
    *out = (struct flame){.n = 0};
    making.rows = calloc(stacks->n + 1, sizeof(struct stack *));
    bool ok = making.rows != NULL && flame_add_rows(&making) && flame_lay_out(out);
    free(making.rows);
    free(making.open);
    if (!ok)
        flame_free(out);
    return ok;
}

void flame_free(struct flame *flame)
{
    free(flame->frames);
    *flame = (struct flame){.n = 0};
}

#include "profile/flame.h"

#include <stdlib.h>
#include <string.h>

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

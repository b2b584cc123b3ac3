#include "profile/call_stacks.h"

#include <stdlib.h>
#include <string.h>

enum { ROOM_FIRST = 32 };

static const char *const end_names[] = {
    [UNWIND_NO_RULES] = "no_rules", [UNWIND_NO_VALUE] = "no_value", [UNWIND_NO_MEMORY] = "no_memory",
    [UNWIND_NO_CALL] = "no_call",   [UNWIND_NO_RISE] = "no_rise",   [UNWIND_SECURITY] = "security",
    [UNWIND_TOO_DEEP] = "too_deep"};

const char *call_stack_end_name(enum unwind_end end)
{
    return end_names[end];
}

bool call_stack_end_find(const char *name, enum unwind_end *out)
{
    for (size_t i = 0; i < sizeof end_names / sizeof *end_names; i++)
        if (end_names[i] != NULL && strcmp(end_names[i], name) == 0) {
            *out = (enum unwind_end)i;
            return true;
        }
    return false;
}

/* FNV-1a, by words. */
static uint64_t hash_of(const struct call_stack *stack)
{
    const uint64_t prime = UINT64_C(0x100000001B3);
    uint64_t hash = UINT64_C(0xCBF29CE484222325);
    for (size_t i = 0; i < stack->depth; i++)
        hash = (hash ^ stack->at[i]) * prime;
    hash = (hash ^ stack->sure) * prime;
    hash = (hash ^ stack->end) * prime;
    return hash ^ hash >> 32;
}

static bool are_same(const struct call_stack *one, const struct call_stack *other)
{
    return one->depth == other->depth && one->sure == other->sure && one->end == other->end &&
           memcmp(one->at, other->at, one->depth * sizeof *one->at) == 0;
}

/* The slot of this stack, or the free one where it belongs. There is always a free one. */
static size_t *find_slot(const struct call_stacks *set, const struct call_stack *stack)
{
    size_t at = (size_t)hash_of(stack) & (set->slot_count - 1);
    while (set->slots[at] != SIZE_MAX && !are_same(&set->rows[set->slots[at]], stack))
        at = (at + 1) & (set->slot_count - 1);
    return &set->slots[at];
}

static bool make_room(struct call_stacks *set)
{
    if (set->n < set->room)
        return true;
    size_t room = set->room == 0 ? ROOM_FIRST : 2 * set->room;
    struct call_stack *rows = realloc(set->rows, room * sizeof *rows);
    if (rows == NULL)
        return false;
    set->rows = rows;
    size_t *slots = malloc(2 * room * sizeof *slots);
    if (slots == NULL)
        return false;
    free(set->slots);
    set->slots = slots;
    set->slot_count = 2 * room;
    set->room = room;
    for (size_t i = 0; i < set->slot_count; i++)
        slots[i] = SIZE_MAX;
    for (size_t i = 0; i < set->n; i++)
        *find_slot(set, &set->rows[i]) = i;
    return true;
}

bool call_stacks_add(struct call_stacks *set, const struct call_stack *stack)
{
    if (!make_room(set))
        return false;
    size_t *slot = find_slot(set, stack);
    if (*slot != SIZE_MAX) {
        set->rows[*slot].samples += stack->samples;
        return true;
    }
    struct call_stack *row = &set->rows[set->n];
    *row = *stack;
    row->at = calloc(stack->depth + 1, sizeof *row->at);
    if (row->at == NULL)
        return false;
    memcpy(row->at, stack->at, stack->depth * sizeof *row->at);
    *slot = set->n++;
    return true;
}

bool call_stacks_add_found(struct call_stacks *set, const struct unwind_stack *stack)
{
    uint64_t at[UNWIND_FRAMES];
    struct call_stack row = {.samples = 1, .at = at, .depth = stack->count, .end = stack->end};
    for (size_t i = 0; i < stack->count; i++) {
        at[i] = unwind_place(&stack->at[i]);
        row.sure += !stack->at[i].is_guess;
    }
    return call_stacks_add(set, &row);
}

bool call_stacks_merge(struct call_stacks *to, const struct call_stacks *from)
{
    for (size_t i = 0; i < from->n; i++)
        if (!call_stacks_add(to, &from->rows[i]))
            return false;
    return true;
}

void call_stacks_free(struct call_stacks *set)
{
    for (size_t i = 0; i < set->n; i++)
        free(set->rows[i].at);
    free(set->rows);
    free(set->slots);
    *set = (struct call_stacks){0};
}

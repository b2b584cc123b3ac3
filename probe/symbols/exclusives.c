/* SPDX-License-Identifier: MIT */
/*
 * Exclusive accesses: which places lie after a load-exclusive and not after its store-exclusive. A stop there
 * may make the store fail, each time that the program tries again: "an exit from Debug state might [...]
 * clear the Exclusives monitors" (DDI 0487 H2.5), and what a debugger does in Debug state may, too.
 *
 * A place is held if code leads to it from a load-exclusive, and on from it to a store-exclusive, with
 * neither of them nor CLREX between. A load whose value is read alone, without a store, holds nothing. Calls
 * count as what the callee does by itself; what is called in between is held whole.
 */
#include "symbols/internal.h"

#include "base/values.h"

#include <stdlib.h>
#include <string.h>

/* --- one function --------------------------------------------------------------------------------------- */

struct held_step {
    uint64_t address, callee; /* callee 0: it calls nothing */
    uint64_t target;          /* of a jump; 0: none */
    unsigned size;
    bool loads, stores, clears, sure; /* sure: without a condition */
    bool goes_on, leaves;             /* leaves: the function */
    bool open, ahead;                 /* before it: a load-exclusive was, a store-exclusive may be next */
};

struct held_code {
    uint64_t low;
    struct held_step *at;
    size_t n;
};

static struct held_function *held_find(struct symbols *symbols, uint64_t low)
{
    struct exclusives *all = &symbols->exclusives;
    size_t until = sorted_until(all->places, all->n, sizeof *all->places, low);
    return until > 0 && all->places[until - 1].low == low ? &all->items[all->places[until - 1].which] : NULL;
}

static size_t held_index(const struct held_code *code, uint64_t address)
{
    size_t until = sorted_until(code->at, code->n, sizeof *code->at, address);
    return until > 0 && code->at[until - 1].address == address ? until - 1 : code->n;
}

static struct held_step held_step_of(struct symbols *symbols, const struct code_instruction *one, bool in_it)
{
    struct instruction does = code_decode(one);
    struct held_step step = {.address = one->address,
                             .size = one->size,
                             .loads = does.exclusive == EXCLUSIVE_LOAD,
                             .stores = does.exclusive == EXCLUSIVE_STORE,
                             .clears = does.exclusive == EXCLUSIVE_CLEAR,
                             .sure = !in_it && !does.conditional};
    step.goes_on = in_it || !instruction_leaves(&does);
    step.target = does.kind == GOES_JUMP ? does.target : 0;
    step.leaves = does.kind == GOES_BACK || does.kind == GOES_AWAY;
    if (does.kind != GOES_CALL)
        return step;
    step.callee = does.target;
    const struct held_function *callee = held_find(symbols, step.callee);
    step.loads = callee != NULL && callee->opens;
    step.stores = callee != NULL && callee->asks;
    step.clears = callee != NULL && callee->is_own && !step.loads && !step.stores;
    return step;
}

/* False: no memory; then nothing is held. */
static bool held_read(struct symbols *symbols, const struct extent *function, struct held_code *out)
{
    struct code_walk walk = {.symbols = symbols, .low = function->low, .high = function->high};
    struct code_instruction one;
    size_t room = 0;
    unsigned in_it = 0;
    *out = (struct held_code){.low = function->low};
    while (code_next(&walk, &one)) {
        if (one.is_data)
            continue;
        struct held_step *at = array_grow(out->at, out->n + 1, &room, sizeof *at);
        if (at == NULL) {
            free(out->at);
            *out = (struct held_code){.low = function->low};
            return false;
        }
        out->at = at;
        struct instruction does = code_decode(&one);
        out->at[out->n++] = held_step_of(symbols, &one, in_it > 0);
        in_it = in_it > 0 ? in_it - 1 : does.kind == GOES_IT ? does.number : 0;
    }
    return true;
}

static bool held_open_after(const struct held_step *step)
{
    return step->loads || (step->open && !((step->stores || step->clears) && step->sure));
}

/* What is ahead after it. */
static bool held_ahead_after(const struct held_code *code, size_t i, bool ahead_exit)
{
    const struct held_step *step = &code->at[i];
    size_t to = step->target != 0 ? held_index(code, step->target) : code->n;
    bool out = step->leaves || (step->target != 0 && to == code->n);
    return (out && ahead_exit) || (to < code->n && code->at[to].ahead) ||
           (step->goes_on && i + 1 < code->n && code->at[i + 1].ahead);
}

/* One round; true: something has changed. */
static bool held_spread(struct held_code *code, bool ahead_exit)
{
    bool changed = false;
    for (size_t i = 0; i < code->n; i++) {
        struct held_step *step = &code->at[i];
        size_t to = step->target != 0 ? held_index(code, step->target) : code->n;
        if (!held_open_after(step))
            continue;
        if (to < code->n && !code->at[to].open)
            changed = code->at[to].open = true;
        if (step->goes_on && i + 1 < code->n && !code->at[i + 1].open)
            changed = code->at[i + 1].open = true;
    }
    for (size_t i = code->n; i-- > 0;) {
        struct held_step *step = &code->at[i];
        bool stops = (step->loads || step->clears) && step->sure;
        if (step->ahead || !(step->stores || (!stops && held_ahead_after(code, i, ahead_exit))))
            continue;
        changed = step->ahead = true;
    }
    return changed;
}

static void held_follow(struct held_code *code, bool open_entry, bool ahead_exit)
{
    if (code->n == 0)
        return;
    code->at[0].open = open_entry;
    while (held_spread(code, ahead_exit))
        ;
}

/* The sequence around the step: the load before it, and the store from it on. Of those that are in the caller
 * `around` says where. */
static struct held held_around(const struct held_code *code, size_t i, const struct held *around)
{
    struct held held = *around;
    for (size_t k = 0; k < i; k++)
        if (code->at[k].loads)
            held.load = code->at[k].address;
    for (size_t k = code->n; k-- > i;)
        if (code->at[k].stores) {
            held.store = code->at[k].address;
            held.after = held.store + code->at[k].size;
        }
    return held;
}

/* --- all functions -------------------------------------------------------------------------------------- */

static struct held_function *held_add(struct symbols *symbols, uint64_t address)
{
    struct exclusives *all = &symbols->exclusives;
    struct extent function;
    if (table_around(symbols, address, &function) == NULL)
        return NULL;
    struct held_function *known = held_find(symbols, function.low);
    if (known != NULL)
        return known;
    struct held_function *items = array_grow(all->items, all->n + 1, &all->room, sizeof *items);
    all->items = items != NULL ? items : all->items;
    struct held_place *places = array_grow(all->places, all->n + 1, &all->place_room, sizeof *places);
    all->places = places != NULL ? places : all->places;
    if (items == NULL || places == NULL)
        return NULL;
    size_t to = sorted_until(places, all->n, sizeof *places, function.low);
    memmove(places + to + 1, places + to, (all->n - to) * sizeof *places);
    places[to] = (struct held_place){.low = function.low, .which = all->n};
    all->items[all->n] = (struct held_function){.extent = function};
    return &all->items[all->n++];
}

/* What it does for its callers: leave an exclusive open, or begin with a store. */
static void held_sum_up(struct symbols *symbols, struct held_function *function)
{
    struct held_code code;
    if (!held_read(symbols, &function->extent, &code))
        return;
    held_follow(&code, false, false);
    for (size_t i = 0; i < code.n; i++) {
        const struct held_step *step = &code.at[i];
        bool out = step->leaves || (step->target != 0 && held_index(&code, step->target) == code.n);
        function->opens = function->opens || (out && held_open_after(step));
    }
    function->asks = code.n > 0 && code.at[0].ahead;
    free(code.at);
}

/* Notes what is called between the two, or ends there. */
static void held_mark_callees(struct symbols *symbols, size_t which)
{
    const struct extent function = symbols->exclusives.items[which].extent;
    const struct held none = {0};
    struct held_code code;
    if (!held_read(symbols, &function, &code))
        return;
    held_follow(&code, false, false);
    for (size_t i = 0; i < code.n; i++) {
        const struct held_step *step = &code.at[i];
        bool at_entry = step->open && step->ahead,
             at_end = held_open_after(step) && held_ahead_after(&code, i, false);
        struct held_function *callee =
            step->callee != 0 && (at_entry || at_end) ? held_add(symbols, step->callee) : NULL;
        if (callee == NULL)
            continue;
        callee->open_entry = callee->open_entry || at_entry;
        callee->ahead_exit = callee->ahead_exit || at_end;
        callee->around = held_around(&code, at_end ? i + 1 : i, &none);
    }
    free(code.at);
}

static bool held_is_helper(struct symbols *symbols, uint64_t callee)
{
    const struct held_function *function = held_find(symbols, callee);
    return function != NULL && (function->opens || function->asks);
}

/* Functions that have an exclusive access, then those that call one which has half a sequence. */
static void held_find_all(struct symbols *symbols)
{
    struct exclusives *all = &symbols->exclusives;
    struct code_instruction one;
    struct code_walk walk = {.symbols = symbols, .high = UINT64_MAX}, again = walk;
    bool helpers = false;
    if (all->known)
        return;
    all->known = true;
    while (code_next(&walk, &one)) {
        struct held_function *own =
            code_decode(&one).exclusive != EXCLUSIVE_NONE ? held_add(symbols, one.address) : NULL;
        if (own != NULL)
            own->is_own = true;
    }
    for (size_t i = 0; i < all->n; i++)
        held_sum_up(symbols, &all->items[i]);
    for (size_t i = 0; i < all->n; i++)
        helpers = helpers || all->items[i].opens || all->items[i].asks;
    while (helpers && code_next(&again, &one)) {
        struct instruction does = code_decode(&one);
        if (does.kind == GOES_CALL && held_is_helper(symbols, does.target))
            (void)held_add(symbols, one.address);
    }
    for (size_t i = 0, n = all->n; i < n; i++)
        held_mark_callees(symbols, i);
}

static struct held_function *held_function_of(struct symbols *symbols, uint64_t address)
{
    struct extent function;
    if (symbols == NULL || (symbols->machine != EM_ARM && symbols->machine != EM_AARCH64))
        return NULL;
    held_find_all(symbols);
    if (symbols->exclusives.n == 0 || table_around(symbols, address, &function) == NULL)
        return NULL;
    return held_find(symbols, function.low);
}

/* The code of the function, followed; NULL: no memory. */
static const struct held_code *held_code_of(struct symbols *symbols, const struct held_function *function)
{
    struct exclusives *all = &symbols->exclusives;
    if (all->kept == NULL)
        all->kept = calloc(1, sizeof *all->kept);
    if (all->kept == NULL || (all->kept->at != NULL && all->kept->low == function->extent.low))
        return all->kept;
    free(all->kept->at);
    if (!held_read(symbols, &function->extent, all->kept))
        return NULL;
    held_follow(all->kept, function->open_entry, function->ahead_exit);
    return all->kept;
}

/* `after`: after the instruction there, else before it. */
static bool held_at(struct symbols *symbols, uint64_t address, bool after, struct held *out)
{
    const struct held_function *function = held_function_of(symbols, address);
    const struct held_code *code = function != NULL ? held_code_of(symbols, function) : NULL;
    size_t i = code != NULL ? held_index(code, address) : 0;
    if (code == NULL || i == code->n)
        return false;
    const struct held_step *step = &code->at[i];
    if (after ? !held_open_after(step) || !held_ahead_after(code, i, function->ahead_exit)
              : !step->open || !step->ahead)
        return false;
    *out = held_around(code, after ? i + 1 : i, &function->around);
    return true;
}

bool symbols_held(struct symbols *symbols, uint64_t address, struct held *out)
{
    return held_at(symbols, address, false, out);
}

bool symbols_held_after(struct symbols *symbols, uint64_t address, struct held *out)
{
    return held_at(symbols, address, true, out);
}

bool symbols_return_held(struct symbols *symbols, uint64_t function, struct held *out)
{
    const struct held_function *found = held_function_of(symbols, function);
    if (found == NULL || !found->ahead_exit)
        return false;
    *out = found->around;
    return true;
}

void exclusives_close(struct symbols *symbols)
{
    if (symbols->exclusives.kept != NULL)
        free(symbols->exclusives.kept->at);
    free(symbols->exclusives.kept);
    free(symbols->exclusives.items);
    free(symbols->exclusives.places);
    symbols->exclusives = (struct exclusives){.known = false};
}

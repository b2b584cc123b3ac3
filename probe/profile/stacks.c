/* SPDX-License-Identifier: MIT */
#include "profile/stacks.h"

#include "base/values.h"
#include "profile/shares.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LIST_ROOM = 1024, WORD = 4 };

bool stack_reader_open(struct stack_reader *reader, struct device *device, struct stack_stop stop,
                       struct symbols *symbols, struct error *error)
{
    *reader = (struct stack_reader){.device = device, .core = &device->chosen->core, .stop = stop};
    reader->unwind = unwind_open(symbols);
    return reader->unwind != NULL || error_memory(error);
}

void stack_reader_close(struct stack_reader *reader)
{
    unwind_close(reader->unwind);
    *reader = (struct stack_reader){0};
}

/* --- registers ------------------------------------------------------------------------------------------ */

/* Index into unwind_core.value; UNWIND_VALUES and above: none. */
static unsigned stack_reader_value_of(const struct core *core, enum core_register which)
{
    bool wide = core_has(core, WIDE_REGISTERS);
    switch (which) {
    case CORE_SP:
        return wide ? UNWIND_A64_SP : UNWIND_ARM_SP;
    case CORE_LR:
        return wide ? UNWIND_A64_LR : UNWIND_ARM_LR;
    case CORE_PC:
        return wide ? UNWIND_A64_PC : UNWIND_ARM_PC;
    case CORE_PSP:
    case CORE_STATUS:
        return UNWIND_VALUES;
    default:
        return (unsigned)(which - CORE_R0);
    }
}

/* What a stack is found by; `all`: and all other registers. Returns how many. */
static size_t want_registers(const struct core *core, bool all, struct register_value *out)
{
    static const enum core_register last[] = {CORE_SP, CORE_LR, CORE_PC};
    bool wide = core_has(core, WIDE_REGISTERS);
    uint64_t needs = wide ? UNWIND_NEEDS_A64 : UNWIND_NEEDS_ARM;
    size_t n = 0;
    unsigned general = wide ? UNWIND_A64_LR : UNWIND_ARM_SP; /* SP, LR and PC follow them */
    for (unsigned i = 0; i < general; i++)
        if (all || (needs >> i & 1) != 0)
            out[n++] = (struct register_value){.which = (enum core_register)(CORE_R0 + i)};
    for (size_t i = 0; i < sizeof last / sizeof *last; i++)
        out[n++] = (struct register_value){.which = last[i]};
    if (core_has(core, SYSTEM_SPACE))
        out[n++] = (struct register_value){.which = CORE_PSP};
    if (all || !wide)
        out[n++] = (struct register_value){.which = CORE_STATUS};
    return n;
}

static bool read_at_counter_stop(struct stack_reader *reader, struct register_value *registers, size_t n,
                                 struct error *error)
{
    const struct core *core = reader->core;
    struct step items[LIST_ROOM];
    uint64_t results[LIST_ROOM];
    struct steps list = {.items = items, .room = LIST_ROOM};
    size_t at[ENGINE_REGISTERS];
    core_add_ready(core, &list);
    for (size_t i = 0; i < n; i++)
        at[i] = core_add_register(core, &list, registers[i].which);
    if (!counter_stop_run(reader->stop.counter, &list, results, reader->deadline, error))
        return false;
    for (size_t i = 0; i < n; i++) {
        registers[i].value = core_register_value(core, registers[i].which, results, at[i]);
        registers[i].known = true;
    }
    return true;
}

static bool stack_reader_read_registers(struct stack_reader *reader, struct register_value *registers,
                                        size_t n, struct error *error)
{
    struct engine *engine = reader->stop.engine;
    if (engine == NULL ? !read_at_counter_stop(reader, registers, n, error)
                       : !engine->ops->read_registers(engine, registers, n, reader->deadline, error))
        return false;
    for (size_t i = 0; i < n; i++)
        if (registers[i].which == CORE_PC)
            registers[i].value = core_code_place(registers[i].value);
    return true;
}

static struct unwind_core stack_reader_core_of(const struct core *core,
                                               const struct register_value *registers, size_t n)
{
    struct unwind_core out = {.is_m = core_has(core, SYSTEM_SPACE),
                              .has_security = core->security != SECURITY_NONE};
    for (size_t i = 0; i < n; i++) {
        unsigned value = stack_reader_value_of(core, registers[i].which);
        if (!registers[i].known)
            continue;
        if (value < UNWIND_VALUES) {
            out.value[value] = registers[i].value;
            out.known |= UINT64_C(1) << value;
        } else if (registers[i].which == CORE_PSP) {
            out.psp = registers[i].value;
            out.knows_psp = true;
        } else if (!core_has(core, WIDE_REGISTERS)) {
            out.status = (uint32_t)registers[i].value;
        }
    }
    return out;
}

/* --- memory --------------------------------------------------------------------------------------------- */

static const struct stack_piece *stack_reader_find_piece(const struct stack_reader *reader, uint64_t address)
{
    for (size_t i = 0; i < reader->n_pieces; i++) {
        const struct stack_piece *piece = &reader->pieces[i];
        if (address >= piece->address && address - piece->address < WORD * piece->n)
            return piece;
    }
    return NULL;
}

static bool copy_memory(void *context, uint64_t address, void *out, size_t size)
{
    uint8_t *to = out;
    for (size_t i = 0; i < size; i++) {
        const struct stack_piece *piece = stack_reader_find_piece(context, address + i);
        if (piece == NULL || !piece->is_there)
            return false;
        uint64_t offset = address + i - piece->address;
        to[i] = (uint8_t)(piece->words[offset / WORD] >> 8 * (offset % WORD));
    }
    return true;
}

/* Of a Cortex-M's registers, such as FPCCR, one alone is read. Addresses of no memory are the program's
 * fault, or the stack's that is taken for one. */
static bool read_piece(struct stack_reader *reader, uint64_t address, struct error *error)
{
    const uint64_t PRIVATE_BUS = 0xE0000000; /* DDI 0553 B8.1 */
    struct step items[STACK_PIECE_WORDS];
    uint64_t results[STACK_PIECE_WORDS];
    struct steps list = {.items = items, .room = STACK_PIECE_WORDS};
    struct stack_piece *piece = &reader->pieces[reader->n_pieces++];
    struct error refused = {0};
    bool in_registers = core_has(reader->core, SYSTEM_SPACE) && address >= PRIVATE_BUS;
    *piece = (struct stack_piece){.address = address & ~(uint64_t)(WORD - 1),
                                  .n = in_registers ? 1 : STACK_PIECE_WORDS};
    for (size_t i = 0; i < piece->n; i++)
        steps_add(&list, step_read(core_word(reader->core, piece->address + WORD * i)));
    piece->is_there = ledger_run(reader->device->ledger, &list, results, reader->deadline, &refused);
    if (!piece->is_there && refused.kind != ERROR_FAULT)
        return error_copy(error, &refused);
    for (size_t i = 0; i < piece->n && piece->is_there; i++)
        piece->words[i] = (uint32_t)results[i];
    return true;
}

static bool find_stack(struct stack_reader *reader, const struct unwind_core *core, struct error *error)
{
    reader->n_pieces = 0;
    for (uint64_t next = core->value[stack_reader_value_of(reader->core, CORE_SP)];;) {
        if (!read_piece(reader, next, error))
            return false;
        unwind_find(reader->unwind, core, copy_memory, reader, &reader->stack);
        next = reader->stack.unread;
        while (reader->stack.end == UNWIND_NO_MEMORY && stack_reader_find_piece(reader, next) != NULL &&
               stack_reader_find_piece(reader, next)->is_there)
            next++; /* what was asked for begins in a piece that is there */
        if (reader->stack.end != UNWIND_NO_MEMORY || stack_reader_find_piece(reader, next) != NULL ||
            reader->n_pieces == STACK_PIECES)
            return true;
    }
}

static bool stack_reader_take_all(struct stack_reader *reader, bool all, struct register_value *registers,
                                  size_t *n, struct error *error)
{
    *n = want_registers(reader->core, all, registers);
    if (!stack_reader_read_registers(reader, registers, *n, error))
        return false;
    struct unwind_core core = stack_reader_core_of(reader->core, registers, *n);
    return find_stack(reader, &core, error);
}

bool stack_reader_take(struct stack_reader *reader, const struct deadline *deadline, struct error *error)
{
    struct register_value registers[ENGINE_REGISTERS];
    size_t n;
    reader->deadline = deadline;
    return stack_reader_take_all(reader, false, registers, &n, error);
}

bool stack_reader_place(struct stack_reader *reader, struct stop_place *out, const struct deadline *deadline,
                        struct error *error)
{
    struct register_value registers[ENGINE_REGISTERS];
    size_t n;
    reader->deadline = deadline;
    if (!stack_reader_take_all(reader, true, registers, &n, error))
        return false;
    out->n_registers = 0;
    for (size_t i = 0; i < n; i++) {
        struct stop_register *to = &out->registers[out->n_registers];
        if (!registers[i].known)
            continue;
        core_register_name(reader->core, registers[i].which, to->name, sizeof to->name);
        to->value = registers[i].value;
        out->n_registers++;
    }
    out->stack = reader->stack;
    return true;
}

/* ---- stacks */

enum { NAME = 48 };
static const char cut_name[] = "[cut short]", guess_mark[] = " [guessed]";

struct making {
    const struct profile *profile;
    struct symbols *symbols;
    struct stacks *out;
    size_t addresses; /* places before those of states */
    struct location function;
    size_t function_room;
};

static int stacks_by_address(const void *a, const void *b)
{
    const struct stack_place *one = a, *other = b;
    if (one->address != other->address)
        return one->address < other->address ? -1 : 1;
    return one->is_guess - other->is_guess;
}

bool stacks_are_in(const struct profile *profile)
{
    for (size_t i = 0; i < profile->interval_count; i++)
        if (profile->intervals[i].stacks.n > 0)
            return true;
    return false;
}

/* Whether the address is in a part that the compiler moved away, such as f.cold. Such a part is jumped to,
 * and has no frame. `out`: the entry of the function that it is of. */
static bool entry_of_whole(struct symbols *symbols, uint64_t address, struct location *last, uint64_t *out)
{
    struct error ignored = {0};
    struct location whole;
    char name[sizeof whole.name + sizeof whole.source];
    const struct location *part = symbols != NULL ? shares_function_of(symbols, address, last) : NULL;
    const char *cold = part != NULL && part->high > part->low ? strstr(part->name, ".cold") : NULL;
    if (cold == NULL)
        return false;
    const char *clone = strstr(part->name, " [clone");
    int length = (int)((clone != NULL && clone < cold ? clone : cold) - part->name);
    snprintf(name, sizeof name, "%.*s", length, part->name);
    bool found = symbols_locate(symbols, name, &whole, &ignored) && whole.is_function_entry;
    if (!found) {
        snprintf(name, sizeof name, "%.*s:%.*s", (int)strcspn(part->source, ":"), part->source, length,
                 part->name);
        error_clear(&ignored);
        found = symbols_locate(symbols, name, &whole, &ignored) && whole.is_function_entry;
    }
    if (found)
        *out = whole.address;
    return found;
}

/* Returns how many; `out` NULL: only that. */
static size_t stacks_put_places(const struct profile_interval *interval, struct stack_place *out)
{
    size_t n = 0;
    for (size_t i = 0; i < interval->count_count; i++, n++)
        if (out != NULL)
            out[n] = (struct stack_place){.state = PROFILE_STATES, .address = interval->counts[i].address};
    for (size_t i = 0; i < interval->stacks.n; i++) {
        const struct call_stack *stack = &interval->stacks.rows[i];
        for (size_t k = 0; k < stack->depth; k++, n++)
            if (out != NULL)
                out[n] = (struct stack_place){
                    .state = PROFILE_STATES, .address = stack->at[k], .is_guess = k >= stack->sure};
    }
    return n;
}

/* Each part of a function needs the place of the whole, which calls it as it were. */
static bool add_wholes(struct making *making, size_t *n)
{
    struct stack_place *places = realloc(making->out->places, (2 * *n + PROFILE_STATES + 1) * sizeof *places);
    if (places == NULL)
        return false;
    making->out->places = places;
    for (size_t i = 0, each = *n; i < each; i++) {
        places[i].is_part =
            entry_of_whole(making->symbols, places[i].address, &making->function, &places[i].whole);
        if (places[i].is_part)
            places[(*n)++] = (struct stack_place){
                .state = PROFILE_STATES, .address = places[i].whole, .is_guess = places[i].is_guess};
    }
    return true;
}

static bool stacks_gather_places(struct making *making)
{
    const struct profile *profile = making->profile;
    size_t n = 0;
    for (size_t i = 0; i < profile->interval_count; i++)
        n += stacks_put_places(&profile->intervals[i], NULL);
    struct stack_place *places = calloc(n + PROFILE_STATES + 1, sizeof *places);
    making->out->places = places;
    if (places == NULL)
        return false;
    n = 0;
    for (size_t i = 0; i < profile->interval_count; i++)
        n += stacks_put_places(&profile->intervals[i], places + n);
    n = sorted_join(places, n, sizeof *places, stacks_by_address, NULL);
    if (!add_wholes(making, &n))
        return false;
    places = making->out->places;
    size_t used = making->addresses = sorted_join(places, n, sizeof *places, stacks_by_address, NULL);
    for (int state = 0; state < PROFILE_STATES; state++)
        places[used++] = (struct stack_place){.state = (enum profile_state)state};
    if (stacks_are_in(profile))
        places[used++] = (struct stack_place){.state = PROFILE_STATES, .is_cut = true};
    making->out->place_count = used;
    return true;
}

/* "fir.c:42" to its parts. False: out of memory. */
static bool cut_source(const char *source, char **file, unsigned *line)
{
    const char *colon = strrchr(source, ':');
    unsigned long number = colon != NULL ? strtoul(colon + 1, NULL, 10) : 0;
    *line = number <= UINT_MAX ? (unsigned)number : 0;
    *file = NULL;
    if (source[0] == '\0')
        return true;
    *file = strndup(source, colon != NULL ? (size_t)(colon - source) : strlen(source));
    return *file != NULL;
}

/* `like`: its entry, and what else is known. False: out of memory. */
static bool stacks_add_function(struct making *making, const struct stack_function *like, const char *name,
                                const char *source)
{
    struct stacks *out = making->out;
    struct stack_function *more =
        array_grow(out->functions, out->function_count + 1, &making->function_room, sizeof *more);
    if (more == NULL)
        return false;
    out->functions = more;
    struct stack_function *function = &out->functions[out->function_count++];
    *function = *like;
    function->name = strdup(name);
    function->plain = strlen(name);
    return cut_source(source, &function->file, &function->line) && function->name != NULL;
}

/* The last one of this name and entry, which is mostly the last of all. */
static bool stacks_find_function(const struct stacks *stacks, const struct stack_function *like,
                                 const char *name, size_t *at)
{
    for (*at = stacks->function_count; (*at)-- > 0;) {
        const struct stack_function *one = &stacks->functions[*at];
        if (one->entry == like->entry && one->is_guess == like->is_guess && strcmp(one->name, name) == 0)
            return true;
    }
    return false;
}

static bool stacks_put_function(struct making *making, struct stack_place *place,
                                const struct stack_function *like, const char *name, const char *source)
{
    if (stacks_find_function(making->out, like, name, &place->function))
        return true;
    place->function = making->out->function_count;
    return stacks_add_function(making, like, name, source);
}

/* A place without a name is its own function. */
static bool name_by_address(struct making *making, struct stack_place *place)
{
    const struct stack_function like = {.entry = place->address, .is_guess = place->is_guess};
    char name[NAME];
    snprintf(name, sizeof name, "0x%08" PRIx64, place->address);
    place->function = making->out->function_count;
    return stacks_add_function(making, &like, name, "");
}

static bool stacks_name_place(struct making *making, struct stack_place *place)
{
    struct location at;
    struct stack_function like = {.is_outside = true};
    if (place->state != PROFILE_STATES || place->is_cut)
        return stacks_put_function(making, place, &like,
                                   place->is_cut ? cut_name : shares_state_name(place->state), "");
    if (making->symbols == NULL)
        return name_by_address(making, place);
    symbols_describe(making->symbols, place->address, &at);
    if (!cut_source(at.source, &place->file, &place->line))
        return false;
    const struct location *function = shares_function_of(making->symbols, place->address, &making->function);
    bool known = function->high > function->low;
    like = (struct stack_function){
        .entry = known ? function->low : 0, .is_guess = place->is_guess, .is_outside = !known};
    return stacks_put_function(making, place, &like, known ? function->name : "[unknown]",
                               known ? function->source : "");
}

/* ---- names of which several functions have one */

static int stacks_by_name(const void *a, const void *b)
{
    const struct stack_function *one = *(const struct stack_function *const *)a,
                                *other = *(const struct stack_function *const *)b;
    return strcmp(one->name, other->name);
}

/* Among `n` functions of one name; one that is guessed in some stacks is the same function. */
static bool is_told_by_source(struct stack_function *const *functions, size_t n,
                              const struct stack_function *one)
{
    for (size_t i = 0; i < n; i++)
        if (functions[i]->entry != one->entry && functions[i]->line == one->line &&
            strcmp(or_empty(functions[i]->file), or_empty(one->file)) == 0)
            return false;
    return one->file != NULL;
}

static bool stacks_rename(struct stack_function *function, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static bool stacks_rename(struct stack_function *function, const char *format, ...)
{
    char *name = NULL;
    va_list parts;
    va_start(parts, format);
    int length = vasprintf(&name, format, parts);
    va_end(parts);
    if (length < 0)
        return false;
    free(function->name);
    function->name = name;
    return true;
}

/* `n` functions of one name: overloads, or static ones. */
static bool name_several(struct stack_function *const *functions, size_t n)
{
    bool ok = true;
    for (size_t i = 0; i < n && ok; i++) {
        struct stack_function *one = functions[i];
        ok = is_told_by_source(functions, n, one)
                 ? stacks_rename(one, "%s [%s:%u]", one->name, one->file, one->line)
                 : stacks_rename(one, "%s [0x%08" PRIx64 "]", one->name, one->entry);
    }
    return ok;
}

static bool mark_guesses(struct stacks *stacks)
{
    bool ok = true;
    for (size_t i = 0; i < stacks->function_count && ok; i++) {
        struct stack_function *one = &stacks->functions[i];
        ok = !one->is_guess || stacks_rename(one, "%s%s", one->name, guess_mark);
    }
    return ok;
}

/* Other programs know a function by its name alone. Stackcollapse-perf drops what is in parentheses. */
static bool tell_apart(struct stacks *stacks)
{
    size_t count = stacks->function_count;
    struct stack_function **functions = calloc(count + 1, sizeof(void *));
    bool ok = functions != NULL;
    for (size_t i = 0; i < count && ok; i++)
        functions[i] = &stacks->functions[i];
    if (ok)
        qsort(functions, count, sizeof(void *), stacks_by_name);
    for (size_t i = 0, n; i < count && ok; i += n) {
        bool several = false;
        for (n = 1; i + n < count && strcmp(functions[i]->name, functions[i + n]->name) == 0; n++)
            several = several || functions[i]->entry != functions[i + n]->entry;
        ok = !several || name_several(&functions[i], n);
    }
    free(functions);
    return ok && mark_guesses(stacks);
}

static bool name_places(struct making *making)
{
    for (size_t i = 0; i < making->out->place_count; i++)
        if (!stacks_name_place(making, &making->out->places[i]))
            return false;
    return tell_apart(making->out);
}

/* ---- rows */

/* The rows that merge into one: those of a core and a place. */
static int stacks_by_place(const void *a, const void *b)
{
    const struct stack *one = a, *other = b;
    if (one->core != other->core)
        return one->core < other->core ? -1 : 1;
    return (one->first > other->first) - (one->first < other->first);
}

static int stacks_by_time(const void *a, const void *b)
{
    const struct stack *one = a, *other = b;
    if (one->from < other->from || one->from > other->from)
        return one->from < other->from ? -1 : 1;
    return stacks_by_place(a, b);
}

static void stacks_add_row(struct stacks *out, const struct profile_interval *interval, size_t place,
                           uint64_t samples)
{
    if (samples > 0)
        out->rows[out->n++] = (struct stack){.core = interval->core,
                                             .from = interval->from,
                                             .to = interval->to,
                                             .first = place,
                                             .depth = 1,
                                             .samples = samples};
}

static size_t find_place(const struct making *making, uint64_t address, bool is_guess)
{
    struct stack_place wanted = {.address = address, .is_guess = is_guess};
    const struct stack_place *places = making->out->places;
    const struct stack_place *place =
        bsearch(&wanted, places, making->addresses, sizeof wanted, stacks_by_address);
    return (size_t)(place - places);
}

static void add_stack(const struct making *making, const struct profile_interval *interval,
                      const struct call_stack *stack)
{
    struct stacks *out = making->out;
    size_t first = out->frame_count;
    for (size_t i = 0; i < stack->depth; i++) {
        size_t at = out->frames[out->frame_count++] = find_place(making, stack->at[i], i >= stack->sure);
        if (out->places[at].is_part)
            out->frames[out->frame_count++] = find_place(making, out->places[at].whole, i >= stack->sure);
    }
    if (stack->end != UNWIND_OUTERMOST)
        out->frames[out->frame_count++] = out->place_count - 1;
    stacks_add_row(out, interval, first, stack->samples);
    out->rows[out->n - 1].depth = out->frame_count - first;
}

static void stacks_add_interval(const struct making *making, const struct profile_interval *interval)
{
    for (size_t i = 0; i < interval->stacks.n; i++)
        add_stack(making, interval, &interval->stacks.rows[i]);
    for (size_t i = 0; i < interval->count_count && interval->stacks.n == 0; i++)
        stacks_add_row(making->out, interval, find_place(making, interval->counts[i].address, false),
                       interval->counts[i].samples);
    for (size_t state = 0; state < PROFILE_STATES; state++)
        stacks_add_row(making->out, interval, making->addresses + state, interval->states[state]);
}

static void merge_row(void *first, const void *other)
{
    struct stack *to = first;
    const struct stack *row = other;
    to->samples += row->samples;
    to->from = row->from < to->from ? row->from : to->from;
    to->to = row->to > to->to ? row->to : to->to;
}

/* A stack of one frame is at the frame's own index; those of calls are after all of these. */
static bool stacks_make_room(const struct making *making, const struct profile_interval *intervals, size_t n)
{
    struct stacks *out = making->out;
    size_t rows = 0, frames = out->place_count;
    for (size_t i = 0; i < n; i++) {
        rows += intervals[i].count_count + intervals[i].stacks.n + PROFILE_STATES;
        for (size_t k = 0; k < intervals[i].stacks.n; k++)
            frames += 2 * intervals[i].stacks.rows[k].depth + 1;
    }
    out->rows = calloc(rows + 1, sizeof *out->rows);
    out->frames = calloc(frames, sizeof *out->frames);
    if (out->rows == NULL || out->frames == NULL)
        return false;
    for (; out->frame_count < out->place_count; out->frame_count++)
        out->frames[out->frame_count] = out->frame_count;
    return true;
}

static bool stacks_add_rows(const struct making *making, const struct profile_interval *intervals, size_t n)
{
    if (!stacks_make_room(making, intervals, n))
        return false;
    for (size_t i = 0; i < n; i++)
        stacks_add_interval(making, &intervals[i]);
    return true;
}

/* Borrows the counts. */
static bool stacks_join(struct profile_interval *to, const struct profile_interval *from)
{
    to->from = from->from < to->from ? from->from : to->from;
    to->to = from->to > to->to ? from->to : to->to;
    return call_stacks_merge(&to->stacks, &from->stacks);
}

/* The stacks of a core are gathered in one interval after all others, each once. */
static bool add_joined_rows(const struct making *making)
{
    const struct profile *profile = making->profile;
    size_t n = profile->interval_count, cores = profile->about.core_count;
    struct profile_interval *intervals = calloc(n + cores, sizeof *intervals);
    bool ok = intervals != NULL;
    for (size_t core = 0; core < cores && ok; core++)
        intervals[n + core] = (struct profile_interval){.core = (unsigned)core, .from = HUGE_VAL};
    for (size_t i = 0; i < n && ok; i++) {
        const struct profile_interval *from = &profile->intervals[i];
        intervals[i] = *from;
        intervals[i].stacks = (struct call_stacks){0};
        if (from->stacks.n == 0)
            continue;
        intervals[i].count_count = 0;
        ok = stacks_join(&intervals[n + from->core], from);
    }
    ok = ok && stacks_add_rows(making, intervals, n + cores);
    for (size_t core = 0; core < cores && intervals != NULL; core++)
        call_stacks_free(&intervals[n + core].stacks);
    free(intervals);
    return ok;
}

static bool stacks_make_rows(const struct making *making, bool in_time)
{
    struct stacks *out = making->out;
    if (in_time ? !stacks_add_rows(making, making->profile->intervals, making->profile->interval_count)
                : !add_joined_rows(making))
        return false;
    if (in_time)
        qsort(out->rows, out->n, sizeof *out->rows, stacks_by_time);
    else
        out->n = sorted_join(out->rows, out->n, sizeof *out->rows, stacks_by_place, merge_row);
    return true;
}

bool stacks_make(const struct profile *profile, struct symbols *symbols, bool in_time, struct stacks *out)
{
    struct making making = {.profile = profile, .symbols = symbols, .out = out};
    *out = (struct stacks){0};
    bool ok = stacks_gather_places(&making) && name_places(&making) && stacks_make_rows(&making, in_time);
    if (!ok)
        stacks_free(out);
    return ok;
}

void stacks_free(struct stacks *stacks)
{
    for (size_t i = 0; i < stacks->function_count; i++) {
        free(stacks->functions[i].name);
        free(stacks->functions[i].file);
    }
    for (size_t i = 0; i < stacks->place_count; i++)
        free(stacks->places[i].file);
    free(stacks->functions);
    free(stacks->places);
    free(stacks->frames);
    free(stacks->rows);
    *stacks = (struct stacks){0};
}

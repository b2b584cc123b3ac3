/* SPDX-License-Identifier: MIT */
#include "engine/breakpoints.h"

#include "device/run.h"
#include "device/settings.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { LIST_ROOM = 16, NEIGHBOURS_US = 100000, RESUME_TRIES = 3, NAP_US = 5000 };

/* Of a run that did not end, not what something else has put there since. */
static const struct restore only_ours = {.only_ours = true};

/* --- comparators ---------------------------------------------------------------------------------------- */

static uint32_t breakpoints_bit(unsigned n)
{
    return UINT32_C(1) << n;
}

/* Sets have 32 bits: enough for every core, but a garbled FP_CTRL can claim 127. */
static unsigned count_comparators(const struct core *core)
{
    return core->comparators < 32 ? core->comparators : 32;
}

static uint32_t first_ones(unsigned n)
{
    return n < 32 ? breakpoints_bit(n) - 1 : UINT32_MAX;
}

static uint32_t last_ones(const struct core *core, unsigned n)
{
    unsigned all = count_comparators(core);
    return n >= all ? first_ones(all) : first_ones(all) & ~first_ones(all - n);
}

static unsigned take_last(uint32_t *set)
{
    unsigned n = 0;
    while (*set >> n > 1)
        n++;
    *set &= ~breakpoints_bit(n);
    return n;
}

static void add_taken(char *text, size_t size, uint64_t address)
{
    size_t used = strlen(text);
    snprintf(text + used, size - used, " 0x%08" PRIX64, address);
}

/* To be restored; its value last, for the value may need the control to say what it is. */
static bool hold_comparator(struct breakpoints *self, unsigned n, struct error *error)
{
    const struct core *core = self->core;
    for (unsigned i = core_comparator_words(core); i-- > 0;)
        if (!ledger_hold(self->ledger, core_comparator(core, n, i), only_ours, NULL, self->deadline, error))
            return false;
    return true;
}

static bool write_comparator(struct breakpoints *self, unsigned n, unsigned word, uint64_t value,
                             struct error *error)
{
    return ledger_write(self->ledger, core_comparator(self->core, n, word), value, only_ours, self->deadline,
                        error);
}

/* Switches off what is left over in a unit that is off as a whole, for it would act with ours. */
static bool find_comparators(struct breakpoints *self, struct comparators *out, struct error *error)
{
    const struct core *core = self->core;
    struct setting on = core_comparators_on(core);
    uint64_t now;
    *out = (struct comparators){.sole = true};
    if (!ledger_read(self->ledger, on.at, &now, self->deadline, error))
        return false;
    bool all_off = (now & on.test) != on.set;
    for (unsigned n = count_comparators(core); n-- > 0;) {
        bool used;
        uint64_t words[COMPARATOR_WORDS], address;
        if (!settings_read_comparator(self->ledger, core, n, words, &used, &address, self->deadline, error))
            return false;
        if (used && all_off && !(hold_comparator(self, n, error) && write_comparator(self, n, 0, 0, error)))
            return false;
        if (!used || all_off) {
            out->free |= breakpoints_bit(n);
            continue;
        }
        out->sole = false;
        add_taken(out->taken, sizeof out->taken, address);
        if ((last_ones(core, core->context_comparators) & breakpoints_bit(n)) != 0)
            add_taken(out->taken_context, sizeof out->taken_context, address);
    }
    return true;
}

bool comparators_choose(const struct core *core, const struct comparators *found, bool by_context,
                        struct comparator_choice *out, struct error *error)
{
    uint32_t free = found->free;
    *out = (struct comparator_choice){0};
    uint32_t others = by_context ? free & ~last_ones(core, core->context_comparators) : 0,
             able = free & ~others;
    if (able == 0)
        return error_set(error, ERROR_NO_COMPARATOR, "all %u breakpoint comparators%s are taken, by%s",
                         by_context ? core->context_comparators : core->comparators,
                         by_context ? " that can compare contexts" : "",
                         by_context ? found->taken_context : found->taken);
    if (by_context) {
        out->context = take_last(&able);
        free = others | able;
        if (free == 0)
            return error_set(error, ERROR_NO_COMPARATOR,
                             "--context takes two breakpoint comparators: all others are taken, by%s",
                             found->taken);
    }
    out->stop = take_last(&free);
    out->rest = free;
    return true;
}

/* A comparator of contexts never matches alone: it gates the one that is linked to it. Its control is written
 * first: until it compares contexts, bits 1:0 of its value are dropped. */
static bool set_context(struct breakpoints *self, struct error *error)
{
    const struct core *core = self->core;
    unsigned n = self->context_comparator;
    self->setup.linked = self->by_context;
    self->setup.linked_to = n;
    if (!self->by_context)
        return true;
    if (!hold_comparator(self, n, error))
        return false;
    if (!write_comparator(self, n, 0, core_context_comparator(core, false), error))
        return false;
    for (unsigned i = 1; i < core_comparator_words(core); i++)
        if (!write_comparator(self, n, i, i == 1 ? self->context : 0, error))
            return false;
    return write_comparator(self, n, 0, core_context_comparator(core, true), error);
}

static bool breakpoints_take_comparators(struct breakpoints *self, struct error *error)
{
    const struct core *core = self->core;
    struct setting on = core_comparators_on(core);
    struct comparators found;
    struct comparator_choice choice;
    if (self->comparator_held)
        return true;
    if (!find_comparators(self, &found, error))
        return false;
    if (core->unstoppable != NULL)
        return error_set(error, ERROR_NO_CORE, "the core cannot be halted: %s", core->unstoppable);
    if (core->comparators == 0)
        return error_set(error, ERROR_NO_COMPARATOR, "the core has no breakpoint comparators for debuggers");
    if (!comparators_choose(core, &found, self->by_context, &choice, error))
        return false;
    for (self->n_extra = 0; self->n_extra < self->n_wanted && choice.rest != 0; self->n_extra++) {
        self->extra[self->n_extra] = take_last(&choice.rest);
        if (!hold_comparator(self, self->extra[self->n_extra], error))
            return false;
    }
    self->setup.sole = found.sole && self->n_extra == 0;
    self->comparator = choice.stop;
    self->context_comparator = choice.context;
    self->comparator_held = set_context(self, error) && hold_comparator(self, choice.stop, error) &&
                            ledger_apply(self->ledger, &on, self->deadline, error);
    return self->comparator_held;
}

static bool is_off(const struct breakpoints *self, unsigned n, const struct deadline *deadline)
{
    const struct core *core = self->core;
    uint64_t words[COMPARATOR_WORDS] = {0}, ignored;
    struct error unread = {0};
    return ledger_read(self->ledger, core_comparator(core, n, 0), &words[0], deadline, &unread) &&
           !core_comparator_used(core, words, &ignored);
}

bool breakpoints_check(const struct breakpoints *self, const struct deadline *deadline, struct error *error)
{
    struct setting on = core_comparators_on(self->core);
    struct error unread = {0};
    uint64_t now;
    if (!self->comparator_held)
        return true;
    unsigned ours[] = {self->comparator, self->context_comparator};
    for (size_t i = 0; i < (self->by_context ? 2 : 1); i++)
        if (is_off(self, ours[i], deadline))
            return error_set(error, ERROR_CLEARED,
                             "something else cleared our breakpoint (comparator %u of %s)", ours[i],
                             i == 0 ? "the core" : "CONTEXTIDR");
    if (ledger_read(self->ledger, on.at, &now, deadline, &unread) && (now & on.test) != on.set)
        return error_set(error, ERROR_CLEARED, "something else switched off the core's halting debug");
    return true;
}

/* --- neighbours ----------------------------------------------------------------------------------------- */

static bool is_neighbour(const struct device *device, const struct device_core *core)
{
    return core != device->chosen && core_has_breakpoint_instruction(&core->core) &&
           core->state != CORE_HIDDEN;
}

static bool breakpoints_switch_on(struct device *device, const struct core *core,
                                  const struct deadline *deadline, struct error *error)
{
    struct setting settings[CORE_SETTINGS];
    struct address enable = core_debug_enable(core);
    size_t n = core_settings(core, settings, CORE_SETTINGS);
    for (size_t i = 0; i < n; i++)
        if (settings[i].at.offset == enable.offset &&
            !ledger_apply(device->ledger, &settings[i], deadline, error))
            return false;
    return run_allow_commands(device->ledger, core, error);
}

static bool is_place(const struct breakpoints *self, uint64_t pc)
{
    for (size_t i = 0; i < self->n_places && i < BREAKPOINTS_PLACES; i++)
        if (self->places[i] == pc)
            return true;
    return false;
}

/* Before a breakpoint instruction is written at `place`. */
static bool guard_neighbours(struct breakpoints *self, uint64_t place, struct error *error)
{
    struct device *device = self->device;
    if (!is_place(self, place))
        self->places[self->n_places++ % BREAKPOINTS_PLACES] = place;
    for (size_t i = 0; !self->guarded && i < device->n_cores; i++) {
        struct error why = {0};
        if (is_neighbour(device, &device->cores[i]) &&
            !breakpoints_switch_on(device, &device->cores[i].core, self->deadline, &why) &&
            !error_is_refusal(&why)) /* a core without power or clock runs onto nothing */
            return error_set(error, why.kind, "core %zu may run onto a breakpoint in RAM: %s", i, why.text);
    }
    self->guarded = true;
    self->looked_us = deadline_now_us();
    return true;
}

static bool has_stopped(struct breakpoints *self, const struct device_core *one, bool *stopped, uint64_t *pc,
                        struct error *error)
{
    struct device *device = self->device;
    const struct core *core = &one->core;
    uint64_t status;
    *stopped = false;
    if (!is_neighbour(device, one))
        return true;
    if (!ledger_read(device->ledger, core_status_register(core), &status, self->deadline, error))
        return false;
    if (core_state_of(core, status) != CORE_HALTED)
        return true;
    if (!run_read_register(device->ledger, core, CORE_PC, pc, self->deadline, error))
        return false;
    *pc = core_code_place(*pc);
    *stopped = is_place(self, *pc);
    return true;
}

bool breakpoints_check_neighbours(struct breakpoints *self, bool now, const struct deadline *deadline,
                                  struct error *error)
{
    self->deadline = deadline;
    struct device *device = self->device;
    int64_t us = deadline_now_us();
    if (!self->guarded || (!now && us - self->looked_us < NEIGHBOURS_US))
        return true;
    self->looked_us = us;
    for (size_t i = 0; i < device->n_cores; i++) {
        bool stopped;
        uint64_t pc;
        if (!has_stopped(self, &device->cores[i], &stopped, &pc, error))
            return false;
        if (stopped)
            return error_set(error, ERROR_ADDRESS,
                             "core %zu has run onto the breakpoint at 0x%08" PRIX64
                             " for core %zu: in RAM it is an instruction for both",
                             i, pc, (size_t)(device->chosen - device->cores));
    }
    return true;
}

static bool resume_neighbour(struct breakpoints *self, const struct device_core *one, struct error *error)
{
    const struct core *core = &one->core;
    struct step items[LIST_ROOM];
    uint64_t results[LIST_ROOM], pc;
    struct steps list = {.items = items, .room = LIST_ROOM};
    bool stopped;
    if (!has_stopped(self, one, &stopped, &pc, error))
        return false;
    if (!stopped)
        return true;
    core_add_clear_breakpoint(core, &list);
    core_add_let_go(core, &list);
    return ledger_run(self->device->ledger, &list, results, self->deadline, error);
}

bool breakpoints_resume_neighbours(struct breakpoints *self, const struct deadline *deadline,
                                   struct error *error)
{
    self->deadline = deadline;
    struct device *device = self->device;
    for (size_t i = 0; self->guarded && i < device->n_cores; i++) {
        struct error why = {0};
        for (int tries = 0; tries < RESUME_TRIES; tries++) {
            why = (struct error){0};
            if (resume_neighbour(self, &device->cores[i], &why) || !error_is_refusal(&why))
                break;
            deadline_nap_us(NAP_US);
        }
        if (why.kind != ERROR_NONE && !error_is_refusal(&why))
            return error_copy(error, &why);
    }
    self->guarded = false;
    self->n_places = 0;
    return true;
}

/* --- breakpoint instructions ---------------------------------------------------------------------------- */

static struct address instruction_at(const struct breakpoints *self, uint64_t address)
{
    struct address at = core_word(self->core, address);
    (void)core_breakpoint_instruction(self->core, &at.size);
    return at;
}

static const struct bkpt_patch *find_patch(const struct breakpoints *self, uint64_t address)
{
    for (size_t i = 0; i < self->n_patches; i++)
        if (self->patches[i].address == address)
            return &self->patches[i];
    return NULL;
}

static bool drop_oldest(struct breakpoints *self, struct error *error)
{
    size_t oldest = 0;
    for (size_t i = 1; i < self->n_patches; i++)
        if (self->patches[i].used < self->patches[oldest].used)
            oldest = i;
    if (!ledger_release(self->ledger, instruction_at(self, self->patches[oldest].address), self->deadline,
                        error))
        return false;
    self->patches[oldest] = self->patches[--self->n_patches];
    return true;
}

static bool prepare_patch(struct breakpoints *self, uint64_t address, struct error *error)
{
    uint64_t original;
    if (find_patch(self, address) != NULL)
        return true;
    if (self->n_patches == BREAKPOINTS_PATCHES && !drop_oldest(self, error))
        return false;
    if (self->device != NULL && !guard_neighbours(self, address, error))
        return false;
    if (!ledger_hold(self->ledger, instruction_at(self, address), only_ours, &original, self->deadline,
                     error))
        return error_prefix(error, "no breakpoint at 0x%08" PRIX64 ": ", address);
    self->patches[self->n_patches++] = (struct bkpt_patch){.address = address, .original = original};
    return true;
}

static void write_instruction(const struct breakpoints *self, struct steps *list, uint64_t address,
                              uint64_t code)
{
    steps_add(list, step_write(instruction_at(self, address), code));
    core_add_code_changed(self->core, list, address);
}

static bool remove_patch(struct breakpoints *self, struct error *error)
{
    struct step items[4];
    uint64_t results[4];
    struct steps list = {.items = items, .room = 4};
    uint64_t address = self->patches[self->n_patches - 1].address;
    core_add_code_changed(self->core, &list, address);
    if (!ledger_release(self->ledger, instruction_at(self, address), self->deadline, error))
        return false;
    if (list.n > 0 && ledger_execute(self->ledger, &list, 0, results, self->deadline, error).why != DONE)
        return error_set(error, ERROR_FAULT,
                         "the core may still have a breakpoint at 0x%08" PRIX64 " in a cache", address);
    self->n_patches--;
    return true;
}

/* --- breakpoints ---------------------------------------------------------------------------------------- */

bool breakpoints_refuse(uint64_t address, struct error *error)
{
    return error_set(error, ERROR_ADDRESS, "no breakpoint can be put at 0x%08" PRIX64, address);
}

void breakpoints_init(struct breakpoints *self, struct ledger *ledger, const struct core *core,
                      struct device *device)
{
    *self = (struct breakpoints){.ledger = ledger, .core = core, .device = device};
}

void breakpoints_want_extra(struct breakpoints *self, unsigned n)
{
    self->n_wanted = n < BREAKPOINTS_EXTRA ? n : BREAKPOINTS_EXTRA;
}

bool breakpoints_prepare(struct breakpoints *self, uint64_t address, const struct deadline *deadline,
                         struct error *error)
{
    self->deadline = deadline;
    if (core_can_compare(self->core, address))
        return breakpoints_take_comparators(self, error);
    if (!prepare_patch(self, address, error))
        return false;
    for (size_t i = 0; i < self->n_patches; i++)
        if (self->patches[i].address == address)
            self->patches[i].used = ++self->age;
    return true;
}

bool breakpoints_can_have_extra(const struct breakpoints *self, unsigned n, uint64_t address)
{
    return core_can_compare(self->core, address) ? n < self->n_extra : find_patch(self, address) != NULL;
}

static void add_move(const struct breakpoints *self, struct steps *list, unsigned comparator, uint64_t from,
                     uint64_t to)
{
    const struct core *core = self->core;
    const struct bkpt_patch *patch_from = find_patch(self, from), *patch_to = find_patch(self, to);
    uint8_t size;
    if (from == to)
        return;
    if (patch_from != NULL)
        write_instruction(self, list, from, patch_from->original);
    uint64_t left = patch_from != NULL ? BREAKPOINT_NONE : from,
             entered = patch_to != NULL ? BREAKPOINT_NONE : to;
    if (left != BREAKPOINT_NONE || entered != BREAKPOINT_NONE)
        core_add_comparator(core, &self->setup, list, comparator, left, entered);
    if (patch_to != NULL)
        write_instruction(self, list, to, core_breakpoint_instruction(core, &size));
}

void breakpoints_add_move(const struct breakpoints *self, struct steps *list, uint64_t from, uint64_t to)
{
    add_move(self, list, self->comparator, from, to);
}

void breakpoints_add_extra(const struct breakpoints *self, struct steps *list, unsigned n, uint64_t from,
                           uint64_t to)
{
    add_move(self, list, self->extra[n], from, to);
}

void breakpoints_add_proof(const struct breakpoints *self, struct steps *list, uint64_t address)
{
    uint8_t size;
    if (find_patch(self, address) != NULL)
        steps_add(list, step_expect(instruction_at(self, address), 0xFFFF,
                                    core_breakpoint_instruction(self->core, &size)));
}

/* Off now; its old value is restored with the rest of the ledger, after the unit as a whole. One that another
 * debugger has set since is its own. */
static bool remove_comparator(struct breakpoints *self, unsigned n, struct error *error)
{
    const struct core *core = self->core;
    bool ours = true;
    for (unsigned i = 0; ours && i < core_comparator_words(core); i++)
        if (!ledger_is_ours(self->ledger, core_comparator(core, n, i), &ours, self->deadline, error))
            return false;
    for (unsigned i = core_comparator_words(core); !ours && i-- > 0;)
        ledger_leave(self->ledger, core_comparator(core, n, i));
    return !ours || write_comparator(self, n, 0, 0, error);
}

bool breakpoints_are_overwritten(const struct breakpoints *self, const struct deadline *deadline,
                                 uint64_t *address)
{
    for (size_t i = 0; i < self->n_patches; i++) {
        *address = self->patches[i].address;
        if (ledger_is_overwritten(self->ledger, instruction_at(self, *address), deadline))
            return true;
    }
    return false;
}

bool breakpoints_remove(struct breakpoints *self, const struct deadline *deadline, struct error *error)
{
    self->deadline = deadline;
    while (self->n_patches > 0)
        if (!remove_patch(self, error))
            return false;
    for (unsigned i = 0; self->comparator_held && i < self->n_extra; i++)
        if (!remove_comparator(self, self->extra[i], error))
            return false;
    if (self->comparator_held &&
        (!remove_comparator(self, self->comparator, error) ||
         (self->by_context && !remove_comparator(self, self->context_comparator, error))))
        return false;
    self->comparator_held = false;
    return true;
}

#include "engine/breakpoints.h"

#include "device/run.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { LIST_ROOM = 16, NEIGHBOURS_US = 100000, RESUME_TRIES = 3, NAP_US = 5000 };

/* Of a run that did not end, not what something else has put there since. */
static const struct restore only_ours = {.only_ours = true};

/* --- comparators ---------------------------------------------------------------------------------------- */

static uint32_t bit(unsigned n)
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
    return n < 32 ? bit(n) - 1 : UINT32_MAX;
}

/* The last `n` of them, as bits. */
static uint32_t last_ones(const struct core *core, unsigned n)
{
    unsigned all = count_comparators(core);
    return n >= all ? first_ones(all) : first_ones(all) & ~first_ones(all - n);
}

/* Takes the last one of a set that is not empty. */
static unsigned take_last(uint32_t *set)
{
    unsigned n = 0;
    while (*set >> n > 1)
        n++;
    *set &= ~bit(n);
    return n;
}

static void add_taken(char *text, size_t size, uint64_t address)
{
    size_t used = strlen(text);
    snprintf(text + used, size - used, " 0x%08" PRIX64, address);
}

/* To be restored; its value last, for the value may need the control to say what it is. */
static bool hold_comparator(struct ledger *ledger, const struct core *core, unsigned n,
                            const struct deadline *deadline, struct error *error)
{
    for (unsigned i = core_comparator_words(core); i-- > 0;)
        if (!ledger_hold(ledger, core_comparator(core, n, i), only_ours, NULL, deadline, error))
            return false;
    return true;
}

static bool read_comparator(struct ledger *ledger, const struct core *core, unsigned n, bool *used,
                            uint64_t *address, const struct deadline *deadline, struct error *error)
{
    uint64_t words[COMPARATOR_WORDS];
    for (unsigned i = 0; i < core_comparator_words(core); i++)
        if (!ledger_read(ledger, core_comparator(core, n, i), &words[i], deadline, error))
            return false;
    *used = core_comparator_used(core, words, address);
    return true;
}

/* Switches off what is left over in a unit that is off as a whole, for it would act with ours. */
static bool find_comparators(struct ledger *ledger, const struct core *core, struct comparators *out,
                             const struct deadline *deadline, struct error *error)
{
    struct setting on = core_comparators_on(core);
    uint64_t now;
    *out = (struct comparators){.sole = true};
    if (!ledger_read(ledger, on.at, &now, deadline, error))
        return false;
    bool all_off = (now & on.test) != on.set;
    for (unsigned n = count_comparators(core); n-- > 0;) {
        bool used;
        uint64_t address;
        if (!read_comparator(ledger, core, n, &used, &address, deadline, error))
            return false;
        if (used && all_off &&
            !(hold_comparator(ledger, core, n, deadline, error) &&
              ledger_write(ledger, core_comparator(core, n, 0), 0, only_ours, deadline, error)))
            return false;
        if (!used || all_off) {
            out->free |= bit(n);
            continue;
        }
        out->sole = false;
        add_taken(out->taken, sizeof out->taken, address);
        if ((last_ones(core, core->context_comparators) & bit(n)) != 0)
            add_taken(out->taken_context, sizeof out->taken_context, address);
    }
    return true;
}

bool comparators_choose(const struct core *core, const struct comparators *found, bool by_context,
                        struct comparator_choice *out, struct error *error)
{
    uint32_t free = found->free;
    *out = (struct comparator_choice){0};
    if (free == 0 && !by_context)
        return error_set(error, ERROR_NO_COMPARATOR, "all %u breakpoint comparators are taken, by%s",
                         core->comparators, found->taken);
    if (by_context) {
        uint32_t others = free & ~last_ones(core, core->context_comparators);
        uint32_t able = free & ~others;
        if (able == 0)
            return error_set(error, ERROR_NO_COMPARATOR,
                             "all %u breakpoint comparators that can compare contexts are taken, by%s",
                             core->context_comparators, found->taken_context);
        out->context = take_last(&able);
        free = others | able;
        if (free == 0)
            return error_set(error, ERROR_NO_COMPARATOR,
                             "--context takes two breakpoint comparators, and all others are taken, by%s",
                             found->taken);
    }
    out->stop = take_last(&free);
    out->rest = free;
    return true;
}

static bool write_comparator(struct breakpoints *breakpoints, unsigned n, unsigned word, uint64_t value,
                             const struct deadline *deadline, struct error *error)
{
    return ledger_write(breakpoints->ledger, core_comparator(breakpoints->core, n, word), value, only_ours,
                        deadline, error);
}

/* A comparator of contexts never matches alone: it gates the one that is linked to it. Its control is written
 * first: until it compares contexts, bits 1:0 of its value are dropped. */
static bool set_context(struct breakpoints *breakpoints, const struct deadline *deadline, struct error *error)
{
    const struct core *core = breakpoints->core;
    unsigned n = breakpoints->context_comparator;
    breakpoints->setup.linked = breakpoints->by_context;
    breakpoints->setup.linked_to = n;
    if (!breakpoints->by_context)
        return true;
    if (!hold_comparator(breakpoints->ledger, core, n, deadline, error))
        return false;
    if (!write_comparator(breakpoints, n, 0, core_context_comparator(core, false), deadline, error))
        return false;
    for (unsigned i = 1; i < core_comparator_words(core); i++)
        if (!write_comparator(breakpoints, n, i, i == 1 ? breakpoints->context : 0, deadline, error))
            return false;
    return write_comparator(breakpoints, n, 0, core_context_comparator(core, true), deadline, error);
}

static bool take_comparators(struct breakpoints *breakpoints, const struct deadline *deadline,
                             struct error *error)
{
    const struct core *core = breakpoints->core;
    struct setting on = core_comparators_on(core);
    struct comparators found;
    struct comparator_choice choice;
    if (breakpoints->comparator_held)
        return true;
    if (!find_comparators(breakpoints->ledger, core, &found, deadline, error))
        return false;
    if (core->unstoppable != NULL)
        return error_set(error, ERROR_NO_CORE, "the core cannot be halted: %s", core->unstoppable);
    if (core->comparators == 0)
        return error_set(error, ERROR_NO_COMPARATOR,
                         "the core has no breakpoint comparators that a debugger can use");
    if (!comparators_choose(core, &found, breakpoints->by_context, &choice, error))
        return false;
    for (breakpoints->n_extra = 0; breakpoints->n_extra < breakpoints->n_wanted && choice.rest != 0;
         breakpoints->n_extra++) {
        breakpoints->extra[breakpoints->n_extra] = take_last(&choice.rest);
        if (!hold_comparator(breakpoints->ledger, core, breakpoints->extra[breakpoints->n_extra], deadline,
                             error))
            return false;
    }
    breakpoints->setup.sole = found.sole && breakpoints->n_extra == 0;
    breakpoints->comparator = choice.stop;
    breakpoints->context_comparator = choice.context;
    breakpoints->comparator_held = set_context(breakpoints, deadline, error) &&
                                   hold_comparator(breakpoints->ledger, core, choice.stop, deadline, error) &&
                                   ledger_apply(breakpoints->ledger, &on, deadline, error);
    return breakpoints->comparator_held;
}

static bool is_off(const struct breakpoints *breakpoints, unsigned n, const struct deadline *deadline)
{
    const struct core *core = breakpoints->core;
    uint64_t words[COMPARATOR_WORDS] = {0}, ignored;
    struct error unread = {0};
    return ledger_read(breakpoints->ledger, core_comparator(core, n, 0), &words[0], deadline, &unread) &&
           !core_comparator_used(core, words, &ignored);
}

bool breakpoints_check(const struct breakpoints *breakpoints, const struct deadline *deadline,
                       struct error *error)
{
    struct setting on = core_comparators_on(breakpoints->core);
    struct error unread = {0};
    uint64_t now;
    if (!breakpoints->comparator_held)
        return true;
    if (is_off(breakpoints, breakpoints->comparator, deadline))
        return error_set(error, ERROR_CLEARED,
                         "something else cleared our breakpoint (comparator %u of the core)",
                         breakpoints->comparator);
    if (breakpoints->by_context && is_off(breakpoints, breakpoints->context_comparator, deadline))
        return error_set(error, ERROR_CLEARED,
                         "something else cleared the comparator of CONTEXTIDR (%u) that our breakpoint needs",
                         breakpoints->context_comparator);
    if (ledger_read(breakpoints->ledger, on.at, &now, deadline, &unread) && (now & on.test) != on.set)
        return error_set(error, ERROR_CLEARED,
                         "something else switched off the core's halting debug, and our breakpoint with it");
    return true;
}

/* --- neighbours ----------------------------------------------------------------------------------------- */

static bool is_neighbour(const struct device *device, const struct device_core *core)
{
    return core != device->chosen && core_has_breakpoint_instruction(&core->core) &&
           core->state != CORE_HIDDEN;
}

static bool switch_on(struct device *device, const struct core *core, const struct deadline *deadline,
                      struct error *error)
{
    struct setting settings[CORE_SETTINGS];
    struct address commands[LIST_ROOM], enable = core_debug_enable(core);
    size_t n = core_settings(core, settings, CORE_SETTINGS);
    size_t n_commands = core_commands(core, commands, LIST_ROOM);
    for (size_t i = 0; i < n; i++)
        if (settings[i].at.offset == enable.offset &&
            !ledger_apply(device->ledger, &settings[i], deadline, error))
            return false;
    for (size_t i = 0; i < n_commands; i++)
        if (!ledger_allow(device->ledger, commands[i], error))
            return false;
    return true;
}

/* A core without power or clock runs onto nothing. */
static bool is_away(const struct error *why)
{
    return why->kind == ERROR_FAULT || why->kind == ERROR_ASLEEP;
}

static bool is_place(const struct breakpoints *breakpoints, uint64_t pc)
{
    for (size_t i = 0; i < breakpoints->n_places && i < BREAKPOINTS_PLACES; i++)
        if (breakpoints->places[i] == pc)
            return true;
    return false;
}

/* Before a breakpoint instruction is written at `place`. */
static bool guard_neighbours(struct breakpoints *breakpoints, uint64_t place, const struct deadline *deadline,
                             struct error *error)
{
    struct device *device = breakpoints->device;
    if (!is_place(breakpoints, place))
        breakpoints->places[breakpoints->n_places++ % BREAKPOINTS_PLACES] = place;
    for (size_t i = 0; !breakpoints->guarded && i < device->n_cores; i++) {
        struct error why = {0};
        if (is_neighbour(device, &device->cores[i]) &&
            !switch_on(device, &device->cores[i].core, deadline, &why) && !is_away(&why))
            return error_set(error, why.kind, "core %zu may run onto a breakpoint in RAM: %s", i, why.text);
    }
    breakpoints->guarded = true;
    breakpoints->looked_us = deadline_now_us();
    return true;
}

/* Whether a core has stopped at our breakpoint. */
static bool has_stopped(struct breakpoints *breakpoints, const struct device_core *one, bool *stopped,
                        uint64_t *pc, const struct deadline *deadline, struct error *error)
{
    struct device *device = breakpoints->device;
    const struct core *core = &one->core;
    struct step items[LIST_ROOM];
    uint64_t results[LIST_ROOM], status;
    struct steps list = {.items = items, .room = LIST_ROOM};
    *stopped = false;
    if (!is_neighbour(device, one))
        return true;
    if (!ledger_read(device->ledger, core_status_register(core), &status, deadline, error))
        return false;
    if (core_state_of(core, status) != CORE_HALTED)
        return true;
    size_t at = core_add_register(core, &list, CORE_PC);
    if (!run_list(device->ledger, core, &list, results, deadline, error))
        return false;
    *pc = core_code_place(core_register_value(core, CORE_PC, results, at));
    *stopped = is_place(breakpoints, *pc);
    return true;
}

bool breakpoints_check_neighbours(struct breakpoints *breakpoints, bool now, const struct deadline *deadline,
                                  struct error *error)
{
    struct device *device = breakpoints->device;
    int64_t us = deadline_now_us();
    if (!breakpoints->guarded || (!now && us - breakpoints->looked_us < NEIGHBOURS_US))
        return true;
    breakpoints->looked_us = us;
    for (size_t i = 0; i < device->n_cores; i++) {
        bool stopped;
        uint64_t pc;
        if (!has_stopped(breakpoints, &device->cores[i], &stopped, &pc, deadline, error))
            return false;
        if (stopped)
            return error_set(error, ERROR_ADDRESS,
                             "core %zu has run onto the breakpoint at 0x%08" PRIX64
                             " for core %zu: in RAM it is an instruction, in code that both run",
                             i, pc, (size_t)(device->chosen - device->cores));
    }
    return true;
}

static bool resume_neighbour(struct breakpoints *breakpoints, const struct device_core *one,
                             const struct deadline *deadline, struct error *error)
{
    const struct core *core = &one->core;
    struct step items[LIST_ROOM];
    uint64_t results[LIST_ROOM], pc;
    struct steps list = {.items = items, .room = LIST_ROOM};
    bool stopped;
    if (!has_stopped(breakpoints, one, &stopped, &pc, deadline, error))
        return false;
    if (!stopped)
        return true;
    core_add_clear_breakpoint(core, &list);
    core_add_let_go(core, &list);
    return ledger_run(breakpoints->device->ledger, &list, results, deadline, error);
}

bool breakpoints_resume_neighbours(struct breakpoints *breakpoints, const struct deadline *deadline,
                                   struct error *error)
{
    struct device *device = breakpoints->device;
    for (size_t i = 0; breakpoints->guarded && i < device->n_cores; i++) {
        struct error why = {0};
        for (int tries = 0; tries < RESUME_TRIES; tries++) {
            why = (struct error){0};
            if (resume_neighbour(breakpoints, &device->cores[i], deadline, &why) || !is_away(&why))
                break;
            deadline_nap_us(NAP_US);
        }
        if (why.kind != ERROR_NONE && !is_away(&why))
            return error_copy(error, &why);
    }
    breakpoints->guarded = false;
    breakpoints->n_places = 0;
    return true;
}

/* --- breakpoint instructions ---------------------------------------------------------------------------- */

static struct address instruction_at(const struct breakpoints *breakpoints, uint64_t address)
{
    struct address at = core_word(breakpoints->core, address);
    (void)core_breakpoint_instruction(breakpoints->core, &at.size);
    return at;
}

static const struct bkpt_patch *find_patch(const struct breakpoints *breakpoints, uint64_t address)
{
    for (size_t i = 0; i < breakpoints->n_patches; i++)
        if (breakpoints->patches[i].address == address)
            return &breakpoints->patches[i];
    return NULL;
}

/* Makes room in a full table: drops the one that was used longest ago. */
static bool drop_oldest(struct breakpoints *breakpoints, const struct deadline *deadline, struct error *error)
{
    size_t oldest = 0;
    for (size_t i = 1; i < breakpoints->n_patches; i++)
        if (breakpoints->patches[i].used < breakpoints->patches[oldest].used)
            oldest = i;
    if (!ledger_release(breakpoints->ledger,
                        instruction_at(breakpoints, breakpoints->patches[oldest].address), deadline, error))
        return false;
    breakpoints->patches[oldest] = breakpoints->patches[--breakpoints->n_patches];
    return true;
}

static bool prepare_patch(struct breakpoints *breakpoints, uint64_t address, const struct deadline *deadline,
                          struct error *error)
{
    uint64_t original;
    if (find_patch(breakpoints, address) != NULL)
        return true;
    if (breakpoints->n_patches == BREAKPOINTS_PATCHES && !drop_oldest(breakpoints, deadline, error))
        return false;
    if (breakpoints->device != NULL && !guard_neighbours(breakpoints, address, deadline, error))
        return false;
    if (!ledger_hold(breakpoints->ledger, instruction_at(breakpoints, address), only_ours, &original,
                     deadline, error))
        return error_prefix(error, "no breakpoint at 0x%08" PRIX64 ": ", address);
    breakpoints->patches[breakpoints->n_patches++] =
        (struct bkpt_patch){.address = address, .original = original};
    return true;
}

static void write_instruction(const struct breakpoints *breakpoints, struct steps *list, uint64_t address,
                              uint64_t code)
{
    steps_add(list, step_write(instruction_at(breakpoints, address), code));
    core_add_code_changed(breakpoints->core, list, address);
}

static bool remove_patch(struct breakpoints *breakpoints, const struct deadline *deadline,
                         struct error *error)
{
    struct step items[4];
    uint64_t results[4];
    struct steps list = {.items = items, .room = 4};
    uint64_t address = breakpoints->patches[breakpoints->n_patches - 1].address;
    core_add_code_changed(breakpoints->core, &list, address);
    if (!ledger_release(breakpoints->ledger, instruction_at(breakpoints, address), deadline, error))
        return false;
    if (list.n > 0 && ledger_execute(breakpoints->ledger, &list, 0, results, deadline, error).why != DONE)
        return error_set(error, ERROR_FAULT,
                         "the core may still have a breakpoint at 0x%08" PRIX64 " in a cache", address);
    breakpoints->n_patches--;
    return true;
}

/* --- breakpoints ---------------------------------------------------------------------------------------- */

void breakpoints_init(struct breakpoints *breakpoints, struct ledger *ledger, const struct core *core,
                      struct device *device)
{
    *breakpoints = (struct breakpoints){.ledger = ledger, .core = core, .device = device};
}

void breakpoints_set_context(struct breakpoints *breakpoints, uint32_t context)
{
    breakpoints->by_context = true;
    breakpoints->context = context;
}

void breakpoints_want_extra(struct breakpoints *breakpoints, unsigned n)
{
    breakpoints->n_wanted = n < BREAKPOINTS_EXTRA ? n : BREAKPOINTS_EXTRA;
}

bool breakpoints_prepare(struct breakpoints *breakpoints, uint64_t address, const struct deadline *deadline,
                         struct error *error)
{
    if (core_can_compare(breakpoints->core, address))
        return take_comparators(breakpoints, deadline, error);
    if (!prepare_patch(breakpoints, address, deadline, error))
        return false;
    for (size_t i = 0; i < breakpoints->n_patches; i++)
        if (breakpoints->patches[i].address == address)
            breakpoints->patches[i].used = ++breakpoints->age;
    return true;
}

bool breakpoints_can_have_extra(const struct breakpoints *breakpoints, unsigned n, uint64_t address)
{
    return core_can_compare(breakpoints->core, address) ? n < breakpoints->n_extra
                                                        : find_patch(breakpoints, address) != NULL;
}

static void add_move(const struct breakpoints *breakpoints, struct steps *list, unsigned comparator,
                     uint64_t from, uint64_t to)
{
    const struct core *core = breakpoints->core;
    const struct bkpt_patch *patch_from = find_patch(breakpoints, from),
                            *patch_to = find_patch(breakpoints, to);
    uint8_t size;
    if (from == to)
        return;
    if (patch_from != NULL)
        write_instruction(breakpoints, list, from, patch_from->original);
    uint64_t left = patch_from != NULL ? BREAKPOINT_NONE : from,
             entered = patch_to != NULL ? BREAKPOINT_NONE : to;
    size_t before = list->n;
    if (left != BREAKPOINT_NONE || entered != BREAKPOINT_NONE)
        core_add_comparator(core, &breakpoints->setup, list, comparator, left, entered);
    if (list->n > before && comparator == breakpoints->comparator)
        list->items[list->n - 1].mark = entered == BREAKPOINT_NONE ? MARK_STOP_OFF : MARK_STOP_ON;
    if (patch_to != NULL)
        write_instruction(breakpoints, list, to, core_breakpoint_instruction(core, &size));
}

void breakpoints_add_move(const struct breakpoints *breakpoints, struct steps *list, uint64_t from,
                          uint64_t to)
{
    add_move(breakpoints, list, breakpoints->comparator, from, to);
}

void breakpoints_add_extra(const struct breakpoints *breakpoints, struct steps *list, unsigned n,
                           uint64_t from, uint64_t to)
{
    add_move(breakpoints, list, breakpoints->extra[n], from, to);
}

void breakpoints_add_proof(const struct breakpoints *breakpoints, struct steps *list, uint64_t address)
{
    uint8_t size;
    if (find_patch(breakpoints, address) != NULL)
        steps_add(list, step_expect(instruction_at(breakpoints, address), 0xFFFF,
                                    core_breakpoint_instruction(breakpoints->core, &size)));
}

/* Off now; its old value is restored with the rest of the ledger, after the unit as a whole. One that another
 * debugger has set since is its own. */
static bool remove_comparator(struct breakpoints *breakpoints, unsigned n, const struct deadline *deadline,
                              struct error *error)
{
    const struct core *core = breakpoints->core;
    bool ours = true;
    for (unsigned i = 0; ours && i < core_comparator_words(core); i++)
        if (!ledger_is_ours(breakpoints->ledger, core_comparator(core, n, i), &ours, deadline, error))
            return false;
    for (unsigned i = core_comparator_words(core); !ours && i-- > 0;)
        ledger_leave(breakpoints->ledger, core_comparator(core, n, i));
    return !ours || write_comparator(breakpoints, n, 0, 0, deadline, error);
}

bool breakpoints_remove(struct breakpoints *breakpoints, const struct deadline *deadline, struct error *error)
{
    while (breakpoints->n_patches > 0)
        if (!remove_patch(breakpoints, deadline, error))
            return false;
    for (unsigned i = 0; breakpoints->comparator_held && i < breakpoints->n_extra; i++)
        if (!remove_comparator(breakpoints, breakpoints->extra[i], deadline, error))
            return false;
    if (breakpoints->comparator_held &&
        (!remove_comparator(breakpoints, breakpoints->comparator, deadline, error) ||
         (breakpoints->by_context &&
          !remove_comparator(breakpoints, breakpoints->context_comparator, deadline, error))))
        return false;
    breakpoints->comparator_held = false;
    return true;
}

/* SPDX-License-Identifier: MIT */
#include "debuggers/debugger.h"
#include "device/device.h"
#include "device/settings.h"
#include "symbols/symbols.h"

#include <stdio.h>
#include <string.h>

bool device_refuse_counters(struct error *error)
{
    return error_advise(error, ERROR_NO_COUNTER, "pmu-probe doctor says why.",
                        "the core has no counter that can be used");
}

static bool check_usable(const struct counter_block *block, struct error *error)
{
    if (block->unusable[0] == '\0')
        return true;
    return error_set(error, ERROR_NO_COUNTER, "%s cannot be used: %s", block->text, block->unusable);
}

struct device_core *device_counted(const struct device *device)
{
    return device->remote != NULL ? device->remote : device->chosen;
}

static struct counter_block *find_block(const struct device *device, const char *name, struct error *error)
{
    struct device_core *core = device_counted(device);
    for (size_t i = 0; i < core->n_blocks; i++) {
        struct counter_block *one = &core->blocks[i];
        if (name == NULL ? one->unusable[0] == '\0' : strcasecmp(one->kind->name, name) == 0)
            return one;
    }
    if (core_has(&core->core, PROGRAM_ONLY))
        error_advise(error, ERROR_NO_COUNTER, "",
                     "a debugger shows no counters of an x86-64 program: --counters names them");
    else if (name == NULL)
        device_refuse_counters(error);
    else
        error_set(error, ERROR_NO_COUNTER, "the core has no counter block \"%.32s\"", name);
    return NULL;
}

enum { USES_REGISTERS = 32, RESET_BITS = 32 };

/* What is searched for in the program's code, all of which is walked for it: what starts what the run may
 * switch on, each register once, and what changes a counter. */
struct uses {
    struct counter_switch switches[LEDGER_USES + USES_REGISTERS];
    struct address at[LEDGER_USES];
    size_t n_starts, n;
    struct counter_change changes[LEDGER_USES + USES_REGISTERS]; /* of those after n_starts */
};

static void add_starts(struct uses *uses, const struct core *core, const struct counter_block *block)
{
    if (block->kind == &systick_kind) /* its reload value shows it */
        return;
    for (size_t i = 0; i < block->n_settings && uses->n < LEDGER_USES; i++) {
        const struct setting *setting = &block->settings[i];
        bool is_new = setting->restore.starts != 0 && !setting->only_watched;
        for (size_t k = 0; k < uses->n; k++)
            is_new = is_new && !address_same(uses->at[k], setting->at);
        if (!is_new)
            continue;
        uses->at[uses->n] = setting->at;
        uses->switches[uses->n++] =
            (struct counter_switch){.word = setting->at.offset,
                                    .name = core_has(core, SYSTEM_SPACE) ? NULL : setting->watched,
                                    .bits = (uint32_t)setting->restore.starts};
    }
    uses->n_starts = uses->n;
}

static void add_changes(struct uses *uses, const struct block_kind *kind,
                        const struct counter_register *registers, size_t n)
{
    for (size_t i = 0; i < n && uses->n < uses->n_starts + USES_REGISTERS; i++) {
        const struct counter_register *one = &registers[i];
        uses->changes[uses->n] = (struct counter_change){.kind = kind, .name = one->name, .word = one->word};
        uses->switches[uses->n++] = (struct counter_switch){.word = one->word,
                                                            .name = one->word == 0 ? one->name : NULL,
                                                            .on = one->on,
                                                            .strikes = one->strikes,
                                                            .each = one->on == 0 && one->strikes == 0};
    }
}

static bool is_noted(const struct device *device, const struct counter_change *change)
{
    for (size_t i = 0; i < device->n_changes; i++)
        if (device->changes[i].kind == change->kind && device->changes[i].at == change->at &&
            device->changes[i].word == change->word)
            return true;
    return false;
}

static void note_changes(struct device *device, const struct uses *uses)
{
    for (size_t i = uses->n_starts; i < uses->n; i++) {
        const struct counter_switch *one = &uses->switches[i];
        for (size_t k = 0; k < one->n_changes && k < COUNTER_CHANGES; k++) {
            struct counter_change change = uses->changes[i];
            change.at = one->changes[k];
            if (device->n_changes < DEVICE_CHANGES && !is_noted(device, &change))
                device->changes[device->n_changes++] = change;
        }
    }
}

static void drop_changes(struct device *device, const struct counter_block *blocks, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < device->n_changes; i++) {
        bool is_old = false;
        for (size_t k = 0; k < n; k++)
            is_old = is_old || device->changes[i].kind == blocks[k].kind;
        if (!is_old)
            device->changes[kept++] = device->changes[i];
    }
    device->n_changes = kept;
}

void device_note_uses(struct device *device, const struct counter_block *blocks, size_t n)
{
    struct uses uses = {.n = 0};
    if (device->symbols == NULL)
        return;
    for (size_t i = 0; i < n; i++)
        add_starts(&uses, &device->chosen->core, &blocks[i]);
    for (size_t i = 0; i < n; i++)
        add_changes(&uses, blocks[i].kind, blocks[i].kind->registers, blocks[i].kind->n_registers);
    for (size_t i = 0; i < n; i++)
        if (blocks[i].kind == &dwt_kind)
            add_changes(&uses, &dwt_kind, device->emits, device->n_emits);
    if (uses.n > 0)
        symbols_find_switches(device->symbols, uses.switches, uses.n);
    for (size_t i = 0; i < uses.n_starts; i++)
        if (uses.switches[i].is_set)
            ledger_note_use(device->ledger, uses.at[i], uses.switches[i].bits);
    drop_changes(device, blocks, n);
    note_changes(device, &uses);
}

static bool can_make_accesses(const struct core *core, struct error *error)
{
    if (core->unstoppable != NULL)
        return error_set(error, ERROR_NO_CORE, "the core cannot be halted: %s", core->unstoppable);
    return (core_makes_accesses(core) && core->comparators != 0) ||
           error_set(error, ERROR_NO_CORE, "this core lets no debugger halt it");
}

bool device_make_access(struct device *device, struct error *error)
{
    if (device->halted_access == NULL)
        device->halted_access = halted_access_new(device->ledger, &device->chosen->core);
    return device->halted_access != NULL || error_memory(error);
}

bool device_access_by_core(struct device *device, const struct deadline *deadline, struct error *error)
{
    struct core *core = &device->chosen->core;
    if (!can_make_accesses(core, error) || !device_make_access(device, error))
        return false;
    core->resets = RESETS_CAUGHT;
    return settings_apply_core(device->ledger, core, APPLY_TO_STOP, deadline, error) &&
           halted_access_prepare(device->halted_access, deadline, error);
}

void device_end_access(struct device *device)
{
    halted_access_free(device->halted_access);
    device->halted_access = NULL;
}

/* Again: now its registers show more. */
static bool identify_again(struct device *device, struct counter_block *block,
                           const struct deadline *deadline, struct error *error)
{
    const struct core *core = &device_counted(device)->core;
    struct step items[BLOCK_IDENTITY];
    uint64_t values[BLOCK_IDENTITY];
    struct steps list = {.items = items, .room = BLOCK_IDENTITY};
    block->kind->add_identity(core, &list);
    if (!(block->kind->by_core ? ledger_read_list : ledger_run)(device->ledger, &list, values, deadline,
                                                                error))
        return false;
    block->kind->identify(core, values, block);
    return true;
}

static bool blocks_look_by_core(struct device *device, struct counter_block *block,
                                const struct deadline *deadline, struct error *error)
{
    if (!device_make_access(device, error))
        return false;
    /* A debugger has the core halted already, and relies on DBGDSCR as it left it. */
    if (device->debugger == NULL && !halted_access_prepare(device->halted_access, deadline, error))
        return false;
    if (!identify_again(device, block, deadline, error))
        return false;
    block->was_identified = true;
    device_note_uses(device, block, 1);
    return true;
}

static bool leave_core(struct device *device, const struct deadline *deadline, struct error *error)
{
    return ledger_release_core(device->ledger, deadline, error) &&
           (device->halted_access == NULL || halted_access_check_reset(device->halted_access, error));
}

/* A setting that does not hold may have been cleared by a reset. */
static bool apply_setting(struct device *device, const struct counter_block *block,
                          const struct setting *setting, bool *again, const struct deadline *deadline,
                          struct error *error)
{
    struct error reset = {0};
    if (settings_apply(device->ledger, setting, block->settings, block->n_settings, again, deadline, error))
        return true;
    if (!leave_core(device, deadline, &reset) && reset.kind == ERROR_RESET)
        *error = reset;
    return false;
}

static bool check_witness(struct device *device, const struct deadline *deadline, struct error *error)
{
    const struct witness *witness = &device->witness;
    uint64_t now;
    for (size_t i = 0; i < witness->n; i++) {
        if (!ledger_read(device->ledger, witness->items[i].at, &now, deadline, error))
            return false;
        if ((now & witness->items[i].mask) != witness->items[i].value)
            return witness_tell(&witness->items[i], now, error);
    }
    return true;
}

/* A register may take nothing because another one, set before, was changed since. */
static bool find_reason(struct device *device, const struct deadline *deadline, struct error *error)
{
    struct error changed = {0};
    if (error->kind != ERROR_NO_COUNTER)
        return false;
    device->witness = device->block_witness;
    if (!check_witness(device, deadline, &changed) && changed.kind == ERROR_WRITTEN)
        *error = changed;
    return false;
}

/* Of a reset; NULL: a register shows it. */
static const char *why_unseen(const struct device *device, const struct device_core *counted)
{
    if (counted != NULL && (counted->core.quirks & RESETS_UNSEEN) != 0)
        return ", or the Cortex-A9 was reset unseen (erratum 799770)";
    if (counted != NULL && device->debugger != NULL && core_has(&counted->core, LOCKS_IN_PRSR))
        return ", or the core was reset, which OpenOCD's reads hide";
    return NULL;
}

static bool apply_each(struct device *device, const struct counter_block *block,
                       const struct setting *settings, size_t n, struct witness *witness,
                       const struct deadline *deadline, struct error *error)
{
    bool again;
    witness->resets_unseen = why_unseen(device, device_counted(device));
    for (size_t i = 0; i < n; i = again ? 0 : i + 1) {
        if (!apply_setting(device, block, &settings[i], &again, deadline, error))
            return false;
        witness_take(witness, &settings[i]);
    }
    return true;
}

static bool apply_all(struct device *device, const struct counter_block *block,
                      const struct deadline *deadline, struct error *error)
{
    struct witness *witness = &device->block_witness;
    witness->n = 0;
    if (!apply_each(device, block, block->settings, block->n_settings, witness, deadline, error))
        return find_reason(device, deadline, error);
    device->witness = *witness;
    return true;
}

bool device_retake_block(struct device *device, const struct deadline *deadline, struct error *error)
{
    if (!apply_all(device, device->block, deadline, error))
        return false;
    device_watch_resets(device);
    return leave_core(device, deadline, error);
}

/* Identifies a block that shows what it has only once its first setting holds. */
static bool look_again(struct device *device, struct counter_block *block, const struct deadline *deadline,
                       struct error *error)
{
    bool again; /* never: no lock protects this setting */
    if (!apply_setting(device, block, &block->settings[0], &again, deadline, error) ||
        !identify_again(device, block, deadline, error))
        return false;
    block->look_again = false;
    return true;
}

static struct counter_block *choose_block(struct device *device, const char *name,
                                          const struct deadline *deadline, struct error *error)
{
    for (;;) {
        struct counter_block *block = find_block(device, name, error);
        if (block == NULL || !check_usable(block, error))
            return NULL;
        if (!block->look_again)
            return block;
        if (!look_again(device, block, deadline, error))
            return NULL;
    }
}

/* An emulator's counters mean nothing. */
static bool check_counts(const struct device *device, struct error *error)
{
    if (device->debugger == NULL || !device->debugger->facts.is_emulator)
        return true;
    const char *server = server_row(device->debugger->facts.server)->name;
    return error_advise(error, ERROR_NO_COUNTER, DEBUGGER_ADVICE_EMULATOR,
                        "%s is an emulator: its cycles do not measure the code",
                        server[0] != '\0' ? server : "the GDB server");
}

void device_watch_resets(struct device *device)
{
    const struct core *core = &device_counted(device)->core;
    struct step item = {0};
    struct steps list = {.items = &item, .room = 1};
    uint64_t bits = 0;
    if (device->debugger != NULL || !core_has_run_control(core))
        return;
    (void)core_add_reset_since(core, &list);
    for (unsigned i = 0; i < RESET_BITS; i++)
        bits |= core_reset_since(core, UINT64_C(1) << i) ? UINT64_C(1) << i : 0;
    ledger_watch(device->ledger, item.at, bits);
    device->watches_resets = true;
    device->was_reset = false;
}

static const char no_divider[] = "Leave --divide64 out.";

bool device_take_block(struct device *device, const char *name, const struct deadline *deadline,
                       struct error *error)
{
    struct counter_block *block =
        check_counts(device, error) ? choose_block(device, name, deadline, error) : NULL;
    if (block == NULL)
        return false;
    if (block->kind->by_core && !block->was_identified && /* else it would see what is set by now */
        (!blocks_look_by_core(device, block, deadline, error) || !check_usable(block, error)))
        return false;
    if (device->divide && block->kind->divide == NULL)
        return error_advise(error, ERROR_NO_COUNTER, no_divider, "%s has no divider", block->text);
    if (device->divide && !block->kind->divide(&device_counted(device)->core, block))
        return error_advise(error, ERROR_NO_COUNTER, no_divider,
                            "the program uses the cycle counter: it cannot be divided");
    if (!apply_all(device, block, deadline, error))
        return false;
    if (device->remote != NULL && block->kind->own_cycles != NULL)
        block->counts_cycles = false;
    device->block = block;
    reading_begin(&device->reading, block->kind->by_core ? &device->chosen->core : NULL);
    device->reading.counted = reading_append(&device->reading, &block->counters[0]);
    return leave_core(device, deadline, error);
}

bool device_follow_reload(struct device *device, const char *changed)
{
    struct counter_block *block = device->block;
    return block != NULL && changed != NULL && block->kind->follow_reload != NULL &&
           block->kind->follow_reload(block, changed);
}

static bool apply_program(struct device *device, const struct deadline *deadline, struct error *error)
{
    const struct counter_block *block = device->block;
    struct setting settings[BLOCK_PASS_SETTINGS];
    size_t n = 0;
    if (block->kind->program != NULL)
        n = block->kind->program(&device_counted(device)->core, block, device->programmed,
                                 device->n_programmed, settings, BLOCK_PASS_SETTINGS);
    device->witness = device->block_witness;
    return apply_each(device, block, settings, n, &device->witness, deadline, error);
}

bool device_renew_block(struct device *device, const struct deadline *deadline, struct error *error)
{
    if (!apply_all(device, device->block, deadline, error) || !apply_program(device, deadline, error))
        return false;
    device_watch_resets(device);
    return true;
}

/* EXC_TAKEN, in all of these cores' PMUs: DDI 0406C C12.8.2, DDI 0487 D8.11.2. Where events in Secure state
 * may not be counted, those that lead there may be missed: by erratum 855827, Cortex-A53 goes by the level
 * that an exception leads to. Else nothing is excluded. */
enum { EXC_TAKEN = 0x09 };

static bool wants_exceptions(const struct device *device)
{
    return device->sees_exceptions && core_hides_pending(&device_counted(device)->core);
}

/* Which of the programmed counters counts exceptions: the event itself, or one more. */
static bool program_exceptions(struct device *device, size_t *which)
{
    const struct counter_block *block = device->block;
    bool can = wants_exceptions(device) && block->kind->counters_for != NULL &&
               !device_counted(device)->core.keeps_secure;
    uint32_t free = can ? block->kind->counters_for(block, EXC_TAKEN) : 0;
    for (*which = 0; free != 0 && *which < device->n_programmed; ++*which) {
        const struct counter_pick *pick = &device->programmed[*which];
        if (strcmp(pick->name, "EXC_TAKEN") == 0)
            return true;
        free &= ~(UINT32_C(1) << pick->counter);
    }
    if (free == 0 || device->n_programmed == BLOCK_COUNTERS)
        return false;
    device->programmed[device->n_programmed++] = (struct counter_pick){
        .counter = (uint8_t)__builtin_ctz(free), .code = EXC_TAKEN, .name = "EXC_TAKEN"};
    return true;
}

/* Reads the programmed counters, and after them what was read with the earlier ones but does not count. */
static bool read_programmed(struct device *device, size_t counted)
{
    const struct counter_block *block = device->block;
    const struct reading before = device->reading;
    device->reading.n = 0;
    device->reading.counted = counted;
    for (size_t i = 0; i < device->n_programmed; i++) {
        const struct counter_pick *pick = &device->programmed[i];
        struct counter counter = block->counters[pick->counter];
        snprintf(counter.name, sizeof counter.name, "%s", pick->name);
        counter.per_cycle = counter_event_pace(counter.per_cycle, pick->code, counter.name);
        if (!reading_append(&device->reading, &counter))
            return false;
    }
    for (size_t i = before.counted; i < before.n; i++)
        if (!(before.has_exceptions && i == before.exceptions) &&
            !reading_append(&device->reading, &before.counters[i]))
            return false;
    return true;
}

bool device_program(struct device *device, const struct counter_pick *picks, size_t n,
                    const struct deadline *deadline, struct error *error)
{
    size_t exceptions;
    if (n > BLOCK_COUNTERS)
        return error_set(error, ERROR_SYSTEM, "too many counters at a time");
    memcpy(device->programmed, picks, n * sizeof *picks);
    device->n_programmed = n;
    bool has_exceptions = program_exceptions(device, &exceptions);
    if (!apply_program(device, deadline, error))
        return false;
    if (!read_programmed(device, n))
        return error_set(error, ERROR_SYSTEM, "too many counters at a time");
    device->reading.has_exceptions = has_exceptions;
    device->reading.misses_exceptions = wants_exceptions(device) && !has_exceptions;
    device->reading.may_hide_events =
        device->sees_exceptions && core_may_hide_events(&device_counted(device)->core);
    device->reading.exceptions = exceptions;
    return leave_core(device, deadline, error);
}

static bool read_by_core(struct device *device, uint64_t *values, uint64_t *before_us, uint64_t *after_us,
                         const struct deadline *deadline, struct error *error)
{
    return halted_access_read(device->halted_access, &device->reading, values, before_us, after_us, deadline,
                              error);
}

/* MEM-AP registers of an emulated chip, reserved in IHI 0031 C2.6 and IHI 0074 C2.6. */
enum { AP_MODEL_CHIP_TIME = 0xE4, AP_MODEL = 0xE8, AP_MODEL_TIME = 0xEC, MODEL_NAME = 0x4C444F4D };

bool device_find_model(struct device *device, const struct deadline *deadline)
{
    const struct device_core *counted = device_counted(device);
    struct address name = {.space = SPACE_AP, .size = 4, .offset = AP_MODEL};
    struct error unread = {0};
    uint64_t value = 0;
    device->model_time = (struct address){.size = 0};
    if (counted == NULL || !(counted->view.has_port || link_has_server(device->link)))
        return false;
    /* OpenOCD may find the core's port without saying which: each one of a model says it */
    name.unit = counted->view.has_port ? counted->view.port : 0;
    if (!ledger_read(device->ledger, name, &value, deadline, &unread) || value != MODEL_NAME)
        return false;
    device->model_time = name;
    device->model_time.offset = AP_MODEL_TIME;
    return true;
}

void device_forget_model(struct device *device)
{
    device->model_time.size = 0;
}

static bool read_model(struct device *device, struct device_poll *look, size_t which,
                       const struct deadline *deadline, struct error *error)
{
    uint64_t value = 0;
    if (look == NULL || device->model_time.size == 0)
        return true;
    bool ok = ledger_read(device->ledger, device->model_time, &value, deadline, error);
    look->model_ns[which] = (uint32_t)value;
    return ok;
}

/* The counters, and after them what may have spoiled them. */
static bool read_running(struct device *device, uint64_t *values, uint64_t *before_us, uint64_t *after_us,
                         struct device_poll *look, const struct deadline *deadline, struct error *error)
{
    enum { ROOM = READING_STEPS + WITNESS_ROOM + 5 };
    struct step items[ROOM];
    uint64_t results[ROOM];
    struct witness_places places;
    struct steps list = {.items = items, .room = ROOM};
    const struct device_core *counted = look != NULL ? device_counted(device) : NULL;
    bool tells_reset = counted != NULL && device->debugger == NULL && core_has_run_control(&counted->core);
    size_t reset = 0;
    struct step apart; /* where the halt is shown by another register than the reset */
    bool model = look != NULL && device->model_time.size != 0;
    size_t before = steps_add(&list, step_time(TIME_BEFORE));
    size_t earlier = model ? steps_add(&list, step_read(device->model_time)) : 0;
    size_t at = reading_add(&device->reading, true, NULL, &list);
    size_t later = model ? steps_add(&list, step_read(device->model_time)) : 0;
    size_t after = steps_add(&list, step_time(TIME_AFTER));
    if (look != NULL) {
        witness_add(&device->witness, counted != NULL ? &counted->core : NULL, NULL, &list, &places);
        reset = tells_reset ? core_add_reset_since(&counted->core, &list) : 0;
    }
    if (!ledger_run(device->ledger, &list, results, deadline, error))
        return false;
    reading_take(&device->reading, true, results, at, values);
    *before_us = results[before];
    *after_us = results[after];
    if (look == NULL)
        return true;
    look->changed = witness_changed(&device->witness, results, &places, &look->saw);
    look->reset = tells_reset && core_reset_since(&counted->core, results[reset]);
    enum core_state state = tells_reset ? core_state_of(&counted->core, results[reset]) : CORE_HIDDEN;
    device->slept |= state == CORE_ASLEEP;
    look->ran = state == CORE_RUNNING;
    look->may_stand = tells_reset && (state == CORE_HALTED || core_halted_test(&counted->core, &apart));
    if (model) {
        look->model_ns[0] = (uint32_t)results[earlier];
        look->model_ns[1] = (uint32_t)results[later];
    }
    return true;
}

bool device_poll(struct device *device, uint64_t *values, uint64_t *before_us, uint64_t *after_us,
                 struct device_poll *look, const struct deadline *deadline, struct error *error)
{
    if (look != NULL)
        *look = (struct device_poll){0};
    if (device->reading.by_core == NULL)
        return read_running(device, values, before_us, after_us, look, deadline, error);
    /* This reports a reset by itself */
    if (!read_model(device, look, 0, deadline, error) ||
        !read_by_core(device, values, before_us, after_us, deadline, error))
        return false;
    if (halted_access_stood(device->halted_access, &device->stopped_at))
        device_leave_as(device, LEAVE_HALTED_FOREIGN);
    return read_model(device, look, 1, deadline, error);
}

bool device_read_awaited(struct device *device, uint64_t *values, uint64_t *before_us, uint64_t *after_us,
                         const struct deadline *deadline, struct error *error)
{
    return device->reading.by_core != NULL
               ? read_by_core(device, values, before_us, after_us, deadline, error)
               : read_running(device, values, before_us, after_us, NULL, deadline, error);
}

bool device_read(struct device *device, uint64_t *values, uint64_t *before_us, uint64_t *after_us,
                 const struct deadline *deadline, struct error *error)
{
    return device_poll(device, values, before_us, after_us, NULL, deadline, error);
}

bool device_read_timed(struct device *device, uint64_t *values, struct device_moment *moment,
                       const struct deadline *deadline, struct error *error)
{
    struct address time = device->model_time;
    bool is_model = time.size != 0;
    time.offset = AP_MODEL_CHIP_TIME;
    if ((is_model && !ledger_read(device->ledger, time, &moment->chip_us[0], deadline, error)) ||
        !device_read(device, values, &moment->before_us, &moment->after_us, deadline, error))
        return false;
    if (is_model)
        return ledger_read(device->ledger, time, &moment->chip_us[1], deadline, error);
    moment->chip_us[0] = moment->before_us;
    moment->chip_us[1] = moment->after_us;
    return true;
}

/* The mark that this run has set is gone, and it alone: who clears what else is in its register has written
 * it. */
static bool lost_mark(struct device *device, const struct core *core, const struct deadline *deadline)
{
    struct error unread = {0};
    uint64_t value;
    struct address at = core_reset_register(core);
    if (!core_marks_resets(core) || !ledger_old(device->ledger, at, &value) ||
        !ledger_read(device->ledger, at, &value, deadline, &unread))
        return false;
    for (size_t i = 0; i < device->witness.n; i++) {
        const struct witness_item *item = &device->witness.items[i];
        if (address_same(item->at, at) && (value & item->mask) != item->value)
            return false;
    }
    return core_reset_seen(core, value);
}

bool device_check_reset(struct device *device, const struct deadline *deadline, struct error *error)
{
    const struct device_core *counted = device_counted(device);
    struct step items[4];
    uint64_t results[4];
    struct steps list = {.items = items, .room = 4};
    struct error reset = {0}, ignored = {0};
    if (!leave_core(device, deadline, &reset) && reset.kind == ERROR_RESET)
        return error_copy(error, &reset);
    if (device->debugger != NULL || !core_has_run_control(&counted->core))
        return true;
    size_t at = core_add_reset_since(&counted->core, &list);
    if (!device->was_reset && !ledger_saw(device->ledger) && !lost_mark(device, &counted->core, deadline) &&
        (!ledger_run(device->ledger, &list, results, deadline, &ignored) ||
         !core_reset_since(&counted->core, results[at])))
        return true;
    device->was_reset = true;
    return error_reset(error);
}

bool device_reset_is_new(struct device *device, const struct deadline *deadline)
{
    const struct core *core = device->chosen != NULL ? &device->chosen->core : NULL;
    struct error unread = {0};
    uint64_t cause;
    return core != NULL && device->ledger != NULL && device->debugger == NULL &&
           core->resets == RESETS_NOTICED && !core_marks_resets(core) &&
           ledger_read(device->ledger, core_reset_register(core), &cause, deadline, &unread) &&
           core_reset_seen(core, cause);
}

bool device_check_witness(struct device *device, const struct deadline *deadline, struct error *error)
{
    struct error changed = {0};
    bool ok = check_witness(device, deadline, &changed);
    if (changed.kind == ERROR_WRITTEN && !device_check_reset(device, deadline, error))
        return false;
    bool left = leave_core(device, deadline, ok ? error : &(struct error){0});
    if (ok || error->kind != ERROR_NONE)
        return ok && left;
    *error = changed;
    return false;
}

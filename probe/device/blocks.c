#include "device/blocks.h"

#include "device/device.h"
#include "find/attached.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static bool check_usable(const struct counter_block *block, struct error *error)
{
    if (block->unusable[0] == '\0')
        return true;
    return error_set(error, ERROR_NO_COUNTER, "%s cannot be used: %s", block->text, block->unusable);
}

struct target_core *target_counted(const struct target *target)
{
    return target->elsewhere != NULL ? target->elsewhere : target->chosen;
}

static struct counter_block *find_block(const struct target *target, const char *name, struct error *error)
{
    struct target_core *core = target_counted(target);
    for (size_t i = 0; i < core->n_blocks; i++) {
        struct counter_block *one = &core->blocks[i];
        if (name == NULL ? one->unusable[0] == '\0' : strcasecmp(one->kind->name, name) == 0)
            return one;
    }
    if (core->core.family == CORE_X86_64)
        error_set(error, ERROR_NO_COUNTER,
                  "a debugger shows no counters of an x86-64 program: --counters names where they are");
    else if (name == NULL)
        error_set(error, ERROR_NO_COUNTER, "the core has no counter that can be used");
    else
        error_set(error, ERROR_NO_COUNTER, "the core has no counter block \"%.32s\"", name);
    return NULL;
}

/* What the core alone can look at. */
static bool look_by_core(struct target *target, struct counter_block *block, const struct deadline *deadline,
                         struct error *error)
{
    const struct core *core = &target->chosen->core;
    const struct block_kind *kind = block->kind;
    struct step items[BLOCK_IDENTITY];
    uint64_t values[BLOCK_IDENTITY];
    struct steps list = {.items = items, .room = BLOCK_IDENTITY};
    if (target->coprocessor == NULL)
        target->coprocessor = coprocessor_new(target->ledger, core);
    if (target->coprocessor == NULL)
        return error_set(error, ERROR_SYSTEM, "out of memory");
    /* A debugger has the core halted already, and relies on DBGDSCR as it left it. */
    if (target->debugger == NULL && !coprocessor_prepare(target->coprocessor, deadline, error))
        return false;
    kind->add_identity(core, &list);
    for (size_t i = 0; i < list.n; i++)
        if (!ledger_read(target->ledger, items[i].at, &values[i], deadline, error))
            return false;
    kind->identify(core, values, block);
    return true;
}

/* The core goes on, where it was halted for its counters. */
static bool leave_core(struct target *target, const struct deadline *deadline, struct error *error)
{
    return ledger_leave_detour(target->ledger, deadline, error) &&
           (target->coprocessor == NULL || coprocessor_check_reset(target->coprocessor, error));
}

/* What a reset took away again is no fault of the register's. */
static bool apply_setting(struct target *target, const struct counter_block *block,
                          const struct setting *setting, bool *again, const struct deadline *deadline,
                          struct error *error)
{
    struct error reset = {0};
    if (target_apply(target, setting, block->settings, block->n_settings, again, deadline, error))
        return true;
    if (!leave_core(target, deadline, &reset) && reset.kind == ERROR_RESET)
        *error = reset;
    return false;
}

/* A register may take nothing because another one, set before, was changed since. */
static bool find_reason(struct target *target, const struct deadline *deadline, struct error *error)
{
    struct error changed = {0};
    if (error->kind != ERROR_NO_COUNTER)
        return false;
    target->witness = target->block_witness;
    if (!target_check_witness(target, deadline, &changed) && changed.kind == ERROR_WRITTEN)
        *error = changed;
    return false;
}

static bool apply_all(struct target *target, const struct counter_block *block,
                      const struct deadline *deadline, struct error *error)
{
    bool again;
    target->block_witness.n = 0;
    for (size_t i = 0; i < block->n_settings; i = again ? 0 : i + 1) {
        if (!apply_setting(target, block, &block->settings[i], &again, deadline, error))
            return find_reason(target, deadline, error);
        witness_take(&target->block_witness, &block->settings[i]);
    }
    target->witness = target->block_witness;
    return true;
}

bool target_retake_block(struct target *target, const struct deadline *deadline, struct error *error)
{
    return apply_all(target, target->block, deadline, error) && leave_core(target, deadline, error);
}

/* A block that shows what it has only once its first setting holds. */
static bool look_again(struct target *target, struct counter_block *block, const struct deadline *deadline,
                       struct error *error)
{
    const struct core *core = &target_counted(target)->core;
    const struct block_kind *kind = block->kind;
    struct step items[BLOCK_IDENTITY];
    uint64_t values[BLOCK_IDENTITY];
    struct steps list = {.items = items, .room = BLOCK_IDENTITY};
    bool again; /* it stands behind no lock */
    if (!apply_setting(target, block, &block->settings[0], &again, deadline, error))
        return false;
    kind->add_identity(core, &list);
    if (!target_run(target, &list, values, deadline, error))
        return false;
    kind->identify(core, values, block);
    block->look_again = false;
    return true;
}

/* The named block, or the best one that can be used. */
static struct counter_block *choose_block(struct target *target, const char *name,
                                          const struct deadline *deadline, struct error *error)
{
    for (;;) {
        struct counter_block *block = find_block(target, name, error);
        if (block == NULL || !check_usable(block, error))
            return NULL;
        if (!block->look_again)
            return block;
        if (!look_again(target, block, deadline, error))
            return NULL;
    }
}

bool target_take_block(struct target *target, const char *name, const struct deadline *deadline,
                       struct error *error)
{
    struct counter_block *block = choose_block(target, name, deadline, error);
    if (block == NULL)
        return false;
    if (block->kind->by_core &&
        (!look_by_core(target, block, deadline, error) || !check_usable(block, error)))
        return false;
    if (target->divide && block->kind->divide == NULL)
        return error_set(error, ERROR_NO_COUNTER, "%s has no divider", block->text);
    if (target->divide && !block->kind->divide(&target_counted(target)->core, block))
        return error_set(error, ERROR_NO_COUNTER, "the program uses the cycle counter: it cannot be divided");
    if (!apply_all(target, block, deadline, error))
        return false;
    if (!attached_counts(target, block, error))
        return false;
    if (target->elsewhere != NULL && block->kind->own_cycles != NULL)
        block->counts_cycles = false;
    target->block = block;
    target->reading = (struct reading){.counters = {block->counters[0]}, .n = 1, .counted = 1};
    target->reading.by_core = block->kind->by_core ? &target->chosen->core : NULL;
    return leave_core(target, deadline, error);
}

static bool apply_program(struct target *target, const struct deadline *deadline, struct error *error)
{
    const struct counter_block *block = target->block;
    struct setting settings[BLOCK_PASS_SETTINGS];
    size_t n = 0;
    bool again;
    if (block->kind->program != NULL)
        n = block->kind->program(&target_counted(target)->core, block, target->programmed,
                                 target->n_programmed, settings, BLOCK_PASS_SETTINGS);
    target->witness = target->block_witness;
    for (size_t i = 0; i < n; i = again ? 0 : i + 1) {
        if (!apply_setting(target, block, &settings[i], &again, deadline, error))
            return false;
        witness_take(&target->witness, &settings[i]);
    }
    return true;
}

bool target_renew_block(struct target *target, const struct deadline *deadline, struct error *error)
{
    return apply_all(target, target->block, deadline, error) && apply_program(target, deadline, error);
}

bool target_program(struct target *target, const struct counter_pick *picks, size_t n,
                    const struct deadline *deadline, struct error *error)
{
    const struct counter_block *block = target->block;
    if (n > BLOCK_COUNTERS)
        return error_set(error, ERROR_SYSTEM, "too many counters at a time");
    memcpy(target->programmed, picks, n * sizeof *picks);
    target->n_programmed = n;
    if (!apply_program(target, deadline, error))
        return false;
    struct reading beside = target->reading;
    target->reading.n = target->reading.counted = 0;
    for (size_t i = 0; i < n; i++) {
        struct counter counter = block->counters[picks[i].counter];
        snprintf(counter.name, sizeof counter.name, "%s", picks[i].name);
        if (counter.per_cycle > 1 && counter_event_is_slow(counter.name))
            counter.per_cycle = 1;
        if (!reading_append(&target->reading, &counter))
            return error_set(error, ERROR_SYSTEM, "too many counters at a time");
    }
    target->reading.counted = n;
    for (size_t i = beside.counted; i < beside.n; i++)
        if (!reading_append(&target->reading, &beside.counters[i]))
            return error_set(error, ERROR_SYSTEM, "too many counters at a time");
    return leave_core(target, deadline, error);
}

static bool read_by_core(struct target *target, uint64_t *values, uint64_t *before_us, uint64_t *after_us,
                         const struct deadline *deadline, struct error *error)
{
    if (!coprocessor_read(target->coprocessor, &target->reading, values, before_us, after_us, deadline,
                          error))
        return false;
    if (coprocessor_stood(target->coprocessor, &target->stopped_at))
        target->leave_halted = true;
    return true;
}

/* The counters, and after them what may have spoiled them. */
static bool read_running(struct target *target, uint64_t *values, uint64_t *before_us, uint64_t *after_us,
                         struct target_look *look, const struct deadline *deadline, struct error *error)
{
    enum { ROOM = READING_STEPS + WITNESS_ROOM + 3 };
    struct step items[ROOM];
    uint64_t results[ROOM];
    struct witness_places places;
    struct steps list = {.items = items, .room = ROOM};
    const struct target_core *counted = look != NULL ? target_counted(target) : NULL;
    const struct core_ops *ops = counted != NULL && target->debugger == NULL ? counted->core.ops : NULL;
    bool tells_reset = ops != NULL && ops->add_reset_since != NULL;
    size_t reset = 0;
    size_t before = steps_add(&list, step_time(TIME_BEFORE));
    size_t at = reading_add(&target->reading, true, &list);
    size_t after = steps_add(&list, step_time(TIME_AFTER));
    if (look != NULL) {
        witness_add(&target->witness, counted != NULL ? &counted->core : NULL, &list, &places);
        reset = tells_reset ? ops->add_reset_since(&counted->core, &list) : 0;
    }
    if (!target_run(target, &list, results, deadline, error))
        return false;
    reading_take(&target->reading, true, results, at, values);
    *before_us = results[before];
    *after_us = results[after];
    if (look == NULL)
        return true;
    look->changed = witness_changed(&target->witness, results, &places, &look->saw);
    look->reset = tells_reset && ops->reset_since(&counted->core, results[reset]);
    target->slept |= tells_reset && ops->state(&counted->core, results[reset]) == CORE_ASLEEP;
    return true;
}

bool target_look(struct target *target, uint64_t *values, uint64_t *before_us, uint64_t *after_us,
                 struct target_look *look, const struct deadline *deadline, struct error *error)
{
    if (look != NULL)
        *look = (struct target_look){0};
    if (target->reading.by_core != NULL) /* which tells of a reset by itself */
        return read_by_core(target, values, before_us, after_us, deadline, error);
    return read_running(target, values, before_us, after_us, look, deadline, error);
}

bool target_read(struct target *target, uint64_t *values, uint64_t *before_us, uint64_t *after_us,
                 const struct deadline *deadline, struct error *error)
{
    return target_look(target, values, before_us, after_us, NULL, deadline, error);
}

bool target_check_witness(struct target *target, const struct deadline *deadline, struct error *error)
{
    const struct witness *witness = &target->witness;
    bool ok = true;
    for (size_t i = 0; i < witness->n && ok; i++) {
        uint64_t now;
        ok = ledger_read(target->ledger, witness->items[i].at, &now, deadline, error) &&
             ((now & witness->items[i].mask) == witness->items[i].value ||
              witness_tell(&witness->items[i], now, error));
    }
    struct error later = {0};
    if (leave_core(target, deadline, &later) || !ok)
        return ok;
    return error_set(error, later.kind, "%s", later.text);
}

static struct address seen_at(const struct setting *setting)
{
    return setting->test_at.size != 0 ? setting->test_at : setting->at;
}

static bool holds(const struct setting *setting, uint64_t value)
{
    return (value & setting->test) == (setting->set & setting->test);
}

/* It takes what is written, and somebody else takes that away: then a read directly behind the write shows
 * it. */
static bool takes_it(struct target *target, const struct setting *setting, uint64_t now,
                     const struct deadline *deadline)
{
    uint64_t value = ((setting->test_at.size != 0 ? 0 : now) & setting->keep) | setting->set | setting->key;
    const struct step items[] = {step_write(setting->at, value), step_read(seen_at(setting))};
    uint64_t results[2] = {0};
    struct error ignored = {0};
    if (setting->watched == NULL || setting->at.space == SPACE_CP15)
        return false;
    return ledger_execute(target->ledger, items, 2, results, deadline, &ignored).why == DONE &&
           holds(setting, results[1]);
}

/* --- locks that lie ------------------------------------------------------------------------------------- */

static const struct setting *lock_of(const struct setting *settings, size_t n, const struct setting *behind)
{
    for (size_t i = 0; i < n; i++)
        if (settings[i].lock && &settings[i] != behind && ledger_same_page(settings[i].at, behind->at))
            return &settings[i];
    return NULL;
}

static bool is_seen(const struct setting *setting)
{
    return setting->test != 0 && !setting->lock && !setting->only_held && !setting->only_watched;
}

/* What did not take is written again behind the lock's key. If that was not it, the lock is not to be closed
 * at the end. *lied: it was; false only when the link fails. */
static bool try_lock(struct ledger *ledger, const struct setting *lock, const struct setting *behind,
                     bool *lied, const struct deadline *deadline, struct error *error)
{
    uint64_t now;
    *lied = false;
    if (lock == NULL || ledger_old(ledger, lock->at, &now)) /* it was opened */
        return true;
    if (!ledger_open(ledger, lock, deadline, error) || !ledger_apply(ledger, behind, deadline, error) ||
        !ledger_read(ledger, seen_at(behind), &now, deadline, error))
        return false;
    *lied = holds(behind, now);
    if (!*lied)
        ledger_forget(ledger, lock->at);
    return true;
}

/* --- settings ------------------------------------------------------------------------------------------- */

static bool tell_refusal(struct target *target, const struct setting *setting, uint64_t now,
                         const struct deadline *deadline, struct error *error)
{
    if (takes_it(target, setting, now, deadline)) {
        error_set(error, ERROR_WRITTEN,
                  "something else changed %s at once after it was set: it holds 0x%" PRIX64, setting->watched,
                  now);
        error->subject = setting->watched;
        return false;
    }
    if (setting->watched != NULL) {
        error_set(error, ERROR_NO_COUNTER,
                  "%s (0x%08" PRIX64 ") does not take 0x%" PRIX64 ": it holds 0x%" PRIX64
                  ", or something else changes it at once",
                  setting->watched, setting->at.offset, setting->set, now);
        error->subject = setting->watched;
        return false;
    }
    return error_set(error, ERROR_NO_COUNTER,
                     "the register at 0x%08" PRIX64 " does not take 0x%" PRIX64 ": it holds 0x%" PRIX64,
                     setting->at.offset, setting->set, now);
}

bool target_apply(struct target *target, const struct setting *setting, const struct setting *locks, size_t n,
                  bool *again, const struct deadline *deadline, struct error *error)
{
    uint64_t now;
    *again = false;
    if (setting->only_watched)
        return true;
    if (!ledger_apply(target->ledger, setting, deadline, error))
        return false;
    if (setting->test == 0)
        return true;
    if (!ledger_read(target->ledger, seen_at(setting), &now, deadline, error))
        return false;
    if (holds(setting, now))
        return true;
    const struct setting *lock = is_seen(setting) ? lock_of(locks, n, setting) : NULL;
    if (!try_lock(target->ledger, lock, setting, again, deadline, error))
        return false;
    return *again || tell_refusal(target, setting, now, deadline, error);
}

static bool is_wanted(const struct setting *setting, enum apply_what what)
{
    return what == APPLY_ALL || setting->only_to_stop == (what == APPLY_TO_STOP);
}

/* Only what had to be written is looked at: a look at some clears what they tell. */
static bool apply_one(struct ledger *ledger, const struct setting *setting, const struct setting *lock,
                      bool *again, const struct deadline *deadline, struct error *error)
{
    uint64_t before, now;
    bool behind = lock != NULL && is_seen(setting);
    *again = false;
    if (!behind)
        return ledger_apply(ledger, setting, deadline, error);
    if (!ledger_read(ledger, seen_at(setting), &before, deadline, error))
        return false;
    if (holds(setting, before) && !setting->always)
        return true;
    if (!ledger_apply(ledger, setting, deadline, error) ||
        !ledger_read(ledger, seen_at(setting), &now, deadline, error))
        return false;
    return holds(setting, now) || try_lock(ledger, lock, setting, again, deadline, error);
}

bool target_apply_core(struct ledger *ledger, const struct core *core, enum apply_what what,
                       const struct deadline *deadline, struct error *error)
{
    struct setting settings[CORE_SETTINGS];
    size_t n = core->ops->settings(core, settings, CORE_SETTINGS);
    for (size_t i = 0; i < n;) {
        bool again = false;
        if (is_wanted(&settings[i], what) &&
            !apply_one(ledger, &settings[i], lock_of(settings, n, &settings[i]), &again, deadline, error))
            return false;
        i = again ? 0 : i + 1; /* once for each lock: then it is held */
    }
    return true;
}

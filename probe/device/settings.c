/* SPDX-License-Identifier: MIT */
#include "device/settings.h"

#include "cores/core.h"
#include "cores/pc_sample.h"

#include <inttypes.h>

static struct address seen_at(const struct setting *setting)
{
    return setting->test_at.size != 0 ? setting->test_at : setting->at;
}

static bool settings_holds(const struct setting *setting, uint64_t value)
{
    return (value & setting->test) == (setting->set & setting->test);
}

/* The register takes what is written, and something else changes it at once: a read directly after the write
 * shows that. */
static bool takes_it(struct ledger *ledger, const struct setting *setting, uint64_t now,
                     const struct deadline *deadline)
{
    uint64_t value = ((setting->test_at.size != 0 ? 0 : now) & setting->keep) | setting->set | setting->key;
    struct step items[] = {step_write(setting->at, value), step_read(seen_at(setting))};
    const struct steps list = {.items = items, .n = 2, .room = 2};
    uint64_t results[2] = {0};
    struct error ignored = {0};
    if (setting->watched == NULL || setting->at.space == SPACE_CORE)
        return false;
    return ledger_execute(ledger, &list, 0, results, deadline, &ignored).why == DONE &&
           settings_holds(setting, results[1]);
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

/* Writes the lock's key, and the setting again. *lied: now the setting holds, so the lock was closed. Else
 * the lock is not to be closed at the end. False only when the link fails. */
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
    *lied = settings_holds(behind, now);
    if (!*lied)
        ledger_forget(ledger, lock->at);
    return true;
}

static bool tell_refusal(struct ledger *ledger, const struct setting *setting, uint64_t now,
                         const struct deadline *deadline, struct error *error)
{
    if (takes_it(ledger, setting, now, deadline)) {
        error_set(error, ERROR_WRITTEN, "something else changed %s at once: it holds 0x%" PRIX64,
                  setting->watched, now);
        error->subject = setting->watched;
        return false;
    }
    error_set(error, ERROR_NO_COUNTER,
              "%s (0x%08" PRIX64 ") does not take 0x%" PRIX64 ": it holds 0x%" PRIX64
              "%s, or something else changes it at once",
              setting->watched != NULL ? setting->watched : "a register", setting->at.offset, setting->set,
              now, now == 0 ? " as one that this chip lacks" : "");
    error->subject = setting->watched;
    return false;
}

bool settings_apply(struct ledger *ledger, const struct setting *setting, const struct setting *locks,
                    size_t n, bool *again, const struct deadline *deadline, struct error *error)
{
    uint64_t now;
    *again = false;
    if (setting->only_watched)
        return true;
    if (!ledger_apply(ledger, setting, deadline, error))
        return false;
    if (setting->test == 0)
        return true;
    if (!ledger_read(ledger, seen_at(setting), &now, deadline, error))
        return false;
    if (settings_holds(setting, now))
        return true;
    const struct setting *lock = is_seen(setting) ? lock_of(locks, n, setting) : NULL;
    if (!try_lock(ledger, lock, setting, again, deadline, error))
        return false;
    return *again || tell_refusal(ledger, setting, now, deadline, error);
}

bool settings_apply_each(struct ledger *ledger, const struct setting *settings, size_t n,
                         const struct deadline *deadline, struct error *error)
{
    for (size_t i = 0; i < n; i++)
        if (!ledger_apply(ledger, &settings[i], deadline, error))
            return false;
    return true;
}

/* Reads back only what it wrote: reading some registers clears what they show. */
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
    if (settings_holds(setting, before) && !setting->always)
        return true;
    if (!ledger_apply(ledger, setting, deadline, error) ||
        !ledger_read(ledger, seen_at(setting), &now, deadline, error))
        return false;
    return settings_holds(setting, now) || try_lock(ledger, lock, setting, again, deadline, error);
}

bool settings_apply_core(struct ledger *ledger, const struct core *core, enum apply_what what,
                         const struct deadline *deadline, struct error *error)
{
    struct setting settings[CORE_SETTINGS];
    size_t n = core_settings(core, settings, CORE_SETTINGS);
    for (size_t i = 0; i < n;) {
        bool again = false;
        bool wanted = what == APPLY_ALL || settings[i].only_to_stop == (what == APPLY_TO_STOP);
        if (wanted &&
            !apply_one(ledger, &settings[i], lock_of(settings, n, &settings[i]), &again, deadline, error))
            return false;
        i = again ? 0 : i + 1; /* once for each lock: then it is held */
    }
    return true;
}

void settings_undo_counters(struct ledger *ledger, const struct core *core, const struct deadline *deadline)
{
    struct setting trace;
    struct address at;
    struct restore restore;
    struct error ignored = {0}; /* the undoing meets it again */
    uint64_t old, found = 0, now = 0;
    bool counts = false, was_on = false;
    if (pc_sample_settings(core, &trace, 1) == 0)
        return;
    for (size_t i = 0; i < ledger_held(ledger); i++) {
        bool is_counter = ledger_entry(ledger, i, &at, &restore, &old) && restore.exact != 0;
        counts = counts || is_counter;
        was_on = was_on || (!counts && address_same(at, trace.at)); /* restored after them by itself */
    }
    was_on = was_on || !ledger_old(ledger, trace.at, &found) || settings_holds(&trace, found);
    if (!counts || !ledger_read(ledger, trace.at, &now, deadline, &ignored) ||
        (was_on && settings_holds(&trace, now)) || !ledger_apply(ledger, &trace, deadline, &ignored))
        return;
    for (size_t i = ledger_held(ledger); i-- > 0;)
        if (ledger_entry(ledger, i, &at, &restore, &old) && restore.exact != 0)
            (void)ledger_release(ledger, at, deadline, &ignored);
}

static bool read_reset(struct ledger *ledger, const struct core *core, uint64_t *value,
                       const struct deadline *deadline, struct error *error)
{
    return ledger_read(ledger, core_reset_register(core), value, deadline, error);
}

bool settings_watch_resets(struct ledger *ledger, struct core *core, const struct deadline *deadline,
                           struct error *error)
{
    bool again = core->resets == RESETS_NOTICED;
    uint64_t value = 0;
    if (!core->ops->stop->can_notice_resets(core))
        return settings_apply_core(ledger, core, APPLY_ALL, deadline, error);
    core->resets = RESETS_NOTICED;
    if ((again || core_marks_resets(core)) && !read_reset(ledger, core, &value, deadline, error))
        return false;
    if (again && core_reset_seen(core, value)) {
        core->resets = RESETS_CAUGHT; /* reported once */
        return error_reset(error);
    }
    if (core_marks_resets(core) && core->ops->stop->mark_is_used(core, value))
        core->resets = RESETS_CAUGHT;
    if (!settings_apply_core(ledger, core, APPLY_ALL, deadline, error))
        return false;
    if (!core_marks_resets(core))
        return true;
    if (!read_reset(ledger, core, &value, deadline, error))
        return false;
    if (!core_reset_seen(core, value))
        return true;
    core->resets = RESETS_CAUGHT; /* the register does not take the mark */
    return settings_apply_core(ledger, core, APPLY_ALL, deadline, error);
}

bool settings_catch_is_left(const struct ledger *ledger, const struct core *core)
{
    struct setting settings[CORE_SETTINGS];
    size_t n = core_has_run_control(core) ? core_settings(core, settings, CORE_SETTINGS) : 0;
    uint64_t old;
    for (size_t i = 0; i < n; i++)
        if (settings[i].catches_resets && ledger_old(ledger, settings[i].at, &old) &&
            !settings_holds(&settings[i], old))
            return true;
    return false;
}

bool settings_read_comparator(struct ledger *ledger, const struct core *core, unsigned n, uint64_t *words,
                              bool *used, uint64_t *address, const struct deadline *deadline,
                              struct error *error)
{
    for (unsigned i = 0; i < core_comparator_words(core); i++)
        if (!ledger_read(ledger, core_comparator(core, n, i), &words[i], deadline, error))
            return false;
    *used = core_comparator_used(core, words, address);
    return true;
}

bool settings_switch_on_comparators(struct ledger *ledger, const struct core *core,
                                    const struct deadline *deadline, struct error *error)
{
    struct setting on = core_comparators_on(core);
    uint64_t now;
    if (!ledger_read(ledger, on.at, &now, deadline, error))
        return false;
    bool all_off = (now & on.test) != on.set;
    for (unsigned i = 0; all_off && i < core->comparators; i++) {
        uint64_t words[COMPARATOR_WORDS], ignored;
        bool used;
        if (!settings_read_comparator(ledger, core, i, words, &used, &ignored, deadline, error))
            return false;
        if (used &&
            !ledger_write(ledger, core_comparator(core, i, 0), 0, (struct restore){0}, deadline, error))
            return false;
    }
    return ledger_apply(ledger, &on, deadline, error);
}

bool settings_prepare_halts(struct ledger *ledger, struct core *core, const struct deadline *deadline,
                            struct error *error)
{
    return settings_watch_resets(ledger, core, deadline, error) &&
           (core_has(core, COMPARATOR_SWITCH) ||
            settings_switch_on_comparators(ledger, core, deadline, error));
}

/* ---- witness */

void witness_take(struct witness *witness, const struct setting *setting)
{
    const struct address *at = setting->test_at.size != 0 ? &setting->test_at : &setting->at;
    size_t i = 0;
    if (setting->watched == NULL || setting->test == 0)
        return;
    while (i < witness->n && !address_same(witness->items[i].at, *at))
        i++;
    if (i == WITNESS_ROOM)
        return;
    struct witness_item *item = &witness->items[i];
    if (i == witness->n) {
        *item = (struct witness_item){
            .at = *at, .name = setting->watched, .resets_unseen = witness->resets_unseen};
        witness->n++;
    }
    item->value = (item->value & ~setting->test) | (setting->set & setting->test);
    item->mask |= setting->test;
}

static void witness_add_by_core(const struct witness *witness, const struct core *core,
                                const struct core_spare *spare, struct steps *list,
                                struct witness_places *out)
{
    struct step accesses[WITNESS_ROOM] = {{.op = OP_READ}};
    size_t which[WITNESS_ROOM], at[WITNESS_ROOM] = {0}, n = 0;
    for (size_t i = 0; i < witness->n; i++)
        if (witness->items[i].at.space == SPACE_CORE) {
            accesses[n] = step_read(witness->items[i].at);
            which[n++] = i;
        }
    if (n == 0)
        return;
    core_add_coprocessor(core, list, accesses, n, spare, at);
    for (size_t i = 0; i < n; i++)
        out->at[which[i]] = (uint16_t)at[i];
}

void witness_add(const struct witness *witness, const struct core *core, const struct core_spare *spare,
                 struct steps *list, struct witness_places *out)
{
    if (witness == NULL)
        return;
    witness_add_by_core(witness, core, spare, list, out);
    for (size_t i = 0; i < witness->n; i++)
        if (witness->items[i].at.space != SPACE_CORE)
            out->at[i] = (uint16_t)steps_add(list, step_read(witness->items[i].at));
}

const struct witness_item *witness_changed(const struct witness *witness, const uint64_t *results,
                                           const struct witness_places *places, uint64_t *saw)
{
    for (size_t i = 0; witness != NULL && i < witness->n; i++) {
        const struct witness_item *item = &witness->items[i];
        *saw = results[places->at[i]];
        if ((*saw & item->mask) != item->value)
            return item;
    }
    return NULL;
}

bool witness_tell(const struct witness_item *item, uint64_t saw, struct error *error)
{
    error_set(error, ERROR_WRITTEN,
              "something else changed %s during the run%s: 0x%" PRIX64 " of its bits 0x%" PRIX64
              " became 0x%" PRIX64,
              item->name, item->resets_unseen != NULL ? item->resets_unseen : "", item->value, item->mask,
              saw & item->mask);
    error->may_be_reset = item->resets_unseen != NULL;
    error->subject = item->name;
    return false;
}

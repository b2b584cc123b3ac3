#include "target/apply.h"

#include <inttypes.h>

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

bool target_apply(struct target *target, const struct setting *setting, const struct deadline *deadline,
                  struct error *error)
{
    uint64_t now;
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

bool target_apply_to_stop(struct ledger *ledger, const struct core *core, const struct deadline *deadline,
                          struct error *error)
{
    struct setting settings[CORE_SETTINGS];
    size_t n = core->ops->settings(core, settings, CORE_SETTINGS);
    for (size_t i = 0; i < n; i++)
        if (settings[i].only_to_stop && !ledger_apply(ledger, &settings[i], deadline, error))
            return false;
    return true;
}

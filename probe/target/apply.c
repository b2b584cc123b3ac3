#include "target/apply.h"

#include <inttypes.h>

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
    if (!ledger_read(target->ledger, setting->test_at.size != 0 ? setting->test_at : setting->at, &now,
                     deadline, error))
        return false;
    return (now & setting->test) == (setting->set & setting->test) ||
           error_set(error, ERROR_NO_COUNTER,
                     "the register at 0x%08" PRIX64 " does not take 0x%" PRIX64 ": it holds 0x%" PRIX64,
                     setting->at.offset, setting->set, now);
}

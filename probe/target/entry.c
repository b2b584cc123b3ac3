#include "target/entry.h"

#include <inttypes.h>

bool entry_check(struct target *target, uint64_t status, uint64_t lr, uint64_t function,
                 const struct deadline *deadline, struct error *error)
{
    const struct core *core = &target->chosen->core;
    const char *mode = core->ops->exception_mode(core, status);
    struct error unread = {0};
    uint64_t before = 0;
    if (mode == NULL)
        return true;
    if ((lr & 3) == 0 && !ledger_read(target->ledger, core_word(core, lr - 4), &before, deadline, &unread))
        return unread.kind == ERROR_FAULT || error_set(error, unread.kind, "%s", unread.text);
    return core->ops->called_from(core, lr, (uint32_t)before, function) ||
           error_set(error, ERROR_STATE,
                     "0x%08" PRIX64
                     " was entered by an exception (%s mode), and where that returns to is not "
                     "in LR: name an end, as the address of its last instruction",
                     core_code_place(function), mode);
}

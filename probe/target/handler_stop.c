#include "target/handler_stop.h"

enum { IPSR = 0x1FF, BKPT = 0xBE00, BKPT_MASK = 0xFF00 };

/* Whoever put a breakpoint there, in a comparator or into the code. */
static bool find_breakpoint(struct ledger *ledger, const struct core *core, uint64_t pc, bool *found,
                            const struct deadline *deadline, struct error *error)
{
    struct address code = core_word(core, pc);
    uint64_t words[COMPARATOR_WORDS], at, instruction;
    struct setting on = core->ops->comparators_on(core);
    *found = false;
    if (!ledger_read(ledger, on.at, words, deadline, error))
        return false;
    bool act = (words[0] & on.test) == on.set;
    for (unsigned i = 0; act && !*found && i < core->comparators; i++) {
        if (!ledger_read(ledger, core->ops->comparator(core, i, 0), words, deadline, error))
            return false;
        *found = core->ops->comparator_used(core, words, &at) && at == core_code_place(pc);
    }
    code.size = 2;
    if (*found)
        return true;
    if (!ledger_read(ledger, code, &instruction, deadline, error))
        return false;
    *found = (instruction & BKPT_MASK) == BKPT;
    return true;
}

bool handler_stop_check(struct ledger *ledger, const struct core *core, uint64_t pc, uint64_t status,
                        bool *is, const struct deadline *deadline, struct error *error)
{
    bool found = false;
    struct error unread = {0};
    *is = core->halts_in_handler && (status & IPSR) != 0;
    if (!*is)
        return true;
    if (!find_breakpoint(ledger, core, pc, &found, deadline, &unread)) {
        *is = false; /* what cannot be seen may be somebody's */
        return unread.kind == ERROR_FAULT || unread.kind == ERROR_ASLEEP ||
               error_set(error, unread.kind, "%s", unread.text);
    }
    *is = !found;
    return true;
}

#include "engine/stops.h"

#include <inttypes.h>

/* DDI 0403 A7.7.18, A7.7.19: BL, and BLX (of an immediate: DDI 0406 A8.8.25); how long it is, or 0. */
static unsigned thumb_call_size(uint16_t first, uint16_t second)
{
    if ((second & 0xFF87) == 0x4780)
        return 2;
    return (first & 0xF800) == 0xF000 && (second & 0xC000) == 0xC000 ? 4 : 0;
}

/* DDI 0406 A8.8.25, A8.8.26; DDI 0487 C6.2, BL and BLR. */
static bool is_word_call(const struct core *core, uint32_t word)
{
    if (core->family == CORE_ARMV8)
        return (word & 0xFC000000) == 0x94000000 || (word & 0xFFFFFC1F) == 0xD63F0000;
    return (word & 0x0F000000) == 0x0B000000 || (word & 0xFE000000) == 0xFA000000 ||
           (word & 0x0FFFFFF0) == 0x012FFF30;
}

bool entry_call(struct device *device, uint64_t lr, uint64_t *call, const struct deadline *deadline,
                struct error *error)
{
    const struct core *core = &device->chosen->core;
    uint64_t to = core_code_of_lr(core, lr), place = core_place(core, to), words[2] = {0};
    bool thumb = core->family == CORE_M || (core->family == CORE_ARMV7 && (to & 1) != 0);
    struct error unread = {0};
    *call = UINT64_MAX;
    uint64_t first = (place - 4) & ~UINT64_C(3);
    for (unsigned i = 0; i < (place % 4 == 0 ? 1 : 2); i++)
        if (!ledger_read(device->ledger, core_word(core, first + UINT64_C(4) * i), &words[i], deadline,
                         &unread))
            return unread.kind == ERROR_FAULT || error_set(error, unread.kind, "%s", unread.text);
    uint64_t both = (words[0] & UINT32_MAX) | words[1] << 32;
    uint32_t before = (uint32_t)(both >> 8 * (place - 4 - first));
    unsigned size = thumb                        ? thumb_call_size((uint16_t)before, (uint16_t)(before >> 16))
                    : is_word_call(core, before) ? 4
                                                 : 0;
    if (size != 0)
        *call = core_code(core, place - size, thumb);
    return true;
}

bool entry_check_return(const struct core *core, uint64_t lr, struct error *error)
{
    const char *why = core_no_return(core, lr);
    return why == NULL || error_set(error, ERROR_STATE,
                                    "where this call returns to is not known: %s. Name an end as well", why);
}

bool entry_check(struct device *device, uint64_t status, uint64_t lr, uint64_t function,
                 const struct deadline *deadline, struct error *error)
{
    const struct core *core = &device->chosen->core;
    const char *mode = core_exception_mode(core, status);
    struct error unread = {0};
    uint64_t before = 0;
    if (mode == NULL)
        return true;
    if ((lr & 3) == 0 && !ledger_read(device->ledger, core_word(core, lr - 4), &before, deadline, &unread))
        return unread.kind == ERROR_FAULT || error_set(error, unread.kind, "%s", unread.text);
    return core_called_from(core, lr, (uint32_t)before, function) ||
           error_set(error, ERROR_STATE,
                     "0x%08" PRIX64
                     " was entered by an exception (%s mode), and where that returns to is not "
                     "in LR: name an end, as the address of its last instruction",
                     core_code_place(function), mode);
}

bool exits_check(const struct region *region, struct error *error)
{
    if (region->n_exits == 0)
        return error_set(
            error, ERROR_STATE,
            "this is an exception handler, and no instruction is known by which it returns: name an "
            "end, as the address of its last instruction");
    if (region->n_exits > REGION_EXITS)
        return error_set(error, ERROR_STATE,
                         "this is an exception handler that returns at more than %d places: name an end",
                         REGION_EXITS);
    return true;
}

enum { IPSR = 0x1FF, BKPT = 0xBE00, BKPT_MASK = 0xFF00 };

/* Whoever put a breakpoint there, in a comparator or into the code. */
static bool find_breakpoint(struct ledger *ledger, const struct core *core, uint64_t pc, bool *found,
                            const struct deadline *deadline, struct error *error)
{
    struct address code = core_word(core, pc);
    uint64_t words[COMPARATOR_WORDS], at, instruction;
    struct setting on = core_comparators_on(core);
    *found = false;
    if (!ledger_read(ledger, on.at, words, deadline, error))
        return false;
    bool act = (words[0] & on.test) == on.set;
    for (unsigned i = 0; act && !*found && i < core->comparators; i++) {
        if (!ledger_read(ledger, core_comparator(core, i, 0), words, deadline, error))
            return false;
        *found = core_comparator_used(core, words, &at) && at == core_code_place(pc);
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

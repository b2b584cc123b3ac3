#include "device/own_breakpoint.h"

#include "cores/arm_debug.h"
#include "symbols/symbols.h"

#include <stdio.h>

enum { LIST_ROOM = 8, SEGMENTS = 32, BKPT_CODE = 0xBE00, BKPT_MASK = 0xFF00, SEMIHOSTING = 0xAB };

/* Whether the file has this instruction there; without a file it is not known. */
static bool file_has(struct symbols *symbols, uint64_t pc, uint16_t code)
{
    struct segment segments[SEGMENTS];
    size_t n = symbols != NULL ? symbols_code(symbols, segments, SEGMENTS) : 0;
    for (size_t i = 0; i < n && i < SEGMENTS; i++) {
        const struct segment *segment = &segments[i];
        uint64_t at = pc - segment->address;
        if (pc >= segment->address && segment->size >= 2 && at <= segment->size - 2)
            return (segment->bytes[at] | segment->bytes[at + 1] << 8) == code;
    }
    return false;
}

struct own_breakpoint own_breakpoint_at(struct ledger *ledger, const struct core *core,
                                        struct symbols *symbols, uint64_t pc, const struct deadline *deadline)
{
    struct own_breakpoint own = {0};
    struct address at = core_word(core, pc);
    struct error unread = {0};
    uint64_t code;
    at.size = 2;
    if (core->family != CORE_M || !ledger_read(ledger, at, &code, deadline, &unread) ||
        (code & BKPT_MASK) != BKPT_CODE)
        return own;
    own.comment = (uint8_t)code;
    own.is_semihosting = own.comment == SEMIHOSTING;
    own.is_own = symbols != NULL ? file_has(symbols, pc, (uint16_t)code) : own.is_semihosting;
    own.is_semihosting = own.is_semihosting && own.is_own;
    return own;
}

bool own_breakpoint_is_by_us(const struct ledger *ledger, const struct core *core)
{
    uint64_t before;
    return core->family == CORE_M && ledger_old(ledger, core_debug_enable(core), &before) &&
           (before & DHCSR_C_DEBUGEN) == 0;
}

bool own_breakpoint_skip(struct ledger *ledger, const struct core *core, uint64_t pc,
                         const struct deadline *deadline, struct error *error)
{
    struct step items[LIST_ROOM];
    uint64_t results[LIST_ROOM];
    struct steps list = {.items = items, .room = LIST_ROOM};
    core_add_skip(core, &list, pc);
    for (size_t i = 0; i < list.n; i++)
        if (!ledger_allow(ledger, list.items[i].at, error))
            return false;
    return ledger_run(ledger, &list, results, deadline, error);
}

void own_breakpoint_describe(const struct own_breakpoint *own, char *out, size_t size)
{
    snprintf(out, size, "the program's own BKPT 0x%02X%s", own->comment,
             own->is_semihosting ? ", a semihosting call," : "");
}

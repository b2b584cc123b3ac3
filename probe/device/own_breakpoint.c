#include "device/own_breakpoint.h"

#include "device/run.h"
#include "symbols/symbols.h"

#include <stdio.h>

enum { LIST_ROOM = 8, SEGMENTS = 32 };

/* Whether the file has this instruction there; without a file it is not known. */
static bool file_has(struct symbols *symbols, uint64_t pc, const struct breakpoint_code *code)
{
    struct segment segments[SEGMENTS];
    size_t n = symbols != NULL ? symbols_code(symbols, segments, SEGMENTS) : 0;
    for (size_t i = 0; i < n && i < SEGMENTS; i++) {
        const struct segment *segment = &segments[i];
        uint64_t at = pc - segment->address;
        uint32_t in_file = 0;
        if (pc < segment->address || segment->size < code->size || at > segment->size - code->size)
            continue;
        for (size_t k = 0; k < code->size; k++)
            in_file |= (uint32_t)segment->bytes[at + k] << 8 * k;
        return in_file == code->code;
    }
    return false;
}

struct own_breakpoint own_breakpoint_at(struct ledger *ledger, const struct core *core,
                                        struct symbols *symbols, uint64_t pc, const struct deadline *deadline)
{
    struct own_breakpoint own = {0};
    struct error unread = {0};
    uint64_t word;
    pc = core_code_place(pc);
    if (!ledger_read(ledger, core_word(core, pc & ~UINT64_C(3)), &word, deadline, &unread) ||
        !core_breakpoint_code(core, pc, (uint32_t)word, &own.code))
        return (struct own_breakpoint){0};
    own.is_own = symbols != NULL ? file_has(symbols, pc, &own.code) : own.code.is_semihosting;
    own.is_call = own.is_own && own.code.is_semihosting && core_can_skip(core);
    return own;
}

bool own_breakpoint_is_by_us(const struct ledger *ledger, const struct core *core)
{
    uint64_t before;
    return core_has_run_control(core) && ledger_old(ledger, core_debug_enable(core), &before) &&
           (before & core->ops->breakpoints->debug_on) == 0;
}

bool own_breakpoint_skip(struct ledger *ledger, const struct core *core, uint64_t pc,
                         const struct deadline *deadline, struct error *error)
{
    struct step items[LIST_ROOM];
    uint64_t results[LIST_ROOM];
    struct steps list = {.items = items, .room = LIST_ROOM};
    core_add_skip(core, &list, pc);
    return run_allow(ledger, &list, error) && ledger_run(ledger, &list, results, deadline, error);
}

void own_breakpoint_describe(const struct own_breakpoint *own, char *out, size_t size)
{
    snprintf(out, size, "the program's own %s 0x%02X%s", own->code.name, own->code.number,
             own->code.is_semihosting ? ", a semihosting call," : "");
}

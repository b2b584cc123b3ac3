/* SPDX-License-Identifier: MIT */
#include "device/own_stops.h"

#include "base/arm_debug.h"
#include "cores/cortex_m.h"
#include "device/settings.h"

bool own_stops_are_there(struct ledger *ledger, const struct core *core, const struct deadline *deadline)
{
    struct error unread = {0};
    uint64_t demcr;
    return core_has(core, SYSTEM_SPACE) &&
           ledger_read(ledger, core_word(core, DEMCR), &demcr, deadline, &unread) &&
           (demcr & DEMCR_MON_EN) != 0;
}

static bool own_stop_is_set(const struct core_stop *stop, uint64_t value)
{
    uint64_t set = value & stop->field;
    return set >= stop->low && set <= stop->high;
}

/* Of those that may stop it, one that has matched, else the first. A read of a function forgets the match. */
static bool own_stops_find_watchpoint(struct ledger *ledger, const struct core *core, bool must_match,
                                      struct own_breakpoint *own, const struct deadline *deadline,
                                      struct error *error)
{
    struct core_stops stops = {.n = 0};
    uint64_t identity[STOPS_IDENTITY], function, old;
    bool matched = false;
    if (!ledger_read(ledger, core_word(core, DEMCR), &identity[0], deadline, error) ||
        !ledger_read(ledger, core_word(core, DWT_CTRL), &identity[1], deadline, error))
        return false;
    core_add_stops(core, identity, &stops);
    for (size_t i = 0; i < stops.n && !matched; i++) {
        const struct core_stop *stop = &stops.items[i];
        if (!stop->for_monitor)
            continue;
        if (!ledger_read(ledger, stop->at, &function, deadline, error))
            return false;
        bool ours = ledger_old(ledger, stop->at, &old) && !own_stop_is_set(stop, old);
        matched = own_stop_is_set(stop, function) && !ours && watchpoints_matched(function);
        if (ours || !own_stop_is_set(stop, function) || !(matched || (!must_match && !own->is_own)))
            continue;
        *own = (struct own_breakpoint){
            .is_own = true, .is_comparator = true, .comparator = "watchpoint (DWT", .number = (unsigned)i};
        if (!ledger_read(ledger, stop->place, &own->place, deadline, error))
            return false;
    }
    return true;
}

static bool own_stops_find_breakpoint(struct ledger *ledger, const struct core *core, uint64_t pc,
                                      struct own_breakpoint *own, const struct deadline *deadline,
                                      struct error *error)
{
    struct setting on = core_comparators_on(core);
    uint64_t words[COMPARATOR_WORDS], place = 0, old;
    bool used;
    if (!ledger_read(ledger, on.at, words, deadline, error))
        return false;
    bool act = (words[0] & on.test) == on.set;
    for (unsigned i = 0; act && i < core->comparators && !own->is_own; i++) {
        if (!settings_read_comparator(ledger, core, i, words, &used, &place, deadline, error))
            return false;
        bool ours = ledger_old(ledger, core_comparator(core, i, 0), &old) && old != words[0];
        if (used && !ours && core_code_place(place) == core_code_place(pc))
            *own = (struct own_breakpoint){.is_own = true,
                                           .is_comparator = true,
                                           .comparator = "breakpoint (FPB",
                                           .number = i,
                                           .place = core_code_place(place)};
    }
    return true;
}

struct own_breakpoint own_stops_find(struct ledger *ledger, const struct core *core, uint64_t pc,
                                     const struct deadline *deadline)
{
    struct own_breakpoint own = {0};
    struct error unread = {0};
    uint64_t cause;
    if (!own_stops_are_there(ledger, core, deadline) ||
        !ledger_read(ledger, core_cause_register(core), &cause, deadline, &unread))
        return own;
    /* DFSR.BKPT stays from stops before, and a server may have cleared all of it */
    bool trapped = (cause & DFSR_DWTTRAP) != 0, cleared = (cause & DFSR_ALL) == 0;
    bool ok = trapped || own_stops_find_breakpoint(ledger, core, pc, &own, deadline, &unread);
    if (ok && !own.is_own && (trapped || cleared))
        ok = own_stops_find_watchpoint(ledger, core, cleared, &own, deadline, &unread);
    return ok ? own : (struct own_breakpoint){0};
}

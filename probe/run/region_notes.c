/* SPDX-License-Identifier: MIT */
#include "run/region_notes.h"

#include "base/values.h"
#include "run/trial.h"

#include <inttypes.h>
#include <stdio.h>

static void put_note(char *out, const char *text)
{
    text_join(out, REGION_NOTES, "; ", text);
}

static bool changes_code(const struct session *session, uint64_t at)
{
    const struct core *core = &session->device.chosen->core;
    return core_has_breakpoint_instruction(core) && !core_can_compare(core, at);
}

static void note_changed_code(const char *where, char *out, size_t size)
{
    snprintf(out, size,
             "a breakpoint instruction is put into memory %s: code that checks its own memory sees it",
             where);
}

void region_stop_note(const struct session *session, uint64_t at, char *out, size_t size)
{
    char where[32];
    out[0] = '\0';
    snprintf(where, sizeof where, "at 0x%08" PRIX64, at);
    if (changes_code(session, at))
        note_changed_code(where, out, size);
}

/* Of the start, the end, or where it returns to. */
static void note_stops(const struct session *session, const struct named_region *named, char *out,
                       size_t size)
{
    enum { CALLERS = 64 };
    const struct extent function = {named->start.low, named->start.high};
    uint64_t callers[CALLERS];
    region_stop_note(session, named->region.start, out, size);
    if (out[0] == '\0' && !named->region.to_return)
        region_stop_note(session, named->region.end, out, size);
    if (out[0] != '\0' || !named->region.to_return || session->symbols == NULL ||
        !core_has_breakpoint_instruction(&session->device.chosen->core))
        return;
    size_t n = symbols_callers(session->symbols, &function, callers, CALLERS);
    for (size_t i = 0; i < n && i < CALLERS; i++)
        if (changes_code(session, callers[i]))
            note_changed_code("where it returns to RAM", out, size);
}

static void note_inlined(const struct session *session, const struct named_region *named, char *out,
                         size_t size)
{
    char calls[240];
    out[0] = '\0';
    if (named->region.to_return &&
        symbols_inline_calls(session->symbols, named->region.start, calls, sizeof calls) > 0)
        snprintf(out, size, "also inlined at %s: those are not hits", calls);
    else if (named->region.to_return && symbols_is_split(session->symbols))
        snprintf(out, size,
                 "some calls may be inlined, which are not hits: the DWARF is split (-gsplit-dwarf)");
}

bool region_notes(struct session *session, const struct named_region *named, char out[REGION_NOTES])
{
    const struct extent code = region_code(named);
    char text[REGION_NOTES];
    out[0] = '\0';
    note_stops(session, named, text, sizeof text);
    put_note(out, text);
    if (session->symbols == NULL)
        return false;
    note_inlined(session, named, text, sizeof text);
    put_note(out, text);
    if (named->of_two_calls)
        put_note(out, "no way leads from start to end in one call: the end is a later call's");
    own_code_sleep_note(session, &code, text, sizeof text);
    bool may_sleep = text[0] != '\0';
    put_note(out, text);
    own_code_debugger_note(session, &code, text, sizeof text);
    put_note(out, text);
    return may_sleep;
}

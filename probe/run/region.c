#include "run/region.h"

#include <inttypes.h>
#include <stdio.h>

static bool is_return(void *symbols, uint64_t address)
{
    return symbols_is_return(symbols, address);
}

static enum core_register register_of(const struct frame_base *base)
{
    return base->is_sp ? CORE_SP : (enum core_register)(CORE_R0 + base->number);
}

void region_of_function(struct named_region *out, const struct process *process)
{
    out->region = (struct region){
        .start = out->start.address, .low = out->start.low, .high = out->start.high, .to_return = true};
    out->region.start_is_thumb = out->start.isa == ISA_THUMB;
    out->region.process = *process;
}

void region_describe(const struct named_region *named, struct conditions *out)
{
    bool to_return = named->region.to_return;
    snprintf(out->start, sizeof out->start, "%s", named->start.name);
    snprintf(out->start_source, sizeof out->start_source, "%s", named->start.source);
    snprintf(out->start_file, sizeof out->start_file, "%s", named->file);
    out->start_address = named->region.start;
    snprintf(out->end, sizeof out->end, "%s", to_return ? "its return" : named->end.name);
    if (to_return)
        return;
    snprintf(out->end_source, sizeof out->end_source, "%s", named->end.source);
    out->end_address = named->region.end;
}

bool region_locate(struct named_region *out, struct symbols *symbols, const char *start, const char *end,
                   const struct process *process, struct error *error)
{
    if (!symbols_locate(symbols, start, &out->start, error))
        return false;
    region_of_function(out, process);
    if (end == NULL) {
        if (!out->start.is_function_entry)
            return error_set(error, ERROR_USAGE, "%.128s is not the entry of a function: name an end as well",
                             start);
        return true;
    }
    if (!symbols_locate(symbols, end, &out->end, error))
        return false;
    out->region.to_return = false;
    out->region.end = out->end.address;
    out->region.end_is_thumb = out->end.isa == ISA_THUMB;
    return true;
}

/* Round a loop it is all of the function. */
struct extent region_code(const struct named_region *named)
{
    const struct location *start = &named->start, *end = &named->end;
    if (named->region.to_return || (end->low == start->low && end->address <= start->address))
        return (struct extent){.low = start->address};
    return end->low == start->low ? (struct extent){start->address, end->address} : (struct extent){.low = 0};
}

bool region_check_place(struct symbols *symbols, const struct location *at, struct error *error)
{
    uint64_t it;
    struct location before;
    char sections[160];
    if (symbols_overlay(symbols, at->address, sections, sizeof sections))
        return error_advise(error, ERROR_USAGE, "A region around a call of it can be measured.",
                            "%.200s is in an overlay: the sections %s all have code at 0x%08" PRIx64
                            ", and the target holds one of them at a time",
                            at->name, sections, at->address);
    if (!symbols_it_of(symbols, at->address, &it))
        return true;
    symbols_describe(symbols, it, &before);
    return error_advise(error, ERROR_USAGE, "Name the IT instruction, or the line after its block.",
                        "%.200s is conditional on the IT at %.200s, *0x%08" PRIx64
                        ": cores differ in whether they stop there",
                        at->name, before.name, it);
}

bool region_look_into(struct named_region *named, struct symbols *symbols, struct error *error)
{
    struct region *region = &named->region;
    struct frame_base at_start, at_end;
    symbols_file(symbols, named->start.address, named->file, sizeof named->file);
    if (!region_check_place(symbols, &named->start, error) ||
        (!region->to_return && !region_check_place(symbols, &named->end, error)))
        return false;
    if (region->to_return) {
        if (named->start.never_returns)
            return error_set(error, ERROR_USAGE,
                             "%s never returns (its DWARF says noreturn): name an end as well",
                             named->start.name);
        region->may_be_left = symbols_may_leave(symbols);
        struct handler_exit exits[REGION_EXITS];
        region->n_exits = symbols_exits(symbols, region->start, exits, REGION_EXITS);
        for (size_t i = 0; i < region->n_exits && i < REGION_EXITS; i++)
            region->exits[i] = (struct exit_place){
                .at = exits[i].at, .popped = exits[i].popped, .conditional = exits[i].conditional};
        region->is_return = is_return;
        region->context = symbols;
        return true;
    }
    named->frames = symbols_frames(symbols, region->start, region->end, &at_start, &at_end);
    region->in_function = named->frames == FRAMES_KNOWN;
    if (region->in_function) {
        region->start_base = register_of(&at_start);
        region->end_base = register_of(&at_end);
        region->apart = at_start.offset - at_end.offset;
    }
    return true;
}

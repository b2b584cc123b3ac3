#include "engine/call.h"

#include "code/instruction.h"
#include "cores/architectures.h"

#include <inttypes.h>

/* --- where a call ends ---------------------------------------------------------------------------------- */

static bool check_exits(const struct region *region, struct error *error)
{
    if (region->n_exits == 0)
        return error_set(
            error, ERROR_STATE,
            "this is an exception handler, and no instruction that returns from it is known: name an "
            "end, as the address of its last instruction");
    if (region->n_exits > REGION_EXITS)
        return error_set(error, ERROR_STATE,
                         "this is an exception handler that returns at more than %d places: name an end",
                         REGION_EXITS);
    return true;
}

bool frame_is_on_stack(const struct core *core)
{
    return core_has(core, PROGRAM_ONLY);
}

struct return_place frame_exit(const struct frame *frame, const struct core *core,
                               const struct region *region, size_t i)
{
    const struct exit_place *exit = &region->exits[i];
    return (struct return_place){.pc = core_code(core, exit->at, true),
                                 .sp = (frame->sp - UINT64_C(4) * exit->popped) & UINT32_MAX};
}

bool frame_takes_exit(const struct region *region, size_t i, uint64_t status)
{
    return !region->exits[i].conditional || cortex_m_condition_holds(status);
}

/* A call that is the last instruction of its function returns to whatever code happens to follow. */
static bool check_return(const struct frame *frame, const struct core *core, const struct region *region,
                         struct error *error)
{
    const char *why = core_no_return(core, frame->lr);
    uint64_t to = core_place(core, frame->end.pc);
    if (why != NULL)
        return error_set(error, ERROR_STATE, "it is not known where this call returns: %s. Name an end, too",
                         why);
    if (region->is_return == NULL || region->is_return(region->context, to))
        return true;
    return error_set(error, ERROR_STATE,
                     "the call that returns to 0x%08" PRIX64
                     " is the last instruction of its caller: it is not meant to return. Name an end, too",
                     to);
}

bool frame_find_end(struct frame *frame, const struct core *core, const struct region *region,
                    const uint64_t *words, bool *inner, struct error *error)
{
    bool on_stack = frame_is_on_stack(core);
    *inner = false;
    frame->is_handler = !on_stack && core_returns_by_frame(core, frame->lr);
    if (frame->is_handler) {
        if (!check_exits(region, error))
            return false;
        frame->end = frame_exit(frame, core, region, 0);
        return true;
    }
    frame->end = on_stack ? core_frame_return(core, frame->sp, words)
                          : (struct return_place){.pc = core_code_of_lr(core, frame->lr), .sp = frame->sp};
    *inner = frame->end.pc >= region->low && frame->end.pc < region->high;
    return *inner || on_stack || check_return(frame, core, region, error);
}

void frame_find_base(struct frame *frame, const struct core *core, const struct region *region, uint64_t base)
{
    uint64_t all = core_has(core, WIDE_REGISTERS) ? UINT64_MAX : UINT32_MAX;
    frame->sp = base;
    frame->end.sp = (base + (uint64_t)region->apart) & all;
}

/* --- further stops -------------------------------------------------------------------------------------- */

void others_add(struct other_stops *others, uint64_t at, enum other_meaning what, size_t which)
{
    others->items[others->n++] = (struct other_stop){.at = at, .what = what, .which = which};
}

const struct other_stop *others_find(const struct other_stops *others, const struct core *core, uint64_t pc)
{
    for (unsigned i = 0; i < others->n; i++)
        if (core_place(core, others->items[i].at) == core_place(core, pc))
            return &others->items[i];
    return NULL;
}

void others_begin(struct other_stops *others, const struct core *core, const struct region *region)
{
    others->n = 0;
    for (size_t i = 0; i < region->n_writers; i++)
        others_add(others, core_code(core, region->writers[i].at, region->writers[i].is_thumb), OTHER_WRITER,
                   i);
}

bool writer_tell_reached(const struct region *region, size_t which, struct error *error)
{
    return error_set(error, ERROR_WRITER_SOUGHT, "the program itself changes the counter in a hit: %s",
                     region->writers[which].what);
}

bool writer_tell_unseen(const struct region *region, size_t which, struct error *error)
{
    return error_set(
        error, ERROR_WRITER_SOUGHT,
        "the program itself can change the counter in a hit: %s, and too few breakpoint comparators "
        "are free to see whether it does",
        region->writers[which].what);
}

/* --- how a function was entered ------------------------------------------------------------------------- */

/* Of the bytes before a return address; how long the call is, or 0. */
static unsigned call_size(const struct core *core, bool thumb, uint32_t before)
{
    enum instruction_set isa = thumb ? ISA_THUMB : core_has(core, WIDE_REGISTERS) ? ISA_A64 : ISA_ARM;
    struct instruction one = instruction_of(isa, thumb ? before >> 16 : before, 0);
    if (thumb && !instruction_calls(&one))
        one = instruction_of(isa, before << 16 | before >> 16, 0);
    return instruction_calls(&one) ? one.size : 0;
}

bool entry_call(struct device *device, uint64_t lr, uint64_t *call, const struct deadline *deadline,
                struct error *error)
{
    const struct core *core = &device->chosen->core;
    uint64_t to = core_code_of_lr(core, lr), place = core_place(core, to), words[2] = {0};
    bool thumb = core_is_thumb(core, to);
    struct error unread = {0};
    *call = UINT64_MAX;
    uint64_t first = (place - 4) & ~UINT64_C(3);
    for (unsigned i = 0; i < (place % 4 == 0 ? 1 : 2); i++)
        if (!ledger_read(device->ledger, core_word(core, first + UINT64_C(4) * i), &words[i], deadline,
                         &unread))
            return unread.kind == ERROR_FAULT || error_copy(error, &unread);
    uint64_t both = (words[0] & UINT32_MAX) | words[1] << 32;
    uint32_t before = (uint32_t)(both >> 8 * (place - 4 - first));
    unsigned size = call_size(core, thumb, before);
    if (size != 0)
        *call = core_code(core, place - size, thumb);
    return true;
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
        return unread.kind == ERROR_FAULT || error_copy(error, &unread);
    return core_called_from(core, lr, (uint32_t)before, function) ||
           error_set(error, ERROR_STATE,
                     "0x%08" PRIX64
                     " was entered by an exception (%s mode), so that LR does not say where it "
                     "returns: name an end, as the address of its last instruction",
                     core_code_place(function), mode);
}

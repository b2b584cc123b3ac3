/*
 * The call that is measured: where it ends, which further stops matter until then, and which instruction made
 * it. For both engines; nothing here moves the core.
 */
#pragma once

#include "base/deadline.h"
#include "base/error.h"
#include "cores/core.h"
#include "device/device.h"
#include "engine/engine.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The call that is measured, as its start shows it. Places in code are as core_code makes them. */
struct frame {
    uint64_t lr, sp;         /* at the start; if both ends are in one function, `sp` is its `start_base` */
    struct return_place end; /* where the call returns to, or the exit that a handler is expected to take */
    bool is_handler;         /* of an exception on Cortex-M: it ends at one of the region's exits */
};

/* Whether a call's return address is on the stack, and LR does not exist. */
bool frame_is_on_stack(const struct core *core);
/*
 * Halted at a function's entry, with lr and sp read: sets where this call ends. `words` are the FRAME_WORDS
 * of the stack, for cores that keep the return address there. *inner: the function called itself, so that
 * this entry begins no hit. ERROR_STATE if the call is not known to return.
 */
bool frame_find_end(struct frame *frame, const struct core *core, const struct region *region,
                    const uint64_t *words, bool *inner, struct error *error);
/* Halted at a start in the same function as the end: where that frame ends, by the value of start_base. */
void frame_find_base(struct frame *frame, const struct core *core, const struct region *region,
                     uint64_t base);
/* Where a handler ends that takes its exit number `i`. */
struct return_place frame_exit(const struct frame *frame, const struct core *core,
                               const struct region *region, size_t i);
/* Whether a handler halted at its exit number `i` leaves there, by its CORE_STATUS. */
bool frame_takes_exit(const struct region *region, size_t i, uint64_t status);

/* Further stops until the end of a hit, and what each of them means. */
enum other_meaning {
    OTHER_PLACE, /* one of several that are awaited */
    OTHER_CALL,  /* the instruction that made the call: it may be made again */
    OTHER_EXIT,  /* a handler's exit number `which` */
    OTHER_WRITER /* the region's writer number `which` */
};

enum { OTHERS_ROOM = REGION_EXITS - 1 + REGION_WRITERS };

struct other_stops {
    struct other_stop {
        uint64_t at; /* as core_code makes it */
        enum other_meaning what;
        size_t which;
    } items[OTHERS_ROOM];
    unsigned n;
};

/* There must be room. */
void others_add(struct other_stops *others, uint64_t at, enum other_meaning what, size_t which);
/* The first one at this PC; NULL: there is none. */
const struct other_stop *others_find(const struct other_stops *others, const struct core *core, uint64_t pc);
/* The region's writers alone. */
void others_begin(struct other_stops *others, const struct core *core, const struct region *region);
/* Always false, with ERROR_WRITER_SOUGHT: the core has reached this writer, or it cannot have a breakpoint.
 */
bool writer_tell_reached(const struct region *region, size_t which, struct error *error);
bool writer_tell_unseen(const struct region *region, size_t which, struct error *error);

/* The instruction that made the call with this return address; UINT64_MAX if none is seen before it. */
bool entry_call(struct device *device, uint64_t lr, uint64_t *call, const struct deadline *deadline,
                struct error *error);
/* ERROR_STATE if an exception came to this function, so that LR does not say where it returns. If the memory
 * before LR cannot be read, it is taken for a call. */
bool entry_check(struct device *device, uint64_t status, uint64_t lr, uint64_t function,
                 const struct deadline *deadline, struct error *error);

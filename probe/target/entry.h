/*
 * The entry of a function: whether the LR that is found there is that of a call, and where that was made.
 */
#pragma once

#include "target/target.h"

/* The instruction that made the call with this return address; UINT64_MAX where none is seen before it. */
bool entry_call(struct target *target, uint64_t lr, uint64_t *call, const struct deadline *deadline,
                struct error *error);
/* ERROR_STATE where LR tells of a return that is no place in code. */
bool entry_check_return(const struct core *core, uint64_t lr, struct error *error);
/* ERROR_STATE where an exception came there and LR tells of no return. Where the memory before LR cannot be
 * read, calls are believed in. */
bool entry_check(struct target *target, uint64_t status, uint64_t lr, uint64_t function,
                 const struct deadline *deadline, struct error *error);

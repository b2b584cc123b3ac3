/*
 * The entry of a function: whether the LR that is found there is that of a call.
 */
#pragma once

#include "target/target.h"

/* ERROR_STATE where an exception came there and LR tells of no return. Where the memory before LR cannot be
 * read, calls are believed in. */
bool entry_check(struct target *target, uint64_t status, uint64_t lr, uint64_t function,
                 const struct deadline *deadline, struct error *error);

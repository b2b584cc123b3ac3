/*
 * What the direct engine finds out of the core that it has halted at a start: whose code runs, where this
 * call ends, and what the next call probably has in common with it. For the files of this engine only.
 */
#pragma once

#include "engine/direct_list.h"

#include <stdbool.h>
#include <stdint.h>

/* Of the halted core. */
bool direct_read_register(struct direct_engine *self, enum core_register which, uint64_t *out,
                          const struct deadline *deadline, struct error *error);
/* ERROR_STATE in user mode, unless the user has named the process. */
bool direct_check_mode(struct direct_engine *self, const struct deadline *deadline, struct error *error);
/* At a function's entry: where this call returns to. *inner: the function called itself. */
bool direct_find_return(struct direct_engine *self, bool *inner, const struct deadline *deadline,
                        struct error *error);
/* At a start in the same function as the end: where that frame ends. */
bool direct_find_base(struct direct_engine *self, const struct deadline *deadline, struct error *error);
/* What the call asks of this engine. */
struct call_access direct_access(struct direct_engine *self);
/* The budget's counter cannot be set to 0: where it is at the start says where it stops the core. */
bool direct_has_shared_counter(const struct direct_engine *self);

/* The spare register: whether to use it, what it holds now, and that the program had another value in it than
 * a list was made for. */
bool direct_has_spare(struct direct_engine *self);
bool direct_find_spare(struct direct_engine *self, const struct deadline *deadline, struct error *error);
void direct_note_change(struct direct_engine *self);

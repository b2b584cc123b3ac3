/*
 * Of `doctor`: which lines of the program write the counter. On a Cortex-M a watchpoint tells; of an A or R
 * core the ELF is searched for instructions that can.
 */
#pragma once

#include "commands/session.h"

/* The one that was found WRITTEN, be it before it could be taken; NULL: none is known. */
const struct counter_block *doctor_written_block(const struct session *session);
/* Behind a trial that found the counter WRITTEN, for the reason `why`. It also reports what goes wrong. */
void doctor_name_writers(struct session *session, const struct error *why);
/* Of one that stands though it was switched on. */
void doctor_name_stoppers(const struct session *session);

/*
 * Knights Corner: a hardware thread of an Intel Xeon Phi of that name, four of which share a core. What can
 * be reached of it is its model-specific registers; nobody stops or starts it through them.
 */
#pragma once

#include "cores/core.h"

enum { KNC_THREADS = 4 }; /* of a core */

/* `cpu` numbers the thread as the card's system does. */
void knc_describe(uint16_t cpu, struct core *out);
struct address knc_msr(const struct core *core, uint64_t number);

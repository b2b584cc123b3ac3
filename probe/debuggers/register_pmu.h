/*
 * A PMU among a debugger's registers, as QEMU shows one: what can be seen of it, and whether it obeys.
 */
#pragma once

#include "debuggers/debugger.h"

/* Why such a core cannot be measured, as found by trying: always false, with ERROR_NO_COUNTER, or another
 * kind when the debugger itself fails. What was tried is undone. */
bool register_pmu_refuse(struct debugger *debugger, const struct deadline *deadline, struct error *error);

/*
 * Counters elsewhere: those of a CPU that another link reaches, taken for a program that the first link stops
 * and starts (links/pair.h). Which CPU that is, and whether the program was really there.
 */
#pragma once

#include "debuggers/debugger.h"
#include "device/device.h"

bool remote_counters_is_there(const struct device *device);
/* Chooses the core of the first link, and the CPU of that number; -1: where the debugger says the program is.
 */
bool remote_counters_choose(struct device *device, int number, struct error *error);
/* What may help where a counter goes on though the program stands; "" */
const char *remote_counters_advice(const struct device *device);
/* ERROR_NO_COUNTER: the stop was on another CPU than the one that is counted. True where nobody says. */
bool remote_counters_check(const struct device *device, const struct debugger_stop *stop,
                           struct error *error);

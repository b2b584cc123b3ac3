/*
 * Activity: what happens on the threads of the model, cycle by cycle, whether anybody counts it or not. It
 * repeats every few cycles, differently on every thread, so that any count over any time is known exactly at
 * once.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { ACTIVITY_PERIOD = 32 };

enum { CPU_CLK_UNHALTED = 0x002A }; /* each thread counts its core's */

/* How often this happens in that cycle; 0 for a code that is not an event. */
unsigned activity_events(unsigned cpu, unsigned code, uint64_t cycle);
/* The thread runs a program then, and not the kernel. */
bool activity_is_user(unsigned cpu, uint64_t cycle);
bool activity_is_event(unsigned code);

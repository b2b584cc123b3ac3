/*
 * Instructions, as far as it matters where the one behind one begins, and whether the core gets there.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Each is true only when the instruction behind it surely comes next, but for interrupts. */

/* `first` and `second` halfword of it; `size` is its length in bytes in any case. */
bool thumb_falls_through(uint16_t first, uint16_t second, unsigned *size);
bool arm_falls_through(uint32_t code);
bool a64_falls_through(uint32_t code);

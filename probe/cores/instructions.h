/* Instructions: how long one is, and whether the core goes on to the one behind it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Each is true only if the instruction behind it certainly executes next, apart from interrupts. */

/* `first` and `second` are its halfwords; *size is always set to its length in bytes. */
bool thumb_falls_through(uint16_t first, uint16_t second, unsigned *size);
bool arm_falls_through(uint32_t code);
bool a64_falls_through(uint32_t code);

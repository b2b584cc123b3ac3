/*
 * OpenOCD looks for a stop ten times a second only, and that cannot be set. So before the core runs it is
 * asked to look at once, over and over for a moment, when GDB's resume has been carried out.
 */
#pragma once

#include "debuggers/debugger.h"

/* Holds for one resume. Any other server is left alone, and so is one that does not take it. */
void openocd_look_soon(struct debugger *debugger, const struct deadline *deadline);

/* A program that comes by the same two places again and again, for the tests of the direct engine. */
#pragma once

#include "rig.h"

static const struct region part = {.start = 0x1000, .end = 0x1100};
static const struct region whole = {.start = 0x1000, .to_return = true, .low = 0x1000, .high = 0x1080};

static const struct model_event to_end[] = {
    {.kind = MODEL_AT, .cycles = 500, .pc = 0x1000, .sp = 0x20007F00, .lr = 0x2005},
    {.kind = MODEL_AT, .cycles = 1000, .grow = 7, .pc = 0x1100, .sp = 0x20007F00, .lr = 0x2005},
};

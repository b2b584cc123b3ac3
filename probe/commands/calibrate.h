/*
 * What a halt adds at a location, as `doctor LOCATION` shows it, and `pmu calibrate` in GDB.
 */
#pragma once

#include "report/json.h"
#include "run/calibration.h"

#include <stdbool.h>
#include <stdio.h>

/* The place of the calibration, which is kept in `out`; the session has its ELF. */
bool calibrate_locate(struct calibrating *calibration, const char *text, struct location *out,
                      struct error *error);
void calibrate_text(FILE *out, const struct calibrating *calibration);
/* By column. */
struct json_part calibrate_columns(const struct calibrating *calibration);

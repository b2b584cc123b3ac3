/* SPDX-License-Identifier: MIT */
/*
 * What is there, as `info`, `list`, `probes` and `doctor` find it, by their lines: groups of facts in each
 * format. A line without a type has keys that people alone see: those of the line after it, or of none.
 */
#pragma once

#include "report/render.h"

report_writer target_write;

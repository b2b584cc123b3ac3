/*
 * compare's result in each format, by its lines: a verdict for each pair of runs.
 */
#pragma once

#include "report/page_command.h"
#include "report/render.h"

/* `command` NULL: it is not known. False: out of memory, or the output could not be written whole. */
bool compare_write(const struct rendering *to, const struct document *document,
                   const struct page_command *command);

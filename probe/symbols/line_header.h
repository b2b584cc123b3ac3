/* Line header: the part of a line table before its program, which names directories and files. */
#pragma once

#include "symbols/line_program.h"

bool line_header_read(struct line_program *program, struct symbols *symbols, uint64_t offset);
bool line_header_add_file(struct line_program *program, const char *name, uint64_t directory);

/*
 * Where a core is halted: its place in the program, the callers, its registers; as text and as parts of JSON
 * lines. `symbols` names the places.
 */
#pragma once

#include "profile/stack_reader.h"
#include "report/document.h"
#include "symbols/symbols.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { PLACE_ROOM = 1400 };

/* "main.c:88 (step+0x12)". Not cleaned. */
void place_name(struct symbols *symbols, uint64_t address, char out[PLACE_ROOM]);
/* The same of an object with its `function` and `source`. */
void place_text(const json_t *place, char out[PLACE_ROOM]);
/* A line for each caller of a line, and the registers, folded at `columns`. */
void place_print_callers(FILE *out, const json_t *line, size_t indent);
void place_print_registers(FILE *out, size_t columns, const json_t *line, size_t indent);
/* "address", "function" and "source"; then "callers" and "cut". */
void place_put_stack(struct json_part *line, struct symbols *symbols, const struct unwind_stack *stack);
/* "registers" */
void place_put_registers(struct json_part *line, const struct stop_place *place);

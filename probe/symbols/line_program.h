/*
 * A unit's line table, DWARF 2 to 5, run by a reader of our own. libdw has one, but it sorts the rows of all
 * sequences of a unit by address: then the rows of functions that the linker dropped, which stay in the table
 * at address 0, are mixed with the rows of the code that is at 0, as it often is on microcontrollers.
 */
#pragma once

#include "symbols/internal.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct line_row {
    uint64_t address;
    uint64_t file; /* for line_program_path */
    uint64_t line; /* 0: the compiler's own */
    bool is_statement;
    bool begins_sequence; /* a new run of rising addresses, independent of the rows before */
    bool ends_sequence;   /* the address after the last instruction, without code */
};

struct line_file {
    const char *name;
    uint64_t directory;
};

struct line_program {
    const struct symbols *symbols;
    struct cursor rest;
    unsigned version;
    size_t offset_size;
    uint8_t step, line_range, opcode_base;
    int8_t line_base;
    bool starts_as_statement;
    const uint8_t *operand_counts;
    struct debug_section line_str, str;

    const char **directories;
    size_t directory_count, directory_room;
    struct line_file *files;
    size_t file_count, file_room;

    struct line_row row;
    bool in_sequence;
};

/* False if the table is cut short or its version unknown. The caller closes it in either case. */
bool line_program_open(struct line_program *program, struct symbols *symbols, uint64_t offset);
void line_program_close(struct line_program *program);
/* The next row; false at the end of the table, or if the table makes no sense from here on. */
bool line_program_next(struct line_program *program, struct line_row *row);
/* The base name of a row's file; NULL if it has none. */
const char *line_program_file(const struct line_program *program, uint64_t file);
/* The whole path of a row's file, as far as it is known; false: it has no file. */
bool line_program_path(const struct line_program *program, const char *unit_directory, uint64_t file,
                       char *out, size_t room);

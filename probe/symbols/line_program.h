/*
 * Line program: runs one line table of .debug_line (DWARF 2 to 5) and gives its rows in the order of
 * the table. libdw has a reader, but sorts the rows of all sequences of a unit by address: then the
 * rows of functions that the linker dropped, which stay in the table at address 0, cannot be told
 * from those of the code that really is there, and on microcontrollers it often is.
 */
#pragma once

#include "symbols/cursor.h"
#include "symbols/internal.h"

struct line_row {
    uint64_t address;
    uint64_t file; /* for line_program_path */
    uint64_t line; /* 0: the compiler's own */
    bool is_statement;
    bool begins_sequence; /* a new run of rising addresses: what comes before has nothing to do with this */
    bool ends_sequence;   /* no code of its own: the address behind the last instruction */
};

struct line_file {
    const char *name;
    uint64_t directory;
};

struct line_program {
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

/* False for what cannot be read: a table cut short, an unknown version. Close it in either case. */
bool line_program_open(struct line_program *program, struct symbols *symbols, uint64_t offset);
void line_program_close(struct line_program *program);
/* The next row; false at the end of the table, and where it stops to make sense. */
bool line_program_next(struct line_program *program, struct line_row *row);
/* Base name of a row's file; NULL if it has none. */
const char *line_program_file(const struct line_program *program, uint64_t file);
/* Writes the whole path, as far as it is known, of file number `file`; false if there is no such file. */
bool line_program_path(const struct line_program *program, const char *unit_directory, uint64_t file,
                       char *out, size_t room);

/* Line header: the part of a line table before its program, which names directories and files. */
bool line_header_read(struct line_program *program, struct symbols *symbols, uint64_t offset);
bool line_header_add_file(struct line_program *program, const char *name, uint64_t directory);

#include "symbols/line_header.h"

#include "symbols/names.h"

#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>

bool line_program_open(struct line_program *program, struct symbols *symbols, uint64_t offset)
{
    *program = (struct line_program){.line_str = symbols->line_str, .str = symbols->str};
    return line_header_read(program, symbols, offset);
}

void line_program_close(struct line_program *program)
{
    free((void *)program->directories);
    free(program->files);
    program->directories = NULL;
    program->files = NULL;
}

static void advance(struct line_program *program, uint64_t operations)
{
    program->row.address += operations * program->step;
}

static void run_special(struct line_program *program, uint8_t opcode)
{
    unsigned adjusted = (unsigned)opcode - program->opcode_base;
    advance(program, adjusted / program->line_range);
    program->row.line += (uint64_t)(int64_t)(program->line_base + (int)(adjusted % program->line_range));
}

/* True: a row is complete */
static bool run_extended(struct line_program *program)
{
    struct cursor operation = cursor_part(&program->rest, cursor_uleb(&program->rest));
    uint64_t opcode = cursor_unsigned(&operation, 1);
    if (opcode == DW_LNE_end_sequence) {
        program->row.ends_sequence = true;
        return true;
    }
    if (opcode == DW_LNE_set_address) {
        program->row.address = cursor_unsigned(&operation, (size_t)(operation.end - operation.at));
    } else if (opcode == DW_LNE_define_file) {
        const char *name = cursor_string(&operation);
        if (!operation.bad)
            line_header_add_file(program, name, cursor_uleb(&operation));
    }
    return false;
}

/* True: a row is complete */
static bool run_standard(struct line_program *program, uint8_t opcode)
{
    struct cursor *rest = &program->rest;
    switch (opcode) {
    case DW_LNS_copy:
        return true;
    case DW_LNS_advance_pc:
        advance(program, cursor_uleb(rest));
        return false;
    case DW_LNS_advance_line:
        program->row.line += (uint64_t)cursor_sleb(rest);
        return false;
    case DW_LNS_set_file:
        program->row.file = cursor_uleb(rest);
        return false;
    case DW_LNS_negate_stmt:
        program->row.is_statement = !program->row.is_statement;
        return false;
    case DW_LNS_const_add_pc:
        advance(program, (255U - program->opcode_base) / program->line_range);
        return false;
    case DW_LNS_fixed_advance_pc:
        program->row.address += cursor_unsigned(rest, 2);
        return false;
    default:
        for (unsigned i = 0; i < program->operand_counts[opcode - 1]; i++)
            cursor_uleb(rest);
        return false;
    }
}

static bool run_one(struct line_program *program)
{
    uint8_t opcode = (uint8_t)cursor_unsigned(&program->rest, 1);
    if (opcode >= program->opcode_base) {
        run_special(program, opcode);
        return true;
    }
    return opcode == 0 ? run_extended(program) : run_standard(program, opcode);
}

bool line_program_next(struct line_program *program, struct line_row *row)
{
    bool begins = !program->in_sequence;
    if (begins)
        program->row = (struct line_row){.file = 1, .line = 1, .is_statement = program->starts_as_statement};
    while (cursor_more(&program->rest)) {
        if (!run_one(program))
            continue;
        *row = program->row;
        row->begins_sequence = begins;
        program->in_sequence = !row->ends_sequence;
        return !program->rest.bad;
    }
    return false;
}

const char *line_program_file(const struct line_program *program, uint64_t file)
{
    if (file >= program->file_count || program->files[file].name == NULL)
        return NULL;
    return name_of_file(program->files[file].name);
}

static bool is_absolute(const char *path)
{
    bool drive = ((path[0] | 0x20) >= 'a' && (path[0] | 0x20) <= 'z') && path[1] == ':';
    return path[0] == '/' || path[0] == '\\' || drive;
}

bool line_program_path(const struct line_program *program, const char *unit_directory, uint64_t file,
                       char *out, size_t room)
{
    if (file >= program->file_count || program->files[file].name == NULL)
        return false;
    const char *name = program->files[file].name;
    uint64_t number = program->files[file].directory;
    const char *directory = number < program->directory_count ? program->directories[number] : NULL;
    const char *base = unit_directory;
    if (program->version >= 5 && program->directory_count > 0 && program->directories[0] != NULL)
        base = program->directories[0];
    if (is_absolute(name))
        directory = base = NULL;
    else if (directory == base || (directory != NULL && is_absolute(directory)))
        base = NULL;
    snprintf(out, room, "%s%s%s%s%s", base ? base : "", base ? "/" : "", directory ? directory : "",
             directory ? "/" : "", name);
    return true;
}

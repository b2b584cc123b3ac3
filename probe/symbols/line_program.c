/* SPDX-License-Identifier: MIT */
#include "base/values.h"
#include "symbols/internal.h"

#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t left(const struct cursor *cursor)
{
    return (size_t)(cursor->end - cursor->at);
}

static void cursor_give_up(struct cursor *cursor)
{
    cursor->bad = true;
    cursor->at = cursor->end;
}

bool cursor_more(const struct cursor *cursor)
{
    return !cursor->bad && cursor->at < cursor->end;
}

uint64_t cursor_unsigned(struct cursor *cursor, size_t width)
{
    if (cursor->bad || width > sizeof(uint64_t) || left(cursor) < width) {
        cursor_give_up(cursor);
        return 0;
    }
    uint64_t value = 0;
    for (size_t i = 0; i < width; i++)
        value |= (uint64_t)cursor->at[i] << (8 * (cursor->big_endian ? width - 1 - i : i));
    cursor->at += width;
    return value;
}

/* The raw bits of a signed or unsigned LEB128, and their number. */
static uint64_t leb(struct cursor *cursor, unsigned *bits, bool *negative)
{
    uint64_t value = 0;
    *bits = 0;
    *negative = false;
    while (cursor_more(cursor)) {
        uint8_t byte = *cursor->at++;
        if (*bits < 64)
            value |= (uint64_t)(byte & 0x7f) << *bits;
        *bits += 7;
        if (!(byte & 0x80)) {
            *negative = byte & 0x40;
            return value;
        }
    }
    cursor_give_up(cursor);
    return 0;
}

uint64_t cursor_uleb(struct cursor *cursor)
{
    unsigned bits = 0;
    bool negative = false;
    return leb(cursor, &bits, &negative);
}

int64_t cursor_sleb(struct cursor *cursor)
{
    unsigned bits = 0;
    bool negative = false;
    uint64_t value = leb(cursor, &bits, &negative);
    if (negative && bits < 64)
        value |= UINT64_MAX << bits;
    return (int64_t)value;
}

const char *cursor_string(struct cursor *cursor)
{
    const uint8_t *end = cursor->bad ? NULL : memchr(cursor->at, 0, left(cursor));
    if (end == NULL) {
        cursor_give_up(cursor);
        return "";
    }
    const char *string = (const char *)cursor->at;
    cursor->at = end + 1;
    return string;
}

static void cursor_skip(struct cursor *cursor, uint64_t size)
{
    if (cursor->bad || size > left(cursor))
        cursor_give_up(cursor);
    else
        cursor->at += size;
}

struct cursor cursor_part(struct cursor *cursor, uint64_t size)
{
    struct cursor part = *cursor;
    cursor_skip(cursor, size);
    part.bad = cursor->bad;
    part.end = cursor->at;
    if (part.bad)
        part.at = part.end;
    return part;
}

/* ---- line program */

/* --- a line table: its header -------------------------------------------------------------------------- */

static bool add_directory(struct line_program *program, const char *name)
{
    const char **grown = array_grow((void *)program->directories, program->directory_count + 1,
                                    &program->directory_room, sizeof(const char *));
    if (grown == NULL)
        return false;
    program->directories = grown;
    program->directories[program->directory_count++] = name;
    return true;
}

static bool line_program_add_file(struct line_program *program, const char *name, uint64_t directory)
{
    struct line_file *grown =
        array_grow(program->files, program->file_count + 1, &program->file_room, sizeof *grown);
    if (grown == NULL)
        return false;
    program->files = grown;
    program->files[program->file_count++] = (struct line_file){name, directory};
    return true;
}

/* DWARF 2 to 4: strings, ended by an empty one. Directory 0 and file 0 are not in the lists. */
static bool read_old_tables(struct line_program *program, struct cursor *header)
{
    if (!add_directory(program, NULL) || !line_program_add_file(program, NULL, 0))
        return false;
    for (const char *name; *(name = cursor_string(header)) != '\0';)
        if (!add_directory(program, name))
            return false;
    for (const char *name; *(name = cursor_string(header)) != '\0';) {
        uint64_t directory = cursor_uleb(header);
        cursor_uleb(header); /* time */
        cursor_uleb(header); /* size */
        if (!line_program_add_file(program, name, directory))
            return false;
    }
    return !header->bad;
}

static const char *string_at(struct debug_section section, uint64_t offset)
{
    if (offset >= section.size)
        return NULL;
    struct cursor cursor = {.at = section.bytes + offset, .end = section.bytes + section.size};
    const char *string = cursor_string(&cursor);
    return cursor.bad ? NULL : string;
}

struct value {
    const char *string;
    uint64_t number;
};

static bool line_program_read_value(const struct line_program *program, struct cursor *header, uint64_t form,
                                    struct value *value)
{
    *value = (struct value){NULL, 0};
    switch (form) {
    case DW_FORM_string:
        value->string = cursor_string(header);
        break;
    case DW_FORM_line_strp:
        value->string = string_at(program->line_str, cursor_unsigned(header, program->offset_size));
        break;
    case DW_FORM_strp:
        value->string = string_at(program->str, cursor_unsigned(header, program->offset_size));
        break;
    case DW_FORM_udata:
        value->number = cursor_uleb(header);
        break;
    case DW_FORM_data1:
        value->number = cursor_unsigned(header, 1);
        break;
    case DW_FORM_data2:
        value->number = cursor_unsigned(header, 2);
        break;
    case DW_FORM_data4:
        value->number = cursor_unsigned(header, 4);
        break;
    case DW_FORM_data8:
        value->number = cursor_unsigned(header, 8);
        break;
    case DW_FORM_data16:
        cursor_skip(header, 16);
        break;
    case DW_FORM_block:
        cursor_skip(header, cursor_uleb(header));
        break;
    default:
        return false;
    }
    return !header->bad;
}

/* DWARF 5: a description of the fields, then the number of entries, then the entries. */
static bool read_new_table(struct line_program *program, struct cursor *header, bool of_files)
{
    struct cursor format = *header;
    uint64_t fields = cursor_unsigned(header, 1);
    format.at = header->at;
    for (uint64_t i = 0; i < 2 * fields; i++)
        cursor_uleb(header);
    uint64_t count = cursor_uleb(header);
    for (uint64_t i = 0; i < count; i++) {
        const uint8_t *before = header->at;
        struct cursor field = format;
        const char *name = NULL;
        uint64_t directory = 0;
        for (uint64_t j = 0; j < fields; j++) {
            uint64_t content = cursor_uleb(&field);
            struct value value;
            if (!line_program_read_value(program, header, cursor_uleb(&field), &value))
                return false;
            if (content == DW_LNCT_path)
                name = value.string;
            else if (content == DW_LNCT_directory_index)
                directory = value.number;
        }
        /* an entry of no bytes could be repeated endlessly */
        if (header->at == before)
            return false;
        if (of_files ? !line_program_add_file(program, name, directory) : !add_directory(program, name))
            return false;
    }
    return !header->bad;
}

static bool read_fields(struct line_program *program, struct cursor *header)
{
    program->step = (uint8_t)cursor_unsigned(header, 1);
    if (program->version >= 4)
        cursor_skip(header, 1); /* operations an instruction: 1 except on VLIW */
    program->starts_as_statement = cursor_unsigned(header, 1) != 0;
    program->line_base = (int8_t)cursor_unsigned(header, 1);
    program->line_range = (uint8_t)cursor_unsigned(header, 1);
    program->opcode_base = (uint8_t)cursor_unsigned(header, 1);
    program->operand_counts = header->at;
    if (header->bad || program->line_range == 0 || program->opcode_base == 0)
        return false;
    cursor_skip(header, program->opcode_base - 1U);
    return !header->bad;
}

static bool line_program_read_header(struct line_program *program, struct symbols *symbols, uint64_t offset)
{
    struct debug_section section = symbols->line;
    if (offset >= section.size)
        return false;
    struct cursor all = {
        .at = section.bytes + offset, .end = section.bytes + section.size, .big_endian = symbols->big_endian};
    program->offset_size = 4;
    uint64_t size = cursor_unsigned(&all, 4);
    if (size == UINT32_MAX) {
        program->offset_size = 8;
        size = cursor_unsigned(&all, 8);
    }
    program->rest = cursor_part(&all, size);
    struct cursor *rest = &program->rest;
    program->version = (unsigned)cursor_unsigned(rest, 2);
    if (rest->bad || program->version < 2 || program->version > 5)
        return false;
    if (program->version == 5)
        cursor_skip(rest, 2); /* the sizes of addresses and segment selectors */
    struct cursor header = cursor_part(rest, cursor_unsigned(rest, program->offset_size));
    if (!read_fields(program, &header))
        return false;
    if (program->version < 5)
        return read_old_tables(program, &header);
    return read_new_table(program, &header, false) && read_new_table(program, &header, true);
}

bool line_program_open(struct line_program *program, struct symbols *symbols, uint64_t offset)
{
    *program = (struct line_program){.symbols = symbols, .line_str = symbols->line_str, .str = symbols->str};
    return line_program_read_header(program, symbols, offset);
}

void line_program_close(struct line_program *program)
{
    free((void *)program->directories);
    free(program->files);
    program->directories = NULL;
    program->files = NULL;
}

/* --- a line table: its rows ---------------------------------------------------------------------------- */

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
        program->row.address =
            elf_moved(program->symbols, cursor_unsigned(&operation, (size_t)(operation.end - operation.at)));
    } else if (opcode == DW_LNE_define_file) {
        const char *name = cursor_string(&operation);
        if (!operation.bad)
            line_program_add_file(program, name, cursor_uleb(&operation));
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

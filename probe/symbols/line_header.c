#include "symbols/line_header.h"

#include <dwarf.h>
#include <stdlib.h>

/* Room for one more; false when memory is out */
static bool grow(void **array, size_t count, size_t *room, size_t size)
{
    if (count < *room)
        return true;
    size_t wanted = *room ? 2 * *room : 16;
    void *grown = realloc(*array, wanted * size);
    if (grown == NULL)
        return false;
    *array = grown;
    *room = wanted;
    return true;
}

static bool add_directory(struct line_program *program, const char *name)
{
    void *directories = (void *)program->directories;
    bool added = grow(&directories, program->directory_count, &program->directory_room, sizeof(const char *));
    program->directories = directories;
    if (added)
        program->directories[program->directory_count++] = name;
    return added;
}

bool line_header_add_file(struct line_program *program, const char *name, uint64_t directory)
{
    void *files = program->files;
    bool added = grow(&files, program->file_count, &program->file_room, sizeof(struct line_file));
    program->files = files;
    if (added)
        program->files[program->file_count++] = (struct line_file){name, directory};
    return added;
}

/* DWARF 2 to 4: strings, ended by an empty one; directory 0 and file 0 are not in the lists */
static bool read_old_tables(struct line_program *program, struct cursor *header)
{
    if (!add_directory(program, NULL) || !line_header_add_file(program, NULL, 0))
        return false;
    for (const char *name; *(name = cursor_string(header)) != '\0';)
        if (!add_directory(program, name))
            return false;
    for (const char *name; *(name = cursor_string(header)) != '\0';) {
        uint64_t directory = cursor_uleb(header);
        cursor_uleb(header); /* time */
        cursor_uleb(header); /* size */
        if (!line_header_add_file(program, name, directory))
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

static bool read_value(const struct line_program *program, struct cursor *header, uint64_t form,
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

/* DWARF 5: a description of the fields, then as many entries as it says */
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
            if (!read_value(program, header, cursor_uleb(&field), &value))
                return false;
            if (content == DW_LNCT_path)
                name = value.string;
            else if (content == DW_LNCT_directory_index)
                directory = value.number;
        }
        /* an entry of no bytes could be repeated for ever */
        if (header->at == before)
            return false;
        if (of_files ? !line_header_add_file(program, name, directory) : !add_directory(program, name))
            return false;
    }
    return !header->bad;
}

static bool read_fields(struct line_program *program, struct cursor *header)
{
    program->step = (uint8_t)cursor_unsigned(header, 1);
    if (program->version >= 4)
        cursor_skip(header, 1); /* operations an instruction: 1 on everything that is not VLIW */
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

bool line_header_read(struct line_program *program, struct symbols *symbols, uint64_t offset)
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

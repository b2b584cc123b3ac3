#include "report/place_report.h"

#include "report/terminal.h"

#include <inttypes.h>
#include <stdlib.h>

void place_name(struct symbols *symbols, uint64_t address, char out[PLACE_ROOM])
{
    struct location location;
    symbols_describe(symbols, address, &location);
    if (location.source[0] != '\0')
        snprintf(out, PLACE_ROOM, "%s (%s)", location.source, location.name);
    else
        snprintf(out, PLACE_ROOM, "%s", location.name);
}

void place_text(const json_t *place, char out[PLACE_ROOM])
{
    const char *source = field_text(place, "source"), *function = field_text(place, "function");
    snprintf(out, PLACE_ROOM, "%.300s%s%.1000s%s", source, source[0] != '\0' ? " (" : "", function,
             source[0] != '\0' ? ")" : "");
}

void place_print_callers(FILE *out, const json_t *line, size_t indent)
{
    char place[PLACE_ROOM], clean[UTF8_CLEAN_ROOM(PLACE_ROOM)];
    const json_t *frame;
    size_t i;
    json_array_foreach(field_of(line, "callers"), i, frame) {
        place_text(frame, place);
        fprintf(out, "%*s%s %s%s\n", (int)indent, "",
                field_is(frame, "interrupted") ? "interrupted:" : "called by",
                terminal_text(clean, sizeof clean, place), field_is(frame, "guess") ? " (a guess)" : "");
    }
    if (field_of(line, "cut") != NULL)
        fprintf(out, "%*sthe stack is cut short: %s\n", (int)indent, "",
                terminal_text(clean, sizeof clean, field_text(line, "cut")));
}

void place_print_registers(FILE *out, size_t columns, const json_t *line, size_t indent)
{
    struct fold fold = {.out = out, .columns = columns, .indent = indent};
    char name[UTF8_CLEAN_ROOM(32)], text[sizeof name + 40];
    const char *key;
    json_t *value;
    bool first = true;
    json_object_foreach(json_object_get(line, "registers"), key, value) {
        snprintf(text, sizeof text, "%*s%s 0x%08" PRIX64, first ? (int)indent : 0, "",
                 terminal_text(name, sizeof name, key), (uint64_t)strtoull(text_or_empty(value), NULL, 0));
        fold_put(&fold, text, first ? 0 : 2);
        first = false;
    }
    fold_end(&fold);
}

static void place_report_put_place(struct json_part *part, struct symbols *symbols, uint64_t address)
{
    struct location location;
    char file[512];
    symbols_describe(symbols, address, &location);
    symbols_file(symbols, location.address, file, sizeof file);
    json_part_hex(part, "address", address);
    json_part_text(part, "function", location.name);
    json_part_text(part, "source", location.source);
    json_part_text(part, "file", file);
}

void place_put_stack(struct json_part *line, struct symbols *symbols, const struct unwind_stack *stack)
{
    json_t *frames = json_array();
    place_report_put_place(line, symbols, unwind_place(&stack->at[0]));
    for (size_t i = 1; i < stack->count; i++) {
        struct json_part frame = json_part_new(NULL);
        place_report_put_place(&frame, symbols, unwind_place(&stack->at[i]));
        if (stack->at[i].is_guess)
            json_part_bool(&frame, "guess", true);
        if (stack->at[i].has_taken)
            json_part_bool(&frame, "interrupted", true);
        line->ok = line->ok && frame.ok;
        json_part_append(line, frames, frame.json);
    }
    json_part_array(line, "callers", frames);
    if (stack->end != UNWIND_OUTERMOST)
        json_part_text(line, "cut", unwind_end_text(stack->end));
}

void place_put_registers(struct json_part *line, const struct stop_place *place)
{
    struct json_part registers = json_part_new(NULL);
    for (size_t i = 0; i < place->n_registers; i++)
        json_part_hex(&registers, place->registers[i].name, place->registers[i].value);
    json_part_object(line, "registers", registers);
}

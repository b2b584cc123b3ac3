#include "report/place_report.h"

#include "report/terminal.h"

#include <inttypes.h>

void place_name(struct symbols *symbols, uint64_t address, char out[PLACE_ROOM])
{
    struct location location;
    symbols_describe(symbols, address, &location);
    if (location.source[0] != '\0')
        snprintf(out, PLACE_ROOM, "%s (%s)", location.source, location.name);
    else
        snprintf(out, PLACE_ROOM, "%s", location.name);
}

void place_print_callers(FILE *out, struct symbols *symbols, const struct unwind_stack *stack, size_t indent)
{
    char place[PLACE_ROOM], clean[UTF8_CLEAN_ROOM(PLACE_ROOM)];
    for (size_t i = 1; i < stack->count; i++) {
        const struct unwind_frame *frame = &stack->at[i];
        place_name(symbols, unwind_place(frame), place);
        fprintf(out, "%*s%s %s%s\n", (int)indent, "", frame->has_taken ? "interrupted:" : "called by",
                terminal_text(clean, sizeof clean, place), frame->is_guess ? " (a guess)" : "");
    }
    if (stack->end != UNWIND_OUTERMOST)
        fprintf(out, "%*sthe stack is cut short: %s\n", (int)indent, "", unwind_end_text(stack->end));
}

void place_print_registers(FILE *out, const struct stop_place *place, size_t indent)
{
    struct fold fold = {.out = out, .columns = terminal_columns(out), .indent = indent};
    char text[40];
    for (size_t i = 0; i < place->n_registers; i++) {
        snprintf(text, sizeof text, "%*s%s 0x%08" PRIX64, i == 0 ? (int)indent : 0, "",
                 place->registers[i].name, place->registers[i].value);
        fold_put(&fold, text, i == 0 ? 0 : 2);
    }
    fold_end(&fold);
}

static void put_place(struct json_part *part, struct symbols *symbols, uint64_t address)
{
    struct location location;
    symbols_describe(symbols, address, &location);
    json_part_hex(part, "address", address);
    json_part_text(part, "function", location.name);
    json_part_text(part, "source", location.source);
}

void place_put_stack(struct json_part *line, struct symbols *symbols, const struct unwind_stack *stack)
{
    json_t *frames = json_array();
    put_place(line, symbols, unwind_place(&stack->at[0]));
    for (size_t i = 1; i < stack->count; i++) {
        struct json_part frame = json_part_new(NULL);
        put_place(&frame, symbols, unwind_place(&stack->at[i]));
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

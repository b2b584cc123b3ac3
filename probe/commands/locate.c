/* `locate`: what locations mean in an ELF file. No target is touched. */
#include "commands/command.h"
#include "report/json.h"
#include "report/place_report.h"
#include "report/terminal.h"
#include "run/region_file.h"
#include "symbols/symbols.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { CALLERS = 64, CALLERS_SHOWN = 5, EXITS = 64 };

struct locating {
    const struct context *context;
    struct symbols *symbols;
    size_t tried, failed;
    enum error_kind kind; /* of the first that failed */
    bool ok;              /* the output did not fail */
};

/* What is known of one location. */
struct located {
    const char *text, *region; /* as it was written; of a regions file, else NULL */
    struct location at;
    struct error error; /* if it was not found */
    uint64_t callers[CALLERS];
    struct handler_exit exits[EXITS];
    size_t n_callers, n_exits;
};

static size_t least(size_t n, size_t most)
{
    return n < most ? n : most;
}

static void find(struct locating *self, const char *text, const char *region, struct located *place)
{
    *place = (struct located){.text = text, .region = region};
    self->tried++;
    if (!symbols_locate(self->symbols, text, &place->at, &place->error)) {
        self->kind = self->failed++ == 0 ? place->error.kind : self->kind;
        return;
    }
    if (!place->at.is_function_entry)
        return;
    const struct extent function = {place->at.low, place->at.high};
    struct symbols_machine machine;
    symbols_machine(self->symbols, &machine);
    place->n_callers = symbols_callers(self->symbols, &function, place->callers, CALLERS);
    if (machine.profile == 'M')
        place->n_exits = symbols_exits(self->symbols, place->at.address, place->exits, EXITS);
}

/* --- as text ------------------------------------------------------------------------------------------- */

static void put_text(FILE *out, const char *text)
{
    char clean[UTF8_CLEAN_ROOM(PLACE_ROOM)];
    fputs(terminal_text(clean, sizeof clean, text), out);
}

static void print_address(const struct locating *self, uint64_t address, bool first)
{
    char place[PLACE_ROOM];
    place_name(self->symbols, address, place);
    fputs(first ? " " : ", ", self->context->out);
    put_text(self->context->out, place);
}

static void print_lists(const struct locating *self, const struct located *place)
{
    FILE *out = self->context->out;
    size_t shown = least(place->n_callers, CALLERS_SHOWN);
    for (size_t i = 0; i < shown; i++) {
        fputs(i == 0 ? "    called at" : "", out);
        print_address(self, place->callers[i], i == 0);
    }
    if (place->n_callers > shown)
        fprintf(out, " and %zu more", place->n_callers - shown);
    if (shown > 0)
        fputc('\n', out);
    for (size_t i = 0; i < least(place->n_exits, EXITS); i++) {
        fputs(i == 0 ? "    ends at" : "", out);
        print_address(self, place->exits[i].at, i == 0);
    }
    if (place->n_exits > 0)
        fputc('\n', out);
}

static void print_place(const struct locating *self, const struct located *place)
{
    FILE *out = self->context->out;
    const struct location *at = &place->at;
    if (place->region != NULL) {
        put_text(out, place->region);
        fputs(": ", out);
    }
    put_text(out, place->text);
    if (place->error.kind != ERROR_NONE) {
        fputs("\n    not found: ", out);
        put_text(out, place->error.text);
        if (place->error.advice != NULL && place->error.advice[0] != '\0')
            fprintf(out, ". %s", place->error.advice);
        fputc('\n', out);
        return;
    }
    fprintf(out, "  0x%08" PRIx64, at->address);
    if (strcmp(at->name, place->text) != 0) {
        fputs("  ", out);
        put_text(out, at->name);
    }
    if (at->high > 0)
        fprintf(out, "  %s%" PRIu64 " bytes", at->is_function_entry ? "" : "of ", at->high - at->low);
    if (at->source[0] != '\0') {
        fputs("  ", out);
        put_text(out, at->source);
    }
    fputc('\n', out);
    if (at->note[0] != '\0') {
        fputs("    ", out);
        put_text(out, at->note);
        fputc('\n', out);
    }
    if (at->never_returns)
        fputs("    never returns\n", out);
    print_lists(self, place);
}

/* --- as JSON ------------------------------------------------------------------------------------------- */

static void put_addresses(struct json_part *line, const char *key, const struct located *place, bool callers)
{
    json_t *array = json_array();
    size_t n = callers ? least(place->n_callers, CALLERS) : least(place->n_exits, EXITS);
    for (size_t i = 0; i < n; i++) {
        char text[24];
        snprintf(text, sizeof text, "0x%08" PRIx64, callers ? place->callers[i] : place->exits[i].at);
        json_part_append(line, array, json_part_string(text));
    }
    json_part_array(line, key, array);
}

static bool put_place(const struct locating *self, const struct located *place)
{
    static const char *const sets[] = {
        [ISA_THUMB] = "thumb", [ISA_ARM] = "arm", [ISA_A64] = "a64", [ISA_OTHER] = ""};
    struct json_part line = json_part_new("location");
    const struct location *at = &place->at;
    json_part_text(&line, "location", place->text);
    json_part_text(&line, "region", place->region != NULL ? place->region : "");
    if (place->error.kind != ERROR_NONE) {
        json_part_text(&line, "error", place->error.text);
        json_part_text(&line, "advice", place->error.advice != NULL ? place->error.advice : "");
        return json_part_write(self->context->out, line);
    }
    json_part_text(&line, "name", at->name);
    json_part_hex(&line, "address", at->address);
    if (at->high > 0) {
        json_part_hex(&line, "function", at->low);
        json_part_unsigned(&line, "function_bytes", at->high - at->low);
    }
    json_part_text(&line, "source", at->source);
    json_part_text(&line, "instruction_set", sets[at->isa]);
    json_part_bool(&line, "is_entry", at->is_function_entry);
    if (at->never_returns)
        json_part_bool(&line, "never_returns", true);
    json_part_text(&line, "note", at->note);
    if (at->is_function_entry)
        json_part_unsigned(&line, "calls", place->n_callers);
    put_addresses(&line, "callers", place, true);
    put_addresses(&line, "exits", place, false);
    return json_part_write(self->context->out, line);
}

/* ------------------------------------------------------------------------------------------------------- */

static void show(struct locating *self, const char *text, const char *region)
{
    struct located place;
    find(self, text, region, &place);
    if (self->context->options->format == FORMAT_JSON)
        self->ok = put_place(self, &place) && self->ok;
    else
        print_place(self, &place);
}

static bool show_all(struct locating *self, struct error *error)
{
    const struct options *options = self->context->options;
    struct region_file file = {.n = 0};
    bool ok = options->regions == NULL ||
              region_file_read(options->regions, self->context->around.cancel, &file, error);
    for (size_t i = 0; ok && i < options->n_operands; i++)
        show(self, options->operands[i], NULL);
    for (size_t i = 0; ok && i < file.n; i++) {
        show(self, file.lines[i].start, file.lines[i].name);
        if (file.lines[i].end[0] != '\0')
            show(self, file.lines[i].end, file.lines[i].name);
    }
    region_file_free(&file);
    if (ok && options->format == FORMAT_JSON) {
        struct json_part line = json_part_new("summary");
        json_part_unsigned(&line, "locations", self->tried);
        json_part_unsigned(&line, "not_found", self->failed);
        self->ok = json_part_write(self->context->out, line) && self->ok;
    }
    if (ok && !self->ok)
        return error_set(error, ERROR_UNWRITTEN, "the output could not be written");
    return ok;
}

int command_locate(const struct context *context, struct error *error)
{
    const struct options *options = context->options;
    struct locating self = {.context = context, .ok = true};
    bool ok = true;
    if (options->request.elf == NULL)
        ok = error_advise(error, ERROR_USAGE, "Name the program: pmu-probe --elf app.elf locate main.",
                          "locate looks locations up in an ELF file");
    else if (options->n_operands == 0 && options->regions == NULL)
        ok = error_set(error, ERROR_USAGE, "locate needs a location, or the --regions of a file");
    if (ok)
        self.symbols = symbols_open_moved(options->request.elf, options->request.load_offset, error);
    ok = ok && self.symbols != NULL &&
         (options->format != FORMAT_JSON || json_command_header(context->out, "locate", "") ||
          error_set(error, ERROR_UNWRITTEN, "the output could not be written"));
    ok = ok && show_all(&self, error);
    if (ok && self.failed > 0) {
        command_has_result(context);
        ok = error_set(error, self.kind, "%zu of %zu locations %s not found in %s", self.failed, self.tried,
                       self.failed == 1 ? "was" : "were", options->request.elf);
    }
    symbols_close(self.symbols);
    return ok ? EXIT_DONE : error_exit_code(error->kind);
}

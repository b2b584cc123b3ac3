/* `locate`: what locations mean in an ELF file. No target is touched. */
#include "commands/command.h"
#include "report/json.h"
#include "report/place_report.h"
#include "report/terminal.h"
#include "run/region.h"
#include "symbols/symbols.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MOST = 64, CALLERS_SHOWN = 5 };

struct locating {
    const struct context *context;
    struct symbols *symbols;
    size_t tried, failed;
    enum error_kind kind; /* of the first that failed */
    bool ok;              /* the output did not fail */
};

struct addresses {
    uint64_t at[MOST];
    size_t n, all; /* all: also those for which there is no room */
};

/* What is known of one location. */
struct located {
    const char *text, *region; /* as it was written; of a regions file, else NULL */
    struct location at;
    struct error error;   /* if it was not found */
    struct error refused; /* why no core is to stop there */
    char inlined[240];    /* at which other calls; "" */
    struct addresses callers, exits;
};

static size_t least(size_t n, size_t most)
{
    return n < most ? n : most;
}

static void locate_find(struct locating *self, const char *text, const char *region, struct located *place)
{
    *place = (struct located){.text = text, .region = region};
    self->tried++;
    if (!symbols_locate(self->symbols, text, &place->at, &place->error)) {
        self->kind = self->failed++ == 0 ? place->error.kind : self->kind;
        return;
    }
    (void)region_check_place(self->symbols, &place->at, &place->refused);
    if (!place->at.is_function_entry)
        return;
    const struct extent function = {place->at.low, place->at.high};
    (void)symbols_inline_calls(self->symbols, place->at.address, place->inlined, sizeof place->inlined);
    struct addresses *callers = &place->callers, *exits = &place->exits;
    struct handler_exit found[MOST] = {{.at = 0}};
    struct symbols_machine machine;
    bool all;
    symbols_machine(self->symbols, &machine);
    callers->all = symbols_callers(self->symbols, &function, callers->at, MOST);
    callers->n = least(callers->all, MOST);
    if (machine.profile == 'M' || (machine.profile == 0 && place->at.isa == ISA_THUMB))
        exits->all = symbols_exits(self->symbols, place->at.address, found, MOST, &all);
    exits->n = least(exits->all, MOST);
    for (size_t i = 0; i < exits->n; i++)
        exits->at[i] = found[i].at;
}

/* --- as text ------------------------------------------------------------------------------------------- */

/* NULL or "" is left out, with what is around it. */
static void locate_put_text(FILE *out, const char *before, const char *text, const char *after)
{
    char clean[UTF8_CLEAN_ROOM(PLACE_ROOM)];
    if (text != NULL && text[0] != '\0')
        fprintf(out, "%s%s%s", before, terminal_text(clean, sizeof clean, text), after);
}

static void locate_print_list(const struct locating *self, const char *what, const struct addresses *list,
                              size_t most)
{
    FILE *out = self->context->out;
    size_t shown = least(list->n, most);
    char place[PLACE_ROOM];
    for (size_t i = 0; i < shown; i++) {
        place_name(self->symbols, list->at[i], place);
        locate_put_text(out, i == 0 ? what : ", ", place, "");
    }
    if (most < list->all)
        fprintf(out, " and %zu more", list->all - shown);
    if (shown > 0)
        fputc('\n', out);
}

static void locate_print_place(const struct locating *self, const struct located *place)
{
    FILE *out = self->context->out;
    const struct location *at = &place->at;
    locate_put_text(out, "", place->region, ": ");
    locate_put_text(out, "", place->text, "");
    if (place->error.kind != ERROR_NONE) {
        char lines[sizeof place->error.text], *rest = lines;
        snprintf(lines, sizeof lines, "%s", place->error.text);
        locate_put_text(out, "\n    not found: ", strtok_r(lines, "\n", &rest), "");
        for (const char *line; (line = strtok_r(NULL, "\n", &rest)) != NULL;)
            locate_put_text(out, "\n    ", line, "");
        locate_put_text(out, ". ", place->error.advice, "");
        fputc('\n', out);
        return;
    }
    fprintf(out, "  0x%08" PRIx64, at->address);
    if (strcmp(at->name, place->text) != 0)
        locate_put_text(out, "  ", at->name, "");
    if (at->high > 0)
        fprintf(out, "  %s%" PRIu64 " bytes", at->is_function_entry ? "" : "of ", at->high - at->low);
    locate_put_text(out, "  ", at->source, "");
    fputc('\n', out);
    locate_put_text(out, "    ", at->note, "\n");
    if (place->refused.kind != ERROR_NONE)
        locate_put_text(out, "    nothing is measured there: ", place->refused.text, "\n");
    if (at->never_returns)
        fputs("    never returns\n", out);
    locate_put_text(out, "    also inlined at ", place->inlined, "\n");
    locate_print_list(self, "    called at ", &place->callers, CALLERS_SHOWN);
    locate_print_list(self, "    ends at ", &place->exits, SIZE_MAX);
}

/* --- as JSON ------------------------------------------------------------------------------------------- */

static void put_addresses(struct json_part *line, const char *key, const struct addresses *list)
{
    json_t *array = json_array();
    for (size_t i = 0; i < list->n; i++) {
        char text[24];
        snprintf(text, sizeof text, "0x%08" PRIx64, list->at[i]);
        json_part_append(line, array, json_part_string(text));
    }
    json_part_array(line, key, array);
}

static bool locate_put_place(const struct locating *self, const struct located *place)
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
    json_part_text(&line, "inlined_at", place->inlined);
    if (place->refused.kind != ERROR_NONE)
        json_part_text(&line, "refused", place->refused.text);
    if (at->is_function_entry)
        json_part_unsigned(&line, "calls", place->callers.all);
    put_addresses(&line, "callers", &place->callers);
    put_addresses(&line, "exits", &place->exits);
    return json_part_write(self->context->out, line);
}

/* ------------------------------------------------------------------------------------------------------- */

static void locate_show(struct locating *self, const char *text, const char *region)
{
    struct located place;
    locate_find(self, text, region, &place);
    if (self->context->options->format == FORMAT_JSON)
        self->ok = locate_put_place(self, &place) && self->ok;
    else
        locate_print_place(self, &place);
}

static bool show_all(struct locating *self, struct error *error)
{
    const struct options *options = self->context->options;
    struct region_file file = {.n = 0};
    bool ok = options->regions == NULL ||
              region_file_read(options->regions, self->context->around.cancel, &file, error);
    for (size_t i = 0; ok && i < options->n_operands; i++)
        locate_show(self, options->operands[i], NULL);
    for (size_t i = 0; ok && i < file.n; i++) {
        locate_show(self, file.lines[i].start, file.lines[i].name);
        if (file.lines[i].end[0] != '\0')
            locate_show(self, file.lines[i].end, file.lines[i].name);
    }
    region_file_free(&file);
    if (ok && options->format == FORMAT_JSON) {
        struct json_part line = json_part_new("summary");
        json_part_unsigned(&line, "locations", self->tried);
        json_part_unsigned(&line, "not_found", self->failed);
        self->ok = json_part_write(self->context->out, line) && self->ok;
    }
    return ok && command_wrote(self->ok, error);
}

int command_locate(const struct context *context, struct error *error)
{
    const struct options *options = context->options;
    struct locating self = {.context = context, .ok = true};
    bool ok = true;
    if (options->request.elf == NULL)
        ok = error_advise(error, ERROR_USAGE, "Name the program: pmu-probe --elf app.elf locate main.",
                          "locate finds locations in an ELF file");
    else if (options->n_operands == 0 && options->regions == NULL)
        ok = error_set(error, ERROR_USAGE, "locate needs a location, or the --regions of a file");
    if (ok)
        self.symbols = symbols_open_moved(options->request.elf, options->request.load_offset, error);
    ok = ok && self.symbols != NULL &&
         (options->format != FORMAT_JSON ||
          command_wrote(json_command_header(context->out, "locate", ""), error));
    ok = ok && show_all(&self, error);
    if (ok && self.failed > 0) {
        command_has_result(context);
        ok = error_set(error, self.kind, "%zu of %zu locations %s not found in %s", self.failed, self.tried,
                       self.failed == 1 ? "was" : "were", options->request.elf);
    }
    symbols_close(self.symbols);
    return command_code(ok, error);
}

/* SPDX-License-Identifier: MIT */
#include "report/conditions.h"

#include "report/formats.h"
#include "report/number.h"
#include "report/terminal.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FIELD = 256, INDENT = 2 };

/* ---- from a line */

static void take_text(char *out, size_t size, const json_t *object, const char *key)
{
    const char *text = field_text(object, key);
    if (text[0] != '\0')
        utf8_clean(out, size, text);
}

void conditions_read_clock(struct conditions *conditions, const json_t *clock)
{
    double hz = field_real(clock, "hz"), error = field_real(clock, "error_hz");
    if (!(hz >= 0))
        return;
    conditions->clock_hz = hz;
    conditions->clock_error_hz = error >= 0 ? error : 0;
    utf8_clean(conditions->clock_source, sizeof conditions->clock_source, field_text(clock, "source"));
}

void conditions_read_region(struct conditions *conditions, const json_t *region)
{
    take_text(conditions->start, sizeof conditions->start, region, "start");
    take_text(conditions->end, sizeof conditions->end, region, "end");
    take_text(conditions->start_source, sizeof conditions->start_source, region, "start_source");
    take_text(conditions->end_source, sizeof conditions->end_source, region, "end_source");
    conditions->start_address = strtoull(field_text(region, "addresses.start"), NULL, 0);
    conditions->end_address = strtoull(field_text(region, "addresses.end"), NULL, 0);
}

void conditions_read(struct conditions *conditions, const json_t *header)
{
    take_text(conditions->link, sizeof conditions->link, header, "link");
    take_text(conditions->core, sizeof conditions->core, header, "core");
    take_text(conditions->counter, sizeof conditions->counter, header, "counter");
    take_text(conditions->note, sizeof conditions->note, header, "note");
    take_text(conditions->elf, sizeof conditions->elf, header, "elf");
    take_text(conditions->build_id, sizeof conditions->build_id, header, "build_id");
    take_text(conditions->elf_hash, sizeof conditions->elf_hash, header, "elf_hash");
    conditions_read_region(conditions, field_of(header, "region"));
    conditions_read_clock(conditions, field_of(header, "clock"));
}

/* ---- for people */

bool conditions_clock_text(const struct conditions *conditions, char *out, size_t size)
{
    if (!(conditions->clock_hz > 0))
        return false;
    snprintf(out, size, "at %s", FREQUENCY(conditions->clock_hz));
    if (conditions->clock_error_hz > 0)
        text_add(out, size, " ± %s", FREQUENCY(conditions->clock_error_hz));
    if (conditions->clock_source[0] != '\0')
        text_add(out, size, " (%s)", conditions->clock_source);
    return true;
}

/* `name  where`; `where` is the address if the ELF knows no line. */
static void put_location(struct fold *fold, const char *before, const char *name, const char *source,
                         uint64_t address)
{
    char clean[UTF8_CLEAN_ROOM(FIELD)], text[UTF8_CLEAN_ROOM(FIELD) + 8];
    snprintf(text, sizeof text, "%s%s", before, terminal_text(clean, sizeof clean, name));
    fold_put(fold, text, 1);
    if (source[0] != '\0' && strcmp(source, name) != 0) {
        fold_put(fold, terminal_text(clean, sizeof clean, source), 2);
    } else if (source[0] == '\0' && address != 0 && strstr(name, "0x") == NULL) {
        snprintf(text, sizeof text, "0x%08" PRIx64, address);
        fold_put(fold, text, 2);
    }
}

static void conditions_write_text(const struct rendering *to, const struct conditions *conditions)
{
    const char *first[] = {conditions->link, conditions->core, conditions->counter};
    struct fold fold = {.out = to->out, .columns = to->columns, .indent = INDENT};
    render_facts(to, first, sizeof first / sizeof *first, 5);
    if (conditions->start[0] != '\0') {
        put_location(&fold, "", conditions->start, conditions->start_source, conditions->start_address);
        if (conditions->end[0] != '\0')
            put_location(&fold, "to ", conditions->end, conditions->end_source, conditions->end_address);
        fold_end(&fold);
    }
    render_text(to, "%s", conditions->note);
    fflush(to->out);
}

void text_header(FILE *out, const struct conditions *conditions)
{
    const struct rendering to = {.out = out, .format = FORMAT_TEXT, .columns = terminal_columns(out)};
    conditions_write_text(&to, conditions);
}

static void conditions_write_markdown(FILE *out, const struct conditions *conditions)
{
    const char *const first[] = {conditions->link, conditions->core, conditions->counter};
    char text[4 * FIELD] = "";
    if (conditions->start[0] != '\0') {
        fputs("**", out);
        markdown_text(out, conditions->start);
        bool other = strcmp(conditions->start_source, conditions->start) != 0;
        fprintf(out, "**%s", other && conditions->start_source[0] != '\0' ? " " : "");
        markdown_text(out, other ? conditions->start_source : "");
        if (conditions->end[0] != '\0') {
            fputs(" to ", out);
            markdown_text(out, conditions->end);
        }
        fputs("  \n", out); /* two blanks: a line break */
    }
    for (size_t i = 0; i < sizeof first / sizeof *first; i++)
        text_join(text, sizeof text, ", ", first[i]);
    markdown_text(out, text);
    fputs("\n\n", out);
}

void conditions_write(const struct rendering *to, const struct conditions *conditions)
{
    if (to->format == FORMAT_MARKDOWN)
        conditions_write_markdown(to->out, conditions);
    else if (to->format == FORMAT_TEXT)
        conditions_write_text(to, conditions);
}

enum { ERRATA = 1024 };

/* Which erratum the i-th column or, after these, metric has; "": none, NULL: there are no more. */
static const char *errata_at(const json_t *line, size_t i, const char **name)
{
    json_t *columns = json_object_get(line, "columns"), *errata = json_object_get(line, "metric_errata"),
           *one;
    json_object_foreach(columns, *name, one)
        if (i-- == 0)
            return field_text(one, "errata");
    json_object_foreach(errata, *name, one)
        if (i-- == 0)
            return text_or_empty(one);
    return NULL;
}

void conditions_add_errata(struct json_part *list, const json_t *line)
{
    const char *text, *name, *other;
    for (size_t i = 0; (text = errata_at(line, i, &name)) != NULL; i++) {
        char names[ERRATA] = "";
        bool told = text[0] == '\0';
        for (size_t k = 0; (other = errata_at(line, k, &name)) != NULL; k++) {
            bool same = strcmp(other, text) == 0;
            told = told || (same && k < i);
            text_join(names, sizeof names, ", ", same ? name : "");
        }
        if (!told)
            json_list_say(list, "~ %s: %s", names, text);
    }
}

const char *conditions_mark(const json_t *column)
{
    return field_of(column, "errata") != NULL ? "~" : "";
}

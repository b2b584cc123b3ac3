/* SPDX-License-Identifier: MIT */
#include "report/formats.h"

#include "report/number.h"
#include "report/terminal.h"

#include <inttypes.h>
#include <string.h>

void csv_field(struct csv *csv, const char *text)
{
    const char needing[] = {'"', '\r', '\n', csv->separator, '\0'};
    size_t length = strlen(text);
    bool edge = length > 0 && (text[0] == ' ' || text[length - 1] == ' ');
    if (csv->begun)
        fputc(csv->separator, csv->out);
    csv->begun = true;
    if (!edge && strpbrk(text, needing) == NULL) {
        fputs(text, csv->out);
        return;
    }
    fputc('"', csv->out);
    for (; *text != '\0'; text++) {
        if (*text == '"')
            fputc('"', csv->out);
        fputc(*text, csv->out);
    }
    fputc('"', csv->out);
}

void csv_text(struct csv *csv, const char *text)
{
    char clean[UTF8_CLEAN_ROOM(256)] = "'";
    /* A spreadsheet takes these for a formula, and runs it; a tab is no longer there */
    bool is_formula = text[0] != '\0' && strchr("=+-@", text[0]) != NULL;
    utf8_clean(clean + 1, sizeof clean - 1, text);
    csv_field(csv, is_formula ? clean : clean + 1);
}

void csv_unsigned(struct csv *csv, uint64_t value)
{
    char text[NUMBER_ROOM];
    snprintf(text, sizeof text, "%" PRIu64, value);
    csv_field(csv, text);
}

void csv_end_line(struct csv *csv)
{
    fputc('\n', csv->out);
    csv->begun = false;
}

const char *unit_of_counter(const char *name)
{
    return strstr(name, "CYCLES") != NULL || strcmp(name, "CYCCNT") == 0 ? "cycles" : "events";
}

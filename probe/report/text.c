#include "report/text.h"

#include "report/closing.h"
#include "report/fold.h"
#include "report/table.h"
#include "report/terminal.h"
#include "report/utf8.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

enum { FIELD = 256, INDENT = 2 };

/* `name  where`; the address stands in where the ELF knows no line. */
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

void text_header_within(FILE *out, const struct conditions *conditions, size_t columns)
{
    const char *first[] = {conditions->link, conditions->core, conditions->counter};
    char clean[UTF8_CLEAN_ROOM(FIELD)];
    struct fold fold = {.out = out, .columns = columns, .indent = INDENT};
    for (size_t i = 0; i < sizeof(first) / sizeof(first[0]); i++)
        fold_put(&fold, terminal_text(clean, sizeof clean, first[i]), 5);
    fold_end(&fold);
    if (conditions->start[0] != '\0') {
        put_location(&fold, "", conditions->start, conditions->start_source, conditions->start_address);
        if (conditions->end[0] != '\0')
            put_location(&fold, "to ", conditions->end, conditions->end_source, conditions->end_address);
        fold_end(&fold);
    }
    fold_text(out, columns, INDENT, terminal_text(clean, sizeof clean, conditions->note));
    fflush(out);
}

void text_header(FILE *out, const struct conditions *conditions)
{
    text_header_within(out, conditions, terminal_columns(out));
}

void text_summary_within(FILE *out, const struct summary *summary, size_t columns)
{
    char clean[UTF8_CLEAN_ROOM(FIELD)];
    fputc('\n', out);
    table_print(out, summary, columns);
    if (summary->n > 0)
        fputc('\n', out);
    closing_print(out, summary, columns);
    fold_text(out, columns, INDENT, terminal_text(clean, sizeof clean, summary->disagreement));
    fflush(out);
}

void text_summary(FILE *out, const struct summary *summary)
{
    text_summary_within(out, summary, terminal_columns(out));
}

#include "report/text.h"

#include "report/closing.h"
#include "report/table.h"
#include "report/utf8.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

enum { FIELD = 256 };

static void put_clean(FILE *out, const char *text)
{
    char clean[UTF8_CLEAN_ROOM(FIELD)];
    fputs(utf8_clean(clean, sizeof(clean), text), out);
}

/* `name  where`; the address stands in where the ELF knows no line. */
static void put_location(FILE *out, const char *name, const char *source, uint64_t address)
{
    put_clean(out, name);
    if (source[0] != '\0' && strcmp(source, name) != 0) {
        fputs("  ", out);
        put_clean(out, source);
    } else if (source[0] == '\0' && address != 0 && strstr(name, "0x") == NULL) {
        fprintf(out, "  0x%08" PRIx64, address);
    }
}

void text_header(FILE *out, const struct conditions *conditions)
{
    const char *first[] = {conditions->link, conditions->core, conditions->counter};
    bool begun = false;
    for (size_t i = 0; i < sizeof(first) / sizeof(first[0]); i++) {
        if (first[i][0] == '\0')
            continue;
        fputs(begun ? "     " : "", out);
        put_clean(out, first[i]);
        begun = true;
    }
    if (begun)
        fputc('\n', out);

    if (conditions->start[0] != '\0') {
        put_location(out, conditions->start, conditions->start_source, conditions->start_address);
        if (conditions->end[0] != '\0') {
            fputs(" to ", out);
            put_location(out, conditions->end, conditions->end_source, conditions->end_address);
        }
        fputc('\n', out);
    }
    if (conditions->note[0] != '\0') {
        put_clean(out, conditions->note);
        fputc('\n', out);
    }
    fflush(out);
}

void text_summary(FILE *out, const struct summary *summary)
{
    fputc('\n', out);
    table_print(out, summary);
    if (summary->n > 0)
        fputc('\n', out);
    closing_print(out, summary);
    if (summary->disagreement[0] != '\0') {
        put_clean(out, summary->disagreement);
        fputc('\n', out);
    }
    fflush(out);
}

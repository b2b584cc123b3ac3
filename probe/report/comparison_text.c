/* A comparison for people. */
#include "report/comparison.h"
#include "report/figure.h"
#include "report/fold.h"
#include "report/terminal.h"

#include <string.h>

enum { HEAD = 42, NAME = 16, CHANGE = 10, INDENT = 4, TEXT = 1024 };

static void put_text(FILE *out, size_t at, const char *before, const char *text)
{
    char clean[TEXT];
    fputs(before, out);
    fold_text_at(out, terminal_columns(out), at + strlen(before), INDENT,
                 terminal_text(clean, sizeof clean, text));
}

static enum colour colour_of(enum verdict verdict)
{
    return verdict == VERDICT_PASS ? COLOUR_GOOD : verdict == VERDICT_REGRESSED ? COLOUR_BAD : COLOUR_ODD;
}

static void pad(FILE *out, size_t width, size_t used)
{
    fprintf(out, "%*s", used < width ? (int)(width - used) : 0, "");
}

static void put_head(FILE *out, const struct comparison *comparison)
{
    fprintf(out, "baseline %s", comparison->file);
    if (comparison->started[0] != '\0' || comparison->build_id[0] != '\0') {
        pad(out, HEAD, strlen("baseline ") + utf8_width(comparison->file));
        fprintf(out, "   %.10s%s%s%.6s", comparison->started, comparison->started[0] != '\0' ? ", " : "",
                comparison->build_id[0] != '\0' ? "build " : "no build id", comparison->build_id);
    }
    fputc('\n', out);
}

struct cells {
    char base[NUMBER_ROOM], now[NUMBER_ROOM], change[NUMBER_ROOM];
};

static struct cells cells_of(const struct verdict_line *line)
{
    struct cells cells = {.base = "-", .now = "-"};
    if (line->base.n > 0)
        figure_mean(cells.base, line->base.mean);
    if (line->now.n > 0)
        figure_mean(cells.now, line->now.mean);
    figure_change(cells.change, line->change);
    return cells;
}

static void widen(size_t *width, const char *text)
{
    size_t w = utf8_width(text);
    *width = w > *width ? w : *width;
}

static void put_lines(FILE *out, const struct comparison *comparison)
{
    size_t name = NAME, base = 0, now = 0, change = CHANGE;
    for (size_t i = 0; i < comparison->n; i++) {
        struct cells cells = cells_of(&comparison->lines[i]);
        widen(&name, comparison->lines[i].name);
        widen(&base, cells.base);
        widen(&now, cells.now);
        widen(&change, cells.change);
    }
    char threshold[NUMBER_ROOM];
    figure_part(threshold, comparison->threshold);
    for (size_t i = 0; i < comparison->n; i++) {
        const struct verdict_line *line = &comparison->lines[i];
        struct cells cells = cells_of(line);
        fputs(line->name, out);
        pad(out, name, utf8_width(line->name));
        char verdict[NUMBER_ROOM + 64];
        const char *why = line->why;
        if (line->verdict == VERDICT_INCONCLUSIVE)
            snprintf(verdict, sizeof verdict, "%s", verdict_name(line->verdict));
        else
            snprintf(verdict, sizeof verdict, "%s (threshold %s)", verdict_name(line->verdict), threshold);
        if (comparison->n_reasons > 0 && why[0] != '\0')
            why = "not comparable";
        fprintf(out, " %*s -> %-*s  %*s   %s%s%s", (int)base, cells.base, (int)now, cells.now, (int)change,
                cells.change, terminal_colour(out, colour_of(line->verdict)), verdict,
                terminal_colour(out, COLOUR_END));
        size_t used = name + base + now + change + strlen("  ->      ") + utf8_width(verdict);
        if (why[0] == '\0') {
            fputc('\n', out);
        } else if (used + 2 + utf8_width(why) > terminal_columns(out)) {
            fprintf(out, ":\n%*s", INDENT, "");
            put_text(out, INDENT, "", why);
        } else {
            put_text(out, used, ": ", why);
        }
    }
}

bool comparison_print(FILE *out, const struct comparison *comparison)
{
    put_head(out, comparison);
    put_lines(out, comparison);
    for (size_t i = 0; i < comparison->n_reasons; i++)
        put_text(out, 0, "", comparison->reasons[i]);
    for (size_t i = 0; i < comparison->n_notes; i++)
        put_text(out, 0, "note: ", comparison->notes[i]);
    if (comparison->n != 1)
        fprintf(out, "verdict: %s%s\n", verdict_name(comparison->verdict),
                comparison->n == 0 ? ", there is nothing to compare" : "");
    return fflush(out) == 0 && !ferror(out);
}

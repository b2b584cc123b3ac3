/* A comparison for people. */
#include "report/comparison.h"
#include "report/figure.h"

#include <string.h>

enum { HEAD = 42, NAME = 16, CHANGE = 10 };

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
        fprintf(out, " %*s -> %-*s  %*s   %s (threshold %s)%s%s\n", (int)base, cells.base, (int)now,
                cells.now, (int)change, cells.change, verdict_name(line->verdict), threshold,
                line->why[0] != '\0' ? ": " : "", line->why);
    }
}

bool comparison_print(FILE *out, const struct comparison *comparison)
{
    put_head(out, comparison);
    put_lines(out, comparison);
    for (size_t i = 0; i < comparison->n_reasons; i++)
        fprintf(out, "not comparable: %s\n", comparison->reasons[i]);
    for (size_t i = 0; i < comparison->n_notes; i++)
        fprintf(out, "%s\n", comparison->notes[i]);
    if (comparison->n != 1)
        fprintf(out, "verdict: %s%s\n", verdict_name(comparison->verdict),
                comparison->n == 0 ? ", there is nothing to compare" : "");
    return fflush(out) == 0 && !ferror(out);
}

/* SPDX-License-Identifier: MIT */
#include "report/histogram.h"

#include "base/values.h"
#include "report/number.h"
#include "report/terminal.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { BINS = 8, BAR = 18, LEAST_BAR = 4, INDENT = 2, LINE = 512 };
enum { FEW = 10 }; /* with fewer hits the values say more than bars */

static const json_t *distribution_of(const json_t *column)
{
    return json_object_get(column, "distribution");
}

struct outliers histogram_outliers(const json_t *column)
{
    const json_t *of = distribution_of(column);
    if (of == NULL)
        return (struct outliers){.low = field_count(column, "min"), .high = field_count(column, "max")};
    return (struct outliers){.low = field_count(of, "low"),
                             .high = field_count(of, "high"),
                             .below = field_count(of, "below.count"),
                             .below_least = field_count(of, "below.least"),
                             .below_most = field_count(of, "below.most"),
                             .above = field_count(of, "above.count"),
                             .above_least = field_count(of, "above.least"),
                             .above_most = field_count(of, "above.most")};
}

uint64_t histogram_says(const json_t *column, char *out, size_t size)
{
    const struct outliers shape = histogram_outliers(column);
    uint64_t count = field_count(column, "count"), far = shape.below + shape.above;
    uint64_t near = count > far ? count - far : 0;
    text_add(out, size, "%s hit%s from %s to %s", NUMBER(near), PLURAL(near), NUMBER(shape.low),
             NUMBER(shape.high));
    return far;
}

/* One of its bins: from which value on, and how many. */
static struct histogram_bin bin_of(const json_t *pair)
{
    return (struct histogram_bin){.low = count_of(json_array_get(pair, 0)),
                                  .count = count_of(json_array_get(pair, 1))};
}

/* Of the bins, less one: a multiple of the distribution's own. */
static uint64_t histogram_width_of(const struct outliers *shape, uint64_t own, size_t room)
{
    uint64_t range = shape->high - shape->low, width = range / room;
    if (own <= 1)
        return width;
    if (own > range)
        return range;
    uint64_t times = width / own + 1;
    return times > range / own ? range : times * own - 1;
}

size_t histogram_bins(const json_t *column, const json_t *other, struct histogram_bin *out, size_t room)
{
    struct outliers shape = histogram_outliers(column);
    const json_t *list = field_of(distribution_of(column), "bins"), *pair;
    uint64_t own = field_count(distribution_of(column), "width");
    size_t n = 0, i;
    if (room == 0 || shape.high < shape.low || field_count(column, "count") == 0)
        return 0;
    if (other != NULL) {
        const struct outliers its = histogram_outliers(other);
        uint64_t its_own = field_count(distribution_of(other), "width");
        shape.low = its.low < shape.low ? its.low : shape.low;
        shape.high = its.high > shape.high ? its.high : shape.high;
        own = its_own > own ? its_own : own;
    }
    uint64_t width = histogram_width_of(&shape, own, room);
    for (uint64_t low = shape.low;; low += width + 1) {
        bool last = shape.high - low <= width;
        out[n++] = (struct histogram_bin){.low = low, .high = last ? shape.high : low + width};
        if (last)
            break;
    }
    if (list == NULL)
        out[width == UINT64_MAX ? 0 : (field_count(column, "min") - shape.low) / (width + 1)].count =
            field_count(column, "count");
    json_array_foreach(list, i, pair) {
        struct histogram_bin bin = bin_of(pair);
        if (bin.low >= shape.low && bin.low <= shape.high)
            out[width == UINT64_MAX ? 0 : (bin.low - shape.low) / (width + 1)].count += bin.count;
    }
    return n;
}

/* ---- as text */

static void print_values(FILE *out, size_t columns, const char *name, const json_t *column)
{
    struct fold fold = {.out = out, .columns = columns, .indent = INDENT};
    const json_t *list = field_of(distribution_of(column), "bins"), *pair;
    char title[UTF8_CLEAN_ROOM(96)], piece[sizeof title + NUMBER_ROOM + NUMBER_ROOM];
    size_t i;
    snprintf(piece, sizeof piece, "%s, sorted:", terminal_text(title, sizeof title, name));
    fold_put(&fold, piece, 0);
    json_array_foreach(list, i, pair) {
        struct histogram_bin bin = bin_of(pair);
        char often[NUMBER_ROOM] = "";
        if (bin.count > 1)
            snprintf(often, sizeof often, " (%" PRIu64 " times)", bin.count);
        snprintf(piece, sizeof piece, "%s%s%s", NUMBER(bin.low), often,
                 i + 1 < json_array_size(list) ? ";" : "");
        fold_put(&fold, piece, 1);
    }
    fold_end(&fold);
}

struct bars {
    FILE *out;
    size_t columns, low_width, bar;
    double median;
    uint64_t highest;
};

static void histogram_put_outliers(const struct bars *bars, uint64_t n, uint64_t least, uint64_t most,
                                   uint64_t farthest)
{
    char line[LINE];
    if (n == 0)
        return;
    const char *change = bars->median > 0 ? CHANGE(((double)farthest - bars->median) / bars->median) : "";
    fprintf(bars->out, "%*s  %s", (int)(INDENT + bars->low_width), "...",
            terminal_colour(bars->out, COLOUR_ODD));
    snprintf(line, sizeof line, "%s outlier%s: %s%s%s%s%s%s", NUMBER(n), PLURAL(n), NUMBER(least),
             least != most ? " to " : "", least != most ? NUMBER(most) : "", change[0] != '\0' ? ", " : "",
             change, change[0] != '\0' ? " from the median" : "");
    size_t left = INDENT + bars->low_width + 2;
    fold_text_at(bars->out, bars->columns, left, left, line);
    fputs(terminal_colour(bars->out, COLOUR_END), bars->out);
}

static void histogram_put_bar(const struct bars *bars, const struct histogram_bin *bin)
{
    fprintf(bars->out, "%*s  ", (int)(INDENT + bars->low_width), NUMBER(bin->low));
    /* In half characters; a bin with any hit has a bar */
    long halves = lround(2.0 * (double)bars->bar * (double)bin->count / (double)bars->highest);
    if (halves < 1 && bin->count > 0)
        halves = 1;
    for (long i = 0; i < halves / 2; i++)
        fputs(terminal_or("█", "#"), bars->out);
    fprintf(bars->out, "%s%s%s\n", halves % 2 != 0 ? terminal_or("▌", ":") : "", halves > 0 ? "  " : "",
            NUMBER(bin->count));
}

static void print_bars(FILE *out, size_t columns, const char *name, const json_t *column)
{
    struct histogram_bin bins[BINS];
    const struct outliers shape = histogram_outliers(column);
    struct bars bars = {.out = out,
                        .columns = columns,
                        .low_width = strlen("..."),
                        .median = field_real(column, "median"),
                        .highest = 1};
    char title[UTF8_CLEAN_ROOM(96)];
    size_t n = histogram_bins(column, NULL, bins, BINS), count_width = 0;
    for (size_t i = 0; i < n; i++) {
        size_t width = strlen(NUMBER(bins[i].low));
        bars.low_width = width > bars.low_width ? width : bars.low_width;
        width = strlen(NUMBER(bins[i].count));
        count_width = width > count_width ? width : count_width;
        bars.highest = bins[i].count > bars.highest ? bins[i].count : bars.highest;
    }
    bars.bar = columns > INDENT + bars.low_width + 2 + 2 + count_width + BAR ? BAR : LEAST_BAR;
    fprintf(out, "\n%s\n", terminal_text(title, sizeof title, name));
    histogram_put_outliers(&bars, shape.below, shape.below_least, shape.below_most, shape.below_least);
    for (size_t i = 0; i < n; i++)
        histogram_put_bar(&bars, &bins[i]);
    histogram_put_outliers(&bars, shape.above, shape.above_least, shape.above_most, shape.above_most);
}

void histogram_print(FILE *out, size_t columns, const char *name, const json_t *column)
{
    if (distribution_of(column) == NULL)
        return;
    if (field_count(column, "count") < FEW)
        print_values(out, columns, name, column);
    else
        print_bars(out, columns, name, column);
}

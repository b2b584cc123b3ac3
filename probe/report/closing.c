#include "report/closing.h"

#include "report/number.h"
#include "report/utf8.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { BINS = 8, BAR = 18, INDENT = 37, INDENT_MAX = 60 };
enum { LINES = 7, LINE = 1536 };

static bool is_constant(const struct column *column)
{
    return statistics_min(column->statistics) == statistics_max(column->statistics);
}

/* Every hit has the same numbers, and there is more than one hit to say that of. */
static bool all_equal(const struct summary *summary)
{
    for (size_t i = 0; i < summary->n; i++) {
        const struct column *column = &summary->columns[i];
        if (!is_constant(column) || column->at_least > 0 || statistics_count(column->statistics) < 2)
            return false;
    }
    return summary->n > 0;
}

/* Where the median alone does not tell how the rest lies. */
static size_t put_quantiles(char *line, const struct summary *summary)
{
    char p90[NUMBER_ROOM], p99[NUMBER_ROOM];
    const struct statistics *statistics = summary->n > 0 ? summary->columns[0].statistics : NULL;
    if (statistics == NULL || statistics_count(statistics) < 10 || is_constant(&summary->columns[0]))
        return 0;
    number_unsigned(p90, sizeof(p90), statistics_quantile(statistics, 0.9, NULL));
    number_unsigned(p99, sizeof(p99), statistics_quantile(statistics, 0.99, NULL));
    snprintf(line, LINE, "p90 %s, p99 %s", p90, p99);
    return 1;
}

/* What the region takes by itself: counts are inclusive otherwise. */
static size_t put_undisturbed(char *line, const struct summary *summary)
{
    char hits[NUMBER_ROOM], median[NUMBER_ROOM];
    if (summary->undisturbed == NULL)
        return 0;
    uint64_t n = statistics_count(summary->undisturbed);
    number_unsigned(hits, sizeof(hits), n);
    number_unsigned(median, sizeof(median), statistics_quantile(summary->undisturbed, 0.5, NULL));
    snprintf(line, LINE,
             n > 0 ? "%s without an exception inside, median %s" : "%s without an exception inside", hits,
             median);
    return 1;
}

/* What --on-max asked for. */
static size_t put_words(char *line, const struct summary *summary)
{
    const struct result_words *words = &summary->at_max;
    char number[NUMBER_ROOM];
    if (words->n == 0 || summary->max_number == 0)
        return 0;
    number_unsigned(number, sizeof(number), summary->max_number);
    size_t used = (size_t)snprintf(line, LINE, "max in hit %s:", number);
    for (size_t i = 0; i < words->n && used < LINE; i++) {
        char name[UTF8_CLEAN_ROOM(sizeof(words->names[0]))];
        used += (size_t)snprintf(line + used, LINE - used, " %s=0x%" PRIx64,
                                 utf8_clean(name, sizeof(name), words->names[i]), words->values[i]);
    }
    return 1;
}

static size_t put_left(char lines[LINES][LINE], const struct summary *summary)
{
    char hits[NUMBER_ROOM], wanted[NUMBER_ROOM], time[NUMBER_ROOM], tainted[NUMBER_ROOM];
    char ended[UTF8_CLEAN_ROOM(sizeof(summary->ended))], past[NUMBER_ROOM];
    utf8_clean(ended, sizeof(ended), summary->ended);
    number_unsigned(hits, sizeof(hits), summary->hits);
    uint64_t all = summary->wanted * (summary->passes > 1 ? summary->passes : 1);
    number_unsigned(wanted, sizeof(wanted), all);
    number_elapsed(time, sizeof(time), summary->seconds);
    number_unsigned(tainted, sizeof(tainted), summary->tainted);
    number_unsigned(past, sizeof(past), summary->steps_past);

    bool is_short = summary->hits<all, has_time = summary->seconds> 0;
    uint64_t of = is_short ? all : summary->hits;
    char passes[NUMBER_ROOM + 16] = "";
    if (summary->passes > 1)
        snprintf(passes, sizeof(passes), " in %u passes", summary->passes);
    snprintf(lines[0], LINE, "%s%s%s%s%s hit%s%s%s%s%s%s%s%s", ended, ended[0] != '\0' ? ": " : "", hits,
             is_short ? " of " : "", is_short ? wanted : "", of == 1 ? "" : "s", passes,
             has_time ? " in " : "", has_time ? time : "", summary->tainted > 0 ? ", " : "",
             summary->tainted > 0 ? tainted : "", summary->tainted > 0 ? " tainted" : "",
             all_equal(summary) ? ", all equal" : "");
    size_t n = 1;
    if (summary->left > 0) {
        char left[NUMBER_ROOM];
        number_unsigned(left, sizeof(left), summary->left);
        snprintf(lines[n++], LINE, "%s call%s left without returning, not counted", left,
                 summary->left == 1 ? "" : "s");
    }
    if (summary->steps_past > 0)
        snprintf(lines[n++], LINE, "%s end%s in another frame, stepped past", past,
                 summary->steps_past == 1 ? "" : "s");
    if (summary->uncalibrated[0] != '\0')
        snprintf(lines[n++], LINE, "no calibration: %s", summary->uncalibrated);
    if (summary->advice[0] != '\0')
        snprintf(lines[n++], LINE, "%s", summary->advice);
    n += put_quantiles(lines[n], summary);
    n += put_undisturbed(lines[n], summary);
    return n + put_words(lines[n], summary);
}

static void put_bar(FILE *out, const struct histogram_bin *bin, uint64_t highest, size_t low_width)
{
    char low[NUMBER_ROOM], count[NUMBER_ROOM];
    number_unsigned(low, sizeof(low), bin->low);
    number_unsigned(count, sizeof(count), bin->count);
    fprintf(out, "%*s%s  ", (int)(low_width - strlen(low)), "", low);
    /* In half characters; what is there at all is seen */
    long halves = lround(2.0 * BAR * (double)bin->count / (double)highest);
    if (halves < 1)
        halves = 1;
    for (long i = 0; i < halves / 2; i++)
        fputs("█", out);
    fprintf(out, "%s  %s", halves % 2 != 0 ? "▌" : "", count);
}

void closing_print(FILE *out, const struct summary *summary)
{
    char lines[LINES][LINE] = {{0}};
    size_t left = put_left(lines, summary);

    struct histogram_bin bins[BINS];
    size_t n = 0;
    if (summary->n > 0 && !is_constant(&summary->columns[0]))
        n = statistics_histogram(summary->columns[0].statistics, bins, BINS);
    uint64_t highest = 0;
    size_t low_width = 0, widest = 0;
    for (size_t i = 0; i < n; i++) {
        char low[NUMBER_ROOM];
        size_t width = strlen(number_unsigned(low, sizeof(low), bins[i].low));
        low_width = width > low_width ? width : low_width;
        highest = bins[i].count > highest ? bins[i].count : highest;
    }
    for (size_t i = 0; i < left; i++) {
        size_t width = utf8_width(lines[i]);
        widest = width > widest ? width : widest;
    }

    /* Beside the words where there is room, else below them */
    size_t indent = widest + 4 > INDENT ? widest + 4 : INDENT;
    bool beside = indent <= INDENT_MAX;
    size_t first = beside ? 0 : left;
    for (size_t i = 0; i < left || i < first + n; i++) {
        const char *words = i < left ? lines[i] : "";
        fputs(words, out);
        if (i >= first && i < first + n) {
            fprintf(out, "%*s", (int)((beside ? indent : INDENT) - utf8_width(words)), "");
            put_bar(out, &bins[i - first], highest, low_width);
        }
        fputc('\n', out);
    }
}

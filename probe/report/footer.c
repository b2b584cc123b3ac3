#include "report/formats.h"

#include "report/number.h"
#include "report/terminal.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

enum { BINS = 8, BAR = 18, LEAST_BAR = 4, INDENT = 2, LINE = 1536 };
enum { FEW = 10 }; /* with fewer hits the values say more than a histogram */

struct footer {
    FILE *out;
    size_t columns;
    const struct summary *summary;
    void (*put)(void *context, const char *fact);
    void *context;
};

__attribute__((format(printf, 2, 3))) static void put_line(const struct footer *footer, const char *format,
                                                           ...)
{
    char text[LINE];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    footer->put(footer->context, text);
}

static void put_folded(void *context, const char *fact)
{
    const struct footer *footer = context;
    fold_text(footer->out, footer->columns, INDENT, fact);
}

static bool is_constant(const struct column *column)
{
    struct figures figures = column_figures(column);
    return figures.min == figures.max;
}

/* The first column has more than one number. */
static bool varies(const struct summary *summary)
{
    return summary->n > 0 && column_figures(&summary->columns[0]).count > 1 &&
           !is_constant(&summary->columns[0]);
}

/* There is more than one hit, and all have the same numbers. */
static bool all_equal(const struct summary *summary)
{
    for (size_t i = 0; i < summary->n; i++) {
        const struct column *column = &summary->columns[i];
        if (!is_constant(column) || column->at_least > 0 || column_figures(column).count < 2)
            return false;
    }
    return summary->n > 0;
}

static void put_hits(const struct footer *footer)
{
    const struct summary *summary = footer->summary;
    char hits[NUMBER_ROOM], wanted[NUMBER_ROOM], time[NUMBER_ROOM];
    char ended[UTF8_CLEAN_ROOM(sizeof(summary->ended))];
    terminal_text(ended, sizeof(ended), summary->ended);
    number_unsigned(hits, sizeof(hits), summary->hits);
    uint64_t all = summary->wanted * (summary->passes > 1 ? summary->passes : 1);
    number_unsigned(wanted, sizeof(wanted), all);
    number_elapsed(time, sizeof(time), summary->seconds);

    bool is_short = summary->hits<all, has_time = summary->seconds> 0;
    uint64_t of = is_short ? all : summary->hits;
    char passes[NUMBER_ROOM + 16] = "";
    if (summary->passes > 1)
        snprintf(passes, sizeof(passes), " in %u passes", summary->passes);
    put_line(footer, "%s%s%s%s%s hit%s%s%s%s%s", ended, ended[0] != '\0' ? ": " : "", hits,
             is_short ? " of " : "", is_short ? wanted : "", of == 1 ? "" : "s", passes,
             has_time ? " in " : "", has_time ? time : "", all_equal(summary) ? ", all equal" : "");
    if (summary->passes > 1)
        put_line(footer, "Each pass has hits of its own: rows of different passes stand on different hits.");
}

/* How the run began and why it ended, if that was asked for. */
static void put_rules(const struct footer *footer)
{
    const struct summary *summary = footer->summary;
    char number[NUMBER_ROOM], wanted[NUMBER_ROOM];
    bool reached = summary->precise <= summary->precision;
    if (summary->warmup > 0)
        put_line(footer, "%s hit%s before for warm-up, not counted",
                 number_unsigned(number, sizeof number, summary->warmup), summary->warmup == 1 ? "" : "s");
    if (!(summary->precision > 0))
        return;
    number_part(wanted, summary->precision);
    if (isfinite(summary->precise))
        put_line(footer, "mean %s%s (95 %%): --precision %s was %sreached", terminal_or("±", "+-"),
                 number_part_up(number, summary->precise), wanted, reached ? "" : "not ");
    else
        put_line(footer, "no hit counts: --precision %s was not reached", wanted);
}

static void put_left_out(const struct footer *footer)
{
    const struct summary *summary = footer->summary;
    char tainted[NUMBER_ROOM], hits[NUMBER_ROOM], past[NUMBER_ROOM], left[NUMBER_ROOM];
    number_unsigned(tainted, sizeof(tainted), summary->tainted);
    number_unsigned(hits, sizeof(hits), summary->hits);
    number_unsigned(past, sizeof(past), summary->steps_past);
    if (summary->tainted > 0)
        put_line(
            footer,
            "%s of %s hit%s tainted: an interrupt that our halt had delayed ran inside; not in the table",
            tainted, hits, summary->hits == 1 ? "" : "s");
    if (summary->left > 0)
        put_line(footer, "%s call%s left without returning, not counted",
                 number_unsigned(left, sizeof left, summary->left), summary->left == 1 ? "" : "s");
    if (summary->steps_past > 0)
        put_line(footer, "%s time%s the end was reached in another frame: passed over, not a hit", past,
                 summary->steps_past == 1 ? "" : "s");
    if (summary->conditions.clock_change[0] != '\0')
        put_line(footer, "no times: %s", summary->conditions.clock_change);
    if (summary->slept)
        put_line(footer, "%s", RESULT_SLEPT);
    if (summary->uncalibrated[0] != '\0')
        put_line(footer, "overhead not measured: %s", summary->uncalibrated);
    if (summary->advice[0] != '\0')
        put_line(footer, "%s", summary->advice);
}

static void put_quantiles(const struct footer *footer)
{
    char p90[NUMBER_ROOM], p99[NUMBER_ROOM];
    struct figures figures = column_figures(&footer->summary->columns[0]);
    number_unsigned(p90, sizeof(p90), figures.p90);
    number_unsigned(p99, sizeof(p99), figures.p99);
    put_line(footer, "p90 %s, p99 %s", p90, p99);
}

/* Hits with an unknown number of exceptions: that counter is narrow and may have overflowed. */
static uint64_t unknown_exceptions(const struct summary *summary)
{
    for (size_t i = 0; i < summary->n; i++)
        if (result_exceptions(summary->columns[i].name) != RESULT_EXCEPTIONS_NOT)
            return summary->columns[i].at_least;
    return 0;
}

/* All other counts include exceptions; these hits had none. */
static void put_undisturbed(const struct footer *footer)
{
    const struct summary *summary = footer->summary;
    char hits[NUMBER_ROOM], median[NUMBER_ROOM], unknown[NUMBER_ROOM];
    if (summary->undisturbed == NULL)
        return;
    uint64_t n = statistics_count(summary->undisturbed), open = unknown_exceptions(summary);
    number_unsigned(hits, sizeof(hits), n);
    number_unsigned(unknown, sizeof(unknown), open);
    number_unsigned(median, sizeof(median), statistics_quantile(summary->undisturbed, 0.5, NULL));
    if (n > 0)
        put_line(footer, "%s without an exception inside, median %s", hits, median);
    else if (open == 0)
        put_line(footer, "0 without an exception inside");
    if (open > 0)
        put_line(footer, "exceptions inside %s hit%s: not known, the counter may have overflowed", unknown,
                 open == 1 ? "" : "s");
}

/* The values that --show requested. */
static void put_words(const struct footer *footer)
{
    const struct summary *summary = footer->summary;
    const struct result_words *words = &summary->at_max;
    char line[LINE], number[NUMBER_ROOM];
    if (words->n == 0 || summary->max_number == 0)
        return;
    number_unsigned(number, sizeof(number), summary->max_number);
    size_t used = (size_t)snprintf(line, LINE, "max in hit %s:", number);
    for (size_t i = 0; i < words->n && used < LINE; i++) {
        char name[UTF8_CLEAN_ROOM(sizeof(words->names[0]))];
        used += (size_t)snprintf(line + used, LINE - used, " %s=0x%" PRIx64,
                                 terminal_text(name, sizeof(name), words->names[i]), words->values[i]);
    }
    put_line(footer, "%s", line);
}

static const char *title_of(const struct footer *footer, char *out, size_t size)
{
    return terminal_text(out, size, footer->summary->columns[0].name);
}

static void put_values(const struct footer *footer)
{
    const struct statistics *statistics = footer->summary->columns[0].statistics;
    uint64_t n = statistics_count(statistics);
    struct fold fold = {.out = footer->out, .columns = footer->columns, .indent = INDENT};
    char title[UTF8_CLEAN_ROOM(96)], piece[sizeof title + NUMBER_ROOM + NUMBER_ROOM], number[NUMBER_ROOM];
    snprintf(piece, sizeof piece, "%s, sorted:", title_of(footer, title, sizeof title));
    fold_put(&fold, piece, 0);
    for (uint64_t i = 0, times = 0; i < n; i += times) {
        uint64_t least, greatest,
            value = statistics_quantile(statistics, ((double)i + 0.5) / (double)n, NULL);
        times = statistics_between(statistics, value, value, &least, &greatest);
        char often[NUMBER_ROOM] = "";
        if (times > 1)
            snprintf(often, sizeof often, " (%" PRIu64 " times)", times);
        number_unsigned(number, sizeof number, value);
        snprintf(piece, sizeof piece, "%s%s%s", number, often, i + times < n ? ";" : "");
        fold_put(&fold, piece, 1);
    }
    fold_end(&fold);
}

static void put_outliers(const struct footer *footer, uint64_t n, uint64_t least, uint64_t most,
                         uint64_t farthest, size_t low_width)
{
    char count[NUMBER_ROOM], from[NUMBER_ROOM], to[NUMBER_ROOM], change[NUMBER_ROOM] = "";
    double median = (double)statistics_quantile(footer->summary->columns[0].statistics, 0.5, NULL);
    char line[LINE];
    if (n == 0)
        return;
    if (median > 0)
        number_change(change, ((double)farthest - median) / median);
    number_unsigned(count, sizeof count, n);
    number_unsigned(from, sizeof from, least);
    number_unsigned(to, sizeof to, most);
    fprintf(footer->out, "%*s  %s", (int)(INDENT + low_width), "...",
            terminal_colour(footer->out, COLOUR_ODD));
    snprintf(line, sizeof line, "%s outlier%s: %s%s%s%s%s%s", count, n == 1 ? "" : "s", from,
             least != most ? " to " : "", least != most ? to : "", change[0] != '\0' ? ", " : "", change,
             change[0] != '\0' ? " from the median" : "");
    size_t left = INDENT + low_width + 2;
    struct fold fold = {.out = footer->out, .columns = footer->columns, .indent = left, .used = left};
    char word[LINE];
    for (const char *at = line; *at != '\0'; at += strcspn(at, " "), at += *at == ' ') {
        snprintf(word, sizeof word, "%.*s", (int)strcspn(at, " "), at);
        fold_put(&fold, word, at == line ? 0 : 1);
    }
    fputs(terminal_colour(footer->out, COLOUR_END), footer->out);
    fold_end(&fold);
}

static void put_bar(const struct footer *footer, const struct histogram_bin *bin, uint64_t highest,
                    size_t low_width, size_t bar)
{
    char low[NUMBER_ROOM], count[NUMBER_ROOM];
    FILE *out = footer->out;
    number_unsigned(low, sizeof(low), bin->low);
    number_unsigned(count, sizeof(count), bin->count);
    fprintf(out, "%*s  ", (int)(INDENT + low_width), low);
    /* In half characters; a bin with any hit has a bar */
    long halves = lround(2.0 * (double)bar * (double)bin->count / (double)highest);
    if (halves < 1 && bin->count > 0)
        halves = 1;
    for (long i = 0; i < halves / 2; i++)
        fputs(terminal_or("█", "#"), out);
    fprintf(out, "%s%s%s\n", halves % 2 != 0 ? terminal_or("▌", ":") : "", halves > 0 ? "  " : "", count);
}

static void put_histogram(const struct footer *footer)
{
    const struct statistics *statistics = footer->summary->columns[0].statistics;
    struct histogram_bin bins[BINS];
    struct outliers shape = statistics_outliers(statistics);
    size_t n = statistics_histogram(statistics, shape.low, shape.high, bins, BINS);
    uint64_t highest = 0;
    size_t low_width = sizeof("...") - 1, count_width = 0;
    char number[NUMBER_ROOM], title[UTF8_CLEAN_ROOM(96)];
    for (size_t i = 0; i < n; i++) {
        size_t width = strlen(number_unsigned(number, sizeof(number), bins[i].low));
        low_width = width > low_width ? width : low_width;
        width = strlen(number_unsigned(number, sizeof(number), bins[i].count));
        count_width = width > count_width ? width : count_width;
        highest = bins[i].count > highest ? bins[i].count : highest;
    }
    size_t others = INDENT + low_width + 2 + 2 + count_width;
    size_t bar = footer->columns > others + BAR ? BAR : LEAST_BAR;
    fprintf(footer->out, "\n%s\n", title_of(footer, title, sizeof title));
    put_outliers(footer, shape.below, shape.below_least, shape.below_most, shape.below_least, low_width);
    for (size_t i = 0; i < n; i++)
        put_bar(footer, &bins[i], highest, low_width, bar);
    put_outliers(footer, shape.above, shape.above_least, shape.above_most, shape.above_most, low_width);
}

static void put_facts(const struct footer *footer)
{
    const struct summary *summary = footer->summary;
    put_hits(footer);
    put_rules(footer);
    put_left_out(footer);
    if (varies(summary) && column_figures(&summary->columns[0]).count >= FEW &&
        column_figures(&summary->columns[0]).has_tail)
        put_quantiles(footer);
    put_undisturbed(footer);
    put_words(footer);
}

void footer_facts(const struct summary *summary, void (*put)(void *context, const char *fact), void *context)
{
    const struct footer footer = {.summary = summary, .put = put, .context = context};
    put_facts(&footer);
}

void footer_print(FILE *out, const struct summary *summary, size_t columns)
{
    struct footer footer = {.out = out, .columns = columns, .summary = summary, .put = put_folded};
    footer.context = &footer;
    put_facts(&footer);
    if (varies(summary) && statistics_count(summary->columns[0].statistics) < FEW)
        put_values(&footer);
    else if (varies(summary))
        put_histogram(&footer);
}

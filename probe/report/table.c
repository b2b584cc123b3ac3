/*
 * The header and the table of a summary. The table has a row for each counted event with its median, mean,
 * deviation and range, and a row for the time if the clock is known. A row that is too long for a line folds:
 * no number is cut. Rows that cover fewer hits than the others form a second table. Notes below both explain
 * the words.
 */
#include "report/formats.h"
#include "report/number.h"
#include "report/terminal.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

enum cell { NAME, HITS, MEDIAN, MEAN, DEVIATION, MIN, MAX, EACH, OVERHEAD, CELLS };
enum {
    CELL = 96,
    REMARK = 384,
    NOTE = 2048,
    FIELD = 256,
    GAP = 2,
    INDENT = 2,
    DEEP = 4,
    NARROWEST_NAME = 10
};
enum { ROWS = RESULT_COLUMNS + RESULT_METRICS + 2 }; /* + the heading and the time */

static const char *const heading[CELLS] = {"",    "hits", "median",  "mean",    "sd",
                                           "min", "max",  "per hit", "overhead"};

struct row {
    char cells[CELLS][CELL];
    char remark[REMARK];
    bool fewer, unresolved; /* fewer hits than others; less than the uncertainty of a hit */
};

struct table {
    size_t n;
    struct row rows[ROWS];
};

__attribute__((format(printf, 2, 3))) static void remark(struct row *row, const char *format, ...)
{
    size_t used = strlen(row->remark);
    if (used > 0)
        used += (size_t)snprintf(row->remark + used, REMARK - used, "; ");
    if (used >= REMARK)
        return;
    va_list list;
    va_start(list, format);
    vsnprintf(row->remark + used, REMARK - used, format, list);
    va_end(list);
}

/* Two digits of the deviation, and no decimals from 3 on. */
static int decimals_for(double deviation)
{
    if (!(deviation > 0) || deviation >= 3)
        return 0;
    int decimals = 1 - (int)floor(log10(deviation));
    return decimals < 6 ? decimals : 6;
}

/* An error is never rounded down. */
static const char *error_text(char *out, size_t size, double error)
{
    int decimals = error == floor(error) || error >= 10 ? 0 : error >= 1 ? 1 : 2;
    double scale = pow(10, decimals);
    return number_decimal(out, size, ceil(error * scale - 1e-6) / scale, decimals);
}

static void put_uncertainty(struct row *row, const struct column *column)
{
    char number[NUMBER_ROOM];
    if (!column->calibrated) {
        snprintf(row->cells[EACH], CELL, "?");
        snprintf(row->cells[OVERHEAD], CELL, "?");
        return;
    }
    error_text(number, sizeof number, column->plus_minus);
    snprintf(row->cells[EACH], CELL, "%s%s", terminal_or("±", "+-"), number);
    /* 8, not 8.0; 0, not 0.0 */
    bool is_whole = fabs(column->overhead - round(column->overhead)) < 0.05;
    number_decimal(row->cells[OVERHEAD], CELL, column->overhead, is_whole ? 0 : 1);
    row->unresolved = column->plus_minus > 0 &&
                      (double)statistics_quantile(column->statistics, 0.5, NULL) <= column->plus_minus;
    if (row->unresolved)
        remark(row, "not resolved");
}

static void put_numbers(struct row *row, const struct statistics *statistics)
{
    double deviation = statistics_deviation(statistics);
    int decimals = decimals_for(deviation);
    number_unsigned(row->cells[MEDIAN], CELL, statistics_quantile(statistics, 0.5, NULL));
    number_decimal(row->cells[MEAN], CELL, statistics_mean(statistics), decimals);
    number_decimal(row->cells[DEVIATION], CELL, deviation, decimals);
    number_unsigned(row->cells[MIN], CELL, statistics_min(statistics));
    number_unsigned(row->cells[MAX], CELL, statistics_max(statistics));
}

/* Why nothing was counted. */
static const char *why_not(const struct summary *summary)
{
    if (summary->hits == 0)
        return "no hit";
    if (summary->tainted == summary->hits)
        return "all hits tainted";
    return summary->passes > 1 ? "it ended before a hit of its pass" : "no hit that counts";
}

static void put_column(struct row *row, const struct summary *summary, const struct column *column)
{
    char bound[NUMBER_ROOM], hits[NUMBER_ROOM], all[NUMBER_ROOM];
    uint64_t n = statistics_count(column->statistics);
    terminal_text(row->cells[NAME], CELL, column->name);
    if (column->unsupported[0] != '\0') {
        remark(row, "<not supported>: %s", column->unsupported);
    } else if (n > 0) {
        put_numbers(row, column->statistics);
        put_uncertainty(row, column);
        row->fewer = column->at_least > 0;
        number_unsigned(hits, sizeof hits, n);
        number_unsigned(all, sizeof all, n + column->at_least);
        if (row->fewer)
            snprintf(row->cells[HITS], CELL, "%.40s of %.40s", hits, all);
    } else if (column->at_least > 0) {
        /* A bound on the longest hit says nothing about the median */
        number_unsigned(bound, sizeof bound, column->at_least_max);
        remark(row, "longest hit: at least %s", bound);
    } else {
        remark(row, "<not counted>: %s", why_not(summary));
    }
}

/* False if the time is unknown. */
static bool put_time(struct row *row, const struct conditions *conditions, const struct column *cycles)
{
    char duration[NUMBER_ROOM];
    const struct statistics *statistics = cycles->statistics;
    double hz = conditions->clock_hz;
    if (!(hz > 0) || (statistics_count(statistics) == 0 && cycles->at_least == 0))
        return false;
    snprintf(row->cells[NAME], CELL, "time");
    if (statistics_count(statistics) == 0) {
        number_duration(duration, sizeof duration, (double)cycles->at_least_max / hz);
        remark(row, "longest hit: at least %s", duration);
        return true;
    }
    row->fewer = cycles->at_least > 0;
    number_duration(row->cells[MEDIAN], CELL, (double)statistics_quantile(statistics, 0.5, NULL) / hz);
    number_duration(row->cells[MEAN], CELL, statistics_mean(statistics) / hz);
    number_duration(row->cells[MIN], CELL, (double)statistics_min(statistics) / hz);
    number_duration(row->cells[MAX], CELL, (double)statistics_max(statistics) / hz);
    return true;
}

/* A metric is computed from the means, so its value goes into their column. */
static void put_metric(struct row *row, const struct metric_result *metric)
{
    terminal_text(row->cells[NAME], CELL, metric->name);
    if (!isfinite(metric->value)) {
        remark(row, "<not counted>%s%s", metric->why[0] != '\0' ? ": " : "", metric->why);
        return;
    }
    snprintf(row->cells[MEAN], CELL, "%.4g", metric->value);
    if (metric->unit[0] != '\0')
        remark(row, "%s", metric->unit);
}

static void fill(struct table *table, const struct summary *summary)
{
    for (size_t i = 0; i < summary->n; i++)
        put_column(&table->rows[table->n++], summary, &summary->columns[i]);
    if (summary->n > 0 && put_time(&table->rows[table->n], &summary->conditions, &summary->columns[0]))
        table->n++;
    for (size_t i = 0; i < summary->n_metrics; i++)
        put_metric(&table->rows[table->n++], &summary->metrics[i]);
}

static bool has_numbers(const struct row *row)
{
    return row->cells[MEDIAN][0] != '\0';
}

/* Moves the uncertainty and the overhead into the remark, for lines that are too short for two more columns.
 */
static void shorten(struct table *table)
{
    for (size_t i = 0; i < table->n; i++) {
        struct row *row = &table->rows[i];
        char words[REMARK];
        bool is_measured = strcmp(row->cells[EACH], "?") != 0;
        bool is_worth_a_remark = strcmp(row->cells[OVERHEAD], "0") != 0 || row->unresolved ||
                                 strcmp(row->cells[EACH], terminal_or("±0", "+-0")) != 0;
        if (row->cells[EACH][0] != '\0' && is_worth_a_remark) {
            snprintf(words, sizeof words, "per hit %.64s, overhead %.64s%s%.200s", row->cells[EACH],
                     row->cells[OVERHEAD], row->remark[0] != '\0' ? "; " : "", row->remark);
            snprintf(row->remark, sizeof row->remark, "%s", is_measured ? words : "overhead not measured");
        }
        row->cells[EACH][0] = row->cells[OVERHEAD][0] = '\0';
    }
}

struct layout {
    FILE *out;
    size_t columns, width[CELLS];
    bool folded, remarks_below; /* a block a row instead of a line; remarks on lines of their own */
};

static size_t width_of(const struct layout *layout, const struct row *row)
{
    size_t width = layout->width[NAME];
    for (size_t cell = NAME + 1, owed = 0; cell < CELLS; cell++) {
        owed += layout->width[cell] > 0 ? GAP + layout->width[cell] : 0;
        if (row->cells[cell][0] != '\0') {
            width += owed;
            owed = 0;
        }
    }
    return width;
}

/* Widths for the rows of one of the two tables. */
static void lay_out(struct layout *layout, const struct table *table, bool fewer)
{
    *layout = (struct layout){.out = layout->out, .columns = layout->columns};
    layout->width[NAME] = NARROWEST_NAME;
    for (size_t i = 0; i < table->n; i++)
        for (size_t cell = 0; cell < CELLS && (cell == NAME || table->rows[i].fewer == fewer); cell++) {
            size_t w = utf8_width(table->rows[i].cells[cell]);
            size_t least = w > 0 ? strlen(heading[cell]) : 0;
            w = w > least ? w : least;
            layout->width[cell] = w > layout->width[cell] ? w : layout->width[cell];
        }
    for (size_t i = 0; i < table->n; i++) {
        const struct row *row = &table->rows[i];
        if (row->fewer != fewer)
            continue;
        size_t width = width_of(layout, row);
        layout->folded = layout->folded || (width > layout->columns && row->cells[MEAN][0] != '\0');
        layout->remarks_below =
            layout->remarks_below || (row->remark[0] != '\0' && has_numbers(row) &&
                                      width + GAP + utf8_width(row->remark) > layout->columns);
    }
}

/* Blanks wait until a cell follows them, so no line ends in a blank. */
static void put_line(const struct layout *layout, const char *const cells[CELLS])
{
    size_t owed = layout->width[NAME] - utf8_width(cells[NAME]);
    fputs(cells[NAME], layout->out);
    for (size_t cell = NAME + 1; cell < CELLS; cell++) {
        size_t width = utf8_width(cells[cell]);
        owed += layout->width[cell] > 0 ? GAP + layout->width[cell] - width : 0;
        if (width == 0)
            continue;
        fprintf(layout->out, "%*s%s", (int)owed, "", cells[cell]);
        owed = 0;
    }
}

static void put_row(const struct layout *layout, const struct row *row)
{
    const char *cells[CELLS];
    for (size_t cell = 0; cell < CELLS; cell++)
        cells[cell] = row->cells[cell];
    put_line(layout, cells);
    if (row->remark[0] == '\0') {
        fputc('\n', layout->out);
        return;
    }
    size_t used = width_of(layout, row);
    bool is_below =
        has_numbers(row) ? layout->remarks_below : used + GAP + utf8_width(row->remark) > layout->columns;
    if (is_below) {
        fprintf(layout->out, "\n%*s", DEEP, "");
        fold_text(layout->out, layout->columns - DEEP, DEEP, row->remark);
        return;
    }
    size_t reached = row->cells[MEAN][0] != '\0' ? used : utf8_width(row->cells[NAME]);
    fprintf(layout->out, "%*s%s\n", (int)(used + GAP - reached), "", row->remark);
}

/* The name, then its numbers with their headings, as many as fit into a line. */
static void put_block(const struct layout *layout, const struct row *row)
{
    struct fold fold = {.out = layout->out, .columns = layout->columns, .indent = INDENT};
    char piece[CELL + 32];
    fprintf(layout->out, "%s\n%*s", row->cells[NAME], INDENT, "");
    fold.used = INDENT;
    size_t n = 0;
    for (size_t cell = HITS; cell < CELLS; cell++) {
        if (row->cells[cell][0] == '\0')
            continue;
        snprintf(piece, sizeof piece, "%s %s", heading[cell], row->cells[cell]);
        fold_put(&fold, piece, n++ > 0 ? 3 : 0);
    }
    if (row->remark[0] != '\0')
        fold_put(&fold, row->remark, n > 0 ? 3 : 0);
    fold_end(&fold);
}

static void print_rows(const struct layout *layout, const struct table *table, bool fewer)
{
    bool has_heading = false;
    for (size_t i = 0; i < table->n && !layout->folded; i++)
        has_heading = has_heading || (table->rows[i].fewer == fewer && table->rows[i].cells[MEAN][0] != '\0');
    if (has_heading) {
        const char *cells[CELLS];
        for (size_t cell = 0; cell < CELLS; cell++)
            cells[cell] = layout->width[cell] > 0 ? heading[cell] : "";
        put_line(layout, cells);
        fputc('\n', layout->out);
    }
    for (size_t i = 0; i < table->n; i++) {
        const struct row *row = &table->rows[i];
        if (row->fewer != fewer)
            continue;
        fputs(row->unresolved ? terminal_colour(layout->out, COLOUR_FAINT) : "", layout->out);
        if (layout->folded)
            put_block(layout, row);
        else
            put_row(layout, row);
        fputs(row->unresolved ? terminal_colour(layout->out, COLOUR_END) : "", layout->out);
    }
}

__attribute__((format(printf, 2, 3))) static void note(const struct layout *layout, const char *format, ...)
{
    char text[NOTE];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    fold_text(layout->out, layout->columns, INDENT, text);
}

static void note_clock(const struct layout *layout, const struct conditions *conditions)
{
    char clock[NUMBER_ROOM], error[NUMBER_ROOM];
    char source[UTF8_CLEAN_ROOM(sizeof(conditions->clock_source))];
    number_frequency(clock, sizeof(clock), conditions->clock_hz);
    number_frequency(error, sizeof(error), conditions->clock_error_hz);
    terminal_text(source, sizeof(source), conditions->clock_source);
    bool has_error = conditions->clock_error_hz > 0, has_source = source[0] != '\0';
    note(layout, "time: at %s%s%s%s%s%s%s%s", clock, has_error ? " " : "",
         has_error ? terminal_or("±", "+-") : "", has_error ? " " : "", has_error ? error : "",
         has_source ? " (" : "", source, has_source ? ")" : "");
}

static void add_bound(char *text, const struct column *column, bool alone)
{
    char bound[NUMBER_ROOM], hits[NUMBER_ROOM], all[NUMBER_ROOM], name[UTF8_CLEAN_ROOM(96)];
    size_t used = strlen(text);
    uint64_t n = statistics_count(column->statistics) + column->at_least;
    terminal_text(name, sizeof name, column->name);
    number_unsigned(hits, sizeof hits, column->at_least);
    number_unsigned(all, sizeof all, n);
    number_unsigned(bound, sizeof bound, column->at_least_max);
    used += (size_t)snprintf(text + used, NOTE - used, alone ? "%s: %s of %s hit%s" : "%s %s of %s hit%s",
                             name, hits, all, n == 1 ? "" : "s");
    if (column->at_least_max > 0 && used < NOTE)
        snprintf(text + used, NOTE - used, " (highest: at least %s)", bound);
}

/* Hits with only a lower bound. Columns with counters of the same width share a sentence. */
static void note_bounds(const struct layout *layout, const struct summary *summary)
{
    bool told[RESULT_COLUMNS] = {false};
    for (size_t i = 0; i < summary->n; i++) {
        const struct column *first = &summary->columns[i];
        char text[NOTE] = "", bits[32] = "";
        size_t n = 0;
        if (told[i] || first->at_least == 0)
            continue;
        if (first->bits > 0)
            snprintf(bits, sizeof bits, "%u-bit ", first->bits);
        for (size_t k = i; k < summary->n; k++)
            n += summary->columns[k].at_least > 0 && summary->columns[k].bits == first->bits;
        for (size_t k = i; k < summary->n; k++) {
            const struct column *column = &summary->columns[k];
            size_t used = strlen(text);
            if (column->at_least == 0 || column->bits != first->bits)
                continue;
            snprintf(text + used, sizeof text - used, "%s", k > i ? ", " : "");
            add_bound(text, column, n == 1);
            told[k] = true;
        }
        if (n == 1)
            note(layout, "%s may have overflowed the %scounter and %s not included", text, bits,
                 first->at_least == 1 ? "is" : "are");
        else
            note(layout, "May have overflowed the %scounter and are not included: %s", bits, text);
    }
}

static bool has_two_middles(const struct statistics *statistics)
{
    uint64_t n = statistics_count(statistics);
    bool exact = false;
    uint64_t low = statistics_quantile(statistics, 0.5, &exact);
    double next = ((double)n / 2 + 0.5) / (double)n;
    return exact && n > 0 && n % 2 == 0 && statistics_quantile(statistics, next, NULL) != low;
}

static void print_notes(const struct layout *layout, const struct summary *summary, const struct table *table)
{
    bool differ = false, uncertain = false, unmeasured = false, added = false, middles = false, near = false;
    for (size_t i = 0; i < summary->n; i++) {
        const struct column *column = &summary->columns[i];
        bool exact = true;
        if (statistics_count(column->statistics) == 0)
            continue;
        differ = differ || statistics_deviation(column->statistics) > 0;
        uncertain = uncertain || (column->calibrated && column->plus_minus > 0);
        added = added || (column->calibrated && fabs(column->overhead) >= 0.05);
        unmeasured = unmeasured || !column->calibrated;
        middles = middles || has_two_middles(column->statistics);
        statistics_quantile(column->statistics, 0.5, &exact);
        near = near || !exact;
    }
    bool unresolved = false, time = false;
    for (size_t i = 0; i < table->n; i++) {
        unresolved = unresolved || table->rows[i].unresolved;
        time = time || strcmp(table->rows[i].cells[NAME], "time") == 0;
    }
    if (differ || uncertain || added || unmeasured || time)
        fputc('\n', layout->out);
    const struct {
        bool needed;
        const char *words;
    } legend[] = {{differ, "sd: standard deviation of the hits;"},
                  {uncertain, "per hit: how far one hit may be off, as halts differ in what they cost;"},
                  {added, "overhead: what a halt adds to a hit, already removed;"},
                  {unmeasured, "?: the overhead was not measured, and what a halt adds is in the counts;"},
                  {unresolved, "not resolved: the count is not above its own uncertainty;"},
                  {middles, "median: the lower of the two middle hits;"},
                  {near, "median, p90 and p99: to 0.1 %;"}};
    char text[NOTE] = "";
    for (size_t i = 0, used = 0; i < sizeof legend / sizeof *legend; i++)
        if (legend[i].needed)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", used > 0 ? " " : "",
                                     legend[i].words);
    if (text[0] != '\0')
        text[strlen(text) - 1] = '\0';
    note(layout, "%s", text);
    if (time)
        note_clock(layout, &summary->conditions);
    note_bounds(layout, summary);
}

static void print_part(struct layout *layout, const struct table *table, bool fewer)
{
    lay_out(layout, table, fewer);
    if (!layout->folded || layout->columns < TERMINAL_COLUMNS) {
        print_rows(layout, table, fewer);
        return;
    }
    struct table shorter = *table;
    shorten(&shorter);
    lay_out(layout, &shorter, fewer);
    if (layout->folded)
        lay_out(layout, table, fewer);
    print_rows(layout, layout->folded ? table : &shorter, fewer);
}

static void print_table(FILE *out, const struct summary *summary, size_t columns)
{
    struct table table = {0};
    struct layout layout = {.out = out, .columns = columns};
    size_t fewer = 0, whole = 0;
    fill(&table, summary);
    for (size_t i = 0; i < table.n; i++) {
        fewer += table.rows[i].fewer;
        whole += !table.rows[i].fewer && table.rows[i].cells[MEDIAN][0] != '\0';
    }
    print_part(&layout, &table, false);
    if (fewer > 0 && table.n > fewer)
        fputc('\n', out);
    if (fewer > 1 || (fewer > 0 && whole > 0))
        fold_text(out, columns, INDENT,
                  "Each row below covers different hits and is not part of any other row:");
    if (fewer > 0)
        print_part(&layout, &table, true);
    print_notes(&layout, summary, &table);
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
    print_table(out, summary, columns);
    if (summary->n > 0)
        fputc('\n', out);
    footer_print(out, summary, columns);
    fold_text(out, columns, INDENT, terminal_text(clean, sizeof clean, summary->disagreement));
    fflush(out);
}

void text_summary(FILE *out, const struct summary *summary)
{
    text_summary_within(out, summary, terminal_columns(out));
}

#include "report/survey.h"

#include "base/deadline.h"
#include "report/json.h"
#include "report/number.h"
#include "report/terminal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* From here on a digit less is printed, or a mark. */
static const double VAGUE_SHARE = 0.02, VAGUE_RATE = 0.2;

/* --- what is known of all calls ------------------------------------------------------------------------- */

/* Of a mean, by the sum of the squares of n deviations. */
static double two_errors(double squares, double n)
{
    return squares > 0 ? 2 * sqrt(squares / (n - 1) / n) : 0;
}

/* A turn may be shorter than the time between two bursts of calls, so that no period has that. Then the part
 * of the turns that began within a burst is the part of the time that bursts take, by Laplace's rule. A
 * single turn says nothing of it. */
static double part_in_bursts(const struct periods *periods, double *most)
{
    size_t n = periods->n_waits < PERIODS_WAITS ? periods->n_waits : PERIODS_WAITS, within = 0;
    for (size_t i = 0; i < n; i++)
        within += periods->waits[i] / 2 <= periods->longest;
    *most = 1;
    if (within == n)
        return 1;
    double part = ((double)within + 0.5) / ((double)n + 1);
    double error = sqrt(part * (1 - part) / ((double)n + 1));
    *most = fmin(1, part + 2 * error + 1.5 / ((double)n + 1));
    return part;
}

static void correct_for_bursts(const struct periods *periods, struct survey_rate *rate)
{
    double most, part = part_in_bursts(periods, &most), dense = rate->share;
    rate->bursts = periods->has_waits && (part < 1 || periods->n_waits == 0);
    if (!rate->bursts)
        return;
    rate->share *= part;
    if (periods->share_most > 0 && rate->share > periods->share_most)
        rate->share = periods->share_most;
    rate->plus_minus = fmax(rate->plus_minus * part, fmax(dense * most - rate->share, rate->share));
    rate->per_second *= part;
    rate->doubt = fmax(rate->doubt, fmax(most / part - 1, 1));
}

struct survey_rate survey_rate(const struct summary *summary)
{
    struct survey_rate rate = {.share = NAN, .plus_minus = NAN, .per_second = NAN, .doubt = NAN};
    if (summary == NULL || summary->periods.n < 2 || summary->periods.cycles == 0)
        return rate;
    const struct periods *periods = &summary->periods;
    double hz = summary->conditions.clock_hz;
    rate.share_at_most = periods->at_least && !periods->inside_at_least;
    rate.share_at_least = periods->inside_at_least && !periods->at_least;
    double n = (double)periods->n, cycles = (double)periods->cycles;
    double share = (double)periods->inside / cycles;
    rate.doubt = two_errors(periods->cycles2 - cycles * cycles / n, n) * n / cycles;
    rate.per_second_at_most = periods->at_least;
    if (hz > 0)
        rate.per_second = (double)periods->n * hz / (double)periods->cycles;
    if (!periods->at_least || !periods->inside_at_least) {
        rate.share = share;
        rate.plus_minus =
            two_errors(periods->inside2 - 2 * share * periods->product + share * share * periods->cycles2,
                       n) *
            n / cycles;
    }
    correct_for_bursts(periods, &rate);
    return rate;
}

static bool rate_is_vague(const struct survey_rate *rate)
{
    return !isnan(rate->per_second) && (rate->bursts || rate->doubt > VAGUE_RATE) &&
           !rate->per_second_at_most;
}

static bool share_is_vague(const struct survey_rate *rate)
{
    return !isnan(rate->share) && (rate->bursts || rate->plus_minus > VAGUE_SHARE) && !rate->share_at_most &&
           !rate->share_at_least;
}

void survey_rate_texts(const struct summary *summary, char *rate, char *share)
{
    struct survey_rate all = survey_rate(summary);
    char number[NUMBER_ROOM];
    rate[0] = share[0] = '\0';
    if (!isnan(all.per_second))
        snprintf(rate, NUMBER_ROOM, "%s%s",
                 all.per_second_at_most ? "<"
                 : rate_is_vague(&all)  ? "~"
                                        : "",
                 number_decimal(number, sizeof number, all.per_second, all.per_second < 9.95 ? 1 : 0));
    if (isnan(all.share) || (all.share < 0.0005 && all.share_at_least))
        return;
    if (all.share < 0.0005)
        snprintf(share, NUMBER_ROOM, "<0.1 %%");
    else if (share_is_vague(&all))
        snprintf(share, NUMBER_ROOM, "~%.0f %%", 100 * all.share);
    else
        snprintf(share, NUMBER_ROOM, "%s%.1f %%",
                 all.share_at_most    ? "<"
                 : all.share_at_least ? ">"
                                      : "",
                 100 * all.share);
}

const struct verdict_line *survey_check(const struct survey_row *row, size_t i)
{
    if (row->budget != NULL && i-- == 0)
        return row->budget;
    return row->comparison != NULL && i < row->comparison->n ? &row->comparison->lines[i] : NULL;
}

enum verdict survey_verdict(const struct survey *survey)
{
    enum verdict verdict = VERDICT_PASS;
    size_t n = 0;
    const struct verdict_line *line;
    for (size_t i = 0; i < survey->n; i++)
        for (size_t k = 0; (line = survey_check(&survey->rows[i], k)) != NULL; k++, n++)
            verdict = verdict_both(verdict, line->verdict);
    return n > 0 ? verdict : VERDICT_INCONCLUSIVE;
}

bool survey_has_hits(const struct survey_row *row)
{
    return row->summary != NULL && row->summary->hits > 0;
}

static double rank_of(const struct survey_row *row)
{
    double share = survey_rate(row->summary).share;
    return !survey_has_hits(row) ? -2 : isnan(share) ? -1 : share;
}

struct ranked {
    struct survey_row row;
    double rank;
    size_t at;
};

static int by_rank(const void *a, const void *b)
{
    const struct ranked *left = a, *right = b;
    if (left->rank != right->rank)
        return left->rank < right->rank ? 1 : -1;
    return left->at < right->at ? -1 : left->at > right->at;
}

bool survey_sort(struct survey *survey)
{
    struct ranked *ranked = calloc(survey->n + 1, sizeof *ranked);
    if (ranked == NULL)
        return false;
    for (size_t i = 0; i < survey->n; i++)
        ranked[i] = (struct ranked){.row = survey->rows[i], .rank = rank_of(&survey->rows[i]), .at = i};
    qsort(ranked, survey->n, sizeof *ranked, by_rank);
    for (size_t i = 0; i < survey->n; i++)
        survey->rows[i] = ranked[i].row;
    free(ranked);
    return true;
}

/* --- the table ------------------------------------------------------------------------------------------ */

enum { HITS, MEDIAN, EACH, MIN, MAX, P99, RATE, SHARE, CELLS };
enum {
    CELL = NUMBER_ROOM + 8,
    NAME = UTF8_CLEAN_ROOM(160),
    GAP = 2,
    INDENT = 2,
    DEEP = 4,
    TEXT = 1024,
    TELLING = 8,
    LISTED = 4 /* functions that were not reached: so many have lines of their own */
};

static const char *const heading[CELLS] = {"hits", "median", "+-", "min", "max", "p99", "calls/s", "share"};

struct cells {
    char text[CELLS][CELL];
};

struct layout {
    FILE *out;
    size_t columns, name, width[CELLS];
    size_t unreached;
    bool folds; /* those that were not reached have no lines */
};

static bool is_unreached(const struct survey_row *row)
{
    return !survey_has_hits(row) && row->why[0] == '\0';
}

static bool has_line(const struct layout *layout, const struct survey_row *row)
{
    return !layout->folds || !is_unreached(row);
}

static const char *plus_minus(void)
{
    return terminal_or("±", "+-");
}

static const char *heading_of(size_t cell)
{
    return cell == EACH ? plus_minus() : heading[cell];
}

/* False: nothing was counted. */
static bool fill(const struct survey_row *row, size_t which, struct cells *cells)
{
    *cells = (struct cells){0};
    if (!survey_has_hits(row) || which >= row->summary->n)
        return false;
    const struct column *column = &row->summary->columns[which];
    const struct statistics *statistics = column->statistics;
    if (column->unsupported[0] != '\0' || statistics_count(statistics) == 0)
        return false;
    number_unsigned(cells->text[HITS], CELL, statistics_count(statistics));
    number_unsigned(cells->text[MEDIAN], CELL, statistics_quantile(statistics, 0.5, NULL));
    snprintf(cells->text[EACH], CELL, "?");
    if (column->calibrated)
        number_decimal(cells->text[EACH], CELL, ceil(column->plus_minus - 1e-6), 0);
    number_unsigned(cells->text[MIN], CELL, statistics_min(statistics));
    number_unsigned(cells->text[MAX], CELL, statistics_max(statistics));
    number_unsigned(cells->text[P99], CELL, statistics_quantile(statistics, 0.99, NULL));
    if (which == 0)
        survey_rate_texts(row->summary, cells->text[RATE], cells->text[SHARE]);
    return true;
}

void survey_none_text(const struct survey_row *row, char *out, size_t size)
{
    char time[NUMBER_ROOM];
    if (row->why[0] != '\0')
        snprintf(out, size, "<not measured>");
    else
        snprintf(out, size, row->waited_s > 0 ? "<not reached> in %s" : "<not reached>",
                 number_elapsed(time, sizeof time, row->waited_s));
}

/* Why this row has no number. */
static void describe_none(const struct survey_row *row, size_t which, char *out, size_t size)
{
    char clean[UTF8_CLEAN_ROOM(256)];
    const struct column *column =
        survey_has_hits(row) && which < row->summary->n ? &row->summary->columns[which] : NULL;
    if (column == NULL && row->why[0] == '\0')
        survey_none_text(row, out, size);
    else if (column == NULL)
        snprintf(out, size, "<not measured>: %s", terminal_text(clean, sizeof clean, row->why));
    else if (column->unsupported[0] != '\0')
        snprintf(out, size, "<not supported>: %s", terminal_text(clean, sizeof clean, column->unsupported));
    else if (column->at_least > 0)
        number_unsigned(out + snprintf(out, size, "longest hit: at least "), NUMBER_ROOM,
                        column->at_least_max);
    else
        snprintf(out, size, "<not counted>: %s",
                 row->summary->tainted == row->summary->hits ? "all hits tainted" : "no hit that counts");
}

static void lay_out(struct layout *layout, const struct survey *survey, size_t which)
{
    char name[NAME];
    struct cells cells;
    size_t used = 0;
    layout->unreached = 0;
    memset(layout->width, 0, sizeof layout->width);
    layout->name = strlen("function");
    for (size_t i = 0; i < survey->n; i++)
        layout->unreached += is_unreached(&survey->rows[i]);
    layout->folds = layout->unreached > LISTED;
    for (size_t i = 0; i < survey->n; i++) {
        if (!has_line(layout, &survey->rows[i]))
            continue;
        size_t width = utf8_width(terminal_text(name, sizeof name, survey->rows[i].name));
        layout->name = width > layout->name ? width : layout->name;
        if (!fill(&survey->rows[i], which, &cells))
            continue;
        for (size_t cell = 0; cell < CELLS; cell++) {
            width = utf8_width(cells.text[cell]);
            size_t least = width > 0 ? utf8_width(heading_of(cell)) : 0;
            width = width > least ? width : least;
            layout->width[cell] = width > layout->width[cell] ? width : layout->width[cell];
        }
    }
    for (size_t cell = 0; cell < CELLS; cell++)
        used += layout->width[cell] > 0 ? GAP + layout->width[cell] : 0;
    if (layout->name + used > layout->columns)
        layout->name = layout->columns > used + INDENT ? layout->columns - used : INDENT;
}

/* A name that is too long has a line of its own. */
static void put_name(const struct layout *layout, const char *name)
{
    size_t width = utf8_width(name);
    fputs(name, layout->out);
    if (width > layout->name)
        fprintf(layout->out, "\n%*s", (int)layout->name, "");
    else
        fprintf(layout->out, "%*s", (int)(layout->name - width), "");
}

static void put_line(const struct layout *layout, const char *name, const struct cells *cells)
{
    size_t owed = 0;
    put_name(layout, name);
    for (size_t cell = 0; cell < CELLS; cell++) {
        const char *text = cells == NULL ? heading_of(cell) : cells->text[cell];
        if (layout->width[cell] == 0)
            continue;
        size_t width = utf8_width(text);
        owed += GAP + layout->width[cell] - width;
        if (width == 0)
            continue;
        fprintf(layout->out, "%*s%s", (int)owed, "", text);
        owed = 0;
    }
    fputc('\n', layout->out);
}

static void put_row(const struct layout *layout, const struct survey_row *row, size_t which)
{
    char name[NAME], text[TEXT];
    struct cells cells;
    terminal_text(name, sizeof name, row->name);
    if (fill(row, which, &cells)) {
        put_line(layout, name, &cells);
        return;
    }
    if (!has_line(layout, row) || (which > 0 && !survey_has_hits(row))) /* the first table has told it */
        return;
    describe_none(row, which, text, sizeof text);
    put_name(layout, name);
    fprintf(layout->out, "%*s", GAP, "");
    fold_text_at(layout->out, layout->columns, layout->name + GAP, layout->name + GAP, text);
}

static void put_unreached(const struct layout *layout, const struct survey *survey)
{
    struct fold fold = {.out = layout->out, .columns = layout->columns, .indent = INDENT};
    char name[NAME], piece[NAME + 1], text[64];
    size_t left = layout->unreached;
    if (!layout->folds)
        return;
    struct survey_row least = {.why = "", .waited_s = INFINITY};
    for (size_t i = 0; i < survey->n; i++)
        if (is_unreached(&survey->rows[i]))
            least.waited_s = fmin(least.waited_s, survey->rows[i].waited_s);
    survey_none_text(&least, text, sizeof text);
    snprintf(piece, sizeof piece, "%s%s:", text, least.waited_s > 0 ? " and more" : "");
    fold_put(&fold, piece, 0);
    for (size_t i = 0; i < survey->n; i++) {
        if (!is_unreached(&survey->rows[i]))
            continue;
        terminal_text(name, sizeof name, survey->rows[i].name);
        snprintf(piece, sizeof piece, "%s%s", name, --left > 0 ? "," : "");
        fold_put(&fold, piece, 1);
    }
    fold_end(&fold);
}

const struct summary *survey_first(const struct survey *survey)
{
    for (size_t i = 0; i < survey->n; i++)
        if (survey_has_hits(&survey->rows[i]))
            return survey->rows[i].summary;
    return NULL;
}

static void put_metrics(const struct layout *layout, const struct survey *survey)
{
    for (size_t i = 0; i < survey->n; i++) {
        const struct summary *summary = survey->rows[i].summary;
        char name[NAME], value[NUMBER_ROOM], piece[256];
        struct fold fold = {.out = layout->out, .columns = layout->columns, .indent = INDENT};
        if (!survey_has_hits(&survey->rows[i]))
            continue;
        fold_put(&fold, terminal_text(name, sizeof name, survey->rows[i].name), 0);
        for (size_t k = 0; k < summary->n_metrics; k++) {
            const struct metric_result *metric = &summary->metrics[k];
            snprintf(value, sizeof value, "%.4g", metric->value);
            snprintf(piece, sizeof piece, "%.96s %s%s%.16s", metric->name,
                     isfinite(metric->value) ? value : "<not counted>", metric->unit[0] != '\0' ? " " : "",
                     isfinite(metric->value) ? metric->unit : "");
            fold_put(&fold, piece, 3);
        }
        fold_end(&fold);
    }
}

static void put_legend(const struct layout *layout, const struct survey *survey)
{
    bool unmeasured = false, shares = false, rates = false, bounds = false, vague = false;
    for (size_t i = 0; i < survey->n; i++) {
        if (!survey_has_hits(&survey->rows[i]))
            continue;
        const struct summary *summary = survey->rows[i].summary;
        struct survey_rate rate = survey_rate(summary);
        unmeasured = unmeasured || !summary->columns[0].calibrated;
        shares = shares || !isnan(rate.share);
        rates = rates || !isnan(rate.per_second);
        vague = vague || share_is_vague(&rate) || rate_is_vague(&rate);
        bounds = bounds || (!isnan(rate.share) && (rate.share_at_most || rate.share_at_least));
    }
    char text[TEXT];
    snprintf(text, sizeof text, "%s: how far one hit may be off, as halts differ in what they cost%s%s%s%s%s",
             plus_minus(), unmeasured ? "; ?: what a halt adds was not measured, and is in the counts" : "",
             shares ? "; share: of all cycles, from call to call, with what it calls and what interrupts it"
                    : "",
             rates ? "; calls/s: at the core's clock" : "",
             vague ? "; ~: from so few or so different calls that it is vague" : "",
             bounds ? "; < and >: the counter may have wrapped unseen" : "");
    fputc('\n', layout->out);
    fold_text(layout->out, layout->columns, INDENT, text);
}

/* What a single region's summary says below its table, in so far as numbers depend on it. */
bool survey_remark(const struct survey_row *row, char *out, size_t size)
{
    char clean[UTF8_CLEAN_ROOM(256)], tainted[64] = "", bounded[96] = "", hits[NUMBER_ROOM];
    size_t used = 0;
    out[0] = '\0';
    if (!survey_has_hits(row))
        return false;
    const struct summary *summary = row->summary;
    const struct column *cycles = &summary->columns[0];
    if (summary->tainted > 0)
        snprintf(tainted, sizeof tainted, "%s tainted hits left out",
                 number_unsigned(hits, sizeof hits, summary->tainted));
    if (cycles->at_least > 0 && statistics_count(cycles->statistics) > 0)
        snprintf(bounded, sizeof bounded, "%s hits may have overflowed the counter, not included",
                 number_unsigned(hits, sizeof hits, cycles->at_least));
    const char *const parts[] = {
        terminal_text(clean, sizeof clean, summary->conditions.note),
        tainted,
        bounded,
        survey_rate(summary).bursts ? "its turns may have met one burst of calls each: a longer --for says "
                                      "more"
                                    : "",
        summary->slept ? "the core was seen asleep" : "",
        summary->disagreement,
        row->why,
    };
    for (size_t k = 0; k < sizeof parts / sizeof *parts && used < size; k++)
        if (parts[k][0] != '\0')
            used += (size_t)snprintf(out + used, size - used, "%s%s", used > 0 ? "; " : "", parts[k]);
    return used > 0;
}

static void put_remarks(const struct layout *layout, const struct survey *survey)
{
    size_t told = 0;
    for (size_t i = 0; i < survey->n && told < TELLING; i++) {
        const struct survey_row *row = &survey->rows[i];
        char name[NAME], remark[TEXT], text[NAME + TEXT];
        if (!survey_remark(row, remark, sizeof remark))
            continue;
        snprintf(text, sizeof text, "%s: %s", terminal_text(name, sizeof name, row->name), remark);
        fold_text(layout->out, layout->columns, INDENT, text);
        told++;
    }
}

static void put_end(const struct layout *layout, const struct survey *survey)
{
    char text[TEXT], time[NUMBER_ROOM], clean[UTF8_CLEAN_ROOM(256)], clock[NUMBER_ROOM];
    size_t reached = 0, refused = 0;
    for (size_t i = 0; i < survey->n; i++) {
        reached += survey_has_hits(&survey->rows[i]);
        refused += !survey_has_hits(&survey->rows[i]) && survey->rows[i].why[0] != '\0';
    }
    int wrote = snprintf(text, sizeof text, "%zu of %zu functions reached", reached, survey->n);
    size_t used = wrote > 0 ? (size_t)wrote : 0;
    if (refused > 0)
        used += (size_t)snprintf(text + used, sizeof text - used, ", %zu not measured", refused);
    used += (size_t)snprintf(text + used, sizeof text - used, ", in %s",
                             number_elapsed(time, sizeof time, survey->seconds));
    if (survey->conditions.clock_hz > 0)
        used += (size_t)snprintf(text + used, sizeof text - used, ", at %s",
                                 number_frequency(clock, sizeof clock, survey->conditions.clock_hz));
    if (survey->conditions.clock_change[0] != '\0')
        used += (size_t)snprintf(text + used, sizeof text - used, "; no times: %s",
                                 survey->conditions.clock_change);
    if (survey->ended[0] != '\0')
        snprintf(text + used, sizeof text - used, "; it ended early: %s",
                 terminal_text(clean, sizeof clean, survey->ended));
    fold_text(layout->out, layout->columns, INDENT, text);
}

void survey_table(FILE *out, const struct survey *survey, size_t columns)
{
    struct layout layout = {.out = out, .columns = columns};
    const struct summary *first = survey_first(survey);
    for (size_t which = 0; which < (first != NULL ? first->n : 1); which++) {
        char name[NAME];
        lay_out(&layout, survey, which);
        fputc('\n', out);
        terminal_text(name, sizeof name, first != NULL ? first->columns[which].name : "");
        if (first != NULL && first->n > 1)
            fprintf(out, "%s\n", name);
        if (first != NULL)
            put_line(&layout, "function", NULL);
        for (size_t i = 0; i < survey->n; i++)
            put_row(&layout, &survey->rows[i], which);
        if (which == 0)
            put_unreached(&layout, survey);
    }
    if (first != NULL && first->n_metrics > 0) {
        fputc('\n', out);
        put_metrics(&layout, survey);
    }
    if (first != NULL) {
        put_legend(&layout, survey);
        put_remarks(&layout, survey);
    } else {
        fputc('\n', out);
    }
    put_end(&layout, survey);
    fflush(out);
}

/* --- verdicts ------------------------------------------------------------------------------------------- */

static enum colour colour_of(enum verdict verdict)
{
    return verdict == VERDICT_PASS ? COLOUR_GOOD : verdict == VERDICT_REGRESSED ? COLOUR_BAD : COLOUR_ODD;
}

/* "over the budget", "regressed (threshold 2 %)", "inconclusive: not reached" */
void survey_describe(const struct survey_row *row, const struct verdict_line *line, char *out, size_t size)
{
    char threshold[NUMBER_ROOM] = "", part[NUMBER_ROOM];
    bool over = line->verdict == VERDICT_REGRESSED, is_budget = line == row->budget;
    if (!is_budget && (over || line->verdict == VERDICT_PASS))
        snprintf(threshold, sizeof threshold, " (threshold %s)",
                 number_part(part, row->comparison->threshold));
    snprintf(out, size, "%s%s%s%.384s", is_budget && over ? "over the budget" : verdict_name(line->verdict),
             threshold, line->why[0] != '\0' ? ": " : "", line->why);
}

/* "1,105", "1,200 -> 1,236 +3.00 %" */
void survey_numbers(const struct verdict_line *line, bool is_budget, char *out, size_t size)
{
    char before[NUMBER_ROOM] = "-", after[NUMBER_ROOM] = "-", change[NUMBER_ROOM];
    bool of_max = is_budget && strncmp(line->name, "max", 3) == 0;
    if (line->now.n > 0)
        number_mean(after, of_max ? (double)line->now.max : line->now.mean);
    if (is_budget) {
        snprintf(out, size, "%s", after);
        return;
    }
    if (line->base.n > 0)
        number_mean(before, line->base.mean);
    number_change(change, line->change);
    snprintf(out, size, "%s -> %s%s%s", before, after, change[0] != '\0' ? " " : "", change);
}

void survey_print_checks(FILE *out, const struct survey *survey, size_t columns)
{
    size_t counts[4] = {0}, n = 0;
    const struct verdict_line *line;
    fputc('\n', out);
    for (size_t i = 0; i < survey->n; i++)
        for (size_t k = 0; (line = survey_check(&survey->rows[i], k)) != NULL; k++) {
            char name[NAME], what[UTF8_CLEAN_ROOM(96)], numbers[3 * NUMBER_ROOM], verdict[TEXT],
                text[2 * TEXT];
            bool is_budget = line == survey->rows[i].budget;
            terminal_text(name, sizeof name, survey->rows[i].name);
            survey_numbers(line, is_budget, numbers, sizeof numbers);
            survey_describe(&survey->rows[i], line, verdict, sizeof verdict);
            snprintf(text, sizeof text, "%s: %s: %s: %s", name, terminal_text(what, sizeof what, line->name),
                     numbers, verdict);
            fputs(terminal_colour(out, colour_of(line->verdict)), out);
            fold_text(out, columns, DEEP, text);
            fputs(terminal_colour(out, COLOUR_END), out);
            counts[line->verdict]++;
            n++;
        }
    fprintf(out, "verdict: %s", verdict_name(survey_verdict(survey)));
    if (n == 0)
        fputs(", there is nothing to judge", out);
    for (size_t i = 0, told = 0; n > 0 && i < 4; i++)
        if (counts[i] > 0)
            fprintf(out, "%s%zu %s", told++ > 0 ? ", " : "; ", counts[i], verdict_name((enum verdict)i));
    fputc('\n', out);
    fflush(out);
}

/* --- JSON lines ----------------------------------------------------------------------------------------- */

bool survey_json_header(FILE *out, const struct conditions *conditions, const struct column *columns,
                        size_t n)
{
    struct json_part header = json_header_part(JSON_SCHEMA_2, conditions, columns, n, deadline_wall_s());
    json_part_text(&header, "command", "survey");
    return json_part_write(out, header);
}

static void put_budget(struct json_part *line, const struct survey_row *row)
{
    struct json_part budget = json_part_new(NULL);
    if (row->budget != NULL) {
        json_part_text(&budget, "budget", row->budget->name);
        json_part_text(&budget, "verdict", verdict_name(row->budget->verdict));
        json_part_real(&budget, "change", row->budget->change);
        json_part_text(&budget, "why", row->budget->why);
    }
    json_part_object(line, "budget", budget);
}

static bool write_region(FILE *out, const struct survey_row *row)
{
    struct json_part line = json_part_new("region");
    json_part_text(&line, "name", row->name);
    if (!survey_has_hits(row)) {
        json_part_bool(&line, "reached", false);
        json_part_text(&line, "why", row->why);
        if (row->why[0] == '\0' && row->waited_s > 0)
            json_part_real(&line, "waited_s", row->waited_s);
        put_budget(&line, row);
        return json_part_write(out, line);
    }
    struct survey_rate rate = survey_rate(row->summary);
    json_part_bool(&line, "reached", true);
    json_part_text(&line, "why", row->why);
    json_part_object(&line, "region", json_region_part(&row->summary->conditions));
    json_part_text(&line, "note", row->summary->conditions.note);
    json_summary_fill(&line, row->summary);
    json_part_real(&line, "calls_per_second", rate.per_second);
    json_part_real(&line, "share", rate.share);
    json_part_real(&line, "share_plus_minus", rate.plus_minus);
    struct json_part periods = json_part_new(NULL);
    if (row->summary->periods.n > 0) {
        json_part_unsigned(&periods, "count", row->summary->periods.n);
        json_part_unsigned(&periods, "cycles", row->summary->periods.cycles);
        json_part_unsigned(&periods, "inside", row->summary->periods.inside);
        if (row->summary->periods.at_least)
            json_part_bool(&periods, "cycles_at_least", true);
        if (row->summary->periods.inside_at_least)
            json_part_bool(&periods, "inside_at_least", true);
        if (rate.bursts)
            json_part_bool(&periods, "in_bursts", true);
    }
    json_part_object(&line, "periods", periods);
    put_budget(&line, row);
    return json_part_write(out, line);
}

bool survey_json(FILE *out, const struct survey *survey)
{
    size_t reached = 0;
    for (size_t i = 0; i < survey->n; i++) {
        if (!write_region(out, &survey->rows[i]) ||
            (survey->rows[i].comparison != NULL && !comparison_json(out, survey->rows[i].comparison)))
            return false;
        reached += survey_has_hits(&survey->rows[i]);
    }
    struct json_part line = json_part_new("summary");
    json_part_unsigned(&line, "regions", survey->n);
    json_part_unsigned(&line, "reached", reached);
    json_part_real(&line, "seconds", survey->seconds);
    json_part_text(&line, "ended", survey->ended);
    json_part_text(&line, "clock_change", survey->conditions.clock_change);
    if (survey->judged)
        json_part_text(&line, "verdict", verdict_name(survey_verdict(survey)));
    return json_part_write(out, line);
}

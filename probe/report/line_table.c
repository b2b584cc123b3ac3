#include "report/line_table.h"

#include "report/json.h"
#include "report/number.h"
#include "report/profile_notes.h"
#include "report/terminal.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { NAME = 256, TEXT = 512, LEAST = 16, WIDTH = 54 };

/* The sum of the lines, and the measurement of the function itself. */
struct check {
    double sum, own, not_attributed;
    double halts, calls; /* what the costs of the halts and the calls' own variation leave open */
    double tolerance;    /* both, the calls twice: beyond it is not chance */
    bool known, agrees;
};

static double standard_error(const struct statistics *statistics)
{
    uint64_t n = statistics_count(statistics);
    return n > 1 ? statistics_deviation(statistics) / sqrt((double)n) : 0;
}

static struct check check_sum(const struct line_report *report)
{
    const struct line_costs *costs = report->costs;
    const struct column *own = &report->whole->columns[0];
    struct check check = {.sum = costs->sum};
    check.known = report->whole->n > 0 && statistics_count(own->statistics) > 0 && own->at_least == 0;
    if (!check.known)
        return check;
    check.own = statistics_mean(own->statistics);
    check.not_attributed = check.own - check.sum;
    check.halts = costs->correction + own->plus_minus;
    check.calls = 2 * hypot(standard_error(costs->totals), standard_error(own->statistics));
    check.tolerance = check.halts + 2 * check.calls;
    check.agrees = fabs(check.not_attributed) <= check.tolerance + 0.005;
    return check;
}

static const char *text_of(const struct line_report *report, const struct line_cost *line)
{
    const char *text =
        line->file != LISTING_NO_FILE ? source_text_line(&report->texts[line->file], line->line) : NULL;
    return text != NULL ? text : "";
}

static size_t count_lines(const struct line_costs *costs, bool (*is)(const struct line_cost *))
{
    size_t n = 0;
    for (size_t i = 0; i < costs->n; i++)
        n += is(&costs->lines[i]);
    return n;
}

static bool is_mixed(const struct line_cost *line)
{
    return line->is_mixed && line->hits > 0;
}

static bool is_caller(const struct line_cost *line)
{
    return line->has_calls && line->hits > 0;
}

static bool is_inlined(const struct line_cost *line)
{
    return line->is_inlined && line->hits > 0;
}

static bool is_short(const struct line_cost *line)
{
    return line->instructions == 1 && line->hits > 0;
}

static bool is_disturbed(const struct line_cost *line)
{
    return line->is_disturbed;
}

/* Lines whose code, or some of it, counts as another line's: see blocks.c. */
static void note_it_lines(const struct listing *listing, struct profile_notes *notes)
{
    const struct listing_row *it = NULL, *told = NULL;
    char list[160] = "";
    size_t used = 0, n = 0;
    for (size_t i = 0; i < listing->n; i++) {
        const struct listing_row *row = &listing->rows[i];
        it = row->in_it ? it : row;
        if (!row->in_it || it == NULL || row->line == 0 || (row->line == it->line && row->file == it->file) ||
            (told != NULL && told->line == row->line))
            continue;
        told = row;
        n++;
        if (used + 16 < sizeof list)
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%u", n > 1 ? ", " : "", row->line);
    }
    if (n > 0)
        profile_notes_add(
            notes,
            "conditions of an IT: code of line%s %s counts in the line of the IT; no core is sure "
            "to stop between them",
            n == 1 ? "" : "s", list);
}

static void make_notes(const struct line_report *report, const struct check *check,
                       struct profile_notes *notes)
{
    const struct line_costs *costs = report->costs;
    char number[NUMBER_ROOM], other[NUMBER_ROOM];
    size_t n;
    if (check->known && !check->agrees)
        profile_notes_add(notes,
                          "warning: the lines and the function differ by %s cycles, which is more than "
                          "%s%s: the function behaves otherwise while it is stopped so often",
                          number_decimal(number, sizeof number, fabs(check->not_attributed), 2),
                          terminal_or("±", "+-"), number_decimal(other, sizeof other, check->tolerance, 2));
    if ((n = count_lines(costs, is_caller)) > 0)
        profile_notes_add(notes, "c: %zu line%s function%s; the time of what is called is in the line", n,
                          n == 1 ? " calls a" : "s call", n == 1 ? "" : "s");
    if ((n = count_lines(costs, is_inlined)) > 0)
        profile_notes_add(notes,
                          "i: %zu line%s of an inlined function; its code counts here, by its own lines", n,
                          n == 1 ? " is" : "s are");
    if ((n = count_lines(costs, is_mixed)) > 0)
        profile_notes_add(
            notes,
            "m: the compiler has mixed the instructions of %zu line%s with those of others; what "
            "one instruction waits for another is in the line where it waits",
            n, n == 1 ? "" : "s");
    if ((n = count_lines(costs, is_short)) > 0)
        profile_notes_add(notes,
                          "1: %zu line%s one instruction only; a stop before and behind it empties the "
                          "pipeline, so what it overlaps with others does not show",
                          n, n == 1 ? " has" : "s have");
    note_it_lines(report->listing, notes);
    if (costs->tainted > 0)
        profile_notes_add(notes,
                          "in %" PRIu64 " of %" PRIu64
                          " steps an interrupt ran that came while the core was halted; they count as hits, "
                          "not as cycles",
                          costs->tainted, costs->hops);
    if ((n = count_lines(costs, is_disturbed)) > 0)
        profile_notes_add(notes, "%zu line%s never measured without such an interrupt", n,
                          n == 1 ? " was" : "s were");
    if (costs->bounded > 0)
        profile_notes_add(notes, "the counter may have wrapped unseen in %" PRIu64 " steps", costs->bounded);
    if (report->unframed)
        profile_notes_add(notes,
                          "calls of the function inside another are not told apart everywhere: there is "
                          "no call frame information");
    if (report->ended[0] != '\0')
        profile_notes_add(notes, "it ended early: %s", report->ended);
}

/* ---- text */

static void print_cells(FILE *out, const char *const *cells, const char *text, size_t columns)
{
    char clean[UTF8_CLEAN_ROOM(TEXT)];
    bool reached = cells[2] != NULL;
    fprintf(out, "%6s  %7s  ", cells[0], cells[1]);
    if (reached)
        fprintf(out, "%8s  %9s  %8s", cells[2], cells[3], cells[4]);
    else
        fprintf(out, "%29s", "<not reached>");
    terminal_text(clean, sizeof clean, text);
    size_t most = columns > WIDTH + LEAST ? columns - WIDTH : LEAST, bytes = 0;
    for (size_t shown = 0; clean[bytes] != '\0'; bytes++)
        if (((unsigned char)clean[bytes] & 0xC0) != 0x80 && shown++ == most)
            break;
    while (bytes > 0 && clean[bytes - 1] == ' ')
        bytes--;
    size_t marks = strlen(cells[5]);
    while (bytes == 0 && marks > 0 && cells[5][marks - 1] == ' ')
        marks--;
    fprintf(out, "%s%.*s%s%.*s\n", marks > 0 ? "  " : "", (int)marks, cells[5], bytes > 0 ? "  " : "",
            (int)bytes, clean);
}

static void print_line(FILE *out, const struct line_report *report, const struct line_cost *line,
                       size_t columns)
{
    const struct line_costs *costs = report->costs;
    char number[16], hits[NUMBER_ROOM], per_call[NUMBER_ROOM], cycles[NUMBER_ROOM], share[NUMBER_ROOM];
    char marks[8];
    snprintf(number, sizeof number, "%u", line->line);
    snprintf(marks, sizeof marks, "%s%s%s%s", line->has_calls ? "c" : " ", line->is_inlined ? "i" : " ",
             line->is_mixed ? "m" : " ", line->instructions == 1 ? "1" : " ");
    const char *text = text_of(report, line);
    if (line->hits == 0) {
        const char *const cells[] = {line->line > 0 ? number : "(none)", "0", NULL, NULL, NULL, marks};
        print_cells(out, cells, text, columns);
        return;
    }
    number_unsigned(hits, sizeof hits, line->hits);
    number_mean(per_call, (double)line->hits / (double)costs->calls);
    if (statistics_count(line->calls) > 0)
        number_unsigned(cycles, sizeof cycles, statistics_quantile(line->calls, 0.5, NULL));
    else
        snprintf(cycles, sizeof cycles, "?");
    number_share(share, costs->sum > 0 ? line->mean / costs->sum : 0);
    const char *const cells[] = {line->line > 0 ? number : "(none)", hits, per_call, cycles, share, marks};
    print_cells(out, cells, text, columns);
}

static void print_sum(FILE *out, const struct line_report *report, const struct check *check, size_t columns)
{
    char sum[NUMBER_ROOM], calls[NUMBER_ROOM], own[NUMBER_ROOM], hits[NUMBER_ROOM], rest[NUMBER_ROOM];
    char halts[NUMBER_ROOM], varies[NUMBER_ROOM], text[TEXT];
    const char *sign = terminal_or("±", "+-");
    number_unsigned(calls, sizeof calls, report->costs->calls);
    number_decimal(sum, sizeof sum, check->sum, 2);
    snprintf(text, sizeof text, "sum of the lines: %s cycles per call, mean of %s call%s", sum, calls,
             report->costs->calls == 1 ? "" : "s");
    fputc('\n', out);
    fold_text(out, columns, 2, text);
    if (!check->known)
        return;
    number_decimal(own, sizeof own, check->own, 2);
    number_unsigned(hits, sizeof hits, report->whole->hits);
    number_decimal(rest, sizeof rest, check->not_attributed, 2);
    snprintf(text, sizeof text, "the function by itself, as delta: %s cycles, mean of %s hit%s", own, hits,
             report->whole->hits == 1 ? "" : "s");
    fold_text(out, columns, 2, text);
    number_decimal(halts, sizeof halts, check->halts, 2);
    number_decimal(varies, sizeof varies, check->calls, 2);
    snprintf(text, sizeof text, "in no line: %s cycles; the halts leave %s%s open%s%s%s", rest, sign, halts,
             check->calls > 0 ? ", and these were different calls: " : "", check->calls > 0 ? sign : "",
             check->calls > 0 ? varies : "");
    fold_text(out, columns, 2, text);
}

bool line_report_text(FILE *out, const struct line_report *report, size_t columns)
{
    static const char *const heading[] = {"line", "hits", "per call", "cycles", "share", "    "};
    const struct line_costs *costs = report->costs;
    struct profile_notes notes = {0};
    struct check check = check_sum(report);
    size_t wide = columns > 0 ? columns : TERMINAL_COLUMNS;
    for (size_t i = 0; i < costs->n; i++) {
        const struct line_cost *line = &costs->lines[i];
        if (i == 0 || costs->lines[i - 1].file != line->file) {
            const char *path = line->file == LISTING_NO_FILE            ? "(no file)"
                               : report->texts[line->file].path != NULL ? report->texts[line->file].path
                                                                        : report->listing->files[line->file];
            char clean[UTF8_CLEAN_ROOM(TEXT)];
            fprintf(out, "\n%s\n", terminal_text(clean, sizeof clean, path));
            print_cells(out, heading, "source", SIZE_MAX);
        }
        print_line(out, report, line, wide);
    }
    print_sum(out, report, &check, wide);
    make_notes(report, &check, &notes);
    profile_notes_print(out, &notes, wide);
    return fflush(out) == 0 && !ferror(out);
}

/* ---- JSON */

bool line_report_json_header(FILE *out, const struct conditions *conditions)
{
    struct json_part header = json_header_part(JSON_SCHEMA_2, conditions, NULL, 0, time(NULL));
    json_part_text(&header, "command", "lines");
    return json_part_write(out, header);
}

static void add_blocks(struct json_part *part, const struct line_costs *costs, const struct line_cost *line)
{
    json_t *blocks = json_array();
    for (size_t i = 0; i < costs->blocks->n; i++) {
        if (&costs->lines[costs->of_block[i].line] != line)
            continue;
        struct json_part block = json_part_new(NULL);
        json_part_hex(&block, "address", costs->blocks->at[i].low);
        json_part_unsigned(&block, "instructions", costs->blocks->at[i].instructions);
        json_part_unsigned(&block, "hits", costs->of_block[i].hits);
        json_part_append(part, blocks, block.json);
        part->ok = part->ok && block.ok;
    }
    json_part_array(part, "blocks", blocks);
}

static bool write_line(FILE *out, const struct line_report *report, const struct line_cost *line)
{
    struct json_part part = json_part_new("line");
    if (line->file != LISTING_NO_FILE)
        json_part_text(&part, "file", report->listing->files[line->file]);
    if (line->line > 0)
        json_part_unsigned(&part, "line", line->line);
    json_part_text(&part, "text", text_of(report, line));
    json_part_unsigned(&part, "hits", line->hits);
    if (line->hits > 0) {
        json_part_real(&part, "hits_per_call", (double)line->hits / (double)report->costs->calls);
        if (statistics_count(line->calls) > 0) {
            json_part_unsigned(&part, "median", statistics_quantile(line->calls, 0.5, NULL));
            json_part_unsigned(&part, "min", statistics_min(line->calls));
            json_part_unsigned(&part, "max", statistics_max(line->calls));
        }
        json_part_real(&part, "mean", line->mean);
        json_part_real(&part, "share", report->costs->sum > 0 ? line->mean / report->costs->sum : 0);
    }
    add_blocks(&part, report->costs, line);
    if (line->has_calls)
        json_part_bool(&part, "calls", true);
    if (line->is_inlined)
        json_part_bool(&part, "inlined", true);
    if (line->is_mixed)
        json_part_bool(&part, "mixed", true);
    if (line->is_disturbed)
        json_part_bool(&part, "disturbed", true);
    return json_part_write(out, part);
}

bool line_report_json(FILE *out, const struct line_report *report)
{
    const struct line_costs *costs = report->costs;
    struct check check = check_sum(report);
    struct profile_notes notes = {0};
    struct json_part part = json_part_new("summary");
    bool ok = true;
    for (size_t i = 0; ok && i < costs->n; i++)
        ok = write_line(out, report, &costs->lines[i]);
    json_part_unsigned(&part, "calls", costs->calls);
    json_part_unsigned(&part, "steps", costs->hops);
    json_part_unsigned(&part, "tainted", costs->tainted);
    json_part_real(&part, "sum", check.sum);
    if (check.known) {
        json_part_unsigned(&part, "hits", report->whole->hits);
        json_part_real(&part, "function", check.own);
        json_part_unsigned(&part, "function_median",
                           statistics_quantile(report->whole->columns[0].statistics, 0.5, NULL));
        json_part_real(&part, "not_attributed", check.not_attributed);
        json_part_real(&part, "halts_plus_minus", check.halts);
        json_part_real(&part, "calls_plus_minus", check.calls);
        json_part_bool(&part, "agrees", check.agrees);
    }
    make_notes(report, &check, &notes);
    profile_notes_json(&part, &notes);
    json_part_text(&part, "ended", report->ended);
    return json_part_write(out, part) && ok;
}

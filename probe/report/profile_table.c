#include "report/profile_table.h"

#include "report/number.h"
#include "report/page.h"
#include "report/profile_file.h"
#include "report/profile_notes.h"
#include "report/terminal.h"
#include "report/views.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { CELL = 512 };

static const char *core_name(const struct profile_report *report, unsigned core)
{
    return core < report->profile->about.core_count ? report->profile->about.cores[core] : "";
}

static unsigned core_number(const struct profile_report *report, const struct shares *shares)
{
    return profile_core_number(&report->profile->about, shares->core);
}

static double children_part(const struct shares *shares, const struct share *row)
{
    return shares->samples > 0 ? (double)row->children / (double)shares->samples : 0;
}

/* ---- the document */

const char *profile_row_kind(enum shares_sort sort)
{
    return sort == SHARES_FILE        ? "file"
           : sort == SHARES_TASK      ? "task"
           : sort == SHARES_EXCEPTION ? "exception"
           : sort == SHARES_PROCESS   ? "context"
                                      : "function";
}

static const char *const sorts[SHARES_SORTS] = {
    [SHARES_FUNCTION] = "function", [SHARES_LINE] = "line", [SHARES_FILE] = "file",
    [SHARES_ADDRESS] = "address",   [SHARES_TASK] = "task", [SHARES_EXCEPTION] = "exception",
    [SHARES_PROCESS] = "context",
};

const char *profile_sort_name(enum shares_sort sort)
{
    return sorts[sort];
}

enum shares_sort profile_sort_by_name(const char *name)
{
    for (int i = 0; i < SHARES_SORTS; i++)
        if (sorts[i] != NULL && strcmp(sorts[i], name) == 0)
            return (enum shares_sort)i;
    return SHARES_FUNCTION;
}

/* `since_begin`: of one of many lists, which have no notes; NaN: it is a report's only one. */
static struct json_part core_line(const struct profile_report *report, const struct shares *shares,
                                  double since_begin)
{
    struct json_part line = json_part_new("core");
    struct profile_notes notes = {0};
    json_part_unsigned(&line, "core", core_number(report, shares));
    json_part_text(&line, "name", core_name(report, shares->core));
    json_part_unsigned(&line, "samples", shares->samples);
    json_part_real(&line, "seconds", shares->seconds);
    json_part_real(&line, "since_begin", since_begin);
    for (int state = 0; state < PROFILE_STATES; state++)
        if (shares->states[state] > 0)
            json_part_unsigned(&line, profile_file_state((enum profile_state)state), shares->states[state]);
    if (shares->resets > 0)
        json_part_unsigned(&line, "resets", shares->resets);
    if (report->profile->about.event != NULL) {
        json_part_unsigned(&line, "events", shares->events);
        json_part_real(&line, "stood", profile_stood_part(shares));
    }
    json_part_unsigned(&line, "batches", shares->batches);
    if (!isfinite(since_begin)) {
        profile_notes_of_core(&notes, shares);
        profile_notes_of_stops(&notes, report->profile, shares);
        profile_notes_json(&line, &notes);
    }
    return line;
}

static struct json_part share_line(const struct profile_report *report, const struct shares *shares,
                                   const struct share *row)
{
    struct json_part line = json_part_new("share");
    bool is_state = row->state != PROFILE_STATES;
    json_part_unsigned(&line, "core", core_number(report, shares));
    json_part_real(&line, "share", row->part);
    json_part_real(&line, "plus_minus", row->plus_minus);
    json_part_unsigned(&line, "samples", row->samples);
    if (shares->has_children)
        json_part_real(&line, "children", children_part(shares, row));
    if (is_state)
        json_part_text(&line, "state", profile_file_state(row->state));
    if (shares->sort >= SHARES_CONTEXTS) {
        json_part_text(&line, profile_row_kind(shares->sort), or_empty(row->function));
        json_part_hex(&line, "value", row->address);
        return line;
    }
    json_part_text(&line, "function", or_empty(row->function));
    json_part_text(&line, "source", or_empty(row->source));
    if (!is_state && shares->sort != SHARES_FILE)
        json_part_hex(&line, "address", row->address);
    return line;
}

static void add_core(struct document *document, const struct profile_report *report,
                     const struct shares *shares, double since_begin)
{
    document_add(document, core_line(report, shares, since_begin));
    for (size_t i = 0; i < shares->n; i++)
        document_add(document, share_line(report, shares, &shares->rows[i]));
}

struct document profile_document(const struct profile_report *report)
{
    struct document document = document_new();
    struct json_part summary = json_part_new("summary");
    uint64_t samples = 0;
    document_add(&document, json_command_part("report", or_empty(report->profile->about.probe)));
    struct json_part line =
        profile_line("profile", report->profile, report->file, report->elf, report->no_names);
    json_part_text(&line, "sort", report->n > 0 ? profile_sort_name(report->shares[0].sort) : "");
    document_add(&document, line);
    for (size_t i = 0; i < report->n; i++) {
        samples += report->shares[i].samples;
        add_core(&document, report, &report->shares[i], NAN);
    }
    json_part_unsigned(&summary, "samples", samples);
    document_add(&document, summary);
    return document;
}

bool profile_json_core(FILE *out, const struct profile_report *report, const struct shares *shares,
                       double since_begin)
{
    struct document document = document_new();
    add_core(&document, report, shares, since_begin);
    bool ok = document_write(out, &document);
    document_free(&document);
    return ok;
}

/* ---- for people */

/* Also the states that never were, where that is worth knowing. */
static void put_states(const struct rendering *to, const json_t *profile, const json_t *core)
{
    bool by_halts = strcmp(field_text(profile, "source"), "halts") == 0; /* none tells whether it slept */
    bool of_events = field_of(profile, "event") != NULL;
    uint64_t samples = field_count(core, "samples");
    char texts[1 + PROFILE_STATES][64] = {""};
    const char *facts[1 + PROFILE_STATES];
    if (of_events && samples > 0)
        snprintf(texts[0], sizeof texts[0], "stood %.1f %%", 100 * field_real(core, "stood"));
    facts[0] = texts[0];
    for (int state = 0; state < PROFILE_STATES; state++) {
        uint64_t n = field_count(core, profile_file_state((enum profile_state)state));
        facts[1 + state] = texts[1 + state];
        const char *name = shares_state_name((enum profile_state)state) + 1; /* without its brackets */
        if (samples > 0 && (n > 0 || (!by_halts && !of_events && state <= PROFILE_NOT_PERMITTED)))
            snprintf(texts[1 + state], sizeof texts[0], "%.*s %.1f %%", (int)strlen(name) - 1, name,
                     100 * (double)n / (double)samples);
    }
    render_facts(to, facts, 1 + PROFILE_STATES, 2);
}

/* The rows of a core, at most so many, and what the others have. */
static bool put_rows(const struct rendering *to, const struct document *document, const json_t *core,
                     enum shares_sort sort, size_t most)
{
    json_t *rows = document_rows(document, "share", core);
    size_t n = json_array_size(rows);
    double part = 0;
    while (json_array_size(rows) > most) {
        size_t last = json_array_size(rows) - 1;
        part += field_real(json_array_get(rows, last), "share");
        json_array_remove(rows, last);
    }
    if (to->format == FORMAT_TEXT)
        fputs("\n", to->out);
    bool ok = render_table(to, share_view(sort), rows);
    if (n > most)
        fprintf(to->out, "and %zu more with %.2f %%\n", n - most, 100 * part);
    return ok;
}

static void put_core_head(const struct rendering *to, const json_t *profile, const json_t *core,
                          enum shares_sort sort)
{
    char name[CELL], count[CELL], rate[CELL] = "", number[NUMBER_ROOM], elapsed[NUMBER_ROOM];
    const char *text = field_text(core, "name"), *source = field_text(profile, "source"),
               *event = field_text(profile, "event");
    uint64_t samples = field_count(core, "samples");
    double seconds = field_real(core, "seconds");
    int used = snprintf(name, sizeof name, "core %" PRIu64 "%s%.128s%s%.128s", field_count(core, "core"),
                        text[0] != '\0' ? " " : "", text, source[0] != '\0' ? ", by " : "", source);
    if (event[0] != '\0')
        used += snprintf(name + used, sizeof name - (size_t)used, " each %s %.64s",
                         number_unsigned(number, sizeof number, field_count(profile, "every")), event);
    snprintf(count, sizeof count, "%s %s",
             samples > 0 ? number_unsigned(number, sizeof number, samples) : "no",
             sort >= SHARES_CONTEXTS ? "looks" : "samples");
    if (samples > 0 && seconds > 0)
        snprintf(rate, sizeof rate, "in %s, %s/s", number_elapsed(elapsed, sizeof elapsed, seconds),
                 number_unsigned(number, sizeof number, (uint64_t)round((double)samples / seconds)));
    if (to->format == FORMAT_TEXT)
        snprintf(name + used, sizeof name - (size_t)used, ":");
    else
        render_heading(to, name);
    const char *facts[] = {to->format == FORMAT_TEXT ? name : "", count, rate};
    render_facts(to, facts, 3, 1);
    if (sort < SHARES_CONTEXTS)
        put_states(to, profile, core);
}

static bool put_core(const struct rendering *to, const struct document *document, const json_t *core,
                     enum shares_sort sort, size_t most)
{
    put_core_head(to, document_line(document, "profile"), core, sort);
    return field_count(core, "samples") == 0 || put_rows(to, document, core, sort, most);
}

void profile_put_head(const struct rendering *to, const struct document *document)
{
    const json_t *profile = document_line(document, "profile");
    profile_head_put(to, "", profile, field_text(document_line(document, "header"), "link"));
    if (to->format == FORMAT_HTML)
        render_notes(to, field_of(profile, "notes"));
}

bool profile_put_cores(const struct rendering *to, const struct document *document,
                       const struct profile_report *report)
{
    json_t *cores = document_rows(document, "core", NULL);
    enum shares_sort sort = profile_sort_by_name(field_text(document_line(document, "profile"), "sort"));
    const struct stack_report *tree = report != NULL ? report->tree : NULL;
    bool ok = cores != NULL;
    for (size_t i = 0; i < json_array_size(cores) && ok; i++) {
        const json_t *core = json_array_get(cores, i);
        fputs(to->format == FORMAT_TEXT ? "\n" : "", to->out);
        ok = put_core(to, document, core, sort, SIZE_MAX);
        if (tree != NULL && report->shares[i].n > 0 && to->format == FORMAT_TEXT) {
            fputc('\n', to->out);
            ok = ok && stacks_tree(to->out, tree, report->shares[i].core);
        }
        render_notes(to, field_of(core, "notes"));
    }
    json_decref(cores);
    return ok;
}

/* What is wrong with the run as a whole comes last, where a reader of long text still sees it. */
static bool put_all(const struct rendering *to, const struct profile_report *report,
                    const struct document *document)
{
    const json_t *profile = document_line(document, "profile");
    char title[CELL];
    snprintf(title, sizeof title, "Profile %.400s", field_text(profile, "file"));
    const struct page page = {
        .to = to, .title = title, .command = report != NULL ? report->command : NULL, .document = document};
    page_begin(&page);
    profile_put_head(to, document);
    bool ok = profile_put_cores(to, document, report);
    if (to->format != FORMAT_HTML)
        render_notes(to, field_of(profile, "notes"));
    return page_end(&page) && ok;
}

bool profile_show(const struct rendering *to, const struct document *document,
                  const struct profile_report *report)
{
    bool ok = document->ok;
    if (ok && to->format == FORMAT_JSON)
        ok = document_write(to->out, document);
    else if (ok && to->format == FORMAT_CSV)
        ok = render_table(to, &share_csv, document_rows(document, "share", NULL));
    else if (ok)
        ok = put_all(to, report, document);
    return fflush(to->out) == 0 && !ferror(to->out) && ok;
}

bool profile_write(const struct rendering *to, const struct profile_report *report)
{
    struct document document = profile_document(report);
    bool ok = profile_show(to, &document, report);
    document_free(&document);
    return ok;
}

void profile_text_core(const struct rendering *to, const struct profile_report *report,
                       const struct shares *shares, size_t most)
{
    struct document document = document_new();
    document_add(&document,
                 profile_line("profile", report->profile, report->file, report->elf, report->no_names));
    add_core(&document, report, shares, NAN);
    if (document.ok)
        put_core(to, &document, document_line(&document, "core"), shares->sort, most);
    document_free(&document);
}

/* ---- folded */

static const char *row_name(const struct shares *shares, const struct share *row)
{
    const char *name = row->state != PROFILE_STATES  ? shares_state_name(row->state)
                       : shares->sort == SHARES_FILE ? row->source
                                                     : row->function;
    return name != NULL ? name : "[unknown]";
}

static void keep_in_frame(char *text)
{
    while ((text = strchr(text, ';')) != NULL)
        *text = ':';
}

bool profile_folded(FILE *out, const struct profile_report *report)
{
    for (size_t i = 0; i < report->n; i++) {
        const struct shares *shares = &report->shares[i];
        for (size_t k = 0; k < shares->n; k++) {
            const struct share *row = &shares->rows[k];
            char name[UTF8_CLEAN_ROOM(CELL)], source[UTF8_CLEAN_ROOM(CELL)] = "", address[32] = "";
            utf8_clean(name, sizeof name, row_name(shares, row));
            if (shares->sort == SHARES_LINE && row->source != NULL)
                utf8_clean(source, sizeof source, row->source);
            if (shares->sort == SHARES_ADDRESS && row->state == PROFILE_STATES && row->function == NULL)
                snprintf(address, sizeof address, "0x%08" PRIx64, row->address);
            keep_in_frame(name);
            keep_in_frame(source);
            fprintf(out, "core %u;%s%s%s %" PRIu64 "\n", core_number(report, shares),
                    address[0] != '\0' ? address : name, source[0] != '\0' ? " " : "", source, row->samples);
        }
    }
    return fflush(out) == 0 && !ferror(out);
}

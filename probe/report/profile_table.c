/* SPDX-License-Identifier: MIT */
#include "report/profile_table.h"

#include "base/values.h"
#include "profile/call_tree.h"
#include "report/conditions.h"
#include "report/number.h"
#include "report/page.h"
#include "report/profile_file.h"
#include "report/sentence.h"
#include "report/terminal.h"
#include "report/views.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CELL = 512, CALLS_DEEPEST = 60 };

/* Of the whole profile. `no_names`: why there are none, or why they may be wrong; "": they are right. */
static void profile_notes_of_run(struct json_part *notes, const struct profile *profile, const char *file,
                                 const char *no_names)
{
    if (!profile->end.known)
        json_list_say(notes, "%s has no end: the run was cut off.", file);
    if (profile->end.error != NULL)
        json_list_say(notes, "The run ended early: %s.", profile->end.error);
    if (no_names[0] != '\0')
        json_list_say(notes, "%s.", no_names);
    for (size_t i = 0; i < profile->note_count; i++)
        json_list_say(notes, "%s.", profile->notes[i]);
    if (strcmp(or_empty(profile->about.source), "halts") == 0)
        json_list_say(notes, "The core was stopped for each sample, so its rhythm was another.");
    if (profile->about.by_block)
        json_list_say(notes, "By the start of the block: this core shows its last branch's target "
                             "(Cortex-A9, erratum 751471). Trust functions, not lines.");
}

/* Why the shares of a core are to be trusted less. */
static void profile_notes_of_core(struct json_part *notes, const struct profile *profile,
                                  const struct shares *shares)
{
    bool by_block = profile->about.by_block;
    if (shares->resets > 0)
        json_list_say(notes, "Resets of the target while samples were taken: %u.", shares->resets);
    if (shares->samples == 0)
        return;
    if (shares->is_few)
        json_list_say(notes, PROFILE_FEW);
    if (shares->is_uneven)
        json_list_say(notes, "A large share differs much within the run: the program has phases, or samples "
                             "are in step with a loop. Record longer, and compare two runs.");
    if (shares->hides_doubt)
        json_list_say(notes, "Up to %.1f %% of the samples may wrongly count as asleep or as awake.",
                      100 * shares->asleep_doubt);
    if (shares->is_sparse && !by_block)
        json_list_say(notes, PROFILE_SPARSE);
    if (shares->states[PROFILE_NOT_PERMITTED] > 0)
        json_list_say(notes,
                      "Not permitted: the core ran where it must not be sampled, such as Secure state.");
    if ((shares->sort == SHARES_LINE || shares->sort == SHARES_ADDRESS) && !by_block)
        json_list_say(
            notes, "A sample may be at a neighbouring instruction (skid): trust functions most, then lines.");
}

/* Which part of the time the samples stopped the core, 0 to 1. */
static double profile_stood_part(const struct shares *shares)
{
    return shares->seconds > 0 ? shares->stood_s / shares->seconds : 0;
}

static double percent(uint64_t part, uint64_t all)
{
    return 100 * (double)part / (double)all;
}

/* How far its call stacks are to be trusted. */
static void note_stacks(struct json_part *notes, const struct profile *profile, unsigned core)
{
    uint64_t all = 0, guessed = 0, cut = 0, by_end[UNWIND_TOO_DEEP + 1] = {0};
    enum unwind_end worst = UNWIND_OUTERMOST;
    for (size_t i = 0; i < profile->interval_count; i++) {
        const struct profile_interval *interval = &profile->intervals[i];
        for (size_t k = 0; interval->core == core && k < interval->stacks.n; k++) {
            const struct call_stack *stack = &interval->stacks.rows[k];
            all += stack->samples;
            guessed += stack->sure < stack->depth ? stack->samples : 0;
            by_end[stack->end] += stack->samples;
        }
    }
    for (int end = UNWIND_OUTERMOST + 1; end <= UNWIND_TOO_DEEP; end++) {
        cut += by_end[end];
        if (by_end[end] > 0 && (worst == UNWIND_OUTERMOST || by_end[end] > by_end[worst]))
            worst = (enum unwind_end)end;
    }
    if (cut > 0)
        json_list_say(notes, "Call stacks that are cut short: %.1f %%, mostly by %s.", percent(cut, all),
                      unwind_end_text(worst));
    if (guessed > 0)
        json_list_say(notes, "Call stacks with guessed frames, without call frame information: %.1f %%.",
                      percent(guessed, all));
}

/* The same of a counter's stops and their call stacks; nothing for other profiles. */
static void profile_notes_of_stops(struct json_part *notes, const struct profile *profile,
                                   const struct shares *shares)
{
    static const double much = 0.2;
    if (profile->about.errata != NULL)
        json_list_say(notes, "~ %s: %s", or_empty(profile->about.event), profile->about.errata);
    if (profile->about.event != NULL && profile_stood_part(shares) > much)
        json_list_say(notes,
                      "The core was halted %.0f %% of the time for its samples, so timers and interrupts "
                      "were more frequent. Take a larger --every.",
                      100 * profile_stood_part(shares));
    note_stacks(notes, profile, shares->core);
}

struct json_part profile_line(const char *type, const struct profile *profile, const char *file,
                              const char *elf, const char *no_names)
{
    const struct profile_about *about = &profile->about;
    struct json_part line = json_part_new(type);
    struct json_part notes = json_list_new();
    json_part_text(&line, "file", file);
    json_part_text(&line, "date", or_empty(about->date));
    json_part_text(&line, "source", or_empty(about->source));
    json_part_true(&line, "by_block", about->by_block);
    json_part_text(&line, "event", or_empty(about->event));
    json_part_text(&line, "errata", or_empty(about->errata));
    if (about->event != NULL)
        json_part_unsigned(&line, "every", about->every);
    json_part_text(&line, "elf", or_empty(elf));
    json_part_text(&line, "build_id", or_empty(about->build_id));
    json_part_bool(&line, "cut", !profile->end.known);
    json_part_text(&line, "ended", or_empty(profile->end.why));
    profile_notes_of_run(&notes, profile, file, no_names);
    json_part_object(&line, "notes", notes);
    return line;
}

void profile_head_put(const struct rendering *to, const char *before, const json_t *profile, const char *link)
{
    char file[2 * CELL];
    snprintf(file, sizeof file, "%s%s", before, field_text(profile, "file"));
    const char *facts[] = {file, field_text(profile, "date"), link, field_text(profile, "elf")};
    render_facts(to, facts, sizeof facts / sizeof *facts, 2);
}

/* ---- profile table */

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

static const char *const sorts[SHARES_SORTS] = {
    [SHARES_FUNCTION] = "function", [SHARES_LINE] = "line", [SHARES_FILE] = "file",
    [SHARES_ADDRESS] = "address",   [SHARES_TASK] = "task", [SHARES_EXCEPTION] = "exception",
    [SHARES_PROCESS] = "context",
};

const char *profile_sort_name(enum shares_sort sort)
{
    return sorts[sort];
}

const char *profile_row_kind(enum shares_sort sort)
{
    return sort == SHARES_LINE || sort == SHARES_ADDRESS ? sorts[SHARES_FUNCTION] : sorts[sort];
}

enum shares_sort profile_sort_by_name(const char *name)
{
    for (int i = 0; i < SHARES_SORTS; i++)
        if (strcmp(sorts[i], name) == 0)
            return (enum shares_sort)i;
    return SHARES_FUNCTION;
}

/* Functions of at least half a percent, each after its caller. */
static void profile_table_add_calls(struct json_part *line, json_t *list, const struct stacks *stacks,
                                    const struct call_node *nodes, size_t parent, unsigned depth)
{
    static const double least = 0.005;
    for (size_t i = nodes[parent].child; i != 0; i = nodes[i].next) {
        double part = (double)nodes[i].samples / (double)nodes[0].samples;
        struct json_part call = json_part_new(NULL);
        json_part_unsigned(&call, "depth", depth);
        json_part_real(&call, "share", part);
        json_part_unsigned(&call, "samples", nodes[i].samples);
        json_part_text(&call, "function", stacks->functions[stacks->places[nodes[i].place].function].name);
        if (part < least) {
            json_decref(call.json);
            continue;
        }
        json_part_add(line, list, call);
        if (depth < CALLS_DEEPEST)
            profile_table_add_calls(line, list, stacks, nodes, i, depth + 1);
    }
}

static void json_calls(struct json_part *line, const struct stacks *stacks, unsigned core)
{
    struct call_tree tree;
    json_t *list = json_array();
    line->ok = line->ok && call_tree_make(stacks, core, &tree);
    if (line->ok && tree.nodes[0].samples > 0)
        profile_table_add_calls(line, list, stacks, tree.nodes, 0, 0);
    if (line->ok)
        call_tree_free(&tree);
    json_part_array(line, "calls", list);
}

/* `since_begin`: of one of many lists, which have no notes; NaN: it is a report's only one. */
static struct json_part profile_table_core_line(const struct profile_report *report,
                                                const struct shares *shares, double since_begin)
{
    struct json_part line = json_part_new("core");
    struct json_part notes = json_list_new();
    json_part_unsigned(&line, "core", core_number(report, shares));
    json_part_text(&line, "name", core_name(report, shares->core));
    json_part_unsigned(&line, "samples", shares->samples);
    json_part_real(&line, "seconds", shares->seconds);
    json_part_real(&line, "since_begin", since_begin);
    for (int state = 0; state < PROFILE_STATES; state++)
        if (shares->states[state] > 0)
            json_part_unsigned(&line, profile_file_state((enum profile_state)state), shares->states[state]);
    json_part_some(&line, "resets", shares->resets);
    if (report->profile->about.event != NULL) {
        json_part_unsigned(&line, "events", shares->events);
        json_part_real(&line, "stood", profile_stood_part(shares));
    }
    json_part_unsigned(&line, "batches", shares->batches);
    if (report->calls != NULL && shares->n > 0)
        json_calls(&line, report->calls, shares->core);
    if (!isfinite(since_begin)) {
        profile_notes_of_core(&notes, report->profile, shares);
        profile_notes_of_stops(&notes, report->profile, shares);
    }
    json_part_object(&line, "notes", notes);
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

static void profile_table_add_core(struct document *document, const struct profile_report *report,
                                   const struct shares *shares, double since_begin)
{
    document_add(document, profile_table_core_line(report, shares, since_begin));
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
        profile_table_add_core(&document, report, &report->shares[i], NAN);
    }
    json_part_unsigned(&summary, "samples", samples);
    document_add(&document, summary);
    return document;
}

bool profile_json_core(FILE *out, const struct profile_report *report, const struct shares *shares,
                       double since_begin)
{
    struct document document = document_new();
    profile_table_add_core(&document, report, shares, since_begin);
    bool ok = document_write(out, &document);
    document_free(&document);
    return ok;
}

/* ---- for people */

/* Also the states that never were, where that is worth knowing. */
static void put_states(const struct rendering *to, const json_t *profile, const json_t *core)
{
    bool by_halts = strcmp(field_text(profile, "source"), "halts") == 0; /* none shows whether it slept */
    bool of_events = field_of(profile, "event") != NULL;
    uint64_t samples = field_count(core, "samples");
    char texts[1 + PROFILE_STATES][64] = {""};
    const char *facts[1 + PROFILE_STATES];
    if (of_events && samples > 0)
        snprintf(texts[0], sizeof texts[0], "halted for samples %.1f %%", 100 * field_real(core, "stood"));
    facts[0] = texts[0];
    for (int state = 0; state < PROFILE_STATES; state++) {
        uint64_t n = field_count(core, profile_file_state((enum profile_state)state));
        facts[1 + state] = texts[1 + state];
        if (samples > 0 && (n > 0 || (!by_halts && !of_events && state <= PROFILE_NOT_PERMITTED)))
            shares_state_text((enum profile_state)state, n, samples, texts[1 + state], sizeof texts[0]);
    }
    render_facts(to, facts, 1 + PROFILE_STATES, 2);
}

/* The rows of a core, at most `most`, and what the others have. */
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

/* What stopped the core for each sample. */
static void profile_table_add_event(char *text, size_t size, const json_t *profile)
{
    if (field_of(profile, "event") != NULL)
        text_add(text, size, " each %s%s %.64s", conditions_mark(profile),
                 NUMBER(field_count(profile, "every")), field_text(profile, "event"));
}

static void put_core_head(const struct rendering *to, const json_t *profile, const json_t *core,
                          enum shares_sort sort)
{
    char name[CELL], count[CELL], rate[CELL] = "";
    const char *text = field_text(core, "name"), *source = field_text(profile, "source");
    uint64_t samples = field_count(core, "samples");
    double seconds = field_real(core, "seconds");
    snprintf(name, sizeof name, "core %" PRIu64 "%s%.128s%s%.128s%s", field_count(core, "core"),
             text[0] != '\0' ? " " : "", text, source[0] != '\0' ? ", by " : "", source,
             field_of(profile, "by_block") != NULL ? PROFILE_BY_BLOCK : "");
    profile_table_add_event(name, sizeof name, profile);
    snprintf(count, sizeof count, "%s %s", samples > 0 ? NUMBER(samples) : "no",
             sort >= SHARES_CONTEXTS ? "looks" : "samples");
    if (samples > 0 && seconds > 0)
        snprintf(rate, sizeof rate, "in %s, %s/s", ELAPSED(seconds),
                 NUMBER((uint64_t)round((double)samples / seconds)));
    if (to->format == FORMAT_TEXT)
        text_add(name, sizeof name, ":");
    else
        render_heading(to, name);
    const char *facts[] = {to->format == FORMAT_TEXT ? name : "", count, rate};
    render_facts(to, facts, 3, 1);
    if (sort < SHARES_CONTEXTS)
        put_states(to, profile, core);
}

static bool put_calls(const struct rendering *to, const json_t *calls)
{
    const char *blank =
        to->format == FORMAT_TEXT ? "  " : "\u00a0\u00a0"; /* tables of the others drop blanks */
    char text[CELL + 4 * CALLS_DEEPEST + 4];
    json_t *rows = json_array(), *call;
    size_t i;
    bool ok = rows != NULL;
    json_array_foreach(calls, i, call) {
        struct json_part row = json_part_copy(call);
        text[0] = '\0';
        for (uint64_t n = field_count(call, "depth"); n > 0 && strlen(text) + CELL + 4 < sizeof text; n--)
            strcat(text, blank);
        text_add(text, sizeof text, "%.511s", field_text(call, "function"));
        row_text(&row, "text", text);
        ok = rows_add(rows, row) && ok;
    }
    fputs(to->format == FORMAT_TEXT ? "\n" : "", to->out);
    return render_table(to, &call_view, rows) && ok;
}

static bool profile_table_put_core(const struct rendering *to, const struct document *document,
                                   const json_t *core, enum shares_sort sort, size_t most)
{
    put_core_head(to, document_line(document, "profile"), core, sort);
    return field_count(core, "samples") == 0 || put_rows(to, document, core, sort, most);
}

/* ---- of two profiles */

/* Notes of the older one, and which one they are of; those of both are among the other's already. */
static void put_old_notes(const struct rendering *to, const json_t *old, const json_t *now)
{
    struct json_part notes = json_list_new();
    size_t i, k;
    json_t *note, *its;
    json_array_foreach(field_of(old, "notes"), i, note) {
        bool is_both = false;
        json_array_foreach(field_of(now, "notes"), k, its)
            is_both = is_both || json_equal(note, its);
        if (!is_both)
            json_list_say(&notes, "before: %.900s", json_string_value(note));
    }
    render_list(to, notes);
}

static bool profile_table_put_changes(const struct rendering *to, const struct document *document,
                                      const json_t *core, enum shares_sort sort)
{
    char text[512];
    const char *name = field_text(core, "name");
    uint64_t now = field_count(core, "samples");
    snprintf(text, sizeof text, "core %" PRIu64 "%s%.128s: %s sample%s", field_count(core, "core"),
             name[0] != '\0' ? " " : "", name, NUMBER(now), PLURAL(now));
    profile_table_add_event(text, sizeof text, document_line(document, "profile"));
    text_add(text, sizeof text, ", %s before", NUMBER(field_count(core, "old.samples")));
    profile_table_add_event(text, sizeof text, document_line(document, "old"));
    if (field_of(core, "old.core") != NULL)
        text_add(text, sizeof text, ", of core %" PRIu64, field_count(core, "old.core"));
    render_heading(to, text);
    fputs(to->format == FORMAT_TEXT ? "\n" : "", to->out);
    bool ok = render_table(to, change_view(sort), document_rows(document, "change", core));
    render_notes(to, field_of(core, "notes"));
    put_old_notes(to, field_of(core, "old"), core);
    return ok;
}

/* ---- for people, all */

void profile_put_head(const struct rendering *to, const struct document *document)
{
    const json_t *profile = document_line(document, "profile");
    profile_head_put(to, "", profile, field_text(document_line(document, "header"), "link"));
    if (to->format == FORMAT_HTML)
        render_notes(to, field_of(profile, "notes"));
}

bool profile_put_cores(const struct rendering *to, const struct document *document)
{
    json_t *cores = document_rows(document, "core", NULL), *core;
    enum shares_sort sort = profile_sort_by_name(field_text(document_line(document, "profile"), "sort"));
    size_t i;
    bool ok = cores != NULL;
    json_array_foreach(cores, i, core) {
        if (field_of(core, "old") != NULL) {
            ok = profile_table_put_changes(to, document, core, sort) && ok;
            continue;
        }
        fputs(to->format == FORMAT_TEXT ? "\n" : "", to->out);
        ok = profile_table_put_core(to, document, core, sort, SIZE_MAX) && ok;
        if (field_of(core, "calls") != NULL)
            ok = put_calls(to, field_of(core, "calls")) && ok;
        render_notes(to, field_of(core, "notes"));
    }
    json_decref(cores);
    return ok;
}

/* What is wrong with the run as a whole is at the end, where a reader of long text still sees it. */
static bool profile_table_put_all(const struct rendering *to, const struct document *document)
{
    const json_t *profile = document_line(document, "profile"), *old = document_line(document, "old");
    const char *link = field_text(document_line(document, "header"), "link");
    char title[2 * CELL];
    snprintf(title, sizeof title, "Profile %.400s%s%.400s", field_text(profile, "file"),
             old != NULL ? " against " : "", field_text(old, "file"));
    const struct page page = {.to = to, .title = title, .document = document};
    page_begin(&page);
    if (old == NULL) {
        profile_put_head(to, document);
    } else {
        profile_head_put(to, "now: ", profile, link);
        profile_head_put(to, "before: ", old, field_of(old, "link") != NULL ? field_text(old, "link") : link);
    }
    bool ok = profile_put_cores(to, document);
    if (old != NULL || to->format != FORMAT_HTML)
        render_notes(to, field_of(profile, "notes"));
    put_old_notes(to, old, profile);
    render_notes(to, field_of(document_line(document, "summary"), "notes"));
    return page_end(&page) && ok;
}

/* ---- folded */

/* Neither ends a frame nor has a state's underscores. */
static void profile_table_put_frame(FILE *out, const char *name, bool is_state)
{
    for (; *name != '\0'; name++)
        fputc(*name == ';' ? ':' : is_state && *name == '_' ? ' ' : *name, out);
}

/* What a row is called: by its function, with the line where rows are lines. NULL: out of memory. */
static char *folded_name(const json_t *line, const char *sort)
{
    const char *source = strcmp(sort, "line") == 0 ? field_text(line, "source") : "",
               *name = field_text(line, strcmp(sort, "file") == 0      ? "source"
                                        : strcmp(sort, "address") == 0 ? "function|address"
                                                                       : "function");
    char *out = NULL;
    bool ok = asprintf(&out, "%s%s%s", name[0] != '\0' ? name : "[unknown]", source[0] != '\0' ? " " : "",
                       source) >= 0;
    return ok ? out : NULL;
}

/* Whether rows of one name are different code if their addresses differ: a function's entry and an
 * instruction's are its own. A line's is the lowest that was sampled, which is another on each core, so of
 * lines only those of one core are compared. Code without a function has one row, as in stacks. */
static bool folded_has_own_address(const json_t *line, const char *sort)
{
    return field_text(line, "address")[0] != '\0' &&
           (field_text(line, "function")[0] != '\0' || strcmp(sort, "address") == 0);
}

/* What rows with the name are noted by, and with its source too unless that is NULL. NULL: out of memory. */
static char *folded_key(const json_t *line, const char *sort, const char *name, const char *source)
{
    char core[NUMBER_ROOM] = "", *key = NULL;
    if (strcmp(sort, "line") == 0)
        snprintf(core, sizeof core, "%" PRIu64 ";", field_count(line, "core"));
    bool ok = asprintf(&key, "%s%s%s%s", core, name, source != NULL ? " [" : "", or_empty(source)) >= 0;
    return ok ? key : NULL;
}

/* By its key, which it frees: the address, or true if rows of several addresses have it. */
static bool folded_note(json_t *names, char *key, const char *address)
{
    const json_t *first = json_object_get(names, key);
    bool ok = key != NULL;
    if (first == NULL || strcmp(text_or_empty(first), address) != 0)
        ok = json_object_set_new(names, key, first == NULL ? json_string(address) : json_true()) == 0 && ok;
    free(key);
    return ok;
}

static bool folded_note_row(json_t *names, const json_t *line, const char *sort)
{
    const char *address = field_text(line, "address");
    char *name = folded_name(line, sort);
    bool ok = name != NULL && folded_note(names, folded_key(line, sort, name, NULL), address) &&
              folded_note(names, folded_key(line, sort, name, field_text(line, "source")), address);
    free(name);
    return ok;
}

/* NULL: out of memory. */
static json_t *folded_names(const struct document *document, const char *sort)
{
    json_t *names = json_object();
    size_t i;
    const json_t *line;
    bool ok = names != NULL;
    json_array_foreach(document->lines, i, line)
        if (ok && line_is_of(line, "share") && folded_has_own_address(line, sort))
            ok = folded_note_row(names, line, sort);
    if (!ok)
        json_decref(names);
    return ok ? names : NULL;
}

/* Frees the key. */
static bool folded_are_several(const json_t *names, char *key)
{
    bool several = json_is_true(json_object_get(names, key));
    free(key);
    return several;
}

/* What distinguishes functions of one name, as in stacks (profile/stacks.c); "": there is one. */
static const char *folded_apart(const json_t *names, const json_t *line, const char *sort, const char *name)
{
    const char *source = field_text(line, "source");
    if (!folded_has_own_address(line, sort) || !folded_are_several(names, folded_key(line, sort, name, NULL)))
        return "";
    return source[0] != '\0' && !folded_are_several(names, folded_key(line, sort, name, source))
               ? source
               : field_text(line, "address");
}

static bool folded_put_row(FILE *out, const json_t *names, const json_t *line, const char *sort)
{
    char *name = folded_name(line, sort);
    if (name == NULL)
        return false;
    const char *apart = folded_apart(names, line, sort, name);
    profile_table_put_frame(out, name, false);
    fputs(apart[0] != '\0' ? " [" : "", out);
    profile_table_put_frame(out, apart, false);
    fputs(apart[0] != '\0' ? "]" : "", out);
    free(name);
    return true;
}

static bool put_folded(FILE *out, const struct document *document)
{
    const char *sort = field_text(document_line(document, "profile"), "sort");
    json_t *names = folded_names(document, sort);
    size_t i;
    const json_t *line;
    bool ok = names != NULL;
    json_array_foreach(document->lines, i, line) {
        const char *state = field_text(line, "state");
        if (!ok || !line_is_of(line, "share"))
            continue;
        fprintf(out, "core %" PRIu64 ";", field_count(line, "core"));
        if (state[0] != '\0') {
            fputc('[', out);
            profile_table_put_frame(out, state, true);
            fputc(']', out);
        } else {
            ok = folded_put_row(out, names, line, sort);
        }
        fprintf(out, " %" PRIu64 "\n", field_count(line, "samples"));
    }
    json_decref(names);
    return ok;
}

/* ---- CSV */

static const struct sentence share_doubts[] = {
    {"old_cut", NULL, "the profile before is cut off"},
    {"cut", NULL, "the profile is cut off"},
    {"old_ended_early", NULL, "recording ended early before"},
    {"ended_early", NULL, "recording ended early"},
};

static bool has_ended_early(const json_t *profile)
{
    const char *ended = field_text(profile, "ended");
    return ended[0] != '\0' && strcmp(ended, "time") != 0 && strcmp(ended, "Ctrl-C") != 0;
}

json_t *profile_doubted_rows(const struct document *document, const char *type, const char *other)
{
    const json_t *profile = document_line(document, "profile"), *old = document_line(document, "old"), *line;
    struct json_part facts = json_part_new(NULL);
    struct document rows = document_new();
    size_t i;
    row_flag(&facts, "cut", field_is(profile, "cut"));
    row_flag(&facts, "old_cut", field_is(old, "cut"));
    row_flag(&facts, "ended_early", has_ended_early(profile));
    row_flag(&facts, "old_ended_early", has_ended_early(old));
    json_array_foreach(document->lines, i, line) {
        struct json_part row = json_part_copy(line);
        sentences_put(&row, "doubt", facts.json, share_doubts, sizeof share_doubts / sizeof *share_doubts);
        if (line_is_of(line, type) || line_is_of(line, other))
            document_add(&rows, row);
        else
            json_decref(row.json);
    }
    json_decref(facts.json);
    return document_end(rows);
}

static bool profile_table_put(const struct rendering *to, const struct document *document)
{
    bool differs = document_line(document, "old") != NULL;
    enum shares_sort sort = profile_sort_by_name(field_text(document_line(document, "profile"), "sort"));
    switch (to->format) {
    case FORMAT_JSON:
        return document_write(to->out, document);
    case FORMAT_CSV:
        return render_table(to, differs ? change_csv(sort) : &share_csv,
                            profile_doubted_rows(document, differs ? "change" : "share", "share"));
    case FORMAT_FOLDED:
        return put_folded(to->out, document);
    default:
        return profile_table_put_all(to, document);
    }
}

bool profile_show(const struct rendering *to, const struct document *document)
{
    bool ok = document->ok && profile_table_put(to, document);
    return output_flush(to->out) && ok;
}

bool profile_write(const struct rendering *to, const struct profile_report *report)
{
    struct document document = profile_document(report);
    bool ok = profile_show(to, &document);
    document_free(&document);
    return ok;
}

void profile_text_core(const struct rendering *to, const struct profile_report *report,
                       const struct shares *shares, size_t most)
{
    struct document document = document_new();
    document_add(&document,
                 profile_line("profile", report->profile, report->file, report->elf, report->no_names));
    profile_table_add_core(&document, report, shares, NAN);
    if (document.ok)
        profile_table_put_core(to, &document, document_line(&document, "core"), shares->sort, most);
    document_free(&document);
}

/* ---- profile diff */

static bool is_state(const struct share *row)
{
    return row->state != PROFILE_STATES;
}

static void profile_diff_note_core(struct json_part *notes, const struct profile_diff_report *report,
                                   size_t i)
{
    const struct profile_pair *pair = &report->pairs[i];
    const struct profile_about *now = &report->now->profile->about, *old = &report->old->profile->about;
    const char *name = or_empty(now->cores[pair->now]), *its = or_empty(old->cores[pair->old]);
    if (pair->diff.noise > 0)
        json_list_say(notes, "~: within noise (its ±), or a run was too short to show a difference.");
    if (strcmp(name, its) != 0)
        json_list_say(notes, "Core %u was another one before: %s.", profile_core_number(now, pair->now), its);
}

/* Cores without a pair. */
static void note_alone(struct json_part *notes, const struct profile_diff_report *report, bool is_now)
{
    const struct profile_about *about = &(is_now ? report->now : report->old)->profile->about;
    char list[CELL] = "";
    size_t n = 0;
    for (size_t core = 0; core < about->core_count; core++) {
        bool paired = false;
        for (size_t i = 0; i < report->n; i++)
            paired = paired || (is_now ? report->pairs[i].now : report->pairs[i].old) == core;
        if (paired)
            continue;
        text_add(list, sizeof list, "%s%u", n++ > 0 ? ", " : "", profile_core_number(about, core));
    }
    if (n > 0)
        json_list_say(notes, "Only the %s profile has core%s %s: not shown.", is_now ? "newer" : "older",
                      PLURAL(n), list);
}

static void note_pair(struct json_part *notes, const struct profile_diff_report *report)
{
    const struct profile_about *now = &report->now->profile->about, *old = &report->old->profile->about;
    if (strcmp(or_empty(now->source), or_empty(old->source)) != 0 || now->by_block != old->by_block)
        json_list_say(notes, "The samples are of another kind than before: %s%s, not %s%s.",
                      or_empty(now->source), now->by_block ? PROFILE_BY_BLOCK : "", or_empty(old->source),
                      old->by_block ? PROFILE_BY_BLOCK : "");
    for (size_t i = 0; i < report->n; i++) {
        unsigned number = profile_core_number(now, report->pairs[i].now);
        unsigned other = profile_core_number(old, report->pairs[i].old);
        if (number != other)
            json_list_say(notes, "Core %u now, core %u before: what differs may be the cores.", number,
                          other);
    }
    note_alone(notes, report, true);
    note_alone(notes, report, false);
}

static struct json_part profile_diff_core_line(const struct profile_diff_report *report, size_t i)
{
    struct json_part line = json_part_new("core"), old = json_part_new(NULL);
    struct json_part notes = json_list_new(), its = json_list_new();
    const struct shares *now = &report->now->shares[report->pairs[i].now];
    const struct shares *before = &report->old->shares[report->pairs[i].old];
    unsigned number = core_number(report->now, now), other = core_number(report->old, before);
    json_part_unsigned(&line, "core", number);
    json_part_text(&line, "name", core_name(report->now, now->core));
    json_part_unsigned(&line, "samples", now->samples);
    profile_diff_note_core(&notes, report, i);
    profile_notes_of_core(&notes, report->now->profile, now);
    profile_notes_of_stops(&notes, report->now->profile, now);
    json_part_object(&line, "notes", notes);
    if (number != other)
        json_part_unsigned(&old, "core", other);
    json_part_text(&old, "name", core_name(report->old, before->core));
    json_part_unsigned(&old, "samples", before->samples);
    profile_notes_of_core(&its, report->old->profile, before);
    profile_notes_of_stops(&its, report->old->profile, before);
    json_part_object(&old, "notes", its);
    json_part_object(&line, "old", old);
    return line;
}

static void json_side(struct json_part *part, const struct share_side *side)
{
    json_part_real(part, "share", side->part);
    json_part_real(part, "plus_minus", side->plus_minus);
    json_part_unsigned(part, "samples", side->samples);
}

static struct json_part change_line(unsigned core, enum shares_sort sort, const struct share_change *row)
{
    struct json_part line = json_part_new("change"), now = json_part_new(NULL), old = json_part_new(NULL);
    json_part_unsigned(&line, "core", core);
    json_part_real(&line, "change", row->change);
    json_part_real(&line, "plus_minus", row->plus_minus);
    json_part_bool(&line, "noise", row->is_noise);
    if (is_state(row->row))
        json_part_text(&line, "state", profile_file_state(row->row->state));
    json_part_text(&line, "function", or_empty(row->row->function));
    json_part_text(&line, "source", or_empty(row->row->source));
    if (sort == SHARES_ADDRESS && !is_state(row->row))
        json_part_hex(&line, "address", row->row->address);
    json_side(&now, &row->now);
    json_side(&old, &row->old);
    json_part_object(&line, "now", now);
    json_part_object(&line, "old", old);
    return line;
}

static struct json_part side_line(const char *type, const struct profile_report *side)
{
    return profile_line(type, side->profile, side->file, side->elf, side->no_names);
}

static struct json_part profile_diff_summary_line(const struct profile_diff_report *report)
{
    struct json_part summary = json_part_new("summary");
    struct json_part notes = json_list_new();
    uint64_t samples = 0;
    for (size_t i = 0; i < report->n; i++)
        samples += report->now->shares[report->pairs[i].now].samples;
    json_part_unsigned(&summary, "samples", samples);
    note_pair(&notes, report);
    json_part_object(&summary, "notes", notes);
    return summary;
}

struct document profile_diff_document(const struct profile_diff_report *report)
{
    const struct profile_about *about = &report->now->profile->about;
    const char *link = or_empty(about->probe), *its = or_empty(report->old->profile->about.probe);
    struct document document = document_new();
    struct json_part old = side_line("old", report->old);
    if (strcmp(link, its) != 0)
        json_part_text(&old, "link", its);
    document_add(&document, json_command_part("compare", link));
    struct json_part now = side_line("profile", report->now);
    json_part_text(&now, "sort", profile_sort_name(report->now->shares[0].sort));
    document_add(&document, now);
    document_add(&document, old);
    for (size_t i = 0; i < report->n; i++) {
        const struct profile_pair *pair = &report->pairs[i];
        const struct shares *shares = &report->now->shares[pair->now];
        document_add(&document, profile_diff_core_line(report, i));
        for (size_t k = 0; k < pair->diff.n; k++)
            document_add(&document,
                         change_line(core_number(report->now, shares), shares->sort, &pair->diff.rows[k]));
    }
    document_add(&document, profile_diff_summary_line(report));
    return document;
}

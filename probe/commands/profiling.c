/* SPDX-License-Identifier: MIT */
#include "commands/profiling.h"

#include "profile/annotation.h"
#include "profile/call_tree.h"
#include "profile/stacks.h"
#include "report/annotation_table.h"
#include "report/terminal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HOT_MOST = 10 };
static const double hot_part = 0.01;

struct page_parts {
    struct stacks stacks;
    struct call_tree flame;
    struct annotated_function functions[HOT_MOST];
    size_t n;
};

static bool has_function(const struct page_parts *parts, uint64_t entry)
{
    for (size_t i = 0; i < parts->n; i++)
        if (parts->functions[i].at.low == entry)
            return true;
    return false;
}

/* Those of each core that take a hundredth of its time. One whose code cannot be shown is left out. */
static bool annotate_hottest(const struct profile_report *report, struct symbols *symbols,
                             struct page_parts *parts, struct error *error)
{
    for (size_t core = 0; core < report->n; core++)
        for (size_t i = 0; i < report->shares[core].n && parts->n < HOT_MOST; i++) {
            const struct share *row = &report->shares[core].rows[i];
            struct error why = {0};
            if (row->part < hot_part || row->function == NULL || has_function(parts, row->address))
                continue;
            if (annotated_function_make(report->profile, symbols, report->elf, row->address,
                                        &parts->functions[parts->n], &why))
                parts->n++;
            else if (why.kind == ERROR_SYSTEM)
                return error_copy(error, &why);
        }
    return true;
}

bool profiling_page(const struct rendering *to, const struct profile_report *report, struct symbols *symbols,
                    struct error *error)
{
    struct page_parts parts = {.n = 0};
    bool ok = (stacks_make(report->profile, symbols, false, &parts.stacks) &&
               flame_make(&parts.stacks, report->n, &parts.flame)) ||
              error_memory(error);
    ok = ok && (symbols == NULL || annotate_hottest(report, symbols, &parts, error));
    if (ok) {
        const struct profile_page page = {.report = report,
                                          .stacks = &parts.stacks,
                                          .flame = &parts.flame,
                                          .functions = parts.functions,
                                          .n = parts.n};
        ok = profile_page(to, &page) || ferror(to->out) || error_memory(error);
    }
    for (size_t i = 0; i < parts.n; i++)
        annotated_function_free(&parts.functions[i]);
    call_tree_free(&parts.flame);
    stacks_free(&parts.stacks);
    return ok;
}

bool profiling_sort(const struct options *options, bool contexts, enum shares_sort *out, struct error *error)
{
    for (int sort = 0; sort < (contexts ? SHARES_SORTS : SHARES_CONTEXTS); sort++)
        if (options->sort == NULL || strcmp(options->sort, profile_sort_name((enum shares_sort)sort)) == 0) {
            *out = (enum shares_sort)sort;
            return true;
        }
    return error_set(error, ERROR_USAGE, "--sort takes function, line, file%s; got \"%.64s\"",
                     contexts ? ", address, task, exception or context" : " or address", options->sort);
}

/* ---- a profile, and what is made of it */

bool profiling_make_shares(struct profile_side *side, enum shares_sort sort, struct error *error)
{
    const struct profile *profile = side->input.profile;
    size_t n = profile->about.core_count;
    side->shares = calloc(n, sizeof *side->shares);
    bool ok = side->shares != NULL;
    for (size_t i = 0; i < n && ok; i++)
        ok = shares_make(profile, (unsigned)i, sort, side->input.symbols, &side->shares[i]);
    return ok || error_memory(error);
}

void profiling_close_side(struct profile_side *side)
{
    for (size_t i = 0; side->shares != NULL && i < side->input.profile->about.core_count; i++)
        shares_free(&side->shares[i]);
    free(side->shares);
    profile_input_close(&side->input);
}

static void note_names(const struct options *options, struct profile_side *side)
{
    bool by_address = side->input.symbols == NULL, given = options->request.elf != NULL;
    snprintf(side->no_names, sizeof side->no_names, "%s%s%s", side->input.no_names,
             by_address ? ", so shares are by address" : "",
             by_address && !given ? ": name the program with --elf" : "");
}

/* A note says why names are missing, among others. */
static bool has_notes(enum format format)
{
    return format == FORMAT_TEXT || format == FORMAT_JSON || format == FORMAT_MARKDOWN ||
           format == FORMAT_HTML;
}

void profiling_tell_names(const struct options *options, struct profile_side *side)
{
    char clean[UTF8_CLEAN_ROOM(sizeof side->no_names)];
    note_names(options, side);
    if (!has_notes(options->format) && side->no_names[0] != '\0' && !options->request.quiet)
        fprintf(stderr, "pmu-probe: %s\n", terminal_text(clean, sizeof clean, side->no_names));
}

void profiling_tell_notes(const struct options *options, const json_t *line)
{
    size_t i;
    json_t *note;
    json_array_foreach(field_of(line, "notes"), i, note)
        if (!has_notes(options->format))
            request_note(&options->request, "%s", json_string_value(note));
}

struct profile_report profiling_report(const struct profile_side *side)
{
    return (struct profile_report){.profile = side->input.profile,
                                   .file = side->input.file,
                                   .elf = side->input.elf,
                                   .no_names = side->no_names,
                                   .shares = side->shares,
                                   .n = side->input.profile->about.core_count};
}

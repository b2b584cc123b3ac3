#include "report/profile_diff.h"

#include "base/values.h"
#include "report/profile_file.h"
#include "report/profile_notes.h"

#include <string.h>

static bool is_state(const struct share *row)
{
    return row->state != PROFILE_STATES;
}

/* ---- the document */

static void profile_diff_note_core(struct profile_notes *notes, const struct profile_diff_report *report,
                                   size_t i)
{
    const struct shares_diff *diff = &report->diffs[i];
    const char *name = or_empty(report->now->profile->about.cores[i]);
    const char *its = or_empty(report->old->profile->about.cores[i]);
    if (diff->noise > 0)
        profile_notes_add(notes, "~: within noise: the two shares differ by no more than the ± of their "
                                 "difference, or a run was too short to show one.");
    if (strcmp(name, its) != 0)
        profile_notes_add(notes, "Core %u was another one before: %s.",
                          profile_core_number(&report->now->profile->about, (unsigned)i), its);
}

static void note_pair(struct profile_notes *notes, const struct profile_diff_report *report)
{
    const struct profile_about *now = &report->now->profile->about, *old = &report->old->profile->about;
    if (strcmp(or_empty(now->source), or_empty(old->source)) != 0)
        profile_notes_add(notes, "The samples are of another kind than before: %s, not %s.",
                          or_empty(now->source), or_empty(old->source));
    if (now->core_count != old->core_count)
        profile_notes_add(notes, "One profile has %zu core%s, the other %zu: those that both have are shown.",
                          now->core_count, PLURAL(now->core_count), old->core_count);
}

static struct json_part profile_diff_core_line(const struct profile_diff_report *report, size_t i)
{
    struct json_part line = json_part_new("core"), old = json_part_new(NULL);
    struct profile_notes notes = {0}, its = {0};
    json_part_unsigned(&line, "core", profile_core_number(&report->now->profile->about, (unsigned)i));
    json_part_text(&line, "name", or_empty(report->now->profile->about.cores[i]));
    json_part_unsigned(&line, "samples", report->now->shares[i].samples);
    profile_diff_note_core(&notes, report, i);
    profile_notes_of_core(&notes, &report->now->shares[i]);
    profile_notes_json(&line, &notes);
    json_part_text(&old, "name", or_empty(report->old->profile->about.cores[i]));
    json_part_unsigned(&old, "samples", report->old->shares[i].samples);
    profile_notes_of_core(&its, &report->old->shares[i]);
    profile_notes_json(&old, &its);
    json_part_object(&line, "old", old);
    return line;
}

static void json_side(struct json_part *part, const struct share_side *side)
{
    json_part_real(part, "share", side->part);
    json_part_real(part, "plus_minus", side->plus_minus);
    json_part_unsigned(part, "samples", side->samples);
}

static struct json_part change_line(const struct profile_about *about, size_t core, enum shares_sort sort,
                                    const struct share_change *row)
{
    struct json_part line = json_part_new("change"), now = json_part_new(NULL), old = json_part_new(NULL);
    json_part_unsigned(&line, "core", profile_core_number(about, (unsigned)core));
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
    struct profile_notes notes = {0};
    uint64_t samples = 0;
    for (size_t i = 0; i < report->n; i++)
        samples += report->now->shares[i].samples;
    json_part_unsigned(&summary, "samples", samples);
    note_pair(&notes, report);
    profile_notes_json(&summary, &notes);
    return summary;
}

static struct document diff_document(const struct profile_diff_report *report)
{
    const struct profile_about *about = &report->now->profile->about;
    const char *link = or_empty(about->probe), *its = or_empty(report->old->profile->about.probe);
    struct document document = document_new();
    struct json_part old = side_line("old", report->old);
    if (strcmp(link, its) != 0)
        json_part_text(&old, "link", its);
    document_add(&document, json_command_part("report", link));
    struct json_part now = side_line("profile", report->now);
    json_part_text(&now, "sort", profile_sort_name(report->now->shares[0].sort));
    document_add(&document, now);
    document_add(&document, old);
    for (size_t i = 0; i < report->n; i++) {
        document_add(&document, profile_diff_core_line(report, i));
        for (size_t k = 0; k < report->diffs[i].n; k++)
            document_add(&document,
                         change_line(about, i, report->now->shares[i].sort, &report->diffs[i].rows[k]));
    }
    document_add(&document, profile_diff_summary_line(report));
    return document;
}

bool profile_diff_write(const struct rendering *to, const struct profile_diff_report *report)
{
    struct document document = diff_document(report);
    bool ok = profile_show(to, &document, report->now->command);
    document_free(&document);
    return ok;
}

#include "report/profile_notes.h"

#include <stdarg.h>
#include <string.h>

void profile_notes_add(struct profile_notes *notes, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    if (notes->n < PROFILE_NOTES)
        vsnprintf(notes->text[notes->n++], PROFILE_NOTE, format, list);
    va_end(list);
}

void profile_notes_of_run(struct profile_notes *notes, const struct profile *profile, const char *file,
                          const char *no_names)
{
    if (!profile->end.known)
        profile_notes_add(
            notes, "%s has no end: the run was cut off, and this is what it had written by then.", file);
    if (profile->end.error != NULL)
        profile_notes_add(notes, "The run ended early: %s.", profile->end.error);
    if (no_names[0] != '\0')
        profile_notes_add(notes, "%s.", no_names);
    if (strcmp(or_empty(profile->about.source), "halts") == 0)
        profile_notes_add(
            notes, "The core was stopped for each sample, so it ran in another rhythm than by itself.");
}

void profile_notes_of_core(struct profile_notes *notes, const struct shares *shares)
{
    if (shares->resets > 0)
        profile_notes_add(notes, "Resets of the target while samples were taken: %u.", shares->resets);
    if (shares->samples == 0)
        return;
    if (shares->is_few)
        profile_notes_add(notes, "Few samples: the shares are rough. Record longer (record --for 10s).");
    if (shares->is_uneven)
        profile_notes_add(notes,
                          "A large share differs much between the parts of the run: the program has phases, "
                          "or samples are in step with one of its loops. Record longer, and compare two "
                          "runs.");
    if (shares->is_sparse)
        profile_notes_add(notes, "The sampled addresses lie apart: this core may only be sampled at "
                                 "branches, or samples are in step with a loop. Trust functions, not lines.");
    if (shares->states[PROFILE_NOT_PERMITTED] > 0)
        profile_notes_add(notes, "Not permitted: the core ran where it must not be sampled, such as Secure "
                                 "state. What ran then is not known.");
    if (shares->sort == SHARES_LINE || shares->sort == SHARES_ADDRESS)
        profile_notes_add(notes,
                          "An address may be that of a neighbouring instruction: trust lines more than "
                          "addresses, and functions most.");
}

double profile_stood_part(const struct shares *shares)
{
    return shares->seconds > 0 ? shares->stood_s / shares->seconds : 0;
}

static double percent(uint64_t part, uint64_t all)
{
    return 100 * (double)part / (double)all;
}

/* How far its call stacks are to be trusted. */
static void note_stacks(struct profile_notes *notes, const struct profile *profile, unsigned core)
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
        profile_notes_add(notes, "Call stacks that are cut short: %.1f %%, mostly by %s.", percent(cut, all),
                          unwind_end_text(worst));
    if (guessed > 0)
        profile_notes_add(notes,
                          "Call stacks with frames that are guessed, as the code there has no call frame "
                          "information: %.1f %%.",
                          percent(guessed, all));
}

void profile_notes_of_stops(struct profile_notes *notes, const struct profile *profile,
                            const struct shares *shares)
{
    static const double much = 0.2;
    if (profile->about.event != NULL && profile_stood_part(shares) > much)
        profile_notes_add(
            notes,
            "The core was halted %.0f %% of the time for its samples: what else goes on at its own "
            "pace, such as timers and interrupts, was more frequent than in its own rhythm. Take "
            "a larger --every.",
            100 * profile_stood_part(shares));
    note_stacks(notes, profile, shares->core);
}

void profile_notes_json(struct json_part *line, const struct profile_notes *notes)
{
    json_t *array = json_array();
    for (size_t i = 0; i < notes->n; i++)
        json_part_append(line, array, json_part_string(notes->text[i]));
    json_part_array(line, "notes", array);
}

void profile_notes_put(const struct rendering *to, const struct profile_notes *notes)
{
    struct json_part line = json_part_new(NULL);
    profile_notes_json(&line, notes);
    render_notes(to, field_of(line.json, "notes"));
    json_decref(line.json);
}

struct json_part profile_line(const char *type, const struct profile *profile, const char *file,
                              const char *elf, const char *no_names)
{
    const struct profile_about *about = &profile->about;
    struct json_part line = json_part_new(type);
    struct profile_notes notes = {0};
    json_part_text(&line, "file", file);
    json_part_text(&line, "date", or_empty(about->date));
    json_part_text(&line, "source", or_empty(about->source));
    json_part_text(&line, "event", or_empty(about->event));
    if (about->event != NULL)
        json_part_unsigned(&line, "every", about->every);
    json_part_text(&line, "elf", or_empty(elf));
    json_part_text(&line, "build_id", or_empty(about->build_id));
    json_part_bool(&line, "cut", !profile->end.known);
    json_part_text(&line, "ended", or_empty(profile->end.why));
    profile_notes_of_run(&notes, profile, file, no_names);
    profile_notes_json(&line, &notes);
    return line;
}

void profile_head_put(const struct rendering *to, const char *before, const json_t *profile, const char *link)
{
    char file[PROFILE_NOTE];
    snprintf(file, sizeof file, "%s%s", before, field_text(profile, "file"));
    const char *facts[] = {file, field_text(profile, "date"), link, field_text(profile, "elf")};
    render_facts(to, facts, sizeof facts / sizeof *facts, 2);
}

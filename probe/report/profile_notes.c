#include "report/profile_notes.h"

#include "report/terminal.h"

#include <stdarg.h>
#include <string.h>

static const char *text_of(const char *text)
{
    return text != NULL ? text : "";
}

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
    if (strcmp(text_of(profile->about.source), "halts") == 0)
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
                          "or samples come in step with one of its loops. Record longer, and compare two "
                          "runs.");
    if (shares->is_sparse)
        profile_notes_add(notes,
                          "The sampled addresses stand apart: this core may only be sampled at "
                          "branches, or samples come in step with a loop. Trust functions, not lines.");
    if (shares->states[PROFILE_NOT_PERMITTED] > 0)
        profile_notes_add(notes, "Not permitted: the core ran where it must not be sampled, such as Secure "
                                 "state. What ran then is not known.");
    if (shares->sort == SHARES_LINE || shares->sort == SHARES_ADDRESS)
        profile_notes_add(notes,
                          "An address may be that of a neighbouring instruction: trust lines more than "
                          "addresses, and functions most.");
}

void profile_notes_print(FILE *out, const struct profile_notes *notes, size_t columns)
{
    char text[UTF8_CLEAN_ROOM(PROFILE_NOTE)];
    if (notes->n > 0)
        fputc('\n', out);
    for (size_t i = 0; i < notes->n; i++)
        fold_text(out, columns, 2, terminal_text(text, sizeof text, notes->text[i]));
}

void profile_notes_json(struct json_part *line, const struct profile_notes *notes)
{
    json_t *array = json_array();
    for (size_t i = 0; i < notes->n; i++)
        json_part_append(line, array, json_part_string(notes->text[i]));
    json_part_array(line, "notes", array);
}

void profile_head_print(FILE *out, const struct profile_about *about, const char *file, const char *elf,
                        size_t columns)
{
    const char *pieces[] = {file, text_of(about->date), text_of(about->probe), text_of(elf)};
    struct fold fold = {.out = out, .columns = columns, .indent = 2};
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        char text[512];
        terminal_text(text, sizeof text, pieces[i]);
        if (text[0] != '\0')
            fold_put(&fold, text, i > 0 ? 2 : 0);
    }
    fold_end(&fold);
}

#include "commands/profiling.h"

#include "profile/annotation.h"
#include "profile/call_tree.h"
#include "profile/stacks.h"
#include "report/annotation_table.h"
#include "report/profile_file.h"
#include "report/terminal.h"
#include "symbols/symbols.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void drop_symbols(struct profile_input *input)
{
    symbols_close(input->symbols);
    free(input->elf);
    input->symbols = NULL;
    input->elf = NULL;
}

/* An ELF of another build would give wrong names: as with perf, shares are by address then. */
static void compare_builds(struct profile_input *input)
{
    const char *recorded = input->profile->about.build_id;
    const char *given = symbols_build_id(input->symbols);
    if (recorded != NULL && strcmp(recorded, given) != 0) {
        snprintf(input->no_names, sizeof input->no_names,
                 "%.200s is not the program that was recorded (build id %.40s, not %.40s)", input->elf,
                 given[0] != '\0' ? given : "missing", recorded);
        drop_symbols(input);
    } else if (recorded == NULL && input->profile->about.elf != NULL) {
        snprintf(input->no_names, sizeof input->no_names,
                 "The recorded program had no build id: names are wrong if %.200s is a new build",
                 input->elf);
    } else if (recorded == NULL) {
        snprintf(input->no_names, sizeof input->no_names,
                 "No program was named to record: names are right if it was %.200s", input->elf);
    }
}

/* The program may have been another one, or have moved itself, as U-Boot and position independent ones do. */
static void look_for_samples(struct profile_input *input)
{
    uint64_t samples = 0, low = UINT64_MAX, high = 0;
    struct symbols_machine machine;
    for (size_t i = 0; i < input->profile->interval_count; i++) {
        const struct profile_interval *interval = &input->profile->intervals[i];
        for (size_t k = 0; k < interval->count_count; k++) {
            uint64_t address = interval->counts[k].address;
            if (symbols_is_code(input->symbols, address))
                return;
            low = address < low ? address : low;
            high = address > high ? address : high;
            samples += interval->counts[k].samples;
        }
    }
    symbols_machine(input->symbols, &machine);
    if (samples > 0)
        snprintf(input->no_names, sizeof input->no_names,
                 "No sample lies in the code of %.200s, which is for %s, but at 0x%08" PRIx64
                 " to 0x%08" PRIx64 ": it is another program, or was moved (--load-offset)",
                 input->elf, machine.name, low, high);
}

/* Samples show the address, and not which overlay was there. */
static void look_for_overlays(struct profile_input *input)
{
    char sections[160], found[sizeof sections] = "";
    uint64_t samples = 0;
    for (size_t i = 0; i < input->profile->interval_count; i++) {
        const struct profile_interval *interval = &input->profile->intervals[i];
        for (size_t k = 0; k < interval->count_count; k++)
            if (symbols_overlay(input->symbols, interval->counts[k].address, sections, sizeof sections)) {
                samples += interval->counts[k].samples;
                memcpy(found, sections, sizeof found);
            }
    }
    size_t used = strlen(input->no_names);
    if (samples > 0)
        snprintf(input->no_names + used, sizeof input->no_names - used,
                 "%s%" PRIu64
                 " samples lie where the sections %s overlay each other: names and lines may be wrong",
                 used > 0 ? ". " : "", samples, found);
}

static bool open_one(struct profile_input *input, const char *path, struct error *error)
{
    input->elf = strdup(path);
    if (input->elf == NULL)
        return error_memory(error);
    input->symbols = symbols_open_moved(path, input->load_offset, error);
    if (input->symbols == NULL)
        drop_symbols(input);
    else
        compare_builds(input);
    if (input->symbols == NULL)
        return false;
    look_for_samples(input);
    look_for_overlays(input);
    return true;
}

/* The recorded program under its own name in the folder of the profile, kept there on purpose. Only a build
 * ID proves that it is the one. */
static bool profile_input_open_beside(struct profile_input *input)
{
    const struct profile_about *about = &input->profile->about;
    size_t folder = (size_t)(name_of_file(input->file) - input->file);
    char path[4096], why[sizeof input->no_names];
    struct error ignored = {0};
    if (about->build_id == NULL || snprintf(path, sizeof path, "%.*s%s", (int)folder, input->file,
                                            name_of_file(about->elf)) >= (int)sizeof path)
        return false;
    memcpy(why, input->no_names, sizeof why);
    input->no_names[0] = '\0'; /* if it is found, its own remarks count */
    bool found = open_one(input, path, &ignored);
    if (!found)
        memcpy(input->no_names, why, sizeof why);
    return found;
}

static void open_recorded(struct profile_input *input)
{
    struct error missing = {0};
    const char *elf = input->profile->about.elf;
    if (elf == NULL) {
        snprintf(input->no_names, sizeof input->no_names, "No program was named to record");
        return;
    }
    if (open_one(input, elf, &missing))
        return;
    if (missing.kind != ERROR_NONE)
        snprintf(input->no_names, sizeof input->no_names, "%.300s", missing.text);
    profile_input_open_beside(input);
}

bool profile_input_open(struct profile_input *input, const char *file, const char *elf, uint64_t load_offset,
                        const volatile sig_atomic_t *cancel, struct error *error)
{
    *input = (struct profile_input){.file = file};
    if (!profile_file_read(file, cancel, &input->profile, error))
        return false;
    input->load_offset = load_offset != 0 ? load_offset : input->profile->about.load_offset;
    if (elf == NULL)
        open_recorded(input);
    return elf == NULL || open_one(input, elf, error) || input->no_names[0] != '\0';
}

void profile_input_close(struct profile_input *input)
{
    drop_symbols(input);
    profile_file_free(input->profile);
    input->profile = NULL;
}

/* ---- profiling */

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

bool profiling_wrote(int result, struct error *error)
{
    return result == 0 ||
           error_set(error, ERROR_SYSTEM, "the profile could not be written: %s", strerror(-result));
}

bool profiling_end(FILE *out, double elapsed_s, uint64_t samples, const struct error *why, bool cancelled,
                   struct error *error)
{
    bool failed = why->kind != ERROR_NONE;
    char lost[] = "lost", interrupt[] = "Ctrl-C", time[] = "time", text[sizeof why->text];
    error_on_one_line(why, text, sizeof text);
    const struct profile_end end = {.known = true,
                                    .elapsed_s = elapsed_s,
                                    .samples = samples,
                                    .why = failed      ? lost
                                           : cancelled ? interrupt
                                                       : time,
                                    .error = failed ? text : NULL};
    return profiling_wrote(profile_file_end(out, &end), error);
}

bool profiling_sort(const struct options *options, bool contexts, enum shares_sort *out, struct error *error)
{
    static const char *const names[SHARES_SORTS] = {
        [SHARES_FUNCTION] = "function", [SHARES_LINE] = "line", [SHARES_FILE] = "file",
        [SHARES_ADDRESS] = "address",   [SHARES_TASK] = "task", [SHARES_EXCEPTION] = "exception",
        [SHARES_PROCESS] = "context"};
    for (int sort = 0; sort < (contexts ? SHARES_SORTS : SHARES_CONTEXTS); sort++)
        if (options->sort == NULL || strcmp(options->sort, names[sort]) == 0) {
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

struct profile_report profiling_report(const struct profile_side *side)
{
    return (struct profile_report){.profile = side->input.profile,
                                   .file = side->input.file,
                                   .elf = side->input.elf,
                                   .no_names = side->no_names,
                                   .shares = side->shares,
                                   .n = side->input.profile->about.core_count};
}

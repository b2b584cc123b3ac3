/* `report`: the shares of a profile that `record` wrote. No target is touched. */
#include "commands/command.h"
#include "commands/profiling.h"
#include "profile/call_tree.h"
#include "profile/shares.h"
#include "report/annotation_table.h"
#include "report/profile_table.h"
#include "report/stack_formats.h"
#include "report/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* `annotate`: a function's source lines and instructions with their shares. No target is touched. */

static bool annotate_find_function(const struct context *context, const struct profile_input *input,
                                   uint64_t *address, struct error *error)
{
    struct location at;
    if (input->symbols == NULL)
        return error_advise(error, ERROR_ELF,
                            context->options->request.elf != NULL
                                ? "annotate reads the code in the file that was recorded."
                                : "annotate reads the code in the file that was recorded: say with --elf "
                                  "where it is now.",
                            "%s", input->no_names);
    if (!symbols_locate(input->symbols, context->options->operands[0], &at, error))
        return false;
    *address = at.address;
    return true;
}

static bool annotate_print(const struct context *context, const struct annotation_report *report)
{
    struct rendering to = command_rendering(context);
    to.uncut = !isatty(fileno(to.out));
    return annotation_write(&to, report);
}

int command_annotate(const struct context *context, struct error *error)
{
    const struct options *options = context->options;
    const char *file = options->n_operands > 1 ? options->operands[1] : PROFILE_NAME;
    struct profile_input input;
    struct annotated_function function = {.built = 0};
    uint64_t address = 0;
    bool ok = profile_input_open(&input, file, options->request.elf, options->request.load_offset,
                                 context->around.cancel, error) &&
              annotate_find_function(context, &input, &address, error) &&
              annotated_function_make(input.profile, input.symbols, input.elf, address, &function, error);
    if (ok) {
        const struct annotation_report report = {.profile = input.profile,
                                                 .file = input.file,
                                                 .elf = input.elf,
                                                 .no_names = input.no_names,
                                                 .function = &function,
                                                 .command = &options->typed,
                                                 .hot = options->request.hot};
        ok = annotate_print(context, &report) || ferror(context->out) ||
             error_set(error, ERROR_SYSTEM, "out of memory");
    }
    annotated_function_free(&function);
    profile_input_close(&input);
    return ok ? EXIT_DONE : error_exit_code(error->kind);
}

/* ---- report */

/* A profile, and what is made of it. */
struct side {
    struct profile_input input;
    struct shares *shares; /* of each core */
    char no_names[640];    /* why there are none, and what that means */
};

struct report_command {
    const struct context *context;
    enum shares_sort sort;
    struct side now, old; /* old: of --diff */
    struct shares_diff *diffs;
    size_t diff_count;
    bool has_stacks;
    struct stacks stacks;
};

static bool report_make_shares(struct side *side, enum shares_sort sort, struct error *error)
{
    const struct profile *profile = side->input.profile;
    size_t n = profile->about.core_count;
    side->shares = calloc(n, sizeof *side->shares);
    bool ok = side->shares != NULL;
    for (size_t i = 0; i < n && ok; i++)
        ok = shares_make(profile, (unsigned)i, sort, side->input.symbols, &side->shares[i]);
    return ok || error_set(error, ERROR_SYSTEM, "out of memory");
}

static void close_side(struct side *side)
{
    for (size_t i = 0; side->shares != NULL && i < side->input.profile->about.core_count; i++)
        shares_free(&side->shares[i]);
    free(side->shares);
    profile_input_close(&side->input);
}

/* Formats that are made of stacks. NULL: it is none. */
static bool (*stack_writer(const struct report_command *self))(FILE *, const struct stack_report *)
{
    enum format format = self->context->options->format;
    return format == FORMAT_FOLDED && self->has_stacks ? stacks_folded
           : format == FORMAT_CALLGRIND                ? stacks_callgrind
           : format == FORMAT_PERF                     ? stacks_perf
                                                       : NULL;
}

static bool print_stacks(struct report_command *self, struct error *error)
{
    enum format format = self->context->options->format;
    if (!stacks_make(self->now.input.profile, self->now.input.symbols, format == FORMAT_PERF, &self->stacks))
        return error_set(error, ERROR_SYSTEM, "out of memory");
    const struct stack_report report = {
        .profile = self->now.input.profile, .stacks = &self->stacks, .elf = self->now.input.elf};
    bool ok = stack_writer(self)(self->context->out, &report) || ferror(self->context->out);
    return ok || error_set(error, ERROR_SYSTEM, "out of memory");
}

static void note_names(const struct report_command *self, struct side *side)
{
    bool by_address = side->input.symbols == NULL, given = self->context->options->request.elf != NULL;
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

static void tell_names(const struct report_command *self, const struct side *side)
{
    const struct options *options = self->context->options;
    char clean[UTF8_CLEAN_ROOM(sizeof side->no_names)];
    if (!has_notes(options->format) && side->no_names[0] != '\0' && !options->request.quiet)
        fprintf(stderr, "pmu-probe: %s\n", terminal_text(clean, sizeof clean, side->no_names));
}

static struct profile_report report_of(const struct report_command *self, const struct side *side)
{
    return (struct profile_report){.profile = side->input.profile,
                                   .file = side->input.file,
                                   .elf = side->input.elf,
                                   .no_names = side->no_names,
                                   .shares = side->shares,
                                   .n = side->input.profile->about.core_count,
                                   .command = &self->context->options->typed};
}

/* Of call stacks: what each function has with all that it calls. */
static bool add_children(struct report_command *self, struct error *error)
{
    const struct profile_input *input = &self->now.input;
    bool ok = true;
    if (!self->has_stacks)
        return true;
    ok = stacks_make(input->profile, input->symbols, false, &self->stacks);
    for (size_t i = 0; i < input->profile->about.core_count && ok; i++)
        if (self->sort == SHARES_FUNCTION && input->symbols != NULL)
            ok = call_tree_add_children(&self->stacks, &self->now.shares[i]);
    return ok || error_set(error, ERROR_SYSTEM, "out of memory");
}

/* That all of it could be written is checked with the output, as for each command. */
static bool print_shares(struct report_command *self, struct error *error)
{
    const struct options *options = self->context->options;
    if (!report_make_shares(&self->now, self->sort, error) || !add_children(self, error))
        return false;
    struct profile_report report = report_of(self, &self->now);
    report.calls = options->request.stacks ? &self->stacks : NULL;
    const struct rendering to = command_rendering(self->context);
    return profile_write(&to, &report) || ferror(to.out) || error_set(error, ERROR_SYSTEM, "out of memory");
}

static bool print_page(struct report_command *self, struct error *error)
{
    const struct side *side = &self->now;
    if (!report_make_shares(&self->now, SHARES_FUNCTION, error))
        return false;
    const struct profile_report report = report_of(self, side);
    return profiling_page(self->context->out, &report, side->input.symbols, error);
}

/* ---- --diff */

/* Its program is found as the new one's; if that is the same build, --elf is for both. */
static bool open_old(struct report_command *self, struct error *error)
{
    const struct options *options = self->context->options;
    struct profile_input *old = &self->old.input;
    if (!profile_input_open(old, options->diff, NULL, 0, self->context->around.cancel, error))
        return false;
    if (old->symbols != NULL || options->request.elf == NULL)
        return true;
    profile_input_close(old);
    return profile_input_open(old, options->diff, options->request.elf, 0, self->context->around.cancel,
                              error);
}

/* Addresses are the same only in the same program; names need both programs. */
static bool report_check_pair(const struct report_command *self, struct error *error)
{
    const struct profile_input *now = &self->now.input, *old = &self->old.input;
    const char *build = now->profile->about.build_id, *its = old->profile->about.build_id;
    bool same = build != NULL && its != NULL && strcmp(build, its) == 0;
    if (same && (now->symbols == NULL) == (old->symbols == NULL))
        return true;
    if (now->symbols != NULL && old->symbols != NULL)
        return self->sort != SHARES_ADDRESS ||
               error_set(error, ERROR_USAGE,
                         "--sort address: no build id says that both profiles are of one program, so their "
                         "addresses cannot be compared");
    const struct profile_input *lacks = now->symbols == NULL ? now : old;
    return error_advise(error, ERROR_ELF,
                        "Two builds are compared by names. Keep a copy of each program in the folder of its "
                        "profile.",
                        "%.300s: %s", lacks->file, lacks->no_names);
}

static bool make_diffs(struct report_command *self, struct error *error)
{
    size_t n = self->now.input.profile->about.core_count, its = self->old.input.profile->about.core_count;
    n = n < its ? n : its;
    self->diffs = calloc(n, sizeof *self->diffs);
    bool ok = self->diffs != NULL;
    for (size_t i = 0; i < n && ok; i++) {
        ok = shares_diff_make(&self->now.shares[i], &self->old.shares[i], &self->diffs[i]);
        self->diff_count += ok;
    }
    return ok || error_set(error, ERROR_SYSTEM, "out of memory");
}

static bool print_diff(struct report_command *self, struct error *error)
{
    note_names(self, &self->old);
    tell_names(self, &self->old);
    if (!report_make_shares(&self->now, self->sort, error) ||
        !report_make_shares(&self->old, self->sort, error) || !make_diffs(self, error))
        return false;
    const struct profile_report now = report_of(self, &self->now), old = report_of(self, &self->old);
    const struct profile_diff_report report = {
        .now = &now, .old = &old, .diffs = self->diffs, .n = self->diff_count};
    const struct rendering to = command_rendering(self->context);
    return profile_diff_write(&to, &report) || ferror(to.out) ||
           error_set(error, ERROR_SYSTEM, "out of memory");
}

/* ---- all */

static bool is_table(enum format format)
{
    return format == FORMAT_TEXT || format == FORMAT_JSON || format == FORMAT_CSV ||
           format == FORMAT_MARKDOWN;
}

static bool check_output(const struct report_command *self, struct error *error)
{
    const struct options *options = self->context->options;
    bool table = is_table(options->format) || options->format == FORMAT_HTML;
    if (options->diff != NULL && !table)
        return error_set(error, ERROR_USAGE, "report --diff prints text, JSON, CSV, Markdown or HTML");
    return true;
}

static bool report_print(struct report_command *self, struct error *error)
{
    const struct options *options = self->context->options;
    note_names(self, &self->now);
    tell_names(self, &self->now);
    return stack_writer(self) != NULL       ? print_stacks(self, error)
           : options->diff != NULL          ? print_diff(self, error)
           : options->format == FORMAT_HTML ? print_page(self, error)
                                            : print_shares(self, error);
}

/* Contexts are shown as a table only. */
static bool check_contexts(const struct report_command *self, const struct profile_input *input,
                           struct error *error)
{
    if (self->sort < SHARES_CONTEXTS)
        return true;
    if (!is_table(self->context->options->format))
        return error_set(error, ERROR_USAGE, "--sort %s: as text, JSON, CSV or Markdown",
                         profile_row_kind(self->sort));
    static const char *const advice[PROFILE_CONTEXTS] = {
        [PROFILE_EXCEPTIONS] = "record has them of a Cortex-M.",
        [PROFILE_TASKS] = "Record them, of a Cortex-M: pmu-probe --elf app.elf record --task VARIABLE",
        [PROFILE_PROCESSES] =
            ("record without --every has them of a Cortex-A or R whose samples have CONTEXTIDR; "
             "those of a Cortex-A9 do not.")};
    enum profile_context kind = shares_context(self->sort);
    return input->profile->contexts[kind].interval_count > 0 ||
           error_advise(error, ERROR_USAGE, advice[kind], "--sort %s: %.200s has none",
                        profile_row_kind(self->sort), input->file);
}

int command_report(const struct context *context, struct error *error)
{
    const struct options *options = context->options;
    const char *file = options->n_operands > 0 ? options->operands[0] : PROFILE_NAME;
    struct report_command self = {.context = context};
    bool ok = profiling_sort(options, true, &self.sort, error) && check_output(&self, error) &&
              profile_input_open(&self.now.input, file, options->request.elf, options->request.load_offset,
                                 context->around.cancel, error) &&
              check_contexts(&self, &self.now.input, error);
    self.has_stacks = ok && stacks_are_in(self.now.input.profile);
    if (ok && options->request.stacks && !self.has_stacks)
        ok = error_advise(error, ERROR_USAGE, "Record them: pmu-probe --elf app.elf record -g --every 100k",
                          "-g: %.200s has no call stacks", file);
    if (ok && options->diff != NULL)
        ok = open_old(&self, error) && report_check_pair(&self, error) &&
             check_contexts(&self, &self.old.input, error);
    ok = ok && report_print(&self, error);
    for (size_t i = 0; i < self.diff_count; i++)
        shares_diff_free(&self.diffs[i]);
    free(self.diffs);
    stacks_free(&self.stacks);
    close_side(&self.now);
    close_side(&self.old);
    return ok ? EXIT_DONE : error_exit_code(error->kind);
}

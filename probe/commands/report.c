/* SPDX-License-Identifier: MIT */
/* `report`: the shares of a profile that `record` wrote. No target is touched. */
#include "commands/command.h"
#include "commands/profiling.h"
#include "profile/call_tree.h"
#include "profile/shares.h"
#include "report/profile_table.h"
#include "report/stack_formats.h"
#include "report/terminal.h"

#include <stdlib.h>
#include <string.h>

struct report_command {
    const struct context *context;
    enum shares_sort sort;
    struct profile_side now;
    bool has_stacks;
    struct stacks stacks;
};

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
        return error_memory(error);
    const struct stack_report report = {
        .profile = self->now.input.profile, .stacks = &self->stacks, .elf = self->now.input.elf};
    bool ok = stack_writer(self)(self->context->out, &report) || ferror(self->context->out);
    return ok || error_memory(error);
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
    return ok || error_memory(error);
}

/* That all of it could be written is checked with the output, as for each command. */
static bool print_shares(struct report_command *self, struct error *error)
{
    const struct options *options = self->context->options;
    if (!profiling_make_shares(&self->now, self->sort, error) || !add_children(self, error))
        return false;
    struct profile_report report = profiling_report(&self->now);
    report.calls = options->request.stacks ? &self->stacks : NULL;
    const struct rendering to = command_rendering(self->context);
    return profile_write(&to, &report) || ferror(to.out) || error_memory(error);
}

static bool print_page(struct report_command *self, struct error *error)
{
    const struct profile_side *side = &self->now;
    if (!profiling_make_shares(&self->now, SHARES_FUNCTION, error) || !add_children(self, error))
        return false;
    const struct profile_report report = profiling_report(side);
    const struct rendering to = command_rendering(self->context);
    return profiling_page(&to, &report, side->input.symbols, error);
}

static bool is_table(enum format format)
{
    return format == FORMAT_TEXT || format == FORMAT_JSON || format == FORMAT_CSV ||
           format == FORMAT_MARKDOWN;
}

static bool report_print(struct report_command *self, struct error *error)
{
    const struct options *options = self->context->options;
    profiling_tell_names(options, &self->now);
    return stack_writer(self) != NULL       ? print_stacks(self, error)
           : options->format == FORMAT_HTML ? print_page(self, error)
                                            : print_shares(self, error);
}

/* Contexts are shown as a table only. */
static bool check_contexts(const struct report_command *self, struct error *error)
{
    const struct profile_input *input = &self->now.input;
    if (self->sort < SHARES_CONTEXTS)
        return true;
    if (!is_table(self->context->options->format))
        return error_set(error, ERROR_USAGE, "--sort %s: as text, JSON, CSV or Markdown",
                         profile_row_kind(self->sort));
    static const char *const advice[PROFILE_CONTEXTS] = {
        [PROFILE_EXCEPTIONS] = "record has them of a Cortex-M.",
        [PROFILE_TASKS] = "Record them, of a Cortex-M: pmu-probe --elf FILE record --task VARIABLE",
        [PROFILE_PROCESSES] = ("record without --every has them of a Cortex-A or R whose samples have "
                               "CONTEXTIDR (not Cortex-A9).")};
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
    bool ok = profiling_sort(options, true, &self.sort, error) &&
              profile_input_open(&self.now.input, file, options->request.elf, options->request.load_offset,
                                 context->around.cancel, error) &&
              check_contexts(&self, error);
    self.has_stacks = ok && stacks_are_in(self.now.input.profile);
    if (ok && options->request.stacks && !self.has_stacks)
        ok = error_advise(error, ERROR_USAGE, "Record them: pmu-probe --elf FILE record -g",
                          "-g: %.200s has no call stacks", file);
    ok = ok && report_print(&self, error);
    stacks_free(&self.stacks);
    profiling_close_side(&self.now);
    return ok ? EXIT_DONE : error_exit_code(error->kind);
}

/* `report`: the shares of a profile that `record` wrote. No target is touched. */
#include "commands/command.h"
#include "commands/profile_input.h"
#include "commands/profiling.h"
#include "profile/shares.h"
#include "report/profile_table.h"
#include "report/stack_formats.h"
#include "report/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct report_command {
    const struct context *context;
    enum shares_sort sort;
    struct profile_input input;
    struct shares *shares; /* of each core */
    char no_names[640];    /* why there are none, and what that means */
};

static bool make_shares(struct report_command *self, struct error *error)
{
    size_t n = self->input.profile->about.core_count;
    self->shares = calloc(n, sizeof *self->shares);
    bool ok = self->shares != NULL;
    for (size_t i = 0; i < n && ok; i++)
        ok = shares_make(self->input.profile, (unsigned)i, self->sort, self->input.symbols, &self->shares[i]);
    return ok || error_set(error, ERROR_SYSTEM, "out of memory");
}

/* Formats that are made of stacks. NULL: it is none. */
static bool (*stack_writer(enum format format))(FILE *, const struct stack_report *)
{
    return format == FORMAT_PPROF       ? stacks_pprof
           : format == FORMAT_CALLGRIND ? stacks_callgrind
           : format == FORMAT_PERF      ? stacks_perf
                                        : NULL;
}

static bool print_stacks(const struct report_command *self, struct error *error)
{
    enum format format = self->context->options->format;
    struct stacks stacks;
    if (!stacks_make(self->input.profile, self->input.symbols, format == FORMAT_PERF, &stacks))
        return error_set(error, ERROR_SYSTEM, "out of memory");
    const struct stack_report report = {
        .profile = self->input.profile, .stacks = &stacks, .elf = self->input.elf};
    bool ok = stack_writer(format)(self->context->out, &report) || ferror(self->context->out);
    stacks_free(&stacks);
    return ok || error_set(error, ERROR_SYSTEM, "out of memory");
}

static void note_names(struct report_command *self)
{
    bool by_address = self->input.symbols == NULL, given = self->context->options->elf != NULL;
    snprintf(self->no_names, sizeof self->no_names, "%s%s%s", self->input.no_names,
             by_address ? ", so shares are by address" : "",
             by_address && !given ? ": name the program with --elf" : "");
}

/* Text and JSON have it among their notes. */
static void tell_names(const struct report_command *self)
{
    const struct options *options = self->context->options;
    char clean[UTF8_CLEAN_ROOM(sizeof self->no_names)];
    if (options->format != FORMAT_TEXT && options->format != FORMAT_JSON && self->no_names[0] != '\0' &&
        !options->quiet)
        fprintf(stderr, "pmu-probe: %s\n", terminal_text(clean, sizeof clean, self->no_names));
}

/* That all of it could be written is checked with the output, as for each command. */
static void print_report(const struct report_command *self)
{
    const struct options *options = self->context->options;
    const struct profile_report report = {.profile = self->input.profile,
                                          .file = self->input.file,
                                          .elf = self->input.elf,
                                          .no_names = self->no_names,
                                          .shares = self->shares,
                                          .n = self->input.profile->about.core_count};
    FILE *out = self->context->out;
    if (options->format == FORMAT_JSON)
        profile_json(out, &report);
    else if (options->format == FORMAT_CSV)
        profile_csv(out, &report, options->separator[0]);
    else if (options->format == FORMAT_FOLDED)
        profile_folded(out, &report);
    else
        profile_text(out, &report);
}

static bool print_shares(struct report_command *self, struct error *error)
{
    bool ok = make_shares(self, error);
    if (ok)
        print_report(self);
    return ok;
}

static bool check_output(const struct report_command *self, struct error *error)
{
    return self->context->options->format != FORMAT_PPROF || !isatty(fileno(self->context->out)) ||
           error_set(error, ERROR_USAGE, "pprof is no text: name a file for it, with -o profile.pb.gz");
}

int command_report(const struct context *context, struct error *error)
{
    const struct options *options = context->options;
    const char *file = options->n_operands > 0 ? options->operands[0] : PROFILE_NAME;
    struct report_command self = {.context = context};
    bool ok = profiling_sort(options, &self.sort, error) && check_output(&self, error) &&
              profile_input_open(&self.input, file, options->elf, context->cancel, error);
    if (ok) {
        note_names(&self);
        tell_names(&self);
        ok = stack_writer(options->format) != NULL ? print_stacks(&self, error) : print_shares(&self, error);
    }
    for (size_t i = 0; self.shares != NULL && i < self.input.profile->about.core_count; i++)
        shares_free(&self.shares[i]);
    free(self.shares);
    profile_input_close(&self.input);
    return ok ? EXIT_DONE : error_exit_code(error->kind);
}

/* `report`: the shares of a profile that `record` wrote. No target is touched. */
#include "commands/command.h"
#include "commands/profiling.h"
#include "profile/shares.h"
#include "report/profile_file.h"
#include "report/profile_table.h"
#include "report/stack_formats.h"
#include "report/terminal.h"
#include "symbols/symbols.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct report_command {
    const struct context *context;
    enum shares_sort sort;
    const char *file, *elf; /* elf: whose names are used; NULL: none */
    struct profile *profile;
    struct symbols *symbols;
    struct shares *shares; /* of each core */
    char no_names[512];
};

/* An ELF of another build would give wrong names: as with perf, shares are by address then. */
static void compare_builds(struct report_command *self)
{
    const char *recorded = self->profile->about.build_id;
    const char *given = symbols_build_id(self->symbols);
    if (recorded != NULL && strcmp(recorded, given) != 0) {
        snprintf(self->no_names, sizeof self->no_names,
                 "%.200s is not the program that was recorded (build id %.40s, not %.40s), so shares are by "
                 "address",
                 self->elf, given[0] != '\0' ? given : "missing", recorded);
        symbols_close(self->symbols);
        self->symbols = NULL;
        self->elf = NULL;
    } else if (recorded == NULL && self->profile->about.elf != NULL) {
        snprintf(self->no_names, sizeof self->no_names,
                 "The recorded program had no build id: names are right if %.200s has not been built anew",
                 self->elf);
    } else if (recorded == NULL) {
        snprintf(self->no_names, sizeof self->no_names,
                 "No program was named to record: names are right if it was %.200s", self->elf);
    }
}

/* The file that --elf names must be usable; one that only the profile names may be gone. */
static bool open_symbols(struct report_command *self, struct error *error)
{
    struct error missing = {0};
    const char *given = self->context->options->elf;
    self->elf = given != NULL ? given : self->profile->about.elf;
    if (self->elf == NULL) {
        snprintf(self->no_names, sizeof self->no_names,
                 "No program was named to record, so shares are by address: name it with --elf");
        return true;
    }
    self->symbols = symbols_open(self->elf, given != NULL ? error : &missing);
    if (self->symbols != NULL) {
        compare_builds(self);
        return true;
    }
    if (given != NULL)
        return false;
    snprintf(self->no_names, sizeof self->no_names,
             "%.300s, so shares are by address: name the program with --elf", missing.text);
    self->elf = NULL;
    return true;
}

static bool make_shares(struct report_command *self, struct error *error)
{
    size_t n = self->profile->about.core_count;
    self->shares = calloc(n, sizeof *self->shares);
    bool ok = self->shares != NULL;
    for (size_t i = 0; i < n && ok; i++)
        ok = shares_make(self->profile, (unsigned)i, self->sort, self->symbols, &self->shares[i]);
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
    if (!stacks_make(self->profile, self->symbols, format == FORMAT_PERF, &stacks))
        return error_set(error, ERROR_SYSTEM, "out of memory");
    const struct stack_report report = {.profile = self->profile, .stacks = &stacks, .elf = self->elf};
    bool ok = stack_writer(format)(self->context->out, &report) || ferror(self->context->out);
    stacks_free(&stacks);
    return ok || error_set(error, ERROR_SYSTEM, "out of memory");
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
    const struct profile_report report = {.profile = self->profile,
                                          .file = self->file,
                                          .elf = self->elf,
                                          .no_names = self->no_names,
                                          .shares = self->shares,
                                          .n = self->profile->about.core_count};
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
    struct report_command self = {.context = context,
                                  .file = options->n_operands > 0 ? options->operands[0] : PROFILE_NAME};
    bool ok = profiling_sort(options, &self.sort, error) && check_output(&self, error) &&
              profile_file_read(self.file, context->cancel, &self.profile, error) &&
              open_symbols(&self, error);
    if (ok) {
        tell_names(&self);
        ok = stack_writer(options->format) != NULL ? print_stacks(&self, error) : print_shares(&self, error);
    }
    for (size_t i = 0; self.shares != NULL && i < self.profile->about.core_count; i++)
        shares_free(&self.shares[i]);
    free(self.shares);
    symbols_close(self.symbols);
    profile_file_free(self.profile);
    return ok ? EXIT_DONE : error_exit_code(error->kind);
}

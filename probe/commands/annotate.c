/* SPDX-License-Identifier: MIT */
/* annotate: a function's source lines and instructions with their shares. No target is touched. */
#include "commands/command.h"
#include "commands/profiling.h"
#include "report/annotation_table.h"

#include <stdio.h>
#include <unistd.h>

static bool annotate_find_function(const struct context *context, const struct profile_input *input,
                                   uint64_t *address, struct error *error)
{
    struct location at;
    if (input->symbols == NULL)
        return error_advise(error, ERROR_ELF,
                            "annotate reads the recorded program's code: --elf says where it is.", "%s",
                            input->no_names);
    if (!symbols_locate(input->symbols, context->options->operands[0], &at, error))
        return false;
    *address = at.address;
    return true;
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
                                                 .hot = options->request.hot};
        struct rendering to = command_rendering(context);
        to.uncut = !isatty(fileno(to.out));
        ok = annotation_write(&to, &report) || ferror(context->out) || error_memory(error);
    }
    annotated_function_free(&function);
    profile_input_close(&input);
    return ok ? EXIT_DONE : error_exit_code(error->kind);
}

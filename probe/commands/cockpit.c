/* SPDX-License-Identifier: MIT */
#include "commands/cockpit.h"

#include "commands/profiling.h"
#include "report/annotation_table.h"
#include "report/render.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { MEASURED_MS = 2000, MEASURED_CALLS = 100 };

/* What the options of the command are in place of top's: it ends in time, also while it waits for a call. */
static struct options cockpit_options_for(const struct options *options, const char *operand)
{
    struct options out = *options;
    double most_s = (double)patience_ms(MEASURED_MS) / 1000;
    out.operands[0] = operand;
    out.n_operands = 1;
    out.format = FORMAT_TEXT;
    out.request.hits = MEASURED_CALLS;
    out.request.for_s = 0.8 * MEASURED_MS / 1000; /* top's is of the samples */
    out.request.timeout_s = fmin(out.request.timeout_s, 0.7 * most_s);
    out.request.quiet = true;
    return out;
}

static void put_failure(const struct rendering *to, const char *name, const struct error *why)
{
    if (why->kind == ERROR_CANCELLED)
        render_text(to, "No call of %s ended in this time. delta and lines wait longer.", name);
    else if (why->kind != ERROR_NONE) {
        render_text(to, "%s", why->text);
        render_text(to, "%s", error_advice(why));
    }
}

bool cockpit_measure(struct top_run *run, const struct context *context, struct screen *screen,
                     const struct progress *progress, const struct location *function, top_way *way,
                     char **text, struct error *error)
{
    char operand[32];
    size_t size;
    struct error why = {0};
    volatile sig_atomic_t stop = 0;
    FILE *out = open_memstream(text, &size);
    if (out == NULL)
        return error_memory(error);
    snprintf(operand, sizeof operand, "*0x%" PRIx64, function->low);
    const struct options options = cockpit_options_for(context->options, operand);
    struct context inner = *context;
    inner.options = &options;
    inner.out = out;
    inner.columns = canvas_columns(screen->out);
    inner.progress = progress;
    inner.around.cancel = &stop;
    screen->stop_us = deadline_host_us() + 1000 * patience_ms(MEASURED_MS);
    screen->stop = &stop;
    bool ok = top_run_measure(run, &options.request, &inner.around, way, &inner, &why, error);
    screen->stop = NULL;
    const struct rendering to = command_rendering(&inner);
    put_failure(&to, function->name, &why);
    return fclose(out) == 0 ? ok : error_memory(error);
}

bool cockpit_annotate(const struct top_run *run, const struct location *function, size_t columns, char **text,
                      struct error *error)
{
    const struct pc_samples *pc_samples = &run->pc_samples;
    const struct profile *profile = &run->rolling.profile;
    struct annotated_function annotated = {.built = 0};
    size_t size;
    FILE *out = open_memstream(text, &size);
    if (out == NULL)
        return error_memory(error);
    bool ok = annotated_function_make(profile, pc_samples->session.symbols, profile->about.elf, function->low,
                                      &annotated, error);
    if (ok) {
        const struct annotation_report report = {.profile = profile,
                                                 .file = "",
                                                 .elf = profile->about.elf,
                                                 .no_names = "",
                                                 .function = &annotated};
        const struct rendering to = {.out = out, .format = FORMAT_TEXT, .columns = columns};
        ok = annotation_write(&to, &report) || error_memory(error);
    }
    annotated_function_free(&annotated);
    return fclose(out) == 0 && ok;
}

static bool cockpit_write_page(FILE *out, const struct pc_samples *pc_samples, const struct profile *profile,
                               struct shares *shares, struct error *error)
{
    struct symbols *symbols = pc_samples->session.symbols;
    const struct profile_report report = {.profile = profile,
                                          .file = "of top",
                                          .elf = profile->about.elf,
                                          .no_names = "",
                                          .shares = shares,
                                          .n = pc_samples->n};
    const struct rendering to = {.out = out, .format = FORMAT_HTML};
    bool ok = true;
    for (size_t i = 0; i < pc_samples->n && ok; i++)
        ok = shares_make(profile, (unsigned)i, SHARES_FUNCTION, symbols, &shares[i]);
    ok = ok ? profiling_page(&to, &report, symbols, error) : error_memory(error);
    for (size_t i = 0; i < pc_samples->n; i++)
        shares_free(&shares[i]);
    return ok;
}

bool cockpit_page(const struct top_run *run, const char *file, struct error *error)
{
    const struct pc_samples *pc_samples = &run->pc_samples;
    struct output output;
    bool left;
    struct shares *shares = calloc(pc_samples->n, sizeof *shares);
    if (shares == NULL)
        return error_memory(error);
    bool ok = output_open(&output, file, OUTPUT_REPLACES, pc_samples->session.around->cancel, error);
    if (ok) {
        output.keeps_old = true;
        ok = cockpit_write_page(output.file, pc_samples, &run->rolling.profile, shares, error);
        ok = output_close(&output, ok ? KEEP_ALL : KEEP_NOTHING, &left, error) && ok;
    }
    free(shares);
    return ok;
}

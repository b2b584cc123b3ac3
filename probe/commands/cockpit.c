#include "commands/cockpit.h"

#include "commands/profiling.h"

#include "report/annotation_table.h"
#include "report/profile_table.h"
#include "report/terminal.h"
#include "run/session.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *cockpit_refuses(const struct pc_samples *pc_samples)
{
    const struct session *session = &pc_samples->session;
    const struct core *core = &session->device.chosen->core;
    if (session->request->all_cpus)
        return "-a samples all cores: -C N takes one, and measures on it";
    if (pc_samples->by_halts)
        return "a GDB server has the core: pmu-probe delta measures through it";
    if (!core_has_run_control(core))
        return "nothing can stop this core";
    return core->comparators > 0 ? NULL : "this core has no breakpoints";
}

/* ---- measurements */

/* What the options of the command are in place of top's. */
static struct options cockpit_options_for(const struct options *options, const char *operand)
{
    struct options out = *options;
    out.operands[0] = operand;
    out.n_operands = 1;
    out.format = FORMAT_TEXT;
    out.request.for_s = 0; /* top's is of the samples */
    out.request.quiet = true;
    return out;
}

/* What it has kept in the session is of this measurement alone. */
static void cockpit_forget(struct session *session)
{
    memset(&session->measured, 0, sizeof session->measured);
    session->stop_named = false;
    session->clock.change[0] = '\0';
}

static bool cockpit_measure_in_between(struct pc_samples *pc_samples, const struct context *inner,
                                       cockpit_way *way, struct error *why, struct error *error)
{
    struct session *session = &pc_samples->session;
    int number = (int)pc_samples->cores[0].number;
    if (!pc_samples_pause(pc_samples, error) || !session_look_again(session, number, error))
        return false;
    const struct request *request = session->request;
    session->may_stop = true;
    session->request = &inner->options->request;
    (void)way(session, inner, why);
    session->request = request;
    cockpit_forget(session);
    if (why->kind == ERROR_LINK_LOST || why->kind == ERROR_FOREIGN_STOP || why->kind == ERROR_CANCELLED)
        return error_copy(error, why);
    if (*session->around->cancel != 0)
        return error_set(error, ERROR_CANCELLED, "cancelled");
    session->may_stop = false;
    return session_look_again(session, number, error) && pc_samples_go_on(pc_samples, error);
}

static void put_failure(const struct rendering *to, const struct error *why)
{
    if (why->kind == ERROR_NONE)
        return;
    render_text(to, why->text);
    render_text(to, error_advice(why));
}

bool cockpit_measure(struct pc_samples *pc_samples, const struct context *context,
                     const struct location *function, cockpit_way *way, size_t columns, char **text,
                     struct error *error)
{
    char operand[32];
    size_t size;
    struct error why = {0};
    FILE *out = open_memstream(text, &size);
    if (out == NULL)
        return error_set(error, ERROR_SYSTEM, "out of memory");
    snprintf(operand, sizeof operand, "*0x%" PRIx64, function->low);
    const struct options options = cockpit_options_for(context->options, operand);
    struct context inner = *context;
    inner.options = &options;
    inner.out = out;
    inner.columns = columns;
    bool ok = cockpit_measure_in_between(pc_samples, &inner, way, &why, error);
    const struct rendering to = command_rendering(&inner);
    put_failure(&to, &why);
    return fclose(out) == 0 ? ok : error_set(error, ERROR_SYSTEM, "out of memory");
}

/* ---- samples */

bool cockpit_annotate(const struct pc_samples *pc_samples, const struct profile *profile,
                      const struct location *function, size_t columns, char **text, struct error *error)
{
    struct annotated_function annotated = {.built = 0};
    size_t size;
    FILE *out = open_memstream(text, &size);
    if (out == NULL)
        return error_set(error, ERROR_SYSTEM, "out of memory");
    bool ok = annotated_function_make(profile, pc_samples->session.symbols, profile->about.elf, function->low,
                                      &annotated, error);
    if (ok) {
        const struct annotation_report report = {.profile = profile,
                                                 .file = "",
                                                 .elf = profile->about.elf,
                                                 .no_names = "",
                                                 .function = &annotated};
        const struct rendering to = {.out = out, .format = FORMAT_TEXT, .columns = columns};
        ok = annotation_write(&to, &report) || error_set(error, ERROR_SYSTEM, "out of memory");
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
    bool ok = true;
    for (size_t i = 0; i < pc_samples->n && ok; i++)
        ok = shares_make(profile, (unsigned)i, SHARES_FUNCTION, symbols, &shares[i]);
    ok = ok ? profiling_page(out, &report, symbols, error) : error_set(error, ERROR_SYSTEM, "out of memory");
    for (size_t i = 0; i < pc_samples->n; i++)
        shares_free(&shares[i]);
    return ok;
}

bool cockpit_page(const struct pc_samples *pc_samples, const struct profile *profile, const char *file,
                  struct error *error)
{
    struct output output;
    bool left;
    struct shares *shares = calloc(pc_samples->n, sizeof *shares);
    if (shares == NULL)
        return error_set(error, ERROR_SYSTEM, "out of memory");
    bool ok = output_open(&output, file, pc_samples->session.around->cancel, error);
    if (ok) {
        output.keeps_old = true;
        ok = cockpit_write_page(output.file, pc_samples, profile, shares, error);
        ok = output_close(&output, ok ? KEEP_ALL : KEEP_NOTHING, &left, error) && ok;
    }
    free(shares);
    return ok;
}

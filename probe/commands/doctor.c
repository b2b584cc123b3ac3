/* SPDX-License-Identifier: MIT */
/* doctor: why a counter cannot be read, and what mends it; what a halt adds at a location. */
#include "commands/command.h"
#include "report/render.h"
#include "run/examination.h"

#include <string.h>

/* Of GDB's scripts alone, which call it `pmu calibrate`. */
int command_calibrate(const struct context *context, struct error *error)
{
    const struct options *options = context->options;
    struct session session = {.request = &options->request, .around = &context->around, .may_stop = true};
    struct document document = document_new();
    const char *probe = options->request.probe;
    if (probe == NULL || strncmp(probe, "door:", strlen("door:")) != 0)
        return command_code(error_set(error, ERROR_USAGE, "calibrate was removed: use doctor LOCATION"),
                            error);
    bool ok =
        calibration_put(&session, options->n_operands > 0 ? options->operands[0] : NULL, &document, error) &&
        command_facts(context, &document, error);
    document_free(&document);
    return command_code(session_finish(&session, ok, error), error);
}

/* A counter that does not count, or that something else writes, is a finding. */
static int doctor_code(const struct context *context, struct examination *it, bool ok, struct error *error)
{
    const struct options *options = context->options;
    bool found = error->kind == ERROR_NO_COUNTER || error->kind == ERROR_WRITTEN;
    if (found)
        command_has_result(context);
    if (error->kind == ERROR_WRITTEN)
        error->kind = ERROR_WRITER_SOUGHT;
    if (!session_finish(it->session, ok, error))
        return found ? EXIT_UNHEALTHY : error_exit_code(error->kind);
    if (options->prove) /* a lock that a measurement opens is not a finding here */
        return it->proof.left == 0 ? EXIT_DONE : EXIT_UNHEALTHY;
    return it->healthy || options->mend || options->n_operands > 0
               ? command_clock_code(it->session, EXIT_DONE)
               : EXIT_UNHEALTHY;
}

int command_doctor(const struct context *context, struct error *error)
{
    const struct options *options = context->options;
    bool measures = options->n_operands > 0 && !options->prove;
    struct document document = document_new();
    struct session session = {.request = &options->request,
                              .around = &context->around,
                              .needs_name = measures ? command_names(options) : NULL,
                              .tolerates_left = !measures,
                              .may_stop = measures || options->prove};
    struct examination it = {.session = &session,
                             .document = &document,
                             .start = options->n_operands > 0 ? options->operands[0] : NULL,
                             .end = options->n_operands > 1 ? options->operands[1] : NULL,
                             .prove = options->prove,
                             .mend = options->mend,
                             .healthy = true};
    bool ok = examination_make(&it, error);
    ok = command_facts(context, &document, error) && ok;
    examination_free(&it);
    return doctor_code(context, &it, ok, error);
}

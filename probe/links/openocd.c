/* SPDX-License-Identifier: MIT */
#include "links/openocd.h"

#include "base/values.h"
#include "links/openocd_process.h"
#include "links/openocd_session.h"
#include "links/openocd_tcl.h"
#include "links/openocd_trace.h"

#include "links/claim.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TARGETS = 64,
    PROGRAM_ROOM = 16384,
    HALT_SLICE_MS = 200,
    ANSWER_BASE = 4096,
    RESULT_ROOM = 24, /* characters of one result */
    VIEWS_MS = 3000,
    LAST_MS = 500,
};

struct openocd {
    struct link link; /* first */
    struct openocd_session session;
    struct link_view targets[TARGETS];
    size_t n;
    struct openocd_trace trace;
    char claim[CLAIM_TEXT]; /* our mark in the server; "": none */
    char name[128];         /* for link_describe */
    char program[PROGRAM_ROOM];
    char request[PROGRAM_ROOM + 128];
};

static struct openocd *openocd_of(struct link *link)
{
    return (struct openocd *)link;
}

/* ---- execute */

static const char *target_of(const struct openocd *openocd, const struct step *step)
{
    return step->at.unit < openocd->n ? openocd->targets[step->at.unit].name : "?";
}

static struct outcome openocd_refuse(const struct openocd *openocd, const struct step *step, const char *why,
                                     struct error *error)
{
    char name[160];
    step_name(step, target_of(openocd, step), name, sizeof name);
    error_set(error, ERROR_FAULT, "cannot %s: %s", name, why);
    return (struct outcome){.why = TARGET_FAULT};
}

static enum why explain_fault(const struct openocd *openocd, const struct step *step,
                              const struct openocd_reply *reply, struct error *error)
{
    char name[160], words[400];
    step_name(step, target_of(openocd, step), name, sizeof name);
    openocd_text_clean(reply->words, reply->words_length, words, sizeof words);
    bool wait = openocd_text_is_wait(words);
    error_set(error, wait ? ERROR_ASLEEP : ERROR_FAULT, "cannot %s: OpenOCD %s%s", name,
              words[0] == '\0' ? "gives no reason" : "says: ", words);
    return wait ? TARGET_WAIT : TARGET_FAULT;
}

/* Between two requests another client has moved the core: nothing of this one was carried out. */
static struct outcome tell_moved(const struct openocd *openocd, const struct openocd_reply *reply,
                                 struct error *error)
{
    char how[32];
    openocd_text_clean(reply->words, reply->words_length, how, sizeof how);
    if (strcmp(how, "reset") == 0)
        error_advise(error, ERROR_RESET, "No region with a reset counts.",
                     "the target was reset by another client of OpenOCD at %s", openocd->session.peer);
    else
        error_set(error, ERROR_MOVED, "another client of OpenOCD at %s %s the core", openocd->session.peer,
                  how);
    return (struct outcome){.why = LINK_LOST};
}

/* One request with as many steps as it holds; DONE if all of these are done. A request that Ctrl-C does not
 * cut short puts back, or is a glance: it does not heed other clients. */
static struct outcome execute_some(struct openocd *openocd, const struct step *steps, size_t n,
                                   uint64_t *results, int64_t slice_ms, int64_t budget_ms,
                                   const struct deadline *deadline, struct error *error)
{
    struct outcome lost = {.why = LINK_LOST};
    size_t covered = openocd_program_write(steps, n, openocd->n, openocd->program, sizeof openocd->program);
    if (covered == 0)
        return openocd_refuse(openocd, &steps[0], openocd_step_refusal(&steps[0], openocd->n), error);
    int length = snprintf(openocd->request, sizeof openocd->request,
                          "pmu_execute %" PRIu64 " %" PRId64 " %" PRId64 " {%s}%s\x1a",
                          openocd_session_next(&openocd->session), slice_ms, budget_ms, openocd->program,
                          deadline->cancel != NULL ? " 1" : "");
    char what[64];
    snprintf(what, sizeof what, "%zu step%s", covered, PLURAL(covered));
    struct openocd_reply reply;
    if (!openocd_session_ask(&openocd->session, openocd->request, (size_t)length,
                             ANSWER_BASE + RESULT_ROOM * covered, deadline, what, &reply, error))
        return lost;
    if (reply.is_moved && reply.done == 0 && reply.count == 0)
        return tell_moved(openocd, &reply, error);
    struct outcome outcome;
    if (!openocd_reply_take(&reply, steps, covered, results, &outcome)) {
        openocd_session_distrust(&openocd->session, reply.results, (size_t)(reply.end - reply.results),
                                 error);
        return lost;
    }
    if (outcome.why == TARGET_FAULT)
        outcome.why = explain_fault(openocd, &steps[outcome.done], &reply, error);
    return outcome;
}

static int64_t at_least_zero(int64_t value)
{
    return value > 0 ? value : 0;
}

static struct outcome openocd_execute(struct link *link, const struct step *steps, size_t n,
                                      uint64_t *results, const struct deadline *deadline, struct error *error)
{
    struct openocd *openocd = openocd_of(link);
    struct deadline slice = deadline_slice(deadline, LINK_SLICE_MS);
    int64_t begun = deadline_now_us();
    for (size_t done = 0;;) {
        int64_t budget_ms = LINK_BUDGET_MS - (deadline_now_us() - begun) / 1000;
        if (done > 0 && budget_ms <= 0)
            return (struct outcome){.why = NOT_YET, .done = done};
        struct outcome outcome =
            execute_some(openocd, steps + done, n - done, results + done, deadline_left_us(&slice) / 1000,
                         at_least_zero(budget_ms), deadline, error);
        outcome.done += done;
        done = outcome.done;
        if (outcome.why != DONE || done == n)
            return outcome;
    }
}

/* ---- targets and run control */

static size_t openocd_views(struct link *link, struct link_view *out, size_t room, struct error *error)
{
    struct openocd *openocd = openocd_of(link);
    struct deadline deadline = deadline_in_ms(patience_ms(VIEWS_MS), NULL);
    if (!openocd_session_targets(&openocd->session, "pmu_targets", &deadline, openocd->targets, TARGETS,
                                 &openocd->n, error))
        return 0;
    if (openocd->n > TARGETS)
        openocd->n = TARGETS;
    size_t n = openocd->n < room ? openocd->n : room;
    memcpy(out, openocd->targets, n * sizeof *out);
    return n;
}

static bool openocd_hold(struct link *link, bool hold, struct error *error)
{
    struct openocd *openocd = openocd_of(link);
    struct deadline deadline = deadline_in_ms(patience_ms(VIEWS_MS), NULL);
    return openocd_session_hold(&openocd->session, hold, &deadline, error) ||
           error_prefix(error, "cannot switch OpenOCD's polling: ");
}

static void openocd_hold_while(struct link *link, const struct step *halted)
{
    struct openocd *openocd = openocd_of(link);
    char *out = openocd->session.halted;
    if (halted == NULL ||
        openocd_program_write(halted, 1, openocd->n, out, sizeof openocd->session.halted) != 1)
        out[0] = '\0';
}

static bool openocd_has(const struct openocd *openocd, uint16_t unit, struct error *error)
{
    return unit < openocd->n || error_set(error, ERROR_NO_CORE, "OpenOCD has no target %u", unit);
}

static bool openocd_server_run(struct link *link, uint16_t unit, bool run, const struct deadline *deadline,
                               struct error *error)
{
    struct openocd *openocd = openocd_of(link);
    if (!openocd_has(openocd, unit, error))
        return false;
    const char *name = openocd->targets[unit].name;
    /* OpenOCD crashes if it is asked to resume some of them */
    if (!openocd->targets[unit].is_core)
        return error_set(error, ERROR_NO_CORE, "%s is not a core", name);
    for (;;) {
        char command[64];
        enum why why = DONE;
        int64_t ms = deadline_left_us(deadline) / 1000;
        if (run)
            snprintf(command, sizeof command, "pmu_resume %u", unit);
        else
            snprintf(command, sizeof command, "pmu_halt %u %" PRId64, unit,
                     ms < HALT_SLICE_MS ? ms : HALT_SLICE_MS);
        if (!openocd_session_do(&openocd->session, command, deadline, &why, error))
            return error_prefix(error, "cannot %s %s: ", run ? "resume" : "halt", name);
        if (why == DONE)
            return true;
        if (deadline_cancelled(deadline))
            return error_set(error, ERROR_CANCELLED, "cancelled");
        if (deadline_passed(deadline))
            return error_set(error, ERROR_ASLEEP, "%s does not halt", name);
    }
}

/* Runs a command with the core as OpenOCD's current target; an error quotes OpenOCD. */
static bool tell_target(struct openocd *openocd, uint16_t unit, const char *what,
                        const struct deadline *deadline, struct error *error)
{
    char command[128];
    enum why why = DONE;
    if (!openocd_has(openocd, unit, error))
        return false;
    snprintf(command, sizeof command, "targets [lindex [target names] %u]; %s", unit, what);
    return openocd_session_do(&openocd->session, command, deadline, &why, error);
}

static bool openocd_server_forget(struct link *link, uint16_t unit, const struct deadline *deadline,
                                  struct error *error)
{
    /* `rbp all` fails without breakpoints. OpenOCD 0.12 has no `rwp all`: then only the registers are
     * cleared. */
    return tell_target(openocd_of(link), unit, "catch {rbp all}; catch {rwp all}", deadline, error);
}

static bool openocd_server_reset(struct link *link, uint16_t unit, bool halt, const struct deadline *deadline,
                                 struct error *error)
{
    if (!tell_target(openocd_of(link), unit, halt ? "reset halt" : "reset run", deadline, error))
        return error_prefix(error, "OpenOCD's reset %s failed: ", halt ? "halt" : "run");
    return true;
}

/* ---- one at a time */

static bool openocd_mark_server(void *context, const char *mine, const char *dead, char found[CLAIM_TEXT],
                                struct error *error)
{
    static const char before[] = "pmu held ";
    struct openocd *openocd = context;
    struct deadline deadline = deadline_in_ms(patience_ms(VIEWS_MS), NULL);
    char command[64 + 2 * CLAIM_TEXT];
    const char *answer = NULL;
    size_t length = 0;
    /* A mark that cannot be in braces is not one of ours */
    bool is_plain = strpbrk(dead, "{}\\\x1a") == NULL;
    snprintf(command, sizeof command, "pmu_claim {%s} {%s}", mine, is_plain ? dead : "");
    if (!openocd_session_text(&openocd->session, command, &deadline, &answer, &length, error))
        return false;
    if (length < sizeof before || strncmp(answer, before, sizeof before - 1) != 0)
        return openocd_session_distrust(&openocd->session, answer, length, error);
    snprintf(found, CLAIM_TEXT, "%s", answer + sizeof before - 1);
    return true;
}

/* ---- trace */

static bool openocd_trace_can(struct link *link)
{
    return openocd_of(link)->session.rpc.transport == NULL;
}

static bool openocd_stop_trace(struct openocd *openocd, const struct deadline *deadline, struct error *error)
{
    enum why why = DONE;
    bool ok = openocd_session_do(&openocd->session, "pmu_trace_stop", deadline, &why, error);
    openocd_trace_close(&openocd->trace);
    return ok;
}

static bool openocd_trace_start(struct link *link, struct link_trace *trace, struct error *error)
{
    struct openocd *openocd = openocd_of(link);
    struct deadline deadline = deadline_in_ms(patience_ms(VIEWS_MS), NULL);
    char command[96];
    const char *answer = NULL;
    size_t length = 0;
    uint32_t wanted = trace->baud;
    trace->baud = 0;
    if (wanted == 0)
        return openocd_stop_trace(openocd, &deadline, error);
    snprintf(command, sizeof command, "pmu_trace_start %u %" PRIu64 " %" PRIu32 " %" PRIu32, trace->tpiu.unit,
             trace->tpiu.offset, trace->clock_hz, wanted);
    if (!openocd_trace_open(&openocd->trace, &openocd->session, &deadline, error) ||
        !openocd_session_text(&openocd->session, command, &deadline, &answer, &length, error))
        return false;
    return openocd_trace_answer(answer, length, trace) ||
           openocd_session_distrust(&openocd->session, answer, length, error);
}

static bool openocd_trace_read(struct link *link, uint8_t *out, size_t room, size_t *n, bool *lost,
                               struct error *error)
{
    *lost = false; /* it does not say */
    return openocd_trace_take(&openocd_of(link)->trace, out, room, n, error);
}

static bool openocd_recover(struct link *link, struct error *error)
{
    struct deadline deadline = deadline_in_ms(patience_ms(VIEWS_MS), NULL);
    return openocd_stop_trace(openocd_of(link), &deadline, error) && openocd_hold(link, false, error);
}

static bool openocd_claim(struct link *link, const struct claim *claim, struct error *error)
{
    struct openocd *openocd = openocd_of(link);
    const struct claim_place place = {.context = openocd, .mark = openocd_mark_server};
    if (openocd->session.process != NULL) /* nobody else knows its port */
        return true;
    if (!claim_take(claim, &place, openocd->name, error))
        return false;
    claim_write(claim, openocd->claim);
    return true;
}

static void give_up_claim(struct openocd *openocd)
{
    char command[64 + CLAIM_TEXT];
    struct deadline deadline = deadline_in_ms(patience_ms(LAST_MS), NULL);
    enum why why = DONE;
    struct error ignored = {0};
    snprintf(command, sizeof command, "pmu_give_up_claim {%s}", openocd->claim);
    openocd_session_do(&openocd->session, command, &deadline, &why, &ignored);
}

static void openocd_describe(struct link *link, char *out, size_t size)
{
    snprintf(out, size, "%s", openocd_of(link)->name);
}

static void openocd_close(struct link *link)
{
    struct openocd *openocd = openocd_of(link);
    struct error ignored = {0};
    struct deadline deadline = deadline_in_ms(patience_ms(LAST_MS), NULL);
    if (openocd->trace.rpc.fd >= 0)
        (void)openocd_stop_trace(openocd, &deadline, &ignored);
    if (openocd->session.held && openocd->session.process == NULL)
        openocd_hold(link, false, &ignored);
    if (openocd->claim[0] != '\0' && openocd->session.process == NULL)
        give_up_claim(openocd);
    openocd_session_close(&openocd->session);
    free(openocd);
}

/* ---- connect */

static const struct link_ops openocd_ops = {
    .execute = openocd_execute,
    .exact_faults = true,
    .views = openocd_views,
    .describe = openocd_describe,
    .hold = openocd_hold,
    .hold_while = openocd_hold_while,
    .claim = openocd_claim,
    .recover = openocd_recover,
    .server_run = openocd_server_run,
    .server_forget = openocd_server_forget,
    .server_reset = openocd_server_reset,
    .trace_can = openocd_trace_can,
    .trace_start = openocd_trace_start,
    .trace_read = openocd_trace_read,
    .close = openocd_close,
};

static struct openocd *openocd_new(const struct log *log, const struct deadline *deadline,
                                   struct error *error)
{
    struct openocd *openocd = calloc(1, sizeof *openocd);
    if (openocd == NULL)
        return error_memory_null(error);
    openocd->link.ops = &openocd_ops;
    openocd->session.rpc.fd = openocd->trace.rpc.fd = -1;
    openocd->session.rpc.log = log;
    openocd->session.ending = deadline->ending;
    return openocd;
}

static struct link *openocd_open(struct openocd *openocd, const struct deadline *deadline,
                                 struct error *error)
{
    const char *strange = openocd->session.strange;
    if (!openocd_session_open(&openocd->session, deadline, error) ||
        !openocd_session_targets(&openocd->session, "pmu_open", deadline, openocd->targets, TARGETS,
                                 &openocd->n, error)) {
        link_close(&openocd->link);
        return NULL;
    }
    if (openocd->n > TARGETS)
        openocd->n = TARGETS;
    if (strange[0] != '\0')
        snprintf(openocd->link.note, sizeof openocd->link.note,
                 "it does not say which version of OpenOCD it is, but \"%s\"", strange);
    return &openocd->link;
}

static struct link *openocd_dial(struct openocd *openocd, const char *host, uint16_t port,
                                 const struct deadline *deadline, struct error *error)
{
    struct openocd_session *session = &openocd->session;
    snprintf(session->host, sizeof session->host, "%s", host);
    session->port = port;
    snprintf(session->peer, sizeof session->peer, "%.100s:%u", host, port);
    if (openocd->name[0] == '\0')
        snprintf(openocd->name, sizeof openocd->name, "openocd %.100s:%u", host, port);
    return openocd_open(openocd, deadline, error);
}

struct link *openocd_connect(const char *host, uint16_t port, const struct log *log,
                             const struct deadline *deadline, struct error *error)
{
    struct openocd *openocd = openocd_new(log, deadline, error);
    return openocd != NULL ? openocd_dial(openocd, host, port, deadline, error) : NULL;
}

struct link *openocd_start(const char *path, const char *const *options, size_t n, size_t named,
                           const struct log *log, const struct deadline *deadline, struct error *error)
{
    struct openocd *openocd = openocd_new(log, deadline, error);
    if (openocd == NULL)
        return NULL;
    /* The link's name is what the user typed */
    size_t used = (size_t)snprintf(openocd->name, sizeof openocd->name, "openocd");
    for (size_t i = 0; i < named && used < sizeof openocd->name; i++)
        used += (size_t)snprintf(openocd->name + used, sizeof openocd->name - used, " %s", options[i]);
    openocd->session.process = openocd_process_start(path, options, n, log, deadline, error);
    if (openocd->session.process == NULL) {
        link_close(&openocd->link);
        return NULL;
    }
    return openocd_dial(openocd, "127.0.0.1", openocd_process_port(openocd->session.process), deadline,
                        error);
}

struct link *openocd_through(const struct tcl_transport *transport, const char *name,
                             const struct deadline *deadline, struct error *error)
{
    struct openocd *openocd = openocd_new(NULL, deadline, error);
    if (openocd == NULL)
        return NULL;
    openocd->session.rpc.transport = transport;
    snprintf(openocd->session.peer, sizeof openocd->session.peer, "%s", name);
    snprintf(openocd->name, sizeof openocd->name, "%s", name);
    return openocd_open(openocd, deadline, error);
}

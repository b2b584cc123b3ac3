/*
 * The OpenOCD link. First the conversation: a handshake proves that the other end is OpenOCD and sends it
 * pmu.tcl; then each request carries a number that its answer repeats, so that a late answer is never taken
 * for the next one. On top of that the link: steps into requests, answers into outcomes.
 */
#include "links/openocd.h"

#include "links/openocd_process.h"
#include "links/openocd_tcl.h"

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
    GRACE_MS = 2000, /* for an answer that is on its way */
    FIRST_WORD_MS = 3000,
    GLANCE_MS = 50,
    SMALL_ANSWER = 16384,
    QUOTE = 80,
    HASH_ROOM = 16,
};

struct openocd_session {
    struct openocd_rpc rpc;
    struct openocd_process *process; /* NULL: not ours */
    char peer[128];                  /* "localhost:6666" */
    uint64_t sequence;               /* of the last request */
    uint64_t answered;               /* of the last answer */
    bool lost;                       /* the answers make no sense any more, or none come */
};

static const char pmu_tcl[] =
#include "pmu_tcl.h"
    ;

/* ---- the conversation: endings */

static void quote(const char *text, size_t length, char *out, size_t size)
{
    openocd_text_clean(text, length < QUOTE ? length : QUOTE, out, size);
}

/* The end of its log, if we started it. */
static void add_last_words(struct openocd_session *session, char *out, size_t size)
{
    out[0] = '\0';
    if (session->process == NULL)
        return;
    char words[600];
    openocd_process_last_words(session->process, words, sizeof words);
    snprintf(out, size, ". Its last words: %s", words);
}

/* What it was doing: `what` names a command of pmu.tcl or says how many steps were sent. */
static const char *phase_of(const char *what, char *out, size_t size)
{
    static const char *const connecting[] = {"pmu_open", "pmu_targets", "pmu.tcl", "version",
                                             "a question for its mode"};
    for (size_t i = 0; i < sizeof connecting / sizeof *connecting; i++)
        if (strcmp(what, connecting[i]) == 0)
            return "while connecting";
    snprintf(out, size, "%.100s was sent", what);
    return out;
}

static bool lose(struct openocd_session *session, enum openocd_end end, const char *what, struct error *error)
{
    char words[640], phase[128];
    switch (end) {
    case OPENOCD_SILENT:
    case OPENOCD_CANCELLED:
        /* The answer may still come; its number tells it from the next one */
        return error_set(error, ERROR_LINK_LOST, "OpenOCD at %s stopped answering (%s)", session->peer,
                         phase_of(what, phase, sizeof phase));
    case OPENOCD_TOO_LONG:
        session->lost = true;
        return error_set(error, ERROR_LINK_PROTOCOL, "OpenOCD at %s sends an answer without an end (%s)",
                         session->peer, phase_of(what, phase, sizeof phase));
    case OPENOCD_NO_MEMORY:
        session->lost = true;
        return error_set(error, ERROR_SYSTEM, "out of memory for the answer of OpenOCD at %s", session->peer);
    case OPENOCD_ANSWERED:
    case OPENOCD_CLOSED:
        break;
    }
    session->lost = true;
    add_last_words(session, words, sizeof words);
    return error_set(error, ERROR_LINK_LOST, "OpenOCD at %s closed the connection (%s)%s", session->peer,
                     phase_of(what, phase, sizeof phase), words);
}

/* The answer makes no sense: all later requests fail at once. Always false. */
static bool session_distrust(struct openocd_session *session, const char *text, size_t length,
                             struct error *error)
{
    char words[QUOTE + 1];
    quote(text, length, words, sizeof words);
    session->lost = true;
    return error_set(error, ERROR_LINK_PROTOCOL, "OpenOCD at %s gives an answer that makes no sense: %s",
                     session->peer, words);
}

/* ---- the conversation: requests */

/* The next request's number. */
static uint64_t session_next(struct openocd_session *session)
{
    return ++session->sequence;
}

static enum openocd_end receive_in_grace(struct openocd_session *session, size_t largest,
                                         const struct deadline *deadline, const char **answer, size_t *length)
{
    enum openocd_end end = openocd_rpc_receive(&session->rpc, largest, deadline, answer, length);
    if (end != OPENOCD_SILENT && end != OPENOCD_CANCELLED)
        return end;
    struct deadline grace = deadline_in_ms(patience_ms(GRACE_MS), NULL);
    return openocd_rpc_receive(&session->rpc, largest, &grace, answer, length);
}

static bool is_usable(const struct openocd_session *session, struct error *error)
{
    return !session->lost || error_set(error, ERROR_LINK_LOST,
                                       "the connection to OpenOCD at %s was lost before", session->peer);
}

/* A request whose answer has no number: allowed only while no other answer is due. */
static bool exchange(struct openocd_session *session, const char *request, size_t length, size_t largest,
                     const struct deadline *deadline, const char *what, const char **answer,
                     size_t *answer_length, struct error *error)
{
    *answer = "";
    *answer_length = 0;
    if (!is_usable(session, error))
        return false;
    enum openocd_end end = openocd_rpc_send(&session->rpc, request, length, deadline);
    if (end == OPENOCD_ANSWERED)
        end = openocd_rpc_receive(&session->rpc, largest, deadline, answer, answer_length);
    if (end == OPENOCD_ANSWERED)
        return true;
    bool result = lose(session, end, what, error);
    session->lost = true;
    return result;
}

/*
 * Sends a request whose answer repeats its number, and waits for that answer. It gets a little time beyond
 * the deadline or after Ctrl-C: without the answer nothing is known about what the request did. `what` was
 * sent, for the error text.
 */
static bool session_ask(struct openocd_session *session, const char *request, size_t length, size_t largest,
                        const struct deadline *deadline, const char *what, struct openocd_reply *reply,
                        struct error *error)
{
    *reply = (struct openocd_reply){.results = "", .end = ""};
    if (!is_usable(session, error))
        return false;
    struct deadline patience = {.at_us = deadline->at_us};
    struct deadline grace = deadline_in_ms(patience_ms(GRACE_MS), NULL);
    if (patience.at_us < grace.at_us)
        patience = grace;
    enum openocd_end end = openocd_rpc_send(&session->rpc, request, length, &patience);
    if (end != OPENOCD_ANSWERED) {
        /* Half a request cannot be taken back */
        bool result = lose(session, end, what, error);
        session->lost = true;
        return result;
    }
    for (;;) {
        const char *answer = NULL;
        size_t answer_length = 0;
        end = receive_in_grace(session, largest, deadline, &answer, &answer_length);
        if (end != OPENOCD_ANSWERED)
            return lose(session, end, what, error);
        if (!openocd_reply_read(answer, answer_length, reply) || reply->sequence > session->sequence ||
            reply->sequence <= session->answered)
            return session_distrust(session, answer, answer_length, error);
        session->answered = reply->sequence;
        if (reply->sequence == session->sequence)
            return true;
    }
}

/* Runs a command of pmu.tcl that answers a number and a WHY but no results. */
static bool session_do(struct openocd_session *session, const char *command, const struct deadline *deadline,
                       enum why *why, struct error *error)
{
    char request[160];
    int length =
        snprintf(request, sizeof request, "pmu_answer %" PRIu64 " {%s}\x1a", session_next(session), command);
    struct openocd_reply reply;
    if (!session_ask(session, request, (size_t)length, SMALL_ANSWER, deadline, command, &reply, error))
        return false;
    if (reply.done != 0 || reply.count != 0)
        return session_distrust(session, reply.results, (size_t)(reply.end - reply.results), error);
    *why = reply.why;
    if (reply.why != TARGET_FAULT)
        return true;
    char words[400];
    openocd_text_clean(reply.words, reply.words_length, words, sizeof words);
    return error_set(error, openocd_text_is_wait(words) ? ERROR_ASLEEP : ERROR_FAULT, "OpenOCD says: %s",
                     words);
}

/* Lists the targets by `pmu_open`, which looks for them afresh, or by `pmu_targets`. */
static bool session_targets(struct openocd_session *session, const char *command,
                            const struct deadline *deadline, struct link_view *out, size_t room, size_t *n,
                            struct error *error)
{
    /* A numbered request first, so that a late answer is not read as the list */
    char request[64];
    enum why why = DONE;
    const char *answer = NULL;
    size_t length = 0;
    if (!session_do(session, "set ::pmu_saw 0", deadline, &why, error))
        return false;
    int request_length = snprintf(request, sizeof request, "%s\x1a", command);
    if (!exchange(session, request, (size_t)request_length, 1 << 20, deadline, command, &answer, &length,
                  error))
        return false;
    return openocd_targets_read(answer, length, out, room, n) ||
           session_distrust(session, answer, length, error);
}

/* ---- the conversation: beginning and end */

static bool is_start_of(const char *text, size_t length, const char *whole)
{
    return length <= strlen(whole) && memcmp(text, whole, length) == 0;
}

static bool not_openocd(const struct openocd_session *session, const char *text, size_t length,
                        const char *otherwise, struct error *error)
{
    char words[QUOTE + 1];
    quote(text, length, words, sizeof words);
    if (length == 0)
        return error_set(error, ERROR_NOT_A_PROBE, "%s is open, but %s", session->peer, otherwise);
    return error_set(error, ERROR_NOT_A_PROBE, "%s is not OpenOCD's Tcl port: it sends \"%s\"", session->peer,
                     words);
}

/* Our OpenOCD opens its port before it looks for its adapter, so it may end now. */
static bool has_ended(struct openocd_session *session, struct error *error)
{
    char words[700];
    openocd_process_why(session->process, words, sizeof words);
    return error_set(error, ERROR_SERVER, "OpenOCD could not start: %s", words);
}

/* The first question is a sum: another kind of server shows at its first wrong byte. The line end makes
 * servers answer that wait for one. */
static bool ask_sum(struct openocd_session *session, const struct deadline *deadline, struct error *error)
{
    static const char question[] = "expr {6 * 7}\n\x1a", expected[] = "42";
    struct deadline limit =
        session->process == NULL ? deadline_slice(deadline, patience_ms(FIRST_WORD_MS)) : *deadline;
    enum openocd_end end = openocd_rpc_send(&session->rpc, question, sizeof question - 1, &limit);
    while (end == OPENOCD_ANSWERED) {
        const char *answer = NULL;
        size_t length = 0;
        struct deadline glance = deadline_slice(&limit, GLANCE_MS);
        end = openocd_rpc_receive(&session->rpc, SMALL_ANSWER, &glance, &answer, &length);
        if (end == OPENOCD_ANSWERED && strcmp(answer, expected) == 0)
            return true;
        if (end == OPENOCD_ANSWERED)
            return not_openocd(session, answer, length, "", error);
        const char *pending = openocd_rpc_pending(&session->rpc, &length);
        if (end == OPENOCD_SILENT && is_start_of(pending, length, expected) && !deadline_passed(&limit))
            end = OPENOCD_ANSWERED;
    }
    if (end == OPENOCD_CANCELLED || deadline_cancelled(deadline))
        return error_set(error, ERROR_CANCELLED, "cancelled");
    if (session->process != NULL && end == OPENOCD_CLOSED)
        return has_ended(session, error);
    size_t length = 0;
    const char *pending = openocd_rpc_pending(&session->rpc, &length);
    return not_openocd(session, pending, length,
                       end == OPENOCD_CLOSED ? "closes the connection when spoken to"
                                             : "does not answer as OpenOCD's Tcl port does",
                       error);
}

static bool ask_version(struct openocd_session *session, const struct deadline *deadline, struct error *error)
{
    const char *answer = NULL;
    size_t length = 0;
    unsigned major = 0, minor = 0;
    if (!exchange(session, "version\x1a", 8, SMALL_ANSWER, deadline, "version", &answer, &length, error))
        return false;
    log_words(session->rpc.log, session->peer, answer, length);
    if (!openocd_version_read(answer, &major, &minor))
        return not_openocd(session, answer, length, "it has no version", error);
    if (major == 0 && minor < 12) {
        char words[QUOTE + 1];
        quote(answer, length, words, sizeof words);
        return error_set(error, ERROR_LINK_PROTOCOL, "%s is too old: %s", session->peer, words);
    }
    return true;
}

/* Tells our pmu.tcl from that of another build or one edited by hand. */
static uint32_t text_hash(const char *text)
{
    uint32_t hash = 2166136261U;
    for (; *text != '\0'; text++)
        hash = (hash ^ (unsigned char)*text) * 16777619U;
    return hash;
}

static bool load_pmu_tcl(struct openocd_session *session, const char *hash, const struct deadline *deadline,
                         struct error *error)
{
    static const char last[] = "\nset ::pmu_version %s\npmu_say %s\x1a";
    const char *answer = NULL;
    size_t length = 0, used = sizeof pmu_tcl - 1, room = sizeof pmu_tcl + sizeof last + (size_t)2 * HASH_ROOM;
    char *text = malloc(room);
    if (text == NULL)
        return error_set(error, ERROR_SYSTEM, "out of memory");
    memcpy(text, pmu_tcl, used);
    used += (size_t)snprintf(text + used, room - used, last, hash, hash);
    bool sent = exchange(session, text, used, SMALL_ANSWER, deadline, "pmu.tcl", &answer, &length, error);
    free(text);
    if (!sent)
        return false;
    return strcmp(answer, hash) == 0 || session_distrust(session, answer, length, error);
}

/* Checks that OpenOCD has run `init`; sends pmu.tcl unless it has this version already. */
static bool prepare(struct openocd_session *session, const struct deadline *deadline, struct error *error)
{
    static const char question[] = "format {%s %s} [command mode] "
                                   "[expr {[info exists ::pmu_version] ? $::pmu_version : 0}]\x1a";
    const char *answer = NULL;
    size_t length = 0;
    char hash[HASH_ROOM], loaded[HASH_ROOM + 8];
    snprintf(hash, sizeof hash, "%u", text_hash(pmu_tcl));
    snprintf(loaded, sizeof loaded, "exec %s", hash);
    if (!exchange(session, question, sizeof question - 1, SMALL_ANSWER, deadline, "a question for its mode",
                  &answer, &length, error))
        return false;
    if (strncmp(answer, "config ", 7) == 0)
        return error_set(error, ERROR_NO_PROBE, "OpenOCD at %s waits for its `init` command", session->peer);
    return strcmp(answer, loaded) == 0 || load_pmu_tcl(session, hash, deadline, error);
}

static bool session_open(struct openocd_session *session, const char *host, uint16_t port,
                         const struct deadline *deadline, struct error *error)
{
    session->rpc.process = session->process;
    if (session->process == NULL) {
        if (!openocd_rpc_open(&session->rpc, host, port, deadline, error))
            return false;
    } else {
        struct error refused = {0};
        if (!openocd_rpc_open(&session->rpc, host, port, deadline, &refused))
            return refused.kind == ERROR_CANCELLED ? error_copy(error, &refused) : has_ended(session, error);
    }
    return ask_sum(session, deadline, error) && ask_version(session, deadline, error) &&
           prepare(session, deadline, error);
}

static bool session_open_transport(struct openocd_session *session, const struct tcl_transport *transport,
                                   const struct deadline *deadline, struct error *error)
{
    session->rpc.fd = -1;
    session->rpc.transport = transport;
    return ask_sum(session, deadline, error) && ask_version(session, deadline, error) &&
           prepare(session, deadline, error);
}

static void session_close(struct openocd_session *session)
{
    bool asked = false;
    if (session->process != NULL && session->rpc.fd >= 0) {
        struct deadline deadline = deadline_in_ms(patience_ms(GRACE_MS), NULL);
        asked = openocd_rpc_send(&session->rpc, "shutdown\x1a", 9, &deadline) == OPENOCD_ANSWERED;
    }
    openocd_rpc_close(&session->rpc);
    openocd_process_stop(session->process, asked);
    session->process = NULL;
}

/* ---- the link */

struct openocd {
    struct link link; /* first */
    struct openocd_session session;
    struct link_view targets[TARGETS];
    size_t n;
    bool held;
    char name[128]; /* for link_describe */
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

static struct outcome refuse(const struct openocd *openocd, const struct step *step, const char *why,
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

/* One request with as many steps as it holds; DONE if all of these are done. */
static struct outcome execute_some(struct openocd *openocd, const struct step *steps, size_t n,
                                   uint64_t *results, int64_t slice_ms, int64_t budget_ms,
                                   const struct deadline *deadline, struct error *error)
{
    struct outcome lost = {.why = LINK_LOST};
    size_t covered = openocd_program_write(steps, n, openocd->n, openocd->program, sizeof openocd->program);
    if (covered == 0)
        return refuse(openocd, &steps[0], openocd_step_refusal(&steps[0], openocd->n), error);
    int length = snprintf(openocd->request, sizeof openocd->request,
                          "pmu_execute %" PRIu64 " %" PRId64 " %" PRId64 " {%s}\x1a",
                          session_next(&openocd->session), slice_ms, budget_ms, openocd->program);
    char what[64];
    snprintf(what, sizeof what, "%zu step%s", covered, covered == 1 ? "" : "s");
    struct openocd_reply reply;
    if (!session_ask(&openocd->session, openocd->request, (size_t)length, ANSWER_BASE + RESULT_ROOM * covered,
                     deadline, what, &reply, error))
        return lost;
    struct outcome outcome;
    if (!openocd_reply_take(&reply, steps, covered, results, &outcome)) {
        session_distrust(&openocd->session, reply.results, (size_t)(reply.end - reply.results), error);
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
    if (!session_targets(&openocd->session, "pmu_targets", &deadline, openocd->targets, TARGETS, &openocd->n,
                         error))
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
    enum why why = DONE;
    if (!session_do(&openocd->session, hold ? "pmu_hold 1" : "pmu_hold 0", &deadline, &why, error))
        return error_prefix(error, "cannot switch OpenOCD's polling: ");
    openocd->held = hold;
    return true;
}

static bool openocd_server_run(struct link *link, uint16_t unit, bool run, const struct deadline *deadline,
                               struct error *error)
{
    struct openocd *openocd = openocd_of(link);
    if (unit >= openocd->n)
        return error_set(error, ERROR_NO_CORE, "OpenOCD has no target %u", unit);
    const char *name = openocd->targets[unit].name;
    /* OpenOCD crashes if it is told to resume some of them */
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
        if (!session_do(&openocd->session, command, deadline, &why, error))
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
    if (unit >= openocd->n)
        return error_set(error, ERROR_NO_CORE, "OpenOCD has no target %u", unit);
    snprintf(command, sizeof command, "targets [lindex [target names] %u]; %s", unit, what);
    return session_do(&openocd->session, command, deadline, &why, error);
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

static void openocd_describe(struct link *link, char *out, size_t size)
{
    snprintf(out, size, "%s", openocd_of(link)->name);
}

static void openocd_close(struct link *link)
{
    struct openocd *openocd = openocd_of(link);
    struct error ignored = {0};
    if (openocd->held && !openocd->session.lost && openocd->session.process == NULL)
        openocd_hold(link, false, &ignored);
    session_close(&openocd->session);
    free(openocd);
}

/* ---- connect */

static const struct link_ops openocd_ops = {
    .execute = openocd_execute,
    .exact_faults = true,
    .views = openocd_views,
    .describe = openocd_describe,
    .hold = openocd_hold,
    .server_run = openocd_server_run,
    .server_forget = openocd_server_forget,
    .server_reset = openocd_server_reset,
    .close = openocd_close,
};

static struct openocd *openocd_new(struct error *error)
{
    struct openocd *openocd = calloc(1, sizeof *openocd);
    if (openocd == NULL) {
        error_set(error, ERROR_SYSTEM, "out of memory");
        return NULL;
    }
    openocd->link.ops = &openocd_ops;
    openocd->session.rpc.fd = -1;
    return openocd;
}

static struct link *openocd_opened(struct openocd *openocd, bool opened, const struct deadline *deadline,
                                   struct error *error)
{
    if (opened && session_targets(&openocd->session, "pmu_open", deadline, openocd->targets, TARGETS,
                                  &openocd->n, error)) {
        if (openocd->n > TARGETS)
            openocd->n = TARGETS;
        return &openocd->link;
    }
    link_close(&openocd->link);
    return NULL;
}

static struct link *openocd_begin(struct openocd *openocd, const char *host, uint16_t port,
                                  const struct deadline *deadline, struct error *error)
{
    snprintf(openocd->session.peer, sizeof openocd->session.peer, "%.100s:%u", host, port);
    if (openocd->name[0] == '\0')
        snprintf(openocd->name, sizeof openocd->name, "openocd %.100s:%u", host, port);
    bool opened = session_open(&openocd->session, host, port, deadline, error);
    return openocd_opened(openocd, opened, deadline, error);
}

struct link *openocd_connect(const char *host, uint16_t port, const struct log *log,
                             const struct deadline *deadline, struct error *error)
{
    struct openocd *openocd = openocd_new(error);
    if (openocd == NULL)
        return NULL;
    openocd->session.rpc.log = log;
    return openocd_begin(openocd, host, port, deadline, error);
}

struct link *openocd_start(const char *const *options, size_t n, size_t named, const struct log *log,
                           const struct deadline *deadline, struct error *error)
{
    struct openocd *openocd = openocd_new(error);
    if (openocd == NULL)
        return NULL;
    /* The link's name is what the user typed */
    size_t used = (size_t)snprintf(openocd->name, sizeof openocd->name, "openocd");
    for (size_t i = 0; i < named && used < sizeof openocd->name; i++)
        used += (size_t)snprintf(openocd->name + used, sizeof openocd->name - used, " %s", options[i]);
    openocd->session.rpc.log = log;
    openocd->session.process = openocd_process_start(options, n, log, deadline, error);
    if (openocd->session.process == NULL) {
        link_close(&openocd->link);
        return NULL;
    }
    return openocd_begin(openocd, "localhost", openocd_process_port(openocd->session.process), deadline,
                         error);
}

struct link *openocd_through(const struct tcl_transport *transport, const char *name,
                             const struct deadline *deadline, struct error *error)
{
    struct openocd *openocd = openocd_new(error);
    if (openocd == NULL)
        return NULL;
    snprintf(openocd->session.peer, sizeof openocd->session.peer, "%.127s", name);
    snprintf(openocd->name, sizeof openocd->name, "%.127s", name);
    bool opened = session_open_transport(&openocd->session, transport, deadline, error);
    return openocd_opened(openocd, opened, deadline, error);
}

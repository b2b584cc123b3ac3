/* SPDX-License-Identifier: MIT */
#include "links/openocd_session.h"

#include "base/socket.h"
#include "links/openocd_process.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    GRACE_MS = 1000,   /* for an answer that is on its way */
    SILENCE_MS = 1000, /* for the answers after one that did not arrive, in all */
    SILENT_MS = 100,   /* the same, from a server that does not answer */
    REOPEN_MS = 1500,  /* for a handshake */
    REFUSED_MS = 1000, /* while connections are refused */
    FIRST_WORD_MS = 3000,
    CUTS = 3,     /* of the connection, in one request */
    NUMBERS = 24, /* bits of a session's own numbers; the bits above identify the session */
    GLANCE_MS = 50,
    SMALL_ANSWER = 16384,
    QUOTE = 80,
    HASH_ROOM = 16,
    HOLD_ROOM = 160,
};

static const char pmu_tcl[] =
#include "pmu_tcl.h"
    ;

/* ---- the conversation: endings */

static void quote(const char *text, size_t length, char *out, size_t size)
{
    openocd_text_clean(text, length < QUOTE ? length : QUOTE, out, size);
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

static bool openocd_session_lose(struct openocd_session *session, enum openocd_end end, const char *what,
                                 struct error *error)
{
    char words[600] = "", phase[128];
    switch (end) {
    case OPENOCD_SILENT:
    case OPENOCD_CANCELLED:
        /* The answer may still arrive; its number differs from the next one's */
        return error_set(error, ERROR_LINK_LOST, "OpenOCD at %s stopped answering (%s)", session->peer,
                         phase_of(what, phase, sizeof phase));
    case OPENOCD_TOO_LONG:
        session->lost = true;
        return error_set(error, ERROR_LINK_PROTOCOL, "OpenOCD at %s sends an answer without an end (%s)",
                         session->peer, phase_of(what, phase, sizeof phase));
    case OPENOCD_NO_MEMORY:
        session->lost = true;
        return error_memory(error);
    case OPENOCD_ANSWERED:
    case OPENOCD_CLOSED:
        break;
    }
    session->lost = true;
    if (session->process != NULL)
        openocd_process_last_words(session->process, words, sizeof words);
    return error_set(error, ERROR_LINK_LOST, "OpenOCD at %s closed the connection (%s)%s%s", session->peer,
                     phase_of(what, phase, sizeof phase),
                     session->process != NULL ? ". Its last words: " : "", words);
}

bool openocd_session_distrust(struct openocd_session *session, const char *text, size_t length,
                              struct error *error)
{
    char words[QUOTE + 1];
    quote(text, length, words, sizeof words);
    session->lost = true;
    return error_set(error, ERROR_LINK_PROTOCOL, "OpenOCD at %s gives an answer that makes no sense: %s",
                     session->peer, words);
}

/* ---- the conversation: requests */

uint64_t openocd_session_next(struct openocd_session *session)
{
    if (session->sequence == 0)
        session->sequence = session->answered =
            ((uint64_t)getpid() << 32 ^ (uint64_t)deadline_now_us()) % ((uint64_t)1 << 30) << NUMBERS;
    return ++session->sequence;
}

static void note_silence(struct openocd_session *session, enum openocd_end end)
{
    bool silent = end == OPENOCD_SILENT || end == OPENOCD_CANCELLED;
    if (silent && !session->silent)
        session->patience = ending_deadline(session->ending, patience_ms(SILENCE_MS));
    session->silent = silent;
    if (!silent)
        ending_answered(session->ending);
}

/* How long the next answer of a server is waited for that owes one. */
static struct deadline while_silent(const struct openocd_session *session, const struct deadline *deadline)
{
    struct deadline least = ending_deadline(session->ending, patience_ms(SILENT_MS));
    struct deadline most = session->patience;
    if (most.at_us > deadline->at_us)
        most.at_us = deadline->at_us;
    return most.at_us > least.at_us ? most : least;
}

static enum openocd_end receive_in_grace(struct openocd_session *session, size_t largest,
                                         const struct deadline *deadline, const char **answer, size_t *length)
{
    struct deadline first = *deadline;
    if (session->silent)
        first = while_silent(session, deadline);
    enum openocd_end end = openocd_rpc_receive(&session->rpc, largest, &first, answer, length);
    if ((end == OPENOCD_SILENT || end == OPENOCD_CANCELLED) && !session->silent) {
        struct deadline grace = ending_answer(session->ending, patience_ms(GRACE_MS));
        end = openocd_rpc_receive(&session->rpc, largest, &grace, answer, length);
    }
    note_silence(session, end);
    return end;
}

static bool open_again(struct openocd_session *session, const struct deadline *deadline);

static bool is_usable(struct openocd_session *session, const struct deadline *deadline, struct error *error)
{
    return !session->lost || open_again(session, deadline) ||
           error_set(error, ERROR_LINK_LOST, "the connection to OpenOCD at %s was lost before",
                     session->peer);
}

/* A request whose answer has no number: allowed only while no other answer is due. */
static bool openocd_session_exchange(struct openocd_session *session, const char *request, size_t length,
                                     size_t largest, const struct deadline *deadline, const char *what,
                                     const char **answer, size_t *answer_length, struct error *error)
{
    *answer = "";
    *answer_length = 0;
    if (session->lost)
        return error_set(error, ERROR_LINK_LOST, "the connection to OpenOCD at %s is lost", session->peer);
    enum openocd_end end = openocd_rpc_send(&session->rpc, request, length, deadline);
    if (end == OPENOCD_ANSWERED)
        end = openocd_rpc_receive(&session->rpc, largest, deadline, answer, answer_length);
    note_silence(session, end);
    if (end == OPENOCD_ANSWERED)
        return true;
    openocd_session_lose(session, end, what, error);
    session->lost = true;
    return false;
}

/* One try. OPENOCD_ANSWERED with `*nonsense`: the answer makes none. */
static enum openocd_end converse(struct openocd_session *session, const char *request, size_t length,
                                 size_t largest, const struct deadline *deadline, struct openocd_reply *reply,
                                 bool *nonsense, struct error *error)
{
    struct deadline patience = {.at_us = deadline->at_us, .ending = session->ending};
    struct deadline grace =
        ending_deadline(session->ending, patience_ms(session->silent ? SILENT_MS : GRACE_MS));
    if (patience.at_us < grace.at_us || session->silent)
        patience = grace;
    enum openocd_end end = openocd_rpc_send(&session->rpc, request, length, &patience);
    session->lost = end != OPENOCD_ANSWERED; /* half a request cannot be taken back */
    while (end == OPENOCD_ANSWERED) {
        const char *answer = NULL;
        size_t answer_length = 0;
        end = receive_in_grace(session, largest, deadline, &answer, &answer_length);
        if (end != OPENOCD_ANSWERED)
            break;
        *nonsense = !openocd_reply_read(answer, answer_length, reply) ||
                    reply->sequence > session->sequence || reply->sequence <= session->answered;
        if (*nonsense) {
            openocd_session_distrust(session, answer, answer_length, error);
            break;
        }
        session->answered = reply->sequence;
        if (reply->sequence == session->sequence)
            break;
    }
    return end;
}

/* It took us for dead, and its registers of the core are the program's now. Always false. */
static bool core_is_taken(struct openocd_session *session, struct error *error)
{
    session->lost = session->gone = true;
    return error_set(error, ERROR_LINK_LOST,
                     "OpenOCD at %s has taken over a core that pmu-probe had halted: pmu-probe was silent "
                     "for over 10 s (suspended?)",
                     session->peer);
}

bool openocd_session_ask(struct openocd_session *session, const char *request, size_t length, size_t largest,
                         const struct deadline *deadline, const char *what, struct openocd_reply *reply,
                         struct error *error)
{
    *reply = (struct openocd_reply){.results = "", .end = ""};
    if (!is_usable(session, deadline, error))
        return false;
    for (int tries = 0;; tries++) {
        bool nonsense = false, was_lost = session->lost;
        enum openocd_end end = converse(session, request, length, largest, deadline, reply, &nonsense, error);
        if (end == OPENOCD_ANSWERED && !nonsense && reply->why == LINK_LOST && !reply->is_moved)
            return core_is_taken(session, error);
        if (end == OPENOCD_ANSWERED)
            return !nonsense;
        bool half = session->lost && !was_lost;
        openocd_session_lose(session, end, what, error);
        session->lost = session->lost || half;
        if (end != OPENOCD_CLOSED || tries == CUTS || !open_again(session, deadline))
            return false;
        if (session->restarted)
            return false; /* what another OpenOCD did of it is not known */
        error_clear(error);
    }
}

bool openocd_session_do(struct openocd_session *session, const char *command, const struct deadline *deadline,
                        enum why *why, struct error *error)
{
    char request[HOLD_ROOM + 64];
    int length = snprintf(request, sizeof request, "pmu_answer %" PRIu64 " {%s}\x1a",
                          openocd_session_next(session), command);
    struct openocd_reply reply;
    if (!openocd_session_ask(session, request, (size_t)length, SMALL_ANSWER, deadline, command, &reply,
                             error))
        return false;
    if (reply.done != 0 || reply.count != 0 || reply.is_moved)
        return openocd_session_distrust(session, reply.results, (size_t)(reply.end - reply.results), error);
    *why = reply.why;
    if (reply.why != TARGET_FAULT)
        return true;
    char words[400];
    openocd_text_clean(reply.words, reply.words_length, words, sizeof words);
    return error_set(error, openocd_text_is_wait(words) ? ERROR_ASLEEP : ERROR_FAULT, "OpenOCD says: %s",
                     words);
}

/* So that it can see who holds it, and that one's connection. */
static void hold_command(struct openocd_session *session, char *out, size_t size)
{
    uint64_t any = session->sequence > 0 ? session->sequence : openocd_session_next(session);
    snprintf(out, size, "pmu_hold 1 %u %" PRIu64 " {%s}", socket_own_port(session->rpc.fd), any >> NUMBERS,
             session->halted);
}

bool openocd_session_hold(struct openocd_session *session, bool hold, const struct deadline *deadline,
                          struct error *error)
{
    char command[HOLD_ROOM] = "pmu_hold 0";
    enum why why = DONE;
    if (hold)
        hold_command(session, command, sizeof command);
    if (!openocd_session_do(session, command, deadline, &why, error))
        return false;
    session->held = hold;
    return true;
}

bool openocd_session_text(struct openocd_session *session, const char *command,
                          const struct deadline *deadline, const char **answer, size_t *length,
                          struct error *error)
{
    char request[640];
    int n = snprintf(request, sizeof request, "%s\x1a", command);
    for (int tries = 0;; tries++) {
        /* A numbered request first, so that a late answer is not read as this one's */
        enum why why = DONE;
        struct error once = {0};
        if (!openocd_session_do(session, "set ::pmu_saw 0", deadline, &why, &once))
            return error_copy(error, &once);
        if (openocd_session_exchange(session, request, (size_t)n, 1 << 20, deadline, command, answer, length,
                                     &once))
            return true;
        if (once.kind != ERROR_LINK_LOST || session->silent || tries == CUTS || session->gone)
            return error_copy(error, &once);
    }
}

bool openocd_session_targets(struct openocd_session *session, const char *command,
                             const struct deadline *deadline, struct link_view *out, size_t room, size_t *n,
                             struct error *error)
{
    const char *answer = NULL;
    size_t length = 0;
    return openocd_session_text(session, command, deadline, &answer, &length, error) &&
           (openocd_targets_read(answer, length, out, room, n) ||
            openocd_session_distrust(session, answer, length, error));
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
        return openocd_process_tell(session->process, "OpenOCD could not start", error);
    size_t length = 0;
    const char *pending = openocd_rpc_pending(&session->rpc, &length);
    return not_openocd(session, pending, length,
                       end == OPENOCD_CLOSED ? "closes the connection when spoken to"
                                             : "silent: is OpenOCD stopped or busy?",
                       error);
}

static bool ask_version(struct openocd_session *session, const struct deadline *deadline, struct error *error)
{
    const char *answer = NULL;
    size_t length = 0;
    unsigned major = 0, minor = 0;
    if (!openocd_session_exchange(session, "version\x1a", 8, SMALL_ANSWER, deadline, "version", &answer,
                                  &length, error))
        return false;
    log_words(session->rpc.log, session->peer, answer, length);
    char words[QUOTE + 1];
    quote(answer, length, words, sizeof words);
    bool known = openocd_version_read(answer, &major, &minor);
    snprintf(session->strange, sizeof session->strange, "%s",
             known              ? ""
             : words[0] != '\0' ? words
                                : "nothing");
    return !known || major > 0 || minor >= 12 ||
           error_set(error, ERROR_LINK_PROTOCOL, "%s is too old: %s", session->peer, words);
}

/* Distinguishes our pmu.tcl from that of another build or one edited by hand. */
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
        return error_memory(error);
    memcpy(text, pmu_tcl, used);
    used += (size_t)snprintf(text + used, room - used, last, hash, hash);
    bool sent = openocd_session_exchange(session, text, used, SMALL_ANSWER, deadline, "pmu.tcl", &answer,
                                         &length, error);
    free(text);
    if (!sent)
        return false;
    return strcmp(answer, hash) == 0 || openocd_session_distrust(session, answer, length, error);
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
    if (!openocd_session_exchange(session, question, sizeof question - 1, SMALL_ANSWER, deadline,
                                  "a question for its mode", &answer, &length, error))
        return false;
    if (strncmp(answer, "config ", 7) == 0)
        return error_set(error, ERROR_NO_PROBE, "OpenOCD at %s waits for its `init` command", session->peer);
    if (strcmp(answer, loaded) == 0)
        return true;
    session->restarted = session->opened;
    return load_pmu_tcl(session, hash, deadline, error);
}

/* An OpenOCD that was restarted reads the core by itself, and would take its registers in use for the
 * program's. Any other one knows our connection, which is another one now. */
static bool hold_anew(struct openocd_session *session, const struct deadline *deadline, struct error *error)
{
    const char *answer = NULL;
    size_t length = 0;
    char hold[HOLD_ROOM];
    if (!session->held)
        return true;
    if (session->restarted)
        hold_command(session, hold, sizeof hold - 1);
    else /* it may have ended the hold already, and its answer be lost */
        snprintf(hold, sizeof hold - 1, "pmu_hold_from %u", socket_own_port(session->rpc.fd));
    length = strlen(hold);
    hold[length] = '\x1a';
    return openocd_session_exchange(session, hold, length + 1, SMALL_ANSWER, deadline, "pmu_hold", &answer,
                                    &length, error);
}

static bool shake_hands(struct openocd_session *session, const struct deadline *deadline, struct error *error)
{
    session->rpc.process = session->process;
    if (session->rpc.transport == NULL) {
        struct error refused = {0};
        session->rpc.fd = socket_connect(session->host, session->port, deadline, &refused);
        if (session->rpc.fd < 0)
            return session->process == NULL || refused.kind == ERROR_CANCELLED
                       ? error_copy(error, &refused)
                       : openocd_process_tell(session->process, "OpenOCD could not start", error);
    }
    return ask_sum(session, deadline, error) && ask_version(session, deadline, error) &&
           prepare(session, deadline, error) && hold_anew(session, deadline, error);
}

/* Makes a lost connection again. Only one that is refused may be tried once more: OpenOCD is restarted, or
 * what forwards the port is. */
static bool open_again(struct openocd_session *session, const struct deadline *deadline)
{
    struct deadline refused = deadline_in_ms(REFUSED_MS, deadline->cancel);
    struct deadline limit = ending_deadline(session->ending, patience_ms(REOPEN_MS));
    if (session->gone || !session->opened)
        return false;
    session->restarted = false;
    for (;;) {
        struct error why = {0};
        openocd_rpc_close(&session->rpc);
        session->lost = false;
        if (shake_hands(session, &limit, &why)) {
            log_line(session->rpc.log, "connected to %s again", session->peer);
            session->silent = false;
            return true;
        }
        session->lost = true;
        bool is_refused = why.kind == ERROR_NO_PROBE && session->rpc.fd < 0;
        session->gone = is_refused && deadline_passed(&refused) && !deadline_cancelled(&refused);
        session->gone = session->gone || why.kind == ERROR_SERVER;
        if (!is_refused || deadline_passed(&refused) || deadline_passed(&limit))
            return false;
        deadline_nap();
    }
}

bool openocd_session_open(struct openocd_session *session, const struct deadline *deadline,
                          struct error *error)
{
    session->opened = shake_hands(session, deadline, error);
    return session->opened;
}

void openocd_session_close(struct openocd_session *session)
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

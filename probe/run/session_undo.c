/* SPDX-License-Identifier: MIT */
#include "base/file.h"
#include "base/log.h"
#include "base/values.h"
#include "device/restore.h"
#include "device/settings.h"
#include "links/journal.h"
#include "links/ledger.h"
#include "run/program.h"
#include "run/session.h"
#include "run/trial.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LEFT_MOST = 16 };

/* --- what a run that did not end has left --------------------------------------------------------------- */

void session_when(int64_t seconds, char *out, size_t size)
{
    time_t now = deadline_wall_s(), then = (time_t)seconds;
    struct tm today, day;
    out[0] = '\0';
    if (localtime_r(&now, &today) == NULL || localtime_r(&then, &day) == NULL)
        return;
    bool same = today.tm_yday == day.tm_yday && today.tm_year == day.tm_year;
    (void)strftime(out, size, same ? "%H:%M" : "%Y-%m-%d %H:%M", &day);
}

/* "a run of `delta` at 14:02 (process 77) did not end. It left core 0 (Cortex-M4 r0p1) halted, and 7
 * registers changed" */
static void describe_left(const struct journal_head *head, const struct left *left, struct error *error)
{
    char when[32], registers[48] = "";
    session_when(head->started_s, when, sizeof when);
    if (left->ours > 0)
        snprintf(registers, sizeof registers, "%s%zu register%s changed", left->halted ? ", and " : "with ",
                 left->ours, PLURAL(left->ours));
    error_set(error, ERROR_LEFT, "a run of `%s` at %s (process %ld) did not end. It left core %u (%s) %s%s",
              head->command, when, head->process, head->number, head->core, left->halted ? "halted" : "",
              registers);
}

const char *session_without_journal(const struct session *session)
{
    return session != NULL && session->device.debugger != NULL
               ? "pmu-probe restore --force lets the core go; OpenOCD's Tcl port or a CMSIS-DAP probe shows "
                 "the rest."
               : "pmu-probe restore --force removes breakpoints and catches, and lets the core go; reset "
                 "starts the program anew.";
}

/* "a run at 14:02 did not end, and it could not write its journal: what it left is not known" */
bool session_unknown_left(const struct session *session, const struct journal_head *head, struct error *error)
{
    char when[32], command[sizeof head->command + 8] = "";
    session_when(head->started_s, when, sizeof when);
    if (head->command[0] != '\0')
        snprintf(command, sizeof command, " of `%s`", head->command);
    return error_advise(error, ERROR_LEFT, session_without_journal(session),
                        "a run%s at %s did not end, and its journal is cut off: what it left is not known",
                        command, when);
}

/* Whether the target still has what this journal names. One of another target stays where it is, and one
 * that is cut until it is restored or released: it does not name all. */
static bool session_left_is_left(struct session *session, struct journal_file *file, struct left *left,
                                 struct error *error)
{
    *left = (struct left){0};
    if (file->headless)
        return session_unknown_left(session, &file->head, error);
    struct deadline deadline = session_deadline(session);
    struct device_core *chosen = session->device.chosen;
    struct error other = {0};
    bool ok = !restore_choose(&session->device, &file->head, &other) ||
              restore_look(&session->device, file, left, &deadline, error);
    session->device.chosen = chosen;
    if (!ok || other.kind != ERROR_NONE || left_any(left))
        return ok;
    if (file->cut)
        return session_unknown_left(session, &file->head, error);
    unlink(file->path);
    return true;
}

typedef bool journal_use(struct session *session, struct journal_file *file, struct error *error);

/* Those of this link. One that cannot be read is of no use to anyone. */
static bool each_journal(struct session *session, journal_use *use, struct error *error)
{
    char(*paths)[JOURNAL_PATH] = calloc(LEFT_MOST, sizeof *paths);
    struct journal_file *file = calloc(1, sizeof *file);
    bool ok = true;
    size_t n = paths != NULL && file != NULL && link_identity(session->link)[0] != '\0'
                   ? journal_list(link_identity(session->link), paths, LEFT_MOST)
                   : 0;
    for (size_t i = 0; ok && i < n; i++) {
        struct error unread = {0};
        if (!journal_read(paths[i], file, &unread)) {
            log_line(session->around->log, "%s", unread.text);
            continue;
        }
        ok = use(session, file, error);
        journal_file_free(file);
    }
    free(paths);
    free(file);
    return ok;
}

static bool check_one(struct session *session, struct journal_file *file, struct error *error)
{
    struct left left;
    bool ok = session_left_is_left(session, file, &left, error);
    if (ok && left_any(&left)) {
        describe_left(&file->head, &left, error);
        ok = false;
    }
    if (error->kind == ERROR_LEFT)
        link_leave_power(session->link, LINK_POWER_UP); /* for who puts it back */
    return ok;
}

bool session_check_left(struct session *session, struct error *error)
{
    return each_journal(session, check_one, error);
}

static bool forget_one(struct session *session, struct journal_file *file, struct error *error)
{
    (void)session;
    (void)error;
    if (file->cut)
        unlink(file->path);
    return true;
}

void session_forget_cut(struct session *session)
{
    struct error none = {0};
    each_journal(session, forget_one, &none);
}

/* --- this run's journal --------------------------------------------------------------------------------- */

static void session_left_add_word(struct journal_head *head, const char *word)
{
    if (head->n_words < JOURNAL_WORDS)
        snprintf(head->words[head->n_words++], sizeof head->words[0], "%s", word);
}

static void add_option(struct journal_head *head, const char *option, const char *value)
{
    if (value == NULL || head->n_words + 2 > JOURNAL_WORDS || strlen(value) >= sizeof head->words[0])
        return;
    session_left_add_word(head, option);
    session_left_add_word(head, value);
}

static void session_left_add_place(struct journal_head *head, const char *option, const struct place *place)
{
    char text[64];
    if (!place->said)
        return;
    snprintf(text, sizeof text, "%u:0x%" PRIX64, place->port, place->base);
    add_option(head, option, text);
}

/* By which options another pmu-probe reaches the same target. */
static void say_how_to_connect(const struct request *request, struct journal_head *head)
{
    add_option(head, "--probe", request->probe);
    for (size_t i = 0; i + 1 < request->n_openocd; i += 2)
        add_option(head, request->openocd[i], request->openocd[i + 1]);
    add_option(head, "--counters", request->counters);
    add_option(head, "--transport", request->transport);
    session_left_add_place(head, "--debug-base", &request->debug_base);
    session_left_add_place(head, "--pmu-base", &request->pmu_base);
    session_left_add_place(head, "--cti", &request->cti);
}

static void tell_no_journal(void *context, const char *why)
{
    const struct session *session = context;
    request_note(session->request, "no journal is kept: after a crash nothing can restore the target: %s",
                 why);
}

void session_use_journal(struct session *session, struct journal *journal)
{
    if (journal != NULL)
        journal_warn(journal, (struct journal_warning){.context = session, .tell = tell_no_journal});
    session->journal = journal;
    ledger_keep_journal(session->device.ledger, journal);
}

/* Without a journal the run goes on: it is of use only if the run does not end. */
void session_begin_journal(struct session *session)
{
    const struct request *request = session->request;
    const struct device *device = &session->device;
    const struct device_core *core = device->chosen;
    struct error none = {0};
    if (session->journal == NULL && link_identity(session->link)[0] != '\0' && !session->restores) {
        struct journal_head *head = calloc(1, sizeof *head);
        if (head == NULL)
            return;
        *head = (struct journal_head){.id = core->core.id,
                                      .debug = core->core.debug_base,
                                      .unit = core->core.unit,
                                      .number = (unsigned)(core - device->cores),
                                      .was_halted = core->state == CORE_HALTED,
                                      .started_s = deadline_wall_s(),
                                      .process = getpid()};
        snprintf(head->link, sizeof head->link, "%s", link_identity(session->link));
        snprintf(head->command, sizeof head->command, "%.31s", request->command);
        snprintf(head->core, sizeof head->core, "%s", core->core.name);
        say_how_to_connect(request, head);
        session->journal = journal_new(head, &none);
        free(head);
    }
    if (none.kind != ERROR_NONE)
        tell_no_journal(session, none.text);
    session_use_journal(session, session->journal);
    if (device->debugger != NULL &&
        session->journal != NULL) /* its server halted the core when we connected */
        ledger_sync(device->ledger);
}

/* ---- session undo */

enum { NAP_US = 50000, TRIES = 3 };

/* One line on a terminal, which goes again. */
static bool tell_of_ending(void *context)
{
    struct session *session = context;
    if (session->device.ledger == NULL || ledger_held(session->device.ledger) == 0)
        return false;
    progress_begin(&session->putting_back.progress, stderr);
    if (session->putting_back.progress.to != NULL)
        progress_now(&session->putting_back.progress, "putting the target back ...");
    else if (!session->putting_back.shown && !file_takes(STDERR_FILENO))
        return false; /* a pipe that is full: nobody must wait for its reader here */
    else if (!session->putting_back.shown)
        fputs("pmu-probe: putting the target back ...\n", stderr);
    session->putting_back.shown = true;
    return true;
}

static struct ending *begin_ending(struct session *session)
{
    struct ending *ending = session->around->ending;
    if (ending != NULL && !session->request->quiet) {
        ending->notice = tell_of_ending;
        ending->context = session;
    }
    ending_begin(ending);
    return ending;
}

bool session_undo_insist(struct session *session,
                         bool (*undo)(void *, const struct deadline *, struct error *), void *what,
                         struct error *error)
{
    struct ending *ending = begin_ending(session);
    for (int tries = 1;; tries++) {
        struct deadline deadline = session_last_deadline(session);
        struct error once = {0};
        if (undo(what, &deadline, &once)) {
            ending_done(ending);
            progress_clear(&session->putting_back.progress);
            return true;
        }
        session->putting_back.was_reset |= once.kind == ERROR_RESET;
        bool is_lost = once.kind == ERROR_LINK_LOST,
             may_come_back = is_lost && link_comes_back(session->link);
        if (is_lost)
            ending_unanswered(ending);
        if (ending_is_over(ending) || (!may_come_back && tries >= TRIES)) {
            *error = once;
            return false;
        }
        deadline_nap_us(NAP_US);
    }
}

static bool undo_target(void *what, const struct deadline *deadline, struct error *error)
{
    return device_undo(what, deadline, error);
}

void session_tell_left(const struct session *session)
{
    static const enum left_why reasons[] = {LEFT_WRITTEN, LEFT_ON};
    struct left_alone left;
    char line[512];
    if (session->device.ledger == NULL)
        return;
    ledger_take_left(session->device.ledger, &left);
    for (size_t i = 0; session->device.chosen != NULL && i < left.n; i++)
        (void)core_debug_name(&session->device.chosen->core, left.items[i].at, left.items[i].name, LEFT_NAME);
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
        left_alone_tell(&left, reasons[i], line, sizeof line);
        if (line[0] != '\0')
            request_note(session->request, "%s", line);
    }
}

bool session_undo(struct session *session, struct error *error)
{
    static const struct error caught = {.kind = ERROR_STATE,
                                        .text = "a catch of resets is left: after a reset the core halts"};
    const struct device *device = &session->device;
    struct deadline deadline = session_last_deadline(session);
    bool was_reset = device_reset_is_new(&session->device, &deadline);
    bool undone = session_undo_insist(session, undo_target, &session->device, error);
    deadline = session_last_deadline(session);
    if (device_reset_is_new(&session->device, &deadline) || was_reset || session->putting_back.was_reset)
        request_note(session->request, "the target was reset, or lost power, while it was put back");
    session->putting_back.was_reset = false; /* a session may have several ends */
    session_tell_left(session);
    if (undone)
        return true;
    if (device->chosen != NULL && settings_catch_is_left(device->ledger, &device->chosen->core))
        error_add(error, &caught);
    return false;
}

struct engine *session_engine(struct session *session, struct error *error)
{
    struct device *device = &session->device;
    struct engine *engine = device->debugger != NULL ? debugger_engine_new(device) : direct_new(device);
    if (engine == NULL) {
        error_memory(error);
    } else if (session->elf.n_late > 0) {
        engine->prove = program_prove;
        engine->prove_context = session;
    }
    return engine;
}

static bool disarm_engine(void *engine, const struct deadline *deadline, struct error *error)
{
    return ((struct engine *)engine)->ops->disarm(engine, deadline, error);
}

bool session_disarm(struct session *session, struct engine *engine, struct error *error)
{
    if (!session_undo_insist(session, disarm_engine, engine, error))
        return false;
    if (session->device.leave == LEAVE_HALTED_FOREIGN)
        session->device.stopped_at = engine->stopped_at;
    return true;
}

/* A program that asks for a debugger finds us. */
static void tell_own_breakpoint(struct session *session, const struct own_breakpoint *own, const char *place,
                                struct error *error)
{
    bool stays = !device_debug_is_ours(&session->device), debugged = session->device.debugger != NULL;
    char what[64];
    own_breakpoint_describe(own, what, sizeof what);
    error_clear(error);
    error_advise(error, ERROR_FOREIGN_STOP,
                 own->is_comparator ? "While it is debugged, the core halts there in place of DebugMonitor. "
                                      "Measure with the comparator off."
                 : !own->is_call    ? "pmu-probe restore --force lets the core go, into an exception; reset "
                                      "starts it anew."
                 : stays            ? "It waits for a debugger that answers (OpenOCD: arm semihosting "
                                      "enable); restore --force lets it go."
                                    : "Measure a build without semihosting.",
                 "stopped by %s at %s%s", what, place,
                 !own->is_comparator && own->is_call && !stays ? "; it runs on after the call, unanswered"
                 : own->is_comparator && !debugged             ? "; it runs on"
                                                               : "; it is left halted there");
}

static void name_stop(struct session *session, uint64_t pc, struct error *error)
{
    char place[512], stop[sizeof error->text];
    session->stop_named = true;
    session_place(session, pc, place, sizeof place);
    struct deadline deadline = session_deadline(session);
    struct own_breakpoint own = device_own_breakpoint(&session->device, pc, &deadline);
    session->device.at_own_stop = own.is_comparator;
    if (own.is_own) {
        tell_own_breakpoint(session, &own, place, error);
        return;
    }
    snprintf(stop, sizeof stop, "%s", error->text);
    const char *address = strstr(stop, " at 0x");
    error_clear(error);
    error_set(error, ERROR_FOREIGN_STOP, "%.*s at %s",
              (int)(address != NULL ? address - stop : (ptrdiff_t)strlen(stop)), stop, place);
}

bool session_end_engine(struct session *session, struct engine *engine, struct error *why,
                        struct error *after)
{
    struct deadline last = session_last_deadline(session);
    if (!session_disarm(session, engine, after))
        return false;
    bool ok = device_check_witness(&session->device, &last, after);
    if (!ok && (why->kind == ERROR_START || why->kind == ERROR_END))
        error_clear(why);
    if (why->kind == ERROR_FOREIGN_STOP)
        name_stop(session, engine->stopped_at, why);
    (void)trial_clock_change(session);
    return ok;
}

/* Every register that is not as it was, on a separate line, and what to do. */
static void tell_what_is_left(const struct session *session, struct error *error)
{
    static const char advice[] = "pmu-probe restore puts it back, once it answers again.";
    struct error left = {0};
    char names[512];
    if (session->device.ledger == NULL || ledger_held(session->device.ledger) == 0)
        return;
    ledger_names(session->device.ledger, names, sizeof names);
    error_set(&left, error->kind, "Not restored: %s%s", names,
              session->may_stop || session->device.halted_access != NULL ? ". The core may be halted." : "");
    error_add(error, &left);
    error->advice = advice;
}

bool session_close(struct session *session, struct error *error)
{
    struct ending *ending = begin_ending(session);
    bool undone = session->link == NULL || session_undo(session, error);
    bool ok = device_check_left(&session->device, error) && undone;
    if (!ok)
        tell_what_is_left(session, error);
    device_close(&session->device);
    struct error halted = {0};
    if (!link_end(session->link, &halted))
        ok = error_add(error, &halted);
    else if (undone)
        journal_end(session->journal);
    journal_free(session->journal);
    session->journal = NULL;
    link_close(session->link);
    session->link = NULL;
    progress_clear(&session->putting_back.progress);
    if (ending != NULL)
        ending->notice = NULL;
    if (!session->lends_symbols)
        symbols_close(session->symbols);
    session->symbols = NULL;
    free(session->sleeps.at);
    free(session->asks.at);
    free(session->waits.items);
    session->sleeps = session->asks = (struct code_places){.n = 0};
    session->waits.items = NULL;
    session->waits.known = false;
    program_forget(session);
    return ok;
}

void session_forgive(const struct session *session, struct error *error)
{
    if (*session->around->cancel == 0 || error->kind != ERROR_LINK_LOST)
        return;
    error_clear(error);
    error_set(error, ERROR_CANCELLED, "cancelled");
}

/* Of a core that was found halted by no engine, or while a run ended for another reason. */
static void session_undo_tell_stop(struct session *session, struct error *error)
{
    struct error stop = {0};
    char place[512];
    uint64_t pc;
    struct deadline deadline = session_last_deadline(session);
    if (session->device.leave == LEAVE_HALTED_FOREIGN && error->kind == ERROR_FOREIGN_STOP &&
        !session->stop_named && device_stands(&session->device, &pc, &deadline))
        name_stop(session, pc, error);
    if (session->device.leave != LEAVE_HALTED_FOREIGN || error->kind == ERROR_NONE ||
        error->kind == ERROR_FOREIGN_STOP)
        return;
    session_place(session, session->device.stopped_at, place, sizeof place);
    error_set(&stop, error->kind, "The core is left halted at %s, where pmu-probe did not stop it.", place);
    error_add(error, &stop);
}

static void tell_own_write(const struct session *session, struct error *error)
{
    struct error own = {0};
    if (error->kind != ERROR_WRITTEN || session->measured.own_write[0] == '\0')
        return;
    error_set(&own, ERROR_WRITTEN, "The program has code that can do it: %s (doctor names all of it).",
              session->measured.own_write);
    error_add(error, &own);
}

/* A reset changes the registers, too, on which counts depend. */
static void name_reset(struct session *session, struct error *error)
{
    struct deadline last = session_last_deadline(session);
    struct error reset = {0};
    if ((error->kind == ERROR_WRITTEN || error->kind == ERROR_NO_COUNTER) && session->device.block != NULL &&
        !device_check_reset(&session->device, &last, &reset) && reset.kind == ERROR_RESET)
        error_replace(error, &reset);
}

bool session_add_failure(const struct error *after, bool ok, struct error *error)
{
    if (after->kind == ERROR_NONE)
        return ok;
    ok = error_add(error, after);
    error->advice = after->advice != NULL ? after->advice : error->advice;
    return ok;
}

void session_settle(struct session *session, bool stays_open, bool ok, struct error *error,
                    struct error *after)
{
    if (!ok)
        session_undo_tell_stop(session, error);
    name_reset(session, error);
    tell_own_write(session, error);
    if (stays_open)
        (void)session_undo(session, after);
    else if (session_close(session, after))
        session_forgive(session, error);
}

bool session_finish(struct session *session, bool ok, struct error *error)
{
    struct error after = {0};
    session_settle(session, false, ok, error, &after);
    return session_add_failure(&after, ok, error);
}

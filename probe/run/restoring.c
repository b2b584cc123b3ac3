/* SPDX-License-Identifier: MIT */
#include "run/restoring.h"

#include "base/state.h"
#include "base/values.h"
#include "debuggers/debugger.h"
#include "device/release.h"
#include "device/restore.h"
#include "links/journal.h"
#include "run/program.h"
#include "run/session.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void __attribute__((format(printf, 3, 4)))
restore_say(const struct restoring *self, const char *label, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    self->say(self->context, label, text);
}

static void say_let_go(const struct restoring *self, const struct session *session, uint64_t address)
{
    char place[512];
    session_place(session, address, place, sizeof place);
    restore_say(self, "let go", "it was halted at %s", place);
}

/* ---- by a journal */

enum { MOST = 64 };

struct restore_command {
    const struct restoring *of;
    char paths[MOST][JOURNAL_PATH];
    struct journal_file file;
    bool looks; /* without a journal, it checks the target */
};

static void print_result(struct restore_command *self, struct session *session,
                         const struct restored *restored)
{
    size_t n = restored->registers + restored->code;
    char code[64] = "";
    if (restored->code > 0)
        snprintf(code, sizeof code, ", %zu of them breakpoint instructions in RAM", restored->code);
    restore_say(self->of, "put back", "%zu register%s%s", n, PLURAL(n), code);
    if (restored->unseen > 0)
        restore_say(self->of, "and", "%zu that only the halted core reaches", restored->unseen);
    if (restored->gave_back)
        restore_say(self->of, "and", "registers of the program that were in use");
    if (restored->let_go)
        say_let_go(self->of, session, restored->stood_at);
    if (self->file.head.was_halted)
        restore_say(self->of, "halted", "as it was before that run");
}

/* --- without a journal ---------------------------------------------------------------------------------- */

static void count_stop(void *context, const char *what, bool has_place, uint64_t place)
{
    unsigned *n = context;
    (void)what;
    (void)has_place;
    (void)place;
    ++*n;
}

/* "core 0 (Cortex-M4 r0p1) is halted, and 2 breakpoints or catches are set". True: neither, or it cannot be
 * seen. */
static bool look_at_core(struct session *session, struct device_core *core, struct error *error)
{
    struct device *device = &session->device;
    struct device_core *chosen = device->chosen;
    struct deadline deadline = session_deadline(session);
    struct error unread = {0};
    unsigned n = 0;
    const struct release_sink sink = {.context = &n, .removed = count_stop};
    char set[64] = "";
    bool reset, halted = core->state == CORE_HALTED;
    if (core->state == CORE_HIDDEN)
        (void)restore_look_for_reset(device, core, &reset, &halted, &deadline, &unread);
    device->chosen = core;
    if (device_has_run_control(device) && core->state != CORE_HIDDEN)
        (void)release_look(device, &sink, &deadline, &unread);
    device->chosen = chosen;
    if (unread.kind == ERROR_LINK_LOST || unread.kind == ERROR_CANCELLED)
        return error_copy(error, &unread);
    if (n > 0)
        snprintf(set, sizeof set, "%s%u breakpoint%s or catch%s set", halted ? ", and has " : "has ", n,
                 PLURAL(n), n == 1 ? "" : "es");
    return (!halted && n == 0) ||
           error_advise(error, ERROR_LEFT, session_without_journal(session),
                        "core %td (%s) %s%s, and no journal shows by whom", core - device->cores,
                        core->core.name, halted ? "is halted" : "", set);
}

/* What a run whose journal is not here, or is cut, may have left. */
static bool look_at_cores(struct session *session, struct error *error)
{
    bool ok = true;
    for (size_t i = 0; i < session->device.n_cores; i++) {
        struct error one = {0};
        ok = (look_at_core(session, &session->device.cores[i], &one) || error_add(error, &one)) && ok;
    }
    return ok;
}

static void print_no_journal(const struct restore_command *self)
{
    char folder[JOURNAL_PATH];
    struct error none = {0};
    bool has = state_folder(folder, sizeof folder, &none);
    restore_say(self->of, NULL, "nothing to restore: no journal%s%s", has ? " in " : ": ",
                has ? folder : none.text);
}

/* --- with one ------------------------------------------------------------------------------------------- */

static bool restore_check_end(const struct restore_command *self, struct session *session,
                              const struct restored *restored, struct error *error)
{
    char place[512];
    if (!restored->halted_again)
        return true;
    session_place(session, restored->stands_at, place, sizeof place);
    if (self->file.cut)
        return error_advise(error, ERROR_LEFT, session_without_journal(session),
                            "the core stopped at %s, and the journal, which is cut off, does not say why",
                            place);
    return error_set(error, ERROR_FOREIGN_STOP, "the core stopped at %s, at a breakpoint of another", place);
}

/* This run may not end either: what it borrows itself goes into the same file. */
static void keep_journal(struct session *session, const struct journal_file *file)
{
    struct error none = {0};
    session_use_journal(session, file != NULL ? journal_reopen(file, &none) : NULL);
    if (none.kind != ERROR_NONE)
        log_line(session->around->log, "%s", none.text);
}

/* The journal of this run may be cut. */
static bool restore_look_for_more(const struct restore_command *self, struct session *session,
                                  struct error *error)
{
    if (!self->file.cut)
        return true;
    restore_say(self->of, "not known", "whether that is all: the journal is cut off");
    return session_look_again(session, -1, error) && look_at_cores(session, error);
}

/* The session has its target. */
static bool restore_target(struct restore_command *self, struct session *session, struct error *error)
{
    const struct journal_head *head = &self->file.head;
    struct deadline deadline = session_deadline(session);
    struct left left;
    struct restored restored;
    char when[32];
    if (!restore_choose(&session->device, head, error) ||
        !restore_look(&session->device, &self->file, &left, &deadline, error))
        return false;
    session_when(head->started_s, when, sizeof when);
    restore_say(self->of, NULL, "%s, core %u (%s): %s at %s, process %ld, did not end", head->link,
                head->number, head->core, head->command, when, head->process);
    if (!left_any(&left)) {
        restore_say(self->of, "", "nothing is left of it%s", self->file.cut ? " that it has" : "");
        return restore_look_for_more(self, session, error);
    }
    keep_journal(session, &self->file);
    bool ok = restore_run(&session->device, &self->file, &restored, &deadline, error);
    if (ok && restored.again)
        ok = session_look_again(session, -1, error) && restore_choose(&session->device, head, error) &&
             restore_let_go(&session->device, &self->file, &restored, &deadline, error);
    struct error after = {0};
    if (!session_undo(session, &after))
        ok = error_add(error, &after);
    if (!ok) {
        restore_say(self->of, "failed", "the journal is kept for another pmu-probe restore");
        return false;
    }
    journal_free(session->journal);
    keep_journal(session, NULL);
    print_result(self, session, &restored);
    return restore_check_end(self, session, &restored, error) &&
           (self->file.head.was_halted || restore_look_for_more(self, session, error));
}

/* Of the journal that was read last. */
static bool restore_here(struct restore_command *self, struct session *session, struct error *error)
{
    if (self->file.headless) {
        struct error there = {0};
        if (!look_at_cores(session, &there))
            (void)error_add(error, &there);
        struct error unknown = {0};
        (void)session_unknown_left(session, &self->file.head, &unknown);
        return error_add(error, &unknown);
    }
    if (strcmp(link_identity(session->link), self->file.head.link) != 0)
        return error_set(error, ERROR_USAGE, "the run used %s, and this is %s", self->file.head.link,
                         link_identity(session->link));
    if (!restore_target(self, session, error))
        return false;
    unlink(self->file.path);
    return true;
}

/* A server's own settings are last, as it may read the target from then on. */
static bool end_session(struct session *session, bool ok, struct error *error)
{
    struct error after = {0};
    ok = ok && (session->link == NULL || link_server_recover(session->link, error));
    return session_close(session, &after) ? ok : error_add(error, &after);
}

/* Over the link that its run had. */
static bool restore_one(struct restore_command *self, struct error *error)
{
    struct request request = *self->of->request;
    struct session session = {.request = &request, .around = self->of->around, .restores = true};
    self->of->take_words(&self->file.head, &request);
    bool ok = program_open(&session, error) && session_reach_target(&session, error) &&
              restore_here(self, &session, error);
    return end_session(&session, ok, error);
}

/* Over the link that the user names: what was left there. */
static bool restore_there(struct restore_command *self, struct error *error)
{
    struct session session = {.request = self->of->request, .around = self->of->around, .restores = true};
    bool ok = program_open(&session, error) && session_reach_target(&session, error);
    size_t n = ok ? journal_list(link_identity(session.link), self->paths, MOST) : 0;
    if (ok && n == 0 && self->looks) {
        print_no_journal(self);
        ok = look_at_cores(&session, error);
    }
    for (size_t i = 0; ok && i < n; i++) {
        ok = journal_read(self->paths[i], &self->file, error);
        if (!ok)
            break;
        ok = restore_here(self, &session, error);
        journal_file_free(&self->file);
        ok = ok && (i + 1 == n || session_look_again(&session, -1, error));
    }
    return end_session(&session, ok, error);
}

/* No run of this user has a journal. Over the link that any command would take, if there is one. */
static bool look_only(struct restore_command *self, struct error *error)
{
    struct session session = {.request = self->of->request, .around = self->of->around, .restores = true};
    struct error unseen = {0};
    print_no_journal(self);
    bool reached = session_reach_target(&session, &unseen), ok = !reached || look_at_cores(&session, error);
    if (!reached)
        restore_say(self->of, "not known", "how the target is: %s", unseen.text);
    return end_session(&session, ok, error);
}

static bool restore_first(const struct restoring *of, struct error *error)
{
    struct restore_command *self = calloc(1, sizeof *self);
    if (self == NULL)
        return error_memory(error);
    self->of = of;
    bool ok = journal_list(NULL, self->paths, 1) == 0 || restore_there(self, error);
    free(self);
    return ok;
}

/* A run that is under way has the lock of its link: its journal is none of ours. Another
 * process that has the link, such as another user's, keeps a journal from being put back. */
static bool run_is_under_way(const struct journal_head *head, const struct error *refusal)
{
    return refusal->kind == ERROR_IN_USE && refusal->holder != 0 && refusal->holder == head->process;
}

static bool restore_all(struct restore_command *self, struct error *error)
{
    size_t n = journal_list(NULL, self->paths, MOST), under_way = 0;
    struct deadline cancelled = {.at_us = INT64_MAX, .cancel = self->of->around->cancel};
    bool ok = true;
    if (n == 0)
        return look_only(self, error);
    for (size_t i = 0; i < n && !deadline_cancelled(&cancelled); i++) {
        struct error one = {0};
        if (!journal_read(self->paths[i], &self->file, &one)) {
            ok = error_add(error, &one);
            continue;
        }
        bool done = self->file.headless ? session_unknown_left(NULL, &self->file.head, &one)
                                        : restore_one(self, &one);
        bool runs = run_is_under_way(&self->file.head, &one);
        under_way += runs;
        if (!done && !runs)
            ok = error_add(error, &one);
        journal_file_free(&self->file);
    }
    if (under_way == n)
        restore_say(self->of, NULL, "nothing to restore: the runs that have a journal are under way");
    return ok;
}

bool restore_by_journal(const struct restoring *of, struct error *error)
{
    struct restore_command *self = calloc(1, sizeof *self);
    if (self == NULL)
        return error_memory(error);
    self->of = of;
    self->looks = true;
    bool ok = of->names_link ? restore_there(self, error) : restore_all(self, error);
    free(self);
    return ok;
}

/* ---- by force: takes every breakpoint away, and lets the cores go. */

struct release_command {
    const struct restoring *of;
    struct session session;
    unsigned removed; /* of this core */
};

static void on_removed(void *context, const char *what, bool has_place, uint64_t at)
{
    struct release_command *self = context;
    char place[512] = "";
    if (has_place)
        session_place(&self->session, at, place, sizeof place);
    restore_say(self->of, "removed", "%s%s%s", what, has_place ? " at " : "", place);
    self->removed++;
}

static enum mapping mapping_at(void *context, uint64_t address)
{
    const struct release_command *self = context;
    return symbols_mapping(self->session.symbols, address);
}

static void restore_force_on_left(void *context, uint64_t at)
{
    struct release_command *self = context;
    char place[512];
    session_place(&self->session, at, place, sizeof place);
    restore_say(self->of, "left alone",
                "a possible breakpoint instruction at %s: the ELF has no mapping symbol ($t, $d) "
                "that says whether it is code",
                place);
}

static void restore_force_on_own(void *context, const char *what, uint64_t at)
{
    const struct release_command *self = context;
    restore_say(self->of, "left alone", "%s at 0x%08" PRIX64 ": the program's own, as DebugMonitor is on",
                what, at);
}

static bool release_code_of_elf(struct release_command *self, const struct release_sink *sink,
                                struct error *error)
{
    enum { SEGMENTS = 16 };
    struct session *session = &self->session;
    struct segment segments[SEGMENTS];
    size_t n = session->symbols != NULL ? symbols_code(session->symbols, segments, SEGMENTS) : 0;
    for (size_t i = 0; i < n; i++) {
        struct deadline deadline = session_deadline(session);
        if (!release_code(&session->device, segments[i].address, segments[i].bytes, segments[i].size, sink,
                          &deadline, error))
            return false;
    }
    return true;
}

static const char start_anew[] = "pmu-probe reset starts the program anew.";

static const char *instruction_help(const struct release_command *self, const struct release *end)
{
    return end->own.is_own ? "It is the program's own, and halts while the server debugs"
           : self->session.symbols == NULL
               ? "If a debugger put it there, --elf FILE helps to put the code back"
               : "The ELF does not show that a debugger put it there";
}

/* Prints where the core was halted, and whether it runs now. */
static bool restore_force_print_end(struct release_command *self, const struct release *end,
                                    struct error *error)
{
    char place[512], now[512], what[64] = "";
    if (end->own.is_own)
        own_breakpoint_describe(&end->own, what, sizeof what);
    session_place(&self->session, end->stood_at, place, sizeof place);
    session_place(&self->session, end->stands_at, now, sizeof now);
    bool again = end->halted_again && end->own.code.name != NULL;
    if (end->breakpoint_instruction || again)
        return error_advise(error, ERROR_STATE, start_anew,
                            "the core %s at a breakpoint instruction at %s. %s",
                            end->breakpoint_instruction ? "is left halted" : "stops again",
                            end->breakpoint_instruction ? place : now, instruction_help(self, end));
    if (end->halted_again)
        return error_advise(error, ERROR_STATE, start_anew, "the core stopped again, at %s", now);
    if (end->own.is_own)
        restore_say(self->of, "let go", "it was stopped by %s at %s%s", what, place,
                    end->own.is_call ? " and goes on after it"
                                     : ", which is an exception without a debugger");
    else if (end->was_halted)
        say_let_go(self->of, &self->session, end->stood_at);
    else
        restore_say(self->of, "", "%s", self->removed > 0 ? "running" : "nothing to remove; running");
    if (end->may_have_borrowed)
        restore_say(self->of, "note",
                    "its registers were being read: if the program does not go on well, "
                    "pmu-probe reset");
    return true;
}

static bool free_core(struct release_command *self, struct error *error)
{
    struct session *session = &self->session;
    const struct release_sink sink = {.context = self,
                                      .removed = on_removed,
                                      .mapping = mapping_at,
                                      .left = restore_force_on_left,
                                      .own = restore_force_on_own};
    struct deadline deadline = session_deadline(session);
    struct release end;
    bool again, lockup = session->device.chosen->state == CORE_LOCKUP;
    size_t number = (size_t)(session->device.chosen - session->device.cores);
    self->removed = 0;
    restore_say(self->of, NULL, "core %zu   %s", number, session->device.chosen->core.name);
    if (!release_first(&session->device, &sink, &again, &deadline, error))
        return false;
    if (again && !session_look_again(session, (int)number, error)) /* now it must be free */
        return false;
    if (!release_stops(&session->device, &sink, &deadline, error) || !release_code_of_elf(self, &sink, error))
        return false;
    if (lockup)
        return error_lockup(error);
    return release_run(&session->device, &end, &deadline, error) &&
           restore_force_print_end(self, &end, error);
}

/* Restores locks and the like before the next core. */
static bool release_core(struct release_command *self, struct error *error)
{
    struct deadline last = session_last_deadline(&self->session);
    struct error after = {0};
    bool ok = free_core(self, error);
    if (!device_undo(&self->session.device, &last, &after))
        ok = error_add(error, &after);
    session_tell_left(&self->session);
    return ok;
}

/* It forgets the breakpoints of earlier clients, and lets the core go at the end of the session. */
static bool release_by_server(struct release_command *self, struct error *error)
{
    struct session *session = &self->session;
    struct debugger *debugger = session->device.debugger;
    if (debugger->facts.is_attended)
        return error_set(error, ERROR_USAGE, "the core is GDB's: its `delete` and `continue` let it go");
    if (debugger->facts.was_halted)
        say_let_go(self->of, session, session->device.cores[0].halted_at);
    else
        restore_say(self->of, "", "nothing to remove; running");
    debugger->stays_halted = false;
    return true;
}

/* All cores, as it is not known which of them the killed run had; or the one that -C names. A core that
 * cannot be reached was not taken either. */
static bool release_all(struct release_command *self, struct error *error)
{
    struct session *session = &self->session;
    bool ok = true, one = self->of->request->core >= 0 || self->of->request->debug_base.said;
    if (session->device.debugger != NULL)
        return release_by_server(self, error);
    if (!device_has_run_control(&session->device))
        return error_set(
            error, ERROR_USAGE,
            "restore --force needs run control: OpenOCD's Tcl port, a CMSIS-DAP probe or a GDB server");
    if (one)
        return release_core(self, error);
    for (size_t i = 0; i < session->device.n_cores && error->kind != ERROR_LINK_LOST; i++) {
        struct error failed = {0};
        session->device.chosen = &session->device.cores[i];
        if (release_core(self, &failed))
            continue;
        bool hidden = failed.kind == ERROR_ASLEEP && session->device.chosen->state == CORE_HIDDEN;
        if (hidden)
            restore_say(self->of, "", "not reached: %s", failed.text);
        else
            ok = error_add(error, &failed);
    }
    if (ok) /* the killed run had switched it on */
        link_leave_power(session->link, LINK_POWER_DOWN);
    if (ok)
        session_forget_cut(session);
    return ok;
}

/* A server still executes what a killed run had sent, even after our first read. */
static void let_server_settle(const struct session *session)
{
    enum { SETTLE_MS = 300 };
    if (link_has_server(session->link))
        deadline_nap_us(INT64_C(1000) * SETTLE_MS);
}

bool restore_by_force(const struct restoring *restoring, struct error *error)
{
    struct release_command self = {
        .of = restoring,
        .session = {.request = restoring->request, .around = restoring->around, .tolerates_left = true}};
    struct session *session = &self.session;
    char text[128];
    struct error why = {0};
    /* A journal knows more than can be found. What keeps it from being used shows again below. */
    bool ok = restore_first(restoring, &why) || why.kind != ERROR_CANCELLED || error_copy(error, &why);
    ok = ok && program_open(session, error) && session_reach_target(session, error);
    if (ok) {
        let_server_settle(session);
        link_describe(session->link, text, sizeof text);
        restore_say(restoring, NULL, "%s", text);
        ok = release_all(&self, error);
    }
    return session_finish(session, ok, error);
}

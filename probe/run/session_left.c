#include "base/values.h"
#include "run/session.h"

#include "base/log.h"
#include "device/restore.h"
#include "links/journal.h"

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
        snprintf(registers, sizeof registers, "%s%zu register%s changed", left->halted ? ", and " : "",
                 left->ours, PLURAL(left->ours));
    error_set(error, ERROR_LEFT, "a run of `%s` at %s (process %ld) did not end. It left core %u (%s) %s%s",
              head->command, when, head->process, head->number, head->core, left->halted ? "halted" : "",
              registers);
}

const char session_without_journal[] =
    "pmu-probe restore --force removes breakpoints and catches, and lets the core "
    "go; pmu-probe reset starts the program "
    "anew.";

/* "a run at 14:02 did not end, and it could not write its journal: what it left is not known" */
bool session_unknown_left(const struct journal_head *head, struct error *error)
{
    char when[32], command[sizeof head->command + 8] = "";
    session_when(head->started_s, when, sizeof when);
    if (head->command[0] != '\0')
        snprintf(command, sizeof command, " of `%s`", head->command);
    return error_advise(
        error, ERROR_LEFT, session_without_journal,
        "a run%s at %s did not end, and it could not write all of its journal: what it left on "
        "the target is not known",
        command, when);
}

/* Whether the target still has what this journal names. One of another target stays where it is, and one
 * that is cut until it is restored or released: it does not name all. */
static bool session_left_is_left(struct session *session, struct journal_file *file, struct left *left,
                                 struct error *error)
{
    *left = (struct left){0};
    if (file->headless)
        return session_unknown_left(&file->head, error);
    struct deadline deadline = session_deadline(session);
    struct device_core *chosen = session->device.chosen;
    struct error other = {0};
    bool ok = !restore_choose(&session->device, &file->head, &other) ||
              restore_look(&session->device, file, left, &deadline, error);
    session->device.chosen = chosen;
    if (!ok || other.kind != ERROR_NONE || left_any(left))
        return ok;
    if (file->cut)
        return session_unknown_left(&file->head, error);
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
    request_note(session->request,
                 "no journal is kept, so that after a crash nothing can restore the target: %s", why);
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

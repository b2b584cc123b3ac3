#include "run/session.h"

#include "base/file.h"
#include "device/restore.h"
#include "device/settings.h"
#include "links/claim.h"
#include "links/journal.h"
#include "links/ledger.h"
#include "report/terminal.h"
#include "run/elf_search.h"
#include "run/tasks.h"
#include "wire/wire.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { ACCESS_MS = 5000, LAST_MS = 5000, NAP_US = 50000, TRIES = 3 };
enum { LEFT_MOST = 16 };

struct deadline session_last_deadline(const struct session *session)
{
    return ending_deadline(session->context->ending, patience_ms(LAST_MS));
}

struct deadline session_deadline(const struct session *session)
{
    struct deadline deadline = deadline_in_ms(patience_ms(ACCESS_MS), session->context->cancel);
    deadline.ending = session->context->ending;
    return deadline;
}

const char *session_elf(const struct session *session)
{
    const char *named = session->context->options->elf;
    return named != NULL ? named : session->found;
}

/* The first location that is a name, so that the program must be known; NULL: none. */
static const char *name_among(const struct options *options)
{
    for (size_t i = 0; i < options->n_operands; i++)
        if (options->operands[i][0] != '*')
            return options->operands[i];
    return NULL;
}

/* Of the files found, newest first: session->found is the first that the target runs. Returns how many it may
 * run. */
static size_t choose_elf(struct session *session, const struct elf_files *files)
{
    size_t there = 0;
    struct symbols *chosen = NULL;
    for (size_t i = 0; i < files->n && *session->context->cancel == 0; i++) {
        struct error unread = {0};
        session->symbols =
            symbols_open_moved(files->files[i].path, session->context->options->load_offset, &unread);
        bool same = session->symbols != NULL && elf_is_there(session);
        if (same && there++ == 0) {
            chosen = session->symbols;
            snprintf(session->found, sizeof session->found, "%s", files->files[i].path);
        } else {
            symbols_close(session->symbols);
        }
    }
    session->symbols = session->device.symbols = chosen;
    return there;
}

static void tell_chosen(const struct session *session, size_t there)
{
    char path[UTF8_CLEAN_ROOM(ELF_PATH)];
    utf8_clean(path, sizeof path, session->found);
    if (session->context->options->quiet)
        return;
    if (there == 1)
        fprintf(stderr, "pmu-probe: using %s (its code is on the target)\n", path);
    else
        fprintf(stderr,
                "pmu-probe: using %s (its code is on the target; the newest, of %zu others it is, too)\n",
                path, there - 1);
}

static bool refuse_without_elf(const struct session *session, const struct elf_files *files,
                               struct error *error)
{
    const struct options *options = session->context->options;
    if (session->needs_elf == ELF_NEEDED)
        error_set(error, ERROR_ELF,
                  "functions are found by name, and there is no ELF file to look them up in");
    else
        error_set(error, ERROR_ELF, "`%.200s` is a name, and there is no ELF file to look it up in",
                  name_among(options));
    struct error looked = {0};
    if (files->n == 0)
        error_set(&looked, ERROR_ELF, "none is named, and none is in %s", elf_folders);
    else
        error_set(&looked, ERROR_ELF, "none is named, and the target has the code of none of %zu in %s",
                  files->n, elf_folders);
    return error_add(error, &looked);
}

static bool search_elf(struct session *session, struct error *error)
{
    struct elf_files *files = calloc(1, sizeof *files);
    if (files == NULL)
        return error_set(error, ERROR_SYSTEM, "out of memory");
    elf_files_find(files);
    bool ok = files->n > 0 ? session_reach_target(session, error) : refuse_without_elf(session, files, error);
    size_t there = ok ? choose_elf(session, files) : 0;
    if (ok && there == 0)
        ok = refuse_without_elf(session, files, error);
    free(files);
    if (ok)
        tell_chosen(session, there);
    return ok;
}

bool session_open_elf(struct session *session, struct error *error)
{
    const struct options *options = session->context->options;
    if (options->elf == NULL)
        return session->needs_elf == ELF_NOT_NEEDED ||
               (session->needs_elf == ELF_FOR_NAMES && name_among(options) == NULL) ||
               search_elf(session, error);
    session->symbols = symbols_open_moved(options->elf, options->load_offset, error);
    return session->symbols != NULL;
}

/* In a recording: what chip it is of. */
static void note_chip(const struct session *session)
{
    for (size_t i = 0; i < session->device.n_cores; i++) {
        const struct core *core = &session->device.cores[i].core;
        char text[128];
        snprintf(text, sizeof text, "chip: core %zu, %.64s, id 0x%08" PRIx32, i, core->name, core->id);
        wire_note(session->context->wire, text);
    }
}

static void log_target(const struct session *session)
{
    static const char *const states[] = {[CORE_RUNNING] = "running",
                                         [CORE_ASLEEP] = "asleep",
                                         [CORE_HALTED] = "halted",
                                         [CORE_LOCKUP] = "locked up",
                                         [CORE_HIDDEN] = "hidden"};
    const struct log *log = session->context->log;
    char text[128];
    link_describe(session->link, text, sizeof text);
    log_line(log, "connected: %s", text);
    note_chip(session);
    for (size_t i = 0; log != NULL && i < session->device.n_cores; i++) {
        const struct device_core *core = &session->device.cores[i];
        log_line(log,
                 "core %zu: %s, id 0x%08" PRIx32 ", %s, %u comparators, debug 0x%08" PRIx64
                 ", PMU 0x%08" PRIx64,
                 i, core->core.name, core->core.id, states[core->state], core->core.comparators,
                 core->core.debug_base, core->core.pmu_base);
        for (size_t k = 0; k < core->n_blocks; k++)
            log_line(log, "  %s: %s%s%s", core->blocks[k].text, core->blocks[k].state,
                     core->blocks[k].unusable[0] != '\0' ? "; " : "", core->blocks[k].unusable);
    }
}

static bool find_target(struct session *session, int number, struct error *error)
{
    const struct options *options = session->context->options;
    const struct device_request request = {
        .core = options->counters != NULL ? -1
                                          : options->core, /* with --counters, -C names the CPU that counts */
        .debug = options->debug_base,
        .pmu = options->pmu_base,
        .cti = options->cti,
        .keeps_registers = session->restores};
    struct deadline deadline = session_deadline(session);
    if (!device_open(&session->device, session->link, &request, &deadline, error))
        return false;
    session->device.symbols = session->symbols;
    log_target(session);
    return device_choose(&session->device, number, error);
}

/* --- the journal ---------------------------------------------------------------------------------------- */

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
                 left->ours, left->ours == 1 ? "" : "s");
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

/* Whether the target still has what this journal tells of. One of another target stays where it is, and one
 * that is cut until it is restored or released: it does not tell all. */
static bool is_left(struct session *session, struct journal_file *file, struct left *left,
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

bool session_check_left(struct session *session, struct error *error)
{
    char(*paths)[JOURNAL_PATH] = calloc(LEFT_MOST, sizeof *paths);
    struct journal_file *file = calloc(1, sizeof *file);
    bool ok = true;
    size_t n = paths != NULL && file != NULL && link_identity(session->link)[0] != '\0'
                   ? journal_list(link_identity(session->link), paths, LEFT_MOST)
                   : 0;
    for (size_t i = 0; ok && i < n; i++) {
        struct error unread = {0};
        struct left left;
        if (!journal_read(paths[i], file, &unread)) {
            log_line(session->context->log, "%s", unread.text);
            continue;
        }
        ok = is_left(session, file, &left, error);
        if (ok && left_any(&left)) {
            describe_left(&file->head, &left, error);
            ok = false;
        }
        if (error->kind == ERROR_LEFT)
            link_leave_power(session->link, LINK_POWER_UP); /* for who puts it back */
        journal_file_free(file);
    }
    free(paths);
    free(file);
    return ok;
}

void session_forget_cut(const struct session *session)
{
    char(*paths)[JOURNAL_PATH] = calloc(LEFT_MOST, sizeof *paths);
    struct journal_file *file = calloc(1, sizeof *file);
    struct error unread = {0};
    size_t n = paths != NULL && file != NULL && link_identity(session->link)[0] != '\0'
                   ? journal_list(link_identity(session->link), paths, LEFT_MOST)
                   : 0;
    for (size_t i = 0; i < n; i++) {
        if (!journal_read(paths[i], file, &unread))
            continue;
        if (file->cut)
            unlink(paths[i]);
        journal_file_free(file);
    }
    free(paths);
    free(file);
}

static void add_word(struct journal_head *head, const char *word)
{
    if (head->n_words < JOURNAL_WORDS)
        snprintf(head->words[head->n_words++], sizeof head->words[0], "%s", word);
}

static void add_option(struct journal_head *head, const char *option, const char *value)
{
    if (value == NULL || head->n_words + 2 > JOURNAL_WORDS || strlen(value) >= sizeof head->words[0])
        return;
    add_word(head, option);
    add_word(head, value);
}

static void add_place(struct journal_head *head, const char *option, const struct place *place)
{
    char text[64];
    if (!place->said)
        return;
    snprintf(text, sizeof text, "%u:0x%" PRIX64, place->port, place->base);
    add_option(head, option, text);
}

/* By which options another pmu-probe reaches the same target. */
static void say_how_to_connect(const struct options *options, struct journal_head *head)
{
    add_option(head, "--probe", options->probe);
    for (size_t i = 0; i + 1 < options->n_openocd; i += 2)
        add_option(head, options->openocd[i], options->openocd[i + 1]);
    add_option(head, "--counters", options->counters);
    add_option(head, "--transport", options->transport);
    add_place(head, "--debug-base", &options->debug_base);
    add_place(head, "--pmu-base", &options->pmu_base);
    add_place(head, "--cti", &options->cti);
}

static void tell_no_journal(void *context, const char *why)
{
    const struct session *session = context;
    if (!session->context->options->quiet)
        fprintf(stderr,
                "pmu-probe: no journal is kept, so that after a crash nothing can restore the target: %s\n",
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
static void begin_journal(struct session *session)
{
    const struct options *options = session->context->options;
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
        snprintf(head->command, sizeof head->command, "%.31s", options->command);
        snprintf(head->core, sizeof head->core, "%s", core->core.name);
        say_how_to_connect(options, head);
        session->journal = journal_new(head, &none);
        free(head);
    }
    if (none.kind != ERROR_NONE)
        tell_no_journal(session, none.text);
    session_use_journal(session, session->journal);
    if (device->debugger != NULL && session->journal != NULL) /* its server halted the core when we came */
        ledger_sync(device->ledger);
}

/* One pmu-probe at a time: the one place where a link is claimed. */
static bool claim_link(const struct session *session, struct error *error)
{
    struct claim claim;
    claim_make(&claim, session->context->options->command);
    claim.takes_over = session->restores;
    return link_claim(session->link, &claim, error);
}

bool session_reach_target(struct session *session, struct error *error)
{
    struct error left = {0};
    if (session->link != NULL) /* for the search of an ELF file */
        return true;
    for (size_t i = 0; i < CONTEXT_OUTPUTS; i++)
        if (session->context->outputs[i] != NULL)
            output_ends_the_run(session->context->outputs[i]);
    session->link = connect_link(session->context, error);
    if (session->link == NULL || !claim_link(session, error) ||
        !find_target(session, session->context->options->core, error))
        return false;
    if (!session->restores && !session_check_left(session, &left)) {
        if (left.kind != ERROR_LEFT || !session->tolerates_left)
            return error_copy(error, &left);
        fprintf(stderr, "pmu-probe: %s. %s\n", left.text, error_advice(&left));
    }
    /* A server that looked at a core with borrowed registers would take these for the program's */
    if (left.kind == ERROR_NONE && !session->restores && !link_server_recover(session->link, error))
        return false;
    begin_journal(session);
    return true;
}

bool session_look_again(struct session *session, int number, struct error *error)
{
    device_close(&session->device);
    if (!find_target(session, number, error))
        return false;
    begin_journal(session);
    return true;
}

bool session_open_target(struct session *session, struct error *error)
{
    return session_reach_target(session, error) && elf_check(session, error);
}

void session_place(const struct session *session, uint64_t address, char *out, size_t size)
{
    struct location location;
    symbols_describe(session->symbols, address, &location);
    if (location.source[0] != '\0')
        snprintf(out, size, "%s (%s)", location.source, location.name);
    else
        snprintf(out, size, "%s", location.name);
}

bool session_check_run_control(const struct session *session, struct error *error)
{
    return session->device.debugger != NULL || core_has_run_control(&session->device.chosen->core) ||
           error_advise(error, ERROR_USAGE, "",
                        "%s needs run control, and a processor's MSRs have none: --probe gdb:HOST:PORT gives "
                        "it, with --counters for the MSRs; stat and watch count over time",
                        session->context->options->command);
}

bool session_take(struct session *session, struct error *error)
{
    const struct options *options = session->context->options;
    struct deadline deadline = session_deadline(session);
    char place[512];
    session_place(session, session->device.chosen->halted_at, place, sizeof place);
    session->device.divide = options->divide64;
    if (!device_take(&session->device, options->resume, place, &deadline, error))
        return false;
    return device_take_block(&session->device, options->counter, &deadline, error);
}

bool session_sees_running(const struct session *session, const char *command, struct error *error)
{
    return device_sees_running(&session->device) ||
           error_advise(error, ERROR_USAGE, "",
                        "through a GDB server a core can be looked at only while it is halted: %s has "
                        "nothing to read. "
                        "It works through OpenOCD's Tcl port or a CMSIS-DAP probe; delta works here as well",
                        command);
}

const char *session_cores_note(const struct session *session)
{
    if (session->device.n_cores < 2 || !tasks_change_cores(session->symbols))
        return "";
    return "the scheduler may move a task to another core: such a hit is wrong, and nothing shows it (pin "
           "the task)";
}

void session_conditions(struct session *session, const struct clock *clock, struct conditions *out)
{
    const struct device *device = &session->device;
    *out = (struct conditions){.clock_hz = clock->hz, .clock_error_hz = clock->error_hz};
    link_describe(session->link, out->link, sizeof out->link);
    if (device->chosen->core.numbered_by_unit)
        snprintf(out->core, sizeof out->core, "%.31s CPU %u, core %u", device->chosen->core.name,
                 (unsigned)device->chosen->core.unit, device->chosen->view.core_id);
    else if (device->remote != NULL)
        snprintf(out->core, sizeof out->core, "%.23s, counters of %.15s CPU %u", device->chosen->core.name,
                 device->remote->core.name, (unsigned)device->remote->core.unit);
    else
        snprintf(out->core, sizeof out->core, "%s core %d", device->chosen->core.name,
                 (int)(device->chosen - device->cores));
    snprintf(out->counter, sizeof out->counter, "%.63s", device->block->text);
    snprintf(out->note, sizeof out->note, "%s%s%s", device->block->note,
             device->block->note[0] != '\0' && clock->doubt[0] != '\0' ? "; " : "", clock->doubt);
    snprintf(out->clock_source, sizeof out->clock_source, "%s", clock->source);
    if (session->symbols != NULL) {
        snprintf(out->elf, sizeof out->elf, "%.255s", session_elf(session));
        snprintf(out->build_id, sizeof out->build_id, "%s", symbols_build_id(session->symbols));
    }
    char sleep[SLEEP_NOTE] = "";
    if (session->measured != NULL)
        session_sleep_note(session, &session->inside, sleep, sizeof sleep);
    conditions_add_note(out, sleep);
    if (session->measured != NULL)
        conditions_add_note(out, session_cores_note(session));
}

void conditions_add_note(struct conditions *conditions, const char *text)
{
    size_t used = strlen(conditions->note);
    if (text[0] != '\0' && used < sizeof conditions->note)
        snprintf(conditions->note + used, sizeof conditions->note - used, "%s%s", used > 0 ? "; " : "", text);
}

/* One line on a terminal, which goes again. */
static bool tell_of_ending(void *context)
{
    struct session *session = context;
    if (session->device.ledger == NULL || ledger_held(session->device.ledger) == 0)
        return false;
    progress_begin(&session->putting_back, stderr);
    if (session->putting_back.to != NULL)
        progress_now(&session->putting_back, "putting the target back ...");
    else if (!session->told && !file_takes(STDERR_FILENO))
        return false; /* a pipe that is full: nobody must wait for its reader here */
    else if (!session->told)
        fputs("pmu-probe: putting the target back ...\n", stderr);
    session->told = true;
    return true;
}

static struct ending *begin_ending(struct session *session)
{
    struct ending *ending = session->context->ending;
    if (ending != NULL && !session->context->options->quiet) {
        ending->notice = tell_of_ending;
        ending->context = session;
    }
    ending_begin(ending);
    return ending;
}

bool session_insist(struct session *session, bool (*undo)(void *, const struct deadline *, struct error *),
                    void *what, struct error *error)
{
    struct ending *ending = begin_ending(session);
    for (int tries = 1;; tries++) {
        struct deadline deadline = session_last_deadline(session);
        struct error once = {0};
        if (undo(what, &deadline, &once)) {
            ending_done(ending);
            progress_clear(&session->putting_back);
            return true;
        }
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
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
        left_alone_tell(&left, reasons[i], line, sizeof line);
        if (line[0] != '\0' && !session->context->options->quiet)
            fprintf(stderr, "pmu-probe: %s\n", line);
    }
}

bool session_undo(struct session *session, struct error *error)
{
    static const struct error caught = {
        .kind = ERROR_STATE,
        .text = "a catch of resets is left: after a reset the core halts, and the program does not boot"};
    const struct device *device = &session->device;
    bool undone = session_insist(session, undo_target, &session->device, error);
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
    if (engine == NULL)
        error_set(error, ERROR_SYSTEM, "out of memory");
    return engine;
}

static bool disarm_engine(void *engine, const struct deadline *deadline, struct error *error)
{
    return ((struct engine *)engine)->ops->disarm(engine, deadline, error);
}

bool session_disarm(struct session *session, struct engine *engine, struct error *error)
{
    if (!session_insist(session, disarm_engine, engine, error))
        return false;
    if (session->device.leave == LEAVE_HALTED_FOREIGN)
        session->device.stopped_at = engine->stopped_at;
    return true;
}

/* A program that looks for a debugger finds us. */
static void tell_own_breakpoint(struct session *session, const struct own_breakpoint *own, const char *place,
                                struct error *error)
{
    bool stays = !device_debug_is_ours(&session->device);
    char what[64];
    own_breakpoint_describe(own, what, sizeof what);
    error_clear(error);
    error_advise(
        error, ERROR_FOREIGN_STOP,
        !own->is_call
            ? "The core is left halted there. pmu-probe restore --force lets it go: without a debugger the "
              "instruction is an exception. pmu-probe reset starts the program anew."
        : stays ? "The core is left halted there, for the debugger that answers such calls (OpenOCD: "
                  "arm semihosting enable). pmu-probe restore --force lets it go on after the call."
                : "It runs on after the call, which nothing has answered. While a core is measured, "
                  "the program sees a debugger (DHCSR.C_DEBUGEN): measure a build without "
                  "semihosting.",
        "stopped by %s at %s", what, place);
}

static void name_stop(struct session *session, uint64_t pc, struct error *error)
{
    char place[512], stop[sizeof error->text];
    session->stop_named = true;
    session_place(session, pc, place, sizeof place);
    struct deadline deadline = session_deadline(session);
    struct own_breakpoint own = device_own_breakpoint(&session->device, pc, &deadline);
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
    (void)session_clock_change(session);
    return ok;
}

/* Every register that is not as it was, on a line of its own, and what to do. */
static void tell_what_is_left(const struct session *session, struct error *error)
{
    static const char advice[] = "pmu-probe restore puts it back, once the other side answers again.";
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
    progress_clear(&session->putting_back);
    if (ending != NULL)
        ending->notice = NULL;
    if (!session->lends_symbols)
        symbols_close(session->symbols);
    session->symbols = NULL;
    return ok;
}

void session_forgive(const struct session *session, struct error *error)
{
    if (*session->context->cancel == 0 || error->kind != ERROR_LINK_LOST)
        return;
    error_clear(error);
    error_set(error, ERROR_CANCELLED, "cancelled");
}

/* Of a core that was found halted by no engine, or while a run ended for another reason. */
static void tell_stop(struct session *session, struct error *error)
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
    error_set(&stop, error->kind,
              "The core stands at %s, where pmu-probe did not stop it: it is left halted.", place);
    error_add(error, &stop);
}

static void tell_own_write(const struct session *session, struct error *error)
{
    struct error own = {0};
    if (error->kind != ERROR_WRITTEN || session->own_write[0] == '\0')
        return;
    error_set(&own, ERROR_WRITTEN, "The program has code that can do it: %s (doctor names all of it).",
              session->own_write);
    error_add(error, &own);
}

int session_exit(bool ok, int code, bool unwritten, const struct error *after, struct error *error)
{
    if (after->kind != ERROR_NONE) {
        ok = error_add(error, after);
        error->advice = after->advice != NULL ? after->advice : error->advice;
    }
    if (unwritten)
        ok = error_set(error, ERROR_UNWRITTEN, "the output could not be written");
    return ok ? code : error_exit_code(error->kind);
}

int session_finish(struct session *session, bool ok, struct error *error)
{
    struct error after = {0};
    if (!ok)
        tell_stop(session, error);
    tell_own_write(session, error);
    if (session_close(session, &after))
        session_forgive(session, error);
    return session_exit(ok, EXIT_DONE, false, &after, error);
}
